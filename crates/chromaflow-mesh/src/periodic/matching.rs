//! Which node of one side is the image of which of the other.

use super::{Images, PeriodicError};
use crate::{Marker, Mesh, norm, sub};
use std::collections::{HashMap, HashSet};

/// Nodes of a side, ascending, and the shortest edge at each.
struct Side {
    nodes: Vec<u32>,
    shortest: Vec<f64>,
}

impl Side {
    fn new(mesh: &Mesh, marker: &Marker) -> Self {
        let mut nodes: Vec<u32> = faces(marker).flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut shortest = vec![f64::INFINITY; nodes.len()];
        for face in faces(marker) {
            for (k, &a) in face.iter().enumerate() {
                let b = face[(k + 1) % face.len()];
                let length = norm(sub(mesh.nodes[b as usize], mesh.nodes[a as usize]));
                for node in [a, b] {
                    let at = nodes.binary_search(&node).expect("a node of the marker");
                    shortest[at] = shortest[at].min(length);
                }
            }
        }
        Self { nodes, shortest }
    }

    fn mean(&self, mesh: &Mesh) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for &i in &self.nodes {
            (0..3).for_each(|d| sum[d] += mesh.nodes[i as usize][d]);
        }
        sum.map(|v| v / self.nodes.len() as f64)
    }
}

fn faces(marker: &Marker) -> impl Iterator<Item = &[u32]> {
    let triangles = marker.triangles.iter().map(|f| f.as_slice());
    triangles.chain(marker.quads.iter().map(|f| f.as_slice()))
}

/// The translation from one side to the other, and the pairs of nodes, the first of each on the first side.
pub(super) fn matched(
    mesh: &Mesh,
    from: &Marker,
    to: &Marker,
) -> Result<([f64; 3], Vec<[u32; 2]>), PeriodicError> {
    let (one, other) = (Side::new(mesh, from), Side::new(mesh, to));
    if one.nodes.len() != other.nodes.len() || one.nodes.is_empty() {
        return Err(PeriodicError::Count {
            marker: from.name.clone(),
            partner: to.name.clone(),
            nodes: one.nodes.len(),
            others: other.nodes.len(),
        });
    }
    let mut step = sub(other.mean(mesh), one.mean(mesh));
    let size = norm(step);
    // What is left of rounding where a side is a plane of coordinates.
    for v in &mut step {
        if v.abs() < 1e-12 * size {
            *v = 0.0;
        }
    }
    let places: Vec<[f64; 3]> = other.nodes.iter().map(|&i| mesh.nodes[i as usize]).collect();
    let cells = Cells::new(&places);
    let mut pairs = Vec::with_capacity(one.nodes.len());
    let mut found = HashSet::new();
    for (&node, &shortest) in one.nodes.iter().zip(&one.shortest) {
        let at = mesh.nodes[node as usize];
        let image: [f64; 3] = std::array::from_fn(|d| at[d] + step[d]);
        let tolerance = PeriodicError::TOLERANCE * shortest;
        let nearest = cells.nearest(&places, image);
        match nearest {
            Some((k, off)) if off <= tolerance && found.insert(k) => pairs.push([node, other.nodes[k]]),
            _ => {
                let off = nearest.map_or(f64::INFINITY, |(_, off)| off);
                let (marker, partner) = (from.name.clone(), to.name.clone());
                return Err(PeriodicError::Unmatched { node, at, marker, partner, step, off, tolerance });
            }
        }
    }
    Ok((step, pairs))
}

/// Every face of the one side is one of the other, after merging.
pub(super) fn faces_agree(
    mesh: &Mesh,
    images: &Images,
    [from, to]: [&Marker; 2],
) -> Result<(), PeriodicError> {
    let merged = |face: &[u32]| {
        let mut nodes: Vec<u32> = face.iter().map(|&i| images.merged[i as usize]).collect();
        nodes.sort_unstable();
        nodes
    };
    let known: HashSet<Vec<u32>> = faces(to).map(merged).collect();
    let Some(face) = faces(from).find(|face| !known.contains(&merged(face))) else { return Ok(()) };
    let mut at = [0.0; 3];
    for &i in face {
        (0..3).for_each(|d| at[d] += mesh.nodes[i as usize][d] / face.len() as f64);
    }
    Err(PeriodicError::Face { at, marker: from.name.clone(), partner: to.name.clone() })
}

/// Points by cells of a grid about as many as they are.
struct Cells {
    low: [f64; 3],
    width: f64,
    counts: [i64; 3],
    lists: HashMap<[i64; 3], Vec<u32>>,
}

impl Cells {
    fn new(points: &[[f64; 3]]) -> Self {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for x in points {
            for d in 0..3 {
                (low[d], high[d]) = (low[d].min(x[d]), high[d].max(x[d]));
            }
        }
        let extent = (0..3).map(|d| high[d] - low[d]).fold(0.0, f64::max);
        // A surface: as many cells along each side as the root of its nodes.
        let width = (extent / (points.len() as f64).sqrt()).max(f64::MIN_POSITIVE);
        let counts = std::array::from_fn(|d| ((high[d] - low[d]) / width) as i64);
        let mut out = Self { low, width, counts, lists: HashMap::new() };
        for (i, x) in (0..).zip(points) {
            out.lists.entry(out.cell(*x)).or_default().push(i);
        }
        out
    }

    fn cell(&self, x: [f64; 3]) -> [i64; 3] {
        std::array::from_fn(|d| (((x[d] - self.low[d]) / self.width).floor() as i64).clamp(0, self.counts[d]))
    }

    /// The nearest of the points and how far it is away; layers of cells around `x` until no nearer one can follow.
    fn nearest(&self, points: &[[f64; 3]], x: [f64; 3]) -> Option<(usize, f64)> {
        let center = self.cell(x);
        let most = self.counts.into_iter().max().unwrap_or(0) + 1;
        let mut best: Option<(usize, f64)> = None;
        for layer in 0..=most {
            if best.is_some_and(|(_, off)| off <= (layer - 1) as f64 * self.width) {
                break;
            }
            let range = |d: usize| (center[d] - layer).max(0)..=(center[d] + layer).min(self.counts[d]);
            for i in range(0) {
                for j in range(1) {
                    for k in range(2) {
                        let apart = [i - center[0], j - center[1], k - center[2]].map(i64::abs);
                        if apart.into_iter().max() != Some(layer) {
                            continue;
                        }
                        for &p in self.lists.get(&[i, j, k]).map_or(&[][..], |list| list) {
                            let off = norm(sub(points[p as usize], x));
                            if best.is_none_or(|(_, least)| off < least) {
                                best = Some((p as usize, off));
                            }
                        }
                    }
                }
            }
        }
        best
    }
}
