#![allow(unsafe_code)]
//! Engines that need every row of a line at hand: a vector of systems is read whole into the work space, solved there
//! and written back.

use super::block::{self, Dynamic};
use super::cyclic_reduction::cyclic_reduction;
use super::hybrid::{cr_pcr, pcr_thomas};
use super::lanes::{Lane, LaneIo, WithLanes};
use super::parallel_cyclic_reduction::parallel_cyclic_reduction;
use super::precision::Precision;
use super::thomas::cpu::Work;
use super::thomas::periodic::periodic;
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

/// A line (a vector of them) in the work space: `[n, m, m]` blocks, `[n, m]` right-hand sides, and room for as much again.
pub struct Line<'a, L> {
    pub m: usize,
    pub n: usize,
    pub a: &'a mut [L],
    pub b: &'a mut [L],
    pub c: &'a mut [L],
    /// The right-hand side; the solution in the end.
    pub f: &'a mut [L],
    /// Normalized rows of parallel cyclic reduction; columns of a periodic line's border.
    pub na: &'a mut [L],
    pub nc: &'a mut [L],
    pub nf: &'a mut [L],
    /// One block.
    pub spare: &'a mut [L],
    pub count: Operations,
}

impl<'a, L: Lane> Line<'a, L> {
    /// Vectors that a line of `n` rows takes.
    pub(crate) fn room(n: usize, m: usize) -> usize {
        n * (5 * m * m + 2 * m) + m * m
    }

    /// A line in `room`, whose rows are still to be filled.
    pub(crate) fn new(n: usize, m: usize, room: &'a mut [L]) -> Self {
        let q = n * m * m;
        let (a, room) = room.split_at_mut(q);
        let (b, room) = room.split_at_mut(q);
        let (c, room) = room.split_at_mut(q);
        let (na, room) = room.split_at_mut(q);
        let (nc, room) = room.split_at_mut(q);
        let (f, room) = room.split_at_mut(n * m);
        let (nf, room) = room.split_at_mut(n * m);
        let spare = &mut room[..m * m];
        Self { m, n, a, b, c, f, na, nc, nf, spare, count: Operations::default() }
    }

    /// Entries of the block of row `i`.
    #[inline(always)]
    pub(crate) fn block(&self, i: usize) -> Range<usize> {
        i * self.m * self.m..(i + 1) * self.m * self.m
    }

    /// Entries of the vector of row `i`.
    #[inline(always)]
    pub(crate) fn vector(&self, i: usize) -> Range<usize> {
        i * self.m..(i + 1) * self.m
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
        block::solve(Dynamic(self.m), &self.b[block], &mut self.f[vector]);
    }

    /// The row with the unknowns `x_j` of `block` moved to the right: `f_i <- f_i - block x_j`.
    #[inline(always)]
    pub(crate) fn substitute(&mut self, which: Side, i: usize, j: usize) {
        self.count.vectors += 1;
        let m = self.m;
        let block = self.block(i);
        let coupling = if which == Side::Lower { &self.a[block] } else { &self.c[block] };
        let (here, there) = two(self.f, i * m, j * m, m);
        block::sub_mul_vec(Dynamic(m), coupling, there, here);
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

/// `target <- -(block other)`.
#[inline(always)]
pub(crate) fn negated_product<L: Lane>(m: usize, block: &[L], other: &[L], target: &mut [L]) {
    target.fill(L::splat(0.0));
    block::sub_mul(Dynamic(m), block, other, target);
}

/// Which engine solves a whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    CyclicReduction,
    ParallelCyclicReduction,
    CrPcr,
    PcrThomas,
    PeriodicThomas,
}

impl Engine {
    /// Solves the line; the solution replaces `f`.
    #[inline(always)]
    pub(crate) fn solve<L: Lane>(self, line: &mut Line<'_, L>) {
        match self {
            Engine::CyclicReduction => cyclic_reduction(line),
            Engine::ParallelCyclicReduction => parallel_cyclic_reduction(line),
            Engine::CrPcr => cr_pcr(line),
            Engine::PcrThomas => pcr_thomas(line),
            Engine::PeriodicThomas => periodic(line),
        }
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
    fn run<L: LaneIo<P::Store>>(self) -> Option<usize> {
        let Self { engine, work } = self;
        let Work { lower, diag, upper, rhs, x, vectors, scratch } = work;
        let (n, m) = (x.shape.rows, x.shape.rank);
        let q = m * m;
        let (room, pack) = scratch.take::<L, P::Store>(Line::<L>::room(n, m), n * q * L::W);
        let mut bad = None;
        for vector in vectors(x.shape.systems.div_ceil(L::W)) {
            let at = vector * L::W;
            let mut line = Line::new(n, m, room);
            for (array, to) in
                [(&lower, &mut *line.a), (&diag, &mut *line.b), (&upper, &mut *line.c), (&rhs, &mut *line.f)]
            {
                let width = array.width;
                let rows = array.rows::<L>(at, 1, 0..n, pack);
                for (k, value) in to.iter_mut().enumerate() {
                    // SAFETY: row k / width is one of the n held, entry k % width one of its own.
                    *value = unsafe { L::load(rows.row::<L>(0, k / width, width).add(k % width * L::W)) };
                }
            }
            if engine != Engine::PeriodicThomas {
                line.a[..q].fill(L::splat(0.0));
                line.c[(n - 1) * q..].fill(L::splat(0.0));
            }
            L::solve_line(engine, &mut line);
            let out = x.rows::<L>(at, &(0..n), pack);
            let zero = L::splat(0.0);
            let mut taint = zero;
            for (k, value) in line.f.iter().enumerate() {
                taint = taint.sub_mul(*value, zero);
                // SAFETY: row k / m is one of the n that `out` takes, and the systems are this thread's.
                unsafe { value.store(out.row::<L>(k / m, m).add(k % m * L::W)) };
            }
            x.finish::<L>(at, 0..n, pack);
            if taint.any_nan() && bad.is_none() {
                bad = Some(vector);
            }
        }
        bad
    }
}
