//! Pairs of vertices that many edges join become one vertex.

use super::Graph;
use std::borrow::Cow;
use std::thread;

/// A coarser graph must have at most this part of the vertices.
const FEWER: f64 = 0.95;

/// Neighbors that are looked through rather than looked up.
const FEW: usize = 64;

/// An order in which no vertex comes before another for where it stands: a bijection of 32-bit numbers (Mueller 2012).
fn scattered(x: u32) -> u32 {
    let x = (x ^ (x >> 16)).wrapping_mul(0x045d_9f3b);
    let x = (x ^ (x >> 16)).wrapping_mul(0x045d_9f3b);
    x ^ (x >> 16)
}

/// The graph of pairs, and the pair of each vertex; none where too few find a partner. A pair weighs no more than half as much again as
/// vertices would if `least` of them were left.
pub(super) fn coarsen(graph: &Graph<'_>, least: usize, threads: usize) -> Option<(Graph<'static>, Vec<u32>)> {
    let n = graph.len();
    let most = (graph.total() * 3).div_ceil(2 * least as u64).max(1);
    let mut order: Vec<u32> = (0..n as u32).collect();
    // Vertices with few neighbors first: they have the least choice.
    order.sort_unstable_by_key(|&i| (graph.degree(i as usize).min(64), scattered(i)));
    let mut of = vec![u32::MAX; n];
    let mut pairs: Vec<[u32; 2]> = Vec::with_capacity(n / 2);
    for &i in &order {
        let i = i as usize;
        if of[i] != u32::MAX {
            continue;
        }
        let own = graph.weights[i];
        let free = graph.around(i).filter(|&(j, _)| of[j] == u32::MAX && own + graph.weights[j] <= most);
        // The strongest bond, then the lightest partner.
        let best = free.max_by_key(|&(j, bond)| (bond, u64::MAX - graph.weights[j], scattered(j as u32)));
        let partner = best.map_or(i, |(j, _)| j);
        (of[i], of[partner]) = (pairs.len() as u32, pairs.len() as u32);
        pairs.push([i as u32, partner as u32]);
    }
    if pairs.len() as f64 > FEWER * n as f64 {
        return None;
    }
    Some((contracted(graph, &pairs, &of, threads), of))
}

/// The graph whose vertices are these pairs.
fn contracted(graph: &Graph<'_>, pairs: &[[u32; 2]], of: &[u32], threads: usize) -> Graph<'static> {
    let run = pairs.len().div_ceil(threads.max(1)).max(1);
    let runs: Vec<Run> = thread::scope(|scope| {
        let runs = pairs.chunks(run).enumerate();
        let runs = runs
            .map(|(at, own)| scope.spawn(move || Run::of(graph, (own, pairs.len()), (at * run) as u32, of)));
        // All of them at once: they are collected before the first is waited for.
        let runs: Vec<_> = runs.collect();
        runs.into_iter().map(|run| run.join().expect("a run of pairs does not panic")).collect()
    });
    let mut ptr = Vec::with_capacity(pairs.len() + 1);
    ptr.push(0);
    let (mut cols, mut edges, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for run in runs {
        let before = cols.len();
        ptr.extend(run.ends.iter().map(|end| before + end));
        cols.extend(run.cols);
        edges.extend(run.edges);
        weights.extend(run.weights);
    }
    Graph { ptr: Cow::Owned(ptr), cols: Cow::Owned(cols), edges, weights: Cow::Owned(weights) }
}

/// Pairs that follow one another, with their neighbors.
struct Run {
    ends: Vec<usize>,
    cols: Vec<u32>,
    edges: Vec<u32>,
    weights: Vec<u64>,
}

impl Run {
    /// Of pairs, so many in all, the first of which here is number `first`.
    fn of(graph: &Graph<'_>, (pairs, all): (&[[u32; 2]], usize), first: u32, of: &[u32]) -> Self {
        let (mut cols, mut edges): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let (mut ends, mut weights) = (Vec::with_capacity(pairs.len()), Vec::with_capacity(pairs.len()));
        // Where each neighbor of the present pair stands, for pairs with many.
        let mut place = Vec::new();
        for (own, &[a, b]) in (first..).zip(pairs) {
            let start = cols.len();
            let members = if a == b { &[a][..] } else { &[a, b] };
            let many = members.iter().map(|&m| graph.degree(m as usize)).sum::<usize>() > FEW;
            if many {
                place.resize(all, usize::MAX);
            }
            for &member in members {
                for (other, weight) in graph.around(member as usize) {
                    let other = of[other];
                    if other == own {
                        continue;
                    }
                    let known = if many {
                        Some(place[other as usize]).filter(|&at| at != usize::MAX && at >= start)
                    } else {
                        cols[start..].iter().position(|&c| c == other).map(|at| start + at)
                    };
                    let at = known.unwrap_or(cols.len());
                    if at == cols.len() {
                        cols.push(other);
                        edges.push(0);
                        if many {
                            place[other as usize] = at;
                        }
                    }
                    edges[at] += weight as u32;
                }
            }
            weights.push(members.iter().map(|&m| graph.weights[m as usize]).sum());
            ends.push(cols.len());
        }
        Self { ends, cols, edges, weights }
    }
}
