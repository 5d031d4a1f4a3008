//! Lines of strong coupling: rows to be solved for together.

use super::{Adjacency, Coloring, Permutation, RowBatches};
use std::cmp::Reverse;

/// Rows in lines, each a chain of rows that are coupled more strongly to one another than to others; no row lies in two. Rows in none
/// stand alone.
///
/// **Source**: Mavriplis, *Multigrid strategies for viscous flow solvers on anisotropic unstructured meshes* (J. Comput.
/// Phys. 145, 1998).
///
/// ```
/// use chromaflow::order::{Adjacency, Lines};
/// use chromaflow::BlockPattern;
/// // A square 0 1 / 2 3 whose sides 0-2 and 1-3 are ten times as strong as the others.
/// let square = BlockPattern::new(4, vec![0, 2, 4, 6, 8], vec![1, 2, 0, 3, 0, 3, 1, 2])?;
/// let strength = |i: usize, j: usize| if i.abs_diff(j) == 2 { 10.0 } else { 1.0 };
/// let lines = Lines::of(&Adjacency::of(&square)?, strength, 4.0);
/// assert_eq!(lines.iter().collect::<Vec<_>>(), [[0, 2], [1, 3]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    all: usize,
    offsets: Vec<u32>,
    rows: Vec<u32>,
}

/// Lines that are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} has row {row}, which is out of range or lies in a line already: the matrix has {rows} rows"
)]
pub struct LinesError {
    /// The line.
    pub line: usize,
    /// The row.
    pub row: u32,
    /// Rows of the matrix.
    pub rows: usize,
}

impl Lines {
    /// Lines of a matrix with so many rows from the lists of their rows; those of less than two are left out.
    ///
    /// # Errors
    /// [`LinesError`] when a row is out of range or named twice.
    pub fn new(rows: usize, lists: &[Vec<u32>]) -> Result<Self, LinesError> {
        let mut free = vec![true; rows];
        let mut lines = Self::none(rows);
        for (line, list) in lists.iter().enumerate() {
            for &row in list {
                if !free.get_mut(row as usize).is_some_and(std::mem::take) {
                    return Err(LinesError { line, row, rows });
                }
            }
            lines.push(list);
        }
        Ok(lines)
    }

    /// Lines along the strongest couplings of a graph: `strength(i, j)` of neighbors i and j, the same as of j and i.
    ///
    /// Rows begin lines in the order of their strongest coupling over their weakest one. From row i, reached from row p, a line goes on to
    /// the row j of the strongest coupling but p's, while `s_ij >= ratio * mean of s_ik, k != p, j` (of a row without others: while
    /// `ratio * s_ij >= s_ip`), and ends where j lies in a line already; from its first row it goes both ways. The same graph gives the
    /// same lines.
    pub fn of(graph: &Adjacency, strength: impl Fn(usize, usize) -> f64, ratio: f64) -> Self {
        let rows = graph.rows();
        let spread = |row: usize| {
            let all = graph.neighbors(row).iter().map(|&n| strength(row, n as usize));
            let (least, most) = all.fold((f64::INFINITY, 0.0_f64), |(l, m), s| (l.min(s), m.max(s)));
            most / least
        };
        let mut seeds: Vec<(f64, u32)> = (0..rows as u32).map(|row| (spread(row as usize), row)).collect();
        seeds.retain(|&(spread, _)| spread >= ratio);
        seeds.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let strongest = |row: usize, but: Option<u32>| {
            let others = graph.neighbors(row).iter().filter(|&&n| Some(n) != but);
            others
                .map(|&n| (strength(row, n as usize), n))
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
        };
        let next = |row: usize, from: Option<u32>| {
            let (strong, to) = strongest(row, from)?;
            let others = graph.neighbors(row).iter().filter(|&&n| Some(n) != from && n != to);
            let (sum, count) =
                others.fold((0.0, 0), |(sum, count), &n| (sum + strength(row, n as usize), count + 1));
            let goes_on = match (count, from) {
                (0, Some(from)) => strong * ratio >= strength(row, from as usize),
                _ => strong * f64::from(count) >= ratio * sum,
            };
            goes_on.then_some(to)
        };
        let mut free = vec![true; rows];
        let mut lines = Self::none(rows);
        let (mut line, mut ahead) = (Vec::new(), Vec::new());
        for (_, seed) in seeds {
            if !free[seed as usize] {
                continue;
            }
            free[seed as usize] = false;
            let mut walk = |from: Option<u32>, line: &mut Vec<u32>| {
                let (mut row, mut from) = (seed, from);
                while let Some(to) = next(row as usize, from).filter(|&to| free[to as usize]) {
                    free[to as usize] = false;
                    line.push(to);
                    (from, row) = (Some(row), to);
                }
            };
            let first = strongest(seed as usize, None).map(|(_, n)| n);
            let second = strongest(seed as usize, first).map(|(_, n)| n);
            line.clear();
            ahead.clear();
            walk(first, &mut line);
            line.reverse();
            line.push(seed);
            walk(second, &mut ahead);
            line.append(&mut ahead);
            if line.len() == 1 {
                free[seed as usize] = true;
            }
            lines.push(&line);
        }
        lines
    }

    fn none(rows: usize) -> Self {
        Self { all: rows, offsets: vec![0], rows: Vec::new() }
    }

    fn push(&mut self, line: &[u32]) {
        if line.len() > 1 {
            self.rows.extend_from_slice(line);
            self.offsets.push(self.rows.len() as u32);
        }
    }

    /// Whether no row lies in a line.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Number of lines, of two rows at least.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Rows of the matrix.
    pub fn rows(&self) -> usize {
        self.all
    }

    /// Rows in lines.
    pub fn covered(&self) -> usize {
        self.rows.len()
    }

    /// The rows of each line, in its direction.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.offsets.windows(2).map(|w| &self.rows[w[0] as usize..w[1] as usize])
    }

    /// The same lines of renumbered rows.
    pub(super) fn renumbered(&self, permutation: &Permutation) -> Self {
        let rows = self.rows.iter().map(|&row| permutation.new_of_old()[row as usize]).collect();
        Self { all: self.all, offsets: self.offsets.clone(), rows }
    }

    /// All rows in groups: lines, and rows alone, in the order of the first row of each.
    pub(super) fn grouped(&self, graph: &Adjacency) -> Grouped {
        let mut line_of = vec![u32::MAX; self.all];
        for (line, rows) in self.iter().enumerate() {
            for &row in rows {
                line_of[row as usize] = line as u32;
            }
        }
        let mut group_of = vec![u32::MAX; self.all];
        let (mut offsets, mut rows) = (vec![0], Vec::with_capacity(self.all));
        for row in 0..self.all as u32 {
            if group_of[row as usize] != u32::MAX {
                continue;
            }
            let group = offsets.len() as u32 - 1;
            let alone = [row];
            let own = match line_of[row as usize] {
                u32::MAX => &alone[..],
                line => {
                    &self.rows[self.offsets[line as usize] as usize..self.offsets[line as usize + 1] as usize]
                }
            };
            for &row in own {
                group_of[row as usize] = group;
            }
            rows.extend_from_slice(own);
            offsets.push(rows.len());
        }
        let graph = graph.of_groups(offsets.windows(2).map(|w| &rows[w[0]..w[1]]), &group_of);
        Grouped { graph, offsets, rows }
    }
}

/// Rows in groups, and the graph of these.
pub(super) struct Grouped {
    pub(super) graph: Adjacency,
    offsets: Vec<usize>,
    rows: Vec<u32>,
}

impl Grouped {
    /// A number for each group: the lowest of its rows'.
    pub(super) fn numbers(&self, of_row: &[u32]) -> Vec<u32> {
        let group = |w: &[usize]| self.rows[w[0]..w[1]].iter().map(|&row| of_row[row as usize]).min();
        self.offsets.windows(2).map(|w| group(w).expect("a group has rows")).collect()
    }

    /// Rows color by color, in a color group by group, large ones first and else as they stand.
    pub(super) fn renumber(&self, coloring: &Coloring) -> (Permutation, RowBatches) {
        let (groups, colors) = coloring.renumber();
        let (mut rows, mut offsets, mut lines) = (Vec::with_capacity(self.rows.len()), vec![0], vec![0]);
        for color in colors.iter() {
            let mut own: Vec<_> = groups.old_of_new()[color]
                .iter()
                .map(|&group| &self.rows[self.offsets[group as usize]..self.offsets[group as usize + 1]])
                .collect();
            own.sort_by_key(|rows| Reverse(rows.len()));
            for line in own {
                rows.extend_from_slice(line);
                lines.push(rows.len() as u32);
            }
            offsets.push(rows.len() as u32);
        }
        let permutation = Permutation::from_old_of_new(rows).expect("every row lies in one group");
        (permutation, RowBatches::new(offsets).of_lines(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use crate::BlockPattern;
    use crate::order::{Adjacency, ColoringMethod, Plan, PlanOptions, VertexOrder};
    use chromaflow_device::Team;

    /// A grid of nx by ny rows, row (i, j) at i * ny + j.
    fn grid(nx: usize, ny: usize) -> BlockPattern {
        let (mut ptr, mut idx) = (vec![0], Vec::new());
        for i in 0..nx {
            for j in 0..ny {
                let at = i * ny + j;
                let near = [
                    (i > 0, at.wrapping_sub(ny)),
                    (j > 0, at.wrapping_sub(1)),
                    (j + 1 < ny, at + 1),
                    (i + 1 < nx, at + ny),
                ];
                idx.extend(near.iter().filter(|(is, _)| *is).map(|&(_, n)| n as u32));
                ptr.push(idx.len() as u32);
            }
        }
        BlockPattern::new(nx * ny, ptr, idx).unwrap()
    }

    /// Spacing grows from the wall j = 0 by 1.3 a layer up to that along it: lines go straight away from it and end where cells are
    /// no longer four times as long as high.
    #[test]
    fn lines_leave_the_wall_and_end_where_cells_are_square() {
        let (nx, ny) = (9, 30);
        let graph = Adjacency::of(&grid(nx, ny)).unwrap();
        let height = |j: usize| 1e-3 * 1.3_f64.powi(j as i32);
        let strength = |a: usize, b: usize| {
            let (low, high) = (a.min(b), a.max(b));
            if high - low == 1 { 1.0 / height(low % ny) } else { 1.0 }
        };
        let lines = Lines::of(&graph, strength, 4.0);
        assert_eq!(lines.len(), nx);
        // From row j the line goes on while 4 h_j <= 1.
        let length = (0..ny).find(|&j| 4.0 * height(j) > 1.0).unwrap() + 1;
        let mut seen: Vec<_> = lines.iter().map(<[u32]>::to_vec).collect();
        seen.sort();
        for (i, line) in seen.iter().enumerate() {
            let straight: Vec<u32> = (0..length).map(|j| (i * ny + j) as u32).collect();
            assert_eq!(*line, straight);
        }
        assert!(Lines::of(&graph, |_, _| 1.0, 4.0).is_empty());
    }

    #[test]
    fn a_plan_of_lines_keeps_them_together_and_apart_from_one_another() {
        let (nx, ny) = (13, 11);
        let pattern = grid(nx, ny);
        let lists: Vec<Vec<u32>> =
            (0..nx).map(|i| (0..ny - i % 4).rev().map(|j| (i * ny + j) as u32).collect()).collect();
        let lines = Lines::new(nx * ny, &lists).unwrap();
        for coloring in [
            ColoringMethod::Greedy(VertexOrder::SmallestLast),
            ColoringMethod::Fewest,
            ColoringMethod::Parallel,
            ColoringMethod::Levels,
        ] {
            let options = PlanOptions { coloring, ..PlanOptions::default() };
            let plan = Plan::of_lines(&pattern, &lines, &options, &Team::new(2)).unwrap();
            let (inside, _) = pattern.permuted(&plan.permutation);
            plan.batches.check(&inside).unwrap();
            for list in &lists {
                let first = plan.permutation.new_of_old()[list[0] as usize] as usize;
                assert_eq!(plan.batches.line_of(first), first..first + list.len());
                assert_eq!(&plan.permutation.old_of_new()[first..first + list.len()], &list[..]);
            }
            for batch in plan.batches.iter() {
                let (mut lengths, mut row) = (Vec::new(), batch.start);
                while row < batch.end {
                    lengths.push(plan.batches.line_of(row).len());
                    row += lengths[lengths.len() - 1];
                }
                assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
                let alone = lengths.iter().filter(|&&length| length == 1).count();
                assert_eq!(plan.batches.alone(batch.clone()), batch.end - alone..batch.end);
            }
        }
        // A row that reads another line of its color is named.
        let plan = Plan::of_lines(&pattern, &lines, &PlanOptions::default(), &Team::new(1)).unwrap();
        assert!(plan.batches.check(&pattern).is_err());
    }

    #[test]
    fn rows_lie_in_one_line() {
        let twice = Lines::new(4, &[vec![0, 1], vec![2, 1]]).unwrap_err();
        assert_eq!((twice.line, twice.row), (1, 1));
        assert_eq!(Lines::new(4, &[vec![0, 4]]).unwrap_err().row, 4);
        assert_eq!(Lines::new(4, &[vec![3], vec![0, 2]]).unwrap().covered(), 2);
        let other = Lines::new(4, &[vec![0, 2]]).unwrap();
        let refused =
            Plan::of_lines(&grid(2, 3), &other, &PlanOptions::default(), &Team::new(1)).unwrap_err();
        assert!(refused.to_string().contains("lines"), "{refused}");
    }
}
