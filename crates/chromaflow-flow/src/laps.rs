//! Where the time of a set-up goes.

use std::time::Instant;

/// Seconds of the stages of a set-up, one after another.
#[derive(Clone, Debug)]
pub struct Laps {
    last: Instant,
    all: Vec<(&'static str, f64)>,
}

impl Default for Laps {
    fn default() -> Self {
        Self { last: Instant::now(), all: Vec::new() }
    }
}

impl Laps {
    /// A stage has ended now, which began when the one before did.
    pub fn end(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.all.push((stage, (now - self.last).as_secs_f64()));
        self.last = now;
    }

    /// Stages and their seconds, in their order.
    pub fn seconds(&self) -> &[(&'static str, f64)] {
        &self.all
    }
}
