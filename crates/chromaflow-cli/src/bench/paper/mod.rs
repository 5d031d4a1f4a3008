//! `chromaflow bench paper`: the tables and figures of the papers, measured on this machine.

mod library;
mod measure;
mod published;
mod report;

use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::gpu::{Storage, Vectors};
use chromaflow::relax::Tile;
use chromaflow_device::cuda::{DeviceBuffer, Gpu, Stream};
use chromaflow_testkit::TABLE_II;
use measure::{Bench, Problem, internal};
use report::{Ceilings, Entry, Report};
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `chromaflow bench paper`.
#[derive(clap::Args)]
pub struct Args {
    /// Table 3 or 4 of the multicolor paper: sweeps for 0.1 to 1 million rows
    #[arg(long, value_name = "N")]
    table: Vec<u32>,
    /// Figure 14 of the multicolor paper: 6,309 rows, block sizes 1 to 64
    #[arg(long, value_name = "N")]
    figure: Vec<u32>,
    /// Rows of a matrix of Table II, instead of a table
    #[arg(long, value_name = "ROWS")]
    rows: Vec<usize>,
    /// Block sizes: 5 or 1-10 or 1,2,5 [default: those of the table]
    #[arg(long, value_name = "LIST")]
    nb: Option<String>,
    /// Kind of matrix
    #[arg(long, value_enum, default_value = "lattice")]
    matrix: Matrix,
    /// Policies
    #[arg(long, value_name = "LIST", default_value = "ds,dsh")]
    policies: String,
    /// Leave the library engine out
    #[arg(long)]
    no_library: bool,
    /// Try all tiles instead of the chosen one, and print them by time
    #[arg(long)]
    tune: bool,
    /// Seconds to spend on one point while tuning
    #[arg(long, default_value_t = 20.0)]
    tune_seconds: f64,
    /// Tiles to print while tuning
    #[arg(long, default_value_t = 6)]
    tune_best: usize,
    /// Repeats of a measurement, the median of which counts
    #[arg(long, default_value_t = 11)]
    repeats: usize,
    /// Seed of the random values
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the tables as Markdown to FILE
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Where the matrices of Table II come from: same rows and blocks, other neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Matrix {
    /// A box lattice with random diagonals, in its own banded order
    Lattice,
    /// Scattered points with their nearest neighbors, ordered by reverse Cuthill-McKee
    Scattered,
}

/// `1-4,8` as numbers.
fn list(text: &str) -> CliResult<Vec<usize>> {
    let bad = || CliError::input(format!("`{text}`: expected numbers such as 5, 1-10 or 1,2,5"));
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |s: &str| s.trim().parse::<usize>().map_err(|_| bad());
        numbers.extend(number(first)?..=number(last)?);
    }
    if numbers.is_empty() || numbers.iter().any(|nb| !(1..=chromaflow::MAX_NB).contains(nb)) {
        return Err(bad());
    }
    Ok(numbers)
}

/// Rows and block sizes of what was asked for.
fn points(args: &Args) -> CliResult<Vec<(usize, Vec<usize>)>> {
    let sizes = |default: Vec<usize>| args.nb.as_deref().map_or(Ok(default), list);
    let mut points = Vec::new();
    for table in &args.table {
        match table {
            3 => {
                for rows in [103_178, 204_983, 394_745] {
                    points.push((rows, sizes((1..=10).collect())?));
                }
            }
            4 => {
                for rows in [800_322, 983_633] {
                    points.push((rows, sizes((1..=6).collect())?));
                }
            }
            other => return Err(CliError::input(format!("there is no --table {other}: expected 3 or 4"))),
        }
    }
    for figure in &args.figure {
        if *figure != 14 {
            return Err(CliError::input(format!("there is no --figure {figure}: expected 14")));
        }
        points.push((6_309, sizes((1..=64).collect())?));
    }
    for &rows in &args.rows {
        points.push((rows, sizes(vec![5])?));
    }
    if points.is_empty() {
        return Err(CliError::input("nothing to do: give --table 3, --table 4, --figure 14 or --rows N"));
    }
    Ok(points)
}

fn storages(text: &str) -> CliResult<Vec<Storage>> {
    let find = |name: &str| {
        Storage::ALL
            .into_iter()
            .find(|s| s.name() == name.trim())
            .ok_or_else(|| CliError::input(format!("unknown policy `{name}`: expected d, ds, dsh or bf16")))
    };
    text.split(',').map(find).collect()
}

/// Measures what was asked for.
///
/// # Errors
/// Bad usage; no GPU or no compiler; a kernel that differs from the reference.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let (points, storages) = (points(args)?, storages(&args.policies)?);
    if storages.contains(&Storage::F64) {
        return Err(CliError::input("the papers have policies ds and dsh (and bf16 for research)"));
    }
    let stream = Gpu::open(0).and_then(|gpu| gpu.stream()).map_err(internal)?;
    let mut report = Report::new(stream.gpu().facts().clone(), ceilings(&stream)?);
    for (rows, sizes) in points {
        let Some(paper) = TABLE_II.iter().find(|m| m.rows == rows) else {
            let known: Vec<String> = TABLE_II.iter().map(|m| m.rows.to_string()).collect();
            return Err(CliError::input(format!(
                "Table II has no matrix of {rows} rows: expected {}",
                known.join(", ")
            )));
        };
        let start = Instant::now();
        let lattice = args.matrix == Matrix::Lattice;
        let (row_ptr, col_idx) = if lattice {
            chromaflow_testkit::banded_lattice(rows, paper.nnzb / 2, args.seed)
        } else {
            paper.pattern(1.0, args.seed)
        };
        let problem = Problem::new(row_ptr, col_idx, lattice)?;
        if ctx.talk() {
            let (blocks, colors) = (problem.pattern.nnzb(), problem.batches.len());
            println!(
                "{rows} rows, {blocks} blocks, {colors} colors ({:.1} s)",
                start.elapsed().as_secs_f64()
            );
        }
        for nb in sizes {
            if args.tune {
                tune(args, &stream, &problem, nb, &storages)?;
            } else {
                let entry = measure(args, &stream, &problem, nb, &storages)?;
                if ctx.talk() {
                    println!("{}", entry.line());
                }
                report.entries.push(entry);
            }
        }
    }
    if let Some(path) = &args.markdown {
        std::fs::write(path, report.markdown())
            .map_err(|e| CliError::environment(format!("cannot write {}: {e}", path.display())))?;
    }
    ctx.write_json(&report.json())?;
    Ok(Done::AsAsked)
}

/// Copy and read bandwidth of this device, now.
fn ceilings(stream: &Stream) -> CliResult<Ceilings> {
    let copy = stream.gpu().copy_bandwidth(2 << 30, 7).map_err(internal)?;
    let data = DeviceBuffer::<f32>::zeroed(stream, 1 << 30).map_err(internal)?;
    let vectors = Vectors::new(stream, Storage::F32).map_err(internal)?;
    let read = vectors.read_bandwidth(&data, 7).map_err(internal)?;
    Ok(Ceilings { copy, read })
}

fn measure(
    args: &Args,
    stream: &Stream,
    problem: &Problem,
    nb: usize,
    storages: &[Storage],
) -> CliResult<Entry> {
    let mut bench = Bench::new(stream, problem, nb, args.seed * 100 + nb as u64, args.repeats)?;
    let mut reference = bench.reference()?;
    let library = if args.no_library { None } else { Some(bench.library(&reference)?) };
    let mut ours = Vec::new();
    let (wide, half): (Vec<Storage>, Vec<Storage>) = storages.iter().partition(|s| **s != Storage::F16);
    for storage in wide {
        ours.push(bench.ours(storage, None, &reference)?);
    }
    for storage in half {
        // The kernels must agree with the reference on the same quantized values.
        bench.narrow()?;
        reference = bench.reference()?;
        ours.push(bench.ours(storage, None, &reference)?);
    }
    Ok(Entry::new(problem, nb, library, ours))
}

/// Every candidate tile, best first.
fn tune(args: &Args, stream: &Stream, problem: &Problem, nb: usize, storages: &[Storage]) -> CliResult<()> {
    let mut bench = Bench::new(stream, problem, nb, args.seed * 100 + nb as u64, args.repeats)?;
    let mut reference = bench.reference()?;
    let largest = problem.batches.iter().map(|b| b.len()).max().unwrap_or(0);
    for &storage in storages {
        if storage == Storage::F16 {
            bench.narrow()?;
            reference = bench.reference()?;
        }
        let start = Instant::now();
        let mut found = Vec::new();
        let candidates = Tile::candidates(nb, storage, largest / stream.gpu().facts().multiprocessors);
        let total = candidates.len();
        for tile in candidates {
            if start.elapsed().as_secs_f64() > args.tune_seconds {
                break;
            }
            match bench.ours(storage, Some(tile), &reference) {
                Ok(measured) => found.push(measured),
                Err(error) => println!("{tile:?}: {error}"),
            }
        }
        println!(
            "nb {nb} {}: {} of {total} tiles in {:.1} s",
            storage.name(),
            found.len(),
            start.elapsed().as_secs_f64()
        );
        let chosen = found.first().map(|m| m.tile);
        found.sort_by(|a, b| a.sweep_ms.total_cmp(&b.sweep_ms));
        for (i, m) in found.iter().enumerate() {
            if i < args.tune_best || Some(m.tile) == chosen {
                println!("  {:8.2} us {:6.0} GB/s {:?}", m.sweep_ms * 1e3, m.rate(), m.tile);
            }
        }
    }
    Ok(())
}
