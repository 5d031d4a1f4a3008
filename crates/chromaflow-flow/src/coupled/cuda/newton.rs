#![allow(unsafe_code)]
//! A system that the flow depends on, in a Newton-Krylov step of both. Twin: ../system.rs.

use super::arguments::{AddPseudoTime, HeldSlopes, Measure as MeasureArguments, Measured, SetBeside, Slopes};
use super::{CoupledSystemCuda, DirectionCuda, FlowViewCuda};
use crate::gpu::blocks;
use crate::march::Moment;
use chromaflow::gpu::{GpuError, Storage, Vectors};
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Kernel, Module, Read, Stream, Write};
use chromaflow_device::kernel_arguments;
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
    /// Of each unknown, and of its residual, `[nb, 2]`: with these, and the values of local unknowns, they are as large as the flow's.
    units: DeviceBuffer<f64>,
    /// The direction of a derivative, where the equations have it themselves, else empty; and whether one is taken.
    changes: DeviceBuffer<f64>,
    directed: bool,
    measured: Kernel,
    set_beside: Kernel,
    slopes: Kernel,
    add_pseudo_time: Kernel,
    measure: Kernel,
    held_slopes: Kernel,
}

/// Between what is measured in units and what is not.
#[derive(Clone, Copy)]
enum Measure {
    ResidualFrom,
    ResidualTo,
    ValueFrom,
    ValueTo,
}

impl Driving {
    pub(super) fn new(
        stream: &Stream,
        module: &Arc<Module>,
        nb: usize,
        rows: usize,
        has_derivative: bool,
    ) -> Result<Self, GpuError> {
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        Ok(Self {
            vectors: Vectors::new(stream, Storage::F64)?,
            values: buffer(nb * rows)?,
            residual: buffer(nb * rows)?,
            pseudo_time: buffer(rows)?,
            r: buffer(nb * rows)?,
            z: buffer(nb * rows)?,
            units: stream.upload(&vec![1.0; 3 * nb])?,
            changes: buffer(if has_derivative { nb * rows } else { 0 })?,
            directed: false,
            measured: module.kernel("measured")?,
            set_beside: module.kernel("set_beside")?,
            slopes: module.kernel("slopes")?,
            add_pseudo_time: module.kernel("add_pseudo_time")?,
            measure: module.kernel("measure")?,
            held_slopes: module.kernel("held_slopes")?,
        })
    }
}

impl Driving {
    /// Whether what the flow takes of this system is that of a step along a direction.
    pub(super) fn is_directed(&self) -> bool {
        self.directed
    }

    /// Converts a vector of this system.
    fn convert(
        &self,
        (stream, floors): (&Stream, &DeviceBuffer<f64>),
        to: Measure,
        from: Read<f64>,
        out: Write<f64>,
    ) -> Result<(), GpuError> {
        let n = self.values.len();
        let launch = self.measure.launch(blocks(n, 256), 256);
        // SAFETY: callers give vectors with as many values as this system has.
        Ok(unsafe {
            launch
                .record(&kernel_arguments! { MeasureArguments {
                    rows: self.pseudo_time.len() as u32, floors, base: &self.values, units: &self.units,
                    pseudo_time: &self.pseudo_time, to: to as u32, from, out,
                } })
                .enqueue(stream)
        }?)
    }
}

const DRIVES: &str = "the flow depends on this system";

impl CoupledSystemCuda {
    /// Whether the flow depends on this system.
    pub fn drives_flow(&self) -> bool {
        self.driving.is_some()
    }

    /// The number of unknowns a node.
    pub fn nb(&self) -> usize {
        self.nb
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

    /// Takes the present values and residual as those at which the derivative is taken, and units in which each unknown and its residual
    /// are as large as a flow of this size with a residual of this norm.
    ///
    /// # Errors
    /// The device's.
    pub fn set_base(
        &mut self,
        flow: &FlowViewCuda<'_>,
        (size, norm): (f64, f64),
        by_change: bool,
        sums: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let share = self.share.as_deref();
        let driving = self.driving.as_mut().expect(DRIVES);
        driving.values.copy_from(&self.state.values.slice())?;
        driving.residual.copy_from(&self.residual.slice())?;
        let unit = |square: f64, whole: f64| {
            Some(square.sqrt() / whole).filter(|ratio| ratio.is_normal()).unwrap_or(1.0)
        };
        let mut units = Vec::new();
        for v in 0..self.nb {
            let n = driving.values.len();
            let measured = driving.measured.launch(blocks(n, 256), 256);
            // SAFETY: vectors have nb values a row.
            unsafe {
                measured
                    .record(&kernel_arguments! { Measured {
                        rows: flow.mesh.rows as u32, v: v as u32, floors: &self.floors,
                        base: &driving.values, residual: &driving.residual,
                        pseudo_time: &driving.pseudo_time, by_change: u32::from(by_change), of_values: &driving.r, of_residuals: &driving.z,
                    } })
                    .enqueue(flow.stream)?;
            }
            let (values, residual) = (&driving.r, &driving.z);
            if let Some(share) = share {
                share.clear(self.nb, &values.slice())?;
                share.clear(self.nb, &residual.slice())?;
            }
            let mut squares = driving.vectors.dots([(values, values), (residual, residual)], sums)?;
            if let Some(share) = share {
                share.sum(&mut squares);
            }
            units.extend([unit(squares[0], size), unit(squares[1], norm), f64::from(u8::from(by_change))]);
        }
        Ok(driving.units.upload(&units)?)
    }

    /// Sets the values to q + h v, v in units of unknowns.
    ///
    /// # Errors
    /// The device's.
    pub fn set_beside(
        &mut self,
        flow: &FlowViewCuda<'_>,
        h: f64,
        v: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        let (driving, n) = (self.driving.as_ref().expect(DRIVES), self.unknowns());
        assert_eq!(v.len(), n);
        let launch = driving.set_beside.launch(blocks(n, 256), 256);
        // SAFETY: vectors have nb values a row.
        Ok(unsafe {
            launch
                .record(&kernel_arguments! { SetBeside {
                    rows: flow.mesh.rows as u32, floors: &self.floors, base: &driving.values,
                    units: &driving.units, h, v, values: &self.state.values,
                } })
                .enqueue(flow.stream)
        }?)
    }

    /// Whether its equations have the derivative of their residual themselves.
    pub fn has_derivative(&self) -> bool {
        self.driving.as_ref().is_some_and(|driving| !driving.changes.is_empty())
    }

    /// Takes the direction `v`, in units of unknowns: what the flow takes of this system is that of a step along it, the values stay.
    ///
    /// # Errors
    /// The device's.
    pub fn direct(&mut self, way: &DirectionCuda<'_>, v: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        assert_eq!(v.len(), self.unknowns());
        let driving = self.driving.as_mut().expect(DRIVES);
        driving.convert(
            (way.flow.stream, &self.floors),
            Measure::ValueFrom,
            v.into(),
            (&driving.changes).into(),
        )?;
        driving.directed = true;
        if let Some(share) = &self.share {
            share.exchange(self.nb, &driving.changes.slice())?;
        }
        self.physics.direct(way, &self.state, &mut driving.changes)
    }

    /// Leaves the direction.
    pub fn leave_direction(&mut self) {
        if let Some(driving) = &mut self.driving
            && std::mem::take(&mut driving.directed)
        {
            self.physics.leave_direction();
        }
    }

    /// y = V/dt v + dR/dq v along the direction last taken, `moved` the flow at the end of the step; unknowns and residuals in their units.
    ///
    /// # Errors
    /// The device's.
    pub fn derivative(
        &mut self,
        way: &DirectionCuda<'_>,
        moved: &FlowViewCuda<'_>,
        at: &Moment,
        v: &DeviceSlice<'_, f64>,
        y: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        let n = self.unknowns();
        assert!(v.len() == n && y.len() == n);
        let driving = self.driving.as_ref().expect(DRIVES);
        let (changes, out) = (&driving.changes, &mut self.residual);
        self.physics.derivative(way, moved, at, &self.state, changes, out)?;
        let add = driving.add_pseudo_time.launch(blocks(n, 256), 256);
        // SAFETY: vectors have nb values a row, and V/dt one.
        unsafe {
            add.record(&kernel_arguments! { AddPseudoTime {
                rows: moved.mesh.rows as u32, floors: &self.floors, base: &driving.values,
                units: &driving.units, slope: &self.residual, pseudo_time: &driving.pseudo_time, v, y,
            } })
            .enqueue(moved.stream)?;
        }
        self.hold_slopes(moved.stream, v, y)
    }

    fn hold_slopes(
        &self,
        stream: &Stream,
        v: &DeviceSlice<'_, f64>,
        y: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        let (driving, held) = (self.driving.as_ref().expect(DRIVES), &self.state.held);
        let held_slopes = driving.held_slopes.launch(blocks(held.len(), 128), 128);
        // SAFETY: vectors have nb values a row; held nodes are rows.
        unsafe {
            held_slopes
                .record(&kernel_arguments! { HeldSlopes {
                    count: held.len() as u32, node_of: held, v, y,
                } })
                .enqueue(stream)?;
        }
        self.share.as_ref().map_or(Ok(()), |share| share.clear(self.nb, y))
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
        let driving = self.driving.as_ref().expect(DRIVES);
        assert!(v.len() == self.unknowns() && y.len() == self.unknowns());
        let slopes = driving.slopes.launch(blocks(self.unknowns(), 256), 256);
        // SAFETY: vectors have nb values a row, and V/dt one.
        unsafe {
            slopes
                .record(&kernel_arguments! { Slopes {
                    rows: flow.mesh.rows as u32, floors: &self.floors, base: &driving.values,
                    units: &driving.units, moved: &self.residual, residual: &driving.residual,
                    pseudo_time: &driving.pseudo_time, v, inverse: 1.0 / h, y,
                } })
                .enqueue(flow.stream)?;
        }
        self.hold_slopes(flow.stream, v, y)
    }

    /// z = M^-1 r with the matrix last factored, both parts of vectors; unknowns and residuals in their units.
    ///
    /// # Errors
    /// The device's.
    pub fn precondition(
        &mut self,
        stream: &Stream,
        r: &DeviceSlice<'_, f64>,
        z: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        assert!(r.len() == self.unknowns() && z.len() == self.unknowns());
        let driving = self.driving.as_mut().expect(DRIVES);
        driving.convert((stream, &self.floors), Measure::ResidualFrom, r.into(), (&driving.r).into())?;
        self.linear.precondition(&driving.r, &mut driving.z)?;
        driving.convert((stream, &self.floors), Measure::ValueTo, (&driving.z).into(), z.into())
    }

    /// Writes the residual in its units into a part of a vector.
    ///
    /// # Errors
    /// The device's.
    pub fn residual_into(&self, stream: &Stream, to: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        assert_eq!(to.len(), self.unknowns());
        let driving = self.driving.as_ref().expect(DRIVES);
        driving.convert(
            (stream, &self.floors),
            Measure::ResidualTo,
            (&driving.residual).into(),
            to.into(),
        )?;
        self.share.as_ref().map_or(Ok(()), |share| share.clear(self.nb, to))
    }

    /// Gives up an update.
    ///
    /// # Errors
    /// The device's.
    pub fn clear_update(&mut self) -> Result<(), GpuError> {
        Ok(self.update.fill_bytes(0)?)
    }

    /// Returns to where the derivative was taken, with this update, which is given in units of unknowns.
    ///
    /// # Errors
    /// The device's.
    pub fn set_update(&mut self, stream: &Stream, update: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        assert_eq!(update.len(), self.unknowns());
        let driving = self.driving.as_ref().expect(DRIVES);
        self.state.values.copy_from(&driving.values.slice())?;
        self.residual.copy_from(&driving.residual.slice())?;
        driving.convert((stream, &self.floors), Measure::ValueFrom, update.into(), (&self.update).into())
    }
}
