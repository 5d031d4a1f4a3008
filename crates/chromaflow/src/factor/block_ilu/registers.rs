#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Blocks whose columns fit one vector each, inverted in registers.

use crate::rim::Size;
use chromaflow_simd::{Bits, Native};

/// The most columns that are kept in registers.
pub(in crate::factor) const COLUMNS: usize = 8;

/// Rows of the unit matrix, and one less them.
pub(in crate::factor) const UNIT: [[[f64; 8]; 2]; COLUMNS] = {
    let mut rows = [[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0; 8]]; COLUMNS];
    let mut p = 0;
    while p < COLUMNS {
        rows[p][0][p] = 1.0;
        rows[p][1][p] = 0.0;
        p += 1;
    }
    rows
};

/// How far the inverse times the block's row sums may be from one before the guard steps in.
const GUARD: f64 = 1e-6;

/// Inverts the block with the columns `t` in place by Gauss-Jordan elimination without pivoting; false where the
/// result, tried on the sums of the rows, is not the inverse. Lanes past the block hold what nobody uses.
///
/// # Safety
/// The instruction set of `V` is there and a column fits a vector.
#[inline(always)]
pub(in crate::factor) unsafe fn invert_columns<V: Native<Elem = f64>, Z: Size>(t: &mut [V; COLUMNS]) -> bool {
    let nb = Z::KNOWN;
    let mut sums = t[0];
    for c in 1..nb {
        sums += t[c];
    }
    for p in 0..nb {
        let lane = &[p as u8; 16];
        let (unit, others) = (V::load(UNIT[p][0].as_ptr()), V::load(UNIT[p][1].as_ptr()));
        let scale = t[p].permute(lane).recip();
        // One in lane p, the pivot's column with the other sign elsewhere.
        let column = (t[p] * others).mul_add(V::splat(-1.0), unit);
        for c in 0..nb {
            if c != p {
                let x = t[c].permute(lane) * scale;
                t[c] = column.mul_add(x, t[c] * others);
            }
        }
        t[p] = column * scale;
    }
    let mut ones = V::splat(-1.0);
    for c in 0..nb {
        ones = t[c].mul_add(sums.permute(&[c as u8; 16]), ones);
    }
    let rows = (1_u32 << nb) - 1;
    ones.abs().le(V::splat(GUARD)).bits() & rows == rows
}
