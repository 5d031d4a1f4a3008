//! A matrix cut among ranks against the whole one.

use super::tests::{dense, largest_error, sample, wave};
use super::*;
use crate::Outcome;
use crate::relax::Direction;
use chromaflow_testkit as testkit;
use std::sync::Barrier;

const ROWS: usize = 90;
const NB: usize = 3;

/// A whole matrix, indices from 1, and the owner of each row: rows of all ranks lie mixed.
struct Whole {
    row_ptr: Vec<i32>,
    col_idx: Vec<i32>,
    values: Vec<f64>,
    owner: Vec<usize>,
}

impl Whole {
    fn new(size: usize) -> Self {
        let (row_ptr, col_idx, values) = sample(ROWS, NB);
        Self { row_ptr, col_idx, values, owner: (0..ROWS).map(|row| row * row % 7 % size).collect() }
    }

    fn blocks(&self, row: usize) -> std::ops::Range<usize> {
        self.row_ptr[row] as usize - 1..self.row_ptr[row + 1] as usize - 1
    }

    /// Own rows of a rank, then its ghosts: global numbers from 0, and how many are own.
    fn rows(&self, rank: usize) -> (Vec<usize>, usize) {
        let mut rows: Vec<usize> = (0..ROWS).filter(|&row| self.owner[row] == rank).collect();
        let own = rows.len();
        let blocks: Vec<usize> = rows.iter().flat_map(|&row| self.blocks(row)).collect();
        for k in blocks {
            let column = self.col_idx[k] as usize - 1;
            if !rows.contains(&column) {
                rows.push(column);
            }
        }
        (rows, own)
    }

    /// The solver of a rank.
    fn part(&self, rank: usize, options: SolverOptions) -> LinearSolver {
        let (rows, own) = self.rows(rank);
        let (mut row_ptr, mut col_idx, mut values) = (vec![1_i64], Vec::new(), Vec::<f64>::new());
        for &row in &rows[..own] {
            // Backwards, so that ghosts stand between own columns.
            for k in self.blocks(row).rev() {
                let column = self.col_idx[k] as usize - 1;
                col_idx.push(rows.iter().position(|&g| g == column).unwrap() as i64 + 1);
                values.extend(&self.values[k * NB * NB..][..NB * NB]);
            }
            row_ptr.push(col_idx.len() as i64 + 1);
        }
        let (team, ghosts) = (Arc::new(Team::new(1 + rank % 2)), rows.len() - own);
        let base = IndexBase::One;
        let mut solver =
            LinearSolver::symbolic_with_ghosts(team, base, &row_ptr, &col_idx, ghosts, NB, options).unwrap();
        solver.numeric(&values, BlockLayout::ColumnMajor).unwrap();
        solver
    }
}

/// What the threads of a host program share.
struct World {
    barrier: Barrier,
    x: Mutex<Vec<f64>>,
    sums: Mutex<Vec<Vec<f64>>>,
}

/// The host program's exchange, and a fault to try.
struct Host {
    world: Arc<World>,
    rank: usize,
    rows: Vec<usize>,
    own: usize,
    /// Exchanges until one fails.
    good: usize,
}

impl Ranks for Host {
    fn begin(&mut self, x: &mut [f64], nb: usize) -> Result<(), RanksError> {
        let mut all = self.world.x.lock().unwrap();
        for (&row, x) in self.rows[..self.own].iter().zip(x.chunks(nb)) {
            all[row * nb..][..nb].copy_from_slice(x);
        }
        x[self.own * nb..].fill(f64::NAN); // nobody may read ghosts before they have come
        Ok(())
    }

    fn finish(&mut self, x: &mut [f64], nb: usize) -> Result<(), RanksError> {
        self.world.barrier.wait();
        {
            let all = self.world.x.lock().unwrap();
            for (&row, x) in self.rows.iter().zip(x.chunks_mut(nb)).skip(self.own) {
                x.copy_from_slice(&all[row * nb..][..nb]);
            }
        }
        self.world.barrier.wait();
        self.good = self.good.checked_sub(1).ok_or("the cable is cut")?;
        Ok(())
    }

    fn sum(&mut self, values: &mut [f64]) -> Result<(), RanksError> {
        self.world.sums.lock().unwrap()[self.rank] = values.to_vec();
        self.world.barrier.wait();
        {
            let all = self.world.sums.lock().unwrap();
            for (at, value) in values.iter_mut().enumerate() {
                *value = all.iter().map(|part| part[at]).sum();
            }
        }
        self.world.barrier.wait();
        Ok(())
    }
}

/// Runs a job on the rows of each rank: it gets a solver, a rank and own rows of global vectors, and gives own rows of another
/// one. These put together, and what else the ranks tell.
fn together<T: Send>(
    size: usize,
    options: SolverOptions,
    good: usize,
    job: impl Fn(&mut LinearSolver, usize, &dyn Fn(&[f64]) -> Vec<f64>) -> (Vec<f64>, T) + Sync,
) -> (Vec<f64>, Vec<T>) {
    let whole = Whole::new(size);
    let world = Arc::new(World {
        barrier: Barrier::new(size),
        x: Mutex::new(vec![0.0; ROWS * NB]),
        sums: Mutex::new(vec![Vec::new(); size]),
    });
    let (mut all, mut told) = (vec![f64::NAN; ROWS * NB], Vec::new());
    std::thread::scope(|scope| {
        let rank_of = |rank: usize| {
            let (whole, world, job) = (&whole, Arc::clone(&world), &job);
            scope.spawn(move || {
                let (rows, own) = whole.rows(rank);
                let mut solver = whole.part(rank, options);
                let good = if rank == 0 { good } else { usize::MAX };
                solver.distribute(Box::new(Host { world, rank, rows: rows.clone(), own, good }));
                let mine = |v: &[f64]| rows[..own].iter().flat_map(|&r| v[r * NB..][..NB].to_vec()).collect();
                let (x, told) = job(&mut solver, rank, &mine);
                (rows[..own].to_vec(), x, told)
            })
        };
        for thread in (0..size).map(rank_of).collect::<Vec<_>>() {
            let (rows, x, own) = thread.join().unwrap();
            for (row, x) in rows.iter().zip(x.chunks(NB)) {
                all[row * NB..][..NB].copy_from_slice(x);
            }
            told.push(own);
        }
    });
    (all, told)
}

/// The whole matrix on one rank.
fn alone(options: SolverOptions) -> LinearSolver {
    Whole::new(1).part(0, options)
}

fn exact() -> (Vec<f64>, Vec<f64>) {
    let (row_ptr, col_idx, values) = sample(ROWS, NB);
    let (a, b) = (dense(&row_ptr, &col_idx, NB, &values), wave(ROWS * NB));
    let x = testkit::dense_solve(&a, &b).unwrap();
    (b, x)
}

fn zeros(b: &[f64]) -> Vec<f64> {
    vec![0.0; b.len()]
}

#[test]
fn products_are_those_of_the_whole_matrix() {
    let (b, x) = exact();
    for size in [2, 3, 7] {
        let (found, _) = together(size, SolverOptions::default(), usize::MAX, |solver, _, mine| {
            let mut y = zeros(&mine(&x));
            solver.multiply(&mine(&x), &mut y).unwrap();
            (y, ())
        });
        assert!(largest_error(&found, &b) < 1e-13, "{size} ranks");
    }
}

/// Block Jacobi, alone and inside Krylov methods, does not see where the matrix is cut.
#[test]
fn jacobi_iterates_as_on_one_rank() {
    let (b, exact) = exact();
    for method in [Method::Richardson, Method::Gmres, Method::BiCgStab] {
        let options = SolverOptions {
            method,
            preconditioner: PreconditionerKind::Jacobi,
            policy: Policy::D,
            sweeps: if method == Method::Richardson { 40 } else { 3 },
            restart: 8,
            longest_restart: 8,
            ..SolverOptions::default()
        };
        let mut x = zeros(&b);
        let one = alone(options).solve(&b, &mut x).unwrap();
        assert_eq!(one.outcome, Outcome::Converged);
        for size in [2, 3, 7] {
            let (found, told) = together(size, options, usize::MAX, |solver, _, mine| {
                let mut x = zeros(&mine(&b));
                let solve = solver.solve(&mine(&b), &mut x).unwrap();
                (x, solve)
            });
            let what = format!("{method}, {size} ranks");
            assert!(largest_error(&found, &exact) < 1e-9, "{what}");
            assert!(told.iter().all(|t| t == &told[0]), "{what}: every rank is told the same");
            assert_eq!((told[0].outcome, told[0].iterations), (one.outcome, one.iterations), "{what}");
        }
    }
}

#[test]
fn every_preconditioner_finds_the_solution_of_all_ranks() {
    let (b, exact) = exact();
    for &preconditioner in PreconditionerKind::ALL {
        for (method, sweeps, policy) in [
            (Method::Gmres, 1, Policy::Ds),
            (Method::Gmres, 2, Policy::Dsh),
            (Method::BiCgStab, 2, Policy::D),
            (Method::Richardson, 60, Policy::Ds),
        ] {
            if (method, preconditioner) == (Method::Richardson, PreconditionerKind::None) {
                continue; // x + b - A x diverges for this matrix
            }
            if preconditioner == PreconditionerKind::Lines {
                continue; // of rows that somebody knows lines of
            }
            let direction = Direction::Symmetric;
            let options = SolverOptions {
                method,
                preconditioner,
                policy,
                sweeps,
                direction,
                ..SolverOptions::default()
            };
            let (found, told) = together(3, options, usize::MAX, |solver, _, mine| {
                let mut x = zeros(&mine(&b));
                let outcome = solver.solve(&mine(&b), &mut x).unwrap().outcome;
                (x, outcome)
            });
            let what = format!("{method}, {preconditioner}, {sweeps} sweeps, {policy}");
            assert_eq!(told, [Outcome::Converged; 3], "{what}");
            assert!(largest_error(&found, &exact) < 1e-8, "{what}: {}", largest_error(&found, &exact));
        }
    }
}

/// Sweeps of Gauss-Seidel between ranks: x <- x + M (b - A x) with the lower triangles of own rows, here written densely.
#[test]
fn sweeps_take_the_ghosts_of_the_sweep_before() {
    let (b, _) = exact();
    let size = 3;
    let whole = Whole::new(size);
    let a = dense(&whole.row_ptr, &whole.col_idx, NB, &whole.values);
    let n = ROWS * NB;
    let same = |i: usize, j: usize| whole.owner[i / NB] == whole.owner[j / NB] && j / NB <= i / NB;
    // Columns first, as the oracles have them.
    let m: Vec<f64> = (0..n * n).map(|at| if same(at % n, at / n) { a[at] } else { 0.0 }).collect();
    let mut expected = zeros(&b);
    for _ in 0..4 {
        let ax = testkit::dense_multiply(&a, &expected, n);
        let r: Vec<f64> = b.iter().zip(&ax).map(|(b, ax)| b - ax).collect();
        let step = testkit::dense_solve(&m, &r).unwrap();
        expected.iter_mut().zip(&step).for_each(|(x, d)| *x += d);
    }
    let options = SolverOptions {
        preconditioner: PreconditionerKind::GaussSeidel,
        policy: Policy::D,
        sweeps: 4,
        plan: crate::order::PlanOptions { rcm: crate::order::Rcm::Never, ..Default::default() },
        ..SolverOptions::default()
    };
    let (found, _) = together(size, options, usize::MAX, |solver, _, mine| {
        let mut z = zeros(&mine(&b));
        solver.apply(&mine(&b), &mut z).unwrap();
        (z, ())
    });
    assert!(largest_error(&found, &expected) < 1e-13, "{}", largest_error(&found, &expected));
}

/// A caller's own product, sums over all ranks.
#[test]
fn a_matrix_that_is_nowhere_stored_is_solved_on_all_ranks() {
    let (b, exact) = exact();
    let (found, told) = together(2, SolverOptions::default(), usize::MAX, |solver, _, mine| {
        let half = mine(&b).iter().map(|b| 2.0 * b).collect::<Vec<_>>();
        let mut x = zeros(&half);
        // A diagonal one; the stored matrix preconditions.
        let solve = solver.solve_matrix_free(
            &mut |x, y| y.iter_mut().zip(x).for_each(|(y, x)| *y = 4.0 * x),
            &half,
            &mut x,
        );
        (x, solve.unwrap().outcome)
    });
    assert_eq!(told, [Outcome::Converged; 2]);
    assert!(found.iter().zip(&b).all(|(x, b)| (x - 0.5 * b).abs() < 1e-9));
    assert!(exact.len() == found.len());
}

/// Right-hand sides whose squares leave the range of f64 have the digits of those that do not, also where one rank has zeros alone.
#[test]
fn a_solution_is_as_large_as_its_right_hand_side_on_all_ranks() {
    let (mut b, _) = exact();
    let first = Whole::new(3).owner;
    first.iter().zip(b.chunks_mut(NB)).filter(|(owner, _)| **owner == 0).for_each(|(_, b)| b.fill(0.0));
    let solved = |exponent: i32| {
        together(3, SolverOptions::default(), usize::MAX, |solver, _, mine| {
            let own: Vec<f64> = mine(&b).iter().map(|v| v * 2.0_f64.powi(exponent)).collect();
            let mut x = zeros(&own);
            let solve = solver.solve(&own, &mut x).unwrap();
            (x, solve)
        })
    };
    let (expected, alone) = solved(0);
    assert!(alone.iter().all(|solve| solve.outcome == Outcome::Converged));
    for exponent in [-900, -160, 160, 900] {
        let (found, told) = solved(exponent);
        assert_eq!(told, alone, "2^{exponent}");
        let scaled = expected.iter().map(|v| v * 2.0_f64.powi(exponent));
        assert!(found.iter().zip(scaled).all(|(x, expected)| *x == expected), "2^{exponent}");
    }
}

#[test]
fn what_goes_wrong_on_one_rank_ends_the_call_on_all() {
    let (b, _) = exact();
    // A number that is none, on rank 1.
    let (_, told) = together(3, SolverOptions::default(), usize::MAX, |solver, rank, mine| {
        let mut own = mine(&b);
        if rank == 1 {
            own[4] = f64::NAN;
        }
        let mut x = zeros(&own);
        let refused = solver.solve(&own, &mut x).unwrap_err().to_string();
        // And the next call works.
        assert_eq!(solver.solve(&mine(&b), &mut x).unwrap().outcome, Outcome::Converged);
        (x, refused)
    });
    assert_eq!(told[1], "b[4] is NaN");
    assert!(told[0].contains("vectors of 1 other rank") && told[0] == told[2], "{told:?}");
    // An exchange that fails, on rank 0, at the first and in the midst of a solve.
    for good in [0, 5] {
        let (_, told) = together(3, SolverOptions::default(), good, |solver, _, mine| {
            let own = mine(&b);
            let mut x = zeros(&own);
            (own, solver.solve(&mine(&b), &mut x).map(|solve| solve.outcome))
        });
        let ended = told[0].as_ref().unwrap_err().to_string();
        assert_eq!(ended, "the cable is cut: the call ends, its result is lost");
        for other in &told[1..] {
            assert!(matches!(other, Ok(Outcome::Diverged { .. })), "{other:?}");
        }
    }
}

#[test]
fn patterns_with_ghosts_are_looked_at() {
    let (row_ptr, col_idx) = ([0, 3, 5], [4, 0, 1, 1, 2]);
    let new = |ghosts, options| {
        let (team, base) = (Arc::new(Team::new(1)), IndexBase::Zero);
        LinearSolver::symbolic_with_ghosts(team, base, &row_ptr, &col_idx, ghosts, 1, options)
    };
    let refused = new(2, SolverOptions::default()).err().unwrap().to_string();
    assert_eq!(refused, "row 0: column 4 is outside the matrix of 4 columns (indices count from 0)");
    let mut solver = new(3, SolverOptions::default()).unwrap();
    let refused = solver.numeric(&[f64::INFINITY, 4.0, -1.0, 4.0, -1.0], BlockLayout::ColumnMajor);
    assert!(matches!(refused, Err(SolverError::NotFinite { row: 0, col: 4, .. })), "{refused:?}");
    assert!(solver.numeric(&[4.0, -1.0, 4.0], BlockLayout::ColumnMajor).is_err());
    solver.numeric(&[7.0, 4.0, -1.0, 4.0, -1.0], BlockLayout::ColumnMajor).unwrap();
    let refused = solver.multiply(&[1.0, 1.0], &mut [0.0; 2]).unwrap_err().to_string();
    assert_eq!(refused, "the pattern has 3 ghost columns: say how their values come here, by distribute()");
    // Factors of own rows need nobody: [4 -1; 0 4] z = [3, 4].
    let mut z = [0.0; 2];
    solver.apply(&[3.0, 4.0], &mut z).unwrap();
    assert!((z[0] - 1.0).abs() < 1e-6 && (z[1] - 1.0).abs() < 1e-6);
    // Diagonal blocks apart, ghosts among the others.
    let (team, options) = (Arc::new(Team::new(1)), SolverOptions::default());
    let mut apart =
        LinearSolver::symbolic_with_ghosts(team, IndexBase::Zero, &[0, 2, 3], &[4, 1, 2], 3, 1, options)
            .unwrap();
    apart.numeric_apart(&[4.0, 4.0], &[7.0, -1.0, -1.0], BlockLayout::ColumnMajor).unwrap();
    let mut again = [0.0; 2];
    apart.apply(&[3.0, 4.0], &mut again).unwrap();
    assert_eq!(again, z);
}
