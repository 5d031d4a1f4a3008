#![allow(unsafe_code)]
//! Boundary conditions in device memory, in the very layout of the host.

use crate::bc::{Condition, Farfield, Inlet, Outlet};
use bytemuck::NoUninit;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Stream};

/// Bytes of a [`Condition`]; its two enums fill one word.
const SIZE: usize =
    8 + size_of::<Farfield<f64>>() + size_of::<Inlet<f64>>() + size_of::<Outlet<f64>>() + size_of::<f64>();
const _: () =
    assert!(size_of::<Condition<f64>>() == SIZE, "no field is missing here and nothing lies between fields");

// SAFETY: `repr(C)` of two enums of four bytes and records of f64 only; by the assertion above no byte of it is padding.
unsafe impl NoUninit for Condition<f64> {}

/// An array of `Condition` as kernels read it.
///
/// # Errors
/// [`GpuError::Cuda`].
pub(crate) fn upload_conditions(
    stream: &Stream,
    conditions: &[Condition<f64>],
) -> Result<DeviceBuffer<u64>, GpuError> {
    Ok(stream.upload(bytemuck::cast_slice::<_, u64>(conditions))?)
}

/// Makes kernels that see another layout fail to compile.
pub(crate) fn layout_check() -> String {
    format!("static_assert(sizeof(Condition) == {SIZE}, \"the host's layout\");\n")
}
