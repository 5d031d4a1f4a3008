//! What leaves through open markers, and its mean state.

use super::{FlowSolver, FlowSystem};
use crate::bc::{ConditionClass, condition_class, node_flux};
use crate::dual::Patch;
use crate::march::{Host, Order, Outflow, SUMS, outflow_sums};
use crate::residual::primitive_of;

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
                    let f = node_flux(condition, self.gas, &w, area, stuck);
                    let sums = outflow_sums(self.gas, &w, [f[0], f[4], size].map(|leaves| part * leaves));
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
        let scale = [self.depth.unwrap_or(1.0), self.scale.pressure];
        let of = |((patch, _), sums): (&(&Patch, _), &[f64])| Outflow::of(&patch.name, sums, scale);
        open.iter().zip(sums.chunks_exact(SUMS)).map(of).collect()
    }
}
