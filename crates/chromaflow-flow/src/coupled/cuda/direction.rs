//! The direction along which a Newton-Krylov step takes a derivative. Twin: ../direction.rs.

use super::FlowViewCuda;
use chromaflow_device::cuda::DeviceBuffer;

/// A direction of the flow, and how far along it differences of the flow's own residual are taken. Twin:
/// [`Direction`](crate::coupled::Direction).
#[derive(Clone, Copy)]
pub struct DirectionCuda<'a> {
    /// The flow where the derivative is taken, with its mass fluxes.
    pub flow: FlowViewCuda<'a>,
    /// Records of nodes with derivatives of rho, u, v, w and p, `[rows, 8]`.
    pub along: &'a DeviceBuffer<f64>,
    /// The length of the step.
    pub h: f64,
}
