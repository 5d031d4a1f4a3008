#![allow(unsafe_code)]
//! Lines cut into chunks (`chunks.cu`): the launches of one level, and the line of its separators as the next.

use super::GpuTridiagError;
use super::arguments::{
    Coefficients, Join, JoinRhs, KeepLine, KeepSplit, KeptLine, KeptSplit, Lengths, Line, Split, Spread,
};
use super::engine::{GpuEngine, Plan, c_type};
use crate::tridiag::{Real, Shape};
use bytemuck::Pod;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, KernelSource, Module, Record, Share, Stream, Watch};
use chromaflow_device::kernel_arguments;
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

/// A source with the parameters of the entries.
pub(super) fn with_records(source: KernelSource) -> KernelSource {
    let source = source.record::<Line>().record::<Split>().record::<KeepLine>().record::<KeepSplit>();
    let source = source.record::<Join>().record::<JoinRhs>().record::<KeptLine>().record::<KeptSplit>();
    source.record::<Spread>()
}

/// Lanes of a group.
fn lanes(rank: usize) -> usize {
    rank.next_power_of_two()
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
        let [lower, diag, upper] = [&self.lower, &self.diag, &self.upper].map(|array| Watch::at(array.ptr()));
        Coefficients { lower, diag, upper }
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

    /// Launches an entry with one group of lanes for each of `groups`.
    fn enqueue(
        &self,
        stream: &Stream,
        entry: &str,
        groups: usize,
        arguments: &impl Record,
    ) -> Result<(), CudaError> {
        let kernel = self.module.kernel(entry)?;
        let blocks = (groups * lanes(self.shape.rank)).div_ceil(THREADS);
        // SAFETY: each caller gives the entry's record; the kernel stays inside arrays of the level's shape, which the
        // callers' callers promise or this level owns.
        unsafe { kernel.launch(blocks, THREADS).record(arguments).enqueue(stream) }
    }

    fn lengths(&self) -> Lengths {
        let Shape { systems, rows, .. } = self.shape;
        Lengths { rows: rows as i32, chunks: self.chunks as i32, systems: systems as i32 }
    }

    /// Where g goes: `x` where that can take it.
    fn g_or(&self, x: u64) -> u64 {
        if self.g.is_empty() { x } else { self.g.ptr() }
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
        let arguments = kernel_arguments! { Join {
            given, rhs: Watch::at(rhs), wp: Watch::at(w), vp: Watch::at(v), gp: Watch::at(g),
            np: Share::at(kept[0]), kp: Share::at(kept[1]), ra: Share::at(next.lower.ptr()),
            rb: Share::at(next.diag.ptr()), rc: Share::at(next.upper.ptr()), rf: Share::at(next.rhs.ptr()),
            lengths: self.lengths(), periodic: i32::from(self.periodic),
        } };
        self.enqueue(stream, "join", self.shape.systems * self.chunks, &arguments)
    }

    /// Enqueues the other rows of `columns` right-hand sides, from the separators' solution.
    fn spread(
        &self,
        stream: &Stream,
        next: &Next<T>,
        [w, v, g, x]: [u64; 4],
        columns: usize,
        bad: &DeviceBuffer<i32>,
    ) -> Result<(), CudaError> {
        let arguments = kernel_arguments! { Spread {
            wp: Watch::at(w), vp: Watch::at(v), gp: Watch::at(g), y: Watch::at(next.y.ptr()), x: Share::at(x),
            lengths: self.lengths(), periodic: i32::from(self.periodic), columns: columns as i32, bad,
        } };
        self.enqueue(stream, "spread", self.shape.systems * self.shape.rows * columns, &arguments)
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
        let apart = self.keep != Keep::Nothing;
        let (c, e) =
            if apart { (self.c.ptr(), self.e.ptr()) } else { (given.upper.address(), given.lower.address()) };
        let g = self.g_or(x);
        let lengths = self.lengths();
        let (rhs_of, cp, gp) = (Watch::at(rhs), Share::at(c), Share::at(g));
        let Some(next) = &self.next else {
            let Lengths { rows, systems, .. } = lengths;
            let arguments =
                Line { given, rhs: rhs_of, cp, gp, x: Share::at(x), rows, systems, bad: bad.into() };
            return self.enqueue(stream, "line", self.shape.systems, &arguments);
        };
        let (ep, periodic) = (Share::at(e), i32::from(self.periodic));
        let arguments = Split { given, rhs: rhs_of, cp, ep, gp, lengths, periodic };
        self.enqueue(stream, "split", self.shape.systems * self.chunks, &arguments)?;
        self.join(stream, next, (given, rhs), [c, e, g], [0, 0])?;
        // SAFETY: the next level was made for these arrays.
        unsafe { next.level.solve(stream, next.coefficients(), next.rhs.ptr(), next.y.ptr(), bad)? };
        self.spread(stream, next, [c, e, g, x], 1, bad)
    }

    /// Enqueues the factorization; the factors are kept ([`Keep::Factors`]).
    ///
    /// # Safety
    /// As [`Self::solve`].
    pub unsafe fn factor(&self, stream: &Stream, given: Coefficients) -> Result<(), CudaError> {
        let [cp, mp, np] = [&self.c, &self.m, &self.n].map(|array| Share::at(array.ptr()));
        let lengths = self.lengths();
        let Some(next) = &self.next else {
            let Lengths { rows, systems, .. } = lengths;
            let arguments = KeepLine { given, cp, mp, np, rows, systems };
            return self.enqueue(stream, "keep_line", self.shape.systems, &arguments);
        };
        let [w, v] = [self.w.ptr(), self.e.ptr()];
        let (ep, wp, periodic) = (Share::at(v), Share::at(w), i32::from(self.periodic));
        let arguments = KeepSplit { given, cp, ep, mp, np, wp, lengths, periodic };
        self.enqueue(stream, "keep_split", self.shape.systems * self.chunks, &arguments)?;
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
        let systems = self.shape.systems;
        let g = self.g_or(x);
        let [cp, mp, np] = [&self.c, &self.m, &self.n].map(|array| Watch::at(array.ptr()));
        let (rhs_of, gp, lengths, width) = (Watch::at(rhs), Share::at(g), self.lengths(), columns as i32);
        let Some(next) = &self.next else {
            let arguments = kernel_arguments! { KeptLine {
                rhs: rhs_of, cp, mp, np, gp, x: Share::at(x), rows: lengths.rows, systems: lengths.systems,
                columns: width, bad,
            } };
            return self.enqueue(stream, "kept_line", systems * columns, &arguments);
        };
        let groups = systems * self.chunks * columns;
        let split = KeptSplit { rhs: rhs_of, cp, mp, np, gp, lengths, columns: width };
        self.enqueue(stream, "kept_split", groups, &split)?;
        let rf = Share::at(next.rhs.ptr());
        let join = JoinRhs { rhs: rhs_of, gp: Watch::at(g), np, kp: cp, rf, lengths, columns: width };
        self.enqueue(stream, "join_rhs", groups, &join)?;
        // SAFETY: the next level was made for these arrays, and has room for as many columns.
        unsafe { next.level.solve_kept(stream, columns, next.rhs.ptr(), next.y.ptr(), bad)? };
        self.spread(stream, next, [self.w.ptr(), self.e.ptr(), g, x], columns, bad)
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
