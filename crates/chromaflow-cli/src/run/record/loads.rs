//! The forces of every wall over the iterations, as CSV.

use crate::context::write_whole;
use crate::error::{CliError, CliResult};
use crate::numbers::Cell;
use chromaflow::files::FileError;
use chromaflow_flow::StepReport;
use std::fmt::Write as _;
use std::path::Path;

/// Coefficients of one iteration: lift, drag and pitching moment of each wall.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadsRow {
    /// Number of the iteration.
    pub iteration: usize,
    /// Physical step, 0 in steady runs.
    pub time_step: usize,
    /// Of each wall.
    pub walls: Vec<[f64; 3]>,
}

/// The forces of every wall, pressure and friction together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loads {
    /// Names of the walls.
    pub walls: Vec<String>,
    /// One an iteration.
    pub rows: Vec<LoadsRow>,
}

const COEFFICIENTS: [&str; 3] = ["cl", "cd", "cm"];

impl Loads {
    /// Adds what an iteration tells.
    pub fn push(&mut self, report: &StepReport) {
        let markers = &report.forces.markers;
        if self.walls.is_empty() {
            self.walls = markers.iter().map(|m| m.name.clone()).collect();
        }
        let sum = |m: &chromaflow_flow::march::MarkerForces| {
            let (p, v) = (&m.pressure, &m.viscous);
            [p.cl + v.cl, p.cd + v.cd, p.cm + v.cm]
        };
        let walls = markers.iter().map(sum).collect();
        self.rows.push(LoadsRow { iteration: report.iteration, time_step: report.time_step, walls });
    }

    /// Writes one row an iteration, three columns a wall: `wing cl`, `wing cd`, `wing cm`.
    ///
    /// # Errors
    /// When the file cannot be written; an older one is untouched then.
    pub fn write(&self, path: &Path) -> CliResult<()> {
        let mut text = String::from("iteration,time_step");
        for wall in &self.walls {
            let _ = COEFFICIENTS.iter().try_for_each(|c| write!(text, ",{} {c}", wall.replace(',', " ")));
        }
        for row in &self.rows {
            let _ = write!(text, "\n{},{}", row.iteration, row.time_step);
            let _ = row.walls.iter().flatten().try_for_each(|v| write!(text, ",{}", Cell(*v)));
        }
        text.push('\n');
        write_whole(path, text.as_bytes())
    }

    /// Reads them back.
    ///
    /// # Errors
    /// Status 2 with the line that is not one of such a file.
    pub fn read(path: &Path) -> CliResult<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| FileError::new("cannot read", path, e))?;
        let mut lines = text.lines();
        let bad = |line: usize| CliError::input(format!("{}:{line}: not forces of a run", path.display()));
        let names = lines.next().and_then(|l| l.strip_prefix("iteration,time_step")).ok_or_else(|| bad(1))?;
        let walls = names.split(',').skip(1).step_by(3).map(|n| n.trim_end_matches(" cl").to_owned());
        let mut loads = Self { walls: walls.collect(), rows: Vec::new() };
        for (i, line) in lines.enumerate() {
            let parse = || -> Option<LoadsRow> {
                let mut cells = line.split(',');
                let (iteration, time_step) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
                let values: Vec<f64> = cells.map(|c| c.parse().ok()).collect::<Option<_>>()?;
                let walls = values.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect::<Vec<_>>();
                (values.len() == 3 * loads.walls.len()).then_some(LoadsRow { iteration, time_step, walls })
            };
            let row = parse().ok_or_else(|| bad(i + 2))?;
            loads.rows.push(row);
        }
        Ok(loads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_of_walls_read_back_exactly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("forces.csv");
        let row =
            |iteration| LoadsRow { iteration, time_step: 0, walls: vec![[0.1 + 0.2, 1e-17, -3.0], [1.0; 3]] };
        let loads = Loads { walls: vec!["wing".into(), "flap".into()], rows: (1..4).map(row).collect() };
        loads.write(&path).unwrap();
        assert_eq!(Loads::read(&path).unwrap(), loads);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\n2,0,", "\n2,0,1,")).unwrap();
        assert!(Loads::read(&path).unwrap_err().to_string().ends_with("forces.csv:3: not forces of a run"));
    }
}
