//! Fluxes of structured grids, from the two cells on each side of a face: central differences with second and fourth
//! difference dissipation, and Roe's flux between limited extrapolations.

use super::euler::{WaveFactors, wave_matrix, wave_speeds};
use super::positive::flux_kept_positive;
use super::roe::{RoeFix, flux_roe, low_mach_factor2, slow_factors, slow_waves};
use crate::gas::Gas;
use crate::real::Real;

/// Coefficients of the dissipation of central schemes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dissipation<T> {
    /// Of the second differences, times the pressure switch: acts at shocks.
    pub second: T,
    /// Of the fourth differences: acts everywhere but at shocks.
    pub fourth: T,
    /// Matrix dissipation: smallest |V +- c| over the spectral radius, at most 1.
    pub acoustic: T,
    /// Matrix dissipation: smallest |V| over the spectral radius.
    pub convective: T,
    /// The Mach number below which dissipation shrinks no further, as [`RoeFix::cutoff_mach`]; 1 for the same at every speed. The solver of
    /// structured grids puts its own here, see [`StructuredConfig::cutoff_mach`](crate::structured::StructuredConfig::cutoff_mach).
    pub cutoff_mach: T,
}

impl Dissipation<f64> {
    /// 1/2 and 1/32 with floors of 0.25 and 0.1, the same at every speed: robust, Euler flows.
    pub const DEFAULT: Self =
        Self { second: 0.5, fourth: 1.0 / 32.0, acoustic: 0.25, convective: 0.1, cutoff_mach: 1.0 };

    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> Dissipation<T> {
        Dissipation {
            second: T::c(self.second),
            fourth: T::c(self.fourth),
            acoustic: T::c(self.acoustic),
            convective: T::c(self.convective),
            cutoff_mach: T::c(self.cutoff_mach),
        }
    }
}

/// Jameson's pressure switch at the middle one of three cells, |p+ - 2 p + p-| / (p+ + 2 p + p-): of second order
/// in smooth flow, near 1 at shocks.
///
/// **Source**: Jameson, Schmidt & Turkel 1981.
#[inline(always)]
pub fn pressure_switch<T: Real>(before: T, here: T, after: T) -> T {
    let [bend, sum] = switch_parts(before, here, after);
    bend / sum
}

/// Numerator and denominator of the pressure switch, halved.
#[inline(always)]
fn switch_parts<T: Real>(before: T, here: T, after: T) -> [T; 2] {
    let sides = T::c(0.5) * (before + after);
    [(sides - here).abs(), sides + here]
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

/// The weights of c - b and of d - a in the dissipation e2 (c - b) - e4 (d - 3c + 3b - a) at the face between the second and the
/// third of four cells: e2 goes with the larger pressure switch of both, e4 with what that leaves.
#[inline(always)]
fn weights<T: Real>(pressure: &[T; 4], dissipation: Dissipation<T>) -> [T; 2] {
    let left = switch_parts(pressure[0], pressure[1], pressure[2]);
    let right = switch_parts(pressure[1], pressure[2], pressure[3]);
    // The larger of two quotients by one.
    let larger = (left[0] * right[1]).max(right[0] * left[1]) / (left[1] * right[1]);
    let second = dissipation.second * larger;
    let fourth = (dissipation.fourth - second).max(T::c(0.0));
    [second + T::c(3.0) * fourth, fourth]
}

/// (F(b) + F(c)) . n / 2 with `half` = n / 2, and the velocities V through n / 2 on both sides.
#[inline(always)]
fn central_mean<T: Real>(b: &CentralCell<T>, c: &CentralCell<T>, half: &[T; 3]) -> ([T; 5], [T; 2]) {
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
    (mean, [vb, vc])
}

/// f^2 of [`RoeFix`] at a face, by the Mach number of the two cells' mean squares.
#[inline(always)]
fn slow_factor2<T: Real>(b: &CentralCell<T>, c: &CentralCell<T>, cutoff_mach: T) -> T {
    let (by_b, by_c) = (b.inverse * b.inverse, c.inverse * c.inverse);
    let mut square = T::c(0.0);
    for i in 1..4 {
        square += b.q[i] * b.q[i] * by_b + c.q[i] * c.q[i] * by_c;
    }
    low_mach_factor2(square / (b.sound * b.sound + c.sound * c.sound), cutoff_mach)
}

/// Central flux with scalar dissipation: (F(wb) + F(wc)) . n / 2 - r (e2 (c - b) - e4 (d - 3c + 3b - a)), where
/// r is the face's spectral radius |V| + c |n| and the differences are of (rho, rho u, rho H), so that a uniform
/// total enthalpy stays uniform. In slow flow, f < 1 of [`RoeFix`], r is |V'| + c' of its P A, and the differences are multiplied by P^-1: those of
/// pressure by 1/f^2, which is (1/f^2 - 1) dp/c^2 (1, u, H) more, so that velocities dissipate by the speed of the flow and pressures of neighbors stay coupled.
///
/// The face lies between the cells b and c; a is before b, d after c; `n` points from b to c. Where states differ so much that density or pressure could
/// become negative the local Lax-Friedrichs flux takes its place in part.
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
    let half = [T::c(0.5) * n[0], T::c(0.5) * n[1], T::c(0.5) * n[2]];
    let (mean, speeds) = central_mean(b, c, &half);
    let area = (half[0] * half[0] + half[1] * half[1] + half[2] * half[2]).sqrt();
    let (normal, sound) = (speeds[0].abs() + speeds[1].abs(), (b.sound + c.sound) * area);
    let f2 = slow_factor2(b, c, dissipation.cutoff_mach);
    // V' + c' less V + c: nothing but in slow flow.
    let difference = T::c(0.5) * (normal - f2 * normal);
    let slower = (difference * difference + f2 * (sound * sound)).sqrt() - difference - sound;
    let radius = normal + sound + T::select(f2.lt(T::c(1.0)), slower, T::c(0.0));
    let [near, far] = weights(&[a.pressure, b.pressure, c.pressure, d.pressure], dissipation);
    let (near, far) = (radius * near, radius * far);
    let d_pressure = near * (c.pressure - b.pressure) - far * (d.pressure - a.pressure);
    // P^-1, at the mean of (1, u, H).
    let more = (T::c(1.0) - f2) / (f2 * (b.sound * b.sound + c.sound * c.sound)) * d_pressure;
    let mut flux = [T::c(0.0); 5];
    for i in 0..5 {
        let along = b.q[i] * b.inverse + c.q[i] * c.inverse;
        flux[i] = mean[i] - near * (c.q[i] - b.q[i]) + far * (d.q[i] - a.q[i]) - more * along;
    }
    flux_kept_positive(b, c, &half, &speeds, &mean, &flux)
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
    let half = [T::c(0.5) * n[0], T::c(0.5) * n[1], T::c(0.5) * n[2]];
    let (mean, speeds) = central_mean(b, c, &half);
    let [near, far] = weights(&[a.pressure, b.pressure, c.pressure, d.pressure], dissipation);
    let mut x = [T::c(0.0); 5];
    for i in 0..4 {
        x[i] = near * (c.q[i] - b.q[i]) - far * (d.q[i] - a.q[i]);
    }
    // rho E = rho H - p.
    x[4] = near * (c.q[4] - b.q[4] - (c.pressure - b.pressure))
        - far * (d.q[4] - a.q[4] - (d.pressure - a.pressure));
    let mut velocity = [T::c(0.0); 3];
    for i in 0..3 {
        velocity[i] = T::c(0.5) * (b.q[1 + i] * b.inverse + c.q[1 + i] * c.inverse);
    }
    let [u, v, s] = velocity;
    let normal_velocity = speeds[0] + speeds[1];
    let sound2 = gas.gamma * (b.pressure + c.pressure) / (b.q[0] + c.q[0]);
    let kinetic = T::c(0.5) * (u * u + v * v + s * s);
    let f = floored_factors(normal_velocity, sound2, kinetic, n, dissipation);
    let g1 = gas.gamma - T::c(1.0);
    let d_pressure = g1 * (x[4] + kinetic * x[0] - u * x[1] - v * x[2] - s * x[3]);
    let d_mass = n[0] * x[1] + n[1] * x[2] + n[2] * x[3] - normal_velocity * x[0];
    let first = f.first_by_pressure * d_pressure + f.first_by_mass * d_mass;
    let second = f.second_by_pressure * d_pressure + f.second_by_mass * d_mass;
    let enthalpy = kinetic + T::c(1.0) / g1 * sound2;
    let flux = [
        mean[0] - f.diagonal * x[0] - first,
        mean[1] - f.diagonal * x[1] - u * first - n[0] * second,
        mean[2] - f.diagonal * x[2] - v * first - n[1] * second,
        mean[3] - f.diagonal * x[3] - s * first - n[2] * second,
        mean[4] - f.diagonal * x[4] - enthalpy * first - normal_velocity * second,
    ];
    flux_kept_positive(b, c, &half, &speeds, &mean, &flux)
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
    let mut velocity = [T::c(0.0); 3];
    for i in 0..3 {
        velocity[i] = T::c(0.5) * (wb[1 + i] + wc[1 + i]);
    }
    let [u, v, s] = velocity;
    let normal_velocity = u * n[0] + v * n[1] + s * n[2];
    let sound2 = gas.gamma * (wb[4] + wc[4]) / (wb[0] + wc[0]);
    let kinetic = T::c(0.5) * (u * u + v * v + s * s);
    let factors = floored_factors(normal_velocity, sound2, kinetic, n, dissipation);
    let enthalpy = kinetic + sound2 / (gas.gamma - T::c(1.0));
    wave_matrix(gas, &velocity, enthalpy, n, normal_velocity, factors)
}

/// Factors of |A| with eigenvalues of at least the given parts of the spectral radius, V through the area n; in slow flow of P^-1 |P A|, as
/// [`RoeFix`] has it.
#[inline(always)]
fn floored_factors<T: Real>(
    normal_velocity: T,
    sound2: T,
    kinetic: T,
    n: &[T; 3],
    dissipation: Dissipation<T>,
) -> WaveFactors<T> {
    let x = wave_speeds(normal_velocity, sound2, n);
    let f2 = low_mach_factor2(T::c(2.0) * kinetic / sound2, dissipation.cutoff_mach);
    let waves = slow_waves(&x, f2);
    let fast = waves.middle + waves.sound;
    let slow = (waves.middle - waves.sound).abs().max(dissipation.acoustic * fast);
    slow_factors(&x, f2, &waves, slow, x.middle.max(dissipation.convective * fast))
}

/// Values at the lower and the upper face of a cell, extrapolated from its own, `here`, with those before and after it:
/// here -+ s/4 ((1 + k s) near + (1 - k s) far), where near is the change between this cell and the one beyond the face, far
/// that on the other side, and s is van Albada's limiter or 1 where `limited` is 0. Both have the same s. Changes well below a thousandth of the value, or
/// of the stream's speed of sound (density, pressure), are left alone: in the undisturbed stream there is nothing to limit, and what is no larger than the
/// differences of a Newton-Krylov step would be an extremum in one state and none in the next.
///
/// **Units**: states over the stream's density and speed of sound. **Source**: van Leer 1979; van Albada, van Leer & Roberts 1982; in this form Anderson, Thomas & van Leer 1986.
#[inline(always)]
pub fn extrapolate_muscl<T: Real>(before: T, here: T, after: T, kappa: T, limited: T) -> [T; 2] {
    let (back, ahead) = (here - before, after - here);
    let (slope, bend) = (after - before, ahead - back);
    let tiny = T::c(1e-6) * (here * here + T::c(1.0));
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
    fix: RoeFix<T>,
) -> [T; 5] {
    let mut left = [T::c(0.0); 5];
    let mut right = [T::c(0.0); 5];
    for i in 0..5 {
        left[i] = extrapolate_muscl(wa[i], wb[i], wc[i], kappa, limited)[1];
        right[i] = extrapolate_muscl(wb[i], wc[i], wd[i], kappa, limited)[0];
    }
    flux_roe(gas, &left, &right, n, fix)
}
