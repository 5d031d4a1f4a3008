//! Chromaflow for C, C++ and Fortran.
//!
//! `include/chromaflow.h` is the contract and says what each function does; this crate is what stands behind it: handles over
//! [`LinearSolver`](chromaflow::LinearSolver) and [`tridiag`](chromaflow::tridiag), errors as status and text, and a wall that no
//! panic crosses. `chromaflow.hpp` (C++) and `chromaflow.f90` (Fortran) stand on the header alone.
//!
//! Every entry runs in `status::entry`: it catches panics, keeps the text of errors for the calling thread, and refuses
//! handles that another call is using.
#![allow(unsafe_code)]
#![deny(clippy::missing_safety_doc)]

pub mod arrays;
pub mod comm;
pub mod context;
#[cfg(feature = "cuda")]
mod device;
pub mod json;
pub mod lines;
pub mod solver;
pub mod status;
