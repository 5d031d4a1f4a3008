//! Vertices on borders move to the part that most of their edges lead to; then some against it, where a better border lies behind.

use super::{Graph, MORE};
use std::collections::BinaryHeap;
use std::thread;

/// Passes of moves that are better at once,
const PASSES: usize = 10;
/// and of those that look beyond worse ones.
const LOOKS: usize = 8;
/// Moves without fewer edges between parts that end such a pass.
const PATIENCE: usize = 300;

/// Moves vertices between parts whose weights are to be `aims` while edges between parts become fewer, or parts that are too heavy lighter.
pub(super) fn refine(graph: &Graph<'_>, aims: &[f64], part: &mut [u32], threads: usize) {
    let heaviest = graph.heaviest() as f64;
    let mut weights = vec![0.0; aims.len()];
    for (&part, &weight) in part.iter().zip(graph.weights.iter()) {
        weights[part as usize] += weight as f64;
    }
    // To a hundredth, or to half a vertex where those are heavy.
    let most = aims.iter().map(|aim| (aim * (1.0 + MORE)).max(aim + 0.5 * heaviest)).collect();
    let (edges_to, near) = (vec![0; aims.len()], Vec::new());
    let on_border = on_border(graph, part, threads);
    let mut borders = Borders { graph, aims, most, weights, part, edges_to, near, on_border };
    for _ in 0..PASSES {
        let (mut moves, mut from) = (0, 0);
        while let Some(vertex) = borders.next(from) {
            from = vertex + 1;
            if let Some((gain, to)) = borders.best(vertex) {
                let own = borders.part[vertex] as usize;
                if gain > 0 || borders.is_heavy(own) || gain == 0 && borders.evens(vertex, to) {
                    borders.give(vertex, to);
                    moves += 1;
                }
            }
        }
        if moves == 0 {
            break;
        }
    }
    let mut moved = vec![false; graph.len()];
    for _ in 0..LOOKS {
        if !borders.look_beyond(&mut moved) {
            break;
        }
    }
}

/// Bits of the vertices that touch another part.
fn on_border(graph: &Graph<'_>, part: &[u32], threads: usize) -> Vec<u64> {
    let mut bits = vec![0_u64; graph.len().div_ceil(64)];
    let words = bits.len().div_ceil(threads.max(1)).max(1);
    let touches = |vertex: usize| graph.around(vertex).any(|(other, _)| part[other] != part[vertex]);
    thread::scope(|scope| {
        for (at, own) in bits.chunks_mut(words).enumerate() {
            scope.spawn(move || {
                for (word, bits) in own.iter_mut().enumerate() {
                    let first = 64 * (at * words + word);
                    let set = (first..graph.len().min(first + 64)).filter(|&vertex| touches(vertex));
                    *bits = set.fold(0, |bits, vertex| bits | 1 << (vertex - first));
                }
            });
        }
    });
    bits
}

/// Parts under change.
struct Borders<'a> {
    graph: &'a Graph<'a>,
    /// What parts are to weigh, at most, and what they do.
    aims: &'a [f64],
    most: Vec<f64>,
    weights: Vec<f64>,
    part: &'a mut [u32],
    /// Zeros, and no parts, between two looks at a vertex.
    edges_to: Vec<i64>,
    near: Vec<usize>,
    /// A bit for each vertex that may touch another part.
    on_border: Vec<u64>,
}

impl Borders<'_> {
    fn is_heavy(&self, part: usize) -> bool {
        self.weights[part] > self.most[part]
    }

    /// How full a part is with so much more.
    fn full(&self, part: usize, more: f64) -> f64 {
        (self.weights[part] + more) / self.aims[part].max(f64::MIN_POSITIVE)
    }

    /// Whether a part is less full with a vertex than its own is now.
    fn evens(&self, vertex: usize, to: usize) -> bool {
        let weight = self.graph.weights[vertex] as f64;
        self.full(to, weight) < self.full(self.part[vertex] as usize, 0.0)
    }

    /// The part that a vertex on a border may move to with most of its edges, and by how many fewer edges are then cut.
    fn best(&mut self, vertex: usize) -> Option<(i64, usize)> {
        let (graph, own) = (self.graph, self.part[vertex] as usize);
        if graph.around(vertex).all(|(other, _)| self.part[other] as usize == own) {
            self.on_border[vertex / 64] &= !(1 << (vertex % 64));
            return None;
        }
        let mut near = std::mem::take(&mut self.near);
        for (other, weight) in graph.around(vertex) {
            let other = self.part[other] as usize;
            if self.edges_to[other] == 0 {
                near.push(other);
            }
            self.edges_to[other] += weight as i64;
        }
        let (weight, heavy) = (graph.weights[vertex] as f64, self.is_heavy(own));
        let may = |to: usize| {
            to != own
                && if heavy { self.evens(vertex, to) } else { self.weights[to] + weight <= self.most[to] }
        };
        let order = |&a: &usize, &b: &usize| {
            let edges = self.edges_to[a].cmp(&self.edges_to[b]);
            edges.then(self.full(b, 0.0).total_cmp(&self.full(a, 0.0))).then(b.cmp(&a))
        };
        let best = near.iter().copied().filter(|&to| may(to)).max_by(order);
        let found = best.map(|to| (self.edges_to[to] - self.edges_to[own], to));
        self.edges_to[own] = 0;
        near.drain(..).for_each(|part| self.edges_to[part] = 0);
        self.near = near;
        found
    }

    fn give(&mut self, vertex: usize, to: usize) {
        let weight = self.graph.weights[vertex] as f64;
        self.weights[self.part[vertex] as usize] -= weight;
        self.weights[to] += weight;
        self.part[vertex] = to as u32;
        for (touched, _) in self.graph.around(vertex).chain([(vertex, 0)]) {
            self.on_border[touched / 64] |= 1 << (touched % 64);
        }
    }

    /// The next vertex that may touch another part.
    fn next(&self, from: usize) -> Option<usize> {
        let rest = self.on_border.get(from / 64)? & (u64::MAX << (from % 64));
        if rest != 0 {
            return Some(from / 64 * 64 + rest.trailing_zeros() as usize);
        }
        let later = (from / 64 + 1..self.on_border.len()).find(|&word| self.on_border[word] != 0)?;
        Some(64 * later + self.on_border[later].trailing_zeros() as usize)
    }

    /// Moves vertices, each once, the best first and worse ones too, and takes back what came after the fewest edges were cut; whether
    /// these are fewer. `moved` is false throughout before and after.
    fn look_beyond(&mut self, moved: &mut [bool]) -> bool {
        let mut heap = BinaryHeap::new();
        let mut from = 0;
        while let Some(vertex) = self.next(from) {
            from = vertex + 1;
            heap.extend(self.best(vertex).map(|(gain, _)| (gain, vertex)));
        }
        // Edges that fewer are cut so far, the most of that, and after how many moves.
        let (mut sum, mut best, mut kept) = (0, 0, 0);
        let mut moves: Vec<(usize, u32)> = Vec::new();
        while moves.len() < kept + PATIENCE {
            let Some((gain, vertex)) = heap.pop() else { break };
            let Some((now, to)) = self.best(vertex).filter(|_| !moved[vertex]) else { continue };
            if now < gain {
                heap.push((now, vertex));
                continue;
            }
            moves.push((vertex, self.part[vertex]));
            moved[vertex] = true;
            self.give(vertex, to);
            sum += now;
            if sum > best {
                (best, kept) = (sum, moves.len());
            }
            for (other, _) in self.graph.around(vertex).filter(|&(other, _)| !moved[other]) {
                heap.extend(self.best(other).map(|(gain, _)| (gain, other)));
            }
        }
        for (k, (vertex, from)) in moves.into_iter().enumerate().rev() {
            moved[vertex] = false;
            if k >= kept {
                self.give(vertex, from as usize);
            }
        }
        best > 0
    }
}
