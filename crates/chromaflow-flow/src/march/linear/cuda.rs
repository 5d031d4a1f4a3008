//! The linear step on a device. Twin: mod.rs.

use crate::config::Implicit;
use crate::jacobian::cuda::Target;
use crate::march::FlowError;
use chromaflow::factor::block_ilu::BlockIluOptions;
use chromaflow::factor::block_ilu::cuda::{DeviceBlockIlu, DeviceIluOverRanks};
use chromaflow::gpu::{DeviceJacobian, GpuError, ShareCuda, Storage, Vectors};
use chromaflow::krylov::{
    Control, KrylovCuda, LinearOperatorCuda, OfRankCuda, PreconditionerCuda, SmootherCuda,
};
use chromaflow::relax::{Direction, LinesCuda, MulticolorCuda, SolveOptions};
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow::sparse::cuda::{BlockMatrixCuda, InPlace};
use chromaflow::{BlockPattern, RowBatches};
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Pinned, Stream};
use std::sync::Arc;

/// What stands for an approximate inverse of the matrix.
enum Inverse {
    None,
    Sweeps(SmootherCuda),
    Ilu(Box<DeviceBlockIlu>),
    IluOverRanks(Box<DeviceIluOverRanks>),
}

impl Inverse {
    fn new(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        options: &Implicit,
        share: Option<&Arc<ShareCuda>>,
    ) -> Result<Self, FlowError> {
        let storage = Storage::from(options.policy);
        let sweeps = |sweeps| Inverse::Sweeps(SmootherCuda::Points(Box::new(sweeps)));
        let found = match (options.preconditioner, share) {
            (PreconditionerKind::None, _) => Ok(Inverse::None),
            (PreconditionerKind::Lines, share) => {
                let lines = match share {
                    None => LinesCuda::new(stream, pattern, nb, batches, storage),
                    Some(share) => LinesCuda::over_ranks(pattern, nb, batches, storage, share),
                };
                lines.map(|lines| Inverse::Sweeps(SmootherCuda::Lines(Box::new(lines))))
            }
            (
                PreconditionerKind::Multicolor | PreconditionerKind::GaussSeidel | PreconditionerKind::Ssor,
                None,
            ) => MulticolorCuda::new(stream, pattern, nb, batches, storage).map(sweeps),
            (
                PreconditionerKind::Multicolor | PreconditionerKind::GaussSeidel | PreconditionerKind::Ssor,
                Some(share),
            ) => MulticolorCuda::over_ranks(pattern, nb, batches, storage, share).map(sweeps),
            (PreconditionerKind::Jacobi, None) => {
                MulticolorCuda::jacobi(stream, pattern, nb, storage).map(sweeps)
            }
            (PreconditionerKind::Jacobi, Some(share)) => {
                MulticolorCuda::jacobi_over_ranks(pattern, nb, storage, share).map(sweeps)
            }
            (PreconditionerKind::Ilu(fill), None) => {
                let setup = BlockIluOptions { fill, storage, ..Default::default() };
                DeviceBlockIlu::new(stream, pattern, nb, setup).map(|ilu| Inverse::Ilu(Box::new(ilu)))
            }
            (PreconditionerKind::Ilu(fill), Some(share)) => {
                let setup = BlockIluOptions { fill, storage, ..Default::default() };
                DeviceIluOverRanks::new(share, pattern, nb, setup, storage.assembled())
                    .map(|ilu| Inverse::IluOverRanks(Box::new(ilu)))
            }
        };
        found.map_err(|e| match e {
            GpuError::Unsupported(what) => FlowError::Linear(what),
            other => other.into(),
        })
    }

    /// One application, of sweeps as many as the options say.
    fn preconditioner(&mut self, sweeps: SolveOptions) -> PreconditionerCuda<'_> {
        match self {
            Inverse::None => PreconditionerCuda::Identity,
            Inverse::Ilu(ilu) => PreconditionerCuda::Ilu(ilu),
            Inverse::IluOverRanks(ilu) => PreconditionerCuda::IluOverRanks(ilu),
            Inverse::Sweeps(relaxation) => relaxation.preconditioner(sweeps),
        }
    }
}

/// The matrix and what solves with it.
pub struct LinearCuda {
    options: Implicit,
    /// Blocks in the order of the pattern, where they are not assembled where the sweeps read them.
    jacobian: Option<DeviceJacobian>,
    inverse: Inverse,
    /// Bits of the largest off-diagonal magnitude, where the assembly finds it.
    largest: DeviceBuffer<u32>,
    largest_known: bool,
    /// Methods that form residuals, and their operator: the assembled values in f64.
    krylov: Option<(KrylovCuda, BlockMatrixCuda)>,
    vectors: Vectors,
    /// An earlier x and partial sums, for what the last sweeps still change.
    before: DeviceBuffer<f64>,
    sums: DeviceBuffer<f64>,
    /// What the inversion of the diagonal blocks found: pivoted rows, singular rows, the first of these.
    told: Pinned<u32>,
    /// The row at which incomplete factors broke down; over ranks by its number in the whole system.
    broken: Option<usize>,
    share: Option<Arc<ShareCuda>>,
    nb: usize,
}

/// Sweeps from zero, the way that the preconditioner goes.
fn sweeps_of(options: &Implicit, count: usize) -> SolveOptions {
    let direction = options.preconditioner.direction(Direction::Forward);
    SolveOptions { direction, ..SolveOptions::sweeps(count) }
}

/// What of a pattern and a device decides between kernels.
pub struct Shape {
    /// Rows of the pattern.
    pub rows: usize,
    /// Rows of its largest batch.
    pub largest_batch: usize,
    /// Multiprocessors of the device.
    pub multiprocessors: usize,
    /// Whether the rows are those of a rank.
    pub over_ranks: bool,
}

impl LinearCuda {
    /// Sources of the kernels that [`Self::new`] and its steps ask for, and the rows of a chunk that the assembly in place writes (0:
    /// it is not in place).
    pub fn kernel_sources(
        options: &Implicit,
        nb: usize,
        in_place: bool,
        shape: &Shape,
    ) -> (Vec<KernelSource>, usize) {
        let storage = Storage::from(options.policy);
        let alone = options.method == Method::Richardson && options.preconditioner.is_relaxation();
        let sweeps = |largest| MulticolorCuda::kernel_sources(nb, storage, largest, shape.multiprocessors);
        let (mut sources, chunk) = match options.preconditioner {
            PreconditionerKind::None => (Vec::new(), 0),
            PreconditionerKind::Lines => {
                let (largest, processors) = (shape.largest_batch, shape.multiprocessors);
                (LinesCuda::kernel_sources(nb, storage, largest, processors, shape.over_ranks), 0)
            }
            PreconditionerKind::Multicolor | PreconditionerKind::GaussSeidel | PreconditionerKind::Ssor => {
                sweeps(shape.largest_batch)
            }
            PreconditionerKind::Jacobi => sweeps(shape.rows),
            PreconditionerKind::Ilu(_) => {
                let factors = options.policy.storage();
                (DeviceBlockIlu::kernel_sources(nb, factors, storage.assembled()), 0)
            }
        };
        sources.push(Vectors::kernel_source(Storage::F64));
        if !alone {
            let (wide, from) = (Storage::F64, storage.assembled());
            let (rows, processors) = (shape.rows, shape.multiprocessors);
            sources.extend(BlockMatrixCuda::kernel_sources(nb, wide, from, rows, processors));
        }
        (sources, if in_place && alone { chunk } else { 0 })
    }

    /// Sets up for blocks of `nb` x `nb`; `in_place`: whether they may be assembled where the sweeps read them. With a `share` the rows
    /// are those of a rank: right-hand sides are residuals, what is solved for solutions.
    ///
    /// # Errors
    /// [`FlowError::Linear`]: factors that the GPU does not have. [`FlowError::NotOverRanks`]. [`FlowError::Gpu`].
    pub fn new(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        options: &Implicit,
        in_place: bool,
        share: Option<&Arc<ShareCuda>>,
    ) -> Result<Self, FlowError> {
        let alone = options.method == Method::Richardson && options.preconditioner.is_relaxation();
        let mut linear =
            Self::preconditioner(stream, pattern, nb, batches, options, in_place && alone, share)?;
        if alone {
            linear.before = DeviceBuffer::uninitialized(stream, nb * pattern.rows())?;
            return Ok(linear);
        }
        let mut krylov = KrylovCuda::new(stream)?;
        let cycle = if options.method == Method::Gmres { options.krylov_iterations } else { 3 };
        krylov.reserve(nb * pattern.rows(), cycle)?;
        let batches: Vec<_> = batches.iter().collect();
        let matrix = BlockMatrixCuda::with_batches(stream, pattern, nb, &batches, Storage::F64)?;
        linear.krylov = Some((krylov, matrix));
        Ok(linear)
    }

    /// The same for what is only to [`factor`](Self::factor) and to [`precondition`](Self::precondition).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn preconditioner(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        options: &Implicit,
        in_place: bool,
        share: Option<&Arc<ShareCuda>>,
    ) -> Result<Self, FlowError> {
        let storage = Storage::from(options.policy);
        let inverse = Inverse::new(stream, pattern, nb, batches, options, share)?;
        let in_place = in_place && matches!(&inverse, Inverse::Sweeps(sweeps) if sweeps.in_place().is_some());
        let jacobian =
            (!in_place).then(|| DeviceJacobian::uninitialized(stream, pattern, nb, storage)).transpose()?;
        let vectors = Vectors::new(stream, Storage::F64)?;
        Ok(Self {
            options: *options,
            jacobian,
            inverse,
            largest: DeviceBuffer::zeroed(stream, 1)?,
            largest_known: false,
            krylov: None,
            before: DeviceBuffer::uninitialized(stream, 0)?,
            sums: DeviceBuffer::zeroed(stream, vectors.partials() + 1)?,
            vectors,
            told: Pinned::zeroed(stream.gpu(), 3)?,
            broken: None,
            share: share.cloned(),
            nb,
        })
    }

    /// Where the sweeps read blocks, if they are assembled there.
    pub fn in_place(&self) -> Option<InPlace<'_>> {
        match (&self.jacobian, &self.inverse) {
            (None, Inverse::Sweeps(sweeps)) => sweeps.in_place(),
            _ => None,
        }
    }

    /// Where the assembly is to write. `whole` says that all values it writes stay, so that it may look for the largest.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn target(&mut self, whole: bool) -> Result<Target<'_>, GpuError> {
        let half = matches!(&self.inverse, Inverse::Sweeps(sweeps) if sweeps.storage() == Storage::F16);
        // Over ranks rows are among them that nobody solves for.
        self.largest_known = whole && half && self.share.is_none();
        let Some(jacobian) = &self.jacobian else {
            return Ok(Target::InPlace(self.in_place().expect("chosen so")));
        };
        if !self.largest_known {
            return Ok(Target::Rows(jacobian, None));
        }
        self.largest.fill_bytes(0)?;
        Ok(Target::Rows(jacobian, Some(&self.largest)))
    }

    /// The scale of f16, from what the assembly found or by a search.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn find_scale(&mut self) -> Result<(), GpuError> {
        match (&self.jacobian, &mut self.inverse) {
            (Some(jacobian), Inverse::Sweeps(sweeps)) if self.share.is_some() => {
                let share = self.share.as_ref().expect("looked at");
                if sweeps.storage() != Storage::F16 {
                    return Ok(());
                }
                share.without_incomplete(jacobian)?;
                let of_all = |largest| share.share().largest(largest);
                sweeps.matrix_mut().find_scale_together(jacobian, of_all)
            }
            (Some(_), Inverse::Sweeps(sweeps)) if self.largest_known => {
                sweeps.matrix_mut().take_largest(&self.largest)
            }
            (Some(jacobian), Inverse::Sweeps(sweeps)) => sweeps.matrix_mut().find_scale(jacobian).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Solves A x = b from zero; what is left of the residual where it is known or asked for, as the twin has it. Once the
    /// stream has come so far, [`Self::singular`] says what the diagonal blocks were like.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn solve(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        measure: bool,
    ) -> Result<Option<f64>, GpuError> {
        if !self.factor()? {
            x.fill_bytes(0)?;
            return Ok(None);
        }
        if self.krylov.is_some() { self.iterate(b, x).map(Some) } else { self.relax(b, x, measure) }
    }

    /// Makes ready to solve with what was assembled; whether there are factors to solve with.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn factor(&mut self) -> Result<bool, GpuError> {
        if let Some(share) = &self.share {
            let in_place = || self.in_place().map(|place| place.diag);
            let diag = self.jacobian.as_ref().map(|jacobian| &jacobian.diag).or_else(in_place);
            share.identities(self.nb, diag.expect("blocks are assembled somewhere"))?;
        }
        let mut broken = None;
        match (&mut self.inverse, &self.jacobian) {
            (Inverse::None, _) => {}
            (Inverse::Sweeps(sweeps), Some(jacobian)) => {
                sweeps.factor_later(jacobian)?.download_later(&mut self.told)?;
            }
            (Inverse::Sweeps(sweeps), None) => {
                sweeps.points().factor_assembled_later()?.download_later(&mut self.told)?;
            }
            (Inverse::Ilu(ilu), jacobian) => {
                ilu.factor(jacobian.as_ref().expect(PATTERN))?;
                broken = ilu.report()?.err().map(|singular| singular.row);
            }
            (Inverse::IluOverRanks(ilu), jacobian) => {
                ilu.factor(jacobian.as_ref().expect(PATTERN))?;
                broken = ilu.report()?.err().map(|singular| singular.row);
            }
        }
        // The same row on every rank, or none.
        self.broken = match &self.share {
            None => broken,
            Some(share) if matches!(self.inverse, Inverse::IluOverRanks(_)) => {
                let [lowest] = share.lowest([broken.map(|row| share.global(row))]);
                lowest
            }
            Some(_) => None,
        };
        Ok(self.broken.is_none())
    }

    /// z = M r with the matrix last factored: sweeps from zero, or one solve with incomplete factors. Over ranks all ghosts of z are
    /// their owners'.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn precondition(&mut self, r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        let alone = self.options.method == Method::Richardson;
        let sweeps = if alone { self.options.sweeps } else { self.options.preconditioner_sweeps };
        self.inverse.preconditioner(sweeps_of(&self.options, sweeps)).apply(r, z)?;
        self.share.as_ref().map_or(Ok(()), |share| share.exchange(self.nb, &z.slice()))
    }

    /// The first row whose diagonal block, as it stood or as it was factored, has no inverse; over ranks of what this one knows, by its
    /// number in the whole system.
    pub fn singular(&self) -> Option<usize> {
        let told = || {
            let row = (self.told[1] > 0).then_some(self.told[2] as usize)?;
            Some(self.share.as_ref().map_or(row, |share| share.global(row)))
        };
        self.broken.or_else(told)
    }

    fn iterate(&mut self, b: &DeviceBuffer<f64>, x: &mut DeviceBuffer<f64>) -> Result<f64, GpuError> {
        let (options, (krylov, a)) = (&self.options, self.krylov.as_mut().expect("looked at before"));
        a.set_values(self.jacobian.as_ref().expect(PATTERN))?;
        let mut inner = self.inverse.preconditioner(sweeps_of(options, options.preconditioner_sweeps));
        let (mut complete, mut of_rank);
        let (a, mut m): (&mut dyn LinearOperatorCuda, _) = match self.share.as_deref() {
            None => (a, inner),
            Some(share) => {
                let nb = self.nb;
                complete = move |r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>| {
                    inner.apply(r, z)?;
                    share.exchange(nb, &z.slice())
                };
                of_rank = OfRankCuda::new(a, share);
                (&mut of_rank, PreconditionerCuda::Own(&mut complete))
            }
        };
        x.fill_bytes(0)?;
        let most = options.krylov_iterations;
        let control = Control { tolerance: options.krylov_tolerance, max_iterations: most };
        let solve = match options.method {
            Method::BiCgStab => krylov.bicgstab(a, &mut m, b, x, &control)?,
            Method::Richardson => {
                let control = Control { tolerance: 0.0, max_iterations: options.sweeps };
                krylov.richardson(a, &mut m, b, x, &control)?
            }
            Method::Gmres => krylov.gmres(a, &mut m, b, x, &control, (most, most))?,
        };
        Ok(solve.relative_residual)
    }

    fn relax(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        measure: bool,
    ) -> Result<Option<f64>, GpuError> {
        let Inverse::Sweeps(relaxation) = &mut self.inverse else {
            unreachable!("the method is one of sweeps")
        };
        let sweeps = self.options.sweeps;
        let direction = sweeps_of(&self.options, sweeps).direction;
        relaxation.points().set_rhs(b)?;
        relaxation.points().clear()?;
        if !(measure && sweeps > 2) {
            relaxation.sweeps(direction, sweeps)?;
            relaxation.points().get_x(x)?;
            return Ok(None);
        }
        let (vectors, before, sums) = (&self.vectors, &mut self.before, &mut self.sums);
        let (share, nb) = (self.share.as_deref(), self.nb);
        // Of a solution, whose ghosts count where they are owned.
        let mut norm = |v: &DeviceBuffer<f64>| -> Result<f64, GpuError> {
            if let Some(share) = share {
                share.clear(nb, &v.slice())?;
            }
            let mut square = [vectors.dot(v, v, sums)?];
            if let Some(share) = share {
                share.sum(&mut square);
            }
            Ok(square[0].sqrt())
        };
        relaxation.sweeps(direction, 1)?;
        relaxation.points().get_x(before)?;
        let first = norm(before)?;
        relaxation.sweeps(direction, sweeps - 2)?;
        relaxation.points().get_x(before)?;
        relaxation.sweeps(direction, 1)?;
        relaxation.points().get_x(x)?;
        vectors.axpby(1.0, x, -1.0, before)?;
        let last = norm(before)?;
        Ok((first > 0.0).then_some(last / first))
    }
}

const PATTERN: &str = "only sweeps alone are assembled elsewhere than in the order of the pattern";
