//! Every engine over ranks, lengths and numbers of systems: what `GpuEngine::choose` is made from.

use super::Args;
use crate::figures::{Figures, list};
use bytemuck::Pod;
use chromaflow::tridiag::cuda::{GpuBatch, GpuEngine, GpuOptions, GpuSolver};
use chromaflow::tridiag::{Double, Layout, LineOutcome, Precision, Real, Shape, Single};
use chromaflow_cli::bench::tridiag::gpu::{device, engines, said, time_replays};
use chromaflow_cli::context::Context;
use chromaflow_cli::error::{CliError, CliResult, Done};
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Stream};
use serde_json::{Value, json};
use std::fmt::Write;

const LENGTHS: [usize; 8] = [16, 32, 64, 128, 256, 512, 1024, 2048];
const SYSTEMS: [usize; 8] = [128, 256, 512, 1024, 2048, 4096, 8192, 16384];
/// Of higher ranks one engine alone takes batches.
const LAST_CHOICE: usize = 8;
/// Larger batches are left out.
const BYTES: usize = 1_600_000_000;

/// Measures, prints the fastest engine of each shape, and writes what the library chooses by.
///
/// # Errors
/// Bad usage, no GPU, an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let stream = ctx.open_gpu()?.stream().map_err(CliError::device)?;
    let ranks = list(args.ranks.as_deref().unwrap_or("1-8,16"))?;
    let (mut figures, mut all) = (Figures::default(), Vec::new());
    let mut text = "\n## Line systems by every engine\n\nThe fastest engine of each batch and its time in us, coefficients kept, data in the \
                    order that it reads; in brackets the next one.\n"
        .to_owned();
    let mut choices =
        "# The fastest engine: rank, type of sums, order of the data; groups for 16, 32 .. 2048 rows, in each a letter\n\
                       # for 128, 256 .. 16384 systems. Written by `chromaflow-papers tridiag --survey --choices FILE`.\n"
            .to_owned();
    for &rank in &ranks {
        for part in [survey::<Single>(&stream, rank)?, survey::<Double>(&stream, rank)?] {
            part.describe(&mut text);
            if rank <= LAST_CHOICE {
                part.choose(&mut choices);
            }
            all.extend(part.numbers());
        }
    }
    figures.add("survey", text, Value::from(all));
    print!("{}", figures.markdown());
    if let Some(path) = &args.choices {
        std::fs::write(path, choices)
            .map_err(|e| CliError::environment(format!("cannot write {}: {e}", path.display())))?;
    }
    ctx.write_json(&figures.json())?;
    Ok(Done::Success)
}

/// An engine, the order of the data, us.
type Time = (GpuEngine, Layout, f64);

/// The times of one rank and type, by rows and systems; none where a batch is too large.
struct Part {
    rank: usize,
    name: &'static str,
    times: Vec<Vec<Vec<Time>>>,
}

/// Times from the least, of data in an order, or (None) in the one that an engine reads.
fn sorted(times: &[Time], layout: Option<Layout>) -> Vec<Time> {
    let mut some: Vec<Time> =
        times.iter().copied().filter(|t| t.1 == layout.unwrap_or_else(|| t.0.layout())).collect();
    some.sort_unstable_by(|a, b| a.2.total_cmp(&b.2));
    some
}

impl Part {
    fn describe(&self, text: &mut String) {
        let _ = write!(text, "\nRank {}, {}:\n\n| rows |", self.rank, self.name);
        for systems in SYSTEMS {
            let _ = write!(text, " {systems} systems |");
        }
        let _ = write!(text, "\n|{}\n", "---|".repeat(1 + SYSTEMS.len()));
        for (rows, line) in LENGTHS.iter().zip(&self.times) {
            let _ = write!(text, "| {rows} |");
            for times in line {
                let native = sorted(times, None);
                if let Some((engine, _, us)) = native.first() {
                    let _ = write!(text, " {engine} {us:.1}");
                }
                if let Some((engine, _, us)) = native.get(1) {
                    let _ = write!(text, " ({engine} {us:.1})");
                }
                text.push_str(" |");
            }
            text.push('\n');
        }
    }

    fn choose(&self, text: &mut String) {
        for (order, layout) in [("any", None), ("aos", Some(Layout::Aos)), ("soa", Some(Layout::Soa))] {
            let _ = write!(text, "{} {} {order}", self.rank, self.name);
            for line in &self.times {
                text.push(' ');
                // Batches that are too large get what the largest before them got.
                let mut code = GpuEngine::Thomas.code();
                for times in line {
                    code = sorted(times, layout).first().map_or(code, |t| t.0.code());
                    text.push(code);
                }
            }
            text.push('\n');
        }
    }

    fn numbers(&self) -> impl Iterator<Item = Value> {
        let cells = LENGTHS.iter().zip(&self.times).flat_map(|(rows, line)| {
            SYSTEMS.iter().zip(line).map(move |(systems, times)| (*rows, *systems, times))
        });
        cells.filter(|cell| !cell.2.is_empty()).map(|(rows, systems, times)| {
            let us = |layout: Layout| -> Value {
                let some = times.iter().filter(|t| t.1 == layout);
                some.map(|t| (t.0.name().to_owned(), json!((10.0 * t.2).round() / 10.0))).collect()
            };
            json!({
                "rank": self.rank, "type": self.name, "rows": rows, "systems": systems,
                "aos_us": us(Layout::Aos), "soa_us": us(Layout::Soa),
            })
        })
    }
}

fn survey<P: Precision>(stream: &Stream, rank: usize) -> CliResult<Part>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let mut times = Vec::new();
    for rows in LENGTHS {
        let mut line = Vec::new();
        for systems in SYSTEMS {
            let shape = Shape::new(systems, rows, rank);
            let bytes = systems * rows * (3 * shape.block() + 2 * rank) * size_of::<P::Store>();
            line.push(if bytes > BYTES { Vec::new() } else { shape_times::<P>(stream, shape)? });
        }
        times.push(line);
    }
    Ok(Part { rank, name: P::NAME, times })
}

fn shape_times<P: Precision>(stream: &Stream, shape: Shape) -> CliResult<Vec<Time>>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let mut times = Vec::new();
    for layout in [Layout::Soa, Layout::Aos] {
        let [lower, diag, upper, rhs] =
            arrays::<P::Store>(stream, shape, layout).map_err(CliError::device)?;
        let mut x = DeviceBuffer::uninitialized(stream, rhs.len()).map_err(CliError::device)?;
        let batch = GpuBatch { lower: &lower, diag: &diag, upper: &upper };
        for engine in engines(shape, false, [size_of::<P::Store>(), size_of::<P::Sum>()]) {
            let options = GpuOptions::from(engine);
            let mut solver = GpuSolver::<P>::new(stream, shape, layout, options).map_err(said)?;
            solver.solve(stream, &batch, &rhs, &mut x).map_err(said)?;
            if let trouble @ LineOutcome::Breakdown { .. } = solver.outcome(&batch, &rhs, &x).map_err(said)? {
                return Err(CliError::environment(format!("{shape:?} by {engine}: {trouble}")));
            }
            let timing = time_replays(stream, 4e-4, 3, 0.0, || {
                solver.solve(stream, &batch, &rhs, &mut x).map_err(device)
            })?;
            times.push((engine, layout, 1e6 * timing.median));
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
