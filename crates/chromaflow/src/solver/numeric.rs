#![allow(unsafe_code)]
//! New values of the matrix.

use super::arrays::{BlockLayout, Given, Value, Values};
use super::error::LEAST_SINGLE;
use super::global::{OnAll, agree};
use super::layout::Intake;
use super::{LinearSolver, PreconditionerKind, SolverError};
use crate::factor::block_ilu::{RowAt, RowSource};
use crate::order::OffRow;
use crate::relax::FactorReport;
use crate::sparse::check_len;
use crate::{Jacobian, OffDiagonal, Policy};
use chromaflow_device::{Buffer, SharedSlice};

/// What [`LinearSolver::numeric`] found in the diagonal blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumericReport {
    /// Diagonal blocks that needed pivoting: correct, but slower, and often a sign of a wrong Jacobian.
    pub pivoted: usize,
    /// The first of them, as the caller numbers rows.
    pub pivoted_rows: Vec<usize>,
    /// Nonzero off-diagonal values that became zero in the policy's precision (`dsh`).
    pub underflowed: usize,
}

impl LinearSolver {
    /// Takes new values: blocks in the order of the pattern that was given, each `blocks` by rows or by columns, in one
    /// pass over them. Factors what the preconditioner needs.
    ///
    /// # Errors
    /// [`SolverError::NotFinite`] names the first entry that is NaN or infinite, [`SolverError::BeyondSingle`] one beside the diagonal that the
    /// policy's precision does not hold, [`SolverError::BelowSingle`] that it holds no entry, [`SolverError::SingularDiagonal`] the first diagonal block without inverse. The values before are gone then.
    pub fn numeric<V: Value>(
        &mut self,
        values: &[V],
        blocks: BlockLayout,
    ) -> Result<NumericReport, SolverError> {
        if self.apart {
            let found = "the pattern has no diagonal blocks";
            return Err(SolverError::Apart { found, remedy: "give them apart from the others" });
        }
        self.take(V::list(values), V::list(&[]), blocks)
    }

    /// The same for a pattern without diagonal blocks, which stand in an array of their own.
    ///
    /// **Shapes**: `diagonal [rows, nb, nb]`, `off [nnzb, nb, nb]`.
    ///
    /// # Errors
    /// As [`LinearSolver::numeric`].
    pub fn numeric_apart<V: Value>(
        &mut self,
        diagonal: &[V],
        off: &[V],
        blocks: BlockLayout,
    ) -> Result<NumericReport, SolverError> {
        if !self.apart {
            let found = "the pattern has diagonal blocks of its own";
            return Err(SolverError::Apart { found, remedy: "give all blocks in one array" });
        }
        self.take(V::list(off), V::list(diagonal), blocks)
    }

    fn take(
        &mut self,
        values: Values<'_>,
        diagonal: Values<'_>,
        layout: BlockLayout,
    ) -> Result<NumericReport, SolverError> {
        let (nb, rows) = (self.nb, self.rows());
        let all = self.pattern.nnzb() + rows + self.ghosts.blocks();
        let apart = if self.apart { rows } else { 0 };
        let lengths = [("values", values.len(), all - apart), ("diagonal", diagonal.len(), apart)];
        let fit = lengths.into_iter().try_for_each(|(what, found, count)| {
            check_len(what, found, count * nb * nb, || format!("{count} blocks of {nb} x {nb}"))
        });
        self.agree(fit.map_err(SolverError::from))?;
        self.has_values = false;
        let found = self.take_fitting(values, diagonal, layout);
        let report = match &self.whole {
            Some(whole) => agree(&**whole.share.ranks(), found)?,
            None => found?,
        };
        self.has_values = true;
        self.constants = None;
        Ok(report)
    }

    /// Sees that all is well here and, where others have rows of the matrix, on all ranks.
    fn agree(&self, here: Result<(), SolverError>) -> Result<(), SolverError> {
        match &self.whole {
            Some(whole) => whole.agree(here, &self.options, OnAll::default()).map(drop),
            None => here,
        }
    }

    fn take_fitting(
        &mut self,
        values: Values<'_>,
        diagonal: Values<'_>,
        layout: BlockLayout,
    ) -> Result<NumericReport, SolverError> {
        let (found, underflowed) = match (values, diagonal) {
            (Values::F64(blocks), Values::F64(diagonal)) => self.set(Given { blocks, diagonal }, layout)?,
            (Values::F32(blocks), Values::F32(diagonal)) => self.set(Given { blocks, diagonal }, layout)?,
            _ => unreachable!("both are of one type"),
        };
        let old = |&r: &u32| self.order.permutation.old_of_new()[r as usize] as usize + self.first;
        if let Some(row) = found.singular_rows.iter().map(old).min() {
            return Err(SolverError::SingularDiagonal { count: found.singular, row });
        }
        let pivoted_rows = found.pivoted_rows.iter().map(old).collect();
        Ok(NumericReport { pivoted: found.pivoted, pivoted_rows, underflowed })
    }

    /// Brings the values in and factors them; with what was found, how many became zero.
    fn set<V: Value>(
        &mut self,
        given: Given<'_, V>,
        layout: BlockLayout,
    ) -> Result<(FactorReport, usize), SolverError> {
        let intake = Intake::new(
            &self.layout,
            &self.pattern,
            self.nb,
            given,
            layout,
            [self.least(), self.largest_beside()],
        );
        // One thread factors a row while its caches have it. Several first write the rows that they multiply with later.
        let factored = match &mut self.exact {
            None => self.solver.factor_brought(&Passing(&intake)),
            Some(exact) if self.team.size() == 1 => self.solver.factor_brought(&Staying::new(&intake, exact)),
            Some(_) => None,
        };
        if factored.is_none() {
            let exact = self.exact.as_mut().expect("only factors that are made row by row do without");
            let (team, schedule) = (&*self.team, &self.schedule);
            exact.assemble_with(self.reduced.as_mut(), team, schedule, |row, (diag, off), reduced| {
                let OffRow::F64(off) = off else { unreachable!("the matrix is kept in f64") };
                intake.row(row, diag, off);
                let Some((reduced_diag, reduced_off)) = reduced else { return };
                reduced_diag.copy_from_slice(diag);
                match reduced_off {
                    OffRow::F64(to) => to.copy_from_slice(off),
                    OffRow::F32(to) => to.iter_mut().zip(&*off).for_each(|(to, &v)| *to = v as f32),
                }
            });
        }
        let bad = intake.bad();
        let beyond = self.ghosts.bring_in(given, layout);
        let bad = bad.into_iter().chain(beyond).min();
        // Ranks convert together, or not at all.
        self.agree(bad.map_or(Ok(()), |k| Err(self.not_finite(given, k, layout))))?;
        if let Some(found) = factored {
            return Ok((found, 0));
        }
        let Some(reduced) = &mut self.reduced else {
            let exact = self.exact.as_ref().expect("it was just written");
            return Ok((self.solver.factor(exact)?, 0));
        };
        let mut underflowed = 0;
        if self.options.policy == Policy::Dsh {
            let of_all =
                |largest: f32| self.whole.as_ref().map_or(largest, |whole| whole.share.largest(largest));
            let converted = reduced.convert_to_f16_together(&self.team, self.options.half_scale, &of_all);
            underflowed = converted.expect("blocks were just assembled in f32").underflowed;
        }
        Ok((self.solver.factor_in_place(reduced)?, underflowed))
    }

    /// What is wrong with the caller's block `k`.
    fn not_finite<V: Value>(&self, given: Given<'_, V>, k: usize, layout: BlockLayout) -> SolverError {
        let (nb, permutation) = (self.nb, &self.order.permutation);
        let block = given.split(nb * nb).block(k);
        let largest = self.largest_beside();
        let first = |of: fn(f64, f64) -> bool| block.iter().position(|v| of(v.double(), largest));
        let entry = first(|v, _| !v.is_finite()).or_else(|| first(|v, largest| v.abs() > largest));
        let entry = entry.or_else(|| first(|v, _| v != 0.0));
        let entry = entry.expect("the block was found to have one");
        let (row, col) = match self.ghosts.place(k) {
            Some((row, ghost)) => (permutation.old_of_new()[row] as usize, self.pattern.rows() + ghost),
            None => self.layout.place(k, permutation, &self.pattern),
        };
        let (slow, fast) = (entry / nb, entry % nb);
        let (r, c) = if layout == BlockLayout::ColumnMajor { (fast, slow) } else { (slow, fast) };
        let number = |at: usize| self.whole.as_ref().map_or(at + self.first, |whole| whole.number(at));
        let (row, col) = (number(row), number(col));
        SolverError::of_entry([row, col], [r, c], block[entry].double())
    }

    /// Whether sweeps or factors are made of blocks in f32.
    fn is_single(&self) -> bool {
        self.options.policy != Policy::D && self.options.preconditioner != PreconditionerKind::None
    }

    /// The largest magnitude beside the diagonal that sweeps and factors can be made of.
    fn largest_beside(&self) -> f64 {
        if self.is_single() { f32::MAX.into() } else { f64::MAX }
    }

    /// The magnitude that some entry must have, if there are any but zeros: solutions of smaller ones are beyond f32, too. Where other ranks have
    /// rows, theirs may be larger.
    fn least(&self) -> f64 {
        let others = self.link.is_some() || self.whole.is_some();
        if self.is_single() && !others { LEAST_SINGLE } else { 0.0 }
    }
}

/// Rows that nobody keeps.
struct Passing<'a, V>(&'a Intake<'a, V>);

impl<V: Value> RowSource for Passing<'_, V> {
    #[inline]
    unsafe fn row(&self, row: usize, room: &mut Buffer<f64>) -> RowAt {
        let (diag, off) = room.split_at_mut(self.0.block_len());
        let off = &mut off[..self.0.off_len(row)];
        self.0.row(row, diag, off);
        RowAt { diag: diag.as_ptr(), off: off.as_ptr() }
    }

    fn places(&self, row: usize, tell: &mut dyn FnMut(*const u8, usize)) {
        self.0.places(row, tell);
    }
}

/// Rows that become those of the matrix.
struct Staying<'a, V> {
    intake: &'a Intake<'a, V>,
    diag: SharedSlice<'a, f64>,
    off: SharedSlice<'a, f64>,
}

impl<'a, V: Value> Staying<'a, V> {
    fn new(intake: &'a Intake<'a, V>, matrix: &'a mut Jacobian) -> Self {
        matrix.begin_assembly();
        let OffDiagonal::F64(off) = &mut matrix.off else { unreachable!("the matrix is kept in f64") };
        Self { intake, diag: SharedSlice::new(&mut matrix.diag), off: SharedSlice::new(off) }
    }
}

impl<V: Value> RowSource for Staying<'_, V> {
    #[inline]
    unsafe fn row(&self, row: usize, _: &mut Buffer<f64>) -> RowAt {
        // SAFETY: nobody else asks for this row, and each has its own part of the matrix.
        let (diag, off) =
            unsafe { (self.diag.write(self.intake.diag_at(row)), self.off.write(self.intake.off_at(row))) };
        self.intake.row(row, diag, off);
        RowAt { diag: diag.as_ptr(), off: off.as_ptr() }
    }

    fn places(&self, row: usize, tell: &mut dyn FnMut(*const u8, usize)) {
        self.intake.places(row, tell);
    }
}
