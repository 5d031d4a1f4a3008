//! Restarted flexible GMRES.

use super::monitor::Monitor;
use super::{Control, LinearOperator, Preconditioner, Solve};
use crate::Outcome;
use crate::vector::{combine, dots, norm2, scale};
use chromaflow_device::Team;

/// Flexible GMRES(m): minimizes ||b - A (x + Z y)|| over the preconditioned Krylov vectors Z = [M v1, M v2, ...] and
/// restarts after m of them. M stands on the right and may change from one iteration to the next.
///
/// The basis is kept orthogonal by classical Gram-Schmidt with one reorthogonalization, which needs two reductions
/// over the team an iteration however long the basis is. At every restart the residual is computed anew, so that the
/// outcome never rests on a recurrence alone.
///
/// **Memory**: 2 m + 2 vectors, kept between solves.
/// **Precision**: f64, sums chunked ([`vector`](crate::vector)): the iterates do not depend on the number of threads.
/// **Outcome**: [`Outcome::Converged`], [`Outcome::IterationLimit`], [`Outcome::Stagnated`] (three cycles that lower
/// the residual by less than a thousandth), [`Outcome::Breakdown`] (the Krylov space ends before the tolerance, as it
/// does for singular matrices), [`Outcome::Diverged`] (the operator or preconditioner gave NaN or infinity; x keeps
/// the best that was had before).
/// **Source**: Saad and Schultz (1986); flexible: Saad (1993), Algorithm 2.2; two passes: Giraud et al. (2005).
///
/// ```
/// use chromaflow::krylov::{Control, Gmres, Identity};
/// use chromaflow::{BlockCsr, BlockPattern, Outcome, Team};
/// let pattern = BlockPattern::new(2, vec![0, 2, 4], vec![0, 1, 0, 1])?;
/// let a = BlockCsr::new(pattern, 1, vec![4.0, 1.0, 2.0, 3.0])?;
/// let mut x = [0.0; 2];
/// let solve = Gmres::new(10).solve(&Team::new(1), &a, &mut Identity, &[6.0, 8.0], &mut x, &Control::default());
/// assert_eq!((solve.outcome, solve.iterations), (Outcome::Converged, 2));
/// assert!((x[0] - 1.0).abs() < 1e-12 && (x[1] - 2.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gmres {
    restart: usize,
    longest: usize,
    v: Vec<Vec<f64>>,
    z: Vec<Vec<f64>>,
}

/// The least-squares problem of one cycle: a Hessenberg matrix made upper triangular by Givens rotations.
pub(super) struct LeastSquares {
    /// Columns of R.
    r: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    /// Right-hand side; its last entry is the residual norm.
    g: Vec<f64>,
}

impl LeastSquares {
    pub(super) fn new(beta: f64) -> Self {
        Self { r: Vec::new(), rotations: Vec::new(), g: vec![beta] }
    }

    /// Takes a column `h` of j + 2 entries; the residual norm after it.
    pub(super) fn push(&mut self, mut h: Vec<f64>) -> f64 {
        for (i, &(c, s)) in self.rotations.iter().enumerate() {
            (h[i], h[i + 1]) = (c * h[i] + s * h[i + 1], c * h[i + 1] - s * h[i]);
        }
        let j = self.rotations.len();
        let length = h[j].hypot(h[j + 1]);
        let (c, s) = if length > 0.0 { (h[j] / length, h[j + 1] / length) } else { (1.0, 0.0) };
        self.rotations.push((c, s));
        h[j] = length;
        h.truncate(j + 1);
        self.r.push(h);
        let last = self.g[j];
        self.g[j] = c * last;
        self.g.push(-s * last);
        (s * last).abs()
    }

    /// The minimizer; directions that A and M take to zero get no weight.
    pub(super) fn solve(&self) -> Vec<f64> {
        let n = self.r.len();
        let mut y = self.g[..n].to_vec();
        for j in (0..n).rev() {
            let pivot = self.r[j][j];
            y[j] = if pivot == 0.0 { 0.0 } else { y[j] / pivot };
            for i in 0..j {
                y[i] -= self.r[j][i] * y[j];
            }
        }
        y
    }
}

impl Gmres {
    /// GMRES that restarts after `restart` iterations (at least one).
    #[must_use]
    pub fn new(restart: usize) -> Self {
        Self { restart: restart.max(1), longest: restart.max(1), v: Vec::new(), z: Vec::new() }
    }

    /// Lets cycles become longer, up to `longest` iterations: four times as long after each cycle that has not halved
    /// the residual. Hard systems then end where a fixed restart stagnates, at the price of memory; easy ones see no
    /// difference. Each solve starts with the given restart.
    #[must_use]
    pub fn growing(mut self, longest: usize) -> Self {
        self.longest = longest.max(self.restart);
        self
    }

    /// Iterations between restarts.
    pub fn restart(&self) -> usize {
        self.restart
    }

    /// Solves A x = b from the first guess in `x`.
    ///
    /// # Panics
    /// When `b` or `x` has not `a.len()` entries.
    pub fn solve(
        &mut self,
        team: &Team,
        a: &dyn LinearOperator,
        m: &mut dyn Preconditioner,
        b: &[f64],
        x: &mut [f64],
        control: &Control,
    ) -> Solve {
        let (mut monitor, mut r, mut norm) = Monitor::start(team, a, b, x, *control);
        self.v.retain(|v| v.len() == r.len());
        self.z.retain(|z| z.len() == r.len());
        let mut length = self.restart;
        let mut aim = 1.0; // estimates must reach this part of the tolerance
        let outcome = loop {
            if let Some(outcome) = monitor.stop(norm) {
                break outcome;
            }
            let (y, end) = self.cycle(team, a, m, &r, norm, (length, aim), &mut monitor);
            combine(team, &y, &self.z[..y.len()], x);
            a.residual(team, b, x, &mut r);
            let now = norm2(team, &r);
            match end {
                CycleEnd::NotFinite => {
                    norm = now;
                    break Outcome::Diverged { iteration: monitor.iterations() };
                }
                CycleEnd::SpaceEnds if !monitor.converged(now) && now > 0.5 * norm => {
                    norm = now;
                    break Outcome::Breakdown { row: 0 };
                }
                // Rounding has parted the estimate from the residual.
                CycleEnd::Estimate if !monitor.converged(now) => aim *= 0.1,
                _ => {}
            }
            let slow = now > 0.5 * norm;
            norm = now;
            monitor.correct(norm);
            if slow && length < self.longest {
                length = (4 * length).min(self.longest);
            } else if !monitor.converged(norm) && monitor.stagnated(norm) {
                break Outcome::Stagnated;
            }
        };
        monitor.finish(outcome, norm)
    }

    /// One cycle from the residual `r`: the weights of the preconditioned vectors.
    fn cycle(
        &mut self,
        team: &Team,
        a: &dyn LinearOperator,
        m: &mut dyn Preconditioner,
        r: &[f64],
        beta: f64,
        (length, aim): (usize, f64),
        monitor: &mut Monitor,
    ) -> (Vec<f64>, CycleEnd) {
        let n = r.len();
        let steps = length.min(monitor.left());
        let mut problem = LeastSquares::new(beta);
        vector_at(&mut self.v, 0, n).copy_from_slice(r);
        scale(team, 1.0 / beta, &mut self.v[0]);
        for j in 0..steps {
            let z = vector_at(&mut self.z, j, n);
            m.apply(team, &self.v[j], z);
            vector_at(&mut self.v, j + 1, n);
            let (basis, rest) = self.v.split_at_mut(j + 1);
            let w = &mut rest[0];
            a.apply(team, &self.z[j], w);
            let before = norm2(team, w);
            if !before.is_finite() {
                monitor.push(f64::NAN);
                return (problem.solve(), CycleEnd::NotFinite);
            }
            let mut h = vec![0.0; j + 2];
            let mut pass = vec![0.0; j + 1];
            for _ in 0..2 {
                dots(team, basis, w, &mut pass);
                for (h, p) in h.iter_mut().zip(&mut pass) {
                    *h += *p;
                    *p = -*p;
                }
                combine(team, &pass, basis, w);
            }
            let length = norm2(team, w);
            // What is left of w after two passes is rounding.
            let ends = length <= f64::EPSILON * before;
            h[j + 1] = if ends { 0.0 } else { length };
            let estimate = problem.push(h);
            monitor.push(estimate);
            if ends {
                return (problem.solve(), CycleEnd::SpaceEnds);
            }
            if monitor.converged(estimate / aim) {
                return (problem.solve(), CycleEnd::Estimate);
            }
            scale(team, 1.0 / length, w);
        }
        (problem.solve(), CycleEnd::Full)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CycleEnd {
    /// All iterations of the cycle.
    Full,
    /// The estimate of the residual has reached the tolerance.
    Estimate,
    /// The next Krylov vector depends on the ones before: the solution is found, or the matrix is singular.
    SpaceEnds,
    /// The operator or the preconditioner gave NaN or infinity.
    NotFinite,
}

fn vector_at(list: &mut Vec<Vec<f64>>, at: usize, n: usize) -> &mut Vec<f64> {
    if list.len() <= at {
        list.push(vec![0.0; n]);
    }
    &mut list[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_solve_the_small_problem() {
        // min |beta e1 - H y| with H = [[1, 2], [3, 4], [0, 5]], beta = 2: normal equations [10 14; 14 45] y = [2; 4].
        let mut problem = LeastSquares::new(2.0);
        problem.push(vec![1.0, 3.0]);
        let residual = problem.push(vec![2.0, 4.0, 5.0]);
        let y = problem.solve();
        let det = 10.0 * 45.0 - 14.0 * 14.0;
        let exact = [(2.0 * 45.0 - 14.0 * 4.0) / det, (10.0 * 4.0 - 14.0 * 2.0) / det];
        let left = [2.0 - exact[0] - 2.0 * exact[1], -3.0 * exact[0] - 4.0 * exact[1], -5.0 * exact[1]];
        assert!((y[0] - exact[0]).abs() < 1e-14 && (y[1] - exact[1]).abs() < 1e-14);
        assert!((residual - left.iter().map(|v| v * v).sum::<f64>().sqrt()).abs() < 1e-14);
    }
}
