//! What there is to see of a run: the rows so far, and what it is to do.

use crate::error::{CliError, CliResult};
use crate::run::history::{self, Equations, History, Row};
use crate::run::live;
use serde_json::Value;
use std::path::Path;

/// A run, under way or over.
pub struct State {
    /// Its title, or its folder.
    pub title: String,
    /// Whether it is under way.
    pub running: bool,
    /// How it ended.
    pub outcome: String,
    /// Orders of magnitude that it is to reach.
    pub orders: Option<f64>,
    /// Most iterations, or physical steps.
    pub most: Option<usize>,
    /// What its residuals are of.
    pub equations: Equations,
    /// The rows so far.
    pub rows: Vec<Row>,
}

/// The whole lines of a file that somebody writes to.
fn whole_lines(text: &str) -> &str {
    &text[..text.rfind('\n').map_or(0, |at| at + 1)]
}

impl State {
    /// As the files in `folder` tell.
    ///
    /// # Errors
    /// Status 2 where there is no run.
    pub fn read(folder: &Path) -> CliResult<Self> {
        let name = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let json = |file: &str| -> Option<Value> {
            serde_json::from_str(&std::fs::read_to_string(folder.join(file)).ok()?).ok()
        };
        let title = |facts: &Value| match facts["title"].as_str() {
            Some(title) if !title.is_empty() => title.to_owned(),
            _ => name.clone(),
        };
        if let Some(facts) = json(live::FACTS)
            && let Ok(text) = std::fs::read_to_string(folder.join(live::ROWS))
        {
            let History { equations, rows, .. } = match whole_lines(&text) {
                "" => History { equations: Equations::Compressible, coupled: Vec::new(), rows: Vec::new() },
                lines => history::parse(&folder.join(live::ROWS), lines)?,
            };
            let goal = &facts["goal"];
            let most = goal["iterations"].as_u64().or_else(|| goal["steps"].as_u64());
            return Ok(Self {
                title: title(&facts),
                running: true,
                outcome: String::new(),
                orders: goal["orders"].as_f64(),
                most: most.map(|n| n as usize),
                equations,
                rows,
            });
        }
        let path = folder.join("history.csv");
        if !path.exists() {
            return Err(CliError::input(format!("{}: no run is or was there", folder.display())));
        }
        let History { equations, rows, .. } = history::read(&path)?;
        let summary = json("summary.json").unwrap_or_default();
        let outcome = summary["outcome"].as_str().unwrap_or("ended").to_owned();
        Ok(Self {
            title: title(&summary),
            running: false,
            outcome,
            orders: None,
            most: None,
            equations,
            rows,
        })
    }

    /// Orders of magnitude by which the first residual has fallen, since the last physical step began.
    pub fn fallen(&self) -> f64 {
        let Some(last) = self.rows.last() else { return 0.0 };
        let step = self.rows.iter().rev().take_while(|row| row.time_step == last.time_step);
        let first = step.last().map_or(last.residual[0], |row| row.residual[0]);
        if last.residual[0] > 0.0 { (first / last.residual[0]).log10() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Goal;
    use crate::run::live::Live;

    #[test]
    fn a_run_is_seen_under_way_and_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        assert!(State::read(dir.path()).is_err_and(|e| e.to_string().ends_with("no run is or was there")));
        let row = |i: usize| Row {
            iteration: i,
            residual: [10f64.powi(1 - i as i32); 5],
            cfl: 5.0,
            ..Row::default()
        };
        let goal = Goal::Steady { orders: 8.0, iterations: 50 };
        let rows: Vec<Row> = (1..4).map(row).collect();
        let mut live = Live::new(dir.path(), "a wing", goal, Equations::Compressible, &[], &rows[..2]);
        live.push(&rows[2]);
        let state = State::read(dir.path()).unwrap();
        assert!(state.running && state.rows == rows && state.title == "a wing");
        assert_eq!((state.orders, state.most, state.fallen()), (Some(8.0), Some(50), 2.0));
        drop(live);
        history::write(&dir.path().join("history.csv"), Equations::Compressible, &[], &rows).unwrap();
        std::fs::write(dir.path().join("summary.json"), r#"{"outcome": "converged"}"#).unwrap();
        let state = State::read(dir.path()).unwrap();
        assert!(!state.running && state.rows == rows && state.outcome == "converged");
        assert_eq!(whole_lines("a\nb\nhalf"), "a\nb\n");
    }
}
