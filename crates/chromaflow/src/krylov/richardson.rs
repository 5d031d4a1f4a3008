//! Richardson's iteration.

use super::monitor::{Monitor, System};
use super::system::HostSystem;
use super::{Control, LinearOperator, Preconditioner, Relaxation, Solve};
use crate::Outcome;
use crate::relax::{Guess, SolveOptions};
use crate::vector::axpy;
use chromaflow_device::Team;
use std::convert::Infallible;

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
        let system = HostSystem::new(team, a, b, x);
        let z = vec![0.0; system.r.len()];
        let Ok(solve) = richardson(&mut HostCorrections { system, m, z }, self.damping, control);
        solve
    }
}

/// A system that can be corrected.
pub(super) trait Corrections: System {
    /// x += damping M r
    fn correct(&mut self, damping: f64) -> Result<(), Self::Error>;
}

/// The method.
pub(super) fn richardson<C: Corrections>(
    system: &mut C,
    damping: f64,
    control: &Control,
) -> Result<Solve, C::Error> {
    let (mut monitor, mut norm) = Monitor::start(system, control)?;
    let outcome = loop {
        if let Some(outcome) = monitor.stop(norm) {
            break outcome;
        }
        if monitor.stagnates(norm) {
            break Outcome::Stagnated;
        }
        system.correct(damping)?;
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
    let mut sweeps = HostSweeps { system: HostSystem::new(team, a, b, x), relaxation };
    let Ok(solve) = richardson(&mut sweeps, 1.0, control);
    solve
}

/// A system whose solution is swept in place.
struct HostSweeps<'a> {
    system: HostSystem<'a>,
    relaxation: Relaxation<'a>,
}

impl System for HostSweeps<'_> {
    type Error = Infallible;

    fn size(&mut self) -> Result<f64, Infallible> {
        self.system.size()
    }

    fn residual(&mut self) -> Result<f64, Infallible> {
        self.system.residual()
    }

    fn go_on(&mut self, iteration: usize, residual: f64) -> bool {
        self.system.go_on(iteration, residual)
    }
}

impl Corrections for HostSweeps<'_> {
    fn correct(&mut self, _damping: f64) -> Result<(), Infallible> {
        let Relaxation { smoother, matrix, options } = &mut self.relaxation;
        let options = SolveOptions { guess: Guess::Given, ..*options };
        let report = smoother.solve(matrix, self.system.b, self.system.x, &options);
        if let Outcome::Breakdown { .. } = report.expect("the smoother is set up for this matrix").outcome {
            self.system.x.fill(f64::NAN); // the residual says so
        }
        Ok(())
    }
}

/// The system on this process's threads.
struct HostCorrections<'a> {
    system: HostSystem<'a>,
    m: &'a mut dyn Preconditioner,
    z: Vec<f64>,
}

impl System for HostCorrections<'_> {
    type Error = Infallible;

    fn size(&mut self) -> Result<f64, Infallible> {
        self.system.size()
    }

    fn residual(&mut self) -> Result<f64, Infallible> {
        self.system.residual()
    }

    fn go_on(&mut self, iteration: usize, residual: f64) -> bool {
        self.system.go_on(iteration, residual)
    }
}

impl Corrections for HostCorrections<'_> {
    fn correct(&mut self, damping: f64) -> Result<(), Infallible> {
        self.m.apply(self.system.team, &self.system.r, &mut self.z);
        axpy(self.system.team, damping, &self.z, self.system.x);
        Ok(())
    }
}
