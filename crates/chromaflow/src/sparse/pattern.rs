//! Where the blocks of a sparse matrix are.

use super::ShapeError;
use chromaflow_device::split;
use std::ops::Range;

/// The positions of the stored blocks of a block-sparse matrix, row by row.
///
/// **Shapes**: `row_ptr [rows + 1]`, `col_idx [nnzb]`; columns ascend strictly within a row.
///
/// ```
/// use chromaflow::BlockPattern;
/// let p = BlockPattern::new(3, vec![0, 2, 3, 5], vec![0, 1, 1, 0, 2])?;
/// assert_eq!((p.rows(), p.nnzb()), (3, 5));
/// assert_eq!(p.columns(2), [0, 2]);
/// assert_eq!(p.find(2, 2), Some(4));
/// # Ok::<(), chromaflow::sparse::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPattern {
    cols: usize,
    row_ptr: Vec<u32>,
    col_idx: Vec<u32>,
}

/// Row pointers and column indices that do not make a pattern. Rows and columns are as the caller counts them.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PatternError {
    /// `row_ptr` is empty or does not start with the first index.
    #[error("row_ptr must have one entry more than there are rows and start with {first}")]
    Start {
        /// The first index, 0 or 1.
        first: usize,
    },
    /// `row_ptr` decreases.
    #[error("row_ptr decreases after row {row}")]
    Decreasing {
        /// The row whose end lies before its start.
        row: usize,
    },
    /// `row_ptr` and `col_idx` disagree.
    #[error("row_ptr counts {end} blocks, but col_idx has {len} entries")]
    End {
        /// Blocks by the last entry of `row_ptr`.
        end: u64,
        /// Length of `col_idx`.
        len: usize,
    },
    /// A column index that is too large.
    #[error("row {row}: column {col} is outside the matrix of {cols} columns (indices count from {first})")]
    Column {
        /// The row.
        row: usize,
        /// The column index.
        col: u64,
        /// Number of columns.
        cols: usize,
        /// The number of the first row and column, 0 or 1.
        first: usize,
    },
    /// Columns that do not ascend.
    #[error("row {row}: column {col} is out of order or stored twice")]
    Order {
        /// The row.
        row: usize,
        /// The offending column.
        col: u64,
    },
    /// More blocks, rows or columns than 32-bit indices hold.
    #[error("{count} {what} are more than 32-bit indices hold: split the matrix among processes")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many.
        count: usize,
    },
}

/// Fewest rows for which a thread is started.
const FEW_ROWS: usize = 1 << 14;

impl BlockPattern {
    /// A pattern with `cols` columns from row pointers and column indices.
    ///
    /// # Errors
    /// [`PatternError`] names the first row and column that are wrong.
    pub fn new(cols: usize, row_ptr: Vec<u32>, col_idx: Vec<u32>) -> Result<Self, PatternError> {
        Self::checked(cols, row_ptr, col_idx, 1)
    }

    /// The same, its columns looked at by so many threads.
    ///
    /// # Errors
    /// As [`BlockPattern::new`].
    pub fn checked(
        cols: usize,
        row_ptr: Vec<u32>,
        col_idx: Vec<u32>,
        threads: usize,
    ) -> Result<Self, PatternError> {
        if row_ptr.first() != Some(&0) {
            return Err(PatternError::Start { first: 0 });
        }
        for (what, count) in [("columns", cols), ("rows", row_ptr.len()), ("blocks", col_idx.len())] {
            if u32::try_from(count).is_err() {
                return Err(PatternError::TooLarge { what, count });
            }
        }
        if let Some(row) = row_ptr.windows(2).position(|w| w[1] < w[0]) {
            return Err(PatternError::Decreasing { row });
        }
        let end = u64::from(row_ptr[row_ptr.len() - 1]);
        if end != col_idx.len() as u64 {
            return Err(PatternError::End { end, len: col_idx.len() });
        }
        let pattern = Self { cols, row_ptr, col_idx };
        let (rows, threads) = (pattern.rows(), threads.clamp(1, 1 + pattern.rows() / FEW_ROWS));
        let ascend = std::thread::scope(|scope| {
            let part = |k: usize| pattern.ascends(split(rows, threads, k));
            let others: Vec<_> = (1..threads).map(|k| scope.spawn(move || part(k))).collect();
            let own = part(0);
            others
                .into_iter()
                .map(|other| other.join().expect("nobody panics"))
                .fold(own, |all, one| all & one)
        });
        if ascend {
            return Ok(pattern);
        }
        for row in 0..pattern.rows() {
            let columns = pattern.columns(row);
            if let Some(&col) = columns.iter().find(|&&c| c as usize >= cols) {
                return Err(PatternError::Column { row, col: col.into(), cols, first: 0 });
            }
            if let Some(w) = columns.windows(2).find(|w| w[1] <= w[0]) {
                return Err(PatternError::Order { row, col: w[1].into() });
            }
        }
        Ok(pattern)
    }

    /// Whether the columns of each of some rows ascend and are there: what [`Self::new`] asks for, in loops without branches.
    fn ascends(&self, rows: Range<usize>) -> bool {
        let falls = |columns: &[u32]| columns.windows(2).map(|w| usize::from(w[1] <= w[0])).sum::<usize>();
        let row_ptr = &self.row_ptr[rows.start..=rows.end];
        let [first, end] = [row_ptr[0], row_ptr[rows.len()]].map(|at| at as usize);
        let ends = row_ptr.windows(2).filter(|w| w[1] > w[0]).map(|w| w[1] as usize);
        // Columns fall nowhere but from one row to the next.
        let (mut between, mut last, mut inside) = (0, first, true);
        for end in ends {
            inside &= (self.col_idx[end - 1] as usize) < self.cols;
            between += usize::from(last > first && self.col_idx[last] <= self.col_idx[last - 1]);
            last = end;
        }
        inside && falls(&self.col_idx[first..end]) == between
    }

    /// A pattern from row pointers and column indices that are known to make one.
    pub(crate) fn of_ascending(cols: usize, row_ptr: Vec<u32>, col_idx: Vec<u32>) -> Self {
        debug_assert!(Self::new(cols, row_ptr.clone(), col_idx.clone()).is_ok());
        Self { cols, row_ptr, col_idx }
    }

    /// Number of block rows.
    pub fn rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Number of block columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored blocks.
    pub fn nnzb(&self) -> usize {
        self.col_idx.len()
    }

    /// Row pointers, `[rows + 1]`.
    pub fn row_ptr(&self) -> &[u32] {
        &self.row_ptr
    }

    /// Column indices, `[nnzb]`.
    pub fn col_idx(&self) -> &[u32] {
        &self.col_idx
    }

    /// Positions of the blocks of `row`.
    pub fn range(&self, row: usize) -> Range<usize> {
        self.row_ptr[row] as usize..self.row_ptr[row + 1] as usize
    }

    /// Columns of the blocks of `row`.
    pub fn columns(&self, row: usize) -> &[u32] {
        &self.col_idx[self.range(row)]
    }

    /// Position of block (`row`, `col`), if it is stored.
    pub fn find(&self, row: usize, col: usize) -> Option<usize> {
        let at = self.columns(row).binary_search(&u32::try_from(col).ok()?).ok()?;
        Some(self.row_ptr[row] as usize + at)
    }

    /// Bytes of the two index arrays.
    pub fn bytes(&self) -> usize {
        4 * (self.row_ptr.len() + self.col_idx.len())
    }

    /// The pattern without its diagonal, in the same memory, and where the diagonal blocks stood, of which every row has one.
    pub(crate) fn into_off_diagonal(mut self) -> (Self, Vec<u32>) {
        let mut diagonal = Vec::with_capacity(self.rows());
        let (mut start, mut to) = (0, 0);
        for row in 0..self.rows() {
            let end = self.row_ptr[row + 1];
            let mut own = end;
            // Without a branch an entry: which one is the diagonal's is different in every row.
            for k in start..end {
                let column = self.col_idx[k as usize];
                self.col_idx[to as usize] = column;
                let diagonal = column as usize == row;
                own = if diagonal { k } else { own };
                to += u32::from(!diagonal);
            }
            debug_assert!(own < end, "row {row} has no diagonal block");
            diagonal.push(own);
            self.row_ptr[row + 1] = to;
            start = end;
        }
        self.col_idx.truncate(to as usize);
        (self, diagonal)
    }

    /// The pattern without its diagonal, and where its parts stand in this one.
    ///
    /// # Errors
    /// [`ShapeError::MissingDiagonal`] for a row without a diagonal block.
    pub fn split(&self) -> Result<SplitPattern, ShapeError> {
        let rows = self.rows();
        let mut row_ptr = Vec::with_capacity(rows + 1);
        let mut col_idx = Vec::with_capacity(self.nnzb().saturating_sub(rows));
        let (mut diagonal, mut off) = (Vec::with_capacity(rows), Vec::with_capacity(col_idx.capacity()));
        row_ptr.push(0);
        for row in 0..rows {
            diagonal.push(self.find(row, row).ok_or(ShapeError::MissingDiagonal { row })? as u32);
            for k in self.range(row).filter(|&k| self.col_idx[k] as usize != row) {
                col_idx.push(self.col_idx[k]);
                off.push(k as u32);
            }
            row_ptr.push(col_idx.len() as u32);
        }
        let pattern = BlockPattern { cols: self.cols, row_ptr, col_idx };
        Ok(SplitPattern { pattern, diagonal, off })
    }
}

/// A pattern in two parts: the diagonal, and all other blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitPattern {
    /// The off-diagonal blocks.
    pub pattern: BlockPattern,
    /// Where the diagonal block of each row stood.
    pub diagonal: Vec<u32>,
    /// Where each off-diagonal block stood.
    pub off: Vec<u32>,
}
