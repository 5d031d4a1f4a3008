//! Who does which rows when.

use super::RowBatches;
use crate::sparse::BlockPattern;
use chromaflow_device::Team;
use std::ops::Range;

/// A batch with fewer stored values for each member than this is left to one of them: it takes less time than waiting
/// for one another.
const VALUES_WORTH_SHARING: usize = 1500;

/// Rows that a processor works on at once: in smaller batches a row may wait for the one before it.
const ROWS_IN_FLIGHT: usize = 8;

/// The work of one sweep, divided among the members of a team: each batch is cut so that every member gets about the
/// same number of blocks, and batches too small for that follow one another on one member. The first touch of a row's
/// data belongs to its owner.
///
/// Results do not depend on the division: every row is computed by one member, in the same way whoever it is.
#[derive(Clone, Debug)]
pub struct Schedule {
    steps: Vec<Step>,
    members: usize,
}

#[derive(Clone, Debug)]
enum Step {
    /// One batch; member m has the rows between cuts m and m + 1.
    Shared(Vec<u32>),
    /// Successive batches, all done by the first member in order; `chained` when they are so small that a row may need
    /// one that was updated just before it, `single` when it is but one.
    Alone { rows: Range<u32>, chained: bool, single: bool },
}

impl Schedule {
    /// Divides `batches` of a matrix with off-diagonal blocks of size `nb` on `pattern`.
    ///
    /// # Panics
    /// When the batches have more rows than the pattern.
    #[must_use]
    pub fn new(pattern: &BlockPattern, nb: usize, batches: &RowBatches, members: usize) -> Self {
        let mut steps = Vec::new();
        for batch in batches.iter().filter(|b| !b.is_empty()) {
            // A row costs its blocks and about two more for its diagonal and its vectors.
            let cost = |row: usize| pattern.row_ptr()[row] as usize + 2 * row;
            let (first, total) = (cost(batch.start), cost(batch.end) - cost(batch.start));
            let values = total * nb * nb;
            // Whatever the number of members, so that rows are computed in the same way.
            let small = batch.len() < ROWS_IN_FLIGHT && values < ROWS_IN_FLIGHT * VALUES_WORTH_SHARING;
            if members == 1 || small || values < members * VALUES_WORTH_SHARING {
                // A member on its own has no barriers to save.
                let join = small || members > 1;
                match steps.last_mut() {
                    Some(Step::Alone { rows, chained, single }) if join && *chained == small => {
                        rows.end = batch.end as u32;
                        *single = false;
                    }
                    _ => {
                        let rows = batch.start as u32..batch.end as u32;
                        steps.push(Step::Alone { rows, chained: small, single: true });
                    }
                }
                continue;
            }
            let cut = |member: usize| {
                let target = first + total * member / members;
                let (mut low, mut high) = (batch.start, batch.end);
                while low < high {
                    let middle = usize::midpoint(low, high);
                    if cost(middle) < target { low = middle + 1 } else { high = middle }
                }
                low as u32
            };
            steps.push(Step::Shared((0..=members).map(cut).collect()));
        }
        Self { steps, members }
    }

    /// The division for a team.
    #[must_use]
    pub fn for_team(pattern: &BlockPattern, nb: usize, batches: &RowBatches, team: &Team) -> Self {
        Self::new(pattern, nb, batches, team.size())
    }

    /// The same with lines left whole: members take those that begin in their part.
    #[must_use]
    pub fn of_lines(mut self, batches: &RowBatches) -> Self {
        let Some(lines) = batches.lines() else { return self };
        for step in &mut self.steps {
            if let Step::Shared(cuts) = step {
                for cut in cuts {
                    *cut = lines[lines.partition_point(|start| *start < *cut)];
                }
            }
        }
        self
    }

    /// Number of members the work is divided among.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Number of steps of a sweep; the members wait for one another after each.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The rows of `member` in a step (none, where the first member works alone).
    pub fn rows(&self, step: usize, member: usize) -> Range<usize> {
        let range = match &self.steps[step] {
            Step::Shared(cuts) => cuts[member]..cuts[member + 1],
            Step::Alone { rows, .. } if member == 0 => rows.clone(),
            Step::Alone { rows, .. } => rows.end..rows.end,
        };
        range.start as usize..range.end as usize
    }

    /// Whether rows of a step may need the row updated just before them.
    pub(crate) fn chained(&self, step: usize) -> bool {
        matches!(self.steps[step], Step::Alone { chained: true, .. })
    }

    /// Whether the rows of a step are independent of one another, so that any order gives the same.
    pub(crate) fn independent(&self, step: usize) -> bool {
        !matches!(self.steps[step], Step::Alone { single: false, .. })
    }

    /// All rows of `member`: those whose data it should write first.
    pub fn owned(&self, member: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        (0..self.steps.len()).map(move |step| self.rows(step, member)).filter(|rows| !rows.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_owner_and_work_is_even() {
        // Two batches of 1000 rows; rows of the second have as many blocks as their number's last digit.
        let degree = |row: usize| if row < 1000 { 3 } else { row % 10 };
        let mut row_ptr = vec![0];
        let mut col_idx = Vec::new();
        for row in 0..2000 {
            let other = if row < 1000 { 1000 } else { 0 };
            col_idx.extend((0..degree(row)).map(|k| (other + k) as u32));
            row_ptr.push(col_idx.len() as u32);
        }
        let pattern = BlockPattern::new(2000, row_ptr, col_idx).unwrap();
        let batches = RowBatches::new(vec![0, 1000, 1000, 2000]);
        for members in [1, 2, 3, 7] {
            let s = Schedule::new(&pattern, 5, &batches, members);
            let mut seen = vec![0; 2000];
            (0..members).flat_map(|m| s.owned(m)).flatten().for_each(|row| seen[row] += 1);
            assert!(seen.iter().all(|&n| n == 1));
            if members > 1 {
                assert_eq!(s.steps(), 2);
                let blocks = |m| s.rows(1, m).map(degree).sum::<usize>();
                let (least, most) =
                    (0..members).map(blocks).fold((usize::MAX, 0), |(l, h), b| (l.min(b), h.max(b)));
                assert!(most - least <= 30, "{members}: {least} to {most}");
            }
        }
    }

    #[test]
    fn small_batches_stay_together() {
        let pattern = BlockPattern::new(100, vec![0; 101], vec![]).unwrap();
        let single_rows = RowBatches::new((0..=100).collect());
        let s = Schedule::new(&pattern, 5, &single_rows, 4);
        assert_eq!((s.steps(), s.rows(0, 0), s.rows(0, 3)), (1, 0..100, 100..100));
    }
}
