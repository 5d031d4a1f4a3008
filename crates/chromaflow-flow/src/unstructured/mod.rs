//! Compressible flow on unstructured meshes, finite volumes around the nodes: backward Euler in pseudo-time with the linear
//! solver inside.
//!
//! | file | |
//! |---|---|
//! | `setup.rs` | from a mesh and a set-up to a solver |
//! | `start.rs` | the state at the beginning |
//! | `flow.rs` | the state and an iteration |
//! | `space.rs`, `unsteady.rs` | residual and Jacobian; the derivative in time |
//! | `newton.rs` | the linear system of a Newton-Krylov step |
//! | `coupled.rs` | the systems beside it: which there are, and what they see of it |
//! | `tight.rs` | one matrix of the flow and one of them |
//! | `laws.rs` | nodes on walls with a law of the wall |
//! | `access.rs`, `shear.rs` | fields, memory; friction, heat, y+ and vorticity |
//! | `outflow.rs` | what leaves through open markers |
//! | `restart.rs` | restarts |
//! | `over_ranks/` | a mesh divided among ranks; fields in pieces |
//! | `cuda/` | the same on a GPU |

mod access;
mod coupled;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod flow;
mod laws;
mod newton;
mod outflow;
mod over_ranks;
pub(crate) mod periodic;
mod restart;
mod setup;
mod shear;
mod space;
mod start;
#[cfg(test)]
mod symmetry_tests;
#[cfg(test)]
mod tests;
mod tight;
mod unsteady;

pub use crate::march::{RankReport, Spread};
pub use crate::ranks::Ranks;
pub use access::Memory;
pub use flow::{FlowSolver, FlowSystem, Source};
