//! What the kernels of lines take.

use crate::gpu::Posts;
use crate::sparse::cuda::arguments::{In, Sum};
use bytemuck::{Pod, Zeroable};
use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernel_record};

/// A line of rows. Twin: `Line` in lines.cuh.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Line {
    /// Its first row.
    pub row: u32,
    /// So many.
    pub rows: u32,
    /// Rows of the longest lines of the groups before its own: lines that one warp goes through.
    pub slot: u32,
    /// Where it stands in its group.
    pub lane: u32,
}
kernel_elements!(Line: "Line" in Line);

kernel_record! {
    /// Eliminates lines.
    pub struct FactorLines {
        lines: Read<Line>,
        count: u32,
        /// Of each row the blocks A and C among the assembled ones; the largest number where there is none.
        near: Read<u32>,
        diag: Read<f64>,
        off: Read<In>,
        unscale: Read<f32>,
        unscale_stride: u32,
        /// B, E and F.
        b: Write<f64>,
        e_out: Write<Sum>,
        f_out: Write<Sum>,
    }

    /// Goes up and down lines.
    pub struct SolveLines {
        lines: Read<Line>,
        /// The lines of this launch.
        first: u32,
        end: u32,
        e: Read<Sum>,
        f: Read<Sum>,
        /// z, then y.
        room: Share<Sum>,
        x: Share<Sum>,
        omega: f64,
    }

    /// The same where rows of the border pass to other ranks.
    pub struct SolvePassingLines {
        lines: SolveLines,
        posts: Posts,
        /// Whether the neighbors are told: no other rows of the color follow.
        tells: u32,
    }
}
