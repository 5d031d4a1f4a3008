#![allow(unsafe_code)]
//! Block ILU(0) of 7-point stencils on a GPU: many grid blocks in one go, vectors and factors stay on the device.
//!
//! | [`GpuIluEngine`] | a kernel is | a thread owns |
//! |---|---|---|
//! | `acc` | one stage of one hyperplane (Alg. 4, 6) | an element of a block, or of a vector |
//! | `cl` | one hyperplane (Alg. 8 to 10), nb up to 32 | an element of a block |
//! | `cuda` | a whole pass | a row or two of a cell's blocks, for large ones part of a tile of 8 x 8; cells wait for their own neighbors |
//!
//! Only `cuda` has the pivot guard; the others eliminate without pivoting and report blocks whose inverse is not finite.
//!
//! The residual (Alg. 7) has no order and is one kernel for all of them.
//!
//! **Source**: Luo, Edwards, Luo, Mueller, *A fine-grained block ILU scheme on regular structures for GPGPUs* (2015).

mod pencil;
mod stencil;
#[cfg(test)]
mod tests;
mod wavefront;

pub use pencil::{Pencil, PencilKernel};
pub use stencil::DeviceStencil;

use super::{
    CellAt, CorrectionReport, CorrectionSteps, SingularCell, StructuredIluOptions, StructuredIluReport,
};
use crate::Outcome;
use crate::factor::{FINDINGS, PIVOTED};
use crate::gpu::{GpuError, Storage, Vectors, source};
use crate::sparse::{ShapeError, check_len};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream, Write};
use chromaflow_device::{kernel_arguments, kernel_record};
use pencil::Pencils;
use std::str::FromStr;
use std::sync::Arc;
use stencil::Grids;
use wavefront::Wavefront;

/// The largest block size of the kernels.
pub const MAX_GPU_NB: usize = 64;

/// Who schedules, and how fine the work of a kernel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GpuIluEngine {
    /// The fastest that takes the block size.
    #[default]
    Auto,
    /// A kernel a stage and hyperplane.
    Acc,
    /// A kernel a hyperplane.
    Cl,
    /// A kernel a pass, the schedule on the device.
    Cuda,
}

impl GpuIluEngine {
    /// The engines by name.
    pub const ALL: [GpuIluEngine; 4] =
        [GpuIluEngine::Auto, GpuIluEngine::Acc, GpuIluEngine::Cl, GpuIluEngine::Cuda];

    /// The name on command lines and in results.
    pub fn name(self) -> &'static str {
        match self {
            GpuIluEngine::Auto => "auto",
            GpuIluEngine::Acc => "acc",
            GpuIluEngine::Cl => "cl",
            GpuIluEngine::Cuda => "cuda",
        }
    }

    /// The largest block size it takes.
    pub fn largest_nb(self) -> usize {
        match self {
            GpuIluEngine::Auto | GpuIluEngine::Acc => MAX_GPU_NB,
            GpuIluEngine::Cl | GpuIluEngine::Cuda => 32,
        }
    }

    fn choose(self, nb: usize) -> Self {
        match self {
            GpuIluEngine::Auto if nb <= 32 => GpuIluEngine::Cuda,
            GpuIluEngine::Auto => GpuIluEngine::Acc,
            other => other,
        }
    }
}

impl FromStr for GpuIluEngine {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let found = GpuIluEngine::ALL.into_iter().find(|e| e.name() == s);
        found.ok_or_else(|| format!("engine {s}: expected auto, acc, cl or cuda"))
    }
}

/// A factorization on the device of one or many 7-point matrices of one block size.
///
/// Work is enqueued on the stream; nothing waits but [`Self::report`] and [`Self::correct`], so that a factorization and a
/// solve can be captured in a graph.
///
/// **Shapes**: vectors are `[cells, nb]`, the cells of all grid blocks one behind the other as in [`DeviceStencil`].
///
/// **Precision**: sums, diagonal blocks and vectors f64; couplings as [`StructuredIluOptions::storage`] says (engine `cuda`; else f64). **Twin**: [`StructuredIlu`](super::StructuredIlu).
pub struct DeviceStructuredIlu {
    grids: Arc<Grids>,
    nb: usize,
    options: StructuredIluOptions,
    engine: GpuIluEngine,
    stream: Stream,
    vectors: Vectors,
    /// Inverted diagonal blocks, `[cells, nb, nb]`.
    inverse: DeviceBuffer<f64>,
    findings: DeviceBuffer<u32>,
    schedule: Schedule,
    residual: Kernel,
    grid_table: DeviceBuffer<u32>,
    /// Partial sums, and the norms of correction steps behind them.
    sums: DeviceBuffer<f64>,
    narrow: Option<Narrow>,
    steps: Option<[DeviceBuffer<f64>; 2]>,
}

/// Copies of the couplings with lower and with upper neighbors in less than f64.
struct Narrow {
    kernel: Kernel,
    couplings: [DeviceBuffer<u8>; 2],
}

enum Schedule {
    Wavefront(Wavefront),
    Pencils(Box<Pencils>),
}

kernel_record! {
    /// Cells of all grid blocks: first cell and cells of each.
    struct CellsOfBlocks { cells: u32, blocks: u32, grids: Read<[u32; 4]> }
    struct NarrowCouplings {
        all: CellsOfBlocks, lower: Read<f64>, upper: Read<f64>, narrow_lower: Write<u8>,
        narrow_upper: Write<u8>,
    }

    struct ResidualOfStencil {
        all: CellsOfBlocks, diag: Read<f64>, lower: Read<f64>, upper: Read<f64>, b: Read<f64>, x: Read<f64>,
        r: Write<f64>,
    }
}

/// Norms that correction steps keep on the device before they are fetched.
const NORMS: usize = 256;

/// Source of a kernel file for a block size.
fn kernel_source(name: &'static str, text: &str, nb: usize) -> KernelSource {
    source(name, text, Storage::F64).define("NB", nb)
}

fn residual_source(nb: usize) -> KernelSource {
    let text = concat!(include_str!("place.cuh"), "\n#line 1 \"residual.cu\"\n", include_str!("residual.cu"));
    kernel_source("stencil_residual", text, nb).record::<ResidualOfStencil>()
}

fn narrow_source(nb: usize, storage: Storage) -> KernelSource {
    let text = concat!(
        include_str!("couplings.cuh"),
        include_str!("place.cuh"),
        "\n#line 1 \"narrow.cu\"\n",
        include_str!("narrow.cu")
    );
    let source = kernel_source("stencil_narrow", text, nb).record::<NarrowCouplings>();
    source.define("Q", nb * nb).define("FACTORS", storage as u32)
}

/// Sources of the kernels for a block size, for building ahead; with those of all tiles that tuning tries.
pub fn kernel_sources(nb: usize, candidates: bool) -> Vec<KernelSource> {
    if nb > MAX_GPU_NB {
        return Vec::new();
    }
    let mut all = vec![residual_source(nb), wavefront::wavefront_source(nb)];
    if nb <= GpuIluEngine::Cuda.largest_nb() {
        all.extend(pencil::pencil_sources(nb, candidates));
        all.extend([Storage::F32, Storage::F16].map(|storage| narrow_source(nb, storage)));
    }
    all
}

impl DeviceStructuredIlu {
    /// Storage and schedule for grid blocks of `dims` cells.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a block size outside 1..=128, [`GpuError::Unsupported`] for one that the engine has no
    /// kernels for, [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        dims: &[[usize; 3]],
        nb: usize,
        options: StructuredIluOptions,
        engine: GpuIluEngine,
    ) -> Result<Self, GpuError> {
        Self::with_pencils(stream, dims, nb, options, engine, None)
    }

    /// The same with given tiles of the factorization and of the passes, for engine `cuda`: what tuning needs.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_pencils(
        stream: &Stream,
        dims: &[[usize; 3]],
        nb: usize,
        options: StructuredIluOptions,
        engine: GpuIluEngine,
        pencils: Option<[Pencil; 2]>,
    ) -> Result<Self, GpuError> {
        crate::sparse::check_nb(nb)?;
        crate::sparse::check_factors(options.storage)?;
        if nb > engine.largest_nb() {
            return Err(GpuError::Unsupported(format!(
                "engine {} takes blocks up to {}, not {nb}: take acc (up to {MAX_GPU_NB}) or the CPU",
                engine.name(),
                engine.largest_nb()
            )));
        }
        let grids = Arc::new(Grids::new(dims)?);
        let engine = engine.choose(nb);
        let narrow = if options.storage == Storage::F64 {
            None
        } else if engine == GpuIluEngine::Cuda {
            let bytes = grids.cells() * pencil::coupling_bytes(nb, options.storage);
            let room = || DeviceBuffer::uninitialized(stream, bytes);
            let module = stream.gpu().module(&narrow_source(nb, options.storage))?;
            Some(Narrow { kernel: module.kernel("stencil_narrow")?, couplings: [room()?, room()?] })
        } else {
            return Err(GpuError::Unsupported(format!(
                "engine {} has factors in f64, not in {:?}: take cuda (blocks up to {}) or the CPU",
                engine.name(),
                options.storage,
                GpuIluEngine::Cuda.largest_nb()
            )));
        };
        let schedule = if engine == GpuIluEngine::Cuda {
            Schedule::Pencils(Box::new(Pencils::new(stream, &grids, nb, options.storage, pencils)?))
        } else {
            Schedule::Wavefront(Wavefront::new(stream, &grids, nb)?)
        };
        let vectors = Vectors::new(stream, Storage::F64)?;
        let table: Vec<u32> = dims
            .iter()
            .zip(&grids.first)
            .flat_map(|(d, &first)| [first as u32, d[0] as u32, d[1] as u32, d[2] as u32])
            .collect();
        let residual = residual_source(nb);
        Ok(Self {
            nb,
            options,
            engine,
            schedule,
            inverse: DeviceBuffer::uninitialized(stream, grids.cells() * nb * nb)?,
            findings: DeviceBuffer::zeroed(stream, FINDINGS)?,
            residual: stream.gpu().module(&residual)?.kernel("stencil_residual")?,
            grid_table: stream.upload(&table)?,
            sums: DeviceBuffer::zeroed(stream, vectors.partials() + NORMS)?,
            narrow,
            steps: None,
            stream: stream.clone(),
            vectors,
            grids,
        })
    }

    /// The engine in use.
    pub fn engine(&self) -> GpuIluEngine {
        self.engine
    }

    /// Inverted diagonal blocks, `[cells, nb, nb]`, column-major.
    pub fn inverse(&self) -> &DeviceBuffer<f64> {
        &self.inverse
    }

    /// The tiles of the factorization and of the passes, for engine `cuda`.
    pub fn pencils(&self) -> Option<[Pencil; 2]> {
        match &self.schedule {
            Schedule::Wavefront(_) => None,
            Schedule::Pencils(p) => Some(p.pencils()),
        }
    }

    fn check(&self, a: &DeviceStencil) -> Result<(), ShapeError> {
        check_len("block size", a.nb(), self.nb, || "that of the factorization".to_owned())?;
        let same = usize::from(a.grids().dims == self.grids.dims);
        check_len("matrix", same * a.cells(), self.grids.cells(), || {
            format!("cells of grid blocks of {:?}", self.grids.dims)
        })
    }

    fn check_vector(&self, what: &'static str, v: &DeviceBuffer<f64>) -> Result<(), ShapeError> {
        check_len(what, v.len(), self.grids.cells() * self.nb, || "cells * nb".to_owned())
    }

    /// Enqueues the numeric phase.
    ///
    /// # Errors
    /// [`GpuError::Shape`] when the matrix has other grid blocks, [`GpuError::Cuda`]. What the factorization found is said
    /// by [`Self::report`].
    pub fn factor(&mut self, a: &DeviceStencil) -> Result<(), GpuError> {
        self.check(a)?;
        self.findings.fill_bytes_of(0..1, 0xff)?;
        self.findings.fill_bytes_of(1..4, 0)?;
        match &self.schedule {
            Schedule::Wavefront(w) => {
                w.factor(self.engine, a, self.options.shift, &self.inverse, &self.findings)
            }
            Schedule::Pencils(p) => p.factor(a, self.options, &self.inverse, &self.findings),
        }?;
        if let Some(Narrow { kernel, couplings: [narrow_lower, narrow_upper] }) = &self.narrow {
            let (all, lower, upper) = (self.cells(), &a.lower, &a.upper);
            let arguments =
                kernel_arguments!(NarrowCouplings { all, lower, upper, narrow_lower, narrow_upper });
            let launch = kernel.launch(8 * self.stream.gpu().facts().multiprocessors, 256);
            // SAFETY: `a` has the blocks of all cells (checked above), and the copies have room for theirs; a warp takes cells in turn.
            unsafe { launch.record(&arguments).enqueue(&self.stream)? };
        }
        Ok(())
    }

    fn cells(&self) -> CellsOfBlocks {
        let Grids { dims, .. } = &*self.grids;
        let (cells, blocks) = (self.grids.cells() as u32, dims.len() as u32);
        CellsOfBlocks { cells, blocks, grids: (&self.grid_table).into() }
    }

    /// Waits for the factorization and says what it had to do, or which cell has a singular block (the factors are not usable
    /// then).
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn report(&self) -> Result<Result<StructuredIluReport, SingularCell>, GpuError> {
        let found = self.findings.download()?;
        let place = |cell: u32| {
            let block = self.grids.first.partition_point(|&first| first <= cell as usize) - 1;
            CellAt { block, cell: cell as usize - self.grids.first[block] }
        };
        if found[0] != u32::MAX {
            return Ok(Err(SingularCell { at: place(found[0]) }));
        }
        let shifted = f64::from_bits(u64::from(found[2]) | u64::from(found[3]) << 32);
        let count = (found[1] as usize).min(PIVOTED);
        let mut pivoted: Vec<CellAt> = found[4..4 + count].iter().map(|&cell| place(cell)).collect();
        pivoted.sort_unstable();
        Ok(Ok(StructuredIluReport { pivoted, shifted }))
    }

    /// Enqueues x = M^-1 b.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn solve(
        &mut self,
        a: &DeviceStencil,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        self.check(a)?;
        self.check_vector("b", b)?;
        self.check_vector("x", x)?;
        match &self.schedule {
            Schedule::Wavefront(w) => w.solve(self.engine, a, &self.inverse, b, x),
            Schedule::Pencils(p) => {
                let own = [&a.lower, &a.upper].map(|c| Read::at(c.ptr()));
                let couplings = self.narrow.as_ref().map_or(own, |n| n.couplings.each_ref().map(Read::from));
                p.solve(couplings, &self.inverse, b, x)
            }
        }
    }

    /// Enqueues r = b - A x.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn residual(
        &self,
        a: &DeviceStencil,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        self.check(a)?;
        self.check_vector("b", b)?;
        self.check_vector("x", x)?;
        self.check_vector("r", r)?;
        let rows = if self.nb.is_multiple_of(2) { self.nb / 2 } else { self.nb };
        let columns = if rows * self.nb <= 512 { self.nb } else { 512 / rows };
        let cells = if rows * columns > 128 { 1 } else { 256 / (rows * columns) };
        let (all, DeviceStencil { diag, lower, upper, .. }) = (self.cells(), a);
        let arguments = kernel_arguments!(ResidualOfStencil { all, diag, lower, upper, b, x, r });
        let launch = self.residual.launch(self.grids.cells().div_ceil(cells), cells * rows * columns);
        // SAFETY: the launch shape is the kernel's own; all arrays have the blocks or rows of all cells (checked above).
        Ok(unsafe { launch.record(&arguments).enqueue(&self.stream) }?)
    }

    /// Enqueues the sum of squares of `v` into norm number `slot`.
    fn square(&mut self, v: &DeviceBuffer<f64>, slot: usize) -> Result<(), GpuError> {
        let at = self.vectors.partials() + slot;
        self.vectors.dot_into(v, v, &self.sums, at)
    }

    fn norms(&self) -> Result<Vec<f64>, GpuError> {
        let all = self.sums.download()?;
        Ok(all[self.vectors.partials()..].iter().map(|v| v.sqrt()).collect())
    }

    /// Correction steps `x <- x + M^-1 (b - A x)` from the given x. `exchange` sees x and the residuals of all grid blocks
    /// before each step, and may enqueue what blocks have from one another.
    ///
    /// Without a tolerance nothing waits before the last step.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`], what `exchange` returns.
    pub fn correct(
        &mut self,
        a: &DeviceStencil,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        until: CorrectionSteps,
        mut exchange: impl FnMut(&DeviceBuffer<f64>, &mut DeviceBuffer<f64>) -> Result<(), GpuError>,
    ) -> Result<CorrectionReport, GpuError> {
        self.check_vector("b", b)?;
        self.check_vector("x", x)?;
        let [mut residual, mut update] = if let Some(work) = self.steps.take() {
            work
        } else {
            let room = || DeviceBuffer::uninitialized(&self.stream, b.len());
            [room()?, room()?]
        };
        // Norm 0 is that of b, those of the residuals follow.
        self.square(b, 0)?;
        let (mut history, mut waiting) = (Vec::new(), 0);
        let mut outcome = Outcome::IterationLimit;
        let mut steps = 0;
        loop {
            let last = steps == until.steps;
            if !(last && until.tolerance.is_none()) {
                self.residual(a, b, x, &mut residual)?;
                exchange(x, &mut residual)?;
                waiting += 1;
                self.square(&residual, waiting)?;
            }
            if last || until.tolerance.is_some() || waiting + 1 == NORMS {
                let norms = self.norms()?;
                let scale = if norms[0] > 0.0 { norms[0] } else { 1.0 };
                history.extend(norms[1..=waiting].iter().map(|n| n / scale));
                waiting = 0;
            }
            if let Some(iteration) = history.iter().position(|r| !r.is_finite()) {
                outcome = Outcome::Diverged { iteration };
                break;
            }
            if until.tolerance.is_some_and(|tolerance| history.last().is_some_and(|&r| r <= tolerance)) {
                outcome = Outcome::Converged;
                break;
            }
            if last {
                break;
            }
            self.solve(a, &residual, &mut update)?;
            self.vectors.axpby(1.0, &update, 1.0, x)?;
            steps += 1;
        }
        self.steps = Some([residual, update]);
        Ok(CorrectionReport { outcome, steps, history })
    }
}
