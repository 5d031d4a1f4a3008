//! A volume in pieces, each a file of its own, and the file that lists them (`.pvtu`): programs that run on several processes read a piece
//! or some on each.

use super::{Cells, VtuOptions, attribute, volume_cells, write};
use crate::par::{each_part, threads};
use crate::{Field, Mesh};
use chromaflow::files::{AtomicFile, FileError};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Writes the whole mesh with fields on its nodes as `NAME.pvtu` and its pieces `NAME/piece_K.vtu`, one for each number K in `owner` that
/// owns the first node of an element; returns their paths, the list first. Several pieces are written at once, the list is complete when
/// all are, and pieces of an earlier list that had more are removed.
///
/// **Shapes**: `owner` `[nodes]` (of a planar mesh those of the first plane count).
///
/// # Errors
/// When a file cannot be written.
///
/// # Panics
/// If a field or `owner` is not as long as the mesh.
pub fn write_pieces(
    path: &Path,
    mesh: &Mesh,
    owner: &[u32],
    fields: &[Field],
    options: VtuOptions,
) -> Result<Vec<PathBuf>, FileError> {
    assert_eq!(owner.len(), mesh.nodes.len(), "an owner of each node");
    let (cells, count) = volume_cells(mesh);
    let folder = path.with_extension("");
    std::fs::create_dir_all(&folder).map_err(|e| FileError::new("cannot make", &folder, e))?;
    let pieces = owner[..count].iter().max().map_or(0, |&most| most as usize + 1);
    let mut own = vec![Vec::new(); pieces];
    for (cell, &start) in [0].iter().chain(&cells.offsets).take(cells.types.len()).enumerate() {
        own[owner[cells.connectivity[start as usize] as usize] as usize].push(cell);
    }
    let own: Vec<(PathBuf, Vec<usize>)> = (own.into_iter().enumerate())
        .filter(|(_, own)| !own.is_empty())
        .map(|(k, own)| (folder.join(format!("piece_{k}.vtu")), own))
        .collect();
    let threads = threads(0).min(own.len()).max(1);
    let done = each_part(threads, |part| {
        own.iter().skip(part).step_by(threads).try_for_each(|(file, own)| {
            let (nodes, cells) = cells.of_piece(own);
            write(file, mesh, &nodes, &cells, (&[], &[]), fields, options)
        })
    });
    done.into_iter().collect::<Result<(), _>>()?;
    let written: Vec<PathBuf> = own.into_iter().map(|(file, _)| file).collect();
    remove_others(&folder, &written)?;
    let mut file = AtomicFile::create(path)?;
    file.write_all(list(path, &written, fields).as_bytes())
        .map_err(|e| FileError::new("cannot write", path, e))?;
    file.commit()?;
    Ok([path.to_owned()].into_iter().chain(written).collect())
}

/// Removes a list that [`write_pieces`] wrote and its pieces, where there are any; other files stay.
///
/// # Errors
/// When a file cannot be removed.
pub fn remove_pieces(path: &Path) -> Result<(), FileError> {
    if !path.exists() {
        return Ok(());
    }
    std::fs::remove_file(path).map_err(|e| FileError::new("cannot remove", path, e))?;
    let folder = path.with_extension("");
    if folder.is_dir() {
        remove_others(&folder, &[])?;
        let _ = std::fs::remove_dir(&folder); // which stays where it holds more
    }
    Ok(())
}

/// Removes pieces of an earlier list.
fn remove_others(folder: &Path, pieces: &[PathBuf]) -> Result<(), FileError> {
    let entries = std::fs::read_dir(folder).map_err(|e| FileError::new("cannot list", folder, e))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("piece_") && name.ends_with(".vtu") && !pieces.contains(&path) {
            std::fs::remove_file(&path).map_err(|e| FileError::new("cannot remove", &path, e))?;
        }
    }
    Ok(())
}

/// The text of the list.
fn list(path: &Path, pieces: &[PathBuf], fields: &[Field]) -> String {
    let mut xml = "<?xml version=\"1.0\"?>\n<VTKFile type=\"PUnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" \
                   header_type=\"UInt64\">\n<PUnstructuredGrid GhostLevel=\"0\">\n<PPointData>\n"
        .to_owned();
    for field in fields {
        let (name, components) = (attribute(&field.name), field.components);
        let _ = writeln!(
            xml,
            "<PDataArray type=\"Float32\" Name=\"{name}\" NumberOfComponents=\"{components}\"/>"
        );
    }
    xml.push_str("</PPointData>\n<PPoints>\n<PDataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\"/>\n</PPoints>\n");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    for piece in pieces {
        let piece = piece.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(xml, "<Piece Source=\"{}/{piece}\"/>", attribute(&stem));
    }
    xml.push_str("</PUnstructuredGrid>\n</VTKFile>\n");
    xml
}

impl Cells {
    /// Some of them, and the nodes that these name, ascending; the cells count nodes from 0.
    fn of_piece(&self, own: &[usize]) -> (Vec<u32>, Self) {
        let of_cell = |cell: usize| {
            let start = if cell == 0 { 0 } else { self.offsets[cell - 1] };
            &self.connectivity[start as usize..self.offsets[cell] as usize]
        };
        let mut nodes: Vec<u32> = own.iter().flat_map(|&cell| of_cell(cell)).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut cells = Self::default();
        for &cell in own {
            let number = |n: &u32| nodes.binary_search(n).expect("a node of a cell") as u32;
            cells.push(self.types[cell], of_cell(cell).iter().map(number));
        }
        (nodes, cells)
    }
}
