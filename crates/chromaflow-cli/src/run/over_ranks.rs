//! Ranks of a run: who they are, what they agree on before the mesh is read, and how they end.

use super::files::RESTART;
use super::{Args, interrupt, unstructured};
use crate::case::{Case, CaseFile, Source, StepName};
use crate::context::{Backend, Context};
use crate::error::{CliError, CliResult, Done};
use chromaflow_comm::mpi::{Launch, Mpi, launch};
use chromaflow_comm::{CommError, Communicator, RunError, Solo, Tag, run};
use chromaflow_device::cuda::Gpu;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::grid::Grid;
use chromaflow_flow::march::{FlowError, Host, March};
use chromaflow_flow::mesh::{Marker, Mesh};
use chromaflow_flow::ranks::FilesError;
use chromaflow_flow::unstructured::Ranks;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
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

/// Whether this machine has so many GPUs as an option asks for.
///
/// # Errors
/// Status 3 with what there is.
pub fn enough_gpus(option: &str, asked: usize) -> CliResult<()> {
    let count = Gpu::count().map_err(|e| CliError::environment(format!("{option} {asked}: {e}")))?;
    if asked <= count {
        return Ok(());
    }
    let shown = if count == 1 { "1 GPU".to_owned() } else { format!("{count} GPUs") };
    Err(CliError::environment(format!(
        "{option} {asked}, but this machine shows {shown}: a rank computes on a GPU of its own; ask for at most {count} (`chromaflow \
         doctor` lists them; CUDA_VISIBLE_DEVICES hides devices)"
    )))
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
    let contexts: Vec<Context> = (0..size).map(|rank| ctx.of_rank(rank, size)).collect();
    let patience = Duration::from_secs(patience.get().into());
    let ended = run(size, patience, move |own| {
        let (rank, ranks) = (own.rank(), Arc::new(own.clone()));
        let ctx = &contexts[rank];
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
    let (rank, here) = (mpi.rank(), on_this_host(&*mpi)?);
    let own = ctx.of_rank(rank, here);
    if rank > 0 {
        interrupt::watch_quietly();
    }
    let ranks = Ranks { ranks: Arc::clone(&mpi) as Arc<dyn Communicator>, reproducible: args.reproducible };
    let ended = if ctx.global.backend == Backend::Cuda {
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

/// Ranks on this host that may use the same cores as this one.
fn on_this_host(ranks: &dyn Communicator) -> CliResult<usize> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let status = read("/proc/self/status");
    let cores = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap_or_default();
    let own = format!("{}{cores}", read("/proc/sys/kernel/hostname"));
    let all = ranks.gather_all(own.as_bytes()).map_err(|e| lost(&e))?;
    Ok(all.iter().filter(|other| other.as_slice() == own.as_bytes()).count())
}

/// The GPU of a rank that is a process: that of its number among the ranks of its host, or the only one that its launcher shows it.
fn gpu_of_process(ranks: &dyn Communicator, ctx: &Context) -> CliResult<Context> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let hosts = ranks.gather_all(host.as_bytes()).map_err(|e| lost(&e))?;
    let here: Vec<usize> = (0..hosts.len()).filter(|&rank| hosts[rank] == host.as_bytes()).collect();
    let own = here.iter().position(|&rank| rank == ranks.rank()).unwrap_or(0);
    let found = Gpu::count().map_err(|e| CliError::environment(format!("--backend cuda: {e}")));
    let opened = found.and_then(|count| match count {
        1 => ctx.on_gpu(0, hosts.len()),
        _ if here.len() <= count => ctx.on_gpu(own, hosts.len()),
        _ => Err(CliError::environment(format!(
            "{} ranks share this host, which shows {count} GPUs: start as many ranks a host as it has GPUs",
            here.len()
        ))),
    });
    // All know what all have before any of them ends.
    let uuid = opened.as_ref().ok().and_then(|ctx| Some(ctx.gpu()?.facts().uuid.clone())).unwrap_or_default();
    let all = ranks.gather_all(uuid.as_bytes()).map_err(|e| lost(&e))?;
    let opened = opened?;
    match all.iter().position(|other| other == uuid.as_bytes()).filter(|&other| other != ranks.rank()) {
        Some(other) => Err(CliError::environment(format!(
            "ranks {other} and {} both compute on GPU {uuid}: start as many ranks a host as it has GPUs, and leave the choice of GPUs to \
             the program or bind one to each task",
            ranks.rank()
        ))),
        None => Ok(opened),
    }
}

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

/// Whether all ranks have read or made the same grid.
///
/// # Errors
/// Status 2 with the first rank that differs, on every rank.
pub fn same_grid(ranks: &Ranks, source: &Source, grid: &Grid) -> CliResult<()> {
    let mut digest = DefaultHasher::new();
    for block in &grid.blocks {
        block.points.hash(&mut digest);
        block.nodes.iter().for_each(|x| x.map(f64::to_bits).hash(&mut digest));
    }
    // Ranks read for as long as it takes.
    ranks.ranks.barrier_patiently().map_err(|e| lost(&e))?;
    let all = ranks.ranks.gather_all(&digest.finish().to_le_bytes()).map_err(|e| lost(&e))?;
    match all.iter().position(|other| *other != all[0]) {
        None => Ok(()),
        Some(rank) => Err(CliError::input(format!(
            "rank {rank} has another grid than rank 0: the grid of {} differs between hosts",
            source.path.display()
        ))),
    }
}

/// Whether all ranks run the same program on the same case.
///
/// # Errors
/// Status 2 with the first rank that differs, on every rank.
pub fn agree(ranks: &Ranks, source: &Source) -> CliResult<()> {
    let ranks = &*ranks.ranks;
    let own = [env!("CARGO_PKG_VERSION"), source.text()].join("\n");
    let all = ranks.gather_all(own.as_bytes()).map_err(|e| lost(&e))?;
    let part = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.split_once('\n').map_or((text.clone(), String::new()), |(a, b)| (a.to_owned(), b.to_owned()))
    };
    let first = part(&all[0]);
    for (rank, other) in all.iter().enumerate().skip(1) {
        let (version, case) = part(other);
        if version != first.0 {
            return Err(CliError::input(format!(
                "rank {rank} runs chromaflow {version}, rank 0 runs {}: install the same version on all hosts",
                first.0
            )));
        }
        if case != first.1 {
            return Err(CliError::input(format!(
                "rank {rank} reads another case file than rank 0: {} differs between hosts",
                source.path.display()
            )));
        }
    }
    Ok(())
}

/// What a set-up asks of a mesh. Rank 0 tells the others.
#[derive(Default)]
pub struct Asked {
    /// Names and codes.
    pub markers: Vec<Marker>,
    /// Whether it is planar.
    pub planar: bool,
    /// Whether it is so stretched that the preconditioner is another one.
    pub stretched: bool,
    /// Whether it is a few cells wide between planes of symmetry.
    pub slab: bool,
}

/// What a set-up asks of a mesh, told by rank 0, which has it and knows whether it is stretched and a slab.
///
/// # Errors
/// Status 3 when another rank has failed.
pub fn asked(ranks: &Ranks, mesh: Option<(&Mesh, bool, bool)>) -> CliResult<Asked> {
    let ranks = &*ranks.ranks;
    if let Some((mesh, stretched, slab)) = mesh {
        let mut text = format!("{}\n{stretched}\n{slab}\n", mesh.planar.is_some());
        for marker in &mesh.markers {
            let code = marker.code.map_or(String::new(), |code| code.to_string());
            let partner = marker.partner.as_deref().unwrap_or("");
            let _ = writeln!(text, "{code}\0{partner}\0{}", marker.name);
        }
        for to in 1..ranks.size() {
            ranks.send(to, Tag::Collective, text.clone().into_bytes()).map_err(|e| lost(&e))?;
        }
    } else {
        // Rank 0 reads the mesh for as long as it takes.
        let bytes = ranks.receive_patiently(0, Tag::Collective).map_err(|e| lost(&e))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut lines = text.lines();
        let [planar, stretched, slab] = std::array::from_fn(|_| lines.next() == Some("true"));
        let marker = |line: &str| {
            let (code, rest) = line.split_once('\0')?;
            let (partner, name) = rest.split_once('\0')?;
            let partner = (!partner.is_empty()).then(|| partner.to_owned());
            Some(Marker { name: name.to_owned(), code: code.parse().ok(), partner, ..Marker::default() })
        };
        return Ok(Asked { markers: lines.filter_map(marker).collect(), planar, stretched, slab });
    }
    Ok(Asked::default())
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
    if stretched {
        case.take_stretched(slab);
    }
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
