//! Arrays of VTK's XML files: text, base64, or raw bytes at the end of the file, plain or in blocks packed by zlib, LZ4 or LZMA.
//!
//! **Source**: VTK wiki, "VTK XML Formats"; Josefsson, RFC 4648 (2006), section 4 (base64); Collet, *LZ4 Block Format Description* (2019).

use super::xml::Tag;
use crate::parse::Fault;
use crate::parse::text::{Words, real, show};
use chromaflow::files::{Compression, decompress};
use std::io::{Cursor, Read};

/// How the arrays of a file are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coding<'a> {
    /// All of the file.
    pub bytes: &'a [u8],
    /// Bytes of a number stand with the highest first.
    pub big: bool,
    /// Sizes before data have 8 bytes; 4 otherwise.
    pub wide: bool,
    pub packing: Option<Packing>,
    /// Where appended data begin, and whether they are base64.
    pub appended: Option<(usize, bool)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Packing {
    Zlib,
    Lz4,
    Lzma,
}

/// An array that a file has.
#[derive(Debug)]
pub(super) struct Array {
    pub name: String,
    /// The byte of its tag.
    pub at: usize,
    number: Number,
    form: Form,
    /// What follows its tag.
    text: (usize, usize),
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    Base64,
    Appended(usize),
}

/// Types of numbers: bytes of one.
#[derive(Clone, Copy, Debug)]
enum Number {
    Signed(usize),
    Unsigned(usize),
    Real(usize),
}

impl Array {
    /// The array whose tag this is; `end` is where the next tag begins.
    pub(super) fn new(tag: &Tag, end: usize) -> Result<Self, Fault> {
        let name = tag.get("Name").unwrap_or_default();
        let fault = |what: String| tag.fault(format!("array {name:?}: {what}"));
        let number = match tag.required("type")?.as_str() {
            "Int8" => Number::Signed(1),
            "Int16" => Number::Signed(2),
            "Int32" => Number::Signed(4),
            "Int64" => Number::Signed(8),
            "UInt8" => Number::Unsigned(1),
            "UInt16" => Number::Unsigned(2),
            "UInt32" => Number::Unsigned(4),
            "UInt64" => Number::Unsigned(8),
            "Float32" => Number::Real(4),
            "Float64" => Number::Real(8),
            other => {
                return Err(fault(format!(
                    "type {other:?}: expected Int8 to Int64, UInt8 to UInt64, Float32 or Float64"
                )));
            }
        };
        let form = match tag.get("format").as_deref() {
            None | Some("ascii") => Form::Text,
            Some("binary") => Form::Base64,
            Some("appended") => Form::Appended(tag.natural("offset")?),
            Some(other) => {
                return Err(fault(format!("format {other:?}: expected ascii, binary or appended")));
            }
        };
        Ok(Self { name, at: tag.at, number, form, text: (tag.end, end.max(tag.end)) })
    }

    /// Whether its type is one of whole numbers.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(self.number, Number::Real(_))
    }

    /// A number of text.
    fn word(&self, word: &[u8]) -> Result<f64, Fault> {
        real(word).ok_or_else(|| self.fault(format!("expected a number, found {:?}", show(word))))
    }

    pub(super) fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.at, format!("array {:?}: {}", self.name, what.into()))
    }
}

impl Coding<'_> {
    /// The numbers of an array as whole numbers.
    pub(super) fn ints(&self, array: &Array) -> Result<Vec<i64>, Fault> {
        let whole = |x: f64| {
            let fault = || array.fault(format!("expected whole numbers, found {x}"));
            (x.fract() == 0.0 && x.abs() < 9e15).then_some(x as i64).ok_or_else(fault)
        };
        if let Form::Text = array.form {
            let number = |word: &[u8]| match std::str::from_utf8(word).ok().and_then(|w| w.parse().ok()) {
                Some(n) => Ok(n),
                None => whole(array.word(word)?),
            };
            return Words(&self.bytes[array.text.0..array.text.1]).map(number).collect();
        }
        match array.number {
            Number::Real(_) => self.reals(array)?.into_iter().map(whole).collect(),
            Number::Signed(width) => {
                let shift = 64 - 8 * width as u32;
                Ok(self.words(array, width)?.into_iter().map(|n| (n << shift) as i64 >> shift).collect())
            }
            Number::Unsigned(width) => Ok(self.words(array, width)?.into_iter().map(|n| n as i64).collect()),
        }
    }

    /// The numbers of an array.
    pub(super) fn reals(&self, array: &Array) -> Result<Vec<f64>, Fault> {
        if let Form::Text = array.form {
            return Words(&self.bytes[array.text.0..array.text.1]).map(|w| array.word(w)).collect();
        }
        match array.number {
            Number::Real(4) => {
                Ok(self.words(array, 4)?.into_iter().map(|n| f64::from(f32::from_bits(n as u32))).collect())
            }
            Number::Real(width) => Ok(self.words(array, width)?.into_iter().map(f64::from_bits).collect()),
            _ => Ok(self.ints(array)?.into_iter().map(|n| n as f64).collect()),
        }
    }

    /// Groups of `width` bytes, each as a number without sign.
    fn words(&self, array: &Array, width: usize) -> Result<Vec<u64>, Fault> {
        let data = self.data(array).map_err(|what| array.fault(what))?;
        if !data.len().is_multiple_of(width) {
            return Err(array.fault(format!("{} bytes are no whole count of numbers of {width}", data.len())));
        }
        Ok(data.chunks_exact(width).map(|b| self.number(b)).collect())
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let add = |n, &b: &u8| n << 8 | u64::from(b);
        if self.big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    /// The bytes of an array, unpacked.
    fn data(&self, array: &Array) -> Result<Vec<u8>, String> {
        let mut source = match (array.form, self.appended) {
            (Form::Text | Form::Base64, _) => Source::base64(&self.bytes[array.text.0..array.text.1]),
            (Form::Appended(_), None) => {
                return Err("the file has no appended data: is it cut short?".to_owned());
            }
            (Form::Appended(offset), Some((start, base64))) => {
                let rest = start.checked_add(offset).and_then(|at| self.bytes.get(at..));
                let rest = rest.ok_or_else(|| {
                    format!("offset {offset} is beyond the end of the file: is it cut short?")
                })?;
                if base64 { Source::base64(rest) } else { Source::Raw(rest) }
            }
        };
        let size = |source: &mut Source| -> Result<usize, String> {
            let bytes = source.take(if self.wide { 8 } else { 4 })?;
            usize::try_from(self.number(&bytes)).map_err(|_| "a size beyond this machine's memory".to_owned())
        };
        let Some(packing) = self.packing else {
            let count = size(&mut source)?;
            return source.take(count);
        };
        let blocks = size(&mut source)?;
        if blocks == 0 {
            return Ok(Vec::new());
        }
        let (whole, last) = (size(&mut source)?, size(&mut source)?);
        if blocks > source.most() {
            return Err(format!("{blocks} blocks in the {} bytes that are left", source.most()));
        }
        let sizes: Vec<usize> = (0..blocks).map(|_| size(&mut source)).collect::<Result<_, _>>()?;
        let mut data = Vec::new();
        for (b, packed) in sizes.into_iter().enumerate() {
            let expected = if b + 1 == blocks && last > 0 { last } else { whole };
            let block = packing.unpack(source.take(packed)?, expected);
            let block = block.map_err(|why| format!("block {b} of {blocks} cannot be unpacked: {why}"))?;
            data.extend(block);
        }
        Ok(data)
    }
}

impl Packing {
    /// By the name that VTK has for it.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "vtkZLibDataCompressor" => Some(Self::Zlib),
            "vtkLZ4DataCompressor" => Some(Self::Lz4),
            "vtkLZMADataCompressor" => Some(Self::Lzma),
            _ => None,
        }
    }

    fn unpack(self, packed: Vec<u8>, expected: usize) -> Result<Vec<u8>, String> {
        let read = |input: &mut dyn Read| {
            let mut data = Vec::new();
            let limit = (expected as u64).saturating_add(1);
            input.take(limit).read_to_end(&mut data).map(|_| data).map_err(|e| e.to_string())
        };
        let data = match self {
            Self::Zlib => read(&mut flate2::read::ZlibDecoder::new(packed.as_slice()))?,
            Self::Lzma => read(&mut decompress(Cursor::new(packed), Compression::Xz))?,
            Self::Lz4 => lz4(&packed, expected)?,
        };
        if data.len() == expected {
            Ok(data)
        } else {
            Err(format!("it has not the {expected} bytes it should have"))
        }
    }
}

/// A block of LZ4 without a frame.
fn lz4(packed: &[u8], expected: usize) -> Result<Vec<u8>, String> {
    // No byte of a block stands for more than 255 others, which bounds what a damaged size may ask for.
    if expected / 256 > packed.len() {
        return Err(format!("{} bytes cannot hold {expected}", packed.len()));
    }
    lz4_flex::block::decompress(packed, expected).map_err(|e| e.to_string())
}

/// Bytes as they come: as they stand, or behind base64.
enum Source<'a> {
    Raw(&'a [u8]),
    Base64 { text: &'a [u8], spare: Vec<u8> },
}

impl<'a> Source<'a> {
    fn base64(text: &'a [u8]) -> Self {
        Self::Base64 { text, spare: Vec::new() }
    }

    /// No more bytes than these are left.
    fn most(&self) -> usize {
        match self {
            Self::Raw(rest) => rest.len(),
            Self::Base64 { text, spare } => text.len() + spare.len(),
        }
    }

    /// The next bytes.
    fn take(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let cut =
            |there: usize| format!("{count} bytes are expected, {there} are there: is the file cut short?");
        if count > self.most() {
            return Err(cut(self.most()));
        }
        match self {
            Self::Raw(rest) => {
                let (own, after) = rest.split_at(count);
                *rest = after;
                Ok(own.to_vec())
            }
            Self::Base64 { text, spare } => {
                let mut own = std::mem::take(spare);
                own.reserve(count.saturating_sub(own.len()) + 2);
                while own.len() < count {
                    if !quad(text, &mut own)? {
                        return Err(cut(own.len()));
                    }
                }
                *spare = own.split_off(count);
                Ok(own)
            }
        }
    }
}

/// Decodes the next four characters; `=` ends a part, and another may follow: sizes are written apart from data. False at the end.
fn quad(text: &mut &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
    let (mut bits, mut have, mut pads) = (0_u32, 0, 0);
    while have < 4 {
        let Some((&c, rest)) = text.split_first() else { break };
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                pads += 1;
                0
            }
            b' ' | b'\t' | b'\r' | b'\n' => {
                *text = rest;
                continue;
            }
            _ if have == 0 => break, // the end of the data: `<`, say
            _ => return Err(format!("{:?} among base64", char::from(c))),
        };
        *text = rest;
        bits = bits << 6 | u32::from(value);
        have += 1;
    }
    match (have, pads) {
        (0, _) => Ok(false),
        (4, 0..=2) => {
            out.extend(&bits.to_be_bytes()[1..4 - pads]);
            Ok(true)
        }
        _ => Err("base64 that ends within a group of four: is the file cut short?".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_goes_on_after_its_end() {
        // RFC 4648, section 10, two of its examples one after the other, broken by a line.
        let mut source = Source::base64(b"Zm9v\n  YmE=Zm8=<");
        assert_eq!(source.take(2).unwrap(), b"fo");
        assert_eq!(source.take(4).unwrap(), b"obaf");
        assert_eq!(source.take(1).unwrap(), b"o");
        assert!(source.take(1).unwrap_err().contains("1 bytes are expected, 0 are there"));
        assert!(Source::base64(b"Zm9").take(1).unwrap_err().contains("group of four"));
        assert!(Source::base64(b"Zm*v").take(1).unwrap_err().contains("'*'"));
    }

    #[test]
    fn blocks_of_impossible_sizes_are_refused() {
        for packing in [Packing::Zlib, Packing::Lz4, Packing::Lzma] {
            assert!(packing.unpack(vec![0; 3], usize::MAX).is_err(), "{packing:?}");
        }
    }
}
