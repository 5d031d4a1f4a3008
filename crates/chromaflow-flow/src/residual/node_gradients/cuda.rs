#![allow(unsafe_code)]
//! Launches of node_gradients.cu.

use super::NodeGradients;
use super::arguments::{CellGradients, NodeMeans};
use crate::gpu::{Params, ViscousCuda, blocks, source};
use crate::residual::cuda::CELLS;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Stream};
use chromaflow_device::enqueue;

/// With so many quantities besides the velocity.
pub(crate) fn kernel_source(more: usize) -> KernelSource {
    source("node_gradients", CELLS, include_str!("node_gradients.cu"))
        .records::<(CellGradients, NodeMeans)>()
        .define("MORE", more)
}

/// For one quantity besides the velocity and for two.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    [1, 2].map(kernel_source).into()
}

/// Gradients at nodes on the device.
///
/// **Twin**: [`NodeGradients`]. **Launch shapes**: a thread an element; sixteen lanes a row.
pub struct NodeGradientsCuda {
    /// By the nodes of an element.
    cells_kernels: [(usize, Kernel); 4],
    means_kernel: Kernel,
    /// Quantities besides the velocity.
    more: usize,
    row_ptr: DeviceBuffer<u32>,
    around: DeviceBuffer<u32>,
    /// `[elements, 3 (3 + more) + 1]`
    cells: DeviceBuffer<f64>,
}

impl NodeGradientsCuda {
    /// Compiles or loads the kernels, and takes the lists of the twin.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new<const M: usize, const W: usize>(
        stream: &Stream,
        host: &NodeGradients<M, W>,
    ) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&kernel_source(M))?;
        Ok(Self {
            cells_kernels: [
                (4, module.kernel("cell_gradients_4")?),
                (5, module.kernel("cell_gradients_5")?),
                (6, module.kernel("cell_gradients_6")?),
                (8, module.kernel("cell_gradients_8")?),
            ],
            means_kernel: module.kernel("node_means")?,
            row_ptr: stream.upload(&host.row_ptr)?,
            around: stream.upload(&host.around)?,
            more: M,
            cells: DeviceBuffer::zeroed(stream, W * host.cells.len())?,
        })
    }

    /// Enqueues the computation of the gradients of velocity and of `phi`, `[rows, more]`, at every node: `[rows, 3 + more, 3]`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    ///
    /// # Panics
    /// When `elements` are not those that this was set up for.
    pub fn enqueue(
        &self,
        stream: &Stream,
        elements: &ViscousCuda,
        params: &Params,
        nodes: &DeviceBuffer<f64>,
        phi: &DeviceBuffer<f64>,
        out: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (rows, count) = (self.row_ptr.len() - 1, 3 * (3 + self.more));
        assert!(nodes.len() == 8 * rows && phi.len() == self.more * rows && out.len() == count * rows);
        let numbers = count + 1;
        let mut first = 0;
        for (_, group) in &elements.groups {
            let count = group.nodes.len() / group.corners;
            let known = self.cells_kernels.iter().find(|(corners, _)| *corners == group.corners);
            let (_, kernel) = known.expect("elements have 4, 5, 6 or 8 nodes");
            let cells = self.cells.part(numbers * first..numbers * (first + count));
            let launch = kernel.launch(blocks(count, 128), 128);
            // SAFETY: nodes of elements are rows, of planar meshes modulo those of a plane; there is room for every element.
            unsafe {
                enqueue! { launch, stream, CellGradients {
                    count: count as u32, element_nodes: &group.nodes, nodes, plane: elements.plane, phi,
                    params: &params.values, out: cells,
                } }?;
            }
            first += count;
        }
        assert_eq!(numbers * first, self.cells.len(), "the elements of the set-up");
        // SAFETY: the lists name elements; as many derivatives a row as an element has.
        Ok(unsafe {
            enqueue! { self.means_kernel.launch(blocks(rows, 8), 128), stream, NodeMeans {
                rows: rows as u32, row_ptr: &self.row_ptr, around: &self.around, cells: &self.cells,
                out: &*out,
            } }
        }?)
    }
}
