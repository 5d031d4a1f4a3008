#![allow(unsafe_code)]
//! Engines that need every row of a line at hand: a vector of systems is read whole into the work space, solved there
//! and written back.

use super::block;
use super::cyclic_reduction::cyclic_reduction;
use super::groups::Part;
use super::hybrid::{cr_pcr, pcr_thomas, thomas};
use super::lanes::WithLanes;
use super::parallel_cyclic_reduction::parallel_cyclic_reduction;
use super::periodic;
use super::precision::Precision;
use super::thomas::cpu::Work;
use crate::rim::Dynamic;
use chromaflow_simd::{Columns, Kernel, Simd, Vector};
use std::ops::Range;

/// Block operations of one line, as the paper's Table 1 counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Factorizations of a block (the paper's C_inv).
    pub inverses: usize,
    /// Products of two blocks, or solves for the columns of one (C_mat).
    pub products: usize,
    /// Products of a block and a vector, or solves for one (C_vec).
    pub vectors: usize,
}

impl Operations {
    /// Arithmetic operations for blocks of rank `m`: 2/3 m^3 a factorization, 2 m^3 a product, 2 m^2 a vector.
    pub fn flops(self, m: usize) -> f64 {
        let (m2, m3) = ((m * m) as f64, (m * m * m) as f64);
        self.inverses as f64 * 2.0 / 3.0 * m3
            + self.products as f64 * 2.0 * m3
            + self.vectors as f64 * 2.0 * m2
    }
}

/// A line (a vector of them) in the work space: `[n, m, m]` blocks, `[n, columns, m]` right-hand sides, and room for as much
/// again.
pub struct Line<'a, L> {
    pub m: usize,
    pub n: usize,
    pub columns: usize,
    pub a: &'a mut [L],
    pub b: &'a mut [L],
    pub c: &'a mut [L],
    /// The right-hand side; the solution in the end.
    pub f: &'a mut [L],
    /// Normalized rows of parallel cyclic reduction.
    pub na: &'a mut [L],
    pub nc: &'a mut [L],
    pub nf: &'a mut [L],
    /// One block.
    pub spare: &'a mut [L],
    /// The last row of a periodic line, which is not among the n: A, B, C, f.
    pub border: Option<[&'a mut [L]; 4]>,
    pub count: Operations,
}

impl<'a, L: Vector> Line<'a, L> {
    /// Vectors that a line of `n` rows takes.
    pub(crate) fn room(n: usize, m: usize, periodic: bool) -> usize {
        let columns = if periodic { 1 + m } else { 1 };
        n * (5 * m * m + 2 * m * columns) + 4 * m * m + m
    }

    /// A line of `n` rows in `room`, still to be filled. The last row of a periodic one (of two rows or more) is its border.
    pub(crate) fn new(n: usize, m: usize, periodic: bool, mut room: &'a mut [L]) -> Self {
        let mut take = |len: usize| {
            let (taken, rest) = std::mem::take(&mut room).split_at_mut(len);
            room = rest;
            taken
        };
        let bordered = periodic && n > 1;
        let border = bordered.then(|| [take(m * m), take(m * m), take(m * m), take(m)]);
        let (n, columns) = if bordered { (n - 1, 1 + m) } else { (n, 1) };
        let [a, b, c, na, nc] = std::array::from_fn(|_| take(n * m * m));
        let [f, nf] = std::array::from_fn(|_| take(n * columns * m));
        Self {
            m,
            n,
            columns,
            a,
            b,
            c,
            f,
            na,
            nc,
            nf,
            spare: take(m * m),
            border,
            count: Operations::default(),
        }
    }

    /// Entries of the block of row `i`.
    #[inline(always)]
    pub(crate) fn block(&self, i: usize) -> Range<usize> {
        i * self.m * self.m..(i + 1) * self.m * self.m
    }

    /// Entries of the right-hand sides of row `i`.
    #[inline(always)]
    pub(crate) fn vector(&self, i: usize) -> Range<usize> {
        let width = self.columns * self.m;
        i * width..(i + 1) * width
    }

    /// Factors the diagonal block of row `i`.
    #[inline(always)]
    pub(crate) fn factor(&mut self, i: usize) {
        self.count.inverses += 1;
        let at = self.block(i);
        block::factor(Dynamic(self.m), &mut self.b[at]);
    }

    /// `f_i <- b_i^-1 f_i` with the factors of row `i`.
    #[inline(always)]
    pub(crate) fn solve_rhs(&mut self, i: usize) {
        self.count.vectors += 1;
        let (block, vector) = (self.block(i), self.vector(i));
        for column in self.f[vector].chunks_exact_mut(self.m) {
            block::solve(Dynamic(self.m), &self.b[block.clone()], column);
        }
    }

    /// The row with the unknowns `x_j` of `block` moved to the right: `f_i <- f_i - block x_j`.
    #[inline(always)]
    pub(crate) fn substitute(&mut self, which: Side, i: usize, j: usize) {
        self.count.vectors += 1;
        let m = self.m;
        let block = self.block(i);
        let coupling = if which == Side::Lower { &self.a[block] } else { &self.c[block] };
        let width = self.columns * m;
        let (here, there) = two(self.f, i * width, j * width, width);
        sub_mul_columns(m, coupling, there, here);
    }
}

/// The lower or the upper block of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Lower,
    Upper,
}

/// Two disjoint pieces of `len` entries, the first to be written.
#[inline(always)]
pub(crate) fn two<L>(values: &mut [L], write: usize, read: usize, len: usize) -> (&mut [L], &[L]) {
    if write < read {
        let (front, back) = values.split_at_mut(read);
        (&mut front[write..write + len], &back[..len])
    } else {
        let (front, back) = values.split_at_mut(write);
        (&mut back[..len], &front[read..read + len])
    }
}

/// `v <- v - block w` for each of some columns.
#[inline(always)]
pub(crate) fn sub_mul_columns<L: Vector>(m: usize, block: &[L], w: &[L], v: &mut [L]) {
    for (v, w) in v.chunks_exact_mut(m).zip(w.chunks_exact(m)) {
        block::sub_mul_vec(Dynamic(m), block, w, v);
    }
}

/// `target <- -(block other)`.
#[inline(always)]
pub(crate) fn negated_product<L: Vector>(m: usize, block: &[L], other: &[L], target: &mut [L]) {
    target.fill(L::c(0.0));
    block::sub_mul(Dynamic(m), block, other, target);
}

/// Which engine solves a whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Thomas,
    CyclicReduction,
    ParallelCyclicReduction,
    CrPcr,
    PcrThomas,
}

impl Engine {
    /// Solves the line, with its border if it has one; the solution replaces the first column of `f`.
    #[inline(always)]
    pub(crate) fn solve<L: Vector>(self, line: &mut Line<'_, L>) {
        periodic::open(line);
        match self {
            Engine::Thomas => thomas(line),
            Engine::CyclicReduction => cyclic_reduction(line),
            Engine::ParallelCyclicReduction => parallel_cyclic_reduction(line),
            Engine::CrPcr => cr_pcr(line),
            Engine::PcrThomas => pcr_thomas(line),
        }
        periodic::close(line);
    }
}

/// [`Engine::solve`] in a function of its own, compiled once for each lane type.
struct SolveLine<'a, 'b, L>(Engine, &'a mut Line<'b, L>);

impl<L: Vector> Kernel for SolveLine<'_, '_, L> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        self.0.solve(self.1);
    }
}

/// The work of a thread: its vectors of systems, one whole line after the other.
pub(crate) struct Whole<'a, 'b, P: Precision> {
    pub engine: Engine,
    pub work: Work<'a, 'b, P>,
}

impl<P: Precision> WithLanes<P> for Whole<'_, '_, P> {
    /// The first vector with a solution that is not finite.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<L: Columns<P::Store>>(self) -> Option<usize> {
        let Self { engine, work } = self;
        let Work { lower, diag, upper, rhs, x, periodic, part: Part { vectors, scratch } } = work;
        let (n, m) = (x.shape.rows, x.shape.rank);
        let q = m * m;
        let (room, pack) = scratch.take::<L, P::Store>(Line::<L>::room(n, m, periodic), n * q * L::LANES);
        let mut bad = None;
        for vector in vectors(x.shape.systems.div_ceil(L::LANES)) {
            let at = vector * L::LANES;
            let mut line = Line::new(n, m, periodic, room);
            let width = line.columns * m;
            let inner = line.n;
            let [mut a, mut b, mut c, mut f] = [const { None }; 4];
            if let Some([x, y, z, w]) = &mut line.border {
                (a, b, c, f) = (Some(&mut **x), Some(&mut **y), Some(&mut **z), Some(&mut **w));
            }
            for (array, to, stride, last) in [
                (&lower, &mut *line.a, q, a),
                (&diag, &mut *line.b, q, b),
                (&upper, &mut *line.c, q, c),
                (&rhs, &mut *line.f, width, f),
            ] {
                let entries = array.width;
                let rows = array.rows::<L>(at, 1, 0..n, pack);
                // SAFETY: row i is one of the n held, e one of its entries.
                let load =
                    |i: usize, e: usize| unsafe { L::load(rows.row::<L>(0, i, entries).add(e * L::LANES)) };
                for i in 0..inner {
                    for e in 0..entries {
                        to[i * stride + e] = load(i, e);
                    }
                }
                for (e, value) in last.into_iter().flatten().enumerate() {
                    *value = load(n - 1, e);
                }
            }
            if !periodic {
                line.a[..q].fill(L::c(0.0));
                line.c[(n - 1) * q..].fill(L::c(0.0));
            } else if n == 1 {
                for e in 0..q {
                    line.b[e] = (line.b[e] + line.a[e]) + line.c[e];
                }
            }
            // SAFETY: the work asks for nothing.
            unsafe { L::Set::run(SolveLine(engine, &mut line)) };
            let out = x.rows::<L>(at, &(0..n), pack);
            let zero = L::c(0.0);
            let mut taint = zero;
            let last = line.border.as_ref().map_or(&[][..], |border| &*border[3]);
            let rows = line.f.chunks_exact(width).map(|row| &row[..m]).chain([last]);
            for (k, value) in rows.flatten().enumerate() {
                taint = taint.sub_mul(*value, zero);
                // SAFETY: row k / m is one of the n that `out` takes, and the systems are this thread's.
                unsafe { value.store(out.row::<L>(k / m, m).add(k % m * L::LANES)) };
            }
            x.finish::<L>(at, 0..n, pack, false);
            if taint.any_nan() && bad.is_none() {
                bad = Some(vector);
            }
        }
        bad
    }
}
