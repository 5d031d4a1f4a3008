//! Files: compressed or plain to read, whole or not at all to write.

mod compress;
mod decompress;
mod ranges;
#[cfg(test)]
mod tests;

use compress::Encoder;
pub use decompress::{DecompressError, decompress};
pub use ranges::{RangeReader, SharedFile};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// How the bytes of a file are packed, told by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// `.gz` (RFC 1952); several members may follow one another.
    Gzip,
    /// `.xz` (LZMA2 with a checksum); several streams may follow one another.
    Xz,
    /// `.zst` (RFC 8878); several frames may follow one another.
    Zstd,
}

impl Compression {
    /// What the name of a file promises.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Self::Gzip,
            Some("xz") => Self::Xz,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }

    /// What the first bytes of a file tell, where they tell anything.
    fn of_bytes(start: &[u8]) -> Option<Self> {
        match start {
            // Deflate is the one method that there is; three of the flags are none.
            [0x1f, 0x8b, 8, 0..=0x1f, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Opens a file for reading; what is packed by gzip, xz or zstd is decompressed on the way, whatever its name. A file whose name
/// ends in `.gz`, `.xz` or `.zst` has to be packed.
///
/// # Errors
/// What the system says, with the path. Reading may fail later: a truncated or corrupt stream gives an
/// [`io::Error`] that carries a [`DecompressError`].
pub fn open(path: &Path) -> Result<Box<dyn Read>, FileError> {
    let file = File::open(path).map_err(|source| FileError::new("cannot open", path, source))?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    // What cannot be read is told by who reads.
    let told = file.fill_buf().ok().and_then(Compression::of_bytes);
    Ok(match told.unwrap_or(Compression::of(path)) {
        Compression::None => Box::new(file),
        packed => Box::new(decompress(file, packed)),
    })
}

/// The name without a trailing `.gz`, `.xz` or `.zst`: what tells the format.
pub fn without_compression(path: &Path) -> PathBuf {
    if Compression::of(path) == Compression::None { path.to_owned() } else { path.with_extension("") }
}

/// A file operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("{action} {}: {source}", path.display())]
pub struct FileError {
    /// What was tried.
    pub action: &'static str,
    /// On which file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl FileError {
    /// An error with its place.
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self { action, path: path.to_owned(), source }
    }
}

/// The name of a file until it is complete.
fn temporary_beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// A file that appears under its name only when it is complete: written under a temporary name beside it, flushed to
/// the disk, then renamed by [`AtomicFile::commit`]. Dropped before that, it leaves nothing behind. A name that ends
/// in `.gz`, `.xz` or `.zst` is compressed on the way.
///
/// ```
/// use chromaflow::files::{AtomicFile, open};
/// use std::io::{Read, Write};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("history.csv.gz");
/// let mut file = AtomicFile::create(&path)?;
/// writeln!(file, "iteration,residual")?;
/// assert!(!path.exists());
/// file.commit()?;
/// let mut text = String::new();
/// open(&path)?.read_to_string(&mut text)?;
/// assert_eq!(text, "iteration,residual\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AtomicFile {
    out: Option<Encoder<BufWriter<File>>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts writing `path`.
    ///
    /// # Errors
    /// When the folder is missing or not writable.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let fail = |e| FileError::new("cannot create", path, e);
        let temporary = temporary_beside(path);
        let file = BufWriter::with_capacity(1 << 20, File::create(&temporary).map_err(fail)?);
        let out = Some(Encoder::new(file, Compression::of(path)).map_err(fail)?);
        Ok(Self { out, temporary, path: path.to_owned() })
    }

    /// Makes the file appear under its name.
    ///
    /// # Errors
    /// When the rest cannot be written (disk full) or renamed; nothing is left behind then.
    pub fn commit(mut self) -> Result<(), FileError> {
        let fail = |e| FileError::new("cannot write", &self.path, e);
        let out = self.out.take().expect("committed once").finish().map_err(fail)?;
        let file = out.into_inner().map_err(|e| fail(e.into_error()))?;
        file.sync_all().map_err(fail)?;
        std::fs::rename(&self.temporary, &self.path).map_err(fail)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.out.as_mut().expect("not committed").write(buf)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().expect("not committed").flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        drop(self.out.take());
        let _ = std::fs::remove_file(&self.temporary); // gone already after a commit
    }
}
