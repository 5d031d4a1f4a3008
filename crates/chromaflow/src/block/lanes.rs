#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Several small blocks at a time, one in each lane of a vector.
//!
//! The arithmetic of a lane depends on nothing but its own block, so results do not depend on how rows are grouped.
//!
//! SAFETY of this file: blocks are reached through pointers at rows below `rows.end`, for which the caller vouches, as
//! it does for the instruction set.

use super::{CANCELLATION, GUARD};
use chromaflow_simd::{Bits, Turn};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The largest block that is worth it: beyond, the lanes of a block no longer fit the first-level cache.
pub(crate) const MOST: usize = 16;

/// The most values of a block that the compiler may try to keep in registers; with more it moves them to and fro,
/// unless it does not know what they are ([`black_box`]).
const REGISTERS: usize = 25;

/// A block in every lane.
type Block<V> = [V; MOST * MOST];

/// What to do with blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// As [`super::factor_guarded`].
    Factor,
    /// As [`super::invert_guarded`].
    Invert,
}

/// Factors or inverts the blocks of `rows` without pivoting, from `from` to `to`, which may be the same. Rows that the
/// guard rejects, or that are better taken one by one, are left as they are in `to` and handed to `rejected`.
///
/// # Safety
/// Both pointers must hold `nb * nb` values for each of `rows`, those at `to` owned by the caller, `nb` must not
/// exceed [`MOST`], and the machine must have the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn run<V: Turn<Elem = f64>>(
    nb: usize,
    task: Task,
    from: *const f64,
    to: *mut f64,
    rows: Range<usize>,
    mut rejected: impl FnMut(usize),
) {
    if nb == 1 {
        return reciprocals::<V>(from, to, rows, rejected);
    }
    let q = nb * nb;
    let (mut original, mut block) = (MaybeUninit::<Block<V>>::uninit(), MaybeUninit::<Block<V>>::uninit());
    let (original, mut block) =
        (black_box(original.as_mut_ptr().cast::<V>()), block.as_mut_ptr().cast::<V>());
    if q > REGISTERS {
        block = black_box(block);
    }
    let mut room = MaybeUninit::<[f64; 8 * MOST * MOST]>::uninit();
    let room = room.as_mut_ptr().cast::<f64>();
    let mut first = rows.start;
    while first < rows.end {
        let count = (rows.end - first).min(V::LANES);
        let (mut source, mut target) = (from.add(first * q), to.add(first * q));
        if count < V::LANES {
            // Lanes beyond the last row repeat it.
            for lane in 0..V::LANES {
                room.add(lane * q).copy_from(source.add(lane.min(count - 1) * q), q);
            }
            (source, target) = (room, room);
        }
        gather(q, source, original, block);
        prefetch(source.wrapping_add(V::LANES * q), V::LANES * q);
        prefetch(target.wrapping_add(V::LANES * q), V::LANES * q);
        let sound = match task {
            Task::Factor => factor(nb, original, block),
            Task::Invert => invert(nb, original, block),
        };
        let all = (1_u32 << V::LANES) - 1;
        if sound & all == all {
            scatter(q, block, target);
        } else {
            let values = block.cast::<f64>();
            for lane in (0..count).filter(|lane| sound >> lane & 1 == 1) {
                for e in 0..q {
                    *target.add(lane * q + e) = *values.add(e * V::LANES + lane);
                }
            }
        }
        if count < V::LANES {
            for lane in (0..count).filter(|lane| sound >> lane & 1 == 1) {
                to.add((first + lane) * q).copy_from(room.add(lane * q), q);
            }
        }
        (0..count).filter(|lane| sound >> lane & 1 == 0).for_each(|lane| rejected(first + lane));
        first += count;
    }
}

/// Asks for `values` at `at`.
#[inline(always)]
unsafe fn prefetch(at: *const f64, values: usize) {
    for line in (0..values).step_by(8) {
        chromaflow_device::prefetch::<1, _>(at.wrapping_add(line));
    }
}

/// Blocks of one value.
#[inline(always)]
unsafe fn reciprocals<V: Turn<Elem = f64>>(
    from: *const f64,
    to: *mut f64,
    rows: Range<usize>,
    mut rejected: impl FnMut(usize),
) {
    let whole = rows.start..rows.end - rows.len() % V::LANES;
    for first in whole.clone().step_by(V::LANES) {
        let values = V::load(from.add(first));
        let magnitude = values.abs();
        let sound = V::splat(1e-300).le(magnitude).bits() & magnitude.le(V::splat(1e300)).bits();
        if sound & ((1 << V::LANES) - 1) == (1 << V::LANES) - 1 {
            values.recip().store(to.add(first));
        } else {
            (first..first + V::LANES).for_each(&mut rejected);
        }
    }
    (whole.end..rows.end).for_each(rejected);
}

/// Reads a block of `q` values into each lane, twice.
#[inline(always)]
unsafe fn gather<V: Turn<Elem = f64>>(q: usize, from: *const f64, once: *mut V, twice: *mut V) {
    let mut square = [V::c(0.0); 8];
    for e in (0..q).step_by(V::LANES) {
        let lanes = (q - e).min(V::LANES);
        for lane in 0..V::LANES {
            let from = from.add(lane * q + e);
            square[lane] =
                if lanes == V::LANES { V::load(from) } else { V::load_first(from, V::first(lanes)) };
        }
        V::turn(&mut square);
        for i in 0..lanes {
            *once.add(e + i) = square[i];
            *twice.add(e + i) = square[i];
        }
    }
}

/// Writes the block of every lane.
#[inline(always)]
unsafe fn scatter<V: Turn<Elem = f64>>(q: usize, block: *const V, to: *mut f64) {
    let mut square = [V::c(0.0); 8];
    for e in (0..q).step_by(V::LANES) {
        let lanes = (q - e).min(V::LANES);
        for i in 0..lanes {
            square[i] = *block.add(e + i);
        }
        V::turn(&mut square);
        for lane in 0..V::LANES {
            let to = to.add(lane * q + e);
            if lanes == V::LANES {
                square[lane].store(to);
            } else {
                square[lane].store_first(to, V::first(lanes));
            }
        }
    }
}

/// `y[r] += x[r] * factor` for some rows.
#[inline(always)]
unsafe fn add_multiple<V: Turn<Elem = f64>>(rows: Range<usize>, x: *const V, factor: V, y: *mut V) {
    for r in rows {
        *y.add(r) = (*x.add(r)).mul_add(factor, *y.add(r));
    }
}

#[inline(always)]
unsafe fn invert<V: Turn<Elem = f64>>(nb: usize, original: *const V, a: *mut V) -> u32 {
    for k in 0..nb {
        let pivot = a.add(k * nb);
        let reciprocal = (*pivot.add(k)).recip();
        let negative = reciprocal * V::splat(-1.0);
        for r in 0..nb {
            *pivot.add(r) = *pivot.add(r) * negative;
        }
        *pivot.add(k) = reciprocal;
        for c in (0..nb).filter(|&c| c != k) {
            let column = a.add(c * nb);
            let factor = *column.add(k);
            *column.add(k) = V::c(0.0);
            add_multiple(0..nb, pivot, factor, column);
        }
    }
    let b = test_rhs(nb, original);
    let mut y = [V::c(0.0); MOST];
    for c in 0..nb {
        add_multiple(0..nb, a.add(c * nb), b[c], y.as_mut_ptr());
    }
    solves(nb, original, &y, &b)
}

#[inline(always)]
unsafe fn factor<V: Turn<Elem = f64>>(nb: usize, original: *const V, a: *mut V) -> u32 {
    let minus = V::splat(-1.0);
    for k in 0..nb {
        let pivot = a.add(k * nb);
        let reciprocal = (*pivot.add(k)).recip();
        *pivot.add(k) = reciprocal;
        for r in k + 1..nb {
            *pivot.add(r) = *pivot.add(r) * reciprocal;
        }
        for c in k + 1..nb {
            let column = a.add(c * nb);
            add_multiple(k + 1..nb, pivot, *column.add(k) * minus, column);
        }
    }
    let b = test_rhs(nb, original);
    let mut y = b;
    for k in 0..nb {
        add_multiple(k + 1..nb, a.add(k * nb), y[k] * minus, y.as_mut_ptr());
    }
    for k in (0..nb).rev() {
        y[k] *= *a.add(k * nb + k);
        add_multiple(0..k, a.add(k * nb), y[k] * minus, y.as_mut_ptr());
    }
    solves(nb, original, &y, &b)
}

/// A right-hand side of the size of each row, that is no combination of the rows but by chance.
#[inline(always)]
unsafe fn test_rhs<V: Turn<Elem = f64>>(nb: usize, a: *const V) -> [V; MOST] {
    let mut b = [V::c(0.0); MOST];
    for r in 0..nb {
        for c in 0..nb {
            b[r] = (*a.add(c * nb + r)).abs().max(b[r]);
        }
        b[r] *= V::splat(1.0 + (r as f64 * super::GOLDEN).fract());
    }
    b
}

/// The lanes in which y solves A y = b up to rounding, row by row.
#[inline(always)]
unsafe fn solves<V: Turn<Elem = f64>>(nb: usize, a: *const V, y: &[V; MOST], b: &[V; MOST]) -> u32 {
    let mut good = u32::MAX;
    for r in 0..nb {
        let (mut residual, mut terms) = (b[r] * V::splat(-1.0), b[r]);
        for c in 0..nb {
            let term = *a.add(c * nb + r) * y[c];
            residual += term;
            terms += term.abs();
        }
        good &= residual.abs().le(terms * V::splat(GUARD)).bits();
        good &= terms.le(b[r] * V::splat(CANCELLATION)).bits();
        good &= V::splat(f64::from_bits(1)).le(terms).bits();
    }
    good
}
