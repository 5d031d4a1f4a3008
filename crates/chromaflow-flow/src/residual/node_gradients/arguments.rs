//! What the kernels of `node_gradients.cu` take.

use crate::gpu::Params;
use chromaflow_device::cuda::{Read, Write};
use chromaflow_device::kernel_record;

kernel_record! {
    /// What `cell_gradients` takes.
    pub(super) struct CellGradients {
        count: u32, element_nodes: Read<u32>, nodes: Read<f64>, plane: u32, phi: Read<f64>,
        params: Read<Params>, out: Write<f64>,
    }

    /// What `node_means` takes.
    pub(super) struct NodeMeans {
        rows: u32, row_ptr: Read<u32>, around: Read<u32>, cells: Read<f64>, out: Write<f64>,
    }
}
