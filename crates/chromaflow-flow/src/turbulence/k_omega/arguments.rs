//! What the kernels of `k_omega.cu` take.

use crate::coupled::{CarriedFace, NodeSlopes, SubtractUpdate};
use crate::gpu::Params;
use crate::turbulence::hybrid::cuda::GridLengths;
use crate::wall_law::LawNode;
use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernels};

kernel_elements! {
    /// Numbers of the equations.
    pub(super) struct Numbers: "Numbers" in f64;
    /// What goes through a face.
    pub(super) struct Flux: "Flux" in f64;
    /// Terms of a row.
    pub(super) struct Terms: "Terms" in f64;
    /// Terms of a row along a direction.
    pub(super) struct TermsAlong: "TermsAlong" in f64;
}

kernels! {
    /// The kernels of `k_omega.cu`.
    pub(super) struct Kernels {
        k_omega_walls: KOmegaWalls {
            count: u32, node_of: Read<u32>, nodes: Read<f64>, heights: Read<f64>, law_of: Read<u32>,
            laws: Read<LawNode<f64>>, blended: u32, params: Read<Params>, numbers: Read<Numbers>,
            values: Share<f64>,
        },
        k_omega_terms: KOmegaTerms {
            rows: u32, nodes: Read<f64>, gradients: Read<f64>, values: Read<f64>, distance: Read<f64>,
            production: Read<f64>, grid: GridLengths, params: Read<Params>, numbers: Read<Numbers>,
            terms: Write<Terms>, eddies: Write<f64>,
        },
        k_omega_slopes: KOmegaSlopes {
            rows: u32, nodes: Read<f64>, gradients: Read<f64>, values: Read<f64>, distance: Read<f64>,
            production: Read<f64>, grid: GridLengths, params: Read<Params>, numbers: Read<Numbers>,
            out: Write<NodeSlopes>,
        },
        k_omega_faces: KOmegaFaces {
            edges: u32, ends: Read<[u32; 2]>, areas: Read<f64>, nodes: Read<f64>, mass_fluxes: Read<f64>,
            values: Read<f64>, gradients: Read<f64>, terms: Read<Terms>, second_order: u32,
            params: Read<Params>, out: Write<Flux>, faces: Write<CarriedFace>,
        },
        k_omega_residual: KOmegaResidual {
            rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, fluxes: Read<Flux>, mass_fluxes: Read<f64>,
            values: Read<f64>, terms: Read<Terms>, volumes: Read<f64>, last: f64, before: f64,
            q_last: Read<f64>, q_before: Read<f64>, values_last: Read<f64>, values_before: Read<f64>,
            slopes: Write<f64>, residual: Write<f64>,
        },
        k_omega_growth: KOmegaGrowth {
            rows: u32, values: Read<f64>, terms: Read<Terms>, volumes: Read<f64>, residual: Read<f64>,
            growth: Write<f64>,
        },
        k_omega_walls_along: KOmegaWallsAlong {
            count: u32, node_of: Read<u32>, nodes: Read<f64>, along: Read<f64>, heights: Read<f64>,
            law_of: Read<u32>, laws: Read<LawNode<f64>>, blended: u32, params: Read<Params>,
            numbers: Read<Numbers>, changes: Share<f64>,
        },
        k_omega_terms_along: KOmegaTermsAlong {
            rows: u32, nodes: Read<f64>, along: Read<f64>, gradients: Read<f64>, gradients_along: Read<f64>,
            values: Read<f64>, changes: Read<f64>, distance: Read<f64>, production: Read<f64>,
            grid: GridLengths, h: f64, params: Read<Params>, numbers: Read<Numbers>, terms: Write<TermsAlong>,
            moved: Write<f64>,
        },
        k_omega_faces_along: KOmegaFacesAlong {
            edges: u32, ends: Read<[u32; 2]>, areas: Read<f64>, nodes: Read<f64>, mass_fluxes: Read<f64>,
            mass_moved: Read<f64>, inverse: f64, values: Read<f64>, changes: Read<f64>, gradients: Read<f64>,
            gradients_along: Read<f64>, terms: Read<Terms>, terms_along: Read<TermsAlong>, second_order: u32,
            params: Read<Params>, out: Write<Flux>,
        },
        k_omega_derivative: KOmegaDerivative {
            rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, fluxes: Read<Flux>, mass_fluxes: Read<f64>,
            mass_moved: Read<f64>, inverse: f64, values: Read<f64>, changes: Read<f64>,
            terms: Read<TermsAlong>, volumes: Read<f64>, last: f64, before: f64, q_last: Read<f64>,
            q_before: Read<f64>, out: Write<f64>,
        },
        k_omega_update: SubtractUpdate,
    }
}
