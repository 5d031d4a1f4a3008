#![allow(unsafe_code)]
//! Multicolor point-implicit relaxation on the device.
//!
//! Two designs, each one kernel a color that forms b - O x, applies D^-1 and updates x: `sliced.cu` for small blocks,
//! `panel.cu` for large ones. `convert.cu` brings the assembled matrix into their layouts and inverts the diagonal.

mod layout;
mod matrix;
mod solve;
mod tile;

#[cfg(test)]
mod tests;

pub use layout::Chunk;
pub use matrix::InPlace;
pub(crate) use matrix::invert_shape;
pub use tile::{Panel, Sliced, Tile};

use crate::gpu::{GpuError, Storage, Vectors};
use crate::order::RowBatches;
use crate::sparse::{BlockPattern, check_nb};
use chromaflow_device::cuda::{DeviceBuffer, Graph, Kernel, Stream};
use matrix::{Matrix, check_batches};
use solve::{HISTORY, Norms, Plan};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use tile::Mode;

/// Multicolor point-implicit relaxation of A x = (D + O) x = b on a GPU:
///
/// `x_c <- D_c^-1 (b_c - O_c x)` for one batch (color) c after the other.
///
/// The pattern is analyzed once ([`Self::new`]), values are brought into the kernels' layout as often as they change
/// ([`Self::factor`]), and each solve is one graph launch between the import of b and the export of x.
///
/// **Precision**: as [`Multicolor`](crate::relax::Multicolor); D is inverted in f64 and applied in f64.
///
/// **Results** are the same bits on every run. They depend on the tile (sums of a row are added in another order), not
/// on the number of multiprocessors at work.
///
/// **Launch shape**: one launch a batch, each dependent on the one before; `sliced.cu` a thread block a chunk of rows,
/// `panel.cu` a thread block a row. **Twin**: [`Multicolor`](crate::relax::Multicolor).
///
/// **Source**: Zubair et al. (2016), Walden et al. (2019), Algorithms 2 and 3.
pub struct MulticolorCuda {
    stream: Stream,
    pattern: Arc<BlockPattern>,
    nb: usize,
    storage: Storage,
    tile: Tile,
    /// Launches of each batch: chunks of sliced blocks, or rows of panels.
    batches: Vec<Range<u32>>,
    vectors: Vectors,
    sweep: Kernel,
    residual: Kernel,
    /// Brings assembled blocks of a storage into the layout.
    converts: HashMap<Storage, Kernel>,
    invert: Kernel,
    matrix: Matrix,
    /// Rows whose pivots were exchanged, singular rows, the first of these; and what these words start from.
    told: [DeviceBuffer<u32>; 2],
    b: DeviceBuffer<f64>,
    /// The iterate, and room for another one.
    x: [DeviceBuffer<u32>; 2],
    /// What [`Self::residual_of`] computes in sweep order, from its first call on.
    room: Option<DeviceBuffer<f64>>,
    /// Whether a sweep writes the other x and reads this one (Jacobi).
    apart: bool,
    norms: Norms,
    graphs: HashMap<Plan, Graph>,
    factored: bool,
    singular: Option<usize>,
    /// beta and 1 / beta for the next conversion, where they were searched for ahead of it.
    scale: Option<(DeviceBuffer<f32>, DeviceBuffer<f32>)>,
}

impl MulticolorCuda {
    /// Sets up for matrices with off-diagonal blocks of size `nb` on `pattern`, stored as `storage` in the sweeps.
    ///
    /// # Errors
    /// [`GpuError::Relax`]: batches that do not cover the rows or that join dependent rows; [`GpuError::Shape`];
    /// [`GpuError::Cuda`]: out of memory, no compiler, driver errors.
    pub fn new(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
    ) -> Result<Self, GpuError> {
        check_nb(nb)?;
        let largest = batches.iter().map(|b| b.len()).max().unwrap_or(0);
        let tile = Tile::choose(nb, storage, largest, stream.gpu().facts().multiprocessors);
        Self::with_tile(stream, pattern, nb, batches, storage, tile)
    }

    /// The same with a tile of the caller's choice.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_tile(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
        tile: Tile,
    ) -> Result<Self, GpuError> {
        check_batches(pattern, batches)?;
        Self::build(stream, pattern, nb, batches, storage, tile, false)
    }

    /// Jacobi relaxation instead: every row from the x of the sweep before, x <- D^-1 (b - O x).
    ///
    /// **Twin**: [`Jacobi`](crate::relax::Jacobi).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn jacobi(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        storage: Storage,
    ) -> Result<Self, GpuError> {
        check_nb(nb)?;
        let tile = Tile::choose(nb, storage, pattern.rows(), stream.gpu().facts().multiprocessors);
        Self::build(stream, pattern, nb, &RowBatches::single(pattern.rows()), storage, tile, true)
    }

    fn build(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
        tile: Tile,
        apart: bool,
    ) -> Result<Self, GpuError> {
        check_nb(nb)?;
        let rows = pattern.rows();
        let gpu = stream.gpu();
        let kernel = |mode, name| -> Result<Kernel, GpuError> {
            Ok(gpu.module(&tile.sweep_source(nb, storage, mode))?.kernel(name)?)
        };
        let name = if tile.is_sliced() { "sliced" } else { "panel" };
        let (matrix, batches) = Matrix::new(stream, pattern, nb, batches, storage, tile)?;
        let words = (rows + 1) * nb * storage.x_bytes() / 4;
        let x = || DeviceBuffer::<u32>::zeroed(stream, words);
        let launches = batches.iter().map(|b| b.len()).sum::<usize>();
        let norms = Norms {
            partials: DeviceBuffer::zeroed(stream, launches.max(1))?,
            history: DeviceBuffer::zeroed(stream, HISTORY + 3)?,
            stop: DeviceBuffer::zeroed(stream, 1)?,
        };
        let sweep = kernel(Mode::Sweep, name)?;
        let from = if storage == Storage::F64 { Storage::F64 } else { Storage::F32 };
        let invert = gpu.module(&tile.convert_source(nb, storage, from))?.kernel("invert")?;
        let told = || stream.upload(&[0u32, 0, u32::MAX]);
        Ok(Self {
            sweep,
            residual: kernel(Mode::Residual, name)?,
            converts: HashMap::new(),
            invert,
            told: [told()?, told()?],
            vectors: Vectors::new(stream, storage)?,
            b: DeviceBuffer::zeroed(stream, rows * nb)?,
            x: [x()?, x()?],
            room: None,
            apart,
            stream: stream.clone(),
            pattern: pattern.clone(),
            nb,
            storage,
            tile,
            batches,
            matrix,
            norms,
            graphs: HashMap::new(),
            factored: false,
            singular: None,
            scale: None,
        })
    }

    /// The tile in use.
    pub fn tile(&self) -> Tile {
        self.tile
    }

    /// The storage of the off-diagonal blocks.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// The stream of all work.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The smallest number of bytes a sweep must move: every stored block and index once, D^-1, b, and x read and written.
    pub fn minimal_bytes(&self) -> usize {
        let (n, nnz, nb) = (self.pattern.rows(), self.pattern.nnzb(), self.nb);
        let q = nb * nb;
        nnz * (q * self.storage.bytes() + 4) + n * (8 * q + 8 * nb + 4 + 2 * self.storage.x_bytes() * nb)
    }
}
