//! Incomplete factorizations.

pub mod block_ilu;
