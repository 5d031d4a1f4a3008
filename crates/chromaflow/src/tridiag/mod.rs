//! Lines: batches of scalar and block tridiagonal systems.
//!
//! A batch holds many independent systems
//!
//! ```text
//! A_i x_{i-1} + B_i x_i + C_i x_{i+1} = f_i,      i = 0 .. rows - 1,
//! ```
//!
//! with dense blocks of rank 1 (scalar systems) to 64. `A` of row 0 and `C` of the last row couple the ends of periodic
//! lines and are not read otherwise. A [`Batch`] says where the coefficients are, a [`Solver`] keeps the method and the
//! work space:
//!
//! ```
//! use chromaflow::tridiag::{Batch, Double, Layout, LineOutcome, Options, Shape, Solver};
//! use chromaflow_device::Team;
//! // -x_{i-1} + 2 x_i - x_{i+1} = 0 with x = 1 beyond the right end: the straight line x_i = (i + 1) / 4.
//! let (lower, diag, upper) = ([0.0, -1.0, -1.0], [2.0; 3], [-1.0, -1.0, 0.0]);
//! let batch = Batch::new(Shape::new(1, 3, 1), Layout::Aos, &lower, &diag, &upper).unwrap();
//! let mut x = [0.0; 3];
//! let mut solver = Solver::<Double>::new(Options::default());
//! let outcome = solver.solve(&Team::new(1), &batch, &[0.0, 0.0, 1.0], &mut x).unwrap();
//! assert_eq!(outcome, LineOutcome::Solved);
//! assert!(x.iter().zip([0.25, 0.5, 0.75]).all(|(x, exact)| (x - exact as f64).abs() < 1e-15));
//! ```
//!
//! | method | steps on a line of n rows | work | |
//! |---|---|---|---|
//! | [`thomas`] | n | 1 | fastest on a CPU, where systems fill vectors and cores |
//! | [`cyclic_reduction`] | 2 log2 n | about 2.7 | half of the rows go in each step |
//! | [`parallel_cyclic_reduction`] | log2 n | about 2.7 log2 n | every row stays busy |
//! | [`hybrid`] | between | between | CR, then PCR; or PCR, then Thomas |
//!
//! A [`FactoredSolver`] keeps the factors of Thomas for any number of later right-hand sides.
//!
//! Scalar pentadiagonal systems have a solver of their own, [`PentaSolver`].
//!
//! With the feature `cuda`, `cuda::GpuSolver` solves batches that lie on a GPU.
//!
//! **Source**: Stone, Duque, Zhang, Car, Owens, Davis, *GPGPU parallel algorithms for structured-grid CFD codes* (2011),
//! section III.

mod ahead;
mod batch;
mod block;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod cyclic_reduction;
mod error;
pub mod factored;
mod groups;
pub mod hybrid;
mod lanes;
mod layout;
pub mod parallel_cyclic_reduction;
pub mod pentadiagonal;
mod periodic;
mod precision;
mod shared;
mod solver;
mod source;
#[cfg(test)]
mod tests;
pub mod thomas;
mod whole;

pub use batch::Batch;
pub use chromaflow_simd::Elem as Real;
pub use error::{LineOutcome, TridiagError};
pub use factored::FactoredSolver;
pub use layout::{Layout, Shape, convert};
pub use pentadiagonal::{PentaBatch, PentaSolver};
pub use precision::{Double, Mixed, Precision, Single};
pub(crate) use shared::Shared;
pub use solver::{Method, Options, Pivoting, Solver, UnknownMethod};
pub use whole::Operations;
