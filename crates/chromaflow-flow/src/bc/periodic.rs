//! Sides through which a flow that repeats leaves and enters: no condition at all, once their nodes are merged.

use super::word::Parameter;
use super::{Boundary, Word};

/// In case files.
pub(super) static WORD: Word = Word {
    name: "periodic",
    text: "One of two sides that are each other's image by a translation or, in three dimensions, a rotation: what leaves through one \
           enters through the other. Alone where the mesh's file names the other side.",
    parameters: &[Parameter::text("with", "The marker on the other side.")],
    read: |_| Ok(Boundary::Periodic),
};
