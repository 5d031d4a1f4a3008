//! Energy that goes with mass.

use crate::gas::{Gas, sound_speed, total_enthalpy};
use crate::real::Real;

/// The sum of [`pressure_jump`](super::pressure_jump) at which half of the energy goes with mass, that of two pressures that differ by 0.18 of their sum.
const HALF_AT_JUMPS: f64 = 0.001;

/// The jump of pressure over the sum of both at which half of that is given up in a shock.
const SHOCK: f64 = 0.3;

/// The part of the mean of both sides' rho c below which a flux of mass counts as none.
const STILL: f64 = 0.005;

/// The flux of energy between two nodes beside which pressure jumps, `a` and `b` the sums of [`pressure_jump`](super::pressure_jump) over their neighbors: with
/// the weight s / (s + 0.001), s = a + b, it goes with the mass, m (ha + hb) / 2 - |m| (hb - ha) / 2, with h the nodes' total enthalpies; the rest is
/// the flux's own.
///
/// In steady flow without heat total enthalpy is the same all over, and energy that goes with mass keeps that, whatever mass flows. A flux between two states does so
/// as far as these do; but states are extrapolated to the face variable by variable, and where neighbors differ by orders, behind the edges of bases and
/// steps, their total enthalpy is no longer the nodes': gas beside such an edge came to three times the stream's total temperature in converged flow.
///
/// Through a shock, along the flow from the lower to the higher pressure at more than the speed of sound, the flux's own energy is kept: the weight is
/// divided by 1 + (y / 0.3)^2, y = M^4 / (1 + M^4) (p1 - p0) / (p1 + p0), M the Mach number of the flux of mass before it. Bow shocks at Mach 20 swing
/// otherwise. |m| is rounded off, sqrt(m^2 + (0.005 rho c)^2).
///
/// `f`: a flux from a to b through `n`; `wa`, `wb`: states of the nodes.
///
/// **Source**: Haenel, Schwane & Seider, AIAA 1987-1105 (energy that goes with mass); weights are ours.
///
/// ```
/// use chromaflow_flow::flux::energy_with_mass;
/// use chromaflow_flow::gas::{Gas, total_enthalpy};
/// // Dead water beside faster and colder gas of the same total enthalpy, 2.5.
/// let (wa, wb) = ([1.0, 2.0, 0.0, 0.0, 0.2 / 1.4], [0.1, 0.0, 0.0, 0.0, 0.1 / 1.4]);
/// assert!([&wa, &wb].iter().all(|w| (total_enthalpy(Gas::AIR, w) - 2.5_f64).abs() < 1e-14));
/// let (f, n) = ([0.3, 0.0, 0.0, 0.0, 7.0], [0.0, 1.0, 0.0]);
/// assert_eq!(energy_with_mass(Gas::AIR, &f, &wa, &wb, &n, 0.0, 0.0), 7.0);
/// assert!((energy_with_mass(Gas::AIR, &f, &wa, &wb, &n, 1e9, 0.0) - 0.3 * 2.5).abs() < 1e-9);
/// ```
#[inline(always)]
pub fn energy_with_mass<T: Real>(
    gas: Gas<T>,
    f: &[T; 5],
    wa: &[T; 5],
    wb: &[T; 5],
    n: &[T; 3],
    a: T,
    b: T,
) -> T {
    let (one, half, least) = (T::c(1.0), T::c(0.5), T::c(1e-300));
    let area2 = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    // rho c of both.
    let (ra, rb) = (wa[0] * sound_speed(gas, wa), wb[0] * sound_speed(gas, wb));
    let still = T::c(STILL) * half * (ra + rb);
    let moved = (f[0] * f[0] + still * still * area2).sqrt().max(least);
    let (ha, hb) = (total_enthalpy(gas, wa), total_enthalpy(gas, wb));
    let with_mass = half * (f[0] * (ha + hb) - moved * (hb - ha));
    let before = T::select(wa[4].lt(wb[4]), ra, rb);
    let mach2 = f[0] * f[0] / (before * before * area2).max(least);
    let supersonic = mach2 * mach2 / (one + mach2 * mach2);
    let rise = (f[0] / moved * (wb[4] - wa[4]) / (wa[4] + wb[4])).max(T::c(0.0));
    let shock = supersonic * rise * T::c(1.0 / SHOCK);
    let s = a + b;
    let weight = s / ((s + T::c(HALF_AT_JUMPS)) * (one + shock * shock));
    f[4] + weight * (with_mass - f[4])
}
