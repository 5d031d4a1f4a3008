//! What can go wrong, and how a solve ends.

use super::Shape;
use std::fmt;

/// Input that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TridiagError {
    /// An array has the wrong length.
    #[error("`{array}` has {found} entries, its shape and layout need {expected}")]
    Length {
        /// Which array.
        array: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
    /// A rank outside 1..=64.
    #[error("blocks of rank {rank}: expected 1 to {}", Shape::MAX_RANK)]
    Rank {
        /// The rank.
        rank: usize,
    },
    /// Systems of no rows.
    #[error("systems of 0 rows: every system needs at least one")]
    NoRows,
    /// An interleaved layout with groups of no systems.
    #[error("interleaved layout with 0 lanes: expected at least one system in a group")]
    NoLanes,
    /// Strides by which two entries share a place.
    #[error(
        "a stride of {stride} entries reaches into the {end} that smaller strides take: entries would share a place"
    )]
    Overlap {
        /// The stride.
        stride: usize,
        /// Entries that the smaller ones span.
        end: usize,
    },
    /// More entries than memory can hold.
    #[error("{} systems x {} rows of rank {} overflow the address space", shape.systems, shape.rows, shape.rank)]
    TooLarge {
        /// The shape.
        shape: Shape,
    },
    /// A method that does not do what is asked.
    #[error("{method} does not do {what}: use {remedy}")]
    Unsupported {
        /// The method.
        method: &'static str,
        /// What was asked of it.
        what: &'static str,
        /// What does it.
        remedy: &'static str,
    },
}

impl TridiagError {
    pub(crate) fn check_len(array: &'static str, found: usize, expected: usize) -> Result<(), TridiagError> {
        if found == expected { Ok(()) } else { Err(TridiagError::Length { array, found, expected }) }
    }
}

/// How the solve of a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOutcome {
    /// Every system is solved.
    Solved,
    /// A block became singular, or numbers overflowed. The other systems are solved; this one's solution (and that of
    /// any later system with the same trouble) is not finite.
    Breakdown {
        /// The first such system.
        system: usize,
        /// The first of its rows with a zero or non-finite pivot; the first with a non-finite solution where every
        /// pivot was sound.
        row: usize,
    },
}

impl fmt::Display for LineOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineOutcome::Solved => f.write_str("solved"),
            LineOutcome::Breakdown { system, row } => write!(f, "breakdown at row {row} of system {system}"),
        }
    }
}
