//! Matrices of a flow: a case from its file, marched a while on the device, its Jacobian assembled.

use super::measure::{Bench, Problem, SWEEPS};
use chromaflow::gpu::Storage;
use chromaflow::relax::{MulticolorCuda, SolveOptions};
use chromaflow_cli::context::{Backend, Context};
use chromaflow_cli::error::{CliError, CliResult};
use chromaflow_cli::plot::{Picture, Series};
use chromaflow_cli::run::prepare;
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use chromaflow_flow::FlowSolver;
use chromaflow_flow::march::{Part, Times};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A flow on the device.
pub struct Flow {
    pub name: String,
    solver: FlowSolver,
}

impl Flow {
    /// Reads a case, refines its mesh, sets up the solver with a policy.
    pub fn new(path: &Path, refine: usize, policy: &str, stream: &Stream, ctx: &Context) -> CliResult<Self> {
        let start = Instant::now();
        let sets = [format!("mesh.refine={refine}"), format!("linear.policy={policy}")];
        let prepared = prepare(path, &sets, Backend::Cuda)?;
        let fault = |e: &dyn std::fmt::Display| CliError::input(format!("{}: {e}", path.display()));
        let mut solver = FlowSolver::new(&prepared.mesh, prepared.config.clone(), Arc::clone(ctx.team()))
            .map_err(|e| fault(&e))?;
        solver.use_gpu(stream.gpu()).map_err(CliError::device)?;
        let stem = path.file_stem().and_then(|n| n.to_str()).unwrap_or("case");
        let name = format!("{stem}, {} nodes", prepared.mesh.nodes.len());
        if ctx.verbose() {
            println!("{name}, policy {policy} ({:.1} s to set up)", start.elapsed().as_secs_f64());
        }
        Ok(Self { name, solver })
    }

    /// Marches; the mean times of an iteration after the first ten.
    pub fn march(&mut self, iterations: usize) -> CliResult<Times> {
        let mut sum = Times::default();
        let mut counted = 0;
        for i in 0..iterations {
            let report = self.solver.try_step().map_err(CliError::device)?;
            if i >= 10 || iterations <= 10 {
                sum.add(&report.times);
                counted += 1;
            }
            if report.outcome.is_some() {
                break;
            }
        }
        Ok(sum.scaled(1.0 / f64::from(counted.max(1))))
    }

    /// The linear system that the next step would solve (f32 off-diagonal blocks under `ds` and `dsh`).
    pub fn system(&mut self, stream: &Stream, repeats: usize) -> CliResult<(Problem, Bench)> {
        self.solver.sync().map_err(CliError::device)?;
        let (jac, batches, b) = self.solver.assembled();
        let problem = Problem { pattern: jac.pattern().clone(), batches: batches.clone() };
        Ok((problem, Bench::of(stream, jac, batches, b, repeats)?))
    }
}

/// Sweeps of Figure 5.
const FIGURE_5: usize = 80;

/// Figure 5 of the mixed-precision paper: the residual of one linear system over its sweeps, by policy.
pub struct Figure5 {
    name: String,
    /// Policy, microseconds a sweep, |b - A x| / |b| before the first sweep and after each.
    runs: Vec<(&'static str, f64, Vec<f64>)>,
    library_us: Option<f64>,
}

impl Figure5 {
    pub fn new(name: String, problem: &Problem, bench: &Bench, library: bool) -> CliResult<Self> {
        let stream = bench.jac.stream();
        let nb = bench.jac.nb();
        let mut runs = Vec::new();
        for storage in [Storage::F32, Storage::F16] {
            let mut mc = MulticolorCuda::new(stream, &problem.pattern, nb, &problem.batches, storage)
                .map_err(CliError::device)?;
            mc.factor(&bench.jac).map_err(CliError::device)?;
            let mut x = DeviceBuffer::zeroed(stream, bench.b.len()).map_err(CliError::device)?;
            let options = SolveOptions { history: true, ..SolveOptions::sweeps(FIGURE_5) };
            let report = mc.solve(&bench.b, &mut x, &options).map_err(CliError::device)?;
            let us = 1e3 * bench.sweep_ms(&mut mc)?;
            runs.push((storage.name(), us, report.history));
        }
        let library_us = if library {
            let (stream_ms, graph, _) = bench.library(&bench.reference()?)?;
            Some(1e3 * graph.map_or(stream_ms, |g| g.min(stream_ms)))
        } else {
            None
        };
        Ok(Self { name, runs, library_us })
    }

    pub fn markdown(&self) -> String {
        let mut text = format!(
            "\n## Figure 5 of the mixed-precision paper: one linear system, {}\n\nResidual of the policy's own matrix over the right-hand \
             side. The paper (1,123,718 rows): `dsh` follows `ds` for 35 sweeps and stagnates then.\n\n| sweeps |",
            self.name
        );
        for (name, ..) in &self.runs {
            let _ = write!(text, " {name} |");
        }
        let _ = write!(text, "\n|---|{}\n", "---|".repeat(self.runs.len()));
        for at in [0, 1, 5, 15, 25, 35, 50, 65, FIGURE_5] {
            let _ = write!(text, "| {at} |");
            for (.., history) in &self.runs {
                let _ = match history.get(at) {
                    Some(r) => write!(text, " {r:.3e} |"),
                    None => write!(text, " - |"),
                };
            }
            text.push('\n');
        }
        text
    }

    pub fn json(&self) -> Value {
        let runs: Vec<Value> = self
            .runs
            .iter()
            .map(|(name, us, history)| json!({"policy": name, "sweep_us": us, "residual": history}))
            .collect();
        json!({"system": self.name, "runs": runs, "library_sweep_us": self.library_us})
    }

    pub fn picture(&self) -> Picture {
        let series = |(name, _, history): &(&'static str, f64, Vec<f64>)| {
            let points = history.iter().enumerate().map(|(i, &r)| (i as f64, r)).collect();
            Series { name: (*name).into(), points, line: true }
        };
        Picture {
            title: format!("One linear system of {}", self.name),
            x: "sweep",
            y: "|b - A x| / |b|",
            log: [false, true],
            series: self.runs.iter().map(series).collect(),
        }
    }
}

/// The components of Figure 7, in its order.
const FIGURE_7: [Part; 5] =
    [Part::LinearSolver, Part::Assembly, Part::Residual, Part::Misc, Part::Conversion];

/// Figure 7 of the mixed-precision paper: where the time of a run goes, by policy.
pub struct Figure7 {
    name: String,
    /// Policy and mean seconds of an iteration.
    runs: Vec<(&'static str, Times)>,
    /// Seconds that the library engine would take for the sweeps of an iteration.
    library: Option<f64>,
}

impl Figure7 {
    pub fn new(name: String, ds: Times, dsh: Times, library_ms: Option<f64>) -> Self {
        let library = library_ms.map(|ms| ms * 1e-3 * SWEEPS as f64);
        Self { name, runs: vec![("ds", ds), ("dsh", dsh)], library }
    }

    pub fn markdown(&self) -> String {
        let whole = self.runs[0].1.total;
        let mut text = format!(
            "\n## Figure 7 of the mixed-precision paper: an iteration, {}\n\nMilliseconds and shares of the `ds` iteration. The paper \
             (steady, 1.1 million nodes, V100): `dsh` 1.20 times as fast as `ds`, its linear solver 1.53 times, PIPSR about 1 %.\n\n\
             | component | ds ms | share | dsh ms | share | ds / dsh |\n|---|---|---|---|---|---|\n",
            self.name
        );
        let (ds, dsh) = (self.runs[0].1, self.runs[1].1);
        let total = [("whole", ds.total, dsh.total)];
        let parts = Part::ALL.into_iter().map(|part| (part.name(), ds[part], dsh[part]));
        let parts = parts.filter(|(_, a, b)| *a > 0.0 || *b > 0.0);
        for (name, a, b) in parts.chain(total) {
            let ratio = if b > 0.0 && a > 0.0 { format!("{:.2}", a / b) } else { "-".to_owned() };
            let (pa, pb) = (100.0 * a / whole, 100.0 * b / whole);
            let _ = writeln!(
                text,
                "| {name} | {:.3} | {pa:.1} % | {:.3} | {pb:.1} % | {ratio} |",
                1e3 * a,
                1e3 * b
            );
        }
        if let Some(library) = self.library {
            let _ = writeln!(
                text,
                "\nThe sweeps alone by library calls (f32, the same matrix and colors): {:.3} ms.",
                1e3 * library
            );
        }
        text
    }

    pub fn json(&self) -> Value {
        let run = |(name, times): &(&'static str, Times)| {
            let parts: serde_json::Map<String, Value> =
                times.components().iter().map(|(n, s)| ((*n).to_owned(), json!(s))).collect();
            json!({"policy": name, "iteration_s": times.total, "components_s": parts})
        };
        let runs: Vec<Value> = self.runs.iter().map(run).collect();
        json!({"case": self.name, "runs": runs, "library_sweeps_s": self.library})
    }

    /// Components as bars would have them: a line of shares for each policy.
    pub fn picture(&self) -> Picture {
        let whole = self.runs[0].1.total;
        let series = |(name, times): &(&'static str, Times)| {
            let mut sum = 0.0;
            let mut points = vec![(0.0, 0.0)];
            for (i, part) in FIGURE_7.into_iter().enumerate() {
                sum += times[part] / whole;
                points.extend([(i as f64, sum), (i as f64 + 1.0, sum)]);
            }
            Series { name: (*name).into(), points, line: true }
        };
        Picture {
            title: format!("{}: wall time, adding up", self.name),
            x: "Linear_solver, LHS, RHS, Misc, PIPSR",
            y: "of the ds iteration",
            log: [false, false],
            series: self.runs.iter().map(series).collect(),
        }
    }
}
