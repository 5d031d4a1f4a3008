//! Scalar matrices on their way between files and blocks.

use super::Fault;
use crate::{BlockCsr, BlockPattern, MAX_NB};

/// A sparse matrix of numbers, row by row, columns ascending and none twice: what a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarCsr {
    cols: usize,
    row_ptr: Vec<usize>,
    col_idx: Vec<u32>,
    values: Vec<f64>,
}

impl ScalarCsr {
    /// From row pointers (ascending from 0 to the number of entries) and in-range columns in any order.
    pub(super) fn from_rows(
        cols: usize,
        row_ptr: Vec<usize>,
        mut col_idx: Vec<u32>,
        mut values: Vec<f64>,
    ) -> Result<Self, Fault> {
        let mut sorted: Vec<(u32, f64)> = Vec::new();
        for row in 0..row_ptr.len() - 1 {
            let range = row_ptr[row]..row_ptr[row + 1];
            let (columns, entries) = (&mut col_idx[range.clone()], &mut values[range]);
            if columns.windows(2).all(|w| w[0] < w[1]) {
                continue;
            }
            sorted.clear();
            sorted.extend(columns.iter().copied().zip(entries.iter().copied()));
            sorted.sort_unstable_by_key(|e| e.0);
            if let Some(w) = sorted.windows(2).find(|w| w[0].0 == w[1].0) {
                return Err(Fault::Duplicate { row: row + 1, col: w[0].0 as usize + 1, first: None });
            }
            for (i, &(c, v)) in sorted.iter().enumerate() {
                (columns[i], entries[i]) = (c, v);
            }
        }
        Ok(Self { cols, row_ptr, col_idx, values })
    }

    /// From entries (row, column, value), from 0, in any order.
    pub(super) fn from_entries(rows: usize, cols: usize, entries: &[(u32, u32, f64)]) -> Result<Self, Fault> {
        let mut row_ptr = vec![0_usize; rows + 1];
        for e in entries {
            row_ptr[e.0 as usize + 1] += 1;
        }
        for row in 0..rows {
            row_ptr[row + 1] += row_ptr[row];
        }
        let mut next = row_ptr.clone();
        let mut col_idx = vec![0; entries.len()];
        let mut values = vec![0.0; entries.len()];
        for &(row, col, value) in entries {
            let at = &mut next[row as usize];
            col_idx[*at] = col;
            values[*at] = value;
            *at += 1;
        }
        Self::from_rows(cols, row_ptr, col_idx, values)
    }

    /// Scalar rows.
    pub fn rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Scalar columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Columns of the entries of `row`.
    pub fn columns(&self, row: usize) -> &[u32] {
        &self.col_idx[self.row_ptr[row]..self.row_ptr[row + 1]]
    }

    /// Gathers the entries into nb x nb blocks; a block is stored when an entry of it is.
    pub(super) fn to_blocks(&self, nb: usize) -> Result<BlockCsr, Fault> {
        let (rows, cols) = (self.rows(), self.cols);
        if nb == 0 || nb > MAX_NB || !rows.is_multiple_of(nb) || !cols.is_multiple_of(nb) {
            let fits = |n: &usize| rows.is_multiple_of(*n) && cols.is_multiple_of(*n);
            let fitting: Vec<_> = (1..=MAX_NB).filter(fits).map(|n| n.to_string()).collect();
            return Err(Fault::BlockSize { nb, rows, cols, fitting: fitting.join(", ") });
        }
        let mut position = vec![usize::MAX; cols / nb]; // of this row's block in each column
        let mut row_ptr = vec![0_u32];
        let mut col_idx: Vec<u32> = Vec::new();
        let mut values = Vec::new();
        for row in 0..rows / nb {
            let start = col_idx.len();
            for r in row * nb..(row + 1) * nb {
                for &c in self.columns(r) {
                    let block = c as usize / nb;
                    if position[block] == usize::MAX {
                        position[block] = 0;
                        col_idx.push(block as u32);
                    }
                }
            }
            col_idx[start..].sort_unstable();
            for (at, &block) in (start..).zip(&col_idx[start..]) {
                position[block as usize] = at;
            }
            values.resize(col_idx.len() * nb * nb, 0.0);
            for r in 0..nb {
                let scalar = self.row_ptr[row * nb + r]..self.row_ptr[row * nb + r + 1];
                for (&c, &v) in self.col_idx[scalar.clone()].iter().zip(&self.values[scalar]) {
                    let (block, c) = (c as usize / nb, c as usize % nb);
                    values[(position[block] * nb + c) * nb + r] = v;
                }
            }
            for &block in &col_idx[start..] {
                position[block as usize] = usize::MAX;
            }
            let end = u32::try_from(col_idx.len());
            row_ptr.push(end.map_err(|_| Fault::TooLarge { what: "blocks", count: col_idx.len() as u64 })?);
        }
        let pattern =
            BlockPattern::new(cols / nb, row_ptr, col_idx).expect("columns are sorted and in range");
        Ok(BlockCsr::new(pattern, nb, values).expect("as many values as blocks ask for"))
    }
}

/// Calls `entry(row, column, value)` for all entries of all stored blocks, scalar row by scalar row, from 0.
pub(super) fn for_entries<E>(
    matrix: &BlockCsr,
    mut entry: impl FnMut(usize, usize, f64) -> Result<(), E>,
) -> Result<(), E> {
    let nb = matrix.nb();
    for row in 0..matrix.pattern().rows() {
        for r in 0..nb {
            for k in matrix.pattern().range(row) {
                let col = matrix.pattern().col_idx()[k] as usize;
                for c in 0..nb {
                    entry(row * nb + r, col * nb + c, matrix.block(k)[c * nb + r])?;
                }
            }
        }
    }
    Ok(())
}
