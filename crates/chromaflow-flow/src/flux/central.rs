//! Fluxes of structured grids, from the two cells on each side of a face: central differences with second and fourth
//! difference dissipation, and Roe's flux between limited extrapolations.

use super::euler::{flux, flux_of_enthalpy};
use super::roe::{EntropyFix, flux_roe};
use crate::gas::{Gas, conserved, sound_speed, total_enthalpy};
use crate::real::Real;

/// Coefficients of the dissipation of central schemes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dissipation<T> {
    /// Of the second differences, times the pressure switch: acts at shocks.
    pub second: T,
    /// Of the fourth differences: acts everywhere but at shocks.
    pub fourth: T,
    /// Matrix dissipation: smallest |V +- c| over the spectral radius.
    pub acoustic: T,
    /// Matrix dissipation: smallest |V| over the spectral radius.
    pub convective: T,
}

impl Dissipation<f64> {
    /// 1/2 and 1/32 with floors of 0.25 and 0.1: robust, Euler flows.
    pub const DEFAULT: Self = Self { second: 0.5, fourth: 1.0 / 32.0, acoustic: 0.25, convective: 0.1 };

    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> Dissipation<T> {
        Dissipation {
            second: T::c(self.second),
            fourth: T::c(self.fourth),
            acoustic: T::c(self.acoustic),
            convective: T::c(self.convective),
        }
    }
}

/// Jameson's pressure switch at the middle one of three cells, |p+ - 2 p + p-| / (p+ + 2 p + p-): of second order
/// in smooth flow, near 1 at shocks.
///
/// **Source**: Jameson, Schmidt & Turkel 1981.
#[inline(always)]
pub fn pressure_switch<T: Real>(before: T, here: T, after: T) -> T {
    let two = T::c(2.0);
    (after - two * here + before).abs() / (after + two * here + before)
}

/// The weights of second and fourth differences at the face between b and c.
#[inline(always)]
fn weights<T: Real>(
    wa: &[T; 5],
    wb: &[T; 5],
    wc: &[T; 5],
    wd: &[T; 5],
    dissipation: Dissipation<T>,
) -> [T; 2] {
    let left = pressure_switch(wa[4], wb[4], wc[4]);
    let right = pressure_switch(wb[4], wc[4], wd[4]);
    let second = dissipation.second * left.max(right);
    [second, (dissipation.fourth - second).max(T::c(0.0))]
}

/// Central flux with scalar dissipation: (F(wb) + F(wc)) . n / 2 - r (e2 (c - b) - e4 (d - 3c + 3b - a)), where
/// r is the face's spectral radius |V| + c |n| and the differences are of (rho, rho u, rho H), so that a uniform
/// total enthalpy stays uniform.
///
/// The face lies between the cells b and c; a is before b, d after c; `n` points from b to c.
///
/// **Source**: Jameson, Schmidt & Turkel 1981; the spectral radius of each direction by itself as in Pulliam 1986.
///
/// ```
/// use chromaflow_flow::flux::{Dissipation, flux, flux_scalar_dissipation};
/// use chromaflow_flow::gas::Gas;
/// let (w, n) = ([1.0, 0.5, 0.1, 0.0, 0.7], [0.1, 0.2, 0.3]);
/// let f = flux_scalar_dissipation(Gas::AIR, &w, &w, &w, &w, &n, Dissipation::DEFAULT);
/// assert_eq!(f, flux(Gas::AIR, &w, &n));
/// ```
#[inline(always)]
pub fn flux_scalar_dissipation<T: Real>(
    gas: Gas<T>,
    wa: &[T; 5],
    wb: &[T; 5],
    wc: &[T; 5],
    wd: &[T; 5],
    n: &[T; 3],
    dissipation: Dissipation<T>,
) -> [T; 5] {
    let enthalpy =
        [total_enthalpy(gas, wa), total_enthalpy(gas, wb), total_enthalpy(gas, wc), total_enthalpy(gas, wd)];
    let sound = [sound_speed(gas, wb), sound_speed(gas, wc)];
    scalar_dissipation_of(wa, wb, wc, wd, &enthalpy, &sound, n, dissipation)
}

/// As [`flux_scalar_dissipation`], of cells whose total enthalpy per mass is known, and the speed of sound of b and c.
#[inline(always)]
pub fn scalar_dissipation_of<T: Real>(
    wa: &[T; 5],
    wb: &[T; 5],
    wc: &[T; 5],
    wd: &[T; 5],
    enthalpy: &[T; 4],
    sound: &[T; 2],
    n: &[T; 3],
    dissipation: Dissipation<T>,
) -> [T; 5] {
    let weights = weights(wa, wb, wc, wd, dissipation);
    let qa = with_enthalpy(wa, enthalpy[0]);
    let qb = with_enthalpy(wb, enthalpy[1]);
    let qc = with_enthalpy(wc, enthalpy[2]);
    let qd = with_enthalpy(wd, enthalpy[3]);
    let mut damping = differences(&qa, &qb, &qc, &qd, weights);
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    let vb = wb[1] * n[0] + wb[2] * n[1] + wb[3] * n[2];
    let vc = wc[1] * n[0] + wc[2] * n[1] + wc[3] * n[2];
    let radius = T::c(0.5) * ((vb.abs() + sound[0] * area) + (vc.abs() + sound[1] * area));
    for i in 0..5 {
        damping[i] = radius * damping[i];
    }
    let fb = flux_of_enthalpy(wb, enthalpy[1], n);
    let fc = flux_of_enthalpy(wc, enthalpy[2], n);
    damped_mean(&fb, &fc, &damping)
}

/// e2 (c - b) - e4 (d - 3c + 3b - a).
#[inline(always)]
fn differences<T: Real>(qa: &[T; 5], qb: &[T; 5], qc: &[T; 5], qd: &[T; 5], weights: [T; 2]) -> [T; 5] {
    let [second, fourth] = weights;
    let mut out = [T::c(0.0); 5];
    for i in 0..5 {
        let step = qc[i] - qb[i];
        out[i] = second * step - fourth * (qd[i] - qa[i] - T::c(3.0) * step);
    }
    out
}

/// (fb + fc) / 2 - damping.
#[inline(always)]
fn damped_mean<T: Real>(fb: &[T; 5], fc: &[T; 5], damping: &[T; 5]) -> [T; 5] {
    let mut out = [T::c(0.0); 5];
    for i in 0..5 {
        out[i] = T::c(0.5) * (fb[i] + fc[i]) - damping[i];
    }
    out
}

/// (rho, rho u, rho H).
#[inline(always)]
fn with_enthalpy<T: Real>(w: &[T; 5], enthalpy: T) -> [T; 5] {
    [w[0], w[0] * w[1], w[0] * w[2], w[0] * w[3], w[0] * enthalpy]
}

/// Central flux with matrix dissipation: as [`flux_scalar_dissipation`], with |A| at the mean of b and c in the place of
/// the spectral radius, its eigenvalues kept from vanishing, and differences of the conserved variables.
///
/// **Source**: Swanson & Turkel, *On central-difference and upwind schemes* (1992).
#[inline(always)]
pub fn flux_matrix_dissipation<T: Real>(
    gas: Gas<T>,
    wa: &[T; 5],
    wb: &[T; 5],
    wc: &[T; 5],
    wd: &[T; 5],
    n: &[T; 3],
    dissipation: Dissipation<T>,
) -> [T; 5] {
    let weights = weights(wa, wb, wc, wd, dissipation);
    let qa = conserved(gas, wa);
    let qb = conserved(gas, wb);
    let qc = conserved(gas, wc);
    let qd = conserved(gas, wd);
    let difference = differences(&qa, &qb, &qc, &qd, weights);
    let mut mean = [T::c(0.0); 5];
    for i in 0..5 {
        mean[i] = T::c(0.5) * (wb[i] + wc[i]);
    }
    let damping = absolute_times(gas, &mean, n, dissipation, &difference);
    let fb = flux(gas, wb, n);
    let fc = flux(gas, wc, n);
    damped_mean(&fb, &fc, &damping)
}

/// The matrix of [`flux_matrix_dissipation`] at the face between b and c, column-major: |A| with its eigenvalues kept from
/// vanishing.
#[inline(always)]
pub fn dissipation_matrix<T: Real>(
    gas: Gas<T>,
    wb: &[T; 5],
    wc: &[T; 5],
    n: &[T; 3],
    dissipation: Dissipation<T>,
) -> [T; 25] {
    let mut mean = [T::c(0.0); 5];
    for i in 0..5 {
        mean[i] = T::c(0.5) * (wb[i] + wc[i]);
    }
    let mut out = [T::c(0.0); 25];
    for column in 0..5 {
        let mut unit = [T::c(0.0); 5];
        unit[column] = T::c(1.0);
        let image = absolute_times(gas, &mean, n, dissipation, &unit);
        for row in 0..5 {
            out[5 * column + row] = image[row];
        }
    }
    out
}

/// |A| x at the state `w`, times the area, with eigenvalues of at least the given parts of the spectral radius.
#[inline(always)]
fn absolute_times<T: Real>(
    gas: Gas<T>,
    w: &[T; 5],
    n: &[T; 3],
    dissipation: Dissipation<T>,
    x: &[T; 5],
) -> [T; 5] {
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let unit = [n[0] / area, n[1] / area, n[2] / area];
    let [_, u, v, s, _] = *w;
    let normal_velocity = u * unit[0] + v * unit[1] + s * unit[2];
    let sound = sound_speed(gas, w);
    let radius = normal_velocity.abs() + sound;
    let floor = dissipation.acoustic * radius;
    let l1 = (normal_velocity - sound).abs().max(floor);
    let l2 = normal_velocity.abs().max(dissipation.convective * radius);
    let l3 = (normal_velocity + sound).abs().max(floor);
    let g1 = gas.gamma - T::c(1.0);
    let kinetic = T::c(0.5) * (u * u + v * v + s * s);
    let d_pressure = g1 * (kinetic * x[0] - u * x[1] - v * x[2] - s * x[3] + x[4]);
    let d_mass = unit[0] * x[1] + unit[1] * x[2] + unit[2] * x[3] - normal_velocity * x[0];
    let mean = area * (T::c(0.5) * (l3 + l1) - l2);
    let half = area * T::c(0.5) * (l3 - l1) / sound;
    let first = mean / (sound * sound) * d_pressure + half * d_mass;
    let second = half * d_pressure + mean * d_mass;
    let plain = area * l2;
    [
        plain * x[0] + first,
        plain * x[1] + u * first + unit[0] * second,
        plain * x[2] + v * first + unit[1] * second,
        plain * x[3] + s * first + unit[2] * second,
        plain * x[4] + total_enthalpy(gas, w) * first + normal_velocity * second,
    ]
}

/// Value at a face extrapolated from the cells before it, `far` and `near`, with the cell after it `beyond`:
/// near + s/4 ((1 - k s)(near - far) + (1 + k s)(beyond - near)), s van Albada's limiter or 1 where `limited` is 0.
///
/// **Source**: van Leer 1979; van Albada, van Leer & Roberts 1982; in this form Anderson, Thomas & van Leer 1986.
#[inline(always)]
pub fn extrapolate_muscl<T: Real>(far: T, near: T, beyond: T, kappa: T, limited: T) -> T {
    let one = T::c(1.0);
    let back = near - far;
    let ahead = beyond - near;
    // Relative to the value, so that round-off is no extremum.
    let tiny = T::c(1e-12) * near * near + T::c(1e-20);
    let smooth = (T::c(2.0) * back * ahead + tiny) / (back * back + ahead * ahead + tiny);
    let s = one - limited * (one - smooth.max(T::c(0.0)));
    near + T::c(0.25) * s * ((one - kappa * s) * back + (one + kappa * s) * ahead)
}

/// Roe's flux between the extrapolations of the primitive variables from both sides ([`extrapolate_muscl`]); cells as in
/// [`flux_scalar_dissipation`].
#[inline(always)]
pub fn flux_roe_muscl<T: Real>(
    gas: Gas<T>,
    wa: &[T; 5],
    wb: &[T; 5],
    wc: &[T; 5],
    wd: &[T; 5],
    n: &[T; 3],
    kappa: T,
    limited: T,
    fix: EntropyFix<T>,
) -> [T; 5] {
    let mut left = [T::c(0.0); 5];
    let mut right = [T::c(0.0); 5];
    for i in 0..5 {
        left[i] = extrapolate_muscl(wa[i], wb[i], wc[i], kappa, limited);
        right[i] = extrapolate_muscl(wd[i], wc[i], wb[i], kappa, limited);
    }
    flux_roe(gas, &left, &right, n, fix)
}
