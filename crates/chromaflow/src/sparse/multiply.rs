#![allow(unsafe_code)]
//! Products with a block-sparse matrix.

use super::BlockCsr;
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
        let kernel = kernel(nb);
        if team.size() == 1 || self.values().len() < PARALLEL_FROM {
            kernel(self, b, x, 0..rows, y);
        } else {
            shares(team, y, rows, nb, |r, y| kernel(self, b, x, r, y));
        }
    }
}

type Kernel = fn(&BlockCsr, Option<&[f64]>, &[f64], Range<usize>, &mut [f64]);

/// The product for one block size, compiled for one instruction set.
fn kernel(nb: usize) -> Kernel {
    macro_rules! sized {
        ($($n:literal)*) => {
            match nb { $($n => by_isa::<$n>(),)* _ => any_size }
        };
    }
    sized!(1 2 3 4 5 6 7 8 10 12 16 20 24 32)
}

fn by_isa<const NB: usize>() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    match Isa::detect() {
        // SAFETY: the machine has these instructions: `Isa::detect` says so.
        Isa::Avx512 => return |a, b, x, r, y| unsafe { avx512::<NB>(a, b, x, r, y) },
        // SAFETY: as above.
        Isa::Avx2 => return |a, b, x, r, y| unsafe { avx2::<NB>(a, b, x, r, y) },
        Isa::Portable => {}
    }
    body::<NB, false>
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,fma")]
fn avx512<const NB: usize>(a: &BlockCsr, b: Option<&[f64]>, x: &[f64], rows: Range<usize>, y: &mut [f64]) {
    body::<NB, true>(a, b, x, rows, y);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<const NB: usize>(a: &BlockCsr, b: Option<&[f64]>, x: &[f64], rows: Range<usize>, y: &mut [f64]) {
    body::<NB, true>(a, b, x, rows, y);
}

/// Column by column: one entry of x times one contiguous column of the block.
#[inline(always)]
fn body<const NB: usize, const FMA: bool>(
    a: &BlockCsr,
    b: Option<&[f64]>,
    x: &[f64],
    rows: Range<usize>,
    y: &mut [f64],
) {
    let (pattern, values) = (a.pattern(), a.values());
    let sign = if b.is_some() { -1.0 } else { 1.0 };
    for (row, y) in rows.zip(y.chunks_exact_mut(NB)) {
        let mut sum = [0.0; NB];
        let positions = pattern.range(row);
        let blocks = values[positions.start * NB * NB..positions.end * NB * NB].chunks_exact(NB * NB);
        for (block, &col) in blocks.zip(pattern.columns(row)) {
            let x: &[f64; NB] = x[col as usize * NB..][..NB].try_into().expect("NB values");
            for (c, column) in block.chunks_exact(NB).enumerate() {
                for r in 0..NB {
                    sum[r] = if FMA { column[r].mul_add(x[c], sum[r]) } else { sum[r] + column[r] * x[c] };
                }
            }
        }
        for r in 0..NB {
            y[r] = b.map_or(0.0, |b| b[row * NB + r]) + sign * sum[r];
        }
    }
}

/// For the block sizes without a kernel of their own.
fn any_size(a: &BlockCsr, b: Option<&[f64]>, x: &[f64], rows: Range<usize>, y: &mut [f64]) {
    let nb = a.nb();
    let sign = if b.is_some() { -1.0 } else { 1.0 };
    for (row, y) in rows.zip(y.chunks_exact_mut(nb)) {
        y.fill(0.0);
        for k in a.pattern().range(row) {
            let col = a.pattern().col_idx()[k] as usize;
            for (column, &x) in a.block(k).chunks_exact(nb).zip(&x[col * nb..]) {
                for (y, &v) in y.iter_mut().zip(column) {
                    *y += sign * v * x;
                }
            }
        }
        if let Some(b) = b {
            y.iter_mut().zip(&b[row * nb..]).for_each(|(y, b)| *y += b);
        }
    }
}

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
    fn both_instruction_paths_agree() {
        let (a, x, _) = sample(17, 11, 5);
        let (mut portable, mut here) = (vec![0.0; 85], vec![0.0; 85]);
        body::<5, false>(&a, None, &x, 0..17, &mut portable);
        kernel(5)(&a, None, &x, 0..17, &mut here);
        assert_eq!(portable, here);
    }
}
