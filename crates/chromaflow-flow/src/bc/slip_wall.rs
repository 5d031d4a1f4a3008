//! Inviscid walls.

use super::{Boundary, Word};
use crate::gas::{Gas, by_conserved, sound_speed};
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word =
    Word { name: "slip_wall", text: "Inviscid wall.", parameters: &[], read: |_| Ok(Boundary::SlipWall) };

/// Flux through a slip wall or a symmetry plane: nothing passes, so p n remains, (0, p n, 0).
#[inline(always)]
pub fn flux_slip_wall<T: Real>(w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    [T::c(0.0), w[4] * n[0], w[4] * n[1], w[4] * n[2], T::c(0.0)]
}

/// Derivative of [`flux_slip_wall`] by the conserved state, column-major 5 x 5: n dp/dq with
/// dp/dq = (gamma - 1)(|u|^2/2, -u, 1).
#[inline(always)]
pub fn flux_slip_wall_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 25] {
    let g1 = gas.gamma - T::c(1.0);
    let [_, u, v, s, _] = *w;
    let pressure = [T::c(0.5) * g1 * (u * u + v * v + s * s), -g1 * u, -g1 * v, -g1 * s, g1];
    let mut out = [T::c(0.0); 25];
    for c in 0..5 {
        for k in 0..3 {
            out[c * 5 + 1 + k] = n[k] * pressure[c];
        }
    }
    out
}

/// Flux through a slip wall at which the flow may still have a velocity V normal to the wall: nothing passes but the
/// pressure that a simple wave makes of p as it brings V to rest, p (1 + (gamma - 1)/2 V/c)^(2 gamma/(gamma - 1)).
/// Where the flow leaves the wall faster than a wave can follow, V < -c, it is held at what V = -c leaves.
///
/// To first order it is p + rho c V, as Roe's flux between the state and its mirror image has it: what flows towards the
/// wall is pushed back, which [`flux_slip_wall`] leaves to the flow around.
#[inline(always)]
pub fn flux_wave_wall<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let p = wave_pressure(gas, w, n)[0];
    [T::c(0.0), p * n[0], p * n[1], p * n[2], T::c(0.0)]
}

/// The pressure p f(V/c) of [`flux_wave_wall`], its slope by V, and by c, each at fixed p.
#[inline(always)]
fn wave_pressure<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 3] {
    let one = T::c(1.0);
    let half = T::c(0.5) * (gas.gamma - one);
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let c = sound_speed(gas, w);
    let mach = (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / (area * c);
    let inside = mach.gt(T::c(-1.0));
    let base = one + half * T::select(inside, mach, T::c(-1.0));
    let exponent = gas.gamma / half;
    let p = w[4] * base.powf(exponent);
    let slope = T::select(inside, p * gas.gamma / (base * c), T::c(0.0));
    [p, slope, -slope * mach]
}

/// Derivative of [`flux_wave_wall`] by the conserved state, column-major 5 x 5.
#[inline(always)]
pub fn flux_wave_wall_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 25] {
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let [p, by_v, by_c] = wave_pressure(gas, w, n);
    let by_v = by_v / area;
    // dc = c/2 (dp/p - drho/rho).
    let half_c = T::c(0.5) * by_c * sound_speed(gas, w);
    let slope = [-half_c / w[0], by_v * n[0], by_v * n[1], by_v * n[2], (p + half_c) / w[4]];
    let mut block = [T::c(0.0); 25];
    for c in 0..5 {
        for k in 0..3 {
            block[c * 5 + 1 + k] = n[k] * slope[c];
        }
    }
    by_conserved(gas, w, &block)
}
