//! `chromaflow mesh`: look at, convert, refine, check or make meshes.

use crate::context::Context;
use crate::error::{CliError, CliResult};
use std::path::PathBuf;

/// Arguments of `chromaflow mesh`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Counts, quality, markers, neighbors per node
    Info {
        /// Mesh file
        mesh: PathBuf,
    },
}

/// Runs one mesh command.
///
/// # Errors
/// Bad input or an unwritable result.
pub fn run(args: &Args, _ctx: &Context) -> CliResult {
    let Command::Info { mesh } = &args.command;
    Err(CliError::input(format!("{}: mesh is not wired yet", mesh.display())))
}
