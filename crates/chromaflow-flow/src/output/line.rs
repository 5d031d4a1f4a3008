//! Values along a straight line through the field.

use super::Field;
use crate::mesh::{Kind, Mesh, cross, dot, norm, sub};

/// How far outside a triangle, in parts of it, and outside the line's ends, in parts of the line, a crossing still counts: lines
/// along the faces of a mesh meet the edges of others.
const SLACK: f64 = 1e-9;

/// Crossings that are no further apart, in parts of the line, are one.
const SAME: f64 = 1e-12;

/// A place where a line crosses a face of a cell; values there are those of three nodes, linear between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Distance from the line's beginning, mesh units.
    pub distance: f64,
    /// Where.
    pub position: [f64; 3],
    nodes: [u32; 3],
    weights: [f64; 3],
}

impl Crossing {
    /// One component of a field.
    pub fn value(&self, field: &Field, component: usize) -> f64 {
        let at = |node: u32| field.values[node as usize * field.components + component];
        self.nodes.iter().zip(self.weights).map(|(&node, weight)| weight * at(node)).sum()
    }

    /// The size of a field: |v| of a vector, |v| of a scalar.
    pub fn size(&self, field: &Field) -> f64 {
        (0..field.components).map(|c| self.value(field, c).powi(2)).sum::<f64>().sqrt()
    }
}

/// Where the line between two points crosses the faces of cells, from its beginning to its end: the points between which a field
/// that is linear in tetrahedra is linear. Of planar meshes in their plane, whatever z the points have.
///
/// ```
/// use chromaflow_flow::mesh::generate::{Cells, box_mesh};
/// use chromaflow_flow::output::{Field, crossings};
///
/// let mesh = box_mesh([2, 2, 4], [1.0, 1.0, 1.0], Cells::Hexes, 0.0);
/// let height = Field::scalar("height", mesh.nodes.iter().map(|x| x[2]).collect());
/// let found = crossings(&mesh, [0.3, 0.4, 0.0], [0.3, 0.4, 1.0]);
/// assert!(found.len() >= 5);
/// assert!(found.iter().all(|c| (c.value(&height, 0) - c.distance).abs() < 1e-14));
/// ```
pub fn crossings(mesh: &Mesh, from: [f64; 3], to: [f64; 3]) -> Vec<Crossing> {
    let middle = mesh.planar.map(|planar| mesh.nodes[0][2] + 0.5 * planar.depth);
    let lifted = |x: [f64; 3]| [x[0], x[1], middle.unwrap_or(x[2])];
    let line = Line::new(lifted(from), lifted(to));
    let mut found = Vec::new();
    mesh.each_element(|kind, _, nodes| {
        if line.passes(mesh, nodes) {
            line.cross(mesh, kind, nodes, &mut found);
        }
    });
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.dedup_by(|b, a| b.0 - a.0 <= SAME);
    let of = |(part, nodes, weights): (f64, [u32; 3], [f64; 3])| {
        let position = std::array::from_fn(|d| from[d] + part * (to[d] - from[d]));
        Crossing { distance: part * line.length, position, nodes, weights }
    };
    found.into_iter().map(of).collect()
}

/// A line, and the box around it.
struct Line {
    from: [f64; 3],
    along: [f64; 3],
    length: f64,
    low: [f64; 3],
    high: [f64; 3],
}

impl Line {
    fn new(from: [f64; 3], to: [f64; 3]) -> Self {
        let along = sub(to, from);
        let length = norm(along);
        let bound = |pick: fn(f64, f64) -> f64, out: f64| {
            std::array::from_fn(|d| pick(from[d], to[d]) + out * SLACK * length)
        };
        Self { from, along, length, low: bound(f64::min, -1.0), high: bound(f64::max, 1.0) }
    }

    /// Whether a cell may meet the line: their boxes do, and its nodes are not all on one side of a plane through the line.
    fn passes(&self, mesh: &Mesh, nodes: &[u32]) -> bool {
        let beyond = |d: usize| {
            let x = || nodes.iter().map(|&n| mesh.nodes[n as usize][d]);
            x().all(|x| x < self.low[d]) || x().all(|x| x > self.high[d])
        };
        !(0..3).any(beyond)
    }

    /// Adds where the line crosses the triangles of a cell's faces: part of the line, nodes, weights. Quadrilaterals are parted from
    /// their lowest node, so that the two cells beside one find the same.
    fn cross(&self, mesh: &Mesh, kind: Kind, cell: &[u32], found: &mut Vec<(f64, [u32; 3], [f64; 3])>) {
        for face in kind.faces() {
            let first = (0..face.len()).min_by_key(|&i| cell[face[i]]).unwrap_or(0);
            let corner = |i: usize| cell[face[(first + i) % face.len()]];
            for last in 2..face.len() {
                let nodes = [corner(0), corner(last - 1), corner(last)];
                let at = self.meet(nodes.map(|n| mesh.nodes[n as usize]));
                found.extend(at.map(|(part, weights)| (part, nodes, weights)));
            }
        }
    }

    /// Where the line meets a triangle: Möller and Trumbore, Journal of Graphics Tools 2, 1997.
    fn meet(&self, [a, b, c]: [[f64; 3]; 3]) -> Option<(f64, [f64; 3])> {
        let (u, v) = (sub(b, a), sub(c, a));
        let normal = cross(self.along, v);
        let det = dot(u, normal);
        // Along the face: its edges are met by others.
        if det.abs() <= SLACK * norm(u) * norm(v) * self.length {
            return None;
        }
        let from = sub(self.from, a);
        let second = dot(from, normal) / det;
        let turned = cross(from, u);
        let third = dot(self.along, turned) / det;
        let part = dot(v, turned) / det;
        let weights = [1.0 - second - third, second, third];
        let inside = weights.iter().all(|w| *w >= -SLACK) && (-SLACK..=1.0 + SLACK).contains(&part);
        inside.then_some((part.clamp(0.0, 1.0), weights))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::generate::{Cells, box_mesh};

    /// Linear functions come out exactly on every kind of cell, along any line, and every cell on the way is met.
    #[test]
    fn linear_functions_along_lines_are_exact() {
        for cells in [Cells::Tets, Cells::Prisms, Cells::Hexes, Cells::Mixed] {
            let mesh = box_mesh([5, 4, 6], [2.0, 1.0, 1.5], cells, 0.1);
            let f = |x: &[f64; 3]| 0.3 + 2.0 * x[0] - x[1] + 0.7 * x[2];
            let field = Field::scalar("f", mesh.nodes.iter().map(f).collect());
            for (from, to) in [
                ([0.1, 0.2, 0.0], [1.9, 0.7, 1.5]),
                ([0.4, 0.25, 0.0], [0.4, 0.25, 1.5]),
                ([0.0; 3], [2.0, 1.0, 1.5]),
            ] {
                let found = crossings(&mesh, from, to);
                assert!(found.len() > 5, "{cells:?}: {}", found.len());
                for crossing in &found {
                    let error = (crossing.value(&field, 0) - f(&crossing.position)).abs();
                    assert!(error < 1e-8, "{cells:?}: {error} at {:?}", crossing.position);
                }
                assert!(found.is_sorted_by(|a, b| a.distance < b.distance));
                let length = norm(sub(to, from));
                assert!(found[0].distance < 1e-9 && found[found.len() - 1].distance > length * (1.0 - 1e-9));
            }
        }
    }

    #[test]
    fn a_line_beside_the_mesh_crosses_nothing() {
        let mesh = box_mesh([2, 2, 2], [1.0; 3], Cells::Tets, 0.0);
        assert!(crossings(&mesh, [1.5, 0.0, 0.0], [1.5, 1.0, 1.0]).is_empty());
    }
}
