//! Implicit flow solvers on Chromaflow.
#![deny(unsafe_code)]

pub mod bc;
pub mod config;
pub mod coupled;
pub mod dual;
pub mod equations;
pub mod flux;
pub mod gas;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod gradient;
pub mod grid;
pub mod incompressible;
pub mod jacobian;
mod laps;
pub mod limiter;
pub mod march;
mod numbering;
pub mod on_grid;
pub mod output;
mod parallel;
pub mod pointwise;
pub mod ranks;
pub mod real;
pub mod residual;
pub mod scalar;
pub mod stretching;
pub mod structured;
#[cfg(all(test, feature = "cuda"))]
mod testgpu;
#[cfg(test)]
mod testmesh;
pub mod turbulence;
pub mod unstructured;
pub mod viscous;
pub mod wall_distance;
pub mod wall_law;
mod wall_layer;

pub use chromaflow_mesh as mesh;
pub use config::FlowConfig;
pub use march::StepReport;
pub use unstructured::FlowSolver;
