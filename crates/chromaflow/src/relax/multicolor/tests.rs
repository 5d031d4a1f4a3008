use super::reference::Dense;
use crate::gallery::Case;
use crate::relax::{DiagonalForm, Direction, Guess, RelaxError, RelaxOptions, Smoother, SolveOptions};
use crate::sparse::HalfScale;
use crate::{BlockPattern, Jacobian, OffDiagonal, Outcome, Policy, RowBatches};
use chromaflow_device::{Buffer, Isa, Team};
use std::sync::Arc;

/// A system with its batches.
struct System {
    jac: Jacobian,
    batches: RowBatches,
    b: Vec<f64>,
    guess: Vec<f64>,
}

/// A case of the test kit; without colors, every row is a batch.
fn case(name: &str, policy: Policy) -> System {
    let case: Case = name.parse().unwrap();
    let p = case.pattern();
    let (n, nb) = (case.rows(), case.nb);
    let batches = RowBatches::new(p.colors.unwrap_or_else(|| (0..=n as u32).collect()));
    let degree: Vec<u32> = p.row_ptr.windows(2).map(|w| w[1] - w[0]).collect();
    let pattern = BlockPattern::new(n, p.row_ptr, p.col_idx).unwrap();
    let mut off = vec![0.0_f32; pattern.nnzb() * nb * nb];
    case.fill_off(0, &mut off);
    let mut diag = Buffer::zeroed(n * nb * nb);
    for (row, block) in diag.chunks_exact_mut(nb * nb).enumerate() {
        case.fill_diag(row, degree[row] as usize, block);
    }
    let off = match policy {
        Policy::D => OffDiagonal::F64(off.iter().map(|&v| v.into()).collect::<Vec<f64>>().into()),
        _ => OffDiagonal::F32(off.into()),
    };
    let mut jac = Jacobian::new(pattern, nb, diag, off).unwrap();
    if policy == Policy::Dsh {
        jac.convert_to_f16(&Team::new(1), HalfScale::Global).unwrap();
    }
    let b = (0..n * nb).map(|i| case.rhs(i)).collect();
    let guess = (0..n * nb).map(|i| case.guess(i)).collect();
    System { jac, batches, b, guess }
}

fn relaxation(system: &System, threads: usize, options: RelaxOptions) -> Smoother {
    let team = Arc::new(Team::new(threads));
    let (pattern, nb) = (Arc::clone(system.jac.pattern()), system.jac.nb());
    let mut mc = Smoother::multicolor(team, pattern, nb, &system.batches, options).unwrap();
    let report = mc.factor(&system.jac).unwrap();
    assert_eq!((report.pivoted, report.singular), (0, 0));
    mc
}

/// The matrix as it is stored, dense.
fn dense(jac: &Jacobian) -> Dense {
    let (rows, nb) = (jac.rows(), jac.nb());
    let (n, q) = (rows * nb, nb * nb);
    let mut values = vec![0.0; n * n];
    let mut put = |row: usize, col: usize, at: &dyn Fn(usize) -> f64| {
        for c in 0..nb {
            for r in 0..nb {
                values[(row * nb + r) * n + col * nb + c] = at(c * nb + r);
            }
        }
    };
    for row in 0..rows {
        put(row, row, &|i| jac.diag[row * q + i]);
        for k in jac.pattern().range(row) {
            let col = jac.pattern().col_idx()[k] as usize;
            put(row, col, &|i| match &jac.off {
                OffDiagonal::F64(v) => v[k * q + i],
                OffDiagonal::F32(v) => v[k * q + i].into(),
                OffDiagonal::F16 { values, unscale } => {
                    let unscale = if unscale.len() == 1 { unscale[0] } else { unscale[row] };
                    f64::from(values[k * q + i].to_f32()) * f64::from(unscale)
                }
            });
        }
    }
    Dense { rows, nb, values }
}

/// Rounding of a policy's sums and of x.
fn tolerance(policy: Policy) -> f64 {
    chromaflow_testkit::rounding(policy == Policy::D)
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    let scale = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance * scale, "{what}: entry {i} is {f}, expected {e}");
    }
}

/// Residuals after one forward sweep in row order on which four other programs agree.
#[test]
fn one_sweep_leaves_the_published_residual() {
    for (name, expected) in [("kuhn:18,18,18:5", 1.620857), ("grid7:20,20,20:6", 1.191080)] {
        for (policy, tolerance) in [(Policy::D, 6e-7), (Policy::Ds, 6e-7), (Policy::Dsh, 2e-4)] {
            let system = case(name, policy);
            let mut mc = relaxation(&system, 1, RelaxOptions::default());
            let mut x = system.guess.clone();
            let options =
                SolveOptions { sweeps: 1, guess: Guess::Given, history: true, ..SolveOptions::default() };
            let report = mc.solve(&system.jac, &system.b, &mut x, &options).unwrap();
            assert_eq!((report.outcome, report.history.len()), (Outcome::IterationLimit, 2));
            let found = report.relative_residual.unwrap();
            assert!((found - expected).abs() < tolerance * 2.0, "{name} {policy}: {found}");
        }
    }
}

/// Every block size of the list and awkward ones, every policy, direction and instruction set, against the method
/// written down for dense matrices.
#[test]
fn sweeps_are_those_of_the_reference() {
    for nb in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 20, 24, 32, 33, 40, 65, 100, 128] {
        let name = if nb < 30 { format!("kuhn:3,3,2:{nb}:mc4") } else { format!("kuhn:2,2,2:{nb}:mc4") };
        for policy in Policy::ALL {
            let system = case(&name, policy);
            let dense = dense(&system.jac);
            let rows = dense.rows;
            for (direction, damping) in
                [(Direction::Forward, 1.0), (Direction::Backward, 1.0), (Direction::Symmetric, 0.7)]
            {
                let mut expected = system.guess.clone();
                for _ in 0..2 {
                    if direction != Direction::Backward {
                        dense.relax(&system.b, &mut expected, 0..rows, damping, true);
                    }
                    if direction != Direction::Forward {
                        dense.relax(&system.b, &mut expected, (0..rows).rev(), damping, true);
                    }
                }
                for isa in Isa::available() {
                    for diagonal in [DiagonalForm::Inverse, DiagonalForm::Lu] {
                        let setup = RelaxOptions { diagonal, isa: Some(isa) };
                        let mut mc = relaxation(&system, 1, setup);
                        let mut x = system.guess.clone();
                        let options = SolveOptions {
                            sweeps: 2,
                            guess: Guess::Given,
                            direction,
                            damping,
                            ..SolveOptions::default()
                        };
                        mc.solve(&system.jac, &system.b, &mut x, &options).unwrap();
                        let what = format!("nb {nb} {policy} {direction:?} {} {diagonal:?}", isa.name());
                        assert_close(&x, &expected, tolerance(policy), &what);
                    }
                }
            }
        }
    }
}

/// A first sweep from zero leaves out blocks that meet zeros: the same bits as with them, by colors and row by row.
#[test]
fn what_is_left_out_from_zero_is_zero() {
    for name in
        ["kuhn:3,3,2:2:mc4", "kuhn:12,11,10:5:mc4", "kuhn:4,3,3:6", "kuhn:3,3,2:9:mc4", "kuhn:3,3,2:1:mc4"]
    {
        for (policy, isa) in Policy::ALL.into_iter().zip(Isa::available().into_iter().cycle()) {
            let system = case(name, policy);
            for (direction, damping) in [(Direction::Forward, 1.0), (Direction::Symmetric, 0.7)] {
                for threads in [1, 3] {
                    let of = |guess: Guess, sweeps: usize| {
                        let setup = RelaxOptions { isa: Some(isa), ..RelaxOptions::default() };
                        let mut x = vec![if guess == Guess::Zero { 1e300 } else { 0.0 }; system.b.len()];
                        let options =
                            SolveOptions { direction, damping, guess, ..SolveOptions::sweeps(sweeps) };
                        let mut mc = relaxation(&system, threads, setup);
                        mc.solve(&system.jac, &system.b, &mut x, &options).unwrap();
                        x
                    };
                    for sweeps in [1, 3] {
                        let (zero, given) = (of(Guess::Zero, sweeps), of(Guess::Given, sweeps));
                        assert_eq!(zero, given, "{name} {policy} {direction:?} {threads} threads, {sweeps}");
                    }
                }
            }
        }
    }
}

fn solve(system: &System, threads: usize, options: &SolveOptions) -> (crate::relax::SolveReport, Vec<f64>) {
    let mut x = system.guess.clone();
    let report = relaxation(system, threads, RelaxOptions::default())
        .solve(&system.jac, &system.b, &mut x, options)
        .unwrap();
    (report, x)
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for policy in Policy::ALL {
        let system = case("kuhn:12,11,10:5:mc4", policy);
        let options = SolveOptions {
            history: true,
            direction: Direction::Symmetric,
            restart: Some(3),
            ..SolveOptions::tolerance(1e-9, 12)
        };
        let one = solve(&system, 1, &options);
        for threads in 2..5 {
            assert!(solve(&system, threads, &options) == one, "{policy} on {threads} threads");
        }
    }
}

#[test]
fn histories_are_the_residuals() {
    let system = case("kuhn:3,3,3:4:mc4", Policy::D);
    let dense = dense(&system.jac);
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    for guess in [Guess::Zero, Guess::Given] {
        let (report, _) =
            solve(&system, 2, &SolveOptions { history: true, guess, ..SolveOptions::sweeps(4) });
        assert_eq!((report.history.len(), report.sweeps), (5, 4));
        for sweeps in 0..5 {
            let (_, x) = solve(&system, 1, &SolveOptions { guess, ..SolveOptions::sweeps(sweeps) });
            let expected = norm(&dense.residual(&system.b, &x)) / norm(&system.b);
            assert!((report.history[sweeps] - expected).abs() < 1e-12, "after {sweeps} sweeps");
        }
    }
}

/// Integers small enough leave nothing to round in any precision.
#[test]
fn small_integers_are_exact_in_every_policy() {
    for nb in [1, 2, 3, 4, 5, 7, 8, 10, 16, 33] {
        let mut results = Vec::new();
        for policy in Policy::ALL {
            let mut system =
                case(&format!("kuhn:3,3,3:{nb}:mc4"), if policy == Policy::D { policy } else { Policy::Ds });
            let digit = |i: usize| ((i * 7 + 3) % 5) as f64 - 2.0;
            let sparse = |i: usize| if i % nb < 2 { digit(i) } else { 0.0 }; // sums stay below 2^24
            match &mut system.jac.off {
                OffDiagonal::F64(v) => v.iter_mut().enumerate().for_each(|(i, v)| *v = sparse(i)),
                OffDiagonal::F32(v) => v.iter_mut().enumerate().for_each(|(i, v)| *v = sparse(i) as f32),
                OffDiagonal::F16 { .. } => unreachable!(),
            }
            system.jac.diag.fill(0.0);
            for block in system.jac.diag.chunks_exact_mut(nb * nb) {
                for r in 0..nb {
                    block[r * nb + r] = 0.5; // its inverse is 2
                }
            }
            system.b.iter_mut().enumerate().for_each(|(i, b)| *b = digit(i + 1));
            system.guess.iter_mut().enumerate().for_each(|(i, x)| *x = digit(i + 2));
            if policy == Policy::Dsh {
                system.jac.convert_to_f16(&Team::new(1), HalfScale::PowerOfTwo).unwrap();
            }
            for isa in Isa::available() {
                let mut x = system.guess.clone();
                relaxation(&system, 1, RelaxOptions { isa: Some(isa), ..RelaxOptions::default() })
                    .solve(
                        &system.jac,
                        &system.b,
                        &mut x,
                        &SolveOptions { guess: Guess::Given, ..SolveOptions::sweeps(1) },
                    )
                    .unwrap();
                results.push((policy, isa, x));
            }
        }
        for (policy, isa, x) in &results {
            assert!(x == &results[0].2, "nb {nb} {policy} {isa:?}");
        }
    }
}

#[test]
fn empty_rows_one_color_and_no_rows() {
    // Row 1 has no off-diagonal block; all rows are one color, since no two are joined.
    let pattern = BlockPattern::new(3, vec![0, 0, 0, 0], vec![]).unwrap();
    let mut jac = Jacobian::zeroed(pattern, 2, Policy::Ds).unwrap();
    for row in 0..3 {
        jac.diag[row * 4..row * 4 + 4].copy_from_slice(&[2.0, 0.0, 0.0, 4.0]);
    }
    let system = System {
        jac,
        batches: RowBatches::single(3),
        b: vec![2., 4., 6., 8., 10., 12.],
        guess: vec![9.0; 6],
    };
    let (report, x) = solve(&system, 2, &SolveOptions::tolerance(1e-12, 3));
    assert_eq!((report.outcome, report.sweeps), (Outcome::Converged, 1));
    assert_eq!(x, [1., 1., 3., 2., 5., 3.]);

    let empty = Jacobian::zeroed(BlockPattern::new(0, vec![0], vec![]).unwrap(), 5, Policy::D).unwrap();
    let system = System { jac: empty, batches: RowBatches::new(vec![0]), b: vec![], guess: vec![] };
    let (report, _) = solve(&system, 2, &SolveOptions::tolerance(1e-12, 3));
    assert_eq!((report.outcome, report.sweeps), (Outcome::Converged, 0));
}

#[test]
fn bad_diagonal_blocks_are_reported() {
    for (diagonal, threads) in [(DiagonalForm::Lu, 1), (DiagonalForm::Inverse, 2)] {
        let mut system = case("kuhn:12,12,12:3:mc4", Policy::D);
        // Row 5 needs an exchange of rows; rows 700 and 701 have no inverse.
        system.jac.diag[5 * 9..6 * 9].copy_from_slice(&[0., 9., 0., 9., 0., 0., 0., 0., 9.]);
        let team = Arc::new(Team::new(threads));
        let pattern = Arc::clone(system.jac.pattern());
        let setup = RelaxOptions { diagonal, isa: None };
        let mut mc = Smoother::multicolor(team, pattern, 3, &system.batches, setup).unwrap();
        let mut x = system.guess.clone();
        let missing = mc.solve(&system.jac, &system.b, &mut x, &SolveOptions::default());
        assert_eq!(missing.unwrap_err(), RelaxError::NotFactored);
        let report = mc.factor(&system.jac).unwrap();
        assert_eq!((report.pivoted, &report.pivoted_rows[..], report.singular), (1, &[5][..], 0));
        let solved = mc.solve(&system.jac, &system.b, &mut x, &SolveOptions::tolerance(1e-10, 100)).unwrap();
        assert_eq!(solved.outcome, Outcome::Converged, "{diagonal:?}");

        system.jac.diag[700 * 9..701 * 9].fill(0.0);
        system.jac.diag[701 * 9 + 4] = f64::NAN;
        let report = mc.factor(&system.jac).unwrap();
        assert_eq!((report.singular, &report.singular_rows[..]), (2, &[700, 701][..]));
        let broken = mc.solve(&system.jac, &system.b, &mut x, &SolveOptions::default()).unwrap();
        assert_eq!((broken.outcome, broken.sweeps), (Outcome::Breakdown { row: 700 }, 0));
    }
}

#[test]
fn factors_may_take_the_place_of_the_blocks() {
    let options = SolveOptions { history: true, ..SolveOptions::sweeps(5) };
    let mut system = case("kuhn:6,5,4:5:mc4", Policy::Ds);
    let (_, x) = solve(&system, 1, &options);
    let pattern = Arc::clone(system.jac.pattern());
    for diagonal in [DiagonalForm::Lu, DiagonalForm::Inverse] {
        let team = Arc::new(Team::new(2));
        let setup = RelaxOptions { diagonal, isa: None };
        let mut mc = Smoother::multicolor(team, Arc::clone(&pattern), 5, &system.batches, setup).unwrap();
        let kept = system.jac.diag.clone();
        mc.factor_in_place(&mut system.jac).unwrap();
        let mut y = system.guess.clone();
        let watched = mc.solve(&system.jac, &system.b, &mut y, &options);
        assert_eq!(watched.unwrap_err(), RelaxError::DiagonalGone);
        mc.solve(&system.jac, &system.b, &mut y, &SolveOptions::sweeps(5)).unwrap();
        assert_close(&y, &x, 1e-6, "solution");
        let twice = mc.factor(&system.jac);
        assert_eq!(twice.unwrap_err(), RelaxError::DiagonalGone);
        system.jac.begin_assembly();
        system.jac.diag = kept;
        let other = mc.solve(&system.jac, &system.b, &mut y, &SolveOptions::sweeps(5));
        assert_eq!(other.unwrap_err(), RelaxError::NotFactored, "the factors are gone with the assembly");
    }
}

/// The stall of low precision, and that restarts remove it.
#[test]
fn low_precision_stalls_and_restarts_go_on() {
    let wide = case("kuhn:8,8,8:5:mc4", Policy::Ds);
    let half = case("kuhn:8,8,8:5:mc4", Policy::Dsh);
    let least = |history: &[f64]| history.iter().copied().fold(f64::INFINITY, f64::min);
    let run = |inner: &System, restart| {
        let mut x = vec![0.0; inner.b.len()];
        let options = SolveOptions { sweeps: 80, history: true, restart, ..SolveOptions::default() };
        let mut mc = relaxation(inner, 2, RelaxOptions::default());
        mc.solve_corrected(&inner.jac, &wide.jac, &wide.b, &mut x, &options).unwrap().history
    };
    // Residuals of the matrix in f32: f16 blocks stall at their rounding, x in f32 at its own.
    let (single, half_alone) = (run(&wide, None), run(&half, None));
    assert!(least(&single) < 1e-6 && least(&single) > 1e-9, "{:e}", least(&single));
    assert!(least(&half_alone) < 1e-3 && least(&half_alone) > 1e-6, "{:e}", least(&half_alone));
    for (half, single) in half_alone.iter().zip(&single) {
        assert!((half - single).abs() < 0.05 * single + 2.0 * least(&half_alone));
    }
    for inner in [&wide, &half] {
        assert!(least(&run(inner, Some(10))) < 1e-13, "restarted {:e}", least(&run(inner, Some(10))));
    }
}

#[test]
fn a_stall_short_of_the_tolerance_is_stagnation() {
    let system = case("kuhn:8,8,8:5:mc4", Policy::Ds);
    let (report, _) = solve(&system, 1, &SolveOptions::tolerance(1e-12, 500));
    assert_eq!(report.outcome, Outcome::Stagnated);
    assert!(report.sweeps < 450);
    let restarted = SolveOptions { restart: Some(8), ..SolveOptions::tolerance(1e-12, 500) };
    assert_eq!(solve(&system, 1, &restarted).0.outcome, Outcome::Converged);
}

#[test]
fn a_matrix_that_relaxation_cannot_solve_diverges() {
    for policy in Policy::ALL {
        let mut system = case("kuhn:6,6,6:2:mc4", policy);
        for block in system.jac.diag.chunks_exact_mut(4) {
            block.copy_from_slice(&[0.05, 0.0, 0.0, 0.05]);
        }
        let watched = solve(&system, 2, &SolveOptions::tolerance(1e-10, 2000)).0;
        assert!(matches!(watched.outcome, Outcome::Diverged { iteration } if iteration == watched.sweeps));
        let blind = solve(&system, 2, &SolveOptions::sweeps(2000)).0;
        assert_eq!(blind.outcome, Outcome::Diverged { iteration: 2000 });
    }
}

#[test]
fn misuse_is_named() {
    let system = case("kuhn:3,3,3:2", Policy::D);
    let team = Arc::new(Team::new(1));
    let new = |batches: Vec<u32>, nb| {
        let pattern = Arc::clone(system.jac.pattern());
        Smoother::multicolor(
            Arc::clone(&team),
            pattern,
            nb,
            &RowBatches::new(batches),
            RelaxOptions::default(),
        )
        .err()
    };
    assert_eq!(new(vec![0, 1, 27], 2), Some(RelaxError::Dependent { row: 1, col: 2, batch: 1 }));
    assert_eq!(new(vec![0, 26], 2), Some(RelaxError::Rows { found: 26, rows: 27 }));
    assert!(matches!(new((0..=27).collect(), 129), Some(RelaxError::Shape(_))));
    let mut mc = relaxation(&system, 1, RelaxOptions::default());
    let other = case("kuhn:3,3,2:2", Policy::D);
    assert_eq!(mc.factor(&other.jac).unwrap_err(), RelaxError::OtherMatrix);
    let short = mc.solve(&system.jac, &system.b[1..], &mut system.guess.clone(), &SolveOptions::default());
    assert_eq!(short.unwrap_err().to_string(), "b has 53 values, expected 54 (27 rows of 2)");
}

#[test]
fn jacobi_is_the_reference_without_latest_values() {
    for policy in Policy::ALL {
        let system = case("kuhn:3,3,2:5", policy);
        let dense = dense(&system.jac);
        let mut expected = system.guess.clone();
        for _ in 0..3 {
            dense.relax(&system.b, &mut expected, 0..dense.rows, 0.6, false);
        }
        let pattern = Arc::clone(system.jac.pattern());
        for threads in [1, 3] {
            let team = Arc::new(Team::new(threads));
            let mut jacobi =
                Smoother::jacobi(team, Arc::clone(&pattern), 5, RelaxOptions::default()).unwrap();
            jacobi.factor(&system.jac).unwrap();
            let mut x = system.guess.clone();
            let options = SolveOptions { guess: Guess::Given, damping: 0.6, ..SolveOptions::sweeps(3) };
            jacobi.solve(&system.jac, &system.b, &mut x, &options).unwrap();
            assert_close(&x, &expected, tolerance(policy), "Jacobi");
        }
    }
}

#[test]
fn products_are_those_of_the_dense_matrix() {
    for nb in [1, 3, 4, 5, 6, 9, 16, 33] {
        for policy in Policy::ALL {
            let system = case(&format!("kuhn:3,3,3:{nb}:mc4"), policy);
            let expected = dense(&system.jac).residual(&system.b, &system.guess);
            let mut r = vec![0.0; expected.len()];
            let mut y = r.clone();
            let team = Team::new(3);
            system.jac.residual(&team, &system.b, &system.guess, &mut r);
            system.jac.multiply(&team, &system.guess, &mut y);
            assert_close(&r, &expected, 1e-13, "residual");
            let sum: Vec<f64> = r.iter().zip(&y).map(|(r, y)| r + y).collect();
            assert_close(&sum, &system.b, 1e-12, "product");
        }
    }
}
