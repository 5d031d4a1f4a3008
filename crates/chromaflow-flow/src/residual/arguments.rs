//! What the kernels of `residual.cu` and `viscous.cu` take.

use crate::bc::Condition;
use crate::gpu::Params;
use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_record, kernels};

kernel_record! {
    /// Nodes of the boundary and their parts of it; `stuck`: whether a wall has a node's velocity.
    pub(crate) struct BoundaryNodes {
        count: u32, node_of: Read<u32>, stuck: Read<u32>, ptr: Read<u32>, patch_of: Read<u32>, areas: Read<f64>,
        conditions: Read<Condition<f64>>, nodes: Read<f64>, params: Read<Params>,
    }

    /// What `element_fluxes` takes.
    pub(super) struct ElementFluxes {
        first: u32, count: u32, element_nodes: Read<u32>, element_edges: Read<u32>, nodes: Read<f64>,
        plane: u32, eddies: Read<f64>, relation: Read<f64>, params: Read<Params>, fluxes: Share<f64>,
    }

    /// What `open_stress` takes.
    pub(super) struct OpenStress {
        at: BoundaryNodes, gradients: Read<f64>, eddies: Read<f64>, out: Share<f64>,
    }

    /// What `node_limits` takes.
    pub(super) struct NodeLimits {
        rows: u32, row_ptr: Read<u32>, col_idx: Read<u32>, nodes: Read<f64>, gradients: Read<f64>,
        mapped_first: Read<u32>, mapped: Read<f64>, params: Read<Params>, out: Write<f64>,
    }
}

kernels! {
    /// The kernels of `residual.cu` that every limiter has.
    pub(crate) struct Kernels {
        edge_fluxes_1: EdgeFluxes {
            edges: u32, ends: Read<[u32; 2]>, areas: Read<f64>, nodes: Read<f64>, gradients: Read<f64>,
            limits: Read<f64>, mapped_first: Read<u32>, mapped: Read<f64>, moments: Read<f64>,
            params: Read<Params>, out: Write<f64>,
        },
        edge_fluxes_2: EdgeFluxes,
        gather_fluxes: GatherFluxes {
            rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, fluxes: Read<f64>, out: Write<f64>,
        },
        boundary_fluxes: BoundaryFluxes { at: BoundaryNodes, out: Write<f64> },
        adapt_outlets: AdaptOutlets {
            outlets: Read<u32>, node_of: Read<u32>, areas: Read<f64>, nodes: Read<f64>, params: Read<Params>,
            alone: u32, hold: u32, conditions: Share<Condition<f64>>, flows: Write<f64>,
        },
        adapt_by_flows: AdaptByFlows {
            count: u32, outlets: Read<u32>, flows: Read<f64>, params: Read<Params>, alone: u32,
            hold: u32, conditions: Share<Condition<f64>>,
        },
    }
}
