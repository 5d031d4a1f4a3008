//! How one side of a periodic pair becomes the other.

use super::Rotation;
use std::fmt;

/// What carries one side of a pair to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// What is added to coordinates: nothing where both sides are one place.
    Translation([f64; 3]),
    /// A rotation about an axis.
    Rotation(Rotation),
}

impl Motion {
    /// Of sides that are one place.
    pub const NONE: Self = Self::Translation([0.0; 3]);

    /// Whether both sides are one place.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// The rotation, if it is one.
    pub fn rotation(&self) -> Option<Rotation> {
        match self {
            Self::Translation(_) => None,
            Self::Rotation(rotation) => Some(*rotation),
        }
    }

    /// Where a place is carried.
    #[inline]
    pub fn image(&self, x: [f64; 3]) -> [f64; 3] {
        match self {
            Self::Translation(step) => std::array::from_fn(|d| x[d] + step[d]),
            Self::Rotation(rotation) => rotation.moved(1, x),
        }
    }

    /// The same the other way.
    #[must_use]
    pub fn back(&self) -> Self {
        match self {
            Self::Translation(step) => Self::Translation(step.map(|t| -t)),
            Self::Rotation(rotation) => Self::Rotation(rotation.back()),
        }
    }
}

/// As a part of a sentence: nothing for no motion.
impl fmt::Display for Motion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Translation(_) if self.is_none() => Ok(()),
            Self::Translation(step) => write!(f, ", moved by {step:?},"),
            Self::Rotation(Rotation { point, axis, angle }) => {
                let degrees = angle.to_degrees();
                write!(f, ", turned by {degrees:.6} degrees about the axis {axis:?} through {point:?},")
            }
        }
    }
}
