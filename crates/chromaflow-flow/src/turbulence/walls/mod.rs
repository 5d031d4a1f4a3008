//! What turbulence models take of laws of the wall: the shear at nodes next to the wall.
//!
//! | file | |
//! |---|---|
//! | `mod.rs` | on hosts |
//! | `cuda.rs`, `walls.cu` | the same on a GPU |

#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use crate::coupled::FlowView;
use crate::residual::primitive_of;
use crate::wall_law::{LawNode, law_gradient};

/// Replaces the shear at nodes next to walls with laws in gradients d(u, v, w, ...)_i / dx_k, `[rows, count]`; gives what
/// was there.
pub(super) fn replace_shear(flow: &FlowView<'_>, gradients: &mut [f64], count: usize) -> Vec<[[f64; 3]; 3]> {
    let Some(transport) = flow.transport else { return Vec::new() };
    let replace = |LawNode { node, other, place }: &LawNode<f64>| {
        let own = &mut gradients[count * *node as usize..][..9];
        let velocity = std::array::from_fn(|i| std::array::from_fn(|k| own[3 * i + k]));
        let w = primitive_of(&flow.nodes[*other as usize]);
        let found = law_gradient(flow.gas, transport, *place, &w, &velocity);
        own.copy_from_slice(found.as_flattened());
        velocity
    };
    flow.laws[1].iter().map(replace).collect()
}
