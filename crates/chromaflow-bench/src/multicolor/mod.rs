//! `chromaflow-papers multicolor`: the tables and figures of the papers on multicolor sweeps.

mod flow;
mod library;
mod measure;
mod pictures;
mod published;
mod report;

use crate::figures::{list, make_folder};
use chromaflow::gallery::banded_lattice;
use chromaflow::gpu::{Storage, Vectors};
use chromaflow::order::{ColoringMethod, VertexOrder};
use chromaflow::sparse::cuda::Tile;
use chromaflow_cli::bench::engine::Engine;
use chromaflow_cli::context::Context;
use chromaflow_cli::error::{CliError, CliResult, Done};
use chromaflow_cli::plot;
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use flow::{Figure5, Figure7, Flow};
use measure::{Bench, Problem};
use published::TABLE_II;
use report::{Ceilings, Entry, Report};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `chromaflow-papers multicolor`.
#[derive(clap::Args)]
pub struct Args {
    /// Table 3 or 4 of the multicolor paper: sweeps for 0.1 to 1 million rows
    #[arg(long, value_name = "N")]
    table: Vec<u32>,
    /// Figure 14 of the multicolor paper: 6,309 rows, block sizes 1 to 64
    #[arg(long, value_name = "N")]
    figure: Vec<u32>,
    /// Figure 3 of the mixed-precision paper: speedup of dsh over ds by block size; with --case also 5: residuals of one
    /// linear system by policy, and 7: where the time of a run goes
    #[arg(long, value_name = "N")]
    dsh_figure: Vec<u32>,
    /// The Jacobian of this flow case, marched on the device (and its refinements, --refine)
    #[arg(long, value_name = "CASE")]
    case: Option<PathBuf>,
    /// Times that the case's mesh is refined: 0 or 0,1
    #[arg(long, value_name = "LIST", default_value = "0")]
    refine: String,
    /// Iterations of the case before its Jacobian is taken
    #[arg(long, default_value_t = 50)]
    iterations: usize,
    /// Rows of a matrix of Table II, instead of a table
    #[arg(long, value_name = "ROWS")]
    rows: Vec<usize>,
    /// Block sizes: 5 or 1-10 or 1,2,5 [default: those of the table]
    #[arg(long, value_name = "LIST")]
    nb: Option<String>,
    /// Kind of matrix
    #[arg(long, value_enum, default_value = "lattice")]
    matrix: Matrix,
    /// Colors of the rows
    #[arg(long, value_enum, default_value = "greedy")]
    coloring: Colors,
    /// Policies
    #[arg(long, value_name = "LIST", default_value = "ds,dsh")]
    policies: String,
    /// What to measure: our kernels, the paper's baseline of library calls color by color, or both side by side
    #[arg(long, value_delimiter = ',', default_value = "cuda,library",
          value_parser = Engine::one_of(&[Engine::Cuda, Engine::Library]))]
    engine: Vec<Engine>,
    /// Try all tiles instead of the chosen one, and print them by time
    #[arg(long)]
    tune: bool,
    /// Seconds to spend on one point while tuning
    #[arg(long, default_value_t = 20.0)]
    tune_seconds: f64,
    /// Tiles to print while tuning
    #[arg(long, default_value_t = 6)]
    tune_best: usize,
    /// While tuning, only tiles with so many groups of lanes that share a row: they all add in one order
    #[arg(long, value_name = "N")]
    tune_split: Option<usize>,
    /// Repeats of a measurement, the median of which counts
    #[arg(long, default_value_t = 11)]
    repeats: usize,
    /// Seed of the random values
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the tables as Markdown to FILE
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Draw time over block size, rooflines and figures into this folder, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Where the matrices of Table II come from: same rows and blocks, other neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Matrix {
    /// A box lattice with random diagonals, in its own banded order
    Lattice,
    /// Scattered points with their nearest neighbors, ordered by reverse Cuthill-McKee
    Scattered,
}

/// How rows get their colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Colors {
    /// Greedy in the order of the rows, as the flow solver has it
    Greedy,
    /// Fewer: smallest last, and one pass over the colors
    Fewest,
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
    for figure in &args.dsh_figure {
        match figure {
            3 => points.push((394_745, sizes((1..=10).collect())?)),
            5 | 7 if args.case.is_some() => {}
            5 | 7 => {
                return Err(CliError::input(format!("--dsh-figure {figure} needs a flow: give --case CASE")));
            }
            other => {
                return Err(CliError::input(format!("there is no --dsh-figure {other}: expected 3, 5 or 7")));
            }
        }
    }
    for &rows in &args.rows {
        points.push((rows, sizes(vec![5])?));
    }
    let mut known = Vec::new();
    points.retain(|p| {
        !known.contains(p) && {
            known.push(p.clone());
            true
        }
    });
    if points.is_empty() && args.case.is_none() {
        return Err(CliError::input(
            "nothing to do: give --table 3, --table 4, --figure 14, --dsh-figure 3, --rows N or --case CASE",
        ));
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
    let stream = ctx.open_gpu()?.stream().map_err(CliError::device)?;
    let mut report = Report::new(stream.gpu().facts().clone(), ceilings(&stream)?);
    for (rows, sizes) in points {
        let (name, problem) = generated(args, rows, ctx)?;
        for nb in sizes {
            let bench = || Bench::new(&stream, &problem, nb, args.seed * 100 + nb as u64, args.repeats);
            if args.tune {
                tune(args, bench()?, &problem, &storages)?;
            } else {
                let entry = measure(args, &name, bench()?, &problem, &storages)?;
                if ctx.verbose() {
                    println!("{}", entry.line());
                }
                report.entries.push(entry);
            }
        }
    }
    if let Some(case) = &args.case {
        for refine in levels(&args.refine)? {
            flow(args, case, refine, &stream, &storages, &mut report, ctx)?;
        }
    }
    if args.dsh_figure.contains(&3) {
        let figure = serde_json::json!({ "see": "entries of 394745 rows" });
        report.figures.add("dsh_figure_3", String::new(), figure);
    }
    if let Some(path) = &args.markdown {
        std::fs::write(path, report.markdown())
            .map_err(|e| CliError::environment(format!("cannot write {}: {e}", path.display())))?;
    }
    if let Some(folder) = &args.plots {
        draw(folder, &report)?;
    }
    ctx.write_json(&report.json())?;
    Ok(Done::Success)
}

/// A matrix of Table II.
fn generated(args: &Args, rows: usize, ctx: &Context) -> CliResult<(String, Problem)> {
    let Some(paper) = TABLE_II.iter().find(|m| m.rows == rows) else {
        let known: Vec<String> = TABLE_II.iter().map(|m| m.rows.to_string()).collect();
        let known = known.join(", ");
        return Err(CliError::input(format!("Table II has no matrix of {rows} rows: expected {known}")));
    };
    let start = Instant::now();
    let lattice = args.matrix == Matrix::Lattice;
    let (row_ptr, col_idx) =
        if lattice { banded_lattice(rows, paper.nnzb / 2, args.seed) } else { paper.pattern(1.0, args.seed) };
    let coloring = match args.coloring {
        Colors::Greedy => ColoringMethod::Greedy(VertexOrder::Natural),
        Colors::Fewest => ColoringMethod::Fewest,
    };
    let problem = Problem::new(row_ptr, col_idx, lattice, coloring)?;
    let name = if lattice { "random lattice" } else { "scattered points" };
    if ctx.verbose() {
        let (blocks, colors) = (problem.pattern.nnzb(), problem.batches.len());
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {rows} rows, {blocks} blocks, {colors} colors ({seconds:.1} s)");
    }
    Ok((format!("{name} of {rows} rows"), problem))
}

/// The matrix of a flow, and the figures that need one.
fn flow(
    args: &Args,
    case: &Path,
    refine: usize,
    stream: &Stream,
    storages: &[Storage],
    report: &mut Report,
    ctx: &Context,
) -> CliResult<()> {
    let mut flow = Flow::new(case, refine, "ds", stream, ctx)?;
    let ds = flow.march(args.iterations)?;
    let (problem, bench) = flow.system(stream, args.repeats)?;
    let name = flow.name.clone();
    drop(flow);
    if args.tune {
        return tune(args, bench, &problem, storages);
    }
    if args.dsh_figure.contains(&5) {
        let figure = Figure5::new(name.clone(), &problem, &bench, args.engine.contains(&Engine::Library))?;
        report.add("dsh_figure_5", figure.markdown(), figure.json(), figure.picture());
    }
    let entry = measure(args, &name, bench, &problem, storages)?;
    if ctx.verbose() {
        println!("{}", entry.line());
    }
    let library = entry.library_ms();
    report.entries.push(entry);
    if args.dsh_figure.contains(&7) {
        let mut flow = Flow::new(case, refine, "dsh", stream, ctx)?;
        let figure = Figure7::new(name, ds, flow.march(args.iterations)?, library);
        report.add("dsh_figure_7", figure.markdown(), figure.json(), figure.picture());
    }
    Ok(())
}

/// `0,1` as levels of refinement.
fn levels(text: &str) -> CliResult<Vec<usize>> {
    let bad = || CliError::input(format!("--refine {text}: expected levels from 0 to 4 such as 0 or 0,1"));
    let level = |t: &str| t.trim().parse().ok().filter(|&l: &usize| l <= 4).ok_or_else(bad);
    text.split(',').map(level).collect()
}

/// All pictures of a report.
fn draw(folder: &Path, report: &Report) -> CliResult<()> {
    make_folder(folder)?;
    let mut matrices: Vec<&str> = report.entries.iter().map(|e| e.matrix.as_str()).collect();
    matrices.dedup();
    for matrix in matrices {
        let entries: Vec<&Entry> = report.entries.iter().filter(|e| e.matrix == matrix).collect();
        let rows = entries[0].rows;
        if entries.len() > 1 {
            plot::draw(&folder.join(format!("time_{rows}")), &pictures::time(&entries, &report.ceilings))?;
        }
        plot::draw(
            &folder.join(format!("roofline_{rows}")),
            &pictures::roofline(&entries, &report.ceilings),
        )?;
        if report.figures.has("dsh_figure_3") && rows == 394_745 {
            plot::draw(&folder.join("dsh_figure_3"), &pictures::speedup(&entries))?;
        }
    }
    report.figures.draw(folder)
}

/// Copy and read bandwidth of this device, now.
fn ceilings(stream: &Stream) -> CliResult<Ceilings> {
    let copy = stream.gpu().copy_bandwidth(2 << 30, 7).map_err(CliError::device)?;
    let data = DeviceBuffer::<f32>::zeroed(stream, 1 << 30).map_err(CliError::device)?;
    let vectors = Vectors::new(stream, Storage::F32).map_err(CliError::device)?;
    let read = vectors.read_bandwidth(&data, 7).map_err(CliError::device)?;
    Ok(Ceilings { copy, read })
}

fn measure(
    args: &Args,
    name: &str,
    mut bench: Bench,
    problem: &Problem,
    storages: &[Storage],
) -> CliResult<Entry> {
    let nb = bench.jac.nb();
    let mut reference = bench.reference()?;
    let with_library = args.engine.contains(&Engine::Library);
    let library = if with_library { Some(bench.library(&reference)?) } else { None };
    let mut ours = Vec::new();
    if !args.engine.contains(&Engine::Cuda) {
        return Ok(Entry::new(name, problem, nb, library, ours));
    }
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
    Ok(Entry::new(name, problem, nb, library, ours))
}

/// Every candidate tile, best first.
fn tune(args: &Args, mut bench: Bench, problem: &Problem, storages: &[Storage]) -> CliResult<()> {
    let nb = bench.jac.nb();
    let multiprocessors = bench.jac.stream().gpu().facts().multiprocessors;
    let mut reference = bench.reference()?;
    let largest = problem.batches.iter().map(|b| b.len()).max().unwrap_or(0);
    for &storage in storages {
        if storage == Storage::F16 {
            bench.narrow()?;
            reference = bench.reference()?;
        }
        let start = Instant::now();
        let mut found = Vec::new();
        let mut candidates = Tile::candidates(nb, storage, largest / multiprocessors);
        if let Some(split) = args.tune_split {
            candidates.retain(|tile| matches!(tile, Tile::Sliced(s) if s.split == split));
        }
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
