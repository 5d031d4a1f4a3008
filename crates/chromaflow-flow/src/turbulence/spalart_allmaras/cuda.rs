#![allow(unsafe_code)]
//! Launches of sa.cu.

use super::arguments::{SaFaces, SaRelations, SaResidual, SaSources, SaViscosities};
use super::{HybridGrid, SaEquation, SaVariant};
use crate::config::{Quadratic, Rotation};
use crate::coupled::{
    CarriedCuda, Carrier, CoupledCuda, CoupledStateCuda, FACES, FlowView, FlowViewCuda, SubtractUpdate,
};
use crate::gpu::{NodeGradientsCuda, blocks, optional, source};
use crate::march::{FlowError, Moment};
use crate::turbulence::hybrid::HybridForm;
use crate::turbulence::hybrid::cuda::{FORMS, HybridGridCuda, TEXT, number};
use crate::turbulence::walls::cuda::ShearCuda;
use chromaflow::gpu::{DeviceJacobian, GpuError};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream};
use chromaflow_device::kernel_arguments;

fn kernel_source(variant: SaVariant, hybrid: Option<HybridForm>) -> KernelSource {
    let text = source("sa", &format!("{FACES}{TEXT}"), include_str!("sa.cu")).records::<(
        SaViscosities,
        SaSources,
        SaRelations,
        SaFaces,
        SaResidual,
        SubtractUpdate,
    )>();
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
    /// fw of QCR2020 and what makes it, where it is asked for.
    relation: Option<(Kernel, DeviceBuffer<f64>)>,
    cfl_ratio: f64,
    gradient: NodeGradientsCuda,
    viscosities_kernel: Kernel,
    sources_kernel: Kernel,
    faces_kernel: Kernel,
    residual_kernel: Kernel,
    /// Where negative values have no model.
    update_kernel: Option<Kernel>,
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
        let update = (!sa.may_be_negative()).then(|| module.kernel("sa_update"));
        Ok(Self {
            second_order: sa.config.second_order,
            rotation: sa.config.rotation,
            relation: match sa.config.quadratic {
                Quadratic::Qcr2020 => {
                    Some((module.kernel("sa_relations")?, DeviceBuffer::zeroed(stream, rows)?))
                }
                _ => None,
            },
            cfl_ratio: sa.config.cfl_ratio,
            gradient: NodeGradientsCuda::new(stream, &sa.gradients)?,
            viscosities_kernel: module.kernel("sa_viscosities")?,
            sources_kernel: module.kernel("sa_sources")?,
            faces_kernel: module.kernel("sa_faces")?,
            residual_kernel: module.kernel("sa_residual")?,
            update_kernel: update.transpose()?,
            distance: stream.upload(&sa.distance)?,
            production: stream.upload(&sa.production)?,
            hybrid,
            shear: ShearCuda::new(stream, flow.laws[1], false)?,
            nu: DeviceBuffer::zeroed(stream, rows)?,
            eddies: DeviceBuffer::zeroed(stream, rows)?,
            gradients: DeviceBuffer::zeroed(stream, 12 * rows)?,
            source: DeviceBuffer::zeroed(stream, rows)?,
            fluxes: DeviceBuffer::zeroed(stream, 3 * flow.dual.edges.len())?,
            carried: CarriedCuda::new(stream, 1, Carrier::Volume(&[sa.config.inflow]), flow)?,
        })
    }
}

impl SaCuda {
    /// Gradients of velocity and nut at the nodes.
    fn find_gradients(&mut self, flow: &FlowViewCuda<'_>, nut: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        let elements = flow.viscous.expect("turbulence is beside viscous flow");
        self.gradient.enqueue(flow.stream, elements, flow.params, flow.nodes, nut, &mut self.gradients)?;
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
        let launch = self.viscosities_kernel.launch(blocks(n, 128), 128);
        // SAFETY: a number a row, eight a node record.
        unsafe {
            launch
                .record(&kernel_arguments! { SaViscosities {
                    rows: n as u32, nodes: flow.nodes, nut, params: &flow.params.values, nu: &self.nu,
                    eddies: &self.eddies,
                } })
                .enqueue(flow.stream)?;
        }
        if self.relation.is_some() {
            self.find_gradients(flow, nut)?;
        }
        let Some((kernel, relation)) = &self.relation else { return Ok(()) };
        let launch = kernel.launch(blocks(n, 128), 128);
        // SAFETY: a number a row, twelve derivatives.
        Ok(unsafe {
            launch
                .record(&kernel_arguments! { SaRelations {
                    rows: n as u32, gradients: &self.gradients, nu: &self.nu, nut, distance: &self.distance,
                    params: &flow.params.values, relation,
                } })
                .enqueue(flow.stream)
        }?)
    }

    fn relation(&self) -> Option<&DeviceBuffer<f64>> {
        self.relation.as_ref().map(|(_, relation)| relation)
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
        let sources = self.sources_kernel.launch(blocks(n, 128), 128);
        let [_, last, before] = at.time_factors().unwrap_or_default();
        let faces = self.faces_kernel.launch(blocks(mesh.edges, 128), 128);
        let levels = match (at.bdf, &state.levels) {
            (Some(_), Some(levels)) => [&levels[0], &levels[1]].map(Read::from),
            _ => [Read::NONE; 2],
        };
        let sums = self.residual_kernel.launch(blocks(n, 128), 128);
        // SAFETY: ends of edges are rows, positions name edges and columns rows; the arrays have the lengths of their
        // set-up, for this mesh; earlier levels are both there or both missing.
        unsafe {
            sources
                .record(&kernel_arguments! { SaSources {
                    rows: n as u32, gradients: &self.gradients, nu: &self.nu, nut, distance: &self.distance,
                    production: optional(&self.production), grid: HybridGridCuda::arguments(self.hybrid.as_ref()),
                    rotation: self.rotation as u32, row_ptr: &mesh.row_ptr, col_idx: &mesh.col_idx,
                    signed_edge: &mesh.signed_edge, nodes: flow.nodes, fluxes: flow.fluxes,
                    volumes: &mesh.volumes, params, unsteady: u32::from(at.bdf.is_some()), last,
                    before, source: &self.source, slopes: &self.carried.slopes,
                } })
                .enqueue(stream)?;
            faces
                .record(&kernel_arguments! { SaFaces {
                    edges: mesh.edges as u32, ends: &mesh.ends, areas: &mesh.areas, nodes: flow.nodes,
                    fluxes: flow.fluxes, nu: &self.nu, nut, gradients: &self.gradients,
                    second_order: u32::from(self.second_order), params, out: &self.fluxes,
                    faces: &self.carried.faces,
                } })
                .enqueue(stream)?;
            sums.record(&kernel_arguments! { SaResidual {
                rows: n as u32, row_ptr: &mesh.row_ptr, signed_edge: &mesh.signed_edge,
                fluxes: &self.fluxes, faces: &self.carried.faces, nut, source: &self.source,
                volumes: &mesh.volumes, last, before, nut_last: levels[0], nut_before: levels[1],
                residual: &*residual,
            } })
            .enqueue(stream)?;
        }
        self.carried.add_to_residual(flow, nut, residual)
    }

    fn assemble(
        &mut self,
        flow: &FlowViewCuda<'_>,
        _state: &CoupledStateCuda,
        at: &Moment,
        jacobian: &DeviceJacobian,
    ) -> Result<(), GpuError> {
        self.carried.assemble(flow, at.cfl * self.cfl_ratio, jacobian)
    }

    fn pseudo_time(
        &self,
        flow: &FlowViewCuda<'_>,
        at: &Moment,
        out: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        self.carried.pseudo_time(flow, at.cfl * self.cfl_ratio, out)
    }

    fn update_kernel(&self) -> Option<&Kernel> {
        self.update_kernel.as_ref()
    }
}
