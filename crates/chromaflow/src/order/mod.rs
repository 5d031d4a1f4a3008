//! Orders of rows: permutations, batches of independent rows.

mod batches;
mod permutation;

pub use batches::RowBatches;
pub use permutation::{NotAPermutation, Permutation};
