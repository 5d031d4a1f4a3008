//! Coarse grids that carry the fine grid's changes on: every other node along each axis, again and again.
//!
//! The change of a coarse cell is that of the finer grid around the node in its middle; it is distributed to the cell's corners
//! with the coarse cell's step, without smoothing and viscous terms, and without the weights by volume that conserve on the
//! fine grid: on stretched grids they would draw changes towards the larger cells, against the waves that go there; boundary conditions act on what the
//! corners get, which is interpolated to the fine nodes. Where the fine grid has come to rest nothing is left to carry: the
//! steady state stays the fine grid's.
//!
//! **Source**: Ni 1982, section III, which takes the change of the node in the middle alone.

use super::block::NodeBlock;
use super::boundary::{self, NodePatch, Point};
use super::cells::{Balance, Changes, KEPT, STEP};
use super::nodes::{Gather, SUMS};
use super::shared_nodes::SharedNodes;
use crate::equations::perfect_gas::N;
use crate::flux::Dissipation;
use crate::gas::Gas;
use crate::grid::{Block, Grid, Metrics};
use crate::parallel;
use crate::real::dispatch;
use chromaflow_device::{Isa, Team};

/// A coarse grid.
pub(super) struct Level {
    pub grid: Grid,
    pub blocks: Vec<NodeBlock>,
    pub shared_nodes: SharedNodes,
    pub patches: Vec<NodePatch>,
    pub points: Vec<Point>,
    /// Fine cells along a side of a coarse one, of each block and axis.
    pub factors: Vec<[usize; 3]>,
}

/// The grid of every other node, and the factor of each block's axes (1 for those of a single cell). None where a number
/// of cells, a patch or an interface does not go into halves, or fewer than four cells would be left.
fn coarsened(grid: &Grid) -> Option<(Grid, Vec<[usize; 3]>)> {
    let factors: Vec<[usize; 3]> =
        grid.blocks.iter().map(|b| b.cells().map(|n| if n == 1 { 1 } else { 2 })).collect();
    let mut coarse = Grid::default();
    for (block, f) in grid.blocks.iter().zip(&factors) {
        let cells = block.cells();
        if (0..3).any(|d| !cells[d].is_multiple_of(f[d]) || f[d] == 2 && cells[d] < 8) {
            return None;
        }
        let points = std::array::from_fn(|d| cells[d] / f[d] + 1);
        coarse.blocks.push(Block::new(points, |at| block.node(std::array::from_fn(|d| at[d] * f[d]))));
    }
    let window = |mut w: crate::grid::Window| {
        for (d, f) in factors[w.block].into_iter().enumerate() {
            if !w.low[d].is_multiple_of(f) || !w.high[d].is_multiple_of(f) {
                return None;
            }
            (w.low[d], w.high[d]) = (w.low[d] / f, w.high[d] / f);
        }
        Some(w)
    };
    for patch in &grid.patches {
        coarse.patches.push(crate::grid::Patch { name: patch.name.clone(), window: window(patch.window)? });
    }
    for interface in &grid.interfaces {
        let mut half = interface.clone();
        (half.a, half.b) = (window(interface.a)?, window(interface.b)?);
        for d in 0..3 {
            let f = factors[interface.b.block][half.map.axis[d]];
            if f != factors[interface.a.block][d] || half.map.offset[d] % f as isize != 0 {
                return None;
            }
            half.map.offset[d] /= f as isize;
        }
        coarse.interfaces.push(half);
    }
    Some((coarse, factors))
}

impl Level {
    /// At most `count` grids below the given one, each coarser than the last.
    pub(super) fn below(grid: &Grid, patches: &[NodePatch], count: usize) -> Vec<Self> {
        let mut levels: Vec<Self> = Vec::new();
        while levels.len() < count {
            let Some((coarse, last)) = coarsened(levels.last().map_or(grid, |l| &l.grid)) else { break };
            let factors = match levels.last() {
                Some(level) => {
                    let pairs = level.factors.iter().zip(&last);
                    pairs.map(|(a, b)| std::array::from_fn(|d| a[d] * b[d])).collect()
                }
                None => last,
            };
            let metrics = Metrics::of_grid(&coarse);
            let mut blocks: Vec<NodeBlock> =
                metrics.into_iter().enumerate().map(|(b, m)| NodeBlock::new(&coarse, b, m)).collect();
            let shared_nodes = SharedNodes::new(&coarse, &blocks);
            for block in &mut blocks {
                block.volume = block.around(|_| 1.0);
            }
            shared_nodes.add_up_volumes(&mut blocks);
            let windows = patches.iter().zip(&coarse.patches);
            let patches: Vec<NodePatch> =
                windows.map(|(p, c)| NodePatch { window: c.window, ..p.clone() }).collect();
            let points = boundary::points(&coarse, &blocks, &patches, &shared_nodes.shared);
            levels.push(Self { grid: coarse, blocks, shared_nodes, patches, points, factors });
        }
        levels
    }

    /// Takes the changes of the next finer grid, distributes them here and adds the result to the finest grid's states.
    pub(super) fn carry(
        &mut self,
        team: &Team,
        (gas, courant): (Gas<f64>, f64),
        finer: &[Vec<f64>],
        finer_shape: &[crate::grid::Cells],
        finest: &mut [NodeBlock],
    ) -> Vec<Vec<f64>> {
        for (b, block) in self.blocks.iter_mut().enumerate() {
            inject(block, &finest[b], self.factors[b]);
            let (rows, width) = (block.cells.count[1] * block.cells.count[2], KEPT * block.wide());
            let mut kept = std::mem::take(&mut block.kept);
            let me = &*block;
            parallel::rows(team, rows, width, &mut kept[..rows * width], |rows, out| {
                dispatch(Isa::detect(), Balance { block: me, gas, transport: None, courant, rows, out });
            });
            take_changes(block, &mut kept, &finer[b], finer_shape[b]);
            let me = &*block;
            parallel::rows(team, rows, width, &mut kept[..rows * width], |rows, kept| {
                dispatch(
                    Isa::detect(),
                    Changes { block: me, gas, transport: None, step: None, carries: true, rows, kept },
                );
            });
            block.kept = kept;
            let mut sums = std::mem::take(&mut block.sums);
            let [pi, pj, pk] = block.nodes.count;
            let dissipation = Dissipation { second: 0.0, fourth: 0.0, ..Dissipation::DEFAULT };
            let me = &*block;
            parallel::rows(team, pj * pk, SUMS * pi, &mut sums, |rows, out| {
                dispatch(Isa::detect(), Gather { block: me, dissipation, rows, out });
            });
            block.sums = sums;
        }
        for patch in &self.patches {
            let block = &mut self.blocks[patch.window.block];
            if patch.counts(block) {
                patch.drop_second_order(&self.grid, block, gas, true);
            }
        }
        self.shared_nodes.join_sums(&mut self.blocks);
        let mut changes: Vec<Vec<f64>> = self.blocks.iter().map(changes).collect();
        for point in &self.points {
            let (b, at) = point.copies[0];
            let (old, len) = (self.blocks[b].state(at), self.blocks[b].nodes.len());
            let new = std::array::from_fn(|c| old[c] + changes[b][c * len + at]);
            // A difference, so that what is at rest stays there: this grid's walls have other normals than the finest's.
            let (before, after) = (point.state(gas, &old), point.state(gas, &new));
            for &(b, at) in &point.copies {
                let len = self.blocks[b].nodes.len();
                for c in 0..N {
                    changes[b][c * len + at] = after[c] - before[c];
                }
            }
        }
        for ((change, block), (fine, factor)) in
            changes.iter().zip(&self.blocks).zip(finest.iter_mut().zip(&self.factors))
        {
            interpolate(team, block, change, fine, *factor);
        }
        changes
    }

    /// The shapes of its arrays of nodes.
    pub(super) fn shapes(&self) -> Vec<crate::grid::Cells> {
        self.blocks.iter().map(|b| b.nodes).collect()
    }
}

/// States of the coarse nodes.
fn inject(block: &mut NodeBlock, fine: &NodeBlock, factor: [usize; 3]) {
    let (len, fine_len) = (block.nodes.len(), fine.nodes.len());
    for start in block.nodes.rows() {
        let node = block.nodes.cell(start).map(|n| n as usize);
        let from = fine.nodes.inside(std::array::from_fn(|d| node[d] * factor[d]));
        for c in 0..6 {
            for i in 0..block.nodes.count[0] {
                block.q[c * len + start + i] = fine.q[c * fine_len + from + i * factor[0]];
            }
        }
    }
}

/// Writes balances that give each cell the change around the finer node in its middle: that node counts a half along each
/// axis, its neighbors a quarter each, so that what alternates from node to node does not pass for something smooth.
fn take_changes(block: &NodeBlock, kept: &mut [f64], finer: &[f64], shape: crate::grid::Cells) {
    let wide = block.wide();
    // First node, and how much the nodes from there on count. An axis of a single cell stays: the middle lies between two nodes.
    let along = |d: usize, cell: usize| -> (usize, &[f64]) {
        if shape.count[d] == block.nodes.count[d] {
            (cell, &[0.5, 0.5])
        } else {
            (2 * cell, &[0.25, 0.5, 0.25])
        }
    };
    let [ni, nj, nk] = block.cells.count;
    for n in 0..ni * nj * nk {
        let cell = [n % ni, n / ni % nj, n / (ni * nj)];
        let [(i0, wi), (j0, wj), (k0, wk)] = [0, 1, 2].map(|d| along(d, cell[d]));
        let mut change = [0.0; N];
        for (k, wk) in wk.iter().enumerate() {
            for (j, wj) in wj.iter().enumerate() {
                let row = shape.inside([i0, j0 + j, k0 + k]);
                for (i, wi) in wi.iter().enumerate() {
                    let weight = wi * wj * wk;
                    for c in 0..N {
                        change[c] += weight * finer[c * shape.len() + row + i];
                    }
                }
            }
        }
        let at = block.kept_at(cell);
        let rate = block.metrics.volume[block.cells.inside(cell)] / kept[at + STEP * wide];
        for c in 0..N {
            kept[at + c * wide] = -rate * change[c];
        }
    }
}

/// Changes of a block's nodes, `[5, nodes]`.
fn changes(block: &NodeBlock) -> Vec<f64> {
    let len = block.nodes.len();
    let pi = block.nodes.count[0];
    let mut out = vec![0.0; N * len];
    for start in block.nodes.rows() {
        let node = block.nodes.cell(start).map(|n| n as usize);
        let (from, number) = (block.sum_at(node), block.number(node));
        for c in 0..N {
            for i in 0..pi {
                out[c * len + start + i] = block.sums[from + c * pi + i] / block.volume[number + i];
            }
        }
    }
    out
}

/// Adds changes of coarse nodes to the fine ones between them.
fn interpolate(team: &Team, coarse: &NodeBlock, change: &[f64], fine: &mut NodeBlock, factor: [usize; 3]) {
    let (len, s) = (coarse.nodes.len(), coarse.nodes.stride);
    let cells = fine.nodes;
    let mut q = std::mem::take(&mut fine.q);
    let nodes_len = cells.len();
    // The lower coarse node, and the share of the upper one.
    let between = |n: usize, d: usize| {
        let low = (n / factor[d]).min(coarse.cells.count[d] - 1);
        (low, (n - low * factor[d]) as f64 / factor[d] as f64)
    };
    crate::structured::block::each_row(team, cells, &mut q[..5 * nodes_len], |row, parts| {
        let nj = cells.count[1];
        let ((lj, tj), (lk, tk)) = (between(row % nj, 1), between(row / nj, 2));
        for i in 0..cells.count[0] {
            let (li, ti) = between(i, 0);
            let at = coarse.nodes.inside([li, lj, lk]);
            for corner in 0..8 {
                let (a, b, e) = (corner & 1, corner >> 1 & 1, corner >> 2);
                let weight = |upper: usize, t: f64| if upper == 1 { t } else { 1.0 - t };
                let weight = weight(a, ti) * weight(b, tj) * weight(e, tk);
                if weight == 0.0 {
                    continue;
                }
                let from = at + a * s[0] + b * s[1] + e * s[2];
                for c in 0..N {
                    parts[c][i] += weight * change[c * len + from];
                }
            }
        }
    });
    fine.q = q;
}
