//! What a solver's handle holds, on the host or on a GPU.

use super::Pattern;
use super::callbacks::{Monitor, Operator, Ranks, solve_with};
use crate::arrays::{Array, ArrayMut, Entry, Type, check_apart};
use crate::context::{Level, Shared};
#[cfg(feature = "cuda")]
use crate::device::{Given, Taken};
use crate::status::{Failure, Outcome, Status};
use chromaflow::SolverOptions;
use chromaflow::krylov::Solve;
#[cfg(feature = "cuda")]
use chromaflow::solver::LinearSolverCuda;
use chromaflow::solver::{
    BlockLayout, Index, IndexBase, LinearSolver, NumericReport, OwnedRows, PreconditionerKind, SolverError,
    Value, agree,
};
use chromaflow::sparse::ShapeError;
use chromaflow_comm::Communicator;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

enum Engine {
    Cpu(Box<LinearSolver>),
    #[cfg(feature = "cuda")]
    Cuda(Box<LinearSolverCuda>),
}

/// What a solver's handle holds.
pub struct Held {
    pub(super) shared: Arc<Shared>,
    engine: Engine,
    options: SolverOptions,
    /// The number of the first row.
    pub(super) base: usize,
    nb: usize,
    /// Its columns have global numbers.
    global: bool,
    pub(super) operator: Option<Operator>,
    /// Whether the caller's monitor is told of iterations, and may be told of several solves in turn.
    monitored: bool,
    in_turn: bool,
    /// Whether it has ended a solve.
    stopped: Arc<AtomicBool>,
    /// Of the solves of the last call.
    pub(super) histories: Vec<Vec<f64>>,
    /// Vectors that come in f32.
    rooms: [Vec<f64>; 2],
}

/// The environment variable whose options win.
const ENVIRONMENT: &str = "CHROMAFLOW_OPTIONS";

fn options_of(text: &str, on_gpu: bool) -> Result<SolverOptions, Failure> {
    let mut options = SolverOptions::default();
    if on_gpu {
        // The levels of block ILU are many and short there.
        options.preconditioner = PreconditionerKind::Multicolor;
    }
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

/// What is wrong with the sizes of a pattern; the block size.
fn check_sizes(shared: &Shared, pattern: &Pattern, row_ptr: usize, col_idx: usize) -> Result<usize, Failure> {
    let rows = pattern.rows;
    if usize::try_from(rows).ok().and_then(|n| n.checked_add(1)) != Some(row_ptr) {
        let text = format!("row_ptr has {row_ptr} entries, expected rows + 1 with {rows} rows");
        return Err(Failure::argument(text));
    }
    let nb = usize::try_from(pattern.nb).unwrap_or(0);
    if !(1..=chromaflow::MAX_NB).contains(&nb) {
        return Err(SolverError::from(ShapeError::BlockSize(nb)).into());
    }
    if !shared.on_gpu() {
        check_memory(row_ptr.max(col_idx).saturating_mul(nb * nb))?;
    }
    Ok(nb)
}

fn base_of(pattern: &Pattern) -> Result<IndexBase, Failure> {
    match pattern.base {
        0 => Ok(IndexBase::Zero),
        1 => Ok(IndexBase::One),
        other => Err(Failure::argument(format!("pattern.base is {other}: expected 0 or 1"))),
    }
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
    let base = base_of(pattern)?;
    let nb = check_sizes(shared, pattern, row_ptr.len(), col_idx.len())?;
    let ghosts = usize::try_from(pattern.ghosts).map_err(|_| {
        Failure::argument(format!("pattern.ghosts is {}: expected a number of columns", pattern.ghosts))
    })?;
    if ghosts > 0 && shared.on_gpu() {
        let text = "ghost columns are not to be had on a GPU: give global columns and ranks, or use a context without a device";
        return Err(Failure::new(Status::Unsupported, text));
    }
    #[cfg(feature = "cuda")]
    if let Some(stream) = &shared.stream {
        let arrays = (row_ptr, col_idx);
        let solver = LinearSolverCuda::symbolic_from_arrays(stream, &shared.team, base, arrays, nb, options)?;
        return Ok(Engine::Cuda(Box::new(solver)));
    }
    let team = Arc::clone(&shared.team);
    let solver = LinearSolver::symbolic_with_ghosts(team, base, row_ptr, col_idx, ghosts, nb, options)?;
    Ok(Engine::Cpu(Box::new(solver)))
}

/// Index arrays of any types, and what the pattern says beside them.
type Indices = (Vec<i64>, Vec<i64>, IndexBase, usize, SolverOptions);

/// # Safety
/// As [`set_up`].
unsafe fn read_global(shared: &Shared, pattern: &Pattern, text: &str) -> Result<Indices, Failure> {
    let (base, options) = (base_of(pattern)?, options_of(text, shared.on_gpu())?);
    if pattern.ghosts != 0 {
        let text =
            format!("pattern.ghosts is {}: with global columns there are none to name", pattern.ghosts);
        return Err(Failure::argument(text));
    }
    // SAFETY: as the caller promises.
    let (row_ptr, col_idx) =
        unsafe { (pattern.row_ptr.integers("row_ptr")?, pattern.col_idx.integers("col_idx")?) };
    let nb = check_sizes(shared, pattern, row_ptr.len(), col_idx.len())?;
    Ok((row_ptr, col_idx, base, nb, options))
}

/// The rows of one rank, columns in global numbers.
///
/// # Safety
/// As [`set_up`].
unsafe fn set_up_over_ranks(
    shared: &Shared,
    ranks: &Arc<dyn Communicator>,
    pattern: &Pattern,
    first_row: i64,
    text: &str,
) -> Result<(Engine, SolverOptions), Failure> {
    // SAFETY: as the caller promises.
    let here = unsafe { read_global(shared, pattern, text) };
    let here = here.and_then(|read| {
        let start = u64::try_from(first_row).map_err(|_| {
            Failure::argument(format!(
                "first_row is {first_row}: expected the global number of the first row"
            ))
        })?;
        Ok((read, start))
    });
    // No rank waits for one that was refused.
    let ((row_ptr, col_idx, base, nb, options), start) = agree(&**ranks, here.map_err(SolverError::from))?;
    let rows = OwnedRows { base, start, row_ptr: &row_ptr, col_idx: &col_idx };
    let ranks = Arc::clone(ranks);
    #[cfg(feature = "cuda")]
    if let Some(stream) = &shared.stream {
        let solver = LinearSolverCuda::symbolic_over_ranks(stream, &shared.team, ranks, rows, nb, options)?;
        return Ok((Engine::Cuda(Box::new(solver)), options));
    }
    let solver = LinearSolver::symbolic_over_ranks(Arc::clone(&shared.team), ranks, rows, nb, options)?;
    Ok((Engine::Cpu(Box::new(solver)), options))
}

impl Held {
    /// # Safety
    /// As [`set_up`].
    pub(super) unsafe fn new(shared: Arc<Shared>, pattern: &Pattern, text: &str) -> Result<Self, Failure> {
        base_of(pattern)?;
        let options = options_of(text, shared.on_gpu())?;
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
        Ok(Self::of(shared, engine, options, pattern, false))
    }

    /// The rows of one rank of a matrix whose columns have global numbers.
    ///
    /// # Safety
    /// As [`set_up`].
    pub(super) unsafe fn over_ranks(
        shared: Arc<Shared>,
        ranks: &Arc<dyn Communicator>,
        pattern: &Pattern,
        first_row: i64,
        text: &str,
    ) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        let (engine, options) = unsafe { set_up_over_ranks(&shared, ranks, pattern, first_row, text)? };
        Ok(Self::of(shared, engine, options, pattern, true))
    }

    fn of(
        shared: Arc<Shared>,
        engine: Engine,
        options: SolverOptions,
        pattern: &Pattern,
        global: bool,
    ) -> Self {
        let held = Self {
            shared,
            engine,
            options,
            base: pattern.base as usize,
            nb: pattern.nb as usize,
            global,
            operator: None,
            monitored: false,
            in_turn: false,
            stopped: Arc::default(),
            histories: Vec::new(),
            rooms: [Vec::new(), Vec::new()],
        };
        held.shared.log(Level::Info, || {
            let (rows, batches) = (held.rows(), held.order_inside().1.len() - 1);
            format!("{rows} rows of blocks of {} in {batches} batches", pattern.nb)
        });
        held
    }

    /// Where each own row stands inside, and where the batches begin.
    pub(super) fn order_inside(&self) -> (Vec<u32>, Vec<u32>) {
        match &self.engine {
            Engine::Cpu(solver) => solver.order_inside(),
            #[cfg(feature = "cuda")]
            Engine::Cuda(solver) => solver.order_inside(),
        }
    }

    fn rows(&self) -> usize {
        match &self.engine {
            Engine::Cpu(solver) => solver.rows(),
            #[cfg(feature = "cuda")]
            Engine::Cuda(solver) => solver.rows(),
        }
    }

    /// Entries of a vector.
    pub(super) fn unknowns(&self) -> usize {
        self.rows() * self.nb
    }

    /// Whether the caller's monitor has ended the last solve.
    pub(super) fn was_stopped(&self) -> bool {
        self.stopped.swap(false, Ordering::Relaxed)
    }

    /// Refuses what GPUs do not have.
    pub(super) fn only_on_threads(&self, what: &str, asked: bool) -> Outcome {
        if self.shared.on_gpu() && asked {
            let text = format!("{what} is not to be had on a GPU: use a context without a device");
            return Err(Failure::new(Status::Unsupported, text));
        }
        Ok(())
    }

    pub(super) fn distribute(&mut self, ranks: Ranks) -> Outcome {
        if self.global {
            return Err(Failure::argument("the solver has its ranks already: they exchange by themselves"));
        }
        self.only_on_threads("an exchange of the caller's", true)?;
        if let Engine::Cpu(solver) = &mut self.engine {
            solver.distribute(Box::new(ranks));
        }
        Ok(())
    }

    pub(super) fn monitor(&mut self, monitor: Option<Monitor>) -> Outcome {
        self.only_on_threads("a monitor of the caller's", monitor.is_some())?;
        self.monitored = monitor.is_some();
        if let Engine::Cpu(solver) = &mut self.engine {
            solver.watch(monitor.map(|monitor| monitor.watch(Arc::clone(&self.stopped))));
        }
        Ok(())
    }

    pub(super) fn monitor_in_turn(&mut self) {
        self.in_turn = true;
        if let Engine::Cpu(solver) = &mut self.engine {
            solver.watch_in_turn(true);
        }
    }

    /// Most iterations of a solve.
    pub(super) fn max_iterations(&self) -> usize {
        self.options.max_iterations
    }

    pub(super) fn set_option(&mut self, key: &str, value: &str) -> Outcome {
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
    pub(super) unsafe fn set_values(
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
    pub(super) unsafe fn solve(&mut self, b: &Array, x: &ArrayMut) -> Result<Solve, Failure> {
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

    /// Solves for `count` vectors in one call of the solver's; none where its callbacks, or a GPU, have it solve one after the other.
    ///
    /// # Safety
    /// The arrays are as [`Array::host`] needs them.
    pub(super) unsafe fn solve_at_once(
        &mut self,
        count: usize,
        b: &Array,
        x: &ArrayMut,
    ) -> Result<Option<Vec<Solve>>, Failure> {
        if self.operator.is_some() || (self.monitored && !self.in_turn) || self.shared.on_gpu() {
            return Ok(None);
        }
        check_apart(("b", b), ("x", x))?;
        let [room, out] = &mut self.rooms;
        match &mut self.engine {
            Engine::Cpu(solver) => {
                // SAFETY: as the caller promises.
                unsafe {
                    let b = b.doubles("b", room)?;
                    with_doubles(x, "x", out, |x| Ok(Some(solver.solve_many(count, b, x)?)))
                }
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => Ok(None),
        }
    }

    /// z = M r, or y = A x.
    ///
    /// # Safety
    /// The arrays are as [`Array::host`] needs them.
    pub(super) unsafe fn product(
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
