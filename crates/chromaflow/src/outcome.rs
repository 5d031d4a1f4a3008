//! How an iteration ended.

use std::fmt;

/// How an iterative solve ended. Numerical failure is an outcome, never an error or a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The tolerance was reached.
    Converged,
    /// The iterations that were asked for are done, the tolerance (if there was one) is not reached.
    IterationLimit,
    /// The residual no longer falls.
    Stagnated,
    /// The residual grew without bound or became NaN.
    Diverged {
        /// At which iteration.
        iteration: usize,
    },
    /// The method could not go on.
    Breakdown {
        /// At which row (0 where a method breaks down as a whole).
        row: usize,
    },
}

impl Outcome {
    /// One lower-case word, as results files have it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Converged => "converged",
            Outcome::IterationLimit => "iteration_limit",
            Outcome::Stagnated => "stagnated",
            Outcome::Diverged { .. } => "diverged",
            Outcome::Breakdown { .. } => "breakdown",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Diverged { iteration } => write!(f, "diverged at iteration {iteration}"),
            Outcome::Breakdown { row } => write!(f, "breakdown at row {row}"),
            other => f.write_str(&other.name().replace('_', " ")),
        }
    }
}
