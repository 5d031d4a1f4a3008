//! `chromaflow bench ilu`: block ILU(0) on generated problems.

mod gpu;
mod library;

use super::problem::{Problem, RowOrder};
use super::timing::{Record, Timing};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::factor::block_ilu::{BlockIlu, BlockIluOptions, FactorStorage, Fill, reference};
use chromaflow::factor::structured_ilu::cuda::GpuIluEngine;
use chromaflow::factor::structured_ilu::{self, StencilMatrix, StructuredIlu, StructuredIluOptions};
use chromaflow::{Jacobian, Policy};
use chromaflow_device::cuda::Gpu;
use chromaflow_testkit::{Case, Kind};

/// Arguments of `chromaflow bench ilu`.
#[derive(clap::Args)]
pub struct Args {
    /// Problem: grid7:I,J,K:NB, kuhn:NX,NY,NZ:NB or kuhn:NX,NY,NZ:NB:mc4 (renumbered by color)
    #[arg(long, value_name = "CASE")]
    case: Option<Case>,
    /// The same, as a plain argument
    #[arg(value_name = "CASE", conflicts_with = "case", required_unless_present = "case")]
    positional: Option<Case>,
    /// Which implementation
    #[arg(long, value_enum, default_value_t = Engine::Cpu)]
    engine: Engine,
    /// Precision of off-diagonal blocks and factors: d, ds or dsh
    #[arg(long, value_name = "POLICY", default_value = "d")]
    policy: Policy,
    /// Order of the rows
    #[arg(long, value_enum, default_value_t = RowOrder::Natural)]
    order: RowOrder,
    /// Seconds for each measurement
    #[arg(long, value_name = "S", default_value_t = 0.25)]
    budget: f64,
    /// Copies of the grid block that are factored and applied together (acc, cl, cuda)
    #[arg(long, value_name = "N", default_value_t = 1)]
    copies: usize,
    /// Tries the tiles of engine cuda instead, and prints their times
    #[arg(long)]
    tune: bool,
    /// Prints the sums of squares of the residual over N correction steps instead: the sequential reference's, then the
    /// engine's
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
}

/// Who factors and applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    /// As the textbook has it: sequential, f64
    Reference,
    /// Tuned, on all threads: the structured form, which is f64, for grid7 in natural order under policy d; the general
    /// one for all else
    Cpu,
    /// The form for any pattern, also where the pattern is a structured grid's
    General,
    /// On the GPU, a kernel for every stage of every hyperplane (grid7, natural order, policy d)
    Acc,
    /// On the GPU, a kernel for every hyperplane (likewise, blocks up to 32)
    Cl,
    /// On the GPU, a kernel a pass, which keeps its order by itself: the structured form for grid7 in natural order under policy
    /// d, the general one for all else
    Cuda,
    /// On the GPU, the general form also where the pattern is a structured grid's
    CudaGeneral,
    /// On the GPU, cuSPARSE: bsrilu02 and bsrsv2
    Library,
}

/// Measures and prints the RES lines of `ilu0_factor` (the numeric phase) and `ilu0_apply` (forward and backward
/// solve): `RES,peer,"case",op,cores,median_ms,min_ms,p90_ms,repeats,bytes,flops,check,cpu_ms`.
///
/// # Errors
/// Bad usage.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let case = args.case.as_ref().or(args.positional.as_ref()).expect("clap asks for one");
    if case.kind == Kind::BlockTridiagonal {
        return Err(CliError::input(format!(
            "{case}: an ILU(0) of block tridiagonal systems is exact; see bench tridiag"
        )));
    }
    let bench = Bench {
        case,
        cores: if args.engine == Engine::Reference { 1 } else { ctx.team().size() },
        policy: args.policy,
        order: args.order,
        budget: super::timing::budget(args.budget),
        problem: Problem::new(case, args.policy, args.order, ctx.team()),
    };
    let structured = case.kind == Kind::Grid7 && args.order == RowOrder::Natural && args.policy == Policy::D;
    let records: Vec<Record> = match args.engine {
        Engine::Acc | Engine::Cl if !structured => {
            return Err(CliError::input(
                "engines acc and cl take grid7 cases in natural order under policy d: take engine cuda",
            ));
        }
        Engine::Acc => bench.on_gpu(args, GpuIluEngine::Acc, ctx)?,
        Engine::Cl => bench.on_gpu(args, GpuIluEngine::Cl, ctx)?,
        Engine::Cuda if structured => bench.on_gpu(args, GpuIluEngine::Cuda, ctx)?,
        Engine::Cuda | Engine::CudaGeneral => bench.general_on_gpu(&open(ctx)?)?.into(),
        Engine::Library => {
            let b = &bench.problem.b;
            let mut library = library::Library::new(&open(ctx)?, &bench.problem.jac)?;
            let (factor, apply, x) = library.measure(b, bench.budget)?;
            bench.records("library", &bench.work(8.0), factor, apply, &x).into()
        }
        Engine::Reference if structured => bench.structured_reference().into(),
        Engine::Reference => bench.reference().into(),
        Engine::Cpu if structured => bench.structured(ctx).into(),
        Engine::Cpu | Engine::General => bench.general(ctx).into(),
    };
    for record in &records {
        println!("{record}");
    }
    let records: Vec<_> = records.iter().map(Record::json).collect();
    ctx.write_json(&serde_json::json!({ "records": records }))?;
    Ok(Done::AsAsked)
}

/// The GPU that was asked for, or the first one.
fn open(ctx: &Context) -> Result<Gpu, CliError> {
    ctx.gpu().map_or_else(|| Gpu::open(0).map_err(gpu::internal), |gpu| Ok(gpu.clone()))
}

struct Bench<'a> {
    case: &'a Case,
    cores: usize,
    policy: Policy,
    order: RowOrder,
    budget: f64,
    problem: Problem,
}

/// Bytes and operations of both phases.
struct Work {
    factor: [f64; 2],
    apply: [f64; 2],
}

impl Bench<'_> {
    fn records(&self, engine: &str, work: &Work, factor: Timing, apply: Timing, x: &[f64]) -> [Record; 2] {
        let order = match self.order {
            RowOrder::Natural => "",
            RowOrder::Rcm => "-rcm",
            RowOrder::Multicolor => "-multicolor",
        };
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        let record = |op: &str, timing, [bytes, flops]: [f64; 2], check| Record {
            peer: format!("chromaflow-{engine}-{}{order}", self.policy),
            case: self.case.to_string(),
            op: op.to_owned(),
            cores: self.cores,
            timing,
            bytes,
            flops,
            check,
        };
        [record("ilu0_factor", factor, work.factor, 0.0), record("ilu0_apply", apply, work.apply, norm)]
    }

    /// Products of blocks in the factorization: one for each lower block, and one for each block that it changes.
    fn products(&self) -> f64 {
        let pattern = self.problem.jac.pattern();
        let changed = |i: usize, k: usize| {
            let above =
                |&&j: &&u32| j as usize > k && (j as usize == i || pattern.find(i, j as usize).is_some());
            1 + pattern.columns(k).iter().filter(above).count()
        };
        let lower = |i: usize| pattern.columns(i).iter().map(|&k| k as usize).filter(move |&k| k < i);
        (0..pattern.rows()).map(|i| lower(i).map(|k| changed(i, k)).sum::<usize>() as f64).sum()
    }

    fn work(&self, off_bytes: f64) -> Work {
        let (jac, pattern) = (&self.problem.jac, self.problem.jac.pattern());
        let (n, nnz, nb) = (pattern.rows() as f64, pattern.nnzb() as f64, jac.nb() as f64);
        let (q, index) = (nb * nb, 4.0 * (nnz + n));
        let read = nnz * q * self.policy.off_bytes() as f64 + n * q * 8.0;
        let written = nnz * q * off_bytes + n * q * 8.0;
        Work {
            factor: [read + written + index, 2.0 * q * nb * (self.products() + n)],
            apply: [written + 2.0 * index + 16.0 * n * nb, 2.0 * q * (nnz + n)],
        }
    }

    fn reference(&self) -> [Record; 2] {
        let Problem { jac, b, .. } = &self.problem;
        let factored = || reference::factor(jac, Fill::Level(0), 0.0).expect("diagonally dominant");
        let mut factors = factored();
        let factor = Timing::of(self.budget, 3, || factors = factored());
        let mut x = Vec::new();
        let apply = Timing::of(self.budget, 3, || x = reference::solve(jac, &factors, b));
        self.records("reference", &self.work(8.0), factor, apply, &x)
    }

    /// The matrix as the structured form keeps it.
    fn stencil(&self) -> StencilMatrix {
        StencilMatrix::from_jacobian(self.case.dims, &self.problem.jac).expect("a 7-point pattern")
    }

    /// Of the structured form: off-diagonal blocks are read as they are, diagonal ones once to factor and twice to apply.
    fn structured_work(&self) -> Work {
        let pattern = self.problem.jac.pattern();
        let (n, nnz, nb) = (pattern.rows() as f64, pattern.nnzb() as f64, self.case.nb as f64);
        let (q, blocks) = (nb * nb, nnz + 2.0 * n);
        Work {
            factor: [blocks * q * 8.0, 2.0 * q * nb * (nnz + n)],
            apply: [blocks * q * 8.0 + 32.0 * n * nb, 2.0 * q * blocks],
        }
    }

    fn structured_reference(&self) -> [Record; 2] {
        let a = self.stencil();
        let factored = || structured_ilu::reference::factor(&a, 0.0).expect("diagonally dominant");
        let mut inverse = Vec::new();
        let factor = Timing::of(self.budget, 3, || inverse = factored());
        let mut x = Vec::new();
        let b = &self.problem.b;
        let apply = Timing::of(self.budget, 3, || x = structured_ilu::reference::solve(&a, &inverse, b));
        self.records("reference", &self.structured_work(), factor, apply, &x)
    }

    fn structured(&self, ctx: &Context) -> [Record; 2] {
        let (a, team, options) = (self.stencil(), ctx.team(), StructuredIluOptions::default());
        let mut ilu = StructuredIlu::new(&[a.dims()], a.nb(), options, team).expect("a block size in range");
        let factor = Timing::of(self.budget, 3, || {
            ilu.factor(team, &[&a]).expect("diagonally dominant");
        });
        let b = &self.problem.b;
        let mut x = vec![vec![0.0; b.len()]];
        let apply = Timing::of(self.budget, 3, || ilu.solve(team, &[&a], &[b], &mut x));
        self.records("cpu", &self.structured_work(), factor, apply, &x[0])
    }

    fn on_gpu(&self, args: &Args, engine: GpuIluEngine, ctx: &Context) -> Result<Vec<Record>, CliError> {
        let a = self.stencil();
        let b = &self.problem.b;
        let mut system = gpu::OnDevice::new(&open(ctx)?, &a, b, args.copies)?;
        if args.tune {
            system.tune(self.budget)?;
            return Ok(Vec::new());
        }
        if let Some(steps) = args.steps {
            let expected = gpu::reference_squares(&a, b, steps)?;
            let found = system.squares(engine, steps)?;
            for (step, (expected, found)) in expected.iter().zip(&found).enumerate() {
                println!(
                    "{step:3}  {expected:.12e}  {found:.12e}  {:.1e}",
                    (found - expected).abs() / expected
                );
            }
            return Ok(Vec::new());
        }
        let parts = system.measure(engine, self.budget)?;
        let copies = args.copies as f64;
        let work = self.structured_work();
        let work = [work.factor, work.apply].map(|w| w.map(|v| v * copies));
        let case =
            if args.copies == 1 { self.case.to_string() } else { format!("{} x {}", self.case, args.copies) };
        let mut all = gpu::records(&format!("chromaflow-{}-d", engine.name()), &case, work, &parts);
        if let Some([factor, apply]) = system.measure_graphs(engine, self.budget)? {
            let parts = gpu::Parts { factor, apply, ..parts };
            let graphs = gpu::records(&format!("chromaflow-{}-d-graph", engine.name()), &case, work, &parts);
            all.extend(graphs.into_iter().take(2));
        }
        Ok(all)
    }

    fn general_on_gpu(&self, gpu: &Gpu) -> Result<[Record; 2], CliError> {
        let Problem { jac, b, .. } = &self.problem;
        let (storage, bytes) = match self.policy {
            Policy::D => (FactorStorage::F64, 8.0),
            _ => (FactorStorage::F32, 4.0),
        };
        let options = BlockIluOptions { storage, ..BlockIluOptions::default() };
        let (factor, apply, x) = gpu::general(gpu, jac, b, options, self.budget)?;
        Ok(self.records("cuda-general", &self.work(bytes), factor, apply, &x))
    }

    fn general(&self, ctx: &Context) -> [Record; 2] {
        let Problem { jac, b, .. } = &self.problem;
        let storage = FactorStorage::of(self.policy);
        let bytes = self.policy.off_bytes() as f64;
        let options = BlockIluOptions { storage, ..BlockIluOptions::default() };
        let make = |jac: &Jacobian| BlockIlu::new(jac.pattern(), jac.nb(), options, ctx.team());
        let mut ilu = make(jac).expect("a square pattern");
        let factor = Timing::of(self.budget, 3, || {
            ilu.factor(jac, ctx.team()).expect("diagonally dominant");
        });
        let mut x = vec![0.0; b.len()];
        let apply = Timing::of(self.budget, 3, || ilu.solve(ctx.team(), b, &mut x));
        self.records("general", &self.work(bytes), factor, apply, &x)
    }
}
