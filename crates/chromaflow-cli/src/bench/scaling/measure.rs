//! Iterations of a case on so many ranks, timed: the solver, its ranks and devices are those of `chromaflow run`.

use super::ExchangeWord;
use crate::context::Context;
use crate::error::{CliError, CliResult};
use crate::run::{Prepared, over_ranks, unstructured};
use chromaflow::Policy;
use chromaflow::dist::SweepExchange;
use chromaflow::gpu::Wish;
use chromaflow_comm::Communicator;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{FlowConfig, Time};
use chromaflow_flow::march::Part;
use chromaflow_flow::unstructured::{RankReport, Ranks};
use std::sync::Arc;
use std::time::Instant;

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub ranks: usize,
    pub on_gpus: bool,
    pub policy: Policy,
    pub exchange: SweepExchange,
    pub wish: Wish,
    /// Sweeps of a linear step beyond what the case asks for.
    pub more_sweeps: usize,
}

/// Which iterations count.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub warmup: usize,
    pub iterations: usize,
}

/// What a measurement found.
#[derive(Clone, Debug)]
pub struct Measured {
    pub setting: Setting,
    /// The case, and rows of its whole system.
    pub case: String,
    pub nodes: usize,
    /// Threads of a rank.
    pub threads: usize,
    /// Who computes.
    pub device: String,
    /// Seconds from the mesh to the first iteration.
    pub setup: f64,
    /// Of that, stages on the first rank.
    pub stages: Vec<(&'static str, f64)>,
    /// Seconds of each iteration, ascending.
    pub seconds: Vec<f64>,
    /// Each rank's part of these iterations.
    pub reports: Vec<RankReport>,
    /// How messages pass between devices.
    pub path: Option<String>,
    /// Most blocks of a rank over the mean.
    pub balance: f64,
    pub colors: usize,
    /// Norm of the density residual in the last iteration.
    pub residual: f64,
    /// Iterations whose step was rejected.
    pub rejected: usize,
    /// Seconds of a sweep alone, least, mean and largest over ranks, where they were measured.
    pub sweep: Option<[f64; 3]>,
}

impl Measured {
    /// Middle of the iterations' seconds.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The part `q` of the iterations took less.
    pub fn quantile(&self, q: f64) -> f64 {
        let n = self.seconds.len();
        self.seconds[((q * n as f64) as usize).min(n - 1)]
    }

    /// GPUs, or cores.
    pub fn machines(&self) -> f64 {
        let of_rank = if self.setting.on_gpus { 1 } else { self.threads };
        (self.setting.ranks * of_rank) as f64
    }

    /// Least, mean and largest over ranks of seconds an iteration.
    pub fn over_ranks(&self, of: impl Fn(&RankReport) -> f64) -> [f64; 3] {
        let count = self.seconds.len() as f64;
        let all: Vec<f64> = self.reports.iter().map(|report| of(report) / count).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        [least, all.iter().sum::<f64>() / all.len() as f64, most]
    }

    /// Of the linear solver.
    pub fn linear(&self) -> [f64; 3] {
        const LINEAR: [Part; 5] =
            [Part::LinearSolver, Part::Conversion, Part::Factor, Part::Solve, Part::Correction];
        self.over_ranks(|report| LINEAR.iter().map(|&part| report.times[part]).sum())
    }

    /// Of exchanges and sums, waiting included.
    pub fn halo(&self) -> [f64; 3] {
        self.over_ranks(|report| report.halo)
    }

    /// Of everything else.
    pub fn work(&self) -> [f64; 3] {
        self.over_ranks(|report| report.times.total - report.halo)
    }

    /// What a sweep alone takes, by the same measured with more of them.
    pub fn sweep_of(&self, more: &Self) -> [f64; 3] {
        let (few, many) = (self.linear(), more.linear());
        let sweeps = more.setting.more_sweeps - self.setting.more_sweeps;
        std::array::from_fn(|k| (many[k] - few[k]) / sweeps as f64)
    }

    /// For whoever waits for the next one.
    pub fn line(&self) -> String {
        let Setting { ranks, policy, exchange, .. } = self.setting;
        format!(
            "{ranks} rank{}, {policy}, {}: {:.3} ms an iteration, set up in {:.1} s",
            if ranks == 1 { "" } else { "s" },
            ExchangeWord::name(exchange),
            1e3 * self.median(),
            self.setup
        )
    }
}

/// Runs a case's first iterations on the ranks of a setting.
///
/// # Errors
/// Status 2 for a case that ends or diverges before enough iterations are done; status 3 for ranks and GPUs that fail.
pub fn measure(
    prepared: &Arc<Prepared>,
    setting: Setting,
    window: Window,
    ctx: &Context,
) -> CliResult<Measured> {
    let mut config = prepared.config.clone();
    (config.implicit.policy, config.implicit.exchange) = (setting.policy, setting.exchange);
    config.implicit.sweeps += setting.more_sweeps;
    // As many iterations as are asked for, however much the residual falls.
    if let Time::Steady(steady) = &mut config.time {
        (steady.iterations, steady.orders) = (window.warmup + window.iterations + 1, f64::INFINITY);
    }
    let ranks = setting.ranks;
    if ranks == 1 {
        let own = ctx.of_rank(0, 1, None);
        let own = if setting.on_gpus { own.on_gpu(0, 1)? } else { own };
        let found = on_rank(prepared, config, (setting, window), &own, None)?;
        return Ok(found.expect("the only rank leads"));
    }
    let prepared = Arc::clone(prepared);
    let found = over_ranks::on_threads(
        ctx,
        (ranks, over_ranks::PATIENCE),
        setting.on_gpus,
        move |own, communicator| {
            on_rank(&prepared, config.clone(), (setting, window), own, Some(communicator))
        },
    )?;
    Ok(found.into_iter().flatten().next().expect("rank 0 leads"))
}

/// One rank's part of it; the first one's findings.
fn on_rank(
    prepared: &Prepared,
    config: FlowConfig,
    (setting, window): (Setting, Window),
    ctx: &Context,
    communicator: Option<Arc<dyn Communicator>>,
) -> CliResult<Option<Measured>> {
    let (start, source, team) = (Instant::now(), &prepared.source, Arc::clone(ctx.team()));
    let leads = communicator.as_ref().is_none_or(|ranks| ranks.rank() == 0);
    let solver = match communicator {
        None => FlowSolver::new(&prepared.mesh, config, team),
        Some(ranks) => {
            let ranks = Ranks { ranks, reproducible: false };
            FlowSolver::over_ranks(leads.then_some(&prepared.mesh), config, team, ranks)
        }
    };
    let mut solver = solver.map_err(|e| unstructured::refused(source, &e))?;
    unstructured::compute_on_gpu_by(&mut solver, ctx, source, setting.wish)?;
    let lost = |e: chromaflow_flow::march::FlowError| CliError::environment(e.to_string());
    if !leads {
        solver.follow().map_err(lost)?;
        return Ok(None);
    }
    let setup = start.elapsed().as_secs_f64();
    let (mut seconds, mut before, mut rejected) = (Vec::new(), Vec::new(), 0);
    let mut residual = f64::NAN;
    for iteration in 0..window.warmup + window.iterations {
        if iteration == window.warmup {
            before = solver.rank_reports();
        }
        let report = solver.try_step().map_err(lost)?;
        if let Some(outcome) = report.outcome {
            return Err(CliError::input(format!(
                "{}: {outcome} in iteration {}, but {} are to be timed after {}: ask for fewer by --iterations and --warmup, or for \
                 other steps by --set march.cfl_start=...",
                source.path.display(),
                iteration + 1,
                window.iterations,
                window.warmup
            )));
        }
        if iteration >= window.warmup {
            seconds.push(report.times.total);
            rejected += usize::from(report.rejected);
        }
        residual = report.residual[0];
    }
    let after = solver.rank_reports();
    solver.check_ranks().map_err(lost)?;
    let reports = after.iter().zip(&before).map(|(after, before)| after.since(before)).collect();
    let nodes = prepared.mesh.planar.map_or(prepared.mesh.nodes.len(), |planar| planar.nodes_2d);
    let found = Measured {
        setting,
        case: source.path.file_stem().and_then(|n| n.to_str()).unwrap_or("case").to_owned(),
        nodes,
        threads: ctx.team().size(),
        device: ctx.device(),
        setup,
        stages: solver.setup_seconds().to_vec(),
        seconds: {
            seconds.sort_unstable_by(f64::total_cmp);
            seconds
        },
        reports,
        path: solver.halo_path().map(str::to_owned),
        balance: solver.division().map_or(1.0, |division| division.balance),
        colors: solver.order().colors,
        residual,
        rejected,
        sweep: None,
    };
    solver.dismiss();
    Ok(Some(found))
}
