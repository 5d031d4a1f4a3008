//! Orders of rows: graphs of patterns, reverse Cuthill-McKee, colorings, permutations, batches of independent rows,
//! and who does which of them: [`Schedule`].
//!
//! [`Plan::new`] does it all in one call: pattern in, permutation and batches out.

mod adjacency;
mod assemble;
mod batches;
mod coloring;
mod fronts;
mod levels;
mod lines;
mod permutation;
mod permute;
mod plan;
mod rcm;
mod schedule;
#[cfg(test)]
mod tests;

pub use adjacency::Adjacency;
pub use assemble::{OffRow, RowBlocks};
pub use batches::{BatchError, RowBatches};
pub use coloring::{Coloring, ColoringError, VertexOrder, priority_of};
pub use levels::LevelSchedule;
pub use lines::{Lines, LinesError};
pub use permutation::{NotAPermutation, Permutation};
pub(crate) use plan::Order;
pub use plan::{ColoringMethod, Plan, PlanOptions, PlanReport, Rcm};
pub use rcm::{Spread, reverse_cuthill_mckee};
pub use schedule::Schedule;
