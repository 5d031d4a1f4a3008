#![allow(unsafe_code)]
//! The same on a device. Twin: mod.rs.

use super::{Effort, difference_step, kept_positive};
use crate::gpu::{blocks, source};
use chromaflow::gpu::{GpuError, ShareCuda, Vectors};
use chromaflow::krylov::{Control, KrylovCuda, LinearOperatorCuda, PreconditionerCuda};
use chromaflow_comm::Op;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read, Share, Stream};
use chromaflow_device::{enqueue, kernels};
use std::cell::RefCell;

/// What a Newton-Krylov step asks of a system on a device. Twin: [`NewtonStep`](super::NewtonStep).
pub trait NewtonStepCuda {
    /// |q|, the size of the state.
    fn size(&self) -> f64;

    /// |v| of a direction, as the step of a difference is measured.
    ///
    /// # Errors
    /// A device's, as of all that follows.
    fn length(&mut self, v: &DeviceBuffer<f64>) -> Result<f64, GpuError>;

    /// The largest [relative change](crate::gas::relative_change) of a state along v, whose [length](Self::length) was just asked for; 0 where differences
    /// [bear](super::bears) any direction.
    fn relative_change(&mut self, _v: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        Ok(0.0)
    }

    /// y = V/dt v + (R(q + h v) - R(q)) / h.
    fn differentiate(
        &mut self,
        h: f64,
        v: &DeviceBuffer<f64>,
        y: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError>;

    /// z = M^-1 r, with M the matrix of the plain step.
    fn precondition(&mut self, r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>) -> Result<(), GpuError>;
}

/// Solves (V/dt + dR/dq) x = b by flexible GMRES, over ranks where there is a `share`, and takes a part of x. Twin: [`solve`](super::solve).
///
/// # Errors
/// A device's.
pub fn solve(
    (krylov, vectors): (&mut KrylovCuda, &Vectors),
    step: &mut impl NewtonStepCuda,
    effort: &Effort,
    share: Option<&ShareCuda>,
    b: &DeviceBuffer<f64>,
    x: &mut DeviceBuffer<f64>,
) -> Result<f64, GpuError> {
    x.fill_bytes(0)?;
    let step = RefCell::new(step);
    let control = Control { tolerance: effort.tolerance, max_iterations: effort.directions };
    let cycle = (effort.directions, effort.directions);
    let mut precondition = |r: &_, z: &mut _| step.borrow_mut().precondition(r, z);
    let mut m = PreconditionerCuda::Own(&mut precondition);
    let mut derivative = Derivative { step: &step, vectors, share };
    let left = krylov.gmres(&mut derivative, &mut m, b, x, &control, cycle)?.relative_residual;
    if effort.part < 1.0 {
        vectors.axpby(0.0, b, effort.part, x)?;
    }
    Ok(left)
}

struct Derivative<'a, 'b, S> {
    step: &'a RefCell<&'b mut S>,
    vectors: &'a Vectors,
    share: Option<&'a ShareCuda>,
}

impl<S: NewtonStepCuda> LinearOperatorCuda for Derivative<'_, '_, S> {
    fn is_exact(&self) -> bool {
        false
    }

    fn multiply(&mut self, v: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        let mut step = self.step.borrow_mut();
        let length = step.length(v)?;
        if length == 0.0 {
            return Ok(y.fill_bytes(0)?);
        }
        let h = difference_step(step.size(), length);
        let h = kept_positive(h, step.relative_change(v)?);
        step.differentiate(h, v, y)
    }

    fn residual(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        self.multiply(x, r)?;
        self.vectors.axpby(1.0, b, -1.0, r)
    }

    fn share(&self) -> Option<&ShareCuda> {
        self.share
    }
}

kernels! {
    /// The kernel of `change.cu`.
    struct Kernels {
        largest_change: LargestChange { rows: u32, q: Read<f64>, v: Read<f64>, largest: Share<u64> },
    }
}

/// The kernel of change.cu.
pub(crate) fn kernel_source() -> KernelSource {
    source("change", "", include_str!("change.cu")).records::<Kernels>()
}

/// Finds by how much states change.
///
/// **Launch shape**: a thread a row.
pub(crate) struct ChangesCuda {
    kernels: Kernels,
    largest: DeviceBuffer<u64>,
}

impl ChangesCuda {
    /// Compiles or loads the kernel.
    pub(crate) fn new(stream: &Stream) -> Result<Self, GpuError> {
        let kernels = Kernels::of(&stream.gpu().module(&kernel_source())?)?;
        Ok(Self { kernels, largest: DeviceBuffer::zeroed(stream, 1)? })
    }

    /// The largest [relative change](crate::gas::relative_change) of the first `rows` states of `q` along v, or by any direction of length 1; of all
    /// ranks' where there are any.
    pub(crate) fn largest(
        &mut self,
        (stream, share): (&Stream, Option<&ShareCuda>),
        rows: usize,
        q: &DeviceBuffer<f64>,
        v: Option<&DeviceBuffer<f64>>,
    ) -> Result<f64, GpuError> {
        assert!(q.len() >= 5 * rows && v.is_none_or(|v| v.len() >= 5 * rows));
        self.largest.fill_bytes(0)?;
        // SAFETY: vectors have five values a row.
        unsafe {
            enqueue! { self.kernels.largest_change.launch(blocks(rows, 256), 256), stream, LargestChange {
                rows: rows as u32, q, v, largest: &self.largest,
            } }?;
        }
        let mut all = [f64::from_bits(self.largest.download()?[0])];
        if let Some(share) = share {
            share.share().reduce(Op::Max, &mut all);
        }
        Ok(all[0])
    }
}
