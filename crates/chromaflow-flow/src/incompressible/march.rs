//! The march in pseudo-time, and in time.

use super::config::{Config, Function};
use super::linear::Linear;
use super::space::Space;
use super::system::System as Matrix;
use super::turbulence::{self, Turbulence};
use super::{fill, ghosts, residual};
use crate::config::Time;
use crate::grid::{Grid, Metrics};
use crate::march::control::CflControl;
use crate::march::{
    Advanced, BadPlace, FlowError, Holding, Host, LargestResidual, March, Measured, Moment, Part, Residuals,
    System, Times, over_ranks,
};
use crate::on_grid::{GridPart, OnGrid};
use crate::ranks::Ranks;
use chromaflow::dist::Share;
use chromaflow::sparse::ShapeError;
use chromaflow_comm::Op;
use chromaflow_device::Team;
use std::sync::Arc;

/// An implicit solver for one grid and one set-up, with its state.
pub type Solver = March<IncompressibleSystem>;

/// Largest CFL number of steps by the matrix alone before Newton-Krylov steps: beyond some times that what it holds fixed makes residuals grow.
const LARGEST_APART: f64 = 1e3;

/// Incompressible flow on one structured grid: the host's form.
pub struct IncompressibleSystem {
    pub(super) team: Arc<Team>,
    pub(super) config: Config,
    pub(super) space: Space,
    pub(super) turbulence: Option<Turbulence>,
    /// A place on the axis of turned sides, and the axis.
    pub(super) turns_about: Option<[[f64; 3]; 2]>,
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
    pub(super) system: Matrix,
    pub(super) linear: Linear,
    /// Of the present iteration.
    times: Times,
}

fn number(name: &str, value: f64, good: bool, expected: &'static str) -> Result<(), FlowError> {
    if good { Ok(()) } else { Err(FlowError::Value { name: name.to_owned().into(), value, expected }) }
}

impl Solver {
    /// Sets everything up; the state is the configured initial one.
    ///
    /// # Errors
    /// [`FlowError`] when the grid, a boundary condition or a number is wrong.
    pub fn new(grid: &Grid, config: Config, team: Arc<Team>) -> Result<Self, FlowError> {
        Self::on(grid, config, team, None)
    }

    /// As [`Solver::new`], over ranks, each of which has the grid and gets whole blocks of it. Rank 0 is then used as a solver alone would
    /// be, while the others [`follow`](Solver::follow). Collective.
    ///
    /// Factors are of blocks, and corrections go between them, whoever has them; sums are by blocks: all of it is the same, bit for bit, on
    /// any number of ranks.
    ///
    /// # Errors
    /// As [`Solver::new`]; [`FlowError::FewBlocks`]; [`FlowError::Ranks`].
    pub fn over_ranks(
        grid: &Grid,
        config: Config,
        team: Arc<Team>,
        ranks: &Ranks,
    ) -> Result<Self, FlowError> {
        Self::on(grid, config, team, Some(ranks))
    }

    fn on(grid: &Grid, config: Config, team: Arc<Team>, ranks: Option<&Ranks>) -> Result<Self, FlowError> {
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
        let space = Space::new(grid, &config, ranks)?;
        let (turbulence, near) = Turbulence::new(grid, &config, &space, &team)?.unzip();
        let (flow, n) = (fluid.unknowns(), turbulence::unknowns(fluid.unknowns(), turbulence.as_ref()));
        let walls = || space.part.patches.iter().filter(|(_, wall)| *wall).map(|(name, _)| name);
        if let Some(name) = config.reference.markers.iter().find(|name| !walls().any(|w| w == *name)) {
            return Err(FlowError::NoMarker { name: name.clone(), known: walls().cloned().collect() });
        }
        let initial: Vec<f64> = (0..n)
            .map(|c| {
                let default = if c < 4 || c >= flow { 0.0 } else { fluid.scalars[c - 4].reference };
                config.initial.get(c).copied().unwrap_or(default)
            })
            .collect();
        let mut fields: Vec<Vec<f64>> = space
            .blocks
            .iter()
            .map(|b| initial.iter().flat_map(|&v| std::iter::repeat_n(v, b.cells.len())).collect())
            .collect();
        if let (Some(turbulence), Some(near)) = (&turbulence, &near) {
            turbulence.start(&config, &space, near, &mut fields);
        }
        let fault = |e: ShapeError| FlowError::Linear(e.to_string());
        let matrix = Matrix::new(&space, n).map_err(fault)?;
        let linear = Linear::new(&matrix, config.implicit, &team).map_err(fault)?;
        let rows = space.rows;
        let mut control = CflControl::new(config.implicit.cfl);
        if let Some(newton) = config.implicit.newton {
            let cells = space.part.sum(space.blocks.iter().map(|b| b.rows().len() as f64));
            control =
                control.of_newton_steps().switched().with_directions(newton.directions, n * cells as usize);
        }
        let mut system = IncompressibleSystem {
            team,
            n,
            turns_about: grid.rotation().map(|rotation| [rotation.point, rotation.axis]),
            last_good: fields.clone(),
            fields,
            levels: [Vec::new(), Vec::new()],
            source: None,
            residual: vec![0.0; rows * n],
            update: space.blocks.iter().map(|b| vec![0.0; b.cells.interior() * n]).collect(),
            system: matrix,
            linear,
            times: Times::default(),
            space,
            turbulence,
            config,
        };
        let [fx, fy, fz] = system.config.force;
        if [fx, fy, fz] != [0.0; 3] {
            let force: Vec<f64> =
                [0.0, fx, fy, fz].into_iter().chain(std::iter::repeat_n(0.0, n - 4)).collect();
            system.source = Some((Arc::new(move |_, _| force.clone()), Vec::new()));
            system.begin_step(system.first_time());
        }
        system.start_levels();
        over_ranks::check(Host::share(&system))?;
        Ok(Self::of(system, control))
    }

    /// Sets the state by place: (p, u, v, w, scalars, unknowns of turbulence) at each cell's center.
    pub fn set_state(&mut self, state: impl Fn([f64; 3]) -> Vec<f64>) {
        let host = self.host_to_set();
        let mut rows = vec![0.0; host.space.rows * host.n];
        for block in &host.space.blocks {
            for row in block.rows() {
                let x = block.metrics.center(block.at(row));
                rows[row * host.n..(row + 1) * host.n].copy_from_slice(&state(x));
            }
        }
        host.set_rows(&rows);
        host.start_levels();
        self.progress.step = 0;
    }

    /// Adds a source to each equation, per volume and time, as a function of place and time, in the place of [`Config::force`]: what manufactured
    /// solutions need.
    pub fn set_source(&mut self, source: Function) {
        let time = self.progress.next_time(self.host.time());
        let host = self.host_to_set();
        host.source = Some((source, Vec::new()));
        host.begin_step(time);
    }
}

impl System for IncompressibleSystem {
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError> {
        let mut times = std::mem::take(&mut self.times);
        self.compute_residual(at, &mut times);
        let found = times.timed(Part::Misc, || {
            let mut squares = self.squares();
            let coupled = squares.split_off(self.config.fluid.unknowns());
            Measured::new(squares, self.wall_forces()).with_coupled(coupled)
        });
        self.times = times;
        over_ranks::check(Host::share(self))?;
        Ok(found)
    }

    fn advance(&mut self, at: &Moment) -> Result<Advanced, FlowError> {
        let mut times = std::mem::take(&mut self.times);
        let done = self.advance_timed(at, &mut times);
        self.times = times;
        over_ranks::check(Host::share(self))?;
        Ok(done)
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        for (field, good) in self.fields.iter_mut().zip(&self.last_good) {
            field.copy_from_slice(good);
        }
        Ok(())
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        self.levels.swap(0, 1);
        self.levels[0] = self.rows_of_state();
        Ok(())
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        Ok(std::mem::take(&mut self.times))
    }
}

impl Host for IncompressibleSystem {
    type Control = CflControl;

    fn time(&self) -> &Time {
        &self.config.time
    }

    fn time_mut(&mut self) -> &mut Time {
        &mut self.config.time
    }

    fn volume(&self) -> f64 {
        self.space.volume
    }

    fn rows(&self) -> usize {
        self.space.part.whole()
    }

    /// That of all equations: the pressure's alone says little.
    fn size(residual: &[f64]) -> f64 {
        residual.iter().map(|r| r * r).sum::<f64>().sqrt()
    }

    fn round_off(&self) -> Vec<f64> {
        vec![0.0; self.n - self.config.fluid.unknowns()]
    }

    fn starts_apart(&self) -> bool {
        let of = self.turbulence.as_ref().filter(|_| self.config.implicit.newton.is_some());
        of.is_some_and(|turbulence| turbulence.model.is_k_omega())
    }

    fn largest_apart(&self) -> f64 {
        LARGEST_APART
    }

    fn first_bad(&self) -> Option<usize> {
        self.space.part.lowest(self.first_bad_row())
    }

    fn place(&self, row: usize) -> BadPlace {
        self.place_of(row)
    }

    fn share(&self) -> Option<&Arc<Share>> {
        self.space.part.share()
    }

    fn holding(&self) -> Holding {
        // The stencil's.
        self.space.part.holding(1 + 2 * self.space.axes.len())
    }

    fn largest_of_ranks(&self) -> Option<Option<LargestResidual>> {
        self.largest()
    }

    fn residuals(&mut self, at: &Moment) -> Residuals {
        self.compute_residual(at, &mut Times::default());
        let volumes: Vec<f64> = self.volumes();
        let rows = self.residual.chunks_exact(self.n).zip(&volumes);
        let rates = rows.flat_map(|(r, volume)| r.iter().map(move |r| r / volume)).collect();
        Residuals { rates, equations: self.n, volumes }
    }

    fn begin_step(&mut self, time: f64) {
        let (n, given) = (self.n, self.config.fluid.unknowns() - 1);
        for patch in &mut self.space.patches {
            if let Some(function) = patch.function.clone() {
                patch.set_given(|x| function(x, time), given).expect("as many values as at first");
            }
        }
        if let Some((function, values)) = &mut self.source {
            values.clear();
            for block in &self.space.blocks {
                values.extend(block.cells.places().flat_map(|at| function(block.metrics.center(at), time)));
            }
            assert_eq!(values.len(), self.space.rows * n, "a source has one value for each equation");
        }
    }
}

impl OnGrid for IncompressibleSystem {
    fn part(&self) -> &GridPart {
        &self.space.part
    }

    fn metrics(&self, block: usize) -> &Metrics {
        &self.space.blocks[block].metrics
    }

    fn seen(&self, block: usize, at: usize) -> (Option<String>, Vec<f64>, &'static str) {
        let len = self.space.blocks[block].cells.len();
        let state = self.fields[block].iter().skip(at).step_by(len).copied();
        (None, state.collect(), "pressure, velocity, scalars, turbulence")
    }

    fn residual_part(&self, block: usize, at: usize) -> f64 {
        let row = self.space.part.row(block, at);
        let residual = &self.residual[row * self.n..][..self.n];
        residual.iter().map(|r| r * r).sum::<f64>() / self.space.blocks[block].metrics.volume[at]
    }
}

impl IncompressibleSystem {
    /// The present state becomes the first time level of an unsteady run.
    pub(super) fn start_levels(&mut self) {
        if let Time::Unsteady(_) = self.config.time {
            let rows = self.rows_of_state();
            self.levels = [rows.clone(), rows];
            self.begin_step(self.first_time());
        }
    }

    /// The end of the first physical step.
    fn first_time(&self) -> f64 {
        match self.config.time {
            Time::Steady(_) => 0.0,
            Time::Unsteady(u) => u.dt,
        }
    }

    /// Keeps the present state as the last good one.
    pub(super) fn keep_good(&mut self) {
        self.last_good.clone_from(&self.fields);
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

    /// Takes the state from rows; it is the one that rejected steps return to.
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
        self.keep_good();
    }

    /// All ghost cells, and with them the terms of turbulence.
    pub(super) fn fill_ghosts(&mut self, times: &mut Times) {
        let models = (&self.config.fluid, &mut self.turbulence);
        ghosts::fill(&self.team, &self.space, models, &mut self.fields, times);
    }

    /// The steady residual of the present state; ghost cells must be filled.
    pub(super) fn find_steady(&self, out: &mut [f64]) {
        let models = (&self.config.fluid, self.turbulence.as_ref());
        residual::residual(&self.team, &self.space, models, self.config.space, &self.fields, out);
    }

    fn compute_residual(&mut self, at: &Moment, times: &mut Times) {
        self.find_unmeasured(at, times);
        times.timed(Part::TimeStep, || {
            if let Some(turbulence) = &self.turbulence {
                turbulence.scale_residual(&self.space, &self.fields, &mut self.residual);
            }
        });
    }

    pub(super) fn add_time_and_source(&mut self, at: &Moment) {
        let factors = at.time_factors();
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

    /// The implicit part of a step.
    fn advance_timed(&mut self, at: &Moment, times: &mut Times) -> Advanced {
        self.assemble(at, times);
        let factored = times.timed(Part::Factor, || self.linear.factor(&self.system, &self.team));
        let singular =
            factored.err().map(|found| self.space.blocks[found.at.block].first_row + found.at.cell);
        if let Some(row) = self.space.part.lowest(singular) {
            return Advanced { singular: Some(row), ..Advanced::default() };
        }
        let reduction = if let (Some(options), true) = (self.config.implicit.newton, at.together) {
            self.solve_newton(at, &options, times)
        } else {
            let b = std::mem::take(&mut self.residual);
            let reduction = self.solve_plain(&b, times);
            self.residual = b;
            reduction
        };
        times.timed(Part::Misc, || {
            self.keep_good();
            let mut limited = self.apply_update();
            if let (Some(_), Some(share)) = (&self.turbulence, self.space.part.share()) {
                let mut all = [limited as f64];
                share.reduce(Op::Sum, &mut all);
                limited = all[0] as usize;
            }
            let finite = self.update.iter().flatten().all(|v| v.is_finite());
            let bad = self.space.part.lowest(if finite { None } else { self.first_bad_row() });
            Advanced { reduction: Some(reduction), bad, limited, ..Advanced::default() }
        })
    }

    /// The matrix at the present state; ghost cells must be filled.
    fn assemble(&mut self, at: &Moment, times: &mut Times) {
        let (team, space) = (&self.team, &self.space);
        let (fluid, turbulence) = (&self.config.fluid, self.turbulence.as_ref());
        let models = (fluid, turbulence);
        times.timed(Part::Assembly, || fill::fill(team, space, models, &self.fields, &mut self.system));
        times.timed(Part::TimeStep, || {
            let (steps, system) = ((at.cfl, at.time_shift()), (&self.residual[..], &mut self.system));
            fill::add_time_step(team, space, models, &self.fields, steps, system);
        });
        if let Some(turbulence) = turbulence {
            times.timed(Part::Assembly, || turbulence.scale_matrix(space, &self.fields, &mut self.system));
        }
    }

    /// Residual and matrix at the present state.
    pub(super) fn prepare_system(&mut self, at: &Moment) {
        let mut times = Times::default();
        self.compute_residual(at, &mut times);
        self.assemble(at, &mut times);
    }

    /// q -= A^-1 R; the number of cells whose update was cut.
    fn apply_update(&mut self) -> usize {
        let (flow, mut cut) = (self.config.fluid.unknowns(), 0);
        for ((block, field), update) in self.space.blocks.iter().zip(&mut self.fields).zip(&self.update) {
            let len = block.cells.len();
            for row in block.rows() {
                let at = block.at(row);
                let update = &update[(row - block.first_row) * self.n..][..self.n];
                for c in 0..flow {
                    field[c * len + at] -= update[c];
                }
                if let Some(turbulence) = &self.turbulence {
                    cut += usize::from(turbulence.update(field, len, at, update));
                }
            }
        }
        cut
    }
}
