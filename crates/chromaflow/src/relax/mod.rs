//! Relaxations of A x = (D + O) x = b: point- and line-implicit sweeps in batches of independent rows or lines.
//!
//! * [`Smoother::multicolor`]: block Gauss-Seidel, `x_c <- D_c^-1 (b_c - O_c x)` for one batch c after the other.
//! * [`Smoother::jacobi`]: the same for all rows at once.
//! * [`Smoother::lines`]: Gauss-Seidel over lines of rows, `x_c <- T_c^-1 (b_c - O_c x)` with T block tridiagonal.
//!
//! All take the matrix in any [`Policy`](crate::Policy), fixed numbers of sweeps or a tolerance, damping, and
//! restarts, in which low-precision sweeps correct a solution kept in f64.

mod diagonal;
mod jacobi;
mod lines;
mod multicolor;
mod over_ranks;
#[cfg(feature = "cuda")]
mod over_ranks_cuda;
mod smoother;
mod solve;
mod sweep;
mod sweep_scalars;

use crate::Outcome;
use crate::order::RowBatches;
use crate::sparse::{BlockPattern, ShapeError};

pub use diagonal::{DiagonalForm, FactorReport};
#[cfg(feature = "cuda")]
pub use lines::cuda::LinesCuda;
#[cfg(feature = "cuda")]
pub(crate) use lines::cuda::kernel_sources as line_sources;
#[cfg(feature = "cuda")]
pub use multicolor::cuda::MulticolorCuda;
#[cfg(feature = "cuda")]
pub(crate) use multicolor::cuda::{invert_shape, invert_source};
pub use smoother::Smoother;

/// The order in which a sweep goes through the batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// First batch to last.
    #[default]
    Forward,
    /// Last batch to first.
    Backward,
    /// Forward, then backward; both together count as one sweep.
    Symmetric,
}

/// Where a solve starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guess {
    /// From zero; what the solution vector holds is ignored.
    #[default]
    Zero,
    /// From what the solution vector holds.
    Given,
}

/// How to set up a relaxation.
#[derive(Clone, Copy, Debug, Default)]
pub struct RelaxOptions {
    /// How the diagonal blocks are kept.
    pub diagonal: DiagonalForm,
    /// Vector instructions; the widest there are when absent.
    pub isa: Option<chromaflow_device::Isa>,
}

/// How to solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveOptions {
    /// The most sweeps to do: exactly as many when there is no tolerance.
    pub sweeps: usize,
    /// Stop when |b - A x| <= tolerance |b|. Looked at after every sweep, which costs about one more sweep each time.
    pub tolerance: Option<f64>,
    /// The order of the batches.
    pub direction: Direction,
    /// `x <- x + damping (x_new - x)`.
    pub damping: f64,
    /// Where to start.
    pub guess: Guess,
    /// Whether to record the relative residual before the first and after every sweep.
    pub history: bool,
    /// Add the correction to a solution in f64 every so many sweeps, form its residual in f64 and go on from a zero
    /// correction: low-precision sweeps then reach the accuracy of f64.
    pub restart: Option<usize>,
}

impl Default for SolveOptions {
    /// 15 forward sweeps from zero, undamped, as FUN3D does in a nonlinear iteration.
    fn default() -> Self {
        Self {
            sweeps: 15,
            tolerance: None,
            direction: Direction::Forward,
            damping: 1.0,
            guess: Guess::Zero,
            history: false,
            restart: None,
        }
    }
}

impl SolveOptions {
    /// A fixed number of forward sweeps from zero.
    #[must_use]
    pub fn sweeps(sweeps: usize) -> Self {
        Self { sweeps, ..Self::default() }
    }

    /// Sweeps until the relative residual is below `tolerance`, at most `sweeps`.
    #[must_use]
    pub fn tolerance(tolerance: f64, sweeps: usize) -> Self {
        Self { sweeps, tolerance: Some(tolerance), ..Self::default() }
    }
}

/// What a solve did.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveReport {
    /// How it ended: `IterationLimit` also when fixed sweeps were asked for and are done.
    pub outcome: Outcome,
    /// Sweeps done.
    pub sweeps: usize,
    /// Last known |b - A x| / |b|; none when neither a tolerance nor a history was asked for.
    pub relative_residual: Option<f64>,
    /// Relative residuals, the first before any sweep; empty unless asked for.
    pub history: Vec<f64>,
}

/// Batches cover all rows.
fn check_rows(pattern: &BlockPattern, batches: &RowBatches) -> Result<(), RelaxError> {
    let [found, rows] = [batches.rows(), pattern.rows()];
    if found == rows { Ok(()) } else { Err(RelaxError::Rows { found, rows }) }
}

/// They do, and no row reads itself or another row of its batch; of batches of `lines` but those of its own line.
fn check_batches(pattern: &BlockPattern, batches: &RowBatches, lines: bool) -> Result<(), RelaxError> {
    check_rows(pattern, batches)?;
    for (batch, rows) in batches.iter().enumerate() {
        for row in rows.clone() {
            let own = if lines { batches.line_of(row) } else { row..row };
            let dependent = |&&c: &&u32| {
                c as usize == row || rows.contains(&(c as usize)) && !own.contains(&(c as usize))
            };
            if let Some(&col) = pattern.columns(row).iter().find(dependent) {
                return Err(RelaxError::Dependent { row, col: col as usize, batch });
            }
        }
    }
    Ok(())
}

/// Misuse of a relaxation.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RelaxError {
    /// Arrays or matrices of the wrong shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Batches that do not cover the rows.
    #[error("the batches cover {found} rows, the matrix has {rows}")]
    Rows {
        /// Rows in all batches.
        found: usize,
        /// Rows of the matrix.
        rows: usize,
    },
    /// A block that joins two rows of one batch, or lies on the diagonal.
    #[error(
        "row {row} has a block in column {col}, which is in the same batch {batch}: color the rows first"
    )]
    Dependent {
        /// The row.
        row: usize,
        /// The column.
        col: usize,
        /// The batch of both.
        batch: usize,
    },
    /// A matrix on another pattern, or of another block size, than the relaxation was set up for.
    #[error("the matrix has another pattern or block size than this relaxation was set up for")]
    OtherMatrix,
    /// The diagonal has not been factored.
    #[error(
        "the diagonal blocks are not factored: call factor() or factor_in_place() after every change of the matrix"
    )]
    NotFactored,
    /// Factors have replaced the diagonal blocks that a residual or a factorization needs.
    #[error(
        "factors have replaced the diagonal blocks, so that no residual can be formed and nothing be factored: use \
         factor() instead of factor_in_place(), or neither tolerance, history nor restart, or assemble again first"
    )]
    DiagonalGone,
    /// Residuals of rows that are divided among ranks.
    #[error(
        "sweeps over ranks look at no residual: put a Krylov method around them, or leave out tolerance, history and restart"
    )]
    OverRanks,
    /// A line whose rows several ranks own.
    #[error(
        "rows {before} and {row} of the whole matrix follow one another in a line, but two ranks own them: give a line to one rank, or \
         make it two lines there before rows get their colors"
    )]
    CutLine {
        /// The first row that another rank owns than the row before it, by its number in the whole matrix.
        row: usize,
        /// That row.
        before: usize,
    },
    /// An instruction set that this machine lacks.
    #[error("this machine has no {0} instructions")]
    NoIsa(&'static str),
}
