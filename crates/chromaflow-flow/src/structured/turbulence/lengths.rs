//! Lengths of the grid about each cell, for hybrids with large eddy simulation.

use super::super::block::BlockState;
use crate::grid::Block;
use crate::turbulence::hybrid::cells::{corners_of, lengths_of};
use crate::turbulence::hybrid::{HybridForm, HybridGrid};
use crate::wall_distance::Nearest;

/// Of all cells of a block; `across`: the grid's length is that across the vorticity.
pub(super) fn of_cells(
    form: HybridForm,
    across: bool,
    nodes: &Block,
    block: &BlockState,
    near: &[Nearest],
) -> HybridGrid {
    let (mut lengths, mut all) = (Vec::with_capacity(near.len()), Vec::new());
    for (at, near) in block.cells.places().zip(near) {
        let corners = corners_of(nodes, block.cells.cell(at).map(|c| c as usize), block.active);
        lengths.push(lengths_of(&corners, block.active, near));
        if across {
            all.push(corners);
        }
    }
    HybridGrid::of_rows(form, lengths, across.then_some(&all[..]))
}
