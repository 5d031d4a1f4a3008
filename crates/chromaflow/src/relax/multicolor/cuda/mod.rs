#![allow(unsafe_code)]
//! Multicolor point-implicit relaxation on the device.
//!
//! Two designs, each one kernel a color that forms b - O x, applies D^-1 and updates x: `sliced.cu` for small blocks,
//! `panel.cu` for large ones. `convert.cu` brings the assembled matrix into their layouts and inverts the diagonal.

mod layout;
mod tile;

#[cfg(test)]
mod tests;

pub use tile::Tile;

use crate::Outcome;
use crate::gpu::{DeviceJacobian, DeviceOff, GpuError, Storage, Vectors};
use crate::order::RowBatches;
use crate::relax::{Direction, FactorReport, Guess, RelaxError, SolveOptions, SolveReport};
use crate::sparse::{BlockPattern, check_len, check_nb};
use chromaflow_device::cuda::{Arg, DeviceBuffer, Graph, Kernel, Stream};
use layout::{Chunk, Layout};
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
    x: [DeviceBuffer<u32>; 2],
    norms: Norms,
    graphs: HashMap<Plan, Graph>,
    factored: bool,
    singular: Option<usize>,
    /// beta and 1 / beta for the next conversion, where they were searched for ahead of it.
    scale: Option<(DeviceBuffer<f32>, DeviceBuffer<f32>)>,
}

/// The matrix in the kernels' layout.
struct Matrix {
    chunks: DeviceBuffer<Chunk>,
    chunk_count: usize,
    perm: Option<DeviceBuffer<u32>>,
    /// Column numbers in sweep order (panels: as assembled).
    index: Arc<DeviceBuffer<u32>>,
    row_ptr: Arc<DeviceBuffer<u32>>,
    /// Panels: where rows start, in vectors of 16 bytes.
    start: DeviceBuffer<u32>,
    values: DeviceBuffer<u32>,
    inverse: DeviceBuffer<f64>,
    diag: DeviceBuffer<f64>,
    unscale: DeviceBuffer<f32>,
    unscale_stride: u32,
}

/// Residual norms that stay on the device until a solve ends.
struct Norms {
    partials: DeviceBuffer<f64>,
    history: DeviceBuffer<f64>,
    stop: DeviceBuffer<i32>,
}

/// What a graph was recorded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    direction: Direction,
    sweeps: usize,
    damping: u64,
    /// Tolerance when norms are taken.
    norms: Option<u64>,
}

/// The most norms a solve records.
const HISTORY: usize = 4096;
/// A residual that has grown by this factor will not come back (as on the CPU).
const DIVERGED: f64 = 1e6;

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
        check_nb(nb)?;
        let rows = pattern.rows();
        check_batches(pattern, batches)?;
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
        let from = if storage == Storage::F64 { Storage::F64 } else { Storage::F32 };
        let invert = gpu.module(&tile.convert_source(nb, storage, from))?.kernel("invert")?;
        let told = || stream.upload(&[0u32, 0, u32::MAX]);
        Ok(Self {
            sweep: kernel(Mode::Sweep, name)?,
            residual: kernel(Mode::Residual, name)?,
            converts: HashMap::new(),
            invert,
            told: [told()?, told()?],
            vectors: Vectors::new(stream, storage)?,
            b: DeviceBuffer::zeroed(stream, rows * nb)?,
            x: [x()?, x()?],
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

    /// Bytes of the matrix in the kernels' layout.
    pub fn bytes(&self) -> usize {
        let m = &self.matrix;
        m.values.bytes() + m.index.bytes() + m.inverse.bytes() + m.diag.bytes() + m.chunks.bytes()
    }

    /// Takes the values of `jac`: off-diagonal blocks into the kernels' layout, diagonal blocks inverted. `jac` is free to
    /// be assembled anew after this.
    ///
    /// For `dsh` both f16 blocks ([`DeviceJacobian::narrow`]) and f32 blocks are taken; the latter are scaled by one beta
    /// on the way.
    ///
    /// # Errors
    /// [`RelaxError::OtherMatrix`] for another pattern or block size, [`GpuError::Unsupported`] for values of another
    /// storage, [`GpuError::Cuda`].
    pub fn factor(&mut self, jac: &DeviceJacobian) -> Result<FactorReport, GpuError> {
        self.convert(jac)?;
        let report = self.invert()?;
        self.factored = true;
        Ok(report)
    }

    /// Policy `dsh`: searches the f32 blocks of `jac` for the scale of the conversion that follows, which otherwise does it
    /// itself; for timing it apart.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn find_scale(&mut self, jac: &DeviceJacobian) -> Result<(), GpuError> {
        if let (DeviceOff::F32(values), Storage::F16) = (&jac.off, self.storage) {
            self.scale = Some(crate::gpu::global_scale(&self.vectors, values)?);
        }
        Ok(())
    }

    /// The first half of [`Self::factor`]: off-diagonal blocks into the kernels' layout.
    ///
    /// # Errors
    /// As [`Self::factor`].
    pub fn convert(&mut self, jac: &DeviceJacobian) -> Result<(), GpuError> {
        let same = Arc::ptr_eq(jac.pattern(), &self.pattern) || **jac.pattern() == *self.pattern;
        if !same || jac.nb() != self.nb {
            return Err(RelaxError::OtherMatrix.into());
        }
        let (nb, tile, stream) = (self.nb, self.tile, &self.stream);
        let from = jac.off.storage();
        let fits = match self.storage {
            Storage::F64 => from == Storage::F64,
            Storage::F32 | Storage::Bf16 => from == Storage::F32,
            Storage::F16 => matches!(from, Storage::F32 | Storage::F16),
        };
        if !fits {
            let (from, to) = (from.name(), self.storage.name());
            return Err(GpuError::Unsupported(format!(
                "blocks assembled for policy `{from}` cannot be swept with `{to}`: assemble them for `{to}`"
            )));
        }
        let m = &mut self.matrix;
        let unscale_was = (m.unscale.ptr(), m.unscale_stride);
        let mut scale = 0;
        let made;
        match &jac.off {
            DeviceOff::F16 { unscale, .. } => m.take_unscale(&self.vectors, unscale)?,
            DeviceOff::F32(values) if self.storage == Storage::F16 => {
                made = match self.scale.take() {
                    Some(found) => found,
                    None => crate::gpu::global_scale(&self.vectors, values)?,
                };
                scale = made.0.ptr();
                m.take_unscale(&self.vectors, &made.1)?;
            }
            _ => {}
        }
        if unscale_was != (m.unscale.ptr(), m.unscale_stride) {
            self.graphs.clear(); // they name the old memory
        }
        m.diag.copy_from(&jac.diag.slice())?;
        if !self.converts.contains_key(&from) {
            let module = stream.gpu().module(&tile.convert_source(nb, self.storage, from))?;
            let name = if tile.is_sliced() { "to_sliced" } else { "to_panel" };
            self.converts.insert(from, module.kernel(name)?);
        }
        let kernel = &self.converts[&from];
        // SAFETY: the layout was made for this pattern and block size: every chunk or row has its place in `values`.
        unsafe {
            if tile.is_sliced() {
                kernel
                    .launch(m.chunk_count, tile.chunk() * nb)
                    .arg(&m.chunks)
                    .arg(m.perm_ptr())
                    .arg(&*jac.row_ptr)
                    .arg(jac.off.ptr())
                    .arg(scale)
                    .arg(0u32)
                    .arg(&m.values)
                    .enqueue(stream)?;
            } else {
                kernel
                    .launch(self.pattern.rows(), 128)
                    .arg(&*m.row_ptr)
                    .arg(&m.start)
                    .arg(jac.off.ptr())
                    .arg(scale)
                    .arg(0u32)
                    .arg(&m.values)
                    .enqueue(stream)?;
            }
        }
        Ok(())
    }

    /// The second half of [`Self::factor`]: the inverses of the diagonal blocks.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn invert(&mut self) -> Result<FactorReport, GpuError> {
        self.invert_launch()?;
        let told = self.told[0].download()?;
        self.singular = (told[1] > 0).then_some(told[2] as usize);
        Ok(FactorReport {
            pivoted: told[0] as usize,
            pivoted_rows: Vec::new(),
            singular: told[1] as usize,
            singular_rows: self.singular.iter().map(|&r| r as u32).collect(),
        })
    }

    /// [`Self::factor`] without waiting for its report: the inverses of singular blocks are zero, and what was found
    /// stands on the device when the stream has come so far, as three words: rows whose pivots were exchanged, singular
    /// rows, the first of these.
    ///
    /// # Errors
    /// As [`Self::factor`].
    pub fn factor_later(&mut self, jac: &DeviceJacobian) -> Result<&DeviceBuffer<u32>, GpuError> {
        self.convert(jac)?;
        self.invert_launch()?;
        (self.factored, self.singular) = (true, None);
        Ok(&self.told[0])
    }

    fn invert_launch(&mut self) -> Result<(), GpuError> {
        let [told, start] = &mut self.told;
        told.copy_from(&start.slice())?;
        let (nb, tile, m) = (self.nb, self.tile, &self.matrix);
        let places = if tile.is_sliced() { m.chunk_count * tile.chunk() } else { self.pattern.rows() };
        let (blocks, threads, shared) = invert_shape(nb, places);
        if shared > 0 {
            self.invert.allow_shared(shared)?;
        }
        // SAFETY: `inverse` has room for the blocks of all chunks or rows, `told` for three words.
        unsafe {
            self.invert
                .launch(blocks, threads)
                .shared(shared)
                .arg(places as u32)
                .arg(&m.chunks)
                .arg(m.perm_ptr())
                .arg(&m.diag)
                .arg(&m.inverse)
                .arg(&*told)
                .enqueue(&self.stream)?;
        }
        Ok(())
    }

    /// Solves A x = b as `options` say, with `b` and `x` on the device in the order of the matrix's rows.
    ///
    /// **Shapes**: `b`, `x [rows, nb]`.
    /// **Outcome**: as the twin; a tolerance is looked at after every sweep, on the device.
    ///
    /// # Errors
    /// [`RelaxError::NotFactored`], [`GpuError::Shape`], [`GpuError::Cuda`]; [`GpuError::Unsupported`] for restarts,
    /// which the caller does with [`Self::residual_of`].
    pub fn solve(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        options: &SolveOptions,
    ) -> Result<SolveReport, GpuError> {
        let n = self.pattern.rows() * self.nb;
        check_len("b", b.len(), n, || "rows * nb".to_owned())?;
        check_len("x", x.len(), n, || "rows * nb".to_owned())?;
        if !self.factored {
            return Err(RelaxError::NotFactored.into());
        }
        if options.restart.is_some() {
            return Err(GpuError::Unsupported(
                "restarts are not done inside a device solve: solve for corrections of the residual"
                    .to_owned(),
            ));
        }
        if let Some(row) = self.singular {
            let outcome = Outcome::Breakdown { row };
            return Ok(SolveReport { outcome, sweeps: 0, relative_residual: None, history: Vec::new() });
        }
        self.set_rhs(b)?;
        match options.guess {
            Guess::Zero => self.clear()?,
            Guess::Given => self.set_x(x)?,
        }
        let norms = options.tolerance.is_some() || options.history;
        let report = if norms {
            self.solve_with_norms(options)?
        } else {
            self.sweeps(options.direction, options.sweeps, options.damping)?;
            SolveReport {
                outcome: Outcome::IterationLimit,
                sweeps: options.sweeps,
                relative_residual: None,
                history: Vec::new(),
            }
        };
        self.get_x(x)?;
        Ok(report)
    }

    /// Takes a right-hand side for [`Self::sweeps`].
    ///
    /// # Errors
    /// [`GpuError::Cuda`], [`GpuError::Shape`].
    pub fn set_rhs(&mut self, b: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.move_vector("gather_b", b.len(), b.ptr(), self.b.ptr())
    }

    /// Takes a first guess.
    ///
    /// # Errors
    /// [`GpuError::Cuda`], [`GpuError::Shape`].
    pub fn set_x(&mut self, x: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.move_vector("gather_x", x.len(), x.ptr(), self.x[0].ptr())
    }

    /// Starts from zero.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn clear(&mut self) -> Result<(), GpuError> {
        Ok(self.x[0].fill_bytes(0)?)
    }

    /// Gives the solution.
    ///
    /// # Errors
    /// [`GpuError::Cuda`], [`GpuError::Shape`].
    pub fn get_x(&self, x: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.move_vector("scatter_x", x.len(), self.x[0].ptr(), x.ptr())
    }

    fn move_vector(&self, how: &str, len: usize, from: u64, to: u64) -> Result<(), GpuError> {
        let rows = self.pattern.rows();
        check_len("vector", len, rows * self.nb, || "rows * nb".to_owned())?;
        let args = [rows as u64, self.nb as u64, self.matrix.perm_ptr(), from, to];
        // SAFETY: both vectors hold rows * nb values (ours one row more); the permutation has an entry a row.
        unsafe { self.vectors.run(how, len, args) }
    }

    /// `count` sweeps from the present x as one graph launch.
    ///
    /// # Errors
    /// [`RelaxError::NotFactored`], [`GpuError::Cuda`].
    pub fn sweeps(&mut self, direction: Direction, count: usize, damping: f64) -> Result<(), GpuError> {
        let plan = Plan { direction, sweeps: count, damping: damping.to_bits(), norms: None };
        self.run(plan)
    }

    fn run(&mut self, plan: Plan) -> Result<(), GpuError> {
        if !self.factored {
            return Err(RelaxError::NotFactored.into());
        }
        if !self.graphs.contains_key(&plan) {
            let mut failed = None;
            let graph = self.stream.capture(|| {
                failed = self.record(plan).err();
                Ok(())
            });
            if let Some(error) = failed {
                return Err(error);
            }
            self.graphs.insert(plan, graph?);
        }
        let graph = self.graphs.get_mut(&plan).expect("it was put there above");
        Ok(graph.launch(&self.stream)?)
    }

    fn record(&self, plan: Plan) -> Result<(), GpuError> {
        let damping = f64::from_bits(plan.damping);
        let mut dependent = false;
        if let Some(tolerance) = plan.norms {
            self.record_begin(f64::from_bits(tolerance))?;
            self.record_norm()?;
        }
        for _ in 0..plan.sweeps {
            let forward = (0..self.batches.len()).map(|i| (i, plan.direction != Direction::Backward));
            let backward = (0..self.batches.len()).rev().map(|i| (i, plan.direction != Direction::Forward));
            for (batch, wanted) in forward.chain(backward) {
                if wanted {
                    self.launch_batch(batch, damping, dependent, plan.norms.is_some())?;
                    dependent |= !self.batches[batch].is_empty();
                }
            }
            if plan.norms.is_some() {
                self.record_norm()?;
                dependent = false;
            }
        }
        Ok(())
    }

    fn launch_batch(&self, batch: usize, damping: f64, dependent: bool, stop: bool) -> Result<(), GpuError> {
        let (m, range) = (&self.matrix, &self.batches[batch]);
        let (unscale, stride) = m.unscale_arg(self.storage);
        let stop = if stop { self.norms.stop.ptr() } else { 0 };
        let x = &self.x[0];
        let launch = self.sweep.launch(self.tile.blocks(range.len()), self.tile.threads(self.nb));
        let launch = if self.tile.is_sliced() {
            launch.arg(&m.chunks).arg(range.start).arg(range.end).arg(&m.values).arg(&*m.index)
        } else {
            launch.arg(range.start).arg(&*m.row_ptr).arg(&m.start).arg(&m.values).arg(&*m.index)
        };
        let launch =
            launch.arg(&m.inverse).arg(&self.b).arg(x).arg(x).arg(unscale).arg(stride).arg(damping).arg(stop);
        // SAFETY: the range lies within the layout, columns within x (whose last row of zeros serves the padding); the
        // rows of a batch do not read one another (checked in `new`).
        Ok(unsafe { launch.dependent(dependent).enqueue(&self.stream) }?)
    }

    /// The kernel of r = b - A x for all rows; `b` null: A x. `r` and `partials` may be null.
    fn launch_residual(&self, x: u64, b: u64, r: u64, partials: u64, stop: u64) -> Result<usize, GpuError> {
        let m = &self.matrix;
        let (unscale, stride) = m.unscale_arg(self.storage);
        let count = if self.tile.is_sliced() { m.chunk_count } else { self.pattern.rows() };
        let blocks = self.tile.blocks(count);
        let launch = self.residual.launch(blocks, self.tile.threads(self.nb));
        let launch = if self.tile.is_sliced() {
            launch.arg(&m.chunks).arg(0u32).arg(count as u32).arg(&m.values).arg(&*m.index)
        } else {
            launch.arg(0u32).arg(&*m.row_ptr).arg(&m.start).arg(&m.values).arg(&*m.index)
        };
        let launch =
            launch.arg(&m.inverse).arg(b).arg(x).arg(0u64).arg(unscale).arg(stride).arg(1.0f64).arg(stop);
        let launch = launch.arg(&m.diag);
        let launch = if self.tile.is_sliced() { launch.arg(m.perm_ptr()) } else { launch };
        // SAFETY: as in `launch_batch`; `partials` has room for a sum a thread block.
        unsafe { launch.arg(r).arg(partials).enqueue(&self.stream)? };
        Ok(blocks)
    }

    /// |b| and the norm to reach.
    fn record_begin(&self, tolerance: f64) -> Result<(), GpuError> {
        let (n, len) = (&self.norms, self.b.len());
        let blocks = len.div_ceil(256).clamp(1, n.partials.len());
        // SAFETY: `partials` holds a sum a thread block, `history` the three numbers set here.
        unsafe {
            let dot = self.vectors.kernel("dot")?;
            let launch = dot.launch(blocks, 256).arg(len as u64).arg(&self.b).arg(&self.b);
            launch.arg(&n.partials).enqueue(&self.stream)?;
            let begin = self.vectors.kernel("begin_norms")?;
            let launch = begin.launch(1, 1024).arg(blocks as u32).arg(&n.partials).arg(tolerance);
            launch.arg(&n.history).arg(&n.stop).enqueue(&self.stream)?;
        }
        Ok(())
    }

    fn record_norm(&self) -> Result<(), GpuError> {
        let n = &self.norms;
        let blocks =
            self.launch_residual(self.x[0].ptr(), self.b.ptr(), 0, n.partials.ptr(), n.stop.ptr())?;
        let add = self.vectors.kernel("add_norm")?;
        let launch =
            add.launch(1, 1024).arg(blocks as u32).arg(&n.partials).arg(HISTORY as u32).arg(DIVERGED);
        // SAFETY: `partials` holds a sum a thread block, `history` HISTORY entries behind the first three numbers.
        Ok(unsafe { launch.arg(&n.history).arg(&n.stop).enqueue(&self.stream) }?)
    }

    fn solve_with_norms(&mut self, options: &SolveOptions) -> Result<SolveReport, GpuError> {
        self.run(Plan {
            direction: options.direction,
            sweeps: options.sweeps,
            damping: options.damping.to_bits(),
            norms: Some(options.tolerance.unwrap_or(-1.0).to_bits()),
        })?;
        let history = self.norms.history.download()?;
        let stop = self.norms.stop.download()?[0];
        let count = (history[0] as usize).min(HISTORY);
        let scale = if history[1] > 0.0 { history[1] } else { 1.0 };
        let history: Vec<f64> = history[3..3 + count].iter().map(|r| r / scale).collect();
        let done = count.saturating_sub(1);
        let outcome = match stop {
            1 => Outcome::Converged,
            2 => Outcome::Diverged { iteration: done },
            _ => Outcome::IterationLimit,
        };
        Ok(SolveReport {
            outcome,
            sweeps: done,
            relative_residual: history.last().copied(),
            history: if options.history { history } else { Vec::new() },
        })
    }

    /// `r = b - A x` in f64, with x rounded to the precision of the sweeps; without `b`, `r = A x`.
    ///
    /// **Shapes**: `b`, `x`, `r [rows, nb]`, in the order of the matrix's rows.
    ///
    /// # Errors
    /// [`RelaxError::NotFactored`], [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn residual_of(
        &mut self,
        x: &DeviceBuffer<f64>,
        b: Option<&DeviceBuffer<f64>>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        if !self.factored {
            return Err(RelaxError::NotFactored.into());
        }
        self.move_vector("gather_x", x.len(), x.ptr(), self.x[1].ptr())?;
        if let Some(b) = b {
            self.set_rhs(b)?;
        }
        let mut ours = DeviceBuffer::<f64>::uninitialized(&self.stream, r.len())?;
        check_len("r", r.len(), self.b.len(), || "rows * nb".to_owned())?;
        let b = if b.is_some() { self.b.ptr() } else { 0 };
        self.launch_residual(self.x[1].ptr(), b, ours.ptr(), 0, 0)?;
        if self.matrix.perm.is_some() {
            self.move_vector("scatter_f64", r.len(), ours.ptr(), r.ptr())
        } else {
            std::mem::swap(r, &mut ours);
            Ok(())
        }
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

impl Tile {
    /// Thread blocks for `count` chunks or rows.
    fn blocks(&self, count: usize) -> usize {
        if let Tile::Sliced { per_block, .. } = self { count.div_ceil(*per_block) } else { count }
    }
}

impl Matrix {
    fn new(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
        tile: Tile,
    ) -> Result<(Self, Vec<Range<u32>>), GpuError> {
        let (rows, q) = (pattern.rows(), nb * nb);
        let row_ptr = Arc::new(stream.upload(pattern.row_ptr())?);
        let col_idx = stream.upload(pattern.col_idx())?;
        let unscale = DeviceBuffer::zeroed(stream, 1)?;
        let diag = DeviceBuffer::zeroed(stream, rows * q)?;
        if let Tile::Sliced { chunk, window, .. } = tile {
            let layout = Layout::new(pattern, batches, chunk, window);
            let perm = layout.perm.unwrap_or_else(|| (0..rows as u32).collect());
            let mut place = vec![0; rows];
            for (at, &row) in perm.iter().enumerate() {
                place[row as usize] = at as u32;
            }
            let (chunks, perm) = (stream.upload(&layout.chunks)?, stream.upload(&perm)?);
            let place = stream.upload(&place)?;
            let index = DeviceBuffer::<u32>::uninitialized(stream, layout.slots * chunk)?;
            let words = layout.slots * chunk * q * storage.bytes() / 4;
            let from = if storage == Storage::F64 { Storage::F64 } else { Storage::F32 };
            let module = stream.gpu().module(&tile.convert_source(nb, storage, from))?;
            // SAFETY: `index` has a word for every slot of every row of every chunk.
            unsafe {
                module
                    .kernel("sliced_index")?
                    .launch(layout.chunks.len(), 128)
                    .arg(&chunks)
                    .arg(&perm)
                    .arg(&place)
                    .arg(&*row_ptr)
                    .arg(&col_idx)
                    .arg(rows as u32)
                    .arg(&index)
                    .enqueue(stream)?;
            }
            let matrix = Self {
                chunk_count: layout.chunks.len(),
                inverse: DeviceBuffer::zeroed(stream, layout.chunks.len() * chunk * q)?,
                chunks,
                perm: Some(perm),
                index: Arc::new(index),
                row_ptr,
                start: DeviceBuffer::zeroed(stream, 1)?,
                values: DeviceBuffer::zeroed(stream, words)?,
                diag,
                unscale,
                unscale_stride: 0,
            };
            return Ok((matrix, layout.batches));
        }
        let mut start = vec![0u32];
        let mut at = 0usize;
        for row in 0..rows {
            at += (pattern.range(row).len() * q * storage.bytes()).div_ceil(16);
            start.push(u32::try_from(at).map_err(|_| {
                GpuError::Unsupported("more than 64 GiB of off-diagonal blocks on one device".to_owned())
            })?);
        }
        let matrix = Self {
            chunks: DeviceBuffer::zeroed(stream, 1)?,
            chunk_count: 0,
            perm: None,
            index: Arc::new(col_idx),
            row_ptr,
            start: stream.upload(&start)?,
            values: DeviceBuffer::zeroed(stream, at * 4)?,
            inverse: DeviceBuffer::zeroed(stream, rows * (q + q % 2))?,
            diag,
            unscale,
            unscale_stride: 0,
        };
        Ok((matrix, batches.iter().map(|b| b.start as u32..b.end as u32).collect()))
    }

    /// The address of the permutation; 0 where there is none.
    fn perm_ptr(&self) -> u64 {
        self.perm.as_ref().map_or(0, DeviceBuffer::ptr)
    }

    fn unscale_arg(&self, storage: Storage) -> (u64, u32) {
        if storage == Storage::F16 { (self.unscale.ptr(), self.unscale_stride) } else { (0, 0) }
    }

    /// 1 / beta, brought into sweep order where there is one a row.
    fn take_unscale(&mut self, vectors: &Vectors, from: &DeviceBuffer<f32>) -> Result<(), GpuError> {
        if self.unscale.len() != from.len() {
            self.unscale = DeviceBuffer::uninitialized(vectors.stream(), from.len())?;
        }
        self.unscale_stride = u32::from(from.len() > 1);
        if self.perm.is_some() && from.len() > 1 {
            let args = [from.len() as u64, self.perm_ptr(), from.bits(), (&self.unscale).bits()];
            // SAFETY: both hold a value a row.
            unsafe { vectors.run("gather_rows", from.len(), args) }
        } else {
            Ok(self.unscale.copy_from(&from.slice())?)
        }
    }
}

/// Thread blocks, threads and bytes of shared memory with which `convert.cu` inverts `places` diagonal blocks.
pub(crate) fn invert_shape(nb: usize, places: usize) -> (usize, usize, usize) {
    match nb {
        1..=8 => (places.div_ceil(4 * (32 / nb)), 128, 0),
        9..=16 => (places, 64, nb * (nb | 1) * 8),
        17..=32 => (places, 128, nb * (nb | 1) * 8),
        _ => (places, 256, nb * (nb | 1) * 8),
    }
}

/// Rows are covered, and no row of a batch reads another one of it.
fn check_batches(pattern: &BlockPattern, batches: &RowBatches) -> Result<(), RelaxError> {
    if batches.rows() != pattern.rows() {
        return Err(RelaxError::Rows { found: batches.rows(), rows: pattern.rows() });
    }
    for (i, batch) in batches.iter().enumerate() {
        for row in batch.clone() {
            if let Some(&col) = pattern.columns(row).iter().find(|&&c| batch.contains(&(c as usize))) {
                return Err(RelaxError::Dependent { row, col: col as usize, batch: i });
            }
        }
    }
    Ok(())
}
