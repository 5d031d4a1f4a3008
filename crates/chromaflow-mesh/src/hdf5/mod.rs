//! HDF5 files of groups, attributes and contiguous arrays, written: what CGNS and VTKHDF files are made of.
//!
//! The arrays come first and are streamed, the headers that point to them last, so that no file is held in memory. Groups keep
//! the order of their members (the CGNS library lists zones and sections in it).
//!
//! **Source**: The HDF Group, *HDF5 File Format Specification*, version 3.0: superblock 2, object headers 2, compact links.

mod checksum;
#[cfg(test)]
mod tests;

use checksum::lookup3;
use std::io::{self, Write};

/// A group.
#[derive(Default)]
pub(crate) struct Group<'a> {
    pub attributes: Vec<(&'static str, Attribute)>,
    pub members: Vec<(String, Member<'a>)>,
}

/// What a group has.
pub(crate) enum Member<'a> {
    Group(Group<'a>),
    Array(Array<'a>),
}

/// A small value beside a group.
pub(crate) enum Attribute {
    /// Text in a field of so many bytes, zeros behind it.
    Text(String, usize),
    /// Whole numbers of 32 bits.
    Ints(Vec<i32>),
    /// Whole numbers of 64 bits.
    Longs(Vec<i64>),
}

/// Type of the numbers of an array, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// Signed bytes: text.
    I8,
    U8,
    I32,
    I64,
    F32,
    F64,
}

/// Writes the bytes of an array.
pub(crate) type Stream<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

/// An array: the slowest index first.
pub(crate) struct Array<'a> {
    pub number: Number,
    pub dims: Vec<usize>,
    pub write: Stream<'a>,
}

impl Number {
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// A datatype message.
    fn message(self) -> Vec<u8> {
        let n = self.bytes();
        let bits = 8 * n as u16;
        // Class, then three bytes of flags: sign bit 3 of whole numbers, implied leading bit and place of the sign of reals.
        let (class, flags): (u8, [u8; 3]) = match self {
            Self::U8 => (0x10, [0, 0, 0]),
            Self::I8 | Self::I32 | Self::I64 => (0x10, [8, 0, 0]),
            Self::F32 | Self::F64 => (0x11, [0x20, bits as u8 - 1, 0]),
        };
        let mut out = vec![class];
        out.extend(flags);
        out.extend((n as u32).to_le_bytes());
        out.extend([0, 0]);
        out.extend(bits.to_le_bytes());
        // Exponent: place and size; mantissa: place and size; bias.
        match self {
            Self::F32 => out.extend([23, 8, 0, 23, 127, 0, 0, 0]),
            Self::F64 => out.extend([52, 11, 0, 52, 0xFF, 3, 0, 0]),
            _ => {}
        }
        out
    }
}

impl<'a> Group<'a> {
    /// Adds a group.
    pub fn group(&mut self, name: impl Into<String>, group: Self) {
        self.members.push((name.into(), Member::Group(group)));
    }

    /// Adds an array of so many numbers along each index, the slowest first.
    pub fn array(
        &mut self,
        name: impl Into<String>,
        number: Number,
        dims: &[usize],
        write: impl Fn(&mut dyn Write) -> io::Result<()> + 'a,
    ) {
        let array = Array { number, dims: dims.to_vec(), write: Box::new(write) };
        self.members.push((name.into(), Member::Array(array)));
    }
}

impl Array<'_> {
    fn bytes(&self) -> u64 {
        self.dims.iter().map(|&d| d as u64).product::<u64>() * self.number.bytes() as u64
    }
}

const NOWHERE: [u8; 8] = [0xFF; 8];
const SUPERBLOCK: u64 = 48;

/// Writes a file of this root.
pub(crate) fn write(out: &mut impl Write, root: &Group<'_>) -> io::Result<()> {
    let mut data = SUPERBLOCK;
    total(root, &mut data);
    let mut layout = Layout { data: SUPERBLOCK, first: data, headers: Vec::new(), arrays: Vec::new() };
    let at = layout.group(root)?;
    let mut head = b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00".to_vec();
    head.extend(0_u64.to_le_bytes());
    head.extend(NOWHERE);
    head.extend((data + layout.headers.len() as u64).to_le_bytes());
    head.extend(at.to_le_bytes());
    head.extend(lookup3(&head).to_le_bytes());
    out.write_all(&head)?;
    for array in &layout.arrays {
        let mut counted = Counted { out, bytes: 0 };
        (array.write)(&mut counted)?;
        let (found, expected) = (counted.bytes, array.bytes());
        if found != expected {
            return Err(io::Error::other(format!("an array of {expected} bytes gave {found}")));
        }
        out.write_all(&[0; 8][..padding(expected)])?;
    }
    out.write_all(&layout.headers)
}

fn padding(bytes: u64) -> usize {
    (bytes.next_multiple_of(8) - bytes) as usize
}

fn total(group: &Group<'_>, at: &mut u64) {
    for (_, member) in &group.members {
        match member {
            Member::Group(group) => total(group, at),
            Member::Array(array) => *at += array.bytes().next_multiple_of(8),
        }
    }
}

struct Counted<'a, W> {
    out: &'a mut W,
    bytes: u64,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Headers, members before the groups that name them, and the arrays in the order of their data.
struct Layout<'g, 'a> {
    /// Where the next array goes.
    data: u64,
    /// Where the first header goes.
    first: u64,
    headers: Vec<u8>,
    arrays: Vec<&'g Array<'a>>,
}

impl<'g, 'a> Layout<'g, 'a> {
    fn group(&mut self, group: &'g Group<'a>) -> io::Result<u64> {
        let mut links = Vec::new();
        for (order, (name, member)) in group.members.iter().enumerate() {
            let at = match member {
                Member::Group(group) => self.group(group)?,
                Member::Array(array) => self.array(array)?,
            };
            let short = u8::try_from(name.len()).map_err(|_| io::Error::other("a name of 256 bytes"))?;
            // Version 1; the order of making is known, the name's length has one byte.
            let mut link = vec![1, 4];
            link.extend((order as u64).to_le_bytes());
            link.push(short);
            link.extend(name.as_bytes());
            link.extend(at.to_le_bytes());
            links.push((0x06, link));
        }
        // Members in the order of their making, in the header itself however many there are.
        let mut info = vec![0, 3];
        info.extend((group.members.len() as u64).to_le_bytes());
        info.extend([NOWHERE; 3].concat());
        let mut messages = vec![(0x02, info), (0x0A, vec![0, 1, 0xFF, 0xFF, 0, 0])];
        messages.extend(group.attributes.iter().map(|(name, value)| (0x0C, attribute(name, value))));
        messages.extend(links);
        self.header(&messages)
    }

    fn array(&mut self, array: &'g Array<'a>) -> io::Result<u64> {
        let bytes = array.bytes();
        let mut layout = vec![3, 1];
        layout.extend(if bytes > 0 { self.data.to_le_bytes() } else { NOWHERE });
        layout.extend(bytes.to_le_bytes());
        // Space is given late, and nothing is filled in.
        let messages = [
            (0x01, shape(&array.dims)),
            (0x03, array.number.message()),
            (0x05, vec![3, 0x0A]),
            (0x08, layout),
        ];
        self.data += bytes.next_multiple_of(8);
        self.arrays.push(array);
        self.header(&messages)
    }

    fn header(&mut self, messages: &[(u8, Vec<u8>)]) -> io::Result<u64> {
        let start = self.headers.len();
        let size: usize = messages.iter().map(|m| 4 + m.1.len()).sum();
        let size = u32::try_from(size).map_err(|_| io::Error::other("a group of too many members"))?;
        self.headers.extend(b"OHDR\x02\x02");
        self.headers.extend(size.to_le_bytes());
        for (kind, body) in messages {
            let length = u16::try_from(body.len()).map_err(|_| io::Error::other("a message of 64 KiB"))?;
            self.headers.push(*kind);
            self.headers.extend(length.to_le_bytes());
            self.headers.push(0);
            self.headers.extend(body);
        }
        let sum = lookup3(&self.headers[start..]);
        self.headers.extend(sum.to_le_bytes());
        Ok(self.first + start as u64)
    }
}

/// A dataspace message; no dimensions are a single value.
fn shape(dims: &[usize]) -> Vec<u8> {
    let mut out = vec![2, dims.len() as u8, 0, u8::from(!dims.is_empty())];
    out.extend(dims.iter().flat_map(|&d| (d as u64).to_le_bytes()));
    out
}

fn attribute(name: &str, value: &Attribute) -> Vec<u8> {
    let (kind, space, data) = match value {
        Attribute::Text(text, size) => {
            let mut kind = vec![0x13, 0, 0, 0];
            kind.extend((*size as u32).to_le_bytes());
            let mut data = text.as_bytes()[..text.len().min(*size)].to_vec();
            data.resize(*size, 0);
            (kind, shape(&[]), data)
        }
        Attribute::Ints(values) => (
            Number::I32.message(),
            shape(&[values.len()]),
            values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        Attribute::Longs(values) => (
            Number::I64.message(),
            shape(&[values.len()]),
            values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
    };
    let mut out = vec![3, 0];
    for size in [name.len() + 1, kind.len(), space.len()] {
        out.extend((size as u16).to_le_bytes());
    }
    out.push(0);
    out.extend(name.as_bytes());
    out.push(0);
    out.extend(kind);
    out.extend(space);
    out.extend(data);
    out
}

/// Writes numbers one after another.
pub(crate) fn each<const N: usize>(
    out: &mut dyn Write,
    values: impl Iterator<Item = [u8; N]>,
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(1 << 16);
    for value in values {
        buffer.extend(value);
        if buffer.len() + N > 1 << 16 {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)
}
