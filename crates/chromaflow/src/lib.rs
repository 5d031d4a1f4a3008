//! Block-sparse linear solvers for implicit flow codes.
//!
//! The words: a *row* is a block row, `nb` the block size, `nnzb` the number of stored blocks; a *pattern* says where
//! blocks are, *values* what is in them; a *sweep* is one pass over all batches, a *batch* a set of rows that do not
//! depend on one another (a color, a level); a *policy* says which array has which precision.
//!
//! Blocks are **column-major** everywhere: element (r, c) of a block lies at `c * nb + r`, as Fortran codes have it
//! and as one SIMD load per column wants it. Shapes are written slowest index first: off-diagonal blocks are
//! `[nnzb, nb (column), nb (row)]`.
#![deny(unsafe_code)]

pub mod block;
pub mod dist;
pub mod factor;
pub mod files;
pub mod gallery;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod krylov;
pub mod order;
mod outcome;
pub mod policy;
pub mod relax;
mod rim;
mod shared;
pub mod solver;
pub mod sparse;
mod stop;
pub mod tridiag;
pub mod vector;
mod words;

pub use chromaflow_device::{Team, TeamError};
pub use order::{Permutation, RowBatches};
pub use outcome::Outcome;
pub use policy::{Policy, Storage};
pub use solver::{LinearSolver, SolverOptions};
pub use sparse::{BlockCsr, BlockPattern, Jacobian, OffDiagonal};
pub use words::nearest_word;

/// The largest block size.
pub const MAX_NB: usize = 128;

/// The examples of the project's front page compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct FrontPage;
