//! What the kernels of `cells.cu`, `nodes.cu` and `boundary.cu` take.

use crate::bc::Condition;
use crate::grid::{Chunks, GridBlock};
use crate::structured::cuda::arguments::Setup;
use chromaflow_device::cuda::{Read, Share, Watch, Write};
use chromaflow_device::{kernel_elements, kernel_record};

kernel_elements! {
    /// A side of a block at the boundary.
    pub(super) struct NodeSide: "NodeSide" in u32;
}

kernel_record! {
    /// Changes of a finer grid.
    pub(super) struct FinerChanges {
        now: Watch<f64>, before: Watch<f64>, finer_total: u64, finer_blocks: Read<GridBlock>,
    }

    /// What `cell_changes` takes.
    pub(super) struct CellChanges {
        over: Chunks, total: u64, actives: Read<u32>, side_ptr: Read<u32>, face_of: Read<u32>, faces: u64,
        boundary_fluxes: Read<f64>, q: Read<f64>, area: Read<f64>, volume: Read<f64>, setup: Read<Setup>,
        courant: f64, given: f64, finer: FinerChanges, kept: Write<f64>, dropped: Write<f64>,
    }

    /// What `cell_steps` takes.
    pub(super) struct CellSteps {
        over: Chunks, total: u64, actives: Read<u32>, q: Read<f64>, area: Read<f64>, volume: Read<f64>,
        setup: Read<Setup>, courant: f64, steps: Write<f64>,
    }

    /// What `fill_ghosts` takes.
    pub(super) struct FillGhosts { count: u32, total: u64, ghosts: Read<[u32; 4]>, q: Share<f64> }

    /// What `node_changes` takes.
    pub(super) struct NodeChanges {
        over: Chunks, total: u64, actives: Read<u32>, side_ptr: Read<u32>, face_of: Read<u32>, faces: u64,
        dropped: Read<f64>, kept: Read<f64>, node_volume: Read<f64>, q: Read<f64>, setup: Read<Setup>,
        next: Write<f64>, steps: Write<f64>,
    }

    /// What `join_copies` takes.
    pub(super) struct JoinCopies {
        count: u32, total: u64, ptr: Read<u32>, copies: Read<u32>, node_volume: Read<f64>, q: Read<f64>,
        setup: Read<Setup>, next: Share<f64>, steps: Share<f64>,
    }

    /// What `inject` takes.
    pub(super) struct Inject {
        over: Chunks, total: u64, finest: Read<GridBlock>, finest_total: u64, factors: Read<u32>,
        from: Read<f64>, q: Write<f64>,
    }

    /// What `interpolate` takes.
    pub(super) struct Interpolate {
        finest: Read<GridBlock>, chunks: Read<[u32; 2]>, finest_total: u64, blocks: Read<GridBlock>,
        total: u64, factors: Read<u32>, change: Read<f64>, setup: Read<Setup>, q: Share<f64>,
    }

    /// What `rates` takes.
    pub(super) struct Rates {
        over: Chunks, chunk_count: u32, total: u64, q: Read<f64>, before: Read<f64>, steps: Read<f64>,
        own_volume: Read<f64>, partials: Write<f64>, first_bad: Share<u32>,
    }

    /// What `boundary_fluxes` takes.
    pub(super) struct BoundaryFluxes {
        count: u32, blocks: Read<GridBlock>, total: u64, faces: Read<u32>, conditions: Read<Condition<f64>>,
        sides: Read<NodeSide>, q: Read<f64>, area: Read<f64>, volume: Read<f64>, setup: Read<Setup>,
        free_pressure: f64, fluxes: Write<f64>, loads: Write<f64>,
    }

    /// What `close_boundary` takes.
    pub(super) struct CloseBoundary {
        count: u32, total: u64, ptr: Read<u32>, patch_of: Read<u32>, areas: Read<f64>, places: Read<f64>,
        copy_ptr: Read<u32>, copies: Read<u32>, conditions: Read<Condition<f64>>, setup: Read<Setup>,
        q: Read<f64>, to: Share<f64>,
    }
}
