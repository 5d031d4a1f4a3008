//! How much of an update a state of compressible flow can take: pointwise.

use crate::gas::{Gas, primitive};
use crate::real::Real;

/// The share of a `change` of a positive `value` that lowers it by no more than the part `fall`, and raises it by no more than the part `rise`.
#[inline(always)]
fn allowed_share<T: Real>(value: T, change: T, fall: T, rise: T) -> T {
    T::select(change.lt(T::c(0.0)), fall, rise) * value / change.abs().max(T::c(1e-30))
}

/// The share of the update `x` (subtracted from q, whose primitive variables are `w`) by which density and, as far as that is linear
/// in x, pressure fall by no more than the part `most` and rise by no more than that, at the speed of sound and below, or than the part
/// `rise`, from a square of the Mach number of 2 on: a bow shock on its way to its place is made of rises of the flow before it.
#[inline(always)]
pub fn linear_share<T: Real>(gas: Gas<T>, w: &[T; 5], x: &[T; 5], most: T, rise: T) -> T {
    let d_rho = T::c(0.0) - x[0];
    let kinetic = T::c(0.5) * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
    let d_p = (gas.gamma - T::c(1.0)) * (w[1] * x[1] + w[2] * x[2] + w[3] * x[3] - kinetic * x[0] - x[4]);
    let mach2 = T::c(2.0) * kinetic * w[0] / (gas.gamma * w[4]);
    let supersonic = (mach2 - T::c(1.0)).max(T::c(0.0)).min(T::c(1.0));
    let rise = most + supersonic * (rise - most);
    T::c(1.0).min(allowed_share(w[0], d_rho, most, rise)).min(allowed_share(w[4], d_p, most, rise))
}

/// The share of the update `x` (subtracted from q, whose primitive variables are `w`) by which the velocity changes by no more than the part `most`
/// of the speed of sound and its own size.
///
/// What a step finds for gas that is to leave a sharp edge may be a velocity of many times that of sound at the pressure that it has: a state
/// which density and pressure let pass, and which takes long to go.
#[inline(always)]
pub fn velocity_share<T: Real>(gas: Gas<T>, w: &[T; 5], x: &[T; 5], most: T) -> T {
    let mut change2 = T::c(0.0);
    for d in 1..4 {
        let change = (w[d] * x[0] - x[d]) / w[0];
        change2 += change * change;
    }
    let speed = (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]).sqrt() + (gas.gamma * w[4] / w[0]).sqrt();
    T::c(1.0).min(most * speed / change2.sqrt().max(T::c(1e-30)))
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

/// The share of the CFL number that a node takes in the next step, after it took the part `taken` of an update: as much less of its share `before`, at
/// the least three tenths of it and a thousandth in all; where it took the whole update twice as much, up to the whole.
///
/// A few nodes, such as those of sharp edges behind which a flow has just begun, would hold the CFL number of all down: what
/// they cannot take is theirs to wait for.
///
/// **Source**: a CFL number of each node, adapted by the relaxation of its update, as in SU2 since version 7 (`CFL_ADAPT`).
#[inline(always)]
pub fn next_cfl_share<T: Real>(before: T, taken: T) -> T {
    let less = before * taken.max(T::c(0.3));
    let more = (T::c(2.0) * before).min(T::c(1.0));
    T::select(taken.lt(T::c(1.0)), less, more).max(T::c(1e-3))
}

#[cfg(test)]
mod tests {
    use super::{next_cfl_share, velocity_share};
    use crate::gas::Gas;

    /// At rest a change of the velocity by 3 a is cut to a half of a, at Mach 1 along or across it to a whole; changes of density alone leave
    /// velocities as they are.
    #[test]
    fn velocities_change_by_a_part_of_themselves_and_of_sound() {
        let state = |mach: f64| [2.0, mach, 0.0, 0.0, 2.0 / 1.4];
        let share = |mach, x: [f64; 5]| velocity_share(Gas::AIR, &state(mach), &x, 0.5);
        for (mach, expected) in [(0.0, 0.5 / 3.0), (1.0, 1.0 / 3.0)] {
            for direction in 1..4 {
                let mut x = [0.0; 5];
                x[direction] = 6.0;
                assert!((share(mach, x) - expected).abs() < 1e-15);
            }
            assert_eq!(share(mach, [1.0, mach, 0.0, 0.0, 0.0]), 1.0);
        }
    }

    #[test]
    fn nodes_that_are_cut_take_less_and_get_back() {
        let mut share = 1.0;
        for expected in [0.5, 0.25] {
            share = next_cfl_share(share, 0.5);
            assert_eq!(share, expected);
        }
        assert_eq!(next_cfl_share(share, 1e-9), 0.3 * share, "no less than three tenths at once");
        for expected in [0.5, 1.0, 1.0] {
            share = next_cfl_share(share, 1.0);
            assert_eq!(share, expected);
        }
        let least = (0..100).fold(1.0, |share, _| next_cfl_share(share, 0.0));
        assert_eq!(least, 1e-3);
    }
}
