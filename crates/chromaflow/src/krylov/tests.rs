use super::*;
use crate::vector::norm2;
use crate::{BlockCsr, BlockPattern, Outcome, Team};
use chromaflow_testkit as testkit;

/// A diagonally dominant nonsymmetric matrix on a tetrahedral pattern, diagonal included.
fn sample(rows: usize, nb: usize) -> BlockCsr {
    let (ptr, idx) = crate::gallery::tetrahedral(rows, rows * 6, 3);
    let mut row_ptr = vec![0];
    let mut col_idx = Vec::new();
    for row in 0..rows {
        let at = col_idx.len();
        col_idx.extend_from_slice(&idx[ptr[row] as usize..ptr[row + 1] as usize]);
        col_idx.push(row as u32);
        col_idx[at..].sort_unstable();
        row_ptr.push(col_idx.len() as u32);
    }
    let pattern = BlockPattern::new(rows, row_ptr, col_idx).unwrap();
    let mut values: Vec<f64> =
        (0..pattern.nnzb() * nb * nb).map(|i| ((i * 7919 + 13) % 1009) as f64 / 1009.0 - 0.4).collect();
    for row in 0..rows {
        let k = pattern.find(row, row).unwrap();
        for r in 0..nb {
            values[k * nb * nb + r * nb + r] += 0.35 * nb as f64 * pattern.columns(row).len() as f64;
        }
    }
    BlockCsr::new(pattern, nb, values).unwrap()
}

fn scalar(n: usize, entries: &[(usize, usize, f64)]) -> BlockCsr {
    let mut sorted = entries.to_vec();
    sorted.sort_by_key(|e| (e.0, e.1));
    let row_ptr = (0..=n).map(|r| sorted.iter().filter(|e| e.0 < r).count() as u32).collect();
    let col_idx = sorted.iter().map(|e| e.1 as u32).collect();
    let pattern = BlockPattern::new(n, row_ptr, col_idx).unwrap();
    BlockCsr::new(pattern, 1, sorted.iter().map(|e| e.2).collect()).unwrap()
}

fn dense(a: &BlockCsr) -> Vec<f64> {
    let p = a.pattern();
    testkit::dense_of_blocks(p.cols(), p.row_ptr(), p.col_idx(), a.nb(), a.values())
}

fn wave(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.37).sin() + 0.1).collect()
}

/// The inverse of the diagonal entries.
struct Diagonal(Vec<f64>);

impl Diagonal {
    fn of(a: &BlockCsr) -> Self {
        let nb = a.nb();
        let entry = |i: usize| {
            let k = a.pattern().find(i / nb, i / nb).unwrap();
            a.block(k)[(i % nb) * (nb + 1)]
        };
        Self((0..a.pattern().rows() * nb).map(|i| 1.0 / entry(i)).collect())
    }
}

impl Preconditioner for Diagonal {
    fn apply(&mut self, _: &Team, r: &[f64], z: &mut [f64]) {
        z.iter_mut().zip(r).zip(&self.0).for_each(|((z, r), d)| *z = r * d);
    }
}

/// A preconditioner that changes: FGMRES must bear it.
struct Changing(Diagonal, usize);

impl Preconditioner for Changing {
    fn apply(&mut self, team: &Team, r: &[f64], z: &mut [f64]) {
        self.0.apply(team, r, z);
        self.1 += 1;
        let factor = 1.0 + (self.1 % 3) as f64;
        z.iter_mut().enumerate().for_each(|(i, z)| *z *= factor + (i % self.1) as f64 * 0.01);
    }
}

#[derive(Clone, Copy, Debug)]
enum Method {
    Gmres(usize),
    BiCgStab,
    Richardson,
}

const METHODS: [Method; 4] = [Method::Gmres(50), Method::Gmres(7), Method::BiCgStab, Method::Richardson];

impl Method {
    fn solve(
        self,
        team: &Team,
        a: &BlockCsr,
        m: &mut dyn Preconditioner,
        b: &[f64],
        x: &mut [f64],
        control: &Control,
    ) -> Solve {
        match self {
            Method::Gmres(restart) => Gmres::new(restart).solve(team, a, m, b, x, control),
            Method::BiCgStab => BiCgStab.solve(team, a, m, b, x, control),
            Method::Richardson => Richardson { damping: 0.7 }.solve(team, a, m, b, x, control),
        }
    }
}

#[test]
fn all_find_the_dense_solution() {
    let a = sample(40, 3);
    let b = wave(120);
    let exact = testkit::dense_solve(&dense(&a), &b).unwrap();
    let team = Team::new(2);
    let control = Control { tolerance: 1e-12, max_iterations: 400 };
    for method in METHODS {
        for guess in [0.0, 1.0] {
            let mut x = vec![guess; 120];
            let solve = method.solve(&team, &a, &mut Diagonal::of(&a), &b, &mut x, &control);
            assert_eq!(solve.outcome, Outcome::Converged, "{method:?}");
            let error: Vec<f64> = x.iter().zip(&exact).map(|(x, e)| x - e).collect();
            assert!(norm2(&team, &error) < 1e-11 * norm2(&team, &exact), "{method:?}");
            assert_eq!(solve.history.len(), solve.iterations + 1, "{method:?}");
            let mut r = vec![0.0; 120];
            a.residual(&team, &b, &x, &mut r);
            let actual = norm2(&team, &r) / norm2(&team, &b);
            assert!(actual <= 1e-12 && (solve.relative_residual - actual).abs() < 1e-16, "{method:?}");
        }
    }
}

#[test]
fn full_gmres_ends_after_as_many_steps_as_unknowns() {
    let a = sample(6, 2);
    let (b, mut x) = (wave(12), vec![0.0; 12]);
    let control = Control { tolerance: 1e-13, max_iterations: 100 };
    let solve = Gmres::new(50).solve(&Team::new(1), &a, &mut Identity, &b, &mut x, &control);
    assert_eq!(solve.outcome, Outcome::Converged);
    assert!(solve.iterations <= 12);
    assert!(solve.history.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-12)), "GMRES is monotone");
}

#[test]
fn gmres_bears_a_changing_preconditioner() {
    let a = sample(50, 4);
    let (b, mut x) = (wave(200), vec![0.0; 200]);
    let mut m = Changing(Diagonal::of(&a), 0);
    let solve = Gmres::new(30).solve(&Team::new(1), &a, &mut m, &b, &mut x, &Control::default());
    assert_eq!(solve.outcome, Outcome::Converged);
    assert!(solve.relative_residual <= 1e-10);
}

/// M (V y) is (M V) y: half the vectors, the same iterates.
#[test]
fn fixed_preconditioners_give_the_same_iterates() {
    struct Kept(Diagonal);
    impl Preconditioner for Kept {
        fn apply(&mut self, team: &Team, r: &[f64], z: &mut [f64]) {
            self.0.apply(team, r, z);
        }
        fn is_fixed(&self) -> bool {
            true
        }
    }
    let a = sample(60, 3);
    let b = wave(180);
    let (team, control) = (Team::new(1), Control { tolerance: 1e-12, max_iterations: 400 });
    for restart in [50, 5] {
        let (mut x, mut y) = (vec![0.0; 180], vec![0.0; 180]);
        let (mut keeping, mut flexible) = (Gmres::new(restart), Gmres::new(restart));
        let kept = keeping.solve(&team, &a, &mut Kept(Diagonal::of(&a)), &b, &mut x, &control);
        let other = flexible.solve(&team, &a, &mut Diagonal::of(&a), &b, &mut y, &control);
        assert_eq!((kept.outcome, kept.iterations), (Outcome::Converged, other.iterations), "{restart}");
        let error: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
        assert!(norm2(&team, &error) < 1e-11 * norm2(&team, &y));
        assert!(keeping.vectors() < flexible.vectors());
    }
}

#[test]
fn threads_change_no_bit() {
    let a = sample(2500, 7); // long enough for the team
    let b = wave(17500);
    let control = Control { tolerance: 1e-8, max_iterations: 30 };
    let mut first: Vec<Option<(Solve, Vec<f64>)>> = vec![None; 4];
    for threads in [1, 2, 3] {
        let team = Team::new(threads);
        for (method, first) in METHODS.into_iter().zip(&mut first) {
            let mut x = vec![0.0; b.len()];
            let solve = method.solve(&team, &a, &mut Diagonal::of(&a), &b, &mut x, &control);
            let first = first.get_or_insert_with(|| (solve.clone(), x.clone()));
            assert!(first.0 == solve && first.1 == x, "{method:?} with {threads} threads");
        }
    }
}

#[test]
fn zero_right_hand_sides_and_limits() {
    let a = sample(10, 2);
    let team = Team::new(1);
    for method in METHODS {
        let mut x = vec![0.0; 20];
        let solve = method.solve(&team, &a, &mut Identity, &[0.0; 20], &mut x, &Control::default());
        assert_eq!(
            (solve.outcome, solve.iterations, x),
            (Outcome::Converged, 0, vec![0.0; 20]),
            "{method:?}"
        );
        let mut x = vec![0.0; 20];
        let fixed = Control { tolerance: 0.0, max_iterations: 4 };
        let solve = method.solve(&team, &a, &mut Diagonal::of(&a), &wave(20), &mut x, &fixed);
        assert_eq!((solve.outcome, solve.iterations), (Outcome::IterationLimit, 4), "{method:?}");
        let none = Control { tolerance: 0.0, max_iterations: 0 };
        let solve = method.solve(&team, &a, &mut Identity, &wave(20), &mut x, &none);
        assert_eq!((solve.outcome, solve.iterations), (Outcome::IterationLimit, 0), "{method:?}");
    }
}

#[test]
fn singular_systems_end_in_an_outcome() {
    // Row 1 is zero, so b is out of reach.
    let a = scalar(2, &[(0, 0, 1.0), (1, 1, 0.0)]);
    for method in METHODS {
        let mut x = vec![0.0; 2];
        let control = Control { tolerance: 1e-10, max_iterations: 2000 };
        let solve = method.solve(&Team::new(1), &a, &mut Identity, &[1.0, 1.0], &mut x, &control);
        assert!(
            matches!(solve.outcome, Outcome::Breakdown { .. } | Outcome::Stagnated),
            "{method:?}: {:?}",
            solve.outcome
        );
        assert!(x.iter().all(|v| v.is_finite()), "{method:?}");
        assert!(
            (solve.relative_residual - 0.5_f64.sqrt()).abs() < 0.3,
            "{method:?}: {}",
            solve.relative_residual
        );
    }
}

#[test]
fn divergence_and_nan_are_outcomes() {
    let team = Team::new(1);
    let growing = scalar(2, &[(0, 0, 1.0), (0, 1, -30.0), (1, 0, 30.0), (1, 1, 1.0)]);
    let mut x = vec![0.0; 2];
    let solve =
        Richardson::default().solve(&team, &growing, &mut Identity, &[1.0, 1.0], &mut x, &Control::default());
    assert!(matches!(solve.outcome, Outcome::Diverged { iteration: 7..=8 }), "{:?}", solve.outcome);

    struct Poison(usize);
    impl Preconditioner for Poison {
        fn apply(&mut self, _: &Team, r: &[f64], z: &mut [f64]) {
            z.copy_from_slice(r);
            self.0 += 1;
            if self.0 == 3 {
                z[0] = f64::NAN;
            }
        }
    }
    let a = sample(10, 2);
    for method in METHODS {
        let mut x = vec![0.0; 20];
        let solve = method.solve(&team, &a, &mut Poison(0), &wave(20), &mut x, &Control::default());
        assert_eq!(solve.outcome, Outcome::Diverged { iteration: 3 }, "{method:?}");
        if let Method::Gmres(_) = method {
            assert!(
                x.iter().all(|v| v.is_finite()) && solve.relative_residual < 1.0,
                "{method:?} keeps what it had"
            );
        }
    }
}

#[test]
fn bicgstab_stops_where_it_breaks_down() {
    // r . A r = 0 for every r: a rotation by a right angle.
    let rotation = scalar(2, &[(0, 1, -1.0), (1, 0, 1.0)]);
    let mut x = vec![0.0; 2];
    let solve =
        BiCgStab.solve(&Team::new(1), &rotation, &mut Identity, &[1.0, 0.0], &mut x, &Control::default());
    assert_eq!(solve.outcome, Outcome::Breakdown { row: 0 });
    let solve = Gmres::new(5).solve(
        &Team::new(1),
        &rotation,
        &mut Identity,
        &[1.0, 0.0],
        &mut x,
        &Control::default(),
    );
    assert_eq!((solve.outcome, solve.iterations), (Outcome::Converged, 2));
}

#[test]
fn growing_cycles_end_where_fixed_ones_stagnate() {
    // A cyclic shift: the residual does not fall before all unknowns have been visited.
    let n = 40;
    let shift: Vec<_> = (0..n).map(|i| (i, (i + 1) % n, 1.0)).collect();
    let a = scalar(n, &shift);
    let mut b = vec![0.0; n];
    b[0] = 1.0;
    let control = Control { tolerance: 1e-12, max_iterations: 500 };
    let team = Team::new(1);
    let mut x = vec![0.0; n];
    let solve = Gmres::new(10).solve(&team, &a, &mut Identity, &b, &mut x, &control);
    assert_eq!(solve.outcome, Outcome::Stagnated);
    let mut x = vec![0.0; n];
    let solve = Gmres::new(10).growing(40).solve(&team, &a, &mut Identity, &b, &mut x, &control);
    assert_eq!((solve.outcome, solve.iterations), (Outcome::Converged, 10 + 40));
    assert!((x[1] - 1.0).abs() < 1e-12);
}

/// The five-point Laplacian with no flux through its sides: singular, the constant is its null vector on both sides.
fn neumann(n: usize) -> BlockCsr {
    let at = |i: usize, j: usize| i * n + j;
    let mut entries = Vec::new();
    for i in 0..n {
        for j in 0..n {
            let mut neighbors = Vec::new();
            (i > 0).then(|| neighbors.push(at(i - 1, j)));
            (i + 1 < n).then(|| neighbors.push(at(i + 1, j)));
            (j > 0).then(|| neighbors.push(at(i, j - 1)));
            (j + 1 < n).then(|| neighbors.push(at(i, j + 1)));
            entries.push((at(i, j), at(i, j), neighbors.len() as f64));
            entries.extend(neighbors.into_iter().map(|k| (at(i, j), k, -1.0)));
        }
    }
    scalar(n * n, &entries)
}

/// Singular systems that rounding, or more, has made inconsistent: the residual ends next to the part of b that is out of reach, however far the recurrences believe to have come.
#[test]
fn inconsistent_systems_keep_the_best_solution() {
    let n = 30;
    let a = neumann(n);
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let mut free = wave(n * n);
    let shift = mean(&free);
    for v in &mut free {
        *v -= shift;
    }
    let team = Team::new(1);
    let size = norm2(&team, &free);
    let control = Control { tolerance: 1e-12, max_iterations: 2000 };
    let longest = 800;
    for part in [1e-9, 1e-6, 1e-3, 0.1] {
        // The constant vector has length n.
        let b: Vec<f64> = free.iter().map(|v| v + part * size / n as f64).collect();
        for method in [Some(50), Some(20), None] {
            let mut x = vec![0.0; n * n];
            let m = &mut Diagonal::of(&a);
            let solve = match method {
                Some(restart) => {
                    Gmres::new(restart).growing(longest).solve(&team, &a, m, &b, &mut x, &control)
                }
                None => BiCgStab.solve(&team, &a, m, &b, &mut x, &control),
            };
            assert_ne!(solve.outcome, Outcome::Converged);
            // Within an order of the least.
            let most = 10.0 * part;
            assert!(
                solve.relative_residual <= most.min(1.0),
                "{method:?} {part}: {}",
                solve.relative_residual
            );
            let mut r = vec![0.0; n * n];
            a.residual(&team, &b, &x, &mut r);
            let actual = norm2(&team, &r) / norm2(&team, &b);
            assert!((solve.relative_residual - actual).abs() < 1e-12, "{method:?}");
        }
    }
}

/// Matrices next to singular ones, whose recurrences lose all figures: nothing is handed back that is worse than the guess.
#[test]
fn nothing_is_worse_than_the_guess() {
    let team = Team::new(1);
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    for n in [12, 40, 90] {
        for digits in [8, 14, 18] {
            // Rows that differ from each other in the last digits alone, beside an entry each.
            let row: Vec<f64> = (0..n).map(|_| random()).collect();
            let mut entries = Vec::new();
            for i in 0..n {
                for (j, v) in row.iter().enumerate() {
                    let own = if i == j { 10f64.powi(-digits / 2) } else { 0.0 };
                    entries.push((i, j, v * (1.0 + 10f64.powi(-digits) * random()) + own));
                }
            }
            let a = scalar(n, &entries);
            let b: Vec<f64> = (0..n).map(|_| random()).collect();
            let control = Control { tolerance: 1e-12, max_iterations: 600 };
            for method in [Method::Gmres(7), Method::Gmres(100), Method::BiCgStab] {
                let mut x = vec![0.0; n];
                let solve = method.solve(&team, &a, &mut Identity, &b, &mut x, &control);
                assert!(
                    solve.relative_residual <= 1.0 + 1e-12,
                    "{method:?} {n} {digits}: {}",
                    solve.relative_residual
                );
                assert!(x.iter().all(|v| v.is_finite()));
            }
        }
    }
}
