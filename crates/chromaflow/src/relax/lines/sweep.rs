#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The inner loop of a sweep over lines.
//!
//! SAFETY of this file: as in `relax/sweep.rs`.

use super::{LineTable, Run};
use crate::relax::sweep::{Precision, SweepData, solve_row, take, update_row};
use crate::rim::{Size, with_size};
use crate::sparse::{BYTES_AHEAD, Direct, Scratch, columns, prefetch_block, row_part};
use chromaflow_device::Isa;
use chromaflow_simd::{Elem, Kernel, Simd, dispatch};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The lines and their factors.
pub(in crate::relax) struct LineData<'a, X> {
    pub table: &'a LineTable,
    /// E and F.
    pub couplings: [*const X; 2],
    /// Room for z and y, an entry for each of x.
    pub room: *mut X,
}

/// Updates x, which `data` has as what comes in and goes out, of the lines in `rows`.
///
/// # Safety
/// As [`sweep_rows`](crate::relax::sweep::sweep_rows); `rows` are whole lines, and their part of the room is the caller's alone.
pub(in crate::relax) unsafe fn sweep_lines<P: Precision>(
    isa: Isa,
    nb: usize,
    data: &SweepData<'_, P>,
    lines: &LineData<'_, P::X>,
    rows: Range<usize>,
    backward: bool,
) {
    with_size!(isa, nb, size => dispatch(isa, SweepLines { data, lines, size, rows, backward }));
}

struct SweepLines<'a, P: Precision, Z> {
    data: &'a SweepData<'a, P>,
    lines: &'a LineData<'a, P::X>,
    size: Z,
    rows: Range<usize>,
    backward: bool,
}

impl<P: Precision, Z: Size> Kernel for SweepLines<'_, P, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { data, lines, size, rows, backward } = self;
        // Loops, not closures: what has vector instructions must be inlined.
        let runs = lines.table.runs(rows);
        for at in 0..runs.len() {
            match runs[if backward { runs.len() - 1 - at } else { at }].clone() {
                Run::Line(rows, stored) => update_line::<S, P, Z>(data, lines, size, rows, stored),
                Run::Alone(rows) => {
                    for at in 0..rows.len() {
                        let row = if backward { rows.end - 1 - at } else { rows.start + at };
                        update_row::<S, P, Z>(data, size, row, BYTES_AHEAD, false);
                    }
                }
            }
        }
    }
}

/// `x <- T^-1 (b - O x)` for one line.
#[inline(always)]
unsafe fn update_line<S: Simd, P: Precision, Z: Size>(
    data: &SweepData<'_, P>,
    lines: &LineData<'_, P::X>,
    size: Z,
    rows: Range<usize>,
    stored: usize,
) {
    let nb = size.get();
    let mut sums: [Scratch<P::X>; 2] = [const { MaybeUninit::uninit() }; 2];
    let mut rest: Scratch<f64> = MaybeUninit::uninit();
    let mut new: Scratch<f64> = MaybeUninit::uninit();
    let [sum, more] = sums.each_mut().map(|sum| sum.as_mut_ptr().cast::<P::X>());
    let (rest, new) = (rest.as_mut_ptr().cast::<f64>(), new.as_mut_ptr().cast::<f64>());
    for row in rows.clone() {
        let (near, off) = (lines.table.near(stored + row - rows.start), &data.off);
        let (first, end) = (off.row_ptr[row] as usize, off.row_ptr[row + 1] as usize);
        row_part::<P::Sum<S>, P::Off, Z, Direct>(
            off,
            size,
            first..near.start,
            data.x_in,
            sum,
            BYTES_AHEAD,
            false,
        );
        // What lies above a line has not been reached by a first sweep.
        let above = near.end..if data.from_zero { near.end } else { end };
        row_part::<P::Sum<S>, P::Off, Z, Direct>(off, size, above, data.x_in, more, BYTES_AHEAD, false);
        for r in 0..nb {
            let both: f64 = (*sum.add(r)).into() + (*more.add(r)).into();
            *sum.add(r) = P::X::from_f64(both);
        }
        let new = solve_row::<S, P, Z>(data, size, row, sum, rest, new);
        for r in 0..nb {
            *lines.room.add(row * nb + r) = P::X::from_f64(*new.add(r));
        }
    }
    let block = |which: usize, row: usize| lines.couplings[which].add((stored + row - rows.start) * nb * nb);
    for row in rows.start + 1..rows.end {
        subtract::<S, P>(nb, block(0, row), BYTES_AHEAD, lines.room, [row, row - 1], sum);
    }
    for row in rows.clone().rev() {
        if row + 1 < rows.end {
            subtract::<S, P>(nb, block(1, row), -BYTES_AHEAD, lines.room, [row, row + 1], sum);
        }
        take(data, nb, row, |r| (*lines.room.add(row * nb + r)).into());
    }
}

/// `v_row <- v_row - block v_from`.
#[inline(always)]
unsafe fn subtract<S: Simd, P: Precision>(
    nb: usize,
    block: *const P::X,
    ahead: isize,
    v: *mut P::X,
    [row, from]: [usize; 2],
    sum: *mut P::X,
) {
    prefetch_block(nb, block, ahead);
    columns::<P::Sum<S>, P::X, Direct>(nb, block, &[0], v.add(from * nb), sum, 0);
    for r in 0..nb {
        let entry = v.add(row * nb + r);
        *entry = P::X::from_f64((*entry).into() - (*sum.add(r)).into());
    }
}
