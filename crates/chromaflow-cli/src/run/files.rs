//! The files of a run, all in one folder.

use super::{Prepared, cuts, history};
use crate::context::ensure_writable;
use crate::error::{CliError, CliResult};
use crate::plot;
use chromaflow::files::{AtomicFile, FileError};
use chromaflow::sparse::io::write_matrix;
use chromaflow_device::give_back_freed;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::output::{VtuOptions, write_surface, write_volume};
use history::Row;
use std::io::Write;
use std::path::PathBuf;

/// Where a run writes.
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// Makes the folder and sees that it can be written to, before any work is done.
    ///
    /// # Errors
    /// Status 3 with the folder and the reason.
    pub fn new(folder: PathBuf, prepared: &Prepared) -> CliResult<Self> {
        std::fs::create_dir_all(&folder).map_err(|e| {
            CliError::environment(format!("cannot make the output folder {}: {e}", folder.display()))
        })?;
        let files = Self { folder };
        ensure_writable(&files.history())?;
        if prepared.case.output.plots && !plot::AVAILABLE {
            eprintln!(
                "note: this chromaflow is built without plots; set output.plots = false to leave them out"
            );
        }
        Ok(files)
    }

    /// The history.
    pub fn history(&self) -> PathBuf {
        self.folder.join("history.csv")
    }

    /// The restart.
    pub fn restart(&self) -> PathBuf {
        self.folder.join("restart.safetensors")
    }

    /// Writes the restart; the one before stays until it is complete.
    pub fn write_restart(&self, prepared: &Prepared, solver: &FlowSolver) -> CliResult<()> {
        Ok(solver.restart().write(&self.restart(), &prepared.mesh)?)
    }

    /// Writes the linear system of the next iteration.
    pub fn write_system(&self, prepared: &Prepared, solver: &mut FlowSolver) -> CliResult<PathBuf> {
        let path = self.folder.join(&prepared.case.output.matrix_file);
        let (matrix, rhs) = solver.linear_system();
        write_matrix(&path, &matrix, Some(&rhs))?;
        Ok(path)
    }

    /// Writes the fields of a physical step.
    pub fn write_snapshot(&self, prepared: &Prepared, solver: &FlowSolver, step: usize) -> CliResult<()> {
        let path = self.folder.join(format!("volume_{step:06}.vtu"));
        Ok(write_volume(&path, &prepared.mesh, &solver.fields(), vtu(prepared))?)
    }

    /// Writes everything that the case asks for; the names of what was written.
    pub fn write_all(
        &self,
        prepared: &Prepared,
        solver: &FlowSolver,
        rows: &[Row],
    ) -> CliResult<Vec<PathBuf>> {
        let output = &prepared.case.output;
        self.write_restart(prepared, solver)?;
        history::write(&self.history(), rows)?;
        let mut written = vec![self.restart(), self.history()];
        let fields = solver.fields();
        if output.volume {
            written.push(self.folder.join("volume.vtu"));
            write_volume(&written[written.len() - 1], &prepared.mesh, &fields, vtu(prepared))?;
        }
        if output.surface {
            written.push(self.folder.join("surface.vtu"));
            write_surface(&written[written.len() - 1], &prepared.mesh, &fields, vtu(prepared))?;
        }
        give_back_freed();
        let mut pictures = vec![
            ("convergence".to_owned(), plot::convergence(rows)),
            ("forces".to_owned(), plot::forces(rows)),
        ];
        let cp = fields.iter().find(|f| f.name == "cp").map_or(&[][..], |f| &f.values);
        let config = &prepared.config;
        let is_wall = |name: &str| config.boundaries.get(name).is_some_and(|b| b.is_wall());
        let up = config.reference.lift_axis;
        for (name, points) in cuts::of_walls(&prepared.mesh, is_wall, cp, &output.cuts, up) {
            written.push(self.folder.join(format!("{name}.csv")));
            cuts::write(&written[written.len() - 1], &points)?;
            pictures.push((name.clone(), plot::pressure(&name, &points)));
        }
        if output.plots && plot::AVAILABLE {
            for (name, picture) in pictures {
                plot::draw(&self.folder.join(&name), &picture)?;
                written.push(self.folder.join(format!("{name}.svg")));
            }
        }
        Ok(written)
    }

    /// Writes the summary beside the fields.
    pub fn write_summary(&self, summary: &serde_json::Value) -> CliResult<()> {
        let path = self.folder.join("summary.json");
        let mut file = AtomicFile::create(&path)?;
        writeln!(file, "{summary:#}").map_err(|e| FileError::new("cannot write", &path, e))?;
        Ok(file.commit()?)
    }
}

fn vtu(prepared: &Prepared) -> VtuOptions {
    VtuOptions { compress: prepared.case.output.compress }
}
