//! Periodic lines: Thomas with the last unknown as a border.

use crate::tridiag::block::{self, Dynamic};
use crate::tridiag::lanes::Lane;
use crate::tridiag::whole::{Line, Side, two};

/// Solves a periodic line; the solution replaces `f`.
///
/// With the last row split off, `x_i = y_i - Z_i x_{n-1}`: y solves the other rows for their right-hand side, Z for the
/// columns through which they see the last unknown (A of the first row, C of the last but one). Z lies in `na`.
#[inline(always)]
pub(crate) fn periodic<L: Lane>(line: &mut Line<'_, L>) {
    let z = Dynamic(line.m);
    let (n, m, q) = (line.n, line.m, line.m * line.m);
    let last = n - 1;
    let add = |to: &mut [L], from: &[L]| {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = to.add(from);
        }
    };
    if n == 1 {
        add(line.b, line.a);
        add(line.b, line.c);
        line.factor(0);
        line.solve_rhs(0);
        return;
    }
    line.na[..last * q].fill(L::splat(0.0));
    line.na[..q].copy_from_slice(&line.a[..q]);
    add(&mut line.na[(last - 1) * q..last * q], &line.c[(last - 1) * q..last * q]);
    for i in 0..last {
        let here = line.block(i);
        if i > 0 {
            let above = line.block(i - 1);
            block::sub_mul(z, &line.a[here.clone()], &line.c[above], &mut line.b[here.clone()]);
            let (border, above) = two(line.na, i * q, (i - 1) * q, q);
            block::sub_mul(z, &line.a[here.clone()], above, border);
            line.substitute(Side::Lower, i, i - 1);
        }
        line.factor(i);
        line.solve_rhs(i);
        block::solve_block(z, &line.b[here.clone()], &mut line.c[here.clone()]);
        block::solve_block(z, &line.b[here.clone()], &mut line.na[here]);
    }
    for i in (0..last - 1).rev() {
        line.substitute(Side::Upper, i, i + 1);
        let (border, below) = two(line.na, i * q, (i + 1) * q, q);
        block::sub_mul(z, &line.c[i * q..(i + 1) * q], below, border);
    }
    // The Schur complement of the last row.
    let end = line.block(last);
    block::sub_mul(z, &line.c[end.clone()], &line.na[..q], &mut line.b[end.clone()]);
    block::sub_mul(z, &line.a[end.clone()], &line.na[(last - 1) * q..last * q], &mut line.b[end]);
    line.substitute(Side::Upper, last, 0);
    line.substitute(Side::Lower, last, last - 1);
    line.factor(last);
    line.solve_rhs(last);
    let (others, x) = line.f.split_at_mut(last * m);
    for i in 0..last {
        block::sub_mul_vec(z, &line.na[i * q..(i + 1) * q], x, &mut others[i * m..(i + 1) * m]);
    }
}
