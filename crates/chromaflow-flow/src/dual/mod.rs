//! Median-dual control volumes around the nodes of a mixed mesh.
//!
//! Every element is cut into tetrahedra (node, edge midpoint, face centroid, element centroid); the pieces around a
//! node make its control volume. The pieces' triangles are plane even where a quadrilateral face is not, so every
//! control volume closes to round-off.
//!
//! **Source**: Barth and Jespersen (1989); Haselbacher and Blazek (2000) for mixed elements.

mod image;
pub(crate) mod topology;

#[cfg(test)]
mod generated;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use topology::elements;

pub use image::nearest_image;

use crate::mesh::pairs::Pairs;
use crate::mesh::periodic::Periods;
use crate::mesh::{Mesh, Planar};
pub(crate) use crate::mesh::{cross, dot, norm, sub};
use crate::parallel;
use crate::real::Real;
use chromaflow::BlockPattern;
use chromaflow_device::{Team, prefetch};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Edges, directed areas, control volumes and boundary areas of a mesh.
///
/// The edges are the upper triangle of [`Dual::pattern`] in its order: sorted by their lower node, then by their
/// upper one.
///
/// **Units**: areas and volumes in powers of the mesh's length unit.
#[derive(Clone, Debug)]
pub struct Dual {
    /// Neighbors of each node: the off-diagonal pattern of the Jacobian.
    pub pattern: Arc<BlockPattern>,
    /// Nodes a < b of each edge, `[edges]`.
    pub edges: Vec<[u32; 2]>,
    /// Area of the face between the control volumes of a and b, pointing from a to b, `[edges]`.
    pub areas: Vec<[f64; 3]>,
    /// Edge of each position of the pattern, `[nnzb]`.
    pub edge_of: Vec<u32>,
    /// Volume of each control volume, `[nodes]`.
    pub volumes: Vec<f64>,
    /// Boundary areas by marker, in the mesh's order of markers.
    pub patches: Vec<Patch>,
    /// After which translations the mesh repeats.
    pub periods: Periods,
}

/// The part of the control volumes' surface that lies on one marker.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Name of the marker.
    pub name: String,
    /// Nodes of the marker, ascending.
    pub nodes: Vec<u32>,
    /// Area vector that points out of the domain, for each of `nodes`.
    pub areas: Vec<[f64; 3]>,
    /// Area of the surface: more than the size of its vector where it bends, at the edge of a thin plate twice a side's to the vector's zero.
    pub sizes: Vec<f64>,
}

/// Size of the area vector of a wall's part over the part's area from which the wall is smooth there: it turns by less than 50 degrees.
const SMOOTH: f64 = 0.9;

/// Unit normal of a part of a wall from its area vector and its area; zeros at an edge, where there is none.
pub(crate) fn smooth_normal(area: [f64; 3], size: f64) -> [f64; 3] {
    let length = norm(area);
    if length > 0.0 && length >= SMOOTH * size { area.map(|n| n / length) } else { [0.0; 3] }
}

/// The part of a force along a unit normal, and the rest: of what a wall takes up, pressure and friction.
pub(crate) fn along_and_rest(force: [f64; 3], normal: [f64; 3]) -> [[f64; 3]; 2] {
    let along = normal.map(|n| dot(force, normal) * n);
    [along, sub(force, along)]
}

impl Patch {
    /// Unit normal out of the domain at the `i`-th node; zeros where the surface has an edge there, at which it turns by 50 degrees and more.
    ///
    /// ```
    /// use chromaflow_flow::{dual::Dual, mesh::generate::{Cells, box_mesh}};
    ///
    /// let dual = Dual::new(&box_mesh([2, 2, 2], [1.0; 3], Cells::Hexes, 0.0));
    /// let floor = dual.patches.iter().find(|patch| patch.name == "zmin").unwrap();
    /// assert_eq!(floor.smooth_normal(0), [0.0, 0.0, -1.0]);
    /// ```
    pub fn smooth_normal(&self, i: usize) -> [f64; 3] {
        smooth_normal(self.areas[i], self.sizes[i])
    }

    /// Those of its nodes that lie in a range of rows, and their areas.
    pub fn within(&self, rows: &Range<usize>) -> (&[u32], &[[f64; 3]]) {
        let bound = |row: usize| self.nodes.partition_point(|&i| (i as usize) < row);
        let part = bound(rows.start)..bound(rows.end);
        (&self.nodes[part.clone()], &self.areas[part])
    }
}

impl Dual {
    /// The median dual of `mesh`. Node indices must be in range, as every reader checks.
    #[must_use]
    pub fn new(mesh: &Mesh) -> Self {
        Self::of_edges(mesh, &Pairs::edges(mesh), &Team::new(1))
    }

    /// The same from the edges of `mesh`, on all members of `team`. It does not depend on their number.
    pub(crate) fn of_edges(mesh: &Mesh, pairs: &Pairs, team: &Team) -> Self {
        let (pattern, edge_of) = pairs.graph_with(team.size());
        let edges = pairs.to_vec_with(team.size());
        // Patches are little beside the rest: one more thread makes them, where there are some.
        let ((areas, cones), patches) = if team.size() == 1 {
            (areas(mesh, pairs, team), patches(mesh))
        } else {
            std::thread::scope(|scope| {
                let patches = scope.spawn(|| patches(mesh));
                let areas = areas(mesh, pairs, team);
                (areas, patches.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            })
        };
        let mut volumes = vec![0.0; mesh.nodes.len()];
        parallel::rows(team, volumes.len(), 1, &mut volumes, |rows, volumes| {
            for (row, volume) in rows.zip(volumes) {
                *volume = edge_of[pattern.range(row)].iter().map(|&edge| cones[edge as usize]).sum();
            }
        });
        Self { areas, volumes, patches, pattern: Arc::new(pattern), edges, edge_of, periods: mesh.periods }
    }

    /// The dual of a layer of prisms and hexahedra (see [`Planar`]) seen as two-dimensional: every node stands for itself
    /// and for the one above it, so `nodes_2d` remain; edges across the layer and its two planes are gone, what lies
    /// along the layer is added up. Nothing is lost where both planes carry the same state and nothing moves across.
    ///
    /// A flow solver gains more than half the work: where cells are much wider than the layer is deep, coupling across
    /// the layer would swamp every other one in its linear systems.
    #[must_use]
    pub fn collapsed(&self, nodes_2d: usize) -> Self {
        let n = nodes_2d as u32;
        let flat = |[a, b]: [u32; 2]| [(a % n).min(b % n), (a % n).max(b % n)];
        let front = Pairs::new(nodes_2d, |pair| {
            self.edges.iter().filter(|[_, b]| *b < n).for_each(|&[a, b]| pair(a, b));
        });
        let (pattern, edge_of) = front.graph();
        let edges = front.to_vec();
        let mut out = Self {
            areas: vec![[0.0; 3]; edges.len()],
            volumes: vec![0.0; nodes_2d],
            patches: Vec::new(),
            pattern: Arc::new(pattern),
            edges,
            edge_of,
            periods: self.periods,
        };
        for ([a, b], area) in self.edges.iter().zip(&self.areas).filter(|([a, b], _)| a % n != b % n) {
            let [low, high] = flat([*a, *b]);
            let edge = out.edge(low, high).expect("both planes have the same edges");
            let sign = if a % n == low { 1.0 } else { -1.0 };
            for d in 0..2 {
                out.areas[edge][d] += sign * area[d];
            }
        }
        for (i, volume) in self.volumes.iter().enumerate() {
            out.volumes[i % nodes_2d] += volume;
        }
        for patch in &self.patches {
            if patch.name == Planar::FRONT || patch.name == Planar::BACK {
                continue;
            }
            let mut nodes: Vec<u32> = patch.nodes.iter().map(|i| i % n).collect();
            nodes.sort_unstable();
            nodes.dedup();
            let (mut areas, mut sizes) = (vec![[0.0; 3]; nodes.len()], vec![0.0; nodes.len()]);
            for ((i, area), size) in patch.nodes.iter().zip(&patch.areas).zip(&patch.sizes) {
                let at = nodes.binary_search(&(i % n)).expect("the node was put there above");
                sizes[at] += size;
                for d in 0..2 {
                    areas[at][d] += area[d];
                }
            }
            out.patches.push(Patch { name: patch.name.clone(), nodes, areas, sizes });
        }
        out
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.volumes.len()
    }

    /// The edge between two nodes.
    pub fn edge(&self, a: u32, b: u32) -> Option<usize> {
        self.pattern.find(a as usize, b as usize).map(|k| self.edge_of[k] as usize)
    }

    /// From the place `a` of a node to the place `b` of a neighbor, the shortest way where the mesh repeats.
    #[inline(always)]
    pub fn between<T: Real>(&self, a: &[T; 3], b: &[T; 3]) -> [T; 3] {
        between(&self.periods, a, b)
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        self.pattern.bytes()
            + size_of_val(&*self.edges)
            + size_of_val(&*self.areas)
            + size_of_val(&*self.edge_of)
            + size_of_val(&*self.volumes)
            + self
                .patches
                .iter()
                .map(|p| size_of_val(&*p.nodes) + size_of_val(&*p.areas) + size_of_val(&*p.sizes))
                .sum::<usize>()
    }

    /// The largest gap of a control volume: |sum of its outward areas|, over the sum of their magnitudes.
    pub fn closure_error(&self) -> f64 {
        let mut sum = vec![[0.0; 3]; self.nodes()];
        let mut size = vec![0.0; self.nodes()];
        let mut add = |node: u32, sign: f64, area: &[f64; 3]| {
            for d in 0..3 {
                sum[node as usize][d] += sign * area[d];
            }
            size[node as usize] += norm(*area);
        };
        for ([a, b], area) in self.edges.iter().zip(&self.areas) {
            add(*a, 1.0, area);
            add(*b, -1.0, area);
        }
        for patch in &self.patches {
            for (node, area) in patch.nodes.iter().zip(&patch.areas) {
                add(*node, 1.0, area);
            }
        }
        sum.iter().zip(&size).map(|(s, &a)| norm(*s) / a).fold(0.0, f64::max)
    }
}

/// Areas of the faces between control volumes, each the sum over the elements around its edge in their order; and a sixth of area times
/// length of each edge, the volume of the tetrahedra of pieces on either side of it.
fn areas(mesh: &Mesh, pairs: &Pairs, team: &Team) -> (Vec<[f64; 3]>, Vec<f64>) {
    let (mut areas, mut cones) = (vec![[0.0; 3]; pairs.len()], vec![0.0; pairs.len()]);
    let ptr = pairs.beginnings();
    let ranges = topology::node_ranges(mesh.nodes.len());
    let cut =
        topology::cut(&mut areas, ptr, &ranges).into_iter().zip(topology::cut(&mut cones, ptr, &ranges));
    let of_ranges: Vec<_> = cut.map(Mutex::new).collect();
    topology::around_lower(mesh, team.size(), |own| {
        let mut of_range = of_ranges[own.number].lock().expect("one thread has these nodes");
        let (areas, cones) = &mut *of_range;
        let first = ptr[own.range.start];
        for node in own.range.clone() {
            ask_ahead(mesh, own, node);
            let above = pairs.above(node);
            let edges = (ptr[node] - first) as usize..(ptr[node + 1] - first) as usize;
            let (areas, cones) = (&mut areas[edges.clone()], &mut cones[edges]);
            for &e in own.of(node) {
                let (kind, _, nodes) = mesh.element(e as usize);
                topology::areas_above(mesh, kind, nodes, node as u32, |other, area| {
                    let at = above.binary_search(&other).expect("every pair of an element was named");
                    areas[at] = add(areas[at], area);
                });
            }
            for ((cone, area), &other) in cones.iter_mut().zip(&*areas).zip(above) {
                *cone = dot(*area, mesh.between(node as u32, other)) / 6.0;
            }
        }
    });
    drop(of_ranges);
    (areas, cones)
}

/// Asks the memory for the places of the corners around the next node, and for the elements around the one after it, which stand anywhere.
fn ask_ahead(mesh: &Mesh, own: &topology::Buckets<u32>, node: usize) {
    let next = |step: usize| {
        let there = node + step < own.range.end;
        there.then(|| own.of(node + step)).into_iter().flatten().map(|&e| mesh.element(e as usize).2)
    };
    next(2).for_each(|nodes| prefetch::<1, _>(nodes.as_ptr()));
    next(1).flatten().for_each(|&i| prefetch::<1, _>(mesh.nodes[i as usize].as_ptr()));
}

fn patches(mesh: &Mesh) -> Vec<Patch> {
    let mut place = vec![0; mesh.nodes.len()];
    mesh.markers.iter().map(|marker| patch(mesh, marker, &mut place)).collect()
}

/// The patch of a marker; `place` has room for a number of each node.
fn patch(mesh: &Mesh, marker: &crate::mesh::Marker, place: &mut [u32]) -> Patch {
    let mut nodes: Vec<u32> =
        marker.triangles.iter().flatten().chain(marker.quads.iter().flatten()).copied().collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
    let (mut areas, mut sizes) = (vec![[0.0; 3]; nodes.len()], vec![0.0; nodes.len()]);
    let mut gather = |node: u32, area: [f64; 3]| {
        let at = place[node as usize] as usize;
        sizes[at] += norm(area);
        for d in 0..3 {
            areas[at][d] += area[d];
        }
    };
    let faces =
        marker.triangles.iter().map(|t| t.as_slice()).chain(marker.quads.iter().map(|q| q.as_slice()));
    for face in faces {
        let x = &mesh.corners(face)[..face.len()];
        let center = topology::middle(x);
        for (i, &p) in face.iter().enumerate() {
            let k = (i + 1) % face.len();
            let (q, xp, xq) = (face[k], x[i], x[k]);
            let mid = scale(0.5, add(xp, xq));
            gather(p, scale(0.5, cross(sub(mid, xp), sub(center, xp))));
            gather(q, scale(0.5, cross(sub(xq, mid), sub(center, mid))));
        }
    }
    Patch { name: marker.name.clone(), nodes, areas, sizes }
}

/// From the place `a` of a node to the place `b` of a neighbor.
#[inline(always)]
pub(crate) fn between<T: Real>(periods: &Periods, a: &[T; 3], b: &[T; 3]) -> [T; 3] {
    let mut dx = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    for (step, across) in periods.steps().iter().zip(periods.across()) {
        dx = nearest_image(&dx, &step.map(T::c), &across.map(T::c));
    }
    dx
}

/// The corners of an element at their places next to its first.
#[inline(always)]
pub(crate) fn drawn_together<T: Real, const N: usize>(periods: &Periods, x: &mut [[T; 3]; N]) {
    if periods.is_empty() {
        return;
    }
    let first = x[0];
    for corner in &mut x[1..] {
        let dx = between(periods, &first, corner);
        for d in 0..3 {
            corner[d] = first[d] + dx[d];
        }
    }
}

#[inline]
pub(crate) fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline]
pub(crate) fn scale(s: f64, a: [f64; 3]) -> [f64; 3] {
    [s * a[0], s * a[1], s * a[2]]
}
