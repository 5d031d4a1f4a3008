//! Where in its file each element, face and node stood, in little memory.

use super::{Kind, Place};

/// The places of a list of things: runs of a constant stride, so that a plain file costs a few numbers and not one
/// per element.
#[derive(Clone, Debug, Default)]
pub struct Places {
    runs: Vec<Run>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    first: usize,
    place: u64,
    stride: u64,
}

impl Places {
    /// Adds the place of the next thing. Places must not go down.
    pub(crate) fn push(&mut self, place: u64) {
        let len = self.len;
        self.len += 1;
        if let Some(run) = self.runs.last_mut() {
            let k = len - run.first;
            if k == 1 && place >= run.place {
                run.stride = place - run.place;
                return;
            }
            if k as u64 * run.stride + run.place == place {
                return;
            }
        }
        self.runs.push(Run { first: len, place, stride: 0 });
    }

    /// Adds the places of things that stand one after another.
    pub(crate) fn push_run(&mut self, place: u64, stride: u64, count: usize) {
        if count > 0 {
            self.runs.push(Run { first: self.len, place, stride });
            self.len += count;
        }
    }

    /// Adds those of another list.
    pub(crate) fn append(&mut self, other: &Self) {
        self.runs.extend(other.runs.iter().map(|run| Run { first: run.first + self.len, ..*run }));
        self.len += other.len;
    }

    /// Place of the `i`-th thing.
    pub fn get(&self, i: usize) -> Option<u64> {
        let run = self.runs[..self.runs.partition_point(|r| r.first <= i)].last()?;
        (i < self.len).then(|| run.place + (i - run.first) as u64 * run.stride)
    }
}

/// Places of the faces of one marker.
#[derive(Clone, Debug, Default)]
pub struct MarkerPlaces {
    /// Of its triangles.
    pub triangles: Places,
    /// Of its quadrilaterals (of its edges, where the mesh was two-dimensional).
    pub quads: Places,
}

/// Where in its file everything of a mesh stood.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// Whether places are byte offsets; line numbers otherwise.
    pub(crate) bytes: bool,
    pub(crate) nodes: Places,
    pub(crate) elements: [Places; 4],
    pub(crate) markers: Vec<MarkerPlaces>,
    /// Nodes of the two-dimensional file whose mesh was extruded; zero otherwise.
    pub(crate) nodes_2d: usize,
}

impl Provenance {
    fn place(&self, at: Option<u64>) -> Option<Place> {
        at.map(|n| if self.bytes { Place::Byte(n) } else { Place::Line(n) })
    }

    /// Place of an element.
    pub fn element(&self, kind: Kind, i: usize) -> Option<Place> {
        self.place(self.elements[kind as usize].get(i))
    }

    /// Place of a node.
    pub fn node(&self, i: usize) -> Option<Place> {
        self.place(self.nodes.get(if self.nodes_2d > 0 { i % self.nodes_2d } else { i }))
    }

    /// Place of a boundary face of `corners` corners.
    pub fn face(&self, marker: usize, corners: usize, i: usize) -> Option<Place> {
        let m = self.markers.get(marker)?;
        self.place(if corners == 3 { m.triangles.get(i) } else { m.quads.get(i) })
    }
}
