//! VTKHDF files (`.vtkhdf`): one HDF5 file of plain arrays, which VTK 9.1, ParaView 5.10 and later read in parallel and in
//! part. For fields too large to be packed in memory, as `.vtu` files are.
//!
//! **Source**: Kitware, *VTK File Formats*, "VTKHDF File Format", UnstructuredGrid 2.0.

use super::volume_cells;
use crate::hdf5::{self, Attribute, Group, Number, each};
use crate::{Field, Mesh};
use chromaflow::files::{AtomicFile, FileError};
use std::path::Path;

/// Writes the whole mesh with fields on its nodes. A planar mesh is written as the two-dimensional one it was made of.
///
/// **Precision**: points in f64, fields in f32, as in `.vtu` files; nothing is packed.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
///
/// # Panics
/// If a field is not as long as the mesh.
pub fn write_hdf(path: &Path, mesh: &Mesh, fields: &[Field]) -> Result<(), FileError> {
    let (cells, nodes) = volume_cells(mesh);
    let one =
        |number: usize| move |out: &mut dyn std::io::Write| out.write_all(&(number as i64).to_le_bytes());
    let mut grid = Group {
        attributes: vec![
            ("Version", Attribute::Longs(vec![2, 0])),
            ("Type", Attribute::Text("UnstructuredGrid".to_owned(), 16)),
        ],
        members: Vec::new(),
    };
    grid.array("NumberOfPoints", Number::I64, &[1], one(nodes));
    grid.array("NumberOfCells", Number::I64, &[1], one(cells.types.len()));
    grid.array("NumberOfConnectivityIds", Number::I64, &[1], one(cells.connectivity.len()));
    grid.array("Points", Number::F64, &[nodes, 3], |out| {
        each(out, mesh.nodes[..nodes].iter().flatten().map(|x| x.to_le_bytes()))
    });
    grid.array("Connectivity", Number::I64, &[cells.connectivity.len()], |out| {
        each(out, cells.connectivity.iter().map(|&n| i64::from(n).to_le_bytes()))
    });
    grid.array("Offsets", Number::I64, &[cells.types.len() + 1], |out| {
        each(out, std::iter::once(&0).chain(&cells.offsets).map(|&n| (n as i64).to_le_bytes()))
    });
    grid.array("Types", Number::U8, &[cells.types.len()], |out| out.write_all(&cells.types));
    let mut data = Group::default();
    for field in fields {
        let c = field.components;
        assert_eq!(field.values.len(), mesh.nodes.len() * c, "field {} has the wrong length", field.name);
        let dims: &[usize] = if c == 1 { &[nodes] } else { &[nodes, c] };
        data.array(&field.name, Number::F32, dims, move |out| {
            each(out, field.values[..nodes * c].iter().map(|&v| (v as f32).to_le_bytes()))
        });
    }
    grid.group("PointData", data);
    let mut root = Group::default();
    root.group("VTKHDF", grid);
    let mut out = AtomicFile::create(path)?;
    hdf5::write(&mut out, &root).map_err(|e| FileError::new("cannot write", path, e))?;
    out.commit()
}
