//! Timing, and the result line that all benchmarks print.

use crate::error::{CliError, CliResult};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{Event, Stream};
use std::fmt;
use std::time::Instant;

/// Seconds of many repeats.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Middle one.
    pub median: f64,
    /// Least.
    pub least: f64,
    /// Nine tenths took less.
    pub p90: f64,
    /// Least CPU time of the process: other work on the machine does not count in it.
    pub cpu: f64,
    /// Number of repeats.
    pub repeats: usize,
}

/// Seconds for each measurement: what the harness of the peers asks for, or `given`.
pub fn budget(given: f64) -> f64 {
    std::env::var("PEER_BUDGET_S").ok().and_then(|s| s.parse().ok()).unwrap_or(given)
}

impl Timing {
    /// One warm-up, then repeats for `budget` seconds, at least `fewest` and at most 400.
    pub fn of(budget: f64, fewest: usize, mut work: impl FnMut()) -> Self {
        work();
        let (mut wall, mut cpu) = (Vec::new(), f64::INFINITY);
        let start = Instant::now();
        while wall.len() < fewest || (start.elapsed().as_secs_f64() < budget && wall.len() < 400) {
            let (begin, cpu_begin) = (Instant::now(), cpu_seconds());
            work();
            cpu = cpu.min(cpu_seconds() - cpu_begin);
            wall.push(begin.elapsed().as_secs_f64());
        }
        wall.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| wall[((part * wall.len() as f64) as usize).min(wall.len() - 1)];
        Self { median: at(0.5), least: wall[0], p90: at(0.9), cpu, repeats: wall.len() }
    }

    /// Seconds by device events: one run to warm up, then repeats for `budget` seconds, 3 to 400.
    ///
    /// # Errors
    /// What `work` returns, a GPU that fails.
    pub fn on_device(
        stream: &Stream,
        budget: f64,
        mut work: impl FnMut() -> Result<(), GpuError>,
    ) -> CliResult<Self> {
        work().map_err(CliError::device)?;
        stream.synchronize().map_err(CliError::device)?;
        let (mut all, begin) = (Vec::new(), Instant::now());
        while all.len() < 3 || (begin.elapsed().as_secs_f64() < budget && all.len() < 400) {
            let gpu = stream.gpu();
            let (start, end) =
                (Event::new(gpu).map_err(CliError::device)?, Event::new(gpu).map_err(CliError::device)?);
            start.record(stream).map_err(CliError::device)?;
            work().map_err(CliError::device)?;
            end.record(stream).map_err(CliError::device)?;
            all.push(1e-3 * end.milliseconds_since(&start).map_err(CliError::device)?);
        }
        all.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| all[((part * all.len() as f64) as usize).min(all.len() - 1)];
        Ok(Self { median: at(0.5), least: all[0], p90: at(0.9), cpu: all[0], repeats: all.len() })
    }

    /// The time of one of `parts` equal parts.
    #[must_use]
    pub fn divided(self, parts: usize) -> Self {
        let p = parts as f64;
        Self {
            median: self.median / p,
            least: self.least / p,
            p90: self.p90 / p,
            cpu: self.cpu / p,
            repeats: self.repeats,
        }
    }
}

/// CPU time of this process, or wall time where the system does not tell.
fn cpu_seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    chromaflow_device::cpu_time().unwrap_or_else(|| START.get_or_init(Instant::now).elapsed()).as_secs_f64()
}

/// One result.
pub struct Record {
    /// Whose it is.
    pub peer: String,
    /// Problem.
    pub case: String,
    /// Operation.
    pub op: String,
    /// Threads.
    pub cores: usize,
    /// Seconds.
    pub timing: Timing,
    /// The least the operation must move.
    pub bytes: f64,
    /// Floating-point operations.
    pub flops: f64,
    /// A figure that all programs which do the same work agree on; 0 where there is none.
    pub check: f64,
}

impl Record {
    /// For the JSON file.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "peer": self.peer, "case": self.case, "op": self.op, "cores": self.cores,
            "median_s": self.timing.median, "least_s": self.timing.least, "p90_s": self.timing.p90,
            "cpu_s": self.timing.cpu, "repeats": self.timing.repeats,
            "bytes": self.bytes, "flops": self.flops, "check": self.check,
        })
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (t, ms) = (&self.timing, 1e3);
        write!(
            f,
            "RES,{},\"{}\",{},{},{:.6},{:.6},{:.6},{},{:.6e},{:.6e},{:.6e},{:.6}",
            self.peer,
            self.case,
            self.op,
            self.cores,
            t.median * ms,
            t.least * ms,
            t.p90 * ms,
            t.repeats,
            self.bytes,
            self.flops,
            self.check,
            t.cpu * ms
        )
    }
}
