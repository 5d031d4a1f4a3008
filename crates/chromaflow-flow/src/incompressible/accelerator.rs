//! What a march asks of a device that holds the state and computes the steps in place of this process's threads.

use super::SetupError;
use super::report::Times;
use super::space::Patch;
use crate::march::WallSums;

/// What is known once a residual is there.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Sum of R^2 / V for each equation.
    pub squares: Vec<f64>,
    /// Patch by patch of the walls.
    pub walls: Vec<WallSums>,
}

/// What the implicit part of a step did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Advanced {
    /// The row of a diagonal block that cannot be inverted: nothing was changed then.
    pub singular: Option<usize>,
    /// |b - A x| / |b|
    pub reduction: f64,
    /// The first row whose update is not finite.
    pub bad: Option<usize>,
}

/// The host's copy of the state and of the residual.
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "only devices read it"))]
pub(super) struct HostState<'a> {
    /// Of each block, components one after another, with ghosts.
    pub fields: &'a mut [Vec<f64>],
    /// Earlier time levels as rows; empty in steady runs.
    pub levels: &'a mut [Vec<f64>; 2],
    /// As rows.
    pub residual: &'a mut [f64],
}

/// A device with the state, the matrix and everything else of a solver.
pub(super) trait Accelerator: Send + Sync {
    /// Takes the host's state as the present one and as the last good one.
    fn take_state(&mut self, fields: &[Vec<f64>], levels: &[Vec<f64>; 2]) -> Result<(), SetupError>;

    /// Copies everything to the host.
    fn give_state(&self, state: &mut HostState<'_>) -> Result<(), SetupError>;

    /// Takes what is given at the boundary, and the source (`[rows, n]`).
    fn take_given(&mut self, patches: &[Patch], source: Option<&[f64]>) -> Result<(), SetupError>;

    /// Residual, norms and forces of the present state; `time` are the factors of q and its earlier levels in dq/dt.
    fn residual(&mut self, time: Option<[f64; 3]>) -> Result<Measured, SetupError>;

    /// Matrix, solve, update; `rate` is the first of the factors of dq/dt.
    fn advance(&mut self, cfl: f64, rate: f64) -> Result<Advanced, SetupError>;

    /// Returns to the last good state.
    fn take_back(&mut self) -> Result<(), SetupError>;

    /// The present state becomes the last time level.
    fn next_level(&mut self) -> Result<(), SetupError>;

    /// Seconds by component since the last call, by the device's own clock.
    fn times(&mut self) -> Result<Times, SetupError>;

    /// Bytes of device memory held.
    fn bytes(&self) -> usize;
}
