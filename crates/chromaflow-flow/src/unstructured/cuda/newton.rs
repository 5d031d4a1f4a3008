#![allow(unsafe_code)]
//! The linear system of a Newton-Krylov step on the device. Twin: ../newton.rs.

use super::{AT_HAND, FlowCuda, FlowSystem};
use crate::config::NewtonKrylov;
use crate::gpu::{blocks, source};
use crate::march::Moment;
use chromaflow::gpu::{GpuError, Storage, Vectors};
use chromaflow::krylov::{Control, KrylovCuda, LinearOperatorCuda};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Stream};

/// The kernels of newton.cu.
pub(crate) fn kernel_source() -> KernelSource {
    source("newton", "", include_str!("newton.cu"))
}

/// What Newton-Krylov steps need besides what all steps do.
pub(super) struct NewtonCuda {
    options: NewtonKrylov,
    krylov: KrylovCuda,
    /// Partial sums of inner products.
    sums: DeviceBuffer<f64>,
    /// The residual and the friction of the state.
    residual: DeviceBuffer<f64>,
    friction: DeviceBuffer<f64>,
    base: Base,
}

/// Where the derivative is taken, and the kernels that take it.
struct Base {
    vectors: Vectors,
    q: DeviceBuffer<f64>,
    /// |q|
    size: f64,
    /// V/dt of each node.
    pseudo_time: DeviceBuffer<f64>,
    set_beside: Kernel,
    slopes: Kernel,
    held_slopes: Kernel,
    wall_slopes: Kernel,
    pseudo_times: Kernel,
}

impl NewtonCuda {
    pub(super) fn new(stream: &Stream, solver: &FlowSystem, options: NewtonKrylov) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&kernel_source())?;
        let vectors = Vectors::new(stream, Storage::F64)?;
        let n = solver.dual.nodes();
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        Ok(Self {
            options,
            krylov: KrylovCuda::new(stream)?,
            sums: buffer(vectors.partials() + 1)?,
            residual: buffer(5 * n)?,
            friction: buffer(3 * solver.fixed.len())?,
            base: Base {
                vectors,
                q: buffer(5 * n)?,
                size: 0.0,
                pseudo_time: buffer(n)?,
                set_beside: module.kernel("set_beside")?,
                slopes: module.kernel("slopes")?,
                held_slopes: module.kernel("held_slopes")?,
                wall_slopes: module.kernel("wall_slopes")?,
                pseudo_times: module.kernel("pseudo_times")?,
            },
        })
    }
}

/// A v = V/dt v + (R(q + h v) - R(q)) / h, as the twin has it.
struct Derivative<'a> {
    flow: &'a mut FlowCuda,
    at: Moment,
    base: &'a Base,
    residual: &'a DeviceBuffer<f64>,
    sums: &'a mut DeviceBuffer<f64>,
}

impl LinearOperatorCuda for Derivative<'_> {
    fn multiply(&mut self, v: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        let length = self.base.vectors.dot(v, v, self.sums)?.sqrt();
        if length == 0.0 {
            return Ok(y.fill_bytes(0)?);
        }
        let h = f64::EPSILON.sqrt() * self.base.size / length;
        let (flow, base) = (&mut *self.flow, self.base);
        flow.set_beside(base, h, v)?;
        flow.compute_residual(&self.at)?;
        let (n, stream) = (flow.mesh.rows, &flow.stream);
        // SAFETY: vectors have five values a row, and V/dt one; the nodes of lists are rows.
        unsafe {
            let slopes = base.slopes.launch(blocks(5 * n, 256), 256).arg(n as u32).arg(&flow.residual);
            let slopes = slopes.arg(self.residual).arg(&base.pseudo_time).arg(v).arg(1.0 / h);
            slopes.arg(u32::from(flow.planar)).arg(&*y).enqueue(stream)?;
            let walls = base.wall_slopes.launch(blocks(flow.wall_nodes(), 128), 128);
            let walls = walls.arg(flow.wall_nodes() as u32).arg(&flow.fixed);
            walls.arg(v).arg(&*y).enqueue(stream)?;
            let held = base.held_slopes.launch(blocks(flow.held.len(), 128), 128);
            held.arg(flow.held.len() as u32).arg(&flow.held).arg(v).arg(&*y).enqueue(stream)?;
        }
        Ok(())
    }

    fn residual(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        self.multiply(x, r)?;
        self.base.vectors.axpby(1.0, b, -1.0, r)
    }
}

impl FlowCuda {
    /// Solves (V/dt + dR/dq) x = R for the update x; the relative residual that is left, none where there are no factors to solve
    /// with.
    pub(super) fn solve_newton(&mut self, at: &Moment) -> Result<Option<f64>, GpuError> {
        let mut linear = self.linear.take().expect(AT_HAND);
        let mut newton = self.newton.take().expect(AT_HAND);
        let x = DeviceBuffer::uninitialized(&self.stream, 0)?;
        let mut x = std::mem::replace(&mut self.update, x);
        x.fill_bytes(0)?;
        let mut reduction = None;
        if linear.factor()? {
            let NewtonCuda { options, krylov, sums, residual, friction, base } = &mut newton;
            base.q.copy_from(&self.q.slice())?;
            residual.copy_from(&self.residual.slice())?;
            friction.copy_from(&self.friction.slice())?;
            base.size = base.vectors.dot(&base.q, &base.q, sums)?.sqrt();
            self.pseudo_times(base, at.cfl)?;
            let control = Control { tolerance: options.tolerance, max_iterations: options.directions };
            let cycle = (options.directions, options.directions);
            let mut derivative = Derivative { flow: self, at: *at, base, residual, sums };
            let mut m = linear.preconditioner();
            let solve = krylov.gmres(&mut derivative, &mut m, residual, &mut x, &control, cycle)?;
            reduction = Some(solve.relative_residual);
            self.set_beside(base, 0.0, &base.q)?;
            self.q.copy_from(&base.q.slice())?;
            self.residual.copy_from(&residual.slice())?;
            self.friction.copy_from(&friction.slice())?;
            if !self.coupled.is_empty() {
                // Its systems look at gradients and fluxes, too.
                self.compute_residual(at)?;
            }
        }
        (self.update, self.linear, self.newton) = (x, Some(linear), Some(newton));
        Ok(reduction)
    }

    /// Sets the state to q + h v, with what walls hold in its place.
    fn set_beside(&self, base: &Base, h: f64, v: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        let n = self.mesh.rows;
        let launch = base.set_beside.launch(blocks(n, 128), 128).arg(n as u32).arg(&base.q).arg(h).arg(v);
        let launch = launch.arg(&self.params.values).arg(u32::from(self.planar));
        // SAFETY: vectors have five values a row, nodes eight.
        unsafe { launch.arg(&self.q).arg(&self.nodes).enqueue(&self.stream)? };
        self.hold_walls()
    }

    /// V/dt of each node: the sum of the spectral radii over its faces, over the CFL number.
    fn pseudo_times(&self, base: &Base, cfl: f64) -> Result<(), GpuError> {
        let (n, mesh) = (self.mesh.rows, &self.mesh);
        let launch = base.pseudo_times.launch(blocks(n, 128), 128).arg(n as u32).arg(&mesh.row_ptr);
        let launch = launch.arg(&mesh.signed_edge).arg(&mesh.areas).arg(&self.nodes).arg(&mesh.volumes);
        let launch = launch.arg(&self.params.values).arg(u32::from(self.viscous.is_some())).arg(cfl);
        // SAFETY: edges of the pattern have areas; nodes, volumes and V/dt are those of the rows.
        Ok(unsafe { launch.arg(&base.pseudo_time).enqueue(&self.stream) }?)
    }
}
