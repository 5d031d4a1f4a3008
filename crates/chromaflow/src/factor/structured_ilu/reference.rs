//! The definition: cell by cell in natural order, with plain loops over blocks.

use super::StencilMatrix;
use crate::factor::block_ilu::add_shift;
use crate::factor::block_ilu::gauss_jordan::{Inverted, invert};

/// Lower neighbors of a cell with the index of their coupling among the cell's lower blocks; those outside left out.
fn lower_neighbors(dims: [usize; 3], cell: usize) -> impl Iterator<Item = (usize, usize)> {
    let [ni, nj, _] = dims;
    let (i, j, k) = (cell % ni, cell / ni % nj, cell / (ni * nj));
    let all = [(k > 0, ni * nj), (j > 0, ni), (i > 0, 1)];
    all.into_iter().enumerate().filter(|(_, (inside, _))| *inside).map(move |(s, (_, step))| (s, cell - step))
}

/// Upper neighbors, likewise.
fn upper_neighbors(dims: [usize; 3], cell: usize) -> impl Iterator<Item = (usize, usize)> {
    let [ni, nj, nk] = dims;
    let (i, j, k) = (cell % ni, cell / ni % nj, cell / (ni * nj));
    let all = [(i + 1 < ni, 1), (j + 1 < nj, ni), (k + 1 < nk, ni * nj)];
    all.into_iter().enumerate().filter(|(_, (inside, _))| *inside).map(move |(s, (_, step))| (s, cell + step))
}

/// C += alpha A B for column-major blocks.
fn multiply_add(nb: usize, alpha: f64, a: &[f64], b: &[f64], c: &mut [f64]) {
    for col in 0..nb {
        for k in 0..nb {
            for row in 0..nb {
                c[col * nb + row] += alpha * a[k * nb + row] * b[col * nb + k];
            }
        }
    }
}

/// y += alpha A x.
fn add_product(nb: usize, alpha: f64, a: &[f64], x: &[f64], y: &mut [f64]) {
    for c in 0..nb {
        for r in 0..nb {
            y[r] += alpha * a[c * nb + r] * x[c];
        }
    }
}

/// The inverted diagonal blocks, `[cells, nb, nb]`.
///
/// # Errors
/// The first cell whose block is singular.
pub fn factor(a: &StencilMatrix, shift: f64) -> Result<Vec<f64>, usize> {
    let (nb, q) = (a.nb, a.nb * a.nb);
    let mut inverse = a.diag.to_vec();
    for cell in 0..a.cells() {
        let mut block = inverse[cell * q..(cell + 1) * q].to_vec();
        add_shift(&mut block, nb, nb, shift);
        for (s, m) in lower_neighbors(a.dims, cell) {
            let (lower, upper) = (&a.lower[(3 * cell + s) * q..], &a.upper[(3 * m + 2 - s) * q..]);
            let mut product = vec![0.0; q];
            multiply_add(nb, 1.0, lower, &inverse[m * q..], &mut product);
            multiply_add(nb, -1.0, &product, upper, &mut block);
        }
        if invert(&mut block, nb, nb, true, &mut Vec::new()) == Inverted::Singular {
            return Err(cell);
        }
        inverse[cell * q..(cell + 1) * q].copy_from_slice(&block);
    }
    Ok(inverse)
}

/// x = M^-1 b.
#[must_use]
pub fn solve(a: &StencilMatrix, inverse: &[f64], b: &[f64]) -> Vec<f64> {
    let (nb, q) = (a.nb, a.nb * a.nb);
    let mut x = vec![0.0; b.len()];
    for cell in 0..a.cells() {
        let mut right = b[cell * nb..(cell + 1) * nb].to_vec();
        for (s, m) in lower_neighbors(a.dims, cell) {
            add_product(nb, -1.0, &a.lower[(3 * cell + s) * q..], &x[m * nb..], &mut right);
        }
        add_product(nb, 1.0, &inverse[cell * q..], &right, &mut x[cell * nb..]);
    }
    for cell in (0..a.cells()).rev() {
        let mut right = vec![0.0; nb];
        for (s, p) in upper_neighbors(a.dims, cell) {
            add_product(nb, 1.0, &a.upper[(3 * cell + s) * q..], &x[p * nb..], &mut right);
        }
        add_product(nb, -1.0, &inverse[cell * q..], &right, &mut x[cell * nb..]);
    }
    x
}

/// b - A x.
#[must_use]
pub fn residual(a: &StencilMatrix, b: &[f64], x: &[f64]) -> Vec<f64> {
    let (nb, q) = (a.nb, a.nb * a.nb);
    let mut r = b.to_vec();
    for (cell, r) in r.chunks_exact_mut(nb).enumerate() {
        add_product(nb, -1.0, &a.diag[cell * q..], &x[cell * nb..], r);
        for (s, m) in lower_neighbors(a.dims, cell) {
            add_product(nb, -1.0, &a.lower[(3 * cell + s) * q..], &x[m * nb..], r);
        }
        for (s, p) in upper_neighbors(a.dims, cell) {
            add_product(nb, -1.0, &a.upper[(3 * cell + s) * q..], &x[p * nb..], r);
        }
    }
    r
}
