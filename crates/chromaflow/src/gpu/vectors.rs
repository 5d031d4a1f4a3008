#![allow(unsafe_code)]
//! Vectors on the device.

use super::{GpuError, Storage, source};
use chromaflow_device::cuda::{Arg, DeviceBuffer, DeviceSlice, Kernel, KernelSource, Launch, Module, Stream};
use std::ops::Range;
use std::sync::Arc;

const TEXT: &str = include_str!("vector.cu");
const THREADS: usize = 256;

pub(super) fn vector_source(storage: Storage) -> KernelSource {
    source("vector", TEXT, storage)
}

/// Vector operations in the order of a stream. Sums are added in a fixed order: the same bits on every run.
///
/// **Twin**: [`crate::vector`].
#[derive(Clone, Debug)]
pub struct Vectors {
    stream: Stream,
    module: Arc<Module>,
    blocks: usize,
}

impl Vectors {
    /// Operations with x in the type that goes with `storage` (f64 for `d`, f32 otherwise).
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, storage: Storage) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&vector_source(storage))?;
        Ok(Self { stream: stream.clone(), module, blocks: 8 * stream.gpu().facts().multiprocessors })
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

    /// A launch that covers `n` items with a loop over the grid.
    fn over<'k>(&self, kernel: &'k Kernel, n: usize) -> Launch<'k> {
        kernel.launch(n.div_ceil(THREADS).min(self.blocks), THREADS)
    }

    /// Runs an element-wise entry with `args` behind its first argument(s).
    ///
    /// # Safety
    /// As [`Launch::enqueue`].
    pub(crate) unsafe fn run<const N: usize>(
        &self,
        name: &str,
        n: usize,
        args: [u64; N],
    ) -> Result<(), GpuError> {
        let kernel = self.kernel(name)?;
        let mut launch = self.over(&kernel, n);
        for a in args {
            launch = launch.arg(a);
        }
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
        crate::sparse::check_len("vector", y.len(), x.len(), || "as long as the other one".to_owned())?;
        // SAFETY: both hold `len` values.
        unsafe { self.run("axpby", x.len(), [x.len() as u64, alpha.bits(), x.bits(), beta.bits(), y.bits()]) }
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
        let (dot, add) = (self.kernel("dot")?, self.kernel("add_partials")?);
        for (i, (x, y)) in pairs.into_iter().enumerate() {
            same(x, y)?;
            let n = x.len();
            let blocks = n.div_ceil(THREADS).clamp(1, self.blocks);
            let result = work.part(results + i..results + i + 1);
            // SAFETY: `work` holds `blocks` partial sums and the results at its end.
            unsafe {
                let launch = dot.launch(blocks, THREADS).arg(n as u64).arg(x).arg(y).arg(&*work);
                launch.enqueue(&self.stream)?;
                let launch = add.launch(1, THREADS).arg(blocks as u32).arg(&*work).arg(result);
                launch.enqueue(&self.stream)?;
            }
        }
        let mut sums = [0.0; N];
        work.download_part_into(results..results + N, &mut sums)?;
        Ok(sums)
    }

    /// Rounds to f32.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]; lengths must agree.
    pub fn to_f32(&self, from: &DeviceBuffer<f64>, to: &mut DeviceBuffer<f32>) -> Result<(), GpuError> {
        crate::sparse::check_len("vector", to.len(), from.len(), || "as long as the other one".to_owned())?;
        // SAFETY: both hold `len` values.
        unsafe { self.run("to_f32", from.len(), [from.len() as u64, from.bits(), (&*to).bits()]) }
    }

    /// Widens to f64.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]; lengths must agree.
    pub fn to_f64(&self, from: &DeviceBuffer<f32>, to: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        crate::sparse::check_len("vector", to.len(), from.len(), || "as long as the other one".to_owned())?;
        // SAFETY: both hold `len` values.
        unsafe { self.run("to_f64", from.len(), [from.len() as u64, from.bits(), (&*to).bits()]) }
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
        let args = [to.len() as u64, seed, amplitude.bits(), shift.bits(), nb as u64, (&*to).bits()];
        // SAFETY: `to` holds `len` values.
        unsafe { self.run("fill_f64", to.len(), args) }
    }

    /// The same in f32.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn fill_f32(&self, to: &mut DeviceBuffer<f32>, seed: u64, amplitude: f64) -> Result<(), GpuError> {
        let args = [to.len() as u64, seed, amplitude.bits(), 0f64.bits(), 0, (&*to).bits()];
        // SAFETY: `to` holds `len` values.
        unsafe { self.run("fill_f32", to.len(), args) }
    }

    /// The bandwidth at which `data` is read with 16-byte loads, in GB/s: the ceiling of kernels that mostly read.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn read_bandwidth(&self, data: &DeviceBuffer<f32>, repeats: usize) -> Result<f64, GpuError> {
        let kernel = self.kernel("read_all")?;
        let sink = DeviceBuffer::<u32>::zeroed(&self.stream, 1)?;
        let n = data.bytes() / 16;
        let blocks = 4 * self.stream.gpu().facts().multiprocessors;
        // SAFETY: reads n vectors of 16 bytes of `data`, and writes at most one word of `sink`.
        let ms = self.stream.time(repeats, || unsafe {
            kernel.launch(blocks, 512).arg(n as u64).arg(data).arg(&sink).enqueue(&self.stream)
        })?;
        Ok(16.0 * n as f64 / ms * 1e-6)
    }
}

fn same(x: &DeviceBuffer<f64>, y: &DeviceBuffer<f64>) -> Result<(), GpuError> {
    crate::sparse::check_len("vector", x.len(), y.len(), || "as long as the other one".to_owned())?;
    Ok(())
}
