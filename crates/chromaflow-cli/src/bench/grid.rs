//! `chromaflow bench grid`: the parts of a step on a structured grid.

use super::timing::{Record, Timing};
use crate::case::{SchemeName, StepName};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow_flow::config::{Boundary, Cfl, Equations, Freestream, Steady, Time};
use chromaflow_flow::flux::Dissipation;
use chromaflow_flow::grid::generate::BoxGrid;
use chromaflow_flow::march::FlowError;
use chromaflow_flow::structured::lax_wendroff::{LaxWendroff, LaxWendroffSolver};
use chromaflow_flow::structured::{
    LineImplicit, PartTime, Scheme, StepMethod, StructuredConfig, StructuredSolver, ViscousTerms,
};
use clap::ValueEnum;
use serde_json::json;
use std::str::FromStr;
use std::sync::Arc;

/// Arguments of `chromaflow bench grid`.
#[derive(clap::Args)]
pub struct Args {
    /// Cells along i, j, k: box:NX,NY,NZ
    #[arg(long, value_name = "CASE", default_value = "box:128,128,128")]
    case: BoxCase,
    /// Inviscid fluxes
    #[arg(long, value_enum, default_value = "scalar")]
    scheme: SchemeName,
    /// Viscous terms
    #[arg(long, value_enum, default_value = "full")]
    viscous: ViscousName,
    /// Implicit step, or the explicit Lax-Wendroff scheme
    #[arg(long, value_enum, default_value = "beam-warming")]
    method: StepName,
    /// Repeats of each part
    #[arg(long, default_value_t = 15)]
    repeats: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ViscousName {
    None,
    ThinLayer,
    Full,
}

/// A box of cells.
#[derive(Clone, Copy, Debug)]
struct BoxCase([usize; 3]);

impl FromStr for BoxCase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let cells = || {
            let sizes: Option<Vec<usize>> =
                text.strip_prefix("box:")?.split(',').map(|n| n.parse().ok()).collect();
            let cells: [usize; 3] = sizes?.try_into().ok()?;
            let all = cells.iter().try_fold(1_usize, |all, &n| all.checked_mul(n))?;
            (1..=1 << 28).contains(&all).then_some(Self(cells))
        };
        cells().ok_or_else(|| format!("{text:?} is no box: expected box:NX,NY,NZ with at most 2^28 cells"))
    }
}

/// Laminar flow over the floor of a wavy box: a plate between side planes; times of the parts of a step.
fn parts(args: &Args, ctx: &Context) -> CliResult<Vec<PartTime>> {
    let grid = BoxGrid { cells: args.case.0, size: [1.0, 0.5, 0.5], wave: 0.02 }.grid();
    let sides = [
        ("xmin", Boundary::Farfield),
        ("xmax", Boundary::Outlet { pressure: 1.0 }),
        ("ymin", Boundary::NoSlipAdiabatic),
        ("ymax", Boundary::Farfield),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::Symmetry),
    ];
    let viscous = args.viscous != ViscousName::None;
    let config = StructuredConfig {
        freestream: Freestream { mach: 0.4, reynolds: 1e4, ..Freestream::default() },
        equations: if viscous { Equations::Laminar } else { Equations::Euler },
        scheme: match args.scheme {
            SchemeName::Scalar => Scheme::Scalar(Dissipation::DEFAULT),
            SchemeName::Matrix => Scheme::Matrix(Dissipation::DEFAULT),
            SchemeName::Roe => Scheme::Roe { kappa: 1.0 / 3.0, limited: true },
        },
        viscous: match args.viscous {
            ViscousName::ThinLayer => ViscousTerms::ThinLayer,
            _ => ViscousTerms::Full,
        },
        boundaries: sides.map(|(name, condition)| (name.to_owned(), condition)).into(),
        implicit: LineImplicit {
            method: match args.method {
                StepName::BeamWarming | StepName::LaxWendroff => StepMethod::BeamWarming,
                StepName::Diagonal => StepMethod::Diagonal { fourth: true },
                StepName::Ssor => StepMethod::Ssor { sweeps: 1, relaxation: 1.0 },
            },
            cfl: Cfl { start: 5.0, min: 0.01, max: 5.0, growth: 1.0, adaptive: false },
            ..LineImplicit::default()
        },
        time: Time::Steady(Steady { iterations: usize::MAX, orders: 30.0 }),
        ..StructuredConfig::default()
    };
    let (team, input) = (Arc::clone(ctx.team()), |e: FlowError| CliError::input(e.to_string()));
    let failed = |e: FlowError| CliError::environment(e.to_string());
    let repeats = args.repeats.max(1);
    if let StepName::LaxWendroff = args.method {
        let mut solver = LaxWendroffSolver::new(grid, config, LaxWendroff::default(), team).map_err(input)?;
        if let Some(gpu) = ctx.gpu() {
            solver.use_gpu(gpu).map_err(failed)?;
        }
        return solver.measure(repeats).map_err(failed);
    }
    let mut solver = StructuredSolver::new(grid, config, team).map_err(input)?;
    if let Some(gpu) = ctx.gpu() {
        solver.use_gpu(gpu).map_err(failed)?;
    }
    solver.measure(repeats).map_err(failed)
}

fn timing(part: &PartTime) -> Timing {
    let mut seconds = part.seconds.clone();
    seconds.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| seconds[((share * seconds.len() as f64) as usize).min(seconds.len() - 1)];
    Timing { median: at(0.5), least: seconds[0], p90: at(0.9), cpu: seconds[0], repeats: seconds.len() }
}

/// The parts of a step.
pub struct Measured {
    /// A line for each part; on a GPU also for time step and fluxes with their transfers.
    pub records: Vec<Record>,
    /// Cells of the grid.
    pub cells: usize,
    /// Bandwidth of a copy of 1 GiB on the GPU, in GB/s; 0 on the CPU.
    pub copy: f64,
}

/// Prints a RES line for each part of a step; on a GPU the result holds the bandwidth of a copy beside.
///
/// # Errors
/// Bad usage, a GPU that fails, an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    measure(args, ctx).map(|_| Done::Success)
}

/// The same, for those who make tables of it.
///
/// # Errors
/// As [`run`].
pub fn measure(args: &Args, ctx: &Context) -> CliResult<Measured> {
    let parts = parts(args, ctx)?;
    let case = format!("box:{},{},{}", args.case.0[0], args.case.0[1], args.case.0[2]);
    let backend = if ctx.gpu().is_some() { "cuda" } else { "cpu" };
    let copy = match ctx.gpu() {
        Some(gpu) => gpu.copy_bandwidth(1 << 30, 9).map_err(CliError::device)?,
        None => 0.0,
    };
    let mut records = Vec::new();
    for part in &parts {
        records.push(Record {
            peer: format!("chromaflow-{backend}"),
            case: case.clone(),
            op: part.name.to_owned(),
            cores: if ctx.gpu().is_some() { 0 } else { ctx.team().size() },
            timing: timing(part),
            bytes: part.bytes,
            flops: 0.0,
            check: 0.0,
        });
    }
    for record in &records {
        println!("{record}");
    }
    let all: Vec<_> = records.iter().map(Record::json).collect();
    ctx.write_json(&json!({ "records": all, "copy_gb_per_s": copy }))?;
    Ok(Measured { records, cells: args.case.0.iter().product(), copy })
}
