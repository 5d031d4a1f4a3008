//! The flux of one state, its Jacobian and its spectral radius.

use crate::gas::{Gas, total_enthalpy};
use crate::real::Real;

/// Inviscid flux of the primitive state `w` through the area `n`:
/// (rho V, rho u V + p n, rho H V) with V = u . n.
///
/// ```
/// use chromaflow_flow::{flux::flux, gas::Gas};
/// let still = [1.0, 0.0, 0.0, 0.0, 0.7];
/// assert_eq!(flux(Gas::AIR, &still, &[0.0, 2.0, 0.0]), [0.0, 0.0, 1.4, 0.0, 0.0]);
/// ```
#[inline(always)]
pub fn flux<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    flux_of_enthalpy(w, total_enthalpy(gas, w), n)
}

/// As [`flux`], of a state whose total enthalpy per mass is known.
#[inline(always)]
pub fn flux_of_enthalpy<T: Real>(w: &[T; 5], enthalpy: T, n: &[T; 3]) -> [T; 5] {
    let [rho, u, v, s, p] = *w;
    let mass = rho * (u * n[0] + v * n[1] + s * n[2]);
    [mass, mass * u + p * n[0], mass * v + p * n[1], mass * s + p * n[2], mass * enthalpy]
}

/// The Jacobian A = d(F . n)/dq, column-major 5 x 5.
///
/// It is V I + (1, u, H) (dm) + (0, n, V) (dp) with the row vectors dm = (-V, n, 0), the derivative of rho times the
/// normal velocity's change, and dp = (gamma - 1)(|u|^2/2, -u, 1), that of the pressure.
#[inline(always)]
pub fn flux_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 25] {
    let velocity = [w[1], w[2], w[3]];
    let normal_velocity = w[1] * n[0] + w[2] * n[1] + w[3] * n[2];
    let factors = WaveFactors {
        diagonal: normal_velocity,
        first_by_pressure: T::c(0.0),
        first_by_mass: T::c(1.0),
        second_by_pressure: T::c(1.0),
        second_by_mass: T::c(0.0),
    };
    wave_matrix(gas, &velocity, total_enthalpy(gas, w), n, normal_velocity, factors)
}

/// A x for a change `x` of the conserved variables, A = d(F . n)/dq, without the matrix: see [`flux_jacobian`].
#[inline(always)]
pub fn flux_change<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3], x: &[T; 5]) -> [T; 5] {
    let [_, u, v, s, _] = *w;
    let normal_velocity = u * n[0] + v * n[1] + s * n[2];
    let kinetic = T::c(0.5) * (u * u + v * v + s * s);
    let pressure = (gas.gamma - T::c(1.0)) * (kinetic * x[0] - u * x[1] - v * x[2] - s * x[3] + x[4]);
    let mass = n[0] * x[1] + n[1] * x[2] + n[2] * x[3] - normal_velocity * x[0];
    [
        normal_velocity * x[0] + mass,
        normal_velocity * x[1] + u * mass + n[0] * pressure,
        normal_velocity * x[2] + v * mass + n[1] * pressure,
        normal_velocity * x[3] + s * mass + n[2] * pressure,
        normal_velocity * x[4] + total_enthalpy(gas, w) * mass + normal_velocity * pressure,
    ]
}

/// Factors of the matrices that share the shape of the flux Jacobian, see [`wave_matrix`].
#[derive(Clone, Copy, Debug)]
pub(super) struct WaveFactors<T> {
    /// Of the identity.
    pub diagonal: T,
    /// Of (1, u, H) dp.
    pub first_by_pressure: T,
    /// Of (1, u, H) dm.
    pub first_by_mass: T,
    /// Of (0, n, V) dp.
    pub second_by_pressure: T,
    /// Of (0, n, V) dm.
    pub second_by_mass: T,
}

/// diagonal I + (1, u, H)(first_by_pressure dp + first_by_mass dm) + (0, n, V)(second_by_pressure dp +
/// second_by_mass dm): both the Jacobian and its absolute value have this shape.
#[inline(always)]
pub(super) fn wave_matrix<T: Real>(
    gas: Gas<T>,
    velocity: &[T; 3],
    enthalpy: T,
    n: &[T; 3],
    normal_velocity: T,
    factors: WaveFactors<T>,
) -> [T; 25] {
    let [u, v, s] = *velocity;
    let g1 = gas.gamma - T::c(1.0);
    let phi = T::c(0.5) * g1 * (u * u + v * v + s * s);
    let pressure = [phi, -g1 * u, -g1 * v, -g1 * s, g1];
    let mass = [-normal_velocity, n[0], n[1], n[2], T::c(0.0)];
    let first = [T::c(1.0), u, v, s, enthalpy];
    let second = [T::c(0.0), n[0], n[1], n[2], normal_velocity];
    let mut a = [T::c(0.0); 25];
    for c in 0..5 {
        let x = factors.first_by_pressure * pressure[c] + factors.first_by_mass * mass[c];
        let y = factors.second_by_pressure * pressure[c] + factors.second_by_mass * mass[c];
        a[c * 5] = x;
        for r in 1..5 {
            a[c * 5 + r] = first[r] * x + second[r] * y;
        }
        a[c * 6] += factors.diagonal;
    }
    a
}

/// Absolute eigenvalues of A but |V - c|, with what |A| takes besides. All speeds are through an area as it is, so that no unit normal is
/// needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaveSpeeds<T> {
    pub normal_velocity: T,
    /// c^2, not through the area.
    pub sound2: T,
    /// Square of the area.
    pub area2: T,
    /// 1 / c.
    pub by_sound: T,
    /// |V|.
    pub middle: T,
    /// |V| + c.
    pub fast: T,
}

#[inline(always)]
pub(super) fn wave_speeds<T: Real>(normal_velocity: T, sound2: T, n: &[T; 3]) -> WaveSpeeds<T> {
    // Kept from zero where a face has no area.
    let area2 = T::c(1e-200) + n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    let by_sound = (sound2 * area2).rsqrt();
    let sound = sound2 * area2 * by_sound;
    let middle = normal_velocity.abs();
    WaveSpeeds { normal_velocity, sound2, area2, by_sound, middle, fast: middle + sound }
}

/// Largest absolute eigenvalue of A, |V| + c |n|: what local time steps are made of.
#[inline(always)]
pub fn spectral_radius<T: Real>(gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> T {
    let normal_velocity = w[1] * n[0] + w[2] * n[1] + w[3] * n[2];
    let area2 = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    normal_velocity.abs() + (gas.gamma * w[4] / w[0] * area2).sqrt()
}
