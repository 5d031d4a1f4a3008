//! Roe's flux and the central one, states beyond the boundary.

use super::*;
use crate::real::Dual;

fn samples() -> Vec<([f64; 4], [f64; 4], [f64; 3])> {
    let mut state = 7_u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..50)
        .map(|_| {
            (
                std::array::from_fn(|_| unit()),
                std::array::from_fn(|_| unit()),
                std::array::from_fn(|_| unit()),
            )
        })
        .collect()
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "{i}: {a} and {b}");
    }
}

/// A matrix (column-major 4 x 4) times a vector.
fn times(a: &[f64; 16], x: &[f64; 4]) -> [f64; 4] {
    std::array::from_fn(|r| (0..4).map(|c| a[4 * c + r] * x[c]).sum())
}

/// The mean is Roe's average; |A| has |A| |A| = A A; waves from one side only are that side's flux.
#[test]
fn roes_matrix_has_its_properties() {
    let (beta, upwind) = (1.7, ArtificialCompressibility { beta: 1.7 });
    for (ql, qr, n) in samples() {
        let mean: [f64; 4] = std::array::from_fn(|c| 0.5 * (ql[c] + qr[c]));
        let dq: [f64; 4] = std::array::from_fn(|c| qr[c] - ql[c]);
        let a = flux_incompressible_jacobian(beta, &mean, &n);
        let (fl, fr) = (flux_incompressible(beta, &ql, &n), flux_incompressible(beta, &qr, &n));
        let jump: [f64; 4] = std::array::from_fn(|c| fr[c] - fl[c]);
        close(&times(&a, &dq), &jump, 1e-14);
        let roe = flux_incompressible_roe(beta, &ql, &qr, &n);
        let (left, right) = upwind.upwind_jacobians(&mean, &mean, &n);
        let size: [f64; 16] = std::array::from_fn(|k| left[k] - right[k]);
        let damped = times(&size, &dq);
        let expected: [f64; 4] = std::array::from_fn(|c| 0.5 * (fl[c] + fr[c] - damped[c]));
        close(&roe, &expected, 1e-14);
        close(&times(&size, &damped), &times(&a, &times(&a, &dq)), 1e-13);
        // Conservation: the same face seen from the other side.
        let other = flux_incompressible_roe(beta, &qr, &ql, &n.map(|c| -c));
        close(&roe, &other.map(|f| -f), 1e-15);
    }
}

/// Central differences leave a parabola's third difference out; without a bound on |V| their dissipation is Roe's.
#[test]
fn the_central_flux_is_roes_with_another_weight() {
    let (beta, upwind) = (1.7, ArtificialCompressibility { beta: 1.7 });
    for (q, d, n) in samples() {
        let at = |s: f64| -> [f64; 4] { std::array::from_fn(|c| q[c] + d[c] * s * s * s) };
        let (before, left, right, after) = (at(-1.5), at(-0.5), at(0.5), at(1.5));
        let central = flux_incompressible_central(beta, &before, &left, &right, &after, &n, 1.0 / 12.0, 0.0);
        let sides = |a: &[f64; 4], b: &[f64; 4], c: &[f64; 4]| -> [f64; 4] {
            std::array::from_fn(|i| b[i] + (c[i] - b[i]) / 3.0 + (b[i] - a[i]) / 6.0)
        };
        let (ql, qr) = (sides(&before, &left, &right), sides(&after, &right, &left));
        let mean: [f64; 4] = std::array::from_fn(|c| 0.5 * (left[c] + right[c]));
        let (a, b) = upwind.upwind_jacobians(&mean, &mean, &n);
        let size: [f64; 16] = std::array::from_fn(|k| a[k] - b[k]);
        let jump: [f64; 4] = std::array::from_fn(|c| qr[c] - ql[c]);
        let (plain, damped) = (flux_incompressible(beta, &mean, &n), times(&size, &jump));
        let expected: [f64; 4] = std::array::from_fn(|c| plain[c] - 0.5 * damped[c]);
        close(&central, &expected, 1e-13);
    }
}

#[test]
fn derivatives_along_unit_vectors_are_columns() {
    for (ql, qr, n) in samples() {
        let (left, right) = ArtificialCompressibility { beta: 1.7 }.upwind_jacobians(&ql, &qr, &n);
        for c in 0..4 {
            let unit = std::array::from_fn(|i| if i == c { 1.0 } else { 0.0 });
            let (l, r) = flux_incompressible_roe_derivatives(1.7, &ql, &qr, &n, &unit);
            close(&l, &left[4 * c..4 * c + 4], 1e-15);
            close(&r, &right[4 * c..4 * c + 4], 1e-15);
        }
    }
}

#[test]
fn ghost_jacobians_are_the_duals() {
    let kinds = [GhostKind::Velocity, GhostKind::Pressure, GhostKind::Mirror, GhostKind::Far];
    for (q, given, n) in samples() {
        for kind in kinds {
            // The far field's waves are held fixed: exact where both states agree.
            let given = if kind == GhostKind::Far { q } else { given };
            let x = Dual::<f64, 4>::variables(&q, 0);
            let ghost = ghost_incompressible(
                kind,
                Dual::c(1.7),
                &x,
                // The next cell's pressure moves with the cell's.
                x[0] + Dual::c(0.3),
                &given.map(Dual::c),
                &n.map(Dual::c),
            );
            let exact: Vec<f64> = (0..16).map(|k| ghost[k % 4].d[k / 4]).collect();
            close(&ghost_incompressible_jacobian(kind, 1.7, &q, &given, &n), &exact, 1e-14);
        }
    }
}
