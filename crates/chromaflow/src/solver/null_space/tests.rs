use super::*;
use crate::solver::{BlockLayout, Method};
use crate::{BlockPattern, Outcome, Team};
use std::sync::Arc;

const SIDE: [usize; 2] = [24, 17];

/// Fluxes between neighbors of a grid of cells with `nb` unknowns each, conductance and wind by component; `sink` is a loss in every cell.
fn matrix(nb: usize, component: impl Fn(usize) -> (f64, f64, f64)) -> (BlockPattern, Vec<f64>) {
    let [ni, nj] = SIDE;
    let (mut row_ptr, mut col_idx, mut values) = (vec![0], Vec::new(), Vec::new());
    for cell in 0..ni * nj {
        let (i, j) = (cell % ni, cell / ni);
        let near = [(j > 0, cell.wrapping_sub(ni)), (i > 0, cell.wrapping_sub(1)), (true, cell)];
        let far = [(i + 1 < ni, cell + 1), (j + 1 < nj, cell + ni)];
        let all = || near.into_iter().chain(far).filter(|n| n.0).map(|n| n.1);
        for other in all() {
            col_idx.push(other as u32);
            let mut block = vec![0.0; nb * nb];
            for c in 0..nb {
                let (conductance, wind, sink) = component(c);
                let flux = |to: usize| conductance + if to < cell { wind } else { 0.0 };
                block[c * nb + c] = if other == cell {
                    sink + all().filter(|n| *n != cell).map(flux).sum::<f64>()
                } else {
                    -flux(other)
                };
            }
            values.extend(block);
        }
        row_ptr.push(col_idx.len() as u32);
    }
    (BlockPattern::new(ni * nj, row_ptr, col_idx).unwrap(), values)
}

fn solver((pattern, values): &(BlockPattern, Vec<f64>), nb: usize, text: &str) -> LinearSolver {
    let mut options = SolverOptions::default();
    options.set_all(text).unwrap();
    let mut solver = LinearSolver::symbolic(Arc::new(Team::new(2)), pattern, nb, options).unwrap();
    solver.numeric(values, BlockLayout::ColumnMajor).unwrap();
    solver
}

/// A field of mean zero in each component.
fn field(nb: usize) -> Vec<f64> {
    let rows = SIDE[0] * SIDE[1];
    let mut x: Vec<f64> =
        (0..rows * nb).map(|i| (0.37 * i as f64).sin() + (0.011 * (i * i) as f64).cos()).collect();
    for c in 0..nb {
        let mean = x.iter().skip(c).step_by(nb).sum::<f64>() / rows as f64;
        x.iter_mut().skip(c).step_by(nb).for_each(|v| *v -= mean);
    }
    x
}

fn product(solver: &mut LinearSolver, x: &[f64]) -> Vec<f64> {
    let mut b = vec![0.0; x.len()];
    solver.multiply(x, &mut b).unwrap();
    b
}

#[track_caller]
fn near(x: &[f64], exact: &[f64], what: &str) {
    let worst = x.iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-6, "{what}: off by {worst:e}");
}

/// A Neumann problem in two dimensions, with a right-hand side that fits and one that does not, from zero and from far away.
#[test]
fn neumann_problems_have_the_solution_of_mean_zero() {
    let (a, exact) = (matrix(1, |_| (1.0, 0.0, 0.0)), field(1));
    for method in ["gmres", "bicgstab"] {
        for preconditioner in ["ilu0", "ilu2", "dilu", "multicolor", "ssor", "jacobi", "none"] {
            for policy in ["d", "ds"] {
                let words = format!("method={method}, preconditioner={preconditioner}, policy={policy}");
                let mut open = solver(&a, 1, &format!("{words}, null_space=constant"));
                let fits = product(&mut open, &exact);
                for (shift, guess) in [(0.0, 0.0), (0.0, 1e3), (0.7, 0.0)] {
                    let b: Vec<f64> = fits.iter().map(|v| v + shift).collect();
                    let mut x = vec![guess; b.len()];
                    let solve = open.solve(&b, &mut x).unwrap();
                    assert_eq!(solve.outcome, Outcome::Converged, "{words}, {shift}, {guess}: {solve:?}");
                    near(&x, &exact, &words);
                    let (found, unreached, left_out) = open.null_space().unwrap();
                    let size = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
                    let expected = shift * (b.len() as f64).sqrt() / size(&b);
                    assert_eq!((found, unreached), (1, 1));
                    assert!((left_out - expected).abs() < 1e-12, "{left_out} {expected}");
                }
                // Without, what does not fit has no end.
                let b: Vec<f64> = fits.iter().map(|v| v + 0.7).collect();
                let closed = solver(&a, 1, &words).solve(&b, &mut vec![0.0; b.len()]).unwrap();
                assert_ne!(closed.outcome, Outcome::Converged, "{words}");
            }
        }
    }
}

/// Where a wind blows the transpose takes no constants to zero: the right-hand side stays whole.
#[test]
fn unsymmetric_matrices_keep_their_right_hand_side() {
    let (a, exact) = (matrix(1, |_| (1.0, 3.0, 0.0)), field(1));
    let mut open = solver(&a, 1, "null_space=constant, policy=d");
    let (b, mut x) = (product(&mut open, &exact), vec![2.0; exact.len()]);
    assert_eq!(open.solve(&b, &mut x).unwrap().outcome, Outcome::Converged);
    near(&x, &exact, "wind");
    assert_eq!(open.null_space(), Some((1, 0, 0.0)));
}

/// Components are told apart, and a scalar system in blocks is known, too.
#[test]
fn components_are_told_apart() {
    let (a, mut exact) = (matrix(3, |c| (1.0 + c as f64, 0.0, if c == 1 { 0.1 } else { 0.0 })), field(3));
    exact.iter_mut().skip(1).step_by(3).for_each(|v| *v += 4.0);
    let mut open = solver(&a, 3, "null_space=constant");
    let mut b = product(&mut open, &exact);
    b.iter_mut().step_by(3).for_each(|v| *v += 0.3);
    let mut x = vec![0.0; b.len()];
    assert_eq!(open.solve(&b, &mut x).unwrap().outcome, Outcome::Converged);
    near(&x, &exact, "the second component keeps its mean");
    assert_eq!(open.null_space().map(|found| (found.0, found.1)), Some((2, 2)));

    // Two unknowns of a cell that exchange with one another: only both together may be shifted.
    let (pattern, mut values) = matrix(2, |_| (1.0, 0.0, 0.5));
    for row in 0..pattern.rows() {
        let at = pattern.range(row).find(|&k| pattern.col_idx()[k] as usize == row).unwrap();
        values[4 * at + 1] = -0.5;
        values[4 * at + 2] = -0.5;
    }
    let mut open = solver(&(pattern, values), 2, "null_space=constant");
    let exact = field(2);
    let (b, mut x) = (product(&mut open, &exact), vec![1.0; exact.len()]);
    assert_eq!(open.solve(&b, &mut x).unwrap().outcome, Outcome::Converged);
    near(&x, &exact, "both together");
    assert_eq!(open.null_space().map(|found| (found.0, found.1)), Some((1, 1)));
}

/// Several right-hand sides, sweeps alone and new values find them, too.
#[test]
fn other_calls_find_the_same() {
    let (a, exact) = (matrix(1, |_| (1.0, 0.0, 0.0)), field(1));
    let mut open = solver(&a, 1, "null_space=constant");
    let n = exact.len();
    let b: Vec<f64> = product(&mut open, &exact).iter().map(|v| v + 1.0).collect();
    let mut x = vec![0.0; 2 * n];
    let solves = open.solve_many(2, &[&b[..], &b[..]].concat(), &mut x).unwrap();
    assert!(solves.iter().all(|solve| solve.outcome == Outcome::Converged));
    near(&x[n..], &exact, "the second of two");
    let text = "method=richardson, preconditioner=multicolor, tolerance=1e-9, max_iterations=20000, null_space=constant";
    let solve = solver(&a, 1, text).solve(&b, &mut x[..n]).unwrap();
    assert_eq!(solve.outcome, Outcome::Converged);
    // Values that set the level are refused, and closed again.
    let closed = matrix(1, |_| (1.0, 0.0, 0.1));
    open.numeric(&closed.1, BlockLayout::ColumnMajor).unwrap();
    let refused = open.solve(&b, &mut x[..n]).unwrap_err();
    assert_eq!(refused.place(), Some((0, None)));
    assert!(
        refused.to_string().contains("row 0, entry 0 of its block from 0, adds up to 1.000e-1"),
        "{refused}"
    );
    open.set_options(open.options().closed()).unwrap();
    assert_eq!(open.solve(&b, &mut x[..n]).unwrap().outcome, Outcome::Converged);
    assert_eq!(open.null_space(), None);
}

#[test]
fn what_cannot_know_constants_refuses_them() {
    let a = matrix(1, |_| (1.0, 0.0, 0.0));
    let mut open = solver(&a, 1, "null_space=constant");
    let n = a.0.rows();
    let refused = open.solve_matrix_free(&mut |_, _| (), &vec![1.0; n], &mut vec![0.0; n]).unwrap_err();
    assert!(refused.to_string().contains("null_space=none"), "{refused}");
    let options =
        SolverOptions { null_space: NullSpace::Constant, method: Method::Gmres, ..SolverOptions::default() };
    let (team, pattern) = (Arc::new(Team::new(1)), Arc::new(a.0.clone()));
    let batches = crate::RowBatches::single(n);
    let refused = crate::solver::AssembledSolver::new(&team, &pattern, 1, &batches, &options).err().unwrap();
    assert!(refused.to_string().contains("null_space=none"), "{refused}");
}
