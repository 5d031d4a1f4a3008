//! `chromaflow-papers ilu`: the block ILU paper's figures and table, tiles, correction steps.

mod figures;
mod squares;
mod table;
mod tune;

use chromaflow::Policy;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::gallery::{Case, Kind};
use chromaflow::solver::RowOrder;
use chromaflow_cli::bench::engine::Engine;
use chromaflow_cli::bench::ilu::gpu::OnDevice;
use chromaflow_cli::bench::ilu::{Bench, Options, STRUCTURED, on_gpu};
use chromaflow_cli::context::Context;
use chromaflow_cli::error::{CliError, CliResult, Done};
use std::path::PathBuf;

/// Arguments of `chromaflow-papers ilu`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["figure", "table", "tune", "steps"]))]
pub struct Args {
    /// Figure 9 (grids of 15^3 to 65^3 cells) or 10 (4 to 32 unknowns a cell)
    #[arg(long, value_name = "N", conflicts_with = "policy")]
    figure: Vec<u32>,
    /// Table 1: sums of squares of the residual over 20 steps on a system of the incompressible solver, the sequential reference's and
    /// the engines'
    #[arg(long, value_name = "N")]
    table: Option<u32>,
    /// Tries the tiles of engine cuda on --case, and prints their times
    #[arg(long, requires = "case", conflicts_with = "engine")]
    tune: bool,
    /// Prints the sums of squares of the residual over N correction steps on --case: the sequential reference's, then those of an
    /// engine of the GPU
    #[arg(long, value_name = "N", requires = "case")]
    steps: Option<usize>,
    /// The grid of --tune and --steps: grid7:I,J,K:NB
    #[arg(long, value_name = "CASE", conflicts_with_all = ["figure", "table"])]
    case: Option<Case>,
    /// Edges of the grids of figure 9, unknowns of figure 10, cells along i, j, k of table 1: 15 or 4,6,8 [default: the paper's]
    #[arg(long, value_name = "LIST", conflicts_with = "case")]
    sizes: Option<String>,
    /// Cells times the unknowns squared, for the grids of figure 10: roughly, as they are cubes
    #[arg(long, value_name = "W", requires = "figure", default_value_t = 1.8e7)]
    work: f64,
    /// Draws the figures into this folder, as SVG and PNG
    #[arg(long, value_name = "DIR", requires = "figure")]
    plots: Option<PathBuf>,
    /// Who factors and applies; several by commas [default: cpu, with --backend cuda cuda]
    #[arg(long, value_delimiter = ',', value_parser = Engine::one_of(&STRUCTURED))]
    engine: Vec<Engine>,
    /// Precision of the couplings that an apply reads: d, ds or dsh
    #[arg(long, value_name = "POLICY", default_value = "d")]
    policy: Policy,
    /// Seconds for each measurement
    #[arg(long, value_name = "S", default_value_t = 0.25)]
    budget: f64,
}

impl Args {
    fn options(&self) -> Options {
        Options { policy: self.policy, order: RowOrder::Natural, fill: Fill::Level(0), budget: self.budget }
    }
}

/// Measures what was asked for, and prints it.
///
/// # Errors
/// Bad usage; no GPU where an engine needs one; an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    match (args.table, &args.case) {
        (Some(table), _) => table::run(table, args, ctx),
        (None, Some(case)) => on_case(case, args, ctx),
        (None, None) => figures::run(args, ctx),
    }
}

/// Tiles or correction steps of one grid, on the GPU.
fn on_case(case: &Case, args: &Args, ctx: &Context) -> CliResult {
    if case.kind != Kind::Grid7 {
        return Err(CliError::input(format!("{case}: --tune and --steps take grid7:I,J,K:NB")));
    }
    let bench = Bench::new(case, &args.options(), ctx);
    let (a, b) = (bench.stencil(), bench.rhs());
    let mut on = OnDevice::new(&ctx.open_gpu()?, &a, b, 1, bench.storage())?;
    let Some(steps) = args.steps else {
        tune::run(&mut on, args.budget)?;
        return Ok(Done::Success);
    };
    let engine = match args.engine[..] {
        [] => Engine::Cuda,
        [engine] if engine.is_gpu() => engine,
        _ => return Err(CliError::input("--steps takes one engine of the GPU: acc, cl or cuda")),
    };
    let expected = squares::reference(&a, b, steps)?;
    let found = squares::on_device(&mut on, on_gpu(engine), steps)?;
    for (step, (expected, found)) in expected.iter().zip(&found).enumerate() {
        println!("{step:3}  {expected:.12e}  {found:.12e}  {:.1e}", (found - expected).abs() / expected);
    }
    Ok(Done::Success)
}
