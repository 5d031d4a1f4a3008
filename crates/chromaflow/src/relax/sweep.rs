#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The inner loop of a sweep, `x_i <- D_i^-1 (b_i - O_i x)` row by row: [`sweep_rows`].
//!
//! SAFETY of this file: pointers in [`SweepData`] reach over all rows of a valid pattern, and the instruction set is
//! there; both are promised by whoever calls [`sweep_rows`]. Blocks lie in [`Buffer`](chromaflow_device::Buffer)s,
//! which may be read one vector past their end.

use super::sweep_scalars::SweepScalars;
use crate::block::solve_factored;
use crate::rim::{Size, with_size};
use crate::sparse::{BYTES_AHEAD, Direct, Off, Scratch, Stored, block_product, prefetch_block, row_part};
use chromaflow_device::Isa;
use chromaflow_simd::{Elem, Kernel, Load, Native, Simd, Store, Vector, dispatch};
use half::f16;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The types that a policy stands for.
pub(crate) trait Precision: 'static {
    /// Stored off-diagonal values.
    type Off: Copy + 'static;
    /// The correction x and the sums of O x.
    type X: Stored + Elem;
    /// Vectors of those sums.
    type Sum<S: Simd>: Native<Elem = Self::X> + Load<Self::Off>;
}

/// Policy `d`.
pub(crate) struct Double;
/// Policy `ds`.
pub(crate) struct Single;
/// Policy `dsh`.
pub(crate) struct Half;

impl Precision for Double {
    type Off = f64;
    type X = f64;
    type Sum<S: Simd> = S::F64;
}
impl Precision for Single {
    type Off = f32;
    type X = f32;
    type Sum<S: Simd> = S::F32;
}
impl Precision for Half {
    type Off = f16;
    type X = f32;
    type Sum<S: Simd> = S::F32;
}

/// Pivots of the rows whose diagonal blocks were factored with row exchanges.
pub(crate) type Pivots = std::collections::BTreeMap<u32, Box<[u8]>>;

/// Factored diagonal blocks.
#[derive(Clone, Copy)]
pub(crate) enum Diagonal<'a> {
    /// Inverted.
    Inverse(*const f64),
    /// LU factors.
    Lu(*const f64, &'a Pivots),
}

/// Everything a sweep reads and writes.
pub(crate) struct SweepData<'a, P: Precision> {
    pub off: Off<'a, P::Off>,
    pub diag: Diagonal<'a>,
    pub b: *const f64,
    pub x_in: *const P::X,
    pub x_out: *mut P::X,
    pub damping: f64,
    /// Whether x is zero but where this sweep, forwards, has been: blocks of several values right of the diagonal are then left out.
    pub from_zero: bool,
}

/// Updates `rows`, last to first if `backward`. `chained` says that a row may need the one just updated: x is then
/// read entry by entry, which the processor can forward from the stores of that row.
///
/// # Safety
/// The pointers of `data` must be valid for all rows and all stored blocks, no other thread may write x of these rows
/// or of the columns in them, and the machine must have `isa`.
pub(crate) unsafe fn sweep_rows<P: Precision>(
    isa: Isa,
    nb: usize,
    data: &SweepData<'_, P>,
    rows: Range<usize>,
    backward: bool,
    chained: bool,
) {
    if nb > 1 {
        with_size!(isa, nb, size => dispatch(isa, SweepRows { data, size, rows, backward, chained }));
    } else if chained && std::ptr::eq(data.x_in, data.x_out) {
        dispatch(isa, SweepScalars::<P, true> { data, rows, backward });
    } else {
        // Simultaneous updates read old values only.
        dispatch(isa, SweepScalars::<P, false> { data, rows, backward });
    }
}

struct SweepRows<'a, P: Precision, Z> {
    data: &'a SweepData<'a, P>,
    size: Z,
    rows: Range<usize>,
    backward: bool,
    chained: bool,
}

impl<P: Precision, Z: Size> Kernel for SweepRows<'_, P, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { data, size, rows, backward, chained } = self;
        let (nb, count) = (size.get(), rows.len());
        let ahead = if backward { -BYTES_AHEAD } else { BYTES_AHEAD };
        for step in 0..count {
            let row = if backward { rows.end - 1 - step } else { rows.start + step };
            if step + ROWS_AHEAD < count {
                prefetch_row(data, nb, if backward { row - ROWS_AHEAD } else { row + ROWS_AHEAD });
            }
            update_row::<S, P, Z>(data, size, row, ahead, chained);
        }
    }
}

/// Updates the rows of a list, of blocks of several values.
///
/// # Safety
/// As [`sweep_rows`].
pub(crate) unsafe fn sweep_list<P: Precision>(
    isa: Isa,
    nb: usize,
    data: &SweepData<'_, P>,
    rows: &[u32],
    chained: bool,
) {
    with_size!(isa, nb, size => dispatch(isa, SweepList { data, size, rows, chained }));
}

struct SweepList<'a, P: Precision, Z> {
    data: &'a SweepData<'a, P>,
    size: Z,
    rows: &'a [u32],
    chained: bool,
}

impl<P: Precision, Z: Size> Kernel for SweepList<'_, P, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { data, size, rows, chained } = self;
        let nb = size.get();
        for (at, &row) in rows.iter().enumerate() {
            if let Some(&next) = rows.get(at + ROWS_AHEAD) {
                prefetch_row(data, nb, next as usize);
            }
            update_row::<S, P, Z>(data, size, row as usize, BYTES_AHEAD, chained);
        }
    }
}

/// Asks for the diagonal block and the right side of a row, which must be one of the matrix's.
#[inline(always)]
unsafe fn prefetch_row<P: Precision>(data: &SweepData<'_, P>, nb: usize, row: usize) {
    let (Diagonal::Inverse(diag) | Diagonal::Lu(diag, _)) = data.diag;
    prefetch_block(nb, diag.add(row * nb * nb), 0);
    chromaflow_device::prefetch::<1, _>(data.b.add(row * nb));
}

/// `x_i <- D_i^-1 (b_i - O_i x)` for one row i.
#[inline(always)]
pub(crate) unsafe fn update_row<S: Simd, P: Precision, Z: Size>(
    data: &SweepData<'_, P>,
    size: Z,
    row: usize,
    ahead: isize,
    chained: bool,
) {
    let nb = size.get();
    let mut sum: Scratch<P::X> = MaybeUninit::uninit();
    let mut rest: Scratch<f64> = MaybeUninit::uninit();
    let mut new: Scratch<f64> = MaybeUninit::uninit();
    let (sum, rest, new) =
        (sum.as_mut_ptr().cast::<P::X>(), rest.as_mut_ptr().cast::<f64>(), new.as_mut_ptr().cast::<f64>());

    let mut range = data.off.range(row);
    if data.from_zero {
        range.end = range.start + data.off.below(row);
    }
    row_part::<P::Sum<S>, P::Off, Z, Direct>(&data.off, size, range, data.x_in, sum, ahead, chained);
    let new = solve_row::<S, P, Z>(data, size, row, sum, rest, new);
    take(data, nb, row, |r| *new.add(r));
}

/// Takes what a sweep finds for the entries of a row, damped.
#[inline(always)]
pub(crate) unsafe fn take<P: Precision>(
    data: &SweepData<'_, P>,
    nb: usize,
    row: usize,
    new: impl Fn(usize) -> f64,
) {
    let (damping, to) = (data.damping, data.x_out.add(row * nb));
    // Asked once a row: small blocks take few instructions more than these.
    if damping == 1.0 {
        for r in 0..nb {
            *to.add(r) = P::X::from_f64(new(r));
        }
    } else {
        for r in 0..nb {
            let old: f64 = (*data.x_in.add(row * nb + r)).into();
            *to.add(r) = P::X::from_f64(old + damping * (new(r) - old));
        }
    }
}

/// `D_i^-1 (b_i - sum)` for one row i, in `new` or in `rest`.
#[inline(always)]
pub(crate) unsafe fn solve_row<S: Simd, P: Precision, Z: Size>(
    data: &SweepData<'_, P>,
    size: Z,
    row: usize,
    sum: *const P::X,
    rest: *mut f64,
    new: *mut f64,
) -> *const f64 {
    let nb = size.get();
    let unscale = S::F64::splat(-data.off.unscale.of(row));
    for first in (0..nb).step_by(S::F64::LANES) {
        let lanes = S::F64::first((nb - first).min(S::F64::LANES));
        let b = S::F64::load_first(data.b.add(row * nb + first), lanes);
        P::X::load::<S>(sum.add(first)).mul_add(unscale, b).store(rest.add(first));
    }
    match data.diag {
        Diagonal::Inverse(blocks) => {
            block_product::<S, Z>(size, blocks.add(row * nb * nb), rest, new);
            new
        }
        Diagonal::Lu(blocks, pivots) => {
            let lu = std::slice::from_raw_parts(blocks.add(row * nb * nb), nb * nb);
            let pivots = if pivots.is_empty() { None } else { pivots.get(&(row as u32)).map(|p| &**p) };
            solve_factored(nb, lu, pivots, std::slice::from_raw_parts_mut(rest, nb));
            rest
        }
    }
}

/// How many rows ahead of their use diagonal blocks and right-hand sides are asked for.
const ROWS_AHEAD: usize = 4;
