#![allow(unsafe_code)]
//! The numeric phase and the apply on the members of a team.

use super::kernels::{self, FactorTask, Scratch, Source};
use super::solve::{self, SolveTask};
use super::triangle::Values;
use super::{BlockIlu, BlockIluReport, Fill, SingularRow};
use crate::shared::SharedMut;
use crate::sparse::{Jacobian, Stored};
use crate::vector;
use chromaflow_device::{Buffer, Member, Team};
use half::f16;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

/// Vectors of a solve, lent to the members of a team.
struct Lent {
    b: *const f64,
    x: *mut f64,
}

// SAFETY: members write rows of their own and read those that are finished.
unsafe impl Sync for Lent {}

/// Rows of a matrix that are brought one by one as they are factored.
pub(crate) trait RowSource: Sync {
    /// Brings a row, into `room` (for as many values as the longest one has) or to where it stays.
    ///
    /// # Safety
    /// Every row is asked for once, by one thread.
    unsafe fn row(&self, row: usize, room: &mut Buffer<f64>) -> RowAt;

    /// Tells where a row comes from, in pieces of so many bytes, so that it can be asked for ahead.
    fn places(&self, row: usize, tell: &mut dyn FnMut(*const u8, usize));
}

/// Where a row has been brought: blocks by columns, in memory that may be read one vector past them until the next row is asked for.
#[derive(Clone, Copy)]
pub(crate) struct RowAt {
    /// The diagonal block.
    pub diag: *const f64,
    /// The others, in the order of their columns.
    pub off: *const f64,
}

impl BlockIlu {
    /// The numeric phase: factors the values of `a`.
    ///
    /// # Errors
    /// [`SingularRow`] for the first row whose diagonal block cannot be inverted; the factors are not usable then.
    ///
    /// # Panics
    /// When `a` has another pattern or block size than this was made for, or factors have replaced its diagonal blocks.
    pub fn factor(&mut self, a: &Jacobian, team: &Team) -> Result<BlockIluReport, SingularRow> {
        a.assert_whole();
        assert!(
            a.nb() == self.nb && (Arc::ptr_eq(a.pattern(), &self.pattern) || **a.pattern() == *self.pattern),
            "another pattern than the symbolic phase's"
        );
        self.factor_from(Source::Stored(a), team)
    }

    /// The same for values that are brought row by row; every row is, whatever the others hold.
    pub(crate) fn factor_brought(
        &mut self,
        rows: &dyn RowSource,
        team: &Team,
    ) -> Result<BlockIluReport, SingularRow> {
        self.factor_from(Source::Brought(rows), team)
    }

    fn factor_from(&mut self, source: Source<'_>, team: &Team) -> Result<BlockIluReport, SingularRow> {
        let (lower_values, upper_values) = (self.lower.values.shared(), self.upper.values.shared());
        let task = FactorTask {
            pattern: &self.pattern,
            source,
            filled: &self.filled,
            lower: &self.lower,
            upper: &self.upper,
            lower_values,
            upper_values,
            inv_diag: SharedMut(self.inv_diag.as_mut_ptr()),
            diagonal_only: self.options.fill == Fill::DiagonalOnly,
            guard: self.options.pivot_guard,
            shift: self.options.shift,
            singular: AtomicU32::new(u32::MAX),
        };
        let report = Mutex::new(BlockIluReport::default());
        team.run(|m| {
            let brought = matches!(task.source, Source::Brought(_));
            let mut scratch = Scratch::new(&self.filled, self.nb, brought);
            self.walk(0, m, |positions| {
                // SAFETY: shapes were checked; members have disjoint rows, and rows of earlier levels are finished.
                unsafe { kernels::factor(self.isa, self.nb, &task, positions, &mut scratch) }
            });
            let mut all = report.lock().expect("nobody panics with this locked");
            all.pivoted.append(&mut scratch.pivoted);
            all.shifted = all.shifted.max(scratch.shifted);
        });
        let singular = task.singular.into_inner();
        if singular != u32::MAX {
            return Err(SingularRow { row: singular as usize });
        }
        let mut report = report.into_inner().expect("nobody panics with this locked");
        report.pivoted.sort_unstable();
        Ok(report)
    }

    /// Has a member do its part of the rows of one triangle: level by level, or the first member all of them in order.
    fn walk(&self, triangle: usize, m: &Member<'_>, mut work: impl FnMut(Range<usize>)) {
        let Some(waves) = &self.waves else {
            if m.rank() == 0 {
                work(0..self.pattern.rows());
            }
            return m.barrier();
        };
        let wave = &waves[triangle];
        for tiles in wave.levels() {
            let part = m.share(tiles.len());
            work(wave.positions(tiles.start + part.start..tiles.start + part.end));
            m.barrier();
        }
    }

    /// x = M^-1 b: a forward solve with L, a backward solve with U.
    ///
    /// **Shapes**: `b`, `x` `[rows, nb]`.
    ///
    /// # Panics
    /// When a length is wrong.
    pub fn solve(&self, team: &Team, b: &[f64], x: &mut [f64]) {
        self.solve_lent(team, &[self.lend(b, x)]);
    }

    /// The same for several right-hand sides, `(b, x)` each: factors are read once for all of them. Each solution is the one that it is
    /// alone, to the last bit.
    ///
    /// # Panics
    /// When a length is wrong.
    pub fn solve_many(&self, team: &Team, columns: &mut [(&[f64], &mut [f64])]) {
        let columns: Vec<_> = columns.iter_mut().map(|(b, x)| self.lend(b, x)).collect();
        self.solve_lent(team, &columns);
    }

    /// The vectors of a solve, their lengths checked.
    fn lend(&self, b: &[f64], x: &mut [f64]) -> Lent {
        let n = self.pattern.rows() * self.nb;
        assert_eq!((b.len(), x.len()), (n, n), "b and x have rows * nb values");
        Lent { b: b.as_ptr(), x: x.as_mut_ptr() }
    }

    fn solve_lent(&self, team: &Team, columns: &[Lent]) {
        match (&self.lower.values, &self.upper.values) {
            (Values::F64(l), Values::F64(u)) => self.solve_with::<f64>([l, u], team, columns),
            (Values::F32(l), Values::F32(u)) => self.solve_with::<f32>([l, u], team, columns),
            (Values::F16 { values: l, .. }, Values::F16 { values: u, .. }) => {
                self.solve_with::<f16>([l, u], team, columns);
            }
            _ => unreachable!("both triangles are stored alike"),
        }
    }

    fn solve_with<T: Stored + Copy + Into<f64> + Sync>(
        &self,
        values: [&[T]; 2],
        team: &Team,
        columns: &[Lent],
    ) {
        // Of several vectors so many rows at a time that their factors are still in a cache for the next one.
        let rows = self.pattern.rows();
        let some = if columns.len() > 1 { vector::rows_in_cache(self.bytes(), rows) } else { rows.max(1) };
        team.run(|m| {
            for (t, triangle) in [&self.lower, &self.upper].into_iter().enumerate() {
                let task = |column: &Lent| SolveTask {
                    rows: &triangle.rows,
                    ptr: &triangle.ptr,
                    cols: &triangle.cols,
                    values: values[t].as_ptr(),
                    unscale: triangle.values.unscale(),
                    inverse: (t == 1).then(|| self.inv_diag.as_ptr()),
                    b: (t == 0).then_some(column.b),
                    x: column.x,
                };
                self.walk(t, m, |positions| {
                    for first in positions.clone().step_by(some) {
                        let positions = first..positions.end.min(first + some);
                        for column in columns {
                            // SAFETY: as in `factor`; the values are those of this triangle.
                            unsafe { solve::solve(self.isa, self.nb, &task(column), positions.clone()) }
                        }
                    }
                });
            }
        });
    }
}
