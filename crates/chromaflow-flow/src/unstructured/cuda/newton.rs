#![allow(unsafe_code)]
//! What Newton-Krylov steps of a flow on a mesh ask of it, on the device. Twin: ../newton.rs.

use super::arguments::{
    HeldSlopes, MirrorSlopes, NewtonKernels, PseudoTimes, SetBeside, Slopes, StatesAlong, WallSlopes,
    WallsAlong, Weigh,
};
use super::{AT_HAND, FlowCuda, FlowSystem, coupled};
use crate::config::NewtonKrylov;
use crate::coupled::{CoupledSystemCuda, DirectionCuda, FlowViewCuda};
use crate::gpu::{ALONG, blocks, source};
use crate::march::Moment;
use crate::march::linear::LinearCuda;
use crate::march::newton::cuda::{self, ChangesCuda, NewtonStepCuda};
use crate::march::newton::{LEAST_SHARE, bears};
use chromaflow::gpu::{GpuError, ShareCuda, Storage, Vectors};
use chromaflow::krylov::KrylovCuda;
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, KernelSource, Stream};
use chromaflow_device::enqueue;
use std::ops::Range;

/// The kernels of newton.cu.
pub(crate) fn kernel_source() -> KernelSource {
    source("newton", ALONG, include_str!("newton.cu")).records::<NewtonKernels>()
}

/// What Newton-Krylov steps need besides what all steps do.
pub(super) struct NewtonCuda {
    options: NewtonKrylov,
    solve: Option<Solve>,
    vectors: Vectors,
    kernels: NewtonKernels,
    /// State, residual and friction where the derivative is taken.
    q: DeviceBuffer<f64>,
    residual: DeviceBuffer<f64>,
    friction: DeviceBuffer<f64>,
    /// |q|, with what stands beside the flow.
    size: f64,
    /// Whether differences may take their step along any direction, and what finds how far states may move.
    bears: bool,
    changes: ChangesCuda,
    /// V/dt of each node.
    pseudo_time: DeviceBuffer<f64>,
    /// Partial sums of inner products.
    sums: DeviceBuffer<f64>,
    /// The flow's part of what is preconditioned, and what becomes of it; empty where the flow is alone.
    r: DeviceBuffer<f64>,
    z: DeviceBuffer<f64>,
    /// Over ranks a solution without its ghosts, for its norm; else empty.
    owned: DeviceBuffer<f64>,
    /// Whether residuals are measured by what they would change, see [`FlowSystem::measures_by_change`](super::super::FlowSystem::measures_by_change).
    weighted: bool,
    /// Where systems beside the flow have derivatives themselves.
    way: Option<Way>,
}

/// The flow where the derivative is taken, and records of nodes along the direction.
struct Way {
    nodes: DeviceBuffer<f64>,
    fluxes: DeviceBuffer<f64>,
    along: DeviceBuffer<f64>,
}

impl Way {
    /// Of the flow as systems beside it see it at the end of the step.
    fn direction<'a>(&'a self, moved: &FlowViewCuda<'a>, h: f64) -> DirectionCuda<'a> {
        DirectionCuda {
            flow: FlowViewCuda { nodes: &self.nodes, fluxes: &self.fluxes, ..*moved },
            along: &self.along,
            h,
        }
    }
}

/// GMRES, and right-hand side and solution of all systems.
struct Solve {
    krylov: KrylovCuda,
    b: DeviceBuffer<f64>,
    x: DeviceBuffer<f64>,
}

impl NewtonCuda {
    pub(super) fn new(stream: &Stream, solver: &FlowSystem, options: NewtonKrylov) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&kernel_source())?;
        let vectors = Vectors::new(stream, Storage::F64)?;
        let n = solver.dual.nodes();
        let driving = solver.coupled.iter().filter(|system| system.drives_flow());
        let beside: usize = driving.map(|system| system.state.values.len()).sum();
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        let flow_part = if beside > 0 { 5 * n } else { 0 };
        Ok(Self {
            options,
            solve: Some(Solve {
                krylov: KrylovCuda::new(stream)?,
                b: buffer(5 * n + beside)?,
                x: buffer(5 * n + beside)?,
            }),
            sums: buffer(vectors.partials() + 2)?,
            vectors,
            weighted: solver.measures_by_change(),
            way: if solver.coupled.iter().any(|system| system.drives_flow() && system.has_derivative()) {
                let edges = solver.dual.edges.len();
                Some(Way { nodes: buffer(8 * n)?, fluxes: buffer(5 * edges)?, along: buffer(8 * n)? })
            } else {
                None
            },
            kernels: NewtonKernels::of(&module)?,
            q: buffer(5 * n)?,
            residual: buffer(5 * n)?,
            friction: buffer(4 * solver.friction.len())?,
            size: 0.0,
            bears: true,
            changes: ChangesCuda::new(stream)?,
            pseudo_time: buffer(n)?,
            r: buffer(flow_part)?,
            z: buffer(flow_part)?,
            owned: buffer(if solver.share().is_some() { 5 * n + beside } else { 0 })?,
        })
    }

    /// Takes the present state as the one at which the derivative is taken.
    fn set_base(&mut self, flow: &mut FlowCuda, at: &Moment) -> Result<(), GpuError> {
        self.q.copy_from(&flow.q.slice())?;
        self.residual.copy_from(&flow.residual.slice())?;
        self.friction.copy_from(&flow.friction.slice())?;
        if let Some(way) = &mut self.way {
            way.nodes.copy_from(&flow.nodes.slice())?;
            way.fluxes.copy_from(&flow.fluxes.slice())?;
        }
        self.pseudo_times(flow, at.cfl)?;
        if self.weighted {
            self.weigh(flow, false, &self.residual, &self.z)?;
        }
        let measured = if self.weighted { &self.z } else { &self.residual };
        let squares = match flow.share.clone() {
            None => self.vectors.dots([(&self.q, &self.q), (measured, measured)], &mut self.sums)?,
            Some(share) => {
                let mut norm = [self.vectors.dot(measured, measured, &mut self.sums)?];
                share.sum(&mut norm);
                self.owned.fill_bytes(0)?;
                self.vectors.axpby_part(1.0, &self.q.slice(), 0.0, (&mut self.owned, 0..self.q.len()))?;
                [self.square_of_owned(&share, &[5])?, norm[0]]
            }
        };
        let [size, norm] = squares.map(f64::sqrt);
        let noise = if self.way.is_some() { 1.0 } else { at.noise };
        let (sums, by_change, mut unknowns) = (&mut self.sums, self.weighted, 0);
        flow.each_driving(at, |system, view| {
            unknowns += system.nb();
            system.set_base(view, (size, noise * norm), by_change, sums)
        })?;
        self.size = if self.way.is_some() { size } else { size * ((1 + unknowns) as f64).sqrt() };
        let on = (&flow.stream, flow.share.as_deref());
        let most = self.changes.largest(on, flow.mesh.rows, &self.q, None)?;
        self.bears = bears(self.size, most);
        Ok(())
    }

    /// Residuals of the flow as GMRES measures them, or back.
    fn weigh(
        &self,
        flow: &FlowCuda,
        back: bool,
        from: &DeviceBuffer<f64>,
        out: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let n = flow.mesh.rows;
        assert!(from.len() == 5 * n && out.len() == 5 * n);
        // SAFETY: vectors have five values a row, and V/dt one.
        Ok(unsafe {
            enqueue! { self.kernels.weigh.launch(blocks(5 * n, 256), 256), &flow.stream, Weigh {
                rows: n as u32, back: u32::from(back), pseudo_time: &self.pseudo_time, from, out,
            } }
        }?)
    }

    /// The length of a direction by which the step of a difference is measured.
    fn length(&mut self, flow: &mut FlowCuda, v: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        let share = flow.share.clone();
        let whole = match &share {
            None => self.vectors.dot(v, v, &mut self.sums)?,
            Some(share) => {
                let mut widths = vec![5];
                widths.extend(flow.driving_mut().map(|system| system.nb()));
                self.owned.copy_from(&v.slice())?;
                self.square_of_owned(share, &widths)?
            }
        };
        if self.way.is_none() {
            return Ok(whole.sqrt());
        }
        self.r.copy_from(&v.part(0..5 * flow.mesh.rows))?;
        if let Some(share) = &share {
            share.clear(5, &self.r.slice())?;
        }
        let mut of_flow = [self.vectors.dot(&self.r, &self.r, &mut self.sums)?];
        if let Some(share) = &share {
            share.sum(&mut of_flow);
        }
        Ok(of_flow[0].sqrt().max(LEAST_SHARE * whole.sqrt()))
    }

    /// Finds how the nodes change along a direction.
    fn find_along(&self, flow: &FlowCuda, v: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        let Some(way) = &self.way else { return Ok(()) };
        let (n, params) = (flow.mesh.rows, &flow.params.values);
        assert!(v.len() == 5 * n);
        let walls = self.kernels.walls_along.launch(blocks(flow.wall_nodes(), 128), 128);
        // SAFETY: vectors have five values a row, nodes eight; the nodes of lists are rows.
        unsafe {
            enqueue! { self.kernels.states_along.launch(blocks(n, 128), 128), &flow.stream, StatesAlong {
                rows: n as u32, base: &self.q, v, nodes: &way.nodes, params, planar: u32::from(flow.planar),
                along: &way.along,
            } }?;
            enqueue! { walls, &flow.stream, WallsAlong {
                count: flow.wall_nodes() as u32, walls: &flow.fixed, base: &self.q, v, params,
                along: &way.along,
            } }?;
        }
        flow.share.as_ref().map_or(Ok(()), |share| share.exchange(8, &way.along.slice()))
    }

    /// The square over all ranks of the solution that was put into `owned`, of parts with so many numbers a row.
    fn square_of_owned(&mut self, share: &ShareCuda, widths: &[usize]) -> Result<f64, GpuError> {
        let mut first = 0;
        for width in widths {
            let part = first..first + width * share.share().rows();
            first = part.end;
            // Ghosts are others' to count.
            share.clear(*width, &self.owned.part(part))?;
        }
        let mut square = [self.vectors.dot(&self.owned, &self.owned, &mut self.sums)?];
        share.sum(&mut square);
        Ok(square[0])
    }

    /// Returns to it.
    fn return_to_base(&self, flow: &mut FlowCuda) -> Result<(), GpuError> {
        self.set_beside(flow, 0.0, &self.q.slice())?;
        flow.q.copy_from(&self.q.slice())?;
        flow.residual.copy_from(&self.residual.slice())?;
        Ok(flow.friction.copy_from(&self.friction.slice())?)
    }

    /// Sets the state to q + h v, with what walls hold in its place.
    fn set_beside(&self, flow: &FlowCuda, h: f64, v: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        let n = flow.mesh.rows;
        // SAFETY: vectors have five values a row, nodes eight.
        unsafe {
            enqueue! { self.kernels.set_beside.launch(blocks(n, 128), 128), &flow.stream, SetBeside {
                rows: n as u32, base: &self.q, h, v, params: &flow.params.values,
                planar: u32::from(flow.planar), q: &flow.q, nodes: &flow.nodes,
            } }?;
        }
        flow.hold_walls()
    }

    /// y = V/dt v + (R(q + h v) - R(q)) / h of the flow, with the present residual that of q + h v.
    fn slopes(
        &self,
        flow: &FlowCuda,
        h: f64,
        v: &DeviceSlice<'_, f64>,
        y: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        let (n, stream, k) = (flow.mesh.rows, &flow.stream, &self.kernels);
        assert!(v.len() == 5 * n && y.len() == 5 * n);
        let weighted = u32::from(self.weighted);
        let held = k.held_slopes.launch(blocks(flow.held.len(), 128), 128);
        // SAFETY: vectors have five values a row, and V/dt one; the nodes of lists are rows.
        Ok(unsafe {
            enqueue! { k.slopes.launch(blocks(5 * n, 256), 256), stream, Slopes {
                rows: n as u32, moved: &flow.residual, base: &self.residual, pseudo_time: &self.pseudo_time,
                v, inverse: 1.0 / h, planar: u32::from(flow.planar), weighted, y,
            } }?;
            enqueue! { k.wall_slopes.launch(blocks(flow.wall_nodes(), 128), 128), stream, WallSlopes {
                count: flow.wall_nodes() as u32, walls: &flow.fixed, pseudo_time: &self.pseudo_time, weighted,
                v, y,
            } }?;
            enqueue! { k.mirror_slopes.launch(blocks(flow.mirrors.count, 128), 128), stream, MirrorSlopes {
                count: flow.mirrors.count as u32, mirrors: &flow.mirrors.nodes,
                pseudo_time: &self.pseudo_time, weighted, v, y,
            } }?;
            enqueue! { held, stream, HeldSlopes {
                count: flow.held.len() as u32, node_of: &flow.held, pseudo_time: &self.pseudo_time, weighted,
                v, y,
            } }
        }?)
    }

    /// V/dt of each node: the sum of the spectral radii over its faces, over the CFL number.
    fn pseudo_times(&self, flow: &FlowCuda, cfl: f64) -> Result<(), GpuError> {
        let (n, mesh) = (flow.mesh.rows, &flow.mesh);
        let eddies = coupled::eddies(&flow.coupled);
        // SAFETY: edges of the pattern have areas; nodes, volumes, eddy viscosities and V/dt are those of the rows.
        Ok(unsafe {
            enqueue! { self.kernels.pseudo_times.launch(blocks(n, 128), 128), &flow.stream, PseudoTimes {
                rows: n as u32, row_ptr: &mesh.row_ptr, signed_edge: &mesh.signed_edge, areas: &mesh.areas,
                nodes: &flow.nodes, volumes: &mesh.volumes, eddies, params: &flow.params.values,
                viscous: u32::from(flow.viscous.is_some()), cfl, cfl_shares: &flow.cfl_shares,
                pseudo_time: &self.pseudo_time,
            } }
        }?)
    }
}

/// A step's system: unknowns of the flow, then those of each system that it depends on.
struct FlowStep<'a> {
    newton: &'a mut NewtonCuda,
    flow: &'a mut FlowCuda,
    linear: &'a mut LinearCuda,
    at: Moment,
}

impl NewtonStepCuda for FlowStep<'_> {
    fn size(&self) -> f64 {
        self.newton.size
    }

    fn length(&mut self, v: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        self.newton.length(self.flow, v)
    }

    fn relative_change(&mut self, v: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        let NewtonCuda { bears, changes, q, owned, .. } = &mut *self.newton;
        if *bears {
            return Ok(0.0);
        }
        // Over ranks the length was found without ghosts.
        let share = self.flow.share.as_deref();
        let v = if share.is_some() { &*owned } else { v };
        changes.largest((&self.flow.stream, share), self.flow.mesh.rows, q, Some(v))
    }

    fn differentiate(
        &mut self,
        h: f64,
        v: &DeviceBuffer<f64>,
        y: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let Self { newton, flow, at, .. } = self;
        let own = 0..5 * flow.mesh.rows;
        newton.find_along(flow, &v.part(own.clone()))?;
        let mut first = own.end;
        flow.each_driving(at, |system, view| {
            let part = first..first + system.unknowns();
            first = part.end;
            match &newton.way {
                Some(way) if system.has_derivative() => system.direct(&way.direction(view, h), &v.part(part)),
                _ => system.set_beside(view, h, &v.part(part)),
            }
        })?;
        newton.set_beside(flow, h, &v.part(own.clone()))?;
        flow.compute_residual(at)?;
        newton.slopes(flow, h, &v.part(own.clone()), &y.part(own.clone()))?;
        if let Some(share) = &flow.share {
            share.clear(5, &y.part(own.clone()))?;
        }
        let mut first = own.end;
        flow.each_driving(at, |system, view| {
            let part = first..first + system.unknowns();
            first = part.end;
            let (v, y) = (v.part(part.clone()), y.part(part));
            match &newton.way {
                Some(way) if system.has_derivative() => {
                    system.derivative(&way.direction(view, h), view, at, &v, &y)
                }
                _ => {
                    system.find_residual(view, at)?;
                    system.differentiate(view, h, &v, &y)
                }
            }
        })
    }

    fn precondition(&mut self, r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        let (newton, own) = (&mut *self.newton, 0..5 * self.flow.mesh.rows);
        if r.len() == own.len() {
            return self.linear.precondition(r, z);
        }
        newton.r.copy_from(&r.part(own.clone()))?;
        if newton.weighted {
            newton.weigh(self.flow, true, &newton.r, &newton.r)?;
        }
        let stream = self.flow.stream.clone();
        if let Some(mut tight) = self.flow.tight.take() {
            let (r_flow, z_flow) = (&newton.r, &newton.z);
            let done = self.flow.parts().try_for_each(|(system, part)| {
                system.precondition_by(&stream, (&r.part(part.clone()), &z.part(part)), |[r, z]| {
                    tight.precondition(&stream, [r_flow, r], [z_flow, z])
                })
            });
            self.flow.tight = Some(tight);
            done?;
            return newton.vectors.axpby_part(1.0, &newton.z.slice(), 0.0, (z, own));
        }
        self.linear.precondition(&newton.r, &mut newton.z)?;
        newton.vectors.axpby_part(1.0, &newton.z.slice(), 0.0, (z, own))?;
        for (system, part) in self.flow.parts() {
            system.precondition(&stream, &r.part(part.clone()), &z.part(part))?;
        }
        Ok(())
    }
}

impl FlowCuda {
    /// Solves (V/dt + dR/dq) x = R for the update x of the flow and of the systems that it depends on; the relative residual that is
    /// left, none where there are no factors to solve with.
    pub(super) fn solve_newton(&mut self, at: &Moment) -> Result<Option<f64>, GpuError> {
        let mut linear = self.linear.take().expect(AT_HAND);
        let mut newton = self.newton.take().expect(AT_HAND);
        let mut good = true;
        if let Some(tight) = &mut self.tight {
            good &= tight.linear.factor()?;
        } else {
            good &= linear.factor()?;
            self.each_driving(at, |system, view| {
                good &= system.factor(view, at)?;
                Ok(())
            })?;
        }
        let mut reduction = None;
        if good {
            newton.set_base(self, at)?;
            reduction = Some(self.solve_at_base(&mut newton, &mut linear, at)?);
            self.driving_mut().for_each(CoupledSystemCuda::leave_direction);
            newton.return_to_base(self)?;
            if self.coupled.iter().any(|system| !system.drives_flow()) {
                // Its systems look at gradients and fluxes, too.
                self.compute_residual(at)?;
            }
        } else {
            self.update.fill_bytes(0)?;
            self.driving_mut().try_for_each(|system| system.clear_update())?;
        }
        (self.linear, self.newton) = (Some(linear), Some(newton));
        Ok(reduction)
    }

    fn solve_at_base(
        &mut self,
        newton: &mut NewtonCuda,
        linear: &mut LinearCuda,
        at: &Moment,
    ) -> Result<f64, GpuError> {
        let options = at.newton(&newton.options);
        let mut solve = newton.solve.take().expect(AT_HAND);
        let Solve { krylov, b, x } = &mut solve;
        let own = 0..5 * self.mesh.rows;
        if newton.weighted {
            newton.weigh(self, false, &newton.residual, &newton.r)?;
        }
        let measured = if newton.weighted { &newton.r } else { &newton.residual };
        newton.vectors.axpby_part(1.0, &measured.slice(), 0.0, (b, own.clone()))?;
        let (stream, share) = (self.stream.clone(), self.share.clone());
        for (system, part) in self.parts() {
            system.residual_into(&stream, &b.part(part))?;
        }
        let vectors = newton.vectors.clone();
        let mut step = FlowStep { newton, flow: self, linear, at: *at };
        let left = cuda::solve((krylov, &vectors), &mut step, &options, share.as_deref(), b, x)?;
        let FlowStep { newton, flow, .. } = step;
        flow.update.copy_from(&x.part(own))?;
        for (system, part) in flow.parts() {
            system.set_update(&stream, &x.part(part))?;
        }
        newton.solve = Some(solve);
        Ok(left)
    }

    fn driving_mut(&mut self) -> impl Iterator<Item = &mut CoupledSystemCuda> {
        self.coupled.iter_mut().filter(|system| system.drives_flow())
    }

    /// The systems that the flow depends on, and where their unknowns lie behind the flow's.
    fn parts(&mut self) -> impl Iterator<Item = (&mut CoupledSystemCuda, Range<usize>)> {
        let mut first = 5 * self.mesh.rows;
        self.driving_mut().map(move |system| {
            let part = first..first + system.unknowns();
            first = part.end;
            (system, part)
        })
    }

    /// Calls `f` with each system that the flow depends on.
    fn each_driving(
        &mut self,
        at: &Moment,
        mut f: impl FnMut(&mut CoupledSystemCuda, &crate::coupled::FlowViewCuda<'_>) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        self.each_coupled(at, |system, view| if system.drives_flow() { f(system, view) } else { Ok(()) })
    }
}
