//! Factor once, solve for many right-hand sides: Thomas with the factors kept.
//!
//! ```text
//! once:                   B'_i = B_i - A_i C'_{i-1} = L_i U_i      C'_i = B'_i^-1 C_i
//! each right-hand side:   f'_i = B'_i^-1 (f_i - A_i f'_{i-1})      x_i  = f'_i - C'_i x_{i+1}
//! ```
//!
//! A, L U and C' of every row are kept: three blocks, which a solve reads once for all of its right-hand sides, in place of
//! the elimination's m^3 operations; of periodic lines a fourth, the answer of the row to the last unknown. Solutions are those of [`super::Solver`] by Thomas, bit by bit.
//!
//! On one core with AVX-512, 1024 systems of 128 rows of rank 5 in f64: 5.4 ms in one shot; 6.6 ms to factor, then 2.7 ms
//! for one right-hand side and 6.6 ms for four. Scalar systems gain nothing: their factors are more bytes than their
//! coefficients (16384 x 128: 3.6 ms in one shot, 5.1 ms with factors).
//!
//! **Source**: Golub, Van Loan, *Matrix Computations* (2013), section 4.5.1; Stone et al. (2011), Eq. 2.

pub(crate) mod cpu;
#[cfg(test)]
mod tests;

use super::groups::{Array, Target, Workers};
use super::lanes::width;
use super::solver::line_of;
use super::thomas::reference::FactoredLine;
use super::{Batch, Layout, LineOutcome, Pivoting, Precision, Real, Shape, Shared, TridiagError};
use chromaflow_device::{Buffer, Isa, Team};
use std::sync::{Mutex, PoisonError};

/// Keeps the factors of a batch of block tridiagonal systems and solves with them, as often as asked.
///
/// The batch's arrays are not needed after [`FactoredSolver::factor`]. Lines may be open or periodic.
///
/// **Precision**: as `P` says; factors are kept in the precision of sums. Results do not depend on the number of threads.
///
/// **Source**: Golub, Van Loan, *Matrix Computations* (2013), section 4.5.1.
///
/// ```
/// use chromaflow::tridiag::{Batch, Double, FactoredSolver, Layout, LineOutcome, Shape};
/// use chromaflow_device::Team;
/// let team = Team::new(1);
/// // [2 1; 1 3] x = f for f = [4; 7] and f = [3; 4], whose solutions are [1; 2] and [1; 1].
/// let batch = Batch::new(Shape::new(1, 2, 1), Layout::Aos, &[0.0, 1.0], &[2.0, 3.0], &[1.0, 0.0])?;
/// let mut solver = FactoredSolver::<Double>::new();
/// assert_eq!(solver.factor(&team, &batch)?, LineOutcome::Solved);
/// let mut x = [0.0; 4];
/// let outcome = solver.solve(&team, 2, &[4.0, 3.0, 7.0, 4.0], &mut x)?;
/// assert_eq!(outcome, LineOutcome::Solved);
/// assert!(x.iter().zip([1.0, 1.0, 2.0, 1.0]).all(|(x, exact)| (x - exact as f64).abs() < 1e-15));
/// # Ok::<(), chromaflow::tridiag::TridiagError>(())
/// ```
pub struct FactoredSolver<P: Precision> {
    isa: Isa,
    shape: Shape,
    layout: Layout,
    periodic: bool,
    pivoting: Pivoting,
    /// As [`cpu`] has it.
    factors: Buffer<P::Sum>,
    /// With pivoting: each system's own; None where it broke down.
    pivoted: Vec<Option<FactoredLine<P::Sum>>>,
    /// The first system whose factors are not sound, and its row.
    broken: Option<(usize, usize)>,
    workers: Workers,
}

impl<P: Precision> Default for FactoredSolver<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Precision> FactoredSolver<P> {
    /// A solver that holds the factors of no systems yet, with the best vector instructions there are.
    pub fn new() -> Self {
        Self::with_isa(Isa::detect())
    }

    /// The same with weaker vector instructions, or the best there are.
    pub fn with_isa(isa: Isa) -> Self {
        Self {
            isa: isa.min(Isa::strongest()),
            shape: Shape::new(0, 0, 1),
            layout: Layout::Aos,
            periodic: false,
            pivoting: Pivoting::None,
            factors: Buffer::default(),
            pivoted: Vec::new(),
            broken: None,
            workers: Workers::default(),
        }
    }

    /// The same with another choice of pivots; [`Pivoting::Partial`] goes one system at a time.
    #[must_use]
    pub fn with_pivoting(mut self, pivoting: Pivoting) -> Self {
        self.pivoting = pivoting;
        self
    }

    /// The number of systems that go through the vector unit together: data interleaved by it are read as they lie.
    pub fn lanes(&self) -> usize {
        width::<P>(self.isa)
    }

    /// The size of the batch whose factors are held (no systems before the first).
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The order in memory of that batch, and of its right-hand sides.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Factors every system of `batch` in place of those held before; the batch is kept.
    ///
    /// **Outcome**: a zero pivot, or numbers that overflow, are a [`LineOutcome::Breakdown`] that names the first such
    /// system and its row; the others can be solved nonetheless.
    ///
    /// # Errors
    /// None so far.
    pub fn factor(&mut self, team: &Team, batch: &Batch<'_, P::Store>) -> Result<LineOutcome, TridiagError> {
        let (shape, layout, isa) = (batch.shape, batch.layout, self.isa);
        (self.shape, self.layout, self.broken) = (shape, layout, None);
        (self.periodic, self.pivoted) = (batch.periodic, Vec::new());
        if self.pivoting == Pivoting::Partial {
            self.factors = Buffer::default();
            return Ok(self.factor_one_by_one(team, batch));
        }
        let len = shape.systems.next_multiple_of(self.lanes()) * self.line();
        if self.factors.len() != len {
            self.factors = Buffer::default();
            self.factors = Buffer::zeroed(len);
        }
        if shape.systems == 0 {
            return Ok(LineOutcome::Solved);
        }
        let factors = Shared::new(&mut self.factors);
        let array = |values| Array { values, layout, shape, width: shape.block() };
        let bad = self.workers.run(team, |part| {
            let work = cpu::FactorWork {
                lower: array(batch.lower),
                diag: array(batch.diag),
                upper: array(batch.upper),
                factors: &factors,
                periodic: batch.periodic,
                part,
            };
            P::run_factor(isa, shape.rank, work)
        });
        if let Some(vector) = bad {
            self.broken =
                (vector * self.lanes()..shape.systems).find_map(|s| Some((s, self.unsound_row(s)?)));
        }
        Ok(outcome(self.broken))
    }

    /// Solves every system for `columns` right-hand sides with the factors held; the inputs are kept.
    ///
    /// **Shapes**: `rhs`, `x` in the factored batch's layout with `columns` times rank entries a row, entry `r` of column
    /// `c` at `c * rank + r`. **Outcome**: [`LineOutcome::Breakdown`] names the first system whose factors broke down or
    /// whose solution is not finite, with the row of its pivot, or else the first of its rows that is not finite.
    ///
    /// # Errors
    /// [`TridiagError::Length`], [`TridiagError::TooLarge`].
    pub fn solve(
        &mut self,
        team: &Team,
        columns: usize,
        rhs: &[P::Store],
        x: &mut [P::Store],
    ) -> Result<LineOutcome, TridiagError> {
        let (layout, isa, rank) = (self.layout, self.isa, self.shape.rank);
        let width = columns.checked_mul(rank).ok_or(TridiagError::TooLarge { shape: self.shape })?;
        // The right-hand sides of a row are one vector of `width` entries.
        let shape = Shape { rank: width, ..self.shape };
        let len = layout.len(shape, width)?;
        layout.check(shape, width, "rhs", rhs.len())?;
        layout.check(shape, width, "x", x.len())?;
        if len == 0 {
            return Ok(outcome(self.broken));
        }
        let (factors, periodic) = (&self.factors, self.periodic);
        let suspect = if self.pivoting == Pivoting::Partial {
            self.solve_one_by_one(team, columns, rhs, x);
            Some(0)
        } else {
            let target = Target::<P> { values: Shared::new(x), layout, shape };
            let bad = self.workers.run(team, |part| {
                let work = cpu::SolveWork {
                    factors,
                    periodic,
                    rhs: Array { values: rhs, layout, shape, width },
                    x: &target,
                    part,
                };
                P::run_factored(isa, rank, work)
            });
            bad.map(|vector| vector * self.lanes())
        };
        let finite = |s: usize, row: usize| {
            (0..width).all(|e| x[layout.index(shape, width, s, row, e)].to_f64().is_finite())
        };
        let first = suspect.and_then(|from| {
            (from..shape.systems)
                .find_map(|s| (0..shape.rows).find(|&row| !finite(s, row)).map(|row| (s, row)))
        });
        // In the same system the row of the pivot tells more.
        Ok(outcome(match (self.broken, first) {
            (Some(pivot), Some(value)) => Some(if value.0 < pivot.0 { value } else { pivot }),
            (pivot, value) => pivot.or(value),
        }))
    }

    fn factor_one_by_one(&mut self, team: &Team, batch: &Batch<'_, P::Store>) -> LineOutcome {
        let results = Mutex::new(Vec::new());
        team.run(|member| {
            let systems = member.share(batch.shape.systems);
            let factored = systems.map(|s| (s, line_of::<P>(batch, s).factor(true))).collect::<Vec<_>>();
            results.lock().unwrap_or_else(PoisonError::into_inner).extend(factored);
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_unstable_by_key(|r| r.0);
        self.broken = results.iter().find_map(|(s, r)| r.as_ref().err().map(|&row| (*s, row)));
        self.pivoted = results.into_iter().map(|r| r.1.ok()).collect();
        outcome(self.broken)
    }

    fn solve_one_by_one(&self, team: &Team, columns: usize, rhs: &[P::Store], x: &mut [P::Store]) {
        let (layout, m) = (self.layout, self.shape.rank);
        let shape = Shape { rank: columns * m, ..self.shape };
        let at = |s: usize, c: usize, k: usize| layout.index(shape, columns * m, s, k / m, c * m + k % m);
        let out = Shared::new(x);
        team.run(|member| {
            for s in member.share(shape.systems) {
                for c in 0..columns {
                    let mut line: Vec<P::Sum> =
                        (0..shape.rows * m).map(|k| P::Sum::from_f64(rhs[at(s, c, k)].to_f64())).collect();
                    match &self.pivoted[s] {
                        Some(factors) => factors.solve(&mut line),
                        None => line.fill(P::Sum::from_f64(f64::NAN)),
                    }
                    for (k, value) in line.iter().enumerate() {
                        out.set(at(s, c, k), P::Store::from_f64(value.to_f64()));
                    }
                }
            }
        });
    }

    /// Entries that the factors of a system take.
    fn line(&self) -> usize {
        cpu::kept(self.periodic) * self.shape.rows * self.shape.block()
    }

    /// The first row of a system with a factor that is not finite or an infinite pivot (whose reciprocal is 0).
    fn unsound_row(&self, system: usize) -> Option<usize> {
        let (lanes, n, m, q) = (self.lanes(), self.shape.rows, self.shape.rank, self.shape.block());
        let line = &self.factors[system / lanes * lanes * self.line()..][..lanes * self.line()];
        let entry = |at: usize| line[at * lanes + system % lanes].to_f64();
        (0..n).find(|&i| {
            let (pivots, upper) = (2 * i * q, (2 * n + i) * q);
            let finite = (pivots..pivots + 2 * q).chain(upper..upper + q).all(|at| entry(at).is_finite());
            !finite || (0..m).any(|k| entry(pivots + q + k * (m + 1)) == 0.0)
        })
    }
}

/// An outcome from the first system in trouble and its row.
fn outcome(trouble: Option<(usize, usize)>) -> LineOutcome {
    match trouble {
        None => LineOutcome::Solved,
        Some((system, row)) => LineOutcome::Breakdown { system, row },
    }
}
