//! Context and solver of the C interface, for tests.
#![allow(dead_code)] // each test uses some

use chromaflow_capi::arrays::{Array, ArrayMut};
use chromaflow_capi::{context, solver, status};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;

pub fn good(found: i32) {
    let mut text = vec![0_u8; 1024];
    // SAFETY: room for the text.
    unsafe { status::chromaflow_error_text(text.as_mut_ptr().cast(), text.len()) };
    assert_eq!(found, 0, "{}", String::from_utf8_lossy(&text));
}

pub fn given<T>(values: &[T], r#type: i32) -> Array {
    Array { data: values.as_ptr().cast(), len: values.len() as i64, r#type, place: 0 }
}

pub fn taken(values: &mut [f64]) -> ArrayMut {
    ArrayMut { data: values.as_mut_ptr().cast(), len: values.len() as i64, r#type: 6, place: 0 }
}

/// Context and solver of the C interface.
pub struct Handles(pub *mut context::Context, pub *mut solver::Solver);

impl Handles {
    pub fn new(on: &str, matrix: &chromaflow::BlockCsr, options: &str) -> Self {
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
            ghosts: 0,
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

    pub fn solve(&self, b: &[f64], x: &mut [f64]) {
        // SAFETY: the arrays live through the call.
        good(unsafe { solver::chromaflow_solver_solve(self.1, given(b, 6), taken(x), null_mut()) });
    }

    pub fn apply(&self, r: &[f64], z: &mut [f64]) {
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
