//! `chromaflow solve`: a linear system from a matrix file.

use crate::context::Context;
use crate::error::{CliError, CliResult};
use std::path::PathBuf;

/// Arguments of `chromaflow solve`.
#[derive(clap::Args)]
pub struct Args {
    /// Matrix file: Matrix Market or PETSc binary, plain or compressed
    matrix: PathBuf,
}

/// Reads, solves, reports.
///
/// # Errors
/// Bad input or an unwritable result.
pub fn run(args: &Args, _ctx: &Context) -> CliResult {
    Err(CliError::input(format!("{}: solve is not wired yet", args.matrix.display())))
}
