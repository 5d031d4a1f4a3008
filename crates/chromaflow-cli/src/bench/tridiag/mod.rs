//! `chromaflow bench tridiag`: batches of block tridiagonal systems.

mod cpu;
pub mod gpu;
mod library;

use super::engine::Engine;
use super::timing::{Record, Timing, budget};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::gallery::{Case, Kind};
use chromaflow::tridiag::{Double, Layout, Mixed, Precision, Real, Shape, Single, TridiagError};
use chromaflow_device::Buffer;

/// Arguments of `chromaflow bench tridiag`.
#[derive(clap::Args)]
pub struct Args {
    /// Problem: btri:NSYS,NROW:M; may be given several times
    #[arg(long, value_name = "CASE")]
    case: Vec<Case>,
    /// The same, as plain arguments
    #[arg(value_name = "CASE", conflicts_with = "case", required_unless_present = "case")]
    positional: Vec<Case>,
    /// Who solves; several by commas [default: cpu, with --backend cuda cuda]
    #[arg(long, value_delimiter = ',', value_parser = Engine::one_of(&ENGINES))]
    engine: Vec<Engine>,
    /// auto, thomas, cr, pcr, cr-pcr (or hybrid) or pcr-thomas; on a GPU auto, thomas, thomas-scalar, cr, pcr, warp, chunks,
    /// hybrid (warp for scalars, chunks for blocks) or all (each that takes the case)
    #[arg(long, default_value = "auto")]
    method: String,
    /// Order of the data: aos (system by system), soa (system index fastest) or interleaved (by the vector's lanes) [default: as the
    /// method reads them]
    #[arg(long)]
    layout: Option<LayoutName>,
    /// What is stored, and summed in: f32, f64 or mixed (f32 stored, f64 sums)
    #[arg(long, default_value = "f64")]
    scalar: Scalar,
    /// The ends of each line are coupled
    #[arg(long)]
    periodic: bool,
    /// Factors once and solves for N right-hand sides at a time
    #[arg(long, value_name = "N", conflicts_with = "method")]
    factored: Option<usize>,
    /// The GPU may overwrite the coefficients
    #[arg(long)]
    destroy: bool,
    /// Seconds for each measurement
    #[arg(long, value_name = "S", default_value_t = 0.4)]
    budget: f64,
}

/// The engines of this benchmark; the library's is cuSPARSE's gtsv2StridedBatch and gtsvInterleavedBatch, for scalar systems.
const ENGINES: [Engine; 3] = [Engine::Cpu, Engine::Cuda, Engine::Library];

#[derive(Clone, Copy, clap::ValueEnum)]
enum LayoutName {
    Aos,
    Soa,
    Interleaved,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scalar {
    F32,
    F64,
    Mixed,
}

/// Measures factor and solve together, inputs kept, and prints RES lines:
/// `RES,peer,"case",btri_solve,cores,median_ms,min_ms,p90_ms,repeats,bytes,flops,check,cpu_ms`, with the largest residual
/// as check. With `--factored` two: `btri_factor` and `btri_apply`.
///
/// # Errors
/// Bad usage, no GPU where one is asked for, an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let engines = Engine::chosen(&args.engine, ctx)?;
    if args.destroy && !engines.contains(&Engine::Cuda) {
        return Err(CliError::input(
            "--destroy goes with engine cuda: the CPU always keeps the coefficients",
        ));
    }
    let mut all = Vec::new();
    for case in args.case.iter().chain(&args.positional) {
        if case.kind != Kind::BlockTridiagonal {
            return Err(CliError::input(format!(
                "{case} is no batch of line systems: expected btri:NSYS,NROW:M"
            )));
        }
        for &engine in &engines {
            let records = match args.scalar {
                Scalar::F32 => measure::<Single>(engine, case, args, ctx),
                Scalar::F64 => measure::<Double>(engine, case, args, ctx),
                Scalar::Mixed => measure::<Mixed>(engine, case, args, ctx),
            }?;
            for record in records {
                println!("{record}");
                all.push(record.json());
            }
        }
    }
    ctx.write_json(&serde_json::json!({ "records": all }))?;
    Ok(Done::Success)
}

fn measure<P: Precision>(engine: Engine, case: &Case, args: &Args, ctx: &Context) -> CliResult<Vec<Record>>
where
    P::Store: bytemuck::Pod,
    P::Sum: bytemuck::Pod,
{
    match engine {
        Engine::Cuda => gpu::measure::<P>(case, args, ctx),
        Engine::Library => library::measure(case, args, ctx),
        _ => cpu::measure::<P>(case, args, ctx),
    }
}

/// A batch in host memory.
struct Data<S> {
    shape: Shape,
    layout: Layout,
    lower: Buffer<S>,
    diag: Buffer<S>,
    upper: Buffer<S>,
    rhs: Buffer<S>,
}

/// Misuse of the library, said with the case.
fn bad_input(case: &Case) -> impl Fn(TridiagError) -> CliError + Copy + '_ {
    move |error| CliError::input(format!("{case}: {error}"))
}

impl<S: Real> Data<S> {
    /// The arrays of a case, with the right-hand side `columns` times.
    fn new(case: &Case, layout: Layout, columns: usize) -> CliResult<Self> {
        let [systems, rows, _] = case.dims;
        let shape = Shape::new(systems, rows, case.nb);
        let data = case.block_tridiagonal();
        let arrange = |from: &[f64], width: usize, times: usize| {
            let len = layout.len(shape, width * times).map_err(bad_input(case))?;
            let mut values = Buffer::<S>::zeroed(len);
            for (k, &v) in from.iter().enumerate() {
                let (row, entry) = (k / width, k % width);
                for time in 0..times {
                    let at = layout.index(shape, width * times, row / rows, row % rows, time * width + entry);
                    values[at] = S::from_f64(v);
                }
            }
            Ok::<_, CliError>(values)
        };
        let (m, q) = (shape.rank, shape.block());
        Ok(Self {
            shape,
            layout,
            lower: arrange(&data.lower, q, 1)?,
            diag: arrange(&data.middle, q, 1)?,
            upper: arrange(&data.upper, q, 1)?,
            rhs: arrange(&data.rhs, m, columns)?,
        })
    }
}

/// A result line; for `columns` right-hand sides with factors at hand, or (0) for a factorization alone.
fn record<P: Precision>(
    who: String,
    case: &Case,
    op: &str,
    columns: Option<usize>,
    (cores, timing, check): (usize, Timing, f64),
) -> Record {
    let (n, m) = ((case.dims[0] * case.dims[1]) as f64, case.nb as f64);
    let (store, sum) = (size_of::<P::Store>() as f64, size_of::<P::Sum>() as f64);
    let elimination = 2.0 * m.powi(3) + 2.0 / 3.0 * m.powi(3) + 2.0 * m.powi(3);
    let (bytes, flops) = match columns {
        None => (store * (3.0 * m * m + 2.0 * m), elimination + 6.0 * m * m),
        Some(0) => ((store + sum) * 3.0 * m * m, elimination),
        Some(columns) => {
            let columns = columns as f64;
            (sum * 3.0 * m * m + store * 2.0 * m * columns, 6.0 * m * m * columns)
        }
    };
    Record {
        peer: who,
        case: case.to_string(),
        op: op.to_owned(),
        cores,
        timing,
        bytes: n * bytes,
        flops: n * flops,
        check,
    }
}

/// The residual of the first of `columns` equal solutions.
fn residual<S: Real>(case: &Case, data: &Data<S>, periodic: bool, x: &[S], columns: usize) -> CliResult<f64> {
    let batch =
        chromaflow::tridiag::Batch::new(data.shape, data.layout, &data.lower, &data.diag, &data.upper)
            .map_err(bad_input(case))?;
    let batch = if periodic { batch.periodic() } else { batch };
    let (shape, m) = (data.shape, data.shape.rank);
    let first = |values: &[S]| {
        let mut out = vec![S::from_f64(0.0); values.len() / columns];
        for s in 0..shape.systems {
            for k in 0..shape.rows * m {
                let (i, r) = (k / m, k % m);
                out[data.layout.index(shape, m, s, i, r)] =
                    values[data.layout.index(shape, m * columns, s, i, r)];
            }
        }
        out
    };
    batch.residual(&first(&data.rhs), &first(x)).map_err(bad_input(case))
}
