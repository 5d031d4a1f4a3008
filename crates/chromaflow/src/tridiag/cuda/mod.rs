#![allow(unsafe_code)]
//! Batches of line systems on a GPU.
//!
//! | engine | a system belongs to | layout | for |
//! |---|---|---|---|
//! | [`GpuEngine::Thomas`] | a thread; rows stream through shared memory, C' and f' go out and come back | SoA | many systems, any length |
//! | [`GpuEngine::ScalarThomas`] | a thread; C' and f' stay in shared memory | SoA | many scalar systems |
//! | [`GpuEngine::CyclicReduction`] | a thread block, all of it in shared memory | AoS | few systems: log2 n steps, not n |
//!
//! The coefficients are kept. Data in the other layout are rearranged on the device first. The kernels are in
//! `tridiag.cu`, compiled for each rank and precision at first use; the CPU twins are [`super::thomas`] and
//! [`super::cyclic_reduction`].

#[cfg(test)]
mod tests;

use super::precision::Precision;
use super::solver::diagnose;
use super::{Batch, Layout, LineOutcome, Shape, TridiagError};
use bytemuck::Pod;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Kernel, KernelSource, Stream};
use std::marker::PhantomData;
use std::str::FromStr;

/// The largest rank that the kernels are compiled for: a block has to fit a thread's registers.
pub const MAX_GPU_RANK: usize = 8;

/// Dynamic shared memory that a block may ask for on any device since compute capability 9 (less elsewhere is an error of
/// the driver that names the limit).
const SHARED_BYTES: usize = 227 << 10;

/// How a batch is solved on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GpuEngine {
    /// By shape, from measurements (see [`GpuEngine::choose`]).
    #[default]
    Auto,
    /// One thread a system.
    Thomas,
    /// One thread a scalar system, factors on the chip.
    ScalarThomas,
    /// One thread block a system.
    CyclicReduction,
}

impl GpuEngine {
    /// The engines by name.
    pub const ALL: [GpuEngine; 4] =
        [GpuEngine::Auto, GpuEngine::Thomas, GpuEngine::ScalarThomas, GpuEngine::CyclicReduction];

    /// The name on command lines and in results.
    pub fn name(self) -> &'static str {
        match self {
            GpuEngine::Auto => "auto",
            GpuEngine::Thomas => "thomas",
            GpuEngine::ScalarThomas => "thomas-scalar",
            GpuEngine::CyclicReduction => "cr",
        }
    }

    /// The engine that was fastest on an H200 (`bench/tridiag-h200.md`).
    ///
    /// A thread a system takes the same time for 512 systems as for several thousand; a thread block a system takes time
    /// in proportion to their number. They cross near
    /// 1200 systems for scalars, near 2500 for blocks.
    pub fn choose(shape: Shape, bytes: usize) -> GpuEngine {
        let few = if shape.rank > 1 { 2500 } else { 1200 };
        let short = shape.rank == 1 && shape.rows <= 16;
        if shape.systems <= few && !short && Plan::cyclic_reduction(shape, bytes).shared <= SHARED_BYTES {
            return GpuEngine::CyclicReduction;
        }
        if shape.rank == 1 && Plan::scalar(shape, bytes).shared <= SHARED_BYTES {
            return GpuEngine::ScalarThomas;
        }
        GpuEngine::Thomas
    }
}

impl FromStr for GpuEngine {
    type Err = TridiagError;
    fn from_str(s: &str) -> Result<Self, TridiagError> {
        GpuEngine::ALL.into_iter().find(|e| e.name() == s).ok_or(TridiagError::Unsupported {
            method: "the GPU",
            what: "this method",
            remedy: "auto, thomas, thomas-scalar or cr",
        })
    }
}

/// Why a batch could not be solved on a GPU.
#[derive(Debug, thiserror::Error)]
pub enum GpuTridiagError {
    /// Input that does not fit.
    #[error(transparent)]
    Input(#[from] TridiagError),
    /// The device or its driver.
    #[error(transparent)]
    Cuda(#[from] CudaError),
}

/// Launch shape of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    threads: usize,
    blocks: usize,
    shared: usize,
    stages: usize,
    share: usize,
    most_share: usize,
}

impl Plan {
    /// Rows stream through shared memory: as many ahead as two blocks of a multiprocessor have room for.
    fn thomas(shape: Shape, bytes: usize) -> Self {
        let row = (3 * shape.block() + shape.rank) * bytes;
        let threads = if shape.systems >= 8192 && row * 128 * 2 <= SHARED_BYTES { 128 } else { 32 };
        let stages = if row * threads * 3 <= SHARED_BYTES / 2 { 3 } else { 2 };
        let blocks = shape.systems.div_ceil(threads);
        Self { threads, blocks, shared: row * threads * stages, stages, share: 1, most_share: 1 }
    }

    fn scalar(shape: Shape, bytes: usize) -> Self {
        let threads = 64;
        let blocks = shape.systems.div_ceil(threads);
        Self { threads, blocks, shared: 2 * shape.rows * threads * bytes, stages: 2, share: 1, most_share: 1 }
    }

    fn cyclic_reduction(shape: Shape, bytes: usize) -> Self {
        let row = 3 * (shape.block() | 1) + (shape.rank | 1);
        // Measured on an H200: scalars want one thread a row, blocks several, more as rows get fewer.
        let (share, most_share) = match shape.rank {
            1 => (1, 1),
            2..=4 => (4, 4),
            _ => (2, 16),
        };
        let threads = match shape.rank {
            1 if shape.rows <= 64 => 32,
            1 if shape.rows <= 128 => 64,
            5.. if shape.rows <= 64 => 64,
            _ => 128,
        };
        Self {
            threads,
            blocks: shape.systems,
            shared: shape.rows * row * bytes,
            stages: 2,
            share,
            most_share,
        }
    }
}

/// Coefficients of a batch in device memory.
///
/// **Shapes**: as [`super::Batch`].
#[derive(Clone, Copy)]
pub struct GpuBatch<'a, S> {
    /// A.
    pub lower: &'a DeviceBuffer<S>,
    /// B.
    pub diag: &'a DeviceBuffer<S>,
    /// C.
    pub upper: &'a DeviceBuffer<S>,
}

/// Solves batches of one shape on a GPU; keeps its work space on the device.
///
/// **Precision**: [`super::Single`] or [`super::Double`]; sums are in the type of the arrays.
pub struct GpuSolver<P: Precision> {
    shape: Shape,
    layout: Layout,
    engine: GpuEngine,
    plan: Plan,
    kernel: Kernel,
    transpose: Kernel,
    factors: DeviceBuffer<P::Store>,
    /// The batch and the solution in the engine's own layout, where that is not the data's.
    rearranged: Vec<DeviceBuffer<P::Store>>,
    bad: DeviceBuffer<i32>,
    precision: PhantomData<P>,
}

impl<P: Precision> GpuSolver<P>
where
    P::Store: Pod,
{
    /// A solver for batches of this shape and layout on the device of `stream`.
    ///
    /// # Errors
    /// [`TridiagError::Unsupported`] for ranks above [`MAX_GPU_RANK`], interleaved layouts, [`super::Mixed`] sums and
    /// lines that are too long for the engine asked for; [`CudaError`].
    pub fn new(
        stream: &Stream,
        shape: Shape,
        layout: Layout,
        engine: GpuEngine,
    ) -> Result<Self, GpuTridiagError> {
        let bytes = size_of::<P::Store>();
        let unsupported = |method, what, remedy| TridiagError::Unsupported { method, what, remedy };
        if !(1..=MAX_GPU_RANK).contains(&shape.rank) {
            return Err(unsupported("the GPU", "blocks of this rank", "the CPU, or rank 1 to 8").into());
        }
        if shape.rows == 0 {
            return Err(TridiagError::NoRows.into());
        }
        if matches!(layout, Layout::Interleaved { .. }) {
            return Err(unsupported("the GPU", "interleaved layouts", "convert to aos or soa").into());
        }
        if size_of::<P::Sum>() != bytes {
            return Err(unsupported("the GPU", "mixed sums", "f32 or f64").into());
        }
        layout.len(shape, shape.block())?;
        if i32::try_from(shape.systems).is_err() || i32::try_from(shape.rows * shape.block()).is_err() {
            return Err(TridiagError::TooLarge { shape }.into());
        }
        let engine = if engine == GpuEngine::Auto { GpuEngine::choose(shape, bytes) } else { engine };
        let (plan, entry) = match engine {
            GpuEngine::ScalarThomas if shape.rank > 1 => {
                return Err(unsupported("thomas-scalar", "blocks", "thomas or cr").into());
            }
            GpuEngine::ScalarThomas => (Plan::scalar(shape, bytes), "thomas_scalar"),
            GpuEngine::CyclicReduction => (Plan::cyclic_reduction(shape, bytes), "cyclic_reduction"),
            _ => (Plan::thomas(shape, bytes), "thomas_thread"),
        };
        if plan.shared > SHARED_BYTES {
            return Err(unsupported(engine.name(), "lines that exceed shared memory", "thomas").into());
        }
        let source = KernelSource::new("tridiag", include_str!("tridiag.cu"))
            .define("REAL", if bytes == 8 { "double" } else { "float" })
            .define("NB", shape.rank)
            .define("STAGES", plan.stages)
            .define("THREADS", plan.threads)
            .define("AHEAD", if bytes == 8 { 8 } else { 16 })
            .define("CR_THREADS", plan.threads)
            .define("SHARE", plan.share)
            .define("MOST_SHARE", plan.most_share);
        let module = stream.gpu().module(&source)?;
        let kernel = module.kernel(entry)?;
        kernel.allow_shared(plan.shared)?;
        let own = if engine == GpuEngine::CyclicReduction { Layout::Aos } else { Layout::Soa };
        let entries = shape.systems * shape.rows;
        let room = if engine == GpuEngine::Thomas { entries * shape.block() } else { 0 };
        let mut rearranged = Vec::new();
        if layout != own {
            for width in [shape.block(), shape.block(), shape.block(), shape.rank, shape.rank] {
                rearranged.push(DeviceBuffer::uninitialized(stream, entries * width)?);
            }
        }
        Ok(Self {
            shape,
            layout,
            engine,
            plan,
            kernel,
            transpose: module.kernel("transpose")?,
            factors: DeviceBuffer::uninitialized(stream, room)?,
            rearranged,
            bad: DeviceBuffer::from_slice(stream, &[i32::MAX])?,
            precision: PhantomData,
        })
    }

    /// The engine in use.
    pub fn engine(&self) -> GpuEngine {
        self.engine
    }

    /// Enqueues the solve of every system: nothing is allocated, nothing waits, so that it can be captured in a graph.
    ///
    /// # Errors
    /// [`TridiagError::Length`], [`CudaError`].
    pub fn solve(
        &mut self,
        stream: &Stream,
        batch: &GpuBatch<'_, P::Store>,
        rhs: &DeviceBuffer<P::Store>,
        x: &mut DeviceBuffer<P::Store>,
    ) -> Result<(), GpuTridiagError> {
        let (shape, plan) = (self.shape, self.plan);
        let blocks = self.layout.len(shape, shape.block())?;
        let vectors = self.layout.len(shape, shape.rank)?;
        TridiagError::check_len("lower", batch.lower.len(), blocks)?;
        TridiagError::check_len("diag", batch.diag.len(), blocks)?;
        TridiagError::check_len("upper", batch.upper.len(), blocks)?;
        TridiagError::check_len("rhs", rhs.len(), vectors)?;
        TridiagError::check_len("x", x.len(), vectors)?;
        let given = [batch.lower, batch.diag, batch.upper, rhs];
        let direct = self.rearranged.is_empty();
        if !direct {
            for (from, to) in given.into_iter().zip(&self.rearranged) {
                self.rearrange(stream, from, to, self.layout)?;
            }
        }
        let source = |k: usize| if direct { given[k].ptr() } else { self.rearranged[k].ptr() };
        let target = if direct { x.ptr() } else { self.rearranged[4].ptr() };
        let mut launch = self
            .kernel
            .launch(plan.blocks, plan.threads)
            .shared(plan.shared)
            .arg(source(0))
            .arg(source(1))
            .arg(source(2))
            .arg(source(3))
            .arg(target);
        if self.engine == GpuEngine::Thomas {
            launch = launch.arg(&self.factors);
        }
        launch = launch.arg(shape.rows as i32);
        if self.engine != GpuEngine::CyclicReduction {
            launch = launch.arg(shape.systems as i32);
        }
        // SAFETY: the arguments are those of the three entries (Thomas has `factors`, cyclic reduction no `systems`); all
        // lengths are checked above, the work space was allocated for this shape, and its order is the stream's.
        unsafe { launch.arg(&self.bad).enqueue(stream)? };
        if !direct {
            let own = if self.layout == Layout::Aos { Layout::Soa } else { Layout::Aos };
            self.rearrange(stream, &self.rearranged[4], x, own)?;
        }
        Ok(())
    }

    /// Enqueues the copy of an array in layout `layout` into the other one.
    fn rearrange(
        &self,
        stream: &Stream,
        from: &DeviceBuffer<P::Store>,
        to: &DeviceBuffer<P::Store>,
        layout: Layout,
    ) -> Result<(), CudaError> {
        let systems = self.shape.systems;
        let inner = from.len() / systems.max(1);
        let (rows, cols) = if layout == Layout::Aos { (inner, systems) } else { (systems, inner) };
        let launch = self.transpose.launch(rows.div_ceil(32) * cols.div_ceil(32), 256);
        // SAFETY: both arrays have rows x cols entries; the kernel stays inside them.
        unsafe { launch.arg(from).arg(to).arg(rows as i64).arg(cols as i64).enqueue(stream) }
    }

    /// Waits for the solves so far and says how they ended; a breakdown is looked up on the host, from the data of the
    /// last solve.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn outcome(
        &mut self,
        batch: &GpuBatch<'_, P::Store>,
        rhs: &DeviceBuffer<P::Store>,
        x: &DeviceBuffer<P::Store>,
    ) -> Result<LineOutcome, GpuTridiagError> {
        let first = self.bad.download()?[0];
        if first == i32::MAX {
            return Ok(LineOutcome::Solved);
        }
        self.bad.upload(&[i32::MAX])?;
        let (lower, diag, upper) = (batch.lower.download()?, batch.diag.download()?, batch.upper.download()?);
        let host = Batch::new(self.shape, self.layout, &lower, &diag, &upper)?;
        Ok(diagnose::<P>(&host, &rhs.download()?, &x.download()?, first as usize))
    }
}
