#![allow(unsafe_code)]
//! Batches of line systems on a GPU.
//!
//! | engine | a system belongs to | reads | for |
//! |---|---|---|---|
//! | [`GpuEngine::Thomas`] | a thread; rows stream through shared memory, C' and f' go out and come back | SoA | many systems, any length |
//! | [`GpuEngine::ScalarThomas`] | a thread; C' and f' stay in shared memory | SoA | many scalar systems |
//! | [`GpuEngine::Warp`] | a warp; Thomas in its lanes, parallel cyclic reduction between them | AoS | scalar systems of up to 1024 rows in f32, 512 in f64 |
//! | [`GpuEngine::CyclicReduction`] | a thread block, all of it in shared memory | AoS | few systems of ranks above 4 or more rows: log2 n steps, not n |
//! | [`GpuEngine::ParallelCyclicReduction`] | a thread block, a thread a row | AoS | ranks 2 to 4, up to 256 rows; few systems |
//! | [`GpuEngine::Chunks`] | groups of lanes, one for each chunk of a line | AoS | periodic lines, ranks to 16, any length |
//!
//! The chunks engine is a divide and conquer in the manner of Wang (1981): every line is cut into chunks whose inner rows are
//! eliminated side by side, what is left is a line of one row a chunk, which is cut again while it is long. It also keeps
//! factors for later right-hand sides ([`GpuFactoredSolver`]).
//!
//! Data in another layout are rearranged on the device first, into arrays of the solver. The kernels are compiled for each
//! rank and pair of precisions at first use; the CPU twins are [`super::thomas`], [`super::cyclic_reduction`] and
//! [`super::parallel_cyclic_reduction`].
//!
//! **Source**: Wang, *A parallel method for tridiagonal equations* (1981); Stone et al. (2011), section III.

mod arguments;
mod chunks;
mod convert;
mod engine;
mod factored;
mod host;
#[cfg(test)]
mod tests;

pub use engine::{GpuEngine, MAX_GPU_RANK, kernel_sources};
pub use factored::GpuFactoredSolver;
pub use host::{HostSolver, Transfer};

use super::precision::Precision;
use super::solver::diagnose;
use super::{Batch, Layout, LineOutcome, Shape, TridiagError};
use arguments::{Coefficients, Thomas, WholeLines};
use bytemuck::Pod;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Kernel, Read, Share, Stream, Watch};
use chunks::{Keep, Level};
use convert::Convert;
use engine::{Plan, c_type};

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

/// What a [`GpuSolver`] does and with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// The engine.
    pub engine: GpuEngine,
    /// A of the first row and C of the last couple the ends.
    pub periodic: bool,
    /// The coefficients may be overwritten ([`GpuSolver::solve_in_place`]): no memory for factors is needed where an engine
    /// reads the arrays as they lie.
    pub destroy: bool,
}

impl From<GpuEngine> for GpuOptions {
    fn from(engine: GpuEngine) -> Self {
        Self { engine, ..Self::default() }
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

impl<S: Pod> GpuBatch<'_, S> {
    fn check(&self, shape: Shape, layout: Layout) -> Result<(), TridiagError> {
        let blocks = layout.len(shape, shape.block())?;
        TridiagError::check_len("lower", self.lower.len(), blocks)?;
        TridiagError::check_len("diag", self.diag.len(), blocks)?;
        TridiagError::check_len("upper", self.upper.len(), blocks)
    }

    fn addresses(&self) -> Coefficients {
        let [lower, diag, upper] = [self.lower, self.diag, self.upper].map(|array| Watch::at(array.ptr()));
        Coefficients { lower, diag, upper }
    }
}

/// A batch's arrays in the layout that an engine reads.
struct Rearranged<S> {
    convert: Convert,
    layout: Layout,
    lower: DeviceBuffer<S>,
    diag: DeviceBuffer<S>,
    upper: DeviceBuffer<S>,
    rhs: DeviceBuffer<S>,
    x: DeviceBuffer<S>,
}

impl<S: Pod> Rearranged<S> {
    fn new(stream: &Stream, shape: Shape, layout: Layout) -> Result<Self, CudaError> {
        let array = |width: usize| DeviceBuffer::uninitialized(stream, shape.systems * shape.rows * width);
        Ok(Self {
            convert: Convert::new(stream, shape, c_type::<S>())?,
            layout,
            lower: array(shape.block())?,
            diag: array(shape.block())?,
            upper: array(shape.block())?,
            rhs: array(shape.rank)?,
            x: array(shape.rank)?,
        })
    }
}

/// The kernels of an engine and their work space.
enum Work<P: Precision> {
    One { kernel: Kernel, plan: Plan, factors: DeviceBuffer<P::Sum>, values: DeviceBuffer<P::Sum> },
    Chunks(Level<P::Store, P::Sum>),
}

/// Solves batches of one shape on a GPU; keeps its work space on the device.
///
/// **Precision**: as `P` says; with [`super::Mixed`] factors and intermediate vectors are f64 in memory as well.
pub struct GpuSolver<P: Precision> {
    shape: Shape,
    layout: Layout,
    options: GpuOptions,
    work: Work<P>,
    rearranged: Option<Rearranged<P::Store>>,
    bad: DeviceBuffer<i32>,
}

/// Refuses what no kernel is made for.
fn check_shape(shape: Shape, layout: Layout) -> Result<(), TridiagError> {
    if !(1..=MAX_GPU_RANK).contains(&shape.rank) {
        let (what, remedy) = ("blocks of this rank", "the CPU, or rank 1 to 16");
        return Err(TridiagError::Unsupported { method: "the GPU", what, remedy });
    }
    if shape.rows == 0 {
        return Err(TridiagError::NoRows);
    }
    if let Layout::Strided { .. } = layout {
        let (what, remedy) = ("strided arrays", "the CPU, or another layout");
        return Err(TridiagError::Unsupported { method: "the GPU", what, remedy });
    }
    layout.len(shape, shape.block())?;
    let fits = |number: usize| i32::try_from(number).is_ok();
    let fine = fits(shape.systems) && fits(shape.rows.saturating_mul(shape.block()));
    if fine { Ok(()) } else { Err(TridiagError::TooLarge { shape }) }
}

impl<P: Precision> GpuSolver<P>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    /// A solver for batches of this shape and layout on the device of `stream`.
    ///
    /// # Errors
    /// [`TridiagError::Unsupported`] for ranks above [`MAX_GPU_RANK`] and for what the engine asked for does not do;
    /// [`CudaError`].
    pub fn new(
        stream: &Stream,
        shape: Shape,
        layout: Layout,
        options: impl Into<GpuOptions>,
    ) -> Result<Self, GpuTridiagError> {
        check_shape(shape, layout)?;
        let mut options = options.into();
        let sizes = [size_of::<P::Store>(), size_of::<P::Sum>()];
        if options.engine == GpuEngine::Auto {
            options.engine = GpuEngine::choose(shape, Some(layout), options.periodic, sizes[1]);
        }
        let (engine, one_type) = (options.engine, sizes[0] == sizes[1]);
        if options.periodic && engine != GpuEngine::Chunks {
            let (what, remedy) = ("periodic lines", "chunks");
            return Err(TridiagError::Unsupported { method: engine.name(), what, remedy }.into());
        }
        let plan = Plan::new(engine, shape, sizes)?;
        let rearranged = (layout != engine.layout()).then(|| Rearranged::new(stream, shape, engine.layout()));
        let rearranged = rearranged.transpose()?;
        // Rearranged coefficients are this solver's own: factors may always replace them.
        let apart = !one_type || !options.destroy && rearranged.is_none();
        let work = if engine == GpuEngine::Chunks {
            let keep = if apart { Keep::Apart } else { Keep::Nothing };
            Work::Chunks(Level::new(stream, shape, options.periodic, keep, &chunks::cut)?)
        } else {
            let (source, entry) = plan.source(shape.rank, [c_type::<P::Store>(), c_type::<P::Sum>()]);
            let kernel = stream.gpu().module(&source)?.kernel(entry)?;
            kernel.allow_shared(plan.shared)?;
            let rows = if engine == GpuEngine::Thomas { shape.systems * shape.rows } else { 0 };
            let array = |wanted: bool, width| {
                DeviceBuffer::uninitialized(stream, if wanted { rows * width } else { 0 })
            };
            let (factors, values) = (array(apart, shape.block())?, array(!one_type, shape.rank)?);
            Work::One { kernel, plan, factors, values }
        };
        let bad = DeviceBuffer::from_slice(stream, &[i32::MAX])?;
        Ok(Self { shape, layout, options, work, rearranged, bad })
    }

    /// The engine in use.
    pub fn engine(&self) -> GpuEngine {
        self.options.engine
    }

    /// Enqueues the solve of every system, the coefficients kept: nothing is allocated, nothing waits, so that it can be
    /// captured in a graph.
    ///
    /// # Errors
    /// [`TridiagError::Length`], [`TridiagError::Unsupported`] for a solver that may destroy coefficients, [`CudaError`].
    pub fn solve(
        &mut self,
        stream: &Stream,
        batch: &GpuBatch<'_, P::Store>,
        rhs: &DeviceBuffer<P::Store>,
        x: &mut DeviceBuffer<P::Store>,
    ) -> Result<(), GpuTridiagError> {
        if self.options.destroy {
            let (what, remedy) =
                ("keeping the coefficients", "solve_in_place, or a solver without `destroy`");
            return Err(
                TridiagError::Unsupported { method: "a solver that may destroy", what, remedy }.into()
            );
        }
        self.enqueue(stream, batch, rhs, x)
    }

    /// The same; a solver made with [`GpuOptions::destroy`] leaves unspecified numbers in the coefficients.
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn solve_in_place(
        &mut self,
        stream: &Stream,
        [lower, diag, upper]: [&mut DeviceBuffer<P::Store>; 3],
        rhs: &DeviceBuffer<P::Store>,
        x: &mut DeviceBuffer<P::Store>,
    ) -> Result<(), GpuTridiagError> {
        self.enqueue(stream, &GpuBatch { lower, diag, upper }, rhs, x)
    }

    fn enqueue(
        &mut self,
        stream: &Stream,
        batch: &GpuBatch<'_, P::Store>,
        rhs: &DeviceBuffer<P::Store>,
        x: &mut DeviceBuffer<P::Store>,
    ) -> Result<(), GpuTridiagError> {
        let (shape, layout) = (self.shape, self.layout);
        batch.check(shape, layout)?;
        let vectors = layout.len(shape, shape.rank)?;
        TridiagError::check_len("rhs", rhs.len(), vectors)?;
        TridiagError::check_len("x", x.len(), vectors)?;
        if shape.systems == 0 {
            return Ok(());
        }
        let Some(own) = &self.rearranged else {
            return Ok(self.launch(stream, batch.addresses(), rhs.ptr(), x.ptr())?);
        };
        let (block, vector) = (shape.rows * shape.block(), shape.rows * shape.rank);
        for (inner, from, to) in [
            (block, batch.lower, &own.lower),
            (block, batch.diag, &own.diag),
            (block, batch.upper, &own.upper),
            (vector, rhs, &own.rhs),
        ] {
            own.convert.enqueue(stream, inner, (from, layout), (to, own.layout))?;
        }
        let inside = GpuBatch { lower: &own.lower, diag: &own.diag, upper: &own.upper };
        self.launch(stream, inside.addresses(), own.rhs.ptr(), own.x.ptr())?;
        own.convert.enqueue(stream, vector, (&own.x, own.layout), (x, layout))?;
        Ok(())
    }

    /// Launches the engine's kernels on arrays in its own layout.
    fn launch(&self, stream: &Stream, given: Coefficients, rhs: u64, x: u64) -> Result<(), CudaError> {
        let (rows, systems) = (self.shape.rows as i32, self.shape.systems as i32);
        let (kernel, plan, factors, values) = match &self.work {
            // SAFETY: the arrays have this shape (checked by the caller, or allocated for it), in the stream's order.
            Work::Chunks(level) => return unsafe { level.solve(stream, given, rhs, x, &self.bad) },
            Work::One { kernel, plan, factors, values } => (kernel, plan, factors, values),
        };
        let launch = kernel.launch(plan.blocks, plan.threads).shared(plan.shared);
        let [lower, diag, upper, rhs] =
            [given.lower.address(), given.diag.address(), given.upper.address(), rhs].map(Read::at);
        let (out, bad) = (Share::at(x), (&self.bad).into());
        let launch = if plan.engine == GpuEngine::Thomas {
            let factors = if factors.is_empty() { given.upper.address() } else { factors.ptr() };
            let values = if values.is_empty() { x } else { values.ptr() };
            let (upper, factors, values) = (given.upper, Share::at(factors), Share::at(values));
            launch.record(&Thomas { lower, diag, upper, rhs, factors, values, x: out, rows, systems, bad })
        } else {
            launch.record(&WholeLines { lower, diag, upper, rhs, x: out, rows, systems, bad })
        };
        // SAFETY: the record is that of the engine's entry; the arrays have this shape (checked by the caller, or
        // allocated for it), in the stream's order; without factors of its own, C may be overwritten.
        unsafe { launch.enqueue(stream) }
    }

    /// Waits for the solves so far and says how they ended; a breakdown is looked up on the host, from the data of the
    /// last solve. Where these were destroyed, the row is the first whose solution is not finite.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn outcome(
        &mut self,
        batch: &GpuBatch<'_, P::Store>,
        rhs: &DeviceBuffer<P::Store>,
        x: &DeviceBuffer<P::Store>,
    ) -> Result<LineOutcome, GpuTridiagError> {
        let Some(first) = take_bad(&mut self.bad)? else { return Ok(LineOutcome::Solved) };
        let x = x.download()?;
        if self.options.destroy {
            return Ok(first_bad_row::<P>(self.shape, self.layout, self.shape.rank, &x, first));
        }
        let (lower, diag, upper) = (batch.lower.download()?, batch.diag.download()?, batch.upper.download()?);
        let mut host = Batch::new(self.shape, self.layout, &lower, &diag, &upper)?;
        host.periodic = self.options.periodic;
        Ok(diagnose::<P>(&host, &rhs.download()?, &x, first))
    }
}

/// The system that kernels have named, if any.
fn take_bad(bad: &mut DeviceBuffer<i32>) -> Result<Option<usize>, CudaError> {
    let first = bad.download()?[0];
    if first == i32::MAX {
        return Ok(None);
    }
    bad.upload(&[i32::MAX])?;
    Ok(Some(first as usize))
}

/// The first row of `system` that is not finite, with `width` numbers a row.
fn first_bad_row<P: Precision>(
    shape: Shape,
    layout: Layout,
    width: usize,
    x: &[P::Store],
    system: usize,
) -> LineOutcome {
    use super::Real;
    let fine =
        |row: usize| (0..width).all(|e| x[layout.index(shape, width, system, row, e)].to_f64().is_finite());
    let row = (0..shape.rows).find(|&row| !fine(row)).unwrap_or(0);
    LineOutcome::Breakdown { system, row }
}
