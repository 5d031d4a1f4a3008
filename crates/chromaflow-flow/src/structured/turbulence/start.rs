//! From a set-up to the state at the beginning: distances from walls, the free stream's nut or a turbulent layer of k and omega, a layer along walls.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::config::StructuredConfig;
use super::lanes::TERMS;
use super::{Eddies, GridTurbulence, MOST, Model};
use crate::bc::Condition;
use crate::config::{
    Equations, Hybrid, Nonlinear, Quadratic, Rotation, TurbulenceConfig, TurbulenceModel, WallTreatment,
};
use crate::gas::{Gas, Transport};
use crate::gradient::NodeRecord;
use crate::grid::Grid;
use crate::march::FlowError;
use crate::mesh::periodic::{Rotation as Turn, product};
use crate::mesh::{Marker, Mesh, cross, dot, sub};
use crate::turbulence::k_omega::{KOmegaVariant, StartLayer, model_of};
use crate::turbulence::production;
use crate::turbulence::spalart_allmaras::{SaVariant, SpalartAllmaras};
use crate::wall_distance::{NearWalls, Repeats, no_wall};
use crate::wall_layer::WallLayer;
use chromaflow_device::Team;

/// Why turbulence does without other steps.
pub(in crate::structured) const STEPS: &str = "on structured grids turbulence takes Newton-Krylov steps: leave out structured.method and \
                                               march.nonlinear, or set the latter to newton_krylov";

/// Why a set-up with turbulence is refused, if it is: the key of `[turbulence]` and what to do.
fn problem(config: &StructuredConfig, turbulence: &TurbulenceConfig) -> Option<(&'static str, &'static str)> {
    let t = turbulence;
    let newton = matches!(config.implicit.nonlinear, Nonlinear::NewtonKrylov(_));
    let hybrid = "expected none on structured grids, or a [mesh] in the place of the [grid]";
    let curved = "SA-RC is not there on structured grids: expected none or sa-r, or a [mesh] in the place of the [grid]";
    let walls = "laws of the wall are not there on structured grids: expected resolved, or a [mesh] in the place of the [grid]";
    let refused = [
        ("model", !newton, STEPS),
        ("hybrid", t.hybrid != Hybrid::None, hybrid),
        ("qcr", t.quadratic != Quadratic::None, hybrid),
        ("rotation_correction", t.rotation == Rotation::Curved, curved),
        ("walls", t.walls != WallTreatment::Resolved, walls),
    ];
    refused.into_iter().find(|(_, refused, _)| *refused).map(|(key, _, problem)| (key, problem))
}

impl GridTurbulence {
    /// The model of a set-up, if it has one.
    ///
    /// # Errors
    /// [`FlowError::TurbulenceOption`] for what structured grids do not have; [`FlowError::TurbulenceInviscid`]; [`FlowError::Value`].
    pub fn of(config: &StructuredConfig) -> Result<Option<Self>, FlowError> {
        let Some(turbulence) = &config.turbulence else { return Ok(None) };
        if config.equations != Equations::Laminar {
            return Err(FlowError::TurbulenceInviscid);
        }
        if let Some((key, problem)) = problem(config, turbulence) {
            return Err(FlowError::TurbulenceOption { key, problem });
        }
        crate::turbulence::check(turbulence, &config.time)?;
        let scale = config.gas.transport(&config.freestream).scale;
        let (model, inflow) = if let Some(variant) = KOmegaVariant::of(turbulence.model) {
            let (model, inflow) = model_of(turbulence, variant, scale);
            (Model::KOmega(model), inflow)
        } else {
            let variant = match turbulence.model {
                TurbulenceModel::Sa => SaVariant::Standard,
                TurbulenceModel::SaNoFt2 => SaVariant::NoFt2,
                _ => SaVariant::Negative,
            };
            (Model::SpalartAllmaras(SpalartAllmaras { variant, scale }), [turbulence.inflow, 0.0])
        };
        Ok(Some(Self {
            model,
            inflow,
            prandtl: turbulence.prandtl,
            second_order: turbulence.second_order,
            rotating: turbulence.rotation == Rotation::Rotating,
            cfl_ratio: turbulence.cfl_ratio,
        }))
    }

    /// Arrays of a block of so many cells, `all` of them with ghosts, everywhere as off walls.
    fn eddies(&self, count: usize, all: usize) -> Eddies {
        let nb = self.unknowns();
        let values: Vec<f64> = (0..nb).flat_map(|v| std::iter::repeat_n(self.inflow[v], all)).collect();
        let of = |two: usize, one: usize| if self.is_local() { two } else { one };
        Eddies {
            last_good: values.clone(),
            values,
            levels: [Vec::new(), Vec::new()],
            nu: vec![1.0; of(0, all)],
            viscosity: vec![0.0; all],
            diffusing: vec![0.0; of(MOST * all, 0)],
            distance: Vec::new(),
            production: Vec::new(),
            r: vec![0.0; nb * count],
            terms: vec![0.0; of(TERMS, 1) * count],
        }
    }
}

/// The conditions of a grid's markers.
fn condition_of<'a>(patches: &'a [PatchState], name: &str) -> Option<&'a Condition<f64>> {
    patches.iter().find(|patch| patch.name == name).map(|patch| &patch.condition)
}

/// Walls without slip as points see them, images a period away included: they may be nearer.
pub(super) fn near_walls(
    (grid, mesh): (&Grid, &Mesh),
    patches: &[PatchState],
    points: &[[f64; 3]],
    team: &Team,
) -> Result<NearWalls, FlowError> {
    let holds = |name: &str| condition_of(patches, name).is_some_and(|condition| condition.kind.is_no_slip());
    let is_wall = |marker: &Marker| holds(&marker.name);
    let repeats = Repeats { steps: grid.translations(), turns: turns_around(grid) };
    NearWalls::repeated(mesh, is_wall, points, team, &repeats).ok_or_else(|| no_wall(mesh))
}

/// The rotation of a grid's sides, and how many turns away walls may be nearest: as many as its angle from end to end around the axis takes up.
fn turns_around(grid: &Grid) -> Option<(Turn, i32)> {
    let rotation = grid.rotation()?;
    let nodes = || grid.blocks.iter().flat_map(|block| &block.nodes);
    let off = |x: &[f64; 3]| {
        let x = sub(*x, rotation.point);
        let along = product(&rotation.along(), x);
        sub(x, along)
    };
    let mut middle = [0.0; 3];
    for x in nodes() {
        let x = off(x);
        (0..3).for_each(|d| middle[d] += x[d]);
    }
    let across = cross(rotation.axis, middle);
    let angles = nodes().map(|x| {
        let x = off(x);
        dot(x, across).atan2(dot(x, middle))
    });
    let [low, high] = angles.fold([0.0_f64; 2], |[low, high], angle| [low.min(angle), high.max(angle)]);
    let wide = ((high - low) / rotation.angle.abs() + 0.5).floor() as i32;
    let all = rotation.sectors().map_or(wide, |n| n as i32 / 2);
    Some((rotation, wide.clamp(1, all.max(1))))
}

/// Gives blocks their turbulence at the beginning, and steady flow a turbulent layer along walls without slip.
pub(in crate::structured) fn start(
    turbulence: GridTurbulence,
    (config, gas, transport): (&StructuredConfig, Gas<f64>, &Transport<f64>),
    grid: &Grid,
    patches: &[PatchState],
    blocks: &mut [BlockState],
    team: &Team,
) -> Result<(), FlowError> {
    let center = |block: &BlockState, at: usize| std::array::from_fn(|c| block.metrics.center[c][at]);
    let points: Vec<[f64; 3]> =
        blocks.iter().flat_map(|block| block.places().map(move |at| center(block, at))).collect();
    let mesh = grid.to_mesh();
    let model = config.turbulence.as_ref().expect("a set-up of turbulence");
    let production = production(model, &mesh, points.iter().copied());
    let walls = near_walls((grid, &mesh), patches, &points, team)?;
    let mut cells: Vec<NodeRecord> = (blocks.iter())
        .flat_map(|block| block.places().map(move |at| block.state(at)))
        .zip(&points)
        .map(|(w, x)| [w[0], w[1], w[2], w[3], w[4], x[0], x[1], x[2]])
        .collect();
    let of_marker = |name: &str| condition_of(patches, name);
    if config.unsteady().is_none() {
        WallLayer::new(&mesh, &walls, of_marker, transport, (config.freestream.mach, true))
            .slow(gas, &mut cells);
    }
    let (length, mach) = (walls.surface.extent(), config.freestream.mach);
    let layer = match turbulence.model {
        Model::KOmega(model) => {
            Some(StartLayer::new(model, turbulence.inflow, length, mach, transport.scale))
        }
        Model::SpalartAllmaras(_) => None,
    };
    let mut first = 0;
    for block in blocks {
        let (count, len) = (block.cells.interior(), block.cells.len());
        for (at, cell) in block.places().zip(&cells[first..]) {
            block.set(at, std::array::from_fn(|c| cell[c]));
        }
        block.last_good.copy_from_slice(&block.w);
        let mut eddies = turbulence.eddies(count, len);
        eddies.distance = walls.nearest[first..first + count].iter().map(|near| near.distance).collect();
        eddies.production = production.get(first..first + count).unwrap_or_default().to_vec();
        if let Some(layer) = &layer {
            for (at, distance) in block.places().zip(&eddies.distance) {
                let values = layer.at(*distance);
                (0..MOST).for_each(|v| eddies.values[v * len + at] = values[v]);
            }
        }
        if config.unsteady().is_some() {
            eddies.levels = [eddies.values.clone(), eddies.values.clone()];
        }
        eddies.start_here();
        block.eddies = eddies;
        first += count;
    }
    Ok(())
}
