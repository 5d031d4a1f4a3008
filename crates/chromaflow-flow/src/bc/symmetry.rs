//! Planes of symmetry: to the fluxes they are inviscid walls, beyond them is the mirror image.

use super::{Boundary, Word};
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word =
    Word { name: "symmetry", text: "Plane of symmetry.", parameters: &[], read: |_| Ok(Boundary::Symmetry) };

/// The state's mirror image in a plane of this normal.
#[inline(always)]
pub fn mirrored_state<T: Real>(w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let area2 = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).max(T::c(1e-300));
    let twice = T::c(2.0) * (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / area2;
    [w[0], w[1] - twice * n[0], w[2] - twice * n[1], w[3] - twice * n[2], w[4]]
}
