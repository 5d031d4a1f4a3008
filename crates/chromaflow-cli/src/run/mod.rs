//! `chromaflow run`: a flow case from its file to forces and fields.

mod advice;
mod cadence;
mod cautions;
pub mod control;
mod files;
mod flow;
pub mod incompressible;
mod interrupt;
mod march;
mod openings;
mod oscillation;
pub mod over_ranks;
mod prepare;
mod record;
mod screen;
mod structured;
mod summary;
pub mod unstructured;
mod verify;
mod walls;

pub use cautions::{ENTERS, coincident};
pub use files::RESTART;
pub use interrupt::asked as interrupted;
pub use prepare::{Prepared, known, prepare};
pub use record::{cuts, history, live, loads, profiles, samples, surface, trace};
pub use screen::{Goal, Screen, bytes, counted, duration};
pub use walls::WallCells;

use over_ranks::{BindWord, HaloWord};

use crate::case::{self, Case};
use crate::context::Context;
use crate::error::{CliResult, Done};
use chromaflow_flow::unstructured::Ranks;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `chromaflow run`.
#[derive(clap::Args, Clone)]
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
    /// Take the state of the --restart file alone: iterations and residuals count anew, physical steps too; the first of them is of first order and
    /// starts from the last one that was done
    #[arg(long, requires = "restart")]
    anew: bool,
    /// Output folder, instead of the case file's
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Change a key of the case file: --set linear.policy=dsh
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    sets: Vec<String>,
    /// Write where the time of each iteration went, for chrome://tracing or ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Compare the results with the case file's [expect]
    #[arg(long)]
    verify: bool,
    /// Divide the mesh, or a grid's blocks, among N ranks, threads of this process with --threads each [default threads: cores / N]; with mpirun the
    /// ranks are processes
    #[arg(long, value_name = "N")]
    ranks: Option<NonZeroUsize>,
    /// Divide the mesh among N GPUs of this machine, a rank on each: --ranks N --backend cuda
    #[arg(long, value_name = "N", conflicts_with = "ranks")]
    gpus: Option<NonZeroUsize>,
    /// How values pass between the GPUs of ranks
    #[arg(long, value_enum, value_name = "HOW", default_value = "shortest")]
    halo: HaloWord,
    /// Where the threads of several ranks on one host run, where their launcher has not seen to it
    #[arg(long, value_enum, value_name = "WHERE", default_value = "cores")]
    bind: BindWord,
    /// How long a rank waits for a message of another one before the run ends
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    patience: NonZeroU32,
    /// The same results, bit for bit, on any number of ranks: sums are exact before they are rounded
    #[arg(long)]
    reproducible: bool,
    /// Print a case file with every key at its default, explained
    #[arg(long)]
    print_defaults: bool,
    /// Print the JSON schema of case files
    #[arg(long)]
    print_schema: bool,
}

impl Args {
    /// Whether several ranks compute.
    pub fn is_over_ranks(&self) -> bool {
        self.gpus.is_some() || over_ranks::are_several(self)
    }

    /// To run one point of a sweep into `folder`, from the state of a restart or from the free stream.
    pub fn of_point(case: &Path, sets: &[String], folder: &Path, from: Option<&Path>) -> Self {
        Self {
            case: Some(case.to_owned()),
            check: false,
            resume: false,
            restart: from.map(Path::to_owned),
            anew: from.is_some(),
            out: Some(folder.to_owned()),
            sets: sets.to_vec(),
            trace: None,
            verify: false,
            ranks: None,
            gpus: None,
            halo: HaloWord::default(),
            bind: BindWord::default(),
            patience: over_ranks::PATIENCE,
            reproducible: false,
            print_defaults: false,
            print_schema: false,
        }
    }
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
    over_ranks::start(args, ctx)
}

/// Runs a case on this rank, alone or among others.
fn one(args: &Args, ctx: &Context, ranks: Option<Ranks>) -> CliResult {
    let start = Instant::now();
    let path = args.case.as_deref().expect("clap asks for it");
    let (source, case) = Case::read(path, &args.sets, ctx.global.backend)?;
    if let Some(ranks) = &ranks {
        over_ranks::refuse(&source, &case)?;
        over_ranks::agree(ranks, &source, ctx)?;
        over_ranks::can_pass(ranks, ctx)?;
    }
    match (source, case) {
        (source, Case::Unstructured(case)) => unstructured::run(args, ctx, source, case, ranks, start),
        (source, Case::Structured(case)) => structured::run(args, ctx, &source, &case, ranks.as_ref(), start),
        (source, Case::Incompressible(case)) => {
            incompressible::run(args, ctx, &source, &case, ranks.as_ref(), start)
        }
    }
}
