//! `chromaflow-papers`: the tables and figures of the papers measured on this machine, beside library calls and the papers' own
//! numbers; surveys that the library's choices are made from; tiles tried. What it measures are the parts of `chromaflow bench`.
#![deny(unsafe_code)]

mod figures;
mod grid;
mod ilu;
mod multicolor;
mod tridiag;

use chromaflow_cli::context::{Context, GlobalArgs};
use chromaflow_cli::error::CliResult;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The papers' tables and figures on this machine.
#[derive(Parser)]
#[command(
    name = "chromaflow-papers",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = 110
)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A step on a structured grid (Stone et al. 2011), part by part, as a table
    Grid(chromaflow_cli::bench::grid::Args),
    /// Block ILU (Luo et al. 2015): Table 1, Figures 9 and 10; tiles, correction steps
    Ilu(ilu::Args),
    /// Multicolor sweeps (Zubair et al. 2016, Walden et al. 2019): Tables 3 and 4, Figure 14; Figures 3, 5 and 7; tiles
    Multicolor(Box<multicolor::Args>),
    /// Line systems (Stone et al. 2011): Tables 1 and 2, Figures 1 and 2; a survey of all engines
    Tridiag(tridiag::Args),
}

fn main() -> ExitCode {
    sigpipe::reset();
    let cli = Cli::parse();
    chromaflow_cli::exit(dispatch(cli))
}

fn dispatch(cli: Cli) -> CliResult {
    let ctx = Context::new(cli.global)?;
    match &cli.command {
        Command::Grid(args) => grid::run(args, &ctx),
        Command::Ilu(args) => ilu::run(args, &ctx),
        Command::Multicolor(args) => multicolor::run(args, &ctx),
        Command::Tridiag(args) => tridiag::run(args, &ctx),
    }
}
