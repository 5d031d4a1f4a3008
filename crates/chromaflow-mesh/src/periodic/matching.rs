//! Which node of one side is the image of which of the other.

use super::{Images, Motion, PeriodicError, Rotation};
use crate::{Marker, Mesh, cross, norm, sub};
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

    /// Sum of the areas of a marker's faces, which point out of the mesh.
    fn area(mesh: &Mesh, marker: &Marker) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for face in faces(marker) {
            let x = |k: usize| mesh.nodes[face[k % face.len()] as usize];
            for k in 1..face.len() - 1 {
                let area = cross(sub(x(k), x(0)), sub(x(k + 1), x(0)));
                (0..3).for_each(|d| sum[d] += 0.5 * area[d]);
            }
        }
        sum
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

/// The motion from one side to the other, and the pairs of nodes, the first of each on the first side. A node that is its own image lies
/// on the axis of a rotation.
pub(crate) fn matched(
    mesh: &Mesh,
    from: &Marker,
    to: &Marker,
) -> Result<(Motion, Vec<[u32; 2]>), PeriodicError> {
    let sides = [Side::new(mesh, from), Side::new(mesh, to)];
    let [one, other] = &sides;
    if one.nodes.len() != other.nodes.len() || one.nodes.is_empty() {
        return Err(PeriodicError::Count {
            marker: from.name.clone(),
            partner: to.name.clone(),
            nodes: one.nodes.len(),
            others: other.nodes.len(),
        });
    }
    let means = [one.mean(mesh), other.mean(mesh)];
    let mut step = sub(means[1], means[0]);
    let size = norm(step);
    // What is left of rounding where a side is a plane of coordinates.
    for v in &mut step {
        if v.abs() < 1e-12 * size {
            *v = 0.0;
        }
    }
    let places: Vec<[f64; 3]> = other.nodes.iter().map(|&i| mesh.nodes[i as usize]).collect();
    let cells = Cells::new(&places);
    let by = |motion: Motion| {
        let pairs = one.images(mesh, other, (&cells, &places), motion);
        pairs.map(|pairs| (motion, pairs))
    };
    // What points out of the mesh on the one side points into it on the other.
    let areas = [Side::area(mesh, from), Side::area(mesh, to).map(|v| -v)];
    let rotation = if mesh.planar.is_some() { None } else { Rotation::between(means, areas) };
    // Nodes of half a ring fall upon one another by a translation, too, with both sides outside.
    let turned = norm(sub(areas[0], areas[1])) > 0.1 * (norm(areas[0]) + norm(areas[1]));
    let by_step = match by(Motion::Translation(step)) {
        Ok(found) if !turned || rotation.is_none() => return Ok(found),
        Ok(found) => {
            let by_turn = rotation.map(|rotation| by(Motion::Rotation(rotation)));
            return by_turn.and_then(Result::ok).map_or(Ok(found), Ok);
        }
        Err(lost) => lost,
    };
    let Some(rotation) = rotation else { return Err(by_step.told(from, to, step, None)) };
    by(Motion::Rotation(rotation)).map_err(|by_turn| {
        // The motion that comes nearer is the one that was meant.
        if by_turn.ratio() < by_step.ratio() {
            by_turn.told(from, to, step, Some(rotation))
        } else {
            by_step.told(from, to, step, None)
        }
    })
}

/// A node without an image.
struct Lost {
    node: u32,
    at: [f64; 3],
    off: f64,
    tolerance: f64,
}

impl Lost {
    fn ratio(&self) -> f64 {
        self.off / self.tolerance
    }

    fn told(self, from: &Marker, to: &Marker, step: [f64; 3], rotation: Option<Rotation>) -> PeriodicError {
        let (marker, partner) = (from.name.clone(), to.name.clone());
        let Self { node, at, off, tolerance } = self;
        match rotation {
            None => PeriodicError::Unmatched { node, at, marker, partner, step, off, tolerance },
            Some(rotation) => {
                let degrees = rotation.angle.to_degrees();
                let Rotation { point, axis, .. } = rotation;
                PeriodicError::Unturned {
                    node,
                    at,
                    marker,
                    partner,
                    degrees,
                    line: Box::new([point, axis]),
                    off,
                    tolerance,
                }
            }
        }
    }
}

impl Side {
    /// The image of each node on another side by a motion, or the first node without one.
    fn images(
        &self,
        mesh: &Mesh,
        other: &Self,
        (cells, places): (&Cells, &[[f64; 3]]),
        motion: Motion,
    ) -> Result<Vec<[u32; 2]>, Lost> {
        let mut pairs = Vec::with_capacity(self.nodes.len());
        let mut found = HashSet::new();
        for (&node, &shortest) in self.nodes.iter().zip(&self.shortest) {
            let at = mesh.nodes[node as usize];
            let tolerance = PeriodicError::TOLERANCE * shortest;
            match cells.nearest(places, motion.image(at)) {
                Some((k, off)) if off <= tolerance && found.insert(k) => pairs.push([node, other.nodes[k]]),
                nearest => {
                    let off = nearest.map_or(f64::INFINITY, |(_, off)| off);
                    return Err(Lost { node, at, off, tolerance });
                }
            }
        }
        Ok(pairs)
    }
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
