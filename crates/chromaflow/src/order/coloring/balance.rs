//! Colors of nearly equal size.

use super::Coloring;
use crate::order::Adjacency;

/// Passes over all rows; the second one hardly moves anything.
const PASSES: usize = 4;

impl Coloring {
    /// Moves rows from colors above the mean size to the smallest color below it that none of their neighbors has.
    /// The number of colors does not grow, and no color is left empty.
    ///
    /// **Source**: the unscheduled shuffling of Lu, Halappanavar et al. (2015), "Balanced coloring for parallel
    /// computing applications", sequentially.
    #[must_use]
    pub fn balanced(mut self, graph: &Adjacency) -> Self {
        let mut sizes = self.sizes();
        let mean = self.colors.len().div_ceil(self.count.max(1));
        let mut taken = vec![usize::MAX; self.count];
        for pass in 0..PASSES {
            let mut moved = false;
            for row in 0..self.colors.len() {
                let from = self.colors[row] as usize;
                if sizes[from] <= mean {
                    continue;
                }
                let stamp = pass * self.colors.len() + row;
                for &n in graph.neighbors(row) {
                    taken[self.colors[n as usize] as usize] = stamp;
                }
                let to = (0..self.count)
                    .filter(|&c| c != from && taken[c] != stamp && sizes[c] < mean)
                    .min_by_key(|&c| (sizes[c], c));
                if let Some(to) = to {
                    sizes[from] -= 1;
                    sizes[to] += 1;
                    self.colors[row] = to as u32;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        self
    }
}
