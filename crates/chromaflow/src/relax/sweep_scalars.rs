#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Sweeps over blocks of one value.
//!
//! SAFETY of this file: as in `sweep.rs`.

use super::sweep::{Diagonal, Precision, SweepData};
use crate::sparse::{BYTES_AHEAD, Direct, Unscale, scalars};
use chromaflow_simd::{Elem, Four, Kernel, Load, Simd};
use std::ops::Range;

/// Blocks of one value, whose factors are their reciprocals.
///
/// Where rows are chained, each new value is held back until the next row has read the old one, and the next row's new
/// value is corrected with the change: what the row before still computes is then needed last instead of first.
pub(super) struct SweepScalars<'a, P: Precision, const CHAINED: bool> {
    pub data: &'a SweepData<'a, P>,
    pub rows: Range<usize>,
    pub backward: bool,
}

impl<P: Precision, const CHAINED: bool> Kernel for SweepScalars<'_, P, CHAINED> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { data, rows, backward } = self;
        let (Diagonal::Inverse(inverse) | Diagonal::Lu(inverse, _)) = data.diag;
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
            let new = P::X::from_f64(new);
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
