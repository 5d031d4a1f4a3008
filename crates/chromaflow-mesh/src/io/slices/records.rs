//! Binary files whose things stand in records of one size each: any reader finds its own.

use super::{Counts, Slice, SliceFace, Source, range_of};
use crate::parse::binary::{Bytes, int, node, real};
use crate::places::Places;
use crate::{Kind, MeshError, Place};
use std::ops::Range;
use std::path::PathBuf;

/// Records of one size: one after another, or in several runs.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// What is in it, for messages.
    what: &'static str,
    /// Bytes of a record.
    size: usize,
    count: usize,
    /// First number and place of each run.
    runs: Vec<(usize, u64)>,
}

impl Table {
    /// An empty one.
    pub(crate) fn new(what: &'static str, size: usize) -> Self {
        Self { what, size, count: 0, runs: Vec::new() }
    }

    /// Adds a run of records.
    pub(crate) fn add(&mut self, at: u64, count: usize) {
        self.runs.push((self.count, at));
        self.count += count;
    }

    /// Where a record stands.
    pub(crate) fn place(&self, number: usize) -> u64 {
        let run = self.runs.partition_point(|(first, _)| *first <= number).checked_sub(1);
        run.map_or(0, |k| self.runs[k].1 + ((number - self.runs[k].0) * self.size) as u64)
    }

    /// How many records there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Where all of them stand.
    pub(crate) fn places(&self) -> Places {
        let mut places = Places::default();
        let ends = self.runs.iter().skip(1).map(|(first, _)| *first).chain([self.count]);
        for (&(first, at), end) in self.runs.iter().zip(ends) {
            places.push_run(at, self.size as u64, end - first);
        }
        places
    }

    /// Calls `take` with each record of a range.
    pub(crate) fn each(
        &self,
        file: &Records,
        range: Range<usize>,
        mut take: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), MeshError> {
        let ends = self.runs.iter().skip(1).map(|(first, _)| *first).chain([self.count]);
        for (&(first, _), end) in self.runs.iter().zip(ends) {
            let own = range.start.max(first)..range.end.min(end);
            if own.is_empty() {
                continue;
            }
            let mut bytes = Bytes::open_at(&file.path, file.big, self.place(own.start))?;
            bytes.records(own.len() as u64, self.size, self.what, |_, record| take(record))?;
        }
        Ok(())
    }
}

/// A point of a record of two or three coordinates.
pub(crate) fn point(record: &[u8], real_bytes: usize, dimension: usize, big: bool) -> [f64; 3] {
    let at = |i: usize| real(&record[i * real_bytes..(i + 1) * real_bytes], big);
    std::array::from_fn(|i| if i < dimension { at(i) } else { 0.0 })
}

/// Nodes of a record, into `list`.
pub(crate) fn nodes_of(record: &[u8], width: usize, big: bool, list: &mut [u32]) -> Result<(), String> {
    for (slot, bytes) in list.iter_mut().zip(record.chunks_exact(width)) {
        *slot = node(int(bytes, big))?;
    }
    Ok(())
}

/// Where everything stands in a file.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    pub(crate) path: PathBuf,
    pub(crate) big: bool,
    /// Bytes of a whole number and of a real one.
    pub(crate) width: usize,
    pub(crate) real: usize,
    pub(crate) nodes: Table,
    /// Triangles and quadrilaterals of the boundary, or the elements of a planar mesh.
    pub(crate) faces: [Table; 2],
    /// Boundary edges, of a planar mesh.
    pub(crate) edges: Option<Table>,
    /// Their patches, where these do not follow the nodes of each.
    pub(crate) patches: Option<[Table; 2]>,
    /// Of each type.
    pub(crate) elements: [Table; 4],
    /// Which of a record's nodes are a pyramid's, in our order.
    pub(crate) pyramid: [usize; 5],
}

impl Records {
    /// The elements of a planar mesh and their number of corners, by type.
    fn flat(&self, kind: Kind) -> Option<(&Table, usize)> {
        match kind {
            Kind::Prism => Some((&self.faces[0], 3)),
            Kind::Hexahedron => Some((&self.faces[1], 4)),
            _ => None,
        }
    }

    /// Reads the ranges of a planar mesh into a slice that has its nodes.
    fn read_planar(
        &self,
        edges: &Table,
        (part, parts): (usize, usize),
        slice: &mut Slice,
    ) -> Vec<Result<(), MeshError>> {
        let own = |table: &Table| range_of(table.count, parts, part);
        let above = |node: u32| node.saturating_add(self.nodes.count as u32);
        let mut list = [u32::MAX; 4];
        let mut found = Vec::new();
        for kind in Kind::ALL {
            let Some((table, corners)) = self.flat(kind) else { continue };
            slice.first[kind as usize] = own(table).start;
            found.push(table.each(self, own(table), |record| {
                nodes_of(record, self.width, self.big, &mut list[..corners])?;
                let front = &list[..corners];
                slice.elements[kind as usize]
                    .extend(front.iter().copied().chain(front.iter().map(|&n| above(n))));
                Ok(())
            }));
        }
        let mut number = own(edges).start as u32;
        found.push(edges.each(self, own(edges), |record| {
            nodes_of(record, self.width, self.big, &mut list[..2])?;
            let nodes = [list[0], list[1], above(list[1]), above(list[0])];
            slice.faces.push(SliceFace { nodes, patch: int(&record[2 * self.width..], self.big), number });
            number += 1;
            Ok(())
        }));
        found
    }
}

/// Of several errors the one that stands first in the file.
fn first_of(found: Vec<Result<(), MeshError>>) -> Result<(), MeshError> {
    let place = |error: &MeshError| match error {
        MeshError::Syntax { place: Place::Byte(place), .. } => *place,
        _ => 0,
    };
    found.into_iter().filter_map(Result::err).min_by_key(place).map_or(Ok(()), Err)
}

impl Source for Records {
    fn counts(&self) -> Counts {
        if let Some(edges) = &self.edges {
            let elements = Kind::ALL.map(|kind| self.flat(kind).map_or(0, |(table, _)| table.count));
            let [triangles, quads] = [&self.faces[0], &self.faces[1]].map(|table| table.count);
            return Counts {
                nodes: 2 * self.nodes.count,
                faces: [2 * triangles, edges.count + 2 * quads],
                elements,
            };
        }
        Counts {
            nodes: self.nodes.count,
            faces: [self.faces[0].count, self.faces[1].count],
            elements: std::array::from_fn(|k| self.elements[k].count),
        }
    }

    fn read(&self, part: usize, parts: usize) -> Result<Slice, MeshError> {
        let own = |table: &Table| range_of(table.count, parts, part);
        let mut slice = Slice { first_node: own(&self.nodes).start, ..Slice::default() };
        let mut list = [u32::MAX; 8];
        let mut found = vec![self.nodes.each(self, own(&self.nodes), |record| {
            slice.nodes.push(point(record, self.real, if self.edges.is_some() { 2 } else { 3 }, self.big));
            Ok(())
        })];
        if let Some(edges) = &self.edges {
            found.extend(self.read_planar(edges, (part, parts), &mut slice));
            return first_of(found).map(|()| slice);
        }
        for (shape, table) in self.faces.iter().enumerate() {
            let (corners, from) = (3 + shape, slice.faces.len());
            let mut number = (own(table).start + shape * self.faces[0].count) as u32;
            found.push(table.each(self, own(table), |record| {
                nodes_of(record, self.width, self.big, &mut list[..corners])?;
                let nodes = [list[0], list[1], list[2], if shape == 0 { u32::MAX } else { list[3] }];
                let patch = record.get(self.width * corners..).filter(|rest| !rest.is_empty());
                slice.faces.push(SliceFace { nodes, patch: patch.map_or(0, |b| int(b, self.big)), number });
                number += 1;
                Ok(())
            }));
            if let Some(patches) = &self.patches {
                let mut faces = slice.faces[from..].iter_mut();
                found.push(patches[shape].each(self, own(table), |record| {
                    faces.next().into_iter().for_each(|face| face.patch = int(record, self.big));
                    Ok(())
                }));
            }
        }
        for (k, kind) in Kind::ALL.into_iter().enumerate() {
            slice.first[k] = own(&self.elements[k]).start;
            found.push(self.elements[k].each(self, own(&self.elements[k]), |record| {
                nodes_of(record, self.width, self.big, &mut list[..kind.nodes()])?;
                if kind == Kind::Pyramid {
                    slice.elements[k].extend(self.pyramid.map(|i| list[i]));
                } else {
                    slice.elements[k].extend(&list[..kind.nodes()]);
                }
                Ok(())
            }));
        }
        first_of(found).map(|()| slice)
    }

    fn node(&self, number: usize) -> Option<Place> {
        Some(Place::Byte(self.nodes.place(number)))
    }

    fn is_planar(&self) -> bool {
        self.edges.is_some()
    }

    fn face(&self, number: usize) -> Option<Place> {
        if let Some(edges) = &self.edges {
            return Some(Place::Byte(edges.place(number)));
        }
        let quad = number.checked_sub(self.faces[0].count);
        Some(Place::Byte(quad.map_or_else(|| self.faces[0].place(number), |quad| self.faces[1].place(quad))))
    }

    fn element(&self, kind: Kind, number: usize) -> Option<Place> {
        if self.edges.is_some() {
            return self.flat(kind).map(|(table, _)| Place::Byte(table.place(number)));
        }
        Some(Place::Byte(self.elements[kind as usize].place(number)))
    }
}
