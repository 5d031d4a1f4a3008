//! The direction along which a Newton-Krylov step takes a derivative, for systems that have their own.

use super::FlowView;
use crate::gradient::NodeRecord;

/// A direction of the flow, and how far along it differences of the flow's own residual are taken.
#[derive(Clone, Copy)]
pub struct Direction<'a> {
    /// The flow where the derivative is taken, with its mass fluxes.
    pub flow: FlowView<'a>,
    /// Derivatives of rho, u, v, w and p along the direction, and the place of each node.
    pub nodes: &'a [NodeRecord],
    /// The length of the step.
    pub h: f64,
}

impl Direction<'_> {
    /// The derivative of the mass flux through the face of an edge; `moved` is the flow at the end of the step.
    pub fn mass(&self, moved: &FlowView<'_>, edge: usize) -> f64 {
        (moved.fluxes[edge][0] - self.flow.fluxes[edge][0]) / self.h
    }
}
