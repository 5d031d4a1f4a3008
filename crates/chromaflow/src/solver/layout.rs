//! The caller's arrays and ours.

use super::SolverError;
use super::arrays::{BlockLayout, Given, GivenBlocks, Index, IndexBase, Value};
use crate::sparse::{PatternError, ShapeError, check_square};
use crate::{BlockPattern, Permutation};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
/// callers have, looked at in one pass without a branch an entry. None: there is more to do, or to say.
#[allow(clippy::needless_bitwise_bool)] // lazy ones branch
fn as_it_stands<I: Index>(first: usize, row_ptr: &[I], col_idx: &[I]) -> Option<BlockPattern> {
    let blocks = u32::try_from(col_idx.len()).ok().filter(|&n| n < u32::MAX)?;
    let rows = u32::try_from(row_ptr.len().checked_sub(1)?).ok().filter(|&n| n < u32::MAX - 1)?;
    // Indices that 32 bits do not hold, or below the first, become larger than all others.
    let from_zero = |index: &I| index.narrow().unwrap_or(u32::MAX).wrapping_sub(first as u32);
    let starts: Vec<u32> = row_ptr.iter().map(from_zero).collect();
    if (starts[0], starts[rows as usize]) != (0, blocks) {
        return None;
    }
    let columns: Vec<u32> = col_idx.iter().map(from_zero).collect();
    let (mut diagonals, mut good) = (0, true);
    for (row, ends) in starts.windows(2).enumerate() {
        let mut least = 0; // of the next column
        for &column in columns.get(ends[0] as usize..ends[1] as usize)? {
            diagonals += u32::from(column == row as u32);
            good &= (column >= least) & (column < rows);
            least = column.wrapping_add(1);
        }
    }
    (good && diagonals == rows).then(|| BlockPattern::of_ascending(rows as usize, starts, columns))
}

/// Indices from 0.
pub(super) fn shifted<I: Index>(
    what: &'static str,
    values: &[I],
    first: usize,
) -> Result<Vec<u64>, SolverError> {
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
    /// Of the off-diagonal blocks, in the order of their pattern. None: all blocks lie as the caller has them, the diagonal ones
    /// among the others.
    off: Option<Vec<u32>>,
}

impl Layout {
    /// The place of the diagonal block of a row of another rank: that of the identity stands for it.
    pub(super) const GHOST: u32 = u32::MAX;

    /// From the caller's block of each block inside.
    pub(super) fn listed(diagonal: Vec<u32>, off: Vec<u32>) -> Self {
        Self { diagonal, off: Some(off) }
    }

    /// The off-diagonal pattern inside, rows and columns renumbered, and where its blocks come from. Every row has its diagonal
    /// block. The pattern of `rows` is gone then.
    pub(super) fn new(rows: &mut Rows, permutation: &Permutation) -> (BlockPattern, Self) {
        let nothing = BlockPattern::of_ascending(0, vec![0], Vec::new());
        let pattern = std::mem::replace(&mut rows.pattern, nothing);
        if permutation.is_identity() && rows.given.is_none() {
            let (pattern, diagonal) = pattern.into_off_diagonal();
            return (pattern, Self { diagonal, off: None });
        }
        let new_of_old = permutation.new_of_old();
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
        let inside = BlockPattern::of_ascending(pattern.cols(), row_ptr, col_idx);
        (inside, Self { diagonal, off: Some(off) })
    }

    /// The caller's block of each block inside, the diagonal ones first.
    #[cfg(feature = "cuda")]
    pub(super) fn source(&self, inside: &BlockPattern) -> Vec<u32> {
        let off = |row| self.off_of(inside, row);
        self.diagonal.iter().copied().chain((0..inside.rows()).flat_map(off)).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        4 * (self.diagonal.len() + self.off.as_ref().map_or(0, Vec::len))
    }

    /// The caller's blocks of a row but the diagonal one.
    fn off_of<'a>(&'a self, inside: &BlockPattern, row: usize) -> impl Iterator<Item = u32> + 'a {
        let (range, own) = (inside.range(row), self.diagonal[row]);
        let (listed, (start, end)) = match &self.off {
            Some(off) => (&off[range], (0, 0)),
            // As many diagonal blocks as rows stand before the row's blocks.
            None => (&[][..], ((range.start + row) as u32, (range.end + row + 1) as u32)),
        };
        listed.iter().copied().chain((start..end).filter(move |&k| k != own))
    }

    /// The caller's row and column (from 0) of the caller's block `k`; `inside` is the off-diagonal pattern.
    pub(super) fn place(&self, k: usize, permutation: &Permutation, inside: &BlockPattern) -> (usize, usize) {
        let old = |r: usize| permutation.old_of_new()[r] as usize;
        for row in 0..inside.rows() {
            if self.diagonal[row] as usize == k {
                return (old(row), old(row));
            }
            if let Some(at) = self.off_of(inside, row).position(|s| s as usize == k) {
                return (old(row), old(inside.columns(row)[at] as usize));
            }
        }
        unreachable!("every block has a place");
    }
}

/// The caller's values on their way in, a row at a time, each looked at for entries that are no numbers.
pub(super) struct Intake<'a, V> {
    layout: &'a Layout,
    /// The off-diagonal pattern inside.
    inside: &'a BlockPattern,
    given: GivenBlocks<'a, V>,
    blocks: BlockLayout,
    nb: usize,
    /// The largest magnitude that there may be beside the diagonal.
    largest: f64,
    /// The first of the caller's blocks that has such an entry, or one beyond it.
    bad: AtomicUsize,
    /// The magnitude that some entry must have, if there are any but zeros.
    least: f64,
    /// Whether one has it.
    held: AtomicBool,
    /// The first of the caller's blocks, as long as none has it, that has a smaller one.
    small: AtomicUsize,
}

impl<'a, V: Value> Intake<'a, V> {
    pub(super) fn new(
        layout: &'a Layout,
        inside: &'a BlockPattern,
        nb: usize,
        given: Given<'a, V>,
        blocks: BlockLayout,
        [least, largest]: [f64; 2],
    ) -> Self {
        let [bad, small] = [usize::MAX; 2].map(AtomicUsize::new);
        let held = AtomicBool::new(least == 0.0);
        Self { layout, inside, given: given.split(nb * nb), blocks, nb, largest, bad, least, held, small }
    }

    /// The first of the caller's blocks with an entry that is no number or too large, of the rows that were asked for; else, where all are too
    /// small, the first that has one but zeros.
    pub(super) fn bad(self) -> Option<usize> {
        let small = if self.held.into_inner() { usize::MAX } else { self.small.into_inner() };
        [self.bad.into_inner(), small].into_iter().find(|&k| k != usize::MAX)
    }

    /// Whether entries of a row are large enough, as long as those of no other were.
    #[cold]
    fn seek(&self, row: usize, diag: &[f64], off: &[f64]) {
        if diag.iter().chain(off).any(|v| v.abs() >= self.least) {
            self.held.store(true, Ordering::Relaxed);
            return;
        }
        let sources = self.layout.off_of(self.inside, row);
        let beside = off.chunks_exact(self.block_len()).zip(sources);
        let blocks = beside.chain([(diag, self.layout.diagonal[row])]);
        let some = blocks.filter(|(block, _)| block.iter().any(|v| *v != 0.0));
        if let Some(first) = some.map(|(_, k)| k as usize).min() {
            self.small.fetch_min(first, Ordering::Relaxed);
        }
    }

    /// Values of a block.
    pub(super) fn block_len(&self) -> usize {
        self.nb * self.nb
    }

    /// Values of the off-diagonal blocks of a row.
    pub(super) fn off_len(&self, row: usize) -> usize {
        self.inside.range(row).len() * self.block_len()
    }

    /// Where the diagonal block of a row stands among all of them.
    pub(super) fn diag_at(&self, row: usize) -> Range<usize> {
        row * self.block_len()..(row + 1) * self.block_len()
    }

    /// Where the others do.
    pub(super) fn off_at(&self, row: usize) -> Range<usize> {
        let blocks = self.inside.range(row);
        blocks.start * self.block_len()..blocks.end * self.block_len()
    }

    /// Where the blocks of a row lie, in pieces of so many bytes.
    pub(super) fn places(&self, row: usize, tell: &mut dyn FnMut(*const u8, usize)) {
        let bytes = self.block_len() * size_of::<V>();
        if self.layout.diagonal[row] == Layout::GHOST {
            return;
        }
        let mut block = |k: u32| tell(self.given.block(k as usize).as_ptr().cast(), bytes);
        block(self.layout.diagonal[row]);
        let range = self.inside.range(row);
        if let Some(list) = &self.layout.off {
            list[range].iter().for_each(|&k| block(k));
        } else {
            let of_all = self.given.blocks(range.start + row, (range.len() + 1) * self.block_len());
            tell(of_all.as_ptr().cast(), size_of_val(of_all));
        }
    }

    /// Blocks of one value, few to a row: without what vectors cost at the ends of rows.
    #[inline(always)]
    fn row_of_scalars(&self, row: usize, diag: &mut f64, off: &mut [f64]) -> bool {
        let own = self.layout.diagonal[row] as usize;
        *diag = self.given.block(own)[0].double();
        let mut good = diag.is_finite();
        let mut put = |to: &mut f64, from: V| {
            *to = from.double();
            good &= to.abs() <= self.largest;
        };
        if let Some(list) = &self.layout.off {
            for (to, &k) in off.iter_mut().zip(&list[self.inside.range(row)]) {
                put(to, self.given.block(k as usize)[0]);
            }
        } else {
            let first = self.inside.range(row).start + row;
            let all = self.given.blocks(first, off.len() + 1);
            let (before, after) = off.split_at_mut(own - first);
            before.iter_mut().zip(all).for_each(|(to, &from)| put(to, from));
            after.iter_mut().zip(&all[own - first + 1..]).for_each(|(to, &from)| put(to, from));
        }
        good
    }

    /// Writes the diagonal block of a row and the others in f64, each by columns.
    #[inline(always)]
    pub(super) fn row(&self, row: usize, diag: &mut [f64], off: &mut [f64]) {
        if self.layout.diagonal[row] == Layout::GHOST {
            diag.fill(0.0);
            return diag.iter_mut().step_by(self.nb + 1).for_each(|one| *one = 1.0);
        }
        if let [own] = diag {
            if !self.row_of_scalars(row, own, off) {
                self.note(row, diag, off);
            }
            if !self.held.load(Ordering::Relaxed) {
                self.seek(row, diag, off);
            }
            return;
        }
        let (q, own) = (self.nb * self.nb, self.layout.diagonal[row]);
        self.take(self.given.block(own as usize), diag);
        if let Some(list) = &self.layout.off {
            for (to, &k) in off.chunks_exact_mut(q).zip(&list[self.inside.range(row)]) {
                self.take(self.given.block(k as usize), to);
            }
        } else {
            let first = self.inside.range(row).start + row;
            let (before, after) = off.split_at_mut((own as usize - first) * q);
            self.take(self.given.blocks(first, before.len()), before);
            self.take(self.given.blocks(own as usize + 1, after.len()), after);
        }
        // Without a branch a value.
        let within = |values: &[f64], largest| values.iter().fold(true, |all, v| all & (v.abs() <= largest));
        if !(within(diag, f64::MAX) & within(off, self.largest)) {
            self.note(row, diag, off);
        }
        if !self.held.load(Ordering::Relaxed) {
            self.seek(row, diag, off);
        }
    }

    /// Finds the first of the caller's blocks of a row with an entry that is no number.
    #[cold]
    fn note(&self, row: usize, diag: &[f64], off: &[f64]) {
        let (q, own) = (self.block_len(), self.layout.diagonal[row]);
        let sources = self.layout.off_of(self.inside, row);
        let beside = off.chunks_exact(q).zip(sources).map(|(block, k)| (block, k, self.largest));
        let blocks = beside.chain([(diag, own, f64::MAX)]);
        let bad = blocks.filter(|(block, _, largest)| !block.iter().all(|v| v.abs() <= *largest));
        if let Some(first) = bad.map(|(_, k, _)| k as usize).min() {
            self.bad.fetch_min(first, Ordering::Relaxed);
        }
    }

    /// Copies blocks that follow one another.
    #[inline(always)]
    fn take(&self, from: &[V], to: &mut [f64]) {
        let nb = self.nb;
        if self.blocks == BlockLayout::ColumnMajor || nb == 1 {
            to.iter_mut().zip(from).for_each(|(to, v)| *to = v.double());
            return;
        }
        for (to, from) in to.chunks_exact_mut(nb * nb).zip(from.chunks_exact(nb * nb)) {
            for c in 0..nb {
                for r in 0..nb {
                    to[c * nb + r] = from[r * nb + c].double();
                }
            }
        }
    }
}
