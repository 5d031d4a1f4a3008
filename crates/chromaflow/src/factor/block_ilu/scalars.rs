#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The loops for blocks of one value: rows are short then, and what vectors would save they lose at the ends of rows.
//!
//! SAFETY of this file: as in kernels.rs.

use super::RowAt;
use super::kernels::{FactorTask, Scratch, Source};
use super::solve::SolveTask;
use super::triangle::ValuesMut;
use crate::sparse::{BlockPattern, OffDiagonal, Unscale};
use half::f16;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Factors the rows at `positions` of the lower schedule, one after the other.
///
/// # Safety
/// As [`factor`](super::kernels::factor).
pub(super) unsafe fn factor(task: &FactorTask<'_>, positions: Range<usize>, scratch: &mut Scratch) {
    match (&task.upper_values, task.diagonal_only) {
        (ValuesMut::F64(upper), false) => {
            factor_rows::<f64, false, false>(task, upper.get(), positions, scratch);
        }
        (ValuesMut::F32(upper), false) => {
            factor_rows::<f32, false, false>(task, upper.get(), positions, scratch);
        }
        (ValuesMut::F16(upper, _), false) => {
            factor_rows::<f16, true, false>(task, upper.get(), positions, scratch);
        }
        (ValuesMut::F64(upper), true) => {
            factor_rows::<f64, false, true>(task, upper.get(), positions, scratch);
        }
        (ValuesMut::F32(upper), true) => {
            factor_rows::<f32, false, true>(task, upper.get(), positions, scratch);
        }
        (ValuesMut::F16(upper, _), true) => {
            factor_rows::<f16, true, true>(task, upper.get(), positions, scratch);
        }
    }
}

/// The row at hand stands in an array with room for every column, so that what an elimination changes need not be looked for: entries
/// that the factors do not have are changed too, and never read.
#[inline(always)]
unsafe fn factor_rows<T: Copy + Into<f64>, const SCALED: bool, const DIAGONAL_ONLY: bool>(
    task: &FactorTask<'_>,
    upper: *const T,
    positions: Range<usize>,
    scratch: &mut Scratch,
) {
    let inverse = task.inv_diag.get();
    let row = scratch.dense.as_mut_ptr();
    let (place, first, cols) =
        (task.upper.position.as_ptr(), task.upper.ptr.as_ptr(), task.upper.cols.as_ptr());
    for position in positions {
        let i = *task.lower.rows.get_unchecked(position) as usize;
        let brought = task.source.bring(i, &mut scratch.room);
        if i as u32 > task.singular.load(Ordering::Relaxed) {
            continue;
        }
        let columns = columns(task.filled, i);
        let own = load_row(task, i, brought, columns, row);
        let added = task.shift * own.abs();
        *row.add(i) = own + added;
        scratch.shifted = scratch.shifted.max(added);

        let start = *task.lower.ptr.get_unchecked(position) as usize;
        let below = *task.lower.ptr.get_unchecked(position + 1) as usize - start;
        let (below, above) = columns.split_at_unchecked(below);
        for &k in below {
            let k = k as usize;
            let factor = *row.add(k) * *inverse.add(k);
            *row.add(k) = factor;
            let at = *place.add(k) as usize;
            let factor = if SCALED { factor * task.upper_values.unscale(at) } else { factor };
            for e in *first.add(at) as usize..*first.add(at + 1) as usize {
                let j = *cols.add(e) as usize;
                if !DIAGONAL_ONLY || j == i {
                    *row.add(j) -= factor * (*upper.add(e)).into();
                }
            }
        }

        let one_over = 1.0 / *row.add(i);
        if !(one_over.abs() <= f64::MAX && one_over != 0.0) {
            task.singular.fetch_min(i as u32, Ordering::Relaxed);
        }
        *inverse.add(i) = one_over;
        store_row(&task.lower_values, position, start, below, row, &mut scratch.row);
        let at = *place.add(i) as usize;
        store_row(&task.upper_values, at, *first.add(at) as usize, above, row, &mut scratch.row);
    }
}

#[inline(always)]
unsafe fn columns(pattern: &BlockPattern, i: usize) -> &[u32] {
    let (first, end) = (*pattern.row_ptr().get_unchecked(i), *pattern.row_ptr().get_unchecked(i + 1));
    pattern.col_idx().get_unchecked(first as usize..end as usize)
}

/// Brings row `i` of the matrix to its columns in `row`, where the factors may have more; its diagonal entry.
#[inline(always)]
unsafe fn load_row(
    task: &FactorTask<'_>,
    i: usize,
    brought: Option<RowAt>,
    filled: &[u32],
    row: *mut f64,
) -> f64 {
    let columns = columns(task.pattern, i);
    if columns.len() < filled.len() {
        for &c in filled {
            *row.add(c as usize) = 0.0;
        }
    }
    let a = match (brought, &task.source) {
        (Some(RowAt { diag, off }), _) => {
            for (at, &c) in columns.iter().enumerate() {
                *row.add(c as usize) = *off.add(at);
            }
            return *diag;
        }
        (None, Source::Stored(a)) => a,
        (None, Source::Brought(_)) => unreachable!("rows that are brought are there"),
    };
    for (&c, k) in columns.iter().zip(task.pattern.range(i)) {
        *row.add(c as usize) = match &a.off {
            OffDiagonal::F64(v) => *v.get_unchecked(k),
            OffDiagonal::F32(v) => f64::from(*v.get_unchecked(k)),
            OffDiagonal::F16 { values, unscale } => {
                values.get_unchecked(k).to_f64() * f64::from(unscale[if unscale.len() == 1 { 0 } else { i }])
            }
        };
    }
    *a.diag.get_unchecked(i)
}

/// Stores the entries at some columns as the values of `position` from `first` on; f16 needs them together, in `room`, to scale them.
#[inline(always)]
unsafe fn store_row(
    to: &ValuesMut,
    position: usize,
    first: usize,
    columns: &[u32],
    row: *const f64,
    room: &mut [f64],
) {
    match to {
        ValuesMut::F64(to) => {
            for (e, &c) in columns.iter().enumerate() {
                *to.get().add(first + e) = *row.add(c as usize);
            }
        }
        ValuesMut::F32(to) => {
            for (e, &c) in columns.iter().enumerate() {
                *to.get().add(first + e) = *row.add(c as usize) as f32;
            }
        }
        ValuesMut::F16(..) => {
            for (to, &c) in room.iter_mut().zip(columns) {
                *to = *row.add(c as usize);
            }
            to.store(1, 1, position, first, &room[..columns.len()]);
        }
    }
}

/// Solves for the rows at `positions`, one after the other. Of a row's entries the last one is that of the row solved last, for which all
/// others need not wait.
///
/// # Safety
/// As [`solve`](super::solve::solve).
pub(super) unsafe fn solve<T: Copy + Into<f64>>(task: &SolveTask<'_, T>, positions: Range<usize>) {
    // What is not scaled is not multiplied by one: rows wait for one another.
    match (task.unscale, task.inverse) {
        (Unscale::One, None) => ahead::<T, false>(task, positions),
        (_, None) => ahead::<T, true>(task, positions),
        (Unscale::One, Some(inverse)) => back::<T, false>(task, inverse, positions),
        (_, Some(inverse)) => back::<T, true>(task, inverse, positions),
    }
}

unsafe fn ahead<T: Copy + Into<f64>, const SCALED: bool>(task: &SolveTask<'_, T>, positions: Range<usize>) {
    for position in positions {
        let (i, range) = row_at(task, position);
        let sum = range.fold(0.0, |sum, k| sum + product(task, k));
        *task.x.add(i) = rest::<T, SCALED>(task, position, i, sum);
    }
}

unsafe fn back<T: Copy + Into<f64>, const SCALED: bool>(
    task: &SolveTask<'_, T>,
    inverse: *const f64,
    positions: Range<usize>,
) {
    for position in positions {
        let (i, range) = row_at(task, position);
        let sum = range.rev().fold(0.0, |sum, k| sum + product(task, k));
        *task.x.add(i) = rest::<T, SCALED>(task, position, i, sum) * *inverse.add(i);
    }
}

/// The row at a position, and its entries.
#[inline(always)]
unsafe fn row_at<T>(task: &SolveTask<'_, T>, position: usize) -> (usize, Range<usize>) {
    let range = *task.ptr.get_unchecked(position) as usize..*task.ptr.get_unchecked(position + 1) as usize;
    (*task.rows.get_unchecked(position) as usize, range)
}

#[inline(always)]
unsafe fn product<T: Copy + Into<f64>>(task: &SolveTask<'_, T>, k: usize) -> f64 {
    (*task.values.add(k)).into() * *task.x.add(*task.cols.get_unchecked(k) as usize)
}

/// What the right-hand side of row `i` leaves.
#[inline(always)]
unsafe fn rest<T, const SCALED: bool>(task: &SolveTask<'_, T>, position: usize, i: usize, sum: f64) -> f64 {
    let right = *task.b.map_or(task.x.cast_const(), |b| b).add(i);
    right - if SCALED { task.unscale.of(position) * sum } else { sum }
}
