//! Compressible flow on structured multi-block grids by approximate factorization.
//!
//! Cell-centered finite volumes on a [`Grid`]: central fluxes with scalar or matrix dissipation, or Roe's between
//! extrapolations; viscous terms; and the Beam-Warming step in delta form,
//! ```text
//! L_i L_j L_k dq = -dt/V R(q),    L_d = I + dt/V (A_{d+1/2} - A_{d-1/2}),
//! ```
//! whose three factors are block-tridiagonal systems, one a grid line, solved by [`chromaflow::tridiag`]. Lines end at
//! interfaces between blocks (where an O-grid meets itself they are periodic); blocks are coupled through ghost cells.
//!
//! Equations, scales, pointwise physics and boundary conditions are those of the unstructured solver
//! ([`crate::gas`], [`crate::flux`], [`crate::bc`]).
//!
//! **Source**: Beam & Warming, *An implicit factored scheme for the compressible Navier-Stokes equations* (1978); Pulliam &
//! Steger, *Implicit finite-difference simulations of three-dimensional compressible flow* (1980); Stone, Duque, Zhang,
//! Car, Owens & Davis, *GPGPU parallel algorithms for structured-grid CFD codes* (2011), section IV.

mod access;
mod block;
mod boundary;
mod config;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod diagonal;
pub mod lax_wendroff;
mod lines;
mod measure;
mod newton;
mod output;
mod over_ranks;
mod residual;
mod setup;
mod shear;
mod ssor;
mod start;
#[cfg(test)]
mod tests;
mod turbulence;
mod waves;

pub use crate::march::PartTime;
pub use config::{LineImplicit, LocalStep, Scheme, StepMethod, StructuredConfig, ViscousTerms};
pub use setup::lift_axis;
pub use waves::{
    WaveFace, from_waves, middle_state, to_waves, unit_normal, wave_face, wave_rows, wave_weights,
};

use crate::config::Time;
use crate::equations::perfect_gas::{N, State};
use crate::equations::{Equations, PerfectGas};
use crate::gas::{conserved, mach, primitive};
use crate::grid::{Grid, Metrics};
use crate::march::control::CflControl;
use crate::march::forces::ForceScale;
use crate::march::{
    Advanced, BadPlace, Bdf, Coefficients, FlowError, Holding, Host, LargestResidual, March, Measured,
    Moment, Part, Residuals, System, Times, next_cfl_share, over_ranks as ranks, update_share,
};
use crate::on_grid::{GridPart, OnGrid, WallLoads};
use block::{BlockState, each_row_beside};
use boundary::PatchState;
use boundary::turned::TurnedFace;
use chromaflow::dist::Share;
use chromaflow_device::Team;
use lines::LineSolver;
use newton::GridNewton;
use over_ranks::Over;
use residual::Physics;
use ssor::Ssor;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A solver for one grid and one set-up, with its state.
pub type StructuredSolver = March<StructuredSystem>;

/// Compressible flow on one structured grid: the host's form.
pub struct StructuredSystem {
    team: Arc<Team>,
    config: StructuredConfig,
    grid: Grid,
    physics: Physics,
    blocks: Vec<BlockState>,
    patches: Vec<PatchState>,
    /// What this rank has of the grid: `blocks`, and the patches on them.
    part: GridPart,
    /// Where there are ranks.
    over: Option<Over>,
    /// Faces that see one another in other axes, where these show.
    turned: Vec<TurnedFace>,
    lines: LineSolver,
    ssor: Ssor,
    /// None where steps are plain ones.
    newton: Option<Box<GridNewton>>,
    scale: ForceScale,
    free: State,
    /// Volume of the domain.
    volume: f64,
    /// A density residual that is nothing but rounding errors.
    round_off: f64,
    /// Of the present iteration.
    times: Times,
}

impl System for StructuredSystem {
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError> {
        let mut times = std::mem::take(&mut self.times);
        let walls = times.timed(Part::Residual, || {
            self.adapt_outlets();
            self.patches.iter_mut().for_each(|patch| patch.condition.hold());
            self.compute_residual(at.bdf)
        });
        let found = times.timed(Part::Misc, || self.measured(walls));
        self.times = times;
        ranks::check(Host::share(self))?;
        Ok(found)
    }

    fn advance(&mut self, at: &Moment) -> Result<Advanced, FlowError> {
        if let Some(newton) = &mut self.newton {
            newton.make_ready(&self.team)?;
        }
        let mut times = std::mem::take(&mut self.times);
        let solved = times.timed(Part::LinearSolver, || self.solve_update(at));
        let done = match solved {
            Err(cell) => Advanced { singular: Some(cell), ..Advanced::default() },
            Ok(reduction) => times.timed(Part::Misc, || {
                let (limited, unphysical) = self.apply_update();
                let bad = if unphysical > 0 { self.first_bad() } else { None };
                Advanced { reduction, limited, bad, ..Advanced::default() }
            }),
        };
        self.times = times;
        ranks::check(Host::share(self))?;
        Ok(done)
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        for block in &mut self.blocks {
            block.w.copy_from_slice(&block.last_good);
            block.eddies.values.copy_from_slice(&block.eddies.last_good);
        }
        Ok(())
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        for block in &mut self.blocks {
            block.levels.swap(0, 1);
            block.levels[0].copy_from_slice(&block.w);
            block.eddies.next_level();
        }
        Ok(())
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        Ok(std::mem::take(&mut self.times))
    }

    fn parts(&mut self, at: &Moment, repeats: usize) -> Result<Vec<PartTime>, FlowError> {
        Ok(self.measure_here(at, repeats))
    }
}

impl Host for StructuredSystem {
    type Control = CflControl;

    fn problem(&self) -> String {
        self.config.problem()
    }

    fn time(&self) -> &Time {
        &self.config.time
    }

    fn time_mut(&mut self) -> &mut Time {
        &mut self.config.time
    }

    fn volume(&self) -> f64 {
        self.volume
    }

    fn rows(&self) -> usize {
        self.grid.cells()
    }

    fn flow_round_off(&self) -> f64 {
        self.round_off
    }

    fn round_off(&self) -> Vec<f64> {
        match &self.over {
            None => self.turbulence_round_off(0..self.blocks.len()),
            Some(over) => over.round_off.clone(),
        }
    }

    fn starts_apart(&self) -> bool {
        self.physics.turbulence.is_some_and(|turbulence| turbulence.is_k_omega())
    }

    fn first_bad(&self) -> Option<usize> {
        self.part.lowest(self.first_bad_cell().map(|(b, at)| self.part.row(b, at)))
    }

    fn place(&self, row: usize) -> BadPlace {
        self.place_of(row)
    }

    fn share(&self) -> Option<&Arc<Share>> {
        self.part.share()
    }

    fn holding(&self) -> Holding {
        self.part.holding(0)
    }

    fn largest_of_ranks(&self) -> Option<Option<LargestResidual>> {
        self.largest()
    }

    fn residuals(&mut self, at: &Moment) -> Residuals {
        let rates = self.rates(at.bdf).into_flattened();
        Residuals { rates, equations: N, volumes: self.volumes() }
    }

    fn mach_and_pressure(&self, row: usize) -> Option<[f64; 2]> {
        let (block, at) = self.part.locate(row);
        let w = self.blocks[block].state(at);
        Some([mach(self.physics.gas, &w), w[4] / self.free[4]])
    }
}

impl OnGrid for StructuredSystem {
    fn part(&self) -> &GridPart {
        &self.part
    }

    fn metrics(&self, block: usize) -> &Metrics {
        &self.blocks[block].metrics
    }

    fn seen(&self, b: usize, at: usize) -> (Option<String>, Vec<f64>, &'static str) {
        let block = &self.blocks[b];
        let cell = block.cells.cell(at).map(|n| n as usize);
        // Every cell of a layer lies on its two planes, which says nothing.
        let thin = self.grid.planar_axis();
        let touches = |p: &&PatchState| {
            let here = p.window.block == b && thin != Some(p.window.side.axis);
            here && p.faces.iter().any(|(other, _)| *other == cell)
        };
        let marker = self.patches.iter().find(touches).map(|p| p.name.clone());
        (marker, conserved(self.physics.gas, &block.state(at)).to_vec(), PerfectGas::CONSERVED)
    }

    fn residual_part(&self, block: usize, at: usize) -> f64 {
        let block = &self.blocks[block];
        let place = block.residual_at(block.cells.cell(at).map(|i| i as usize));
        block.r[place].powi(2) / block.metrics.volume[at]
    }
}

impl StructuredSystem {
    /// States beyond boundaries and interfaces. Viscous terms also need those beyond edges, which come with a second round.
    fn fill_ghosts(&mut self) {
        if self.config.takes_newton() {
            self.adapt_outlets();
        }
        let rounds = if self.physics.transport.is_some() { 2 } else { 1 };
        for _ in 0..rounds {
            for patch in &self.patches {
                boundary::fill_ghosts(&self.team, &self.physics, patch, &mut self.blocks[patch.window.block]);
            }
            if !self.part.exchange.is_empty() {
                let mut fields: Vec<&mut [f64]> = self.blocks.iter_mut().map(|b| &mut b.w[..]).collect();
                self.part.exchange.fill_states(&mut fields, N);
            }
        }
    }

    /// R: the sum of fluxes out of each cell, and in unsteady runs the change in time; forces of pressure and friction on the walls.
    fn compute_residual(&mut self, bdf: Option<Bdf>) -> WallLoads {
        self.fill_ghosts();
        if let Some(model) = self.physics.turbulence {
            let (patches, blocks) = (&self.patches, &mut self.blocks);
            turbulence::prepare(&self.team, &self.physics, model, patches, blocks, &self.part.exchange);
        }
        let walls = self.flow_residual(bdf);
        if let Some(model) = self.physics.turbulence {
            turbulence::residual(&self.team, &self.physics, model, &self.patches, &mut self.blocks, bdf);
        }
        walls
    }

    /// Jumps of pressure between neighbors, for Roe's flux. Faces of the boundary have fluxes of their own and need none beyond them.
    fn find_jumps(&mut self) {
        if !matches!(self.physics.scheme, Scheme::Roe { .. }) {
            return;
        }
        for block in &mut self.blocks {
            residual::find_jumps(&self.team, block);
        }
        if !self.part.exchange.is_empty() {
            let mut fields: Vec<&mut [f64]> = self.blocks.iter_mut().map(|b| &mut b.jumps[..]).collect();
            self.part.exchange.fill(&mut fields, 1);
        }
    }

    /// The flow's part, with the ghosts and eddy viscosities that are there.
    fn flow_residual(&mut self, bdf: Option<Bdf>) -> WallLoads {
        self.find_jumps();
        for block in &mut self.blocks {
            residual::residual(&self.team, &self.physics, block);
            turbulence::add_quadratic(&self.team, &self.physics, &self.patches, block);
        }
        if !self.turned.is_empty() {
            self.join_turned_fluxes();
        }
        let mut walls = Vec::new();
        let scale = &self.scale;
        for (number, patch) in self.patches.iter().enumerate() {
            let mut pressure = Coefficients::default();
            let mut viscous = Coefficients::default();
            boundary::add_fluxes(
                &self.team,
                &self.physics,
                patch,
                &mut self.blocks[patch.window.block],
                |x, n, p, friction| {
                    pressure.add(scale, x, n.map(|v| (p - scale.pressure) * v));
                    viscous.add(scale, x, friction);
                },
            );
            if patch.condition.kind.is_wall() {
                walls.push((number, [pressure, viscous]));
            }
        }
        if let Some(bdf) = bdf {
            self.add_time_derivative(bdf);
        }
        walls
    }

    /// Second-order backward differences; first order in the first step.
    fn add_time_derivative(&mut self, Bdf { weights, dt }: Bdf) {
        let gas = self.physics.gas;
        for block in &mut self.blocks {
            let (ni, len) = (block.cells.count[0], block.cells.len());
            for row in 0..block.rows() {
                let start = block.row(row);
                for i in 0..ni {
                    let at = start + i;
                    let scale = block.metrics.volume[at] / dt;
                    let level = |w: &[f64]| conserved(gas, &std::array::from_fn(|c| w[c * len + at]));
                    let (now, last, before) =
                        (level(&block.w), level(&block.levels[0]), level(&block.levels[1]));
                    for c in 0..N {
                        // Differences first: they are small beside the values.
                        let change = weights[0] * (now[c] - last[c]) + weights[2] * (before[c] - last[c]);
                        block.r[row * N * ni + c * ni + i] += scale * change;
                    }
                }
            }
        }
    }

    /// Local time steps and the implicit step of all blocks: the residual becomes the update. What is left of the linear system's
    /// residual, where that is known, or the number of a cell whose block cannot be inverted.
    fn solve_update(&mut self, at: &Moment) -> Result<Option<f64>, usize> {
        let implicit = self.config.implicit;
        if let Some(mut newton) = self.newton.take() {
            let solved = self.solve_newton(&mut newton, at);
            self.newton = Some(newton);
            return solved;
        }
        for block in &mut self.blocks {
            let local = implicit.local_step;
            residual::time_steps(&self.team, &self.physics, at.cfl, local, block);
            if let Some(Bdf { weights, dt: step }) = at.bdf {
                // (1 + weight dt / DT) I in each factor's place, divided out.
                for dt in &mut block.dt {
                    *dt /= 1.0 + weights[0] * *dt / step;
                }
            }
        }
        let solved = self.solve_implicit();
        self.all_regular(solved).map(|()| None)
    }

    /// The implicit step with the present residual and time steps.
    fn solve_implicit(&mut self) -> Result<(), (usize, usize)> {
        let (implicit, dissipation) = (self.config.implicit, self.config.implicit_dissipation());
        if let StepMethod::Ssor { sweeps, relaxation } = implicit.method {
            self.ssor.solve(
                &self.team,
                &self.physics,
                dissipation,
                (sweeps, relaxation),
                &self.patches,
                &mut self.blocks,
                &self.part.exchange,
            );
            return Ok(());
        }
        let mut result = Ok(());
        for (b, block) in self.blocks.iter_mut().enumerate() {
            let solved = self.lines.factors(
                &self.team,
                &self.physics,
                (implicit.method, dissipation),
                &self.patches,
                block,
            );
            result = result.and(solved.map_err(|at| (b, at)));
        }
        result
    }

    /// q <- q + dq, each cell's update cut so that density and pressure change by `max_change` at most. Returns the
    /// numbers of cells cut and of cells left without a physical state.
    fn apply_update(&mut self) -> (usize, usize) {
        let gas = self.physics.gas;
        let [most, rise, velocity] = self.config.max_changes();
        let (limited, unphysical) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for block in &mut self.blocks {
            block.last_good.copy_from_slice(&block.w);
            let (cells, r) = (block.cells, &block.r);
            let ni = cells.count[0];
            let shares = &mut block.cfl_shares[..];
            let width = if shares.is_empty() { 0 } else { ni };
            let beside = (width, shares);
            each_row_beside(&self.team, cells, &mut block.w, beside, |row, w: &mut [_; N], shares| {
                let (mut cut, mut bad) = (0, 0);
                for i in 0..ni {
                    let old: State = std::array::from_fn(|c| w[c][i]);
                    let q = conserved(gas, &old);
                    let x: State = std::array::from_fn(|c| -r[(row * N + c) * ni + i]);
                    let share = update_share(gas, &q, &old, &x, most, rise, velocity);
                    let new = primitive(gas, &std::array::from_fn(|c| q[c] - share * x[c]));
                    if let Some(of_cfl) = shares.get_mut(i) {
                        *of_cfl = next_cfl_share(*of_cfl, share);
                    }
                    cut += usize::from(share < 1.0);
                    bad += usize::from(!PerfectGas::is_admissible(&new));
                    for c in 0..N {
                        w[c][i] = new[c];
                    }
                }
                limited.fetch_add(cut, Ordering::Relaxed);
                unphysical.fetch_add(bad, Ordering::Relaxed);
            });
        }
        let (mut limited, mut unphysical) = (limited.into_inner(), unphysical.into_inner());
        let mut cut_beside = 0;
        if let Some(model) = self.physics.turbulence {
            let all = self.blocks.iter_mut().map(|block| block.update_turbulence(model));
            let [cut, bad] = all.fold([0; 2], |sums, of| [sums[0] + of[0], sums[1] + of[1]]);
            (cut_beside, unphysical) = (cut, unphysical + bad);
        }
        [limited, cut_beside, unphysical] = self.count([limited, cut_beside, unphysical]);
        (limited.max(cut_beside), unphysical)
    }

    /// What is known of the present residual; sums over ranks are by blocks.
    fn measured(&self, walls: WallLoads) -> Measured {
        let mut squares = [0.0; N];
        let (squares, coupled) = match &self.part.over {
            None => {
                self.blocks.iter().for_each(|block| self.add_squares(block, &mut squares));
                (squares.to_vec(), self.turbulence_squares(0..self.blocks.len()))
            }
            Some(over) => {
                let of = |(b, block): (usize, &BlockState)| {
                    let mut sums = [0.0; N];
                    self.add_squares(block, &mut sums);
                    [sums.to_vec(), self.turbulence_squares(b..b + 1)].concat()
                };
                let width = N + self.turbulence_squares(0..0).len();
                let mut squares = over.sum_blocks(width, self.blocks.iter().enumerate().map(of));
                let coupled = squares.split_off(N);
                (squares, coupled)
            }
        };
        let forces = self.part.forces(&self.scale, |wall| self.config.reference.counts(wall), walls);
        Measured::new(squares, forces).with_coupled(coupled)
    }

    /// Adds the sums of R^2/V over a block.
    fn add_squares(&self, block: &BlockState, all: &mut State) {
        let ni = block.cells.count[0];
        let mut sums = vec![[0.0; N]; block.rows()];
        crate::parallel::rows(&self.team, block.rows(), 1, &mut sums, |rows, sums| {
            for (row, sum) in rows.zip(sums) {
                let start = block.row(row);
                for c in 0..N {
                    let r = &block.r[(row * N + c) * ni..][..ni];
                    let volume = &block.metrics.volume[start..start + ni];
                    sum[c] = r.iter().zip(volume).map(|(r, v)| r * r / v).sum();
                }
            }
        });
        for sum in sums {
            for c in 0..N {
                all[c] += sum[c];
            }
        }
    }
}
