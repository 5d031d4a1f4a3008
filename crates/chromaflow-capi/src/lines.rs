//! Batches of block tridiagonal systems.

use crate::arrays::{Array, ArrayMut, Entry, check_apart};
use crate::context::{Context, Shared, bad_value, logged, pairs, text_of};
use crate::json::Plain;
use crate::status::{Failure, Handle, Outcome, Status, check_size, entry, lent, slot};
use chromaflow::tridiag::{
    Batch, Double, FactoredSolver, Layout, LineOutcome, Mixed, Options, Pivoting, Precision, Single, Solver,
};
use std::ffi::c_char;
use std::sync::Arc;

/// Options of lines.
pub(crate) const OPTIONS: &[Plain] = &[
    (
        "precision",
        "double, single, mixed",
        "double",
        "arrays and sums: f64, f32, or arrays in f32 and sums in f64",
    ),
    (
        "pivoting",
        "none, partial",
        "none",
        "the diagonal as it comes, or the largest entry of the column in a block",
    ),
];

/// `chromaflow_shape`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Shape {
    pub size: usize,
    pub lines: i64,
    pub rows: i64,
    pub rank: i32,
    pub periodic: i32,
    pub line: i64,
    pub row: i64,
    pub entry: i64,
}

/// A batch's solver, whatever its precision.
trait AnyLines: Send {
    /// # Safety
    /// The arrays are as [`Array::host`] needs them.
    unsafe fn factor(&mut self, shared: &Shared, blocks: &[Array; 3]) -> Outcome;

    /// # Safety
    /// As [`AnyLines::factor`].
    unsafe fn solve(&mut self, shared: &Shared, f: &ArrayMut) -> Outcome;

    /// # Safety
    /// As [`AnyLines::factor`].
    unsafe fn solve_once(&mut self, shared: &Shared, blocks: &[Array; 3], f: &ArrayMut) -> Outcome;
}

struct Lines<P: Precision> {
    shape: chromaflow::tridiag::Shape,
    layout: Layout,
    periodic: bool,
    factored: FactoredSolver<P>,
    at_once: Solver<P>,
    has_factors: bool,
    /// Right-hand sides, while solutions take their place.
    rhs: Vec<P::Store>,
}

const BLOCKS: [&str; 3] = ["lower", "diag", "upper"];

fn done(outcome: LineOutcome) -> Outcome {
    match outcome {
        LineOutcome::Solved => Ok(()),
        LineOutcome::Breakdown { system, row } => {
            let text = format!(
                "line {system}, row {row} (from 0): the pivot is zero or numbers overflow; the other lines are solved"
            );
            Err(Failure::new(Status::Singular, text).at(row, None))
        }
    }
}

impl<P: Precision> Lines<P>
where
    P::Store: Entry,
{
    /// # Safety
    /// The arrays are as [`Array::host`] needs them.
    unsafe fn batch<'a>(&self, blocks: &[Array; 3]) -> Result<Batch<'a, P::Store>, Failure> {
        // SAFETY: as the caller promises.
        let host = |k: usize| unsafe { blocks[k].host::<P::Store>(BLOCKS[k]) };
        let batch = Batch::new(self.shape, self.layout, host(0)?, host(1)?, host(2)?)?;
        Ok(if self.periodic { batch.periodic() } else { batch })
    }

    /// The caller's f, and a copy of it to solve for.
    ///
    /// # Safety
    /// As [`ArrayMut::host`].
    unsafe fn take<'a>(&mut self, f: &ArrayMut) -> Result<&'a mut [P::Store], Failure> {
        // SAFETY: as the caller promises.
        let f = unsafe { f.host::<P::Store>("f") }?;
        self.rhs.clear();
        self.rhs.extend_from_slice(f);
        Ok(f)
    }
}

impl<P: Precision> AnyLines for Lines<P>
where
    P::Store: Entry,
{
    unsafe fn factor(&mut self, shared: &Shared, blocks: &[Array; 3]) -> Outcome {
        self.has_factors = false;
        // SAFETY: as the caller promises.
        let batch = unsafe { self.batch(blocks) }?;
        done(self.factored.factor(&shared.team, &batch)?)?;
        self.has_factors = true;
        Ok(())
    }

    unsafe fn solve(&mut self, shared: &Shared, f: &ArrayMut) -> Outcome {
        if !self.has_factors {
            return Err(Failure::new(
                Status::NoValues,
                "the lines have no factors: factor them before anything is solved",
            ));
        }
        // SAFETY: as the caller promises.
        let f = unsafe { self.take(f) }?;
        done(self.factored.solve(&shared.team, 1, &self.rhs, f)?)
    }

    unsafe fn solve_once(&mut self, shared: &Shared, blocks: &[Array; 3], f: &ArrayMut) -> Outcome {
        for (what, blocks) in BLOCKS.iter().zip(blocks) {
            check_apart((what, blocks), ("f", f))?;
        }
        // SAFETY: as the caller promises.
        let (batch, f) = unsafe { (self.batch(blocks)?, self.take(f)?) };
        done(self.at_once.solve(&shared.team, &batch, &self.rhs, f)?)
    }
}

/// What a handle of lines holds.
pub struct Held {
    shared: Arc<Shared>,
    lines: Box<dyn AnyLines>,
}

/// `chromaflow_lines`.
pub type LinesHandle = Handle<Held>;

fn set_up<P: Precision>(shape: &Shape, pivoting: Pivoting) -> Result<Box<dyn AnyLines>, Failure>
where
    P::Store: Entry,
{
    let number = |what: &str, value: i64| {
        usize::try_from(value)
            .map_err(|_| Failure::argument(format!("shape.{what} is {value}: expected 0 or more")))
    };
    let (lines, rows) = (number("lines", shape.lines)?, number("rows", shape.rows)?);
    let rank = number("rank", shape.rank.into())?;
    let (system, row, entry) =
        (number("line", shape.line)?, number("row", shape.row)?, number("entry", shape.entry)?);
    let compact = (system, row, entry) == (0, 0, 0);
    let layout = if compact { Layout::Aos } else { Layout::Strided { system, row, entry } };
    if ![0, 1].contains(&shape.periodic) {
        return Err(Failure::argument(format!("shape.periodic is {}: expected 0 or 1", shape.periodic)));
    }
    let shape = (chromaflow::tridiag::Shape::new(lines, rows, rank), shape.periodic == 1);
    // What is wrong with the shape is said now and not at the first arrays.
    let empty = chromaflow::tridiag::Shape { systems: 0, ..shape.0 };
    Batch::<f64>::new(empty, Layout::Aos, &[], &[], &[])?;
    layout.len(shape.0, shape.0.block())?;
    Ok(Box::new(Lines::<P> {
        shape: shape.0,
        layout,
        periodic: shape.1,
        factored: FactoredSolver::new().with_pivoting(pivoting),
        at_once: Solver::new(Options { pivoting, ..Options::default() }),
        has_factors: false,
        rhs: Vec::new(),
    }))
}

fn create(shared: Arc<Shared>, shape: &Shape, options: &str) -> Result<Held, Failure> {
    check_size::<Shape>("chromaflow_shape", shape.size)?;
    if shared.on_gpu() {
        let text = "lines on a GPU are not to be had through this interface: use a context without a device";
        return Err(Failure::new(Status::Unsupported, text));
    }
    let (mut precision, mut pivoting) = ("double", Pivoting::None);
    for (key, value) in pairs(options, OPTIONS)? {
        match (key, value) {
            ("precision", "double" | "single" | "mixed") => precision = value,
            ("pivoting", "none") => pivoting = Pivoting::None,
            ("pivoting", "partial") => pivoting = Pivoting::Partial,
            _ => return Err(bad_value(key, value, OPTIONS)),
        }
    }
    let lines = match precision {
        "single" => set_up::<Single>(shape, pivoting)?,
        "mixed" => set_up::<Mixed>(shape, pivoting)?,
        _ => set_up::<Double>(shape, pivoting)?,
    };
    Ok(Held { shared, lines })
}

/// Memory for a batch of lines.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_lines_create(
    context: *mut Context,
    shape: *const Shape,
    options: *const c_char,
    lines: *mut *mut LinesHandle,
) -> i32 {
    entry(|| {
        // SAFETY: as the header says.
        unsafe {
            let to = slot(lines, "lines")?;
            *to = std::ptr::null_mut();
            let shared = Arc::clone(&*Handle::of(context, "context")?);
            let shape = lent(shape, "shape")?;
            let options = text_of(options, "options")?;
            logged(&Arc::clone(&shared), || {
                Handle::give(create(shared, shape, options)?, to);
                Ok(())
            })
        }
    })
}

/// An entry that works with lines.
fn with(lines: *mut LinesHandle, job: impl FnOnce(&mut dyn AnyLines, &Shared) -> Outcome) -> i32 {
    entry(|| {
        // SAFETY: as the header says of every function that takes lines.
        let mut held = unsafe { Handle::of(lines, "lines") }?;
        let shared = Arc::clone(&held.shared);
        logged(&shared, || job(&mut *held.lines, &shared))
    })
}

/// Factors that are kept.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_lines_factor(
    lines: *mut LinesHandle,
    lower: Array,
    diag: Array,
    upper: Array,
) -> i32 {
    // SAFETY: as the header says.
    with(lines, |lines, shared| unsafe { lines.factor(shared, &[lower, diag, upper]) })
}

/// Solves with the factors.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_lines_solve(lines: *mut LinesHandle, f: ArrayMut) -> i32 {
    // SAFETY: as the header says.
    with(lines, |lines, shared| unsafe { lines.solve(shared, &f) })
}

/// Factors and solves.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_lines_solve_once(
    lines: *mut LinesHandle,
    lower: Array,
    diag: Array,
    upper: Array,
    f: ArrayMut,
) -> i32 {
    // SAFETY: as the header says.
    with(lines, |lines, shared| unsafe { lines.solve_once(shared, &[lower, diag, upper], &f) })
}

/// Ends a batch.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_lines_destroy(lines: *mut LinesHandle) {
    entry(|| {
        // SAFETY: as the header says.
        unsafe { Handle::take_back(lines) };
        Ok(())
    });
}
