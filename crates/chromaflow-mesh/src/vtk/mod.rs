//! VTK unstructured grid files (`.vtu`, in pieces `.pvtu`), which ParaView, VisIt, VTK and meshio read: arrays as raw appended binary
//! with 64-bit headers, little-endian, optionally in zlib blocks.
//!
//! **Source**: VTK file formats, "XML file formats", The VTK User's Guide (Kitware).

mod hdf;
mod pieces;
#[cfg(test)]
mod tests;

pub use hdf::write_hdf;
pub use pieces::{Piece, Pieces, remove_pieces, write_pieces};

use crate::{Field, Mesh, Planar};
use chromaflow::files::{AtomicFile, FileError};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// How `.vtu` files are written.
#[derive(Clone, Copy, Debug)]
pub struct VtuOptions {
    /// In zlib blocks (about half the size) or plain.
    pub compress: bool,
}

impl Default for VtuOptions {
    fn default() -> Self {
        Self { compress: true }
    }
}

/// The array that says which points and cells are copies, as VTK names it.
const GHOSTS: &str = "vtkGhostType";

/// Uncompressed bytes of one zlib block.
const BLOCK: usize = 1 << 18;

/// Cells as VTK has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// Points of all cells, one cell after the other.
    pub connectivity: Vec<u32>,
    /// Where each cell's points end.
    pub offsets: Vec<u64>,
    /// VTK's number of each cell's type.
    pub types: Vec<u8>,
}

impl Cells {
    fn push(&mut self, kind: u8, nodes: impl IntoIterator<Item = u32>) {
        self.connectivity.extend(nodes);
        self.offsets.push(self.connectivity.len() as u64);
        self.types.push(kind);
    }
}

/// The cells of the whole mesh and the number of its nodes, in two dimensions where it was made of them.
fn volume_cells(mesh: &Mesh) -> (Cells, usize) {
    let mut cells = Cells::default();
    let mut count = mesh.nodes.len();
    if let Some(planar) = mesh.planar {
        count = planar.nodes_2d;
        for front in mesh.markers.iter().filter(|m| m.name == Planar::FRONT) {
            // seen from outside they turn counterclockwise, seen along +z clockwise
            front.triangles.iter().for_each(|t| cells.push(5, [t[0], t[2], t[1]]));
            front.quads.iter().for_each(|q| cells.push(9, [q[0], q[3], q[2], q[1]]));
        }
    } else {
        mesh.tets.iter().for_each(|t| cells.push(10, *t));
        mesh.pyramids.iter().for_each(|p| cells.push(14, *p));
        mesh.prisms.iter().for_each(|p| cells.push(13, [p[0], p[2], p[1], p[3], p[5], p[4]]));
        mesh.hexes.iter().for_each(|h| cells.push(12, *h));
    }
    (cells, count)
}

/// Writes the whole mesh with fields on its nodes. A planar mesh is written as the two-dimensional one it was made of.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
///
/// # Panics
/// If a field is not as long as the mesh.
pub fn write_volume(
    path: &Path,
    mesh: &Mesh,
    fields: &[Field],
    options: VtuOptions,
) -> Result<(), FileError> {
    let (cells, count) = volume_cells(mesh);
    let nodes: Vec<u32> = (0..count as u32).collect();
    write(path, &mesh.nodes, &nodes, &cells, &Marks::default(), fields, options)?.commit()
}

/// Writes the boundary with fields on its nodes; cells carry the number of their marker as `marker`. Of a planar mesh
/// it is the lines of the two-dimensional boundary.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
///
/// # Panics
/// If a field is not as long as the mesh.
pub fn write_surface(
    path: &Path,
    mesh: &Mesh,
    fields: &[Field],
    options: VtuOptions,
) -> Result<(), FileError> {
    let mut number = vec![u32::MAX; mesh.nodes.len()];
    let mut nodes = Vec::new();
    let mut local = |node: u32| {
        let slot = &mut number[node as usize];
        if *slot == u32::MAX {
            *slot = nodes.len() as u32;
            nodes.push(node);
        }
        *slot
    };
    let mut cells = Cells::default();
    let of_marker = boundary_cells(mesh, &mut cells, Vec::new(), &mut local);
    let marks = Marks { of_marker: &of_marker, ..Marks::default() };
    write(path, &mesh.nodes, &nodes, &cells, &marks, fields, options)?.commit()
}

/// Adds the faces of markers (lines, where the mesh is planar) with nodes by `local`, and the number of its marker for each cell.
fn boundary_cells(
    mesh: &Mesh,
    cells: &mut Cells,
    mut of_marker: Vec<i32>,
    local: &mut dyn FnMut(u32) -> u32,
) -> Vec<i32> {
    for (m, marker) in mesh.markers.iter().enumerate() {
        match mesh.planar {
            Some(_) if marker.is_plane() => continue,
            Some(planar) => {
                marker.quads.iter().for_each(|&quad| cells.push(3, planar.edge(quad).map(&mut *local)));
            }
            None => {
                marker.triangles.iter().for_each(|t| cells.push(5, t.map(&mut *local)));
                marker.quads.iter().for_each(|q| cells.push(9, q.map(&mut *local)));
            }
        }
        of_marker.resize(cells.types.len(), m as i32);
    }
    of_marker
}

/// Writes a mesh that can be read again: elements, then the faces of markers (lines, where it is planar), with the number of its marker on
/// each cell as `marker`, -1 on elements. Names are field data: of each marker an array of its name with two numbers, marker and
/// dimension, as meshio has physical groups.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
pub fn write_mesh(path: &Path, mesh: &Mesh, options: VtuOptions) -> Result<(), FileError> {
    let (mut cells, count) = volume_cells(mesh);
    let elements = vec![-1; cells.types.len()];
    let of_marker = boundary_cells(mesh, &mut cells, elements, &mut |n| n);
    let dimension = if mesh.planar.is_some() { 1 } else { 2 };
    let markers = mesh.markers.iter().zip(0..).filter(|(m, _)| mesh.planar.is_none() || !m.is_plane());
    let names: Vec<(&str, [i32; 2])> = markers.map(|(m, k)| (m.name.as_str(), [k, dimension])).collect();
    let nodes: Vec<u32> = (0..count as u32).collect();
    let marks = Marks { of_marker: &of_marker, names: &names, ..Marks::default() };
    write(path, &mesh.nodes, &nodes, &cells, &marks, &[], options)?.commit()
}

/// An array of the file: its XML attributes and its bytes.
struct Array {
    kind: &'static str,
    name: String,
    components: usize,
    bytes: Vec<u8>,
}

impl Array {
    fn new(
        kind: &'static str,
        name: &str,
        components: usize,
        bytes: impl Iterator<Item = impl IntoIterator<Item = u8>>,
    ) -> Self {
        Self { kind, name: attribute(name), components, bytes: bytes.flatten().collect() }
    }

    /// As it lies in the file: header and data.
    fn encode(self, compress: bool) -> (String, Vec<u8>) {
        let Self { kind, name, components, bytes } = self;
        let tag = format!(r#"<DataArray type="{kind}" Name="{name}" NumberOfComponents="{components}""#);
        if !compress {
            let mut out = (bytes.len() as u64).to_le_bytes().to_vec();
            out.extend(bytes);
            return (tag, out);
        }
        let blocks: Vec<Vec<u8>> = bytes.chunks(BLOCK).map(deflate).collect();
        let partial = bytes.len() % BLOCK;
        let head = [blocks.len() as u64, BLOCK as u64, partial as u64];
        let sizes = blocks.iter().map(|b| b.len() as u64);
        let mut out: Vec<u8> = head.into_iter().chain(sizes).flat_map(u64::to_le_bytes).collect();
        out.extend(blocks.concat());
        (tag, out)
    }
}

/// Text as an XML attribute has it.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn deflate(block: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(block.len() / 2), Compression::fast());
    encoder.write_all(block).and_then(|()| encoder.finish()).expect("writing to memory does not fail")
}

/// Whole numbers beside the fields, where there are any.
#[derive(Clone, Copy, Default)]
struct Marks<'a> {
    /// The marker of each cell.
    of_marker: &'a [i32],
    /// Names of markers, their numbers and dimensions.
    names: &'a [(&'a str, [i32; 2])],
    /// Of each node VTK's ghost type.
    ghosts: &'a [u8],
}

/// The file, yet to be committed: some of `places` and of the fields there.
fn write(
    path: &Path,
    places: &[[f64; 3]],
    nodes: &[u32],
    cells: &Cells,
    &Marks { of_marker, names, ghosts }: &Marks<'_>,
    fields: &[Field],
    options: VtuOptions,
) -> Result<AtomicFile, FileError> {
    let points = nodes.iter().flat_map(|&n| places[n as usize]).map(f64::to_le_bytes);
    let mut groups: [(&str, Vec<Array>); 4] =
        [("PointData", vec![]), ("CellData", vec![]), ("Points", vec![]), ("Cells", vec![])];
    for field in fields {
        let c = field.components;
        assert_eq!(field.values.len(), places.len() * c, "field {} has the wrong length", field.name);
        let values = nodes.iter().flat_map(|&n| &field.values[n as usize * c..][..c]);
        groups[0].1.push(Array::new("Float32", &field.name, c, values.map(|&v| (v as f32).to_le_bytes())));
    }
    if !ghosts.is_empty() {
        groups[0].1.push(Array::new("UInt8", GHOSTS, 1, ghosts.iter().map(|g| [*g])));
    }
    if !of_marker.is_empty() {
        groups[1].1.push(Array::new("Int32", "marker", 1, of_marker.iter().map(|m| m.to_le_bytes())));
    }
    groups[2].1.push(Array::new("Float64", "Points", 3, points));
    let connectivity = cells.connectivity.iter().map(|n| i64::from(*n).to_le_bytes());
    groups[3].1.push(Array::new("Int64", "connectivity", 1, connectivity));
    groups[3].1.push(Array::new("Int64", "offsets", 1, cells.offsets.iter().map(|n| n.to_le_bytes())));
    groups[3].1.push(Array::new("UInt8", "types", 1, cells.types.iter().map(|n| [*n])));

    let compressor = if options.compress { r#" compressor="vtkZLibDataCompressor""# } else { "" };
    let mut xml = format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" \
         header_type=\"UInt64\"{compressor}>\n<UnstructuredGrid>\n"
    );
    let mut data = Vec::new();
    let mut offset = 0;
    let mut put = |xml: &mut String, group: &str, arrays: Vec<Array>, more: &str| {
        let _ = writeln!(xml, "<{group}>");
        for array in arrays {
            let (tag, bytes) = array.encode(options.compress);
            let _ = writeln!(xml, "{tag}{more} format=\"appended\" offset=\"{offset}\"/>");
            offset += bytes.len();
            data.push(bytes);
        }
        let _ = writeln!(xml, "</{group}>");
    };
    if !names.is_empty() {
        let pair =
            |(name, of): &(&str, [i32; 2])| Array::new("Int32", name, 1, of.iter().map(|n| n.to_le_bytes()));
        put(&mut xml, "FieldData", names.iter().map(pair).collect(), " NumberOfTuples=\"2\"");
    }
    let _ =
        writeln!(xml, "<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">", nodes.len(), cells.types.len());
    for (group, arrays) in groups {
        put(&mut xml, group, arrays, "");
    }
    xml.push_str("</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_");

    let mut file = AtomicFile::create(path)?;
    let mut body = || -> io::Result<()> {
        file.write_all(xml.as_bytes())?;
        data.iter().try_for_each(|bytes| file.write_all(bytes))?;
        file.write_all(b"\n</AppendedData>\n</VTKFile>\n")
    };
    body().map_err(|e| FileError::new("cannot write", path, e))?;
    Ok(file)
}
