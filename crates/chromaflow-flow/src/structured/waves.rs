//! The diagonalized factors, pointwise: changes of the state as waves along an axis, and the waves' operators.

use crate::flux::{Dissipation, pressure_switch, spectral_radius};
use crate::gas::{Gas, sound_speed};
use crate::real::Real;

/// Amplitudes of a change `x` of the conserved variables at the state `w` for the unit normal `k`: entropy and vorticity as
/// the vector k s + du x k, s = drho - dp/c^2; then dp/(rho c) + du . k and dp/(rho c) - du . k.
///
/// **Source**: Pulliam & Chaussee 1981 (their T^-1, other lengths of its rows).
#[inline(always)]
pub fn to_waves<T: Real>(gas: Gas<T>, w: &[T; 5], k: &[T; 3], x: &[T; 5]) -> [T; 5] {
    let [rho, u, v, s, _] = *w;
    let c = sound_speed(gas, w);
    let kinetic = T::c(0.5) * (u * u + v * v + s * s);
    let dp = (gas.gamma - T::c(1.0)) * (kinetic * x[0] - u * x[1] - v * x[2] - s * x[3] + x[4]);
    let du = [(x[1] - u * x[0]) / rho, (x[2] - v * x[0]) / rho, (x[3] - s * x[0]) / rho];
    let entropy = x[0] - dp / (c * c);
    let along = k[0] * du[0] + k[1] * du[1] + k[2] * du[2];
    let pressure = dp / (rho * c);
    [
        k[0] * entropy + du[1] * k[2] - du[2] * k[1],
        k[1] * entropy + du[2] * k[0] - du[0] * k[2],
        k[2] * entropy + du[0] * k[1] - du[1] * k[0],
        pressure + along,
        pressure - along,
    ]
}

/// The inverse of [`to_waves`].
#[inline(always)]
pub fn from_waves<T: Real>(gas: Gas<T>, w: &[T; 5], k: &[T; 3], a: &[T; 5]) -> [T; 5] {
    let [rho, u, v, s, _] = *w;
    let c = sound_speed(gas, w);
    let half = T::c(0.5);
    let along = half * (a[3] - a[4]);
    let dp = half * rho * c * (a[3] + a[4]);
    let drho = k[0] * a[0] + k[1] * a[1] + k[2] * a[2] + dp / (c * c);
    let du = [
        k[1] * a[2] - k[2] * a[1] + k[0] * along,
        k[2] * a[0] - k[0] * a[2] + k[1] * along,
        k[0] * a[1] - k[1] * a[0] + k[2] * along,
    ];
    let kinetic = half * (u * u + v * v + s * s);
    [
        drho,
        u * drho + rho * du[0],
        v * drho + rho * du[1],
        s * drho + rho * du[2],
        dp / (gas.gamma - T::c(1.0)) + kinetic * drho + rho * (u * du[0] + v * du[1] + s * du[2]),
    ]
}

/// Unit normal of a cell between the areas of its two faces along an axis.
#[inline(always)]
pub fn unit_normal<T: Real>(low: &[T; 3], high: &[T; 3]) -> [T; 3] {
    let n = [low[0] + high[0], low[1] + high[1], low[2] + high[2]];
    let inverse = T::c(1.0) / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    [n[0] * inverse, n[1] * inverse, n[2] * inverse]
}

/// Half the sum of two states.
#[inline(always)]
pub fn middle_state<T: Real>(b: &[T; 5], c: &[T; 5]) -> [T; 5] {
    let mut mean = [T::c(0.0); 5];
    for v in 0..5 {
        mean[v] = T::c(0.5) * (b[v] + c[v]);
    }
    mean
}

/// What the operators of the three families of waves (entropy and vorticity, V + c, V - c) have at a face between cells
/// b and c, of neighbors a and d.
#[derive(Clone, Copy, Debug)]
pub struct WaveFace<T> {
    /// Half the waves' speeds times the area.
    pub half_speed: [T; 3],
    /// Of x_c - x_b.
    pub second: [T; 3],
    /// Of x_d - 3 x_c + 3 x_b - x_a, with the sign of a smoothing.
    pub fourth: T,
}

/// Weights of second and fourth differences at a face over its spectral radius: twice those of the residual, from the pressures
/// of the four cells, or with `fourth` unset `share` alone. Second differences, twice as much, take the place of fourth ones
/// that are missing: `near` an end, where there is no second neighbor on one side, and at shocks, where the eigenvectors of
/// neighbors differ; without them there the residual of a transonic airfoil stalls after two orders.
#[inline(always)]
pub fn wave_weights<T: Real>(
    pressure: &[T; 4],
    dissipation: Dissipation<T>,
    share: T,
    fourth: bool,
    near: bool,
) -> [T; 2] {
    if !fourth {
        return [share, T::c(0.0)];
    }
    let left = pressure_switch(pressure[0], pressure[1], pressure[2]);
    let right = pressure_switch(pressure[1], pressure[2], pressure[3]);
    let e2 = dissipation.second * left.max(right);
    let two = T::c(2.0);
    if near {
        return [two * (e2 + two * dissipation.fourth), T::c(0.0)];
    }
    let e4 = (dissipation.fourth - e2).max(T::c(0.0));
    [two * (e2 + two * (dissipation.fourth - e4)), two * e4]
}

/// The operators' part of a face with these weights of its differences and this spectral radius of the viscous terms; at the
/// end of a line upwind, so that waves leave.
#[inline(always)]
pub fn wave_face<T: Real>(
    gas: Gas<T>,
    before: &[T; 5],
    after: &[T; 5],
    area: &[T; 3],
    weights: &[T; 2],
    at_end: bool,
    viscous: T,
) -> WaveFace<T> {
    let half = T::c(0.5);
    let mean = middle_state(before, after);
    let speed = mean[1] * area[0] + mean[2] * area[1] + mean[3] * area[2];
    let sound = sound_speed(gas, &mean) * (area[0] * area[0] + area[1] * area[1] + area[2] * area[2]).sqrt();
    let half_speed = [half * speed, half * (speed + sound), half * (speed - sound)];
    if at_end {
        let mut second = [viscous; 3];
        for f in 0..3 {
            second[f] += half_speed[f].abs();
        }
        return WaveFace { half_speed, second, fourth: T::c(0.0) };
    }
    let radius = half * (spectral_radius(gas, before, area) + spectral_radius(gas, after, area));
    WaveFace { half_speed, second: [radius * weights[0] + viscous; 3], fourth: radius * weights[1] }
}

/// Rows of the families' pentadiagonal systems I + tau d/ds, from the lowest band to the highest, for the cell between two
/// faces.
#[inline(always)]
pub fn wave_rows<T: Real>(low: &WaveFace<T>, high: &WaveFace<T>, tau: T) -> [[T; 5]; 3] {
    let three = T::c(3.0);
    let mut rows = [[T::c(0.0); 5]; 3];
    for f in 0..3 {
        let (l2, h2, l4, h4) = (low.second[f], high.second[f], low.fourth, high.fourth);
        rows[f] = [
            tau * l4,
            -(tau * (low.half_speed[f] + l2 + three * l4 + h4)),
            tau * (high.half_speed[f] - low.half_speed[f] + l2 + h2 + three * (l4 + h4)) + T::c(1.0),
            tau * (high.half_speed[f] - h2 - three * h4 - l4),
            tau * h4,
        ];
    }
    rows
}
