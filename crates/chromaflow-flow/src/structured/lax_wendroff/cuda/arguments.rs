//! What the kernels of `cells.cu`, `nodes.cu` and `boundary.cu` take.

use crate::bc::Condition;
use crate::gpu::AddParts;
use crate::grid::{Chunks, GridBlock};
use crate::structured::cuda::arguments::{Setup, WallForces};
use chromaflow_device::cuda::{Read, Share, Watch, Write};
use chromaflow_device::{kernel_elements, kernel_record, kernels};

kernel_elements! {
    /// A side of a block at the boundary.
    pub(super) struct NodeSide: "NodeSide" in u32;
}

kernel_record! {
    /// Changes of a finer grid.
    pub(super) struct FinerChanges {
        now: Watch<f64>, before: Watch<f64>, finer_total: u64, finer_blocks: Read<GridBlock>,
    }
}

kernels! {
    /// Kernels of fine and of coarse grids.
    pub(super) struct Kernels {
        cell_changes: CellChanges {
            over: Chunks, total: u64, actives: Read<u32>, side_ptr: Read<u32>, face_of: Read<u32>, faces: u64,
            boundary_fluxes: Read<f64>, q: Read<f64>, area: Read<f64>, volume: Read<f64>, setup: Read<Setup>,
            courant: f64, given: f64, finer: FinerChanges, kept: Write<f64>, dropped: Write<f64>,
        },
        node_changes: NodeChanges {
            over: Chunks, total: u64, actives: Read<u32>, side_ptr: Read<u32>, face_of: Read<u32>, faces: u64,
            dropped: Read<f64>, kept: Read<f64>, node_volume: Read<f64>, q: Read<f64>, setup: Read<Setup>,
            next: Write<f64>, steps: Write<f64>,
        },
        join_copies: JoinCopies {
            count: u32, total: u64, ptr: Read<u32>, copies: Read<u32>, node_volume: Read<f64>, q: Read<f64>,
            setup: Read<Setup>, next: Share<f64>, steps: Share<f64>,
        },
        close_boundary: CloseBoundary {
            count: u32, total: u64, ptr: Read<u32>, patch_of: Read<u32>, areas: Read<f64>, places: Read<f64>,
            copy_ptr: Read<u32>, copies: Read<u32>, conditions: Read<Condition<f64>>, setup: Read<Setup>,
            q: Read<f64>, to: Share<f64>,
        },
    }
}

kernels! {
    /// Those of fine grids alone.
    pub(super) struct FineKernels {
        cell_steps: CellSteps {
            over: Chunks, total: u64, actives: Read<u32>, q: Read<f64>, area: Read<f64>, volume: Read<f64>,
            setup: Read<Setup>, courant: f64, steps: Write<f64>,
        },
        fill_ghosts: FillGhosts { count: u32, total: u64, ghosts: Read<[u32; 4]>, q: Share<f64> },
        rates: Rates {
            over: Chunks, chunk_count: u32, total: u64, q: Read<f64>, before: Read<f64>, steps: Read<f64>,
            own_volume: Read<f64>, partials: Write<f64>, first_bad: Share<u32>,
        },
        boundary_fluxes: BoundaryFluxes {
            count: u32, blocks: Read<GridBlock>, total: u64, faces: Read<u32>,
            conditions: Read<Condition<f64>>, sides: Read<NodeSide>, q: Read<f64>, area: Read<f64>,
            volume: Read<f64>, setup: Read<Setup>, free_pressure: f64, fluxes: Write<f64>, loads: Write<f64>,
        },
        wall_forces: WallForces,
        add_parts: AddParts,
    }
}

kernels! {
    /// Those of coarse grids alone.
    pub(super) struct CoarseKernels {
        inject: Inject {
            over: Chunks, total: u64, finest: Read<GridBlock>, finest_total: u64, factors: Read<u32>,
            from: Read<f64>, q: Write<f64>,
        },
        interpolate: Interpolate {
            finest: Read<GridBlock>, chunks: Read<[u32; 2]>, finest_total: u64, blocks: Read<GridBlock>,
            total: u64, factors: Read<u32>, change: Read<f64>, setup: Read<Setup>, q: Share<f64>,
        },
    }
}
