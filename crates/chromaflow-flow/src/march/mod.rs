//! The march: iterations of a system of equations to a steady state, or through time.
//!
//! One iteration, whatever the equations, the grid and the machine:
//! ```text
//! residual             norms, forces, the first bad row        System::residual
//! reject?              not finite: restore the last good state, lower the CFL number
//! check the progress   done | next physical step | update      Progress::check
//! reject?              the residual has grown by too much      StepControl::rejects_growth
//! advance              matrix, linear solver, update           System::advance
//! reject?              a bad state, a linear system not solved StepControl::rejects_update
//! accept               the next CFL number                     StepControl::accept
//! go back?             the next step's order in space          FirstOrder::changes
//! give up?             the run has come to nothing              FirstOrder::gives_up, Progress::is_lost
//! ```
//! A [`System`] has its state on the host ([`Host`]) or on a device that computes in its place. The march knows who has the
//! newest state: what the host changes the device takes before its next step, what the device changes the host gets when
//! somebody asks ([`March::sync`]).

pub(crate) mod control;
mod error;
pub(crate) mod forces;
pub(crate) mod linear;
pub(crate) mod newton;
mod order;
mod outflow;
pub(crate) mod over_ranks;
mod progress;
mod rank_report;
mod report;
mod residuals;
mod spread;
mod system;
#[cfg(test)]
mod toy;
mod turned;

pub(crate) use crate::equations::perfect_gas::update_share;
pub use crate::equations::perfect_gas::{linear_share, next_cfl_share, pressure_margin, velocity_share};
pub use control::{CourantControl, Rejection, Rejections, StepControl};
pub use error::FlowError;
pub(crate) use error::slides;
pub use forces::{Coefficients, Forces, MarkerForces};
pub use order::Order;
pub use outflow::Outflow;
pub(crate) use outflow::{SUMS, outflow_sums};
pub(crate) use progress::Progress;
pub use rank_report::{Holding, RankReport};
#[cfg(feature = "cuda")]
pub(crate) use report::Running;
pub use report::{BadPlace, LargestResidual, Part, PartTime, Place, StepReport, Times};
pub use residuals::Residuals;
pub use spread::Spread;
pub(crate) use system::Device;
pub use system::{Advanced, Bdf, Host, Measured, Moment, System, WallSums};
pub(crate) use turned::{check_turned, keeps, motion_keeps, not_turned, turn_columns};

use crate::config::Time;
use crate::output::Restart;
use chromaflow::Outcome;
use chromaflow_device::ranges::range;
use control::{Coupling, FirstOrder, Seen};
use progress::{Next, PROBLEM};
use std::time::Instant;

/// Rounding errors of a residual over those of its fluxes: what gradients across cells lose that are thousands of times longer than high.
const DIGITS: f64 = 1e3;

/// See [`March::measured`].
const SHARE_BESIDE: f64 = 0.1;

/// Who has the newest state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newest {
    Both,
    Host,
    Device,
}

/// A solver: a system of equations under way.
pub struct March<S: Host> {
    /// The case, and the state where no device computes.
    pub(crate) host: S,
    device: Option<Box<dyn Device<S>>>,
    newest: Newest,
    pub(crate) progress: Progress,
    pub(crate) control: S::Control,
    rejections: Rejections,
    first_order: FirstOrder,
    coupling: Coupling,
    /// Forces of the last residual.
    forces: Forces,
    times: Times,
}

impl<S: Host> March<S> {
    /// At the beginning, computed by the host.
    pub(crate) fn of(host: S, control: S::Control) -> Self {
        let first_order = FirstOrder::new(host.first_order_steps());
        Self {
            host,
            device: None,
            newest: Newest::Both,
            progress: Progress::default(),
            first_order,
            control,
            rejections: Rejections::default(),
            coupling: Coupling::new(),
            forces: Forces::default(),
            times: Times::default(),
        }
    }

    /// One iteration.
    ///
    /// # Panics
    /// When a device that computes fails; see [`Self::try_step`].
    pub fn step(&mut self) -> StepReport {
        self.try_step().unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`Self::step`], for solvers that compute on a device.
    ///
    /// # Errors
    /// The device's, such as [`FlowError::Gpu`]. The state is lost then, but for what was written to disk.
    pub fn try_step(&mut self) -> Result<StepReport, FlowError> {
        let start = Instant::now();
        let _range = range("iteration");
        self.host.tell(Order::Step)?;
        self.progress.iteration += 1;
        if let Some(log) = self.host.share().and_then(|share| share.ranks().log()) {
            log.begin(self.progress.iteration);
        }
        self.upload()?;
        let at = self.moment();
        let mut report = StepReport {
            iteration: at.iteration,
            time_step: self.progress.time_step(self.host.time()),
            cfl: at.cfl,
            first_order: at.first_order,
            damped: at.damped,
            hard: at.hard,
            coarse_grids: at.coarse_grids,
            ..StepReport::default()
        };
        let found = self.computing().residual(&at)?;
        let volume = self.host.volume();
        report.residual = found.squares.iter().map(|s| (s / volume).sqrt()).collect();
        report.coupled = found.coupled.iter().map(|s| (s / volume).sqrt()).collect();
        self.forces.clone_from(&found.forces);
        report.forces = found.forces;
        if found.good {
            self.advance(&at, &mut report)?;
        } else {
            self.reject_bad(found.first_bad, &mut report)?;
        }
        let mut times = match &mut self.device {
            Some(device) => device.times()?,
            None => self.host.times()?,
        };
        times.total = start.elapsed().as_secs_f64();
        report.times = times;
        self.times.add(&times);
        Ok(report)
    }

    /// The part of an iteration that follows a good residual.
    fn advance(&mut self, at: &Moment, report: &mut StepReport) -> Result<(), FlowError> {
        let size = S::size(&report.residual);
        let time = self.host.time();
        let round_off = self.host.flow_round_off();
        if !S::EXPLICIT {
            let others = report.residual.iter().copied().fold(0.0, f64::max);
            self.progress.measure(time, size, others, round_off);
        }
        let rests = !S::EXPLICIT && self.progress.rests(size, round_off);
        report.rests = rests;
        let away = self.progress.runs_away(size, round_off);
        let lost = self.progress.is_lost() && !self.first_order.leads_back(self.host.returns());
        let decision = if S::EXPLICIT {
            self.progress.check_explicit(time, size)
        } else {
            report.coupled_orders = self.progress.coupled_orders(&report.coupled, &self.host.round_off());
            let decision = self.progress.check(time, size, &report.coupled_orders);
            let decision = decision.unless_round_off(time, rests, &report.coupled_orders);
            if at.first_order { decision.of_start() } else { decision }
        };
        let decision = decision.unless_away(time, away, lost, self.progress.iteration);
        (report.orders, report.time_step, report.outcome) =
            (decision.orders, decision.time_step, decision.outcome);
        match decision.next {
            Next::Done => return Ok(()),
            Next::Step => {
                report.step_over = true;
                return self.next_level();
            }
            Next::Update => {}
        }
        let seen = Seen { residual: size, orders: self.progress.orders(size), rests };
        let [size, judged] = [size, self.host.judged(&report.residual)]
            .map(|size| self.measured(size, &report.coupled_orders));
        if self.control.rejects_growth(size) {
            return self.reject(Rejection::Growth, report);
        }
        if self.host.starts_apart()
            && self.coupling.see(report.coupled_orders.iter().copied().fold(f64::INFINITY, f64::min))
        {
            self.control.turn();
        }
        let noise = self.noise(seen.residual, &report.coupled_orders);
        let at = &self.with_kind(Moment { noise, ..*at });
        let done = self.computing().advance(at)?;
        (report.linear_reduction, report.limited) = (done.reduction, done.limited);
        if let Some(row) = done.singular.or(done.bad) {
            return self.reject_bad(Some(row), report);
        }
        if done.reduction.is_some_and(|reduction| self.control.rejects_update(reduction)) {
            return self.reject(Rejection::Linear, report);
        }
        report.step_over = S::EXPLICIT && report.time_step > 0;
        self.coupling.accept();
        self.control.accept([size, judged], report.limited as f64 / self.host.rows() as f64);
        if !self.progress.has_measure(round_off) {
            // What rises from rounding has not grown.
            self.control.reset();
        }
        let (most, returns) = (self.host.first_order_steps(), self.host.returns());
        if !S::EXPLICIT && self.first_order.changes(seen, most, returns, self.host.rises()) {
            self.control.begin();
            self.progress.away = 0;
            if self.first_order.starts_anew() {
                self.sync()?;
                self.host_to_set().start_anew();
            }
        }
        if report.outcome.is_none() && self.first_order.gives_up(seen.orders, returns) {
            let diverged = Outcome::Diverged { iteration: self.progress.iteration };
            report.outcome = Some(if away { diverged } else { Outcome::Stagnated });
        }
        Ok(())
    }

    /// The flow's residual as its steps are judged by: no less than a tenth of what those beside it have left of their largest. A flow that is solved to more
    /// digits than the eddies in it has to give them up when these move.
    fn measured(&self, size: f64, coupled: &[f64]) -> f64 {
        let least = coupled.iter().copied().fold(f64::INFINITY, f64::min);
        match self.progress.first_residual {
            Some(first) if self.host.starts_apart() && least.is_finite() => {
                size.max(SHARE_BESIDE * first * 10.0_f64.powf(-least))
            }
            _ => size,
        }
    }

    /// See [`Moment::noise`]. A step changes what is beside the flow by about as much as its residual has left of its largest, and a difference has the rounding
    /// errors of the flow's residual over its own length.
    fn noise(&self, size: f64, coupled: &[f64]) -> f64 {
        let least = coupled.iter().copied().fold(f64::INFINITY, f64::min);
        let change = 10.0_f64.powf(-least);
        let noise = DIGITS * self.host.flow_round_off() / size * change / newton::difference_step(1.0, 1.0);
        if noise.is_finite() { noise.max(1.0) } else { 1.0 }
    }

    /// Says where the state went bad, and rejects the step.
    fn reject_bad(&mut self, row: Option<usize>, report: &mut StepReport) -> Result<(), FlowError> {
        self.sync()?;
        report.bad = row.or_else(|| self.host.first_bad()).map(|row| self.host.place(row));
        self.reject(Rejection::State, report)
    }

    /// Returns to the last good state.
    fn reject(&mut self, why: Rejection, report: &mut StepReport) -> Result<(), FlowError> {
        report.rejected = true;
        self.rejections.add(why);
        self.computing().restore()?;
        if self.host.starts_apart() && self.coupling.reject() {
            self.control.reset();
        }
        if !self.control.reject() {
            report.outcome = Some(Outcome::Diverged { iteration: self.progress.iteration });
        }
        Ok(())
    }

    /// The present state is the solution of its physical step.
    fn next_level(&mut self) -> Result<(), FlowError> {
        self.computing().next_level()?;
        self.progress.next_level();
        self.control.reset();
        self.host.begin_step(self.progress.next_time(self.host.time()));
        self.device.as_deref_mut().map_or(Ok(()), |device| device.take_given(&self.host))
    }

    /// Runs until an outcome; `watch` sees every report and may end the run by returning false.
    pub fn run(&mut self, mut watch: impl FnMut(&StepReport) -> bool) -> Outcome {
        loop {
            let report = self.step();
            match (watch(&report), report.outcome) {
                (_, Some(outcome)) => return outcome,
                (false, None) => return Outcome::IterationLimit,
                (true, None) => {}
            }
        }
    }

    /// The iteration under way.
    pub(crate) fn moment(&self) -> Moment {
        let iteration = self.progress.iteration;
        Moment {
            iteration,
            first_order: self.first_order.under_way,
            damped: self.first_order.damps(),
            cfl: self.control.value(),
            forcing: self.control.forcing(),
            widening: self.control.widening(),
            part: self.control.part(),
            hard: self.control.is_hard(),
            bdf: self.progress.bdf(self.host.time()),
            measure: iteration.is_multiple_of(self.host.linear_report()) || self.control.doubts(),
            noise: 1.0,
            together: true,
            coarse_grids: self.control.coarse_grids(),
        }
    }

    /// The same with the kind of its step.
    fn with_kind(&self, at: Moment) -> Moment {
        if self.coupling.together || !self.host.starts_apart() {
            return at;
        }
        Moment { together: false, cfl: at.cfl.min(self.host.largest_apart()), ..at }
    }

    /// The iteration that would come next.
    pub(crate) fn next_moment(&self) -> Moment {
        Moment { iteration: self.progress.iteration + 1, ..self.moment() }
    }

    /// Sets the most iterations of a steady run, the physical steps of an unsteady one.
    pub fn set_iterations(&mut self, most: usize) {
        // What cannot be told shows at the next step.
        let _ = self.host.tell(Order::Iterations(most));
        match self.host.time_mut() {
            Time::Steady(steady) => steady.iterations = most,
            Time::Unsteady(unsteady) => unsteady.steps = most,
        }
    }

    /// Sets the largest CFL number, from the next step on.
    pub fn set_largest_cfl(&mut self, largest: f64) {
        let _ = self.host.tell(Order::LargestCfl(largest));
        self.control.limit(largest);
    }

    /// Iterations so far.
    pub fn iteration(&self) -> usize {
        self.progress.iteration
    }

    /// Physical time of the last finished step.
    pub fn time(&self) -> f64 {
        self.progress.time(self.host.time())
    }

    /// Rejected steps so far, by their reason.
    pub fn rejections(&self) -> Rejections {
        self.rejections
    }

    /// Times of all steps so far.
    pub fn times(&self) -> Times {
        self.times
    }

    /// Forces of the state before the last update.
    pub(crate) fn last_forces(&self) -> &Forces {
        &self.forces
    }

    /// Bytes of device memory held by the state and all that steps need; 0 where no device computes.
    pub fn device_bytes(&self) -> usize {
        self.device.as_ref().map_or(0, |device| device.bytes())
    }

    /// A restart with progress and step control.
    pub(crate) fn start_restart(&self) -> Restart {
        let mut restart = Restart::default();
        self.progress.store(self.host.time(), &mut restart);
        restart.set(PROBLEM, self.problem());
        self.control.store(&mut restart);
        self.first_order.store(&mut restart);
        if self.host.starts_apart() {
            self.coupling.store(&mut restart);
        }
        restart
    }

    /// A number that stands for what the flow is one of ([`FNV-1a`](http://www.isthe.com/chongo/tech/comp/fnv/), as many bits as a fact has).
    fn problem(&self) -> f64 {
        let hash = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        (self.host.problem().bytes().fold(0xcbf2_9ce4_8422_2325, hash) >> 12) as f64
    }

    /// Whether the restart's run was for another flow than this one. The state is a guess for it then, whose residual may be nothing in density.
    pub(crate) fn differs_from(&self, restart: &Restart) -> bool {
        let steady = matches!(self.host.time(), Time::Steady(_));
        steady && restart.facts.get(PROBLEM).is_some_and(|of| *of != self.problem())
    }

    /// Progress and step control from a restart; `levels`: whether it has earlier time levels. That of another flow's run counts for nothing.
    pub(crate) fn resume_progress(&mut self, restart: &Restart, levels: bool) {
        if self.differs_from(restart) {
            let mut restart = Restart { facts: restart.facts.clone(), fields: Vec::new() };
            restart.forget_progress();
            return self.resume_progress(&restart, levels);
        }
        self.progress = Progress::from_restart(restart, levels);
        self.control.resume(restart);
        self.first_order = FirstOrder::from_restart(restart, self.host.first_order_steps());
        self.coupling = Coupling::from_restart(restart);
    }

    /// Times of the parts of a step, `repeats` of each, and at last of whole steps, which must move `step_bytes`; by the
    /// device's clock where one computes. The state is that of the first steps afterwards.
    pub(crate) fn measure_parts(
        &mut self,
        repeats: usize,
        step_bytes: f64,
    ) -> Result<Vec<PartTime>, FlowError> {
        // A residual and time steps that belong to the state.
        self.try_step()?;
        let at = self.moment();
        let mut parts = match &mut self.device {
            Some(device) => device.parts(&at, repeats)?,
            None => self.host.parts(&at, repeats)?,
        };
        let mut seconds = Vec::new();
        for _ in 0..repeats {
            seconds.push(self.try_step()?.times.total);
        }
        parts.push(PartTime { name: "grid_step", bytes: step_bytes, seconds });
        Ok(parts)
    }

    /// Who computes, and is about to change the state.
    fn computing(&mut self) -> &mut dyn System {
        match &mut self.device {
            Some(device) => {
                self.newest = Newest::Device;
                &mut **device
            }
            None => &mut self.host,
        }
    }

    /// The host's form, whose state is the present one.
    ///
    /// # Panics
    /// When only the device has the present state.
    pub(crate) fn synced(&self) -> &S {
        assert!(self.newest != Newest::Device, "the state is on the device: call the solver's sync first");
        &self.host
    }

    /// As [`Self::synced`], for what fills the host's work arrays but leaves the state.
    pub(crate) fn synced_mut(&mut self) -> &mut S {
        self.synced();
        &mut self.host
    }

    /// The host's form, whose state is about to be set: a device has to take it then.
    pub(crate) fn host_to_set(&mut self) -> &mut S {
        if self.device.is_some() {
            self.newest = Newest::Host;
        }
        &mut self.host
    }

    /// Has the device take what the host has changed.
    fn upload(&mut self) -> Result<(), FlowError> {
        if let (Some(device), Newest::Host) = (&mut self.device, self.newest) {
            device.upload(&self.host)?;
            self.newest = Newest::Both;
        }
        Ok(())
    }

    /// Brings the state from a device that computes to the host, where fields, restarts and forces look at it. Nothing to
    /// do where no device computes.
    ///
    /// # Errors
    /// The device's.
    pub fn sync(&mut self) -> Result<(), FlowError> {
        if let (Some(device), Newest::Device) = (&self.device, self.newest) {
            device.download(&mut self.host)?;
            self.newest = Newest::Both;
        }
        Ok(())
    }

    /// Moves the computation to a device, if it can take the state and all that steps need; the host goes on otherwise. The
    /// host must have the present state.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn use_device(&mut self, device: Box<dyn Device<S>>) -> Result<(), FlowError> {
        (self.device, self.newest) = (Some(device), Newest::Host);
        let at = self.moment();
        let ready = self
            .upload()
            .and_then(|()| self.device.as_deref_mut().map_or(Ok(()), |device| device.rehearse(&at)));
        if ready.is_err() {
            (self.device, self.newest) = (None, Newest::Both);
        }
        ready
    }
}
