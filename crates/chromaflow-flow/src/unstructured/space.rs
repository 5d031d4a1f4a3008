//! The residual and the Jacobian of the present state.

use super::FlowSystem;
use super::coupled::eddies;
use crate::bc::{MirrorNode, WallHeat, WallNode, mirror_kept, strong_wall_energy};
use crate::flux::{LayerFix, RoeFix};
use crate::gradient::{Gradient, least_squares};
use crate::jacobian::Assembly;
use crate::march::Moment;
use crate::residual::{Inviscid, OpenStress, adapt_outlets, node_limits};
use chromaflow::Jacobian;
use chromaflow::dist::Links;
use chromaflow_device::Buffer;
use std::sync::Arc;

impl FlowSystem {
    /// Back pressures of outlets of given mass flow, by the state.
    pub(super) fn adapt_outlets(&mut self, at: &Moment) {
        let alone = if self.steps_by_newton(at) { 0.0 } else { 1.0 };
        adapt_outlets(&self.dual, &self.nodes, self.gas, self.over.as_ref(), &mut self.boundaries, alone);
    }

    pub(crate) fn compute_residual(&mut self, at: &Moment) {
        self.exchange_states();
        if self.steps_by_newton(at) {
            self.adapt_outlets(at);
        }
        let second_order = at.is_second_order(&self.config.space);
        let with_gradients = self.has_gradients(at);
        let mut gradients = std::mem::take(&mut self.gradients);
        let mut fluxes = std::mem::take(&mut self.fluxes);
        let mut residual = std::mem::take(&mut self.residual);
        let mut limits = std::mem::take(&mut self.limits);
        if fluxes.len() != self.dual.edges.len() {
            fluxes = Buffer::zeroed(self.dual.edges.len());
        }
        if with_gradients && gradients.len() != self.dual.nodes() {
            gradients = Buffer::zeroed(self.dual.nodes());
        }
        if with_gradients {
            let weights = self.config.space.gradient;
            let mapped = &self.mapping.by_row;
            least_squares(&self.team, &self.dual.pattern, &self.nodes, weights, mapped, &mut gradients);
            let pattern = &self.dual.pattern;
            self.mirrors.gradients(&self.team, pattern, &self.nodes, weights, mapped, &mut gradients);
        }
        self.prepare_coupled(if with_gradients { &gradients } else { &[] });
        let eps2 = self.config.limiter_eps2();
        if second_order {
            let limiter = self.config.space.limiter;
            let gradients = (&gradients[..], &self.mapping);
            node_limits(&self.team, &self.dual, &self.nodes, gradients, limiter, eps2, &mut limits);
            if let Some(rows) = self.over.as_ref().filter(|rows| rows.seam.is_some() && !limits.is_empty()) {
                // Factors are a row's own, in its own axes.
                rows.share.exchange_factors(5, limits.as_flattened_mut());
            }
        }
        let used: &[Gradient] = if second_order { &gradients } else { &[] };
        let inviscid = Inviscid {
            team: &self.team,
            dual: &self.dual,
            boundaries: &self.boundaries,
            fixed: &self.fixed,
            space: &self.config.space,
            fix: RoeFix::of_residual(&self.config, at.damped),
            layers: LayerFix::of_residual(&self.config, self.depth),
            gas: self.gas,
            eps2,
            mapping: &self.mapping,
            moments: &self.moments,
        };
        let used_limits: &[[f64; 5]] = if second_order { &limits } else { &[] };
        inviscid.edge_fluxes(&self.nodes, used, used_limits, &mut fluxes);
        if second_order && !self.turned.edges.is_empty() {
            inviscid.turned_fluxes(&self.turned, (&self.nodes, used, used_limits), &mut fluxes);
        }
        let eddies = eddies(&self.config, &self.coupled);
        if let Some((transport, elements)) = &self.viscous {
            elements.subtract(&self.team, self.gas, *transport, eddies, &self.nodes, &mut fluxes);
        }
        inviscid.gather(&fluxes, &mut residual);
        inviscid.add_boundaries(&self.nodes, &mut residual);
        if let Some((transport, _)) = &self.viscous {
            let Inviscid { team, dual, boundaries, gas, .. } = inviscid;
            let open = OpenStress { team, dual, boundaries, gas, transport: *transport, eddies };
            open.subtract(&self.nodes, &gradients, &mut residual);
        }
        self.add_time_derivative(at, &mut residual);
        self.add_source(&mut residual);
        self.hold_nodes(&mut residual);
        if let Some(share) = self.share() {
            share.clear(5, residual.as_flattened_mut());
        }
        (self.gradients, self.limits) = (gradients, limits);
        (self.fluxes, self.residual) = (fluxes, residual);
    }

    fn add_source(&self, residual: &mut [[f64; 5]]) {
        let Some(source) = &self.source else { return };
        for ((r, node), volume) in residual.iter_mut().zip(&*self.nodes).zip(&self.dual.volumes) {
            let s = source([node[5], node[6], node[7]]);
            for v in 0..5 {
                r[v] -= volume * s[v];
            }
        }
    }

    /// Momentum (and energy, where the temperature is given) of nodes on walls without slip is not solved for. What
    /// remains of their balances is the friction and the heat that the wall takes up. Nor is anything at nodes of given state.
    fn hold_nodes(&mut self, residual: &mut [[f64; 5]]) {
        for (&WallNode { node, heat, wall }, friction) in self.fixed.iter().zip(&mut self.friction) {
            let r = &mut residual[node as usize];
            let energy = strong_wall_energy(wall, r);
            let (kept, taken) = if heat == WallHeat::Isothermal { (0.0, -energy) } else { (energy, 0.0) };
            *friction = [-r[1], -r[2], -r[3], taken];
            r[4] = kept;
            r[1..4].fill(0.0);
        }
        self.add_laws(residual);
        for MirrorNode { node, mirror, .. } in &self.mirrors.nodes {
            let r = &mut residual[*node as usize];
            *r = mirror_kept(mirror, r);
        }
        for &i in &self.held {
            residual[i as usize] = [0.0; 5];
        }
        if self.planar {
            for r in residual {
                r[3] = 0.0;
            }
        }
    }

    /// Friction on the `i`-th node of a patch; where several walls without slip meet, each takes its share by area.
    pub(super) fn friction_on(&self, patch: usize, i: usize) -> [f64; 3] {
        self.friction_share(patch, i).map_or([0.0; 3], |(at, share)| {
            let [x, y, z, _] = self.friction[at];
            [share * x, share * y, share * z]
        })
    }

    /// Which of `fixed` and `laws` the `i`-th node of a patch is, and the patch's share of the friction there.
    pub(super) fn friction_share(&self, patch: usize, i: usize) -> Option<(usize, f64)> {
        if !self.is_viscous(&self.dual.patches[patch]) {
            return None;
        }
        let node = self.dual.patches[patch].nodes[i];
        let at = self.wall_of(node)?;
        let size = |n: &[f64; 3]| (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
        let whole: f64 = self
            .dual
            .patches
            .iter()
            .filter(|p| self.is_viscous(p))
            .filter_map(|p| p.nodes.binary_search(&node).ok().map(|k| size(&p.areas[k])))
            .sum();
        Some((at, size(&self.dual.patches[patch].areas[i]) / whole))
    }

    pub(super) fn assemble(&mut self, at: &Moment) {
        if self.jacobian.rows() != self.q.len() {
            let pattern = Arc::clone(&self.dual.pattern);
            self.jacobian = Jacobian::zeroed(pattern, 5, self.config.implicit.policy)
                .expect("the solver was made with this pattern");
        }
        let assembly = Assembly {
            team: &self.team,
            dual: &self.dual,
            boundaries: &self.boundaries,
            scheme: self.config.implicit.jacobian,
            fix: RoeFix::of_matrix(&self.config, at.damped, at.hard),
            gas: self.gas,
            transport: self.viscous.as_ref().map(|(transport, _)| *transport),
            eddies: eddies(&self.config, &self.coupled),
            cfl: at.cfl,
            shares: &self.cfl_shares,
            shift: at.time_shift(),
            fixed: &self.fixed,
            laws: &self.laws[0],
            mirrors: &self.mirrors.nodes,
            held: &self.held,
        };
        assembly.assemble(&self.nodes, &mut self.jacobian);
        if let Some(over) = &self.over {
            over.identities(&mut self.jacobian);
        }
    }
}
