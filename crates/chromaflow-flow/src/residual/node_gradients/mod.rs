//! Gradients at nodes from the corners of the elements around them.
//!
//! Least squares without weights lose the derivative across thin layers of cells on curved walls; elements keep it
//! (Mavriplis, AIAA 2003-3986). At a corner of an element, the edges a, b, c that meet there give the gradient of its shape
//! functions, that of the function linear along them: g = ((b x c) f_a + (c x a) f_b + (a x b) f_c) / J with J = a . (b x c), where f_a is
//! what changes along a. A node has the mean of its corners' gradients by J: exact where the function is linear, on any mesh.
//! Of tetrahedra that is Green-Gauss. Of other elements no edge counts but those of the node itself: the shear at the foot of a wall does not reach
//! the node before its leading edge, as it would with means over whole elements.

#[cfg(feature = "cuda")]
mod arguments;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use super::ViscousElements;
use super::viscous::{Group, in_plane};
use crate::dual::{Dual, cross, dot, drawn_together, sub};
use crate::gradient::NodeRecord;
use crate::parallel;
use crate::real::{AHEAD, prefetch};
use chromaflow::BlockPattern;
use chromaflow_device::Team;
use std::sync::Arc;

/// What the change along each edge of a node counts for in its gradient.
#[derive(Clone, Debug)]
pub struct NodeGradients {
    pattern: Arc<BlockPattern>,
    /// Of each position of the pattern, `[nnzb]`.
    weights: Vec<[f64; 3]>,
}

impl NodeGradients {
    /// On elements whose dual (collapsed, where the mesh is planar) is `dual`, the rows at the places of `nodes`.
    pub fn new(elements: &ViscousElements, dual: &Dual, nodes: &[NodeRecord]) -> Self {
        let mut sums = Sums {
            elements,
            dual,
            nodes,
            weights: vec![[0.0; 3]; dual.pattern.col_idx().len()],
            // J of a node's corners, and of these elements' corners in the mean.
            sizes: vec![[0.0; 2]; dual.nodes()],
        };
        sums.add_all(&elements.tets);
        sums.add_all(&elements.pyramids);
        elements.pyramids.nodes.iter().for_each(|pyramid| sums.add(pyramid, &APEX, 0.5));
        sums.add_all(&elements.prisms);
        sums.add_all(&elements.hexes);
        let Sums { mut weights, sizes, .. } = sums;
        for (row, [own, mean]) in sizes.into_iter().enumerate() {
            let size = own.max(FLAT * mean);
            for weight in &mut weights[dual.pattern.range(row)] {
                *weight = weight.map(|w| if size > 0.0 { w / size } else { 0.0 });
            }
        }
        Self { pattern: Arc::clone(&dual.pattern), weights }
    }

    /// Gradients of velocity and of `phi`, `[rows, M]`, at every node: `out`, `[rows, 3 + M, 3]`, has those of (u, v, w, phi)_v.
    pub fn compute<const M: usize>(
        &self,
        team: &Team,
        nodes: &[NodeRecord],
        phi: &[[f64; M]],
        out: &mut [f64],
    ) {
        let columns = self.pattern.col_idx();
        assert!(nodes.len() == self.pattern.rows() && phi.len() == nodes.len());
        parallel::rows(team, nodes.len(), 3 * (3 + M), out, |rows, out| {
            for (i, out) in rows.zip(out.chunks_exact_mut(3 * (3 + M))) {
                let (mut of_velocity, mut of_phi) = ([[0.0; 3]; 3], [[0.0; 3]; M]);
                for at in self.pattern.range(i) {
                    if let Some(&later) = columns.get(at + AHEAD) {
                        prefetch(nodes, later);
                    }
                    let (j, weight) = (columns[at] as usize, &self.weights[at]);
                    for v in 0..3 {
                        let change = nodes[j][1 + v] - nodes[i][1 + v];
                        (0..3).for_each(|d| of_velocity[v][d] += weight[d] * change);
                    }
                    for v in 0..M {
                        let change = phi[j][v] - phi[i][v];
                        (0..3).for_each(|d| of_phi[v][d] += weight[d] * change);
                    }
                }
                let (first, rest) = out.split_at_mut(9);
                first.copy_from_slice(of_velocity.as_flattened());
                rest.copy_from_slice(of_phi.as_flattened());
            }
        });
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.weights)
    }
}

/// The corner of a right angle in a hexahedron counts in full, one of less than six degrees, or of more than 174, for a tenth: where a node has
/// none but such a corner, its gradient stays bounded.
const FLAT: f64 = 0.1;

/// Four edges meet at the apex of a pyramid: the corners of each three that follow one another, as [`Kind::corners`](crate::mesh::Kind::corners) has the others.
const APEX: [[usize; 4]; 4] = [[4, 2, 1, 0], [4, 3, 2, 1], [4, 0, 3, 2], [4, 1, 0, 3]];

/// Sums over corners.
struct Sums<'a> {
    elements: &'a ViscousElements,
    dual: &'a Dual,
    nodes: &'a [NodeRecord],
    weights: Vec<[f64; 3]>,
    sizes: Vec<[f64; 2]>,
}

impl Sums<'_> {
    /// Adds the corners of elements of one type.
    fn add_all<const N: usize, const E: usize>(&mut self, group: &Group<N, E>) {
        group.nodes.iter().for_each(|element| self.add(element, group.kind.corners(), 1.0));
    }

    /// Adds `corners` of an element, of which each counts for `share`.
    fn add<const N: usize>(&mut self, element: &[u32; N], corners: &[[usize; 4]], share: f64) {
        let (plane, depth) = self.elements.planar.map_or((u32::MAX, 0.0), |p| (p.nodes_2d as u32, p.depth));
        let rows = element.map(|node| in_plane(node, plane));
        let mut x = std::array::from_fn::<_, N, _>(|p| {
            let [.., x, y, z] = self.nodes[rows[p] as usize];
            [x, y, if element[p] >= plane { z + depth } else { z }]
        });
        drawn_together(&self.elements.periods, &mut x);
        let faces = |&[at, a, b, c]: &[usize; 4]| {
            let [a, b, c] = [a, b, c].map(|end| sub(x[end], x[at]));
            let faces = [cross(b, c), cross(c, a), cross(a, b)];
            (faces, share * dot(a, faces[0]))
        };
        let mean = corners.iter().map(|corner| faces(corner).1.abs()).sum::<f64>() / corners.len() as f64;
        // Of a planar mesh one plane is solved on.
        for corner in corners.iter().filter(|[at, ..]| element[*at] < plane) {
            let (row, (faces, size)) = (rows[corner[0]] as usize, faces(corner));
            for (&end, face) in corner[1..].iter().zip(faces) {
                // Nothing changes across the layer, nor from a node to its own image.
                let Some(at) = self.dual.pattern.find(row, rows[end] as usize) else { continue };
                (0..3).for_each(|d| self.weights[at][d] += share * face[d]);
            }
            let [own, of_elements] = &mut self.sizes[row];
            (*own, *of_elements) = (*own + size, *of_elements + mean);
        }
    }
}
