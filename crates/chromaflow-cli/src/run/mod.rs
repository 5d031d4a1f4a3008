//! `chromaflow run`: a flow case from its file to forces and fields.

mod advice;
mod cadence;
pub mod cuts;
mod files;
mod flow;
pub mod history;
pub mod incompressible;
mod interrupt;
mod march;
mod oscillation;
mod prepare;
mod screen;
mod structured;
mod summary;
mod unstructured;
mod verify;

pub use prepare::{Prepared, prepare};
pub use screen::{Goal, Screen, bytes, duration};

use crate::case::{self, Case};
use crate::context::Context;
use crate::error::{CliResult, Done};
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `chromaflow run`.
#[derive(clap::Args)]
pub struct Args {
    /// Case file (TOML); `--print-defaults` shows all its keys
    #[arg(required_unless_present_any = ["print_defaults", "print_schema"])]
    case: Option<PathBuf>,
    /// Check the case, the mesh and the output folder, print the plan, run nothing
    #[arg(long)]
    check: bool,
    /// Go on from the restart file in the output folder, if there is one
    #[arg(long)]
    resume: bool,
    /// Start from this restart file
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    restart: Option<PathBuf>,
    /// Output folder, instead of the case file's
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Change a key of the case file: --set linear.policy=dsh
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    sets: Vec<String>,
    /// Compare the results with the case file's [expect]
    #[arg(long)]
    verify: bool,
    /// Print a case file with every key at its default, explained
    #[arg(long)]
    print_defaults: bool,
    /// Print the JSON schema of case files
    #[arg(long)]
    print_schema: bool,
}

/// Runs a case.
///
/// # Errors
/// Bad input (status 2) before the work starts; a disk that fills up (status 3) leaves the last good restart.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    if args.print_defaults {
        print!("{}", case::defaults());
        return Ok(Done::Success);
    }
    if args.print_schema {
        println!("{:#}", case::schema());
        return Ok(Done::Success);
    }
    let start = Instant::now();
    let path = args.case.as_deref().expect("clap asks for it");
    match Case::read(path, &args.sets)? {
        (source, Case::Unstructured(case)) => unstructured::run(args, ctx, source, case, start),
        (source, Case::Structured(case)) => structured::run(args, ctx, &source, &case, start),
        (source, Case::Incompressible(case)) => incompressible::run(args, ctx, &source, &case, start),
    }
}
