#![allow(unsafe_code)]
//! Writing a Jacobian row by row, each row by its owner.

use super::Schedule;
use crate::{Jacobian, OffDiagonal};
use chromaflow_device::{SharedSlice, Team};
use std::ops::Range;
use std::sync::Arc;

/// The off-diagonal blocks of one row, `[blocks, nb (column), nb (row)]`.
pub enum OffRow<'a> {
    /// Policy `d`.
    F64(&'a mut [f64]),
    /// Policies `ds`, and `dsh` before its conversion.
    F32(&'a mut [f32]),
}

/// The blocks of one row: the diagonal one, `[nb (column), nb (row)]`, and the others.
pub type RowBlocks<'a> = (&'a mut [f64], OffRow<'a>);

impl Jacobian {
    /// Calls `fill(row, diagonal block, off-diagonal blocks)` for every row, on the member that owns the row in the
    /// sweeps of `schedule`: on machines with several memory nodes, its data then lies near the member that reads it.
    /// No two calls touch the same memory, so that assembly by rows needs no locks. What the matrix was before, narrowed
    /// or factored in place, is forgotten.
    ///
    /// # Panics
    /// When the schedule is not for this pattern and team.
    pub fn assemble(
        &mut self,
        team: &Team,
        schedule: &Schedule,
        fill: impl Fn(usize, &mut [f64], OffRow<'_>) + Sync,
    ) {
        self.assemble_with(None, team, schedule, |row, (diag, off), _| fill(row, diag, off));
    }

    /// As [`Jacobian::assemble`], together with a second matrix on the same pattern, whose blocks `fill` gets last.
    ///
    /// # Panics
    /// As [`Jacobian::assemble`], and when the second matrix has another pattern or block size.
    pub fn assemble_with(
        &mut self,
        second: Option<&mut Jacobian>,
        team: &Team,
        schedule: &Schedule,
        fill: impl Fn(usize, RowBlocks<'_>, Option<RowBlocks<'_>>) + Sync,
    ) {
        assert_eq!(schedule.members(), team.size(), "the schedule is for this team");
        let (pattern, q, rows) = (Arc::clone(self.pattern()), self.nb() * self.nb(), self.rows());
        if let Some(second) = &second {
            assert!(
                second.nb() == self.nb() && **second.pattern() == *pattern,
                "another pattern or block size"
            );
        }
        let (first, second) = (Shared::new(self), second.map(Shared::new));
        team.run(|member| {
            for row in schedule.owned(member.rank()).flatten() {
                assert!(row < rows, "the schedule is for this pattern");
                let blocks = pattern.range(row);
                let blocks = blocks.start * q..blocks.end * q;
                // SAFETY: a schedule gives each row to one member, and these are this row's values.
                let (one, two) = unsafe {
                    let of = |m| Shared::row(m, row * q..(row + 1) * q, blocks.clone());
                    (of(&first), second.as_ref().map(of))
                };
                fill(row, one, two);
            }
        });
    }
}

/// A matrix whose rows are written by their owners.
struct Shared<'a> {
    diag: SharedSlice<'a, f64>,
    off: Off<'a>,
}

enum Off<'a> {
    F64(SharedSlice<'a, f64>),
    F32(SharedSlice<'a, f32>),
}

impl<'a> Shared<'a> {
    fn new(jac: &'a mut Jacobian) -> Self {
        jac.begin_assembly();
        let off = match &mut jac.off {
            OffDiagonal::F64(v) => Off::F64(SharedSlice::new(v)),
            OffDiagonal::F32(v) => Off::F32(SharedSlice::new(v)),
            OffDiagonal::F16 { .. } => unreachable!("an assembly begins with blocks in f32"),
        };
        Self { diag: SharedSlice::new(&mut jac.diag), off }
    }

    /// # Safety
    /// Nobody else reads or writes these values while the result lives.
    unsafe fn row(&self, diag: Range<usize>, off: Range<usize>) -> RowBlocks<'_> {
        // SAFETY: forwarded.
        unsafe {
            let off = match &self.off {
                Off::F64(v) => OffRow::F64(v.write(off)),
                Off::F32(v) => OffRow::F32(v.write(off)),
            };
            (self.diag.write(diag), off)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockPattern, Policy, RowBatches};

    #[test]
    fn every_row_is_filled_once() {
        let pattern = Arc::new(BlockPattern::new(3, vec![0, 1, 1, 3], vec![1, 0, 1]).unwrap());
        let batches = RowBatches::new(vec![0, 2, 3]);
        for policy in [Policy::D, Policy::Ds] {
            for threads in [1, 2, 4] {
                let team = Team::new(threads);
                let schedule = Schedule::for_team(&pattern, 2, &batches, &team);
                let mut jac = Jacobian::zeroed(Arc::clone(&pattern), 2, policy).unwrap();
                jac.assemble(&team, &schedule, |row, diag, off| {
                    for v in diag.iter_mut() {
                        *v += 1.0 + row as f64;
                    }
                    match off {
                        OffRow::F64(v) => v.iter_mut().for_each(|v| *v += 10.0 + row as f64),
                        OffRow::F32(v) => v.iter_mut().for_each(|v| *v += 10.0 + row as f32),
                    }
                });
                assert_eq!(&*jac.diag, [1., 1., 1., 1., 2., 2., 2., 2., 3., 3., 3., 3.]);
                let off: Vec<f64> = match &jac.off {
                    OffDiagonal::F64(v) => v.to_vec(),
                    OffDiagonal::F32(v) => v.iter().map(|&v| v.into()).collect(),
                    OffDiagonal::F16 { .. } => unreachable!(),
                };
                assert_eq!(off, [10., 10., 10., 10., 12., 12., 12., 12., 12., 12., 12., 12.]);
            }
        }
    }
}
