//! Viscous walls at rest.

use super::{Boundary, Parameter, Word};
use crate::gas::{Gas, temperature};
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word = Word {
    name: "no_slip",
    text: "Viscous wall: adiabatic, or isothermal where a `temperature` is given.",
    parameters: &[Parameter::number(
        "temperature",
        "wall temperature over the free stream's static temperature.",
    )],
    read: |given| {
        Ok(if given.has("temperature") {
            Boundary::NoSlipIsothermal { temperature: given.ratio("temperature")? }
        } else {
            Boundary::NoSlipAdiabatic
        })
    },
};

/// What a wall at rest does with heat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum WallHeat {
    /// No heat passes.
    Adiabatic,
    /// The wall has a given temperature.
    Isothermal,
}

/// A no-slip wall in the strong form: which rows of a wall node's equations are replaced, and by what.
///
/// * momentum rows become rho u = 0;
/// * on isothermal walls the energy row becomes E - rho T / (gamma (gamma - 1)) = 0, the internal energy at the wall's
///   temperature `T` (over the free stream's).
///
/// The mass row stays (nothing passes the wall), and so does the energy row of adiabatic walls (no heat passes).
/// Gives the residual with those rows replaced: `residual` is the sum of fluxes, `q` the node's conserved state.
///
/// ```
/// use chromaflow_flow::bc::{WallHeat, strong_wall_residual};
/// use chromaflow_flow::gas::Gas;
/// let q = [1.0, 0.0, 0.0, 0.1, 2.0];
/// let r = strong_wall_residual(Gas::AIR, WallHeat::Adiabatic, &q, 1.0, &[0.5; 5]);
/// assert_eq!(r, [0.5, 0.0, 0.0, 0.1, 0.5]);
/// ```
#[inline(always)]
pub fn strong_wall_residual<T: Real>(
    gas: Gas<T>,
    heat: WallHeat,
    q: &[T; 5],
    temperature: T,
    residual: &[T; 5],
) -> [T; 5] {
    let mut out = [residual[0], q[1], q[2], q[3], residual[4]];
    if heat == WallHeat::Isothermal {
        out[4] = q[4] - q[0] * temperature / (gas.gamma * (gas.gamma - T::c(1.0)));
    }
    out
}

/// The diagonal block that belongs to [`strong_wall_residual`]: its replaced rows' derivatives, the other rows from
/// `block`. Column-major 5 x 5. Put it in after the pseudo-time term.
#[inline(always)]
pub fn strong_wall_diagonal<T: Real>(
    gas: Gas<T>,
    heat: WallHeat,
    temperature: T,
    block: &[T; 25],
) -> [T; 25] {
    let mut out = strong_wall_off_diagonal(heat, block);
    for k in 1..4 {
        out[k * 6] = T::c(1.0);
    }
    if heat == WallHeat::Isothermal {
        out[4] = -temperature / (gas.gamma * (gas.gamma - T::c(1.0)));
        out[24] = T::c(1.0);
    }
    out
}

/// An off-diagonal block of a row that [`strong_wall_residual`] changed: its replaced rows are zero.
#[inline(always)]
pub fn strong_wall_off_diagonal<T: Real>(heat: WallHeat, block: &[T; 25]) -> [T; 25] {
    let mut out = *block;
    for c in 0..5 {
        for k in 1..4 {
            out[c * 5 + k] = T::c(0.0);
        }
        if heat == WallHeat::Isothermal {
            out[c * 5 + 4] = T::c(0.0);
        }
    }
    out
}

/// The primitive state of a wall node from its own: at rest, and on isothermal walls at the wall's temperature (with
/// the node's density).
#[inline(always)]
pub fn strong_wall_state<T: Real>(gas: Gas<T>, heat: WallHeat, w: &[T; 5], temperature: T) -> [T; 5] {
    let zero = T::c(0.0);
    if heat == WallHeat::Isothermal {
        return [w[0], zero, zero, zero, w[0] * temperature / gas.gamma];
    }
    [w[0], zero, zero, zero, w[4]]
}

/// Beyond an adiabatic wall without slip.
#[inline(always)]
pub fn ghost_no_slip<T: Real>(w: &[T; 5]) -> [T; 5] {
    [w[0], -w[1], -w[2], -w[3], w[4]]
}

/// Beyond a wall of temperature `wall` (over the free stream's) without slip: the mean temperature is the wall's, as far as
/// a factor of two goes.
#[inline(always)]
pub fn ghost_isothermal<T: Real>(gas: Gas<T>, w: &[T; 5], wall: T) -> [T; 5] {
    let t = temperature(gas, w);
    let ghost = (T::c(2.0) * wall - t).max(T::c(0.5) * t).min(T::c(2.0) * t);
    [gas.gamma * w[4] / ghost, -w[1], -w[2], -w[3], w[4]]
}
