//! The state of a flow, and an iteration.

use super::unsteady::TimeLevels;
use crate::bc::{Condition, WallNode, strong_wall_conserved};
use crate::config::{Equations, FlowConfig, FluxScheme, Nonlinear, Time};
use crate::coupled::{CoupledSystem, Tight};
use crate::dual::Dual;
use crate::equations::perfect_gas::{N, State};
use crate::flux::RoeFix;
use crate::gas::{Gas, Transport, mach, primitive};
use crate::gradient::{Gradient, Mapping, Mirrors, NodeRecord};
use crate::laps::Laps;
use crate::march::control::CflControl;
use crate::march::forces::{ForceScale, forces};
use crate::march::linear::LinearSolver;
use crate::march::{
    Advanced, BadPlace, FlowError, Forces, Holding, Host, LargestResidual, March, Measured, Moment, Order,
    Part, Place, Residuals, System, Times, next_cfl_share, over_ranks, update_share,
};
use crate::mesh::periodic::Images;
use crate::parallel;
use crate::ranks::Rows;
use crate::residual::{TurnedEdges, ViscousElements, primitive_of};
use crate::wall_law::LawNode;
use chromaflow::Jacobian;
use chromaflow::dist::Share;
use chromaflow::order::Plan;
use chromaflow_device::{Buffer, Team};
use std::sync::Arc;

/// What is out of the solver's hands only within a Newton-Krylov step.
pub(super) const AT_HAND: &str = "no step is under way";

/// Part of the residual of all equations, each over its free stream's quantity, that counts where it is more than density's. All of it lets momentum,
/// which rises first on the way of many flows, hold them back.
const PART_OF_ALL: f64 = 0.25;

/// A source term per volume at a place: what manufactured solutions need. It leaves each control volume, as fluxes do.
pub type Source = Box<dyn Fn([f64; 3]) -> State + Send + Sync>;

/// An implicit solver for one mesh and one set-up, with its state.
pub type FlowSolver = March<FlowSystem>;

/// Compressible flow on one mesh: the host's form.
pub struct FlowSystem {
    pub(super) team: Arc<Team>,
    pub(super) config: FlowConfig,
    pub(super) gas: Gas<f64>,
    pub(super) plan: Plan,
    /// The rank's rows, where the mesh is divided among ranks.
    pub(super) over: Option<Rows>,
    /// Which nodes of the file the mesh's nodes are, where periodic sides were merged.
    pub(super) images: Option<Images>,
    pub(crate) dual: Dual,
    /// The mapping of layers on curved walls.
    pub(super) mapping: Mapping,
    /// First moments of the faces, where fluxes vary over them.
    pub(super) moments: Vec<[[f64; 3]; 3]>,
    /// Edges at the seam of turned sides, where limiters look at components.
    pub(super) turned: TurnedEdges,
    pub(super) boundaries: Vec<Condition<f64>>,
    /// Nodes on walls without slip, ascending, with the wall's temperature where it has one.
    pub(super) fixed: Vec<WallNode<f64>>,
    /// Nodes on walls with a law of the wall, ascending, and nodes off walls next to them.
    pub(super) laws: [Vec<LawNode<f64>>; 2],
    /// Nodes on planes of symmetry.
    pub(super) mirrors: Mirrors,
    /// Nodes whose whole state is given, ascending.
    pub(super) held: Vec<u32>,
    pub(super) scale: ForceScale,
    pub(super) planar: bool,
    /// Depth of the layer of cells, of a planar mesh.
    pub(super) depth: Option<f64>,
    /// Volume of the domain.
    pub(super) volume: f64,
    /// A density residual that is nothing but rounding errors.
    pub(super) round_off: f64,
    /// Conserved state, and the last one known to be good.
    pub(super) q: Vec<State>,
    pub(super) last_good: Vec<State>,
    /// What the run began with, where it [may damp](may_damp).
    pub(super) first: Vec<State>,
    /// The share of the CFL number that each node takes, see [`next_cfl_share`].
    pub(super) cfl_shares: Vec<f64>,
    /// One cache line each.
    pub(crate) nodes: Buffer<NodeRecord>,
    pub(crate) gradients: Buffer<Gradient>,
    /// Factors of node-wise limiters; empty where there are none.
    pub(super) limits: Vec<State>,
    pub(crate) fluxes: Buffer<State>,
    pub(super) residual: Vec<State>,
    pub(super) update: Vec<f64>,
    pub(super) jacobian: Jacobian,
    /// None while a Newton-Krylov step has it.
    pub(super) linear: Option<LinearSolver>,
    /// Viscosity and the elements of viscous flow.
    pub(super) viscous: Option<(Transport<f64>, Arc<ViscousElements>)>,
    /// What the wall takes up at each of `fixed`, then at each of `laws`: the force of friction, and the heat that an isothermal wall draws from the fluid per time.
    pub(super) friction: Vec<[f64; 4]>,
    /// Earlier time levels, in unsteady runs.
    pub(super) levels: TimeLevels,
    pub(super) source: Option<Source>,
    /// Systems beside the flow.
    pub(crate) coupled: Vec<CoupledSystem>,
    /// One matrix of the flow and of that which it depends on, where they are tightly coupled.
    pub(super) tight: Option<Tight>,
    /// Of the present iteration.
    pub(super) times: Times,
    /// Of the set-up.
    pub(super) laps: Laps,
}

/// Rises of the residual of subsonic turbulent flow after which it goes back to first order: steps that grow by a factor of two from a uniform stream may separate it from a wall long before
/// its layers are turbulent, and from there it comes back by as many steps as the flow takes to attach.
const RISES: usize = 3;

/// Whether runs of this set-up may damp more than they are asked to: inviscid ones by Roe's flux whose fixes leave room. Across viscous
/// layers it would make them thicker.
pub(super) fn may_damp(config: &FlowConfig) -> bool {
    let steady = matches!(config.time, Time::Steady(_));
    let by_roe = config.equations == Equations::Euler && config.space.flux == FluxScheme::Roe;
    steady && by_roe && RoeFix::of_residual(config, true) != RoeFix::of_residual(config, false)
}

impl System for FlowSystem {
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError> {
        let mut times = std::mem::take(&mut self.times);
        times.timed(Part::Residual, || {
            self.adapt_outlets(at);
            self.boundaries.iter_mut().for_each(Condition::hold);
            self.compute_residual(at);
        });
        let coupled = if self.coupled.is_empty() {
            Vec::new()
        } else {
            times.timed(Part::Beside, || self.coupled_residuals(at))
        };
        let found =
            times.timed(Part::Misc, || Measured::new(self.squares(), self.forces()).with_coupled(coupled));
        self.times = times;
        self.check_ranks()?;
        Ok(found)
    }

    fn advance(&mut self, at: &Moment) -> Result<Advanced, FlowError> {
        let mut times = std::mem::take(&mut self.times);
        let solved = self.solve_linear(at, &mut times);
        let beside = self.advance_coupled(at, &mut times);
        let own = match solved {
            Ok(reduction) => times.timed(Part::Misc, || self.take_update(reduction)),
            Err(row) => Advanced { singular: Some(row), ..Advanced::default() },
        };
        self.times = times;
        let all = own.with(&beside?);
        self.check_ranks()?;
        Ok(all)
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        self.q.copy_from_slice(&self.last_good);
        self.refresh_nodes();
        self.coupled.iter_mut().for_each(CoupledSystem::restore);
        Ok(())
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        std::mem::swap(&mut self.levels.last, &mut self.levels.before);
        self.levels.last.copy_from_slice(&self.q);
        self.coupled.iter_mut().for_each(CoupledSystem::next_level);
        Ok(())
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        Ok(std::mem::take(&mut self.times))
    }
}

impl Host for FlowSystem {
    type Control = CflControl;

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
        self.share().map_or(self.q.len(), |share| share.whole())
    }

    fn judged(&self, residual: &[f64]) -> f64 {
        let mach = self.config.freestream.mach;
        let (momentum, energy) = (1.0 + mach, 1.0 / (self.gas.gamma - 1.0) + 0.5 * mach * mach);
        let scales = [1.0, momentum, momentum, momentum, energy];
        let all = residual.iter().zip(scales).map(|(r, scale)| (r / scale).powi(2)).sum::<f64>().sqrt();
        Self::size(residual).max(PART_OF_ALL * all)
    }

    fn share(&self) -> Option<&Arc<Share>> {
        self.share()
    }

    fn holding(&self) -> Holding {
        let pattern = &self.dual.pattern;
        let Some(share) = self.share() else {
            let (rows, blocks) = (pattern.rows(), pattern.nnzb() + pattern.rows());
            return Holding { rows, blocks, ..Holding::default() };
        };
        let owned = || share.owned().iter().cloned().flatten();
        let neighbors = || share.batches().iter().flat_map(|batch| &batch.neighbors);
        let mut ranks: Vec<usize> = neighbors().map(|n| n.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        Holding {
            rows: owned().count(),
            blocks: owned().map(|row| pattern.columns(row).len() + 1).sum(),
            sent: neighbors().map(|n| n.send.len()).sum(),
            neighbors: ranks.len(),
        }
    }

    fn flow_round_off(&self) -> f64 {
        self.round_off
    }

    fn starts_apart(&self) -> bool {
        let newton = self.config.implicit.nonlinear.is_newton();
        newton && self.coupled.iter().any(|system| system.physics.starts_apart())
    }

    fn problem(&self) -> String {
        let config = &self.config;
        let (stream, conditions) = (config.freestream, (&config.boundaries, &config.partners));
        let beside = (&config.scalar, &config.turbulence);
        format!("{:?}", (config.gas, stream, config.equations, config.space, conditions, beside))
    }

    fn first_order_steps(&self) -> usize {
        if self.config.space.second_order { self.config.implicit.first_order_steps } else { 0 }
    }

    fn returns(&self) -> usize {
        let config = &self.config;
        let newton = config.implicit.nonlinear.is_newton();
        let steady = matches!(config.time, Time::Steady(_));
        if !newton || !steady || !config.space.second_order || self.starts_apart() {
            return 0;
        }
        if may_damp(config) { 2 } else { 1 }
    }

    fn rises(&self) -> usize {
        let config = &self.config;
        if config.turbulence.is_some() && config.freestream.mach < 1.0 { RISES } else { 0 }
    }

    fn start_anew(&mut self) {
        self.q.copy_from_slice(&self.first);
        self.last_good.copy_from_slice(&self.first);
        self.cfl_shares.fill(1.0);
        self.refresh_nodes();
    }

    fn linear_report(&self) -> usize {
        self.config.implicit.linear_report
    }

    fn first_bad(&self) -> Option<usize> {
        let beside = || self.coupled.iter().find_map(|system| system.first_bad(self.share()));
        self.first_bad_of(&self.residual).or_else(|| self.lowest(beside()))
    }

    fn round_off(&self) -> Vec<f64> {
        self.coupled.iter().flat_map(CoupledSystem::round_off).copied().collect()
    }

    fn place(&self, row: usize) -> BadPlace {
        match self.share() {
            None => self.place_here(row),
            Some(share) => over_ranks::place(share, row, |row| self.place_here(row)),
        }
    }

    fn residuals(&mut self, at: &Moment) -> Residuals {
        self.compute_residual(at);
        let rows = self.residual.iter().zip(&self.dual.volumes);
        let rates = rows.flat_map(|(r, volume)| r.map(|r| r / volume)).collect();
        Residuals { rates, equations: N, volumes: self.dual.volumes.clone() }
    }

    fn largest_of_ranks(&self) -> Option<Option<LargestResidual>> {
        self.share().map(|share| {
            let part = |i: usize| self.residual[i][0].powi(2) / self.dual.volumes[i];
            over_ranks::largest(share, part, |i| self.place_here(i), |i| self.mach_and_pressure(i))
        })
    }

    fn mach_and_pressure(&self, row: usize) -> Option<[f64; 2]> {
        let w = primitive_of(&self.nodes[row]);
        Some([mach(self.gas, &w), w[4] / self.scale.pressure])
    }
}

impl FlowSystem {
    /// The place of a row of this rank.
    pub(super) fn place_here(&self, row: usize) -> BadPlace {
        let w = &self.nodes[row];
        let marker = self.dual.patches.iter().find(|p| p.nodes.binary_search(&(row as u32)).is_ok());
        let (state, variables) = self.unknowns_at(row);
        BadPlace {
            place: Place::Node(self.file_number(row)),
            at: [w[5], w[6], w[7]],
            marker: marker.map(|p| p.name.clone()),
            state,
            variables,
            rank: None,
        }
    }

    /// Whether the step is one of Newton's, with all that the flow depends on.
    pub(super) fn steps_by_newton(&self, at: &Moment) -> bool {
        self.config.implicit.nonlinear.is_newton() && at.together
    }

    /// Finds the update; what is left of the linear system's residual, where that is known, or the row of a diagonal block that
    /// cannot be inverted.
    fn solve_linear(&mut self, at: &Moment, times: &mut Times) -> Result<Option<f64>, usize> {
        times.timed(Part::Assembly, || {
            self.assemble(at);
            if self.is_tight(at) {
                self.assemble_tight(at).expect("the matrix was made once");
            }
        });
        times.timed(Part::Conversion, || {
            self.linear.as_ref().expect(AT_HAND).convert(&mut self.jacobian);
        });
        times.timed(Part::LinearSolver, || match self.config.implicit.nonlinear {
            Nonlinear::NewtonKrylov(options) if at.together => self.solve_newton(at, &options).map(Some),
            _ if self.is_tight(at) => self.solve_tight(at),
            _ => {
                let linear = self.linear.as_mut().expect(AT_HAND);
                let b = self.residual.as_flattened();
                linear.solve(&mut self.jacobian, b, &mut self.update, at.measure)
            }
        })
    }

    /// Takes the update.
    fn take_update(&mut self, reduction: Option<f64>) -> Advanced {
        self.last_good.copy_from_slice(&self.q);
        let limited = self.apply_update();
        Advanced { singular: None, reduction, limited, bad: self.first_bad_of(&self.q) }
    }

    /// Sums of R^2/V over the domain.
    fn squares(&self) -> Vec<f64> {
        if let Some(share) = self.share() {
            let of = |i: usize| self.residual[i].map(|r| r * r / self.dual.volumes[i]);
            return share.sum_rows(of).to_vec();
        }
        let sum: State = parallel::reduce(
            &self.team,
            self.residual.len(),
            |rows| {
                let mut sum = [0.0; N];
                for (r, volume) in self.residual[rows.clone()].iter().zip(&self.dual.volumes[rows]) {
                    for v in 0..N {
                        sum[v] += r[v] * r[v] / volume;
                    }
                }
                sum
            },
            |all, part| {
                for v in 0..N {
                    all[v] += part[v];
                }
            },
        );
        sum.to_vec()
    }

    /// q <- q - x, each node's update cut so that density and pressure change by `max_change` at most, rises of supersonic flow by `max_rise`,
    /// velocities by `max_velocity_change`. Returns the
    /// number of nodes cut.
    fn apply_update(&mut self) -> usize {
        let (most, rise, velocity) =
            (self.config.implicit.max_change, self.config.max_rise(), self.config.max_velocity_change());
        let (gas, update) = (self.gas, &self.update);
        let n = self.q.len();
        let planar = self.planar;
        let (q, nodes, of_cfl) = (&mut self.q, &mut self.nodes, &mut self.cfl_shares);
        parallel::rows3(&self.team, n, (1, q), (1, nodes), (1, of_cfl), |rows, qs, nodes, of_cfl| {
            for (((i, q), node), of_cfl) in rows.zip(qs).zip(nodes).zip(of_cfl) {
                let x: &State = update[N * i..N * (i + 1)].try_into().expect("five components a node");
                let share = update_share(gas, q, &primitive_of(node), x, most, rise, velocity);
                *of_cfl = next_cfl_share(*of_cfl, share);
                for v in 0..N {
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
        self.hold_walls();
        // Counted again here, so that the count needs no array of its own.
        let (q, old) = (&self.q, &self.last_good);
        if let Some(share) = self.share() {
            let [cut] =
                share.sum_rows(|i| [f64::from(u8::from(was_cut(self.update[N * i], &old[i], &q[i])))]);
            return cut as usize;
        }
        parallel::reduce(
            &self.team,
            n,
            |rows| rows.filter(|&i| was_cut(self.update[N * i], &old[i], &q[i])).count(),
            |all, part| *all += part,
        )
    }

    /// Gives nodes on walls without slip the velocity, and where it is given the temperature, of their wall, and takes from those on planes
    /// of symmetry what momentum points out of them.
    pub(super) fn hold_walls(&mut self) {
        let (gas, fixed, mirrors, n) = (self.gas, &self.fixed, &self.mirrors, self.q.len());
        parallel::rows2(&self.team, n, (1, &mut self.q), (1, &mut self.nodes), |rows, q, nodes| {
            for &WallNode { node, heat, wall } in parallel::within(fixed, &rows, |wall| wall.node) {
                let at = node as usize - rows.start;
                q[at] = strong_wall_conserved(gas, heat, wall, &q[at]);
                nodes[at][..5].copy_from_slice(&primitive(gas, &q[at]));
            }
            mirrors.hold(gas, &rows, q, nodes);
        });
    }

    pub(super) fn refresh_nodes(&mut self) {
        let (gas, q) = (self.gas, &self.q);
        parallel::rows(&self.team, q.len(), 1, &mut self.nodes, |rows, nodes| {
            for (i, node) in rows.zip(nodes) {
                node[..5].copy_from_slice(&primitive(gas, &q[i]));
            }
        });
    }

    /// The first node where a state or residual is not finite, or a density or pressure not positive.
    fn first_bad_of(&self, values: &[State]) -> Option<usize> {
        let bad = |i: usize| {
            let w = &self.nodes[i];
            !(values[i].iter().all(|v| v.is_finite()) && w[0] > 0.0 && w[4] > 0.0)
        };
        match self.share() {
            None => (0..values.len()).find(|&i| bad(i)),
            Some(share) => share.lowest(share.owned().iter().cloned().flatten().find(|&i| bad(i))),
        }
    }

    /// Force and moment coefficients of the present state.
    pub(super) fn forces(&self) -> Forces {
        let reaction = |patch, i| self.friction_on(patch, i);
        forces(&self.config, &self.scale, &self.dual, &self.nodes, self.over.as_ref(), reaction)
    }
}

/// Whether less than the whole update `x` of a density was taken.
fn was_cut(x: f64, old: &State, new: &State) -> bool {
    let (full, taken) = (x.abs(), (old[0] - new[0]).abs());
    full > 1e-6 * old[0] && taken < 0.999 * full
}

impl FlowSolver {
    /// Force and moment coefficients of the present state.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn forces(&self) -> Forces {
        // What cannot be told shows at the next step.
        let _ = self.host.tell(Order::Forces);
        self.synced().forces()
    }
}
