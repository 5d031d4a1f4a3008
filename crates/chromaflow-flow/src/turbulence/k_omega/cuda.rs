#![allow(unsafe_code)]
//! Launches of k_omega.cu.

use super::arguments::{
    KOmegaDerivative, KOmegaFaces, KOmegaFacesAlong, KOmegaGrowth, KOmegaResidual, KOmegaSlopes, KOmegaTerms,
    KOmegaTermsAlong, KOmegaWalls, KOmegaWallsAlong, Kernels,
};
use super::{GRADIENTS, KOmegaEquations, KOmegaVariant, NB};
use crate::config::WallTreatment;
use crate::coupled::{
    CarriedCuda, Carrier, CoupledCuda, CoupledStateCuda, DirectionCuda, FACES, FlowView, FlowViewCuda,
    NODE_SLOPES,
};
use crate::gpu::{ALONG, NodeGradientsCuda, blocks, optional, source, upload_structs};
use crate::march::{FlowError, Moment};
use crate::turbulence::hybrid::cuda::{FORMS, HybridGridCuda, TEXT, number};
use crate::turbulence::hybrid::{HybridForm, HybridGrid};
use crate::turbulence::walls::cuda::ShearCuda;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream};
use chromaflow_device::enqueue;

fn kernel_source(variant: KOmegaVariant, hybrid: Option<HybridForm>) -> KernelSource {
    let tables = format!("{ALONG}{FACES}{NODE_SLOPES}{TEXT}");
    let text = source("k_omega", &tables, include_str!("k_omega.cu")).records::<Kernels>();
    text.define("NB", NB).define("VARIANT", variant as i32).define("HYBRID", number(hybrid))
}

/// Those of a model.
pub(crate) fn sources_of(variant: KOmegaVariant, hybrid: Option<HybridForm>) -> Vec<KernelSource> {
    vec![kernel_source(variant, hybrid), crate::residual::node_gradients::cuda::kernel_source(NB)]
}

/// Every model.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    let sst = [KOmegaVariant::Sst, KOmegaVariant::SstVorticity].into_iter();
    let mut all: Vec<_> = sst.flat_map(|model| FORMS.map(|hybrid| kernel_source(model, hybrid))).collect();
    all.push(kernel_source(KOmegaVariant::Wilcox, None));
    all
}

/// Numbers of `Terms` and of `Flux` in k_omega.cu.
const TERMS: usize = 7;
const FLUX: usize = 4;
/// Of `TermsAlong`.
const TERMS_ALONG: usize = 4;

/// A k-omega model on the device. **Twin**: [`KOmegaEquations`]. **Launch shapes**: a thread a wall node for given values, a thread a row for
/// terms, sums and the matrix, a thread an edge for faces, a thread a node of the boundary; gradients as [`NodeGradientsCuda`].
pub struct KOmegaCuda {
    second_order: bool,
    cfl_ratio: f64,
    gradient: NodeGradientsCuda,
    kernels: Kernels,
    /// `Numbers` in k_omega.cu.
    numbers: DeviceBuffer<f64>,
    /// From the walls.
    distance: DeviceBuffer<f64>,
    /// None where production is multiplied by nothing.
    production: DeviceBuffer<f64>,
    hybrid: Option<HybridGridCuda>,
    /// Of the first node off the wall, by rows; zero off walls.
    heights: DeviceBuffer<f64>,
    /// Which of `laws`, `LawNode`, each row takes, from 1; empty where none does. Whether omega there is blended.
    law_of: DeviceBuffer<u32>,
    laws: DeviceBuffer<u64>,
    blended: bool,
    shear: Option<ShearCuda>,
    eddies: DeviceBuffer<f64>,
    /// Of (u, v, w, k, omega), `[rows, 5, 3]`.
    gradients: DeviceBuffer<f64>,
    /// `[rows, TERMS]`
    terms: DeviceBuffer<f64>,
    /// `[edges, FLUX]`
    fluxes: DeviceBuffer<f64>,
    carried: CarriedCuda,
    way: Way,
}

/// The residual's derivative along a direction. Twin: derivative.rs.
struct Way {
    gradients: DeviceBuffer<f64>,
    /// `[rows, TERMS_ALONG]`
    terms: DeviceBuffer<f64>,
    /// `[edges, FLUX]`
    fluxes: DeviceBuffer<f64>,
    /// Eddy viscosity at the end of the flow's step.
    eddies: DeviceBuffer<f64>,
    taken: bool,
}

impl KOmegaCuda {
    /// The model beside a flow.
    ///
    /// # Errors
    /// [`FlowError::Gpu`].
    pub fn new(stream: &Stream, host: &KOmegaEquations, flow: &FlowView<'_>) -> Result<Self, FlowError> {
        let (rows, edges) = (flow.dual.nodes(), flow.dual.edges.len());
        let form = host.hybrid.as_ref().map(HybridGrid::form);
        let module = stream.gpu().module(&kernel_source(host.model.variant, form))?;
        let hybrid = host.hybrid.as_ref().map(|grid| HybridGridCuda::new(stream, grid)).transpose()?;
        let mut heights = vec![0.0; rows];
        for (row, height) in host.walls.iter().zip(&host.heights) {
            heights[*row as usize] = *height;
        }
        // From 1; 0 where a row has none.
        let mut law_of = vec![0_u32; if flow.laws[0].is_empty() { 0 } else { rows }];
        for (at, law) in flow.laws[0].iter().enumerate() {
            law_of[law.node as usize] = at as u32 + 1;
        }
        let given = host.inflow.repeat(flow.dual.patches.len());
        Ok(Self {
            second_order: host.config.second_order,
            cfl_ratio: host.config.cfl_ratio,
            gradient: NodeGradientsCuda::new(stream, &host.gradients, NB)?,
            kernels: Kernels::of(&module)?,
            numbers: stream.upload(&[
                host.model.ambient_k,
                host.model.ambient_omega,
                host.model.roughness,
            ])?,
            distance: stream.upload(&host.distance)?,
            production: stream.upload(&host.production)?,
            hybrid,
            heights: stream.upload(&heights)?,
            law_of: stream.upload(&law_of)?,
            laws: upload_structs(stream, flow.laws[0])?,
            blended: host.config.walls == WallTreatment::Automatic,
            shear: ShearCuda::new(stream, flow.laws[1], true)?,
            eddies: DeviceBuffer::zeroed(stream, rows)?,
            gradients: DeviceBuffer::zeroed(stream, GRADIENTS * rows)?,
            terms: DeviceBuffer::zeroed(stream, TERMS * rows)?,
            fluxes: DeviceBuffer::zeroed(stream, FLUX * edges)?,
            carried: CarriedCuda::new(stream, NB, Carrier::Mass(&given), flow)?,
            way: Way {
                gradients: DeviceBuffer::zeroed(stream, GRADIENTS * rows)?,
                terms: DeviceBuffer::zeroed(stream, TERMS_ALONG * rows)?,
                fluxes: DeviceBuffer::zeroed(stream, FLUX * edges)?,
                eddies: DeviceBuffer::zeroed(stream, rows)?,
                taken: false,
            },
        })
    }
}

impl CoupledCuda for KOmegaCuda {
    fn give(
        &self,
        flow: &FlowViewCuda<'_>,
        nodes: &DeviceBuffer<u32>,
        values: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(values.len() == NB * flow.mesh.rows && self.heights.len() == flow.mesh.rows);
        // SAFETY: the nodes are rows.
        Ok(unsafe {
            enqueue! { self.kernels.k_omega_walls.launch(blocks(nodes.len(), 128), 128), flow.stream, KOmegaWalls {
                count: nodes.len() as u32, node_of: nodes, nodes: flow.nodes, heights: &self.heights,
                law_of: optional(&self.law_of), laws: &self.laws, blended: u32::from(self.blended),
                params: &flow.params.values, numbers: &self.numbers, values: &*values,
            } }
        }?)
    }

    fn prepare(&mut self, flow: &FlowViewCuda<'_>, values: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        let (stream, n) = (flow.stream, flow.mesh.rows);
        assert!(values.len() == NB * n && self.distance.len() == n && flow.nodes.len() == 8 * n);
        let params = flow.params;
        self.gradient.enqueue(stream, flow.mesh, flow.nodes, values, &mut self.gradients)?;
        if let Some(shear) = &self.shear {
            shear.replace(stream, params, flow.nodes, &self.gradients)?;
        }
        // SAFETY: arrays have the lengths of their set-up, for this mesh.
        Ok(unsafe {
            enqueue! { self.kernels.k_omega_terms.launch(blocks(n, 128), 128), stream, KOmegaTerms {
                rows: n as u32, nodes: flow.nodes, gradients: &self.gradients, values,
                distance: &self.distance, production: optional(&self.production),
                grid: HybridGridCuda::arguments(self.hybrid.as_ref()), params: &params.values,
                numbers: &self.numbers, terms: &self.terms, eddies: &self.eddies,
            } }
        }?)
    }

    fn eddy_viscosity(&self) -> Option<&DeviceBuffer<f64>> {
        Some(if self.way.taken { &self.way.eddies } else { &self.eddies })
    }

    fn has_derivative(&self) -> bool {
        true
    }

    fn direct(
        &mut self,
        way: &DirectionCuda<'_>,
        state: &CoupledStateCuda,
        changes: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (flow, n, own) = (&way.flow, way.flow.mesh.rows, &mut self.way);
        let (stream, params, given) = (flow.stream, &flow.params.values, &state.given);
        assert!(state.values.len() == NB * n && changes.len() == NB * n && way.along.len() == 8 * n);
        // SAFETY: the nodes are rows.
        unsafe {
            enqueue! { self.kernels.k_omega_walls_along.launch(blocks(given.len(), 128), 128), stream, KOmegaWallsAlong {
                count: given.len() as u32, node_of: given, nodes: flow.nodes, along: way.along,
                heights: &self.heights, law_of: optional(&self.law_of), laws: &self.laws,
                blended: u32::from(self.blended), params, numbers: &self.numbers, changes: &*changes,
            } }?;
        }
        self.gradient.enqueue(stream, flow.mesh, way.along, changes, &mut own.gradients)?;
        if let Some(shear) = &self.shear {
            shear.replace_along(stream, flow.params, [flow.nodes, way.along], &own.gradients)?;
        }
        // SAFETY: arrays have the lengths of their set-up, for this mesh.
        unsafe {
            enqueue! { self.kernels.k_omega_terms_along.launch(blocks(n, 128), 128), stream, KOmegaTermsAlong {
                rows: n as u32, nodes: flow.nodes, along: way.along, gradients: &self.gradients,
                gradients_along: &own.gradients, values: &state.values, changes: &*changes,
                distance: &self.distance, production: optional(&self.production),
                grid: HybridGridCuda::arguments(self.hybrid.as_ref()), h: way.h, params,
                numbers: &self.numbers, terms: &own.terms, moved: &own.eddies,
            } }?;
        }
        own.taken = true;
        Ok(())
    }

    fn derivative(
        &mut self,
        way: &DirectionCuda<'_>,
        moved: &FlowViewCuda<'_>,
        at: &Moment,
        state: &CoupledStateCuda,
        changes: &DeviceBuffer<f64>,
        out: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (flow, mesh, n, own) = (&way.flow, way.flow.mesh, way.flow.mesh.rows, &self.way);
        let (values, inverse) = (&state.values, 1.0 / way.h);
        assert!(values.len() == NB * n && changes.len() == NB * n && out.len() == NB * n);
        assert!([flow.fluxes.len(), moved.fluxes.len()] == [5 * mesh.edges; 2]);
        let ([last, before], levels) = match (at.time_factors(), flow.levels) {
            (Some([_, last, before]), Some(q)) => ([last, before], [&q[0], &q[1]].map(Read::from)),
            _ => ([0.0; 2], [Read::NONE; 2]),
        };
        // SAFETY: ends of edges are rows, positions name edges; the arrays have the lengths of their set-up, for this mesh.
        unsafe {
            enqueue! { self.kernels.k_omega_faces_along.launch(blocks(mesh.edges, 128), 128), flow.stream, KOmegaFacesAlong {
                edges: mesh.edges as u32, ends: &mesh.ends, areas: &mesh.areas, nodes: flow.nodes,
                mass_fluxes: flow.fluxes, mass_moved: moved.fluxes, inverse, values, changes,
                gradients: &self.gradients, gradients_along: &own.gradients, terms: &self.terms,
                terms_along: &own.terms, second_order: u32::from(self.second_order),
                params: &flow.params.values, out: &own.fluxes,
            } }?;
            enqueue! { self.kernels.k_omega_derivative.launch(blocks(n, 128), 128), flow.stream, KOmegaDerivative {
                rows: n as u32, row_ptr: &mesh.row_ptr, signed_edge: &mesh.signed_edge, fluxes: &own.fluxes,
                mass_fluxes: flow.fluxes, mass_moved: moved.fluxes, inverse, values, changes,
                terms: &own.terms, volumes: &mesh.volumes, last, before, q_last: levels[0],
                q_before: levels[1], out: &*out,
            } }?;
        }
        self.carried.add_to_derivative(way, moved, [values, changes], out)
    }

    fn leave_direction(&mut self) {
        self.way.taken = false;
    }

    fn residual(
        &mut self,
        flow: &FlowViewCuda<'_>,
        state: &CoupledStateCuda,
        at: &Moment,
        residual: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (stream, mesh, values, n) = (flow.stream, flow.mesh, &state.values, flow.mesh.rows);
        assert!(values.len() == NB * n && residual.len() == NB * n && flow.fluxes.len() == 5 * mesh.edges);
        let ([last, before], levels) = match (at.time_factors(), flow.levels, &state.levels) {
            (Some([_, last, before]), Some(q), Some(own)) => {
                ([last, before], [&q[0], &q[1], &own[0], &own[1]].map(Read::from))
            }
            _ => ([0.0; 2], [Read::NONE; 4]),
        };
        // SAFETY: ends of edges are rows, positions name edges; the arrays have the lengths of their set-up, for this mesh;
        // earlier levels of flow and model are all there or all missing.
        unsafe {
            enqueue! { self.kernels.k_omega_faces.launch(blocks(mesh.edges, 128), 128), stream, KOmegaFaces {
                edges: mesh.edges as u32, ends: &mesh.ends, areas: &mesh.areas, nodes: flow.nodes,
                mass_fluxes: flow.fluxes, values, gradients: &self.gradients, terms: &self.terms,
                second_order: u32::from(self.second_order), params: &flow.params.values, out: &self.fluxes,
                faces: &self.carried.faces,
            } }?;
            enqueue! { self.kernels.k_omega_residual.launch(blocks(n, 128), 128), stream, KOmegaResidual {
                rows: n as u32, row_ptr: &mesh.row_ptr, signed_edge: &mesh.signed_edge, fluxes: &self.fluxes,
                mass_fluxes: flow.fluxes, values, terms: &self.terms, volumes: &mesh.volumes, last, before,
                q_last: levels[0], q_before: levels[1], values_last: levels[2], values_before: levels[3],
                slopes: &self.carried.slopes, residual: &*residual,
            } }?;
        }
        self.carried.add_to_residual(flow, values, residual)?;
        // SAFETY: the arrays have the lengths of their set-up, for this mesh.
        unsafe {
            enqueue! { self.kernels.k_omega_growth.launch(blocks(n, 256), 256), stream, KOmegaGrowth {
                rows: n as u32, values, terms: &self.terms, volumes: &mesh.volumes, residual: &*residual,
                growth: &self.carried.growth,
            } }?;
        }
        Ok(())
    }

    fn slopes(
        &self,
        flow: &FlowViewCuda<'_>,
        state: &CoupledStateCuda,
        out: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let n = flow.mesh.rows;
        assert!(state.values.len() == NB * n && self.distance.len() == n);
        // SAFETY: arrays have the lengths of their set-up, for this mesh.
        Ok(unsafe {
            enqueue! { self.kernels.k_omega_slopes.launch(blocks(n, 128), 128), flow.stream, KOmegaSlopes {
                rows: n as u32, nodes: flow.nodes, gradients: &self.gradients, values: &state.values,
                distance: &self.distance, production: optional(&self.production),
                grid: HybridGridCuda::arguments(self.hybrid.as_ref()), params: &flow.params.values,
                numbers: &self.numbers, out,
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
        Some(&self.kernels.k_omega_update)
    }
}
