//! Meshes read by slices: each of several readers takes its range of the nodes, of the elements of each type and of the boundary faces, so
//! that none holds the whole.
//!
//! Slices keep the file's numbers. What a reader of the whole mesh does to it, turning elements and faces over and checking, is done where
//! the neighbors of an element are known: [`mend`] does it in a part of the mesh.

use super::mapbc::{self, Patches};
use super::patches::marker_names;
use super::{Format, ugrid};
use crate::check::Checker;
use crate::par::threads;
use crate::raw::{Flipped, orient_elements, orient_faces, turn_over};
use crate::{Defect, Finding, Kind, Marker, Mesh, MeshError, Place, ReadOptions, Report, Subject};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How many nodes, triangles and quadrilaterals of the boundary, and elements of each type a mesh has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes.
    pub nodes: usize,
    /// Triangles and quadrilaterals of the boundary.
    pub faces: [usize; 2],
    /// Elements, in the order of [`Kind::ALL`].
    pub elements: [usize; 4],
}

impl Counts {
    /// Of a mesh.
    pub fn of(mesh: &Mesh) -> Self {
        let sum = |of: fn(&Marker) -> usize| mesh.markers.iter().map(of).sum();
        Self {
            nodes: mesh.nodes.len(),
            faces: [sum(|m| m.triangles.len()), sum(|m| m.quads.len())],
            elements: Kind::ALL.map(|kind| mesh.count(kind)),
        }
    }

    /// Elements of all types.
    pub fn cells(&self) -> usize {
        self.elements.iter().sum()
    }
}

/// A boundary face of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceFace {
    /// Its nodes; the last one `u32::MAX` for a triangle.
    pub nodes: [u32; 4],
    /// Number of its patch.
    pub patch: i64,
    /// Its number in the file, triangles first.
    pub number: u32,
}

/// One reader's ranges of a mesh, in the numbers of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    /// Number of the first node.
    pub first_node: usize,
    /// Coordinates of the nodes.
    pub nodes: Vec<[f64; 3]>,
    /// Numbers of the first element of each type, within the type.
    pub first: [usize; 4],
    /// Nodes of the elements of each type, one element after another.
    pub elements: [Vec<u32>; 4],
    /// Boundary faces.
    pub faces: Vec<SliceFace>,
}

impl Slice {
    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        let elements: usize = self.elements.iter().map(|list| size_of_val(&list[..])).sum();
        size_of_val(&self.nodes[..]) + elements + size_of_val(&self.faces[..])
    }
}

/// The range that the `part`-th of `parts` readers takes of `count` things.
pub fn range_of(count: usize, parts: usize, part: usize) -> Range<usize> {
    let end = |k: usize| (count as u128 * k as u128 / parts as u128) as usize;
    end(part)..end(part + 1)
}

/// The reader whose range has the `i`-th of `count` things.
pub fn reader_of(count: usize, parts: usize, i: usize) -> usize {
    // The inverse of `range_of`, rounding included.
    (((i as u128 + 1) * parts as u128 - 1) / count as u128) as usize
}

/// A file that can be read by slices.
#[derive(Clone, Debug)]
pub struct Slices {
    path: PathBuf,
    sections: ugrid::Sections,
    table: Patches,
}

impl Slices {
    /// Looks at the head of a file. So far files of UGRID's binary forms can be read by slices.
    ///
    /// # Errors
    /// [`MeshError::Unsupported`] with the reason for a file that cannot be read by slices; where it cannot be read, is damaged or cut short.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, MeshError> {
        let whole =
            |what: &str| MeshError::unsupported(path, format!("{what} be read by slices: read it whole"));
        let format = options.format.map_or_else(|| Format::of(path), Ok)?;
        let Format::UgridBinary(layout) = format else {
            return Err(whole(&format!("a mesh in the format {format} cannot")));
        };
        if chromaflow::files::without_compression(path) != path {
            return Err(whole("a compressed mesh cannot"));
        }
        if options.allow_tangled || options.drop_unused || options.merge {
            return Err(whole("a mesh with folded elements, unused nodes or nodes to be merged cannot"));
        }
        let sections = ugrid::Sections::open(path, layout)?;
        Ok(Self { path: path.to_owned(), sections, table: mapbc::find(path, options)? })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How much the mesh has of everything.
    pub fn counts(&self) -> Counts {
        self.sections.counts
    }

    /// Reads the ranges of one of several readers.
    ///
    /// # Errors
    /// As the reader of the whole file, of what stands in these ranges.
    pub fn read(&self, part: usize, parts: usize) -> Result<Slice, MeshError> {
        let slice = self.sections.slice(&self.path, part, parts)?;
        let report = self.indices(&slice);
        if report.is_clean() {
            return Ok(slice);
        }
        Err(MeshError::Broken { path: self.path.clone(), report: Box::new(report) })
    }

    /// Markers without faces for the patches with these numbers, which ascend, with the names and codes of the mesh's `.mapbc`.
    pub fn markers(&self, patches: &[i64]) -> Vec<Marker> {
        let names = marker_names(patches, &self.table);
        names.into_iter().map(|(name, code)| Marker { name, code, ..Marker::default() }).collect()
    }

    /// Whether the mesh's `.mapbc` gives a patch this code.
    pub fn has_code(&self, code: i32) -> bool {
        self.table.values().any(|(_, of)| *of == code)
    }

    /// Where the file has an element.
    pub fn element(&self, kind: Kind, number: usize) -> Place {
        Place::Byte(self.sections.element(kind, number))
    }

    /// Where the file has a node.
    pub fn node(&self, number: usize) -> Place {
        Place::Byte(self.sections.node(number))
    }

    /// A finding of a node that no element has.
    pub fn unused(&self, number: usize, at: [f64; 3]) -> Finding {
        let what = "no element has it".to_owned();
        self.of_node(Defect::UnusedNode, number, at, what)
    }

    fn of_node(&self, defect: Defect, number: usize, at: [f64; 3], what: String) -> Finding {
        let (subject, nodes) = (Subject::Node(number), vec![number as u32]);
        Finding { defect, subject, nodes, at: Some(at), place: Some(self.node(number)), what }
    }

    /// Node numbers and coordinates of a slice.
    fn indices(&self, slice: &Slice) -> Report {
        let (mut report, n) = (Report::default(), self.counts().nodes);
        let outside = |nodes: &[u32]| nodes.iter().copied().find(|&i| i as usize >= n);
        let outside_text = |bad: u32| format!("node {bad} of {n} (they count from 0)");
        for (kind, list) in Kind::ALL.into_iter().zip(&slice.elements) {
            for (i, nodes) in list.chunks_exact(kind.nodes()).enumerate() {
                let twice = (1..nodes.len()).find(|&k| nodes[..k].contains(&nodes[k])).map(|k| nodes[k]);
                let (defect, what) = match (outside(nodes), twice) {
                    (Some(bad), _) => (Defect::WrongIndex, outside_text(bad)),
                    (None, Some(twice)) => (Defect::RepeatedNode, format!("node {twice} stands in it twice")),
                    (None, None) => continue,
                };
                let number = slice.first[kind as usize] + i;
                let (subject, place) = (Subject::Element(kind, number), Some(self.element(kind, number)));
                report.add(defect, || Finding {
                    defect,
                    subject,
                    nodes: nodes.to_vec(),
                    at: None,
                    place,
                    what,
                });
            }
        }
        for face in &slice.faces {
            let (nodes, defect) = (super::patches::corners(&face.nodes), Defect::WrongIndex);
            if let Some(bad) = outside(nodes) {
                let place = Some(Place::Byte(self.sections.face(face.number as usize)));
                let subject = Subject::Face(face.patch.to_string(), nodes.len(), face.number as usize);
                let (nodes, what) = (nodes.to_vec(), outside_text(bad));
                report.add(defect, || Finding { defect, subject, nodes, at: None, place, what });
            }
        }
        for (i, &x) in slice.nodes.iter().enumerate().filter(|(_, x)| x.iter().any(|c| !c.is_finite())) {
            let what = format!("coordinates {} {} {}", x[0], x[1], x[2]);
            report.add(Defect::NotFinite, || self.of_node(Defect::NotFinite, slice.first_node + i, x, what));
        }
        report
    }
}

/// What the parts of a mesh are called in its file.
pub struct Names<'a> {
    /// The file.
    pub slices: &'a Slices,
    /// Number of each node, ascending.
    pub nodes: &'a [u32],
    /// Numbers of the elements of each type, within the type.
    pub elements: &'a [Vec<u32>; 4],
    /// Numbers of the faces of each marker in the marker's lists of triangles and of quadrilaterals, and in the file.
    pub faces: &'a [[Vec<[u32; 2]>; 2]],
}

/// Does to a part of a mesh what a reader of the whole does: turns over elements and faces that stand the other way round, and checks
/// volumes, doubles and faces. All elements around nodes that are `owned` are there, with their neighbors and boundary faces; found is
/// what is wrong with elements and faces whose lowest node is owned.
pub fn mend(mesh: &mut Mesh, owned: &[bool], names: &Names<'_>, count: usize) -> Report {
    let threads = threads(count);
    orient_elements(mesh, &mut Flipped::default(), threads);
    let judged = |nodes: &[u32]| nodes.iter().min().is_some_and(|&low| owned[low as usize]);
    let mut checker =
        Checker { mesh, places: None, report: Report::default(), threads, judged: Some(&judged) };
    checker.volumes();
    checker.duplicates();
    let pass = checker.faces();
    let mut report = checker.report;
    turn_over(mesh, &pass.tangled);
    orient_faces(mesh, pass.turned);
    report.findings.iter_mut().for_each(|finding| names.to_file(finding, mesh));
    report
}

impl Names<'_> {
    /// A finding by numbers of a part becomes one by those of the file.
    fn to_file(&self, finding: &mut Finding, mesh: &Mesh) {
        finding.nodes.iter_mut().for_each(|n| *n = self.nodes[*n as usize]);
        match &mut finding.subject {
            Subject::Element(kind, i) => {
                *i = self.elements[*kind as usize][*i] as usize;
                finding.place = Some(self.slices.element(*kind, *i));
            }
            Subject::Face(name, corners, i) => {
                let marker = mesh.markers.iter().position(|m| m.name == *name);
                if let Some(&[in_marker, in_file]) =
                    marker.and_then(|marker| self.faces[marker][*corners - 3].get(*i))
                {
                    *i = in_marker as usize;
                    finding.place = Some(Place::Byte(self.slices.sections.face(in_file as usize)));
                }
            }
            Subject::Node(_) | Subject::Marker(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_whole_and_know_their_readers() {
        for (count, parts) in [(0, 3), (1, 5), (7, 3), (1000, 7), (5, 8)] {
            let mut next = 0;
            for part in 0..parts {
                let range = range_of(count, parts, part);
                assert_eq!(range.start, next);
                assert!(range.clone().all(|i| reader_of(count, parts, i) == part));
                next = range.end;
            }
            assert_eq!(next, count);
        }
    }
}
