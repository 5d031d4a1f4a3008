//! Bodies that the walls of a mesh bound.

use crate::case::guess::{GROUNDS, bounds, is_outside, reach_of, says};
use crate::run::known;
use chromaflow_flow::mesh::{Marker, Mesh};

/// What the walls of a mesh tell.
pub(super) struct Body {
    pub(super) low: [f64; 3],
    pub(super) high: [f64; 3],
    /// Axis along which lift points: 1 or 2.
    pub(super) up: usize,
    /// What lift sees of them.
    pub(super) area: f64,
    /// Whether they bound a body by themselves.
    pub(super) closed: bool,
    /// Whether they are a plate across the stream.
    pub(super) plate: bool,
}

/// Of a plate across the stream, the most of its thickness over its sides.
const THIN: f64 = 0.2;

impl Body {
    pub(super) fn of(mesh: &Mesh, is_wall: impl Fn(&Marker) -> bool) -> Option<Self> {
        let walls = mesh.markers.iter().filter(|m| is_wall(m));
        let (outside, inside): (Vec<&Marker>, Vec<&Marker>) = walls.partition(|m| is_outside(mesh, m));
        // The walls of a tunnel, and the ground, are no part of what stands between them.
        let walls = if inside.is_empty() { outside } else { inside };
        let faces = || {
            walls.iter().flat_map(|m| {
                let triangles = m.triangles.iter().map(|t| t.as_slice());
                triangles.chain(m.quads.iter().map(|q| q.as_slice()))
            })
        };
        let nodes = faces().flatten().map(|&n| mesh.nodes[n as usize]);
        let (low, high) = bounds(nodes);
        if !low[0].is_finite() {
            return None;
        }
        // What all faces show along an axis, and what is left where those of both signs are taken together.
        let shown = |axis: usize| {
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            faces().fold((0.0, 0.0_f64), |(all, net), face| {
                let p = |i: usize| mesh.nodes[face[i % face.len()] as usize];
                let turn = (0..face.len()).map(|i| p(i)[a] * p(i + 1)[b] - p(i)[b] * p(i + 1)[a]);
                let part = 0.5 * turn.sum::<f64>();
                (all + part.abs(), net + part)
            })
        };
        // Without a plane of symmetry lift goes where most of the body is seen.
        let seen = || shown(1).0 > 1.5 * shown(2).0;
        let spanwise = across(mesh).map(|axis| axis == 2);
        let told = spanwise.or_else(|| ground(mesh).map(|axis| axis == 1));
        let sideways = mesh.planar.is_some() || told.unwrap_or_else(seen);
        let up = if sideways { 1 } else { 2 };
        // Upper and lower side of a closed body see the same planform; a wall that is open has one of them.
        let projected = |axis: usize| {
            let (all, net) = shown(axis);
            (0.5 * all).max(net.abs())
        };
        let [along, across] = if mesh.planar.is_some() {
            [high[0] - low[0], high[1] - low[1]]
        } else {
            [projected(up), projected(0)]
        };
        // Of walls that stand across the stream, the area that it meets: of plates, too, whose thickness says nothing.
        let sides = if mesh.planar.is_some() { 1..2 } else { 1..3 };
        let narrowest = sides.map(|k| high[k] - low[k]).fold(f64::INFINITY, f64::min);
        let plate = high[0] - low[0] < THIN * narrowest && projected(up) < THIN * projected(0);
        let area = if along > 1e-9 * across && !plate { along } else { across };
        let axes = if mesh.planar.is_some() { 0..2 } else { 0..3 };
        let closed = axes.map(shown).all(|(all, net)| net.abs() < 1e-6 * all);
        Some(Self { low, high, up, area, closed, plate })
    }

    /// Along x; of walls that stand across the stream their largest extent.
    pub(super) fn length(&self) -> f64 {
        let extents: [f64; 3] = std::array::from_fn(|k| self.high[k] - self.low[k]);
        let largest = extents.into_iter().fold(0.0, f64::max);
        if extents[0] > 1e-6 * largest && !self.plate { extents[0] } else { largest }
    }

    /// Whether it stands across the stream: inviscid flow past it has no steady state worth having.
    pub(super) fn is_bluff(&self) -> bool {
        self.high[self.up] - self.low[self.up] > 0.35 * self.length()
    }
}

/// The axis that a plane of symmetry is normal to.
fn across(mesh: &Mesh) -> Option<usize> {
    normal_of(mesh, |m| {
        known(m).is_some_and(|b| b.word() == "symmetry") || says(&m.name, &["sym", "symmetry"])
    })
}

/// The axis that the ground is normal to, along which lift points.
fn ground(mesh: &Mesh) -> Option<usize> {
    normal_of(mesh, |m| says(&m.name, &GROUNDS)).filter(|axis| *axis > 0)
}

/// The axis that the first such marker is normal to, where it lies in a plane.
fn normal_of(mesh: &Mesh, is_it: impl Fn(&Marker) -> bool) -> Option<usize> {
    let plane = mesh.markers.iter().find(|m| is_it(m))?;
    let (a, b) = reach_of(mesh, plane);
    let size = (0..3).map(|k| b[k] - a[k]).fold(0.0, f64::max);
    (0..3).find(|&k| b[k] - a[k] < 1e-6 * size)
}
