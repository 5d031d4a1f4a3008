//! From a set-up to the state at the beginning: distances from walls, a layer along them.

use super::super::config::{Boundary, Config};
use super::super::space::{Block, Face, Space};
use super::boundary::{Class, class};
use super::laws::SHEAR;
use super::{COEFFICIENTS, Eddies, Turbulence};
use crate::bc::{Motion, motion_at};
use crate::config::{Time, TurbulenceConfig};
use crate::grid::Grid;
use crate::march::FlowError;
use crate::mesh::{Marker, mean};
use crate::turbulence::cells::{GridTurbulence, Model, TERMS};
use crate::turbulence::hybrid::HybridForm;
use crate::turbulence::hybrid::cells::HybridCells;
use crate::turbulence::k_omega::StartLayer;
use crate::turbulence::{plate_thickness, production};
use crate::wall_distance::NearWalls;
use crate::wall_layer::turbulent_share;
use chromaflow_device::Team;

/// Of driven flow the k over u_tau^2 below which it counts for nothing.
const LEAST_DRIVEN: f64 = 1e-3;

/// Walls as cells see them.
pub(in super::super) struct Walls {
    near: NearWalls,
    /// Velocities of the boundary's faces as [`Nearest`](crate::wall_distance::Nearest) counts them.
    velocities: Vec<[f64; 3]>,
}

impl Turbulence {
    /// The model of a set-up, if it has one, with distances from walls.
    ///
    /// # Errors
    /// [`FlowError::TurbulenceOption`] for what there is not; [`FlowError::TurbulenceInviscid`]; [`FlowError::Hybrid`]; [`FlowError::Value`]; [`FlowError::NoWall`].
    pub fn new(
        grid: &Grid,
        config: &Config,
        space: &Space,
        team: &Team,
    ) -> Result<Option<(Self, Walls)>, FlowError> {
        let Some(turbulence) = &config.turbulence else { return Ok(None) };
        let nu = config.fluid.viscosity;
        if nu <= 0.0 {
            return Err(FlowError::TurbulenceInviscid);
        }
        crate::turbulence::check(turbulence, &config.time)?;
        let inflow_k = turbulence.inflow_k * config.reference.velocity.powi(2);
        let mut model = GridTurbulence::new(&TurbulenceConfig { inflow_k, ..turbulence.clone() }, nu);
        if let (true, Some([friction, _])) = (model.is_k_omega(), driven(config, space)) {
            // Nothing flows in: below which k counts for nothing is the walls' business.
            model.inflow[0] = model.inflow[0].min(LEAST_DRIVEN * friction * friction);
        }
        let (mesh, points) = (grid.to_mesh(), space.centers());
        let production = production(turbulence, &mesh, points.iter().copied());
        let condition = |name: &str| config.boundaries.get(name);
        let is_wall = |name: &str| condition(name).is_some_and(Boundary::is_wall);
        let near = NearWalls::on_grid((grid, &mesh), is_wall, &points, team)?;
        let of_marker = |m: &Marker| -> Vec<[f64; 3]> {
            let motion = if let Some(Boundary::Wall { motion, .. }) = condition(&m.name) {
                *motion
            } else {
                Motion::NONE
            };
            let faces = m.triangles.iter().map(|face| &face[..]).chain(m.quads.iter().map(|face| &face[..]));
            faces
                .map(|face| {
                    let corners: Vec<_> = face.iter().map(|&node| mesh.nodes[node as usize]).collect();
                    motion_at(motion, &mean(&corners))
                })
                .collect()
        };
        let velocities = mesh.markers.iter().flat_map(of_marker).collect();
        let form = HybridForm::of(turbulence)?;
        let eddies = |(number, block): (usize, &Block)| {
            let len = block.cells.len();
            let of_cells = |values: &dyn Fn(usize) -> f64| {
                let mut all = vec![1.0; len];
                block.rows().for_each(|row| all[block.at(row)] = values(row));
                all
            };
            Eddies {
                coefficients: vec![0.0; COEFFICIENTS * len],
                distance: of_cells(&|row| near.nearest[row].distance),
                shear: vec![0.0; if model.walls.is_some() { SHEAR * len } else { 0 }],
                grid: form.map(|_| {
                    let (own, near) = (space.part.number(number), &near.nearest[block.rows()]);
                    let mut cells = HybridCells::new(turbulence, &grid.blocks[own], &space.axes, near);
                    let width = cells.width();
                    let of_cells = |c| of_cells(&|row| cells.numbers[(row - block.first_row) * width + c]);
                    cells.numbers = (0..width).flat_map(of_cells).collect();
                    cells
                }),
                production: if production.is_empty() { Vec::new() } else { of_cells(&|row| production[row]) },
            }
        };
        let blocks = space.blocks.iter().enumerate().map(eddies).collect();
        let hybrid = vec![0.0; if form.is_some() { 2 * space.rows } else { 0 }];
        let (first, terms) = (config.fluid.unknowns(), vec![0.0; TERMS * space.rows]);
        Ok(Some((Self { model, first, nu, blocks, terms, form, hybrid }, Walls { near, velocities })))
    }

    /// Gives the cells, which have a state of the flow, the model's unknowns at the beginning, and steady flow a layer along walls at which it is slowed down.
    ///
    /// Flow that a force drives through periodic sides begins as turbulent as the force's balance with friction says, whatever its speed: without an eddy viscosity off a
    /// thin layer the force speeds its middle up until nothing but the laminar solution, a hundred times faster, is near.
    pub fn start(&self, config: &Config, space: &Space, walls: &Walls, fields: &mut [Vec<f64>]) {
        let (speed, length) = (config.reference.velocity, walls.near.surface.extent());
        let driven = driven(config, space);
        let values = |distance: f64| match (self.model.model, driven) {
            (Model::KOmega(model), None) => {
                StartLayer::new(model, self.model.inflow, length, speed, self.nu).at(distance)
            }
            (Model::KOmega(model), Some(driven)) => StartLayer::driven(model, driven, self.nu).at(distance),
            (Model::SpalartAllmaras(_), None) => self.model.inflow,
            (Model::SpalartAllmaras(_), Some(driven)) => {
                [self.model.inflow[0].max(nut_of_driven(driven, distance) / self.nu), 0.0]
            }
        };
        let thickness = driven.map_or_else(|| plate_thickness(length, speed, self.nu), |[_, depth]| depth);
        for (block, field) in space.blocks.iter().zip(fields) {
            let len = block.cells.len();
            for row in block.rows() {
                let (at, near) = (block.at(row), &walls.near.nearest[row]);
                let values = values(near.distance);
                for v in 0..self.model.unknowns() {
                    field[(self.first + v) * len + at] = values[v];
                }
                if let Time::Steady(_) = config.time {
                    let share = turbulent_share((near.distance / thickness).min(1.0));
                    let wall = walls.velocities[near.face as usize];
                    for c in 0..3 {
                        let u = &mut field[(1 + c) * len + at];
                        *u = wall[c] + share * (*u - wall[c]);
                    }
                }
            }
        }
    }
}

/// The friction velocity that balances the force which drives steady flow along its walls, and the volume over the walls' area; none where there is no such force or
/// something flows in or out.
fn driven(config: &Config, space: &Space) -> Option<[f64; 2]> {
    let force = config.force.iter().map(|f| f * f).sum::<f64>().sqrt();
    let area = |of: Class| {
        let of_block = |block: usize| {
            let patches = space.patches.iter().filter(|patch| patch.block == block && class(patch) == of);
            let area = |face: &Face| face.n.iter().map(|n| n * n).sum::<f64>().sqrt();
            patches.flat_map(|patch| &patch.faces).map(area).sum::<f64>()
        };
        space.part.sum((0..space.blocks.len()).map(of_block))
    };
    let [walls, open] = [Class::Wall, Class::Open].map(area);
    let driven = matches!(config.time, Time::Steady(_)) && force > 0.0 && walls > 0.0 && open == 0.0;
    driven.then(|| [(force * space.volume / walls).sqrt(), space.volume / walls])
}

/// The eddy viscosity of driven flow, as [`StartLayer::driven`] has it: kappa u_tau d near walls, with k falling towards the middle.
fn nut_of_driven([friction, depth]: [f64; 2], distance: f64) -> f64 {
    let fall = 1.0 - 0.5 * (distance / depth).min(1.0);
    0.41 * friction * distance * fall * fall
}
