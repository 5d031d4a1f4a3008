//! What the kernel of `node_gradients.cu` takes.

use chromaflow_device::cuda::{Read, Write};
use chromaflow_device::kernels;

kernels! {
    /// The kernel of `node_gradients.cu`.
    pub(super) struct Kernels {
        corner_means: CornerMeans {
            rows: u32, row_ptr: Read<u32>, col_idx: Read<u32>, weights: Read<f64>, nodes: Read<f64>,
            phi: Read<f64>, out: Write<f64>,
        },
    }
}
