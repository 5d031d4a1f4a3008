//! The boundary: fluxes through it, and the states of its nodes.

use super::block::NodeBlock;
use super::cells::STEP;
use super::pointwise::{boundary_face_state, bounded_state, corner_gradient, corner_mean, face_flux};
use crate::bc::{Condition, ConditionClass, ConditionKind, condition_class};
use crate::equations::perfect_gas::{N, State};
use crate::flux::flux_change;
use crate::gas::{Gas, Transport, conserved, primitive, temperature, viscosity};
use crate::grid::{Grid, Side, Window};
use crate::march::{FlowError, slides};
use crate::viscous::traction;
use std::collections::BTreeMap;

/// A patch: its window and what holds there.
#[derive(Clone, Debug)]
pub(super) struct NodePatch {
    pub name: String,
    pub condition: Condition<f64>,
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

    /// That the condition is one that this scheme has, and that a moving wall slides along itself.
    pub(super) fn check(&self, grid: &Grid, block: &NodeBlock) -> Result<(), FlowError> {
        if self.condition.mass_flow > 0.0 {
            return Err(FlowError::Unsupported {
                marker: self.name.clone(),
                condition: "mass_flow_outlet",
                solver: "the Lax-Wendroff scheme",
                expected: "an `outlet` of given `pressure`",
            });
        }
        let faces = self.faces(grid, block).map(|face| (face.middle, face.area));
        slides(&self.name, self.condition.motion.through(faces))
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
    pub(super) fn flux(&self, gas: Gas<f64>, block: &NodeBlock, face: &Face) -> (State, State) {
        let mut q = [0.0; N];
        for node in face.nodes {
            let state = block.state(block.nodes.inside(node));
            q = std::array::from_fn(|c| q[c] + 0.25 * state[c]);
        }
        let w = boundary_face_state(&self.condition, gas, &primitive(gas, &q), &face.area);
        let through = face_flux(&self.condition, gas, &w, &face.area);
        (w, through)
    }

    /// Second-order terms across the boundary have no partner beyond it: its nodes go without. Viscous fluxes are none there:
    /// nodes keep those on the side of the cell.
    pub(super) fn drop_second_order(&self, grid: &Grid, block: &mut NodeBlock, gas: Gas<f64>, carries: bool) {
        let Side { axis, high } = self.window.side;
        let (wide, points) = (block.wide(), block.nodes.count[0]);
        let sign = if high { 0.125 } else { -0.125 };
        let faces: Vec<Face> = self.faces(grid, block).collect();
        for face in faces {
            let (from, at) = (block.kept_at(face.cell), block.cells.inside(face.cell));
            let mean = corner_mean(gas, &corners_of(block, face.cell));
            let (dt, volume) = (block.kept[from + STEP * wide], block.metrics.volume[at]);
            let areas = [at, at + block.cells.stride[axis]].map(|at| block.metrics.face(axis, at));
            let n = std::array::from_fn(|k| 0.5 * (areas[0][k] + areas[1][k]));
            let [time, scale] = if carries { [1.0, dt / volume] } else { [dt / volume, 1.0] };
            let du = std::array::from_fn(|c| time * block.kept[from + c * wide]);
            let second = flux_change(gas, &mean, &n, &du).map(|s| scale * s);
            for node in face.nodes {
                let to = block.sum_at(node);
                for c in 0..N {
                    block.sums[to + c * points] -= sign * second[c];
                }
            }
        }
    }
}

impl Face {
    /// Friction of the fluid on the face, of the gradient in the cell next to it.
    pub(super) fn friction(&self, gas: Gas<f64>, transport: Transport<f64>, block: &NodeBlock) -> [f64; 3] {
        let at = block.cells.inside(self.cell);
        let q = corners_of(block, self.cell);
        let area =
            std::array::from_fn(|d| [at, at + block.cells.stride[d]].map(|at| block.metrics.face(d, at)));
        let gradient = corner_gradient(gas, &q, &area, block.metrics.volume[at]);
        let mu = transport.scale * viscosity(transport, temperature(gas, &corner_mean(gas, &q)));
        traction(mu, &gradient, &self.area).map(|t| -t)
    }
}

/// Conserved states of a cell's corners.
fn corners_of(block: &NodeBlock, cell: [usize; 3]) -> [State; 8] {
    let (at, s) = (block.nodes.inside(cell), block.nodes.stride);
    std::array::from_fn(|b| block.state(at + (b & 1) * s[0] + (b >> 1 & 1) * s[1] + (b >> 2) * s[2]))
}

/// A node on the boundary, all its copies, and the area of its part of one marker's faces.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub copies: Vec<(usize, usize)>,
    pub condition: Condition<f64>,
    pub area: [f64; 3],
    /// Its place.
    pub at: [f64; 3],
}

/// Whether nothing flows through.
fn closed(condition: &Condition<f64>) -> bool {
    condition_class(condition) != ConditionClass::Open
}

/// The nodes of all patches, walls last, those without slip behind others. A node where a wall with slip turns by more than a right angle (a trailing edge) has no
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
        if !patch.counts(&blocks[b]) || patch.condition.kind == ConditionKind::Extrapolation {
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
    let mut points: Vec<Point> = sums
        .into_iter()
        .filter(|((marker, _), (sum, sizes))| {
            let size = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
            let condition = &patches[*marker].condition;
            !closed(condition) || condition.kind.is_no_slip() || size > 0.7 * sizes
        })
        .map(|((marker, first), (area, _))| {
            let at = grid.blocks[first.0].node(first.1);
            let copies = leader.get(&first).map_or_else(|| vec![first], |group| (*group).clone());
            let copies = copies.into_iter().map(|(b, node)| (b, blocks[b].nodes.inside(node))).collect();
            Point { copies, condition: patches[marker].condition, area, at }
        })
        .collect();
    points.sort_by_key(|p| (closed(&p.condition), p.condition.kind.is_no_slip()));
    points
}

impl Point {
    /// The node's state with the boundary's part in it, from that of the interior.
    pub(super) fn state(&self, gas: Gas<f64>, q: &State) -> State {
        conserved(gas, &bounded_state(&self.condition, gas, &primitive(gas, q), &self.area, &self.at))
    }
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
