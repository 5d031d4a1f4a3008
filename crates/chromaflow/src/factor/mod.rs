//! Incomplete factorizations.

pub mod block_ilu;
pub mod structured_ilu;
