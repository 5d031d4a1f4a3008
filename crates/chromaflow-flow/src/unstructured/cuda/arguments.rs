//! What the kernels of `step.cu` and `newton.cu` take.

use crate::bc::{MirrorNode, WallNode};
use crate::gpu::{AddParts, Params};
use crate::wall_law::LawNode;
use chromaflow_device::cuda::{Read, Share, Watch, Write};
use chromaflow_device::kernels;

kernels! {
    /// The kernels of `step.cu`.
    pub(super) struct Kernels {
        refresh_nodes: RefreshNodes { rows: u32, q: Read<f64>, params: Read<Params>, nodes: Share<f64> },
        complete_residual: CompleteResidual {
            rows: u32, volumes: Read<f64>, now: f64, last: f64, before: f64, q: Read<f64>, q_last: Read<f64>,
            q_before: Read<f64>, source: Read<f64>, planar: u32, residual: Write<f64>,
        },
        wall_residual: WallResidual {
            count: u32, walls: Read<WallNode<f64>>, friction: Write<f64>, residual: Share<f64>,
        },
        law_residual: LawResidual {
            count: u32, laws: Read<LawNode<f64>>, nodes: Read<f64>, params: Read<Params>, loads: Write<f64>,
            residual: Share<f64>,
        },
        mirror_residual: MirrorResidual { count: u32, mirrors: Read<MirrorNode<f64>>, residual: Share<f64> },
        held_residual: HeldResidual { count: u32, node_of: Read<u32>, residual: Share<f64> },
        residual_norms: ResidualNorms {
            rows: u32, residual: Read<f64>, volumes: Read<f64>, nodes: Read<f64>, partials: Write<f64>,
            first_bad: Write<u32>,
        },
        wall_forces: WallForces {
            parts: Read<[u32; 2]>, faces: Read<[u32; 2]>, areas: Read<f64>, normals: Read<f64>, nodes: Read<f64>,
            friction: Read<f64>, free_pressure: f64, cx: f64, cy: f64, cz: f64, partials: Write<f64>,
        },
        apply_update: ApplyUpdate {
            rows: u32, x: Read<f64>, params: Read<Params>, planar: u32, q: Write<f64>, last_good: Write<f64>,
            nodes: Write<f64>, cfl_shares: Write<f64>, limited: Write<u32>,
        },
        hold_walls: HoldWalls {
            count: u32, walls: Read<WallNode<f64>>, params: Read<Params>, q: Share<f64>, nodes: Share<f64>,
        },
        hold_mirrors: HoldMirrors {
            count: u32, mirrors: Read<MirrorNode<f64>>, params: Read<Params>, q: Share<f64>,
            nodes: Share<f64>,
        },
        check_state: CheckState { rows: u32, q: Read<f64>, nodes: Read<f64>, first_bad: Share<u32> },
        add_parts: AddParts,
    }
}

kernels! {
    /// The kernels of `newton.cu`.
    pub(super) struct NewtonKernels {
        set_beside: SetBeside {
            rows: u32, base: Read<f64>, h: f64, v: Read<f64>, params: Read<Params>, planar: u32,
            q: Write<f64>, nodes: Write<f64>,
        },
        states_along: StatesAlong {
            rows: u32, base: Read<f64>, v: Read<f64>, nodes: Read<f64>, params: Read<Params>, planar: u32,
            along: Write<f64>,
        },
        walls_along: WallsAlong {
            count: u32, walls: Read<WallNode<f64>>, base: Read<f64>, v: Read<f64>, params: Read<Params>,
            along: Write<f64>,
        },
        weigh: Weigh { rows: u32, back: u32, pseudo_time: Read<f64>, from: Watch<f64>, out: Share<f64> },
        slopes: Slopes {
            rows: u32, moved: Read<f64>, base: Read<f64>, pseudo_time: Read<f64>, v: Read<f64>, inverse: f64,
            planar: u32, weighted: u32, y: Write<f64>,
        },
        wall_slopes: WallSlopes {
            count: u32, walls: Read<WallNode<f64>>, pseudo_time: Read<f64>, weighted: u32, v: Read<f64>,
            y: Write<f64>,
        },
        mirror_slopes: MirrorSlopes {
            count: u32, mirrors: Read<MirrorNode<f64>>, pseudo_time: Read<f64>, weighted: u32, v: Read<f64>,
            y: Share<f64>,
        },
        held_slopes: HeldSlopes {
            count: u32, node_of: Read<u32>, pseudo_time: Read<f64>, weighted: u32, v: Read<f64>,
            y: Write<f64>,
        },
        pseudo_times: PseudoTimes {
            rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, areas: Read<f64>, nodes: Read<f64>,
            volumes: Read<f64>, eddies: Read<f64>, params: Read<Params>, viscous: u32, cfl: f64,
            cfl_shares: Read<f64>, pseudo_time: Write<f64>,
        },
    }
}
