//! Incompressible flow on structured grids: artificial compressibility, implicit in (pseudo-)time, block ILU(0).
//!
//! Unknowns of each cell are (p, u, v, w) and any number of scalars s that the flow carries, among them a temperature that
//! drives it by buoyancy (Boussinesq): n = 4 + their number. With density 1,
//!
//! ```text
//! dp/dtau / beta + div u = 0
//! du/dtau + du/dt + div(u u) + grad p = nu div grad u + sum of buoyancy (s - reference)
//! ds/dtau + ds/dt + div(u s)          = kappa div grad s
//! ```
//!
//! and tau, the pseudo-time, runs to where nothing changes any more: once in steady runs, in each physical step of unsteady
//! ones (second-order backward differences).
//!
//! | | |
//! |---|---|
//! | [`ArtificialCompressibility`](crate::equations::ArtificialCompressibility) | the pointwise functions: Roe's flux, states beyond the boundary, their Jacobians |
//! | `space.rs` | a grid's rows, areas and products of areas, boundary faces |
//! | `residual.rs` (RHS) | reconstruction, fluxes, full viscous terms on curvilinear grids |
//! | `fill.rs` (AFILL, TSD) | the matrix, row by row |
//! | `system.rs`, `linear.rs` (BILU) | the matrix of all blocks; factorization, solves, corrections |
//! | [`Solver`] | the march |
//!
//! **Source**: Chorin 1967; Rogers & Kwak, *Upwind differencing scheme for the time-accurate incompressible Navier-Stokes
//! equations* (1990); Luo, Edwards, Luo, Mueller, *A fine-grained block ILU scheme on regular structures for GPGPUs* (2015)
//! for the matrix and its solver.
//!
//! ```
//! use chromaflow_device::Team;
//! use chromaflow_flow::bc::Motion;
//! use chromaflow_flow::grid::generate::Cavity;
//! use chromaflow_flow::incompressible::{Boundary, Config, Solver};
//! use std::sync::Arc;
//!
//! let grid = Cavity { cells: [16, 16], clustering: 0.0 }.grid();
//! let mut config = Config::default();
//! config.fluid.viscosity = 0.01;
//! let lid = Boundary::Wall { motion: Motion::straight([1.0, 0.0, 0.0]), scalars: vec![] };
//! config.boundaries = [("wall".into(), Boundary::WALL), ("lid".into(), lid)].into();
//! let mut solver = Solver::new(&grid, config, Arc::new(Team::new(1)))?;
//! let mut last = Default::default();
//! while solver.iteration() < 60 {
//!     last = solver.step();
//! }
//! assert!(last.orders > 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod config;
#[cfg(feature = "cuda")]
mod cuda;
mod fill;
mod ghosts;
mod linear;
mod march;
mod measure;
mod newton;
mod output;
mod residual;
mod shear;
mod space;
mod system;
#[cfg(test)]
mod tests;
mod turbulence;
#[cfg(test)]
mod turned_tests;

pub use config::{Boundary, Config, Function, Given, MAX_UNKNOWNS_ON_GPU, Scalar, WallScalar};
#[cfg(feature = "cuda")]
pub(crate) use cuda::kernel_sources;
pub use march::{IncompressibleSystem, Solver};
pub use output::Memory;
