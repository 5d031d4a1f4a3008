//! Fewer colors by exchanging two of them where a row stands in the way.

use super::Coloring;
use crate::order::Adjacency;

/// The most rows that exchange two colors for the sake of one row.
const CHAIN: usize = 2000;

impl Coloring {
    /// Empties the smallest colors, as long as they have few rows (a thousandth of all and a few more): each of their rows takes a color a
    /// after the rows of colors a and b that hang together with its neighbors of color a have exchanged the two (a Kempe
    /// chain), unless the exchange brings a to another neighbor. Stops at the first row for which no pair of colors does.
    ///
    /// Greedy colorings of meshes often end with a handful of rows, which cost a sweep on a GPU as much time as some ten thousand.
    ///
    /// **Source**: Kempe (1879); as an improvement of greedy colorings, Matula, Marble and Isaacson (1972).
    ///
    /// ```
    /// use chromaflow::{BlockPattern, order::{Adjacency, Coloring}};
    /// // A path of three rows needs two colors.
    /// let path = BlockPattern::new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1])?;
    /// let coloring = Coloring::new(vec![0, 2, 1]).without_smallest(&Adjacency::of(&path)?);
    /// assert_eq!(coloring.colors(), [1, 0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_smallest(mut self, graph: &Adjacency) -> Self {
        let few = graph.rows() / 1000 + 16;
        let mut chains = Chains { seen: vec![0; graph.rows()], stamp: 0, rows: Vec::new() };
        while let Some((smallest, &size)) =
            self.sizes().iter().enumerate().min_by_key(|s| (*s.1, self.count - s.0))
            && size <= few
            && self.count > 1
        {
            let rows: Vec<usize> =
                (0..graph.rows()).filter(|&r| self.colors[r] as usize == smallest).collect();
            let others = || (0..self.count as u32).filter(|&c| c as usize != smallest);
            let pairs: Vec<[u32; 2]> =
                others().flat_map(|a| others().filter(move |&b| a != b).map(move |b| [a, b])).collect();
            for row in rows {
                // With two colors in all, the one left is taken if no neighbor has it.
                let free =
                    others().find(|&a| graph.neighbors(row).iter().all(|&n| self.colors[n as usize] != a));
                let taken = free.or_else(|| {
                    let pair = pairs.iter().find(|&&pair| chains.find(graph, &self.colors, row, pair))?;
                    for &r in &chains.rows {
                        let color = &mut self.colors[r as usize];
                        *color = if *color == pair[0] { pair[1] } else { pair[0] };
                    }
                    Some(pair[0])
                });
                match taken {
                    Some(color) => self.colors[row] = color,
                    None => return self,
                }
            }
            self = Self::new(self.colors);
        }
        self
    }
}

/// Rows that exchange colors, and those met on the way.
struct Chains {
    seen: Vec<u32>,
    stamp: u32,
    rows: Vec<u32>,
}

impl Chains {
    /// Finds the rows of colors a and b that hang together with the neighbors of `row` of color a; whether `row` may take a
    /// once they have exchanged the two.
    fn find(&mut self, graph: &Adjacency, colors: &[u32], row: usize, [a, b]: [u32; 2]) -> bool {
        self.stamp += 1;
        self.rows.clear();
        let (seen, stamp) = (&mut self.seen, self.stamp);
        let start = graph.neighbors(row).iter().filter(|&&n| colors[n as usize] == a);
        self.rows.extend(start);
        self.rows.iter().for_each(|&r| seen[r as usize] = stamp);
        let mut at = 0;
        while at < self.rows.len() {
            let from = self.rows[at] as usize;
            let other = if colors[from] == a { b } else { a };
            for &n in graph.neighbors(from) {
                if colors[n as usize] == other && seen[n as usize] != stamp {
                    // A neighbor that would get color a.
                    if other == b && graph.neighbors(row).contains(&n) {
                        return false;
                    }
                    seen[n as usize] = stamp;
                    self.rows.push(n);
                }
            }
            if self.rows.len() > CHAIN {
                return false;
            }
            at += 1;
        }
        true
    }
}
