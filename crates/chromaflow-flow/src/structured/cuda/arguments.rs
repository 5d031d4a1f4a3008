//! What the kernels of lines, sweeps and fluxes take.

use crate::bc::Condition;
use crate::gpu::AddParts;
use crate::grid::{Chunks, GridBlock};
use crate::wall_law::LawNode;
use chromaflow_device::cuda::{Read, Share, Watch, Write};
use chromaflow_device::{kernel_elements, kernel_record, kernels};

kernel_elements! {
    /// Numbers of the set-up.
    pub struct Setup: "Setup" in f64;
    /// A side of a block at the boundary.
    pub struct Side: "Side" in u32;
    /// A tensor map.
    pub struct TensorMap: "TensorMap" in u8;
    /// A number that off-diagonal blocks are assembled in.
    pub struct Value: "Value" in u8;
}

kernel_record! {
    /// Lines along an axis: the blocks, and groups {block, first line}, the highest bit of the block set where an axis came before.
    pub struct Lines { total: u64, axis: u32, blocks: Read<GridBlock>, groups: Read<[u32; 2]> }

    /// Faces of the boundary, and the derivatives of the fluxes through them.
    pub struct Ends { side_ptr: Read<u32>, face_of: Read<u32>, faces: u64, jacobians: Read<f64> }

    /// Arrays of cells that lines are made of; `r` goes from the residual or the update so far to the solution.
    pub struct Cells {
        w: Read<f64>, area: Read<f64>, taus: Read<f64>, volume: Read<f64>, numbers: Read<Setup>,
        r: Share<f64>,
    }

    /// Open lines of blocks; what is kept of the elimination.
    pub struct BlockLines {
        lines: Lines, ends: Ends, cells: Cells, factors: Share<f64>, values: Share<f64>, bad: Share<u32>,
    }

    /// Lines of blocks cut into segments, open or closed.
    pub struct BlockSegments {
        lines: Lines, closed: u32, ends: Ends, cells: Cells, factors: Share<f64>, values: Share<f64>,
        loops: Share<f64>, bad: Share<u32>,
    }

    /// Lines of waves, open or closed.
    pub struct WaveLines { lines: Lines, fourth: u32, cells: Cells, kept: Share<f64>, bad: Share<u32> }

    /// Inviscid fluxes, tile by tile.
    pub struct Fluxes {
        total: u64, planes: u32, blocks: Read<GridBlock>, tiles: Read<[u32; 4]>, side_ptr: Read<u32>,
        face_of: Read<u32>, faces: u64, at_boundary: Read<f64>, w: Read<f64>, area: Read<f64>,
        numbers: Read<Setup>, jumps: Read<f64>, maps: Read<TensorMap>, r: Write<f64>,
    }

    /// Viscous fluxes, tile by tile.
    pub struct ViscousFluxes {
        total: u64, planes: u32, blocks: Read<GridBlock>, tiles: Read<[u32; 4]>, actives: Read<u32>,
        side_ptr: Read<u32>, face_of: Read<u32>, w: Read<f64>, area: Read<f64>, volume: Read<f64>,
        eddies: Read<f64>, gamma: f64, viscosity: f64, prandtl: f64, sutherland_law: u32, sutherland: f64,
        /// Conductivity over viscosity of eddies.
        eddy_ratio: f64, maps: Read<TensorMap>,
        r: Write<f64>,
    }

    /// What `transpose` takes.
    pub(super) struct TransposePlanes {
        total: u64, blocks: Read<GridBlock>, tiles: Read<[u32; 4]>, na: u32, nb: u32, nc: u32, back: u32,
        a: Share<f64>, b: Share<f64>, c: Share<f64>, turned: Share<f64>,
    }
}

kernels! {
    /// The kernels of `boundary.cu`.
    pub(in crate::structured) struct AtBoundary {
        adapt_outlets: AdaptOutlets {
            total: u64, ptr: Read<u32>, parts: Read<u32>, faces: Read<[u32; 2]>, sides: Read<Side>,
            w: Read<f64>, area: Read<f64>, setup: Read<Setup>, alone: u32, hold: u32,
            conditions: Share<Condition<f64>>, flows: Write<f64>,
        },
        adapt_by_flows: AdaptByFlows {
            count: u32, ptr: Read<u32>, parts: Read<u32>, flows: Read<f64>, setup: Read<Setup>,
            alone: u32, hold: u32, conditions: Share<Condition<f64>>,
        },
        fill_ghosts: FillGhosts {
            count: u32, total: u64, columns: Read<[u32; 2]>, middles: Read<f64>,
            conditions: Read<Condition<f64>>, sides: Read<Side>, laws: Read<LawNode<f64>>, area: Read<f64>,
            setup: Read<Setup>, w: Share<f64>,
        },
        boundary_fluxes: BoundaryFluxes {
            count: u32, total: u64, faces: Read<[u32; 2]>, middles: Read<f64>,
            conditions: Read<Condition<f64>>, sides: Read<Side>, laws: Read<LawNode<f64>>, w: Read<f64>,
            area: Read<f64>, volume: Read<f64>, setup: Read<Setup>, free_pressure: f64, fluxes: Write<f64>, loads: Write<f64>,
        },
        boundary_jacobians: BoundaryJacobians {
            count: u32, total: u64, faces: Read<[u32; 2]>, conditions: Read<Condition<f64>>,
            sides: Read<Side>, laws: Read<LawNode<f64>>, w: Read<f64>, area: Read<f64>, volume: Read<f64>,
            setup: Read<Setup>, jacobians: Write<f64>,
        },
        join_turned: JoinTurned {
            count: u32, total: u64, sides: Read<[u32; 4]>, turns: Read<f64>, w: Read<f64>, area: Read<f64>,
            jumps: Read<f64>, setup: Read<Setup>, r: Share<f64>,
        },
        wall_forces: WallForces {
            count: u32, parts: Read<[u32; 2]>, middles: Read<f64>, loads: Read<f64>, cx: f64, cy: f64,
            cz: f64, partials: Write<f64>,
        },
    }
}

kernels! {
    /// The kernels of `step.cu`.
    pub(super) struct OverCells {
        time_steps: TimeSteps {
            over: Chunks, total: u64, actives: Read<u32>, w: Read<f64>, area: Read<f64>, volume: Read<f64>,
            eddies: Read<f64>, setup: Read<Setup>, cfl: f64, cfl_shares: Read<f64>, mean: u32, rate: f64,
            tau: Write<f64>, least: Write<f64>,
        },
        find_jumps: FindJumps {
            over: Chunks, total: u64, actives: Read<u32>, w: Read<f64>, jumps: Write<f64>,
        },
        finish_residual: FinishResidual {
            over: Chunks, chunk_count: u32, total: u64, w: Read<f64>, volume: Read<f64>, w_last: Read<f64>,
            w_before: Read<f64>, now: f64, before: f64, setup: Read<Setup>, r: Share<f64>,
            partials: Write<f64>, first_bad: Share<u32>,
        },
        apply_update: ApplyUpdate {
            over: Chunks, total: u64, w: Read<f64>, r: Read<f64>, setup: Read<Setup>, next: Write<f64>,
            cfl_shares: Write<f64>, limited: Share<u32>, first_bad: Share<u32>,
        },
        add_parts: AddParts,
    }
}

kernels! {
    /// The kernels of `ssor.cu`.
    pub(super) struct SweepKernels {
        face_damping: FaceDamping {
            over: Chunks, total: u64, actives: Read<u32>, w: Read<f64>, open: Read<f64>, volume: Read<f64>,
            setup: Read<Setup>, damping: Write<f64>,
        },
        boundary_cells: BoundaryCells {
            count: u32, total: u64, blocks: Read<GridBlock>, cells: Read<[u32; 4]>, actives: Read<u32>,
            ends: Ends, w: Read<f64>, area: Read<f64>, damping: Read<f64>, taus: Read<f64>,
            setup: Read<Setup>, factors: Write<f64>,
        },
        sweep_plane: SweepPlane {
            total: u64,
            blocks: Read<GridBlock>,
            groups: Read<[u32; 4]>,
            /// Places of cells plane by plane, and the numbers of their factored blocks.
            order: Read<[u32; 2]>,
            actives: Read<u32>,
            dense: u32,
            factors: Read<f64>,
            w: Read<f64>,
            open: Read<f64>,
            damping: Read<f64>,
            taus: Read<f64>,
            r: Read<f64>,
            setup: Read<Setup>,
            relaxation: f64,
            x: Share<f64>,
        },
    }
}

kernels! {
    /// The kernels of `newton.cu`.
    pub(super) struct NewtonKernels {
        take_base: TakeBase {
            over: Chunks, total: u64, row_of: Read<u32>, w: Read<f64>, r: Read<f64>, setup: Read<Setup>,
            base: Write<f64>, q: Write<f64>,
        },
        set_beside: SetBeside {
            over: Chunks, total: u64, row_of: Read<u32>, from: Read<f64>, h: f64, v: Read<f64>,
            setup: Read<Setup>, w: Write<f64>,
        },
        slopes: Slopes {
            over: Chunks, total: u64, row_of: Read<u32>, r: Read<f64>, base: Read<f64>, tau: Read<f64>,
            v: Read<f64>, inverse: f64, y: Write<f64>,
        },
        weigh: Weigh {
            over: Chunks, row_of: Read<u32>, tau: Read<f64>, back: u32, from: Watch<f64>, to: Share<f64>,
        },
        put_update: PutUpdate { over: Chunks, total: u64, row_of: Read<u32>, x: Read<f64>, r: Write<f64> },
        assemble: Assemble {
            rows: u32, total: u64, blocks: Read<GridBlock>,
            /// Place and block of each row.
            places: Read<[u32; 2]>,
            row_ptr: Read<u32>,
            links: Read<u32>,
            turns: Read<u32>,
            matrices: Read<f64>,
            faces: u64,
            jacobians: Read<f64>,
            w: Read<f64>, area: Read<f64>, volume: Read<f64>, eddies: Read<f64>, tau: Read<f64>,
            /// What physical time adds to V/dt, over V.
            shift: f64,
            /// The least convective fix of Roe's matrix.
            least: f64,
            setup: Read<Setup>,
            off: Write<Value>,
            diag: Write<f64>,
        },
    }
}
