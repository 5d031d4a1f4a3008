//! Fluent's meshes (`.msh`, `.cas`): sections in parentheses, numbers of nodes, faces and cells in hexadecimal digits; as text or in bytes.
//!
//! Faces name the cells on their two sides; cells are put together from them, in space as OpenFOAM's are, in a plane from their edges. What a case
//! says beside its mesh is passed over. Boundary conditions become the codes of `.mapbc` files where one says the same.
//!
//! **Source**: *ANSYS Fluent User's Guide*, appendix "Case and Data File Formats".

#[cfg(test)]
mod tests;

use super::openfoam;
use crate::raw::{Flat, Raw};
use crate::{MarkerPlaces, MeshError, Place};
use chromaflow::files::{self, FileError};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Kinds of faces that are no boundary: inner ones, and parents of others.
const NO_BOUNDARY: [u64; 2] = [2, 31];
/// The most numbers of a section's head.
const HEAD: usize = 8;

/// Whether a file begins as Fluent's do, with a parenthesis.
pub(super) fn begins(path: &Path) -> Result<bool, MeshError> {
    let mut first = [0; 64];
    let read = files::open(path)?.read(&mut first).map_err(|e| FileError::new("cannot read", path, e))?;
    Ok(first[..read].trim_ascii_start().first() == Some(&b'('))
}

/// A text with sections of bytes.
struct Text<'a> {
    path: &'a Path,
    bytes: Vec<u8>,
    at: usize,
}

impl<'a> Text<'a> {
    fn open(path: &'a Path) -> Result<Self, MeshError> {
        let mut bytes = Vec::new();
        files::open(path)?.read_to_end(&mut bytes).map_err(|e| FileError::new("cannot read", path, e))?;
        Ok(Self { path, bytes, at: 0 })
    }

    fn error(&self, what: impl Into<String>) -> MeshError {
        let line = self.bytes[..self.at].split(|&b| b == b'\n').count() as u64;
        MeshError::Syntax { path: self.path.to_owned(), place: Place::Line(line), what: what.into() }
    }

    fn peek(&mut self) -> Option<u8> {
        let blank = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.at += blank;
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, sign: u8) -> bool {
        let found = self.peek() == Some(sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: u8) -> Result<(), MeshError> {
        if self.take(sign) { Ok(()) } else { Err(self.error(format!("expected {:?}", char::from(sign)))) }
    }

    /// The next word; empty before a parenthesis and at the end.
    fn word(&mut self) -> &str {
        self.peek();
        let start = self.at;
        let ends = |b: &&u8| !b.is_ascii_whitespace() && !b"()".contains(b);
        self.at += self.bytes[start..].iter().take_while(ends).count();
        std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or("?")
    }

    fn hex(&mut self, what: &str) -> Result<u64, MeshError> {
        let word = self.word().to_owned();
        u64::from_str_radix(&word, 16)
            .map_err(|_| self.error(format!("expected {what} in hexadecimal digits, found {word:?}")))
    }

    fn real(&mut self) -> Result<f64, MeshError> {
        let word = self.word().to_owned();
        word.parse().map_err(|_| self.error(format!("expected a coordinate, found {word:?}")))
    }

    fn raw<const N: usize>(&mut self) -> Result<[u8; N], MeshError> {
        let found = self.bytes.get(self.at..self.at + N).and_then(|b| b.try_into().ok());
        self.at += N;
        found.ok_or_else(|| {
            self.at = self.bytes.len();
            self.error("the file ends inside a section of bytes: it is cut short")
        })
    }

    /// Numbers in parentheses.
    fn head(&mut self) -> Result<Vec<u64>, MeshError> {
        self.expect(b'(')?;
        let mut numbers = Vec::new();
        while !self.take(b')') {
            numbers.push(self.hex("a number")?);
            if numbers.len() > HEAD {
                return Err(self.error("the head of a section has no end"));
            }
        }
        Ok(numbers)
    }

    /// Leaves a section: its open parentheses, and of bytes what says its end.
    fn leave(&mut self, binary: bool) -> Result<(), MeshError> {
        const END: &[u8] = b"End of Binary Section";
        if binary {
            let rest = &self.bytes[self.at..];
            let found = rest.windows(END.len()).position(|w| w == END);
            self.at += found.ok_or_else(|| self.error("a section of bytes has no end: it is cut short"))?;
        }
        let mut open = 1;
        while open > 0 {
            match self.bytes.get(self.at) {
                None => return Err(self.error("the file ends inside a section: it is cut short")),
                Some(b'(') => open += 1,
                Some(b')') => open -= 1,
                Some(b'"') => {
                    let rest = &self.bytes[self.at + 1..];
                    self.at += rest.iter().position(|b| *b == b'"').map_or(0, |n| n + 1);
                }
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(())
    }
}

/// A face: its corners, and the cells on its two sides (0 where there is none), from 1.
struct Face {
    corners: Vec<u32>,
    cells: [u64; 2],
}

/// Faces of one kind and number.
struct Zone {
    number: u64,
    kind: u64,
    faces: Vec<Face>,
}

#[derive(Default)]
struct Reader {
    planar: bool,
    nodes: Vec<[f64; 3]>,
    zones: Vec<Zone>,
    names: BTreeMap<u64, String>,
    /// Zones that repeat, and their shadows.
    periodic: Vec<[u64; 2]>,
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Raw, MeshError> {
    let mut text = Text::open(path)?;
    if text.bytes.starts_with(b"\x89HDF") {
        let what = "Fluent's form in HDF5, which is not read; write the mesh in its legacy form, .msh or .cas, or as CGNS";
        return Err(MeshError::unsupported(path, what));
    }
    let mut reader = Reader::default();
    while text.peek().is_some() {
        text.expect(b'(')?;
        // Sections of words, such as (rp ("..." ...)), belong to the case.
        let index = text.word().parse().unwrap_or(0);
        reader.section(&mut text, index)?;
    }
    reader.finish(path)
}

impl Reader {
    fn section(&mut self, text: &mut Text, index: u64) -> Result<(), MeshError> {
        let binary = index >= 2000;
        match if binary { index % 1000 } else { index } {
            2 => self.planar = text.hex("the dimension")? == 2,
            10 => {
                let head = text.head()?;
                if !text.take(b'(') {
                    return text.leave(false);
                }
                self.points(text, &head, index / 1000)?;
                text.leave(binary)?;
                // What says the end of bytes stands within the section.
                return if binary { Ok(()) } else { text.leave(false) };
            }
            13 => {
                let head = text.head()?;
                if !text.take(b'(') {
                    return text.leave(false);
                }
                self.faces(text, &head, binary)?;
                text.leave(binary)?;
                // What says the end of bytes stands within the section.
                return if binary { Ok(()) } else { text.leave(false) };
            }
            12 => {
                text.head()?;
                let bytes = binary && text.peek() == Some(b'(');
                return text.leave(bytes);
            }
            18 => {
                if let [_, _, zone, shadow] = text.head()?[..] {
                    self.periodic.push([zone, shadow]);
                }
                let bytes = binary && text.peek() == Some(b'(');
                return text.leave(bytes);
            }
            39 | 45 => {
                text.expect(b'(')?;
                let zone = text.word().parse().map_err(|_| text.error("expected the number of a zone"))?;
                text.word();
                self.names.insert(zone, text.word().to_owned());
                text.leave(false)?;
            }
            58 | 59 => {
                let what = "cells were refined in part and have hanging nodes, which are not read: refine all, or write the mesh before it is adapted";
                return Err(MeshError::unsupported(text.path, what));
            }
            _ => return text.leave(binary),
        }
        text.leave(false)
    }

    /// Coordinates; `width` tells the bytes of a number: 2 four, 3 eight, 0 words.
    fn points(&mut self, text: &mut Text, head: &[u64], width: u64) -> Result<(), MeshError> {
        let &[_, first, last, ..] = head else {
            return Err(text.error("expected a zone, its nodes and their kind"));
        };
        // Each takes a byte at least, which bounds what is asked for.
        if first == 0 || last < first || last > text.bytes.len() as u64 {
            return Err(text.error(format!("nodes {first} to {last}")));
        }
        let dimension = head.get(4).map_or(if self.planar { 2 } else { 3 }, |d| *d) as usize;
        self.nodes.resize(self.nodes.len().max(last as usize), [f64::NAN; 3]);
        for slot in first as usize - 1..last as usize {
            let mut x = [0.0; 3];
            for value in x.iter_mut().take(dimension) {
                *value = match width {
                    2 => f64::from(f32::from_le_bytes(text.raw()?)),
                    3 => f64::from_le_bytes(text.raw()?),
                    _ => text.real()?,
                };
            }
            self.nodes[slot] = x;
        }
        Ok(())
    }

    fn faces(&mut self, text: &mut Text, head: &[u64], binary: bool) -> Result<(), MeshError> {
        let &[number, first, last, kind, ref corners @ ..] = head else {
            return Err(text.error("expected a zone, its faces and their kind"));
        };
        if first == 0 || last < first {
            return Err(text.error(format!("faces {first} to {last}")));
        }
        let told = corners.first().copied().unwrap_or_default();
        let next = |text: &mut Text| {
            if binary {
                Ok(u64::from(u32::from_le_bytes(text.raw()?)))
            } else {
                text.hex("a number of a face")
            }
        };
        let mut faces = Vec::new();
        for _ in first..=last {
            // 0 mixed and 5 polygons, which say how many; 2 edges, 3 triangles, 4 quadrilaterals.
            let count = if matches!(told, 0 | 5) { next(text)? } else { told };
            if !(2..=1000).contains(&count) {
                return Err(text.error(format!("a face of {count} corners")));
            }
            let corners = (0..count).map(|_| next(text).map(|n| n as u32)).collect::<Result<Vec<_>, _>>()?;
            faces.push(Face { corners, cells: [next(text)?, next(text)?] });
        }
        self.zones.push(Zone { number, kind, faces });
        Ok(())
    }

    fn finish(mut self, path: &Path) -> Result<Raw, MeshError> {
        let wrong = |what: String| Err(MeshError::unsupported(path, what));
        if self.zones.is_empty() {
            return wrong(
                "it has no faces (sections 13), of which cells are put together; meshio writes cells by their nodes in their place, which is no \
                 Fluent mesh: let it write Gmsh (.msh) or .vtu"
                    .to_owned(),
            );
        }
        if let Some(n) = self.nodes.iter().position(|x| x[0].is_nan()) {
            return wrong(format!("node {} has no coordinates: the file is cut short", n + 1));
        }
        let most = 2 * self.zones.iter().map(|zone| zone.faces.len() as u64).sum::<u64>();
        let mut cells: Vec<Vec<&[u32]>> = Vec::new();
        for face in self.zones.iter_mut().flat_map(|zone| &mut zone.faces) {
            for corner in &mut face.corners {
                match corner.checked_sub(1).filter(|n| (*n as usize) < self.nodes.len()) {
                    Some(n) => *corner = n,
                    None => return wrong(format!("a face names node {corner} of {}", self.nodes.len())),
                }
            }
        }
        for face in self.zones.iter().filter(|zone| zone.kind != NO_BOUNDARY[1]).flat_map(|zone| &zone.faces)
        {
            for cell in face.cells.iter().filter(|cell| **cell > 0) {
                if *cell > most {
                    return wrong(format!("a face names cell {cell}: there are {} faces", most / 2));
                }
                if cells.len() < *cell as usize {
                    cells.resize_with(*cell as usize, Vec::new);
                }
                cells[*cell as usize - 1].push(&face.corners);
            }
        }
        let mut raw = Raw { flat: self.planar.then(Flat::default), ..Raw::default() };
        for (number, faces) in cells.iter().enumerate() {
            let known = match &mut raw.flat {
                Some(flat) => put_flat(flat, faces),
                None => openfoam::put(&mut raw.mesh, faces),
            };
            if !known {
                let corners: Vec<String> = faces.iter().map(|f| f.len().to_string()).collect();
                let what = "only triangles, quadrilaterals, tetrahedra, pyramids, prisms and hexahedra are read, no other polygons and polyhedra; \
                            write the mesh before its conversion to them";
                return wrong(format!(
                    "cell {} has faces of {} corners: {what}",
                    number + 1,
                    corners.join(", ")
                ));
            }
        }
        raw.mesh.nodes = std::mem::take(&mut self.nodes);
        self.markers(&mut raw);
        Ok(raw)
    }

    /// Zones at the boundary. Faces with cells on both sides, of fans and the like, are inner ones.
    fn markers(&self, raw: &mut Raw) {
        let name = |zone: u64| self.names.get(&zone).cloned().unwrap_or_else(|| format!("zone-{zone}"));
        for zone in self.zones.iter().filter(|zone| !NO_BOUNDARY.contains(&zone.kind)) {
            let code = match zone.kind {
                3 => Some(4000),
                4 => Some(7011),      // pressure inlet
                5 | 36 => Some(7012), // pressure outlet, outflow
                7 | 37 => Some(6663), // symmetry, axis
                9 => Some(5000),      // pressure far field
                10 => Some(7100),     // velocity inlet
                20 => Some(7036),     // mass flow inlet
                _ => None,
            };
            if zone.faces.iter().all(|face| !face.cells.contains(&0)) {
                raw.notes
                    .push(format!("zone {:?} lies inside the domain and was left out", name(zone.number)));
                continue;
            }
            let marker = raw.marker(name(zone.number), code);
            for face in zone.faces.iter().filter(|face| face.cells.contains(&0)) {
                raw.face(marker, &face.corners, 0);
            }
        }
        raw.places = crate::Provenance {
            markers: vec![MarkerPlaces::default(); raw.mesh.markers.len()],
            ..Default::default()
        };
        for [zone, shadow] in self.periodic.iter().map(|pair| pair.map(name)) {
            if let Some(marker) = raw.mesh.markers.iter_mut().find(|m| m.name == shadow) {
                marker.partner = Some(zone);
            }
        }
    }
}

/// Adds the triangle or quadrilateral that has these edges; whether it is one.
fn put_flat(flat: &mut Flat, edges: &[&[u32]]) -> bool {
    let Some(&&[start, mut end]) = edges.first() else { return false };
    let mut ring = vec![start];
    let mut left: Vec<&[u32]> = edges[1..].to_vec();
    while end != start {
        ring.push(end);
        let Some(at) = left.iter().position(|edge| edge.len() == 2 && edge.contains(&end)) else {
            return false;
        };
        let edge = left.swap_remove(at);
        end = edge[usize::from(edge[0] == end)];
    }
    match ring[..] {
        [a, b, c] if left.is_empty() => flat.triangles.push([a, b, c]),
        [a, b, c, d] if left.is_empty() => flat.quads.push([a, b, c, d]),
        _ => return false,
    }
    true
}
