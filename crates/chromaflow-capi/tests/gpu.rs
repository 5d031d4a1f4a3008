//! Contexts on a GPU through the C interface.
#![cfg(feature = "cuda")]
#![allow(unsafe_code)]

mod handles;

use chromaflow_capi::arrays::{Array, ArrayMut};
use chromaflow_capi::{comm, context, solver, status};
use chromaflow_comm::{CommError, Communicator, Threads, run};
use chromaflow_device::cuda::{DeviceBuffer, Gpu};
use chromaflow_testkit::available;
use handles::{Handles, given, good, taken};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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

/// Rows of ranks that share a device, columns in global numbers: vectors of the host and of the device give the same, near those of ranks
/// on the host.
#[test]
fn cuda_ranks_with_global_columns_take_arrays_of_host_and_device() {
    if available("gpu", Gpu::open(0)).is_none() {
        return;
    }
    for size in [1, 2, 3] {
        let found = run(size, Duration::from_secs(60), move |ranks: &Threads| {
            let own = ranks.rank();
            let (rows, all) = (40_usize, 40 * size);
            let (mut ptr, mut idx, mut values) = (vec![0_i32], Vec::new(), Vec::new());
            for row in own * rows..(own + 1) * rows {
                for (column, weight) in [(row, 4.0), ((row + 1) % all, -1.0), ((row + all - 3) % all, -0.7)] {
                    idx.push(column as i64);
                    values.extend([weight, 0.1, -0.2, weight + 0.3]);
                }
                ptr.push(idx.len() as i32);
            }
            let pattern = solver::Pattern {
                size: size_of::<solver::Pattern>(),
                rows: rows as i64,
                nb: 2,
                base: 0,
                row_ptr: given(&ptr, 1),
                col_idx: given(&idx, 2),
                ghosts: 0,
            };
            let b: Vec<f64> = (0..2 * rows).map(|i| ((i + own) as f64 * 0.37).sin()).collect();
            let options = c"preconditioner=multicolor, policy=d, tolerance=1e-11";
            let comm = comm::comm_of(Arc::new(ranks.clone()));
            let solved = |on: &std::ffi::CStr, job: &dyn Fn(*mut solver::Solver)| {
                let (mut context, mut made) = (null_mut(), null_mut());
                // SAFETY: arrays, texts and places live through the calls.
                unsafe {
                    good(context::chromaflow_context_create(on.as_ptr(), null_mut(), &raw mut context));
                    good(solver::chromaflow_solver_create_over_ranks(
                        context,
                        comm,
                        &raw const pattern,
                        (own * rows) as i64,
                        options.as_ptr(),
                        &raw mut made,
                    ));
                    let none = given::<f64>(&[], 6);
                    good(solver::chromaflow_solver_set_values(made, given(&values, 6), none, 0, null_mut()));
                    job(made);
                    solver::chromaflow_solver_destroy(made);
                    context::chromaflow_context_destroy(context);
                }
            };
            let solve = |made, b, x| {
                // SAFETY: the arrays live through the call, where they are said to.
                good(unsafe { solver::chromaflow_solver_solve(made, b, x, null_mut()) });
            };
            let here = Mutex::new(vec![0.0; b.len()]);
            solved(c"threads=1", &|made| solve(made, given(&b, 6), taken(&mut here.lock().unwrap())));
            let here = here.into_inner().unwrap();
            solved(c"device=0", &|made| {
                let mut x = vec![0.0; b.len()];
                solve(made, given(&b, 6), taken(&mut x));
                assert!(here.iter().zip(&x).all(|(x, y)| (x - y).abs() < 1e-8));
                let stream = Gpu::open(0).unwrap().stream().unwrap();
                let (device_b, device_x) = (
                    DeviceBuffer::from_slice(&stream, &b).unwrap(),
                    DeviceBuffer::<f64>::zeroed(&stream, b.len()).unwrap(),
                );
                stream.synchronize().unwrap();
                solve(made, on_device(&device_b), to_device(&device_x));
                let near = |(x, y): (&f64, &f64)| (x - y).abs() < 1e-9;
                // A solve on the host again, which waits for the solver's stream.
                solve(made, given(&b, 6), taken(&mut x));
                assert!(device_x.download().unwrap().iter().zip(&x).all(near));
            });
            // SAFETY: made above, ended once.
            unsafe { comm::chromaflow_comm_destroy(comm) };
            Ok::<_, CommError>(())
        });
        found.unwrap();
    }
}
