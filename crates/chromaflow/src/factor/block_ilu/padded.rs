#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The row at hand, its columns padded to whole vectors: how it comes from the matrix and goes to the factors.
//!
//! SAFETY of this file: as in kernels.rs.

use super::RowAt;
use super::kernels::{FactorTask, Scratch, Source, load, padded};
use super::triangle::ValuesMut;
use crate::sparse::{OffDiagonal, Stored};
use chromaflow_simd::{Simd, Store, Vector};

/// Brings row `i` of the matrix into the scratch row and notes where its columns stand.
#[inline(always)]
pub(super) unsafe fn load_row<S: Simd>(
    nb: usize,
    task: &FactorTask<'_>,
    i: usize,
    brought: Option<RowAt>,
    scratch: &mut Scratch,
) {
    let (ld, q, columns) = (padded(nb), nb * nb, task.filled.columns(i));
    scratch.note(columns, i);
    let range = task.pattern.range(i);
    if range.len() < columns.len() {
        scratch.row[..columns.len() * nb * ld].fill(0.0);
    }
    let row = scratch.row.as_mut_ptr();
    let diag = match (brought, &task.source) {
        (Some(RowAt { diag, off }), _) => {
            for (at, k) in range.enumerate() {
                let to = row
                    .add(*scratch.slot.get_unchecked(task.pattern.col_idx()[k] as usize) as usize * nb * ld);
                unpack::<S, f64>(nb, off.add(at * q), 1.0, to);
            }
            diag
        }
        (None, Source::Stored(a)) => {
            for k in range {
                let to = row
                    .add(*scratch.slot.get_unchecked(task.pattern.col_idx()[k] as usize) as usize * nb * ld);
                unpack_stored::<S>(nb, &a.off, i, k, to);
            }
            a.diag.as_ptr().add(i * q)
        }
        (None, Source::Brought(_)) => unreachable!("rows that are brought are there"),
    };
    let own = columns.len() * nb * ld;
    unpack::<S, f64>(nb, diag, 1.0, row.add(own));
    let added = super::add_shift(&mut scratch.row[own..own + nb * ld], nb, ld, task.shift);
    scratch.shifted = scratch.shifted.max(added);
}

/// Block `k` of row `i` of a matrix, with its columns padded.
#[inline(always)]
unsafe fn unpack_stored<S: Simd>(nb: usize, off: &OffDiagonal, i: usize, k: usize, to: *mut f64) {
    let at = k * nb * nb;
    match off {
        OffDiagonal::F64(v) => unpack::<S, f64>(nb, v.as_ptr().add(at), 1.0, to),
        OffDiagonal::F32(v) => unpack::<S, f32>(nb, v.as_ptr().add(at), 1.0, to),
        OffDiagonal::F16 { values, unscale } => {
            let unscale = f64::from(unscale[if unscale.len() == 1 { 0 } else { i }]);
            unpack::<S, half::f16>(nb, values.as_ptr().add(at), unscale, to);
        }
    }
}

/// Stores padded blocks as the ones of `position`, the first of which is block `first`.
#[inline(always)]
pub(super) unsafe fn store_row<S: Simd>(
    nb: usize,
    to: &ValuesMut,
    position: usize,
    first: usize,
    padded_row: &[f64],
) {
    let (from, at, columns) = (padded_row.as_ptr(), first * nb * nb, padded_row.len() / padded(nb));
    match to {
        ValuesMut::F64(to) => pack::<S, f64>(nb, from, columns, to.get().add(at)),
        ValuesMut::F32(to) => pack::<S, f32>(nb, from, columns, to.get().add(at)),
        ValuesMut::F16(..) => to.store(nb, padded(nb), position, first, padded_row),
    }
}

/// A type that off-diagonal factors are rounded to.
trait Rounded: Copy {
    fn round(v: f64) -> Self;
    /// # Safety
    /// `LANES` values can be written.
    unsafe fn store<S: Simd>(v: S::F64, to: *mut Self);
}

impl Rounded for f64 {
    #[inline(always)]
    fn round(v: f64) -> f64 {
        v
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(v: S::F64, to: *mut f64) {
        v.store(to);
    }
}

impl Rounded for f32 {
    #[inline(always)]
    fn round(v: f64) -> f32 {
        v as f32
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(v: S::F64, to: *mut f32) {
        v.store(to);
    }
}

/// Columns without their padding. Whole vectors run over into the column after, which is written next; nobody's memory but that of
/// these columns is touched.
#[inline(always)]
unsafe fn pack<S: Simd, T: Rounded>(nb: usize, from: *const f64, columns: usize, to: *mut T) {
    let lanes = S::F64::LANES;
    let values = columns * nb;
    for c in 0..columns {
        let (from, at) = (from.add(c * padded(nb)), c * nb);
        for r in (0..nb).step_by(lanes) {
            let v = load::<S>(from.add(r));
            if at + r + lanes <= values {
                T::store::<S>(v, to.add(at + r));
            } else {
                for r in r..nb {
                    to.add(at + r).write(T::round(*from.add(r)));
                }
            }
        }
    }
}

/// A stored block with its columns padded, times a factor.
#[inline(always)]
unsafe fn unpack<S: Simd, T: Stored>(nb: usize, from: *const T, factor: f64, to: *mut f64) {
    for c in 0..nb {
        for r in (0..nb).step_by(S::F64::LANES) {
            let v = T::load::<S>(from.add(c * nb + r));
            (v * S::F64::splat(factor)).store(to.add(c * padded(nb) + r));
        }
    }
}
