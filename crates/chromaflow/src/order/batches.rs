//! Batches of rows that do not depend on one another.

use crate::BlockPattern;
use std::ops::Range;

/// Contiguous ranges of rows, one after the other: the colors of a coloring or the levels of a triangular factor.
/// Within a batch rows may be updated in any order and all at once; batches follow one another.
///
/// Rows of a batch may form lines ([`Lines`](super::Lines)), contiguous ranges too, whose rows depend on one another and are solved for
/// together; lines of a batch do not depend on one another.
///
/// **Shapes**: `offsets [len + 1]`, from 0 to the number of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBatches {
    offsets: Vec<u32>,
    /// Where lines begin, and the number of rows; empty where every row stands alone.
    lines: Vec<u32>,
}

impl RowBatches {
    /// Batches from their offsets.
    ///
    /// # Panics
    /// When `offsets` is empty, does not start at 0 or decreases.
    #[must_use]
    pub fn new(offsets: Vec<u32>) -> Self {
        assert!(
            offsets.first() == Some(&0) && offsets.windows(2).all(|w| w[0] <= w[1]),
            "offsets must ascend from 0"
        );
        Self { offsets, lines: Vec::new() }
    }

    /// The same batches of lines, each from one of `lines` to the next.
    ///
    /// # Panics
    /// When `lines` do not ascend from 0 to the number of rows, or one of them reaches from batch to batch.
    #[must_use]
    pub fn of_lines(self, lines: Vec<u32>) -> Self {
        assert!(
            lines.first() == Some(&0)
                && lines.last().is_some_and(|&last| last as usize == self.rows())
                && lines.windows(2).all(|w| w[0] < w[1]),
            "lines must ascend from 0 to the number of rows"
        );
        assert!(self.offsets.iter().all(|o| lines.binary_search(o).is_ok()), "a line lies in one batch");
        Self { lines, ..self }
    }

    /// Where lines begin, and the number of rows, `[lines + 1]`; none where every row stands alone.
    pub fn lines(&self) -> Option<&[u32]> {
        (!self.lines.is_empty()).then_some(&self.lines)
    }

    /// The rows of the line that `row` lies in.
    pub fn line_of(&self, row: usize) -> Range<usize> {
        match self.lines.partition_point(|&start| start as usize <= row) {
            0 => row..row + 1,
            next => self.lines[next - 1] as usize..self.lines[next] as usize,
        }
    }

    /// All rows in one batch, as Jacobi relaxation has it.
    #[must_use]
    pub fn single(rows: usize) -> Self {
        Self::new(vec![0, u32::try_from(rows).expect("32-bit row numbers")])
    }

    /// Number of batches.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of rows in all batches.
    pub fn rows(&self) -> usize {
        self.offsets[self.offsets.len() - 1] as usize
    }

    /// The rows of batch `i`.
    pub fn range(&self, i: usize) -> Range<usize> {
        self.offsets[i] as usize..self.offsets[i + 1] as usize
    }

    /// The part of a batch, its end, whose rows stand alone: all of it where there are no lines, which come longest first.
    pub(crate) fn alone(&self, batch: Range<usize>) -> Range<usize> {
        let first = |rows: &Range<usize>| self.lines.partition_point(|&start| (start as usize) < rows.start);
        let lines = match self.lines() {
            Some(lines) => &lines[first(&batch)..=first(&(batch.end..batch.end))],
            None => return batch,
        };
        let long = lines.windows(2).take_while(|w| w[1] - w[0] > 1).count();
        lines[long] as usize..batch.end
    }

    /// The batches in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<usize>> + ExactSizeIterator + '_ {
        (0..self.len()).map(|i| self.range(i))
    }

    /// Offsets, `[len + 1]`.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }
}

/// Batches that do not fit a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// A row reads another row of its own batch, outside its own line.
    #[error("row {row} depends on row {column} of its own batch {batch}: color the pattern first")]
    Dependent {
        /// The row.
        row: usize,
        /// The row it reads.
        column: usize,
        /// The batch of both.
        batch: usize,
    },
    /// The batches do not cover the rows.
    #[error("the batches hold {found} rows, the pattern has {rows}")]
    Rows {
        /// Rows in all batches.
        found: usize,
        /// Rows of the pattern.
        rows: usize,
    },
}

impl RowBatches {
    /// Whether no row reads a row of its own batch outside its own line, so that each batch may be updated all at once. The
    /// diagonal does not count.
    ///
    /// # Errors
    /// [`BatchError`] names the two rows.
    pub fn check(&self, pattern: &BlockPattern) -> Result<(), BatchError> {
        if self.rows() != pattern.rows() {
            return Err(BatchError::Rows { found: self.rows(), rows: pattern.rows() });
        }
        for (batch, rows) in self.iter().enumerate() {
            for row in rows.clone() {
                let line = self.line_of(row);
                let reads = |&&c: &&u32| rows.contains(&(c as usize)) && !line.contains(&(c as usize));
                if let Some(&c) = pattern.columns(row).iter().find(reads) {
                    return Err(BatchError::Dependent { row, column: c as usize, batch });
                }
            }
        }
        Ok(())
    }
}
