//! Several right-hand sides, and the size of one.

use super::operator::Watched;
use super::{LinearSolver, NullSpace, SolverError, kept};
use crate::krylov::Solve;
use crate::sparse::check_len;
use crate::vector;
use std::ops::RangeInclusive;

/// Right-hand sides of which the largest magnitude is one of these are solved with as they are. Squares of others may leave the range of f64,
/// and updates that of f32.
const USUAL: RangeInclusive<f64> = 1e-15..=1e15;

/// So many are solved at once: the vectors of as many Krylov spaces are kept meanwhile.
const AT_ONCE: usize = 8;

/// Matrix and factors that take less come from the caches in any case, where solves at once lose by the vectors that they work on in turn.
/// Tests do so with any.
const WORTHWHILE: usize = if cfg!(test) { 1 } else { 8 << 20 };

impl LinearSolver {
    /// Solves A x = b for `count` right-hand sides, from the first guesses in `x`; each solution, outcome and history is that of
    /// [`LinearSolver::solve`], to the last bit.
    ///
    /// GMRES on one rank solves up to eight of them at once where matrix and factors are larger than 8 MiB: they are read once for all,
    /// and a solve that has ended waits for none of the others. Other methods, several ranks and solves that are [watched](LinearSolver::watch), unless
    /// [in turn](LinearSolver::watch_in_turn), take one after the other.
    ///
    /// **Shapes**: `b`, `x` `[count, rows, nb]`.
    ///
    /// # Errors
    /// As [`LinearSolver::solve`], before anything is solved where it is about lengths and numbers that are none; what has been solved
    /// before another error stays.
    pub fn solve_many(&mut self, count: usize, b: &[f64], x: &mut [f64]) -> Result<Vec<Solve>, SolverError> {
        let n = self.entries();
        for (what, found) in [("b", b.len()), ("x", x.len())] {
            check_len(what, found, n.saturating_mul(count), || {
                format!("{count} vectors one after the other")
            })?;
        }
        let mut solves = Vec::with_capacity(count);
        let small = self.bytes() < WORTHWHILE;
        let others = self.link.is_some() || self.ghosts.count() > 0 || self.whole.is_some();
        let open = self.options.null_space != NullSpace::None;
        if open || count < 2 || n == 0 || small || others || (self.watch.is_some() && !self.in_turn) {
            for (b, x) in parts(n, count, b, x) {
                solves.push(self.solve(b, x)?);
            }
            return Ok(solves);
        }
        kept(&self.options, self.exact.as_ref())?;
        self.ready()?;
        for (what, v) in [("b", b), ("x", &*x)] {
            if let Some(at) = vector::first_not_finite(&self.team, v) {
                return Err(SolverError::NotFiniteVector { what, at, value: v[at] });
            }
        }
        for (b, x) in b.chunks(n * AT_ONCE).zip(x.chunks_mut(n * AT_ONCE)) {
            let usual = b.chunks(n).all(|b| scale_of(vector::largest(&self.team, b)).is_none());
            if usual && let Some(found) = self.together(b, x)? {
                solves.extend(found);
                continue;
            }
            for (b, x) in b.chunks(n).zip(x.chunks_mut(n)) {
                solves.push(self.solve(b, x)?);
            }
        }
        Ok(solves)
    }

    /// Scales right-hand side and solution.
    pub(super) fn scale_by(&mut self, scale: Option<f64>) {
        if let Some(scale) = scale {
            vector::scale(&self.team, scale, &mut self.b);
            vector::scale(&self.team, scale, &mut self.x);
        }
    }

    /// Solves some at once; none where the method does not.
    fn together(&mut self, b: &[f64], x: &mut [f64]) -> Result<Option<Vec<Solve>>, SolverError> {
        let exact = kept(&self.options, self.exact.as_ref())?;
        let swept = Some(self.reduced.as_ref().unwrap_or(exact));
        let (n, permutation) = (self.b.len(), &self.order.permutation);
        let inside = |v: &[f64]| {
            let mut moved = vec![0.0; v.len()];
            for (from, to) in v.chunks(n).zip(moved.chunks_mut(n)) {
                permutation.gather_with(&self.team, self.nb, from, to);
            }
            moved
        };
        let (own_b, mut own_x) = (inside(b), inside(x));
        let right: Vec<&[f64]> = own_b.chunks(n).collect();
        let mut left: Vec<&mut [f64]> = own_x.chunks_mut(n).collect();
        let operator = Watched::new(exact, self.watch.as_mut(), None);
        let solves = self.solver.solve_many(&operator, swept, &right, &mut left);
        let Some(solves) = solves else { return Ok(None) };
        for (from, to) in own_x.chunks(n).zip(x.chunks_mut(n)) {
            permutation.scatter_with(&self.team, self.nb, from, to);
        }
        Ok(Some(solves))
    }
}

/// A power of two by which a right-hand side of unusual size becomes a usual one: no digit of the solution changes by it. None where it is one,
/// or zero.
pub(super) fn scale_of(largest: f64) -> Option<f64> {
    let usual = largest == 0.0 || USUAL.contains(&largest);
    (!usual).then(|| 2.0_f64.powi(-largest.log2().floor().clamp(-1000.0, 1000.0) as i32))
}

/// The vectors of both arrays in pairs, also where they have no entries.
fn parts<'a>(
    n: usize,
    count: usize,
    b: &'a [f64],
    x: &'a mut [f64],
) -> impl Iterator<Item = (&'a [f64], &'a mut [f64])> {
    let mut rest = x;
    (0..count).map(move |k| {
        let (first, after) = std::mem::take(&mut rest).split_at_mut(n);
        rest = after;
        (&b[k * n..(k + 1) * n], first)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{METHODS, sample, wave};
    use super::super::*;
    use crate::Outcome;

    fn new(rows: usize, nb: usize, threads: usize, words: &str) -> LinearSolver {
        let (row_ptr, col_idx, values) = sample(rows, nb);
        let mut options = SolverOptions::default();
        options.set_all(words).unwrap();
        let (team, base) = (Arc::new(Team::new(threads)), IndexBase::One);
        let mut solver =
            LinearSolver::symbolic_from_arrays(team, base, &row_ptr, &col_idx, nb, options).unwrap();
        solver.numeric(&values, BlockLayout::ColumnMajor).unwrap();
        solver
    }

    /// Right-hand sides that take unlike numbers of iterations: zero, smooth, rough, one whose solution is the guess.
    fn right(solver: &mut LinearSolver, n: usize, count: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut b, mut x) = (vec![0.0; n * count], vec![0.0; n * count]);
        for k in 0..count {
            let (b, x) = (&mut b[k * n..(k + 1) * n], &mut x[k * n..(k + 1) * n]);
            match k % 5 {
                0 => b.copy_from_slice(&wave(n)),
                1 => {}
                2 => b.iter_mut().enumerate().for_each(|(i, b)| *b = ((i * 7919) % 101) as f64 - 50.0),
                3 => {
                    x.copy_from_slice(&wave(n));
                    solver.multiply(x, b).unwrap();
                }
                _ => {
                    b[k] = 1e-8;
                    x.fill(1.0);
                }
            }
        }
        (b, x)
    }

    #[test]
    fn each_of_several_solves_is_the_one_alone() {
        for (words, rows, nb) in [
            ("order=natural", 200, 5),
            ("order=rcm, policy=dsh", 250, 4),
            ("preconditioner=ilu1, policy=d, restart=3, longest_restart=7", 300, 1),
            ("preconditioner=multicolor", 120, 3),
            ("preconditioner=ssor, policy=d, restart=4", 120, 2),
            ("preconditioner=none, max_iterations=25", 120, 2),
            ("method=bicgstab", 120, 2),
            ("method=richardson", 120, 2),
        ] {
            for threads in [1, 3] {
                let mut solver = new(rows, nb, threads, words);
                let (n, count) = (rows * nb, 11);
                let (b, guess) = right(&mut solver, n, count);
                let mut expected = guess.clone();
                let alone: Vec<Solve> = (b.chunks(n).zip(expected.chunks_mut(n)))
                    .map(|(b, x)| solver.solve(b, x).unwrap())
                    .collect();
                let mut x = guess.clone();
                let found = solver.solve_many(count, &b, &mut x).unwrap();
                assert_eq!(found, alone, "{words}, {threads} threads");
                assert!(x == expected, "{words}, {threads} threads");
                let ends: std::collections::BTreeSet<_> = found.iter().map(|s| s.iterations).collect();
                assert!(ends.len() > 1, "{words}: {ends:?}");
            }
        }
    }

    /// Right-hand sides whose squares leave the range of f64, and whose updates that of f32, give the digits of those that do not.
    #[test]
    fn a_solution_is_as_large_as_its_right_hand_side() {
        for words in METHODS {
            let (n, mut solver) = (240, new(120, 2, 2, words));
            let b = wave(n);
            let mut expected = vec![0.0; n];
            let alone = solver.solve(&b, &mut expected).unwrap();
            assert_eq!(alone.outcome, Outcome::Converged, "{words}");
            for exponent in [-900, -540, -160, 160, 540, 900] {
                let scaled = |v: &[f64]| v.iter().map(|v| v * 2.0_f64.powi(exponent)).collect::<Vec<_>>();
                let (many, mut x) = (scaled(&b).repeat(2), vec![0.0; 2 * n]);
                let found = solver.solve_many(2, &many, &mut x).unwrap();
                assert_eq!(found, [alone.clone(), alone.clone()], "{words}, 2^{exponent}");
                assert!(x == scaled(&expected).repeat(2), "{words}, 2^{exponent}");
            }
        }
    }

    #[test]
    fn misuse_is_told_before_anything_is_solved() {
        let mut solver = new(20, 2, 1, "");
        let (mut b, mut x) = (vec![1.0; 120], vec![0.0; 120]);
        let mut said =
            |count, b: &[f64], x: &mut [f64]| solver.solve_many(count, b, x).unwrap_err().to_string();
        assert!(said(2, &b, &mut x).starts_with("b has 120 values, expected 80 (2 vectors"));
        b[77] = f64::NAN;
        assert_eq!(said(3, &b, &mut x), "b[77] is NaN");
        assert_eq!(x, vec![0.0; 120]);
        assert!(solver.solve_many(0, &[], &mut []).unwrap().is_empty());
        let mut factors = new(20, 2, 1, "keep_matrix=no");
        assert!(matches!(factors.solve_many(3, &vec![1.0; 120], &mut x), Err(SolverError::NotKept)));
        // Whoever watches is told of one solve after the other.
        b[77] = 1.0;
        let (mut told, seen) = (Vec::new(), Arc::new(Mutex::new(Vec::new())));
        let to = Arc::clone(&seen);
        solver.watch(Some(Box::new(move |iteration, _| {
            to.lock().unwrap().push(iteration);
            true
        })));
        for solve in solver.solve_many(3, &b, &mut x).unwrap() {
            assert_eq!(solve.outcome, Outcome::Converged);
            told.extend(1..solve.iterations);
        }
        assert_eq!(*seen.lock().unwrap(), told);
        // In turn all of them go on while one is ended.
        solver.watch_in_turn(true);
        let mut calls = 0;
        solver.watch(Some(Box::new(move |_, _| {
            calls += 1;
            calls != 2
        })));
        x.fill(0.0);
        b[40..].iter_mut().enumerate().for_each(|(i, b)| *b = (i % 7) as f64 - 3.0);
        let ends: Vec<_> = solver.solve_many(3, &b, &mut x).unwrap().iter().map(|s| s.outcome).collect();
        assert_eq!(ends, [Outcome::Converged, Outcome::IterationLimit, Outcome::Converged]);
    }
}
