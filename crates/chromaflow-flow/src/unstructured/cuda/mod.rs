#![allow(unsafe_code)]
//! A flow solver's march on a GPU: everything of a step but the decisions, which need a few numbers of it.
//!
//! A step has two meetings of host and device: after norms and forces, and after the update. What they exchange are
//! scalars, in page-locked memory.

mod arguments;
mod coupled;
pub(crate) mod newton;
mod over_ranks;
#[cfg(test)]
mod over_ranks_tests;
#[cfg(test)]
mod periodic_tests;
mod steps;
#[cfg(test)]
mod tests;
mod tight;
#[cfg(test)]
mod turbulence_tests;

use super::flow::AT_HAND;
use super::{FlowSolver, FlowSystem};
use crate::config::{FlowConfig, Nonlinear, Time};
use crate::coupled::tight::cuda::{self as joint, TightCuda};
use crate::coupled::{CoupledSystemCuda, sources_of};
use crate::equations::perfect_gas::N;
use crate::flux::LayerFix;
use crate::gpu::{
    BoundaryCuda, Clock, Diffusion, JacobianCuda, LeastSquaresCuda, MARKS, MeshCuda, Params, ResidualCuda,
    Sums, ViscousCuda, blocks, download_pressures, upload_structs,
};
use crate::gradient::cuda::MirrorsCuda;
use crate::march::forces::Walls;
use crate::march::linear::{LinearCuda, Shape};
use crate::march::over_ranks::refuse_exact;
use crate::march::{Advanced, Device, FlowError, Measured, Moment, Part, System, Times};
use crate::residual::is_node_wise;
use crate::residual::turned::cuda::TurnedCuda;
use arguments::Kernels;
use chromaflow::gpu::{GpuError, ShareCuda, Storage, Wish};
use chromaflow_device::cuda::{DeviceBuffer, Gpu, KernelSource, Pinned, Stream};
use newton::NewtonCuda;
use std::sync::Arc;
pub(crate) use steps::kernel_source;

/// The walls' faces, patch by patch, for `wall_forces`.
struct WallFaces {
    nodes: DeviceBuffer<u32>,
    areas: DeviceBuffer<f64>,
    normals: DeviceBuffer<f64>,
    walls: Walls,
}

impl WallFaces {
    fn new(stream: &Stream, solver: &FlowSystem) -> Result<Self, GpuError> {
        let (mut nodes, mut areas, mut normals, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (p, patch) in solver.dual.patches.iter().enumerate() {
            if !solver.boundaries[p].kind.is_wall() {
                continue;
            }
            names.push(patch.name.clone());
            for (i, (&node, area)) in patch.nodes.iter().zip(&patch.areas).enumerate() {
                let (at, share) = solver.friction_share(p, i).map_or((u32::MAX, 0.0), |(a, s)| (a as u32, s));
                // Over ranks each adds up what acts on nodes that it owns; of ghosts the friction may be anything.
                let own = solver.share().is_none_or(|share| share.owns(node as usize));
                nodes.extend([node, if own { at } else { u32::MAX }]);
                let part = solver.over.as_ref().map_or(1.0, |rows| rows.in_sector(node));
                areas.extend([area[0], area[1], area[2], share].map(|a| if own { part * a } else { 0.0 }));
                normals.extend(patch.smooth_normal(i));
            }
        }
        Ok(Self {
            nodes: stream.upload(&nodes)?,
            areas: stream.upload(&areas)?,
            normals: stream.upload(&normals)?,
            walls: Walls { scale: solver.scale, names, counted: solver.config.reference.markers.clone() },
        })
    }
}

/// Where the counters stand.
#[derive(Clone, Copy)]
enum Count {
    BadResidual,
    BadState,
    Limited,
    Number,
}

/// The state of a flow solver on a GPU and all that a step needs.
struct FlowCuda {
    stream: Stream,
    mesh: MeshCuda,
    boundary: BoundaryCuda,
    params: Params,
    gradient: LeastSquaresCuda,
    residual_kernels: ResidualCuda,
    /// Edges at the seam of turned sides, where limiters look at components.
    turned: Option<TurnedCuda>,
    /// Whether sides are turned.
    turns: bool,
    viscous: Option<ViscousCuda>,
    assembly: JacobianCuda,
    kernels: Kernels,
    walls: WallFaces,
    config: FlowConfig,
    planar: bool,
    // State.
    q: DeviceBuffer<f64>,
    last_good: DeviceBuffer<f64>,
    /// The share of the CFL number that each node takes.
    cfl_shares: DeviceBuffer<f64>,
    nodes: DeviceBuffer<f64>,
    /// Two earlier time levels; none in steady runs.
    levels: Option<[DeviceBuffer<f64>; 2]>,
    source: Option<DeviceBuffer<f64>>,
    /// Nodes on planes of symmetry.
    mirrors: MirrorsCuda,
    /// Nodes on walls without slip, `WallNode`.
    fixed: DeviceBuffer<u64>,
    /// Nodes on walls with a law, `LawNode`, and how many.
    laws: DeviceBuffer<u64>,
    law_nodes: usize,
    held: DeviceBuffer<u32>,
    // Work.
    gradients: DeviceBuffer<f64>,
    limits: DeviceBuffer<f64>,
    fluxes: DeviceBuffer<f64>,
    residual: DeviceBuffer<f64>,
    friction: DeviceBuffer<f64>,
    update: DeviceBuffer<f64>,
    /// None while a Newton-Krylov step has it.
    linear: Option<LinearCuda>,
    newton: Option<NewtonCuda>,
    // Numbers for the host.
    sums: Sums,
    counts: DeviceBuffer<u32>,
    no_counts: DeviceBuffer<u32>,
    host_counts: Pinned<u32>,
    clock: Clock,
    /// Systems beside the flow.
    coupled: Vec<CoupledSystemCuda>,
    /// Whether gradients are needed in steps of first order, too.
    always_gradients: bool,
    /// One matrix of the flow and of that which it depends on, where they are tightly coupled.
    tight: Option<TightCuda>,
    /// Where the rows are those of a rank.
    share: Option<Arc<ShareCuda>>,
}

impl FlowSolver {
    /// Moves the computation to a GPU: from now on every step runs there, and only scalars come back. Call
    /// [`Self::sync`] before looking at the state.
    ///
    /// The same case gives the same results as on the CPU, to the rounding of sums in another order.
    ///
    /// Over ranks each gives the device that it computes on, all at once; two ranks may give the same. [`Self::halo_path`] says how messages
    /// pass between them.
    ///
    /// # Errors
    /// [`FlowError::Gpu`]: out of memory, no compiler, driver errors. [`FlowError::Linear`]: a linear method that runs on
    /// the CPU only. [`FlowError::NotOverRanks`]: what one device alone computes.
    pub fn use_gpu(&mut self, gpu: &Gpu) -> Result<(), FlowError> {
        self.use_gpu_by(gpu, Wish::Shortest)
    }

    /// As [`Self::use_gpu`], with a wish of how messages pass between devices.
    ///
    /// # Errors
    /// As [`Self::use_gpu`].
    pub fn use_gpu_by(&mut self, gpu: &Gpu, wish: Wish) -> Result<(), FlowError> {
        self.sync()?;
        refuse_exact(self.host.share())?;
        let stream = gpu.stream()?;
        let share = over_ranks::share(&stream, &self.host, wish)?;
        let path = share.as_ref().map(|share| share.path().to_string());
        let device = FlowCuda::new(&stream, &self.host, share.as_ref())?;
        if let Some(rows) = &mut self.host.over {
            rows.halo = path;
            // Kernels may have been compiled here that another host had in its cache.
            rows.share.ranks().barrier_patiently()?;
        }
        self.use_device(Box::new(device))
    }
}

/// Kernels that a solver asks for.
fn kernels_of(solver: &FlowSystem, multiprocessors: usize) -> Vec<KernelSource> {
    let (config, batches) = (&solver.config, &solver.plan.batches);
    let implicit = &config.implicit;
    let largest = batches.iter().map(|b| b.len()).max().unwrap_or(0);
    let of_ranks = |share: &Arc<chromaflow::dist::Share>| {
        [share.whole(), share.batches().iter().map(|batch| batch.whole[0]).max().unwrap_or(0)]
    };
    let [rows, largest_batch] = solver.share().map_or([solver.dual.nodes(), largest], of_ranks);
    let over_ranks = solver.share().is_some();
    let shape = Shape { rows, largest_batch, multiprocessors, over_ranks };
    let (linear, chunk) = LinearCuda::kernel_sources(implicit, N, solver.tight.is_none(), &shape);
    let (storage, diffusion) = (Storage::from(implicit.policy), Diffusion::of(config));
    let mut all = crate::jacobian::cuda::sources_of(storage, implicit.jacobian, diffusion, chunk).to_vec();
    all.extend(crate::gpu::kernels_of(config));
    all.extend(linear);
    all.extend(solver.coupled.iter().flat_map(|system| sources_of(system, config, &shape)));
    if let Some(tight) = &solver.tight {
        all.extend(joint::sources_of(tight.unknowns(), config, &shape));
    }
    all
}

impl FlowCuda {
    fn new(stream: &Stream, solver: &FlowSystem, share: Option<&Arc<ShareCuda>>) -> Result<Self, FlowError> {
        stream.gpu().prepare(kernels_of(solver, stream.gpu().facts().multiprocessors));
        let (config, dual) = (&solver.config, &solver.dual);
        let (n, edges) = (dual.nodes(), dual.edges.len());
        let storage = Storage::from(config.implicit.policy);
        let second_order = config.space.second_order;
        let with_gradients = second_order || solver.needs_gradients();
        let (viscous, diffusion) = (solver.viscous.as_ref(), Diffusion::of(config));
        let depth = viscous.map_or(0.0, |(_, elements)| elements.depth());
        let layers = LayerFix::of_residual(config, solver.depth);
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        let records: Vec<f64> = solver.nodes.as_flattened().to_vec();
        let walls = WallFaces::new(stream, solver)?;
        let norm_blocks = blocks(n, 256).min(4 * stream.gpu().facts().multiprocessors);
        let of_walls = dual.patches.iter().zip(&solver.boundaries).filter(|(_, data)| data.kind.is_wall());
        let sums = Sums::new(stream, N, norm_blocks, of_walls.map(|(patch, _)| (patch.nodes.len(), true)))?;
        let mut counts = [0; Count::Number as usize];
        counts[Count::BadResidual as usize] = u32::MAX;
        counts[Count::BadState as usize] = u32::MAX;
        // What is largest comes first: a device that is too small says so at once.
        let batches = &solver.plan.batches;
        let in_place = solver.tight.is_none();
        let linear = LinearCuda::new(stream, &dual.pattern, N, batches, &config.implicit, in_place, share)?;
        Ok(Self {
            mesh: MeshCuda::new(stream, dual, &solver.mapping, &solver.moments)?,
            boundary: BoundaryCuda::new(
                stream,
                dual,
                &solver.boundaries,
                &solver.fixed,
                solver.over.as_ref(),
            )?,
            params: Params::new(
                stream,
                config,
                solver.gas,
                viscous.map(|v| v.0),
                depth,
                layers,
                &solver.dual.periods,
            )?,
            gradient: LeastSquaresCuda::new(stream, config.space.gradient, true)?,
            residual_kernels: ResidualCuda::new(stream, &config.space, !solver.moments.is_empty())?,
            turned: TurnedCuda::new(stream, &solver.turned)?,
            turns: solver.over.as_ref().is_some_and(|rows| rows.seam.is_some()),
            viscous: viscous.map(|(_, e)| ViscousCuda::new(stream, e, diffusion)).transpose()?,
            assembly: JacobianCuda::new(
                stream,
                &dual.pattern,
                config.implicit.jacobian,
                diffusion,
                storage,
                linear.in_place(),
            )?,
            kernels: Kernels::of(&stream.gpu().module(&kernel_source())?)?,
            config: config.clone(),
            planar: solver.planar,
            q: buffer(N * n)?,
            last_good: buffer(N * n)?,
            cfl_shares: buffer(n)?,
            nodes: stream.upload(&records)?,
            levels: match config.time {
                Time::Steady(_) => None,
                Time::Unsteady(_) => Some([buffer(N * n)?, buffer(N * n)?]),
            },
            source: None,
            fixed: upload_structs(stream, &solver.fixed)?,
            laws: upload_structs(stream, &solver.laws[0])?,
            law_nodes: solver.laws[0].len(),
            mirrors: MirrorsCuda::new(stream, &solver.mirrors)?,
            held: stream.upload(&[])?,
            gradients: buffer(if with_gradients { 16 * n } else { 0 })?,
            limits: buffer(if second_order && is_node_wise(config.space.limiter) { N * n } else { 0 })?,
            fluxes: buffer(N * edges)?,
            residual: buffer(N * n)?,
            friction: buffer(4 * solver.friction.len())?,
            update: buffer(N * n)?,
            linear: Some(linear),
            newton: match config.implicit.nonlinear {
                Nonlinear::DefectCorrection => None,
                Nonlinear::NewtonKrylov(options) => Some(NewtonCuda::new(stream, solver, options)?),
            },
            sums,
            counts: stream.upload(&counts)?,
            no_counts: stream.upload(&counts)?,
            host_counts: Pinned::zeroed(stream.gpu(), counts.len())?,
            clock: Clock::new(stream.gpu(), MARKS)?,
            walls,
            coupled: coupled::systems(stream, solver, share)?,
            always_gradients: solver.needs_gradients(),
            tight: tight::tight_of(stream, solver, share, (depth, layers))?,
            share: share.cloned(),
            stream: stream.clone(),
        })
    }
}

impl FlowCuda {
    /// The matrix that a step goes by, and what solves with it.
    fn linear_of_step(&mut self, is_tight: bool) -> &mut LinearCuda {
        match &mut self.tight {
            Some(tight) if is_tight => &mut tight.linear,
            _ => self.linear.as_mut().expect(AT_HAND),
        }
    }
}

impl System for FlowCuda {
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError> {
        self.counts.copy_from(&self.no_counts.slice())?;
        self.clock.start(&self.stream)?;
        let running = Part::Residual.begin();
        self.adapt_outlets(at, true)?;
        self.compute_residual(at)?;
        self.clock.done(running, &self.stream)?;
        self.each_timed(at, |system, view| system.enqueue_residual(view, at))?;
        let running = Part::Misc.begin();
        self.measure()?;
        self.counts.download_later(&mut self.host_counts)?;
        self.clock.done(running, &self.stream)?;
        self.stream.synchronize()?;
        let first_bad = self.over_all_ranks()?;
        let coupled = self.coupled.iter().flat_map(CoupledSystemCuda::squares).copied().collect();
        Ok(Measured { first_bad, ..self.walls.walls.measured(&self.sums).with_coupled(coupled) })
    }

    fn advance(&mut self, at: &Moment) -> Result<Advanced, FlowError> {
        self.clock.start(&self.stream)?;
        let running = Part::Assembly.begin();
        self.assemble(at.cfl, at.time_shift())?;
        let is_tight = self.is_tight(at);
        if is_tight {
            self.assemble_tight(at)?;
        }
        self.clock.done(running, &self.stream)?;
        let running = Part::Conversion.begin();
        self.linear_of_step(is_tight).find_scale()?;
        self.clock.done(running, &self.stream)?;
        let running = Part::LinearSolver.begin();
        let newton = self.steps_by_newton(at);
        let reduction = if newton {
            self.solve_newton(at)?
        } else if is_tight {
            self.solve_tight(at)?
        } else {
            let linear = self.linear.as_mut().expect(AT_HAND);
            linear.solve(&self.residual, &mut self.update, at.measure)?
        };
        self.clock.done(running, &self.stream)?;
        self.each_timed(at, |system, view| {
            // A Newton-Krylov step of the flow, or one by one matrix, has found the update of what it depends on, too.
            if (newton || is_tight) && system.drives_flow() {
                system.take_update(view)
            } else {
                system.enqueue_advance(view, at)
            }
        })?;
        let running = Part::Misc.begin();
        self.apply_update()?;
        self.exchange_states()?;
        self.counts.download_later(&mut self.host_counts)?;
        self.clock.done(running, &self.stream)?;
        self.stream.synchronize()?;
        let mut all = vec![Advanced {
            singular: self.linear_of_step(is_tight).singular(),
            reduction,
            limited: self.host_counts[Count::Limited as usize] as usize,
            bad: self.first(Count::BadState),
        }];
        all.extend(self.coupled.iter().map(CoupledSystemCuda::advanced));
        self.agree(&mut all)?;
        Ok(all[1..].iter().fold(all[0], |all, beside| all.with(beside)))
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        self.q.copy_from(&self.last_good.slice())?;
        for system in &mut self.coupled {
            system.restore()?;
        }
        Ok(self.refresh_nodes()?)
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        if let Some(levels) = &mut self.levels {
            levels.swap(0, 1);
            levels[0].copy_from(&self.q.slice())?;
        }
        for system in &mut self.coupled {
            system.next_level()?;
        }
        Ok(())
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        Ok(self.clock.times()?)
    }
}

impl Device<FlowSystem> for FlowCuda {
    fn upload(&mut self, host: &FlowSystem) -> Result<(), FlowError> {
        self.q.upload(host.q.as_flattened())?;
        self.cfl_shares.upload(&host.cfl_shares)?;
        self.last_good.copy_from(&self.q.slice())?;
        if let Some([last, before]) = &mut self.levels {
            last.upload(host.levels.last.as_flattened())?;
            before.upload(host.levels.before.as_flattened())?;
        }
        self.held = self.stream.upload(&host.held)?;
        self.boundary.conditions = upload_structs(&self.stream, &host.boundaries)?;
        self.source = match &host.source {
            None => None,
            Some(source) => {
                let values: Vec<f64> = host.nodes.iter().flat_map(|r| source([r[5], r[6], r[7]])).collect();
                Some(self.stream.upload(&values)?)
            }
        };
        for (system, from) in self.coupled.iter_mut().zip(&host.coupled) {
            system.upload(from, &self.stream)?;
        }
        Ok(self.refresh_nodes()?)
    }

    fn download(&self, host: &mut FlowSystem) -> Result<(), FlowError> {
        self.q.download_into(host.q.as_flattened_mut())?;
        self.cfl_shares.download_into(&mut host.cfl_shares)?;
        self.friction.download_into(host.friction.as_flattened_mut())?;
        self.residual.download_into(host.residual.as_flattened_mut())?;
        download_pressures(&self.boundary.conditions, &mut host.boundaries)?;
        if let Some([last, before]) = &self.levels {
            last.download_into(host.levels.last.as_flattened_mut())?;
            before.download_into(host.levels.before.as_flattened_mut())?;
        }
        for (system, to) in self.coupled.iter().zip(&mut host.coupled) {
            system.download(to)?;
        }
        host.refresh_nodes();
        Ok(())
    }

    /// Graphs are recorded, code is loaded and scratch memory taken when they are first used: by steps that are rejected at
    /// once.
    fn rehearse(&mut self, at: &Moment) -> Result<(), FlowError> {
        let at = Moment { first_order: false, ..*at };
        // Residuals adapt the back pressure of outlets, updates the shares of the CFL number.
        let mut conditions = DeviceBuffer::uninitialized(&self.stream, self.boundary.conditions.len())?;
        let mut shares = DeviceBuffer::uninitialized(&self.stream, self.cfl_shares.len())?;
        conditions.copy_from(&self.boundary.conditions.slice())?;
        shares.copy_from(&self.cfl_shares.slice())?;
        for (measure, together) in [(false, true), (true, true), (false, false), (true, false)] {
            let at = Moment { measure, together, ..at };
            self.residual(&at)?;
            self.advance(&at)?;
            self.restore()?;
            self.times()?;
        }
        self.cfl_shares.copy_from(&shares.slice())?;
        Ok(self.boundary.conditions.copy_from(&conditions.slice())?)
    }

    fn bytes(&self) -> usize {
        self.stream.held_bytes()
    }
}
