//! Values beyond the boundary, what passes it, and its part of the matrix.

use super::super::residual::at_face;
use super::super::space::{Block, Face, Patch};
use super::faces::transposed;
use super::{BY, DIFFUSING, Turbulence};
use crate::equations::artificial_compressibility::GhostKind;
use crate::turbulence::cells::Model;
use crate::turbulence::k_omega::{k_omega_law_of_cells, k_omega_wall};
use crate::turbulence::spalart_allmaras::{sa_diffusivity, sa_diffusivity_to_wall};

/// What a patch is to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Class {
    Wall,
    Mirror,
    Open,
}

/// That of a patch.
pub(in super::super) fn class(patch: &Patch) -> Class {
    match patch.kind {
        GhostKind::Mirror => Class::Mirror,
        _ if patch.wall => Class::Wall,
        _ => Class::Open,
    }
}

/// (grad u)^T n of a face of the boundary, `n` out of the domain.
pub(in super::super) fn transposed_at(block: (&Block, &[usize]), field: &[f64], face: &Face) -> [f64; 3] {
    let axis = face.axis(block.0);
    transposed(block, field, (axis, face.cell.max(face.ghost)), &face.n, |values, at| values[at])
}

impl Turbulence {
    /// The wall's value of an unknown at a face.
    fn at_wall(&self, patch: &Patch, face: &Face, v: usize) -> f64 {
        let distance = self.blocks[patch.block].distance[face.cell];
        let law = self.model.walls.zip(self.units(patch, face));
        match (self.model.model, law) {
            (Model::KOmega(model), Some((walls, units))) => {
                k_omega_law_of_cells(model, walls.blended, units, self.nu, distance)[v]
            }
            (Model::KOmega(model), None) if v == 1 => k_omega_wall(model, self.nu, distance),
            _ => 0.0,
        }
    }

    /// An unknown beyond a face of the boundary, `own` that of the cell, `leaving` the volume that leaves: mirrored about the wall's value at walls, mirrored at planes
    /// of symmetry; at open boundaries that of what enters, or the cell's own.
    pub fn ghost(&self, patch: &Patch, face: &Face, v: usize, own: f64, leaving: f64) -> f64 {
        match class(patch) {
            Class::Wall => 2.0 * self.at_wall(patch, face, v) - own,
            Class::Open if leaving < 0.0 => self.model.inflow[v],
            Class::Mirror | Class::Open => own,
        }
    }

    /// What an unknown's difference to the wall diffuses, half a cell away; in the matrix.
    fn to_wall(&self, patch: &Patch, face: &Face, v: usize, own: f64) -> [f64; 2] {
        let with_law = self.model.walls.is_some();
        let gammas = match self.model.model {
            Model::SpalartAllmaras(sa) => {
                let of = |nut: f64| sa_diffusivity(sa, &[1.0, 1.0], &[nut, -nut]);
                // Next to a law, where nut is large, not cut at zero, so that all of |grad nut|^2 is there.
                let whole = sa_diffusivity_to_wall(sa, 1.0, own);
                [if with_law && own > 0.0 { whole } else { of(own) }, of(own)]
            }
            Model::KOmega(_) if with_law => {
                [self.blocks[patch.block].coefficient(DIFFUSING + v)[face.cell]; 2]
            }
            Model::KOmega(_) => [self.nu; 2],
        };
        gammas.map(|gamma| 2.0 * gamma * face.slope[0])
    }

    /// What leaves of an unknown through a face of the boundary, and the derivatives of that by the unknown and by the volume that leaves.
    pub fn through_boundary(&self, patch: &Patch, face: &Face, v: usize, own: f64, volume: f64) -> [f64; 3] {
        match class(patch) {
            Class::Wall => {
                let [spread, held] = self.to_wall(patch, face, v, own);
                [spread * (own - self.at_wall(patch, face, v)), held, 0.0]
            }
            Class::Mirror => [0.0; 3],
            Class::Open => {
                let change = self.model.inflow[v] - own;
                let enters = volume.min(0.0);
                [enters * change, -enters, if volume < 0.0 { change } else { 0.0 }]
            }
        }
    }

    /// Adds the derivatives of the friction at a face of the boundary by the model's unknowns to the diagonal block of its row.
    pub fn add_friction(
        &self,
        space: (&Block, &[usize]),
        field: &[f64],
        (patch, face): (&Patch, &Face),
        diag: &mut [f64],
    ) {
        if patch.wall {
            return;
        }
        let (n, len) = (self.first + self.model.unknowns(), space.0.cells.len());
        let turned = transposed_at(space, field, face);
        for c in 0..3 {
            let (_, slope) = at_face(space.0, &field[(1 + c) * len..(2 + c) * len], face);
            for v in 0..self.model.unknowns() {
                let by = self.blocks[patch.block].coefficients[(BY + v) * len + face.cell];
                diag[(self.first + v) * n + 1 + c] -= by * (slope + turned[c]);
            }
        }
    }
}
