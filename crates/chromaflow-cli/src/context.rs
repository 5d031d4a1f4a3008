//! What all subcommands share: the global options, the thread team, the JSON result.

use crate::error::{CliError, CliResult};
use chromaflow::files::{AtomicFile, FileError};
use chromaflow::gpu::Wish;
use chromaflow_device::Team;
use chromaflow_device::cores::{in_words, keep_to};
use chromaflow_device::cuda::Gpu;
use clap::{Args, ValueEnum};
use std::io::{IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Options of every subcommand.
#[derive(Args, Clone, Debug)]
pub struct GlobalArgs {
    /// Threads [default: one per core this process may use]
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Where to compute
    #[arg(long, global = true, value_enum, default_value = "cpu")]
    pub backend: Backend,
    /// Write the results as JSON to FILE
    #[arg(long, global = true, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print nothing but errors (and what was asked for by name)
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

impl GlobalArgs {
    /// Those that are not at their defaults, by the names that users know.
    pub fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--threads", self.threads.is_some()),
            ("--backend", self.backend != Backend::Cpu),
            ("--json", self.json.is_some()),
        ];
        all.into_iter().filter(|o| o.1).map(|o| o.0).collect()
    }
}

/// Where to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// Threads of this machine
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}

/// What ranks are told of how they share machines.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForRanks {
    /// How values are to pass between their GPUs.
    pub wish: Wish,
    /// Whether they stay where the system puts them.
    pub unbound: bool,
}

/// What a subcommand gets beside its own arguments.
#[derive(Clone)]
pub struct Context {
    /// The global options.
    pub global: GlobalArgs,
    gpu: Option<Gpu>,
    /// GPUs of all ranks.
    gpus: usize,
    /// What ranks are told besides.
    told: ForRanks,
    /// The cores of this rank, where it keeps to some.
    cores: Option<Vec<usize>>,
    team: OnceLock<Arc<Team>>,
}

impl Context {
    /// Checks the global options: the backend is there, the JSON file can be written.
    ///
    /// # Errors
    /// Status 2 for more threads than a team may have, 3 where the backend or the JSON file's folder is not usable.
    pub fn new(global: GlobalArgs) -> CliResult<Self> {
        let gpu = match global.backend {
            Backend::Cpu => None,
            Backend::Cuda => Some(open_gpu(0)?),
        };
        Self::with(global, gpu)
    }

    /// The same for a command that chooses its GPUs itself.
    ///
    /// # Errors
    /// Status 3 where the JSON file's folder is not usable.
    pub fn without_gpu(global: GlobalArgs) -> CliResult<Self> {
        Self::with(global, None)
    }

    fn with(global: GlobalArgs, gpu: Option<Gpu>) -> CliResult<Self> {
        if let Some(path) = &global.json {
            ensure_writable(path)?;
        }
        if let Some(threads) = global.threads {
            let fit = Team::check(threads.get());
            fit.map_err(|e| CliError::input(format!("--threads {threads}: {e}")))?;
        }
        let gpus = usize::from(gpu.is_some());
        Ok(Self { global, gpu, gpus, told: ForRanks::default(), cores: None, team: OnceLock::new() })
    }

    /// The same on a GPU of this machine, one of so many that ranks compute on together.
    ///
    /// # Errors
    /// Status 3 where it cannot be used.
    pub fn on_gpu(&self, ordinal: usize, gpus: usize) -> CliResult<Self> {
        let global = GlobalArgs { backend: Backend::Cuda, ..self.global.clone() };
        Ok(Self { global, gpu: Some(open_gpu(ordinal)?), gpus, ..self.clone() })
    }

    /// The threads, started at first use: `--threads`, or one per core this process may use.
    pub fn team(&self) -> &Arc<Team> {
        let start = || self.global.threads.map_or_else(Team::all_cores, |n| Team::new(n.get()));
        self.team.get_or_init(|| Arc::new(start()))
    }

    /// The same team and GPU, but with nothing to print and no JSON file: for parts of a larger whole.
    pub fn quietly(&self) -> Self {
        let global = GlobalArgs { quiet: true, json: None, ..self.global.clone() };
        self.team(); // is there from now on, for both
        Self { global, ..self.clone() }
    }

    /// Threads of each of `size` ranks that share this machine.
    pub fn threads_of(&self, size: usize) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.global.threads.map_or((cores / size.max(1)).max(1), NonZeroUsize::get)
    }

    /// The same for one of `size` ranks that share this machine: with its part of the threads and these cores, and with something to say on
    /// the first rank alone.
    pub fn of_rank(&self, rank: usize, size: usize, cores: Option<Vec<usize>>) -> Self {
        let threads = NonZeroUsize::new(self.threads_of(size));
        let (quiet, json) =
            if rank == 0 { (self.global.quiet, self.global.json.clone()) } else { (true, None) };
        Self {
            global: GlobalArgs { threads, json, quiet, ..self.global.clone() },
            gpu: None,
            gpus: 0,
            told: self.told,
            cores,
            team: OnceLock::new(),
        }
    }

    /// The same with what ranks are told besides.
    pub fn telling(&self, told: ForRanks) -> Self {
        Self { told, ..self.clone() }
    }

    /// What ranks are told besides.
    pub fn told(&self) -> ForRanks {
        self.told
    }

    /// Has this thread, and all that it starts, keep to the cores of its rank, where it has some.
    pub fn settle(&self) {
        if let Some(cores) = &self.cores {
            // Whoever may not choose stays where the system puts it.
            keep_to(cores);
        }
    }

    /// Which cores the threads of this rank keep to, for the line that says who computes.
    pub fn placed(&self) -> String {
        let here = |cores: &Vec<usize>| {
            let word = if cores.len() == 1 { "core" } else { "cores" };
            format!(" a rank, here on {word} {}", in_words(cores))
        };
        self.cores.as_ref().map_or_else(String::new, here)
    }

    /// The GPU that `--backend cuda` asks for.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.gpu.as_ref()
    }

    /// The GPU of `--backend cuda`, or this machine's first one.
    ///
    /// # Errors
    /// Status 3 where there is none that can be used.
    pub fn open_gpu(&self) -> CliResult<Gpu> {
        self.gpu.clone().map_or_else(|| Gpu::open(0).map_err(CliError::device), Ok)
    }

    /// Who computes: the GPU's name, or the number of threads.
    pub fn device(&self) -> String {
        let n = self.team().size();
        let threads = || format!("{n} thread{}", if n == 1 { "" } else { "s" });
        let several = || if self.gpus > 1 { format!("{} x ", self.gpus) } else { String::new() };
        self.gpu.as_ref().map_or_else(threads, |gpu| format!("{}{}", several(), gpu.facts().name))
    }

    /// Whether to print progress and tables.
    pub fn verbose(&self) -> bool {
        !self.global.quiet
    }

    /// Whether a person watches: progress lines may be rewritten in place.
    pub fn interactive(&self) -> bool {
        self.verbose() && std::io::stderr().is_terminal()
    }

    /// The `--json` file.
    pub fn json(&self) -> Option<&PathBuf> {
        self.global.json.as_ref()
    }

    /// Writes `value` to the `--json` file, if there is one.
    ///
    /// # Errors
    /// Status 3 when it cannot be written; an older file of that name is untouched then.
    pub fn write_json(&self, value: &serde_json::Value) -> CliResult<()> {
        let Some(path) = &self.global.json else { return Ok(()) };
        write_whole(path, format!("{value:#}\n").as_bytes())
    }
}

fn open_gpu(ordinal: usize) -> CliResult<Gpu> {
    Gpu::open(ordinal).map_err(|e| CliError::environment(format!("--backend cuda: {e}; use --backend cpu")))
}

/// Writes a whole file; an older one of that name stays until it is complete.
///
/// # Errors
/// Status 3 when it cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> CliResult<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|e| FileError::new("cannot write", path, e))?;
    Ok(file.commit()?)
}

/// Fails early where `path` could not be written at the end of a long computation.
///
/// # Errors
/// Status 3 with the path and the reason.
pub fn ensure_writable(path: &Path) -> CliResult<()> {
    if path.is_dir() {
        return Err(CliError::environment(format!("cannot write {}: it is a folder", path.display())));
    }
    drop(AtomicFile::create(path)?); // makes and removes a temporary file beside it
    Ok(())
}
