//! The Spalart-Allmaras model on structured grids: one unknown a cell beside the flow.
//!
//! | file | |
//! |---|---|
//! | `cells.rs` | what passes faces, sources, the residual |
//! | `start.rs` | from a set-up to the state at the beginning |
//! | `output.rs` | fields, friction, y+ |
//!
//! **Space**, of cell i with neighbors j: U the volume that leaves through their face, by the mean of both velocities,
//! ```text
//! R_i = sum of min(U, 0) (nut_j - nut_i) - Gamma_i grad nut . n,  less V_i times the source
//! ```
//! a constant nut stays, whatever the flow does. Gamma_i takes |grad nut|^2 along and is the cell's own, see [`sa_diffusivity`]. The gradient is
//! that of the difference across the face, and with all viscous terms those along the other axes. The vorticity is that of the cell's own
//! gradient, of means across its faces.
//!
//! **Boundaries**: nut = 0 at walls without slip; what enters through open boundaries has the value of the free stream; nothing diffuses through
//! open boundaries, planes of symmetry and slip walls.
//!
//! [`sa_diffusivity`]: crate::turbulence::spalart_allmaras::sa_diffusivity

mod cells;
mod output;
mod start;

pub(super) use cells::{SaTerms, residual};
pub(super) use start::{STEPS, start};

use super::StructuredSystem;
use super::block::BlockState;
use super::boundary::PatchState;
use super::residual::Physics;
use crate::bc::{ConditionClass, condition_class};
use crate::gas::{temperature, viscosity};
use crate::grid::Side;
use crate::parallel;
use crate::ranks::BlockExchange;
use crate::turbulence::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_kept, sa_viscosities};
use chromaflow_device::Team;
use std::ops::Range;

/// The model of a set-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct GridSa {
    pub model: SpalartAllmaras<f64>,
    /// nut of what enters.
    pub inflow: f64,
    /// The turbulent Prandtl number.
    pub prandtl: f64,
    /// Whether advection is of second order.
    pub second_order: bool,
    /// SA-R.
    pub rotating: bool,
    /// CFL number over the flow's.
    pub cfl_ratio: f64,
}

/// The turbulence of a block. Arrays with ghosts lie as [`Cells`](crate::grid::Cells) has it, others `[rows, ni]`.
#[derive(Clone, Debug, Default)]
pub(super) struct Eddies {
    /// The model's variable over the kinematic viscosity of the free stream, with ghosts.
    pub nut: Vec<f64>,
    /// Kinematic viscosity over the same, with ghosts.
    pub nu: Vec<f64>,
    /// Eddy viscosity over rho_inf a_inf and the grid's length unit, with ghosts.
    pub viscosity: Vec<f64>,
    /// The last good nut.
    pub last_good: Vec<f64>,
    /// From the nearest wall without slip.
    pub distance: Vec<f64>,
    /// What production is multiplied by, of the same cells; empty for 1.
    pub production: Vec<f64>,
    /// Residual, then update.
    pub r: Vec<f64>,
    /// The source's derivative by nut.
    pub slope: Vec<f64>,
}

/// nut beyond boundaries and interfaces, and with it viscosities of all cells and ghosts; the flow's ghosts are there.
pub(super) fn prepare(
    team: &Team,
    physics: &Physics,
    sa: GridSa,
    patches: &[PatchState],
    blocks: &mut [BlockState],
    exchange: &BlockExchange,
) {
    // Twice, for ghosts beyond edges, as the flow's.
    for _ in 0..2 {
        for patch in patches {
            fill_ghosts(sa, patch, &mut blocks[patch.window.block]);
        }
        if !exchange.is_empty() {
            let mut fields: Vec<&mut [f64]> = blocks.iter_mut().map(|b| &mut b.eddies.nut[..]).collect();
            exchange.fill(&mut fields, 1);
        }
    }
    let Some(transport) = physics.transport else { return };
    for block in blocks {
        let (len, w, Eddies { nut, nu, viscosity: eddies, .. }) =
            (block.cells.len(), &block.w, &mut block.eddies);
        parallel::rows2(team, len, (1, nu), (1, eddies), |cells, nu, eddies| {
            for ((at, nu), eddies) in cells.zip(nu).zip(eddies) {
                let state = std::array::from_fn(|c| w[c * len + at]);
                let mu = viscosity(transport, temperature(physics.gas, &state));
                [*nu, *eddies] = sa_viscosities(sa.model, state[0], mu, nut[at]);
            }
        });
    }
}

/// nut beyond a patch: mirrored with the other sign at walls without slip, mirrored at other closed boundaries; at open ones that of the free stream
/// where gas enters, else the cell's own.
fn fill_ghosts(sa: GridSa, patch: &PatchState, block: &mut BlockState) {
    let Side { axis, high } = patch.window.side;
    let s = block.cells.stride[axis];
    let class = condition_class(&patch.condition);
    for &(at, _) in &patch.wide {
        let beyond = |steps: usize| if high { at + steps * s } else { at - steps * s };
        let nut = &block.eddies.nut;
        let inner = if block.cells.count[axis] == 1 { at } else { 2 * at - beyond(1) };
        let own = [nut[at], nut[inner]];
        let ghosts = match class {
            ConditionClass::NoSlip => own.map(|nut| -nut),
            ConditionClass::Slip => own,
            ConditionClass::Open => {
                let n = block.metrics.face(axis, if high { beyond(1) } else { at });
                let through = cells::passing(block, at, beyond(1), &n);
                let leaves = if high { through >= 0.0 } else { through <= 0.0 };
                [if leaves { own[0] } else { sa.inflow }; 2]
            }
        };
        (block.eddies.nut[beyond(1)], block.eddies.nut[beyond(2)]) = (ghosts[0], ghosts[1]);
    }
}

/// Roundings of a sum of fluxes, each of the size of the value times the speed of sound times the area.
const ROUND_OFF: f64 = 4.0 * f64::EPSILON;

impl StructuredSystem {
    /// Sum of R^2/V of the model's variable over these blocks; nothing without a model.
    pub(super) fn turbulence_squares(&self, blocks: Range<usize>) -> Vec<f64> {
        if self.physics.turbulence.is_none() {
            return Vec::new();
        }
        let squares = |block: &BlockState| {
            let of = block.places().zip(&block.eddies.r).map(|(at, r)| r * r / block.metrics.volume[at]);
            of.sum::<f64>()
        };
        vec![self.blocks[blocks].iter().map(squares).sum()]
    }

    /// The norm of a residual of the model that is nothing but rounding, of these blocks' part of it.
    pub(super) fn turbulence_round_off(&self, blocks: Range<usize>) -> Vec<f64> {
        let Some(sa) = self.physics.turbulence else { return Vec::new() };
        let surface = |block: &BlockState, at: usize| -> f64 {
            let faces =
                (0..3).filter(|&d| block.active[d]).flat_map(|d| [(d, at), (d, at + block.cells.stride[d])]);
            faces.map(|(d, face)| block.metrics.face(d, face).iter().map(|n| n * n).sum::<f64>().sqrt()).sum()
        };
        let square = |block: &BlockState| {
            let of = block.places().map(|at| surface(block, at).powi(2) / block.metrics.volume[at]);
            of.sum::<f64>()
        };
        let rate = (self.blocks[blocks].iter().map(square).sum::<f64>() / self.volume).sqrt();
        vec![ROUND_OFF * sa.inflow * rate]
    }
}

impl BlockState {
    /// Places of the block's own cells, i fastest.
    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let ni = self.cells.count[0];
        self.cells.rows().flat_map(move |row| row..row + ni)
    }

    /// nut <- nut - x, of models without negative values a hundredth of it at least. The numbers of cells cut, and of cells without a number.
    pub fn update_turbulence(&mut self, sa: GridSa) -> [usize; 2] {
        let places = self.places();
        let Eddies { nut, last_good, r, .. } = &mut self.eddies;
        last_good.copy_from_slice(nut);
        let (mut cut, mut bad) = (0, 0);
        for (at, x) in places.zip(r.iter()) {
            let whole = nut[at] - x;
            let negative = sa.model.variant == SaVariant::Negative;
            nut[at] = if negative { whole } else { sa_kept(nut[at], *x) };
            cut += usize::from(nut[at] > whole);
            bad += usize::from(!nut[at].is_finite());
        }
        [cut, bad]
    }
}
