#![allow(unsafe_code)]
//! Turbulence models on a GPU: further unknowns of each cell, in the same matrix. Twin: incompressible/turbulence/.
//!
//! | file | |
//! |---|---|
//! | `eddies.cuh` | what passes faces and the boundary, weights, updates: for the kernels of the flow |
//! | `eddies.cu` | laws of the wall, sources and viscosities of cells, the measure of residuals: a thread a row |
//!
//! The flow's kernels are compiled for the model; those of laminar flow have nothing of it.

#[cfg(test)]
mod tests;

use super::super::IncompressibleSystem;
use super::super::turbulence::{SHEAR, Turbulence};
use super::FlowCuda;
use super::arguments::{
    AddQuadratic, Eddies, FindLaws, FindTerms, MeasureResidual, OfEddies, OfLaws, OfQuadratic,
};
use crate::config::Quadratic;
use crate::gpu::{blocks, optional};
use crate::turbulence::cells::{GridTurbulence, Model};
use crate::turbulence::hybrid::cells::HybridCells;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Module, Read, Stream};
use chromaflow_device::{enqueue, kernel_arguments};
use std::sync::Arc;

/// What kernels are compiled for: nothing without a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Constants {
    /// Unknowns of the model.
    pub unknowns: usize,
    /// The variant of k and omega; of nut it is a number of the set-up.
    pub variant: i32,
    /// One and which hybrid.
    pub hybrid: i32,
    /// Laws of the wall: 1, with a blended omega 2.
    pub laws: i32,
    /// SA-RC.
    pub curved: i32,
    /// Quadratic constitutive relations: QCR2000 1, QCR2020 2.
    pub quadratic: i32,
}

impl Constants {
    pub fn of(turbulence: &Turbulence) -> Self {
        let model = &turbulence.model;
        let variant = if let Model::KOmega(of) = model.model { of.variant as i32 } else { 0 };
        let hybrid = turbulence.form.map_or(0, |form| 1 + form as i32);
        let laws = model.walls.map_or(0, |walls| 1 + i32::from(walls.blended));
        let (curved, quadratic) = (i32::from(model.curved), model.quadratic as i32);
        Self { unknowns: model.unknowns(), variant, hybrid, laws, curved, quadratic }
    }

    /// Numbers of cells and ghosts, and of rows, as `eddies.cuh` has them.
    fn shapes(self) -> [usize; 2] {
        match self.unknowns {
            1 if self.quadratic == Quadratic::Qcr2020 as i32 => [3, 2],
            1 => [2, 2],
            _ => [5, 5],
        }
    }
}

/// `Model` in cells.cuh.
pub(super) fn numbers(model: &GridTurbulence) -> [f64; 10] {
    let (variant, ambient) = match model.model {
        Model::SpalartAllmaras(sa) => (f64::from(sa.variant as i32), [0.0; 3]),
        Model::KOmega(of) => (0.0, [of.ambient_k, of.ambient_omega, of.roughness]),
    };
    let yes = |is: bool| f64::from(u8::from(is));
    let [first, second] = model.inflow;
    [
        first,
        second,
        variant,
        model.prandtl,
        yes(model.second_order),
        yes(model.rotating),
        model.cfl_ratio,
        ambient[0],
        ambient[1],
        ambient[2],
    ]
}

/// A model that the device has; its unknowns are among the flow's.
pub(super) struct EddiesCuda {
    kernels: OfEddies,
    /// Of laws of the wall, with the shear next to walls, `[SHEAR, rows]`.
    laws: Option<(OfLaws, DeviceBuffer<f64>)>,
    /// Of quadratic constitutive relations.
    quadratic: Option<OfQuadratic>,
    /// Whether residuals are measured by cells' own values.
    measured: bool,
    /// Numbers of cells that their neighbors look at.
    components: usize,
    coefficients: DeviceBuffer<f64>,
    /// Sources of rows and their derivatives.
    sources: DeviceBuffer<f64>,
    /// From the nearest wall, of rows.
    distance: DeviceBuffer<f64>,
    /// What production is multiplied by, of rows; empty for 1.
    production: DeviceBuffer<f64>,
    /// Of hybrids, what they take of the grid, `[numbers, rows]`, and whether there are ways to corners; else empty.
    lengths: DeviceBuffer<f64>,
    arms: bool,
}

impl EddiesCuda {
    /// The model of a solver; `cells` with ghosts.
    pub fn new(
        stream: &Stream,
        module: &Arc<Module>,
        host: &IncompressibleSystem,
        turbulence: &Turbulence,
        cells: usize,
    ) -> Result<Self, CudaError> {
        let space = &host.space;
        let [components, sources] = Constants::of(turbulence).shapes();
        let of_rows = |of: &dyn Fn(usize, usize) -> Option<f64>| {
            let blocks = space.blocks.iter().enumerate();
            let all = blocks.flat_map(|(b, block)| block.cells.places().filter_map(move |at| of(b, at)));
            stream.upload(&all.collect::<Vec<f64>>())
        };
        Ok(Self {
            kernels: OfEddies::of(module)?,
            laws: match turbulence.model.walls {
                None => None,
                Some(_) => Some((OfLaws::of(module)?, DeviceBuffer::zeroed(stream, SHEAR * space.rows)?)),
            },
            quadratic: match turbulence.model.quadratic {
                Quadratic::None => None,
                Quadratic::Qcr2000 | Quadratic::Qcr2020 => Some(OfQuadratic::of(module)?),
            },
            measured: turbulence.model.is_k_omega(),
            components,
            // Nothing is read of ghosts beyond boundaries but times zero.
            coefficients: DeviceBuffer::zeroed(stream, components * cells)?,
            sources: DeviceBuffer::zeroed(stream, sources * space.rows)?,
            distance: of_rows(&|b, at| Some(turbulence.blocks[b].distance[at]))?,
            lengths: stream.upload(&lengths(host, turbulence))?,
            arms: turbulence.blocks.iter().any(|of| of.grid.as_ref().is_some_and(|grid| grid.arms)),
            production: of_rows(&|b, at| turbulence.blocks[b].production.get(at).copied())?,
        })
    }
}

/// What a hybrid takes of the grid, `[numbers, rows]`.
fn lengths(host: &IncompressibleSystem, turbulence: &Turbulence) -> Vec<f64> {
    let blocks = || host.space.blocks.iter().zip(&turbulence.blocks);
    let width = turbulence.blocks.first().and_then(|of| of.grid.as_ref()).map_or(0, HybridCells::width);
    let of_cells = |c: usize| {
        blocks().flat_map(move |(block, of)| {
            let len = block.cells.len();
            let numbers = of.grid.as_ref().map_or(&[][..], |grid| &grid.numbers[c * len..(c + 1) * len]);
            block.cells.places().map(|at| numbers[at])
        })
    };
    (0..width).flat_map(of_cells).collect()
}

impl EddiesCuda {
    /// Numbers of cells that their neighbors look at.
    pub fn components(&self) -> usize {
        self.components
    }
}

impl FlowCuda {
    /// What the flow's kernels take of a model.
    pub(super) fn eddies(&self) -> Eddies {
        let Some(e) = &self.eddies else {
            return Eddies { coefficients: Read::NONE, sources: Read::NONE, distance: Read::NONE };
        };
        kernel_arguments! { Eddies {
            coefficients: &e.coefficients, sources: &e.sources, distance: &e.distance,
        } }
    }

    /// What laws of the wall give with the present velocities.
    pub(super) fn find_laws(&self) -> Result<(), GpuError> {
        let Some(e) = &self.eddies else { return Ok(()) };
        let Some((kernels, shear)) = &e.laws else { return Ok(()) };
        let (g, boundary) = (&self.grid, self.grid.boundary_rows());
        // SAFETY: faces' cells and ghosts are cells of the grid; no other face has this ghost, no other thread this row.
        Ok(unsafe {
            enqueue! { kernels.find_laws.launch(blocks(boundary, 128), 128), &self.stream, FindLaws {
                row: self.boundary_rows(), rows: g.rows as u32, q: &self.q, to: &e.coefficients, shear,
            } }
        }?)
    }

    /// Terms of all cells, coefficients with those beyond interfaces; ghosts of all unknowns are there.
    pub(super) fn find_eddies(&mut self) -> Result<(), GpuError> {
        let (g, stream, Some(e)) = (&self.grid, &self.stream, &mut self.eddies) else { return Ok(()) };
        // SAFETY: cells have neighbors or ghosts on all sides; coefficients of cells, sources of rows.
        unsafe {
            enqueue! { e.kernels.find_terms.launch(blocks(g.rows, 128), 128), stream, FindTerms {
                grid: g.rows(), fluid: &g.fluid, q: &self.q, distance: &e.distance,
                production: optional(&e.production), lengths: optional(&e.lengths),
                arms: u32::from(e.arms), shear: e.laws.as_ref().map(|(_, shear)| shear),
                coefficients: &e.coefficients, sources: &e.sources,
            } }?;
        }
        self.exchange.fill_numbers(stream, &mut e.coefficients, e.components)
    }

    /// Subtracts what a quadratic constitutive relation adds to the stress.
    pub(super) fn add_quadratic(&self) -> Result<(), GpuError> {
        let (g, Some(e)) = (&self.grid, &self.eddies) else { return Ok(()) };
        let Some(kernels) = &e.quadratic else { return Ok(()) };
        // SAFETY: cells have neighbors or ghosts on all sides; a thread has its own row.
        Ok(unsafe {
            enqueue! { kernels.add_quadratic.launch(blocks(g.rows, 128), 128), &self.stream, AddQuadratic {
                grid: g.rows(), q: &self.q, coefficients: &e.coefficients, residual: &self.residual,
            } }
        }?)
    }

    /// Measures the residual of the model's unknowns as the matrix of a state has them.
    pub(super) fn measure_eddies(&self, q: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        let (g, Some(e)) = (&self.grid, self.eddies.as_ref().filter(|e| e.measured)) else { return Ok(()) };
        // SAFETY: n values a row, and a cell.
        Ok(unsafe {
            enqueue! { e.kernels.measure_residual.launch(blocks(g.rows, 128), 128), &self.stream, MeasureResidual {
                grid: g.rows(), fluid: &g.fluid, q, residual: &self.residual,
            } }
        }?)
    }
}
