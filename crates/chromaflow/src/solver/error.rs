//! What may be wrong with a system or its options.

use super::global::{ErrorKind, GlobalError};
use crate::relax::RelaxError;
use crate::sparse::{PatternError, ShapeError};
use chromaflow_comm::CommError;

/// Misuse or a matrix that cannot be solved with. Block rows and columns are numbered as the caller's index arrays number them.
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
    #[error("{what}[{at}] is {found}: indices count from {first} here and may not lie below it")]
    Base {
        /// Which array.
        what: &'static str,
        /// Position in it.
        at: usize,
        /// What stands there.
        found: i128,
        /// 0 or 1.
        first: usize,
    },
    /// Row pointers that have run over.
    #[error(
        "row_ptr[{at}] is {found} after positive ones: the blocks are more than the index type holds; split the matrix \
         among processes"
    )]
    Overflow {
        /// Position in the array.
        at: usize,
        /// What stands there.
        found: i128,
    },
    /// Diagonal blocks in another place than the pattern says.
    #[error("{found}: {remedy}")]
    Apart {
        /// How the pattern has them.
        found: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// An entry that is no number.
    #[error(
        "block row {row}, block column {col}: entry ({r}, {c}) of the block, from 0, is {value}: look for a division by zero where the block was assembled"
    )]
    NotFinite {
        /// Block row.
        row: usize,
        /// Block column.
        col: usize,
        /// Row inside the block, from 0.
        r: usize,
        /// Column inside the block, from 0.
        c: usize,
        /// NaN or an infinity.
        value: f64,
    },
    /// An entry that the policy's precision does not hold.
    #[error(
        "block row {row}, block column {col}: entry ({r}, {c}) of the block, from 0, is {value:e}, beyond 3.4e38, the largest number of f32, in which \
         policies ds and dsh keep blocks: take policy d, or scale the equations"
    )]
    BeyondSingle {
        /// Block row.
        row: usize,
        /// Block column.
        col: usize,
        /// Row inside the block, from 0.
        r: usize,
        /// Column inside the block, from 0.
        c: usize,
        /// What it is.
        value: f64,
    },
    /// A matrix whose entries are all too small for the policy's precision.
    #[error(
        "block row {row}, block column {col}: entry ({r}, {c}) of the block, from 0, is {value:e}, and no entry of the matrix reaches 1.2e-38, from \
         which on f32 has all its digits, in which policies ds and dsh keep blocks: take policy d, or scale the equations"
    )]
    BelowSingle {
        /// Block row of the first entry that is not zero.
        row: usize,
        /// Block column.
        col: usize,
        /// Row inside the block, from 0.
        r: usize,
        /// Column inside the block, from 0.
        c: usize,
        /// What it is.
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
    /// A right-hand side or first guess that is no number, in global numbers.
    #[error("{what} of row {row}, entry {entry} of it, from 0, is {value}")]
    NotFiniteRow {
        /// b or x.
        what: &'static str,
        /// The row.
        row: usize,
        /// Which of its entries.
        entry: usize,
        /// NaN or an infinity.
        value: f64,
    },
    /// What is wrong with a matrix that several ranks have rows of; the same on every rank.
    #[error(transparent)]
    Global(#[from] GlobalError),
    /// Messages between ranks.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// Options that contradict one another.
    #[error("{0}")]
    Options(String),
    /// An option that the GPU does not honour.
    #[cfg(feature = "cuda")]
    #[error("{option} = {value} is not to be had on a GPU: {remedy}")]
    NotOnGpu {
        /// The option.
        option: &'static str,
        /// What was asked for.
        value: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The device, or a form of factors that it does not have.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
    /// A pattern with columns of other ranks, but no way to them.
    #[error("the pattern has {ghosts} ghost columns: say how their values come here, by distribute()")]
    NoRanks {
        /// How many.
        ghosts: usize,
    },
    /// What the caller's exchange or sum failed with.
    #[error("{0}: the call ends, its result is lost")]
    Ranks(#[source] super::RanksError),
    /// A call that other ranks could not make.
    #[error("NaN or infinity in the vectors of {count} other ranks, which say where: nothing was solved")]
    Elsewhere {
        /// How many ranks.
        count: usize,
    },
    /// A matrix that takes no constants to zero.
    #[error(
        "null_space = constant, but the matrix takes no constants to zero: row {row}, entry {entry} of its block from 0, adds up to {sum:.3e}: set null_space=none, or \
         look there for a condition that sets the level"
    )]
    NoConstants {
        /// Block row.
        row: usize,
        /// Row inside the block.
        entry: usize,
        /// Sum of its entries.
        sum: f64,
    },
    /// A product with a matrix that is gone.
    #[error(
        "the matrix was not kept, only its factors are there: set keep_matrix=yes, or give a product of your own"
    )]
    NotKept,
    /// No values yet.
    #[error("the matrix has no values yet: call numeric() first")]
    NoValues,
}

/// The least magnitude that has all digits of f32.
pub(super) const LEAST_SINGLE: f64 = f32::MIN_POSITIVE as f64;

impl SolverError {
    /// Of an entry (r, c) of the block at (row, col) that is NaN, infinite, too large or, as all others, too small.
    pub(super) fn of_entry([row, col]: [usize; 2], [r, c]: [usize; 2], value: f64) -> Self {
        if value.abs() < LEAST_SINGLE {
            Self::BelowSingle { row, col, r, c, value }
        } else if value.is_finite() {
            Self::BeyondSingle { row, col, r, c, value }
        } else {
            Self::NotFinite { row, col, r, c, value }
        }
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Pattern(_)
            | Self::Shape(ShapeError::MissingDiagonal { .. })
            | Self::Base { .. }
            | Self::Overflow { .. } => ErrorKind::Pattern,
            Self::NotFinite { .. }
            | Self::BeyondSingle { .. }
            | Self::BelowSingle { .. }
            | Self::NotFiniteVector { .. }
            | Self::NotFiniteRow { .. }
            | Self::Elsewhere { .. } => ErrorKind::NotFinite,
            Self::SingularDiagonal { .. } => ErrorKind::Singular,
            Self::NotKept | Self::NoValues => ErrorKind::NoValues,
            Self::Ranks(_) => ErrorKind::Callback,
            Self::Comm(_) => ErrorKind::Ranks,
            Self::Global(GlobalError::OnRank { kind, .. }) => *kind,
            Self::Global(GlobalError::Ranges { .. } | GlobalError::TooLarge { .. }) => ErrorKind::Pattern,
            #[cfg(feature = "cuda")]
            Self::NotOnGpu { .. } | Self::Gpu(crate::gpu::GpuError::Unsupported(_)) => ErrorKind::Unsupported,
            #[cfg(feature = "cuda")]
            Self::Gpu(crate::gpu::GpuError::Ranks(_)) => ErrorKind::Ranks,
            #[cfg(feature = "cuda")]
            Self::Gpu(_) => ErrorKind::Device,
            _ => ErrorKind::Argument,
        }
    }

    /// The block row that it is about, and the block column, as the caller's arrays count them.
    pub fn place(&self) -> Option<(u64, Option<u64>)> {
        Some(match self {
            Self::Pattern(PatternError::Column { row, col, .. } | PatternError::Order { row, col }) => {
                (*row as u64, Some(*col))
            }
            Self::Pattern(PatternError::Decreasing { row })
            | Self::Shape(ShapeError::MissingDiagonal { row })
            | Self::NotFiniteRow { row, .. }
            | Self::NoConstants { row, .. }
            | Self::SingularDiagonal { row, .. } => (*row as u64, None),
            Self::NotFinite { row, col, .. }
            | Self::BeyondSingle { row, col, .. }
            | Self::BelowSingle { row, col, .. } => (*row as u64, Some(*col as u64)),
            Self::Global(GlobalError::OnRank { row, col, .. }) => ((*row)?, *col),
            _ => return None,
        })
    }
}
