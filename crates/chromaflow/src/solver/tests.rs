use super::*;
use crate::Outcome;
use crate::factor::block_ilu::Fill;
use crate::order::{ColoringMethod, PlanOptions, Rcm, VertexOrder};
use crate::relax::{DiagonalForm, Direction};
use chromaflow_testkit as testkit;

/// Index arrays from 1 with the diagonal block first in each row, and column-major blocks in that order.
pub(super) fn sample(rows: usize, nb: usize) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let (ptr, idx) = crate::gallery::tetrahedral(rows, rows * 6, 11);
    let (mut row_ptr, mut col_idx, mut values) = (vec![1], Vec::new(), Vec::new());
    for row in 0..rows {
        let columns = &idx[ptr[row] as usize..ptr[row + 1] as usize];
        for (i, &col) in [row as u32].iter().chain(columns.iter().rev()).enumerate() {
            col_idx.push(col as i32 + 1);
            for e in 0..nb * nb {
                let noise = ((row * 31 + col as usize * 17 + e * 7) % 101) as f64 / 101.0 - 0.5;
                let diagonal = i == 0 && e % (nb + 1) == 0;
                values.push(noise + if diagonal { 0.3 * (nb * (columns.len() + 1)) as f64 } else { 0.0 });
            }
        }
        row_ptr.push(col_idx.len() as i32 + 1);
    }
    (row_ptr, col_idx, values)
}

fn transposed_blocks(values: &[f64], nb: usize) -> Vec<f64> {
    let block = |b: &[f64]| (0..nb * nb).map(|e| b[e % nb * nb + e / nb]).collect::<Vec<_>>();
    values.chunks(nb * nb).flat_map(block).collect()
}

pub(super) fn dense(row_ptr: &[i32], col_idx: &[i32], nb: usize, values: &[f64]) -> Vec<f64> {
    let zero = |v: &[i32]| v.iter().map(|&i| i as u32 - 1).collect::<Vec<_>>();
    testkit::dense_of_blocks(row_ptr.len() - 1, &zero(row_ptr), &zero(col_idx), nb, values)
}

pub(super) fn wave(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.61).cos()).collect()
}

/// Solvers of every kind of method, for right-hand sides of any size.
pub(super) const METHODS: [&str; 5] = [
    "",
    "preconditioner=multicolor, policy=dsh",
    "method=bicgstab, preconditioner=multicolor",
    "method=richardson, preconditioner=multicolor",
    "method=richardson, preconditioner=jacobi, policy=d",
];

pub(super) fn largest_error(x: &[f64], exact: &[f64]) -> f64 {
    x.iter().zip(exact).fold(0.0, |m: f64, (x, e)| m.max((x - e).abs()))
}

#[test]
fn every_choice_finds_the_dense_solution_in_the_callers_order() {
    let (rows, nb) = (60, 3);
    let (row_ptr, col_idx, values) = sample(rows, nb);
    let b = wave(rows * nb);
    let exact = testkit::dense_solve(&dense(&row_ptr, &col_idx, nb, &values), &b).unwrap();
    let by_rows = transposed_blocks(&values, nb);
    let team = Arc::new(Team::new(2));
    for &method in Method::ALL {
        for &preconditioner in PreconditionerKind::ALL {
            if (method, preconditioner) == (Method::Richardson, PreconditionerKind::None) {
                continue; // x + b - A x diverges for this matrix
            }
            if preconditioner == PreconditionerKind::Lines {
                continue; // of rows that somebody knows lines of
            }
            for policy in Policy::ALL {
                let plan = PlanOptions {
                    rcm: if policy == Policy::Ds { Rcm::Never } else { Rcm::Always },
                    coloring: ColoringMethod::Greedy(VertexOrder::SmallestLast),
                    balance: policy == Policy::D,
                };
                let options =
                    SolverOptions { method, preconditioner, policy, plan, ..SolverOptions::default() };
                let mut solver = LinearSolver::symbolic_from_arrays(
                    Arc::clone(&team),
                    IndexBase::One,
                    &row_ptr,
                    &col_idx,
                    nb,
                    options,
                )
                .unwrap();
                // The second set of values replaces the first.
                solver.numeric(&by_rows, BlockLayout::ColumnMajor).unwrap();
                for (given, layout) in
                    [(&values, BlockLayout::ColumnMajor), (&by_rows, BlockLayout::RowMajor)]
                {
                    solver.numeric(given, layout).unwrap();
                    let mut x = vec![0.0; b.len()];
                    let solve = solver.solve(&b, &mut x).unwrap();
                    let what = format!("{method} {preconditioner} {policy}");
                    assert_eq!(solve.outcome, Outcome::Converged, "{what}");
                    assert!(solve.relative_residual <= 1e-10, "{what}");
                    assert!(largest_error(&x, &exact) < 1e-9, "{what}: {}", largest_error(&x, &exact));
                    let mut back = vec![0.0; b.len()];
                    solver.multiply(&x, &mut back).unwrap();
                    assert!(largest_error(&back, &b) < 1e-8, "{what}: {}", largest_error(&back, &b));
                }
            }
        }
    }
}

#[test]
fn block_ilu_solves_with_any_fill_in_any_order_of_the_rows() {
    let (rows, nb) = (200, 3);
    let (row_ptr, col_idx, values) = sample(rows, nb);
    let b = wave(rows * nb);
    let exact = testkit::dense_solve(&dense(&row_ptr, &col_idx, nb, &values), &b).unwrap();
    let team = Arc::new(Team::new(2));
    for (rcm, colored) in [(Rcm::Never, false), (Rcm::Always, false), (Rcm::Always, true)] {
        let mut most = usize::MAX;
        for fill in
            [Fill::DiagonalOnly, Fill::Level(0), Fill::Level(1), Fill::Level(2), Fill::Level(rows as u32)]
        {
            for method in [Method::Gmres, Method::Richardson] {
                let options = SolverOptions {
                    method,
                    preconditioner: PreconditionerKind::Ilu(fill),
                    policy: Policy::D,
                    plan: PlanOptions { rcm, ..PlanOptions::default() },
                    colored,
                    tolerance: 1e-12,
                    ..SolverOptions::default()
                };
                let mut solver = LinearSolver::symbolic_from_arrays(
                    Arc::clone(&team),
                    IndexBase::One,
                    &row_ptr,
                    &col_idx,
                    nb,
                    options,
                )
                .unwrap();
                assert_eq!(solver.order().colors > 1, colored);
                solver.numeric(&values, BlockLayout::ColumnMajor).unwrap();
                let mut x = vec![0.0; b.len()];
                let solve = solver.solve(&b, &mut x).unwrap();
                let what = format!("{method}, fill {fill}, rcm {rcm:?}, colored {colored}");
                assert_eq!(solve.outcome, Outcome::Converged, "{what}");
                assert!(largest_error(&x, &exact) < 1e-10, "{what}: {}", largest_error(&x, &exact));
                if method == Method::Gmres {
                    assert!(solve.iterations <= most, "{what}: {} after {most}", solve.iterations);
                    most = solve.iterations;
                }
            }
        }
        assert!(most <= 2, "a factorization with all its fill is exact, but took {most} iterations");
    }
}

#[test]
fn fixed_sweeps_are_those_of_the_relaxation() {
    let (rows, nb) = (40, 4);
    let (row_ptr, col_idx, values) = sample(rows, nb);
    let b = wave(rows * nb);
    let run = |options: SolverOptions| {
        let mut solver = LinearSolver::symbolic_from_arrays(
            Arc::new(Team::new(1)),
            IndexBase::One,
            &row_ptr,
            &col_idx,
            nb,
            options,
        )
        .unwrap();
        solver.numeric(&values, BlockLayout::ColumnMajor).unwrap();
        let mut x = vec![0.0; b.len()];
        (solver.solve(&b, &mut x).unwrap(), x)
    };
    let (quick, x) = run(SolverOptions::sweeps(6));
    assert_eq!((quick.outcome, quick.iterations, quick.history.len()), (Outcome::IterationLimit, 6, 2));
    let (watched, y) = run(SolverOptions { history: true, ..SolverOptions::sweeps(6) });
    assert_eq!((watched.iterations, watched.history.len()), (6, 7));
    assert_eq!(watched.history.last(), quick.history.last());
    assert_eq!(x, y, "watching changes nothing");
    let mut solver = LinearSolver::symbolic_from_arrays(
        Arc::new(Team::new(1)),
        IndexBase::One,
        &row_ptr,
        &col_idx,
        nb,
        SolverOptions::sweeps(6),
    )
    .unwrap();
    let mut z = vec![f64::NAN; b.len()];
    assert!(matches!(solver.apply(&b, &mut z), Err(SolverError::NoValues)));
    solver.numeric(&values, BlockLayout::ColumnMajor).unwrap();
    solver.apply(&b, &mut z).unwrap();
    assert_eq!(z, x, "the preconditioner alone is the sweeps from zero");
    // In f64, corrections every two sweeps are the same sweeps again.
    let d = SolverOptions { policy: Policy::D, ..SolverOptions::sweeps(6) };
    let (_, plain) = run(d);
    let (corrected, z) = run(SolverOptions { correction_sweeps: 2, ..d });
    assert_eq!(corrected.iterations, 6);
    assert!(largest_error(&plain, &z) < 1e-14);
}

#[test]
fn low_precision_alone_stalls_and_corrections_lift_it() {
    let (rows, nb) = (40, 4);
    let (row_ptr, col_idx, values) = sample(rows, nb);
    let b = wave(rows * nb);
    for policy in [Policy::Ds, Policy::Dsh] {
        let mut options = SolverOptions {
            method: Method::Richardson,
            preconditioner: PreconditionerKind::Multicolor,
            policy,
            tolerance: 1e-12,
            correction_sweeps: 0,
            ..SolverOptions::default()
        };
        let mut solver = LinearSolver::symbolic_from_arrays(
            Arc::new(Team::new(1)),
            IndexBase::One,
            &row_ptr,
            &col_idx,
            nb,
            options,
        )
        .unwrap();
        solver.numeric(&values, BlockLayout::ColumnMajor).unwrap();
        let mut x = vec![0.0; b.len()];
        let stalled = solver.solve(&b, &mut x).unwrap();
        assert_eq!(stalled.outcome, Outcome::Stagnated, "{policy}");
        assert!(stalled.relative_residual > 1e-9);
        options.correction_sweeps = 3;
        solver.set_options(options).unwrap();
        assert_eq!(solver.solve(&b, &mut x).unwrap().outcome, Outcome::Converged, "{policy}");
    }
}

#[test]
fn misuse_names_the_callers_rows() {
    let (row_ptr, col_idx, values) = sample(30, 2);
    let team = Arc::new(Team::new(1));
    let new = |row_ptr: &[i32], col_idx: &[i32], nb, options| {
        LinearSolver::symbolic_from_arrays(Arc::clone(&team), IndexBase::One, row_ptr, col_idx, nb, options)
    };
    let default =
        || SolverOptions { preconditioner: PreconditionerKind::Multicolor, ..SolverOptions::default() };
    let said = |result: Result<LinearSolver, SolverError>| result.err().expect("misuse").to_string();
    let mut solver = new(&row_ptr, &col_idx, 2, default()).unwrap();
    assert!(matches!(solver.solve(&[0.0; 60], &mut [0.0; 60]), Err(SolverError::NoValues)));

    let k = row_ptr[7] as usize - 1 + 1; // the second block of row 7
    let mut bad = values.clone();
    bad[k * 4 + 2] = f64::NAN;
    let column = col_idx[k] as usize;
    for (layout, place) in [(BlockLayout::ColumnMajor, (0, 1)), (BlockLayout::RowMajor, (1, 0))] {
        match solver.numeric(&bad, layout) {
            Err(SolverError::NotFinite { row: 8, col, r, c, value }) => {
                assert!(value.is_nan());
                assert_eq!((col, (r, c)), (column, place));
            }
            other => panic!("{other:?}"),
        }
    }
    let diagonal = (row_ptr[7] as usize - 1) * 4;
    let mut zero = values.clone();
    zero[diagonal..diagonal + 4].fill(0.0);
    let refused = solver.numeric(&zero, BlockLayout::ColumnMajor);
    assert!(matches!(refused, Err(SolverError::SingularDiagonal { count: 1, row: 8 })), "{refused:?}");
    assert!(matches!(solver.solve(&[0.0; 60], &mut [0.0; 60]), Err(SolverError::NoValues)));
    // [0 1; 1 0] on the diagonal: pivoted, and reported.
    zero[diagonal + 1] = 9.0;
    zero[diagonal + 2] = 9.0;
    assert_eq!(solver.numeric(&zero, BlockLayout::ColumnMajor).unwrap().pivoted_rows, [8]);
    let mut infinite = vec![0.0; 60];
    infinite[59] = f64::INFINITY;
    let refused = solver.solve(&infinite, &mut [0.0; 60]).unwrap_err().to_string();
    assert_eq!(refused, "b[59] is inf");
    assert!(solver.solve(&[0.0; 59], &mut [0.0; 60]).is_err());
    assert!(solver.numeric(&values[1..], BlockLayout::ColumnMajor).is_err());

    assert_eq!(said(new(&[1, 2, 2], &[1], 2, default())), "row 2 has no diagonal block; every row needs one");
    assert!(said(new(&[1, 2], &[0], 2, default())).contains("col_idx[0] is 0: indices count from 1"));
    assert!(said(new(&[1, i32::MIN], &[1], 2, default())).contains("more than the index type holds"));
    assert!(said(new(&[1, 3], &[1, 1], 2, default())).contains("stored twice"));
    let outside = "row 1: column 5 is outside the matrix of 1 columns (indices count from 1)";
    assert_eq!(said(new(&[1, 3], &[1, 5], 2, default())), outside);
    assert!(said(new(&[0, 1], &[1], 2, default())).contains("row_ptr[0] is 0: indices count from 1"));
    assert!(said(new(&[2, 3], &[1], 2, default())).contains("start with 1"));
    assert!(said(new(&[1, 4], &[1], 2, default())).contains("counts 3 blocks, but col_idx has 1"));
    assert!(said(new(&[1, 3, 2], &[1, 2], 2, default())).contains("decreases"));
    assert!(said(new(&row_ptr, &col_idx, 129, default())).contains("129"));
    let uncolored = PlanOptions { coloring: ColoringMethod::None, ..PlanOptions::default() };
    assert!(
        said(new(&row_ptr, &col_idx, 2, SolverOptions { plan: uncolored, ..default() })).contains("coloring")
    );
    assert!(
        said(new(&row_ptr, &col_idx, 2, SolverOptions { damping: f64::NAN, ..default() }))
            .contains("damping")
    );
    assert!(
        said(new(&row_ptr, &col_idx, 2, SolverOptions { tolerance: -1.0, ..default() }))
            .contains("tolerance")
    );
    let other = SolverOptions { diagonal: DiagonalForm::Lu, ..default() };
    assert!(matches!(solver.set_options(other), Err(SolverError::Options(_))));
    let tuned = SolverOptions { direction: Direction::Symmetric, sweeps: 3, ..default() };
    solver.set_options(tuned).unwrap();
}

/// The same system whatever its arrays are made of, bit for bit where nothing is rounded.
#[test]
fn every_kind_of_array_gives_the_same_solution() {
    let (rows, nb) = (40, 3);
    let (row_ptr, col_idx, values) = sample(rows, nb);
    let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    let values: Vec<f64> = single.iter().map(|&v| f64::from(v)).collect();
    let team = Arc::new(Team::new(2));
    let b = wave(rows * nb);
    let solved = |mut solver: LinearSolver, values: &dyn Fn(&mut LinearSolver)| {
        values(&mut solver);
        let mut x = vec![0.0; b.len()];
        assert_eq!(solver.solve(&b, &mut x).unwrap().outcome, Outcome::Converged);
        x
    };
    fn new<I: Index>(
        team: &Arc<Team>,
        base: IndexBase,
        row_ptr: &[i32],
        col_idx: &[i32],
        nb: usize,
        to: impl Fn(i32) -> I,
    ) -> LinearSolver {
        let convert = |v: &[i32]| v.iter().map(|&i| to(i)).collect::<Vec<_>>();
        let (row_ptr, col_idx) = (convert(row_ptr), convert(col_idx));
        let options = SolverOptions::default();
        LinearSolver::symbolic_from_arrays(Arc::clone(team), base, &row_ptr, &col_idx, nb, options).unwrap()
    }
    let whole = |solver: &mut LinearSolver| drop(solver.numeric(&values, BlockLayout::ColumnMajor).unwrap());
    let narrow = |solver: &mut LinearSolver| drop(solver.numeric(&single, BlockLayout::ColumnMajor).unwrap());
    let one = IndexBase::One;
    let expected = solved(new(&team, one, &row_ptr, &col_idx, nb, |i| i), &whole);
    assert_eq!(solved(new(&team, one, &row_ptr, &col_idx, nb, i64::from), &narrow), expected);
    assert_eq!(solved(new(&team, one, &row_ptr, &col_idx, nb, |i| i as u32), &whole), expected);
    let zero = new(&team, IndexBase::Zero, &row_ptr, &col_idx, nb, |i| i as u64 - 1);
    assert_eq!(solved(zero, &narrow), expected);

    // Diagonal blocks, the first of each row here, in an array of their own.
    let q = nb * nb;
    let is_first = |k: usize| row_ptr.contains(&(k as i32 + 1));
    let part = |first: bool| -> Vec<f64> {
        let blocks = values.chunks(q).enumerate().filter(|&(k, _)| is_first(k) == first);
        blocks.flat_map(|(_, block)| block.to_vec()).collect()
    };
    let fewer: Vec<i32> = row_ptr.iter().enumerate().map(|(row, p)| p - row as i32).collect();
    let others: Vec<i32> = (0..col_idx.len()).filter(|&k| !is_first(k)).map(|k| col_idx[k]).collect();
    let (diagonal, off) = (part(true), part(false));
    let apart = |solver: &mut LinearSolver| {
        solver.numeric_apart(&diagonal, &off, BlockLayout::ColumnMajor).unwrap();
        let refused = solver.numeric(&off, BlockLayout::ColumnMajor).unwrap_err();
        assert!(matches!(refused, SolverError::Apart { .. }));
        let mut bad = diagonal.clone();
        bad[6 * q] = f64::NAN;
        let refused = solver.numeric_apart(&bad, &off, BlockLayout::ColumnMajor).unwrap_err();
        assert!(matches!(refused, SolverError::NotFinite { row: 7, col: 7, .. }), "{refused}");
        assert!(solver.numeric_apart(&off, &diagonal, BlockLayout::ColumnMajor).is_err());
        solver.numeric_apart(&diagonal, &off, BlockLayout::ColumnMajor).unwrap();
    };
    assert_eq!(solved(new(&team, one, &fewer, &others, nb, |i| i), &apart), expected);
    let mut together = new(&team, one, &row_ptr, &col_idx, nb, |i| i);
    assert!(together.numeric_apart(&diagonal, &off, BlockLayout::ColumnMajor).is_err());
    let beyond = [1i64, 1 << 33];
    let options = SolverOptions::default();
    let refused = LinearSolver::symbolic_from_arrays(team, one, &[1i64, 3], &beyond, 2, options);
    assert!(refused.err().unwrap().to_string().contains("column 8589934592 is outside"));
}

#[test]
fn a_callers_operator_sees_the_callers_order() {
    let (rows, nb) = (60, 3);
    let (row_ptr, col_idx, values) = sample(rows, nb);
    let a = dense(&row_ptr, &col_idx, nb, &values);
    let n = rows * nb;
    let (b, mut x, mut calls) = (wave(n), vec![0.0; n], 0);
    let team = Arc::new(Team::new(2));
    let options = SolverOptions::default();
    let mut solver =
        LinearSolver::symbolic_from_arrays(team, IndexBase::One, &row_ptr, &col_idx, nb, options).unwrap();
    solver.numeric(&values, BlockLayout::ColumnMajor).unwrap();
    // Twice the matrix, preconditioned by the matrix itself.
    let mut twice = |x: &[f64], y: &mut [f64]| {
        calls += 1;
        y.iter_mut().zip(testkit::dense_multiply(&a, x, n)).for_each(|(y, v)| *y = 2.0 * v);
    };
    let solve = solver.solve_matrix_free(&mut twice, &b, &mut x).unwrap();
    assert_eq!(solve.outcome, Outcome::Converged);
    let exact = testkit::dense_solve(&a, &b).unwrap();
    assert!(x.iter().zip(&exact).all(|(x, e)| (2.0 * x - e).abs() < 1e-9));
    assert!(calls >= solve.iterations);
}

/// (file, rows, block size, norm of the exact solution, sweeps alone diverge)
const MANIFEST: [(&str, usize, usize, f64, bool); 8] = [
    ("kfun3d_m6A_step0_bs4.mtx.xz", 2800, 4, 1.0611134845e1, false),
    ("kfun3d_m6A_step5_bs4.petsc.xz", 2800, 4, 4.3577754021e-5, false),
    ("su2_naca0012_euler_jst_it50_bs4.petsc.xz", 5233, 4, 1.0067636792, true),
    ("su2_flatplate_lam_it200_bs4.petsc.xz", 4225, 4, 3.5643433979e2, false),
    ("su2_flatplate_sa_it100_flow_bs4.petsc.xz", 13289, 4, 6.3412328941e3, false),
    ("su2_flatplate_sa_it100_nut_bs1.petsc.xz", 13289, 1, 4.7010139484e-6, false),
    ("su2_om6ste01_euler_roe1_it10_bs5.petsc.xz", 5474, 5, 1.0587743534e-2, false),
    // No right-hand side in the file: ones; the norm is that of a sparse direct solver (SciPy).
    ("DK01R.mtx.xz", 129, 7, 6.137041295e1, true),
];

#[test]
fn matrices_of_other_flow_codes() {
    reach_the_manifest(&MANIFEST[..4]);
}

#[test]
fn matrices_of_other_flow_codes_the_rest() {
    reach_the_manifest(&MANIFEST[4..]);
}

fn reach_the_manifest(part: &[(&str, usize, usize, f64, bool)]) {
    let team = Arc::new(Team::new(1));
    for &(name, rows, nb, norm, diverges) in part {
        let Some(path) = testkit::data(&format!("matrices/{name}")) else { continue };
        let file = crate::sparse::io::read_matrix(&path, None).unwrap();
        assert_eq!((file.matrix.pattern().rows(), file.matrix.nb()), (rows, nb), "{name}");
        let b = file.rhs.unwrap_or_else(|| vec![1.0; rows * nb]);
        let solve = |options| {
            let team = Arc::clone(&team);
            let mut solver = LinearSolver::symbolic(team, file.matrix.pattern(), nb, options).unwrap();
            solver.numeric(file.matrix.values(), BlockLayout::ColumnMajor).unwrap();
            let mut x = vec![0.0; b.len()];
            (solver.solve(&b, &mut x).unwrap(), vector::norm2(&Team::new(1), &x))
        };
        for preconditioner in [PreconditionerKind::Multicolor, PreconditionerKind::Ilu(Fill::Level(0))] {
            let (report, found) = solve(SolverOptions { preconditioner, ..SolverOptions::default() });
            assert_eq!(report.outcome, Outcome::Converged, "{name} {preconditioner}");
            assert!(report.relative_residual <= 1e-10, "{name} {preconditioner}");
            assert!((found - norm).abs() < 1e-8 * norm, "{name} {preconditioner}: {found} for {norm}");
        }
        if diverges {
            let jacobi =
                SolverOptions { preconditioner: PreconditionerKind::Jacobi, ..SolverOptions::sweeps(500) };
            let (report, _) = solve(SolverOptions { history: true, ..jacobi });
            assert!(matches!(report.outcome, Outcome::Diverged { .. }), "{name}: {:?}", report.outcome);
        }
    }
}

#[test]
fn block_jacobi_residuals_are_those_of_the_manifest() {
    let Some(path) = testkit::data("matrices/su2_flatplate_lam_it200_bs4.petsc.xz") else { return };
    let file = crate::sparse::io::read_matrix(&path, None).unwrap();
    let options = SolverOptions {
        preconditioner: PreconditionerKind::Jacobi,
        policy: Policy::D,
        history: true,
        ..SolverOptions::sweeps(50)
    };
    let mut solver =
        LinearSolver::symbolic(Arc::new(Team::new(1)), file.matrix.pattern(), file.matrix.nb(), options)
            .unwrap();
    solver.numeric(file.matrix.values(), BlockLayout::ColumnMajor).unwrap();
    let b = file.rhs.unwrap();
    let solve = solver.solve(&b, &mut vec![0.0; b.len()]).unwrap();
    for (sweep, expected) in [(1, 7.6e-1), (5, 4.8e-1), (10, 2.8e-1), (50, 5.3e-3)] {
        let found = solve.history[sweep];
        assert!((found - expected).abs() < 0.02 * expected, "after {sweep}: {found}");
    }
}

/// Each word of command lines and case files stands for one method and preconditioner, and back.
#[test]
fn words_stand_for_methods_around_preconditioners() {
    for &word in MethodWord::ALL {
        for &around in PreconditionerKind::ALL {
            let (method, preconditioner) = word.choice(around, Fill::Level(2));
            assert_eq!(MethodWord::of(method, preconditioner), Some(word));
            assert!(preconditioner.fill().is_none_or(|fill| fill == Fill::Level(2)));
            let krylov = matches!(word, MethodWord::Gmres | MethodWord::BiCgStab);
            assert_eq!(preconditioner.name() == around.name(), krylov || word.name() == around.name());
        }
        assert_eq!(word.name().parse(), Ok(word));
    }
    assert_eq!(MethodWord::of(Method::Richardson, PreconditionerKind::None), None);
}
