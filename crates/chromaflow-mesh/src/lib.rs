//! Unstructured meshes of tetrahedra, pyramids, prisms and hexahedra: readers, writers, checks, refinement, generators.
//!
//! [`read`] takes any format and gives a mesh that keeps this library's conventions, whatever the file's: every element
//! has a positive volume, every boundary face turns counterclockwise seen from outside, every face belongs to two
//! elements or to one element and one boundary face. Files hold elements of either sign, mixed even within one type; an
//! element given as its mirror image is turned over and counted, one that really overlaps its neighbors is an error.

#![deny(unsafe_code)]

pub mod cgns;
mod check;
mod error;
mod faces;
mod field;
mod info;
mod io;
mod kind;
mod places;
mod raw;
#[cfg(test)]
mod tests;

pub use check::{check, check_markers};
pub use error::{Defect, Finding, MeshError, Place, Report, Subject};

pub use field::Field;
pub use info::{
    Info, KindInfo, MarkerInfo, Range, edge_lengths, find_folded, has_folded, info, quality, scaled_jacobian,
};
pub use io::{Counts, Names, Slice, SliceFace, Slices, Survey, mend, range_of, reader_of};
pub use io::{
    Format, Layout, load, read, read_lines, read_with_notes, write, write_as, write_lines, write_solb,
};
pub use io::{Passage, passage};
pub use kind::{Kind, cross, dot, mean, norm, sub, volume};
pub use places::{MarkerPlaces, Places, Provenance};
pub use raw::{Flipped, Loaded, ReadOptions};
pub use sew::Groups;

pub mod generate;
pub mod grid;
mod hdf5;
pub mod pairs;
mod par;
mod parse;
pub mod periodic;
mod refine;
mod sew;
mod stl;
pub mod topology;
mod transform;
pub mod vtk;

pub use refine::{TooLarge, refine};
pub use stl::write_stl;
pub use transform::Affine;

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
    /// After which translations it repeats, where nodes of periodic sides were merged, see [`periodic::merge`].
    pub periods: periodic::Periods,
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
    /// The marker that this one is periodic with, where the file says so.
    pub partner: Option<String>,
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

    /// The two planes, without faces.
    pub fn markers() -> [Marker; 2] {
        let plane = |name: &str| Marker { name: name.to_owned(), code: Some(6663), ..Marker::default() };
        [Self::FRONT, Self::BACK].map(plane)
    }

    /// The two nodes in the plane z = 0 of a boundary face between the planes, in the order of the face.
    pub fn edge(self, face: [u32; 4]) -> [u32; 2] {
        let low = |i: u32| (i as usize) < self.nodes_2d;
        let start = (0..4).find(|&k| low(face[k]) && low(face[(k + 1) % 4])).unwrap_or(0);
        [face[start], face[(start + 1) % 4]]
    }
}

impl Marker {
    /// Whether this is one of the two planes of a mesh made from a two-dimensional one.
    pub fn is_plane(&self) -> bool {
        self.name == Planar::FRONT || self.name == Planar::BACK
    }
}

/// A number whose bits each depend on all of `z`: SplitMix64's mixing, for hashes and numbers that look random and are the same on every machine.
///
/// **Source**: Steele, Lea and Flood (2014), *Fast splittable pseudorandom number generators*, OOPSLA, `mix64` with Stafford's constants (variant 13).
///
/// ```
/// use chromaflow_mesh::mixed;
/// assert_eq!((mixed(0), mixed(0x9E37_79B9_7F4A_7C15)), (0, 0xE220_A839_7B1D_CDAF));
/// ```
pub const fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Mesh {
    /// Gives its last two markers, [`Planar::markers`], the faces of its prisms and hexahedra, whose first halves of nodes lie in the first plane.
    ///
    /// # Panics
    /// If there are no two markers.
    pub fn fill_planes(&mut self) {
        let [.., front, back] = &mut self.markers[..] else { panic!("two planes") };
        // The plane z = 0 is seen from below: the other way round.
        front.triangles.extend(self.prisms.iter().map(|&[a, b, c, ..]| [a, c, b]));
        front.quads.extend(self.hexes.iter().map(|&[a, b, c, d, ..]| [a, d, c, b]));
        back.triangles.extend(self.prisms.iter().map(|&[_, _, _, a, b, c]| [a, b, c]));
        back.quads.extend(self.hexes.iter().map(|&[_, _, _, _, a, b, c, d]| [a, b, c, d]));
    }

    /// Number of elements of all types.
    pub fn elements(&self) -> usize {
        self.tets.len() + self.pyramids.len() + self.prisms.len() + self.hexes.len()
    }

    /// Number of elements of one type.
    pub fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Tetrahedron => self.tets.len(),
            Kind::Pyramid => self.pyramids.len(),
            Kind::Prism => self.prisms.len(),
            Kind::Hexahedron => self.hexes.len(),
        }
    }

    /// Nodes of element `i` of one type.
    pub fn nodes_of(&self, kind: Kind, i: usize) -> &[u32] {
        match kind {
            Kind::Tetrahedron => &self.tets[i],
            Kind::Pyramid => &self.pyramids[i],
            Kind::Prism => &self.prisms[i],
            Kind::Hexahedron => &self.hexes[i],
        }
    }

    /// The element of the number `e`, counted over all types in the order of [`Kind::ALL`]: its type, its number within
    /// the type, its nodes.
    pub fn element(&self, e: usize) -> (Kind, usize, &[u32]) {
        let mut i = e;
        for kind in Kind::ALL {
            if i < self.count(kind) {
                return (kind, i, self.nodes_of(kind, i));
            }
            i -= self.count(kind);
        }
        panic!("element {e} of {}", self.elements());
    }

    /// Calls `visit` with the type, the number within the type and the nodes of every element.
    pub fn each_element<'a>(&'a self, mut visit: impl FnMut(Kind, usize, &'a [u32])) {
        for kind in Kind::ALL {
            self.each_of(kind, |i, nodes| visit(kind, i, nodes));
        }
    }

    /// Calls `visit` with the number and the nodes of every element of one type.
    pub fn each_of<'a>(&'a self, kind: Kind, mut visit: impl FnMut(usize, &'a [u32])) {
        match kind {
            Kind::Tetrahedron => self.tets.iter().enumerate().for_each(|(i, e)| visit(i, e)),
            Kind::Pyramid => self.pyramids.iter().enumerate().for_each(|(i, e)| visit(i, e)),
            Kind::Prism => self.prisms.iter().enumerate().for_each(|(i, e)| visit(i, e)),
            Kind::Hexahedron => self.hexes.iter().enumerate().for_each(|(i, e)| visit(i, e)),
        }
    }

    /// Nodes of every element of one type, to be changed.
    pub fn each_of_mut(&mut self, kind: Kind, mut visit: impl FnMut(usize, &mut [u32])) {
        match kind {
            Kind::Tetrahedron => self.tets.iter_mut().enumerate().for_each(|(i, e)| visit(i, e)),
            Kind::Pyramid => self.pyramids.iter_mut().enumerate().for_each(|(i, e)| visit(i, e)),
            Kind::Prism => self.prisms.iter_mut().enumerate().for_each(|(i, e)| visit(i, e)),
            Kind::Hexahedron => self.hexes.iter_mut().enumerate().for_each(|(i, e)| visit(i, e)),
        }
    }

    /// Number of boundary faces of all markers.
    pub fn boundary_faces(&self) -> usize {
        self.markers.iter().map(|m| m.triangles.len() + m.quads.len()).sum()
    }

    /// The boundary face of the number `f`, counted marker by marker, triangles first: its marker, its number of corners,
    /// its number within the marker's list, its nodes (the last one meaningless for a triangle).
    pub fn boundary_face(&self, f: usize) -> (usize, usize, usize, [u32; 4]) {
        let mut i = f;
        for (k, m) in self.markers.iter().enumerate() {
            if let Some(&[a, b, c]) = m.triangles.get(i) {
                return (k, 3, i, [a, b, c, a]);
            }
            i -= m.triangles.len();
            if let Some(&q) = m.quads.get(i) {
                return (k, 4, i, q);
            }
            i -= m.quads.len();
        }
        panic!("boundary face {f} of {}", self.boundary_faces());
    }

    /// The marker of this name.
    pub fn marker(&self, name: &str) -> Option<&Marker> {
        self.markers.iter().find(|m| m.name == name)
    }
}
