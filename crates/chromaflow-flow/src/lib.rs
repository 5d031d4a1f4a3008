//! Implicit flow solvers on Chromaflow.
#![deny(unsafe_code)]

pub mod mesh;
