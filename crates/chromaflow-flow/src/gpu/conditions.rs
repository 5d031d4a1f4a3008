#![allow(unsafe_code)]
//! Boundary conditions in device memory, in the very layout of the host.

use crate::bc::{Condition, Farfield, Inlet, MirrorNode, Motion, Outlet, VelocityInlet, Wall, WallNode};
use crate::wall_law::LawNode;
use bytemuck::NoUninit;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use std::mem::offset_of;

/// Bytes of a [`Condition`]; its two enums fill one word.
const SIZE: usize = 8
    + size_of::<Farfield<f64>>()
    + size_of::<Inlet<f64>>()
    + size_of::<VelocityInlet<f64>>()
    + size_of::<Outlet<f64>>()
    + 4 * size_of::<f64>()
    + size_of::<Motion<f64>>();
const _: () =
    assert!(size_of::<Condition<f64>>() == SIZE, "no field is missing here and nothing lies between fields");

// SAFETY: `repr(C)` of two enums of four bytes and records of f64 only; by the assertion above no byte of it is padding.
unsafe impl NoUninit for Condition<f64> {}

const WALL_SIZE: usize = 8 + size_of::<Wall<f64>>();
const _: () = assert!(size_of::<WallNode<f64>>() == WALL_SIZE, "nothing lies between fields");

// SAFETY: `repr(C)` of two numbers of four bytes and a record of f64 only; by the assertion above no byte of it is padding.
unsafe impl NoUninit for WallNode<f64> {}

const LAW_SIZE: usize = 16 + 5 * size_of::<f64>() + size_of::<Wall<f64>>();
const _: () = assert!(size_of::<LawNode<f64>>() == LAW_SIZE, "nothing lies between fields");

// SAFETY: `repr(C)` of four numbers of four bytes and f64 only; by the assertion above no byte of it is padding.
unsafe impl NoUninit for LawNode<f64> {}

const MIRROR_SIZE: usize = 8 + 13 * size_of::<f64>();
const _: () = assert!(size_of::<MirrorNode<f64>>() == MIRROR_SIZE, "nothing lies between fields");

// SAFETY: `repr(C)` of two numbers of four bytes and a record of f64 only; by the assertion above no byte of it is padding.
unsafe impl NoUninit for MirrorNode<f64> {}

/// An array of `Condition`, `WallNode`, `LawNode` or `MirrorNode` as kernels read it.
///
/// # Errors
/// [`GpuError::Cuda`].
pub(crate) fn upload_structs<T: NoUninit>(stream: &Stream, all: &[T]) -> Result<DeviceBuffer<u64>, GpuError> {
    Ok(stream.upload(bytemuck::cast_slice::<_, u64>(all))?)
}

/// Takes over the back pressures that the device has adapted.
///
/// # Errors
/// [`GpuError::Cuda`].
pub(crate) fn download_pressures(
    from: &DeviceBuffer<u64>,
    conditions: &mut [Condition<f64>],
) -> Result<(), GpuError> {
    if conditions.iter().all(|c| c.mass_flow == 0.0) {
        return Ok(());
    }
    let at = (offset_of!(Condition<f64>, outlet) + offset_of!(Outlet<f64>, pressure)) / 8;
    let held = offset_of!(Condition<f64>, held) / 8;
    for (words, condition) in from.download()?.chunks_exact(SIZE / 8).zip(conditions) {
        if condition.mass_flow > 0.0 {
            condition.outlet.pressure = f64::from_bits(words[at]);
            condition.held = f64::from_bits(words[held]);
        }
    }
    Ok(())
}

/// Makes kernels that see another layout fail to compile.
pub(crate) fn layout_check() -> String {
    format!(
        "static_assert(sizeof(Condition) == {SIZE} && sizeof(WallNode) == {WALL_SIZE} && sizeof(LawNode) == {LAW_SIZE} && \
         sizeof(MirrorNode) == {MIRROR_SIZE}, \"the host's layout\");\n"
    )
}
