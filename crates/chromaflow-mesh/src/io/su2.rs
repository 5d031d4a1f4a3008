//! SU2's text format.
//!
//! `KEY= value` lines in any order, `%` comments. Elements and boundary faces are a VTK cell type and its nodes from 0,
//! one per line, with an optional number at the end; VTK's order of nodes. **Source**: SU2 documentation, "Mesh file";
//! older files have a second number after `NPOIN=`, `SEND_TO=` lines and `SEND_RECEIVE` markers (skipped), and blocks of
//! free-form deformation after the mesh (skipped). Nodes of no element are dropped, markers of one name are one.

use super::slices::su2::{Sections, Thing, survey};
use crate::par;
use crate::parse::text::{Lines, MARK, Words, natural, show, trim};
use crate::raw::{Flat, Raw};
use crate::{Kind, MeshError};
use chromaflow::files;
use std::path::Path;

/// Things reserved before any of them arrived.
const AT_FIRST: u64 = 1 << 16;

#[derive(Default)]
struct Reader {
    raw: Raw,
    flat: Flat,
    dimension: Option<u64>,
    elements: Option<u64>,
    nodes: Option<u64>,
    markers: Option<u64>,
    markers_seen: u64,
    /// A marker waits for its `MARKER_ELEMS=`: its name.
    tag: Option<String>,
    unknown: Vec<String>,
    /// The key of the block that was read last, and its lines.
    block: Option<(&'static str, u64)>,
    /// Only what is wrong is asked for.
    forgets: bool,
}

/// Bytes of a file for which a thread is started. Few in tests, whose files are small.
const FEW: u64 = if cfg!(test) { 1 << 11 } else { 1 << 20 };

/// Reads a file on so many threads.
pub(super) fn read(path: &Path, threads: usize) -> Result<Raw, MeshError> {
    let plain = files::without_compression(path) == path;
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let parts = threads.min((bytes / FEW) as usize);
    let found = if plain && parts > 1 { by_slices(path, parts) } else { None };
    // What is wrong, and what is left out, is said by one thread.
    found.map_or_else(|| read_by(path, Reader::default()), Ok)
}

/// The same by slices, each on a thread; none where it is not an ordinary mesh in space.
fn by_slices(path: &Path, parts: usize) -> Option<Raw> {
    let seen: Result<Vec<_>, _> =
        par::each_part(parts, |part| survey(path, part, parts)).into_iter().collect();
    let (sections, dimension) = Sections::laid_out(path, &seen.ok()?.concat())?;
    if dimension != 3 || sections.left_out || sections.repeats() {
        return None;
    }
    let read = par::each_part(parts, |part| {
        let mut raw = Raw::default();
        for name in sections.markers() {
            raw.marker(name.clone(), None);
        }
        let found = sections.each(part, parts, |thing, line| match thing {
            Thing::Node(x) => {
                raw.mesh.nodes.push(x);
                raw.places.nodes.push(line);
            }
            Thing::Element(kind, nodes) => raw.push(kind, nodes, line),
            Thing::Face(marker, nodes) => raw.face(marker, nodes, line),
        });
        found.ok().map(|()| raw)
    });
    let mut read = read.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
    let mut all = Raw { drop_unused: true, ..read.next()? };
    read.for_each(|part| all.append(part));
    Some(all)
}

/// What is wrong with a file, which is read without being kept.
pub(super) fn error_of(path: &Path) -> MeshError {
    let found = read_by(path, Reader { forgets: true, ..Reader::default() });
    found.err().unwrap_or_else(|| MeshError::unsupported(path, "the file changes while it is read"))
}

fn read_by(path: &Path, mut reader: Reader) -> Result<Raw, MeshError> {
    let mut lines = Lines::open(path)?;
    let mut skipping = false;
    while lines.advance()? {
        let text = content(&lines);
        if text.is_empty() {
            continue;
        }
        if let Some((key, value)) = key(text) {
            reader.block = None;
            skipping = reader.key(&mut lines, path, &key, &value)?;
        } else if !skipping {
            let found = format!("expected KEY= value, found {:?}", show(text));
            return Err(lines.error(match &reader.block {
                Some((key, n)) => {
                    format!("{found} after the {n} lines that {key}= announced: does it announce too few?")
                }
                None => found,
            }));
        }
    }
    reader.finish(&lines, path)
}

/// The line without its comment.
pub(super) fn content(lines: &Lines) -> &[u8] {
    // Whoever begins to read at byte 0 of many meets the mark that the reader of the whole file has passed over.
    let text = lines.text().strip_prefix(MARK).unwrap_or(lines.text());
    trim(text.split(|&b| b == b'%').next().unwrap_or_default())
}

pub(super) fn key(text: &[u8]) -> Option<(String, String)> {
    let at = text.iter().position(|&b| b == b'=')?;
    let key = String::from_utf8_lossy(trim(&text[..at])).to_ascii_uppercase();
    Some((key, String::from_utf8_lossy(trim(&text[at + 1..])).into_owned()))
}

/// The number behind a key.
pub(super) fn count(value: &str) -> Option<u64> {
    natural(value.split([' ', '\t', ',']).next().unwrap_or_default().as_bytes())
}

/// The type of element that has a number of VTK's.
pub(super) fn volume(number: u64) -> Option<Kind> {
    match number {
        10 => Some(Kind::Tetrahedron),
        12 => Some(Kind::Hexahedron),
        13 => Some(Kind::Prism),
        14 => Some(Kind::Pyramid),
        _ => None,
    }
}

/// A node's coordinates. Without a third number this is of a mesh whose NDIME= comes later, or a mistake: see [`Reader::finish`].
pub(super) fn point(words: &mut Words, flat: bool) -> Result<[f64; 3], String> {
    let mut node = [words.real("x")?, words.real("y")?, 0.0];
    if !flat {
        node[2] = if words.clone().next().is_some() { words.real("z")? } else { f64::NAN };
    }
    Ok(node)
}

/// Node numbers of a line.
pub(super) fn list(words: &mut Words, list: &mut [u32]) -> Result<(), String> {
    list.iter_mut().try_for_each(|slot| words.index("a node").map(|n| *slot = n))
}

impl Reader {
    /// Handles one key with its block; true when lines of data that follow belong to something skipped.
    fn key(&mut self, lines: &mut Lines, path: &Path, key: &str, value: &str) -> Result<bool, MeshError> {
        let number = || {
            count(value).ok_or_else(|| {
                lines.error(format!(
                    "{key}= must be followed by a natural number, found {:?}",
                    show(value.as_bytes())
                ))
            })
        };
        let once = |slot: &Option<u64>| match slot {
            Some(_) => Err(lines.error(format!("{key}= stands here a second time"))),
            None => Ok(()),
        };
        match key {
            "NDIME" => {
                once(&self.dimension)?;
                let n = number()?;
                if n != 2 && n != 3 {
                    return Err(lines.error(format!("NDIME= must be 2 or 3, found {n}")));
                }
                self.dimension = Some(n);
            }
            "NZONE" => {
                if number()? != 1 {
                    let what = format!(
                        "{value} zones: meshes of several zones are not supported; split the file by zone"
                    );
                    return Err(MeshError::unsupported(path, what));
                }
            }
            "NELEM" => {
                once(&self.elements)?;
                let n = number()?;
                self.elements = Some(n);
                block(lines, n, "NELEM", |words, line| self.element(words, line))?;
                self.block = Some(("NELEM", n));
            }
            "NPOIN" => {
                once(&self.nodes)?;
                let n = number()?;
                self.nodes = Some(n);
                self.raw.mesh.nodes.reserve(n.min(AT_FIRST) as usize);
                let flat = self.dimension == Some(2);
                block(lines, n, "NPOIN", |words, line| {
                    self.raw.mesh.nodes.push(point(words, flat)?);
                    self.raw.places.nodes.push(line);
                    self.forget(line);
                    Ok(())
                })?;
                self.block = Some(("NPOIN", n));
            }
            "NMARK" => {
                once(&self.markers)?;
                self.markers = Some(number()?);
            }
            "MARKER_TAG" => {
                if value.is_empty() {
                    return Err(lines.error("MARKER_TAG= must be followed by a name"));
                }
                if let Some(tag) = &self.tag {
                    return Err(lines.error(format!("marker {tag:?} has no MARKER_ELEMS= line")));
                }
                self.tag = Some(value.to_owned());
                self.markers_seen += 1;
            }
            "MARKER_ELEMS" => {
                let n = number()?;
                let Some(tag) = self.tag.take() else {
                    return Err(lines.error("MARKER_ELEMS= without a MARKER_TAG= before it"));
                };
                self.marker(lines, tag, n)?;
                self.block = Some(("MARKER_ELEMS", n));
            }
            _ => {
                let known = [
                    "FFD_",
                    "PERIODIC_",
                    "SEND_",
                    "NPERIODIC",
                    "NCHUNK",
                    "NCORNERS",
                    "IZONE",
                    "ANGLE_",
                    "AOA",
                ];
                if !known.iter().any(|k| key.starts_with(k)) && self.unknown.len() < 8 {
                    self.unknown.push(format!("{key}= in line {}", lines.number()));
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn element(&mut self, words: &mut Words, line: u64) -> Result<(), String> {
        let number = words.natural("the element's type")?;
        match (number, volume(number)) {
            (5, _) => {
                self.flat.triangles.push(nodes(words)?);
                self.raw.places.elements[Kind::Prism as usize].push(line);
            }
            (9, _) => {
                self.flat.quads.push(nodes(words)?);
                self.raw.places.elements[Kind::Hexahedron as usize].push(line);
            }
            (_, Some(kind)) => {
                let mut all = [0; 8];
                list(words, &mut all[..kind.nodes()])?;
                self.raw.push(kind, &all[..kind.nodes()], line);
            }
            (other, None) => {
                return Err(format!(
                    "element type {other}: only triangles (5), quadrilaterals (9), tetrahedra (10), hexahedra (12), \
                     prisms (13) and pyramids (14), of first order"
                ));
            }
        }
        self.forget(line);
        Ok(())
    }

    /// Every so many lines, where nothing is kept: all but what says of what dimension things are.
    fn forget(&mut self, line: u64) {
        if self.forgets && line.is_multiple_of(AT_FIRST) {
            self.raw.forget();
            self.flat.triangles.truncate(1);
            self.flat.quads.truncate(1);
            self.flat.edges.iter_mut().for_each(|edges| edges.truncate(1));
        }
    }

    fn marker(&mut self, lines: &mut Lines, tag: String, n: u64) -> Result<(), MeshError> {
        if tag == "SEND_RECEIVE" {
            self.raw.notes.push(format!("line {}: a SEND_RECEIVE marker was left out", lines.number()));
            return block(lines, n, "MARKER_ELEMS", |_, _| Ok(()));
        }
        let known = self.raw.mesh.markers.iter().position(|known| known.name == tag);
        let marker = if let Some(known) = known {
            let line = lines.number();
            self.raw.notes.push(format!("line {line}: marker {tag:?} goes on, which stands above as well"));
            known
        } else {
            self.flat.edges.push(Vec::new());
            self.raw.marker(tag, None)
        };
        block(lines, n, "MARKER_ELEMS", |words, line| {
            match words.natural("the face's type")? {
                3 => {
                    self.flat.edges[marker].push(nodes(words)?);
                    self.raw.places.markers[marker].quads.push(line);
                }
                5 => self.raw.face(marker, &nodes::<3>(words)?, line),
                9 => self.raw.face(marker, &nodes::<4>(words)?, line),
                other => {
                    return Err(format!(
                        "face type {other}: only lines (3), triangles (5), quadrilaterals (9)"
                    ));
                }
            }
            self.forget(line);
            Ok(())
        })
    }

    fn finish(mut self, lines: &Lines, path: &Path) -> Result<Raw, MeshError> {
        let hint = if self.unknown.is_empty() {
            "is the file cut short?".to_owned()
        } else {
            format!("is the file cut short, or is one of these misspelt: {}?", self.unknown.join(", "))
        };
        if lines.number() == 0 {
            return Err(MeshError::unsupported(path, "the file is empty: copy or write it anew"));
        }
        for (key, seen) in [("NDIME", self.dimension), ("NELEM", self.elements), ("NPOIN", self.nodes)] {
            if seen.is_none() {
                return Err(lines.error(format!("the file ends without {key}=; {hint}")));
            }
        }
        if let Some(tag) = &self.tag {
            return Err(lines.error(format!("the file ends in marker {tag:?}; {hint}")));
        }
        if let Some(n) = self.markers.filter(|&n| n != self.markers_seen) {
            let seen = self.markers_seen;
            return Err(lines.error(format!("NMARK= {n}, but the file has {seen} markers; {hint}")));
        }
        // Gmsh writes the points of its geometry, too.
        self.raw.drop_unused = true;
        let wrong = |what: &str| Err(MeshError::unsupported(path, what.to_owned()));
        if self.dimension == Some(2) {
            if self.raw.mesh.elements() > 0 {
                return wrong("NDIME= 2, but there are three-dimensional elements");
            }
            if self.raw.mesh.boundary_faces() > 0 {
                return wrong("NDIME= 2, but markers have triangles or quadrilaterals");
            }
            self.raw.flat = Some(self.flat);
        } else {
            if !self.flat.triangles.is_empty() || !self.flat.quads.is_empty() {
                return wrong("NDIME= 3, but there are two-dimensional elements");
            }
            if self.flat.edges.iter().any(|e| !e.is_empty()) {
                return wrong("NDIME= 3, but markers have lines");
            }
        }
        Ok(self.raw)
    }
}

fn nodes<const N: usize>(words: &mut Words) -> Result<[u32; N], String> {
    let mut all = [0; N];
    list(words, &mut all)?;
    Ok(all)
}

/// Reads the `n` lines of data of a block.
fn block(
    lines: &mut Lines,
    n: u64,
    name: &str,
    mut take: impl FnMut(&mut Words, u64) -> Result<(), String>,
) -> Result<(), MeshError> {
    let mut done = 0;
    while done < n {
        if !lines.advance()? {
            return Err(
                lines.error(format!("the file ends after {done} of the {n} lines that {name}= announced"))
            );
        }
        let number = lines.number();
        let text = content(lines);
        if text.is_empty() {
            continue;
        }
        if text.contains(&b'=') {
            if text.starts_with(b"SEND_TO") {
                continue;
            }
            return Err(
                lines.error(format!("a new key after {done} of the {n} lines that {name}= announced"))
            );
        }
        take(&mut Words(text), number).map_err(|what| lines.error(what))?;
        done += 1;
    }
    Ok(())
}
