//! Lengths of the grid on a device.

use super::{HybridForm, HybridGrid};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Launch, Stream};

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

    /// A launch with the three arguments that `grid_lengths` takes after the row.
    pub fn arguments<'k>(grid: Option<&Self>, launch: Launch<'k>) -> Launch<'k> {
        let lengths = grid.map_or(0, |grid| grid.lengths.ptr());
        let corners = grid.and_then(|grid| grid.corners.as_ref());
        let [ptr, arms] = corners.map_or([0; 2], |(ptr, arms)| [ptr.ptr(), arms.ptr()]);
        launch.arg(lengths).arg(ptr).arg(arms)
    }
}
