//! Walls of structured grids.

use super::{NearWalls, Repeats, no_wall};
use crate::grid::Grid;
use crate::march::FlowError;
use crate::mesh::periodic::{Rotation as Turn, product};
use crate::mesh::{Marker, Mesh, cross, dot, sub};
use chromaflow_device::Team;

impl NearWalls {
    /// The markers of a grid that `holds` picks as points see them, images a period away included: they may be nearer. `mesh` is the grid's.
    ///
    /// # Errors
    /// [`FlowError::NoWall`] when there are none.
    pub(crate) fn on_grid(
        (grid, mesh): (&Grid, &Mesh),
        holds: impl Fn(&str) -> bool,
        points: &[[f64; 3]],
        team: &Team,
    ) -> Result<Self, FlowError> {
        let is_wall = |marker: &Marker| holds(&marker.name);
        let repeats = Repeats { steps: grid.translations(), turns: turns_around(grid) };
        Self::repeated(mesh, is_wall, points, team, &repeats).ok_or_else(|| no_wall(mesh))
    }
}

/// The rotation of a grid's sides, and how many turns away walls may be nearest: as many as its angle from end to end around the axis takes up.
fn turns_around(grid: &Grid) -> Option<(Turn, i32)> {
    let rotation = grid.rotation()?;
    let nodes = || grid.blocks.iter().flat_map(|block| &block.nodes);
    let off = |x: &[f64; 3]| {
        let x = sub(*x, rotation.point);
        let along = product(&rotation.along(), x);
        sub(x, along)
    };
    let mut middle = [0.0; 3];
    for x in nodes() {
        let x = off(x);
        (0..3).for_each(|d| middle[d] += x[d]);
    }
    let across = cross(rotation.axis, middle);
    let angles = nodes().map(|x| {
        let x = off(x);
        dot(x, across).atan2(dot(x, middle))
    });
    let [low, high] = angles.fold([0.0_f64; 2], |[low, high], angle| [low.min(angle), high.max(angle)]);
    let wide = ((high - low) / rotation.angle.abs() + 0.5).floor() as i32;
    let all = rotation.sectors().map_or(wide, |n| n as i32 / 2);
    Some((rotation, wide.clamp(1, all.max(1))))
}
