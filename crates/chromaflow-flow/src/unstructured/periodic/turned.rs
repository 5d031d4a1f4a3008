//! What a set-up may have where periodic sides are turned: nothing that points across the axis.

use crate::bc::Motion;
use crate::config::{Boundary, FlowConfig};
use crate::march::FlowError;
use crate::mesh::periodic::{Rotation, product};
use crate::unstructured::FlowSystem;
use chromaflow::dist::turning;

/// Refuses what is not the same in every sector.
///
/// # Errors
/// [`FlowError::NotTurned`].
pub fn check(config: &FlowConfig, rotation: &Rotation) -> Result<(), FlowError> {
    let axis = rotation.axis;
    let refuse = |what: String, remedy: &'static str| Err(FlowError::NotTurned { what, axis, remedy });
    let lift_axis = config.reference.lift_axis.unwrap_or(2);
    let stream = config.freestream.direction(lift_axis);
    if !rotation.keeps(stream) {
        let remedy =
            "choose `alpha` and `beta` so that the stream lies along the axis, or solve for the whole circle";
        return refuse(format!("a free stream along {stream:?}"), remedy);
    }
    for (name, boundary) in &config.boundaries {
        let (what, vector) = match boundary {
            Boundary::VelocityInlet { velocity, .. } => ("velocity", *velocity),
            Boundary::Inlet { direction, .. } => ("direction", *direction),
            Boundary::MovingWall { motion: Motion { velocity, rotation: spin, center }, .. } => {
                let size = spin.iter().map(|v| v.abs()).fold(0.0, f64::max);
                let off = rotation.radius(*center) * size;
                if !rotation.keeps(*spin) || off > 1e-9 * size {
                    let what = format!("the wall `{name}`, which turns by {spin:?} about {center:?}");
                    return refuse(what, "walls turn about the axis of the periodic sides");
                }
                ("velocity", *velocity)
            }
            _ => continue,
        };
        if !rotation.keeps(vector) {
            return refuse(format!("the {what} {vector:?} of `{name}`"), "give it along the axis");
        }
    }
    let around = config.implicit.preconditioner;
    if around.sweeps_in_levels() || around == chromaflow::solver::PreconditionerKind::Lines {
        return refuse(format!("the preconditioner `{around}`"), "choose `multicolor` or `ilu0`");
    }
    Ok(())
}

/// Turns the vector among the numbers of a node so many times, where there is one.
pub(in crate::unstructured) fn turn(rotation: &Rotation, by: i8, numbers: &mut [f64]) {
    let (Some(at), _) = turning(numbers.len()) else { return };
    if by != 0 {
        let v = product(&rotation.matrix(by.into()), [numbers[at], numbers[at + 1], numbers[at + 2]]);
        numbers[at..at + 3].copy_from_slice(&v);
    }
}

impl FlowSystem {
    /// The numbers of a node of the mesh's file, from those of the row that it became: turned where the node lies on the other side.
    pub(in crate::unstructured) fn as_in_file(&self, node: usize, numbers: &mut [f64]) {
        let Some(turned) = self.images.as_ref().and_then(|images| images.turned.as_ref()) else { return };
        turn(&turned.rotation, turned.by[node], numbers);
    }
}
