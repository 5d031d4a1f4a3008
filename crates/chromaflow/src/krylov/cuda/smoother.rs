//! A relaxation on the device, of whichever kind. Twin: `Smoother` in preconditioners.rs.

use super::PreconditionerCuda;
use crate::gpu::{DeviceJacobian, GpuError, Storage};
use crate::relax::{Direction, LinesCuda, MulticolorCuda, SolveOptions};
use crate::sparse::cuda::{BlockMatrixCuda, InPlace};
use chromaflow_device::cuda::DeviceBuffer;

/// A point- or line-implicit relaxation. Twin: [`Smoother`](crate::relax::Smoother).
pub enum SmootherCuda {
    /// Gauss-Seidel by colors, or Jacobi.
    Points(Box<MulticolorCuda>),
    /// Gauss-Seidel by colors over lines.
    Lines(Box<LinesCuda>),
}

impl SmootherCuda {
    /// One application as a preconditioner: sweeps from zero.
    pub fn preconditioner(&mut self, sweeps: SolveOptions) -> PreconditionerCuda<'_> {
        match self {
            SmootherCuda::Points(points) => PreconditionerCuda::Relaxation(points, sweeps),
            SmootherCuda::Lines(lines) => PreconditionerCuda::Lines(lines, sweeps),
        }
    }

    /// As [`MulticolorCuda::factor_later`].
    ///
    /// # Errors
    /// As there.
    pub fn factor_later(&mut self, jac: &DeviceJacobian) -> Result<&DeviceBuffer<u32>, GpuError> {
        match self {
            SmootherCuda::Points(points) => points.factor_later(jac),
            SmootherCuda::Lines(lines) => lines.factor_later(jac),
        }
    }

    /// The relaxation of rows, which lines are relaxed with, too.
    pub fn points(&mut self) -> &mut MulticolorCuda {
        match self {
            SmootherCuda::Points(points) => points,
            SmootherCuda::Lines(lines) => lines.points_mut(),
        }
    }

    /// The matrix that takes values.
    pub fn matrix_mut(&mut self) -> &mut BlockMatrixCuda {
        self.points().matrix_mut()
    }

    /// Where blocks may be assembled: not those of lines.
    pub fn in_place(&self) -> Option<InPlace<'_>> {
        match self {
            SmootherCuda::Points(points) => points.in_place(),
            SmootherCuda::Lines(_) => None,
        }
    }

    /// The storage of the off-diagonal blocks.
    pub fn storage(&self) -> Storage {
        match self {
            SmootherCuda::Points(points) => points.storage(),
            SmootherCuda::Lines(lines) => lines.storage(),
        }
    }

    /// `count` sweeps from the present x, undamped.
    ///
    /// # Errors
    /// As [`MulticolorCuda::sweeps`].
    pub fn sweeps(&mut self, direction: Direction, count: usize) -> Result<(), GpuError> {
        match self {
            SmootherCuda::Points(points) => points.sweeps(direction, count, 1.0),
            SmootherCuda::Lines(lines) => lines.sweeps(direction, count, 1.0),
        }
    }
}
