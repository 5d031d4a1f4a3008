//! `chromaflow completions` and `chromaflow man`: what packages of the command carry for shells and readers.

use crate::error::{CliError, CliResult, Done};
use clap_complete::Shell;
use std::path::PathBuf;

/// Arguments of `chromaflow completions`.
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell that completes: `source <(chromaflow completions bash)`
    shell: Shell,
}

/// Arguments of `chromaflow man`.
#[derive(clap::Args)]
pub struct ManArgs {
    /// The folder to write the pages to
    folder: PathBuf,
}

/// Prints what a shell needs to complete the command's words.
///
/// # Errors
/// None today.
pub fn completions(args: &CompletionsArgs, mut command: clap::Command) -> CliResult {
    clap_complete::generate(args.shell, &mut command, "chromaflow", &mut std::io::stdout());
    Ok(Done::Success)
}

/// Writes manual pages, one a subcommand.
///
/// # Errors
/// Status 3 where the folder cannot be written to.
pub fn man(args: &ManArgs, command: clap::Command) -> CliResult {
    let write = || {
        std::fs::create_dir_all(&args.folder)?;
        clap_mangen::generate_to(command, &args.folder)
    };
    write().map_err(|e| CliError::environment(format!("cannot write to {}: {e}", args.folder.display())))?;
    Ok(Done::Success)
}
