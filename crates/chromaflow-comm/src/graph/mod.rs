//! Partition of a graph: parts of equal weight with few edges between them.
//!
//! Vertices are drawn together in pairs, then pairs of pairs, until a few dozen a part are left; those are divided by recursive
//! bisection, each by growing one side from several seeds and moving vertices across the cut; then the way is gone back, and at every
//! step vertices on borders move to where most of their neighbors are. Integers alone are added and compared, in one order: the result is the
//! same wherever it is computed.
//!
//! | file | |
//! |---|---|
//! | `coarse.rs` | pairs of vertices become one |
//! | `bisect.rs` | a small graph in two |
//! | `refine.rs` | borders between many parts |
//!
//! **Source**: Karypis & Kumar 1998, Multilevel k-way partitioning scheme for irregular graphs, J. Parallel Distrib. Comput. 48; Fiduccia
//! & Mattheyses 1982, A linear-time heuristic for improving network partitions.

mod bisect;
mod coarse;
mod refine;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// The part of every vertex as by [`partition`], for parts of equal weight in groups of so many: those of hosts. Groups are divided first, so
/// that few edges join them, then each into its parts, which have consecutive numbers. Each of `cols` counts as so many edges as `edges` says,
/// the same both ways; as one where that is empty.
///
/// **Shapes**: as [`partition`]; edges `[cols]` or none, groups `[groups]`.
pub fn partition_in_groups(
    ptr: &[usize],
    (cols, edges): (&[u32], Vec<u32>),
    weights: &[u64],
    groups: &[u32],
    threads: usize,
) -> Vec<u32> {
    assert!(edges.is_empty() || edges.len() == cols.len());
    let graph =
        Graph { ptr: Cow::Borrowed(ptr), cols: Cow::Borrowed(cols), edges, weights: Cow::Borrowed(weights) };
    if groups.iter().all(|&count| count == 1) {
        return parts_of(graph, groups, threads);
    }
    let mut part = parts_of(graph.clone(), groups, threads);
    let mut members = vec![Vec::new(); groups.len()];
    (0_u32..).zip(&part).for_each(|(vertex, &group)| members[group as usize].push(vertex));
    let mut first = 0;
    for (vertices, &count) in members.iter().zip(groups) {
        let inner = graph.induced(vertices);
        let own = parts_of(inner, &vec![1; count as usize], threads);
        for (&vertex, own) in vertices.iter().zip(own) {
            part[vertex as usize] = first + own;
        }
        first += count;
    }
    part
}

/// A symmetric graph without loops, with weights of vertices and edges.
#[derive(Clone, Debug)]
struct Graph<'a> {
    /// Vertex i touches `cols[ptr[i]..ptr[i + 1]]`.
    ptr: Cow<'a, [usize]>,
    cols: Cow<'a, [u32]>,
    /// Edges that each of `cols` stands for; empty: one.
    edges: Vec<u32>,
    weights: Cow<'a, [u64]>,
}

impl Graph<'_> {
    fn len(&self) -> usize {
        self.weights.len()
    }

    fn total(&self) -> u64 {
        self.weights.iter().sum()
    }

    fn heaviest(&self) -> u64 {
        self.weights.iter().copied().max().unwrap_or(0)
    }

    /// How many neighbors a vertex has.
    fn degree(&self, vertex: usize) -> usize {
        self.ptr[vertex + 1] - self.ptr[vertex]
    }

    /// Neighbors of a vertex and the weights of the edges to them.
    fn around(&self, vertex: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let range = self.ptr[vertex]..self.ptr[vertex + 1];
        let weight = move |k: usize| self.edges.get(k).map_or(1, |&edge| u64::from(edge));
        range.map(move |k| (self.cols[k] as usize, weight(k)))
    }

    /// The graph of some of its vertices, ascending, and the edges between them.
    fn induced(&self, vertices: &[u32]) -> Graph<'static> {
        let mut local = vec![u32::MAX; self.len()];
        for (at, &vertex) in (0..).zip(vertices) {
            local[vertex as usize] = at;
        }
        let (mut ptr, mut cols, mut edges) = (vec![0], Vec::new(), Vec::new());
        for &vertex in vertices {
            for (other, weight) in self.around(vertex as usize) {
                if local[other] != u32::MAX {
                    cols.push(local[other]);
                    edges.push(weight as u32);
                }
            }
            ptr.push(cols.len());
        }
        let weights = vertices.iter().map(|&vertex| self.weights[vertex as usize]).collect();
        Graph { ptr: Cow::Owned(ptr), cols: Cow::Owned(cols), edges, weights: Cow::Owned(weights) }
    }
}

/// Vertices of the coarsest graph for each part.
const COARSEST: usize = 30;

/// What a part may weigh more than its share, over that.
const MORE: f64 = 0.01;

/// The part of every vertex of a symmetric graph, vertex `i` touching `cols[ptr[i]..ptr[i + 1]]`: part `k` gets `shares[k]` of the whole
/// weight, to one hundredth or one vertex, with few edges between parts. Parts with neighboring numbers tend to be neighbors. A graph with
/// fewer vertices than parts leaves parts empty. The number of threads does not show in the result.
///
/// ```
/// use chromaflow_comm::partition;
/// // A path of six vertices.
/// let ptr = [0, 1, 3, 5, 7, 9, 10];
/// let cols = [1, 0, 2, 1, 3, 2, 4, 3, 5, 4];
/// let part = partition(&ptr, &cols, &[1; 6], &[2, 1], 1);
/// let cut = (0..5).filter(|&i| part[i] != part[i + 1]).count();
/// assert_eq!((part.iter().filter(|&&p| p == 0).count(), cut), (4, 1));
/// ```
///
/// **Shapes**: ptr `[n + 1]`, weights `[n]`, of at least 1; shares `[parts]`. **Panics** when lengths differ or nothing is shared.
pub fn partition(ptr: &[usize], cols: &[u32], weights: &[u64], shares: &[u32], threads: usize) -> Vec<u32> {
    let graph = Graph {
        ptr: Cow::Borrowed(ptr),
        cols: Cow::Borrowed(cols),
        edges: Vec::new(),
        weights: Cow::Borrowed(weights),
    };
    parts_of(graph, shares, threads)
}

/// The same of a graph whose edges have weights.
fn parts_of(finest: Graph<'_>, shares: &[u32], threads: usize) -> Vec<u32> {
    assert_eq!((finest.ptr.len(), finest.cols.len()), (finest.len() + 1, finest.ptr[finest.len()]));
    let whole: u64 = shares.iter().map(|&s| u64::from(s)).sum();
    assert!(whole > 0, "somebody gets a share");
    if shares.len() == 1 || finest.len() == 0 {
        return vec![0; finest.len()];
    }
    let least = COARSEST * shares.len();
    let mut levels: Vec<(Graph<'_>, Vec<u32>)> = Vec::new();
    let mut graph = finest;
    while graph.len() > least {
        let Some((coarser, of)) = coarse::coarsen(&graph, least, threads) else { break };
        levels.push((graph, of));
        graph = coarser;
    }
    let mut part = bisect::recursive(&graph, shares);
    let refine = |graph: &Graph<'_>, part: &mut [u32]| {
        let aims: Vec<f64> =
            shares.iter().map(|&s| graph.total() as f64 * f64::from(s) / whole as f64).collect();
        refine::refine(graph, &aims, part, threads);
    };
    refine(&graph, &mut part);
    while let Some((finer, of)) = levels.pop() {
        part = of.iter().map(|&coarse| part[coarse as usize]).collect();
        refine(&finer, &mut part);
    }
    part
}
