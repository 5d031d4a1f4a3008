//! From a set-up to the state at the beginning: distances from walls, a layer along them.

use super::super::config::{Boundary, Config};
use super::super::space::{Block, Space};
use super::laws::SHEAR;
use super::{COEFFICIENTS, Eddies, Turbulence};
use crate::config::{Time, TurbulenceConfig};
use crate::grid::Grid;
use crate::march::FlowError;
use crate::mesh::Marker;
use crate::turbulence::cells::{GridTurbulence, Model, TERMS};
use crate::turbulence::hybrid::HybridForm;
use crate::turbulence::hybrid::cells::HybridCells;
use crate::turbulence::k_omega::StartLayer;
use crate::turbulence::{plate_thickness, production};
use crate::wall_distance::NearWalls;
use crate::wall_layer::turbulent_share;
use chromaflow_device::Team;

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
        let model = GridTurbulence::new(&TurbulenceConfig { inflow_k, ..turbulence.clone() }, nu);
        let (mesh, points) = (grid.to_mesh(), space.centers());
        let production = production(turbulence, &mesh, points.iter().copied());
        let condition = |name: &str| config.boundaries.get(name);
        let is_wall = |name: &str| condition(name).is_some_and(Boundary::is_wall);
        let near = NearWalls::on_grid((grid, &mesh), is_wall, &points, team)?;
        let of_marker = |m: &Marker| {
            let velocity = if let Some(Boundary::Wall { velocity, .. }) = condition(&m.name) {
                *velocity
            } else {
                [0.0; 3]
            };
            std::iter::repeat_n(velocity, m.triangles.len() + m.quads.len())
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
    pub fn start(&self, config: &Config, space: &Space, walls: &Walls, fields: &mut [Vec<f64>]) {
        let (speed, length) = (config.reference.velocity, walls.near.surface.extent());
        let layer = match self.model.model {
            Model::KOmega(model) => Some(StartLayer::new(model, self.model.inflow, length, speed, self.nu)),
            Model::SpalartAllmaras(_) => None,
        };
        let thickness = plate_thickness(length, speed, self.nu);
        for (block, field) in space.blocks.iter().zip(fields) {
            let len = block.cells.len();
            for row in block.rows() {
                let (at, near) = (block.at(row), &walls.near.nearest[row]);
                let values = layer.as_ref().map_or(self.model.inflow, |layer| layer.at(near.distance));
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
