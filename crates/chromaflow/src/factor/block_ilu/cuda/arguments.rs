//! What the kernels of `ilu.cu` take.

use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernel_record};

kernel_elements! {
    /// A number that off-diagonal factors are stored in.
    pub struct Factor: "Factor" in u8;
}

kernel_record! {
    /// Before a factorization: what rows will wait for.
    pub struct Poison { upper_values: u64, diag_values: u64, upper: Write<Factor>, inverse: Write<f64> }

    /// The numeric phase.
    pub struct Factorize {
        rows: u32,
        tickets: Share<u32>,
        /// Rows of the forward pass.
        order: Read<u32>,
        /// Where the blocks of A begin in each row.
        a_ptr: Read<u32>,
        /// Places of A's blocks in the rows of the factors; none where these have the same.
        places: Read<u32>,
        /// The pattern of the factors.
        row_ptr: Read<u32>,
        col_idx: Read<u32>,
        /// A, its off-diagonal blocks as the constant OFF says.
        off: Read<()>,
        unscale: Read<f32>,
        unscale_stride: u32,
        diag: Read<f64>,
        /// First lower block of each position of the order, and the number of all.
        lower_at: Read<u32>,
        /// First upper block of each row.
        upper_at: Read<u32>,
        /// For each block p = (i, k), k < i, its range of `updates`.
        update_ptr: Read<u32>,
        /// The upper block (k, j), and the place of (i, j) in row i, the diagonal block last.
        updates: Read<[u32; 2]>,
        lower: Write<Factor>,
        upper: Share<Factor>,
        inverse: Share<f64>,
        shift: f64,
        guard: i32,
        findings: Share<u32>,
        /// The most off-diagonal blocks of a row, and the most updates of one.
        room: u32,
        most_updates: u32,
    }

    /// y = b - L y; x is poisoned for the backward pass.
    pub struct Forward {
        rows: u32, tickets: Share<u32>, order: Read<u32>, first: Read<u32>, columns: Read<u32>,
        lower: Read<Factor>, b: Read<f64>, y: Share<f64>, x: Share<f64>,
    }

    /// x = D^-1 (y - U x); y is poisoned for the next forward pass.
    pub struct Backward {
        rows: u32, tickets: Share<u32>, order: Read<u32>, first: Read<u32>, columns: Read<u32>,
        upper: Read<Factor>, inverse: Read<f64>, y: Share<f64>, x: Share<f64>,
    }
}
