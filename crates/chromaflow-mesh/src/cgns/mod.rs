//! CGNS files, in HDF5 or ADF: meshes of linear elements, and structured grids with their boundaries and interfaces.
//!
//! Both files beneath are read by readers of our own, so that no C library is needed. Solutions and other data in a file are
//! passed over. [`write`] and [`write_grid`] write HDF5, with solutions.
//!
//! **Source**: *CGNS Standard Interface Data Structures* and *File Mapping Manual*, version 4 (cgns.github.io).

mod adf;
mod boundary;
mod connections;
mod hdf5;
#[cfg(test)]
mod periodic_tests;
mod structured;
#[cfg(test)]
mod tests;
mod tree;
mod unstructured;
mod write;
mod write_grid;
mod write_periodic;

pub use write::write;
pub use write_grid::write_grid;

use crate::MeshError;
use crate::grid::{Grid, GridError};
use crate::raw::Raw;
use chromaflow::files::{self, FileError};
use std::io::Read;
use std::path::Path;
use tree::{Fault, Node};

/// Element types of the standard with linear shape functions that are read: number, name, nodes.
const KINDS: [(i64, &str, usize); 8] = [
    (2, "NODE", 1),
    (3, "BAR_2", 2),
    (5, "TRI_3", 3),
    (7, "QUAD_4", 4),
    (10, "TETRA_4", 4),
    (12, "PYRA_5", 5),
    (14, "PENTA_6", 6),
    (17, "HEXA_8", 8),
];

/// Types of higher order and their nodes, by the type of [`KINDS`] whose corners they have, which stand first.
const HIGHER: [(i64, &[(i64, usize)]); 7] = [
    (3, &[(4, 3), (24, 4), (40, 5)]),
    (5, &[(6, 6), (25, 9), (26, 10), (41, 12), (42, 15)]),
    (7, &[(8, 8), (9, 9), (27, 12), (28, 16)]),
    (10, &[(11, 10), (29, 16), (30, 20)]),
    (12, &[(13, 14), (21, 13), (31, 21), (32, 29), (33, 30)]),
    (14, &[(15, 15), (16, 18), (34, 24), (35, 38), (36, 40)]),
    (17, &[(18, 20), (19, 27), (37, 32), (38, 56), (39, 64)]),
];

/// The base of a file.
struct Base {
    node: Node,
    /// Dimension of cells: 2 or 3.
    cells: usize,
}

impl Base {
    fn zones(&self) -> impl Iterator<Item = &Node> {
        self.node.of("Zone_t")
    }

    /// Name of the marker of a boundary condition, and FUN3D's code of its type.
    fn marker(&self, bc: &Node) -> (String, Option<i32>) {
        let family = bc.of("FamilyName_t").next().map(Node::text);
        let name = family.filter(|f| !f.is_empty() && *f != "Unspecified").unwrap_or(&bc.name);
        let of_family = self.node.of("Family_t").find(|f| f.name == name);
        // Gmsh has a family for each of its entities, and the names of physical groups in these.
        let group = of_family.filter(|f| is_entity(&f.name)).and_then(|f| f.of("FamilyName_t").next());
        let name = group.map(Node::text).filter(|group| !group.is_empty()).unwrap_or(name);
        let family_kind = of_family.and_then(|f| f.of("FamilyBC_t").next()).map_or("", Node::text);
        let kind = if bc.text() == "FamilySpecified" { family_kind } else { bc.text() };
        let code = match kind {
            "BCWall" | "BCWallViscous" | "BCWallViscousHeatFlux" | "BCWallViscousIsothermal" => Some(4000),
            "BCWallInviscid" => Some(3000),
            "BCFarfield" => Some(5000),
            "BCSymmetryPlane" => Some(6663),
            _ => None,
        };
        (name.to_owned(), code)
    }
}

/// Whether a family is called as Gmsh calls surfaces and curves of its geometry: `S_1`, `L_12`.
fn is_entity(family: &str) -> bool {
    let number = family.strip_prefix("S_").or_else(|| family.strip_prefix("L_"));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn open(path: &Path) -> Result<Base, MeshError> {
    let mut bytes = Vec::new();
    files::open(path)?.read_to_end(&mut bytes).map_err(|e| FileError::new("cannot read", path, e))?;
    let root = if hdf5::is_hdf5(&bytes) {
        hdf5::read(&bytes)
    } else if adf::is_adf(&bytes) {
        adf::read(&bytes)
    } else {
        Err(Fault::new(0, "neither HDF5 nor ADF, one of which a CGNS file is"))
    };
    drop(bytes);
    let root = root.map_err(|fault| fault.of(path))?;
    let mut bases = root.children.into_iter().filter(|c| c.label == "CGNSBase_t");
    let (Some(node), rest) = (bases.next(), bases.count()) else {
        return Err(MeshError::unsupported(path, "a CGNS file without a CGNSBase_t: it has no mesh"));
    };
    if rest > 0 {
        let what = format!("a CGNS file of {} bases: write one with a single base", rest + 1);
        return Err(MeshError::unsupported(path, what));
    }
    let cells = node.ints().map_err(|fault| fault.of(path))?.first().copied().unwrap_or(0);
    if cells != 2 && cells != 3 {
        return Err(MeshError::unsupported(path, format!("cells of dimension {cells}: expected 2 or 3")));
    }
    if node.of("Zone_t").next().is_none() {
        return Err(MeshError::unsupported(path, "a CGNS file without a Zone_t: it has no mesh"));
    }
    Ok(Base { node, cells: cells as usize })
}

/// Whether a zone is structured.
fn is_structured(zone: &Node) -> bool {
    zone.of("ZoneType_t").next().is_none_or(|t| t.text() == "Structured")
}

/// Coordinates of a zone: x, y, z of each node; z is 0 where there is none.
fn coordinates(zone: &Node, count: usize) -> Result<Vec<[f64; 3]>, Fault> {
    let grid =
        zone.of("GridCoordinates_t").next().ok_or_else(|| zone.fault("it has no GridCoordinates_t"))?;
    let mut nodes = vec![[0.0; 3]; 0];
    for (c, name) in ["CoordinateX", "CoordinateY", "CoordinateZ"].iter().enumerate() {
        let Some(array) = grid.child(name) else {
            if c == 2 {
                continue;
            }
            return Err(grid.fault(format!("it has no {name}: only Cartesian coordinates are read")));
        };
        let values = array.reals()?;
        if values.len() != count {
            return Err(array.fault(format!("{} numbers, expected {count}", values.len())));
        }
        nodes.resize(count, [0.0; 3]);
        nodes.iter_mut().zip(values).for_each(|(x, value)| x[c] = *value);
    }
    Ok(nodes)
}

/// Numbers of a zone's size: of each index, the count of nodes first.
fn sizes(zone: &Node, most: usize) -> Result<Vec<usize>, Fault> {
    let sizes: Option<Vec<usize>> = zone.ints()?.iter().map(|&n| usize::try_from(n).ok()).collect();
    sizes
        .filter(|s| !s.is_empty() && s.len() <= 3 * most)
        .ok_or_else(|| zone.fault("sizes that make no sense"))
}

/// Reads an unstructured mesh; structured zones become one.
pub(crate) fn read(path: &Path) -> Result<Raw, MeshError> {
    let base = open(path)?;
    if base.zones().all(is_structured) {
        let grid = structured::grid(&base).map_err(|fault| fault.of(path))?;
        let refused = |e: GridError| MeshError::unsupported(path, e.to_string());
        grid.check().map_err(refused)?;
        let mesh = grid.to_connected_mesh().map_err(refused)?;
        return Ok(Raw::of_mesh(mesh));
    }
    if base.zones().any(is_structured) {
        return Err(MeshError::unsupported(
            path,
            "structured and unstructured zones in one base: write one kind",
        ));
    }
    unstructured::raw(&base).map_err(|fault| fault.of(path))
}

/// Whether all zones of a file are structured.
///
/// # Errors
/// When it is no sound CGNS file.
pub fn is_grid(path: &Path) -> Result<bool, MeshError> {
    Ok(open(path)?.zones().all(is_structured))
}

/// Reads a structured grid with its boundaries by family (or by the name of their condition) and its one-to-one interfaces.
///
/// # Errors
/// When it is no sound CGNS file, or its zones are not structured. The grid itself is not checked: [`Grid::check`].
pub fn read_grid(path: &Path) -> Result<Grid, GridError> {
    let base = open(path)?;
    if !base.zones().all(is_structured) {
        return Err(MeshError::unsupported(path, "the zones are unstructured: read it as a mesh").into());
    }
    Ok(structured::grid(&base).map_err(|fault| fault.of(path))?)
}
