//! Text files line by line and word by word, with numbers parsed from bytes.

use crate::{MeshError, Place};
use chromaflow::files::{self, FileError};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The longest line that is accepted: longer ones are no text.
const LONGEST: usize = 1 << 24;

/// What some editors write before the text of a file, to say that it is UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Lines of a text file, one at a time, without copies.
pub(crate) struct Lines {
    input: Box<dyn Read>,
    path: PathBuf,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    filled: usize,
    /// Lines that were passed over.
    before: u64,
    number: u64,
    at_end: bool,
    /// Whether the next line is the file's first, before which a [`MARK`] may stand.
    marked: bool,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, MeshError> {
        Ok(Self { marked: true, ..Self::of(files::open(path)?, path) })
    }

    /// An uncompressed file from a place on, behind so many lines.
    pub(crate) fn open_at(path: &Path, place: u64, lines: u64) -> Result<Self, MeshError> {
        let opened = File::open(path).and_then(|mut file| file.seek(SeekFrom::Start(place)).map(|_| file));
        let file = opened.map_err(|e| FileError::new("cannot open", path, e))?;
        Ok(Self { before: lines, ..Self::of(Box::new(file), path) })
    }

    fn of(input: Box<dyn Read>, path: &Path) -> Self {
        Self {
            input,
            path: path.to_owned(),
            buffer: vec![0; 1 << 18],
            start: 0,
            end: 0,
            filled: 0,
            before: 0,
            number: 0,
            at_end: false,
            marked: false,
        }
    }

    /// Moves on to the next line; false at the end of the file.
    pub(crate) fn advance(&mut self) -> Result<bool, MeshError> {
        let mut from = (self.end + usize::from(self.number > 0)).min(self.filled);
        let mut scanned = from;
        loop {
            if let Some(n) = self.buffer[scanned..self.filled].iter().position(|&b| b == b'\n') {
                (self.start, self.end) = (from, scanned + n);
                self.number += 1;
                self.skip_mark();
                return Ok(true);
            }
            if self.at_end {
                (self.start, self.end) = (from, self.filled);
                let some = from < self.filled;
                self.number += u64::from(some);
                self.skip_mark();
                return Ok(some);
            }
            self.buffer.copy_within(from..self.filled, 0);
            self.filled -= from;
            scanned = self.filled;
            from = 0;
            if self.filled == self.buffer.len() {
                if self.filled >= LONGEST {
                    return Err(self.error_at(self.number() + 1, "this line is endless: not a text file?"));
                }
                self.buffer.resize(2 * self.filled, 0);
            }
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => self.filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(FileError::new("cannot read", &self.path, e).into()),
            }
        }
    }

    fn skip_mark(&mut self) {
        if std::mem::take(&mut self.marked) && self.text().starts_with(MARK) {
            self.start += MARK.len();
        }
    }

    /// The line, without its end.
    pub(crate) fn text(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Number of the line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.before + self.number
    }

    /// An error at this line.
    pub(crate) fn error(&self, what: impl Into<String>) -> MeshError {
        self.error_at(self.number(), what)
    }

    fn error_at(&self, line: u64, what: impl Into<String>) -> MeshError {
        MeshError::Syntax { path: self.path.clone(), place: Place::Line(line), what: what.into() }
    }
}

/// Words of a line, split at white space and commas.
#[derive(Clone)]
pub(crate) struct Words<'a>(pub &'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        let from = self.0.iter().position(|b| !gap(*b))?;
        let rest = &self.0[from..];
        let to = rest.iter().position(|b| gap(*b)).unwrap_or(rest.len());
        self.0 = &rest[to..];
        Some(&rest[..to])
    }
}

impl<'a> Words<'a> {
    fn required(&mut self, name: &str) -> Result<&'a [u8], String> {
        self.next().ok_or_else(|| format!("{name} is missing: is the line, or the file, cut short?"))
    }

    /// The next word as a natural number; `name` is for the message.
    pub(crate) fn natural(&mut self, name: &str) -> Result<u64, String> {
        let word = self.required(name)?;
        natural(word).ok_or_else(|| format!("{name} must be a natural number, found {:?}", show(word)))
    }

    /// The next word as an index below 2^32 - 1.
    pub(crate) fn index(&mut self, name: &str) -> Result<u32, String> {
        let n = self.natural(name)?;
        u32::try_from(n).ok().filter(|&n| n < u32::MAX).ok_or_else(|| format!("{name} {n} is too large"))
    }

    /// The next word as a number.
    pub(crate) fn real(&mut self, name: &str) -> Result<f64, String> {
        let word = self.required(name)?;
        real(word).ok_or_else(|| format!("{name} must be a number, found {:?}", show(word)))
    }

    /// The next word as a whole number.
    pub(crate) fn whole(&mut self, name: &str) -> Result<i64, String> {
        let word = self.required(name)?;
        let text = std::str::from_utf8(word).ok();
        text.and_then(|t| t.parse().ok())
            .ok_or_else(|| format!("{name} must be a whole number, found {:?}", show(word)))
    }
}

fn gap(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b',')
}

/// Bytes as text for a message, cut where they are many.
pub(crate) fn show(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
    if bytes.len() > 60 { text + "..." } else { text }
}

/// A natural number, if the bytes are one.
pub(crate) fn natural(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 19 {
        return None;
    }
    word.iter().try_fold(0u64, |n, &b| b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0')))
}

/// A number, if the bytes are one; Fortran's `1.0D+00` too.
pub(crate) fn real(word: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(word).ok()?;
    if let Ok(x) = text.parse() {
        return Some(x);
    }
    text.replace(['d', 'D'], "e").parse().ok()
}

/// Without white space at both ends.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}
