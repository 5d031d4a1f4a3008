//! Turbulence models on structured grids: unknowns of the cells beside the flow.
//!
//! | file | |
//! |---|---|
//! | `spalart_allmaras.rs` | what passes faces, sources, the residual: of nut |
//! | `k_omega.rs` | the same of k and omega |
//! | `lanes.rs` | what it takes of eight cells at a time |
//! | `ghosts.rs` | values beyond boundaries |
//! | `lengths.rs` | lengths of the grid, of hybrids |
//! | `links.rs` | what matrices are made of |
//! | `along.rs` | the derivative of what the flow takes along a direction |
//! | `stress.rs` | quadratic constitutive relations |
//! | `start.rs` | from a set-up to the state at the beginning |
//! | `output.rs` | fields, friction, y+ |
//!
//! **Space**, of cell i with neighbors j, phi nut, k or omega: m what leaves through their face, of nut volume by the mean of both velocities, of k
//! and omega mass by the mean of both mass fluxes,
//! ```text
//! R_i = sum of min(m, 0) (phi_j - phi_i) - Gamma grad phi . n,  less V_i times the source
//! ```
//! a constant phi stays, whatever the flow does. Of nut Gamma takes |grad nut|^2 along and is the cell's own, see [`sa_diffusivity`]; of k and omega it is
//! the mean of both cells'. The gradient is that of the difference across the face, and with all viscous terms those along the other axes, which of k and omega
//! are bounded as [`skew_of_positive`] has it. Vorticity, strain and cross diffusion are those of the cell's own gradient, of means across its faces.
//!
//! **Boundaries**: at walls without slip nut = 0, k = 0 and Menter's omega, [`k_omega_wall`], by the center of the cell next to it and the viscosity at the wall;
//! what enters through open boundaries has the value of the free stream; nothing diffuses through open boundaries, planes of symmetry and slip walls.
//!
//! [`sa_diffusivity`]: crate::turbulence::spalart_allmaras::sa_diffusivity
//! [`skew_of_positive`]: crate::coupled::skew_of_positive
//! [`k_omega_wall`]: crate::turbulence::k_omega::k_omega_wall

mod along;
mod ghosts;
mod k_omega;
mod lanes;
mod lengths;
mod links;
mod output;
mod spalart_allmaras;
mod start;
mod stress;

pub(super) use along::{Way, derivative, direct};
pub(super) use links::Links;
pub(super) use start::{STEPS, start};
pub(super) use stress::add_quadratic;

use super::StructuredSystem;
use super::block::BlockState;
use super::boundary::PatchState;
use super::config::Scheme;
use super::residual::Physics;
use crate::config::Quadratic;
use crate::coupled::{rate_of_carried, rate_slope_of_carried};
use crate::march::Bdf;
use crate::ranks::BlockExchange;
use crate::turbulence::cells::MOST;
pub(super) use crate::turbulence::cells::{GridTurbulence, Model};
use crate::turbulence::hybrid::HybridGrid;
use chromaflow_device::Team;
use std::ops::Range;

/// Weight of second-order advection's extrapolation where the flow's scheme has none.
const KAPPA: f64 = 1.0 / 3.0;

/// Weight of the extrapolation of advection of second order.
pub(super) fn kappa(physics: &Physics) -> f64 {
    if let Scheme::Roe { kappa, .. } = physics.scheme { kappa } else { KAPPA }
}

/// The turbulence of a block. Arrays with ghosts lie as [`Cells`](crate::grid::Cells) has it, others have entries for its own cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Eddies {
    /// nut over the kinematic viscosity of the free stream, or k and omega, with ghosts: `[unknowns, cells]`.
    pub values: Vec<f64>,
    /// The last good ones.
    pub last_good: Vec<f64>,
    /// Those of earlier time levels, newest first; empty in steady runs.
    pub levels: [Vec<f64>; 2],
    /// With nut: kinematic viscosity over that of the free stream, with ghosts.
    pub nu: Vec<f64>,
    /// Eddy viscosity over rho_inf a_inf and the grid's length unit, with ghosts.
    pub viscosity: Vec<f64>,
    /// Of QCR2020, fw as its constants have it, with those beyond interfaces; else empty.
    pub relation: Vec<f64>,
    /// Of hybrids with large eddy simulation, lengths of the grid by numbers of cells.
    pub hybrid: Option<HybridGrid>,
    /// What k and omega diffuse by, with ghosts: `[2, cells]`.
    pub diffusing: Vec<f64>,
    /// From the nearest wall without slip.
    pub distance: Vec<f64>,
    /// What production is multiplied by, of the same cells; empty for 1.
    pub production: Vec<f64>,
    /// Residual, then update: `[rows, unknowns, ni]`.
    pub r: Vec<f64>,
    /// The derivative of nut's source, `[rows, ni]`; of k and omega see [`lanes::TERMS`].
    pub terms: Vec<f64>,
}

impl Eddies {
    /// The present values are those of all earlier times.
    fn start_here(&mut self) {
        self.last_good.copy_from_slice(&self.values);
        for level in self.levels.iter_mut().filter(|level| !level.is_empty()) {
            level.copy_from_slice(&self.values);
        }
    }

    /// The present values become those of the last time level.
    pub fn next_level(&mut self) {
        if !self.levels[0].is_empty() {
            self.levels.swap(0, 1);
            self.levels[0].copy_from_slice(&self.values);
        }
    }
}

/// Values beyond boundaries and interfaces, and with them viscosities of all cells and ghosts; the flow's ghosts are there.
pub(super) fn prepare(
    team: &Team,
    physics: &Physics,
    turbulence: GridTurbulence,
    patches: &[PatchState],
    blocks: &mut [BlockState],
    exchange: &BlockExchange,
) {
    // Twice, for ghosts beyond edges, as the flow's.
    for _ in 0..2 {
        for patch in patches {
            ghosts::fill(physics, turbulence, patch, &mut blocks[patch.window.block]);
        }
        fill_interfaces(exchange, blocks.iter_mut().map(|b| &mut b.eddies.values), turbulence.unknowns());
    }
    match turbulence.model {
        Model::SpalartAllmaras(sa) => {
            spalart_allmaras::viscosities(team, physics, sa, blocks);
            if turbulence.quadratic == Quadratic::Qcr2020 {
                stress::find_relation(team, physics, turbulence, patches, blocks, exchange);
            }
        }
        Model::KOmega(model) => {
            k_omega::prepare(team, physics, (model, turbulence), patches, blocks, exchange);
        }
    }
}

/// Fills the ghosts beyond interfaces of an array of each block.
fn fill_interfaces<'a>(
    exchange: &BlockExchange,
    fields: impl Iterator<Item = &'a mut Vec<f64>>,
    components: usize,
) {
    if !exchange.is_empty() {
        let mut fields: Vec<&mut [f64]> = fields.map(|field| &mut field[..]).collect();
        exchange.fill(&mut fields, components);
    }
}

/// What leaves each cell less what its source brings, in unsteady runs with the change in time, into `eddies.r`.
pub(super) fn residual(
    team: &Team,
    physics: &Physics,
    turbulence: GridTurbulence,
    patches: &[PatchState],
    blocks: &mut [BlockState],
    bdf: Option<Bdf>,
) {
    match turbulence.model {
        Model::SpalartAllmaras(sa) => {
            for block in &mut *blocks {
                spalart_allmaras::residual(team, physics, (sa, turbulence), patches, block);
            }
        }
        Model::KOmega(model) => k_omega::residual(team, physics, (model, turbulence), patches, blocks),
    }
    if let Some(bdf) = bdf {
        for block in blocks {
            block.add_turbulence_rate(turbulence, bdf);
        }
    }
}

/// Roundings of a sum of fluxes, each of the size of the value times the speed of sound times the area.
const ROUND_OFF: f64 = 4.0 * f64::EPSILON;

impl StructuredSystem {
    /// Sum of R^2/V of the model's unknowns over these blocks, R over what its cell weighs; nothing without a model.
    pub(super) fn turbulence_squares(&self, blocks: Range<usize>) -> Vec<f64> {
        let Some(turbulence) = self.physics.turbulence else { return Vec::new() };
        let squares = |block: &BlockState, v: usize| {
            let (len, r) = (block.cells.len(), block.turbulence_residual(v, turbulence.unknowns()));
            let of = block.cells.places().zip(r).map(|(at, r)| {
                let r = r / turbulence.weight(v, block.eddies.values[v * len + at]);
                r * r / block.metrics.volume[at]
            });
            of.sum::<f64>()
        };
        let sum = |v| self.blocks[blocks.clone()].iter().map(|block| squares(block, v)).sum();
        (0..turbulence.unknowns()).map(sum).collect()
    }

    /// The norms of residuals of the model that are nothing but rounding, of these blocks' part of them.
    pub(super) fn turbulence_round_off(&self, blocks: Range<usize>) -> Vec<f64> {
        let Some(turbulence) = self.physics.turbulence else { return Vec::new() };
        let surface = |block: &BlockState, at: usize| -> f64 {
            let faces =
                (0..3).filter(|&d| block.active[d]).flat_map(|d| [(d, at), (d, at + block.cells.stride[d])]);
            faces.map(|(d, face)| block.metrics.face(d, face).iter().map(|n| n * n).sum::<f64>().sqrt()).sum()
        };
        let square = |block: &BlockState| {
            let of = block.cells.places().map(|at| surface(block, at).powi(2) / block.metrics.volume[at]);
            of.sum::<f64>()
        };
        let rate = (self.blocks[blocks].iter().map(square).sum::<f64>() / self.volume).sqrt();
        vec![ROUND_OFF * rate; turbulence.unknowns()]
    }
}

impl BlockState {
    /// The number of a cell of the block's own.
    pub fn number(&self, [i, j, k]: [usize; 3]) -> usize {
        let [ni, nj, _] = self.cells.count;
        (k * nj + j) * ni + i
    }

    /// An unknown of the model at a place.
    pub fn turbulence(&self, v: usize, at: usize) -> f64 {
        self.eddies.values[v * self.cells.len() + at]
    }

    /// Where the residual of the first of `nb` unknowns lies of the cell of this number; the next ones follow `ni` apart.
    pub fn turbulence_residual_at(&self, number: usize, nb: usize) -> usize {
        let ni = self.cells.count[0];
        number / ni * nb * ni + number % ni
    }

    /// Residuals, or updates, of one of `nb` unknowns in the order of [`Cells::places`](crate::grid::Cells::places).
    pub fn turbulence_residual(&self, v: usize, nb: usize) -> impl Iterator<Item = f64> {
        let ni = self.cells.count[0];
        self.eddies.r.chunks_exact(ni).skip(v).step_by(nb).flatten().copied()
    }

    /// Densities of earlier time levels at a place, as the change of unknowns in time has them: nut is one per volume, k and omega are per mass.
    fn earlier_densities(&self, turbulence: GridTurbulence, at: usize) -> [f64; 2] {
        if turbulence.is_k_omega() { [0, 1].map(|l: usize| self.levels[l][at]) } else { [1.0; 2] }
    }

    /// The derivative by an unknown of its change in the cell at a place.
    pub fn turbulence_time_slope(&self, turbulence: GridTurbulence, bdf: Bdf, at: usize) -> f64 {
        let [_, last, before] = bdf.factors();
        let slope = rate_slope_of_carried(&[last, before], &self.earlier_densities(turbulence, at));
        self.metrics.volume[at] * slope
    }

    /// Adds the change in time to the residual.
    fn add_turbulence_rate(&mut self, turbulence: GridTurbulence, bdf: Bdf) {
        let ([_, last, before], nb, len) = (bdf.factors(), turbulence.unknowns(), self.cells.len());
        for (number, at) in self.cells.places().enumerate() {
            let densities = self.earlier_densities(turbulence, at);
            for v in 0..nb {
                let earlier = [0, 1].map(|l: usize| self.eddies.levels[l][v * len + at]);
                let rate = rate_of_carried(&[last, before], &densities, self.turbulence(v, at), &earlier);
                let place = self.turbulence_residual_at(number, nb) + v * self.cells.count[0];
                self.eddies.r[place] += self.metrics.volume[at] * rate;
            }
        }
    }

    /// Whether the model's unknowns at a place are in their range.
    pub fn has_good_turbulence(&self, turbulence: Option<GridTurbulence>, at: usize) -> bool {
        turbulence.is_none_or(|t| (0..t.unknowns()).all(|v| t.is_good(v, self.turbulence(v, at))))
    }

    /// Takes the update, of models without negative values cut so that a part of each is left. The numbers of cells cut, and of cells out of range.
    pub fn update_turbulence(&mut self, turbulence: GridTurbulence) -> [usize; 2] {
        let (places, len, nb) = (self.cells.places(), self.cells.len(), turbulence.unknowns());
        self.eddies.last_good.copy_from_slice(&self.eddies.values);
        let (mut cut, mut bad) = (0, 0);
        for (number, at) in places.enumerate() {
            let (mut less, mut good) = (false, true);
            let from = self.turbulence_residual_at(number, nb);
            for v in 0..nb {
                let value = &mut self.eddies.values[v * len + at];
                let x = self.eddies.r[from + v * self.cells.count[0]];
                let new = turbulence.updated(*value, x);
                less |= turbulence.is_cut(*value, x, new);
                good &= turbulence.is_good(v, new);
                *value = new;
            }
            cut += usize::from(less);
            bad += usize::from(!good);
        }
        [cut, bad]
    }
}
