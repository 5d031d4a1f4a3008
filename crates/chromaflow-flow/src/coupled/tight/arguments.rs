//! What the kernels of `tight.cu` take.

use super::NodeSlopes;
use crate::bc::{MirrorNode, WallNode};
use crate::coupled::CarriedFace;
use crate::gpu::Params;
use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernels};

kernel_elements! {
    /// A number that off-diagonal blocks are assembled in.
    pub(super) struct Value: "Value" in u8;
}

kernel_elements!(NodeSlopes: "NodeSlopes" in f64);

kernels! {
    /// The kernels of `tight.cu`.
    pub(super) struct Kernels {
        joint_weights: JointWeights { rows: u32, floors: Read<f64>, values: Read<f64>, weights: Write<f64> },
        joint_laws: JointLaws { count: u32, node_of: Read<u32>, slopes: Share<NodeSlopes> },
        joint_rows: JointRows {
            rows: u32, row_ptr: Read<u32>, col_idx: Read<u32>, signed_edge: Read<u32>, areas: Read<f64>,
            nodes: Read<f64>, volumes: Read<f64>, fluxes: Read<f64>, unit_fluxes: Read<f64>,
            diffused: Read<f64>, faces: Read<CarriedFace>, values: Read<f64>, weights: Read<f64>,
            slopes: Read<NodeSlopes>, params: Read<Params>, per_volume: u32, own_off: Read<Value>,
            own_diag: Read<f64>, beside_off: Read<Value>, beside_diag: Read<f64>, off: Write<Value>,
            diag: Write<f64>,
        },
        joint_walls: JointWalls {
            count: u32, walls: Read<WallNode<f64>>, row_ptr: Read<u32>, off: Share<Value>, diag: Share<f64>,
        },
        joint_mirrors: JointMirrors {
            count: u32, mirrors: Read<MirrorNode<f64>>, row_ptr: Read<u32>, off: Share<Value>,
            diag: Share<f64>,
        },
        joint_held: JointHeld {
            count: u32, node_of: Read<u32>, row_ptr: Read<u32>, off: Share<Value>, diag: Share<f64>,
        },
        joint_given: JointHeld,
        joint_residual: JointResidual {
            rows: u32, own: Read<f64>, beside: Read<f64>, weights: Read<f64>, out: Write<f64>,
        },
        joint_state: JointState {
            rows: u32, from: Read<f64>, weights: Read<f64>, own: Write<f64>, beside: Write<f64>,
        },
        joint_planar: JointPlanar { edges: u32, fluxes: Share<f64> },
    }
}
