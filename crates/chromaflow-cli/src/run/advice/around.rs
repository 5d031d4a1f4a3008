//! Nodes and the cells around them: what a place in a mesh is like, values of cells on points.

use chromaflow_flow::mesh::{Kind, Mesh, scaled_jacobian, sub, topology};
use serde_json::{Value, json};

/// The cells around a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Around {
    /// How many of each type, those that there are.
    pub kinds: Vec<(&'static str, usize)>,
    /// The smallest scaled Jacobian of them.
    pub scaled_jacobian: f64,
    /// The largest ratio of edges in one of them.
    pub aspect_ratio: f64,
}

impl Around {
    /// Of a node of a mesh.
    pub fn node(mesh: &Mesh, node: usize) -> Self {
        let mut kinds = Kind::ALL.map(|kind| (name(kind, mesh.planar.is_some()), 0));
        let (mut worst, mut longest) = (f64::INFINITY, 0.0_f64);
        // The edges between the two planes of a planar mesh say nothing.
        let counts = |i: usize| mesh.planar.is_none_or(|planar| i < planar.nodes_2d);
        let touching = topology::elements(mesh).filter(|(_, e)| e.contains(&(node as u32)));
        for (kind, element) in touching {
            kinds[Kind::ALL.iter().position(|k| *k == kind).expect("one of all")].1 += 1;
            let p: Vec<_> = element.iter().map(|&i| mesh.nodes[i as usize]).collect();
            worst = worst.min(scaled_jacobian(kind, &p));
            let edges = kind.edges().iter().filter(|e| e.iter().all(|&k| counts(element[k] as usize)));
            let lengths = edges.map(|&[a, b]| sub(p[a], p[b]).iter().map(|d| d * d).sum::<f64>());
            let (least, most) =
                lengths.fold((f64::INFINITY, 0.0_f64), |(least, most), l| (least.min(l), most.max(l)));
            longest = longest.max((most / least).sqrt());
        }
        let kinds = kinds.into_iter().filter(|(_, count)| *count > 0).collect();
        Self { kinds, scaled_jacobian: worst, aspect_ratio: longest }
    }

    /// For people.
    pub fn line(&self) -> String {
        let kinds: Vec<_> = self.kinds.iter().map(|(name, count)| format!("{count} {name}")).collect();
        format!(
            "{} around it, scaled Jacobian {:.3} at the least, edges 1 to {:.1} at the most",
            kinds.join(" and "),
            self.scaled_jacobian,
            self.aspect_ratio
        )
    }

    /// For scripts.
    pub fn json(&self) -> Value {
        let kinds: serde_json::Map<_, _> =
            self.kinds.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        json!({ "kinds": kinds, "scaled_jacobian": self.scaled_jacobian, "aspect_ratio": self.aspect_ratio })
    }
}

fn name(kind: Kind, planar: bool) -> &'static str {
    match (kind, planar) {
        (Kind::Tetrahedron, _) => "tetrahedra",
        (Kind::Pyramid, _) => "pyramids",
        (Kind::Prism, false) => "prisms",
        (Kind::Hexahedron, false) => "hexahedra",
        (Kind::Prism, true) => "triangles",
        (Kind::Hexahedron, true) => "quadrilaterals",
    }
}

/// Values of cells on the nodes of their mesh, each the mean of the cells around it.
///
/// **Shapes**: `values` is `[elements, width]`, the result `[nodes, width]`.
pub fn on_points(mesh: &Mesh, width: usize, values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; mesh.nodes.len() * width];
    let mut counts = vec![0_u32; mesh.nodes.len()];
    for ((_, element), cell) in topology::elements(mesh).zip(values.chunks_exact(width)) {
        for &node in element {
            counts[node as usize] += 1;
            for (sum, value) in sums[node as usize * width..][..width].iter_mut().zip(cell) {
                *sum += value;
            }
        }
    }
    for (sums, &count) in sums.chunks_exact_mut(width).zip(&counts) {
        for sum in sums {
            *sum /= f64::from(count.max(1));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two unit cubes side by side, the second one of twice the length.
    fn cubes() -> Mesh {
        let nodes = (0..12).map(|n| [[0.0, 1.0, 3.0][n % 3], (n / 3 % 2) as f64, (n / 6) as f64]).collect();
        let hexes = vec![[0, 1, 4, 3, 6, 7, 10, 9], [1, 2, 5, 4, 7, 8, 11, 10]];
        Mesh { nodes, hexes, ..Mesh::default() }
    }

    #[test]
    fn cells_around_a_node_are_counted_and_judged() {
        let (one, both) = (Around::node(&cubes(), 0), Around::node(&cubes(), 1));
        assert_eq!(one, Around { kinds: vec![("hexahedra", 1)], scaled_jacobian: 1.0, aspect_ratio: 1.0 });
        assert_eq!((both.kinds[0].1, both.aspect_ratio), (2, 2.0));
        let mut flat = cubes();
        flat.nodes[0] = [0.9, 0.9, 0.0];
        assert!(Around::node(&flat, 3).scaled_jacobian < 0.5);
    }

    #[test]
    fn points_have_the_mean_of_their_cells() {
        let values = on_points(&cubes(), 2, &[1.0, 10.0, 3.0, 30.0]);
        assert_eq!(
            (&values[..2], &values[2..4], &values[4..6]),
            (&[1.0, 10.0][..], &[2.0, 20.0][..], &[3.0, 30.0][..])
        );
    }
}
