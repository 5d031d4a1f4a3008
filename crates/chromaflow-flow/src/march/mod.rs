//! The flow solver: backward Euler in pseudo-time with the multicolor relaxation inside.

pub(crate) mod accelerator;
mod access;
pub(crate) mod control;
pub(crate) mod course;
#[cfg(feature = "cuda")]
mod cuda;
mod error;
pub(crate) mod forces;
mod linear;
mod report;
mod setup;
mod space;
#[cfg(test)]
mod tests;
mod unsteady;

pub(crate) use accelerator::WallSums;
pub use access::Memory;
#[cfg(feature = "cuda")]
pub(crate) use cuda::{clock, kernel_source as step_kernel_source};
pub use error::FlowError;
pub use forces::{Coefficients, Forces, MarkerForces};
pub(crate) use report::until_outcome;
pub use report::{BadNode, StepReport, Times};

use crate::bc::{Condition, WallNode, strong_wall_conserved};
use crate::config::FlowConfig;
use crate::dual::Dual;
use crate::gas::{Gas, Transport, primitive};
use crate::gradient::{Gradient, NodeRecord};
use crate::offload::Offload;
use crate::parallel;
use crate::residual::{ViscousElements, primitive_of};
use accelerator::{Accelerator, Advanced, HostSetting, HostState};
use chromaflow::order::Plan;
use chromaflow::{Jacobian, Outcome};
use chromaflow_device::{Buffer, Team};
use control::CflControl;
use course::{Course, Next};
use forces::ForceScale;
use linear::LinearSolver;
use std::sync::Arc;
use std::time::Instant;
use unsteady::TimeLevels;

/// A source term per volume at a place: what manufactured solutions need. It leaves each control volume, as fluxes do.
pub type Source = Box<dyn Fn([f64; 3]) -> [f64; 5] + Send + Sync>;

/// An implicit solver for one mesh and one set-up, with its state.
pub struct FlowSolver {
    team: Arc<Team>,
    config: FlowConfig,
    gas: Gas<f64>,
    plan: Plan,
    dual: Dual,
    /// First moments of the faces, where fluxes vary over them.
    moments: Vec<[[f64; 3]; 3]>,
    boundaries: Vec<Condition<f64>>,
    /// Nodes on walls without slip, ascending, with the wall's temperature where it has one.
    fixed: Vec<WallNode<f64>>,
    /// Nodes whose whole state is given, ascending.
    held: Vec<u32>,
    scale: ForceScale,
    planar: bool,
    /// Volume of the domain.
    volume: f64,
    /// Conserved state, and the last one known to be good.
    q: Vec<[f64; 5]>,
    last_good: Vec<[f64; 5]>,
    /// One cache line each.
    nodes: Buffer<NodeRecord>,
    gradients: Buffer<Gradient>,
    /// Factors of node-wise limiters; empty where there are none.
    limits: Vec<[f64; 5]>,
    fluxes: Buffer<[f64; 5]>,
    residual: Vec<[f64; 5]>,
    update: Vec<f64>,
    jacobian: Jacobian,
    linear: LinearSolver,
    /// Viscosity and the elements of viscous flow.
    viscous: Option<(Transport<f64>, ViscousElements)>,
    /// Force of the fluid on each of `fixed`, friction only.
    friction: Vec<[f64; 3]>,
    /// Earlier time levels, in unsteady runs.
    levels: TimeLevels,
    source: Option<Source>,
    control: CflControl,
    course: Course,
    times: Times,
    /// A device that computes in place of the team.
    accelerator: Offload<dyn Accelerator>,
}

impl FlowSolver {
    /// One iteration: residual, Jacobian, sweeps, update.
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
            report.bad = bad.map(|i| self.bad_node(i));
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

    /// The residual of the present state, its norms, the forces; the first node where they are not finite.
    fn look(&mut self, report: &mut StepReport, times: &mut Times) -> Result<Option<usize>, FlowError> {
        let (second_order, factors) = (self.second_order(), self.time_factors());
        if let Some(device) = self.accelerator.device_changes() {
            let found = device.residual(second_order, factors)?;
            report.residual = found.squares.map(|s| (s / self.volume).sqrt());
            report.forces = forces::from_sums(&self.config, &self.scale, &self.dual, &found.walls);
            return Ok(found.bad);
        }
        timed(&mut times.rhs, || self.compute_residual());
        timed(&mut times.misc, || {
            report.residual = self.norms();
            report.forces = self.forces();
        });
        let finite = report.residual.iter().all(|r| r.is_finite());
        Ok(if finite { None } else { self.first_bad(&self.residual) })
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
        let measure = self.course.iteration.is_multiple_of(self.config.implicit.linear_report);
        let shift = self.time_factors().map_or(0.0, |f| f[0]);
        let done = match self.accelerator.device_changes() {
            Some(device) => device.advance(self.control.value, shift, measure)?,
            None => self.advance_here(times, measure),
        };
        (report.linear_reduction, report.limited) = (done.reduction, done.limited);
        if let Some(i) = done.singular.or(done.bad) {
            self.sync()?;
            report.bad = Some(self.bad_node(i));
            return self.take_back(report);
        }
        self.control.accept(density, report.limited as f64 / self.q.len() as f64);
        Ok(())
    }

    /// The implicit part of a step on this process's threads.
    fn advance_here(&mut self, times: &mut Times, measure: bool) -> Advanced {
        timed(&mut times.lhs, || self.assemble());
        timed(&mut times.pipsr, || self.linear.convert(&mut self.jacobian));
        let solved = timed(&mut times.linear_solver, || {
            let b = self.residual.as_flattened();
            self.linear.solve(&mut self.jacobian, b, &mut self.update, measure)
        });
        let reduction = match solved {
            Ok(reduction) => reduction,
            Err(row) => return Advanced { singular: Some(row), ..Advanced::default() },
        };
        timed(&mut times.misc, || {
            self.last_good.copy_from_slice(&self.q);
            let limited = self.apply_update();
            Advanced { singular: None, reduction, limited, bad: self.first_bad(&self.q) }
        })
    }

    fn take_back(&mut self, report: &mut StepReport) -> Result<(), FlowError> {
        report.rejected = true;
        if let Some(device) = self.accelerator.device_changes() {
            device.take_back()?;
        } else {
            self.q.copy_from_slice(&self.last_good);
            self.refresh_nodes();
        }
        if !self.control.reject() {
            report.outcome = Some(Outcome::Diverged { iteration: self.course.iteration });
        }
        Ok(())
    }

    /// Brings what the host has changed to the device.
    fn push(&mut self) -> Result<(), FlowError> {
        let setting =
            HostSetting { held: &self.held, source: self.source.as_ref(), boundaries: &self.boundaries };
        self.accelerator.push(|device| device.take_state(&self.q, &self.levels, &setting))
    }

    /// Brings the state from a device that computes to the host, where [`Self::fields`], [`Self::restart`] and
    /// [`Self::forces`] look at it. Nothing to do where no device computes.
    ///
    /// # Errors
    /// The device's.
    pub fn sync(&mut self) -> Result<(), FlowError> {
        let mut state = HostState {
            q: &mut self.q,
            levels: &mut self.levels,
            friction: &mut self.friction,
            residual: &mut self.residual,
            boundaries: &mut self.boundaries,
        };
        if self.accelerator.sync(|device| device.give_state(&mut state))? {
            self.refresh_nodes();
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

    /// Norms of dq/dt over the domain: sqrt(sum of R^2/V over the whole volume).
    fn norms(&self) -> [f64; 5] {
        let sum: [f64; 5] = parallel::reduce(
            &self.team,
            self.residual.len(),
            |rows| {
                let mut sum = [0.0; 5];
                for (r, volume) in self.residual[rows.clone()].iter().zip(&self.dual.volumes[rows]) {
                    for v in 0..5 {
                        sum[v] += r[v] * r[v] / volume;
                    }
                }
                sum
            },
            |all, part| {
                for v in 0..5 {
                    all[v] += part[v];
                }
            },
        );
        sum.map(|s| (s / self.volume).sqrt())
    }

    /// q <- q - x, each node's update cut so that density and pressure change by `max_change` at most. Returns the
    /// number of nodes cut.
    fn apply_update(&mut self) -> usize {
        let most = self.config.implicit.max_change;
        let (gas, update) = (self.gas, &self.update);
        let n = self.q.len();
        let planar = self.planar;
        parallel::rows2(&self.team, n, (1, &mut self.q), (1, &mut self.nodes), |rows, qs, nodes| {
            for ((i, q), node) in rows.zip(qs).zip(nodes) {
                let x: &[f64; 5] = update[5 * i..5 * i + 5].try_into().expect("five components a node");
                let share = update_share(gas, q, &primitive_of(node), x, most);
                for v in 0..5 {
                    q[v] -= share * x[v];
                }
                if planar {
                    q[3] = 0.0;
                }
                let w = primitive(gas, q);
                node[..5].copy_from_slice(&w);
            }
        });
        // Corrections in f32 would let the walls drift off their conditions.
        for &WallNode { node, heat, wall } in &self.fixed {
            let (q, node) = (&mut self.q[node as usize], &mut self.nodes[node as usize]);
            *q = strong_wall_conserved(gas, heat, wall, q);
            node[..5].copy_from_slice(&primitive(gas, q));
        }
        // Counted again here, so that the count needs no array of its own.
        let (q, old) = (&self.q, &self.last_good);
        parallel::reduce(
            &self.team,
            n,
            |rows| {
                rows.filter(|&i| {
                    let (full, taken) = (self.update[5 * i].abs(), (old[i][0] - q[i][0]).abs());
                    full > 1e-6 * old[i][0] && taken < 0.999 * full
                })
                .count()
            },
            |all, part| *all += part,
        )
    }

    fn refresh_nodes(&mut self) {
        let (gas, q) = (self.gas, &self.q);
        parallel::rows(&self.team, q.len(), 1, &mut self.nodes, |rows, nodes| {
            for (i, node) in rows.zip(nodes) {
                node[..5].copy_from_slice(&primitive(gas, &q[i]));
            }
        });
    }

    /// The first node where a state or residual is not finite, or a density or pressure not positive.
    fn first_bad(&self, values: &[[f64; 5]]) -> Option<usize> {
        let bad = |i: usize| {
            let w = &self.nodes[i];
            !(values[i].iter().all(|v| v.is_finite()) && w[0] > 0.0 && w[4] > 0.0)
        };
        (0..values.len()).find(|&i| bad(i))
    }

    fn bad_node(&self, i: usize) -> BadNode {
        let w = &self.nodes[i];
        let marker = self.dual.patches.iter().find(|p| p.nodes.binary_search(&(i as u32)).is_ok());
        BadNode {
            node: self.plan.permutation.old_of_new()[i] as usize,
            at: [w[5], w[6], w[7]],
            marker: marker.map(|p| p.name.clone()),
            state: self.q[i],
        }
    }

    /// Force and moment coefficients of the present state.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn forces(&self) -> Forces {
        self.accelerator.assert_synced();
        forces::forces(&self.config, &self.scale, &self.dual, &self.nodes, |patch, i| {
            self.friction_on(patch, i)
        })
    }

    /// Times of all steps so far.
    pub fn times(&self) -> Times {
        self.times
    }
}

/// The share of the update `x` (subtracted from q, whose primitive variables are `w`) that a node can take: changes of density and pressure stay below `most`.
pub(crate) fn update_share(gas: Gas<f64>, q: &[f64; 5], w: &[f64; 5], x: &[f64; 5], most: f64) -> f64 {
    let [rho, u, v, s, p] = *w;
    let d_rho = x[0].abs() / rho;
    let kinetic = 0.5 * (u * u + v * v + s * s);
    let d_p = (gas.gamma - 1.0) * (kinetic * x[0] - u * x[1] - v * x[2] - s * x[3] + x[4]);
    let mut share = 1.0_f64.min(most / d_rho.max(1e-30)).min(most * p / d_p.abs().max(1e-30));
    // The pressure is not linear in q: check, and halve while it would fall too far.
    for _ in 0..20 {
        let mut new = *q;
        for k in 0..5 {
            new[k] -= share * x[k];
        }
        if primitive(gas, &new)[4] > (1.0 - 2.0 * most).max(0.05) * p {
            break;
        }
        share *= 0.5;
    }
    share
}

pub(crate) fn timed<T>(sum: &mut f64, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let out = f();
    *sum += start.elapsed().as_secs_f64();
    out
}
