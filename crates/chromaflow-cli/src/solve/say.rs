//! What `chromaflow solve` prints.

use super::Times;
use super::args::{Args, environment};
use crate::run::{bytes, counted};
use chromaflow::factor::block_ilu::Fill;
use chromaflow::krylov::Solve;
use chromaflow::order::PlanReport;
use chromaflow::solver::{Method, MethodWord, NumericReport, PreconditionerKind};
use chromaflow::sparse::io::{BlockSizeFrom, MatrixFile};
use chromaflow::{Outcome, SolverOptions};

pub(super) fn matrix(args: &Args, file: &MatrixFile) {
    let (pattern, nb) = (file.matrix.pattern(), file.matrix.nb());
    let from = match file.block_size_from {
        BlockSizeFrom::Given => "given",
        BlockSizeFrom::File => "from the file",
        BlockSizeFrom::Pattern => "found from the pattern",
    };
    println!("matrix:      {} ({})", args.matrix.display(), file.format.name());
    println!(
        "             {} rows of {nb} x {nb} blocks ({from}), {} blocks, {:.2} a row",
        pattern.rows(),
        pattern.nnzb(),
        pattern.nnzb() as f64 / pattern.rows().max(1) as f64
    );
}

/// `unknowns` are those of the system.
pub(super) fn setup(order: &PlanReport, options: &SolverOptions, set: &NumericReport, unknowns: usize) {
    let (before, after) = (order.before, order.after);
    println!(
        "order:       bandwidth {} -> {}, profile {} -> {}",
        before.bandwidth, after.bandwidth, before.profile, after.profile
    );
    if order.colors > 1 {
        println!("             {} colors of {} to {} rows", order.colors, order.smallest, order.largest);
    }
    let environment = environment();
    if !environment.is_empty() {
        println!("options:     CHROMAFLOW_OPTIONS = {environment}");
    }
    let sweeps = match options.preconditioner {
        PreconditionerKind::Ilu(Fill::Level(k)) => format!(", block ILU({k}) ({})", options.policy),
        PreconditionerKind::Ilu(Fill::DiagonalOnly) => format!(", block DILU ({})", options.policy),
        PreconditionerKind::None => ", no preconditioner".to_owned(),
        _ if options.method == Method::Richardson => String::new(),
        kind => format!(", {} {kind} sweeps ({})", options.sweeps, options.policy),
    };
    let word = MethodWord::of(options.method, options.preconditioner);
    println!("method:      {}{sweeps}", word.map_or(options.method.name(), MethodWord::name));
    if options.method == Method::Gmres {
        let (first, longest) = options.cycles(unknowns);
        let grow =
            if longest > first { format!(", where those are slow up to {longest}") } else { String::new() };
        let room = bytes(16 * longest * unknowns);
        println!("             cycles of {first} iterations{grow}; their vectors take at most {room}");
    }
    if set.pivoted > 0 {
        println!("             {} diagonal blocks needed pivoting, rows {:?}", set.pivoted, set.pivoted_rows);
    }
    if set.underflowed > 0 {
        println!("             {} off-diagonal values became zero in f16", set.underflowed);
    }
}

/// What [`LinearSolver::null_space`](chromaflow::LinearSolver::null_space) says.
pub(super) fn null_space(found: Option<(usize, usize, f64)>) {
    let Some((open, unreached, left_out)) = found else { return };
    let left = match unreached {
        0 => "the transpose has none, so b stays whole".to_owned(),
        _ => format!("b lost {left_out:.3e} of its length, which no x gives"),
    };
    println!("null space:  {}; {left}", counted(open, "constant"));
}

pub(super) fn result(solve: &Solve, method: Method, norm: f64, error: Option<f64>, times: &Times) {
    let outcome = match solve.outcome {
        // Of the method, not of a row.
        Outcome::Breakdown { .. } if method != Method::Richardson => "breakdown".to_owned(),
        other => other.to_string(),
    };
    println!(
        "result:      {outcome} after {} iterations, ||b - A x|| / ||b|| = {:.3e}",
        solve.iterations, solve.relative_residual
    );
    let ended = matches!(solve.outcome, Outcome::Breakdown { .. } | Outcome::Stagnated);
    if ended && method != Method::Richardson {
        println!(
            "             the best solution found: a singular matrix, as of a pressure that nothing sets, has no better one unless b fits; \
             --null-space constant is for such ones"
        );
    }
    println!("             ||x|| = {norm:.10e}");
    if let Some(error) = error {
        println!("             ||x - known|| / ||known|| = {error:.3e}");
    }
    println!(
        "time:        read {:.3} s, order {:.3} s, factor {:.3} s, solve {:.3} s",
        times.read, times.symbolic, times.numeric, times.solve
    );
}
