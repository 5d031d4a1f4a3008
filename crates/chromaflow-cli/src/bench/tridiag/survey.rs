//! Every engine over ranks, lengths and numbers of systems: what `GpuEngine::choose` is made from.

use super::Args;
use super::gpu::{device, engines, internal, open, said, time_replays};
use crate::bench::report::{Figures, list};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use bytemuck::Pod;
use chromaflow::tridiag::cuda::{GpuBatch, GpuEngine, GpuOptions, GpuSolver};
use chromaflow::tridiag::{Double, Layout, LineOutcome, Precision, Real, Shape, Single};
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Stream};
use serde_json::{Value, json};
use std::fmt::Write;

const LENGTHS: [usize; 8] = [16, 32, 64, 128, 256, 512, 1024, 2048];
const SYSTEMS: [usize; 7] = [128, 512, 1024, 2048, 4096, 8192, 16384];
/// Larger batches are left out.
const BYTES: usize = 1_600_000_000;

/// Measures, and prints the fastest engine of each shape.
///
/// # Errors
/// Bad usage, no GPU, an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let stream = open(ctx)?.stream().map_err(internal)?;
    let ranks = list(args.ranks.as_deref().unwrap_or("1-8,16"))?;
    let (mut figures, mut all) = (Figures::default(), Vec::new());
    let mut text = "\n## Line systems by every engine\n\nThe fastest engine of each batch and its time in us, coefficients kept, data in the \
                    order that it reads; in brackets the next one.\n"
        .to_owned();
    for &rank in &ranks {
        survey::<Single>(&stream, rank, &mut text, &mut all)?;
        survey::<Double>(&stream, rank, &mut text, &mut all)?;
    }
    figures.add("survey", text, Value::from(all));
    print!("{}", figures.markdown());
    ctx.write_json(&figures.json())?;
    Ok(Done::AsAsked)
}

fn survey<P: Precision>(
    stream: &Stream,
    rank: usize,
    text: &mut String,
    all: &mut Vec<Value>,
) -> CliResult<()>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let _ = write!(text, "\nRank {rank}, {}:\n\n| rows |", P::NAME);
    for systems in SYSTEMS {
        let _ = write!(text, " {systems} systems |");
    }
    let _ = write!(text, "\n|{}\n", "---|".repeat(1 + SYSTEMS.len()));
    for rows in LENGTHS {
        let _ = write!(text, "| {rows} |");
        for systems in SYSTEMS {
            let shape = Shape::new(systems, rows, rank);
            let bytes = systems * rows * (3 * shape.block() + 2 * rank) * size_of::<P::Store>();
            if bytes > BYTES {
                text.push_str(" |");
                continue;
            }
            let mut times = shape_times::<P>(stream, shape)?;
            let named: Value = times.iter().map(|(e, us)| (e.name().to_owned(), json!(us))).collect();
            all.push(json!({ "rank": rank, "rows": rows, "systems": systems, "type": P::NAME, "us": named }));
            times.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((engine, us)) = times.first() {
                let _ = write!(text, " {engine} {us:.1}");
            }
            if let Some((engine, us)) = times.get(1) {
                let _ = write!(text, " ({engine} {us:.1})");
            }
            text.push_str(" |");
        }
        text.push('\n');
    }
    Ok(())
}

/// Engines with their times in us.
fn shape_times<P: Precision>(stream: &Stream, shape: Shape) -> CliResult<Vec<(GpuEngine, f64)>>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let mut times = Vec::new();
    for layout in [Layout::Soa, Layout::Aos] {
        let [lower, diag, upper, rhs] = arrays::<P::Store>(stream, shape, layout).map_err(internal)?;
        let mut x = DeviceBuffer::uninitialized(stream, rhs.len()).map_err(internal)?;
        let batch = GpuBatch { lower: &lower, diag: &diag, upper: &upper };
        let sizes = [size_of::<P::Store>(), size_of::<P::Sum>()];
        for engine in engines(shape, false, sizes).into_iter().filter(|e| e.layout() == layout) {
            let options = GpuOptions::from(engine);
            let mut solver = GpuSolver::<P>::new(stream, shape, layout, options).map_err(said)?;
            solver.solve(stream, &batch, &rhs, &mut x).map_err(said)?;
            if let trouble @ LineOutcome::Breakdown { .. } = solver.outcome(&batch, &rhs, &x).map_err(said)? {
                return Err(CliError::environment(format!("{shape:?} by {engine}: {trouble}")));
            }
            let timing = time_replays(stream, 4e-4, 3, 0.0, || {
                solver.solve(stream, &batch, &rhs, &mut x).map_err(device)
            })?;
            times.push((engine, 1e6 * timing.median));
        }
    }
    Ok(times)
}

/// A, B, C and f: the numbers of one line in every system, or of one row of all systems in every row; B is dominant.
fn arrays<S: Real + Pod>(
    stream: &Stream,
    shape: Shape,
    layout: Layout,
) -> Result<[DeviceBuffer<S>; 4], CudaError> {
    let Shape { systems, rows, rank } = shape;
    let soa = layout == Layout::Soa;
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / 16_777_216.0 - 0.5
    };
    let mut array = |width: usize, shift: f64| {
        let period = if soa { width * systems } else { width * rows };
        let values: Vec<S> = (0..period)
            .map(|k| {
                let entry = if soa { k / systems } else { k % width };
                let diagonal = width == rank * rank && entry % (rank + 1) == 0;
                S::from_f64(random() + if diagonal { shift } else { 0.0 })
            })
            .collect();
        let mut all = DeviceBuffer::uninitialized(stream, systems * rows * width)?;
        all.upload_part(0..period, &values)?;
        all.repeat(period)?;
        Ok(all)
    };
    let (q, m) = (shape.block(), rank);
    Ok([array(q, 0.0)?, array(q, 1.5 * m as f64 + 1.0)?, array(q, 0.0)?, array(m, 0.0)?])
}
