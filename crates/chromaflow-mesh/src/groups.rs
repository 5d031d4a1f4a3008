//! Numbers that stand for one thing.

/// Disjoint sets of the numbers 0 to n - 1, each known by its lowest member.
///
/// **Source**: union by the lowest with path halving; Tarjan (1975), *Efficiency of a good but not linear set union algorithm*.
///
/// ```
/// use chromaflow_mesh::groups::Groups;
/// let mut groups = Groups::new(5);
/// groups.join(4, 2);
/// groups.join(1, 4);
/// assert_eq!(groups.all_lowest(), [0, 1, 1, 3, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Groups(Vec<u32>);

impl Groups {
    /// So many sets of one.
    ///
    /// # Panics
    /// When they are more than 32 bits count.
    pub fn new(count: usize) -> Self {
        Self((0..u32::try_from(count).expect("32-bit numbers")).collect())
    }

    /// The lowest of the set of `n`.
    pub fn lowest(&mut self, mut n: u32) -> u32 {
        while self.0[n as usize] != n {
            let next = self.0[self.0[n as usize] as usize];
            self.0[n as usize] = next;
            n = next;
        }
        n
    }

    /// Makes one set of those of `a` and `b`.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.lowest(a), self.lowest(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// The lowest of the set of each number.
    pub fn all_lowest(mut self) -> Vec<u32> {
        (0..self.0.len() as u32).map(|n| self.lowest(n)).collect()
    }
}
