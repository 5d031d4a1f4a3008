//! The derivative of the residual along a direction, exact but for that of the flow's mass fluxes, which are differences. Twin: k_omega.cu.

use super::{GRADIENTS, KOmegaEquations, NB};
use crate::coupled::{
    CoupledState, Direction, FlowView, edge_weight, flux_carried, flux_entering, gradient_of_positive,
    rate_slope_of_carried,
};
use crate::limiter::extrapolate;
use crate::march::Moment;
use crate::parallel;
use crate::real::{AHEAD, Dual, Real, prefetch};
use crate::residual::primitive_of;
use crate::wall_law::{LawNode, law_gradient};

/// A number and its derivative along the direction.
type Along = Dual<f64, 1>;

fn along(v: f64, d: f64) -> Along {
    Dual { v, d: [d] }
}

/// Derivatives along the direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    /// Of gradients, `[rows, GRADIENTS]`.
    gradients: Vec<f64>,
    /// Of what k and omega diffuse by, and of their sources.
    terms: Vec<[[f64; NB]; 2]>,
    /// Of what passes through the face of an edge, carried and diffused, and of its mass.
    faces: Vec<([f64; NB], f64)>,
    /// Eddy viscosity at the end of the flow's step.
    pub(super) eddies: Vec<f64>,
    /// Whether a direction is taken.
    pub(super) taken: bool,
}

impl KOmegaEquations {
    /// See [`Coupled::direct`](crate::coupled::Coupled::direct).
    pub(super) fn take_direction(&mut self, way: &Direction<'_>, state: &CoupledState, changes: &mut [f64]) {
        let (flow, n) = (&way.flow, way.nodes.len());
        for &row in &state.given {
            let row = row as usize;
            let values = self.wall_values(flow, row, |i| state_along(way, i));
            changes[NB * row..][..NB].copy_from_slice(&values.map(|value| value.d[0]));
        }
        let mut own = std::mem::take(&mut self.way);
        own.taken = true;
        own.eddies.resize(n, 0.0);
        own.gradients.resize(GRADIENTS * n, 0.0);
        own.terms.resize(n, [[0.0; NB]; 2]);
        self.gradients.compute::<NB>(flow.team, way.nodes, changes.as_chunks().0, &mut own.gradients);
        self.replace_shear_along(way, &mut own.gradients);
        let [slopes, slopes_along] =
            [&self.work.gradients, &own.gradients].map(|g| g.as_chunks::<3>().0.as_chunks::<5>().0);
        let values = &state.values;
        parallel::rows2(flow.team, n, (1, &mut own.terms), (1, &mut own.eddies), |rows, terms, eddies| {
            for ((i, terms), moved) in rows.zip(terms).zip(eddies) {
                let lengths = self.lengths(i, &slopes[i]);
                let turbulence = [0, 1].map(|v| along(values[NB * i + v], changes[NB * i + v]));
                let gradients = std::array::from_fn(|v| {
                    std::array::from_fn(|d| along(slopes[i][v][d], slopes_along[i][v][d]))
                });
                let (own, eddy) =
                    self.terms_of(flow, &state_along(way, i), &turbulence, &gradients, i, &lengths);
                *terms = [own.diffusing.map(|t| t.d[0]), [own.sources[0].d[0], own.sources[1].d[0]]];
                *moved = eddy.v + way.h * eddy.d[0];
            }
        });
        self.way = own;
    }

    /// Of the shear at nodes next to walls with laws, see [`replace_shear`](super::super::walls::replace_shear).
    fn replace_shear_along(&self, way: &Direction<'_>, slopes: &mut [f64]) {
        let flow = &way.flow;
        let Some(transport) = flow.transport else { return };
        for (LawNode { node, other, place }, base) in flow.laws[1].iter().zip(&self.work.without_law) {
            let from = GRADIENTS * *node as usize;
            let velocity =
                std::array::from_fn(|i| std::array::from_fn(|k| along(base[i][k], slopes[from + 3 * i + k])));
            let (gas, w) = (flow.gas.lift(), state_along(way, *other as usize));
            let found = law_gradient(gas, transport.lift(), place.lift(), &w, &velocity);
            for (slope, value) in slopes[from..from + 9].iter_mut().zip(found.as_flattened()) {
                *slope = value.d[0];
            }
        }
    }

    /// See [`Coupled::derivative`](crate::coupled::Coupled::derivative).
    pub(super) fn compute_derivative(
        &mut self,
        way: &Direction<'_>,
        moved: &FlowView<'_>,
        at: &Moment,
        state: &CoupledState,
        changes: &[f64],
        out: &mut [f64],
    ) {
        let (flow, values, dual, n) = (&way.flow, &state.values, way.flow.dual, way.nodes.len());
        let mut own = std::mem::take(&mut self.way);
        own.faces.resize(dual.edges.len(), ([0.0; NB], 0.0));
        let Way { gradients, terms, faces, .. } = &mut own;
        let (nodes, base) = (&self.work.nodes, &self.work.faces);
        parallel::rows(flow.team, dual.edges.len(), 1, faces, |edges, out| {
            for (edge, (passing, mass_along)) in edges.zip(out) {
                *mass_along = way.mass(moved, edge);
                let mass = along(flow.fluxes[edge][0], *mass_along);
                let [carried_along, through_along] =
                    self.face_along(flow, mass, [values, changes], gradients, edge);
                let [i, j] = dual.edges[edge].map(|i| i as usize);
                let [_, through] = base[edge];
                for v in 0..NB {
                    let spread = 0.5 * (nodes[i].diffusing[v] + nodes[j].diffusing[v]);
                    let spread_along = 0.5 * (terms[i][0][v] + terms[j][0][v]);
                    passing[v] = carried_along[v] - (spread_along * through[v] + spread * through_along[v]);
                }
            }
        });
        let factors = at.time_factors();
        parallel::rows(flow.team, n, NB, out, |rows, out| {
            for (i, r) in rows.zip(out.as_chunks_mut::<NB>().0) {
                for v in 0..NB {
                    r[v] = -dual.volumes[i] * terms[i][1][v];
                }
                for k in dual.pattern.range(i) {
                    if let Some(&edge) = dual.edge_of.get(k + AHEAD) {
                        prefetch(faces, edge);
                        prefetch(flow.fluxes, edge);
                    }
                    let (j, edge) = (dual.pattern.col_idx()[k] as usize, dual.edge_of[k] as usize);
                    let sign = if j > i { 1.0 } else { -1.0 };
                    let (mass, (passing, mass_along)) = (flow.fluxes[edge][0], faces[edge]);
                    for v in 0..NB {
                        let left = mass_along * values[NB * i + v] + mass * changes[NB * i + v];
                        r[v] += sign * (passing[v] - left);
                    }
                }
                if let Some([_, last, before]) = factors {
                    let densities = flow.levels.map(|level| level[i][0]);
                    let slope = dual.volumes[i] * rate_slope_of_carried(&[last, before], &densities);
                    for v in 0..NB {
                        r[v] += slope * changes[NB * i + v];
                    }
                }
            }
        });
        self.way = own;
        let inflow = self.inflow;
        flow.at_open_nodes(NB, out, |open, out| {
            let (i, mass) = (open.node, open.mass);
            let mass = along(mass, (moved.mass_out(open) - mass) / way.h);
            for v in 0..NB {
                let value = along(values[NB * i + v], changes[NB * i + v]);
                out[v] += flux_entering(mass, value, Along::c(inflow[v])).d[0];
            }
        });
    }

    /// The derivative of what a face carries, and of the gradient's part along its normal.
    fn face_along(
        &self,
        flow: &FlowView<'_>,
        mass: Along,
        [values, changes]: [&[f64]; 2],
        gradients: &[f64],
        edge: usize,
    ) -> [[f64; NB]; 2] {
        let [a, b] = flow.dual.edges[edge].map(|i| i as usize);
        let n = &flow.dual.areas[edge];
        let dx = flow.between(a, b);
        let across = edge_weight(n, &dx);
        let base = &self.work.gradients;
        let mut face = [[0.0; NB]; 2];
        for v in 0..NB {
            let slope = |all: &[f64], i: usize| -> [f64; 3] {
                std::array::from_fn(|d| all[GRADIENTS * i + 3 * (3 + v) + d])
            };
            let [ga, gb] = [a, b].map(|i| slope(gradients, i));
            let [base_a, base_b] = [a, b].map(|i| slope(base, i));
            let [pa, pb] = [a, b].map(|i| along(values[NB * i + v], changes[NB * i + v]));
            let (mut left, mut right) = (pa, pb);
            if self.config.second_order {
                let dot = |g: &[f64; 3]| g[0] * dx[0] + g[1] * dx[1] + g[2] * dx[2];
                let (kappa, one) = (Along::c(flow.config.space.kappa), Along::c(1.0));
                let [along_a, along_b] =
                    [(&base_a, &ga), (&base_b, &gb)].map(|(base, g)| along(dot(base), dot(g)));
                left = extrapolate(pa, pb, along_a, kappa, one);
                right = extrapolate(pb, pa, -along_b, kappa, one);
            }
            let mean = std::array::from_fn(|d| along(0.5 * (base_a[d] + base_b[d]), 0.5 * (ga[d] + gb[d])));
            let [dx, n] = [&dx, n].map(|vector| vector.map(Along::c));
            face[0][v] = flux_carried(mass, left, right).d[0];
            face[1][v] = gradient_of_positive(Along::c(across), &[pa, pb], &mean, &dx, &n).d[0];
        }
        face
    }
}

/// rho, u, v, w and p of a row.
fn state_along(way: &Direction<'_>, row: usize) -> [Along; 5] {
    let (value, slope) = (primitive_of(&way.flow.nodes[row]), primitive_of(&way.nodes[row]));
    std::array::from_fn(|k| along(value[k], slope[k]))
}
