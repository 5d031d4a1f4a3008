//! The matrix of one unknown that a flow carries, on the device. Twin: ../matrix.rs.

use super::FlowViewCuda;
use crate::coupled::FlowView;
use crate::gpu::{blocks, source};
use crate::march::FlowError;
use chromaflow::gpu::{DeviceJacobian, GpuError, Storage};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Stream};

/// `CarriedFace`, for kernels that fill it.
pub const FACES: &str = include_str!("carried.cuh");

pub(super) fn kernel_source(stored: usize) -> KernelSource {
    source("carried", FACES, include_str!("carried.cu")).define("STORED", stored)
}

/// What is carried, and what enters with it.
#[derive(Clone, Copy, Debug)]
pub enum Carrier<'a> {
    /// An amount per mass, with its value at each patch.
    Mass(&'a [f64]),
    /// An amount per volume, with its value at every patch.
    Volume(f64),
}

/// The matrix and the open boundaries of an unknown that a flow carries. **Twin**: [`super::super::Carried`]. **Launch shapes**: a thread a
/// row, and a thread a node of the boundary.
pub struct CarriedCuda {
    rows: Kernel,
    pseudo_times: Kernel,
    boundary: Kernel,
    per_volume: bool,
    /// Of what enters, by patch.
    given: DeviceBuffer<f64>,
    /// `CarriedFace` of each edge, `[edges, 3]`: physics fill it with the residual.
    pub faces: DeviceBuffer<f64>,
    /// What the residual gains per volume and unknown by sources and time, `[rows]`: filled likewise, zeros at first.
    pub slopes: DeviceBuffer<f64>,
}

/// What open boundaries add to.
#[derive(Clone, Copy)]
enum AddTo<'a> {
    /// The residual of these values.
    Residual(&'a DeviceBuffer<f64>),
    Diagonal {
        cfl: f64,
    },
    PseudoTime {
        cfl: f64,
    },
}

impl CarriedCuda {
    /// For the flow's mesh.
    ///
    /// # Errors
    /// [`FlowError::Gpu`].
    pub fn new(stream: &Stream, carrier: Carrier<'_>, flow: &FlowView<'_>) -> Result<Self, FlowError> {
        let stored = if Storage::from(flow.config.implicit.policy) == Storage::F64 { 8 } else { 4 };
        let module = stream.gpu().module(&kernel_source(stored))?;
        let patches = flow.dual.patches.len();
        let given = match carrier {
            Carrier::Mass(given) => stream.upload(given)?,
            Carrier::Volume(inflow) => stream.upload(&vec![inflow; patches])?,
        };
        assert_eq!(given.len(), patches);
        Ok(Self {
            rows: module.kernel("carried_rows")?,
            pseudo_times: module.kernel("carried_pseudo_times")?,
            boundary: module.kernel("carried_boundary")?,
            per_volume: matches!(carrier, Carrier::Volume(_)),
            given,
            faces: DeviceBuffer::zeroed(stream, 3 * flow.dual.edges.len())?,
            slopes: DeviceBuffer::zeroed(stream, flow.dual.nodes())?,
        })
    }

    /// Enqueues the matrix of the last residual.
    ///
    /// # Errors
    /// The device's; [`GpuError::Unsupported`] for values in f16.
    pub fn assemble(
        &self,
        flow: &FlowViewCuda<'_>,
        cfl: f64,
        jacobian: &DeviceJacobian,
    ) -> Result<(), GpuError> {
        let (mesh, n) = (flow.mesh, flow.mesh.rows);
        assert!(jacobian.pattern().rows() == n && jacobian.nb() == 1 && self.slopes.len() == n);
        assert_eq!(self.faces.len(), 3 * mesh.edges);
        let off = jacobian.off.assembled()?;
        let rows = self.rows.launch(blocks(n, 128), 128).arg(n as u32).arg(&mesh.row_ptr);
        let rows = rows.arg(&mesh.signed_edge).arg(&self.faces).arg(&self.slopes).arg(&mesh.volumes);
        // SAFETY: the matrix has the mesh's pattern, whose positions name edges with faces, and off-diagonal values of the size the
        // kernel was made for.
        unsafe { rows.arg(cfl).arg(off).arg(&jacobian.diag).enqueue(flow.stream)? };
        self.add_boundaries(flow, AddTo::Diagonal { cfl }, &jacobian.diag)
    }

    /// Enqueues the V/dt that [`Self::assemble`] puts on the diagonal.
    ///
    /// # Errors
    /// The device's.
    pub fn pseudo_time(
        &self,
        flow: &FlowViewCuda<'_>,
        cfl: f64,
        out: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (mesh, n) = (flow.mesh, flow.mesh.rows);
        assert!(out.len() == n && self.faces.len() == 3 * mesh.edges);
        let times = self.pseudo_times.launch(blocks(n, 128), 128).arg(n as u32).arg(&mesh.row_ptr);
        let times = times.arg(&mesh.signed_edge).arg(&self.faces).arg(cfl).arg(out);
        // SAFETY: positions name edges, which have faces; a number a row.
        unsafe { times.enqueue(flow.stream)? };
        self.add_boundaries(flow, AddTo::PseudoTime { cfl }, out)
    }

    /// Enqueues what enters and leaves through open boundaries, added to the residual of these values.
    ///
    /// # Errors
    /// The device's.
    pub fn add_to_residual(
        &self,
        flow: &FlowViewCuda<'_>,
        values: &DeviceBuffer<f64>,
        residual: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(values.len() == flow.mesh.rows && residual.len() == flow.mesh.rows);
        self.add_boundaries(flow, AddTo::Residual(values), residual)
    }

    fn add_boundaries(
        &self,
        flow: &FlowViewCuda<'_>,
        to: AddTo<'_>,
        out: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (values, code, cfl) = match to {
            AddTo::Residual(values) => (values.ptr(), 0_u32, 1.0),
            AddTo::Diagonal { cfl } => (0, 1, cfl),
            AddTo::PseudoTime { cfl } => (0, 2, cfl),
        };
        let launch = flow.boundary.launch(&self.boundary, flow.params, flow.nodes);
        let launch = launch.arg(u32::from(self.per_volume)).arg(&self.given).arg(values).arg(code).arg(cfl);
        // SAFETY: nodes of the boundary are rows, each once; every patch has a value; values are read for residuals alone.
        Ok(unsafe { launch.arg(out).enqueue(flow.stream) }?)
    }
}
