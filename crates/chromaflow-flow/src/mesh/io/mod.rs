//! Mesh files.

mod su2;
mod text;

use super::{Loaded, Mesh, MeshError, ReadOptions};
use chromaflow::files;
use std::path::Path;

/// File formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// SU2, text (`.su2`).
    Su2,
}

impl Format {
    /// The format that a name tells; a trailing `.gz`, `.xz` or `.zst` does not matter.
    ///
    /// # Errors
    /// When it tells none, with the list of endings.
    pub fn of(path: &Path) -> Result<Self, MeshError> {
        let plain = files::without_compression(path);
        let ending = plain.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        if ending == "su2" {
            return Ok(Self::Su2);
        }
        Err(MeshError::unsupported(path, "this name tells no mesh format"))
    }
}

/// Reads a mesh of any format, plain or compressed.
///
/// # Errors
/// When the file cannot be read, is damaged, or holds a mesh that no solver can use; with the place.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Mesh, MeshError> {
    let loaded = load(path, options)?;
    if loaded.report.errors() > 0 {
        return Err(MeshError::Broken { path: path.to_owned(), report: Box::new(loaded.report) });
    }
    Ok(loaded.mesh)
}

/// Reads a mesh of any format with everything known about its file, sound or not.
///
/// # Errors
/// When the file cannot be read or is damaged, or when node numbers or coordinates are meaningless.
pub fn load(path: &Path, options: &ReadOptions) -> Result<Loaded, MeshError> {
    let format = options.format.map_or_else(|| Format::of(path), Ok)?;
    let raw = match format {
        Format::Su2 => su2::read(path)?,
    };
    raw.finish(path, format, options)
}
