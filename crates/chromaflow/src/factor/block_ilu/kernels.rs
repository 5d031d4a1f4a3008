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
use super::padded::{load_row, store_row};
use super::registers::{COLUMNS, invert_columns};
use super::triangle::{Triangle, ValuesMut};
use super::{RowAt, RowSource, scalars};
use crate::rim::{Size, with_size};
use crate::shared::SharedMut;
use crate::sparse::{BlockPattern, Jacobian, Stored, prefetch_block};
use chromaflow_device::{Buffer, Isa};
use chromaflow_simd::{Kernel, Real, Simd, Store, Vector, dispatch};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a factorization reads and writes. A row is written by one thread; rows of an earlier level are read by all.
pub(super) struct FactorTask<'a> {
    /// Of the matrix.
    pub pattern: &'a BlockPattern,
    pub source: Source<'a>,
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

/// Where the values of the matrix come from.
pub(super) enum Source<'a> {
    /// They are there.
    Stored(&'a Jacobian),
    /// They are brought row by row.
    Brought(&'a dyn RowSource),
}

impl Source<'_> {
    /// Has row `i` brought, where it is not there.
    ///
    /// # Safety
    /// Every row is asked for once.
    #[inline(always)]
    pub unsafe fn bring(&self, i: usize, room: &mut Buffer<f64>) -> Option<RowAt> {
        match self {
            Source::Stored(_) => None,
            Source::Brought(rows) => Some(rows.row(i, room)),
        }
    }

    /// Asks for a row that comes next.
    ///
    /// # Safety
    /// The instruction set of `V` is there.
    #[inline(always)]
    unsafe fn ahead(&self, i: usize) {
        if let Source::Brought(rows) = self {
            rows.places(i, &mut |at, bytes| {
                (0..bytes)
                    .step_by(64)
                    .for_each(|line| chromaflow_device::prefetch::<1, _>(at.wrapping_add(line)));
            });
        }
    }
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
    /// Blocks of scalars: the row being factored, by columns; what stands elsewhere is nobody's.
    pub dense: Vec<f64>,
    /// A row of the matrix that is brought.
    pub room: Buffer<f64>,
    /// Blocks of a row of the upper factor that meet the row at hand, and where they do.
    meets: Vec<(u32, u32)>,
    /// Rows inverted with pivoting.
    pub pivoted: Vec<u32>,
    /// Largest value added to a diagonal entry.
    pub shifted: f64,
}

/// No place in the scratch row.
const NONE: u32 = u32::MAX;

/// The instruction set whose vectors a column fits best: lanes that hold nothing cost as much as others.
pub(super) fn fitting(isa: Isa, nb: usize) -> Isa {
    if isa == Isa::Avx512 && nb <= 4 { Isa::Avx2 } else { isa }
}

/// Columns of a block in [`Scratch`] are this far apart.
pub(super) fn padded(nb: usize) -> usize {
    nb.next_multiple_of(8)
}

impl Scratch {
    /// For factors on `filled`; `brought` is whether rows are.
    pub fn new(filled: &BlockPattern, nb: usize, brought: bool) -> Self {
        let longest = (0..filled.rows()).map(|i| filled.range(i).len()).max().unwrap_or(0);
        let block = nb * padded(nb);
        let (scalars, blocks) = if nb == 1 { (filled.rows(), 0) } else { (0, filled.rows()) };
        Self {
            row: Buffer::zeroed((longest + 1) * block),
            dense: vec![0.0; scalars],
            room: Buffer::zeroed(if brought { (longest + 1) * nb * nb } else { 0 }),
            meets: vec![(0, 0); longest + 1],
            product: Buffer::zeroed(block),
            wide: Buffer::zeroed(block),
            copy: Vec::with_capacity(block),
            slot: vec![NONE; blocks],
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
    fn forget(&mut self, columns: &[u32], i: usize) {
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
            if let Some(&next) = task.lower.rows.get(position + 1) {
                task.source.ahead(next as usize);
            }
            let brought = task.source.bring(i, &mut scratch.room);
            if i as u32 > task.singular.load(Ordering::Relaxed) {
                continue;
            }
            let columns = task.filled.columns(i);
            let count = columns.len();
            load_row::<S>(nb, task, i, brought, scratch);

            let below = task.lower.range(position).len();
            for s in 0..below {
                if let Some(&next) = columns[..below].get(s + 1) {
                    prefetch_row(nb, task, next as usize);
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
            store_row::<S>(nb, to, position, at, lower);
            let position = task.upper.position[i] as usize;
            let (at, to) = (task.upper.ptr[position] as usize, &task.upper_values);
            store_row::<S>(nb, to, position, at, upper);
            scratch.forget(columns, i);
        }
    }
}

/// The first blocks of a row that is eliminated with next: they come from a cache far away, and not in a stream.
const BLOCKS_ASKED: usize = 8;

#[inline(always)]
unsafe fn prefetch_row(nb: usize, task: &FactorTask<'_>, k: usize) {
    let q = nb * nb;
    prefetch_block(nb, task.inv_diag.get().cast_const().wrapping_add(k * q), 0);
    let blocks = task.upper.range(task.upper.position[k] as usize);
    for e in blocks.take(BLOCKS_ASKED) {
        match &task.upper_values {
            ValuesMut::F64(v) => prefetch_block(nb, v.get().cast_const().wrapping_add(e * q), 0),
            ValuesMut::F32(v) => prefetch_block(nb, v.get().cast_const().wrapping_add(e * q), 0),
            ValuesMut::F16(v, _) => {
                prefetch_block(nb, v.get().cast_const().wrapping_add(e * q), 0);
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

/// Lists which blocks of the upper factor at position `at` meet blocks of row `i`, without a branch a block: which of them do is
/// different in every row. How many.
#[inline(always)]
#[allow(clippy::needless_bitwise_bool)] // lazy ones branch
unsafe fn meet(task: &FactorTask<'_>, i: usize, at: usize, scratch: &mut Scratch) -> usize {
    let (cols, slots, meets) = (task.upper.cols.as_ptr(), scratch.slot.as_ptr(), scratch.meets.as_mut_ptr());
    let (all, mut count) = (!task.diagonal_only, 0);
    for e in task.upper.range(at) {
        let j = *cols.add(e) as usize;
        let slot = *slots.add(j);
        // No more than there are blocks in row i, and one that is overwritten.
        *meets.add(count) = (e as u32, slot);
        count += usize::from((slot != NONE) & (all | (j == i)));
    }
    count
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
    let mut a = [S::F64::c(0.0); COLUMNS];
    for c in 0..nb {
        a[c] = load::<S>(block.add(c * ld));
    }
    let mut minus = [S::F64::c(0.0); COLUMNS];
    for c in 0..nb {
        let mut sum = a[0] * S::F64::splat(*inverse.add(c * nb));
        for r in 1..nb {
            sum = a[r].mul_add(S::F64::splat(*inverse.add(c * nb + r)), sum);
        }
        sum.store(block.add(c * ld));
        minus[c] = sum * sign;
    }
    for m in 0..meet(task, i, at, scratch) {
        let (e, slot) = *scratch.meets.get_unchecked(m);
        let upper = upper_block::<S>(nb, task, e as usize, &mut scratch.wide);
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
pub(super) unsafe fn load<S: Simd>(from: *const f64) -> S::F64 {
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
    for m in 0..meet(task, i, at, scratch) {
        let (e, slot) = scratch.meets[m];
        let upper = upper_block::<S>(nb, task, e as usize, &mut scratch.wide);
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
    let mut sum = [[S::F64::c(0.0); R]; C];
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
    let mut t = [S::F64::c(0.0); COLUMNS];
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
