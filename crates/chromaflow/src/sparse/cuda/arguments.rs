//! What the kernels over stored blocks take.

use super::Chunk;
use crate::gpu::Posts;
use chromaflow_device::cuda::{Read, Share, Watch, Write};
use chromaflow_device::{kernel_elements, kernel_record};

kernel_elements! {
    /// A number of x: f64 for storage `d`, else f32.
    pub struct Sum: "Sum" in u8;
    /// A number that assembled off-diagonal blocks are in.
    pub struct In: "In" in u8;
}
kernel_elements!(Chunk: "sell::Chunk" in Chunk);

kernel_record! {
    /// Rows of sliced blocks.
    pub struct SlicedRows {
        chunks: Read<Chunk>,
        /// The chunks of this launch.
        first: u32,
        end: u32,
        /// The row at each place; none where that is the place.
        perm: Read<u32>,
    }

    /// Rows of panels.
    pub struct PanelRows { first: u32, row_ptr: Read<u32> }

    /// What sweeps and products do with them.
    pub struct Terms {
        values: Read<u8>,
        index: Read<u32>,
        /// Inverses of the diagonal blocks, for sweeps.
        dinv: Read<f64>,
        b: Read<f64>,
        x: Watch<Sum>,
        x_out: Share<Sum>,
        /// 1 / beta of f16, one for all rows or one a row.
        unscale: Read<f32>,
        unscale_stride: u32,
        omega: f64,
        /// Says, where it is given, whether to do nothing.
        stop: Watch<i32>,
    }

    /// What products have besides.
    pub struct Residual {
        diag: Read<f64>,
        r_out: Share<f64>,
        /// The sum of the squares of r by thread block.
        partials: Share<f64>,
    }

    pub struct SlicedSweep { rows: SlicedRows, terms: Terms }
    pub struct SlicedPeerSweep { rows: SlicedRows, terms: Terms, posts: Posts }
    pub struct SlicedProduct { rows: SlicedRows, terms: Terms, residual: Residual }
    pub struct PanelSweep { rows: PanelRows, terms: Terms }
    pub struct PanelProduct { rows: PanelRows, terms: Terms, residual: Residual }

    /// From assembled blocks to others of the same pattern.
    pub struct Conversion {
        row_ptr: Read<u32>,
        /// Assembled blocks.
        given: Read<In>,
        /// Which of them each block is; none where that is its own number.
        kept: Read<u32>,
        /// beta of f16, one for all rows or one a row; none where values are scaled or need it not.
        scale: Read<f32>,
        scale_stride: u32,
        values: Write<u8>,
    }

    pub struct ToSliced { chunks: Read<Chunk>, perm: Read<u32>, conversion: Conversion }
    pub struct ToPanel { conversion: Conversion }

    /// Column numbers slot by slot.
    pub struct SlicedIndex {
        chunks: Read<Chunk>, perm: Read<u32>, row_ptr: Read<u32>, col_idx: Read<u32>, index: Write<u32>,
    }

    /// Inverses of diagonal blocks, where sweeps read them.
    pub struct Invert {
        /// Places: those of all chunks, or rows.
        count: u32,
        chunks: Read<Chunk>,
        perm: Read<u32>,
        diag: Read<f64>,
        dinv: Write<f64>,
        /// Rows whose pivots were exchanged, singular rows, the first of these.
        report: Write<u32>,
    }
}
