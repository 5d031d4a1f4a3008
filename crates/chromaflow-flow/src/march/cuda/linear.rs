//! The linear step on a device. Twin: ../linear.rs.

use crate::config::Implicit;
use crate::jacobian::cuda::Target;
use crate::march::FlowError;
use chromaflow::gpu::{DeviceJacobian, GpuError, Storage, Vectors};
use chromaflow::krylov::{Control, KrylovCuda, PreconditionerCuda};
use chromaflow::relax::{Direction, InPlace, MulticolorCuda, SolveOptions};
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow::{BlockPattern, RowBatches};
use chromaflow_device::cuda::{DeviceBuffer, Pinned, Stream};
use std::sync::Arc;

/// The matrix and what solves with it.
pub struct LinearCuda {
    options: Implicit,
    /// Blocks in the order of the pattern, where they are not assembled where the sweeps read them.
    jacobian: Option<DeviceJacobian>,
    relaxation: MulticolorCuda,
    /// Bits of the largest off-diagonal magnitude, where the assembly finds it.
    largest: DeviceBuffer<u32>,
    largest_known: bool,
    /// Krylov methods, and their operator: the assembled values in f64.
    krylov: Option<(KrylovCuda, MulticolorCuda)>,
    vectors: Vectors,
}

impl LinearCuda {
    /// Sets up for blocks of 5 x 5.
    ///
    /// # Errors
    /// [`FlowError::Linear`]: a method that runs on the CPU only. [`FlowError::Gpu`].
    pub fn new(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        batches: &RowBatches,
        options: &Implicit,
    ) -> Result<Self, FlowError> {
        let storage = Storage::from(options.policy);
        let krylov = matches!(options.method, Method::Gmres | Method::BiCgStab);
        let relaxation = match (options.method, options.preconditioner) {
            (Method::Multicolor, _) | (Method::Gmres | Method::BiCgStab, PreconditionerKind::Multicolor) => {
                MulticolorCuda::new(stream, pattern, 5, batches, storage)?
            }
            (Method::Jacobi, _)
            | (Method::Gmres | Method::BiCgStab, PreconditionerKind::Jacobi | PreconditionerKind::None) => {
                MulticolorCuda::jacobi(stream, pattern, 5, storage)?
            }
            (Method::Ilu0, _) | (_, PreconditionerKind::Ilu) => {
                let what = "incomplete factors of general patterns run on the CPU only; on a GPU choose `multicolor`";
                return Err(FlowError::Linear(what.to_owned()));
            }
        };
        let in_place = !krylov && relaxation.in_place().is_some();
        let jacobian =
            (!in_place).then(|| DeviceJacobian::uninitialized(stream, pattern, 5, storage)).transpose()?;
        let krylov = krylov
            .then(|| -> Result<_, GpuError> {
                Ok((KrylovCuda::new(stream)?, MulticolorCuda::jacobi(stream, pattern, 5, Storage::F64)?))
            })
            .transpose()?;
        Ok(Self {
            options: *options,
            jacobian,
            relaxation,
            largest: DeviceBuffer::zeroed(stream, 1)?,
            largest_known: false,
            krylov,
            vectors: Vectors::new(stream, Storage::F64)?,
        })
    }

    /// Where the sweeps read blocks, if they are assembled there.
    pub fn in_place(&self) -> Option<InPlace<'_>> {
        self.relaxation.in_place().filter(|_| self.jacobian.is_none())
    }

    /// Where the assembly is to write. `whole` says that all values it writes stay, so that it may look for the largest.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn target(&mut self, whole: bool) -> Result<Target<'_>, GpuError> {
        self.largest_known = whole && self.relaxation.storage() == Storage::F16;
        let Some(jacobian) = &self.jacobian else {
            return Ok(Target::InPlace(self.relaxation.in_place().expect("chosen so")));
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
        match &self.jacobian {
            Some(_) if self.largest_known => self.relaxation.take_largest(&self.largest),
            Some(jacobian) => self.relaxation.find_scale(jacobian),
            None => Ok(()),
        }
    }

    /// Solves A x = b from zero; what is left of the residual where it is known or asked for, as the twin has it. What the
    /// inversion of the diagonal blocks found goes to `told`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn solve(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        measure: bool,
        told: &mut Pinned<u32>,
    ) -> Result<Option<f64>, GpuError> {
        let found = match &self.jacobian {
            Some(jacobian) => self.relaxation.factor_later(jacobian)?,
            None => self.relaxation.factor_assembled_later()?,
        };
        found.download_later(told)?;
        if self.krylov.is_some() { self.iterate(b, x).map(Some) } else { self.relax(b, x, measure) }
    }

    fn iterate(&mut self, b: &DeviceBuffer<f64>, x: &mut DeviceBuffer<f64>) -> Result<f64, GpuError> {
        let (options, (krylov, a)) = (&self.options, self.krylov.as_mut().expect("looked at before"));
        a.factor_later(self.jacobian.as_ref().expect("Krylov methods keep the pattern's order"))?;
        let sweeps = SolveOptions::sweeps(options.preconditioner_sweeps);
        let mut m = if options.preconditioner == PreconditionerKind::None {
            PreconditionerCuda::Identity
        } else {
            PreconditionerCuda::Relaxation(&mut self.relaxation, sweeps)
        };
        x.fill_bytes(0)?;
        let most = options.krylov_iterations;
        let control = Control { tolerance: options.krylov_tolerance, max_iterations: most };
        let solve = match options.method {
            Method::BiCgStab => krylov.bicgstab(a, &mut m, b, x, &control)?,
            _ => krylov.gmres(a, &mut m, b, x, &control, (most, most))?,
        };
        Ok(solve.relative_residual)
    }

    fn relax(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        measure: bool,
    ) -> Result<Option<f64>, GpuError> {
        let (relaxation, vectors, sweeps) = (&mut self.relaxation, &self.vectors, self.options.sweeps);
        relaxation.set_rhs(b)?;
        relaxation.clear()?;
        if !(measure && sweeps > 2) {
            relaxation.sweeps(Direction::Forward, sweeps, 1.0)?;
            relaxation.get_x(x)?;
            return Ok(None);
        }
        let mut work = DeviceBuffer::zeroed(vectors.stream(), vectors.partials() + 1)?;
        let mut before = DeviceBuffer::uninitialized(vectors.stream(), x.len())?;
        relaxation.sweeps(Direction::Forward, 1, 1.0)?;
        relaxation.get_x(&mut before)?;
        let first = vectors.dot(&before, &before, &mut work)?.sqrt();
        relaxation.sweeps(Direction::Forward, sweeps - 2, 1.0)?;
        relaxation.get_x(&mut before)?;
        relaxation.sweeps(Direction::Forward, 1, 1.0)?;
        relaxation.get_x(x)?;
        vectors.axpby(1.0, x, -1.0, &mut before)?;
        let last = vectors.dot(&before, &before, &mut work)?.sqrt();
        Ok((first > 0.0).then_some(last / first))
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> usize {
        let assembled = self.jacobian.as_ref().map_or(0, |j| j.diag.bytes() + 100 * j.pattern().nnzb());
        self.relaxation.bytes() + assembled + self.krylov.as_ref().map_or(0, |k| k.1.bytes())
    }
}
