//! What the kernels of `vector.cu` take.

use crate::sparse::cuda::arguments::Sum;
use chromaflow_device::cuda::{Read, Share, Watch, Write};
use chromaflow_device::{kernel_elements, kernel_record};

kernel_elements! {
    /// The address of a vector.
    pub struct Address: "double* const" in u64;
}

kernel_record! {
    pub struct ToX { n: u64, from: Read<f64>, to: Write<Sum> }
    pub struct FromX { n: u64, from: Read<Sum>, to: Write<f64> }
    pub struct Axpby { n: u64, alpha: f64, x: Read<f64>, beta: f64, y: Write<f64> }
    pub struct Dot { n: u64, x: Read<f64>, y: Read<f64>, partials: Write<f64> }
    pub struct AddPartials { n: u32, partials: Read<f64>, to: Write<f64> }
    pub struct ManyDots {
        n: u64, count: u32, v: Read<Address>, w: Read<f64>, partials: Share<f64>, done: Share<u32>,
        first: u32, pass: Write<f64>, total: Write<f64>, size: Write<f64>,
    }

    pub struct Combine { n: u64, count: u32, v: Read<Address>, a: Read<f64>, sign: f64, y: Write<f64> }
    pub struct BeginNorms {
        n: u32, partials: Read<f64>, tolerance: f64, history: Write<f64>, stop: Write<i32>,
    }

    pub struct AddNorm {
        n: u32, partials: Read<f64>, capacity: u32, growth: f64, history: Write<f64>, stop: Write<i32>,
    }

    pub struct Largest { n: u64, x: Read<f32>, bits: Write<u32> }
    pub struct GlobalScale { bits: Read<u32>, scale: Write<f32>, unscale: Write<f32> }
    /// Of blocks of `q` values.
    pub struct RowScales {
        rows: u32, q: u32, row_ptr: Read<u32>, x: Read<f32>, scale: Write<f32>, unscale: Write<f32>,
    }

    /// `ticket` is the next chunk; `flags` say of each whether it has been read.
    pub struct Narrow {
        n: u64, data: Share<f32>, scale: Watch<f32>, ticket: Share<u32>, flags: Share<u32>,
        counts: Share<u64>,
    }

    pub struct NarrowRows { narrow: Narrow, row_ptr: Watch<u32>, rows: u32, q: u32 }

    /// Rows of a batch.
    pub struct PlainRows { first: u32, count: u32, nb: u32 }
    /// `stored` says how the off-diagonal blocks `off` are.
    pub struct PlainResidual {
        batch: PlainRows, row_ptr: Read<u32>, col_idx: Read<u32>, off: Read<()>, stored: u32,
        unscale: Read<f32>, unscale_stride: u32, b: Read<f64>, x: Read<f64>, r: Write<f64>,
    }

    pub struct PlainSolve { batch: PlainRows, dinv: Read<f64>, r: Read<f64>, x: Write<f64> }
    pub struct Fill { n: u64, seed: u64, amplitude: f64, shift: f64, nb: u32 }
    pub struct FillF32 { fill: Fill, to: Share<f32> }
    pub struct FillF64 { fill: Fill, to: Share<f64> }
    /// Vectors of 16 bytes.
    pub struct ReadAll { n16: u64, data: Read<[u32; 4]>, sink: Write<u32> }
}
