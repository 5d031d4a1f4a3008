//! What a set-up may have where periodic sides are turned: nothing that points across the axis.

use super::FlowError;
use crate::bc::Motion;
use crate::config::Boundary;
use crate::mesh::periodic::{Matrix, Rotation};
use std::collections::BTreeMap;

/// Refuses what is not the same in every sector: a stream, velocities, directions and moving walls.
///
/// # Errors
/// [`FlowError::NotTurned`].
pub(crate) fn check_turned(
    rotation: &Rotation,
    stream: Option<[f64; 3]>,
    boundaries: &BTreeMap<String, Boundary>,
) -> Result<(), FlowError> {
    if let Some(stream) = stream.filter(|stream| !rotation.keeps(*stream)) {
        let remedy =
            "choose `alpha` and `beta` so that the stream lies along the axis, or solve for the whole circle";
        return Err(not_turned(rotation, format!("a free stream along {stream:?}"), remedy));
    }
    for (name, boundary) in boundaries {
        let (what, vector) = match boundary {
            Boundary::VelocityInlet { velocity, .. } => ("velocity", *velocity),
            Boundary::Inlet { direction, .. } => ("direction", *direction),
            Boundary::MovingWall { motion, .. } => {
                motion_keeps(rotation, name, motion)?;
                continue;
            }
            _ => continue,
        };
        keeps(rotation, || format!("the {what} {vector:?} of `{name}`"), vector)?;
    }
    Ok(())
}

/// Refuses the motion of a wall that is not one along and about the axis.
pub(crate) fn motion_keeps(rotation: &Rotation, name: &str, motion: &Motion<f64>) -> Result<(), FlowError> {
    let Motion { velocity, rotation: spin, center } = *motion;
    let size = spin.iter().map(|v| v.abs()).fold(0.0, f64::max);
    let off = rotation.radius(center) * size;
    if !rotation.keeps(spin) || off > 1e-9 * size {
        let what = format!("the wall `{name}`, which turns by {spin:?} about {center:?}");
        return Err(not_turned(rotation, what, "walls turn about the axis of the periodic sides"));
    }
    keeps(rotation, || format!("the velocity {velocity:?} of `{name}`"), velocity)
}

/// Refuses a vector that does not lie along the axis.
pub(crate) fn keeps(
    rotation: &Rotation,
    what: impl Fn() -> String,
    vector: [f64; 3],
) -> Result<(), FlowError> {
    if rotation.keeps(vector) { Ok(()) } else { Err(not_turned(rotation, what(), "give it along the axis")) }
}

/// That something is not the same in every sector.
pub(crate) fn not_turned(rotation: &Rotation, what: String, remedy: &'static str) -> FlowError {
    FlowError::NotTurned { what, axis: rotation.axis, remedy }
}

/// A m, of a block A in columns of `n` and the matrix m that turns components 1 to 3 of what it acts on: the block that acts on them before
/// they are turned.
pub(crate) fn turn_columns(block: &mut [f64], n: usize, m: &Matrix) {
    for r in 0..n {
        let row = [1, 2, 3].map(|k| block[k * n + r]);
        for c in 0..3 {
            block[(1 + c) * n + r] = (0..3).map(|k| row[k] * m[k][c]).sum();
        }
    }
}
