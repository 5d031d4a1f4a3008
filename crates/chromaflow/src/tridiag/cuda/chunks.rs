#![allow(unsafe_code)]
//! Lines cut into chunks (`chunks.cu`): the launches of one level, and the line of its separators as the next.

use super::GpuTridiagError;
use super::engine::{GpuEngine, Plan, c_type};
use crate::tridiag::{Real, Shape};
use bytemuck::Pod;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Launch, Module, Stream};
use std::marker::PhantomData;
use std::sync::Arc;

/// Threads of a block.
pub(super) const THREADS: usize = 128;
/// The fewest rows of a chunk: shorter ones cost more in the line of separators than they save.
const FEWEST_ROWS: usize = 16;
/// Threads that keep a large device busy.
const BUSY_THREADS: usize = 1 << 16;

/// How many chunks a line is cut into.
pub(super) fn cut(shape: Shape) -> usize {
    let groups = BUSY_THREADS / lanes(shape.rank);
    let chunks = groups.div_ceil(shape.systems.max(1)).min(shape.rows / FEWEST_ROWS);
    // A line that is cut takes 2.7 times the work.
    if chunks < 4 { 1 } else { chunks }
}

/// Lanes of a group.
fn lanes(rank: usize) -> usize {
    rank.next_power_of_two()
}

/// Coefficients by address.
#[derive(Clone, Copy)]
pub(super) struct Coefficients {
    pub lower: u64,
    pub diag: u64,
    pub upper: u64,
}

impl Coefficients {
    fn add_to(self, launch: Launch<'_>) -> Launch<'_> {
        launch.arg(self.lower).arg(self.diag).arg(self.upper)
    }
}

/// What a level keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Nothing: C' and E replace C and A.
    Nothing,
    /// C' and E, in arrays of their own.
    Apart,
    /// All that later right-hand sides need.
    Factors,
}

/// Lines of one shape: uncut and open, or cut, with the line of their separators as the next level.
pub(super) struct Level<S, T: Real> {
    shape: Shape,
    chunks: usize,
    periodic: bool,
    module: Arc<Module>,
    keep: Keep,
    /// C' and E, then W and V; M, N and W of kept factors: `[systems, rows, nb, nb]`. Those that are not needed are empty.
    c: DeviceBuffer<T>,
    e: DeviceBuffer<T>,
    m: DeviceBuffer<T>,
    n: DeviceBuffer<T>,
    w: DeviceBuffer<T>,
    /// g of as many right-hand sides as were solved for last, where the solution cannot take it.
    g: DeviceBuffer<T>,
    next: Option<Box<Next<T>>>,
    store: PhantomData<S>,
}

/// The line of separators.
struct Next<T: Real> {
    level: Level<T, T>,
    lower: DeviceBuffer<T>,
    diag: DeviceBuffer<T>,
    upper: DeviceBuffer<T>,
    rhs: DeviceBuffer<T>,
    y: DeviceBuffer<T>,
}

impl<T: Real + Pod> Next<T> {
    fn coefficients(&self) -> Coefficients {
        Coefficients { lower: self.lower.ptr(), diag: self.diag.ptr(), upper: self.upper.ptr() }
    }
}

impl<S: Real + Pod, T: Real + Pod> Level<S, T> {
    /// For batches of this shape; `cut` says how many chunks a level has.
    pub fn new(
        stream: &Stream,
        shape: Shape,
        periodic: bool,
        keep: Keep,
        cut: &dyn Fn(Shape) -> usize,
    ) -> Result<Self, GpuTridiagError> {
        let plan = Plan::new(GpuEngine::Chunks, shape, [size_of::<S>(), size_of::<T>()])?;
        let module = stream.gpu().module(&plan.source(shape.rank, [c_type::<S>(), c_type::<T>()]).0)?;
        let chunks = cut(shape).clamp(1, shape.rows);
        let is_cut = periodic || chunks > 1;
        let blocks = shape.systems * shape.rows * shape.block();
        let array = |wanted: bool| DeviceBuffer::uninitialized(stream, if wanted { blocks } else { 0 });
        let kept = keep == Keep::Factors;
        let mut level = Self {
            shape,
            chunks,
            periodic,
            keep,
            module,
            c: array(keep != Keep::Nothing)?,
            e: array(keep != Keep::Nothing && is_cut)?,
            m: array(kept)?,
            n: array(kept)?,
            w: array(kept && is_cut)?,
            g: DeviceBuffer::uninitialized(stream, 0)?,
            next: None,
            store: PhantomData,
        };
        if is_cut {
            let below = Shape { rows: chunks, ..shape };
            let array = || DeviceBuffer::uninitialized(stream, below.systems * chunks * below.block());
            let keep = if kept { Keep::Factors } else { Keep::Nothing };
            level.next = Some(Box::new(Next {
                level: Level::new(stream, below, periodic && chunks > 1, keep, cut)?,
                lower: array()?,
                diag: array()?,
                upper: array()?,
                rhs: DeviceBuffer::uninitialized(stream, 0)?,
                y: DeviceBuffer::uninitialized(stream, 0)?,
            }));
        }
        level.reserve(stream, 1)?;
        Ok(level)
    }

    /// Makes room for `columns` right-hand sides.
    pub fn reserve(&mut self, stream: &Stream, columns: usize) -> Result<(), CudaError> {
        let Shape { systems, rows, rank } = self.shape;
        let grow = |buffer: &mut DeviceBuffer<T>, len: usize| {
            if buffer.len() < len {
                *buffer = DeviceBuffer::uninitialized(stream, len)?;
            }
            Ok::<(), CudaError>(())
        };
        if size_of::<S>() != size_of::<T>() {
            grow(&mut self.g, systems * rows * rank * columns)?;
        }
        if let Some(next) = &mut self.next {
            grow(&mut next.rhs, systems * self.chunks * rank * columns)?;
            grow(&mut next.y, systems * self.chunks * rank * columns)?;
            next.level.reserve(stream, columns)?;
        }
        Ok(())
    }

    /// Launches an entry with one group of lanes for each of `groups`, its arguments to be added.
    fn enqueue(
        &self,
        stream: &Stream,
        entry: &str,
        groups: usize,
        arguments: impl for<'k> FnOnce(Launch<'k>) -> Launch<'k>,
    ) -> Result<(), CudaError> {
        let kernel = self.module.kernel(entry)?;
        let blocks = (groups * lanes(self.shape.rank)).div_ceil(THREADS);
        // SAFETY: each caller gives the entry's arguments; the kernel stays inside arrays of the level's shape, which the
        // callers' callers promise or this level owns.
        unsafe { arguments(kernel.launch(blocks, THREADS)).enqueue(stream) }
    }

    /// Rows, chunks, systems.
    fn lengths<'k>(&self, launch: Launch<'k>) -> Launch<'k> {
        let Shape { systems, rows, .. } = self.shape;
        launch.arg(rows as i32).arg(self.chunks as i32).arg(systems as i32)
    }

    /// The same and whether lines are periodic.
    fn sizes<'k>(&self, launch: Launch<'k>) -> Launch<'k> {
        self.lengths(launch).arg(i32::from(self.periodic))
    }

    /// Enqueues the rows of the separators; `kept` are where their couplings are kept.
    fn join(
        &self,
        stream: &Stream,
        next: &Next<T>,
        (given, rhs): (Coefficients, u64),
        [w, v, g]: [u64; 3],
        kept: [u64; 2],
    ) -> Result<(), CudaError> {
        self.enqueue(stream, "join", self.shape.systems * self.chunks, |l| {
            let l = given.add_to(l).arg(rhs).arg(w).arg(v).arg(g).arg(kept[0]).arg(kept[1]);
            self.sizes(l.arg(&next.lower).arg(&next.diag).arg(&next.upper).arg(&next.rhs))
        })
    }

    /// Enqueues the solve for one right-hand side.
    ///
    /// # Safety
    /// The addresses are those of arrays of this shape, system by system; nothing else uses them out of order. With
    /// [`Keep::Nothing`] the coefficients are overwritten, and `S` is `T`.
    pub unsafe fn solve(
        &self,
        stream: &Stream,
        given: Coefficients,
        rhs: u64,
        x: u64,
        bad: &DeviceBuffer<i32>,
    ) -> Result<(), CudaError> {
        let Shape { systems, rows, .. } = self.shape;
        let apart = self.keep != Keep::Nothing;
        let (c, e) = if apart { (self.c.ptr(), self.e.ptr()) } else { (given.upper, given.lower) };
        let g = if self.g.is_empty() { x } else { self.g.ptr() };
        let Some(next) = &self.next else {
            return self.enqueue(stream, "line", systems, |l| {
                given.add_to(l).arg(rhs).arg(c).arg(g).arg(x).arg(rows as i32).arg(systems as i32).arg(bad)
            });
        };
        self.enqueue(stream, "split", systems * self.chunks, |l| {
            self.sizes(given.add_to(l).arg(rhs).arg(c).arg(e).arg(g))
        })?;
        self.join(stream, next, (given, rhs), [c, e, g], [0, 0])?;
        // SAFETY: the next level was made for these arrays.
        unsafe { next.level.solve(stream, next.coefficients(), next.rhs.ptr(), next.y.ptr(), bad)? };
        self.enqueue(stream, "spread", systems * rows, |l| {
            self.sizes(l.arg(c).arg(e).arg(g).arg(&next.y).arg(x)).arg(1i32).arg(bad)
        })
    }

    /// Enqueues the factorization; the factors are kept ([`Keep::Factors`]).
    ///
    /// # Safety
    /// As [`Self::solve`].
    pub unsafe fn factor(&self, stream: &Stream, given: Coefficients) -> Result<(), CudaError> {
        let Shape { systems, rows, .. } = self.shape;
        let Some(next) = &self.next else {
            return self.enqueue(stream, "keep_line", systems, |l| {
                let l = given.add_to(l).arg(&self.c).arg(&self.m).arg(&self.n);
                l.arg(rows as i32).arg(systems as i32)
            });
        };
        self.enqueue(stream, "keep_split", systems * self.chunks, |l| {
            let l = given.add_to(l).arg(&self.c).arg(&self.e).arg(&self.m).arg(&self.n);
            self.sizes(l.arg(&self.w))
        })?;
        let [w, v] = [self.w.ptr(), self.e.ptr()];
        self.join(stream, next, (given, 0), [w, v, 0], [self.n.ptr(), self.c.ptr()])?;
        // SAFETY: the next level was made for these arrays.
        unsafe { next.level.factor(stream, next.coefficients()) }
    }

    /// Enqueues the solve for `columns` right-hand sides (as many as there is room for) with the factors kept.
    ///
    /// # Safety
    /// As [`Self::solve`], with `columns` times rank numbers a row at `rhs` and `x`.
    pub unsafe fn solve_kept(
        &self,
        stream: &Stream,
        columns: usize,
        rhs: u64,
        x: u64,
        bad: &DeviceBuffer<i32>,
    ) -> Result<(), CudaError> {
        let Shape { systems, rows, .. } = self.shape;
        let g = if self.g.is_empty() { x } else { self.g.ptr() };
        let width = columns as i32;
        let Some(next) = &self.next else {
            return self.enqueue(stream, "kept_line", systems * columns, |l| {
                let l = l.arg(rhs).arg(&self.c).arg(&self.m).arg(&self.n).arg(g).arg(x);
                l.arg(rows as i32).arg(systems as i32).arg(width).arg(bad)
            });
        };
        let groups = systems * self.chunks * columns;
        self.enqueue(stream, "kept_split", groups, |l| {
            self.lengths(l.arg(rhs).arg(&self.c).arg(&self.m).arg(&self.n).arg(g)).arg(width)
        })?;
        self.enqueue(stream, "join_rhs", groups, |l| {
            self.lengths(l.arg(rhs).arg(g).arg(&self.n).arg(&self.c).arg(&next.rhs)).arg(width)
        })?;
        // SAFETY: the next level was made for these arrays, and has room for as many columns.
        unsafe { next.level.solve_kept(stream, columns, next.rhs.ptr(), next.y.ptr(), bad)? };
        self.enqueue(stream, "spread", systems * rows * columns, |l| {
            self.sizes(l.arg(&self.w).arg(&self.e).arg(g).arg(&next.y).arg(x)).arg(width).arg(bad)
        })
    }

    /// The first row of `system` whose kept factors are not finite.
    pub fn broken_row(&self, system: usize) -> Result<Option<usize>, CudaError> {
        let Shape { rows, .. } = self.shape;
        let q = self.shape.block();
        let inverses = self.m.download()?;
        let border = |chunk: usize| rows * chunk / self.chunks;
        let separator =
            |row: usize| self.next.is_some() && (0..self.chunks).any(|c| border(c + 1) == row + 1);
        let sound = |row: usize| {
            let at = (system * rows + row) * q;
            separator(row) || inverses[at..at + q].iter().all(|v| v.to_f64().is_finite())
        };
        if let Some(row) = (0..rows).find(|&row| !sound(row)) {
            return Ok(Some(row));
        }
        let below = self.next.as_ref().map_or(Ok(None), |next| next.level.broken_row(system))?;
        Ok(below.map(|chunk| border(chunk + 1) - 1))
    }
}
