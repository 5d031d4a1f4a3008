//! The caller's arrays and ours.

use super::SolverError;
use crate::sparse::PatternError;
use crate::vector::shares;
use crate::{BlockPattern, Permutation};
use chromaflow_device::Team;

/// From which number indices count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexBase {
    /// C, C++, Rust.
    #[default]
    Zero,
    /// Fortran.
    One,
}

/// In which order the entries of a block lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockLayout {
    /// Entry (r, c) at c * nb + r.
    #[default]
    ColumnMajor,
    /// Entry (r, c) at r * nb + c.
    RowMajor,
}

/// A pattern with ascending columns, and where each of its blocks stands in the caller's arrays.
pub(super) struct Rows {
    pub(super) pattern: BlockPattern,
    /// None: at the same place.
    given: Option<Vec<u32>>,
}

impl Rows {
    pub(super) fn from_pattern(pattern: &BlockPattern) -> Self {
        Self { pattern: pattern.clone(), given: None }
    }

    pub(super) fn from_arrays(
        base: IndexBase,
        row_ptr: &[i32],
        col_idx: &[i32],
    ) -> Result<Self, SolverError> {
        let base = i32::from(base == IndexBase::One);
        let shift = |what: &'static str, values: &[i32]| -> Result<Vec<u32>, SolverError> {
            let shifted = values.iter().enumerate().map(|(at, &found)| {
                let index = found.checked_sub(base).and_then(|v| u32::try_from(v).ok());
                index.ok_or(SolverError::Base { what, at, found, base })
            });
            shifted.collect()
        };
        let (row_ptr, columns) = (shift("row_ptr", row_ptr)?, shift("col_idx", col_idx)?);
        let rows = row_ptr.len().checked_sub(1).ok_or(PatternError::Start)?;
        if let Some(row) = row_ptr.windows(2).position(|w| w[1] < w[0]) {
            return Err(PatternError::Decreasing { row }.into());
        }
        if row_ptr[rows] as usize != columns.len() {
            return Err(PatternError::End { end: row_ptr[rows] as usize, len: columns.len() }.into());
        }
        let mut given: Vec<u32> = (0..columns.len() as u32).collect();
        for w in row_ptr.windows(2) {
            given[w[0] as usize..w[1] as usize].sort_by_key(|&k| columns[k as usize]);
        }
        let sorted = given.iter().map(|&k| columns[k as usize]).collect();
        let in_place = given.iter().enumerate().all(|(i, &k)| i == k as usize);
        let pattern = BlockPattern::new(rows, row_ptr, sorted)?;
        Ok(Self { pattern, given: (!in_place).then_some(given) })
    }
}

/// Where each block inside comes from.
pub(super) struct Layout {
    /// Position in the caller's values of each block of the permuted pattern.
    source: Vec<u32>,
}

impl Layout {
    /// `sorted_position[k]`: block of the sorted pattern that becomes block k of the permuted one.
    pub(super) fn new(rows: &Rows, sorted_position: Vec<u32>) -> Self {
        let source = match &rows.given {
            None => sorted_position,
            Some(given) => sorted_position.into_iter().map(|k| given[k as usize]).collect(),
        };
        Self { source }
    }

    pub(super) fn bytes(&self) -> usize {
        4 * self.source.len()
    }

    /// Copies the caller's blocks to their places, column-major.
    pub(super) fn bring_in(
        &self,
        team: &Team,
        given: &[f64],
        blocks: BlockLayout,
        nb: usize,
        to: &mut [f64],
    ) {
        let q = nb * nb;
        shares(team, to, self.source.len(), q, |range, to| {
            for (to, &k) in to.chunks_exact_mut(q).zip(&self.source[range]) {
                let from = &given[k as usize * q..][..q];
                match blocks {
                    BlockLayout::ColumnMajor => to.copy_from_slice(from),
                    BlockLayout::RowMajor => {
                        for c in 0..nb {
                            for r in 0..nb {
                                to[c * nb + r] = from[r * nb + c];
                            }
                        }
                    }
                }
            }
        });
    }

    /// The caller's row and column of the caller's block `k`.
    pub(super) fn place(&self, k: usize, permutation: &Permutation, inside: &BlockPattern) -> (usize, usize) {
        let at = self.source.iter().position(|&s| s as usize == k).expect("every block has a place");
        let row = inside.row_ptr().partition_point(|&p| p as usize <= at) - 1;
        let old = |r: usize| permutation.old_of_new()[r] as usize;
        (old(row), old(inside.col_idx()[at] as usize))
    }
}
