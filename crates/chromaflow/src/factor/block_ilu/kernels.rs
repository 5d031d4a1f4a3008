#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The tuned loops: rows in the order of a schedule, block columns in SIMD lanes.
//!
//! The row at hand is kept with its columns padded to whole vectors. Stored blocks are not padded: loads of their
//! columns run over into the next column (the last one into the buffer's tail), and the lanes past a block hold values
//! that nobody uses. Blocks whose columns fit a vector stay in registers; larger ones are multiplied in tiles of up to
//! two vectors by four columns.
//!
//! SAFETY of this file: the callers promise that the machine has the instruction set, that the rows at the positions
//! given are this thread's alone, and that rows they depend on are finished. All blocks lie in
//! [`Buffer`](chromaflow_device::Buffer)s, which may be read one vector past their end.

use super::gauss_jordan::{Inverted, invert};
use super::registers::{COLUMNS, invert_columns};
use super::scalars;
use super::triangle::{Triangle, ValuesMut};
use crate::rim::{Size, with_size};
use crate::shared::SharedMut;
use crate::simd::{Kernel, Simd, Vector, Wide, dispatch};
use crate::sparse::{
    BlockPattern, Off, OffDiagonal, Stored, ToDouble, Unscale, block_product, prefetch_block, row_product,
};
use chromaflow_device::{Buffer, Isa};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a factorization reads and writes. A row is written by one thread; rows of an earlier level are read by all.
pub(super) struct FactorTask<'a> {
    /// Of the matrix.
    pub pattern: &'a BlockPattern,
    pub off: &'a OffDiagonal,
    pub diag: &'a Buffer<f64>,
    /// Of the factors.
    pub filled: &'a BlockPattern,
    pub lower: &'a Triangle,
    pub upper: &'a Triangle,
    pub lower_values: ValuesMut,
    pub upper_values: ValuesMut,
    pub inv_diag: SharedMut<f64>,
    pub diagonal_only: bool,
    pub guard: bool,
    pub shift: f64,
    /// The first row whose diagonal block is singular. Rows after it are left out: which one is found does not depend on
    /// who comes first.
    pub singular: AtomicU32,
}

/// A thread's own memory.
pub(super) struct Scratch {
    /// The row being factored: its off-diagonal blocks, then its diagonal block, padded.
    pub row: Buffer<f64>,
    /// - A_ik D_k^-1, padded.
    product: Buffer<f64>,
    /// U_kj in f64, where it is stored in less.
    wide: Buffer<f64>,
    copy: Vec<f64>,
    /// Where each column stands in `row`; `NONE` elsewhere.
    pub slot: Vec<u32>,
    /// Rows inverted with pivoting.
    pub pivoted: Vec<u32>,
    /// Largest value added to a diagonal entry.
    pub shifted: f64,
}

/// No place in the scratch row.
pub(super) const NONE: u32 = u32::MAX;

/// The instruction set whose vectors a column fits best: lanes that hold nothing cost as much as others.
fn fitting(isa: Isa, nb: usize) -> Isa {
    if isa == Isa::Avx512 && nb <= 4 { Isa::Avx2 } else { isa }
}

/// Columns of a block in [`Scratch`] are this far apart.
fn padded(nb: usize) -> usize {
    nb.next_multiple_of(8)
}

impl Scratch {
    pub fn new(filled: &BlockPattern, nb: usize) -> Self {
        let longest = (0..filled.rows()).map(|i| filled.range(i).len()).max().unwrap_or(0);
        let block = nb * padded(nb);
        Self {
            row: Buffer::zeroed((longest + 1) * block),
            product: Buffer::zeroed(block),
            wide: Buffer::zeroed(block),
            copy: Vec::with_capacity(block),
            slot: vec![NONE; filled.rows()],
            pivoted: Vec::new(),
            shifted: 0.0,
        }
    }

    /// Notes where the columns of row `i` stand: its diagonal block follows the others.
    #[inline(always)]
    pub fn note(&mut self, columns: &[u32], i: usize) {
        for (s, &c) in columns.iter().enumerate() {
            self.slot[c as usize] = s as u32;
        }
        self.slot[i] = columns.len() as u32;
    }

    /// Forgets them.
    #[inline(always)]
    pub fn forget(&mut self, columns: &[u32], i: usize) {
        for &c in columns {
            self.slot[c as usize] = NONE;
        }
        self.slot[i] = NONE;
    }
}

/// Factors the rows at `positions` of the lower schedule, one after the other.
///
/// # Safety
/// As this file says.
pub(super) unsafe fn factor(
    isa: Isa,
    nb: usize,
    task: &FactorTask<'_>,
    positions: Range<usize>,
    scratch: &mut Scratch,
) {
    if nb == 1 {
        return scalars::factor(task, positions, scratch);
    }
    let isa = fitting(isa, nb);
    with_size!(few: isa, nb, size => dispatch(isa, FactorRows { size, task, positions, scratch }));
}

struct FactorRows<'a, Z> {
    size: Z,
    task: &'a FactorTask<'a>,
    positions: Range<usize>,
    scratch: &'a mut Scratch,
}

impl<Z: Size> Kernel for FactorRows<'_, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { size, task, positions, scratch } = self;
        let nb = size.get();
        let (ld, q) = (padded(nb), nb * nb);
        for position in positions {
            let i = task.lower.rows[position] as usize;
            if i as u32 > task.singular.load(Ordering::Relaxed) {
                continue;
            }
            let columns = task.filled.columns(i);
            let count = columns.len();
            load_row::<S>(nb, task, i, scratch);

            let below = columns.partition_point(|&c| (c as usize) < i);
            for s in 0..below {
                if let Some(&next) = columns[..below].get(s + 1) {
                    prefetch_row::<S::F64>(nb, task, next as usize);
                }
                if Z::KNOWN != 0 && Z::KNOWN <= S::F64::LANES {
                    eliminate_small::<S, Z>(task, i, s, columns[s] as usize, scratch);
                } else {
                    eliminate_large::<S>(nb, task, i, s, columns[s] as usize, scratch);
                }
            }

            let own = scratch.row.as_mut_ptr().add(count * nb * ld);
            let inverse = task.inv_diag.get().add(i * q);
            if !(Z::KNOWN != 0 && Z::KNOWN <= S::F64::LANES && invert_small::<S, Z>(own, inverse)) {
                let block = &mut scratch.row[count * nb * ld..(count + 1) * nb * ld];
                match invert(block, nb, ld, task.guard, &mut scratch.copy) {
                    Inverted::Plain => {}
                    Inverted::Pivoted => scratch.pivoted.push(i as u32),
                    Inverted::Singular => {
                        task.singular.fetch_min(i as u32, Ordering::Relaxed);
                    }
                }
                for c in 0..nb {
                    inverse.add(c * nb).copy_from(own.add(c * ld), nb);
                }
            }
            let (lower, upper) = scratch.row[..count * nb * ld].split_at(below * nb * ld);
            let (at, to) = (task.lower.ptr[position] as usize, &task.lower_values);
            to.store(nb, ld, position, at, lower);
            let position = task.upper.position[i] as usize;
            let (at, to) = (task.upper.ptr[position] as usize, &task.upper_values);
            to.store(nb, ld, position, at, upper);
            scratch.forget(columns, i);
        }
    }
}

/// Brings row `i` of the matrix into the scratch row and notes where its columns stand.
#[inline(always)]
unsafe fn load_row<S: Simd>(nb: usize, task: &FactorTask<'_>, i: usize, scratch: &mut Scratch) {
    let (ld, q, columns) = (padded(nb), nb * nb, task.filled.columns(i));
    scratch.note(columns, i);
    let range = task.pattern.range(i);
    if range.len() < columns.len() {
        scratch.row[..columns.len() * nb * ld].fill(0.0);
    }
    let row = scratch.row.as_mut_ptr();
    for k in range {
        let to = row.add(scratch.slot[task.pattern.col_idx()[k] as usize] as usize * nb * ld);
        match task.off {
            OffDiagonal::F64(v) => unpack::<S, f64>(nb, v.as_ptr().add(k * q), 1.0, to),
            OffDiagonal::F32(v) => unpack::<S, f32>(nb, v.as_ptr().add(k * q), 1.0, to),
            OffDiagonal::F16 { values, unscale } => {
                let unscale = f64::from(unscale[if unscale.len() == 1 { 0 } else { i }]);
                unpack::<S, half::f16>(nb, values.as_ptr().add(k * q), unscale, to);
            }
        }
    }
    let own = columns.len() * nb * ld;
    unpack::<S, f64>(nb, task.diag.as_ptr().add(i * q), 1.0, row.add(own));
    let added = super::add_shift(&mut scratch.row[own..own + nb * ld], nb, ld, task.shift);
    scratch.shifted = scratch.shifted.max(added);
}

/// A stored block with its columns padded, times a factor.
#[inline(always)]
unsafe fn unpack<S: Simd, T: Stored>(nb: usize, from: *const T, factor: f64, to: *mut f64) {
    for c in 0..nb {
        for r in (0..nb).step_by(S::F64::LANES) {
            let v = T::load::<S>(from.add(c * nb + r));
            v.mul(S::F64::splat(factor)).store(to.add(c * padded(nb) + r));
        }
    }
}

/// The first blocks of a row that is eliminated with next: they come from a cache far away, and not in a stream.
const BLOCKS_ASKED: usize = 8;

#[inline(always)]
unsafe fn prefetch_row<V: Vector>(nb: usize, task: &FactorTask<'_>, k: usize) {
    let q = nb * nb;
    prefetch_block::<V, f64>(nb, task.inv_diag.get().cast_const().wrapping_add(k * q), 0);
    let blocks = task.upper.range(task.upper.position[k] as usize);
    for e in blocks.take(BLOCKS_ASKED) {
        match &task.upper_values {
            ValuesMut::F64(v) => prefetch_block::<V, f64>(nb, v.get().cast_const().wrapping_add(e * q), 0),
            ValuesMut::F32(v) => prefetch_block::<V, f32>(nb, v.get().cast_const().wrapping_add(e * q), 0),
            ValuesMut::F16(v, _) => {
                prefetch_block::<V, half::f16>(nb, v.get().cast_const().wrapping_add(e * q), 0);
            }
        }
    }
}

/// Block `e` of the upper factor in f64, without its scale.
#[inline(always)]
unsafe fn upper_block<S: Simd>(
    nb: usize,
    task: &FactorTask<'_>,
    e: usize,
    wide: &mut Buffer<f64>,
) -> *const f64 {
    let (at, to) = (e * nb * nb, wide.as_mut_ptr());
    match &task.upper_values {
        ValuesMut::F64(v) => return v.get().cast_const().add(at),
        ValuesMut::F32(v) => widen::<S, f32>(nb, v.get().cast_const().add(at), to),
        ValuesMut::F16(v, _) => widen::<S, half::f16>(nb, v.get().cast_const().add(at), to),
    }
    to
}

#[inline(always)]
unsafe fn widen<S: Simd, T: Stored>(nb: usize, from: *const T, to: *mut f64) {
    // The last vector runs over into the padding of `wide`.
    for first in (0..nb * nb).step_by(S::F64::LANES) {
        T::load::<S>(from.add(first)).store(to.add(first));
    }
}

/// Eliminates block `s` of row `i` with row `k`: `L = A_ik D_k^-1`, `A_ij -= L U_kj`.
#[inline(always)]
unsafe fn eliminate_small<S: Simd, Z: Size>(
    task: &FactorTask<'_>,
    i: usize,
    s: usize,
    k: usize,
    scratch: &mut Scratch,
) {
    let (nb, q, ld) = (Z::KNOWN, Z::KNOWN * Z::KNOWN, padded(Z::KNOWN));
    let row = scratch.row.as_mut_ptr();
    let (block, inverse) = (row.add(s * nb * ld), task.inv_diag.get().cast_const().add(k * q));
    let at = task.upper.position[k] as usize;
    let sign = S::F64::splat(-task.upper_values.unscale(at));
    let mut a = [S::F64::zero(); COLUMNS];
    for c in 0..nb {
        a[c] = load::<S>(block.add(c * ld));
    }
    let mut minus = [S::F64::zero(); COLUMNS];
    for c in 0..nb {
        let mut sum = a[0].mul(S::F64::splat(*inverse.add(c * nb)));
        for r in 1..nb {
            sum = a[r].mul_add(S::F64::splat(*inverse.add(c * nb + r)), sum);
        }
        sum.store(block.add(c * ld));
        minus[c] = sum.mul(sign);
    }
    for e in task.upper.range(at) {
        let j = *task.upper.cols.get_unchecked(e) as usize;
        let slot = *scratch.slot.get_unchecked(j);
        if slot == NONE || (task.diagonal_only && j != i) {
            continue;
        }
        let upper = upper_block::<S>(nb, task, e, &mut scratch.wide);
        let target = row.add(slot as usize * nb * ld);
        for c in 0..nb {
            let mut sum = load::<S>(target.add(c * ld));
            for r in 0..nb {
                sum = minus[r].mul_add(S::F64::splat(*upper.add(c * nb + r)), sum);
            }
            sum.store(target.add(c * ld));
        }
    }
}

#[inline(always)]
unsafe fn load<S: Simd>(from: *const f64) -> S::F64 {
    <f64 as Stored>::load::<S>(from)
}

/// The same for blocks of any size.
#[inline(always)]
unsafe fn eliminate_large<S: Simd>(
    nb: usize,
    task: &FactorTask<'_>,
    i: usize,
    s: usize,
    k: usize,
    scratch: &mut Scratch,
) {
    let (ld, q) = (padded(nb), nb * nb);
    let (row, product) = (scratch.row.as_mut_ptr(), scratch.product.as_mut_ptr());
    let block = row.add(s * nb * ld);
    scratch.product.fill(0.0);
    add_product::<S>(nb, block, task.inv_diag.get().cast_const().add(k * q), product);
    block.copy_from(product, nb * ld);
    let at = task.upper.position[k] as usize;
    let sign = -task.upper_values.unscale(at);
    scratch.product.iter_mut().for_each(|v| *v *= sign);
    for e in task.upper.range(at) {
        let j = task.upper.cols[e] as usize;
        let slot = scratch.slot[j];
        if slot == NONE || (task.diagonal_only && j != i) {
            continue;
        }
        let upper = upper_block::<S>(nb, task, e, &mut scratch.wide);
        add_product::<S>(nb, product, upper, row.add(slot as usize * nb * ld));
    }
}

/// `C += A B` with padded A and C.
#[inline(always)]
unsafe fn add_product<S: Simd>(nb: usize, a: *const f64, b: *const f64, c: *mut f64) {
    let vectors = nb.div_ceil(S::F64::LANES);
    let mut first = 0;
    while first < vectors {
        let (a, c) = (a.add(first * S::F64::LANES), c.add(first * S::F64::LANES));
        if vectors - first == 1 {
            add_panel::<S, 1>(nb, a, b, c);
        } else {
            add_panel::<S, 2>(nb, a, b, c);
        }
        first += 2;
    }
}

/// R vectors of rows of the product, four columns at a time.
#[inline(always)]
unsafe fn add_panel<S: Simd, const R: usize>(nb: usize, a: *const f64, b: *const f64, c: *mut f64) {
    let fours = nb - nb % 4;
    for first in (0..fours).step_by(4) {
        add_tile::<S, R, 4>(nb, a, b.add(first * nb), c.add(first * padded(nb)));
    }
    for first in fours..nb {
        add_tile::<S, R, 1>(nb, a, b.add(first * nb), c.add(first * padded(nb)));
    }
}

#[inline(always)]
unsafe fn add_tile<S: Simd, const R: usize, const C: usize>(
    nb: usize,
    a: *const f64,
    b: *const f64,
    c: *mut f64,
) {
    let ld = padded(nb);
    let mut sum = [[S::F64::zero(); R]; C];
    for col in 0..C {
        for v in 0..R {
            sum[col][v] = load::<S>(c.add(col * ld + v * S::F64::LANES));
        }
    }
    for k in 0..nb {
        for col in 0..C {
            let factor = S::F64::splat(*b.add(col * nb + k));
            for v in 0..R {
                let column = load::<S>(a.add(k * ld + v * S::F64::LANES));
                sum[col][v] = column.mul_add(factor, sum[col][v]);
            }
        }
    }
    for col in 0..C {
        for v in 0..R {
            sum[col][v].store(c.add(col * ld + v * S::F64::LANES));
        }
    }
}

/// Inverts a padded block into `inverse`; false, and nothing written, where it needs a closer look.
#[inline(always)]
unsafe fn invert_small<S: Simd, Z: Size>(block: *const f64, inverse: *mut f64) -> bool {
    let (nb, ld) = (Z::KNOWN, padded(Z::KNOWN));
    let mut t = [S::F64::zero(); COLUMNS];
    for c in 0..nb {
        t[c] = load::<S>(block.add(c * ld));
    }
    let sound = invert_columns::<S::F64, Z>(&mut t);
    if sound {
        for c in 0..nb {
            t[c].store_first(inverse.add(c * nb), S::F64::first(nb));
        }
    }
    sound
}

/// What one triangular solve reads and writes: `x_i <- b_i - sum T_ij x_j`, then `x_i <- D_i^-1 x_i` where there is an
/// inverse. Without b, x holds the right-hand side.
pub(super) struct SolveTask<'a, T> {
    pub rows: &'a [u32],
    pub ptr: &'a [u32],
    pub cols: &'a [u32],
    pub values: *const T,
    pub unscale: Unscale<'a>,
    pub inverse: Option<*const f64>,
    pub b: Option<*const f64>,
    pub x: *mut f64,
}

/// Solves for the rows at `positions`, one after the other.
///
/// # Safety
/// As this file says; b and x have values for all rows.
pub(super) unsafe fn solve<T: Stored + Copy + Into<f64>>(
    isa: Isa,
    nb: usize,
    task: &SolveTask<'_, T>,
    positions: Range<usize>,
) {
    if nb == 1 {
        return scalars::solve(task, positions);
    }
    let isa = fitting(isa, nb);
    with_size!(few: isa, nb, size => dispatch(isa, SolveRows { size, task, positions }));
}

/// How far ahead of their use, in bytes, blocks are asked for, and how many rows ahead the inverses.
const BYTES_AHEAD: isize = 2048;
const ROWS_AHEAD: usize = 3;

struct SolveRows<'a, T, Z> {
    size: Z,
    task: &'a SolveTask<'a, T>,
    positions: Range<usize>,
}

impl<T: Stored, Z: Size> Kernel for SolveRows<'_, T, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { size, task, positions } = self;
        let nb = size.get();
        let off = Off { row_ptr: task.ptr, col_idx: task.cols, values: task.values, unscale: task.unscale };
        // Room for one block row and whole vectors past its end.
        let (mut sum, mut own) = ([0.0_f64; crate::MAX_NB + 16], [0.0_f64; crate::MAX_NB + 16]);
        for position in positions {
            let i = *task.rows.get_unchecked(position) as usize;
            if let (Some(inverse), Some(&next)) = (task.inverse, task.rows.get(position + ROWS_AHEAD)) {
                prefetch_block::<S::F64, f64>(nb, inverse.wrapping_add(next as usize * nb * nb), 0);
            }
            if Z::KNOWN != 0 && Z::KNOWN <= S::F64::LANES {
                solve_small::<S, T, Z>(task, position, i);
                continue;
            }
            // A row may need the one just solved, whoever solved it: x is read entry by entry.
            let (x, out) = (task.x.cast_const(), sum.as_mut_ptr());
            row_product::<S::F64, T, Z, ToDouble<S>>(&off, size, position, x, out, BYTES_AHEAD, true);
            let to = task.x.add(i * nb);
            let from = task.b.map_or(to.cast_const(), |b| b.add(i * nb));
            let factor = S::F64::splat(-task.unscale.of(position));
            for first in (0..nb).step_by(S::F64::LANES) {
                let lanes = S::F64::first((nb - first).min(S::F64::LANES));
                let right = S::F64::load_first(from.add(first), lanes);
                load::<S>(sum.as_ptr().add(first)).mul_add(factor, right).store(own.as_mut_ptr().add(first));
            }
            let result = if let Some(inverse) = task.inverse {
                block_product::<S, Z>(size, inverse.add(i * nb * nb), own.as_ptr(), sum.as_mut_ptr());
                &sum
            } else {
                &own
            };
            to.copy_from(result.as_ptr(), nb);
        }
    }
}

/// Columns of blocks that are summed apart: additions to one need not wait for those to the others.
const APART: usize = 4;

/// A row of blocks whose columns fit a vector: its sum stays in registers.
#[inline(always)]
unsafe fn solve_small<S: Simd, T: Stored, Z: Size>(task: &SolveTask<'_, T>, position: usize, i: usize) {
    let (nb, q) = (Z::KNOWN, Z::KNOWN * Z::KNOWN);
    let range = *task.ptr.get_unchecked(position) as usize..*task.ptr.get_unchecked(position + 1) as usize;
    let mut block = task.values.add(range.start * q);
    let mut sum = [S::F64::zero(); APART];
    for &col in task.cols.get_unchecked(range) {
        prefetch_block::<S::F64, T>(nb, block, BYTES_AHEAD);
        add_columns::<S, T>(nb, block, task.x.cast_const().add(col as usize * nb), &mut sum);
        block = block.add(q);
    }
    let to = task.x.add(i * nb);
    let from = task.b.map_or(to.cast_const(), |b| b.add(i * nb));
    let right = S::F64::load_first(from, S::F64::first(nb));
    let mut own = total::<S>(sum).mul_add(S::F64::splat(-task.unscale.of(position)), right);
    let mut room = [0.0_f64; 8];
    if let Some(inverse) = task.inverse {
        own.store(room.as_mut_ptr());
        let mut sum = [S::F64::zero(); APART];
        add_columns::<S, f64>(nb, inverse.add(i * q), room.as_ptr(), &mut sum);
        own = total::<S>(sum);
    }
    own.store(room.as_mut_ptr());
    to.copy_from(room.as_ptr(), nb);
}

/// `sum += block x`, x read entry by entry.
#[inline(always)]
unsafe fn add_columns<S: Simd, T: Stored>(
    nb: usize,
    block: *const T,
    x: *const f64,
    sum: &mut [S::F64; APART],
) {
    for c in 0..nb {
        let column = T::load::<S>(block.add(c * nb));
        sum[c % APART] = column.mul_add(S::F64::splat(*x.add(c)), sum[c % APART]);
    }
}

#[inline(always)]
unsafe fn total<S: Simd>(sum: [S::F64; APART]) -> S::F64 {
    sum[0].add(sum[1]).add(sum[2].add(sum[3]))
}
