//! Point-implicit Jacobi relaxation.

use super::smoother::{Smoother, Update};
use super::{RelaxError, RelaxOptions};
use crate::order::RowBatches;
use crate::sparse::BlockPattern;
use chromaflow_device::Team;
use std::sync::Arc;

impl Smoother {
    /// Block Jacobi relaxation of A x = (D + O) x = b, `x <- x + damping (D^-1 (b - O x) - x)` for all rows at once.
    ///
    /// Needs no coloring and two copies of x; converges more slowly than [`Smoother::multicolor`], and where A is
    /// far from diagonally dominant only with damping. The direction of sweeps means nothing to it, except that a
    /// symmetric sweep is two.
    ///
    /// # Errors
    /// [`RelaxError`] when the block size lies outside 1..=128 or the machine lacks the instruction set asked for.
    pub fn jacobi(
        team: Arc<Team>,
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        options: RelaxOptions,
    ) -> Result<Self, RelaxError> {
        let pattern = pattern.into();
        let batches = RowBatches::single(pattern.rows());
        Self::new(team, pattern, nb, &batches, Update::Simultaneous, options)
    }
}
