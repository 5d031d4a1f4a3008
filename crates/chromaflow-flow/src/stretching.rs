//! How stretched the cells of a mesh are, as linear solvers feel it.

use crate::mesh::{Mesh, edge_lengths};
use crate::parallel;
use chromaflow_device::Team;

/// Geometric mean over the nodes of the longest edge over the shortest one at a node; of a planar mesh, of the edges in its plane. 1 for a
/// mesh without edges.
///
/// Neighbors across a layer are coupled more strongly than those along it by about the square of this ratio (area over length), and
/// sweeps from node to node lose their hold on what varies along the layer. A mean of logarithms, so that neither a few slivers nor the
/// few cells of a wall's first layer decide for all of a mesh.
///
/// **Units**: none; it is the same at every scale of length, and in every order of the nodes up to rounding.
///
/// ```
/// use chromaflow_flow::mesh::generate::{Cells, box_mesh};
/// use chromaflow_flow::stretching::stretching;
/// // Cubes, and boxes eight times as wide as high.
/// let cubes = box_mesh([4, 4, 4], [1.0; 3], Cells::Hexes, 0.0);
/// let plates = box_mesh([4, 4, 4], [8.0, 8.0, 1.0], Cells::Hexes, 0.0);
/// assert!((stretching(&cubes, 1) - 1.0).abs() < 1e-12 && (stretching(&plates, 1) - 8.0).abs() < 1e-12);
/// ```
pub fn stretching(mesh: &Mesh, threads: usize) -> f64 {
    let ends = edge_lengths(mesh, threads);
    // Nodes that coincide have no ratio.
    let logarithm = |&[low, high]: &[f64; 2]| (low > 0.0 && high > 0.0).then(|| (high / low).ln());
    let found = parallel::map(&Team::new(threads.max(1)), &ends, logarithm);
    let (sum, count) = found.iter().flatten().fold((0.0, 0usize), |(sum, count), ln| (sum + ln, count + 1));
    (sum / count.max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::stretching;
    use crate::mesh::Mesh;
    use crate::mesh::generate::{Cells, box_mesh};

    #[test]
    fn it_is_one_for_nothing_and_the_same_at_every_scale() {
        assert_eq!(stretching(&Mesh::default(), 1), 1.0);
        let mut mesh = box_mesh([7, 5, 3], [3.0, 1.0, 1.0], Cells::Tets, 0.2);
        let first = stretching(&mesh, 1);
        assert!(first > 1.0);
        mesh.nodes.iter_mut().flatten().for_each(|x| *x *= 1e3);
        assert!((stretching(&mesh, 2) / first - 1.0).abs() < 1e-12);
    }

    /// A few nodes drawn together do not make a mesh a stretched one.
    #[test]
    fn single_slivers_do_not_decide() {
        let mut mesh = box_mesh([10; 3], [1.0; 3], Cells::Hexes, 0.0);
        let near = mesh.nodes[0];
        mesh.nodes[1] = std::array::from_fn(|d| near[d] + 1e-6 * (mesh.nodes[1][d] - near[d]));
        let found = stretching(&mesh, 1);
        assert!(found > 1.0 && found < 1.1, "{found}");
    }
}
