//! Parallel cyclic reduction: every row loses both neighbours in each step, so that a line falls into two of half its
//! length; after log2 n steps every row stands alone.
//!
//! The formulas are those of [`super::cyclic_reduction`], for all rows. A step reads the normalized neighbours
//! `b^-1 (a, c, f)`, kept beside the rows, which it replaces.
//!
//! **Source**: Hockney, Jesshope, *Parallel Computers 2* (1988); Stone et al. (2011), section III.

use super::block;
use super::whole::{Line, negated_product, sub_mul_columns};
use crate::rim::Dynamic;
use chromaflow_simd::Vector;

/// Steps on the rows `d, 2 d, ..` (counted from 1, `count` of them) while the distance `s` of coupled ones is below
/// `until`; returns that distance.
#[inline(always)]
pub(super) fn steps<L: Vector>(line: &mut Line<'_, L>, d: usize, count: usize, until: usize) -> usize {
    let z = Dynamic(line.m);
    let (m, width) = (line.m, line.m * line.columns);
    let rows = |i: usize, width: usize| i * width..(i + 1) * width;
    let mut s = 1;
    while s < until.min(count) {
        for j in 0..count {
            let i = (j + 1) * d - 1;
            let (block, vector) = (line.block(i), line.vector(i));
            // The factors are needed in this step only.
            let lu = &mut *line.spare;
            lu.copy_from_slice(&line.b[block.clone()]);
            block::factor(z, lu);
            line.na[block.clone()].copy_from_slice(&line.a[block.clone()]);
            block::solve_block(z, lu, &mut line.na[block.clone()]);
            line.nc[block.clone()].copy_from_slice(&line.c[block.clone()]);
            block::solve_block(z, lu, &mut line.nc[block]);
            line.nf[vector.clone()].copy_from_slice(&line.f[vector.clone()]);
            for column in line.nf[vector].chunks_exact_mut(m) {
                block::solve(z, lu, column);
            }
            line.count.inverses += 1;
            line.count.products += 2;
            line.count.vectors += 1;
        }
        for j in 0..count {
            let i = (j + 1) * d - 1;
            let (here, vector) = (line.block(i), line.vector(i));
            let coupling = &mut *line.spare;
            if j >= s {
                let (there, v) = (rows(i - s * d, m * m), rows(i - s * d, width));
                coupling.copy_from_slice(&line.a[here.clone()]);
                block::sub_mul(z, coupling, &line.nc[there.clone()], &mut line.b[here.clone()]);
                sub_mul_columns(m, coupling, &line.nf[v], &mut line.f[vector.clone()]);
                negated_product(m, coupling, &line.na[there], &mut line.a[here.clone()]);
                line.count.products += 2;
                line.count.vectors += 1;
            }
            if j + s < count {
                let (there, v) = (rows(i + s * d, m * m), rows(i + s * d, width));
                coupling.copy_from_slice(&line.c[here.clone()]);
                block::sub_mul(z, coupling, &line.na[there.clone()], &mut line.b[here.clone()]);
                sub_mul_columns(m, coupling, &line.nf[v], &mut line.f[vector]);
                negated_product(m, coupling, &line.nc[there], &mut line.c[here]);
                line.count.products += 2;
                line.count.vectors += 1;
            }
        }
        s *= 2;
    }
    s
}

/// Solves the rows `d, 2 d, ..`, coupled to one another only.
#[inline(always)]
pub(super) fn solve_rows<L: Vector>(line: &mut Line<'_, L>, d: usize, count: usize) {
    steps(line, d, count, usize::MAX);
    for j in 0..count {
        let i = (j + 1) * d - 1;
        line.factor(i);
        line.solve_rhs(i);
    }
}

/// Solves a line; the solution replaces `f`.
#[inline(always)]
pub(super) fn parallel_cyclic_reduction<L: Vector>(line: &mut Line<'_, L>) {
    solve_rows(line, 1, line.n);
}
