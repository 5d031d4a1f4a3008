//! Dense oracles, tolerances, the data set, and skips that are counted.
//!
//! Everything takes plain arrays, so that every crate of the workspace can use it in its own unit tests.

mod dense;
mod skip;
mod tolerance;

pub use dense::{dense_multiply, dense_of_blocks, dense_solve};
pub use skip::{available, browser, data, required, skip};
pub use tolerance::rounding;
