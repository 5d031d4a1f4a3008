//! `chromaflow bench multicolor`: sweeps on generated problems.

use super::problem::Problem;
use super::timing::{Record, Timing};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::Policy;
use chromaflow::gallery::{Case, Kind};
use chromaflow::gpu::{DeviceJacobian, Storage};
use chromaflow::relax::{
    DiagonalForm, Direction, Guess, MulticolorCuda, RelaxOptions, Smoother, SolveOptions,
};
use chromaflow::solver::RowOrder;
use chromaflow_device::Team;
use chromaflow_device::cuda::{DeviceBuffer, Gpu};
use std::sync::Arc;

/// Sweeps of one timed solve; the time of one is reported.
const SWEEPS: usize = 15;

/// Sweeps, and how often each passes over the matrix.
const SWEEP_OPS: [(&str, Direction, f64); 2] =
    [("gs_fwd", Direction::Forward, 1.0), ("gs_sym", Direction::Symmetric, 2.0)];

/// Arguments of `chromaflow bench multicolor`.
#[derive(clap::Args)]
pub struct Args {
    /// Problem: kuhn:NX,NY,NZ:NB, kuhn:NX,NY,NZ:NB:mc4 (renumbered by color) or grid7:I,J,K:NB
    #[arg(long, value_name = "CASE")]
    case: Option<Case>,
    /// The same, as a plain argument
    #[arg(value_name = "CASE", conflicts_with = "case", required_unless_present = "case")]
    positional: Option<Case>,
    /// Precision of off-diagonal blocks and correction: d, ds or dsh [default: all three]
    #[arg(long, value_name = "POLICY")]
    policy: Option<Policy>,
    /// Diagonal blocks as LU factors instead of inverses
    #[arg(long)]
    lu: bool,
    /// Color a case that comes in row order (with one thread, such a case is otherwise swept row by row)
    #[arg(long)]
    color: bool,
    /// Seconds for each measurement
    #[arg(long, value_name = "S", default_value_t = 0.25)]
    budget: f64,
}

/// Measures and prints one RES line for each operation and policy:
/// `RES,peer,"case",op,cores,median_ms,min_ms,p90_ms,repeats,bytes,flops,check,cpu_ms`.
///
/// # Errors
/// Bad usage.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let case = args.case.as_ref().or(args.positional.as_ref()).expect("clap asks for one");
    if case.kind == Kind::BlockTridiagonal {
        return Err(CliError::input(format!("{case}: block tridiagonal systems have no multicolor sweep")));
    }
    let budget = super::timing::budget(args.budget);
    if args.lu && ctx.gpu().is_some() {
        let remedy = "leave one of them out";
        return Err(CliError::input(format!(
            "--lu: GPUs keep inverses of diagonal blocks, no factors: {remedy}"
        )));
    }
    let form = if args.lu { DiagonalForm::Lu } else { DiagonalForm::Inverse };
    let policies = args.policy.map_or(Policy::ALL.to_vec(), |p| vec![p]);
    let mut records = Vec::new();
    for policy in policies {
        let color = args.color || ctx.team().size() > 1 || ctx.gpu().is_some();
        let bench = Bench::new(case, policy, form, color, ctx.team(), budget);
        let mut done = |record: &Record| {
            println!("{record}");
            records.push(record.json());
        };
        match ctx.gpu() {
            Some(gpu) => bench.all_on(gpu, done)?,
            None => bench.all(&mut done),
        }
    }
    ctx.write_json(&serde_json::json!({ "records": records }))?;
    Ok(Done::Success)
}

/// One case in one policy.
struct Bench {
    peer: String,
    name: String,
    team: Arc<Team>,
    policy: Policy,
    form: DiagonalForm,
    budget: f64,
    problem: Problem,
}

impl Bench {
    fn new(
        case: &Case,
        policy: Policy,
        form: DiagonalForm,
        color: bool,
        team: &Arc<Team>,
        budget: f64,
    ) -> Self {
        let order =
            if color && case.kind != Kind::Kuhn(true) { RowOrder::Multicolor } else { RowOrder::Natural };
        let problem = Problem::new(case, policy, order, team);
        let colored = order == RowOrder::Multicolor;
        let peer = format!("chromaflow-{policy}{}", if colored { "-colored" } else { "" });
        Self { peer, name: case.to_string(), team: Arc::clone(team), policy, form, budget, problem }
    }

    fn record(&self, op: &str, timing: Timing, [bytes, flops]: [f64; 2], check: f64) -> Record {
        Record {
            peer: self.peer.clone(),
            case: self.name.clone(),
            op: op.to_owned(),
            cores: self.team.size(),
            timing,
            bytes,
            flops,
            check,
        }
    }

    /// Rows, off-diagonal blocks, entries of a block.
    fn sizes(&self) -> [f64; 3] {
        let jac = &self.problem.jac;
        [jac.pattern().rows() as f64, jac.pattern().nnzb() as f64, (jac.nb() * jac.nb()) as f64]
    }

    /// Bytes and operations of a sweep.
    fn of_sweep(&self) -> [f64; 2] {
        let [n, nnzb, q] = self.sizes();
        let off = nnzb * q * self.policy.off_bytes() as f64 + 4.0 * (nnzb + n + 1.0);
        let vectors = n * q.sqrt() * (8.0 + 2.0 * self.policy.x_bytes() as f64);
        [off + 8.0 * n * q + vectors, 2.0 * q * (nnzb + n)]
    }

    /// Bytes and operations of a product.
    fn of_product(&self) -> [f64; 2] {
        let [n, nnzb, q] = self.sizes();
        let off = nnzb * q * self.policy.off_bytes() as f64 + 4.0 * (nnzb + n + 1.0);
        [off + 8.0 * n * q + 16.0 * n * q.sqrt(), 2.0 * q * (nnzb + n)]
    }

    fn all(&self, mut done: impl FnMut(&Record)) {
        let Problem { jac, batches, b, guess } = &self.problem;
        let [n, _, q] = self.sizes();
        let options = RelaxOptions { diagonal: self.form, isa: None };
        let mut mc =
            Smoother::multicolor(Arc::clone(&self.team), jac.pattern().clone(), jac.nb(), batches, options)
                .expect("the case's colors part neighbors");
        let (op, flops) = match self.form {
            DiagonalForm::Lu => ("diag_lu", 2.0 / 3.0 * q.powf(1.5) * n),
            DiagonalForm::Inverse => ("diag_invert", 2.0 * q.powf(1.5) * n),
        };
        let timing = Timing::of(self.budget, 5, || {
            mc.factor(jac).expect("set up for this matrix");
        });
        done(&self.record(op, timing, [16.0 * n * q, flops], 0.0));

        let mut x = guess.clone();
        let [bytes, flops] = self.of_sweep();
        for (op, direction, passes) in SWEEP_OPS {
            x.copy_from_slice(guess);
            let options =
                SolveOptions { guess: Guess::Given, history: true, direction, ..SolveOptions::sweeps(1) };
            let check = mc.solve(jac, b, &mut x, &options).expect("set up for this matrix");
            let options = SolveOptions { history: false, sweeps: SWEEPS, ..options };
            let timing = Timing::of(self.budget, 3, || {
                mc.solve(jac, b, &mut x, &options).expect("set up for this matrix");
            });
            let timing = timing.divided(SWEEPS);
            let check = check.relative_residual.expect("a history was asked for");
            done(&self.record(op, timing, [passes * bytes, passes * flops], check));
        }

        let mut y = vec![0.0; x.len()];
        let timing = Timing::of(self.budget, 5, || jac.multiply(&self.team, &x, &mut y));
        done(&self.record("spmv", timing, self.of_product(), 0.0));
    }

    /// The same by device events. `factor` takes the assembled values into the format of the sweeps and inverts the diagonal
    /// blocks.
    fn all_on(&self, gpu: &Gpu, mut done: impl FnMut(&Record)) -> CliResult<()> {
        let Problem { jac, batches, b, guess } = &self.problem;
        let stream = gpu.stream().map_err(CliError::device)?;
        let device = DeviceJacobian::upload(&stream, jac).map_err(CliError::device)?;
        let storage = Storage::from(self.policy);
        let mut mc = MulticolorCuda::new(&stream, jac.pattern(), jac.nb(), batches, storage)
            .map_err(CliError::device)?;
        let mut record = |op: &str, timing, work, check| {
            done(&Record {
                peer: format!("{}-cuda", self.peer),
                cores: 0,
                ..self.record(op, timing, work, check)
            });
        };
        let timing = Timing::on_device(&stream, self.budget, || mc.factor(&device).map(|_| ()))?;
        let [n, nnzb, q] = self.sizes();
        let off = nnzb * (2.0 * q * self.policy.off_bytes() as f64 + 4.0);
        record("factor", timing, [off + 24.0 * n * q, 2.0 * q.powf(1.5) * n], 0.0);

        let b = stream.upload(b).map_err(CliError::device)?;
        let given = stream.upload(guess).map_err(CliError::device)?;
        let mut x = DeviceBuffer::zeroed(&stream, b.len()).map_err(CliError::device)?;
        let [bytes, flops] = self.of_sweep();
        for (op, direction, passes) in SWEEP_OPS {
            x.copy_from(&given.slice()).map_err(CliError::device)?;
            let options =
                SolveOptions { guess: Guess::Given, history: true, direction, ..SolveOptions::sweeps(1) };
            let check = mc.solve(&b, &mut x, &options).map_err(CliError::device)?.relative_residual;
            let options = SolveOptions { history: false, sweeps: SWEEPS, ..options };
            let timing =
                Timing::on_device(&stream, self.budget, || mc.solve(&b, &mut x, &options).map(|_| ()))?;
            let work = [passes * bytes, passes * flops];
            record(op, timing.divided(SWEEPS), work, check.expect("a history was asked for"));
        }
        let mut y = DeviceBuffer::zeroed(&stream, b.len()).map_err(CliError::device)?;
        let timing = Timing::on_device(&stream, self.budget, || mc.matrix_mut().multiply(&x, &mut y))?;
        record("spmv", timing, self.of_product(), 0.0);
        Ok(())
    }
}
