//! Incompressible flow on structured grids: from a case file with a section `[incompressible]` to forces and fields.

pub(crate) mod case;
mod grid;
mod report;
#[cfg(test)]
mod tests;

use super::cadence::Cadence;
use super::history::{self, Row};
use super::oscillation::Oscillation;
use super::{Args, Goal, Screen, interrupt, verify};
use crate::case::Source;
use crate::context::{Context, ensure_writable};
use crate::error::{CliError, CliResult, Done};
use crate::plot::{self, Picture, Series};
use case::IncompressibleCase;
use chromaflow::Outcome;
use chromaflow::files::{AtomicFile, FileError};
use chromaflow::sparse::io::write_matrix;
use chromaflow_flow::StepReport;
use chromaflow_flow::config::Time;
use chromaflow_flow::grid::Grid;
use chromaflow_flow::incompressible::{Config, Solver};
use chromaflow_flow::march::FlowError;
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::{Field, Restart, VtuOptions, write_surface, write_volume};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const HEADER: &str = "iteration,time_step,residual_continuity,residual_momentum_x,residual_momentum_y,\
                      residual_momentum_z,residual_scalars,cl,cd,cm,cfl,linear_reduction,seconds";
const COLUMNS: &str = "    iter continuity   momentum    scalars           CL           CD       CFL   linear   ms/it      left";

/// Makes the grid of a case and checks everything but the solver's own set-up.
///
/// # Errors
/// Status 2 with the place of what is wrong.
pub fn check(source: Source, case: IncompressibleCase) -> CliResult<()> {
    prepare(source, case, None).map(|_| ())
}

/// The history of a run of this kind; nothing where the file is of another.
///
/// # Errors
/// A damaged one.
pub fn history(path: &Path) -> CliResult<Option<Vec<Row>>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    if text.lines().next() == Some(HEADER) { history::read_as(path, HEADER).map(Some) } else { Ok(None) }
}

/// Residuals over iterations.
pub fn convergence(rows: &[Row]) -> Picture {
    let series = |name, value: &dyn Fn(&Row) -> f64| {
        let points = rows.iter().map(|r| (r.iteration as f64, value(r)));
        Series { name, points: points.filter(|p| p.1 > 0.0 && p.1.is_finite()).collect(), line: true }
    };
    let mut all = vec![
        series("continuity", &|r| r.residual[0]),
        series("momentum", &|r| r.residual[1..4].iter().map(|v| v * v).sum::<f64>().sqrt()),
        series("scalars", &|r| r.residual[4]),
        series("linear reduction", &|r| r.linear),
    ];
    all.retain(|s| !s.points.is_empty());
    Picture {
        title: "Convergence".into(),
        x: "iteration",
        y: "residual (rms)",
        log: [false, true],
        series: all,
    }
}

/// A case that can be run.
struct Prepared {
    source: Source,
    case: IncompressibleCase,
    grid: Grid,
    config: Config,
    /// The grid as points and cells, for files; its nodes replaced by the cells' centers, for restarts.
    mesh: Mesh,
    centers: Mesh,
    folder: PathBuf,
}

/// What a run did.
struct Finished {
    outcome: Outcome,
    interrupted: bool,
    rows: Vec<Row>,
    last: StepReport,
    seconds: f64,
}

fn prepare(source: Source, case: IncompressibleCase, out: Option<&Path>) -> CliResult<Prepared> {
    let grid = case.grid.load(&source)?;
    let planar = grid.planar_axis();
    let config = case.config(&source, &grid::markers(&grid), planar)?;
    let folder = out.map_or_else(|| case.output.folder_of(&source), Path::to_path_buf);
    let mesh = grid.to_mesh();
    Ok(Prepared { source, case, grid, config, mesh, centers: Mesh::default(), folder })
}

impl Prepared {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What an unsteady run settles to, with its Strouhal number.
    fn settled(&self, rows: &[Row]) -> Option<(Oscillation, f64)> {
        let Time::Unsteady(unsteady) = self.config.time else { return None };
        let found = Oscillation::of(rows)?;
        let reference = &self.config.reference;
        Some((found, found.strouhal(unsteady.dt, reference.length, reference.velocity)))
    }

    fn vtu(&self) -> VtuOptions {
        VtuOptions { compress: self.case.output.compress }
    }

    /// Fields on the points of `mesh`.
    fn fields(&self, solver: &mut Solver) -> Vec<Field> {
        let mut fields = solver.fields();
        if self.mesh.planar.is_some() {
            // Both planes of every block come to be the first plane of all blocks, then the second.
            for field in &mut fields {
                let mut planes = [Vec::new(), Vec::new()];
                let mut rest = &field.values[..];
                for block in &self.grid.blocks {
                    for plane in &mut planes {
                        let (values, after) =
                            rest.split_at(block.points[0] * block.points[1] * field.components);
                        plane.extend_from_slice(values);
                        rest = after;
                    }
                }
                field.values = planes.concat();
            }
        }
        fields
    }

    fn write_restart(&self, solver: &Solver, rows: &[Row]) -> CliResult<()> {
        solver.restart().write(&self.file("restart.safetensors"), &self.centers)?;
        history::write_as(&self.file("history.csv"), HEADER, rows)
    }

    /// Writes everything that the case asks for; the names of what was written.
    fn write_all(&self, solver: &mut Solver, rows: &[Row]) -> CliResult<Vec<PathBuf>> {
        let output = &self.case.output;
        self.write_restart(solver, rows)?;
        let mut written = vec![self.file("restart.safetensors"), self.file("history.csv")];
        let fields = self.fields(solver);
        if output.volume {
            written.push(self.file("volume.vtu"));
            write_volume(&written[written.len() - 1], &self.mesh, &fields, self.vtu())?;
        }
        if output.surface {
            written.push(self.file("surface.vtu"));
            write_surface(&written[written.len() - 1], &self.mesh, &fields, self.vtu())?;
        }
        if output.plots && plot::AVAILABLE {
            for (name, picture) in [("convergence", convergence(rows)), ("forces", plot::forces(rows))] {
                plot::draw(&self.file(name), &picture)?;
                written.push(self.file(&format!("{name}.svg")));
            }
        }
        Ok(written)
    }
}

/// Runs a case.
///
/// # Errors
/// Bad input (status 2) before the work starts; a disk that fills up (status 3) leaves the last good restart.
pub fn run(
    source: Source,
    case: IncompressibleCase,
    args: &Args,
    ctx: &Context,
    start: Instant,
) -> CliResult {
    let failed = |error: FlowError| CliError::environment(error.to_string());
    let mut prepared = prepare(source, case, args.out.as_deref())?;
    std::fs::create_dir_all(&prepared.folder).map_err(|e| {
        let folder = prepared.folder.display();
        CliError::environment(format!("cannot make the output folder {folder}: {e}"))
    })?;
    ensure_writable(&prepared.file("history.csv"))?;
    let mut solver = Solver::new(&prepared.grid, prepared.config.clone(), Arc::clone(ctx.team()))
        .map_err(|e| CliError::input(format!("{}: {e}", prepared.source.path.display())))?;
    prepared.centers.nodes = solver.centers();
    if let Some(gpu) = ctx.gpu() {
        solver.use_gpu(gpu).map_err(failed)?;
    }
    if ctx.verbose() {
        report::headline(&prepared, &solver, ctx);
    }
    if args.check {
        return report::check(&prepared, &solver, ctx);
    }
    let rows = resume(args, &prepared, &mut solver)?;
    let finished = march(&prepared, &mut solver, ctx, rows, start)?;
    if let Some(bad) = &finished.last.bad {
        eprintln!("{}", super::summary::bad_state(bad));
    }
    solver.sync().map_err(failed)?;
    let written = prepared.write_all(&mut solver, &finished.rows)?;
    let summary = report::json(&prepared, &solver, &finished, ctx);
    let summary_path = prepared.file("summary.json");
    let mut file = AtomicFile::create(&summary_path)?;
    writeln!(file, "{summary:#}").map_err(|e| FileError::new("cannot write", &summary_path, e))?;
    file.commit()?;
    ctx.write_json(&summary)?;
    if ctx.verbose() {
        report::print(&prepared, &solver, &finished, &written);
    }
    if args.verify {
        let last = finished.rows.last().expect("at least one iteration");
        let settled = prepared.settled(&finished.rows);
        verify::verify(&prepared.case.expect, last, finished.last.orders, settled, ctx)?;
    }
    if finished.interrupted {
        return Ok(Done::Short);
    }
    let drop_asked = matches!(prepared.config.time, Time::Steady(_));
    Ok(Done::of(finished.outcome, drop_asked && !prepared.case.expect.iterations_suffice))
}

/// Brings the solver to where an earlier run left off; the history up to there.
fn resume(args: &Args, prepared: &Prepared, solver: &mut Solver) -> CliResult<Vec<Row>> {
    let own = prepared.file("restart.safetensors");
    let path = match &args.restart {
        Some(path) => path.clone(),
        None if args.resume && own.exists() => own,
        None => return Ok(Vec::new()),
    };
    let restart = Restart::read(&path, &prepared.centers).map_err(|e| CliError::input(e.to_string()))?;
    solver.resume(&restart).map_err(|e| CliError::input(format!("{}: {e}", path.display())))?;
    let mut rows = history(&prepared.file("history.csv"))?.unwrap_or_default();
    rows.retain(|r| r.iteration <= solver.iteration());
    Ok(rows)
}

fn row_of(report: &StepReport) -> Row {
    let total = &report.forces.total;
    Row {
        iteration: report.iteration,
        time_step: report.time_step,
        residual: super::history::residual(report),
        forces: [total.cl, total.cd, total.cm],
        cfl: report.cfl,
        linear: report.linear_reduction.unwrap_or(f64::NAN),
        seconds: report.times.total,
    }
}

fn march(
    prepared: &Prepared,
    solver: &mut Solver,
    ctx: &Context,
    mut rows: Vec<Row>,
    start: Instant,
) -> CliResult<Finished> {
    let failed = |error: FlowError| CliError::environment(error.to_string());
    let goal = Goal::from(&prepared.config.time);
    let mut screen = Screen::new(goal, ctx.interactive(), !ctx.verbose()).with_columns(COLUMNS);
    let output = &prepared.case.output;
    let mut cadence = Cadence::new(goal, output);
    interrupt::watch();
    loop {
        let report = solver.try_step().map_err(failed)?;
        let row = row_of(&report);
        rows.push(row);
        let interrupted = interrupt::asked();
        let ends = report.outcome.is_some() || interrupted;
        screen.row(&row, report.orders, ends);
        if report.rejected {
            screen.note(&format!("iteration {}: step rejected, CFL lowered", report.iteration));
        }
        if output.matrix == report.iteration {
            let path = prepared.folder.join(&output.matrix_file);
            solver.sync().map_err(failed)?;
            let (matrix, rhs) = solver.linear_system();
            write_matrix(&path, &matrix, Some(&rhs))?;
            screen.note(&format!("iteration {}: linear system in {}", report.iteration, path.display()));
        }
        if ends {
            return Ok(Finished {
                outcome: report.outcome.unwrap_or(Outcome::IterationLimit),
                interrupted: interrupted && report.outcome.is_none(),
                rows,
                last: report,
                seconds: start.elapsed().as_secs_f64(),
            });
        }
        let due = cadence.after(report.iteration, report.time_step);
        if due.any() {
            solver.sync().map_err(failed)?;
        }
        if due.restart {
            prepared.write_restart(solver, &rows)?;
        }
        if let Some(step) = due.fields {
            let path = prepared.file(&format!("volume_{step:06}.vtu"));
            write_volume(&path, &prepared.mesh, &prepared.fields(solver), prepared.vtu())?;
        }
    }
}
