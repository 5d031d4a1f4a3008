//! A volume in pieces, each a file of its own, and the file that lists them (`.pvtu`): programs that run on several processes read a piece
//! or some on each.
//!
//! A cell is in one piece. A point that cells of several pieces have is in each of them; in all but the first it is marked as a copy
//! (`vtkGhostType` 1, VTK's `DUPLICATEPOINT`), so that sums over points count it once.

use super::{Cells, GHOSTS, Marks, VtuOptions, attribute, volume_cells, write};
use crate::par::{each_part, threads};
use crate::{Field, Mesh};
use chromaflow::files::{AtomicFile, FileError};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// VTK's `DUPLICATEPOINT`.
const COPY: u8 = 1;

/// Some cells of a mesh, with the points that these have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// The node of the whole mesh that each point is, ascending.
    pub nodes: Vec<u32>,
    /// Where the points are.
    pub places: Vec<[f64; 3]>,
    /// Ghost types of the points.
    pub ghosts: Vec<u8>,
    /// Cells by these points.
    pub cells: Cells,
}

impl Piece {
    /// Whether it has no cells: there is no file of it.
    pub fn is_empty(&self) -> bool {
        self.cells.types.is_empty()
    }

    /// Writes it with fields on its points under a temporary name; [`AtomicFile::commit`] gives it its own.
    ///
    /// # Errors
    /// When the file cannot be written; nothing is left behind then.
    ///
    /// # Panics
    /// If a field is not as long as the points.
    pub fn write(&self, path: &Path, fields: &[Field], options: VtuOptions) -> Result<AtomicFile, FileError> {
        let nodes: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let marks = Marks { ghosts: &self.ghosts, ..Marks::default() };
        write(path, &self.places, &nodes, &self.cells, &marks, fields, options)
    }
}

/// A mesh that is cut into pieces.
pub struct Pieces<'a> {
    mesh: &'a Mesh,
    cells: Cells,
    /// Cells of each piece.
    own: Vec<Vec<usize>>,
    /// The first piece that has each node.
    first: Vec<u32>,
}

impl<'a> Pieces<'a> {
    /// A cell belongs to the piece whose number the owner of its first node is. A planar mesh is cut as the two-dimensional one it was
    /// made of.
    ///
    /// **Shapes**: `owner` `[nodes]` (of a planar mesh those of the first plane count).
    ///
    /// # Panics
    /// If `owner` is not as long as the mesh.
    pub fn new(mesh: &'a Mesh, owner: &[u32]) -> Self {
        assert_eq!(owner.len(), mesh.nodes.len(), "an owner of each node");
        let (cells, count) = volume_cells(mesh);
        let pieces = owner[..count].iter().max().map_or(0, |&most| most as usize + 1);
        let (mut own, mut first) = (vec![Vec::new(); pieces], vec![u32::MAX; count]);
        for cell in 0..cells.types.len() {
            let nodes = cells.of(cell);
            let piece = owner[nodes[0] as usize];
            own[piece as usize].push(cell);
            for &node in nodes {
                let first = &mut first[node as usize];
                *first = piece.min(*first);
            }
        }
        Self { mesh, cells, own, first }
    }

    /// Number of pieces, up to the last that has cells or owns nodes.
    pub fn count(&self) -> usize {
        self.own.len()
    }

    /// One of them; one without cells beyond the last.
    pub fn piece(&self, number: usize) -> Piece {
        let own = self.own.get(number).map_or(&[][..], |own| own);
        let mut nodes: Vec<u32> = own.iter().flat_map(|&cell| self.cells.of(cell)).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut cells = Cells::default();
        for &cell in own {
            let number = |n: &u32| nodes.binary_search(n).expect("a node of a cell") as u32;
            cells.push(self.cells.types[cell], self.cells.of(cell).iter().map(number));
        }
        let ghost = |&n: &u32| if self.first[n as usize] == number as u32 { 0 } else { COPY };
        Piece {
            places: nodes.iter().map(|&n| self.mesh.nodes[n as usize]).collect(),
            ghosts: nodes.iter().map(ghost).collect(),
            nodes,
            cells,
        }
    }

    /// The file of a piece beside the list `NAME.pvtu`.
    pub fn file(list: &Path, number: usize) -> PathBuf {
        list.with_extension("").join(format!("piece_{number}.vtu"))
    }

    /// Makes the folder of the pieces of a list.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make_folder(list: &Path) -> Result<(), FileError> {
        let folder = list.with_extension("");
        std::fs::create_dir_all(&folder).map_err(|e| FileError::new("cannot create", &folder, e))
    }

    /// Writes the list of pieces with cells that all have their files, for fields of these names and numbers of components, and removes
    /// what an earlier list has left; the paths of list and pieces.
    ///
    /// # Errors
    /// When the list cannot be written, or a file not be removed.
    pub fn write_list(
        path: &Path,
        pieces: impl Iterator<Item = usize>,
        fields: &[(String, usize)],
    ) -> Result<Vec<PathBuf>, FileError> {
        let written: Vec<PathBuf> = pieces.map(|number| Self::file(path, number)).collect();
        remove_others(&path.with_extension(""), &written)?;
        let mut file = AtomicFile::create(path)?;
        file.write_all(list(path, &written, fields).as_bytes())
            .map_err(|e| FileError::new("cannot write", path, e))?;
        file.commit()?;
        Ok([path.to_owned()].into_iter().chain(written).collect())
    }
}

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
    let pieces = Pieces::new(mesh, owner);
    Pieces::make_folder(path)?;
    for field in fields {
        let expected = field.components * mesh.nodes.len();
        assert_eq!(field.values.len(), expected, "field {} has the wrong length", field.name);
    }
    let threads = threads(0).min(pieces.count()).max(1);
    let done = each_part(threads, |part| {
        let mut written = Vec::new();
        for number in (part..pieces.count()).step_by(threads) {
            let piece = pieces.piece(number);
            if piece.is_empty() {
                continue;
            }
            let on_points = |field: &Field| {
                let c = field.components;
                let values = piece.nodes.iter().flat_map(|&n| &field.values[n as usize * c..][..c]);
                Field::vector(&field.name, c, values.copied().collect())
            };
            let fields: Vec<Field> = fields.iter().map(on_points).collect();
            piece.write(&Pieces::file(path, number), &fields, options)?.commit()?;
            written.push(number);
        }
        Ok(written)
    });
    let done: Vec<Vec<usize>> = done.into_iter().collect::<Result<_, FileError>>()?;
    let mut written = done.concat();
    written.sort_unstable();
    let names: Vec<_> = fields.iter().map(|field| (field.name.clone(), field.components)).collect();
    Pieces::write_list(path, written.into_iter(), &names)
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
fn list(path: &Path, pieces: &[PathBuf], fields: &[(String, usize)]) -> String {
    let mut xml = "<?xml version=\"1.0\"?>\n<VTKFile type=\"PUnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" \
                   header_type=\"UInt64\">\n<PUnstructuredGrid GhostLevel=\"0\">\n<PPointData>\n"
        .to_owned();
    let mut array = |kind: &str, name: &str, components: usize| {
        let name = attribute(name);
        let _ = writeln!(
            xml,
            "<PDataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\"/>"
        );
    };
    for (name, components) in fields {
        array("Float32", name, *components);
    }
    array("UInt8", GHOSTS, 1);
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
    /// The nodes of a cell.
    fn of(&self, cell: usize) -> &[u32] {
        let start = if cell == 0 { 0 } else { self.offsets[cell - 1] };
        &self.connectivity[start as usize..self.offsets[cell] as usize]
    }
}
