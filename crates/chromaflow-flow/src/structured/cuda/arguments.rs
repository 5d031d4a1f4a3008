//! What the kernels of lines, sweeps and fluxes take.

use chromaflow_device::cuda::{Element, Read, Share, Write};
use chromaflow_device::kernel_record;

macro_rules! records_of_kernels {
    ($($name:ident),*) => { $(
        /// A record as kernels read it.
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Element for $name {
            const C: &'static str = stringify!($name);
        }
    )* };
}
records_of_kernels!(GridBlock, Setup, TensorMap);

/// Four words.
#[derive(Clone, Copy, Debug)]
pub struct Four;

impl Element for Four {
    const C: &'static str = "uint4";
}

kernel_record! {
    /// Lines along an axis: the blocks, and groups {block, first line}, the highest bit of the block set where an axis came before.
    pub struct Lines {
        total: u64,
        axis: u32,
        blocks: Read<GridBlock>,
        groups: Read<[u32; 2]>,
    }

    /// Faces of the boundary, and the derivatives of the fluxes through them.
    pub struct Ends {
        side_ptr: Read<u32>,
        face_of: Read<u32>,
        faces: u64,
        jacobians: Read<f64>,
    }

    /// Arrays of cells that lines are made of; `r` goes from the residual or the update so far to the solution.
    pub struct Cells {
        w: Read<f64>,
        area: Read<f64>,
        taus: Read<f64>,
        volume: Read<f64>,
        numbers: Read<Setup>,
        r: Share<f64>,
    }

    /// Open lines of blocks; what is kept of the elimination.
    pub struct BlockLines {
        lines: Lines,
        ends: Ends,
        cells: Cells,
        factors: Share<f64>,
        values: Share<f64>,
        bad: Share<u32>,
    }

    /// Lines of blocks cut into segments, open or closed.
    pub struct BlockSegments {
        lines: Lines,
        closed: u32,
        ends: Ends,
        cells: Cells,
        factors: Share<f64>,
        values: Share<f64>,
        loops: Share<f64>,
        bad: Share<u32>,
    }

    /// Lines of waves, open or closed.
    pub struct WaveLines {
        lines: Lines,
        fourth: u32,
        cells: Cells,
        kept: Share<f64>,
        bad: Share<u32>,
    }

    /// The factored blocks of cells next to the boundary.
    pub struct BoundaryCells {
        count: u32,
        total: u64,
        blocks: Read<GridBlock>,
        cells: Read<Four>,
        actives: Read<u32>,
        ends: Ends,
        w: Read<f64>,
        area: Read<f64>,
        damping: Read<f64>,
        taus: Read<f64>,
        setup: Read<Setup>,
        factors: Write<f64>,
    }

    /// A sweep over one plane of all blocks.
    pub struct SweepPlane {
        total: u64,
        blocks: Read<GridBlock>,
        groups: Read<Four>,
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
    }

    /// Inviscid fluxes, tile by tile.
    pub struct Fluxes {
        total: u64,
        planes: u32,
        blocks: Read<GridBlock>,
        tiles: Read<Four>,
        side_ptr: Read<u32>,
        face_of: Read<u32>,
        faces: u64,
        at_boundary: Read<f64>,
        w: Read<f64>,
        area: Read<f64>,
        numbers: Read<Setup>,
        maps: Read<TensorMap>,
        r: Write<f64>,
    }

    /// Viscous fluxes, tile by tile.
    pub struct ViscousFluxes {
        total: u64,
        planes: u32,
        blocks: Read<GridBlock>,
        tiles: Read<Four>,
        actives: Read<u32>,
        side_ptr: Read<u32>,
        face_of: Read<u32>,
        w: Read<f64>,
        area: Read<f64>,
        volume: Read<f64>,
        gamma: f64,
        viscosity: f64,
        prandtl: f64,
        sutherland_law: u32,
        sutherland: f64,
        maps: Read<TensorMap>,
        r: Write<f64>,
    }
}
