//! Ranks of a run: who they are, and how they end.

mod agree;
mod hosts;

pub use agree::{agree, asked, same_grid, same_mesh};
pub use hosts::{BindWord, HaloWord, can_pass, enough_gpus};

use agree::Asked;
use hosts::{Seat, gpu_of_process};

use super::files::RESTART;
use super::{Args, interrupt, unstructured};
use crate::case::{Case, CaseFile, Source, StepName};
use crate::context::{Backend, Context, ForRanks};
use crate::error::{CliError, CliResult, Done};
use chromaflow_comm::mpi::{Launch, Mpi, launch};
use chromaflow_comm::{CommError, Communicator, RunError, Solo, run};
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::march::{FlowError, Host, March};
use chromaflow_flow::ranks::FilesError;
use chromaflow_flow::unstructured::Ranks;
use serde_json::{Map, Value, json};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a rank waits for a message of another one before it gives up, in seconds, unless told otherwise.
pub const PATIENCE: NonZeroU32 = NonZeroU32::new(30).expect("not zero");

/// Whether `--ranks` or a launcher asks for several ranks.
pub fn are_several(args: &Args) -> bool {
    args.ranks.is_some_and(|ranks| ranks.get() > 1) || launch().is_some_and(|launch| launch.size > 1)
}

/// Runs a case on the ranks that were asked for: by `--ranks` or `--gpus`, or by a launcher.
///
/// # Errors
/// As [`super::run`]; status 3 where ranks or their GPUs cannot be had or one of them fails.
pub fn start(args: &Args, ctx: &Context) -> CliResult {
    let launched = launch().filter(|launch| launch.size > 1);
    let on_gpus = args.gpus.is_some() || ctx.global.backend == Backend::Cuda;
    if args.halo != HaloWord::default() && !on_gpus {
        return Err(CliError::input("--halo is about GPUs: ask for them by --gpus or --backend cuda"));
    }
    let told = ForRanks { wish: args.halo.wish(), unbound: args.bind == BindWord::None };
    let ctx = &ctx.telling(told);
    if let (None, Some(ranks)) = (&launched, args.ranks) {
        let all = ranks.get().saturating_mul(ctx.threads_of(ranks.get()));
        Team::check(all).map_err(|e| CliError::input(format!("--ranks {ranks}: {e}")))?;
    }
    match (launched, args.ranks.or(args.gpus)) {
        (Some(launch), Some(asked)) if asked.get() != launch.size || args.gpus.is_some() => {
            let option = if args.gpus.is_some() { "--gpus" } else { "--ranks" };
            let instead = if args.gpus.is_some() { "; with it use --backend cuda" } else { "" };
            Err(CliError::input(format!(
                "{option} {asked}, but {} started {} ranks: leave out one of them{instead}",
                launch.launcher, launch.size
            )))
        }
        (Some(launch), _) => processes(args, ctx, launch),
        (None, Some(asked)) if on_gpus && (asked.get() > 1 || args.gpus.is_some()) => {
            let asked = asked.get();
            let option = if args.gpus.is_some() { "--gpus" } else { "--backend cuda --ranks" };
            enough_gpus(option, asked)?;
            if asked > 1 { threads(args, ctx, asked, true) } else { one_rank(args, &ctx.on_gpu(0, 1)?) }
        }
        (None, Some(asked)) if asked.get() > 1 => threads(args, ctx, asked.get(), false),
        _ => one_rank(args, ctx),
    }
}

/// Why a rank has ended: what cannot be gone on from is bad input, on all ranks alike.
pub fn ended(error: &FlowError) -> CliError {
    match error {
        FlowError::Restart { .. } | FlowError::Files(FilesError::Unread { .. }) => {
            CliError::input(error.to_string())
        }
        _ => CliError::environment(error.to_string()),
    }
}

/// Of what takes the state with it: what is on disk stays.
pub fn with_remedy(error: &FlowError, restart: &Path) -> CliError {
    let remedy = if restart.exists() {
        format!("go on from {} with --resume", restart.display())
    } else {
        "no restart had been written yet".to_owned()
    };
    CliError::environment(format!("{error}; {remedy}"))
}

/// Does a rank's part of what rank 0 computes, `follow`, as long as that asks for something; when rank 0 itself falls silent, its restart in
/// this folder is what is left.
///
/// # Errors
/// As [`ended`].
pub fn followed(
    ranks: &Ranks,
    folder: &Path,
    follow: impl FnOnce(Duration) -> Result<(), FlowError>,
) -> CliResult {
    match follow(ranks.ranks.patience_with_files()) {
        Ok(()) => Ok(Done::Success),
        Err(error @ FlowError::Ranks(CommError::Late { rank: 0, .. })) => {
            Err(with_remedy(&error, &folder.join(RESTART)))
        }
        Err(error) => Err(ended(&error)),
    }
}

fn one_rank(args: &Args, ctx: &Context) -> CliResult {
    super::one(args, ctx, args.reproducible.then(alone))
}

/// One rank that computes as several do.
fn alone() -> Ranks {
    Ranks { reproducible: true, ..of_one() }
}

/// One rank that has its part of everything as several have.
pub fn of_one() -> Ranks {
    Ranks { ranks: Arc::new(Solo), reproducible: false }
}

/// Ranks that are threads of this process.
fn threads(args: &Args, ctx: &Context, size: usize, on_gpus: bool) -> CliResult {
    let args = args.clone();
    let done = on_threads(ctx, (size, args.patience), on_gpus, move |ctx, ranks| {
        super::one(&args, ctx, Some(Ranks { ranks, reproducible: args.reproducible }))
    })?;
    Ok(done[0])
}

/// Does a job on so many ranks, threads of this process, each with its part of the machine: cores, and a GPU where they compute on those.
/// What it gives on each, in the order of ranks.
///
/// # Errors
/// The job's; status 3 where a GPU cannot be had or a rank is silent.
pub fn on_threads<T: Send + 'static>(
    ctx: &Context,
    (size, patience): (usize, NonZeroU32),
    on_gpus: bool,
    job: impl Fn(&Context, Arc<dyn Communicator>) -> CliResult<T> + Send + Sync + 'static,
) -> CliResult<Vec<T>> {
    let seats = Seat::of_threads(size);
    if !on_gpus && ctx.verbose() {
        Seat::say_shared(&seats, ctx);
    }
    let cores = |rank| if on_gpus { None } else { Seat::cores_of(&seats, rank, ctx) };
    let contexts: Vec<Context> = (0..size).map(|rank| ctx.of_rank(rank, size, cores(rank))).collect();
    let patience = Duration::from_secs(patience.get().into());
    let ended = run(size, patience, move |own| {
        let (rank, ranks) = (own.rank(), Arc::new(own.clone()));
        let ctx = &contexts[rank];
        ctx.settle();
        if on_gpus { job(&ctx.on_gpu(rank, size)?, ranks) } else { job(ctx, ranks) }
    });
    match ended {
        Ok(done) => Ok(done),
        // What a rank says of itself, it says; that one was silent is said by whoever waited for it.
        Err(RunError::Failed { error, .. }) => Err(error),
        Err(error) => Err(CliError::environment(error.to_string())),
    }
}

/// Ranks that a launcher started as processes.
fn processes(args: &Args, ctx: &Context, launch: Launch) -> CliResult {
    let mpi = Mpi::join(launch, Duration::from_secs(args.patience.get().into()))
        .map_err(|e| CliError::environment(e.to_string()))?;
    let mpi = Arc::new(mpi);
    let rank = mpi.rank();
    let seats = Seat::of_processes(&*mpi)?;
    let on_gpus = ctx.global.backend == Backend::Cuda;
    let cores = if on_gpus { None } else { Seat::cores_of(&seats, rank, ctx) };
    if !on_gpus && rank == 0 && ctx.verbose() {
        Seat::say_shared(&seats, ctx);
    }
    let own = ctx.of_rank(rank, seats.iter().filter(|other| **other == seats[rank]).count(), cores);
    own.settle();
    if rank > 0 {
        interrupt::watch_quietly();
    }
    let ranks = Ranks { ranks: Arc::clone(&mpi) as Arc<dyn Communicator>, reproducible: args.reproducible };
    let ended = if on_gpus {
        gpu_of_process(&*mpi, &own).and_then(|own| super::one(args, &own, Some(ranks)))
    } else {
        super::one(args, &own, Some(ranks))
    };
    match &ended {
        Ok(_) => mpi.leave(),
        Err(error) => {
            eprintln!("error: rank {rank}: {error}");
            // A launcher that ends all drops what it has not passed on by then.
            std::thread::sleep(Duration::from_millis(200));
            mpi.abort(error.status());
        }
    }
    ended
}

/// A message that did not pass.
fn lost(error: &CommError) -> CliError {
    CliError::environment(error.to_string())
}

/// Refuses cases that one rank alone computes.
///
/// # Errors
/// Status 2 with what to do instead.
pub fn refuse(source: &Source, case: &Case) -> CliResult<()> {
    const ALONE: &str = "leave out --ranks, --gpus, --reproducible and mpirun";
    match case {
        Case::Structured(case) if case.structured.method == StepName::LaxWendroff => Err(source.error(
            &["structured", "method"],
            &format!("one rank alone takes steps of lax_wendroff: {ALONE}, or choose another method"),
        )),
        Case::Incompressible(case) if case.output.matrix > 0 => {
            Err(source
                .error(&["output", "matrix"], "one rank alone writes linear systems: leave out --ranks"))
        }
        _ => Ok(()),
    }
}

/// How a mesh or a grid is divided among ranks.
#[derive(Clone, Copy)]
pub struct Division<'a> {
    ranks: usize,
    /// The most work of one over the mean.
    balance: f64,
    /// How messages pass between devices, where devices compute.
    halo: Option<&'a str>,
}

impl<'a> Division<'a> {
    /// Of so many ranks and their balance, where there are several.
    pub fn of(division: Option<(usize, f64)>, halo: Option<&'a str>) -> Option<Self> {
        division.map(|(ranks, balance)| Self { ranks, balance, halo })
    }
}

/// What the second line of a run says of ranks.
pub fn headline(division: Option<Division<'_>>) -> String {
    let Some(Division { ranks, balance, halo }) = division else { return String::new() };
    let by = halo.map_or_else(String::new, |path| format!(", halos by {path}"));
    format!("; {ranks} ranks, balance {balance:.3}{by}")
}

/// The same for scripts, and the seconds that this rank has spent in exchanges and sums.
pub fn facts<S: Host>(division: Option<Division<'_>>, solver: &March<S>, facts: &mut Map<String, Value>) {
    let Some(Division { ranks, balance, halo }) = division else { return };
    facts.insert("ranks".to_owned(), json!(ranks));
    facts.insert("balance".to_owned(), json!(balance));
    if let Some(path) = halo {
        facts.insert("halo".to_owned(), json!(path));
    }
    facts.insert("halo_s".to_owned(), json!(solver.exchange_seconds()));
}

/// A rank that follows rank 0 through a run.
///
/// # Errors
/// Status 2 for a set-up that cannot be run, status 3 when another rank has failed.
pub fn follow((source, folder): (&Source, &Path), case: &CaseFile, ctx: &Context, ranks: Ranks) -> CliResult {
    case.check(source)?;
    let Asked { markers, planar, stretched, slab } = asked(&ranks, None)?;
    let known: Vec<_> = markers.iter().map(|m| (m.name.clone(), super::known(m))).collect();
    let mut case = case.clone();
    case.take_mesh(stretched, slab);
    let config = case.config(source, &known, planar)?;
    if let Some(gpu) = ctx.gpu() {
        gpu.prepare(chromaflow_flow::gpu::kernels_of(&config));
    }
    let all = ranks.clone();
    let solver = FlowSolver::over_ranks(None, config, Arc::clone(ctx.team()), ranks);
    let mut solver = solver.map_err(|e| unstructured::refused(source, &e))?;
    unstructured::compute_on_gpu(&mut solver, ctx, source)?;
    followed(&all, folder, |patience| solver.follow_within(patience))
}
