//! Types of elements by their numbers.

use crate::MeshError;
use crate::io::scan::Scan;

/// Type number, dimension and number of nodes of the elements that are read.
const TYPES: [(i64, u8, usize); 8] =
    [(15, 0, 1), (1, 1, 2), (2, 2, 3), (3, 2, 4), (4, 3, 4), (5, 3, 8), (6, 3, 6), (7, 3, 5)];

/// Types of higher order and their nodes, by the type of first order whose corners they have, which stand first.
const HIGHER: [(i64, &[(i64, usize)]); 7] = [
    (1, &[(8, 3), (26, 4), (27, 5), (28, 6)]),
    (2, &[(9, 6), (20, 9), (21, 10), (22, 12), (23, 15), (24, 15), (25, 21)]),
    (3, &[(10, 9), (16, 8), (36, 16), (37, 25), (38, 36), (39, 12)]),
    (4, &[(11, 10), (29, 20), (30, 35), (31, 56)]),
    (5, &[(12, 27), (17, 20), (92, 64), (93, 125)]),
    (6, &[(13, 18), (18, 15), (90, 40), (91, 75)]),
    (7, &[(14, 14), (19, 13), (118, 30), (119, 55)]),
];

/// An element's type: its number (of first order), dimension, corners, and further nodes.
pub(super) type Type = (i64, u8, usize, usize);

/// The type of this number.
pub(super) fn kind(number: i64, scan: &Scan) -> Result<Type, MeshError> {
    let higher = |&(linear, all): &(i64, &[(i64, usize)])| {
        all.iter().find(|t| t.0 == number).map(|&(_, nodes)| (linear, nodes))
    };
    let (linear, nodes) = HIGHER.iter().find_map(higher).unwrap_or((number, 0));
    let found = TYPES.into_iter().find(|t| t.0 == linear);
    let (number, dimension, corners) = found.ok_or_else(|| {
        scan.error(format!(
            "element type {number}, which is not read; save the mesh with Mesh.ElementOrder = 1"
        ))
    })?;
    Ok((number, dimension, corners, nodes.saturating_sub(corners)))
}
