//! The pieces that the dual cuts elements into.

use super::{add, cross, scale, sub};
#[cfg(test)]
pub(crate) use crate::mesh::topology::elements;
pub(crate) use crate::mesh::topology::{Buckets, around_lower, cut, node_ranges};
use crate::mesh::{Kind, Mesh};

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
pub(crate) fn pieces<'a>(mesh: &'a Mesh, kind: Kind, nodes: &'a [u32]) -> impl Iterator<Item = Piece> + 'a {
    let x = mesh.corners(nodes);
    let center = middle(&x[..nodes.len()]);
    kind.faces().iter().flat_map(move |face| {
        let face_center = middle_of(&x, face);
        (0..face.len()).map(move |i| {
            let ends = [face[i], face[(i + 1) % face.len()]];
            let (to_center, to_face) = from_middle(&x, ends, [center, face_center]);
            Piece {
                nodes: ends.map(|k| nodes[k]),
                area: area(to_center, to_face),
                offset: scale(1.0 / 3.0, add(to_center, to_face)),
            }
        })
    })
}

#[inline]
fn middle_of(x: &[[f64; 3]; 8], face: &[usize]) -> [f64; 3] {
    let sum = face.iter().fold([0.0; 3], |sum, &i| add(sum, x[i]));
    scale(1.0 / face.len() as f64, sum)
}

/// From the middle of an edge to the centers of element and face. Seen from outside the face lies to the left of the edge, the element
/// behind it.
#[inline]
fn from_middle(
    x: &[[f64; 3]; 8],
    ends: [usize; 2],
    [center, face_center]: [[f64; 3]; 2],
) -> ([f64; 3], [f64; 3]) {
    let mid = scale(0.5, add(x[ends[0]], x[ends[1]]));
    (sub(center, mid), sub(face_center, mid))
}

#[inline]
fn area(to_center: [f64; 3], to_face: [f64; 3]) -> [f64; 3] {
    scale(0.5, cross(to_center, to_face))
}

/// Calls `visit` with each neighbor of a node within an element that is higher, and the area of the two [`pieces`] between them.
pub(crate) fn areas_above(
    mesh: &Mesh,
    kind: Kind,
    nodes: &[u32],
    node: u32,
    mut visit: impl FnMut(u32, [f64; 3]),
) {
    let x = mesh.corners(nodes);
    let center = middle(&x[..nodes.len()]);
    let mut first = [None; 8];
    for face in kind.faces() {
        let n = face.len();
        let Some(at) = face.iter().position(|&k| nodes[k] == node) else { continue };
        let (next, last) = (face[(at + 1) % n], face[(at + n - 1) % n]);
        if nodes[next].max(nodes[last]) < node {
            continue;
        }
        let face_center = middle_of(&x, face);
        for (other, ends, sign) in [(next, [face[at], next], 1.0), (last, [last, face[at]], -1.0)] {
            if nodes[other] <= node {
                continue;
            }
            let (to_center, to_face) = from_middle(&x, ends, [center, face_center]);
            let piece = scale(sign, area(to_center, to_face));
            // Each edge is a side of two faces.
            match first[other] {
                None => first[other] = Some(add([0.0; 3], piece)),
                Some(first) => visit(nodes[other], add(first, piece)),
            }
        }
    }
}

/// The mean of some places.
#[inline]
pub(crate) fn middle(places: &[[f64; 3]]) -> [f64; 3] {
    let sum = places.iter().fold([0.0; 3], |s, &x| add(s, x));
    scale(1.0 / places.len() as f64, sum)
}
