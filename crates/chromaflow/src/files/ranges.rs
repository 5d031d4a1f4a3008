//! Files by ranges: written by several at once, read from the middle.

use super::{Compression, FileError, open, temporary_beside};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that several write at once, each its own ranges: threads, processes, hosts that share the folder. One leads, and
/// [`creates`](SharedFile::create) it under a temporary name; the others [`join`](SharedFile::join) it there. When all have
/// [`finished`](SharedFile::finish), which they tell one another by means of their own, the one that leads
/// [`commits`](SharedFile::commit) it to its name. Where that is dropped before, nothing is left behind.
///
/// ```
/// use chromaflow::files::SharedFile;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("numbers");
/// let mut first = SharedFile::create(&path, 6)?;
/// let mut second = SharedFile::join(&path, first.temporary())?;
/// second.write_at(3, b"def")?;
/// first.write_at(0, b"abc")?;
/// second.finish()?;
/// first.finish()?;
/// assert!(!path.exists());
/// first.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"abcdef");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedFile {
    file: File,
    path: PathBuf,
    temporary: PathBuf,
    leads: bool,
}

impl SharedFile {
    /// Makes a file of so many bytes that is to be `path`.
    ///
    /// # Errors
    /// When the folder is missing or not writable; for a name that promises compression, which has no ranges.
    pub fn create(path: &Path, length: u64) -> Result<Self, FileError> {
        let fail = |e| FileError::new("cannot create", path, e);
        if Compression::of(path) != Compression::None {
            let what = "a compressed file is written by one alone: leave out the ending";
            return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, what)));
        }
        let temporary = temporary_beside(path);
        let file = File::create(&temporary).map_err(fail)?;
        let made = Self { file, path: path.to_owned(), temporary, leads: true };
        made.file.set_len(length).map_err(fail)?;
        Ok(made)
    }

    /// Opens a file that another one has created under this temporary name.
    ///
    /// # Errors
    /// When it is not there, or may not be written.
    pub fn join(path: &Path, temporary: &Path) -> Result<Self, FileError> {
        let file = OpenOptions::new().write(true).open(temporary);
        let file = file.map_err(|e| FileError::new("cannot write", path, e))?;
        Ok(Self { file, path: path.to_owned(), temporary: temporary.to_owned(), leads: false })
    }

    /// The name that it has until it is complete.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Writes bytes at a place, which nobody else does.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FileError> {
        let written = self.file.seek(SeekFrom::Start(offset)).and_then(|_| self.file.write_all(bytes));
        written.map_err(|e| FileError::new("cannot write", &self.path, e))
    }

    /// Brings to the disk what was written here.
    ///
    /// # Errors
    /// What the system says: a full disk may show no earlier.
    pub fn finish(&self) -> Result<(), FileError> {
        self.file.sync_all().map_err(|e| FileError::new("cannot write", &self.path, e))
    }

    /// Gives it its name, on the one that leads.
    ///
    /// # Errors
    /// When it cannot be renamed; nothing is left behind then.
    pub fn commit(self) -> Result<(), FileError> {
        std::fs::rename(&self.temporary, &self.path)
            .map_err(|e| FileError::new("cannot write", &self.path, e))
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        if self.leads {
            let _ = std::fs::remove_file(&self.temporary); // gone already after a commit
        }
    }
}

/// A file that is read by ranges, ascending: by their places where it is plain, past everything before them where its name
/// promises compression.
pub struct RangeReader {
    from: Source,
    at: u64,
}

enum Source {
    Plain(BufReader<File>),
    Packed(Box<dyn Read>),
}

impl RangeReader {
    /// Opens a file.
    ///
    /// # Errors
    /// As [`open`].
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let from = if Compression::of(path) == Compression::None {
            let file = File::open(path).map_err(|e| FileError::new("cannot open", path, e))?;
            Source::Plain(BufReader::with_capacity(1 << 20, file))
        } else {
            Source::Packed(open(path)?)
        };
        Ok(Self { from, at: 0 })
    }

    /// So many bytes from a place on, fewer where the file ends before.
    ///
    /// # Errors
    /// What the system says, or what was packed is corrupt.
    ///
    /// # Panics
    /// For a place before what was read.
    pub fn read_at(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let ahead = offset.checked_sub(self.at).expect("ranges ascend");
        match &mut self.from {
            Source::Plain(file) => file.seek_relative(ahead as i64)?,
            Source::Packed(file) => drop(io::copy(&mut file.take(ahead), &mut io::sink())?),
        }
        let mut bytes = Vec::new();
        match &mut self.from {
            Source::Plain(file) => file.take(length).read_to_end(&mut bytes)?,
            Source::Packed(file) => file.take(length).read_to_end(&mut bytes)?,
        };
        self.at = offset + bytes.len() as u64;
        Ok(bytes)
    }
}
