//! What the kernels of `scalar.cu` take.

use crate::coupled::CarriedFace;
use crate::gpu::Params;
use chromaflow_device::cuda::{Read, Write};
use chromaflow_device::{kernel_elements, kernels};

kernel_elements! {
    /// Numbers of the equations.
    pub(super) struct Numbers: "Numbers" in f64;
}

kernels! {
    /// The kernels of `scalar.cu`.
    pub(super) struct Kernels {
        make_records: MakeRecords { rows: u32, phi: Read<f64>, nodes: Read<f64>, records: Write<f64> },
        make_gammas: MakeGammas {
            rows: u32, nodes: Read<f64>, params: Read<Params>, numbers: Read<Numbers>, last: f64, before: f64,
            q_last: Read<f64>, q_before: Read<f64>, gammas: Write<f64>, slopes: Write<f64>,
        },
        scalar_fluxes: ScalarFluxes {
            edges: u32, ends: Read<[u32; 2]>, areas: Read<f64>, nodes: Read<f64>, mass_fluxes: Read<f64>,
            phi: Read<f64>, gammas: Read<f64>, gradients: Read<f64>, moments: Read<f64>, params: Read<Params>,
            numbers: Read<Numbers>, out: Write<f64>, faces: Write<CarriedFace>,
        },
        scalar_residual: ScalarResidual {
            rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, fluxes: Read<f64>, mass_fluxes: Read<f64>,
            phi: Read<f64>, volumes: Read<f64>, last: f64, before: f64, q_last: Read<f64>,
            q_before: Read<f64>, phi_last: Read<f64>, phi_before: Read<f64>, residual: Write<f64>,
        },
    }
}
