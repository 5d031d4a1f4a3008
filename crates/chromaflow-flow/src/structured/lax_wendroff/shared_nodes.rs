//! Nodes that several blocks, or several faces of a block, have in common.

use super::block::NodeBlock;
use super::nodes::SUMS;
use crate::grid::{Grid, Window};
use crate::mesh::Groups;

/// Which nodes are one, and which nodes lie beyond interfaces: made once for a grid.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedNodes {
    /// Copies of one node: block and node.
    pub shared: Vec<Vec<(usize, [usize; 3])>>,
    /// Ghost node, the node that it is.
    pub ghosts: Vec<[(usize, usize); 2]>,
}

impl SharedNodes {
    pub(super) fn new(grid: &Grid, blocks: &[NodeBlock]) -> Self {
        let mut first = vec![0];
        for block in &grid.blocks {
            first.push(first[first.len() - 1] + block.nodes.len());
        }
        let id = |b: usize, node: [usize; 3]| (first[b] + grid.blocks[b].index(node)) as u32;
        let mut same = Groups::new(first[first.len() - 1]);
        let mut ghosts = Vec::new();
        for interface in grid.interfaces.iter().flat_map(|i| [i.clone(), i.reversed()]) {
            let (a, b) = (interface.a.block, interface.b.block);
            for node in interface.a.nodes() {
                let signed = node.map(|n| n as isize);
                let other = interface.map.node(signed).map(|n| n as usize);
                same.join(id(a, node), id(b, other));
                let mut beyond = signed;
                beyond[interface.a.side.axis] += if interface.a.side.high { 1 } else { -1 };
                let ghost = (a, blocks[a].nodes.at(beyond));
                ghosts.push([ghost, (b, blocks[b].nodes.at(interface.map.node(beyond)))]);
            }
        }
        // Copies gathered by the lowest of them, in the order of blocks and nodes.
        let mut groups = std::collections::BTreeMap::<u32, Vec<(usize, [usize; 3])>>::new();
        for b in 0..grid.blocks.len() {
            let windows = grid.interfaces.iter().flat_map(|i| [i.a, i.b]).filter(|w| w.block == b);
            let mut nodes: Vec<[usize; 3]> =
                windows.flat_map(|w: Window| w.nodes().collect::<Vec<_>>()).collect();
            nodes.sort_unstable();
            nodes.dedup();
            for node in nodes {
                groups.entry(same.lowest(id(b, node))).or_default().push((b, node));
            }
        }
        Self { shared: groups.into_values().filter(|g| g.len() > 1).collect(), ghosts }
    }

    /// Replaces values of shared nodes by what `join` makes of all copies; `value` finds where one lies in a block's array.
    pub(super) fn join<'a>(
        &self,
        blocks: &'a mut [NodeBlock],
        array: impl Fn(&mut NodeBlock) -> &mut Vec<f64>,
        value: impl Fn(&NodeBlock, [usize; 3]) -> usize,
        (start, join): (f64, impl Fn(f64, f64) -> f64),
    ) where
        Self: 'a,
    {
        for copies in &self.shared {
            let mut sum = start;
            for &(b, node) in copies {
                let at = value(&blocks[b], node);
                sum = join(sum, array(&mut blocks[b])[at]);
            }
            for &(b, node) in copies {
                let at = value(&blocks[b], node);
                array(&mut blocks[b])[at] = sum;
            }
        }
    }

    /// Control volumes of shared nodes, whole.
    pub(super) fn add_up_volumes(&self, blocks: &mut [NodeBlock]) {
        self.join(blocks, |b| &mut b.volume, NodeBlock::number, (0.0, |a, b| a + b));
    }

    /// All sums and time steps of all shared nodes.
    pub(super) fn join_sums(&self, blocks: &mut [NodeBlock]) {
        for c in 0..SUMS {
            let value = |b: &NodeBlock, node| b.sum_at(node) + c * b.nodes.count[0];
            if c < 5 {
                self.join(blocks, |b| &mut b.sums, value, (0.0, |a, b| a + b));
            } else {
                self.join(blocks, |b| &mut b.sums, value, (f64::MAX, f64::min));
            }
        }
    }

    /// Fills the ghosts beyond interfaces.
    pub(super) fn fill(&self, blocks: &mut [NodeBlock]) {
        for &[(a, ghost), (b, node)] in &self.ghosts {
            for c in 0..6 {
                let value = blocks[b].q[c * blocks[b].nodes.len() + node];
                let n = blocks[a].nodes.len();
                blocks[a].q[c * n + ghost] = value;
            }
        }
    }
}
