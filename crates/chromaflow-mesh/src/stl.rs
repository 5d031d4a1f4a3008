//! Surfaces as binary STL files.
//!
//! **Source**: 3D Systems, *Stereolithography Interface Specification* (1989): 80 bytes of text, the number of triangles,
//! then of each its normal, three corners (f32, little-endian) and two bytes that are zero.

use super::kind::{cross, norm, sub};
use super::{Mesh, MeshError};
use chromaflow::files::{AtomicFile, FileError};
use std::io::{self, Write};
use std::path::Path;

impl Mesh {
    /// The nodes, and the markers of these names alone; no elements. What files of a surface are written from.
    ///
    /// # Errors
    /// When there is no marker of a name, with those that there are.
    pub fn surface(&self, names: &[String]) -> Result<Self, MeshError> {
        if let Some(name) = names.iter().find(|n| self.marker(n).is_none()) {
            let all: Vec<&str> = self.markers.iter().map(|m| m.name.as_str()).collect();
            return Err(MeshError::Request(format!(
                "there is no marker {name:?}: the mesh has {}",
                all.join(", ")
            )));
        }
        let markers = self.markers.iter().filter(|m| names.contains(&m.name)).cloned().collect();
        Ok(Self { nodes: self.nodes.clone(), markers, planar: self.planar, ..Self::default() })
    }
}

/// Writes the faces of all markers; quadrilaterals as two triangles. Normals point out of the domain that is meshed.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
pub fn write_stl(path: &Path, mesh: &Mesh) -> Result<(), MeshError> {
    let mut file = AtomicFile::create(path)?;
    let halves = |q: &[u32; 4]| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]];
    let triangles = || {
        mesh.markers
            .iter()
            .flat_map(move |m| m.triangles.iter().copied().chain(m.quads.iter().flat_map(halves)))
    };
    let mut body = || -> io::Result<()> {
        file.write_all(&[b' '; 80])?;
        file.write_all(&(triangles().count() as u32).to_le_bytes())?;
        for corners in triangles() {
            let p = corners.map(|n| mesh.nodes[n as usize]);
            let n = cross(sub(p[1], p[0]), sub(p[2], p[0]));
            let length = norm(n).max(f64::MIN_POSITIVE);
            let values = n.iter().map(|n| n / length).chain(p.iter().flatten().copied());
            for x in values {
                file.write_all(&(x as f32).to_le_bytes())?;
            }
            file.write_all(&[0; 2])?;
        }
        Ok(())
    };
    body().map_err(|e| FileError::new("cannot write", path, e))?;
    Ok(file.commit()?)
}
