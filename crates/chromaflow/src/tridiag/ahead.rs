//! Long rows to come are asked for while others are eliminated; short ones are asked for where they are read (`source.rs`).

use chromaflow_device::prefetch;

/// Rows asked for ahead while as many are eliminated: enough to cover the way from memory, little of the second-level cache.
const AHEAD_BYTES: usize = 24 << 10;

/// An array as [`Ahead`] sees it: where the vector's numbers begin, where the next one's do, and how many a row there are.
#[derive(Clone, Copy)]
pub(crate) struct Prefetched<S> {
    pub here: *const S,
    pub next: *const S,
    pub width: usize,
}

/// Asks for the cache lines of rows to come, a window of them while one is eliminated, a few lines at a time between arithmetic: of
/// more than the memory system takes at once the rest would be dropped. Each run of numbers is asked for whole before the next,
/// as the hardware's own prefetchers like it.
pub(crate) struct Ahead<S> {
    /// Lines that each call asks for.
    count: usize,
    /// Rows of a window, and of a line.
    window: usize,
    rows: usize,
    arrays: [Prefetched<S>; 4],
    /// Runs of an array, and numbers of one a row has for each of its entries.
    runs: usize,
    lanes: usize,
    /// The row at which the next window is turned to, and the rows that are asked for.
    turn: usize,
    first: usize,
    end: usize,
    beyond: bool,
    /// What is being asked for, and what comes then.
    at: *const S,
    until: *const S,
    array: usize,
    run: usize,
}

impl<S: Copy> Ahead<S> {
    /// Asks for nothing.
    pub(crate) fn none() -> Self {
        Self::new(1, 0, 1)
    }

    /// For lines of `rows` rows, of which `bytes` a row are asked for in `calls` calls; with no bytes, nothing is.
    pub(crate) fn new(rows: usize, bytes: usize, calls: usize) -> Self {
        let none = Prefetched { here: std::ptr::null(), next: std::ptr::null(), width: 0 };
        Self {
            count: bytes.div_ceil(64).div_ceil(calls),
            // Whole cache lines.
            window: AHEAD_BYTES.div_ceil(bytes.max(1)).next_multiple_of(8).min(rows),
            rows,
            arrays: [none; 4],
            runs: 0,
            lanes: 1,
            turn: usize::MAX,
            first: 0,
            end: 0,
            beyond: false,
            at: none.here,
            until: none.here,
            array: 4,
            run: 0,
        }
    }

    /// Begins a vector of `lanes` systems, which lie end to end or side by side.
    pub(crate) fn begin(&mut self, end_to_end: bool, lanes: usize, arrays: [Prefetched<S>; 4]) {
        (self.runs, self.lanes) = if end_to_end { (lanes, 1) } else { (1, lanes) };
        self.arrays = arrays;
        self.turn = if self.count > 0 { 0 } else { usize::MAX };
    }

    /// Row `i` is next: turns to the window behind its own where one begins, whatever was left of the last.
    #[inline(always)]
    pub(crate) fn row(&mut self, i: usize) {
        if i == self.turn {
            self.turn += self.window;
            self.beyond = self.turn >= self.rows;
            self.first = if self.beyond { 0 } else { self.turn };
            self.end = (self.first + self.window).min(self.rows);
            (self.array, self.run, self.at) = (0, 0, self.until);
        }
    }

    /// Asks for the next few lines.
    #[inline(always)]
    pub(crate) fn ask(&mut self) {
        for _ in 0..self.count {
            if self.at >= self.until {
                let Some(array) = self.arrays.get(self.array) else { return };
                let from = if self.beyond { array.next } else { array.here };
                let width = array.width * self.lanes;
                self.at = from.wrapping_add(self.run * self.rows * width + self.first * width);
                self.until = self.at.wrapping_add((self.end - self.first) * width);
                self.run += 1;
                if self.run == self.runs {
                    (self.run, self.array) = (0, self.array + 1);
                }
            }
            prefetch::<2, S>(self.at);
            self.at = self.at.wrapping_add(64 / size_of::<S>());
        }
    }
}
