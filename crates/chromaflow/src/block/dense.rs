//! The algorithms on one block. Everything is `inline(always)` and takes the size as a value: called with a constant
//! inside a function that has vector instructions enabled, it is compiled for both.

use super::{BlockHealth, CANCELLATION, GUARD};

/// Memory for factoring one block after another.
pub(crate) struct Workspace {
    block: Vec<f64>,
    scale: Vec<f64>,
    solution: Vec<f64>,
    pivots: Vec<u8>,
}

impl Workspace {
    pub(crate) fn new(nb: usize) -> Self {
        Self { block: vec![0.0; nb * nb], scale: vec![0.0; nb], solution: vec![0.0; nb], pivots: vec![0; nb] }
    }

    /// Row exchanged with row k at step k of the last block that needed it.
    pub(crate) fn pivots(&self) -> &[u8] {
        &self.pivots
    }
}

/// Factors a block in place; see [`super::Lu`] for the layout. A singular block is left undefined.
#[inline(always)]
pub(crate) fn factor_guarded(nb: usize, a: &mut [f64], work: &mut Workspace) -> BlockHealth {
    let (a, block) = (&mut a[..nb * nb], &mut work.block[..nb * nb]);
    block.copy_from_slice(a);
    lu(nb, a);
    let y = &mut work.solution[..nb];
    test_rhs(nb, block, &mut work.scale[..nb]);
    y.copy_from_slice(&work.scale[..nb]);
    solve_factored(nb, a, None, y);
    if solves(nb, block, y, &work.scale[..nb]) {
        return BlockHealth::Sound;
    }
    a.copy_from_slice(block);
    lu_pivoted(nb, a, &mut work.pivots[..nb])
}

/// Inverts a block in place. A singular block is left undefined.
#[inline(always)]
pub(crate) fn invert_guarded(nb: usize, a: &mut [f64], work: &mut Workspace) -> BlockHealth {
    let (a, block) = (&mut a[..nb * nb], &mut work.block[..nb * nb]);
    block.copy_from_slice(a);
    gauss_jordan(nb, a);
    let y = &mut work.solution[..nb];
    test_rhs(nb, block, &mut work.scale[..nb]);
    y.fill(0.0);
    add_product(nb, a, &work.scale[..nb], y);
    if solves(nb, block, y, &work.scale[..nb]) {
        return BlockHealth::Sound;
    }
    invert_pivoted(nb, a, block, &mut work.pivots[..nb])
}

/// The exception's way: solve for every unit vector.
#[cold]
#[inline(never)]
fn invert_pivoted(nb: usize, a: &mut [f64], block: &mut [f64], pivots: &mut [u8]) -> BlockHealth {
    let health = lu_pivoted(nb, block, pivots);
    a.fill(0.0);
    for (c, column) in a.chunks_exact_mut(nb).enumerate() {
        column[c] = 1.0;
        solve_factored(nb, block, Some(pivots), column);
    }
    health
}

/// LU without pivoting, column by column; reciprocals on the diagonal.
#[inline(always)]
fn lu(nb: usize, a: &mut [f64]) {
    for k in 0..nb {
        let (left, right) = a.split_at_mut((k + 1) * nb);
        let column = &mut left[k * nb..];
        let reciprocal = 1.0 / column[k];
        column[k] = reciprocal;
        for l in &mut column[k + 1..] {
            *l *= reciprocal;
        }
        for other in right.chunks_exact_mut(nb) {
            let factor = other[k];
            for r in k + 1..nb {
                other[r] -= column[r] * factor;
            }
        }
    }
}

/// LU with partial pivoting, rows scaled by their largest entry for the choice of pivots.
#[cold]
#[inline(never)]
fn lu_pivoted(nb: usize, a: &mut [f64], pivots: &mut [u8]) -> BlockHealth {
    let mut scale = vec![0.0; nb];
    row_scale(nb, a, &mut scale);
    let mut health = BlockHealth::Pivoted;
    if a.iter().any(|v| !v.is_finite()) {
        health = BlockHealth::Singular;
    }
    for k in 0..nb {
        let merit = |r: usize| (a[k * nb + r] / scale[r]).abs();
        let pivot = (k..nb).fold(k, |best, r| if merit(r) > merit(best) { r } else { best });
        // A pivot at the level of rounding means that the rows depend on one another.
        let found = merit(pivot);
        if found.is_nan() || found <= nb as f64 * f64::EPSILON {
            health = BlockHealth::Singular;
        }
        pivots[k] = pivot as u8;
        scale.swap(k, pivot);
        for c in 0..nb {
            a.swap(c * nb + k, c * nb + pivot);
        }
        let reciprocal = 1.0 / a[k * nb + k];
        a[k * nb + k] = reciprocal;
        for r in k + 1..nb {
            a[k * nb + r] *= reciprocal;
        }
        for c in k + 1..nb {
            let factor = a[c * nb + k];
            for r in k + 1..nb {
                a[c * nb + r] -= a[k * nb + r] * factor;
            }
        }
    }
    health
}

/// Gauss-Jordan inversion in place without pivoting.
#[inline(always)]
fn gauss_jordan(nb: usize, a: &mut [f64]) {
    for k in 0..nb {
        let (left, rest) = a.split_at_mut(k * nb);
        let (column, right) = rest.split_at_mut(nb);
        let reciprocal = 1.0 / column[k];
        // Column k becomes that of the inverse: -a_rk / p, and 1 / p on the diagonal.
        for v in column.iter_mut() {
            *v *= -reciprocal;
        }
        column[k] = reciprocal;
        for other in left.chunks_exact_mut(nb).chain(right.chunks_exact_mut(nb)) {
            let factor = other[k];
            other[k] = 0.0;
            for r in 0..nb {
                other[r] += column[r] * factor;
            }
        }
    }
}

/// x <- (L U)^-1 P x.
#[inline(always)]
pub(crate) fn solve_factored(nb: usize, lu: &[f64], pivots: Option<&[u8]>, x: &mut [f64]) {
    let (lu, x) = (&lu[..nb * nb], &mut x[..nb]);
    if let Some(pivots) = pivots {
        for (k, &pivot) in pivots.iter().enumerate() {
            x.swap(k, pivot as usize);
        }
    }
    for k in 0..nb {
        let value = x[k];
        for r in k + 1..nb {
            x[r] -= lu[k * nb + r] * value;
        }
    }
    for k in (0..nb).rev() {
        let value = x[k] * lu[k * nb + k];
        x[k] = value;
        for r in 0..k {
            x[r] -= lu[k * nb + r] * value;
        }
    }
}

/// y <- y + A x.
#[inline(always)]
pub(crate) fn add_product(nb: usize, a: &[f64], x: &[f64], y: &mut [f64]) {
    let (a, x, y) = (&a[..nb * nb], &x[..nb], &mut y[..nb]);
    for c in 0..nb {
        for r in 0..nb {
            y[r] += a[c * nb + r] * x[c];
        }
    }
}

/// The largest magnitude of each row.
#[inline(always)]
fn row_scale(nb: usize, a: &[f64], scale: &mut [f64]) {
    let (a, scale) = (&a[..nb * nb], &mut scale[..nb]);
    scale.fill(0.0);
    for c in 0..nb {
        for r in 0..nb {
            scale[r] = scale[r].max(a[c * nb + r].abs());
        }
    }
}

/// A right-hand side of the size of each row, that is no combination of the rows but by chance.
#[inline(always)]
fn test_rhs(nb: usize, a: &[f64], rhs: &mut [f64]) {
    row_scale(nb, a, rhs);
    for r in 0..nb {
        rhs[r] *= 1.0 + (r as f64 * super::GOLDEN).fract();
    }
}

/// Whether y solves A y = b up to rounding, row by row.
#[inline(always)]
fn solves(nb: usize, a: &[f64], y: &[f64], b: &[f64]) -> bool {
    let (a, y, b) = (&a[..nb * nb], &y[..nb], &b[..nb]);
    let mut good = true;
    for r in 0..nb {
        let (mut residual, mut terms) = (-b[r], b[r]);
        for c in 0..nb {
            let term = a[c * nb + r] * y[c];
            residual += term;
            terms += term.abs();
        }
        good &= residual.abs() <= GUARD * terms && terms <= CANCELLATION * b[r] && terms > 0.0;
    }
    good
}
