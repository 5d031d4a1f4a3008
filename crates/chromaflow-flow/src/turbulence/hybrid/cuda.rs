//! Lengths of the grid on a device.

use super::{HybridForm, HybridGrid};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Read, Stream};
use chromaflow_device::{kernel_arguments, kernel_record};

kernel_record! {
    /// Lengths of the grid about each row, and arms to the corners of control volumes; none where there is no hybrid.
    pub(crate) struct GridLengths {
        lengths: Read<f64>, corner_ptr: Read<u32>, arms: Read<f64>,
    }
}

/// What kernels of models put before their text.
pub const TEXT: &str = include_str!("hybrid.cuh");

/// Every hybrid, and none.
pub const FORMS: [Option<HybridForm>; 4] =
    [None, Some(HybridForm::Des), Some(HybridForm::Ddes), Some(HybridForm::Iddes)];

/// Of the constant `HYBRID`.
pub fn number(form: Option<HybridForm>) -> i32 {
    form.map_or(0, |form| form as i32 + 1)
}

/// **Twin**: [`HybridGrid`].
pub struct HybridGridCuda {
    lengths: DeviceBuffer<f64>,
    corners: Option<(DeviceBuffer<u32>, DeviceBuffer<f64>)>,
}

impl HybridGridCuda {
    /// A copy.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, grid: &HybridGrid) -> Result<Self, GpuError> {
        let corners = grid.corners.as_ref().map(|corners| {
            Ok::<_, GpuError>((stream.upload(&corners.row_ptr)?, stream.upload(corners.arms.as_flattened())?))
        });
        Ok(Self { lengths: stream.upload(grid.lengths.as_flattened())?, corners: corners.transpose()? })
    }

    /// What `grid_lengths` takes after the row.
    pub(crate) fn arguments(grid: Option<&Self>) -> GridLengths {
        let corners = grid.and_then(|grid| grid.corners.as_ref());
        kernel_arguments! { GridLengths {
            lengths: grid.map(|grid| &grid.lengths), corner_ptr: corners.map(|corners| &corners.0),
            arms: corners.map(|corners| &corners.1),
        } }
    }
}
