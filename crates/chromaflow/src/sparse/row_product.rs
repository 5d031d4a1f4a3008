#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! One block row times a vector: the inner loop of products, sweeps and triangular solves.
//!
//! SAFETY of this file: callers promise a valid pattern, values for its blocks and x for its columns, and that the
//! instruction set is there. Blocks lie in [`Buffer`](chromaflow_device::Buffer)s, or where a vector may be read past
//! their end.

use super::stored::{Direct, Loader, Off};
use crate::rim::Size;
use chromaflow_simd::{Four, Native, Simd, Vector};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Room for one block row of a vector and whole vectors past its end.
pub(crate) type Scratch<T> = MaybeUninit<[T; crate::MAX_NB + 16]>;

/// `out = sum over the blocks of a row of O_ij x_j`, whole vectors of it.
#[inline(always)]
pub(crate) unsafe fn row_product<V: Native, T, Z: Size, L: Loader<V, T>>(
    off: &Off<'_, T>,
    size: Z,
    row: usize,
    x: *const V::Elem,
    out: *mut V::Elem,
    ahead: isize,
    chained: bool,
) {
    let range = off.range(row);
    row_part::<V, T, Z, L>(off, size, range, x, out, ahead, chained);
}

/// The same for a part of a row's blocks.
#[inline(always)]
pub(crate) unsafe fn row_part<V: Native, T, Z: Size, L: Loader<V, T>>(
    off: &Off<'_, T>,
    size: Z,
    range: Range<usize>,
    x: *const V::Elem,
    out: *mut V::Elem,
    ahead: isize,
    chained: bool,
) {
    let nb = size.get();
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
pub(crate) unsafe fn scalars<V: Vector, T, L: Loader<V, T>>(
    mut values: *const T,
    cols: &[u32],
    x: *const V::Elem,
    ahead: isize,
) -> V::Elem {
    let (mut even, mut odd) = (V::Four::zero(), V::Four::zero());
    let (eights, rest) = cols.as_chunks::<8>();
    chromaflow_device::prefetch::<1, _>(cols.as_ptr().wrapping_byte_offset(ahead));
    chromaflow_device::prefetch::<1, _>(values.wrapping_byte_offset(ahead));
    for eight in eights {
        if size_of::<T>() == 8 {
            chromaflow_device::prefetch::<1, _>(values.wrapping_add(8).wrapping_byte_offset(ahead));
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
    even.plus(odd).total()
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
unsafe fn packed<V: Native, T, Z: Size, L: Loader<V, T>>(
    mut block: *const T,
    cols: &[u32],
    x: *const V::Elem,
    out: *mut V::Elem,
    ahead: isize,
) {
    let (nb, vectors) = (Packed::<V, Z>::NB, Packed::<V, Z>::VECTORS);
    // Two sets of sums, for alternate blocks: additions to one need not wait for those to the other.
    let mut even = [V::c(0.0); MOST];
    let mut odd = [V::c(0.0); MOST];
    let (pairs, last) = cols.as_chunks::<2>();
    for &[first, second] in pairs {
        add_packed::<V, T, Z, L>(block, x.add(first as usize * nb), &mut even, ahead);
        add_packed::<V, T, Z, L>(block.add(nb * nb), x.add(second as usize * nb), &mut odd, ahead);
        block = block.add(2 * nb * nb);
    }
    if let &[col] = last {
        add_packed::<V, T, Z, L>(block, x.add(col as usize * nb), &mut even, ahead);
    }
    let mut total = even[0] + odd[0];
    for v in 1..vectors {
        total += even[v] + odd[v];
    }
    // Lane c * nb + r holds a part of row r.
    let mut folded = total;
    for c in 1..Packed::<V, Z>::COLUMNS.min(nb) {
        folded += total.permute(&Packed::<V, Z>::FOLD[c]);
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
    prefetch_block(nb, block, ahead);
    for v in 0..vectors {
        let a = L::load(block.add(v * columns * nb));
        let xj = xj.permute(&Packed::<V, Z>::SPREAD[v]);
        sum[v] = if v + 1 < vectors || last == columns {
            a.mul_add(xj, sum[v])
        } else {
            a.mul_add_first(xj, sum[v], V::first(last * nb))
        };
    }
}

/// Blocks of any size, column by column: x is broadcast.
#[inline(always)]
pub(crate) unsafe fn columns<V: Native, T, L: Loader<V, T>>(
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
unsafe fn panel<V: Native, T, L: Loader<V, T>, const C: usize>(
    nb: usize,
    mut block: *const T,
    cols: &[u32],
    x: *const V::Elem,
    out: *mut V::Elem,
    ahead: isize,
) -> usize {
    let mut sum = [[V::c(0.0); C]; 2];
    for &col in cols {
        let xj = x.add(col as usize * nb);
        prefetch_block(nb, block, ahead);
        for c in 0..nb {
            let value = V::splat(*xj.add(c));
            for v in 0..C {
                sum[c % 2][v] = L::load(block.add(c * nb + v * V::LANES)).mul_add(value, sum[c % 2][v]);
            }
        }
        block = block.add(nb * nb);
    }
    for v in 0..C {
        (sum[0][v] + sum[1][v]).store(out.add(v * V::LANES));
    }
    C
}

/// How far ahead of their use, in bytes, off-diagonal blocks are asked for.
pub(crate) const BYTES_AHEAD: isize = 2048;
/// Larger blocks are long enough streams for the processor to see.
const MOST_ASKED: usize = 1024;

/// Asks for as many bytes as a block has, `ahead` of it.
#[inline(always)]
pub(crate) unsafe fn prefetch_block<T>(nb: usize, block: *const T, ahead: isize) {
    let bytes = nb * nb * size_of::<T>();
    if bytes <= MOST_ASKED {
        for line in (0..bytes).step_by(64) {
            chromaflow_device::prefetch::<1, _>(block.cast::<u8>().wrapping_offset(ahead).wrapping_add(line));
        }
    }
}
