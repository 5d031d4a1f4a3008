#![allow(unsafe_code)]
//! Coarse grids on the device. Twin: lax_wendroff/multigrid.rs.

use super::super::multigrid::Level;
use super::arguments::{CoarseKernels, FinerChanges, Inject, Interpolate, Kernels};
use super::tables::{Parts, Tables};
use super::{KEPT, Work, kernel_source};
use crate::equations::perfect_gas::N;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Read, Stream, Watch};
use chromaflow_device::{enqueue, kernel_arguments};

/// Changes of a finer grid's nodes: `now`, less `before` where it is given.
pub(super) struct Finer<'a> {
    pub tables: &'a Tables,
    pub now: &'a DeviceBuffer<f64>,
    pub before: Option<&'a DeviceBuffer<f64>>,
}

impl Finer<'_> {
    /// As `cell_changes` takes them.
    pub(super) fn arguments(&self) -> FinerChanges {
        let nodes = &self.tables.nodes;
        kernel_arguments! { FinerChanges {
            now: self.now, before: self.before, finer_total: nodes.len() as u64,
            finer_blocks: nodes.records(),
        } }
    }

    /// Those of no finer grid.
    pub(super) const NONE: FinerChanges =
        FinerChanges { now: Watch::NONE, before: Watch::NONE, finer_total: 0, finer_blocks: Read::NONE };
}

/// A coarse grid.
pub(super) struct CoarseLevel {
    tables: Tables,
    kernels: Kernels,
    own: CoarseKernels,
    /// Fine cells along a side of a coarse one, three a block.
    factors: DeviceBuffer<u32>,
    q: DeviceBuffer<f64>,
    kept: DeviceBuffer<f64>,
    dropped: DeviceBuffer<f64>,
    change: DeviceBuffer<f64>,
}

impl CoarseLevel {
    pub(super) fn new(stream: &Stream, level: &Level) -> Result<Self, GpuError> {
        let parts = Parts {
            grid: &level.grid,
            blocks: &level.blocks,
            patches: &level.patches,
            points: &level.points,
            shared_nodes: &level.shared_nodes,
        };
        let tables = Tables::new(stream, &parts)?;
        let module = stream.gpu().module(&kernel_source(false, true))?;
        let factors: Vec<u32> = level.factors.iter().flatten().map(|&f| f as u32).collect();
        let (len, faces) = (tables.nodes.len(), tables.face_count());
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        Ok(Self {
            kernels: Kernels::of(&module)?,
            own: CoarseKernels::of(&module)?,
            factors: stream.upload(&factors)?,
            q: buffer(N * len)?,
            kept: buffer(KEPT * len)?,
            dropped: buffer(N * faces)?,
            change: buffer(N * len)?,
            tables,
        })
    }

    /// The changes that this grid has taken and carried.
    pub(super) fn changes(&self) -> Finer<'_> {
        Finer { tables: &self.tables, now: &self.change, before: None }
    }

    /// Takes the changes of the next finer grid, distributes them here and adds the result to the finest grid's states.
    pub(super) fn carry(
        &mut self,
        stream: &Stream,
        setup: &DeviceBuffer<f64>,
        courant: f64,
        finer: &Finer<'_>,
        finest: &Tables,
        state: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (total, finest_total) = (self.tables.nodes.len() as u64, finest.nodes.len() as u64);
        // SAFETY: a coarse node times its block's factors is a fine one.
        unsafe {
            enqueue! { self.tables.nodes.launch(&self.own.inject), stream, Inject {
                over: self.tables.nodes.chunk_records(), total, finest: finest.nodes.records(), finest_total,
                factors: &self.factors, from: state, q: &self.q,
            } }?;
        }
        let work = Work {
            stream,
            kernels: &self.kernels,
            tables: &self.tables,
            setup,
            q: &self.q,
            kept: &self.kept,
            dropped: &self.dropped,
            steps: None,
            fluxes: None,
        };
        work.cells(courant, 0.0, Some(finer))?;
        work.nodes(&self.change)?;
        work.close_boundary(&self.change)?;
        // SAFETY: fine nodes lie between coarse ones of the same block.
        Ok(unsafe {
            enqueue! { finest.nodes.launch(&self.own.interpolate), stream, Interpolate {
                finest: finest.nodes.records(), chunks: finest.nodes.chunks(), finest_total,
                blocks: self.tables.nodes.records(), total, factors: &self.factors, change: &self.change,
                setup, q: state,
            } }
        }?)
    }
}
