//! Which rows form lines, and where a row has its neighbors in one.

use crate::dist::Share;
use crate::order::RowBatches;
use crate::relax::RelaxError;
use crate::sparse::BlockPattern;
use std::borrow::Cow;
use std::ops::Range;

/// Where the lines of batches begin, and the number of rows.
pub(in crate::relax) fn starts(batches: &RowBatches) -> Cow<'_, [u32]> {
    batches.lines().map_or_else(|| (0..=batches.rows() as u32).collect(), Cow::Borrowed)
}

/// The lines of all batches.
pub(in crate::relax) struct LineTable {
    /// Where each line begins, and the number of rows.
    starts: Vec<u32>,
    /// Rows of lines of several rows that come before each line.
    stored: Vec<u32>,
    /// Of each such row where the blocks of its neighbors in the line lie among those of the pattern, which has them side by side.
    near: Vec<[u32; 2]>,
}

/// Rows to go through.
#[derive(Clone)]
pub(in crate::relax) enum Run {
    /// Rows that stand alone.
    Alone(Range<usize>),
    /// A line, and which of the stored rows its first one is.
    Line(Range<usize>, usize),
}

impl LineTable {
    /// Of lines that begin where [`starts`] says.
    pub(in crate::relax) fn new(pattern: &BlockPattern, starts: &[u32]) -> Self {
        let starts = starts.to_vec();
        let (mut stored, mut near) = (Vec::with_capacity(starts.len()), Vec::new());
        for line in starts.windows(2) {
            stored.push(near.len() as u32);
            for row in line[0]..line[1] {
                if line[1] - line[0] == 1 {
                    break;
                }
                let (columns, first) = (pattern.columns(row as usize), pattern.row_ptr()[row as usize]);
                let least = row.saturating_sub(1).max(line[0]);
                let most = (row + 1).min(line[1] - 1);
                let at = |to: usize| first + to as u32;
                let begin = columns.partition_point(|&c| c < least);
                near.push([at(begin), at(columns.partition_point(|&c| c <= most))]);
            }
        }
        Self { starts, stored, near }
    }

    /// Where lines begin if those of rows of other ranks are no lines.
    ///
    /// # Errors
    /// [`RelaxError::CutLine`].
    pub(in crate::relax) fn starts_of_owned(&self, share: &Share) -> Result<Vec<u32>, RelaxError> {
        let mut starts = Vec::with_capacity(self.starts.len());
        for line in self.starts.windows(2) {
            let mut rows = line[0]..line[1];
            let owned = share.owns(line[0] as usize);
            if let Some(row) = rows.find(|&row| share.owns(row as usize) != owned) {
                let [row, before] = [row, row - 1].map(|row| share.global()[row as usize] as usize);
                return Err(RelaxError::CutLine { row, before });
            }
            starts.extend(if owned { line[0]..line[0] + 1 } else { line[0]..line[1] });
        }
        starts.push(share.rows() as u32);
        Ok(starts)
    }

    /// Rows in lines of several.
    pub(in crate::relax) fn stored(&self) -> usize {
        self.near.len()
    }

    /// Where the neighbors in its line are of the row that is stored at `at`.
    pub(in crate::relax) fn near(&self, at: usize) -> Range<usize> {
        let [begin, end] = self.near[at];
        begin as usize..end as usize
    }

    /// Whole lines from the first to the last of `rows`, those of one row together.
    pub(in crate::relax) fn runs(&self, rows: Range<usize>) -> Vec<Run> {
        let line_at = |row: usize| self.starts.partition_point(|&start| (start as usize) < row);
        let lines = line_at(rows.start)..line_at(rows.end);
        let rows_of = |line: usize| self.starts[line] as usize..self.starts[line + 1] as usize;
        let alone = move |line: usize| rows_of(line).len() == 1;
        let mut runs: Vec<Run> = Vec::new();
        for line in lines {
            match runs.last_mut() {
                Some(Run::Alone(rows)) if alone(line) => rows.end += 1,
                _ if alone(line) => runs.push(Run::Alone(rows_of(line))),
                _ => runs.push(Run::Line(rows_of(line), self.stored[line] as usize)),
            }
        }
        runs
    }
}
