//! SU2's text by slices. Text has no index: each reader looks through its range of bytes once, for keys and for how many lines of what
//! stand between them ([`survey`]); from what all have seen everyone knows where things are ([`Sections::of`]).
//!
//! A file in which anything is out of place is read once more from its beginning, line by line and without being kept: its error is that of the
//! whole reader.

use super::{Counts, Slice, SliceFace, Source, range_of};
use crate::io::su2::{content, count, error_of, key, list, point, volume};
use crate::parse::text::{Lines, Words, natural};
use crate::{Kind, MeshError, Place};
use chromaflow::files::FileError;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes after which lines are counted anew: what is read in vain where a slice begins. Few in tests, whose files are small.
const CHUNK: u64 = if cfg!(test) { 1 << 9 } else { 1 << 20 };

/// Sorts of lines by their first word: elements in the order of [`Kind::ALL`], triangles, quadrilaterals, lines, others.
const SORTS: usize = 8;

/// Lines of a file that stand together: a key and what follows, or what follows on the lines before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Run {
    /// Where they begin.
    at: u64,
    /// How many, of all kinds.
    lines: u64,
    /// Lines of data of each sort.
    data: [u64; SORTS],
    /// The line of the key.
    key: Vec<u8>,
}

fn sort_of(text: &[u8]) -> usize {
    let number = Words(text).next().and_then(natural).unwrap_or(0);
    match (number, volume(number)) {
        (_, Some(kind)) => kind as usize,
        (5, _) => 4,
        (9, _) => 5,
        (3, _) => 6,
        _ => 7,
    }
}

/// The type of element that has a number of VTK's: those of a plane are prisms and hexahedra of one layer.
fn element(number: u64) -> Option<Kind> {
    match number {
        5 => Some(Kind::Prism),
        9 => Some(Kind::Hexahedron),
        other => volume(other),
    }
}

/// How many elements of each type lines of all sorts are: in space, or of one layer.
fn kinds(sorts: &[usize; SORTS]) -> [usize; 4] {
    let [tets, pyramids, prisms, hexes, triangles, quads, ..] = *sorts;
    [tets, pyramids, prisms + triangles, hexes + quads]
}

/// What stands in the lines that begin in one reader's range of a file.
pub(crate) fn survey(path: &Path, part: usize, parts: usize) -> Result<Vec<Run>, MeshError> {
    let length = std::fs::metadata(path).map_err(|e| FileError::new("cannot open", path, e))?.len();
    let Range { start, end } = range_of(length as usize, parts, part);
    let (mut at, end) = (start as u64, end as u64);
    let mut lines = Lines::open_at(path, at.saturating_sub(1), 0)?;
    let mut runs: Vec<Run> = Vec::new();
    if at > 0 && lines.advance()? {
        // The end of a line that begins before, at least of one that ends just there.
        at += lines.text().len() as u64;
    }
    let mut mark = 0;
    while at < end && lines.advance()? {
        let text = content(&lines);
        let is_key = text.contains(&b'=');
        if is_key || at >= mark {
            runs.push(Run { at, key: if is_key { text.to_vec() } else { Vec::new() }, ..Run::default() });
            mark = at + CHUNK;
        }
        let run = runs.last_mut().expect("one was begun with the first line");
        run.lines += 1;
        if !is_key && !text.is_empty() {
            run.data[sort_of(text)] += 1;
        }
        at += lines.text().len() as u64 + 1;
    }
    Ok(runs)
}

/// Runs as bytes.
pub(crate) fn pack(runs: &[Run]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for run in runs {
        for number in [run.at, run.lines].into_iter().chain(run.data).chain([run.key.len() as u64]) {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(&run.key);
    }
    bytes
}

/// And back.
fn unpack(mut bytes: &[u8]) -> Vec<Run> {
    let mut runs = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<{ 8 * (SORTS + 3) }>() {
        let number = |k: usize| u64::from_le_bytes(std::array::from_fn(|i| head[8 * k + i]));
        let (key, rest) = rest.split_at(rest.len().min(number(SORTS + 2) as usize));
        let data = std::array::from_fn(|k| number(k + 2));
        runs.push(Run { at: number(0), lines: number(1), data, key: key.to_vec() });
        bytes = rest;
    }
    runs
}

/// Lines of data of one block that stand together.
#[derive(Clone, Debug)]
struct Piece {
    /// Where they begin, behind so many lines.
    at: u64,
    line: u64,
    /// Lines of data before it in its section, and in it.
    first: usize,
    count: usize,
    /// The same of each type of element.
    of_kind: [usize; 4],
    /// Number of the marker.
    marker: usize,
}

/// Pieces one after another, with what they have in all.
#[derive(Clone, Debug, Default)]
struct Section {
    pieces: Vec<Piece>,
    count: usize,
    of_sort: [usize; SORTS],
}

impl Section {
    fn add(&mut self, run: &Run, line: u64, marker: usize) {
        let count = run.data.iter().sum::<u64>() as usize;
        let of_kind = kinds(&self.of_sort);
        self.pieces.push(Piece { at: run.at, line, first: self.count, count, of_kind, marker });
        self.count += count;
        self.of_sort.iter_mut().zip(run.data).for_each(|(sum, n)| *sum += n as usize);
    }

    /// Calls `take` with the piece, the words and the number of each line of a range.
    fn each(
        &self,
        path: &Path,
        range: Range<usize>,
        mut take: impl FnMut(&Piece, &mut Words, u64) -> Result<(), String>,
    ) -> Result<(), MeshError> {
        let from = self.pieces.partition_point(|piece| piece.first + piece.count <= range.start);
        for piece in self.pieces[from..].iter().take_while(|piece| piece.first < range.end) {
            let mut lines = Lines::open_at(path, piece.at, piece.line)?;
            let mut number = piece.first;
            while number < range.end.min(piece.first + piece.count) && lines.advance()? {
                let text = content(&lines);
                if text.is_empty() || text.contains(&b'=') {
                    continue;
                }
                if number >= range.start {
                    take(piece, &mut Words(text), lines.number()).map_err(|what| lines.error(what))?;
                }
                number += 1;
            }
        }
        Ok(())
    }
}

/// What a line of data says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Thing<'a> {
    Node([f64; 3]),
    Element(Kind, &'a [u32]),
    /// Of a marker.
    Face(usize, &'a [u32]),
}

/// Where everything stands in a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sections {
    path: PathBuf,
    /// Names of the markers.
    markers: Vec<String>,
    nodes: Section,
    elements: Section,
    faces: Section,
    /// Whether a marker is left out.
    pub(crate) left_out: bool,
    /// Whether it is a mesh in the plane.
    planar: bool,
}

/// Whose lines follow.
#[derive(Clone, Copy, PartialEq)]
enum Block {
    /// Nobody's: the next line has a key.
    None,
    /// Those of a key that is not used.
    Unused,
    Nodes,
    Elements,
    /// Of a marker.
    Faces(usize),
    /// Of a marker that is left out.
    LeftOut,
}

impl Sections {
    /// From what the readers of all ranges have seen.
    ///
    /// # Errors
    /// [`MeshError`] of the whole reader; [`MeshError::Unsupported`] for two markers of one name.
    pub(crate) fn of(path: &Path, surveys: &[Vec<u8>]) -> Result<Self, MeshError> {
        let runs: Vec<Run> = surveys.iter().flat_map(|bytes| unpack(bytes)).collect();
        match Self::laid_out(path, &runs) {
            Some((sections, _)) if sections.repeats() => {
                Err(super::whole(path, "a mesh with two markers of one name cannot"))
            }
            Some((sections, _)) => Ok(sections),
            None => Err(error_of(path)),
        }
    }

    /// The same with the dimension; none where anything is not as it must be.
    pub(crate) fn laid_out(path: &Path, runs: &[Run]) -> Option<(Self, u64)> {
        let mut all = Self { path: path.to_owned(), ..Self::default() };
        let [mut dimension, mut elements, mut nodes, mut markers] = [None; 4];
        let (mut tag, mut tags) = (None, 0);
        // Lines of data that the block still waits for, and lines before.
        let (mut block, mut left, mut line) = (Block::None, 0, 0);
        // A number that stands in the file once.
        let once = |slot: &mut Option<u64>, value: Option<u64>| match (std::mem::replace(slot, value), value)
        {
            (None, value) => value,
            (Some(_), _) => None,
        };
        for run in runs {
            if let Some((key, value)) = key(&run.key) {
                let goes_on = left > 0 && run.key.starts_with(b"SEND_TO");
                if left > 0 && !goes_on {
                    return None;
                }
                let n = count(&value);
                if !goes_on {
                    block = Block::None;
                }
                match key.as_str() {
                    _ if goes_on => {}
                    "NDIME" => dimension = Some(once(&mut dimension, n)?),
                    "NZONE" => n.is_some_and(|n| n == 1).then_some(())?,
                    "NELEM" => (block, left) = (Block::Elements, once(&mut elements, n)?),
                    "NPOIN" => (block, left) = (Block::Nodes, once(&mut nodes, n)?),
                    "NMARK" => markers = Some(once(&mut markers, n)?),
                    "MARKER_TAG" => {
                        tags += 1;
                        tag = Some(Some(value).filter(|value| tag.is_none() && !value.is_empty())?);
                    }
                    "MARKER_ELEMS" => {
                        (block, left) = (Block::Faces(all.markers.len()), n?);
                        match tag.take()? {
                            name if name == "SEND_RECEIVE" => (block, all.left_out) = (Block::LeftOut, true),
                            name => all.markers.push(name),
                        }
                    }
                    _ => block = Block::Unused,
                }
            }
            let data = run.data.iter().sum::<u64>();
            match block {
                Block::Nodes => all.nodes.add(run, line, 0),
                Block::Elements => all.elements.add(run, line, 0),
                Block::Faces(marker) => all.faces.add(run, line, marker),
                Block::None if data > 0 => return None,
                Block::LeftOut | Block::Unused | Block::None => {}
            }
            if block != Block::Unused {
                left = left.checked_sub(data)?;
            }
            line += run.lines;
        }
        let dimension = dimension?;
        all.planar = dimension == 2;
        // Volumes, areas, lines, and what is none of them.
        let sorts = |section: &Section| {
            let sum = |sorts: Range<usize>| section.of_sort[sorts].iter().sum::<usize>();
            [sum(0..4), sum(4..6), sum(6..7), sum(7..8)]
        };
        let found = (dimension, sorts(&all.elements), sorts(&all.faces));
        let known = matches!(found, (2, [0, _, 0, 0], [0, 0, _, 0]) | (3, [_, 0, 0, 0], [0, _, 0, 0]));
        let whole = left == 0 && tag.is_none() && elements.is_some() && nodes.is_some();
        let tagged = markers.is_none_or(|n| n == tags);
        (whole && tagged && known).then_some((all, dimension))
    }

    /// Calls `take` with everything in one reader's ranges and its line: nodes, elements and faces each in the order of the file.
    ///
    /// # Errors
    /// The first that is found.
    pub(crate) fn each(
        &self,
        part: usize,
        parts: usize,
        mut take: impl FnMut(Thing<'_>, u64),
    ) -> Result<(), MeshError> {
        let own = |section: &Section| range_of(section.count, parts, part);
        let mut nodes = [0; 8];
        let above = |node: u32| node.saturating_add(self.nodes.count as u32);
        self.nodes.each(&self.path, own(&self.nodes), |_, words, line| {
            take(Thing::Node(point(words, self.planar)?), line);
            Ok(())
        })?;
        self.elements.each(&self.path, own(&self.elements), |_, words, line| {
            let kind = element(words.natural("the element's type")?).ok_or("no element")?;
            let corners = kind.nodes();
            if self.planar {
                let (front, back) = nodes[..corners].split_at_mut(corners / 2);
                list(words, front)?;
                back.iter_mut().zip(front).for_each(|(back, front)| *back = above(*front));
            } else {
                list(words, &mut nodes[..corners])?;
            }
            take(Thing::Element(kind, &nodes[..corners]), line);
            Ok(())
        })?;
        self.faces.each(&self.path, own(&self.faces), |piece, words, line| {
            let number = words.natural("the face's type")?;
            let corners = if number == 5 { 3 } else { 4 };
            if number == 3 {
                list(words, &mut nodes[..2])?;
                [nodes[2], nodes[3]] = [above(nodes[1]), above(nodes[0])];
            } else {
                list(words, &mut nodes[..corners])?;
            }
            take(Thing::Face(piece.marker, &nodes[..corners]), line);
            Ok(())
        })
    }

    /// Whether two markers have one name.
    pub(crate) fn repeats(&self) -> bool {
        let names = &self.markers;
        names.iter().enumerate().any(|(k, name)| names[..k].contains(name))
    }

    /// Markers, by number.
    pub(crate) fn markers(&self) -> &[String] {
        &self.markers
    }

    /// Numbers of the first elements of each type in a reader's range.
    fn first(&self, start: usize) -> Result<[usize; 4], MeshError> {
        let pieces = &self.elements.pieces;
        let Some(piece) = pieces.partition_point(|piece| piece.first <= start).checked_sub(1) else {
            return Ok([0; 4]);
        };
        let mut first = pieces[piece].of_kind;
        self.elements.each(&self.path, pieces[piece].first..start, |_, words, _| {
            let kind = element(words.natural("the element's type")?).ok_or("no element")?;
            first[kind as usize] += 1;
            Ok(())
        })?;
        Ok(first)
    }

    /// The line of a thing in a section: the first from `piece` on for which `is_it`.
    fn line(
        &self,
        section: &Section,
        piece: usize,
        mut is_it: impl FnMut(&mut Words) -> bool,
    ) -> Option<Place> {
        let piece = section.pieces.get(piece)?;
        let mut found = None;
        let read = section.each(&self.path, piece.first..piece.first + piece.count, |_, words, line| {
            if is_it(words) {
                found = found.or(Some(Place::Line(line)));
            }
            Ok(())
        });
        read.ok().and(found)
    }

    /// The line of a section with a number.
    fn line_of(&self, section: &Section, number: usize) -> Option<Place> {
        let piece = section.pieces.partition_point(|piece| piece.first <= number).checked_sub(1)?;
        let mut next = section.pieces[piece].first;
        self.line(section, piece, |_| {
            next += 1;
            next == number + 1
        })
    }
}

impl Source for Sections {
    fn counts(&self) -> Counts {
        let [_, _, _, _, triangles, quads, lines, _] = self.faces.of_sort;
        let elements = kinds(&self.elements.of_sort);
        if !self.planar {
            return Counts { nodes: self.nodes.count, faces: [triangles, quads], elements };
        }
        let [_, _, prisms, hexes] = elements;
        Counts { nodes: 2 * self.nodes.count, faces: [2 * prisms, lines + 2 * hexes], elements }
    }

    fn is_planar(&self) -> bool {
        self.planar
    }

    fn read(&self, part: usize, parts: usize) -> Result<Slice, MeshError> {
        let mut slice =
            Slice { first_node: range_of(self.nodes.count, parts, part).start, ..Slice::default() };
        let start = range_of(self.elements.count, parts, part).start;
        slice.first = self.first(start).map_err(|_| error_of(&self.path))?;
        let mut number = range_of(self.faces.count, parts, part).start as u32;
        self.each(part, parts, |thing, _| match thing {
            Thing::Node(x) => slice.nodes.push(x),
            Thing::Element(kind, nodes) => slice.elements[kind as usize].extend(nodes),
            Thing::Face(marker, nodes) => {
                let last = nodes.get(3).copied().unwrap_or(u32::MAX);
                let nodes = [nodes[0], nodes[1], nodes[2], last];
                slice.faces.push(SliceFace { nodes, patch: marker as i64, number });
                number += 1;
            }
        })
        .map_err(|_| error_of(&self.path))?;
        Ok(slice)
    }

    fn node(&self, number: usize) -> Option<Place> {
        self.line_of(&self.nodes, number)
    }

    fn face(&self, number: usize) -> Option<Place> {
        self.line_of(&self.faces, number)
    }

    fn element(&self, kind: Kind, number: usize) -> Option<Place> {
        let pieces = &self.elements.pieces;
        let piece = pieces.partition_point(|piece| piece.of_kind[kind as usize] <= number).checked_sub(1)?;
        let mut next = pieces[piece].of_kind[kind as usize];
        self.line(&self.elements, piece, |words| {
            let own = words.natural("").ok().and_then(element) == Some(kind);
            next += usize::from(own);
            own && next == number + 1
        })
    }

    fn names(&self) -> &[String] {
        &self.markers
    }
}
