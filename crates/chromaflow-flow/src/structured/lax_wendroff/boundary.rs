//! The boundary: fluxes through it, and the states of its nodes.

use super::block::NodeBlock;
use super::cells::SECOND_ORDER;
use crate::bc::{Inlet, bc_farfield, bc_inlet, bc_outlet, flux_slip_wall};
use crate::config::Boundary;
use crate::flux::flux;
use crate::gas::{Gas, conserved, primitive, sound_speed};
use crate::grid::{Grid, Side, Window};
use std::collections::BTreeMap;

/// A patch: its window and what holds there.
#[derive(Clone, Debug)]
pub(super) struct NodePatch {
    pub name: String,
    pub condition: Boundary,
    pub window: Window,
}

/// A face of a patch: its cell, its four nodes, area outwards and middle.
pub(super) struct Face {
    pub cell: [usize; 3],
    pub nodes: [[usize; 3]; 4],
    pub area: [f64; 3],
    pub middle: [f64; 3],
}

impl NodePatch {
    /// Whether fluxes cross it: not on the planes of two-dimensional grids.
    pub(super) fn counts(&self, block: &NodeBlock) -> bool {
        block.active[self.window.side.axis]
    }

    pub(super) fn faces(&self, grid: &Grid, block: &NodeBlock) -> impl Iterator<Item = Face> {
        let (window, nodes, cells) = (self.window, &grid.blocks[self.window.block], block.cells);
        let Side { axis, high } = window.side;
        let [u, v] = window.side.tangential();
        window.cells().map(move |cell| {
            let corners = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(du, dv)| {
                let mut node = cell;
                node[axis] = window.low[axis];
                node[u] += du;
                node[v] += dv;
                node
            });
            let at = cells.inside(cell) + if high { cells.stride[axis] } else { 0 };
            let n = block.metrics.face(axis, at);
            let middle =
                std::array::from_fn(|c| 0.25 * corners.iter().map(|&x| nodes.node(x)[c]).sum::<f64>());
            Face { cell, nodes: corners, area: if high { n } else { n.map(|v| -v) }, middle }
        })
    }

    /// The face's state and the flux out through it: only pressure acts on walls.
    pub(super) fn flux(&self, gas: Gas<f64>, block: &NodeBlock, face: &Face) -> ([f64; 5], [f64; 5]) {
        let mut q = [0.0; 5];
        for node in face.nodes {
            let state = block.state(block.nodes.inside(node));
            q = std::array::from_fn(|c| q[c] + 0.25 * state[c]);
        }
        let w = primitive(gas, &q);
        let through = match self.condition {
            Boundary::SlipWall | Boundary::Symmetry => flux_slip_wall(&w, &face.area),
            _ => flux(gas, &w, &face.area),
        };
        (w, through)
    }

    /// Second-order terms across the boundary have no partner beyond it: its nodes go without.
    pub(super) fn drop_second_order(&self, grid: &Grid, block: &mut NodeBlock) {
        let Side { axis, high } = self.window.side;
        let (wide, points) = (block.wide(), block.nodes.count[0]);
        let sign = if high { 0.125 } else { -0.125 };
        let faces: Vec<Face> = self.faces(grid, block).collect();
        for face in faces {
            let from = block.kept_at(face.cell);
            for node in face.nodes {
                let to = block.sum_at(node);
                for c in 0..5 {
                    let second = block.kept[from + (SECOND_ORDER + 5 * axis + c) * wide];
                    block.sums[to + c * points] -= sign * second;
                }
            }
        }
    }
}

/// A node on the boundary, all its copies, and the area of its part of one marker's faces.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub copies: Vec<(usize, usize)>,
    pub condition: Boundary,
    pub area: [f64; 3],
}

/// The nodes of all patches, walls last. A node where a wall turns by more than a right angle (a trailing edge) has no
/// condition: no direction there is tangential to both sides.
pub(super) fn points(
    grid: &Grid,
    blocks: &[NodeBlock],
    patches: &[NodePatch],
    shared: &[Vec<(usize, [usize; 3])>],
) -> Vec<Point> {
    let mut leader = BTreeMap::new();
    for group in shared {
        for &copy in group {
            leader.insert(copy, group);
        }
    }
    // By marker and first copy: the sum of areas, and of their sizes.
    type Sums = BTreeMap<(usize, (usize, [usize; 3])), ([f64; 3], f64)>;
    let mut sums = Sums::new();
    for (p, patch) in patches.iter().enumerate() {
        let b = patch.window.block;
        if !patch.counts(&blocks[b]) || patch.condition == Boundary::Extrapolation {
            continue;
        }
        let marker = patches.iter().position(|other| other.name == patch.name).unwrap_or(p);
        for face in patch.faces(grid, &blocks[b]) {
            let size = face.area.iter().map(|v| v * v).sum::<f64>().sqrt();
            for node in face.nodes {
                let first = leader.get(&(b, node)).map_or((b, node), |group| group[0]);
                let (sum, sizes) = sums.entry((marker, first)).or_default();
                *sum = std::array::from_fn(|c| sum[c] + face.area[c]);
                *sizes += size;
            }
        }
    }
    let is_wall = |c: Boundary| matches!(c, Boundary::SlipWall | Boundary::Symmetry);
    let mut points: Vec<Point> = sums
        .into_iter()
        .filter(|((marker, _), (sum, sizes))| {
            let size = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
            !is_wall(patches[*marker].condition) || size > 0.7 * sizes
        })
        .map(|((marker, first), (area, _))| {
            let copies = leader.get(&first).map_or_else(|| vec![first], |group| (*group).clone());
            let copies = copies.into_iter().map(|(b, node)| (b, blocks[b].nodes.inside(node))).collect();
            Point { copies, condition: patches[marker].condition, area }
        })
        .collect();
    points.sort_by_key(|p| is_wall(p.condition));
    points
}

impl Point {
    /// The node's state with the boundary's part in it, from that of the interior.
    pub(super) fn state(&self, gas: Gas<f64>, free: &[f64; 5], q: &[f64; 5]) -> [f64; 5] {
        let w = primitive(gas, q);
        let n = &self.area;
        conserved(
            gas,
            &match self.condition {
                Boundary::Farfield => bc_farfield(gas, &w, free, n),
                Boundary::Inlet { total_pressure, total_temperature, direction } => {
                    bc_inlet(gas, &w, Inlet::new(gas, total_pressure, total_temperature, direction), n)
                }
                Boundary::Outlet { pressure } => bc_outlet(gas, &w, pressure / gas.gamma, n),
                Boundary::SlipWall | Boundary::Symmetry => tangential(gas, &w, n),
                _ => w,
            },
        )
    }
}

/// The state without normal velocity that the acoustic wave from the wall leaves behind: dp = rho c u_n, no change of
/// entropy.
fn tangential(gas: Gas<f64>, w: &[f64; 5], n: &[f64; 3]) -> [f64; 5] {
    let size = n.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-300);
    let unit = n.map(|v| v / size);
    let normal = w[1] * unit[0] + w[2] * unit[1] + w[3] * unit[2];
    let c = sound_speed(gas, w);
    let pressure = (w[4] + w[0] * c * normal).max(0.5 * w[4]).min(2.0 * w[4]);
    let rho = w[0] + (pressure - w[4]) / (c * c);
    [rho, w[1] - normal * unit[0], w[2] - normal * unit[1], w[3] - normal * unit[2], pressure]
}

/// Ghosts beyond a patch: parabolas through the line's last nodes, so that third differences end at the boundary.
pub(super) fn continue_beyond(patch: &NodePatch, block: &mut NodeBlock) {
    let Side { axis, high } = patch.window.side;
    let (s, n) = (block.nodes.stride[axis], block.nodes.len());
    let deep = block.nodes.count[axis] > 2;
    for node in patch.window.nodes() {
        let at = block.nodes.inside(node);
        let (ghost, one, two) =
            if high { (at + s, at - s, at - 2 * s) } else { (at - s, at + s, at + 2 * s) };
        for c in 0..6 {
            let q = |at: usize| block.q[c * n + at];
            let value = if deep { 3.0 * (q(at) - q(one)) + q(two) } else { 2.0 * q(at) - q(one) };
            // The pressure switch divides by it.
            let value = if c == 5 { value.max(0.1 * q(at)) } else { value };
            block.q[c * n + ghost] = value;
        }
    }
}
