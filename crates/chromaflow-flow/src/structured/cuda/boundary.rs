#![allow(unsafe_code)]
//! Launches of `boundary.cu`.

use super::StructuredCuda;
use super::arguments::{AdaptByFlows, AdaptOutlets, BoundaryFluxes, BoundaryJacobians, FillGhosts};
use crate::equations::perfect_gas::N;
use crate::gpu::{blocks, optional};
use crate::grid::FieldLayout;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::DeviceBuffer;
use chromaflow_device::enqueue;

impl StructuredCuda {
    /// Back pressures of outlets of given mass flow, a thread block each; over ranks by what flows out on all of them. With `hold` it is the one that the
    /// next are adapted from.
    pub(super) fn adapt_outlets(&self, hold: bool) -> Result<(), GpuError> {
        let (alone, hold) = (u32::from(!self.steps_by_newton()), u32::from(hold));
        let (t, count) = (&self.tables, self.tables.outlet_ptr.len() - 1);
        let share = self.share.as_ref().filter(|_| count > 0);
        let mut flows = share.map(|_| DeviceBuffer::<f64>::zeroed(&self.stream, 2 * count)).transpose()?;
        // SAFETY: parts name ranges of faces of one patch each; flows are two an outlet.
        unsafe {
            enqueue! { self.at_boundary.adapt_outlets.launch(count, 256), &self.stream, AdaptOutlets {
                total: self.total(), ptr: &t.outlet_ptr, parts: &t.outlet_parts, faces: &t.faces,
                sides: &t.sides, w: &self.w, area: &self.area, setup: &self.setup, alone, hold,
                conditions: &t.conditions, flows: flows.as_ref(),
            } }?;
        }
        let (Some(flows), Some(share)) = (&mut flows, share) else { return Ok(()) };
        let mut all = flows.download()?;
        share.sum(&mut all);
        flows.upload(&all)?;
        let launch = self.at_boundary.adapt_by_flows.launch(blocks(count, 128), 128);
        // SAFETY: as above.
        Ok(unsafe {
            enqueue! { launch, &self.stream, AdaptByFlows {
                count: count as u32, ptr: &t.outlet_ptr, parts: &t.outlet_parts, flows: &*flows,
                setup: &self.setup, alone, hold, conditions: &t.conditions,
            } }
        }?)
    }

    /// States beyond boundaries and interfaces; twice in viscous flow, for those beyond edges.
    pub(super) fn fill_ghosts(&mut self) -> Result<(), GpuError> {
        if self.steps_by_newton() {
            self.adapt_outlets(false)?;
        }
        let (t, total) = (&self.tables, self.total());
        let rounds = if self.viscous.is_some() { 2 } else { 1 };
        for _ in 0..rounds {
            for stage in t.stages() {
                // SAFETY: columns are cells with two ghosts above them; no column of a stage reads another's ghosts.
                unsafe {
                    enqueue! { stage.launch(&self.at_boundary.fill_ghosts), &self.stream, FillGhosts {
                        count: stage.count, total, columns: stage.columns, middles: stage.middles,
                        conditions: &t.conditions, sides: &t.sides, laws: stage.laws(), area: &self.area,
                        setup: &self.setup, w: &self.w,
                    } }?;
                }
            }
            self.exchange.fill(&self.stream, &mut self.w, N, FieldLayout::Components)?;
        }
        Ok(())
    }

    /// Fluxes through the boundary, and the forces there.
    pub(super) fn boundary_fluxes(&self) -> Result<(), GpuError> {
        let (t, faces) = (&self.tables, self.face_count());
        let launch = self.at_boundary.boundary_fluxes.launch(blocks(faces, 128), 128);
        // SAFETY: faces name cells and patches; results have five and six numbers a face.
        Ok(unsafe {
            enqueue! { launch, &self.stream, BoundaryFluxes {
                count: faces as u32, total: self.total(), faces: &t.faces, middles: &t.middles,
                conditions: &t.conditions, sides: &t.sides, laws: optional(&t.laws), w: &self.w,
                area: &self.area, volume: &self.volume, setup: &self.setup, free_pressure: self.walls.scale.pressure,
                fluxes: &self.boundary_fluxes, loads: &self.loads,
            } }
        }?)
    }

    /// Derivatives of the fluxes out by the cells' own states.
    pub(in crate::structured) fn boundary_jacobians(&self) -> Result<(), GpuError> {
        let (t, faces) = (&self.tables, self.face_count());
        let launch = self.at_boundary.boundary_jacobians.launch(blocks(faces, 128), 128);
        // SAFETY: faces name cells and patches; 25 numbers a face.
        Ok(unsafe {
            enqueue! { launch, &self.stream, BoundaryJacobians {
                count: faces as u32, total: self.total(), faces: &t.faces, conditions: &t.conditions,
                sides: &t.sides, laws: optional(&t.laws), w: &self.w, area: &self.area, volume: &self.volume,
                setup: &self.setup, jacobians: &self.jacobians,
            } }
        }?)
    }
}
