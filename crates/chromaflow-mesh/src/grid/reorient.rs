//! Renumbering the axes of a block.

use super::{Block, Grid, IndexMap, Side, Window};

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
