//! MPI, opened at run time: one binary for whatever MPI started it.
//!
//! | file | |
//! |---|---|
//! | `find.rs` | who started this process, and which library is theirs |
//! | `abi.rs` | the three binary interfaces, and the functions used |
//! | `line.rs` | one thread at a time in the library |
//! | `beats.rs` | signs of life of processes |
//! | `ranks.rs` | ranks of it |

mod abi;
mod beats;
mod find;
mod line;
mod ranks;
#[cfg(test)]
mod tests;

pub use abi::Abi;
pub use find::{Launch, launch};
pub use ranks::Mpi;

use std::path::PathBuf;

/// Why ranks cannot be had from MPI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MpiError {
    /// A launcher without a library.
    #[error(
        "{ranks} ranks were started by {launcher}, but no MPI library was found (tried {tried}): set CHROMAFLOW_MPI to the libmpi \
         of this {launcher}; on one host use --ranks {ranks} without it"
    )]
    NoLibrary {
        /// Ranks that the launcher started.
        ranks: usize,
        /// The launcher.
        launcher: &'static str,
        /// What was tried.
        tried: String,
    },
    /// A library that cannot be opened although it was asked for by name.
    #[error("CHROMAFLOW_MPI names {path}, which cannot be opened: {why}")]
    Open {
        /// The library.
        path: String,
        /// The loader's reason.
        why: String,
    },
    /// Launcher and library of two MPIs.
    #[error(
        "{launcher} started {started} ranks, but {library} sees {seen}: they belong to two MPIs; set CHROMAFLOW_MPI to the libmpi of \
         this {launcher}"
    )]
    TwoMpis {
        /// The launcher.
        launcher: &'static str,
        /// Ranks that it started.
        started: usize,
        /// The library.
        library: String,
        /// Ranks that it sees.
        seen: usize,
    },
    /// A library without a function, or whose constants are not those of its interface.
    #[error("{library} is no MPI library of the {abi} interface: {what}")]
    NotMpi {
        /// The library.
        library: String,
        /// The interface it was taken for.
        abi: Abi,
        /// What is wrong.
        what: String,
    },
    /// A program that has not begun with MPI, or has ended it.
    #[error(
        "MPI is not under way in this program ({library}): call MPI_Init before, and MPI_Finalize after, what needs ranks"
    )]
    NotBegun {
        /// The library.
        library: String,
    },
    /// A program that has loaded no MPI.
    #[error(
        "this program has loaded no MPI library that is known here: link it with one and call MPI_Init, or set CHROMAFLOW_MPI to the libmpi \
         that it uses"
    )]
    NotLoaded,
    /// A function that failed.
    #[error("{function} of {library} failed: {why}")]
    Call {
        /// The function.
        function: &'static str,
        /// The library.
        library: String,
        /// Its own words.
        why: String,
    },
}

/// An MPI library found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub library: PathBuf,
    /// Which interface it speaks.
    pub abi: Abi,
    /// What it calls itself, on one line.
    pub version: String,
}
