//! What the kernels of `halo.cu` take.

use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernel_record};

kernel_elements! {
    /// What a rank and its neighbors have of one another in sweeps that pass rows themselves (direct.cuh).
    pub struct Mail: "Mail" in u64;
}

kernel_record! {
    /// Rows of a vector and where they stand in messages.
    pub struct RowsInBoxes {
        count: u32,
        words: u32,
        rows: Read<u32>,
        /// The neighbor, and the place in its message.
        places: Read<[u32; 2]>,
        /// Addresses of messages, two a neighbor.
        boxes: Read<u64>,
        turns: u64,
        x: Share<u32>,
    }

    /// Rows of a vector one after the other.
    pub struct RowsOfVector {
        count: u32,
        words: u32,
        rows: Read<u32>,
        x: Share<u32>,
        packed: Share<u32>,
    }

    /// Rows that become turned copies of others.
    pub struct ImagesOfRows {
        count: u32,
        width: u32,
        /// Whether numbers are f64, else f32.
        wide: u32,
        /// A row, and the one that it is the image of.
        rows: Read<[u32; 2]>,
        turn_of: Read<u32>,
        turns: Read<f64>,
        x: Share<u32>,
    }

    /// Blocks in the columns of images, and where they belong (folds.rs).
    pub struct FoldedBlocks {
        nb: u32,
        /// Whether blocks off the diagonal are f64, else f32.
        wide: u32,
        /// Where the vector of a row begins; the largest number where it has none.
        vector: u32,
        places: Read<[u32; 2]>,
        begins: Read<u32>,
        /// A block and the matrix that turns it.
        blocks: Read<[u32; 2]>,
        turns: Read<f64>,
        off: Read<u32>,
        diag: Share<f64>,
        into: Share<u32>,
    }

    /// Rows whose diagonal blocks are to be the identity.
    pub struct UnitRows {
        count: u32,
        nb: u32,
        rows: Read<u32>,
        diag: Write<f64>,
    }

    /// Rows whose off-diagonal blocks are to be zero.
    pub struct EmptyRows {
        words: u32,
        rows: Read<u32>,
        row_ptr: Read<u32>,
        off: Write<u32>,
    }

    /// A step of such sweeps.
    pub struct Posts {
        mail_of: Read<Mail>,
        /// Its number in this launch.
        step: u32,
        /// Thread blocks that wait and send, the first ones.
        edge: u32,
    }
}
