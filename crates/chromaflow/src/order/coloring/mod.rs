//! Distance-1 colorings: rows of one color do not depend on one another.

mod balance;
mod kempe;
mod numbers;

pub use numbers::priority_of;

use super::{Adjacency, Permutation, RowBatches};
use chromaflow_device::Team;
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};

/// In which order a greedy coloring visits the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VertexOrder {
    /// As the rows stand.
    #[default]
    Natural,
    /// Rows with many neighbors first (Welsh and Powell 1967).
    LargestFirst,
    /// Rows with few neighbors last, their neighbors not counted once they are taken away: needs at most one color
    /// more than the graph's degeneracy (Matula and Beck 1983).
    SmallestLast,
}

impl VertexOrder {
    /// All orders.
    pub const ALL: [VertexOrder; 3] =
        [VertexOrder::Natural, VertexOrder::LargestFirst, VertexOrder::SmallestLast];

    /// The name used in case files, on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            VertexOrder::Natural => "natural",
            VertexOrder::LargestFirst => "largest-first",
            VertexOrder::SmallestLast => "smallest-last",
        }
    }

    fn rows(self, graph: &Adjacency) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..graph.rows() as u32).collect();
        match self {
            VertexOrder::Natural => {}
            VertexOrder::LargestFirst => rows.sort_by_key(|&r| Reverse(graph.degree(r as usize))),
            VertexOrder::SmallestLast => rows = smallest_last(graph),
        }
        rows
    }
}

impl fmt::Display for VertexOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for VertexOrder {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        VertexOrder::ALL.into_iter().find(|o| o.name() == s).ok_or_else(|| {
            format!("unknown vertex order `{s}`: expected natural, largest-first or smallest-last")
        })
    }
}

/// Rows by repeatedly taking away one with the fewest remaining neighbors, in reverse; linear in the edges.
fn smallest_last(graph: &Adjacency) -> Vec<u32> {
    let rows = graph.rows();
    let mut degree: Vec<usize> = (0..rows).map(|r| graph.degree(r)).collect();
    // Buckets of rows by degree; an entry whose degree has fallen since is stale and skipped.
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); graph.max_degree() + 1];
    for row in (0..rows).rev() {
        buckets[degree[row]].push(row as u32);
    }
    let mut taken = vec![false; rows];
    let mut order = Vec::with_capacity(rows);
    let mut least = 0;
    while order.len() < rows {
        let Some(row) = buckets[least].pop() else {
            least += 1;
            continue;
        };
        if taken[row as usize] || degree[row as usize] != least {
            continue;
        }
        taken[row as usize] = true;
        order.push(row);
        for &n in graph.neighbors(row as usize) {
            if !taken[n as usize] {
                degree[n as usize] -= 1;
                buckets[degree[n as usize]].push(n);
            }
        }
        least = least.saturating_sub(1);
    }
    order.reverse();
    order
}

/// A color for every row, no two neighbors alike. Colors count from 0 and none is empty.
///
/// ```
/// use chromaflow::{BlockPattern, order::{Adjacency, Coloring, VertexOrder}};
/// // A ring of four rows needs two colors.
/// let ring = BlockPattern::new(4, vec![0, 2, 4, 6, 8], vec![1, 3, 0, 2, 1, 3, 0, 2])?;
/// let coloring = Coloring::greedy(&Adjacency::of(&ring)?, VertexOrder::Natural);
/// assert_eq!(coloring.colors(), [0, 1, 0, 1]);
/// let (permutation, batches) = coloring.renumber();
/// assert_eq!(permutation.old_of_new(), [0, 2, 1, 3]);
/// assert_eq!(batches.offsets(), [0, 2, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloring {
    colors: Vec<u32>,
    count: usize,
}

/// A coloring that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColoringError {
    /// Two neighbors have one color.
    #[error("rows {row} and {neighbor} depend on one another but both have color {color}")]
    Conflict {
        /// A row.
        row: usize,
        /// Its neighbor.
        neighbor: usize,
        /// The color of both.
        color: u32,
    },
    /// Not one color a row.
    #[error("{found} colors are given for {rows} rows")]
    Length {
        /// Entries of the coloring.
        found: usize,
        /// Rows of the graph.
        rows: usize,
    },
}

impl Coloring {
    /// Takes the rows in the given order and gives each the lowest color that no neighbor has.
    pub fn greedy(graph: &Adjacency, order: VertexOrder) -> Self {
        let mut colors = vec![u32::MAX; graph.rows()];
        let mut palette = Palette::new(graph);
        for row in order.rows(graph) {
            let row = row as usize;
            colors[row] = palette.lowest_free(row, graph, |n| colors[n]);
        }
        Self::from_dense(colors)
    }

    /// The same, in the order of the rows on all members of a team: a row takes its color as soon as all neighbors before it have theirs, which is the color
    /// of the loop. In the order of reverse Cuthill-McKee, rows next to one another hardly form chains.
    pub(in crate::order) fn greedy_with(graph: &Adjacency, order: VertexOrder, team: &Team) -> Self {
        let (rows, size) = (graph.rows(), team.size());
        if order != VertexOrder::Natural || size == 1 || rows < 2 * WINDOW {
            return Self::greedy(graph, order);
        }
        let colors: Vec<AtomicU32> = (0..rows).map(|_| AtomicU32::new(u32::MAX)).collect();
        team.run(|member| {
            let mut palette = Palette::new(graph);
            let mut waiting: Vec<usize> = Vec::with_capacity(WINDOW);
            // Members go through the rows side by side.
            for first in (member.rank() * WINDOW..rows).step_by(size * WINDOW) {
                waiting.extend(first..rows.min(first + WINDOW));
                while !waiting.is_empty() {
                    let before = waiting.len();
                    waiting.retain(|&row| {
                        let color = |n: usize| colors[n].load(Acquire);
                        let near = graph.neighbors(row).iter().map(|&n| n as usize);
                        if near.take_while(|&n| n < row).any(|n| color(n) == u32::MAX) {
                            return true;
                        }
                        // Later neighbors have no color yet and get none before this row has.
                        colors[row].store(palette.lowest_free(row, graph, color), Release);
                        false
                    });
                    if waiting.len() == before {
                        std::thread::yield_now();
                    }
                }
            }
        });
        Self::from_dense(colors.into_iter().map(AtomicU32::into_inner).collect())
    }

    /// One color a level: that of a row is one more than the highest among its neighbors before it in the order of the
    /// rows. Every row then comes after all neighbors before it and before all others, so that sweeps through the levels,
    /// first to last or last to first, are Gauss-Seidel sweeps through the rows as they stand.
    ///
    /// **Source**: Anderson and Saad (1989), for the pattern of A + A^T.
    pub fn levels(graph: &Adjacency) -> Self {
        let mut levels = vec![0_u32; graph.rows()];
        for row in 0..graph.rows() {
            let before = graph.neighbors(row).iter().filter(|&&n| (n as usize) < row);
            levels[row] = before.map(|&n| levels[n as usize] + 1).max().unwrap_or(0);
        }
        Self::from_dense(levels)
    }

    /// With fewer colors where `passes` greedy passes find that: each takes the rows color by color, which never needs more
    /// colors than there were, the colors by turns in reverse, largest first and smallest first.
    ///
    /// Fewer colors are fewer synchronizations of a sweep. A pass costs what [`Self::greedy`] does.
    ///
    /// **Source**: Culberson (1992), iterated greedy.
    #[must_use]
    pub fn reduced(mut self, graph: &Adjacency, passes: usize) -> Self {
        let mut palette = Palette::new(graph);
        for pass in 0..passes {
            let sizes = self.sizes();
            let mut order: Vec<u32> = (0..self.count as u32).rev().collect();
            match pass % 3 {
                1 => order.sort_by_key(|&c| Reverse(sizes[c as usize])),
                2 => order.sort_by_key(|&c| sizes[c as usize]),
                _ => {}
            }
            let (rows, batches) = self.renumber();
            let mut colors = vec![u32::MAX; graph.rows()];
            for c in order {
                for at in batches.range(c as usize) {
                    let row = rows.old_of_new()[at] as usize;
                    colors[row] = palette.lowest_free(row, graph, |n| colors[n]);
                }
            }
            palette = Palette::new(graph);
            self = Self::from_dense(colors);
        }
        self
    }

    /// From a color per row; unused color numbers are closed up.
    pub fn new(mut colors: Vec<u32>) -> Self {
        let mut used: Vec<u32> = colors.clone();
        used.sort_unstable();
        used.dedup();
        for c in &mut colors {
            *c = used.binary_search(c).expect("taken from this list") as u32;
        }
        Self { colors, count: used.len() }
    }

    fn from_dense(colors: Vec<u32>) -> Self {
        let count = colors.iter().max().map_or(0, |&c| c as usize + 1);
        Self { colors, count }
    }

    /// The color of every row.
    pub fn colors(&self) -> &[u32] {
        &self.colors
    }

    /// Number of colors.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of rows of each color.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.count];
        for &c in &self.colors {
            sizes[c as usize] += 1;
        }
        sizes
    }

    /// Whether no two neighbors have one color.
    ///
    /// # Errors
    /// [`ColoringError`] names the two rows.
    pub fn check(&self, graph: &Adjacency) -> Result<(), ColoringError> {
        if self.colors.len() != graph.rows() {
            return Err(ColoringError::Length { found: self.colors.len(), rows: graph.rows() });
        }
        for row in 0..graph.rows() {
            for &n in graph.neighbors(row) {
                if self.colors[n as usize] == self.colors[row] {
                    return Err(ColoringError::Conflict {
                        row,
                        neighbor: n as usize,
                        color: self.colors[row],
                    });
                }
            }
        }
        Ok(())
    }

    /// Renumbers the rows color by color; within a color they keep their order.
    pub fn renumber(&self) -> (Permutation, RowBatches) {
        let mut offsets = vec![0_u32; self.count + 1];
        for &c in &self.colors {
            offsets[c as usize + 1] += 1;
        }
        for c in 0..self.count {
            offsets[c + 1] += offsets[c];
        }
        let permutation = Permutation::by_groups(&self.colors, offsets.clone());
        (permutation, RowBatches::new(offsets))
    }
}

/// Rows that a member of a team colors before it goes to those after the others'.
const WINDOW: usize = 2048;

/// Finds free colors: `stamp[c] == row` marks color c as taken by a neighbor of `row`.
struct Palette {
    stamp: Vec<usize>,
}

impl Palette {
    fn new(graph: &Adjacency) -> Self {
        Self { stamp: vec![usize::MAX; graph.max_degree() + 1] }
    }

    fn lowest_free(&mut self, row: usize, graph: &Adjacency, color: impl Fn(usize) -> u32) -> u32 {
        for &n in graph.neighbors(row) {
            if let Some(slot) = self.stamp.get_mut(color(n as usize) as usize) {
                *slot = row;
            }
        }
        self.stamp.iter().position(|&s| s != row).expect("one color more than neighbors") as u32
    }
}
