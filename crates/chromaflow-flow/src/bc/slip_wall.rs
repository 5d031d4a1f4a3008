//! Inviscid walls.

use super::{Boundary, Word};
use crate::gas::Gas;
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
