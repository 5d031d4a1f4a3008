//! A small graph in two, and in two again.

use super::Graph;
use std::collections::BinaryHeap;

/// Seeds that a side grows from.
const SEEDS: usize = 8;
/// Passes of moves across a cut.
const PASSES: usize = 6;
/// Moves without a better cut that end a pass.
const PATIENCE: usize = 100;

/// The part of every vertex, part k with `shares[k]` of the weight: the graph is cut between the parts of the first half of the list and those of
/// the second, and so on.
pub(super) fn recursive(graph: &Graph<'_>, shares: &[u32]) -> Vec<u32> {
    let mut part = vec![0; graph.len()];
    let all: Vec<u32> = (0..graph.len() as u32).collect();
    let mut sets = vec![(all, 0, shares.len())];
    while let Some((vertices, first, count)) = sets.pop() {
        if count == 1 || vertices.is_empty() {
            for &vertex in &vertices {
                part[vertex as usize] = first as u32;
            }
            continue;
        }
        let low = count / 2;
        let sum = |range: &[u32]| range.iter().map(|&s| f64::from(s)).sum::<f64>();
        let [own, whole] = [sum(&shares[first..first + low]), sum(&shares[first..first + count])];
        let share = if whole > 0.0 { own / whole } else { 0.5 };
        let side = in_two(&graph.induced(&vertices), share);
        let pick = |other: bool| -> Vec<u32> {
            vertices.iter().zip(&side).filter(|(_, side)| **side == other).map(|(v, _)| *v).collect()
        };
        sets.push((pick(false), first, low));
        sets.push((pick(true), first + low, count - low));
    }
    part
}

/// Which vertices are on the second side, the first having about `share` of the weight: the best of several tries.
fn in_two(graph: &Graph<'_>, share: f64) -> Vec<bool> {
    let aim = share * graph.total() as f64;
    let seeds = (0..SEEDS.min(graph.len())).map(|k| k * graph.len() / SEEDS.min(graph.len()));
    let tries = seeds.map(|seed| {
        let mut cut = Cut::grown(graph, aim, seed);
        for _ in 0..PASSES {
            if !cut.pass() {
                break;
            }
        }
        cut
    });
    tries.min_by(|a, b| a.cost().total_cmp(&b.cost())).map_or_else(Vec::new, |cut| cut.side)
}

/// Two sides of a graph.
struct Cut<'a> {
    graph: &'a Graph<'a>,
    side: Vec<bool>,
    /// Weight of the first side, and what it should be; by how much it may be off.
    weight: f64,
    aim: f64,
    slack: f64,
    /// Weight of the edges between them.
    between: i64,
}

impl<'a> Cut<'a> {
    /// The first side grows from a seed by the vertex that adds the fewest edges to the cut.
    fn grown(graph: &'a Graph<'a>, aim: f64, seed: usize) -> Self {
        let slack = (0.5 * graph.heaviest() as f64).max(0.005 * graph.total() as f64);
        let side = vec![true; graph.len()];
        let mut cut = Self { graph, side, weight: 0.0, aim, slack, between: 0 };
        let mut heap = BinaryHeap::from([(0, seed)]);
        let mut next = 0..graph.len();
        while cut.weight < aim {
            // A piece that nothing joins to the others: go on in the next.
            let Some((gain, vertex)) = heap.pop().or_else(|| {
                let free = next.find(|&vertex| cut.side[vertex])?;
                Some((cut.gain(free), free))
            }) else {
                break;
            };
            if !cut.side[vertex] || gain < cut.gain(vertex) {
                continue;
            }
            let after = cut.weight + graph.weights[vertex] as f64;
            if after - aim > aim - cut.weight {
                break;
            }
            cut.flip(vertex);
            for (other, _) in graph.around(vertex).filter(|&(other, _)| cut.side[other]) {
                heap.push((cut.gain(other), other));
            }
        }
        cut
    }

    /// By how much the cut falls when a vertex changes sides.
    fn gain(&self, vertex: usize) -> i64 {
        let sign = |other: usize| if self.side[other] == self.side[vertex] { -1 } else { 1 };
        self.graph.around(vertex).map(|(other, weight)| sign(other) * weight as i64).sum()
    }

    fn flip(&mut self, vertex: usize) {
        self.between -= self.gain(vertex);
        let weight = self.graph.weights[vertex] as f64;
        self.weight += if self.side[vertex] { weight } else { -weight };
        self.side[vertex] = !self.side[vertex];
    }

    /// Weight that is off beyond the slack counts more than any cut.
    fn cost(&self) -> f64 {
        let off = ((self.weight - self.aim).abs() - self.slack).max(0.0);
        self.between as f64 + 1e12 * off
    }

    /// Moves every vertex once, the best first, and takes back what came after the best cut; whether it is better.
    fn pass(&mut self) -> bool {
        let n = self.graph.len();
        // By the side that a vertex is on.
        let mut heaps: [BinaryHeap<(i64, usize)>; 2] = Default::default();
        for vertex in 0..n {
            heaps[usize::from(self.side[vertex])].push((self.gain(vertex), vertex));
        }
        let mut moved = vec![false; n];
        let (start, mut best) = (self.cost(), (self.cost(), 0));
        let mut moves = Vec::new();
        while moves.len() < best.1 + PATIENCE {
            let tops = [0, 1].map(|side: usize| {
                let heap = &mut heaps[side];
                while let Some(&(gain, vertex)) = heap.peek() {
                    if !moved[vertex] && gain == self.gain(vertex) {
                        return Some((gain, vertex)).filter(|_| self.may_move(vertex));
                    }
                    heap.pop();
                }
                None
            });
            let Some((_, vertex)) = tops.into_iter().flatten().max() else { break };
            self.flip(vertex);
            moved[vertex] = true;
            moves.push(vertex);
            for (other, _) in self.graph.around(vertex).filter(|&(other, _)| !moved[other]) {
                heaps[usize::from(self.side[other])].push((self.gain(other), other));
            }
            if self.cost() < best.0 {
                best = (self.cost(), moves.len());
            }
        }
        while moves.len() > best.1 {
            let vertex = moves.pop().expect("more moves than at the best cut");
            self.flip(vertex);
        }
        best.0 < start
    }

    /// Whether a move leaves the weights near their aims, or brings them nearer.
    fn may_move(&self, vertex: usize) -> bool {
        let weight = self.graph.weights[vertex] as f64;
        let after = self.weight + if self.side[vertex] { weight } else { -weight };
        let [off, now] = [after, self.weight].map(|w| (w - self.aim).abs());
        off <= self.slack + weight || off < now
    }
}
