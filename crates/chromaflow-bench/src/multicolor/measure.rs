//! One measurement: a matrix on the device, checked, then timed.

use super::library::LibraryEngine;
use chromaflow::gpu::{DeviceJacobian, DeviceOff, PlainSweep, Scaling, Storage, Vectors};
use chromaflow::order::{ColoringMethod, Plan, PlanOptions, Rcm};
use chromaflow::relax::{Direction, MulticolorCuda};
use chromaflow::sparse::cuda::Tile;
use chromaflow::{BlockPattern, RowBatches};
use chromaflow_cli::error::{CliError, CliResult};
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use std::sync::Arc;

/// Sweeps of a solve, as FUN3D does in a nonlinear iteration; one graph launch.
pub const SWEEPS: usize = 15;
/// Sweeps of the comparison with the reference.
const CHECKED: usize = 3;
/// The relative difference from the reference up to which a kernel counts as right, for random matrices and for those of a
/// flow, whose diagonal blocks are far from the identity.
const RIGHT: [f64; 2] = [1e-6, 1e-4];

/// A colored pattern.
pub struct Problem {
    pub pattern: Arc<BlockPattern>,
    pub batches: RowBatches,
}

impl Problem {
    /// Orders a pattern as a solve does: reverse Cuthill-McKee (unless it is banded already), colors, colors contiguous.
    pub fn new(
        row_ptr: Vec<u32>,
        col_idx: Vec<u32>,
        banded: bool,
        coloring: ColoringMethod,
    ) -> CliResult<Self> {
        let given = BlockPattern::new(row_ptr.len() - 1, row_ptr, col_idx).map_err(CliError::device)?;
        let plan = Plan::new(
            &given,
            &PlanOptions { rcm: if banded { Rcm::Never } else { Rcm::Always }, coloring, balance: false },
        )
        .map_err(CliError::device)?;
        Ok(Self { pattern: Arc::new(given.permuted(&plan.permutation).0), batches: plan.batches })
    }
}

/// What was measured for one matrix, storage and tile.
#[derive(Clone, Debug)]
pub struct Measured {
    pub storage: Storage,
    pub tile: Tile,
    /// Median milliseconds of a sweep, by device events, within a graph of [`SWEEPS`].
    pub sweep_ms: f64,
    /// Bytes a sweep must move at least.
    pub bytes: usize,
    /// Floating-point operations of a sweep.
    pub flops: usize,
    /// Relative difference from the reference after three sweeps.
    pub error: f64,
    /// Milliseconds to bring the off-diagonal blocks into the kernels' layout.
    pub convert_ms: f64,
    /// Milliseconds to invert the diagonal blocks.
    pub invert_ms: f64,
    /// Milliseconds of a whole solve from b to x in the caller's order, by sweep.
    pub solve_ms: f64,
}

impl Measured {
    /// GB/s over the least bytes.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.sweep_ms * 1e-6
    }

    /// Floating-point operations by byte, and 10^9 of them a second.
    pub fn roofline(&self) -> (f64, f64) {
        (self.flops as f64 / self.bytes as f64, self.flops as f64 / self.sweep_ms * 1e-6)
    }
}

/// A matrix with random contractive values in device memory, with its right-hand side.
pub struct Bench {
    pub jac: DeviceJacobian,
    pub b: DeviceBuffer<f64>,
    pub guess: DeviceBuffer<f64>,
    batches: RowBatches,
    nb: usize,
    repeats: usize,
    right: f64,
}

impl Bench {
    /// Fresh random values for every `seed`.
    pub fn new(stream: &Stream, problem: &Problem, nb: usize, seed: u64, repeats: usize) -> CliResult<Self> {
        let vectors = Vectors::new(stream, Storage::F32).map_err(CliError::device)?;
        let mut jac = DeviceJacobian::uninitialized(stream, &problem.pattern, nb, Storage::F32)
            .map_err(CliError::device)?;
        let n = problem.pattern.rows() * nb;
        let mut b = DeviceBuffer::uninitialized(stream, n).map_err(CliError::device)?;
        let mut guess = DeviceBuffer::uninitialized(stream, n).map_err(CliError::device)?;
        vectors.fill_f64(&mut jac.diag, seed, 0.6 / nb as f64, 1.0, nb).map_err(CliError::device)?;
        let DeviceOff::F32(off) = &mut jac.off else { unreachable!("made so") };
        vectors.fill_f32(off, seed + 1, 1.5 / (nb as f64 * 12.0)).map_err(CliError::device)?;
        vectors.fill_f64(&mut b, seed + 2, 1.0, 0.0, 0).map_err(CliError::device)?;
        vectors.fill_f64(&mut guess, seed + 3, 1.0, 0.0, 0).map_err(CliError::device)?;
        Ok(Self { jac, b, guess, batches: problem.batches.clone(), nb, repeats, right: RIGHT[0] })
    }

    /// A given matrix (f32 off-diagonal blocks) and right-hand side; sweeps start from zero.
    pub fn of(
        stream: &Stream,
        jac: &chromaflow::Jacobian,
        batches: &RowBatches,
        b: &[f64],
        repeats: usize,
    ) -> CliResult<Self> {
        let jac = DeviceJacobian::upload(stream, jac).map_err(CliError::device)?;
        let b = stream.upload(b).map_err(CliError::device)?;
        let guess = DeviceBuffer::zeroed(stream, b.len()).map_err(CliError::device)?;
        let nb = jac.nb();
        Ok(Self { jac, b, guess, batches: batches.clone(), nb, repeats, right: RIGHT[1] })
    }

    /// The reference after three sweeps from the guess.
    pub fn reference(&self) -> CliResult<DeviceBuffer<f64>> {
        let plain = PlainSweep::new(&self.jac).map_err(CliError::device)?;
        let mut x =
            DeviceBuffer::uninitialized(self.jac.stream(), self.guess.len()).map_err(CliError::device)?;
        x.copy_from(&self.guess.slice()).map_err(CliError::device)?;
        for _ in 0..CHECKED {
            plain.sweep(&self.batches, &self.b, &mut x).map_err(CliError::device)?;
        }
        Ok(x)
    }

    /// Makes the off-diagonal blocks f16, in place.
    pub fn narrow(&mut self) -> CliResult<()> {
        self.jac.narrow(Scaling::Global).map_err(CliError::device)?;
        Ok(())
    }

    fn difference(&self, x: &DeviceBuffer<f64>, reference: &DeviceBuffer<f64>) -> CliResult<f64> {
        PlainSweep::new(&self.jac).and_then(|p| p.relative_difference(x, reference)).map_err(CliError::device)
    }

    /// Checks and times our sweep with `tile` (none: the chosen one).
    pub fn ours(
        &self,
        storage: Storage,
        tile: Option<Tile>,
        reference: &DeviceBuffer<f64>,
    ) -> CliResult<Measured> {
        let (stream, pattern) = (self.jac.stream(), self.jac.pattern());
        let mut mc = match tile {
            Some(tile) => MulticolorCuda::with_tile(stream, pattern, self.nb, &self.batches, storage, tile),
            None => MulticolorCuda::new(stream, pattern, self.nb, &self.batches, storage),
        }
        .map_err(CliError::device)?;
        mc.factor(&self.jac).map_err(CliError::device)?;
        let mut x = DeviceBuffer::uninitialized(stream, self.guess.len()).map_err(CliError::device)?;
        x.fill_bytes(0xff).map_err(CliError::device)?;
        mc.set_rhs(&self.b).map_err(CliError::device)?;
        mc.set_x(&self.guess).map_err(CliError::device)?;
        mc.sweeps(Direction::Forward, CHECKED, 1.0).map_err(CliError::device)?;
        mc.get_x(&mut x).map_err(CliError::device)?;
        let error = self.difference(&x, reference)?;
        let right = error < self.right || (storage == Storage::Bf16 && error < 1e-2);
        if !right {
            return Err(CliError::device(format!(
                "nb {} {}: {error:e} off the reference with {:?}",
                self.nb,
                storage.name(),
                mc.tile()
            )));
        }
        let sweep_ms = self.sweep_ms(&mut mc)?;
        let solve = stream
            .time(self.repeats.min(5), || {
                mc.set_rhs(&self.b).and_then(|()| mc.clear()).map_err(|e| cuda(&e))?;
                mc.sweeps(Direction::Forward, SWEEPS, 1.0)
                    .and_then(|()| mc.get_x(&mut x))
                    .map_err(|e| cuda(&e))
            })
            .map_err(CliError::device)?;
        let convert_ms =
            stream.time(3, || mc.set_values(&self.jac).map_err(|e| cuda(&e))).map_err(CliError::device)?;
        let invert_ms =
            stream.time(3, || mc.invert().map(|_| ()).map_err(|e| cuda(&e))).map_err(CliError::device)?;
        Ok(Measured {
            storage,
            tile: mc.tile(),
            sweep_ms,
            bytes: mc.minimal_bytes(),
            flops: 2 * (pattern.nnzb() + pattern.rows()) * self.nb * self.nb,
            error,
            convert_ms,
            invert_ms,
            solve_ms: solve / SWEEPS as f64,
        })
    }

    /// Median milliseconds of a sweep within a graph of [`SWEEPS`].
    pub fn sweep_ms(&self, mc: &mut MulticolorCuda) -> CliResult<f64> {
        let sweeps = || mc.sweeps(Direction::Forward, SWEEPS, 1.0).map_err(|e| cuda(&e));
        Ok(self.jac.stream().time(self.repeats, sweeps).map_err(CliError::device)? / SWEEPS as f64)
    }

    /// Checks and times the library engine: milliseconds a sweep on a stream, and as a graph where that can be recorded.
    pub fn library(&self, reference: &DeviceBuffer<f64>) -> CliResult<(f64, Option<f64>, f64)> {
        let mut engine = LibraryEngine::new(&self.jac, &self.batches, &self.b)?;
        let mut x =
            DeviceBuffer::uninitialized(self.jac.stream(), self.guess.len()).map_err(CliError::device)?;
        engine.set_x(&self.guess)?;
        for _ in 0..CHECKED {
            engine.sweep()?;
        }
        engine.get_x(&mut x)?;
        let error = self.difference(&x, reference)?;
        if error.is_nan() || error > 100.0 * self.right {
            return Err(CliError::device(format!(
                "nb {}: the library engine is {error:e} off the reference",
                self.nb
            )));
        }
        let (stream_ms, graph_ms) = engine.time(self.repeats.min(7))?;
        Ok((stream_ms, graph_ms, error))
    }
}

/// Errors inside timed work pass through the device layer's type.
fn cuda(error: &impl std::fmt::Display) -> chromaflow_device::cuda::CudaError {
    chromaflow_device::cuda::CudaError::Library { call: "sweep", status: error.to_string() }
}
