//! `chromaflow bench ilu`: block ILU on generated problems and on matrices from files.

pub mod gpu;
mod library;

use super::engine::Engine;
use super::problem::Problem;
use super::timing::{Record, Timing};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::factor::block_ilu::{BlockIlu, BlockIluOptions, Fill, fill_pattern, reference};
use chromaflow::factor::structured_ilu::cuda::GpuIluEngine;
use chromaflow::factor::structured_ilu::{self, StencilMatrix, StructuredIlu, StructuredIluOptions};
use chromaflow::gallery::{Case, Kind};
use chromaflow::solver::RowOrder;
use chromaflow::sparse::io::read_matrix;
use chromaflow::{BlockPattern, Policy, Storage};
use chromaflow_device::cuda::Gpu;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Arguments of `chromaflow bench ilu`.
#[derive(clap::Args)]
pub struct Args {
    /// Problem: grid7:I,J,K:NB, kuhn:NX,NY,NZ:NB or kuhn:NX,NY,NZ:NB:mc4 (renumbered by color); NB such as 4+6 concatenates
    /// systems of 4 and 6 unknowns
    #[arg(long, value_name = "CASE")]
    case: Option<Case>,
    /// The same, as a plain argument
    #[arg(value_name = "CASE", conflicts_with = "case", required_unless_present_any = ["case", "matrix"])]
    positional: Option<Case>,
    /// A matrix from a file instead, with the right-hand side that comes with it (else ones): Matrix Market or PETSc binary
    #[arg(long, value_name = "FILE", conflicts_with_all = ["case", "positional"])]
    matrix: Option<PathBuf>,
    /// Size of the blocks of --matrix [default: as the file says, or found from the pattern]
    #[arg(long, value_name = "N", requires = "matrix")]
    block_size: Option<usize>,
    /// Who factors and applies; several by commas [default: cpu, with --backend cuda cuda]
    #[arg(long, value_delimiter = ',', value_parser = Engine::one_of(&ENGINES))]
    engine: Vec<Engine>,
    #[command(flatten)]
    options: Options,
    /// Copies of the grid block that are factored and applied together (acc, cl, cuda)
    #[arg(long, value_name = "N", default_value_t = 1)]
    copies: usize,
}

/// What a benchmark of block ILU may vary.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Precision of off-diagonal blocks and factors: d, ds or dsh; of the structured form of the couplings that an apply reads, the
    /// matrix itself is f64
    #[arg(long, value_name = "POLICY", default_value = "d")]
    pub policy: Policy,
    /// Order of the rows: natural, rcm or multicolor
    #[arg(long, value_name = "ORDER", default_value_t = RowOrder::Natural)]
    pub order: RowOrder,
    /// Blocks that the factors have: level of fill 0 (those of the matrix), 1, 2, ..., or diagonal (those of the matrix, only
    /// diagonal ones change: DILU)
    #[arg(long, value_name = "K|diagonal", default_value_t = Fill::Level(0))]
    pub fill: Fill,
    /// Seconds for each measurement
    #[arg(long, value_name = "S", default_value_t = 0.25)]
    pub budget: f64,
}

/// The engines of this benchmark.
const ENGINES: [Engine; 8] = [
    Engine::Reference,
    Engine::Cpu,
    Engine::General,
    Engine::Acc,
    Engine::Cl,
    Engine::Cuda,
    Engine::CudaGeneral,
    Engine::Library,
];

/// The engines that have a form for 7-point stencils.
pub const STRUCTURED: [Engine; 5] = [Engine::Reference, Engine::Cpu, Engine::Acc, Engine::Cl, Engine::Cuda];

/// The GPU's engine of this name for 7-point stencils.
pub fn on_gpu(engine: Engine) -> GpuIluEngine {
    match engine {
        Engine::Acc => GpuIluEngine::Acc,
        Engine::Cl => GpuIluEngine::Cl,
        _ => GpuIluEngine::Cuda,
    }
}

impl Options {
    /// Whether a case is worked on in the structured form, by the engines that have it.
    fn structured(&self, case: &Case) -> bool {
        case.kind == Kind::Grid7 && self.order == RowOrder::Natural && self.fill == Fill::Level(0)
    }
}

/// Measures and prints the RES lines of `ilu0_factor` (the numeric phase), `ilu0_apply` (forward and backward solve) and, for 7-point
/// stencils, `ilu0_residual`: `RES,peer,"case",op,cores,median_ms,min_ms,p90_ms,repeats,bytes,flops,check,cpu_ms`.
///
/// # Errors
/// Bad usage.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let case = args.case.as_ref().or(args.positional.as_ref());
    let engines = Engine::chosen(&args.engine, ctx)?;
    let mut bench = match (case, &args.matrix) {
        (Some(case), _) if case.kind == Kind::BlockTridiagonal => {
            return Err(CliError::input(format!(
                "{case}: an ILU(0) of block tridiagonal systems is exact; see bench tridiag"
            )));
        }
        (Some(case), _) => Bench::new(case, &args.options, ctx),
        (None, Some(path)) => Bench::of_matrix(path, args, ctx)?,
        (None, None) => unreachable!("the command line asks for one of them"),
    };
    let structured = case.is_some_and(|case| args.options.structured(case));
    let copied = |e: &Engine| matches!(e, Engine::Acc | Engine::Cl | Engine::Cuda);
    if args.copies != 1 && !(structured && engines.iter().all(copied)) {
        return Err(CliError::input(
            "--copies goes with engines acc, cl and cuda, grid7 cases in natural order and no fill",
        ));
    }
    if !(structured && args.options.policy == Policy::D)
        && engines.iter().any(|e| matches!(e, Engine::Acc | Engine::Cl))
    {
        return Err(CliError::input(
            "engines acc and cl take grid7 cases in natural order under policy d, without fill: take engine cuda",
        ));
    }
    if engines.contains(&Engine::Library)
        && (args.options.fill != Fill::Level(0) || args.options.policy != Policy::D)
    {
        return Err(CliError::input(
            "engine library has the blocks of the matrix alone, in f64: take --fill 0 and --policy d",
        ));
    }
    let mut records: Vec<Record> = Vec::new();
    for engine in engines {
        bench.cores = engine.cores(ctx);
        records.extend(match engine {
            Engine::Acc | Engine::Cl => bench.on_gpu(args.copies, engine, ctx)?,
            Engine::Cuda if structured => bench.on_gpu(args.copies, engine, ctx)?,
            Engine::Cuda | Engine::CudaGeneral => bench.general_on_gpu(&ctx.open_gpu()?)?.into(),
            Engine::Library => {
                let b = &bench.problem.b;
                let mut library = library::Library::new(&ctx.open_gpu()?, &bench.problem.jac)?;
                let (factor, apply, x) = library.measure(b, bench.budget)?;
                bench.records("library", &bench.work(8.0), factor, apply, &x).into()
            }
            Engine::Reference | Engine::Cpu if structured => {
                let parts = bench.structured(engine, &bench.stencil(), ctx)?;
                bench.structured_records(engine.name(), 1, &parts).into()
            }
            Engine::Reference => bench.reference()?.into(),
            Engine::Cpu | Engine::General => bench.general(ctx)?.into(),
        });
    }
    for record in &records {
        println!("{record}");
    }
    let records: Vec<_> = records.iter().map(Record::json).collect();
    ctx.write_json(&serde_json::json!({ "records": records }))?;
    Ok(Done::Success)
}

/// A problem with what is varied of it.
pub struct Bench<'a> {
    /// What results are named for.
    name: String,
    case: Option<&'a Case>,
    cores: usize,
    policy: Policy,
    order: RowOrder,
    fill: Fill,
    budget: f64,
    problem: Problem,
}

/// Bytes and operations of both phases.
struct Work {
    factor: [f64; 2],
    apply: [f64; 2],
}

/// Times of the parts on a 7-point stencil.
pub struct Parts {
    /// The numeric phase.
    pub factor: Timing,
    /// Forward and backward solve.
    pub apply: Timing,
    /// b - A x.
    pub residual: Timing,
    /// |x| of the applied right-hand side.
    pub norm: f64,
}

const REGULAR: &str = "generated systems are diagonally dominant, others were factored before";

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

impl<'a> Bench<'a> {
    /// A generated problem.
    pub fn new(case: &'a Case, options: &Options, ctx: &Context) -> Self {
        let policy = if options.structured(case) { Policy::D } else { options.policy };
        let problem = Problem::new(case, policy, options.order, ctx.team());
        Self { case: Some(case), ..Self::of(case.to_string(), problem, options, ctx) }
    }

    /// How factors of the structured form are stored.
    pub fn storage(&self) -> Storage {
        Storage::from(self.policy)
    }

    fn structured_options(&self) -> StructuredIluOptions {
        StructuredIluOptions { storage: self.storage(), ..StructuredIluOptions::default() }
    }

    fn of_matrix(path: &Path, args: &Args, ctx: &Context) -> CliResult<Self> {
        let fault = |e: &dyn std::fmt::Display| CliError::input(format!("{}: {e}", path.display()));
        let file = read_matrix(path, args.block_size).map_err(|e| CliError::input(e.to_string()))?;
        let ones = || vec![1.0; file.matrix.pattern().rows() * file.matrix.nb()];
        let b = file.rhs.clone().unwrap_or_else(ones);
        let problem =
            Problem::of_matrix(&file.matrix, &b, args.options.policy, args.options.order, ctx.team());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self::of(name, problem.map_err(|e| fault(&e))?, &args.options, ctx))
    }

    fn of(name: String, problem: Problem, options: &Options, ctx: &Context) -> Self {
        Self {
            name,
            case: None,
            cores: ctx.team().size(),
            policy: options.policy,
            order: options.order,
            fill: options.fill,
            budget: super::timing::budget(options.budget),
            problem,
        }
    }

    fn record(&self, engine: &str, op: &str, timing: Timing, [bytes, flops]: [f64; 2], check: f64) -> Record {
        let order = match self.order {
            RowOrder::Natural => String::new(),
            order => format!("-{order}"),
        };
        Record {
            peer: format!("chromaflow-{engine}-{}{order}", self.policy),
            case: self.name.clone(),
            op: op.to_owned(),
            cores: self.cores,
            timing,
            bytes,
            flops,
            check,
        }
    }

    fn records(&self, engine: &str, work: &Work, factor: Timing, apply: Timing, x: &[f64]) -> [Record; 2] {
        let name = match self.fill {
            Fill::Level(k) => format!("ilu{k}"),
            Fill::DiagonalOnly => "dilu".to_owned(),
        };
        [
            self.record(engine, &format!("{name}_factor"), factor, work.factor, 0.0),
            self.record(engine, &format!("{name}_apply"), apply, work.apply, norm(x)),
        ]
    }

    /// The pattern of the factors.
    fn filled(&self) -> Cow<'_, BlockPattern> {
        let pattern = self.problem.jac.pattern();
        match self.fill {
            Fill::Level(0) | Fill::DiagonalOnly => Cow::Borrowed(pattern),
            Fill::Level(k) => Cow::Owned(fill_pattern(pattern, k).expect("it was factored before")),
        }
    }

    /// Products of blocks in the factorization on a pattern: one for each lower block, and one for each block that it changes.
    fn products(&self, pattern: &BlockPattern) -> f64 {
        let all = self.fill != Fill::DiagonalOnly;
        let changed = |i: usize, k: usize| {
            let is_changed = |j: usize| j == i || (all && pattern.find(i, j).is_some());
            1 + pattern.columns(k).iter().filter(|&&j| j as usize > k && is_changed(j as usize)).count()
        };
        let lower = |i: usize| pattern.columns(i).iter().map(|&k| k as usize).filter(move |&k| k < i);
        (0..pattern.rows()).map(|i| lower(i).map(|k| changed(i, k)).sum::<usize>() as f64).sum()
    }

    fn work(&self, off_bytes: f64) -> Work {
        let (jac, filled) = (&self.problem.jac, self.filled());
        let (n, nb) = (jac.rows() as f64, jac.nb() as f64);
        let (given, nnz) = (jac.pattern().nnzb() as f64, filled.nnzb() as f64);
        let (q, index) = (nb * nb, 4.0 * (nnz + n));
        let read = given * q * jac.off.policy().off_bytes() as f64 + n * q * 8.0;
        let written = nnz * q * off_bytes + n * q * 8.0;
        Work {
            factor: [read + written + index, 2.0 * q * nb * (self.products(&filled) + n)],
            apply: [written + 2.0 * index + 16.0 * n * nb, 2.0 * q * (nnz + n)],
        }
    }

    fn singular(&self, row: usize) -> CliError {
        CliError::input(format!("{}: the factored diagonal block of row {row} is singular", self.name))
    }

    fn reference(&self) -> CliResult<[Record; 2]> {
        let Problem { jac, b, .. } = &self.problem;
        let mut factors = reference::factor(jac, self.fill, 0.0).map_err(|row| self.singular(row))?;
        let factor = Timing::of(self.budget, 3, || {
            factors = reference::factor(jac, self.fill, 0.0).expect(REGULAR);
        });
        let mut x = Vec::new();
        let apply = Timing::of(self.budget, 3, || x = reference::solve(jac, &factors, b));
        Ok(self.records("reference", &self.work(8.0), factor, apply, &x))
    }

    /// The matrix as the structured form keeps it.
    pub fn stencil(&self) -> StencilMatrix {
        let case = self.case.expect("only generated grids are structured");
        StencilMatrix::from_jacobian(case.dims, &self.problem.jac).expect("a 7-point pattern")
    }

    /// Of the structured form: off-diagonal blocks are read once each, diagonal ones once to factor and twice to apply; where an
    /// apply has the former in less, a factorization reads them again and writes copies.
    fn structured_work(&self) -> Work {
        let pattern = self.problem.jac.pattern();
        let (n, nnz, nb) = (pattern.rows() as f64, pattern.nnzb() as f64, self.problem.jac.nb() as f64);
        let (q, blocks, off_bytes) = (nb * nb, nnz + 2.0 * n, self.policy.off_bytes() as f64);
        let copies = if self.policy == Policy::D { 0.0 } else { nnz * q * (8.0 + off_bytes) };
        Work {
            factor: [blocks * q * 8.0 + copies, 2.0 * q * nb * (nnz + n)],
            apply: [(nnz * off_bytes + 2.0 * n * 8.0) * q + 32.0 * n * nb, 2.0 * q * blocks],
        }
    }

    /// Bytes and operations of a residual: every block of the matrix once.
    fn residual_work(&self) -> [f64; 2] {
        let pattern = self.problem.jac.pattern();
        let (n, nb) = (pattern.rows() as f64, self.problem.jac.nb() as f64);
        let blocks = pattern.nnzb() as f64 + n;
        [blocks * nb * nb * 8.0 + 24.0 * n * nb, 2.0 * nb * nb * blocks]
    }

    /// RES lines of the three parts for copies of the grid block.
    fn structured_records(&self, engine: &str, copies: usize, parts: &Parts) -> [Record; 3] {
        let Work { factor, apply } = self.structured_work();
        let residual = self.residual_work();
        let record = |op, timing, work: [f64; 2], check| {
            let record = self.record(engine, op, timing, work.map(|v| v * copies as f64), check);
            let case = if copies == 1 { record.case } else { format!("{} x {copies}", self.name) };
            Record { case, ..record }
        };
        [
            record("ilu0_factor", parts.factor, factor, 0.0),
            record("ilu0_apply", parts.apply, apply, parts.norm),
            record("ilu0_residual", parts.residual, residual, 0.0),
        ]
    }

    /// The right-hand side.
    pub fn rhs(&self) -> &[f64] {
        &self.problem.b
    }

    /// Times the structured form of an engine.
    ///
    /// # Errors
    /// No GPU where the engine needs one.
    pub fn structured(&self, engine: Engine, a: &StencilMatrix, ctx: &Context) -> CliResult<Parts> {
        match engine {
            Engine::Reference => Ok(self.structured_reference(a)),
            Engine::Acc | Engine::Cl | Engine::Cuda => {
                gpu::OnDevice::new(&ctx.open_gpu()?, a, &self.problem.b, 1, self.storage())?
                    .measure(on_gpu(engine), self.budget)
            }
            _ => Ok(self.tuned(a, ctx)),
        }
    }

    fn structured_reference(&self, a: &StencilMatrix) -> Parts {
        let factored = || structured_ilu::reference::factor(a, 0.0).expect(REGULAR);
        let (mut inverse, mut x, mut r) = (Vec::new(), Vec::new(), Vec::new());
        let factor = Timing::of(self.budget, 3, || inverse = factored());
        let b = &self.problem.b;
        let apply = Timing::of(self.budget, 3, || x = structured_ilu::reference::solve(a, &inverse, b));
        let residual = Timing::of(self.budget, 3, || r = structured_ilu::reference::residual(a, b, &x));
        Parts { factor, apply, residual, norm: norm(&x) }
    }

    fn tuned(&self, a: &StencilMatrix, ctx: &Context) -> Parts {
        let (team, options) = (ctx.team(), self.structured_options());
        let mut ilu = StructuredIlu::new(&[a.dims()], a.nb(), options, team).expect("a block size in range");
        let factor = Timing::of(self.budget, 3, || {
            ilu.factor(team, &[a]).expect(REGULAR);
        });
        let b = &self.problem.b;
        let (mut x, mut r) = (vec![vec![0.0; b.len()]], vec![0.0; b.len()]);
        let apply = Timing::of(self.budget, 3, || ilu.solve(team, &[a], &[b], &mut x));
        let residual = Timing::of(self.budget, 3, || a.residual(team, b, &x[0], &mut r));
        Parts { factor, apply, residual, norm: norm(&x[0]) }
    }

    fn on_gpu(&self, copies: usize, engine: Engine, ctx: &Context) -> CliResult<Vec<Record>> {
        let (name, engine) = (engine.name(), on_gpu(engine));
        let a = self.stencil();
        let b = &self.problem.b;
        let mut system = gpu::OnDevice::new(&ctx.open_gpu()?, &a, b, copies, self.storage())?;
        let parts = system.measure(engine, self.budget)?;
        let mut all: Vec<Record> = self.structured_records(name, copies, &parts).into();
        if let Some([factor, apply]) = system.measure_graphs(engine, self.budget)? {
            let parts = Parts { factor, apply, ..parts };
            let graphs = self.structured_records(name, copies, &parts).into_iter().take(2);
            all.extend(graphs.map(|r| Record { peer: r.peer + "-graph", ..r }));
        }
        Ok(all)
    }

    fn general_on_gpu(&self, gpu: &Gpu) -> Result<[Record; 2], CliError> {
        let Problem { jac, b, .. } = &self.problem;
        let (storage, bytes) = match self.policy {
            Policy::D => (Storage::F64, 8.0),
            _ => (Storage::F32, 4.0),
        };
        let options = BlockIluOptions { fill: self.fill, storage, ..BlockIluOptions::default() };
        let (factor, apply, x) = gpu::general(gpu, jac, b, options, self.budget)?;
        Ok(self.records("cuda-general", &self.work(bytes), factor, apply, &x))
    }

    fn general(&self, ctx: &Context) -> CliResult<[Record; 2]> {
        let Problem { jac, b, .. } = &self.problem;
        let storage = Storage::from(self.policy);
        let options = BlockIluOptions { fill: self.fill, storage, ..BlockIluOptions::default() };
        let mut ilu =
            BlockIlu::new(jac.pattern(), jac.nb(), options, ctx.team()).expect("checked with the problem");
        ilu.factor(jac, ctx.team()).map_err(|bad| self.singular(bad.row))?;
        let factor = Timing::of(self.budget, 3, || {
            ilu.factor(jac, ctx.team()).expect(REGULAR);
        });
        let mut x = vec![0.0; b.len()];
        let apply = Timing::of(self.budget, 3, || ilu.solve(ctx.team(), b, &mut x));
        Ok(self.records("general", &self.work(self.policy.off_bytes() as f64), factor, apply, &x))
    }
}
