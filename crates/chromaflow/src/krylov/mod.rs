//! Krylov methods and what they iterate with.
//!
//! All methods are preconditioned from the right, so that the residual they watch is that of the given system:
//! [`Gmres`] (flexible: the preconditioner may change from one iteration to the next), [`BiCgStab`], [`Richardson`].
//! They share one interface: an operator, a preconditioner, a right-hand side and a first guess in, a [`Solve`] out.

mod bicgstab;
#[cfg(feature = "cuda")]
mod cuda;
mod gmres;
mod gram_schmidt;
mod monitor;
mod operator;
mod preconditioners;
mod richardson;
mod system;
#[cfg(test)]
mod tests;
mod together;

pub use crate::stop::Control;
pub use bicgstab::BiCgStab;
#[cfg(feature = "cuda")]
pub use cuda::{KrylovCuda, LinearOperatorCuda, OfRankCuda, PreconditionerCuda, SmootherCuda};
pub use gmres::Gmres;
pub use monitor::Solve;
pub use operator::{Identity, LinearOperator, Preconditioner};
pub use preconditioners::Relaxation;
pub use richardson::{Richardson, sweep_solution};
