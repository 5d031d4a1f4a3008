#![allow(unsafe_code)]
//! Sweeps, norms and whole solves: what is enqueued and what is recorded as a graph.

use super::MulticolorCuda;
use crate::Outcome;
use crate::gpu::GpuError;
use crate::relax::{Direction, Guess, RelaxError, SolveOptions, SolveReport};
use crate::sparse::check_len;
use chromaflow_device::cuda::DeviceBuffer;

/// Residual norms that stay on the device until a solve ends.
pub(super) struct Norms {
    pub(super) partials: DeviceBuffer<f64>,
    pub(super) history: DeviceBuffer<f64>,
    pub(super) stop: DeviceBuffer<i32>,
}

/// What a graph was recorded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    direction: Direction,
    sweeps: usize,
    damping: u64,
    /// Tolerance when norms are taken.
    norms: Option<u64>,
}

/// The most norms a solve records.
pub(super) const HISTORY: usize = 4096;
/// A residual that has grown by this factor will not come back (as on the CPU).
const DIVERGED: f64 = 1e6;

impl MulticolorCuda {
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
            let (mut failed, stream) = (None, self.stream.clone());
            let graph = stream.capture(|| {
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

    fn record(&mut self, plan: Plan) -> Result<(), GpuError> {
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
                    if self.apart {
                        let [x, next] = &mut self.x;
                        x.copy_from(&next.slice())?;
                        dependent = false;
                    }
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
        let (x, next) = (&self.x[0], &self.x[usize::from(self.apart)]);
        let launch = self.sweep.launch(self.tile.blocks(range.len()), self.tile.threads(self.nb));
        let launch = if self.tile.is_sliced() {
            launch.arg(&m.chunks).arg(range.start).arg(range.end).arg(&m.values).arg(&*m.index)
        } else {
            launch.arg(range.start).arg(&*m.row_ptr).arg(&m.values).arg(&*m.index)
        };
        let launch = launch
            .arg(&m.inverse)
            .arg(&self.b)
            .arg(x)
            .arg(next)
            .arg(unscale)
            .arg(stride)
            .arg(damping)
            .arg(stop);
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
            launch.arg(0u32).arg(&*m.row_ptr).arg(&m.values).arg(&*m.index)
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
        check_len("r", r.len(), self.b.len(), || "rows * nb".to_owned())?;
        let b = if b.is_some() { self.b.ptr() } else { 0 };
        if self.matrix.perm.is_none() {
            return self.launch_residual(self.x[1].ptr(), b, r.ptr(), 0, 0).map(|_| ());
        }
        if self.room.is_none() {
            self.room = Some(DeviceBuffer::uninitialized(&self.stream, r.len())?);
        }
        let ours = self.room.as_ref().map_or(0, DeviceBuffer::ptr);
        self.launch_residual(self.x[1].ptr(), b, ours, 0, 0)?;
        self.move_vector("scatter_f64", r.len(), ours, r.ptr())
    }
}
