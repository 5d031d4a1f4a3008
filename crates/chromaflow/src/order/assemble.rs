#![allow(unsafe_code)]
//! Writing a Jacobian row by row, each row by its owner.

use super::Schedule;
use crate::{Jacobian, OffDiagonal};
use chromaflow_device::{SharedSlice, Team};
use std::sync::Arc;

/// The off-diagonal blocks of one row, `[blocks, nb (column), nb (row)]`.
pub enum OffRow<'a> {
    /// Policy `d`.
    F64(&'a mut [f64]),
    /// Policies `ds`, and `dsh` before its conversion.
    F32(&'a mut [f32]),
}

impl Jacobian {
    /// Calls `fill(row, diagonal block, off-diagonal blocks)` for every row, on the member that owns the row in the
    /// sweeps of `schedule`: on machines with several memory nodes, its data then lies near the member that reads it.
    /// No two calls touch the same memory, so that assembly by rows needs no locks.
    ///
    /// # Panics
    /// When the off-diagonal blocks are in f16 (see [`Jacobian::restore_f32`]) or the schedule is not for this pattern
    /// and team.
    pub fn assemble(
        &mut self,
        team: &Team,
        schedule: &Schedule,
        fill: impl Fn(usize, &mut [f64], OffRow<'_>) + Sync,
    ) {
        enum Off<'a> {
            F64(SharedSlice<'a, f64>),
            F32(SharedSlice<'a, f32>),
        }
        assert_eq!(schedule.members(), team.size(), "the schedule is for this team");
        let (pattern, q, rows) = (Arc::clone(self.pattern()), self.nb() * self.nb(), self.rows());
        let diag = SharedSlice::new(&mut self.diag);
        let off = match &mut self.off {
            OffDiagonal::F64(v) => Off::F64(SharedSlice::new(v)),
            OffDiagonal::F32(v) => Off::F32(SharedSlice::new(v)),
            OffDiagonal::F16 { .. } => panic!("blocks in f16 cannot be assembled: call restore_f32() first"),
        };
        team.run(|member| {
            for row in schedule.owned(member.rank()).flatten() {
                assert!(row < rows, "the schedule is for this pattern");
                let blocks = pattern.range(row);
                let blocks = blocks.start * q..blocks.end * q;
                // SAFETY: a schedule gives each row to one member, and these are this row's values.
                unsafe {
                    let off = match &off {
                        Off::F64(v) => OffRow::F64(v.write(blocks)),
                        Off::F32(v) => OffRow::F32(v.write(blocks)),
                    };
                    fill(row, diag.write(row * q..(row + 1) * q), off);
                }
            }
        });
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
