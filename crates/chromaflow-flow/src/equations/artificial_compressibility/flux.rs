//! Fluxes of the artificial-compressibility system.
//!
//! States are (p, u, v, w): pressure over density and velocity. With beta the square of the pseudo-sound speed at rest,
//! Q_t + div F = 0 has F . n = (beta V, u V + p n), V = u . n, and the eigenvalues V, V, V - c, V + c with
//! c^2 = V^2 + beta (unit n). F is quadratic: the Jacobian at the mean of two states takes their difference exactly to the
//! difference of their fluxes, so that Roe's average is the arithmetic mean.
//!
//! **Source**: Chorin 1967; Rogers & Kwak 1990 for the upwind scheme.

use crate::real::Real;

/// Flux through the area `n`: (beta V, u V + p n).
///
/// **Units**: of `n` times those of the state; `beta` velocity squared.
///
/// ```
/// use chromaflow_flow::equations::artificial_compressibility::flux_incompressible;
/// assert_eq!(flux_incompressible(2.0, &[3.0, 1.0, 0.0, 0.0], &[0.5, 0.0, 0.0]), [1.0, 2.0, 0.0, 0.0]);
/// ```
#[inline(always)]
pub fn flux_incompressible<T: Real>(beta: T, q: &[T; 4], n: &[T; 3]) -> [T; 4] {
    let [p, u, v, w] = *q;
    let volume = u * n[0] + v * n[1] + w * n[2];
    [beta * volume, u * volume + p * n[0], v * volume + p * n[1], w * volume + p * n[2]]
}

/// d(F . n)/dQ, column-major 4 x 4.
#[inline(always)]
pub fn flux_incompressible_jacobian<T: Real>(beta: T, q: &[T; 4], n: &[T; 3]) -> [T; 16] {
    let volume = q[1] * n[0] + q[2] * n[1] + q[3] * n[2];
    let mut a = [T::c(0.0); 16];
    for i in 0..3 {
        a[1 + i] = n[i];
        a[4 * (1 + i)] = beta * n[i];
        for j in 0..3 {
            a[4 * (1 + j) + 1 + i] = q[1 + i] * n[j];
        }
        a[4 * (1 + i) + 1 + i] += volume;
    }
    a
}

/// d(F . n)/dQ times `dq`.
#[inline(always)]
pub fn flux_incompressible_derivative<T: Real>(beta: T, q: &[T; 4], dq: &[T; 4], n: &[T; 3]) -> [T; 4] {
    let volume = q[1] * n[0] + q[2] * n[1] + q[3] * n[2];
    let change = dq[1] * n[0] + dq[2] * n[1] + dq[3] * n[2];
    [
        beta * change,
        q[1] * change + dq[1] * volume + dq[0] * n[0],
        q[2] * change + dq[2] * volume + dq[0] * n[1],
        q[3] * change + dq[3] * volume + dq[0] * n[2],
    ]
}

/// Largest eigenvalue in size, |V| + c, times the area.
#[inline(always)]
pub fn spectral_radius_incompressible<T: Real>(beta: T, q: &[T; 4], n: &[T; 3]) -> T {
    let volume = q[1] * n[0] + q[2] * n[1] + q[3] * n[2];
    volume.abs() + (volume * volume + beta * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2])).sqrt()
}

/// PseudoWaves along a normal at a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct PseudoWaves<T> {
    velocity: [T; 3],
    /// Unit normal.
    normal: [T; 3],
    area: T,
    /// V - c, V, V + c along the unit normal.
    pub lambda: [T; 3],
    /// 1 / c
    slowness: T,
}

#[inline(always)]
pub(super) fn pseudo_waves<T: Real>(beta: T, q: &[T; 4], n: &[T; 3]) -> PseudoWaves<T> {
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    let inverse = T::c(1.0) / area.max(T::c(1e-300));
    let normal = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let v = q[1] * normal[0] + q[2] * normal[1] + q[3] * normal[2];
    let c = (v * v + beta).sqrt();
    let velocity = [q[1], q[2], q[3]];
    PseudoWaves { velocity, normal, area, lambda: [v - c, v, v + c], slowness: T::c(1.0) / c }
}

/// f(A) dQ for the function f of the eigenvalues that is `f` = (f(V - c), f(V), f(V + c)).
///
/// With dV = n . du, the strengths of the two acoustic waves are (dp + (V + c) dV)/2c and -(dp + (V - c) dV)/2c, and their
/// vectors (-(V -+ c), +-(u - (V -+ c) n)/c); what remains of dQ travels with V.
#[inline(always)]
pub(super) fn pseudo_wave_function<T: Real>(x: &PseudoWaves<T>, f: &[T; 3], dq: &[T; 4]) -> [T; 4] {
    let [minus, _, plus] = x.lambda;
    let dv = x.normal[0] * dq[1] + x.normal[1] * dq[2] + x.normal[2] * dq[3];
    let half = T::c(0.5) * x.slowness;
    let up = (f[2] - f[1]) * half * (dq[0] + plus * dv);
    let down = (f[1] - f[0]) * half * (dq[0] + minus * dv);
    let along = x.slowness * (up - down);
    let across = x.slowness * (down * plus - up * minus);
    [
        f[1] * dq[0] - up * minus - down * plus,
        f[1] * dq[1] + along * x.velocity[0] + across * x.normal[0],
        f[1] * dq[2] + along * x.velocity[1] + across * x.normal[1],
        f[1] * dq[3] + along * x.velocity[2] + across * x.normal[2],
    ]
}

/// f(A) as a matrix, column-major 4 x 4, see [`pseudo_wave_function`].
#[inline(always)]
pub(super) fn pseudo_wave_matrix<T: Real>(x: &PseudoWaves<T>, f: &[T; 3]) -> [T; 16] {
    let mut a = [T::c(0.0); 16];
    for c in 0..4 {
        let mut unit = [T::c(0.0); 4];
        unit[c] = T::c(1.0);
        let column = pseudo_wave_function(x, f, &unit);
        for r in 0..4 {
            a[4 * c + r] = column[r];
        }
    }
    a
}

/// |V - c|, |V|, |V + c| times the area; the first and the last need no absolute value.
#[inline(always)]
pub(super) fn pseudo_wave_sizes<T: Real>(x: &PseudoWaves<T>) -> [T; 3] {
    [-x.area * x.lambda[0], x.area * x.lambda[1].abs(), x.area * x.lambda[2]]
}

#[inline(always)]
pub(super) fn mean_state<T: Real>(l: &[T; 4], r: &[T; 4]) -> [T; 4] {
    let half = T::c(0.5);
    [half * (l[0] + r[0]), half * (l[1] + r[1]), half * (l[2] + r[2]), half * (l[3] + r[3])]
}

/// Roe's flux, (F(ql) + F(qr)) . n / 2 - |A| (qr - ql) / 2 with A at the mean state.
///
/// Shear waves are damped by |V| alone: nothing where the flow runs along the face.
///
/// ```
/// use chromaflow_flow::equations::artificial_compressibility::{flux_incompressible, flux_incompressible_roe};
/// let (q, n) = ([0.3, 1.0, -0.5, 0.2], [0.1, 0.7, 0.0]);
/// assert_eq!(flux_incompressible_roe(1.0, &q, &q, &n), flux_incompressible(1.0, &q, &n));
/// ```
#[inline(always)]
pub fn flux_incompressible_roe<T: Real>(beta: T, ql: &[T; 4], qr: &[T; 4], n: &[T; 3]) -> [T; 4] {
    let x = pseudo_waves(beta, &mean_state(ql, qr), n);
    let dq = [qr[0] - ql[0], qr[1] - ql[1], qr[2] - ql[2], qr[3] - ql[3]];
    let damped = pseudo_wave_function(&x, &pseudo_wave_sizes(&x), &dq);
    let fl = flux_incompressible(beta, ql, n);
    let fr = flux_incompressible(beta, qr, n);
    let mut out = [T::c(0.0); 4];
    for i in 0..4 {
        out[i] = T::c(0.5) * (fl[i] + fr[i] - damped[i]);
    }
    out
}

/// Derivatives of [`flux_incompressible_roe`] by the left and the right state with |A| held fixed, (A(ql) + |A|)/2 and
/// (A(qr) - |A|)/2, times `dq`: with a unit vector one column of each. Exact where the two states agree.
#[inline(always)]
pub fn flux_incompressible_roe_derivatives<T: Real>(
    beta: T,
    ql: &[T; 4],
    qr: &[T; 4],
    n: &[T; 3],
    dq: &[T; 4],
) -> ([T; 4], [T; 4]) {
    let x = pseudo_waves(beta, &mean_state(ql, qr), n);
    let damped = pseudo_wave_function(&x, &pseudo_wave_sizes(&x), dq);
    let mut left = flux_incompressible_derivative(beta, ql, dq, n);
    let mut right = flux_incompressible_derivative(beta, qr, dq, n);
    for i in 0..4 {
        left[i] = T::c(0.5) * (left[i] + damped[i]);
        right[i] = T::c(0.5) * (right[i] - damped[i]);
    }
    (left, right)
}

/// Central flux with matrix dissipation: F at the mean of the two states beside the face, and |A| times the third difference of
/// the four around it times `fourth` (1/32 as a rule; Roe's flux between extrapolations of kappa has (1 - kappa)/8). |V| counts
/// as at least `convective` times |V| + c, so that shear along the faces is smoothed a little, too.
///
/// **Source**: Jameson, Schmidt & Turkel 1981 for the differences; Swanson & Turkel, *On central-difference and upwind schemes*
/// (1992), for the matrix and the bound.
#[inline(always)]
pub fn flux_incompressible_central<T: Real>(
    beta: T,
    before: &[T; 4],
    left: &[T; 4],
    right: &[T; 4],
    after: &[T; 4],
    n: &[T; 3],
    fourth: T,
    convective: T,
) -> [T; 4] {
    let mean = mean_state(left, right);
    let x = pseudo_waves(beta, &mean, n);
    let sizes = pseudo_wave_sizes(&x);
    let bounded = [sizes[0], sizes[1].max(convective * sizes[0].max(sizes[2])), sizes[2]];
    let mut third = [T::c(0.0); 4];
    for i in 0..4 {
        third[i] = after[i] - before[i] - T::c(3.0) * (right[i] - left[i]);
    }
    let damped = pseudo_wave_function(&x, &bounded, &third);
    let f = flux_incompressible(beta, &mean, n);
    let mut out = [T::c(0.0); 4];
    for i in 0..4 {
        out[i] = f[i] + fourth * damped[i];
    }
    out
}

/// What carries a scalar through a face: the volume that flows, from the upwind side.
///
/// `volume` is the pressure equation's flux over beta, so that a uniform scalar stays uniform wherever the discrete
/// divergence vanishes.
#[inline(always)]
pub fn flux_scalar<T: Real>(volume: T, left: T, right: T) -> T {
    T::c(0.5) * (volume * (left + right) - volume.abs() * (right - left))
}

/// The gradient along a face's area vector from the differences of a value along the grid's three directions: `across`
/// between the two cells of the face, and along the face the four central differences of its cells (over two cells),
/// `first` and `second`. `metric` holds the products of the face's area with the areas of the three directions, over its
/// volume.
#[inline(always)]
pub fn normal_slope<T: Real>(metric: &[T; 3], across: T, first: &[T; 2], second: &[T; 2]) -> T {
    metric[0] * across
        + T::c(0.25) * (metric[1] * (first[0] + first[1]) + metric[2] * (second[0] + second[1]))
}
