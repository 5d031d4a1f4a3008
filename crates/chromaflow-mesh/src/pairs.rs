//! Pairs of nodes: the edges of a mesh, and the diagonals that name its quadrilaterals.

use super::Mesh;
use super::topology;
use chromaflow::BlockPattern;

/// A set of pairs of nodes, numbered in ascending order of the lower node, then of the higher one.
#[derive(Debug)]
pub struct Pairs {
    /// Where the pairs of each lower node begin.
    ptr: Vec<u32>,
    /// Higher nodes.
    second: Vec<u32>,
}

impl Pairs {
    /// The distinct pairs among those that `visit` names (which it is asked for twice).
    pub fn new(nodes: usize, visit: impl Fn(&mut dyn FnMut(u32, u32))) -> Self {
        let mut ptr = vec![0_u32; nodes + 1];
        visit(&mut |a, b| ptr[a.min(b) as usize + 1] += 1);
        for i in 0..nodes {
            ptr[i + 1] += ptr[i];
        }
        let mut second = vec![0; ptr[nodes] as usize];
        let mut next = ptr.clone();
        visit(&mut |a, b| {
            let slot = &mut next[a.min(b) as usize];
            second[*slot as usize] = a.max(b);
            *slot += 1;
        });
        drop(next);
        let mut kept = 0;
        for i in 0..nodes {
            let (start, end) = (ptr[i] as usize, ptr[i + 1] as usize);
            second[start..end].sort_unstable();
            ptr[i] = kept as u32;
            for k in start..end {
                if k == start || second[k] != second[k - 1] {
                    // `kept` trails `k`: nothing unread is overwritten but the value just compared with.
                    second[kept] = second[k];
                    kept += 1;
                }
            }
        }
        ptr[nodes] = kept as u32;
        second.truncate(kept);
        second.shrink_to_fit();
        Self { ptr, second }
    }

    /// The edges of all elements.
    pub fn edges(mesh: &Mesh) -> Self {
        Self::new(mesh.nodes.len(), |pair| {
            for (kind, nodes) in topology::lists(mesh) {
                for e in nodes.chunks_exact(kind.nodes()) {
                    for &[a, b] in kind.edges() {
                        pair(e[a], e[b]);
                    }
                }
            }
        })
    }

    /// Those of two of the first `nodes` nodes.
    pub fn below(&self, nodes: usize) -> Self {
        let (mut ptr, mut second) = (vec![0], Vec::new());
        for i in 0..nodes {
            second.extend(self.of(i).iter().filter(|&&b| (b as usize) < nodes));
            ptr.push(second.len() as u32);
        }
        Self { ptr, second }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.second.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.second.len()
    }

    /// The higher nodes of the pairs of a lower one.
    fn of(&self, low: usize) -> &[u32] {
        &self.second[self.ptr[low] as usize..self.ptr[low + 1] as usize]
    }

    /// The number of a pair of the set.
    ///
    /// # Panics
    /// When it is not there.
    pub fn find(&self, a: u32, b: u32) -> u32 {
        let (low, high) = (a.min(b) as usize, a.max(b));
        let at = self.of(low).binary_search(&high).expect("every pair of an element was named");
        self.ptr[low] + at as u32
    }

    /// All pairs in the order of their numbers; fastest by `for_each`.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.ptr.len() - 1).flat_map(move |i| self.of(i).iter().map(move |&b| (i as u32, b)))
    }

    /// All pairs, lower node first.
    pub fn to_vec(&self) -> Vec<[u32; 2]> {
        let mut all = Vec::with_capacity(self.len());
        self.iter().for_each(|(a, b)| all.push([a, b]));
        all
    }

    /// The partners of every node, and the pair of each position.
    pub fn graph(&self) -> (BlockPattern, Vec<u32>) {
        let n = self.ptr.len() - 1;
        let mut row_ptr = vec![0_u32; n + 1];
        self.iter().for_each(|(a, b)| {
            row_ptr[a as usize + 1] += 1;
            row_ptr[b as usize + 1] += 1;
        });
        for i in 0..n {
            row_ptr[i + 1] += row_ptr[i];
        }
        let mut next = row_ptr.clone();
        let (mut columns, mut pairs) = (vec![0_u32; 2 * self.len()], vec![0_u32; 2 * self.len()]);
        let mut put = |row: u32, column: u32, pair: usize| {
            let at = next[row as usize] as usize;
            (columns[at], pairs[at]) = (column, pair as u32);
            next[row as usize] += 1;
        };
        // Lower partners first; both come in ascending order.
        self.iter().enumerate().for_each(|(pair, (a, b))| put(b, a, pair));
        self.iter().enumerate().for_each(|(pair, (a, b))| put(a, b, pair));
        (BlockPattern::new(n, row_ptr, columns).expect("sorted and unique by construction"), pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::Pairs;

    #[test]
    fn pairs_are_numbered_in_ascending_order() {
        let named = [(3, 1), (0, 2), (1, 3), (4, 0), (2, 0), (1, 2)];
        let pairs = Pairs::new(5, |pair| named.iter().for_each(|&(a, b)| pair(a, b)));
        assert_eq!(pairs.iter().collect::<Vec<_>>(), [(0, 2), (0, 4), (1, 2), (1, 3)]);
        assert_eq!((pairs.find(4, 0), pairs.find(1, 2)), (1, 2));
        let (pattern, pair) = pairs.graph();
        let rows: Vec<&[u32]> = (0..5).map(|i| pattern.columns(i)).collect();
        assert_eq!(rows, [&[2, 4][..], &[2, 3], &[0, 1], &[1], &[0]]);
        assert_eq!(pair, [0, 1, 2, 3, 0, 2, 3, 1]);
        assert_eq!(pairs.below(4).iter().collect::<Vec<_>>(), [(0, 2), (1, 2), (1, 3)]);
    }
}
