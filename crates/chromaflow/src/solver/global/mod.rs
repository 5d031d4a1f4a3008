//! A matrix whose rows several ranks have, columns in global numbers.
//!
//! | file | |
//! |---|---|
//! | `rows.rs` | from the caller's arrays to a [`Share`]: owners of columns, colors of all ranks together, the order inside |
//! | `late.rs` | sweeps in the order of own rows |
//! | `error.rs` | what is wrong on one rank, told to all |

mod error;
mod late;
mod rows;
#[cfg(test)]
pub(super) mod tests;

pub use error::{ErrorKind, GlobalError, agree};
pub(super) use late::LateSweeps;

use super::layout::Layout;
use super::{Index, IndexBase, LinearSolver, SolverError, SolverOptions};
use crate::dist::{Links, Share, ShareError};
use crate::order::Order;
use crate::sparse::{PatternError, check_nb};
use crate::{BlockPattern, Permutation};
use chromaflow_comm::{Communicator, Op};
use chromaflow_device::Team;
use rows::{Inside, Parsed};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The rows of one rank of a matrix that all ranks have together, as PETSc (`MATMPIBAIJ`) and hypre (`IJ`) have them: a range of global rows, the
/// ranges of the ranks one after the other, and columns in global numbers. A rank may have no rows.
///
/// **Shapes**: `row_ptr [rows + 1]`, `col_idx [nnzb]`.
#[derive(Clone, Copy, Debug)]
pub struct OwnedRows<'a, P, C> {
    /// From what all numbers count, on every rank the same.
    pub base: IndexBase,
    /// The global number of the first row.
    pub start: u64,
    /// Where the blocks of each row begin among this rank's, and their end.
    pub row_ptr: &'a [P],
    /// The global column of each block, in any order within a row.
    pub col_idx: &'a [C],
}

/// What a rank knows of the whole matrix.
pub(super) struct Whole {
    pub(super) share: Arc<Share>,
    /// Own rows.
    pub(super) rows: usize,
    /// The global numbers of the ghosts, from 0.
    ghosts: Vec<u32>,
    /// The global number of the first row, from 0.
    start: usize,
    /// From what the caller's numbers count.
    base: usize,
    /// Where the colors begin.
    colors: Vec<u32>,
    /// Of the options, which have to be the same on all ranks.
    options: f64,
}

/// A rank's rows set up.
pub(super) struct Global {
    pub(super) whole: Whole,
    pub(super) order: Order,
    pub(super) layout: Layout,
    pub(super) pattern: Arc<BlockPattern>,
    /// Diagonal blocks come apart.
    pub(super) apart: bool,
}

fn of_share(error: ShareError) -> SolverError {
    match error {
        ShareError::Ranks(error) => error.into(),
        ShareError::Rows { .. } => SolverError::Options(error.to_string()),
    }
}

/// A number that options have in common with few others.
fn fingerprint(options: &SolverOptions) -> f64 {
    let mut hasher = DefaultHasher::new();
    format!("{options:?}").hash(&mut hasher);
    (hasher.finish() >> 12) as f64
}

impl Global {
    /// Looks at what all ranks give and sets up. Collective; errors are the same on all ranks.
    pub(super) fn new<P: Index, C: Index>(
        ranks: Arc<dyn Communicator>,
        given: OwnedRows<'_, P, C>,
        nb: usize,
        options: &SolverOptions,
        check: impl FnOnce() -> Result<(), SolverError>,
        team: &Team,
    ) -> Result<Self, SolverError> {
        let (comm, base) = (&*ranks, given.base.first());
        let here = || -> Result<usize, SolverError> {
            check_nb(nb)?;
            check()?;
            let rows = given.row_ptr.len().checked_sub(1);
            Ok(rows.ok_or(PatternError::Start { first: base })?)
        };
        let rows = agree(comm, here())?;
        let said = format!("block size {nb}\nindices from {base}\n{options:#?}");
        error::same(comm, &said)?;
        let starts = error::joined(comm, base, [given.start, rows as u64])?;
        let (start, columns) = (starts[comm.rank()] as usize, starts[comm.size()] as usize);
        let parsed = agree(comm, Parsed::new(&given, start..start + rows, columns))?;
        let apart = parsed.apart(comm, base)?;
        let Inside { order, layout, pattern, share, colors } =
            Inside::new(&parsed, ranks, &starts, options.effective_plan(), team)?;
        let (ghosts, options) = (parsed.ghosts, fingerprint(options));
        let whole = Whole { share, rows, ghosts, start, base, colors, options };
        Ok(Self { whole, order, layout, pattern, apart })
    }
}

/// What a rank brings to a call, or all of them do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnAll {
    /// Somebody watches.
    pub(super) watched: bool,
    /// The largest magnitude of the right-hand side.
    pub(super) largest: f64,
}

impl Whole {
    /// A row or column of the caller's arrays by its place among own rows and ghosts.
    pub(super) fn number(&self, place: usize) -> usize {
        let from_zero = match place.checked_sub(self.rows) {
            None => self.start + place,
            Some(ghost) => self.ghosts[ghost] as usize,
        };
        from_zero + self.base
    }

    /// What entry `at` of a vector is, in global numbers.
    pub(super) fn not_finite(&self, what: &'static str, at: usize, nb: usize, value: f64) -> SolverError {
        SolverError::NotFiniteRow { what, row: self.number(at / nb), entry: at % nb, value }
    }

    /// Sees that all is well on all ranks, and that options are the same; what there is on all of them. Collective; errors are the same on
    /// all ranks.
    pub(super) fn agree(
        &self,
        here: Result<(), SolverError>,
        options: &SolverOptions,
        own: OnAll,
    ) -> Result<OnAll, SolverError> {
        self.share.check()?;
        let ranks = &**self.share.ranks();
        let flag = |flag: bool| f64::from(u8::from(flag));
        let mut told = [flag(here.is_err()), self.options, -self.options, flag(own.watched), own.largest];
        ranks.reduce(Op::Max, &mut told)?;
        if told[0] != 0.0 {
            return Err(error::first_of(ranks, here.err().as_ref())?);
        }
        if told[1].to_bits() != (-told[2]).to_bits() {
            error::same(ranks, &format!("{options:#?}"))?;
        }
        here.map(|()| OnAll { watched: told[3] != 0.0, largest: told[4] })
    }

    /// Where each own row stands in the order of all rows, and where the colors of all begin.
    pub(super) fn order(&self, permutation: &Permutation) -> (Vec<u32>, Vec<u32>) {
        let global = |&at: &u32| self.share.global()[at as usize];
        (permutation.new_of_old()[..self.rows].iter().map(global).collect(), self.colors.clone())
    }

    /// Rows of all ranks, and ghosts of this one.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.share.whole(), self.ghosts.len())
    }

    /// The number of the first row, as the caller counts.
    pub(super) fn first(&self) -> usize {
        self.start + self.base
    }

    /// Ends a call in which messages passed.
    pub(super) fn ended(&self) -> Result<(), SolverError> {
        Ok(self.share.check()?)
    }

    pub(super) fn set_options(&mut self, options: &SolverOptions) {
        self.options = fingerprint(options);
    }

    pub(super) fn bytes(&self) -> usize {
        4 * (self.ghosts.len() + self.colors.len())
    }
}

impl LinearSolver {
    /// Sets up for the rows of one rank of a matrix that all ranks have together, columns in global numbers; collective. Ghosts, neighbors and
    /// exchanges are found here. All other calls are those of a solver on one rank, with vectors of own rows; all ranks make
    /// them together, with the same options.
    ///
    /// Rows get their colors by all ranks together: greedily by their global numbers (natural; largest first), which one rank after the other
    /// does where ranges lie in slabs, or, as all other colorings of the options then mean, in parallel with a pass to reduce them (Jones and
    /// Plassmann 1993). Multicolor and Jacobi
    /// sweeps are those of one rank with these colors, to rounding, on any number of ranks. Block ILU is of each rank's own rows, a block
    /// Jacobi preconditioner between ranks; Gauss-Seidel and SSOR go through own rows and take others' values of the sweep before. Products, norms and Krylov methods are those of the whole matrix.
    ///
    /// ```
    /// use chromaflow::solver::{BlockLayout, IndexBase, LinearSolver, OwnedRows, SolverError, SolverOptions};
    /// use chromaflow::{Outcome, Team};
    /// use chromaflow_comm::{Communicator, Threads, run};
    /// use std::{sync::Arc, time::Duration};
    /// // A chain of four rows, two on each of two ranks (threads here; MPI's are chromaflow_comm::mpi::Mpi).
    /// run(2, Duration::from_secs(10), |ranks: &Threads| -> Result<(), SolverError> {
    ///     let columns: [&[i64]; 2] = [&[0, 1, 0, 1, 2], &[1, 2, 3, 2, 3]];
    ///     let rows: [&[i32]; 2] = [&[0, 2, 5], &[0, 3, 5]];
    ///     let values: [&[f64]; 2] = [&[2., -1., -1., 2., -1.], &[-1., 2., -1., -1., 2.]];
    ///     let own = ranks.rank();
    ///     let given =
    ///         OwnedRows { base: IndexBase::Zero, start: 2 * own as u64, row_ptr: rows[own], col_idx: columns[own] };
    ///     let (team, options) = (Arc::new(Team::new(1)), SolverOptions::default());
    ///     let mut solver = LinearSolver::symbolic_over_ranks(team, Arc::new(ranks.clone()), given, 1, options)?;
    ///     solver.numeric(values[own], BlockLayout::ColumnMajor)?;
    ///     let mut x = [0.0; 2];
    ///     let report = solver.solve(&[[1., 0.], [0., 1.]][own], &mut x)?;
    ///     assert_eq!(report.outcome, Outcome::Converged);
    ///     assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-8));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The same on all ranks: [`SolverError::Global`] for ranges that do not join, ranks that do not agree, and whatever a rank finds wrong
    /// with its arrays or the options, as in [`LinearSolver::symbolic_from_arrays`], in global numbers. [`SolverError::Comm`].
    pub fn symbolic_over_ranks<P: Index, C: Index>(
        team: Arc<Team>,
        ranks: Arc<dyn Communicator>,
        rows: OwnedRows<'_, P, C>,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        let comm = Arc::clone(&ranks);
        let check = || options.check().map_err(SolverError::Options);
        let Global { whole, order, layout, pattern, apart } =
            Global::new(ranks, rows, nb, &options, check, &team)?;
        let first = whole.first();
        let made = Self::with_order(team, (order, layout, pattern), nb, options, Some(whole))
            .map(|solver| Self { first, apart, ..solver });
        agree(&*comm, made)
    }

    /// Own rows: those of a vector.
    pub fn rows(&self) -> usize {
        self.whole.as_ref().map_or(self.pattern.rows(), |whole| whole.rows)
    }

    /// Where each row stands in the order inside, and where its batches begin; of several ranks the order of all rows.
    pub fn order_inside(&self) -> (Vec<u32>, Vec<u32>) {
        let (new_of_old, offsets) = (self.order.permutation.new_of_old(), self.order.batches.offsets());
        match &self.whole {
            None => (new_of_old.to_vec(), offsets.to_vec()),
            Some(whole) => whole.order(&self.order.permutation),
        }
    }

    /// Rows of all ranks, and ghosts of this one.
    pub fn whole_rows(&self) -> (usize, usize) {
        self.whole.as_ref().map_or((self.pattern.rows(), 0), Whole::sizes)
    }

    /// Brings a vector of own rows inside: ghosts become zero.
    pub(super) fn bring(&mut self, to_b: bool, from: &[f64]) {
        let to = if to_b { &mut self.b } else { &mut self.x };
        self.order.permutation.gather_first_with(&self.team, self.nb, from, to);
    }

    /// The same of a solution, whose ghosts are their owners' values. Collective.
    pub(super) fn bring_solution(&mut self, to_b: bool, from: &[f64]) {
        self.bring(to_b, from);
        if let Some(whole) = &self.whole {
            whole.share.exchange(self.nb, if to_b { &mut self.b } else { &mut self.x });
        }
    }
}
