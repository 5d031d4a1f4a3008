//! Multicolor point-implicit relaxation: block Gauss-Seidel, color by color.

#[cfg(feature = "cuda")]
pub(super) mod cuda;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use super::smoother::{Smoother, Update};
use super::{RelaxError, RelaxOptions};
use crate::order::RowBatches;
use crate::sparse::BlockPattern;
use chromaflow_device::Team;
use std::sync::Arc;

impl Smoother {
    /// Multicolor point-implicit relaxation of A x = (D + O) x = b:
    ///
    /// `x_c <- D_c^-1 (b_c - O_c x)` for one batch (color) c after the other, with the latest values of the others.
    ///
    /// Rows are renumbered so that those of a batch are contiguous; none of them may have a block in a column of its own
    /// batch. Batches of single rows make it the sequential block Gauss-Seidel method.
    ///
    /// **Source**: Nielsen et al. (2016) and Walden et al. (2019), Algorithms 2 and 3, where step 1 must read b - O x. The
    /// global scale of `dsh` is taken out of the sums O x instead of being put into b and D.
    ///
    /// ```
    /// use chromaflow::relax::{Smoother, SolveOptions};
    /// use chromaflow::{BlockPattern, Jacobian, Outcome, Policy, RowBatches};
    /// use chromaflow_device::Team;
    /// use std::sync::Arc;
    /// // A = [4 1; 1 4], two colors of one row each
    /// let pattern = Arc::new(BlockPattern::new(2, vec![0, 1, 2], vec![1, 0])?);
    /// let mut a = Jacobian::zeroed(pattern.clone(), 1, Policy::D)?;
    /// a.diag.fill(4.0);
    /// if let chromaflow::OffDiagonal::F64(off) = &mut a.off {
    ///     off.fill(1.0);
    /// }
    /// let team = Arc::new(Team::new(1));
    /// let mut mc = Smoother::multicolor(team, pattern, 1, &RowBatches::new(vec![0, 1, 2]), Default::default())?;
    /// mc.factor(&a)?;
    /// let mut x = [0.0; 2];
    /// let report = mc.solve(&a, &[9.0, 6.0], &mut x, &SolveOptions::tolerance(1e-12, 50))?;
    /// assert_eq!(report.outcome, Outcome::Converged);
    /// assert!((x[0] - 2.0).abs() < 1e-11 && (x[1] - 1.0).abs() < 1e-11);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RelaxError`] when the batches do not cover the rows, a row has a block in a column of its own batch, the
    /// block size lies outside 1..=128 or the machine lacks the instruction set asked for.
    pub fn multicolor(
        team: Arc<Team>,
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        batches: &RowBatches,
        options: RelaxOptions,
    ) -> Result<Self, RelaxError> {
        Self::new(team, pattern.into(), nb, batches, Update::InPlace, options)
    }
}
