//! Line relaxation against the method on dense rows.

use crate::order::{Lines, Plan, PlanOptions};
use crate::relax::{DiagonalForm, Direction, Guess, RelaxError, RelaxOptions, Smoother, SolveOptions};
use crate::{BlockPattern, Jacobian, OffDiagonal, Outcome, Policy, RowBatches};
use chromaflow_device::Team;
use chromaflow_testkit as testkit;
use std::sync::Arc;

/// A random matrix on a grid of nx by ny rows, strong along y, in the order of a plan of its lines: columns of several lengths.
pub(super) struct System {
    pub(super) jac: Jacobian,
    pub(super) batches: RowBatches,
    pub(super) b: Vec<f64>,
    pub(super) guess: Vec<f64>,
}

fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 40) as f64 / 16777216.0 - 0.5
}

pub(super) fn system([nx, ny]: [usize; 2], nb: usize, policy: Policy, seed: u64) -> System {
    let (mut ptr, mut idx) = (vec![0], Vec::new());
    for i in 0..nx {
        for j in 0..ny {
            // Also the rows two further along the line, which is no neighbor in it.
            for (di, dj) in [(-1, 0), (0, -2), (0, -1), (0, 1), (0, 2), (1, 0)] {
                let (i, j) = (i as isize + di, j as isize + dj);
                if (0..nx as isize).contains(&i) && (0..ny as isize).contains(&j) {
                    idx.push((i * ny as isize + j) as u32);
                }
            }
            ptr.push(idx.len() as u32);
        }
    }
    let pattern = BlockPattern::new(nx * ny, ptr, idx).unwrap();
    let lists: Vec<Vec<u32>> =
        (0..nx).map(|i| (0..ny - (i % 4).min(ny - 1)).map(|j| (i * ny + j) as u32).rev().collect()).collect();
    let lines = Lines::new(nx * ny, &lists).unwrap();
    let plan = Plan::of_lines(&pattern, &lines, &PlanOptions::default(), &Team::new(1)).unwrap();
    let (pattern, _) = pattern.permuted(&plan.permutation);
    let (mut state, q) = (seed, nb * nb);
    let mut jac = Jacobian::zeroed(pattern, nb, policy).unwrap();
    let old = |row: usize| plan.permutation.old_of_new()[row] as usize;
    let mut off = Vec::new();
    for row in 0..nx * ny {
        for &col in jac.pattern().columns(row) {
            let strong = if old(row).abs_diff(old(col as usize)) == 1 { 2.0 } else { 0.2 };
            off.extend((0..q).map(|_| strong * random(&mut state) / nb as f64));
        }
    }
    match &mut jac.off {
        OffDiagonal::F64(to) => to.copy_from_slice(&off),
        OffDiagonal::F32(to) => to.iter_mut().zip(&off).for_each(|(to, &v)| *to = v as f32),
        OffDiagonal::F16 { .. } => unreachable!("a new matrix"),
    }
    for (i, v) in jac.diag.iter_mut().enumerate() {
        *v = random(&mut state) / nb as f64 + if i % q % (nb + 1) == 0 { 2.0 } else { 0.0 };
    }
    if policy == Policy::Dsh {
        jac.narrow_to_f16_together(&Team::new(1), &|largest| largest).unwrap();
    }
    let b = (0..nx * ny * nb).map(|_| random(&mut state)).collect();
    let guess = (0..nx * ny * nb).map(|_| random(&mut state)).collect();
    System { jac, batches: plan.batches, b, guess }
}

/// One pass over the lines in the order of the rows or against it, each by a dense solve with its tridiagonal part.
fn relax_dense(system: &System, x: &mut [f64], backward: bool, damping: f64) {
    let (nb, rows) = (system.jac.nb(), system.jac.rows());
    let n = rows * nb;
    let a = testkit_dense(&system.jac);
    let mut lines: Vec<_> =
        system.batches.lines().unwrap().windows(2).map(|w| w[0] as usize..w[1] as usize).collect();
    if backward {
        lines.reverse();
    }
    for line in lines {
        let own = line.start * nb..line.end * nb;
        let in_t = |i: usize, j: usize| own.contains(&j) && (i / nb).abs_diff(j / nb) <= 1;
        let rest: Vec<f64> = own
            .clone()
            .map(|i| system.b[i] - (0..n).filter(|&j| !in_t(i, j)).map(|j| a[i * n + j] * x[j]).sum::<f64>())
            .collect();
        let t: Vec<f64> = own
            .clone()
            .flat_map(|j| own.clone().map(move |i| (i, j)))
            .map(|(i, j)| if in_t(i, j) { a[i * n + j] } else { 0.0 })
            .collect();
        let new = testkit::dense_solve(&t, &rest).unwrap();
        for (i, new) in own.zip(new) {
            x[i] += damping * (new - x[i]);
        }
    }
}

fn testkit_dense(jac: &Jacobian) -> Vec<f64> {
    let (nb, rows, q) = (jac.nb(), jac.rows(), jac.nb() * jac.nb());
    let (n, csr) = (rows * nb, jac.to_csr());
    let mut a = vec![0.0; n * n];
    for row in 0..rows {
        for k in csr.pattern().range(row) {
            let col = csr.pattern().col_idx()[k] as usize;
            for i in 0..q {
                a[(row * nb + i % nb) * n + col * nb + i / nb] = csr.block(k)[i];
            }
        }
    }
    a
}

fn relaxation(system: &System, threads: usize, diagonal: DiagonalForm) -> Smoother {
    let (team, options) = (Arc::new(Team::new(threads)), RelaxOptions { diagonal, isa: None });
    let (pattern, nb) = (Arc::clone(system.jac.pattern()), system.jac.nb());
    let mut lines = Smoother::lines(team, pattern, nb, &system.batches, options).unwrap();
    assert_eq!(lines.factor(&system.jac).unwrap().singular, 0);
    lines
}

#[test]
fn sweeps_are_those_of_dense_lines() {
    for nb in [1, 2, 3, 5, 6, 9] {
        for policy in Policy::ALL {
            let system = system([7, 9], nb, policy, 7);
            for diagonal in [DiagonalForm::Inverse, DiagonalForm::Lu] {
                for (direction, guess, damping) in [
                    (Direction::Forward, Guess::Zero, 1.0),
                    (Direction::Backward, Guess::Given, 1.0),
                    (Direction::Symmetric, Guess::Given, 0.7),
                ] {
                    let what = format!("nb {nb} {policy} {diagonal:?} {direction:?}");
                    let options = SolveOptions { direction, damping, guess, ..SolveOptions::sweeps(2) };
                    let mut x = system.guess.clone();
                    let mut lines = relaxation(&system, 1, diagonal);
                    lines.solve(&system.jac, &system.b, &mut x, &options).unwrap();
                    let mut expected =
                        if guess == Guess::Zero { vec![0.0; x.len()] } else { system.guess.clone() };
                    for _ in 0..2 {
                        if direction != Direction::Backward {
                            relax_dense(&system, &mut expected, false, damping);
                        }
                        if direction != Direction::Forward {
                            relax_dense(&system, &mut expected, true, damping);
                        }
                    }
                    let scale = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                    let most = 10.0 * testkit::rounding(policy == Policy::D) * scale;
                    for (i, (f, e)) in x.iter().zip(&expected).enumerate() {
                        assert!((f - e).abs() <= most, "{what}: entry {i} is {f}, expected {e}");
                    }
                    for threads in [2, 5] {
                        let mut other = system.guess.clone();
                        let mut lines = relaxation(&system, threads, diagonal);
                        lines.solve(&system.jac, &system.b, &mut other, &options).unwrap();
                        assert_eq!(x, other, "{what} on {threads} threads");
                    }
                }
            }
        }
    }
}

/// A large enough system for a team to divide its colors: the same bits, and factors in place too.
#[test]
fn divided_lines_give_the_same_bits() {
    let mut system = system([60, 40], 5, Policy::Ds, 3);
    let solved = |system: &System, threads| {
        let mut x = vec![0.0; system.b.len()];
        let mut lines = relaxation(system, threads, DiagonalForm::Inverse);
        lines.solve(&system.jac, &system.b, &mut x, &SolveOptions::sweeps(3)).unwrap();
        x
    };
    let one = solved(&system, 1);
    assert_eq!(one, solved(&system, 3));
    let mut lines = relaxation(&system, 2, DiagonalForm::Inverse);
    lines.factor_in_place(&mut system.jac).unwrap();
    let mut x = vec![0.0; system.b.len()];
    lines.solve(&system.jac, &system.b, &mut x, &SolveOptions::sweeps(3)).unwrap();
    assert_eq!(one, x);
}

/// Where couplings along lines are a thousand times those across, ten sweeps leave a twentieth of what a hundred by points do.
#[test]
fn lines_solve_for_strong_couplings() {
    let (nx, ny) = (30, 30);
    let mut system = system([nx, ny], 1, Policy::D, 5);
    let all = system.jac.pattern().clone();
    let line_of: Vec<usize> = (0..nx * ny).map(|row| system.batches.line_of(row).start).collect();
    if let OffDiagonal::F64(off) = &mut system.jac.off {
        for row in 0..nx * ny {
            for k in all.range(row) {
                let col = all.col_idx()[k] as usize;
                let next = line_of[row] == line_of[col] && row.abs_diff(col) == 1;
                off[k] = if next { -1.0 } else { -1e-3 };
            }
        }
    }
    for row in 0..nx * ny {
        let sum: f64 = system.jac.off_f64()[all.range(row)].iter().sum();
        system.jac.diag[row] = 1e-3 - sum;
    }
    let left = |found: crate::relax::SolveReport| found.relative_residual.unwrap();
    let options = SolveOptions { history: true, ..SolveOptions::sweeps(10) };
    let mut x = vec![0.0; nx * ny];
    let mut lines = relaxation(&system, 1, DiagonalForm::Inverse);
    let by_lines = left(lines.solve(&system.jac, &system.b, &mut x, &options).unwrap());
    let points = RowBatches::new((0..=(nx * ny) as u32).collect());
    let mut points =
        Smoother::multicolor(Arc::new(Team::new(1)), all, 1, &points, RelaxOptions::default()).unwrap();
    points.factor(&system.jac).unwrap();
    let options = SolveOptions { sweeps: 100, ..options };
    let by_points = left(points.solve(&system.jac, &system.b, &mut x, &options).unwrap());
    assert!(by_lines < 0.05 * by_points, "{by_lines:e} by lines, {by_points:e} by points");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut system = system([5, 8], 3, Policy::Ds, 11);
    let row = system.batches.lines().unwrap()[1] as usize + 2;
    let mut lines = relaxation(&system, 1, DiagonalForm::Inverse);
    // The block of a row as the elimination leaves it: A F of the row before it alone is zero.
    system.jac.diag[row * 9..(row + 1) * 9].fill(0.0);
    let near = system.jac.pattern().range(row);
    if let OffDiagonal::F32(off) = &mut system.jac.off {
        off[near.start * 9..near.end * 9].fill(0.0);
    }
    let found = lines.factor(&system.jac).unwrap();
    assert_eq!((found.singular, &found.singular_rows[..]), (1, &[row as u32][..]));
    let solve = lines.solve(&system.jac, &system.b, &mut system.guess, &SolveOptions::sweeps(1)).unwrap();
    assert_eq!(solve.outcome, Outcome::Breakdown { row });
    // Factors in f32 serve no matrix in f64, and batches of dependent lines none at all.
    let (pattern, nb) = (Arc::clone(system.jac.pattern()), 3);
    let wide = Jacobian::zeroed(pattern.clone(), nb, Policy::D).unwrap();
    let refused = lines.solve(&wide, &system.b, &mut system.guess, &SolveOptions::sweeps(1));
    assert_eq!(refused.unwrap_err(), RelaxError::NotFactored);
    let rows = pattern.rows();
    let together = RowBatches::single(rows).of_lines(system.batches.lines().unwrap().to_vec());
    let refused = Smoother::lines(Arc::new(Team::new(1)), pattern, nb, &together, RelaxOptions::default());
    assert!(matches!(refused.map(|_| ()), Err(RelaxError::Dependent { batch: 0, .. })));
}
