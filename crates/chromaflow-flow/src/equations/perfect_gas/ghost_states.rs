//! States beyond boundaries of structured grids and values on their walls, from the two cells inside: pointwise.

use crate::bc::{
    Condition, ConditionKind, WallHeat, ghost_no_slip, mirrored_state, open_flux, open_state, outlet_flow,
    wall_at,
};
use crate::gas::{Gas, Transport, temperature};
use crate::real::Real;
use crate::viscous::{flux_viscous_block_of, molecular};

/// w1 + share (w1 - w2), density and pressure kept within a factor of two of w1.
#[inline(always)]
pub fn continued_state<T: Real>(w1: &[T; 5], w2: &[T; 5], share: T) -> [T; 5] {
    let mut w = [T::c(0.0); 5];
    for c in 0..5 {
        w[c] = w1[c] + share * (w1[c] - w2[c]);
    }
    w[0] = w[0].max(T::c(0.5) * w1[0]).min(T::c(2.0) * w1[0]);
    w[4] = w[4].max(T::c(0.5) * w1[4]).min(T::c(2.0) * w1[4]);
    w
}

/// The state at an open boundary's face, from that of the two cells continued to it.
#[inline(always)]
pub fn face_state<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    w1: &[T; 5],
    w2: &[T; 5],
    n: &[T; 3],
) -> [T; 5] {
    open_state(condition, gas, &continued_state(w1, w2, T::c(0.5)), n)
}

/// [`open_flux`] out through an open boundary's face, from the state of the two cells continued to it.
#[inline(always)]
pub fn continued_flux<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    w1: &[T; 5],
    w2: &[T; 5],
    n: &[T; 3],
) -> [T; 5] {
    open_flux(condition, gas, &continued_state(w1, w2, T::c(0.5)), n)
}

/// [`outlet_flow`] through a face, from the two cells inside.
#[inline(always)]
pub fn face_flow<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    w1: &[T; 5],
    w2: &[T; 5],
    n: &[T; 3],
) -> [T; 2] {
    outlet_flow(condition, gas, &continued_state(w1, w2, T::c(0.5)), n)
}

/// States of the two ghosts beyond a face of outward area `n` and middle `x`, the nearer first, from the two cells inside.
#[inline(always)]
pub fn ghost_states<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    w1: &[T; 5],
    w2: &[T; 5],
    n: &[T; 3],
    x: &[T; 3],
) -> [[T; 5]; 2] {
    match condition.kind {
        ConditionKind::Symmetry => [mirrored_state(w1, n), mirrored_state(w2, n)],
        ConditionKind::SlipWall => {
            let first = continued_state(w1, w2, T::c(1.0));
            [first, continued_state(&first, w1, T::c(1.0))]
        }
        ConditionKind::NoSlip => {
            let wall = wall_at(condition, x);
            [ghost_no_slip(gas, condition.heat, wall, w1), ghost_no_slip(gas, condition.heat, wall, w2)]
        }
        ConditionKind::Farfield
        | ConditionKind::Inlet
        | ConditionKind::VelocityInlet
        | ConditionKind::Outlet
        | ConditionKind::Extrapolation => {
            let face = face_state(condition, gas, w1, w2, n);
            let first = continued_state(&face, w1, T::c(1.0));
            [first, continued_state(&first, &face, T::c(1.0))]
        }
    }
}

/// Pressure on a wall from the two cells inside: continued along a straight line at slip walls; level at symmetry planes and
/// at walls without slip.
#[inline(always)]
pub fn pressure_on<T: Real>(condition: &Condition<T>, w1: &[T; 5], w2: &[T; 5]) -> T {
    let straight = condition.kind == ConditionKind::SlipWall;
    wall_pressure(w1[4], w2[4], if straight { T::c(0.5) } else { T::c(0.125) })
}

/// Pressure at the face from those of the two cells inside: `share` is 1/2 for a straight line, 1/8 for a parabola that is
/// level at the wall.
#[inline(always)]
pub fn wall_pressure<T: Real>(p1: T, p2: T, share: T) -> T {
    (p1 + share * (p1 - p2)).max(T::c(0.5) * p1).min(T::c(2.0) * p1)
}

/// (u, v, w, T) at the place `x` of a wall without slip and their gradient there: across the wall by differences of second order, along it by
/// what the wall's own velocity changes, du_i/dx_k = (omega x e_k)_i.
///
/// `deep` is 1 where there is a second cell and 0 where `w2` is `w1` again; `volume` that of a cell at the wall.
#[inline(always)]
pub fn wall_gradient<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    w1: &[T; 5],
    w2: &[T; 5],
    n: &[T; 3],
    x: &[T; 3],
    volume: T,
    deep: T,
) -> ([T; 4], [[T; 3]; 4]) {
    let heat = condition.heat;
    let wall = wall_at(condition, x);
    let two_cells = deep.gt(T::c(0.5));
    let t1 = temperature(gas, w1);
    let t2 = temperature(gas, w2);
    let u = wall.velocity;
    let mut at_wall = [u[0], u[1], u[2], T::c(0.0)];
    // No slope at an adiabatic wall.
    let level = ((T::c(9.0) * t1 - t2) / T::c(8.0)).max(T::c(0.5) * t1).min(T::c(2.0) * t1);
    at_wall[3] = T::select(two_cells, level, t1);
    if heat == WallHeat::Isothermal {
        at_wall[3] = wall.temperature;
    }
    let first = [w1[1], w1[2], w1[3], t1];
    let second = [w2[1], w2[2], w2[3], t2];
    let mut gradient = [[T::c(0.0); 3]; 4];
    for i in 0..4 {
        // Inward derivative by the index at 0 from values at 0, 1/2 and 3/2.
        let far = (T::c(9.0) * first[i] - second[i] - T::c(8.0) * at_wall[i]) / T::c(3.0);
        let near = T::c(2.0) * (first[i] - at_wall[i]);
        let slope = T::select(two_cells, far, near);
        for k in 0..3 {
            gradient[i][k] = -slope * n[k] / volume;
        }
    }
    let o = condition.motion.rotation;
    let turn = [[T::c(0.0), -o[2], o[1]], [o[2], T::c(0.0), -o[0]], [-o[1], o[0], T::c(0.0)]];
    let area = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    for i in 0..3 {
        let across = (turn[i][0] * n[0] + turn[i][1] * n[1] + turn[i][2] * n[2]) / area;
        for k in 0..3 {
            gradient[i][k] += turn[i][k] - across * n[k];
        }
    }
    if heat == WallHeat::Adiabatic {
        for k in 0..3 {
            gradient[3][k] = T::c(0.0);
        }
    }
    (at_wall, gradient)
}

/// Derivative of the viscous flux through a wall without slip by the conserved variables of the cell next to it, column-major: the gradient is that of
/// this cell of `volume` alone; without the work of walls that move.
#[inline(always)]
pub fn wall_friction_block<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    transport: Transport<T>,
    w1: &[T; 5],
    n: &[T; 3],
    volume: T,
) -> [T; 25] {
    let zero = T::c(0.0);
    let t = temperature(gas, w1);
    let mut diffusing = molecular(gas, transport, t);
    if condition.heat != WallHeat::Isothermal {
        diffusing[1] = zero;
    }
    let two = T::c(-2.0);
    let weight = [two * n[0] / volume, two * n[1] / volume, two * n[2] / volume];
    let (face, still) = ([zero, zero, zero, t], [zero; 3]);
    flux_viscous_block_of(gas, &diffusing, w1, &face, &still, &weight, zero, n)
}
