//! Point-implicit Jacobi relaxation.

use super::diagonal::FactorReport;
use super::solve::{Engine, Update};
use super::{RelaxError, RelaxOptions, SolveOptions, SolveReport};
use crate::dist::Share;
use crate::order::RowBatches;
use crate::sparse::{BlockPattern, Jacobian};
use chromaflow_device::Team;
use std::sync::Arc;

/// Block Jacobi relaxation of A x = (D + O) x = b, `x <- x + damping (D^-1 (b - O x) - x)` for all rows at once.
///
/// Needs no coloring and two copies of x; converges more slowly than [`Multicolor`](super::Multicolor), and where A is
/// far from diagonally dominant only with damping. The direction of sweeps means nothing to it, except that a
/// symmetric sweep is two.
///
/// **Precision**, **Outcome**: as for [`Multicolor`](super::Multicolor).
pub struct Jacobi {
    engine: Engine,
}

impl Jacobi {
    /// Sets up for matrices with off-diagonal blocks of size `nb` on `pattern`.
    ///
    /// # Errors
    /// [`RelaxError`] when the block size lies outside 1..=128 or the machine lacks the instruction set asked for.
    pub fn new(
        team: Arc<Team>,
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        options: RelaxOptions,
    ) -> Result<Self, RelaxError> {
        let pattern = pattern.into();
        let batches = RowBatches::single(pattern.rows());
        let engine = Engine::new(team, pattern, nb, &batches, Update::Simultaneous, options)?;
        Ok(Self { engine })
    }

    /// The rows are those of a rank: see [`Multicolor::over`](super::Multicolor::over).
    ///
    /// # Errors
    /// [`RelaxError::Rows`] when the share has other rows.
    pub fn over(mut self, share: &Arc<Share>) -> Result<Self, RelaxError> {
        self.engine.divide(share)?;
        Ok(self)
    }

    /// Factors the diagonal blocks into memory of its own: call it after every change of the matrix.
    ///
    /// # Errors
    /// [`RelaxError::OtherMatrix`] when the matrix does not fit. Blocks that cannot be factored are reported, not
    /// errors.
    pub fn factor(&mut self, jac: &Jacobian) -> Result<FactorReport, RelaxError> {
        self.engine.factor(jac)
    }

    /// Factors the diagonal blocks where they are: see
    /// [`Multicolor::factor_in_place`](super::Multicolor::factor_in_place).
    ///
    /// # Errors
    /// As [`Jacobi::factor`].
    pub fn factor_in_place(&mut self, jac: &mut Jacobian) -> Result<FactorReport, RelaxError> {
        self.engine.factor_in_place(jac)
    }

    /// Relaxes A x = b.
    ///
    /// **Shapes**: `b`, `x`: `[rows, nb]`.
    ///
    /// # Errors
    /// [`RelaxError`] on misuse; numerical failure is an outcome.
    pub fn solve(
        &mut self,
        jac: &Jacobian,
        b: &[f64],
        x: &mut [f64],
        options: &SolveOptions,
    ) -> Result<SolveReport, RelaxError> {
        self.engine.solve(jac, None, b, x, options)
    }

    /// Relaxes `outer` x = b by sweeps with `jac`: see
    /// [`Multicolor::solve_corrected`](super::Multicolor::solve_corrected).
    ///
    /// # Errors
    /// As [`Jacobi::solve`].
    pub fn solve_corrected(
        &mut self,
        jac: &Jacobian,
        outer: &Jacobian,
        b: &[f64],
        x: &mut [f64],
        options: &SolveOptions,
    ) -> Result<SolveReport, RelaxError> {
        self.engine.solve(jac, Some(outer), b, x, options)
    }
}
