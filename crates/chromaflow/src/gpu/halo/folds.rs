//! Blocks of a matrix in the columns of images, which belong in those of their rows. Twin: `fold` of factor/block_ilu/over_ranks.rs.

use super::ShareCuda;
use super::arguments::FoldedBlocks;
use crate::dist::{Folds, Images, turning};
use crate::gpu::{DeviceJacobian, DeviceOff, GpuError};
use chromaflow_device::cuda::{DeviceBuffer, Read, Share as Pointer, Stream};
use chromaflow_device::kernel_arguments;

/// [`Folds`] on the device, with the matrices that turn them.
pub(crate) struct FoldsCuda {
    places: DeviceBuffer<[u32; 2]>,
    begins: DeviceBuffer<u32>,
    blocks: DeviceBuffer<[u32; 2]>,
    turns: DeviceBuffer<f64>,
}

impl FoldsCuda {
    /// None where there are no such blocks.
    pub fn new(stream: &Stream, folds: &Folds, images: &Images) -> Result<Option<Self>, GpuError> {
        if folds.places.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            places: stream.upload(&folds.places)?,
            begins: stream.upload(&folds.begins)?,
            blocks: stream.upload(&folds.blocks)?,
            turns: stream.upload(images.turns.as_flattened().as_flattened())?,
        }))
    }
}

impl ShareCuda {
    /// Adds them up in `part`, whose blocks are stored as those of `a` are.
    ///
    /// # Safety
    /// Blocks are those of `a`, places those of `part`.
    pub(crate) unsafe fn fold(
        &self,
        folds: &FoldsCuda,
        a: &DeviceJacobian,
        part: &DeviceJacobian,
    ) -> Result<(), GpuError> {
        let nb = a.nb();
        let arguments = kernel_arguments! { FoldedBlocks {
            nb: nb as u32, wide: u32::from(matches!(a.off, DeviceOff::F64(_))),
            vector: turning(nb).0.map_or(u32::MAX, |first| first as u32),
            places: Read::at(folds.places.ptr()), begins: &folds.begins,
            blocks: Read::at(folds.blocks.ptr()), turns: &folds.turns,
            off: Read::at(a.off.ptr()), diag: Pointer::at(part.diag.ptr()), into: Pointer::at(part.off.ptr()),
        } };
        let launch = self.kernels.fold_blocks.launch(folds.places.len(), 32).record(&arguments);
        // SAFETY: the caller's promise; begins and turns are those of the blocks.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }
}
