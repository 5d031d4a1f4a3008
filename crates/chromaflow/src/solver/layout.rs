//! The caller's arrays and ours.

use super::SolverError;
use crate::order::{OffRow, Schedule};
use crate::sparse::{PatternError, SplitPattern};
use crate::{BlockPattern, Jacobian, Permutation};
use chromaflow_device::Team;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
        if let Some(at) = row_ptr.iter().position(|&p| p < 0).filter(|&at| at > 0 && row_ptr[0] >= base) {
            return Err(SolverError::Overflow { at, found: row_ptr[at] });
        }
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

/// Where each block inside comes from: positions in the caller's values.
pub(super) struct Layout {
    /// Of the diagonal blocks, a row each.
    diagonal: Vec<u32>,
    /// Of the off-diagonal blocks, in the order of their pattern.
    off: Vec<u32>,
}

impl Layout {
    /// `split` is the permuted pattern in its parts; `source[k]`: block of the sorted pattern that becomes block k of the
    /// permuted one.
    pub(super) fn new(rows: &Rows, split: &SplitPattern, source: &[u32]) -> Self {
        let given = |&k: &u32| {
            let sorted = source[k as usize];
            rows.given.as_ref().map_or(sorted, |given| given[sorted as usize])
        };
        Self {
            diagonal: split.diagonal.iter().map(given).collect(),
            off: split.off.iter().map(given).collect(),
        }
    }

    /// The caller's block of each block inside, the diagonal ones first.
    #[cfg(feature = "cuda")]
    pub(super) fn source(&self) -> Vec<u32> {
        [&self.diagonal[..], &self.off].concat()
    }

    pub(super) fn bytes(&self) -> usize {
        4 * (self.diagonal.len() + self.off.len())
    }

    /// One pass over the caller's blocks: into `exact` in f64, into `reduced` in its precision, and a look for entries
    /// that are no numbers. The first of the caller's blocks that has one.
    pub(super) fn bring_in(
        &self,
        (team, schedule): (&Team, &Schedule),
        given: &[f64],
        blocks: BlockLayout,
        exact: &mut Jacobian,
        reduced: Option<&mut Jacobian>,
    ) -> Option<usize> {
        let (nb, pattern) = (exact.nb(), Arc::clone(exact.pattern()));
        let q = nb * nb;
        let bad = AtomicUsize::new(usize::MAX);
        let take = |k: u32, to: &mut [f64]| {
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
            if !to.iter().all(|v| v.is_finite()) {
                bad.fetch_min(k as usize, Ordering::Relaxed);
            }
        };
        exact.assemble_with(reduced, team, schedule, |row, (diag, off), reduced| {
            take(self.diagonal[row], diag);
            let OffRow::F64(off) = off else { unreachable!("the matrix is kept in f64") };
            for (to, &k) in off.chunks_exact_mut(q).zip(&self.off[pattern.range(row)]) {
                take(k, to);
            }
            let Some((reduced_diag, reduced_off)) = reduced else { return };
            reduced_diag.copy_from_slice(diag);
            match reduced_off {
                OffRow::F64(to) => to.copy_from_slice(off),
                OffRow::F32(to) => to.iter_mut().zip(&*off).for_each(|(to, &v)| *to = v as f32),
            }
        });
        Some(bad.into_inner()).filter(|&k| k != usize::MAX)
    }

    /// The caller's row and column of the caller's block `k`; `inside` is the off-diagonal pattern.
    pub(super) fn place(&self, k: usize, permutation: &Permutation, inside: &BlockPattern) -> (usize, usize) {
        let find = |list: &[u32]| list.iter().position(|&s| s as usize == k);
        let (row, col) = if let Some(row) = find(&self.diagonal) {
            (row, row)
        } else {
            let at = find(&self.off).expect("every block has a place");
            (inside.row_ptr().partition_point(|&p| p as usize <= at) - 1, inside.col_idx()[at] as usize)
        };
        let old = |r: usize| permutation.old_of_new()[r] as usize;
        (old(row), old(col))
    }
}
