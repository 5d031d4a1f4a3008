//! What leaves through open markers, and its mean state.

use super::{FlowSolver, FlowSystem};
use crate::bc::{ConditionClass, condition_class, node_flux};
use crate::dual::{Patch, dot};
use crate::gas::{mach, temperature, total_over_static};
use crate::march::{Host, Order};
use crate::residual::primitive_of;

/// What leaves through a marker that gas passes, of the present state.
#[derive(Clone, Debug, PartialEq)]
pub struct Outflow {
    /// The marker.
    pub marker: String,
    /// Mass that leaves per time, over the free stream's density, speed of sound and the mesh unit squared; of planar meshes over the mesh
    /// unit, per depth. It is what the residual has: the sum over all markers vanishes as a steady flow converges.
    pub mass_flow: f64,
    /// Mean pressure over the area, over the free stream's.
    pub pressure: f64,
    /// Mean total pressure over the mass that passes, in or out, over the free stream's static pressure.
    pub total_pressure: f64,
    /// Mean total temperature over the mass that passes, over the free stream's static temperature.
    pub total_temperature: f64,
}

/// Sums of a marker: mass out, mass that passes, area; pressure by area, total pressure and temperature by the mass that passes.
const SUMS: usize = 6;

impl FlowSolver {
    /// What leaves through each marker that gas passes, in the order of the mesh. Over ranks all take part, and all have it.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn outflow(&self) -> Vec<Outflow> {
        // What cannot be told shows at the next step.
        let _ = self.host.tell(Order::Outflow);
        self.synced().outflow()
    }
}

impl FlowSystem {
    fn outflow(&self) -> Vec<Outflow> {
        let rows = self.over.as_ref();
        let patches = self.dual.patches.iter().zip(&self.boundaries);
        let open: Vec<_> = patches.filter(|(_, c)| condition_class(c) == ConditionClass::Open).collect();
        let visit = |add: &mut dyn FnMut(usize, f64)| {
            for (at, (patch, condition)) in open.iter().enumerate() {
                for ((&node, area), &size) in patch.nodes.iter().zip(&patch.areas).zip(&patch.sizes) {
                    if rows.is_some_and(|rows| !rows.share.owns(node as usize)) {
                        continue;
                    }
                    let part = rows.map_or(1.0, |rows| rows.in_sector(node));
                    let w = primitive_of(&self.nodes[node as usize]);
                    let stuck = self.fixed.binary_search_by_key(&node, |wall| wall.node).is_ok();
                    let mass = part * node_flux(condition, self.gas, &w, area, stuck)[0];
                    let passes = part * w[0] * dot([w[1], w[2], w[3]], *area).abs();
                    let size = part * size;
                    let [pressure, warmth] = total_over_static(self.gas.gamma, mach(self.gas, &w));
                    let sums = [
                        mass,
                        passes,
                        size,
                        size * w[4],
                        passes * w[4] * pressure,
                        passes * temperature(self.gas, &w) * warmth,
                    ];
                    sums.into_iter().enumerate().for_each(|(k, value)| add(SUMS * at + k, value));
                }
            }
        };
        let count = SUMS * open.len();
        let sums = if let Some(rows) = rows {
            rows.share.sums(count, visit)
        } else {
            let mut sums = vec![0.0; count];
            visit(&mut |k, value| sums[k] += value);
            sums
        };
        let of = |((patch, _), sums): (&(&Patch, _), &[f64])| Outflow {
            marker: patch.name.clone(),
            mass_flow: sums[0] / self.depth.unwrap_or(1.0),
            pressure: sums[3] / sums[2] / self.scale.pressure,
            total_pressure: sums[4] / sums[1] / self.scale.pressure,
            total_temperature: sums[5] / sums[1],
        };
        open.iter().zip(sums.chunks_exact(SUMS)).map(of).collect()
    }
}
