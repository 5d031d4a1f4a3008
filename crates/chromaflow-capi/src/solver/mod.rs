//! A pattern, its values, a method: the entries.

mod callbacks;
mod held;

pub use callbacks::{ExchangeFn, MonitorFn, OperatorFn, ReduceFn};
pub use held::Held;

use crate::arrays::{Array, ArrayMut};
use crate::context::{Context, Level, Shared, logged, text_of};
use crate::status::{Failure, Handle, Outcome, check_size, entry, slot, versioned};
use callbacks::{Monitor, Operator, Ranks};
use chromaflow::krylov::Solve;
use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::sync::Arc;
use std::time::Instant;

/// `chromaflow_pattern`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Pattern {
    pub size: usize,
    pub rows: i64,
    pub nb: i32,
    pub base: i32,
    pub row_ptr: Array,
    pub col_idx: Array,
    pub ghosts: i64,
}

/// `chromaflow_set_report`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct SetReport {
    pub size: usize,
    pub pivoted: i64,
    pub pivoted_row: i64,
    pub underflowed: i64,
    pub seconds: f64,
}

/// `chromaflow_report`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Report {
    pub size: usize,
    pub outcome: i32,
    pub iterations: i64,
    pub residual: f64,
    pub history: *const f64,
    pub history_len: i64,
    pub seconds: f64,
}

/// `chromaflow_solver`.
pub type Solver = Handle<Held>;

/// Renumbering, coloring, memory.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_create(
    context: *mut Context,
    pattern: *const Pattern,
    options: *const c_char,
    solver: *mut *mut Solver,
) -> i32 {
    // SAFETY: as the header says.
    unsafe {
        create(context, pattern, options, solver, |shared, pattern, text| Held::new(shared, pattern, text))
    }
}

/// Hands out what `make` makes of a pattern and options.
///
/// # Safety
/// As the header says of both functions that create solvers.
unsafe fn create(
    context: *mut Context,
    pattern: *const Pattern,
    options: *const c_char,
    solver: *mut *mut Solver,
    make: impl FnOnce(Arc<Shared>, &Pattern, &str) -> Result<Held, Failure>,
) -> i32 {
    entry(|| {
        // SAFETY: as the caller promises.
        let (to, shared, pattern, options) = unsafe {
            let to = slot(solver, "solver")?;
            *to = std::ptr::null_mut();
            let shared = Arc::clone(&*Handle::of(context, "context")?);
            let pattern = versioned(pattern, offset_of!(Pattern, ghosts), "chromaflow_pattern")?;
            (to, shared, pattern, text_of(options, "options")?)
        };
        logged(&Arc::clone(&shared), || {
            Handle::give(make(shared, &pattern, options)?, to);
            Ok(())
        })
    })
}

/// The rows of one rank of a matrix that ranks have together, columns in global numbers.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_create_over_ranks(
    context: *mut Context,
    comm: *mut crate::comm::Comm,
    pattern: *const Pattern,
    first_row: i64,
    options: *const c_char,
    solver: *mut *mut Solver,
) -> i32 {
    // SAFETY: as the header says.
    unsafe {
        create(context, pattern, options, solver, |shared, pattern, text| {
            let ranks = Arc::clone(&*Handle::of(comm, "communicator")?);
            Held::over_ranks(shared, &ranks, pattern, first_row, text)
        })
    }
}

/// Ends a solver.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_destroy(solver: *mut Solver) {
    entry(|| {
        // SAFETY: as the header says.
        unsafe { Handle::take_back(solver) };
        Ok(())
    });
}

/// Changes an option.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_option(
    solver: *mut Solver,
    key: *const c_char,
    value: *const c_char,
) -> i32 {
    // SAFETY: as the header says.
    with(solver, |held| held.set_option(unsafe { text_of(key, "key") }?, unsafe { text_of(value, "value") }?))
}

/// New values.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_set_values(
    solver: *mut Solver,
    values: Array,
    diagonal: Array,
    layout: i32,
    report: *mut SetReport,
) -> i32 {
    with(solver, |held| {
        // SAFETY: as the header says.
        let report = unsafe { report.as_mut() };
        if let Some(report) = &report {
            check_size::<SetReport>("chromaflow_set_report", report.size)?;
        }
        let start = Instant::now();
        // SAFETY: as the header says.
        let found = unsafe { held.set_values(&values, &diagonal, layout) }?;
        if found.pivoted > 0 {
            held.shared.log(Level::Warning, || {
                let (count, first) = (found.pivoted, found.pivoted_rows.first().map_or(0, |&r| r));
                format!("{count} diagonal blocks needed pivoting, the first in row {first}: look at the Jacobian there")
            });
        }
        if let Some(report) = report {
            report.pivoted = found.pivoted as i64;
            report.pivoted_row = found.pivoted_rows.first().map_or(-1, |&r| r as i64);
            report.underflowed = found.underflowed as i64;
            report.seconds = start.elapsed().as_secs_f64();
        }
        Ok(())
    })
}

/// x = A^-1 b.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_solve(
    solver: *mut Solver,
    b: Array,
    x: ArrayMut,
    report: *mut Report,
) -> i32 {
    with(solver, |held| {
        // SAFETY: as the header says.
        let report = unsafe { report.as_mut() };
        if let Some(report) = &report {
            check_size::<Report>("chromaflow_report", report.size)?;
        }
        let start = Instant::now();
        // SAFETY: as the header says.
        let solve = unsafe { held.solve(&b, &x) }?;
        held.histories.clear();
        let stopped = held.was_stopped();
        told(held, solve, report, start.elapsed().as_secs_f64(), stopped);
        Ok(())
    })
}

/// Several right-hand sides.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_solve_many(
    solver: *mut Solver,
    count: i64,
    b: Array,
    x: ArrayMut,
    reports: *mut Report,
) -> i32 {
    with(solver, |held| {
        let count = usize::try_from(count).map_err(|_| {
            Failure::argument(format!("count is {count}: expected how many right-hand sides there are"))
        })?;
        // Of no right-hand sides there is no first report to look at, whatever the pointer.
        let reports = if count == 0 { std::ptr::null_mut() } else { reports };
        // SAFETY: as the header says.
        let size = unsafe { reports.as_ref() }.map(|first| first.size);
        size.map_or(Ok(()), |size| check_size::<Report>("chromaflow_report", size))?;
        let n = held.unknowns().saturating_mul(count);
        for (what, len) in [("b", b.len), ("x", x.len)] {
            if usize::try_from(len) != Ok(n) {
                let text =
                    format!("{what} has {len} values, expected {n}: {count} vectors one after the other");
                return Err(Failure::argument(text));
            }
        }
        held.histories.clear();
        held.histories.reserve(count);
        // SAFETY: one report each, as far apart as the caller's struct is large.
        let report = |at| unsafe { size.and_then(|size| reports.byte_add(at * size).as_mut()) };
        let start = Instant::now();
        // SAFETY: as the header says; the arrays have `count` vectors.
        if let Some(solves) = unsafe { held.solve_at_once(count, &b, &x) }? {
            let each = start.elapsed().as_secs_f64() / count as f64;
            let ended = held.was_stopped();
            for (at, solve) in solves.into_iter().enumerate() {
                let unfinished = solve.outcome == chromaflow::Outcome::IterationLimit;
                let stopped = ended && unfinished && solve.iterations < held.max_iterations();
                told(held, solve, report(at), each, stopped);
            }
            return Ok(());
        }
        for at in 0..count {
            let start = Instant::now();
            // SAFETY: as above.
            let solve = unsafe { held.solve(&b.part(at, count)?, &x.part(at, count)?) }?;
            let stopped = held.was_stopped();
            told(held, solve, report(at), start.elapsed().as_secs_f64(), stopped);
        }
        Ok(())
    })
}

/// Keeps what a solve has found, and tells log and caller.
fn told(held: &mut Held, solve: Solve, report: Option<&mut Report>, seconds: f64, stopped: bool) {
    held.shared.log(Level::Info, || {
        format!("{} after {} iterations at {:.3e}", solve.outcome, solve.iterations, solve.relative_residual)
    });
    held.histories.push(solve.history);
    let (Some(report), Some(history)) = (report, held.histories.last()) else { return };
    report.outcome = match solve.outcome {
        _ if stopped => 5,
        chromaflow::Outcome::Converged => 0,
        chromaflow::Outcome::IterationLimit => 1,
        chromaflow::Outcome::Stagnated => 2,
        chromaflow::Outcome::Diverged { .. } => 3,
        chromaflow::Outcome::Breakdown { .. } => 4,
    };
    report.iterations = solve.iterations as i64;
    report.residual = solve.relative_residual;
    report.history = history.as_ptr();
    report.history_len = history.len() as i64;
    report.seconds = seconds;
}

/// z = M r.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_apply(solver: *mut Solver, r: Array, z: ArrayMut) -> i32 {
    // SAFETY: as the header says.
    with(solver, |held| unsafe { held.product(true, ("r", &r), ("z", &z)) })
}

/// y = A x.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_multiply(solver: *mut Solver, x: Array, y: ArrayMut) -> i32 {
    // SAFETY: as the header says.
    with(solver, |held| unsafe { held.product(false, ("x", &x), ("y", &y)) })
}

/// The order inside.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_order(
    solver: *mut Solver,
    new_of_old: *mut i64,
    color_starts: *mut i64,
    colors: *mut i64,
) -> i32 {
    with(solver, |held| {
        let to_new_of_old = new_of_old;
        let (new_of_old, starts) = held.order_inside();
        let base = held.base as i64;
        let copy = |to: *mut i64, from: &[u32]| {
            for (at, &row) in from.iter().enumerate().filter(|_| !to.is_null()) {
                // SAFETY: the header asks for arrays of these lengths.
                unsafe { to.add(at).write(i64::from(row) + base) };
            }
        };
        copy(to_new_of_old, &new_of_old);
        copy(color_starts, &starts);
        // SAFETY: as the header says.
        if let Some(colors) = unsafe { colors.as_mut() } {
            *colors = starts.len() as i64 - 1;
        }
        Ok(())
    })
}

/// y = A x by the caller.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_operator(
    solver: *mut Solver,
    apply: Option<OperatorFn>,
    user: *mut c_void,
) -> i32 {
    with(solver, |held| {
        held.only_on_threads("an operator of the caller's", apply.is_some())?;
        held.operator = apply.map(|apply| Operator { apply, user });
        Ok(())
    })
}

/// Other ranks by the caller.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_distribute(
    solver: *mut Solver,
    exchange: Option<ExchangeFn>,
    reduce: Option<ReduceFn>,
    user: *mut c_void,
) -> i32 {
    with(solver, |held| {
        let (Some(exchange), Some(reduce)) = (exchange, reduce) else {
            return Err(Failure::argument("exchange or reduce is NULL: ranks need both"));
        };
        held.distribute(Ranks { exchange, reduce, user })
    })
}

/// Whom to tell after each iteration.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_monitor(
    solver: *mut Solver,
    monitor: Option<MonitorFn>,
    user: *mut c_void,
) -> i32 {
    with(solver, |held| held.monitor(monitor.map(|tell| Monitor { tell, user })))
}

/// Lets the monitor of a solver be told of several solves in turn, without saying of which: for callers in Rust whose monitor asks for nothing
/// but whether to go on.
///
/// # Safety
/// `solver` was given out by [`chromaflow_solver_create`] and is not destroyed.
pub unsafe fn monitor_in_turn(solver: *mut Solver) -> i32 {
    with(solver, |held| {
        held.monitor_in_turn();
        Ok(())
    })
}

/// An entry that works with a solver.
fn with(solver: *mut Solver, job: impl FnOnce(&mut Held) -> Outcome) -> i32 {
    entry(|| {
        // SAFETY: as the header says of every function that takes a solver.
        let mut held = unsafe { Handle::of(solver, "solver") }?;
        let shared = Arc::clone(&held.shared);
        logged(&shared, || job(&mut held))
    })
}
