//! A solver moves to the device and back: tables of the boundary's faces and ghosts, tiles and lines, metrics, states.

use super::super::boundary::{PatchState, outlets};
use super::super::config::{LocalStep, Scheme, StepMethod};
use super::super::{StructuredSystem, ViscousTerms};
use super::arguments::{AtBoundary, OverCells};
use super::factors::Factors;
use super::fluxes::fluxes;
use super::newton::NewtonCuda;
use super::ssor::Sweeps;
use super::turbulence::EddiesCuda;
use super::turned::TurnedTable;
use super::viscous::Viscous;
use super::{Count, Method, PARTS, StructuredCuda, sources};
use crate::bc::{Condition, Wall, WallHeat};
use crate::config::Time;
use crate::equations::perfect_gas::{N, NN};
use crate::gas::{Gas, Transport, ViscosityLaw};
use crate::gpu::{Clock, MARKS, Sums, blocks, download_pressures, optional, upload_structs};
use crate::grid::{Cells, GridCuda, Passage, Side, Window};
use crate::march::forces::Walls;
use crate::march::{Device, FlowError, Moment, System};
use crate::wall_law::{LawNode, LawPlace, WallLaw};
use chromaflow::gpu::{GpuError, ShareCuda, Wish};
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Kernel, Launch, Pinned, Read, Stream};
use std::ops::Range;
use std::sync::Arc;

/// The constants of a set-up's kernels: SCHEME, VISCOUS.
pub(super) fn constants(scheme: Scheme, viscous: Option<ViscousTerms>) -> [u32; 2] {
    let scheme = match scheme {
        Scheme::Scalar(_) => 0,
        Scheme::Matrix(_) => 1,
        Scheme::Roe { .. } => 2,
    };
    let viscous = match viscous {
        None => 0,
        Some(ViscousTerms::ThinLayer) => 1,
        Some(ViscousTerms::Full) => 2,
    };
    [scheme, viscous]
}

/// How many numbers a set-up has.
const NUMBERS: usize = 19;

/// Numbers of the set-up (`Setup` in structured.cuh).
pub(super) fn setup_record(solver: &StructuredSystem) -> [f64; NUMBERS] {
    let physics = &solver.physics;
    let mut out = gas_record(physics.gas, physics.transport);
    match physics.scheme {
        Scheme::Scalar(d) | Scheme::Matrix(d) => {
            out[1..5].copy_from_slice(&[d.second, d.fourth, d.acoustic, d.convective]);
        }
        Scheme::Roe { kappa, limited } => {
            (out[5], out[6]) = (kappa, if limited { 1.0 } else { 0.0 });
        }
    }
    (out[7], out[8]) = (physics.fix.acoustic, physics.fix.convective);
    let [most, rise, velocity] = solver.config.max_changes();
    (out[13], out[14]) = (solver.config.implicit_dissipation(), most);
    out[15] = physics.turbulence.map_or(0.0, |model| model.prandtl);
    (out[16], out[17]) = (rise, velocity);
    out[18] = physics.fix.cutoff_mach;
    out
}

/// Those of the gas alone.
pub(in crate::structured) fn gas_record(gas: Gas<f64>, transport: Option<Transport<f64>>) -> [f64; NUMBERS] {
    let mut out = [0.0; NUMBERS];
    // The same dissipation at every speed.
    (out[0], out[18]) = (gas.gamma, 1.0);
    if let Some(t) = transport {
        let law = if t.law == ViscosityLaw::Sutherland { 1.0 } else { 0.0 };
        out[9..13].copy_from_slice(&[t.scale, t.prandtl, law, t.sutherland]);
    }
    out
}

/// Everything about a grid and its boundary that kernels look up.
pub(super) struct Tables {
    /// One bit an axis, a word a block.
    pub actives: DeviceBuffer<u32>,
    /// Conditions and places of the patches.
    pub conditions: DeviceBuffer<u64>,
    /// Outlets of given mass flow: where their patches begin; patch, range of its faces.
    pub outlet_ptr: DeviceBuffer<u32>,
    pub outlet_parts: DeviceBuffer<u32>,
    pub sides: DeviceBuffer<u32>,
    /// Cell and patch of each of the boundary's faces, patch by patch; their middles, `[3, faces]`.
    pub faces: DeviceBuffer<u32>,
    pub middles: DeviceBuffer<f64>,
    /// Number of the face at each place of each side of each block.
    pub side_ptr: DeviceBuffer<u32>,
    pub face_of: DeviceBuffer<u32>,
    /// Columns of ghosts in the order in which they are filled: those of one stage do not read each other.
    pub columns: DeviceBuffer<u32>,
    /// Middles of their faces, `[columns, 3]`.
    pub column_middles: DeviceBuffer<f64>,
    stages: Vec<Range<usize>>,
    /// Where walls have a law: what the cell of each face sees of its wall, and that of each column; else empty.
    pub laws: DeviceBuffer<u64>,
    column_laws: DeviceBuffer<u64>,
    pub turned: TurnedTable,
}

impl Tables {
    pub(super) fn new(stream: &Stream, solver: &StructuredSystem, grid: &GridCuda) -> Result<Self, GpuError> {
        let actives: Vec<u32> =
            solver.blocks.iter().map(|b| (0..3).map(|d| u32::from(b.active[d]) << d).sum()).collect();
        let (faces, middles) = faces(solver, grid);
        let (side_ptr, face_of) = face_numbers(solver);
        let (columns, column_middles, stages) = columns(solver, grid.offsets());
        let (outlet_ptr, outlet_parts) = outlet_parts(solver);
        let [laws, column_laws] = laws(solver, grid.offsets(), &columns, &column_middles);
        let sides = solver.patches.iter().flat_map(|p| side_record(solver, p)).collect::<Vec<u32>>();
        Ok(Self {
            actives: stream.upload(&actives)?,
            conditions: upload_structs(stream, &conditions(&solver.patches))?,
            outlet_ptr: stream.upload(&outlet_ptr)?,
            outlet_parts: stream.upload(&outlet_parts)?,
            sides: stream.upload(&sides)?,
            faces: stream.upload(&faces)?,
            middles: stream.upload(&middles)?,
            side_ptr: stream.upload(&side_ptr)?,
            face_of: stream.upload(&face_of)?,
            columns: stream.upload(&columns)?,
            column_middles: stream.upload(&column_middles)?,
            stages,
            laws: upload_structs(stream, &laws)?,
            column_laws: upload_structs(stream, &column_laws)?,
            turned: TurnedTable::new(stream, solver, grid)?,
        })
    }
}

/// Columns of ghosts that are filled at once.
pub(super) struct Stage<'a> {
    /// Which of all columns.
    pub range: Range<usize>,
    pub count: u32,
    pub columns: DeviceSlice<'a, u32>,
    pub middles: DeviceSlice<'a, f64>,
    laws: Option<DeviceSlice<'a, u64>>,
}

impl Stage<'_> {
    /// A thread a column.
    pub fn launch<'k>(&self, kernel: &'k Kernel) -> Launch<'k> {
        kernel.launch(blocks(self.range.len(), 128), 128)
    }

    /// What the cells see of their walls, where these have a law.
    pub fn laws(&self) -> Read<LawNode<f64>> {
        self.laws.as_ref().map_or(Read::NONE, Read::from)
    }
}

impl Tables {
    /// The stages, in order.
    pub(super) fn stages(&self) -> impl Iterator<Item = Stage<'_>> {
        self.stages.iter().map(|stage| {
            let range = stage.start / 2..stage.end / 2;
            Stage {
                count: range.len() as u32,
                columns: self.columns.part(stage.clone()),
                middles: self.column_middles.part(3 * range.start..3 * range.end),
                laws: optional(&self.column_laws)
                    .map(|laws| laws.part(LAW_WORDS * range.start..LAW_WORDS * range.end)),
                range,
            }
        })
    }
}

/// Words of eight bytes of a [`LawNode`].
const LAW_WORDS: usize = size_of::<LawNode<f64>>() / 8;

/// What the cells of faces, and those of columns, see of their walls; `other` is [`u32::MAX`] where no law holds. Empty where walls have none; the
/// walls may all be another rank's.
fn laws(
    solver: &StructuredSystem,
    offsets: &[usize],
    columns: &[u32],
    middles: &[f64],
) -> [Vec<LawNode<f64>>; 2] {
    if solver.physics.turbulence.is_none_or(|model| model.walls.is_none()) {
        return [const { Vec::new() }; 2];
    }
    let wall = Wall { temperature: 1.0, velocity: [0.0; 3] };
    let (law, heat, away) = (WallLaw::SpalartAllmaras, WallHeat::Adiabatic, [0.0; 3]);
    let none = LawPlace { law, heat, area: 0.0, distance: 0.0, away, wall };
    let node = |place: Option<LawPlace<f64>>| {
        let other = if place.is_some() { 0 } else { u32::MAX };
        LawNode { node: 0, other, place: place.unwrap_or(none) }
    };
    let of_patch = |patch: &PatchState| {
        let block = &solver.blocks[patch.window.block];
        let of = |(cell, x): &([usize; 3], [f64; 3])| {
            node(patch.law_at(&patch.view(block, block.cells.inside(*cell)), x))
        };
        patch.faces.iter().map(of).collect::<Vec<_>>()
    };
    let of_column = |(column, x): (&[u32], &[f64; 3])| {
        let patch = &solver.patches[column[1] as usize];
        let b = patch.window.block;
        node(patch.law_of_column(&solver.blocks[b], column[0] as usize - offsets[b], x))
    };
    let all = columns.chunks_exact(2).zip(middles.as_chunks::<3>().0);
    [solver.patches.iter().flat_map(of_patch).collect(), all.map(of_column).collect()]
}

/// The conditions of patches.
pub(super) fn conditions(patches: &[PatchState]) -> Vec<Condition<f64>> {
    patches.iter().map(|p| p.condition).collect()
}

/// Outlets of given mass flow of the whole grid: where the parts of each begin that are here; {patch, range of its faces}.
fn outlet_parts(solver: &StructuredSystem) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0];
    for patch in &solver.patches {
        first.push(first[first.len() - 1] + patch.faces.len() as u32);
    }
    let (mut ptr, mut parts) = (vec![0], Vec::new());
    for outlet in outlets(solver.all_patches()) {
        let own = outlet.iter().filter_map(|&patch| solver.part.own_patch(patch));
        parts.extend(own.flat_map(|p| [p as u32, first[p], first[p + 1]]));
        ptr.push(parts.len() as u32 / 3);
    }
    (ptr, parts)
}

/// `Side` of boundary.cu.
fn side_record(solver: &StructuredSystem, patch: &PatchState) -> [u32; 4] {
    let Side { axis, high } = patch.window.side;
    let cells = solver.blocks[patch.window.block].cells;
    [axis as u32, u32::from(high), cells.stride[axis] as u32, u32::from(cells.count[axis] > 1)]
}

/// Cell and patch of each face; middles component by component.
fn faces(solver: &StructuredSystem, grid: &GridCuda) -> (Vec<u32>, Vec<f64>) {
    let (mut faces, mut middles) = (Vec::new(), [const { Vec::new() }; 3]);
    for (p, patch) in solver.patches.iter().enumerate() {
        let (cells, offset) = (solver.blocks[patch.window.block].cells, grid.offsets()[patch.window.block]);
        for (cell, middle) in &patch.faces {
            faces.extend([(offset + cells.inside(*cell)) as u32, p as u32]);
            for c in 0..3 {
                middles[c].push(middle[c]);
            }
        }
    }
    (faces, middles.concat())
}

/// Where each side of each block begins in the second array, which has the faces' numbers.
pub(super) fn face_numbers(solver: &StructuredSystem) -> (Vec<u32>, Vec<u32>) {
    let blocks: Vec<Cells> = solver.blocks.iter().map(|block| block.cells).collect();
    let of = |patch: &PatchState| {
        let window = patch.window;
        patch.faces.iter().map(move |(cell, _)| (window, *cell)).collect::<Vec<_>>()
    };
    numbers_on_sides(&blocks, solver.patches.iter().flat_map(of))
}

/// The same of faces that come in their order: the window of each, and its cell.
pub(in crate::structured) fn numbers_on_sides(
    blocks: &[Cells],
    faces: impl Iterator<Item = (Window, [usize; 3])>,
) -> (Vec<u32>, Vec<u32>) {
    let (mut ptr, mut numbers) = (Vec::new(), Vec::new());
    for cells in blocks {
        for side in Side::ALL {
            let [u, v] = side.tangential();
            ptr.push(numbers.len() as u32);
            numbers.resize(numbers.len() + cells.count[u] * cells.count[v], u32::MAX);
        }
    }
    for (n, (window, cell)) in faces.enumerate() {
        let (Side { axis, high }, [u, v]) = (window.side, window.side.tangential());
        let start = ptr[6 * window.block + 2 * axis + usize::from(high)] as usize;
        numbers[start + cell[u] + blocks[window.block].count[u] * cell[v]] = n as u32;
    }
    (ptr, numbers)
}

/// Columns of ghosts {cell, patch} and the middles of their faces, stage by stage: a column comes after those whose ghosts it reads or replaces, as on the
/// host, where patches are filled one after another. Only viscous terms read ghosts beyond the edges of blocks.
pub(super) fn columns(
    solver: &StructuredSystem,
    offsets: &[usize],
) -> (Vec<u32>, Vec<f64>, Vec<Range<usize>>) {
    let edges = solver.physics.transport.is_some();
    let last = offsets.iter().zip(&solver.blocks).map(|(offset, block)| offset + block.cells.len());
    let len = last.max().unwrap_or(0);
    let (mut written, mut read) = (vec![0usize; len], vec![0usize; len]);
    let mut stages: Vec<Vec<u32>> = Vec::new();
    let mut middles: Vec<Vec<f64>> = Vec::new();
    for (p, patch) in solver.patches.iter().enumerate() {
        let Side { axis, high } = patch.window.side;
        let (cells, offset) = (solver.blocks[patch.window.block].cells, offsets[patch.window.block]);
        let (s, deep) = (cells.stride[axis], cells.count[axis] > 1);
        let places: Vec<(usize, [f64; 3])> = if edges {
            patch.wide.iter().map(|&(at, x)| (offset + at, x)).collect()
        } else {
            patch.faces.iter().map(|&(cell, x)| (offset + cells.inside(cell), x)).collect()
        };
        let inner = |at: usize| match (deep, high) {
            (false, _) => at,
            (true, true) => at - s,
            (true, false) => at + s,
        };
        let ghosts = |at: usize| if high { [at + s, at + 2 * s] } else { [at - s, at - 2 * s] };
        let stage = places
            .iter()
            .flat_map(|&(at, _)| {
                let [one, two] = ghosts(at);
                [written[at], written[inner(at)], written[one], written[two], read[one], read[two]]
            })
            .max()
            .unwrap_or(0);
        stages.resize_with(stages.len().max(stage + 1), Vec::new);
        middles.resize_with(middles.len().max(stage + 1), Vec::new);
        for &(at, x) in &places {
            stages[stage].extend([at as u32, p as u32]);
            middles[stage].extend(x);
            for ghost in ghosts(at) {
                written[ghost] = stage + 1;
            }
            for source in [at, inner(at)] {
                read[source] = read[source].max(stage + 1);
            }
        }
    }
    let ends: Vec<usize> = stages
        .iter()
        .scan(0, |sum, stage| {
            *sum += stage.len();
            Some(*sum)
        })
        .collect();
    let ranges = ends.iter().zip(&stages).map(|(&end, stage)| end - stage.len()..end).collect();
    (stages.concat(), middles.concat(), ranges)
}

impl StructuredCuda {
    /// The solver on the device, its state yet to be given.
    pub(super) fn new(stream: &Stream, solver: &StructuredSystem, wish: Wish) -> Result<Self, FlowError> {
        let grid = GridCuda::over(stream, solver.blocks.iter().map(|block| block.cells).collect())?;
        let len = grid.len();
        let tables = Tables::new(stream, solver, &grid)?;
        let area = grid.upload(solver.blocks.iter().map(|b| b.metrics.area.as_flattened().concat()), 9)?;
        let volume = grid.upload(solver.blocks.iter().map(|b| &b.metrics.volume), 1)?;
        let terms: Option<ViscousTerms> = solver.physics.transport.is_some().then_some(solver.physics.terms);
        let constants = constants(solver.physics.scheme, terms);
        let method = match (&solver.newton, solver.config.implicit.method) {
            (Some(newton), _) => {
                let newton = NewtonCuda::new(stream, solver, newton, grid.offsets(), constants)?;
                Method::Newton(Some(Box::new(newton)))
            }
            (None, StepMethod::Ssor { sweeps, relaxation }) => {
                Method::Sweeps(Box::new(Sweeps::new(stream, solver, &grid, sweeps, relaxation)?))
            }
            (None, _) => Method::Factors(Box::new(Factors::new(stream, solver, &grid, &area, &volume)?)),
        };
        let [at_boundary, over_cells] =
            sources(constants, !tables.laws.is_empty()).map(|source| stream.gpu().module(&source));
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        let (w, other) = (buffer(N * len)?, buffer(N * len)?);
        let fluxes = fluxes(stream, solver, &grid, constants, &area, [&w, &other])?;
        let eddies = EddiesCuda::new(stream, solver, &grid)?;
        let viscosity = eddies.as_ref().map(|eddies| &eddies.viscosity);
        let metrics = [&area, &volume];
        let viscous = Viscous::new(stream, solver, &grid, constants, metrics, viscosity, [&w, &other])?;
        let faces = tables.faces.len() / 2;
        let mut counts = [u32::MAX; Count::Number as usize];
        (counts[Count::Limited as usize], counts[Count::LimitedBeside as usize]) = (0, 0);
        let chunks = grid.chunks().len() / 2;
        let patches = solver.all_patches().iter().enumerate().map(|(patch, of)| {
            let own = solver.part.own_patch(patch);
            (own.map_or(0, |own| solver.patches[own].faces.len()), of.condition.kind.is_wall())
        });
        let walls = solver.all_patches().iter().filter(|p| p.condition.kind.is_wall());
        let names = walls.map(|p| p.name.clone()).collect();
        Ok(Self {
            exchange: solver.part.exchange_on(stream, grid.offsets(), len, Passage { widest: N, wish })?,
            at_boundary: AtBoundary::of(&at_boundary?)?,
            over_cells: OverCells::of(&over_cells?)?,
            setup: stream.upload(&setup_record(solver))?,
            walls: Walls { scale: solver.scale, names, counted: solver.config.reference.markers.clone() },
            mean_step: solver.config.implicit.local_step == LocalStep::Mean,
            area,
            volume,
            w,
            other,
            cfl_shares: solver.newton.is_some().then(|| buffer(solver.part.rows())).transpose()?,
            levels: match solver.config.time {
                Time::Steady(_) => None,
                Time::Unsteady(_) => Some([buffer(N * len)?, buffer(N * len)?]),
            },
            r: buffer(N * len)?,
            tau: buffer(len)?,
            jumps: buffer(if constants[0] == 2 { len } else { 0 })?,
            least: buffer(chunks)?,
            boundary_fluxes: buffer(N * faces)?,
            loads: buffer(6 * faces)?,
            jacobians: buffer(NN * faces)?,
            method,
            fluxes,
            viscous,
            eddies,
            sums: Sums::new(stream, N, chunks.min(PARTS), patches)?,
            counts: stream.upload(&counts)?,
            no_counts: stream.upload(&counts)?,
            host_counts: Pinned::zeroed(stream.gpu(), counts.len())?,
            clock: Clock::new(stream.gpu(), MARKS)?,
            share: (solver.part.share())
                .map(|share| ShareCuda::new(share, stream, &[], N, wish).map(Arc::new))
                .transpose()?,
            tables,
            grid,
            stream: stream.clone(),
        })
    }
}

impl Device<StructuredSystem> for StructuredCuda {
    fn upload(&mut self, host: &StructuredSystem) -> Result<(), FlowError> {
        self.tables.conditions = upload_structs(&self.stream, &conditions(&host.patches))?;
        let states = host.blocks.iter().map(|b| &b.w);
        self.w.copy_from(&self.grid.upload(states, N)?.slice())?;
        self.other.copy_from(&self.w.slice())?;
        if let Some(levels) = &mut self.levels {
            for (n, level) in levels.iter_mut().enumerate() {
                *level = self.grid.upload(host.blocks.iter().map(|b| &b.levels[n]), N)?;
            }
        }
        if let Some(shares) = &mut self.cfl_shares {
            shares.upload(&host.cfl_shares())?;
        }
        if let Some(eddies) = &mut self.eddies {
            eddies.upload(&self.grid, host)?;
        }
        Ok(())
    }

    fn download(&self, host: &mut StructuredSystem) -> Result<(), FlowError> {
        let mut known = conditions(&host.patches);
        download_pressures(&self.tables.conditions, &mut known)?;
        for (patch, condition) in host.patches.iter_mut().zip(known) {
            patch.condition = condition;
        }
        self.grid.download(&self.w, host.blocks.iter_mut().map(|b| &mut b.w))?;
        if let Some(shares) = &self.cfl_shares {
            host.set_cfl_shares(&shares.download()?);
        }
        if let Some(levels) = &self.levels {
            for (n, level) in levels.iter().enumerate() {
                self.grid.download(level, host.blocks.iter_mut().map(|b| &mut b.levels[n]))?;
            }
        }
        Ok(self.eddies.as_ref().map_or(Ok(()), |eddies| eddies.download(&self.grid, host))?)
    }

    /// As on meshes: a Newton-Krylov step that is rejected at once. Residuals adapt the back pressure of outlets, updates the shares of the CFL
    /// number.
    fn rehearse(&mut self, at: &Moment) -> Result<(), FlowError> {
        if !matches!(self.method, Method::Newton(_)) {
            return Ok(());
        }
        let mut conditions = DeviceBuffer::uninitialized(&self.stream, self.tables.conditions.len())?;
        conditions.copy_from(&self.tables.conditions.slice())?;
        let shares = self.cfl_shares.as_ref().map(DeviceBuffer::download).transpose()?;
        self.residual(at)?;
        if self.advance(at)?.singular.is_none() {
            self.restore()?;
        }
        self.times()?;
        if let (Some(to), Some(shares)) = (&mut self.cfl_shares, shares) {
            to.upload(&shares)?;
        }
        Ok(self.tables.conditions.copy_from(&conditions.slice())?)
    }

    fn bytes(&self) -> usize {
        self.stream.held_bytes()
    }
}
