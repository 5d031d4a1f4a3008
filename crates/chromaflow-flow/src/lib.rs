//! Implicit flow solvers on Chromaflow.
#![deny(unsafe_code)]

pub mod config;
pub mod dual;
pub mod mesh;

pub use config::FlowConfig;
