//! `chromaflow bench tridiag`: batches of block tridiagonal systems.

use super::timing::{Record, Timing};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::tridiag::{
    Batch, Double, Layout, LineOutcome, Method, Mixed, Options, Precision, Real, Shape, Single, Solver,
};
use chromaflow_testkit::{Case, Kind};

/// Arguments of `chromaflow bench tridiag`.
#[derive(clap::Args)]
pub struct Args {
    /// Problem: btri:NSYS,NROW:M
    #[arg(long, value_name = "CASE")]
    case: Option<Case>,
    /// The same, as a plain argument
    #[arg(value_name = "CASE", conflicts_with = "case", required_unless_present = "case")]
    positional: Option<Case>,
    /// auto, thomas, cr, pcr, cr-pcr (or hybrid) or pcr-thomas
    #[arg(long, default_value = "auto")]
    method: Method,
    /// Order of the data: aos (system by system), soa (system index fastest) or interleaved (by the vector's lanes)
    #[arg(long, default_value = "interleaved")]
    layout: LayoutName,
    /// What is stored, and summed in: f32, f64 or mixed (f32 stored, f64 sums)
    #[arg(long, default_value = "f64")]
    scalar: Scalar,
    /// Seconds for the measurement
    #[arg(long, value_name = "S", default_value_t = 0.4)]
    budget: f64,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LayoutName {
    Aos,
    Soa,
    Interleaved,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Scalar {
    F32,
    F64,
    Mixed,
}

/// Measures factor and solve together, inputs kept, and prints one RES line:
/// `RES,peer,"case",btri_solve,cores,median_ms,min_ms,p90_ms,repeats,bytes,flops,check,cpu_ms`, with the largest residual
/// as check.
///
/// # Errors
/// Bad usage, an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let case = args.case.as_ref().or(args.positional.as_ref()).expect("clap asks for one");
    if case.kind != Kind::BlockTridiagonal {
        return Err(CliError::input(format!(
            "{case} is no batch of line systems: expected btri:NSYS,NROW:M"
        )));
    }
    let record = match args.scalar {
        Scalar::F32 => measure::<Single>(case, args, ctx),
        Scalar::F64 => measure::<Double>(case, args, ctx),
        Scalar::Mixed => measure::<Mixed>(case, args, ctx),
    }?;
    println!("{record}");
    ctx.write_json(&serde_json::json!({ "records": [record.json()] }))?;
    Ok(Done::AsAsked)
}

fn measure<P: Precision>(case: &Case, args: &Args, ctx: &Context) -> CliResult<Record> {
    let [systems, rows, _] = case.dims;
    let shape = Shape::new(systems, rows, case.nb);
    let mut solver = Solver::<P>::new(Options { method: args.method, ..Options::default() });
    let layout = match args.layout {
        LayoutName::Aos => Layout::Aos,
        LayoutName::Soa => Layout::Soa,
        LayoutName::Interleaved => Layout::Interleaved { lanes: solver.lanes() },
    };
    let input = |error: chromaflow::tridiag::TridiagError| CliError::input(format!("{case}: {error}"));
    let data = case.block_tridiagonal();
    let arrange = |from: &[f64], width: usize| {
        let mut values =
            chromaflow_device::Buffer::<P::Store>::zeroed(layout.len(shape, width).map_err(input)?);
        for (k, &v) in from.iter().enumerate() {
            let (row, entry) = (k / width, k % width);
            values[layout.index(shape, width, row / rows, row % rows, entry)] = P::Store::from_f64(v);
        }
        Ok::<_, CliError>(values)
    };
    let (m, q) = (shape.rank, shape.block());
    let (lower, diag) = (arrange(&data.lower, q)?, arrange(&data.middle, q)?);
    let (upper, rhs) = (arrange(&data.upper, q)?, arrange(&data.rhs, m)?);
    drop(data);
    let mut x = chromaflow_device::Buffer::<P::Store>::zeroed(rhs.len());
    let batch = Batch::new(shape, layout, &lower, &diag, &upper).map_err(input)?;
    let outcome = solver.solve(ctx.team(), &batch, &rhs, &mut x).map_err(input)?;
    if outcome != LineOutcome::Solved {
        return Err(CliError::input(format!("{case}: {outcome}")));
    }
    let check = batch.residual(&rhs, &x).map_err(input)?;
    let budget = std::env::var("PEER_BUDGET_S").ok().and_then(|s| s.parse().ok()).unwrap_or(args.budget);
    let timing = Timing::of(budget, 5, || {
        solver.solve(ctx.team(), &batch, &rhs, &mut x).expect("the same solve succeeded before");
    });
    let (n, m) = ((systems * rows) as f64, m as f64);
    Ok(Record {
        peer: format!("chromaflow-{}-{layout}-{}", args.method, P::NAME),
        case: case.to_string(),
        op: "btri_solve".to_owned(),
        cores: ctx.team().size(),
        timing,
        bytes: size_of::<P::Store>() as f64 * n * (3.0 * m * m + 2.0 * m),
        // Thomas: A C', the factors, B'^-1 C, and the vectors.
        flops: n * (2.0 * m.powi(3) + 2.0 / 3.0 * m.powi(3) + 2.0 * m.powi(3) + 6.0 * m * m),
        check,
    })
}
