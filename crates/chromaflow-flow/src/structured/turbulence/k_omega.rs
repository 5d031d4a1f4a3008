//! k and omega: sources and viscosities of cells, the residual, what its matrix is made of.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::residual::Physics;
use super::ghosts::{Own, Values, molecular, places, wall_omega};
use super::lanes::{Cells, SOURCES, TERMS};
use super::links::{Link, Outside};
use super::{GridTurbulence, MOST, fill_interfaces};
use crate::bc::{ConditionClass, condition_class};
use crate::coupled::flux_entering;
use crate::ranks::BlockExchange;
use crate::real::Real;
use crate::turbulence::k_omega::{KOmega, k_omega_slope, k_resolving};
use chromaflow_device::Team;

/// Terms of all cells, viscosities with those beyond boundaries and interfaces; the ghosts of the flow, of k and of omega are there.
pub(super) fn prepare(
    team: &Team,
    physics: &Physics,
    models: (KOmega<f64>, GridTurbulence),
    patches: &[PatchState],
    blocks: &mut [BlockState],
    exchange: &BlockExchange,
) {
    for block in &mut *blocks {
        let mut terms = std::mem::take(&mut block.eddies.terms);
        Cells::plain(physics, models, block).find_terms(team, &mut terms);
        block.eddies.terms = terms;
        let (cells, eddies) = (block.cells, &mut block.eddies);
        scatter(cells, &eddies.terms, &mut eddies.viscosity, &mut eddies.diffusing);
    }
    fill_interfaces(exchange, blocks.iter_mut().map(|b| &mut b.eddies.diffusing), MOST);
    // Twice, for ghosts beyond edges.
    for _ in 0..2 {
        for patch in patches {
            let block = &mut blocks[patch.window.block];
            let wall = condition_class(&patch.condition) == ConditionClass::NoSlip;
            for &(at, _) in &patch.wide {
                let [first, _] = places(patch, block, at);
                let own = block.eddies.viscosity[at];
                // Nothing on walls.
                block.eddies.viscosity[first] = if wall { -own } else { own };
            }
        }
        fill_interfaces(exchange, blocks.iter_mut().map(|b| &mut b.eddies.viscosity), 1);
    }
}

/// Viscosities from terms to where they have ghosts.
pub(super) fn scatter(cells: crate::grid::Cells, terms: &[f64], eddies: &mut [f64], diffusing: &mut [f64]) {
    let (ni, len) = (cells.count[0], cells.len());
    for (start, terms) in cells.rows().zip(terms.chunks_exact(TERMS * ni)) {
        eddies[start..start + ni].copy_from_slice(&terms[..ni]);
        for v in 0..MOST {
            diffusing[v * len + start..][..ni].copy_from_slice(&terms[(1 + v) * ni..][..ni]);
        }
    }
}

/// What leaves each cell less what its sources bring, into `eddies.r`.
pub(super) fn residual(
    team: &Team,
    physics: &Physics,
    models: (KOmega<f64>, GridTurbulence),
    patches: &[PatchState],
    blocks: &mut [BlockState],
) {
    for (b, block) in blocks.iter_mut().enumerate() {
        let mut r = std::mem::take(&mut block.eddies.r);
        Cells::plain(physics, models, block).find_residual(team, &mut r);
        for patch in patches.iter().filter(|patch| patch.window.block == b) {
            through_boundary(physics, models, patch, block, &Own(block, MOST), |at, leaves| r[at] += leaves);
        }
        block.eddies.r = r;
    }
}

/// Calls `add` with what leaves through each face of a patch of k and of omega, and where its residual lies.
pub(super) fn through_boundary<N: Values>(
    physics: &Physics,
    (model, turbulence): (KOmega<f64>, GridTurbulence),
    patch: &PatchState,
    block: &BlockState,
    values: &N,
    mut add: impl FnMut(usize, N::T),
) {
    let class = condition_class(&patch.condition);
    if class == ConditionClass::Slip {
        return;
    }
    for (cell, _) in &patch.faces {
        let at = block.cells.inside(*cell);
        let ([beyond, _], n) = (places(patch, block, at), patch.area(block, at));
        let own = values.turbulence(at);
        let leaves = if class == ConditionClass::Open {
            let mass = mass(values, [at, beyond], &n);
            [0, 1].map(|v| flux_entering(mass, own[v], N::T::c(turbulence.inflow[v])))
        } else {
            let spread = molecular(physics, &values.state(at)) * N::T::c(to_wall(block, at, &n));
            let omega = wall_omega(physics, model, block, values, [at, beyond]);
            [spread * own[0], spread * (own[1] - omega)]
        };
        let from = block.turbulence_residual_at(block.number(*cell), MOST);
        (0..MOST).for_each(|v| add(from + v * block.cells.count[0], leaves[v]));
    }
}

/// Mass through the area `n` between two cells.
fn mass<N: Values>(values: &N, places: [usize; 2], n: &[f64; 3]) -> N::T {
    let [wa, wb] = places.map(|at| values.state(at));
    let mut mass = N::T::c(0.0);
    for c in 0..3 {
        mass += N::T::c(0.5) * (wa[0] * wa[1 + c] + wb[0] * wb[1 + c]) * N::T::c(n[c]);
    }
    mass
}

/// Area over the distance from a cell to the wall at its face `n`, half a cell away.
fn to_wall(block: &BlockState, at: usize, n: &[f64; 3]) -> f64 {
    2.0 * n.iter().map(|n| n * n).sum::<f64>() / block.metrics.volume[at]
}

/// The matrix's part of the model on a block.
#[derive(Clone, Copy)]
pub(in crate::structured) struct TwoTerms<'a> {
    pub(super) physics: &'a Physics,
    pub(super) block: &'a BlockState,
    pub(super) patches: &'a [PatchState],
}

impl TwoTerms<'_> {
    /// See [`Links::link`](super::Links::link).
    pub fn link(&self, cell: [usize; 3], at: usize, side: usize) -> Option<Link> {
        let Outside { beyond, n, patch } = Outside::of(self.block, self.patches, cell, at, side)?;
        let (values, volume) = (Own(self.block, MOST), &self.block.metrics.volume);
        Some(match patch.map(|patch| condition_class(&patch.condition)) {
            Some(ConditionClass::Slip) => Link::default(),
            Some(ConditionClass::Open) => {
                Link { passing: mass(&values, [at, beyond], &n), ..Link::default() }
            }
            Some(ConditionClass::NoSlip) => {
                let spread = molecular(self.physics, &values.state(at)) * to_wall(self.block, at, &n);
                Link { passing: 0.0, spread: [spread; MOST] }
            }
            None => {
                let square = n.iter().map(|n| n * n).sum::<f64>();
                let across = square / (0.5 * (volume[at] + volume[beyond]));
                let (diffusing, len) = (&self.block.eddies.diffusing, self.block.cells.len());
                let spread =
                    |v: usize| 0.5 * (diffusing[v * len + at] + diffusing[v * len + beyond]) * across;
                Link { passing: mass(&values, [at, beyond], &n), spread: [spread(0), spread(1)] }
            }
        })
    }

    /// Sources of a cell and their derivatives.
    fn sources(&self, number: usize) -> [f64; TERMS - SOURCES] {
        let ni = self.block.cells.count[0];
        let from = number / ni * TERMS * ni + number % ni;
        std::array::from_fn(|c| self.block.eddies.terms[from + (SOURCES + c) * ni])
    }

    /// See [`Links::slope`](super::Links::slope).
    pub fn slope(&self, number: usize) -> [[f64; MOST]; MOST] {
        let [_, _, by @ ..] = self.sources(number);
        k_omega_slope(&by)
    }

    /// See [`Links::resolving`](super::Links::resolving): k grows no faster than its source alone makes it.
    pub fn resolving(&self, number: usize, at: usize) -> f64 {
        let r = self.block.eddies.r[self.block.turbulence_residual_at(number, MOST)];
        let content = self.block.metrics.volume[at] * self.block.turbulence(0, at).max(f64::MIN_POSITIVE);
        self.block.metrics.volume[at] * k_resolving(-r / content, self.sources(number)[2])
    }
}
