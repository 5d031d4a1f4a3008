//! Outflow: everything comes from inside, wb = w, and nothing comes in.

use super::{Boundary, Word, flux_wave_wall, flux_wave_wall_jacobian};
use crate::flux::{flux, flux_jacobian};
use crate::gas::{Gas, by_conserved, sound_speed};
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word = Word {
    name: "extrapolation",
    text: "Everything from inside (supersonic outflow); what would flow back in meets a wall. Where a subsonic stream comes from `inlet` alone and no \
           other marker sets a pressure, the flow leaves at the speed of sound at least.",
    parameters: &[],
    read: |_| Ok(Boundary::Extrapolation),
};

/// Mach number of a flow back in from which the boundary is a wall.
pub(super) const SHUT: f64 = 0.1;

/// How far the boundary is open to the state `w`: 1 where it flows out, 0 where it flows in at Mach 0.1 and more; and its slope by the Mach
/// number.
#[inline(always)]
pub(super) fn opening<T: Real>(mach: T) -> [T; 2] {
    let t = (T::c(1.0) + mach * T::c(1.0 / SHUT)).max(T::c(0.0)).min(T::c(1.0));
    [t * t * (T::c(3.0) - T::c(2.0) * t), T::c(6.0 / SHUT) * t * (T::c(1.0) - t)]
}

/// Mach number of the flow out through `n`.
#[inline(always)]
pub(super) fn mach_through<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> T {
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / (area * sound_speed(gas, w))
}

/// Flux out of the domain through the outward area `n`: that of the state inside. A flow back in would bring in whatever it likes, ever
/// faster: there the boundary closes, within Mach 0.1, to a wall ([`flux_wave_wall`]).
///
/// ```
/// use chromaflow_flow::bc::flux_out;
/// use chromaflow_flow::flux::flux;
/// use chromaflow_flow::gas::Gas;
/// let n = [1.0, 0.0, 0.0];
/// let leaves = [1.0, 0.2, 0.3, 0.0, 0.7];
/// assert_eq!(flux_out(Gas::AIR, &leaves, &n), flux(Gas::AIR, &leaves, &n));
/// assert_eq!(flux_out(Gas::AIR, &[1.0, -0.2, 0.3, 0.0, 0.7], &n)[0], 0.0);
/// ```
#[inline(always)]
pub fn flux_out<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let [open, _] = opening(mach_through(gas, w, n));
    let (out, wall) = (flux(gas, w, n), flux_wave_wall(gas, w, n, T::c(1.0)));
    let mut whole = [T::c(0.0); 5];
    for i in 0..5 {
        whole[i] = wall[i] + open * (out[i] - wall[i]);
    }
    whole
}

/// Derivative of [`flux_out`] by the conserved state, column-major 5 x 5.
#[inline(always)]
pub fn flux_out_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 25] {
    let mach = mach_through(gas, w, n);
    let [open, slope] = opening(mach);
    let (out, wall) = (flux(gas, w, n), flux_wave_wall(gas, w, n, T::c(1.0)));
    let by_out = flux_jacobian(gas, w, n);
    let by_wall = flux_wave_wall_jacobian(gas, w, n, T::c(1.0));
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    // V/c by density, velocity and pressure.
    let by_velocity = T::c(1.0) / (area * sound_speed(gas, w));
    let half = T::c(0.5) * mach;
    let by_primitive =
        [half / w[0], by_velocity * n[0], by_velocity * n[1], by_velocity * n[2], -half / w[4]];
    let mut block = [T::c(0.0); 25];
    for c in 0..5 {
        for r in 0..5 {
            block[c * 5 + r] = slope * (out[r] - wall[r]) * by_primitive[c];
        }
    }
    let mut whole = by_conserved(gas, w, &block);
    for i in 0..25 {
        whole[i] += by_wall[i] + open * (by_out[i] - by_wall[i]);
    }
    whole
}
