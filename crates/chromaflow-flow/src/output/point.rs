//! Values at points within the field.

use super::Field;
use crate::mesh::{Kind, Mesh, cross, dot, mean, sub, volume};

/// How far outside a tetrahedron, in parts of it, a point still counts as inside: points on faces lie in both cells or, by rounding,
/// in none.
const SLACK: f64 = 1e-9;

/// A point in a cell: values there are weighted sums of the cell's nodes', exact for linear fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    weights: Vec<(u32, f64)>,
}

impl Within {
    /// One component of a field there.
    pub fn value(&self, field: &Field, component: usize) -> f64 {
        self.weights.iter().map(|&(n, w)| w * field.values[n as usize * field.components + component]).sum()
    }
}

/// The cell around each point, `None` where a point lies outside the mesh. Of planar meshes in their plane, whatever z the points have.
///
/// A cell is cut into tetrahedra between its middle, the mean of its nodes, and the triangles of its faces.
///
/// ```
/// use chromaflow_flow::mesh::generate::{Cells, box_mesh};
/// use chromaflow_flow::output::{Field, within};
///
/// let mesh = box_mesh([3, 3, 3], [1.0, 1.0, 1.0], Cells::Mixed, 0.1);
/// let linear = Field::scalar("f", mesh.nodes.iter().map(|x| x[0] - 2.0 * x[2]).collect());
/// let found = within(&mesh, &[[0.3, 0.7, 0.2], [0.3, 1.7, 0.2]]);
/// assert!((found[0].as_ref().unwrap().value(&linear, 0) + 0.1).abs() < 1e-14);
/// assert!(found[1].is_none());
/// ```
pub fn within(mesh: &Mesh, points: &[[f64; 3]]) -> Vec<Option<Within>> {
    let middle = mesh.planar.map(|planar| mesh.nodes[0][2] + 0.5 * planar.depth);
    let points: Vec<[f64; 3]> = points.iter().map(|x| [x[0], x[1], middle.unwrap_or(x[2])]).collect();
    // The tetrahedron that a point is furthest inside of, or least outside.
    let mut best: Vec<(f64, Option<Within>)> = vec![(-SLACK, None); points.len()];
    mesh.each_element(|kind, _, nodes| {
        let corners: Vec<[f64; 3]> = nodes.iter().map(|&n| mesh.nodes[n as usize]).collect();
        let range = |d: usize| {
            let x = || corners.iter().map(|x| x[d]);
            (x().fold(f64::INFINITY, f64::min), x().fold(f64::NEG_INFINITY, f64::max))
        };
        let ranges = [range(0), range(1), range(2)];
        let near = |p: &[f64; 3]| {
            (0..3).all(|d| {
                let (low, high) = ranges[d];
                let slack = SLACK * (high - low);
                (low - slack..=high + slack).contains(&p[d])
            })
        };
        for (point, best) in points.iter().zip(&mut best).filter(|(point, _)| near(point)) {
            for (inside, weights) in tetrahedra(kind, nodes, &corners, point) {
                if inside >= best.0 {
                    let weights = nodes.iter().copied().zip(weights).filter(|(_, w)| *w != 0.0).collect();
                    *best = (inside, Some(Within { weights }));
                }
            }
        }
    });
    best.into_iter().map(|(_, found)| found).collect()
}

/// For each tetrahedron of a cell the least of the point's barycentric coordinates, and what they make of the cell's nodes.
/// Quadrilaterals are parted from their lowest node, so that the two cells beside one leave no gap.
fn tetrahedra(kind: Kind, nodes: &[u32], corners: &[[f64; 3]], point: &[f64; 3]) -> Vec<(f64, Vec<f64>)> {
    let count = corners.len();
    let mut out = Vec::new();
    let mut add = |apex: Option<usize>, triangle: [usize; 3]| {
        let top = apex.map_or_else(|| mean(corners), |i| corners[i]);
        let [a, b, c] = triangle.map(|i| sub(corners[i], top));
        let six = dot(cross(a, b), c);
        if six == 0.0 {
            return;
        }
        let p = sub(*point, top);
        let of = [dot(cross(p, b), c) / six, dot(cross(a, p), c) / six, dot(cross(a, b), p) / six];
        let rest = 1.0 - of.iter().sum::<f64>();
        let least = of.iter().copied().fold(rest, f64::min);
        let mut weights = vec![if apex.is_none() { rest / count as f64 } else { 0.0 }; count];
        if let Some(apex) = apex {
            weights[apex] += rest;
        }
        triangle.iter().zip(of).for_each(|(&i, w)| weights[i] += w);
        out.push((least, weights));
    };
    if kind == Kind::Tetrahedron {
        add(Some(0), [1, 2, 3]);
    } else {
        for face in kind.faces() {
            let first = (0..face.len()).min_by_key(|&i| nodes[face[i]]).unwrap_or(0);
            let corner = |i: usize| face[(first + i) % face.len()];
            (2..face.len()).for_each(|last| add(None, [corner(0), corner(last - 1), corner(last)]));
        }
    }
    out
}

/// The part of the mesh's volume that stands for each node: every cell's in equal parts, over the whole. The sum of a field times these is
/// its mean over the volume.
///
/// ```
/// use chromaflow_flow::mesh::generate::{Cells, box_mesh};
/// let mesh = box_mesh([2, 3, 4], [1.0, 2.0, 3.0], Cells::Mixed, 0.1);
/// let shares = chromaflow_flow::output::volume_shares(&mesh);
/// assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-14);
/// ```
pub fn volume_shares(mesh: &Mesh) -> Vec<f64> {
    let mut shares = vec![0.0; mesh.nodes.len()];
    let mut corners = Vec::new();
    mesh.each_element(|kind, _, nodes| {
        corners.clear();
        corners.extend(nodes.iter().map(|&n| mesh.nodes[n as usize]));
        let share = volume(kind, &corners) / nodes.len() as f64;
        for &n in nodes {
            shares[n as usize] += share;
        }
    });
    let whole: f64 = shares.iter().sum();
    shares.into_iter().map(|share| share / whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::generate::{Cells, box_mesh};

    /// Linear fields are exact on all cells, points on nodes, edges and faces of the mesh included; what lies outside is found nowhere.
    #[test]
    fn linear_fields_are_exact_wherever_a_point_lies() {
        let f = |x: &[f64; 3]| 0.3 + 2.0 * x[0] - x[1] + 0.7 * x[2];
        for cells in [Cells::Tets, Cells::Prisms, Cells::Hexes, Cells::Mixed] {
            let mesh = box_mesh([4, 3, 5], [2.0, 1.0, 1.5], cells, 0.1);
            let field = Field::vector("f", 2, mesh.nodes.iter().flat_map(|x| [7.0, f(x)]).collect());
            let mut points: Vec<[f64; 3]> = (0..50)
                .map(|i| {
                    let part = |p: f64| (f64::from(i) * p).fract();
                    [2.0 * part(0.618_034), part(0.754_878), 1.5 * part(0.569_84)]
                })
                .collect();
            points.extend(mesh.nodes.iter().copied());
            mesh.each_element(|_, _, nodes| {
                let ends = [nodes[0], nodes[1]].map(|n| mesh.nodes[n as usize]);
                points.push(mean(&ends));
            });
            for (point, found) in points.iter().zip(within(&mesh, &points)) {
                let found = found.unwrap_or_else(|| panic!("{cells:?}: {point:?}"));
                assert!((found.value(&field, 1) - f(point)).abs() < 1e-12, "{cells:?}: {point:?}");
                assert!((found.value(&field, 0) - 7.0).abs() < 1e-12);
            }
            let outside = [[2.01, 0.5, 0.5], [1.0, -1e-3, 0.5], [1.0, 0.5, 1e9]];
            assert!(within(&mesh, &outside).iter().all(Option::is_none), "{cells:?}");
        }
    }

    /// The mean of a linear field is its value in the middle of a box.
    #[test]
    fn means_over_the_volume_of_linear_fields_are_exact() {
        for cells in [Cells::Tets, Cells::Hexes] {
            let mesh = box_mesh([4, 3, 5], [2.0, 1.0, 1.5], cells, 0.0);
            let shares = volume_shares(&mesh);
            let mean: f64 = shares.iter().zip(&mesh.nodes).map(|(s, x)| s * (x[0] + 3.0 * x[1] - x[2])).sum();
            assert!((mean - 1.75).abs() < 1e-13, "{cells:?}: {mean}");
        }
    }
}
