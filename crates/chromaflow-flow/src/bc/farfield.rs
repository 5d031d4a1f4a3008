//! The characteristic farfield.

use super::{Boundary, Word, flux_through, flux_through_jacobian};
use crate::flux::{RoeFix, flux_roe, flux_roe_jacobians};
use crate::gas::{Gas, sound_at, sound_at_slopes, sound_speed};
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word = Word {
    name: "farfield",
    text: "Far field by characteristics.",
    parameters: &[],
    read: |_| Ok(Boundary::Farfield),
};

/// What a far field holds, nondimensional.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Farfield<T> {
    /// Primitive state of the free stream.
    pub free: [T; 5],
}

impl Farfield<f64> {
    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> Farfield<T> {
        Farfield { free: self.free.map(T::c) }
    }
}

/// Mach numbers over which what comes from inside gives way to what comes from outside: of the flow across the boundary about zero, and above
/// one.
const TURNING: f64 = 0.1;
const SONIC: f64 = 0.1;

/// t^2 (3 - 2 t) between 0 and 1, and its slope.
#[inline(always)]
fn step<T: Real>(t: T) -> [T; 2] {
    let t = t.max(T::c(0.0)).min(T::c(1.0));
    [t * t * (T::c(3.0) - T::c(2.0) * t), T::c(6.0) * t * (T::c(1.0) - t)]
}

/// What [`bc_farfield`] and its derivative have in common.
#[derive(Clone, Copy)]
struct Characteristics<T> {
    normal: [T; 3],
    /// Normal velocity and speed of sound inside and outside; at the boundary normal velocity and the mean of the speeds of sound that both gases have.
    inside: [T; 2],
    outside: [T; 2],
    at: [T; 2],
    /// Pressure at the boundary over the stream's to the power (gamma - 1)/(2 gamma), x: speeds of sound go with it.
    x: T,
    /// The pressure.
    pressure: T,
    /// Speed of sound at the stream's pressure of the gas inside.
    in_sound: T,
    /// 1 where the outgoing invariant comes from inside.
    in_plus: T,
    /// How much of the incoming one comes from inside, its slope by the Mach number, and the difference of the two.
    in_minus: [T; 2],
    by_minus: T,
    /// Speeds of sound at the stream's pressure of the gases that both run through.
    through: [T; 2],
    /// How much of entropy and tangential velocity comes from inside, and its slope by the Mach number.
    in_state: [T; 2],
    /// Density at the boundary with the entropy inside, and outside.
    density: [T; 2],
}

#[inline(always)]
fn characteristics<T: Real>(gas: Gas<T>, w: &[T; 5], free: &[T; 5], n: &[T; 3]) -> Characteristics<T> {
    let (zero, one) = (T::c(0.0), T::c(1.0));
    let inverse = one / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let g1 = gas.gamma - one;
    let ci = sound_speed(gas, w);
    let co = sound_speed(gas, free);
    let vi = w[1] * normal[0] + w[2] * normal[1] + w[3] * normal[2];
    let vo = free[1] * normal[0] + free[2] * normal[1] + free[3] * normal[2];
    let two = T::c(2.0) / g1;
    let in_plus = T::select((-vo).lt(co), one, zero);
    let plus = vo + two * co + in_plus * (vi - vo + two * (ci - co));
    let [part, slope] = step((vi / ci - one) * T::c(1.0 / SONIC));
    let by_minus = vi - vo - two * (ci - co);
    let minus = vo - two * co + part * by_minus;
    let in_sound = sound_at(gas, w, free[4]);
    let through = [co + in_plus * (in_sound - co), co + part * (in_sound - co)];
    let x = ((plus - minus) / (two * (through[0] + through[1]))).max(T::c(1e-3));
    let vb = T::c(0.5) * (plus + minus - two * (through[0] - through[1]) * x);
    let cb = T::c(0.5) * (through[0] + through[1]) * x;
    let compression = x.powf(two);
    let pressure = free[4] * compression.powf(gas.gamma);
    let turned = step(T::c(0.5) + vb / cb * T::c(0.5 / TURNING));
    Characteristics {
        normal,
        inside: [vi, ci],
        outside: [vo, co],
        at: [vb, cb],
        x,
        pressure,
        in_sound,
        in_plus,
        in_minus: [part, slope * T::c(1.0 / SONIC)],
        by_minus,
        through,
        in_state: [turned[0], turned[1] * T::c(0.5 / TURNING)],
        // At the stream's pressure gas has gamma p/c^2.
        density: [gas.gamma * free[4] / (in_sound * in_sound) * compression, free[0] * compression],
    }
}

/// Boundary state between the interior `w` and the free stream `free`, by one-dimensional characteristics along the
/// outward normal.
///
/// The invariant V + 2c/(gamma - 1) comes from inside unless the stream enters at supersonic speed, V - 2c/(gamma - 1)
/// from outside unless the flow leaves at supersonic speed; entropy p/rho^gamma and tangential velocity come from where
/// the boundary's flow comes. Each invariant's wave runs through the gas of its own side, whose c is that of its entropy at the boundary's pressure: both gases
/// have pressure and velocity in common, but no temperature (hot gas would otherwise leave as if it were a wave). Where the one or the other gives way there is no jump: between Mach 1 and 1.1 of the flow that
/// leaves, and within Mach 0.1 of a flow along the boundary, both sides have a part. Behind a shock, whose entropy is not the
/// stream's, a steady state could otherwise lie on neither side.
///
/// **Source**: Whitfield & Janus 1984 in the form of FUN3D's Riemann farfield; Blazek, CFD: Principles and Applications, 8.3; two rarefactions with a
/// contact between them, Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, 9.4.1; the transitions are ours.
///
/// ```
/// use chromaflow_flow::bc::bc_farfield;
/// use chromaflow_flow::config::Freestream;
/// use chromaflow_flow::gas::Gas;
/// let free = Freestream { mach: 0.8, alpha_deg: 1.25, ..Default::default() }.primitive(Gas::AIR, 2);
/// let wb = bc_farfield(Gas::AIR, &free, &free, &[0.3, -0.2, 0.1]);
/// assert!((0..5).all(|i| (wb[i] - free[i]).abs() < 1e-15));
/// ```
#[inline(always)]
pub fn bc_farfield<T: Real>(gas: Gas<T>, w: &[T; 5], free: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let x = characteristics(gas, w, free, n);
    let vb = x.at[0];
    let own = x.in_state[0];
    let rho = x.density[1] + own * (x.density[0] - x.density[1]);
    let mut state = [rho, vb * x.normal[0], vb * x.normal[1], vb * x.normal[2], x.pressure];
    for k in 0..3 {
        let outside = free[1 + k] - x.outside[0] * x.normal[k];
        let inside = w[1 + k] - x.inside[0] * x.normal[k];
        state[1 + k] = state[1 + k] + outside + own * (inside - outside);
    }
    state
}

/// d(boundary state)/d(interior state) of [`bc_farfield`], primitive by primitive, column-major 5 x 5.
#[inline(always)]
pub fn bc_farfield_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], free: &[T; 5], n: &[T; 3]) -> [T; 25] {
    let (zero, one) = (T::c(0.0), T::c(1.0));
    let g1 = gas.gamma - one;
    let two = T::c(2.0) / g1;
    let x = characteristics(gas, w, free, n);
    let [vi, ci] = x.inside;
    let [vb, cb] = x.at;
    let normal = x.normal;
    let [own, turning] = x.in_state;
    let [log_by_rho, log_by_p] = sound_at_slopes(gas, w);
    let mut block = [zero; 25];
    for c in 0..5 {
        // Derivatives of the interior's own values by its component c.
        let d_vi = if c == 1 {
            normal[0]
        } else if c == 2 {
            normal[1]
        } else if c == 3 {
            normal[2]
        } else {
            zero
        };
        let d_ci = if c == 0 {
            -T::c(0.5) * ci / w[0]
        } else if c == 4 {
            T::c(0.5) * ci / w[4]
        } else {
            zero
        };
        // Of the logarithm of the speed of sound that the gas inside has at the stream's pressure: its entropy's.
        let d_log = if c == 0 {
            log_by_rho
        } else if c == 4 {
            log_by_p
        } else {
            zero
        };
        let d_plus = x.in_plus * (d_vi + two * d_ci);
        let d_part = x.in_minus[1] * (d_vi - vi / ci * d_ci) / ci;
        let d_minus = x.in_minus[0] * (d_vi - two * d_ci) + d_part * x.by_minus;
        let d_sound = x.in_sound * d_log;
        let d_through = [x.in_plus * d_sound, x.in_minus[0] * d_sound + d_part * (x.in_sound - x.outside[1])];
        let sum = x.through[0] + x.through[1];
        let d_x = (d_plus - d_minus) / (two * sum) - x.x * (d_through[0] + d_through[1]) / sum;
        let apart = (d_through[0] - d_through[1]) * x.x + (x.through[0] - x.through[1]) * d_x;
        let d_vb = T::c(0.5) * (d_plus + d_minus - two * apart);
        let d_cb = T::c(0.5) * ((d_through[0] + d_through[1]) * x.x + sum * d_x);
        let d_own = turning * (d_vb - vb / cb * d_cb) / cb;
        // rho ~ x^(2/(gamma-1)), p ~ rho^gamma.
        let d_log_rho = two * d_x / x.x;
        let d_inside = x.density[0] * (d_log_rho - T::c(2.0) * d_log);
        let d_outside = x.density[1] * d_log_rho;
        let d_rhob = d_outside + own * (d_inside - d_outside) + d_own * (x.density[0] - x.density[1]);
        block[c * 5] = d_rhob;
        for k in 0..3 {
            let outside = free[1 + k] - x.outside[0] * normal[k];
            let inside = w[1 + k] - vi * normal[k];
            let d_velocity = if c == k + 1 { one } else { zero };
            let d_inside = d_velocity - d_vi * normal[k];
            block[c * 5 + 1 + k] = d_vb * normal[k] + own * d_inside + d_own * (inside - outside);
        }
        block[c * 5 + 4] = x.pressure * gas.gamma * d_log_rho;
    }
    block
}

/// Entropy fix of the wave that leaves against a supersonic stream.
const LEAVING: f64 = 0.05;

/// In the scalar of `gas`, by which C++ finds it.
#[inline(always)]
fn leaving_fix<T: Real>(_gas: Gas<T>) -> RoeFix<T> {
    RoeFix { acoustic: T::c(LEAVING), convective: T::c(0.0), cutoff_mach: T::c(1.0), dissipation: T::c(1.0) }
}

/// (V + c) times the area of `n`, of the stream: negative where it enters at supersonic speed.
#[inline(always)]
fn beyond_entering<T: Real>(gas: Gas<T>, free: &[T; 5], n: &[T; 3]) -> T {
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    free[1] * n[0] + free[2] * n[1] + free[3] * n[2] + sound_speed(gas, free) * area
}

/// Flux out of the domain through a far field of outward area `n`: that of [`bc_farfield`]'s state; where the stream enters at supersonic
/// speed Roe's flux between the inside and the stream.
///
/// A supersonic stream prescribes everything, as long as no wave gets past the boundary. A shock that runs upstream, before a channel
/// that chokes or a body too near the boundary, does: with all fluxes prescribed it stands there, more enters than the channel can take,
/// and no steady state is left. Roe's flux is the stream's as long as the shock is held, exactly where it stands still, and lets out what
/// is too much once it leaves.
///
/// ```
/// use chromaflow_flow::bc::flux_farfield;
/// use chromaflow_flow::flux::flux;
/// use chromaflow_flow::gas::Gas;
/// let (free, n) = ([1.0, 2.0, 0.0, 0.0, 1.0 / 1.4], [-1.0, 0.0, 0.0]);
/// let stream = flux(Gas::AIR, &free, &n);
/// // Slower and faster flow inside, no shock: the stream's flux.
/// let inside = flux_farfield(Gas::AIR, &[1.1, 1.8, 0.1, 0.0, 0.8], &free, &n);
/// assert!((0..5).all(|i| (inside[i] - stream[i]).abs() < 1e-13));
/// // Behind a normal shock that is stronger than one that stands: less enters.
/// let spilled = flux_farfield(Gas::AIR, &[3.0, 0.5, 0.0, 0.0, 4.5], &free, &n);
/// assert!(spilled[0] > stream[0] + 0.1);
/// ```
#[inline(always)]
pub fn flux_farfield<T: Real>(gas: Gas<T>, w: &[T; 5], free: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let entering = beyond_entering(gas, free, n).lt(T::c(0.0));
    let across = flux_roe(gas, w, free, n, leaving_fix(gas));
    let mut out = flux_through(gas, &bc_farfield(gas, w, free, n), n);
    for i in 0..5 {
        out[i] = T::select(entering, across[i], out[i]);
    }
    out
}

/// Derivative of [`flux_farfield`] by the interior conserved state, column-major 5 x 5; that of Roe's flux with |A| held fixed.
#[inline(always)]
pub fn flux_farfield_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], free: &[T; 5], n: &[T; 3]) -> [T; 25] {
    let entering = beyond_entering(gas, free, n).lt(T::c(0.0));
    let (across, _) = flux_roe_jacobians(gas, w, free, n, leaving_fix(gas));
    let wb = bc_farfield(gas, w, free, n);
    let mut out = flux_through_jacobian(gas, w, &wb, &bc_farfield_jacobian(gas, w, free, n), n);
    for i in 0..25 {
        out[i] = T::select(entering, across[i], out[i]);
    }
    out
}
