//! A relaxation of whichever kind, set up for a pattern: see [`Smoother`].

use super::diagonal::{DiagonalForm, FactorReport, Factors, Target, factor};
use super::lines::factor::{Couplings, Elimination};
use super::lines::{LineTable, starts};
use super::solve::Work;
use super::{RelaxError, RelaxOptions, SolveOptions, SolveReport, check_batches, check_rows};
use crate::dist::Share;
use crate::order::{RowBatches, Schedule};
use crate::sparse::{BlockPattern, Jacobian, OffDiagonal, check_len, check_nb, check_square};
use chromaflow_device::{Buffer, Isa, Team};
use std::sync::Arc;

/// Whether rows of a batch see one another's new values: a batch of independent rows cannot tell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    /// New values take the place of the old ones.
    InPlace,
    /// All new values come from old ones.
    Simultaneous,
    /// New values of a line's rows come together and take the place of the old ones.
    Lines,
}

/// A relaxation of A x = (D + O) x = b, set up for a pattern, a block size and a team: [`Smoother::multicolor`],
/// [`Smoother::jacobi`], [`Smoother::lines`].
///
/// **Precision**: that of the Jacobian's [`Policy`](crate::Policy). `d`: all in f64. `ds`, `dsh`: x and the sums of
/// O x in f32, b - O x and the solve with D in f64. Solutions and right-hand sides come and go in f64.
///
/// **Outcome**: [`SolveReport`]; fixed sweeps end with `IterationLimit`, a singular diagonal block with `Breakdown`.
pub struct Smoother {
    pub(super) team: Arc<Team>,
    pub(super) pattern: Arc<BlockPattern>,
    pub(super) nb: usize,
    pub(super) schedule: Schedule,
    pub(super) update: Update,
    pub(super) isa: Isa,
    form: DiagonalForm,
    factors: Option<Factors>,
    /// Where rows form lines: these, and what couples their rows.
    pub(super) lines: Option<(LineTable, Option<Couplings>)>,
    pub(super) work: Work,
    /// Where the rows are divided among ranks.
    pub(super) share: Option<Arc<Share>>,
}

impl Smoother {
    pub(super) fn new(
        team: Arc<Team>,
        pattern: Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        update: Update,
        options: RelaxOptions,
    ) -> Result<Self, RelaxError> {
        check_nb(nb)?;
        check_square(&pattern)?;
        match update {
            Update::Simultaneous => check_rows(&pattern, batches)?,
            Update::InPlace | Update::Lines => check_batches(&pattern, batches, update == Update::Lines)?,
        }
        let isa = options.isa.unwrap_or_else(Isa::detect);
        if !Isa::available().contains(&isa) {
            return Err(RelaxError::NoIsa(isa.name()));
        }
        let schedule = Schedule::for_team(&pattern, nb, batches, &team).of_lines(batches);
        let (form, work) = (options.diagonal, Work::default());
        let lines = (update == Update::Lines).then(|| (LineTable::new(&pattern, &starts(batches)), None));
        Ok(Self { team, pattern, nb, schedule, update, isa, form, factors: None, lines, work, share: None })
    }

    /// The rows are those of a rank: sweeps update the rows it owns and exchange each color, so that x is on every rank what one
    /// rank alone would have, bit for bit; ghosts of x come out as the matrix needs them. Of lines it has those whose rows it owns;
    /// ghosts stand alone, since nobody solves for them here. Residuals, and with them tolerances, histories and restarts, are not
    /// looked at over ranks: that is for a Krylov method around the sweeps.
    ///
    /// # Errors
    /// [`RelaxError::Rows`] for a share of other rows, [`RelaxError::CutLine`] for a line that several ranks own rows of.
    pub fn over(mut self, share: &Arc<Share>) -> Result<Self, RelaxError> {
        let (found, rows) = (share.rows(), self.pattern.rows());
        if found != rows {
            return Err(RelaxError::Rows { found, rows });
        }
        if let Some((table, couplings)) = &mut self.lines {
            let owned = table.starts_of_owned(share)?;
            (*table, *couplings) = (LineTable::new(&self.pattern, &owned), None);
        }
        self.share = Some(Arc::clone(share));
        Ok(self)
    }

    /// Bytes of what couples the rows of lines, besides the factors of the diagonal blocks.
    pub fn coupling_bytes(&self) -> usize {
        self.lines.as_ref().and_then(|(_, couplings)| couplings.as_ref()).map_or(0, Couplings::bytes)
    }

    /// Whether first sweeps from zero leave out what is zero: over ranks they read what others have sent, and new values of simultaneous
    /// updates are read by none.
    pub(super) fn skips_zeros(&self) -> bool {
        self.share.is_none() && self.update != Update::Simultaneous
    }

    /// Who does which rows: data of a row is best written first by its owner.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The vector instructions in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    fn check(&self, jac: &Jacobian) -> Result<(), RelaxError> {
        let same = Arc::ptr_eq(&self.pattern, jac.pattern()) || self.pattern == *jac.pattern();
        if same && self.nb == jac.nb() && jac.diag.len() == jac.rows() * jac.nb() * jac.nb() {
            Ok(())
        } else {
            Err(RelaxError::OtherMatrix)
        }
    }

    /// Factors the diagonal blocks, or lines, into memory of its own: call it after every change of the matrix.
    ///
    /// # Errors
    /// [`RelaxError::OtherMatrix`] when the matrix does not fit. Blocks that cannot be factored are reported, not
    /// errors.
    pub fn factor(&mut self, jac: &Jacobian) -> Result<FactorReport, RelaxError> {
        self.check(jac)?;
        if !jac.is_whole() {
            return Err(RelaxError::DiagonalGone);
        }
        let memory = self.factors.take().and_then(Factors::into_buffer);
        let memory = memory.unwrap_or_else(|| Buffer::zeroed(jac.diag.len()));
        Ok(self.factor_into(Target::Apart(&jac.diag, memory), &jac.off))
    }

    /// Factors the diagonal blocks where they are, which saves memory: `jac.diag` then holds the factors, and solves
    /// must be given this very matrix. No residual can be formed then.
    ///
    /// # Errors
    /// As [`Smoother::factor`].
    pub fn factor_in_place(&mut self, jac: &mut Jacobian) -> Result<FactorReport, RelaxError> {
        self.check(jac)?;
        if !jac.is_whole() {
            return Err(RelaxError::DiagonalGone);
        }
        let (diag, off) = jac.replace_diagonal();
        Ok(self.factor_into(Target::InPlace(diag), off))
    }

    fn factor_into(&mut self, target: Target<'_>, off: &OffDiagonal) -> FactorReport {
        let (isa, nb, form) = (self.isa, self.nb, self.form);
        let lines = self.lines.as_mut().map(|(table, couplings)| {
            let kept = couplings.take().filter(|couplings| couplings.fit(off));
            let room = kept.unwrap_or_else(|| Couplings::zeroed(off, table.stored(), nb));
            Elimination::new(table, &self.pattern, off, couplings.insert(room))
        });
        let (factors, report) = factor(&self.team, &self.schedule, isa, nb, form, target, lines.as_ref());
        self.factors = Some(factors);
        report
    }

    /// Relaxes A x = b.
    ///
    /// **Shapes**: `b`, `x`: `[rows, nb]`.
    ///
    /// # Errors
    /// [`RelaxError`] on misuse; numerical failure is an outcome.
    pub fn solve(
        &mut self,
        jac: &Jacobian,
        b: &[f64],
        x: &mut [f64],
        options: &SolveOptions,
    ) -> Result<SolveReport, RelaxError> {
        self.solve_corrected(jac, jac, b, x, options)
    }

    /// Relaxes `outer` x = b by sweeps with `jac`, an approximation of it on the same pattern, say the same matrix with
    /// off-diagonal blocks in f16: residuals (for the tolerance, the history and restarts) are those of `outer`. Useful
    /// with [`SolveOptions::restart`] only.
    ///
    /// # Errors
    /// As [`Smoother::solve`].
    pub fn solve_corrected(
        &mut self,
        jac: &Jacobian,
        outer: &Jacobian,
        b: &[f64],
        x: &mut [f64],
        options: &SolveOptions,
    ) -> Result<SolveReport, RelaxError> {
        self.check(jac)?;
        self.check(outer)?;
        let (rows, nb) = (self.pattern.rows(), self.nb);
        check_len("b", b.len(), rows * nb, || format!("{rows} rows of {nb}"))?;
        check_len("x", x.len(), rows * nb, || format!("{rows} rows of {nb}"))?;
        if self.share.is_some()
            && (options.tolerance.is_some() || options.history || options.restart.is_some())
        {
            return Err(RelaxError::OverRanks);
        }
        let factors = self.factors.take().ok_or(RelaxError::NotFactored)?;
        let fit =
            |(_, couplings): &(_, Option<Couplings>)| couplings.as_ref().is_some_and(|c| c.fit(&jac.off));
        if factors.in_place() && jac.is_whole() || !self.lines.as_ref().is_none_or(fit) {
            self.factors = Some(factors);
            return Err(RelaxError::NotFactored);
        }
        let result = self.solve_factored(&factors, jac, outer, b, x, options);
        self.factors = Some(factors);
        result
    }
}
