//! Block ILU as the textbooks write it: sequential, in place, f64.

use super::gauss_jordan::{Inverted, invert};
use super::{Fill, fill_pattern};
use crate::sparse::{BlockPattern, Jacobian};

/// The factors of M = L U: strictly lower blocks of L (its diagonal is one), strictly upper
/// blocks of U, inverted diagonal blocks of U.
pub struct Factors {
    /// Where they have off-diagonal blocks.
    pub pattern: BlockPattern,
    /// `[nnzb, nb, nb]`, position by position of that pattern.
    pub off: Vec<f64>,
    /// `[rows, nb, nb]`.
    pub inv_diag: Vec<f64>,
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

/// Row by row (IKJ): for each lower neighbor k, `L_ik = A_ik D_k^-1`, then `A_ij -= L_ik U_kj` wherever the factors
/// have (i, j) (ILU) or for j = i only (DILU).
///
/// # Errors
/// The row whose diagonal block is singular.
pub fn factor(a: &Jacobian, fill: Fill, shift: f64) -> Result<Factors, usize> {
    let nb = a.nb();
    let q = nb * nb;
    let p = match fill {
        Fill::Level(k) => fill_pattern(a.pattern(), k).expect("fewer than 2^32 blocks"),
        Fill::DiagonalOnly => (**a.pattern()).clone(),
    };
    let given = a.off_f64();
    let mut off = vec![0.0; p.nnzb() * q];
    for (i, k) in (0..a.rows()).flat_map(|i| a.pattern().range(i).map(move |k| (i, k))) {
        let at =
            p.find(i, a.pattern().col_idx()[k] as usize).expect("the factors have every block of the matrix");
        off[at * q..(at + 1) * q].copy_from_slice(&given[k * q..(k + 1) * q]);
    }
    let mut inv_diag = a.diag.to_vec();
    for i in 0..a.rows() {
        let mut diag = inv_diag[i * q..(i + 1) * q].to_vec();
        super::add_shift(&mut diag, nb, nb, shift);
        for ik in p.range(i) {
            let k = p.col_idx()[ik] as usize;
            if k > i {
                break;
            }
            let mut lower = vec![0.0; q];
            multiply_add(nb, 1.0, &off[ik * q..(ik + 1) * q], &inv_diag[k * q..(k + 1) * q], &mut lower);
            for kj in p.range(k) {
                let j = p.col_idx()[kj] as usize;
                if j <= k {
                    continue;
                }
                let upper = off[kj * q..(kj + 1) * q].to_vec();
                if j == i {
                    multiply_add(nb, -1.0, &lower, &upper, &mut diag);
                } else if let Some(ij) = p.find(i, j)
                    && fill != Fill::DiagonalOnly
                {
                    multiply_add(nb, -1.0, &lower, &upper, &mut off[ij * q..(ij + 1) * q]);
                }
            }
            off[ik * q..(ik + 1) * q].copy_from_slice(&lower);
        }
        if invert(&mut diag, nb, nb, true, &mut Vec::new()) == Inverted::Singular {
            return Err(i);
        }
        inv_diag[i * q..(i + 1) * q].copy_from_slice(&diag);
    }
    Ok(Factors { pattern: p, off, inv_diag })
}

/// x = U^-1 L^-1 b: first row first, then last row first.
#[must_use]
pub fn solve(a: &Jacobian, f: &Factors, b: &[f64]) -> Vec<f64> {
    let (p, nb) = (&f.pattern, a.nb());
    let q = nb * nb;
    let mut x = b.to_vec();
    let subtract = |x: &mut [f64], i: usize, ij: usize| {
        let j = p.col_idx()[ij] as usize;
        for c in 0..nb {
            for r in 0..nb {
                x[i * nb + r] -= f.off[ij * q + c * nb + r] * x[j * nb + c];
            }
        }
    };
    for i in 0..a.rows() {
        p.range(i).filter(|&k| (p.col_idx()[k] as usize) < i).for_each(|k| subtract(&mut x, i, k));
    }
    for i in (0..a.rows()).rev() {
        p.range(i).filter(|&k| (p.col_idx()[k] as usize) > i).for_each(|k| subtract(&mut x, i, k));
        let right = x[i * nb..(i + 1) * nb].to_vec();
        for r in 0..nb {
            x[i * nb + r] = (0..nb).map(|c| f.inv_diag[i * q + c * nb + r] * right[c]).sum();
        }
    }
    x
}
