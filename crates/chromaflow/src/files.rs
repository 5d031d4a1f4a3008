//! Files: compressed or plain to read, whole or not at all to write.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Opens a file for reading; names that end in `.gz`, `.xz` or `.zst` are decompressed on the way.
///
/// # Errors
/// What the system says, with the path.
pub fn open(path: &Path) -> Result<Box<dyn Read>, FileError> {
    let file = File::open(path).map_err(|source| FileError::new("cannot open", path, source))?;
    let file = BufReader::with_capacity(1 << 20, file);
    Ok(match extension(path) {
        "gz" => Box::new(MultiGzDecoder::new(file)),
        _ => Box::new(file),
    })
}

/// The name without a trailing `.gz`, `.xz` or `.zst`: what tells the format.
pub fn without_compression(path: &Path) -> PathBuf {
    if matches!(extension(path), "gz" | "xz" | "zst") { path.with_extension("") } else { path.to_owned() }
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|e| e.to_str()).unwrap_or("")
}

/// A file operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("{action} {path}: {source}")]
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

/// A file that appears under its name only when it is complete: written under a temporary name beside it, flushed to
/// the disk, then renamed by [`AtomicFile::commit`]. Dropped before that, it leaves nothing behind.
pub struct AtomicFile {
    out: Option<BufWriter<File>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts writing `path`.
    ///
    /// # Errors
    /// When the folder is missing or not writable.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        let file = File::create(&temporary).map_err(|e| FileError::new("cannot create", path, e))?;
        Ok(Self { out: Some(BufWriter::with_capacity(1 << 20, file)), temporary, path: path.to_owned() })
    }

    /// Makes the file appear under its name.
    ///
    /// # Errors
    /// When the rest cannot be written (disk full) or renamed; nothing is left behind then.
    pub fn commit(mut self) -> Result<(), FileError> {
        let fail = |e| FileError::new("cannot write", &self.path, e);
        let out = self.out.take().expect("committed once");
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
