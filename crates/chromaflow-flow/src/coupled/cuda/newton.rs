#![allow(unsafe_code)]
//! A system that the flow depends on, in a Newton-Krylov step of both. Twin: ../system.rs.

use super::{CoupledSystemCuda, FlowViewCuda};
use crate::gpu::blocks;
use crate::march::Moment;
use chromaflow::gpu::{GpuError, Storage, Vectors};
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Kernel, Module, Stream};
use std::ops::Range;
use std::sync::Arc;

/// What such a step needs of a system besides what all steps do.
pub(super) struct Driving {
    vectors: Vectors,
    /// Values and residual where the derivative is taken.
    values: DeviceBuffer<f64>,
    residual: DeviceBuffer<f64>,
    /// V/dt of each node.
    pseudo_time: DeviceBuffer<f64>,
    /// What is preconditioned, and what becomes of it.
    r: DeviceBuffer<f64>,
    z: DeviceBuffer<f64>,
    /// Of one unknown, and of one residual: with these they are as large as the flow's.
    units: [f64; 2],
    slopes: Kernel,
    held_slopes: Kernel,
}

impl Driving {
    pub(super) fn new(
        stream: &Stream,
        module: &Arc<Module>,
        nb: usize,
        rows: usize,
    ) -> Result<Self, GpuError> {
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        Ok(Self {
            vectors: Vectors::new(stream, Storage::F64)?,
            values: buffer(nb * rows)?,
            residual: buffer(nb * rows)?,
            pseudo_time: buffer(rows)?,
            r: buffer(nb * rows)?,
            z: buffer(nb * rows)?,
            units: [1.0; 2],
            slopes: module.kernel("slopes")?,
            held_slopes: module.kernel("held_slopes")?,
        })
    }
}

const DRIVES: &str = "the flow depends on this system";

impl CoupledSystemCuda {
    /// Whether the flow depends on this system.
    pub fn drives_flow(&self) -> bool {
        self.driving.is_some()
    }

    /// The number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.residual.len()
    }

    /// Makes the matrix, ready to precondition with; whether its factors can be solved with.
    ///
    /// # Errors
    /// The device's.
    pub fn factor(&mut self, flow: &FlowViewCuda<'_>, at: &Moment) -> Result<bool, GpuError> {
        self.enqueue_matrix(flow, at)?;
        let driving = self.driving.as_mut().expect(DRIVES);
        self.physics.pseudo_time(flow, at, &mut driving.pseudo_time)?;
        self.linear.find_scale()?;
        self.linear.factor()
    }

    /// Takes the present values and residual as those at which the derivative is taken, and units in which they are as large as a flow
    /// of this size with a residual of this norm.
    ///
    /// # Errors
    /// The device's.
    pub fn set_base(&mut self, size: f64, norm: f64, sums: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        let driving = self.driving.as_mut().expect(DRIVES);
        driving.values.copy_from(&self.state.values.slice())?;
        driving.residual.copy_from(&self.residual.slice())?;
        let (values, residual) = (&driving.values, &driving.residual);
        let squares = driving.vectors.dots([(values, values), (residual, residual)], sums)?;
        let unit = |square: f64, whole: f64| {
            Some(square.sqrt() / whole).filter(|ratio| ratio.is_normal()).unwrap_or(1.0)
        };
        driving.units = [unit(squares[0], size), unit(squares[1], norm)];
        Ok(())
    }

    /// Sets the values to q + h v, v in the unit of unknowns.
    ///
    /// # Errors
    /// The device's.
    pub fn set_beside(&mut self, h: f64, v: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        let (driving, values) = (self.driving.as_ref().expect(DRIVES), &mut self.state.values);
        values.copy_from(&driving.values.slice())?;
        let all = 0..values.len();
        driving.vectors.axpby_part(h * driving.units[0], v, 1.0, (values, all))
    }

    /// y = V/dt v + (R(q + h v) - R(q)) / h, with the present residual that of q + h v; unknowns and residuals in their units.
    ///
    /// # Errors
    /// The device's.
    pub fn differentiate(
        &self,
        flow: &FlowViewCuda<'_>,
        h: f64,
        v: &DeviceSlice<'_, f64>,
        y: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        let (driving, held) = (self.driving.as_ref().expect(DRIVES), &self.state.held);
        assert!(v.len() == self.unknowns() && y.len() == self.unknowns());
        let [unit, residual_unit] = driving.units;
        let slopes = driving.slopes.launch(blocks(self.unknowns(), 256), 256).arg(flow.mesh.rows as u32);
        let slopes = slopes.arg(&self.residual).arg(&driving.residual).arg(&driving.pseudo_time).arg(v.ptr());
        let slopes = slopes.arg(1.0 / h).arg(unit).arg(residual_unit).arg(y.ptr());
        let held_slopes = driving.held_slopes.launch(blocks(held.len(), 128), 128).arg(held.len() as u32);
        // SAFETY: vectors have nb values a row, and V/dt one; held nodes are rows.
        unsafe {
            slopes.enqueue(flow.stream)?;
            Ok(held_slopes.arg(held).arg(v.ptr()).arg(y.ptr()).enqueue(flow.stream)?)
        }
    }

    /// z = M^-1 r with the matrix last factored, z a part of a vector; unknowns and residuals in their units.
    ///
    /// # Errors
    /// The device's.
    pub fn precondition(
        &mut self,
        r: &DeviceSlice<'_, f64>,
        z: (&mut DeviceBuffer<f64>, Range<usize>),
    ) -> Result<(), GpuError> {
        let driving = self.driving.as_mut().expect(DRIVES);
        let [unit, residual_unit] = driving.units;
        driving.r.copy_from(r)?;
        self.linear.preconditioner().apply(&driving.r, &mut driving.z)?;
        driving.vectors.axpby_part(residual_unit / unit, &driving.z.slice(), 0.0, z)
    }

    /// Writes the residual in its unit into a part of a vector.
    ///
    /// # Errors
    /// The device's.
    pub fn residual_into(&self, to: (&mut DeviceBuffer<f64>, Range<usize>)) -> Result<(), GpuError> {
        let driving = self.driving.as_ref().expect(DRIVES);
        driving.vectors.axpby_part(1.0 / driving.units[1], &driving.residual.slice(), 0.0, to)
    }

    /// Gives up an update.
    ///
    /// # Errors
    /// The device's.
    pub fn clear_update(&mut self) -> Result<(), GpuError> {
        Ok(self.update.fill_bytes(0)?)
    }

    /// Returns to where the derivative was taken, with this update, which is given in the unit of unknowns.
    ///
    /// # Errors
    /// The device's.
    pub fn set_update(&mut self, update: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        let driving = self.driving.as_ref().expect(DRIVES);
        self.state.values.copy_from(&driving.values.slice())?;
        self.residual.copy_from(&driving.residual.slice())?;
        let all = 0..self.update.len();
        driving.vectors.axpby_part(driving.units[0], update, 0.0, (&mut self.update, all))
    }
}
