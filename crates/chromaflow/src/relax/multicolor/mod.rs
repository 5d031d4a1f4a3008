//! Multicolor point-implicit relaxation: block Gauss-Seidel, color by color.

#[cfg(feature = "cuda")]
pub(super) mod cuda;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use super::diagonal::FactorReport;
use super::solve::{Engine, Update};
use super::{RelaxError, RelaxOptions, SolveOptions, SolveReport};
use crate::dist::Share;
use crate::order::{RowBatches, Schedule};
use crate::sparse::{BlockPattern, Jacobian};
use chromaflow_device::{Isa, Team};
use std::sync::Arc;

/// Multicolor point-implicit relaxation of A x = (D + O) x = b:
///
/// `x_c <- D_c^-1 (b_c - O_c x)` for one batch (color) c after the other, with the latest values of the others.
///
/// Rows are renumbered so that those of a batch are contiguous; none of them may have a block in a column of its own
/// batch. Batches of single rows make it the sequential block Gauss-Seidel method.
///
/// **Precision**: that of the Jacobian's [`Policy`](crate::Policy). `d`: all in f64. `ds`, `dsh`: x and the sums of
/// O x in f32, b - O x and the solve with D in f64. Solutions and right-hand sides come and go in f64.
///
/// **Outcome**: [`SolveReport`]; fixed sweeps end with `IterationLimit`, a singular diagonal block with `Breakdown`.
///
/// **Source**: Nielsen et al. (2016) and Walden et al. (2019), Algorithms 2 and 3, where step 1 must read b - O x. The
/// global scale of `dsh` is taken out of the sums O x instead of being put into b and D.
///
/// ```
/// use chromaflow::relax::{Multicolor, SolveOptions};
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
/// let mut mc = Multicolor::new(team, pattern, 1, &RowBatches::new(vec![0, 1, 2]), Default::default())?;
/// mc.factor(&a)?;
/// let mut x = [0.0; 2];
/// let report = mc.solve(&a, &[9.0, 6.0], &mut x, &SolveOptions::tolerance(1e-12, 50))?;
/// assert_eq!(report.outcome, Outcome::Converged);
/// assert!((x[0] - 2.0).abs() < 1e-11 && (x[1] - 1.0).abs() < 1e-11);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Multicolor {
    engine: Engine,
}

impl Multicolor {
    /// Sets up for matrices with off-diagonal blocks of size `nb` on `pattern`.
    ///
    /// # Errors
    /// [`RelaxError`] when the batches do not cover the rows, a row has a block in a column of its own batch, the
    /// block size lies outside 1..=128 or the machine lacks the instruction set asked for.
    pub fn new(
        team: Arc<Team>,
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        batches: &RowBatches,
        options: RelaxOptions,
    ) -> Result<Self, RelaxError> {
        let pattern = pattern.into();
        let engine = Engine::new(team, Arc::clone(&pattern), nb, batches, Update::InPlace, options)?;
        Ok(Self { engine })
    }

    /// The rows are those of a rank: sweeps update the rows it owns and exchange each color, so that x is on every rank what one
    /// rank alone would have; ghosts of x come out as the matrix needs them. Residuals, and with them tolerances, histories and
    /// restarts, are not looked at over ranks: that is for a Krylov method around the sweeps.
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

    /// Factors the diagonal blocks where they are, which saves memory: `jac.diag` then holds the factors, and solves
    /// must be given this very matrix. No residual can be formed then.
    ///
    /// # Errors
    /// As [`Multicolor::factor`].
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

    /// Relaxes `outer` x = b by sweeps with `jac`, an approximation of it on the same pattern, say the same matrix with
    /// off-diagonal blocks in f16: residuals (for the tolerance, the history and restarts) are those of `outer`. Useful
    /// with [`SolveOptions::restart`] only.
    ///
    /// # Errors
    /// As [`Multicolor::solve`].
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

    /// Who does which rows: data of a row is best written first by its owner.
    pub fn schedule(&self) -> &Schedule {
        self.engine.schedule()
    }

    /// The vector instructions in use.
    pub fn isa(&self) -> Isa {
        self.engine.isa()
    }
}
