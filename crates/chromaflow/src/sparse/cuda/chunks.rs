//! How rows are cut into chunks: rows of like length together.

use crate::sparse::BlockPattern;
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// A chunk of rows that are stored together, padded to the longest of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Chunk {
    /// Slots of all chunks before this one.
    pub slot: u32,
    /// Slots: blocks of the longest row.
    pub slots: u32,
    /// Place of the first row in the order of the chunks.
    pub row: u32,
    /// Rows.
    pub rows: u32,
}

/// Sets of rows that are launched one by one.
#[derive(Clone, Debug)]
pub(crate) struct RowSets {
    /// All rows, set after set.
    pub rows: Vec<u32>,
    /// Where each set's rows are in that list.
    pub sets: Vec<Range<usize>>,
}

impl RowSets {
    /// Ranges that follow one another over all rows.
    pub fn in_order(rows: usize, batches: &[Range<usize>]) -> Self {
        Self { rows: (0..rows as u32).collect(), sets: batches.to_vec() }
    }

    /// Sets of runs of rows, each row in one of them.
    pub fn of_runs<'a>(sets: impl IntoIterator<Item = &'a [Range<usize>]>) -> Self {
        let mut all = Self { rows: Vec::new(), sets: Vec::new() };
        for runs in sets {
            let first = all.rows.len();
            all.rows.extend(runs.iter().flat_map(|run| run.start as u32..run.end as u32));
            all.sets.push(first..all.rows.len());
        }
        all
    }

    /// Whether the rows stand in their own order.
    pub fn is_in_order(&self) -> bool {
        self.rows.iter().enumerate().all(|(i, &row)| i == row as usize)
    }
}

/// Rows cut into chunks.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// Row of the matrix at each place of the chunks.
    pub perm: Vec<u32>,
    pub chunks: Vec<Chunk>,
    /// Chunks of each batch.
    pub batches: Vec<Range<u32>>,
    /// Whether the rows stand as they did.
    pub in_order: bool,
    /// Slots of all chunks.
    pub slots: usize,
}

impl Cut {
    /// Within every batch the rows of each `window` are sorted by length, longest first, and cut into chunks of `size`.
    ///
    /// A window keeps rows near where they were, so that what they gather stays near too.
    pub fn new(pattern: &BlockPattern, order: &RowSets, size: usize, window: usize) -> Self {
        let rows = pattern.rows();
        let length = |row: u32| pattern.range(row as usize).len() as u32;
        let (mut perm, batches) = (order.rows.clone(), &order.sets);
        let mut chunks = Vec::with_capacity(rows.div_ceil(size) + batches.len());
        let mut ranges = Vec::with_capacity(batches.len());
        let mut slots = 0usize;
        for batch in batches {
            let first = chunks.len() as u32;
            for part in perm[batch.clone()].chunks_mut(window) {
                part.sort_by_key(|&row| std::cmp::Reverse(length(row)));
            }
            for (i, part) in perm[batch.clone()].chunks(size).enumerate() {
                let longest = part.iter().map(|&row| length(row)).max().unwrap_or(0);
                chunks.push(Chunk {
                    slot: slots as u32,
                    slots: longest,
                    row: (batch.start + i * size) as u32,
                    rows: part.len() as u32,
                });
                slots += longest as usize;
            }
            ranges.push(first..chunks.len() as u32);
        }
        let in_order = perm.iter().enumerate().all(|(i, &row)| i == row as usize);
        Self { perm, chunks, batches: ranges, in_order, slots }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{Plan, PlanOptions};
    use crate::sparse::SIGMA;

    /// What a plan makes of a pattern needs no other order: windows of the format divide those of the plan.
    #[test]
    fn rows_of_a_plan_stand_in_order() {
        let (row_ptr, columns) = crate::gallery::banded_lattice(5000, 60_000, 3);
        let pattern = BlockPattern::new(5000, row_ptr, columns).unwrap();
        let plan = Plan::new(&pattern, &PlanOptions::default()).unwrap();
        let (pattern, _) = pattern.permuted(&plan.permutation);
        plan.batches.check(&pattern).unwrap();
        let batches: Vec<_> = plan.batches.iter().collect();
        assert!(batches.iter().any(|b| b.len() > 300));
        for window in [256, SIGMA] {
            assert!(Cut::new(&pattern, &RowSets::in_order(5000, &batches), 32, window).in_order);
        }
        let shuffled: Vec<u32> = (0..5000).map(|i| i * 7 % 5000).collect();
        let (pattern, _) = pattern.permuted(&crate::Permutation::from_old_of_new(shuffled).unwrap());
        let all = RowSets::in_order(5000, std::slice::from_ref(&(0..5000)));
        assert!(!Cut::new(&pattern, &all, 32, SIGMA).in_order);
    }

    #[test]
    fn rows_are_sorted_within_windows_of_a_batch() {
        // Lengths 1 0 2 | 3 1 (columns of the other batch, ascending).
        let p = BlockPattern::new(5, vec![0, 1, 1, 3, 6, 7], vec![3, 3, 4, 0, 1, 2, 0]).unwrap();
        let sets = RowSets::in_order(5, &[0..3, 3..5]);
        let l = Cut::new(&p, &sets, 2, 8);
        assert_eq!(l.perm, [2, 0, 1, 3, 4]);
        let chunk = |slot, slots, row, rows| Chunk { slot, slots, row, rows };
        assert_eq!(l.chunks, [chunk(0, 2, 0, 2), chunk(2, 0, 2, 1), chunk(2, 3, 3, 2)]);
        assert_eq!(l.batches, [0..2, 2..3]);
        assert_eq!(l.slots, 5);
        // A window of two rows does not reach over its end.
        let l = Cut::new(&p, &sets, 2, 2);
        assert_eq!(l.perm, [0, 1, 2, 3, 4]);
        // Rows of a set may lie apart: 4 and 1, then none, then the others.
        let sets = RowSets::of_runs([&[4..5, 1..2][..], &[], &[0..1, 2..4]]);
        let l = Cut::new(&p, &sets, 2, 8);
        assert_eq!((l.perm, l.in_order), (vec![4, 1, 3, 2, 0], false));
        assert_eq!(l.batches, [0..1, 1..1, 1..3]);
        assert_eq!(l.chunks, [chunk(0, 1, 0, 2), chunk(1, 3, 2, 2), chunk(4, 1, 4, 1)]);
    }
}
