//! Orders to a run under way: the file `control.toml` in its output folder, taken after each iteration and removed.

use crate::context::write_whole;
use crate::error::CliResult;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a run may be told.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Orders {
    /// End after this iteration, with all files written.
    pub stop: bool,
    /// Write restart and history now.
    pub checkpoint: bool,
    /// The largest CFL number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cfl_max: Option<f64>,
    /// Most iterations; of an unsteady run, physical steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<usize>,
}

impl Orders {
    /// Puts them where the run in `folder` will find them.
    ///
    /// # Errors
    /// Status 3 where the file cannot be written.
    pub fn give(&self, folder: &Path) -> CliResult<()> {
        let path = folder.join(FILE);
        let text = toml::to_string(self).expect("plain values");
        write_whole(&path, text.as_bytes())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let orders: Self = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        match orders.cfl_max {
            Some(cfl) if !(cfl > 0.0 && cfl.is_finite()) => {
                Err(format!("cfl_max is {cfl}: expected a positive number"))
            }
            _ if orders.iterations == Some(0) => Err("iterations is 0: expected 1 or more".to_owned()),
            _ => Ok(orders),
        }
    }
}

const FILE: &str = "control.toml";
/// How often a run looks for orders at most: folders on other machines are slow to ask.
const EVERY: Duration = Duration::from_millis(100);

/// Looks for orders.
pub struct Control {
    path: PathBuf,
    looked: Instant,
}

impl Control {
    /// Of the run in this folder; orders to an earlier run there are dropped.
    pub fn new(folder: &Path) -> Self {
        let path = folder.join(FILE);
        let _ = std::fs::remove_file(&path);
        Self { path, looked: Instant::now() }
    }

    /// The orders that came since, or why they cannot be followed.
    pub fn take(&mut self) -> Option<Result<Orders, String>> {
        if self.looked.elapsed() < EVERY {
            return None;
        }
        self.looked = Instant::now();
        let text = std::fs::read_to_string(&self.path).ok()?;
        let _ = std::fs::remove_file(&self.path);
        Some(Orders::parse(&text).map_err(|why| format!("{}: {why}", self.path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_taken_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut control = Control::new(dir.path());
        let mut take = || {
            control.looked = Instant::now().checked_sub(EVERY).unwrap();
            control.take()
        };
        assert_eq!(take(), None);
        let orders = Orders { cfl_max: Some(50.0), checkpoint: true, ..Orders::default() };
        orders.give(dir.path()).unwrap();
        assert_eq!(take(), Some(Ok(orders)));
        assert_eq!(take(), None);
        for (text, why) in [
            ("cfl_max = -1.0", "positive"),
            ("halt = true", "unknown field"),
            ("iterations = 0", "1 or more"),
        ] {
            std::fs::write(dir.path().join(FILE), text).unwrap();
            let error = take().unwrap().unwrap_err();
            assert!(error.contains(FILE) && error.contains(why), "{error}");
        }
    }
}
