#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Several small blocks at a time, one in each lane of a vector.
//!
//! The arithmetic of a lane depends on nothing but its own block, so results do not depend on how rows are grouped.
//!
//! SAFETY of this file: blocks are reached through pointers at rows below `rows.end`, for which the caller vouches, as
//! it does for the instruction set.

use super::{CANCELLATION, GUARD};
use crate::simd::Wide;
use std::ops::Range;

/// The largest block that is worth it: beyond, the lanes of a block no longer fit the first-level cache.
pub(crate) const MOST: usize = 8;

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
/// guard rejects are left as they are in `to` and handed to `rejected`.
///
/// # Safety
/// Both pointers must hold `nb * nb` values for each of `rows`, those at `to` owned by the caller, `nb` must not
/// exceed [`MOST`], and the machine must have the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn run<V: Wide>(
    nb: usize,
    task: Task,
    from: *const f64,
    to: *mut f64,
    rows: Range<usize>,
    mut rejected: impl FnMut(usize),
) {
    let q = nb * nb;
    let mut first = rows.start;
    while first < rows.end {
        let count = (rows.end - first).min(V::LANES);
        // Lanes beyond the last row repeat it.
        let at = std::array::from_fn(|lane| (first + lane.min(count - 1)) * q);
        let mut original: Block<V> = [V::zero(); MOST * MOST];
        for e in 0..q {
            original[e] = gather(from.add(e), &at);
        }
        let mut block = original;
        let sound = match task {
            Task::Factor => factor(nb, &original, &mut block),
            Task::Invert => invert(nb, &original, &mut block),
        };
        let all = (1_u32 << count) - 1;
        if sound & all == all && count == V::LANES {
            for e in 0..q {
                let values = spread(block[e]);
                for lane in 0..V::LANES {
                    *to.add(at[lane] + e) = values[lane];
                }
            }
        } else {
            for e in 0..q {
                let values = spread(block[e]);
                for lane in (0..count).filter(|lane| sound >> lane & 1 == 1) {
                    *to.add(at[lane] + e) = values[lane];
                }
            }
            for lane in (0..count).filter(|lane| sound >> lane & 1 == 0) {
                rejected(first + lane);
            }
        }
        first += count;
    }
}

/// One value from each block.
#[inline(always)]
unsafe fn gather<V: Wide>(from: *const f64, at: &[usize; 8]) -> V {
    let mut values = [0.0; 8];
    for lane in 0..V::LANES {
        values[lane] = *from.add(at[lane]);
    }
    V::load(values.as_ptr())
}

/// The lanes of a vector.
#[inline(always)]
unsafe fn spread<V: Wide>(v: V) -> [f64; 8] {
    let mut values = [0.0; 8];
    v.store(values.as_mut_ptr());
    values
}

#[inline(always)]
unsafe fn invert<V: Wide>(nb: usize, original: &Block<V>, a: &mut Block<V>) -> u32 {
    for k in 0..nb {
        let reciprocal = a[k * nb + k].recip();
        let negative = reciprocal.mul(V::splat(-1.0));
        for r in 0..nb {
            a[k * nb + r] = a[k * nb + r].mul(negative);
        }
        a[k * nb + k] = reciprocal;
        for c in 0..nb {
            if c == k {
                continue;
            }
            let factor = a[c * nb + k];
            a[c * nb + k] = V::zero();
            for r in 0..nb {
                a[c * nb + r] = a[k * nb + r].mul_add(factor, a[c * nb + r]);
            }
        }
    }
    let b = test_rhs(nb, original);
    let mut y = [V::zero(); MOST];
    for c in 0..nb {
        for r in 0..nb {
            y[r] = a[c * nb + r].mul_add(b[c], y[r]);
        }
    }
    solves(nb, original, &y, &b)
}

#[inline(always)]
unsafe fn factor<V: Wide>(nb: usize, original: &Block<V>, a: &mut Block<V>) -> u32 {
    let minus = V::splat(-1.0);
    for k in 0..nb {
        let reciprocal = a[k * nb + k].recip();
        a[k * nb + k] = reciprocal;
        for r in k + 1..nb {
            a[k * nb + r] = a[k * nb + r].mul(reciprocal);
        }
        for c in k + 1..nb {
            let factor = a[c * nb + k].mul(minus);
            for r in k + 1..nb {
                a[c * nb + r] = a[k * nb + r].mul_add(factor, a[c * nb + r]);
            }
        }
    }
    let b = test_rhs(nb, original);
    let mut y = b;
    for k in 0..nb {
        let known = y[k].mul(minus);
        for r in k + 1..nb {
            y[r] = a[k * nb + r].mul_add(known, y[r]);
        }
    }
    for k in (0..nb).rev() {
        y[k] = y[k].mul(a[k * nb + k]);
        let known = y[k].mul(minus);
        for r in 0..k {
            y[r] = a[k * nb + r].mul_add(known, y[r]);
        }
    }
    solves(nb, original, &y, &b)
}

/// A right-hand side of the size of each row, that is no combination of the rows but by chance.
#[inline(always)]
unsafe fn test_rhs<V: Wide>(nb: usize, a: &Block<V>) -> [V; MOST] {
    let mut b = [V::zero(); MOST];
    for r in 0..nb {
        for c in 0..nb {
            b[r] = a[c * nb + r].abs().max(b[r]);
        }
        b[r] = b[r].mul(V::splat(1.0 + (r as f64 * super::GOLDEN).fract()));
    }
    b
}

/// The lanes in which y solves A y = b up to rounding, row by row.
#[inline(always)]
unsafe fn solves<V: Wide>(nb: usize, a: &Block<V>, y: &[V; MOST], b: &[V; MOST]) -> u32 {
    let mut good = u32::MAX;
    for r in 0..nb {
        let (mut residual, mut terms) = (b[r].mul(V::splat(-1.0)), b[r]);
        for c in 0..nb {
            let term = a[c * nb + r].mul(y[c]);
            residual = residual.add(term);
            terms = terms.add(term.abs());
        }
        good &= residual.abs().at_most(terms.mul(V::splat(GUARD)));
        good &= terms.at_most(b[r].mul(V::splat(CANCELLATION)));
        good &= V::splat(f64::from_bits(1)).at_most(terms);
    }
    good
}
