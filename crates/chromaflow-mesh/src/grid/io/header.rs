//! What PLOT3D files do not say of themselves.

use chromaflow::files;
use std::path::Path;

/// How the numbers of a PLOT3D file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for Fortran's list-directed reading.
    Text,
    /// Fortran unformatted: records between two copies of their length in bytes.
    Records,
    /// Binary without records, as C programs write it.
    Stream,
}

/// A variant of PLOT3D to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plot3d {
    /// How numbers are stored.
    pub form: Form,
    /// Whether reals have 8 bytes; else 4. Text has all digits either way.
    pub double: bool,
    /// Whether the first byte of a number is its highest.
    pub big_endian: bool,
}

impl Default for Plot3d {
    fn default() -> Self {
        Self { form: Form::Records, double: true, big_endian: false }
    }
}

impl Plot3d {
    /// The variant for a file name: text for names that end in `fmt`, `.txt` or `.p3d`, little-endian records of 8-byte
    /// reals otherwise. A trailing `.gz`, `.xz` or `.zst` does not matter.
    pub fn of(path: &Path) -> Self {
        let form = if is_text(path) { Form::Text } else { Form::Records };
        Self { form, ..Self::default() }
    }
}

/// What a reader cannot know from the file, or should not guess.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plot3dOptions {
    /// Text or binary; told by the file's name (`fmt`, `.txt`, `.p3d` are text) and its first bytes otherwise.
    pub text: Option<bool>,
    /// Whether the file is two-dimensional: two numbers of points a block, x and y (or x and z) only. Told by the file
    /// itself otherwise. The plane becomes one layer of cells between z = 0 and z = 1.
    pub planar: Option<bool>,
}

/// The endings of names of PLOT3D grids, in words.
pub const PLOT3D_ENDINGS: &str =
    ".p3d, .p2d, .xyz, .x, .g, .grd, .grid and endings in fmt, unf, 3dbin and 2dbin";

/// Whether a name is that of a PLOT3D grid: one of [`PLOT3D_ENDINGS`], with or without `.gz`, `.xz`, `.zst`.
///
/// ```
/// use chromaflow_mesh::grid::is_plot3d;
/// assert!(["a.g", "a.xyz.gz", "a.p3dfmt"].iter().all(|name| is_plot3d(name.as_ref())));
/// ```
pub fn is_plot3d(path: &Path) -> bool {
    let plain = files::without_compression(path);
    let ending = plain.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    ["p3d", "p2d", "xyz", "x", "g", "grd", "grid"].contains(&ending.as_str())
        || ["fmt", "unf", "3dbin", "2dbin"].iter().any(|end| ending.ends_with(end))
}

pub(super) fn is_text(path: &Path) -> bool {
    let plain = files::without_compression(path);
    let name = plain.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    name.ends_with("fmt") || [".txt", ".p3d", ".p2d"].iter().any(|end| name.ends_with(end))
}

pub(super) fn is_planar(path: &Path) -> bool {
    let plain = files::without_compression(path);
    let name = plain.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    [".p2d", ".p2dfmt", ".p2dbin"].iter().any(|end| name.ends_with(end))
}
