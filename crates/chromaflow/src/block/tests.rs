use super::*;

/// A block of the given kind from a simple generator: `dominant`, `pivot` (zero corner) or `graded` (rows of
/// different units).
fn sample(nb: usize, seed: u64, kind: &str) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut a: Vec<f64> = (0..nb * nb)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f64 / 16777216.0 - 0.5
        })
        .collect();
    for r in 0..nb {
        a[r * nb + r] += nb as f64;
    }
    if kind == "pivot" {
        for c in 0..nb {
            a[c * nb..(c + 1) * nb].rotate_right(1);
        }
        a[0] = 0.0;
    }
    if kind == "graded" {
        for c in 0..nb {
            for r in 0..nb {
                a[c * nb + r] *= 10.0_f64.powi(3 * (r as i32 % 5) - 6);
            }
        }
    }
    a
}

const SIZES: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 24, 33, 100, 128];

#[test]
fn factors_solve_and_inverses_invert() {
    for nb in SIZES {
        for kind in ["dominant", "pivot", "graded"] {
            if kind == "pivot" && nb == 1 {
                continue;
            }
            let a = sample(nb, nb as u64, kind);
            let x: Vec<f64> = (0..nb).map(|i| 1.0 + i as f64 / 7.0).collect();
            let mut b = vec![0.0; nb];
            add_product(nb, &a, &x, &mut b);
            let lu = Lu::factor(nb, &a);
            let expected = if kind == "pivot" { BlockHealth::Pivoted } else { BlockHealth::Sound };
            assert_eq!(lu.health(), expected, "nb {nb} {kind}");
            let mut y = b.clone();
            lu.solve(&mut y);
            let (inverse, health) = inverse(nb, &a);
            assert_eq!(health, expected, "nb {nb} {kind}");
            let mut z = vec![0.0; nb];
            add_product(nb, &inverse, &b, &mut z);
            for r in 0..nb {
                assert!((y[r] - x[r]).abs() < 1e-11 * nb as f64, "nb {nb} {kind}: {} {}", y[r], x[r]);
                assert!((z[r] - x[r]).abs() < 1e-11 * nb as f64, "nb {nb} {kind}: {} {}", z[r], x[r]);
            }
        }
    }
}

#[test]
fn three_by_three_by_hand() {
    // A = [2 1 0; 4 3 1; 0 2 5] = [1; 2 1; 0 2 1] [2 1 0; 1 1; 3]
    let lu = Lu::factor(3, &[2., 4., 0., 1., 3., 2., 0., 1., 5.]);
    assert_eq!(lu.factors, [0.5, 2., 0., 1., 1., 2., 0., 1., 1. / 3.]);
}

#[test]
fn a_tiny_pivot_is_caught_by_the_guard() {
    // No zero pivot, yet elimination without exchange loses the second row altogether.
    let (inverse, health) = inverse(2, &[1e-20, 1.0, 1.0, 1.0]);
    assert_eq!(health, BlockHealth::Pivoted);
    for (v, e) in inverse.iter().zip([-1.0, 1.0, 1.0, 0.0]) {
        assert!((v - e).abs() < 1e-15);
    }
}

#[test]
fn zero_nan_and_dependent_rows_are_singular() {
    for nb in SIZES {
        let mut nan = sample(nb, 3, "dominant");
        nan[nb * nb - 1] = f64::NAN;
        let mut same = sample(nb, 4, "dominant");
        for c in 0..nb {
            same[c * nb + nb - 1] = if nb == 1 { 0.0 } else { 3.0 * same[c * nb] };
        }
        for bad in [vec![0.0; nb * nb], nan, same] {
            assert_eq!(Lu::factor(nb, &bad).health(), BlockHealth::Singular, "nb {nb}");
            assert_eq!(inverse(nb, &bad).1, BlockHealth::Singular, "nb {nb}");
        }
    }
}
