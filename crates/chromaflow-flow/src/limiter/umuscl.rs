//! Extrapolation along an edge.

use crate::real::Real;

/// Value at the middle of the edge from node i to node j, seen from i:
/// q_i + phi/2 (kappa (q_j - q_i) + (1 - kappa) grad q_i . dx), with `projected` = grad q_i . dx, dx from i to j.
///
/// From j's side, pass q_j, q_i and -grad q_j . dx.
///
/// **Source**: UMUSCL, Burg 2005; kappa = 0 uses the gradient alone; on even spacing 1/2 interpolates values at nodes to third order
/// (QUICK, Leonard 1979), 1/3 means of cells.
///
/// ```
/// use chromaflow_flow::limiter::extrapolate;
/// // Exact for linear fields, whatever kappa is.
/// assert_eq!(extrapolate(1.0, 3.0, 2.0, 0.5, 1.0), 2.0);
/// ```
#[inline(always)]
pub fn extrapolate<T: Real>(own: T, other: T, projected: T, kappa: T, phi: T) -> T {
    own + T::c(0.5) * phi * (kappa * (other - own) + (T::c(1.0) - kappa) * projected)
}

/// Van Albada's s in `[0, 1]` of the two differences of an edge: 2x with x = (a b + eps2/2)/(a^2 + b^2 + eps2),
/// brought to 0 by a cubic where x < 0.05, so that it is continuously differentiable also where b changes its sign.
///
/// **Source**: van Albada, van Leer & Roberts 1982; the end at zero is ours.
#[inline(always)]
pub fn van_albada<T: Real>(a: T, b: T, eps2: T) -> T {
    let eps2 = eps2.max(T::c(1e-30));
    let x = (a * b + T::c(0.5) * eps2) / (a * a + b * b + eps2);
    let t = (x * T::c(20.0)).max(T::c(0.0)).min(T::c(1.0));
    let end = T::c(0.05) * t * t * (T::c(4.0) - T::c(2.0) * t);
    T::select(x.ge(T::c(0.05)), T::c(2.0) * x, end)
}

/// As [`extrapolate`], limited by van Albada's s of the central difference d = q_j - q_i and the upwind difference
/// 2 grad q_i . dx - d: q_i + s/4 ((1 - kappa s) upwind + (1 + kappa s) d).
///
/// `eps2` is as in [`limiter_venkatakrishnan`](super::limiter_venkatakrishnan): differences well below its root
/// are not limited.
#[inline(always)]
pub fn extrapolate_van_albada<T: Real>(own: T, other: T, projected: T, kappa: T, eps2: T) -> T {
    let central = other - own;
    let upwind = T::c(2.0) * projected - central;
    let s = van_albada(central, upwind, eps2);
    let ks = kappa * s;
    own + T::c(0.25) * s * ((T::c(1.0) - ks) * upwind + (T::c(1.0) + ks) * central)
}

/// The square of the changes of density or pressure that van Albada's limiter leaves alone between two nodes with the values `a` and `b`: `eps2`, that of
/// changes which are small in the stream, but no more than (2 min(a, b))^2.
///
/// A face's value is the node's plus half of a difference: one of twice the node's own value takes all of it. In the dead water behind a base in
/// supersonic flow, a tenth as dense as the stream, all differences are small in the stream.
///
/// ```
/// use chromaflow_flow::limiter::small;
/// assert_eq!([small(0.25, 1.0, 0.9), small(0.25, 1.0, 0.125)], [0.25, 0.0625]);
/// ```
#[inline(always)]
pub fn small<T: Real>(eps2: T, a: T, b: T) -> T {
    let most = T::c(2.0) * a.min(b);
    eps2.min(most * most)
}

/// Part of an extrapolation that is kept at strong shocks: 1/(1 + t^2), t = (a^2 + b^2)/T^2, with a and b the pressure's difference to
/// the other node and its gradient along the edge, both over the node's own pressure, and T = 3/2.
///
/// A node before a shock has a pressure that its gradient has nothing to do with; its face state would be far out of bounds. Where the
/// pressure changes by less than its half from node to node, as in smooth flow and in transonic shocks, 0.99 and more is kept.
///
/// ```
/// use chromaflow_flow::limiter::shock_switch;
/// assert!(shock_switch(1.0, 1.3, 0.3) > 0.99); // smooth
/// assert!(shock_switch(1.0, 10.3, 4.0) < 0.01); // before a shock at Mach 3
/// assert!(shock_switch(10.3, 1.0, -4.0) > 0.8); // behind it
/// ```
#[inline(always)]
pub fn shock_switch<T: Real>(own: T, other: T, projected: T) -> T {
    let (change, square) = (other - own, T::c(2.25) * own * own);
    let steep = change * change + projected * projected;
    square * square / (square * square + steep * steep)
}

/// Keeps an extrapolated density or pressure positive: unchanged from a quarter of the node's own value upwards; below
/// it follows t0^2/(2 t0 - t), t the ratio to the node's value and t0 = 1/4, which is positive for every t and continues the
/// line with its slope.
///
/// ```
/// use chromaflow_flow::limiter::keep_positive;
/// assert_eq!(keep_positive(0.3, 1.0), 0.3);
/// assert!(keep_positive(-5.0, 1.0) > 0.0);
/// ```
#[inline(always)]
pub fn keep_positive<T: Real>(extrapolated: T, own: T) -> T {
    let floor = T::c(0.25) * own;
    let below = extrapolated.lt(floor);
    // The quotient is not used above the floor: kept away from zero there.
    let under = T::c(2.0) * floor - T::select(below, extrapolated, floor);
    T::select(below, floor * floor / under, extrapolated)
}
