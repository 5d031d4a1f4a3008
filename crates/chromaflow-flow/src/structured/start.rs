//! The state at the beginning: the free stream, turned along walls and slowed down where they let nothing slip.

use super::block::BlockState;
use super::boundary::PatchState;
use super::config::StructuredConfig;
use crate::bc::{Condition, ConditionKind};
use crate::config::Equations;
use crate::equations::perfect_gas::State;
use crate::gas::{Gas, Transport, temperature};
use crate::gradient::NodeRecord;
use crate::grid::{Grid, Side};
use crate::march::FlowError;
use crate::mesh::Mesh;
use crate::wall_distance::NearWalls;
use crate::wall_layer::WallLayer;
use chromaflow::dist::Share;
use chromaflow_comm::Op;
use chromaflow_device::Team;
use std::sync::Arc;

/// Turns the flow along walls: steady flow without friction, and steady supersonic flow along all walls.
pub(super) fn turn_along_walls(
    gas: Gas<f64>,
    config: &StructuredConfig,
    patches: &[PatchState],
    share: Option<&Arc<Share>>,
    blocks: &mut [BlockState],
) {
    let turns = |p: &&PatchState| {
        p.condition.kind == ConditionKind::SlipWall
            || p.condition.kind == ConditionKind::NoSlip && config.freestream.mach > 1.0
    };
    let walls = || patches.iter().filter(turns);
    let faces = walls().flat_map(|wall| wall.faces.iter().map(|(_, face)| *face));
    let layer = layer_at_start(config, ends_of(faces, share));
    for wall in walls().filter(|_| layer > 0.0) {
        start_along(gas, wall, layer, &mut blocks[wall.window.block]);
    }
}

/// Gives laminar flow that Newton-Krylov steps take to its steady state a layer along walls without slip.
pub(super) fn slow_at_walls(
    flow: (&StructuredConfig, Gas<f64>, &Transport<f64>),
    grid: &Grid,
    patches: &[PatchState],
    blocks: &mut [BlockState],
    team: &Team,
) -> Result<(), FlowError> {
    let holds = |patch: &PatchState| patch.condition.kind.is_no_slip();
    if !(takes_newton(flow.0) && patches.iter().any(holds)) {
        return Ok(());
    }
    let (points, mesh) = (centers(blocks), grid.to_mesh());
    let walls = near_walls((grid, &mesh), patches, &points, team)?;
    slow(flow, (&mesh, &walls), patches, &points, blocks);
    Ok(())
}

/// Middles of all cells, block by block.
pub(super) fn centers(blocks: &[BlockState]) -> Vec<[f64; 3]> {
    blocks.iter().flat_map(|block| block.cells.places().map(move |at| block.metrics.center(at))).collect()
}

/// The condition of a marker.
fn condition_of<'a>(patches: &'a [PatchState], name: &str) -> Option<&'a Condition<f64>> {
    patches.iter().find(|patch| patch.name == name).map(|patch| &patch.condition)
}

/// Walls without slip as points see them.
pub(super) fn near_walls(
    grid: (&Grid, &Mesh),
    patches: &[PatchState],
    points: &[[f64; 3]],
    team: &Team,
) -> Result<NearWalls, FlowError> {
    let holds = |name: &str| condition_of(patches, name).is_some_and(|condition| condition.kind.is_no_slip());
    NearWalls::on_grid(grid, holds, points, team)
}

/// Slows the gas down in a layer along walls without slip; `points` are the middles of the cells.
pub(super) fn slow(
    (config, gas, transport): (&StructuredConfig, Gas<f64>, &Transport<f64>),
    (mesh, walls): (&Mesh, &NearWalls),
    patches: &[PatchState],
    points: &[[f64; 3]],
    blocks: &mut [BlockState],
) {
    let of_marker = |name: &str| condition_of(patches, name);
    let stream = (config.freestream.mach, config.turbulence.is_some());
    let layer = WallLayer::new(mesh, walls, of_marker, transport, stream);
    let states = blocks.iter().flat_map(|block| block.cells.places().map(move |at| block.state(at)));
    let record = |(w, x): (State, &[f64; 3])| [w[0], w[1], w[2], w[3], w[4], x[0], x[1], x[2]];
    let mut cells: Vec<NodeRecord> = states.zip(points).map(record).collect();
    layer.slow(gas, &mut cells);
    let mut slowed = cells.iter();
    for block in blocks {
        for (at, cell) in block.cells.places().zip(&mut slowed) {
            block.set(at, std::array::from_fn(|c| cell[c]));
        }
        block.last_good.copy_from_slice(&block.w);
    }
}

fn takes_newton(config: &StructuredConfig) -> bool {
    config.takes_newton() && config.unsteady().is_none()
}

/// The least and the largest coordinates of faces, of all ranks.
fn ends_of(faces: impl Iterator<Item = [f64; 3]>, share: Option<&Arc<Share>>) -> [[f64; 3]; 2] {
    let [mut low, mut high] = faces.fold([[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]], |[low, high], x| {
        [std::array::from_fn(|d| low[d].min(x[d])), std::array::from_fn(|d| high[d].max(x[d]))]
    });
    if let Some(share) = share {
        share.reduce(Op::Min, &mut low);
        share.reduce(Op::Max, &mut high);
    }
    [low, high]
}

/// Thickness of the layer at walls between these ends in which the flow starts along them.
fn layer_at_start(config: &StructuredConfig, ends: [[f64; 3]; 2]) -> f64 {
    if let Some(share) = config.start_layer {
        return share * config.reference.length;
    }
    if !(takes_newton(config) && (config.equations == Equations::Euler || config.freestream.mach > 1.0)) {
        return 0.0;
    }
    0.1 * (0..3).map(|d| ends[1][d] - ends[0][d]).fold(0.0, f64::max)
}

/// Turns the flow along a wall, at each face and on the grid line from it into the block: u - e^(-d/`layer`) (u . k) k at
/// a distance d from the face of unit normal k, total enthalpy as it is. What is stopped by it has the pressure that it comes to along an isentrope,
/// behind a normal shock where it is supersonic; on the lee side of walls in a supersonic stream pressure stays.
///
/// A uniform flow that meets walls at once sends shocks from them, which leave the wall's cells too hot. Where these are
/// flat, thousands of steps pass until the flow has carried that layer away, and it separates before.
fn start_along(gas: Gas<f64>, wall: &PatchState, layer: f64, block: &mut BlockState) {
    let Side { axis, high } = wall.window.side;
    for (cell, face) in &wall.faces {
        let n = wall.view(block, block.cells.inside(*cell)).n;
        let area = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let last = block.cells.count[axis] - 1;
        for depth in (0..=last).take_while(|_| area > 0.0) {
            let mut cell = *cell;
            cell[axis] = if high { last - depth } else { depth };
            let at = block.cells.inside(cell);
            let center = block.metrics.center(at);
            let distance = (0..3).map(|c| (center[c] - face[c]).powi(2)).sum::<f64>().sqrt();
            let old = block.state(at);
            let through = (-distance / layer).exp() * (0..3).map(|c| old[1 + c] * n[c]).sum::<f64>() / area;
            let mut new = old;
            for c in 0..3 {
                new[1 + c] -= through * n[c] / area;
            }
            let squared = |w: &State| w[1] * w[1] + w[2] * w[2] + w[3] * w[3];
            let t = temperature(gas, &old);
            let stopped = (squared(&old) - squared(&new)) / t;
            let warmer = t * (1.0 + 0.5 * (gas.gamma - 1.0) * stopped);
            let lee = through < 0.0 && squared(&old) > t;
            new[4] *= if lee { 1.0 } else { pressure_at_rest(gas, stopped) };
            new[0] = gas.gamma * new[4] / warmer;
            block.set(at, new);
        }
    }
    block.last_good.copy_from_slice(&block.w);
    for level in block.levels.iter_mut().filter(|level| !level.is_empty()) {
        level.copy_from_slice(&block.w);
    }
}

/// Pressure of a stream brought to rest over its own, by the square of its Mach number: along an isentrope, from Mach 1 on behind a normal
/// shock.
///
/// **Source**: Rayleigh's pitot formula, NACA Report 1135 (1953), eq. 44 and 100.
fn pressure_at_rest(gas: Gas<f64>, m2: f64) -> f64 {
    let (g, g1) = (gas.gamma, gas.gamma - 1.0);
    if m2 <= 1.0 {
        return (1.0 + 0.5 * g1 * m2).powf(g / g1);
    }
    let stiff = 2.0 * g * m2 - g1;
    (0.5 * (g + 1.0) * m2).powf(g / g1) * ((g + 1.0) / stiff).powf(1.0 / g1)
}
