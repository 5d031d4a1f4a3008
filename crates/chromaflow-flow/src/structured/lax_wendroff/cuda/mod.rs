#![allow(unsafe_code)]
//! The Lax-Wendroff scheme on a GPU: everything of a step but the decisions, which need a few numbers of it.
//!
//! | file | kernels | twin |
//! |---|---|---|
//! | `cells.cu` | balance, time step and second-order terms of cells | `lax_wendroff/cells.rs` |
//! | `nodes.cu` | what nodes get from the cells around them; copies, ghosts, coarse grids | `lax_wendroff/nodes.rs`, `shared_nodes.rs`, `multigrid.rs` |
//! | `boundary.cu` | fluxes through the boundary, forces, states of its nodes | `lax_wendroff/boundary.rs` |
//!
//! Every array of a grid has the layout of its nodes ([`tables::Tables`]). Nodes gather from the eight cells around them in one
//! order: nothing races, and a case gives the same bits on every run. Host and device meet once a step.

mod arguments;
mod level;
mod measure;
mod tables;
#[cfg(test)]
mod tests;

use super::boundary::NodePatch;
use super::{LaxWendroffSolver, LaxWendroffSystem};
use crate::config::Time;
use crate::equations::perfect_gas::N;
use crate::gpu::{Clock, MARKS, Sums, blocks, source};
use crate::grid::{CHUNK, Reduction};
use crate::march::forces::Walls;
use crate::march::{Advanced, Device, FlowError, Measured, Moment, Part, PartTime, System, Times};
use crate::structured::cuda::setup::gas_record;
use crate::structured::cuda::{PARTS, add_up, tables as headers};
use arguments::{
    BoundaryFluxes, CellChanges, CellSteps, CloseBoundary, CoarseKernels, FillGhosts, FineKernels,
    JoinCopies, Kernels, NodeChanges, Rates,
};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Gpu, KernelSource, Pinned, Stream};
use chromaflow_device::enqueue;
use level::{CoarseLevel, Finer};
use tables::{Parts, Tables};

/// Values that are kept of a cell (kept of lax_wendroff.cuh).
const KEPT: usize = super::cells::KEPT;

fn kernel_source(viscous: bool, coarse: bool) -> KernelSource {
    let shared = format!("{}\n#line 1 \"lax_wendroff.cuh\"\n{}", headers(), include_str!("lax_wendroff.cuh"));
    let text = [include_str!("cells.cu"), include_str!("nodes.cu"), include_str!("boundary.cu")].join("\n");
    let source = source("lax_wendroff", &shared, &text).records::<Kernels>().records::<FineKernels>();
    let source = source.records::<CoarseKernels>().define("QUICK", 1);
    source.define("VISCOUS", u32::from(viscous)).define("COARSE", u32::from(coarse))
}

/// Every combination.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    [(false, false), (true, false), (false, true)].map(|(v, c)| kernel_source(v, c)).into()
}

/// The state of a solver on a GPU and all that a step needs.
struct LaxWendroffCuda {
    stream: Stream,
    tables: Tables,
    kernels: Kernels,
    fine: FineKernels,
    levels: Vec<CoarseLevel>,
    setup: DeviceBuffer<f64>,
    walls: Walls,
    /// Conserved variables and pressure; `next` is made of `q`, then they change places.
    q: DeviceBuffer<f64>,
    next: DeviceBuffer<f64>,
    /// In unsteady runs, whose steps have parts: the state before the step, and local time steps.
    unsteady: Option<[DeviceBuffer<f64>; 2]>,
    steps: DeviceBuffer<f64>,
    kept: DeviceBuffer<f64>,
    dropped: DeviceBuffer<f64>,
    fluxes: DeviceBuffer<f64>,
    loads: DeviceBuffer<f64>,
    // Numbers for the host.
    sums: Sums,
    first_bad: DeviceBuffer<u32>,
    none_bad: DeviceBuffer<u32>,
    host_bad: Pinned<u32>,
    clock: Clock,
}

impl LaxWendroffSolver {
    /// Moves the computation to a GPU: from now on every step runs there, and only scalars come back. Call
    /// [`Self::sync`] before looking at the state.
    ///
    /// The same case gives the same results as on the CPU, to the rounding of sums in another order.
    ///
    /// # Errors
    /// [`FlowError::Gpu`]: out of memory, no compiler, driver errors.
    pub fn use_gpu(&mut self, gpu: &Gpu) -> Result<(), FlowError> {
        self.sync()?;
        let device = LaxWendroffCuda::new(&gpu.stream()?, &self.host)?;
        self.use_device(Box::new(device))
    }
}

/// What kernels that both kinds of grids have work on.
struct Work<'a> {
    stream: &'a Stream,
    kernels: &'a Kernels,
    tables: &'a Tables,
    setup: &'a DeviceBuffer<f64>,
    q: &'a DeviceBuffer<f64>,
    kept: &'a DeviceBuffer<f64>,
    dropped: &'a DeviceBuffer<f64>,
    /// Of fine grids.
    steps: Option<&'a DeviceBuffer<f64>>,
    fluxes: Option<&'a DeviceBuffer<f64>>,
}

impl Work<'_> {
    fn total(&self) -> u64 {
        self.tables.nodes.len() as u64
    }

    /// Changes and second-order terms of cells; on coarse grids those of `finer`.
    fn cells(&self, courant: f64, given: f64, finer: Option<&Finer<'_>>) -> Result<(), GpuError> {
        let t = self.tables;
        // SAFETY: arrays of the nodes' layout; cells have their lowest node's place, faces numbers below `face_count`.
        Ok(unsafe {
            enqueue! { t.nodes.launch(&self.kernels.cell_changes), self.stream, CellChanges {
                over: t.nodes.chunk_records(), total: self.total(), actives: &t.actives,
                side_ptr: &t.side_ptr, face_of: &t.face_of, faces: t.face_count() as u64,
                boundary_fluxes: self.fluxes, q: self.q, area: &t.area, volume: &t.volume, setup: self.setup,
                courant, given, finer: finer.map_or(Finer::NONE, Finer::arguments), kept: self.kept,
                dropped: self.dropped,
            } }
        }?)
    }

    /// What nodes get, into `next`: states, or changes on coarse grids.
    fn nodes(&self, next: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        let t = self.tables;
        // SAFETY: arrays of the nodes' layout; the cells around a node and two nodes along each line are cells, nodes or ghosts.
        unsafe {
            enqueue! { t.nodes.launch(&self.kernels.node_changes), self.stream, NodeChanges {
                over: t.nodes.chunk_records(), total: self.total(), actives: &t.actives,
                side_ptr: &t.side_ptr, face_of: &t.face_of, faces: t.face_count() as u64,
                dropped: self.dropped, kept: self.kept, node_volume: &t.node_volume, q: self.q,
                setup: self.setup, next, steps: self.steps,
            } }?;
        }
        let count = t.shared_ptr.len() - 1;
        if count == 0 {
            return Ok(());
        }
        // SAFETY: each copy of a node belongs to one thread.
        Ok(unsafe {
            enqueue! { self.kernels.join_copies.launch(blocks(count, 128), 128), self.stream, JoinCopies {
                count: count as u32, total: self.total(), ptr: &t.shared_ptr, copies: &t.shared,
                node_volume: &t.node_volume, q: self.q, setup: self.setup, next, steps: self.steps,
            } }
        }?)
    }

    /// The boundary's part in `next`.
    fn close_boundary(&self, next: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        let t = self.tables;
        let count = t.point_ptr.len() - 1;
        if count == 0 {
            return Ok(());
        }
        let launch = self.kernels.close_boundary.launch(blocks(count, 128), 128);
        // SAFETY: a thread reads and writes the copies of its node alone.
        Ok(unsafe {
            enqueue! { launch, self.stream, CloseBoundary {
                count: count as u32, total: self.total(), ptr: &t.point_ptr, patch_of: &t.point_patch,
                areas: &t.point_area, places: &t.point_at, copy_ptr: &t.copy_ptr, copies: &t.copies,
                conditions: &t.conditions, setup: self.setup, q: self.q, to: next,
            } }
        }?)
    }
}

impl LaxWendroffCuda {
    fn new(stream: &Stream, solver: &LaxWendroffSystem) -> Result<Self, GpuError> {
        let parts = Parts {
            grid: &solver.grid,
            blocks: &solver.blocks,
            patches: &solver.patches,
            points: &solver.points,
            shared_nodes: &solver.shared_nodes,
        };
        let tables = Tables::new(stream, &parts)?;
        let module = stream.gpu().module(&kernel_source(solver.transport.is_some(), false))?;
        let levels = solver.levels.iter().map(|level| CoarseLevel::new(stream, level));
        let levels = levels.collect::<Result<Vec<_>, _>>()?;
        let mut setup = gas_record(solver.gas, solver.transport);
        let d = solver.dissipation;
        setup[1..5].copy_from_slice(&[d.second, d.fourth, d.acoustic, d.convective]);
        let (len, faces) = (tables.nodes.len(), tables.face_count());
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        let counted = |p: &&NodePatch| p.counts(&solver.blocks[p.window.block]);
        let walls = solver.patches.iter().filter(counted).filter(|p| p.condition.kind.is_wall());
        let names = walls.map(|p| p.name.clone()).collect();
        let patches = solver.patches.iter().filter(counted);
        let patches = patches.map(|p| (p.window.cells().count(), p.condition.kind.is_wall()));
        let chunks = tables.nodes.chunks().len() / 2;
        let unsteady = match solver.config.time {
            Time::Steady(_) => None,
            Time::Unsteady(_) => Some([buffer(6 * len)?, stream.upload(&vec![f64::MAX; len])?]),
        };
        Ok(Self {
            levels,
            setup: stream.upload(&setup)?,
            walls: Walls { scale: solver.scale, names, counted: solver.config.reference.markers.clone() },
            q: buffer(6 * len)?,
            next: buffer(6 * len)?,
            unsteady,
            steps: buffer(len)?,
            kept: buffer(KEPT * len)?,
            dropped: buffer(N * faces)?,
            fluxes: buffer(N * faces)?,
            loads: buffer(6 * faces)?,
            sums: Sums::new(stream, N, chunks.min(PARTS), patches)?,
            first_bad: stream.upload(&[u32::MAX])?,
            none_bad: stream.upload(&[u32::MAX])?,
            host_bad: Pinned::zeroed(stream.gpu(), 1)?,
            clock: Clock::new(stream.gpu(), MARKS)?,
            stream: stream.clone(),
            tables,
            kernels: Kernels::of(&module)?,
            fine: FineKernels::of(&module)?,
        })
    }

    fn total(&self) -> u64 {
        self.tables.nodes.len() as u64
    }

    fn work(&self) -> Work<'_> {
        Work {
            stream: &self.stream,
            kernels: &self.kernels,
            tables: &self.tables,
            setup: &self.setup,
            q: &self.q,
            kept: &self.kept,
            dropped: &self.dropped,
            steps: Some(&self.steps),
            fluxes: Some(&self.fluxes),
        }
    }

    fn fill_ghosts(&self) -> Result<(), GpuError> {
        let t = &self.tables;
        let count = t.ghosts.len() / 4;
        if count == 0 {
            return Ok(());
        }
        // SAFETY: ghosts differ, and what they are made of are no ghosts.
        Ok(unsafe {
            enqueue! { self.fine.fill_ghosts.launch(blocks(count, 128), 128), &self.stream, FillGhosts {
                count: count as u32, total: self.total(), ghosts: &t.ghosts, q: &self.q,
            } }
        }?)
    }

    fn boundary_fluxes(&self) -> Result<(), GpuError> {
        let (t, faces) = (&self.tables, self.tables.face_count());
        if faces == 0 {
            return Ok(());
        }
        let launch = self.fine.boundary_fluxes.launch(blocks(faces, 128), 128);
        // SAFETY: faces name cells, patches and blocks; results have five and six numbers a face.
        Ok(unsafe {
            enqueue! { launch, &self.stream, BoundaryFluxes {
                count: faces as u32, blocks: t.nodes.records(), total: self.total(), faces: &t.faces,
                conditions: &t.conditions, sides: &t.sides, q: &self.q, area: &t.area, volume: &t.volume,
                setup: &self.setup, free_pressure: self.walls.scale.pressure, fluxes: &self.fluxes,
                loads: &self.loads,
            } }
        }?)
    }

    /// The smallest local time step.
    fn smallest_step(&mut self, courant: f64) -> Result<f64, GpuError> {
        let t = &mut self.tables;
        let Some([_, local]) = &self.unsteady else { return Ok(f64::MAX) };
        // SAFETY: arrays of the nodes' layout.
        unsafe {
            enqueue! { t.nodes.launch(&self.fine.cell_steps), &self.stream, CellSteps {
                over: t.nodes.chunk_records(), total: t.nodes.len() as u64, actives: &t.actives, q: &self.q,
                area: &t.area, volume: &t.volume, setup: &self.setup, courant, steps: local,
            } }?;
        }
        t.nodes.reduce(local, 0, Reduction::Min)
    }

    /// One explicit step of `q` into `next`, with local time steps where `given` is zero.
    fn explicit(&mut self, courant: f64, given: f64) -> Result<(), GpuError> {
        self.fill_ghosts()?;
        self.boundary_fluxes()?;
        let work = self.work();
        work.cells(courant, given, None)?;
        work.nodes(&self.next)?;
        work.close_boundary(&self.next)
    }

    /// The changes of the fine grid on the first `coarse` coarse ones.
    fn carry_on(&mut self, courant: f64, coarse: usize) -> Result<(), GpuError> {
        let coarse = coarse.min(self.levels.len());
        if coarse == 0 {
            return Ok(());
        }
        for n in 0..coarse {
            let (finer, levels) = self.levels.split_at_mut(n);
            let finer = match finer.last() {
                Some(level) => level.changes(),
                None => Finer { tables: &self.tables, now: &self.next, before: Some(&self.q) },
            };
            levels[0].carry(&self.stream, &self.setup, courant, &finer, &self.tables, &self.next)?;
        }
        self.work().close_boundary(&self.next)
    }

    /// Sums of squared rates and the first bad node, against the state `before` the step.
    fn rates(&self, before: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        let (t, chunks) = (&self.tables, self.tables.nodes.chunks().len() / 2);
        // SAFETY: arrays of the nodes' layout; five partial sums a thread block.
        Ok(unsafe {
            enqueue! { self.fine.rates.launch(self.sums.norm_blocks(), CHUNK), &self.stream, Rates {
                over: t.nodes.chunk_records(), chunk_count: chunks as u32, total: self.total(), q: &self.next,
                before, steps: &self.steps, own_volume: &t.own_volume, partials: &self.sums.norms,
                first_bad: &self.first_bad,
            } }
        }?)
    }
}

impl System for LaxWendroffCuda {
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError> {
        let (courant, dt) = (at.cfl, at.bdf.map(|bdf| bdf.dt));
        self.first_bad.copy_from(&self.none_bad.slice())?;
        let parts = match dt {
            None => 1.0,
            Some(dt) => (dt / self.smallest_step(courant)?).ceil().clamp(1.0, 1e6),
        };
        if let Some([saved, _]) = &mut self.unsteady {
            saved.copy_from(&self.q.slice())?;
        }
        self.clock.start(&self.stream)?;
        let running = Part::Residual.begin();
        for part in 0..parts as usize {
            if part > 0 {
                std::mem::swap(&mut self.q, &mut self.next);
            }
            self.explicit(courant, dt.map_or(0.0, |dt| dt / parts))?;
        }
        self.clock.done(running, &self.stream)?;
        let running = Part::Assembly.begin();
        self.carry_on(courant, at.coarse_grids)?;
        self.clock.done(running, &self.stream)?;
        let running = Part::Misc.begin();
        self.rates(self.unsteady.as_ref().map_or(&self.q, |[saved, _]| saved))?;
        let kernels = [&self.fine.wall_forces, &self.fine.add_parts];
        add_up(
            &self.stream,
            kernels,
            &self.tables.middles,
            &self.loads,
            self.walls.scale.center,
            &mut self.sums,
        )?;
        self.first_bad.download_later(&mut self.host_bad)?;
        self.clock.done(running, &self.stream)?;
        self.stream.synchronize()?;
        std::mem::swap(&mut self.q, &mut self.next);
        // Where the first bad node is, the host finds out: it counts nodes in another order.
        let found = self.walls.measured(&self.sums);
        Ok(Measured { good: found.good && self.host_bad[0] == u32::MAX, ..found })
    }

    fn advance(&mut self, _at: &Moment) -> Result<Advanced, FlowError> {
        Ok(Advanced::default())
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        let before = self.unsteady.as_ref().map_or(&self.next, |[saved, _]| saved);
        Ok(self.q.copy_from(&before.slice())?)
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        Ok(())
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        Ok(self.clock.times()?)
    }

    fn parts(&mut self, at: &Moment, repeats: usize) -> Result<Vec<PartTime>, FlowError> {
        Ok(self.measure_parts(repeats, at.cfl)?)
    }
}

impl Device<LaxWendroffSystem> for LaxWendroffCuda {
    fn upload(&mut self, host: &LaxWendroffSystem) -> Result<(), FlowError> {
        let states = host.blocks.iter().map(|b| &b.q[..6 * b.nodes.len()]);
        self.q = self.tables.nodes.upload(states, 6)?;
        Ok(self.next.copy_from(&self.q.slice())?)
    }

    fn download(&self, host: &mut LaxWendroffSystem) -> Result<(), FlowError> {
        let states = host.blocks.iter_mut().map(|b| {
            let len = 6 * b.nodes.len();
            &mut b.q[..len]
        });
        Ok(self.tables.nodes.download(&self.q, states)?)
    }

    fn bytes(&self) -> usize {
        self.stream.held_bytes()
    }
}
