//! Node-wise limiters.

use crate::real::Real;

/// The rise (or fall) that limiters compare with: from `value` to the largest neighbor where the reconstruction rises,
/// `slope > 0`, else to the smallest.
#[inline(always)]
pub fn rise<T: Real>(value: T, smallest: T, largest: T, slope: T) -> T {
    T::select(slope.gt(T::c(0.0)), largest, smallest) - value
}

/// Barth & Jespersen's limiter, min(1, allowed/slope): `slope` is the unlimited change from the node to the face,
/// `allowed` the change of the same sign to the extreme neighbor, see [`rise`].
///
/// Not differentiable where it sets in: steady iterations ring.
///
/// **Source**: Barth & Jespersen 1989.
#[inline(always)]
pub fn limiter_barth<T: Real>(allowed: T, slope: T) -> T {
    let flat = slope.abs().lt(T::c(1e-30));
    let ratio = allowed / T::select(flat, T::c(1.0), slope);
    T::select(flat, T::c(1.0), ratio.min(T::c(1.0)).max(T::c(0.0)))
}

/// Venkatakrishnan's limiter,
/// (a^2 + 2 a d + eps2) / (a^2 + a d + 2 d^2 + eps2), a = `allowed`, d = `slope` as in [`limiter_barth`].
///
/// `eps2` is (K h)^3 with h the mesh width in the scaled variable's units in the paper; here, much as Wang has it,
/// (K (largest change that the stream allows))^2: changes well below its root are not limited. Slightly above 1 (1.1 at
/// most) where a > 2d: take a node's smallest of 1 and its edges'.
///
/// **Source**: Venkatakrishnan 1995, eq. 21; Wang 2000 for the second eps2.
///
/// ```
/// use chromaflow_flow::limiter::limiter_venkatakrishnan;
/// assert!(limiter_venkatakrishnan(0.0, 1.0, 0.0) < 1e-29);
/// assert!(limiter_venkatakrishnan(0.0, 1e-4, 1e-2) > 0.999_99);
/// ```
#[inline(always)]
pub fn limiter_venkatakrishnan<T: Real>(allowed: T, slope: T, eps2: T) -> T {
    let eps2 = eps2.max(T::c(1e-30));
    let top = allowed * allowed + T::c(2.0) * allowed * slope + eps2;
    top / (allowed * allowed + allowed * slope + T::c(2.0) * slope * slope + eps2)
}

/// Michalak & Ollivier-Gooch's limiter: a cubic y + b y^2 + a y^3 in y = `allowed`/`slope` that reaches 1 with zero slope at
/// y = 1.5, switched off smoothly where the neighborhood's whole range falls below eps: fully active from
/// range^2 = 2 eps2, off below eps2.
///
/// Unlike Venkatakrishnan's it is 1 in smooth monotone regions.
///
/// **Source**: Michalak & Ollivier-Gooch 2009, eqs. 13-18 (yt = 1.5).
#[inline(always)]
pub fn limiter_michalak<T: Real>(allowed: T, slope: T, range: T, eps2: T) -> T {
    let one = T::c(1.0);
    let flat = slope.abs().lt(T::c(1e-30));
    let ratio = (allowed / T::select(flat, one, slope)).max(T::c(0.0)).min(T::c(1.5));
    let y = T::select(flat, T::c(1.5), ratio);
    let cubic = y * (one + y * (T::c(-4.0 / 27.0) * y));
    let eps2 = eps2.max(T::c(1e-30));
    let s = (range * range / eps2 - one).max(T::c(0.0)).min(one);
    let off = one + s * s * (T::c(2.0) * s - T::c(3.0));
    off + (one - off) * cubic
}
