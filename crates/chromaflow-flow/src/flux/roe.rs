//! Roe's approximate Riemann solver.

use super::euler::{WaveFactors, flux, flux_jacobian, wave_matrix};
use crate::gas::{Gas, conserved, total_enthalpy};
use crate::real::Real;

/// Rounding off of |lambda| near zero (Harten): (lambda^2 + d^2)/(2d) where |lambda| < d, with d this fraction of the
/// spectral radius |V| + c.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntropyFix<T> {
    /// For V - c and V + c: keeps expansion shocks out.
    pub acoustic: T,
    /// For V, the entropy and shear waves. Zero keeps contacts and boundary layers sharp; a small number makes the
    /// flux differentiable where the flow runs along a face.
    pub convective: T,
}

impl EntropyFix<f64> {
    /// 0.05 acoustic, 0 convective.
    pub const DEFAULT: Self = Self { acoustic: 0.05, convective: 0.0 };

    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> EntropyFix<T> {
        EntropyFix { acoustic: T::c(self.acoustic), convective: T::c(self.convective) }
    }
}

/// Roe's average and the eigenvalues there.
#[derive(Clone, Copy, Debug)]
struct RoeAverage<T> {
    velocity: [T; 3],
    enthalpy: T,
    sound: T,
    /// Unit normal.
    normal: [T; 3],
    area: T,
    /// Along the unit normal.
    normal_velocity: T,
    /// |V - c|, |V|, |V + c|, rounded off.
    lambda: [T; 3],
}

/// |x|, or (x^2 + d^2)/(2d) where |x| < d; `inverse` is 1/d.
#[inline(always)]
fn rounded_abs<T: Real>(x: T, d: T, inverse: T) -> T {
    let a = x.abs();
    T::select(a.lt(d), T::c(0.5) * (x * x * inverse + d), a)
}

#[inline(always)]
fn roe_average<T: Real>(
    gas: Gas<T>,
    wl: &[T; 5],
    wr: &[T; 5],
    n: &[T; 3],
    fix: EntropyFix<T>,
) -> RoeAverage<T> {
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let inverse = T::c(1.0) / area;
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let root = (wr[0] / wl[0]).sqrt();
    let a = T::c(1.0) / (T::c(1.0) + root);
    let b = root * a;
    let u = a * wl[1] + b * wr[1];
    let v = a * wl[2] + b * wr[2];
    let s = a * wl[3] + b * wr[3];
    let enthalpy = a * total_enthalpy(gas, wl) + b * total_enthalpy(gas, wr);
    let sound2 = (gas.gamma - T::c(1.0)) * (enthalpy - T::c(0.5) * (u * u + v * v + s * s));
    let sound = sound2.sqrt();
    let normal_velocity = u * normal[0] + v * normal[1] + s * normal[2];
    let radius = normal_velocity.abs() + sound;
    let acoustic = (fix.acoustic * radius).max(T::c(1e-30));
    let convective = (fix.convective * radius).max(T::c(1e-30));
    let by_acoustic = T::c(1.0) / acoustic;
    RoeAverage {
        velocity: [u, v, s],
        enthalpy,
        sound,
        normal,
        area,
        normal_velocity,
        lambda: [
            rounded_abs(normal_velocity - sound, acoustic, by_acoustic),
            rounded_abs(normal_velocity, convective, T::c(1.0) / convective),
            rounded_abs(normal_velocity + sound, acoustic, by_acoustic),
        ],
    }
}

/// Factors of |A| |n| in the shape of [`wave_matrix`], with n the unit normal there.
#[inline(always)]
fn absolute_factors<T: Real>(x: &RoeAverage<T>) -> WaveFactors<T> {
    let [l1, l2, l3] = x.lambda;
    let inverse = T::c(1.0) / x.sound;
    let mean = x.area * (T::c(0.5) * (l3 + l1) - l2);
    let half = x.area * T::c(0.5) * (l3 - l1) * inverse;
    WaveFactors {
        diagonal: x.area * l2,
        first_by_pressure: mean * inverse * inverse,
        first_by_mass: half,
        second_by_pressure: half,
        second_by_mass: mean,
    }
}

/// Roe's flux, (F(wl) + F(wr)) . n / 2 - |A| (qr - ql) / 2 with A at Roe's average.
///
/// |A| dq is formed from the two invariants it needs, the changes of pressure and of normal momentum at fixed
/// density, without eigenvectors.
///
/// **Source**: Roe 1981; the entropy fix is Harten's (1983), see [`EntropyFix`].
///
/// ```
/// use chromaflow_flow::flux::{EntropyFix, flux, flux_roe};
/// use chromaflow_flow::gas::Gas;
/// // Supersonic from the left: the left state's flux.
/// let (wl, wr, n) = ([1.0, 2.0, 0.1, 0.0, 0.7], [0.9, 1.9, 0.0, 0.0, 0.6], [0.5, 0.0, 0.0]);
/// let (f, upwind) = (flux_roe(Gas::AIR, &wl, &wr, &n, EntropyFix::DEFAULT), flux(Gas::AIR, &wl, &n));
/// assert!((0..5).all(|i| (f[i] - upwind[i]).abs() < 1e-14));
/// ```
#[inline(always)]
pub fn flux_roe<T: Real>(gas: Gas<T>, wl: &[T; 5], wr: &[T; 5], n: &[T; 3], fix: EntropyFix<T>) -> [T; 5] {
    let x = roe_average(gas, wl, wr, n, fix);
    let f = absolute_factors(&x);
    let ql = conserved(gas, wl);
    let qr = conserved(gas, wr);
    let mut dq = [T::c(0.0); 5];
    for i in 0..5 {
        dq[i] = qr[i] - ql[i];
    }
    let [u, v, s] = x.velocity;
    // At Roe's average these linear forms are exact: d_pressure = pr - pl, d_mass = sqrt(rl rr) (Vr - Vl).
    let d_pressure = wr[4] - wl[4];
    let d_mass = x.normal[0] * dq[1] + x.normal[1] * dq[2] + x.normal[2] * dq[3] - x.normal_velocity * dq[0];
    let first = f.first_by_pressure * d_pressure + f.first_by_mass * d_mass;
    let second = f.second_by_pressure * d_pressure + f.second_by_mass * d_mass;
    let dissipation = [
        f.diagonal * dq[0] + first,
        f.diagonal * dq[1] + u * first + x.normal[0] * second,
        f.diagonal * dq[2] + v * first + x.normal[1] * second,
        f.diagonal * dq[3] + s * first + x.normal[2] * second,
        f.diagonal * dq[4] + x.enthalpy * first + x.normal_velocity * second,
    ];
    let fl = flux(gas, wl, n);
    let fr = flux(gas, wr, n);
    let mut out = [T::c(0.0); 5];
    for i in 0..5 {
        out[i] = T::c(0.5) * (fl[i] + fr[i] - dissipation[i]);
    }
    out
}

/// |A| at Roe's average, times the area, with rounded-off eigenvalues; column-major 5 x 5.
#[inline(always)]
pub fn roe_absolute<T: Real>(
    gas: Gas<T>,
    wl: &[T; 5],
    wr: &[T; 5],
    n: &[T; 3],
    fix: EntropyFix<T>,
) -> [T; 25] {
    let x = roe_average(gas, wl, wr, n, fix);
    wave_matrix(gas, &x.velocity, x.enthalpy, &x.normal, x.normal_velocity, absolute_factors(&x))
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
    fix: EntropyFix<T>,
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
