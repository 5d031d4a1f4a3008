//! Edges and faces of the four element types, and the pieces that the dual cuts them into.

use super::{add3, cross, scale, sub};
use crate::mesh::Mesh;

/// The element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// Four nodes.
    Tetrahedron,
    /// Five nodes.
    Pyramid,
    /// Six nodes.
    Prism,
    /// Eight nodes.
    Hexahedron,
}

/// Local nodes of the edges of an element, in the node order of [`Mesh`].
pub fn element_edges(kind: ElementKind) -> &'static [[usize; 2]] {
    match kind {
        ElementKind::Tetrahedron => &[[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]],
        ElementKind::Pyramid => &[[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [1, 4], [2, 4], [3, 4]],
        ElementKind::Prism => &[[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]],
        ElementKind::Hexahedron => {
            &[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]]
        }
    }
}

/// Local nodes of the faces of an element, counterclockwise seen from outside.
pub(crate) fn element_faces(kind: ElementKind) -> &'static [&'static [usize]] {
    match kind {
        ElementKind::Tetrahedron => &[&[0, 2, 1], &[0, 1, 3], &[1, 2, 3], &[2, 0, 3]],
        ElementKind::Pyramid => &[&[0, 3, 2, 1], &[0, 1, 4], &[1, 2, 4], &[2, 3, 4], &[3, 0, 4]],
        ElementKind::Prism => &[&[0, 2, 1], &[3, 4, 5], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]],
        ElementKind::Hexahedron => {
            &[&[0, 3, 2, 1], &[4, 5, 6, 7], &[0, 1, 5, 4], &[1, 2, 6, 5], &[2, 3, 7, 6], &[3, 0, 4, 7]]
        }
    }
}

/// All elements of a mesh: tetrahedra, pyramids, prisms, hexahedra.
pub(crate) fn elements(mesh: &Mesh) -> impl Iterator<Item = (ElementKind, &[u32])> {
    let tets = mesh.tets.iter().map(|e| (ElementKind::Tetrahedron, e.as_slice()));
    let pyramids = mesh.pyramids.iter().map(|e| (ElementKind::Pyramid, e.as_slice()));
    let prisms = mesh.prisms.iter().map(|e| (ElementKind::Prism, e.as_slice()));
    let hexes = mesh.hexes.iter().map(|e| (ElementKind::Hexahedron, e.as_slice()));
    tets.chain(pyramids).chain(prisms).chain(hexes)
}

/// One triangle (edge midpoint, face centroid, element centroid) of the dual.
pub(crate) struct Piece {
    /// The nodes a, b that it separates.
    pub nodes: [u32; 2],
    /// Its area vector, from a to b.
    pub area: [f64; 3],
    /// From the middle of the edge to its centroid.
    pub offset: [f64; 3],
}

/// The dual's triangles inside one element, two for each of its edges.
pub(crate) fn pieces<'a>(
    mesh: &'a Mesh,
    kind: ElementKind,
    nodes: &'a [u32],
) -> impl Iterator<Item = Piece> + 'a {
    let center = centroid(mesh, nodes);
    element_faces(kind).iter().flat_map(move |face| {
        let mut sum = [0.0; 3];
        for &i in *face {
            sum = add3(sum, mesh.nodes[nodes[i] as usize]);
        }
        let face_center = scale(1.0 / face.len() as f64, sum);
        (0..face.len()).map(move |i| {
            let (a, b) = (nodes[face[i]], nodes[face[(i + 1) % face.len()]]);
            let mid = scale(0.5, add3(mesh.nodes[a as usize], mesh.nodes[b as usize]));
            // Seen from outside the face lies to the left of a -> b, the element behind it.
            let (to_center, to_face) = (sub(center, mid), sub(face_center, mid));
            Piece {
                nodes: [a, b],
                area: scale(0.5, cross(to_center, to_face)),
                offset: scale(1.0 / 3.0, add3(to_center, to_face)),
            }
        })
    })
}

/// The mean of some nodes' coordinates.
pub(crate) fn centroid(mesh: &Mesh, nodes: &[u32]) -> [f64; 3] {
    let sum = nodes.iter().fold([0.0; 3], |s, &i| add3(s, mesh.nodes[i as usize]));
    scale(1.0 / nodes.len() as f64, sum)
}
