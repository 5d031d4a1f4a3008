//! Runs of structured grids: as runs of meshes, from the same case file to the same files.

use super::cadence::Cadence;
use super::grid_solver::GridSolver;
use super::history::{self, Row};
use super::oscillation::Oscillation;
use super::{Args, Goal, Screen, cuts, interrupt, summary};
use crate::case::{CaseFile, Source};
use crate::cite;
use crate::context::{Context, ensure_writable};
use crate::error::{CliError, CliResult, Done};
use chromaflow::Outcome;
use chromaflow::files::{AtomicFile, FileError};
use chromaflow_flow::StepReport;
use chromaflow_flow::config::{Boundary, Time};
use chromaflow_flow::grid::{Grid, GridError};
use chromaflow_flow::march::FlowError;
use chromaflow_flow::mesh::Planar;
use chromaflow_flow::output::{Restart, VtuOptions, write_surface, write_volume};
use chromaflow_flow::structured::StructuredConfig;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

impl From<GridError> for CliError {
    fn from(error: GridError) -> Self {
        match error {
            GridError::File(file) => file.into(),
            GridError::Read(mesh) => mesh.into(),
            other => CliError::input(other.to_string()),
        }
    }
}

/// A structured case under way.
struct Run<'a> {
    source: &'a Source,
    case: &'a CaseFile,
    config: StructuredConfig,
    solver: GridSolver,
    folder: PathBuf,
}

/// Runs a case of a structured grid.
///
/// # Errors
/// As runs of meshes.
pub fn run(args: &Args, ctx: &Context, source: &Source, case: &CaseFile, start: Instant) -> CliResult {
    case.check(source)?;
    let grid = case.grid.load(source)?;
    let markers: Vec<_> = grid.markers().iter().map(|m| ((*m).to_owned(), known(m))).collect();
    let flat = planar(&grid);
    let config = case.structured.config(case.config(source, &markers, flat)?);
    let folder = args.out.clone().unwrap_or_else(|| case.folder(source));
    std::fs::create_dir_all(&folder).map_err(|e| {
        CliError::environment(format!("cannot make the output folder {}: {e}", folder.display()))
    })?;
    ensure_writable(&folder.join("history.csv"))?;
    let (blocks, cells) = (grid.blocks.len(), grid.cells());
    let mut solver = GridSolver::new(grid, &config, &case.structured, ctx.team())
        .map_err(|e| CliError::input(format!("{}: {e}", source.path.display())))?;
    if let Some(gpu) = ctx.gpu() {
        solver.use_gpu(gpu).map_err(|e| match e {
            FlowError::Linear(what) => source.error(&["structured", "method"], &what),
            other => CliError::environment(other.to_string()),
        })?;
    }
    if ctx.verbose() {
        let who = ctx
            .gpu()
            .map_or_else(|| format!("{} threads", ctx.team().size()), |gpu| gpu.facts().name.clone());
        eprintln!("{}", case.case.title);
        eprintln!(
            "structured grid: {blocks} blocks, {cells} cells; {}, {who}",
            case.structured.method.title()
        );
    }
    if args.check {
        for (name, _) in &markers {
            println!("  {name:20} {:?}", config.boundaries[name]);
        }
        println!("the case can be run");
        return Ok(Done::Success);
    }
    let mut run = Run { source, case, config, solver, folder };
    let mut rows = run.resume(args)?;
    let (last, interrupted) = run.march(ctx, &mut rows)?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(bad) = &last.bad {
        eprintln!("{}", summary::bad_state(bad));
    }
    let mut written = run.write_files(&rows)?;
    let outcome = last.outcome.unwrap_or(Outcome::IterationLimit);
    let settled = run.settled(&rows);
    let summary = run.summary(&last, &outcome, interrupted, seconds, settled, ctx);
    let path = run.folder.join("summary.json");
    let mut file = AtomicFile::create(&path)?;
    writeln!(file, "{summary:#}").map_err(|e| FileError::new("cannot write", &path, e))?;
    file.commit()?;
    written.insert(0, path);
    ctx.write_json(&summary)?;
    if ctx.verbose() {
        run.print(&last, outcome, interrupted, seconds, settled, &written);
    }
    if args.verify {
        let row = rows.last().copied().unwrap_or_default();
        super::verify::verify(&case.expect, &row, last.orders, settled, ctx)?;
    }
    if interrupted {
        return Ok(Done::Short);
    }
    let drop_asked = matches!(run.config.time, Time::Steady(_)) && !case.expect.iterations_suffice;
    Ok(Done::of(outcome, drop_asked))
}

/// Whether the grid is two-dimensional with its lift along y.
fn planar(grid: &Grid) -> bool {
    let markers = grid.markers();
    grid.planar_axis().is_some() && [Planar::FRONT, Planar::BACK].iter().all(|m| markers.contains(m))
}

/// The condition that a neutral map file's type of boundary stands for, where it needs no values.
fn known(marker: &str) -> Option<Boundary> {
    match marker.to_ascii_lowercase().as_str() {
        Planar::FRONT | Planar::BACK => Some(Boundary::Symmetry),
        "viscous_solid" | "viscous_weak" => Some(Boundary::NoSlipAdiabatic),
        "tangency" | "tangency_strong" => Some(Boundary::SlipWall),
        "farfield_riem" | "farfield_roe" | "farfield" => Some(Boundary::Farfield),
        "extrapolate" | "extrapolation" => Some(Boundary::Extrapolation),
        name if name.starts_with("symmetry_") => Some(Boundary::Symmetry),
        _ => None,
    }
}

impl Run<'_> {
    fn resume(&mut self, args: &Args) -> CliResult<Vec<Row>> {
        let own = self.folder.join("restart.safetensors");
        let path = match &args.restart {
            Some(path) => path.clone(),
            None if args.resume && own.exists() => own,
            None => return Ok(Vec::new()),
        };
        let restart = Restart::read(&path, &self.solver.restart_places())
            .map_err(|e| CliError::input(e.to_string()))?;
        self.solver.resume(&restart).map_err(|e| CliError::input(format!("{}: {e}", path.display())))?;
        let history = self.folder.join("history.csv");
        let mut rows = if history.exists() { history::read(&history)? } else { Vec::new() };
        rows.retain(|r| r.iteration <= self.solver.iteration());
        Ok(rows)
    }

    fn march(&mut self, ctx: &Context, rows: &mut Vec<Row>) -> CliResult<(StepReport, bool)> {
        let goal = Goal::from(&self.config.time);
        let mut screen = Screen::new(goal, ctx.interactive(), !ctx.verbose());
        let mut cadence = Cadence::new(goal, &self.case.output);
        interrupt::watch();
        loop {
            let report = self.solver.try_step().map_err(|e| self.lost(&e))?;
            let row = Row {
                iteration: report.iteration,
                time_step: report.time_step,
                residual: history::residual(&report),
                forces: [report.forces.total.cl, report.forces.total.cd, report.forces.total.cm],
                cfl: report.cfl,
                linear: f64::NAN,
                seconds: report.times.total,
            };
            rows.push(row);
            let interrupted = interrupt::asked();
            screen.row(&row, report.orders, report.outcome.is_some() || interrupted);
            if report.rejected {
                screen.note(&format!("iteration {}: step rejected, CFL lowered", report.iteration));
            }
            if report.outcome.is_some() || interrupted {
                let interrupted = interrupted && report.outcome.is_none();
                return Ok((report, interrupted));
            }
            let due = cadence.after(report.iteration, report.time_step);
            if due.restart {
                self.write_restart()?;
                history::write(&self.folder.join("history.csv"), rows)?;
            }
            if let Some(step) = due.fields {
                self.solver.sync().map_err(|e| self.lost(&e))?;
                let path = self.folder.join(format!("volume_{step:06}.vtu"));
                let (mesh, fields) = (self.solver.grid().to_mesh(), self.solver.fields());
                write_volume(&path, &mesh, &fields, self.vtu())?;
            }
        }
    }

    fn vtu(&self) -> VtuOptions {
        VtuOptions { compress: self.case.output.compress }
    }

    /// What an unsteady run settles to, with its Strouhal number.
    fn settled(&self, rows: &[Row]) -> Option<(Oscillation, f64)> {
        let Time::Unsteady(unsteady) = self.config.time else { return None };
        let found = Oscillation::of(rows)?;
        let config = &self.config;
        Some((found, found.strouhal(unsteady.dt, config.reference.length, config.freestream.mach)))
    }

    /// A device that failed takes the state with it; what is on disk stays.
    fn lost(&self, error: &FlowError) -> CliError {
        let restart = self.folder.join("restart.safetensors");
        let remedy = if restart.exists() { "; go on from the last restart with --resume" } else { "" };
        CliError::environment(format!("{error}{remedy}"))
    }

    fn write_restart(&mut self) -> CliResult<()> {
        self.solver.sync().map_err(|e| self.lost(&e))?;
        let path = self.folder.join("restart.safetensors");
        Ok(self.solver.restart().write(&path, &self.solver.restart_places())?)
    }

    /// Writes what the case asks for; the files, in this order.
    fn write_files(&mut self, rows: &[Row]) -> CliResult<Vec<PathBuf>> {
        self.write_restart()?;
        let folder = self.folder.clone();
        let mut written = vec![folder.join("restart.safetensors"), folder.join("history.csv")];
        history::write(&written[1], rows)?;
        let output = &self.case.output;
        let options = self.vtu();
        let (mesh, fields) = (self.solver.grid().to_mesh(), self.solver.fields());
        if output.volume {
            written.push(folder.join("volume.vtu"));
            write_volume(&written[written.len() - 1], &mesh, &fields, options)?;
        }
        if output.surface {
            written.push(folder.join("surface.vtu"));
            write_surface(&written[written.len() - 1], &mesh, &fields, options)?;
        }
        let mut pictures = vec![
            ("convergence".to_owned(), crate::plot::convergence(rows)),
            ("forces".to_owned(), crate::plot::forces(rows)),
        ];
        let cp = fields.iter().find(|f| f.name == "cp").map_or(&[][..], |f| &f.values);
        let is_wall = |name: &str| self.config.boundaries.get(name).is_some_and(Boundary::is_wall);
        let up = self.config.reference.lift_axis;
        for (name, points) in cuts::of_walls(&mesh, is_wall, cp, &output.cuts, up) {
            written.push(folder.join(format!("{name}.csv")));
            cuts::write(&written[written.len() - 1], &points)?;
            pictures.push((name.clone(), crate::plot::pressure(&name, &points)));
        }
        if output.plots && crate::plot::AVAILABLE {
            for (name, picture) in pictures {
                crate::plot::draw(&folder.join(&name), &picture)?;
                written.push(folder.join(format!("{name}.svg")));
            }
        }
        Ok(written)
    }

    fn summary(
        &self,
        last: &StepReport,
        outcome: &Outcome,
        interrupted: bool,
        seconds: f64,
        settled: Option<(Oscillation, f64)>,
        ctx: &Context,
    ) -> Value {
        let times = self.solver.times();
        let grid = self.solver.grid();
        let components: serde_json::Map<String, Value> =
            times.components().into_iter().map(|(name, s)| (name.to_owned(), json!(s))).collect();
        json!({
            "case": self.source.path,
            "title": self.case.case.title,
            "outcome": outcome.name(),
            "interrupted": interrupted,
            "iterations": last.iteration,
            "time_steps": last.time_step,
            "residual_orders": last.orders,
            "residual": last.residual,
            "forces": summary::forces(&last.forces),
            "oscillation": settled.map(summary::settled),
            "entropy_error": self.solver.entropy_error(),
            "time": {
                "total_s": seconds,
                "march_s": times.total,
                "per_iteration_s": times.total / last.iteration.max(1) as f64,
                "components": components,
            },
            "memory": { "peak_bytes": summary::peak_bytes(), "device_bytes": self.solver.device_bytes() },
            "mesh": {
                "file": self.case.grid.file,
                "blocks": grid.blocks.len(),
                "cells": grid.cells(),
                "nodes": grid.blocks.iter().map(|b| b.nodes.len()).sum::<usize>(),
                "markers": grid.markers(),
            },
            "solver": {
                "method": self.case.structured.method.title(),
                "threads": ctx.team().size(),
                "backend": if ctx.gpu().is_some() { "cuda" } else { "cpu" },
                "gpu": ctx.gpu().map(|gpu| gpu.facts().name.clone()),
            },
            "bad_cell": last.bad.as_ref().map(summary::bad_state),
            "versions": { "chromaflow": env!("CARGO_PKG_VERSION") },
            "references": cite::of_case(self.case),
        })
    }

    fn print(
        &self,
        last: &StepReport,
        outcome: Outcome,
        interrupted: bool,
        seconds: f64,
        settled: Option<(Oscillation, f64)>,
        written: &[PathBuf],
    ) {
        let times = self.solver.times();
        summary::print_end(&summary::Ending {
            outcome,
            interrupted,
            iterations: last.iteration,
            residual: "density residual",
            orders: last.orders,
            seconds,
            forces: &last.forces,
            settled,
            components: &times.components(),
            march: times.total,
            written,
        });
    }
}
