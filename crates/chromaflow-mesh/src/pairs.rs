//! Pairs of nodes: the edges of a mesh, and the diagonals that name its quadrilaterals.

use super::Mesh;
use super::par;
use super::topology;
use chromaflow::BlockPattern;
use std::sync::atomic::{AtomicU32, AtomicU64};

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
        let counts = par::counts(parts, nodes, |part, put| visit(part, &mut |a, b| put(a.min(b))));
        let mut second = par::collect::<AtomicU32>(parts, 0..nodes, &counts, |part, put| {
            visit(part, &mut |a, b| put(a.min(b), a.max(b)));
        });
        let ranges = par::balanced(parts, 0..nodes, &counts);
        let mut sum = 0;
        let ends: Vec<usize> = ranges
            .iter()
            .map(|range| {
                sum += counts[range.clone()].iter().sum::<usize>();
                sum
            })
            .collect();
        // Each part sorts its own nodes' partners and draws the different ones together.
        let kept = par::each_piece(&mut second, &ends, |part, _, own| {
            let (mut from, mut to, mut kept) = (0, 0, Vec::with_capacity(ranges[part].len()));
            for &count in &counts[ranges[part].clone()] {
                let end = from + count;
                own[from..end].sort_unstable();
                let start = to;
                for k in from..end {
                    if k == from || own[k] != own[to - 1] {
                        // `to` trails `k`: nothing unread is overwritten.
                        own[to] = own[k];
                        to += 1;
                    }
                }
                kept.push((to - start) as u32);
                from = end;
            }
            kept
        });
        let (mut ptr, mut at) = (Vec::with_capacity(nodes + 1), 0);
        ptr.push(0);
        for (kept, end) in kept.iter().zip([0].iter().chain(&ends)) {
            let total: usize = kept.iter().map(|&k| k as usize).sum();
            second.copy_within(*end..end + total, at);
            for k in kept {
                at += *k as usize;
                ptr.push(at as u32);
            }
        }
        second.truncate(at);
        second.shrink_to_fit();
        Self { ptr, second }
    }

    /// The edges of all elements; none from a node to itself, where that is its own neighbor's image.
    pub fn edges(mesh: &Mesh) -> Self {
        Self::edges_with(mesh, 1)
    }

    /// The same on so many threads.
    pub fn edges_with(mesh: &Mesh, threads: usize) -> Self {
        let parts = par::parts(threads, mesh.elements());
        Self::of_parts(mesh.nodes.len(), parts, |part, pair| {
            for (kind, nodes) in topology::lists(mesh) {
                let corners = kind.nodes();
                let range = par::split(nodes.len() / corners, parts, part);
                for e in nodes[range.start * corners..range.end * corners].chunks_exact(corners) {
                    for &[a, b] in kind.edges() {
                        if e[a] != e[b] {
                            pair(e[a], e[b]);
                        }
                    }
                }
            }
        })
    }

    /// The same pairs of nodes that have other numbers, on so many threads: `new(i)` for i, below `nodes`.
    pub fn renumbered(&self, nodes: usize, threads: usize, new: impl Fn(u32) -> u32 + Sync) -> Self {
        let parts = par::parts(threads, self.len());
        Self::of_parts(nodes, parts, |part, pair| {
            for i in par::split(self.ptr.len() - 1, parts, part) {
                self.of(i).iter().for_each(|&b| pair(new(i as u32), new(b)));
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
        self.graph_with(1)
    }

    /// The same on so many threads.
    pub fn graph_with(&self, threads: usize) -> (BlockPattern, Vec<u32>) {
        let n = self.ptr.len() - 1;
        let parts = par::parts(threads, self.len());
        // Lower partners and their pairs by the higher node; higher partners stand in order already.
        let lower = |part: usize, put: &mut dyn FnMut(u32, u64)| {
            for i in par::split(n, parts, part) {
                let first = self.ptr[i];
                for (k, &b) in self.of(i).iter().enumerate() {
                    put(b, (i as u64) << 32 | u64::from(first + k as u32));
                }
            }
        };
        let counts = par::counts(parts, n, |part, put| lower(part, &mut |b, _| put(b)));
        let mut entries = par::collect::<AtomicU64>(parts, 0..n, &counts, lower);
        let mut row_ptr = Vec::with_capacity(n + 1);
        row_ptr.push(0_u32);
        for (i, below) in counts.iter().enumerate() {
            row_ptr.push(row_ptr[i] + *below as u32 + (self.ptr[i + 1] - self.ptr[i]));
        }
        let ranges = par::balanced(parts, 0..n, &counts);
        let (mut sum, mut ends, mut ends_of_rows) = (0, Vec::new(), Vec::new());
        for range in &ranges {
            sum += counts[range.clone()].iter().sum::<usize>();
            ends.push(sum);
            ends_of_rows.push(row_ptr[range.end] as usize);
        }
        par::each_piece(&mut entries, &ends, |part, _, own| {
            let mut rest = own;
            for &count in &counts[ranges[part].clone()] {
                let (row, after) = rest.split_at_mut(count);
                row.sort_unstable();
                rest = after;
            }
        });
        let starts: Vec<usize> = [0].into_iter().chain(ends).collect();
        let fill = |value: &(dyn Fn(u64) -> u32 + Sync), own: &(dyn Fn(usize, usize) -> u32 + Sync)| {
            let mut out = vec![0_u32; row_ptr[n] as usize];
            par::each_piece(&mut out, &ends_of_rows, |part, _, piece| {
                let (mut from, mut to) = (starts[part], 0);
                for i in ranges[part].clone() {
                    for &entry in &entries[from..from + counts[i]] {
                        piece[to] = value(entry);
                        to += 1;
                    }
                    from += counts[i];
                    for k in self.ptr[i] as usize..self.ptr[i + 1] as usize {
                        piece[to] = own(i, k);
                        to += 1;
                    }
                }
            });
            out
        };
        let columns = fill(&|entry| (entry >> 32) as u32, &|_, k| self.second[k]);
        let pairs = fill(&|entry| entry as u32, &|_, k| k as u32);
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
