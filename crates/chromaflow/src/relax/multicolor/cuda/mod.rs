#![allow(unsafe_code)]
//! Multicolor point-implicit relaxation on the device.
//!
//! A relaxation over a [`BlockMatrixCuda`], whose chunks keep to the colors: one kernel a color forms b - O x, applies D^-1 and updates
//! x. `invert.cu` inverts the diagonal blocks.

mod invert;
mod solve;

#[cfg(test)]
mod tests;

pub(crate) use invert::{invert_shape, invert_source};

use crate::dist::{Batch, Share, SweepExchange};
use crate::gpu::{Direct, GpuError, ShareCuda, Storage, Vectors};
use crate::order::RowBatches;
use crate::relax::check_batches;
use crate::relax::over_ranks_cuda::Recorded;
use crate::sparse::cuda::{BlockMatrixCuda, Mode, RowSets, Tile, padded};
use crate::sparse::{BlockPattern, check_len, check_nb};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Stream};
use solve::{HISTORY, Norms, Plan};
use std::ops::Range;
use std::sync::Arc;

/// Multicolor point-implicit relaxation of A x = (D + O) x = b on a GPU:
///
/// `x_c <- D_c^-1 (b_c - O_c x)` for one batch (color) c after the other.
///
/// The pattern is analyzed once ([`Self::new`]), values are brought into the kernels' layout as often as they change
/// ([`Self::factor`]), and each solve is one graph launch between the import of b and the export of x.
///
/// **Precision**: as [`Smoother::multicolor`](crate::relax::Smoother::multicolor); D is inverted in f64 and applied in f64.
///
/// **Results** are the same bits on every run. They depend on the tile (sums of a row are added in another order), not
/// on the number of multiprocessors at work.
///
/// **Launch shape**: one launch a batch, each dependent on the one before, of the kernels of the matrix. **Twin**: [`Smoother::multicolor`](crate::relax::Smoother::multicolor).
///
/// **Source**: Zubair et al. (2016), Walden et al. (2019), Algorithms 2 and 3.
pub struct MulticolorCuda {
    stream: Stream,
    matrix: BlockMatrixCuda,
    vectors: Vectors,
    sweep: Kernel,
    invert: Kernel,
    /// Inverted diagonal blocks, where the sweeps read them.
    inverse: DeviceBuffer<f64>,
    /// Rows whose pivots were exchanged, singular rows, the first of these; and what these words start from.
    status: [DeviceBuffer<u32>; 2],
    b: DeviceBuffer<f64>,
    /// The iterate, and room for another one, f64 for storage `d`, else f32.
    x: [DeviceBuffer<u32>; 2],
    /// Whether a sweep writes the other x and reads this one (Jacobi).
    apart: bool,
    norms: Norms,
    graphs: Recorded<Plan>,
    factored: bool,
    singular: Option<usize>,
    /// Where rows are those of a rank: the sets of rows are then border, interior and ghosts of one color after the other.
    share: Option<Arc<ShareCuda>>,
    /// Where sweeps pass rows themselves: x\[0\] is then what others write into.
    direct: Option<Direct>,
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

    /// Sources of the kernels that [`Self::new`] asks for with batches the largest of which has so many rows, and that taking
    /// values of the usual storage asks for; and the rows of a chunk where blocks may be assembled in place, else 0.
    pub fn kernel_sources(
        nb: usize,
        storage: Storage,
        largest_batch: usize,
        multiprocessors: usize,
    ) -> (Vec<KernelSource>, usize) {
        let tile = Tile::choose(nb, storage, largest_batch, multiprocessors);
        let mut sources = tile.sources(nb, storage);
        sources.extend([invert_source(&tile, nb, storage), Vectors::kernel_source(storage)]);
        let whole = tile.is_sliced() && matches!(storage, Storage::F64 | Storage::F32);
        (sources, if whole { tile.chunk() } else { 0 })
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
        check_batches(pattern, batches, false)?;
        let batches: Vec<_> = batches.iter().collect();
        let sets = RowSets::in_order(pattern.rows(), &batches);
        let matrix = BlockMatrixCuda::with_sets(stream, pattern, nb, &sets, storage, tile)?;
        Self::build(stream, matrix, false, None, None)
    }

    /// For sweeps over sets of rows of the caller's choice on a pattern, with the blocks `kept` of matrices on the pattern `whole`; of a
    /// rank where there is a share.
    pub(in crate::relax) fn of_part(
        stream: &Stream,
        (pattern, whole, kept): (&Arc<BlockPattern>, &Arc<BlockPattern>, &[u32]),
        nb: usize,
        sets: &RowSets,
        (storage, tile): (Storage, Tile),
        (share, direct): (Option<&Arc<ShareCuda>>, Option<Direct>),
    ) -> Result<Self, GpuError> {
        let matrix = BlockMatrixCuda::with_sets(stream, pattern, nb, sets, storage, tile)?;
        Self::build(stream, matrix.part_of(whole, kept)?, false, share, direct)
    }

    /// For the rows of a rank: right-hand sides are residuals and x solutions, as [`dist`](crate::dist) has it. Sweeps are those of one
    /// device alone, bit for bit: after each color its border rows pass to the neighbors while its interior rows are worked on; all
    /// sweeps of a solve are one graph where kernels pass them ([`Path::Direct`](crate::gpu::Path)).
    /// Tolerances and histories are for a Krylov method around the sweeps.
    ///
    /// # Errors
    /// As [`Self::new`]; [`GpuError::Unsupported`] for blocks of more than 10 rows.
    pub fn over_ranks(
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
        share: &Arc<ShareCuda>,
    ) -> Result<Self, GpuError> {
        Self::over_ranks_delayed(pattern, nb, batches, storage, share, None)
    }

    /// The same with kernels that come and go at any time, later by up to so many nanoseconds, where they pass rows themselves.
    pub(crate) fn over_ranks_delayed(
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
        share: &Arc<ShareCuda>,
        delay: Option<u32>,
    ) -> Result<Self, GpuError> {
        check_nb(nb)?;
        check_batches(pattern, batches, false)?;
        let rows = share.share();
        check_len("share", rows.rows(), pattern.rows(), || "the rows of the pattern".to_owned())?;
        let stream = share.stream();
        // That of one device: with another one sums of a row could be added in another order.
        let largest = rows.batches().iter().map(|batch| batch.whole[0]).max().unwrap_or(0);
        let tile = Tile::choose(nb, storage, largest, stream.gpu().facts().multiprocessors);
        let ghosts: Vec<Vec<_>> = batches.iter().map(|batch| within(rows.ghosts(), &batch)).collect();
        let edges: Vec<_> = rows.batches().iter().map(|batch| edge(pattern, rows, batch)).collect();
        let sets = edges.iter().zip(&ghosts);
        let sets =
            RowSets::of_runs(sets.flat_map(|([border, interior], ghosts)| [&border[..], interior, ghosts]));
        let words = pattern.rows() * nb * storage.x_bytes() / 4;
        let direct = match rows.sweep_exchange() {
            SweepExchange::EveryColor => share.direct(words, delay)?,
            SweepExchange::ColorLate | SweepExchange::EverySweep | SweepExchange::EverySolve => None,
        };
        let matrix = BlockMatrixCuda::with_sets(stream, pattern, nb, &sets, storage, tile)?;
        let made = Self::build(stream, matrix, false, Some(share), direct)?;
        if made.direct.is_some() {
            // Everybody's kernels are loaded before anybody's wait: loading may wait for them.
            rows.ranks().barrier()?;
        }
        Ok(made)
    }

    /// Jacobi relaxation instead: every row from the x of the sweep before, x <- D^-1 (b - O x).
    ///
    /// **Twin**: [`Smoother::jacobi`](crate::relax::Smoother::jacobi).
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
        let sets = RowSets::in_order(pattern.rows(), std::slice::from_ref(&(0..pattern.rows())));
        let matrix = BlockMatrixCuda::with_sets(stream, pattern, nb, &sets, storage, tile)?;
        Self::build(stream, matrix, true, None, None)
    }

    /// Jacobi relaxation for the rows of a rank.
    ///
    /// # Errors
    /// As [`Self::over_ranks`].
    pub fn jacobi_over_ranks(
        pattern: &Arc<BlockPattern>,
        nb: usize,
        storage: Storage,
        share: &Arc<ShareCuda>,
    ) -> Result<Self, GpuError> {
        check_nb(nb)?;
        let rows = share.share();
        check_len("share", rows.rows(), pattern.rows(), || "the rows of the pattern".to_owned())?;
        let stream = share.stream();
        let tile = Tile::choose(nb, storage, rows.whole(), stream.gpu().facts().multiprocessors);
        let sets = RowSets::of_runs([rows.owned(), &[], rows.ghosts()]);
        let matrix = BlockMatrixCuda::with_sets(stream, pattern, nb, &sets, storage, tile)?;
        Self::build(stream, matrix, true, Some(share), None)
    }

    fn build(
        stream: &Stream,
        matrix: BlockMatrixCuda,
        apart: bool,
        share: Option<&Arc<ShareCuda>>,
        direct: Option<Direct>,
    ) -> Result<Self, GpuError> {
        let (rows, nb, storage, tile) =
            (matrix.pattern().rows(), matrix.nb(), matrix.storage(), matrix.tile());
        let words = rows * nb * storage.x_bytes() / 4;
        let x = || DeviceBuffer::<u32>::zeroed(stream, words);
        let norms = Norms {
            partials: DeviceBuffer::zeroed(stream, matrix.launches().max(1))?,
            history: DeviceBuffer::zeroed(stream, HISTORY + 3)?,
            stop: DeviceBuffer::zeroed(stream, 1)?,
        };
        let inverse = if tile.is_sliced() {
            matrix.launches() * tile.chunk() * nb * nb
        } else {
            rows * nb * padded(nb, storage)
        };
        let kernel =
            |source, name| -> Result<Kernel, GpuError> { Ok(stream.gpu().module(&source)?.kernel(name)?) };
        let sweep = match &direct {
            Some(direct) => direct.source(tile.source(nb, storage, Mode::PeerSweep)),
            None => tile.source(nb, storage, matrix.sweep_mode()),
        };
        // SAFETY: `direct` keeps the memory, of so many words, as long as what is made here lives.
        let first = direct.as_ref().map(|d| unsafe { DeviceBuffer::adopt(stream, d.x().0, d.x().1) });
        let status = || stream.upload(&[0u32, 0, u32::MAX]);
        Ok(Self {
            sweep: kernel(sweep, tile.name())?,
            invert: kernel(invert_source(&tile, nb, storage), "invert")?,
            inverse: DeviceBuffer::zeroed(stream, inverse)?,
            status: [status()?, status()?],
            vectors: Vectors::new(stream, storage)?,
            b: DeviceBuffer::zeroed(stream, rows * nb)?,
            x: [first.map_or_else(x, Ok)?, x()?],
            apart,
            stream: stream.clone(),
            matrix,
            norms,
            graphs: Recorded::new(),
            factored: false,
            singular: None,
            share: share.cloned(),
            direct,
        })
    }

    /// The matrix as the sweeps read it.
    pub fn matrix(&self) -> &BlockMatrixCuda {
        &self.matrix
    }

    /// The same, for products with it.
    pub fn matrix_mut(&mut self) -> &mut BlockMatrixCuda {
        &mut self.matrix
    }

    /// The tile in use.
    pub fn tile(&self) -> Tile {
        self.matrix.tile()
    }

    /// The storage of the off-diagonal blocks.
    pub fn storage(&self) -> Storage {
        self.matrix.storage()
    }

    /// The stream of all work.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let x = self.x[0].bytes() + self.x[1].bytes();
        self.matrix.bytes() + self.inverse.bytes() + self.b.bytes() + x + self.norms.bytes()
    }

    /// The smallest number of bytes a sweep must move: every stored block and index once, D^-1, b, and x read and written.
    pub fn minimal_bytes(&self) -> usize {
        let (pattern, nb, storage) = (self.matrix.pattern(), self.matrix.nb(), self.matrix.storage());
        let (n, nnz, q) = (pattern.rows(), pattern.nnzb(), nb * nb);
        nnz * (q * storage.bytes() + 4) + n * (8 * q + 8 * nb + 4 + 2 * storage.x_bytes() * nb)
    }
}

/// Own rows of a color that others read or that read others', and those that have nothing to do with them. A matrix that reads both ways,
/// as those of meshes do, has the same rows as the share.
fn edge(pattern: &BlockPattern, share: &Share, batch: &Batch) -> [Vec<Range<usize>>; 2] {
    let (mut border, mut interior) = (batch.border.clone(), Vec::new());
    let reads = |row: usize| pattern.columns(row).iter().any(|&c| !share.owns(c as usize));
    for run in &batch.interior {
        let mut rest = run.clone();
        for row in run.clone().filter(|&row| reads(row)) {
            interior.push(rest.start..row);
            border.push(row..row + 1);
            rest.start = row + 1;
        }
        interior.push(rest);
    }
    interior.retain(|run| !run.is_empty());
    [border, interior]
}

/// The parts of runs of rows that lie within a range.
fn within(runs: &[Range<usize>], range: &Range<usize>) -> Vec<Range<usize>> {
    let part = |run: &Range<usize>| run.start.max(range.start)..run.end.min(range.end);
    runs.iter().map(part).filter(|run| !run.is_empty()).collect()
}
