#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The tuned loops over lines of cells of passes and residuals; those of the factorization are in factor.rs.
//!
//! SAFETY of this file: the callers checked all shapes and that the machine has the instruction set; neighbors are
//! looked up only inside the block of cells. Blocks lie in [`Buffer`](chromaflow_device::Buffer)s, which may be read
//! one vector past their end.

use super::{Line, StencilMatrix};
use crate::rim::{Size, with_size};
use crate::shared::SharedMut;
use crate::sparse::{Direct, Stored, Unscale, columns, prefetch_block};
use chromaflow_device::Isa;
use chromaflow_simd::{Kernel, Native, Real, Simd, Store, Vector, dispatch};
use std::marker::PhantomData;

/// Where the blocks of a matrix and its factorization lie.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    pub(super) dims: [usize; 3],
    pub(super) nb: usize,
    pub(super) diag: *const f64,
    pub(super) lower: *const f64,
    pub(super) upper: *const f64,
    inverse: *const f64,
    life: PhantomData<&'a f64>,
}

// SAFETY: only read through.
unsafe impl Sync for Cells<'_> {}

impl<'a> Cells<'a> {
    pub(super) fn new(a: &'a StencilMatrix, inverse: &'a [f64]) -> Self {
        let (diag, lower, upper) = (a.diag.as_ptr(), a.lower.as_ptr(), a.upper.as_ptr());
        Self { dims: a.dims, nb: a.nb, diag, lower, upper, inverse: inverse.as_ptr(), life: PhantomData }
    }

    /// First cell of a line, and the distances to its neighbors in k and j, zero where there are none.
    #[inline(always)]
    pub(super) fn line(&self, line: Line, upper: bool) -> (usize, [usize; 2]) {
        let [ni, nj, nk] = self.dims;
        let (j, k) = (line.j as usize, line.k as usize);
        let (in_k, in_j) = if upper { (k + 1 < nk, j + 1 < nj) } else { (k > 0, j > 0) };
        (ni * (j + nj * k), [if in_k { ni * nj } else { 0 }, if in_j { ni } else { 0 }])
    }
}

/// The couplings as the passes read them: the matrix's own, or copies in less, those of a cell divided by one number.
pub(super) struct Couplings<'a, T> {
    lower: *const T,
    upper: *const T,
    unscale: [Unscale<'a>; 2],
}

impl<'a, T> Couplings<'a, T> {
    pub(super) fn new(lower: &'a [T], upper: &'a [T], unscale: [Unscale<'a>; 2]) -> Self {
        Self { lower: lower.as_ptr(), upper: upper.as_ptr(), unscale }
    }
}

// SAFETY: only read through.
unsafe impl<T> Sync for Couplings<'_, T> {}

/// Bytes ahead of their use at which blocks are asked for.
const BYTES_AHEAD: isize = 2048;

/// Room for one block row of a vector and whole vectors past its end.
type Row = [f64; crate::MAX_NB + 8];

/// `y_i = D_i^-1 (b_i - sum A_im y_m)` over lines of cells; without a right-hand side `x_i = y_i - D_i^-1 sum A_ip x_p`, last cell
/// first.
///
/// # Safety
/// `b` and `x` have values, and `couplings` blocks, for all cells; nobody else writes x of the lines or of their lower (or upper)
/// neighbors; the machine has `isa`.
pub(super) unsafe fn pass<T: Stored>(
    isa: Isa,
    cells: &[Cells<'_>],
    couplings: &[Couplings<'_, T>],
    lines: &[Line],
    b: Option<&[&[f64]]>,
    x: &[SharedMut<f64>],
) {
    let Some(nb) = cells.first().map(|cells| cells.nb) else { return };
    with_size!(few: isa, nb, size => dispatch(isa, Pass { size, cells, couplings, lines, b, x }));
}

/// A forward pass where there is a right-hand side, else a backward one.
struct Pass<'a, Z, T> {
    size: Z,
    cells: &'a [Cells<'a>],
    couplings: &'a [Couplings<'a, T>],
    lines: &'a [Line],
    b: Option<&'a [&'a [f64]]>,
    x: &'a [SharedMut<f64>],
}

impl<Z: Size, T: Stored> Kernel for Pass<'_, Z, T> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { size, cells, couplings, lines, b, x } = self;
        let backward = b.is_none();
        for n in 0..lines.len() {
            let line = lines[if backward { lines.len() - 1 - n } else { n }];
            let block = line.block as usize;
            let (a, t, x) = (&cells[block], &couplings[block], x[block].get());
            let known = Z::KNOWN != 0 && Z::KNOWN <= S::F64::LANES;
            let (first, steps) = a.line(line, backward);
            match b.map(|b| b[block]) {
                Some(b) if known => small_forward::<S, Z, T>(a, t, first, steps, b, x),
                None if known => small_backward::<S, Z, T>(a, t, first, steps, x),
                Some(b) => large_forward::<S, T>(size.get(), a, t, first, steps, b, x),
                None => large_backward::<S, T>(size.get(), a, t, first, steps, x),
            }
        }
    }
}

/// [`Pass`] over one line where a block row does not fit a vector.
#[inline(always)]
unsafe fn large_forward<S: Simd, T: Stored>(
    nb: usize,
    a: &Cells<'_>,
    t: &Couplings<'_, T>,
    first: usize,
    [step_k, step_j]: [usize; 2],
    b: &[f64],
    x: *mut f64,
) {
    let q = nb * nb;
    let (mut sum, mut right): (Row, Row) = ([0.0; _], [0.0; _]);
    for cell in first..first + a.dims[0] {
        let near = (cell > first).then(|| cell - 1);
        let far = [(0, step_k), (1, step_j)].map(|(s, step)| (s, cell - step, step > 0));
        couplings::<S, T>(nb, t.lower.add(3 * cell * q), (2, near), far, x, &mut sum, BYTES_AHEAD);
        prefetch_block(nb, a.inverse.wrapping_add((cell + 4) * q), 0);
        let factor = t.unscale[0].of(cell);
        for r in 0..nb {
            sum[r] = b[cell * nb + r] - factor * sum[r];
        }
        product::<S::F64>(nb, a.inverse.add(cell * q), sum.as_ptr(), right.as_mut_ptr());
        x.add(cell * nb).copy_from(right.as_ptr(), nb);
    }
}

/// The same backward.
#[inline(always)]
unsafe fn large_backward<S: Simd, T: Stored>(
    nb: usize,
    a: &Cells<'_>,
    t: &Couplings<'_, T>,
    first: usize,
    [step_k, step_j]: [usize; 2],
    x: *mut f64,
) {
    let (q, last) = (nb * nb, first + a.dims[0] - 1);
    let (mut sum, mut right): (Row, Row) = ([0.0; _], [0.0; _]);
    for cell in (first..=last).rev() {
        let near = (cell < last).then_some(cell + 1);
        let far = [(1, step_j), (2, step_k)].map(|(s, step)| (s, cell + step, step > 0));
        couplings::<S, T>(nb, t.upper.add(3 * cell * q), (0, near), far, x, &mut sum, -BYTES_AHEAD);
        prefetch_block(nb, a.inverse.wrapping_add(cell.wrapping_sub(4).wrapping_mul(q)), 0);
        product::<S::F64>(nb, a.inverse.add(cell * q), sum.as_ptr(), right.as_mut_ptr());
        let (own, factor) = (x.add(cell * nb), t.unscale[1].of(cell));
        for r in 0..nb {
            *own.add(r) -= factor * right[r];
        }
    }
}

/// How many cells ahead of their use blocks are asked for in the passes.
const CELLS_AHEAD: usize = 6;

/// Asks for `count` values.
#[inline(always)]
unsafe fn prefetch_blocks<T>(at: *const T, count: usize) {
    for byte in (0..count * size_of::<T>()).step_by(64) {
        chromaflow_device::prefetch::<1, _>(at.cast::<u8>().wrapping_add(byte));
    }
}

/// `sum += A x`, columns taken in turn to two sums; `entry` gives an entry of x in all lanes.
#[inline(always)]
unsafe fn add_columns<S: Simd, Z: Size, T: Stored>(
    block: *const T,
    sum: &mut [S::F64; 2],
    entry: impl Fn(usize) -> S::F64,
) {
    for c in 0..Z::KNOWN {
        sum[c % 2] = T::load::<S>(block.add(c * Z::KNOWN)).mul_add(entry(c), sum[c % 2]);
    }
}

/// An entry of a vector in all lanes.
#[inline(always)]
unsafe fn entry_of<V: Native<Elem = f64>>(v: V, c: usize) -> V {
    v.permute(&[c as u8; 16])
}

/// [`Pass`] over one line where a block row fits a vector: what a cell needs of the one before stays in registers.
#[inline(always)]
unsafe fn small_forward<S: Simd, Z: Size, T: Stored>(
    a: &Cells<'_>,
    t: &Couplings<'_, T>,
    first: usize,
    steps: [usize; 2],
    b: &[f64],
    x: *mut f64,
) {
    let (nb, q, rows) = (Z::KNOWN, Z::KNOWN * Z::KNOWN, S::F64::first(Z::KNOWN));
    let mut before = S::F64::c(0.0);
    for cell in first..first + a.dims[0] {
        let (blocks, inverse) = (t.lower.add(3 * cell * q), a.inverse.add(cell * q));
        prefetch_blocks(blocks.wrapping_add(3 * CELLS_AHEAD * q), 3 * q);
        prefetch_blocks(inverse.wrapping_add(CELLS_AHEAD * q), q);
        let mut sum = [S::F64::c(0.0); 2];
        for (s, step) in steps.into_iter().enumerate() {
            if step > 0 {
                let other = x.cast_const().add((cell - step) * nb);
                add_columns::<S, Z, T>(blocks.add(s * q), &mut sum, |c| S::F64::splat(*other.add(c)));
            }
        }
        if cell > first {
            add_columns::<S, Z, T>(blocks.add(2 * q), &mut sum, |c| entry_of(before, c));
        }
        let b = S::F64::load_first(b.as_ptr().add(cell * nb), rows);
        let right = (sum[0] + sum[1]).mul_add(S::F64::splat(-t.unscale[0].of(cell)), b);
        let mut sum = [S::F64::c(0.0); 2];
        add_columns::<S, Z, f64>(inverse, &mut sum, |c| entry_of(right, c));
        before = sum[0] + sum[1];
        before.store_first(x.add(cell * nb), rows);
    }
}

/// The same backward.
#[inline(always)]
unsafe fn small_backward<S: Simd, Z: Size, T: Stored>(
    a: &Cells<'_>,
    t: &Couplings<'_, T>,
    first: usize,
    [step_k, step_j]: [usize; 2],
    x: *mut f64,
) {
    let (nb, q, rows) = (Z::KNOWN, Z::KNOWN * Z::KNOWN, S::F64::first(Z::KNOWN));
    let mut before = S::F64::c(0.0);
    for cell in (first..first + a.dims[0]).rev() {
        let (blocks, inverse) = (t.upper.add(3 * cell * q), a.inverse.add(cell * q));
        prefetch_blocks(blocks.wrapping_sub(3 * CELLS_AHEAD * q), 3 * q);
        prefetch_blocks(inverse.wrapping_sub(CELLS_AHEAD * q), q);
        let mut sum = [S::F64::c(0.0); 2];
        for (s, step) in [(2, step_k), (1, step_j)] {
            if step > 0 {
                let other = x.cast_const().add((cell + step) * nb);
                add_columns::<S, Z, T>(blocks.add(s * q), &mut sum, |c| S::F64::splat(*other.add(c)));
            }
        }
        if cell + 1 < first + a.dims[0] {
            add_columns::<S, Z, T>(blocks, &mut sum, |c| entry_of(before, c));
        }
        let right = sum[0] + sum[1];
        let mut sum = [S::F64::c(0.0); 2];
        add_columns::<S, Z, f64>(inverse, &mut sum, |c| entry_of(right, c));
        let own = S::F64::load_first(x.add(cell * nb), rows);
        before = (sum[0] + sum[1]).mul_add(S::F64::splat(-t.unscale[1].of(cell)), own);
        before.store_first(x.add(cell * nb), rows);
    }
}

/// `out = A x` for one block, whole vectors of it.
#[inline(always)]
unsafe fn product<V: Native<Elem = f64>>(nb: usize, block: *const f64, x: *const f64, out: *mut f64) {
    columns::<V, f64, Direct>(nb, block, &[0], x, out, 0);
}

/// `out = sum of A x` over the couplings of a cell; the neighbor in i, which may still be computed, comes last.
#[inline(always)]
unsafe fn couplings<S: Simd, T: Stored>(
    nb: usize,
    blocks: *const T,
    (near, neighbor): (usize, Option<usize>),
    far: [(usize, usize, bool); 2],
    x: *const f64,
    out: &mut Row,
    ahead: isize,
) {
    let q = nb * nb;
    for first in (0..nb).step_by(S::F64::LANES) {
        let mut sum = [S::F64::c(0.0); 2];
        let mut add = |s: usize, other: usize| {
            let (block, x) = (blocks.add(s * q + first), x.add(other * nb));
            prefetch_block(nb, block, ahead);
            for c in 0..nb {
                sum[c % 2] = T::load::<S>(block.add(c * nb)).mul_add(S::F64::splat(*x.add(c)), sum[c % 2]);
            }
        };
        for (s, other, _) in far.into_iter().filter(|&(_, _, inside)| inside) {
            add(s, other);
        }
        if let Some(other) = neighbor {
            add(near, other);
        }
        (sum[0] + sum[1]).store(out.as_mut_ptr().add(first));
    }
}

/// `r = b - A x` over lines of cells of one block.
///
/// # Safety
/// `b`, `x` and `r` have values for all cells; nobody else writes r of the lines; the machine has `isa`.
pub(super) unsafe fn residual(
    isa: Isa,
    cells: &Cells<'_>,
    lines: &[Line],
    b: &[f64],
    x: &[f64],
    r: *mut f64,
) {
    with_size!(few: isa, cells.nb, size => dispatch(isa, Residual { size, cells, lines, b, x, r }));
}

struct Residual<'a, Z> {
    size: Z,
    cells: &'a Cells<'a>,
    lines: &'a [Line],
    b: &'a [f64],
    x: &'a [f64],
    r: *mut f64,
}

impl<Z: Size> Kernel for Residual<'_, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { size, cells: a, lines, b, x, r } = self;
        let (nb, q) = (size.get(), size.get() * size.get());
        let x = x.as_ptr();
        let (mut lower, mut upper, mut own): (Row, Row, Row) = ([0.0; _], [0.0; _], [0.0; _]);
        for &line in lines {
            let (first, [down_k, down_j]) = a.line(line, false);
            let (_, [up_k, up_j]) = a.line(line, true);
            let ni = a.dims[0];
            for i in 0..ni {
                let cell = first + i;
                let far = [(0, cell - down_k, down_k > 0), (1, cell - down_j, down_j > 0)];
                let near = (2, (i > 0).then(|| cell - 1));
                couplings::<S, f64>(nb, a.lower.add(3 * cell * q), near, far, x, &mut lower, BYTES_AHEAD);
                let far = [(1, cell + up_j, up_j > 0), (2, cell + up_k, up_k > 0)];
                let near = (0, (i + 1 < ni).then_some(cell + 1));
                couplings::<S, f64>(nb, a.upper.add(3 * cell * q), near, far, x, &mut upper, BYTES_AHEAD);
                product::<S::F64>(nb, a.diag.add(cell * q), x.add(cell * nb), own.as_mut_ptr());
                for row in 0..nb {
                    *r.add(cell * nb + row) = b[cell * nb + row] - (own[row] + lower[row] + upper[row]);
                }
            }
        }
    }
}
