//! Lines on a GPU, with data that lie there.

use super::{Args, Data, LayoutName, budget, record, residual};
use crate::bench::timing::{Record, Timing};
use crate::context::Context;
use crate::error::{CliError, CliResult};
use bytemuck::Pod;
use chromaflow::gallery::Case;
use chromaflow::tridiag::cuda::{
    GpuBatch, GpuEngine, GpuFactoredSolver, GpuOptions, GpuSolver, GpuTridiagError,
};
use chromaflow::tridiag::{Layout, LineOutcome, Precision, Real, Shape};
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Event, Stream};
use std::time::Instant;

/// Errors of the device end a benchmark; misuse is the user's.
pub fn said(error: GpuTridiagError) -> CliError {
    match error {
        GpuTridiagError::Input(error) => CliError::input(error.to_string()),
        GpuTridiagError::Cuda(error) => CliError::environment(error.to_string()),
    }
}

/// Seconds of `work`, enqueued often in a graph that is replayed between two events: launches from the host, one by one, would
/// take longer than small batches.
///
/// # Errors
/// What `work` returns; [`CudaError`].
pub fn time(stream: &Stream, seconds: f64, work: impl FnMut() -> Result<(), CudaError>) -> CliResult<Timing> {
    time_replays(stream, 2e-3, 7, seconds, work)
}

/// The same with graphs that take `replay` seconds (of 1 to 50 times `work`), replayed `fewest` times or, if that is longer, for
/// `seconds`.
///
/// # Errors
/// As [`time`].
pub fn time_replays(
    stream: &Stream,
    replay: f64,
    fewest: usize,
    seconds: f64,
    mut work: impl FnMut() -> Result<(), CudaError>,
) -> CliResult<Timing> {
    let one = stream.time(3, &mut work).map_err(CliError::device)? * 1e-3;
    let often = (replay / one.max(1e-6)).clamp(1.0, 50.0) as usize;
    let mut graph = stream.capture(|| (0..often).try_for_each(|_| work())).map_err(CliError::device)?;
    let (mut all, begin) = (Vec::new(), Instant::now());
    while all.len() < fewest || (begin.elapsed().as_secs_f64() < seconds && all.len() < 400) {
        let gpu = stream.gpu();
        let (start, end) =
            (Event::new(gpu).map_err(CliError::device)?, Event::new(gpu).map_err(CliError::device)?);
        start.record(stream).map_err(CliError::device)?;
        graph.launch(stream).map_err(CliError::device)?;
        end.record(stream).map_err(CliError::device)?;
        all.push(1e-3 * end.milliseconds_since(&start).map_err(CliError::device)? / often as f64);
    }
    all.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| all[((part * all.len() as f64) as usize).min(all.len() - 1)];
    Ok(Timing { median: at(0.5), least: all[0], p90: at(0.9), cpu: all[0], repeats: all.len() })
}

/// Only errors of the device come back from a solve that went well once.
pub fn device(error: GpuTridiagError) -> CudaError {
    match error {
        GpuTridiagError::Cuda(error) => error,
        GpuTridiagError::Input(error) => {
            CudaError::Library { call: "line solver", status: error.to_string() }
        }
    }
}

/// An engine by the names of command lines.
///
/// # Errors
/// Another name.
pub fn engine(name: &str, shape: Shape) -> CliResult<GpuEngine> {
    match name {
        "hybrid" if shape.rank == 1 => Ok(GpuEngine::Warp),
        "hybrid" => Ok(GpuEngine::Chunks),
        name => name.parse().map_err(|e: chromaflow::tridiag::TridiagError| CliError::input(e.to_string())),
    }
}

/// The engines that take a batch, those that read the same order of data together.
pub fn engines(shape: Shape, periodic: bool, sizes: [usize; 2]) -> Vec<GpuEngine> {
    let takes = |e: &GpuEngine| *e != GpuEngine::Auto && e.takes(shape, periodic, sizes);
    GpuEngine::ALL.into_iter().filter(takes).collect()
}

/// A batch on the device.
pub struct OnDevice<S> {
    /// Blocks left of the diagonal.
    pub lower: DeviceBuffer<S>,
    /// Blocks on the diagonal.
    pub diag: DeviceBuffer<S>,
    /// Blocks right of the diagonal.
    pub upper: DeviceBuffer<S>,
    /// Right-hand sides.
    pub rhs: DeviceBuffer<S>,
    /// Solutions.
    pub x: DeviceBuffer<S>,
}

impl<S: Pod + Real> OnDevice<S> {
    /// Uploads; the solution starts as NaN.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn new(stream: &Stream, [lower, diag, upper, rhs]: [&[S]; 4]) -> CliResult<Self> {
        let up = |values: &[S]| stream.upload(values).map_err(CliError::device);
        let x = vec![S::from_f64(f64::NAN); rhs.len()];
        Ok(Self { lower: up(lower)?, diag: up(diag)?, upper: up(upper)?, rhs: up(rhs)?, x: up(&x)? })
    }
}

/// Solves once, looks at the outcome, and times.
///
/// # Errors
/// Misuse, a system that breaks down, [`CudaError`].
pub fn solve<P: Precision>(
    stream: &Stream,
    shape: Shape,
    layout: Layout,
    options: GpuOptions,
    data: &mut OnDevice<P::Store>,
    seconds: f64,
) -> CliResult<Timing>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let mut solver = GpuSolver::<P>::new(stream, shape, layout, options).map_err(said)?;
    let OnDevice { lower, diag, upper, rhs, x } = data;
    if options.destroy {
        // The solution of the first solve is the one to check: later ones read what it left.
        let copy = |from: &DeviceBuffer<P::Store>| {
            let mut to = DeviceBuffer::uninitialized(stream, from.len())?;
            to.copy_from(&from.slice())?;
            Ok::<_, CudaError>(to)
        };
        let mut first = copy(x).map_err(CliError::device)?;
        solver.solve_in_place(stream, [lower, diag, upper], rhs, &mut first).map_err(said)?;
        let timing = time(stream, seconds, || {
            solver.solve_in_place(stream, [lower, diag, upper], rhs, x).map_err(device)
        })?;
        *x = first;
        return Ok(timing);
    }
    let batch = GpuBatch { lower, diag, upper };
    solver.solve(stream, &batch, rhs, x).map_err(said)?;
    match solver.outcome(&batch, rhs, x).map_err(said)? {
        LineOutcome::Solved => {}
        trouble @ LineOutcome::Breakdown { .. } => return Err(CliError::input(trouble.to_string())),
    }
    time(stream, seconds, || solver.solve(stream, &batch, rhs, x).map_err(device))
}

/// The RES lines of a case.
///
/// # Errors
/// Bad usage, no GPU, a system that breaks down.
pub fn measure<P: Precision>(case: &Case, args: &Args, ctx: &Context) -> CliResult<Vec<Record>>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let shape = Shape::new(case.dims[0], case.dims[1], case.nb);
    let sizes = [size_of::<P::Store>(), size_of::<P::Sum>()];
    let given = args.layout.map(|layout| match layout {
        LayoutName::Aos => Layout::Aos,
        LayoutName::Soa => Layout::Soa,
        LayoutName::Interleaved => Layout::Interleaved { lanes: 8 },
    });
    let stream = ctx.open_gpu()?.stream().map_err(CliError::device)?;
    let seconds = budget(args.budget);
    if args.factored.is_none() {
        let engines = match args.method.as_str() {
            "all" => engines(shape, args.periodic, sizes),
            name => vec![engine(name, shape)?],
        };
        let (mut kept, mut records) = (None::<Data<P::Store>>, Vec::new());
        for mut engine in engines {
            if engine == GpuEngine::Auto {
                engine = GpuEngine::choose(shape, given, args.periodic, sizes[1]);
            }
            let layout = given.unwrap_or(engine.layout());
            // Engines that read the same order come one after the other.
            let data = match kept.take() {
                Some(data) if data.layout == layout => data,
                _ => Data::new(case, layout, 1)?,
            };
            let mut on_device = OnDevice::new(&stream, [&data.lower, &data.diag, &data.upper, &data.rhs])?;
            let options = GpuOptions { engine, periodic: args.periodic, destroy: args.destroy };
            let timing = solve::<P>(&stream, shape, layout, options, &mut on_device, seconds)?;
            let x = on_device.x.download().map_err(CliError::device)?;
            let check = residual(case, &data, args.periodic, &x, 1)?;
            let who = format!("chromaflow-cuda-{engine}-{layout}-{}", P::NAME);
            records.push(record::<P>(who, case, "btri_solve", None, (1, timing, check)));
            kept = Some(data);
        }
        return Ok(records);
    }
    let layout = given.unwrap_or(Layout::Aos);
    let columns = args.factored.unwrap_or(1).max(1);
    let data = Data::<P::Store>::new(case, layout, columns)?;
    let mut on_device = OnDevice::new(&stream, [&data.lower, &data.diag, &data.upper, &data.rhs])?;
    let mut solver = GpuFactoredSolver::<P>::new(&stream, shape, layout, args.periodic).map_err(said)?;
    let OnDevice { lower, diag, upper, rhs, x } = &mut on_device;
    let batch = GpuBatch { lower, diag, upper };
    solver.factor(&stream, &batch).map_err(said)?;
    solver.solve(&stream, columns, rhs, x).map_err(said)?;
    if let trouble @ LineOutcome::Breakdown { .. } = solver.outcome(columns, x).map_err(said)? {
        return Err(CliError::input(format!("{case}: {trouble}")));
    }
    let check = residual(case, &data, args.periodic, &x.download().map_err(CliError::device)?, columns)?;
    let factor = time(&stream, seconds, || solver.factor(&stream, &batch).map_err(device))?;
    let apply = time(&stream, seconds, || solver.solve(&stream, columns, rhs, x).map_err(device))?;
    let who = format!("chromaflow-cuda-factored-{layout}-{}", P::NAME);
    Ok(vec![
        record::<P>(who.clone(), case, "btri_factor", Some(0), (1, factor, check)),
        record::<P>(who, case, "btri_apply", Some(columns), (1, apply, check)),
    ])
}
