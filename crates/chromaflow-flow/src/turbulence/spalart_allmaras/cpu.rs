//! Residual and matrix on the host.

use super::{SaEquation, Work, sa_diffusivity, sa_joint_terms, sa_source_turning, sa_viscosities};
use crate::config::{Quadratic, Rotation};
use crate::coupled::{
    Carried, CoupledState, FlowView, NodeSlopes, edge_weight, flux_carried, flux_diffused, flux_entering,
    rate_of_carried, rate_slope_of_carried,
};
use crate::gas::{temperature, viscosity};
use crate::limiter::extrapolate;
use crate::march::Moment;
use crate::parallel;
use crate::real::{AHEAD, Dual, Real, prefetch};
use crate::residual::primitive_of;
use crate::turbulence::walls::replace_shear;

/// nut is one per volume: the density plays no part in what it changes by in time.
const UNIT: [f64; 2] = [1.0, 1.0];

impl SaEquation {
    /// nu and the eddy viscosity at the nodes.
    pub(super) fn viscosities(&self, flow: &FlowView<'_>, nut: &[f64]) -> [Vec<f64>; 2] {
        let n = nut.len();
        let (mut nu, mut eddy) = (vec![0.0; n], vec![0.0; n]);
        let Some(transport) = flow.transport else { return [nu, eddy] };
        parallel::rows2(flow.team, n, (1, &mut nu), (1, &mut eddy), |rows, nus, eddies| {
            for ((i, nu), eddy) in rows.zip(nus).zip(eddies) {
                let w = primitive_of(&flow.nodes[i]);
                let mu = viscosity(transport, temperature(flow.gas, &w));
                [*nu, *eddy] = sa_viscosities(self.model, w[0], mu, nut[i]);
            }
        });
        [nu, eddy]
    }

    /// Gradients of velocity and nut at the nodes.
    pub(super) fn find_gradients(&mut self, flow: &FlowView<'_>, nut: &[f64]) {
        let gradients = &mut self.work.gradients;
        gradients.resize(nut.len(), [[0.0; 3]; 4]);
        let flat = gradients.as_flattened_mut().as_flattened_mut();
        self.gradients.compute::<1>(flow.team, flow.nodes, nut.as_chunks().0, flat);
        replace_shear(flow, flat, 12);
    }

    /// What leaves each control volume less what its source brings.
    pub(super) fn compute_residual(
        &mut self,
        flow: &FlowView<'_>,
        state: &CoupledState,
        at: &Moment,
        residual: &mut [f64],
    ) {
        let (nut, dual, n) = (&state.values, flow.dual, state.values.len());
        if self.config.quadratic != Quadratic::Qcr2020 {
            self.find_gradients(flow, nut);
        }
        let mut work = std::mem::take(&mut self.work);
        work.source.resize(n, [0.0; 2]);
        work.faces.resize(dual.edges.len(), [0.0; 3]);
        let Work { nu, gradients, source, faces, .. } = &mut work;
        parallel::rows(flow.team, n, 1, source, |rows, out| {
            for (i, source) in rows.zip(out) {
                let [u, v, w, _] = gradients[i];
                let omega = self.turning(&[u, v, w]);
                let [length, _] = self.length(i, nu[i], nut[i], &[u, v, w]);
                let turning = self.produced(flow, gradients, i);
                *source = sa_source_turning(self.model, nu[i], nut[i], omega, length, turning);
            }
        });
        parallel::rows(flow.team, dual.edges.len(), 1, faces, |edges, out| {
            for (edge, face) in edges.zip(out) {
                if let Some(&[_, far]) = dual.edges.get(edge + AHEAD) {
                    prefetch(flow.nodes, far);
                    prefetch(gradients.as_flattened(), 4 * far + 3);
                }
                *face = self.face(flow, nut, gradients, edge);
            }
        });
        let factors = at.time_factors();
        parallel::rows(flow.team, n, 1, residual, |rows, out| {
            for (i, r) in rows.zip(out) {
                *r = -dual.volumes[i] * source[i][0];
                for k in dual.pattern.range(i) {
                    if let Some(&edge) = dual.edge_of.get(k + AHEAD) {
                        prefetch(faces, edge);
                    }
                    let j = dual.pattern.col_idx()[k] as usize;
                    let sign = if j > i { 1.0 } else { -1.0 };
                    let [volume, carried, through] = faces[dual.edge_of[k] as usize];
                    let spread = sa_diffusivity(self.model, &[nu[i], nu[j]], &[nut[i], nut[j]]);
                    *r += sign * (carried - volume * nut[i] - spread * through);
                }
                if let Some([_, last, before]) = factors {
                    let values = [state.levels[0][i], state.levels[1][i]];
                    *r += dual.volumes[i] * rate_of_carried(&[last, before], &UNIT, nut[i], &values);
                }
            }
        });
        let inflow = self.config.inflow;
        flow.at_open_nodes(1, residual, |open, r| {
            let i = open.node;
            r[0] += flux_entering(open.mass / flow.nodes[i][0], nut[i], inflow);
        });
        self.work = work;
    }

    /// Through the face of an edge, from its first node to its second: volume, nut with it, and grad nut . n.
    fn face(&self, flow: &FlowView<'_>, nut: &[f64], gradients: &[[[f64; 3]; 4]], edge: usize) -> [f64; 3] {
        let [a, b] = flow.dual.edges[edge].map(|i| i as usize);
        let n = &flow.dual.areas[edge];
        let dx = flow.between(a, b);
        let volume = passing(flow, edge);
        let (ga, gb) = (gradients[a][3], gradients[b][3]);
        let (mut left, mut right) = (nut[a], nut[b]);
        if self.config.second_order {
            let along = |g: &[f64; 3]| g[0] * dx[0] + g[1] * dx[1] + g[2] * dx[2];
            let kappa = flow.config.space.kappa;
            left = extrapolate(nut[a], nut[b], along(&ga), kappa, 1.0);
            right = extrapolate(nut[b], nut[a], -along(&gb), kappa, 1.0);
        }
        let mean = std::array::from_fn(|d| 0.5 * (ga[d] + gb[d]));
        let through = -flux_diffused(1.0, edge_weight(n, &dx), nut[b] - nut[a], &mean, &dx, n);
        [volume, flux_carried(volume, left, right), through]
    }

    /// What the matrix of a step is made of; the source's derivative where it adds to the diagonal.
    #[allow(clippy::type_complexity)] // the closures' types have no names
    pub(super) fn carried<'a>(
        &'a self,
        flow: &'a FlowView<'a>,
        state: &'a CoupledState,
        at: &'a Moment,
    ) -> Carried<
        'a,
        1,
        impl Fn(usize, usize, usize) -> (f64, [f64; 1]) + Sync,
        impl Fn(usize) -> [[f64; 1]; 1] + Sync,
        impl Fn(usize) -> f64 + Sync,
        impl Fn(usize, f64) -> f64 + Sync,
    > {
        let (nut, Work { nu, source, faces, .. }) = (&state.values, &self.work);
        let slope = move |i: usize| {
            let rate = at
                .time_factors()
                .map_or(0.0, |[_, last, before]| rate_slope_of_carried(&[last, before], &UNIT));
            [[(-source[i][1]).max(0.0) + rate]]
        };
        let face = move |i: usize, j: usize, edge: usize| {
            (faces[edge][0], [sa_diffusivity(self.model, &[nu[i], nu[j]], &[nut[i], nut[j]])])
        };
        let leaves = |i: usize, mass: f64| mass / flow.nodes[i][0];
        Carried { flow, cfl: at.cfl * self.config.cfl_ratio, face, slope, growth: |_| 0.0, leaves }
    }
}

/// Variables of the derivatives that join the equation with the flow: density, pressure, nut, d(u, v, w)_i / dx_k.
type By = Dual<f64, 12>;

impl SaEquation {
    /// See [`Coupled::slopes`](crate::coupled::Coupled::slopes). Lengths of hybrids and what rotation makes of production stay what they are.
    pub(super) fn find_slopes(&self, flow: &FlowView<'_>, state: &CoupledState, out: &mut [NodeSlopes]) {
        let Some(transport) = flow.transport else { return };
        let (nut, Work { nu, gradients, .. }) = (&state.values, &self.work);
        let rotating = self.config.rotation == Rotation::Rotating;
        parallel::rows(flow.team, nut.len(), 1, out, |rows, out| {
            for (i, out) in rows.zip(out) {
                let [u, v, w, _] = gradients[i];
                let velocity = [u, v, w];
                let [length, _] = self.length(i, nu[i], nut[i], &velocity);
                let turning = self.produced(flow, gradients, i);
                let node = &flow.nodes[i];
                let gradient = std::array::from_fn(|r| By::variables(&velocity[r], 3 + 3 * r));
                let [eddy, spread, source] = sa_joint_terms(
                    self.model.lift(),
                    flow.gas.lift(),
                    transport.lift(),
                    &[By::variable(node[0], 0), By::variable(node[4], 1)],
                    By::variable(nut[i], 2),
                    &gradient,
                    By::c(length),
                    By::c(turning),
                    rotating,
                );
                *out = NodeSlopes {
                    eddy: eddy.d[2],
                    spread: [spread.d[0], spread.d[1]],
                    source: [source.d[0], source.d[1]],
                    turning: std::array::from_fn(|r| std::array::from_fn(|k| source.d[3 + 3 * r + k])),
                };
            }
        });
        for law in flow.laws[1] {
            out[law.node as usize].turning = [[0.0; 3]; 3];
        }
    }
}

/// Volume that passes the face of an edge.
pub(super) fn passing(flow: &FlowView<'_>, edge: usize) -> f64 {
    let [a, b] = flow.dual.edges[edge].map(|i| flow.nodes[i as usize][0]);
    2.0 * flow.fluxes[edge][0] / (a + b)
}
