//! Figures 1 and 2 and Tables 1 and 2 of Stone et al. (2011) on this machine, beside what their text gives.

use super::Args;
use crate::figures::Figures;
use bytemuck::Pod;
use chromaflow::tridiag::cuda::{GpuEngine, GpuOptions, HostSolver, Transfer};
use chromaflow::tridiag::{
    Batch, Double, Layout, Method, Operations, Options, Precision, Real, Shape, Single, Solver, TridiagError,
};
use chromaflow_cli::bench::timing::{Timing, budget};
use chromaflow_cli::bench::tridiag::gpu::{OnDevice, engine, said, solve};
use chromaflow_cli::context::Context;
use chromaflow_cli::error::{CliError, CliResult, Done};
use chromaflow_cli::plot::{Picture, Series};
use chromaflow_device::Team;
use chromaflow_device::cuda::Stream;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Instant;

/// Systems of the paper's Figures 1 and 2.
const SYSTEMS: usize = 512;

/// Table 2 of the paper: edge of the grid, precision, ms by the CPU, with one synchronous transfer, asynchronous transfers,
/// asynchronous transfers and kernels. Its text has no time for two of them at 32, none for the second at 128 and, for want of
/// shared memory, none at 128 in double precision.
const TABLE_2: [(usize, &str, [Option<f64>; 4]); 6] = [
    (32, "f32", [Some(32.0), Some(74.0), None, Some(56.0)]),
    (32, "f64", [Some(36.0), Some(115.0), None, Some(68.0)]),
    (64, "f32", [Some(245.0), Some(432.0), Some(543.0), Some(431.0)]),
    (64, "f64", [Some(310.0), Some(880.0), Some(864.0), Some(550.0)]),
    (128, "f32", [Some(2020.0), Some(5460.0), None, Some(3610.0)]),
    (128, "f64", [None; 4]),
];

/// Measures what was asked for, and prints it.
///
/// # Errors
/// Bad usage, no GPU, an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let mut figures = Figures::default();
    for &table in &args.table {
        match table {
            1 => counts(args, &mut figures)?,
            2 => transfers(args, ctx, &mut figures)?,
            other => return Err(CliError::input(format!("there is no --table {other}: expected 1 or 2"))),
        }
    }
    for &figure in &args.figure {
        match figure {
            1 => lengths(args, ctx, &mut figures)?,
            2 => layouts(args, ctx, &mut figures)?,
            other => return Err(CliError::input(format!("there is no --figure {other}: expected 1 or 2"))),
        }
    }
    print!("{}", figures.markdown());
    if let Some(folder) = &args.plots {
        figures.draw(folder)?;
    }
    ctx.write_json(&json!({ "figures": figures.json() }))?;
    Ok(Done::Success)
}

/// The lengths asked for, or these.
fn sizes(args: &Args, default: &[usize]) -> CliResult<Vec<usize>> {
    let Some(text) = &args.sizes else { return Ok(default.to_vec()) };
    let bad = || CliError::input(format!("--sizes {text}: expected lengths such as 16,32,64"));
    let numbers: Option<Vec<usize>> =
        text.split(',').map(|n| n.trim().parse().ok().filter(|n| (1..=100_000).contains(n))).collect();
    numbers.ok_or_else(bad)
}

/// The paper's formulas for lines of n rows, n a power of two: Thomas, CR, PCR.
fn formula(method: Method, n: usize) -> Operations {
    let steps = n.ilog2() as usize;
    match method {
        Method::CyclicReduction => {
            // Sums of n / 2^k, k = 1 .. log2 n, and to log2 n - 1 on the way back.
            let (forward, back) = (n - 1, n.saturating_sub(2));
            Operations { inverses: forward, products: 6 * forward, vectors: 2 * forward + 2 * back }
        }
        Method::ParallelCyclicReduction => {
            Operations { inverses: n * steps + n, products: 6 * n * steps, vectors: 2 * n * steps + n }
        }
        _ => Operations { inverses: n, products: 2 * n, vectors: n + (n - 1) },
    }
}

fn counts(args: &Args, figures: &mut Figures) -> CliResult<()> {
    let mut text = "\n## Table 1: operations of a line of n rows\n\nFactorizations of a block, products of two blocks, products of a block \
                    and a vector: counted while a line is solved, and by the paper's formulas. Rows at the ends lack a neighbour, which the \
                    formulas do not know; solving for the last separate row and for A f' are operations on vectors that they leave out. Work: \
                    2/3 m^3, 2 m^3, 2 m^2 each at rank 5, over that of Thomas.\n\n\
                    | n | method | C_inv | formula | C_mat | formula | C_vec | formula | work |\n|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut all = Vec::new();
    let methods = [Method::Thomas, Method::CyclicReduction, Method::ParallelCyclicReduction];
    for n in sizes(args, &[16, 32, 64, 128, 256, 512, 1024])? {
        let least = Method::Thomas.operations(n).flops(5);
        for method in methods {
            let (ours, paper) = (method.operations(n), formula(method, n));
            let work = ours.flops(5) / least;
            let _ = writeln!(
                text,
                "| {n} | {method} | {} | {} | {} | {} | {} | {} | {work:.2} |",
                ours.inverses, paper.inverses, ours.products, paper.products, ours.vectors, paper.vectors
            );
            let numbers = |o: Operations| json!([o.inverses, o.products, o.vectors]);
            all.push(json!({ "rows": n, "method": method.name(), "counted": numbers(ours), "formula": numbers(paper), "work": work }));
        }
    }
    figures.add("table_1", text, Value::from(all));
    Ok(())
}

/// The paper's test problem, u'' = e^x with u(0) = 0 and u(1) = 1 (its Eqs. 9 and 10), in each component of a block; system by
/// system.
struct Poisson<S> {
    shape: Shape,
    off: Vec<S>,
    diag: Vec<S>,
    rhs: Vec<S>,
}

impl<S: Real> Poisson<S> {
    fn new(shape: Shape) -> Self {
        let (n, m) = (shape.rows, shape.rank);
        let h = 1.0 / (n as f64 + 1.0);
        let block = |value: f64| -> Vec<S> {
            let one = (0..m * m).map(|e| S::from_f64(if e % (m + 1) == 0 { value } else { 0.0 }));
            one.collect::<Vec<_>>().repeat(shape.systems * n)
        };
        let line: Vec<S> = (0..n * m)
            .map(|k| {
                let i = k / m;
                let beyond = if i + 1 == n { 1.0 } else { 0.0 };
                S::from_f64(h * h * ((i as f64 + 1.0) * h).exp() - beyond)
            })
            .collect();
        Self { shape, off: block(1.0), diag: block(-2.0), rhs: line.repeat(shape.systems) }
    }

    fn batch(&self) -> CliResult<Batch<'_, S>> {
        Batch::new(self.shape, Layout::Aos, &self.off, &self.diag, &self.off)
            .map_err(|e: TridiagError| CliError::input(e.to_string()))
    }

    /// The largest difference to the exact solution.
    fn error(&self, x: &[S]) -> f64 {
        let (n, m) = (self.shape.rows, self.shape.rank);
        let exact = |k: usize| {
            let at = ((k / m % n) as f64 + 1.0) / (n as f64 + 1.0);
            at.exp() - 1.0 + (2.0 - std::f64::consts::E) * at
        };
        x.iter().enumerate().map(|(k, x)| (x.to_f64() - exact(k)).abs()).fold(0.0, f64::max)
    }
}

/// ms of a solve on the device with data system by system or (`soa`) with the system index fastest; None where the engine does
/// not take the shape.
fn on_device<P: Precision>(
    stream: &Stream,
    problem: &Poisson<P::Store>,
    method: &str,
    soa: bool,
    seconds: f64,
) -> CliResult<Option<(GpuEngine, f64, f64)>>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let shape = problem.shape;
    let layout = if soa { Layout::Soa } else { Layout::Aos };
    let arrange = |values: &[P::Store], width: usize| {
        let mut out = vec![P::Store::from_f64(0.0); values.len()];
        chromaflow::tridiag::convert(&Team::new(1), shape, width, Layout::Aos, values, layout, &mut out)
            .map(|()| out)
            .map_err(|e| CliError::input(e.to_string()))
    };
    let (off, diag) = (arrange(&problem.off, shape.block())?, arrange(&problem.diag, shape.block())?);
    let rhs = arrange(&problem.rhs, shape.rank)?;
    let mut data = OnDevice::new(stream, [&off, &diag, &off, &rhs])?;
    let mut engine = engine(method, shape)?;
    if engine == GpuEngine::Auto {
        engine = GpuEngine::choose(shape, Some(layout), false, size_of::<P::Sum>());
    }
    if !engine.takes(shape, false, [size_of::<P::Store>(), size_of::<P::Sum>()]) {
        return Ok(None);
    }
    let options = GpuOptions { engine, ..GpuOptions::default() };
    let timing = solve::<P>(stream, shape, layout, options, &mut data, seconds)?;
    let x = data.x.download().map_err(CliError::device)?;
    let mut back = vec![P::Store::from_f64(0.0); x.len()];
    chromaflow::tridiag::convert(&Team::new(1), shape, shape.rank, layout, &x, Layout::Aos, &mut back)
        .map_err(|e| CliError::input(e.to_string()))?;
    Ok(Some((engine, 1e3 * timing.median, problem.error(&back))))
}

/// ms of the transfers alone: all arrays to the device, the solution back.
fn bus<S: Pod + Real>(stream: &Stream, problem: &Poisson<S>) -> CliResult<f64> {
    let mut data = OnDevice::new(stream, [&problem.off, &problem.diag, &problem.off, &problem.rhs])?;
    let mut x = vec![S::from_f64(0.0); problem.rhs.len()];
    let mut times = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        data.lower.upload(&problem.off).map_err(CliError::device)?;
        data.diag.upload(&problem.diag).map_err(CliError::device)?;
        data.upper.upload(&problem.off).map_err(CliError::device)?;
        data.rhs.upload(&problem.rhs).map_err(CliError::device)?;
        data.x.download_into(&mut x).map_err(CliError::device)?;
        times.push(1e3 * start.elapsed().as_secs_f64());
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:.4}"))
}

fn lengths(args: &Args, ctx: &Context, figures: &mut Figures) -> CliResult<()> {
    let stream = ctx.open_gpu()?.stream().map_err(CliError::device)?;
    let seconds = budget(args.budget).min(0.1);
    let parts: [(usize, &str, &str, &[usize], &str); 2] = [
        (
            1,
            "figure_1a",
            "Line systems: 512 scalar ones, f32",
            &[16, 32, 64, 128, 256, 512, 1024],
            "the transfers are 70 % of all time and take about as long as Thomas on the CPU; CR and PCR differ little",
        ),
        (
            4,
            "figure_1b",
            "Line systems: 512 of rank 4, f32",
            &[16, 32, 64, 128],
            "the transfers are 48 % of CR's time at n = 128; without them CR takes about as long as Thomas on the CPU, and \
             PCR is ahead of it by 3 to 4",
        ),
    ];
    for (rank, name, title, default, said) in parts {
        let mut text = format!(
            "\n## Figure 1, rank {rank}: {SYSTEMS} Poisson problems, f32, ms\n\nThomas on {} threads with data in its cache; on the GPU \
             data resident. Bus: all arrays there and the solution back, unpinned. Bus share: of CR with transfers. The paper: \
             {said}.\n\n| n | CPU Thomas | CR | PCR | best | by | bus | CR + bus | bus share | error |\n\
             |---|---|---|---|---|---|---|---|---|---|\n",
            ctx.team().size()
        );
        let (mut all, mut series) = (Vec::new(), [const { Vec::new() }; 5]);
        for n in sizes(args, default)? {
            let problem = Poisson::<f32>::new(Shape::new(SYSTEMS, n, rank));
            let host = by_system::<Single>(&problem.batch()?, &problem.rhs, seconds, ctx)?.median * 1e3;
            let run = |method| on_device::<Single>(&stream, &problem, method, false, seconds);
            let (cr, pcr, best) = (run("cr")?, run("pcr")?, run("auto")?);
            let bus = bus(&stream, &problem)?;
            let [cr_ms, pcr_ms, best_ms] = [cr, pcr, best].map(|r| r.map(|r| r.1));
            let (by, error) = best.map_or(("-", f64::NAN), |b| (b.0.name(), b.2));
            let total = cr_ms.map(|t| t + bus);
            let share = total.map(|t| bus / t);
            let _ = writeln!(
                text,
                "| {n} | {host:.4} | {} | {} | {} | {by} | {bus:.4} | {} | {} | {error:.1e} |",
                cell(cr_ms),
                cell(pcr_ms),
                cell(best_ms),
                cell(total),
                share.map_or_else(|| "-".to_owned(), |s| format!("{:.0} %", 100.0 * s)),
            );
            all.push(json!({
                "rows": n, "rank": rank, "cpu_thomas_ms": host, "cr_ms": cr_ms, "pcr_ms": pcr_ms, "best_ms": best_ms, "best": by,
                "bus_ms": bus, "error": error,
            }));
            for (points, y) in series.iter_mut().zip([Some(host), cr_ms, pcr_ms, best_ms, Some(bus)]) {
                points.extend(y.map(|y| (n as f64, y)));
            }
        }
        let names = ["Thomas, CPU", "CR", "PCR", "best", "transfers"];
        let series = names.into_iter().zip(series).map(|(name, points)| Series {
            name: name.into(),
            points,
            line: true,
        });
        let picture = Picture {
            title: title.to_owned(),
            x: "rows of a line",
            y: "ms",
            log: [true, true],
            series: series.collect(),
        };
        figures.pictures.push((name, picture));
        figures.add(name, text, Value::from(all));
    }
    Ok(())
}

fn layouts(args: &Args, ctx: &Context, figures: &mut Figures) -> CliResult<()> {
    let stream = ctx.open_gpu()?.stream().map_err(CliError::device)?;
    let seconds = budget(args.budget).min(0.1);
    let mut text = format!(
        "\n## Figure 2: {SYSTEMS} Poisson problems of rank 4, f32, by the order of the data, ms\n\nCR and PCR here read data system by \
         system (AoS) and spread them over shared memory on the way in; with the system index fastest (SoA) the rearrangement there and \
         back is in the time. The paper's kernels work in the order of the data: SoA is 2 times as fast as AoS for CR at n = 128, and 2.6 \
         times for PCR.\n\n| n | CR, AoS | CR, SoA | PCR, AoS | PCR, SoA |\n|---|---|---|---|---|\n"
    );
    let (mut all, mut series) = (Vec::new(), [const { Vec::new() }; 4]);
    let names = ["CR, AoS", "CR, SoA", "PCR, AoS", "PCR, SoA"];
    for n in sizes(args, &[16, 32, 64, 128])? {
        let problem = Poisson::<f32>::new(Shape::new(SYSTEMS, n, 4));
        let mut times = [None; 4];
        for (k, time) in times.iter_mut().enumerate() {
            let method = if k < 2 { "cr" } else { "pcr" };
            *time = on_device::<Single>(&stream, &problem, method, k % 2 == 1, seconds)?.map(|r| r.1);
        }
        let [a, b, c, d] = times.map(cell);
        let _ = writeln!(text, "| {n} | {a} | {b} | {c} | {d} |");
        let named = names.into_iter().zip(times).map(|(name, time)| (name.to_owned(), json!(time)));
        all.push(json!({ "rows": n, "ms": named.collect::<Value>() }));
        for (points, y) in series.iter_mut().zip(times) {
            points.extend(y.map(|y| (n as f64, y)));
        }
    }
    let series =
        names.into_iter().zip(series).map(|(name, points)| Series { name: name.into(), points, line: true });
    let (title, x, y) = ("Line systems of rank 4: order of the data".to_owned(), "rows of a line", "ms");
    figures.pictures.push(("figure_2", Picture { title, x, y, log: [true, true], series: series.collect() }));
    figures.add("figure_2", text, Value::from(all));
    Ok(())
}

fn transfers(args: &Args, ctx: &Context, figures: &mut Figures) -> CliResult<()> {
    let mut text = format!(
        "\n## Table 2: lines of rank 5 along one direction of an n^3 grid whose coefficients lie in host memory, ms\n\nCPU: Thomas on {} \
         threads. (i) one synchronous transfer, (ii) asynchronous transfers plane by plane, (iii) asynchronous transfers and kernels; the \
         copies into page-locked buffers are in (ii) and (iii). Resident: the same solve with data on the device. The paper's times \
         (Opteron 250 and C2050) in brackets, where its text has them; they hold the assembly of the coefficients as well.\n\n\
         | n | type | CPU | (i) | (ii) | (iii) | resident |\n|---|---|---|---|---|---|---|\n",
        ctx.team().size()
    );
    let mut all = Vec::new();
    for n in sizes(args, &[32, 64, 128])? {
        for (name, ours) in
            [("f32", table_row::<Single>(n, args, ctx)?), ("f64", table_row::<Double>(n, args, ctx)?)]
        {
            let paper = TABLE_2.iter().find(|t| t.0 == n && t.1 == name).map_or([None; 4], |t| t.2);
            let pair = |k: usize| match paper[k] {
                Some(theirs) => format!("{:.3} ({theirs})", ours[k]),
                None => format!("{:.3}", ours[k]),
            };
            let [a, b, c, d] = [0, 1, 2, 3].map(pair);
            let _ = writeln!(text, "| {n} | {name} | {a} | {b} | {c} | {d} | {:.3} |", ours[4]);
            all.push(json!({
                "grid": n, "type": name, "cpu_ms": ours[0], "sync_ms": ours[1], "planes_ms": ours[2], "streams_ms": ours[3],
                "resident_ms": ours[4], "paper_ms": paper,
            }));
        }
    }
    figures.add("table_2", text, Value::from(all));
    Ok(())
}

/// Seconds of a solve of a batch system by system.
///
/// # Errors
/// Misuse.
fn by_system<P: Precision>(
    batch: &Batch<'_, P::Store>,
    rhs: &[P::Store],
    seconds: f64,
    ctx: &Context,
) -> CliResult<Timing> {
    let mut solver = Solver::<P>::new(Options::default());
    let mut x = vec![P::Store::from_f64(0.0); rhs.len()];
    let mut trouble = None;
    let timing = Timing::of(seconds, 3, || {
        trouble = solver.solve(ctx.team(), batch, rhs, &mut x).err();
    });
    trouble.map_or(Ok(timing), |e| Err(CliError::input(e.to_string())))
}

/// ms by the CPU, in the three ways, and resident.
fn table_row<P: Precision>(n: usize, args: &Args, ctx: &Context) -> CliResult<[f64; 5]>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let gpu = ctx.open_gpu()?;
    let stream = gpu.stream().map_err(CliError::device)?;
    let seconds = budget(args.budget);
    let problem = Poisson::<P::Store>::new(Shape::new(n * n, n, 5));
    let batch = problem.batch()?;
    let mut row = [0.0; 5];
    row[0] = 1e3 * by_system::<P>(&batch, &problem.rhs, seconds, ctx)?.median;
    for (k, transfer) in Transfer::ALL.into_iter().enumerate() {
        let mut solver =
            HostSolver::<P>::new(&gpu, problem.shape, n, GpuOptions::default(), transfer).map_err(said)?;
        let mut x = vec![P::Store::from_f64(f64::NAN); problem.rhs.len()];
        let mut times = Vec::new();
        let begin = Instant::now();
        while times.len() < 4 || (begin.elapsed().as_secs_f64() < seconds && times.len() < 200) {
            let start = Instant::now();
            solver.solve(ctx.team(), &batch, &problem.rhs, &mut x).map_err(said)?;
            times.push(1e3 * start.elapsed().as_secs_f64());
        }
        let discrete = 0.1 / (n * n) as f64;
        let allowed = discrete + 1e3 * P::Store::EPSILON;
        if problem.error(&x) > allowed {
            let found = problem.error(&x);
            return Err(CliError::environment(format!("{}: off by {found:e}", transfer.name())));
        }
        // The first one warms up.
        times.remove(0);
        times.sort_unstable_by(f64::total_cmp);
        row[k + 1] = times[times.len() / 2];
    }
    let soa = GpuEngine::choose(problem.shape, None, false, size_of::<P::Sum>()).layout() == Layout::Soa;
    row[4] = on_device::<P>(&stream, &problem, "auto", soa, seconds)?.map_or(f64::NAN, |r| r.1);
    Ok(row)
}
