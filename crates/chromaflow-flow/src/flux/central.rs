//! Fluxes of structured grids, from the two cells on each side of a face: central differences with second and fourth
//! difference dissipation, and Roe's flux between limited extrapolations.

use super::roe::{EntropyFix, flux_roe};
use crate::gas::{Gas, sound_speed, total_enthalpy};
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

/// What the central fluxes through the faces of a cell share.
#[derive(Clone, Copy, Debug)]
pub struct CentralCell<T> {
    /// (rho, rho u, rho H).
    pub q: [T; 5],
    /// Pressure.
    pub pressure: T,
    /// 1 / rho.
    pub inverse: T,
    /// Speed of sound.
    pub sound: T,
}

/// A cell of the primitive state `w`.
#[inline(always)]
pub fn central_cell<T: Real>(gas: Gas<T>, w: &[T; 5]) -> CentralCell<T> {
    let [rho, u, v, s, p] = *w;
    let inverse = T::c(1.0) / rho;
    let (mu, mv, ms) = (rho * u, rho * v, rho * s);
    // The same for all cells of a loop.
    let share = gas.gamma / (gas.gamma - T::c(1.0));
    let enthalpy = share * p + T::c(0.5) * (mu * u + mv * v + ms * s);
    CentralCell {
        q: [rho, mu, mv, ms, enthalpy],
        pressure: p,
        inverse,
        sound: (gas.gamma * p * inverse).sqrt(),
    }
}

/// The weights of second and fourth differences at the face between the second and the third of four cells.
#[inline(always)]
fn weights<T: Real>(pressure: &[T; 4], dissipation: Dissipation<T>) -> [T; 2] {
    let left = pressure_switch(pressure[0], pressure[1], pressure[2]);
    let right = pressure_switch(pressure[1], pressure[2], pressure[3]);
    let second = dissipation.second * left.max(right);
    [second, (dissipation.fourth - second).max(T::c(0.0))]
}

/// (F(b) + F(c)) . n / 2, with the velocities V through n / 2 on both sides and the length of n / 2.
#[inline(always)]
fn central_mean<T: Real>(b: &CentralCell<T>, c: &CentralCell<T>, n: &[T; 3]) -> ([T; 5], [T; 2], T) {
    let half = [T::c(0.5) * n[0], T::c(0.5) * n[1], T::c(0.5) * n[2]];
    let vb = (b.q[1] * half[0] + b.q[2] * half[1] + b.q[3] * half[2]) * b.inverse;
    let vc = (c.q[1] * half[0] + c.q[2] * half[1] + c.q[3] * half[2]) * c.inverse;
    let mut mean = [T::c(0.0); 5];
    for i in 0..5 {
        mean[i] = b.q[i] * vb + c.q[i] * vc;
    }
    let pressure = b.pressure + c.pressure;
    for i in 0..3 {
        mean[1 + i] += pressure * half[i];
    }
    (mean, [vb, vc], (half[0] * half[0] + half[1] * half[1] + half[2] * half[2]).sqrt())
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
/// assert!(f.iter().zip(flux(Gas::AIR, &w, &n)).all(|(f, exact)| (f - exact).abs() < 1e-15));
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
    let (a, b) = (central_cell(gas, wa), central_cell(gas, wb));
    let (c, d) = (central_cell(gas, wc), central_cell(gas, wd));
    scalar_dissipation_of(&a, &b, &c, &d, n, dissipation)
}

/// As [`flux_scalar_dissipation`], of cells made before.
#[inline(always)]
pub fn scalar_dissipation_of<T: Real>(
    a: &CentralCell<T>,
    b: &CentralCell<T>,
    c: &CentralCell<T>,
    d: &CentralCell<T>,
    n: &[T; 3],
    dissipation: Dissipation<T>,
) -> [T; 5] {
    let (mut flux, speeds, area) = central_mean(b, c, n);
    let radius = speeds[0].abs() + speeds[1].abs() + (b.sound + c.sound) * area;
    let [second, fourth] = weights(&[a.pressure, b.pressure, c.pressure, d.pressure], dissipation);
    let (second, fourth) = (radius * second, radius * fourth);
    for i in 0..5 {
        let step = c.q[i] - b.q[i];
        let third = d.q[i] - a.q[i] - T::c(3.0) * step;
        flux[i] = flux[i] - second * step + fourth * third;
    }
    flux
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
    let (a, b) = (central_cell(gas, wa), central_cell(gas, wb));
    let (c, d) = (central_cell(gas, wc), central_cell(gas, wd));
    matrix_dissipation_of(gas, &a, &b, &c, &d, n, dissipation)
}

/// As [`flux_matrix_dissipation`], of cells made before.
#[inline(always)]
pub fn matrix_dissipation_of<T: Real>(
    gas: Gas<T>,
    a: &CentralCell<T>,
    b: &CentralCell<T>,
    c: &CentralCell<T>,
    d: &CentralCell<T>,
    n: &[T; 3],
    dissipation: Dissipation<T>,
) -> [T; 5] {
    let (flux, _, half) = central_mean(b, c, n);
    let [second, fourth] = weights(&[a.pressure, b.pressure, c.pressure, d.pressure], dissipation);
    let mut x = [T::c(0.0); 5];
    for i in 0..5 {
        let step = c.q[i] - b.q[i];
        x[i] = second * step - fourth * (d.q[i] - a.q[i] - T::c(3.0) * step);
    }
    // rho E = rho H - p.
    let step = c.pressure - b.pressure;
    x[4] -= second * step - fourth * (d.pressure - a.pressure - T::c(3.0) * step);
    let mut mean = [T::c(0.5) * (b.q[0] + c.q[0]), T::c(0.0), T::c(0.0), T::c(0.0), T::c(0.0)];
    for i in 1..4 {
        mean[i] = T::c(0.5) * (b.q[i] * b.inverse + c.q[i] * c.inverse);
    }
    mean[4] = T::c(0.5) * (b.pressure + c.pressure);
    let damping = absolute_times(gas, &mean, n, T::c(2.0) * half, dissipation, &x);
    let mut out = [T::c(0.0); 5];
    for i in 0..5 {
        out[i] = flux[i] - damping[i];
    }
    out
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
    let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    let mut out = [T::c(0.0); 25];
    for column in 0..5 {
        let mut unit = [T::c(0.0); 5];
        unit[column] = T::c(1.0);
        let image = absolute_times(gas, &mean, n, length, dissipation, &unit);
        for row in 0..5 {
            out[5 * column + row] = image[row];
        }
    }
    out
}

/// |A| x at the state `w`, times the area (`length` that of n), with eigenvalues of at least the given parts of the spectral
/// radius.
#[inline(always)]
fn absolute_times<T: Real>(
    gas: Gas<T>,
    w: &[T; 5],
    n: &[T; 3],
    length: T,
    dissipation: Dissipation<T>,
    x: &[T; 5],
) -> [T; 5] {
    let area = length.max(T::c(1e-300));
    let inverse = T::c(1.0) / area;
    let unit = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
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
    let by_sound = T::c(1.0) / sound;
    let half = area * T::c(0.5) * (l3 - l1) * by_sound;
    let first = mean * by_sound * by_sound * d_pressure + half * d_mass;
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

/// Values at the lower and the upper face of a cell, extrapolated from its own, `here`, with those before and after it:
/// here -+ s/4 ((1 + k s) near + (1 - k s) far), where near is the change between this cell and the one beyond the face, far
/// that on the other side, and s is van Albada's limiter or 1 where `limited` is 0. Both have the same s.
///
/// **Source**: van Leer 1979; van Albada, van Leer & Roberts 1982; in this form Anderson, Thomas & van Leer 1986.
#[inline(always)]
pub fn extrapolate_muscl<T: Real>(before: T, here: T, after: T, kappa: T, limited: T) -> [T; 2] {
    let (back, ahead) = (here - before, after - here);
    let (slope, bend) = (after - before, ahead - back);
    // Relative to the value, so that round-off is no extremum.
    let tiny = T::c(1e-12) * here * here + T::c(1e-20);
    let product = T::c(2.0) * back * ahead + tiny;
    // The sum of the squares of both changes is that of the bend and their product twice. The limiter is at most 1.
    let s = (product / (bend * bend + product)).max(T::c(1.0) - limited);
    let (quarter, bend) = (T::c(0.25) * s, kappa * s * bend);
    [here - quarter * (slope - bend), here + quarter * (slope + bend)]
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
        left[i] = extrapolate_muscl(wa[i], wb[i], wc[i], kappa, limited)[1];
        right[i] = extrapolate_muscl(wb[i], wc[i], wd[i], kappa, limited)[0];
    }
    flux_roe(gas, &left, &right, n, fix)
}
