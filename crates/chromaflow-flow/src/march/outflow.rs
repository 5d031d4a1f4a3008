//! What leaves through open markers, and its mean state.

use crate::equations::perfect_gas::State;
use crate::gas::{Gas, mach, total_over_static};

/// What leaves through a marker that gas passes, of the present state.
#[derive(Clone, Debug, PartialEq)]
pub struct Outflow {
    /// The marker.
    pub marker: String,
    /// Mass that leaves per time, over the free stream's density, speed of sound and the mesh unit squared; of planar meshes and grids over the
    /// mesh unit, per depth. It is what the residual has: the sum over all markers vanishes as a steady flow converges.
    pub mass_flow: f64,
    /// Mean pressure over the area, over the free stream's.
    pub pressure: f64,
    /// Mean total pressure over the mass that passes, in or out, over the free stream's static pressure.
    pub total_pressure: f64,
    /// Mean total temperature of the mass that passes, over the free stream's static temperature: of the energy that the residual has with it, so that a
    /// balance of heat closes.
    pub total_temperature: f64,
}

/// Sums of a marker: mass out, mass that passes, area; pressure by area, total pressure and temperature by the mass that passes.
pub(crate) const SUMS: usize = 6;

/// What a face of this size adds to the sums of its marker: gas of the state `w`, and the mass and energy that leave.
pub(crate) fn outflow_sums(gas: Gas<f64>, w: &State, [mass, energy, size]: [f64; 3]) -> [f64; SUMS] {
    let [pressure, _] = total_over_static(gas.gamma, mach(gas, w));
    let passes = mass.abs();
    // Total enthalpy is that temperature over gamma - 1.
    let warmth = (gas.gamma - 1.0) * energy * mass.signum();
    [mass, passes, size, size * w[4], passes * w[4] * pressure, warmth]
}

impl Outflow {
    /// Of a marker's sums, on a mesh of this depth, in a stream of this pressure.
    pub(crate) fn of(marker: &str, sums: &[f64], [depth, pressure]: [f64; 2]) -> Self {
        Self {
            marker: marker.to_owned(),
            mass_flow: sums[0] / depth,
            pressure: sums[3] / sums[2] / pressure,
            total_pressure: sums[4] / sums[1] / pressure,
            total_temperature: sums[5] / sums[1],
        }
    }
}
