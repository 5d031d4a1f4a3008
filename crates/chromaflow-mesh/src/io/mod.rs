//! Mesh files.

mod fluent;
mod gmf;
mod gmf_text;
mod gmf_write;
mod gmsh;
mod gmsh_write;
mod lines;
mod mapbc;
mod openfoam;
mod patches;
mod scan;
mod slices;
mod su2;
mod ugrid;
mod vtu;
mod write;

pub use gmf_write::write_solb;
pub use lines::{read_lines, write_lines};
pub use mapbc::{Passage, passage};
pub use slices::{Counts, Names, Slice, SliceFace, Slices, Survey, mend, range_of, reader_of};
pub use ugrid::Layout;
pub use write::{write, write_as};

use super::grid::{self, GridError, Plot3dOptions};
use super::{Loaded, Mesh, MeshError, ReadOptions};
use chromaflow::files;
use std::fmt;
use std::path::Path;

/// File formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// SU2, text (`.su2`).
    Su2,
    /// AFLR3 UGRID, text (`.ugrid`).
    Ugrid,
    /// AFLR3 UGRID, binary (`.b8.ugrid`, `.lb8.ugrid` and so on).
    UgridBinary(Layout),
    /// GMF, binary (`.meshb`).
    Gmf,
    /// GMF, text (`.mesh`).
    GmfText,
    /// CGNS (`.cgns`), HDF5 or ADF.
    Cgns,
    /// OpenFOAM (the folder `polyMesh`, or that of a case).
    OpenFoam,
    /// Fluent (`.cas`; `.msh` where the file begins with a parenthesis).
    Fluent,
    /// VTK's unstructured grids (`.vtu`, pieces of one `.pvtu`).
    Vtu,
    /// Gmsh (`.msh`); a reader takes version and form from the file.
    Gmsh {
        /// Version 2.2; 4.1 otherwise.
        legacy: bool,
        /// Binary; text otherwise.
        binary: bool,
    },
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Su2 => "SU2",
            Self::Ugrid => "UGRID",
            Self::UgridBinary(_) => "UGRID binary",
            Self::Gmf => "GMF binary",
            Self::GmfText => "GMF",
            Self::Cgns => "CGNS",
            Self::OpenFoam => "OpenFOAM",
            Self::Fluent => "Fluent",
            Self::Gmsh { .. } => "Gmsh",
            Self::Vtu => "VTU",
        })
    }
}

impl Format {
    /// The format that a name tells; a trailing `.gz`, `.xz` or `.zst` does not matter.
    ///
    /// # Errors
    /// When it tells none, with the list of endings.
    pub fn of(path: &Path) -> Result<Self, MeshError> {
        if openfoam::folder(path).is_some() {
            return Ok(Self::OpenFoam);
        }
        let plain = files::without_compression(path);
        let name = plain.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let mut parts = name.rsplit('.');
        let (last, before) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let wide = last == "ugrid64" || before == "ugrid64";
        match last {
            "su2" => Ok(Self::Su2),
            "meshb" => Ok(Self::Gmf),
            "mesh" => Ok(Self::GmfText),
            "cgns" => Ok(Self::Cgns),
            "vtu" | "pvtu" => Ok(Self::Vtu),
            "cas" => Ok(Self::Fluent),
            "msh" => Ok(Self::Gmsh { legacy: false, binary: false }),
            "ugrid" | "ugrid64" => Ok(Layout::of(before, wide).map_or(Self::Ugrid, Self::UgridBinary)),
            _ => Layout::of(last, wide).map(Self::UgridBinary).ok_or_else(|| {
                let what = format!(
                    "this name tells no mesh format that is known: .su2, .ugrid, .b8.ugrid, \
                     .lb8.ugrid (and .r8, .lr8, .b4, .lb4), .msh (Gmsh, Fluent), .cas, .meshb, .mesh, .cgns, .vtu, .pvtu, PLOT3D's {}, \
                     each also with .gz, .xz or .zst after it, or the folder of an OpenFOAM case; .unv, .med, .bdf, \
                     .vtk and .key become one by `gmsh FILE -save -format msh41 -o NEW.msh`",
                    grid::PLOT3D_ENDINGS
                );
                MeshError::unsupported(path, what)
            }),
        }
    }
}

/// Reads a mesh of any format, plain or compressed. A PLOT3D grid becomes one, its blocks connected by the neutral map file beside it or,
/// without one, where their faces meet.
///
/// # Errors
/// When the file cannot be read, is damaged, or holds a mesh that no solver can use; with the place.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Mesh, MeshError> {
    read_with_notes(path, options).map(|(mesh, _)| mesh)
}

/// As [`read`], and what was left out or assumed.
///
/// # Errors
/// As [`read`].
pub fn read_with_notes(path: &Path, options: &ReadOptions) -> Result<(Mesh, Vec<String>), MeshError> {
    if options.format.is_none() && grid::is_plot3d(path) {
        return read_blocks(path).map(|mesh| (mesh, Vec::new()));
    }
    let loaded = load(path, options)?;
    if loaded.report.errors() > 0 {
        return Err(MeshError::Broken { path: path.to_owned(), report: Box::new(loaded.report) });
    }
    Ok((loaded.mesh, loaded.notes))
}

fn read_blocks(path: &Path) -> Result<Mesh, MeshError> {
    let map = grid::map_beside(path);
    let grid = grid::read_joined(path, map.as_deref(), &Plot3dOptions::default());
    grid.and_then(|grid| grid.to_connected_mesh()).map_err(|error| match error {
        GridError::Read(error) => error,
        GridError::File(error) => error.into(),
        other => MeshError::unsupported(path, other.to_string()),
    })
}

/// Reads a mesh of any format with everything known about its file, sound or not.
///
/// # Errors
/// When the file cannot be read or is damaged, or when node numbers or coordinates are meaningless.
pub fn load(path: &Path, options: &ReadOptions) -> Result<Loaded, MeshError> {
    let format = match options.format.map_or_else(|| Format::of(path), Ok)? {
        Format::Gmsh { .. } if fluent::begins(path)? => Format::Fluent,
        format => format,
    };
    let raw = match format {
        Format::Su2 => su2::read(path, crate::par::threads(options.threads))?,
        Format::Ugrid => ugrid::read_text(path, options)?,
        Format::UgridBinary(layout) => ugrid::read_binary(path, layout, options)?,
        Format::Gmf => gmf::read(path, options)?,
        Format::GmfText => gmf_text::read(path, options)?,
        Format::OpenFoam => openfoam::read(path)?,
        Format::Cgns => crate::cgns::read(path)?,
        Format::Fluent => fluent::read(path)?,
        Format::Gmsh { .. } => gmsh::read(path)?,
        Format::Vtu => vtu::read(path, options)?,
    };
    raw.finish(path, format, options)
}
