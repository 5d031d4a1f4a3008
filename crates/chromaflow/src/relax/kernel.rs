#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The inner loops: rows of O times x, then the solve with D.
//!
//! SAFETY of this file: pointers in [`SweepData`] and [`ProductData`] reach over all rows of a valid pattern, and the
//! instruction set is there; both are promised by whoever calls [`sweep_rows`] and [`multiply_rows`]. Blocks lie in
//! [`Buffer`](chromaflow_device::Buffer)s, which may be read one vector past their end.

use crate::block::{multiply_factored, solve_factored};
use crate::rim::{Size, with_size};
use crate::simd::{Four, Kernel, Load, Simd, Vector, dispatch};
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
pub(crate) trait Real: Stored + Copy + Into<f64> + bytemuck::Zeroable + Send + Sync + 'static {
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
    /// Among the off-diagonal ones.
    Within,
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
    pub(crate) fn of(self, row: usize) -> f64 {
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
    with_size!(isa, nb, size => dispatch(isa, MultiplyRows { data, size, rows }));
}

/// A type of stored values; says that f64 vectors can be loaded from it.
pub(crate) trait Stored: Sized + 'static {
    /// # Safety
    /// As [`Load::load`].
    unsafe fn load<S: Simd>(from: *const Self) -> S::F64;
    /// # Safety
    /// As [`Load::load_four`].
    unsafe fn load_four<S: Simd>(from: *const Self) -> <S::F64 as Vector>::Four;
}
macro_rules! stored {
    ($($t:ty)*) => { $(impl Stored for $t {
        #[inline(always)]
        unsafe fn load<S: Simd>(from: *const Self) -> S::F64 {
            <S::F64 as Load<$t>>::load(from)
        }
        #[inline(always)]
        unsafe fn load_four<S: Simd>(from: *const Self) -> <S::F64 as Vector>::Four {
            <S::F64 as Load<$t>>::load_four(from)
        }
    })* };
}
stored!(f64 f32 f16);

/// How stored values become vectors; a type, so that it is inlined wherever it is used.
pub(crate) trait Loader<V: Vector, T> {
    /// # Safety
    /// As [`Load::load`].
    unsafe fn load(from: *const T) -> V;
    /// # Safety
    /// As [`Load::load_four`].
    unsafe fn load_four(from: *const T) -> V::Four;
}
/// By the vector's own conversion.
pub(crate) struct Direct;
impl<V: Load<T>, T> Loader<V, T> for Direct {
    #[inline(always)]
    unsafe fn load(from: *const T) -> V {
        V::load(from)
    }
    #[inline(always)]
    unsafe fn load_four(from: *const T) -> V::Four {
        V::load_four(from)
    }
}
/// To f64.
pub(crate) struct ToDouble<S>(std::marker::PhantomData<S>);
impl<S: Simd, T: Stored> Loader<S::F64, T> for ToDouble<S> {
    #[inline(always)]
    unsafe fn load(from: *const T) -> S::F64 {
        T::load::<S>(from)
    }
    #[inline(always)]
    unsafe fn load_four(from: *const T) -> <S::F64 as Vector>::Four {
        T::load_four::<S>(from)
    }
}

/// Room for one block row of a vector and whole vectors past its end.
type Scratch<T> = MaybeUninit<[T; crate::MAX_NB + 16]>;

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
                let (Diagonal::Inverse(diag) | Diagonal::Lu(diag, _)) = data.diag else {
                    unreachable!("sweeps need a factored diagonal")
                };
                let next = if backward { row - ROWS_AHEAD } else { row + ROWS_AHEAD };
                prefetch_block::<S::F64, f64>(nb, diag.add(next * nb * nb), 0);
                S::F64::prefetch(data.b.add(next * nb));
            }
            update_row::<S, P, Z>(data, size, row, ahead, chained);
        }
    }
}

/// Blocks of one value, whose factors are their reciprocals.
///
/// Where rows are chained, each new value is held back until the next row has read the old one, and the next row's new
/// value is corrected with the change: what the row before still computes is then needed last instead of first.
struct SweepScalars<'a, P: Precision, const CHAINED: bool> {
    data: &'a SweepData<'a, P>,
    rows: Range<usize>,
    backward: bool,
}

impl<P: Precision, const CHAINED: bool> Kernel for SweepScalars<'_, P, CHAINED> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { data, rows, backward } = self;
        let (Diagonal::Inverse(inverse) | Diagonal::Lu(inverse, _)) = data.diag else {
            unreachable!("sweeps need a factored diagonal")
        };
        // Copies, which the compiler knows not to change when x does.
        let &SweepData { off, b, x_in, x_out, damping, .. } = data;
        let row_ptr = off.row_ptr.as_ptr();
        let ahead = if backward { -BYTES_AHEAD } else { BYTES_AHEAD };
        let mut held: Option<(usize, P::X, f64)> = None; // row, new value, change
        let mut below = 0; // columns below the row, about the same from row to row
        let (everywhere, of_row) = match off.unscale {
            Unscale::One => (1.0, None),
            Unscale::All(factor) => (factor, None),
            Unscale::Rows(factors) => (1.0, Some(factors)),
        };
        let (mut next, stride) = if backward { (rows.end.wrapping_sub(1), -1) } else { (rows.start, 1) };
        for _ in rows {
            let row = next;
            next = next.wrapping_add_signed(stride);
            let range = *row_ptr.add(row) as usize..*row_ptr.add(row + 1) as usize;
            let blocks = off.values.add(range.start);
            let cols = off.col_idx.get_unchecked(range);
            let sum: f64 = scalars::<P::Sum<S>, P::Off, Direct>(blocks, cols, x_in, ahead).into();
            let unscale = of_row.map_or(everywhere, |factors| f64::from(*factors.get_unchecked(row)));
            let inverse = *inverse.add(row);
            let mut new = inverse * (*b.add(row) - unscale * sum);
            if CHAINED {
                while below < cols.len() && (cols[below] as usize) < row {
                    below += 1;
                }
                while below > 0 && (below > cols.len() || cols[below - 1] as usize > row) {
                    below -= 1;
                }
                if let Some((before, value, change)) = held {
                    // Forward, the row before can only be the last column below this one; backward, the first above it.
                    let at = if backward { below } else { below.wrapping_sub(1) };
                    if cols.get(at).is_some_and(|&col| col as usize == before) {
                        let four = <P::Sum<S> as Load<P::Off>>::load_four(blocks.add(at));
                        new -= change * (inverse * unscale * four.first().into());
                    }
                    *x_out.add(before) = value;
                }
            }
            if damping != 1.0 {
                let old: f64 = (*x_in.add(row)).into();
                new = old + damping * (new - old);
            }
            let new = P::X::of(new);
            if CHAINED {
                held = Some((row, new, new.into() - (*x_in.add(row)).into()));
            } else {
                *x_out.add(row) = new;
            }
        }
        if let Some((row, new, _)) = held {
            *x_out.add(row) = new;
        }
    }
}

#[inline(always)]
unsafe fn update_row<S: Simd, P: Precision, Z: Size>(
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

    row_product::<P::Sum<S>, P::Off, Z, Direct>(&data.off, size, row, data.x_in, sum, ahead, chained);
    let unscale = S::F64::splat(-data.off.unscale.of(row));
    for first in (0..nb).step_by(S::F64::LANES) {
        let lanes = S::F64::first((nb - first).min(S::F64::LANES));
        let b = S::F64::load_first(data.b.add(row * nb + first), lanes);
        P::X::load::<S>(sum.add(first)).mul_add(unscale, b).store(rest.add(first));
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
        Diagonal::Plain(_) | Diagonal::Within => unreachable!("sweeps need a factored diagonal"),
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
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { data, size, rows } = self;
        let nb = size.get();
        let mut sum: Scratch<f64> = MaybeUninit::uninit();
        let mut own: Scratch<f64> = MaybeUninit::uninit();
        let (sum, own) = (sum.as_mut_ptr().cast::<f64>(), own.as_mut_ptr().cast::<f64>());
        for row in rows {
            row_product::<S::F64, T, Z, ToDouble<S>>(&data.off, size, row, data.x, sum, BYTES_AHEAD, false);
            let unscale = data.off.unscale.of(row);
            let x = data.x.wrapping_add(row * nb);
            match data.diag {
                Diagonal::Within => std::slice::from_raw_parts_mut(own, nb).fill(0.0),
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
pub(crate) unsafe fn row_product<V: Vector, T, Z: Size, L: Loader<V, T>>(
    off: &Off<'_, T>,
    size: Z,
    row: usize,
    x: *const V::Elem,
    out: *mut V::Elem,
    ahead: isize,
    chained: bool,
) {
    let nb = size.get();
    let range = *off.row_ptr.get_unchecked(row) as usize..*off.row_ptr.get_unchecked(row + 1) as usize;
    let blocks = off.values.add(range.start * nb * nb);
    let cols = off.col_idx.get_unchecked(range);
    if Z::KNOWN == 1 {
        *out = scalars::<V, T, L>(blocks, cols, x, ahead);
    } else if Packed::<V, Z>::USEFUL && !chained {
        packed::<V, T, Z, L>(blocks, cols, x, out, ahead);
    } else {
        columns::<V, T, L>(nb, blocks, cols, x, out, ahead);
    }
}

/// `out = A x` for one diagonal block.
#[inline(always)]
pub(crate) unsafe fn block_product<S: Simd, Z: Size>(
    size: Z,
    block: *const f64,
    x: *const f64,
    out: *mut f64,
) {
    columns::<S::F64, f64, Direct>(size.get(), block, &[0], x, out, 0);
}

/// Blocks of one value: x is put together entry by entry, four at a time, in two sets of sums that need not wait for
/// each other. Gathers by one instruction cost more, even of 16 entries.
#[inline(always)]
unsafe fn scalars<V: Vector, T, L: Loader<V, T>>(
    mut values: *const T,
    cols: &[u32],
    x: *const V::Elem,
    ahead: isize,
) -> V::Elem {
    let (mut even, mut odd) = (V::Four::zero(), V::Four::zero());
    let (eights, rest) = cols.as_chunks::<8>();
    V::prefetch(cols.as_ptr().wrapping_byte_offset(ahead));
    V::prefetch(values.wrapping_byte_offset(ahead));
    for eight in eights {
        if size_of::<T>() == 8 {
            V::prefetch(values.wrapping_add(8).wrapping_byte_offset(ahead));
        }
        let at = eight.as_ptr();
        even = L::load_four(values).mul_add(V::Four::gather::<4>(x, at), even);
        odd = L::load_four(values.add(4)).mul_add(V::Four::gather::<4>(x, at.add(4)), odd);
        values = values.add(8);
    }
    let (four, rest) = rest.as_chunks::<4>();
    if let [four] = four {
        even = L::load_four(values).mul_add(V::Four::gather::<4>(x, four.as_ptr()), even);
        values = values.add(4);
    }
    // Lanes past the row hold other rows' values or none at all.
    let (two, one) = rest.as_chunks::<2>();
    if let [two] = two {
        odd = L::load_four(values).keep::<2>().mul_add(V::Four::gather::<2>(x, two.as_ptr()), odd);
        values = values.add(2);
    }
    if let [one] = one {
        even = L::load_four(values).keep::<1>().mul_add(V::Four::gather::<1>(x, one), even);
    }
    even.add(odd).total()
}

/// How a small block of a known size lies in vectors: as many whole columns in each as fit.
struct Packed<V, Z>(std::marker::PhantomData<(V, Z)>);

impl<V: Vector, Z: Size> Packed<V, Z> {
    const NB: usize = Z::KNOWN;
    /// Columns in a vector.
    const COLUMNS: usize = V::LANES / if Self::NB == 0 { V::LANES } else { Self::NB };
    /// Whether there are several; otherwise a block is better taken column by column.
    const USEFUL: bool = Self::NB >= 2 && Self::COLUMNS >= 2;
    const VECTORS: usize = if Self::USEFUL { Self::NB.div_ceil(Self::COLUMNS) } else { 1 };
    /// Columns in the last vector.
    const LAST: usize = Self::NB.saturating_sub((Self::VECTORS - 1) * Self::COLUMNS);
    /// For each vector the entry of x that each lane is multiplied with.
    const SPREAD: [[u8; 16]; MOST] = {
        let mut from = [[0; 16]; MOST];
        let mut v = 0;
        while Self::USEFUL && v < Self::VECTORS {
            let mut lane = 0;
            while lane < V::LANES {
                let column = v * Self::COLUMNS + lane / Self::NB;
                from[v][lane] = if column < Self::NB { column } else { Self::NB - 1 } as u8;
                lane += 1;
            }
            v += 1;
        }
        from
    };
    /// For each column but the first of a vector, where its rows lie.
    const FOLD: [[u8; 16]; MOST] = {
        let mut from = [[0; 16]; MOST];
        let mut c = 1;
        while Self::USEFUL && c < Self::COLUMNS && c < Self::NB {
            let mut lane = 0;
            while lane < V::LANES {
                from[c][lane] = ((lane + c * Self::NB) % V::LANES) as u8;
                lane += 1;
            }
            c += 1;
        }
        from
    };
}

/// The most vectors of a packed block, and columns to fold.
const MOST: usize = 4;

/// Small blocks: several columns lie in one vector, and x is spread over them by a permutation.
#[inline(always)]
unsafe fn packed<V: Vector, T, Z: Size, L: Loader<V, T>>(
    mut block: *const T,
    cols: &[u32],
    x: *const V::Elem,
    out: *mut V::Elem,
    ahead: isize,
) {
    let (nb, vectors) = (Packed::<V, Z>::NB, Packed::<V, Z>::VECTORS);
    // Two sets of sums, for alternate blocks: additions to one need not wait for those to the other.
    let mut even = [V::zero(); MOST];
    let mut odd = [V::zero(); MOST];
    let (pairs, last) = cols.as_chunks::<2>();
    for &[first, second] in pairs {
        add_packed::<V, T, Z, L>(block, x.add(first as usize * nb), &mut even, ahead);
        add_packed::<V, T, Z, L>(block.add(nb * nb), x.add(second as usize * nb), &mut odd, ahead);
        block = block.add(2 * nb * nb);
    }
    if let &[col] = last {
        add_packed::<V, T, Z, L>(block, x.add(col as usize * nb), &mut even, ahead);
    }
    let mut total = even[0].add(odd[0]);
    for v in 1..vectors {
        total = total.add(even[v].add(odd[v]));
    }
    // Lane c * nb + r holds a part of row r.
    let mut folded = total;
    for c in 1..Packed::<V, Z>::COLUMNS.min(nb) {
        folded = folded.add(total.permute(V::index(&Packed::<V, Z>::FOLD[c])));
    }
    folded.store(out);
}

/// `sum += O_ij x_j`, every lane for itself.
#[inline(always)]
unsafe fn add_packed<V: Vector, T, Z: Size, L: Loader<V, T>>(
    block: *const T,
    xj: *const V::Elem,
    sum: &mut [V; MOST],
    ahead: isize,
) {
    let (nb, vectors, columns) = (Packed::<V, Z>::NB, Packed::<V, Z>::VECTORS, Packed::<V, Z>::COLUMNS);
    let last = Packed::<V, Z>::LAST;
    let xj = V::load_first(xj, V::first(nb));
    prefetch_block::<V, T>(nb, block, ahead);
    for v in 0..vectors {
        let a = L::load(block.add(v * columns * nb));
        let xj = xj.permute(V::index(&Packed::<V, Z>::SPREAD[v]));
        sum[v] = if v + 1 < vectors || last == columns {
            a.mul_add(xj, sum[v])
        } else {
            a.mul_add_first(xj, sum[v], V::first(last * nb))
        };
    }
}

/// Blocks of any size, column by column: x is broadcast.
#[inline(always)]
pub(crate) unsafe fn columns<V: Vector, T, L: Loader<V, T>>(
    nb: usize,
    block: *const T,
    cols: &[u32],
    x: *const V::Elem,
    out: *mut V::Elem,
    ahead: isize,
) {
    let vectors = nb.div_ceil(V::LANES);
    let mut first = 0;
    while first < vectors {
        let (block, out) = (block.add(first * V::LANES), out.add(first * V::LANES));
        first += match vectors - first {
            1 => panel::<V, T, L, 1>(nb, block, cols, x, out, ahead),
            2 => panel::<V, T, L, 2>(nb, block, cols, x, out, ahead),
            3 => panel::<V, T, L, 3>(nb, block, cols, x, out, ahead),
            _ => panel::<V, T, L, 4>(nb, block, cols, x, out, ahead),
        };
    }
}

/// C vectors of rows of each block; returns C.
#[inline(always)]
unsafe fn panel<V: Vector, T, L: Loader<V, T>, const C: usize>(
    nb: usize,
    mut block: *const T,
    cols: &[u32],
    x: *const V::Elem,
    out: *mut V::Elem,
    ahead: isize,
) -> usize {
    let mut sum = [[V::zero(); C]; 2];
    for &col in cols {
        let xj = x.add(col as usize * nb);
        prefetch_block::<V, T>(nb, block, ahead);
        for c in 0..nb {
            let value = V::splat(*xj.add(c));
            for v in 0..C {
                sum[c % 2][v] = L::load(block.add(c * nb + v * V::LANES)).mul_add(value, sum[c % 2][v]);
            }
        }
        block = block.add(nb * nb);
    }
    for v in 0..C {
        sum[0][v].add(sum[1][v]).store(out.add(v * V::LANES));
    }
    C
}

/// How far ahead of their use, in bytes, off-diagonal blocks are asked for.
const BYTES_AHEAD: isize = 2048;
/// How many rows ahead of their use diagonal blocks and right-hand sides are asked for.
const ROWS_AHEAD: usize = 4;
/// Larger blocks are long enough streams for the processor to see.
const MOST_ASKED: usize = 1024;

/// Asks for as many bytes as a block has, `ahead` of it.
#[inline(always)]
pub(crate) unsafe fn prefetch_block<V: Vector, T>(nb: usize, block: *const T, ahead: isize) {
    let bytes = nb * nb * size_of::<T>();
    if bytes <= MOST_ASKED {
        for line in (0..bytes).step_by(64) {
            V::prefetch(block.cast::<u8>().wrapping_offset(ahead).wrapping_add(line));
        }
    }
}
