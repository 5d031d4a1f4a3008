#![allow(unsafe_code)]
//! Launches of scalar.cu.

use super::Scalar;
use super::arguments::{Kernels, MakeGammas, MakeRecords, ScalarFluxes, ScalarResidual};
use crate::config::{Quadrature, Space};
use crate::coupled::{CarriedCuda, Carrier, CoupledCuda, CoupledStateCuda, FACES, FlowView, FlowViewCuda};
use crate::gpu::{LeastSquaresCuda, blocks, source};
use crate::march::{FlowError, Moment};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read, Stream};
use chromaflow_device::enqueue;

fn kernel_source(limited: bool, moments: bool) -> KernelSource {
    let text = source("scalar", FACES, include_str!("scalar.cu")).records::<Kernels>();
    text.define("NB", 1).define("LIMITED", u32::from(limited)).define("MOMENTS", u32::from(moments))
}

/// Every variant.
pub(crate) fn all_sources() -> Vec<KernelSource> {
    [(true, false), (false, false), (false, true)]
        .map(|(limited, moments)| kernel_source(limited, moments))
        .into()
}

/// Those of a scalar in a flow.
pub(crate) fn sources_of(limited: bool, space: &Space) -> Vec<KernelSource> {
    // Whether a mesh has moments shows when it is there.
    let varies = space.second_order && space.quadrature != Quadrature::EdgeMidpoint && !limited;
    let variants = 1 + usize::from(varies);
    let own = [false, true].into_iter().take(variants).map(|moments| kernel_source(limited, moments));
    own.chain([crate::gradient::cuda::kernel_source()]).collect()
}

/// Every branch at least once.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    vec![kernel_source(true, false), kernel_source(false, true)]
}

/// A passive scalar on the device. **Twin**: [`Scalar`]. **Launch shapes**: a thread an edge for fluxes, a thread a row for
/// sums and the matrix, a thread a node of the boundary.
pub struct ScalarCuda {
    second_order: bool,
    gradient: LeastSquaresCuda,
    kernels: Kernels,
    /// `Numbers` in scalar.cu.
    numbers: DeviceBuffer<f64>,
    carried: CarriedCuda,
    /// As node records: phi, zeros, place; empty in first order.
    records: DeviceBuffer<f64>,
    gradients: DeviceBuffer<f64>,
    gammas: DeviceBuffer<f64>,
    fluxes: DeviceBuffer<f64>,
}

impl ScalarCuda {
    /// The scalar beside a flow.
    ///
    /// # Errors
    /// [`FlowError::Gpu`].
    pub fn new(stream: &Stream, scalar: &Scalar, flow: &FlowView<'_>) -> Result<Self, FlowError> {
        let (config, rows) = (&scalar.config, flow.dual.nodes());
        let module = stream.gpu().module(&kernel_source(config.limited, !scalar.moments(flow).is_empty()))?;
        // A negative Gamma stands for mu / Sc.
        let gamma = match (config.diffusivity, flow.transport) {
            (Some(gamma), _) => gamma,
            (None, None) => 0.0,
            (None, Some(_)) => -1.0,
        };
        let with_gradients = if config.second_order { rows } else { 0 };
        Ok(Self {
            second_order: config.second_order,
            gradient: LeastSquaresCuda::new(stream, flow.config.space.gradient, false)?,
            kernels: Kernels::of(&module)?,
            numbers: stream.upload(&[gamma, config.schmidt, scalar.eps2])?,
            carried: CarriedCuda::new(stream, 1, Carrier::Mass(&scalar.values), flow)?,
            records: DeviceBuffer::zeroed(stream, 8 * with_gradients)?,
            gradients: DeviceBuffer::zeroed(stream, 16 * with_gradients)?,
            gammas: DeviceBuffer::zeroed(stream, rows)?,
            fluxes: DeviceBuffer::zeroed(stream, flow.dual.edges.len())?,
        })
    }
}

/// Factors in time and the flow's densities at earlier levels: zeros and no densities in steady runs.
fn earlier(flow: &FlowViewCuda<'_>, at: &Moment) -> ([f64; 2], [Read<f64>; 2]) {
    match (at.time_factors(), flow.levels) {
        (Some([_, last, before]), Some(levels)) => ([last, before], [&levels[0], &levels[1]].map(Read::from)),
        _ => ([0.0; 2], [Read::NONE; 2]),
    }
}

impl CoupledCuda for ScalarCuda {
    fn residual(
        &mut self,
        flow: &FlowViewCuda<'_>,
        state: &CoupledStateCuda,
        at: &Moment,
        residual: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (stream, mesh, phi, n) = (flow.stream, flow.mesh, &state.values, flow.mesh.rows);
        assert!(phi.len() == n && residual.len() == n && flow.fluxes.len() == 5 * mesh.edges);
        let second_order = self.second_order && !at.first_order;
        let ([last, before], [q_last, q_before]) = earlier(flow, at);
        let gammas = self.kernels.make_gammas.launch(blocks(n, 128), 128);
        // SAFETY: a number a row, eight a node record, five a row of earlier levels.
        unsafe {
            enqueue! { gammas, stream, MakeGammas {
                rows: n as u32, nodes: flow.nodes, params: &flow.params.values, numbers: &self.numbers, last,
                before, q_last, q_before, gammas: &self.gammas, slopes: &self.carried.slopes,
            } }?;
        }
        if second_order {
            let records = self.kernels.make_records.launch(blocks(8 * n, 256), 256);
            // SAFETY: as above.
            unsafe {
                enqueue! { records, stream, MakeRecords {
                    rows: n as u32, phi, nodes: flow.nodes, records: &self.records,
                } }?;
            }
            self.gradient.enqueue(stream, mesh, &self.records, &mut self.gradients)?;
        }
        let gradients = second_order.then_some(&self.gradients);
        let levels =
            state.levels.as_ref().map_or([Read::NONE; 2], |levels| [&levels[0], &levels[1]].map(Read::from));
        let fluxes = self.kernels.scalar_fluxes.launch(blocks(mesh.edges, 128), 128);
        // SAFETY: ends of edges are rows and positions name edges; moments are there where the kernel was made to read them;
        // earlier levels of flow and scalar are both there or both missing.
        unsafe {
            enqueue! { fluxes, stream, ScalarFluxes {
                edges: mesh.edges as u32, ends: &mesh.ends, areas: &mesh.areas, nodes: flow.nodes,
                mass_fluxes: flow.fluxes, phi, gammas: &self.gammas, gradients, moments: &mesh.moments,
                params: &flow.params.values, numbers: &self.numbers, out: &self.fluxes,
                faces: &self.carried.faces,
            } }?;
            enqueue! { self.kernels.scalar_residual.launch(blocks(n, 128), 128), stream, ScalarResidual {
                rows: n as u32, row_ptr: &mesh.row_ptr, signed_edge: &mesh.signed_edge, fluxes: &self.fluxes,
                mass_fluxes: flow.fluxes, phi, volumes: &mesh.volumes, last, before, q_last, q_before,
                phi_last: levels[0], phi_before: levels[1], residual: &*residual,
            } }?;
        }
        self.carried.add_to_residual(flow, phi, residual)
    }

    fn carried(&self) -> (&CarriedCuda, f64) {
        (&self.carried, 1.0)
    }
}
