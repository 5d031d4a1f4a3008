//! From the numbers an engineer gives to the scaled free stream.

use super::{Gas, Transport, ViscosityLaw};
use crate::config::{Freestream, GasConfig};

/// Total pressure and total temperature over the static ones at this Mach number:
/// T0 / T = 1 + (gamma - 1) M^2 / 2, p0 / p = (T0 / T)^(gamma / (gamma - 1)).
///
/// **Source**: NACA Report 1135, 1953, eqs. 43 and 44.
///
/// ```
/// let [pressure, temperature] = chromaflow_flow::gas::total_over_static(1.4, 1.0);
/// assert!((pressure - 1.892929).abs() < 1e-6 && (temperature - 1.2).abs() < 1e-15);
/// ```
pub fn total_over_static(gamma: f64, mach: f64) -> [f64; 2] {
    let ratio = 1.0 + 0.5 * (gamma - 1.0) * mach * mach;
    [ratio.powf(gamma / (gamma - 1.0)), ratio]
}

impl Freestream {
    /// Unit vector of the stream. With the lift along z (`lift_axis` 2) it is (cos a cos b, -sin b, sin a cos b): x
    /// backward, y to the right wing, z up. With the lift along y (`lift_axis` 1) the frame is turned about x: y takes
    /// the place of z, and -z that of y.
    pub fn direction(&self, lift_axis: usize) -> [f64; 3] {
        let (sa, ca) = self.alpha_deg.to_radians().sin_cos();
        let (sb, cb) = self.beta_deg.to_radians().sin_cos();
        if lift_axis == 1 { [ca * cb, sa * cb, sb] } else { [ca * cb, -sb, sa * cb] }
    }

    /// Unit vector of the lift: normal to the stream in the plane of x and the lift axis.
    pub fn lift_direction(&self, lift_axis: usize) -> [f64; 3] {
        let (sa, ca) = self.alpha_deg.to_radians().sin_cos();
        if lift_axis == 1 { [-sa, ca, 0.0] } else { [-sa, 0.0, ca] }
    }

    /// Primitive state of the stream, (1, Mach * direction, 1/gamma).
    ///
    /// ```
    /// use chromaflow_flow::config::Freestream;
    /// use chromaflow_flow::gas::{Gas, sound_speed};
    /// let stream = Freestream { mach: 0.5, alpha_deg: 90.0, ..Default::default() };
    /// let w = stream.primitive(Gas::AIR, 2);
    /// assert!((w[3] - 0.5).abs() < 1e-15 && (sound_speed(Gas::AIR, &w) - 1.0).abs() < 1e-15);
    /// ```
    pub fn primitive(&self, gas: Gas<f64>, lift_axis: usize) -> [f64; 5] {
        let d = self.direction(lift_axis);
        [1.0, self.mach * d[0], self.mach * d[1], self.mach * d[2], 1.0 / gas.gamma]
    }

    /// What a body makes of the stream: changes of density, velocity and pressure where it comes to rest along isentropes;
    /// of a supersonic stream, those of a sonic one. Limiters measure by them what is small.
    ///
    /// ```
    /// use chromaflow_flow::config::Freestream;
    /// use chromaflow_flow::gas::Gas;
    /// let change = Freestream { mach: 0.1, ..Default::default() }.changes(Gas::AIR);
    /// // rho V^2 / 2 is the pressure at rest, but for compressibility.
    /// assert!((change[4] - 0.005).abs() < 2e-5 && change[1] == 0.1);
    /// ```
    pub fn changes(&self, gas: Gas<f64>) -> [f64; 5] {
        let (g, g1, m) = (gas.gamma, gas.gamma - 1.0, self.mach.min(1.0));
        let temperature = 1.0 + 0.5 * g1 * m * m;
        let density = temperature.powf(1.0 / g1) - 1.0;
        let pressure = (temperature.powf(g / g1) - 1.0) / g;
        [density, m, m, m, pressure]
    }

    /// Dynamic pressure rho V^2 / 2 = Mach^2 / 2: what force and pressure coefficients are scaled by.
    pub fn dynamic_pressure(&self) -> f64 {
        0.5 * self.mach * self.mach
    }
}

impl GasConfig {
    /// The equation of state.
    pub fn gas(&self) -> Gas<f64> {
        Gas { gamma: self.gamma }
    }

    /// Viscosity's scale Mach / Re, its law, and the Prandtl number.
    pub fn transport(&self, stream: &Freestream) -> Transport<f64> {
        Transport {
            scale: stream.mach / stream.reynolds,
            prandtl: self.prandtl,
            law: if self.sutherland { ViscosityLaw::Sutherland } else { ViscosityLaw::Constant },
            sutherland: self.sutherland_k / stream.temperature_k,
        }
    }
}
