//! Binary files: numbers of either byte order, in chunks, so that memory grows only as data arrive.

use crate::{MeshError, Place};
use chromaflow::files::{self, FileError};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes asked for at once.
const CHUNK: usize = 1 << 18;

/// A binary stream.
pub(crate) struct Bytes {
    input: Box<dyn Read>,
    path: PathBuf,
    /// Bytes read so far.
    pub(crate) offset: u64,
    pub(crate) big: bool,
    /// Bytes of a file in which what is passed over is not read.
    length: Option<u64>,
}

impl Bytes {
    pub(crate) fn open(path: &Path, big: bool) -> Result<Self, MeshError> {
        Ok(Self { input: files::open(path)?, path: path.to_owned(), offset: 0, big, length: None })
    }

    /// An uncompressed file in which what is passed over is not read.
    pub(crate) fn jumping(path: &Path) -> Result<Self, MeshError> {
        let length = std::fs::metadata(path).map_err(|e| FileError::new("cannot open", path, e))?.len();
        Ok(Self { length: Some(length), ..Self::open_at(path, false, 0)? })
    }

    /// An uncompressed file from a place on.
    pub(crate) fn open_at(path: &Path, big: bool, offset: u64) -> Result<Self, MeshError> {
        let opened = File::open(path).and_then(|mut file| file.seek(SeekFrom::Start(offset)).map(|_| file));
        let file = opened.map_err(|e| FileError::new("cannot open", path, e))?;
        Ok(Self { input: Box::new(file), path: path.to_owned(), offset, big, length: None })
    }

    /// Fills `into`; `what` is for the message.
    pub(crate) fn fill(&mut self, into: &mut [u8], what: &str) -> Result<(), MeshError> {
        let mut have = 0;
        while have < into.len() {
            match self.input.read(&mut into[have..]) {
                Ok(0) => {
                    self.offset += have as u64;
                    return Err(self.cut(what));
                }
                Ok(n) => have += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(FileError::new("cannot read", &self.path, e).into()),
            }
        }
        self.offset += have as u64;
        Ok(())
    }

    /// Everything up to the end of the file; memory grows as data arrive.
    pub(crate) fn rest(&mut self) -> Result<Vec<u8>, MeshError> {
        let mut all = Vec::new();
        let n = self.input.read_to_end(&mut all).map_err(|e| FileError::new("cannot read", &self.path, e))?;
        self.offset += n as u64;
        Ok(all)
    }

    /// Passes over `n` bytes.
    pub(crate) fn skip(&mut self, mut n: u64, what: &str) -> Result<(), MeshError> {
        if let Some(length) = self.length {
            let to = self.offset.saturating_add(n);
            self.offset = to.min(length);
            self.input = Self::open_at(&self.path, self.big, self.offset)?.input;
            return if to > length { Err(self.cut(what)) } else { Ok(()) };
        }
        let mut trash = vec![0; CHUNK];
        while n > 0 {
            let part = n.min(CHUNK as u64) as usize;
            self.fill(&mut trash[..part], what)?;
            n -= part as u64;
        }
        Ok(())
    }

    /// Calls `take` with the offset and the bytes of each of `n` records of `size` bytes.
    pub(crate) fn records(
        &mut self,
        n: u64,
        size: usize,
        what: &str,
        mut take: impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<(), MeshError> {
        let per = (CHUNK / size).max(1) as u64;
        let mut buffer = vec![0; per as usize * size];
        let mut left = n;
        while left > 0 {
            let now = left.min(per);
            let at = self.offset;
            let part = &mut buffer[..now as usize * size];
            self.fill(part, what)?;
            for (i, record) in part.chunks_exact(size).enumerate() {
                let place = at + (i * size) as u64;
                take(place, record).map_err(|what| self.error_at(place, what))?;
            }
            left -= now;
        }
        Ok(())
    }

    pub(crate) fn int(&mut self, width: usize, what: &str) -> Result<i64, MeshError> {
        let mut b = [0; 8];
        self.fill(&mut b[..width], what)?;
        Ok(int(&b[..width], self.big))
    }

    fn cut(&self, what: &str) -> MeshError {
        self.error(format!("the file ends inside {what}: it is cut short"))
    }

    pub(crate) fn error(&self, what: impl Into<String>) -> MeshError {
        self.error_at(self.offset, what)
    }

    pub(crate) fn error_at(&self, place: u64, what: impl Into<String>) -> MeshError {
        MeshError::Syntax { path: self.path.clone(), place: Place::Byte(place), what: what.into() }
    }
}

/// A whole number of 4 or 8 bytes.
pub(crate) fn int(b: &[u8], big: bool) -> i64 {
    if b.len() == 4 {
        let b = [b[0], b[1], b[2], b[3]];
        i64::from(if big { i32::from_be_bytes(b) } else { i32::from_le_bytes(b) })
    } else {
        let b = std::array::from_fn(|i| b[i]);
        if big { i64::from_be_bytes(b) } else { i64::from_le_bytes(b) }
    }
}

/// A real number of 4 or 8 bytes.
pub(crate) fn real(b: &[u8], big: bool) -> f64 {
    if b.len() == 4 {
        let b = [b[0], b[1], b[2], b[3]];
        f64::from(if big { f32::from_be_bytes(b) } else { f32::from_le_bytes(b) })
    } else {
        let b = std::array::from_fn(|i| b[i]);
        if big { f64::from_be_bytes(b) } else { f64::from_le_bytes(b) }
    }
}

/// A node number that counts from 1, as one that counts from 0.
pub(crate) fn node(n: i64) -> Result<u32, String> {
    u32::try_from(n - 1).ok().filter(|_| n > 0).ok_or_else(|| format!("node {n}: nodes count from 1 here"))
}
