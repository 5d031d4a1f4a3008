//! Dense oracles, the data set, skips.
//!
//! Everything takes plain arrays, so that every crate of the workspace can use it in its own unit tests.

mod dense;
mod skip;

pub use dense::{dense_multiply, dense_of_blocks, dense_solve};
pub use skip::{data, skip};
