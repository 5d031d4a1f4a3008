//! The solver of a given system on a GPU.

mod over_ranks;
#[cfg(test)]
mod over_ranks_tests;
mod recorded;
#[cfg(test)]
mod tests;
mod transfer;

pub(crate) use transfer::transfer_source;
pub use transfer::{ArrayIn, ArrayOut};

use super::global::{OnAll, agree};
use super::layout::{Layout, Rows};
use super::many::scale_of;
use super::{
    BlockLayout, Index, IndexBase, Method, NullSpace, NumericReport, PreconditionerKind, SolverError,
    SolverOptions, apply_length,
};
use crate::factor::block_ilu::BlockIluOptions;
use crate::factor::block_ilu::cuda::{DeviceBlockIlu, DeviceIluOverRanks};
use crate::gpu::{DeviceJacobian, DeviceOff, GpuError, Storage};
use crate::krylov::{Control, KrylovCuda, LinearOperatorCuda, OfRankCuda, PreconditionerCuda, Solve};
use crate::order::{Plan, PlanReport};
use crate::relax::{DiagonalForm, FactorReport, MulticolorCuda, SolveOptions};
use crate::sparse::cuda::BlockMatrixCuda;
use crate::sparse::{HalfScale, check_len, check_nb};
use crate::{BlockPattern, Permutation, Policy, RowBatches};
use chromaflow_device::Team;
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use over_ranks::WholeCuda;
use recorded::{Call, Recorded, What};
use std::sync::Arc;
use transfer::{Look, Transfer};

/// [`LinearSolver`](super::LinearSolver) on a GPU: the same phases, options, reports, errors and rules of when to stop. Blocks and
/// vectors come from the host or the device ([`ArrayIn`], [`ArrayOut`]) in the caller's order; between them only norms, inner
/// products and findings cross.
///
/// **Precision**: sweeps and factors by the policy; residuals, and products of methods with the matrix, in f64. **Results** are the
/// same bits on every run. **Twin**: [`LinearSolver`](super::LinearSolver).
///
/// **Memory**: the matrix twice in f64 (as block CSR and as [`BlockMatrixCuda`]), for relaxations in `ds` and `dsh` twice more in
/// theirs; vectors of Krylov methods; blocks and vectors given on the host pass through memory of their size. All of it is taken when it is first needed and kept: a solve like one before takes none.
///
/// **Source**: as [`MulticolorCuda`], [`DeviceBlockIlu`] and [`KrylovCuda`].
pub struct LinearSolverCuda {
    options: SolverOptions,
    plan: Plan,
    layout: Layout,
    /// The number of the caller's first row.
    first: usize,
    transfer: Transfer,
    /// The matrix in f64 as it is assembled, and with off-diagonal blocks in f32 for sweeps in less.
    whole: DeviceJacobian,
    reduced: Option<DeviceJacobian>,
    /// The operator.
    matrix: BlockMatrixCuda,
    inverse: Inverse,
    krylov: KrylovCuda,
    b: DeviceBuffer<f64>,
    x: DeviceBuffer<f64>,
    has_values: bool,
    recorded: Recorded,
    /// What all ranks have together, where columns are global.
    ranks: Option<WholeCuda>,
}

/// The preconditioner, set up.
enum Inverse {
    None,
    Sweeps(Box<MulticolorCuda>),
    Ilu(Box<DeviceBlockIlu>),
    IluOverRanks(Box<DeviceIluOverRanks>),
}

/// Sweeps from zero, as many as an application of the preconditioner has.
fn sweeps(options: &SolverOptions) -> SolveOptions {
    SolveOptions {
        direction: options.preconditioner.direction(options.direction),
        damping: options.damping,
        ..SolveOptions::sweeps(options.sweeps)
    }
}

/// A diagonal block without inverse.
fn singular(row: usize) -> FactorReport {
    FactorReport { singular: 1, singular_rows: vec![row as u32], ..FactorReport::default() }
}

/// What the options ask for and a GPU has not.
fn check_options(options: &SolverOptions) -> Result<(), SolverError> {
    options.check().map_err(SolverError::Options)?;
    if options.null_space != NullSpace::None {
        let (option, value) = ("null_space", "constant".to_owned());
        return Err(SolverError::NotOnGpu { option, value, remedy: "set one unknown, or use the CPU" });
    }
    if !options.preconditioner.is_relaxation() {
        return Ok(());
    }
    if options.diagonal != DiagonalForm::Inverse {
        let (option, value) = ("diagonal", format!("{:?}", options.diagonal));
        return Err(SolverError::NotOnGpu { option, value, remedy: "keep inverses, or use the CPU" });
    }
    if options.policy == Policy::Dsh && options.half_scale != HalfScale::Global {
        let (option, value) = ("half_scale", format!("{:?}", options.half_scale));
        return Err(SolverError::NotOnGpu { option, value, remedy: "scale globally, or use the CPU" });
    }
    Ok(())
}

impl LinearSolverCuda {
    /// Sets up for matrices of nb x nb blocks on `pattern`, diagonal blocks included. This is the expensive, once-only
    /// part: renumbering and coloring, by the threads of `team`.
    ///
    /// # Errors
    /// As [`LinearSolver::symbolic`](super::LinearSolver::symbolic); [`SolverError::NotOnGpu`] names an option that a GPU does not
    /// honour; [`SolverError::Gpu`] for factors that it does not have ([`DeviceBlockIlu::new`]), and device errors.
    pub fn symbolic(
        stream: &Stream,
        team: &Team,
        pattern: &BlockPattern,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        Self::with_rows(stream, team, Rows::from_pattern(pattern)?, nb, options)
    }

    /// The same from index arrays, `row_ptr [rows + 1]` and `col_idx [nnzb]`, columns of a row in any order.
    ///
    /// # Errors
    /// As [`Self::symbolic`], and when the arrays make no pattern.
    pub fn symbolic_from_arrays<I: Index>(
        stream: &Stream,
        team: &Team,
        base: IndexBase,
        (row_ptr, col_idx): (&[I], &[I]),
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        Self::with_rows(stream, team, Rows::from_arrays(base, row_ptr, col_idx, 0)?, nb, options)
    }

    fn with_rows(
        stream: &Stream,
        team: &Team,
        mut rows: Rows,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        check_nb(nb)?;
        check_options(&options)?;
        if rows.apart {
            let (option, value) = ("diagonal blocks", "apart".to_owned());
            return Err(SolverError::NotOnGpu { option, value, remedy: "give them among the others" });
        }
        let plan = Plan::with_team(&rows.pattern, &options.effective_plan(), team)?;
        let (off, layout) = Layout::new(&mut rows, &plan.permutation);
        let solver = Self::with_plan(stream, (plan, layout, Arc::new(off)), nb, options, None)?;
        Ok(Self { first: rows.first, ..solver })
    }

    fn with_plan(
        stream: &Stream,
        (plan, layout, off): (Plan, Layout, Arc<BlockPattern>),
        nb: usize,
        options: SolverOptions,
        ranks: Option<WholeCuda>,
    ) -> Result<Self, SolverError> {
        let batches: Vec<_> = plan.batches.iter().collect();
        let in_less = options.preconditioner.is_relaxation() && options.policy != Policy::D;
        let jacobian = |storage| DeviceJacobian::uninitialized(stream, &off, nb, storage);
        let n = off.rows() * nb;
        let vector = || DeviceBuffer::zeroed(stream, n).map_err(GpuError::from);
        let own = ranks.as_ref().map_or(off.rows(), WholeCuda::rows);
        let places = (plan.permutation.old_of_new(), own);
        Ok(Self {
            inverse: Self::inverse(stream, (&plan, &off), nb, &options, ranks.as_ref())?,
            transfer: Transfer::new(stream, nb, &layout.source(&off), places)?,
            whole: jacobian(Storage::F64)?,
            reduced: in_less.then(|| jacobian(Storage::F32)).transpose()?,
            matrix: match &ranks {
                None => BlockMatrixCuda::with_batches(stream, &off, nb, &batches, Storage::F64)?,
                // Of a rank a batch may have no rows.
                Some(_) => BlockMatrixCuda::new(stream, &off, nb, Storage::F64)?,
            },
            krylov: KrylovCuda::new(stream)?,
            b: vector()?,
            x: vector()?,
            options,
            plan,
            layout,
            first: 0,
            has_values: false,
            recorded: Recorded::default(),
            ranks,
        })
    }

    fn inverse(
        stream: &Stream,
        (plan, off): (&Plan, &Arc<BlockPattern>),
        nb: usize,
        options: &SolverOptions,
        ranks: Option<&WholeCuda>,
    ) -> Result<Inverse, GpuError> {
        let storage = Storage::from(options.policy);
        let share = ranks.map(WholeCuda::share);
        Ok(match options.preconditioner {
            PreconditionerKind::None => Inverse::None,
            PreconditionerKind::Lines => unreachable!("refused by the check of the options"),
            PreconditionerKind::Jacobi => Inverse::Sweeps(Box::new(match share {
                None => MulticolorCuda::jacobi(stream, off, nb, storage)?,
                Some(share) => MulticolorCuda::jacobi_over_ranks(off, nb, storage, share)?,
            })),
            PreconditionerKind::Multicolor | PreconditionerKind::GaussSeidel | PreconditionerKind::Ssor => {
                Inverse::Sweeps(Box::new(match share {
                    None => MulticolorCuda::new(stream, off, nb, &plan.batches, storage)?,
                    Some(share) => MulticolorCuda::over_ranks(off, nb, &plan.batches, storage, share)?,
                }))
            }
            PreconditionerKind::Ilu(fill) => {
                let setup = BlockIluOptions { fill, storage, ..BlockIluOptions::default() };
                match share {
                    None => Inverse::Ilu(Box::new(DeviceBlockIlu::new(stream, off, nb, setup)?)),
                    Some(share) => {
                        let factors = DeviceIluOverRanks::new(share, off, nb, setup, Storage::F64)?;
                        Inverse::IluOverRanks(Box::new(factors))
                    }
                }
            }
        })
    }

    /// Takes new values: blocks in the order of the pattern that was given, each `blocks` by rows or by columns. Factors
    /// what the preconditioner needs.
    ///
    /// **Shapes**: `values [nnzb, nb, nb]`.
    ///
    /// # Errors
    /// As [`LinearSolver::numeric`](super::LinearSolver::numeric); of several singular diagonal blocks the first inside is named.
    /// The values before are gone then. [`SolverError::Gpu`].
    pub fn numeric<'a>(
        &mut self,
        values: impl Into<ArrayIn<'a>>,
        blocks: BlockLayout,
    ) -> Result<NumericReport, SolverError> {
        let values = values.into();
        let (nb, nnzb) = (self.whole.nb(), self.whole.pattern().nnzb() + self.rows());
        let fits =
            check_len("values", values.len(), nnzb * nb * nb, || format!("{nnzb} blocks of {nb} x {nb}"));
        self.agreed(fits.map_err(SolverError::from).map(|()| 0.0))?;
        self.has_values = false;
        let finite = self.bring_in(values, blocks);
        self.agreed(finite.map(|()| 0.0))?;
        let found = self.factor();
        let report = match &self.ranks {
            Some(ranks) => agree(&**ranks.whole.share.ranks(), found)?,
            None => found?,
        };
        self.has_values = true;
        Ok(report)
    }

    /// Sees that all is well here and, where others have rows of the matrix, on all ranks; the largest of what each has.
    fn agreed(&self, here: Result<f64, SolverError>) -> Result<f64, SolverError> {
        let Some(ranks) = &self.ranks else { return here };
        let own = OnAll { watched: false, largest: *here.as_ref().unwrap_or(&0.0) };
        Ok(ranks.whole.agree(here.map(drop), &self.options, own)?.largest)
    }

    /// Takes the blocks.
    fn bring_in(&mut self, values: ArrayIn<'_>, blocks: BlockLayout) -> Result<(), SolverError> {
        let nb = self.whole.nb();
        let [bad, small] = self.transfer.take_blocks(values, blocks, &self.whole, self.reduced.as_mut())?;
        // Where other ranks have rows, theirs may be larger.
        let Some(at) = bad.or(small.filter(|_| self.ranks.is_none())) else { return Ok(()) };
        let (k, entry) = (at / (nb * nb), at % (nb * nb));
        let (row, col) = self.layout.place(k, &self.plan.permutation, self.whole.pattern());
        let (slow, fast) = (entry / nb, entry % nb);
        let (r, c) = if blocks == BlockLayout::ColumnMajor { (fast, slow) } else { (slow, fast) };
        let (row, col) = (self.number(row), self.number(col));
        Err(SolverError::of_entry([row, col], [r, c], values.value(at)?))
    }

    /// A row or column as the caller counts.
    fn number(&self, place: usize) -> usize {
        self.ranks.as_ref().map_or(place + self.first, |ranks| ranks.whole.number(place))
    }

    /// Factors what was brought in.
    fn factor(&mut self) -> Result<NumericReport, SolverError> {
        self.matrix.set_values(&self.whole)?;
        let mut report = NumericReport::default();
        let found = match &mut self.inverse {
            Inverse::None => FactorReport::default(),
            Inverse::Sweeps(sweeps) => {
                let from = self.reduced.as_ref().unwrap_or(&self.whole);
                if let (Policy::Dsh, DeviceOff::F32(off)) = (self.options.policy, &from.off) {
                    let matrix = sweeps.matrix_mut();
                    match &self.ranks {
                        None => drop(matrix.find_scale(from)?),
                        Some(ranks) => {
                            matrix.find_scale_together(from, |own| ranks.whole.share.largest(own))?;
                        }
                    }
                    let scale = matrix.scale_found().expect("f32 blocks for f16");
                    report.underflowed = self.transfer.underflowed(off, scale)?;
                }
                sweeps.factor(from)?
            }
            Inverse::Ilu(ilu) => {
                ilu.factor(&self.whole)?;
                match ilu.report()? {
                    Ok(found) => FactorReport {
                        pivoted: found.pivoted.len(),
                        pivoted_rows: found.pivoted,
                        ..FactorReport::default()
                    },
                    Err(bad) => singular(bad.row),
                }
            }
            Inverse::IluOverRanks(ilu) => {
                ilu.factor(&self.whole)?;
                ilu.report()?.map_or_else(|bad| singular(bad.row), |()| FactorReport::default())
            }
        };
        let old = |&row: &u32| self.number(self.plan.permutation.old_of_new()[row as usize] as usize);
        if let Some(row) = found.singular_rows.iter().map(old).min() {
            return Err(SolverError::SingularDiagonal { count: found.singular, row });
        }
        report.pivoted = found.pivoted;
        report.pivoted_rows = found.pivoted_rows.iter().map(old).collect();
        Ok(report)
    }

    /// Solves A x = b by the method of the options, from the first guess in `x` (zeros when in doubt).
    ///
    /// **Shapes**: `b`, `x [rows, nb]`.
    ///
    /// # Errors
    /// As [`LinearSolver::solve`](super::LinearSolver::solve), and [`SolverError::Gpu`]. Numerical failure is no error but an
    /// [`Outcome`](crate::Outcome), judged by the f64 residual of the f64 matrix; `x` is then what the method had in the end.
    pub fn solve<'a, 'b>(
        &mut self,
        b: impl Into<ArrayIn<'a>>,
        x: impl Into<ArrayOut<'b>>,
    ) -> Result<Solve, SolverError> {
        let (b, x) = (b.into(), x.into());
        let here = self.begin(b, &x);
        let scale = scale_of(self.agreed(here)?);
        self.scale_by(scale)?;
        if let Some(ranks) = &self.ranks {
            ranks.share().exchange(self.whole.nb(), &self.x.slice())?;
        }
        let solve = self.iterate()?;
        self.ended()?;
        if let Some(scale) = scale {
            self.krylov.vectors().axpby(0.0, &self.b, scale.recip(), &mut self.x)?;
        }
        self.transfer.give(&self.x, x)?;
        Ok(solve)
    }

    /// Scales right-hand side and first guess.
    fn scale_by(&mut self, scale: Option<f64>) -> Result<(), GpuError> {
        let Some(scale) = scale else { return Ok(()) };
        self.krylov.vectors().axpby(0.0, &self.b, scale, &mut self.x)?;
        self.krylov.vectors().axpby(0.0, &self.x, scale, &mut self.b)
    }

    /// Looks at right-hand side and first guess and brings them in; the largest magnitude of the right-hand side.
    fn begin(&mut self, b: ArrayIn<'_>, x: &ArrayOut<'_>) -> Result<f64, SolverError> {
        let n = self.rows() * self.whole.nb();
        apply_length("b", b.len(), n)?;
        apply_length("x", x.as_in().len(), n)?;
        if !self.has_values {
            return Err(SolverError::NoValues);
        }
        self.transfer.take(&mut [(b, &mut self.b), (x.as_in(), &mut self.x)], Look::At)?;
        let (bad, largest) = self.transfer.found()?;
        for ((what, given), at) in [("b", b), ("x", x.as_in())].into_iter().zip(bad) {
            let Some(at) = at else { continue };
            let value = given.value(at)?;
            return Err(match &self.ranks {
                None => SolverError::NotFiniteVector { what, at, value },
                Some(ranks) => ranks.whole.not_finite(what, at, self.whole.nb(), value),
            });
        }
        Ok(largest)
    }

    /// Ends a call in which messages may have passed.
    fn ended(&self) -> Result<(), SolverError> {
        self.ranks.as_ref().map_or(Ok(()), |ranks| ranks.whole.ended())
    }

    fn iterate(&mut self) -> Result<Solve, GpuError> {
        let o = &self.options;
        let (krylov, b, x) = (&mut self.krylov, &self.b, &mut self.x);
        let (nb, share) = (self.matrix.nb(), self.ranks.as_ref().map(WholeCuda::share));
        let unknowns = share.map_or(b.len(), |share| share.share().most() * nb);
        let mut of_rank;
        let a: &mut dyn LinearOperatorCuda = match share {
            None => &mut self.matrix,
            Some(share) => {
                of_rank = OfRankCuda::new(&mut self.matrix, share);
                &mut of_rank
            }
        };
        let mut copied;
        let control = Control { tolerance: o.tolerance, max_iterations: o.max_iterations };
        let mut m = match &mut self.inverse {
            Inverse::None => match share {
                None => PreconditionerCuda::Identity,
                Some(share) => {
                    copied = over_ranks::copy(share, nb);
                    PreconditionerCuda::Own(&mut copied)
                }
            },
            Inverse::Ilu(ilu) => PreconditionerCuda::Ilu(ilu),
            Inverse::IluOverRanks(ilu) => PreconditionerCuda::IluOverRanks(ilu),
            Inverse::Sweeps(relaxation) if o.method == Method::Richardson => {
                let course = o.course_of_sweeps();
                let options = SolveOptions { sweeps: course.once, ..sweeps(o) };
                let mut solve = if course.corrects {
                    let mut m = PreconditionerCuda::Relaxation(relaxation, options);
                    krylov.richardson(a, &mut m, b, x, &course.control)?
                } else {
                    krylov.sweep_solution(a, relaxation, options, b, x, &course.control)?
                };
                solve.iterations *= course.once;
                return Ok(solve);
            }
            Inverse::Sweeps(relaxation) => PreconditionerCuda::Relaxation(relaxation, sweeps(o)),
        };
        match o.method {
            Method::BiCgStab => krylov.bicgstab(a, &mut m, b, x, &control),
            Method::Gmres => krylov.gmres(a, &mut m, b, x, &control, o.cycles(unknowns)),
            Method::Richardson => {
                krylov.richardson(a, &mut m, b, x, &Control { max_iterations: o.total(), ..control })
            }
        }
    }

    /// z = M r: the preconditioner alone, once. No residual is formed and no entry looked at; of a relaxation, `z` is what
    /// its sweeps from zero give, as the nonlinear iteration of a flow code wants it.
    ///
    /// # Errors
    /// [`SolverError`] for wrong lengths and before any values.
    pub fn apply<'a, 'b>(
        &mut self,
        r: impl Into<ArrayIn<'a>>,
        z: impl Into<ArrayOut<'b>>,
    ) -> Result<(), SolverError> {
        self.call(What::Apply, ("r", r.into()), ("z", z.into()))
    }

    /// y = A x, with the matrix in f64.
    ///
    /// # Errors
    /// [`SolverError`] for wrong lengths and before any values.
    pub fn multiply<'a, 'b>(
        &mut self,
        x: impl Into<ArrayIn<'a>>,
        y: impl Into<ArrayOut<'b>>,
    ) -> Result<(), SolverError> {
        self.call(What::Multiply, ("x", x.into()), ("y", y.into()))
    }

    /// Takes what is read, once lengths and values are there, works, and gives. Calls on the same arrays of the device are a graph from the
    /// second time on.
    fn call(
        &mut self,
        what: What,
        (read, from): (&'static str, ArrayIn<'_>),
        (written, mut to): (&'static str, ArrayOut<'_>),
    ) -> Result<(), SolverError> {
        let n = self.rows() * self.whole.nb();
        apply_length(read, from.len(), n)?;
        apply_length(written, to.as_in().len(), n)?;
        if !self.has_values {
            return Err(SolverError::NoValues);
        }
        let (nb, share) = (self.matrix.nb(), self.ranks.as_ref().map(WholeCuda::share));
        let (transfer, b, x) = (&mut self.transfer, &mut self.b, &mut self.x);
        let (matrix, inverse, options) = (&mut self.matrix, &mut self.inverse, &self.options);
        let stream = transfer.stream().clone();
        let call = match (from, &to) {
            (ArrayIn::Device(from), ArrayOut::Device(to)) if share.is_none() => {
                Some(Call { what, from: from.ptr(), to: to.ptr() })
            }
            _ => None,
        };
        let mut work = || {
            transfer.take(&mut [(from, &mut *b)], Look::Away)?;
            match (what, &mut *inverse) {
                (What::Multiply, _) => {
                    if let Some(share) = share {
                        share.exchange(nb, &b.slice())?;
                    }
                    matrix.multiply(b, x)?;
                }
                (What::Apply, Inverse::None) => x.copy_from(&b.slice())?,
                (What::Apply, Inverse::Sweeps(relaxation)) => {
                    relaxation.solve(b, x, &sweeps(options))?;
                }
                (What::Apply, Inverse::Ilu(ilu)) => ilu.solve(b, x)?,
                (What::Apply, Inverse::IluOverRanks(ilu)) => ilu.solve(b, x)?,
            }
            transfer.give(x, to.again())
        };
        match call {
            Some(call) => self.recorded.enqueue(&stream, call, work)?,
            None => work()?,
        }
        self.ended()
    }

    /// How to solve from now on: tolerance, iterations, sweeps, damping, direction, restart. What the solver was set up
    /// with (preconditioner, policy, order) stays.
    ///
    /// # Errors
    /// [`SolverError::Options`] when one of the latter differs.
    pub fn set_options(&mut self, options: SolverOptions) -> Result<(), SolverError> {
        check_options(&options)?;
        options.check_setup(&self.options).map_err(SolverError::Options)?;
        self.recorded.clear();
        if let Some(ranks) = &mut self.ranks {
            ranks.whole.set_options(&options);
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
        &self.plan.report
    }

    /// The batches of the sweeps, colors where rows are colored, in the order inside; over ranks those of this rank's rows and ghosts.
    pub fn batches(&self) -> &RowBatches {
        &self.plan.batches
    }

    /// From the caller's order of rows, over ranks with ghosts behind them, to the one inside.
    pub fn permutation(&self) -> &Permutation {
        &self.plan.permutation
    }

    /// The precision policy.
    pub fn policy(&self) -> Policy {
        self.options.policy
    }

    /// Bytes of device memory for matrices, factors and vectors, as far as the solver keeps them; those of Krylov methods and of
    /// incomplete factors are not among them.
    pub fn bytes(&self) -> usize {
        let sweeps = if let Inverse::Sweeps(sweeps) = &self.inverse { sweeps.bytes() } else { 0 };
        let reduced = self.reduced.as_ref().map_or(0, DeviceJacobian::bytes);
        let vectors = self.b.bytes() + self.x.bytes();
        self.whole.bytes() + reduced + self.matrix.bytes() + sweeps + vectors + self.transfer.bytes()
    }
}
