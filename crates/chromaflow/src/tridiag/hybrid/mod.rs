//! Hybrids: cyclic reduction until few rows are left, then parallel cyclic reduction on those; or parallel cyclic
//! reduction until a line has become many short ones, then Thomas on each.
//!
//! **Source**: Zhang, Cohen, Owens, *Fast tridiagonal solvers on the GPU* (2010), as cited by Stone et al. (2011).

use super::block;
use super::cyclic_reduction::{expand, reduce};
use super::parallel_cyclic_reduction::{solve_rows, steps};
use super::whole::{Line, Side};
use crate::rim::Dynamic;
use chromaflow_simd::Vector;

/// Rows at which cyclic reduction hands over: its last steps keep few rows busy.
pub(super) const PCR_ROWS: usize = 32;
/// Lines into which parallel cyclic reduction splits one.
pub(super) const THOMAS_LINES: usize = 16;

/// Cyclic reduction to [`PCR_ROWS`], then parallel cyclic reduction.
#[inline(always)]
pub(super) fn cr_pcr<L: Vector>(line: &mut Line<'_, L>) {
    let d = reduce(line, PCR_ROWS);
    solve_rows(line, d, line.n / d);
    expand(line, d);
}

/// Parallel cyclic reduction to [`THOMAS_LINES`] lines, then Thomas.
#[inline(always)]
pub(super) fn pcr_thomas<L: Vector>(line: &mut Line<'_, L>) {
    let lines = steps(line, 1, line.n, THOMAS_LINES);
    thomas_of(line, lines);
}

/// Thomas on the whole line.
#[inline(always)]
pub(super) fn thomas<L: Vector>(line: &mut Line<'_, L>) {
    thomas_of(line, 1);
}

/// Thomas on the lines of every `s`-th row.
#[inline(always)]
fn thomas_of<L: Vector>(line: &mut Line<'_, L>, s: usize) {
    let z = Dynamic(line.m);
    let n = line.n;
    for first in 0..s.min(n) {
        let rows = (n - first).div_ceil(s);
        for k in 0..rows {
            let i = first + k * s;
            if k > 0 {
                let (here, above) = (line.block(i), line.block(i - s));
                block::sub_mul(z, &line.a[here.clone()], &line.c[above], &mut line.b[here]);
                line.count.products += 1;
                line.substitute(Side::Lower, i, i - s);
            }
            line.factor(i);
            line.solve_rhs(i);
            if k + 1 < rows {
                let here = line.block(i);
                block::solve_block(z, &line.b[here.clone()], &mut line.c[here]);
                line.count.products += 1;
            }
        }
        for k in (0..rows.saturating_sub(1)).rev() {
            let i = first + k * s;
            line.substitute(Side::Upper, i, i + s);
        }
    }
}
