#![allow(unsafe_code)]
//! Factoring the diagonal blocks, all rows at once.

use super::lines::Run;
use super::lines::factor::{Elimination, LineWork};
use super::sweep::{Diagonal, Pivots};
use crate::block::{
    BlockHealth, LaneTask, MOST_IN_LANES, Workspace, factor_guarded, invert_guarded, run_in_lanes,
};
use crate::order::Schedule;
use crate::rim::{Size, with_size};
use crate::shared::SharedMut;
use chromaflow_device::{Buffer, Isa, Team};
use chromaflow_simd::{Kernel, Simd, dispatch};
use std::ops::Range;
use std::sync::Mutex;

/// How the diagonal blocks are kept for the solves with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiagonalForm {
    /// Inverted, in f64: a sweep multiplies with the inverse, which suits vector units better.
    #[default]
    Inverse,
    /// LU factors, in f64.
    Lu,
}

/// What factoring the diagonal blocks found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactorReport {
    /// Number of blocks that needed pivoting.
    pub pivoted: usize,
    /// The first of them, at most [`FactorReport::LISTED`].
    pub pivoted_rows: Vec<u32>,
    /// Number of blocks that have no inverse (zero rows, dependent rows, NaN or infinity).
    pub singular: usize,
    /// The first of them, at most [`FactorReport::LISTED`].
    pub singular_rows: Vec<u32>,
}

impl FactorReport {
    /// The most rows that are named.
    pub const LISTED: usize = 16;
}

/// Diagonal blocks, factored.
pub(super) struct Factors {
    /// None where they have replaced the blocks in the Jacobian.
    own: Option<Buffer<f64>>,
    form: DiagonalForm,
    pivots: Pivots,
    singular: Option<u32>,
}

impl Factors {
    /// For the sweeps; `jac_diag` is what the Jacobian holds.
    pub(super) fn view<'a>(&'a self, jac_diag: &'a [f64]) -> Diagonal<'a> {
        let blocks = self.own.as_ref().map_or(jac_diag.as_ptr(), |own| own.as_ptr());
        match self.form {
            DiagonalForm::Inverse => Diagonal::Inverse(blocks),
            DiagonalForm::Lu => Diagonal::Lu(blocks, &self.pivots),
        }
    }

    /// Whether they have replaced the blocks of the Jacobian.
    pub(super) fn in_place(&self) -> bool {
        self.own.is_none()
    }

    /// The first row whose block has no inverse.
    pub(super) fn singular(&self) -> Option<usize> {
        self.singular.map(|row| row as usize)
    }

    /// Gives the memory of earlier factors back for the next ones.
    pub(super) fn into_buffer(self) -> Option<Buffer<f64>> {
        self.own
    }
}

/// Where factors go.
pub(super) enum Target<'a> {
    /// Over the blocks.
    InPlace(&'a mut [f64]),
    /// From the blocks into other memory.
    Apart(&'a [f64], Buffer<f64>),
}

/// Factors all diagonal blocks, each row by its owner; those of lines as their elimination leaves them.
pub(super) fn factor(
    team: &Team,
    schedule: &Schedule,
    isa: Isa,
    nb: usize,
    form: DiagonalForm,
    target: Target<'_>,
    lines: Option<&Elimination<'_>>,
) -> (Factors, FactorReport) {
    let (from, to, own) = match target {
        Target::InPlace(blocks) => (None, blocks.as_mut_ptr(), None),
        Target::Apart(blocks, mut own) => (Some(blocks), own.as_mut_ptr(), Some(own)),
    };
    let to = SharedMut(to);
    let found = Mutex::new(Vec::new());
    team.run(|member| {
        let mut work = Workspace::new(nb);
        let mut mine = Vec::new();
        let mut alone = |rows: Range<usize>, mine: &mut Vec<Bad>| {
            let task = FactorRows { to: to.get(), from, size: (), rows, form, work: &mut work, bad: mine };
            // SAFETY: `to` has room for all rows (checked by the callers), each row has one owner, and the instruction
            // set is there (checked when the relaxation was made).
            unsafe { with_size!(few: isa, nb, size => dispatch(isa, task.sized(size))) };
        };
        let mut work = LineWork::new(nb);
        for rows in schedule.owned(member.rank()) {
            let Some(lines) = lines else {
                alone(rows, &mut mine);
                continue;
            };
            for run in lines.table().runs(rows) {
                match run {
                    Run::Alone(rows) => alone(rows, &mut mine),
                    Run::Line(rows, stored) => {
                        let mut bad = |row: usize, health, work: &Workspace| {
                            mine.push(Bad { row: row as u32, health, pivots: work.pivots().into() });
                        };
                        // SAFETY: as above; members own whole lines.
                        unsafe {
                            lines.line(isa, nb, form, (rows, stored), from, to.get(), &mut work, &mut bad);
                        };
                    }
                }
            }
        }
        found.lock().expect("no member panics with the list locked").append(&mut mine);
    });
    let mut found = found.into_inner().expect("no member panics with the list locked");
    found.sort_unstable_by_key(|bad: &Bad| bad.row);
    let mut report = FactorReport::default();
    let mut pivots = Pivots::new();
    for bad in found {
        let (count, rows) = match bad.health {
            BlockHealth::Singular => (&mut report.singular, &mut report.singular_rows),
            _ => (&mut report.pivoted, &mut report.pivoted_rows),
        };
        *count += 1;
        if rows.len() < FactorReport::LISTED {
            rows.push(bad.row);
        }
        if form == DiagonalForm::Lu {
            pivots.insert(bad.row, bad.pivots);
        }
    }
    let singular = report.singular_rows.first().copied();
    (Factors { own, form, pivots, singular }, report)
}

struct Bad {
    row: u32,
    health: BlockHealth,
    pivots: Box<[u8]>,
}

struct FactorRows<'a, Z> {
    to: *mut f64,
    from: Option<&'a [f64]>,
    size: Z,
    rows: Range<usize>,
    form: DiagonalForm,
    work: &'a mut Workspace,
    bad: &'a mut Vec<Bad>,
}

impl<'a> FactorRows<'a, ()> {
    fn sized<Z: Size>(self, size: Z) -> FactorRows<'a, Z> {
        let Self { to, from, rows, form, work, bad, .. } = self;
        FactorRows { to, from, size, rows, form, work, bad }
    }
}

impl<Z: Size> Kernel for FactorRows<'_, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { to, from, size, rows, form, work, bad } = self;
        let nb = size.get();
        let q = nb * nb;
        let mut one = |row: usize| {
            // SAFETY: `to` holds q values for every row, and this row is the caller's alone.
            let block = unsafe { std::slice::from_raw_parts_mut(to.add(row * q), q) };
            if let Some(from) = from {
                block.copy_from_slice(&from[row * q..(row + 1) * q]);
            }
            let health = match form {
                DiagonalForm::Lu => factor_guarded(nb, block, work),
                DiagonalForm::Inverse => invert_guarded(nb, block, work),
            };
            if health != BlockHealth::Sound {
                bad.push(Bad { row: row as u32, health, pivots: work.pivots().into() });
            }
        };
        if nb <= MOST_IN_LANES {
            let task = match form {
                DiagonalForm::Lu => LaneTask::Factor,
                DiagonalForm::Inverse => LaneTask::Invert,
            };
            let from = from.map_or(to.cast_const(), |from| from[..rows.end * q].as_ptr());
            // SAFETY: as above; `from` was just seen to hold these rows, and the instruction set is there.
            unsafe { run_in_lanes::<S::F64>(nb, task, from, to, rows, one) };
        } else {
            rows.for_each(&mut one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Lu, inverse};
    use crate::{BlockPattern, RowBatches};

    const ROWS: usize = 83;
    const EXCHANGE: [usize; 3] = [0, 21, 82];
    const SINGULAR: [usize; 2] = [22, 40];

    /// Diagonal blocks in rows of different units, some of which need exchanges or have no inverse.
    fn blocks(nb: usize) -> Vec<f64> {
        let mut state = 1_u64;
        let mut blocks = vec![0.0; ROWS * nb * nb];
        for (row, block) in blocks.chunks_exact_mut(nb * nb).enumerate() {
            for (i, v) in block.iter_mut().enumerate() {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let dominant = if i % (nb + 1) == 0 { nb as f64 } else { 0.0 };
                let unit = 10.0_f64.powi(3 * (i % nb) as i32 - 6);
                *v = unit * ((state >> 40) as f64 / 16777216.0 - 0.5 + dominant);
            }
            if EXCHANGE.contains(&row) && nb > 1 {
                block[0] = 0.0;
                block[1] = 2.0 * nb as f64;
                block[nb] = 3.0 * nb as f64;
            }
            match SINGULAR.iter().position(|&r| r == row) {
                Some(0) => block.fill(0.0),
                Some(_) => block[nb * nb - 1] = f64::NAN,
                None => {}
            }
        }
        blocks
    }

    fn factored(nb: usize, form: DiagonalForm, isa: Isa, threads: usize) -> (Vec<f64>, FactorReport) {
        let team = Team::new(threads);
        let pattern = BlockPattern::new(ROWS, vec![0; ROWS + 1], vec![]).unwrap();
        let batches = RowBatches::new(vec![0, 30, ROWS as u32]);
        let schedule = Schedule::for_team(&pattern, 128, &batches, &team);
        let mut blocks = blocks(nb);
        let (_, report) = factor(&team, &schedule, isa, nb, form, Target::InPlace(&mut blocks), None);
        (blocks, report)
    }

    #[test]
    fn every_instruction_set_and_grouping_gives_the_factors_of_single_blocks() {
        for nb in (1..=10).chain([13, 16, 17]) {
            for isa in Isa::available() {
                for form in [DiagonalForm::Inverse, DiagonalForm::Lu] {
                    let what = format!("nb {nb} {} {form:?}", isa.name());
                    let (found, report) = factored(nb, form, isa, 1);
                    assert_eq!(report.singular_rows, [22, 40], "{what}");
                    let exchanged: &[u32] = if nb == 1 { &[] } else { &[0, 21, 82] };
                    assert_eq!(report.pivoted_rows, exchanged, "{what}");
                    for (row, original) in blocks(nb).chunks_exact(nb * nb).enumerate() {
                        if SINGULAR.contains(&row) {
                            continue;
                        }
                        let expected = match form {
                            DiagonalForm::Inverse => inverse(nb, original).0,
                            DiagonalForm::Lu => Lu::factor(nb, original).factors().to_vec(),
                        };
                        for (i, (f, e)) in found[row * nb * nb..].iter().zip(&expected).enumerate() {
                            // Columns of the inverse have units, as rows of U have.
                            let scale = (0..nb).map(|k| {
                                let k = if form == DiagonalForm::Inverse {
                                    i / nb * nb + k
                                } else {
                                    k * nb + i % nb
                                };
                                expected[k].abs()
                            });
                            let scale = scale.fold(0.0, f64::max);
                            assert!((f - e).abs() <= 1e-12 * scale, "{what} row {row}: {f} for {e}");
                        }
                    }
                    for threads in [2, 3, 5] {
                        let (other, same) = factored(nb, form, isa, threads);
                        assert!(same == report, "{what} on {threads} threads");
                        let equal = |row: &usize| {
                            let values = row * nb * nb..(row + 1) * nb * nb;
                            other[values.clone()] == found[values]
                        };
                        let sound = (0..ROWS).filter(|row| !SINGULAR.contains(row));
                        assert!(sound.clone().filter(equal).eq(sound), "{what} on {threads} threads");
                    }
                }
            }
        }
    }
}
