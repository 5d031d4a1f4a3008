//! Renumbering the axes of a block.

use super::{Block, Grid, IndexMap, Metrics, Side, Window};

impl Grid {
    /// Gives block `block` new axes: axis d becomes `axis[d]`, the other way round where `reverse[d]`. Patches and
    /// interfaces follow. Reversing one axis, or exchanging two, changes the block's handedness.
    ///
    /// # Panics
    /// When there is no such block or `axis` is no permutation.
    pub fn reorient(mut self, block: usize, axis: [usize; 3], reverse: [bool; 3]) -> Self {
        let old = std::mem::take(&mut self.blocks[block]);
        let mut map = IndexMap { axis, sign: [1; 3], offset: [0; 3] };
        let mut points = [0; 3];
        for d in 0..3 {
            points[axis[d]] = old.points[d];
            if reverse[d] {
                (map.sign[d], map.offset[d]) = (-1, old.points[d] as isize - 1);
            }
        }
        assert!(points.iter().all(|&n| n > 0), "{axis:?} is no permutation of the axes");
        let back = map.inverse();
        let source = |at: [usize; 3]| old.index(back.node(at.map(|n| n as isize)).map(|n| n as usize));
        let mut new = Block::new(points, |at| old.nodes[source(at)]);
        if !old.blank.is_empty() {
            new.blank = new_order(points, |at| old.blank[source(at)]);
        }
        self.blocks[block] = new;
        for patch in &mut self.patches {
            if patch.window.block == block {
                patch.window = moved(&patch.window, &map);
            }
        }
        for interface in &mut self.interfaces {
            if interface.a.block == block {
                interface.a = moved(&interface.a, &map);
                interface.map = back.then(&interface.map);
            }
            if interface.b.block == block {
                interface.b = moved(&interface.b, &map);
                interface.map = interface.map.then(&map);
            }
        }
        self
    }

    /// The same grid with every block's axes turned cyclically so that the block has as few cells as it can along k:
    /// two-dimensional grids then have one cell along k, and long rows along i and j.
    pub fn thin_axis_last(self) -> Self {
        let turns: Vec<usize> = self
            .blocks
            .iter()
            .map(|b| (0..3).min_by_key(|&turn| (b.points[(2 + 3 - turn) % 3], turn)).unwrap_or(0))
            .collect();
        turns.into_iter().enumerate().fold(self, |grid, (block, turn)| match turn {
            0 => grid,
            turn => grid.reorient(block, [0, 1, 2].map(|d| (d + turn) % 3), [false; 3]),
        })
    }
}

/// Part of a layer's depth by which it may differ from place to place: what is left of the pressure on its sides.
const SAME: f64 = 1e-4;

impl Block {
    /// Whether it is one layer of cells along an axis, its points those of a plane twice: sectors of one cell are in space.
    pub fn repeats_along(&self, axis: usize) -> bool {
        let [ni, nj, nk] = self.points;
        let across = |at: [usize; 3]| {
            let mut end = at;
            end[axis] = 1;
            let (a, b) = (self.node(at), self.node(end));
            [b[0] - a[0], b[1] - a[1], b[2] - a[2]]
        };
        if self.points[axis] != 2 {
            return false;
        }
        let first = across([0; 3]);
        let least = SAME * SAME * first.iter().map(|x| x * x).sum::<f64>();
        let same = |at: [usize; 3]| {
            let here = across(at);
            (0..3).map(|d| (here[d] - first[d]).powi(2)).sum::<f64>() <= least
        };
        let all = (0..ni * nj * nk).map(|n| [n % ni, n / ni % nj, n / (ni * nj)]);
        all.filter(|at| at[axis] == 0).all(same)
    }
}

impl Grid {
    /// The coordinate axis that a two-dimensional grid lacks, and its depth; all blocks are one layer of cells along the same of their axes
    /// ([`Self::thin_axis_last`]).
    pub fn plane(&self) -> Option<(usize, f64)> {
        let axis =
            self.planar_axis().filter(|&axis| self.blocks.iter().all(|block| block.repeats_along(axis)))?;
        let block = self.blocks.first()?;
        // Of the first cell.
        let cell = Block::new([2; 3], |at| block.node(at));
        let m = Metrics::of_grid(&Self::one_block(cell, [None; 6])).pop()?;
        let n = m.face(axis, m.cells.inside([0; 3]));
        let normal = (0..3).max_by(|&a, &b| n[a].abs().total_cmp(&n[b].abs()))?;
        let mut other = [0; 3];
        other[axis] = 1;
        Some((normal, (block.node(other)[normal] - block.node([0; 3])[normal]).abs()))
    }
}

fn new_order<T>(points: [usize; 3], mut value: impl FnMut([usize; 3]) -> T) -> Vec<T> {
    let [ni, nj, nk] = points;
    (0..ni * nj * nk).map(|at| value([at % ni, at / ni % nj, at / (ni * nj)])).collect()
}

/// A window under a renumbering of its block.
fn moved(window: &Window, map: &IndexMap) -> Window {
    let ends = [window.low, window.high].map(|x| map.node(x.map(|n| n as isize)).map(|n| n as usize));
    let d = window.side.axis;
    Window {
        block: window.block,
        side: Side { axis: map.axis[d], high: window.side.high == (map.sign[d] > 0) },
        low: std::array::from_fn(|c| ends[0][c].min(ends[1][c])),
        high: std::array::from_fn(|c| ends[0][c].max(ends[1][c])),
    }
}
