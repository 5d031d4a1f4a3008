//! Elements of all types, one after another.

use super::{Kind, Mesh};

/// The nodes of all elements of each type, one element after another.
pub fn lists(mesh: &Mesh) -> [(Kind, &[u32]); 4] {
    [
        (Kind::Tetrahedron, mesh.tets.as_flattened()),
        (Kind::Pyramid, mesh.pyramids.as_flattened()),
        (Kind::Prism, mesh.prisms.as_flattened()),
        (Kind::Hexahedron, mesh.hexes.as_flattened()),
    ]
}

/// All elements of a mesh: tetrahedra, pyramids, prisms, hexahedra.
pub fn elements(mesh: &Mesh) -> impl Iterator<Item = (Kind, &[u32])> {
    lists(mesh).into_iter().flat_map(|(kind, nodes)| nodes.chunks_exact(kind.nodes()).map(move |e| (kind, e)))
}
