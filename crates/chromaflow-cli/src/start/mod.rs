//! Where a user starts: a case for a mesh (`chromaflow new`), or a runnable folder (`chromaflow template`).

pub mod new;
pub mod template;

use crate::context::write_whole;
use crate::error::{CliError, CliResult};
use std::path::Path;

/// Writes a file that is not to take the place of another, unless that is `force`d.
///
/// # Errors
/// Status 2 where there is one; status 3 where it cannot be written.
fn write_new(path: &Path, text: &str, force: bool) -> CliResult<()> {
    refuse_old(path, force)?;
    write_whole(path, text.as_bytes())
}

fn refuse_old(path: &Path, force: bool) -> CliResult<()> {
    if path.exists() && !force {
        return Err(CliError::input(format!(
            "{} is there already: name another place, or take --force to write over it",
            path.display()
        )));
    }
    Ok(())
}
