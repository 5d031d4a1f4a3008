//! Outflow of a given mass flow: an outlet whose back pressure follows the flow.

use super::{Boundary, Condition, Parameter, Word, open_state};
use crate::gas::{Gas, sound_speed};
use crate::output::Restart;
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word = Word {
    name: "mass_flow_outlet",
    text: "Outflow of a given `mass_flow` through the whole marker, whose back pressure is adapted at each iteration.",
    parameters: &[Parameter::number(
        "mass_flow",
        "mass per time over the free stream's density, speed of sound and the mesh unit squared (on planar meshes the mesh \
         unit: per depth).",
    )],
    read: |given| Ok(Boundary::MassFlowOutlet { mass_flow: given.positive("mass_flow")? }),
};

impl Condition<f64> {
    /// The fact of a restart that has the back pressure of a marker.
    fn fact(marker: &str) -> String {
        format!("back_pressure.{marker}")
    }

    /// Keeps the back pressure that has been adapted on a marker.
    pub(crate) fn store(&self, marker: &str, restart: &mut Restart) {
        if self.mass_flow > 0.0 {
            restart.set(&Self::fact(marker), self.outlet.pressure);
        }
    }

    /// Takes it back, where it was kept.
    pub(crate) fn recall(&mut self, marker: &str, restart: &Restart) {
        if let (true, Some(pressure)) = (self.mass_flow > 0.0, restart.positive(&Self::fact(marker))) {
            self.outlet.pressure = pressure;
        }
    }
}

/// Mass flow out through an outlet's face at the state `w` inside, and how it falls with the back pressure:
/// (c - V)/c^2 times the area, of the boundary's state; nothing where the flow leaves at supersonic speed.
#[inline(always)]
pub fn outlet_flow<T: Real>(condition: &Condition<T>, gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 2] {
    let wb = open_state(condition, gas, w, n);
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    let volume = wb[1] * n[0] + wb[2] * n[1] + wb[3] * n[2];
    let c = sound_speed(gas, &wb);
    [wb[0] * volume, ((c * area - volume) / (c * c)).max(T::c(0.0))]
}

/// The next back pressure from the present one and the sums of [`outlet_flow`] over the marker: a tenth of a Newton step
/// towards the mass flow `target`, at most a fiftieth of the pressure.
///
/// A whole step would be right if nothing came back from inside; but what the pressure changes is answered by the flow
/// upstream, some wave times later.
#[inline(always)]
pub fn adapted_pressure<T: Real>(pressure: T, flow: T, slope: T, target: T) -> T {
    let most = T::c(0.02) * pressure;
    let change = T::c(0.1) * (flow - target) / slope.max(T::c(1e-30));
    pressure + change.max(-most).min(most)
}
