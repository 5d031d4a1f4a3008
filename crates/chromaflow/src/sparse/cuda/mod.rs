#![allow(unsafe_code)]
//! The block-sparse matrix on the device.
//!
//! [`BlockMatrixCuda`] is an operator: pattern once, values often, products and residuals. Relaxations are built over it. Two
//! formats: SELL-C-sigma with blocks for scalars (`sliced.cu`) for small blocks, block CSR with padded columns (`panel.cu`)
//! for large ones; `convert.cu` brings the assembled matrix into them.

pub(crate) mod arguments;
mod chunks;
#[cfg(test)]
mod tests;
mod tile;
mod values;

pub use chunks::Chunk;
pub(crate) use chunks::RowSets;
pub(crate) use tile::{Mode, padded};
pub use tile::{Panel, Sliced, Tile};
pub use values::InPlace;

use super::{BlockPattern, ShapeError, check_len, check_nb};
use crate::gpu::{GpuError, Storage, Vectors};
use arguments::{PanelRows, Residual, SlicedIndex, SlicedRows, Terms};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Launch, Read, Share, Stream, Watch};
use chromaflow_device::kernel_arguments;
use chunks::Cut;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Sliced blocks for kernels that assemble [in place](InPlace): the namespace `sell` with the record of a chunk and a `BlockSink`, CUDA C++
/// to be put before a kernel's own text. It includes nothing and knows no constants.
pub const SELL: &str = include_str!("sell.cuh");

/// A kernel file behind what kernels over sliced blocks share.
pub(crate) fn sell_source(name: &'static str, text: &str, storage: Storage) -> KernelSource {
    crate::gpu::source(name, &format!("{SELL}\n#line 1 \"{name}.cu\"\n{text}"), storage)
}

/// A square block-sparse matrix A = D + O on a GPU, in the format of its products:
///
/// `y = A x`, `r = b - A x`.
///
/// Small blocks are stored as SELL-C-sigma: rows of like length among sigma are brought together and cut into chunks of C, each
/// padded to its longest row. A [`Plan`](crate::order::Plan) has sorted them so already; where rows come otherwise, the order is the
/// format's own business: vectors, diagonal blocks and column numbers keep the order of the matrix, so nothing is gathered before a
/// product or scattered after it.
///
/// **Precision**: D in f64, O as [`Storage`] says; products D x and what they are added to in f64, products O x and their sums in
/// f64 for storage `d`, else in f32 with x rounded to it. **Results** are the same bits on every run.
///
/// **Launch shape**: `sliced.cu` a thread block a chunk of rows (or a few), `panel.cu` a thread block a row.
/// **Twins**: [`BlockCsr`](crate::BlockCsr), [`Jacobian`](crate::Jacobian).
///
/// **Source**: Kreutzer, Hager, Wellein, Fehske, Bishop, *A unified sparse matrix data format for efficient general sparse
/// matrix-vector multiplication on modern processors with wide SIMD units* (2014), SIAM J. Sci. Comput. 36(5); blocks in place of
/// scalars, slots in pairs.
pub struct BlockMatrixCuda {
    stream: Stream,
    pattern: Arc<BlockPattern>,
    nb: usize,
    storage: Storage,
    tile: Tile,
    /// Launches of each batch: chunks of sliced blocks, or rows of panels.
    pub(crate) batches: Vec<Range<u32>>,
    vectors: Vectors,
    product: Kernel,
    /// Bring assembled blocks of a storage into the format.
    converts: HashMap<Storage, Kernel>,
    pub(crate) chunks: DeviceBuffer<Chunk>,
    chunk_count: usize,
    /// Row of the matrix at each place of the chunks; none for panels, which keep the order of the matrix.
    pub(crate) perm: Option<DeviceBuffer<u32>>,
    /// Whether that is the order of the matrix, so that kernels need not look it up.
    in_order: bool,
    /// Column numbers, slot by slot over the rows of a chunk (panels: as assembled).
    pub(crate) index: DeviceBuffer<u32>,
    pub(crate) row_ptr: DeviceBuffer<u32>,
    pub(crate) values: DeviceBuffer<u32>,
    /// `[rows, nb (column), nb (row)]`, in the order of the matrix.
    pub(crate) diag: DeviceBuffer<f64>,
    /// 1 / beta, one for all rows or one a row.
    unscale: DeviceBuffer<f32>,
    unscale_stride: u32,
    /// beta and 1 / beta for the next conversion, where they were searched for ahead of it.
    scale: Option<(DeviceBuffer<f32>, DeviceBuffer<f32>)>,
    /// x rounded to f32, where products need it so; from the first one on.
    rounded: Option<DeviceBuffer<f32>>,
    has_values: bool,
    /// Where it is a part of assembled matrices: their pattern, and which of their blocks each of its own is.
    part_of: Option<(Arc<BlockPattern>, DeviceBuffer<u32>)>,
}

impl BlockMatrixCuda {
    /// Room for matrices with off-diagonal blocks of size `nb` on `pattern` (without the diagonal), stored as `storage`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a pattern that is not square or a block size outside 1..=128; [`GpuError::Cuda`]: out of memory, no
    /// compiler, driver errors.
    pub fn new(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        storage: Storage,
    ) -> Result<Self, GpuError> {
        check_nb(nb)?;
        let rows = pattern.rows();
        let tile = Tile::choose(nb, storage, rows, stream.gpu().facts().multiprocessors);
        Self::with_tile(stream, pattern, nb, std::slice::from_ref(&(0..rows)), storage, tile)
    }

    /// Sources of the kernels that [`Self::with_batches`] asks for, and that taking values of the storage `from` asks for.
    pub fn kernel_sources(
        nb: usize,
        storage: Storage,
        from: Storage,
        rows: usize,
        multiprocessors: usize,
    ) -> Vec<KernelSource> {
        let tile = Tile::choose(nb, storage, rows, multiprocessors);
        let mut sources = vec![
            tile.source(nb, storage, Mode::Product),
            tile.convert_source(nb, storage, storage.assembled()),
        ];
        if from != storage.assembled() {
            sources.push(tile.convert_source(nb, storage, from));
        }
        sources.push(Vectors::kernel_source(storage));
        sources
    }

    /// The same with chunks that keep to `batches`, those of the plan that has ordered the rows.
    ///
    /// # Errors
    /// As [`Self::new`], and [`GpuError::Shape`] for batches that do not follow one another over all rows.
    pub fn with_batches(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &[Range<usize>],
        storage: Storage,
    ) -> Result<Self, GpuError> {
        check_nb(nb)?;
        let rows = pattern.rows();
        let follow = batches.windows(2).all(|b| b[0].end == b[1].start);
        let ends = [batches.first().map_or(0, |b| b.start), batches.last().map_or(0, |b| b.end)];
        if !follow || ends != [0, rows] {
            let found = batches.iter().map(Range::len).sum();
            return Err(ShapeError::Length {
                what: "the list of batches",
                found,
                expected: rows,
                shape: "rows, each in one batch".to_owned(),
            }
            .into());
        }
        let tile = Tile::choose(nb, storage, rows, stream.gpu().facts().multiprocessors);
        Self::with_tile(stream, pattern, nb, batches, storage, tile)
    }

    /// The same with chunks that keep to `batches`, which follow one another over all rows, and a tile of the caller's choice.
    pub(crate) fn with_tile(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &[Range<usize>],
        storage: Storage,
        tile: Tile,
    ) -> Result<Self, GpuError> {
        let sets = RowSets::in_order(pattern.rows(), batches);
        Self::with_sets(stream, pattern, nb, &sets, storage, tile)
    }

    /// The same with chunks that keep to sets of rows, which may lie apart.
    pub(crate) fn with_sets(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        sets: &RowSets,
        storage: Storage,
        tile: Tile,
    ) -> Result<Self, GpuError> {
        check_nb(nb)?;
        if pattern.rows() != pattern.cols() {
            return Err(ShapeError::NotSquare { rows: pattern.rows(), cols: pattern.cols() }.into());
        }
        if !tile.is_sliced() && !sets.is_in_order() {
            return Err(GpuError::Unsupported(format!(
                "blocks of {nb} x {nb} are swept in the order of the rows, which ranks do not keep: on several GPUs blocks have at \
                 most 10 rows"
            )));
        }
        let (rows, q) = (pattern.rows(), nb * nb);
        let module = stream.gpu().module(&tile.source(nb, storage, Mode::Product))?;
        let mut a = Self {
            product: module.kernel(tile.name())?,
            stream: stream.clone(),
            pattern: pattern.clone(),
            nb,
            storage,
            tile,
            batches: sets.sets.iter().map(|b| b.start as u32..b.end as u32).collect(),
            vectors: Vectors::new(stream, storage)?,
            converts: HashMap::new(),
            chunks: DeviceBuffer::zeroed(stream, 0)?,
            chunk_count: 0,
            perm: None,
            in_order: true,
            index: stream.upload(pattern.col_idx())?,
            row_ptr: stream.upload(pattern.row_ptr())?,
            values: DeviceBuffer::zeroed(stream, 0)?,
            diag: DeviceBuffer::zeroed(stream, rows * q)?,
            unscale: DeviceBuffer::zeroed(stream, 1)?,
            unscale_stride: 0,
            scale: None,
            rounded: None,
            has_values: false,
            part_of: None,
        };
        let blocks = match tile {
            Tile::Sliced(sliced) => a.slice(sets, sliced)?,
            Tile::Panel(_) => pattern.nnzb() * padded(nb, storage),
        };
        let block_words = if tile.is_sliced() { q } else { nb } * storage.bytes();
        a.values = DeviceBuffer::zeroed(stream, blocks * block_words / 4)?;
        Ok(a)
    }

    /// The same, of blocks that are some of those of matrices on the pattern `whole`: block k is its number `kept[k]`. The rest is left
    /// out of what is multiplied with.
    pub(crate) fn part_of(mut self, whole: &Arc<BlockPattern>, kept: &[u32]) -> Result<Self, GpuError> {
        check_len("kept", kept.len(), self.pattern.nnzb(), || "one a block".to_owned())?;
        assert!(kept.iter().all(|&k| (k as usize) < whole.nnzb()), "blocks of the whole matrix");
        self.part_of = Some((Arc::clone(whole), self.stream.upload(kept)?));
        Ok(self)
    }

    /// Cuts the rows into chunks and numbers the columns slot by slot; the number of blocks with their padding.
    fn slice(&mut self, sets: &RowSets, tile: Sliced) -> Result<usize, GpuError> {
        let stream = &self.stream;
        let cut = Cut::new(&self.pattern, sets, tile.chunk, tile.window);
        let (chunks, perm) = (stream.upload(&cut.chunks)?, stream.upload(&cut.perm)?);
        let blocks = cut.slots * tile.chunk;
        let index = DeviceBuffer::<u32>::uninitialized(stream, blocks)?;
        let source = self.tile.convert_source(self.nb, self.storage, self.storage.assembled());
        let kernel = stream.gpu().module(&source)?.kernel("sliced_index")?;
        let arguments = kernel_arguments! { SlicedIndex {
            chunks: &chunks, perm: &perm, row_ptr: &self.row_ptr, col_idx: &self.index, index: &index,
        } };
        // SAFETY: `index` has a word for every slot of every row of every chunk.
        unsafe { kernel.launch(cut.chunks.len(), 128).record(&arguments).enqueue(stream)? };
        (self.chunks, self.chunk_count, self.in_order) = (chunks, cut.chunks.len(), cut.in_order);
        (self.perm, self.index, self.batches) = (Some(perm), index, cut.batches);
        Ok(blocks)
    }

    /// Where the off-diagonal blocks are.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// The block size.
    pub fn nb(&self) -> usize {
        self.nb
    }

    /// The storage of the off-diagonal blocks.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// The stream of all work.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The kernel design and its parameters.
    pub fn tile(&self) -> Tile {
        self.tile
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let words = self.index.len() + self.row_ptr.len() + self.values.len() + self.unscale.len();
        let perm = self.perm.as_ref().map_or(0, DeviceBuffer::bytes);
        let rounded = self.rounded.as_ref().map_or(0, DeviceBuffer::bytes);
        let kept = self.part_of.as_ref().map_or(0, |(_, kept)| kept.bytes());
        4 * words + self.diag.bytes() + self.chunks.bytes() + perm + rounded + kept
    }

    /// Chunks of all batches; rows for panels.
    pub(crate) fn launches(&self) -> usize {
        if self.tile.is_sliced() { self.chunk_count } else { self.pattern.rows() }
    }

    /// What a sweep over the rows as they stand is.
    pub(crate) fn sweep_mode(&self) -> Mode {
        if self.in_order { Mode::Sweep } else { Mode::PermutedSweep }
    }

    /// The address of 1 / beta, 0 where there is none, and the distance between those of successive rows.
    pub(crate) fn unscale_arg(&self) -> (u64, u32) {
        if self.storage == Storage::F16 { (self.unscale.ptr(), self.unscale_stride) } else { (0, 0) }
    }

    /// The terms of a sweep or a product: those that say where the blocks lie, and whether to do nothing; the rest is to be set.
    pub(crate) fn terms(&self, stop: u64) -> Terms {
        let (unscale, unscale_stride) = self.unscale_arg();
        kernel_arguments! { Terms {
            values: Read::at(self.values.ptr()), index: &self.index, dinv: Read::NONE, b: Read::NONE,
            x: Watch::NONE, x_out: Share::NONE, unscale: Read::at(unscale), unscale_stride, omega: 1.0,
            stop: Watch::at(stop),
        } }
    }

    /// y = A x.
    ///
    /// **Shapes**: `x`, `y [rows, nb]`.
    ///
    /// # Errors
    /// [`GpuError::NoValues`], [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn multiply(&mut self, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.product_of(x, None, y)
    }

    /// r = b - A x.
    ///
    /// **Shapes**: `b`, `x`, `r [rows, nb]`.
    ///
    /// # Errors
    /// [`GpuError::NoValues`], [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn residual(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        self.product_of(x, Some(b), r)
    }

    fn product_of(
        &mut self,
        x: &DeviceBuffer<f64>,
        b: Option<&DeviceBuffer<f64>>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let n = self.pattern.rows() * self.nb;
        for (what, len) in [("x", x.len()), ("b", b.map_or(n, DeviceBuffer::len)), ("the result", r.len())] {
            check_len(what, len, n, || "rows * nb".to_owned())?;
        }
        if !self.has_values {
            return Err(GpuError::NoValues);
        }
        let mut from = x.ptr();
        if self.storage != Storage::F64 {
            if self.rounded.is_none() {
                self.rounded = Some(DeviceBuffer::uninitialized(&self.stream, n)?);
            }
            let rounded = self.rounded.as_mut().expect("made above");
            self.vectors.to_f32(x, rounded)?;
            from = rounded.ptr();
        }
        // SAFETY: x (as it is or rounded), b and r hold rows * nb values.
        unsafe { self.launch_product(from, b.map_or(0, DeviceBuffer::ptr), r.ptr(), 0, 0) }.map(|_| ())
    }

    /// r = b - A x; without `b` (0) the product A x. x in f64 for storage `d`, else in f32. `r` and `partials`, the sum of the
    /// squares of r by thread block, may be 0; `stop` too, the address of a word that says whether to do nothing.
    /// The number of thread blocks.
    ///
    /// # Safety
    /// What is given holds rows * nb values, `partials` one a chunk or row.
    pub(crate) unsafe fn launch_product(
        &self,
        x: u64,
        b: u64,
        r: u64,
        partials: u64,
        stop: u64,
    ) -> Result<usize, GpuError> {
        let count = self.launches();
        let blocks = self.tile.blocks(count);
        // D is multiplied with as it was assembled: no inverse.
        let terms = Terms { b: Read::at(b), x: Watch::at(x), ..self.terms(stop) };
        let residual =
            Residual { diag: (&self.diag).into(), r_out: Share::at(r), partials: Share::at(partials) };
        let launch = self.launch(&self.product, 0..count as u32).record(&terms).record(&residual);
        // SAFETY: the range is all of the format; columns are rows of the matrix; and the caller's promise.
        unsafe { launch.enqueue(&self.stream)? };
        Ok(blocks)
    }

    /// A launch over chunks or rows of panels with the arguments that all kernels of the format begin with.
    pub(crate) fn launch<'k>(&self, kernel: &'k Kernel, range: Range<u32>) -> Launch<'k> {
        let launch = kernel.launch(self.tile.blocks(range.len()), self.tile.threads(self.nb));
        if self.tile.is_sliced() {
            let perm = self.perm.as_ref().filter(|_| !self.in_order).into();
            let chunks = (&self.chunks).into();
            launch.record(&SlicedRows { chunks, first: range.start, end: range.end, perm })
        } else {
            launch.record(&PanelRows { first: range.start, row_ptr: (&self.row_ptr).into() })
        }
    }
}
