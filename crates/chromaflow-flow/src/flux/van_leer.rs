//! Van Leer's flux vector splitting.

use super::euler::{flux, flux_jacobian};
use crate::gas::{Gas, by_conserved, sound_speed};
use crate::real::Real;

/// The part of the flux F(w) . n that runs with the normal (`sign` 1) or against it (`sign` -1):
/// for |V| < c
/// ```text
/// f = sign rho (V + sign c)^2 / (4c)
/// F = |n| f (1,  u + n (2 sign c - V)/gamma,  ((gamma-1) V + 2 sign c)^2 / (2(gamma^2-1)) + (|u|^2 - V^2)/2)
/// ```
/// with V along the unit normal n; beyond, all or nothing. The two parts sum to the flux; each is continuously
/// differentiable.
///
/// **Source**: van Leer 1982; energy in the form of Anderson, Thomas & van Leer 1986.
#[inline(always)]
pub fn van_leer_split<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3], sign: T) -> [T; 5] {
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let inverse = T::c(1.0) / area;
    let [rho, u, v, s, _] = *w;
    let c = sound_speed(gas, w);
    let normal_velocity = (u * n[0] + v * n[1] + s * n[2]) * inverse;
    let x = normal_velocity + sign * c;
    let mass = area * sign * rho * x * x / (T::c(4.0) * c);
    let push = (T::c(2.0) * sign * c - normal_velocity) * inverse / gas.gamma;
    let e = (gas.gamma - T::c(1.0)) * normal_velocity + T::c(2.0) * sign * c;
    let energy = e * e / (T::c(2.0) * (gas.gamma * gas.gamma - T::c(1.0)))
        + T::c(0.5) * (u * u + v * v + s * s - normal_velocity * normal_velocity);
    let mixed =
        [mass, mass * (u + n[0] * push), mass * (v + n[1] * push), mass * (s + n[2] * push), mass * energy];
    let whole = flux(gas, w, n);
    let all = (sign * normal_velocity).ge(c);
    let nothing = (sign * normal_velocity).le(-c);
    let mut out = [T::c(0.0); 5];
    for i in 0..5 {
        out[i] = T::select(all, whole[i], T::select(nothing, T::c(0.0), mixed[i]));
    }
    out
}

/// Derivative of [`van_leer_split`] by the conserved state, exact; column-major 5 x 5.
#[inline(always)]
pub fn van_leer_split_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3], sign: T) -> [T; 25] {
    let zero = T::c(0.0);
    let one = T::c(1.0);
    let two = T::c(2.0);
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let inverse = one / area;
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let [rho, u, v, s, p] = *w;
    let velocity = [u, v, s];
    let c = sound_speed(gas, w);
    let by_c = one / c;
    let normal_velocity = u * normal[0] + v * normal[1] + s * normal[2];
    let x = normal_velocity + sign * c;
    // Mass flux and its derivatives by density at fixed c, by normal velocity and by c.
    let mass_by_rho = area * sign * x * x * T::c(0.25) * by_c;
    let mass = mass_by_rho * rho;
    let mass_by_v = area * sign * rho * x * T::c(0.5) * by_c;
    let mass_by_c = T::c(0.5) * mass_by_v * (sign * c - normal_velocity) * by_c;
    // What a unit of mass carries: momentum and energy.
    let by_gamma = one / gas.gamma;
    let push = (two * sign * c - normal_velocity) * by_gamma;
    let e = (gas.gamma - one) * normal_velocity + two * sign * c;
    let by_g2 = one / (gas.gamma * gas.gamma - one);
    let energy = T::c(0.5) * (e * e * by_g2 + u * u + v * v + s * s - normal_velocity * normal_velocity);
    let carried = [one, u + normal[0] * push, v + normal[1] * push, s + normal[2] * push, energy];
    let energy_by_v = e / (gas.gamma + one) - normal_velocity;
    let by_sound = [
        zero,
        two * sign * by_gamma * normal[0],
        two * sign * by_gamma * normal[1],
        two * sign * by_gamma * normal[2],
        two * sign * e * by_g2,
    ];
    // c depends on density and pressure: dc/drho = -c/(2 rho), dc/dp = c/(2p).
    let c_by_rho = -T::c(0.5) * c / rho;
    let c_by_p = T::c(0.5) * c / p;
    let mut mixed = [zero; 25];
    for r in 0..5 {
        let by_c = mass_by_c * carried[r] + mass * by_sound[r];
        mixed[r] = mass_by_rho * carried[r] + by_c * c_by_rho;
        mixed[20 + r] = by_c * c_by_p;
        for k in 0..3 {
            mixed[5 * k + 5 + r] = mass_by_v * normal[k] * carried[r];
        }
    }
    for k in 0..3 {
        for i in 0..3 {
            mixed[5 * k + 6 + i] -= mass * by_gamma * normal[i] * normal[k];
        }
        mixed[6 * k + 6] += mass;
        mixed[5 * k + 9] += mass * (velocity[k] + energy_by_v * normal[k]);
    }
    let mixed = by_conserved(gas, w, &mixed);
    let whole = flux_jacobian(gas, w, n);
    let all = (sign * normal_velocity).ge(c);
    let nothing = (sign * normal_velocity).le(-c);
    let mut out = [zero; 25];
    for i in 0..25 {
        out[i] = T::select(all, whole[i], T::select(nothing, zero, mixed[i]));
    }
    out
}

/// Van Leer's flux: the left state's part with the normal plus the right state's against it.
#[inline(always)]
pub fn flux_van_leer<T: Real>(gas: Gas<T>, wl: &[T; 5], wr: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let mut out = van_leer_split(gas, wl, n, T::c(1.0));
    let right = van_leer_split(gas, wr, n, T::c(-1.0));
    for i in 0..5 {
        out[i] += right[i];
    }
    out
}

/// Derivatives of van Leer's flux by the left and the right conserved state, exact.
///
/// **Shapes**: two column-major 5 x 5 blocks.
#[inline(always)]
pub fn flux_van_leer_jacobians<T: Real>(
    gas: Gas<T>,
    wl: &[T; 5],
    wr: &[T; 5],
    n: &[T; 3],
) -> ([T; 25], [T; 25]) {
    let left = van_leer_split_jacobian(gas, wl, n, T::c(1.0));
    let right = van_leer_split_jacobian(gas, wr, n, T::c(-1.0));
    (left, right)
}
