//! Which rows and lines of a color are launched together, and how warps go through lines.

use super::WARP;
use super::arguments::Line;
use crate::dist::Share;
use crate::order::RowBatches;
use crate::relax::lines::LineTable;
use crate::sparse::BlockPattern;
use crate::sparse::cuda::RowSets;
use std::ops::Range;
use std::sync::Arc;

/// The rows of a color: those of the border, which other ranks read or which read theirs, with the rest of their lines, and the others.
#[derive(Default)]
pub(super) struct Parts {
    /// Whole lines of several rows.
    pub lines: [Vec<Range<usize>>; 2],
    /// Rows that stand alone.
    alone: [Vec<Range<usize>>; 2],
    /// Rows of other ranks.
    ghosts: Vec<Range<usize>>,
}

/// Sets of rows of a color, in this order: lines of the border and others, rows alone of the border and others, ghosts.
const SETS: usize = 5;

impl Parts {
    /// Of each color, whose lines begin at `starts`; on one device alone all rows are inner ones.
    pub(super) fn of_colors(
        pattern: &BlockPattern,
        batches: &RowBatches,
        starts: &[u32],
        share: Option<&Share>,
    ) -> Vec<Self> {
        let mut needed = vec![false; if share.is_some() { pattern.rows() } else { 0 }];
        for batch in share.into_iter().flat_map(Share::batches) {
            batch.border.iter().for_each(|run| needed[run.clone()].fill(true));
        }
        let reads = |share: &Share, row: usize| pattern.columns(row).iter().any(|&c| !share.owns(c as usize));
        let part = |batch: Range<usize>| {
            let mut found = Self::default();
            let first = starts.partition_point(|&start| (start as usize) < batch.start);
            for line in starts[first..].windows(2).take_while(|line| (line[0] as usize) < batch.end) {
                let rows = line[0] as usize..line[1] as usize;
                if share.is_some_and(|share| !share.owns(rows.start)) {
                    found.ghosts.push(rows);
                    continue;
                }
                let kind = if rows.len() > 1 { &mut found.lines } else { &mut found.alone };
                let border =
                    share.is_some_and(|share| rows.clone().any(|row| needed[row] || reads(share, row)));
                kind[usize::from(!border)].push(rows);
            }
            found
        };
        batches.iter().map(part).collect()
    }

    /// The sets of rows of all colors.
    pub(super) fn sets(colors: &[Self]) -> RowSets {
        let of = |parts: &'_ Self| -> [Vec<Range<usize>>; SETS] {
            let Self { lines: [a, b], alone: [c, d], ghosts } = parts;
            [a, b, c, d, ghosts].map(Clone::clone)
        };
        let all: Vec<Vec<Range<usize>>> = colors.iter().flat_map(of).collect();
        RowSets::of_runs(all.iter().map(|runs| &runs[..]))
    }
}

/// What of a color is launched: of the border and of the rest, which follows it.
pub(super) struct Color {
    /// Chunks of rows in lines.
    pub in_lines: [Range<u32>; 2],
    /// The lines, a warp's together.
    pub lines: [Range<u32>; 2],
    /// Chunks of rows that stand alone.
    pub alone: [Range<u32>; 2],
}

/// Lines as warps go through them.
pub(super) struct Groups {
    pub lines: Vec<Line>,
    pub colors: Vec<Color>,
    /// Rows of the longest lines of all groups.
    pub slots: usize,
}

impl Groups {
    /// Of blocks of a size, with the chunks of the sets of all colors.
    pub(super) fn new(parts: &[Parts], sets: &[Range<u32>], nb: usize) -> Self {
        let mut found = Self { lines: Vec::new(), colors: Vec::new(), slots: 0 };
        for (parts, sets) in parts.iter().zip(sets.chunks_exact(SETS)) {
            let [border, rest] = &parts.lines;
            let border = found.add(border, nb);
            // The rest begins with a warp of its own.
            let last = found.lines.len();
            while !(found.lines.len() - border.start as usize).is_multiple_of(WARP / nb) {
                let at = (found.lines.len() - border.start as usize) % (WARP / nb);
                let slot = found.lines[last - 1].slot;
                found.lines.push(Line { row: 0, rows: 0, slot, lane: (at * nb) as u32 });
            }
            let border = border.start..found.lines.len() as u32;
            let rest = found.add(rest, nb);
            found.colors.push(Color {
                in_lines: [sets[0].clone(), sets[1].clone()],
                lines: [border, rest],
                alone: [sets[2].clone(), sets[3].clone()],
            });
        }
        found
    }

    fn add(&mut self, lines: &[Range<usize>], nb: usize) -> Range<u32> {
        let first = self.lines.len() as u32;
        for group in lines.chunks(WARP / nb) {
            let longest = group.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
            for (at, line) in group.iter().enumerate() {
                self.lines.push(Line {
                    row: line.start as u32,
                    rows: line.len() as u32,
                    slot: self.slots as u32,
                    lane: (at * nb) as u32,
                });
            }
            self.slots += longest;
        }
        first..self.lines.len() as u32
    }
}

/// The pattern without the couplings inside lines, which of the blocks each of its own is, and of each row the blocks A and C.
pub(super) fn without_lines(
    pattern: &BlockPattern,
    starts: &[u32],
    table: &LineTable,
) -> (Arc<BlockPattern>, Vec<u32>, Vec<u32>) {
    let (mut ptr, mut idx, mut kept) = (vec![0], Vec::new(), Vec::new());
    let (mut near, mut stored) = (Vec::with_capacity(2 * pattern.rows()), 0);
    let lines = starts.windows(2).map(|line| (line[1] - line[0], line[0]..line[1]));
    for (row, length) in lines.flat_map(|(length, rows)| rows.map(move |row| (row as usize, length))) {
        let mut skipped = 0..0;
        if length > 1 {
            skipped = table.near(stored);
            stored += 1;
        }
        let column = |k: usize| pattern.col_idx()[k] as usize;
        let find = |wanted: Option<usize>| skipped.clone().find(|&k| Some(column(k)) == wanted);
        for wanted in [row.checked_sub(1), Some(row + 1)] {
            near.push(find(wanted).map_or(u32::MAX, |k| k as u32));
        }
        for k in pattern.range(row).filter(|k| !skipped.contains(k)) {
            idx.push(column(k) as u32);
            kept.push(k as u32);
        }
        ptr.push(idx.len() as u32);
    }
    let rest = BlockPattern::new(pattern.cols(), ptr, idx).expect("columns ascend as before");
    (Arc::new(rest), kept, near)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of 2, 1 and 3 rows in the border, one more in the second color, 4 and 1 in the rest, blocks of 10: three lines a warp.
    #[test]
    fn parts_begin_with_warps_of_their_own() {
        let lines = [vec![0..2, 7..8, 4..7], vec![10..14, 20..21]];
        let border_of_four = [vec![0..2, 7..8, 4..7, 30..32], vec![10..14, 20..21]];
        let of = |lines: [Vec<Range<usize>>; 2]| Parts { lines, ..Parts::default() };
        let sets: Vec<Range<u32>> = (0..2 * SETS as u32).map(|k| k..k + 1).collect();
        let found = Groups::new(&[of(lines), of(border_of_four)], &sets, 10);
        let [first, second] = &found.colors[..] else { panic!("two colors") };
        assert_eq!((&first.lines, &second.lines), (&[0..3, 3..5], &[5..11, 11..13]));
        assert_eq!((&second.in_lines, &second.alone), (&[5..6, 6..7], &[7..8, 8..9]));
        let slots: Vec<u32> = found.lines.iter().map(|line| line.slot).collect();
        assert_eq!(slots, [0, 0, 0, 3, 3, 7, 7, 7, 10, 10, 10, 12, 12]);
        assert_eq!(found.slots, 16);
        let rows: Vec<u32> = found.lines.iter().map(|line| line.rows).collect();
        assert_eq!(rows, [2, 1, 3, 4, 1, 2, 1, 3, 2, 0, 0, 4, 1]);
        assert!(found.lines.iter().all(|line| line.lane < 30 && line.lane.is_multiple_of(10)));
    }
}
