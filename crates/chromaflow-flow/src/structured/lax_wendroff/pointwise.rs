//! What a cell makes of its eight corners, what smooths a line of nodes and what a wall makes of a node: pointwise.
//!
//! Corners are numbered by the bits of their place: i + 2 j + 4 k.

use crate::bc::{
    Condition, ConditionClass, condition_class, flux_slip_wall, open_state, strong_wall_state, wall_at,
};
use crate::flux::{Dissipation, flux};
use crate::gas::{Gas, primitive, sound_speed};
use crate::real::Real;
use crate::viscous::velocity_and_temperature;

/// Corners of a cell's lower and upper face along each axis.
const CORNERS: [[[usize; 4]; 2]; 3] =
    [[[0, 2, 4, 6], [1, 3, 5, 7]], [[0, 1, 4, 5], [2, 3, 6, 7]], [[0, 1, 2, 3], [4, 5, 6, 7]]];

/// Primitive state of the mean of a face's corners, of the cell's conserved states `q`.
#[inline(always)]
pub fn corner_face<T: Real>(gas: Gas<T>, q: &[[T; 5]; 8], axis: usize, high: usize) -> [T; 5] {
    let mut mean = [T::c(0.0); 5];
    for b in 0..4 {
        for c in 0..5 {
            mean[c] += T::c(0.25) * q[CORNERS[axis][high][b]][c];
        }
    }
    primitive(gas, &mean)
}

/// Primitive state of the mean of the corners.
#[inline(always)]
pub fn corner_mean<T: Real>(gas: Gas<T>, q: &[[T; 5]; 8]) -> [T; 5] {
    let mut mean = [T::c(0.0); 5];
    for b in 0..8 {
        for c in 0..5 {
            mean[c] += T::c(0.125) * q[b][c];
        }
    }
    primitive(gas, &mean)
}

/// Gradient of (u, v, w, T) in a cell: (1/V) sum over the faces of the states of [`corner_face`] times the area outwards. `area`
/// has the lower and upper one of each axis, both towards larger indices. Exact on parallelepipeds for functions linear in space.
#[inline(always)]
pub fn corner_gradient<T: Real>(
    gas: Gas<T>,
    q: &[[T; 5]; 8],
    area: &[[[T; 3]; 2]; 3],
    volume: T,
) -> [[T; 3]; 4] {
    let inverse = T::c(1.0) / volume;
    let mut gradient = [[T::c(0.0); 3]; 4];
    for axis in 0..3 {
        let low = velocity_and_temperature(gas, &corner_face(gas, q, axis, 0));
        let high = velocity_and_temperature(gas, &corner_face(gas, q, axis, 1));
        for i in 0..4 {
            for k in 0..3 {
                gradient[i][k] += inverse * (high[i] * area[axis][1][k] - low[i] * area[axis][0][k]);
            }
        }
    }
    gradient
}

/// Weights of second and fourth differences on an edge from the pressure switches at its ends.
#[inline(always)]
pub fn smoothing_weights<T: Real>(dissipation: Dissipation<T>, a: T, b: T) -> [T; 2] {
    let second = dissipation.second * a.max(b);
    [second, (dissipation.fourth - second).max(T::c(0.0))]
}

/// What smoothing gives to the middle one of five nodes of a line: differences over the edges above and below it, with the
/// weights of [`smoothing_weights`] and the radii of the edges.
#[inline(always)]
pub fn smoothing<T: Real>(u: &[T; 5], above: &[T; 2], below: &[T; 2], radius_above: T, radius_below: T) -> T {
    let three = T::c(3.0);
    let low = u[2] - u[1];
    let high = u[3] - u[2];
    let third_below = u[3] - u[0] - three * low;
    let third_above = u[4] - u[1] - three * high;
    radius_above * (above[0] * high - above[1] * third_above)
        - radius_below * (below[0] * low - below[1] * third_below)
}

/// The primitive state without velocity along `n` that the acoustic wave from the wall leaves behind: dp = rho c u_n, no
/// change of entropy; the pressure changes by a factor of two at most.
#[inline(always)]
pub fn slip_state<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let size = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let unit = [n[0] / size, n[1] / size, n[2] / size];
    let normal = w[1] * unit[0] + w[2] * unit[1] + w[3] * unit[2];
    let c = sound_speed(gas, w);
    let pressure = (w[4] + w[0] * c * normal).max(T::c(0.5) * w[4]).min(T::c(2.0) * w[4]);
    let rho = w[0] + (pressure - w[4]) / (c * c);
    [rho, w[1] - normal * unit[0], w[2] - normal * unit[1], w[3] - normal * unit[2], pressure]
}

/// The primitive state of a node at `x` with the boundary's part in it, from that of the interior, `w`.
#[inline(always)]
pub fn bounded_state<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    w: &[T; 5],
    n: &[T; 3],
    x: &[T; 3],
) -> [T; 5] {
    match condition_class(condition) {
        ConditionClass::Open => open_state(condition, gas, w, n),
        ConditionClass::Slip => slip_state(gas, w, n),
        ConditionClass::NoSlip => strong_wall_state(gas, condition.heat, wall_at(condition, x), w),
    }
}

/// The state of a face from the mean state `w` of its nodes, which have the boundary's part. Where a wall with slip turns, its node's velocity is along
/// neither side, and in supersonic flow each side has a pressure of its own: that of the state with the acoustic wave from the side itself in it, by the part
/// 1 - 1/M^4; in subsonic flow there is one pressure. On smooth walls the waves of a face's two ends cancel to second order.
///
/// **Arguments**: the primitive state `w`, the area `n` out of the grid. **Source**: the wave of [`slip_state`], by characteristics of linear
/// acoustics; the part that supersonic flow has of it is this code's own, held to the drag of an oblique shock.
#[inline(always)]
pub fn boundary_face_state<T: Real>(condition: &Condition<T>, gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let turned = match condition_class(condition) {
        ConditionClass::Slip => slip_state(gas, w, n),
        ConditionClass::Open | ConditionClass::NoSlip => *w,
    };
    let c = sound_speed(gas, w);
    let speed2 = w[1] * w[1] + w[2] * w[2] + w[3] * w[3];
    let by_mach2 = c * c / speed2.max(c * c);
    let part = T::c(1.0) - by_mach2 * by_mach2;
    let mut state = *w;
    for k in 0..5 {
        state[k] += part * (turned[k] - w[k]);
    }
    state
}

/// Flux out through a face of the state `w` of [`boundary_face_state`]: only pressure acts on walls.
#[inline(always)]
pub fn face_flux<T: Real>(condition: &Condition<T>, gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    match condition_class(condition) {
        ConditionClass::Open => flux(gas, w, n),
        ConditionClass::Slip | ConditionClass::NoSlip => flux_slip_wall(w, n),
    }
}
