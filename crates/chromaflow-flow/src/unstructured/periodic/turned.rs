//! What a set-up may have where periodic sides are turned: nothing that points across the axis.

use crate::config::FlowConfig;
use crate::march::{FlowError, check_turned, not_turned};
use crate::mesh::periodic::{Rotation, product};
use crate::unstructured::FlowSystem;
use chromaflow::dist::turning;

/// Refuses what is not the same in every sector.
///
/// # Errors
/// [`FlowError::NotTurned`].
pub fn check(config: &FlowConfig, rotation: &Rotation) -> Result<(), FlowError> {
    let stream = config.freestream.direction(config.reference.lift_axis.unwrap_or(2));
    check_turned(rotation, Some(stream), &config.boundaries)?;
    let around = config.implicit.preconditioner;
    if around.sweeps_in_levels() || around == chromaflow::solver::PreconditionerKind::Lines {
        let what = format!("the preconditioner `{around}`");
        return Err(not_turned(rotation, what, "choose `multicolor` or `ilu0`"));
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
