//! Inviscid walls.

use super::{Boundary, Word};
use crate::flux::low_mach_factor2;
use crate::gas::{Gas, by_conserved, sound_speed};
use crate::real::{Mask, Real};

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
/// pressure that a simple wave makes of p as it brings f V to rest, p (1 + (gamma - 1)/2 f V/c)^(2 gamma/(gamma - 1)).
/// Where the flow leaves the wall faster than a wave can follow, f V < -c, it is held at what f V = -c leaves. f is that of
/// [`RoeFix`](crate::flux::RoeFix), 1 but in slow flow.
///
/// To first order it is p + rho f c V, as Roe's flux between the state and its mirror image has it: what flows towards the
/// wall is pushed back, which [`flux_slip_wall`] leaves to the flow around.
#[inline(always)]
pub fn flux_wave_wall<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3], cutoff_mach: T) -> [T; 5] {
    let p = wave_pressure(gas, w, n, cutoff_mach).pressure;
    [T::c(0.0), p * n[0], p * n[1], p * n[2], T::c(0.0)]
}

/// The pressure of [`flux_wave_wall`].
#[derive(Clone, Copy, Debug)]
struct WavePressure<T> {
    pressure: T,
    /// Its slope by V, at fixed p, c and f.
    by_velocity: T,
    /// Its slope by c likewise.
    by_sound: T,
    /// Its slope by f^2, at fixed p, V and c; 0 where f does not follow the flow.
    by_factor2: T,
}

#[inline(always)]
fn wave_pressure<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3], cutoff_mach: T) -> WavePressure<T> {
    let one = T::c(1.0);
    let half = T::c(0.5) * (gas.gamma - one);
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let c = sound_speed(gas, w);
    let mach2 = (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]) / (c * c);
    let low = low_mach_factor2(mach2, cutoff_mach).sqrt();
    let mach = (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / (area * c);
    let inside = (low * mach).gt(T::c(-1.0));
    let base = one + half * T::select(inside, low * mach, T::c(-1.0));
    let exponent = gas.gamma / half;
    let pressure = w[4] * base.powf(exponent);
    let rest = T::c(0.0);
    let follows = mach2.gt(cutoff_mach * cutoff_mach).and(mach2.lt(one));
    // By f V/c.
    let slope = T::select(inside, pressure * gas.gamma / base, rest);
    WavePressure {
        pressure,
        by_velocity: slope * low / c,
        by_sound: -slope * low * mach / c,
        by_factor2: T::select(follows, T::c(0.5) * slope * mach / low, rest),
    }
}

/// Derivative of [`flux_wave_wall`] by the conserved state, column-major 5 x 5.
#[inline(always)]
pub fn flux_wave_wall_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3], cutoff_mach: T) -> [T; 25] {
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let wave = wave_pressure(gas, w, n, cutoff_mach);
    let by_v = wave.by_velocity / area;
    let c = sound_speed(gas, w);
    // f^2 = |u|^2 / c^2.
    let by_u = T::c(2.0) * wave.by_factor2 / (c * c);
    let mach2 = (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]) / (c * c);
    // dc = c/2 (dp/p - drho/rho).
    let half_c = T::c(0.5) * wave.by_sound * c - wave.by_factor2 * mach2;
    let slope = [
        -half_c / w[0],
        by_v * n[0] + by_u * w[1],
        by_v * n[1] + by_u * w[2],
        by_v * n[2] + by_u * w[3],
        (wave.pressure + half_c) / w[4],
    ];
    let mut block = [T::c(0.0); 25];
    for c in 0..5 {
        for k in 0..3 {
            block[c * 5 + 1 + k] = n[k] * slope[c];
        }
    }
    by_conserved(gas, w, &block)
}
