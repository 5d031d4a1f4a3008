//! Inflow of given velocity and temperature.

use super::{Boundary, Parameter, Word};
use crate::gas::Gas;
use crate::real::{Mask, Real};

/// In case files.
pub(super) static WORD: Word = Word {
    name: "velocity_inlet",
    text: "Subsonic inflow of given `velocity` and `temperature`; the pressure comes from inside.",
    parameters: &[
        Parameter::vector("velocity", "velocity over the free stream's speed of sound."),
        Parameter::number("temperature", "temperature over the free stream's; default 1."),
    ],
    read: |given| {
        let velocity = given.vector("velocity");
        let velocity = velocity.ok_or("`velocity_inlet` needs `velocity`, three numbers: [x, y, z]")?;
        Ok(Boundary::VelocityInlet { velocity, temperature: given.ratio_or("temperature", 1.0)? })
    },
};

/// What such an inlet holds, nondimensional.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct VelocityInlet<T> {
    /// Velocity over a_inf.
    pub velocity: [T; 3],
    /// Temperature over T_inf.
    pub temperature: T,
}

impl VelocityInlet<f64> {
    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> VelocityInlet<T> {
        VelocityInlet { velocity: self.velocity.map(T::c), temperature: T::c(self.temperature) }
    }
}

/// What comes from inside: the pressure p + rho c (V - V_b) of the wave that leaves through the boundary, between half and
/// twice p, and its derivatives by the interior primitives.
#[derive(Clone, Copy, Debug)]
struct InletPressure<T> {
    p: T,
    slope: [T; 5],
}

#[inline(always)]
fn inlet_pressure<T: Real>(gas: Gas<T>, w: &[T; 5], inlet: VelocityInlet<T>, n: &[T; 3]) -> InletPressure<T> {
    let zero = T::c(0.0);
    let half = T::c(0.5);
    let two = T::c(2.0);
    let inverse = T::c(1.0) / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let mut change = zero;
    for k in 0..3 {
        change += (w[1 + k] - inlet.velocity[k]) * normal[k];
    }
    let impedance = (gas.gamma * w[0] * w[4]).sqrt();
    let p = w[4] + impedance * change;
    let low = p.lt(half * w[4]);
    let high = p.gt(two * w[4]);
    let bounded = low.or(high);
    let by_velocity = T::select(bounded, zero, impedance);
    let by_density = T::select(bounded, zero, half * impedance * change / w[0]);
    let by_pressure =
        T::select(low, half, T::select(high, two, T::c(1.0) + half * impedance * change / w[4]));
    InletPressure {
        p: p.max(half * w[4]).min(two * w[4]),
        slope: [
            by_density,
            by_velocity * normal[0],
            by_velocity * normal[1],
            by_velocity * normal[2],
            by_pressure,
        ],
    }
}

/// Inflow of given velocity and temperature, for speeds below that of sound; the pressure is that of the acoustic wave from
/// inside, p + rho c (V - V_b), V along the outward normal.
///
/// **Source**: Carlson, NASA/TM-2011-217181, 2.7, with the pressure of the linear outgoing characteristic.
///
/// ```
/// use chromaflow_flow::bc::{VelocityInlet, bc_velocity_inlet};
/// use chromaflow_flow::gas::Gas;
/// let inlet = VelocityInlet { velocity: [0.3, 0.0, 0.0], temperature: 1.0 };
/// let w = [1.0, 0.3, 0.0, 0.0, 1.0 / 1.4];
/// assert_eq!(bc_velocity_inlet(Gas::AIR, &w, inlet, &[-2.0, 0.0, 0.0]), w);
/// ```
#[inline(always)]
pub fn bc_velocity_inlet<T: Real>(gas: Gas<T>, w: &[T; 5], inlet: VelocityInlet<T>, n: &[T; 3]) -> [T; 5] {
    let p = inlet_pressure(gas, w, inlet, n).p;
    let u = inlet.velocity;
    [gas.gamma * p / inlet.temperature, u[0], u[1], u[2], p]
}

/// d(boundary state)/d(interior state) of [`bc_velocity_inlet`], primitive by primitive, column-major 5 x 5.
#[inline(always)]
pub fn bc_velocity_inlet_jacobian<T: Real>(
    gas: Gas<T>,
    w: &[T; 5],
    inlet: VelocityInlet<T>,
    n: &[T; 3],
) -> [T; 25] {
    let slope = inlet_pressure(gas, w, inlet, n).slope;
    let mut block = [T::c(0.0); 25];
    for c in 0..5 {
        block[c * 5] = gas.gamma * slope[c] / inlet.temperature;
        block[c * 5 + 4] = slope[c];
    }
    block
}
