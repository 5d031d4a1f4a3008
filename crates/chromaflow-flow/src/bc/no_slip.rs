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

/// What a wall without slip does with heat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum WallHeat {
    /// No heat passes.
    Adiabatic,
    /// The wall has a given temperature.
    Isothermal,
}

/// A wall without slip at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Wall<T> {
    /// Of isothermal walls, over the free stream's.
    pub temperature: T,
    /// Its velocity, along itself.
    pub velocity: [T; 3],
}

/// A node on a wall without slip, as kernels read arrays of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct WallNode<T> {
    /// The node's row.
    pub node: u32,
    /// What the wall does with heat there.
    pub heat: WallHeat,
    /// The wall there.
    pub wall: Wall<T>,
}

impl Wall<f64> {
    /// A wall at rest.
    pub const fn at_rest(temperature: f64) -> Self {
        Self { temperature, velocity: [0.0; 3] }
    }
}

/// Energy per density at an isothermal wall: T / (gamma (gamma - 1)) + |u|^2 / 2.
#[inline(always)]
pub fn wall_energy<T: Real>(gas: Gas<T>, wall: Wall<T>) -> T {
    let u = wall.velocity;
    wall.temperature / (gas.gamma * (gas.gamma - T::c(1.0)))
        + T::c(0.5) * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
}

/// The energy row of an adiabatic wall node from its own and from its momentum rows, `row[1..4]`: less u . momentum. What the
/// momentum rows lack to balance is the wall's force, which does work where the wall moves.
#[inline(always)]
pub fn strong_wall_energy<T: Real>(wall: Wall<T>, row: &[T; 5]) -> T {
    let u = wall.velocity;
    row[4] - (u[0] * row[1] + u[1] * row[2] + u[2] * row[3])
}

/// A no-slip wall in the strong form: which rows of a wall node's equations are replaced, and by what.
///
/// * momentum rows become rho (u - u_wall) = 0;
/// * the energy row of adiabatic walls becomes [`strong_wall_energy`]: no heat passes;
/// * on isothermal walls it becomes E - rho e = 0 with [`wall_energy`] e.
///
/// The mass row stays: nothing passes the wall. Gives the residual with those rows replaced: `residual` is the sum of
/// fluxes, `q` the node's conserved state.
///
/// ```
/// use chromaflow_flow::bc::{Wall, WallHeat, strong_wall_residual};
/// use chromaflow_flow::gas::Gas;
/// let q = [1.0, 0.0, 0.0, 0.1, 2.0];
/// let r = strong_wall_residual(Gas::AIR, WallHeat::Adiabatic, Wall::at_rest(1.0), &q, &[0.5; 5]);
/// assert_eq!(r, [0.5, 0.0, 0.0, 0.1, 0.5]);
/// ```
#[inline(always)]
pub fn strong_wall_residual<T: Real>(
    gas: Gas<T>,
    heat: WallHeat,
    wall: Wall<T>,
    q: &[T; 5],
    residual: &[T; 5],
) -> [T; 5] {
    let u = wall.velocity;
    let slip = [q[1] - q[0] * u[0], q[2] - q[0] * u[1], q[3] - q[0] * u[2]];
    if heat == WallHeat::Isothermal {
        return [residual[0], slip[0], slip[1], slip[2], q[4] - q[0] * wall_energy(gas, wall)];
    }
    [residual[0], slip[0], slip[1], slip[2], strong_wall_energy(wall, residual)]
}

/// The diagonal block that belongs to [`strong_wall_residual`]: its replaced rows' derivatives, the other rows from
/// `block`. Column-major 5 x 5. Put it in after the pseudo-time term.
#[inline(always)]
pub fn strong_wall_diagonal<T: Real>(gas: Gas<T>, heat: WallHeat, wall: Wall<T>, block: &[T; 25]) -> [T; 25] {
    let mut out = strong_wall_off_diagonal(heat, wall, block);
    for k in 0..3 {
        out[1 + k] = T::c(0.0) - wall.velocity[k];
        out[k * 6 + 6] = T::c(1.0);
    }
    if heat == WallHeat::Isothermal {
        out[4] = -wall_energy(gas, wall);
        out[24] = T::c(1.0);
    }
    out
}

/// An off-diagonal block of a row that [`strong_wall_residual`] changed.
#[inline(always)]
pub fn strong_wall_off_diagonal<T: Real>(heat: WallHeat, wall: Wall<T>, block: &[T; 25]) -> [T; 25] {
    let mut out = *block;
    for c in 0..5 {
        let row = [block[c * 5], block[c * 5 + 1], block[c * 5 + 2], block[c * 5 + 3], block[c * 5 + 4]];
        for k in 1..4 {
            out[c * 5 + k] = T::c(0.0);
        }
        out[c * 5 + 4] =
            if heat == WallHeat::Isothermal { T::c(0.0) } else { strong_wall_energy(wall, &row) };
    }
    out
}

/// The conserved state of a wall node from its own: the wall's velocity, and on isothermal walls its temperature (with the
/// node's density); on others the energy stays.
#[inline(always)]
pub fn strong_wall_conserved<T: Real>(gas: Gas<T>, heat: WallHeat, wall: Wall<T>, q: &[T; 5]) -> [T; 5] {
    let u = wall.velocity;
    let mut energy = q[4];
    if heat == WallHeat::Isothermal {
        let kinetic = T::c(0.5) * q[0] * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        energy = q[0] * wall.temperature / (gas.gamma * (gas.gamma - T::c(1.0))) + kinetic;
    }
    [q[0], q[0] * u[0], q[0] * u[1], q[0] * u[2], energy]
}

/// The primitive state of a wall node from its own: the wall's velocity, and on isothermal walls its temperature (with the
/// node's density); on others the pressure stays.
#[inline(always)]
pub fn strong_wall_state<T: Real>(gas: Gas<T>, heat: WallHeat, wall: Wall<T>, w: &[T; 5]) -> [T; 5] {
    let u = wall.velocity;
    if heat == WallHeat::Isothermal {
        return [w[0], u[0], u[1], u[2], w[0] * wall.temperature / gas.gamma];
    }
    [w[0], u[0], u[1], u[2], w[4]]
}

/// Beyond a wall without slip: the mean velocity is the wall's, and so is the mean temperature on isothermal ones, as far
/// as a factor of two goes.
#[inline(always)]
pub fn ghost_no_slip<T: Real>(gas: Gas<T>, heat: WallHeat, wall: Wall<T>, w: &[T; 5]) -> [T; 5] {
    let two = T::c(2.0);
    let u = wall.velocity;
    let mut rho = w[0];
    if heat == WallHeat::Isothermal {
        let t = temperature(gas, w);
        let ghost = (two * wall.temperature - t).max(T::c(0.5) * t).min(two * t);
        rho = gas.gamma * w[4] / ghost;
    }
    [rho, two * u[0] - w[1], two * u[1] - w[2], two * u[2] - w[3], w[4]]
}
