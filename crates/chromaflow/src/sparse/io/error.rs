//! What can be wrong with a matrix file, and where.

use crate::files::FileError;
use std::fmt;
use std::path::{Path, PathBuf};

/// A matrix or vector file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MatrixFileError {
    /// It cannot be opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// Something in it is wrong.
    #[error("{}{place}: {fault}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What.
        fault: Fault,
    },
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, from 1.
    Line(u64),
    /// A byte of the decompressed file, from 0.
    Byte(u64),
}

impl Place {
    pub(super) fn fault(self, fault: Fault) -> Located {
        Located { place: self, fault }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Line(n) => write!(f, ", line {n}"),
            Place::Byte(n) => write!(f, ", byte {n}"),
        }
    }
}

/// What is wrong. Rows and columns are scalar ones and count from 1, as in Matrix Market files.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Reading fails: the disk, or a compressed stream that is truncated or corrupt.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// Neither format.
    #[error(
        "this is neither a Matrix Market file (it would start with %%MatrixMarket) nor a PETSc binary one (class id 1211216 or 1211214, big endian)"
    )]
    UnknownFormat,
    /// Something else was expected.
    #[error("expected {expected}, found `{found}`")]
    Expected {
        /// What.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A variant of the format that is not read.
    #[error("{what} is not supported: {remedy}")]
    Unsupported {
        /// Which.
        what: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The file ends too early.
    #[error("the file ends after {found} of {expected} {what}: it is truncated, write or copy it again")]
    Truncated {
        /// What is being counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many the header promises.
        expected: usize,
    },
    /// More than the header promises.
    #[error("the header promises {expected} entries, but more follow")]
    TooMany {
        /// How many are promised.
        expected: usize,
    },
    /// Two counts that disagree.
    #[error("the row lengths add up to {sum}, but the header says {nnz} entries")]
    Counts {
        /// Sum of the row lengths.
        sum: u64,
        /// Entries by the header.
        nnz: u64,
    },
    /// An index outside the matrix.
    #[error("entry ({row}, {col}) lies outside the matrix of {rows} rows and {cols} columns")]
    Index {
        /// Row, from 1.
        row: i64,
        /// Column, from 1.
        col: i64,
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// One entry twice.
    #[error("entry ({row}, {col}) is given twice{}: add up the two (a symmetric file holds one triangle only)", before(*.first))]
    Duplicate {
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        col: usize,
        /// The line of the first of the two.
        first: Option<u64>,
    },
    /// An entry that is no number.
    #[error(
        "the entry in row {row}, column {col} is {value}: look for a division by zero where the matrix was assembled"
    )]
    NotFinite {
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        col: usize,
        /// NaN or an infinity.
        value: f64,
    },
    /// Rows without entries in such number that the matrix is singular (or the header wrong).
    #[error("{rows} x {cols} entries are promised to have only {nnz} nonzeros: most rows would be empty")]
    TooSparse {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// Entries.
        nnz: usize,
    },
    /// A block size that does not fit.
    #[error(
        "block size {nb} does not divide a matrix of {rows} rows and {cols} columns (it must, and lie between 1 and 128); sizes that do: {fitting}"
    )]
    BlockSize {
        /// The block size.
        nb: usize,
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// Those that fit.
        fitting: String,
    },
    /// More than 32-bit indices hold.
    #[error("{count} {what} are more than 32-bit indices hold")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many.
        count: u64,
    },
    /// A vector that does not fit the matrix.
    #[error("the right-hand side has {found} entries, the matrix {expected} rows")]
    VectorLength {
        /// Its length.
        found: usize,
        /// The length it should have.
        expected: usize,
    },
}

fn before(line: Option<u64>) -> String {
    line.map_or(String::new(), |line| format!(", in line {line} before"))
}

impl Fault {
    pub(super) fn expected(expected: &'static str, found: impl AsRef<str>) -> Self {
        // A binary file read as text must not flood the screen.
        let found = found.as_ref().chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect();
        Fault::Expected { expected, found }
    }
}

/// A fault and its place, before the file's name is known.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) place: Place,
    pub(super) fault: Fault,
}

impl Located {
    pub(super) fn in_file(self, path: &Path) -> MatrixFileError {
        MatrixFileError::Content { path: path.to_owned(), place: self.place, fault: self.fault }
    }
}
