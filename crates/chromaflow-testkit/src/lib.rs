//! Test problems, property strategies, dense oracles and tolerances.
//!
//! Problems come as plain arrays, so that every crate of the workspace can use them in its own unit tests.

mod cases;
mod dense;
mod skip;
mod tetrahedral;

pub use cases::{BadCase, BlockTridiagonal, Case, CasePattern, Kind};
pub use dense::{dense_multiply, dense_of_blocks, dense_solve};
pub use skip::{data, skip};
pub use tetrahedral::{PaperMatrix, TABLE_II, banded_lattice, tetrahedral};
