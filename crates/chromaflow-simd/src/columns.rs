#![allow(unsafe_code)]
//! Arrays that lie one behind the other turned into lanes, and back.

use crate::{Kernel, Load, Simd, Store, Turn, Vector};
use chromaflow_device::prefetch;
use std::marker::PhantomData;

/// Lanes from arrays of `T`: lane l from array l of `LANES`, which lie `stride` values apart.
pub trait Columns<T: Copy>: Load<T> + Store<T> {
    /// What square tiles of the arrays are moved in.
    type Tile: Turn<Elem = T>;

    /// The first `count` of four numbers, zero in the other lanes.
    ///
    /// # Safety
    /// `from` must be valid for reading `count` values.
    unsafe fn first_four(from: *const T, count: usize) -> Self::Four;

    /// Gathers the arrays into one of interleaved lanes: `to[j * LANES + l] = from[l * stride + j]` for `j < len`. Compiled once,
    /// in a function of its own.
    ///
    /// # Safety
    /// `from` must be valid for reading `len` values at each of the `LANES` multiples of `stride`, `to` for writing `len * LANES`
    /// values; they must not overlap.
    #[inline(always)]
    unsafe fn interleave(from: *const T, stride: usize, len: usize, to: *mut T) {
        let lanes = PhantomData;
        // SAFETY: the caller's promise, passed on.
        unsafe { <Self::Tile as Vector>::Set::run(Interleave::<Self, T> { from, stride, len, to, lanes }) };
    }

    /// The inverse of [`Columns::interleave`]: `to[l * stride + j] = from[j * LANES + l]`; with `past`, where whole cache lines can
    /// be written, past the caches.
    ///
    /// # Safety
    /// As [`Columns::interleave`], with reading and writing exchanged.
    #[inline(always)]
    unsafe fn deinterleave(from: *const T, len: usize, to: *mut T, stride: usize, past: bool) {
        let work = Deinterleave::<Self, T> { from, len, to, stride, past, lanes: PhantomData };
        // SAFETY: the caller's promise, passed on.
        unsafe { <Self::Tile as Vector>::Set::run(work) };
    }

    /// As [`Columns::interleave`] into vectors: lane l of `to[j]` from `from[l * stride + j]`, for `j < len`.
    ///
    /// # Safety
    /// `from` must be valid for reading `len` values at each of the `LANES` multiples of `stride`.
    #[inline(always)]
    unsafe fn columns(from: *const T, stride: usize, len: usize, to: &mut [Self]) {
        assert!(to.len() >= len, "room for the columns");
        let mut j = 0;
        while j + 4 <= len {
            // SAFETY: columns j .. j + 4 of each array can be read.
            let columns = unsafe { four_columns::<T, Self>(from.add(j), stride, 4) };
            to[j..j + 4].copy_from_slice(&columns);
            j += 4;
        }
        if j < len {
            // SAFETY: as many columns as are left.
            let columns = unsafe { four_columns::<T, Self>(from.add(j), stride, len - j) };
            for k in 0..3 {
                if j + k < len {
                    to[j + k] = columns[k];
                }
            }
        }
    }
}

/// The first `count` of four columns.
///
/// # Safety
/// As [`Columns::columns`].
#[inline(always)]
unsafe fn four_columns<T: Copy, V: Columns<T>>(from: *const T, stride: usize, count: usize) -> [V; 4] {
    /// The numbers of one array, and behind them those of the fourth, eighth ... behind it.
    #[inline(always)]
    unsafe fn row<T: Copy, V: Columns<T>>(from: *const T, stride: usize, count: usize) -> V {
        // SAFETY: the caller's promise; parts beyond the lanes repeat the last one and are not used.
        unsafe {
            let first = V::first_four(from, count);
            let mut parts = [first; 4];
            for p in 1..V::LANES / 4 {
                parts[p] = V::first_four(from.add(4 * p * stride), count);
            }
            V::join(parts)
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        V::turn_fours([
            row(from, stride, count),
            row(from.add(stride), stride, count),
            row(from.add(2 * stride), stride, count),
            row(from.add(3 * stride), stride, count),
        ])
    }
}

/// [`Columns::interleave`].
struct Interleave<V, T> {
    from: *const T,
    stride: usize,
    len: usize,
    to: *mut T,
    lanes: PhantomData<V>,
}

impl<T: Copy, V: Columns<T>> Kernel for Interleave<V, T> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { from, stride, len, to, .. } = self;
        let (lanes, side) = (V::LANES, V::Tile::LANES);
        if len < side {
            for l in 0..lanes {
                for j in 0..len {
                    // SAFETY: l < LANES, j < len, as the caller of `interleave` promises.
                    unsafe { *to.add(j * lanes + l) = *from.add(l * stride + j) };
                }
            }
            return;
        }
        for first in (0..lanes).step_by(side) {
            for j in (0..len).step_by(side) {
                // The last tile overlaps its neighbour instead of being cut.
                let at = j.min(len - side);
                // What is asked for next: too many arrays for the hardware to guess.
                for l in first..first + side {
                    prefetch::<2, T>(from.wrapping_add(l * stride + at + len));
                }
                // SAFETY: at + side <= len, and the tile's arrays are among the LANES.
                unsafe {
                    tile::<T, V::Tile>(
                        from.add(first * stride + at),
                        stride,
                        to.add(at * lanes + first),
                        lanes,
                        false,
                    );
                }
            }
        }
    }
}

/// [`Columns::deinterleave`].
struct Deinterleave<V, T> {
    from: *const T,
    len: usize,
    to: *mut T,
    stride: usize,
    past: bool,
    lanes: PhantomData<V>,
}

impl<T: Copy, V: Columns<T>> Kernel for Deinterleave<V, T> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { from, len, to, stride, past, .. } = self;
        let (lanes, side) = (V::LANES, V::Tile::LANES);
        if len < side {
            for l in 0..lanes {
                for j in 0..len {
                    // SAFETY: l < LANES, j < len, as the caller of `deinterleave` promises.
                    unsafe { *to.add(l * stride + j) = *from.add(j * lanes + l) };
                }
            }
            return;
        }
        // A tile is as wide as a cache line, and all arrays begin alike.
        let line = V::Tile::PAST_CACHES && side * size_of::<T>() == 64;
        let past = past && line && stride.is_multiple_of(side);
        let head = if past { to.align_offset(64) } else { 0 };
        for first in (0..lanes).step_by(side) {
            let (from, to) = (from.wrapping_add(first), to.wrapping_add(first * stride));
            // SAFETY: tiles end at len, and their arrays are among the LANES; past the caches only whole lines go.
            unsafe {
                if head > 0 {
                    tile::<T, V::Tile>(from, lanes, to, stride, false);
                }
                let mut j = head;
                while j + side <= len {
                    tile::<T, V::Tile>(from.add(j * lanes), lanes, to.add(j), stride, past);
                    j += side;
                }
                if j < len {
                    let j = len - side;
                    tile::<T, V::Tile>(from.add(j * lanes), lanes, to.add(j), stride, false);
                }
            }
        }
    }
}

/// Turns a square over: its rows are read `rows` values apart and written `cols` apart.
///
/// # Safety
/// `LANES` values must be readable at each of `LANES` multiples of `rows`, and writable at those of `cols`; past the caches these
/// are aligned to a cache line.
#[inline(always)]
unsafe fn tile<T, V: Turn<Elem = T>>(from: *const T, rows: usize, to: *mut T, cols: usize, past: bool) {
    let mut square = [V::c(0.0); 8];
    for r in 0..V::LANES {
        // SAFETY: the caller's promise.
        square[r] = unsafe { V::load(from.add(r * rows)) };
    }
    V::turn(&mut square);
    for c in 0..V::LANES {
        // SAFETY: the caller's promise.
        unsafe {
            if past {
                square[c].store_past(to.add(c * cols));
            } else {
                square[c].store(to.add(c * cols));
            }
        }
    }
}
