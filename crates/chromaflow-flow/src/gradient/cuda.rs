#![allow(unsafe_code)]
//! Launch of gradient.cu.

use crate::config::GradientWeights;
use crate::gpu::{MeshCuda, blocks, optional, source};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream, Write};
use chromaflow_device::{kernel_arguments, kernel_record};

kernel_record! {
    /// What `least_squares` takes.
    struct LeastSquares {
        rows: u32, row_ptr: Read<u32>, col_idx: Read<u32>, nodes: Read<f64>, by_distance: u32,
        mapped: Read<f64>, out: Write<f64>,
    }
}

pub(crate) fn kernel_source() -> KernelSource {
    source("gradient", "", include_str!("gradient.cu")).record::<LeastSquares>()
}

/// Gradients of all nodes on the device.
///
/// **Shapes**: `nodes [rows, 8]`, gradients `[rows, 16]`: those of the twin.
/// **Launch shape**: eight lanes a row. **Twin**: [`least_squares`](super::least_squares).
pub struct LeastSquaresCuda {
    kernel: Kernel,
    by_distance: u32,
    mapped: bool,
}

impl LeastSquaresCuda {
    /// Compiles or loads the kernel; `mapped`: whether it takes the mesh's mapping, or its periods alone.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, weights: GradientWeights, mapped: bool) -> Result<Self, GpuError> {
        let kernel = stream.gpu().module(&kernel_source())?.kernel("least_squares")?;
        Ok(Self { kernel, by_distance: u32::from(weights == GradientWeights::InverseDistance), mapped })
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
        let launch = self.kernel.launch(blocks(mesh.rows, 16), 128);
        let added = if self.mapped { &mesh.mapped_by_position } else { &mesh.shifts_by_position };
        // SAFETY: columns are rows of the mesh; the arrays have the lengths checked above.
        Ok(unsafe {
            launch
                .record(&kernel_arguments! { LeastSquares {
                    rows: mesh.rows as u32, row_ptr: &mesh.row_ptr, col_idx: &mesh.col_idx, nodes,
                    by_distance: self.by_distance, mapped: optional(added), out: &*gradients,
                } })
                .enqueue(stream)
        }?)
    }
}
