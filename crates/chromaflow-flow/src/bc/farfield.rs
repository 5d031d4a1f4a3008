//! The characteristic farfield.

use super::{Boundary, Word};
use crate::gas::{Gas, sound_speed};
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

/// Boundary state between the interior `w` and the free stream `free`, by one-dimensional characteristics along the
/// outward normal.
///
/// The invariant V + 2c/(gamma - 1) comes from inside unless the stream enters at supersonic speed, V - 2c/(gamma - 1)
/// from outside unless the flow leaves at supersonic speed; entropy p/rho^gamma and tangential velocity come from where
/// the boundary's flow comes.
///
/// **Source**: Whitfield & Janus 1984 in the form of FUN3D's Riemann farfield; Blazek, CFD: Principles and Applications, 8.3.
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
    let inverse = T::c(1.0) / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let g1 = gas.gamma - T::c(1.0);
    let ci = sound_speed(gas, w);
    let co = sound_speed(gas, free);
    let vi = w[1] * normal[0] + w[2] * normal[1] + w[3] * normal[2];
    let vo = free[1] * normal[0] + free[2] * normal[1] + free[3] * normal[2];
    let two = T::c(2.0) / g1;
    // Outgoing and incoming invariants, each taken from the other side when supersonic.
    let plus = T::select((-vo).lt(co), vi + two * ci, vo + two * co);
    let minus = T::select(vi.lt(ci), vo - two * co, vi - two * ci);
    let vb = T::c(0.5) * (plus + minus);
    let cb = T::c(0.25) * g1 * (plus - minus);
    let out = vb.gt(T::c(0.0));
    // From the upstream side: velocity, its normal part, and the entropy as rho / (c^2)^(1/(gamma-1)).
    let vu = T::select(out, vi, vo);
    let cu = T::select(out, ci, co);
    let rho = T::select(out, w[0], free[0]) * (cb * cb / (cu * cu)).powf(T::c(1.0) / g1);
    let change = vb - vu;
    [
        rho,
        T::select(out, w[1], free[1]) + change * normal[0],
        T::select(out, w[2], free[2]) + change * normal[1],
        T::select(out, w[3], free[3]) + change * normal[2],
        rho * cb * cb / gas.gamma,
    ]
}

/// d(boundary state)/d(interior state) of [`bc_farfield`], primitive by primitive, column-major 5 x 5.
#[inline(always)]
pub fn bc_farfield_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], free: &[T; 5], n: &[T; 3]) -> [T; 25] {
    let zero = T::c(0.0);
    let one = T::c(1.0);
    let inverse = one / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let g1 = gas.gamma - one;
    let ci = sound_speed(gas, w);
    let co = sound_speed(gas, free);
    let vi = w[1] * normal[0] + w[2] * normal[1] + w[3] * normal[2];
    let vo = free[1] * normal[0] + free[2] * normal[1] + free[3] * normal[2];
    let two = T::c(2.0) / g1;
    let subsonic_in = (-vo).lt(co);
    let subsonic_out = vi.lt(ci);
    let plus = T::select(subsonic_in, vi + two * ci, vo + two * co);
    let minus = T::select(subsonic_out, vo - two * co, vi - two * ci);
    let vb = T::c(0.5) * (plus + minus);
    let cb = T::c(0.25) * g1 * (plus - minus);
    let out = vb.gt(zero);
    let cu = T::select(out, ci, co);
    let rho = T::select(out, w[0], free[0]) * (cb * cb / (cu * cu)).powf(one / g1);
    // How much of the interior is in each: 1 or 0.
    let in_plus = T::select(subsonic_in, one, zero);
    let in_minus = T::select(subsonic_out, zero, one);
    let in_state = T::select(out, one, zero);
    let mut block = [zero; 25];
    for c in 0..5 {
        // Derivatives of the interior's own values by its component c.
        let d_rho = if c == 0 { one } else { zero };
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
        let d_plus = in_plus * (d_vi + two * d_ci);
        let d_minus = in_minus * (d_vi - two * d_ci);
        let d_vb = T::c(0.5) * (d_plus + d_minus);
        let d_cb = T::c(0.25) * g1 * (d_plus - d_minus);
        // Logarithmic derivative of the density.
        let d_rhob = rho * (in_state * (d_rho / w[0] - two * d_ci / ci) + two * d_cb / cb);
        let change = d_vb - in_state * d_vi;
        block[c * 5] = d_rhob;
        for k in 0..3 {
            let own = if c == k + 1 { in_state } else { zero };
            block[c * 5 + 1 + k] = own + change * normal[k];
        }
        block[c * 5 + 4] = (d_rhob * cb * cb + T::c(2.0) * rho * cb * d_cb) / gas.gamma;
    }
    block
}
