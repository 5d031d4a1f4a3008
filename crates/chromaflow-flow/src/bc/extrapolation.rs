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

/// Speed of sound over that of the state inside where entropy and outgoing invariant lead to V = c: the lowest that a back pressure can reach.
#[inline(always)]
fn choked<T: Real>(gas: Gas<T>, mach: T) -> T {
    (((gas.gamma - T::c(1.0)) * mach + T::c(2.0)) / (gas.gamma + T::c(1.0))).max(T::c(1e-6))
}

/// What leaves against the static pressure `back` (the free stream's is 1/gamma): entropy, tangential velocity and the
/// outgoing invariant V + 2c/(gamma-1) come from inside; everything does where the flow leaves at supersonic speed. A pressure below
/// that at which it leaves at the speed of sound is not felt.
#[inline(always)]
pub(super) fn leaving<T: Real>(gas: Gas<T>, w: &[T; 5], back: T, n: &[T; 3]) -> [T; 5] {
    let one = T::c(1.0);
    let inverse = one / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let v = w[1] * normal[0] + w[2] * normal[1] + w[3] * normal[2];
    let c = sound_speed(gas, w);
    let rho = w[0] * (back / w[4]).powf(one / gas.gamma);
    let cb = (gas.gamma * back / rho).sqrt();
    let change = T::c(2.0) / (gas.gamma - one) * (c - cb);
    let ratio = choked(gas, v / c);
    let chokes = (ratio * c).ge(cb);
    let fall = ratio.powf(T::c(2.0) / (gas.gamma - one));
    let change = T::select(chokes, T::c(2.0) / (gas.gamma - one) * (c - ratio * c), change);
    let subsonic = [
        T::select(chokes, w[0] * fall, rho),
        w[1] + change * normal[0],
        w[2] + change * normal[1],
        w[3] + change * normal[2],
        T::select(chokes, w[4] * fall * ratio * ratio, back),
    ];
    let leaves = v.ge(c);
    let mut wb = [T::c(0.0); 5];
    for i in 0..5 {
        wb[i] = T::select(leaves, w[i], subsonic[i]);
    }
    wb
}

/// d(boundary state)/d(interior state) of [`leaving`], primitive by primitive, column-major 5 x 5.
#[inline(always)]
pub(super) fn leaving_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], back: T, n: &[T; 3]) -> [T; 25] {
    let zero = T::c(0.0);
    let one = T::c(1.0);
    let inverse = one / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let v = w[1] * normal[0] + w[2] * normal[1] + w[3] * normal[2];
    let c = sound_speed(gas, w);
    let x = (back / w[4]).powf(one / gas.gamma);
    let rho = w[0] * x;
    let cb = (gas.gamma * back / rho).sqrt();
    let k = one / (gas.gamma - one);
    // dc/c = (dp/p - drho/rho)/2 inside; at the boundary -drhob/(2 rhob), drhob/rhob = drho/rho - dp/(gamma p).
    let change_by_rho = k * (cb - c) / w[0];
    let change_by_p = k * (c - cb / gas.gamma) / w[4];
    let mut block = [zero; 25];
    block[0] = x;
    block[20] = -rho / (gas.gamma * w[4]);
    for i in 0..3 {
        block[1 + i] = change_by_rho * normal[i];
        block[21 + i] = change_by_p * normal[i];
        block[6 * i + 6] = one;
    }
    // At supersonic speed the identity.
    let (leaves, chokes) = (v.ge(c), (choked(gas, v / c) * c).ge(cb));
    let at_sound = choked_jacobian(gas, w, v, &normal);
    let mut whole = [zero; 25];
    for i in 0..5 {
        whole[6 * i] = one;
    }
    for i in 0..25 {
        block[i] = T::select(leaves, whole[i], T::select(chokes, at_sound[i], block[i]));
    }
    block
}

/// The same where the flow leaves at the speed of sound: densities and pressures by powers of the ratio of [`choked`], the velocity with
/// 2 / (gamma + 1) (c - V) more.
#[inline(always)]
fn choked_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], v: T, normal: &[T; 3]) -> [T; 25] {
    let one = T::c(1.0);
    let c = sound_speed(gas, w);
    let ratio = choked(gas, v / c);
    let k = T::c(2.0) / (gas.gamma - one);
    let fall = ratio.powf(k);
    let slope = (gas.gamma - one) / (gas.gamma + one);
    let (rho_by, p_by) = (k * slope * w[0] * fall / ratio, k * gas.gamma * slope * w[4] * fall * ratio);
    // d(V/c) = dV/c + M/2 (drho/rho - dp/p); dc = c/2 (dp/p - drho/rho).
    let (half, sonic) = (T::c(0.5) * v / c, T::c(2.0) / (gas.gamma + one));
    let mut block = [T::c(0.0); 25];
    block[0] = fall + rho_by * half / w[0];
    block[4] = p_by * half / w[0];
    block[20] = -rho_by * half / w[4];
    block[24] = fall * ratio * ratio - p_by * half / w[4];
    for i in 0..3 {
        block[1 + i] = -T::c(0.5) * sonic * c / w[0] * normal[i];
        block[21 + i] = T::c(0.5) * sonic * c / w[4] * normal[i];
        block[5 * i + 5] = rho_by / c * normal[i];
        block[5 * i + 9] = p_by / c * normal[i];
        for j in 0..3 {
            block[5 * i + 6 + j] = -sonic * normal[i] * normal[j];
        }
        block[6 * i + 6] += one;
    }
    block
}
