//! The four element types: their faces, edges and mirror images as tables of local node numbers.

use std::fmt;

/// Type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Four nodes.
    Tetrahedron,
    /// Five nodes, the apex last.
    Pyramid,
    /// Six nodes, two triangles.
    Prism,
    /// Eight nodes, two quadrilaterals.
    Hexahedron,
}

impl Kind {
    /// All types, in the order in which elements are numbered through.
    pub const ALL: [Self; 4] = [Self::Tetrahedron, Self::Pyramid, Self::Prism, Self::Hexahedron];

    /// Number of nodes.
    pub const fn nodes(self) -> usize {
        match self {
            Self::Tetrahedron => 4,
            Self::Pyramid => 5,
            Self::Prism => 6,
            Self::Hexahedron => 8,
        }
    }

    /// Faces, three or four local nodes each, counterclockwise seen from outside.
    pub const fn faces(self) -> &'static [&'static [usize]] {
        match self {
            Self::Tetrahedron => &[&[0, 2, 1], &[0, 1, 3], &[1, 2, 3], &[0, 3, 2]],
            Self::Pyramid => &[&[0, 3, 2, 1], &[0, 1, 4], &[1, 2, 4], &[2, 3, 4], &[3, 0, 4]],
            Self::Prism => &[&[0, 2, 1], &[3, 4, 5], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]],
            Self::Hexahedron => {
                &[&[0, 3, 2, 1], &[4, 5, 6, 7], &[0, 1, 5, 4], &[1, 2, 6, 5], &[2, 3, 7, 6], &[3, 0, 4, 7]]
            }
        }
    }

    /// Corners of an element, each with the ends of its three edges in a right-handed order. A pyramid's apex has four edges and is left out.
    pub const fn corners(self) -> &'static [[usize; 4]] {
        match self {
            Self::Tetrahedron => &[[0, 1, 2, 3], [1, 2, 0, 3], [2, 0, 1, 3], [3, 0, 2, 1]],
            Self::Pyramid => &[[0, 1, 3, 4], [1, 2, 0, 4], [2, 3, 1, 4], [3, 0, 2, 4]],
            Self::Prism => {
                &[[0, 1, 2, 3], [1, 2, 0, 4], [2, 0, 1, 5], [3, 5, 4, 0], [4, 3, 5, 1], [5, 4, 3, 2]]
            }
            Self::Hexahedron => &[
                [0, 1, 3, 4],
                [1, 2, 0, 5],
                [2, 3, 1, 6],
                [3, 0, 2, 7],
                [4, 7, 5, 0],
                [5, 4, 6, 1],
                [6, 5, 7, 2],
                [7, 6, 4, 3],
            ],
        }
    }

    /// Edges, two local nodes each.
    pub const fn edges(self) -> &'static [[usize; 2]] {
        match self {
            Self::Tetrahedron => &[[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]],
            Self::Pyramid => &[[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [1, 4], [2, 4], [3, 4]],
            Self::Prism => &[[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]],
            Self::Hexahedron => &[
                [0, 1],
                [1, 2],
                [2, 3],
                [3, 0],
                [4, 5],
                [5, 6],
                [6, 7],
                [7, 4],
                [0, 4],
                [1, 5],
                [2, 6],
                [3, 7],
            ],
        }
    }

    /// The order of nodes that turns the element inside out: what makes a negative volume positive. For prisms this is
    /// the difference between the CGNS order and VTK's wedge.
    pub const fn mirror(self) -> &'static [u8] {
        match self {
            Self::Tetrahedron => &[0, 2, 1, 3],
            Self::Pyramid => &[0, 3, 2, 1, 4],
            Self::Prism => &[0, 2, 1, 3, 5, 4],
            Self::Hexahedron => &[0, 3, 2, 1, 4, 7, 6, 5],
        }
    }

    /// VTK's number of the cell type, which SU2 uses too.
    pub const fn vtk(self) -> u8 {
        match self {
            Self::Tetrahedron => 10,
            Self::Pyramid => 14,
            Self::Prism => 13,
            Self::Hexahedron => 12,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tetrahedron => "tetrahedron",
            Self::Pyramid => "pyramid",
            Self::Prism => "prism",
            Self::Hexahedron => "hexahedron",
        })
    }
}

/// a - b.
#[inline]
pub fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a x b.
#[inline]
pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// a . b.
#[inline]
pub fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Length of a.
#[inline]
pub fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

/// Mean of some points.
pub fn mean(points: &[[f64; 3]]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for p in points {
        for d in 0..3 {
            sum[d] += p[d];
        }
    }
    sum.map(|s| s / points.len() as f64)
}

/// Signed volume of an element with the nodes `p` in this library's order.
///
/// The divergence theorem over the faces, with quadrilaterals split into four triangles at the mean of their corners, so
/// that two neighbors see the same warped face. Corners are taken relative to the first one, which keeps small elements
/// far from the origin accurate.
pub fn volume(kind: Kind, p: &[[f64; 3]]) -> f64 {
    let o = p[0];
    if kind == Kind::Tetrahedron {
        return dot(cross(sub(p[1], o), sub(p[2], o)), sub(p[3], o)) / 6.0;
    }
    let mut six = 0.0;
    for face in kind.faces() {
        let q: [[f64; 3]; 4] = std::array::from_fn(|i| sub(p[face[i % face.len()]], o));
        if face.len() == 3 {
            six += dot(cross(q[0], q[1]), q[2]);
        } else {
            let g = mean(&q);
            for i in 0..4 {
                six += dot(cross(q[i], q[(i + 1) % 4]), g);
            }
        }
    }
    six / 6.0
}
