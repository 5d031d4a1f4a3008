//! What ranks have together is what one rank has.

use super::*;
use crate::krylov::Solve;
use crate::order::{Adjacency, Coloring, ColoringMethod, PlanOptions, VertexOrder};
use crate::relax::Direction;
use crate::solver::{BlockLayout, Method, PreconditionerKind};
use crate::{Outcome, Policy};
use chromaflow_comm::{RunError, Threads, run};
use std::ops::Range;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const SIZES: [usize; 4] = [1, 2, 3, 5];

/// A matrix as one rank has it, columns of a row in any order.
#[derive(Clone)]
pub(in crate::solver) struct Matrix {
    pub(in crate::solver) nb: usize,
    pub(in crate::solver) row_ptr: Vec<i64>,
    pub(in crate::solver) col_idx: Vec<i64>,
    pub(in crate::solver) values: Vec<f64>,
}

pub(in crate::solver) fn wave(seed: usize, i: usize) -> f64 {
    ((i * 37 + seed * 101) as f64 * 0.7).sin()
}

impl Matrix {
    /// So many rows with some random blocks, and those across the diagonal where the pattern is symmetric.
    pub(in crate::solver) fn random(rows: usize, nb: usize, seed: u64, symmetric: bool) -> Self {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % below
        };
        let mut columns: Vec<Vec<usize>> = (0..rows).map(|row| vec![row]).collect();
        for row in 0..rows {
            for _ in 0..next(5) {
                // Near ones and far ones.
                let other =
                    if next(3) == 0 { next(rows) } else { (row + next(9)).saturating_sub(4).min(rows - 1) };
                for (row, column) in [(row, other), (other, row)].into_iter().take(1 + usize::from(symmetric))
                {
                    if !columns[row].contains(&column) {
                        let at = next(columns[row].len() + 1);
                        columns[row].insert(at, column);
                    }
                }
            }
        }
        let (mut row_ptr, mut col_idx, mut values) = (vec![0], Vec::new(), Vec::new());
        for (row, columns) in columns.iter().enumerate() {
            for &column in columns {
                col_idx.push(column as i64);
                let heavy = if row == column { 1.5 * columns.len() as f64 * nb as f64 } else { 0.0 };
                let at = values.len();
                values.extend((0..nb * nb).map(|e| {
                    let diagonal = if e % (nb + 1) == 0 { heavy } else { 0.0 };
                    diagonal + wave(1, at + e)
                }));
            }
            row_ptr.push(col_idx.len() as i64);
        }
        Self { nb, row_ptr, col_idx, values }
    }

    pub(in crate::solver) fn rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// The arrays of some of the rows.
    pub(in crate::solver) fn part(&self, rows: Range<usize>) -> Self {
        let blocks = self.row_ptr[rows.start] as usize..self.row_ptr[rows.end] as usize;
        let q = self.nb * self.nb;
        Self {
            nb: self.nb,
            row_ptr: self.row_ptr[rows.start..=rows.end].iter().map(|p| p - blocks.start as i64).collect(),
            col_idx: self.col_idx[blocks.clone()].to_vec(),
            values: self.values[blocks.start * q..blocks.end * q].to_vec(),
        }
    }

    /// The rows of a rank: of three and more, the second has none.
    pub(in crate::solver) fn range(&self, rank: usize, size: usize) -> Range<usize> {
        let n = self.rows();
        let (at, parts) = if size < 3 { (rank, size) } else { (rank - usize::from(rank > 1), size - 1) };
        let cut = |k: usize| n * k * (k + 1) / (parts * (parts + 1)); // parts of unlike size
        if size >= 3 && rank == 1 { cut(1)..cut(1) } else { cut(at)..cut(at + 1) }
    }

    /// On one rank.
    pub(in crate::solver) fn alone(&self, options: SolverOptions) -> LinearSolver {
        let (team, base) = (Arc::new(Team::new(1)), IndexBase::Zero);
        let solver =
            LinearSolver::symbolic_from_arrays(team, base, &self.row_ptr, &self.col_idx, self.nb, options);
        let mut solver = solver.unwrap();
        solver.numeric(&self.values, BlockLayout::ColumnMajor).unwrap();
        solver
    }

    /// The rows of a rank, its indices of 32 or 64 bits.
    fn on(&self, ranks: &Threads, options: SolverOptions, how: How) -> Result<LinearSolver, SolverError> {
        let range = self.range(ranks.rank(), ranks.size());
        let part = self.part(range.clone());
        let base = how.base.first();
        let start = (range.start + base) as u64;
        let (team, ranks) = (Arc::new(Team::new(how.threads)), Arc::new(ranks.clone()));
        let wide = |list: &[i64]| -> Vec<i64> { list.iter().map(|i| i + base as i64).collect() };
        let narrow = |list: &[i64]| -> Vec<i32> { list.iter().map(|i| *i as i32 + base as i32).collect() };
        let base = how.base;
        let mut solver = if how.wide {
            let (row_ptr, col_idx) = (&narrow(&part.row_ptr), &wide(&part.col_idx));
            let rows = OwnedRows { base, start, row_ptr, col_idx };
            LinearSolver::symbolic_over_ranks(team, ranks, rows, self.nb, options)?
        } else {
            let (row_ptr, col_idx) = (&narrow(&part.row_ptr), &narrow(&part.col_idx));
            let rows = OwnedRows { base, start, row_ptr, col_idx };
            LinearSolver::symbolic_over_ranks(team, ranks, rows, self.nb, options)?
        };
        solver.numeric(&part.values, BlockLayout::ColumnMajor)?;
        Ok(solver)
    }

    fn entries(&self, rank: usize, size: usize) -> Range<usize> {
        let rows = self.range(rank, size);
        rows.start * self.nb..rows.end * self.nb
    }
}

#[derive(Clone, Copy)]
struct How {
    base: IndexBase,
    wide: bool,
    threads: usize,
}

const PLAIN: How = How { base: IndexBase::Zero, wide: true, threads: 1 };

/// Runs a job on ranks and joins what they have of a vector.
fn together<T: Send + 'static>(
    size: usize,
    matrix: &Matrix,
    options: SolverOptions,
    how: How,
    job: impl Fn(&mut LinearSolver, &[f64], &mut [f64]) -> Result<T, SolverError> + Send + Sync + 'static,
) -> (Vec<f64>, Vec<T>) {
    let matrix = matrix.clone();
    let found = run(size, PATIENCE, move |ranks: &Threads| {
        let mut solver = matrix.on(ranks, options, how)?;
        let range = matrix.entries(ranks.rank(), size);
        let b: Vec<f64> = range.map(|i| wave(3, i)).collect();
        let mut x = vec![0.0; b.len()];
        let found = job(&mut solver, &b, &mut x)?;
        Ok::<_, SolverError>((x, found))
    });
    let (parts, found): (Vec<_>, Vec<_>) = found.unwrap().into_iter().unzip();
    (parts.concat(), found)
}

fn right(matrix: &Matrix) -> Vec<f64> {
    (0..matrix.rows() * matrix.nb).map(|i| wave(3, i)).collect()
}

#[track_caller]
fn near(x: &[f64], y: &[f64], tolerance: f64, what: &str) {
    assert_eq!(x.len(), y.len(), "{what}");
    let largest = y.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
    let off = x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(off <= tolerance * largest, "{what}: {off:e} of {largest:e}");
}

fn matrices() -> Vec<(String, Matrix)> {
    let of = |(rows, nb, symmetric)| {
        (
            format!("{rows} rows of {nb}, symmetric: {symmetric}"),
            Matrix::random(rows, nb, 7 + rows as u64, symmetric),
        )
    };
    [(90, 3, false), (90, 3, true), (61, 1, false), (140, 5, true), (4, 2, false), (1, 4, true)]
        .map(of)
        .into()
}

#[test]
fn products_are_those_of_one_rank() {
    for (name, matrix) in matrices() {
        let b = right(&matrix);
        let mut expected = vec![0.0; b.len()];
        matrix.alone(SolverOptions::default()).multiply(&b, &mut expected).unwrap();
        for size in SIZES {
            for (base, wide, threads) in [(IndexBase::Zero, true, 1), (IndexBase::One, false, 2)] {
                for words in ["", "preconditioner=multicolor", "preconditioner=jacobi, order=natural"] {
                    let mut options = SolverOptions::default();
                    options.set_all(words).unwrap();
                    let how = How { base, wide, threads };
                    let (y, _) = together(size, &matrix, options, how, |solver, b, y| solver.multiply(b, y));
                    near(&y, &expected, 1e-14, &format!("{name}, {size} ranks, {words}"));
                }
            }
        }
    }
}

/// y = a^-1 y by elimination without exchanges.
fn eliminate(nb: usize, a: &mut [f64], y: &mut [f64]) {
    for k in 0..nb {
        for i in (0..nb).filter(|&i| i != k) {
            let factor = a[k * nb + i] / a[k * nb + k];
            (k..nb).for_each(|c| a[c * nb + i] -= factor * a[c * nb + k]);
            y[i] -= factor * y[k];
        }
    }
    (0..nb).for_each(|k| y[k] /= a[k * nb + k]);
}

/// One sweep through the rows of one color after the other, from x.
fn plain_sweep(matrix: &Matrix, colors: &[u32], b: &[f64], x: &mut [f64], backward: bool) {
    let count = colors.iter().max().map_or(0, |&c| c + 1);
    sweep_colors(matrix, colors, count, b, x, backward);
}

/// The same of so many colors; rows of others stay.
fn sweep_colors(matrix: &Matrix, colors: &[u32], count: u32, b: &[f64], x: &mut [f64], backward: bool) {
    let nb = matrix.nb;
    let order: Vec<u32> = if backward { (0..count).rev().collect() } else { (0..count).collect() };
    for color in order {
        for row in (0..matrix.rows()).filter(|&row| colors[row] == color) {
            let (mut r, mut diagonal) = (b[row * nb..][..nb].to_vec(), Vec::new());
            for k in matrix.row_ptr[row] as usize..matrix.row_ptr[row + 1] as usize {
                let (block, column) = (&matrix.values[k * nb * nb..][..nb * nb], matrix.col_idx[k] as usize);
                if column == row {
                    diagonal = block.to_vec();
                    continue;
                }
                for e in 0..nb * nb {
                    r[e % nb] -= block[e] * x[column * nb + e / nb];
                }
            }
            eliminate(nb, &mut diagonal, &mut r);
            x[row * nb..][..nb].copy_from_slice(&r);
        }
    }
}

/// The rows and their neighbors.
fn graph_of(matrix: &Matrix) -> Adjacency {
    let ptr = matrix.row_ptr.iter().map(|&p| p as u32).collect();
    let mut columns = matrix.col_idx.clone();
    for w in matrix.row_ptr.windows(2) {
        columns[w[0] as usize..w[1] as usize].sort_unstable();
    }
    let columns = columns.iter().map(|&c| c as u32).collect();
    Adjacency::of(&BlockPattern::new(matrix.rows(), ptr, columns).unwrap()).unwrap()
}

/// Colors are those of one rank, and sweeps are those in these colors, whoever has the rows.
#[test]
fn multicolor_sweeps_are_those_of_one_rank_with_the_same_colors() {
    use ColoringMethod::{Fewest, Greedy, Parallel};
    for (name, matrix) in matrices() {
        let graph = graph_of(&matrix);
        let numbers: Vec<u32> = (0..graph.rows() as u32).collect();
        let by_numbers = || Coloring::by_numbers(&graph, &numbers, &Team::new(1));
        let greedy = |order| {
            let two = Coloring::parity(&graph, &numbers);
            two.unwrap_or_else(|| Coloring::greedy(&graph, order).reduced(&graph, 1))
        };
        let b = right(&matrix);
        for (method, coloring, direction) in [
            (Greedy(VertexOrder::Natural), greedy(VertexOrder::Natural), Direction::Forward),
            (Greedy(VertexOrder::Natural), greedy(VertexOrder::Natural), Direction::Symmetric),
            (Greedy(VertexOrder::LargestFirst), greedy(VertexOrder::LargestFirst), Direction::Forward),
            (Parallel, by_numbers(), Direction::Symmetric),
            (Fewest, by_numbers(), Direction::Forward),
        ] {
            let mut expected = vec![0.0; b.len()];
            for _ in 0..2 {
                plain_sweep(&matrix, coloring.colors(), &b, &mut expected, false);
                if direction == Direction::Symmetric {
                    plain_sweep(&matrix, coloring.colors(), &b, &mut expected, true);
                }
            }
            let plan = PlanOptions { coloring: method, ..PlanOptions::default() };
            let options = SolverOptions { direction, plan, policy: Policy::D, ..SolverOptions::sweeps(2) };
            for (size, threads) in SIZES.into_iter().flat_map(|size| [(size, 1), (size, 2)]) {
                let how = How { threads, ..PLAIN };
                let (x, orders) = together(size, &matrix, options, how, |solver, b, x| {
                    solver.apply(b, x)?;
                    Ok(solver.order_inside())
                });
                near(&x, &expected, 1e-13, &format!("{name}, {method:?}, {size} ranks of {threads} threads"));
                let starts = &orders[0].1;
                let color = |&at: &u32| starts.partition_point(|&start| start <= at) as u32 - 1;
                let colors: Vec<u32> = orders.iter().flat_map(|order| order.0.iter().map(color)).collect();
                assert_eq!(colors, coloring.colors(), "{name}, {method:?}, {size} ranks");
                // As in a nonlinear iteration, on x itself.
                let (x, _) = together(size, &matrix, options, how, |solver, b, x| {
                    let solve = solver.solve(b, x)?;
                    assert_eq!(solve.iterations, 2);
                    Ok(())
                });
                near(&x, &expected, 1e-13, &format!("{name}, {method:?}, {size} ranks, solve"));
            }
        }
    }
}

/// In the order of the rows as they are given, one rank has the colors, the order and the bits of the solver without ranks; others have its
/// iterations.
#[test]
fn natural_colors_are_those_of_the_solver_without_ranks() {
    for (name, matrix) in matrices() {
        let mut options = SolverOptions::default();
        options.set_all("preconditioner=multicolor, order=natural, policy=d, sweeps=2").unwrap();
        let b = right(&matrix);
        let (mut alone, mut expected) = (matrix.alone(options), vec![0.0; b.len()]);
        let solve = alone.solve(&b, &mut expected).unwrap();
        for size in SIZES {
            let (x, found) = together(size, &matrix, options, PLAIN, |solver, b, x| {
                Ok((solver.solve(b, x)?.iterations, solver.order_inside()))
            });
            assert!(found.iter().all(|f| f.0 == solve.iterations), "{name}, {size} ranks");
            assert!(found.iter().all(|f| f.1.1 == alone.batches().offsets()), "{name}, {size} ranks");
            near(&x, &expected, 1e-8, &name);
            if size == 1 {
                assert!(x == expected && found[0].1.0 == alone.permutation().new_of_old(), "{name}");
            }
        }
    }
}

fn solved(solver: &mut LinearSolver, b: &[f64], x: &mut [f64]) -> Result<Solve, SolverError> {
    solver.solve(b, x)
}

#[test]
fn solutions_are_those_of_one_rank() {
    for (name, matrix) in matrices() {
        let b = right(&matrix);
        let mut expected = vec![0.0; b.len()];
        let tight = SolverOptions { tolerance: 1e-13, policy: Policy::D, ..SolverOptions::default() };
        assert_eq!(matrix.alone(tight).solve(&b, &mut expected).unwrap().outcome, Outcome::Converged);
        for words in [
            "",
            "preconditioner=multicolor",
            "preconditioner=multicolor, policy=dsh, order=natural, sweeps=2",
            "preconditioner=multicolor, policy=dsh, half_scale=power-of-two, method=bicgstab",
            "preconditioner=multicolor, method=richardson, correction_sweeps=2, diagonal=lu",
            "preconditioner=jacobi, sweeps=3",
            "preconditioner=ilu1, order=rcm, policy=d",
            "preconditioner=ilu0, order=multicolor, method=bicgstab",
            "preconditioner=dilu, method=richardson, keep_matrix=yes",
            "preconditioner=none, restart=5, longest_restart=40",
            "preconditioner=ssor, sweeps=2",
            "preconditioner=gauss_seidel, order=natural, direction=backward, method=bicgstab",
            "preconditioner=gauss_seidel, policy=d, method=richardson, correction_sweeps=0",
        ] {
            let mut options = SolverOptions { tolerance: 1e-11, ..SolverOptions::default() };
            options.set_all(words).unwrap();
            let mut counts = Vec::new();
            for size in SIZES {
                let (x, found) = together(size, &matrix, options, PLAIN, solved);
                let what = format!("{name}, {size} ranks, {words}");
                near(&x, &expected, 1e-8, &what);
                assert!(
                    found.iter().all(|s| s.outcome == Outcome::Converged),
                    "{what}: {:?}",
                    found[0].outcome
                );
                assert!(found.iter().all(|s| *s == found[0]), "{what}: the same on all ranks");
                counts.push(found[0].iterations);
            }
            let late = options.preconditioner.sweeps_in_levels();
            if options.preconditioner.fill().is_none() && options.method != Method::BiCgStab && !late {
                assert!(counts.iter().all(|&c| c == counts[0]), "{name}, {words}: {counts:?}");
            }
            if words.is_empty() {
                // On one rank nothing is cut.
                let mut x = vec![0.0; b.len()];
                assert_eq!(matrix.alone(options).solve(&b, &mut x).unwrap().iterations, counts[0], "{name}");
            }
        }
    }
}

/// Sweeps in the order of own rows, with others' values of the sweep before; on one rank those of the solver without ranks, to the bit.
#[test]
fn sweeps_in_the_order_of_rows_take_others_values_late() {
    for (name, matrix) in matrices() {
        let (b, nb) = (right(&matrix), matrix.nb);
        for words in [
            "preconditioner=gauss_seidel, order=natural, policy=d, sweeps=3",
            "preconditioner=gauss_seidel, order=natural, policy=d, sweeps=2, direction=backward",
            "preconditioner=ssor, order=natural, policy=d, sweeps=2",
        ] {
            let mut options = SolverOptions::default();
            options.set_all(words).unwrap();
            let mut alone = vec![0.0; b.len()];
            matrix.alone(options).apply(&b, &mut alone).unwrap();
            for size in SIZES {
                let mut expected = vec![0.0; b.len()];
                for _ in 0..options.sweeps {
                    let before = expected.clone();
                    for rank in 0..size {
                        let own = matrix.range(rank, size);
                        // Colors one row each, those of others with the values before.
                        let mut x = before.clone();
                        let backward = options.direction == Direction::Backward;
                        let both = options.preconditioner == PreconditionerKind::Ssor;
                        let ways: &[bool] = if both { &[false, true] } else { &[backward] };
                        for &backward in ways {
                            let none = vec![u32::MAX - 1; matrix.rows()];
                            let mut colors = none;
                            own.clone().zip(0..).for_each(|(row, color)| colors[row] = color);
                            sweep_colors(&matrix, &colors, own.len() as u32, &b, &mut x, backward);
                        }
                        let own = own.start * nb..own.end * nb;
                        expected[own.clone()].copy_from_slice(&x[own]);
                    }
                }
                let (x, _) = together(size, &matrix, options, PLAIN, |solver, b, x| solver.apply(b, x));
                near(&x, &expected, 1e-12, &format!("{name}, {size} ranks, {words}"));
                if size == 1 {
                    assert!(x == alone, "{name}, {words}");
                }
            }
        }
    }
}

/// Right-hand sides whose squares leave the range of f64 have the digits of those that do not; a rank may have zeros alone.
#[test]
fn a_solution_is_as_large_as_its_right_hand_side_on_all_ranks() {
    let matrix = Matrix::random(90, 3, 11, false);
    for size in SIZES {
        let solved = |exponent: i32| {
            let options = SolverOptions::default();
            together(size, &matrix, options, PLAIN, move |solver, b, x| {
                let first = solver.whole.as_ref().is_some_and(|whole| whole.start == 0 && size > 1);
                let scale = if first { 0.0 } else { 2.0_f64.powi(exponent) };
                let b: Vec<f64> = b.iter().map(|v| v * scale).collect();
                solver.solve(&b, x)
            })
        };
        let (expected, alone) = solved(0);
        assert!(alone.iter().all(|solve| solve.outcome == Outcome::Converged), "{size} ranks");
        for exponent in [-900, -160, 160, 900] {
            let (found, told) = solved(exponent);
            assert_eq!(told, alone, "{size} ranks, 2^{exponent}");
            let scaled = expected.iter().map(|v| v * 2.0_f64.powi(exponent));
            assert!(found.iter().zip(scaled).all(|(x, e)| *x == e), "{size} ranks, 2^{exponent}");
        }
    }
}

/// New values, options and right-hand sides without a new set-up; several at once; products of the caller's; blocks apart.
#[test]
fn other_calls_are_those_of_one_rank() {
    let matrix = Matrix::random(80, 2, 5, false);
    let b = right(&matrix);
    for size in SIZES {
        let options =
            SolverOptions { preconditioner: PreconditionerKind::Multicolor, ..SolverOptions::default() };
        let mut expected = vec![0.0; b.len()];
        matrix.alone(options).solve(&b, &mut expected).unwrap();
        let twice = matrix.clone();
        let (x, _) = together(size, &matrix, options, PLAIN, move |solver, b, x| {
            assert_eq!(solver.whole_rows().0, twice.rows());
            assert_eq!(solver.rows() * 2, b.len());
            let start = solver.whole.as_ref().map_or(0, |whole| whole.start);
            let part = twice.part(start..start + solver.rows());
            let doubled: Vec<f64> = part.values.iter().map(|v| 2.0 * v).collect();
            solver.numeric(&doubled, BlockLayout::ColumnMajor)?;
            solver.set_options(SolverOptions { tolerance: 1e-12, ..*solver.options() })?;
            let many = [b, b].concat();
            let mut solutions = vec![0.0; many.len()];
            let solves = solver.solve_many(2, &many, &mut solutions)?;
            assert!(solves.len() == 2 && solves[0] == solves[1]);
            x.iter_mut().zip(&solutions).for_each(|(x, s)| *x = 2.0 * s);
            assert!(solutions[..b.len()] == solutions[b.len()..]);
            Ok(())
        });
        near(&x, &expected, 1e-9, &format!("{size} ranks"));
        // A product of the caller's, here that of the solver before.
        let (y, _) = together(size, &matrix, options, PLAIN, |solver, b, x| {
            let whole = solver.whole.as_ref().expect("several ranks");
            let (share, rows) = (Arc::clone(&whole.share), whole.rows);
            let diagonal = 3.0;
            let mut product = move |x: &[f64], y: &mut [f64]| {
                assert_eq!(x.len(), rows * 2);
                y.iter_mut().zip(x).for_each(|(y, x)| *y = diagonal * x);
            };
            let solve = solver.solve_matrix_free(&mut product, b, x)?;
            assert_eq!(solve.outcome, Outcome::Converged);
            share.check()?;
            Ok(())
        });
        let third: Vec<f64> = b.iter().map(|b| b / 3.0).collect();
        near(&y, &third, 1e-8, "a product of the caller's");
    }
}

/// One rank alone is watched: what it says ends the solve on all.
#[test]
fn one_rank_ends_a_solve_for_all() {
    let matrix = Matrix::random(90, 2, 11, true);
    for words in ["preconditioner=jacobi", "preconditioner=jacobi, method=richardson, correction_sweeps=0"] {
        let mut options = SolverOptions { tolerance: 1e-14, ..SolverOptions::default() };
        options.set_all(words).unwrap();
        let (_, found) = together(3, &matrix, options, PLAIN, |solver, b, x| {
            let whole = solver.whole.as_ref().expect("several ranks");
            if whole.share.ranks().rank() == 2 {
                solver.watch(Some(Box::new(|iteration, _| iteration < 2)));
            }
            solver.solve(b, x)
        });
        assert!(found.iter().all(|s| (s.outcome, s.iterations) == (Outcome::IterationLimit, 2)), "{words}");
    }
}

#[test]
fn diagonal_blocks_may_come_apart() {
    let matrix = Matrix::random(50, 2, 9, false);
    let b = right(&matrix);
    let mut expected = vec![0.0; b.len()];
    matrix.alone(SolverOptions::default()).multiply(&b, &mut expected).unwrap();
    for size in SIZES {
        let matrix = matrix.clone();
        let found = run(size, PATIENCE, move |ranks: &Threads| {
            let range = matrix.range(ranks.rank(), size);
            let part = matrix.part(range.clone());
            let (mut row_ptr, mut col_idx, mut off, mut diagonal) = (vec![0_i32], vec![], vec![], vec![]);
            for row in 0..part.rows() {
                for k in part.row_ptr[row] as usize..part.row_ptr[row + 1] as usize {
                    let block = &part.values[k * 4..][..4];
                    if part.col_idx[k] as usize == range.start + row {
                        diagonal.extend_from_slice(block);
                    } else {
                        col_idx.push(part.col_idx[k] as u64);
                        off.extend_from_slice(block);
                    }
                }
                row_ptr.push(col_idx.len() as i32);
            }
            let rows = OwnedRows {
                base: IndexBase::Zero,
                start: range.start as u64,
                row_ptr: &row_ptr,
                col_idx: &col_idx,
            };
            let (team, options) = (Arc::new(Team::new(1)), SolverOptions::default());
            let mut solver =
                LinearSolver::symbolic_over_ranks(team, Arc::new(ranks.clone()), rows, 2, options)?;
            solver.numeric_apart(&diagonal, &off, BlockLayout::ColumnMajor)?;
            let b: Vec<f64> = matrix.entries(ranks.rank(), size).map(|i| wave(3, i)).collect();
            let mut y = vec![0.0; b.len()];
            solver.multiply(&b, &mut y)?;
            Ok::<_, SolverError>(y)
        });
        near(&found.unwrap().concat(), &expected, 1e-14, &format!("{size} ranks"));
    }
}

/// What each rank says when a job fails on some of them: the same.
fn refused(
    size: usize,
    job: impl Fn(&Threads) -> Result<LinearSolver, SolverError> + Send + Sync + 'static,
) -> SolverError {
    let found = run(size, PATIENCE, move |ranks: &Threads| {
        Ok::<_, SolverError>(job(ranks).err().expect("an error on every rank"))
    });
    let mut found = found.unwrap();
    let said: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(said.iter().all(|text| *text == said[0]), "{said:?}");
    found.swap_remove(0)
}

/// Rank 2 of four ranks has rows 20..30, counted from 1: 21 to 30.
fn chain(
    change: impl Fn(usize, &mut u64, &mut Vec<i64>, &mut Vec<i64>, &mut SolverOptions) + Send + Sync + 'static,
) -> SolverError {
    refused(4, move |ranks| {
        let rank = ranks.rank();
        let mut start = 10 * rank as u64 + 1;
        let (mut row_ptr, mut col_idx) = (vec![1_i64], Vec::new());
        for row in start as i64..start as i64 + 10 {
            col_idx.extend([row - 1, row, row + 1].iter().filter(|&&c| (1..=40).contains(&c)));
            row_ptr.push(col_idx.len() as i64 + 1);
        }
        let mut options = SolverOptions::default();
        change(rank, &mut start, &mut row_ptr, &mut col_idx, &mut options);
        let rows = OwnedRows { base: IndexBase::One, start, row_ptr: &row_ptr, col_idx: &col_idx };
        let team = Arc::new(Team::new(1));
        let mut solver = LinearSolver::symbolic_over_ranks(team, Arc::new(ranks.clone()), rows, 1, options)?;
        let mut values = vec![1.0; col_idx.len()];
        for (row, w) in (10 * rank as i64 + 1..).zip(row_ptr.windows(2)) {
            let own = (w[0] - 1..w[1] - 1).find(|&k| col_idx[k as usize] == row).expect("a diagonal");
            values[own as usize] = 3.0;
        }
        if options.tolerance == 0.5 && rank == 2 {
            values[4] = f64::NAN;
        }
        solver.numeric(&values, BlockLayout::ColumnMajor)?;
        let mut b = [1.0; 10];
        if options.tolerance == 0.25 {
            b[3] = if rank == 3 { f64::INFINITY } else { 1.0 };
        }
        let length = if options.tolerance == 0.125 && rank == 1 { 9 } else { 10 };
        if options.tolerance == 0.0625 {
            solver.set_options(SolverOptions { restart: 7 + rank, ..options })?;
        }
        solver.solve(&b[..length], &mut vec![0.0; length])?;
        Ok(solver)
    })
}

#[test]
fn errors_are_the_same_on_all_ranks_and_in_global_numbers() {
    let error = chain(|rank, _, _, columns, _| columns[5] = if rank == 2 { 41 } else { columns[5] });
    let said = "rank 2: row 22: column 41 is outside the matrix of 40 columns (indices count from 1)";
    assert_eq!(error.to_string(), said);
    assert_eq!((error.kind(), error.place()), (ErrorKind::Pattern, Some((22, Some(41)))));
    let said = chain(|rank, start, _, _, _| *start += u64::from(rank == 2)).to_string();
    assert!(
        said.starts_with("the rows of rank 2 begin with 22, expected 21, where those of rank 1 end"),
        "{said}"
    );
    let said = chain(|_, start, _, _, _| *start -= 1).to_string();
    assert!(said.starts_with("the rows of rank 0 begin with 0, expected 1: ranks"), "{said}");
    let said = chain(|rank, _, _, _, o| o.restart += usize::from(rank == 3)).to_string();
    assert_eq!(said, "rank 3 has restart: 51, rank 0 restart: 50: all ranks must say the same");
    let said = chain(|_, _, _, _, o| o.preconditioner = PreconditionerKind::Lines).to_string();
    assert!(said.starts_with("rank 0: a pattern alone has no lines"), "{said}");
    let error = chain(|rank, _, _, columns, _| columns[4] = if rank == 1 { 13 } else { columns[4] });
    assert!(
        error.to_string().starts_with("rank 1: row 12: column 13 is out of order or stored twice"),
        "{error}"
    );
    let error = chain(|rank, _, ptr, columns, _| {
        if rank == 3 {
            columns.remove(4);
            ptr[2..].iter_mut().for_each(|p| *p -= 1);
        }
    });
    assert!(error.to_string().starts_with("rank 3: row 32 has no diagonal block"), "{error}");
    assert_eq!(error.place(), Some((32, None)));
    let error = chain(|rank, _, ptr, _, _| ptr[4] = if rank == 1 { 3 } else { ptr[4] });
    assert_eq!(error.to_string(), "rank 1: row_ptr decreases after row 14");
    let error = chain(|_, _, _, _, o| o.tolerance = 0.5);
    assert!(error.to_string().starts_with("rank 2: block row 22, block column 22: entry (0, 0)"), "{error}");
    assert_eq!((error.kind(), error.place()), (ErrorKind::NotFinite, Some((22, Some(22)))));
    let error = chain(|_, _, _, _, o| o.tolerance = 0.25);
    assert_eq!(error.to_string(), "rank 3: b of row 34, entry 0 of it, from 0, is inf");
    let error = chain(|_, _, _, _, o| o.tolerance = 0.125);
    assert!(error.to_string().starts_with("rank 1: b has 9 values, expected 10"), "{error}");
    let said = chain(|_, _, _, _, o| o.tolerance = 0.0625).to_string();
    assert_eq!(said, "rank 1 has restart: 8, rank 0 restart: 7: all ranks must say the same");
    let said = refused(3, |ranks| {
        let (row_ptr, nb) = ([0_i32], if ranks.rank() == 1 { 3 } else { 2 });
        let rows = OwnedRows { base: IndexBase::Zero, start: 0, row_ptr: &row_ptr, col_idx: &[0_i32; 0] };
        let (team, options) = (Arc::new(Team::new(1)), SolverOptions::default());
        LinearSolver::symbolic_over_ranks(team, Arc::new(ranks.clone()), rows, nb, options)
    });
    assert_eq!(said.to_string(), "rank 1 has block size 3, rank 0 block size 2: all ranks must say the same");
}

/// A diagonal block without inverse, and a matrix without rows.
#[test]
fn singular_blocks_and_no_rows_at_all() {
    for words in ["", "preconditioner=multicolor"] {
        let error = refused(3, move |ranks| {
            let mut options = SolverOptions::default();
            options.set_all(words).unwrap();
            let rank = ranks.rank();
            let rows = OwnedRows {
                base: IndexBase::Zero,
                start: 2 * rank as u64,
                row_ptr: &[0_i32, 2, 3],
                col_idx: &[2 * rank as u64, (2 * rank as u64 + 2) % 6, 2 * rank as u64 + 1],
            };
            let team = Arc::new(Team::new(1));
            let mut solver =
                LinearSolver::symbolic_over_ranks(team, Arc::new(ranks.clone()), rows, 1, options)?;
            assert!(
                matches!(solver.solve(&[1.0; 2], &mut [0.0; 2]), Err(SolverError::Global(_))),
                "no values"
            );
            let last = if rank == 1 { 0.0 } else { 3.0 };
            solver.numeric(&[2.0, 1.0, last], BlockLayout::RowMajor)?;
            Ok(solver)
        });
        assert!(
            error.to_string().starts_with("rank 1: 1 diagonal blocks have no inverse, the first in row 3"),
            "{error}"
        );
        assert_eq!((error.kind(), error.place()), (ErrorKind::Singular, Some((3, None))));
        let found: Result<_, RunError<SolverError>> = run(2, PATIENCE, move |ranks: &Threads| {
            let mut options = SolverOptions::default();
            options.set_all(words).unwrap();
            let rows = OwnedRows { base: IndexBase::One, start: 1, row_ptr: &[1_i32], col_idx: &[0_i64; 0] };
            let team = Arc::new(Team::new(1));
            let mut solver =
                LinearSolver::symbolic_over_ranks(team, Arc::new(ranks.clone()), rows, 4, options)?;
            solver.numeric(&[0.0; 0], BlockLayout::ColumnMajor)?;
            solver.apply(&[], &mut [])?;
            solver.multiply(&[], &mut [])?;
            Ok(solver.solve(&[], &mut [])?.outcome)
        });
        assert_eq!(found.unwrap(), [Outcome::Converged; 2]);
    }
}
