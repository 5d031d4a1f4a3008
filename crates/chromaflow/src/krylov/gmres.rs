//! Restarted flexible GMRES.

use super::gram_schmidt::orthogonalize;
use super::monitor::{Monitor, System};
use super::system::HostSystem;
use super::together::at_once;
use super::{Control, LinearOperator, Preconditioner, Solve};
use crate::Outcome;
use crate::dist::Inner;
use crate::vector::{axpy, combine, scale};
use chromaflow_device::Team;
use std::convert::Infallible;

/// Flexible GMRES(m): minimizes ||b - A (x + Z y)|| over the preconditioned Krylov vectors Z = [M v1, M v2, ...] and
/// restarts after m of them. M stands on the right and may change from one iteration to the next. Where it says that it does
/// not ([`Preconditioner::is_fixed`]), Z y is formed as M (V y) and Z is not kept.
///
/// The basis is kept orthogonal by classical Gram-Schmidt, whose second pass is left out where the first leaves nothing for it
/// to do: two reductions over the team an iteration however long the basis is. At every restart the residual is computed anew,
/// so that the outcome never rests on a recurrence alone. Where rounding has made a cycle's solution worse than it was, as next to singular matrices, as many of
/// its directions are taken as are a gain, found by bisection; what is handed back is the best solution that a cycle began or ended with.
///
/// **Memory**: 2 m + 3 vectors, m + 4 with a fixed preconditioner, kept between solves; one less where products are not
/// [exact](LinearOperator::is_exact), whose solutions are taken as they come.
/// **Precision**: f64, sums chunked ([`vector`](crate::vector)): the iterates do not depend on the number of threads.
/// **Outcome**: [`Outcome::Converged`], [`Outcome::IterationLimit`], [`Outcome::Stagnated`] (three cycles that lower
/// the residual by less than a thousandth), [`Outcome::Breakdown`] (the Krylov space ends before the tolerance, as it
/// does for singular matrices), [`Outcome::Diverged`] (the operator or preconditioner gave NaN or infinity; x keeps
/// the best that was had before).
/// **Source**: Saad and Schultz (1986); flexible: Saad (1993), Algorithm 2.2; Gram-Schmidt: Daniel et al. (1976), Giraud et al. (2005).
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
#[derive(Clone, Debug, Default)]
pub struct Gmres {
    restart: usize,
    longest: usize,
    v: Vec<Vec<f64>>,
    z: Vec<Vec<f64>>,
    kept: Vec<f64>,
}

/// The least-squares problem of one cycle: a Hessenberg matrix made upper triangular by Givens rotations.
struct LeastSquares {
    /// Columns of R.
    r: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    /// Right-hand side; its last entry is the residual norm.
    g: Vec<f64>,
    /// The residual norm before the first column and after each.
    estimates: Vec<f64>,
}

/// A residual so many times its estimate shows that rounding has made a solution worthless.
const BELIEVED: f64 = 4.0;
/// Pivots of a least-squares problem that differ by more than this part are next to a singular matrix's.
const SPREAD: f64 = 1e-6;
/// A cycle that leaves more than this part of the residual is slow.
const HALF: f64 = 0.5;
/// A residual that is larger than before by more than rounding.
const LARGER: f64 = 1.001;

impl LeastSquares {
    fn new(beta: f64) -> Self {
        Self { r: Vec::new(), rotations: Vec::new(), g: vec![beta], estimates: vec![beta] }
    }

    /// Takes a column `h` of j + 2 entries; the residual norm after it.
    fn push(&mut self, mut h: Vec<f64>) -> f64 {
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
        self.estimates.push((s * last).abs());
        (s * last).abs()
    }

    fn len(&self) -> usize {
        self.r.len()
    }

    /// Whether columns are next to dependent ones: their solution is large, and what it gains may be rounding.
    fn is_near_singular(&self) -> bool {
        let pivots = || self.r.iter().enumerate().map(|(j, column)| column[j]);
        pivots().fold(f64::INFINITY, f64::min) < SPREAD * pivots().fold(0.0, f64::max)
    }

    /// Whether a residual `now`, with all columns, is larger than before, or what rounding has made of the estimate.
    fn is_lost(&self, now: f64) -> bool {
        let last = self.estimates[self.len()];
        let grows = now.is_nan() || now > LARGER * self.estimates[0];
        grows || now > BELIEVED * last && self.is_near_singular()
    }

    /// The minimizer by the first `n` columns; directions that A and M take to zero get no weight.
    fn solve(&self, n: usize) -> Vec<f64> {
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
        Self { restart: restart.max(1), longest: restart.max(1), ..Self::default() }
    }

    /// The same that restarts after another number of iterations, with the vectors it has.
    #[must_use]
    pub fn restarting(self, restart: usize) -> Self {
        Self { v: self.v, z: self.z, kept: self.kept, ..Self::new(restart) }
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

    /// Iterations between restarts, and of the longest cycle.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.restart, self.longest)
    }

    /// Vectors kept for the next solve.
    pub fn vectors(&self) -> usize {
        self.v.len() + self.z.len()
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
        let system = HostSystem::new(team, a, b, x);
        self.v.retain(|v| v.len() == system.r.len());
        self.z.retain(|z| z.len() == system.r.len());
        self.kept.resize(if a.is_exact() { system.r.len() } else { 0 }, 0.0);
        let mut basis = HostBasis { system, m, v: &mut self.v, z: &mut self.z, kept: &mut self.kept };
        let Ok(solve) = at_once(gmres(&mut basis, control, (self.restart, self.longest)));
        solve
    }
}

/// The vectors of GMRES, wherever they live: the system's r, an orthonormal basis v_0, v_1, ... and directions z_j = M v_j. What needs
/// a product may have to wait for it.
pub(super) trait Basis {
    /// What may go wrong besides the numbers.
    type Error;

    /// See [`LinearOperator::is_exact`].
    fn is_exact(&self) -> bool;

    /// |b|
    fn size(&mut self) -> Result<f64, Self::Error>;

    /// r = b - A x; |r|
    async fn residual(&mut self) -> Result<f64, Self::Error>;

    /// Told after each iteration; false ends the method.
    fn go_on(&mut self, _iteration: usize, _residual: f64) -> bool {
        true
    }

    /// v_0 = r / beta; r is free until it is computed anew.
    fn begin(&mut self, beta: f64) -> Result<(), Self::Error>;

    /// z_j = M v_j and w = A z_j, which classical Gram-Schmidt makes orthogonal to v_0 ... v_j. The products
    /// of w with these and the norm of what is left go to `h` (j + 2 entries); returns |w| before.
    async fn expand(&mut self, j: usize, h: &mut [f64]) -> Result<f64, Self::Error>;

    /// v_(j+1) = w / length
    fn accept(&mut self, j: usize, length: f64) -> Result<(), Self::Error>;

    /// x += sum of y_j z_j
    async fn correct(&mut self, y: &[f64]) -> Result<(), Self::Error>;

    /// Keeps x.
    fn keep(&mut self) -> Result<(), Self::Error>;

    /// x as it was kept.
    fn recall(&mut self) -> Result<(), Self::Error>;
}

/// The method: cycles of `restart` iterations, four times as many after one that has not halved the residual, up to
/// `longest`.
pub(super) async fn gmres<B: Basis>(
    basis: &mut B,
    control: &Control,
    (restart, longest): (usize, usize),
) -> Result<Solve, B::Error> {
    let mut norm = basis.residual().await?;
    let mut monitor = Monitor::from_norms(norm, basis.size()?, control);
    let mut length = restart.max(1);
    let mut aim = 1.0; // estimates must reach this part of the tolerance
    let (keeps, mut best) = (basis.is_exact(), f64::INFINITY);
    let outcome = loop {
        if let Some(outcome) = monitor.stop(norm) {
            break outcome;
        }
        if keeps && norm <= best {
            basis.keep()?;
            best = norm;
        }
        let (problem, end) = cycle(basis, norm, (length, aim), &mut monitor).await?;
        let now = correct(basis, &problem, &monitor, keeps && norm <= best).await?;
        match end {
            CycleEnd::NotFinite => {
                norm = now;
                break Outcome::Diverged { iteration: monitor.iterations() };
            }
            CycleEnd::Stopped => {
                norm = now;
                monitor.correct(norm);
                break Outcome::IterationLimit;
            }
            CycleEnd::SpaceEnds if !monitor.converged(now) && now > HALF * norm => {
                norm = now;
                break Outcome::Breakdown { row: 0 };
            }
            // Rounding has parted the estimate from the residual.
            CycleEnd::Estimate if !monitor.converged(now) => aim *= 0.1,
            _ => {}
        }
        let slow = now > HALF * norm;
        norm = now;
        monitor.correct(norm);
        if slow && length < longest {
            length = (4 * length).min(longest);
        } else if !monitor.converged(norm) && monitor.cycle_stagnates(norm) {
            break Outcome::Stagnated;
        }
    };
    if keeps && (norm.is_nan() || norm > best) {
        basis.recall()?;
        norm = basis.residual().await?;
    }
    Ok(monitor.finish(outcome, norm))
}

/// Corrects x by a cycle's directions; where it was kept and they are no gain, by as many of them as are one. The norm of the residual then.
async fn correct<B: Basis>(
    basis: &mut B,
    problem: &LeastSquares,
    monitor: &Monitor,
    kept: bool,
) -> Result<f64, B::Error> {
    basis.correct(&problem.solve(problem.len())).await?;
    let mut now = basis.residual().await?;
    if !kept || monitor.converged(now) || !problem.is_lost(now) {
        return Ok(now);
    }
    // Directions up to `good` bear it, those up to `bad` do not.
    let (mut good, mut bad) = (0, problem.len());
    let mut best = (bad, now.min(problem.estimates[0]));
    while good + 1 < bad {
        let middle = usize::midpoint(good, bad);
        now = again(basis, &problem.solve(middle)).await?;
        if now < best.1 {
            best = (middle, now);
        }
        *(if now <= BELIEVED * problem.estimates[middle] { &mut good } else { &mut bad }) = middle;
    }
    again(basis, &problem.solve(best.0)).await
}

/// Another correction in the place of the last one; the norm of the residual.
async fn again<B: Basis>(basis: &mut B, y: &[f64]) -> Result<f64, B::Error> {
    basis.recall()?;
    basis.correct(y).await?;
    basis.residual().await
}

/// One cycle from a residual of norm `beta`: the problem of the weights of its directions.
async fn cycle<B: Basis>(
    basis: &mut B,
    beta: f64,
    (length, aim): (usize, f64),
    monitor: &mut Monitor,
) -> Result<(LeastSquares, CycleEnd), B::Error> {
    let mut problem = LeastSquares::new(beta);
    basis.begin(beta)?;
    for j in 0..length.min(monitor.left()) {
        let mut h = vec![0.0; j + 2];
        let before = basis.expand(j, &mut h).await?;
        if !before.is_finite() {
            monitor.push(f64::NAN);
            return Ok((problem, CycleEnd::NotFinite));
        }
        let left = h[j + 1];
        // What is left of w after two passes is rounding.
        let ends = left <= f64::EPSILON * before;
        if ends {
            h[j + 1] = 0.0;
        }
        let estimate = problem.push(h);
        monitor.push(estimate);
        if ends {
            return Ok((problem, CycleEnd::SpaceEnds));
        }
        if monitor.converged(estimate / aim) {
            return Ok((problem, CycleEnd::Estimate));
        }
        let (iteration, residual) = monitor.last();
        if !basis.go_on(iteration, residual) {
            return Ok((problem, CycleEnd::Stopped));
        }
        basis.accept(j, left)?;
    }
    Ok((problem, CycleEnd::Full))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CycleEnd {
    /// All iterations of the cycle.
    Full,
    /// The estimate of the residual has reached the tolerance.
    Estimate,
    /// The next Krylov vector depends on the ones before: the solution is found, or the matrix is singular.
    SpaceEnds,
    /// Whoever listens has had enough.
    Stopped,
    /// The operator or the preconditioner gave NaN or infinity.
    NotFinite,
}

/// The vectors on this process's threads.
struct HostBasis<'a> {
    system: HostSystem<'a>,
    m: &'a mut dyn Preconditioner,
    v: &'a mut Vec<Vec<f64>>,
    z: &'a mut Vec<Vec<f64>>,
    kept: &'a mut Vec<f64>,
}

impl Basis for HostBasis<'_> {
    type Error = Infallible;

    fn is_exact(&self) -> bool {
        self.system.a.is_exact()
    }

    fn size(&mut self) -> Result<f64, Infallible> {
        self.system.size()
    }

    async fn residual(&mut self) -> Result<f64, Infallible> {
        self.system.residual()
    }

    fn go_on(&mut self, iteration: usize, residual: f64) -> bool {
        self.system.go_on(iteration, residual)
    }

    fn begin(&mut self, beta: f64) -> Result<(), Infallible> {
        let v = vector_at(self.v, 0, self.system.r.len());
        v.copy_from_slice(&self.system.r);
        scale(self.system.team, 1.0 / beta, v);
        Ok(())
    }

    async fn expand(&mut self, j: usize, h: &mut [f64]) -> Result<f64, Infallible> {
        let (team, n) = (self.system.team, self.system.r.len());
        let z = vector_at(self.z, if self.m.is_fixed() { 0 } else { j }, n);
        self.m.apply(team, &self.v[j], z);
        vector_at(self.v, j + 1, n);
        let (basis, rest) = self.v.split_at_mut(j + 1);
        self.system.a.apply(team, z, &mut rest[0]);
        Ok(orthogonalize(&Inner::new(team, self.system.a.links()), basis, &mut rest[0], h))
    }

    fn accept(&mut self, j: usize, length: f64) -> Result<(), Infallible> {
        scale(self.system.team, 1.0 / length, &mut self.v[j + 1]);
        Ok(())
    }

    async fn correct(&mut self, y: &[f64]) -> Result<(), Infallible> {
        let HostSystem { team, x, r: sum, .. } = &mut self.system;
        if !self.m.is_fixed() {
            combine(team, y, &self.z[..y.len()], x);
        } else if !y.is_empty() {
            sum.fill(0.0);
            combine(team, y, &self.v[..y.len()], sum);
            self.m.apply(team, sum, &mut self.z[0]);
            axpy(team, 1.0, &self.z[0], x);
        }
        Ok(())
    }

    fn keep(&mut self) -> Result<(), Infallible> {
        self.kept.copy_from_slice(self.system.x);
        Ok(())
    }

    fn recall(&mut self) -> Result<(), Infallible> {
        self.system.x.copy_from_slice(self.kept);
        Ok(())
    }
}

pub(super) fn vector_at(list: &mut Vec<Vec<f64>>, at: usize, n: usize) -> &mut Vec<f64> {
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
        let y = problem.solve(2);
        let det = 10.0 * 45.0 - 14.0 * 14.0;
        let exact = [(2.0 * 45.0 - 14.0 * 4.0) / det, (10.0 * 4.0 - 14.0 * 2.0) / det];
        let left = [2.0 - exact[0] - 2.0 * exact[1], -3.0 * exact[0] - 4.0 * exact[1], -5.0 * exact[1]];
        assert!((y[0] - exact[0]).abs() < 1e-14 && (y[1] - exact[1]).abs() < 1e-14);
        assert!((residual - left.iter().map(|v| v * v).sum::<f64>().sqrt()).abs() < 1e-14);
        // min |2 - h, -3 h| by the first column alone.
        assert!(
            (problem.solve(1)[0] - 0.2).abs() < 1e-15 && (problem.estimates[1] - 3.6f64.sqrt()).abs() < 1e-14
        );
    }
}
