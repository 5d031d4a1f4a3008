#![allow(unsafe_code)]
//! Symmetric successive over-relaxation on a GPU: a launch a plane, all of a step in one graph.

use super::super::{StructuredSystem, ViscousTerms};
use super::arguments::{BoundaryCells, FaceDamping, SweepKernels, SweepPlane};
use super::setup::constants;
use super::{Step, kernel};
use crate::equations::perfect_gas::{N, NN};
use crate::gpu::blocks;
use crate::grid::{FieldLayout, GridCuda};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Graph, KernelSource, Stream};
use chromaflow_device::enqueue;
use std::ops::Range;

/// Cells of a plane that a thread block takes.
const GROUP: usize = 128;

/// The kernels' text.
pub(super) fn source(constants: [u32; 2]) -> KernelSource {
    let text = format!(
        "#line 1 \"blocks.cuh\"\n{}\n#line 1 \"ssor.cu\"\n{}",
        include_str!("blocks.cuh"),
        include_str!("ssor.cu")
    );
    kernel("structured_ssor", &text, constants).records::<SweepKernels>()
}

/// Sweeps over the planes i + j + k = const of all blocks.
pub(super) struct Sweeps {
    count: usize,
    relaxation: f64,
    kernels: SweepKernels,
    /// Places of cells plane by plane and the numbers of their factored blocks; groups of them, and those of each plane.
    order: DeviceBuffer<u32>,
    groups: DeviceBuffer<u32>,
    planes: Vec<Range<usize>>,
    /// Cells next to the boundary, and their factored blocks.
    dense: DeviceBuffer<u32>,
    factors: DeviceBuffer<f64>,
    /// Areas with zeros where the boundary's fluxes take the place of those between cells.
    open: DeviceBuffer<f64>,
    damping: DeviceBuffer<f64>,
    x: DeviceBuffer<f64>,
    /// The work of a step by the address of its state, which alternates between two.
    graphs: Vec<(u64, Graph)>,
}

impl Sweeps {
    pub(super) fn new(
        stream: &Stream,
        solver: &StructuredSystem,
        grid: &GridCuda,
        sweeps: usize,
        relaxation: f64,
    ) -> Result<Self, GpuError> {
        let terms: Option<ViscousTerms> = solver.physics.transport.is_some().then_some(solver.physics.terms);
        let module = stream.gpu().module(&source(constants(solver.physics.scheme, terms)))?;
        let (mut order, mut dense) = (Vec::new(), Vec::new());
        let mut starts = Vec::new();
        for (b, (field, block)) in solver.ssor.blocks.iter().zip(&solver.blocks).enumerate() {
            starts.push(order.len() / 2);
            let before = (dense.len() / 4) as u32;
            for (&at, &number) in field.order.iter().zip(&field.dense) {
                let number = if number == u32::MAX { number } else { before + number };
                order.extend([grid.offsets()[b] as u32 + at, number]);
            }
            for &n in &field.dense_cells {
                let cell = block.cells.cell(field.order[n as usize] as usize);
                dense.extend([b as u32, cell[0] as u32, cell[1] as u32, cell[2] as u32]);
            }
        }
        let (mut groups, mut planes) = (Vec::new(), Vec::new());
        let count = solver.ssor.blocks.iter().map(|f| f.planes.len() - 1).max().unwrap_or(0);
        for plane in 0..count {
            let first = groups.len() / 4;
            for (b, field) in solver.ssor.blocks.iter().enumerate() {
                let Some(ends) = field.planes.get(plane..plane + 2) else { continue };
                for start in (ends[0]..ends[1]).step_by(GROUP) {
                    let cells = (ends[1] - start).min(GROUP);
                    groups.extend([b as u32, (starts[b] + start) as u32, cells as u32, 0]);
                }
            }
            planes.push(first..groups.len() / 4);
        }
        Ok(Self {
            count: sweeps,
            relaxation,
            kernels: SweepKernels::of(&module)?,
            order: stream.upload(&order)?,
            groups: stream.upload(&groups)?,
            planes,
            factors: DeviceBuffer::zeroed(stream, NN * dense.len() / 4)?,
            dense: stream.upload(&dense)?,
            open: grid.upload(solver.blocks.iter().map(|b| b.open.as_flattened().concat()), 9)?,
            damping: DeviceBuffer::zeroed(stream, 3 * grid.len())?,
            x: DeviceBuffer::zeroed(stream, N * grid.len())?,
            graphs: Vec::new(),
        })
    }

    /// The update.
    pub(super) fn update(&self) -> &DeviceBuffer<f64> {
        &self.x
    }

    /// All sweeps of a step.
    pub(super) fn solve(&mut self, step: &Step<'_>) -> Result<(), GpuError> {
        if !step.exchange.is_recordable() {
            return self.enqueue(step);
        }
        let state = step.w.ptr();
        if !self.graphs.iter().any(|g| g.0 == state) {
            let mut done = Ok(());
            let graph = step.stream.capture(|| {
                done = self.enqueue(step);
                Ok(())
            });
            done?;
            // Another state was uploaded: what was recorded before is of no use.
            if self.graphs.len() > 1 {
                self.graphs.clear();
            }
            self.graphs.push((state, graph?));
        }
        let graph = self.graphs.iter_mut().find(|g| g.0 == state).expect("recorded above");
        Ok(graph.1.launch(step.stream)?)
    }

    fn enqueue(&mut self, step: &Step<'_>) -> Result<(), GpuError> {
        let (t, total, dense) = (step.tables, step.total(), self.dense.len() / 4);
        self.x.fill_bytes(0)?;
        // SAFETY: arrays of the grid; cells have ghosts on all sides.
        unsafe {
            enqueue! { step.grid.launch(&self.kernels.face_damping), step.stream, FaceDamping {
                over: step.grid.chunk_records(), total, actives: &t.actives, w: step.w, open: &self.open,
                volume: step.volume, setup: step.setup, damping: &self.damping,
            } }?;
        }
        // SAFETY: cells of the grid, with room for 25 numbers each.
        unsafe {
            enqueue! { self.kernels.boundary_cells.launch(blocks(dense, GROUP), GROUP), step.stream, BoundaryCells {
                count: dense as u32, total, blocks: step.grid.records(), cells: &self.dense,
                actives: &t.actives, ends: step.ends(), w: step.w, area: step.area, damping: &self.damping,
                taus: step.tau, setup: step.setup, factors: &self.factors,
            } }?;
        }
        for sweep in 0..2 * self.count {
            if sweep > 0 {
                step.exchange.fill(step.stream, &mut self.x, N, FieldLayout::Components)?;
            }
            for n in 0..self.planes.len() {
                let plane = if sweep % 2 == 1 { self.planes.len() - 1 - n } else { n };
                let groups = &self.planes[plane];
                // SAFETY: no cell of a plane reads another's update, and each has neighbors or ghosts on all sides.
                unsafe {
                    enqueue! { self.kernels.sweep_plane.launch(groups.len(), GROUP), step.stream, SweepPlane {
                        total, blocks: step.grid.records(),
                        groups: self.groups.part(4 * groups.start..4 * groups.end), order: &self.order,
                        actives: &t.actives, dense: dense as u32, factors: &self.factors, w: step.w,
                        open: &self.open, damping: &self.damping, taus: step.tau, r: step.r,
                        setup: step.setup, relaxation: self.relaxation, x: &self.x,
                    } }?;
                }
            }
        }
        Ok(())
    }

    /// Doubles a cell that the sweeps have to move: state and update of a cell once, areas, dissipation, tau and residual, the
    /// update back.
    pub(super) fn doubles(&self) -> f64 {
        2.0 * self.count as f64 * super::super::measure::SWEEP
    }
}
