//! GMF binary files (`.meshb`, `.solb`), little-endian: version 3 (8-byte positions), or 4 (8-byte numbers) where nodes need it.
//!
//! **Source**: Marechal, libMeshb.

use crate::{Field, Kind, Mesh, MeshError, Planar};
use chromaflow::files::{AtomicFile, FileError};
use std::io::{self, Write};
use std::path::Path;

/// A record: keyword, position of the next one, count, body.
struct Records<'a, W: Write> {
    out: &'a mut W,
    at: u64,
    /// Version 4: counts, nodes and references of 8 bytes.
    wide: bool,
}

impl<W: Write> Records<'_, W> {
    fn start(&mut self) -> io::Result<()> {
        self.at = 8;
        self.out.write_all(&1_i32.to_le_bytes())?;
        self.out.write_all(&(if self.wide { 4_i32 } else { 3 }).to_le_bytes())
    }

    /// Bytes of a count, a node, a reference.
    fn width(&self) -> u64 {
        if self.wide { 8 } else { 4 }
    }

    /// The head of a record of `count` things in `bytes` bytes, all counted.
    fn head(&mut self, keyword: i32, count: usize, bytes: u64) -> io::Result<()> {
        self.at += 12 + self.width() + bytes;
        self.out.write_all(&keyword.to_le_bytes())?;
        self.out.write_all(&self.at.to_le_bytes())?;
        self.number(count as u64)
    }

    fn number(&mut self, value: u64) -> io::Result<()> {
        if self.wide {
            return self.out.write_all(&value.to_le_bytes());
        }
        let value = i32::try_from(value).map_err(|_| io::Error::other("2^31 or more in 4 bytes"))?;
        self.out.write_all(&value.to_le_bytes())
    }

    fn dimension(&mut self, dimension: usize) -> io::Result<()> {
        // The dimension has 4 bytes in every version.
        self.at += 16;
        self.out.write_all(&3_i32.to_le_bytes())?;
        self.out.write_all(&self.at.to_le_bytes())?;
        self.out.write_all(&(dimension as i32).to_le_bytes())
    }

    /// Lists of nodes, each with a reference: as many of a keyword as there are, none where there are none.
    fn lists(&mut self, keyword: i32, corners: usize, lists: &[(Vec<u32>, u64)]) -> io::Result<()> {
        if lists.is_empty() {
            return Ok(());
        }
        self.head(keyword, lists.len(), self.width() * ((corners + 1) * lists.len()) as u64)?;
        for (nodes, number) in lists {
            nodes.iter().try_for_each(|&n| self.number(u64::from(n) + 1))?;
            self.number(*number)?;
        }
        Ok(())
    }

    /// The dimension and the nodes.
    fn nodes(&mut self, dimension: usize, nodes: &[[f64; 3]]) -> io::Result<()> {
        self.dimension(dimension)?;
        self.head(4, nodes.len(), (8 * dimension as u64 + self.width()) * nodes.len() as u64)?;
        for x in nodes {
            x[..dimension].iter().try_for_each(|x| self.out.write_all(&x.to_le_bytes()))?;
            self.number(0)?;
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(&54_i32.to_le_bytes())?;
        self.out.write_all(&0_i64.to_le_bytes())
    }
}

/// Writes a mesh, a planar one in two dimensions; the reference of a boundary face (or edge) is the number of its marker, from 1, of a vertex
/// and an element 0.
pub(super) fn write(out: &mut impl Write, mesh: &Mesh) -> io::Result<()> {
    let most = mesh.nodes.len().max(mesh.elements());
    write_wide(out, mesh, most > i32::MAX as usize)
}

/// The same in version 4 (`wide`) or 3.
pub(super) fn write_wide(out: &mut impl Write, mesh: &Mesh, wide: bool) -> io::Result<()> {
    let mut file = Records { out, at: 0, wide };
    let width = file.width();
    file.start()?;
    if let Some(planar) = mesh.planar {
        write_planar(&mut file, mesh, planar)?;
        return file.end();
    }
    file.nodes(3, &mesh.nodes)?;
    let mut faces: [Vec<(Vec<u32>, u64)>; 2] = [Vec::new(), Vec::new()];
    for (marker, number) in mesh.markers.iter().zip(1..) {
        faces[0].extend(marker.triangles.iter().map(|t| (t.to_vec(), number)));
        faces[1].extend(marker.quads.iter().map(|q| (q.to_vec(), number)));
    }
    file.lists(6, 3, &faces[0])?;
    file.lists(7, 4, &faces[1])?;
    for (kind, keyword) in
        [(Kind::Tetrahedron, 8), (Kind::Prism, 9), (Kind::Hexahedron, 10), (Kind::Pyramid, 49)]
    {
        let count = mesh.count(kind);
        if count > 0 {
            file.head(keyword, count, width * (kind.nodes() as u64 + 1) * count as u64)?;
            for i in 0..count {
                mesh.nodes_of(kind, i).iter().try_for_each(|&n| file.number(u64::from(n) + 1))?;
                file.number(0)?;
            }
        }
    }
    file.end()
}

/// Nodes, edges, triangles and quadrilaterals of the two-dimensional mesh that a planar one was made of.
fn write_planar<W: Write>(file: &mut Records<W>, mesh: &Mesh, planar: Planar) -> io::Result<()> {
    file.nodes(2, &mesh.nodes[..planar.nodes_2d])?;
    let sides = mesh.markers.iter().filter(|m| !m.is_plane()).zip(1..);
    let edges: Vec<_> = sides
        .flat_map(|(m, number)| m.quads.iter().map(move |q| (planar.edge(*q).to_vec(), number)))
        .collect();
    file.lists(5, 2, &edges)?;
    file.lists(6, 3, &mesh.prisms.iter().map(|e| (e[..3].to_vec(), 0)).collect::<Vec<_>>())?;
    file.lists(7, 4, &mesh.hexes.iter().map(|e| (e[..4].to_vec(), 0)).collect::<Vec<_>>())
}

/// Writes fields on the nodes of a mesh as a `.solb` file, which programs that adapt meshes read beside the `.meshb`: scalars,
/// vectors of three components, and others component by component. Of a planar mesh it is the values at its first plane, and vectors have two.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
///
/// # Panics
/// If a field is not on the nodes of the mesh.
pub fn write_solb(path: &Path, mesh: &Mesh, fields: &[Field]) -> Result<(), MeshError> {
    let mut out = AtomicFile::create(path)?;
    let on_nodes = |f: &Field| f.values.len() == mesh.nodes.len() * f.components;
    assert!(fields.iter().all(on_nodes), "fields on the nodes of the mesh");
    let (dimension, nodes) = mesh.planar.map_or((3, mesh.nodes.len()), |planar| (2, planar.nodes_2d));
    let written = |f: &Field| if f.components == 3 { dimension } else { f.components };
    let kinds: Vec<u64> =
        fields.iter().flat_map(|f| if f.components == 3 { vec![2] } else { vec![1; f.components] }).collect();
    let width: usize = fields.iter().map(written).sum();
    let mut body = || -> io::Result<()> {
        let mut file = Records { out: &mut out, at: 0, wide: false };
        file.start()?;
        file.dimension(dimension)?;
        file.head(62, nodes, (4 * (1 + kinds.len()) + 8 * width * nodes) as u64)?;
        file.number(kinds.len() as u64)?;
        kinds.iter().try_for_each(|&k| file.number(k))?;
        for n in 0..nodes {
            for f in fields {
                let values = &f.values[n * f.components..n * f.components + written(f)];
                values.iter().try_for_each(|x| file.out.write_all(&x.to_le_bytes()))?;
            }
        }
        file.end()
    };
    body().map_err(|e| FileError::new("cannot write", path, e))?;
    Ok(out.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Cells, box_mesh};
    use crate::{ReadOptions, load};

    #[test]
    fn version_4_is_read_as_version_3_is() {
        let folder = tempfile::tempdir().unwrap();
        let mesh = box_mesh([4, 4, 4], [1.0; 3], Cells::Mixed, 0.0);
        let mut read = Vec::new();
        for wide in [false, true] {
            let path = folder.path().join("a.meshb");
            let mut bytes = Vec::new();
            write_wide(&mut bytes, &mesh, wide).unwrap();
            assert_eq!(bytes[4], if wide { 4 } else { 3 });
            std::fs::write(&path, bytes).unwrap();
            read.push(load(&path, &ReadOptions::default()).unwrap());
        }
        assert!(read.iter().all(|r| r.report.is_clean() && r.mesh.nodes == mesh.nodes));
        assert!(read[0].mesh == read[1].mesh);
    }

    /// A `.solb` record by record, as the format says.
    #[test]
    fn fields_stand_node_by_node_behind_their_kinds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.solb");
        let velocity = Field::vector("velocity", 3, (0..6).map(f64::from).collect());
        let mesh = Mesh { nodes: vec![[0.0; 3]; 2], ..Mesh::default() };
        write_solb(&path, &mesh, &[Field::scalar("p", vec![10.0, 20.0]), velocity]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let int = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        assert_eq!([int(0), int(4), int(8), int(20)], [1, 3, 3, 3]);
        let solution = long(12);
        assert_eq!((int(solution), int(solution + 12)), (62, 2));
        assert_eq!([int(solution + 16), int(solution + 20), int(solution + 24)], [2, 1, 2]);
        let values: Vec<f64> = bytes[solution + 28..long(solution + 4)]
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect();
        assert_eq!(values, [10.0, 0.0, 1.0, 2.0, 20.0, 3.0, 4.0, 5.0]);
        assert_eq!(int(long(solution + 4)), 54);
    }

    #[test]
    fn planar_fields_are_those_of_the_first_plane_in_two_dimensions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.solb");
        let planar = Some(Planar { nodes_2d: 1, depth: 1.0 });
        let mesh = Mesh { nodes: vec![[0.0; 3], [0.0, 0.0, 1.0]], planar, ..Mesh::default() };
        let velocity = Field::vector("velocity", 3, (1..7).map(f64::from).collect());
        write_solb(&path, &mesh, &[velocity, Field::scalar("p", vec![10.0, 20.0])]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let int = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        // Header, dimension, then the solution: its number of nodes, of fields, their kinds.
        assert_eq!([int(20), int(24), int(36), int(40), int(44), int(48)], [2, 62, 1, 2, 2, 1]);
        let values: Vec<f64> =
            bytes[52..76].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(values, [1.0, 2.0, 10.0]);
        assert_eq!(int(76), 54);
    }
}
