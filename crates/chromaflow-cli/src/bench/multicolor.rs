//! `chromaflow bench multicolor`: sweeps on generated problems.

use super::problem::Problem;
use super::timing::{Record, Timing};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::Policy;
use chromaflow::gallery::{Case, Kind};
use chromaflow::relax::{DiagonalForm, Direction, Guess, Multicolor, RelaxOptions, SolveOptions};
use chromaflow::solver::RowOrder;
use chromaflow_device::Team;
use std::sync::Arc;

/// Sweeps of one timed solve; the time of one is reported.
const SWEEPS: usize = 15;

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
    let form = if args.lu { DiagonalForm::Lu } else { DiagonalForm::Inverse };
    let policies = args.policy.map_or(Policy::ALL.to_vec(), |p| vec![p]);
    let mut records = Vec::new();
    for policy in policies {
        let color = args.color || ctx.team().size() > 1;
        let bench = Bench::new(case, policy, form, color, ctx.team(), budget);
        bench.all(|record| {
            println!("{record}");
            records.push(record.json());
        });
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

    fn all(&self, mut done: impl FnMut(&Record)) {
        let Problem { jac, batches, b, guess } = &self.problem;
        let pattern = Arc::clone(jac.pattern());
        let (n, nnzb, nb) = (pattern.rows() as f64, pattern.nnzb() as f64, jac.nb() as f64);
        let q = nb * nb;
        let record = |op: &str, timing: Timing, bytes: f64, flops: f64, check: f64| Record {
            peer: self.peer.clone(),
            case: self.name.clone(),
            op: op.to_owned(),
            cores: self.team.size(),
            timing,
            bytes,
            flops,
            check,
        };
        let off_bytes = nnzb * q * self.policy.off_bytes() as f64 + 4.0 * (nnzb + n + 1.0);
        let diag_bytes = n * q * 8.0;

        let options = RelaxOptions { diagonal: self.form, isa: None };
        let mut mc = Multicolor::new(Arc::clone(&self.team), pattern, jac.nb(), batches, options)
            .expect("the case's colors part neighbors");
        let (op, flops) = match self.form {
            DiagonalForm::Lu => ("diag_lu", 2.0 / 3.0 * q * nb * n),
            DiagonalForm::Inverse => ("diag_invert", 2.0 * q * nb * n),
        };
        let timing = Timing::of(self.budget, 5, || {
            mc.factor(jac).expect("set up for this matrix");
        });
        done(&record(op, timing, 2.0 * diag_bytes, flops, 0.0));

        let mut x = guess.clone();
        let x_bytes = self.policy.x_bytes() as f64;
        let sweep_bytes = off_bytes + diag_bytes + n * nb * (8.0 + 2.0 * x_bytes);
        for (op, direction, passes) in
            [("gs_fwd", Direction::Forward, 1.0), ("gs_sym", Direction::Symmetric, 2.0)]
        {
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
            done(&record(op, timing, passes * sweep_bytes, passes * 2.0 * q * (nnzb + n), check));
        }

        let mut y = vec![0.0; x.len()];
        let timing = Timing::of(self.budget, 5, || jac.multiply(&self.team, &x, &mut y));
        let bytes = off_bytes + diag_bytes + 16.0 * n * nb;
        done(&record("spmv", timing, bytes, 2.0 * q * (nnzb + n), 0.0));
    }
}
