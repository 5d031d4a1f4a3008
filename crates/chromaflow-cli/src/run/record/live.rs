//! A run's history while it runs: `live.csv` with the rows so far and `live.json` with what the run is to do, both removed when it
//! is over and the whole history is written.

use super::history::{Equations, Row, header, line};
use crate::run::Goal;
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The rows so far.
pub const ROWS: &str = "live.csv";
/// What the run is to do.
pub const FACTS: &str = "live.json";

/// How often rows reach the file at most.
const EVERY: Duration = Duration::from_millis(200);

/// Writes them. Nothing here can end a run: a disk that is full shows when results are written.
pub struct Live {
    paths: [PathBuf; 2],
    file: Option<File>,
    waiting: String,
    written: Instant,
    coupled: usize,
}

impl Live {
    /// Begins with the rows of the run that this one goes on from.
    pub fn new(
        folder: &Path,
        title: &str,
        goal: Goal,
        equations: Equations,
        coupled: &[String],
        rows: &[Row],
    ) -> Self {
        let paths = [ROWS, FACTS].map(|name| folder.join(name));
        let goal = match goal {
            Goal::Steady { orders, iterations } => json!({ "orders": orders, "iterations": iterations }),
            Goal::Unsteady { steps } => json!({ "steps": steps }),
        };
        let facts = json!({ "title": title, "goal": goal, "process": std::process::id() });
        let _ = std::fs::write(&paths[1], facts.to_string());
        let file = File::create(&paths[0]).ok();
        let waiting = header(equations, coupled);
        let written = Instant::now().checked_sub(EVERY).unwrap_or_else(Instant::now);
        let mut live = Self { paths, file, waiting, written, coupled: coupled.len() };
        for row in rows {
            live.waiting += &line(row, live.coupled);
        }
        live
    }

    /// Adds a row.
    pub fn push(&mut self, row: &Row) {
        self.waiting += &line(row, self.coupled);
        if self.written.elapsed() < EVERY {
            return;
        }
        self.written = Instant::now();
        if let Some(file) = &mut self.file {
            let _ = file.write_all(self.waiting.as_bytes());
        }
        self.waiting.clear();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.paths.iter().for_each(|path| _ = std::fs::remove_file(path));
    }
}
