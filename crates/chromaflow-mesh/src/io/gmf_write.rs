//! GMF binary files (`.meshb`, `.solb`), version 3 (8-byte positions), little-endian.
//!
//! **Source**: Marechal, libMeshb.

use crate::{Field, Kind, Mesh, MeshError};
use chromaflow::files::{AtomicFile, FileError};
use std::io::{self, Write};
use std::path::Path;

/// A record: keyword, position of the next one, count, body.
struct Records<'a, W: Write> {
    out: &'a mut W,
    at: u64,
}

impl<W: Write> Records<'_, W> {
    fn start(&mut self) -> io::Result<()> {
        self.at = 8;
        self.out.write_all(&1_i32.to_le_bytes())?;
        self.out.write_all(&3_i32.to_le_bytes())
    }

    /// The head of a record of `count` things in `bytes` bytes, all counted.
    fn head(&mut self, keyword: i32, count: usize, bytes: u64) -> io::Result<()> {
        self.at += 16 + bytes;
        let count = i32::try_from(count).map_err(|_| io::Error::other("2^31 things or more of one kind"))?;
        self.out.write_all(&keyword.to_le_bytes())?;
        self.out.write_all(&self.at.to_le_bytes())?;
        self.out.write_all(&count.to_le_bytes())
    }

    fn ints(&mut self, values: &[i32]) -> io::Result<()> {
        values.iter().try_for_each(|v| self.out.write_all(&v.to_le_bytes()))
    }

    fn dimension(&mut self) -> io::Result<()> {
        // Its count is the dimension itself.
        self.head(3, 3, 0)
    }

    fn end(&mut self) -> io::Result<()> {
        self.ints(&[54])?;
        self.out.write_all(&0_i64.to_le_bytes())
    }
}

/// Writes a mesh; the reference of a boundary face is the number of its marker, from 1, of a vertex and an element 0.
pub(super) fn write(out: &mut impl Write, mesh: &Mesh) -> io::Result<()> {
    let mut file = Records { out, at: 0 };
    file.start()?;
    file.dimension()?;
    file.head(4, mesh.nodes.len(), 28 * mesh.nodes.len() as u64)?;
    for x in &mesh.nodes {
        x.iter().try_for_each(|x| file.out.write_all(&x.to_le_bytes()))?;
        file.ints(&[0])?;
    }
    let mut faces: [Vec<(Vec<u32>, i32)>; 2] = [Vec::new(), Vec::new()];
    for (marker, number) in mesh.markers.iter().zip(1..) {
        faces[0].extend(marker.triangles.iter().map(|t| (t.to_vec(), number)));
        faces[1].extend(marker.quads.iter().map(|q| (q.to_vec(), number)));
    }
    for (list, (keyword, corners)) in faces.iter().zip([(6, 3), (7, 4)]).filter(|f| !f.0.is_empty()) {
        file.head(keyword, list.len(), 4 * (corners + 1) * list.len() as u64)?;
        for (nodes, number) in list {
            nodes.iter().try_for_each(|&n| file.ints(&[n as i32 + 1]))?;
            file.ints(&[*number])?;
        }
    }
    for (kind, keyword) in
        [(Kind::Tetrahedron, 8), (Kind::Prism, 9), (Kind::Hexahedron, 10), (Kind::Pyramid, 49)]
    {
        let count = mesh.count(kind);
        if count > 0 {
            file.head(keyword, count, 4 * (kind.nodes() as u64 + 1) * count as u64)?;
            for i in 0..count {
                mesh.nodes_of(kind, i).iter().try_for_each(|&n| file.ints(&[n as i32 + 1]))?;
                file.ints(&[0])?;
            }
        }
    }
    file.end()
}

/// Writes fields on the nodes of a mesh as a `.solb` file, which programs that adapt meshes read beside the `.meshb`: scalars,
/// vectors of three components, and others component by component.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
///
/// # Panics
/// If fields have different lengths.
pub fn write_solb(path: &Path, fields: &[Field]) -> Result<(), MeshError> {
    let mut out = AtomicFile::create(path)?;
    let nodes = fields.first().map_or(0, |f| f.values.len() / f.components.max(1));
    assert!(fields.iter().all(|f| f.values.len() == nodes * f.components), "fields on the same nodes");
    let kinds: Vec<i32> =
        fields.iter().flat_map(|f| if f.components == 3 { vec![2] } else { vec![1; f.components] }).collect();
    let width: usize = fields.iter().map(|f| f.components).sum();
    let mut body = || -> io::Result<()> {
        let mut file = Records { out: &mut out, at: 0 };
        file.start()?;
        file.dimension()?;
        file.head(62, nodes, (4 * (1 + kinds.len()) + 8 * width * nodes) as u64)?;
        file.ints(&[kinds.len() as i32])?;
        file.ints(&kinds)?;
        for n in 0..nodes {
            for f in fields {
                let values = &f.values[n * f.components..(n + 1) * f.components];
                values.iter().try_for_each(|x| file.out.write_all(&x.to_le_bytes()))?;
            }
        }
        file.end()
    };
    body().map_err(|e| FileError::new("cannot write", path, e))?;
    Ok(out.commit()?)
}
