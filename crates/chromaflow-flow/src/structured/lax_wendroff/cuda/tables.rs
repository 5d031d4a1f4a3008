//! A grid's nodes, cells and boundary on the device: what one level of the scheme looks up.

use super::super::block::NodeBlock;
use super::super::boundary::{NodePatch, Point};
use super::super::shared_nodes::SharedNodes;
use crate::bc::Condition;
use crate::gpu::upload_structs;
use crate::grid::{Cells, Grid, GridCuda, Side};
use crate::structured::cuda::setup::numbers_on_sides;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use std::collections::BTreeMap;

/// What a level is made from.
pub(super) struct Parts<'a> {
    pub grid: &'a Grid,
    pub blocks: &'a [NodeBlock],
    pub patches: &'a [NodePatch],
    pub points: &'a [Point],
    pub shared_nodes: &'a SharedNodes,
}

/// One grid on the device. Everything has the layout of its nodes: a cell, and a face towards it, has the place of its lowest
/// node.
pub(super) struct Tables {
    pub nodes: GridCuda,
    /// One bit an axis, a word a block.
    pub actives: DeviceBuffer<u32>,
    /// `[3 axes, 3]`, volumes of cells, of nodes (with a minus where several copies share one), of their own part.
    pub area: DeviceBuffer<f64>,
    pub volume: DeviceBuffer<f64>,
    pub node_volume: DeviceBuffer<f64>,
    pub own_volume: DeviceBuffer<f64>,
    /// Ghost node, node, the next, the one after.
    pub ghosts: DeviceBuffer<u32>,
    /// Copies of shared nodes.
    pub shared_ptr: DeviceBuffer<u32>,
    pub shared: DeviceBuffer<u32>,
    pub conditions: DeviceBuffer<u64>,
    pub sides: DeviceBuffer<u32>,
    /// Cell, patch and block of each of the boundary's faces, patch by patch; their middles, `[3, faces]`.
    pub faces: DeviceBuffer<u32>,
    pub middles: DeviceBuffer<f64>,
    /// Number of the face at each place of each side of each block.
    pub side_ptr: DeviceBuffer<u32>,
    pub face_of: DeviceBuffer<u32>,
    /// Conditions of the boundary's nodes, patch and area of each; places and copies of the nodes.
    pub point_ptr: DeviceBuffer<u32>,
    pub point_patch: DeviceBuffer<u32>,
    pub point_area: DeviceBuffer<f64>,
    pub point_at: DeviceBuffer<f64>,
    pub copy_ptr: DeviceBuffer<u32>,
    pub copies: DeviceBuffer<u32>,
}

impl Tables {
    pub(super) fn new(stream: &Stream, from: &Parts<'_>) -> Result<Self, GpuError> {
        let nodes = GridCuda::over(stream, from.blocks.iter().map(|b| b.nodes).collect())?;
        let offsets = nodes.offsets().to_vec();
        let blocks = from.blocks;
        let axes = |b: &NodeBlock| (0..3).map(|d| u32::from(b.active[d]) << d).sum::<u32>();
        let spread = |b: &NodeBlock, values: &[f64], components: usize| -> Vec<f64> {
            (0..components).flat_map(|c| to_nodes(b, &values[c * b.cells.len()..])).collect()
        };
        let area = blocks.iter().map(|b| spread(b, &b.metrics.area.as_flattened().concat(), 9));
        let mut whole: Vec<Vec<f64>> = blocks.iter().map(|b| inside(b, &b.volume)).collect();
        let (mut shared_ptr, mut shared) = (vec![0], Vec::new());
        for copies in &from.shared_nodes.shared {
            for &(b, node) in copies {
                let at = blocks[b].nodes.inside(node);
                whole[b][at] = -whole[b][at];
                shared.push((offsets[b] + at) as u32);
            }
            shared_ptr.push(shared.len() as u32);
        }
        let faces = faces(from, &offsets);
        let cells: Vec<Cells> = blocks.iter().map(|b| b.cells).collect();
        let on_sides = faces.cells.iter().map(|&(p, cell)| (from.patches[p].window, cell));
        let (side_ptr, face_of) = numbers_on_sides(&cells, on_sides);
        let points = conditions(from, &offsets);
        let conditions: Vec<Condition<f64>> = from.patches.iter().map(|p| p.condition).collect();
        let sides: Vec<u32> = (from.patches.iter())
            .flat_map(|p| [p.window.side.axis as u32, u32::from(p.window.side.high)])
            .collect();
        Ok(Self {
            actives: stream.upload(&blocks.iter().map(axes).collect::<Vec<u32>>())?,
            area: nodes.upload(area, 9)?,
            volume: nodes.upload(blocks.iter().map(|b| spread(b, &b.metrics.volume, 1)), 1)?,
            node_volume: nodes.upload(&whole, 1)?,
            own_volume: nodes.upload(blocks.iter().map(|b| inside(b, &b.own_volume)), 1)?,
            ghosts: stream.upload(&ghosts(from, &offsets))?,
            shared_ptr: stream.upload(&shared_ptr)?,
            shared: stream.upload(&shared)?,
            conditions: upload_structs(stream, &conditions)?,
            sides: stream.upload(&sides)?,
            faces: stream.upload(&faces.records)?,
            middles: stream.upload(&faces.middles)?,
            side_ptr: stream.upload(&side_ptr)?,
            face_of: stream.upload(&face_of)?,
            point_ptr: stream.upload(&points.ptr)?,
            point_patch: stream.upload(&points.patch)?,
            point_area: stream.upload(&points.area)?,
            point_at: stream.upload(&points.at)?,
            copy_ptr: stream.upload(&points.copy_ptr)?,
            copies: stream.upload(&points.copies)?,
            nodes,
        })
    }

    /// Faces of the boundary.
    pub(super) fn face_count(&self) -> usize {
        self.faces.len() / 3
    }
}

/// One component of a cells' array at the cells' lowest nodes; faces beyond the last cell are at the last nodes.
fn to_nodes(block: &NodeBlock, values: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; block.nodes.len()];
    for start in block.nodes.rows() {
        let node = block.nodes.cell(start).map(|n| n as usize);
        let from = block.cells.inside(node);
        let points = block.nodes.count[0];
        out[start..start + points].copy_from_slice(&values[from..from + points]);
    }
    out
}

/// Values of nodes among ghosts.
fn inside(block: &NodeBlock, values: &[f64]) -> Vec<f64> {
    let (mut out, points) = (vec![0.0; block.nodes.len()], block.nodes.count[0]);
    if !values.is_empty() {
        for (start, values) in block.nodes.rows().zip(values.chunks_exact(points)) {
            out[start..start + points].copy_from_slice(values);
        }
    }
    out
}

struct Faces {
    records: Vec<u32>,
    middles: Vec<f64>,
    /// Patch and cell.
    cells: Vec<(usize, [usize; 3])>,
}

fn faces(from: &Parts<'_>, offsets: &[usize]) -> Faces {
    let (mut records, mut middles, mut cells) = (Vec::new(), [const { Vec::new() }; 3], Vec::new());
    for (p, patch) in from.patches.iter().enumerate() {
        let b = patch.window.block;
        let block = &from.blocks[b];
        if !patch.counts(block) {
            continue;
        }
        for face in patch.faces(from.grid, block) {
            let at = offsets[b] + block.nodes.inside(face.cell);
            records.extend([at, p, b].map(|n| n as u32));
            for c in 0..3 {
                middles[c].push(face.middle[c]);
            }
            cells.push((p, face.cell));
        }
    }
    Faces { records, middles: middles.concat(), cells }
}

struct Conditions {
    ptr: Vec<u32>,
    patch: Vec<u32>,
    area: Vec<f64>,
    at: Vec<f64>,
    copy_ptr: Vec<u32>,
    copies: Vec<u32>,
}

/// Conditions node by node, those of a node in the order in which the host takes them.
fn conditions(from: &Parts<'_>, offsets: &[usize]) -> Conditions {
    let mut by_node = BTreeMap::<(usize, usize), Vec<&Point>>::new();
    for point in from.points {
        by_node.entry(point.copies[0]).or_default().push(point);
    }
    let mut out = Conditions {
        ptr: vec![0],
        patch: Vec::new(),
        area: Vec::new(),
        at: Vec::new(),
        copy_ptr: vec![0],
        copies: Vec::new(),
    };
    // One patch of a condition stands for all.
    let patch = |c: Condition<f64>| from.patches.iter().position(|p| p.condition == c).unwrap_or(0);
    for points in by_node.values() {
        for point in points {
            out.patch.push(patch(point.condition) as u32);
            out.area.extend(point.area);
        }
        out.at.extend(points[0].at);
        out.ptr.push(out.patch.len() as u32);
        out.copies.extend(points[0].copies.iter().map(|&(b, at)| (offsets[b] + at) as u32));
        out.copy_ptr.push(out.copies.len() as u32);
    }
    out
}

/// Ghosts beyond patches, then those beyond interfaces, which come last where a ghost is beyond both.
fn ghosts(from: &Parts<'_>, offsets: &[usize]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut all = BTreeMap::<usize, [u32; 3]>::new();
    for patch in from.patches {
        let b = patch.window.block;
        let cells: Cells = from.blocks[b].nodes;
        let Side { axis, high } = patch.window.side;
        let s = cells.stride[axis];
        for node in patch.window.nodes() {
            let at = offsets[b] + cells.inside(node);
            let (ghost, one, two) =
                if high { (at + s, at - s, at - 2 * s) } else { (at - s, at + s, at + 2 * s) };
            let two = if cells.count[axis] > 2 { two as u32 } else { NONE };
            all.insert(ghost, [at as u32, one as u32, two]);
        }
    }
    for &[(a, ghost), (b, node)] in &from.shared_nodes.ghosts {
        all.insert(offsets[a] + ghost, [(offsets[b] + node) as u32, NONE, NONE]);
    }
    all.into_iter().flat_map(|(ghost, [node, one, two])| [ghost as u32, node, one, two]).collect()
}
