//! How markers lie to what flows through them.

use chromaflow_flow::config::Boundary;
use chromaflow_flow::grid::Grid;
use chromaflow_flow::mesh::{Marker, Mesh, cross, dot, norm, sub};
use std::collections::BTreeMap;

/// How a plane of symmetry, an inlet or an outlet lies.
pub struct Side {
    pub(super) marker: String,
    /// Over its faces, the sum of normal times normal by their areas.
    normals: [[f64; 3]; 3],
    /// Sum of the areas.
    area: f64,
    /// Sum of the normals, out of the mesh, by their areas.
    pub(super) outward: [f64; 3],
    /// Share of an inlet's area through which what it lets in does not enter.
    pub(super) missed: f64,
}

/// Sine of the angle between a stream and a plane from which on it crosses it: more than what round-off leaves of both.
pub(super) const CROSSES: f64 = 1e-3;

/// Sine of the angle between a stream and the face of an inlet from which on it enters.
pub const ENTERS: f64 = 0.02;

impl Side {
    /// From the corners of its faces, counterclockwise seen from outside, those of triangles with the last one twice.
    fn of(marker: &str, boundary: &Boundary, faces: impl Iterator<Item = [[f64; 3]; 4]>) -> Self {
        let mut side = Self {
            marker: marker.to_owned(),
            normals: [[0.0; 3]; 3],
            area: 0.0,
            outward: [0.0; 3],
            missed: 0.0,
        };
        let along = inflow(boundary).filter(|along| norm(*along) > 0.0);
        for [a, b, c, d] in faces {
            // Twice the area long.
            let n = cross(sub(c, a), sub(d, b));
            let size = norm(n);
            if size > 0.0 {
                side.area += size;
                (0..9).for_each(|k| side.normals[k / 3][k % 3] += n[k / 3] * n[k % 3] / size);
                (0..3).for_each(|k| side.outward[k] += n[k]);
                if along.is_some_and(|along| dot(along, n) > -ENTERS * norm(along) * size) {
                    side.missed += size;
                }
            }
        }
        side.missed /= side.area.max(f64::MIN_POSITIVE);
        side
    }

    /// Those of a mesh.
    pub fn of_mesh(mesh: &Mesh, boundaries: &BTreeMap<String, Boundary>) -> Vec<Self> {
        let at = |n: u32| mesh.nodes[n as usize];
        let of = |m: &Marker| {
            let boundary = boundaries.get(&m.name).filter(|b| counts(b))?;
            let triangles = m.triangles.iter().map(|&[a, b, c]| [a, b, c, c].map(at));
            Some(Self::of(&m.name, boundary, triangles.chain(m.quads.iter().map(|quad| quad.map(at)))))
        };
        mesh.markers.iter().filter_map(of).collect()
    }

    /// Those of a grid.
    pub fn of_grid(grid: &Grid, boundaries: &BTreeMap<String, Boundary>) -> Vec<Self> {
        let of = |marker: &str| {
            let boundary = boundaries.get(marker).filter(|b| counts(b))?;
            let windows = grid.patches.iter().filter(|p| p.name == marker).map(|p| p.window);
            let faces = windows.flat_map(|w| {
                let block = &grid.blocks[w.block];
                w.cells().map(move |cell| {
                    let corners = w.corners(cell);
                    let mut inside = corners[0];
                    inside[w.side.axis] = if w.side.high { inside[w.side.axis] - 1 } else { 1 };
                    let [a, b, c, d] = corners.map(|at| block.node(at));
                    let is_inward = dot(cross(sub(c, a), sub(d, b)), sub(block.node(inside), a)) > 0.0;
                    if is_inward { [a, d, c, b] } else { [a, b, c, d] }
                })
            });
            Some(Self::of(marker, boundary, faces))
        };
        grid.markers().into_iter().filter_map(of).collect()
    }

    /// Whether another one lies along it: in the same plane, or across from it.
    pub(super) fn is_parallel(&self, other: &Self) -> bool {
        let sum: f64 = (0..9).map(|k| self.normals[k / 3][k % 3] * other.normals[k / 3][k % 3]).sum();
        sum >= (1.0 - CROSSES) * self.area * other.area
    }

    /// Sine of the angle between it and a direction, the root of its mean square.
    pub(super) fn sine(&self, along: [f64; 3]) -> f64 {
        let size = dot(along, along) * self.area;
        let sum: f64 = (0..9).map(|k| along[k / 3] * self.normals[k / 3][k % 3] * along[k % 3]).sum();
        if size > 0.0 { (sum / size).clamp(0.0, 1.0).sqrt() } else { 0.0 }
    }

    /// Cosine of the angle between a direction and the way out of the mesh through it.
    pub(super) fn leaves(&self, along: [f64; 3]) -> f64 {
        let size = norm(along) * norm(self.outward);
        if size > 0.0 { dot(along, self.outward) / size } else { 0.0 }
    }
}

/// Planes of symmetry, and what lets something in or out at a place.
fn counts(boundary: &Boundary) -> bool {
    inflow(boundary).is_some() || *boundary == Boundary::Symmetry || is_outlet(boundary)
}

/// What lets gas out and is told to.
pub(super) fn is_outlet(boundary: &Boundary) -> bool {
    matches!(boundary, Boundary::Outlet { .. } | Boundary::MassFlowOutlet { .. } | Boundary::Extrapolation)
}

/// Where an inlet sends what it lets in.
pub(super) fn inflow(boundary: &Boundary) -> Option<[f64; 3]> {
    match boundary {
        Boundary::Inlet { direction: along, .. } | Boundary::VelocityInlet { velocity: along, .. } => {
            Some(*along)
        }
        _ => None,
    }
}
