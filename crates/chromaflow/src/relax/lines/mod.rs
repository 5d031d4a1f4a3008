//! Line relaxation: block Gauss-Seidel over lines of rows, color by color.

#[cfg(feature = "cuda")]
pub(super) mod cuda;
pub(super) mod factor;
pub(super) mod sweep;
mod table;
#[cfg(test)]
mod tests;

pub(super) use table::{LineTable, Run, starts};

use super::smoother::{Smoother, Update};
use super::{RelaxError, RelaxOptions};
use crate::order::RowBatches;
use crate::sparse::BlockPattern;
use chromaflow_device::Team;
use std::sync::Arc;

impl Smoother {
    /// Multicolor line relaxation of A x = (T + O) x = b, T the blocks on the diagonal and between neighbors of a line:
    ///
    /// `x_c <- T_c^-1 (b_c - O_c x)` for the lines of one batch (color) c after the other, with the latest values of the others.
    ///
    /// Each T is factored once, without pivoting between blocks,
    ///
    /// ```text
    /// B_i = D_i - A_i F_{i-1}      E_i = B_i^-1 A_i      F_i = B_i^-1 C_i
    /// ```
    ///
    /// with A and C its blocks below and above the diagonal; a sweep then takes
    ///
    /// ```text
    /// z_i = B_i^-1 (b_i - O_i x)      y_i = z_i - E_i y_{i-1}      x_i = y_i - F_i x_{i+1}
    /// ```
    ///
    /// so that all but two products a row are done for many rows at once. Lines of one row are the rows of [`Smoother::multicolor`].
    /// A block between rows of a line that are not neighbors in it belongs to O and multiplies values from before the line's update.
    ///
    /// **Precision**: the factors B in f64, E and F in the precision of x.
    ///
    /// **Outcome**: a block B that has no inverse ends in `Breakdown`.
    ///
    /// **Source**: Mavriplis, *Multigrid strategies for viscous flow solvers on anisotropic unstructured meshes* (J. Comput. Phys. 145,
    /// 1998); the elimination: Golub, Van Loan, *Matrix Computations* (2013), section 4.5.1.
    ///
    /// ```
    /// use chromaflow::relax::{Smoother, SolveOptions};
    /// use chromaflow::{BlockPattern, Jacobian, RowBatches};
    /// use chromaflow_device::Team;
    /// use std::sync::Arc;
    /// // -x_{i-1} + 2 x_i - x_{i+1} = 0 with x = 1 beyond the right end is one line, which one sweep solves for.
    /// let pattern = Arc::new(BlockPattern::new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1])?);
    /// let mut a = Jacobian::zeroed(pattern.clone(), 1, chromaflow::Policy::D)?;
    /// a.diag.fill(2.0);
    /// if let chromaflow::OffDiagonal::F64(off) = &mut a.off {
    ///     off.fill(-1.0);
    /// }
    /// let batches = RowBatches::single(3).of_lines(vec![0, 3]);
    /// let mut lines = Smoother::lines(Arc::new(Team::new(1)), pattern, 1, &batches, Default::default())?;
    /// lines.factor(&a)?;
    /// let mut x = [0.0; 3];
    /// lines.solve(&a, &[0.0, 0.0, 1.0], &mut x, &SolveOptions::sweeps(1))?;
    /// assert!(x.iter().zip([0.25, 0.5, 0.75]).all(|(x, exact)| (x - exact as f64).abs() < 1e-15));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The rows of `pattern` stand in the order of `batches` ([`Plan::of_lines`](crate::order::Plan::of_lines)).
    ///
    /// # Errors
    /// [`RelaxError`] when the batches do not cover the rows, a row has a block in a column of another line of its batch, the
    /// block size lies outside 1..=128 or the machine lacks the instruction set asked for.
    pub fn lines(
        team: Arc<Team>,
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        batches: &RowBatches,
        options: RelaxOptions,
    ) -> Result<Self, RelaxError> {
        Self::new(team, pattern.into(), nb, batches, Update::Lines, options)
    }
}
