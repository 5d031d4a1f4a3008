//! Outflow of a given mass flow: an outlet whose back pressure follows the flow.

use super::{Boundary, Condition, Outlet, Parameter, Word, bc_outlet};
use crate::gas::{Gas, sound_speed};
use crate::output::Restart;
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word = Word {
    name: "mass_flow_outlet",
    text: "Outflow of a given `mass_flow` through the whole marker, whose back pressure follows the flow.",
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
            restart.set(&Self::fact(marker), self.held);
        }
    }

    /// Takes it back, where it was kept.
    pub(crate) fn recall(&mut self, marker: &str, restart: &Restart) {
        if let (true, Some(pressure)) = (self.mass_flow > 0.0, restart.positive(&Self::fact(marker))) {
            (self.outlet.pressure, self.held) = (pressure, pressure);
        }
    }

    /// Goes on from the pressure that it has.
    pub(crate) fn hold(&mut self) {
        self.held = self.outlet.pressure;
    }
}

/// Mass flow out through an outlet's face at the state `w` inside at the pressure that is held, and how it falls with it:
/// (c - V)/c^2 times the area, of the boundary's state; nothing where the flow leaves at supersonic speed.
#[inline(always)]
pub fn outlet_flow<T: Real>(condition: &Condition<T>, gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 2] {
    let total_temperature = condition.outlet.total_temperature;
    let outlet = Outlet { pressure: condition.held, total_temperature, width: condition.outlet.width };
    let wb = bc_outlet(gas, w, outlet, n);
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    let volume = wb[1] * n[0] + wb[2] * n[1] + wb[3] * n[2];
    let c = sound_speed(gas, &wb);
    [wb[0] * volume, ((c * area - volume) / (c * c)).max(T::c(0.0))]
}

/// The back pressure of an outlet from the one that is held and the sums of [`outlet_flow`] over the marker: a Newton step towards its mass flow,
/// at most a fiftieth of the pressure.
///
/// In Newton-Krylov steps it is of every state that a residual is taken of, so that derivatives know it: what the pressure changes is answered by the
/// flow upstream, some wave times later or within one large step. Steps that do not know of that, which `alone` is 1 for and else 0, take a tenth of it, and
/// less at low Mach numbers: where a total state drives the flow it falls by (1 - M^2)/V times the area in the end, 1 + 1/M times the slope, of the
/// Mach number M that the outlet is to have. With q = mass flow/(gamma p), the area times M/c, and the slope, the area times (1 - M)/c,
/// 1/M = 1 + slope/q.
#[inline(always)]
pub fn adapted_pressure<T: Real>(condition: &Condition<T>, gas: Gas<T>, flow: T, slope: T, alone: T) -> T {
    let most = T::c(0.02) * condition.held;
    let q = condition.mass_flow / (gas.gamma * condition.held);
    let answered = T::c(1.0) + alone * ((T::c(2.0) + slope / q).max(T::c(10.0)) - T::c(1.0));
    let change = (flow - condition.mass_flow) / (slope * answered).max(T::c(1e-30));
    condition.held + change.max(-most).min(most)
}
