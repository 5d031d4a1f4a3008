//! AFLR3's UGRID format.
//!
//! Seven counts (nodes, triangles, quadrilaterals, tetrahedra, pyramids, prisms, hexahedra), coordinates, triangles,
//! quadrilaterals, their patches, then the elements; nodes count from 1. The third node of a pyramid is its apex. Text
//! (`.ugrid`), C streams (`.b8 .b4` big endian, `.lb8 .lb4 .l8 .l4` little endian, the digit the bytes of a real) or with
//! Fortran's record marks (`.r8 .r4 .lr8 .lr4`); a trailing `l`, or `.ugrid64`, means integers of 8 bytes. What follows the
//! hexahedra is optional and not read. **Source**: UG_IO documentation, "3D grid file type UGRID".

use super::patches::{NumberedFace, gather};
use super::slices::{Counts, Records, Table, nodes_of, point};
use crate::par;
use crate::parse::binary::{Bytes, int, node};
use crate::parse::text::{Lines, Words};
use crate::raw::Raw;
use crate::{Kind, MeshError, ReadOptions};
use chromaflow::files::{self, FileError};
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

/// What a section is called where a file ends inside it.
const SECTIONS: [&str; 4] =
    ["the coordinates", "the boundary faces", "the patches of the boundary faces", "the elements"];

/// Reads the counts, at the beginning of a binary file.
fn counts(bytes: &mut Bytes, layout: Layout) -> Result<Counts, MeshError> {
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
    Ok(Counts { nodes, faces: [triangles, quads], elements })
}

/// Where everything stands in a binary file that is as long as it must be.
pub(super) fn records(path: &Path, layout: Layout) -> Result<Records, MeshError> {
    let mut bytes = Bytes::open(path, layout.big)?;
    let counts = counts(&mut bytes, layout)?;
    let length = std::fs::metadata(path).map_err(|e| FileError::new("cannot read", path, e))?.len();
    let (width, real, mut at) = (usize::from(layout.int), usize::from(layout.real), bytes.offset);
    let mut table = |what: &'static str, size: usize, count: usize| {
        let mut table = Table::new(what, size);
        table.add(at, count);
        at += (size * count) as u64;
        if length < at {
            return Err(bytes.error_at(length, format!("the file ends inside {what}: it is cut short")));
        }
        Ok(table)
    };
    let [coordinates, faces, patches, elements] = SECTIONS;
    let [triangles, quads] = counts.faces;
    let [tets, pyramids, prisms, hexes] = counts.elements;
    Ok(Records {
        path: path.to_owned(),
        big: layout.big,
        width,
        real,
        nodes: table(coordinates, 3 * real, counts.nodes)?,
        faces: [table(faces, 3 * width, triangles)?, table(faces, 4 * width, quads)?],
        edges: None,
        patches: Some([table(patches, width, triangles)?, table(patches, width, quads)?]),
        elements: [
            table(elements, 4 * width, tets)?,
            table(elements, 5 * width, pyramids)?,
            table(elements, 6 * width, prisms)?,
            table(elements, 8 * width, hexes)?,
        ],
        pyramid: PYRAMID,
    })
}

/// Reads a binary file: on all threads where it is not packed.
pub(super) fn read_binary(path: &Path, layout: Layout, options: &ReadOptions) -> Result<Raw, MeshError> {
    if !layout.records && files::without_compression(path) == path {
        // What is wrong with it a reader from its beginning to its end says.
        if let Ok((mut raw, faces)) = records(path, layout).and_then(|file| read_at_once(&file, options)) {
            gather(&mut raw, &faces, path, options)?;
            return Ok(raw);
        }
    }
    let mut bytes = Bytes::open(path, layout.big)?;
    let Counts { nodes, faces: [triangles, quads], elements } = counts(&mut bytes, layout)?;
    let (width, real, big) = (usize::from(layout.int), usize::from(layout.real), layout.big);
    let (mut all, mut list) = (Collector::new(true), [0; 8]);
    bytes.records(nodes as u64, 3 * real, SECTIONS[0], |place, record| {
        all.node(point(record, real, 3, big), place);
        Ok(())
    })?;
    for (n, corners) in [(triangles, 3), (quads, 4)] {
        bytes.records(n as u64, corners * width, SECTIONS[1], |place, record| {
            nodes_of(record, width, big, &mut list[..corners])?;
            all.face(&list[..corners], place);
            Ok(())
        })?;
    }
    let mut faces = all.faces.iter_mut();
    bytes.records((triangles + quads) as u64, width, SECTIONS[2], |_, record| {
        faces.next().expect("as many as faces").1 = int(record, big);
        Ok(())
    })?;
    for (kind, n) in KINDS.into_iter().zip(elements) {
        bytes.records(n as u64, kind.nodes() * width, SECTIONS[3], |place, record| {
            nodes_of(record, width, big, &mut list[..kind.nodes()])?;
            all.element(kind, &list[..kind.nodes()], place);
            Ok(())
        })?;
    }
    gather(&mut all.raw, &all.faces, path, options)?;
    Ok(all.raw)
}

/// Reads all records of a file, each thread a range of each table.
fn read_at_once(file: &Records, options: &ReadOptions) -> Result<(Raw, Vec<NumberedFace>), MeshError> {
    let (threads, mut raw, mut list) = (par::threads(options.threads), Raw::default(), Vec::new());
    raw.places.bytes = true;
    raw.places.nodes = file.nodes.places();
    let mesh = &mut raw.mesh;
    mesh.nodes = filled(threads, &file.nodes, file, |record, x| {
        *x = point(record, file.real, 3, file.big);
        Ok(())
    })?;
    let nodes = |record: &[u8], into: &mut [u32]| nodes_of(record, file.width, file.big, into);
    mesh.tets = filled(threads, &file.elements[0], file, |record, e: &mut [u32; 4]| nodes(record, e))?;
    mesh.pyramids = filled(threads, &file.elements[1], file, |record, e: &mut [u32; 5]| {
        nodes(record, e)?;
        *e = file.pyramid.map(|i| e[i]);
        Ok(())
    })?;
    mesh.prisms = filled(threads, &file.elements[2], file, |record, e: &mut [u32; 6]| nodes(record, e))?;
    mesh.hexes = filled(threads, &file.elements[3], file, |record, e: &mut [u32; 8]| nodes(record, e))?;
    raw.places.elements = file.elements.each_ref().map(Table::places);
    let patches = file.patches.as_ref();
    for (k, table) in file.faces.iter().enumerate() {
        let faces = filled(threads, table, file, |record, face: &mut [u32; 4]| {
            face[3] = u32::MAX;
            nodes(record, &mut face[..3 + k])
        })?;
        let Some(patches) = patches else { continue };
        let of = filled(threads, &patches[k], file, |record, patch: &mut i64| {
            *patch = int(record, file.big);
            Ok(())
        })?;
        list.extend(faces.into_iter().zip(of).zip(0..).map(|((face, of), i)| (face, of, table.place(i))));
    }
    Ok((raw, list))
}

/// What `take` makes of each record of a table.
fn filled<T: Copy + Default + Send>(
    threads: usize,
    table: &Table,
    file: &Records,
    take: impl Fn(&[u8], &mut T) -> Result<(), String> + Sync,
) -> Result<Vec<T>, MeshError> {
    let mut all = vec![T::default(); table.count()];
    let parts = par::parts(threads, all.len());
    let ends: Vec<usize> = (0..parts).map(|part| par::split(all.len(), parts, part).end).collect();
    let done = par::each_piece(&mut all, &ends, |_, first, own| {
        let range = first..first + own.len();
        let mut slots = own.iter_mut();
        table.each(file, range, |record| slots.next().map_or(Ok(()), |slot| take(record, slot)))
    });
    done.into_iter().collect::<Result<(), _>>()?;
    Ok(all)
}
