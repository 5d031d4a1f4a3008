//! What the kernels of `sa.cu` take.

use crate::coupled::{CarriedFace, NodeSlopes, SubtractUpdate};
use crate::gpu::Params;
use crate::turbulence::hybrid::cuda::GridLengths;
use chromaflow_device::cuda::{Read, Write};
use chromaflow_device::{kernel_elements, kernels};

kernel_elements! {
    /// What goes through a face.
    pub(super) struct Flux: "Flux" in f64;
}

kernels! {
    /// The kernels of `sa.cu`.
    pub(super) struct Kernels {
        sa_viscosities: SaViscosities {
            rows: u32, nodes: Read<f64>, nut: Read<f64>, params: Read<Params>, nu: Write<f64>,
            eddies: Write<f64>,
        },
        sa_sources: SaSources {
            rows: u32, gradients: Read<f64>, nu: Read<f64>, nut: Read<f64>, distance: Read<f64>,
            production: Read<f64>, grid: GridLengths, rotation: u32, row_ptr: Read<u32>, col_idx: Read<u32>,
            signed_edge: Read<u32>, nodes: Read<f64>, fluxes: Read<f64>, volumes: Read<f64>,
            params: Read<Params>, unsteady: u32, last: f64, before: f64, source: Write<f64>,
            slopes: Write<f64>, seen: Write<f64>,
        },
        sa_slopes: SaSlopes {
            rows: u32, gradients: Read<f64>, nodes: Read<f64>, nut: Read<f64>, seen: Read<f64>, rotating: u32,
            params: Read<Params>, out: Write<NodeSlopes>,
        },
        sa_relations: SaRelations {
            rows: u32, gradients: Read<f64>, nu: Read<f64>, nut: Read<f64>, distance: Read<f64>,
            params: Read<Params>, relation: Write<f64>,
        },
        sa_faces: SaFaces {
            edges: u32, ends: Read<[u32; 2]>, areas: Read<f64>, nodes: Read<f64>, fluxes: Read<f64>,
            nu: Read<f64>, nut: Read<f64>, gradients: Read<f64>, second_order: u32, params: Read<Params>,
            out: Write<Flux>, faces: Write<CarriedFace>,
        },
        sa_residual: SaResidual {
            rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, fluxes: Read<Flux>,
            faces: Read<CarriedFace>, nut: Read<f64>, source: Read<f64>, volumes: Read<f64>, last: f64,
            before: f64, nut_last: Read<f64>, nut_before: Read<f64>, residual: Write<f64>,
        },
        sa_update: SubtractUpdate,
    }
}
