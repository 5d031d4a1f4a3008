//! The compiled part of the Python package `chromaflow`: the handles of the C interface as classes.
//!
//! Arrays come as (address, entries, type, place) from the Python part, which has looked at their shape and keeps them alive
//! during the call. The interpreter is released while the library works, so that other threads of Python go on.
#![allow(unsafe_code)]

use chromaflow_capi::arrays::{Array, ArrayMut};
use chromaflow_capi::{context, json, solver, status};
use pyo3::prelude::*;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{from_ref, null_mut};
use std::sync::{Mutex, PoisonError};

/// Address, entries, type, place.
type Raw = (usize, i64, i32, i32);

fn array((data, len, r#type, place): Raw) -> Array {
    Array { data: data as *const c_void, len, r#type, place }
}

fn array_mut((data, len, r#type, place): Raw) -> ArrayMut {
    ArrayMut { data: data as *mut c_void, len, r#type, place }
}

/// A handle of the C interface, which any thread may use: a second call at once is refused there.
struct Pointer<T>(*mut T);

// SAFETY: the C interface takes handles from any thread.
unsafe impl<T> Send for Pointer<T> {}
// SAFETY: as above; calls at once are refused.
unsafe impl<T> Sync for Pointer<T> {}

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pointer<T> {}

impl<T> Pointer<T> {
    /// The pointer (a method, so that closures capture the whole).
    fn get(self) -> *mut T {
        self.0
    }
}

/// Raises the exception of a status.
fn check(py: Python<'_>, found: i32) -> PyResult<()> {
    if found == 0 {
        return Ok(());
    }
    // SAFETY: room for the text and its NUL, and two numbers.
    let (text, row, col) = unsafe {
        let mut text = vec![0_u8; status::chromaflow_error_text(null_mut(), 0) + 1];
        status::chromaflow_error_text(text.as_mut_ptr().cast(), text.len());
        text.pop();
        let (mut row, mut col) = (-1, -1);
        status::chromaflow_error_place(&raw mut row, &raw mut col);
        (String::from_utf8_lossy(&text).into_owned(), row, col)
    };
    Err(raised(py, (found, &text, row, col))?)
}

/// The exception of a status, with its text, block row and column.
fn raised(py: Python<'_>, what: (i32, &str, i64, i64)) -> PyResult<PyErr> {
    Ok(PyErr::from_value(py.import("chromaflow._errors")?.call_method1("of", what)?))
}

fn text(value: &str) -> CString {
    CString::new(value.replace('\0', " ")).unwrap_or_default()
}

/// Threads or a GPU.
#[pyclass(frozen)]
struct Context {
    handle: Pointer<context::Context>,
}

#[pymethods]
impl Context {
    #[new]
    fn new(py: Python<'_>, options: &str, stream: usize) -> PyResult<Self> {
        let mut handle = null_mut();
        let options = text(options);
        // SAFETY: a text and a place for the handle; the stream is what the caller says.
        let found = unsafe {
            context::chromaflow_context_create(options.as_ptr(), stream as *mut c_void, &raw mut handle)
        };
        check(py, found)?;
        Ok(Self { handle: Pointer(handle) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by `new`, ended once.
        unsafe { context::chromaflow_context_destroy(self.handle.get()) };
    }
}

/// What a solve found: outcome, iterations, residual, history, seconds.
type Found = (i32, i64, f64, Vec<f64>, f64);

/// A pattern, its values, a method.
#[pyclass(frozen)]
struct Solver {
    handle: Pointer<solver::Solver>,
    /// The caller's operator, which the library has the address of.
    operator: Box<Mutex<Option<Py<PyAny>>>>,
    /// Held while the history of a solve, which is the library's, is copied.
    solving: Mutex<()>,
}

/// Calls the Python function behind `user` with the addresses of x and y.
unsafe extern "C" fn call(user: *mut c_void, x: Array, y: ArrayMut) -> i32 {
    Python::attach(|py| {
        // SAFETY: `Solver::operator` gave the address of a box that lives as long as the solver.
        let held = unsafe { &*user.cast::<Mutex<Option<Py<PyAny>>>>() };
        let function = held.lock().ok().and_then(|f| f.as_ref().map(|f| f.clone_ref(py)));
        let Some(function) = function else { return 1 };
        let status = function.call1(py, (x.data as usize, y.data as usize, x.len));
        status.and_then(|s| s.extract(py)).unwrap_or(1)
    })
}

#[pymethods]
impl Solver {
    #[new]
    fn new(
        py: Python<'_>,
        context: &Context,
        size: (i64, i32),
        pattern: (Raw, Raw),
        options: &str,
    ) -> PyResult<Self> {
        let (rows, nb) = size;
        let (row_ptr, col_idx) = (array(pattern.0), array(pattern.1));
        let pattern =
            solver::Pattern { size: size_of::<solver::Pattern>(), rows, nb, base: 0, row_ptr, col_idx };
        let (options, context) = (text(options), context.handle);
        let pattern = Pointer(from_ref(&pattern).cast_mut()); // so that the closure may go to another thread; it is only read
        let (found, handle) = py.detach(|| {
            let mut handle = null_mut();
            // SAFETY: the arrays live through the call, as the Python part promises.
            let found = unsafe {
                let options: *const c_char = options.as_ptr();
                solver::chromaflow_solver_create(context.get(), pattern.get(), options, &raw mut handle)
            };
            (found, Pointer(handle))
        });
        check(py, found)?;
        Ok(Self { handle, operator: Box::default(), solving: Mutex::new(()) })
    }

    fn option(&self, py: Python<'_>, key: &str, value: &str) -> PyResult<()> {
        let (key, value) = (text(key), text(value));
        // SAFETY: a handle and two texts.
        check(py, unsafe {
            solver::chromaflow_solver_option(self.handle.get(), key.as_ptr(), value.as_ptr())
        })
    }

    /// Number of pivoted blocks, the first of them, underflowed values.
    fn set_values(
        &self,
        py: Python<'_>,
        values: Raw,
        diagonal: Raw,
        layout: i32,
    ) -> PyResult<(i64, i64, i64)> {
        let handle = self.handle;
        let (pivoted, pivoted_row, underflowed, seconds) = (0, -1, 0, 0.0);
        let size = size_of::<solver::SetReport>();
        let mut report = solver::SetReport { size, pivoted, pivoted_row, underflowed, seconds };
        // SAFETY: the arrays live through the call, as the Python part promises.
        let found = py.detach(|| unsafe {
            let (values, diagonal) = (array(values), array(diagonal));
            solver::chromaflow_solver_set_values(handle.get(), values, diagonal, layout, &raw mut report)
        });
        check(py, found)?;
        Ok((report.pivoted, report.pivoted_row, report.underflowed))
    }

    fn solve(&self, py: Python<'_>, b: Raw, x: Raw) -> PyResult<Found> {
        let handle = self.handle;
        let Ok(_solving) = self.solving.try_lock() else {
            return Err(raised(py, (1, "another solve is using the solver: one at a time", -1, -1))?);
        };
        let (status, found) = py.detach(|| {
            let mut report = solver::Report {
                size: size_of::<solver::Report>(),
                outcome: 0,
                iterations: 0,
                residual: 0.0,
                history: std::ptr::null(),
                history_len: 0,
                seconds: 0.0,
            };
            // SAFETY: the arrays live through the call, as the Python part promises; so does the history until the next.
            unsafe {
                let status =
                    solver::chromaflow_solver_solve(handle.get(), array(b), array_mut(x), &raw mut report);
                let history = if report.history.is_null() {
                    Vec::new()
                } else {
                    std::slice::from_raw_parts(report.history, report.history_len as usize).to_vec()
                };
                (status, (report.outcome, report.iterations, report.residual, history, report.seconds))
            }
        });
        check(py, status)?;
        Ok(found)
    }

    fn apply(&self, py: Python<'_>, r: Raw, z: Raw) -> PyResult<()> {
        let handle = self.handle;
        // SAFETY: the arrays live through the call, as the Python part promises.
        let found =
            py.detach(|| unsafe { solver::chromaflow_solver_apply(handle.get(), array(r), array_mut(z)) });
        check(py, found)
    }

    fn multiply(&self, py: Python<'_>, x: Raw, y: Raw) -> PyResult<()> {
        let handle = self.handle;
        // SAFETY: as above.
        let found =
            py.detach(|| unsafe { solver::chromaflow_solver_multiply(handle.get(), array(x), array_mut(y)) });
        check(py, found)
    }

    /// `function(address of x, address of y, entries)` does y = A x and returns 0; None goes back to the matrix.
    fn operator(&self, py: Python<'_>, function: Option<Py<PyAny>>) -> PyResult<()> {
        let apply = function.is_some().then_some(call as solver::OperatorFn);
        let user = from_ref(&*self.operator).cast_mut().cast();
        // SAFETY: the box lives as long as the solver.
        check(py, unsafe { solver::chromaflow_solver_operator(self.handle.get(), apply, user) })?;
        *self.operator.lock().unwrap_or_else(PoisonError::into_inner) = function;
        Ok(())
    }

    /// The new row of each old one, and the first row of each color.
    fn order(&self, py: Python<'_>, rows: usize) -> PyResult<(Vec<i64>, Vec<i64>)> {
        let mut colors = 0;
        // SAFETY: places for the numbers asked for.
        unsafe {
            let ask = |new: *mut i64, starts: *mut i64, colors: *mut i64| {
                check(py, solver::chromaflow_solver_order(self.handle.get(), new, starts, colors))
            };
            ask(null_mut(), null_mut(), &raw mut colors)?;
            let (mut new, mut starts) = (vec![0; rows], vec![0; colors as usize + 1]);
            ask(new.as_mut_ptr(), starts.as_mut_ptr(), null_mut())?;
            Ok((new, starts))
        }
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // SAFETY: made by `new`, ended once.
        unsafe { solver::chromaflow_solver_destroy(self.handle.get()) };
    }
}

/// Every option with its values, default and help, as JSON.
#[pyfunction]
fn options() -> String {
    // SAFETY: a text that lives as long as the library.
    unsafe { CStr::from_ptr(json::chromaflow_options()) }.to_string_lossy().into_owned()
}

#[pymodule]
fn _chromaflow(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Context>()?;
    module.add_class::<Solver>()?;
    module.add_function(wrap_pyfunction!(options, module)?)
}
