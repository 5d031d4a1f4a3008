//! Least squares gradients at the nodes.
//!
//! The gradient g of node i minimizes the sum over its neighbors j of `w_ij (u_j - u_i - g . (x_j - x_i))^2`; it is
//! exact for linear fields on any mesh. **Source**: Anderson and Bonhaus (1994); weights after Mavriplis (2003).

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod mapping;
mod mirrors;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

pub use cpu::least_squares;
pub use mapping::{Added, Mapping};
pub use mirrors::Mirrors;

/// What is known at a node, in one cache line: rho, u, v, w, p, x, y, z.
pub type NodeRecord = [f64; 8];

/// The gradients of rho, u, v, w, p, derivative of variable `v` along axis `d` at `d * 5 + v`, and at [`SHOCK`] what
/// [`convective_at_shocks`](crate::flux::convective_at_shocks) knows a shock by.
pub type Gradient = [f64; 16];

/// Where a [`Gradient`] has the sum of [`pressure_jump`](crate::flux::pressure_jump) over the node's neighbors.
pub const SHOCK: usize = 15;
