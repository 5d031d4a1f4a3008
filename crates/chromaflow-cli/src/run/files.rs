//! The files of a run, all in one folder.

use super::cuts;
use super::flow::Flow;
use super::history::{self, Row};
use super::loads::Loads;
use super::march::{Finished, Run};
use super::over_ranks;
use super::profiles::Line;
use super::samples::Samples;
use super::surface;
use crate::case::{FieldFormat, OutputSection};
use crate::context::{ensure_writable, write_whole};
use crate::error::{CliError, CliResult};
use crate::plot;
use chromaflow::files::FileError;
use chromaflow::sparse::io::write_matrix;
use chromaflow_device::give_back_freed;
use chromaflow_flow::grid::{Plot3d, write_function, write_plot3d};
use chromaflow_flow::mesh::vtk::write_hdf;
use chromaflow_flow::mesh::{self, Mesh, cgns};
use chromaflow_flow::output::{Field, Restart, VtuOptions, remove_pieces, write_surface, write_volume};
use std::path::{Path, PathBuf};

/// The name of a run's restart.
pub const RESTART: &str = "restart.safetensors";

/// Where a run writes.
pub struct Files {
    folder: PathBuf,
}

/// Where the means of a run on a structured grid are, beside its restart.
pub fn means_beside(restart: &Path) -> PathBuf {
    let stem = restart.file_stem().unwrap_or_default().to_string_lossy();
    restart.with_file_name(format!("{stem}_means.safetensors"))
}

/// Writes means on the points of a mesh, where there are any; the path. Those of an earlier run are none of this one.
fn write_means(path: &Path, means: &Restart, mesh: &Mesh) -> CliResult<Option<PathBuf>> {
    if means.fields.is_empty() {
        let _ = std::fs::remove_file(path);
        return Ok(None);
    }
    means.write(path, mesh)?;
    Ok(Some(path.to_owned()))
}

impl Files {
    /// Makes the folder and sees that it can be written to, before any work is done.
    ///
    /// # Errors
    /// Status 3 with the folder and the reason.
    pub fn new(folder: PathBuf, output: &OutputSection) -> CliResult<Self> {
        std::fs::create_dir_all(&folder).map_err(|e| {
            CliError::environment(format!("cannot make the output folder {}: {e}", folder.display()))
        })?;
        let files = Self { folder };
        ensure_writable(&files.history())?;
        if output.plots && !plot::AVAILABLE {
            eprintln!(
                "note: this chromaflow is built without plots; set output.plots = false to leave them out"
            );
        }
        Ok(files)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The history.
    pub fn history(&self) -> PathBuf {
        self.folder.join("history.csv")
    }

    /// The forces of every wall.
    pub fn loads(&self) -> PathBuf {
        self.folder.join("forces.csv")
    }

    /// The restart.
    pub fn restart(&self) -> PathBuf {
        self.folder.join(RESTART)
    }

    /// Writes restart and histories; those before stay until they are complete.
    pub fn write_restart(
        &self,
        run: &Run<'_>,
        flow: &impl Flow,
        rows: &[Row],
        loads: &Loads,
        samples: &Samples,
    ) -> CliResult<Vec<PathBuf>> {
        let mut more = Restart::default();
        let mut written = samples.store(&mut more, &self.folder)?;
        let path = self.restart();
        if flow.grid().is_some() {
            // Rows of grids are cells, and means are on points. Theirs come first: a run that goes on from a restart before them counts no step twice.
            written.extend(write_means(&means_beside(&path), &std::mem::take(&mut more), &flow.mesh())?);
        }
        flow.write_restart(&path, more).map_err(|e| over_ranks::with_remedy(&e, &path))?;
        loads.write(&self.loads())?;
        history::write(&self.history(), run.equations, &flow.coupled(), rows)?;
        written.extend([self.restart(), self.history(), self.loads()]);
        Ok(written)
    }

    /// Writes the linear system of the next iteration, where there is one.
    pub fn write_system(&self, output: &OutputSection, flow: &mut impl Flow) -> CliResult<Option<PathBuf>> {
        let Some((matrix, rhs)) = flow.linear_system() else { return Ok(None) };
        let path = self.folder.join(&output.matrix_file);
        write_matrix(&path, &matrix, Some(&rhs))?;
        Ok(Some(path))
    }

    /// Writes the fields of a physical step, and the series of all that there are so far, for steps of `dt`.
    pub fn write_snapshot(
        &self,
        output: &OutputSection,
        flow: &mut impl Flow,
        (step, dt): (usize, f64),
    ) -> CliResult<()> {
        let name = snapshot(step);
        if output.pieces {
            self.write_in_pieces(&name, output, flow, &[])?;
        } else {
            let fields = flow.fields();
            self.write_field(&name, output, flow, &fields)?;
        }
        self.write_series(step, dt)
    }

    /// Writes fields of the whole mesh as `name.vtu`. What an earlier run left in pieces is not of this field.
    fn write_field(
        &self,
        name: &str,
        output: &OutputSection,
        flow: &impl Flow,
        fields: &[Field],
    ) -> CliResult<PathBuf> {
        let path = self.folder.join(format!("{name}.vtu"));
        write_volume(&path, &flow.mesh(), fields, vtu(output))?;
        remove_pieces(&path.with_extension("pvtu"))?;
        Ok(path)
    }

    /// Writes the flow's fields and `more` as `name.pvtu` and its pieces; all files that were written. What an earlier run left in one
    /// file is not of this field.
    fn write_in_pieces(
        &self,
        name: &str,
        output: &OutputSection,
        flow: &mut impl Flow,
        more: &[Field],
    ) -> CliResult<Vec<PathBuf>> {
        let list = self.folder.join(format!("{name}.pvtu"));
        let written = flow.write_pieces(&list, more, vtu(output))?;
        let _ = std::fs::remove_file(list.with_extension("vtu"));
        Ok(written)
    }

    /// Writes the list of snapshots up to a step with their times, `volume.pvd`, as ParaView reads it: those of a run that was
    /// interrupted and resumed, too.
    fn write_series(&self, last: usize, dt: f64) -> CliResult<()> {
        let path = self.folder.join("volume.pvd");
        let entries =
            std::fs::read_dir(&self.folder).map_err(|e| FileError::new("cannot list", &self.folder, e))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut steps: Vec<(usize, String)> = names
            .filter_map(|name| Some((step_of(&name)?, name)))
            .filter(|&(step, _)| step <= last)
            .collect();
        steps.sort_unstable();
        let sets = steps.into_iter().map(|(step, name)| {
            let time = step as f64 * dt;
            format!("<DataSet timestep=\"{time}\" part=\"0\" file=\"{name}\"/>")
        });
        let mut lines = vec![
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\">\n<Collection>".to_owned(),
        ];
        lines.extend(sets);
        lines.push("</Collection>\n</VTKFile>\n".to_owned());
        let text = lines.join("\n");
        write_whole(&path, text.as_bytes())
    }

    /// Writes everything that the case asks for, the residual of a run that did not converge among the fields; the names of what was
    /// written.
    pub fn write_all(
        &self,
        run: &Run<'_>,
        flow: &mut impl Flow,
        finished: &Finished,
        residual: Option<&Field>,
    ) -> CliResult<Vec<PathBuf>> {
        let (output, rows) = (run.output, &finished.rows);
        let mut written = self.write_restart(run, flow, rows, &finished.loads, &finished.samples)?;
        let mut more = finished.samples.fields();
        more.extend(residual.cloned());
        if output.volume && output.pieces {
            written.extend(self.write_in_pieces("volume", output, flow, &more)?);
        }
        // Over ranks rank 0 gathers them.
        let whole = output.wants_whole() || flow.mesh().planar.is_some();
        let mut fields = if whole { flow.fields() } else { Vec::new() };
        fields.append(&mut more);
        if output.volume && !output.pieces {
            written.push(self.write_field("volume", output, flow, &fields)?);
        }
        let mesh = flow.mesh();
        if output.surface {
            written.push(self.folder.join("surface.vtu"));
            write_surface(&written[written.len() - 1], &mesh, &fields, vtu(output))?;
        }
        let is_wall = |name: &str| flow.is_wall(name);
        let table = self.folder.join("surface.csv");
        if output.surface_csv && surface::write(&table, &mesh, is_wall, &fields)? {
            written.push(table);
        }
        self.write_formats(output, flow, &mesh, &fields, &mut written)?;
        give_back_freed();
        let mut pictures = vec![
            ("convergence".to_owned(), plot::convergence(rows, run.equations, &flow.coupled())),
            ("forces".to_owned(), plot::forces(rows)),
            ("linear".to_owned(), plot::linear(rows)),
        ];
        if let Some(cp) = fields.iter().find(|f| f.name == "cp") {
            let cut = cuts::of_walls(&mesh, is_wall, &cp.values, &output.cuts, flow.lift_axis());
            for (name, curves) in cut {
                written.push(self.folder.join(format!("{name}.csv")));
                cuts::write(&written[written.len() - 1], &curves)?;
                pictures.push((name.clone(), plot::pressure(&name, &curves, None)));
            }
        }
        for (number, profile) in output.profiles.iter().enumerate() {
            let units = |friction, pressure, temperature| flow.wall_units(friction, pressure, temperature);
            // That it meets nothing was said before the run.
            let Some(line) = Line::new(profile, &mesh, &fields, units) else { continue };
            let name = format!("profile_{number}");
            written.push(self.folder.join(format!("{name}.csv")));
            line.write(&written[written.len() - 1])?;
            pictures.push((name, line.picture(number)));
        }
        let [length, velocity] = run.strouhal;
        for (path, name, picture) in finished.samples.write_spectra(&self.folder, length / velocity)? {
            written.push(path);
            pictures.push((name, picture));
        }
        if output.plots && plot::AVAILABLE {
            pictures.retain(|(_, picture)| picture.series.iter().any(|s| !s.points.is_empty()));
            for (name, picture) in pictures {
                plot::draw(&self.folder.join(&name), &picture)?;
                written.extend(["svg", "png"].map(|ending| self.folder.join(format!("{name}.{ending}"))));
            }
        }
        Ok(written)
    }

    /// Writes the further files of the whole field that the case asks for.
    fn write_formats(
        &self,
        output: &OutputSection,
        flow: &impl Flow,
        mesh: &Mesh,
        fields: &[Field],
        written: &mut Vec<PathBuf>,
    ) -> CliResult<()> {
        let by_block = flow.grid().map(|grid| (grid, grid.by_block(fields)));
        for format in &output.formats {
            let path = |ending: &str| self.folder.join(format!("volume.{ending}"));
            match (format, &by_block) {
                (FieldFormat::Vtkhdf, _) => write_hdf(&path("vtkhdf"), mesh, fields)?,
                (FieldFormat::Solb, _) => {
                    mesh::write(&path("meshb"), mesh)?;
                    mesh::write_solb(&path("solb"), mesh, fields)?;
                    written.extend([path("meshb"), path("mapbc")]);
                }
                (FieldFormat::Cgns, Some((grid, fields))) => cgns::write_grid(&path("cgns"), grid, fields)?,
                (FieldFormat::Cgns, None) => cgns::write(&path("cgns"), mesh, fields)?,
                (FieldFormat::Plot3d, Some((grid, fields))) => {
                    let points = path("xyz");
                    write_plot3d(&points, &grid.blocks, Plot3d::of(&points))?;
                    write_function(&path("fun"), grid, fields, Plot3d::of(&points))?;
                    written.extend([points, path("nam")]);
                }
                (FieldFormat::Plot3d, None) => {
                    let what = "output.formats: `plot3d` is for cases with `[grid]`; of a mesh write `cgns` or `vtkhdf`";
                    return Err(CliError::input(what));
                }
            }
            written.push(path(match format {
                FieldFormat::Vtkhdf => "vtkhdf",
                FieldFormat::Solb => "solb",
                FieldFormat::Cgns => "cgns",
                FieldFormat::Plot3d => "fun",
            }));
        }
        Ok(())
    }

    /// Writes the summary beside the fields.
    pub fn write_summary(&self, summary: &serde_json::Value) -> CliResult<()> {
        let path = self.folder.join("summary.json");
        write_whole(&path, format!("{summary:#}\n").as_bytes())
    }
}

/// The file of a physical step's fields, without its ending.
fn snapshot(step: usize) -> String {
    format!("volume_{step:06}")
}

/// The step of such a file.
fn step_of(file: &str) -> Option<usize> {
    let name = file.strip_suffix(".vtu").or_else(|| file.strip_suffix(".pvtu"))?;
    let step = name.strip_prefix("volume_")?.parse().ok()?;
    (snapshot(step) == name).then_some(step)
}

fn vtu(output: &OutputSection) -> VtuOptions {
    VtuOptions { compress: output.compress }
}
