//! Subsonic inflow of given total state.

use super::extrapolation::{leaving, leaving_jacobian};
use super::{Boundary, Parameter, Word};
use crate::gas::{Gas, sound_at, sound_at_slopes, sound_speed};
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word = Word {
    name: "inlet",
    text: "Subsonic inflow: `total_pressure`, `total_temperature`, `direction`; those of the free stream where none are given. Without any a supersonic stream comes in as it is. Where the flow pushes back it leaves against the total pressure.",
    parameters: &[
        Parameter::number(
            "total_pressure",
            "total pressure over the free stream's static pressure; default the free stream's.",
        ),
        Parameter::number(
            "total_temperature",
            "total temperature over the free stream's static temperature; default the free stream's.",
        ),
        Parameter::vector("direction", "direction of the flow, any length; default the free stream's."),
    ],
    read: |given| {
        let stream = given.stream();
        let given_total = given.has("total_pressure") || given.has("total_temperature");
        // All of a supersonic stream comes from outside, as at a far field.
        if stream.mach >= 1.0 && !given_total {
            if given.has("direction") {
                return Err("`direction` without a total state: a supersonic stream comes in along its own"
                    .to_owned());
            }
            return Ok(Boundary::Farfield);
        }
        let [pressure, temperature] = stream.total();
        Ok(Boundary::Inlet {
            total_pressure: given.ratio_or("total_pressure", pressure)?,
            total_temperature: given.ratio_or("total_temperature", temperature)?,
            direction: given.direction("direction")?,
        })
    },
};

/// What an inlet holds, nondimensional.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Inlet<T> {
    /// Total pressure (the free stream's static one is 1/gamma).
    pub total_pressure: T,
    /// Total temperature over the free stream's static one.
    pub total_temperature: T,
    /// Unit vector of the flow.
    pub direction: [T; 3],
}

impl Inlet<f64> {
    /// Of conditions that are none.
    pub(super) const NONE: Self = Self { total_pressure: 0.0, total_temperature: 0.0, direction: [0.0; 3] };

    /// From ratios to the free stream's static pressure and temperature, and a direction of any length but zero.
    pub fn new(gas: Gas<f64>, pressure_ratio: f64, temperature_ratio: f64, direction: [f64; 3]) -> Self {
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        Self {
            total_pressure: pressure_ratio / gas.gamma,
            total_temperature: temperature_ratio,
            direction: direction.map(|x| x / length),
        }
    }

    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> Inlet<T> {
        let [x, y, z] = self.direction;
        Inlet {
            total_pressure: T::c(self.total_pressure),
            total_temperature: T::c(self.total_temperature),
            direction: [T::c(x), T::c(y), T::c(z)],
        }
    }
}

/// An inlet's state as a function of the two numbers that come from inside, the outgoing invariant and the entropy of the gas that its wave runs through.
#[derive(Clone, Copy, Debug)]
pub(super) struct InletState<T> {
    pub w: [T; 5],
    /// Derivative of `w` by the invariant.
    pub slope: [T; 5],
    /// The same by the logarithm of the speed of sound that this gas has at a given pressure.
    pub by_entropy: [T; 5],
    /// Speed at which the gas inside goes out against the total pressure; negative where gas comes in.
    pub outward: T,
}

/// Speed of sound c at the inlet from R = V + 2 s c/(gamma-1), V = U m, c^2 = c0^2 - (gamma-1)/2 U^2, where m is the cosine
/// between flow and outward normal and s the speed of sound of the gas inside at the inlet's pressure over that of the
/// inlet's gas: a quadratic in c. `m` is kept below -0.1.
#[inline(always)]
pub(super) fn inlet_state<T: Real>(gas: Gas<T>, w: &[T; 5], inlet: Inlet<T>, n: &[T; 3]) -> InletState<T> {
    let zero = T::c(0.0);
    let one = T::c(1.0);
    let two = T::c(2.0);
    let inverse = one / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let g1 = gas.gamma - one;
    let k = two / g1;
    let d = inlet.direction;
    let m = ((d[0] * n[0] + d[1] * n[1] + d[2] * n[2]) * inverse).min(T::c(-0.1));
    let v = (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) * inverse;
    let c02 = inlet.total_temperature;
    let s = sound_at(gas, w, inlet.total_pressure) / c02.sqrt();
    // The gas comes in at the speed of sound at most: at U = c, c^2 = c0^2 k/(k + 1).
    let least = (k * s + m) * (c02 * k / (k + one)).sqrt();
    let given = v + k * sound_speed(gas, w);
    let invariant = given.max(least);
    let choked = given.lt(least);
    let a = m * m + k * s * s;
    let rest = invariant * invariant / k - c02 * m * m;
    let root = (invariant * invariant * s * s - a * rest).max(T::c(1e-12)).sqrt();
    let c = (invariant * s + root) / a;
    // The gas stands still where the invariant asks for outflow.
    let inflow = (invariant - k * s * c).lt(zero);
    let moves = T::select(choked, zero, T::select(inflow, one, zero));
    let speed = T::select(inflow, (invariant - k * s * c) / m, zero);
    let by_invariant = moves * (s * c - invariant / k) / root;
    let by_log = moves * s * c * (invariant - k * s * c) / root;
    let speed_slope = (moves - k * s * by_invariant) / m;
    let speed_by_log = -(k * s * (moves * c + by_log) / m);
    let c = T::select(inflow, c, c02.sqrt());
    let c2 = c * c;
    let p = inlet.total_pressure * (c2 / c02).powf(gas.gamma / g1);
    let rho = gas.gamma * p / c2;
    // d log rho = 2/(gamma-1) d log c, d log p = gamma d log rho.
    let (rho_by, p_by) = (rho * k / c, p * k * gas.gamma / c);
    InletState {
        w: [rho, speed * d[0], speed * d[1], speed * d[2], p],
        slope: [
            rho_by * by_invariant,
            speed_slope * d[0],
            speed_slope * d[1],
            speed_slope * d[2],
            p_by * by_invariant,
        ],
        by_entropy: [
            rho_by * by_log,
            speed_by_log * d[0],
            speed_by_log * d[1],
            speed_by_log * d[2],
            p_by * by_log,
        ],
        outward: given - k * s * c02.sqrt(),
    }
}

/// Subsonic inflow of given total pressure, total temperature and direction; the outgoing invariant V + 2c/(gamma-1)
/// comes from inside, where its wave runs through the gas inside: c there is that gas's at the inlet's pressure, which it and the gas that comes in
/// have in common with the velocity (gas of another temperature, as beside a hot wall, would otherwise be taken for a wave). Where the interior
/// pushes outward it leaves, as at an outlet against the total pressure: that is the pressure of a room in which gas comes to rest.
///
/// **Source**: Blazek, CFD: Principles and Applications, 8.4, with the energy equation for the invariant's speed of
/// sound; the contact between both gases as in Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, 9.4.
///
/// ```
/// use chromaflow_flow::bc::{Inlet, bc_inlet};
/// use chromaflow_flow::gas::Gas;
/// // Gas inside is hot; pressure and velocity are the inlet's at Mach 0.05: nothing changes them.
/// let (mach, gas) = (0.05_f64, Gas::AIR);
/// let temperature = 1.0 + 0.2 * mach * mach;
/// let inlet = Inlet::new(gas, temperature.powf(3.5), temperature, [1.0, 0.0, 0.0]);
/// let state = bc_inlet(gas, &[1.0 / 1.3, mach, 0.0, 0.0, 1.0 / 1.4], inlet, &[-1.0, 0.0, 0.0]);
/// assert!((state[0] - 1.0).abs() < 1e-12 && (state[1] - mach).abs() < 1e-12);
/// ```
#[inline(always)]
pub fn bc_inlet<T: Real>(gas: Gas<T>, w: &[T; 5], inlet: Inlet<T>, n: &[T; 3]) -> [T; 5] {
    let state = inlet_state(gas, w, inlet, n);
    let (leaves, out) = (state.outward.ge(T::c(0.0)), leaving(gas, w, inlet.total_pressure, n));
    let mut wb = [T::c(0.0); 5];
    for i in 0..5 {
        wb[i] = T::select(leaves, out[i], state.w[i]);
    }
    wb
}

/// d(boundary state)/d(interior state) of [`bc_inlet`], primitive by primitive, column-major 5 x 5; of rank two where gas comes in.
#[inline(always)]
pub fn bc_inlet_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], inlet: Inlet<T>, n: &[T; 3]) -> [T; 25] {
    let state = inlet_state(gas, w, inlet, n);
    let inverse = T::c(1.0) / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    // k dc with dc = c/2 (dp/p - drho/rho).
    let kc = sound_speed(gas, w) / (gas.gamma - T::c(1.0));
    let invariant = [-kc / w[0], n[0] * inverse, n[1] * inverse, n[2] * inverse, kc / w[4]];
    let [log_by_rho, log_by_p] = sound_at_slopes(gas, w);
    let mut block = [T::c(0.0); 25];
    for c in 0..5 {
        for r in 0..5 {
            block[c * 5 + r] = state.slope[r] * invariant[c];
        }
    }
    for r in 0..5 {
        block[r] += state.by_entropy[r] * log_by_rho;
        block[20 + r] += state.by_entropy[r] * log_by_p;
    }
    let (leaves, out) = (state.outward.ge(T::c(0.0)), leaving_jacobian(gas, w, inlet.total_pressure, n));
    for i in 0..25 {
        block[i] = T::select(leaves, out[i], block[i]);
    }
    block
}
