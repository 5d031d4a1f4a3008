//! Files of a solution: fields for ParaView, restarts; cuts, and lines through the field.

mod cut;
mod line;
mod point;
mod restart;
#[cfg(test)]
mod tests;
mod vortices;

pub use crate::mesh::Field;
pub use crate::mesh::vtk::{
    Piece, Pieces, VtuOptions, remove_pieces, write_pieces, write_surface, write_volume,
};
pub use cut::{Curve, CutPoint, wall_cut, wall_points};
pub use line::{Crossing, crossings};
pub use point::{Within, volume_shares, within};
pub(crate) use restart::{COORDINATES, Layout, Stored, bits, hash_of, hash_of_place};
pub use restart::{Restart, RestartError, Resumed, fingerprint};
pub(crate) use vortices::{gradient_amid, vortex_fields};
