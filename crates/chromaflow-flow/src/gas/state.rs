//! States of a calorically perfect gas and the linear maps between them.

use crate::real::Real;

/// A calorically perfect gas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gas<T> {
    /// Ratio of the specific heats.
    pub gamma: T,
}

impl Gas<f64> {
    /// Air: gamma = 1.4.
    pub const AIR: Self = Self { gamma: 1.4 };

    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> Gas<T> {
        Gas { gamma: T::c(self.gamma) }
    }
}

/// How viscosity depends on temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViscosityLaw {
    /// Not at all.
    Constant,
    /// By Sutherland's law.
    Sutherland,
}

/// How the gas carries momentum and heat.
///
/// Viscous fluxes are `scale * mu(T) * ...`, with `scale` = Mach / Re; heat goes with mu / Pr.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport<T> {
    /// Mach / Re, Re per mesh unit: turns mu'/mu'inf into the nondimensional viscosity.
    pub scale: T,
    /// Prandtl number.
    pub prandtl: T,
    /// How viscosity depends on temperature.
    pub law: ViscosityLaw,
    /// Sutherland's temperature over the free stream's.
    pub sutherland: T,
}

impl Transport<f64> {
    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> Transport<T> {
        Transport {
            scale: T::c(self.scale),
            prandtl: T::c(self.prandtl),
            law: self.law,
            sutherland: T::c(self.sutherland),
        }
    }
}

/// Conserved variables of a primitive state: q = (rho, rho u, p/(gamma - 1) + rho |u|^2 / 2).
///
/// ```
/// use chromaflow_flow::gas::{Gas, conserved, primitive};
/// let w = [1.2, 0.5, -0.1, 0.2, 0.7];
/// let q = conserved(Gas::AIR, &w);
/// assert!((q[4] - (0.7 / 0.4 + 0.6 * 0.30)).abs() < 1e-15);
/// assert!((primitive(Gas::AIR, &q)[4] - 0.7).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn conserved<T: Real>(gas: Gas<T>, w: &[T; 5]) -> [T; 5] {
    let [rho, u, v, s, p] = *w;
    let kinetic = T::c(0.5) * rho * (u * u + v * v + s * s);
    // The reciprocal is the same for all nodes of a loop.
    let by_g1 = T::c(1.0) / (gas.gamma - T::c(1.0));
    [rho, rho * u, rho * v, rho * s, p * by_g1 + kinetic]
}

/// Primitive variables of a conserved state.
#[inline(always)]
pub fn primitive<T: Real>(gas: Gas<T>, q: &[T; 5]) -> [T; 5] {
    let r = T::c(1.0) / q[0];
    let u = q[1] * r;
    let v = q[2] * r;
    let s = q[3] * r;
    let kinetic = T::c(0.5) * (q[1] * u + q[2] * v + q[3] * s);
    [q[0], u, v, s, (gas.gamma - T::c(1.0)) * (q[4] - kinetic)]
}

/// Speed of sound, sqrt(gamma p / rho).
#[inline(always)]
pub fn sound_speed<T: Real>(gas: Gas<T>, w: &[T; 5]) -> T {
    (gas.gamma * w[4] / w[0]).sqrt()
}

/// Speed of sound that gas of this entropy has at the pressure `p`, c (p/p_w)^((gamma - 1)/(2 gamma)).
///
/// ```
/// use chromaflow_flow::gas::{Gas, sound_at};
/// let w = [1.0, 0.0, 0.0, 0.0, 1.0 / 1.4];
/// assert_eq!(sound_at(Gas::AIR, &w, w[4]), 1.0);
/// assert!((sound_at(Gas::AIR, &w, 128.0 * w[4]) - 2.0_f64).abs() < 1e-14);
/// ```
#[inline(always)]
pub fn sound_at<T: Real>(gas: Gas<T>, w: &[T; 5], p: T) -> T {
    sound_speed(gas, w) * (p / w[4]).powf((gas.gamma - T::c(1.0)) / (T::c(2.0) * gas.gamma))
}

/// Derivatives of the logarithm of [`sound_at`] by density and pressure of the state: -1/(2 rho), 1/(2 gamma p).
#[inline(always)]
pub fn sound_at_slopes<T: Real>(gas: Gas<T>, w: &[T; 5]) -> [T; 2] {
    [T::c(-0.5) / w[0], T::c(0.5) / (gas.gamma * w[4])]
}

/// Mach number, |u| / c.
#[inline(always)]
pub fn mach<T: Real>(gas: Gas<T>, w: &[T; 5]) -> T {
    (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]).sqrt() / sound_speed(gas, w)
}

/// Total enthalpy per mass, H = gamma/(gamma - 1) p/rho + |u|^2 / 2.
#[inline(always)]
pub fn total_enthalpy<T: Real>(gas: Gas<T>, w: &[T; 5]) -> T {
    let speed2 = w[1] * w[1] + w[2] * w[2] + w[3] * w[3];
    gas.gamma * w[4] / ((gas.gamma - T::c(1.0)) * w[0]) + T::c(0.5) * speed2
}

/// Temperature over the free stream's, gamma p / rho.
#[inline(always)]
pub fn temperature<T: Real>(gas: Gas<T>, w: &[T; 5]) -> T {
    gas.gamma * w[4] / w[0]
}

/// The larger one of the relative changes of the density and of the internal energy e = E - rho |u|^2 / 2 of a conserved state `q` that changes by `v`, to
/// first order: |v_rho| / rho and |de| / e.
///
/// ```
/// use chromaflow_flow::gas::{Gas, conserved, relative_change, relative_change_at_most};
/// let q = conserved(Gas::AIR, &[0.1, 3.0, 0.0, 0.0, 0.01]);
/// assert!((relative_change(&q, &[0.01, 0.03, 0.0, 0.0, 0.045 + 0.01]) - 0.4).abs() < 1e-12, "of e, which is 0.025");
/// let v = [0.01, -0.02, 0.02, 0.0, 0.03];
/// assert!(relative_change(&q, &v) < relative_change_at_most(&q) * v.iter().map(|v| v * v).sum::<f64>().sqrt());
/// ```
#[inline(always)]
pub fn relative_change<T: Real>(q: &[T; 5], v: &[T; 5]) -> T {
    let half = T::c(0.5);
    let by_density = T::c(1.0) / q[0];
    let u = [q[1] * by_density, q[2] * by_density, q[3] * by_density];
    let kinetic = half * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    let internal = q[4] - q[0] * kinetic;
    let change = v[4] + kinetic * v[0] - (u[0] * v[1] + u[1] * v[2] + u[2] * v[3]);
    (v[0].abs() * by_density).max(change.abs() / internal)
}

/// The largest [`relative_change`] by a `v` of length 1: max(1 / rho, (1 + |u|^2 / 2) / e).
#[inline(always)]
pub fn relative_change_at_most<T: Real>(q: &[T; 5]) -> T {
    let by_density = T::c(1.0) / q[0];
    let u = [q[1] * by_density, q[2] * by_density, q[3] * by_density];
    let kinetic = T::c(0.5) * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    by_density.max((T::c(1.0) + kinetic) / (q[4] - q[0] * kinetic))
}

/// Entropy function over the free stream's, gamma p / rho^gamma: 1 in the free stream and wherever no shock, heat or
/// friction changed it.
#[inline(always)]
pub fn entropy<T: Real>(gas: Gas<T>, w: &[T; 5]) -> T {
    gas.gamma * w[4] / w[0].powf(gas.gamma)
}

/// Viscosity over the free stream's at the temperature `t` (over the free stream's): 1, or Sutherland's law
/// t^(3/2) (1 + S) / (t + S).
///
/// **Source**: Sutherland 1893; White, Viscous Fluid Flow, eq. 1-36.
#[inline(always)]
pub fn viscosity<T: Real>(transport: Transport<T>, t: T) -> T {
    if transport.law == ViscosityLaw::Constant {
        return T::c(1.0);
    }
    t * t.sqrt() * (T::c(1.0) + transport.sutherland) / (t + transport.sutherland)
}

/// Turns derivatives by the primitive variables into derivatives by the conserved: `block * dw/dq`, at the state `w`.
///
/// **Shapes**: column-major 5 x 5.
#[inline(always)]
pub fn by_conserved<T: Real>(gas: Gas<T>, w: &[T; 5], block: &[T; 25]) -> [T; 25] {
    let [rho, u, v, s, _] = *w;
    let g1 = gas.gamma - T::c(1.0);
    let r = T::c(1.0) / rho;
    let phi = T::c(0.5) * g1 * (u * u + v * v + s * s);
    let mut out = [T::c(0.0); 25];
    for i in 0..5 {
        let by_p = block[20 + i];
        let by_u = block[5 + i] * r;
        let by_v = block[10 + i] * r;
        let by_s = block[15 + i] * r;
        let g1_p = g1 * by_p;
        out[i] = block[i] - (u * by_u + v * by_v + s * by_s) + phi * by_p;
        out[5 + i] = by_u - u * g1_p;
        out[10 + i] = by_v - v * g1_p;
        out[15 + i] = by_s - s * g1_p;
        out[20 + i] = g1_p;
    }
    out
}

/// dw/dq at the primitive state `w`.
#[inline(always)]
pub fn primitive_by_conserved<T: Real>(gas: Gas<T>, w: &[T; 5]) -> [T; 25] {
    let mut identity = [T::c(0.0); 25];
    for i in 0..5 {
        identity[i * 6] = T::c(1.0);
    }
    by_conserved(gas, w, &identity)
}

/// Turns derivatives of primitive variables into derivatives of the conserved ones: `dq/dw * block`, at the state
/// `w` to which the rows of `block` belong.
#[inline(always)]
pub fn from_primitive_block<T: Real>(gas: Gas<T>, w: &[T; 5], block: &[T; 25]) -> [T; 25] {
    let [rho, u, v, s, _] = *w;
    let r = T::c(1.0) / (gas.gamma - T::c(1.0));
    let kinetic = T::c(0.5) * (u * u + v * v + s * s);
    let mut out = [T::c(0.0); 25];
    for c in 0..5 {
        let d_rho = block[c * 5];
        let d_u = rho * block[c * 5 + 1];
        let d_v = rho * block[c * 5 + 2];
        let d_s = rho * block[c * 5 + 3];
        out[c * 5] = d_rho;
        out[c * 5 + 1] = u * d_rho + d_u;
        out[c * 5 + 2] = v * d_rho + d_v;
        out[c * 5 + 3] = s * d_rho + d_s;
        out[c * 5 + 4] = kinetic * d_rho + u * d_u + v * d_v + s * d_s + r * block[c * 5 + 4];
    }
    out
}

/// dq/dw at the primitive state `w`.
#[inline(always)]
pub fn conserved_by_primitive<T: Real>(gas: Gas<T>, w: &[T; 5]) -> [T; 25] {
    let mut identity = [T::c(0.0); 25];
    for i in 0..5 {
        identity[i * 6] = T::c(1.0);
    }
    from_primitive_block(gas, w, &identity)
}

/// The product a b of two column-major blocks.
#[inline(always)]
pub fn multiply<T: Real>(a: &[T; 25], b: &[T; 25]) -> [T; 25] {
    let mut out = [T::c(0.0); 25];
    for c in 0..5 {
        for r in 0..5 {
            let mut sum = a[r] * b[c * 5];
            for k in 1..5 {
                sum += a[k * 5 + r] * b[c * 5 + k];
            }
            out[c * 5 + r] = sum;
        }
    }
    out
}
