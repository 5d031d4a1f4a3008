//! A table of numbers over the physical steps of a run, as CSV.

use crate::context::write_whole;
use crate::error::{CliError, CliResult};
use crate::numbers::Cell;
use chromaflow::files::FileError;
use std::fmt::Write as _;
use std::path::Path;

/// One row of values a physical step, with its time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What the values are.
    pub names: Vec<String>,
    /// Physical step, time, values.
    pub rows: Vec<(usize, f64, Vec<f64>)>,
}

impl Table {
    /// The last physical step, 0 where there is none.
    pub fn last(&self) -> usize {
        self.rows.last().map_or(0, |(step, ..)| *step)
    }

    /// Writes a row a step: `step,time`, then the values.
    ///
    /// # Errors
    /// When the file cannot be written; an older one is untouched then.
    pub fn write(&self, path: &Path) -> CliResult<()> {
        let mut text = String::from("step,time");
        self.names.iter().for_each(|name| {
            let _ = write!(text, ",{name}");
        });
        for (step, time, values) in &self.rows {
            let _ = write!(text, "\n{step},{}", Cell(*time));
            let _ = values.iter().try_for_each(|v| write!(text, ",{}", Cell(*v)));
        }
        text.push('\n');
        write_whole(path, text.as_bytes())
    }

    /// Reads back what is there of a table of these values, up to a physical step; nothing where there is no such file or one of
    /// other values.
    ///
    /// # Errors
    /// Status 2 with the line that is not one of such a table.
    pub fn recall(&mut self, path: &Path, up_to: usize) -> CliResult<()> {
        if !path.exists() {
            return Ok(());
        }
        let text = std::fs::read_to_string(path).map_err(|e| FileError::new("cannot read", path, e))?;
        let mut lines = text.lines();
        let names = lines.next().unwrap_or_default().split(',').skip(2);
        if !names.eq(self.names.iter().map(String::as_str)) {
            return Ok(());
        }
        self.rows.clear();
        for (i, line) in lines.enumerate() {
            let mut cells = line.split(',');
            let row = (|| {
                let (step, time) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
                let values: Vec<f64> = cells.map(str::parse).collect::<Result<_, _>>().ok()?;
                (values.len() == self.names.len()).then_some((step, time, values))
            })();
            let bad = || {
                let what = "not a row of such a table; remove the file, its steps begin anew then";
                CliError::input(format!("{}:{}: {what}", path.display(), i + 2))
            };
            let row = row.ok_or_else(bad)?;
            if row.0 <= up_to {
                self.rows.push(row);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_back_bit_by_bit_up_to_a_step() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let names = || vec!["a".to_owned(), "b_x".to_owned()];
        let rows = (1..=5_u32).map(|k| {
            let x = f64::from(k) / 3.0;
            (k as usize, 0.1 * f64::from(k), vec![x.sin(), -x * 1e-300])
        });
        let table = Table { names: names(), rows: rows.collect() };
        table.write(&path).unwrap();
        let mut back = Table { names: names(), rows: Vec::new() };
        back.recall(&path, 4).unwrap();
        assert_eq!((back.last(), &back.rows[..]), (4, &table.rows[..4]));
        let mut other = Table { names: vec!["c".into(), "b_x".into()], rows: Vec::new() };
        other.recall(&path, 4).unwrap();
        assert!(other.rows.is_empty());
        std::fs::write(&path, "step,time,a,b_x\n1,0.1,2,3\n2,0.2,2\n").unwrap();
        let fault = back.recall(&path, 4).unwrap_err().to_string();
        assert!(fault.contains("t.csv:3"), "{fault}");
    }
}
