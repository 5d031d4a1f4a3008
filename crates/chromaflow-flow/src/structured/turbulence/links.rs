//! What matrices are made of: faces as the cells on their sides have them, derivatives of sources.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::residual::Physics;
use super::k_omega::TwoTerms;
use super::spalart_allmaras::SaTerms;
use super::{GridTurbulence, MOST, Model};

/// A face as the cell on one of its sides has it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::structured) struct Link {
    /// The volume, or the mass, that leaves.
    pub passing: f64,
    /// What a difference of each unknown across the face diffuses.
    pub spread: [f64; MOST],
}

impl Link {
    /// The derivative of what leaves of an unknown by the cell's own value; by that beyond it is the same with the other sign. Not negative.
    pub fn coupling(&self, v: usize) -> f64 {
        self.spread[v] - self.passing.min(0.0)
    }

    /// Its part of V/dt times the CFL number.
    pub fn speed(&self) -> f64 {
        0.5 * self.passing.abs() + self.spread[0].max(self.spread[1])
    }
}

/// A cell's face on one of its sides.
pub(super) struct Outside<'a> {
    /// The place beyond, and the face's area outwards.
    pub beyond: usize,
    pub n: [f64; 3],
    /// What is there, if it is a boundary.
    pub patch: Option<&'a PatchState>,
}

impl<'a> Outside<'a> {
    /// None along an axis that the grid lacks.
    pub fn of(
        block: &BlockState,
        patches: &'a [PatchState],
        cell: [usize; 3],
        at: usize,
        side: usize,
    ) -> Option<Self> {
        let (axis, high) = (side / 2, side % 2 == 1);
        if !block.active[axis] {
            return None;
        }
        let step = block.cells.stride[axis];
        let (beyond, face, sign) = if high { (at + step, at + step, 1.0) } else { (at - step, at, -1.0) };
        let n = block.metrics.face(axis, face).map(|n| sign * n);
        let ends = if high { block.cells.count[axis] - 1 } else { 0 };
        let patch = (cell[axis] == ends).then(|| {
            let [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
            block.patch_of[side][cell[u] + block.cells.count[u] * cell[v]]
        });
        Some(Self { beyond, n, patch: patch.and_then(|number| patches.get(number as usize)) })
    }
}

/// What the matrix of a block's rows is made of.
pub(in crate::structured) enum Links<'a> {
    SpalartAllmaras(SaTerms<'a>),
    KOmega(TwoTerms<'a>),
}

impl<'a> Links<'a> {
    pub fn new(
        physics: &'a Physics,
        turbulence: GridTurbulence,
        patches: &'a [PatchState],
        block: &'a BlockState,
    ) -> Self {
        match turbulence.model {
            Model::SpalartAllmaras(sa) => {
                Self::SpalartAllmaras(SaTerms::new(physics, (sa, turbulence), patches, block))
            }
            Model::KOmega(_) => Self::KOmega(TwoTerms { physics, block, patches }),
        }
    }

    /// A cell's face on one of the sides; none along an axis that the grid lacks.
    pub fn link(&self, cell: [usize; 3], at: usize, side: usize) -> Option<Link> {
        match self {
            Self::SpalartAllmaras(terms) => terms.face(cell, at, side).map(|face| face.link),
            Self::KOmega(terms) => terms.link(cell, at, side),
        }
    }

    /// The derivative of what a cell loses per volume, `[residual][unknown]`, where it adds to the diagonal or leaves the matrix triangular.
    pub fn slope(&self, number: usize) -> [[f64; MOST]; MOST] {
        match self {
            Self::SpalartAllmaras(terms) => {
                [[(-terms.block.eddies.terms[number]).max(0.0), 0.0], [0.0; MOST]]
            }
            Self::KOmega(terms) => terms.slope(number),
        }
    }

    /// What V/dt has at least: twice the volume times the rate at which an unknown grows, where it does. Over longer steps what should grow would change its sign.
    pub fn resolving(&self, number: usize, at: usize) -> f64 {
        match self {
            Self::SpalartAllmaras(_) => 0.0,
            Self::KOmega(terms) => terms.resolving(number, at),
        }
    }
}
