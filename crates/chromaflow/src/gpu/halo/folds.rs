//! Blocks of a matrix in the columns of images, which belong in those of their rows. Twin: `FactoredRows` of factor/block_ilu/over_ranks.rs.

use super::ShareCuda;
use super::arguments::FoldedBlocks;
use crate::dist::turning;
use crate::gpu::{DeviceJacobian, DeviceOff, GpuError};
use chromaflow_device::cuda::{DeviceBuffer, Read, Share as Pointer, Stream};
use chromaflow_device::kernel_arguments;

/// Where such blocks belong: places of a matrix of its own, one after another, each with the blocks that go there.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoldedPlaces {
    /// A row whose diagonal block it is or the position of a block, `[places]`; which of both in the first bit of the other number, and in the second
    /// whether another block is there already.
    pub places: Vec<[u32; 2]>,
    /// Where those of each begin, `[places + 1]`.
    pub begins: Vec<u32>,
    /// A block's position in the matrix, and which matrix turns it.
    pub blocks: Vec<[u32; 2]>,
}

impl FoldedPlaces {
    /// It is the diagonal block of a row.
    pub const DIAGONAL: u32 = 1;
    /// Another block is there already.
    pub const ADDS: u32 = 2;
}

/// The same on the device, with the matrices.
pub(crate) struct FoldsCuda {
    places: DeviceBuffer<[u32; 2]>,
    begins: DeviceBuffer<u32>,
    blocks: DeviceBuffer<[u32; 2]>,
    turns: DeviceBuffer<f64>,
}

impl FoldsCuda {
    /// None where there are no such blocks.
    pub fn new(
        stream: &Stream,
        folds: &FoldedPlaces,
        turns: &[[[f64; 3]; 3]],
    ) -> Result<Option<Self>, GpuError> {
        if folds.places.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            places: stream.upload(&folds.places)?,
            begins: stream.upload(&folds.begins)?,
            blocks: stream.upload(&folds.blocks)?,
            turns: stream.upload(turns.as_flattened().as_flattened())?,
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
            count: folds.places.len() as u32, nb: nb as u32, wide: u32::from(matches!(a.off, DeviceOff::F64(_))),
            vector: turning(nb).0.map_or(u32::MAX, |first| first as u32),
            places: Read::at(folds.places.ptr()), begins: &folds.begins,
            blocks: Read::at(folds.blocks.ptr()), turns: &folds.turns,
            off: Read::at(a.off.ptr()), diag: Pointer::at(part.diag.ptr()), into: Pointer::at(part.off.ptr()),
        } };
        let threads = folds.places.len() * nb * nb;
        let launch = self.kernels.fold_blocks.launch(threads.div_ceil(256), 256).record(&arguments);
        // SAFETY: the caller's promise; begins and turns are those of the blocks.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }
}
