#![allow(unsafe_code)]
//! Launches of node_gradients.cu.

use super::NodeGradients;
use super::arguments::{CornerMeans, Kernels};
use crate::gpu::{MeshCuda, blocks, source};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Stream};
use chromaflow_device::enqueue;

/// With so many quantities besides the velocity.
pub(crate) fn kernel_source(more: usize) -> KernelSource {
    source("node_gradients", "", include_str!("node_gradients.cu")).records::<Kernels>().define("MORE", more)
}

/// For one quantity besides the velocity and for two.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    [1, 2].map(kernel_source).into()
}

/// Gradients at nodes on the device.
///
/// **Twin**: [`NodeGradients`]. **Launch shape**: a thread a quantity of a row.
pub struct NodeGradientsCuda {
    kernels: Kernels,
    /// Quantities besides the velocity.
    more: usize,
    /// `[nnzb, 3]`
    weights: DeviceBuffer<f64>,
}

impl NodeGradientsCuda {
    /// Compiles or loads the kernel for so many quantities besides the velocity, and takes the weights of the twin.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, host: &NodeGradients, more: usize) -> Result<Self, GpuError> {
        Ok(Self {
            kernels: Kernels::of(&stream.gpu().module(&kernel_source(more))?)?,
            more,
            weights: stream.upload(host.weights.as_flattened())?,
        })
    }

    /// Enqueues the computation of the gradients of velocity and of `phi`, `[rows, more]`, at every node: `[rows, 3 + more, 3]`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    ///
    /// # Panics
    /// When `mesh` is not that which this was set up for.
    pub fn enqueue(
        &self,
        stream: &Stream,
        mesh: &MeshCuda,
        nodes: &DeviceBuffer<f64>,
        phi: &DeviceBuffer<f64>,
        out: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (rows, quantities) = (mesh.rows, 3 + self.more);
        assert!(
            nodes.len() == 8 * rows && phi.len() == self.more * rows && out.len() == 3 * quantities * rows
        );
        assert_eq!(self.weights.len(), 3 * mesh.col_idx.len(), "the mesh of the set-up");
        // SAFETY: columns are rows; as many weights as the pattern has positions, as many derivatives as threads have rows and quantities.
        Ok(unsafe {
            enqueue! { self.kernels.corner_means.launch(blocks(rows * quantities, 128), 128), stream, CornerMeans {
                rows: rows as u32, row_ptr: &mesh.row_ptr, col_idx: &mesh.col_idx, weights: &self.weights, nodes, phi,
                out: &*out,
            } }
        }?)
    }
}
