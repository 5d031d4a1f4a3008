//! Systems of equations on this process's threads.

use super::LinearOperator;
use super::monitor::System;
use crate::dist::Inner;
use chromaflow_device::Team;
use std::convert::Infallible;

/// A x = b with its residual.
pub(super) struct HostSystem<'a> {
    pub(super) team: &'a Team,
    pub(super) a: &'a dyn LinearOperator,
    pub(super) b: &'a [f64],
    pub(super) x: &'a mut [f64],
    pub(super) r: Vec<f64>,
}

impl<'a> HostSystem<'a> {
    /// # Panics
    /// When `b` or `x` has not `a.len()` entries.
    pub(super) fn new(team: &'a Team, a: &'a dyn LinearOperator, b: &'a [f64], x: &'a mut [f64]) -> Self {
        let n = a.len();
        assert_eq!((b.len(), x.len()), (n, n), "b and x have one entry an unknown");
        Self { team, a, b, x, r: vec![0.0; n] }
    }
}

impl HostSystem<'_> {
    /// The inner product of the system.
    pub(super) fn inner(&self) -> Inner<'_> {
        Inner::new(self.team, self.a.links())
    }
}

impl System for HostSystem<'_> {
    type Error = Infallible;

    fn size(&mut self) -> Result<f64, Infallible> {
        Ok(self.inner().norm2(self.b))
    }

    fn residual(&mut self) -> Result<f64, Infallible> {
        self.a.residual(self.team, self.b, self.x, &mut self.r);
        Ok(self.inner().norm2(&self.r))
    }

    fn go_on(&mut self, iteration: usize, residual: f64) -> bool {
        self.a.go_on(iteration, residual)
    }
}
