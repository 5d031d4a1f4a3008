//! Meshes read by slices: each of several readers takes its range of the nodes, of the elements of each type and of the boundary faces, so
//! that none holds the whole.
//!
//! Slices keep the file's numbers. What a reader of the whole mesh does to it, turning elements and faces over and checking, is done where
//! the neighbors of an element are known: [`mend`] does it in a part of the mesh.

mod records;
pub(super) mod su2;
#[cfg(test)]
mod tests;

pub(super) use records::{Records, Table, nodes_of, point};

use super::mapbc::{self, Patches};
use super::patches::marker_names;
use super::{Format, gmf, ugrid};
use crate::check::Checker;
use crate::par::{each_part, threads};
use crate::raw::{Flipped, check_depth, orient_elements, orient_faces, turn_over};
use crate::{Defect, Finding, Kind, Marker, Mesh, MeshError, Place, Planar, ReadOptions, Report, Subject};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many nodes, triangles and quadrilaterals of the boundary, and elements of each type a mesh has; a planar one as the layer that is made
/// of it.
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
    /// Its number in the file: triangles first, in a text in the order of lines.
    pub number: u32,
}

/// One reader's ranges of a mesh, in the numbers of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    /// Number of the first node.
    pub first_node: usize,
    /// Coordinates of the nodes; of a planar mesh those of its first plane.
    pub nodes: Vec<[f64; 3]>,
    /// Numbers of the first element of each type, within the type.
    pub first: [usize; 4],
    /// Nodes of the elements of each type, one element after another.
    pub elements: [Vec<u32>; 4],
    /// Boundary faces; of a planar mesh those between its planes.
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

/// What slices ask of a file's format.
pub(super) trait Source: fmt::Debug + Send + Sync {
    /// How much there is of everything.
    fn counts(&self) -> Counts;
    /// Reads the ranges of one of several readers.
    fn read(&self, part: usize, parts: usize) -> Result<Slice, MeshError>;
    /// Where a node stands.
    fn node(&self, number: usize) -> Option<Place>;
    /// Where a boundary face stands, by [`SliceFace::number`].
    fn face(&self, number: usize) -> Option<Place>;
    /// Where an element stands, by its number within its type.
    fn element(&self, kind: Kind, number: usize) -> Option<Place>;
    /// Whether it is of a plane: its elements are given as those of one layer, without the nodes of the back plane.
    fn is_planar(&self) -> bool {
        false
    }
    /// Names of the patches by number, where the file has them.
    fn names(&self) -> &[String] {
        &[]
    }
}

/// The error of a file that cannot be read by slices, and why.
pub(super) fn whole(path: &Path, what: &str) -> MeshError {
    MeshError::unsupported(path, format!("{what} be read by slices: read it whole"))
}

/// A file that can be read by slices.
#[derive(Clone, Debug)]
pub struct Slices {
    path: PathBuf,
    source: Arc<dyn Source>,
    table: Patches,
    planar: Option<Planar>,
}

/// What one of several readers has seen of a file that wants all of them to know where things are.
#[derive(Debug)]
pub struct Survey {
    path: PathBuf,
    source: Option<Arc<dyn Source>>,
    table: Patches,
    depth: f64,
    seen: Vec<u8>,
}

impl Survey {
    /// Looks at the head of a file; of a text at one of several readers' range of bytes.
    ///
    /// # Errors
    /// [`MeshError::Unsupported`] with the reason for a file that cannot be read by slices; where it cannot be read, is damaged or cut short.
    pub fn of(path: &Path, options: &ReadOptions, part: usize, parts: usize) -> Result<Self, MeshError> {
        let format = options.format.map_or_else(|| Format::of(path), Ok)?;
        if !matches!(format, Format::UgridBinary(_) | Format::Gmf | Format::Su2) {
            return Err(whole(path, &format!("a mesh in the format {format} cannot")));
        }
        if chromaflow::files::without_compression(path) != path {
            return Err(whole(path, "a compressed mesh cannot"));
        }
        if options.allow_tangled || options.drop_unused || options.merge {
            return Err(whole(
                path,
                "a mesh with folded elements, unused nodes or nodes to be merged cannot",
            ));
        }
        let records = match format {
            Format::UgridBinary(layout) => Some(ugrid::records(path, layout)?),
            Format::Gmf => Some(gmf::records(path)?),
            _ => None,
        };
        let seen = if records.is_some() { Vec::new() } else { su2::pack(&su2::survey(path, part, parts)?) };
        let table = if records.is_some() { mapbc::find(path, options)? } else { Patches::new() };
        let is_named = |plane: &str| table.values().any(|(name, _)| name.as_deref() == Some(plane));
        if matches!(format, Format::UgridBinary(_)) && is_named(Planar::FRONT) && is_named(Planar::BACK) {
            return Err(whole(path, "a planar mesh in a file of meshes in space cannot"));
        }
        let source = records.map(|records| Arc::new(records) as Arc<dyn Source>);
        Ok(Self { path: path.to_owned(), source, table, depth: options.depth.unwrap_or(1.0), seen })
    }

    /// What the other readers must know.
    pub fn seen(&self) -> &[u8] {
        &self.seen
    }

    /// The file, from what all readers have seen, in their order.
    ///
    /// # Errors
    /// As [`Survey::of`].
    pub fn joined(self, seen: &[Vec<u8>]) -> Result<Slices, MeshError> {
        let Self { path, source, table, depth, .. } = self;
        let source = match source {
            Some(source) => source,
            None => Arc::new(su2::Sections::of(&path, seen)?),
        };
        let counts = source.counts();
        if counts.cells() == 0 {
            let what = "no elements that fill a volume or a plane (a surface mesh?)".to_owned();
            return Err(MeshError::unsupported(&path, what));
        }
        let planar = source.is_planar().then_some(Planar { nodes_2d: counts.nodes / 2, depth });
        if planar.is_some() {
            check_depth(depth)?;
        }
        Ok(Slices { path, source, table, planar })
    }
}

impl Slices {
    /// Looks at a file alone. Files of UGRID's and GMF's binary forms and texts of SU2 can be read by slices.
    ///
    /// # Errors
    /// As [`Survey::of`].
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, MeshError> {
        let parts = threads(options.threads);
        let surveys = each_part(parts, |part| Survey::of(path, options, part, parts));
        let mut surveys = surveys.into_iter().collect::<Result<Vec<_>, _>>()?;
        let seen: Vec<Vec<u8>> = surveys.iter_mut().map(|survey| std::mem::take(&mut survey.seen)).collect();
        surveys.swap_remove(0).joined(&seen)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How much the mesh has of everything.
    pub fn counts(&self) -> Counts {
        self.source.counts()
    }

    /// The nodes of its first plane and the depth of its layer, of a planar mesh.
    pub fn planar(&self) -> Option<Planar> {
        self.planar
    }

    /// Reads the ranges of one of several readers.
    ///
    /// # Errors
    /// As the reader of the whole file, of what stands in these ranges.
    pub fn read(&self, part: usize, parts: usize) -> Result<Slice, MeshError> {
        let slice = self.source.read(part, parts)?;
        let report = self.indices(&slice);
        if report.is_clean() {
            return Ok(slice);
        }
        Err(MeshError::Broken { path: self.path.clone(), report: Box::new(report) })
    }

    /// Numbers of the patches that the file names, whether they have faces or not.
    pub fn named(&self) -> Range<i64> {
        0..self.source.names().len() as i64
    }

    /// Markers without faces for the patches with these numbers, which ascend, with the file's names, or names and codes of the mesh's `.mapbc`.
    pub fn markers(&self, patches: &[i64]) -> Vec<Marker> {
        let names = match self.source.names() {
            [] => marker_names(patches, &self.table),
            names => names.iter().map(|name| (name.clone(), None)).collect(),
        };
        names.into_iter().map(|(name, code)| Marker { name, code, ..Marker::default() }).collect()
    }

    /// A finding of a node that no element has.
    pub fn unused(&self, number: usize, at: [f64; 3]) -> Finding {
        let what = "no element has it".to_owned();
        self.of_node(Defect::UnusedNode, number, at, what)
    }

    fn of_node(&self, defect: Defect, number: usize, at: [f64; 3], what: String) -> Finding {
        let (subject, nodes) = (Subject::Node(number), vec![number as u32]);
        let in_file = self.planar.map_or(number, |planar| number % planar.nodes_2d);
        Finding { defect, subject, nodes, at: Some(at), place: self.source.node(in_file), what }
    }

    /// The two planes of a planar mesh, at the elements of a slice.
    fn planes(&self, slice: &Slice) -> Vec<Marker> {
        if self.planar.is_none() {
            return Vec::new();
        }
        let [.., prisms, hexes] = &slice.elements;
        let mut layer = Mesh { markers: Planar::markers().into(), ..Mesh::default() };
        layer.prisms = prisms.as_chunks().0.to_vec();
        layer.hexes = hexes.as_chunks().0.to_vec();
        layer.fill_planes();
        layer.markers
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
                let subject = Subject::Element(kind, number);
                report.add(defect, || Finding {
                    defect,
                    subject,
                    nodes: nodes.to_vec(),
                    at: None,
                    place: self.source.element(kind, number),
                    what,
                });
            }
        }
        let mut face = |name: String, nodes: &[u32], number: usize, place: &dyn Fn() -> Option<Place>| {
            let (subject, defect) = (Subject::Face(name, nodes.len(), number), Defect::WrongIndex);
            if let Some(bad) = outside(nodes) {
                let (nodes, what) = (nodes.to_vec(), outside_text(bad));
                report.add(defect, || Finding { defect, subject, nodes, at: None, place: place(), what });
            }
        };
        for SliceFace { nodes, patch, number } in &slice.faces {
            let name = self.source.names().get(*patch as usize).cloned();
            let (name, number) = (name.unwrap_or_else(|| patch.to_string()), *number as usize);
            face(name, super::patches::corners(nodes), number, &|| self.source.face(number));
        }
        for plane in self.planes(slice) {
            let [.., prisms, hexes] = slice.first;
            for (number, nodes) in (prisms..).zip(&plane.triangles) {
                face(plane.name.clone(), nodes, number, &|| None);
            }
            for (number, nodes) in (hexes..).zip(&plane.quads) {
                face(plane.name.clone(), nodes, number, &|| None);
            }
        }
        let infinite = slice.nodes.iter().enumerate().filter(|(_, x)| x.iter().any(|c| !c.is_finite()));
        let infinite = infinite.map(|(i, x)| (slice.first_node + i, *x));
        let behind = |planar: Planar| {
            infinite.clone().map(move |(i, [x, y, _])| (i + planar.nodes_2d, [x, y, planar.depth]))
        };
        for (i, x) in infinite.clone().chain(self.planar.into_iter().flat_map(behind)) {
            let what = format!("coordinates {} {} {}", x[0], x[1], x[2]);
            report.add(Defect::NotFinite, || self.of_node(Defect::NotFinite, i, x, what));
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
    let doubtful = orient_elements(mesh, &mut Flipped::default(), threads);
    let judged = |nodes: &[u32]| nodes.iter().min().is_some_and(|&low| owned[low as usize]);
    let mut checker =
        Checker { mesh, places: None, report: Report::default(), threads, judged: Some(&judged) };
    checker.volumes(Some(&doubtful));
    let pass = checker.faces();
    let mut report = checker.report;
    turn_over(mesh, &pass.tangled);
    orient_faces(mesh, pass.turned);
    report.findings.iter_mut().for_each(|finding| names.to_file(finding, mesh));
    report.in_plane(names.slices.planar);
    report
}

impl Names<'_> {
    /// A finding by numbers of a part becomes one by those of the file.
    fn to_file(&self, finding: &mut Finding, mesh: &Mesh) {
        finding.nodes.iter_mut().for_each(|n| *n = self.nodes[*n as usize]);
        match &mut finding.subject {
            Subject::Element(kind, i) => {
                *i = self.elements[*kind as usize][*i] as usize;
                finding.place = self.slices.source.element(*kind, *i);
            }
            Subject::Face(name, corners, i) => {
                let marker = mesh.markers.iter().position(|m| m.name == *name);
                if let Some(&[in_marker, in_file]) =
                    marker.and_then(|marker| self.faces[marker][*corners - 3].get(*i))
                {
                    *i = in_marker as usize;
                    finding.place = self.slices.source.face(in_file as usize);
                }
            }
            Subject::Node(_) | Subject::Marker(_) | Subject::Cell(..) => {}
        }
    }
}
