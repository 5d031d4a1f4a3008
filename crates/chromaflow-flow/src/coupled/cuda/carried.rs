//! The matrix of unknowns that a flow carries, on the device. Twin: ../matrix.rs.

use super::arguments::{
    CarriedBoundary, CarriedBoundaryAlong, CarriedKernels, CarriedPseudoTimes, CarriedRows,
};
use super::{DirectionCuda, FlowViewCuda};
use crate::coupled::FlowView;
use crate::gpu::{ALONG, blocks, source};
use crate::march::FlowError;
use chromaflow::gpu::{DeviceJacobian, GpuError, Storage};
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Stream, Write};
use chromaflow_device::enqueue;

/// `CarriedFace`, for kernels that fill it; their constant NB is the number of unknowns a node.
pub const FACES: &str = include_str!("carried.cuh");

pub(super) fn kernel_source(nb: usize, stored: usize) -> KernelSource {
    source("carried", &format!("{ALONG}{FACES}"), include_str!("carried.cu"))
        .records::<CarriedKernels>()
        .define("NB", nb)
        .define("STORED", stored)
}

/// What is carried, and what enters with it.
#[derive(Clone, Copy, Debug)]
pub enum Carrier<'a> {
    /// Amounts per mass, with the values of each at each patch, `[patches, nb]`.
    Mass(&'a [f64]),
    /// Amounts per volume, with the values of each at every patch, `[nb]`.
    Volume(&'a [f64]),
}

/// The matrix and the open boundaries of unknowns that a flow carries. **Twin**: [`super::super::Carried`]. **Launch shapes**: a thread a
/// row, and a thread a node of the boundary.
pub struct CarriedCuda {
    kernels: CarriedKernels,
    nb: usize,
    per_volume: bool,
    /// Of what enters, by patch.
    given: DeviceBuffer<f64>,
    /// `CarriedFace` of each edge, `[edges, 1 + 2 nb]`: physics fill it with the residual.
    pub faces: DeviceBuffer<f64>,
    /// What the residual gains per volume and unknown by sources and time, a block of the matrix a row: filled likewise, zeros at first.
    pub slopes: DeviceBuffer<f64>,
    /// Of each row the rate at which an unknown grows: filled likewise, zeros at first.
    pub growth: DeviceBuffer<f64>,
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
    /// For `nb` unknowns a node of the flow's mesh.
    ///
    /// # Errors
    /// [`FlowError::Gpu`].
    pub fn new(
        stream: &Stream,
        nb: usize,
        carrier: Carrier<'_>,
        flow: &FlowView<'_>,
    ) -> Result<Self, FlowError> {
        let stored = if Storage::from(flow.config.implicit.policy) == Storage::F64 { 8 } else { 4 };
        let module = stream.gpu().module(&kernel_source(nb, stored))?;
        let patches = flow.dual.patches.len();
        let given = match carrier {
            Carrier::Mass(given) => stream.upload(given)?,
            Carrier::Volume(inflow) => stream.upload(&inflow.repeat(patches))?,
        };
        assert_eq!(given.len(), nb * patches);
        Ok(Self {
            kernels: CarriedKernels::of(&module)?,
            nb,
            per_volume: matches!(carrier, Carrier::Volume(_)),
            given,
            faces: DeviceBuffer::zeroed(stream, (1 + 2 * nb) * flow.dual.edges.len())?,
            slopes: DeviceBuffer::zeroed(stream, nb * nb * flow.dual.nodes())?,
            growth: DeviceBuffer::zeroed(stream, flow.dual.nodes())?,
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
        assert!(jacobian.pattern().rows() == n && jacobian.nb() == self.nb);
        assert!(self.slopes.len() == self.nb * self.nb * n && self.faces.len() == self.numbers(mesh.edges));
        let off = jacobian.off.assembled()?;
        // SAFETY: the matrix has the mesh's pattern, whose positions name edges with faces, and off-diagonal values of the size the
        // kernel was made for.
        unsafe {
            enqueue! { self.kernels.carried_rows.launch(blocks(n, 128), 128), flow.stream, CarriedRows {
                rows: n as u32, row_ptr: &mesh.row_ptr, signed_edge: &mesh.signed_edge, faces: &self.faces,
                slopes: &self.slopes, growth: &self.growth, volumes: &mesh.volumes, cfl, off: Write::at(off),
                diag: &jacobian.diag,
            } }?;
        }
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
        assert!(out.len() == n && self.faces.len() == self.numbers(mesh.edges));
        // SAFETY: positions name edges, which have faces; a number a row.
        unsafe {
            enqueue! { self.kernels.carried_pseudo_times.launch(blocks(n, 128), 128), flow.stream, CarriedPseudoTimes {
                rows: n as u32, row_ptr: &mesh.row_ptr, signed_edge: &mesh.signed_edge, faces: &self.faces,
                growth: &self.growth, volumes: &mesh.volumes, cfl, pseudo_time: out,
            } }?;
        }
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
        assert!([values.len(), residual.len()] == [self.nb * flow.mesh.rows; 2]);
        self.add_boundaries(flow, AddTo::Residual(values), residual)
    }

    /// The same of the derivative along a direction, `moved` the flow at the end of its step, of amounts per mass.
    ///
    /// # Errors
    /// The device's.
    pub fn add_to_derivative(
        &self,
        way: &DirectionCuda<'_>,
        moved: &FlowViewCuda<'_>,
        [values, changes]: [&DeviceBuffer<f64>; 2],
        out: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let flow = &way.flow;
        assert!(!self.per_volume);
        assert!([values.len(), changes.len(), out.len()] == [self.nb * flow.mesh.rows; 3]);
        let launch = self.kernels.carried_boundary_along.launch(blocks(flow.boundary.count, 128), 128);
        // SAFETY: nodes of the boundary are rows, each once; every patch has a value.
        Ok(unsafe {
            enqueue! { launch, flow.stream, CarriedBoundaryAlong {
                at: flow.boundary.nodes(flow.params, flow.nodes), moved: moved.nodes, inverse: 1.0 / way.h,
                given: &self.given, values, changes, out,
            } }
        }?)
    }

    /// Whether amounts are per volume.
    pub(crate) fn is_per_volume(&self) -> bool {
        self.per_volume
    }

    /// Numbers of the faces of so many edges.
    fn numbers(&self, edges: usize) -> usize {
        (1 + 2 * self.nb) * edges
    }

    fn add_boundaries(
        &self,
        flow: &FlowViewCuda<'_>,
        to: AddTo<'_>,
        out: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (values, code, cfl) = match to {
            AddTo::Residual(values) => (Some(values), 0_u32, 1.0),
            AddTo::Diagonal { cfl } => (None, 1, cfl),
            AddTo::PseudoTime { cfl } => (None, 2, cfl),
        };
        let launch = self.kernels.carried_boundary.launch(blocks(flow.boundary.count, 128), 128);
        // SAFETY: nodes of the boundary are rows, each once; every patch has a value; values are read for residuals alone.
        Ok(unsafe {
            enqueue! { launch, flow.stream, CarriedBoundary {
                at: flow.boundary.nodes(flow.params, flow.nodes), per_volume: u32::from(self.per_volume),
                given: &self.given, values, to: code, cfl, out,
            } }
        }?)
    }
}
