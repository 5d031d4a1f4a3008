//! The tuned passes against the definition, the definition against a dense factorization and known norms.

use super::*;
use crate::gallery::Case;

/// A 7-point case as one block of cells; cells that touch the border hold NaN where there is no neighbor.
pub(super) fn system(case: &str) -> (StencilMatrix, Vec<f64>) {
    let case: Case = case.parse().unwrap();
    let (pattern, q, dims) = (case.pattern(), case.nb * case.nb, case.dims);
    let mut a = StencilMatrix::zeroed(dims, case.nb).unwrap();
    a.lower.fill(f64::NAN);
    a.upper.fill(f64::NAN);
    let steps = [dims[0] * dims[1], dims[0], 1];
    let mut block = vec![0.0_f32; q];
    for cell in 0..a.cells() {
        let range = pattern.row_ptr[cell] as usize..pattern.row_ptr[cell + 1] as usize;
        case.fill_diag(cell, range.len(), &mut a.diag[cell * q..(cell + 1) * q]);
        for position in range {
            case.fill_off(position, &mut block);
            let col = pattern.col_idx[position] as usize;
            // Where two directions have the same step there is but one cell in the other.
            let inside = |s: usize| match s {
                0 => cell / steps[0] != col / steps[0],
                1 => cell / steps[0] == col / steps[0] && cell / dims[0] != col / dims[0],
                _ => true,
            };
            let s = (0..3).find(|&s| steps[s] == cell.abs_diff(col) && inside(s)).unwrap();
            let (side, s) = if col < cell { (&mut a.lower, s) } else { (&mut a.upper, 2 - s) };
            let to = &mut side[(3 * cell + s) * q..][..q];
            to.iter_mut().zip(&block).for_each(|(to, &v)| *to = v.into());
        }
    }
    let b = (0..a.cells() * case.nb).map(|i| case.rhs(i)).collect();
    (a, b)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    norm(&x.iter().zip(y).map(|(x, y)| x - y).collect::<Vec<_>>()) / norm(y)
}

fn tuned(a: &StencilMatrix, b: &[f64], isa: Isa, threads: usize, shift: f64) -> (Vec<f64>, Vec<f64>) {
    let team = Team::new(threads);
    let options = StructuredIluOptions { shift, ..Default::default() };
    let mut ilu = StructuredIlu::new(&[a.dims()], a.nb(), options, &team).unwrap();
    ilu.isa = isa;
    let report = ilu.factor(&team, &[a]).unwrap();
    assert!(report.pivoted.is_empty() && (report.shifted > 0.0) == (shift > 0.0));
    let mut x = vec![vec![f64::NAN; b.len()]];
    ilu.solve(&team, &[a], &[b], &mut x);
    (ilu.inv_diag[0].to_vec(), x.remove(0))
}

/// M = (D + L) D^-1 (D + U) with the diagonal blocks of the factorization has the entries of A on its pattern, and M^-1
/// b solves it: both by dense arithmetic.
#[test]
fn the_reference_reproduces_the_matrix_on_its_pattern() {
    for case in ["grid7:3,2,4:2", "grid7:2,3,2:3", "grid7:1,4,3:1"] {
        let (a, b) = system(case);
        let (nb, n, q) = (a.nb, a.cells() * a.nb, a.nb * a.nb);
        let inverse = reference::factor(&a, 0.0).unwrap();
        // Rows of A by products with unit vectors.
        let zero = vec![0.0; n];
        let dense: Vec<Vec<f64>> = (0..n)
            .map(|col| {
                let mut unit = zero.clone();
                unit[col] = -1.0;
                reference::residual(&a, &zero, &unit)
            })
            .collect(); // [col][row]
        let part = |row: usize, col: usize| row / nb < col / nb; // upper
        let pivot_inverse = |row: usize, col: usize| {
            if row / nb == col / nb { inverse[row / nb * q + col % nb * nb + row % nb] } else { 0.0 }
        };
        // M x for x = solve(b), by parts: M = (D + L)(I + D^-1 U), so that M x = D x + L x + U x + L D^-1 U x.
        let x = reference::solve(&a, &inverse, &b);
        let upper_x: Vec<f64> =
            (0..n).map(|r| (0..n).filter(|&c| part(r, c)).map(|c| dense[c][r] * x[c]).sum()).collect();
        let scaled: Vec<f64> =
            (0..n).map(|r| (0..n).map(|c| pivot_inverse(r, c) * upper_x[c]).sum()).collect();
        let y: Vec<f64> = x.iter().zip(&scaled).map(|(x, s)| x + s).collect(); // (I + D^-1 U) x
        for cell in 0..a.cells() {
            // Then y_i = D_i^-1 (b_i - sum L y).
            let right: Vec<f64> = (0..nb)
                .map(|r| {
                    let row = cell * nb + r;
                    b[row] - (0..cell * nb).map(|c| dense[c][row] * y[c]).sum::<f64>()
                })
                .collect();
            for r in 0..nb {
                let sum: f64 = (0..nb).map(|c| inverse[cell * q + c * nb + r] * right[c]).sum();
                assert!((sum - y[cell * nb + r]).abs() < 1e-13, "{case} cell {cell}");
            }
            // And D_i^-1 inverts A_ii - sum A_im D_m^-1 A_mi.
            for c in 0..nb {
                let column: Vec<f64> = (0..nb)
                    .map(|r| {
                        let (row, col) = (cell * nb + r, cell * nb + c);
                        let below: f64 = (0..cell * nb)
                            .flat_map(|m| (m / nb * nb..m / nb * nb + nb).map(move |k| (m, k)))
                            .map(|(m, k)| dense[m][row] * pivot_inverse(m, k) * dense[col][k])
                            .sum();
                        dense[col][row] - below
                    })
                    .collect();
                for r in 0..nb {
                    let sum: f64 = (0..nb).map(|k| inverse[cell * q + k * nb + r] * column[k]).sum();
                    assert!((sum - f64::from(u8::from(r == c))).abs() < 1e-12, "{case} cell {cell}");
                }
            }
        }
    }
}

/// A norm that PETSc, AMGCL, dune-istl and plain C++ agree on.
#[test]
fn applied_to_the_known_problem_it_gives_the_known_norm() {
    let (a, b) = system("grid7:20,20,20:6");
    for threads in [1, 2] {
        let (_, x) = tuned(&a, &b, Isa::detect(), threads, 0.0);
        assert!((norm(&x) - 3.048594).abs() < 1e-6, "{}", norm(&x));
    }
}

#[test]
fn tuned_is_reference_for_every_size_set_and_team() {
    for nb in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 31, 64] {
        let case = if nb > 10 { format!("grid7:3,2,3:{nb}") } else { format!("grid7:5,4,3:{nb}") };
        let (a, b) = system(&case);
        for shift in [0.0, 0.01] {
            let inverse = reference::factor(&a, shift).unwrap();
            let expected = reference::solve(&a, &inverse, &b);
            for isa in Isa::available() {
                let alone = tuned(&a, &b, isa, 1, shift);
                assert!(distance(&alone.0, &inverse) < 1e-13, "nb {nb} {}", isa.name());
                assert!(distance(&alone.1, &expected) < 1e-13, "nb {nb} {}", isa.name());
                for threads in [2, 3] {
                    assert!(
                        tuned(&a, &b, isa, threads, shift) == alone,
                        "nb {nb}: the number of threads shows"
                    );
                }
            }
        }
        let team = Team::new(2);
        let mut r = vec![f64::NAN; b.len()];
        let x: Vec<f64> = b.iter().map(|v| v * 3.0 - 1.0).collect();
        a.residual(&team, &b, &x, &mut r);
        assert!(distance(&r, &reference::residual(&a, &b, &x)) < 1e-14, "nb {nb}");
    }
}

#[test]
fn concatenated_systems_have_the_solutions_of_their_parts() {
    for (dims, parts) in [("5,4,3", vec![4, 6]), ("3,3,2", vec![4, 4, 6]), ("2,3,3", vec![4, 4, 4, 4])] {
        let solved = |nb: &str| {
            let (a, b) = system(&format!("grid7:{dims}:{nb}"));
            let inverse = reference::factor(&a, 0.0).unwrap();
            (reference::solve(&a, &inverse, &b), tuned(&a, &b, Isa::detect(), 2, 0.0).1)
        };
        let n: usize = parts.iter().sum();
        let all: Vec<String> = parts.iter().map(usize::to_string).collect();
        let (expected, found) = solved(&all.join("+"));
        let mut start = 0;
        for &m in &parts {
            let (alone, _) = solved(&m.to_string());
            let own = |x: &[f64]| -> Vec<f64> {
                x.chunks_exact(n).flat_map(|cell| &cell[start..start + m]).copied().collect()
            };
            assert!(distance(&own(&expected), &alone) < 1e-14, "{all:?}");
            assert!(distance(&own(&found), &alone) < 1e-13, "{all:?}");
            start += m;
        }
    }
}

#[test]
fn corrections_solve_the_system_and_stop_when_told() {
    let (a, b) = system("grid7:6,5,4:4");
    let team = Team::new(2);
    let mut ilu = StructuredIlu::new(&[a.dims()], 4, StructuredIluOptions::default(), &team).unwrap();
    ilu.factor(&team, &[&a]).unwrap();
    let mut x = vec![vec![0.0; b.len()]];
    let until = CorrectionSteps { steps: 60, tolerance: Some(1e-11) };
    let report = ilu.correct(&team, &[&a], &[&b], &mut x, until, |_, _| {});
    assert_eq!(report.outcome, Outcome::Converged);
    assert!((report.history[0] - 1.0).abs() < 1e-15 && report.history.len() == report.steps + 1);
    assert!(norm(&reference::residual(&a, &b, &x[0])) <= 1.01e-11 * norm(&b));
    let mut once = vec![vec![0.0; b.len()]];
    let until = CorrectionSteps { steps: 1, tolerance: None };
    assert_eq!(ilu.correct(&team, &[&a], &[&b], &mut once, until, |_, _| {}).steps, 1);
    let mut applied = vec![vec![0.0; b.len()]];
    ilu.solve(&team, &[&a], &[&b], &mut applied);
    assert_eq!(once, applied);
}

#[test]
fn many_blocks_together_are_each_as_alone() {
    let systems = [system("grid7:4,3,5:3"), system("grid7:2,6,2:3"), system("grid7:1,1,7:3")];
    let matrices: Vec<&StencilMatrix> = systems.iter().map(|s| &s.0).collect();
    let dims: Vec<_> = matrices.iter().map(|a| a.dims()).collect();
    let right: Vec<&[f64]> = systems.iter().map(|s| s.1.as_slice()).collect();
    for threads in [1, 2, 3] {
        let team = Team::new(threads);
        let mut ilu = StructuredIlu::new(&dims, 3, StructuredIluOptions::default(), &team).unwrap();
        ilu.factor(&team, &matrices).unwrap();
        let mut x: Vec<Vec<f64>> = right.iter().map(|b| vec![0.0; b.len()]).collect();
        ilu.solve(&team, &matrices, &right, &mut x);
        for ((a, b), x) in systems.iter().zip(&x) {
            assert_eq!(*x, tuned(a, b, Isa::detect(), 1, 0.0).1);
        }
    }
}

#[test]
fn bad_blocks_are_told() {
    let team = Team::new(2);
    for nb in [2, 4, 9] {
        let (mut a, b) = system(&format!("grid7:3,3,3:{nb}"));
        let q = nb * nb;
        a.diag[..q].fill(0.0);
        for c in 0..nb {
            a.diag[c * nb + nb - 1 - c] = 1.0; // regular, but a zero pivot (in the middle none, where nb is odd)
        }
        let mut ilu = StructuredIlu::new(&[a.dims()], nb, StructuredIluOptions::default(), &team).unwrap();
        assert_eq!(ilu.factor(&team, &[&a]).unwrap().pivoted, [CellAt { block: 0, cell: 0 }]);
        let mut x = vec![vec![0.0; b.len()]];
        ilu.solve(&team, &[&a], &[&b], &mut x);
        let expected = reference::solve(&a, &reference::factor(&a, 0.0).unwrap(), &b);
        assert!(distance(&x[0], &expected) < 1e-12);
        a.diag[5 * q] = f64::NAN;
        assert_eq!(ilu.factor(&team, &[&a]), Err(SingularCell { at: CellAt { block: 0, cell: 5 } }));
        a.diag[..q].fill(0.0);
        assert_eq!(ilu.factor(&team, &[&a]).unwrap_err().at.cell, 0);
    }
}

/// The blocks of these systems are f32 values, so that f32 keeps them; rounded to seven bits f16 keeps them, too.
#[test]
fn narrow_couplings_that_lose_nothing_give_the_same_bits() {
    for (case, threads) in
        [("grid7:5,4,3:4", 1), ("grid7:4,3,5:6", 2), ("grid7:3,3,2:9", 1), ("grid7:1,5,2:1", 2)]
    {
        let (mut a, b) = system(case);
        for values in [&mut a.lower, &mut a.upper] {
            values.iter_mut().for_each(|v| *v = (*v * 4096.0).round() / 4096.0);
        }
        let largest = a.lower.iter().chain(a.upper.iter()).fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!(largest < 0.5, "{case}: eleven bits of f16 reach from {largest} to 1/4096");
        let solved = |storage| {
            let team = Team::new(threads);
            let options = StructuredIluOptions { storage, ..Default::default() };
            let mut ilu = StructuredIlu::new(&[a.dims()], a.nb(), options, &team).unwrap();
            ilu.factor(&team, &[&a]).unwrap();
            let mut x = vec![vec![f64::NAN; b.len()]];
            ilu.solve(&team, &[&a], &[&b], &mut x);
            (x.remove(0), ilu.bytes())
        };
        let (exact, bytes) = solved(Storage::F64);
        let [(single, more), (half, less)] = [Storage::F32, Storage::F16].map(solved);
        assert_eq!((&exact, &exact), (&single, &half), "{case}");
        assert!(bytes < less && less < more, "{case}");
    }
}

/// Rounded to 24 and to 11 bits the couplings change the solution by about as much, whatever their size.
#[test]
fn narrow_couplings_cost_what_their_bits_say() {
    let (mut a, b) = system("grid7:6,5,4:5");
    for (at, values) in [&mut a.diag, &mut a.lower, &mut a.upper].into_iter().enumerate() {
        // Off-diagonal blocks beyond the range of f16, and no f32 values.
        values.iter_mut().for_each(|v| *v *= 1.1e6 * if at == 0 { 1.0 } else { 0.9 });
    }
    let solved = |storage| {
        let team = Team::new(1);
        let options = StructuredIluOptions { storage, ..Default::default() };
        let mut ilu = StructuredIlu::new(&[a.dims()], a.nb(), options, &team).unwrap();
        ilu.factor(&team, &[&a]).unwrap();
        let mut x = vec![vec![f64::NAN; b.len()]];
        ilu.solve(&team, &[&a], &[&b], &mut x);
        x.remove(0)
    };
    let exact = solved(Storage::F64);
    for (storage, bits) in [(Storage::F32, 24), (Storage::F16, 11)] {
        let (off, unit) = (distance(&solved(storage), &exact), 0.5_f64.powi(bits));
        assert!(off > 1e-3 * unit && off < unit, "{storage:?}: {off:.1e}");
    }
}
