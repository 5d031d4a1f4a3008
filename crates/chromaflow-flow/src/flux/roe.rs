//! Roe's approximate Riemann solver.

use super::euler::{WaveFactors, WaveSpeeds, flux_jacobian, wave_matrix, wave_speeds};
use crate::config::FlowConfig;
use crate::gas::Gas;
use crate::real::Real;

/// Where Roe's flux departs from |A|.
///
/// Near zero |lambda| is rounded off (Harten): (lambda^2 + d^2)/(2d) where |lambda| < d, with d a fraction, at most 1, of the
/// spectral radius |V| + c. In slow flow |A| is P^-1 |P A| (Turkel, J. Comput. Phys. 72 (1987) 277; Weiss & Smith, AIAA J. 33 (1995)
/// 2050), where P multiplies changes of pressure by f^2, f = min(1, max(M, cutoff)) with M of Roe's average: changes of velocity
/// dissipate by the speed f c of what is carried instead of c, so that errors do not grow with 1/M, and those of pressure by c/f, which
/// couples neighbors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoeFix<T> {
    /// For V - c and V + c: keeps expansion shocks out, and shocks that stand on a mesh from snapping from one face to the next.
    /// Boundary layers do not feel it: across them V - c and V + c are far from zero.
    pub acoustic: T,
    /// For V, the entropy and shear waves. Zero keeps contacts and boundary layers sharp; a small number makes the
    /// flux differentiable where the flow runs along a face.
    pub convective: T,
    /// The Mach number below which dissipation shrinks no further; 1 for |A| at every speed.
    pub cutoff_mach: T,
    /// What all of the dissipation is multiplied by: 1, and less where large eddies are to live.
    pub dissipation: T,
}

impl RoeFix<f64> {
    /// 0.05 acoustic, 0 convective, |A| at every speed.
    pub const DEFAULT: Self = Self { acoustic: 0.05, convective: 0.0, cutoff_mach: 1.0, dissipation: 1.0 };

    /// The least convective and the largest acoustic fix of [damped](Self::damped) flows.
    pub const DAMPED: [f64; 2] = [0.05, 0.1];

    /// In the residual of a set-up, or the same [damped](Self::damped).
    pub fn of_residual(config: &FlowConfig, damped: bool) -> Self {
        let space = &config.space;
        let (acoustic, convective) = (space.acoustic_fix, space.entropy_fix);
        let fix =
            Self { acoustic, convective, cutoff_mach: config.cutoff_mach(), dissipation: space.dissipation };
        if damped { fix.damped() } else { fix }
    }

    /// For inviscid flows that find no steady state otherwise: entropy and shear are damped by a twentieth of the spectral radius at the
    /// least, so that neighbors along a streamline's sides are coupled; sonic lines and shocks less than by default, so that these may pass
    /// from face to face. Lift and drag of smooth flow change by some thousandths. What it gains was measured (the book's page on
    /// robustness); the bounds are [`Self::DAMPED`], parts of |V| + c as those of the struct.
    ///
    /// ```
    /// use chromaflow_flow::flux::RoeFix;
    ///
    /// let fix = RoeFix { acoustic: 0.3, convective: 0.005, ..RoeFix::DEFAULT };
    /// assert_eq!(fix.damped(), RoeFix { acoustic: 0.1, convective: 0.05, ..fix });
    /// assert_eq!(fix.damped().damped(), fix.damped());
    /// ```
    #[must_use]
    pub fn damped(self) -> Self {
        let [convective, acoustic] = Self::DAMPED;
        Self { convective: self.convective.max(convective), acoustic: self.acoustic.min(acoustic), ..self }
    }

    /// In its matrix, see [`Self::in_matrix`].
    pub fn of_matrix(config: &FlowConfig, damped: bool, hard: bool) -> Self {
        let least = Self::least_in_matrix(hard, config.freestream.mach);
        Self::of_residual(config, damped).in_matrix(least)
    }

    /// In the first-order matrix of a flux with this fix: sound is rounded off by a tenth at the least, entropy and shear by the part `least` of
    /// the spectral radius, and dissipation is whole.
    ///
    /// ```
    /// use chromaflow_flow::flux::RoeFix;
    ///
    /// let fix = RoeFix::DEFAULT.in_matrix(0.4);
    /// assert_eq!([fix.acoustic, fix.convective], [0.1, 0.4]);
    /// ```
    #[must_use]
    pub fn in_matrix(self, least: f64) -> Self {
        let (acoustic, convective) = (self.acoustic.max(0.1), self.convective.max(least));
        Self { acoustic, convective, dissipation: 1.0, ..self }
    }

    /// The least convective fix there: a tenth; the stream's Mach number, up to 1, where systems are `hard` to solve.
    ///
    /// Across thin cells that viscosity does not reach, V is all but zero. A matrix that leaves entropy and shear alone there preconditions
    /// badly: a Krylov method makes these modes of large directions that cancel. What is damped as it is carried along the cells is not lost.
    pub(crate) fn least_in_matrix(hard: bool, mach: f64) -> f64 {
        if hard { mach.clamp(0.1, 1.0) } else { 0.1 }
    }

    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> RoeFix<T> {
        RoeFix {
            acoustic: T::c(self.acoustic),
            convective: T::c(self.convective),
            cutoff_mach: T::c(self.cutoff_mach),
            dissipation: T::c(self.dissipation),
        }
    }
}

/// Roe's average of two states, and the change between them.
#[derive(Clone, Copy, Debug)]
struct RoeAverage<T> {
    /// What the left and the right state count for: the roots of their densities over the sum of both.
    share: [T; 2],
    density: T,
    velocity: [T; 3],
    /// Square of the speed of sound.
    sound2: T,
    /// ur - ul.
    change: [T; 3],
    /// |ur - ul|^2 / 2.
    kinetic: T,
}

/// Roe's average. Its c^2 = (gamma - 1)(H - |u|^2/2) is a cl^2 + b cr^2 + (gamma - 1) a b |ur - ul|^2 / 2 with the shares a
/// and b: positive, and no difference of large numbers.
#[inline(always)]
fn roe_average<T: Real>(gas: Gas<T>, wl: &[T; 5], wr: &[T; 5]) -> RoeAverage<T> {
    let by_density = (wl[0] * wr[0]).rsqrt();
    let ratio = wr[0] * by_density;
    let a = T::c(1.0) / (T::c(1.0) + ratio);
    let b = a * ratio;
    let mut velocity = [T::c(0.0); 3];
    let mut change = [T::c(0.0); 3];
    for i in 0..3 {
        change[i] = wr[1 + i] - wl[1 + i];
        velocity[i] = wl[1 + i] + b * change[i];
    }
    let kinetic = T::c(0.5) * (change[0] * change[0] + change[1] * change[1] + change[2] * change[2]);
    // a / rho_l = b by_density, b / rho_r = a by_density.
    let sound2 = gas.gamma * by_density * (b * wl[4] + a * wr[4]) + (gas.gamma - T::c(1.0)) * a * b * kinetic;
    RoeAverage { share: [a, b], density: wl[0] * ratio, velocity, sound2, change, kinetic }
}

/// `x`, or (x^2 + d^2)/(2d) = x + (d - x)^2/(2d) where x < d; `by_2d` is 1/(2d).
#[inline(always)]
fn rounded<T: Real>(x: T, d: T, by_2d: T) -> T {
    let rest = (d - x).max(T::c(0.0));
    x + rest * rest * by_2d
}

/// f^2 of [`RoeFix`], from the square of the Mach number.
#[inline(always)]
pub fn low_mach_factor2<T: Real>(mach2: T, cutoff_mach: T) -> T {
    mach2.max(cutoff_mach * cutoff_mach).min(T::c(1.0))
}

/// The waves of P A, P as [`RoeFix`] has it, through an area.
///
/// In changes of pressure over rho c and of normal velocity, A is V I + c (0 1; 1 0) and P is diag(f^2, 1), so that P A has the
/// eigenvalues V' +- c' with V' = V (1 + f^2)/2 and c'^2 = V^2 (1 - f^2)^2 / 4 + f^2 c^2, and |P A| = alpha I + beta P A.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowWaves<T> {
    /// |V'|.
    pub(super) middle: T,
    /// c'.
    pub(super) sound: T,
    /// 1/c'.
    pub(super) by_sound: T,
}

/// Waves with the factor f^2.
#[inline(always)]
pub(super) fn slow_waves<T: Real>(x: &WaveSpeeds<T>, f2: T) -> SlowWaves<T> {
    let half = T::c(0.5);
    let middle = half * (x.middle + f2 * x.middle);
    let difference = x.middle - f2 * x.middle;
    let sound = x.fast - x.middle;
    let sound2 = T::c(0.25) * difference * difference + f2 * (sound * sound);
    let by_sound = sound2.rsqrt();
    SlowWaves { middle, sound: sound2 * by_sound, by_sound }
}

/// Factors of P^-1 |P A| with |V' - c'| and |V| as they were kept from vanishing, `slow` and `middle`.
#[inline(always)]
pub(super) fn slow_factors<T: Real>(
    x: &WaveSpeeds<T>,
    f2: T,
    waves: &SlowWaves<T>,
    slow: T,
    middle: T,
) -> WaveFactors<T> {
    let half = T::c(0.5);
    let by_sound2 = x.by_sound * x.by_sound;
    let fast = waves.middle + waves.sound;
    let beta = half * (fast - slow) * waves.by_sound;
    let alpha = half * (fast + slow) - beta * waves.middle;
    let rest = beta * x.middle - middle;
    let by_f = f2.rsqrt();
    let signed = T::select(x.normal_velocity.lt(T::c(0.0)), -beta, beta);
    WaveFactors {
        diagonal: middle,
        first_by_pressure: (alpha * by_f * by_f + rest) * by_sound2 * x.area2,
        first_by_mass: signed,
        second_by_pressure: signed,
        second_by_mass: (alpha + rest) * by_sound2 * x.sound2,
    }
}

/// Factors of P^-1 |P A|, P and the roundings as [`RoeFix`] has them, V through the area n.
#[inline(always)]
fn fixed_factors<T: Real>(
    velocity: &[T; 3],
    normal_velocity: T,
    sound2: T,
    n: &[T; 3],
    fix: RoeFix<T>,
) -> WaveFactors<T> {
    let x = wave_speeds(normal_velocity, sound2, n);
    let [u, v, s] = *velocity;
    let by_sound2 = x.by_sound * x.by_sound;
    let f2 = low_mach_factor2((u * u + v * v + s * s) * (by_sound2 * x.area2), fix.cutoff_mach);
    let waves = slow_waves(&x, f2);
    let fast = waves.middle + waves.sound;
    let acoustic = fix.acoustic.max(T::c(1e-30)) * fast;
    let convective = fix.convective.max(T::c(1e-30)) * fast;
    let by_both = T::c(0.5) / (acoustic * convective);
    let slow = rounded((waves.middle - waves.sound).abs(), acoustic, convective * by_both);
    let middle = rounded(x.middle, convective, acoustic * by_both);
    let factors = slow_factors(&x, f2, &waves, slow, middle);
    let whole = fix.dissipation;
    WaveFactors {
        diagonal: whole * factors.diagonal,
        first_by_pressure: whole * factors.first_by_pressure,
        first_by_mass: whole * factors.first_by_mass,
        second_by_pressure: whole * factors.second_by_pressure,
        second_by_mass: whole * factors.second_by_mass,
    }
}

/// Roe's flux, (F(wl) + F(wr)) . n / 2 - |A| (qr - ql) / 2 with A at Roe's average.
///
/// With the average's u, its shares a, b of the two states, and m = rho V through n / 2, the sum of the two fluxes has the
/// momentum (ml + mr) u + (a mr - b ml)(ur - ul) + (pl + pr) n / 2. |A| dq has the same shape, as d(rho u) = u d(rho) +
/// rho du at the average, and needs only the changes of density, pressure and normal velocity. So neither energies nor
/// eigenvectors are formed.
///
/// **Source**: Roe 1981; for entropy and slow flow see [`RoeFix`].
///
/// ```
/// use chromaflow_flow::flux::{RoeFix, flux, flux_roe};
/// use chromaflow_flow::gas::Gas;
/// // Supersonic from the left: the left state's flux.
/// let (wl, wr, n) = ([1.0, 2.0, 0.1, 0.0, 0.7], [0.9, 1.9, 0.0, 0.0, 0.6], [0.5, 0.0, 0.0]);
/// let (f, upwind) = (flux_roe(Gas::AIR, &wl, &wr, &n, RoeFix::DEFAULT), flux(Gas::AIR, &wl, &n));
/// assert!((0..5).all(|i| (f[i] - upwind[i]).abs() < 1e-14));
/// ```
#[inline(always)]
pub fn flux_roe<T: Real>(gas: Gas<T>, wl: &[T; 5], wr: &[T; 5], n: &[T; 3], fix: RoeFix<T>) -> [T; 5] {
    // The same for all faces of a loop.
    let by_g1 = T::c(1.0) / (gas.gamma - T::c(1.0));
    let x = roe_average(gas, wl, wr);
    let [a, b] = x.share;
    let half = [T::c(0.5) * n[0], T::c(0.5) * n[1], T::c(0.5) * n[2]];
    let vl = wl[1] * half[0] + wl[2] * half[1] + wl[3] * half[2];
    let vr = wr[1] * half[0] + wr[2] * half[1] + wr[3] * half[2];
    let d_normal = vr - vl;
    let normal_velocity = vl + b * d_normal;
    let f = fixed_factors(&x.velocity, normal_velocity, x.sound2, &half, fix);
    // At Roe's average these linear forms of dq are exact.
    let d_pressure = wr[4] - wl[4];
    let d_mass = x.density * d_normal;
    let first = f.first_by_pressure * d_pressure + f.first_by_mass * d_mass;
    let second = f.second_by_pressure * d_pressure + f.second_by_mass * d_mass;
    let (ml, mr) = (wl[0] * vl, wr[0] * vr);
    let mass = ml + mr - first - f.diagonal * (wr[0] - wl[0]);
    let (bml, amr) = (b * ml, a * mr);
    let by_change = amr - bml - f.diagonal * x.density;
    let pressure = wl[4] + wr[4] - second;
    let half_mass = T::c(0.5) * mass;
    let mut momentum = [T::c(0.0); 3];
    let mut work = T::c(0.0);
    for i in 0..3 {
        // Kinetic energy goes with mass |u|^2 / 2: half of that momentum does work.
        let moved = by_change * x.change[i] + half_mass * x.velocity[i];
        momentum[i] = moved + half_mass * x.velocity[i] + pressure * half[i];
        work += x.velocity[i] * moved;
    }
    let internal = gas.gamma * (vl * wl[4] + vr * wr[4]) - f.diagonal * d_pressure - x.sound2 * first;
    let energy = work + by_g1 * internal + (b * bml + a * amr) * x.kinetic - normal_velocity * second;
    [mass, momentum[0], momentum[1], momentum[2], energy]
}

/// |A| at Roe's average, times the area, as [`RoeFix`] has it; column-major 5 x 5.
#[inline(always)]
pub fn roe_absolute<T: Real>(gas: Gas<T>, wl: &[T; 5], wr: &[T; 5], n: &[T; 3], fix: RoeFix<T>) -> [T; 25] {
    let x = roe_average(gas, wl, wr);
    let [u, v, s] = x.velocity;
    let normal_velocity = u * n[0] + v * n[1] + s * n[2];
    let factors = fixed_factors(&x.velocity, normal_velocity, x.sound2, n, fix);
    let enthalpy = x.sound2 / (gas.gamma - T::c(1.0)) + T::c(0.5) * (u * u + v * v + s * s);
    wave_matrix(gas, &x.velocity, enthalpy, n, normal_velocity, factors)
}

/// Derivatives of Roe's flux by the left and the right conserved state, with |A| held fixed:
/// (A(ql) + |A|)/2 and (A(qr) - |A|)/2. Exact where the two states agree.
///
/// **Shapes**: two column-major 5 x 5 blocks.
#[inline(always)]
pub fn flux_roe_jacobians<T: Real>(
    gas: Gas<T>,
    wl: &[T; 5],
    wr: &[T; 5],
    n: &[T; 3],
    fix: RoeFix<T>,
) -> ([T; 25], [T; 25]) {
    let absolute = roe_absolute(gas, wl, wr, n, fix);
    let mut left = flux_jacobian(gas, wl, n);
    let mut right = flux_jacobian(gas, wr, n);
    for i in 0..25 {
        left[i] = T::c(0.5) * (left[i] + absolute[i]);
        right[i] = T::c(0.5) * (right[i] - absolute[i]);
    }
    (left, right)
}
