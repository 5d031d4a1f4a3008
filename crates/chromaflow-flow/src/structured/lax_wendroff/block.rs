//! A block's nodes and cells.

use super::cells::KEPT;
use super::nodes::SUMS;
use crate::equations::perfect_gas::State;
use crate::grid::{Cells, Grid, Metrics, Side};
use crate::real::LANES;

/// A block with everything that is computed on it.
#[derive(Clone, Debug)]
pub(super) struct NodeBlock {
    /// Nodes, with two layers of ghosts.
    pub nodes: Cells,
    pub cells: Cells,
    pub metrics: Metrics,
    /// Face areas with zeros on the boundary.
    pub open: [[Vec<f64>; 3]; 3],
    /// Axes with more than one cell, or with a neighbor along them.
    pub active: [bool; 3],
    /// Conserved variables and pressure, `[6, nodes]` with ghosts.
    pub q: Vec<f64>,
    pub last_good: Vec<f64>,
    /// Of cells, `[nk nj, KEPT, wide]`, each row behind one zero and before others.
    pub kept: Vec<f64>,
    /// Of nodes, `[points_k points_j, SUMS, points_i]`.
    pub sums: Vec<f64>,
    /// Control volumes of nodes, `[points_k, points_j, points_i]`, those of shared nodes whole; on coarse grids an eighth for each
    /// cell around.
    pub volume: Vec<f64>,
    /// The part of a node's control volume that this copy of it counts.
    pub own_volume: Vec<f64>,
}

impl NodeBlock {
    pub(super) fn new(grid: &Grid, number: usize, metrics: Metrics) -> Self {
        let cells = metrics.cells;
        let nodes = Cells::new(grid.blocks[number].points);
        let neighbor = |d: usize| {
            let windows = grid.interfaces.iter().flat_map(|i| [&i.a, &i.b]);
            windows.into_iter().any(|w| w.block == number && w.side.axis == d)
        };
        let mut open = metrics.area.clone();
        for patch in grid.patches.iter().filter(|p| p.window.block == number) {
            let Side { axis, high } = patch.window.side;
            for cell in patch.window.cells() {
                let at = cells.inside(cell) + if high { cells.stride[axis] } else { 0 };
                for area in &mut open[axis] {
                    area[at] = 0.0;
                }
            }
        }
        let [pi, pj, pk] = nodes.count;
        let (points, rows) = (pi * pj * pk, cells.count[1] * cells.count[2]);
        let mut block = Self {
            nodes,
            cells,
            open,
            active: [0, 1, 2].map(|d| cells.count[d] > 1 || neighbor(d)),
            q: vec![1.0; 6 * nodes.len() + 2 * LANES],
            last_good: Vec::new(),
            kept: Vec::new(),
            sums: vec![0.0; points * SUMS],
            volume: Vec::new(),
            own_volume: Vec::new(),
            metrics,
        };
        block.kept = vec![0.0; rows * KEPT * block.wide() + LANES];
        block.volume = block.around(|at| block.metrics.volume[at]);
        block
    }

    /// Sums over the cells around each node of an eighth of a cell's value, `[points_k, points_j, points_i]`.
    pub(super) fn around(&self, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let ([pi, pj, pk], cells) = (self.nodes.count, self.cells);
        let mut out = vec![0.0; pi * pj * pk];
        for (n, sum) in out.iter_mut().enumerate() {
            let node = [n % pi, n / pi % pj, n / (pi * pj)];
            for corner in 0..8 {
                let cell: [isize; 3] = std::array::from_fn(|d| node[d] as isize - (corner >> d & 1) as isize);
                if (0..3).all(|d| (0..cells.count[d] as isize).contains(&cell[d])) {
                    *sum += 0.125 * value(cells.at(cell));
                }
            }
        }
        out
    }

    /// Length of a row of kept values.
    pub(super) fn wide(&self) -> usize {
        self.cells.count[0] + 2 + LANES
    }

    /// Where a node's component lies in `q`, and its number without ghosts.
    pub(super) fn number(&self, [i, j, k]: [usize; 3]) -> usize {
        let [pi, pj, _] = self.nodes.count;
        i + pi * (j + pj * k)
    }

    /// Conserved variables of the node at `at`.
    pub(super) fn state(&self, at: usize) -> State {
        let n = self.nodes.len();
        std::array::from_fn(|c| self.q[c * n + at])
    }

    /// Where the first sum of a node lies; the others follow `points_i` apart.
    pub(super) fn sum_at(&self, [i, j, k]: [usize; 3]) -> usize {
        let [pi, pj, _] = self.nodes.count;
        (k * pj + j) * SUMS * pi + i
    }

    /// Values kept of a cell, `wide` apart.
    pub(super) fn kept_at(&self, [i, j, k]: [usize; 3]) -> usize {
        (k * self.cells.count[1] + j) * KEPT * self.wide() + 1 + i
    }
}
