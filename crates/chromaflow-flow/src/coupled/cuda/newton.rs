#![allow(unsafe_code)]
//! A system that the flow depends on, in a Newton-Krylov step of both. Twin: ../system.rs.

use super::super::unit_over;
use super::arguments::{
    AddPseudoTime, HeldSlopes, Measure as MeasureArguments, Measured, NewtonKernels, SetBeside, Slopes,
};
use super::{CoupledSystemCuda, DirectionCuda, FlowViewCuda, kernel_source};
use crate::gpu::blocks;
use crate::march::Moment;
use crate::march::linear::LinearCuda;
use chromaflow::gpu::{GpuError, ShareCuda, Storage, Vectors};
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Read, Stream, Write};
use chromaflow_device::enqueue;

/// What such a step needs of a system besides what all steps do: vectors `[rows, nb]`, and the units in which GMRES sees them.
pub(crate) struct Driving {
    nb: usize,
    vectors: Vectors,
    /// As [`CoupledSystemCuda`] has them.
    floors: DeviceBuffer<f64>,
    /// Values and residual where the derivative is taken.
    pub(crate) values: DeviceBuffer<f64>,
    pub(crate) residual: DeviceBuffer<f64>,
    /// V/dt of each node.
    pub(crate) pseudo_time: DeviceBuffer<f64>,
    /// What is preconditioned, and what becomes of it.
    pub(crate) r: DeviceBuffer<f64>,
    z: DeviceBuffer<f64>,
    /// Of each unknown, and of its residual, `[nb, 2]`: with these, and the values of local unknowns, they are as large as the flow's.
    units: DeviceBuffer<f64>,
    /// The direction of a derivative, where the equations have it themselves, else empty; and whether one is taken.
    pub(crate) changes: DeviceBuffer<f64>,
    directed: bool,
    kernels: NewtonKernels,
}

/// Between what is measured in units and what is not.
#[derive(Clone, Copy)]
pub(crate) enum Measure {
    ResidualFrom,
    ResidualTo,
    ValueFrom,
    ValueTo,
}

impl Driving {
    /// `floors`: of unknowns that are measured by their own value at each node, what is added to it; negative of others. `stored`: bytes of an
    /// off-diagonal value.
    pub(crate) fn new(
        stream: &Stream,
        floors: &[f64],
        stored: usize,
        rows: usize,
        has_derivative: bool,
    ) -> Result<Self, GpuError> {
        let nb = floors.len();
        let module = stream.gpu().module(&kernel_source(nb, stored))?;
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        Ok(Self {
            nb,
            floors: stream.upload(floors)?,
            vectors: Vectors::new(stream, Storage::F64)?,
            values: buffer(nb * rows)?,
            residual: buffer(nb * rows)?,
            pseudo_time: buffer(rows)?,
            r: buffer(nb * rows)?,
            z: buffer(nb * rows)?,
            units: stream.upload(&vec![1.0; 3 * nb])?,
            changes: buffer(if has_derivative { nb * rows } else { 0 })?,
            directed: false,
            kernels: NewtonKernels::of(&module)?,
        })
    }
}

impl Driving {
    /// Whether what the flow takes of this system is that of a step along a direction.
    pub(super) fn is_directed(&self) -> bool {
        self.directed
    }

    fn rows(&self) -> u32 {
        self.pseudo_time.len() as u32
    }

    /// Converts a vector.
    pub(crate) fn convert(
        &self,
        stream: &Stream,
        to: Measure,
        from: impl Into<Read<f64>>,
        out: impl Into<Write<f64>>,
    ) -> Result<(), GpuError> {
        // SAFETY: callers give vectors with as many values as this system has.
        Ok(unsafe {
            enqueue! { self.kernels.measure.launch(blocks(self.values.len(), 256), 256), stream, MeasureArguments {
                rows: self.rows(), floors: &self.floors, base: &self.values, units: &self.units,
                pseudo_time: &self.pseudo_time, to: to as u32, from, out,
            } }
        }?)
    }

    /// Finds units in which each unknown and its residual are as large as a flow of this size with a residual of this norm; residuals of local
    /// unknowns are measured by what they would change in a step where that is asked for.
    pub(crate) fn find_units(
        &mut self,
        stream: &Stream,
        (size, norm): (f64, f64),
        by_change: bool,
        share: Option<&ShareCuda>,
        sums: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let mut units = Vec::new();
        for v in 0..self.nb {
            // SAFETY: vectors have nb values a row.
            unsafe {
                enqueue! { self.kernels.measured.launch(blocks(self.values.len(), 256), 256), stream, Measured {
                    rows: self.rows(), v: v as u32, floors: &self.floors, base: &self.values,
                    residual: &self.residual, pseudo_time: &self.pseudo_time, by_change: u32::from(by_change),
                    of_values: &self.r, of_residuals: &self.z,
                } }?;
            }
            let (values, residual) = (&self.r, &self.z);
            if let Some(share) = share {
                share.clear(self.nb, &values.slice())?;
                share.clear(self.nb, &residual.slice())?;
            }
            let mut squares = self.vectors.dots([(values, values), (residual, residual)], sums)?;
            if let Some(share) = share {
                share.sum(&mut squares);
            }
            let [value, residual] = squares.map(f64::sqrt);
            let by_change = f64::from(u8::from(by_change));
            units.extend([unit_over(value, size), unit_over(residual, norm), by_change]);
        }
        Ok(self.units.upload(&units)?)
    }

    /// Writes q + h v, v in units of unknowns.
    pub(crate) fn set_beside(
        &self,
        stream: &Stream,
        h: f64,
        v: &DeviceSlice<'_, f64>,
        values: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(v.len() == self.values.len() && values.len() == v.len());
        // SAFETY: vectors have nb values a row.
        Ok(unsafe {
            enqueue! { self.kernels.set_beside.launch(blocks(v.len(), 256), 256), stream, SetBeside {
                rows: self.rows(), floors: &self.floors, base: &self.values, units: &self.units, h, v, values,
            } }
        }?)
    }

    /// y = V/dt v + (moved - R(q)) / h, unknowns and residuals in their units.
    pub(crate) fn slopes(
        &self,
        stream: &Stream,
        h: f64,
        moved: &DeviceBuffer<f64>,
        (v, y): (&DeviceSlice<'_, f64>, &DeviceSlice<'_, f64>),
    ) -> Result<(), GpuError> {
        assert!(v.len() == moved.len() && y.len() == moved.len());
        // SAFETY: vectors have nb values a row, and V/dt one.
        Ok(unsafe {
            enqueue! { self.kernels.slopes.launch(blocks(moved.len(), 256), 256), stream, Slopes {
                rows: self.rows(), floors: &self.floors, base: &self.values, units: &self.units, moved,
                residual: &self.residual, pseudo_time: &self.pseudo_time, v, inverse: 1.0 / h, y,
            } }
        }?)
    }

    /// y = V/dt v + the derivative `slope`, unknowns and residuals in their units.
    pub(crate) fn add_pseudo_time(
        &self,
        stream: &Stream,
        slope: &DeviceBuffer<f64>,
        (v, y): (&DeviceSlice<'_, f64>, &DeviceSlice<'_, f64>),
    ) -> Result<(), GpuError> {
        assert!(v.len() == slope.len() && y.len() == slope.len());
        // SAFETY: vectors have nb values a row, and V/dt one.
        Ok(unsafe {
            enqueue! { self.kernels.add_pseudo_time.launch(blocks(slope.len(), 256), 256), stream, AddPseudoTime {
                rows: self.rows(), floors: &self.floors, base: &self.values, units: &self.units, slope,
                pseudo_time: &self.pseudo_time, v, y,
            } }
        }?)
    }

    /// z = M^-1 r, both parts of vectors; unknowns and residuals in their units.
    pub(crate) fn precondition(
        &mut self,
        stream: &Stream,
        linear: &mut LinearCuda,
        (r, z): (&DeviceSlice<'_, f64>, &DeviceSlice<'_, f64>),
    ) -> Result<(), GpuError> {
        assert!(r.len() == self.values.len() && z.len() == r.len());
        self.convert(stream, Measure::ResidualFrom, r, &self.r)?;
        linear.precondition(&self.r, &mut self.z)?;
        self.convert(stream, Measure::ValueTo, &self.z, z)
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
        self.physics.pseudo_time(flow, at, &driving.pseudo_time)?;
        self.linear.find_scale()?;
        self.linear.factor()
    }

    /// Makes the matrix, as it is to go into one with the flow's.
    ///
    /// # Errors
    /// The device's.
    pub fn enqueue_joint(&mut self, flow: &FlowViewCuda<'_>, at: &Moment) -> Result<(), GpuError> {
        self.enqueue_matrix(flow, at)?;
        self.physics.pseudo_time(flow, at, &self.driving.as_ref().expect(DRIVES).pseudo_time)
    }

    /// z = M^-1 r, both parts of vectors in their units, by `solve` from residuals to states without units.
    ///
    /// # Errors
    /// The device's.
    pub fn precondition_by(
        &self,
        stream: &Stream,
        (r, z): (&DeviceSlice<'_, f64>, &DeviceSlice<'_, f64>),
        solve: impl FnOnce([&DeviceBuffer<f64>; 2]) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        assert!(r.len() == self.unknowns() && z.len() == r.len());
        let driving = self.driving.as_ref().expect(DRIVES);
        driving.convert(stream, Measure::ResidualFrom, r, &driving.r)?;
        solve([&driving.r, &driving.z])?;
        driving.convert(stream, Measure::ValueTo, &driving.z, z)
    }

    /// The residual, and the update that belongs to it.
    pub fn residual_and_update(&self) -> [&DeviceBuffer<f64>; 2] {
        [&self.residual, &self.update]
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
        let driving = self.driving.as_mut().expect(DRIVES);
        driving.values.copy_from(&self.state.values.slice())?;
        driving.residual.copy_from(&self.residual.slice())?;
        driving.find_units(flow.stream, (size, norm), by_change, self.share.as_deref(), sums)
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
        self.driving.as_ref().expect(DRIVES).set_beside(flow.stream, h, v, &self.state.values)
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
        driving.convert(way.flow.stream, Measure::ValueFrom, v, &driving.changes)?;
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
        let driving = self.driving.as_ref().expect(DRIVES);
        let (changes, out) = (&driving.changes, &mut self.residual);
        self.physics.derivative(way, moved, at, &self.state, changes, out)?;
        driving.add_pseudo_time(moved.stream, &self.residual, (v, y))?;
        self.hold_slopes(moved.stream, v, y)
    }

    fn hold_slopes(
        &self,
        stream: &Stream,
        v: &DeviceSlice<'_, f64>,
        y: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        let (driving, held) = (self.driving.as_ref().expect(DRIVES), &self.state.held);
        // SAFETY: vectors have nb values a row; held nodes are rows.
        unsafe {
            enqueue! { driving.kernels.held_slopes.launch(blocks(held.len(), 128), 128), stream, HeldSlopes {
                count: held.len() as u32, node_of: held, v, y,
            } }?;
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
        self.driving.as_ref().expect(DRIVES).slopes(flow.stream, h, &self.residual, (v, y))?;
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
        self.driving.as_mut().expect(DRIVES).precondition(stream, &mut self.linear, (r, z))
    }

    /// Writes the residual in its units into a part of a vector.
    ///
    /// # Errors
    /// The device's.
    pub fn residual_into(&self, stream: &Stream, to: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        assert_eq!(to.len(), self.unknowns());
        let driving = self.driving.as_ref().expect(DRIVES);
        driving.convert(stream, Measure::ResidualTo, &driving.residual, to)?;
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
        driving.convert(stream, Measure::ValueFrom, update, &self.update)
    }
}
