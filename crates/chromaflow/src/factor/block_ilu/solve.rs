#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The triangular solves: rows in the order of a schedule, block columns in SIMD lanes.
//!
//! SAFETY of this file: as in kernels.rs.

use super::kernels::{fitting, load};
use super::scalars;
use crate::rim::{Size, with_size};
use crate::sparse::{Off, Stored, ToDouble, Unscale, block_product, prefetch_block, row_product};
use chromaflow_device::Isa;
use chromaflow_simd::{Kernel, Real, Simd, Store, Vector, dispatch};
use std::ops::Range;

/// What one triangular solve reads and writes: `x_i <- b_i - sum T_ij x_j`, then `x_i <- D_i^-1 x_i` where there is an
/// inverse. Without b, x holds the right-hand side.
pub(super) struct SolveTask<'a, T> {
    pub rows: &'a [u32],
    pub ptr: &'a [u32],
    pub cols: &'a [u32],
    pub values: *const T,
    pub unscale: Unscale<'a>,
    pub inverse: Option<*const f64>,
    pub b: Option<*const f64>,
    pub x: *mut f64,
}

/// Solves for the rows at `positions`, one after the other.
///
/// # Safety
/// As this file says; b and x have values for all rows.
pub(super) unsafe fn solve<T: Stored + Copy + Into<f64>>(
    isa: Isa,
    nb: usize,
    task: &SolveTask<'_, T>,
    positions: Range<usize>,
) {
    if nb == 1 {
        return scalars::solve(task, positions);
    }
    let isa = fitting(isa, nb);
    with_size!(few: isa, nb, size => dispatch(isa, SolveRows { size, task, positions }));
}

/// How far ahead of their use, in bytes, blocks are asked for, and how many rows ahead the inverses.
const BYTES_AHEAD: isize = 2048;
const ROWS_AHEAD: usize = 3;

struct SolveRows<'a, T, Z> {
    size: Z,
    task: &'a SolveTask<'a, T>,
    positions: Range<usize>,
}

impl<T: Stored, Z: Size> Kernel for SolveRows<'_, T, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { size, task, positions } = self;
        let nb = size.get();
        let off = Off { row_ptr: task.ptr, col_idx: task.cols, values: task.values, unscale: task.unscale };
        // Room for one block row and whole vectors past its end.
        let (mut sum, mut own) = ([0.0_f64; crate::MAX_NB + 16], [0.0_f64; crate::MAX_NB + 16]);
        for position in positions {
            let i = *task.rows.get_unchecked(position) as usize;
            if let (Some(inverse), Some(&next)) = (task.inverse, task.rows.get(position + ROWS_AHEAD)) {
                prefetch_block(nb, inverse.wrapping_add(next as usize * nb * nb), 0);
            }
            if Z::KNOWN != 0 && Z::KNOWN <= S::F64::LANES {
                solve_small::<S, T, Z>(task, position, i);
                continue;
            }
            // A row may need the one just solved, whoever solved it: x is read entry by entry.
            let (x, out) = (task.x.cast_const(), sum.as_mut_ptr());
            row_product::<S::F64, T, Z, ToDouble<S>>(&off, size, position, x, out, BYTES_AHEAD, true);
            let to = task.x.add(i * nb);
            let from = task.b.map_or(to.cast_const(), |b| b.add(i * nb));
            let factor = S::F64::splat(-task.unscale.of(position));
            for first in (0..nb).step_by(S::F64::LANES) {
                let lanes = S::F64::first((nb - first).min(S::F64::LANES));
                let right = S::F64::load_first(from.add(first), lanes);
                load::<S>(sum.as_ptr().add(first)).mul_add(factor, right).store(own.as_mut_ptr().add(first));
            }
            let result = if let Some(inverse) = task.inverse {
                block_product::<S, Z>(size, inverse.add(i * nb * nb), own.as_ptr(), sum.as_mut_ptr());
                &sum
            } else {
                &own
            };
            to.copy_from(result.as_ptr(), nb);
        }
    }
}

/// Columns of blocks that are summed apart: additions to one need not wait for those to the others.
const APART: usize = 4;

/// A row of blocks whose columns fit a vector: its sum stays in registers.
#[inline(always)]
unsafe fn solve_small<S: Simd, T: Stored, Z: Size>(task: &SolveTask<'_, T>, position: usize, i: usize) {
    let (nb, q) = (Z::KNOWN, Z::KNOWN * Z::KNOWN);
    let range = *task.ptr.get_unchecked(position) as usize..*task.ptr.get_unchecked(position + 1) as usize;
    let mut block = task.values.add(range.start * q);
    let mut sum = [S::F64::c(0.0); APART];
    for &col in task.cols.get_unchecked(range) {
        prefetch_block(nb, block, BYTES_AHEAD);
        add_columns::<S, T>(nb, block, task.x.cast_const().add(col as usize * nb), &mut sum);
        block = block.add(q);
    }
    let to = task.x.add(i * nb);
    let from = task.b.map_or(to.cast_const(), |b| b.add(i * nb));
    let right = S::F64::load_first(from, S::F64::first(nb));
    let mut own = total::<S>(sum).mul_add(S::F64::splat(-task.unscale.of(position)), right);
    let mut room = [0.0_f64; 8];
    if let Some(inverse) = task.inverse {
        own.store(room.as_mut_ptr());
        let mut sum = [S::F64::c(0.0); APART];
        add_columns::<S, f64>(nb, inverse.add(i * q), room.as_ptr(), &mut sum);
        own = total::<S>(sum);
    }
    own.store(room.as_mut_ptr());
    to.copy_from(room.as_ptr(), nb);
}

/// `sum += block x`, x read entry by entry.
#[inline(always)]
unsafe fn add_columns<S: Simd, T: Stored>(
    nb: usize,
    block: *const T,
    x: *const f64,
    sum: &mut [S::F64; APART],
) {
    for c in 0..nb {
        let column = T::load::<S>(block.add(c * nb));
        sum[c % APART] = column.mul_add(S::F64::splat(*x.add(c)), sum[c % APART]);
    }
}

#[inline(always)]
unsafe fn total<S: Simd>(sum: [S::F64; APART]) -> S::F64 {
    (sum[0] + sum[1]) + (sum[2] + sum[3])
}
