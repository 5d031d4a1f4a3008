//! What errors say of ranks besides their numbers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the ranks are, and what this one is at.
#[derive(Debug, Default)]
pub struct Log {
    seats: OnceLock<Vec<String>>,
    iteration: AtomicUsize,
}

impl Log {
    /// Host and device of each rank, in the order of ranks; what was told first stays.
    pub fn introduce(&self, seats: Vec<String>) {
        let _ = self.seats.set(seats);
    }

    /// Host and device of a rank; empty where nobody has told.
    pub fn seat(&self, rank: usize) -> &str {
        self.seats.get().and_then(|seats| seats.get(rank)).map_or("", String::as_str)
    }

    /// This rank begins an iteration.
    pub fn begin(&self, iteration: usize) {
        self.iteration.store(iteration, Ordering::Relaxed);
    }

    /// The iteration that this rank is at; 0 before the first.
    pub fn iteration(&self) -> usize {
        self.iteration.load(Ordering::Relaxed)
    }
}
