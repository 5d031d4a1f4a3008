//! The graph of a pattern.

use super::Permutation;
use crate::BlockPattern;
use crate::sparse::ShapeError;
use crate::vector;
use chromaflow_device::{Team, split};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Which rows are coupled: rows i and j are neighbors when block (i, j) or block (j, i) is stored. No row is its own
/// neighbor, and neighbors ascend.
///
/// ```
/// use chromaflow::{BlockPattern, order::Adjacency};
/// // Row 0 reads column 2, row 2 does not read column 0: neighbors all the same.
/// let pattern = BlockPattern::new(3, vec![0, 2, 3, 4], vec![0, 2, 1, 2])?;
/// let graph = Adjacency::of(&pattern)?;
/// assert_eq!(graph.neighbors(2), [0]);
/// assert_eq!(graph.degree(1), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjacency {
    ptr: Vec<usize>,
    idx: Vec<u32>,
}

impl Adjacency {
    /// The graph of a square pattern, made symmetric where the pattern is not.
    ///
    /// # Errors
    /// [`ShapeError::NotSquare`].
    pub fn of(pattern: &BlockPattern) -> Result<Self, ShapeError> {
        Self::with_team(pattern, &Team::new(1))
    }

    /// The same on all members of a team, where the pattern is symmetric.
    ///
    /// # Errors
    /// As [`Adjacency::of`].
    pub fn with_team(pattern: &BlockPattern, team: &Team) -> Result<Self, ShapeError> {
        let rows = pattern.rows();
        if rows != pattern.cols() {
            return Err(ShapeError::NotSquare { rows, cols: pattern.cols() });
        }
        if team.size() == 1 {
            return Ok(Self::merged(pattern));
        }
        // Every block above the diagonal has its mirror image, and there are as many below it.
        let (one_sided, above, below) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        team.run(|member| {
            let mut counts = [0; 2];
            for row in member.share(rows) {
                let columns = pattern.columns(row);
                let start = columns.partition_point(|&c| c as usize <= row);
                let on_it = usize::from(start > 0 && columns[start - 1] as usize == row);
                counts = [counts[0] + columns.len() - start, counts[1] + start - on_it];
                let mut others = columns[start..].iter();
                if one_sided.load(Relaxed) || others.any(|&c| pattern.find(c as usize, row).is_none()) {
                    return one_sided.store(true, Relaxed);
                }
            }
            above.fetch_add(counts[0], Relaxed);
            below.fetch_add(counts[1], Relaxed);
        });
        if one_sided.into_inner() || above.into_inner() != below.into_inner() {
            return Ok(Self::merged(pattern));
        }
        let others = |row: usize| pattern.columns(row).iter().filter(move |&&c| c as usize != row);
        // The diagonal, where it is there, stands in its place.
        let degree = |row: usize| {
            let columns = pattern.columns(row);
            columns.len() - usize::from(columns.binary_search(&(row as u32)).is_ok())
        };
        Ok(Self::filled(rows, degree, team, |row, near| {
            near.iter_mut().zip(others(row)).for_each(|(slot, &c)| *slot = c);
        }))
    }

    /// The union of a square pattern with its transpose, on one thread.
    fn merged(pattern: &BlockPattern) -> Self {
        let rows = pattern.rows();
        // The transposed pattern, its rows ascending because they are filled by ascending columns.
        let mut start = vec![0_usize; rows + 1];
        for &c in pattern.col_idx() {
            start[c as usize + 1] += 1;
        }
        for row in 0..rows {
            start[row + 1] += start[row];
        }
        let mut next = start.clone();
        let mut transposed = vec![0_u32; pattern.nnzb()];
        for row in 0..rows {
            for &c in pattern.columns(row) {
                transposed[next[c as usize]] = row as u32;
                next[c as usize] += 1;
            }
        }
        let (mut ptr, mut idx) = (vec![0], Vec::with_capacity(pattern.nnzb()));
        for row in 0..rows {
            let (a, b) = (pattern.columns(row), &transposed[start[row]..start[row + 1]]);
            if a == b {
                // Most rows of most patterns are symmetric: nothing to merge.
                let before = a.partition_point(|&c| (c as usize) < row);
                let own = a.get(before).is_some_and(|&c| c as usize == row);
                idx.extend_from_slice(&a[..before]);
                idx.extend_from_slice(&a[before + usize::from(own)..]);
            } else {
                merge(a, b, |c| {
                    if c as usize != row {
                        idx.push(c);
                    }
                });
            }
            ptr.push(idx.len());
        }
        Self { ptr, idx }
    }

    /// A graph of so many rows with so many neighbors each, which the members of a team fill in.
    fn filled(
        rows: usize,
        degree: impl Fn(usize) -> usize + Sync,
        team: &Team,
        fill: impl Fn(usize, &mut [u32]) + Sync,
    ) -> Self {
        let mut ptr = vec![0; rows + 1];
        vector::for_shares(team, &mut ptr[1..], |share, counts| {
            share.zip(counts).for_each(|(row, count)| *count = degree(row));
        });
        (0..rows).for_each(|row| ptr[row + 1] += ptr[row]);
        let mut idx = vec![0_u32; ptr[rows]];
        let mut rest = &mut idx[..];
        let part = |member: usize| {
            let rows = split(rows, team.size(), member);
            let (own, after) = std::mem::take(&mut rest).split_at_mut(ptr[rows.end] - ptr[rows.start]);
            rest = after;
            Mutex::new(own)
        };
        let parts: Vec<_> = (0..team.size()).map(part).collect();
        team.run(|member| {
            let mut own = parts[member.rank()].lock().expect("each member locks its own part once");
            let range = member.share(rows);
            let first = ptr[range.start];
            range.for_each(|row| fill(row, &mut own[ptr[row] - first..ptr[row + 1] - first]));
        });
        drop(parts);
        Self { ptr, idx }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Number of pairs of neighbors.
    pub fn edges(&self) -> usize {
        self.idx.len() / 2
    }

    /// Neighbors of `row`, ascending.
    pub fn neighbors(&self, row: usize) -> &[u32] {
        &self.idx[self.ptr[row]..self.ptr[row + 1]]
    }

    /// Number of neighbors of `row`.
    pub fn degree(&self, row: usize) -> usize {
        self.ptr[row + 1] - self.ptr[row]
    }

    /// The most neighbors any row has.
    pub fn max_degree(&self) -> usize {
        (0..self.rows()).map(|row| self.degree(row)).max().unwrap_or(0)
    }

    /// The graph of groups of rows, `groups [groups]` with their rows and `group_of [rows]`: two are neighbors where rows of them are.
    pub(super) fn of_groups<'a>(&self, groups: impl Iterator<Item = &'a [u32]>, group_of: &[u32]) -> Self {
        let (mut ptr, mut idx) = (vec![0], Vec::new());
        let mut near = Vec::new();
        for (own, rows) in groups.enumerate() {
            near.clear();
            for &row in rows {
                near.extend(self.neighbors(row as usize).iter().map(|&n| group_of[n as usize]));
            }
            near.sort_unstable();
            near.dedup();
            idx.extend(near.iter().filter(|&&group| group as usize != own));
            ptr.push(idx.len());
        }
        Self { ptr, idx }
    }

    /// The same graph with its rows renumbered.
    ///
    /// # Panics
    /// When the permutation has another length.
    pub fn permuted(&self, permutation: &Permutation) -> Self {
        self.permuted_with(permutation, &Team::new(1))
    }

    /// The same on all members of a team.
    ///
    /// # Panics
    /// As [`Adjacency::permuted`].
    pub fn permuted_with(&self, permutation: &Permutation, team: &Team) -> Self {
        assert_eq!(self.rows(), permutation.len());
        let old = |row: usize| permutation.old_of_new()[row] as usize;
        Self::filled(
            self.rows(),
            |row| self.degree(old(row)),
            team,
            |row, near| {
                for (slot, &c) in near.iter_mut().zip(self.neighbors(old(row))) {
                    *slot = permutation.new_of_old()[c as usize];
                }
                near.sort_unstable();
            },
        )
    }
}

/// The union of two ascending lists.
fn merge(a: &[u32], b: &[u32], mut push: impl FnMut(u32)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let left = a.get(i).copied().unwrap_or(u32::MAX);
        let right = b.get(j).copied().unwrap_or(u32::MAX);
        push(left.min(right));
        i += usize::from(left <= right);
        j += usize::from(right <= left);
    }
}
