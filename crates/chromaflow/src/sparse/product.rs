#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Products y = A x and residuals b - A x: the kernel, and the products of a Jacobian.
//!
//! SAFETY of this file: pointers in [`ProductData`] reach over all rows of a valid pattern, x over its columns, and the
//! instruction set is there; all this is promised by whoever calls [`multiply_rows`] and [`product_rows`]. Blocks lie
//! in [`Buffer`](chromaflow_device::Buffer)s, or where a vector may be read past their end.

use super::row_product::{BYTES_AHEAD, Scratch, block_product, row_product};
use super::stored::{Off, Stored, ToDouble};
use super::{Jacobian, OffDiagonal};
use crate::rim::{Size, with_size};
use crate::vector;
use chromaflow_device::{Isa, Team};
use chromaflow_simd::{Kernel, Simd, dispatch};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Vectors of a product, lent to the members of a team, each of which writes rows of its own.
struct Lent {
    b: Option<*const f64>,
    x: *const f64,
    y: *mut f64,
}

// SAFETY: whoever dereferences them says why no two threads write one place.
unsafe impl Sync for Lent {}

impl Jacobian {
    /// y = A x = (D + O) x.
    ///
    /// **Shapes**: `x [cols, nb]`, those of the rows first; `y [rows, nb]`. **Precision**: x, y and all sums f64; values as
    /// stored.
    ///
    /// # Panics
    /// When a length is wrong, or factors have replaced the diagonal blocks.
    pub fn multiply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        self.product(team, None, x, y);
    }

    /// r = b - A x.
    ///
    /// **Shapes**, **Precision**, **Panics**: as [`Jacobian::multiply`].
    pub fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        self.product(team, Some(b), x, r);
    }

    /// y = A x of several vectors, `(x, y)` each: blocks are read once for all of them. Each product is the one that it is alone, to
    /// the last bit.
    ///
    /// **Shapes**, **Precision**, **Panics**: as [`Jacobian::multiply`].
    pub fn multiply_many(&self, team: &Team, columns: &mut [(&[f64], &mut [f64])]) {
        let columns: Vec<_> = columns.iter_mut().map(|(x, y)| self.lend(None, x, y)).collect();
        self.products(team, &columns);
    }

    /// r = b - A x of several vectors, `(b, x, r)` each, as [`Jacobian::multiply_many`].
    ///
    /// **Shapes**, **Precision**, **Panics**: as [`Jacobian::multiply`].
    pub fn residual_many(&self, team: &Team, columns: &mut [(&[f64], &[f64], &mut [f64])]) {
        let columns: Vec<_> = columns.iter_mut().map(|(b, x, r)| self.lend(Some(b), x, r)).collect();
        self.products(team, &columns);
    }

    fn product(&self, team: &Team, b: Option<&[f64]>, x: &[f64], y: &mut [f64]) {
        self.products(team, &[self.lend(b, x, y)]);
    }

    /// The vectors of a product, their lengths checked.
    fn lend(&self, b: Option<&[f64]>, x: &[f64], y: &mut [f64]) -> Lent {
        let n = self.rows() * self.nb();
        assert!(b.is_none_or(|b| b.len() == n), "b has one value a row");
        assert_eq!(x.len(), self.pattern().cols() * self.nb(), "x has one value a column");
        assert_eq!(y.len(), n, "y has one value a row");
        Lent { b: b.map(<[f64]>::as_ptr), x: x.as_ptr(), y: y.as_mut_ptr() }
    }

    fn products(&self, team: &Team, columns: &[Lent]) {
        let (rows, nb) = (self.rows(), self.nb());
        self.assert_whole();
        assert_eq!(self.diag.len(), rows * nb * nb, "one diagonal block a row");
        let isa = Isa::detect();
        // Of several vectors so many rows at a time that their blocks are still in a cache for the next one.
        let some = if columns.len() > 1 { vector::rows_in_cache(self.bytes(), rows) } else { rows.max(1) };
        // Shares of about equal numbers of blocks.
        let row_ptr = self.pattern().row_ptr();
        let cost = |row: usize| row_ptr[row] as usize + 2 * row;
        team.run(|member| {
            let blocks = member.share(cost(rows));
            let row_at = |target| {
                let (mut low, mut high) = (0, rows);
                while low < high {
                    let middle = usize::midpoint(low, high);
                    if cost(middle) < target { low = middle + 1 } else { high = middle }
                }
                low
            };
            let mine = row_at(blocks.start)..if blocks.end == cost(rows) { rows } else { row_at(blocks.end) };
            for first in mine.clone().step_by(some) {
                let rows = first..mine.end.min(first + some);
                for Lent { b, x, y } in columns {
                    // SAFETY: all lengths were checked, the members' rows are disjoint, and `isa` is this machine's.
                    unsafe { product_rows(isa, self, *b, *x, *y, rows.clone()) };
                }
            }
        });
    }
}

/// `rows` of `A x`, or of `b - A x`, with sums in f64.
///
/// # Safety
/// See [`multiply_rows`]; the diagonal blocks must be as they were assembled.
pub(crate) unsafe fn product_rows(
    isa: Isa,
    jac: &Jacobian,
    b: Option<*const f64>,
    x: *const f64,
    y: *mut f64,
    rows: Range<usize>,
) {
    let (pattern, nb, diag) = (jac.pattern(), jac.nb(), Some(jac.diag.as_ptr()));
    match &jac.off {
        OffDiagonal::F64(v) => {
            let off = Off::new(pattern, v, None);
            multiply_rows(isa, nb, &ProductData { off, diag, b, x, y }, rows);
        }
        OffDiagonal::F32(v) => {
            let off = Off::new(pattern, v, None);
            multiply_rows(isa, nb, &ProductData { off, diag, b, x, y }, rows);
        }
        OffDiagonal::F16 { values, unscale } => {
            let off = Off::new(pattern, values, Some(unscale));
            multiply_rows(isa, nb, &ProductData { off, diag, b, x, y }, rows);
        }
    }
}

/// Everything a product reads and writes: `y = A x`, or `y = b - A x` where there is a b.
pub(super) struct ProductData<'a, T> {
    pub off: Off<'a, T>,
    /// Diagonal blocks; none where they stand among the others.
    pub diag: Option<*const f64>,
    pub b: Option<*const f64>,
    pub x: *const f64,
    pub y: *mut f64,
}

/// Multiplies `rows`.
///
/// # Safety
/// The pointers of `data` must be valid for all rows and all stored blocks, no other thread may write x, or y of these
/// rows, and the machine must have `isa`.
pub(super) unsafe fn multiply_rows<T: Stored>(
    isa: Isa,
    nb: usize,
    data: &ProductData<'_, T>,
    rows: Range<usize>,
) {
    with_size!(isa, nb, size => dispatch(isa, MultiplyRows { data, size, rows }));
}

struct MultiplyRows<'a, T, Z> {
    data: &'a ProductData<'a, T>,
    size: Z,
    rows: Range<usize>,
}

impl<T: Stored, Z: Size> Kernel for MultiplyRows<'_, T, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { data, size, rows } = self;
        let nb = size.get();
        let mut sum: Scratch<f64> = MaybeUninit::uninit();
        let mut own: Scratch<f64> = MaybeUninit::uninit();
        let (sum, own) = (sum.as_mut_ptr().cast::<f64>(), own.as_mut_ptr().cast::<f64>());
        for row in rows {
            row_product::<S::F64, T, Z, ToDouble<S>>(&data.off, size, row, data.x, sum, BYTES_AHEAD, false);
            let unscale = data.off.unscale.of(row);
            match data.diag {
                Some(diag) => {
                    let x = data.x.add(row * nb);
                    block_product::<S, Z>(size, diag.add(row * nb * nb), x, own);
                }
                None => std::slice::from_raw_parts_mut(own, nb).fill(0.0),
            }
            let y = data.y.add(row * nb);
            for r in 0..nb {
                let product = *own.add(r) + unscale * *sum.add(r);
                *y.add(r) = match data.b {
                    Some(b) => *b.add(row * nb + r) - product,
                    None => product,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockPattern, Policy};

    /// Owned rows with ghost columns after their own, as a part of a larger system has them.
    #[test]
    fn a_matrix_with_ghost_columns_multiplies_as_its_dense_form() {
        let (rows, cols) = (5, 8);
        let (row_ptr, col_idx) = (vec![0, 2, 3, 3, 6, 8], vec![1, 7, 5, 0, 4, 6, 3, 5]);
        let pattern = BlockPattern::new(cols, row_ptr, col_idx).unwrap();
        for nb in [1, 2, 5, 17] {
            for policy in [Policy::D, Policy::Ds] {
                let mut a = Jacobian::zeroed(pattern.clone(), nb, policy).unwrap();
                // Small integers: every order of summation gives the same bits.
                a.diag.iter_mut().enumerate().for_each(|(i, v)| *v = (i % 5) as f64 - 2.0);
                match &mut a.off {
                    OffDiagonal::F64(v) => {
                        v.iter_mut().enumerate().for_each(|(i, v)| *v = (i % 7) as f64 - 3.0);
                    }
                    OffDiagonal::F32(v) => {
                        v.iter_mut().enumerate().for_each(|(i, v)| *v = (i % 7) as f32 - 3.0);
                    }
                    OffDiagonal::F16 { .. } => unreachable!(),
                }
                let x: Vec<f64> = (0..cols * nb).map(|i| (i % 11) as f64 - 4.0).collect();
                let b: Vec<f64> = (0..rows * nb).map(|i| (i % 3) as f64).collect();
                let mut dense = vec![0.0; rows * nb];
                let mut add = |row: usize, col: usize, block: &dyn Fn(usize) -> f64| {
                    for r in 0..nb {
                        for c in 0..nb {
                            dense[row * nb + r] += block(c * nb + r) * x[col * nb + c];
                        }
                    }
                };
                for row in 0..rows {
                    add(row, row, &|i| a.diag[row * nb * nb + i]);
                    for k in pattern.range(row) {
                        let col = pattern.col_idx()[k] as usize;
                        add(row, col, &|i| ((k * nb * nb + i) % 7) as f64 - 3.0);
                    }
                }
                for threads in [1, 3] {
                    let team = Team::new(threads);
                    let mut y = vec![f64::NAN; rows * nb];
                    a.multiply(&team, &x, &mut y);
                    assert_eq!(y, dense, "nb {nb} {policy}");
                    a.residual(&team, &b, &x, &mut y);
                    assert!(y.iter().zip(&b).zip(&dense).all(|((r, b), d)| *r == b - d), "nb {nb} {policy}");
                    let mut z = vec![f64::NAN; rows * nb];
                    a.to_csr().multiply(&team, &x, &mut z);
                    assert_eq!(z, dense, "nb {nb} {policy}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "factors have replaced the diagonal blocks")]
    fn factors_are_not_multiplied_with() {
        let mut a =
            Jacobian::zeroed(BlockPattern::new(1, vec![0, 0], vec![]).unwrap(), 1, Policy::D).unwrap();
        a.replace_diagonal().0[0] = 1.0;
        a.multiply(&Team::new(1), &[1.0], &mut [0.0]);
    }
}
