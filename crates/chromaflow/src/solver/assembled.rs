//! A method and its preconditioner for a matrix that somebody else holds.

use super::global::LateSweeps;
use super::options::{Method, PreconditionerKind, SolverOptions, SweepCourse};
use super::ranks::{Joined, RankSweeps};
use super::{NullSpace, SolverError, apply_length};
use crate::dist::{Links, Share};
use crate::factor::block_ilu::{
    BlockIlu, BlockIluOptions, BlockIluReport, IluOverRanks, RowSource, SingularRow,
};
use crate::krylov::{
    BiCgStab, Control, Gmres, Identity, LinearOperator, Preconditioner, Relaxation, Richardson, Solve,
    sweep_solution,
};
use crate::relax::{FactorReport, Guess, RelaxError, RelaxOptions, Smoother, SolveOptions};
use crate::{BlockPattern, Jacobian, Policy, RowBatches};
use chromaflow_device::Team;
use std::sync::Arc;

/// The methods of [`LinearSolver`](super::LinearSolver) for a flow code that assembles D and O itself, in the order of the
/// sweeps: nothing is permuted and the matrix is not copied.
///
/// Symbolic: [`AssembledSolver::new`]; numeric: [`AssembledSolver::factor`] or [`AssembledSolver::factor_in_place`];
/// then [`AssembledSolver::apply`] and [`AssembledSolver::solve`], as often as the matrix stays.
///
/// **Precision**: sweeps by that of the matrix, incomplete factors by [`SolverOptions::policy`], vectors f64.
pub struct AssembledSolver {
    team: Arc<Team>,
    options: SolverOptions,
    inverse: Inverse,
    gmres: Gmres,
    nb: usize,
    unknowns: usize,
    /// Of the rank that has the most.
    most: usize,
    share: Option<Arc<Share>>,
}

/// The preconditioner, set up.
enum Inverse {
    None,
    Sweeps(Box<Smoother>),
    Ilu(Box<BlockIlu>),
    IluOverRanks(Box<IluOverRanks>),
}

/// GMRES whose cycles may grow as long as their vectors stay within bounds.
fn gmres(options: &SolverOptions, unknowns: usize) -> Gmres {
    let (restart, longest) = options.cycles(unknowns);
    Gmres::new(restart).growing(longest)
}

fn sweeps(options: &SolverOptions) -> SolveOptions {
    SolveOptions {
        sweeps: options.sweeps,
        tolerance: None,
        direction: options.preconditioner.direction(options.direction),
        damping: options.damping,
        guess: Guess::Zero,
        history: false,
        restart: None,
    }
}

impl AssembledSolver {
    /// Sets up for matrices with off-diagonal blocks of size `nb` on `pattern`, whose rows stand in the order of
    /// `batches`: colors, for Gauss-Seidel sweeps the levels of an order
    /// ([`ColoringMethod::Levels`](crate::order::ColoringMethod::Levels)), for line relaxation colors of lines
    /// ([`Plan::of_lines`](crate::order::Plan::of_lines)).
    ///
    /// # Errors
    /// [`SolverError`] when batches and pattern do not fit, or the block size lies outside 1..=128.
    pub fn new(
        team: &Arc<Team>,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        options: &SolverOptions,
    ) -> Result<Self, SolverError> {
        Self::set_up(team, pattern, nb, batches, None, options)
    }

    /// The same for the rows of a rank: `b` are residuals and `x` solutions, as [`dist`](crate::dist) has it. Multicolor and Jacobi
    /// sweeps are those of one rank alone; incomplete factors are of a rank's own rows.
    ///
    /// # Errors
    /// As [`AssembledSolver::new`]; [`SolverError::Options`] for sweeps in levels, which go through the rows one after the other.
    pub fn over_ranks(
        team: &Arc<Team>,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        share: &Arc<Share>,
        options: &SolverOptions,
    ) -> Result<Self, SolverError> {
        if options.preconditioner.sweeps_in_levels() {
            return Err(SolverError::Options(format!(
                "{} sweeps go through the rows in an order that ranks cannot share: use multicolor, jacobi or ilu",
                options.preconditioner
            )));
        }
        Self::set_up(team, pattern, nb, batches, Some(share), options)
    }

    /// Alone, or for the rows of a rank of a share; with sweeps in levels, too, of which `batches` are then levels of own rows, those of ghosts
    /// apart, so that sweeps take the ghosts' values of the sweep before.
    pub(super) fn set_up(
        team: &Arc<Team>,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        share: Option<&Arc<Share>>,
        options: &SolverOptions,
    ) -> Result<Self, SolverError> {
        options.check_numbers().map_err(SolverError::Options)?;
        if options.null_space != NullSpace::None {
            let text = "a null space is the affair of a LinearSolver: set null_space=none";
            return Err(SolverError::Options(text.to_owned()));
        }
        let setup = RelaxOptions { diagonal: options.diagonal, isa: None };
        let (own, shared) = (Arc::clone(team), Arc::clone(pattern));
        let swept = |smoother: Result<Smoother, RelaxError>| -> Result<Inverse, RelaxError> {
            let smoother = match share {
                Some(share) if !options.preconditioner.sweeps_in_levels() => smoother?.over(share)?,
                _ => smoother?,
            };
            Ok(Inverse::Sweeps(Box::new(smoother)))
        };
        let inverse = match options.preconditioner {
            PreconditionerKind::None => Inverse::None,
            PreconditionerKind::Jacobi => swept(Smoother::jacobi(own, shared, nb, setup))?,
            PreconditionerKind::Multicolor | PreconditionerKind::GaussSeidel | PreconditionerKind::Ssor => {
                swept(Smoother::multicolor(own, shared, nb, batches, setup))?
            }
            PreconditionerKind::Lines => swept(Smoother::lines(own, shared, nb, batches, setup))?,
            PreconditionerKind::Ilu(fill) => {
                let storage = options.policy.storage();
                let setup = BlockIluOptions { fill, storage, ..Default::default() };
                match share {
                    Some(share) => {
                        Inverse::IluOverRanks(Box::new(IluOverRanks::new(share, pattern, nb, setup, team)?))
                    }
                    None => Inverse::Ilu(Box::new(BlockIlu::new(pattern, nb, setup, team)?)),
                }
            }
        };
        let unknowns = pattern.rows() * nb;
        // Cycles are as long on all ranks.
        let most = share.map_or(pattern.rows(), |share| share.most()) * nb;
        Ok(Self {
            team: Arc::clone(team),
            options: *options,
            inverse,
            gmres: gmres(options, most),
            nb,
            unknowns,
            most,
            share: share.cloned(),
        })
    }

    /// Factors the matrix, or its diagonal blocks, into memory of its own: `a` can still be multiplied with. Blocks that
    /// cannot be inverted are reported; nothing can be solved then.
    ///
    /// # Errors
    /// [`SolverError::Relax`] for a matrix on another pattern.
    pub fn factor(&mut self, a: &Jacobian) -> Result<FactorReport, SolverError> {
        match &mut self.inverse {
            Inverse::None => Ok(FactorReport::default()),
            Inverse::Sweeps(smoother) => Ok(smoother.factor(a)?),
            Inverse::Ilu(ilu) => Ok(reported(ilu.factor(a, &self.team))),
            Inverse::IluOverRanks(ilu) => Ok(reported(ilu.factor(a, &self.team))),
        }
    }

    /// As [`AssembledSolver::factor`], from rows that are brought as they are needed; none where the preconditioner does not go
    /// through the rows once.
    pub(super) fn factor_brought(&mut self, rows: &dyn RowSource) -> Option<FactorReport> {
        match &mut self.inverse {
            Inverse::Ilu(ilu) => Some(reported(ilu.factor_brought(rows, &self.team))),
            _ => None,
        }
    }

    /// As [`AssembledSolver::factor`], for relaxations in the memory of the diagonal blocks: `a` can then be relaxed
    /// with, but no longer multiplied with. Incomplete factors have memory of their own all the same.
    ///
    /// # Errors
    /// As [`AssembledSolver::factor`].
    pub fn factor_in_place(&mut self, a: &mut Jacobian) -> Result<FactorReport, SolverError> {
        match &mut self.inverse {
            Inverse::Sweeps(smoother) => Ok(smoother.factor_in_place(a)?),
            Inverse::None | Inverse::Ilu(_) | Inverse::IluOverRanks(_) => self.factor(a),
        }
    }

    /// z = M r: one application of the preconditioner, sweeps from zero as many as the options say. No residual is formed
    /// and nothing is checked but lengths.
    ///
    /// # Errors
    /// [`SolverError`] for wrong lengths, or a matrix that was not factored.
    pub fn apply(&mut self, a: &Jacobian, r: &[f64], z: &mut [f64]) -> Result<(), SolverError> {
        self.apply_among(Some(a), None, r, z)
    }

    /// [`AssembledSolver::apply`] for the rows of one rank; relaxations alone need the matrix.
    pub(super) fn apply_among(
        &mut self,
        a: Option<&Jacobian>,
        joined: Option<Joined<'_>>,
        r: &[f64],
        z: &mut [f64],
    ) -> Result<(), SolverError> {
        apply_length("r", r.len(), self.unknowns)?;
        apply_length("z", z.len(), self.unknowns)?;
        match &mut self.inverse {
            Inverse::None => z.copy_from_slice(r),
            Inverse::Sweeps(smoother) => {
                let (options, a) = (sweeps(&self.options), a.expect("relaxations have their matrix"));
                match (joined, late(self.share.as_ref(), &self.options)) {
                    (None, None) => drop(smoother.solve(a, r, z, &options)?),
                    (None, Some(share)) => {
                        let sweeps = Relaxation { smoother, matrix: a, options };
                        LateSweeps::new(sweeps, share).apply(&self.team, r, z);
                        return Ok(());
                    }
                    (Some(joined), _) => {
                        let sweeps = Relaxation { smoother, matrix: a, options };
                        RankSweeps { sweeps, joined, rest: Vec::new() }.apply(&self.team, r, z);
                    }
                }
            }
            Inverse::Ilu(ilu) => ilu.solve(&self.team, r, z),
            Inverse::IluOverRanks(ilu) => {
                ilu.solve(&self.team, r, z);
                return Ok(());
            }
        }
        self.exchange(z);
        Ok(())
    }

    /// `count` sweeps on z itself, which a relaxation goes on with instead of beginning from zero.
    ///
    /// # Errors
    /// As [`AssembledSolver::apply`]; [`SolverError::Options`] where the preconditioner is no relaxation.
    pub fn sweep(&mut self, a: &Jacobian, r: &[f64], z: &mut [f64], count: usize) -> Result<(), SolverError> {
        let Inverse::Sweeps(smoother) = &mut self.inverse else {
            return Err(SolverError::Options("only a relaxation has sweeps".to_owned()));
        };
        let options = SolveOptions { sweeps: count, guess: Guess::Given, ..sweeps(&self.options) };
        smoother.solve(a, r, z, &options)?;
        self.exchange(z);
        Ok(())
    }

    /// All ghosts of a solution: sweeps leave out those that no row of the matrix reads.
    fn exchange(&self, z: &mut [f64]) {
        if let Some(share) = &self.share {
            share.exchange(self.nb, z);
        }
    }

    /// Solves A x = b by the method of the options, from the guess in `x`, where A is `operator` and the preconditioner
    /// that of `a`, the matrix last factored: the same matrix, or one of the same pattern stored in less.
    ///
    /// # Errors
    /// [`SolverError`] for wrong lengths. Numerical failure is an [`Outcome`](crate::Outcome).
    pub fn solve(
        &mut self,
        operator: &dyn LinearOperator,
        a: &Jacobian,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solve, SolverError> {
        self.solve_among(operator, Some(a), None, b, x)
    }

    /// [`AssembledSolver::solve`] for the rows of one rank; `operator` has those of all. Relaxations alone need the matrix.
    pub(super) fn solve_among(
        &mut self,
        operator: &dyn LinearOperator,
        a: Option<&Jacobian>,
        joined: Option<Joined<'_>>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solve, SolverError> {
        apply_length("b", b.len(), self.unknowns)?;
        apply_length("x", x.len(), self.unknowns)?;
        let (team, o) = (&*self.team, &self.options);
        let part;
        let operator = match &self.share {
            None => operator,
            Some(share) => {
                part = OfRank { operator, share, nb: self.nb };
                &part
            }
        };
        let control = Control { tolerance: o.tolerance, max_iterations: o.max_iterations };
        let mut identity = Identity;
        let (mut relaxation, mut among, mut behind);
        let m: &mut dyn Preconditioner = match &mut self.inverse {
            Inverse::None => &mut identity,
            Inverse::Ilu(ilu) => &mut **ilu,
            Inverse::IluOverRanks(ilu) => &mut **ilu,
            Inverse::Sweeps(smoother) => {
                let matrix = a.expect("relaxations have their matrix");
                let sweeps = Relaxation { smoother, matrix, options: sweeps(o) };
                if o.method == Method::Richardson {
                    return Ok(relax(team, operator, sweeps, (joined, self.share.as_deref()), o, b, x));
                }
                if let Some(joined) = joined {
                    among = RankSweeps { sweeps, joined, rest: Vec::new() };
                    &mut among
                } else if let Some(share) = late(self.share.as_ref(), o) {
                    behind = LateSweeps::new(sweeps, share);
                    &mut behind
                } else {
                    relaxation = sweeps;
                    &mut relaxation
                }
            }
        };
        let mut complete;
        let m: &mut dyn Preconditioner = match &self.share {
            None => m,
            Some(share) => {
                complete = Complete { inner: m, share, nb: self.nb };
                &mut complete
            }
        };
        Ok(match o.method {
            Method::Gmres => self.gmres.solve(team, operator, m, b, x, &control),
            Method::BiCgStab => BiCgStab.solve(team, operator, m, b, x, &control),
            Method::Richardson => {
                let control = Control { max_iterations: o.total(), ..control };
                Richardson::default().solve(team, operator, m, b, x, &control)
            }
        })
    }

    /// Solves for several right-hand sides at once, each as [`AssembledSolver::solve`] does alone, to the last bit; none where the method
    /// does not: GMRES does.
    pub(super) fn solve_many(
        &mut self,
        operator: &dyn LinearOperator,
        a: Option<&Jacobian>,
        b: &[&[f64]],
        x: &mut [&mut [f64]],
    ) -> Option<Vec<Solve>> {
        let (team, o) = (&*self.team, &self.options);
        if o.method != Method::Gmres || self.share.is_some() {
            return None;
        }
        let control = Control { tolerance: o.tolerance, max_iterations: o.max_iterations };
        let mut identity = Identity;
        let mut relaxation;
        let m: &mut dyn Preconditioner = match &mut self.inverse {
            Inverse::None => &mut identity,
            Inverse::Ilu(ilu) => &mut **ilu,
            Inverse::IluOverRanks(ilu) => &mut **ilu,
            Inverse::Sweeps(smoother) => {
                let matrix = a.expect("relaxations have their matrix");
                relaxation = Relaxation { smoother, matrix, options: sweeps(o) };
                &mut relaxation
            }
        };
        Some(self.gmres.solve_many(team, operator, m, b, x, &control))
    }

    /// How to solve from now on; what the solver was set up with (preconditioner, policy, diagonal form) stays.
    pub(super) fn retune(&mut self, options: &SolverOptions) {
        self.options = *options;
        self.gmres = gmres(options, self.most);
    }

    /// Bytes of incomplete factors; those of a relaxation are as many as the diagonal blocks have, and what couples the rows of lines.
    pub fn factor_bytes(&self) -> usize {
        match &self.inverse {
            Inverse::Ilu(ilu) => ilu.bytes(),
            Inverse::IluOverRanks(ilu) => ilu.bytes(),
            Inverse::Sweeps(smoother) => smoother.coupling_bytes(),
            Inverse::None => 0,
        }
    }

    /// Bytes of the vectors that the method keeps, at most, and of those that sweeps work on.
    pub fn vector_bytes(&self) -> [usize; 2] {
        let relaxation = self.options.preconditioner.is_relaxation();
        let one_basis = !relaxation || self.options.policy == Policy::D;
        let vectors = match self.options.method {
            Method::Gmres if one_basis => self.options.restart + 5,
            Method::Gmres => 2 * self.options.restart + 3,
            Method::BiCgStab => 9,
            Method::Richardson if relaxation => 0,
            Method::Richardson => 2,
        };
        let copies = if self.options.preconditioner == PreconditionerKind::Lines { 2 } else { 1 };
        let work = if relaxation { copies * self.options.policy.x_bytes() } else { 0 };
        [8 * vectors * self.unknowns, work * self.unknowns]
    }
}

/// What a factorization found, as relaxations report it.
fn reported(found: Result<BlockIluReport, SingularRow>) -> FactorReport {
    match found {
        Ok(mut found) => {
            let pivoted = found.pivoted.len();
            found.pivoted.truncate(FactorReport::LISTED);
            FactorReport { pivoted, pivoted_rows: found.pivoted, ..FactorReport::default() }
        }
        Err(bad) => {
            let singular_rows = vec![bad.row as u32];
            FactorReport { singular: 1, singular_rows, ..FactorReport::default() }
        }
    }
}

/// A rank's part of a matrix: products are residuals.
struct OfRank<'a> {
    operator: &'a dyn LinearOperator,
    share: &'a Share,
    nb: usize,
}

impl LinearOperator for OfRank<'_> {
    fn len(&self) -> usize {
        self.operator.len()
    }

    fn apply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        self.operator.apply(team, x, y);
        self.share.clear(self.nb, y);
    }

    fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        self.operator.residual(team, b, x, r);
        self.share.clear(self.nb, r);
    }

    fn links(&self) -> Option<&dyn Links> {
        Some(self.share)
    }

    fn go_on(&self, iteration: usize, residual: f64) -> bool {
        self.operator.go_on(iteration, residual)
    }
}

/// A rank's part of a preconditioner, whose results are solutions.
struct Complete<'a> {
    inner: &'a mut dyn Preconditioner,
    share: &'a Share,
    nb: usize,
}

impl Preconditioner for Complete<'_> {
    fn apply(&mut self, team: &Team, r: &[f64], z: &mut [f64]) {
        self.inner.apply(team, r, z);
        self.share.exchange(self.nb, z);
    }

    fn is_fixed(&self) -> bool {
        self.inner.is_fixed()
    }
}

/// The share whose sweeps go by levels of own rows.
fn late<'a>(share: Option<&'a Arc<Share>>, options: &SolverOptions) -> Option<&'a Share> {
    share.map(|share| &**share).filter(|_| options.preconditioner.sweeps_in_levels())
}

/// A relaxation alone: corrections by `correction_sweeps` of it, or sweeps on x itself; with ghosts that take part late corrections always,
/// which are the same sweeps but for rounding.
fn relax(
    team: &Team,
    operator: &dyn LinearOperator,
    mut relaxation: Relaxation<'_>,
    (joined, share): (Option<Joined<'_>>, Option<&Share>),
    options: &SolverOptions,
    b: &[f64],
    x: &mut [f64],
) -> Solve {
    let SweepCourse { once, corrects, control } = options.course_of_sweeps();
    relaxation.options.sweeps = once;
    let nb = relaxation.matrix.nb();
    let corrections = Richardson::default();
    let mut solve = if let Some(joined) = joined {
        let mut among = RankSweeps { sweeps: relaxation, joined, rest: Vec::new() };
        corrections.solve(team, operator, &mut among, b, x, &control)
    } else if let Some(share) = share.filter(|_| options.preconditioner.sweeps_in_levels()) {
        corrections.solve(team, operator, &mut LateSweeps::new(relaxation, share), b, x, &control)
    } else if let (true, Some(share)) = (corrects, share) {
        let mut complete = Complete { inner: &mut relaxation, share, nb };
        corrections.solve(team, operator, &mut complete, b, x, &control)
    } else if corrects {
        corrections.solve(team, operator, &mut relaxation, b, x, &control)
    } else {
        sweep_solution(team, operator, relaxation, b, x, &control)
    };
    if let (false, Some(share)) = (corrects, share) {
        share.exchange(nb, x); // ghosts that no row of the matrix reads
    }
    solve.iterations *= once;
    solve
}
