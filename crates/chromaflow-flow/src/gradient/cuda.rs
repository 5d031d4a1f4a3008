#![allow(unsafe_code)]
//! Launch of gradient.cu.

use super::Mirrors;
use crate::bc::MirrorNode;
use crate::config::GradientWeights;
use crate::gpu::{MeshCuda, blocks, source, upload_structs};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read, Stream, Write};
use chromaflow_device::{enqueue, kernels};

kernels! {
    struct Kernels {
        least_squares: LeastSquares {
            rows: u32, row_ptr: Read<u32>, col_idx: Read<u32>, nodes: Read<f64>, by_distance: u32,
            mapped_first: Read<u32>, mapped: Read<f64>, out: Write<f64>,
        },
        mirror_gradients: MirrorGradients {
            count: u32, mirrors: Read<MirrorNode<f64>>, weights: Read<f64>, row_ptr: Read<u32>,
            col_idx: Read<u32>, nodes: Read<f64>, by_distance: u32, mapped_first: Read<u32>,
            mapped: Read<f64>, out: Write<f64>,
        },
    }
}

pub(crate) fn kernel_source() -> KernelSource {
    source("gradient", "", include_str!("gradient.cu")).records::<Kernels>().define("QUICK", 1)
}

/// [`Mirrors`] on a device.
pub(crate) struct MirrorsCuda {
    /// How many nodes.
    pub count: usize,
    /// An array of `MirrorNode`.
    pub nodes: DeviceBuffer<u64>,
    /// How many images their neighbors have.
    weights: DeviceBuffer<f64>,
}

impl MirrorsCuda {
    /// Uploads them.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, mirrors: &Mirrors) -> Result<Self, GpuError> {
        let nodes = upload_structs(stream, &mirrors.nodes)?;
        Ok(Self { count: mirrors.nodes.len(), nodes, weights: stream.upload(&mirrors.weights)? })
    }
}

/// Gradients of all nodes on the device.
///
/// **Shapes**: `nodes [rows, 8]`, gradients `[rows, 16]`: those of the twin.
/// **Launch shape**: eight lanes a row. **Twin**: [`least_squares`](super::least_squares).
pub struct LeastSquaresCuda {
    kernels: Kernels,
    by_distance: u32,
    mapped: bool,
}

impl LeastSquaresCuda {
    /// Compiles or loads the kernel; `mapped`: whether it takes the mesh's mapping, or its periods alone.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, weights: GradientWeights, mapped: bool) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&kernel_source())?;
        Ok(Self {
            kernels: Kernels::of(&module)?,
            by_distance: u32::from(weights == GradientWeights::InverseDistance),
            mapped,
        })
    }

    /// Enqueues the computation.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn enqueue(
        &self,
        stream: &Stream,
        mesh: &MeshCuda,
        nodes: &DeviceBuffer<f64>,
        gradients: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(nodes.len() == 8 * mesh.rows && gradients.len() == 16 * mesh.rows);
        let added = if self.mapped { &mesh.mapped_by_row } else { &mesh.shifts_by_row };
        // SAFETY: columns are rows of the mesh; the arrays have the lengths checked above.
        Ok(unsafe {
            enqueue! { self.kernels.least_squares.launch(blocks(mesh.rows, 16), 128), stream, LeastSquares {
                rows: mesh.rows as u32, row_ptr: &mesh.row_ptr, col_idx: &mesh.col_idx, nodes,
                by_distance: self.by_distance, mapped_first: added.first(), mapped: added.values(), out: &*gradients,
            } }
        }?)
    }

    /// Enqueues that of nodes on planes of symmetry, in the place of what neighbors on one side alone make. **Twin**:
    /// [`Mirrors::gradients`].
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub(crate) fn enqueue_mirrored(
        &self,
        stream: &Stream,
        mesh: &MeshCuda,
        mirrors: &MirrorsCuda,
        nodes: &DeviceBuffer<f64>,
        gradients: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(nodes.len() == 8 * mesh.rows && gradients.len() == 16 * mesh.rows);
        let added = if self.mapped { &mesh.mapped_by_row } else { &mesh.shifts_by_row };
        // SAFETY: the nodes of the list are rows, with a weight for each of their neighbors; columns are rows of the mesh.
        Ok(unsafe {
            enqueue! { self.kernels.mirror_gradients.launch(blocks(mirrors.count, 16), 128), stream, MirrorGradients {
                count: mirrors.count as u32, mirrors: &mirrors.nodes, weights: &mirrors.weights,
                row_ptr: &mesh.row_ptr, col_idx: &mesh.col_idx, nodes, by_distance: self.by_distance,
                mapped_first: added.first(), mapped: added.values(), out: &*gradients,
            } }
        }?)
    }
}
