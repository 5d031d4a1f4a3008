//! The solver on a GPU beside its twin.

use super::*;
use crate::factor::block_ilu::Fill;
use crate::gallery::banded_lattice;
use crate::gpu::test_stream;
use crate::order::Rcm;
use crate::solver::LinearSolver;
use crate::solver::tests::METHODS;
use crate::{BlockCsr, Outcome};

const ROWS: usize = 300;

fn system(nb: usize, seed: usize) -> BlockCsr {
    let (row_ptr, col_idx) = banded_lattice(ROWS, ROWS * 6, 3);
    let (mut rows, mut columns) = (vec![0u32], Vec::new());
    for i in 0..ROWS {
        let mut row: Vec<u32> = col_idx[row_ptr[i] as usize..row_ptr[i + 1] as usize].to_vec();
        row.push(i as u32);
        row.sort_unstable();
        columns.extend(row);
        rows.push(columns.len() as u32);
    }
    let pattern = BlockPattern::new(ROWS, rows, columns).unwrap();
    let mut values = Vec::new();
    for i in 0..ROWS {
        for &c in pattern.columns(i) {
            for e in 0..nb * nb {
                let noise = ((i * 31 + c as usize * 17 + e * 7 + seed) as f64).sin() / (8 * nb) as f64;
                values.push(noise + if c as usize == i && e % (nb + 1) == 0 { 1.5 } else { 0.0 });
            }
        }
    }
    BlockCsr::new(pattern, nb, values).unwrap()
}

fn wave(nb: usize) -> Vec<f64> {
    (0..ROWS * nb).map(|i| (i as f64).cos()).collect()
}

fn transposed(values: &[f64], nb: usize) -> Vec<f64> {
    let block = |b: &[f64]| (0..nb * nb).map(|e| b[e % nb * nb + e / nb]).collect::<Vec<_>>();
    values.chunks(nb * nb).flat_map(block).collect()
}

/// Both solvers with the values of `a`.
fn pair(stream: &Stream, a: &BlockCsr, options: SolverOptions) -> (LinearSolver, LinearSolverCuda) {
    let team = Arc::new(Team::new(2));
    let mut here = LinearSolver::symbolic(Arc::clone(&team), a.pattern(), a.nb(), options).unwrap();
    here.numeric(a.values(), BlockLayout::ColumnMajor).unwrap();
    let mut there = LinearSolverCuda::symbolic(stream, &team, a.pattern(), a.nb(), options).unwrap();
    there.numeric(a.values(), BlockLayout::ColumnMajor).unwrap();
    (here, there)
}

/// Outcomes alike, iterations within `apart`, solutions within `close`.
fn agree(
    (here, there): (&mut LinearSolver, &mut LinearSolverCuda),
    guess: &[f64],
    (apart, close): (usize, f64),
    what: &str,
) {
    let b = wave(guess.len() / ROWS);
    let (mut x, mut y) = (guess.to_vec(), guess.to_vec());
    let expected = here.solve(&b, &mut x).unwrap();
    let found = there.solve(&b, &mut y).unwrap();
    let end = |o: Outcome| if let Outcome::Diverged { .. } = o { "diverged" } else { o.name() };
    assert_eq!(end(found.outcome), end(expected.outcome), "{what}");
    assert!(found.iterations.abs_diff(expected.iterations) <= apart, "{what}: {}", found.iterations);
    assert_eq!(found.history.len() == 2, expected.history.len() == 2, "{what}: histories of one kind");
    for (x, y) in x.iter().zip(&y) {
        assert!((x - y).abs() <= close, "{what}: {x} {y}");
    }
}

/// Sweeps, alone and in Krylov methods, corrected or not, by every policy.
#[test]
fn cuda_solver_agrees_with_its_twin() {
    let Some(stream) = test_stream() else { return };
    for nb in [1, 5, 11] {
        let a = system(nb, 0);
        for preconditioner in [
            PreconditionerKind::Multicolor,
            PreconditionerKind::GaussSeidel,
            PreconditionerKind::Ssor,
            PreconditionerKind::Jacobi,
        ] {
            for (method, policy, tolerance, correction_sweeps) in [
                (Method::Richardson, Policy::D, 0.0, 0),
                (Method::Richardson, Policy::Ds, 0.0, 0),
                (Method::Richardson, Policy::Dsh, 0.0, 0),
                (Method::Richardson, Policy::D, 1e-10, 0),
                (Method::Richardson, Policy::Ds, 1e-5, 0),
                (Method::Richardson, Policy::Dsh, 1e-3, 0),
                (Method::Richardson, Policy::Ds, 1e-10, 1),
                (Method::Richardson, Policy::Dsh, 1e-10, 2),
                (Method::Gmres, Policy::D, 1e-10, 0),
                (Method::Gmres, Policy::Dsh, 1e-10, 0),
                (Method::BiCgStab, Policy::D, 1e-10, 0),
            ] {
                let options = SolverOptions {
                    method,
                    preconditioner,
                    policy,
                    tolerance,
                    correction_sweeps,
                    sweeps: 2,
                    ..SolverOptions::default()
                };
                let (mut here, mut there) = pair(&stream, &a, options);
                // Without corrections solutions are as good as the policy is.
                let close = match (policy, tolerance > 1e-9 || tolerance == 0.0) {
                    (Policy::D, _) | (_, false) => 1e-8,
                    (Policy::Ds, true) => 1e-5,
                    (Policy::Dsh, true) => 1e-2,
                };
                let what = format!("nb {nb} {method} {preconditioner} {policy} {correction_sweeps}");
                agree((&mut here, &mut there), &vec![0.0; ROWS * nb], (2, close), &what);
                let guess: Vec<f64> = (0..ROWS * nb).map(|i| (i as f64 * 0.3).sin()).collect();
                agree((&mut here, &mut there), &guess, (2, close), &format!("{what}, from a guess"));
            }
        }
    }
}

/// Low precision by itself reaches no f64 tolerance and must not say that it has.
#[test]
fn cuda_solver_judges_by_the_f64_matrix() {
    let Some(stream) = test_stream() else { return };
    let a = system(4, 0);
    for policy in [Policy::Ds, Policy::Dsh] {
        let options = SolverOptions {
            method: Method::Richardson,
            preconditioner: PreconditionerKind::Multicolor,
            policy,
            tolerance: 1e-12,
            correction_sweeps: 0,
            ..SolverOptions::default()
        };
        let (mut here, mut there) = pair(&stream, &a, options);
        let b = wave(4);
        let mut x = vec![0.0; b.len()];
        let found = there.solve(&b, &mut x).unwrap();
        assert_eq!(found.outcome, Outcome::Stagnated, "{policy}");
        assert_eq!(here.solve(&b, &mut vec![0.0; b.len()]).unwrap().outcome, Outcome::Stagnated, "{policy}");
        // What it reports is the residual of the caller's matrix.
        let mut ax = vec![0.0; b.len()];
        here.multiply(&x, &mut ax).unwrap();
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let r: Vec<f64> = b.iter().zip(&ax).map(|(b, ax)| b - ax).collect();
        let relative = norm(&r) / norm(&b);
        assert!(relative > 1e-9 && (relative / found.relative_residual - 1.0).abs() < 1e-6, "{policy}");
    }
}

/// Right-hand sides whose squares leave the range of f64, and whose updates that of f32, give the digits of those that do not.
#[test]
fn cuda_a_solution_is_as_large_as_its_right_hand_side() {
    let Some(stream) = test_stream() else { return };
    let a = system(5, 3);
    for words in METHODS {
        let mut options = SolverOptions::default();
        options.set_all(words).unwrap();
        let (_, mut there) = pair(&stream, &a, options);
        let (b, guess): (_, Vec<f64>) = (wave(5), (0..ROWS * 5).map(|i| (i as f64 * 0.3).sin()).collect());
        let mut solved = |exponent: i32| {
            let scaled = |v: &[f64]| v.iter().map(|v| v * 2.0_f64.powi(exponent)).collect::<Vec<_>>();
            let mut x = scaled(&guess);
            let solve = there.solve(&scaled(&b), &mut x).unwrap();
            (solve, x)
        };
        let (alone, expected) = solved(0);
        assert_eq!(alone.outcome, Outcome::Converged, "{words}");
        for exponent in [-900, -540, -160, 160, 540, 900] {
            let (solve, x) = solved(exponent);
            assert_eq!(solve, alone, "{words}, 2^{exponent}");
            let same = |(x, e): (&f64, &f64)| *x == e * 2.0_f64.powi(exponent);
            assert!(x.iter().zip(&expected).all(same), "{words}, 2^{exponent}");
        }
        // The smallest numbers that there are, and none.
        for (value, guess) in [(5e-324, 0.0), (0.0, 1.0)] {
            let mut x = vec![guess; b.len()];
            let solve = there.solve(&vec![value; b.len()], &mut x).unwrap();
            assert_eq!(solve.outcome, Outcome::Converged, "{words}, {value}");
            assert!(x.iter().all(|x| x.is_finite()), "{words}, {value}");
        }
    }
}

/// Factors and corrections beside the CPU's: the same iterations in every order of the rows.
#[test]
fn cuda_solver_factors_as_its_twin() {
    let Some(stream) = test_stream() else { return };
    for nb in [1, 4, 5] {
        let a = system(nb, 0);
        for (method, policy, tolerance, sweeps) in [
            (Method::Richardson, Policy::D, 0.0, 3),
            (Method::Richardson, Policy::Ds, 1e-11, 1),
            (Method::Gmres, Policy::D, 1e-11, 1),
            (Method::Gmres, Policy::Ds, 1e-11, 1),
            (Method::BiCgStab, Policy::D, 1e-11, 1),
        ] {
            for (colored, rcm, fill) in [
                (false, Rcm::Always, Fill::Level(0)),
                (false, Rcm::Never, Fill::DiagonalOnly),
                (true, Rcm::Always, Fill::Level(0)),
            ] {
                let preconditioner = PreconditionerKind::Ilu(fill);
                let mut options = SolverOptions {
                    method,
                    preconditioner,
                    policy,
                    colored,
                    sweeps,
                    tolerance,
                    ..SolverOptions::default()
                };
                options.plan.rcm = rcm;
                let (mut here, mut there) = pair(&stream, &a, options);
                let what = format!("nb {nb} {method} {policy} {fill} colored {colored}");
                agree((&mut here, &mut there), &vec![0.0; ROWS * nb], (0, 1e-9), &what);
            }
        }
    }
}

/// Values again and again, by columns and by rows, from the host and from the device; vectors from both.
#[test]
fn cuda_solver_takes_values_and_vectors_from_everywhere() {
    let Some(stream) = test_stream() else { return };
    let nb = 3;
    let (first, second) = (system(nb, 0), system(nb, 5));
    let b = wave(nb);
    for policy in Policy::ALL {
        for preconditioner in [PreconditionerKind::Multicolor, PreconditionerKind::Ilu(Fill::Level(0))] {
            if policy == Policy::Dsh && preconditioner.fill().is_some() {
                continue; // no factors in f16
            }
            let options = SolverOptions { preconditioner, policy, ..SolverOptions::default() };
            let (_, mut there) = pair(&stream, &first, options);
            let (mut here, mut fresh) = pair(&stream, &second, options);
            let mut expected = vec![0.0; b.len()];
            assert_eq!(fresh.solve(&b, &mut expected).unwrap().outcome, Outcome::Converged);
            let by_rows = transposed(second.values(), nb);
            let on_device = stream.upload(&by_rows).unwrap();
            let device_b = stream.upload(&b).unwrap();
            for turn in 0..3 {
                match turn {
                    0 => there.numeric(second.values(), BlockLayout::ColumnMajor),
                    1 => there.numeric(&by_rows, BlockLayout::RowMajor),
                    _ => there.numeric(&on_device, BlockLayout::RowMajor),
                }
                .unwrap();
                let mut x = vec![0.0; b.len()];
                there.solve(&b, &mut x).unwrap();
                assert!(x == expected, "{policy} {preconditioner}: other bits in turn {turn}");
                let mut y = stream.upload(&vec![0.0; b.len()]).unwrap();
                there.solve(&device_b, &mut y).unwrap();
                assert!(y.download().unwrap() == expected, "{policy} {preconditioner}: device vectors");
            }
            // The operator and the preconditioner by themselves.
            let (mut ax, mut expected) = (vec![0.0; b.len()], vec![0.0; b.len()]);
            there.multiply(&b, &mut ax).unwrap();
            here.multiply(&b, &mut expected).unwrap();
            assert!(ax.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-13));
            let mut z = stream.upload(&vec![f64::NAN; b.len()]).unwrap();
            there.apply(&device_b, &mut z).unwrap();
            here.apply(&b, &mut expected).unwrap();
            let close = if policy == Policy::D { 1e-12 } else { 1e-5 };
            assert!(z.download().unwrap().iter().zip(&expected).all(|(x, y)| (x - y).abs() < close));
        }
    }
}

/// Calls on arrays of the device are graphs from the second time on: the same bits as the first time, with new values and options too.
#[test]
fn cuda_small_solver_records_its_calls() {
    let Some(stream) = test_stream() else { return };
    let [a, other] = [0, 5].map(|seed| system(3, seed));
    let b = wave(3);
    let kinds = [PreconditionerKind::Ssor, PreconditionerKind::Ilu(Fill::Level(0)), PreconditionerKind::None];
    for preconditioner in kinds {
        let options = SolverOptions { preconditioner, sweeps: 2, ..SolverOptions::default() };
        let (_, mut solver) = pair(&stream, &a, options);
        let given: Vec<_> = (0..3).map(|_| DeviceBuffer::from_slice(&stream, &b).unwrap()).collect();
        let mut taken: Vec<_> = (0..3).map(|_| DeviceBuffer::zeroed(&stream, b.len()).unwrap()).collect();
        for values in [&a, &other, &a] {
            solver.numeric(values.values(), BlockLayout::ColumnMajor).unwrap();
            let [mut applied, mut multiplied] = [vec![0.0; b.len()], vec![0.0; b.len()]];
            solver.apply(&b, &mut applied).unwrap();
            solver.multiply(&b, &mut multiplied).unwrap();
            for _ in 0..4 {
                for (from, to) in given.iter().zip(&mut taken) {
                    let poison = vec![f64::NAN; b.len()];
                    to.upload(&poison).unwrap();
                    solver.apply(from, &mut *to).unwrap();
                    assert_eq!(to.download().unwrap(), applied, "{preconditioner:?}");
                    to.upload(&poison).unwrap();
                    solver.multiply(from, &mut *to).unwrap();
                    assert_eq!(to.download().unwrap(), multiplied, "{preconditioner:?}");
                }
            }
        }
        solver.set_options(SolverOptions { sweeps: 3, ..options }).unwrap();
        let mut expected = vec![0.0; b.len()];
        solver.apply(&b, &mut expected).unwrap();
        solver.apply(&given[0], &mut taken[0]).unwrap();
        assert_eq!(taken[0].download().unwrap(), expected, "other options");
        // The caller records a graph of its own.
        for _ in 0..2 {
            let mut graph = stream
                .capture(|| {
                    solver.apply(&given[0], &mut taken[0]).unwrap();
                    solver.multiply(&given[0], &mut taken[1]).unwrap();
                    Ok(())
                })
                .unwrap();
            taken[0].upload(&vec![f64::NAN; b.len()]).unwrap();
            graph.launch(&stream).unwrap();
            assert_eq!(taken[0].download().unwrap(), expected, "recorded by the caller");
        }
    }
}

#[test]
fn cuda_solver_counts_what_f16_loses() {
    let Some(stream) = test_stream() else { return };
    let a = system(2, 0);
    let small = |k: usize, v: f64| if k.is_multiple_of(13) && v.abs() < 0.5 { v * 1e-14 } else { v };
    let values: Vec<f64> = a.values().iter().enumerate().map(|(k, &v)| small(k, v)).collect();
    let preconditioner = PreconditionerKind::Multicolor;
    let options = SolverOptions { preconditioner, policy: Policy::Dsh, ..SolverOptions::default() };
    let (mut here, mut there) = pair(&stream, &a, options);
    let expected = here.numeric(&values, BlockLayout::ColumnMajor).unwrap();
    assert!(expected.underflowed > 100);
    assert_eq!(there.numeric(&values, BlockLayout::ColumnMajor).unwrap(), expected);
}

#[test]
fn cuda_solver_names_misuse_as_its_twin() {
    let Some(stream) = test_stream() else { return };
    let a = system(2, 0);
    let options =
        SolverOptions { preconditioner: PreconditionerKind::Multicolor, ..SolverOptions::default() };
    let (mut here, mut there) = pair(&stream, &a, options);
    let mut bad = a.values().to_vec();
    bad[4 * 77 + 2] = f64::NAN;
    for layout in [BlockLayout::ColumnMajor, BlockLayout::RowMajor] {
        let expected = here.numeric(&bad, layout).unwrap_err().to_string();
        assert_eq!(there.numeric(&bad, layout).unwrap_err().to_string(), expected);
    }
    let tiny: Vec<f64> = a.values().iter().map(|v| v * 1e-200).collect();
    let expected = here.numeric(&tiny, BlockLayout::RowMajor).unwrap_err().to_string();
    assert!(expected.contains("no entry of the matrix reaches 1.2e-38"), "{expected}");
    assert_eq!(there.numeric(&tiny, BlockLayout::RowMajor).unwrap_err().to_string(), expected);
    let (b, mut x) = (wave(2), vec![0.0; ROWS * 2]);
    assert!(matches!(there.solve(&b, &mut x), Err(SolverError::NoValues)));
    let mut singular = a.values().to_vec();
    let diagonal = a.pattern().find(7, 7).unwrap() * 4;
    singular[diagonal..diagonal + 4].fill(0.0);
    let error = there.numeric(&singular, BlockLayout::ColumnMajor).unwrap_err();
    assert!(matches!(error, SolverError::SingularDiagonal { count: 1, row: 7 }), "{error}");
    there.numeric(a.values(), BlockLayout::ColumnMajor).unwrap();
    let mut infinite = b.clone();
    infinite[599] = f64::INFINITY;
    assert_eq!(there.solve(&infinite, &mut x).unwrap_err().to_string(), "b[599] is inf");
    assert_eq!(there.solve(&b, &mut infinite).unwrap_err().to_string(), "x[599] is inf");
    assert!(there.solve(&b[1..], &mut x).is_err());
    let other = SolverOptions { policy: Policy::D, ..options };
    assert!(matches!(there.set_options(other), Err(SolverError::Options(_))));

    let team = Team::new(1);
    for (options, word) in [
        (
            SolverOptions {
                policy: Policy::Dsh,
                preconditioner: PreconditionerKind::Ilu(Fill::Level(0)),
                ..options
            },
            "f32",
        ),
        (SolverOptions { diagonal: DiagonalForm::Lu, ..options }, "diagonal = Lu"),
        (SolverOptions { policy: Policy::Dsh, half_scale: HalfScale::Rows, ..options }, "half_scale = Rows"),
    ] {
        let error = LinearSolverCuda::symbolic(&stream, &team, a.pattern(), 2, options).err().unwrap();
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// What a GPU does not do is refused before one is looked for.
#[test]
fn null_spaces_are_refused() {
    let options = SolverOptions { null_space: NullSpace::Constant, ..SolverOptions::default() };
    let refused = check_options(&options).unwrap_err().to_string();
    assert!(refused.contains("null_space = constant is not to be had on a GPU"), "{refused}");
}
