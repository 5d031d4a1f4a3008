//! What the kernels of line systems take.

use chromaflow_device::cuda::{Read, Share, Watch, Write};
use chromaflow_device::{kernel_elements, kernel_record};

kernel_elements! {
    /// A number of the arrays.
    pub struct S: "S" in u8;
    /// A number of factors and sums.
    pub struct T: "T" in u8;
}

kernel_record! {
    /// From one layout into another: systems of `inner` entries in groups of so many side by side.
    pub struct Rearrange {
        from: Read<S>, to: Write<S>, inner: i64, systems: i32, lanes_from: i32, lanes_to: i32,
    }

    /// Systems that a kernel solves as a whole.
    pub struct WholeLines {
        lower: Read<S>, diag: Read<S>, upper: Read<S>, rhs: Read<S>, x: Share<S>, rows: i32, systems: i32,
        bad: Share<i32>,
    }

    /// The same with C' and f' on their way in memory: those of C and x where these can take them.
    pub struct Thomas {
        lower: Read<S>, diag: Read<S>, upper: Watch<S>, rhs: Read<S>, factors: Share<T>, values: Share<T>,
        x: Share<S>, rows: i32, systems: i32, bad: Share<i32>,
    }

    /// A, B and C of each row.
    pub struct Coefficients { lower: Watch<S>, diag: Watch<S>, upper: Watch<S> }

    /// Rows and chunks of each line, and lines.
    pub struct Lengths { rows: i32, chunks: i32, systems: i32 }
    pub struct Line {
        given: Coefficients, rhs: Watch<S>, cp: Share<T>, gp: Share<T>, x: Share<S>, rows: i32, systems: i32,
        bad: Share<i32>,
    }

    pub struct Split {
        given: Coefficients, rhs: Watch<S>, cp: Share<T>, ep: Share<T>, gp: Share<T>, lengths: Lengths,
        periodic: i32,
    }

    pub struct KeepLine {
        given: Coefficients, cp: Share<T>, mp: Share<T>, np: Share<T>, rows: i32, systems: i32,
    }

    pub struct KeepSplit {
        given: Coefficients, cp: Share<T>, ep: Share<T>, mp: Share<T>, np: Share<T>, wp: Share<T>,
        lengths: Lengths, periodic: i32,
    }

    /// The rows of separators: with `np` their couplings to the rows beside them are kept there and in `kp`.
    pub struct Join {
        given: Coefficients, rhs: Watch<S>, wp: Watch<T>, vp: Watch<T>, gp: Watch<T>, np: Share<T>,
        kp: Share<T>, ra: Share<T>, rb: Share<T>, rc: Share<T>, rf: Share<T>, lengths: Lengths, periodic: i32,
    }

    pub struct JoinRhs {
        rhs: Watch<S>, gp: Watch<T>, np: Watch<T>, kp: Watch<T>, rf: Share<T>, lengths: Lengths, columns: i32,
    }

    pub struct KeptLine {
        rhs: Watch<S>, cp: Watch<T>, mp: Watch<T>, np: Watch<T>, gp: Share<T>, x: Share<S>, rows: i32,
        systems: i32, columns: i32, bad: Share<i32>,
    }

    pub struct KeptSplit {
        rhs: Watch<S>, cp: Watch<T>, mp: Watch<T>, np: Watch<T>, gp: Share<T>, lengths: Lengths, columns: i32,
    }

    /// All rows from the separators' solution y.
    pub struct Spread {
        wp: Watch<T>, vp: Watch<T>, gp: Watch<T>, y: Watch<T>, x: Share<S>, lengths: Lengths, periodic: i32,
        columns: i32, bad: Share<i32>,
    }
}
