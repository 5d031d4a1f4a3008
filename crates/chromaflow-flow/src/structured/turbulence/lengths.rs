//! Lengths of the grid about each cell, for hybrids with large eddy simulation.

use super::super::block::BlockState;
use crate::grid::Block;
use crate::turbulence::hybrid::{HybridForm, HybridGrid};
use crate::wall_distance::Nearest;

fn between(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|d| b[d] - a[d])
}

fn length(x: [f64; 3]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The corners of a cell; those along an axis that the grid lacks lie in the middle, for the depth of the layer plays no part.
fn corners(nodes: &Block, block: &BlockState, cell: [usize; 3]) -> [[f64; 3]; 8] {
    let bits = |number: usize| std::array::from_fn::<usize, 3, _>(|d| number >> d & 1);
    let mut out: [[f64; 3]; 8] = std::array::from_fn(|number| {
        let shift = bits(number);
        nodes.node(std::array::from_fn(|d| cell[d] + shift[d]))
    });
    for axis in (0..3).filter(|&axis| !block.active[axis]) {
        for number in (0..8).filter(|number| number >> axis & 1 == 0) {
            let [a, b] = [out[number], out[number | 1 << axis]];
            let mean = std::array::from_fn(|d| 0.5 * (a[d] + b[d]));
            (out[number], out[number | 1 << axis]) = (mean, mean);
        }
    }
    out
}

/// Of all cells of a block: the longest edge, and what they span along the normal of the nearest wall, from the middle of one face to that of the opposite one; `across`: the
/// grid's length is that across the vorticity.
pub(super) fn of_cells(
    form: HybridForm,
    across: bool,
    nodes: &Block,
    block: &BlockState,
    near: &[Nearest],
) -> HybridGrid {
    let (mut lengths, mut all) = (Vec::with_capacity(near.len()), Vec::new());
    for (at, near) in block.cells.places().zip(near) {
        let corners = corners(nodes, block, block.cells.cell(at).map(|c| c as usize));
        let center = block.metrics.center(at);
        let away = between(&near.place, &center).map(|x| x / near.distance);
        let (mut longest, mut height) = (0.0_f64, 0.0_f64);
        for axis in (0..3).filter(|&axis| block.active[axis]) {
            let mut span = [0.0; 3];
            for number in (0..8).filter(|number| number >> axis & 1 == 0) {
                let edge = between(&corners[number], &corners[number | 1 << axis]);
                longest = longest.max(length(edge));
                (0..3).for_each(|d| span[d] += 0.25 * edge[d]);
            }
            height = height.max((0..3).map(|d| span[d] * away[d]).sum::<f64>().abs());
        }
        lengths.push([longest, height]);
        if across {
            all.push(corners);
        }
    }
    HybridGrid::of_rows(form, lengths, across.then_some(&all[..]))
}
