//! The turbulence model's part of Newton-Krylov steps on a GPU. Twin: structured/newton/beside.rs.

use super::super::super::newton::GridNewton;
use super::super::super::turbulence::GridTurbulence;
use super::super::StructuredCuda;
use super::super::turbulence::{EddiesCuda, Rows};
use crate::coupled::{Driving, Measuring};
use crate::equations::perfect_gas::N;
use crate::jacobian::cuda::Target;
use crate::march::linear::LinearCuda;
use crate::march::{FlowError, Moment};
use chromaflow::gpu::{GpuError, Storage};
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Stream};

/// The matrix of the model's unknowns on the rows of the flow's, and vectors.
pub(in super::super) struct BesideCuda {
    pub linear: LinearCuda,
    pub driving: Driving,
    /// The flow's part of what is preconditioned, and what becomes of it.
    pub r: DeviceBuffer<f64>,
    pub z: DeviceBuffer<f64>,
}

impl BesideCuda {
    pub fn new(stream: &Stream, newton: &GridNewton, model: &GridTurbulence) -> Result<Self, FlowError> {
        let GridNewton { implicit, rows, jacobian, .. } = newton;
        let (nb, n) = (model.unknowns(), rows.places.len());
        let (pattern, batches) = (jacobian.pattern(), &rows.batches);
        // Steps apart solve with it.
        let new = if model.is_k_omega() { LinearCuda::new } else { LinearCuda::preconditioner };
        let linear = new(stream, pattern, nb, batches, implicit, false, None)?;
        let stored = Storage::from(implicit.policy).assembled().bytes();
        Ok(Self {
            linear,
            driving: Driving::new(stream, &model.floors()[..nb], stored, n, false)?,
            r: DeviceBuffer::zeroed(stream, N * n)?,
            z: DeviceBuffer::zeroed(stream, N * n)?,
        })
    }

    /// Unknowns of all rows.
    pub fn len(&self) -> usize {
        self.driving.values.len()
    }

    /// Makes the matrix.
    pub fn assemble(&mut self, flow: &StructuredCuda, rows: &Rows<'_>, at: &Moment) -> Result<(), GpuError> {
        let Target::Rows(jacobian, _) = self.linear.target(false)? else {
            unreachable!("factors are made of blocks in the order of the pattern")
        };
        model(flow).assemble(flow, rows, at.cfl, jacobian, &self.driving.pseudo_time)
    }

    /// Takes the present values and residual as those where derivatives are taken; units are such that each unknown is as large as a flow of this
    /// size, its residual as one of this norm; k and omega, as the flow
    /// beside them, are measured by what a step would change.
    pub fn set_base(
        &mut self,
        flow: &StructuredCuda,
        rows: &Rows<'_>,
        sizes: (f64, f64),
        sums: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let eddies = model(flow);
        eddies.gather(flow, rows, &eddies.values, &self.driving.values)?;
        eddies.gather(flow, rows, &eddies.r, &self.driving.residual)?;
        self.driving.find_units(&flow.stream, sizes, Self::is_directed(flow), flow.share.as_deref(), sums)
    }

    /// The residual in its units.
    pub fn residual_into(&self, stream: &Stream, to: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        assert_eq!(to.len(), self.len());
        self.driving.convert(stream, Measuring::ResidualTo, &self.driving.residual, to)
    }

    /// Whether the model has the derivative of its residual itself.
    pub fn is_directed(flow: &StructuredCuda) -> bool {
        model(flow).direction().is_some()
    }

    /// Takes the direction `v`, with that of the flow: the eddy viscosity is that of a step h.
    pub fn direct(
        &self,
        flow: &mut StructuredCuda,
        rows: &Rows<'_>,
        h: f64,
        (flow_v, v): (&DeviceSlice<'_, f64>, &DeviceSlice<'_, f64>),
    ) -> Result<(), GpuError> {
        self.driving.convert(&flow.stream, Measuring::ValueFrom, v, &self.driving.r)?;
        let eddies = model(flow);
        if let Some(direction) = eddies.direction() {
            eddies.scatter(flow, rows, &self.driving.r, direction)?;
        }
        flow.direct_eddies(rows.row_of, flow_v, h)
    }

    /// y = V/dt v + dR/dphi v along the direction last taken, which the present residual is.
    pub fn derivative(
        &self,
        flow: &StructuredCuda,
        rows: &Rows<'_>,
        vectors: (&DeviceSlice<'_, f64>, &DeviceSlice<'_, f64>),
    ) -> Result<(), GpuError> {
        let eddies = model(flow);
        eddies.gather(flow, rows, &eddies.r, &self.driving.r)?;
        self.driving.add_pseudo_time(&flow.stream, &self.driving.r, vectors)
    }

    /// A step of the model by itself: its update takes the place of the residual. Whether its matrix could be solved with.
    pub fn solve(&mut self, flow: &StructuredCuda, rows: &Rows<'_>) -> Result<bool, GpuError> {
        let (eddies, driving) = (model(flow), &mut self.driving);
        eddies.gather(flow, rows, &eddies.r, &driving.residual)?;
        let solved = self.linear.solve(&driving.residual, &mut driving.r, false)?;
        eddies.scatter(flow, rows, &driving.r, &eddies.r)?;
        Ok(solved.is_some())
    }

    /// Sets the values to those of a step h v.
    pub fn put(
        &self,
        flow: &StructuredCuda,
        rows: &Rows<'_>,
        h: f64,
        v: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        let eddies = model(flow);
        self.driving.set_beside(&flow.stream, h, v, &self.driving.r)?;
        eddies.scatter(flow, rows, &self.driving.r, &eddies.values)
    }

    /// y = V/dt v + (R(phi + h v) - R(phi)) / h, the present residual that of phi + h v.
    pub fn differentiate(
        &self,
        flow: &StructuredCuda,
        rows: &Rows<'_>,
        h: f64,
        vectors: (&DeviceSlice<'_, f64>, &DeviceSlice<'_, f64>),
    ) -> Result<(), GpuError> {
        let eddies = model(flow);
        eddies.gather(flow, rows, &eddies.r, &self.driving.r)?;
        self.driving.slopes(&flow.stream, h, &self.driving.r, vectors)
    }

    /// z = M^-1 r with the matrix last factored, in units.
    pub fn precondition(
        &mut self,
        stream: &Stream,
        vectors: (&DeviceSlice<'_, f64>, &DeviceSlice<'_, f64>),
    ) -> Result<(), GpuError> {
        self.driving.precondition(stream, &mut self.linear, vectors)
    }

    /// Returns to where derivatives were taken.
    pub fn return_to_base(&self, flow: &StructuredCuda, rows: &Rows<'_>) -> Result<(), GpuError> {
        let eddies = model(flow);
        eddies.scatter(flow, rows, &self.driving.values, &eddies.values)
    }

    /// Puts the update in the place of the residual.
    pub fn put_update(
        &self,
        flow: &StructuredCuda,
        rows: &Rows<'_>,
        x: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        assert_eq!(x.len(), self.len());
        let eddies = model(flow);
        self.driving.convert(&flow.stream, Measuring::ValueFrom, x, &self.driving.r)?;
        eddies.scatter(flow, rows, &self.driving.r, &eddies.r)
    }
}

fn model(flow: &StructuredCuda) -> &EddiesCuda {
    flow.eddies.as_ref().expect("steps beside the flow are a model's")
}
