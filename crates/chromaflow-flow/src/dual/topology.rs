//! The pieces that the dual cuts elements into.

use super::{add3, cross, scale, sub};
pub(crate) use crate::mesh::topology::{elements, lists};
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
        let mut sum = [0.0; 3];
        for &i in *face {
            sum = add3(sum, x[i]);
        }
        let face_center = scale(1.0 / face.len() as f64, sum);
        (0..face.len()).map(move |i| {
            let ends = [face[i], face[(i + 1) % face.len()]];
            let mid = scale(0.5, add3(x[ends[0]], x[ends[1]]));
            // Seen from outside the face lies to the left of a -> b, the element behind it.
            let (to_center, to_face) = (sub(center, mid), sub(face_center, mid));
            Piece {
                nodes: ends.map(|k| nodes[k]),
                area: scale(0.5, cross(to_center, to_face)),
                offset: scale(1.0 / 3.0, add3(to_center, to_face)),
            }
        })
    })
}

/// The local edge that each of [`pieces`] belongs to.
pub(crate) fn edges_of_sides(kind: Kind) -> Vec<usize> {
    let sides =
        kind.faces().iter().flat_map(|face| (0..face.len()).map(|i| [face[i], face[(i + 1) % face.len()]]));
    let edge = |[a, b]: [usize; 2]| kind.edges().iter().position(|e| *e == [a, b] || *e == [b, a]);
    sides.map(|side| edge(side).expect("sides of faces are edges")).collect()
}

/// The mean of some places.
pub(crate) fn middle(places: &[[f64; 3]]) -> [f64; 3] {
    let sum = places.iter().fold([0.0; 3], |s, &x| add3(s, x));
    scale(1.0 / places.len() as f64, sum)
}
