//! Cyclic reduction: every other row is eliminated, until one is left.
//!
//! With the eliminated neighbours `k - d`, `k + d` of row k, d = 1, 2, 4, ..:
//!
//! ```text
//! a'_k = -a_k b_{k-d}^-1 a_{k-d}        b'_k = b_k - a_k b_{k-d}^-1 c_{k-d} - c_k b_{k+d}^-1 a_{k+d}
//! c'_k = -c_k b_{k+d}^-1 c_{k+d}        f'_k = f_k - a_k b_{k-d}^-1 f_{k-d} - c_k b_{k+d}^-1 f_{k+d}
//! ```
//!
//! Rows are counted from 1 here: step d keeps the multiples of 2 d, so that any length works; a last row without a right
//! neighbour simply lacks those terms.
//!
//! **Source**: Hockney, Jesshope, *Parallel Computers 2* (1988); Stone et al. (2011), Eq. 3.

use super::block;
use super::whole::{Line, Side, negated_product, two};
use crate::rim::Dynamic;
use chromaflow_simd::Vector;

#[cfg(test)]
mod tests;

/// Normalizes row `i`: its factors stay in `b`, and `a`, `c`, `f` become `b^-1 a`, `b^-1 c`, `b^-1 f`.
#[inline(always)]
fn normalize<L: Vector>(line: &mut Line<'_, L>, i: usize) {
    let z = Dynamic(line.m);
    line.factor(i);
    let at = line.block(i);
    block::solve_block(z, &line.b[at.clone()], &mut line.a[at.clone()]);
    block::solve_block(z, &line.b[at.clone()], &mut line.c[at]);
    line.count.products += 2;
    line.solve_rhs(i);
}

/// Adds the normalized neighbour `j` to row `i`, which loses its unknown.
#[inline(always)]
fn absorb<L: Vector>(line: &mut Line<'_, L>, side: Side, i: usize, j: usize) {
    let (m, q) = (line.m, line.m * line.m);
    let here = line.block(i);
    line.substitute(side, i, j);
    line.count.products += 2;
    let (own, other) =
        if side == Side::Lower { (&mut *line.a, &mut *line.c) } else { (&mut *line.c, &mut *line.a) };
    let coupling = &mut *line.spare;
    coupling.copy_from_slice(&own[here.clone()]);
    let (target, outer) = two(own, i * q, j * q, q);
    negated_product(m, coupling, outer, target);
    block::sub_mul(Dynamic(m), coupling, &other[j * q..(j + 1) * q], &mut line.b[here]);
}

/// Reduction steps while more than `keep` rows are left; returns the distance of the rows that are.
#[inline(always)]
pub(super) fn reduce<L: Vector>(line: &mut Line<'_, L>, keep: usize) -> usize {
    let n = line.n;
    let mut d = 1;
    while n / d > keep.max(1) {
        for k in (d..=n).step_by(2 * d) {
            normalize(line, k - 1);
        }
        for k in (2 * d..=n).step_by(2 * d) {
            absorb(line, Side::Lower, k - 1, k - d - 1);
            if k + d <= n {
                absorb(line, Side::Upper, k - 1, k + d - 1);
            }
        }
        d *= 2;
    }
    d
}

/// Back-substitution of the rows that the steps below distance `d` eliminated.
#[inline(always)]
pub(super) fn expand<L: Vector>(line: &mut Line<'_, L>, mut d: usize) {
    let n = line.n;
    while d > 1 {
        d /= 2;
        for k in (d..=n).step_by(2 * d) {
            if k > d {
                line.substitute(Side::Lower, k - 1, k - d - 1);
            }
            if k + d <= n {
                line.substitute(Side::Upper, k - 1, k + d - 1);
            }
        }
    }
}

/// Solves a line; the solution replaces `f`.
#[inline(always)]
pub(super) fn cyclic_reduction<L: Vector>(line: &mut Line<'_, L>) {
    let d = reduce(line, 1);
    line.factor(d - 1);
    line.solve_rhs(d - 1);
    expand(line, d);
}
