//! Reverse Cuthill-McKee.

use super::{Adjacency, Permutation};

/// How far from the diagonal a matrix reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// max |i - j| over neighbors i, j.
    pub bandwidth: usize,
    /// Sum over rows i of i - min(i, its neighbors): the blocks a lower skyline would hold.
    pub profile: u64,
}

impl Spread {
    /// Of a graph in its own order.
    pub fn of(graph: &Adjacency) -> Self {
        let mut spread = Self::default();
        for row in 0..graph.rows() {
            if let Some(&first) = graph.neighbors(row).first() {
                let reach = row.saturating_sub(first as usize);
                spread.bandwidth = spread.bandwidth.max(reach);
                spread.profile += reach as u64;
            }
        }
        spread
    }

    /// Of a graph whose rows would stand at `position`.
    pub(super) fn at(graph: &Adjacency, position: &[u32]) -> Self {
        let mut spread = Self::default();
        for row in 0..graph.rows() {
            let first = graph.neighbors(row).iter().map(|&n| position[n as usize]).min();
            if let Some(first) = first {
                let reach = position[row].saturating_sub(first) as usize;
                spread.bandwidth = spread.bandwidth.max(reach);
                spread.profile += reach as u64;
            }
        }
        spread
    }
}

/// Renumbers the rows so that neighbors have numbers close to one another.
///
/// Each component is numbered level by level from a pseudo-peripheral row, the rows of a level in the order of their
/// first numbered neighbor and then by ascending degree; in the end the whole numbering is reversed. Ties go to the
/// lower old number, so the result is unique. Components keep the order of their lowest rows, reversed.
///
/// **Source**: Cuthill and McKee (1969); reversal: George (1971); start: George and Liu (1979), "An implementation of
/// a pseudoperipheral node finder", Algorithm 2.
pub fn reverse_cuthill_mckee(graph: &Adjacency) -> Permutation {
    let rows = graph.rows();
    let mut order: Vec<u32> = Vec::with_capacity(rows);
    let mut numbered = vec![false; rows];
    let mut search = Search { level: vec![u32::MAX; rows], queue: Vec::new() };
    for row in 0..rows {
        if numbered[row] {
            continue;
        }
        let start = search.pseudo_peripheral(graph, row);
        let mut head = order.len();
        numbered[start] = true;
        order.push(start as u32);
        while head < order.len() {
            let at = order.len();
            for &next in graph.neighbors(order[head] as usize) {
                if !numbered[next as usize] {
                    numbered[next as usize] = true;
                    order.push(next);
                }
            }
            order[at..].sort_by_key(|&r| graph.degree(r as usize)); // stable: ties stay ascending
            head += 1;
        }
    }
    order.reverse();
    Permutation::from_old_of_new(order).expect("every row is numbered once")
}

/// Breadth-first search whose work arrays serve all components.
struct Search {
    level: Vec<u32>,
    queue: Vec<u32>,
}

impl Search {
    /// Levels from `start`; the queue holds the component in the order of the search.
    fn levels(&mut self, graph: &Adjacency, start: usize) -> u32 {
        for &row in &self.queue {
            self.level[row as usize] = u32::MAX;
        }
        self.queue.clear();
        self.queue.push(start as u32);
        self.level[start] = 0;
        let mut head = 0;
        while head < self.queue.len() {
            let row = self.queue[head] as usize;
            for &next in graph.neighbors(row) {
                if self.level[next as usize] == u32::MAX {
                    self.level[next as usize] = self.level[row] + 1;
                    self.queue.push(next);
                }
            }
            head += 1;
        }
        self.level[self.queue[head - 1] as usize]
    }

    /// A row from which the component of `any` is long: walk to a row of least degree in the last level until the
    /// number of levels no longer grows.
    fn pseudo_peripheral(&mut self, graph: &Adjacency, any: usize) -> usize {
        let mut start = any;
        let mut depth = self.levels(graph, start);
        loop {
            let last = self.queue.iter().rev().take_while(|&&r| self.level[r as usize] == depth);
            let far = last.min_by_key(|&&r| (graph.degree(r as usize), r)).map_or(start, |&r| r as usize);
            let further = self.levels(graph, far);
            if further <= depth {
                return start;
            }
            (start, depth) = (far, further);
        }
    }
}
