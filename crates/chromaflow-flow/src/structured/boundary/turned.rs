//! Limited fluxes through faces between sides that are turned about an axis.
//!
//! Both sides see such a face in axes of their own. Fluxes turn with the face, but limiters do not: they look at components one by one. What
//! leaves the one side must enter the other one, so that side a's axes are taken on both.

use super::super::StructuredSystem;
use super::super::block::BlockState;
use super::super::config::Scheme;
use super::super::residual::Physics;
use crate::equations::perfect_gas::{N, State};
use crate::flux::{RoeFix, convective_at_shocks, flux_roe_muscl};
use crate::grid::{Grid, Window};
use crate::mesh::periodic::{Matrix, product};
use crate::parallel;

/// A face of a cell beside an interface.
#[derive(Clone, Copy, Debug)]
pub(in crate::structured) struct Side {
    pub block: usize,
    pub axis: usize,
    /// Of the face, as [`Cells`](crate::grid::Cells) numbers them.
    pub at: usize,
    /// Out of the cell: 1 at high sides.
    pub out: f64,
}

/// A face between turned sides.
#[derive(Clone, Copy, Debug)]
pub(in crate::structured) struct TurnedFace {
    pub sides: [Side; 2],
    /// Of side b's cell.
    residual_at: usize,
    /// Turns vectors from side a to side b.
    pub turn: Matrix,
}

#[cfg(feature = "cuda")]
impl TurnedFace {
    /// Block of side b's cell, and where its residual lies.
    pub fn cell(&self) -> (usize, usize) {
        (self.sides[1].block, self.residual_at)
    }
}

impl Side {
    fn new(window: &Window, blocks: &[BlockState], cell: [usize; 3]) -> Self {
        let crate::grid::Side { axis, high } = window.side;
        let cells = blocks[window.block].cells;
        let at = cells.inside(cell) + if high { cells.stride[axis] } else { 0 };
        Self { block: window.block, axis, at, out: if high { 1.0 } else { -1.0 } }
    }

    /// The limited inviscid flux out of the cell.
    fn flux(&self, physics: &Physics, blocks: &[BlockState]) -> State {
        let Scheme::Roe { kappa, limited } = physics.scheme else { return [0.0; N] };
        let block = &blocks[self.block];
        let step = block.cells.stride[self.axis];
        let n = std::array::from_fn(|c| block.open[self.axis][c][self.at]);
        let [a, b, c, d] =
            [self.at - 2 * step, self.at - step, self.at, self.at + step].map(|at| block.state(at));
        let [before, after] = [self.at - step, self.at].map(|at| block.jumps[at]);
        let convective = convective_at_shocks(physics.fix.convective, before, after);
        let fix = RoeFix { convective, ..physics.fix };
        let limited = if limited { 1.0 } else { 0.0 };
        let flux = flux_roe_muscl(physics.gas, &a, &b, &c, &d, &n, kappa, limited, fix);
        flux.map(|f| self.out * f)
    }
}

/// All of them, where the scheme limits; none elsewhere.
pub(in crate::structured) fn turned_faces(
    grid: &Grid,
    blocks: &[BlockState],
    scheme: Scheme,
) -> Vec<TurnedFace> {
    if !matches!(scheme, Scheme::Roe { limited: true, .. }) {
        return Vec::new();
    }
    let turned = grid.interfaces.iter().filter_map(|i| Some((i, i.motion.back().rotation()?.matrix(1))));
    let faces = turned.flat_map(|(i, turn)| {
        i.a.cells().map(move |cell| {
            // The cell beyond the face continues the index of side a's.
            let mut beyond = cell.map(|n| n as isize);
            beyond[i.a.side.axis] += if i.a.side.high { 1 } else { -1 };
            let other = i.map.cell(beyond).map(|n| n as usize);
            TurnedFace {
                sides: [Side::new(&i.a, blocks, cell), Side::new(&i.b, blocks, other)],
                residual_at: blocks[i.b.block].residual_at(other),
                turn,
            }
        })
    });
    faces.collect()
}

impl StructuredSystem {
    /// Replaces the fluxes of sides b by those of sides a.
    pub(in crate::structured) fn join_turned_fluxes(&mut self) {
        let mut changes = vec![[0.0; N]; self.turned.len()];
        let (faces, physics, blocks) = (&self.turned, &self.physics, &self.blocks);
        parallel::rows(&self.team, faces.len(), 1, &mut changes, |range, out| {
            for (face, out) in faces[range].iter().zip(out) {
                let [a, b] = face.sides.map(|side| side.flux(physics, blocks));
                let [u, v, w] = product(&face.turn, [a[1], a[2], a[3]]);
                let enters = [a[0], u, v, w, a[4]];
                *out = std::array::from_fn(|c| -enters[c] - b[c]);
            }
        });
        for (face, change) in self.turned.iter().zip(changes) {
            let block = &mut self.blocks[face.sides[1].block];
            let ni = block.cells.count[0];
            for c in 0..N {
                block.r[face.residual_at + c * ni] += change[c];
            }
        }
    }
}
