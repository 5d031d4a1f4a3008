//! The shortest way between neighbors where a mesh repeats.

use crate::real::Real;

/// `dx` between two neighbors, less the period `step` that is in it where one of them stands for its image: `across` is the vector with
/// across . step = 1 that is normal to all other periods. Neighbors lie closer than half a period, so that beyond it there is an image.
#[inline(always)]
pub fn nearest_image<T: Real>(dx: &[T; 3], step: &[T; 3], across: &[T; 3]) -> [T; 3] {
    let part = dx[0] * across[0] + dx[1] * across[1] + dx[2] * across[2];
    let back = T::select(part.lt(T::c(-0.5)), T::c(-1.0), T::c(0.0));
    let whole = T::select(part.gt(T::c(0.5)), T::c(1.0), back);
    [dx[0] - whole * step[0], dx[1] - whole * step[1], dx[2] - whole * step[2]]
}
