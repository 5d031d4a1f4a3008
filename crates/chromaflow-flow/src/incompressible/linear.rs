//! The linear system of a step: block ILU(0) of each grid block, correction steps over all of them.

use super::config::Implicit;
use super::space::Space;
use super::system::System;
use crate::march::{Part, Times};
use crate::parallel;
use chromaflow::factor::structured_ilu::{SingularCell, StencilMatrix, StructuredIlu};
use chromaflow::sparse::ShapeError;
use chromaflow_device::Team;

/// M = L U of each block's own cells, all blocks in one wavefront.
///
/// Correction steps M xi = b - A x, x += xi follow the first solve M x = b until the residual has fallen far enough. The residual
/// takes in the neighbors across interfaces, so that blocks see one another from the first correction on, as in the paper.
pub(super) struct Linear {
    ilu: StructuredIlu,
    implicit: Implicit,
    first: Vec<usize>,
    rest: Vec<Vec<f64>>,
    correction: Vec<Vec<f64>>,
}

/// Of parts of a vector; over ranks, whose parts are those of blocks, of all of them.
fn norm<'a>(team: &Team, space: &Space, parts: impl Iterator<Item = &'a [f64]>) -> f64 {
    let square = |part: &[f64]| {
        parallel::reduce(
            team,
            part.len(),
            |range| part[range].iter().map(|v| v * v).sum::<f64>(),
            |all, part| *all += part,
        )
    };
    let squares = parts.map(square);
    let sum = match &space.part.over {
        None => squares.sum::<f64>(),
        Some(over) => over.sum_blocks(1, squares.map(|square| [square]))[0],
    };
    sum.sqrt()
}

impl Linear {
    pub fn new(system: &System, implicit: Implicit, team: &Team) -> Result<Self, ShapeError> {
        let dims: Vec<[usize; 3]> = system.blocks.iter().map(StencilMatrix::dims).collect();
        let n = system.blocks.first().map_or(1, StencilMatrix::nb);
        let vectors = || system.blocks.iter().map(|a| vec![0.0; a.cells() * n]).collect();
        Ok(Self {
            ilu: StructuredIlu::new(&dims, n, implicit.ilu, team)?,
            implicit,
            first: system
                .blocks
                .iter()
                .scan(0, |next, a| Some(std::mem::replace(next, *next + a.cells() * n)))
                .collect(),
            rest: vectors(),
            correction: vectors(),
        })
    }

    pub fn bytes(&self) -> usize {
        self.ilu.bytes() + 16 * self.rest.iter().map(Vec::len).sum::<usize>()
    }

    pub fn factor(&mut self, system: &System, team: &Team) -> Result<(), SingularCell> {
        let blocks: Vec<&StencilMatrix> = system.blocks.iter().collect();
        self.ilu.factor(team, &blocks).map(|_| ())
    }

    /// x = A^-1 b, nearly; |b - A x| / |b|.
    ///
    /// **Shapes**: `b` `[rows, n]`; `x` `[cells, n]` of each block.
    pub fn solve(
        &mut self,
        (system, space): (&System, &Space),
        team: &Team,
        b: &[f64],
        x: &mut [Vec<f64>],
        times: &mut Times,
    ) -> f64 {
        let mut reduction = 0.0;
        let blocks: Vec<&StencilMatrix> = system.blocks.iter().collect();
        let parts: Vec<&[f64]> = self.first.iter().zip(&*x).map(|(&at, x)| &b[at..at + x.len()]).collect();
        let size = match &space.part.over {
            None => norm(team, space, [b].into_iter()),
            Some(_) => norm(team, space, parts.iter().copied()),
        };
        times.timed(Part::Solve, || self.ilu.solve(team, &blocks, &parts, x));
        for correction in 0..=self.implicit.corrections {
            times.timed(Part::Correction, || {
                system.residual(team, space, b, x, &mut self.rest);
                let rest = norm(team, space, self.rest.iter().map(Vec::as_slice));
                reduction = if size > 0.0 { rest / size } else { 0.0 };
            });
            if correction == self.implicit.corrections || reduction <= self.implicit.reduction {
                break;
            }
            let parts: Vec<&[f64]> = self.rest.iter().map(Vec::as_slice).collect();
            times.timed(Part::Solve, || self.ilu.solve(team, &blocks, &parts, &mut self.correction));
            times.timed(Part::Correction, || {
                for (x, xi) in x.iter_mut().zip(&self.correction) {
                    parallel::rows(team, xi.len(), 1, x, |range, x| {
                        for (x, xi) in x.iter_mut().zip(&xi[range]) {
                            *x += xi;
                        }
                    });
                }
            });
        }
        reduction
    }
}
