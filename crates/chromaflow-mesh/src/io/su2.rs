//! SU2's text format.
//!
//! `KEY= value` lines in any order, `%` comments. Elements and boundary faces are a VTK cell type and its nodes from 0,
//! one per line, with an optional number at the end; VTK's order of nodes. **Source**: SU2 documentation, "Mesh file";
//! older files have a second number after `NPOIN=`, `SEND_TO=` lines and `SEND_RECEIVE` markers (skipped), and blocks of
//! free-form deformation after the mesh (skipped).

use crate::parse::text::{Lines, Words, natural, show, trim};
use crate::raw::{Flat, Raw};
use crate::{Kind, MeshError};
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
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Raw, MeshError> {
    let mut lines = Lines::open(path)?;
    let mut reader = Reader::default();
    let mut skipping = false;
    while lines.advance()? {
        let text = content(&lines);
        if text.is_empty() {
            continue;
        }
        if let Some((key, value)) = key(text) {
            skipping = reader.key(&mut lines, path, &key, &value)?;
        } else if !skipping {
            return Err(lines.error(format!("expected KEY= value, found {:?}", show(text))));
        }
    }
    reader.finish(&lines, path)
}

/// The line without its comment.
fn content(lines: &Lines) -> &[u8] {
    let text = lines.text();
    trim(text.split(|&b| b == b'%').next().unwrap_or_default())
}

fn key(text: &[u8]) -> Option<(String, String)> {
    let at = text.iter().position(|&b| b == b'=')?;
    let key = String::from_utf8_lossy(trim(&text[..at])).to_ascii_uppercase();
    Some((key, String::from_utf8_lossy(trim(&text[at + 1..])).into_owned()))
}

impl Reader {
    /// Handles one key with its block; true when lines of data that follow belong to something skipped.
    fn key(&mut self, lines: &mut Lines, path: &Path, key: &str, value: &str) -> Result<bool, MeshError> {
        let first = value.split([' ', '\t', ',']).next().unwrap_or_default();
        let number = || {
            natural(first.as_bytes()).ok_or_else(|| {
                lines.error(format!("{key}= must be followed by a natural number, found {value:?}"))
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
            }
            "NPOIN" => {
                once(&self.nodes)?;
                let n = number()?;
                self.nodes = Some(n);
                self.raw.mesh.nodes.reserve(n.min(AT_FIRST) as usize);
                let flat = self.dimension == Some(2);
                block(lines, n, "NPOIN", |words, line| {
                    let mut node = [words.real("x")?, words.real("y")?, 0.0];
                    if !flat {
                        // Without a third number this is a mesh whose NDIME= comes later, or a mistake: see `finish`.
                        node[2] = if words.clone().next().is_some() { words.real("z")? } else { f64::NAN };
                    }
                    self.raw.mesh.nodes.push(node);
                    self.raw.places.nodes.push(line);
                    Ok(())
                })?;
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
        let kind = match words.natural("the element's type")? {
            5 => {
                self.flat.triangles.push(nodes(words)?);
                self.raw.places.elements[Kind::Prism as usize].push(line);
                return Ok(());
            }
            9 => {
                self.flat.quads.push(nodes(words)?);
                self.raw.places.elements[Kind::Hexahedron as usize].push(line);
                return Ok(());
            }
            10 => Kind::Tetrahedron,
            12 => Kind::Hexahedron,
            13 => Kind::Prism,
            14 => Kind::Pyramid,
            other => {
                return Err(format!(
                    "element type {other}: only triangles (5), quadrilaterals (9), tetrahedra (10), hexahedra (12), \
                     prisms (13) and pyramids (14), of first order"
                ));
            }
        };
        let mut list = [0; 8];
        for slot in &mut list[..kind.nodes()] {
            *slot = words.index("a node")?;
        }
        self.raw.push(kind, &list[..kind.nodes()], line);
        Ok(())
    }

    fn marker(&mut self, lines: &mut Lines, tag: String, n: u64) -> Result<(), MeshError> {
        if tag == "SEND_RECEIVE" {
            self.raw.notes.push(format!("line {}: a SEND_RECEIVE marker was left out", lines.number()));
            return block(lines, n, "MARKER_ELEMS", |_, _| Ok(()));
        }
        let marker = self.raw.marker(tag, None);
        self.flat.edges.push(Vec::new());
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
            Ok(())
        })
    }

    fn finish(mut self, lines: &Lines, path: &Path) -> Result<Raw, MeshError> {
        let hint = if self.unknown.is_empty() {
            "is the file cut short?".to_owned()
        } else {
            format!("is the file cut short, or is one of these misspelt: {}?", self.unknown.join(", "))
        };
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
    let mut list = [0; N];
    for slot in &mut list {
        *slot = words.index("a node")?;
    }
    Ok(list)
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
