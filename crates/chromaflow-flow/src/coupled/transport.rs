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

/// Bound of what [`gradient_of_positive`] takes across an edge, over what the donor would diffuse along it.
const MOST_ACROSS: f64 = 4.0;
/// Lest nothing be divided by nothing.
const LEAST_ACROSS: f64 = 1e-60;

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
    let [normal, along] = parts_of_gradient(gradient, dx, n);
    -gamma * (normal + across * (difference - along))
}

/// A gradient's parts along the area `n` and along the edge `dx`, times their lengths.
#[inline(always)]
fn parts_of_gradient<T: Real>(gradient: &[T; 3], dx: &[T; 3], n: &[T; 3]) -> [T; 2] {
    let normal = gradient[0] * n[0] + gradient[1] * n[1] + gradient[2] * n[2];
    let along = gradient[0] * dx[0] + gradient[1] * dx[1] + gradient[2] * dx[2];
    [normal, along]
}

/// The part along the normal of the gradient at a face of a quantity phi that is not negative, times the area: what [`flux_diffused`] has
/// of it, but what the mean gradient says across the edge is bounded smoothly by four times what all of phi on the side that it leaves would
/// diffuse along the edge:
/// ```text
/// across (phi_b - phi_a) + skew / sqrt(1 + (skew / most)^2),   skew = grad phi . (n - across dx),   most = 4 across phi_donor
/// ```
/// Without that bound, nodes beside steep layers on cells that are not orthogonal have no solution above zero: neighbors take from
/// them what they do not have. Where phi varies from node to node by less than its own size, as in all but the first cells of a layer, the bound
/// changes the part across the edge by the square of that variation; constants are left alone. A donor of zero, such as k at a wall, is given by a
/// condition, and gives whatever the other side has.
///
/// **Arguments**: `across` as [`flux_diffused`] has it, a length; `ends`, phi at the first and the second node; the mean `gradient`, phi over a
/// length; the edge `dx`, a length; the area `n`. **Units**: phi times a length.
///
/// **Source**: correction factors for fluxes that would take more than there is, as in flux-corrected transport, Zalesak (1979), J. Comput.
/// Phys. 31, eq. 10 to 14, here of each face by itself and smooth.
///
/// ```
/// use chromaflow_flow::coupled::gradient_of_positive;
/// // phi = 3 x + y along an edge (1, 1), through an area 2 along x: 6 without the bound.
/// let through = |ends| gradient_of_positive(2.0, &ends, &[3.0, 1.0, 0.0], &[1.0, 1.0, 0.0], &[2.0, 0.0, 0.0]);
/// assert!((through([100.0, 104.0]) - 6.0_f64).abs() < 1e-4);
/// // Nothing is there to be taken from: the difference alone brings 8.
/// assert!((through([1e-9, 4.0]) - 8.0_f64).abs() < 1e-7);
/// ```
#[inline(always)]
pub fn gradient_of_positive<T: Real>(
    across: T,
    ends: &[T; 2],
    gradient: &[T; 3],
    dx: &[T; 3],
    n: &[T; 3],
) -> T {
    let [normal, along] = parts_of_gradient(gradient, dx, n);
    across * (ends[1] - ends[0]) + skew_of_positive(across, ends, normal - across * along)
}

/// What is left in [`gradient_of_positive`] of `skew`, the mean gradient's part across the edge times the area: skew / sqrt(1 + (skew / most)^2).
///
/// ```
/// use chromaflow_flow::coupled::skew_of_positive;
/// assert_eq!(skew_of_positive(1.0, &[1e9, 1e9], -2.0), -2.0);
/// assert!(skew_of_positive(1.0, &[1.0, 9.0], -2e9_f64).abs() < 4.0 + 1e-12);
/// ```
#[inline(always)]
pub fn skew_of_positive<T: Real>(across: T, ends: &[T; 2], skew: T) -> T {
    let zero = T::c(0.0);
    // What goes up the gradient leaves the second node.
    let from_first = skew.lt(zero);
    let donor = T::select(from_first, ends[0], ends[1]);
    let other = T::select(from_first, ends[1], ends[0]);
    let donor = T::select(donor.le(zero), other, donor);
    let part = skew / (T::c(MOST_ACROSS) * across.abs() * donor).max(T::c(LEAST_ACROSS));
    skew / (T::c(1.0) + part * part).sqrt()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector(size: f64) -> impl Strategy<Value = [f64; 3]> {
        prop::array::uniform3(-size..size)
    }

    proptest! {
        /// A node that has little gains, whatever gradients and faces are, but for a part of what it has.
        #[test]
        fn nothing_diffuses_from_where_nothing_is(
            gradient in vector(100.0), dx in vector(1.0), n in vector(1.0),
            across in 0.1..10.0, little in 0.0..1e-6, much in 0.5..1.0,
        ) {
            let least = across * (much - (1.0 + MOST_ACROSS) * little) - 1e-12;
            let to_first = gradient_of_positive(across, &[little, much], &gradient, &dx, &n);
            let to_second = -gradient_of_positive(across, &[much, little], &gradient, &dx, &n);
            // Of a node without any the value is given, and takes part in nothing.
            prop_assert!(little == 0.0 || (to_first >= least && to_second >= least), "{to_first} {to_second} {least}");
        }
    }

    /// Where the quantity hardly varies over an edge, it is the gradient's part, as the unbounded flux has it.
    #[test]
    fn smooth_fields_are_left_alone() {
        let (gradient, dx, n) = ([0.3, -0.2, 0.1], [1.0, 0.5, 0.2], [0.4, 1.0, -0.3]);
        let error = |size: f64| {
            let difference = gradient[0] * dx[0] + gradient[1] * dx[1] + gradient[2] * dx[2];
            let bounded = gradient_of_positive(1.2, &[size, size + difference], &gradient, &dx, &n);
            (bounded + flux_diffused(1.0, 1.2, difference, &gradient, &dx, &n)).abs()
        };
        assert!(error(1.0) < 1e-2 && error(10.0) < 1e-4, "{} {}", error(1.0), error(10.0));
        assert!(error(10.0) < 0.011 * error(1.0), "it falls with the square of the variation");
    }
}
