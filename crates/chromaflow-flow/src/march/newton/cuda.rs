//! The same on a device. Twin: mod.rs.

use super::difference_step;
use crate::config::NewtonKrylov;
use chromaflow::gpu::{GpuError, ShareCuda, Vectors};
use chromaflow::krylov::{Control, KrylovCuda, LinearOperatorCuda, PreconditionerCuda};
use chromaflow_device::cuda::DeviceBuffer;
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

/// Solves (V/dt + dR/dq) x = b by flexible GMRES, over ranks where there is a `share`; |b - A x| / |b|. Twin: [`solve`](super::solve).
///
/// # Errors
/// A device's.
pub fn solve(
    (krylov, vectors): (&mut KrylovCuda, &Vectors),
    step: &mut impl NewtonStepCuda,
    options: &NewtonKrylov,
    share: Option<&ShareCuda>,
    b: &DeviceBuffer<f64>,
    x: &mut DeviceBuffer<f64>,
) -> Result<f64, GpuError> {
    x.fill_bytes(0)?;
    let step = RefCell::new(step);
    let control = Control { tolerance: options.tolerance, max_iterations: options.directions };
    let cycle = (options.directions, options.directions);
    let mut precondition = |r: &_, z: &mut _| step.borrow_mut().precondition(r, z);
    let mut m = PreconditionerCuda::Own(&mut precondition);
    let mut derivative = Derivative { step: &step, vectors, share };
    Ok(krylov.gmres(&mut derivative, &mut m, b, x, &control, cycle)?.relative_residual)
}

struct Derivative<'a, 'b, S> {
    step: &'a RefCell<&'b mut S>,
    vectors: &'a Vectors,
    share: Option<&'a ShareCuda>,
}

impl<S: NewtonStepCuda> LinearOperatorCuda for Derivative<'_, '_, S> {
    fn multiply(&mut self, v: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        let mut step = self.step.borrow_mut();
        let length = step.length(v)?;
        if length == 0.0 {
            return Ok(y.fill_bytes(0)?);
        }
        let h = difference_step(step.size(), length);
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
