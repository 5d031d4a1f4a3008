//! AFLR3's UGRID format.
//!
//! Seven counts (nodes, triangles, quadrilaterals, tetrahedra, pyramids, prisms, hexahedra), coordinates, triangles,
//! quadrilaterals, their patches, then the elements; nodes count from 1. The third node of a pyramid is its apex. Text
//! (`.ugrid`), C streams (`.b8 .b4` big endian, `.lb8 .lb4 .l8 .l4` little endian, the digit the bytes of a real) or with
//! Fortran's record marks (`.r8 .r4 .lr8 .lr4`); a trailing `l`, or `.ugrid64`, means integers of 8 bytes. What follows the
//! hexahedra is optional and not read. **Source**: UG_IO documentation, "3D grid file type UGRID".

use super::patches::{NumberedFace, gather};
use super::slices::{Counts, Slice, SliceFace, range_of};
use crate::parse::binary::{Bytes, int, node, real};
use crate::parse::text::{Lines, Words};
use crate::raw::Raw;
use crate::{Kind, MeshError, ReadOptions};
use chromaflow::files::FileError;
use std::path::Path;

/// How the numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Big endian.
    pub big: bool,
    /// Bytes of a real number: 4 or 8.
    pub real: u8,
    /// Bytes of an integer: 4 or 8.
    pub int: u8,
    /// Fortran's record marks before and after each record.
    pub records: bool,
}

impl Layout {
    /// From a name's part such as `lb8`.
    pub(crate) fn of(part: &str, wide: bool) -> Option<Self> {
        let (part, long) = match part.strip_suffix('l') {
            Some(rest) if !rest.is_empty() => (rest, true),
            _ => (part, false),
        };
        let (kind, digit) = part.split_at_checked(part.len().checked_sub(1)?)?;
        let real = match digit {
            "4" => 4,
            "8" => 8,
            _ => return None,
        };
        let (big, records) = match kind {
            "b" => (true, false),
            "lb" | "l" => (false, false),
            "r" => (true, true),
            "lr" => (false, true),
            _ => return None,
        };
        Some(Self { big, real, int: if long || wide { 8 } else { 4 }, records })
    }
}

const KINDS: [Kind; 4] = [Kind::Tetrahedron, Kind::Pyramid, Kind::Prism, Kind::Hexahedron];

/// The pyramid of a file in our order and back: the apex is the file's third node.
const PYRAMID: [usize; 5] = [0, 3, 4, 1, 2];

/// Takes one thing after another, whatever the file's form.
struct Collector {
    raw: Raw,
    faces: Vec<NumberedFace>,
}

impl Collector {
    fn new(bytes: bool) -> Self {
        let mut raw = Raw::default();
        raw.places.bytes = bytes;
        Self { raw, faces: Vec::new() }
    }

    fn node(&mut self, x: [f64; 3], place: u64) {
        self.raw.mesh.nodes.push(x);
        self.raw.places.nodes.push(place);
    }

    fn face(&mut self, nodes: &[u32], place: u64) {
        let last = nodes.get(3).copied().unwrap_or(u32::MAX);
        self.faces.push(([nodes[0], nodes[1], nodes[2], last], 0, place));
    }

    fn element(&mut self, kind: Kind, nodes: &[u32], place: u64) {
        if kind == Kind::Pyramid {
            self.raw.push(kind, &PYRAMID.map(|i| nodes[i]), place);
        } else {
            self.raw.push(kind, nodes, place);
        }
    }
}

/// Reads a text file.
pub(super) fn read_text(path: &Path, options: &ReadOptions) -> Result<Raw, MeshError> {
    let mut tokens = Tokens { lines: Lines::open(path)?, at: 0 };
    let mut count = [0; 7];
    for slot in &mut count {
        *slot = tokens.take("a count", |w| w.natural("a count"))?;
    }
    let mut all = Collector::new(false);
    for _ in 0..count[0] {
        let mut x = [0.0; 3];
        for c in &mut x {
            *c = tokens.take("the coordinates", |w| w.real("a coordinate"))?;
        }
        let line = tokens.lines.number();
        all.node(x, line);
    }
    let mut list = [0; 8];
    for (n, corners) in [(count[1], 3), (count[2], 4)] {
        for _ in 0..n {
            tokens.nodes(&mut list[..corners], "the boundary faces")?;
            let line = tokens.lines.number();
            all.face(&list[..corners], line);
        }
    }
    for f in &mut all.faces {
        f.1 = tokens.take("the patches of the boundary faces", |w| w.whole("a patch"))?;
    }
    for (kind, n) in KINDS.into_iter().zip(&count[3..]) {
        for _ in 0..*n {
            tokens.nodes(&mut list[..kind.nodes()], "the elements")?;
            let line = tokens.lines.number();
            all.element(kind, &list[..kind.nodes()], line);
        }
    }
    gather(&mut all.raw, &all.faces, path, options)?;
    Ok(all.raw)
}

/// Words of a file whose line breaks mean nothing.
struct Tokens {
    lines: Lines,
    at: usize,
}

impl Tokens {
    fn take<T>(
        &mut self,
        what: &str,
        parse: impl Fn(&mut Words) -> Result<T, String>,
    ) -> Result<T, MeshError> {
        loop {
            let text = self.lines.text();
            let rest = &text[self.at.min(text.len())..];
            let mut words = Words(rest);
            if words.clone().next().is_some() {
                let value = parse(&mut words).map_err(|w| self.lines.error(w))?;
                self.at = text.len() - words.0.len();
                return Ok(value);
            }
            if !self.lines.advance()? {
                return Err(self.lines.error(format!("the file ends inside {what}: it is cut short")));
            }
            self.at = 0;
        }
    }

    fn nodes(&mut self, list: &mut [u32], what: &str) -> Result<(), MeshError> {
        for slot in list {
            *slot = self.take(what, |w| w.natural("a node").and_then(|n| node(n.min(1 << 40) as i64)))?;
        }
        Ok(())
    }
}

/// Where everything stands in a binary file.
#[derive(Clone, Debug)]
pub(super) struct Sections {
    layout: Layout,
    pub(super) counts: Counts,
    /// Where the coordinates begin.
    head: u64,
}

/// What a section is called where a file ends inside it.
const SECTIONS: [&str; 4] =
    ["the coordinates", "the boundary faces", "the patches of the boundary faces", "the elements"];

impl Sections {
    /// Reads the counts, at the beginning of a file.
    fn read(bytes: &mut Bytes, layout: Layout) -> Result<Self, MeshError> {
        let mark =
            |bytes: &mut Bytes| if layout.records { bytes.int(4, "a record mark").map(drop) } else { Ok(()) };
        mark(bytes)?;
        let mut count = [0; 7];
        for slot in &mut count {
            let n = bytes.int(layout.int.into(), "the counts")?;
            *slot = usize::try_from(n).ok().filter(|&n| n < u32::MAX as usize).ok_or_else(|| {
                bytes.error(format!(
                    "a count of {n}: is the byte order or the size of integers what the name tells?"
                ))
            })?;
        }
        mark(bytes)?;
        mark(bytes)?;
        let [nodes, triangles, quads, elements @ ..] = count;
        Ok(Self { layout, counts: Counts { nodes, faces: [triangles, quads], elements }, head: bytes.offset })
    }

    /// Of a file that is as long as it must be.
    pub(super) fn open(path: &Path, layout: Layout) -> Result<Self, MeshError> {
        let mut bytes = Bytes::open(path, layout.big)?;
        let sections = Self::read(&mut bytes, layout)?;
        let length = std::fs::metadata(path).map_err(|e| FileError::new("cannot read", path, e))?.len();
        let ends = [
            sections.face(0),
            sections.patch(0),
            sections.element(Kind::Tetrahedron, 0),
            sections.element(Kind::Hexahedron, sections.counts.elements[3]),
        ];
        match ends.iter().zip(SECTIONS).find(|(end, _)| length < **end) {
            Some((_, what)) => {
                Err(bytes.error_at(length, format!("the file ends inside {what}: it is cut short")))
            }
            None => Ok(sections),
        }
    }

    /// Where a node stands.
    pub(super) fn node(&self, number: usize) -> u64 {
        self.head + 3 * u64::from(self.layout.real) * number as u64
    }

    /// Where a boundary face stands, triangles first.
    pub(super) fn face(&self, number: usize) -> u64 {
        let quads = number.saturating_sub(self.counts.faces[0]);
        self.node(self.counts.nodes) + self.ints(3 * (number - quads) + 4 * quads)
    }

    fn patch(&self, face: usize) -> u64 {
        self.face(self.counts.faces.iter().sum()) + self.ints(face)
    }

    /// Where an element stands, by its number within its type.
    pub(super) fn element(&self, kind: Kind, number: usize) -> u64 {
        let before = KINDS.into_iter().zip(self.counts.elements).take_while(|(other, _)| *other != kind);
        let before: usize = before.map(|(other, count)| other.nodes() * count).sum();
        self.patch(self.counts.faces.iter().sum()) + self.ints(before + kind.nodes() * number)
    }

    fn ints(&self, count: usize) -> u64 {
        u64::from(self.layout.int) * count as u64
    }

    /// Reads one reader's ranges.
    pub(super) fn slice(&self, path: &Path, part: usize, parts: usize) -> Result<Slice, MeshError> {
        let Counts { nodes, faces, elements } = self.counts;
        let of_nodes = range_of(nodes, parts, part);
        let mut slice = Slice { first_node: of_nodes.start, ..Slice::default() };
        let mut bytes = Bytes::open_at(path, self.layout.big, self.node(of_nodes.start))?;
        self.coordinates(&mut bytes, of_nodes.len(), |x, _| slice.nodes.push(x))?;
        for (shape, corners) in [3, 4].into_iter().enumerate() {
            let range = range_of(faces[shape], parts, part);
            let first = range.start + shape * faces[0];
            let (from, mut number) = (slice.faces.len(), first as u32);
            bytes = Bytes::open_at(path, self.layout.big, self.face(first))?;
            self.lists(&mut bytes, range.len(), corners, SECTIONS[1], |nodes, _| {
                let last = nodes.get(3).copied().unwrap_or(u32::MAX);
                let nodes = [nodes[0], nodes[1], nodes[2], last];
                slice.faces.push(SliceFace { nodes, patch: 0, number });
                number += 1;
            })?;
            let mut own = slice.faces[from..].iter_mut();
            bytes = Bytes::open_at(path, self.layout.big, self.patch(first))?;
            self.patches(&mut bytes, range.len(), |patch| {
                own.next().expect("as many as faces").patch = patch;
            })?;
        }
        for (k, kind) in KINDS.into_iter().enumerate() {
            let range = range_of(elements[k], parts, part);
            slice.first[k] = range.start;
            bytes = Bytes::open_at(path, self.layout.big, self.element(kind, range.start))?;
            self.lists(&mut bytes, range.len(), kind.nodes(), SECTIONS[3], |nodes, _| {
                if kind == Kind::Pyramid {
                    slice.elements[k].extend(PYRAMID.map(|i| nodes[i]));
                } else {
                    slice.elements[k].extend(nodes);
                }
            })?;
        }
        Ok(slice)
    }

    fn coordinates(
        &self,
        bytes: &mut Bytes,
        count: usize,
        mut take: impl FnMut([f64; 3], u64),
    ) -> Result<(), MeshError> {
        let (rb, big) = (usize::from(self.layout.real), self.layout.big);
        bytes.records(count as u64, 3 * rb, SECTIONS[0], |place, b| {
            take(std::array::from_fn(|i| real(&b[i * rb..(i + 1) * rb], big)), place);
            Ok(())
        })
    }

    /// Nodes of faces or elements.
    fn lists(
        &self,
        bytes: &mut Bytes,
        count: usize,
        corners: usize,
        what: &str,
        mut take: impl FnMut(&[u32], u64),
    ) -> Result<(), MeshError> {
        let (ib, big, mut list) = (usize::from(self.layout.int), self.layout.big, [0; 8]);
        bytes.records(count as u64, corners * ib, what, |place, b| {
            for (slot, b) in list.iter_mut().zip(b.chunks_exact(ib)) {
                *slot = node(int(b, big))?;
            }
            take(&list[..corners], place);
            Ok(())
        })
    }

    fn patches(&self, bytes: &mut Bytes, count: usize, mut take: impl FnMut(i64)) -> Result<(), MeshError> {
        let big = self.layout.big;
        bytes.records(count as u64, self.layout.int.into(), SECTIONS[2], |_, b| {
            take(int(b, big));
            Ok(())
        })
    }
}

/// Reads a binary file.
pub(super) fn read_binary(path: &Path, layout: Layout, options: &ReadOptions) -> Result<Raw, MeshError> {
    let mut bytes = Bytes::open(path, layout.big)?;
    let sections = Sections::read(&mut bytes, layout)?;
    let Counts { nodes, faces: [triangles, quads], elements } = sections.counts;
    let mut all = Collector::new(true);
    sections.coordinates(&mut bytes, nodes, |x, place| all.node(x, place))?;
    for (n, corners) in [(triangles, 3), (quads, 4)] {
        sections.lists(&mut bytes, n, corners, SECTIONS[1], |nodes, place| all.face(nodes, place))?;
    }
    let mut faces = all.faces.iter_mut();
    sections
        .patches(&mut bytes, triangles + quads, |patch| faces.next().expect("as many as faces").1 = patch)?;
    for (kind, n) in KINDS.into_iter().zip(elements) {
        sections.lists(&mut bytes, n, kind.nodes(), SECTIONS[3], |nodes, place| {
            all.element(kind, nodes, place);
        })?;
    }
    gather(&mut all.raw, &all.faces, path, options)?;
    Ok(all.raw)
}
