//! Periodic lines: the last unknown as a border, whatever method solves the other rows.
//!
//! With the last row split off, `x_i = y_i - Z_i x_{n-1}`: y solves the other rows for their right-hand side, Z for the
//! columns through which they see the last unknown (A of the first row, C of the last but one). A block of the same rank (a
//! Schur complement) gives the last unknown.

use super::block;
use super::whole::{Line, sub_mul_columns};
use crate::rim::Dynamic;
use chromaflow_simd::Vector;

/// Puts the columns of the border beside the right-hand side, and opens the line.
#[inline(always)]
pub(super) fn open<L: Vector>(line: &mut Line<'_, L>) {
    if line.border.is_none() {
        return;
    }
    let (m, q) = (line.m, line.m * line.m);
    let (width, last) = (m + q, line.n - 1);
    for row in line.f.chunks_exact_mut(width) {
        row[m..].fill(L::c(0.0));
    }
    line.f[m..width].copy_from_slice(&line.a[..q]);
    for e in 0..q {
        let at = last * width + m + e;
        line.f[at] += line.c[last * q + e];
    }
    line.a[..q].fill(L::c(0.0));
    line.c[last * q..].fill(L::c(0.0));
}

/// The last unknown from the solutions y and Z, and the others from it.
#[inline(always)]
pub(super) fn close<L: Vector>(line: &mut Line<'_, L>) {
    let Some([a, b, c, f]) = &mut line.border else { return };
    let (m, q) = (line.m, line.m * line.m);
    let width = m + q;
    let end = (line.n - 1) * width;
    for (coupling, at) in [(&**c, 0), (&**a, end)] {
        let (y, z) = line.f[at..at + width].split_at(m);
        sub_mul_columns(m, coupling, y, f);
        sub_mul_columns(m, coupling, z, b);
    }
    block::factor(Dynamic(m), b);
    block::solve(Dynamic(m), b, f);
    for row in line.f.chunks_exact_mut(width) {
        let (y, z) = row.split_at_mut(m);
        block::sub_mul_vec(Dynamic(m), z, f, y);
    }
}
