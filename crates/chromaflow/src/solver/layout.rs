//! The caller's arrays and ours.

use super::SolverError;
use super::arrays::{BlockLayout, Given, Index, IndexBase, Value};
use crate::order::{OffRow, Schedule};
use crate::sparse::{PatternError, ShapeError, check_square};
use crate::{BlockPattern, Jacobian, Permutation};
use chromaflow_device::Team;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A pattern with ascending columns, and where each of its blocks stands in the caller's arrays.
pub(super) struct Rows {
    pub(super) pattern: BlockPattern,
    /// None: at the same place.
    given: Option<Vec<u32>>,
    /// The number of the caller's first row.
    pub(super) first: usize,
    /// The caller has the diagonal blocks in an array of their own; they count after all others.
    pub(super) apart: bool,
    /// Columns that are rows of other ranks.
    pub(super) ghosts: usize,
    /// Blocks in them: row, ghost (from 0), place in the caller's array.
    pub(super) beyond: Vec<(u32, u32, u32)>,
}

impl Rows {
    pub(super) fn from_pattern(pattern: &BlockPattern) -> Result<Self, SolverError> {
        let (ghosts, beyond) = (0, Vec::new());
        let rows = Self { pattern: pattern.clone(), given: None, first: 0, apart: false, ghosts, beyond };
        rows.complete()
    }

    pub(super) fn from_arrays<I: Index>(
        base: IndexBase,
        row_ptr: &[I],
        col_idx: &[I],
        ghosts: usize,
    ) -> Result<Self, SolverError> {
        let first = base.first();
        if let Some(pattern) = as_it_stands(first, row_ptr, col_idx) {
            return Ok(Self { pattern, given: None, first, apart: false, ghosts, beyond: Vec::new() });
        }
        let row_ptr = shifted("row_ptr", row_ptr, first)?;
        let rows = row_ptr.len().checked_sub(1).filter(|_| row_ptr[0] == 0);
        let rows = rows.ok_or(PatternError::Start { first })?;
        if let Some(row) = row_ptr.windows(2).position(|w| w[1] < w[0]) {
            return Err(PatternError::Decreasing { row: row + first }.into());
        }
        if row_ptr[rows] != col_idx.len() as u64 {
            return Err(PatternError::End { end: row_ptr[rows], len: col_idx.len() }.into());
        }
        let columns = shifted("col_idx", col_idx, first)?;
        let cols = rows.saturating_add(ghosts);
        for (what, count) in [("columns", cols), ("blocks", columns.len())] {
            if u32::try_from(count).is_err() {
                return Err(PatternError::TooLarge { what, count }.into());
            }
        }
        let mut given: Vec<u32> = (0..columns.len() as u32).collect();
        let mut beyond = Vec::new();
        for (row, w) in row_ptr.windows(2).enumerate() {
            let part = &mut given[w[0] as usize..w[1] as usize];
            part.sort_by_key(|&k| columns[k as usize]);
            let own = part.partition_point(|&k| columns[k as usize] < rows as u64);
            let ghost = |&k: &u32| (row as u32, (columns[k as usize] - rows as u64) as u32, k);
            let (row, counted) = (row + first, |k: u32| columns[k as usize] + first as u64);
            if let Some(&k) = part.last().filter(|&&k| columns[k as usize] >= cols as u64) {
                return Err(PatternError::Column { row, col: counted(k), cols, first }.into());
            }
            beyond.extend(part[own..].iter().map(ghost));
            if let Some(w) = part.windows(2).find(|w| counted(w[0]) == counted(w[1])) {
                return Err(PatternError::Order { row, col: counted(w[1]) }.into());
            }
        }
        given.retain(|&k| columns[k as usize] < rows as u64);
        let sorted = given.iter().map(|&k| columns[k as usize] as u32).collect();
        let in_place = given.iter().enumerate().all(|(i, &k)| i == k as usize);
        let mut own_ptr: Vec<u32> = row_ptr.iter().map(|&p| p as u32).collect();
        let mut before = 0; // ghost blocks of the rows so far
        for (row, end) in own_ptr.iter_mut().skip(1).enumerate() {
            before += beyond[before..].iter().take_while(|b| b.0 as usize == row).count();
            *end -= before as u32;
        }
        let pattern = BlockPattern::new(rows, own_ptr, sorted)?;
        let given = (!in_place).then_some(given);
        Self { pattern, given, first, apart: false, ghosts, beyond }.complete()
    }

    /// Every row has its diagonal block, or none has and they come apart.
    fn complete(self) -> Result<Self, SolverError> {
        check_square(&self.pattern)?;
        let rows = self.pattern.rows();
        let Some(row) = (0..rows).find(|&r| self.pattern.find(r, r).is_none()) else { return Ok(self) };
        if (0..rows).any(|r| self.pattern.find(r, r).is_some()) {
            return Err(ShapeError::MissingDiagonal { row: row + self.first }.into());
        }
        let nnzb = self.pattern.nnzb() + self.beyond.len();
        let (mut row_ptr, mut col_idx, mut given) = (vec![0], Vec::new(), Vec::new());
        for row in 0..rows {
            let mut blocks: Vec<(u32, u32)> = (self.pattern.range(row))
                .map(|k| (self.pattern.col_idx()[k], self.given.as_ref().map_or(k as u32, |g| g[k])))
                .collect();
            let before = blocks.partition_point(|b| (b.0 as usize) < row);
            blocks.insert(before, (row as u32, u32::try_from(nnzb + row).unwrap_or(u32::MAX)));
            col_idx.extend(blocks.iter().map(|b| b.0));
            given.extend(blocks.iter().map(|b| b.1));
            row_ptr.push(u32::try_from(col_idx.len()).unwrap_or(u32::MAX));
        }
        if u32::try_from(nnzb + rows).is_err() {
            return Err(PatternError::TooLarge { what: "blocks", count: nnzb + rows }.into());
        }
        let pattern = BlockPattern::new(rows, row_ptr, col_idx)?;
        Ok(Self { pattern, given: Some(given), apart: true, ..self })
    }
}

/// The pattern of arrays that make one as they stand, columns ascending, none of them a ghost's, all diagonal blocks there: what most
/// callers have, looked at in one pass. None: there is more to do, or to say.
fn as_it_stands<I: Index>(first: usize, row_ptr: &[I], col_idx: &[I]) -> Option<BlockPattern> {
    let (first, blocks) = (first as u32, u32::try_from(col_idx.len()).ok()?);
    let rows = u32::try_from(row_ptr.len().checked_sub(1)?).ok()?;
    let starts: Vec<u32> = row_ptr.iter().map(|p| p.narrow()?.checked_sub(first)).collect::<Option<_>>()?;
    if (starts[0], starts[rows as usize]) != (0, blocks) {
        return None;
    }
    let mut columns = Vec::with_capacity(col_idx.len());
    let mut diagonals = 0;
    for (row, ends) in starts.windows(2).enumerate() {
        let mut least = 0; // of the next column
        for index in col_idx.get(ends[0] as usize..ends[1] as usize)? {
            let column = index.narrow()?.checked_sub(first)?;
            diagonals += u32::from(column == row as u32);
            if column < least || column >= rows {
                return None;
            }
            least = column + 1;
            columns.push(column);
        }
    }
    (diagonals == rows).then(|| BlockPattern::of_ascending(rows as usize, starts, columns))
}

/// Indices from 0.
fn shifted<I: Index>(what: &'static str, values: &[I], first: usize) -> Result<Vec<u64>, SolverError> {
    let shift = |(at, v): (usize, &I)| {
        let found = v.wide();
        let overflows = what == "row_ptr" && found < 0 && at > 0;
        u64::try_from(found - first as i128).map_err(|_| {
            if overflows {
                SolverError::Overflow { at, found }
            } else {
                SolverError::Base { what, at, found, first }
            }
        })
    };
    values.iter().enumerate().map(shift).collect()
}

/// Where each block inside comes from: positions in the caller's values.
pub(super) struct Layout {
    /// Of the diagonal blocks, a row each.
    diagonal: Vec<u32>,
    /// Of the off-diagonal blocks, in the order of their pattern.
    off: Vec<u32>,
}

impl Layout {
    /// The off-diagonal pattern inside, rows and columns renumbered, and where its blocks come from. Every row has its diagonal block.
    pub(super) fn new(rows: &Rows, permutation: &Permutation) -> (BlockPattern, Self) {
        let (pattern, new_of_old) = (&rows.pattern, permutation.new_of_old());
        let given = |k: usize| rows.given.as_ref().map_or(k as u32, |given| given[k]);
        let off_diagonal = pattern.nnzb() - pattern.rows();
        let (mut row_ptr, mut col_idx) =
            (Vec::with_capacity(pattern.rows() + 1), Vec::with_capacity(off_diagonal));
        let (mut diagonal, mut off) = (Vec::with_capacity(pattern.rows()), Vec::with_capacity(off_diagonal));
        // Column and place of each block of a row, in one number each: they are sorted much faster.
        let mut row: Vec<u64> = Vec::new();
        row_ptr.push(0);
        for &old in permutation.old_of_new() {
            row.clear();
            for k in pattern.range(old as usize) {
                let column = pattern.col_idx()[k];
                if column == old {
                    diagonal.push(given(k));
                } else {
                    row.push(u64::from(new_of_old[column as usize]) << 32 | u64::from(given(k)));
                }
            }
            row.sort_unstable();
            col_idx.extend(row.iter().map(|block| (block >> 32) as u32));
            off.extend(row.iter().map(|&block| block as u32));
            row_ptr.push(col_idx.len() as u32);
        }
        debug_assert_eq!(diagonal.len(), pattern.rows());
        (BlockPattern::of_ascending(pattern.cols(), row_ptr, col_idx), Self { diagonal, off })
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
    pub(super) fn bring_in<V: Value>(
        &self,
        (team, schedule): (&Team, &Schedule),
        given: Given<'_, V>,
        blocks: BlockLayout,
        exact: &mut Jacobian,
        reduced: Option<&mut Jacobian>,
    ) -> Option<usize> {
        let (nb, pattern) = (exact.nb(), Arc::clone(exact.pattern()));
        let q = nb * nb;
        let bad = AtomicUsize::new(usize::MAX);
        let given = given.split(q);
        let take = |k: u32, to: &mut [f64]| {
            let from = given.block(k as usize);
            if let ([to], [from]) = (&mut *to, from) {
                *to = from.double();
                return;
            }
            match blocks {
                BlockLayout::ColumnMajor => to.iter_mut().zip(from).for_each(|(to, v)| *to = v.double()),
                BlockLayout::RowMajor => {
                    for c in 0..nb {
                        for r in 0..nb {
                            to[c * nb + r] = from[r * nb + c].double();
                        }
                    }
                }
            }
        };
        // Without a branch a value: a row at a time.
        let finite = |values: &[f64]| values.iter().fold(true, |all, v| all & v.is_finite());
        exact.assemble_with(reduced, team, schedule, |row, (diag, off), reduced| {
            take(self.diagonal[row], diag);
            let OffRow::F64(off) = off else { unreachable!("the matrix is kept in f64") };
            let sources = &self.off[pattern.range(row)];
            for (to, &k) in off.chunks_exact_mut(q).zip(sources) {
                take(k, to);
            }
            if !(finite(diag) && finite(off)) {
                let blocks = off.chunks_exact(q).zip(sources).chain([(&*diag, &self.diagonal[row])]);
                let first = blocks.filter(|(block, _)| !finite(block)).map(|(_, &k)| k as usize).min();
                bad.fetch_min(first.unwrap_or(usize::MAX), Ordering::Relaxed);
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

    /// The caller's row and column (from 0) of the caller's block `k`; `inside` is the off-diagonal pattern.
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
