#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The inner loops: rows of O times x, then the solve with D.
//!
//! SAFETY of this file: pointers in [`SweepData`] and [`ProductData`] reach over all rows of a valid pattern, and the
//! instruction set is there; both are promised by whoever calls [`sweep_rows`] and [`multiply_rows`]. Blocks lie in
//! [`Buffer`](chromaflow_device::Buffer)s, which may be read one vector past their end.

use crate::block::{multiply_factored, solve_factored};
use crate::rim::{Size, with_size};
use crate::simd::{Kernel, Load, Simd, Vector, dispatch};
use chromaflow_device::Isa;
use half::f16;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The types that a policy stands for.
pub(crate) trait Precision: 'static {
    /// Stored off-diagonal values.
    type Off: Copy + 'static;
    /// The correction x and the sums of O x.
    type X: Real;
    /// Vectors of those sums.
    type Sum<S: Simd>: Vector<Elem = Self::X> + Load<Self::Off>;
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

/// f32 or f64.
pub(crate) trait Real: Copy + Into<f64> + bytemuck::Zeroable + Send + Sync + 'static {
    /// The nearest value.
    fn of(value: f64) -> Self;
}
impl Real for f32 {
    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }
}
impl Real for f64 {
    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }
}

/// Pivots of the rows whose diagonal blocks were factored with row exchanges.
pub(crate) type Pivots = std::collections::BTreeMap<u32, Box<[u8]>>;

/// How the diagonal blocks are kept.
#[derive(Clone, Copy)]
pub(crate) enum Diagonal<'a> {
    /// As they are.
    Plain(*const f64),
    /// Inverted.
    Inverse(*const f64),
    /// LU factors.
    Lu(*const f64, &'a Pivots),
}

/// What the stored off-diagonal values are multiplied by.
#[derive(Clone, Copy)]
pub(crate) enum Unscale<'a> {
    /// Nothing: they are not scaled.
    One,
    /// One factor for all.
    All(f64),
    /// One factor a row.
    Rows(&'a [f32]),
}

impl Unscale<'_> {
    #[inline(always)]
    fn of(self, row: usize) -> f64 {
        match self {
            Unscale::One => 1.0,
            Unscale::All(factor) => factor,
            Unscale::Rows(factors) => factors[row].into(),
        }
    }
}

/// Off-diagonal blocks on their pattern.
#[derive(Clone, Copy)]
pub(crate) struct Off<'a, T> {
    pub row_ptr: &'a [u32],
    pub col_idx: &'a [u32],
    pub values: *const T,
    pub unscale: Unscale<'a>,
}

/// Everything a sweep reads and writes.
pub(crate) struct SweepData<'a, P: Precision> {
    pub off: Off<'a, P::Off>,
    pub diag: Diagonal<'a>,
    pub b: *const f64,
    pub x_in: *const P::X,
    pub x_out: *mut P::X,
    pub damping: f64,
}

/// Everything a product reads and writes: `y = A x`, or `y = b - A x` where there is a b.
pub(crate) struct ProductData<'a, T> {
    pub off: Off<'a, T>,
    pub diag: Diagonal<'a>,
    pub b: Option<*const f64>,
    pub x: *const f64,
    pub y: *mut f64,
}

/// Updates `rows`, last to first if `backward`.
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
) {
    with_size!(nb, size => dispatch(isa, SweepRows { data, size, rows, backward }));
}

/// Multiplies `rows`.
///
/// # Safety
/// The pointers of `data` must be valid for all rows and all stored blocks, no other thread may write x, or y of these
/// rows, and the machine must have `isa`.
pub(crate) unsafe fn multiply_rows<T>(isa: Isa, nb: usize, data: &ProductData<'_, T>, rows: Range<usize>)
where
    T: 'static,
    T: Stored,
{
    with_size!(nb, size => dispatch(isa, MultiplyRows { data, size, rows }));
}

/// A type of stored values; says that f64 vectors can be loaded from it.
pub(crate) trait Stored: Sized + 'static {
    /// # Safety
    /// As [`Load::load`].
    unsafe fn load<S: Simd>(from: *const Self) -> S::F64;
}
macro_rules! stored {
    ($($t:ty)*) => { $(impl Stored for $t {
        #[inline(always)]
        unsafe fn load<S: Simd>(from: *const Self) -> S::F64 {
            <S::F64 as Load<$t>>::load(from)
        }
    })* };
}
stored!(f64 f32 f16);

/// Room for one block row of a vector and whole vectors past its end.
type Scratch<T> = MaybeUninit<[T; crate::MAX_NB + 16]>;

struct SweepRows<'a, P: Precision, Z> {
    data: &'a SweepData<'a, P>,
    size: Z,
    rows: Range<usize>,
    backward: bool,
}

impl<P: Precision, Z: Size> Kernel for SweepRows<'_, P, Z> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { data, size, rows, backward } = self;
        let count = rows.len();
        for step in 0..count {
            let row = if backward { rows.end - 1 - step } else { rows.start + step };
            update_row::<S, P, Z>(data, size, row);
        }
    }
}

#[inline(always)]
unsafe fn update_row<S: Simd, P: Precision, Z: Size>(data: &SweepData<'_, P>, size: Z, row: usize) {
    let nb = size.get();
    let mut sum: Scratch<P::X> = MaybeUninit::uninit();
    let mut rest: Scratch<f64> = MaybeUninit::uninit();
    let mut new: Scratch<f64> = MaybeUninit::uninit();
    let (sum, rest, new) =
        (sum.as_mut_ptr().cast::<P::X>(), rest.as_mut_ptr().cast::<f64>(), new.as_mut_ptr().cast::<f64>());

    row_product::<P::Sum<S>, P::Off, Z>(&data.off, size, row, data.x_in, sum, |from| {
        <P::Sum<S> as Load<P::Off>>::load(from)
    });
    let unscale = data.off.unscale.of(row);
    for r in 0..nb {
        *rest.add(r) = *data.b.add(row * nb + r) - unscale * (*sum.add(r)).into();
    }
    let new = match data.diag {
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
        Diagonal::Plain(_) => unreachable!("sweeps need a factored diagonal"),
    };
    let to = data.x_out.add(row * nb);
    if data.damping == 1.0 {
        for r in 0..nb {
            *to.add(r) = P::X::of(*new.add(r));
        }
    } else {
        for r in 0..nb {
            let old: f64 = (*data.x_in.add(row * nb + r)).into();
            *to.add(r) = P::X::of(old + data.damping * (*new.add(r) - old));
        }
    }
}

struct MultiplyRows<'a, T, Z> {
    data: &'a ProductData<'a, T>,
    size: Z,
    rows: Range<usize>,
}

impl<T: Stored, Z: Size> Kernel for MultiplyRows<'_, T, Z> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { data, size, rows } = self;
        let nb = size.get();
        let mut sum: Scratch<f64> = MaybeUninit::uninit();
        let mut own: Scratch<f64> = MaybeUninit::uninit();
        let (sum, own) = (sum.as_mut_ptr().cast::<f64>(), own.as_mut_ptr().cast::<f64>());
        for row in rows {
            row_product::<S::F64, T, Z>(&data.off, size, row, data.x, sum, |from| T::load::<S>(from));
            let (x, unscale) = (data.x.add(row * nb), data.off.unscale.of(row));
            match data.diag {
                Diagonal::Plain(blocks) => block_product::<S, Z>(size, blocks.add(row * nb * nb), x, own),
                Diagonal::Lu(blocks, pivots) => multiply_factored(
                    nb,
                    std::slice::from_raw_parts(blocks.add(row * nb * nb), nb * nb),
                    pivots.get(&(row as u32)).map(|p| &**p),
                    std::slice::from_raw_parts(x, nb),
                    std::slice::from_raw_parts_mut(own, nb),
                ),
                Diagonal::Inverse(_) => unreachable!("inverses cannot be multiplied with"),
            }
            let y = data.y.add(row * nb);
            for r in 0..nb {
                let product = *own.add(r) + unscale * *sum.add(r);
                *y.add(r) = match data.b {
                    Some(b) => *b.add(row * nb + r) - product,
                    None => product,
                };
            }
        }
    }
}

/// `out = sum over the blocks of a row of O_ij x_j`, whole vectors of it.
#[inline(always)]
unsafe fn row_product<V: Vector, T, Z: Size>(
    off: &Off<'_, T>,
    size: Z,
    row: usize,
    x: *const V::Elem,
    out: *mut V::Elem,
    load: impl Fn(*const T) -> V + Copy,
) {
    let nb = size.get();
    let range = *off.row_ptr.get_unchecked(row) as usize..*off.row_ptr.get_unchecked(row + 1) as usize;
    let blocks = off.values.add(range.start * nb * nb);
    let cols = off.col_idx.get_unchecked(range);
    if Z::FIXED && nb >= 2 && V::LANES >= 2 * nb {
        packed::<V, T>(nb, blocks, cols, x, out, load);
    } else {
        columns::<V, T>(nb, blocks, cols, x, out, load);
    }
}

/// `out = A x` for one diagonal block.
#[inline(always)]
unsafe fn block_product<S: Simd, Z: Size>(size: Z, block: *const f64, x: *const f64, out: *mut f64) {
    columns::<S::F64, f64>(size.get(), block, &[0], x, out, |from| <S::F64 as Load<f64>>::load(from));
}

/// Small blocks: several columns lie in one vector, and x is spread over them by a permutation.
#[inline(always)]
unsafe fn packed<V: Vector, T>(
    nb: usize,
    mut block: *const T,
    cols: &[u32],
    x: *const V::Elem,
    out: *mut V::Elem,
    load: impl Fn(*const T) -> V + Copy,
) {
    const MOST: usize = 4;
    let in_vector = V::LANES / nb; // columns in a vector
    let vectors = nb.div_ceil(in_vector);
    let in_last = nb - (vectors - 1) * in_vector;
    let x_mask = V::first(nb);
    let last_mask = V::first(in_last * nb);
    let spread: [V::Index; MOST] =
        std::array::from_fn(|v| V::index(|lane| (v * in_vector + lane / nb).min(nb - 1)));
    let mut sum = [[V::zero(); MOST]; 2];
    for (k, &col) in cols.iter().enumerate() {
        let xj = V::load_first(x.add(col as usize * nb), x_mask);
        let sum = &mut sum[k % 2];
        prefetch_block::<V, T>(nb, block);
        for v in 0..vectors {
            let a = load(block.add(v * in_vector * nb));
            let xj = xj.permute(spread[v]);
            sum[v] = if v + 1 < vectors || in_last == in_vector {
                a.mul_add(xj, sum[v])
            } else {
                a.mul_add_first(xj, sum[v], last_mask)
            };
        }
        block = block.add(nb * nb);
    }
    let mut total = sum[0][0].add(sum[1][0]);
    for v in 1..vectors {
        total = total.add(sum[0][v].add(sum[1][v]));
    }
    // Lane c * nb + r holds a part of row r.
    let mut folded = total;
    for c in 1..in_vector.min(nb) {
        folded = folded.add(total.permute(V::index(|lane| (lane + c * nb) % V::LANES)));
    }
    folded.store(out);
}

/// Blocks of any size, column by column: x is broadcast.
#[inline(always)]
unsafe fn columns<V: Vector, T>(
    nb: usize,
    block: *const T,
    cols: &[u32],
    x: *const V::Elem,
    out: *mut V::Elem,
    load: impl Fn(*const T) -> V + Copy,
) {
    let vectors = nb.div_ceil(V::LANES);
    let mut first = 0;
    while first < vectors {
        let (block, out) = (block.add(first * V::LANES), out.add(first * V::LANES));
        first += match vectors - first {
            1 => panel::<V, T, 1>(nb, block, cols, x, out, load),
            2 => panel::<V, T, 2>(nb, block, cols, x, out, load),
            3 => panel::<V, T, 3>(nb, block, cols, x, out, load),
            _ => panel::<V, T, 4>(nb, block, cols, x, out, load),
        };
    }
}

/// C vectors of rows of each block; returns C.
#[inline(always)]
unsafe fn panel<V: Vector, T, const C: usize>(
    nb: usize,
    mut block: *const T,
    cols: &[u32],
    x: *const V::Elem,
    out: *mut V::Elem,
    load: impl Fn(*const T) -> V + Copy,
) -> usize {
    let mut sum = [[V::zero(); C]; 2];
    for &col in cols {
        let xj = x.add(col as usize * nb);
        prefetch_block::<V, T>(nb, block);
        for c in 0..nb {
            let value = V::splat(*xj.add(c));
            for v in 0..C {
                sum[c % 2][v] = load(block.add(c * nb + v * V::LANES)).mul_add(value, sum[c % 2][v]);
            }
        }
        block = block.add(nb * nb);
    }
    for v in 0..C {
        sum[0][v].add(sum[1][v]).store(out.add(v * V::LANES));
    }
    C
}

/// How far ahead of their use blocks are asked for.
const AHEAD: usize = 1024;

/// Asks for as many bytes as a block has, [`AHEAD`] of it.
#[inline(always)]
unsafe fn prefetch_block<V: Vector, T>(nb: usize, block: *const T) {
    let bytes = nb * nb * size_of::<T>();
    if bytes <= 1024 {
        for line in 0..bytes.div_ceil(64) {
            V::prefetch(block.cast::<u8>().wrapping_add(AHEAD + 64 * line));
        }
    }
}
