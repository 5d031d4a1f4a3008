//! `chromaflow bench`: measurements on this machine. One file per benchmark. The tables and figures of the papers are made of
//! the same parts by `chromaflow-papers`.

pub mod engine;
pub mod grid;
pub mod ilu;
pub mod multicolor;
mod problem;
pub mod scaling;
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
    /// The flow solver on more and more ranks or GPUs, beside a model of the machine
    Scaling(scaling::Args),
    /// Batches of block tridiagonal systems, factored and solved
    Tridiag(tridiag::Args),
}

impl Args {
    /// Whether the benchmark takes GPUs by itself, one for each of its ranks.
    pub fn takes_its_gpus(&self) -> bool {
        matches!(self.command, Command::Scaling(_))
    }
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
        Command::Scaling(args) => scaling::run(args, ctx),
        Command::Tridiag(args) => tridiag::run(args, ctx),
    }
}
