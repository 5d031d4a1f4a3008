#![allow(unsafe_code)]
//! Products with a block-sparse matrix.

use super::BlockCsr;
use super::product::{ProductData, multiply_rows};
use super::stored::{Off, Unscale};
use crate::vector::{PARALLEL_FROM, shares};
use chromaflow_device::{Isa, Team};
use std::ops::Range;

impl BlockCsr {
    /// `y = A x`
    ///
    /// **Shapes**: `x [cols, nb]`, `y [rows, nb]`. **Precision**: f64. Rows are independent, so the result does not
    /// depend on the number of threads; it may differ in the last bits from one instruction set to another, because
    /// those with fused multiply-add use it.
    ///
    /// # Panics
    /// When a length is wrong.
    ///
    /// ```
    /// use chromaflow::{BlockCsr, BlockPattern, Team};
    /// let pattern = BlockPattern::new(2, vec![0, 1, 2], vec![1, 0])?;
    /// // Blocks are column-major: the first one is [1 3; 2 4].
    /// let a = BlockCsr::new(pattern, 2, vec![1.0, 2.0, 3.0, 4.0, 1.0, 0.0, 0.0, 1.0])?;
    /// let mut y = [0.0; 4];
    /// a.multiply(&Team::new(1), &[5.0, 6.0, 1.0, 1.0], &mut y);
    /// assert_eq!(y, [4.0, 6.0, 5.0, 6.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        self.product(team, None, x, y);
    }

    /// `r = b - A x`
    ///
    /// **Shapes**, **precision** as in [`BlockCsr::multiply`]; `b` has the shape of `r`.
    ///
    /// # Panics
    /// When a length is wrong.
    pub fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        assert_eq!(b.len(), r.len(), "b has the length of r");
        self.product(team, Some(b), x, r);
    }

    fn product(&self, team: &Team, b: Option<&[f64]>, x: &[f64], y: &mut [f64]) {
        let (rows, nb) = (self.pattern().rows(), self.nb());
        assert_eq!(x.len(), self.pattern().cols() * nb, "x has one value a column");
        assert_eq!(y.len(), rows * nb, "y has one value a row");
        if team.size() == 1 || self.values().len() < PARALLEL_FROM {
            self.product_rows(Isa::detect(), b, x, 0..rows, y);
        } else {
            shares(team, y, rows, nb, |rows, y| self.product_rows(Isa::detect(), b, x, rows, y));
        }
    }

    /// The product of some rows; `y` has theirs only.
    fn product_rows(&self, isa: Isa, b: Option<&[f64]>, x: &[f64], rows: Range<usize>, y: &mut [f64]) {
        let (pattern, nb) = (self.pattern(), self.nb());
        let (row_ptr, col_idx) = (pattern.row_ptr(), pattern.col_idx());
        let (q, len) = (nb * nb, self.values().len());
        let unscale = Unscale::One;
        let y = y.as_mut_ptr().wrapping_sub(rows.start * nb);
        let b = b.map(<[f64]>::as_ptr);
        let go = |values, rows| {
            let off = Off { row_ptr, col_idx, values, unscale };
            let data = ProductData { off, diag: None, b, x: x.as_ptr(), y };
            // SAFETY: x, b and y have values for these columns and rows, `values` has their blocks and a vector after
            // them (below), and the machine has this instruction set.
            unsafe { multiply_rows(isa, nb, &data, rows) };
        };
        // Vectors may be read past the end of a block: the last rows are done on a copy that has room after them.
        let fits = |row: &usize| row_ptr[row + 1] as usize * q + TAIL <= len;
        let safe = rows.clone().rev().find(fits).map_or(rows.start, |row| row + 1);
        go(self.values().as_ptr(), rows.start..safe);
        if safe < rows.end {
            let (start, end) = (row_ptr[safe] as usize * q, row_ptr[rows.end] as usize * q);
            let mut copy = Vec::with_capacity(end - start + TAIL);
            copy.extend_from_slice(&self.values()[start..end]);
            copy.resize(end - start + TAIL, 0.0);
            go(copy.as_ptr().wrapping_sub(start), safe..rows.end);
        }
    }
}

/// The most lanes of a vector.
const TAIL: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockPattern;

    /// Small integers, so that every order of summation gives the same bits.
    fn sample(rows: usize, cols: usize, nb: usize) -> (BlockCsr, Vec<f64>, Vec<f64>) {
        let mut row_ptr = vec![0];
        let mut col_idx = Vec::new();
        for row in 0..rows {
            // Row 3 stays empty.
            col_idx.extend(
                (0..cols as u32).filter(|&c| row != 3 && (row * 7 + c as usize * 3).is_multiple_of(5)),
            );
            row_ptr.push(col_idx.len() as u32);
        }
        let pattern = BlockPattern::new(cols, row_ptr, col_idx).unwrap();
        let values = (0..pattern.nnzb() * nb * nb).map(|i| (i % 13) as f64 - 6.0).collect();
        let x = (0..cols * nb).map(|i| (i % 7) as f64 - 3.0).collect();
        let b = (0..rows * nb).map(|i| (i % 11) as f64).collect();
        (BlockCsr::new(pattern, nb, values).unwrap(), x, b)
    }

    #[test]
    fn every_block_size_equals_the_dense_product() {
        for nb in (1..=33).chain([64, 100, 128]) {
            let (rows, cols) = (17, 11);
            let (a, x, b) = sample(rows, cols, nb);
            let mut dense = vec![0.0; rows * nb];
            for row in 0..rows {
                for k in a.pattern().range(row) {
                    let col = a.pattern().col_idx()[k] as usize;
                    for r in 0..nb {
                        for c in 0..nb {
                            dense[row * nb + r] += a.block(k)[c * nb + r] * x[col * nb + c];
                        }
                    }
                }
            }
            for threads in [1, 3] {
                let team = Team::new(threads);
                let mut y = vec![f64::NAN; rows * nb];
                a.multiply(&team, &x, &mut y);
                assert_eq!(y, dense, "nb {nb}");
                a.residual(&team, &b, &x, &mut y);
                assert!(y.iter().zip(&b).zip(&dense).all(|((r, b), d)| *r == b - d), "nb {nb}");
            }
        }
    }

    #[test]
    fn all_instruction_sets_agree() {
        let (a, x, _) = sample(17, 11, 5);
        let [mut here, mut there] = [[0.0; 85]; 2];
        a.product_rows(Isa::detect(), None, &x, 0..17, &mut here);
        for isa in Isa::available() {
            a.product_rows(isa, None, &x, 0..17, &mut there);
            assert_eq!(here, there, "{}", isa.name());
        }
    }
}
