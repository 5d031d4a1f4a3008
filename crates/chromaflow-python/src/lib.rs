//! The compiled part of the Python package `chromaflow`: the handles of the C interface as classes.
//!
//! Arrays come as (address, entries, type, place) from the Python part, which has looked at their shape and keeps them alive
//! during the call. The interpreter is released while the library works, so that other threads of Python go on.
#![allow(unsafe_code)]

use chromaflow_capi::arrays::{Array, ArrayMut};
use chromaflow_capi::{comm, context, json, solver, status};
use pyo3::prelude::*;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{from_ref, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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

/// Ranks of MPI.
#[pyclass(frozen)]
struct Comm {
    handle: Pointer<comm::Comm>,
}

#[pymethods]
impl Comm {
    /// `mpi`: Fortran's number of a communicator.
    #[new]
    fn new(py: Python<'_>, mpi: Option<i32>, options: &str) -> PyResult<Self> {
        let mut handle = null_mut();
        let (options, mpi) = (text(options), mpi.as_ref().map_or(std::ptr::null(), from_ref));
        // SAFETY: a number or none, a text and a place for the handle.
        check(py, unsafe { comm::chromaflow_comm_create(mpi, options.as_ptr(), &raw mut handle) })?;
        Ok(Self { handle: Pointer(handle) })
    }

    /// This rank, and how many there are.
    fn place(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: two numbers to write to.
        check(py, unsafe { comm::chromaflow_comm_place(self.handle.get(), &raw mut rank, &raw mut size) })?;
        Ok((rank, size))
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        // SAFETY: made by `new`, ended once.
        unsafe { comm::chromaflow_comm_destroy(self.handle.get()) };
    }
}

/// What a solve found: outcome, iterations, residual, history, seconds.
type Found = (i32, i64, f64, Vec<f64>, f64);

/// A pattern, its values, a method.
#[pyclass(frozen)]
struct Solver {
    handle: Pointer<solver::Solver>,
    /// The caller's functions, which the library has the address of.
    callers: Box<Callers>,
    /// Held while the history of a solve, which is the library's, is copied.
    solving: Mutex<()>,
}

/// Functions of the caller's, and what they raised.
#[derive(Default)]
struct Callers {
    operator: Mutex<Option<Py<PyAny>>>,
    exchange: Mutex<Option<Py<PyAny>>>,
    sum: Mutex<Option<Py<PyAny>>>,
    watch: Mutex<Watch>,
    raised: Mutex<Option<PyErr>>,
}

/// Who is told about iterations, and when the interpreter was last asked for signals.
#[derive(Default)]
struct Watch {
    function: Option<Py<PyAny>>,
    asked: Option<Instant>,
}

/// How often a solve that nobody watches looks for Ctrl-C: the interpreter, which other threads may hold, is needed for it.
const EVERY: Duration = Duration::from_millis(50);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Callers {
    /// What the library gives back to us.
    fn user(&self) -> *mut c_void {
        from_ref(self).cast_mut().cast()
    }

    /// Runs a job of the caller's; 0, or 1 where it raised, which is kept.
    fn run(&self, job: impl FnOnce(Python<'_>) -> PyResult<()>) -> i32 {
        Python::attach(|py| match job(py) {
            Ok(()) => 0,
            Err(error) => {
                lock(&self.raised).get_or_insert(error);
                1
            }
        })
    }

    /// What was raised during a call comes out of it, before what the library says.
    fn settle(&self, py: Python<'_>, status: i32) -> PyResult<()> {
        match lock(&self.raised).take() {
            Some(error) => Err(error),
            None => check(py, status),
        }
    }
}

/// Calls a function of the caller's.
fn call<'py>(
    py: Python<'py>,
    function: &Mutex<Option<Py<PyAny>>>,
    args: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<()> {
    let function = lock(function).as_ref().map(|f| f.clone_ref(py));
    function.map_or(Ok(()), |f| f.bind(py).call1(args).map(drop))
}

/// The callers behind `user`.
///
/// # Safety
/// `user` comes from [`Callers::user`] of a solver that lives.
unsafe fn callers<'a>(user: *mut c_void) -> &'a Callers {
    // SAFETY: as the caller promises.
    unsafe { &*user.cast::<Callers>() }
}

unsafe extern "C" fn operator(user: *mut c_void, x: Array, y: ArrayMut) -> i32 {
    // SAFETY: this function goes to the library together with the address.
    let own = unsafe { callers(user) };
    own.run(|py| call(py, &own.operator, (x.data as usize, y.data as usize, x.len)))
}

unsafe extern "C" fn exchange(user: *mut c_void, phase: i32, x: ArrayMut, nb: i32) -> i32 {
    // SAFETY: as above.
    let own = unsafe { callers(user) };
    own.run(|py| call(py, &own.exchange, (phase, x.data as usize, x.len, nb)))
}

unsafe extern "C" fn sum(user: *mut c_void, values: *mut f64, n: i32) -> i32 {
    // SAFETY: as above.
    let own = unsafe { callers(user) };
    own.run(|py| call(py, &own.sum, (values as usize, n)))
}

/// Tells the caller's function, which ends the solve by False, and asks for signals.
unsafe extern "C" fn monitor(user: *mut c_void, iteration: i64, residual: f64) -> i32 {
    // SAFETY: as above.
    let own = unsafe { callers(user) };
    let mut watch = lock(&own.watch);
    if watch.function.is_none() && watch.asked.is_some_and(|at| at.elapsed() < EVERY) {
        return 0;
    }
    let first = watch.asked.replace(Instant::now()).is_none();
    if watch.function.is_none() && first {
        return 0; // solves of one moment need no look
    }
    drop(watch);
    let mut more = true;
    let status = own.run(|py| {
        py.check_signals()?;
        let function = lock(&own.watch).function.as_ref().map(|f| f.clone_ref(py));
        if let Some(function) = function {
            let said = function.bind(py).call1((iteration, residual))?;
            more = said.is_none() || said.is_truthy()?;
        }
        Ok(())
    });
    i32::from(status != 0 || !more)
}

#[pymethods]
impl Solver {
    #[new]
    fn new(
        py: Python<'_>,
        context: &Context,
        size: (i64, i32, i64),
        pattern: (Raw, Raw),
        options: &str,
        ranks: Option<(PyRef<'_, Comm>, i64)>,
    ) -> PyResult<Self> {
        let (rows, nb, ghosts) = size;
        let ranks = ranks.map(|(comm, first_row)| (comm.handle, first_row));
        let (row_ptr, col_idx) = (array(pattern.0), array(pattern.1));
        let pattern = solver::Pattern {
            size: size_of::<solver::Pattern>(),
            rows,
            nb,
            base: 0,
            row_ptr,
            col_idx,
            ghosts,
        };
        let (options, context) = (text(options), context.handle);
        let pattern = Pointer(from_ref(&pattern).cast_mut()); // so that the closure may go to another thread; it is only read
        let (found, handle) = py.detach(|| {
            let mut handle = null_mut();
            // SAFETY: the arrays live through the call, as the Python part promises.
            let found = unsafe {
                let options: *const c_char = options.as_ptr();
                match ranks {
                    None => solver::chromaflow_solver_create(
                        context.get(),
                        pattern.get(),
                        options,
                        &raw mut handle,
                    ),
                    Some((comm, first_row)) => solver::chromaflow_solver_create_over_ranks(
                        context.get(),
                        comm.get(),
                        pattern.get(),
                        first_row,
                        options,
                        &raw mut handle,
                    ),
                }
            };
            (found, Pointer(handle))
        });
        check(py, found)?;
        let solver = Self { handle, callers: Box::default(), solving: Mutex::new(()) };
        // SAFETY: the box lives as long as the solver. A GPU's context has no monitors: its solves cannot be interrupted.
        // Of several solves it asks only whether to go on: a callback of Python's comes with one right-hand side alone.
        unsafe {
            solver::chromaflow_solver_monitor(handle.get(), Some(monitor), solver.callers.user());
            solver::monitor_in_turn(handle.get());
        }
        Ok(solver)
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

    /// `count` right-hand sides; `watch(iteration, residual)` is called after each iteration.
    fn solve(
        &self,
        py: Python<'_>,
        count: i64,
        b: Raw,
        x: Raw,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Found>> {
        let handle = self.handle;
        let Ok(_solving) = self.solving.try_lock() else {
            return Err(raised(py, (1, "another solve is using the solver: one at a time", -1, -1))?);
        };
        *lock(&self.callers.watch) = Watch { function: watch, asked: None };
        let (status, found) = py.detach(|| {
            let empty = solver::Report {
                size: size_of::<solver::Report>(),
                outcome: 0,
                iterations: 0,
                residual: 0.0,
                history: std::ptr::null(),
                history_len: 0,
                seconds: 0.0,
            };
            let mut reports = vec![empty; usize::try_from(count).unwrap_or(0)];
            // SAFETY: the arrays live through the call, as the Python part promises; so do the histories until the next.
            unsafe {
                let (b, x, to) = (array(b), array_mut(x), reports.as_mut_ptr());
                let status = solver::chromaflow_solver_solve_many(handle.get(), count, b, x, to);
                let copy = |report: solver::Report| {
                    let history = if report.history.is_null() {
                        Vec::new()
                    } else {
                        std::slice::from_raw_parts(report.history, report.history_len as usize).to_vec()
                    };
                    (report.outcome, report.iterations, report.residual, history, report.seconds)
                };
                (status, reports.into_iter().map(copy).collect())
            }
        });
        lock(&self.callers.watch).function = None;
        self.callers.settle(py, status)?;
        Ok(found)
    }

    fn apply(&self, py: Python<'_>, r: Raw, z: Raw) -> PyResult<()> {
        let handle = self.handle;
        // SAFETY: the arrays live through the call, as the Python part promises.
        let found =
            py.detach(|| unsafe { solver::chromaflow_solver_apply(handle.get(), array(r), array_mut(z)) });
        self.callers.settle(py, found)
    }

    fn multiply(&self, py: Python<'_>, x: Raw, y: Raw) -> PyResult<()> {
        let handle = self.handle;
        // SAFETY: as above.
        let found =
            py.detach(|| unsafe { solver::chromaflow_solver_multiply(handle.get(), array(x), array_mut(y)) });
        self.callers.settle(py, found)
    }

    /// `function(address of x, address of y, entries)` does y = A x; None goes back to the matrix.
    fn operator(&self, py: Python<'_>, function: Option<Py<PyAny>>) -> PyResult<()> {
        let apply = function.is_some().then_some(operator as solver::OperatorFn);
        // SAFETY: the box lives as long as the solver.
        check(py, unsafe {
            solver::chromaflow_solver_operator(self.handle.get(), apply, self.callers.user())
        })?;
        *lock(&self.callers.operator) = function;
        Ok(())
    }

    /// `swap(phase, address of x, entries, nb)` fills ghosts, `add(address of values, entries)` sums over ranks.
    fn distribute(&self, py: Python<'_>, swap: Py<PyAny>, add: Py<PyAny>) -> PyResult<()> {
        let (exchange, reduce) = (Some(exchange as solver::ExchangeFn), Some(sum as solver::ReduceFn));
        let user = self.callers.user();
        // SAFETY: the box lives as long as the solver.
        check(py, unsafe {
            solver::chromaflow_solver_distribute(self.handle.get(), exchange, reduce, user)
        })?;
        *lock(&self.callers.exchange) = Some(swap);
        *lock(&self.callers.sum) = Some(add);
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
    module.add_class::<Comm>()?;
    module.add_class::<Context>()?;
    module.add_class::<Solver>()?;
    module.add_function(wrap_pyfunction!(options, module)?)
}
