//! The drop-in solver for a flow code: pattern once, values often, method and precision chosen at run time.
//!
//! [`LinearSolver`] takes a matrix as the caller has it; [`AssembledSolver`] works on a [`Jacobian`] that the caller
//! assembles and keeps.

mod arrays;
mod assembled;
#[cfg(feature = "cuda")]
mod cuda;
mod error;
#[cfg(test)]
mod factor_tests;
mod global;
mod keys;
mod layout;
mod many;
mod null_space;
mod numeric;
mod operator;
mod options;
#[cfg(test)]
mod order_tests;
mod ranks;
#[cfg(test)]
mod ranks_tests;
#[cfg(test)]
mod tests;

pub use arrays::{BlockLayout, Index, IndexBase, Value, Values};
pub use assembled::AssembledSolver;
#[cfg(feature = "cuda")]
pub(crate) use cuda::transfer_source;
#[cfg(feature = "cuda")]
pub use cuda::{ArrayIn, ArrayOut, LinearSolverCuda};
pub use error::SolverError;
pub use global::{ErrorKind, GlobalError, OwnedRows, agree};
pub use keys::{KeyError, OptionKey, OptionKind};
pub use null_space::NullSpace;
pub use numeric::NumericReport;
pub use options::{Method, MethodWord, PreconditionerKind, RowOrder, SolverOptions};
pub use ranks::{Ranks, RanksError};

use crate::krylov::{LinearOperator, Solve};
use crate::order::{Order, PlanReport, Schedule};
use crate::sparse::{ShapeError, check_len, check_nb};
use crate::{BlockPattern, Jacobian, Permutation, Policy, RowBatches, vector};
use chromaflow_device::Team;
use global::{OnAll, Whole};
use layout::{Layout, Rows};
use many::scale_of;
use null_space::{Constants, Open};
use operator::{CallersOperator, Watch, Watched};
use ranks::{Ghosts, Joined, Link, RankRows};
use std::sync::{Arc, Mutex, OnceLock};

/// Solves A x = b for block-sparse matrices as implicit flow codes assemble them.
///
/// * **Symbolic**, once a mesh: [`LinearSolver::symbolic`] or [`LinearSolver::symbolic_from_arrays`] takes the pattern as
///   the caller has it (rows in any order, columns of a row in any order, counted from 0 or 1) and renumbers and colors
///   it inside.
/// * **Numeric**, as often as the matrix changes: [`LinearSolver::numeric`] takes the blocks in the order of that pattern,
///   column-major (Fortran) or row-major (C), splits, rounds and factors them.
/// * [`LinearSolver::solve`] solves by a method around a preconditioner, [`LinearSolver::apply`] applies the preconditioner
///   alone, [`LinearSolver::multiply`] multiplies with the matrix; vectors come and go in the caller's order of rows.
///
/// **Shapes**: `values [nnzb, nb, nb]`, `b`, `x`: `[rows, nb]`. **Precision**: by
/// [`SolverOptions::policy`]; vectors come and go in f64, and tolerances are judged by f64 residuals of the f64 matrix
/// whatever the policy. **Results** do not depend on the number of threads.
///
/// **Memory**: the matrix in f64, unless [`SolverOptions::keep_matrix`] is off; for relaxations the diagonal blocks factored and, unless the policy is `d`, the
/// off-diagonal blocks once more in its precision; for block ILU its factors.
///
/// ```
/// use chromaflow::solver::{BlockLayout, IndexBase, LinearSolver, SolverOptions};
/// use chromaflow::{Outcome, Team};
/// use std::sync::Arc;
/// // Three rows of 2 x 2 blocks in a chain; indices count from 1, the diagonal block comes first in each row.
/// let row_ptr = [1, 3, 6, 8];
/// let col_idx = [1, 2, 2, 1, 3, 3, 2];
/// let team = Arc::new(Team::new(2));
/// let options = SolverOptions::default();
/// let mut solver = LinearSolver::symbolic_from_arrays(team, IndexBase::One, &row_ptr, &col_idx, 2, options)?;
///
/// let (diagonal, neighbor) = ([4.0, 1.0, 0.0, 4.0], [-1.0, 0.0, 0.0, -1.0]);
/// let blocks = [diagonal, neighbor, diagonal, neighbor, neighbor, diagonal, neighbor];
/// solver.numeric(&blocks.concat(), BlockLayout::ColumnMajor)?;
///
/// let mut x = [0.0; 6];
/// let report = solver.solve(&[3.0, 4.0, 2.0, 3.0, 3.0, 4.0], &mut x)?;
/// assert_eq!(report.outcome, Outcome::Converged);
/// assert!(x.iter().zip([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).all(|(x, e): (&f64, f64)| (x - e).abs() < 1e-9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LinearSolver {
    team: Arc<Team>,
    options: SolverOptions,
    order: Order,
    /// Made when somebody asks for it.
    report: OnceLock<PlanReport>,
    layout: Layout,
    schedule: Schedule,
    /// Where the off-diagonal blocks are, inside.
    pattern: Arc<BlockPattern>,
    nb: usize,
    /// The matrix in f64; none where only its incomplete factors are asked for ([`SolverOptions::keep_matrix`]).
    exact: Option<Jacobian>,
    /// What is swept, where its off-diagonal blocks are kept in less; its diagonal blocks are factored in place.
    reduced: Option<Jacobian>,
    solver: AssembledSolver,
    /// The number of the caller's first row.
    first: usize,
    /// The caller has the diagonal blocks in an array of their own.
    apart: bool,
    /// Blocks in columns of other ranks, and the way to them.
    ghosts: Ghosts,
    link: Option<Mutex<Link>>,
    /// What all ranks have together, where columns are global.
    whole: Option<Whole>,
    watch: Option<Watch>,
    /// Some rank of several is watched: all ask whether to go on.
    watched: bool,
    /// Whether it may be told of several solves in turn.
    in_turn: bool,
    has_values: bool,
    /// What [`SolverOptions::null_space`] asks for, once a solve has found it.
    constants: Option<Constants>,
    b: Vec<f64>,
    x: Vec<f64>,
}

/// Other ranks, where there are any.
fn joined<'a>(
    link: Option<&'a Mutex<Link>>,
    ghosts: &'a Ghosts,
    permutation: &'a Permutation,
) -> Result<Option<Joined<'a>>, SolverError> {
    match (link, ghosts.count()) {
        (Some(link), _) => Ok(Some(Joined { ghosts, permutation, link })),
        (None, 0) => Ok(None),
        (None, ghosts) => Err(SolverError::NoRanks { ghosts }),
    }
}

/// The matrix itself, where it is to be had.
fn kept<'a>(options: &SolverOptions, exact: Option<&'a Jacobian>) -> Result<&'a Jacobian, SolverError> {
    exact.filter(|_| options.keep_matrix).ok_or(SolverError::NotKept)
}

fn apply_length(what: &'static str, found: usize, expected: usize) -> Result<(), ShapeError> {
    check_len(what, found, expected, || "one value an unknown".to_owned())
}

impl LinearSolver {
    /// Sets up for matrices of nb x nb blocks on `pattern`: all with their diagonal blocks, or none where these come apart
    /// ([`LinearSolver::numeric_apart`]). This is the expensive, once-only part: renumbering and coloring.
    ///
    /// # Errors
    /// [`SolverError`] when the pattern is not square, some rows have no diagonal block, or the options contradict one
    /// another.
    pub fn symbolic(
        team: Arc<Team>,
        pattern: &BlockPattern,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        Self::with_rows(team, Rows::from_pattern(pattern)?, nb, options)
    }

    /// The same from index arrays, `row_ptr [rows + 1]` and `col_idx [nnzb]`, columns of a row in any order. Errors and
    /// reports number rows and columns as these do.
    ///
    /// # Errors
    /// As [`LinearSolver::symbolic`], and when the arrays make no pattern.
    pub fn symbolic_from_arrays<I: Index>(
        team: Arc<Team>,
        base: IndexBase,
        row_ptr: &[I],
        col_idx: &[I],
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        Self::symbolic_with_ghosts(team, base, row_ptr, col_idx, 0, nb, options)
    }

    /// The same for the rows of one rank: columns `rows .. rows + ghosts`, counted from 0, are rows of other ranks that own rows
    /// couple with. [`LinearSolver::distribute`] says how their values come here. Vectors have own rows alone.
    ///
    /// Products and norms are those of the whole matrix, a preconditioner's factors those of own rows: block ILU is block Jacobi
    /// between ranks, sweeps take the ghosts' values of the sweep before.
    ///
    /// # Errors
    /// As [`LinearSolver::symbolic_from_arrays`].
    pub fn symbolic_with_ghosts<I: Index>(
        team: Arc<Team>,
        base: IndexBase,
        row_ptr: &[I],
        col_idx: &[I],
        ghosts: usize,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        let rows = Rows::from_arrays(base, row_ptr, col_idx, ghosts)?;
        Self::with_rows(team, rows, nb, options)
    }

    /// Makes this the rows of one rank of a matrix on several. From then on all ranks solve and multiply together, and apply
    /// together where the preconditioner is more than one sweep: calls that one rank makes and another does not wait for ever.
    /// Values and options come rank by rank; options must be the same on all. A solver [over ranks](LinearSolver::symbolic_over_ranks) has its
    /// way to others and keeps it.
    pub fn distribute(&mut self, ranks: Box<dyn Ranks>) {
        if self.whole.is_some() {
            return;
        }
        let entries = self.b.len() + self.ghosts.count() * self.nb;
        self.link = Some(Link::new(ranks, entries));
    }

    /// Whom to tell after each iteration of a solve: `watch(iteration, relative residual)`. False ends the solve there, with the
    /// solution so far and [`Outcome::IterationLimit`](crate::Outcome::IterationLimit). With [ghosts](LinearSolver::symbolic_with_ghosts) all
    /// ranks must answer alike; [over ranks](LinearSolver::symbolic_over_ranks) one that is watched and says false ends it for all.
    pub fn watch(&mut self, watch: Option<Box<dyn FnMut(usize, f64) -> bool + Send>>) {
        self.watch = watch;
    }

    /// Whether whoever watches may be told of several solves in turn ([`LinearSolver::solve_many`]), without being told of which; otherwise
    /// those that are watched are done one after the other.
    pub fn watch_in_turn(&mut self, in_turn: bool) {
        self.in_turn = in_turn;
    }

    fn with_rows(
        team: Arc<Team>,
        mut rows: Rows,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        check_nb(nb)?;
        options.check().map_err(SolverError::Options)?;
        let order = Order::new(&rows.pattern, options.effective_plan(), &team)?;
        let (pattern, layout) = Layout::new(&mut rows, &order.permutation);
        let ghosts = Ghosts::new(&rows, &order.permutation, nb);
        let (first, apart) = (rows.first, rows.apart);
        let inside = (order, layout, Arc::new(pattern));
        let solver = Self::with_order(team, inside, nb, options, None)?;
        Ok(Self { first, apart, ghosts, ..solver })
    }

    fn with_order(
        team: Arc<Team>,
        (order, layout, pattern): (Order, Layout, Arc<BlockPattern>),
        nb: usize,
        options: SolverOptions,
        whole: Option<Whole>,
    ) -> Result<Self, SolverError> {
        let zeroed = |policy| Jacobian::zeroed(Arc::clone(&pattern), nb, policy);
        // Factors of a rank's own rows are made of the matrix.
        let dispensable = options.preconditioner.fill().is_some() && whole.is_none();
        let exact = (options.keep_matrix || !dispensable).then(|| zeroed(Policy::D)).transpose()?;
        let in_less = options.preconditioner.is_relaxation() && options.policy != Policy::D;
        let reduced = in_less.then(|| zeroed(options.policy)).transpose()?;
        let solver = match &whole {
            None => AssembledSolver::new(&team, &pattern, nb, &order.batches, &options.closed())?,
            Some(whole) => AssembledSolver::set_up(
                &team,
                &pattern,
                nb,
                &order.batches,
                Some(&whole.share),
                &options.closed(),
            )?,
        };
        let schedule = Schedule::for_team(&pattern, nb, &order.batches, &team);
        let n = pattern.rows() * nb;
        Ok(Self {
            team,
            options,
            order,
            report: OnceLock::new(),
            layout,
            schedule,
            pattern,
            nb,
            exact,
            reduced,
            solver,
            first: 0,
            apart: false,
            ghosts: Ghosts::none(nb),
            link: None,
            whole,
            watch: None,
            watched: false,
            in_turn: false,
            has_values: false,
            constants: None,
            b: vec![0.0; n],
            x: vec![0.0; n],
        })
    }

    /// Solves A x = b by the method of the options, from the first guess in `x` (zeros when in doubt).
    ///
    /// # Errors
    /// [`SolverError`] on misuse and for a `b` or `x` that holds NaN or infinity. Numerical failure is no error but an
    /// [`Outcome`](crate::Outcome), judged by the f64 residual of the f64 matrix; `x` is then what the method had in the end.
    pub fn solve(&mut self, b: &[f64], x: &mut [f64]) -> Result<Solve, SolverError> {
        kept(&self.options, self.exact.as_ref())?;
        let scale = scale_of(self.begin(b, x)?);
        self.scale_by(scale);
        self.open_constants()?;
        let exact = kept(&self.options, self.exact.as_ref())?;
        let swept = Some(self.reduced.as_ref().unwrap_or(exact));
        let joined = joined(self.link.as_ref(), &self.ghosts, &self.order.permutation)?;
        let whole = joined.map(|joined| RankRows { own: exact, joined });
        let operator: &dyn LinearOperator = whole.as_ref().map_or(exact, |whole| whole);
        let among = self.whole.as_ref().filter(|_| self.watched).map(|whole| &*whole.share);
        let operator = Watched::new(operator, self.watch.as_mut(), among);
        let open = self.constants.as_ref().map(|constants| Open::new(&operator, constants));
        let operator: &dyn LinearOperator = open.as_ref().map_or(&operator, |open| open);
        let solve = self.solver.solve_among(operator, swept, joined, &self.b, &mut self.x)?;
        joined.map_or(Ok(()), |joined| joined.ended())?;
        self.close_constants();
        self.scale_by(scale.map(f64::recip));
        self.give(x)?;
        Ok(solve)
    }

    /// As [`LinearSolver::solve`] with a matrix that is nowhere stored: `operator(x, y)` does y = A x in the caller's order of
    /// rows, and pattern and values serve the preconditioner alone.
    ///
    /// # Errors
    /// As [`LinearSolver::solve`].
    pub fn solve_matrix_free(
        &mut self,
        operator: &mut dyn FnMut(&[f64], &mut [f64]),
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solve, SolverError> {
        if self.options.null_space != NullSpace::None {
            let text = "null_space = constant looks at the matrix, of which a product alone tells too little: set null_space=none";
            return Err(SolverError::Options(text.to_owned()));
        }
        self.begin(b, x)?;
        let swept = self.reduced.as_ref().or(self.exact.as_ref());
        let joined = joined(self.link.as_ref(), &self.ghosts, &self.order.permutation)?;
        let operator = CallersOperator::new(operator, &self.order.permutation, self.rows(), self.nb, joined);
        let among = self.whole.as_ref().filter(|_| self.watched).map(|whole| &*whole.share);
        let operator = Watched::new(&operator, self.watch.as_mut(), among);
        let solve = self.solver.solve_among(&operator, swept, joined, &self.b, &mut self.x)?;
        joined.map_or(Ok(()), |joined| joined.ended())?;
        self.give(x)?;
        Ok(solve)
    }

    /// Looks at right-hand side and first guess and brings them in; the largest magnitude of the right-hand side, on all ranks.
    fn begin(&mut self, b: &[f64], x: &[f64]) -> Result<f64, SolverError> {
        let lengths = || -> Result<(), SolverError> {
            apply_length("b", b.len(), self.entries())?;
            Ok(apply_length("x", x.len(), self.entries())?)
        };
        let look = |(what, v): (&'static str, &[f64])| match (
            vector::first_not_finite(&self.team, v),
            &self.whole,
        ) {
            (Some(at), Some(whole)) => Err(whole.not_finite(what, at, self.nb, v[at])),
            (Some(at), None) => Err(SolverError::NotFiniteVector { what, at, value: v[at] }),
            (None, _) => self.ready(),
        };
        let here = || look(("b", b)).and_then(|()| look(("x", x)));
        let mut largest = vector::largest(&self.team, b);
        if let Some(whole) = &self.whole {
            let good = lengths().and_then(|()| here());
            let all = whole.agree(good, &self.options, OnAll { watched: self.watch.is_some(), largest })?;
            (self.watched, largest) = (all.watched, all.largest);
        } else {
            lengths()?;
            match joined(self.link.as_ref(), &self.ghosts, &self.order.permutation)? {
                Some(joined) => largest = joined.agree(here(), largest)?,
                None => here()?,
            }
        }
        self.bring(true, b);
        self.bring_solution(false, x);
        Ok(largest)
    }

    /// z = M r: the preconditioner alone, once. No residual is formed and no entry looked at; of a relaxation, `z` is what
    /// its sweeps from zero give, as the nonlinear iteration of a flow code wants it.
    ///
    /// # Errors
    /// [`SolverError`] for wrong lengths and before any values.
    pub fn apply(&mut self, r: &[f64], z: &mut [f64]) -> Result<(), SolverError> {
        apply_length("r", r.len(), self.entries())?;
        apply_length("z", z.len(), self.entries())?;
        self.ready()?;
        let swept = self.reduced.as_ref().or(self.exact.as_ref());
        // One sweep from zero, and factors, see no other rank.
        let alone = !self.options.preconditioner.is_relaxation() || self.options.sweeps <= 1;
        let joined =
            if alone { None } else { joined(self.link.as_ref(), &self.ghosts, &self.order.permutation)? };
        if self.order.permutation.is_identity() && self.whole.is_none() {
            self.solver.apply_among(swept, joined, r, z)?;
            return joined.map_or(Ok(()), |joined| joined.ended());
        }
        self.order.permutation.gather_first_with(&self.team, self.nb, r, &mut self.b);
        self.solver.apply_among(swept, joined, &self.b, &mut self.x)?;
        joined.map_or(Ok(()), |joined| joined.ended())?;
        self.give(z)
    }

    /// y = A x, with the matrix in f64.
    ///
    /// # Errors
    /// [`SolverError`] for wrong lengths, before any values and where the matrix is not kept.
    pub fn multiply(&mut self, x: &[f64], y: &mut [f64]) -> Result<(), SolverError> {
        apply_length("x", x.len(), self.entries())?;
        apply_length("y", y.len(), self.entries())?;
        self.ready()?;
        kept(&self.options, self.exact.as_ref())?;
        let direct = self.order.permutation.is_identity() && self.whole.is_none();
        if !direct {
            self.bring_solution(true, x);
        }
        let exact = kept(&self.options, self.exact.as_ref())?;
        let joined = joined(self.link.as_ref(), &self.ghosts, &self.order.permutation)?;
        let multiply = |x: &[f64], y: &mut [f64]| match joined {
            None => exact.multiply(&self.team, x, y),
            Some(joined) => RankRows { own: exact, joined }.apply(&self.team, x, y),
        };
        if direct {
            multiply(x, y);
            return joined.map_or(Ok(()), |joined| joined.ended());
        }
        multiply(&self.b, &mut self.x);
        joined.map_or(Ok(()), |joined| joined.ended())?;
        self.give(y)
    }

    /// There are values.
    fn ready(&self) -> Result<(), SolverError> {
        if self.has_values { Ok(()) } else { Err(SolverError::NoValues) }
    }

    /// Entries of a vector of the caller's.
    fn entries(&self) -> usize {
        self.rows() * self.nb
    }

    /// Hands a solution out in the caller's order.
    fn give(&self, x: &mut [f64]) -> Result<(), SolverError> {
        self.whole.as_ref().map_or(Ok(()), Whole::ended)?;
        self.order.permutation.scatter_first_with(&self.team, self.nb, &self.x, x);
        Ok(())
    }

    /// How to solve from now on: tolerance, iterations, sweeps, damping, direction, restart. What the solver was set up
    /// with (preconditioner, policy, order) stays.
    ///
    /// # Errors
    /// [`SolverError::Options`] when one of the latter differs.
    pub fn set_options(&mut self, options: SolverOptions) -> Result<(), SolverError> {
        options.check().map_err(SolverError::Options)?;
        options.check_setup(&self.options).map_err(SolverError::Options)?;
        self.solver.retune(&options.closed());
        if let Some(whole) = &mut self.whole {
            whole.set_options(&options);
        }
        self.options = options;
        Ok(())
    }

    /// The options in use.
    pub fn options(&self) -> &SolverOptions {
        &self.options
    }

    /// Bandwidth, profile, colors; over ranks of this rank's rows and the ghosts among them.
    pub fn order(&self) -> &PlanReport {
        self.report.get_or_init(|| self.order.report(&self.pattern))
    }

    /// From the caller's order of rows, over ranks with ghosts behind them, to the one inside.
    pub fn permutation(&self) -> &Permutation {
        &self.order.permutation
    }

    /// The batches of the sweeps, colors where rows are colored, in the order inside; over ranks those of this rank's rows and ghosts.
    pub fn batches(&self) -> &RowBatches {
        &self.order.batches
    }

    /// The precision policy.
    pub fn policy(&self) -> Policy {
        self.options.policy
    }

    /// Bytes of matrices, factors and work vectors, as far as the solver keeps them.
    pub fn bytes(&self) -> usize {
        let reduced = self.reduced.as_ref().map_or(0, |m| m.bytes() - m.pattern().bytes());
        let apart = self.reduced.is_none() && self.options.preconditioner.is_relaxation();
        let exact = self.exact.as_ref();
        let diagonal = exact.filter(|_| apart).map_or(0, |exact| exact.diag.bytes());
        exact.map_or(self.pattern.bytes(), Jacobian::bytes)
            + reduced
            + diagonal
            + self.solver.factor_bytes()
            + self.layout.bytes()
            + self.ghosts.bytes()
            + self.link.as_ref().map_or(0, |l| l.lock().map_or(0, |l| l.bytes()))
            + self.whole.as_ref().map_or(0, Whole::bytes)
            + 8 * (self.b.len() + self.x.len())
    }
}
