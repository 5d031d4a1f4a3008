//! `chromaflow bench`: measurements on this machine. One file per benchmark. The tables and figures of the papers are made of
//! the same parts by `chromaflow-papers`.

pub mod engine;
pub mod grid;
pub mod ilu;
pub mod multicolor;
mod problem;
pub mod timing;
pub mod tridiag;

use crate::context::Context;
use crate::error::CliResult;

/// Arguments of `chromaflow bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// The parts of a step on a structured grid: time step, fluxes, line systems
    Grid(grid::Args),
    /// Block ILU(0) on generated problems, factored and applied
    Ilu(ilu::Args),
    /// Multicolor point-implicit sweeps on generated problems
    Multicolor(multicolor::Args),
    /// Batches of block tridiagonal systems, factored and solved
    Tridiag(tridiag::Args),
}

/// Runs one benchmark.
///
/// # Errors
/// Bad usage or an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    match &args.command {
        Command::Grid(args) => grid::run(args, ctx),
        Command::Ilu(args) => ilu::run(args, ctx),
        Command::Multicolor(args) => multicolor::run(args, ctx),
        Command::Tridiag(args) => tridiag::run(args, ctx),
    }
}
