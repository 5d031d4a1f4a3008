//! The march in pseudo-time, and in time.

use super::accelerator::{Accelerator, Advanced, HostState};
use super::config::{Config, Function};
use super::linear::{Linear, Solved, timed};
use super::report::{StepReport, Times};
use super::space::Space;
use super::system::System;
use super::{SetupError, fill, ghosts, residual};
use crate::config::Time;
use crate::grid::Grid;
use crate::march::control::CflControl;
use crate::march::course::{Course, Next};
use crate::march::{Coefficients, until_outcome};
use crate::offload::Offload;
use chromaflow::Outcome;
use chromaflow_device::Team;
use std::sync::Arc;
use std::time::Instant;

/// An implicit solver for one grid and one set-up, with its state.
pub struct Solver {
    pub(super) team: Arc<Team>,
    pub(super) config: Config,
    pub(super) space: Space,
    /// Unknowns a cell.
    pub(super) n: usize,
    /// State of each block: components one after another, with ghosts.
    pub(super) fields: Vec<Vec<f64>>,
    last_good: Vec<Vec<f64>>,
    /// States at the last time level and at the one before, `[rows, n]`; empty in steady runs.
    pub(super) levels: [Vec<f64>; 2],
    /// What is added to each row per volume and time, see [`Solver::set_source`].
    pub(super) source: Option<(Function, Vec<f64>)>,
    pub(super) residual: Vec<f64>,
    /// Of each block, `[cells, n]`.
    pub(super) update: Vec<Vec<f64>>,
    pub(super) system: System,
    pub(super) linear: Linear,
    pub(super) control: CflControl,
    pub(super) course: Course,
    times: Times,
    /// What computes in place of the team.
    pub(super) accelerator: Offload<dyn Accelerator>,
}

fn number(what: &str, found: f64, good: bool, expected: &'static str) -> Result<(), SetupError> {
    if good { Ok(()) } else { Err(SetupError::Number { what: what.to_owned(), found, expected }) }
}

impl Solver {
    /// Sets everything up; the state is the configured initial one.
    ///
    /// # Errors
    /// [`SetupError`] when the grid, a boundary condition or a number is wrong.
    pub fn new(grid: &Grid, config: Config, team: Arc<Team>) -> Result<Self, SetupError> {
        let fluid = &config.fluid;
        let (nu, beta) = (fluid.viscosity, fluid.compressibility);
        number("the viscosity", nu, nu >= 0.0 && nu.is_finite(), "zero or more")?;
        number("the compressibility", beta, beta > 0.0 && beta.is_finite(), "a number above 0")?;
        for s in &fluid.scalars {
            let what = format!("the diffusivity of `{}`", s.name);
            number(&what, s.diffusivity, s.diffusivity >= 0.0 && s.diffusivity.is_finite(), "zero or more")?;
        }
        if let Time::Unsteady(u) = config.time {
            number("the time step", u.dt, u.dt > 0.0 && u.dt.is_finite(), "a number above 0")?;
        }
        let n = 4 + fluid.scalars.len();
        let space = Space::new(grid, &config)?;
        let walls = || space.patches.iter().filter(|p| p.wall).map(|p| &p.name);
        if let Some(name) = config.reference.markers.iter().find(|name| !walls().any(|w| w == *name)) {
            return Err(SetupError::NoMarker { name: name.clone(), known: walls().cloned().collect() });
        }
        let initial: Vec<f64> = (0..n)
            .map(|c| {
                let default = if c < 4 { 0.0 } else { fluid.scalars[c - 4].reference };
                config.initial.get(c).copied().unwrap_or(default)
            })
            .collect();
        let fields: Vec<Vec<f64>> = space
            .blocks
            .iter()
            .map(|b| initial.iter().flat_map(|&v| std::iter::repeat_n(v, b.cells.len())).collect())
            .collect();
        let system = System::new(&space, n)?;
        let linear = Linear::new(&system, config.implicit, &team)?;
        let rows = space.rows;
        let mut solver = Self {
            team,
            n,
            last_good: fields.clone(),
            fields,
            levels: [Vec::new(), Vec::new()],
            source: None,
            residual: vec![0.0; rows * n],
            update: space.blocks.iter().map(|b| vec![0.0; b.cells.interior() * n]).collect(),
            system,
            linear,
            control: CflControl::new(config.implicit.cfl),
            course: Course::default(),
            times: Times::default(),
            accelerator: Offload::NONE,
            space,
            config,
        };
        solver.start_levels();
        Ok(solver)
    }

    /// The present state becomes the first time level of an unsteady run.
    pub(super) fn start_levels(&mut self) {
        if let Time::Unsteady(_) = self.config.time {
            let rows = self.rows_of_state();
            self.levels = [rows.clone(), rows];
            self.begin_step();
        }
    }

    /// Sets the state by place: (p, u, v, w, scalars) at each cell's center.
    pub fn set_state(&mut self, state: impl Fn([f64; 3]) -> Vec<f64>) {
        let mut rows = vec![0.0; self.space.rows * self.n];
        for block in &self.space.blocks {
            for row in block.rows() {
                let at = block.at(row);
                let x = std::array::from_fn(|c| block.metrics.center[c][at]);
                rows[row * self.n..(row + 1) * self.n].copy_from_slice(&state(x));
            }
        }
        self.set_rows(&rows);
        self.course.step = 0;
        self.start_levels();
    }

    /// Adds a source to each equation, per volume and time, as a function of place and time: what manufactured solutions
    /// need.
    pub fn set_source(&mut self, source: Function) {
        self.accelerator.host_changes();
        self.source = Some((source, Vec::new()));
        self.begin_step();
    }

    /// Keeps the present state as the last good one.
    pub(super) fn keep_good(&mut self) {
        self.last_good.clone_from(&self.fields);
    }

    /// What is given by time, at the end of the present physical step.
    pub(super) fn begin_step(&mut self) {
        let time = match self.config.time {
            Time::Steady(_) => 0.0,
            Time::Unsteady(u) => (self.course.step + 1) as f64 * u.dt,
        };
        let n = self.n;
        for patch in &mut self.space.patches {
            if let Some(function) = patch.function.clone() {
                patch.set_given(|x| function(x, time), n - 1).expect("as many values as at first");
            }
        }
        if let Some((function, values)) = &mut self.source {
            values.clear();
            for block in &self.space.blocks {
                for row in block.rows() {
                    let at = block.at(row);
                    values.extend(function(std::array::from_fn(|c| block.metrics.center[c][at]), time));
                }
            }
            assert_eq!(values.len(), self.space.rows * n, "a source has one value for each equation");
        }
    }

    /// The state as rows.
    pub(super) fn rows_of_state(&self) -> Vec<f64> {
        self.accelerator.assert_synced();
        let mut rows = vec![0.0; self.space.rows * self.n];
        for (block, field) in self.space.blocks.iter().zip(&self.fields) {
            let len = block.cells.len();
            for row in block.rows() {
                let at = block.at(row);
                for c in 0..self.n {
                    rows[row * self.n + c] = field[c * len + at];
                }
            }
        }
        rows
    }

    /// Takes the state from rows.
    pub(super) fn set_rows(&mut self, rows: &[f64]) {
        self.accelerator.host_changes();
        for (block, field) in self.space.blocks.iter().zip(&mut self.fields) {
            let len = block.cells.len();
            for row in block.rows() {
                let at = block.at(row);
                for c in 0..self.n {
                    field[c * len + at] = rows[row * self.n + c];
                }
            }
        }
    }

    /// Factors of the new state, of the last level and of the one before in the time derivative; `None` in steady runs.
    fn time_factors(&self) -> Option<[f64; 3]> {
        let Time::Unsteady(unsteady) = self.config.time else { return None };
        Some(self.course.time_weights().map(|f| f / unsteady.dt))
    }

    fn fill_ghosts(&mut self, times: &mut Times) {
        timed(&mut times.rhs, || ghosts::fill_boundary(&self.space, &self.config.fluid, &mut self.fields));
        timed(&mut times.exchange, || ghosts::exchange(&self.space, self.n, &mut self.fields));
    }

    fn compute_residual(&mut self, times: &mut Times) {
        self.fill_ghosts(times);
        timed(&mut times.rhs, || {
            let scheme = self.config.space;
            residual::residual(
                &self.team,
                &self.space,
                &self.config.fluid,
                scheme,
                &self.fields,
                &mut self.residual,
            );
        });
        timed(&mut times.time_step, || self.add_time_and_source());
    }

    fn add_time_and_source(&mut self) {
        let factors = self.time_factors();
        let source = self.source.as_ref().map(|s| &s.1);
        if factors.is_none() && source.is_none() {
            return;
        }
        let n = self.n;
        for (block, field) in self.space.blocks.iter().zip(&self.fields) {
            let len = block.cells.len();
            for row in block.rows() {
                let at = block.at(row);
                let volume = block.metrics.volume[at];
                for c in 0..n {
                    let slot = row * n + c;
                    if let Some([now, last, before]) = factors.filter(|_| c > 0) {
                        let rate = now * field[c * len + at]
                            + last * self.levels[0][slot]
                            + before * self.levels[1][slot];
                        self.residual[slot] += volume * rate;
                    }
                    if let Some(source) = source {
                        self.residual[slot] -= volume * source[slot];
                    }
                }
            }
        }
    }

    /// One iteration: residual, matrix, factorization, solves, update.
    ///
    /// # Panics
    /// When a device that computes fails; see [`Self::try_step`].
    pub fn step(&mut self) -> StepReport {
        self.try_step().unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`Self::step`], for solvers that compute on a device.
    ///
    /// # Errors
    /// The device's. The state is lost then, but for what was written to disk.
    pub fn try_step(&mut self) -> Result<StepReport, SetupError> {
        let start = Instant::now();
        let mut times = Times::default();
        self.course.iteration += 1;
        self.push()?;
        let mut report =
            StepReport { iteration: self.course.iteration, cfl: self.control.value, ..StepReport::default() };
        self.look(&mut report, &mut times)?;
        if report.residual.iter().all(|r| r.is_finite()) {
            self.advance(&mut report, &mut times)?;
        } else {
            self.sync()?;
            report.bad = self.first_bad();
            self.take_back(&mut report)?;
        }
        if let Some(device) = self.accelerator.device_mut() {
            times = device.times()?;
        }
        times.total = start.elapsed().as_secs_f64();
        report.times = times;
        self.times.add(&times);
        Ok(report)
    }

    /// The residual of the present state, its norms, the forces.
    fn look(&mut self, report: &mut StepReport, times: &mut Times) -> Result<(), SetupError> {
        let factors = self.time_factors();
        if let Some(device) = self.accelerator.device_changes() {
            let found = device.residual(factors)?;
            report.residual = found.squares.iter().map(|s| (s / self.space.volume).sqrt()).collect();
            let scale = self.force_scale();
            let of = |force, moment| Coefficients::from_sums(&scale, force, moment);
            let walls = found.walls.iter().map(|s| (of(s[0], s[1]), of(s[2], s[3])));
            report.forces = self.forces_of(&scale, walls);
            return Ok(());
        }
        self.compute_residual(times);
        timed(&mut times.misc, || {
            report.residual = self.norms();
            report.forces = self.forces();
        });
        Ok(())
    }

    fn advance(&mut self, report: &mut StepReport, times: &mut Times) -> Result<(), SetupError> {
        let size = report.residual.iter().map(|r| r * r).sum::<f64>().sqrt();
        let verdict = self.course.judge(&self.config.time, size);
        (report.orders, report.time_step, report.outcome) =
            (verdict.orders, verdict.time_step, verdict.outcome);
        match verdict.next {
            Next::Keep => return Ok(()),
            Next::Level => return self.next_level(),
            Next::Update => {}
        }
        let rate = self.time_factors().map_or(0.0, |f| f[0]);
        let done = match self.accelerator.device_changes() {
            Some(device) => device.advance(self.control.value, rate)?,
            None => self.advance_here(times),
        };
        report.linear_reduction = Some(done.reduction).filter(|_| done.singular.is_none());
        if let Some(row) = done.singular.or(done.bad) {
            self.sync()?;
            report.bad = Some(self.bad_cell(row));
            return self.take_back(report);
        }
        self.control.accept(size, 0.0);
        Ok(())
    }

    /// The implicit part of a step on this process's threads.
    fn advance_here(&mut self, times: &mut Times) -> Advanced {
        self.assemble(times);
        let factored = timed(&mut times.factor, || self.linear.factor(&self.system, &self.team));
        if let Err(singular) = factored {
            let row = self.space.blocks[singular.at.block].first_row + singular.at.cell;
            return Advanced { singular: Some(row), ..Advanced::default() };
        }
        let Solved { solves, residuals, reduction } =
            self.linear.solve(&self.system, &self.team, &self.residual, &mut self.update);
        times.solve += solves;
        times.correction += residuals;
        timed(&mut times.misc, || {
            self.keep_good();
            self.apply_update();
            let finite = self.update.iter().flatten().all(|v| v.is_finite());
            let bad = if finite { None } else { self.first_bad_row() };
            Advanced { singular: None, reduction, bad }
        })
    }

    /// The matrix at the present state; ghost cells must be filled.
    fn assemble(&mut self, times: &mut Times) {
        let (team, space, fluid) = (&self.team, &self.space, &self.config.fluid);
        timed(&mut times.fill, || fill::fill(team, space, fluid, &self.fields, &mut self.system));
        let rate = self.time_factors().map_or(0.0, |f| f[0]);
        timed(&mut times.time_step, || {
            let steps = (self.control.value, rate);
            fill::add_time_step(team, space, fluid, &self.fields, steps, &mut self.system);
        });
    }

    /// Residual and matrix at the present state.
    pub(super) fn prepare_system(&mut self) {
        self.accelerator.assert_synced();
        let mut times = Times::default();
        self.compute_residual(&mut times);
        self.assemble(&mut times);
    }

    pub(super) fn right_hand_side(&self) -> &[f64] {
        &self.residual
    }

    /// q -= A^-1 R
    fn apply_update(&mut self) {
        for ((block, field), update) in self.space.blocks.iter().zip(&mut self.fields).zip(&self.update) {
            let len = block.cells.len();
            for row in block.rows() {
                let at = block.at(row);
                for c in 0..self.n {
                    field[c * len + at] -= update[(row - block.first_row) * self.n + c];
                }
            }
        }
    }

    fn take_back(&mut self, report: &mut StepReport) -> Result<(), SetupError> {
        report.rejected = true;
        if let Some(device) = self.accelerator.device_changes() {
            device.take_back()?;
        } else {
            for (field, good) in self.fields.iter_mut().zip(&self.last_good) {
                field.copy_from_slice(good);
            }
        }
        if !self.control.reject() {
            report.outcome = Some(Outcome::Diverged { iteration: self.course.iteration });
        }
        Ok(())
    }

    /// The present state is the solution of its time step.
    fn next_level(&mut self) -> Result<(), SetupError> {
        if let Some(device) = self.accelerator.device_changes() {
            device.next_level()?;
        } else {
            self.levels.swap(0, 1);
            self.levels[0] = self.rows_of_state();
        }
        self.course.next_level();
        self.control.forget();
        self.begin_step();
        let source = self.source.as_ref().map(|s| &s.1[..]);
        self.accelerator.device_mut().map_or(Ok(()), |device| device.take_given(&self.space.patches, source))
    }

    /// Brings what the host has changed to the device.
    pub(super) fn push(&mut self) -> Result<(), SetupError> {
        let source = self.source.as_ref().map(|s| &s.1[..]);
        self.accelerator.push(|device| {
            device.take_given(&self.space.patches, source)?;
            device.take_state(&self.fields, &self.levels)
        })
    }

    /// Brings the state from a device that computes to the host, where [`Self::state`], [`Self::fields`],
    /// [`Self::restart`] and others look at it. Nothing to do where no device computes.
    ///
    /// # Errors
    /// The device's.
    pub fn sync(&mut self) -> Result<(), SetupError> {
        let mut state =
            HostState { fields: &mut self.fields, levels: &mut self.levels, residual: &mut self.residual };
        self.accelerator.sync(|device| device.give_state(&mut state)).map(|_| ())
    }

    /// Runs until an outcome; `watch` sees every report and may end the run by returning false.
    pub fn run(&mut self, mut watch: impl FnMut(&StepReport) -> bool) -> Outcome {
        until_outcome(|| {
            let report = self.step();
            (watch(&report), report.outcome)
        })
    }

    /// Times of all steps so far.
    pub fn times(&self) -> Times {
        self.times
    }

    /// Iterations so far.
    pub fn iteration(&self) -> usize {
        self.course.iteration
    }

    /// Physical time of the last finished step.
    pub fn time(&self) -> f64 {
        self.course.time(&self.config.time)
    }
}
