//! `chromaflow doctor`: what this machine offers.

use crate::context::Context;
use crate::error::{CliResult, Done};
use serde_json::json;

/// Arguments of `chromaflow doctor`.
#[derive(clap::Args)]
pub struct Args {}

/// Prints the report.
///
/// # Errors
/// When the `--json` file cannot be written.
pub fn run(_args: &Args, ctx: &Context) -> CliResult {
    let threads = ctx.team().size();
    if ctx.talk() {
        println!("threads  {threads}");
    }
    ctx.write_json(&json!({ "threads": threads }))?;
    Ok(Done::AsAsked)
}
