//! Lengths of the grid about the cells of structured grids.

use super::grid::arms_from_middle;
use super::{length_across_vorticity, turned_arm};
use crate::config::{GridLength, TurbulenceConfig};
use crate::dual::topology::middle;
use crate::grid::Block;
use crate::mesh::{dot, sub};
use crate::real::Real;
use crate::wall_distance::Nearest;
use std::array::from_fn;

/// Corners of a cell.
const CORNERS: usize = 8;
/// Numbers of a cell: [`HybridCells::numbers`].
pub(crate) const LENGTHS: usize = 2;
pub(crate) const ARMS: usize = 3 * CORNERS;

/// What a hybrid takes of the grid: of each cell of a block the longest edge and the extent along the normal of the nearest wall, and where the grid's length is that
/// across the vorticity the ways from its middle to its corners. On planar grids the depth of the layer plays no part.
#[derive(Clone, Debug)]
pub(crate) struct HybridCells {
    /// Whether there are ways to corners.
    pub arms: bool,
    /// `[cells, LENGTHS]`, with ways `[cells, LENGTHS + ARMS]`, i fastest.
    pub numbers: Vec<f64>,
}

/// The corners of a cell of a block, those of the higher indices along an axis behind the others; along an axis along which nothing happens they lie in the middle, for the
/// depth of the layer plays no part.
pub(crate) fn corners_of(block: &Block, cell: [usize; 3], active: [bool; 3]) -> [[f64; 3]; CORNERS] {
    let mut corners: [[f64; 3]; CORNERS] =
        from_fn(|number| block.node(from_fn(|d| cell[d] + (number >> d & 1))));
    for axis in (0..3).filter(|&axis| !active[axis]) {
        for number in along(axis) {
            let [low, high] = [corners[number], corners[number | 1 << axis]];
            let both = from_fn(|c| 0.5 * (low[c] + high[c]));
            (corners[number], corners[number | 1 << axis]) = (both, both);
        }
    }
    corners
}

/// The corners at the lower end of an axis.
fn along(axis: usize) -> impl Iterator<Item = usize> {
    (0..CORNERS).filter(move |number| number >> axis & 1 == 0)
}

/// h_max and h_wn of a cell with these corners: its longest edge, and the most that it spans along the normal of the nearest wall, from the middle of one face to that of the
/// opposite one (from corner to corner a leaning cell would span more than lies between neighbors).
pub(crate) fn lengths_of(corners: &[[f64; 3]; CORNERS], active: [bool; 3], near: &Nearest) -> [f64; LENGTHS] {
    let away = sub(middle(corners), near.place);
    let size = dot(away, away).sqrt();
    let (mut longest, mut height) = (0.0_f64, 0.0_f64);
    for axis in (0..3).filter(|&axis| active[axis]) {
        let mut span = [0.0; 3];
        for number in along(axis) {
            let edge = sub(corners[number | 1 << axis], corners[number]);
            longest = longest.max(dot(edge, edge).sqrt());
            (0..3).for_each(|d| span[d] += 0.25 * edge[d]);
        }
        height = height.max(if size > 0.0 { (dot(span, away) / size).abs() } else { 0.0 });
    }
    [longest, height]
}

impl HybridCells {
    /// Of a block on which something happens along `axes`; `near` is what is nearest to each of its cells.
    pub fn new(config: &TurbulenceConfig, block: &Block, axes: &[usize], near: &[Nearest]) -> Self {
        let arms = config.grid_length == GridLength::AcrossVorticity;
        let active = from_fn(|d| axes.contains(&d));
        let [ci, cj, ck] = block.cells();
        let cells = (0..ck).flat_map(|k| (0..cj).flat_map(move |j| (0..ci).map(move |i| [i, j, k])));
        let mut numbers = Vec::new();
        for (cell, near) in cells.zip(near) {
            let corners = corners_of(block, cell, active);
            numbers.extend(lengths_of(&corners, active, near));
            if arms {
                numbers.extend(arms_from_middle(&corners).as_flattened());
            }
        }
        Self { arms, numbers }
    }

    /// Numbers of a cell.
    pub fn width(&self) -> usize {
        LENGTHS + if self.arms { ARMS } else { 0 }
    }
}

/// (Delta, h_max, h_wn) of cells, `number` their numbers; `gradient` d(u, v, w)_i / dx_k.
#[inline(always)]
pub(crate) fn grid_lengths<T: Real>(
    arms: bool,
    number: impl Fn(usize) -> T,
    gradient: &[[T; 3]; 3],
) -> [T; 3] {
    let longest = number(0);
    let mut delta = longest;
    if arms {
        let mut turned = T::c(0.0);
        for n in 0..CORNERS {
            let arm = std::array::from_fn(|d| number(LENGTHS + 3 * n + d));
            turned = turned.max(turned_arm(gradient, &arm));
        }
        delta = length_across_vorticity(gradient, turned, longest);
    }
    [delta, longest, number(1)]
}
