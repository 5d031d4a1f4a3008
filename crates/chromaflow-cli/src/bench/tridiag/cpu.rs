//! Lines on this machine's cores.

use super::{Args, Data, LayoutName, bad_input, budget, record, residual};
use crate::bench::timing::{Record, Timing};
use crate::context::Context;
use crate::error::{CliError, CliResult};
use chromaflow::gallery::Case;
use chromaflow::tridiag::{
    Batch, FactoredSolver, Layout, LineOutcome, Method, Options, Precision, Solver, UnknownMethod,
};
use chromaflow_device::Buffer;

/// The RES lines of a case.
///
/// # Errors
/// Bad usage, a system that breaks down.
pub fn measure<P: Precision>(case: &Case, args: &Args, ctx: &Context) -> CliResult<Vec<Record>> {
    let method: Method = args.method.parse().map_err(|e: UnknownMethod| CliError::input(e.to_string()))?;
    let mut solver = Solver::<P>::new(Options { method, ..Options::default() });
    let layout = match args.layout {
        Some(LayoutName::Aos) => Layout::Aos,
        Some(LayoutName::Soa) => Layout::Soa,
        Some(LayoutName::Interleaved) | None => Layout::Interleaved { lanes: solver.lanes() },
    };
    let columns = args.factored.unwrap_or(1).max(1);
    let data = Data::<P::Store>::new(case, layout, columns)?;
    let batch =
        Batch::new(data.shape, layout, &data.lower, &data.diag, &data.upper).map_err(bad_input(case))?;
    let batch = if args.periodic { batch.periodic() } else { batch };
    let mut x = Buffer::<P::Store>::zeroed(data.rhs.len());
    let solved = |outcome| match outcome {
        LineOutcome::Solved => Ok(()),
        trouble @ LineOutcome::Breakdown { .. } => Err(CliError::input(format!("{case}: {trouble}"))),
    };
    let (team, seconds) = (ctx.team(), budget(args.budget));
    if args.factored.is_none() {
        solved(solver.solve(team, &batch, &data.rhs, &mut x).map_err(bad_input(case))?)?;
        let check = residual(case, &data, args.periodic, &x, 1)?;
        let timing = Timing::of(seconds, 5, || {
            solver.solve(team, &batch, &data.rhs, &mut x).expect("the same solve succeeded before");
        });
        let who = format!("chromaflow-{method}-{layout}-{}", P::NAME);
        return Ok(vec![record::<P>(who, case, "btri_solve", None, (team.size(), timing, check))]);
    }
    let mut solver = FactoredSolver::<P>::new();
    solved(solver.factor(team, &batch).map_err(bad_input(case))?)?;
    solved(solver.solve(team, columns, &data.rhs, &mut x).map_err(bad_input(case))?)?;
    let check = residual(case, &data, args.periodic, &x, columns)?;
    let factor = Timing::of(seconds, 5, || {
        solver.factor(team, &batch).expect("the same factorization succeeded before");
    });
    let apply = Timing::of(seconds, 5, || {
        solver.solve(team, columns, &data.rhs, &mut x).expect("the same solve succeeded before");
    });
    let who = format!("chromaflow-factored-{layout}-{}", P::NAME);
    Ok(vec![
        record::<P>(who.clone(), case, "btri_factor", Some(0), (team.size(), factor, check)),
        record::<P>(who, case, "btri_apply", Some(columns), (team.size(), apply, check)),
    ])
}
