//! Residual and matrix on the host. Twin: k_omega.cu.

use super::super::hybrid::sst_shortened;
use super::super::walls::replace_shear;
use super::{
    GRADIENTS, KOmegaEquations, NB, NodeTerms, Work, deformation, k_omega_blending, k_omega_diffusing,
    k_omega_rate, k_omega_sources, producing, viscosity_at,
};
use crate::coupled::{
    Carried, CoupledState, FlowView, NodeSlopes, edge_weight, flux_carried, flux_entering,
    gradient_of_positive, rate_of_carried, rate_slope_of_carried,
};
use crate::limiter::extrapolate;
use crate::march::Moment;
use crate::parallel;
use crate::real::{AHEAD, Dual, Real, prefetch};
use crate::residual::primitive_of;

impl KOmegaEquations {
    /// Gradients, sources and viscosities at the nodes.
    pub(super) fn find_terms(&self, flow: &FlowView<'_>, values: &[f64], work: &mut Work) {
        let n = flow.nodes.len();
        work.gradients.resize(GRADIENTS * n, 0.0);
        work.nodes.resize(n, NodeTerms::default());
        work.eddies.resize(n, 0.0);
        self.gradients.compute::<NB>(flow.team, flow.nodes, values.as_chunks().0, &mut work.gradients);
        work.without_law = replace_shear(flow, &mut work.gradients, GRADIENTS);
        let slopes = work.gradients.as_chunks::<3>().0.as_chunks::<5>().0;
        parallel::rows2(flow.team, n, (1, &mut work.nodes), (1, &mut work.eddies), |rows, nodes, eddies| {
            for ((i, terms), eddy) in rows.zip(nodes).zip(eddies) {
                (*terms, *eddy) = self.terms(flow, [values[NB * i], values[NB * i + 1]], &slopes[i], i);
            }
        });
    }

    /// What a node contributes, and its eddy viscosity.
    fn terms(
        &self,
        flow: &FlowView<'_>,
        turbulence: [f64; NB],
        gradients: &[[f64; 3]; 5],
        row: usize,
    ) -> (NodeTerms, f64) {
        let lengths = self.lengths(row, gradients);
        self.terms_of(flow, &primitive_of(&flow.nodes[row]), &turbulence, gradients, row, &lengths)
    }

    /// Of a hybrid, the grid's lengths at a node.
    pub(super) fn lengths(&self, row: usize, gradients: &[[f64; 3]; 5]) -> [f64; 3] {
        let [u, v, w, ..] = *gradients;
        self.hybrid.as_ref().map_or([0.0; 3], |grid| grid.at(row, &[u, v, w]))
    }

    /// The same of numbers, or of numbers with derivatives.
    pub(super) fn terms_of<T: Real>(
        &self,
        flow: &FlowView<'_>,
        state: &[T; 5],
        turbulence: &[T; NB],
        gradients: &[[T; 3]; 5],
        row: usize,
        lengths: &[f64; 3],
    ) -> (NodeTerms<T>, T) {
        let [u, v, w, of_k, of_omega] = *gradients;
        let (model, slopes, distance) = (self.model.lift(), [of_k, of_omega], T::c(self.distance[row]));
        let gas = [state[0], viscosity_at(flow, state)];
        let [f1, f2] = k_omega_blending(model, &gas, distance, turbulence, &slopes);
        let deformation = deformation(&[u, v, w]);
        let rate = k_omega_rate(model, f2, turbulence[1], &deformation);
        let eddy = gas[0] * turbulence[0] / rate[0];
        let hybrid = self.hybrid.as_ref().map_or([T::c(1.0), T::c(0.0)], |grid| {
            let (velocity, lengths) = ([u, v, w], lengths.map(T::c));
            sst_shortened(grid.form(), f1, &gas, eddy, distance, turbulence, &lengths, &velocity)
        });
        let deformation = producing(&deformation, T::c(self.production.get(row).copied().unwrap_or(1.0)));
        let terms = NodeTerms {
            hybrid,
            diffusing: k_omega_diffusing(model, f1, rate[0], &gas, turbulence),
            sources: k_omega_sources(model, f1, &rate, gas[0], turbulence, &deformation, &slopes, hybrid[0]),
        };
        (terms, eddy)
    }

    /// What leaves each control volume less what its sources bring.
    pub(super) fn compute_residual(
        &mut self,
        flow: &FlowView<'_>,
        state: &CoupledState,
        at: &Moment,
        residual: &mut [f64],
    ) {
        let (values, dual, n) = (&state.values, flow.dual, flow.nodes.len());
        let mut work = std::mem::take(&mut self.work);
        work.faces.resize(dual.edges.len(), [[0.0; NB]; 2]);
        work.growths.resize(n, 0.0);
        let Work { gradients, nodes, faces, growths, .. } = &mut work;
        parallel::rows(flow.team, dual.edges.len(), 1, faces, |edges, out| {
            for (edge, face) in edges.zip(out) {
                *face = self.face(flow, values, gradients, edge);
            }
        });
        let factors = at.time_factors();
        parallel::rows(flow.team, n, NB, residual, |rows, out| {
            for (i, r) in rows.zip(out.as_chunks_mut::<NB>().0) {
                let own = [values[NB * i], values[NB * i + 1]];
                for v in 0..NB {
                    r[v] = -dual.volumes[i] * nodes[i].sources[v];
                }
                for k in dual.pattern.range(i) {
                    if let Some(&edge) = dual.edge_of.get(k + AHEAD) {
                        prefetch(faces, edge);
                        prefetch(flow.fluxes, edge);
                    }
                    let (j, edge) = (dual.pattern.col_idx()[k] as usize, dual.edge_of[k] as usize);
                    let sign = if j > i { 1.0 } else { -1.0 };
                    let (mass, [carried, through]) = (flow.fluxes[edge][0], faces[edge]);
                    for v in 0..NB {
                        let spread = 0.5 * (nodes[i].diffusing[v] + nodes[j].diffusing[v]);
                        r[v] += sign * (carried[v] - mass * own[v] - spread * through[v]);
                    }
                }
                if let Some([_, last, before]) = factors {
                    let densities = flow.levels.map(|level| level[i][0]);
                    for v in 0..NB {
                        let earlier = [0, 1].map(|l: usize| state.levels[l][NB * i + v]);
                        let rate = rate_of_carried(&[last, before], &densities, own[v], &earlier);
                        r[v] += dual.volumes[i] * rate;
                    }
                }
            }
        });
        let inflow = self.inflow;
        flow.at_open_nodes(NB, residual, |open, r| {
            for v in 0..NB {
                r[v] += flux_entering(open.mass, values[NB * open.node + v], inflow[v]);
            }
        });
        let residual = &*residual;
        parallel::rows(flow.team, n, 1, growths, |rows, growths| {
            for (i, growth) in rows.zip(growths) {
                let content = dual.volumes[i] * values[NB * i].max(f64::MIN_POSITIVE);
                *growth = (-residual[NB * i] / content).min(nodes[i].sources[2]).max(0.0);
            }
        });
        self.work = work;
    }

    /// Through the face of an edge, from its first node to its second, of k and of omega: what the mass carries, and the
    /// gradient's part along the normal.
    fn face(&self, flow: &FlowView<'_>, values: &[f64], gradients: &[f64], edge: usize) -> [[f64; NB]; 2] {
        let [a, b] = flow.dual.edges[edge].map(|i| i as usize);
        let (mass, n) = (flow.fluxes[edge][0], &flow.dual.areas[edge]);
        let dx = flow.between(a, b);
        let across = edge_weight(n, &dx);
        let mut face = [[0.0; NB]; 2];
        for v in 0..NB {
            let slope = |i: usize| -> [f64; 3] {
                std::array::from_fn(|d| gradients[GRADIENTS * i + 3 * (3 + v) + d])
            };
            let (ga, gb) = (slope(a), slope(b));
            let (pa, pb) = (values[NB * a + v], values[NB * b + v]);
            let (mut left, mut right) = (pa, pb);
            if self.config.second_order {
                let along = |g: &[f64; 3]| g[0] * dx[0] + g[1] * dx[1] + g[2] * dx[2];
                let kappa = flow.config.space.kappa;
                left = extrapolate(pa, pb, along(&ga), kappa, 1.0);
                right = extrapolate(pb, pa, -along(&gb), kappa, 1.0);
            }
            let mean = std::array::from_fn(|d| 0.5 * (ga[d] + gb[d]));
            face[0][v] = flux_carried(mass, left, right);
            face[1][v] = gradient_of_positive(across, &[pa, pb], &mean, &dx, n);
        }
        face
    }

    /// What the matrix of a step is made of.
    #[allow(clippy::type_complexity)] // the closures' types have no names
    pub(super) fn carried<'a>(
        &'a self,
        flow: &'a FlowView<'a>,
        at: &'a Moment,
    ) -> Carried<
        'a,
        NB,
        impl Fn(usize, usize, usize) -> (f64, [f64; NB]) + Sync,
        impl Fn(usize) -> [[f64; NB]; NB] + Sync,
        impl Fn(usize) -> f64 + Sync,
        impl Fn(usize, f64) -> f64 + Sync,
    > {
        let nodes = &self.work.nodes;
        let slope = move |i: usize| {
            let rate = at.time_factors().map_or(0.0, |[_, last, before]| {
                rate_slope_of_carried(&[last, before], &flow.levels.map(|level| level[i][0]))
            });
            let [_, _, k_by_k, k_by_omega, omega_by_omega] = nodes[i].sources;
            [[rate - k_by_k, -k_by_omega], [0.0, (-omega_by_omega).max(0.0) + rate]]
        };
        let growths = &self.work.growths;
        let growth = move |i: usize| growths[i];
        let face = move |i: usize, j: usize, edge: usize| {
            let spread = std::array::from_fn(|v| 0.5 * (nodes[i].diffusing[v] + nodes[j].diffusing[v]));
            (flow.fluxes[edge][0], spread)
        };
        let leaves = |_, mass| mass;
        Carried { flow, cfl: at.cfl * self.config.cfl_ratio, face, slope, growth, leaves }
    }
}

/// Variables of the derivatives that join the equations with the flow: density, pressure, k, omega, d(u, v, w)_i / dx_k.
type By = Dual<f64, 13>;

impl KOmegaEquations {
    /// See [`Coupled::slopes`](crate::coupled::Coupled::slopes).
    pub(super) fn find_slopes(&self, flow: &FlowView<'_>, state: &CoupledState, out: &mut [NodeSlopes]) {
        let (values, slopes) = (&state.values, self.work.gradients.as_chunks::<3>().0.as_chunks::<5>().0);
        parallel::rows(flow.team, slopes.len(), NB, out, |rows, out| {
            for (i, out) in rows.zip(out.as_chunks_mut::<NB>().0) {
                let w = primitive_of(&flow.nodes[i]);
                let node = [0, 1, 2, 3, 4].map(|k| match k {
                    0 => By::variable(w[0], 0),
                    4 => By::variable(w[4], 1),
                    _ => By::c(w[k]),
                });
                let turbulence = [0, 1].map(|v| By::variable(values[NB * i + v], 2 + v));
                let gradients = std::array::from_fn(|r| match r {
                    0..3 => By::variables(&slopes[i][r], 4 + 3 * r),
                    _ => slopes[i][r].map(By::c),
                });
                let lengths = self.lengths(i, &slopes[i]);
                let (terms, eddy) = self.terms_of(flow, &node, &turbulence, &gradients, i, &lengths);
                *out = [0, 1].map(|v| NodeSlopes {
                    eddy: eddy.d[2 + v],
                    spread: [terms.diffusing[v].d[0], terms.diffusing[v].d[1]],
                    source: [terms.sources[v].d[0], terms.sources[v].d[1]],
                    turning: std::array::from_fn(|r| {
                        std::array::from_fn(|k| terms.sources[v].d[4 + 3 * r + k])
                    }),
                });
            }
        });
        for law in flow.laws[1] {
            for slopes in &mut out[NB * law.node as usize..][..NB] {
                slopes.turning = [[0.0; 3]; 3];
            }
        }
    }
}
