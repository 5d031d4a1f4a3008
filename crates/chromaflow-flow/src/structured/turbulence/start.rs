//! From a set-up to the state at the beginning: distances from walls, the free stream's nut or a turbulent layer of k and omega, a layer along walls.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::config::StructuredConfig;
use super::super::start::{centers, near_walls, slow};
use super::lanes::TERMS;
use super::{Eddies, GridTurbulence, MOST, Model, lengths};
use crate::config::{Coupling, Equations, GridLength};
use crate::gas::{Gas, Transport};
use crate::grid::Grid;
use crate::march::FlowError;
use crate::turbulence::hybrid::HybridForm;
use crate::turbulence::k_omega::StartLayer;
use crate::turbulence::production;
use crate::wall_distance::NearWalls;
use chromaflow_device::Team;

/// Why turbulence does without other steps.
pub(in crate::structured) const STEPS: &str = "on structured grids turbulence takes Newton-Krylov steps: leave out structured.method and \
                                               march.nonlinear, or set the latter to newton_krylov";

/// Why there is no other coupling.
const COUPLING: &str = "on structured grids the flow and the model have a matrix each: leave it out, or give the mesh as an unstructured one";

impl GridTurbulence {
    /// The model of a set-up, if it has one.
    ///
    /// # Errors
    /// [`FlowError::TurbulenceOption`] for other steps and what a model does not have; [`FlowError::Hybrid`]; [`FlowError::TurbulenceInviscid`]; [`FlowError::Value`].
    pub fn of(config: &StructuredConfig) -> Result<Option<Self>, FlowError> {
        let Some(turbulence) = &config.turbulence else { return Ok(None) };
        if config.equations != Equations::Laminar {
            return Err(FlowError::TurbulenceInviscid);
        }
        if !config.implicit.nonlinear.is_newton() {
            return Err(FlowError::TurbulenceOption { key: "model", problem: STEPS });
        }
        if turbulence.coupling == Coupling::Tight {
            return Err(FlowError::TurbulenceOption { key: "coupling", problem: COUPLING });
        }
        HybridForm::of(turbulence)?;
        crate::turbulence::check(turbulence, &config.time)?;
        let scale = config.gas.transport(&config.freestream).scale;
        Ok(Some(Self::new(turbulence, scale)))
    }

    /// Arrays of a block of so many cells, `all` of them with ghosts, everywhere as off walls.
    fn eddies(&self, count: usize, all: usize) -> Eddies {
        let nb = self.unknowns();
        let values: Vec<f64> = (0..nb).flat_map(|v| std::iter::repeat_n(self.inflow[v], all)).collect();
        let of = |two: usize, one: usize| if self.is_k_omega() { two } else { one };
        Eddies {
            last_good: values.clone(),
            values,
            levels: [Vec::new(), Vec::new()],
            nu: vec![1.0; of(0, all)],
            viscosity: vec![0.0; all],
            relation: Vec::new(),
            hybrid: None,
            diffusing: vec![0.0; of(MOST * all, 0)],
            distance: Vec::new(),
            production: Vec::new(),
            r: vec![0.0; nb * count],
            terms: vec![0.0; of(TERMS, 1) * count],
        }
    }
}

/// Gives blocks their turbulence at the beginning, and steady flow a turbulent layer along walls without slip.
pub(in crate::structured) fn start(
    turbulence: GridTurbulence,
    flow: (&StructuredConfig, Gas<f64>, &Transport<f64>),
    grid: &Grid,
    (patches, number): (&[PatchState], impl Fn(usize) -> usize),
    blocks: &mut [BlockState],
    team: &Team,
) -> Result<(), FlowError> {
    let (config, _, transport) = flow;
    let points = centers(blocks);
    let mesh = grid.to_mesh();
    let model = config.turbulence.as_ref().expect("a set-up of turbulence");
    let production = production(model, &mesh, points.iter().copied());
    let form = HybridForm::of(model)?;
    let walls = near_walls((grid, &mesh), patches, &points, team);
    let has_walls = walls.is_ok();
    let walls = match walls {
        // Of a hybrid without walls l is the grid's.
        Err(FlowError::NoWall { .. }) if form.is_some() => NearWalls::nowhere(points.len()),
        walls => walls?,
    };
    if config.unsteady().is_none() && has_walls {
        slow(flow, (&mesh, &walls), patches, &points, blocks);
    }
    let (length, mach) = (walls.surface.extent(), config.freestream.mach);
    let layer = match turbulence.model {
        Model::KOmega(model) => {
            Some(StartLayer::new(model, turbulence.inflow, length, mach, transport.scale))
        }
        Model::SpalartAllmaras(_) => None,
    };
    let mut first = 0;
    for (b, block) in blocks.iter_mut().enumerate() {
        let (count, len) = (block.cells.interior(), block.cells.len());
        let mut eddies = turbulence.eddies(count, len);
        eddies.distance = walls.nearest[first..first + count].iter().map(|near| near.distance).collect();
        if let Some(form) = form {
            let near = &walls.nearest[first..first + count];
            let across = model.grid_length == GridLength::AcrossVorticity;
            eddies.hybrid = Some(lengths::of_cells(form, across, &grid.blocks[number(b)], block, near));
        }
        eddies.production = production.get(first..first + count).unwrap_or_default().to_vec();
        if let Some(layer) = &layer {
            for (at, distance) in block.cells.places().zip(&eddies.distance) {
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
