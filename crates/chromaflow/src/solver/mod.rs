//! The drop-in solver for a flow code: pattern once, values often, method and precision chosen at run time.
//!
//! [`LinearSolver`] takes a matrix as the caller has it; [`AssembledSolver`] works on a [`Jacobian`] that the caller
//! assembles and keeps.

mod assembled;
#[cfg(feature = "cuda")]
mod cuda;
mod error;
mod layout;
mod options;
#[cfg(test)]
mod tests;

pub use assembled::AssembledSolver;
#[cfg(feature = "cuda")]
pub(crate) use cuda::transfer_source;
#[cfg(feature = "cuda")]
pub use cuda::{ArrayIn, ArrayOut, LinearSolverCuda};
pub use error::SolverError;
pub use layout::{BlockLayout, IndexBase};
pub use options::{Method, MethodWord, PreconditionerKind, RowOrder, SolverOptions};

use crate::krylov::Solve;
use crate::order::{Plan, PlanReport, Schedule};
use crate::sparse::{HalfScale, ShapeError, check_len, check_nb};
use crate::{BlockPattern, Jacobian, Outcome, Permutation, Policy, vector};
use chromaflow_device::Team;
use layout::{Layout, Rows};
use std::sync::Arc;

/// Solves A x = b for block-sparse matrices as implicit flow codes assemble them.
///
/// * **Symbolic**, once a mesh: [`LinearSolver::symbolic`] or [`LinearSolver::symbolic_from_arrays`] takes the pattern as
///   the caller has it (rows in any order, columns of a row in any order, counted from 0 or 1) and renumbers and colors
///   it inside.
/// * **Numeric**, as often as the matrix changes: [`LinearSolver::numeric`] takes the blocks in the order of that pattern,
///   column-major (Fortran) or row-major (C), splits, rounds and factors them.
/// * [`LinearSolver::solve`] solves by a method around a preconditioner, [`LinearSolver::apply`] applies the preconditioner
///   alone, [`LinearSolver::multiply`] multiplies with the matrix; vectors come and go in the caller's order of rows.
///
/// **Shapes**: `values [nnzb, nb, nb]`, `b`, `x`: `[rows, nb]`. **Precision**: by
/// [`SolverOptions::policy`]; vectors come and go in f64, and tolerances are judged by f64 residuals of the f64 matrix
/// whatever the policy. **Results** do not depend on the number of threads.
///
/// **Memory**: the matrix in f64; for relaxations the diagonal blocks factored and, unless the policy is `d`, the
/// off-diagonal blocks once more in its precision; for block ILU its factors.
///
/// ```
/// use chromaflow::solver::{BlockLayout, IndexBase, LinearSolver, SolverOptions};
/// use chromaflow::{Outcome, Team};
/// use std::sync::Arc;
/// // Three rows of 2 x 2 blocks in a chain; indices count from 1, the diagonal block comes first in each row.
/// let row_ptr = [1, 3, 6, 8];
/// let col_idx = [1, 2, 2, 1, 3, 3, 2];
/// let team = Arc::new(Team::new(2));
/// let options = SolverOptions::default();
/// let mut solver = LinearSolver::symbolic_from_arrays(team, IndexBase::One, &row_ptr, &col_idx, 2, options)?;
///
/// let (diagonal, neighbor) = ([4.0, 1.0, 0.0, 4.0], [-1.0, 0.0, 0.0, -1.0]);
/// let blocks = [diagonal, neighbor, diagonal, neighbor, neighbor, diagonal, neighbor];
/// solver.numeric(&blocks.concat(), BlockLayout::ColumnMajor)?;
///
/// let mut x = [0.0; 6];
/// let report = solver.solve(&[3.0, 4.0, 2.0, 3.0, 3.0, 4.0], &mut x)?;
/// assert_eq!(report.outcome, Outcome::Converged);
/// assert!(x.iter().zip([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).all(|(x, e): (&f64, f64)| (x - e).abs() < 1e-9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LinearSolver {
    team: Arc<Team>,
    options: SolverOptions,
    plan: Plan,
    layout: Layout,
    schedule: Schedule,
    /// The matrix in f64.
    exact: Jacobian,
    /// What is swept, where its off-diagonal blocks are kept in less; its diagonal blocks are factored in place.
    reduced: Option<Jacobian>,
    solver: AssembledSolver,
    has_values: bool,
    b: Vec<f64>,
    x: Vec<f64>,
}

/// What [`LinearSolver::numeric`] found in the diagonal blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumericReport {
    /// Diagonal blocks that needed pivoting: correct, but slower, and often a sign of a wrong Jacobian.
    pub pivoted: usize,
    /// The first of them, as the caller numbers rows (from 0).
    pub pivoted_rows: Vec<usize>,
    /// Nonzero off-diagonal values that became zero in the policy's precision (`dsh`).
    pub underflowed: usize,
}

fn apply_length(what: &'static str, found: usize, expected: usize) -> Result<(), ShapeError> {
    check_len(what, found, expected, || "one value an unknown".to_owned())
}

impl LinearSolver {
    /// Sets up for matrices of nb x nb blocks on `pattern`, diagonal blocks included. This is the expensive, once-only
    /// part: renumbering and coloring.
    ///
    /// # Errors
    /// [`SolverError`] when the pattern is not square, a row has no diagonal block, or the options contradict one
    /// another.
    pub fn symbolic(
        team: Arc<Team>,
        pattern: &BlockPattern,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        Self::with_rows(team, &Rows::from_pattern(pattern), nb, options)
    }

    /// The same from index arrays, `row_ptr [rows + 1]` and `col_idx [nnzb]`, columns of a row in any order.
    ///
    /// # Errors
    /// As [`LinearSolver::symbolic`], and when the arrays make no pattern.
    pub fn symbolic_from_arrays(
        team: Arc<Team>,
        base: IndexBase,
        row_ptr: &[i32],
        col_idx: &[i32],
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        let rows = Rows::from_arrays(base, row_ptr, col_idx)?;
        Self::with_rows(team, &rows, nb, options)
    }

    fn with_rows(
        team: Arc<Team>,
        rows: &Rows,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        check_nb(nb)?;
        options.check().map_err(SolverError::Options)?;
        let pattern = &rows.pattern;
        if let Some(row) = (0..pattern.rows()).find(|&r| pattern.find(r, r).is_none()) {
            return Err(ShapeError::MissingDiagonal { row }.into());
        }
        let plan = Plan::with_team(pattern, &options.effective_plan(), &team)?;
        let (permuted, source) = pattern.permuted(&plan.permutation);
        let split = permuted.split()?;
        let layout = Layout::new(rows, &split, &source);
        let off = Arc::new(split.pattern);
        let exact = Jacobian::zeroed(Arc::clone(&off), nb, Policy::D)?;
        let in_less = options.preconditioner.is_relaxation() && options.policy != Policy::D;
        let reduced = in_less.then(|| Jacobian::zeroed(Arc::clone(&off), nb, options.policy)).transpose()?;
        let solver = AssembledSolver::new(&team, &off, nb, &plan.batches, &options)?;
        let schedule = Schedule::for_team(&off, nb, &plan.batches, &team);
        let n = off.rows() * nb;
        let (b, x) = (vec![0.0; n], vec![0.0; n]);
        let has_values = false;
        Ok(Self { team, options, plan, layout, schedule, exact, reduced, solver, has_values, b, x })
    }

    /// Takes new values: blocks in the order of the pattern that was given, each `blocks` by rows or by columns, in one
    /// pass over them. Factors what the preconditioner needs.
    ///
    /// # Errors
    /// [`SolverError::NotFinite`] names the first entry that is NaN or infinite,
    /// [`SolverError::SingularDiagonal`] the first diagonal block without inverse. The values before are gone then.
    pub fn numeric(&mut self, values: &[f64], blocks: BlockLayout) -> Result<NumericReport, SolverError> {
        let (nb, nnzb) = (self.exact.nb(), self.exact.pattern().nnzb() + self.exact.rows());
        check_len("values", values.len(), nnzb * nb * nb, || format!("{nnzb} blocks of {nb} x {nb}"))?;
        self.has_values = false;
        let work = (&*self.team, &self.schedule);
        let bad = self.layout.bring_in(work, values, blocks, &mut self.exact, self.reduced.as_mut());
        if let Some(k) = bad {
            return Err(self.not_finite(k, values, blocks));
        }
        let mut report = NumericReport::default();
        let found = match &mut self.reduced {
            Some(reduced) => {
                if self.options.policy == Policy::Dsh {
                    let scale: HalfScale = self.options.half_scale;
                    let converted = reduced.convert_to_f16(&self.team, scale);
                    report.underflowed = converted.expect("blocks were just assembled in f32").underflowed;
                }
                self.solver.factor_in_place(reduced)?
            }
            None => self.solver.factor(&self.exact)?,
        };
        let old = self.plan.permutation.old_of_new();
        if let Some(&row) = found.singular_rows.iter().map(|&r| &old[r as usize]).min() {
            return Err(SolverError::SingularDiagonal { count: found.singular, row: row as usize });
        }
        report.pivoted = found.pivoted;
        report.pivoted_rows = found.pivoted_rows.iter().map(|&r| old[r as usize] as usize).collect();
        self.has_values = true;
        Ok(report)
    }

    /// The first entry of the caller's block `k` that is no number.
    fn not_finite(&self, k: usize, values: &[f64], blocks: BlockLayout) -> SolverError {
        let nb = self.exact.nb();
        let block = &values[k * nb * nb..(k + 1) * nb * nb];
        let entry = block.iter().position(|v| !v.is_finite()).expect("the block was found to have one");
        let (row, col) = self.layout.place(k, &self.plan.permutation, self.exact.pattern());
        let (slow, fast) = (entry / nb, entry % nb);
        let (r, c) = if blocks == BlockLayout::ColumnMajor { (fast, slow) } else { (slow, fast) };
        SolverError::NotFinite { row, col, r, c, value: block[entry] }
    }

    /// Solves A x = b by the method of the options, from the first guess in `x` (zeros when in doubt).
    ///
    /// # Errors
    /// [`SolverError`] on misuse and for a `b` or `x` that holds NaN or infinity. Numerical failure is no error but an
    /// [`Outcome`], judged by the f64 residual of the f64 matrix; `x` is then what the method had in the end.
    pub fn solve(&mut self, b: &[f64], x: &mut [f64]) -> Result<Solve, SolverError> {
        for (what, v) in [("b", b), ("x", &*x)] {
            apply_length(what, v.len(), self.b.len())?;
            if let Some(at) = vector::first_not_finite(&self.team, v) {
                return Err(SolverError::NotFiniteVector { what, at, value: v[at] });
            }
        }
        self.gather(b, x)?;
        let swept = self.reduced.as_ref().unwrap_or(&self.exact);
        let mut solve = self.solver.solve(&self.exact, swept, &self.b, &mut self.x)?;
        let permutation = &self.plan.permutation;
        if let Outcome::Breakdown { row } = &mut solve.outcome {
            *row = permutation.old_of_new().get(*row).map_or(0, |&r| r as usize);
        }
        permutation.scatter(self.exact.nb(), &self.x, x);
        Ok(solve)
    }

    /// z = M r: the preconditioner alone, once. No residual is formed and no entry looked at; of a relaxation, `z` is what
    /// its sweeps from zero give, as the nonlinear iteration of a flow code wants it.
    ///
    /// # Errors
    /// [`SolverError`] for wrong lengths and before any values.
    pub fn apply(&mut self, r: &[f64], z: &mut [f64]) -> Result<(), SolverError> {
        apply_length("r", r.len(), self.b.len())?;
        apply_length("z", z.len(), self.b.len())?;
        self.gather(r, &[])?;
        let swept = self.reduced.as_ref().unwrap_or(&self.exact);
        self.solver.apply(swept, &self.b, &mut self.x)?;
        self.plan.permutation.scatter(self.exact.nb(), &self.x, z);
        Ok(())
    }

    /// y = A x, with the matrix in f64.
    ///
    /// # Errors
    /// [`SolverError`] for wrong lengths and before any values.
    pub fn multiply(&mut self, x: &[f64], y: &mut [f64]) -> Result<(), SolverError> {
        apply_length("x", x.len(), self.b.len())?;
        apply_length("y", y.len(), self.b.len())?;
        self.gather(x, &[])?;
        self.exact.multiply(&self.team, &self.b, &mut self.x);
        self.plan.permutation.scatter(self.exact.nb(), &self.x, y);
        Ok(())
    }

    /// Brings vectors into the order inside; `x` stays out where it is empty.
    fn gather(&mut self, b: &[f64], x: &[f64]) -> Result<(), SolverError> {
        if !self.has_values {
            return Err(SolverError::NoValues);
        }
        let (nb, permutation) = (self.exact.nb(), &self.plan.permutation);
        permutation.gather(nb, b, &mut self.b);
        if !x.is_empty() {
            permutation.gather(nb, x, &mut self.x);
        }
        Ok(())
    }

    /// How to solve from now on: tolerance, iterations, sweeps, damping, direction, restart. What the solver was set up
    /// with (preconditioner, policy, order) stays.
    ///
    /// # Errors
    /// [`SolverError::Options`] when one of the latter differs.
    pub fn set_options(&mut self, options: SolverOptions) -> Result<(), SolverError> {
        options.check().map_err(SolverError::Options)?;
        options.check_setup(&self.options).map_err(SolverError::Options)?;
        self.solver.retune(&options);
        self.options = options;
        Ok(())
    }

    /// The options in use.
    pub fn options(&self) -> &SolverOptions {
        &self.options
    }

    /// Bandwidth, profile, colors.
    pub fn order(&self) -> &PlanReport {
        &self.plan.report
    }

    /// From the caller's order of rows to the one inside.
    pub fn permutation(&self) -> &Permutation {
        &self.plan.permutation
    }

    /// The precision policy.
    pub fn policy(&self) -> Policy {
        self.options.policy
    }

    /// Bytes of matrices, factors and work vectors, as far as the solver keeps them.
    pub fn bytes(&self) -> usize {
        let reduced = self.reduced.as_ref().map_or(0, |m| m.bytes() - m.pattern().bytes());
        let apart = self.reduced.is_none() && self.options.preconditioner.is_relaxation();
        let diagonal = if apart { self.exact.diag.bytes() } else { 0 };
        self.exact.bytes()
            + reduced
            + diagonal
            + self.solver.factor_bytes()
            + self.layout.bytes()
            + 8 * (self.b.len() + self.x.len())
    }
}
