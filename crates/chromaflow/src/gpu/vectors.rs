#![allow(unsafe_code)]
//! Vectors on the device.

use super::arguments::{
    AddNorm, AddPartials, Axpby, BeginNorms, Combine, Dot, Fill, FillF32, FillF64, FromX, GlobalScale,
    Largest, ManyDots, Narrow, NarrowRows, PlainResidual, PlainSolve, ReadAll, RowScales, ToX,
};
use super::{GpuError, Storage, source};
use chromaflow_device::cuda::{
    DeviceBuffer, DeviceSlice, Kernel, KernelSource, Module, Read, Record, Stream, Write,
};
use chromaflow_device::{kernel_arguments, kernels};
use std::ops::Range;
use std::sync::Arc;

const TEXT: &str = include_str!("vector.cu");
const THREADS: usize = 256;

pub(super) fn vector_source(storage: Storage) -> KernelSource {
    source("vector", TEXT, storage)
        .records::<Sums>()
        .records::<(ToX, FromX, Axpby, ManyDots, Combine, BeginNorms, AddNorm, Largest)>()
        .records::<(GlobalScale, RowScales, Narrow, NarrowRows, PlainResidual, PlainSolve)>()
        .records::<(FillF32, FillF64, ReadAll)>()
}

kernels! {
    struct Sums { dot: Dot, add_partials: AddPartials }
}

/// Vector operations in the order of a stream. Sums are added in a fixed order: the same bits on every run.
///
/// **Twin**: [`crate::vector`].
#[derive(Clone, Debug)]
pub struct Vectors {
    stream: Stream,
    module: Arc<Module>,
    sums: Sums,
    storage: Storage,
    blocks: usize,
}

impl Vectors {
    /// Operations with x in the type that goes with `storage` (f64 for `d`, f32 otherwise).
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, storage: Storage) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&vector_source(storage))?;
        let (sums, blocks) = (Sums::of(&module)?, 8 * stream.gpu().facts().multiprocessors);
        Ok(Self { stream: stream.clone(), module, sums, storage, blocks })
    }

    /// The source of these kernels.
    pub fn kernel_source(storage: Storage) -> KernelSource {
        vector_source(storage)
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// An entry of `vector.cu`.
    pub(crate) fn kernel(&self, name: &str) -> Result<Kernel, GpuError> {
        Ok(self.module.kernel(name)?)
    }

    /// Runs an entry over `n` items, with a loop over the grid.
    ///
    /// # Safety
    /// As [`Launch::enqueue`](chromaflow_device::cuda::Launch::enqueue).
    pub(crate) unsafe fn run(&self, name: &str, n: usize, arguments: &impl Record) -> Result<(), GpuError> {
        let kernel = self.kernel(name)?;
        let launch = kernel.launch(n.div_ceil(THREADS).min(self.blocks), THREADS).record(arguments);
        // SAFETY: the caller's promise.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }

    /// Number of partial sums [`Self::dot`] makes at most.
    pub fn partials(&self) -> usize {
        self.blocks
    }

    /// y = alpha x + beta y; with a beta of zero y may hold anything.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]; lengths must agree.
    pub fn axpby(
        &self,
        alpha: f64,
        x: &DeviceBuffer<f64>,
        beta: f64,
        y: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let all = 0..y.len();
        self.axpby_part(alpha, &x.slice(), beta, (y, all))
    }

    /// The same with a part of a vector, and of y the part in a range.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]; lengths must agree.
    ///
    /// # Panics
    /// When the range lies outside of y.
    pub fn axpby_part(
        &self,
        alpha: f64,
        x: &DeviceSlice<'_, f64>,
        beta: f64,
        (y, part): (&mut DeviceBuffer<f64>, Range<usize>),
    ) -> Result<(), GpuError> {
        let y = y.part(part);
        same(y.len(), x.len())?;
        let arguments = kernel_arguments!(Axpby { n: x.len() as u64, alpha, x, beta, y });
        // SAFETY: both hold `len` values.
        unsafe { self.run("axpby", x.len(), &arguments) }
    }

    /// x . y, added in a fixed order; `work` holds [`Self::partials`] + 1 values.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]; lengths must agree.
    pub fn dot(
        &self,
        x: &DeviceBuffer<f64>,
        y: &DeviceBuffer<f64>,
        work: &mut DeviceBuffer<f64>,
    ) -> Result<f64, GpuError> {
        Ok(self.dots([(x, y)], work)?[0])
    }

    /// Several inner products with one answer from the device; `work` holds [`Self::partials`] values and one more for each.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]; lengths must agree.
    ///
    /// # Panics
    /// When `work` is shorter.
    pub fn dots<const N: usize>(
        &self,
        pairs: [(&DeviceBuffer<f64>, &DeviceBuffer<f64>); N],
        work: &mut DeviceBuffer<f64>,
    ) -> Result<[f64; N], GpuError> {
        let results = work.len().checked_sub(N).filter(|&w| w >= self.blocks).expect("room for the sums");
        for (i, (x, y)) in pairs.into_iter().enumerate() {
            self.dot_into(x, y, work, results + i)?;
        }
        let mut sums = [0.0; N];
        work.download_part_into(results..results + N, &mut sums)?;
        Ok(sums)
    }

    /// Enqueues partial sums of x . y, one a thread block of at most `partials.len()` and `most`; how many.
    pub(crate) fn partial_sums(
        &self,
        x: &DeviceBuffer<f64>,
        y: &DeviceBuffer<f64>,
        partials: &DeviceBuffer<f64>,
        most: usize,
    ) -> Result<usize, GpuError> {
        same(x.len(), y.len())?;
        let blocks = x.len().div_ceil(THREADS).clamp(1, most.min(partials.len()));
        let arguments = kernel_arguments!(Dot { n: x.len() as u64, x, y, partials });
        // SAFETY: both hold `n` values; there is a partial sum for every thread block.
        unsafe { self.sums.dot.launch(blocks, THREADS).record(&arguments).enqueue(&self.stream)? };
        Ok(blocks)
    }

    /// Enqueues x . y into `work[at]`, behind [`Self::partials`] values that it changes.
    pub(crate) fn dot_into(
        &self,
        x: &DeviceBuffer<f64>,
        y: &DeviceBuffer<f64>,
        work: &DeviceBuffer<f64>,
        at: usize,
    ) -> Result<(), GpuError> {
        let n = self.partial_sums(x, y, work, self.blocks)? as u32;
        let arguments = kernel_arguments!(AddPartials { n, partials: work, to: work.part(at..at + 1) });
        // SAFETY: `work` begins with `n` partial sums; the result lies behind them.
        Ok(unsafe { self.sums.add_partials.launch(1, THREADS).record(&arguments).enqueue(&self.stream) }?)
    }

    /// Between f64 and x, an array of the type of x.
    ///
    /// # Safety
    /// Both hold `n` values.
    pub(crate) unsafe fn round_x(&self, n: usize, from: Read<f64>, x: u64) -> Result<(), GpuError> {
        let arguments = kernel_arguments!(ToX { n: n as u64, from, to: Write::at(x) });
        // SAFETY: the caller's promise.
        unsafe { self.run("to_x", n, &arguments) }
    }

    /// The way back.
    ///
    /// # Safety
    /// Both hold `n` values.
    pub(crate) unsafe fn widen_x(&self, n: usize, x: u64, to: Write<f64>) -> Result<(), GpuError> {
        let arguments = kernel_arguments!(FromX { n: n as u64, from: Read::at(x), to });
        // SAFETY: the caller's promise.
        unsafe { self.run("from_x", n, &arguments) }
    }

    /// That x is in f32.
    fn check_f32(&self) -> Result<(), GpuError> {
        let what = || GpuError::Unsupported("vectors of storage d are not rounded".to_owned());
        (self.storage != Storage::F64).then_some(()).ok_or_else(what)
    }

    /// Rounds to f32.
    ///
    /// # Errors
    /// [`GpuError::Unsupported`] for vectors of storage `d`, [`GpuError::Cuda`]; lengths must agree.
    pub fn to_f32(&self, from: &DeviceBuffer<f64>, to: &mut DeviceBuffer<f32>) -> Result<(), GpuError> {
        same(to.len(), from.len())?;
        self.check_f32()?;
        // SAFETY: both hold `len` values, x in f32.
        unsafe { self.round_x(from.len(), from.into(), to.ptr()) }
    }

    /// Widens to f64.
    ///
    /// # Errors
    /// As [`Self::to_f32`].
    pub fn to_f64(&self, from: &DeviceBuffer<f32>, to: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        same(to.len(), from.len())?;
        self.check_f32()?;
        // SAFETY: as above.
        unsafe { self.widen_x(from.len(), from.ptr(), to.into()) }
    }

    /// Values that are a pure function of `seed` and the index: `amplitude * [-0.5, 0.5)`, plus `shift` on the diagonals of
    /// blocks of size `nb` (0: none).
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn fill_f64(
        &self,
        to: &mut DeviceBuffer<f64>,
        seed: u64,
        amplitude: f64,
        shift: f64,
        nb: usize,
    ) -> Result<(), GpuError> {
        let (n, fill) = (to.len(), Fill { n: to.len() as u64, seed, amplitude, shift, nb: nb as u32 });
        // SAFETY: `to` holds `len` values.
        unsafe { self.run("fill_f64", n, &kernel_arguments!(FillF64 { fill, to })) }
    }

    /// The same in f32.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn fill_f32(&self, to: &mut DeviceBuffer<f32>, seed: u64, amplitude: f64) -> Result<(), GpuError> {
        let (n, fill) = (to.len(), Fill { n: to.len() as u64, seed, amplitude, shift: 0.0, nb: 0 });
        // SAFETY: `to` holds `len` values.
        unsafe { self.run("fill_f32", n, &kernel_arguments!(FillF32 { fill, to })) }
    }

    /// The bandwidth at which `data` is read with 16-byte loads, in GB/s: the ceiling of kernels that mostly read.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn read_bandwidth(&self, data: &DeviceBuffer<f32>, repeats: usize) -> Result<f64, GpuError> {
        let kernel = self.kernel("read_all")?;
        let sink = DeviceBuffer::<u32>::zeroed(&self.stream, 1)?;
        let n = data.bytes() / 16;
        let arguments = ReadAll { n16: n as u64, data: Read::at(data.ptr()), sink: (&sink).into() };
        let launch = kernel.launch(4 * self.stream.gpu().facts().multiprocessors, 512).record(&arguments);
        // SAFETY: reads n vectors of 16 bytes of `data`, and writes at most one word of `sink`.
        let ms = self.stream.time(repeats, || unsafe { launch.clone().enqueue(&self.stream) })?;
        Ok(16.0 * n as f64 / ms * 1e-6)
    }
}

fn same(x: usize, y: usize) -> Result<(), GpuError> {
    Ok(crate::sparse::check_len("vector", x, y, || "as long as the other one".to_owned())?)
}
