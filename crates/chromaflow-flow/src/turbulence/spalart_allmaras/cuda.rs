#![allow(unsafe_code)]
//! Launches of sa.cu.

use super::arguments::{Kernels, SaFaces, SaRelations, SaResidual, SaSlopes, SaSources, SaViscosities};
use super::{HybridGrid, SaEquation, SaVariant};
use crate::config::{Coupling, Quadratic, Rotation};
use crate::coupled::{
    CarriedCuda, Carrier, CoupledCuda, CoupledStateCuda, FACES, FlowView, FlowViewCuda, NODE_SLOPES,
};
use crate::gpu::{ALONG, NodeGradientsCuda, blocks, optional, source};
use crate::march::{FlowError, Moment};
use crate::turbulence::hybrid::HybridForm;
use crate::turbulence::hybrid::cuda::{FORMS, HybridGridCuda, TEXT, number};
use crate::turbulence::walls::cuda::ShearCuda;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream};
use chromaflow_device::enqueue;

fn kernel_source(variant: SaVariant, hybrid: Option<HybridForm>) -> KernelSource {
    let tables = format!("{ALONG}{FACES}{NODE_SLOPES}{TEXT}");
    let text = source("sa", &tables, include_str!("sa.cu")).records::<Kernels>();
    text.define("NB", 1).define("VARIANT", variant as i32).define("HYBRID", number(hybrid))
}

/// Those of a form of the model.
pub(crate) fn sources_of(variant: SaVariant, hybrid: Option<HybridForm>) -> Vec<KernelSource> {
    vec![kernel_source(variant, hybrid), crate::residual::node_gradients::cuda::kernel_source(1)]
}

/// Every form of the model.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    let variants = [SaVariant::Negative, SaVariant::Standard, SaVariant::NoFt2];
    variants.into_iter().flat_map(|variant| FORMS.map(|hybrid| kernel_source(variant, hybrid))).collect()
}

/// The Spalart-Allmaras model on the device. **Twin**: [`SaEquation`]. **Launch shapes**: a thread an edge for faces, a thread a
/// row for viscosities, sources, sums and the matrix, a thread a node of the boundary; gradients as [`NodeGradientsCuda`].
pub struct SaCuda {
    second_order: bool,
    rotation: Rotation,
    /// fw of QCR2020, where it is asked for.
    relation: Option<DeviceBuffer<f64>>,
    cfl_ratio: f64,
    gradient: NodeGradientsCuda,
    kernels: Kernels,
    may_be_negative: bool,
    /// From the walls.
    distance: DeviceBuffer<f64>,
    /// None where production is multiplied by nothing.
    production: DeviceBuffer<f64>,
    hybrid: Option<HybridGridCuda>,
    shear: Option<ShearCuda>,
    nu: DeviceBuffer<f64>,
    eddies: DeviceBuffer<f64>,
    /// Of (u, v, w, nut), `[rows, 4, 3]`.
    gradients: DeviceBuffer<f64>,
    /// Length and factor of the source, `[rows, 2]`, where the flow is tightly coupled; else empty.
    seen: DeviceBuffer<f64>,
    /// Per volume, `[rows]`.
    source: DeviceBuffer<f64>,
    /// `Flux` in sa.cu, `[edges, 3]`.
    fluxes: DeviceBuffer<f64>,
    carried: CarriedCuda,
}

impl SaCuda {
    /// The model beside a flow.
    ///
    /// # Errors
    /// [`FlowError::Gpu`].
    pub fn new(stream: &Stream, sa: &SaEquation, flow: &FlowView<'_>) -> Result<Self, FlowError> {
        let rows = flow.dual.nodes();
        let form = sa.hybrid.as_ref().map(HybridGrid::form);
        let module = stream.gpu().module(&kernel_source(sa.model.variant, form))?;
        let hybrid = sa.hybrid.as_ref().map(|grid| HybridGridCuda::new(stream, grid)).transpose()?;
        Ok(Self {
            second_order: sa.config.second_order,
            rotation: sa.config.rotation,
            relation: match sa.config.quadratic {
                Quadratic::Qcr2020 => Some(DeviceBuffer::zeroed(stream, rows)?),
                _ => None,
            },
            cfl_ratio: sa.config.cfl_ratio,
            gradient: NodeGradientsCuda::new(stream, &sa.gradients, 1)?,
            kernels: Kernels::of(&module)?,
            may_be_negative: sa.may_be_negative(),
            distance: stream.upload(&sa.distance)?,
            production: stream.upload(&sa.production)?,
            hybrid,
            shear: ShearCuda::new(stream, flow.laws[1], false)?,
            nu: DeviceBuffer::zeroed(stream, rows)?,
            eddies: DeviceBuffer::zeroed(stream, rows)?,
            gradients: DeviceBuffer::zeroed(stream, 12 * rows)?,
            seen: DeviceBuffer::zeroed(
                stream,
                if sa.config.coupling == Coupling::Tight { 2 * rows } else { 0 },
            )?,
            source: DeviceBuffer::zeroed(stream, rows)?,
            fluxes: DeviceBuffer::zeroed(stream, 3 * flow.dual.edges.len())?,
            carried: CarriedCuda::new(stream, 1, Carrier::Volume(&[sa.config.inflow]), flow)?,
        })
    }
}

impl SaCuda {
    /// Gradients of velocity and nut at the nodes.
    fn find_gradients(&mut self, flow: &FlowViewCuda<'_>, nut: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.gradient.enqueue(flow.stream, flow.mesh, flow.nodes, nut, &mut self.gradients)?;
        match &self.shear {
            Some(shear) => shear.replace(flow.stream, flow.params, flow.nodes, &self.gradients),
            None => Ok(()),
        }
    }
}

impl CoupledCuda for SaCuda {
    fn prepare(&mut self, flow: &FlowViewCuda<'_>, nut: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        let n = flow.mesh.rows;
        assert!(nut.len() == n && self.nu.len() == n && flow.nodes.len() == 8 * n);
        // SAFETY: a number a row, eight a node record.
        unsafe {
            enqueue! { self.kernels.sa_viscosities.launch(blocks(n, 128), 128), flow.stream, SaViscosities {
                rows: n as u32, nodes: flow.nodes, nut, params: &flow.params.values, nu: &self.nu,
                eddies: &self.eddies,
            } }?;
        }
        if self.relation.is_some() {
            self.find_gradients(flow, nut)?;
        }
        let Some(relation) = &self.relation else { return Ok(()) };
        // SAFETY: a number a row, twelve derivatives.
        Ok(unsafe {
            enqueue! { self.kernels.sa_relations.launch(blocks(n, 128), 128), flow.stream, SaRelations {
                rows: n as u32, gradients: &self.gradients, nu: &self.nu, nut, distance: &self.distance,
                params: &flow.params.values, relation,
            } }
        }?)
    }

    fn relation(&self) -> Option<&DeviceBuffer<f64>> {
        self.relation.as_ref()
    }

    fn eddy_viscosity(&self) -> Option<&DeviceBuffer<f64>> {
        Some(&self.eddies)
    }

    fn residual(
        &mut self,
        flow: &FlowViewCuda<'_>,
        state: &CoupledStateCuda,
        at: &Moment,
        residual: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (stream, mesh, nut, n) = (flow.stream, flow.mesh, &state.values, flow.mesh.rows);
        assert!(nut.len() == n && residual.len() == n && flow.fluxes.len() == 5 * mesh.edges);
        let params = &flow.params.values;
        if self.relation.is_none() {
            self.find_gradients(flow, nut)?;
        }
        let [_, last, before] = at.time_factors().unwrap_or_default();
        let faces = self.kernels.sa_faces.launch(blocks(mesh.edges, 128), 128);
        let levels = match (at.bdf, &state.levels) {
            (Some(_), Some(levels)) => [&levels[0], &levels[1]].map(Read::from),
            _ => [Read::NONE; 2],
        };
        // SAFETY: ends of edges are rows, positions name edges and columns rows; the arrays have the lengths of their
        // set-up, for this mesh; earlier levels are both there or both missing.
        unsafe {
            enqueue! { self.kernels.sa_sources.launch(blocks(n, 128), 128), stream, SaSources {
                rows: n as u32, gradients: &self.gradients, nu: &self.nu, nut, distance: &self.distance,
                production: optional(&self.production), grid: HybridGridCuda::arguments(self.hybrid.as_ref()),
                rotation: self.rotation as u32, row_ptr: &mesh.row_ptr, col_idx: &mesh.col_idx,
                signed_edge: &mesh.signed_edge, nodes: flow.nodes, fluxes: flow.fluxes,
                volumes: &mesh.volumes, params, unsteady: u32::from(at.bdf.is_some()), last, before,
                source: &self.source, slopes: &self.carried.slopes, seen: optional(&self.seen),
            } }?;
            enqueue! { faces, stream, SaFaces {
                edges: mesh.edges as u32, ends: &mesh.ends, areas: &mesh.areas, nodes: flow.nodes,
                fluxes: flow.fluxes, nu: &self.nu, nut, gradients: &self.gradients,
                second_order: u32::from(self.second_order), params, out: &self.fluxes,
                faces: &self.carried.faces,
            } }?;
            enqueue! { self.kernels.sa_residual.launch(blocks(n, 128), 128), stream, SaResidual {
                rows: n as u32, row_ptr: &mesh.row_ptr, signed_edge: &mesh.signed_edge, fluxes: &self.fluxes,
                faces: &self.carried.faces, nut, source: &self.source, volumes: &mesh.volumes, last, before,
                nut_last: levels[0], nut_before: levels[1], residual: &*residual,
            } }?;
        }
        self.carried.add_to_residual(flow, nut, residual)
    }

    fn slopes(
        &self,
        flow: &FlowViewCuda<'_>,
        state: &CoupledStateCuda,
        out: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let n = flow.mesh.rows;
        assert!(state.values.len() == n && self.seen.len() == 2 * n);
        // SAFETY: arrays have the lengths of their set-up, for this mesh.
        Ok(unsafe {
            enqueue! { self.kernels.sa_slopes.launch(blocks(n, 128), 128), flow.stream, SaSlopes {
                rows: n as u32, gradients: &self.gradients, nodes: flow.nodes, nut: &state.values,
                seen: &self.seen, rotating: u32::from(self.rotation == Rotation::Rotating),
                params: &flow.params.values, out,
            } }
        }?)
    }

    fn diffused(&self) -> Option<&DeviceBuffer<f64>> {
        Some(&self.fluxes)
    }

    fn carried(&self) -> (&CarriedCuda, f64) {
        (&self.carried, self.cfl_ratio)
    }

    fn update_kernel(&self) -> Option<&Kernel> {
        (!self.may_be_negative).then_some(&self.kernels.sa_update)
    }
}
