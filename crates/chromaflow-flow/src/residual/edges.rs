//! Inviscid fluxes through the faces between control volumes, eight edges at a time.

use crate::config::{FluxScheme, Limiter, Space};
use crate::dual::between;
use crate::equations::perfect_gas::{N, State};
use crate::flux::{
    LayerFix, RoeFix, convective_at_shocks, convective_in_layers, energy_with_mass, flux, flux_hllc,
    flux_roe, flux_van_leer, kappa_at_shocks,
};
use crate::gas::Gas;
use crate::gradient::{Added, Gradient, NodeRecord, SHOCK};
use crate::limiter::{FaceLimit, face_states, moment_weights};
use crate::mesh::periodic::Periods;
use crate::real::{Dual, LANES, LaneKernel, Lanes, Real, prefetch};
use std::ops::Range;

/// Fluxes from a to b of a range of edges.
pub struct EdgeFluxes<'a> {
    /// Which edges.
    pub range: Range<usize>,
    /// All edges.
    pub edges: &'a [[u32; 2]],
    /// All directed areas.
    pub areas: &'a [[f64; 3]],
    /// All nodes.
    pub nodes: &'a [NodeRecord],
    /// Gradients for second order; empty for first order.
    pub gradients: &'a [Gradient],
    /// What is added to the increments of edges, see [`Mapping`](crate::gradient::Mapping).
    pub mapped: &'a Added<6>,
    /// First moments of the faces where fluxes vary over them, see [`least_moments`](super::least_moments); else
    /// empty.
    pub moments: &'a [[[f64; 3]; 3]],
    /// Node-wise limiter values, empty where none are used.
    pub limits: &'a [State],
    /// The scheme.
    pub space: &'a Space,
    /// Fixes of Roe's flux.
    pub fix: RoeFix<f64>,
    /// What becomes of them between thin layers.
    pub layers: LayerFix<f64>,
    /// After which translations the mesh repeats.
    pub periods: &'a Periods,
    /// The gas.
    pub gas: Gas<f64>,
    /// Squares of changes that the limiter leaves alone.
    pub eps2: State,
    /// Fluxes of the range.
    pub out: &'a mut [State],
}

impl LaneKernel for EdgeFluxes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let gas = self.gas.lift::<V>();
        let fix = self.fix.lift::<V>();
        let (kappa, eps2) = (V::c(self.space.kappa), self.eps2.map(V::c));
        let limit = match self.space.limiter {
            Limiter::None => FaceLimit::Free,
            Limiter::VanAlbada => FaceLimit::Edge,
            Limiter::Venkatakrishnan | Limiter::Barth => FaceLimit::Node,
        };
        let mut at = self.range.start;
        while at < self.range.end {
            let (mut a, mut b, mut edge) = ([0; LANES], [0; LANES], [0; LANES]);
            for l in 0..LANES {
                // Lanes past the end repeat the last edge.
                let e = (at + l).min(self.range.end - 1);
                edge[l] = e as u32;
                [a[l], b[l]] = self.edges[e];
            }
            self.prefetch_upper(at + AHEAD);
            let n = V::gather(self.areas, &edge);
            let left = V::gather(self.nodes, &a);
            let right = V::gather(self.nodes, &b);
            let wa = [left[0], left[1], left[2], left[3], left[4]];
            let wb = [right[0], right[1], right[2], right[3], right[4]];
            let (mut wl, mut wr) = (wa, wb);
            let mut besides = [V::c(0.0); N];
            let mut shocks = [V::c(0.0); 2];
            if !self.gradients.is_empty() {
                let dx = [right[5] - left[5], right[6] - left[6], right[7] - left[7]];
                let mut ways = [dx, dx.map(|d| V::c(0.0) - d)];
                if !self.mapped.is_empty() {
                    let at = edge.map(|e| self.mapped.first[e as usize]);
                    let added = V::gather(&self.mapped.values, &at);
                    for (k, added) in added.into_iter().enumerate() {
                        ways[k / 3][k % 3] += added;
                    }
                }
                let gl = V::gather(self.gradients, &a);
                let gr = V::gather(self.gradients, &b);
                shocks = [gl[SHOCK], gr[SHOCK]];
                let (pl, pr) = if self.limits.is_empty() {
                    ([V::c(1.0); N], [V::c(1.0); N])
                } else {
                    (V::gather(self.limits, &a), V::gather(self.limits, &b))
                };
                let [to_r, to_l] = &ways;
                let kappa = kappa_at_shocks(kappa, shocks[0], shocks[1]);
                (wl, wr) = face_states(limit, kappa, &eps2, &wa, &wb, to_r, to_l, &gl, &gr, &pl, &pr);
                if !self.moments.is_empty() {
                    let moment = self.moments_of::<V>(at);
                    let parts = moment_weights(limit, &eps2, &wa, &wb, to_r, to_l, &gl, &gr, &pl, &pr);
                    let weight = kappa_at_shocks(V::c(1.0), shocks[0], shocks[1]);
                    let parts = parts.map(|part| weight * part);
                    besides = first_moment(gas, (&wl, &wr), (&gl, &gr), &parts, &moment);
                }
            }
            let f = match self.space.flux {
                FluxScheme::Roe => {
                    let mut fix = fix;
                    if self.layers.most > 0.0 {
                        let (least, most, depth) =
                            (fix.convective, V::c(self.layers.most), V::c(self.layers.depth));
                        let [from, to] = [&left, &right].map(|node| [node[5], node[6], node[7]]);
                        let way = between(self.periods, &from, &to);
                        fix.convective = convective_in_layers(least, most, &n, &way, depth);
                    }
                    fix.convective = convective_at_shocks(fix.convective, shocks[0], shocks[1]);
                    flux_roe(gas, &wl, &wr, &n, fix)
                }
                FluxScheme::Hllc => flux_hllc(gas, &wl, &wr, &n),
                FluxScheme::VanLeer => flux_van_leer(gas, &wl, &wr, &n),
            };
            let mut whole = f;
            if !self.gradients.is_empty() {
                whole[4] = energy_with_mass(gas, &f, &wa, &wb, &n, shocks[0], shocks[1]);
            }
            for v in 0..N {
                whole[v] += besides[v];
            }
            let from = at - self.range.start;
            let to = (from + LANES).min(self.out.len());
            V::scatter(&whole, &mut self.out[from..to]);
            at += LANES;
        }
    }
}

/// So many edges before their use, the data of their upper nodes are asked for; lower nodes come in order.
const AHEAD: usize = 4 * LANES;

impl EdgeFluxes<'_> {
    #[inline(always)]
    fn prefetch_upper(&self, at: usize) {
        let Some(edges) = self.edges.get(at..at + LANES) else { return };
        for l in 0..LANES {
            let b = edges[l][1];
            prefetch(self.nodes, b);
            prefetch(self.gradients, b);
            // The second half of the gradients lies on another cache line.
            prefetch(self.gradients.as_flattened(), b * 16 + 8);
        }
    }

    #[inline(always)]
    fn moments_of<V: Lanes>(&self, at: usize) -> [[V; 3]; 3] {
        let lane = |l: usize| &self.moments[(at + l).min(self.range.end - 1)];
        std::array::from_fn(|d| {
            std::array::from_fn(|k| V::from_array(&std::array::from_fn(|l| lane(l)[d][k])))
        })
    }
}

/// What a flux that varies linearly over a face carries besides its value in the middle of the edge: the sum over axes d
/// of (dF/dx_d) . moment[d], at the mean of both sides and of their gradients, of each variable a part.
#[inline(always)]
fn first_moment<V: Real>(
    gas: Gas<V>,
    (wl, wr): (&State<V>, &State<V>),
    (gl, gr): (&[V; 16], &[V; 16]),
    weights: &State<V>,
    moment: &[[V; 3]; 3],
) -> State<V> {
    let half = V::c(0.5);
    let gas = Gas { gamma: Dual::<V, 1>::constant(gas.gamma) };
    let mut sum = [V::c(0.0); N];
    for d in 0..3 {
        let mut w = [Dual::constant(V::c(0.0)); N];
        for v in 0..N {
            let slope = half * weights[v] * (gl[d * N + v] + gr[d * N + v]);
            w[v] = Dual { v: half * (wl[v] + wr[v]), d: [slope] };
        }
        let f = flux(gas, &w, &Dual::constants(&moment[d]));
        for v in 0..N {
            sum[v] += f[v].d[0];
        }
    }
    sum
}
