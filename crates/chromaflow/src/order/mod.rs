//! Orders of rows: graphs of patterns, reverse Cuthill-McKee, colorings, permutations, batches of independent rows.
//!
//! [`Plan::new`] does it all in one call: pattern in, permutation and batches out.

mod adjacency;
mod balance;
mod batches;
mod coloring;
mod kempe;
mod levels;
mod permutation;
mod permute;
mod plan;
mod rcm;
#[cfg(test)]
mod tests;

pub use adjacency::Adjacency;
pub use batches::{BatchError, RowBatches};
pub use coloring::{Coloring, ColoringError, VertexOrder};
pub use levels::LevelSchedule;
pub use permutation::{NotAPermutation, Permutation};
pub use plan::{ColoringMethod, Plan, PlanOptions, PlanReport};
pub use rcm::{Spread, reverse_cuthill_mckee};
