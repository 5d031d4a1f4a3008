#![allow(unsafe_code)]
//! The sweep as the paper writes it, on the device: the reference for sizes at which a CPU would be slow.

use super::arguments::{PlainResidual, PlainRows, PlainSolve};
use super::{DeviceJacobian, GpuError, Storage, Vectors};
use crate::order::RowBatches;
use crate::sparse::cuda::arguments::Invert;
use crate::sparse::cuda::sell_source;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read};
use chromaflow_device::kernel_arguments;

const INVERT: &str = include_str!("../relax/multicolor/cuda/invert.cu");

/// Forward sweeps on the assembled matrix, a thread per scalar row, everything in f64: first r = b - O x of a batch, then
/// x = D^-1 r. Slow and obvious; tested against the CPU, and the check of the tuned kernels at full size.
pub struct PlainSweep<'a> {
    jac: &'a DeviceJacobian,
    vectors: Vectors,
    inverse: DeviceBuffer<f64>,
}

impl<'a> PlainSweep<'a> {
    /// For the values `jac` has now.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(jac: &'a DeviceJacobian) -> Result<Self, GpuError> {
        let (stream, nb, rows) = (jac.stream(), jac.nb(), jac.pattern().rows());
        let inverse = DeviceBuffer::zeroed(stream, rows * nb * nb)?;
        let status = stream.upload(&[0u32, 0, u32::MAX])?;
        let kernel = stream.gpu().module(&plain_source(nb))?.kernel("invert")?;
        let (blocks, threads, shared) = crate::relax::invert_shape(nb, rows);
        kernel.allow_shared(shared)?;
        let arguments = kernel_arguments! { Invert {
            count: rows as u32, chunks: Read::NONE, perm: Read::NONE, diag: &jac.diag, dinv: &inverse,
            report: &status,
        } };
        let launch = kernel.launch(blocks, threads).shared(shared).record(&arguments);
        // SAFETY: `inverse` has a block a row, `status` three words; the panel form reads neither chunks nor order.
        unsafe { launch.enqueue(stream)? };
        Ok(Self { jac, vectors: Vectors::new(stream, Storage::F64)?, inverse })
    }

    /// One forward sweep over `batches`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn sweep(
        &self,
        batches: &RowBatches,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (nb, stream) = (self.jac.nb(), self.jac.stream());
        let r = DeviceBuffer::<f64>::uninitialized(stream, b.len())?;
        let (unscale, unscale_stride) = self.jac.off.unscale();
        let (residual, solve) = (self.vectors.kernel("plain_residual")?, self.vectors.kernel("plain_solve")?);
        for batch in batches.iter() {
            let blocks = (batch.len() * nb).div_ceil(128);
            let batch = PlainRows { first: batch.start as u32, count: batch.len() as u32, nb: nb as u32 };
            let of_residual = kernel_arguments! { PlainResidual {
                batch, row_ptr: &*self.jac.row_ptr, col_idx: &*self.jac.col_idx,
                off: Read::at(self.jac.off.ptr()), stored: self.jac.off.storage().code(),
                unscale: Read::at(unscale), unscale_stride, b, x: &*x, r: &r,
            } };
            let of_solve = kernel_arguments!(PlainSolve { batch, dinv: &self.inverse, r: &r, x: &*x });
            // SAFETY: rows and columns lie within the matrix that `jac` holds; vectors have rows * nb values.
            unsafe {
                residual.launch(blocks, 128).record(&of_residual).enqueue(stream)?;
                solve.launch(blocks, 128).record(&of_solve).enqueue(stream)?;
            }
        }
        Ok(())
    }

    /// |x - y| / |y|.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn relative_difference(&self, x: &DeviceBuffer<f64>, y: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        let stream = self.jac.stream();
        let mut work = DeviceBuffer::zeroed(stream, self.vectors.partials() + 1)?;
        let norm = self.vectors.dot(y, y, &mut work)?;
        let mut d = DeviceBuffer::uninitialized(stream, x.len())?;
        d.copy_from(&x.slice())?;
        self.vectors.axpby(-1.0, y, 1.0, &mut d)?;
        Ok((self.vectors.dot(&d, &d, &mut work)? / norm).sqrt())
    }
}

/// Inverses of rows in their own order.
pub(super) fn plain_source(nb: usize) -> KernelSource {
    sell_source("invert", INVERT, Storage::F32)
        .record::<Invert>()
        .define("NB", nb)
        .define("LD", nb)
        .define("C", 1)
        .define("SLICED", 0)
}
