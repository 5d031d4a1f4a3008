//! Richardson's iteration.

use super::monitor::{Monitor, System};
use super::system::HostSystem;
use super::{Control, LinearOperator, Preconditioner, Solve};
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
        if let Some(outcome) = monitor.stop_or_stagnate(norm) {
            break outcome;
        }
        system.correct(damping)?;
        norm = system.residual()?;
        monitor.push(norm);
    };
    Ok(monitor.finish(outcome, norm))
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
}

impl Corrections for HostCorrections<'_> {
    fn correct(&mut self, damping: f64) -> Result<(), Infallible> {
        self.m.apply(self.system.team, &self.system.r, &mut self.z);
        axpy(self.system.team, damping, &self.z, self.system.x);
        Ok(())
    }
}
