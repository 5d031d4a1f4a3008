//! `chromaflow-papers tridiag`: figures and tables on line systems, and the survey that the library chooses engines by.

mod survey;
mod tables;

use chromaflow_cli::context::Context;
use chromaflow_cli::error::CliResult;
use std::path::PathBuf;

/// Arguments of `chromaflow-papers tridiag`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["figure", "table", "survey"]))]
pub struct Args {
    /// Times every engine of a GPU over ranks, lengths and numbers of systems
    #[arg(long, conflicts_with_all = ["figure", "table"])]
    survey: bool,
    /// Ranks of the survey: 1-5,8 [default: 1-8,16]
    #[arg(long, value_name = "LIST", requires = "survey")]
    ranks: Option<String>,
    /// Writes the fastest engines of the survey to this file, as the library reads them (tridiag/cuda/choice.txt)
    #[arg(long, value_name = "FILE", requires = "survey")]
    choices: Option<PathBuf>,
    /// Figure 1 or 2: times over the length of lines, on a GPU
    #[arg(long, value_name = "N")]
    figure: Vec<u32>,
    /// Table 1 (operation counts) or 2 (data that come from the host and go back)
    #[arg(long, value_name = "N")]
    table: Vec<u32>,
    /// Lengths of lines in figures and tables: 16,32,64 [default: the paper's]
    #[arg(long, value_name = "LIST", conflicts_with = "survey")]
    sizes: Option<String>,
    /// Draws the figures into this folder, as SVG and PNG
    #[arg(long, value_name = "DIR", requires = "figure")]
    plots: Option<PathBuf>,
    /// Seconds for each measurement
    #[arg(long, value_name = "S", default_value_t = 0.4, conflicts_with = "survey")]
    budget: f64,
}

/// Measures what was asked for, and prints it.
///
/// # Errors
/// Bad usage, no GPU, an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    if args.survey { survey::run(args, ctx) } else { tables::run(args, ctx) }
}
