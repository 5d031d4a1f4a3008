//! The same methods with vectors that stay on the device: between b and x only norms and inner products come back.

use super::gmres::LeastSquares;
use super::monitor::Monitor;
use super::{Control, Solve};
use crate::Outcome;
use crate::factor::block_ilu::cuda::DeviceBlockIlu;
use crate::gpu::{GpuError, Storage, Vectors};
use crate::relax::{MulticolorCuda, SolveOptions};
use chromaflow_device::cuda::{DeviceBuffer, Stream};

/// What stands for an approximate inverse on the device.
pub enum PreconditionerCuda<'a> {
    /// The identity.
    Identity,
    /// Sweeps from zero.
    Relaxation(&'a mut MulticolorCuda, SolveOptions),
    /// A forward and a backward solve with incomplete factors.
    Ilu(&'a mut DeviceBlockIlu),
}

impl PreconditionerCuda<'_> {
    fn apply(&mut self, r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        match self {
            PreconditionerCuda::Identity => Ok(z.copy_from(&r.slice())?),
            PreconditionerCuda::Relaxation(relaxation, options) => {
                relaxation.solve(r, z, options).map(|_| ())
            }
            PreconditionerCuda::Ilu(ilu) => ilu.solve(r, z),
        }
    }
}

/// Flexible GMRES, BiCGStab and Richardson's iteration on the device, with the vectors they need.
///
/// The operator is a [`MulticolorCuda`] of storage `d`, whose products are in f64.
///
/// **Precision**: f64; inner products are added in a fixed order. **Twins**: [`Gmres`](super::Gmres),
/// [`BiCgStab`](super::BiCgStab), [`Richardson`](super::Richardson), which have sources and outcomes; GMRES orthogonalizes
/// vector by vector here, twice.
pub struct KrylovCuda {
    vectors: Vectors,
    work: DeviceBuffer<f64>,
    /// Basis vectors and preconditioned ones of GMRES; shadow, p, v, t of BiCGStab.
    basis: Vec<DeviceBuffer<f64>>,
    directions: Vec<DeviceBuffer<f64>>,
}

/// How a run of BiCGStab from a computed residual ends.
enum RunEnd {
    Converged,
    Limit,
    Diverged,
    Breakdown,
}

impl KrylovCuda {
    /// For vectors in the order of `stream`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream) -> Result<Self, GpuError> {
        let vectors = Vectors::new(stream, Storage::F64)?;
        let work = DeviceBuffer::zeroed(stream, vectors.partials() + 1)?;
        Ok(Self { vectors, work, basis: Vec::new(), directions: Vec::new() })
    }

    /// |v|.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn norm(&mut self, v: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        Ok(self.dot(v, v)?.sqrt())
    }

    fn dot(&mut self, x: &DeviceBuffer<f64>, y: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        self.vectors.dot(x, y, &mut self.work)
    }

    fn vector(&self, n: usize) -> Result<DeviceBuffer<f64>, GpuError> {
        Ok(DeviceBuffer::uninitialized(self.vectors.stream(), n)?)
    }

    /// At least `count` vectors in `basis` and `directions`.
    fn grow(&mut self, basis: usize, directions: usize, n: usize) -> Result<(), GpuError> {
        self.basis.retain(|v| v.len() == n);
        self.directions.retain(|v| v.len() == n);
        while self.basis.len() < basis {
            self.basis.push(self.vector(n)?);
        }
        while self.directions.len() < directions {
            self.directions.push(self.vector(n)?);
        }
        Ok(())
    }

    /// Solves A x = b by flexible GMRES from the guess in `x`: restarts after `restart` iterations, four times as many after a
    /// cycle that has not halved the residual, up to `longest`.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`]. Numerical failure is an [`Outcome`].
    pub fn gmres(
        &mut self,
        a: &mut MulticolorCuda,
        m: &mut PreconditionerCuda<'_>,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        control: &Control,
        (restart, longest): (usize, usize),
    ) -> Result<Solve, GpuError> {
        let mut r = self.vector(b.len())?;
        a.residual_of(x, Some(b), &mut r)?;
        let mut norm = self.norm(&r)?;
        let mut monitor = Monitor::new(*control, self.norm(b)?, norm);
        let mut length = restart.max(1);
        let mut aim = 1.0; // estimates must reach this part of the tolerance
        let outcome = loop {
            if let Some(outcome) = monitor.stop(norm) {
                break outcome;
            }
            let (y, space_ends) = self.cycle(a, m, &mut r, norm, (length, aim), &mut monitor)?;
            for (z, y) in self.directions.iter().zip(&y) {
                self.vectors.axpby(*y, z, 1.0, x)?;
            }
            a.residual_of(x, Some(b), &mut r)?;
            let now = self.norm(&r)?;
            if space_ends && !monitor.converged(now) && now > 0.5 * norm {
                norm = now;
                break Outcome::Breakdown { row: 0 };
            }
            if monitor.reached(aim) && !monitor.converged(now) {
                aim *= 0.1; // rounding has parted the estimate from the residual
            }
            let slow = now > 0.5 * norm;
            norm = now;
            monitor.correct(norm);
            if slow && length < longest {
                length = (4 * length).min(longest);
            } else if !monitor.converged(norm) && monitor.stagnated(norm) {
                break Outcome::Stagnated;
            }
        };
        Ok(monitor.finish(outcome, norm))
    }

    /// One cycle from the residual `r` of norm `beta`, which is used up: the weights of the directions, and whether the
    /// Krylov space has ended.
    fn cycle(
        &mut self,
        a: &mut MulticolorCuda,
        m: &mut PreconditionerCuda<'_>,
        r: &mut DeviceBuffer<f64>,
        beta: f64,
        (length, aim): (usize, f64),
        monitor: &mut Monitor,
    ) -> Result<(Vec<f64>, bool), GpuError> {
        let n = r.len();
        let mut problem = LeastSquares::new(beta);
        self.grow(1, 0, n)?;
        self.vectors.axpby(1.0 / beta, r, 0.0, &mut self.basis[0])?;
        let w = r;
        for j in 0..length.min(monitor.left()) {
            self.grow(j + 2, j + 1, n)?;
            m.apply(&self.basis[j], &mut self.directions[j])?;
            a.residual_of(&self.directions[j], None, w)?;
            let mut h = vec![0.0; j + 2];
            for _ in 0..2 {
                for i in 0..=j {
                    let dot = self.vectors.dot(&self.basis[i], w, &mut self.work)?;
                    self.vectors.axpby(-dot, &self.basis[i], 1.0, w)?;
                    h[i] += dot;
                }
            }
            let norm = self.norm(w)?;
            h[j + 1] = norm;
            let size = h.iter().map(|v| v * v).sum::<f64>().sqrt();
            if !size.is_finite() {
                monitor.push(f64::NAN);
                return Ok((problem.solve(), false));
            }
            let estimate = problem.push(h);
            monitor.push(estimate);
            if norm <= 1e-14 * size {
                return Ok((problem.solve(), true));
            }
            if monitor.reached(aim) {
                break;
            }
            self.vectors.axpby(1.0 / norm, w, 0.0, &mut self.basis[j + 1])?;
        }
        Ok((problem.solve(), false))
    }

    /// Corrections x <- x + M (b - A x) from the guess in `x`.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`]. Numerical failure is an [`Outcome`].
    pub fn richardson(
        &mut self,
        a: &mut MulticolorCuda,
        m: &mut PreconditionerCuda<'_>,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        control: &Control,
    ) -> Result<Solve, GpuError> {
        let (mut r, mut z) = (self.vector(b.len())?, self.vector(b.len())?);
        a.residual_of(x, Some(b), &mut r)?;
        let mut norm = self.norm(&r)?;
        let mut monitor = Monitor::new(*control, self.norm(b)?, norm);
        let outcome = loop {
            if let Some(outcome) = monitor.stop_or_stagnate(norm) {
                break outcome;
            }
            m.apply(&r, &mut z)?;
            self.vectors.axpby(1.0, &z, 1.0, x)?;
            a.residual_of(x, Some(b), &mut r)?;
            norm = self.norm(&r)?;
            monitor.push(norm);
        };
        Ok(monitor.finish(outcome, norm))
    }

    /// Solves A x = b by BiCGStab from the guess in `x`.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`]. Numerical failure is an [`Outcome`].
    pub fn bicgstab(
        &mut self,
        a: &mut MulticolorCuda,
        m: &mut PreconditionerCuda<'_>,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        control: &Control,
    ) -> Result<Solve, GpuError> {
        let mut r = self.vector(b.len())?;
        a.residual_of(x, Some(b), &mut r)?;
        let mut norm = self.norm(&r)?;
        let mut monitor = Monitor::new(*control, self.norm(b)?, norm);
        let outcome = loop {
            if let Some(outcome) = monitor.stop(norm) {
                break outcome;
            }
            let (before, at) = (norm, monitor.iterations());
            let end = self.run(a, m, &mut r, x, &mut monitor)?;
            a.residual_of(x, Some(b), &mut r)?;
            norm = self.norm(&r)?;
            match end {
                RunEnd::Diverged => break Outcome::Diverged { iteration: monitor.iterations() },
                RunEnd::Breakdown if monitor.iterations() < at + 2 => break Outcome::Breakdown { row: 0 },
                RunEnd::Converged if !monitor.converged(norm) && norm > 0.5 * before => {
                    break Outcome::Stagnated;
                }
                RunEnd::Converged | RunEnd::Breakdown | RunEnd::Limit => monitor.correct(norm),
            }
        };
        Ok(monitor.finish(outcome, norm))
    }

    /// Iterates from the residual `r`, which is also the shadow residual.
    fn run(
        &mut self,
        a: &mut MulticolorCuda,
        m: &mut PreconditionerCuda<'_>,
        r: &mut DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        monitor: &mut Monitor,
    ) -> Result<RunEnd, GpuError> {
        let n = r.len();
        self.grow(4, 1, n)?;
        let mut basis = std::mem::take(&mut self.basis);
        let mut directions = std::mem::take(&mut self.directions);
        let [shadow, p, v, t, ..] = &mut basis[..] else { unreachable!("four vectors are there") };
        let z = &mut directions[0];
        shadow.copy_from(&r.slice())?;
        p.copy_from(&r.slice())?;
        let mut rho = self.dot(shadow, r)?;
        let shadow_norm = rho.sqrt();
        let end = loop {
            if monitor.limit_reached() {
                break RunEnd::Limit;
            }
            m.apply(p, z)?;
            a.residual_of(z, None, v)?;
            let sigma = self.dot(shadow, v)?;
            if !sigma.is_finite() {
                monitor.push(f64::NAN);
                break RunEnd::Diverged;
            }
            if tiny(sigma, shadow_norm * self.norm(v)?) {
                monitor.push(self.norm(r)?);
                break RunEnd::Breakdown;
            }
            let alpha = rho / sigma;
            self.vectors.axpby(alpha, z, 1.0, x)?;
            self.vectors.axpby(-alpha, v, 1.0, r)?;
            let half = self.norm(r)?;
            monitor.push(half);
            if monitor.converged(half) {
                break RunEnd::Converged;
            }
            if monitor.limit_reached() {
                break RunEnd::Limit;
            }
            m.apply(r, z)?;
            a.residual_of(z, None, t)?;
            let (tt, tr) = (self.dot(t, t)?, self.dot(t, r)?);
            if !tt.is_finite() || !tr.is_finite() {
                monitor.push(f64::NAN);
                break RunEnd::Diverged;
            }
            if tiny(tr, tt.sqrt() * half) {
                monitor.push(half);
                break RunEnd::Breakdown;
            }
            let omega = tr / tt;
            self.vectors.axpby(omega, z, 1.0, x)?;
            self.vectors.axpby(-omega, t, 1.0, r)?;
            let norm = self.norm(r)?;
            monitor.push(norm);
            if monitor.converged(norm) {
                break RunEnd::Converged;
            }
            if monitor.diverged(norm) {
                break RunEnd::Diverged;
            }
            let next = self.dot(shadow, r)?;
            if tiny(next, shadow_norm * norm) {
                break RunEnd::Breakdown;
            }
            let beta = next / rho * (alpha / omega);
            rho = next;
            self.vectors.axpby(-omega, v, 1.0, p)?; // p = r + beta (p - omega v)
            self.vectors.axpby(1.0, r, beta, p)?;
        };
        (self.basis, self.directions) = (basis, directions);
        Ok(end)
    }
}

/// Whether an inner product is zero up to the rounding of its terms.
fn tiny(product: f64, norms: f64) -> bool {
    product.abs() <= f64::EPSILON * norms
}
