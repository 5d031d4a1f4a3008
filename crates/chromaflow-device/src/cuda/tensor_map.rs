#![allow(unsafe_code)]
//! Tensor maps: what the Tensor Memory Accelerator (TMA) needs to know to copy boxes of arrays to shared memory by itself.

use super::error::check;
use super::{CudaError, DeviceSlice};
use cudarc::driver::sys;

/// A [`tensor_map`], as the driver makes it: kernels read it in device memory, at a multiple of 128 bytes.
pub type TensorMap = [u64; 16];

/// What a kernel's `cp.async.bulk.tensor` has to know to copy boxes of an array to shared memory, each by one instruction and with
/// zeros for what lies beyond the array. GPUs of compute capability 9.0 and above do that.
///
/// **Shapes**: fastest dimension first: `shape` entries, those of dimension d + 1 `stride[d]` apart; boxes of `size` entries, at most
/// 256 a dimension. The array, `stride` and the first of `size` must be multiples of 16 bytes.
///
/// # Errors
/// [`CudaError::Driver`] where that is not so.
///
/// # Panics
/// When entries lie outside of `array`.
pub fn tensor_map(
    array: DeviceSlice<'_, f64>,
    shape: [usize; 4],
    stride: [usize; 3],
    size: [usize; 4],
) -> Result<TensorMap, CudaError> {
    let last: usize = (0..4).map(|d| (shape[d] - 1) * if d == 0 { 1 } else { stride[d - 1] }).sum();
    assert!(last < array.len(), "{shape:?} entries in an array of {}", array.len());
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: four dimensions, three strides; the driver writes the map and keeps none of the pointers.
    check("cuTensorMapEncodeTiled", unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
            4,
            array.ptr() as *mut _,
            shape.map(|n| n as u64).as_ptr(),
            stride.map(|n| 8 * n as u64).as_ptr(),
            size.map(|n| n as u32).as_ptr(),
            [1; 4].as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    })?;
    Ok(map.opaque)
}
