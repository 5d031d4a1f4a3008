//! Files that are text with binary sections: Gmsh's.

use crate::parse::binary;
use crate::parse::text::{self, MARK, show};
use crate::{MeshError, Place};
use chromaflow::files::{self, FileError};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest word or line that is accepted.
const LONGEST: usize = 1 << 20;

/// A stream of numbers, as words or as bytes.
pub(super) struct Scan {
    input: Box<dyn Read>,
    path: PathBuf,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    offset: u64,
    line: u64,
    word: Vec<u8>,
    /// Numbers are bytes; words otherwise.
    pub(super) binary: bool,
    /// Byte order of binary numbers.
    pub(super) big: bool,
}

impl Scan {
    pub(super) fn open(path: &Path) -> Result<Self, MeshError> {
        let mut scan = Self {
            input: files::open(path)?,
            path: path.to_owned(),
            buffer: vec![0; 1 << 18],
            at: 0,
            filled: 0,
            offset: 0,
            line: 1,
            word: Vec::new(),
            binary: false,
            big: false,
        };
        scan.peek()?;
        if scan.buffer[..scan.filled].starts_with(MARK) {
            (scan.at, scan.offset) = (MARK.len(), MARK.len() as u64);
        }
        Ok(scan)
    }

    fn peek(&mut self) -> Result<Option<u8>, MeshError> {
        while self.at == self.filled {
            match self.input.read(&mut self.buffer) {
                Ok(0) => return Ok(None),
                Ok(n) => (self.at, self.filled) = (0, n),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(FileError::new("cannot read", &self.path, e).into()),
            }
        }
        Ok(Some(self.buffer[self.at]))
    }

    fn step(&mut self) {
        self.line += u64::from(self.buffer[self.at] == b'\n');
        self.at += 1;
        self.offset += 1;
    }

    /// The rest of the line, without its end; `None` at the end of the file.
    pub(super) fn rest_of_line(&mut self) -> Result<Option<Vec<u8>>, MeshError> {
        let mut text = Vec::new();
        if self.peek()?.is_none() {
            return Ok(None);
        }
        while let Some(b) = self.peek()? {
            self.step();
            if b == b'\n' {
                break;
            }
            text.push(b);
            if text.len() > LONGEST {
                return Err(self.error("this line is endless"));
            }
        }
        Ok(Some(text))
    }

    fn skip_blanks(&mut self) -> Result<(), MeshError> {
        while self.peek()?.is_some_and(|b| b.is_ascii_whitespace()) {
            self.step();
        }
        Ok(())
    }

    fn fill_word(&mut self, what: &str) -> Result<(), MeshError> {
        self.word.clear();
        self.skip_blanks()?;
        while let Some(b) = self.peek()?.filter(|b| !b.is_ascii_whitespace()) {
            self.step();
            self.word.push(b);
            if self.word.len() > LONGEST {
                return Err(self.error("this word is endless"));
            }
        }
        if self.word.is_empty() {
            return Err(self.error(format!("the file ends inside {what}: it is cut short")));
        }
        Ok(())
    }

    /// The next word of a text that begins with a letter, numbers and comments behind `#` passed over; `None` at the end of the file.
    pub(super) fn keyword(&mut self) -> Result<Option<Vec<u8>>, MeshError> {
        loop {
            self.skip_blanks()?;
            match self.peek()? {
                None => return Ok(None),
                Some(b'#') => drop(self.rest_of_line()?),
                Some(first) => {
                    self.fill_word("a keyword")?;
                    if first.is_ascii_alphabetic() {
                        return Ok(Some(std::mem::take(&mut self.word)));
                    }
                }
            }
        }
    }

    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], MeshError> {
        let mut b = [0; N];
        for slot in &mut b {
            let Some(byte) = self.peek()? else {
                return Err(self.error(format!("the file ends inside {what}: it is cut short")));
            };
            *slot = byte;
            self.step();
        }
        Ok(b)
    }

    fn wrong(&self, what: &str) -> MeshError {
        self.error(format!("expected a number for {what}, found {:?}", show(&self.word)))
    }

    /// A whole number of 4 bytes, or a word.
    pub(super) fn int(&mut self, what: &str) -> Result<i64, MeshError> {
        if self.binary {
            return Ok(binary::int(&self.bytes::<4>(what)?, self.big));
        }
        self.fill_word(what)?;
        let text = std::str::from_utf8(&self.word).ok();
        text.and_then(|t| t.parse().ok()).ok_or_else(|| self.wrong(what))
    }

    /// A natural number of 8 bytes, or a word.
    pub(super) fn size(&mut self, what: &str) -> Result<u64, MeshError> {
        if self.binary {
            let b = self.bytes::<8>(what)?;
            return Ok(if self.big { u64::from_be_bytes(b) } else { u64::from_le_bytes(b) });
        }
        self.fill_word(what)?;
        text::natural(&self.word).ok_or_else(|| self.wrong(what))
    }

    /// A real number of 8 bytes, or a word.
    pub(super) fn real(&mut self, what: &str) -> Result<f64, MeshError> {
        if self.binary {
            return Ok(binary::real(&self.bytes::<8>(what)?, self.big));
        }
        self.fill_word(what)?;
        text::real(&self.word).ok_or_else(|| self.wrong(what))
    }

    /// Where the next number is: its byte in a binary file, its line in a text.
    pub(super) fn place(&mut self) -> Result<u64, MeshError> {
        if self.binary {
            return Ok(self.offset);
        }
        self.skip_blanks()?;
        Ok(self.line)
    }

    pub(super) fn error(&self, what: impl Into<String>) -> MeshError {
        let place = if self.binary { Place::Byte(self.offset) } else { Place::Line(self.line) };
        MeshError::Syntax { path: self.path.clone(), place, what: what.into() }
    }
}
