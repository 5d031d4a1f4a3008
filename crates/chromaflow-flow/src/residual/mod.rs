//! The residual R(q): what flows out of every control volume.
//!
//! Fluxes are computed once an edge and then gathered node by node in the order of the edges, so that nothing races and
//! no sum depends on the number of threads.

#[cfg(feature = "cuda")]
pub(crate) mod arguments;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod edges;
mod limits;
mod moments;
pub(crate) mod node_gradients;
mod open_stress;
mod round_off;
#[cfg(test)]
mod tests;
pub(crate) mod turned;
mod viscous;

pub use edges::EdgeFluxes;
pub use limits::{is_node_wise, node_limits};
pub use moments::least_moments;
pub use node_gradients::NodeGradients;
pub use open_stress::OpenStress;
pub(crate) use round_off::{flux_size, round_off};
pub use turned::TurnedEdges;
pub(crate) use viscous::element_colors;
pub use viscous::{Eddies, ViscousElements};

use crate::bc::{
    Condition, ConditionClass, WallNode, adapted_pressure, condition_class, node_flux, outlet_flow,
};
use crate::config::Space;
use crate::dual::Dual;
use crate::equations::perfect_gas::{N, State};
use crate::flux::{LayerFix, RoeFix};
use crate::gas::Gas;
use crate::gradient::{Gradient, Mapping, NodeRecord};
use crate::parallel;
use crate::ranks::Rows;
use crate::real::{AHEAD, dispatch, prefetch};
use chromaflow_device::{Isa, Team};

/// What an inviscid residual is made from.
pub struct Inviscid<'a> {
    /// Who computes.
    pub team: &'a Team,
    /// The mesh's metrics.
    pub dual: &'a Dual,
    /// Boundary conditions of the dual's patches.
    pub boundaries: &'a [Condition<f64>],
    /// Nodes whose velocity walls without slip have, in their order.
    pub fixed: &'a [WallNode<f64>],
    /// The scheme.
    pub space: &'a Space,
    /// Fixes of Roe's flux.
    pub fix: RoeFix<f64>,
    /// What becomes of them between thin layers.
    pub layers: LayerFix<f64>,
    /// The gas.
    pub gas: Gas<f64>,
    /// Squares of changes that the limiter leaves alone, see [`Space::limiter_k`].
    pub eps2: State,
    /// The mapping of layers on curved walls; empty where there are none.
    pub mapping: &'a Mapping,
    /// First moments of the faces, `[edges]`, for [`Quadrature::Linear`](crate::config::Quadrature::Linear); else empty.
    pub moments: &'a [[[f64; 3]; 3]],
}

impl Inviscid<'_> {
    /// Fluxes from a to b of all edges, `[edges]`. Second order where `gradients` is not empty; `limits` is empty where
    /// no node-wise limiter is used.
    pub fn edge_fluxes(
        &self,
        nodes: &[NodeRecord],
        gradients: &[Gradient],
        limits: &[State],
        out: &mut [State],
    ) {
        parallel::rows(self.team, self.dual.edges.len(), 1, out, |range, out| {
            let kernel = EdgeFluxes {
                range,
                edges: &self.dual.edges,
                areas: &self.dual.areas,
                nodes,
                gradients,
                limits,
                mapped: &self.mapping.by_edge,
                moments: self.moments,
                space: self.space,
                fix: self.fix,
                layers: self.layers,
                periods: &self.dual.periods,
                gas: self.gas,
                eps2: self.eps2,
                out,
            };
            dispatch(Isa::detect(), kernel);
        });
    }

    /// Sums of the edges' fluxes out of each control volume, `[nodes]`.
    pub fn gather(&self, fluxes: &[State], out: &mut [State]) {
        let dual = self.dual;
        parallel::rows(self.team, dual.nodes(), 1, out, |rows, out| {
            for (i, out) in rows.zip(out) {
                let mut sum = [0.0; N];
                for k in dual.pattern.range(i) {
                    if let Some(&edge) = dual.edge_of.get(k + AHEAD) {
                        prefetch(fluxes, edge);
                    }
                    // Of bits: a choice becomes a jump a value, and every other one is not foreseen.
                    let below = u64::from((dual.pattern.col_idx()[k] as usize) < i);
                    let sign = f64::from_bits(1.0f64.to_bits() | below << 63);
                    let flux = &fluxes[dual.edge_of[k] as usize];
                    for v in 0..N {
                        sum[v] += sign * flux[v];
                    }
                }
                *out = sum;
            }
        });
    }

    /// Adds the fluxes through the boundary.
    pub fn add_boundaries(&self, nodes: &[NodeRecord], out: &mut [State]) {
        parallel::rows(self.team, self.dual.nodes(), 1, out, |rows, out| {
            for (patch, condition) in self.dual.patches.iter().zip(self.boundaries) {
                let open = condition_class(condition) == ConditionClass::Open;
                let (of_rows, areas) = patch.within(&rows);
                for (&i, n) in of_rows.iter().zip(areas) {
                    let stuck = open && self.fixed.binary_search_by_key(&i, |wall| wall.node).is_ok();
                    let flux = node_flux(condition, self.gas, &primitive_of(&nodes[i as usize]), n, stuck);
                    let sum = &mut out[i as usize - rows.start];
                    for v in 0..N {
                        sum[v] += flux[v];
                    }
                }
            }
        });
    }
}

/// Adapts the back pressure of outlets of given mass flow to the state `nodes` ([`adapted_pressure`]), each sum in the order of the patch's nodes; over
/// ranks, of the nodes that each owns.
pub fn adapt_outlets(
    dual: &Dual,
    nodes: &[NodeRecord],
    gas: Gas<f64>,
    rows: Option<&Rows>,
    conditions: &mut [Condition<f64>],
    alone: f64,
) {
    for (patch, condition) in dual.patches.iter().zip(conditions) {
        if condition.mass_flow > 0.0 {
            let (mut flow, mut slope) = (0.0, 0.0);
            let of = |i: u32, n| outlet_flow(condition, gas, &primitive_of(&nodes[i as usize]), n);
            match rows.map(|rows| (rows, &rows.share)) {
                None => {
                    for (&i, n) in patch.nodes.iter().zip(&patch.areas) {
                        let [f, s] = of(i, n);
                        (flow, slope) = (flow + f, slope + s);
                    }
                }
                Some((rows, share)) => {
                    let sums = share.sums(2, |add| {
                        let own = patch.nodes.iter().zip(&patch.areas);
                        for (&i, n) in own.filter(|(i, _)| share.owns(**i as usize)) {
                            of(i, n)
                                .map(|v| v * rows.in_sector(i))
                                .into_iter()
                                .enumerate()
                                .for_each(|(k, value)| add(k, value));
                        }
                    });
                    (flow, slope) = (sums[0], sums[1]);
                }
            }
            condition.outlet.pressure = adapted_pressure(condition, gas, flow, slope, alone);
        }
    }
}

/// The primitive state in a node record.
pub fn primitive_of(node: &NodeRecord) -> State {
    [node[0], node[1], node[2], node[3], node[4]]
}
