//! A pattern, its values, a method.

use crate::arrays::{Array, ArrayMut, Entry, Type, check_apart};
use crate::context::{Context, Level, Shared, logged, text_of};
#[cfg(feature = "cuda")]
use crate::device::{Given, Taken};
use crate::status::{Failure, Handle, Outcome, Status, check_size, entry, slot};
use chromaflow::krylov::Solve;
#[cfg(feature = "cuda")]
use chromaflow::solver::LinearSolverCuda;
use chromaflow::solver::{BlockLayout, Index, IndexBase, LinearSolver, NumericReport, SolverError, Value};
use chromaflow::sparse::ShapeError;
use chromaflow::{Permutation, RowBatches, SolverOptions};
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Instant;

/// `chromaflow_pattern`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Pattern {
    pub size: usize,
    pub rows: i64,
    pub nb: i32,
    pub base: i32,
    pub row_ptr: Array,
    pub col_idx: Array,
}

/// `chromaflow_set_report`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct SetReport {
    pub size: usize,
    pub pivoted: i64,
    pub pivoted_row: i64,
    pub underflowed: i64,
    pub seconds: f64,
}

/// `chromaflow_report`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Report {
    pub size: usize,
    pub outcome: i32,
    pub iterations: i64,
    pub residual: f64,
    pub history: *const f64,
    pub history_len: i64,
    pub seconds: f64,
}

/// `chromaflow_operator`.
pub type OperatorFn = unsafe extern "C" fn(user: *mut c_void, x: Array, y: ArrayMut) -> i32;

/// The caller's y = A x.
#[derive(Clone, Copy)]
struct Operator {
    apply: OperatorFn,
    user: *mut c_void,
}

// SAFETY: the header says that the callback is called on whatever thread solves.
unsafe impl Send for Operator {}

enum Engine {
    Cpu(Box<LinearSolver>),
    #[cfg(feature = "cuda")]
    Cuda(Box<LinearSolverCuda>),
}

/// What a solver's handle holds.
pub struct Held {
    shared: Arc<Shared>,
    engine: Engine,
    options: SolverOptions,
    /// The number of the first row.
    base: usize,
    operator: Option<Operator>,
    history: Vec<f64>,
    /// Vectors that come in f32.
    rooms: [Vec<f64>; 2],
}

/// `chromaflow_solver`.
pub type Solver = Handle<Held>;

/// The environment variable whose options win.
const ENVIRONMENT: &str = "CHROMAFLOW_OPTIONS";

fn options_of(text: &str) -> Result<SolverOptions, Failure> {
    let mut options = SolverOptions::default();
    options.set_all(text)?;
    if let Ok(text) = std::env::var(ENVIRONMENT) {
        options.set_all(&text).map_err(|e| Failure::argument(format!("{ENVIRONMENT}: {e}")))?;
    }
    Ok(options)
}

/// Asks the system for the memory of the matrix and of factors of its size, and gives it back: what it refuses later would end
/// the program.
fn check_memory(values: usize) -> Outcome {
    let bytes = values.saturating_mul(2 * size_of::<f64>());
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| {
        let text =
            format!("the matrix and its factors need {bytes} bytes: take a machine with more, or several");
        Failure::new(Status::NoMemory, text)
    })
}

/// # Safety
/// The arrays are as [`Array::host`] needs them.
unsafe fn set_up<I: Index + Entry>(
    shared: &Shared,
    pattern: &Pattern,
    options: SolverOptions,
) -> Result<Engine, Failure> {
    // SAFETY: as the caller promises.
    let (row_ptr, col_idx) =
        unsafe { (pattern.row_ptr.host::<I>("row_ptr")?, pattern.col_idx.host::<I>("col_idx")?) };
    let base = if pattern.base == 1 { IndexBase::One } else { IndexBase::Zero };
    let rows = pattern.rows;
    if usize::try_from(rows).ok().and_then(|n| n.checked_add(1)) != Some(row_ptr.len()) {
        let found = row_ptr.len();
        return Err(Failure::argument(format!(
            "row_ptr has {found} entries, expected rows + 1 with {rows} rows"
        )));
    }
    let nb = usize::try_from(pattern.nb).unwrap_or(0);
    if !(1..=chromaflow::MAX_NB).contains(&nb) {
        return Err(SolverError::from(ShapeError::BlockSize(nb)).into());
    }
    if !shared.on_gpu() {
        check_memory(row_ptr.len().max(col_idx.len()).saturating_mul(nb * nb))?;
    }
    #[cfg(feature = "cuda")]
    if let Some(stream) = &shared.stream {
        let arrays = (row_ptr, col_idx);
        let solver = LinearSolverCuda::symbolic_from_arrays(stream, &shared.team, base, arrays, nb, options)?;
        return Ok(Engine::Cuda(Box::new(solver)));
    }
    let team = Arc::clone(&shared.team);
    let solver = LinearSolver::symbolic_from_arrays(team, base, row_ptr, col_idx, nb, options)?;
    Ok(Engine::Cpu(Box::new(solver)))
}

impl Held {
    /// # Safety
    /// As [`set_up`].
    unsafe fn new(shared: Arc<Shared>, pattern: &Pattern, text: &str) -> Result<Self, Failure> {
        check_size::<Pattern>("chromaflow_pattern", pattern.size)?;
        if ![0, 1].contains(&pattern.base) {
            return Err(Failure::argument(format!("pattern.base is {}: expected 0 or 1", pattern.base)));
        }
        let options = options_of(text)?;
        let (kind, other) = (pattern.row_ptr.entries("row_ptr")?, pattern.col_idx.entries("col_idx")?);
        if kind != other {
            let text = format!(
                "row_ptr has entries CHROMAFLOW_{kind:?} and col_idx CHROMAFLOW_{other:?}: use one type"
            );
            return Err(Failure::argument(text));
        }
        // SAFETY: as the caller promises.
        let engine = unsafe {
            match kind {
                Type::I32 => set_up::<i32>(&shared, pattern, options)?,
                Type::I64 => set_up::<i64>(&shared, pattern, options)?,
                Type::U32 => set_up::<u32>(&shared, pattern, options)?,
                Type::U64 => set_up::<u64>(&shared, pattern, options)?,
                Type::F32 | Type::F64 => {
                    return Err(Failure::argument(format!(
                        "row_ptr has entries CHROMAFLOW_{kind:?}: expected integers"
                    )));
                }
            }
        };
        let (base, rooms) = (pattern.base as usize, [Vec::new(), Vec::new()]);
        let held = Self { shared, engine, options, base, operator: None, history: Vec::new(), rooms };
        held.shared.log(Level::Info, || {
            let (rows, colors) = (held.order().0.len(), held.order().1.len());
            format!("{rows} rows of blocks of {} in {colors} batches", pattern.nb)
        });
        Ok(held)
    }

    fn order(&self) -> (&Permutation, &RowBatches) {
        match &self.engine {
            Engine::Cpu(solver) => (solver.permutation(), solver.batches()),
            #[cfg(feature = "cuda")]
            Engine::Cuda(solver) => (solver.permutation(), solver.batches()),
        }
    }

    fn set_option(&mut self, key: &str, value: &str) -> Outcome {
        let mut options = self.options;
        options.set(key, value)?;
        match &mut self.engine {
            Engine::Cpu(solver) => solver.set_options(options)?,
            #[cfg(feature = "cuda")]
            Engine::Cuda(solver) => solver.set_options(options)?,
        }
        self.options = options;
        Ok(())
    }

    /// # Safety
    /// The arrays are as [`Array::host`] needs them.
    unsafe fn set_values(
        &mut self,
        values: &Array,
        diagonal: &Array,
        layout: i32,
    ) -> Result<NumericReport, Failure> {
        let layout = match layout {
            0 => BlockLayout::ColumnMajor,
            1 => BlockLayout::RowMajor,
            other => {
                let text =
                    format!("layout {other}: expected CHROMAFLOW_COLUMN_MAJOR or CHROMAFLOW_ROW_MAJOR");
                return Err(Failure::argument(text));
            }
        };
        let kind = values.entries("values")?;
        match &mut self.engine {
            Engine::Cpu(solver) if kind == Type::F32 => {
                // SAFETY: as the caller promises.
                unsafe { numeric::<f32>(solver, values, diagonal, layout) }
            }
            Engine::Cpu(solver) => {
                // SAFETY: as above.
                unsafe { numeric::<f64>(solver, values, diagonal, layout) }
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(solver) => {
                if diagonal.len != 0 {
                    let text = "diagonal blocks apart are not to be had on a GPU: give them among the others";
                    return Err(Failure::new(Status::Unsupported, text));
                }
                // SAFETY: as above.
                let given =
                    unsafe { Given::new(self.shared.stream.as_ref(), values, "values", &mut self.rooms[0])? };
                Ok(solver.numeric(given.array(), layout)?)
            }
        }
    }

    /// # Safety
    /// The arrays are as [`Array::host`] needs them.
    unsafe fn solve(&mut self, b: &Array, x: &ArrayMut) -> Result<Solve, Failure> {
        check_apart(("b", b), ("x", x))?;
        let [room, out] = &mut self.rooms;
        match &mut self.engine {
            Engine::Cpu(solver) => {
                // SAFETY: as the caller promises.
                let b = unsafe { b.doubles("b", room)? };
                let job = |x: &mut [f64]| match self.operator {
                    None => Ok(solver.solve(b, x)?),
                    Some(operator) => solve_with(solver, operator, b, x),
                };
                // SAFETY: as the caller promises.
                unsafe { with_doubles(x, "x", out, job) }
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(solver) => {
                let stream = self.shared.stream.as_ref();
                // SAFETY: as above.
                unsafe {
                    let b = Given::new(stream, b, "b", room)?;
                    let mut x = Taken::new(stream, x, "x")?;
                    Ok(solver.solve(b.array(), x.array())?)
                }
            }
        }
    }

    /// z = M r, or y = A x.
    ///
    /// # Safety
    /// The arrays are as [`Array::host`] needs them.
    unsafe fn product(
        &mut self,
        apply: bool,
        (from, r): (&str, &Array),
        (to, z): (&str, &ArrayMut),
    ) -> Outcome {
        check_apart((from, r), (to, z))?;
        let [room, out] = &mut self.rooms;
        match &mut self.engine {
            Engine::Cpu(solver) => {
                // SAFETY: as the caller promises.
                let r = unsafe { r.doubles(from, room)? };
                let job = |z: &mut [f64]| Ok(if apply { solver.apply(r, z) } else { solver.multiply(r, z) }?);
                // SAFETY: as the caller promises.
                unsafe { with_doubles(z, to, out, job) }
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(solver) => {
                let stream = self.shared.stream.as_ref();
                // SAFETY: as above.
                unsafe {
                    let r = Given::new(stream, r, from, room)?;
                    let mut z = Taken::new(stream, z, to)?;
                    if apply {
                        return Ok(solver.apply(r.array(), z.array())?);
                    }
                    Ok(solver.multiply(r.array(), z.array())?)
                }
            }
        }
    }
}

/// # Safety
/// The arrays are as [`Array::host`] needs them.
unsafe fn numeric<V: Value + Entry>(
    solver: &mut LinearSolver,
    values: &Array,
    diagonal: &Array,
    layout: BlockLayout,
) -> Result<NumericReport, Failure> {
    // SAFETY: as the caller promises.
    unsafe {
        let values = values.host::<V>("values")?;
        if diagonal.len == 0 {
            return Ok(solver.numeric(values, layout)?);
        }
        Ok(solver.numeric_apart(diagonal.host::<V>("diagonal")?, values, layout)?)
    }
}

/// Runs `job` on a vector to change; one in f32 goes through `room`.
///
/// # Safety
/// As [`ArrayMut::host`].
unsafe fn with_doubles<T>(
    x: &ArrayMut,
    what: &str,
    room: &mut Vec<f64>,
    job: impl FnOnce(&mut [f64]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // SAFETY: as the caller promises.
    unsafe {
        if x.as_in().entries(what)? != Type::F32 {
            return job(x.host::<f64>(what)?);
        }
        let single = x.host::<f32>(what)?;
        room.clear();
        room.extend(single.iter().map(|&v| f64::from(v)));
        let done = job(room)?;
        single.iter_mut().zip(&*room).for_each(|(to, &v)| *to = v as f32);
        Ok(done)
    }
}

fn solve_with(
    solver: &mut LinearSolver,
    operator: Operator,
    b: &[f64],
    x: &mut [f64],
) -> Result<Solve, Failure> {
    let mut refused = None;
    let mut product = |x: &[f64], y: &mut [f64]| {
        let (len, r#type, place) = (x.len() as i64, Type::F64 as i32, crate::arrays::HOST);
        let given = Array { data: x.as_ptr().cast(), len, r#type, place };
        let found = ArrayMut { data: y.as_mut_ptr().cast(), len, r#type, place };
        // SAFETY: the caller gave this function and what it wants as `user`; the arrays live through the call.
        let status = refused.unwrap_or_else(|| unsafe { (operator.apply)(operator.user, given, found) });
        if status != 0 {
            refused = Some(status);
            y.fill(f64::NAN); // which ends the iteration
        }
    };
    let solve = solver.solve_matrix_free(&mut product, b, x)?;
    match refused {
        None => Ok(solve),
        Some(status) => Err(Failure::new(
            Status::Callback,
            format!("the operator returned {status}: the solve ends, x is lost"),
        )),
    }
}

/// Renumbering, coloring, memory.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_create(
    context: *mut Context,
    pattern: *const Pattern,
    options: *const c_char,
    solver: *mut *mut Solver,
) -> i32 {
    entry(|| {
        // SAFETY: as the header says.
        unsafe {
            let to = slot(solver, "solver")?;
            *to = std::ptr::null_mut();
            let shared = Arc::clone(&*Handle::of(context, "context")?);
            let pattern = slot(pattern.cast_mut(), "pattern")?;
            let options = text_of(options, "options")?;
            logged(&Arc::clone(&shared), || {
                Handle::give(Held::new(shared, pattern, options)?, to);
                Ok(())
            })
        }
    })
}

/// Ends a solver.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_destroy(solver: *mut Solver) {
    entry(|| {
        // SAFETY: as the header says.
        unsafe { Handle::take_back(solver) };
        Ok(())
    });
}

/// Changes an option.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_option(
    solver: *mut Solver,
    key: *const c_char,
    value: *const c_char,
) -> i32 {
    // SAFETY: as the header says.
    with(solver, |held| held.set_option(unsafe { text_of(key, "key") }?, unsafe { text_of(value, "value") }?))
}

/// New values.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_set_values(
    solver: *mut Solver,
    values: Array,
    diagonal: Array,
    layout: i32,
    report: *mut SetReport,
) -> i32 {
    with(solver, |held| {
        // SAFETY: as the header says.
        let report = unsafe { report.as_mut() };
        if let Some(report) = &report {
            check_size::<SetReport>("chromaflow_set_report", report.size)?;
        }
        let start = Instant::now();
        // SAFETY: as the header says.
        let found = unsafe { held.set_values(&values, &diagonal, layout) }?;
        if found.pivoted > 0 {
            held.shared.log(Level::Warning, || {
                let (count, first) = (found.pivoted, found.pivoted_rows.first().map_or(0, |&r| r));
                format!("{count} diagonal blocks needed pivoting, the first in row {first}: look at the Jacobian there")
            });
        }
        if let Some(report) = report {
            report.pivoted = found.pivoted as i64;
            report.pivoted_row = found.pivoted_rows.first().map_or(-1, |&r| r as i64);
            report.underflowed = found.underflowed as i64;
            report.seconds = start.elapsed().as_secs_f64();
        }
        Ok(())
    })
}

/// x = A^-1 b.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_solve(
    solver: *mut Solver,
    b: Array,
    x: ArrayMut,
    report: *mut Report,
) -> i32 {
    with(solver, |held| {
        // SAFETY: as the header says.
        let report = unsafe { report.as_mut() };
        if let Some(report) = &report {
            check_size::<Report>("chromaflow_report", report.size)?;
        }
        let start = Instant::now();
        // SAFETY: as the header says.
        let solve = unsafe { held.solve(&b, &x) }?;
        held.shared.log(Level::Info, || {
            format!(
                "{} after {} iterations at {:.3e}",
                solve.outcome, solve.iterations, solve.relative_residual
            )
        });
        held.history = solve.history;
        if let Some(report) = report {
            report.outcome = match solve.outcome {
                chromaflow::Outcome::Converged => 0,
                chromaflow::Outcome::IterationLimit => 1,
                chromaflow::Outcome::Stagnated => 2,
                chromaflow::Outcome::Diverged { .. } => 3,
                chromaflow::Outcome::Breakdown { .. } => 4,
            };
            report.iterations = solve.iterations as i64;
            report.residual = solve.relative_residual;
            report.history = held.history.as_ptr();
            report.history_len = held.history.len() as i64;
            report.seconds = start.elapsed().as_secs_f64();
        }
        Ok(())
    })
}

/// z = M r.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_apply(solver: *mut Solver, r: Array, z: ArrayMut) -> i32 {
    // SAFETY: as the header says.
    with(solver, |held| unsafe { held.product(true, ("r", &r), ("z", &z)) })
}

/// y = A x.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_multiply(solver: *mut Solver, x: Array, y: ArrayMut) -> i32 {
    // SAFETY: as the header says.
    with(solver, |held| unsafe { held.product(false, ("x", &x), ("y", &y)) })
}

/// The order inside.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_order(
    solver: *mut Solver,
    new_of_old: *mut i64,
    color_starts: *mut i64,
    colors: *mut i64,
) -> i32 {
    with(solver, |held| {
        let (permutation, batches) = held.order();
        let base = held.base as i64;
        let copy = |to: *mut i64, from: &[u32]| {
            for (at, &row) in from.iter().enumerate().filter(|_| !to.is_null()) {
                // SAFETY: the header asks for arrays of these lengths.
                unsafe { to.add(at).write(i64::from(row) + base) };
            }
        };
        copy(new_of_old, permutation.new_of_old());
        copy(color_starts, batches.offsets());
        // SAFETY: as the header says.
        if let Some(colors) = unsafe { colors.as_mut() } {
            *colors = batches.len() as i64;
        }
        Ok(())
    })
}

/// y = A x by the caller.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_solver_operator(
    solver: *mut Solver,
    apply: Option<OperatorFn>,
    user: *mut c_void,
) -> i32 {
    with(solver, |held| {
        if held.shared.on_gpu() && apply.is_some() {
            let text =
                "an operator of the caller's is not to be had on a GPU: use a context without a device";
            return Err(Failure::new(Status::Unsupported, text));
        }
        held.operator = apply.map(|apply| Operator { apply, user });
        Ok(())
    })
}

/// An entry that works with a solver.
fn with(solver: *mut Solver, job: impl FnOnce(&mut Held) -> Outcome) -> i32 {
    entry(|| {
        // SAFETY: as the header says of every function that takes a solver.
        let mut held = unsafe { Handle::of(solver, "solver") }?;
        let shared = Arc::clone(&held.shared);
        logged(&shared, || job(&mut held))
    })
}
