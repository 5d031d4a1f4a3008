//! `chromaflow solve`: a linear system from a matrix file.

mod args;
mod say;

use crate::context::{Context, ensure_writable};
use crate::error::{CliError, CliResult, Done};
pub use args::Args;
use chromaflow::files::{AtomicFile, FileError};
use chromaflow::gpu::GpuError;
use chromaflow::krylov::Solve;
use chromaflow::order::PlanReport;
use chromaflow::solver::{BlockLayout, LinearSolverCuda, MethodWord, PreconditionerKind, SolverError};
use chromaflow::sparse::ShapeError;
use chromaflow::sparse::io::{MatrixFile, MatrixFileError, read_matrix, read_vector, write_vector};
use chromaflow::{LinearSolver, SolverOptions, Team, vector};
use chromaflow_device::cuda::Gpu;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Reads, solves, reports.
///
/// # Errors
/// Bad input (status 2) or an unwritable result (status 3).
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let options = args.options()?;
    keep_apart(args, ctx)?;
    for path in [&args.solution, &args.history].into_iter().flatten() {
        ensure_writable(path)?;
    }
    let start = Instant::now();
    let file = read_matrix(&args.matrix, args.block_size).map_err(file_error)?;
    let read_s = start.elapsed().as_secs_f64();
    let (rows, cols) = (file.matrix.pattern().rows(), file.matrix.pattern().cols());
    let nb = file.matrix.nb();
    if rows != cols {
        let (r, c) = (rows * nb, cols * nb);
        let what = format!(
            "{}: the matrix has {r} rows and {c} columns; solve needs a square one",
            args.matrix.display()
        );
        return Err(CliError::input(what));
    }
    // In a file no diagonal can stand apart from the other blocks.
    let pattern = file.matrix.pattern();
    if rows > 0 && (0..rows).all(|row| !pattern.columns(row).contains(&(row as u32))) {
        let what =
            "no row has a diagonal block, and every row needs one: number unknowns and equations alike";
        return Err(CliError::input(format!("{}: {what}", args.matrix.display())));
    }
    if ctx.verbose() {
        say::matrix(args, &file);
    }
    let (b, known) = right_hand_side(args, &file, ctx)?;
    let team = Arc::clone(ctx.team());
    let mut x = vec![0.0; b.len()];
    let done = match ctx.gpu() {
        None => on_cpu((args, options), &file, &team, (&b, &mut x), ctx)?,
        Some(gpu) => on_gpu((args, options), &file, &team, gpu, (&b, &mut x), ctx)?,
    };
    let Solved { solve, order, pivoted, bytes, null_space, symbolic_s, numeric_s, solve_s } = done;
    let norm = |v: &[f64]| vector::norm2(&team, v);
    let error = known.as_ref().map(|known| {
        let difference: Vec<f64> = x.iter().zip(known).map(|(x, k)| x - k).collect();
        norm(&difference) / norm(known)
    });
    let times = Times { read: read_s, symbolic: symbolic_s, numeric: numeric_s, solve: solve_s };
    if ctx.verbose() {
        say::null_space(null_space);
        say::result(&solve, options.method, norm(&x), error, &times);
    }
    if let Some(path) = &args.solution {
        match vector::first_not_finite(&team, &x) {
            None => write_vector(path, &x)?,
            Some(at) => {
                let (path, value) = (path.display(), x[at]);
                eprintln!("note: {path} is not written: the solution has {value} at {}, from 1", at + 1);
            }
        }
    }
    if let Some(path) = &args.history {
        write_history(path, &solve.history)?;
    }
    ctx.write_json(&json!({
        "outcome": solve.outcome.name(),
        "iterations": solve.iterations,
        "relative_residual": finite(solve.relative_residual),
        "solution_norm": finite(norm(&x)),
        "solution_error": error.and_then(finite),
        "rhs_norm": norm(&b),
        "rows": rows,
        "block_size": nb,
        "blocks": file.matrix.pattern().nnzb(),
        "entries": file.entries,
        "format": file.format.name(),
        "method": MethodWord::of(options.method, options.preconditioner).map_or(options.method.name(), MethodWord::name),
        "preconditioner": options.preconditioner.name(),
        "policy": options.policy.name(),
        "fill": options.preconditioner.fill().unwrap_or_default().to_string(),
        "null_space": null_space.map(|(open, unreached, left_out)| {
            json!({ "constants": open, "of_the_transpose": unreached, "rhs_left_out": left_out })
        }),
        "sweeps": options.sweeps,
        "tolerance": options.tolerance,
        "colors": order.colors,
        "largest_color": order.largest,
        "smallest_color": order.smallest,
        "bandwidth": [order.before.bandwidth, order.after.bandwidth],
        "profile": [order.before.profile, order.after.profile],
        "pivoted_blocks": pivoted,
        "threads": team.size(),
        "memory_bytes": bytes,
        "gpu": ctx.gpu().map(|gpu| gpu.facts().name.clone()),
        "time_s": times.symbolic + times.numeric + times.solve,
        "time": { "read_s": read_s, "symbolic_s": symbolic_s, "numeric_s": numeric_s, "solve_s": solve_s },
        "history": solve.history.iter().copied().map(finite).collect::<Vec<_>>(),
        "version": env!("CARGO_PKG_VERSION"),
    }))?;
    Ok(Done::of(solve.outcome, options.tolerance > 0.0))
}

/// That no output is written over what is read, or over another output.
fn keep_apart(args: &Args, ctx: &Context) -> CliResult<()> {
    let rhs =
        args.rhs.as_deref().filter(|rhs| !["ones", "embedded", "known"].contains(rhs)).map(PathBuf::from);
    let inputs = [
        ("the matrix", Some(&args.matrix)),
        ("--rhs", rhs.as_ref()),
        ("--known-solution", args.known_solution.as_ref()),
    ];
    let outputs = [
        ("--solution", args.solution.as_ref()),
        ("--history", args.history.as_ref()),
        ("--json", ctx.json()),
    ];
    // A file that is yet to be has a folder that is there.
    let place = |path: &PathBuf| {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        path.canonicalize().ok().or_else(|| Some(folder.canonicalize().ok()?.join(path.file_name()?)))
    };
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (n, (what, path)) in inputs.into_iter().chain(outputs).enumerate() {
        let Some(place) = path.and_then(place) else { continue };
        if let Some((other, _)) = seen.iter().find(|(_, at)| n >= 3 && *at == place) {
            let what =
                format!("{what} would be written over {other}, {}: give it another name", place.display());
            return Err(CliError::input(what));
        }
        seen.push((what, place));
    }
    Ok(())
}

/// What is wrong with the matrix, in the numbers of its file.
fn in_file(args: &Args, preconditioner: PreconditionerKind, nb: usize, error: &SolverError) -> CliError {
    let place = |row: usize| match nb {
        1 => format!("row {}", row + 1),
        _ => format!("block row {} (rows {} to {})", row + 1, row * nb + 1, (row + 1) * nb),
    };
    let what = match error {
        SolverError::Shape(ShapeError::MissingDiagonal { row }) => format!(
            "{} has no diagonal block, and every row needs one: say --block-size where several unknowns belong together, write the entries that are \
             missing as zeros, or put the rows in another order",
            place(*row)
        ),
        SolverError::SingularDiagonal { count, row } => {
            let (count, place) = (*count, place(*row));
            if let PreconditionerKind::Ilu(_) = preconditioner {
                format!(
                    "{count} pivots of block ILU have no inverse, the first in {place}: try --precond multicolor, more --fill or another --order; none \
                     helps where the matrix is singular"
                )
            } else {
                format!(
                    "{count} diagonal blocks have no inverse, the first in {place}: every unknown needs its own equation (a time term makes it so), or \
                     the rows must be reordered"
                )
            }
        }
        SolverError::NoConstants { row, entry, sum } => format!(
            "--null-space constant, but the matrix takes no constants to zero: row {} adds up to {sum:.3e}; leave the option out, or look there for a condition that \
             sets the level",
            row * nb + entry + 1
        ),
        SolverError::Options(_) => return CliError::input(error.to_string()),
        other => other.to_string(),
    };
    CliError::input(format!("{}: {what}", args.matrix.display()))
}

/// A solve with what it took.
struct Solved {
    solve: Solve,
    order: PlanReport,
    pivoted: usize,
    bytes: usize,
    /// [`LinearSolver::null_space`]
    null_space: Option<(usize, usize, f64)>,
    symbolic_s: f64,
    numeric_s: f64,
    solve_s: f64,
}

fn on_cpu(
    (args, options): (&Args, SolverOptions),
    file: &MatrixFile,
    team: &Arc<Team>,
    (b, x): (&[f64], &mut [f64]),
    ctx: &Context,
) -> CliResult<Solved> {
    let start = Instant::now();
    let (pattern, nb) = (file.matrix.pattern(), file.matrix.nb());
    let in_file = |e: SolverError| in_file(args, options.preconditioner, nb, &e);
    let mut solver = LinearSolver::symbolic(Arc::clone(team), pattern, nb, options).map_err(in_file)?;
    let symbolic_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let set = solver.numeric(file.matrix.values(), BlockLayout::ColumnMajor).map_err(in_file)?;
    let numeric_s = start.elapsed().as_secs_f64();
    if ctx.verbose() {
        say::setup(solver.order(), solver.options(), &set, b.len());
    }
    let start = Instant::now();
    let solve = solver.solve(b, x).map_err(in_file)?;
    let solve_s = start.elapsed().as_secs_f64();
    let (order, bytes, null_space) = (*solver.order(), solver.bytes(), solver.null_space());
    Ok(Solved { solve, order, pivoted: set.pivoted, bytes, null_space, symbolic_s, numeric_s, solve_s })
}

fn on_gpu(
    (args, options): (&Args, SolverOptions),
    file: &MatrixFile,
    team: &Arc<Team>,
    gpu: &Gpu,
    (b, x): (&[f64], &mut [f64]),
    ctx: &Context,
) -> CliResult<Solved> {
    let failed = |e: SolverError| match e {
        SolverError::Gpu(GpuError::Cuda(e)) => CliError::environment(e.to_string()),
        other => in_file(args, options.preconditioner, file.matrix.nb(), &other),
    };
    let start = Instant::now();
    let stream = gpu.stream().map_err(|e| CliError::environment(e.to_string()))?;
    let (pattern, nb) = (file.matrix.pattern(), file.matrix.nb());
    let mut solver = LinearSolverCuda::symbolic(&stream, team, pattern, nb, options).map_err(failed)?;
    let symbolic_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let set = solver.numeric(file.matrix.values(), BlockLayout::ColumnMajor).map_err(failed)?;
    let numeric_s = start.elapsed().as_secs_f64();
    if ctx.verbose() {
        say::setup(solver.order(), solver.options(), &set, b.len());
        println!("             on {}", gpu.facts().name);
    }
    let start = Instant::now();
    let solve = solver.solve(b, x).map_err(failed)?;
    let solve_s = start.elapsed().as_secs_f64();
    let (order, bytes) = (*solver.order(), solver.bytes());
    Ok(Solved { solve, order, pivoted: set.pivoted, bytes, null_space: None, symbolic_s, numeric_s, solve_s })
}

struct Times {
    read: f64,
    symbolic: f64,
    numeric: f64,
    solve: f64,
}

/// JSON has no NaN and no infinity.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn file_error(error: MatrixFileError) -> CliError {
    match error {
        MatrixFileError::File(e) => e.into(),
        content @ MatrixFileError::Content { .. } => CliError::input(content.to_string()),
    }
}

/// The right-hand side, and the solution where it is known.
fn right_hand_side(args: &Args, file: &MatrixFile, ctx: &Context) -> CliResult<(Vec<f64>, Option<Vec<f64>>)> {
    let n = file.matrix.pattern().rows() * file.matrix.nb();
    let checked = |path: &Path, v: Vec<f64>| {
        if v.len() == n {
            return Ok(v);
        }
        let found = v.len();
        Err(CliError::input(format!("{}: {found} entries, but the matrix has {n} rows", path.display())))
    };
    match (args.rhs.as_deref(), &file.rhs) {
        (Some("embedded") | None, Some(b)) => Ok((b.clone(), None)),
        (Some("embedded"), None) => Err(CliError::input(format!(
            "{}: no right-hand side in the file or beside it (NAME_b.mtx); use --rhs FILE or --rhs ones",
            args.matrix.display()
        ))),
        (None, None) => {
            if ctx.verbose() {
                println!("right-hand side: none in the file, so all ones");
            }
            Ok((vec![1.0; n], None))
        }
        (Some("ones"), _) => Ok((vec![1.0; n], None)),
        (Some("known"), _) => {
            let known = match &args.known_solution {
                Some(path) => checked(path, read_vector(path).map_err(file_error)?)?,
                None => (0..n).map(|i| 1.0 + 0.5 * (i as f64).sin()).collect(),
            };
            let mut b = vec![0.0; n];
            file.matrix.multiply(&Team::new(1), &known, &mut b);
            Ok((b, Some(known)))
        }
        (Some(path), _) => {
            let path = Path::new(path);
            Ok((checked(path, read_vector(path).map_err(file_error)?)?, None))
        }
    }
}

fn write_history(path: &Path, history: &[f64]) -> Result<(), FileError> {
    let mut file = AtomicFile::create(path)?;
    let mut write = || -> std::io::Result<()> {
        writeln!(file, "iteration,relative_residual")?;
        history.iter().enumerate().try_for_each(|(i, r)| writeln!(file, "{i},{r:e}"))
    };
    write().map_err(|e| FileError::new("cannot write", path, e))?;
    file.commit()
}
