//! `chromaflow plot`: pictures from the files of a run. `run` draws the same ones.

mod compare;
#[cfg(feature = "plots")]
mod draw;
#[cfg(not(feature = "plots"))]
#[path = "absent.rs"]
mod draw;
mod series;
mod tecplot;

pub use compare::read as compared;
pub use series::{Series, convergence, forces, linear, pressure};

use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use crate::run::cuts;
use crate::run::history::{self, History};
use std::path::{Path, PathBuf};

/// Arguments of `chromaflow plot`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder of a run, a history.csv, or a cut_*.csv
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Values to draw beside those of cuts: a table with columns x and cp, or a text file of Tecplot's
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Which zone of a file of Tecplot's: a part of its title
    #[arg(long, value_name = "TITLE", requires = "compare")]
    zone: Option<String>,
}

/// A picture: lines or points over two axes.
pub struct Picture {
    /// Its title.
    pub title: String,
    /// Label of the horizontal axis.
    pub x: &'static str,
    /// Label of the vertical axis.
    pub y: &'static str,
    /// Whether the horizontal and the vertical axis are logarithmic.
    pub log: [bool; 2],
    /// What is drawn.
    pub series: Vec<Series>,
}

/// Draws a picture as `stem.svg` and `stem.png`.
///
/// # Errors
/// When they cannot be written, or plots are not built in.
pub fn draw(stem: &Path, picture: &Picture) -> CliResult<()> {
    draw::draw(stem, picture)
}

/// Whether pictures can be drawn: the feature `plots` is built in.
pub const AVAILABLE: bool = cfg!(feature = "plots");

/// Draws what the files show, beside them.
///
/// # Errors
/// A file that is not one of a run, a picture that cannot be written.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let mut made = Vec::new();
    let compare =
        args.compare.as_deref().map(|path| compare::read(path, args.zone.as_deref())).transpose()?;
    let one = |path: &Path| one(path, compare.as_deref());
    for file in &args.files {
        if file.is_dir() {
            let found = results_in(file)?;
            if found.is_empty() {
                return Err(CliError::input(format!(
                    "{}: no history.csv and no cut_*.csv there: not the folder of a run",
                    file.display()
                )));
            }
            for path in found {
                made.extend(one(&path)?);
            }
        } else {
            made.extend(one(file)?);
        }
    }
    if ctx.verbose() {
        for path in &made {
            println!("{}", path.display());
        }
    }
    Ok(Done::Success)
}

/// The tables of a run that are drawn: `history.csv` and `cut_*.csv`.
///
/// # Errors
/// Status 2 for a folder that cannot be read.
pub fn results_in(folder: &Path) -> CliResult<Vec<PathBuf>> {
    let bad = |e| CliError::input(format!("cannot read {}: {e}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(bad)? {
        let path = entry.map_err(bad)?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let stem = name.strip_suffix(".csv").unwrap_or_default();
        if stem == "history" || stem.starts_with("cut_") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn one(path: &Path, compare: Option<&[(f64, f64)]>) -> CliResult<Vec<PathBuf>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let stem = path.file_stem().unwrap_or_default();
    let name = stem.to_str().unwrap_or_default();
    let mut made = Vec::new();
    let mut picture = |stem: &str, picture: &Picture| {
        if picture.series.iter().all(|s| s.points.is_empty()) {
            return Ok(());
        }
        made.extend(["svg", "png"].map(|e| folder.join(format!("{stem}.{e}"))));
        draw(&folder.join(stem), picture)
    };
    if name.starts_with("cut_") {
        picture(name, &pressure(name, &cuts::read(path)?, compare))?;
    } else {
        let History { equations, coupled, rows } = history::read(path)?;
        picture("convergence", &convergence(&rows, equations, &coupled))?;
        picture("forces", &forces(&rows))?;
        picture("linear", &linear(&rows))?;
    }
    Ok(made)
}
