//! Parts of a mesh that no rank holds whole.
//!
//! Each rank reads its ranges of the file. Nodes go to their owners along a curve of Hilbert, elements and boundary faces to all ranks that
//! own one of their nodes, and from these to those that need them for the second layer. Rows are colored by all ranks together. What comes
//! of it is the [`Part`] that rank 0 would have cut, but for the order of rows within a color, that of the curve, and for who owns what.
//! Neither order nor colors depend on the number of ranks.
//!
//! | file | |
//! |---|---|
//! | `curve.rs` | which rank owns which node |
//! | `elements.rs` | elements on their way to ranks |
//! | `color.rs` | colors found by all ranks |
//! | `part.rs` | the part made of what came |
//! | `sides.rs` | periodic sides |

mod curve;
mod elements;
mod part;
mod sides;
#[cfg(test)]
mod tests;

pub use curve::spread;
pub use part::Kept;
pub use sides::Twin;

use super::post::{distinct, gather_all, swap};
use super::{Part, own_host};
use crate::laps::Laps;
use crate::mesh::periodic::PeriodicError;
use crate::mesh::{
    Counts, Defect, Kind, Marker, MeshError, Place, Planar, ReadOptions, Report, Slice, Slices, Survey,
    check_markers, range_of, reader_of,
};
use crate::numbering::Numbering;
use chromaflow_comm::{CommError, Communicator};
use chromaflow_device::Team;
use curve::Node;
use elements::{Directory, Pack, second_layer, to_owners};
use sides::Sides;
use std::collections::BTreeMap;
use std::path::Path;

/// Why a mesh could not be divided by slices.
#[derive(Debug, thiserror::Error)]
pub enum SlicedError {
    /// The file, or the mesh in it.
    #[error(transparent)]
    Mesh(Box<MeshError>),
    /// What wants a rank that has the whole mesh.
    #[error("{what} needs a rank that has the whole mesh: read it whole, or {remedy}")]
    Whole {
        /// What was asked for.
        what: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// Periodic sides that do not fit.
    #[error(transparent)]
    Periodic(Box<PeriodicError>),
    /// Other ranks.
    #[error(transparent)]
    Ranks(#[from] CommError),
}

/// A mesh of whose file each rank has read its ranges.
pub struct Sliced {
    slices: Slices,
    slice: Slice,
    /// Markers without faces.
    markers: Vec<Marker>,
    /// Marker and number there of each face of the slice.
    in_markers: Vec<[u32; 2]>,
    /// Periodic sides that were joined.
    sides: Sides,
}

impl Sliced {
    /// Each rank reads its ranges of a file; collective.
    ///
    /// # Errors
    /// [`SlicedError::Mesh`], the same on all ranks, as the reader of the whole file has them.
    pub fn read(ranks: &dyn Communicator, path: &Path, options: &ReadOptions) -> Result<Self, SlicedError> {
        let survey = agreed(ranks, path, Survey::of(path, options, ranks.rank(), ranks.size()))?;
        let seen = ranks.gather_all(survey.seen())?;
        let slices = agreed(ranks, path, survey.joined(&seen))?;
        drop(seen);
        let counts = slices.counts();
        let [f, g] = counts.faces;
        let [a, b, c, d] = counts.elements;
        let seen = gather_all(ranks, &[counts.nodes, f, g, a, b, c, d].map(|n| n as u64))?;
        if let Some(other) = seen.iter().position(|other| *other != seen[0]) {
            let what = format!("{}: rank {other} reads another file than rank 0", path.display());
            return Err(SlicedError::Mesh(Box::new(MeshError::Request(format!(
                "{what}: slices need a file system that all hosts share"
            )))));
        }
        let slice = agreed(ranks, path, slices.read(ranks.rank(), ranks.size()))?;
        // How many triangles and quadrilaterals of each patch come before this rank's.
        let shape = |nodes: &[u32; 4]| usize::from(nodes[3] != u32::MAX);
        let mut own: BTreeMap<i64, [i64; 2]> = BTreeMap::new();
        for face in &slice.faces {
            own.entry(face.patch).or_default()[shape(&face.nodes)] += 1;
        }
        let own: Vec<i64> = own.into_iter().flat_map(|(patch, [t, q])| [patch, t, q]).collect();
        let mut next: BTreeMap<i64, [u32; 2]> = slices.named().map(|patch| (patch, [0; 2])).collect();
        let mut all = next.clone();
        for (rank, counts) in gather_all(ranks, &own)?.into_iter().enumerate() {
            for &[patch, t, q] in counts.as_chunks().0 {
                let before = next.entry(patch).or_default();
                for sums in
                    [all.entry(patch).or_default()].into_iter().chain((rank < ranks.rank()).then_some(before))
                {
                    *sums = [sums[0] + t as u32, sums[1] + q as u32];
                }
            }
        }
        let patches: Vec<i64> = next.keys().copied().collect();
        let mut place = |face: &crate::mesh::SliceFace| {
            let marker = patches.binary_search(&face.patch).expect("a patch of a face") as u32;
            let next = &mut next.get_mut(&face.patch).expect("as above")[shape(&face.nodes)];
            *next += 1;
            [marker, *next - 1]
        };
        let in_markers = slice.faces.iter().map(&mut place).collect();
        let mut markers = slices.markers(&patches);
        let mut empty: Vec<bool> = all.values().map(|faces| *faces == [0; 2]).collect();
        let sides = Sides::of(slices.planar());
        if sides.planar.is_some() {
            markers.extend(Planar::markers());
            empty.extend([false; 2]);
        }
        let sliced = Self { slices, slice, markers, in_markers, sides };
        let names = sliced.markers.iter().map(|marker| &*marker.name);
        // One rank tells what all see.
        let report = if ranks.rank() == 0 { check_markers(names.zip(empty)) } else { Report::default() };
        sliced.judged(ranks, report)?;
        Ok(sliced)
    }

    /// Multiplies all coordinates.
    pub fn scale(&mut self, by: f64) {
        self.slice.nodes.iter_mut().flatten().for_each(|x| *x *= by);
        self.sides.planar.iter_mut().for_each(|planar| planar.depth *= by);
    }

    /// How much the whole mesh has of everything.
    pub fn counts(&self) -> Counts {
        self.slices.counts()
    }

    /// Whether it is a planar mesh.
    pub fn is_planar(&self) -> bool {
        self.sides.planar.is_some()
    }

    /// Nodes that its file has.
    fn nodes(&self) -> usize {
        self.sides.planar.map_or(self.counts().nodes, |planar| planar.nodes_2d)
    }

    /// Its markers, without their faces.
    pub fn markers(&self) -> &[Marker] {
        &self.markers
    }

    /// This rank's part; collective. `viscous`: elements have colors.
    ///
    /// # Errors
    /// [`SlicedError`], of meshes the same on all ranks.
    pub fn divide(
        mut self,
        ranks: &dyn Communicator,
        numbering: Numbering<'_>,
        (team, laps): (&Team, &mut Laps),
        viscous: bool,
    ) -> Result<(Part, Kept), SlicedError> {
        if numbering.lines {
            return Err(SlicedError::Whole {
                what: "the preconditioner `lines`, whose lines may cross the mesh,".to_owned(),
                remedy: "choose `multicolor` or `ilu0`",
            });
        }
        let mut held = Held::default();
        let nodes = self.weighted(ranks)?;
        held.at("slices", self.slice.bytes() + size_of_val(&nodes[..]));
        let names = ranks.gather_all(&own_host())?;
        let (_, order) = super::by_host(&names);
        let (owned, of_nodes) = curve::divide(ranks, team, &nodes, &order)?;
        // Nodes without rows of their own have no owner.
        let mut owner = vec![u32::MAX; self.slice.nodes.len()];
        for (node, &of) in nodes.iter().zip(&of_nodes) {
            owner[node.number as usize - self.slice.first_node] = of;
        }
        drop((nodes, of_nodes));
        self.slice.nodes = Vec::new();
        laps.end("order");
        let mut in_markers = self.in_markers.iter();
        let read = Pack::of_slice(&mut self.slice, |face| {
            let [marker, number] = in_markers.next().expect("as many as faces");
            let [a, b, c, d] = face.nodes;
            [a, b, c, d, *marker, *number, face.number]
        });
        let (count, first, sides) = (self.nodes(), self.slice.first_node, &self.sides);
        let directory = Directory { ranks, count, first, owner, sides };
        let numbers: Vec<u32> = owned.iter().map(|node| node.number).collect();
        held.at("elements sent", 2 * read.bytes());
        let own = to_owners(&directory, read)?;
        let near = distinct(own.nodes().map(|node| sides.lowest(node)));
        let near_owners = directory.owners(&near)?;
        let outer = second_layer(&directory, &own, &numbers, (&near, &near_owners))?;
        held.at("layers", 2 * (own.bytes() + outer.bytes()));
        let all = own.joined(outer);
        laps.end("divide");
        let found = part::Found { sliced: &self, ranks, order, directory, owned, near, all };
        let made = found.into_part(numbering, (team, laps), viscous, held);
        laps.end("cut");
        made
    }

    /// The nodes that this rank has read, with the cost of their rows: their neighbors and two. As many elements as meet at a node, so many faces
    /// does the polyhedron around it have that its neighbors are the corners of: by Euler's formula these are 2 + sum (k / 2 - 1), where k is the
    /// number of edges of an element there, and on the boundary 1 + sum (k / 2 - 1) + b / 2 with b faces of the boundary. In a plane they are as many as
    /// elements, on its boundary one more, where two faces meet.
    fn weighted(&self, ranks: &dyn Communicator) -> Result<Vec<Node>, SlicedError> {
        let elements = Kind::ALL.into_iter().zip(&self.slice.elements).flat_map(|(kind, list)| {
            // Four edges meet at the apex of a pyramid: half as many again.
            let apexes = list.chunks_exact(kind.nodes()).filter(move |_| kind == Kind::Pyramid).map(|e| e[4]);
            list.iter().copied().chain(apexes)
        });
        let front = |node: &u32| self.sides.is_in_front(*node);
        let elements = elements.filter(front).map(|node| self.sides.lowest(node));
        // Faces of joined sides lie within the mesh.
        let faces = self.slice.faces.iter().zip(&self.in_markers).filter(|(_, of)| !self.sides.has(of[0]));
        let of_faces = faces.flat_map(|(face, _)| face.nodes).filter(|&n| n != u32::MAX);
        let of_faces = of_faces.filter(front).map(|node| self.sides.lowest(node));
        let counts = [self.counted(ranks, elements)?, self.counted(ranks, of_faces)?];
        let first = self.slice.first_node;
        let node = |(i, at): (usize, &[f64; 3])| {
            let [elements, faces] = [counts[0][i], counts[1][i]];
            let in_space = || elements + faces + if faces > 0 { 2 } else { 4 };
            let twice = if self.is_planar() { 2 * elements + faces } else { in_space() };
            Node { at: *at, number: (first + i) as u32, weight: twice / 2 + 2 }
        };
        let mut report = Report::default();
        let has_row = |i: usize| self.sides.lowest((first + i) as u32) as usize == first + i;
        let unused = |i: usize| counts[0][i] == 0 && has_row(i);
        for (i, &at) in self.slice.nodes.iter().enumerate().filter(|(i, _)| unused(*i)) {
            report.add(Defect::UnusedNode, || self.slices.unused(first + i, at));
        }
        self.judged(ranks, report)?;
        Ok(self.slice.nodes.iter().enumerate().filter(|(i, _)| has_row(*i)).map(node).collect())
    }

    /// How often all ranks name each node that this one has read.
    fn counted(
        &self,
        ranks: &dyn Communicator,
        named: impl Iterator<Item = u32>,
    ) -> Result<Vec<u32>, CommError> {
        let (all, size) = (self.nodes(), ranks.size());
        let range = range_of(all, size, ranks.rank());
        let (mut counts, mut others) = (vec![0; range.len()], Vec::new());
        named.for_each(|node| {
            match (node as usize).checked_sub(range.start).and_then(|at| counts.get_mut(at)) {
                Some(count) => *count += 1,
                None => others.push(node),
            }
        });
        others.sort_unstable();
        let mut lists = vec![Vec::new(); size];
        for same in others.chunk_by(|a, b| a == b) {
            lists[reader_of(all, size, same[0] as usize)].push([same[0], same.len() as u32]);
        }
        drop(others);
        for [node, count] in swap(ranks, lists)?.into_iter().flatten() {
            counts[node as usize - range.start] += count;
        }
        Ok(counts)
    }

    /// Ends on all ranks with what all have found, where that is anything.
    fn judged(&self, ranks: &dyn Communicator, report: Report) -> Result<(), SlicedError> {
        let found = if report.is_clean() {
            Ok(())
        } else {
            Err(MeshError::Broken { path: self.slices.path().to_owned(), report: Box::new(report) })
        };
        agreed(ranks, self.slices.path(), found)
    }
}

/// The most bytes that a rank held at once while the mesh was divided, and when: of the mesh, its own and that of messages under way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Bytes.
    pub bytes: usize,
    /// The stage.
    pub when: &'static str,
}

impl Held {
    fn at(&mut self, when: &'static str, bytes: usize) {
        if bytes > self.bytes {
            *self = Self { bytes, when };
        }
    }
}

/// What each rank has found, or the error of all: of the first place in the file, or all defects.
fn agreed<T>(ranks: &dyn Communicator, path: &Path, found: Result<T, MeshError>) -> Result<T, SlicedError> {
    let mine = match &found {
        Ok(_) => Vec::new(),
        Err(MeshError::Syntax { place: Place::Byte(at), what, .. }) => {
            [b"SB", &at.to_be_bytes()[..], what.as_bytes()].concat()
        }
        Err(MeshError::Syntax { place: Place::Line(at), what, .. }) => {
            [b"SL", &at.to_be_bytes()[..], what.as_bytes()].concat()
        }
        Err(MeshError::Broken { report, .. }) => [b"B", &report.pack()[..]].concat(),
        Err(other) => format!("T{other}").into_bytes(),
    };
    // Ranks read for as long as it takes.
    ranks.barrier_patiently()?;
    let all = ranks.gather_all(&mine)?;
    let of = |tag: u8| {
        let tagged = all.iter().filter_map(|said| said.split_first());
        tagged.filter(move |(first, _)| **first == tag).map(|(_, rest)| rest)
    };
    let path = path.to_owned();
    // Big-endian: the first place is the least.
    let syntax = of(b'S').filter_map(|said| said.split_first_chunk::<9>()).min();
    let error = if let Some(([kind, at @ ..], what)) = syntax {
        let (at, what) = (u64::from_be_bytes(*at), String::from_utf8_lossy(what).into_owned());
        let place = if *kind == b'L' { Place::Line(at) } else { Place::Byte(at) };
        MeshError::Syntax { path, place, what }
    } else if let Some(text) = of(b'T').next() {
        MeshError::Request(String::from_utf8_lossy(text).into_owned())
    } else if of(b'B').next().is_some() {
        MeshError::Broken { path, report: Box::new(Report::unpack(of(b'B'))) }
    } else {
        return found.map_err(|error| SlicedError::Mesh(Box::new(error)));
    };
    Err(SlicedError::Mesh(Box::new(error)))
}
