//! Functions of the caller's.

use crate::arrays::{Array, ArrayMut, HOST, Type};
use crate::status::{Failure, Status};
use chromaflow::krylov::Solve;
use chromaflow::solver::{LinearSolver, RanksError};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// `chromaflow_operator`.
pub type OperatorFn = unsafe extern "C" fn(user: *mut c_void, x: Array, y: ArrayMut) -> i32;
/// `chromaflow_exchange`.
pub type ExchangeFn = unsafe extern "C" fn(user: *mut c_void, phase: i32, x: ArrayMut, nb: i32) -> i32;
/// `chromaflow_reduce`.
pub type ReduceFn = unsafe extern "C" fn(user: *mut c_void, values: *mut f64, n: i32) -> i32;
/// `chromaflow_monitor`.
pub type MonitorFn = unsafe extern "C" fn(user: *mut c_void, iteration: i64, residual: f64) -> i32;

/// The caller's y = A x.
#[derive(Clone, Copy)]
pub(super) struct Operator {
    pub(super) apply: OperatorFn,
    pub(super) user: *mut c_void,
}

/// The caller's halo exchange and sum.
#[derive(Clone, Copy)]
pub(super) struct Ranks {
    pub(super) exchange: ExchangeFn,
    pub(super) reduce: ReduceFn,
    pub(super) user: *mut c_void,
}

/// Whom the caller wants told after each iteration.
#[derive(Clone, Copy)]
pub(super) struct Monitor {
    pub(super) tell: MonitorFn,
    pub(super) user: *mut c_void,
}

// SAFETY: the header says that callbacks are called on whatever thread makes a call, by one call at a time.
unsafe impl Send for Operator {}
// SAFETY: as above.
unsafe impl Send for Ranks {}
// SAFETY: as above.
unsafe impl Send for Monitor {}

fn lent(values: &mut [f64]) -> ArrayMut {
    let (len, r#type, place) = (values.len() as i64, Type::F64 as i32, HOST);
    ArrayMut { data: values.as_mut_ptr().cast(), len, r#type, place }
}

impl Ranks {
    fn call(self, phase: i32, x: &mut [f64], nb: usize) -> Result<(), RanksError> {
        // SAFETY: the caller gave this function and what it wants as `user`; the array lives through the call.
        match unsafe { (self.exchange)(self.user, phase, lent(x), nb as i32) } {
            0 => Ok(()),
            status => Err(format!("the exchange returned {status}").into()),
        }
    }
}

impl chromaflow::solver::Ranks for Ranks {
    fn begin(&mut self, x: &mut [f64], nb: usize) -> Result<(), RanksError> {
        self.call(0, x, nb)
    }

    fn finish(&mut self, x: &mut [f64], nb: usize) -> Result<(), RanksError> {
        self.call(1, x, nb)
    }

    fn sum(&mut self, values: &mut [f64]) -> Result<(), RanksError> {
        // SAFETY: as above.
        match unsafe { (self.reduce)(self.user, values.as_mut_ptr(), values.len() as i32) } {
            0 => Ok(()),
            status => Err(format!("the reduction returned {status}").into()),
        }
    }
}

impl Monitor {
    /// What a solver calls; `stopped` says whether it has ended the solve.
    pub(super) fn watch(self, stopped: Arc<AtomicBool>) -> Box<dyn FnMut(usize, f64) -> bool + Send> {
        Box::new(move |iteration, residual| {
            let own = self; // the whole, which may go to another thread
            // SAFETY: the caller gave this function and what it wants as `user`.
            let stops = unsafe { (own.tell)(own.user, iteration as i64, residual) } != 0;
            stopped.store(stops, Ordering::Relaxed);
            !stops
        })
    }
}

pub(super) fn solve_with(
    solver: &mut LinearSolver,
    operator: Operator,
    b: &[f64],
    x: &mut [f64],
) -> Result<Solve, Failure> {
    let mut refused = None;
    let mut product = |x: &[f64], y: &mut [f64]| {
        let (len, r#type, place) = (x.len() as i64, Type::F64 as i32, HOST);
        let given = Array { data: x.as_ptr().cast(), len, r#type, place };
        // SAFETY: the caller gave this function and what it wants as `user`; the arrays live through the call.
        let status = refused.unwrap_or_else(|| unsafe { (operator.apply)(operator.user, given, lent(y)) });
        if status != 0 {
            refused = Some(status);
            y.fill(f64::NAN); // which ends the iteration
        }
    };
    let solve = solver.solve_matrix_free(&mut product, b, x)?;
    match refused {
        None => Ok(solve),
        Some(status) => Err(Failure::new(
            Status::Callback,
            format!("the operator returned {status}: the solve ends, x is lost"),
        )),
    }
}
