//! `run --trace`: where the time of each iteration went, for chrome://tracing and ui.perfetto.dev.

use crate::context::write_whole;
use crate::error::CliResult;
use chromaflow_flow::march::Times;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

/// Collects events: Chrome's trace format, complete events (`"ph": "X"`) in microseconds.
///
/// **Source**: "Trace Event Format", Google, 2016.
pub struct Trace {
    start: Instant,
    text: String,
}

/// The rows of the picture: what the program does, and the parts of its iterations.
const PROGRAM: u32 = 1;
const PARTS: u32 = 2;

impl Trace {
    /// Time counts from `start`.
    pub fn new(start: Instant) -> Self {
        let mut trace = Self { start, text: String::from("[") };
        for (row, name) in [(PROGRAM, "program"), (PARTS, "parts of iterations")] {
            let _ = write!(
                trace.text,
                "\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{row},\"args\":{{\"name\":\"{name}\"}}}},"
            );
        }
        trace
    }

    fn event(&mut self, row: u32, name: &str, from: f64, seconds: f64) {
        let (at, long) = (1e6 * from, 1e6 * seconds);
        let name = serde_json::json!(name);
        let _ = write!(
            self.text,
            "\n{{\"name\":{name},\"ph\":\"X\",\"pid\":1,\"tid\":{row},\"ts\":{at:.1},\"dur\":{long:.1}}},"
        );
    }

    /// Seconds since the start.
    pub fn now(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// What the program did from `from` (as [`Trace::now`] tells) until now.
    pub fn phase(&mut self, name: &str, from: f64) {
        let now = self.now();
        self.event(PROGRAM, name, from, now - from);
    }

    /// An iteration that has just ended. Its parts are known by how long they took in sum, not by when: they stand one after
    /// another.
    pub fn iteration(&mut self, number: usize, times: &Times) {
        let from = self.now() - times.total;
        self.event(PROGRAM, &format!("iteration {number}"), from, times.total);
        let mut at = from;
        for (name, seconds) in times.components() {
            self.event(PARTS, name, at, seconds);
            at += seconds;
        }
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Status 3 where it cannot be written.
    pub fn write(mut self, path: &Path) -> CliResult<()> {
        self.text.truncate(self.text.trim_end_matches(',').len());
        self.text.push_str("\n]\n");
        write_whole(path, self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::march::Part;

    #[test]
    fn a_trace_is_json_whose_parts_fill_their_iteration() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.json");
        let mut trace = Trace::new(Instant::now());
        trace.phase("read \"mesh\"", 0.0);
        let mut times = Times::default();
        (times[Part::Residual], times[Part::Assembly]) = (1.0, 1.5);
        times.total = 3.0;
        trace.iteration(1, &times);
        trace.write(&path).unwrap();
        let events: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let of =
            |row: u32| events.as_array().unwrap().iter().filter(move |e| e["tid"] == row && e["ph"] == "X");
        let sum: f64 = of(PARTS).map(|e| e["dur"].as_f64().unwrap()).sum();
        assert!((sum - 3e6).abs() < 1.0, "residual, assembly and the rest: {sum}");
        assert_eq!(of(PROGRAM).count(), 2);
    }
}
