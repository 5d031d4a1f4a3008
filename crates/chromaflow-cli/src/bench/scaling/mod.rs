//! `chromaflow bench scaling`: the flow solver on more and more ranks or GPUs, beside what a model of the machine predicts.
//!
//! | file | |
//! |---|---|
//! | `measure.rs` | iterations of a case on so many ranks |
//! | `model.rs` | what they should take |
//! | `table.rs` | both, as Markdown and JSON |

mod measure;
mod model;
mod table;

use crate::case::ExchangeName;
use crate::context::{Backend, Context};
use crate::error::{CliError, CliResult, Done};
use crate::run::over_ranks::{self, HaloWord};
use crate::run::{self, Prepared};
use chromaflow::files::AtomicFile;
use chromaflow::gpu::Wish;
use chromaflow::{Policy, dist::SweepExchange};
use chromaflow_comm::mpi::launch;
use chromaflow_device::cuda::Gpu;
use clap::ValueEnum;
use measure::{Measured, Setting, Window};
use model::Link;
use serde_json::json;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use table::{Table, sweeps_alone};

/// Arguments of `chromaflow bench scaling`.
#[derive(clap::Args)]
pub struct Args {
    /// Case files of meshes
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<PathBuf>,
    /// Numbers of ranks, threads of this process with --threads each [default threads: cores / ranks; default ranks: 1, 2, 4, ... up
    /// to the cores, with --backend cuda to the GPUs]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    ranks: Vec<NonZeroUsize>,
    /// Numbers of GPUs of this machine, a rank on each: --ranks N,... --backend cuda
    #[arg(long, value_name = "N,...", value_delimiter = ',', conflicts_with = "ranks")]
    gpus: Vec<NonZeroUsize>,
    /// When sweeps exchange values [default: as the case says]
    #[arg(long, value_enum, value_name = "WHEN,...", value_delimiter = ',')]
    exchange: Vec<ExchangeWord>,
    /// How values pass between GPUs
    #[arg(long, value_enum, value_name = "HOW,...", value_delimiter = ',', default_value = "shortest")]
    halo: Vec<HaloWord>,
    /// Precision policies: d, ds, dsh [default: as the case says]
    #[arg(long, value_name = "POLICY,...", value_delimiter = ',')]
    policy: Vec<Policy>,
    /// Iterations that are timed
    #[arg(long, value_name = "N", default_value = "20")]
    iterations: NonZeroUsize,
    /// Iterations before these
    #[arg(long, value_name = "N", default_value_t = 5)]
    warmup: usize,
    /// The first case on the least number of ranks, the second on the next, ... in one table: meshes that grow with them
    #[arg(long)]
    weak: bool,
    /// Measure with so many more sweeps a linear step, too: what a sweep alone takes
    #[arg(long, value_name = "SWEEPS")]
    alone: Option<NonZeroUsize>,
    /// Change a key of the case files: --set march.nonlinear=defect_correction
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    sets: Vec<String>,
    /// What the model takes for a message: its latency in microseconds, and GB/s
    #[arg(long, value_name = "US,GB/S")]
    link: Option<Link>,
    /// Write the tables as Markdown to FILE, too
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

/// When sweeps exchange values, in the words of `linear.exchange`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExchangeWord {
    /// After each color
    Color,
    /// One color late
    Late,
    /// Once a sweep
    Sweep,
    /// Once a solve: what sweeps take that wait for nobody
    Solve,
}

impl ExchangeWord {
    fn config(self) -> SweepExchange {
        match self {
            Self::Color => ExchangeName::Color.config(),
            Self::Late => ExchangeName::Late.config(),
            Self::Sweep => ExchangeName::Sweep.config(),
            Self::Solve => ExchangeName::Solve.config(),
        }
    }

    fn name(exchange: SweepExchange) -> &'static str {
        match exchange {
            SweepExchange::EveryColor => "color",
            SweepExchange::ColorLate => "late",
            SweepExchange::EverySweep => "sweep",
            SweepExchange::EverySolve => "solve",
        }
    }
}

/// Cases of a table, with the numbers of ranks of each.
type Group<'a> = Vec<(&'a PathBuf, Vec<usize>)>;

impl Args {
    /// Whether each rank takes a GPU of its own, which the command then opens itself.
    pub fn is_on_gpus(&self, backend: Backend) -> bool {
        !self.gpus.is_empty() || backend == Backend::Cuda
    }

    /// Numbers of ranks, the least first, each once.
    fn counts(&self, ctx: &Context, on_gpus: bool) -> CliResult<Vec<usize>> {
        let given = if self.gpus.is_empty() { &self.ranks } else { &self.gpus };
        let mut counts: Vec<usize> = given.iter().map(|n| n.get()).collect();
        if counts.is_empty() {
            let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
            let threads = ctx.global.threads.map_or(1, NonZeroUsize::get);
            let most = if on_gpus {
                Gpu::count().map_err(|e| CliError::environment(format!("--backend cuda: {e}")))?
            } else {
                cores / threads
            };
            counts =
                std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n <= most.max(1)).collect();
        }
        counts.sort_unstable();
        counts.dedup();
        if on_gpus {
            let most = *counts.last().expect("one is always there");
            let option = if self.gpus.is_empty() { "--backend cuda --ranks" } else { "--gpus" };
            over_ranks::enough_gpus(option, most)?;
        }
        Ok(counts)
    }

    /// Policy, exchange and path of messages of every table, in their order.
    fn settings(&self, prepared: &Prepared, on_gpus: bool) -> Vec<(Policy, SweepExchange, Wish)> {
        let implicit = &prepared.config.implicit;
        let or = |given: &[Policy]| if given.is_empty() { vec![implicit.policy] } else { given.to_vec() };
        let mut exchanges: Vec<SweepExchange> = self.exchange.iter().map(|e| e.config()).collect();
        if exchanges.is_empty() {
            exchanges.push(implicit.exchange);
        }
        let wishes: Vec<Wish> =
            if on_gpus { self.halo.iter().map(|h| h.wish()).collect() } else { vec![Wish::Shortest] };
        let mut all = Vec::new();
        for policy in or(&self.policy) {
            for &exchange in &exchanges {
                all.extend(wishes.iter().map(|&wish| (policy, exchange, wish)));
            }
        }
        all
    }

    /// Cases of each table, with the numbers of ranks of each.
    fn groups(&self, counts: &[usize]) -> CliResult<Vec<Group<'_>>> {
        if !self.weak {
            return Ok(self.cases.iter().map(|path| vec![(path, counts.to_vec())]).collect());
        }
        if self.cases.len() != counts.len() {
            return Err(CliError::input(format!(
                "--weak has {} cases for {} numbers of ranks: give a case for each of {counts:?}",
                self.cases.len(),
                counts.len()
            )));
        }
        let pairs = self.cases.iter().zip(counts);
        Ok(vec![pairs.map(|(path, &count)| (path, vec![count])).collect()])
    }

    /// All settings of a case on these numbers of ranks.
    fn measure(
        &self,
        prepared: &Arc<Prepared>,
        counts: &[usize],
        on_gpus: bool,
        ctx: &Context,
    ) -> CliResult<Vec<Measured>> {
        let window = Window { warmup: self.warmup, iterations: self.iterations.get() };
        if self.alone.is_some() && !sweeps_alone(prepared) {
            return Err(CliError::input(format!(
                "{}: --alone is about steps of a fixed number of multicolor sweeps of a flow without turbulence: \
                 --set march.nonlinear=defect_correction",
                prepared.source.path.display()
            )));
        }
        let mut done: Vec<Measured> = Vec::new();
        for &ranks in counts {
            for (policy, exchange, wish) in self.settings(prepared, on_gpus) {
                // A rank alone exchanges nothing.
                if ranks == 1 && done.iter().any(|m| m.setting.ranks == 1 && m.setting.policy == policy) {
                    continue;
                }
                let setting = Setting { ranks, on_gpus, policy, exchange, wish, more_sweeps: 0 };
                let mut measured = measure::measure(prepared, setting, window, ctx)?;
                if let Some(more) = self.alone {
                    let setting = Setting { more_sweeps: more.get(), ..setting };
                    let many = measure::measure(prepared, setting, window, ctx)?;
                    measured.sweep = Some(measured.sweep_of(&many));
                }
                if ctx.verbose() {
                    eprintln!("{}: {}", prepared.source.path.display(), measured.line());
                }
                done.push(measured);
            }
        }
        Ok(done)
    }
}

/// Measures every case on every number of ranks, and prints a table for each case and policy.
///
/// # Errors
/// Status 2 for a case that cannot be run or ends too early; status 3 for GPUs that are not there, ranks that fail and files that cannot
/// be written.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    if let Some(launch) = launch().filter(|launch| launch.size > 1) {
        return Err(CliError::input(format!(
            "bench scaling starts its ranks itself, but {} started {} of it: run it alone",
            launch.launcher, launch.size
        )));
    }
    if args.halo != [HaloWord::Shortest] && !args.is_on_gpus(ctx.global.backend) {
        return Err(CliError::input("--halo is about GPUs: ask for them by --gpus"));
    }
    if let Some(path) = &args.table {
        crate::context::ensure_writable(path)?;
    }
    let on_gpus = args.is_on_gpus(ctx.global.backend);
    let counts = args.counts(ctx, on_gpus)?;
    let (mut tables, mut text) = (Vec::new(), String::new());
    for group in args.groups(&counts)? {
        let backend = if on_gpus { Backend::Cuda } else { Backend::Cpu };
        let (mut first, mut all) = (None, Vec::new());
        for (path, counts) in &group {
            let prepared = Arc::new(run::prepare(path, &args.sets, backend)?);
            all.extend(args.measure(&prepared, counts, on_gpus, ctx)?);
            first.get_or_insert(prepared);
        }
        let first = first.expect("a case is required");
        let mut policies: Vec<Policy> = Vec::new();
        for measured in &all {
            if !policies.contains(&measured.setting.policy) {
                policies.push(measured.setting.policy);
            }
        }
        for policy in policies {
            let of_policy = all.iter().filter(|m| m.setting.policy == policy).cloned().collect();
            let table = Table::new(&first, policy, of_policy, args.link);
            println!("{table}");
            text.push_str(&table.to_string());
            text.push('\n');
            tables.push(table.json());
        }
    }
    if let Some(path) = &args.table {
        let mut file = AtomicFile::create(path)?;
        write!(file, "{text}")
            .map_err(|e| CliError::environment(format!("cannot write {}: {e}", path.display())))?;
        file.commit()?;
    }
    ctx.write_json(&json!({ "tables": tables, "versions": { "chromaflow": env!("CARGO_PKG_VERSION") } }))?;
    Ok(Done::Success)
}
