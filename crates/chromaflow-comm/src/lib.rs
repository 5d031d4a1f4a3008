//! Ranks: the parts of one problem, and what they tell one another.
//!
//! * [`Communicator`]: messages between two ranks, and sums, minima, maxima, broadcasts and gathers made of them.
//! * [`Solo`]: one rank alone. [`Threads`]: ranks that are threads of this process, started by [`run`].
//!   [`mpi::Mpi`]: processes that an MPI started, whose library is opened at run time.
//! * [`Halo`]: which rows a rank sends to each neighbor and which it receives; one packed message a neighbor.
//! * [`post`]: lists for every rank, questions to those who know, ghosts of any type.
//! * [`partition`]: which part owns what of a graph, [`bisect`] of points; [`Rows`]: owned and ghost rows of a part, with its lists.
//!
//! A rank that fails ends the waits of all others with a [`CommError`]; no wait outlasts the patience it was given.
#![deny(unsafe_code)]

mod communicator;
mod error;
mod graph;
mod halo;
mod log;
#[cfg(unix)]
pub mod mpi;
mod partition;
pub mod post;
mod solo;
#[cfg(test)]
mod tests;
mod threads;

pub use communicator::{Communicator, Op, Tag};
pub use error::{CommError, RunError};
pub use graph::{partition, partition_in_groups};
pub use halo::{Halo, InFlight, Neighbor};
pub use log::Log;
pub use partition::{Rows, bisect};
pub use solo::Solo;
pub use threads::{Handed, Threads, run};
