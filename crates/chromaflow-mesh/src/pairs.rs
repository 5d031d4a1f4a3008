//! Pairs of nodes: the edges of a mesh, and the diagonals that name its quadrilaterals.

use super::Mesh;
use super::par::{self, Spread};
use super::topology;
use chromaflow::BlockPattern;
use std::ops::Range;

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
    pub fn new(nodes: usize, visit: impl Fn(&mut dyn FnMut(u32, u32)) + Sync) -> Self {
        Self::of_parts(nodes, 1, |_, pair| visit(pair))
    }

    /// The same on `parts` threads: `visit(part, pair)` names the pairs of a part.
    pub fn of_parts(
        nodes: usize,
        parts: usize,
        visit: impl Fn(usize, &mut dyn FnMut(u32, u32)) + Sync,
    ) -> Self {
        Self::collected(nodes, parts, |part, names| visit(part, &mut |a, b| names.pair(a, b)))
    }

    fn collected(nodes: usize, parts: usize, visit: impl Fn(usize, &mut Named) + Sync) -> Self {
        let each = |part: usize, spread: &mut Spread<u32>| {
            visit(part, &mut Named { spread, last: vec![u64::MAX; LAST] });
        };
        // Partners of each node are sorted, and the different ones drawn together.
        let found = par::grouped(parts, nodes, each, |own| {
            let (mut second, mut kept) = (Vec::<u32>::new(), Vec::with_capacity(own.range.len()));
            for node in own.range.clone() {
                let start = second.len();
                second.extend_from_slice(own.of(node));
                second[start..].sort_unstable();
                let mut end = start;
                for k in start..second.len() {
                    if k == start || second[k] != second[end - 1] {
                        second[end] = second[k];
                        end += 1;
                    }
                }
                second.truncate(end);
                kept.push((end - start) as u32);
            }
            (kept, second)
        });
        let (kept, second): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        Self { ptr: beginnings(nodes, &kept), second: par::joined(parts, second) }
    }

    /// The edges of all elements; none from a node to itself, where that is its own neighbor's image.
    pub fn edges(mesh: &Mesh) -> Self {
        Self::edges_with(mesh, 1)
    }

    /// The same on so many threads.
    pub fn edges_with(mesh: &Mesh, threads: usize) -> Self {
        let parts = par::parts(threads, mesh.elements());
        Self::collected(mesh.nodes.len(), parts, |part, names| {
            for (kind, _, list) in topology::part_of(mesh, parts, part) {
                for e in list.chunks_exact(kind.nodes()) {
                    for &[a, b] in kind.edges() {
                        if e[a] != e[b] {
                            names.pair(e[a], e[b]);
                        }
                    }
                }
            }
        })
    }

    /// The same pairs of nodes that have other numbers, on so many threads: `new(i)` for i, below `nodes`.
    pub fn renumbered(&self, nodes: usize, threads: usize, new: impl Fn(u32) -> u32 + Sync) -> Self {
        let parts = par::parts(threads, self.len());
        Self::collected(nodes, parts, |part, names| {
            for i in par::split(self.ptr.len() - 1, parts, part) {
                let a = new(i as u32);
                self.of(i).iter().for_each(|&b| names.pair(a, new(b)));
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
        self.to_vec_with(1)
    }

    /// The same on so many threads.
    pub fn to_vec_with(&self, threads: usize) -> Vec<[u32; 2]> {
        let parts = par::parts(threads, self.len());
        let nodes: Vec<Range<usize>> =
            (0..parts).map(|part| par::split(self.ptr.len() - 1, parts, part)).collect();
        let ends: Vec<usize> = nodes.iter().map(|range| self.ptr[range.end] as usize).collect();
        let mut all = vec![[0; 2]; self.len()];
        par::each_piece(&mut all, &ends, |part, first, own| {
            for i in nodes[part].clone() {
                for k in self.ptr[i] as usize..self.ptr[i + 1] as usize {
                    own[k - first] = [i as u32, self.second[k]];
                }
            }
        });
        all
    }

    /// The numbers of the pairs of each lower node, `[nodes + 1]`: where they begin.
    pub fn beginnings(&self) -> &[u32] {
        &self.ptr
    }

    /// The higher nodes of the pairs of a lower one.
    pub fn above(&self, low: usize) -> &[u32] {
        self.of(low)
    }

    /// The partners of every node, and the pair of each position.
    pub fn graph(&self) -> (BlockPattern, Vec<u32>) {
        self.graph_with(1)
    }

    /// The same on so many threads.
    pub fn graph_with(&self, threads: usize) -> (BlockPattern, Vec<u32>) {
        let n = self.ptr.len() - 1;
        let parts = par::parts(threads, self.len());
        // Lower partners and their pairs by the higher node, where they ascend; higher partners stand in order already.
        let lower = |part: usize, spread: &mut Spread<[u32; 2]>| {
            for i in par::split(n, parts, part) {
                (self.ptr[i]..).zip(self.of(i)).for_each(|(pair, &b)| spread.put(b, [i as u32, pair]));
            }
        };
        let found = par::grouped(parts, n, lower, |own| {
            let (mut columns, mut pairs, mut counts) = (Vec::new(), Vec::new(), Vec::new());
            for i in own.range.clone() {
                let below = own.of(i);
                columns.extend(below.iter().map(|entry| entry[0]));
                pairs.extend(below.iter().map(|entry| entry[1]));
                columns.extend_from_slice(self.of(i));
                pairs.extend(self.ptr[i]..self.ptr[i + 1]);
                counts.push((below.len() + self.of(i).len()) as u32);
            }
            (counts, (columns, pairs))
        });
        let (counts, lists): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let (columns, pairs): (Vec<_>, Vec<_>) = lists.into_iter().unzip();
        let columns = par::joined(parts, columns);
        let pattern = BlockPattern::checked(n, beginnings(n, &counts), columns, parts);
        (pattern.expect("sorted and unique by construction"), par::joined(parts, pairs))
    }
}

/// Where the items of each of `n` rows begin, from how many there are.
fn beginnings(n: usize, counts: &[Vec<u32>]) -> Vec<u32> {
    let (mut ptr, mut at) = (Vec::with_capacity(n + 1), 0);
    ptr.push(0);
    for count in counts.iter().flatten() {
        at += count;
        ptr.push(at);
    }
    ptr
}

/// Pairs as a thread names them.
struct Named<'a> {
    spread: &'a mut Spread<u32>,
    /// Some that came last, by a hash.
    last: Vec<u64>,
}

/// How many last pairs a thread remembers: they stay in the first cache. Elements that follow one another mostly share edges.
const LAST: usize = 1 << 11;

impl Named<'_> {
    #[inline(always)]
    fn pair(&mut self, a: u32, b: u32) {
        let (low, high) = (a.min(b), a.max(b));
        let key = u64::from(low) << 32 | u64::from(high);
        let at = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 53) as usize;
        if self.last[at] != key {
            self.last[at] = key;
            self.spread.put(low, high);
        }
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

    #[test]
    fn pairs_do_not_depend_on_the_number_of_threads() {
        use crate::generate::{Cells, box_mesh};
        let mesh = box_mesh([40, 30, 20], [1.0; 3], Cells::Mixed, 0.0);
        let one = Pairs::edges(&mesh);
        let (pattern, pair) = one.graph();
        let n = mesh.nodes.len() as u32;
        let turned = one.renumbered(n as usize, 1, |i| n - 1 - i);
        assert!(turned.iter().all(|(a, b)| one.of((n - 1 - b) as usize).contains(&(n - 1 - a))));
        for threads in [2, 3, 7] {
            let many = Pairs::edges_with(&mesh, threads);
            assert_eq!((&many.ptr, &many.second), (&one.ptr, &one.second), "{threads} threads");
            let (other, of) = many.graph_with(threads);
            assert_eq!(
                (other.row_ptr(), other.col_idx(), &of),
                (pattern.row_ptr(), pattern.col_idx(), &pair)
            );
            let other = one.renumbered(n as usize, threads, |i| n - 1 - i);
            assert_eq!((&other.ptr, &other.second), (&turned.ptr, &turned.second));
        }
    }
}
