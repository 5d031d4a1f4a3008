#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The loops for blocks of one value: rows are short then, and what vectors would save they lose at the ends of rows.
//!
//! SAFETY of this file: as in kernels.rs.

use super::kernels::{FactorTask, NONE, Scratch, SolveTask};
use crate::sparse::OffDiagonal;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Factors the rows at `positions` of the lower schedule, one after the other.
///
/// # Safety
/// As [`factor`](super::kernels::factor).
pub(super) unsafe fn factor(task: &FactorTask<'_>, positions: Range<usize>, scratch: &mut Scratch) {
    match task.off {
        OffDiagonal::F64(v) => factor_rows(task, positions, scratch, |k, _| *v.get_unchecked(k)),
        OffDiagonal::F32(v) => factor_rows(task, positions, scratch, |k, _| f64::from(*v.get_unchecked(k))),
        OffDiagonal::F16 { values, unscale } => factor_rows(task, positions, scratch, |k, row| {
            values.get_unchecked(k).to_f64() * f64::from(unscale[if unscale.len() == 1 { 0 } else { row }])
        }),
    }
}

#[inline(always)]
unsafe fn factor_rows(
    task: &FactorTask<'_>,
    positions: Range<usize>,
    scratch: &mut Scratch,
    off: impl Fn(usize, usize) -> f64,
) {
    let inverse = task.inv_diag.get();
    for position in positions {
        let i = task.lower.rows[position] as usize;
        if i as u32 > task.singular.load(Ordering::Relaxed) {
            continue;
        }
        let columns = task.filled.columns(i);
        let count = columns.len();
        scratch.note(columns, i);
        let range = task.pattern.range(i);
        let row = scratch.row.as_mut_ptr();
        if range.len() == count {
            for (s, k) in range.enumerate() {
                *row.add(s) = off(k, i);
            }
        } else {
            scratch.row[..count].fill(0.0);
            for k in range {
                *row.add(scratch.slot[task.pattern.col_idx()[k] as usize] as usize) = off(k, i);
            }
        }
        let own = *task.diag.get_unchecked(i);
        let added = task.shift * own.abs();
        *row.add(count) = own + added;
        scratch.shifted = scratch.shifted.max(added);

        let below = columns.partition_point(|&c| (c as usize) < i);
        for (s, &k) in columns[..below].iter().enumerate() {
            let factor = *row.add(s) * *inverse.add(k as usize);
            *row.add(s) = factor;
            let at = *task.upper.position.get_unchecked(k as usize) as usize;
            let factor = factor * task.upper_values.unscale(at);
            for e in task.upper.range(at) {
                let j = *task.upper.cols.get_unchecked(e);
                let slot = *scratch.slot.get_unchecked(j as usize);
                if slot != NONE && !(task.diagonal_only && j as usize != i) {
                    *row.add(slot as usize) -= factor * task.upper_values.scalar(e);
                }
            }
        }

        let one_over = 1.0 / *row.add(count);
        if !(one_over.is_finite() && one_over != 0.0) {
            task.singular.fetch_min(i as u32, Ordering::Relaxed);
        }
        *inverse.add(i) = one_over;
        let (lower, upper) = scratch.row[..count].split_at(below);
        task.lower_values.store(1, 1, position, task.lower.ptr[position] as usize, lower);
        let position = task.upper.position[i] as usize;
        task.upper_values.store(1, 1, position, task.upper.ptr[position] as usize, upper);
        scratch.forget(columns, i);
    }
}

/// Solves for the rows at `positions`, one after the other. Of a row's entries the last one is that of the row solved last, for which all
/// others need not wait.
///
/// # Safety
/// As [`solve`](super::kernels::solve).
pub(super) unsafe fn solve<T: Copy + Into<f64>>(task: &SolveTask<'_, T>, positions: Range<usize>) {
    match task.inverse {
        None => {
            for position in positions {
                solve_row(task, position, |sum, range| range.fold(sum, |sum, k| sum + product(task, k)), 1.0);
            }
        }
        Some(inverse) => {
            for position in positions {
                let scale = *inverse.add(*task.rows.get_unchecked(position) as usize);
                let backward =
                    |sum, range: Range<usize>| range.rev().fold(sum, |sum, k| sum + product(task, k));
                solve_row(task, position, backward, scale);
            }
        }
    }
}

#[inline(always)]
unsafe fn product<T: Copy + Into<f64>>(task: &SolveTask<'_, T>, k: usize) -> f64 {
    (*task.values.add(k)).into() * *task.x.add(*task.cols.get_unchecked(k) as usize)
}

#[inline(always)]
unsafe fn solve_row<T>(
    task: &SolveTask<'_, T>,
    position: usize,
    products: impl Fn(f64, Range<usize>) -> f64,
    scale: f64,
) {
    let i = *task.rows.get_unchecked(position) as usize;
    let range = *task.ptr.get_unchecked(position) as usize..*task.ptr.get_unchecked(position + 1) as usize;
    let right = task.b.map_or(task.x.cast_const(), |b| b).add(i);
    let sum = products(0.0, range);
    *task.x.add(i) = (*right - task.unscale.of(position) * sum) * scale;
}
