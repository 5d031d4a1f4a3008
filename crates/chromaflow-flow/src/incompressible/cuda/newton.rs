//! Newton-Krylov steps on a GPU. Twin: incompressible/newton.rs.

use super::super::newton::units;
use super::arguments::{NewtonNorms, NewtonSlopes, NewtonTimes, OfNewton, SetBeside, Weigh, WeighUnknowns};
use super::{FlowCuda, grid};
use crate::config::NewtonKrylov;
use crate::gpu::blocks;
use crate::march::Moment;
use crate::march::newton::cuda::{self, NewtonStepCuda};
use chromaflow::gpu::GpuError;
use chromaflow::krylov::KrylovCuda;
use chromaflow_device::cuda::{DeviceBuffer, Module, Stream};
use chromaflow_device::enqueue;
use std::sync::Arc;

const AT_HAND: &str = "only steps take it, and give it back";

/// What such steps need besides what all steps do.
pub(super) struct NewtonCuda {
    options: NewtonKrylov,
    kernels: OfNewton,
    krylov: KrylovCuda,
    /// The residual where the derivative is taken, as the matrix has it.
    base: DeviceBuffer<f64>,
    /// V/dt of each unknown, `[rows, n]`.
    times: DeviceBuffer<f64>,
    /// The right-hand side and the solution, as GMRES has them.
    b: DeviceBuffer<f64>,
    x: DeviceBuffer<f64>,
    /// What unknowns, and what residuals are measured by, `[2, n]`.
    units: DeviceBuffer<f64>,
    /// `[thread blocks, 2, n]`
    partials: DeviceBuffer<f64>,
}

impl NewtonCuda {
    pub fn new(
        stream: &Stream,
        module: &Arc<Module>,
        options: NewtonKrylov,
        (rows, n, norm_blocks): (usize, usize, usize),
    ) -> Result<Self, GpuError> {
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        Ok(Self {
            options,
            kernels: OfNewton::of(module)?,
            krylov: KrylovCuda::new(stream)?,
            base: buffer(rows * n)?,
            times: buffer(rows * n)?,
            b: buffer(rows * n)?,
            x: buffer(rows * n)?,
            units: buffer(2 * n)?,
            partials: buffer(2 * n * norm_blocks)?,
        })
    }
}

/// A step's system; the state that the derivative is taken at is the last good one.
struct Step<'a> {
    flow: &'a mut FlowCuda,
    kernels: &'a OfNewton,
    base: &'a DeviceBuffer<f64>,
    times: &'a DeviceBuffer<f64>,
    units: &'a DeviceBuffer<f64>,
    at: Moment,
    size: f64,
}

impl Step<'_> {
    fn weigh(&self, back: bool, from: &DeviceBuffer<f64>, to: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        let (flow, kernels) = (&*self.flow, self.kernels);
        let rows = flow.grid.rows;
        // SAFETY: n values a row.
        Ok(unsafe {
            enqueue! { kernels.weigh.launch(blocks(rows * flow.n, 256), 256), &flow.stream, Weigh {
                rows: rows as u32, steps: &flow.steps, cfl: self.at.cfl, units: self.units,
                back: u32::from(back), from, to,
            } }
        }?)
    }

    fn weigh_unknowns(
        &self,
        back: bool,
        from: &DeviceBuffer<f64>,
        to: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let flow = &*self.flow;
        let count = flow.grid.rows * flow.n;
        // SAFETY: n values a row.
        Ok(unsafe {
            enqueue! { self.kernels.weigh_unknowns.launch(blocks(count, 256), 256), &flow.stream, WeighUnknowns {
                count: count as u64, units: self.units, back: u32::from(back), from, to,
            } }
        }?)
    }
}

impl NewtonStepCuda for Step<'_> {
    fn size(&self) -> f64 {
        self.size
    }

    fn length(&mut self, v: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        let flow = &mut *self.flow;
        let square = flow.vectors.dot(v, v, &mut flow.vector_work)?;
        Ok(flow.sum([square])[0].sqrt())
    }

    fn differentiate(
        &mut self,
        h: f64,
        v: &DeviceBuffer<f64>,
        y: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let Self { flow, kernels, base, times, units, at, .. } = self;
        let launch = |kernel| blocks_of(kernel, flow.grid.rows * flow.n);
        // SAFETY: n values a row, and a cell.
        unsafe {
            enqueue! { launch(&kernels.set_beside), &flow.stream, SetBeside {
                grid: flow.grid.rows(), fluid: &flow.grid.fluid, base: &flow.last_good, units: *units, h, v,
                q: &flow.q,
            } }?;
        }
        flow.compute_unmeasured(at.time_factors())?;
        flow.measure_eddies(&flow.last_good)?;
        let launch = |kernel| blocks_of(kernel, flow.grid.rows * flow.n);
        // SAFETY: as above.
        Ok(unsafe {
            enqueue! { launch(&kernels.newton_slopes), &flow.stream, NewtonSlopes {
                rows: flow.grid.rows as u32, residual: &flow.residual, base: *base, times: *times,
                steps: &flow.steps, cfl: at.cfl, units: *units, inverse: 1.0 / h, v, y: &*y,
            } }
        }?)
    }

    fn precondition(&mut self, r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.weigh(true, r, &self.flow.residual)?;
        self.flow.solve_plain()?;
        self.weigh_unknowns(false, &self.flow.update, z)
    }
}

fn blocks_of(kernel: &chromaflow_device::cuda::Kernel, count: usize) -> chromaflow_device::cuda::Launch<'_> {
    kernel.launch(blocks(count, 256), 256)
}

impl FlowCuda {
    /// The matrix of plain steps is there, factored: solves (V/dt + dR/dq) x = R, x in the place of the update. What is left of the residual.
    pub(super) fn solve_newton(&mut self, at: &Moment) -> Result<f64, GpuError> {
        let mut newton = self.newton.take().expect(AT_HAND);
        let done = self.solve_with(&mut newton, at);
        self.newton = Some(newton);
        done
    }

    /// What unknowns and residuals are measured by, and |q|.
    fn measure_step(&self, newton: &mut NewtonCuda, at: &Moment) -> Result<f64, GpuError> {
        let (g, n) = (&self.grid, self.n);
        let width = grid::norm_lanes(n) * n;
        // SAFETY: n values a row and a cell; partial sums have room for 2 n numbers a thread block.
        unsafe {
            let launch = newton.kernels.newton_norms.launch(newton.partials.len() / (2 * n), width);
            enqueue! { launch, &self.stream, NewtonNorms {
                grid: g.rows(), fluid: &g.fluid, q: &self.q, residual: &self.residual, steps: &self.steps,
                cfl: at.cfl, partials: &newton.partials,
            } }?;
            enqueue! { newton.kernels.newton_times.launch(blocks(g.rows, 128), 128), &self.stream, NewtonTimes {
                grid: g.rows(), fluid: &g.fluid, eddies: self.eddies(), residual: &self.residual,
                steps: &self.steps, times: &newton.times,
            } }?;
        }
        let mut sums = vec![0.0; 2 * n];
        for part in newton.partials.download()?.chunks_exact(2 * n) {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        if let Some(share) = &self.share {
            share.sum(&mut sums);
        }
        let norms: Vec<f64> = sums.iter().map(|sum: &f64| sum.sqrt()).collect();
        let (unknowns, residuals, size) = units(self.beta, &norms[..n], &norms[n..]);
        newton.units.upload(&[unknowns, residuals].concat())?;
        Ok(size)
    }

    fn solve_with(&mut self, newton: &mut NewtonCuda, at: &Moment) -> Result<f64, GpuError> {
        let size = self.measure_step(newton, at)?;
        newton.base.copy_from(&self.residual.slice())?;
        self.last_good.copy_from(&self.q.slice())?;
        let NewtonCuda { options, kernels, krylov, base, times, b, x, units, .. } = newton;
        let (options, vectors, share) = (at.newton(options), self.vectors.clone(), self.share.clone());
        let mut step = Step { flow: self, kernels, base, times, units, at: *at, size };
        step.weigh(false, step.base, b)?;
        let left = cuda::solve((krylov, &vectors), &mut step, &options, share.as_deref(), b, x)?;
        step.weigh_unknowns(true, x, &step.flow.update)?;
        let Step { flow, base, .. } = step;
        flow.q.copy_from(&flow.last_good.slice())?;
        flow.residual.copy_from(&base.slice())?;
        Ok(left)
    }
}
