//! Reconstruction from nodes to the middle of an edge, and its limiters.
//!
//! Every function but [`face_states`], which makes both sides of a face, takes one component of (rho, u, v, w, p).
//!
//! * node-wise limiters give phi in `[0, 1]` from the largest rise and fall that neighbors allow:
//!   [`limiter_venkatakrishnan`], [`limiter_michalak`], [`limiter_barth`]; a node's phi is the smallest over its
//!   edges, and edges take [`extrapolate`];
//! * the edge-wise van Albada limiter is part of [`extrapolate_van_albada`].
//!
//! All but Barth's are continuously differentiable in what they are given, which lets implicit iterations converge to
//! round-off (the smallest over the edges is not, of the node-wise ones).

mod faces;
mod limiters;
mod umuscl;

#[cfg(test)]
mod tests;

pub use faces::{FaceLimit, face_states, moment_weights};
pub use limiters::{limiter_barth, limiter_michalak, limiter_venkatakrishnan, rise};
pub use umuscl::{extrapolate, extrapolate_van_albada, keep_positive, shock_switch, small, van_albada};
