//! Richardson's iteration.

use super::monitor::Monitor;
use super::{Control, LinearOperator, Preconditioner, Solve};
use crate::vector::{axpy, norm2};
use chromaflow_device::Team;

/// x <- x + damping M (b - A x): a relaxation made into a solver, or the restart of a low-precision one: the residual
/// and x are f64, whatever the precision inside M.
///
/// **Outcome**: `Converged`, `IterationLimit`, `Stagnated` (300 iterations without a gain), `Diverged` (the residual has
/// grown by ten orders, or is no number).
/// **Source**: Richardson (1911); restarts of low-precision sweeps: Walden et al. (2019), Section V.
#[derive(Clone, Copy, Debug)]
pub struct Richardson {
    /// Factor on every correction.
    pub damping: f64,
}

impl Default for Richardson {
    fn default() -> Self {
        Self { damping: 1.0 }
    }
}

impl Richardson {
    /// Solves A x = b from the first guess in `x`.
    ///
    /// # Panics
    /// When `b` or `x` has not `a.len()` entries.
    pub fn solve(
        self,
        team: &Team,
        a: &dyn LinearOperator,
        m: &mut dyn Preconditioner,
        b: &[f64],
        x: &mut [f64],
        control: &Control,
    ) -> Solve {
        let (mut monitor, mut r, mut norm) = Monitor::start(team, a, b, x, *control);
        let mut z = vec![0.0; r.len()];
        let outcome = loop {
            if let Some(outcome) = monitor.stop_or_stagnate(norm) {
                break outcome;
            }
            m.apply(team, &r, &mut z);
            axpy(team, self.damping, &z, x);
            a.residual(team, b, x, &mut r);
            norm = norm2(team, &r);
            monitor.push(norm);
        };
        monitor.finish(outcome, norm)
    }
}
