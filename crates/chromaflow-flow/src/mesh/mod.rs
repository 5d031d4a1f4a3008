//! Unstructured meshes of tetrahedra, pyramids, prisms and hexahedra.

mod refine;

pub use refine::{TooLarge, refine};

/// A 3-D unstructured mesh. Two-dimensional meshes are read as one layer of prisms and hexahedra between two
/// symmetry planes, see [`Mesh::planar`].
///
/// **Orders of nodes** (0-based), all with positive volume:
/// * tetrahedron `0 1 2 3`: the triangle 0 1 2 seen from 3 turns counterclockwise;
/// * pyramid: quadrilateral 0 1 2 3, counterclockwise seen from the apex 4;
/// * prism: triangle 0 1 2, counterclockwise seen from the opposite triangle 3 4 5 (CGNS order; VTK's wedge is the
///   mirror image);
/// * hexahedron: quadrilateral 0 1 2 3, counterclockwise seen from the opposite one 4 5 6 7.
///
/// Boundary faces turn counterclockwise seen from outside, so that their normal points out of the domain.
/// **Units**: nodes in the mesh's own length unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Node coordinates, `[nodes]`.
    pub nodes: Vec<[f64; 3]>,
    /// Tetrahedra.
    pub tets: Vec<[u32; 4]>,
    /// Pyramids.
    pub pyramids: Vec<[u32; 5]>,
    /// Prisms.
    pub prisms: Vec<[u32; 6]>,
    /// Hexahedra.
    pub hexes: Vec<[u32; 8]>,
    /// Boundary patches in the file's order.
    pub markers: Vec<Marker>,
    /// Set when the mesh was made from a two-dimensional one.
    pub planar: Option<Planar>,
}

/// A named patch of the boundary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marker {
    /// Its name in the file, or its number as text where the format has no names.
    pub name: String,
    /// Triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Quadrilaterals.
    pub quads: Vec<[u32; 4]>,
    /// Boundary condition code from a `.mapbc` file.
    pub code: Option<i32>,
}

/// How a two-dimensional mesh was given its third dimension: nodes `0..nodes_2d` lie in the plane z = 0, node
/// `i + nodes_2d` lies above node `i` at z = `depth`. The markers [`Planar::FRONT`] and [`Planar::BACK`] are the two
/// planes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planar {
    /// Number of nodes of the two-dimensional mesh.
    pub nodes_2d: usize,
    /// Thickness of the layer, in the mesh's length unit.
    pub depth: f64,
}

impl Planar {
    /// Marker of the plane z = 0.
    pub const FRONT: &str = "symmetry_front";
    /// Marker of the plane z = depth.
    pub const BACK: &str = "symmetry_back";
}
