//! What is solved and what preconditions it, on the device. Twins: operator.rs, preconditioners.rs.

use crate::factor::block_ilu::cuda::{DeviceBlockIlu, DeviceIluOverRanks};
use crate::gpu::{GpuError, ShareCuda};
use crate::relax::{LinesCuda, MulticolorCuda, SolveOptions};
use crate::sparse::cuda::BlockMatrixCuda;
use chromaflow_device::cuda::DeviceBuffer;

/// A square linear map x -> A x on the device: a matrix, or the directional derivative of a residual. Twin:
/// [`LinearOperator`](super::LinearOperator).
pub trait LinearOperatorCuda {
    /// y = A x.
    ///
    /// # Errors
    /// [`GpuError`], as the operator has them.
    fn multiply(&mut self, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError>;

    /// r = b - A x.
    ///
    /// # Errors
    /// [`GpuError`], as the operator has them.
    fn residual(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError>;

    /// Twin: [`LinearOperator::is_exact`](super::super::LinearOperator::is_exact).
    fn is_exact(&self) -> bool {
        true
    }

    /// Where the rows are those of a rank: sums over them become sums over all ranks. Products and residuals are zero in ghosts then.
    fn share(&self) -> Option<&ShareCuda> {
        None
    }
}

/// A rank's part of a matrix: products are residuals.
pub struct OfRankCuda<'a> {
    matrix: &'a mut BlockMatrixCuda,
    share: &'a ShareCuda,
}

impl<'a> OfRankCuda<'a> {
    /// Of a matrix whose rows are those of the share.
    pub fn new(matrix: &'a mut BlockMatrixCuda, share: &'a ShareCuda) -> Self {
        Self { matrix, share }
    }
}

impl LinearOperatorCuda for OfRankCuda<'_> {
    fn multiply(&mut self, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.matrix.multiply(x, y)?;
        self.share.clear(self.matrix.nb(), &y.slice())
    }

    fn residual(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        self.matrix.residual(b, x, r)?;
        self.share.clear(self.matrix.nb(), &r.slice())
    }

    fn share(&self) -> Option<&ShareCuda> {
        Some(self.share)
    }
}

/// Inner products of a system, over all ranks where there are others.
pub(super) fn completed<const N: usize>(a: &dyn LinearOperatorCuda, mut sums: [f64; N]) -> [f64; N] {
    if let Some(share) = a.share() {
        share.sum(&mut sums);
    }
    sums
}

impl LinearOperatorCuda for BlockMatrixCuda {
    fn multiply(&mut self, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        BlockMatrixCuda::multiply(self, x, y)
    }

    fn residual(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        BlockMatrixCuda::residual(self, b, x, r)
    }
}

/// Writes z = M r, of r the first argument.
pub type Applied<'a> = dyn FnMut(&DeviceBuffer<f64>, &mut DeviceBuffer<f64>) -> Result<(), GpuError> + 'a;

/// What stands for an approximate inverse on the device.
pub enum PreconditionerCuda<'a> {
    /// The identity.
    Identity,
    /// Sweeps from zero.
    Relaxation(&'a mut MulticolorCuda, SolveOptions),
    /// Sweeps over lines from zero.
    Lines(&'a mut LinesCuda, SolveOptions),
    /// A forward and a backward solve with incomplete factors.
    Ilu(&'a mut DeviceBlockIlu),
    /// The same of the rows of a rank.
    IluOverRanks(&'a mut DeviceIluOverRanks),
    /// The caller's own: writes z = M r, of r the first argument.
    Own(&'a mut Applied<'a>),
}

impl PreconditionerCuda<'_> {
    /// z = M r.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn apply(&mut self, r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        match self {
            PreconditionerCuda::Identity => Ok(z.copy_from(&r.slice())?),
            PreconditionerCuda::Relaxation(relaxation, options) => {
                relaxation.solve(r, z, options).map(|_| ())
            }
            PreconditionerCuda::Lines(lines, options) => lines.solve(r, z, options).map(|_| ()),
            PreconditionerCuda::Ilu(ilu) => ilu.solve(r, z),
            PreconditionerCuda::IluOverRanks(ilu) => ilu.solve(r, z),
            PreconditionerCuda::Own(own) => own(r, z),
        }
    }
}
