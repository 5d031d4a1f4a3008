//! What joins a flow and what it carries in one matrix, as pointwise functions: derivatives of carried fluxes and of terms at nodes by the
//! conserved state of either side.

use crate::gas::Gas;
use crate::real::Real;

/// The derivative of the mass flux through the area `n` by the state that it leaves, from that by the state beyond it, `by_other`: of Roe's matrix with its
/// dissipation as it is the two are together that of rho u . n, n being the same for both.
///
/// ```
/// use chromaflow_flow::coupled::joint_mass_by_own;
/// assert_eq!(joint_mass_by_own(&[1.0, 2.0, 3.0], &[0.5, 1.0, 1.0, 1.0, 0.25]), [-0.5, 0.0, 1.0, 2.0, -0.25]);
/// ```
#[inline(always)]
pub fn joint_mass_by_own<T: Real>(n: &[T; 3], by_other: &[T; 5]) -> [T; 5] {
    [-by_other[0], n[0] - by_other[1], n[1] - by_other[2], n[2] - by_other[3], -by_other[4]]
}

/// The derivative of what a node takes of a carried quantity, min(m, 0) `difference`, by the state of one side, of which the derivative of the mass flux m out of
/// the node is `mass_by`; `difference` is the neighbor's value less the node's own. A quantity per volume is carried by U = 2 m / `densities`, the sum of those of
/// both sides.
///
/// ```
/// use chromaflow_flow::coupled::joint_carried;
/// let by = [0.0, 1.0, 0.0, 0.0, 0.0];
/// assert_eq!(joint_carried(false, -3.0, 2.0, 5.0, &by), [0.0, 5.0, 0.0, 0.0, 0.0]);
/// assert_eq!(joint_carried(true, -3.0, 2.0, 5.0, &by), [7.5, 5.0, 0.0, 0.0, 0.0]);
/// assert_eq!(joint_carried(true, 3.0, 2.0, 5.0, &by), [0.0; 5]);
/// ```
#[inline(always)]
pub fn joint_carried<T: Real>(
    by_volume: bool,
    mass: T,
    densities: T,
    difference: T,
    mass_by: &[T; 5],
) -> [T; 5] {
    let zero = T::c(0.0);
    let taken = T::select(mass.lt(zero), difference, zero);
    let mut factor = taken;
    let mut by_density = zero;
    if by_volume {
        factor = T::c(2.0) * taken / densities;
        by_density = factor * mass / densities;
    }
    [
        factor * mass_by[0] - by_density,
        factor * mass_by[1],
        factor * mass_by[2],
        factor * mass_by[3],
        factor * mass_by[4],
    ]
}

/// The derivative by the conserved state of what has the derivatives `by` by density and pressure; `w` is the primitive state.
///
/// ```
/// use chromaflow_flow::coupled::joint_by_state;
/// use chromaflow_flow::gas::Gas;
/// // p = (gamma - 1) (E - rho |u|^2 / 2)
/// let by = joint_by_state(Gas { gamma: 1.5 }, &[1.0, 2.0, 0.0, 4.0, 0.7], &[0.25, 1.0]);
/// assert_eq!(by, [5.25, -1.0, 0.0, -2.0, 0.5]);
/// ```
#[inline(always)]
pub fn joint_by_state<T: Real>(gas: Gas<T>, w: &[T; 5], by: &[T; 2]) -> [T; 5] {
    let pressure = by[1] * (gas.gamma - T::c(1.0));
    let half = T::c(0.5) * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
    [by[0] + pressure * half, -pressure * w[1], -pressure * w[2], -pressure * w[3], pressure]
}

/// The derivative by the conserved state of what has the derivatives `by` by velocity; `w` is the primitive state.
///
/// ```
/// use chromaflow_flow::coupled::joint_by_velocity;
/// assert_eq!(joint_by_velocity(&[2.0, 3.0, 0.0, 0.0, 0.7], &[4.0, 6.0, 0.0]), [-6.0, 2.0, 3.0, 0.0, 0.0]);
/// ```
#[inline(always)]
pub fn joint_by_velocity<T: Real>(w: &[T; 5], by: &[T; 3]) -> [T; 5] {
    let per = T::c(1.0) / w[0];
    let own = by[0] * w[1] + by[1] * w[2] + by[2] * w[3];
    [-own * per, by[0] * per, by[1] * per, by[2] * per, T::c(0.0)]
}
