//! Factors that are made as rows come in, and what is known of an order.

use super::tests::{largest_error, sample, wave};
use super::*;
use crate::Outcome;
use crate::factor::block_ilu::Fill;

/// Factors made as rows come in are those of the matrix that is kept, whatever the number of threads, the order of the rows, the blocks
/// and their type; without the matrix its products are refused.
#[test]
fn factors_alone_are_those_of_the_whole_matrix() {
    for (nb, fill) in [(1, 0), (2, 0), (4, 1), (5, 0), (9, 0), (1, 2)] {
        let (row_ptr, col_idx, values) = sample(70, nb);
        let n = 70 * nb;
        let b = wave(n);
        let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        for (policy, order) in
            Policy::ALL.iter().zip([RowOrder::Natural, RowOrder::Rcm, RowOrder::Multicolor])
        {
            let run = |threads, keep_matrix| {
                let mut options = SolverOptions { policy: *policy, keep_matrix, ..SolverOptions::default() };
                options.preconditioner = PreconditionerKind::Ilu(Fill::Level(fill));
                options.set("order", order.name()).unwrap();
                let (team, base) = (Arc::new(Team::new(threads)), IndexBase::One);
                LinearSolver::symbolic_from_arrays(team, base, &row_ptr, &col_idx, nb, options).unwrap()
            };
            let mut whole = run(2, true);
            let mut expected = [vec![0.0; n], vec![0.0; n]];
            whole.numeric(&values, BlockLayout::RowMajor).unwrap();
            whole.apply(&b, &mut expected[0]).unwrap();
            whole.numeric(&single, BlockLayout::ColumnMajor).unwrap();
            whole.apply(&b, &mut expected[1]).unwrap();
            for (threads, keep) in [(1, true), (1, false), (3, false)] {
                let what = format!("nb {nb}, fill {fill}, {policy}, {order}, {threads} threads, {keep}");
                let mut solver = run(threads, keep);
                let mut z = vec![0.0; n];
                solver.numeric(&values, BlockLayout::RowMajor).unwrap();
                solver.apply(&b, &mut z).unwrap();
                assert_eq!(z, expected[0], "{what}");
                solver.numeric(&single, BlockLayout::ColumnMajor).unwrap();
                solver.apply(&b, &mut z).unwrap();
                assert_eq!(z, expected[1], "{what}");
                assert_eq!(solver.multiply(&b, &mut z).is_ok(), keep);
                let mut bad = values.clone();
                bad[7 * nb * nb] = f64::INFINITY;
                bad[values.len() - 1] = f64::NAN;
                for wrong in [bad, vec![0.0; values.len()]] {
                    let refused = solver.numeric(&wrong, BlockLayout::ColumnMajor).unwrap_err().to_string();
                    let same = whole.numeric(&wrong, BlockLayout::ColumnMajor).unwrap_err().to_string();
                    assert_eq!(refused, same, "{what}");
                }
                assert!(matches!(solver.apply(&b, &mut z), Err(SolverError::NoValues)));
            }
        }
    }
}

#[test]
fn a_callers_product_goes_around_factors_alone() {
    let (rows, nb) = (60, 3);
    let (row_ptr, col_idx, values) = sample(rows, nb);
    let b = wave(rows * nb);
    let new = |keep_matrix| {
        let options = SolverOptions { keep_matrix, ..SolverOptions::default() };
        let (team, base) = (Arc::new(Team::new(1)), IndexBase::One);
        let mut solver =
            LinearSolver::symbolic_from_arrays(team, base, &row_ptr, &col_idx, nb, options).unwrap();
        solver.numeric(&values, BlockLayout::ColumnMajor).unwrap();
        solver
    };
    let (mut whole, mut factors, mut matrix) = (new(true), new(false), new(true));
    let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
    assert!(matches!(factors.solve(&b, &mut x), Err(SolverError::NotKept)));
    let expected = whole.solve(&b, &mut x).unwrap();
    let mut product = |x: &[f64], y: &mut [f64]| matrix.multiply(x, y).unwrap();
    let found = factors.solve_matrix_free(&mut product, &b, &mut y).unwrap();
    assert_eq!((found.outcome, found.iterations), (Outcome::Converged, expected.iterations));
    assert!(largest_error(&x, &y) < 1e-9);
    assert!(factors.bytes() + 8 * values.len() <= whole.bytes(), "{} {}", factors.bytes(), whole.bytes());
    assert!(factors.set_options(SolverOptions::default()).is_err(), "it cannot come back");
}

/// What is found out about an order only when it is asked for is what a plan reports.
#[test]
fn the_order_is_reported_as_a_plan_does() {
    let (row_ptr, col_idx, _) = sample(90, 1);
    let zero = |v: &[i32]| v.iter().map(|&i| i as u32 - 1).collect::<Vec<_>>();
    let (row_ptr, mut col_idx) = (zero(&row_ptr), zero(&col_idx));
    row_ptr.windows(2).for_each(|w| col_idx[w[0] as usize..w[1] as usize].sort_unstable());
    let pattern = BlockPattern::new(90, row_ptr, col_idx).unwrap();
    let mut tried = 0;
    for order in RowOrder::ALL {
        for preconditioner in PreconditionerKind::ALL {
            let mut options = SolverOptions { preconditioner: *preconditioner, ..SolverOptions::default() };
            options.set("order", order.name()).unwrap();
            if options.check().is_err() {
                continue;
            }
            tried += 1;
            let plan = crate::order::Plan::new(&pattern, &options.effective_plan()).unwrap();
            let solver = LinearSolver::symbolic(Arc::new(Team::new(1)), &pattern, 1, options).unwrap();
            assert_eq!(*solver.order(), plan.report, "{preconditioner} {order}");
            assert_eq!(*solver.permutation(), plan.permutation);
            assert_eq!(*solver.batches(), plan.batches);
        }
    }
    assert!(tried > 15, "{tried}");
}

/// Solvers of every preconditioner on a matrix of 2 x 2 blocks counted from 1, under these policies and threads; `check` gets those that f32
/// is asked for, once the others have taken `values`.
fn each_in_single(
    (row_ptr, col_idx, values): (&[i32], &[i32], &[f64]),
    kinds: &[(Policy, usize)],
    check: impl Fn(&mut LinearSolver, &str),
) {
    for preconditioner in PreconditionerKind::ALL {
        for &(policy, threads) in kinds {
            let what = format!("{preconditioner} {policy}");
            let options =
                SolverOptions { preconditioner: *preconditioner, policy, ..SolverOptions::default() };
            let team = Arc::new(Team::new(threads));
            let made = LinearSolver::symbolic_from_arrays(team, IndexBase::One, row_ptr, col_idx, 2, options);
            let Ok(mut solver) = made else { continue };
            if policy == Policy::D || *preconditioner == PreconditionerKind::None {
                let found = solver.numeric(values, BlockLayout::ColumnMajor);
                assert!(found.is_ok(), "{what}: {found:?}");
            } else {
                check(&mut solver, &what);
            }
        }
    }
}

/// Blocks that f32 does not hold are no factors and no sweeps: the entry is named, not a diagonal block of infinities or a NaN after a sweep.
#[test]
fn entries_beyond_f32_are_named() {
    let (row_ptr, col_idx, mut values) = sample(30, 2);
    let k = row_ptr[7] as usize; // the second block of row 8
    values[k * 4 + 2] = -1e60;
    let kinds = [(Policy::D, 2), (Policy::Ds, 2), (Policy::Dsh, 2)];
    each_in_single((&row_ptr, &col_idx, &values), &kinds, |solver, what| {
        let error = solver.numeric(&values, BlockLayout::ColumnMajor).unwrap_err();
        let place = (8, Some(col_idx[k] as u64));
        assert_eq!((error.kind(), error.place()), (ErrorKind::NotFinite, Some(place)), "{what}: {error}");
        assert!(error.to_string().contains("entry (0, 1) of the block, from 0, is -1e60"), "{error}");
    });
}

/// A matrix all of whose entries are below f32 is named by its first; zeros alone are no such matrix.
#[test]
fn matrices_below_f32_are_named() {
    let (row_ptr, col_idx, values) = sample(30, 2);
    let tiny: Vec<f64> = values.iter().map(|v| v * 1e-200).collect();
    let kinds = [(Policy::D, 1), (Policy::Ds, 1), (Policy::Ds, 2), (Policy::Dsh, 2)];
    each_in_single((&row_ptr, &col_idx, &tiny), &kinds, |solver, what| {
        let error = solver.numeric(&tiny, BlockLayout::ColumnMajor).unwrap_err();
        assert!(matches!(error, SolverError::BelowSingle { .. }), "{what}: {error}");
        let place = (1, Some(col_idx[0] as u64));
        assert_eq!((error.kind(), error.place()), (ErrorKind::NotFinite, Some(place)));
        assert!(solver.numeric(&values, BlockLayout::ColumnMajor).is_ok(), "{what}");
        let zeros = vec![0.0; values.len()];
        let error = solver.numeric(&zeros, BlockLayout::ColumnMajor).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Singular, "{what}: {error}");
    });
}
