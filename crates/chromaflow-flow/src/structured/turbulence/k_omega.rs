//! k and omega: sources and viscosities of cells, the residual, what its matrix is made of.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::boundary::laws::law_beside;
use super::super::residual::Physics;
use super::ghosts::{Own, Values, at_wall, molecular, places};
use super::lanes::{Cells, SOURCES, TERMS};
use super::links::{Link, Outside};
use super::{GridTurbulence, MOST, fill_interfaces};
use crate::bc::{ConditionClass, condition_class};
use crate::coupled::flux_entering;
use crate::gas::Transport;
use crate::parallel;
use crate::ranks::BlockExchange;
use crate::real::Real;
use crate::turbulence::hybrid::sst_shortened;
use crate::turbulence::k_omega::{
    KOmega, k_omega_blending, k_omega_slope, k_omega_terms, k_omega_terms_of_hybrid, k_resolving,
};
use crate::wall_law::{LawPlace, law_gradient};
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
        if block.eddies.hybrid.is_none() {
            Cells::plain(physics, models, block).find_terms(team, &mut terms);
        }
        terms_one_by_one(team, physics, models, patches, block, &Own(block, MOST), &mut terms);
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

/// Writes the terms of cells that are not like others: those next to walls with a law, which see the law's shear, and of hybrids all.
pub(super) fn terms_one_by_one<N: Values + Sync>(
    team: &Team,
    physics: &Physics,
    (model, turbulence): (KOmega<f64>, GridTurbulence),
    patches: &[PatchState],
    block: &BlockState,
    values: &N,
    terms: &mut [f64],
) {
    let Some(transport) = &physics.transport else { return };
    let (hybrid, [ni, nj, _]) = (block.eddies.hybrid.as_ref(), block.cells.count);
    if turbulence.walls.is_none() && hybrid.is_none() {
        return;
    }
    let of_cell = |cell: [usize; 3]| -> Option<[N::T; 10]> {
        let (at, number) = (block.cells.inside(cell), block.number(cell));
        let law = turbulence.walls.and_then(|_| law_beside(patches, block, cell, at));
        if law.is_none() && hybrid.is_none() {
            return None;
        }
        let w = values.state(at);
        let gradients = sheared(physics, transport, law, block, at, values);
        let [u, v, s, ..] = gradients;
        let (gas, own) = ([w[0], molecular(physics, &w)], values.turbulence(at));
        let distance = N::T::c(block.eddies.distance[number]);
        let share = N::T::c(block.eddies.production.get(number).copied().unwrap_or(1.0));
        Some(match hybrid {
            None => k_omega_terms(model.lift(), &gas, distance, share, &own, &gradients),
            Some(grid) => {
                let lengths = grid.at(number, &[u, v, s].map(|row| row.map(N::plain))).map(N::T::c);
                let (model, form) = (model.lift(), grid.form());
                k_omega_terms_of_hybrid(model, form, &gas, distance, share, &own, &gradients, &lengths).0
            }
        })
    };
    parallel::rows(team, block.rows(), TERMS * ni, terms, |rows, out| {
        for (row, out) in rows.zip(out.chunks_exact_mut(TERMS * ni)) {
            for i in 0..ni {
                let Some(found) = of_cell([i, row % nj, row / nj]) else { continue };
                (0..TERMS).for_each(|c| out[c * ni + i] = N::kept(found[c]));
            }
        }
    });
}

/// Of a cell of a hybrid, its length over that of RANS, and the share of large eddy simulation.
pub(super) fn hybrid_at(
    physics: &Physics,
    (model, turbulence): (KOmega<f64>, GridTurbulence),
    patches: &[PatchState],
    block: &BlockState,
    cell: [usize; 3],
) -> [f64; 2] {
    let (Some(transport), Some(grid)) = (&physics.transport, &block.eddies.hybrid) else { return [1.0, 0.0] };
    let (at, number, values) = (block.cells.inside(cell), block.number(cell), Own(block, MOST));
    let law = turbulence.walls.and_then(|_| law_beside(patches, block, cell, at));
    let [u, v, s, of_k, of_omega] = sheared(physics, transport, law, block, at, &values);
    let (w, own, distance) = (values.state(at), values.turbulence(at), block.eddies.distance[number]);
    let (gas, velocity) = ([w[0], molecular(physics, &w)], [u, v, s]);
    let [blend, _] = k_omega_blending(model, &gas, distance, &own, &[of_k, of_omega]);
    let (eddy, lengths) = (block.eddies.viscosity[at], grid.at(number, &velocity));
    let [ratio, share] = sst_shortened(grid.form(), blend, &gas, eddy, distance, &own, &lengths, &velocity);
    [1.0 / ratio, share]
}

/// [`gradients`] of a cell, with the shear of the law that a wall next to it has.
fn sheared<N: Values>(
    physics: &Physics,
    transport: &Transport<f64>,
    law: Option<LawPlace<f64>>,
    block: &BlockState,
    at: usize,
    values: &N,
) -> [[N::T; 3]; 5] {
    let [u, v, s, of_k, of_omega] = gradients(block, at, values);
    let Some(place) = law else { return [u, v, s, of_k, of_omega] };
    let (gas, w) = (physics.gas.lift(), values.state(at));
    let [u, v, s] = law_gradient(gas, transport.lift(), place.lift(), &w, &[u, v, s]);
    [u, v, s, of_k, of_omega]
}

/// d(u, v, w, k, omega)_i / dx_k of a cell, from the means of both cells at each face.
fn gradients<N: Values>(block: &BlockState, at: usize, values: &N) -> [[N::T; 3]; 5] {
    let mut out = [[N::T::c(0.0); 3]; 5];
    for axis in (0..3).filter(|&axis| block.active[axis]) {
        let s = block.cells.stride[axis];
        let numbers = |at: usize| {
            let ([_, u, v, w, _], [k, omega]) = (values.state(at), values.turbulence(at));
            [u, v, w, k, omega]
        };
        let (before, after) = (numbers(at - s), numbers(at + s));
        let (low, high) = (block.metrics.face(axis, at), block.metrics.face(axis, at + s));
        for i in 0..5 {
            for k in 0..3 {
                let scale = N::T::c(0.25 * (low[k] + high[k]) / block.metrics.volume[at]);
                out[i][k] += scale * (after[i] - before[i]);
            }
        }
    }
    out
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
    for (cell, x) in &patch.faces {
        let at = block.cells.inside(*cell);
        let ([beyond, _], n) = (places(patch, block, at), patch.area(block, at));
        let own = values.turbulence(at);
        let leaves = if class == ConditionClass::Open {
            let mass = mass(values, [at, beyond], &n);
            [0, 1].map(|v| flux_entering(mass, own[v], N::T::c(turbulence.inflow[v])))
        } else {
            let wall = at_wall(physics, (model, turbulence), patch, block, values, ([at, beyond], x));
            let spread = to_wall(physics, patch, block, values, at, &n);
            [0, 1].map(|v| spread[v] * (own[v] - wall[v]))
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

/// What k and omega diffuse by to the wall at a cell's face `n` times the area over the distance, half a cell: of the gas alone within the viscous layer, of the cell
/// where a law of the wall holds.
fn to_wall<N: Values>(
    physics: &Physics,
    patch: &PatchState,
    block: &BlockState,
    values: &N,
    at: usize,
    n: &[f64; 3],
) -> [N::T; MOST] {
    let near = 2.0 * n.iter().map(|n| n * n).sum::<f64>() / block.metrics.volume[at];
    let by = match patch.law {
        Some(_) => values.diffusing(at),
        None => [molecular(physics, &values.state(at)); MOST],
    };
    by.map(|by| by * N::T::c(near))
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
                let patch = patch.expect("the condition's own");
                let spread = to_wall(self.physics, patch, self.block, &values, at, &n);
                Link { passing: 0.0, spread }
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
