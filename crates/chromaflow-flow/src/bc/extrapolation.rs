//! Supersonic outflow: everything comes from inside, wb = w.

use super::{Boundary, Word};

/// In case files.
pub(super) static WORD: Word = Word {
    name: "extrapolation",
    text: "Everything from inside (supersonic outflow).",
    parameters: &[],
    read: |_| Ok(Boundary::Extrapolation),
};
