#![allow(unsafe_code)]
//! A solver's march on a GPU: everything of a step but the decisions, which need a few numbers of it.
//!
//! | | |
//! |---|---|
//! | `cells.cuh` | what all kernels share |
//! | `fluxes.cu` | ghost cells, residual (RHS): a thread a row, or a face of the boundary |
//! | `matrix.cu` | the matrix (AFILL): a thread a column of a cell's blocks; time steps (TSD); couplings of blocks |
//! | `step.cu` | time levels, norms, forces, update |
//! | `newton.cu` | Newton-Krylov steps |
//! | `grid.rs` | the grid on the device |
//! | `turbulence/` | turbulence models |
//!
//! The pointwise physics are this crate's Rust functions, emitted; the exchange is [`ExchangeCuda`], the linear solver
//! [`DeviceStructuredIlu`]. A case gives the same bits on every run, and the CPU's history to the rounding of sums.

mod arguments;
mod grid;
mod newton;
#[cfg(test)]
mod tests;
mod turbulence;

use super::config::{Implicit, MAX_UNKNOWNS_ON_GPU};
use super::{IncompressibleSystem, Solver};
use crate::config::Time;
use crate::gpu::{Clock, Sums, blocks};
use crate::grid::{ExchangeCuda, FieldLayout, Passage};
use crate::march::forces::Walls;
use crate::march::over_ranks::refuse_exact;
use crate::march::{Advanced, Device, FlowError, Measured, Moment, Part, System, Times};
use arguments::{
    AddTimeAndSource, ApplyUpdate, BoundaryGhosts, BoundaryMatrix, BoundaryResidual, BoundaryRows,
    CornerGhosts, CoupleBlocks, FillMatrix, FoldTurned, Kernels, Residual, ResidualNorms, TakeRows,
    TimeSteps, WallForces,
};
use chromaflow::factor::structured_ilu::cuda::{DeviceStencil, DeviceStructuredIlu, GpuIluEngine};
use chromaflow::gpu::{GpuError, ShareCuda, Storage, Vectors, Wish};
use chromaflow_device::cuda::{DeviceBuffer, Gpu, Pinned, Stream};
use chromaflow_device::{enqueue, kernel_arguments};
use grid::RowsCuda;
use newton::NewtonCuda;
use std::sync::Arc;
use turbulence::EddiesCuda;

pub(crate) use grid::kernel_sources;

/// The state of a solver on a GPU and all that a step needs.
struct FlowCuda {
    stream: Stream,
    kernels: Kernels,
    grid: RowsCuda,
    exchange: ExchangeCuda,
    /// Unknowns a cell, and those of the flow among them.
    n: usize,
    flow: usize,
    implicit: Implicit,
    walls: Walls,
    // State, `[n, cells]`.
    q: DeviceBuffer<f64>,
    last_good: DeviceBuffer<f64>,
    /// Two earlier time levels, `[rows, n]`; none in steady runs.
    levels: Option<[DeviceBuffer<f64>; 2]>,
    source: Option<DeviceBuffer<f64>>,
    // Work, `[rows, n]`.
    residual: DeviceBuffer<f64>,
    update: DeviceBuffer<f64>,
    rest: DeviceBuffer<f64>,
    correction: DeviceBuffer<f64>,
    /// Spectral radius over CFL number of each row.
    steps: DeviceBuffer<f64>,
    matrix: DeviceStencil,
    ilu: DeviceStructuredIlu,
    vectors: Vectors,
    vector_work: DeviceBuffer<f64>,
    // Numbers for the host.
    sums: Sums,
    /// The first row whose update is not finite, the number of those whose update was cut.
    counts: DeviceBuffer<u32>,
    host_counts: Pinned<u32>,
    clock: Clock,
    eddies: Option<EddiesCuda>,
    /// The compressibility.
    beta: f64,
    /// None where steps are plain ones.
    newton: Option<NewtonCuda>,
    /// Where the blocks are those of a rank: its cells.
    share: Option<Arc<ShareCuda>>,
}

impl Solver {
    /// Moves the computation to a GPU: from now on every step runs there, and only scalars come back. Call
    /// [`Self::sync`] before looking at the state.
    ///
    /// Over ranks each gives the device that it computes on, all at once; two ranks may give the same. [`Self::halo_path`] says how messages
    /// pass between them.
    ///
    /// # Errors
    /// [`FlowError::Gpu`]: out of memory, no compiler, driver errors. [`FlowError::Value`]: more than 32 unknowns a cell.
    /// [`FlowError::NotOverRanks`]: what one device alone computes.
    pub fn use_gpu(&mut self, gpu: &Gpu) -> Result<(), FlowError> {
        self.use_gpu_by(gpu, Wish::Shortest)
    }

    /// As [`Self::use_gpu`], with a wish of how messages pass between devices.
    ///
    /// # Errors
    /// As [`Self::use_gpu`].
    pub fn use_gpu_by(&mut self, gpu: &Gpu, wish: Wish) -> Result<(), FlowError> {
        if self.host.n > MAX_UNKNOWNS_ON_GPU {
            return Err(FlowError::Value {
                name: "the number of unknowns a cell".into(),
                value: self.host.n as f64,
                expected: "at most 32 on a GPU: take fewer scalars, or the CPU",
            });
        }
        self.sync()?;
        refuse_exact(self.host.space.part.share())?;
        let device = FlowCuda::new(&gpu.stream()?, &self.host, wish)?;
        self.host.space.part.halo = device.exchange.ranks().map(|share| share.path().to_string());
        if let Some(share) = self.host.space.part.share() {
            // Kernels may have been compiled here that another host had in its cache.
            share.ranks().barrier_patiently()?;
        }
        self.use_device(Box::new(device))
    }
}

/// Marks of the clock in a step.
fn marks(implicit: &Implicit) -> usize {
    let of_solve = 4 * implicit.corrections;
    24 + of_solve + implicit.newton.map_or(0, |newton| newton.directions * (16 + of_solve))
}

impl FlowCuda {
    fn new(stream: &Stream, solver: &IncompressibleSystem, wish: Wish) -> Result<Self, FlowError> {
        let (n, space, config) = (solver.n, &solver.space, &solver.config);
        let dims: Vec<[usize; 3]> = space.blocks.iter().map(|b| b.cells.count).collect();
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        // What is largest comes first: a device that is too small says so at once.
        let mut matrix = DeviceStencil::uninitialized(stream, &dims, n)?;
        matrix.lower.fill_bytes(0)?;
        matrix.upper.fill_bytes(0)?;
        let ilu = DeviceStructuredIlu::new(stream, &dims, n, config.implicit.ilu, GpuIluEngine::Auto)?;
        let module = stream.gpu().module(&grid::kernel_source(&grid::Scheme::of(solver)))?;
        let kernels = Kernels::of(&module)?;
        let grid = RowsCuda::new(stream, solver)?;
        let (rows, cells) = (grid.rows, grid.arrays.len());
        let norm_blocks = blocks(rows, grid::norm_lanes(n)).min(4 * stream.gpu().facts().multiprocessors);
        let vectors = Vectors::new(stream, Storage::F64)?;
        let patches = space.part.patches.iter().enumerate().map(|(patch, (_, wall))| {
            let own = space.part.own_patch(patch);
            (own.map_or(0, |own| space.patches[own].faces.len()), *wall)
        });
        let walls = space.part.patches.iter().filter(|(_, wall)| *wall);
        let names = walls.map(|(name, _)| name.clone()).collect();
        let eddies = (solver.turbulence.as_ref())
            .map(|turbulence| EddiesCuda::new(stream, &module, solver, turbulence, cells))
            .transpose()
            .map_err(GpuError::from)?;
        let widest = eddies.as_ref().map_or(n, |eddies| n.max(eddies.components()));
        Ok(Self {
            q: buffer(n * cells)?,
            last_good: buffer(n * cells)?,
            levels: match config.time {
                Time::Steady(_) => None,
                Time::Unsteady(_) => Some([buffer(n * rows)?, buffer(n * rows)?]),
            },
            source: None,
            residual: buffer(n * rows)?,
            update: buffer(n * rows)?,
            rest: buffer(n * rows)?,
            correction: buffer(n * rows)?,
            steps: buffer(rows)?,
            vector_work: buffer(vectors.partials() + 1)?,
            vectors,
            sums: Sums::new(stream, n, norm_blocks, patches)?,
            counts: stream.upload(&[u32::MAX, 0])?,
            host_counts: Pinned::zeroed(stream.gpu(), 2)?,
            clock: Clock::new(stream.gpu(), marks(&config.implicit))?,
            exchange: space.part.exchange_on(
                stream,
                grid.arrays.offsets(),
                cells,
                Passage { widest, wish },
            )?,
            share: (space.part.share())
                .map(|share| ShareCuda::new(share, stream, &[], n, wish).map(Arc::new))
                .transpose()?,
            implicit: config.implicit,
            walls: Walls { scale: solver.force_scale(), names, counted: config.reference.markers.clone() },
            eddies,
            beta: config.fluid.compressibility,
            newton: (config.implicit.newton)
                .map(|options| NewtonCuda::new(stream, &module, options, (rows, n, norm_blocks)))
                .transpose()?,
            stream: stream.clone(),
            kernels,
            grid,
            n,
            flow: config.fluid.unknowns(),
            matrix,
            ilu,
        })
    }

    /// States beyond the boundary and across interfaces, and with them the terms of turbulence.
    fn fill_ghosts(&mut self) -> Result<(), GpuError> {
        let running = Part::Residual.begin();
        self.find_laws()?;
        let (k, g, stream) = (&self.kernels, &self.grid, &self.stream);
        // SAFETY: faces' cells and ghosts are cells of the grid.
        unsafe {
            enqueue! { k.boundary_ghosts.launch(blocks(g.faces, 128), 128), stream, BoundaryGhosts {
                faces: g.faces as u32, cells: g.cells(), at: g.faces(), fluid: &g.fluid, eddies: self.eddies(),
                q: &self.q,
            } }?;
        }
        self.clock.done(running, stream)?;
        let running = Part::Exchange.begin();
        self.exchange.fill(stream, &mut self.q, self.n, FieldLayout::Components)?;
        // SAFETY: all four are cells of the grid; no corner is beside another.
        unsafe {
            let corners = g.corners.len() / 4;
            enqueue! { k.corner_ghosts.launch(blocks(corners * self.n, 128), 128), stream, CornerGhosts {
                corners: corners as u32, cells: g.cells(), list: &g.corners, q: &self.q,
            } }?;
        }
        self.clock.done(running, stream)?;
        if self.eddies.is_some() {
            let running = Part::Residual.begin();
            self.find_eddies()?;
            self.clock.done(running, &self.stream)?;
        }
        Ok(())
    }

    fn compute_residual(&mut self, time: Option<[f64; 3]>) -> Result<(), GpuError> {
        self.compute_unmeasured(time)?;
        self.measure_eddies(&self.q)
    }

    /// The same before k's and omega's is measured by their values.
    fn compute_unmeasured(&mut self, time: Option<[f64; 3]>) -> Result<(), GpuError> {
        self.fill_ghosts()?;
        let running = Part::Residual.begin();
        let (k, g, stream) = (&self.kernels, &self.grid, &self.stream);
        let boundary = g.boundary_rows();
        // SAFETY: vectors have n values a row, the state n a cell; ghost cells are two deep, as far as the stencil reaches.
        unsafe {
            enqueue! { k.residual.launch(blocks(g.rows, 128), 128), stream, Residual {
                grid: g.rows(), fluid: &g.fluid, q: &self.q, eddies: self.eddies(), out: &self.residual,
            } }?;
            enqueue! { k.boundary_residual.launch(blocks(boundary, 128), 128), stream, BoundaryResidual {
                row: self.boundary_rows(), q: &self.q, out: &self.residual,
            } }?;
        }
        self.add_quadratic()?;
        self.clock.done(running, stream)?;
        let levels = self.levels.as_ref().filter(|_| time.is_some());
        if levels.is_some() || self.source.is_some() {
            let running = Part::TimeStep.begin();
            let [now, last, before] = time.unwrap_or([0.0; 3]);
            let level = |l: usize| levels.map(|levels| &levels[l]);
            let launch = k.add_time_and_source.launch(blocks(g.rows * self.n, 256), 256);
            // SAFETY: as above.
            unsafe {
                enqueue! { launch, stream, AddTimeAndSource {
                    grid: g.rows(), q: &self.q, now, last, before, q_last: level(0), q_before: level(1),
                    source: self.source.as_ref(), residual: &self.residual,
                } }?;
            }
            self.clock.done(running, stream)?;
        }
        Ok(())
    }

    /// What kernels over rows at the boundary take.
    fn boundary_rows(&self) -> BoundaryRows {
        let g = &self.grid;
        kernel_arguments! { BoundaryRows {
            count: g.boundary_rows() as u32, ptr: &g.boundary_ptr, list: &g.boundary_faces, cells: g.cells(),
            at: g.faces(), fluid: &g.fluid, area: &g.area, volumes: &g.volume, eddies: self.eddies(),
        } }
    }

    /// Norms and forces.
    fn measure(&mut self) -> Result<(), GpuError> {
        let (k, g, stream, n) = (&self.kernels, &self.grid, &self.stream, self.n);
        let [cx, cy, cz] = self.walls.scale.center;
        // SAFETY: partial sums have room for n (twelve) numbers a thread block.
        unsafe {
            let norms = k.residual_norms.launch(self.sums.norm_blocks(), grid::norm_lanes(n) * n);
            enqueue! { norms, stream, ResidualNorms {
                grid: g.rows(), residual: &self.residual, partials: &self.sums.norms,
            } }?;
            enqueue! { self.sums.over_walls(&k.wall_forces), stream, WallForces {
                parts: &self.sums.parts, cells: g.cells(), at: g.faces(), fluid: &g.fluid,
                eddies: self.eddies(), q: &self.q, cx, cy, cz, partials: &self.sums.forces,
            } }?;
        }
        self.sums.add_up(stream, &k.add_parts)
    }

    fn assemble(&mut self, cfl: f64, rate: f64) -> Result<(), GpuError> {
        let mut running = Part::TimeStep.begin();
        let (k, g, stream, n) = (&self.kernels, &self.grid, &self.stream, self.n);
        let (cells, a, boundary) = (grid::matrix_cells(n), &self.matrix, g.boundary_rows());
        // SAFETY: the matrix has the blocks of all rows; the launch shape is the kernel's own.
        unsafe {
            enqueue! { k.time_steps.launch(blocks(g.rows, 128), 128), stream, TimeSteps {
                grid: g.rows(), fluid: &g.fluid, q: &self.q, eddies: self.eddies(), cfl, steps: &self.steps,
            } }?;
            self.clock.done(running, stream)?;
            running = Part::Assembly.begin();
            enqueue! { k.fill_matrix.launch(blocks(g.rows, cells), cells * n), stream, FillMatrix {
                grid: g.rows(), fluid: &g.fluid, q: &self.q, eddies: self.eddies(), residual: &self.residual,
                steps: &self.steps, rate, diag: &a.diag, lower: &a.lower, upper: &a.upper,
            } }?;
            enqueue! { k.boundary_matrix.launch(blocks(boundary * n, 128), 128), stream, BoundaryMatrix {
                row: self.boundary_rows(), q: &self.q, diag: &a.diag,
            } }?;
            let folds = g.folds.rows.len();
            if folds > 0 {
                enqueue! { k.fold_turned.launch(blocks(folds * n, 128), 128), stream, FoldTurned {
                    count: folds as u32, row_of: &g.folds.rows, ptr: &g.folds.ptr, folds: &g.folds.others,
                    matrices: &g.matrices, lower: &a.lower, upper: &a.upper, diag: &a.diag,
                } }?;
            }
        }
        self.clock.done(running, stream)?;
        Ok(())
    }

    /// rest = b - A x, interfaces included.
    fn linear_residual(&mut self) -> Result<(), GpuError> {
        self.ilu.residual(&self.matrix, &self.residual, &self.update, &mut self.rest)?;
        let (g, n, a) = (&self.grid, self.n, &self.matrix);
        let others = self.exchange.of_others(&self.stream, &self.update, n)?;
        let (others, come) = others.map(|of| (of.values, of.rows)).unzip();
        let count = g.links.rows.len();
        let launch = self.kernels.couple_blocks.launch(blocks(count * n, 128), 128);
        // SAFETY: both ends of links are rows, or the second is a row of another rank that has come.
        Ok(unsafe {
            enqueue! { launch, &self.stream, CoupleBlocks {
                count: count as u32, row_of: &g.links.rows, ptr: &g.links.ptr, links: &g.links.others,
                matrices: &g.matrices, rows: g.rows as u32, come, others, lower: &a.lower, upper: &a.upper,
                x: &self.update, r: &self.rest,
            } }
        }?)
    }

    fn norm(&mut self, of_rest: bool) -> Result<f64, GpuError> {
        let v = if of_rest { &self.rest } else { &self.residual };
        let square = self.vectors.dot(v, v, &mut self.vector_work)?;
        Ok(self.sum([square])[0].sqrt())
    }

    /// Sums over this rank's rows become sums over all.
    fn sum<const W: usize>(&self, mut sums: [f64; W]) -> [f64; W] {
        if let Some(share) = &self.share {
            share.sum(&mut sums);
        }
        sums
    }

    fn factor(&mut self) -> Result<(), GpuError> {
        let running = Part::Factor.begin();
        self.ilu.factor(&self.matrix)?;
        self.clock.done(running, &self.stream)
    }

    /// The update of a residual from the matrix of plain steps, which is factored. As the twin in linear.rs.
    fn solve_plain(&mut self) -> Result<f64, GpuError> {
        let running = Part::Solve.begin();
        self.ilu.solve(&self.matrix, &self.residual, &mut self.update)?;
        self.clock.done(running, &self.stream)?;
        let mut running = Part::Correction.begin();
        let size = self.norm(false)?;
        let mut reduction = 0.0;
        for correction in 0..=self.implicit.corrections {
            self.linear_residual()?;
            let rest = self.norm(true)?;
            reduction = if size > 0.0 { rest / size } else { 0.0 };
            self.clock.done(running, &self.stream)?;
            if correction == self.implicit.corrections || reduction <= self.implicit.reduction {
                break;
            }
            let solving = Part::Solve.begin();
            self.ilu.solve(&self.matrix, &self.rest, &mut self.correction)?;
            self.clock.done(solving, &self.stream)?;
            running = Part::Correction.begin();
            self.vectors.axpby(1.0, &self.correction, 1.0, &mut self.update)?;
        }
        Ok(reduction)
    }

    /// The lowest row that ranks have found, by its number in the grid, of this rank's `row` or none; numbers become their sums over all ranks.
    fn agree(&self, sums: &mut [f64], row: Option<usize>) -> Result<Option<usize>, FlowError> {
        let Some(share) = &self.share else { return Ok(row) };
        let mut found = [row.map(|row| share.global(row))];
        share.sum_and_lowest(sums, &mut found);
        share.share().check()?;
        Ok(found[0])
    }

    fn apply_update(&mut self) -> Result<(), GpuError> {
        let g = &self.grid;
        self.counts.upload(&[u32::MAX, 0])?;
        // SAFETY: n values a row and a cell.
        Ok(unsafe {
            enqueue! { self.kernels.apply_update.launch(blocks(g.rows, 128), 128), &self.stream, ApplyUpdate {
                grid: g.rows(), fluid: &g.fluid, x: &self.update, q: &self.q, last_good: &self.last_good,
                counts: &self.counts,
            } }
        }?)
    }
}

impl System for FlowCuda {
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError> {
        self.clock.start(&self.stream)?;
        self.compute_residual(at.time_factors())?;
        let running = Part::Misc.begin();
        self.measure()?;
        self.clock.done(running, &self.stream)?;
        self.stream.synchronize()?;
        if let Some(share) = &self.share {
            share.sum(self.sums.all_mut());
            share.share().check()?;
        }
        let mut found = self.walls.measured(&self.sums);
        let coupled = found.squares.split_off(self.flow);
        Ok(found.with_coupled(coupled))
    }

    fn advance(&mut self, at: &Moment) -> Result<Advanced, FlowError> {
        self.clock.start(&self.stream)?;
        self.assemble(at.cfl, at.time_shift())?;
        self.factor()?;
        let reduction =
            if self.newton.is_some() && at.together { self.solve_newton(at)? } else { self.solve_plain()? };
        let found = self.ilu.report()?.err();
        let found = found.map(|found| self.matrix.cells_of(found.at.block).start + found.at.cell);
        if let Some(row) = self.agree(&mut [], found)? {
            return Ok(Advanced { singular: Some(row), ..Advanced::default() });
        }
        let running = Part::Misc.begin();
        self.apply_update()?;
        self.counts.download_later(&mut self.host_counts)?;
        self.clock.done(running, &self.stream)?;
        self.stream.synchronize()?;
        let mut limited = [f64::from(self.host_counts[1])];
        let bad = Some(self.host_counts[0] as usize).filter(|&row| row < self.grid.rows);
        let bad = self.agree(&mut limited, bad)?;
        let limited = limited[0] as usize;
        Ok(Advanced { reduction: Some(reduction), bad, limited, ..Advanced::default() })
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        Ok(self.q.copy_from(&self.last_good.slice())?)
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        let g = &self.grid;
        if let Some(levels) = &mut self.levels {
            levels.swap(0, 1);
            let launch = self.kernels.take_rows.launch(blocks(g.rows * self.n, 256), 256);
            // SAFETY: n values a row.
            unsafe {
                enqueue! { launch, &self.stream, TakeRows { grid: g.rows(), q: &self.q, out: &levels[0] } }?;
            }
        }
        Ok(())
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        Ok(self.clock.times()?)
    }
}

impl Device<IncompressibleSystem> for FlowCuda {
    fn upload(&mut self, host: &IncompressibleSystem) -> Result<(), FlowError> {
        self.take_given(host)?;
        self.q.copy_from(&self.grid.arrays.upload(&host.fields, self.n)?.slice())?;
        self.last_good.copy_from(&self.q.slice())?;
        if let Some(there) = &mut self.levels {
            for (level, values) in there.iter_mut().zip(&host.levels) {
                level.upload(values)?;
            }
        }
        Ok(())
    }

    fn download(&self, host: &mut IncompressibleSystem) -> Result<(), FlowError> {
        self.grid.arrays.download(&self.q, &mut host.fields)?;
        if let Some(turbulence) = &mut host.turbulence {
            turbulence.find_laws(&host.space, &host.fields);
            // Ranks do not come here together.
            turbulence.find_terms(&host.team, &host.space, &host.fields);
        }
        self.residual.download_into(&mut host.residual)?;
        if let Some(levels) = &self.levels {
            for (level, values) in levels.iter().zip(&mut host.levels) {
                level.download_into(values)?;
            }
        }
        Ok(())
    }

    fn take_given(&mut self, host: &IncompressibleSystem) -> Result<(), FlowError> {
        self.grid.take_given(&host.space.patches)?;
        let source = host.source.as_ref().map(|s| &s.1[..]);
        match (&mut self.source, source) {
            (Some(there), Some(here)) => there.upload(here)?,
            (there, here) => *there = here.map(|values| self.stream.upload(values)).transpose()?,
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.stream.held_bytes()
    }
}
