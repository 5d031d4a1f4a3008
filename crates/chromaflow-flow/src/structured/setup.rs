//! From a grid and a set-up to a solver at free stream.

use super::block::BlockState;
use super::boundary::PatchState;
use super::boundary::turned::turned_faces;
use super::config::{Scheme, StepMethod, StructuredConfig};
use super::lines::LineSolver;
use super::newton::GridNewton;
use super::over_ranks::Over;
use super::residual::Physics;
use super::ssor::Ssor;
use super::turbulence::{Eddies, GridTurbulence};
use super::{StructuredSolver, StructuredSystem, start};
use crate::config::{Boundary, Equations, Nonlinear};
use crate::equations::perfect_gas::{N, State};
use crate::flux::RoeFix;
use crate::gas::Gas;
use crate::grid::{Cells, Grid, Interface, Metrics, Patch, Side};
use crate::march::control::CflControl;
use crate::march::forces::ForceScale;
use crate::march::{FlowError, Host, Times, check_turned, over_ranks as ranks};
use crate::mesh::Planar;
use crate::mesh::periodic::product;
use crate::on_grid::{GridPart, check_markers};
use crate::ranks::Ranks;
use crate::residual::flux_size;
use chromaflow::dist::Links;
use chromaflow_device::Team;
use std::collections::BTreeMap;
use std::sync::Arc;

impl StructuredSolver {
    /// A solver in the free stream everywhere, but along walls: see [`StructuredConfig::start_layer`]. The grid must have passed [`Grid::check`].
    ///
    /// The two planes of a two-dimensional grid are symmetry planes unless the set-up says otherwise.
    ///
    /// # Errors
    /// [`FlowError`] names the marker or the number that is wrong.
    pub fn new(grid: Grid, config: StructuredConfig, team: Arc<Team>) -> Result<Self, FlowError> {
        Self::on(grid, config, team, None)
    }

    /// As [`StructuredSolver::new`], over ranks, each of which has the grid and gets whole blocks of it. Rank 0 is then used as a solver alone
    /// would be, while the others [`follow`](StructuredSolver::follow). Collective.
    ///
    /// Residuals and steps are those of one rank alone, and sums are by blocks: all of it is the same, bit for bit, on any number of ranks,
    /// Newton-Krylov steps where [`Ranks::reproducible`] is asked for, else to the rounding of their inner products. Their incomplete factors
    /// are of each block alone, whatever rank has it.
    ///
    /// # Errors
    /// As [`StructuredSolver::new`]; [`FlowError::FewBlocks`]; [`FlowError::Ranks`].
    pub fn over_ranks(
        grid: Grid,
        config: StructuredConfig,
        team: Arc<Team>,
        ranks: &Ranks,
    ) -> Result<Self, FlowError> {
        Self::on(grid, config, team, Some(ranks))
    }

    fn on(
        grid: Grid,
        config: StructuredConfig,
        team: Arc<Team>,
        ranks: Option<&Ranks>,
    ) -> Result<Self, FlowError> {
        let Start { grid, config, metrics, gas, free, scale, depth, mut part } = start(grid, config, ranks)?;
        let turbulence = GridTurbulence::of(&config)?;
        if turbulence.is_some_and(|model| model.is_k_omega())
            && part.over.as_ref().is_some_and(|over| over.division().is_some() && over.share.exact())
        {
            // Each rank solves with the matrix of its own blocks in steps apart, as far as it must.
            let what = "a model of k and omega on a structured grid, the same bit for bit,".to_owned();
            return Err(FlowError::NotOverRanks { what, remedy: "leave out --reproducible" });
        }
        let physics = Physics {
            gas,
            scheme: config.scheme,
            transport: (config.equations == Equations::Laminar)
                .then(|| config.gas.transport(&config.freestream)),
            terms: config.viscous,
            fix: RoeFix { cutoff_mach: config.cutoff_mach(), ..RoeFix::DEFAULT },
            turbulence,
        };
        let unsteady = config.unsteady().is_some();
        let roe = matches!(config.scheme, Scheme::Roe { .. });
        let of = |(b, m): (usize, Metrics)| {
            let block = block_of(&grid, part.number(b), m, free, unsteady);
            BlockState { jumps: vec![0.0; if roe { block.cells.len() } else { 0 }], ..block }
        };
        let mut blocks: Vec<BlockState> = metrics.into_iter().enumerate().map(of).collect();
        let condition = |name: &String| {
            let mut condition =
                Boundary::of_marker(&config.boundaries, name, gas, &free).condition(gas, free);
            condition.mass_flow *= depth;
            condition
        };
        let mut patches = Vec::new();
        for (number, Patch { name, window }) in grid.patches.iter().enumerate() {
            part.patches.push((name.clone(), config.boundaries[name].is_wall()));
            let Some(own) = part.own(window.block) else { continue };
            part.numbers.push(number);
            let block = &mut blocks[own];
            close(block, *window, patches.len() as u32);
            let mut patch = PatchState::new(&grid, name, *window, condition(name), block);
            patch.window.block = own;
            let functions = turbulence.and_then(|model| model.walls);
            patch.law = functions.filter(|_| patch.condition.kind.is_no_slip()).map(|walls| walls.law);
            patch.check_motion(block)?;
            patches.push(patch);
        }
        let over = part.over.is_some().then(|| {
            let distant = |p: &Patch| PatchState::distant(&p.name, p.window, condition(&p.name));
            Over { patches: grid.patches.iter().map(distant).collect(), round_off: Vec::new() }
        });
        let all = over.as_ref().map_or(&patches, |over| &over.patches);
        start::turn_along_walls(gas, &config, &patches, part.share(), &mut blocks);
        if let Some(transport) = &physics.transport {
            let flow = (&config, gas, transport);
            match turbulence {
                Some(model) => {
                    let on = (&all[..], |b| part.number(b));
                    super::turbulence::start(model, flow, &grid, on, &mut blocks, &team)?;
                }
                None => start::slow_at_walls(flow, &grid, all, &mut blocks, &team)?,
            }
        }
        let volume = part.sum(blocks.iter().map(|b| b.metrics.total_volume()));
        let slow = config.cutoff_mach();
        let round_off = if over.is_none() {
            round_off(&blocks, gas, (&free, slow), volume)
        } else {
            let of = |b| round_off(std::slice::from_ref(b), gas, (&free, slow), volume).powi(2);
            part.sum(blocks.iter().map(of)).sqrt()
        };
        let inviscid = config.equations == Equations::Euler;
        let control = CflControl::new(config.implicit.cfl).with_roes_matrix(config.freestream.mach, inviscid);
        let (newton, control) = match config.implicit.nonlinear {
            Nonlinear::NewtonKrylov(options) => {
                let newton = GridNewton::new(&blocks, &part, options, turbulence)?;
                for block in &mut blocks {
                    block.cfl_shares = vec![1.0; block.dt.len()];
                }
                let cells = part.sum(blocks.iter().map(|b| b.cells.interior() as f64));
                let control = control.of_newton_steps().with_shares();
                (Some(Box::new(newton)), control.with_directions(options.directions, N * cells as usize))
            }
            Nonlinear::DefectCorrection => (None, control.factored()),
        };
        let mut system = StructuredSystem {
            turned: turned_faces(&grid, &blocks, physics.scheme),
            part,
            over,
            newton,
            lines: LineSolver::new(team.size()),
            ssor: match config.implicit.method {
                StepMethod::Ssor { .. } => Ssor::new(&blocks),
                _ => Ssor::default(),
            },
            team,
            config,
            grid,
            physics,
            blocks,
            patches,
            scale,
            free,
            volume,
            round_off,
            times: Times::default(),
        };
        system.find_round_off();
        ranks::check(Host::share(&system))?;
        Ok(Self::of(system, control))
    }
}

/// Density residual of a flow that has none: the fluxes through each cell's faces at the free stream, each known to a unit in the
/// last place. As [`crate::residual::round_off`] of meshes.
fn round_off(blocks: &[BlockState], gas: Gas<f64>, (free, cutoff_mach): (&State, f64), volume: f64) -> f64 {
    let mut squares = 0.0;
    for block in blocks {
        for at in block.cells.places() {
            let through = (0..3).filter(|&d| block.active[d]).map(|d| {
                let faces = [at, at + block.cells.stride[d]].map(|face| block.metrics.face(d, face));
                faces.map(|n| flux_size(gas, free, &n, cutoff_mach)).iter().sum::<f64>()
            });
            squares += through.sum::<f64>().powi(2) / block.metrics.volume[at];
        }
    }
    f64::EPSILON * (squares / volume).sqrt()
}

/// What every solver begins with.
pub(super) struct Start {
    pub grid: Grid,
    pub config: StructuredConfig,
    pub metrics: Vec<Metrics>,
    pub gas: Gas<f64>,
    /// The free stream.
    pub free: State,
    pub scale: ForceScale,
    /// Of two-dimensional grids along the axis that they lack; else 1.
    pub depth: f64,
    /// What this rank has of the grid: `metrics` are of its blocks.
    pub part: GridPart,
}

/// The axis along which lift points unless [`Reference::lift_axis`](crate::config::Reference::lift_axis) says: y on two-dimensional grids that do not
/// lack it, else z. Blocks have their thin axis last ([`Grid::thin_axis_last`]).
///
/// ```
/// use chromaflow_flow::grid::generate::{BoxGrid, Channel};
/// use chromaflow_flow::structured::lift_axis;
/// assert_eq!(lift_axis(&Channel { cells: [8, 4], thickness: 0.1, triangles: false }.grid()), 1);
/// assert_eq!(lift_axis(&BoxGrid { cells: [8, 4, 4], size: [1.0; 3], wave: 0.0 }.grid()), 2);
/// ```
pub fn lift_axis(grid: &Grid) -> usize {
    if grid.plane().is_some_and(|(lacks, _)| lacks != 1) { 1 } else { 2 }
}

/// Checks and completes the set-up, turns the grid.
pub(super) fn start(
    grid: Grid,
    mut config: StructuredConfig,
    given: Option<&Ranks>,
) -> Result<Start, FlowError> {
    for side in [Planar::FRONT, Planar::BACK] {
        if grid.markers().contains(&side) {
            config.boundaries.entry(side.to_owned()).or_insert(Boundary::Symmetry);
        }
    }
    check(&grid, &config)?;
    let grid = grid.thin_axis_last();
    let (part, metrics) = GridPart::new(&grid, given)?;
    let gas = config.gas.gas();
    let plane = grid.plane();
    let axis = config.reference.lift_axis.unwrap_or_else(|| lift_axis(&grid));
    let stream = config.freestream;
    let mut free = stream.primitive(gas, axis);
    let rotation = grid.rotation();
    if let Some(rotation) = &rotation {
        let far = config.boundaries.values().any(|boundary| *boundary == Boundary::Farfield);
        check_turned(rotation, far.then(|| stream.direction(axis)), &config.boundaries)?;
        // The start of a flow that repeats around the axis.
        let along = product(&rotation.along(), [free[1], free[2], free[3]]);
        free[1..4].copy_from_slice(&along);
    }
    Boundary::settle(&mut config.boundaries, config.equations);
    let depth = plane.map_or(1.0, |(_, depth)| depth);
    let scale = ForceScale {
        drag: stream.direction(axis),
        lift: stream.lift_direction(axis),
        force: stream.dynamic_pressure() * config.reference.area * depth,
        length: config.reference.length,
        center: config.reference.moment_center,
        lift_y: axis == 1,
        pressure: free[4],
        turns_about: rotation.map(|rotation| [rotation.point, rotation.axis]),
    };
    Ok(Start { grid, config, metrics, gas, free, scale, depth, part })
}

fn block_of(grid: &Grid, number: usize, metrics: Metrics, free: State, unsteady: bool) -> BlockState {
    let cells: Cells = metrics.cells;
    // Room behind the last ghost for vectors that begin in a row's last cells.
    let w: Vec<f64> = (0..N).flat_map(|c| std::iter::repeat_n(free[c], cells.len())).collect();
    let closes = |d: usize| {
        grid.interfaces.iter().any(|i: &Interface| {
            let whole = |w: &crate::grid::Window| {
                w.block == number
                    && w.side.axis == d
                    && w.side.tangential().iter().all(|&t| w.low[t] == 0 && w.high[t] == cells.count[t])
            };
            let straight = i.motion.rotation().is_none()
                && i.map.axis == [0, 1, 2]
                && i.map.sign == [1; 3]
                && (0..3).all(|t| t == d || i.map.offset[t] == 0);
            whole(&i.a) && whole(&i.b) && i.a.side.high != i.b.side.high && straight
        })
    };
    let neighbor = |d: usize| {
        grid.interfaces.iter().flat_map(|i| [&i.a, &i.b]).any(|w| w.block == number && w.side.axis == d)
    };
    let [ni, nj, nk] = cells.count;
    let patch_of = std::array::from_fn(|side| {
        let [u, v] = Side::ALL[side].tangential();
        vec![u32::MAX; cells.count[u] * cells.count[v]]
    });
    BlockState {
        cells,
        open: metrics.area.clone(),
        metrics,
        active: [0, 1, 2].map(|d| neighbor(d) || !grid.blocks[number].repeats_along(d)),
        closed: [0, 1, 2].map(closes),
        last_good: w.clone(),
        levels: if unsteady { [w.clone(), w.clone()] } else { [Vec::new(), Vec::new()] },
        w,
        r: vec![0.0; N * ni * nj * nk],
        dt: vec![0.0; ni * nj * nk],
        cfl_shares: Vec::new(),
        jumps: Vec::new(),
        patch_of,
        eddies: Eddies::default(),
    }
}

/// Takes a patch's faces from the flux loops between cells.
fn close(block: &mut BlockState, window: crate::grid::Window, number: u32) {
    let Side { axis, high } = window.side;
    let [u, v] = window.side.tangential();
    for cell in window.cells() {
        let at = block.cells.inside(cell) + if high { block.cells.stride[axis] } else { 0 };
        for c in 0..3 {
            block.open[axis][c][at] = 0.0;
        }
        let place = cell[u] + block.cells.count[u] * cell[v];
        block.patch_of[2 * axis + usize::from(high)][place] = number;
    }
}

/// Sides of grids are joined with the grid itself.
pub(super) fn not_by_condition(boundaries: &BTreeMap<String, Boundary>) -> Result<(), FlowError> {
    match boundaries.iter().find(|(_, boundary)| **boundary == Boundary::Periodic) {
        None => Ok(()),
        Some((marker, boundary)) => Err(FlowError::Unsupported {
            marker: marker.clone(),
            condition: boundary.word(),
            solver: "a structured grid",
            expected: "the pair of markers in `grid.periodic`",
        }),
    }
}

fn check(grid: &Grid, config: &StructuredConfig) -> Result<(), FlowError> {
    not_by_condition(&config.boundaries)?;
    check_markers(grid, &config.boundaries, |_| true)?;
    let (free, implicit) = (&config.freestream, &config.implicit);
    let layer = config.start_layer.unwrap_or(0.0);
    let laminar = config.equations == Equations::Laminar;
    let dissipation = config.implicit_dissipation();
    let cutoff = config.cutoff_mach.unwrap_or(1.0);
    let positive = "expected a positive number";
    let (sweeps, relaxation) = match implicit.method {
        StepMethod::Ssor { sweeps, relaxation } => (sweeps, relaxation),
        _ => (1, 1.0),
    };
    for (name, value, good, expected) in [
        ("mach", free.mach, free.mach > 0.0, positive),
        (
            "reynolds",
            free.reynolds,
            !laminar || free.reynolds > 0.0,
            "expected a positive number for laminar flow",
        ),
        ("gamma", config.gas.gamma, config.gas.gamma > 1.0, "expected more than 1"),
        ("cutoff_mach", cutoff, cutoff > 0.0 && cutoff <= 1.0, "expected more than 0, at most 1"),
        ("cfl.start", implicit.cfl.start, implicit.cfl.start > 0.0, positive),
        ("max_change", implicit.max_change, implicit.max_change > 0.0, positive),
        ("start_layer", layer, layer >= 0.0, "expected zero or more"),
        ("dissipation", dissipation, dissipation >= 0.0, "expected zero or more"),
        ("sweeps", sweeps as f64, sweeps > 0, "expected one or more"),
        ("relaxation", relaxation, relaxation > 0.0 && relaxation < 2.0, "expected a number between 0 and 2"),
    ] {
        if !good || !value.is_finite() {
            return Err(FlowError::Value { name: name.into(), value, expected });
        }
    }
    Ok(())
}
