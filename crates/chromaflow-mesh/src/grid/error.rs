//! What can be wrong with a structured grid or its files.

use super::{Side, Window};
use crate::MeshError;
use crate::periodic::{Motion, PeriodicError};
use chromaflow::files::FileError;

/// A structured grid that cannot be read, written or used. Blocks and indices count from 0.
#[derive(Debug, thiserror::Error)]
pub enum GridError {
    /// A file that cannot be read or does not follow its format, with the place.
    #[error(transparent)]
    Read(#[from] MeshError),
    /// A file that cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Fewer than two points along an axis, or arrays of another length.
    #[error(
        "block {block} has {points:?} points and {nodes} nodes: expected at least two points along each axis and as \
         many nodes as they make"
    )]
    Shape {
        /// The block.
        block: usize,
        /// Its points.
        points: [usize; 3],
        /// Its nodes.
        nodes: usize,
    },
    /// A coordinate that is not a finite number.
    #[error("block {block}, point {at:?}: coordinates {xyz:?} are not finite numbers; the file is damaged")]
    NotFinite {
        /// The block.
        block: usize,
        /// The point.
        at: [usize; 3],
        /// Its coordinates.
        xyz: [f64; 3],
    },
    /// A cell of no or negative volume where its block's others are positive (or the other way round).
    #[error(
        "block {block}, cell {at:?} near ({:.6}, {:.6}, {:.6}): volume {volume:e}; {count} cells of the block are so: \
         lines cross or points coincide there", xyz[0], xyz[1], xyz[2]
    )]
    Volume {
        /// The block.
        block: usize,
        /// The first such cell.
        at: [usize; 3],
        /// Its first point's coordinates.
        xyz: [f64; 3],
        /// Its volume, with the block's handedness taken into account.
        volume: f64,
        /// How many there are.
        count: usize,
    },
    /// A patch or interface that does not lie on its block's face.
    #[error("{what} ({window}) does not fit block {}: it has {points:?} points", window.block)]
    Outside {
        /// Which patch or interface.
        what: String,
        /// Its window.
        window: Window,
        /// Points of the block, zeros where there is no such block.
        points: [usize; 3],
    },
    /// The two sides of an interface have different numbers of points.
    #[error(
        "interface {number} joins {} and {}: they do not have the same points along the axes that it pairs",
        sides[0], sides[1]
    )]
    Pairing {
        /// Number of the interface.
        number: usize,
        /// Both sides.
        sides: Box<[Window; 2]>,
    },
    /// Points that should coincide and do not.
    #[error(
        "interface {number}: point {at:?} of block {block} near ({:.6}, {:.6}, {:.6}) and point {other_at:?} of block {other}{motion} are \
         {gap:e} apart, more than {allowed:e}, a thousandth of the spacing there; is its orientation right?", xyz[0], xyz[1], xyz[2]
    )]
    Gap {
        /// Number of the interface.
        number: usize,
        /// Block of side a.
        block: usize,
        /// Point of side a.
        at: [usize; 3],
        /// Its coordinates.
        xyz: Box<[f64; 3]>,
        /// Block of side b.
        other: usize,
        /// Point of side b.
        other_at: [usize; 3],
        /// What carries side b to side a, where they are periodic.
        motion: Box<Motion>,
        /// Their distance.
        gap: f64,
        /// The largest that passes.
        allowed: f64,
    },
    /// Periodic sides that do not go together.
    #[error(transparent)]
    Periodic(Box<PeriodicError>),
    /// Faces of cells that no patch and no interface, or more than one, covers.
    #[error(
        "block {block}, {side}: the face of cell {at:?} belongs to {owners} patches and interfaces, expected one \
         ({count} faces of the block are so)"
    )]
    Cover {
        /// The block.
        block: usize,
        /// The first such face's side.
        side: Side,
        /// The first such face's cell.
        at: [usize; 3],
        /// How many own it.
        owners: u8,
        /// How many such faces the block has.
        count: usize,
    },
    /// Two files that do not belong together.
    #[error("{0}")]
    Mismatch(String),
}
