//! States beyond the boundary.
//!
//! A boundary face's state is the mean of the cell inside and the ghost cell outside, its flux the plain flux of that
//! state; the gradient there comes from the difference of the two. So one ghost state makes the flux, the viscous terms
//! and the reconstruction of the next face agree with the condition to second order.

use super::flux::{mean_state, pseudo_wave_function, pseudo_wave_matrix, pseudo_waves};
use crate::real::Real;

/// What is given at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GhostKind {
    /// The velocity: walls and inflow.
    Velocity,
    /// The pressure: outflow.
    Pressure,
    /// Nothing: a mirror.
    Mirror,
    /// The state far away, by characteristics.
    Far,
}

/// sign(A) in the shape of `pseudo_wave_function`'s `f`: -1, sign(V), 1.
#[inline(always)]
fn pseudo_wave_signs<T: Real>(v: T) -> [T; 3] {
    let one = T::c(1.0);
    [-one, T::select(v.lt(T::c(0.0)), -one, one), one]
}

/// The ghost state of the cell state `q` with `n` the area out of the domain.
///
/// * `Velocity`: `given[1..4]` at the face; the pressure continues as `next`, the pressure of the next cell inside, has it
///   (2 p - next).
/// * `Pressure`: `given[0]` at the face; the velocity is the cell's.
/// * `Mirror`: velocity reflected, pressure the cell's.
/// * `Far`: at the face waves that leave come from `q`, those that enter from `given`.
///
/// ```
/// use chromaflow_flow::equations::artificial_compressibility::{GhostKind, ghost_incompressible};
/// let q = [0.5, 1.0, 2.0, 0.0];
/// let ghost = ghost_incompressible(GhostKind::Mirror, 1.0, &q, 0.5, &[0.0; 4], &[0.0, 3.0, 0.0]);
/// assert_eq!(ghost, [0.5, 1.0, -2.0, 0.0]);
/// ```
#[inline(always)]
pub fn ghost_incompressible<T: Real>(
    kind: GhostKind,
    beta: T,
    q: &[T; 4],
    next: T,
    given: &[T; 4],
    n: &[T; 3],
) -> [T; 4] {
    let two = T::c(2.0);
    match kind {
        GhostKind::Velocity => {
            [two * q[0] - next, two * given[1] - q[1], two * given[2] - q[2], two * given[3] - q[3]]
        }
        GhostKind::Pressure => [two * given[0] - q[0], q[1], q[2], q[3]],
        GhostKind::Mirror => {
            let area2 = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).max(T::c(1e-300));
            let twice = two * (q[1] * n[0] + q[2] * n[1] + q[3] * n[2]) / area2;
            [q[0], q[1] - twice * n[0], q[2] - twice * n[1], q[3] - twice * n[2]]
        }
        GhostKind::Far => {
            // At the face (q + far)/2 + sign(A) (q - far)/2, so that the ghost is far + sign(A) (q - far).
            let x = pseudo_waves(beta, &mean_state(q, given), n);
            let dq = [q[0] - given[0], q[1] - given[1], q[2] - given[2], q[3] - given[3]];
            let kept = pseudo_wave_function(&x, &pseudo_wave_signs(x.lambda[1]), &dq);
            [given[0] + kept[0], given[1] + kept[1], given[2] + kept[2], given[3] + kept[3]]
        }
    }
}

/// d(ghost)/d(cell) of [`ghost_incompressible`], column-major 4 x 4: the next cell's pressure counts as the cell's, the
/// waves of the far field are held fixed.
#[inline(always)]
pub fn ghost_incompressible_jacobian<T: Real>(
    kind: GhostKind,
    beta: T,
    q: &[T; 4],
    given: &[T; 4],
    n: &[T; 3],
) -> [T; 16] {
    let one = T::c(1.0);
    let mut a = [T::c(0.0); 16];
    match kind {
        GhostKind::Velocity => {
            a[0] = one;
            for i in 1..4 {
                a[5 * i] = -one;
            }
        }
        GhostKind::Pressure => {
            a[0] = -one;
            for i in 1..4 {
                a[5 * i] = one;
            }
        }
        GhostKind::Mirror => {
            let area2 = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).max(T::c(1e-300));
            a[0] = one;
            for i in 0..3 {
                for j in 0..3 {
                    a[4 * (1 + j) + 1 + i] = -T::c(2.0) * n[i] * n[j] / area2;
                }
                a[5 * (1 + i)] += one;
            }
        }
        GhostKind::Far => {
            let x = pseudo_waves(beta, &mean_state(q, given), n);
            a = pseudo_wave_matrix(&x, &pseudo_wave_signs(x.lambda[1]));
        }
    }
    a
}
