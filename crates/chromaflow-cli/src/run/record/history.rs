//! The history of a run: one row per iteration, as CSV.

use crate::context::write_whole;
use crate::error::{CliError, CliResult};
use crate::numbers::Cell;
use chromaflow::files::FileError;
use chromaflow_flow::StepReport;
use std::fmt::Write as _;
use std::path::Path;

/// Most unknowns of systems beside the flow that a row has room for.
pub const MOST_COUPLED: usize = 4;

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
    /// Root mean square of the residual of each unknown of systems beside the flow; 0 where there is none.
    pub coupled: [f64; MOST_COUPLED],
}

/// All iterations, and what their residuals are of.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The flow's.
    pub equations: Equations,
    /// Names of the unknowns of systems beside it.
    pub coupled: Vec<String>,
    /// One an iteration.
    pub rows: Vec<Row>,
}

impl Row {
    /// The row of an iteration.
    pub fn of(report: &StepReport) -> Self {
        let total = &report.forces.total;
        let mut coupled = [0.0; MOST_COUPLED];
        for (to, residual) in coupled.iter_mut().zip(&report.coupled) {
            *to = *residual;
        }
        Self {
            coupled,
            iteration: report.iteration,
            time_step: report.time_step,
            residual: residual(report),
            forces: [total.cl, total.cd, total.cm],
            cfl: report.cfl,
            linear: report.linear_reduction.unwrap_or(f64::NAN),
            seconds: report.times.total,
        }
    }

    /// The norm of the momentum's residual.
    pub fn momentum(&self) -> f64 {
        self.residual[1..4].iter().map(|v| v * v).sum::<f64>().sqrt()
    }
}

/// The residuals of a row: flow's, and what more equations have together.
fn residual(report: &StepReport) -> [f64; 5] {
    let mut residual = [0.0; 5];
    let (flow, scalars) = report.residual.split_at(4);
    residual[..4].copy_from_slice(flow);
    residual[4] = match scalars {
        [] => 0.0,
        [one] => *one,
        more => more.iter().map(|r| r * r).sum::<f64>().sqrt(),
    };
    residual
}

/// What the residuals of a history are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equations {
    /// Density, momentum, energy.
    Compressible,
    /// Continuity, momentum, scalars.
    Incompressible,
}

impl Equations {
    /// Names of the first and the last residual; momentum is between them.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Self::Compressible => ["density", "energy"],
            Self::Incompressible => ["continuity", "scalars"],
        }
    }

    /// What the fall of the residual is called that outcomes go by.
    pub fn measure(self) -> &'static str {
        match self {
            Self::Compressible => "density residual",
            Self::Incompressible => "residual",
        }
    }

    /// Orders of magnitude by which the residual of the flow's own equations has fallen in these rows, in unsteady runs those of the last physical
    /// step; none where the first of them are not there.
    pub fn fallen(self, rows: &[Row]) -> Option<f64> {
        let last = rows.last()?;
        let first = rows.iter().find(|row| row.time_step == last.time_step)?;
        let size = |row: &Row| match self {
            Self::Compressible => row.residual[0],
            Self::Incompressible => row.residual.iter().map(|r| r * r).sum::<f64>().sqrt(),
        };
        let known = last.time_step > 0 || first.iteration == 1;
        (known && size(first) > 0.0 && size(last) > 0.0).then(|| (size(first) / size(last)).log10())
    }

    fn header(self) -> String {
        let [first, last] = self.names();
        format!(
            "iteration,time_step,residual_{first},residual_momentum_x,residual_momentum_y,residual_momentum_z,\
             residual_{last},cl,cd,cm,cfl,linear_reduction,seconds"
        )
    }
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

/// Writes the whole history.
///
/// # Errors
/// When the file cannot be written; an older one is untouched then.
pub fn write(path: &Path, equations: Equations, coupled: &[String], rows: &[Row]) -> CliResult<()> {
    let mut text = header(equations, coupled);
    for row in rows {
        text += &line(row, coupled.len());
    }
    write_whole(path, text.as_bytes())
}

/// The first line of a history, of systems beside the flow as many as rows have room for.
pub fn header(equations: Equations, coupled: &[String]) -> String {
    let mut text = equations.header();
    let _ = coupled.iter().take(MOST_COUPLED).try_for_each(|name| write!(text, ",{COUPLED}{name}"));
    text.push('\n');
    text
}

/// A row as a line, with the residuals of `coupled` unknowns beside the flow.
pub fn line(r: &Row, coupled: usize) -> String {
    let mut text = format!("{},{}", r.iteration, r.time_step);
    let _ = r.residual.iter().try_for_each(|v| write!(text, ",{v:e}"));
    let _ = r.forces.iter().try_for_each(|v| write!(text, ",{}", Cell(*v)));
    let _ = write!(text, ",{},", r.cfl);
    if r.linear.is_finite() {
        let _ = write!(text, "{:e}", r.linear);
    }
    let _ = write!(text, ",{}", r.seconds);
    let _ = r.coupled.iter().take(coupled).try_for_each(|v| write!(text, ",{v:e}"));
    text.push('\n');
    text
}

/// How columns of systems beside the flow begin.
const COUPLED: &str = "residual_";

/// Reads the rows of a history of these equations; those of a run with other systems beside the flow have no residuals of
/// these.
///
/// # Errors
/// Status 2 for one of other equations, and as [`read`].
pub fn read_of(path: &Path, equations: Equations, coupled: &[String]) -> CliResult<Vec<Row>> {
    match read(path)? {
        History { equations: found, coupled: names, mut rows } if found == equations => {
            if names != coupled {
                for row in &mut rows {
                    row.coupled = [0.0; MOST_COUPLED];
                }
            }
            Ok(rows)
        }
        History { equations: found, .. } => {
            let problem = format!("{} is the history of {found:?} flow", path.display());
            Err(CliError::input(format!("{problem}: expected one of {equations:?} flow")))
        }
    }
}

/// Reads a history, and what its residuals are of.
///
/// # Errors
/// Status 2 with the line that is not one of a history.
pub fn read(path: &Path) -> CliResult<History> {
    let text = std::fs::read_to_string(path).map_err(|e| FileError::new("cannot read", path, e))?;
    parse(path, &text)
}

/// As [`read`], of the text of such a file.
///
/// # Errors
/// As [`read`].
pub fn parse(path: &Path, text: &str) -> CliResult<History> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let of = |e: Equations| {
        let more = header.strip_prefix(&e.header())?.split(',').skip(1);
        let names = more.map(|column| column.strip_prefix(COUPLED).map(str::to_owned));
        Some((e, names.collect::<Option<Vec<String>>>()?))
    };
    let known = [Equations::Compressible, Equations::Incompressible].into_iter().find_map(of);
    let Some((equations, coupled)) = known.filter(|(_, coupled)| coupled.len() <= MOST_COUPLED) else {
        return Err(CliError::input(format!("{} is not the history of a run", path.display())));
    };
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
        for k in 0..coupled.len() {
            row.coupled[k] = number(13 + k)?;
        }
        Some(row)
    };
    let bad = |i: usize| CliError::input(format!("{}:{}: not a row of a history", path.display(), i + 2));
    let rows =
        lines.enumerate().map(|(i, line)| parse(line).ok_or_else(|| bad(i))).collect::<CliResult<_>>()?;
    Ok(History { equations, coupled, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By how much the flow's own residual fell: of the density, or of all equations; of the last physical step; not where rows are missing.
    #[test]
    fn the_flow_has_orders_of_its_own() {
        let row = |iteration: usize, time_step: usize, density: f64| Row {
            iteration,
            time_step,
            residual: [density, 0.0, 0.0, 0.0, 1.0],
            ..Row::default()
        };
        let rows = [row(1, 0, 1.0), row(2, 0, 0.1), row(3, 0, 0.01)];
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}");
        };
        near(Equations::Compressible.fallen(&rows), 2.0);
        near(Equations::Incompressible.fallen(&rows), (2.0_f64 / 1.0001).sqrt().log10());
        assert_eq!(Equations::Compressible.fallen(&rows[1..]), None);
        let steps = [row(1, 1, 1.0), row(2, 1, 0.1), row(3, 2, 1.0), row(4, 2, 0.5)];
        near(Equations::Compressible.fallen(&steps), 2.0_f64.log10());
    }

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
        for equations in [Equations::Incompressible, Equations::Compressible] {
            for coupled in [vec![], vec!["dye".to_owned(), "salt".to_owned()]] {
                let rows: Vec<Row> = rows
                    .iter()
                    .map(|row| Row {
                        coupled: std::array::from_fn(|k| if k < coupled.len() { 0.3 } else { 0.0 }),
                        ..*row
                    })
                    .collect();
                write(&path, equations, &coupled, &rows).unwrap();
                assert_eq!(read(&path).unwrap(), History { equations, coupled, rows });
            }
        }
        let without = read_of(&path, Equations::Compressible, &[]).unwrap();
        assert_eq!(without, rows, "of a run that has no such systems");
        let error = read_of(&path, Equations::Incompressible, &[]).unwrap_err();
        assert!(
            error.to_string().ends_with("of Compressible flow: expected one of Incompressible flow"),
            "{error}"
        );
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\n2,", "\nx,")).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.to_string().ends_with("history.csv:3: not a row of a history"), "{error}");
    }

    #[test]
    fn a_reduction_not_looked_at_is_an_empty_cell() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.csv");
        write(
            &path,
            Equations::Compressible,
            &[],
            &[Row { iteration: 1, linear: f64::NAN, ..Row::default() }],
        )
        .unwrap();
        assert!(read(&path).unwrap().rows[0].linear.is_nan());
    }
}
