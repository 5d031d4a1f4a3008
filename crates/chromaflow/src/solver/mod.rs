//! The drop-in solver for a flow code: pattern once, values often, method and precision chosen at run time.

#[cfg(feature = "cuda")]
mod cuda;
mod layout;
mod method;
mod options;
#[cfg(test)]
mod tests;

#[cfg(feature = "cuda")]
pub use cuda::SolverCuda;
pub use layout::{BlockLayout, IndexBase};
pub use options::{Method, PreconditionerKind, RowOrder, SolverOptions};

use crate::krylov::Solve;
use crate::order::{Plan, PlanReport};
use crate::relax::RelaxError;
use crate::sparse::{PatternError, ShapeError, check_len, check_nb};
use crate::{BlockCsr, BlockPattern, Outcome, Permutation, Policy, vector};
use chromaflow_device::Team;
use layout::{Layout, Rows};
use method::Machine;
use std::sync::Arc;

/// Solves A x = b for block-sparse matrices as implicit flow codes assemble them.
///
/// * **Symbolic**, once a mesh: [`Solver::new`] takes the pattern as the caller has it (rows in any order, columns of a
///   row in any order, counted from 0 or 1) and renumbers and colors it inside.
/// * **Numeric**, as often as the matrix changes: [`Solver::set_values`] takes the blocks in the order of that pattern,
///   column-major (Fortran) or row-major (C), splits, rounds and factors them.
/// * **Apply**: [`Solver::solve`] takes and gives vectors in the caller's order of rows.
///
/// **Shapes**: `values [nnzb, nb, nb]`, `b`, `x`: `[rows, nb]`. **Precision**: by
/// [`SolverOptions::policy`]; vectors come and go in f64, and tolerances are judged by f64 residuals of the f64 matrix
/// whatever the policy. **Results** do not depend on the number of threads.
///
/// **Memory**: the matrix in f64, and for relaxations once more with the off-diagonal blocks in the policy's precision
/// and the diagonal blocks factored.
///
/// ```
/// use chromaflow::solver::{BlockLayout, IndexBase, Solver, SolverOptions};
/// use chromaflow::{Outcome, Team};
/// use std::sync::Arc;
/// // Three rows of 2 x 2 blocks in a chain; indices count from 1, the diagonal block comes first in each row.
/// let row_ptr = [1, 3, 6, 8];
/// let col_idx = [1, 2, 2, 1, 3, 3, 2];
/// let team = Arc::new(Team::new(2));
/// let mut solver = Solver::new(team, IndexBase::One, &row_ptr, &col_idx, 2, SolverOptions::default())?;
///
/// let (diagonal, neighbor) = ([4.0, 1.0, 0.0, 4.0], [-1.0, 0.0, 0.0, -1.0]);
/// let blocks = [diagonal, neighbor, diagonal, neighbor, neighbor, diagonal, neighbor];
/// solver.set_values(&blocks.concat(), BlockLayout::ColumnMajor)?;
///
/// let mut x = [0.0; 6];
/// let report = solver.solve(&[3.0, 4.0, 2.0, 3.0, 3.0, 4.0], &mut x)?;
/// assert_eq!(report.outcome, Outcome::Converged);
/// assert!(x.iter().zip([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).all(|(x, e): (&f64, f64)| (x - e).abs() < 1e-9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Solver {
    team: Arc<Team>,
    options: SolverOptions,
    plan: Plan,
    layout: Layout,
    matrix: BlockCsr,
    machine: Machine,
    has_values: bool,
    b: Vec<f64>,
    x: Vec<f64>,
}

/// What [`Solver::set_values`] found in the diagonal blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetReport {
    /// Diagonal blocks that needed pivoting: correct, but slower, and often a sign of a wrong Jacobian.
    pub pivoted: usize,
    /// The first of them, as the caller numbers rows (from 0).
    pub pivoted_rows: Vec<usize>,
    /// Nonzero off-diagonal values that became zero in the policy's precision (`dsh`).
    pub underflowed: usize,
}

/// Misuse or a matrix that cannot be solved with. Rows are the caller's, from 0.
#[derive(Debug, thiserror::Error)]
pub enum SolverError {
    /// The index arrays make no pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Arrays of the wrong length, a block size that is not supported, a missing diagonal block.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A relaxation that was not set up as it should.
    #[error(transparent)]
    Relax(#[from] RelaxError),
    /// An index array with a negative or wrongly based index.
    #[error("{what}[{at}] is {found}: indices count from {base} here and may not lie below it")]
    Base {
        /// Which array.
        what: &'static str,
        /// Position in it.
        at: usize,
        /// What stands there.
        found: i32,
        /// 0 or 1.
        base: i32,
    },
    /// An entry that is no number.
    #[error(
        "block row {row}, block column {col}: entry ({r}, {c}) is {value}: look for a division by zero where the block was assembled"
    )]
    NotFinite {
        /// Block row.
        row: usize,
        /// Block column.
        col: usize,
        /// Row inside the block.
        r: usize,
        /// Column inside the block.
        c: usize,
        /// NaN or an infinity.
        value: f64,
    },
    /// Diagonal blocks without inverse.
    #[error(
        "{count} diagonal blocks have no inverse, the first in row {row}: every unknown needs its own equation (a time term makes it so), or the rows must be reordered"
    )]
    SingularDiagonal {
        /// How many.
        count: usize,
        /// The first.
        row: usize,
    },
    /// A right-hand side or first guess that is no number.
    #[error("{what}[{at}] is {value}")]
    NotFiniteVector {
        /// b or x.
        what: &'static str,
        /// Position in it.
        at: usize,
        /// NaN or an infinity.
        value: f64,
    },
    /// Options that contradict one another.
    #[error("{0}")]
    Options(String),
    /// No values yet.
    #[error("the matrix has no values yet: call set_values() before solve()")]
    NoValues,
}

impl Solver {
    /// Sets up for matrices of nb x nb blocks with `row_ptr [rows + 1]` and `col_idx [nnzb]`, columns of a row in any
    /// order. This is the expensive, once-only part: renumbering and coloring.
    ///
    /// # Errors
    /// [`SolverError`] when the arrays make no square pattern, a row has no diagonal block, or the options contradict
    /// one another.
    pub fn new(
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

    /// The same for a pattern whose columns ascend.
    ///
    /// # Errors
    /// As [`Solver::new`].
    pub fn with_pattern(
        team: Arc<Team>,
        pattern: &BlockPattern,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        Self::with_rows(team, &Rows::from_pattern(pattern), nb, options)
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
        let layout = Layout::new(rows, source);
        let zeros = vec![0.0; permuted.nnzb() * nb * nb];
        let matrix = BlockCsr::new(permuted, nb, zeros)?;
        let machine = Machine::new(&team, &matrix, &plan, &options)?;
        let n = matrix.pattern().rows() * nb;
        let (b, x) = (vec![0.0; n], vec![0.0; n]);
        Ok(Self { team, options, plan, layout, matrix, machine, has_values: false, b, x })
    }

    /// Takes new values: blocks in the order of the pattern that was given, each `blocks` by rows or by columns. Factors
    /// what the method needs.
    ///
    /// # Errors
    /// [`SolverError::NotFinite`] names the first entry that is NaN or infinite,
    /// [`SolverError::SingularDiagonal`] the first diagonal block without inverse. The values before are gone then.
    pub fn set_values(&mut self, values: &[f64], blocks: BlockLayout) -> Result<SetReport, SolverError> {
        let (nb, nnzb) = (self.matrix.nb(), self.matrix.pattern().nnzb());
        check_len("values", values.len(), nnzb * nb * nb, || format!("{nnzb} blocks of {nb} x {nb}"))?;
        self.has_values = false;
        if let Some(at) = vector::first_not_finite(&self.team, values) {
            let (k, entry) = (at / (nb * nb), at % (nb * nb));
            let (row, col) = self.layout.place(k, &self.plan.permutation, self.matrix.pattern());
            let (slow, fast) = (entry / nb, entry % nb);
            let (r, c) = if blocks == BlockLayout::ColumnMajor { (fast, slow) } else { (slow, fast) };
            return Err(SolverError::NotFinite { row, col, r, c, value: values[at] });
        }
        self.layout.bring_in(&self.team, values, blocks, nb, self.matrix.values_mut());
        let old = self.plan.permutation.old_of_new();
        let report = self.machine.set_values(&self.team, &self.matrix, &self.options)?;
        if let Some(&row) = report.singular_rows.iter().map(|&r| &old[r as usize]).min() {
            return Err(SolverError::SingularDiagonal { count: report.singular, row: row as usize });
        }
        self.has_values = true;
        Ok(SetReport {
            pivoted: report.pivoted,
            pivoted_rows: report.pivoted_rows.iter().map(|&r| old[r as usize] as usize).collect(),
            underflowed: report.underflowed,
        })
    }

    /// Solves A x = b by the method of the options, from the first guess in `x` (zeros when in doubt).
    ///
    /// # Errors
    /// [`SolverError`] on misuse and for a `b` or `x` that holds NaN or infinity. Numerical failure is no error but an
    /// [`Outcome`]; `x` is then what the method had in the end.
    pub fn solve(&mut self, b: &[f64], x: &mut [f64]) -> Result<Solve, SolverError> {
        let (rows, nb) = (self.matrix.pattern().rows(), self.matrix.nb());
        for (what, v) in [("b", b), ("x", &*x)] {
            check_len(what, v.len(), rows * nb, || format!("{rows} rows of {nb}"))?;
            if let Some(at) = vector::first_not_finite(&self.team, v) {
                return Err(SolverError::NotFiniteVector { what, at, value: v[at] });
            }
        }
        if !self.has_values {
            return Err(SolverError::NoValues);
        }
        let permutation = &self.plan.permutation;
        permutation.gather(nb, b, &mut self.b);
        permutation.gather(nb, x, &mut self.x);
        let mut solve = self.machine.solve(&self.team, &self.matrix, &self.options, &self.b, &mut self.x)?;
        if let Outcome::Breakdown { row } = &mut solve.outcome {
            *row = permutation.old_of_new().get(*row).map_or(0, |&r| r as usize);
        }
        permutation.scatter(nb, &self.x, x);
        Ok(solve)
    }

    /// How to solve from now on: tolerance, iterations, sweeps, damping, direction, restart. What the solver was set up
    /// with (method, preconditioner, policy, order) stays.
    ///
    /// # Errors
    /// [`SolverError::Options`] when one of the latter differs.
    pub fn set_options(&mut self, options: SolverOptions) -> Result<(), SolverError> {
        options.check().map_err(SolverError::Options)?;
        if !options.same_setup(&self.options) {
            let what = "method, preconditioner, policy, diagonal form, fill and order are fixed when a Solver is made";
            return Err(SolverError::Options(what.to_owned()));
        }
        self.machine.retune(&options);
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
        8 * (self.matrix.values().len() + self.b.len() + self.x.len())
            + self.matrix.pattern().bytes()
            + self.layout.bytes()
            + self.machine.bytes()
    }
}
