//! Block-sparse matrices: where blocks are, and what is in them.

mod csr;
#[cfg(feature = "cuda")]
pub mod cuda;
mod half;
pub mod io;
mod jacobian;
mod multiply;
mod pattern;
mod product;
mod row_product;
mod stored;

pub(crate) use self::half::power_of_two;
pub use self::half::{HalfReport, HalfScale, NotSingle};
pub use csr::BlockCsr;
pub use jacobian::{Jacobian, OffDiagonal};
pub use pattern::{BlockPattern, PatternError, SplitPattern};
pub(crate) use product::product_rows;
pub(crate) use row_product::{
    BYTES_AHEAD, Scratch, block_product, columns, prefetch_block, row_part, row_product, scalars,
};
pub(crate) use stored::{Direct, Off, Stored, ToDouble, Unscale};

use crate::Storage;

/// So many rows are sorted by length together, longest first: the window sigma of SELL-C-sigma. Plans sort the rows of a color so,
/// and the format then finds them in the order that it needs. It is narrow beside a color, so that rows stay near their neighbors in the band.
///
/// **Source**: Kreutzer, Hager, Wellein, Fehske, Bishop (2014), SIAM J. Sci. Comput. 36(5).
pub const SIGMA: usize = 1024;

/// Values that do not fit their pattern.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ShapeError {
    /// A block size outside 1..=128.
    #[error("block size {0} is not supported: it must lie between 1 and 128")]
    BlockSize(usize),
    /// An array of the wrong length.
    #[error("{what} has {found} values, expected {expected} ({shape})")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it should have.
        expected: usize,
        /// Where the expected length comes from.
        shape: String,
    },
    /// A relaxation or factorization needs a block on the diagonal of every row.
    #[error("row {row} has no diagonal block; every row needs one")]
    MissingDiagonal {
        /// The row.
        row: usize,
    },
    /// A square matrix was expected.
    #[error("the matrix has {rows} rows and {cols} columns of blocks; a square one is needed")]
    NotSquare {
        /// Block rows.
        rows: usize,
        /// Block columns.
        cols: usize,
    },
    /// More than 32-bit indices count.
    #[error("{count} {what} are more than 32-bit indices hold: split the matrix among processes")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// Factors in a type that there are none in.
    #[error("factors are stored in f64, f32 or f16, not in {}", .0.name())]
    Factors(Storage),
}

/// A count as an index.
pub(crate) fn index(what: &'static str, count: usize) -> Result<u32, ShapeError> {
    u32::try_from(count).map_err(|_| ShapeError::TooLarge { what, count })
}

/// There are factors in this type.
pub(crate) fn check_factors(storage: Storage) -> Result<(), ShapeError> {
    if storage == Storage::Bf16 { Err(ShapeError::Factors(storage)) } else { Ok(()) }
}

/// Relaxations and factorizations have as many columns as rows.
pub(crate) fn check_square(pattern: &BlockPattern) -> Result<(), ShapeError> {
    let (rows, cols) = (pattern.rows(), pattern.cols());
    if rows == cols { Ok(()) } else { Err(ShapeError::NotSquare { rows, cols }) }
}

pub(crate) fn check_nb(nb: usize) -> Result<(), ShapeError> {
    if (1..=crate::MAX_NB).contains(&nb) { Ok(()) } else { Err(ShapeError::BlockSize(nb)) }
}

pub(crate) fn check_len(
    what: &'static str,
    found: usize,
    expected: usize,
    shape: impl FnOnce() -> String,
) -> Result<(), ShapeError> {
    if found == expected { Ok(()) } else { Err(ShapeError::Length { what, found, expected, shape: shape() }) }
}
