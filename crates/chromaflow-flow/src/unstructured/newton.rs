//! Newton-Krylov steps of the flow, and of the systems that it depends on with it.

use super::FlowSystem;
use super::access::no_matrix;
use super::coupled::eddies;
use super::flow::AT_HAND;
use crate::bc::{MirrorNode, Wall, WallHeat, WallNode, mirror_rows, strong_wall_conserved};
use crate::config::NewtonKrylov;
use crate::coupled::{CoupledSystem, Direction, FlowView};
use crate::flux::spectral_radius;
use crate::gas::{primitive, relative_change, relative_change_at_most, temperature};
use crate::gradient::NodeRecord;
use crate::jacobian::share_at;
use crate::march::Moment;
use crate::march::linear::LinearSolver;
use crate::march::newton::{self, LEAST_SHARE, NewtonStep};
use crate::parallel;
use crate::real::{Dual, Real};
use crate::residual::primitive_of;
use crate::viscous::{molecular, spectral_radius_viscous_of, with_eddies};
use chromaflow::Jacobian;
use chromaflow::dist::Links;
use chromaflow::vector::norm2;
use chromaflow_device::Team;
use std::sync::Arc;

/// The step's system: unknowns of the flow, then those of each system that it depends on.
struct FlowStep<'a> {
    system: &'a mut FlowSystem,
    linear: &'a mut LinearSolver,
    jacobian: &'a Jacobian,
    at: Moment,
    /// The state and its residual.
    q: Vec<[f64; 5]>,
    residual: Vec<[f64; 5]>,
    /// V/dt of each node.
    pseudo_time: Vec<f64>,
    /// |q|
    size: f64,
    /// Whether differences may take their step along any direction.
    bears: bool,
    beside: Vec<Beside>,
    /// Where systems beside the flow have derivatives themselves, else empty: the flow as it is, and along the direction.
    way: Way,
    /// What residuals of the flow are divided by in GMRES's norm where they are measured by what they would change; else empty.
    weights: Vec<f64>,
    /// Room for a right-hand side of the flow without them.
    weighted: Vec<f64>,
}

/// See [`Direction`].
#[derive(Default)]
struct Way {
    nodes: Vec<NodeRecord>,
    fluxes: Vec<[f64; 5]>,
    along: Vec<NodeRecord>,
}

/// A system that the flow depends on, where the derivative is taken.
struct Beside {
    /// Its place among the coupled ones.
    number: usize,
    values: Vec<f64>,
    residual: Vec<f64>,
}

impl Beside {
    fn bounds(&self, first: usize) -> std::ops::Range<usize> {
        first..first + self.values.len()
    }
}

impl FlowStep<'_> {
    /// Residuals of the flow as GMRES measures them.
    fn weigh(&self, residual: &mut [f64]) {
        let weights = &self.weights;
        if !weights.is_empty() {
            parallel::each(&self.system.team, residual, |i, r| r / weights[i / 5]);
        }
    }

    fn norm_of_all(&self, team: &Team, v: &[f64]) -> f64 {
        let Some(share) = self.system.share() else { return norm2(team, v) };
        let (own, mut rest) = v.split_at(5 * self.q.len());
        let mut squares = share.dot(5, own, own);
        for beside in &self.beside {
            let (part, after) = rest.split_at(beside.values.len());
            squares += share.dot(beside.values.len() / self.q.len().max(1), part, part);
            rest = after;
        }
        squares.sqrt()
    }
}

impl NewtonStep for FlowStep<'_> {
    fn len(&self) -> usize {
        5 * self.q.len() + self.beside.iter().map(|b| b.values.len()).sum::<usize>()
    }

    fn size(&self) -> f64 {
        self.size
    }

    fn norm(&self, team: &Team, v: &[f64]) -> f64 {
        let whole = self.norm_of_all(team, v);
        if self.way.nodes.is_empty() {
            return whole;
        }
        let own = &v[..5 * self.q.len()];
        let own = self.system.share().map_or_else(|| norm2(team, own), |share| share.norm2(5, own));
        own.max(LEAST_SHARE * whole)
    }

    fn relative_change(&mut self, team: &Team, v: &[f64]) -> f64 {
        if self.bears {
            return 0.0;
        }
        let (q, v, share) = (&self.q, v.as_chunks().0, self.system.share().map(|share| &**share));
        let own = |row: usize| share.is_none_or(|share| share.owns(row));
        newton::largest(team, share, q.len(), |i| if own(i) { relative_change(&q[i], &v[i]) } else { 0.0 })
    }

    fn differentiate(&mut self, h: f64, v: &[f64], y: &mut [f64]) {
        let (system, n) = (&mut *self.system, 5 * self.q.len());
        let mut first = n;
        if !self.way.nodes.is_empty() {
            system.find_along(&self.q, &v[..n], &mut self.way.along);
        }
        for beside in &self.beside {
            let part = beside.bounds(first);
            system.move_beside(beside.number, &beside.values, &self.way, h, &v[part.clone()]);
            first = part.end;
        }
        system.set_beside(&self.q, h, &v[..n]);
        system.compute_residual(&self.at);
        system.driving_residuals(&self.at);
        let (moved, base, times, planar) =
            (&system.residual, &self.residual, &self.pseudo_time, system.planar);
        let (fixed, mirrors, held) = (&system.fixed, &system.mirrors, &system.held);
        parallel::rows(&system.team, self.q.len(), 5, &mut y[..n], |rows, y| {
            for (i, y) in rows.clone().zip(y.as_chunks_mut::<5>().0) {
                for k in 0..5 {
                    let slope = (moved[i][k] - base[i][k]) / h;
                    y[k] = slope + times[i] * v[5 * i + k];
                }
                if planar {
                    y[3] = v[5 * i + 3];
                }
            }
            let at = |i: usize| 5 * (i - rows.start);
            for wall in parallel::within(fixed, &rows, |wall| wall.node) {
                let i = wall.node as usize;
                let end = if wall.heat == WallHeat::Isothermal { 5 } else { 4 };
                y[at(i) + 1..at(i) + end].copy_from_slice(&v[5 * i + 1..5 * i + end]);
            }
            for MirrorNode { node, mirror, .. } in mirrors.within(&rows) {
                let i = *node as usize;
                let of = |x: &[f64]| std::array::from_fn(|k| x[k]);
                let row = &mut y[at(i)..at(i) + 5];
                row.copy_from_slice(&mirror_rows(mirror, &of(row), &of(&v[5 * i..5 * i + 5])));
            }
            for &node in parallel::within(held, &rows, |&node| node) {
                let i = node as usize;
                y[at(i)..at(i) + 5].copy_from_slice(&v[5 * i..5 * i + 5]);
            }
        });
        let mut first = n;
        for beside in &self.beside {
            let part = beside.bounds(first);
            let (v, y) = (&v[part.clone()], &mut y[part.clone()]);
            system.differentiate_beside(beside, &self.way, &self.at, h, v, y);
            first = part.end;
        }
        self.weigh(&mut y[..n]);
        if let Some(share) = self.system.share() {
            share.clear(5, &mut y[..n]);
            let mut first = n;
            for beside in &self.beside {
                let part = beside.bounds(first);
                share.clear(beside.values.len() / self.q.len().max(1), &mut y[part.clone()]);
                first = part.end;
            }
        }
    }

    fn precondition(&mut self, r: &[f64], z: &mut [f64]) {
        let n = 5 * self.q.len();
        if let (Some(tight), Some(beside)) = (&mut self.system.tight, self.beside.first()) {
            let weights = &self.weights;
            let ((r, beside_r), (z, beside_z)) = (r.split_at(n), z.split_at_mut(n));
            let of_flow = |i: usize| weights.get(i).copied().unwrap_or(1.0);
            let system = &self.system.coupled[beside.number];
            return tight.precondition(system, (&self.system.team, of_flow), (r, beside_r), (z, beside_z));
        }
        if self.weights.is_empty() {
            self.linear.precondition(self.jacobian, &r[..n], &mut z[..n]);
        } else {
            let weights = &self.weights;
            parallel::each(&self.system.team, &mut self.weighted, |i, _| r[i] * weights[i / 5]);
            self.linear.precondition(self.jacobian, &self.weighted, &mut z[..n]);
        }
        let mut first = n;
        for beside in &self.beside {
            let part = beside.bounds(first);
            let coupled = &mut self.system.coupled[beside.number];
            coupled.precondition(&self.system.team, &r[part.clone()], &mut z[part.clone()]);
            first = part.end;
        }
    }
}

impl FlowSystem {
    /// Solves (V/dt + dR/dq) x = R for the update x by flexible GMRES, around the first-order matrices of the flow, in `jacobian`, and
    /// of the systems that it depends on; the relative residual that is left, or the row of a diagonal block that cannot be inverted.
    pub(super) fn solve_newton(&mut self, at: &Moment, options: &NewtonKrylov) -> Result<f64, usize> {
        self.solve_measured(at, options, self.measures_by_change())
    }

    /// The same with residuals measured as [`Self::measures_by_change`] says, or the other way.
    pub(super) fn solve_measured(
        &mut self,
        at: &Moment,
        options: &NewtonKrylov,
        by_change: bool,
    ) -> Result<f64, usize> {
        let is_tight = self.is_tight(at);
        if is_tight { self.factor_tight() } else { self.factor_driving(at) }?;
        let mut linear = self.linear.take().expect(AT_HAND);
        let mut jacobian = std::mem::replace(&mut self.jacobian, no_matrix());
        let factored = if is_tight { Ok(()) } else { linear.factor(&mut jacobian) };
        let solved = factored.map(|()| {
            let (friction, team) = (self.friction.clone(), Arc::clone(&self.team));
            let mut step = self.newton_step(at, by_change, &mut linear, &jacobian);
            let mut b = step.residual.as_flattened().to_vec();
            step.weigh(&mut b);
            for beside in &step.beside {
                b.extend(step.system.coupled[beside.number].measured_residual(&beside.residual));
            }
            let mut x = vec![0.0; b.len()];
            let share = step.system.share().cloned();
            let links = share.as_deref().map(|share| share as &dyn Links);
            let mut vectors = std::mem::take(&mut step.linear.vectors);
            let left = newton::solve(&team, &mut step, &at.newton(options), links, &b, &mut x, &mut vectors);
            step.linear.vectors = vectors;
            let FlowStep { q, residual, beside, .. } = step;
            self.coupled.iter_mut().for_each(CoupledSystem::leave_direction);
            self.set_beside(&q, 0.0, q.as_flattened());
            (self.q, self.residual, self.friction) = (q, residual, friction);
            let (own, mut rest) = x.split_at(self.update.len());
            self.update.copy_from_slice(own);
            for Beside { number, values, residual } in beside {
                let coupled = &mut self.coupled[number];
                let (part, after) = rest.split_at(values.len());
                coupled.set_update(&team, part);
                (coupled.state.values, coupled.residual, rest) = (values, residual, after);
            }
            if self.coupled.iter().any(|system| !system.drives_flow()) {
                // Its systems look at gradients and fluxes, too.
                self.compute_residual(at);
            }
            left
        });
        (self.linear, self.jacobian) = (Some(linear), jacobian);
        solved
    }

    /// Whether GMRES measures residuals by what they would change in a step, R dt / V, those of local unknowns relative to their values, else by
    /// R: where the flow depends on a system with local unknowns.
    ///
    /// Cells of boundary layers count little in |R|, and systems stay unsolved there. Where the stream is supersonic strong shocks decide, which
    /// count little in R dt / V; k and omega have no other measure.
    pub(super) fn measures_by_change(&self) -> bool {
        let subsonic = self.config.freestream.mach < 1.0;
        let mut driving = self.coupled.iter().filter(|system| system.drives_flow() && system.has_local());
        driving.any(|system| subsonic || system.has_derivative())
    }

    fn newton_step<'a>(
        &'a mut self,
        at: &Moment,
        by_change: bool,
        linear: &'a mut LinearSolver,
        jacobian: &'a Jacobian,
    ) -> FlowStep<'a> {
        let team = Arc::clone(&self.team);
        let share = self.share().cloned();
        let norm_of = |width: usize, values: &[f64]| match &share {
            Some(share) => share.norm2(width, values),
            None => norm2(&team, values),
        };
        let size = norm_of(5, self.q.as_flattened());
        let most =
            newton::largest(&team, share.as_deref(), self.q.len(), |i| relative_change_at_most(&self.q[i]));
        let pseudo_time = self.pseudo_times(at);
        let weights: Vec<f64> = if by_change {
            pseudo_time.iter().map(|&time| if time > 0.0 { time } else { 1.0 }).collect()
        } else {
            Vec::new()
        };
        let norm = if by_change {
            let weighted: Vec<f64> =
                self.residual.as_flattened().iter().enumerate().map(|(i, r)| r / weights[i / 5]).collect();
            norm_of(5, &weighted)
        } else {
            norm_of(5, self.residual.as_flattened())
        };
        let mut coupled = std::mem::take(&mut self.coupled);
        let directed = coupled.iter().any(|system| system.drives_flow() && system.has_derivative());
        let noise = if directed { 1.0 } else { at.noise };
        let view = self.view(&[], &[]);
        let driving = coupled.iter_mut().enumerate().filter(|(_, system)| system.drives_flow());
        let mut unknowns = 0;
        let beside = driving.map(|(number, system)| {
            system.measure(&view, (size, noise * norm), by_change);
            unknowns += system.state.nb;
            Beside { number, values: system.state.values.clone(), residual: system.residual.clone() }
        });
        let beside: Vec<_> = beside.collect();
        let way = if directed {
            let along = self.nodes.to_vec();
            Way { nodes: self.nodes.to_vec(), fluxes: self.fluxes.to_vec(), along }
        } else {
            Way::default()
        };
        self.coupled = coupled;
        let size = if directed { size } else { size * ((1 + unknowns) as f64).sqrt() };
        FlowStep {
            at: *at,
            bears: newton::bears(size, most),
            size,
            way,
            q: self.q.clone(),
            residual: self.residual.clone(),
            pseudo_time,
            weighted: vec![0.0; 5 * weights.len()],
            weights,
            system: self,
            linear,
            jacobian,
            beside,
        }
    }

    /// Sets the place of `along` to the derivatives of the primitive variables where conserved ones change by `v`, with what walls hold.
    fn find_along(&self, q: &[[f64; 5]], v: &[f64], along: &mut [NodeRecord]) {
        let (gas, planar) = (self.gas.lift(), self.planar);
        let state = |i: usize| -> [Dual<f64, 1>; 5] {
            std::array::from_fn(|k| {
                let d = if planar && k == 3 { 0.0 } else { v[5 * i + k] };
                Dual { v: q[i][k], d: [d] }
            })
        };
        parallel::rows(&self.team, q.len(), 1, along, |rows, along| {
            for (i, along) in rows.zip(along) {
                let w = primitive(gas, &state(i));
                along[..5].copy_from_slice(&w.map(|w| w.d[0]));
            }
        });
        for &WallNode { node, heat, wall } in &self.fixed {
            let wall = Wall { temperature: Dual::c(wall.temperature), velocity: wall.velocity.map(Dual::c) };
            let w = primitive(gas, &strong_wall_conserved(gas, heat, wall, &state(node as usize)));
            along[node as usize][..5].copy_from_slice(&w.map(|w| w.d[0]));
        }
        if let Some(share) = self.share() {
            share.exchange(8, along.as_flattened_mut());
        }
    }

    /// The flow where the derivative is taken.
    fn direction<'a>(&'a self, way: &'a Way, h: f64) -> Direction<'a> {
        let flow = FlowView { nodes: &way.nodes, ..self.view(&[], &way.fluxes) };
        Direction { flow, nodes: &way.along, h }
    }

    /// Has a system beside the flow take a direction, or sets its values to those of a step along it.
    fn move_beside(&mut self, number: usize, base: &[f64], way: &Way, h: f64, v: &[f64]) {
        let mut coupled = std::mem::take(&mut self.coupled);
        if coupled[number].has_derivative() {
            coupled[number].direct(&self.direction(way, h), v);
        } else {
            coupled[number].set_beside(&self.team, base, h, v);
        }
        self.coupled = coupled;
    }

    /// The part of the derivative that a system beside the flow has.
    fn differentiate_beside(
        &mut self,
        beside: &Beside,
        way: &Way,
        at: &Moment,
        h: f64,
        v: &[f64],
        y: &mut [f64],
    ) {
        let mut coupled = std::mem::take(&mut self.coupled);
        let system = &mut coupled[beside.number];
        if system.has_derivative() {
            system.derivative(&self.direction(way, h), &self.view(&[], &self.fluxes), at, v, y);
        } else {
            system.differentiate(&self.team, h, &beside.residual, v, y);
        }
        self.coupled = coupled;
    }

    /// Sets the state to q + h v, with what walls hold in its place.
    fn set_beside(&mut self, q: &[[f64; 5]], h: f64, v: &[f64]) {
        let (gas, planar, n) = (self.gas, self.planar, q.len());
        parallel::rows2(&self.team, n, (1, &mut self.q), (1, &mut self.nodes), |rows, out, nodes| {
            for ((i, out), node) in rows.zip(out).zip(nodes) {
                *out = std::array::from_fn(|k| q[i][k] + h * v[5 * i + k]);
                if planar {
                    out[3] = 0.0;
                }
                node[..5].copy_from_slice(&primitive(gas, out));
            }
        });
        self.hold_walls();
    }

    /// V/dt of each node: the sum of the spectral radii over its faces, over the CFL number.
    fn pseudo_times(&self, at: &Moment) -> Vec<f64> {
        let (gas, dual, eddies) = (self.gas, &self.dual, eddies(&self.config, &self.coupled));
        let mut times = vec![0.0; dual.nodes()];
        parallel::rows(&self.team, dual.nodes(), 1, &mut times, |rows, times| {
            for (i, time) in rows.zip(times) {
                let w = primitive_of(&self.nodes[i]);
                let diffusing = self.viscous.as_ref().map(|(transport, _)| {
                    let own = molecular(gas, *transport, temperature(gas, &w));
                    let eddy_viscosity = eddies.viscosity.get(i).copied().unwrap_or(0.0);
                    with_eddies(gas, &own, eddy_viscosity, eddies.prandtl)
                });
                let sum: f64 = dual
                    .pattern
                    .range(i)
                    .map(|k| {
                        let n = &dual.areas[dual.edge_of[k] as usize];
                        let viscous = diffusing
                            .as_ref()
                            .map_or(0.0, |d| spectral_radius_viscous_of(gas, d, &w, n, dual.volumes[i]));
                        spectral_radius(gas, &w, n) + viscous
                    })
                    .sum();
                *time = sum / (at.cfl * share_at(&self.cfl_shares, i));
            }
        });
        times
    }
}
