//! Residual and matrix on the host. Twin: scalar.cu.

use super::{Scalar, Work};
use crate::coupled::{
    Carried, CoupledState, FlowView, edge_weight, flux_carried, flux_diffused, flux_entering,
    rate_of_carried, rate_slope_of_carried,
};
use crate::gas::{temperature, viscosity};
use crate::gradient::least_squares;
use crate::limiter::{extrapolate, extrapolate_van_albada};
use crate::march::Moment;
use crate::parallel;
use crate::residual::primitive_of;
use chromaflow::Jacobian;
use chromaflow_device::Buffer;

impl Scalar {
    /// Writes the residual; see [`crate::coupled::flux_carried`]'s file for what it is.
    pub(super) fn compute_residual(
        &mut self,
        flow: &FlowView<'_>,
        state: &CoupledState,
        at: &Moment,
        residual: &mut [f64],
    ) {
        let mut work = std::mem::take(&mut self.work);
        let (phi, dual, second_order) = (&state.values, flow.dual, self.is_second_order(at));
        self.find_gammas(flow, &mut work);
        if second_order {
            find_gradients(flow, phi, &mut work);
        }
        work.fluxes.resize(dual.edges.len(), 0.0);
        let Work { gradients, gammas, fluxes, .. } = &mut work;
        let gradients = if second_order { &gradients[..] } else { &[] };
        parallel::rows(flow.team, dual.edges.len(), 1, fluxes, |edges, out| {
            for (edge, flux) in edges.zip(out) {
                *flux = self.edge_flux(flow, phi, gradients, gammas, edge);
            }
        });
        let factors = at.time_factors();
        parallel::rows(flow.team, dual.nodes(), 1, residual, |rows, out| {
            for (i, r) in rows.zip(out) {
                *r = 0.0;
                for k in dual.pattern.range(i) {
                    let edge = dual.edge_of[k] as usize;
                    let sign = if (dual.pattern.col_idx()[k] as usize) > i { 1.0 } else { -1.0 };
                    *r += sign * (fluxes[edge] - flow.fluxes[edge][0] * phi[i]);
                }
                if let Some([_, last, before]) = factors {
                    let densities = flow.levels.map(|level| level[i][0]);
                    let values = [state.levels[0][i], state.levels[1][i]];
                    *r += dual.volumes[i] * rate_of_carried(&[last, before], &densities, phi[i], &values);
                }
            }
        });
        flow.at_open_nodes(1, residual, |open, r| {
            r[0] += flux_entering(open.mass, phi[open.node], self.values[open.patch]);
        });
        self.work = work;
    }

    /// Gamma at the nodes.
    fn find_gammas(&self, flow: &FlowView<'_>, work: &mut Work) {
        work.gammas.resize(flow.nodes.len(), 0.0);
        let gammas = &mut work.gammas;
        match (self.config.diffusivity, flow.transport) {
            (Some(gamma), _) => gammas.fill(gamma),
            (None, None) => gammas.fill(0.0),
            (None, Some(transport)) => parallel::rows(flow.team, flow.nodes.len(), 1, gammas, |rows, out| {
                for (node, gamma) in flow.nodes[rows].iter().zip(out) {
                    let t = temperature(flow.gas, &primitive_of(node));
                    *gamma = transport.scale * viscosity(transport, t) / self.config.schmidt;
                }
            }),
        }
    }

    /// What leaves a for b through the face of an edge.
    fn edge_flux(
        &self,
        flow: &FlowView<'_>,
        phi: &[f64],
        gradients: &[crate::gradient::Gradient],
        gammas: &[f64],
        edge: usize,
    ) -> f64 {
        let [a, b] = flow.dual.edges[edge].map(|i| i as usize);
        let (mass, n) = (flow.fluxes[edge][0], &flow.dual.areas[edge]);
        let dx = flow.between(a, b);
        let gamma = 0.5 * (gammas[a] + gammas[b]);
        let across = edge_weight(n, &dx);
        if gradients.is_empty() {
            let diffused = flux_diffused(gamma, across, phi[b] - phi[a], &[0.0; 3], &dx, n);
            return flux_carried(mass, phi[a], phi[b]) + diffused;
        }
        let slope = |i: usize| [gradients[i][0], gradients[i][5], gradients[i][10]];
        let (ga, gb) = (slope(a), slope(b));
        let dot = |g: &[f64; 3]| g[0] * dx[0] + g[1] * dx[1] + g[2] * dx[2];
        let kappa = flow.config.space.kappa;
        let side = |own: usize, other: usize, along: f64| {
            if self.config.limited {
                extrapolate_van_albada(phi[own], phi[other], along, kappa, self.eps2)
            } else {
                extrapolate(phi[own], phi[other], along, kappa, 1.0)
            }
        };
        let mean: [f64; 3] = std::array::from_fn(|d| 0.5 * (ga[d] + gb[d]));
        let mut flux = flux_carried(mass, side(a, b, dot(&ga)), side(b, a, -dot(&gb)));
        if let Some(moment) = self.moments(flow).get(edge) {
            for k in 0..3 {
                let momentum =
                    0.5 * (flow.nodes[a][0] * flow.nodes[a][1 + k] + flow.nodes[b][0] * flow.nodes[b][1 + k]);
                for d in 0..3 {
                    flux += momentum * mean[d] * moment[d][k];
                }
            }
        }
        flux + flux_diffused(gamma, across, phi[b] - phi[a], &mean, &dx, n)
    }

    /// Writes the matrix of a step.
    pub(super) fn compute_matrix(&self, flow: &FlowView<'_>, at: &Moment, jacobian: &mut Jacobian) {
        let gammas = &self.work.gammas;
        let slope = |i: usize| {
            let rate = at.time_factors().map_or(0.0, |[_, last, before]| {
                rate_slope_of_carried(&[last, before], &flow.levels.map(|level| level[i][0]))
            });
            [[rate]]
        };
        let face = |i: usize, j: usize, edge: usize| (flow.fluxes[edge][0], [0.5 * (gammas[i] + gammas[j])]);
        let (growth, leaves) = (|_| 0.0, |_, mass| mass);
        Carried { flow, cfl: at.cfl, face, slope, growth, leaves }.assemble(jacobian);
    }
}

/// phi's gradients, by the routine that the flow's come from.
fn find_gradients(flow: &FlowView<'_>, phi: &[f64], work: &mut Work) {
    let n = flow.nodes.len();
    if work.records.len() != n {
        (work.records, work.gradients) = (Buffer::zeroed(n), Buffer::zeroed(n));
    }
    for ((record, node), &phi) in work.records.iter_mut().zip(flow.nodes).zip(phi) {
        *record = [phi, 0.0, 0.0, 0.0, 0.0, node[5], node[6], node[7]];
    }
    let weights = flow.config.space.gradient;
    least_squares(flow.team, &flow.dual.pattern, &work.records, weights, flow.shifts, &mut work.gradients);
}
