//! The march in pseudo-time, and in time.

use super::config::{Config, Function};
use super::linear::{Linear, Solved, timed};
use super::report::{BadCell, StepReport, Times};
use super::space::Space;
use super::system::System;
use super::{SetupError, fill, ghosts, residual};
use crate::config::Time;
use crate::grid::Grid;
use crate::march::control::CflControl;
use crate::march::forces::ForceScale;
use crate::march::{Coefficients, Forces, MarkerForces};
use crate::parallel;
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
    /// Finished physical steps, and subiterations of the present one.
    pub(super) steps: usize,
    pub(super) subiteration: usize,
    /// What is added to each row per volume and time, see [`Solver::set_source`].
    source: Option<(Function, Vec<f64>)>,
    residual: Vec<f64>,
    /// Of each block, `[cells, n]`.
    update: Vec<Vec<f64>>,
    pub(super) system: System,
    pub(super) linear: Linear,
    pub(super) control: CflControl,
    pub(super) iteration: usize,
    pub(super) first_residual: Option<f64>,
    times: Times,
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
            steps: 0,
            subiteration: 0,
            source: None,
            residual: vec![0.0; rows * n],
            update: space.blocks.iter().map(|b| vec![0.0; b.cells.interior() * n]).collect(),
            system,
            linear,
            control: CflControl::new(config.implicit.cfl),
            iteration: 0,
            first_residual: None,
            times: Times::default(),
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
        self.steps = 0;
        self.start_levels();
    }

    /// Adds a source to each equation, per volume and time, as a function of place and time: what manufactured solutions
    /// need.
    pub fn set_source(&mut self, source: Function) {
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
            Time::Unsteady(u) => (self.steps + 1) as f64 * u.dt,
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
    ///
    /// BDF1 in the first step, (1, -1, 0)/dt, then BDF2, (3/2, -2, 1/2)/dt.
    fn time_factors(&self) -> Option<[f64; 3]> {
        let Time::Unsteady(unsteady) = self.config.time else { return None };
        let factors = if self.steps == 0 { [1.0, -1.0, 0.0] } else { [1.5, -2.0, 0.5] };
        Some(factors.map(|f| f / unsteady.dt))
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
    pub fn step(&mut self) -> StepReport {
        let start = Instant::now();
        let mut times = Times::default();
        self.iteration += 1;
        self.compute_residual(&mut times);
        let mut report =
            StepReport { iteration: self.iteration, cfl: self.control.value, ..StepReport::default() };
        timed(&mut times.misc, || {
            report.residual = self.norms();
            report.forces = self.forces();
        });
        if report.residual.iter().all(|r| r.is_finite()) {
            self.advance(&mut report, &mut times);
        } else {
            self.take_back(&mut report);
        }
        times.total = start.elapsed().as_secs_f64();
        report.times = times;
        self.times.add(&times);
        report
    }

    fn advance(&mut self, report: &mut StepReport, times: &mut Times) {
        let size = report.residual.iter().map(|r| r * r).sum::<f64>().sqrt();
        let first = *self.first_residual.get_or_insert(size);
        report.orders = if size > 0.0 { (first / size).log10() } else { f64::INFINITY };
        match self.config.time {
            Time::Steady(steady) => {
                if report.orders >= steady.orders {
                    report.outcome = Some(Outcome::Converged);
                    return;
                }
                if self.iteration >= steady.iterations {
                    report.outcome = Some(Outcome::IterationLimit);
                }
            }
            Time::Unsteady(unsteady) => {
                report.time_step = self.steps + 1;
                self.subiteration += 1;
                if report.orders >= unsteady.orders || self.subiteration > unsteady.subiterations {
                    self.next_level();
                    if self.steps >= unsteady.steps {
                        report.outcome = Some(Outcome::IterationLimit);
                    }
                    return;
                }
            }
        }
        self.assemble(times);
        let factored = timed(&mut times.factor, || self.linear.factor(&self.system, &self.team));
        if let Err(singular) = factored {
            let row = self.space.blocks[singular.at.block].first_row + singular.at.cell;
            report.bad = Some(self.bad_cell(row));
            return self.take_back(report);
        }
        let Solved { solves, residuals, reduction } =
            self.linear.solve(&self.system, &self.team, &self.residual, &mut self.update);
        times.solve += solves;
        times.correction += residuals;
        report.linear_reduction = Some(reduction);
        timed(&mut times.misc, || {
            self.keep_good();
            self.apply_update();
        });
        if self.update.iter().flatten().any(|v| !v.is_finite()) {
            report.bad = self.first_bad();
            return self.take_back(report);
        }
        self.control.accept(size, 0.0);
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

    fn take_back(&mut self, report: &mut StepReport) {
        report.rejected = true;
        if report.bad.is_none() {
            report.bad = self.first_bad();
        }
        for (field, good) in self.fields.iter_mut().zip(&self.last_good) {
            field.copy_from_slice(good);
        }
        if !self.control.reject() {
            report.outcome = Some(Outcome::Diverged { iteration: self.iteration });
        }
    }

    /// The present state is the solution of its time step.
    fn next_level(&mut self) {
        self.levels.swap(0, 1);
        self.levels[0] = self.rows_of_state();
        self.steps += 1;
        self.subiteration = 0;
        self.first_residual = None;
        self.control.forget();
        self.begin_step();
    }

    /// Runs until an outcome; `watch` sees every report and may end the run by returning false.
    pub fn run(&mut self, mut watch: impl FnMut(&StepReport) -> bool) -> Outcome {
        loop {
            let report = self.step();
            let go_on = watch(&report);
            if let Some(outcome) = report.outcome {
                return outcome;
            }
            if !go_on {
                return Outcome::IterationLimit;
            }
        }
    }

    fn norms(&self) -> Vec<f64> {
        let n = self.n;
        let sum = parallel::reduce(
            &self.team,
            self.space.rows,
            |rows| {
                let mut sum = vec![0.0; n];
                let mut number = self.space.blocks.partition_point(|b| b.rows().end <= rows.start);
                for row in rows {
                    while row >= self.space.blocks[number].rows().end {
                        number += 1;
                    }
                    let block = &self.space.blocks[number];
                    let volume = block.metrics.volume[block.at(row)];
                    for (s, r) in sum.iter_mut().zip(&self.residual[row * n..(row + 1) * n]) {
                        *s += r * r / volume;
                    }
                }
                sum
            },
            |all, part: Vec<f64>| {
                all.resize(n, 0.0);
                for (a, p) in all.iter_mut().zip(part) {
                    *a += p;
                }
            },
        );
        sum.into_iter().map(|s: f64| (s / self.space.volume).sqrt()).collect()
    }

    fn first_bad(&self) -> Option<BadCell> {
        let n = self.n;
        let good = |row: usize| {
            let (block, cell) = self.system.place(row);
            let (residual, update) = (&self.residual[row * n..][..n], &self.update[block][cell * n..][..n]);
            residual.iter().chain(update).all(|v| v.is_finite())
        };
        (0..self.space.rows).find(|&row| !good(row)).map(|row| self.bad_cell(row))
    }

    fn bad_cell(&self, row: usize) -> BadCell {
        let number = self.space.blocks.partition_point(|b| b.rows().end <= row);
        let block = &self.space.blocks[number];
        let (at, len) = (block.at(row), block.cells.len());
        BadCell {
            block: number,
            cell: block.cells.cell(at).map(|i| i as usize),
            at: std::array::from_fn(|c| block.metrics.center[c][at]),
            state: (0..self.n).map(|c| self.fields[number][c * len + at]).collect(),
        }
    }

    /// Force and moment coefficients of the present state on all walls; ghost cells must be filled, as they are after a
    /// step.
    pub fn forces(&self) -> Forces {
        let scale = self.force_scale();
        let walls = self.space.patches.iter().filter(|p| p.wall).map(|patch| {
            let (mut pressure, mut viscous) = (Coefficients::default(), Coefficients::default());
            let (block, field) = (&self.space.blocks[patch.block], &self.fields[patch.block]);
            for face in &patch.faces {
                let p = 0.5 * (field[face.cell] + field[face.ghost]);
                let flux = residual::boundary_flux(&self.config.fluid, block, field, face);
                pressure.add(&scale, face.center, face.n.map(|n| p * n));
                viscous.add(&scale, face.center, flux.friction);
            }
            (pressure, viscous)
        });
        self.forces_of(&scale, walls)
    }

    fn force_scale(&self) -> ForceScale {
        let reference = &self.config.reference;
        ForceScale {
            drag: reference.drag,
            lift: reference.lift,
            force: 0.5 * reference.velocity.powi(2) * reference.area,
            length: reference.length,
            center: reference.center,
            lift_y: reference.lift[1].abs() > reference.lift[2].abs(),
            pressure: 0.0,
        }
    }

    /// Markers and totals from pressure and friction of each patch of the walls.
    fn forces_of(
        &self,
        scale: &ForceScale,
        walls: impl Iterator<Item = (Coefficients, Coefficients)>,
    ) -> Forces {
        let counted = &self.config.reference.markers;
        let mut all = Forces::default();
        for (patch, (pressure, viscous)) in self.space.patches.iter().filter(|p| p.wall).zip(walls) {
            if counted.is_empty() || counted.contains(&patch.name) {
                all.pressure.merge(scale, &pressure);
                all.viscous.merge(scale, &viscous);
            }
            match all.markers.iter_mut().find(|m| m.name == patch.name) {
                Some(marker) => {
                    marker.pressure.merge(scale, &pressure);
                    marker.viscous.merge(scale, &viscous);
                }
                None => all.markers.push(MarkerForces { name: patch.name.clone(), pressure, viscous }),
            }
        }
        all.total.merge(scale, &all.pressure.clone());
        all.total.merge(scale, &all.viscous.clone());
        all
    }

    /// What flows out through a marker by time: volume, then each scalar's transport and diffusion.
    pub fn outflow(&self, marker: &str) -> Vec<f64> {
        let fluid = &self.config.fluid;
        let mut sum = vec![0.0; self.n - 3];
        for patch in self.space.patches.iter().filter(|p| p.name == marker) {
            let (block, field) = (&self.space.blocks[patch.block], &self.fields[patch.block]);
            let len = block.cells.len();
            for face in &patch.faces {
                let volume =
                    residual::boundary_flux(fluid, block, field, face).inviscid[0] / fluid.compressibility;
                sum[0] += volume;
                for (m, scalar) in fluid.scalars.iter().enumerate() {
                    let (mean, slope) = residual::at_face(block, &field[(4 + m) * len..(5 + m) * len], face);
                    sum[1 + m] += volume * mean - scalar.diffusivity * slope;
                }
            }
        }
        sum
    }

    /// Times of all steps so far.
    pub fn times(&self) -> Times {
        self.times
    }

    /// Iterations so far.
    pub fn iteration(&self) -> usize {
        self.iteration
    }

    /// Physical time of the last finished step.
    pub fn time(&self) -> f64 {
        match self.config.time {
            Time::Steady(_) => 0.0,
            Time::Unsteady(unsteady) => self.steps as f64 * unsteady.dt,
        }
    }
}
