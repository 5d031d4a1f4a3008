//! Wall functions: what stands at walls without slip for the layer next to them, where a mesh does not resolve it.
//!
//! Nodes lie on the wall, so the closure is one of slip: the node on the wall keeps its balance of momentum, nothing passes the wall, and
//! the wall takes up the friction that a law of the wall gives with the velocity of the next node off it, [`law_load`]. The velocity of
//! the node on the wall is then what carries this friction to the next one through the viscosity between them: in the viscous layer none, as without
//! wall functions; in the logarithmic one that of a place within the cell, which fluxes and gradients can use where a zero would make them jump.
//! The shear that turbulence models see at the next node is the law's, [`law_gradient`].
//!
//! **Source**: friction and heat put weakly on nodes of a median dual: Carlson, Vatsa and White (2015), *Validation of a node-centered wall
//! function model for the unstructured flow code FUN3D*. Other than there the turbulence variable keeps its value at the wall and the shear
//! of the law goes into the model's source.
//!
//! | file | |
//! |---|---|
//! | `formulas.rs` | the laws, friction, heat and shear, on hosts and devices |

mod formulas;
#[cfg(test)]
mod tests;

pub use formulas::{
    LawNode, LawPlace, WallLaw, law_flux, law_friction, law_ghosts, law_gradient, law_heat, law_load,
    law_resistance, law_temperature, law_units,
};
