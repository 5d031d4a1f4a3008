//! What the kernels of `step.cu` and `newton.cu` take.

use crate::bc::{MirrorNode, WallNode};
use crate::gpu::Params;
use crate::wall_law::LawNode;
use chromaflow_device::cuda::{Read, Share, Watch, Write};
use chromaflow_device::kernel_record;

kernel_record! {
    /// What `refresh_nodes` takes.
    pub(super) struct RefreshNodes {
        rows: u32, q: Read<f64>, params: Read<Params>, nodes: Share<f64>,
    }

    /// What `complete_residual` takes.
    pub(super) struct CompleteResidual {
        rows: u32, volumes: Read<f64>, now: f64, last: f64, before: f64, q: Read<f64>, q_last: Read<f64>,
        q_before: Read<f64>, source: Read<f64>, planar: u32, residual: Write<f64>,
    }

    /// What `wall_residual` takes.
    pub(super) struct WallResidual {
        count: u32, walls: Read<WallNode<f64>>, friction: Write<f64>, residual: Share<f64>,
    }

    /// What `law_residual` takes.
    pub(super) struct LawResidual {
        count: u32, laws: Read<LawNode<f64>>, nodes: Read<f64>, params: Read<Params>, loads: Write<f64>,
        residual: Share<f64>,
    }

    /// What `mirror_residual` takes.
    pub(super) struct MirrorResidual {
        count: u32, mirrors: Read<MirrorNode<f64>>, residual: Share<f64>,
    }

    /// What `held_residual` takes.
    pub(super) struct HeldResidual {
        count: u32, node_of: Read<u32>, residual: Share<f64>,
    }

    /// What `residual_norms` takes.
    pub(super) struct ResidualNorms {
        rows: u32, residual: Read<f64>, volumes: Read<f64>, nodes: Read<f64>, partials: Write<f64>,
        first_bad: Write<u32>,
    }

    /// What `wall_forces` takes.
    pub(super) struct WallForces {
        parts: Read<[u32; 2]>, faces: Read<[u32; 2]>, areas: Read<f64>, nodes: Read<f64>,
        friction: Read<f64>, free_pressure: f64, cx: f64, cy: f64, cz: f64, partials: Write<f64>,
    }

    /// What `apply_update` takes.
    pub(super) struct ApplyUpdate {
        rows: u32, x: Read<f64>, params: Read<Params>, planar: u32, q: Write<f64>, last_good: Write<f64>,
        nodes: Write<f64>, cfl_shares: Write<f64>, limited: Write<u32>,
    }

    /// What `hold_walls` takes.
    pub(super) struct HoldWalls {
        count: u32, walls: Read<WallNode<f64>>, params: Read<Params>, q: Share<f64>, nodes: Share<f64>,
    }

    /// What `hold_mirrors` takes.
    pub(super) struct HoldMirrors {
        count: u32, mirrors: Read<MirrorNode<f64>>, params: Read<Params>, q: Share<f64>, nodes: Share<f64>,
    }

    /// What `check_state` takes.
    pub(super) struct CheckState {
        rows: u32, q: Read<f64>, nodes: Read<f64>, first_bad: Share<u32>,
    }

    /// What `set_beside` takes.
    pub(super) struct SetBeside {
        rows: u32, base: Read<f64>, h: f64, v: Read<f64>, params: Read<Params>, planar: u32, q: Write<f64>,
        nodes: Write<f64>,
    }

    /// What `states_along` takes.
    pub(super) struct StatesAlong {
        rows: u32, base: Read<f64>, v: Read<f64>, nodes: Read<f64>, params: Read<Params>, planar: u32,
        along: Write<f64>,
    }

    /// What `walls_along` takes.
    pub(super) struct WallsAlong {
        count: u32, walls: Read<WallNode<f64>>, base: Read<f64>, v: Read<f64>, params: Read<Params>,
        along: Write<f64>,
    }

    /// What `weigh` takes.
    pub(super) struct Weigh {
        rows: u32, back: u32, pseudo_time: Read<f64>, from: Watch<f64>, out: Share<f64>,
    }

    /// What `slopes` takes.
    pub(super) struct Slopes {
        rows: u32, moved: Read<f64>, base: Read<f64>, pseudo_time: Read<f64>, v: Read<f64>, inverse: f64,
        planar: u32, weighted: u32, y: Write<f64>,
    }

    /// What `wall_slopes` takes.
    pub(super) struct WallSlopes {
        count: u32, walls: Read<WallNode<f64>>, pseudo_time: Read<f64>, weighted: u32, v: Read<f64>,
        y: Write<f64>,
    }

    /// What `mirror_slopes` takes.
    pub(super) struct MirrorSlopes {
        count: u32, mirrors: Read<MirrorNode<f64>>, pseudo_time: Read<f64>, weighted: u32, v: Read<f64>,
        y: Share<f64>,
    }

    /// What `held_slopes` takes.
    pub(super) struct HeldSlopes {
        count: u32, node_of: Read<u32>, pseudo_time: Read<f64>, weighted: u32, v: Read<f64>, y: Write<f64>,
    }

    /// What `pseudo_times` takes.
    pub(super) struct PseudoTimes {
        rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, areas: Read<f64>, nodes: Read<f64>,
        volumes: Read<f64>, eddies: Read<f64>, params: Read<Params>, viscous: u32, cfl: f64,
        cfl_shares: Read<f64>, pseudo_time: Write<f64>,
    }
}
