//! Contexts on a GPU through the C interface.
#![cfg(feature = "cuda")]
#![allow(unsafe_code)]

mod handles;

use chromaflow_capi::arrays::{Array, ArrayMut};
use chromaflow_capi::{solver, status};
use chromaflow_device::cuda::{DeviceBuffer, Gpu};
use chromaflow_testkit::available;
use handles::{Handles, given, good, taken};
use std::ffi::c_void;
use std::ptr::null_mut;

fn on_device(values: &DeviceBuffer<f64>) -> Array {
    Array { data: values.ptr() as *const c_void, len: values.len() as i64, r#type: 6, place: 1 }
}

fn to_device(values: &DeviceBuffer<f64>) -> ArrayMut {
    ArrayMut { data: values.ptr() as *mut c_void, len: values.len() as i64, r#type: 6, place: 1 }
}

/// Vectors of the host and of the device give the same bits, near those of the CPU; a wrong place is an error.
#[test]
fn cuda_contexts_take_arrays_of_host_and_device() {
    let Some(gpu) = available("gpu", Gpu::open(0)) else { return };
    let (row_ptr, col_idx) = chromaflow::gallery::tetrahedral(300, 1800, 5);
    let (mut ptr, mut idx, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..300 {
        let mut columns = col_idx[row_ptr[row] as usize..row_ptr[row + 1] as usize].to_vec();
        columns.push(row as u32);
        columns.sort_unstable();
        for col in columns {
            let heavy = if col as usize == row { 30.0 } else { 0.0 };
            values.extend([heavy + 1.0, 0.5, -0.25, heavy + 2.0].map(|v| v * 0.1));
            idx.push(col);
        }
        ptr.push(idx.len() as u32);
    }
    let pattern = chromaflow::BlockPattern::new(300, ptr, idx).unwrap();
    let matrix = chromaflow::BlockCsr::new(pattern, 2, values).unwrap();
    let b: Vec<f64> = (0..600).map(|i| (f64::from(i) * 0.37).sin()).collect();
    let options = "policy=d";
    let (mut here, mut there) = (vec![0.0; 600], vec![0.0; 600]);
    Handles::new("threads=1", &matrix, options).solve(&b, &mut here);
    let handles = Handles::new("device=0", &matrix, options);
    handles.solve(&b, &mut there);
    assert!(here.iter().zip(&there).all(|(x, y)| (x - y).abs() < 1e-8));

    let stream = gpu.stream().unwrap();
    let (device_b, device_x) =
        (DeviceBuffer::from_slice(&stream, &b).unwrap(), DeviceBuffer::zeroed(&stream, 600).unwrap());
    stream.synchronize().unwrap();
    // SAFETY: the arrays live through the calls, on the device where they are said to.
    unsafe {
        let solve = |b, x| solver::chromaflow_solver_solve(handles.1, b, x, null_mut());
        good(solve(on_device(&device_b), to_device(&device_x)));
        // A solve on the host again, which waits for the solver's stream.
        let mut again = vec![0.0; 600];
        handles.solve(&b, &mut again);
        assert_eq!(again, there);
        assert_eq!(device_x.download().unwrap(), there);
        let mut wrong = on_device(&device_b);
        wrong.place = 0;
        assert_eq!(solve(wrong, taken(&mut there)), status::Status::BadArgument as i32);
        let mut wrong = given(&b, 6);
        wrong.place = 1;
        assert_eq!(solve(wrong, taken(&mut there)), status::Status::BadArgument as i32);
    }
}
