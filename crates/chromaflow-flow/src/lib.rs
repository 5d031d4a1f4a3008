//! Implicit flow solvers on Chromaflow.
#![deny(unsafe_code)]

pub mod bc;
pub mod config;
pub mod dual;
pub mod flux;
pub mod gas;
pub mod limiter;
pub mod mesh;
pub mod output;
pub mod real;
pub mod viscous;

pub use config::FlowConfig;
