//! Stands in for the drawing where the feature `plots` is not built in.

use super::Picture;
use crate::error::{CliError, CliResult};
use std::path::Path;

pub fn draw(_stem: &Path, _picture: &Picture) -> CliResult<()> {
    Err(CliError::input("plots are not built into this chromaflow; build it with --features plots"))
}
