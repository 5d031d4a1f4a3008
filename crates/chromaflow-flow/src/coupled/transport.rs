//! What the faces between control volumes carry of a quantity that moves with the flow, as pointwise functions.
//!
//! The quantity phi is one per mass: d(rho phi)/dt + div(rho u phi) - div(Gamma grad phi). Its residual at node i is what
//! leaves the control volume less phi_i times the mass that leaves it:
//! ```text
//! R_i = V [BDF(rho phi) - phi_i BDF(rho)] + sum over faces [F - m phi_i],   m the flow's own mass flux
//! ```
//! so that a constant phi stays what it is while the flow has not converged; once it has, phi_i times its mass balance is
//! zero and the scheme is conservative. F is the same from both sides of a face.

use crate::real::Real;

/// Carried from the first node's side to the second's by the mass flux: upwind, `left` and `right` the values on either side
/// of the face.
///
/// ```
/// use chromaflow_flow::coupled::flux_carried;
/// assert_eq!(flux_carried(2.0, 1.0, 5.0), 2.0);
/// assert_eq!(flux_carried(-2.0, 1.0, 5.0), -10.0);
/// ```
#[inline(always)]
pub fn flux_carried<T: Real>(mass: T, left: T, right: T) -> T {
    mass.max(T::c(0.0)) * left + mass.min(T::c(0.0)) * right
}

/// Diffused from the first node's side to the second's: -gamma grad phi . n, with the gradient at the face the mean of both
/// nodes' and, along the edge `dx`, their difference. `across` is [`weight_across`](crate::viscous::weight_across) . n.
///
/// Exact for linear fields on any mesh; gamma times `across` is what a thin layer's Jacobian has, which makes an M-matrix.
///
/// **Source**: the edge-normal correction of Weiss, Maruszewski and Smith (1999), eq. 7, by the length across the face in
/// place of the edge's.
///
/// ```
/// use chromaflow_flow::coupled::flux_diffused;
/// // phi = 3 x + y along an edge (1, 1), through an area 2 along x.
/// let flux = flux_diffused(0.5, 2.0, 4.0, &[3.0, 1.0, 0.0], &[1.0, 1.0, 0.0], &[2.0, 0.0, 0.0]);
/// assert_eq!(flux, -3.0);
/// ```
#[inline(always)]
pub fn flux_diffused<T: Real>(
    gamma: T,
    across: T,
    difference: T,
    gradient: &[T; 3],
    dx: &[T; 3],
    n: &[T; 3],
) -> T {
    let normal = gradient[0] * n[0] + gradient[1] * n[1] + gradient[2] * n[2];
    let along = gradient[0] * dx[0] + gradient[1] * dx[1] + gradient[2] * dx[2];
    -gamma * (normal + across * (difference - along))
}

/// What a boundary contributes to R_i: mass that enters brings `value` along; mass that leaves takes the node's own.
///
/// ```
/// use chromaflow_flow::coupled::flux_entering;
/// assert_eq!(flux_entering(2.0, 1.0, 5.0), 0.0);
/// assert_eq!(flux_entering(-2.0, 1.0, 5.0), -8.0);
/// ```
#[inline(always)]
pub fn flux_entering<T: Real>(mass: T, own: T, value: T) -> T {
    mass.min(T::c(0.0)) * (value - own)
}

/// BDF(rho phi) - phi BDF(rho): `factors` of the last level and of the one before, densities and values there.
///
/// ```
/// use chromaflow_flow::coupled::rate_of_carried;
/// // What is constant does not change, whatever the density does.
/// assert_eq!(rate_of_carried(&[-2.0, 0.5], &[1.1, 1.2], 3.0, &[3.0, 3.0]), 0.0);
/// ```
#[inline(always)]
pub fn rate_of_carried<T: Real>(factors: &[T; 2], densities: &[T; 2], own: T, values: &[T; 2]) -> T {
    factors[0] * densities[0] * (values[0] - own) + factors[1] * densities[1] * (values[1] - own)
}

/// Derivative of [`rate_of_carried`] by the node's own value.
#[inline(always)]
pub fn rate_slope_of_carried<T: Real>(factors: &[T; 2], densities: &[T; 2]) -> T {
    -(factors[0] * densities[0] + factors[1] * densities[1])
}
