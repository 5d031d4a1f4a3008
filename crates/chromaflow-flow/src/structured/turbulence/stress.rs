//! Quadratic constitutive relations: what the turbulent stress has besides that of an eddy viscosity, in a pass of its own over the faces between cells.
//!
//! The gradient at a face is that of the viscous flux, see [`Velocities`](crate::turbulence::velocities::Velocities).

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::config::ViscousTerms;
use super::super::residual::Physics;
use super::links::Outside;
use super::spalart_allmaras::SaTerms;
use super::{GridTurbulence, Model, fill_interfaces};
use crate::config::Quadratic;
use crate::equations::perfect_gas::N;
use crate::parallel;
use crate::ranks::BlockExchange;
use crate::turbulence::spalart_allmaras::sa_relation;
use crate::turbulence::velocities::Relation;
use chromaflow_device::Team;

/// fw of all cells, which the constants of QCR2020 go by, with those beyond interfaces.
pub(super) fn find_relation(
    team: &Team,
    physics: &Physics,
    turbulence: GridTurbulence,
    patches: &[PatchState],
    blocks: &mut [BlockState],
    exchange: &BlockExchange,
) {
    let Model::SpalartAllmaras(sa) = turbulence.model else { return };
    for block in &mut *blocks {
        let mut found = vec![0.0; block.cells.interior()];
        let terms = SaTerms::new(physics, (sa, turbulence), patches, block);
        let [ni, nj, _] = block.cells.count;
        parallel::rows(team, block.rows(), ni, &mut found, |rows, out| {
            for (row, out) in rows.zip(out.chunks_exact_mut(ni)) {
                for (i, relation) in out.iter_mut().enumerate() {
                    let cell = [i, row % nj, row / nj];
                    let (at, eddies) = (block.cells.inside(cell), &block.eddies);
                    let (gradient, distance) = (terms.sheared(cell, at), eddies.distance[block.number(cell)]);
                    *relation = sa_relation(sa, eddies.nu[at], eddies.values[at], &gradient, distance);
                }
            }
        });
        block.eddies.relation.resize(block.cells.len(), 0.0);
        for (at, relation) in block.cells.places().zip(found) {
            block.eddies.relation[at] = relation;
        }
    }
    fill_interfaces(exchange, blocks.iter_mut().map(|b| &mut b.eddies.relation), 1);
}

/// Subtracts what the relation adds to the viscous fluxes between a block's cells.
pub(in crate::structured) fn add_quadratic(
    team: &Team,
    physics: &Physics,
    patches: &[PatchState],
    block: &mut BlockState,
) {
    let Some(quadratic) = physics.turbulence.map(|model| model.quadratic) else { return };
    if quadratic == Quadratic::None {
        return;
    }
    let mut r = std::mem::take(&mut block.r);
    let [ni, nj, _] = block.cells.count;
    let (shared, eddies) = (&*block, &block.eddies);
    let (velocities, full) = (shared.velocities(), physics.terms == ViscousTerms::Full);
    let relation = Relation { quadratic, viscosity: &eddies.viscosity, fw: &eddies.relation, full };
    parallel::rows(team, block.rows(), N * ni, &mut r, |rows, out| {
        for (row, out) in rows.zip(out.chunks_exact_mut(N * ni)) {
            for i in 0..ni {
                let cell = [i, row % nj, row / nj];
                let at = shared.cells.inside(cell);
                for side in 0..6 {
                    let Some(Outside { beyond, n, patch: None }) =
                        Outside::of(shared, patches, cell, at, side)
                    else {
                        continue;
                    };
                    let flux = velocities.quadratic_flux(&relation, side / 2, [at, beyond], &n);
                    (0..N).for_each(|c| out[c * ni + i] -= flux[c]);
                }
            }
        }
    });
    block.r = r;
}
