//! From node values to the two sides of a face.

use super::{extrapolate, extrapolate_van_albada, keep_positive, shock_switch, small, van_albada};
use crate::real::Real;

/// What keeps extrapolations to a face within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum FaceLimit {
    /// Nothing, at shocks neither.
    Free,
    /// Van Albada's limiter along the edge.
    Edge,
    /// A factor a node and variable.
    Node,
}

/// What the gradient `g` (`[3, 5]`) makes of each variable along `way`.
#[inline(always)]
fn changes_along<T: Real>(g: &[T; 16], way: &[T; 3]) -> [T; 5] {
    let mut changes = [T::c(0.0); 5];
    for v in 0..5 {
        changes[v] = g[v] * way[0] + g[5 + v] * way[1] + g[10 + v] * way[2];
    }
    changes
}

/// Squares of changes that van Albada's limiter leaves alone between two nodes: `eps2`, of density and pressure no more than [`small`] has them.
#[inline(always)]
fn left_alone<T: Real>(eps2: &[T; 5], wl: &[T; 5], wr: &[T; 5]) -> [T; 5] {
    let mut out = *eps2;
    out[0] = small(eps2[0], wl[0], wr[0]);
    out[4] = small(eps2[4], wl[4], wr[4]);
    out
}

/// The two sides of a face by UMUSCL with the weight `kappa`, limited as `limit` says and given up at strong shocks; density and
/// pressure are kept positive.
///
/// `to_r` leads from the left node to the right one and `to_l` back, `gl` and `gr` are the nodes' gradients (`[3, 5]`), `pl` and `pr`
/// their limiters' factors where there are any; `eps2` are squares of changes that van Albada's limiter leaves alone, of density and pressure
/// no more than [`small`] has them.
///
/// ```
/// use chromaflow_flow::limiter::{FaceLimit, face_states};
/// // A linear field, twice as steep along x as its first difference: kappa = 0 takes the gradient alone.
/// let (wl, wr) = ([1.0; 5], [2.0; 5]);
/// let mut g = [0.0; 16];
/// g[..5].fill(2.0);
/// let one = [1.0; 5];
/// let (dx, back) = ([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]);
/// let (l, r) = face_states(FaceLimit::Free, 0.0, &one, &wl, &wr, &dx, &back, &g, &g, &one, &one);
/// assert_eq!((l[1], r[1]), (2.0, 1.0));
/// ```
#[inline(always)]
pub fn face_states<T: Real>(
    limit: FaceLimit,
    kappa: T,
    eps2: &[T; 5],
    wl: &[T; 5],
    wr: &[T; 5],
    to_r: &[T; 3],
    to_l: &[T; 3],
    gl: &[T; 16],
    gr: &[T; 16],
    pl: &[T; 5],
    pr: &[T; 5],
) -> ([T; 5], [T; 5]) {
    let mut l = *wl;
    let mut r = *wr;
    let least2 = left_alone(eps2, wl, wr);
    let (along_l, along_r) = (changes_along(gl, to_r), changes_along(gr, to_l));
    for v in 0..5 {
        if limit == FaceLimit::Edge {
            l[v] = extrapolate_van_albada(wl[v], wr[v], along_l[v], kappa, least2[v]);
            r[v] = extrapolate_van_albada(wr[v], wl[v], along_r[v], kappa, least2[v]);
        } else {
            l[v] = extrapolate(wl[v], wr[v], along_l[v], kappa, pl[v]);
            r[v] = extrapolate(wr[v], wl[v], along_r[v], kappa, pr[v]);
        }
    }
    if limit != FaceLimit::Free {
        let kept_l = shock_switch(wl[4], wr[4], along_l[4]);
        let kept_r = shock_switch(wr[4], wl[4], along_r[4]);
        for v in 0..5 {
            l[v] = wl[v] + kept_l * (l[v] - wl[v]);
            r[v] = wr[v] + kept_r * (r[v] - wr[v]);
        }
    }
    l[0] = keep_positive(l[0], wl[0]);
    r[0] = keep_positive(r[0], wr[0]);
    l[4] = keep_positive(l[4], wl[4]);
    r[4] = keep_positive(r[4], wr[4]);
    (l, r)
}

/// Weights of what gradients make of a face's first moments, variable by variable: 1 where nothing is limited, [`van_albada`]'s of the mean gradient along
/// the edge and the difference of the nodes, or the factors of both. Arguments as in [`face_states`].
///
/// ```
/// use chromaflow_flow::limiter::{FaceLimit, moment_weights};
/// let (wl, wr, mut g) = ([1.0; 5], [2.0; 5], [0.0; 16]);
/// g[..5].fill(1.0);
/// let one = [1.0; 5];
/// let weights = |wl: &[f64; 5]| {
///     moment_weights(FaceLimit::Edge, &[1e-12; 5], wl, &wr, &[1.0, 0.0, 0.0], &[-1.0, 0.0, 0.0], &g, &g, &one, &one)
/// };
/// assert!(weights(&wl).iter().all(|w| (w - 1.0).abs() < 1e-9)); // the gradient is the difference
/// assert_eq!(weights(&[2.5; 5]), [0.0; 5]); // they have different signs
/// ```
#[inline(always)]
pub fn moment_weights<T: Real>(
    limit: FaceLimit,
    eps2: &[T; 5],
    wl: &[T; 5],
    wr: &[T; 5],
    to_r: &[T; 3],
    to_l: &[T; 3],
    gl: &[T; 16],
    gr: &[T; 16],
    pl: &[T; 5],
    pr: &[T; 5],
) -> [T; 5] {
    let mut weights = [T::c(1.0); 5];
    let least2 = left_alone(eps2, wl, wr);
    let (along_l, along_r) = (changes_along(gl, to_r), changes_along(gr, to_l));
    for v in 0..5 {
        if limit == FaceLimit::Edge {
            weights[v] = van_albada(T::c(0.5) * (along_l[v] - along_r[v]), wr[v] - wl[v], least2[v]);
        }
        if limit == FaceLimit::Node {
            weights[v] = pl[v] * pr[v];
        }
    }
    weights
}
