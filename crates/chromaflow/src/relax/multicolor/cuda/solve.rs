#![allow(unsafe_code)]
//! Sweeps, norms and whole solves: what is enqueued and what is recorded as a graph.

use super::MulticolorCuda;
use crate::Outcome;
use crate::gpu::arguments::{AddNorm, BeginNorms};
use crate::gpu::{Direct, GpuError, Posts};
use crate::relax::over_ranks_cuda::{Part, Passing, Recorded, order};
use crate::relax::{Direction, Guess, RelaxError, SolveOptions, SolveReport};
use crate::sparse::check_len;
use crate::sparse::cuda::arguments::Terms;
use crate::stop::GROWTH;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, Share, Watch};
use chromaflow_device::kernel_arguments;
use std::ops::Range;

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

impl Norms {
    pub(super) fn bytes(&self) -> usize {
        self.partials.bytes() + self.history.bytes() + self.stop.bytes()
    }
}

impl MulticolorCuda {
    /// Solves A x = b as `options` say, with `b` and `x` on the device in the order of the matrix's rows.
    ///
    /// **Shapes**: `b`, `x [rows, nb]`.
    /// **Outcome**: as the twin, but that a stagnation is not seen; a tolerance is looked at after every sweep, on the device.
    ///
    /// # Errors
    /// [`RelaxError::NotFactored`], [`GpuError::Shape`], [`GpuError::Cuda`]; [`GpuError::Unsupported`] for restarts,
    /// which the caller does with the residual of the matrix.
    pub fn solve(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        options: &SolveOptions,
    ) -> Result<SolveReport, GpuError> {
        let n = self.b.len();
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
        if self.share.is_some() && (options.tolerance.is_some() || options.history) {
            return Err(GpuError::Unsupported(
                "over ranks sweeps look at no residual: put a Krylov method around them".to_owned(),
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
        check_len("b", b.len(), self.b.len(), || "rows * nb".to_owned())?;
        Ok(self.b.copy_from(&b.slice())?)
    }

    /// Takes a first guess.
    ///
    /// # Errors
    /// [`GpuError::Cuda`], [`GpuError::Shape`].
    pub fn set_x(&mut self, x: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        check_len("x", x.len(), self.b.len(), || "rows * nb".to_owned())?;
        // SAFETY: both hold rows * nb values.
        unsafe { self.vectors.round_x(x.len(), x.into(), self.x[0].ptr()) }
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
        check_len("x", x.len(), self.b.len(), || "rows * nb".to_owned())?;
        // SAFETY: both hold rows * nb values.
        unsafe { self.vectors.widen_x(x.len(), self.x[0].ptr(), x.into()) }
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
        let (share, stream, row) = (self.share.clone(), self.stream.clone(), self.row());
        let passing = share.as_ref().map(|share| Passing {
            share,
            direct: self.direct.is_some(),
            at_once: self.apart,
            x: self.x[0].ptr(),
            row,
        });
        let mut graphs = std::mem::replace(&mut self.graphs, Recorded::new());
        let done = graphs.run(plan, &stream, passing.as_ref(), || match (&self.direct, &passing) {
            (Some(direct), _) => self.record_direct(direct, plan),
            (None, Some(passing)) => self.sweep_over(passing, plan),
            (None, None) => self.record(plan),
        });
        self.graphs = graphs;
        done
    }

    /// Numbers of a row of x, and their bytes.
    pub(in crate::relax) fn row(&self) -> (usize, usize) {
        (self.matrix.nb(), self.matrix.storage().x_bytes())
    }

    fn record(&mut self, plan: Plan) -> Result<(), GpuError> {
        let damping = f64::from_bits(plan.damping);
        let mut dependent = false;
        if let Some(tolerance) = plan.norms {
            self.record_begin(f64::from_bits(tolerance))?;
            self.record_norm()?;
        }
        let batches = self.matrix.batches.len();
        for _ in 0..plan.sweeps {
            let forward = (0..batches).map(|i| (i, plan.direction != Direction::Backward));
            let backward = (0..batches).rev().map(|i| (i, plan.direction != Direction::Forward));
            for (batch, wanted) in forward.chain(backward) {
                if wanted {
                    self.launch_batch(batch, damping, dependent, plan.norms.is_some())?;
                    dependent |= !self.matrix.batches[batch].is_empty();
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

    /// Sweeps over the rows of a rank that pass rows themselves: a launch a color, its border first, and one before and one after all.
    fn record_direct(&self, direct: &Direct, plan: Plan) -> Result<(), GpuError> {
        let (m, omega) = (&self.matrix, f64::from_bits(plan.damping));
        let order = order(plan.direction, m.batches.len() / 3);
        let mut step = 0;
        direct.post(step)?;
        for &color in (0..plan.sweeps).flat_map(|_| &order) {
            step += 1;
            let [border, interior] = [&m.batches[3 * color], &m.batches[3 * color + 1]];
            let posts = direct.posts(step, m.tile().blocks(border.len()));
            self.launch_passing(border.start..interior.end, omega, &posts)?;
            if border.is_empty() {
                direct.post(step)?;
            }
        }
        direct.end(step)
    }

    /// Sweeps over the rows of a rank between which hosts pass them.
    fn sweep_over(&mut self, passing: &Passing<'_>, plan: Plan) -> Result<(), GpuError> {
        let (damping, colors) = (f64::from_bits(plan.damping), self.matrix.batches.len() / 3);
        passing.sweeps((plan.direction, plan.sweeps), colors, &mut |color, part, dependent| {
            let [border, interior] = [3 * color, 3 * color + 1].map(|k| self.matrix.batches[k].clone());
            let rows = match part {
                Part::Border => border,
                Part::Interior => interior,
                Part::All => border.start..interior.end,
            };
            self.launch_rows(rows, damping, dependent, false)?;
            if self.apart && part == Part::Border {
                let [x, next] = &mut self.x;
                x.copy_from(&next.slice())?;
            }
            Ok(())
        })
    }

    /// What a sweep takes, which writes x or, where updates are apart, the other one.
    fn sweep_terms(&self, omega: f64, stop: u64, apart: bool) -> Terms {
        Terms {
            dinv: (&self.inverse).into(),
            b: (&self.b).into(),
            x: Watch::at(self.x[0].ptr()),
            x_out: Share::at(self.x[usize::from(apart)].ptr()),
            omega,
            ..self.matrix.terms(stop)
        }
    }

    fn launch_batch(&self, batch: usize, damping: f64, dependent: bool, stop: bool) -> Result<(), GpuError> {
        self.launch_rows(self.matrix.batches[batch].clone(), damping, dependent, stop)
    }

    /// A range of the format's rows that do not read one another.
    fn launch_rows(
        &self,
        rows: Range<u32>,
        damping: f64,
        dependent: bool,
        stop: bool,
    ) -> Result<(), GpuError> {
        let m = &self.matrix;
        let terms = self.sweep_terms(damping, if stop { self.norms.stop.ptr() } else { 0 }, self.apart);
        let launch = m.launch(&self.sweep, rows).record(&terms);
        // SAFETY: the range lies within the format and columns within x; the rows of a batch do not read one another
        // (checked in `new`), but for padding, which multiplies zeros.
        Ok(unsafe { launch.dependent(dependent).enqueue(&self.stream) }?)
    }

    /// Chunks of rows that do not read one another, their new values into the other iterate.
    pub(in crate::relax) fn launch_apart(&self, rows: Range<u32>, dependent: bool) -> Result<(), GpuError> {
        let launch = self.matrix.launch(&self.sweep, rows).record(&self.sweep_terms(1.0, 0, true));
        // SAFETY: as in `launch_rows`.
        Ok(unsafe { launch.dependent(dependent).enqueue(&self.stream) }?)
    }

    /// Chunks of rows that do not read one another.
    pub(in crate::relax) fn launch_in_place(
        &self,
        rows: Range<u32>,
        damping: f64,
        dependent: bool,
    ) -> Result<(), GpuError> {
        self.launch_rows(rows, damping, dependent, false)
    }

    /// The same where the first `edge` thread blocks pass their rows to other ranks.
    pub(in crate::relax) fn launch_passing(
        &self,
        rows: Range<u32>,
        omega: f64,
        posts: &Posts,
    ) -> Result<(), GpuError> {
        let launch = self.matrix.launch(&self.sweep, rows);
        let launch = launch.record(&self.sweep_terms(omega, 0, false)).record(posts);
        // SAFETY: as in `launch_rows`; others write ghosts of x, which rows of the border alone read, once these were read
        // (direct.cuh), and the memory of all is kept by what passes rows.
        Ok(unsafe { launch.dependent(true).enqueue(&self.stream) }?)
    }

    /// Chunks of rows that do not read one another, by a kernel whose first `edge` thread blocks wait for other ranks; their new values into the
    /// other iterate.
    pub(in crate::relax) fn launch_awaiting(
        &self,
        sweep: &Kernel,
        rows: Range<u32>,
        posts: &Posts,
    ) -> Result<(), GpuError> {
        let launch = self.matrix.launch(sweep, rows).record(&self.sweep_terms(1.0, 0, true)).record(posts);
        // SAFETY: as in `launch_passing`.
        Ok(unsafe { launch.dependent(true).enqueue(&self.stream) }?)
    }

    /// What passes rows, where kernels do so themselves.
    pub(in crate::relax) fn direct(&self) -> Option<&Direct> {
        self.direct.as_ref()
    }

    /// Where x is, and the other iterate.
    pub(in crate::relax) fn iterates(&self) -> [u64; 2] {
        [self.x[0].ptr(), self.x[1].ptr()]
    }

    /// Whether diagonal blocks are inverted.
    pub(in crate::relax) fn is_factored(&self) -> bool {
        self.factored
    }

    /// |b| and the norm to reach.
    fn record_begin(&self, tolerance: f64) -> Result<(), GpuError> {
        let Norms { partials, history, stop } = &self.norms;
        let n = self.vectors.partial_sums(&self.b, &self.b, partials, usize::MAX)? as u32;
        let arguments = kernel_arguments!(BeginNorms { n, partials, tolerance, history, stop });
        let begin = self.vectors.kernel("begin_norms")?;
        // SAFETY: `partials` holds a sum a thread block, `history` the three numbers set here.
        Ok(unsafe { begin.launch(1, 1024).record(&arguments).enqueue(&self.stream) }?)
    }

    fn record_norm(&self) -> Result<(), GpuError> {
        let Norms { partials, history, stop } = &self.norms;
        let (x, b) = (self.x[0].ptr(), self.b.ptr());
        // SAFETY: x and b hold rows * nb values; there is a partial sum for every chunk or row.
        let n = unsafe { self.matrix.launch_product(x, b, 0, partials.ptr(), stop.ptr())? } as u32;
        let (add, capacity, growth) = (self.vectors.kernel("add_norm")?, HISTORY as u32, GROWTH);
        let arguments = kernel_arguments!(AddNorm { n, partials, capacity, growth, history, stop });
        // SAFETY: `partials` holds a sum a thread block, `history` HISTORY entries behind the first three numbers.
        Ok(unsafe { add.launch(1, 1024).record(&arguments).enqueue(&self.stream) }?)
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
}
