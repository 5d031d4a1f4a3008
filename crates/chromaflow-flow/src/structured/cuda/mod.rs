#![allow(unsafe_code)]
//! The solver of structured grids on a GPU: everything of a step but the decisions, which need a few numbers of it.
//!
//! | file | kernels | twin |
//! |---|---|---|
//! | `boundary.cu` | ghost cells, fluxes, forces and Jacobians of the boundary | `structured/boundary/mod.rs` |
//! | `fluxes.cu`, `viscous.cu` | sums of inviscid and of viscous fluxes, tile by tile | `structured/residual.rs` |
//! | `lines.cu`, `segments.cu` | Jacobian blocks and their elimination along lines, axis after axis | `structured/lines.rs` |
//! | `diagonal.cu` | the diagonalized factors | `structured/diagonal.rs` |
//! | `ssor.cu` | sweeps over the unfactored operator | `structured/ssor.rs` |
//! | `newton.cu` | the matrix and the differences of Newton-Krylov steps | `structured/newton/` |
//! | `turbulence/` | turbulence models | `structured/turbulence/` |
//! | `step.cu` | time steps, norms, update | `structured/mod.rs` |
//!
//! State, areas and residual are structures of arrays over all blocks ([`GridCuda`]). A step has two meetings of host and
//! device: after norms and forces, and after the update. What they exchange are scalars, in page-locked memory. Nothing
//! races and every sum has a fixed order: a case gives the same bits on every run.

pub(in crate::structured) mod arguments;
mod boundary;
mod factors;
mod fluxes;
mod measure;
mod newton;
mod over_ranks;
pub(in crate::structured) mod setup;
mod ssor;
#[cfg(test)]
mod tests;
mod tiles;
mod turbulence;
mod turned;
mod viscous;

use super::StructuredSolver;
use crate::gpu::{ALONG, Clock, Sums, source};
use crate::grid::device::GRID_CUH;
use crate::grid::{ExchangeCuda, GridCuda};
use crate::march::forces::Walls;
use crate::march::over_ranks::refuse_exact;
use crate::march::{Advanced, Bdf, FlowError, Measured, Moment, Part, PartTime, System, Times};
use arguments::{ApplyUpdate, AtBoundary, Ends, FindJumps, FinishResidual, OverCells, TimeSteps, WallForces};
use chromaflow::block::BLOCK_CUH;
use chromaflow::gpu::{GpuError, ShareCuda, Storage, Wish};
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Gpu, Kernel, KernelSource, Pinned, Stream};
use chromaflow_device::{enqueue, kernel_arguments};
use factors::Factors;
pub(super) use measure::launch_seconds;
use newton::NewtonCuda;
use setup::Tables;
use ssor::Sweeps;
use std::sync::Arc;
use tiles::Tiles;
use turbulence::EddiesCuda;
use viscous::Viscous;

/// Thread blocks of the pass over residuals: as many on every device, so that sums have one order.
pub(in crate::structured) const PARTS: usize = 1024;

/// What the kernels of all solvers on structured grids have before their text.
pub(in crate::structured) fn tables() -> String {
    let (shared, tma) = (include_str!("structured.cuh"), include_str!("tma.cuh"));
    format!(
        "\n{BLOCK_CUH}\n#line 1 \"grid.cuh\"\n{GRID_CUH}\n#line 1 \"structured.cuh\"\n{shared}\n#line 1 \"tma.cuh\"\n{tma}"
    )
}

/// Norms, and forces about `center` of the loads `[6, faces]` at `middles`, for the host.
pub(in crate::structured) fn add_up(
    stream: &Stream,
    [wall_forces, add_parts]: [&Kernel; 2],
    middles: &DeviceBuffer<f64>,
    loads: &DeviceBuffer<f64>,
    [cx, cy, cz]: [f64; 3],
    sums: &mut Sums,
) -> Result<(), GpuError> {
    // SAFETY: parts lie within the faces, each of which has six loads; twelve partial sums a part.
    unsafe {
        enqueue! { sums.over_walls(wall_forces), stream, WallForces {
            count: (middles.len() / 3) as u32, parts: &sums.parts, middles, loads, cx, cy, cz,
            partials: &sums.forces,
        } }?;
    }
    sums.add_up(stream, add_parts)
}

fn kernel(name: &'static str, text: &str, constants: [u32; 2]) -> KernelSource {
    kernel_with(name, &tables(), text, constants)
}

/// [`tables`] with numbers that have their derivative along a direction.
fn with_derivatives() -> String {
    format!("{}\n#line 1 \"along.cuh\"\n{ALONG}", tables())
}

fn kernel_with(name: &'static str, before: &str, text: &str, [scheme, viscous]: [u32; 2]) -> KernelSource {
    let source = source(name, before, text);
    let source = source.define("SCHEME", scheme).define("VISCOUS", viscous);
    // The compiler's own quotients have branches, which cost fluxes a quarter of their time.
    source.define("QUICK", 1)
}

/// What every method needs; `laws`: whether walls have some.
fn sources(constants: [u32; 2], laws: bool) -> [KernelSource; 2] {
    let boundary =
        kernel_with("structured_boundary", &with_derivatives(), include_str!("boundary.cu"), constants);
    [
        boundary.records::<AtBoundary>().define("LAWS", u32::from(laws)),
        kernel("structured_step", include_str!("step.cu"), constants).records::<OverCells>(),
    ]
}

/// Every scheme and all viscous terms once; all combinations are made of these.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    [[0, 0], [0, 2], [1, 1], [2, 2]]
        .into_iter()
        .flat_map(|c| {
            let methods =
                [&factors::block_sources(c)[..], &factors::wave_sources(c), &[ssor::source(c)]].concat();
            let fluxes = fluxes::source(c, fluxes::MOST_ROWS);
            let of = move |turbulent| viscous::largest_source(c, [c[0] == 2, turbulent]);
            let viscous =
                [false, true].into_iter().filter(move |turbulent| c[1] > u32::from(*turbulent)).map(of);
            let newton = [Storage::F32, Storage::F64].map(|storage| newton::source(c, storage));
            sources(c, c[1] > 0).into_iter().chain([fluxes]).chain(viscous).chain(newton).chain(methods)
        })
        .chain(turbulence::kernel_sources())
        .collect()
}

/// Where the counters stand.
#[derive(Clone, Copy)]
enum Count {
    BadResidual,
    BadLine,
    BadState,
    Limited,
    LimitedBeside,
    Number,
}

/// The implicit part of a step.
enum Method {
    Factors(Box<Factors>),
    Sweeps(Box<Sweeps>),
    /// None while a step has it.
    Newton(Option<Box<NewtonCuda>>),
}

/// What the implicit part of a step works with.
struct Step<'a> {
    stream: &'a Stream,
    grid: &'a GridCuda,
    tables: &'a Tables,
    exchange: &'a ExchangeCuda,
    setup: &'a DeviceBuffer<f64>,
    area: &'a DeviceBuffer<f64>,
    volume: &'a DeviceBuffer<f64>,
    w: &'a DeviceBuffer<f64>,
    tau: &'a DeviceBuffer<f64>,
    /// The residual; factors make it the update.
    r: &'a DeviceBuffer<f64>,
    /// Derivatives of the boundary's fluxes.
    jacobians: &'a DeviceBuffer<f64>,
    /// The first line whose solution is not finite.
    bad: DeviceSlice<'a, u32>,
}

impl Step<'_> {
    fn total(&self) -> u64 {
        self.grid.len() as u64
    }

    /// Faces of the boundary with the derivatives of their fluxes.
    fn ends(&self) -> Ends {
        kernel_arguments! { Ends {
            side_ptr: &self.tables.side_ptr, face_of: &self.tables.face_of,
            faces: (self.tables.faces.len() / 2) as u64, jacobians: self.jacobians,
        } }
    }
}

/// The state of a solver on a GPU and all that a step needs.
struct StructuredCuda {
    stream: Stream,
    grid: GridCuda,
    tables: Tables,
    exchange: ExchangeCuda,
    at_boundary: AtBoundary,
    over_cells: OverCells,
    setup: DeviceBuffer<f64>,
    walls: Walls,
    mean_step: bool,
    // Metrics and state, see structured.cuh.
    area: DeviceBuffer<f64>,
    volume: DeviceBuffer<f64>,
    w: DeviceBuffer<f64>,
    /// The share of the CFL number that each cell takes, by numbers of cells; none where steps are plain ones.
    cfl_shares: Option<DeviceBuffer<f64>>,
    /// The last good state; the next one is made in it.
    other: DeviceBuffer<f64>,
    /// Two earlier time levels; none in steady runs.
    levels: Option<[DeviceBuffer<f64>; 2]>,
    // Work.
    r: DeviceBuffer<f64>,
    tau: DeviceBuffer<f64>,
    /// With Roe's flux the sum of jumps of pressure around each cell; else empty.
    jumps: DeviceBuffer<f64>,
    least: DeviceBuffer<f64>,
    boundary_fluxes: DeviceBuffer<f64>,
    loads: DeviceBuffer<f64>,
    jacobians: DeviceBuffer<f64>,
    method: Method,
    fluxes: Tiles,
    viscous: Option<Viscous>,
    /// None without a turbulence model, and while its own steps have it.
    eddies: Option<EddiesCuda>,
    // Numbers for the host.
    sums: Sums,
    counts: DeviceBuffer<u32>,
    no_counts: DeviceBuffer<u32>,
    host_counts: Pinned<u32>,
    clock: Clock,
    /// Where the blocks are those of a rank: its cells.
    share: Option<Arc<ShareCuda>>,
}

impl StructuredSolver {
    /// Moves the computation to a GPU: from now on every step runs there, and only scalars come back. Call
    /// [`Self::sync`] before looking at the state.
    ///
    /// The same case gives the same results as on the CPU, to the rounding of sums in another order.
    ///
    /// Over ranks each gives the device that it computes on, all at once; two ranks may give the same. [`Self::halo_path`] says how messages
    /// pass between them.
    ///
    /// # Errors
    /// [`FlowError::Gpu`]: out of memory, no compiler, driver errors; lines of less than six cells that close on themselves,
    /// which the diagonalized factors do not take there. [`FlowError::NotOverRanks`]: what one device alone computes.
    pub fn use_gpu(&mut self, gpu: &Gpu) -> Result<(), FlowError> {
        self.use_gpu_by(gpu, Wish::Shortest)
    }

    /// As [`Self::use_gpu`], with a wish of how messages pass between devices.
    ///
    /// # Errors
    /// As [`Self::use_gpu`].
    pub fn use_gpu_by(&mut self, gpu: &Gpu, wish: Wish) -> Result<(), FlowError> {
        self.sync()?;
        refuse_exact(self.host.part.share())?;
        let device = StructuredCuda::new(&gpu.stream()?, &self.host, wish)?;
        self.host.part.halo = device.exchange.ranks().map(|share| share.path().to_string());
        if let Some(share) = self.host.part.share() {
            // Kernels may have been compiled here that another host had in its cache.
            share.ranks().barrier_patiently()?;
        }
        self.use_device(Box::new(device))
    }
}

impl StructuredCuda {
    fn total(&self) -> u64 {
        self.grid.len() as u64
    }

    fn face_count(&self) -> usize {
        self.tables.faces.len() / 2
    }

    /// The sum of fluxes out of each cell.
    fn fluxes_out(&mut self) -> Result<(), GpuError> {
        self.fill_ghosts()?;
        self.prepare_eddies()?;
        self.sums_of_fluxes()
    }

    /// The same with the ghosts and eddy viscosities that are there.
    fn sums_of_fluxes(&mut self) -> Result<(), GpuError> {
        self.find_jumps()?;
        self.boundary_fluxes()?;
        self.fluxes()?;
        self.join_turned()?;
        self.viscous_fluxes()?;
        self.add_quadratic()
    }

    /// Jumps of pressure between neighbors, for Roe's flux.
    fn find_jumps(&mut self) -> Result<(), GpuError> {
        if self.jumps.is_empty() {
            return Ok(());
        }
        // SAFETY: arrays of the grid.
        unsafe {
            enqueue! { self.grid.launch(&self.over_cells.find_jumps), &self.stream, FindJumps {
                over: self.grid.chunk_records(), total: self.total(), actives: &self.tables.actives, w: &self.w,
                jumps: &self.jumps,
            } }?;
        }
        self.exchange.fill_numbers(&self.stream, &mut self.jumps, 1)
    }

    /// R: that, and in unsteady runs the change in time; the turbulence model's.
    fn compute_residual(&mut self, bdf: Option<Bdf>) -> Result<(), GpuError> {
        self.fluxes_out()?;
        if bdf.is_some() {
            self.finish_residual(bdf)?;
        }
        self.eddies_residual(bdf)
    }

    /// The same where a turbulence model has the derivative of its residual itself, along the direction last taken.
    fn compute_derivative(&mut self, bdf: Option<Bdf>) -> Result<(), GpuError> {
        self.fill_ghosts()?;
        self.sums_of_fluxes()?;
        if bdf.is_some() {
            self.finish_residual(bdf)?;
        }
        self.derive_eddies(bdf)
    }

    /// The change in time, and partial sums of norms.
    fn finish_residual(&self, bdf: Option<Bdf>) -> Result<(), GpuError> {
        let chunks = self.grid.chunks().len() / 2;
        let levels = self.levels.as_ref().filter(|_| bdf.is_some());
        let [last, before] = [0, 1].map(|n| levels.map(|l| &l[n]));
        let (now, early) = bdf.map_or((0.0, 0.0), |bdf| (bdf.factors()[0], bdf.factors()[2]));
        let launch = self.over_cells.finish_residual.launch(self.sums.norm_blocks(), 256);
        // SAFETY: arrays of the grid; five partial sums a thread block.
        Ok(unsafe {
            enqueue! { launch, &self.stream, FinishResidual {
                over: self.grid.chunk_records(), chunk_count: chunks as u32, total: self.total(), w: &self.w,
                volume: &self.volume, w_last: last, w_before: before, now, before: early, setup: &self.setup,
                r: &self.r, partials: &self.sums.norms, first_bad: self.count(Count::BadResidual),
            } }
        }?)
    }

    /// tau = dt / V, and the least dt of each chunk.
    fn time_steps(&self, cfl: f64, rate: f64) -> Result<(), GpuError> {
        // SAFETY: arrays of the grid; a number a chunk.
        Ok(unsafe {
            enqueue! { self.grid.launch(&self.over_cells.time_steps), &self.stream, TimeSteps {
                over: self.grid.chunk_records(), total: self.total(), actives: &self.tables.actives,
                w: &self.w, area: &self.area, volume: &self.volume, eddies: self.eddy_viscosity(),
                setup: &self.setup, cfl, cfl_shares: self.cfl_shares.as_ref(), mean: u32::from(self.mean_step), rate, tau: &self.tau,
                least: &self.least,
            } }
        }?)
    }

    /// The implicit part of a plain step, or of one axis.
    fn solve(&mut self, axis: Option<usize>) -> Result<(), GpuError> {
        let step = Step {
            stream: &self.stream,
            grid: &self.grid,
            tables: &self.tables,
            exchange: &self.exchange,
            setup: &self.setup,
            area: &self.area,
            volume: &self.volume,
            w: &self.w,
            tau: &self.tau,
            r: &self.r,
            jacobians: &self.jacobians,
            bad: self.counts.part(Count::BadLine as usize..Count::BadLine as usize + 1),
        };
        match &mut self.method {
            Method::Sweeps(sweeps) => sweeps.solve(&step),
            Method::Factors(factors) => match axis {
                Some(axis) => factors.solve(&step, axis),
                None => (0..3).try_for_each(|axis| factors.solve(&step, axis)),
            },
            Method::Newton(_) => unreachable!("Newton-Krylov steps are no plain ones"),
        }
    }

    /// The next state in `other`.
    fn apply_update(&self) -> Result<(), GpuError> {
        let update = match &self.method {
            Method::Factors(_) | Method::Newton(_) => &self.r,
            Method::Sweeps(sweeps) => sweeps.update(),
        };
        // SAFETY: arrays of the grid.
        Ok(unsafe {
            enqueue! { self.grid.launch(&self.over_cells.apply_update), &self.stream, ApplyUpdate {
                over: self.grid.chunk_records(), total: self.total(), w: &self.w, r: update,
                setup: &self.setup, next: &self.other, cfl_shares: self.cfl_shares.as_ref(),
                limited: self.count(Count::Limited), first_bad: self.count(Count::BadState),
            } }
        }?)
    }

    /// A counter on the device.
    fn count(&self, which: Count) -> DeviceSlice<'_, u32> {
        self.counts.part(which as usize..which as usize + 1)
    }

    fn first(&self, which: Count) -> Option<usize> {
        let found = self.host_counts[which as usize];
        (found != u32::MAX).then_some(found as usize)
    }
}

impl System for StructuredCuda {
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError> {
        self.counts.copy_from(&self.no_counts.slice())?;
        self.clock.start(&self.stream)?;
        let running = Part::Residual.begin();
        self.adapt_outlets(true)?;
        self.fluxes_out()?;
        self.eddies_residual(at.bdf)?;
        self.clock.done(running, &self.stream)?;
        let running = Part::Misc.begin();
        self.finish_residual(at.bdf)?;
        self.eddies_norms()?;
        let kernels = [&self.at_boundary.wall_forces, &self.over_cells.add_parts];
        add_up(
            &self.stream,
            kernels,
            &self.tables.middles,
            &self.loads,
            self.walls.scale.center,
            &mut self.sums,
        )?;
        self.counts.download_later(&mut self.host_counts)?;
        self.clock.done(running, &self.stream)?;
        self.stream.synchronize()?;
        let first_bad = self.over_all_ranks()?;
        let beside = self.eddies.as_ref().map_or_else(Vec::new, EddiesCuda::squares);
        let found = self.walls.measured(&self.sums).with_coupled(beside);
        Ok(Measured { first_bad, ..found })
    }

    fn advance(&mut self, at: &Moment) -> Result<Advanced, FlowError> {
        self.clock.start(&self.stream)?;
        let running = Part::LinearSolver.begin();
        let solved = self.solve_newton(at).transpose()?;
        if solved.is_none() {
            self.time_steps(at.cfl, at.time_shift())?;
            self.boundary_jacobians()?;
            self.solve(None)?;
        }
        self.clock.done(running, &self.stream)?;
        let reduction = match solved.transpose() {
            Ok(reduction) => reduction,
            // As on the host, there is no update then.
            Err(row) => return Ok(Advanced { singular: Some(row), ..Advanced::default() }),
        };
        let running = Part::Misc.begin();
        self.apply_update()?;
        self.update_eddies()?;
        self.counts.download_later(&mut self.host_counts)?;
        self.clock.done(running, &self.stream)?;
        self.stream.synchronize()?;
        std::mem::swap(&mut self.w, &mut self.other);
        self.fluxes.swap();
        if let Some(viscous) = &mut self.viscous {
            viscous.tiles.swap();
        }
        let [singular, bad] = [Count::BadLine, Count::BadState].map(|of| self.first(of));
        let limited = [Count::Limited, Count::LimitedBeside].map(|of| self.host_counts[of as usize] as usize);
        self.agree(Advanced { singular, reduction, bad, ..Advanced::default() }, limited)
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        self.w.copy_from(&self.other.slice())?;
        Ok(self.eddies.as_mut().map_or(Ok(()), EddiesCuda::restore)?)
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        if let Some(levels) = &mut self.levels {
            levels.swap(0, 1);
            levels[0].copy_from(&self.w.slice())?;
        }
        Ok(self.eddies.as_mut().map_or(Ok(()), EddiesCuda::next_level)?)
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        Ok(self.clock.times()?)
    }

    fn parts(&mut self, _at: &Moment, repeats: usize) -> Result<Vec<PartTime>, FlowError> {
        Ok(self.measure_parts(repeats)?)
    }
}
