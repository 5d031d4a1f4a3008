#![allow(unsafe_code)]
//! Launches of node_gradients.cu.

use super::NodeGradients;
use crate::gpu::{Params, ViscousCuda, blocks, source};
use crate::residual::cuda::CELLS;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Stream};

pub(crate) fn kernel_source() -> KernelSource {
    source("node_gradients", CELLS, include_str!("node_gradients.cu"))
}

/// Numbers of an element: twelve derivatives and its volume.
const NUMBERS: usize = 13;

/// Gradients at nodes on the device.
///
/// **Twin**: [`NodeGradients`]. **Launch shapes**: a thread an element; sixteen lanes a row.
pub struct NodeGradientsCuda {
    /// By the nodes of an element.
    cells_kernels: [(usize, Kernel); 4],
    means_kernel: Kernel,
    row_ptr: DeviceBuffer<u32>,
    around: DeviceBuffer<u32>,
    cells: DeviceBuffer<f64>,
}

impl NodeGradientsCuda {
    /// Compiles or loads the kernels, and takes the lists of the twin.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, host: &NodeGradients) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&kernel_source())?;
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
            cells: DeviceBuffer::zeroed(stream, NUMBERS * host.cells.len())?,
        })
    }

    /// Enqueues the computation of the gradients of velocity and of `phi`, `[rows]`, at every node: `[rows, 4, 3]`.
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
        let rows = self.row_ptr.len() - 1;
        assert!(nodes.len() == 8 * rows && phi.len() == rows && out.len() == 12 * rows);
        let mut first = 0;
        for (_, group) in &elements.groups {
            let count = group.nodes.len() / group.corners;
            let known = self.cells_kernels.iter().find(|(corners, _)| *corners == group.corners);
            let (_, kernel) = known.expect("elements have 4, 5, 6 or 8 nodes");
            let cells = self.cells.part(NUMBERS * first..NUMBERS * (first + count));
            let launch = kernel.launch(blocks(count, 128), 128).arg(count as u32).arg(&group.nodes);
            let launch = launch.arg(nodes).arg(elements.plane).arg(phi).arg(&params.values);
            // SAFETY: nodes of elements are rows, of planar meshes modulo those of a plane; there is room for every element.
            unsafe { launch.arg(cells).enqueue(stream)? };
            first += count;
        }
        assert_eq!(NUMBERS * first, self.cells.len(), "the elements of the set-up");
        let means = self.means_kernel.launch(blocks(rows, 8), 128).arg(rows as u32).arg(&self.row_ptr);
        // SAFETY: the lists name elements; twelve numbers a row.
        Ok(unsafe { means.arg(&self.around).arg(&self.cells).arg(&*out).enqueue(stream) }?)
    }
}
