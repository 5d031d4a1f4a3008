//! Richardson's iteration.

use super::monitor::Monitor;
use super::{Control, LinearOperator, Preconditioner, Solve};
use crate::Outcome;
use crate::vector::{axpy, norm2};
use chromaflow_device::Team;

/// Iterations between two looks at whether the residual still falls.
const WINDOW: usize = 100;

/// x <- x + damping M (b - A x): a relaxation made into a solver, or the restart of a low-precision one: the residual
/// and x are f64, whatever the precision inside M.
///
/// **Outcome**: [`Outcome::Converged`], [`Outcome::IterationLimit`], [`Outcome::Stagnated`] (300 iterations without a
/// gain), [`Outcome::Diverged`] (the residual has grown by ten orders, or is no number).
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
        let n = a.len();
        assert_eq!((b.len(), x.len()), (n, n), "b and x have one entry an unknown");
        let (mut r, mut z) = (vec![0.0; n], vec![0.0; n]);
        a.residual(team, b, x, &mut r);
        let mut norm = norm2(team, &r);
        let mut monitor = Monitor::new(*control, norm2(team, b), norm);
        let mut best = f64::INFINITY;
        let outcome = loop {
            if monitor.converged(norm) {
                break Outcome::Converged;
            }
            if monitor.diverged(norm) {
                break Outcome::Diverged { iteration: monitor.iterations() };
            }
            best = best.min(norm);
            if monitor.iterations() % WINDOW == WINDOW - 1
                && monitor.stagnated(std::mem::replace(&mut best, f64::INFINITY))
            {
                break Outcome::Stagnated;
            }
            if monitor.limit_reached() {
                break Outcome::IterationLimit;
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
