//! A flow code's Jacobian through the C interface and through Rust: the same bits.
#![allow(unsafe_code)]

use chromaflow::solver::{BlockLayout, LinearSolver};
use chromaflow::sparse::io;
use chromaflow::{SolverOptions, Team};
use chromaflow_capi::arrays::{Array, ArrayMut};
use chromaflow_capi::{context, solver, status};
use chromaflow_testkit::data;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

fn good(found: i32) {
    let mut text = vec![0_u8; 1024];
    // SAFETY: room for the text.
    unsafe { status::chromaflow_error_text(text.as_mut_ptr().cast(), text.len()) };
    assert_eq!(found, 0, "{}", String::from_utf8_lossy(&text));
}

fn given<T>(values: &[T], r#type: i32) -> Array {
    Array { data: values.as_ptr().cast(), len: values.len() as i64, r#type, place: 0 }
}

fn taken(values: &mut [f64]) -> ArrayMut {
    ArrayMut { data: values.as_mut_ptr().cast(), len: values.len() as i64, r#type: 6, place: 0 }
}

/// Context and solver of the C interface.
struct Handles(*mut context::Context, *mut solver::Solver);

impl Handles {
    fn new(on: &str, matrix: &chromaflow::BlockCsr, options: &str) -> Self {
        let (on, options) = (CString::new(on).unwrap(), CString::new(options).unwrap());
        let (mut context, mut handle) = (null_mut(), null_mut());
        let pattern = matrix.pattern();
        let arrays = (given(pattern.row_ptr(), 3), given(pattern.col_idx(), 3));
        let pattern = solver::Pattern {
            size: size_of::<solver::Pattern>(),
            rows: pattern.rows() as i64,
            nb: matrix.nb() as i32,
            base: 0,
            row_ptr: arrays.0,
            col_idx: arrays.1,
        };
        // SAFETY: arrays, texts and places live through the calls.
        unsafe {
            good(context::chromaflow_context_create(on.as_ptr(), null_mut::<c_void>(), &raw mut context));
            good(solver::chromaflow_solver_create(
                context,
                &raw const pattern,
                options.as_ptr(),
                &raw mut handle,
            ));
            let none = given::<f64>(&[], 6);
            let values = given(matrix.values(), 6);
            good(solver::chromaflow_solver_set_values(handle, values, none, 0, null_mut()));
        }
        Self(context, handle)
    }

    fn solve(&self, b: &[f64], x: &mut [f64]) {
        // SAFETY: the arrays live through the call.
        good(unsafe { solver::chromaflow_solver_solve(self.1, given(b, 6), taken(x), null_mut()) });
    }

    fn apply(&self, r: &[f64], z: &mut [f64]) {
        // SAFETY: the arrays live through the call.
        good(unsafe { solver::chromaflow_solver_apply(self.1, given(r, 6), taken(z)) });
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        // SAFETY: made by `new`, ended once.
        unsafe {
            context::chromaflow_context_destroy(self.0);
            solver::chromaflow_solver_destroy(self.1);
        }
    }
}

const OPTIONS: [&str; 3] = [
    "preconditioner=ilu0,policy=d,order=natural",
    "policy=dsh,sweeps=2",
    "method=bicgstab,preconditioner=ilu1",
];

#[test]
fn a_jacobian_through_c_and_rust_gives_the_same_bits() {
    let Some(file) = data("matrices/kfun3d_m6A_step5_bs4.petsc.xz") else { return };
    let matrix = io::read_matrix(&file, Some(4)).unwrap().matrix;
    let n = matrix.pattern().rows() * matrix.nb();
    let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.37).sin()).collect();
    for text in OPTIONS {
        let mut options = SolverOptions::default();
        options.set_all(text).unwrap();
        let team = Arc::new(Team::new(1));
        let mut here = LinearSolver::symbolic(team, matrix.pattern(), matrix.nb(), options).unwrap();
        here.numeric(matrix.values(), BlockLayout::ColumnMajor).unwrap();
        let there = Handles::new("threads=2", &matrix, text);
        let (mut x, mut y) = (vec![0.0; n], vec![0.0; n]);
        here.solve(&b, &mut x).unwrap();
        there.solve(&b, &mut y);
        assert!(x.iter().zip(&y).all(|(x, y)| x.to_bits() == y.to_bits()), "{text}");
        here.apply(&b, &mut x).unwrap();
        there.apply(&b, &mut y);
        assert!(x.iter().zip(&y).all(|(x, y)| x.to_bits() == y.to_bits()), "{text}");
    }
}

#[cfg(feature = "cuda")]
mod cuda {
    use super::*;
    use chromaflow_device::cuda::{DeviceBuffer, Gpu};
    use chromaflow_testkit::available;

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
}
