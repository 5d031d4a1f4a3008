//! How much of an update a state of compressible flow can take: pointwise.

use crate::gas::{Gas, primitive};
use crate::real::Real;

/// How much further density and pressure may rise in a step than fall.
const RISE_OVER_FALL: f64 = 5.0;

/// The share of a `change` of a positive `value` that lowers it by no more than the part `most`, and raises it by no more than `RISE_OVER_FALL` of that.
#[inline(always)]
fn allowed_share<T: Real>(value: T, change: T, most: T) -> T {
    let part = T::select(change.lt(T::c(0.0)), most, T::c(RISE_OVER_FALL) * most);
    part * value / change.abs().max(T::c(1e-30))
}

/// The share of the update `x` (subtracted from q, whose primitive variables are `w`) that changes the density by no more than the
/// part `most` of it, and the pressure as far as that is linear in x.
#[inline(always)]
pub fn linear_share<T: Real>(gas: Gas<T>, w: &[T; 5], x: &[T; 5], most: T) -> T {
    let d_rho = T::c(0.0) - x[0];
    let kinetic = T::c(0.5) * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
    let d_p = (gas.gamma - T::c(1.0)) * (w[1] * x[1] + w[2] * x[2] + w[3] * x[3] - kinetic * x[0] - x[4]);
    T::c(1.0).min(allowed_share(w[0], d_rho, most)).min(allowed_share(w[4], d_p, most))
}

/// By how much the pressure after the part `share` of an update lies above the least that is allowed, `1 - 2 most` of it before and
/// at least a twentieth: it is not linear in q.
#[inline(always)]
pub fn pressure_margin<T: Real>(gas: Gas<T>, q: &[T; 5], w: &[T; 5], x: &[T; 5], share: T, most: T) -> T {
    let mut after = *q;
    for v in 0..5 {
        after[v] -= share * x[v];
    }
    let least = (T::c(1.0) - T::c(2.0) * most).max(T::c(0.05));
    primitive(gas, &after)[4] - least * w[4]
}
