//! `chromaflow run`: a flow case from its file to forces and fields.

mod cadence;
pub mod cuts;
mod files;
mod grid_solver;
pub mod history;
pub mod incompressible;
mod interrupt;
mod oscillation;
mod plan;
mod prepare;
mod screen;
mod structured;
mod summary;
mod verify;

pub use prepare::{Prepared, prepare};
pub use screen::{Goal, Screen, bytes, duration};

use crate::case::{self, Case};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use cadence::Cadence;
use chromaflow::Outcome;
use chromaflow_device::give_back_freed;
use chromaflow_flow::config::Time;
use chromaflow_flow::march::FlowError;
use chromaflow_flow::output::Restart;
use chromaflow_flow::{FlowSolver, StepReport};
use files::Files;
use history::Row;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `chromaflow run`.
#[derive(clap::Args)]
pub struct Args {
    /// Case file (TOML); `--print-defaults` shows all its keys
    #[arg(required_unless_present_any = ["print_defaults", "print_schema"])]
    case: Option<PathBuf>,
    /// Check the case, the mesh and the output folder, print the plan, run nothing
    #[arg(long)]
    check: bool,
    /// Go on from the restart file in the output folder, if there is one
    #[arg(long)]
    resume: bool,
    /// Start from this restart file
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    restart: Option<PathBuf>,
    /// Output folder, instead of the case file's
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Change a key of the case file: --set linear.policy=dsh
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    sets: Vec<String>,
    /// Compare the results with the case file's [expect]
    #[arg(long)]
    verify: bool,
    /// Print a case file with every key at its default, explained
    #[arg(long)]
    print_defaults: bool,
    /// Print the JSON schema of case files
    #[arg(long)]
    print_schema: bool,
}

/// What a run did.
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// Every iteration.
    pub rows: Vec<Row>,
    /// The last report.
    pub last: StepReport,
    /// Seconds from reading the case to here.
    pub seconds: f64,
}

/// Runs a case.
///
/// # Errors
/// Bad input (status 2) before the work starts; a disk that fills up (status 3) leaves the last good restart.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    if args.print_defaults {
        print!("{}", case::defaults());
        return Ok(Done::Success);
    }
    if args.print_schema {
        println!("{:#}", case::schema());
        return Ok(Done::Success);
    }
    let start = Instant::now();
    let program = summary::peak_bytes().unwrap_or(0);
    let path = args.case.as_deref().expect("clap asks for it");
    let prepared = match Case::read(path, &args.sets)? {
        (source, Case::Incompressible(case)) => {
            return incompressible::run(source, case, args, ctx, start);
        }
        (source, Case::Structured(case)) => return structured::run(args, ctx, &source, &case, start),
        (source, Case::Unstructured(case)) => prepare::prepare_mesh(source, case)?,
    };
    give_back_freed();
    let out = args.out.clone().unwrap_or_else(|| prepared.case.folder(&prepared.source));
    let files = Files::new(out, &prepared)?;
    let mut solver = FlowSolver::new(&prepared.mesh, prepared.config.clone(), Arc::clone(ctx.team()))
        .map_err(|e| CliError::input(format!("{}: {e}", path.display())))?;
    give_back_freed();
    if let Some(gpu) = ctx.gpu() {
        solver.use_gpu(gpu).map_err(|e| CliError::environment(e.to_string()))?;
    }
    if ctx.verbose() {
        plan::headline(&prepared, &solver, ctx);
    }
    if args.check {
        return plan::check(&prepared, &solver, ctx, program);
    }
    let mut rows = resume(args, &prepared, &files, &mut solver)?;
    let finished = march(&prepared, &files, &mut solver, ctx, &mut rows, start)?;
    if let Some(bad) = &finished.last.bad {
        eprintln!("{}", summary::bad_state(bad));
    }
    synced(&files, &mut solver)?;
    let memory = solver.memory();
    solver.release();
    let written = files.write_all(&prepared, &solver, &finished.rows)?;
    let summary = summary::json(&prepared, &solver, &finished, memory, ctx);
    files.write_summary(&summary)?;
    ctx.write_json(&summary)?;
    if ctx.verbose() {
        summary::print(&prepared, &solver, &finished, &written);
    }
    if args.verify {
        let last = finished.rows.last().expect("at least one iteration");
        let settled = summary::oscillation(&prepared, &finished);
        verify::verify(&prepared.case.expect, last, finished.last.orders, settled, ctx)?;
    }
    if finished.interrupted {
        return Ok(Done::Short);
    }
    // All iterations that a steady case allows, short of the drop that it asks for, is not what was asked for; the
    // physical steps of an unsteady case are.
    let drop_asked = matches!(prepared.config.time, Time::Steady(_));
    Ok(Done::of(finished.outcome, drop_asked && !prepared.case.expect.iterations_suffice))
}

/// Brings the solver to where an earlier run left off; the history up to there.
fn resume(args: &Args, prepared: &Prepared, files: &Files, solver: &mut FlowSolver) -> CliResult<Vec<Row>> {
    let path = match &args.restart {
        Some(path) => path.clone(),
        None if args.resume && files.restart().exists() => files.restart(),
        None => return Ok(Vec::new()),
    };
    let restart = Restart::read(&path, &prepared.mesh).map_err(|e| CliError::input(e.to_string()))?;
    solver.resume(&restart).map_err(|e| CliError::input(format!("{}: {e}", path.display())))?;
    let mut rows = if files.history().exists() { history::read(&files.history())? } else { Vec::new() };
    rows.retain(|r| r.iteration <= solver.iteration());
    Ok(rows)
}

/// The state on the host, wherever it is computed.
fn synced(files: &Files, solver: &mut FlowSolver) -> CliResult<()> {
    solver.sync().map_err(|e| lost(files, &e))
}

/// A device that failed takes the state with it; what is on disk stays.
fn lost(files: &Files, error: &FlowError) -> CliError {
    let restart = files.restart();
    let remedy = if restart.exists() {
        format!("go on from {} with --resume", restart.display())
    } else {
        "no restart had been written yet".to_owned()
    };
    CliError::environment(format!("{error}; {remedy}"))
}

fn march(
    prepared: &Prepared,
    files: &Files,
    solver: &mut FlowSolver,
    ctx: &Context,
    rows: &mut Vec<Row>,
    start: Instant,
) -> CliResult<Finished> {
    let goal = Goal::from(&prepared.config.time);
    let mut screen = Screen::new(goal, ctx.interactive(), !ctx.verbose());
    let mut cadence = Cadence::new(goal, &prepared.case.output);
    interrupt::watch();
    loop {
        let report = solver.try_step().map_err(|e| lost(files, &e))?;
        let row = Row {
            iteration: report.iteration,
            time_step: report.time_step,
            residual: history::residual(&report),
            forces: [report.forces.total.cl, report.forces.total.cd, report.forces.total.cm],
            cfl: report.cfl,
            linear: report.linear_reduction.unwrap_or(f64::NAN),
            seconds: report.times.total,
        };
        rows.push(row);
        let interrupted = interrupt::asked();
        screen.row(&row, report.orders, report.outcome.is_some() || interrupted);
        if report.rejected {
            screen.note(&format!("iteration {}: step rejected, CFL lowered", report.iteration));
        }
        if prepared.case.output.matrix == report.iteration {
            synced(files, solver)?;
            let path = files.write_system(prepared, solver)?;
            screen.note(&format!("iteration {}: linear system in {}", report.iteration, path.display()));
        }
        if report.outcome.is_some() || interrupted {
            if interrupted {
                screen.note("interrupted: writing restart and fields");
            }
            return Ok(Finished {
                outcome: report.outcome.unwrap_or(Outcome::IterationLimit),
                interrupted: interrupted && report.outcome.is_none(),
                rows: std::mem::take(rows),
                last: report,
                seconds: start.elapsed().as_secs_f64(),
            });
        }
        let due = cadence.after(report.iteration, report.time_step);
        if due.any() {
            synced(files, solver)?;
        }
        if due.restart {
            files.write_restart(prepared, solver)?;
            history::write(&files.history(), rows)?;
        }
        if let Some(step) = due.fields {
            files.write_snapshot(prepared, solver, step)?;
        }
    }
}
