//! Periodic sides of a mesh that no rank holds whole: their nodes are one before rows are given to ranks.
//!
//! Sides are a part of the boundary, which all ranks may know: each gathers the faces and nodes of all sides, and finds which node is the image
//! of which as a reader of the whole does, with the same numbers in the same order. Elements keep the nodes that the file gives them; who
//! owns a node, and which row it is, is asked of the lowest node that it is one with.

use super::elements::{Face, corners, place_of};
use super::{Sliced, SlicedError};
use crate::mesh::periodic::{Pair, PeriodicError, Periods, are_fine_enough, merge, pair_by_code};
use crate::mesh::{Mesh, Planar, range_of};
use crate::ranks::post::{Table, distinct, gather_all};
use chromaflow_comm::Communicator;

/// Sides that were joined; none by default.
#[derive(Default)]
pub struct Sides {
    /// Whether each marker is one.
    pub joined: Vec<bool>,
    pub periods: Periods,
    /// Nodes on sides, ascending, where they are, and the lowest that each is one with.
    nodes: Vec<u32>,
    places: Vec<[f64; 3]>,
    lowest: Vec<u32>,
    /// What nodes stand at.
    table: Option<Table>,
    /// Of a planar mesh, whose back plane's nodes have the rows of those before them.
    pub planar: Option<Planar>,
}

/// A node of the file that is one with a lower one, that one, and where it is itself.
pub type Twin = (u32, u32, [f64; 3]);

impl Sides {
    /// None yet, of a planar mesh or another.
    pub fn of(planar: Option<Planar>) -> Self {
        Self { planar, ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn at(&self, node: u32) -> Option<usize> {
        self.table.as_ref()?.get(node).map(|at| at as usize)
    }

    /// Whether a node lies in the first plane of a planar mesh, or anywhere in another one.
    pub fn is_in_front(&self, node: u32) -> bool {
        self.planar.is_none_or(|planar| (node as usize) < planar.nodes_2d)
    }

    /// The node whose row a node's is.
    pub fn lowest(&self, node: u32) -> u32 {
        let node = self.planar.map_or(node, |planar| node % planar.nodes_2d as u32);
        self.at(node).map_or(node, |at| self.lowest[at])
    }

    /// Where a node on a side is; none of others.
    pub fn place(&self, node: u32) -> Option<[f64; 3]> {
        self.at(node).map(|at| self.places[at])
    }

    /// Whether a marker is a side.
    pub fn has(&self, marker: u32) -> bool {
        self.joined.get(marker as usize).is_some_and(|&joined| joined)
    }

    /// Nodes that have no row of their own.
    pub fn twins(&self) -> Vec<Twin> {
        let all = self.nodes.iter().zip(&self.lowest).zip(&self.places);
        all.filter(|((node, lowest), _)| node != lowest)
            .map(|((&node, &lowest), &at)| (node, lowest, at))
            .collect()
    }
}

impl Sliced {
    /// Joins the pairs of sides that `pairs` names of a mesh that has these markers with their faces, and those that `is_side` picks; collective.
    ///
    /// # Errors
    /// [`SlicedError::Periodic`] where sides do not fit, the same on all ranks; [`SlicedError::Whole`] where they are turned.
    pub fn join(
        &mut self,
        ranks: &dyn Communicator,
        is_side: impl Fn(&str) -> bool,
        pairs: impl FnOnce(&Mesh) -> Result<Vec<Pair>, PeriodicError>,
    ) -> Result<(), SlicedError> {
        if self.sides.planar.is_some() {
            return Err(SlicedError::Whole {
                what: "a periodic side of a planar mesh".to_owned(),
                remedy: "give the mesh in space",
            });
        }
        let mut own: Vec<Face> = Vec::new();
        for (face, &[marker, number]) in self.slice.faces.iter().zip(&self.in_markers) {
            if is_side(&self.markers[marker as usize].name) {
                let [a, b, c, d] = face.nodes;
                own.push([a, b, c, d, marker, number, face.number]);
            }
        }
        let mut faces = gather_all(ranks, &own)?.concat();
        faces.sort_unstable_by_key(place_of);
        let nodes = distinct(faces.iter().flat_map(|face| corners(face).iter().copied()));
        // Ranges of nodes stand in the order of ranks.
        let range = range_of(self.counts().nodes, ranks.size(), ranks.rank());
        let here = nodes.iter().filter(|node| range.contains(&(**node as usize)));
        let places: Vec<[f64; 3]> = here.map(|&node| self.slice.nodes[node as usize - range.start]).collect();
        let places = gather_all(ranks, &places)?.concat();
        let table = Table::of(&nodes);
        let mut mesh = Mesh { nodes: places.clone(), markers: self.markers.clone(), ..Mesh::default() };
        for face in &faces {
            let at = |node: &u32| table.get(*node).expect("a node of a face");
            super::part::push(&mut mesh.markers[face[4] as usize], corners(face).iter().map(at));
        }
        pair_by_code(&mut mesh);
        let joined = pairs(&mesh).and_then(|pairs| merge(&mesh, &pairs));
        let (merged, images) = joined.map_err(|error| error.numbered(|at| nodes[at as usize]))?;
        if images.turned.is_some() {
            return Err(SlicedError::Whole {
                what: "a periodic side that is turned about an axis".to_owned(),
                remedy: "make the mesh with sides that are translated",
            });
        }
        self.sides = Sides {
            joined: self.markers.iter().map(|marker| images.joined.contains(&marker.name)).collect(),
            periods: merged.periods,
            lowest: images.merged.iter().map(|&at| nodes[images.first[at as usize] as usize]).collect(),
            nodes,
            places,
            table: Some(table),
            planar: None,
        };
        Ok(())
    }

    /// Elements of all ranks are narrower than half a period; `mesh` has its own before sides were joined.
    pub(super) fn are_narrow(&self, ranks: &dyn Communicator, mesh: &Mesh) -> Result<(), SlicedError> {
        if self.sides.is_empty() {
            return Ok(());
        }
        let own = match are_fine_enough(mesh, &self.sides.periods) {
            Err(PeriodicError::Coarse { at, step }) => vec![at, step],
            _ => Vec::new(),
        };
        let found = gather_all(ranks, &own)?;
        let first = found.iter().filter_map(|found| found.first_chunk::<2>());
        let first = first.min_by(|a, b| a[0].partial_cmp(&b[0]).unwrap_or(std::cmp::Ordering::Equal));
        first.map_or(Ok(()), |&[at, step]| Err(PeriodicError::Coarse { at, step }.into()))
    }
}

impl From<PeriodicError> for SlicedError {
    fn from(error: PeriodicError) -> Self {
        Self::Periodic(Box::new(error))
    }
}

/// Parts of a mesh by the file's nodes.
pub(super) struct InFile {
    /// The file's numbers, ascending.
    pub numbers: Vec<u32>,
    pub places: Vec<[f64; 3]>,
    /// Which node of the part, those that have rows, each is.
    pub node: Vec<u32>,
}

impl InFile {
    /// Of nodes that elements have, and those that have rows here, which ascend, with their places.
    pub fn of(
        sides: &Sides,
        named: impl Iterator<Item = u32>,
        (rows, places): (&[u32], &[[f64; 3]]),
    ) -> Self {
        if sides.is_empty() {
            let node: Vec<u32> = (0..rows.len() as u32).collect();
            let mut found = Self { numbers: rows.to_vec(), places: places.to_vec(), node };
            if let Some(Planar { nodes_2d, depth }) = sides.planar {
                found.numbers.extend(rows.iter().map(|number| number + nodes_2d as u32));
                found.places.extend(places.iter().map(|&[x, y, _]| [x, y, depth]));
                found.node.extend_from_within(..);
            }
            return found;
        }
        let numbers = distinct(named);
        let of = |&number: &u32| {
            rows.binary_search(&sides.lowest(number)).expect("an element is here with all its rows") as u32
        };
        let node: Vec<u32> = numbers.iter().map(of).collect();
        let place = |(&number, &node): (&u32, &u32)| sides.place(number).unwrap_or(places[node as usize]);
        let places = numbers.iter().zip(&node).map(place).collect();
        Self { numbers, places, node }
    }
}

impl Sides {
    /// The mesh of rows, whose nodes are at `places`, from that of the file's nodes.
    pub(super) fn joined(&self, mesh: &Mesh, in_file: &InFile, places: Vec<[f64; 3]>) -> Mesh {
        let mut mesh = mesh.clone();
        mesh.nodes = places;
        mesh.renumber(|at| in_file.node[at as usize]);
        self.without(&mut mesh);
        mesh
    }

    /// The boundary of the mesh of rows from that of the file's nodes, which stand in the order of these rows, of one row the lowest first; without
    /// what lies on sides alone.
    pub(super) fn boundary(&self, surface: &Mesh, rows: &[u32]) -> Mesh {
        let mut out = surface.clone();
        if self.is_empty() {
            return out;
        }
        self.without(&mut out);
        let mut kept: Vec<u32> = Vec::new();
        for marker in &out.markers {
            kept.extend(marker.triangles.as_flattened().iter().map(|&at| rows[at as usize]));
            kept.extend(marker.quads.as_flattened().iter().map(|&at| rows[at as usize]));
        }
        kept.sort_unstable();
        kept.dedup();
        let first = |row: &u32| surface.nodes[rows.partition_point(|other| other < row)];
        out.nodes = kept.iter().map(first).collect();
        out.renumber(|at| kept.binary_search(&rows[at as usize]).expect("a row of a face") as u32);
        out
    }

    /// Leaves the markers of sides out, and says how the mesh repeats.
    fn without(&self, mesh: &mut Mesh) {
        let mut joined = self.joined.iter();
        mesh.markers.retain(|_| !joined.next().is_some_and(|&joined| joined));
        mesh.periods = self.periods;
    }
}
