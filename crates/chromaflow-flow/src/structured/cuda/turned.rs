#![allow(unsafe_code)]
//! Faces between turned sides, for `join_turned` of `boundary.cu`.

use super::super::StructuredSystem;
use super::StructuredCuda;
use super::arguments::JoinTurned;
use crate::gpu::{blocks, optional};
use crate::grid::GridCuda;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use chromaflow_device::enqueue;
use std::collections::HashMap;
use std::ops::Range;

/// As [`StructuredSystem`] has them, in stages: no two faces of one are of the same cell of side b.
pub(super) struct TurnedTable {
    /// Face, distance of neighbors, axis, 1 at its high end; of both sides of each face.
    pub sides: DeviceBuffer<u32>,
    /// Matrices from side a to side b, `[faces, 9]`.
    pub turns: DeviceBuffer<f64>,
    pub stages: Vec<Range<usize>>,
}

impl TurnedTable {
    pub fn new(stream: &Stream, solver: &StructuredSystem, grid: &GridCuda) -> Result<Self, GpuError> {
        let mut by_stage = Vec::new();
        let mut seen: HashMap<(usize, usize), usize> = HashMap::new();
        for face in &solver.turned {
            let stage = seen.entry(face.cell()).or_default();
            if by_stage.len() <= *stage {
                by_stage.push(Vec::new());
            }
            by_stage[*stage].push(face);
            *stage += 1;
        }
        let mut first = 0;
        let stages = by_stage.iter().map(|faces| {
            first += faces.len();
            first - faces.len()..first
        });
        let stages = stages.collect();
        let side = |side: &super::super::boundary::turned::Side| {
            let step = solver.blocks[side.block].cells.stride[side.axis];
            let at = grid.offsets()[side.block] + side.at;
            [at as u32, step as u32, side.axis as u32, u32::from(side.out > 0.0)]
        };
        let faces = || by_stage.iter().flatten();
        let sides: Vec<u32> = faces().flat_map(|face| face.sides.iter().flat_map(side)).collect();
        let turns: Vec<f64> = faces().flat_map(|face| face.turn.into_iter().flatten()).collect();
        Ok(Self { sides: stream.upload(&sides)?, turns: stream.upload(&turns)?, stages })
    }
}

impl StructuredCuda {
    /// Fluxes between turned sides, where a limiter looks at components.
    pub(super) fn join_turned(&self) -> Result<(), GpuError> {
        let turned = &self.tables.turned;
        for stage in &turned.stages {
            let count = stage.len();
            let launch = self.at_boundary.join_turned.launch(blocks(count, 128), 128);
            // SAFETY: faces have two cells on either side, ghosts among them; no two of a stage belong to one cell of side b.
            unsafe {
                enqueue! { launch, &self.stream, JoinTurned {
                    count: count as u32, total: self.total(),
                    sides: turned.sides.part(8 * stage.start..8 * stage.end),
                    turns: turned.turns.part(9 * stage.start..9 * stage.end), w: &self.w, area: &self.area,
                    jumps: optional(&self.jumps), setup: &self.setup, r: &self.r,
                } }?;
            }
        }
        Ok(())
    }
}
