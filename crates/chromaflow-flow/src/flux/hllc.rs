//! The HLLC approximate Riemann solver.

use super::euler::{flux, flux_jacobian};
use crate::gas::{Gas, by_conserved, conserved, sound_speed, total_enthalpy};
use crate::real::Real;

/// Signal speeds along the unit normal, and the side of the contact that the face lies on.
#[derive(Clone, Copy, Debug)]
pub(super) struct HllcWaves<T> {
    /// Slowest and fastest signal.
    pub(super) slow: T,
    /// As above.
    pub(super) fast: T,
}

/// Einfeldt's bounds: the slower of VL - cL and Roe's V - c, the faster of VR + cR and Roe's V + c.
#[inline(always)]
pub(super) fn hllc_waves<T: Real>(gas: Gas<T>, wl: &[T; 5], wr: &[T; 5], normal: &[T; 3]) -> HllcWaves<T> {
    let root = (wr[0] / wl[0]).sqrt();
    let a = T::c(1.0) / (T::c(1.0) + root);
    let b = root * a;
    let u = a * wl[1] + b * wr[1];
    let v = a * wl[2] + b * wr[2];
    let s = a * wl[3] + b * wr[3];
    let enthalpy = a * total_enthalpy(gas, wl) + b * total_enthalpy(gas, wr);
    let sound = ((gas.gamma - T::c(1.0)) * (enthalpy - T::c(0.5) * (u * u + v * v + s * s))).sqrt();
    let mean = u * normal[0] + v * normal[1] + s * normal[2];
    let left = wl[1] * normal[0] + wl[2] * normal[1] + wl[3] * normal[2];
    let right = wr[1] * normal[0] + wr[2] * normal[1] + wr[3] * normal[2];
    HllcWaves {
        slow: (left - sound_speed(gas, wl)).min(mean - sound),
        fast: (right + sound_speed(gas, wr)).max(mean + sound),
    }
}

/// HLLC flux: constant states between the slowest signal, the contact and the fastest signal.
///
/// **Source**: Toro, Spruce & Speares 1994, with the wave speeds of Einfeldt as in Batten, Leschziner & Goldberg
/// 1997.
#[inline(always)]
pub fn flux_hllc<T: Real>(gas: Gas<T>, wl: &[T; 5], wr: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let inverse = T::c(1.0) / area;
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let waves = hllc_waves(gas, wl, wr, &normal);
    let unit = hllc_between(gas, wl, wr, &normal, waves);
    let mut out = [T::c(0.0); 5];
    for i in 0..5 {
        out[i] = area * unit[i];
    }
    out
}

/// HLLC flux through the unit normal at given signal speeds.
#[inline(always)]
pub(super) fn hllc_between<T: Real>(
    gas: Gas<T>,
    wl: &[T; 5],
    wr: &[T; 5],
    normal: &[T; 3],
    waves: HllcWaves<T>,
) -> [T; 5] {
    let left = wl[1] * normal[0] + wl[2] * normal[1] + wl[3] * normal[2];
    let right = wr[1] * normal[0] + wr[2] * normal[1] + wr[3] * normal[2];
    let ml = wl[0] * (waves.slow - left);
    let mr = wr[0] * (waves.fast - right);
    let contact = (wr[4] - wl[4] + left * ml - right * mr) / (ml - mr);
    // All below is for the state on the face's side of the contact.
    let is_left = contact.ge(T::c(0.0));
    let mut w = *wr;
    for i in 0..5 {
        w[i] = T::select(is_left, wl[i], wr[i]);
    }
    let speed = T::select(is_left, waves.slow, waves.fast);
    let factor = T::select(is_left, waves.slow.min(T::c(0.0)), waves.fast.max(T::c(0.0)));
    let v = T::select(is_left, left, right);
    let q = conserved(gas, &w);
    let f = flux(gas, &w, normal);
    let jump = contact - v;
    let mass = w[0] * (speed - v) / (speed - contact);
    let star = [
        mass,
        mass * (w[1] + jump * normal[0]),
        mass * (w[2] + jump * normal[1]),
        mass * (w[3] + jump * normal[2]),
        mass * (q[4] / w[0] + jump * (contact + w[4] / (w[0] * (speed - v)))),
    ];
    let mut out = [T::c(0.0); 5];
    for i in 0..5 {
        out[i] = f[i] + factor * (star[i] - q[i]);
    }
    out
}

/// Derivatives of the HLLC flux by the left and the right conserved state, with the slowest and fastest signal speeds
/// held fixed and all else, the contact's speed too, exact.
///
/// **Shapes**: two column-major 5 x 5 blocks. **Source**: after Batten, Leschziner & Goldberg 1997, who also
/// differentiate the signal speeds.
#[inline(always)]
pub fn flux_hllc_jacobians<T: Real>(gas: Gas<T>, wl: &[T; 5], wr: &[T; 5], n: &[T; 3]) -> ([T; 25], [T; 25]) {
    let zero = T::c(0.0);
    let one = T::c(1.0);
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let inverse = one / area;
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let waves = hllc_waves(gas, wl, wr, &normal);
    let left = wl[1] * normal[0] + wl[2] * normal[1] + wl[3] * normal[2];
    let right = wr[1] * normal[0] + wr[2] * normal[1] + wr[3] * normal[2];
    let al = waves.slow - left;
    let ar = waves.fast - right;
    let below = one / (wl[0] * al - wr[0] * ar);
    let contact = (wr[4] - wl[4] + left * wl[0] * al - right * wr[0] * ar) * below;
    // "own" is the side of the contact that the face lies on, "other" the one beyond.
    let is_left = contact.ge(zero);
    let mut own = *wr;
    let mut other = *wl;
    for i in 0..5 {
        own[i] = T::select(is_left, wl[i], wr[i]);
        other[i] = T::select(is_left, wr[i], wl[i]);
    }
    let speed = T::select(is_left, waves.slow, waves.fast);
    let factor = area * T::select(is_left, waves.slow.min(zero), waves.fast.max(zero));
    let own_v = T::select(is_left, left, right);
    let other_v = T::select(is_left, right, left);
    let own_a = T::select(is_left, al, ar);
    let other_a = T::select(is_left, ar, al);
    // The contact's speed depends on density, normal velocity and pressure of both sides.
    let own_side = T::select(is_left, below, -below);
    let contact_by_own =
        [own_side * own_a * (own_v - contact), own_side * own[0] * (own_a - own_v + contact), -own_side];
    let contact_by_other = [
        -own_side * other_a * (other_v - contact),
        -own_side * other[0] * (other_a - other_v + contact),
        own_side,
    ];
    let [rho, u, v, s, p] = own;
    let velocity = [u, v, s];
    let jump = contact - own_v;
    let b = one / (speed - contact);
    let alpha = own_a * b;
    let mass = rho * alpha;
    let ratio = p / own_a;
    let kinetic = T::c(0.5) * (u * u + v * v + s * s);
    let by_g1 = one / (gas.gamma - one);
    // The star state over alpha, and its derivative by the contact's speed.
    let star = [
        rho,
        rho * (u + jump * normal[0]),
        rho * (v + jump * normal[1]),
        rho * (s + jump * normal[2]),
        p * by_g1 + rho * kinetic + jump * (rho * contact + ratio),
    ];
    let by_contact = [
        alpha * b * star[0],
        alpha * b * star[1] + mass * normal[0],
        alpha * b * star[2] + mass * normal[1],
        alpha * b * star[3] + mass * normal[2],
        alpha * b * star[4] + alpha * (rho * contact + ratio + rho * jump),
    ];
    let mut own_block = [zero; 25];
    let mut other_block = [zero; 25];
    for r in 0..5 {
        own_block[r] = by_contact[r] * contact_by_own[0];
        own_block[20 + r] = by_contact[r] * contact_by_own[2];
        other_block[r] = by_contact[r] * contact_by_other[0];
        other_block[20 + r] = by_contact[r] * contact_by_other[2];
        for k in 0..3 {
            own_block[5 * k + 5 + r] = (by_contact[r] * contact_by_own[1] - b * star[r]) * normal[k];
            other_block[5 * k + 5 + r] = by_contact[r] * contact_by_other[1] * normal[k];
        }
    }
    own_block[0] += alpha;
    for k in 0..3 {
        own_block[1 + k] += alpha * (velocity[k] + jump * normal[k]);
        own_block[6 * k + 6] += mass;
        for i in 0..3 {
            own_block[5 * k + 6 + i] -= mass * normal[i] * normal[k];
        }
        own_block[5 * k + 9] +=
            alpha * (rho * velocity[k] + normal[k] * (jump * ratio / own_a - rho * contact - ratio));
    }
    own_block[4] += alpha * (kinetic + jump * contact);
    own_block[24] += alpha * (by_g1 + jump / own_a);
    let mut own_q = by_conserved(gas, &own, &own_block);
    let mut other_q = by_conserved(gas, &other, &other_block);
    for i in 0..5 {
        own_q[i * 6] -= one;
    }
    let own_flux = flux_jacobian(gas, &own, n);
    let mut by_left = [zero; 25];
    let mut by_right = [zero; 25];
    for i in 0..25 {
        own_q[i] = own_flux[i] + factor * own_q[i];
        other_q[i] *= factor;
        by_left[i] = T::select(is_left, own_q[i], other_q[i]);
        by_right[i] = T::select(is_left, other_q[i], own_q[i]);
    }
    (by_left, by_right)
}
