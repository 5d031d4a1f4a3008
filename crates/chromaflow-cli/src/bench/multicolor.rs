//! `chromaflow bench multicolor`: sweeps on generated problems.

use crate::context::Context;
use crate::error::{CliError, CliResult};

/// Arguments of `chromaflow bench multicolor`.
#[derive(clap::Args)]
pub struct Args {
    /// Problem, for example kuhn:100,80,50:5:mc4
    #[arg(long)]
    case: String,
}

/// Measures and prints RES lines.
///
/// # Errors
/// Bad usage.
pub fn run(args: &Args, _ctx: &Context) -> CliResult {
    Err(CliError::input(format!("{}: bench is not wired yet", args.case)))
}
