//! The history of a run: one row per iteration, as CSV.

use crate::error::{CliError, CliResult};
use chromaflow::files::{AtomicFile, FileError};
use chromaflow_flow::StepReport;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// One iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Number of the iteration.
    pub iteration: usize,
    /// Physical step, 0 in steady runs.
    pub time_step: usize,
    /// Root mean square of the residual of each equation.
    pub residual: [f64; 5],
    /// Lift, drag and pitching moment coefficients.
    pub forces: [f64; 3],
    /// CFL number.
    pub cfl: f64,
    /// |b - A x| / |b| of the linear system; NaN where it was not looked at.
    pub linear: f64,
    /// Seconds of this iteration.
    pub seconds: f64,
}

/// The residuals of a row: flow's, and what more equations have together.
pub fn residual(report: &StepReport) -> [f64; 5] {
    let mut residual = [0.0; 5];
    let (flow, scalars) = report.residual.split_at(4);
    residual[..4].copy_from_slice(flow);
    residual[4] = match scalars {
        [one] => *one,
        more => more.iter().map(|r| r * r).sum::<f64>().sqrt(),
    };
    residual
}

/// What each physical step ended with, or every row of a steady run.
pub fn ends_of_steps(rows: &[Row]) -> Vec<&Row> {
    let mut ends: Vec<&Row> = Vec::new();
    for row in rows {
        match ends.last_mut() {
            Some(last) if row.time_step > 0 && last.time_step == row.time_step => *last = row,
            _ => ends.push(row),
        }
    }
    ends
}

const HEADER: &str = "iteration,time_step,residual_density,residual_momentum_x,residual_momentum_y,\
                      residual_momentum_z,residual_energy,cl,cd,cm,cfl,linear_reduction,seconds";

/// Writes the whole history.
///
/// # Errors
/// When the file cannot be written; an older one is untouched then.
pub fn write(path: &Path, rows: &[Row]) -> CliResult<()> {
    write_as(path, HEADER, rows)
}

/// As [`write`], under another header with as many columns.
///
/// # Errors
/// As [`write`].
pub fn write_as(path: &Path, header: &str, rows: &[Row]) -> CliResult<()> {
    let mut text = String::from(header);
    for r in rows {
        let _ = write!(text, "\n{},{}", r.iteration, r.time_step);
        let _ = r.residual.iter().try_for_each(|v| write!(text, ",{v:e}"));
        let _ = r.forces.iter().try_for_each(|v| write!(text, ",{v}"));
        let _ = write!(text, ",{},", r.cfl);
        if r.linear.is_finite() {
            let _ = write!(text, "{:e}", r.linear);
        }
        let _ = write!(text, ",{}", r.seconds);
    }
    text.push('\n');
    let mut file = AtomicFile::create(path)?;
    file.write_all(text.as_bytes()).map_err(|e| FileError::new("cannot write", path, e))?;
    Ok(file.commit()?)
}

/// Reads a history.
///
/// # Errors
/// Status 2 with the line that is not one of a history.
pub fn read(path: &Path) -> CliResult<Vec<Row>> {
    read_as(path, HEADER)
}

/// As [`read`], of a history with another header.
///
/// # Errors
/// As [`read`].
pub fn read_as(path: &Path, header: &str) -> CliResult<Vec<Row>> {
    let text = std::fs::read_to_string(path).map_err(|e| FileError::new("cannot read", path, e))?;
    let mut lines = text.lines();
    if lines.next() != Some(header) {
        return Err(CliError::input(format!("{} is not the history of a run", path.display())));
    }
    let parse = |line: &str| -> Option<Row> {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| -> Option<f64> {
            let cell = cells.get(i)?;
            if cell.is_empty() { Some(f64::NAN) } else { cell.parse().ok() }
        };
        let mut row = Row {
            iteration: cells.first()?.parse().ok()?,
            time_step: cells.get(1)?.parse().ok()?,
            cfl: number(10)?,
            linear: number(11)?,
            seconds: number(12)?,
            ..Row::default()
        };
        for k in 0..5 {
            row.residual[k] = number(2 + k)?;
        }
        for k in 0..3 {
            row.forces[k] = number(7 + k)?;
        }
        Some(row)
    };
    lines
        .enumerate()
        .map(|(i, line)| {
            parse(line).ok_or_else(|| {
                CliError::input(format!("{}:{}: not a row of a history", path.display(), i + 2))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_exactly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.csv");
        let row = |i: usize| Row {
            iteration: i,
            residual: [0.1 / i as f64; 5],
            forces: [0.28, 0.01 + 1e-17, -0.1],
            cfl: 5.0,
            linear: 1.0 / 3.0,
            seconds: 0.25,
            ..Row::default()
        };
        let rows: Vec<Row> = (1..4).map(row).collect();
        write(&path, &rows).unwrap();
        assert_eq!(read(&path).unwrap(), rows);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\n2,", "\nx,")).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.to_string().ends_with("history.csv:3: not a row of a history"), "{error}");
    }

    #[test]
    fn a_reduction_not_looked_at_is_an_empty_cell() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.csv");
        write(&path, &[Row { iteration: 1, linear: f64::NAN, ..Row::default() }]).unwrap();
        assert!(read(&path).unwrap()[0].linear.is_nan());
    }
}
