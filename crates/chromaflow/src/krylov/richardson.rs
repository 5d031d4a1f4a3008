//! Richardson's iteration.

use super::monitor::{Monitor, System};
use super::system::HostSystem;
use super::{Control, LinearOperator, Preconditioner, Relaxation, Solve};
use crate::Outcome;
use crate::relax::{Guess, SolveOptions};
use crate::vector::axpy;
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
        let mut z = vec![0.0; b.len()];
        let Ok(solve) = richardson(&mut HostSystem::new(team, a, b, x), control, |system| {
            m.apply(system.team, &system.r, &mut z);
            axpy(system.team, self.damping, &z, system.x);
            Ok(())
        });
        solve
    }
}

/// The method; `correct` makes x better by M r.
pub(super) fn richardson<S: System>(
    system: &mut S,
    control: &Control,
    mut correct: impl FnMut(&mut S) -> Result<(), S::Error>,
) -> Result<Solve, S::Error> {
    let (mut monitor, mut norm) = Monitor::start(system, control)?;
    let outcome = loop {
        if let Some(outcome) = monitor.stop(norm) {
            break outcome;
        }
        if monitor.stagnates(norm) {
            break Outcome::Stagnated;
        }
        correct(system)?;
        norm = system.residual()?;
        monitor.push(norm);
        if !monitor.converged(norm) && !monitor.tell(system) {
            break Outcome::IterationLimit;
        }
    };
    Ok(monitor.finish(outcome, norm))
}

/// Sweeps on x itself, in each iteration as many as the options of `relaxation` say: no correction is formed, so that x
/// keeps the precision of the sweeps. Residuals are those of `a`.
///
/// # Panics
/// As [`Richardson::solve`], and when the smoother was set up for another matrix or not factored.
pub fn sweep_solution(
    team: &Team,
    a: &dyn LinearOperator,
    relaxation: Relaxation<'_>,
    b: &[f64],
    x: &mut [f64],
    control: &Control,
) -> Solve {
    let Relaxation { smoother, matrix, options } = relaxation;
    let options = SolveOptions { guess: Guess::Given, ..options };
    let Ok(solve) = richardson(&mut HostSystem::new(team, a, b, x), control, |system| {
        let report = smoother.solve(matrix, system.b, system.x, &options);
        if let Outcome::Breakdown { .. } = report.expect("the smoother is set up for this matrix").outcome {
            system.x.fill(f64::NAN); // the residual says so
        }
        Ok(())
    });
    solve
}
