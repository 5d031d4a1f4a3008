//! Structured grids ([`chromaflow_mesh::grid`]) and their forms on a GPU: `GridCuda` has all blocks in arrays and reductions
//! over their cells, `ExchangeCuda` copies across interfaces.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "cuda")]
pub(crate) mod device;

pub use chromaflow_mesh::grid::*;
#[cfg(feature = "cuda")]
pub use cuda::{ExchangeCuda, FieldLayout, Passage};
#[cfg(feature = "cuda")]
pub(crate) use device::Chunks;
#[cfg(feature = "cuda")]
pub use device::{CHUNK, GridBlock, GridCuda, Reduction};
