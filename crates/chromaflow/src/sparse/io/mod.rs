//! Matrix files: Matrix Market and PETSc binary, plain or compressed, both ways.
//!
//! ```
//! use chromaflow::sparse::io::{read_matrix, write_matrix};
//! use chromaflow::{BlockCsr, BlockPattern};
//! let a = BlockCsr::new(BlockPattern::new(1, vec![0, 1], vec![0])?, 2, vec![4.0, 1.0, 2.0, 3.0])?;
//! let folder = tempfile::tempdir()?;
//! for name in ["a.mtx", "a.mtx.gz", "a.petsc", "a.petsc.zst"] {
//!     let path = folder.path().join(name);
//!     write_matrix(&path, &a, Some(&[1.0, 2.0]))?;
//!     let file = read_matrix(&path, None)?; // the block size is written beside the matrix
//!     assert_eq!(file.matrix.nb(), 2);
//!     assert_eq!(file.matrix.values(), a.values());
//!     assert_eq!(file.rhs.as_deref(), Some(&[1.0, 2.0][..]));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod detect;
mod error;
mod matrix_market;
mod petsc;
mod scalar;
#[cfg(test)]
mod tests;

pub use detect::detect_block_size;
pub use error::{Fault, MatrixFileError, Place};
pub use scalar::ScalarCsr;

use super::BlockCsr;
use crate::files::{AtomicFile, FileError, open, without_compression};
use error::Located;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The format of a matrix or vector file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Matrix Market: text, `%%MatrixMarket`. National Institute of Standards and Technology (1996).
    MatrixMarket,
    /// PETSc's `MatView` / `VecView` into a binary viewer: big endian, real, 32- or 64-bit indices.
    Petsc,
}

impl Format {
    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Format::MatrixMarket => "Matrix Market",
            Format::Petsc => "PETSc binary",
        }
    }

    /// What to write under a name: PETSc binary for `.petsc`, `.bin` and `.dat`, Matrix Market for all others.
    pub fn of_name(path: &Path) -> Self {
        let plain = without_compression(path);
        match plain.extension().and_then(|e| e.to_str()) {
            Some("petsc" | "bin" | "dat") => Format::Petsc,
            _ => Format::MatrixMarket,
        }
    }
}

/// Where the block size of a matrix that was read comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSizeFrom {
    /// The caller.
    Given,
    /// The file: a comment `% block size N`, or `-matload_block_size N` in the `.info` file beside it.
    File,
    /// The pattern ([`detect_block_size`]).
    Pattern,
}

/// A matrix as read from a file.
#[derive(Clone, Debug)]
pub struct MatrixFile {
    /// The matrix. Entries of a stored block that the file does not name are zero.
    pub matrix: BlockCsr,
    /// The right-hand side: the vector after a PETSc matrix, or the file `NAME_b.mtx` beside `NAME.mtx`.
    pub rhs: Option<Vec<f64>>,
    /// The format found.
    pub format: Format,
    /// Where the block size comes from.
    pub block_size_from: BlockSizeFrom,
    /// Entries in the file (both triangles of a symmetric one).
    pub entries: usize,
}

/// Reads a matrix, its format told by its first bytes. Without `block_size` it is taken from the file or found from
/// the pattern.
///
/// Memory stays in proportion to what the file really holds, whatever its header says.
///
/// # Errors
/// [`MatrixFileError`] names the file, the line or byte, what is wrong and the likely remedy: truncated or corrupt
/// files, counts that disagree, indices out of range, entries given twice, NaN or infinite entries (row and column),
/// a block size that does not divide the matrix.
pub fn read_matrix(path: &Path, block_size: Option<usize>) -> Result<MatrixFile, MatrixFileError> {
    let at = |located: Located| located.in_file(path);
    let mut input = BufReader::with_capacity(1 << 16, open(path)?);
    let format = sniff(&mut input).map_err(at)?;
    let (scalar, hint, rhs) = match format {
        Format::MatrixMarket => {
            let (scalar, hint) = matrix_market::read_matrix(&mut input).map_err(at)?;
            (scalar, hint, read_sibling(path, "_b")?)
        }
        Format::Petsc => {
            let (scalar, rhs) = petsc::read_matrix(&mut input).map_err(at)?;
            (scalar, read_info(path)?, rhs)
        }
    };
    let (nb, block_size_from) = match (block_size, hint) {
        (Some(nb), _) => (nb, BlockSizeFrom::Given),
        (None, Some(nb)) => (nb, BlockSizeFrom::File),
        (None, None) => (detect_block_size(&scalar), BlockSizeFrom::Pattern),
    };
    if let Some(b) = &rhs
        && b.len() != scalar.rows()
    {
        return Err(at(Place::File.fault(Fault::VectorLength { found: b.len(), expected: scalar.rows() })));
    }
    let matrix = scalar.to_blocks(nb).map_err(|fault| at(Place::File.fault(fault)))?;
    Ok(MatrixFile { matrix, rhs, format, block_size_from, entries: scalar.entries() })
}

/// Reads a vector: a Matrix Market array of one column, or a PETSc vector.
///
/// # Errors
/// [`MatrixFileError`], as [`read_matrix`].
pub fn read_vector(path: &Path) -> Result<Vec<f64>, MatrixFileError> {
    let mut input = BufReader::with_capacity(1 << 16, open(path)?);
    let read = sniff(&mut input).and_then(|format| match format {
        Format::MatrixMarket => matrix_market::read_vector(&mut input),
        Format::Petsc => petsc::read_vector(&mut input),
    });
    read.map_err(|located| located.in_file(path))
}

/// Writes a matrix in the format its name asks for ([`Format::of_name`]). The right-hand side goes into the same file
/// (PETSc) or into `NAME_b.mtx` (Matrix Market), the block size into a file `.info` (PETSc) or a comment. Each file
/// appears when it is complete.
///
/// # Errors
/// [`FileError`] when something cannot be written.
pub fn write_matrix(path: &Path, matrix: &BlockCsr, rhs: Option<&[f64]>) -> Result<(), FileError> {
    match Format::of_name(path) {
        Format::MatrixMarket => {
            if let Some(b) = rhs {
                write_whole(&sibling(path, "_b"), |out| matrix_market::write_vector(out, b))?;
            }
            write_whole(path, |out| matrix_market::write_matrix(out, matrix))
        }
        Format::Petsc => {
            write_whole(&info_path(path), |out| writeln!(out, "-matload_block_size {}", matrix.nb()))?;
            write_whole(path, |out| {
                petsc::write_matrix(out, matrix)?;
                rhs.map_or(Ok(()), |b| petsc::write_vector(out, b))
            })
        }
    }
}

/// Writes a vector in the format its name asks for ([`Format::of_name`]).
///
/// # Errors
/// [`FileError`] when it cannot be written.
pub fn write_vector(path: &Path, values: &[f64]) -> Result<(), FileError> {
    write_whole(path, |out| match Format::of_name(path) {
        Format::MatrixMarket => matrix_market::write_vector(out, values),
        Format::Petsc => petsc::write_vector(out, values),
    })
}

fn write_whole(
    path: &Path,
    job: impl FnOnce(&mut AtomicFile) -> std::io::Result<()>,
) -> Result<(), FileError> {
    let mut file = AtomicFile::create(path)?;
    job(&mut file).map_err(|e| FileError::new("cannot write", path, e))?;
    file.commit()
}

/// The byte order mark of UTF-8, which some editors put before a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The format that the first bytes tell; a byte order mark is passed over.
fn sniff(input: &mut BufReader<Box<dyn Read>>) -> Result<Format, Located> {
    use std::io::BufRead;
    let mut start = input.fill_buf().map_err(|e| Place::Byte(0).fault(e.into()))?;
    if start.starts_with(MARK) {
        input.consume(MARK.len());
        start = input.fill_buf().map_err(|e| Place::Byte(0).fault(e.into()))?;
    }
    if start.starts_with(b"%%") {
        return Ok(Format::MatrixMarket);
    }
    // A class id of four bytes, or of eight where indices have 64 bits; swapped ones are refused with their reason.
    if start.len() >= 4 && (start[0] == 0 || start[3] == 0) {
        return Ok(Format::Petsc);
    }
    let mut head = Vec::new();
    input.take(1 << 10).read_to_end(&mut head).map_err(|e| Place::Byte(0).fault(e.into()))?;
    Err(Place::Byte(0).fault(other_format(&head).unwrap_or(Fault::UnknownFormat)))
}

/// What a file is that is neither of ours, by its first bytes.
fn other_format(head: &[u8]) -> Option<Fault> {
    let is = |what: &str, remedy| Some(Fault::Unsupported { what: what.into(), remedy });
    let export = "write it as Matrix Market from where it comes (scipy.io.mmwrite)";
    match head {
        [] => return is("an empty file", "write or copy it again"),
        [b'B', b'Z', b'h', ..] => {
            return is("a file packed by bzip2", "unpack it (bunzip2), or pack it by gzip, xz or zstd");
        }
        [b'P', b'K', 3, 4, ..] => return is("a zip archive", "unpack it (unzip) and give the matrix in it"),
        [b'7', b'z', 0xbc, 0xaf, ..] => return is("a 7z archive", "unpack it and give the matrix in it"),
        [0x89, b'H', b'D', b'F', ..] => return is("an HDF5 file (MATLAB's -v7.3, too)", export),
        [0x93, b'N', b'U', b'M', ..] => return is("an array of NumPy", export),
        _ => {}
    }
    if head.starts_with(b"MATLAB 5") {
        return is("a MATLAB file", export);
    }
    if head.get(257..262) == Some(b"ustar") {
        return is("a tar archive", "unpack it (tar xf) and give the matrix in it");
    }
    // Harwell-Boeing and Rutherford-Boeing: a title, a line of counts, a line with the type and the sizes.
    let mut lines = head.split(|&b| b == b'\n').skip(1).map(|line| line.trim_ascii());
    let counts = lines.next()?;
    let kind = lines.next()?.to_ascii_uppercase();
    let whole = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
    let numbers = |line: &[u8]| line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).all(whole);
    match kind[..] {
        [b'R' | b'C' | b'P' | b'I' | b'Q', b'S' | b'U' | b'H' | b'Z' | b'R', b'A' | b'E', b' ', ..]
            if !counts.is_empty() && numbers(counts) && numbers(&kind[3..]) =>
        {
            let remedy = "write it as Matrix Market (scipy.io.mmwrite of what scipy.io.hb_read reads)";
            is("a Harwell-Boeing file", remedy)
        }
        _ => None,
    }
}

/// `NAME_b.mtx.xz` for `NAME.mtx.xz`.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let plain = without_compression(path);
    let packed = path.extension().filter(|_| plain != path);
    let stem = plain.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}{suffix}");
    for extension in [plain.extension(), packed].into_iter().flatten() {
        name.push('.');
        name.push_str(&extension.to_string_lossy());
    }
    path.with_file_name(name)
}

fn read_sibling(path: &Path, suffix: &str) -> Result<Option<Vec<f64>>, MatrixFileError> {
    let beside = sibling(path, suffix);
    if beside.exists() { read_vector(&beside).map(Some) } else { Ok(None) }
}

fn info_path(path: &Path) -> PathBuf {
    let mut name = without_compression(path).into_os_string();
    name.push(".info");
    name.into()
}

/// The block size in the options file that PETSc writes beside a matrix.
fn read_info(path: &Path) -> Result<Option<usize>, MatrixFileError> {
    let info = info_path(path);
    if !info.exists() {
        return Ok(None);
    }
    let mut text = String::new();
    let read = open(&info)?.take(1 << 16).read_to_string(&mut text);
    read.map_err(|e| Place::File.fault(e.into()).in_file(&info))?;
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if word == "-matload_block_size" {
            let value = words.next().unwrap_or_default();
            let parsed = value.parse().map(Some);
            return parsed
                .map_err(|_| Place::File.fault(Fault::expected("a block size", value)).in_file(&info));
        }
    }
    Ok(None)
}
