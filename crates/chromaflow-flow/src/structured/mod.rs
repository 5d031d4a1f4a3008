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

mod accelerator;
mod access;
mod beyond;
mod block;
mod boundary;
mod config;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod diagonal;
#[cfg(test)]
mod flows;
pub mod lax_wendroff;
mod lines;
mod measure;
#[cfg(test)]
mod methods;
mod output;
mod residual;
mod setup;
mod ssor;
#[cfg(test)]
mod tests;
mod waves;

pub use beyond::{
    continued_state, face_flow, face_state, ghost_states, pressure_on, wall_gradient, wall_pressure,
};
pub use config::{LineImplicit, LocalStep, Scheme, StepMethod, StructuredConfig, ViscousTerms};
pub use measure::PartTime;
pub use waves::{
    WaveFace, from_waves, middle_state, to_waves, unit_normal, wave_face, wave_rows, wave_weights,
};

use crate::gas::{conserved, primitive};
use crate::grid::{Exchange, Grid};
use crate::march::control::CflControl;
use crate::march::course::{Course, Next};
use crate::march::forces::ForceScale;
use crate::march::{
    Coefficients, FlowError, Forces, MarkerForces, StepReport, Times, timed, until_outcome, update_share,
};
use crate::offload::Offload;
use accelerator::Accelerator;
use block::{BlockState, each_row};
use boundary::PatchState;
use chromaflow::Outcome;
use chromaflow_device::Team;
use lines::LineSolver;
use residual::Physics;
use ssor::Ssor;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A solver for one grid and one set-up, with its state.
pub struct StructuredSolver {
    team: Arc<Team>,
    config: StructuredConfig,
    grid: Grid,
    physics: Physics,
    blocks: Vec<BlockState>,
    patches: Vec<PatchState>,
    exchange: Exchange,
    lines: LineSolver,
    ssor: Ssor,
    scale: ForceScale,
    free: [f64; 5],
    /// Volume of the domain.
    volume: f64,
    control: CflControl,
    forces: Forces,
    course: Course,
    times: Times,
    /// A device that computes in place of the team.
    accelerator: Offload<dyn Accelerator>,
}

impl StructuredSolver {
    /// One iteration: residual, line systems, update.
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
        let mut times = Times::default();
        self.course.iteration += 1;
        self.push()?;
        let mut report =
            StepReport { iteration: self.course.iteration, cfl: self.control.value, ..StepReport::default() };
        let bad = self.look(&mut report, &mut times)?;
        if report.residual.iter().all(|r| r.is_finite()) {
            self.advance(&mut report, &mut times)?;
        } else {
            self.sync()?;
            report.bad = bad.map(|(block, at)| self.bad_cell(block, at)).or_else(|| self.first_bad());
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

    /// The residual of the present state, its norms, the forces; on a device the first cell where they are not finite.
    fn look(
        &mut self,
        report: &mut StepReport,
        times: &mut Times,
    ) -> Result<Option<(usize, usize)>, FlowError> {
        let change = self.config.unsteady().map(|unsteady| (self.course.time_weights(), unsteady.dt));
        if let Some(device) = self.accelerator.device_changes() {
            let found = device.residual(change)?;
            report.residual = found.squares.map(|s| (s / self.volume).sqrt());
            let walls = self.patches.iter().filter(|p| p.condition.kind.is_wall()).zip(&found.walls);
            let scale = self.scale;
            self.forces = forces_of(
                &scale,
                walls.map(|(patch, [pressure, moment, friction, turning])| {
                    let of = |force, moment| Coefficients::from_sums(&scale, force, moment);
                    (patch.name.as_str(), of(*pressure, *moment), of(*friction, *turning))
                }),
            );
            report.forces = self.forces.clone();
            return Ok(found.bad.map(|number| self.locate(number)));
        }
        timed(&mut times.rhs, || self.compute_residual());
        timed(&mut times.misc, || {
            report.residual = self.norms();
            report.forces = self.forces.clone();
        });
        Ok(None)
    }

    fn advance(&mut self, report: &mut StepReport, times: &mut Times) -> Result<(), FlowError> {
        let density = report.residual[0];
        let verdict = self.course.judge(&self.config.time, density);
        (report.orders, report.time_step, report.outcome) =
            (verdict.orders, verdict.time_step, verdict.outcome);
        match verdict.next {
            Next::Keep => return Ok(()),
            Next::Level => return self.next_time_level(),
            Next::Update => {}
        }
        self.update(report, times)?;
        if report.bad.is_some() {
            return self.take_back(report);
        }
        let cells = self.grid.cells();
        self.control.accept(density, report.limited as f64 / cells as f64);
        // Residuals fall slowly here as a rule: that is no stall.
        self.control.ceiling = self.config.implicit.cfl.max;
        Ok(())
    }

    /// The implicit part of a step; sets `report.bad` where it left no state.
    fn update(&mut self, report: &mut StepReport, times: &mut Times) -> Result<(), FlowError> {
        let rate = self.config.unsteady().map_or(0.0, |unsteady| self.course.time_weights()[0] / unsteady.dt);
        if let Some(device) = self.accelerator.device_changes() {
            let done = device.advance(self.control.value, rate)?;
            report.limited = done.limited;
            if let Some(number) = done.singular.or(done.bad) {
                self.sync()?;
                let (block, at) = self.locate(number);
                report.bad = Some(self.bad_cell(block, at));
            }
            return Ok(());
        }
        let broken = timed(&mut times.linear_solver, || self.solve_update());
        if let Err((block, at)) = broken {
            report.bad = Some(self.bad_cell(block, at));
            return Ok(());
        }
        timed(&mut times.misc, || {
            let unphysical;
            (report.limited, unphysical) = self.apply_update();
            if unphysical > 0 {
                report.bad = self.first_bad();
            }
        });
        Ok(())
    }

    fn take_back(&mut self, report: &mut StepReport) -> Result<(), FlowError> {
        report.rejected = true;
        if let Some(device) = self.accelerator.device_changes() {
            device.take_back()?;
        } else {
            for block in &mut self.blocks {
                block.w.copy_from_slice(&block.last_good);
            }
        }
        if !self.control.reject() {
            report.outcome = Some(Outcome::Diverged { iteration: self.course.iteration });
        }
        Ok(())
    }

    /// Runs until an outcome; `watch` sees every report and may end the run by returning false.
    pub fn run(&mut self, mut watch: impl FnMut(&StepReport) -> bool) -> Outcome {
        until_outcome(|| {
            let report = self.step();
            (watch(&report), report.outcome)
        })
    }

    /// States beyond boundaries and interfaces. Viscous terms also need those beyond edges, which come with a second round.
    fn fill_ghosts(&mut self) {
        let rounds = if self.physics.transport.is_some() { 2 } else { 1 };
        for _ in 0..rounds {
            for patch in &self.patches {
                boundary::fill_ghosts(&self.team, &self.physics, patch, &mut self.blocks[patch.window.block]);
            }
            if !self.exchange.is_empty() {
                let mut fields: Vec<&mut [f64]> = self.blocks.iter_mut().map(|b| &mut b.w[..]).collect();
                self.exchange.fill(&mut fields, 5);
            }
        }
    }

    /// R: the sum of fluxes out of each cell, and in unsteady runs the change in time.
    fn compute_residual(&mut self) {
        boundary::adapt_outlets(self.physics.gas, &mut self.patches, &self.blocks);
        self.fill_ghosts();
        for block in &mut self.blocks {
            residual::residual(&self.team, &self.physics, block);
        }
        let mut walls = Vec::new();
        let scale = &self.scale;
        for patch in &self.patches {
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
                walls.push((patch.name.as_str(), pressure, viscous));
            }
        }
        self.forces = forces_of(scale, walls);
        if let Some(unsteady) = self.config.unsteady() {
            self.add_time_derivative(unsteady.dt);
        }
    }

    /// Second-order backward differences; first order in the first step.
    fn add_time_derivative(&mut self, dt: f64) {
        let gas = self.physics.gas;
        let weights = self.course.time_weights();
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
                    for c in 0..5 {
                        // Differences first: they are small beside the values.
                        let change = weights[0] * (now[c] - last[c]) + weights[2] * (before[c] - last[c]);
                        block.r[row * 5 * ni + c * ni + i] += scale * change;
                    }
                }
            }
        }
    }

    fn next_time_level(&mut self) -> Result<(), FlowError> {
        if let Some(device) = self.accelerator.device_changes() {
            device.next_time_level()?;
        } else {
            for block in &mut self.blocks {
                block.levels.swap(0, 1);
                block.levels[0].copy_from_slice(&block.w);
            }
        }
        self.course.next_level();
        self.control.forget();
        Ok(())
    }

    /// Local time steps and the implicit step of all blocks: the residual becomes the update.
    fn solve_update(&mut self) -> Result<(), (usize, usize)> {
        let weight = self.course.time_weights()[0];
        let unsteady = self.config.unsteady();
        let implicit = self.config.implicit;
        for block in &mut self.blocks {
            let local = implicit.local_step;
            residual::time_steps(&self.team, &self.physics, self.control.value, local, block);
            if let Some(unsteady) = unsteady {
                // (1 + weight dt / DT) I in each factor's place, divided out.
                for dt in &mut block.dt {
                    *dt /= 1.0 + weight * *dt / unsteady.dt;
                }
            }
        }
        self.solve_implicit()
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
                &self.exchange,
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
        let (gas, most) = (self.physics.gas, self.config.implicit.max_change);
        let (limited, unphysical) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for block in &mut self.blocks {
            block.last_good.copy_from_slice(&block.w);
            let (cells, r) = (block.cells, &block.r);
            let ni = cells.count[0];
            each_row(&self.team, cells, &mut block.w, |row, w| {
                let (mut cut, mut bad) = (0, 0);
                for i in 0..ni {
                    let old: [f64; 5] = std::array::from_fn(|c| w[c][i]);
                    let q = conserved(gas, &old);
                    let x: [f64; 5] = std::array::from_fn(|c| -r[(row * 5 + c) * ni + i]);
                    let share = update_share(gas, &q, &old, &x, most);
                    let new = primitive(gas, &std::array::from_fn(|c| q[c] - share * x[c]));
                    cut += usize::from(share < 1.0);
                    let sound = new.iter().all(|v| v.is_finite()) && new[0] > 0.0 && new[4] > 0.0;
                    bad += usize::from(!sound);
                    for c in 0..5 {
                        w[c][i] = new[c];
                    }
                }
                limited.fetch_add(cut, Ordering::Relaxed);
                unphysical.fetch_add(bad, Ordering::Relaxed);
            });
        }
        (limited.into_inner(), unphysical.into_inner())
    }

    /// Norms of dq/dt over the domain: sqrt(sum of R^2/V over the whole volume).
    fn norms(&self) -> [f64; 5] {
        let mut all = [0.0; 5];
        for block in &self.blocks {
            let ni = block.cells.count[0];
            let mut sums = vec![[0.0; 5]; block.rows()];
            crate::parallel::rows(&self.team, block.rows(), 1, &mut sums, |rows, sums| {
                for (row, sum) in rows.zip(sums) {
                    let start = block.row(row);
                    for c in 0..5 {
                        let r = &block.r[(row * 5 + c) * ni..][..ni];
                        let volume = &block.metrics.volume[start..start + ni];
                        sum[c] = r.iter().zip(volume).map(|(r, v)| r * r / v).sum();
                    }
                }
            });
            for sum in sums {
                for c in 0..5 {
                    all[c] += sum[c];
                }
            }
        }
        all.map(|s: f64| (s / self.volume).sqrt())
    }
}

/// The forces of walls (name, pressure, friction); walls of one name are one marker.
fn forces_of<'a>(
    scale: &ForceScale,
    walls: impl IntoIterator<Item = (&'a str, Coefficients, Coefficients)>,
) -> Forces {
    let mut forces = Forces::default();
    for (name, pressure, viscous) in walls {
        let place = forces.markers.iter().position(|m| m.name == name).unwrap_or_else(|| {
            forces.markers.push(MarkerForces { name: name.to_owned(), ..MarkerForces::default() });
            forces.markers.len() - 1
        });
        forces.markers[place].pressure.merge(scale, &pressure);
        forces.markers[place].viscous.merge(scale, &viscous);
        forces.pressure.merge(scale, &pressure);
        forces.viscous.merge(scale, &viscous);
    }
    forces.total.merge(scale, &forces.pressure.clone());
    forces.total.merge(scale, &forces.viscous.clone());
    forces
}
