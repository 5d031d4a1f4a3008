#![allow(unsafe_code)]
//! Coarse grids on the device. Twin: lax_wendroff/multigrid.rs.

use super::super::multigrid::Level;
use super::tables::{Parts, Tables};
use super::{KEPT, Kernels, Work};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, Stream};

/// Changes of a finer grid's nodes: `now`, less `before` where it is given.
pub(super) struct Finer<'a> {
    pub tables: &'a Tables,
    pub now: &'a DeviceBuffer<f64>,
    pub before: Option<&'a DeviceBuffer<f64>>,
}

impl Finer<'_> {
    /// As `cell_changes` takes them.
    pub(super) fn arguments(&self) -> [u64; 4] {
        let nodes = &self.tables.nodes;
        let before = self.before.map_or(0, DeviceBuffer::ptr);
        [self.now.ptr(), before, nodes.len() as u64, nodes.records().ptr()]
    }
}

/// A coarse grid.
pub(super) struct CoarseLevel {
    tables: Tables,
    kernels: Kernels,
    inject: Kernel,
    interpolate: Kernel,
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
        let (kernels, [_, nodes, _]) = Kernels::new(stream, false, true)?;
        let factors: Vec<u32> = level.factors.iter().flatten().map(|&f| f as u32).collect();
        let (len, faces) = (tables.nodes.len(), tables.face_count());
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        Ok(Self {
            kernels,
            inject: nodes.kernel("inject")?,
            interpolate: nodes.kernel("interpolate")?,
            factors: stream.upload(&factors)?,
            q: buffer(5 * len)?,
            kept: buffer(KEPT * len)?,
            dropped: buffer(5 * faces)?,
            change: buffer(5 * len)?,
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
        let launch = self.tables.nodes.launch(&self.inject).arg(total).arg(finest.nodes.records());
        let launch = launch.arg(finest_total).arg(&self.factors).arg(state).arg(&self.q);
        // SAFETY: a coarse node times its block's factors is a fine one.
        unsafe { launch.enqueue(stream)? };
        let work = Work {
            stream,
            kernels: &self.kernels,
            tables: &self.tables,
            setup,
            q: &self.q,
            kept: &self.kept,
            dropped: &self.dropped,
            steps: 0,
            fluxes: 0,
        };
        work.cells(courant, 0.0, Some(finer))?;
        work.nodes(&self.change)?;
        work.close_boundary(&self.change)?;
        let launch = finest.nodes.launch(&self.interpolate).arg(finest_total);
        let launch = launch.arg(self.tables.nodes.records()).arg(total).arg(&self.factors);
        let launch = launch.arg(&self.change).arg(setup).arg(state);
        // SAFETY: fine nodes lie between coarse ones of the same block.
        Ok(unsafe { launch.enqueue(stream) }?)
    }
}
