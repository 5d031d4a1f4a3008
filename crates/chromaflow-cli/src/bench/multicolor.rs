//! `chromaflow bench multicolor`: sweeps on generated problems.

use super::timing::{Record, Timing};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::order::{ColoringMethod, Plan, PlanOptions, VertexOrder};
use chromaflow::relax::{DiagonalForm, Direction, Guess, Multicolor, RelaxOptions, Schedule, SolveOptions};
use chromaflow::sparse::{HalfScale, OffRow};
use chromaflow::{BlockPattern, Jacobian, Policy, RowBatches};
use chromaflow_device::Team;
use chromaflow_testkit::{Case, Kind};
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
    let budget = std::env::var("PEER_BUDGET_S").ok().and_then(|s| s.parse().ok()).unwrap_or(args.budget);
    let form = if args.lu { DiagonalForm::Lu } else { DiagonalForm::Inverse };
    let policies = args.policy.map_or(Policy::ALL.to_vec(), |p| vec![p]);
    let mut records = Vec::new();
    for policy in policies {
        let color = args.color || ctx.team().size() > 1;
        let mut bench = Bench::new(case, policy, form, color, ctx.team(), budget);
        bench.all(|record| {
            println!("{record}");
            records.push(record.json());
        });
    }
    ctx.write_json(&serde_json::json!({ "records": records }))?;
    Ok(Done::AsAsked)
}

/// One case in one policy.
struct Bench {
    peer: String,
    name: String,
    team: Arc<Team>,
    policy: Policy,
    form: DiagonalForm,
    budget: f64,
    jac: Jacobian,
    batches: RowBatches,
    b: Vec<f64>,
    guess: Vec<f64>,
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
        let generated = case.pattern();
        let (n, nb) = (case.rows(), case.nb);
        let given = BlockPattern::new(n, generated.row_ptr, generated.col_idx).expect("generated in order");
        let in_row_order = RowBatches::new((0..=n as u32).collect());
        // Rows of the matrix as it is swept, and the rows of the case that they are.
        let mut old_of_new: Vec<u32> = (0..n as u32).collect();
        let mut old_positions: Vec<u32> = (0..given.nnzb() as u32).collect();
        let (mut pattern, mut colored) = (given.clone(), false);
        let batches = match generated.colors {
            Some(colors) => RowBatches::new(colors),
            None if color => {
                let coloring = ColoringMethod::Greedy(VertexOrder::Natural);
                let options = PlanOptions { rcm: false, coloring, ..PlanOptions::default() };
                let plan = Plan::with_team(&given, &options, team).expect("a square pattern");
                (pattern, old_positions) = given.permuted(&plan.permutation);
                old_of_new = plan.permutation.old_of_new().to_vec();
                colored = true;
                plan.batches
            }
            None => in_row_order,
        };
        let schedule = Schedule::for_team(&pattern, nb, &batches, team);
        let mut jac = Jacobian::zeroed(pattern, nb, policy).expect("a square pattern");
        let stored = Arc::clone(jac.pattern());
        let q = nb * nb;
        jac.assemble(team, &schedule, |row, diag, mut off| {
            let (old, positions) = (old_of_new[row] as usize, stored.range(row));
            case.fill_diag(old, positions.len(), diag);
            let mut block = vec![0.0; q];
            for (k, position) in positions.enumerate() {
                case.fill_off(old_positions[position] as usize, &mut block);
                match &mut off {
                    OffRow::F64(v) => v[k * q..].iter_mut().zip(&block).for_each(|(to, &v)| *to = v.into()),
                    OffRow::F32(v) => v[k * q..(k + 1) * q].copy_from_slice(&block),
                }
            }
        });
        if policy == Policy::Dsh {
            jac.convert_to_f16(team, HalfScale::Global).expect("assembled in f32");
        }
        let vector = |f: &dyn Fn(usize) -> f64| {
            old_of_new.iter().flat_map(|&old| (0..nb).map(move |r| old as usize * nb + r)).map(f).collect()
        };
        let (b, guess) = (vector(&|i| case.rhs(i)), vector(&|i| case.guess(i)));
        let peer = format!("chromaflow-{policy}{}", if colored { "-colored" } else { "" });
        let (name, team) = (case.to_string(), Arc::clone(team));
        Self { peer, name, team, policy, form, budget, jac, batches, b, guess }
    }

    fn all(&mut self, mut done: impl FnMut(&Record)) {
        let pattern = Arc::clone(self.jac.pattern());
        let (n, nnzb, nb) = (pattern.rows() as f64, pattern.nnzb() as f64, self.jac.nb() as f64);
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
        let mut mc = Multicolor::new(Arc::clone(&self.team), pattern, self.jac.nb(), &self.batches, options)
            .expect("the case's colors part neighbors");
        let (op, flops) = match self.form {
            DiagonalForm::Lu => ("diag_lu", 2.0 / 3.0 * q * nb * n),
            DiagonalForm::Inverse => ("diag_invert", 2.0 * q * nb * n),
        };
        let timing = Timing::of(self.budget, 5, || {
            mc.factor(&self.jac).expect("set up for this matrix");
        });
        done(&record(op, timing, 2.0 * diag_bytes, flops, 0.0));

        let mut x = self.guess.clone();
        let x_bytes = self.policy.x_bytes() as f64;
        let sweep_bytes = off_bytes + diag_bytes + n * nb * (8.0 + 2.0 * x_bytes);
        for (op, direction, passes) in
            [("gs_fwd", Direction::Forward, 1.0), ("gs_sym", Direction::Symmetric, 2.0)]
        {
            x.copy_from_slice(&self.guess);
            let options =
                SolveOptions { guess: Guess::Given, history: true, direction, ..SolveOptions::sweeps(1) };
            let check = mc.solve(&self.jac, &self.b, &mut x, &options).expect("set up for this matrix");
            let options = SolveOptions { history: false, sweeps: SWEEPS, ..options };
            let timing = Timing::of(self.budget, 3, || {
                mc.solve(&self.jac, &self.b, &mut x, &options).expect("set up for this matrix");
            });
            let timing = timing.divided(SWEEPS);
            let check = check.relative_residual.expect("a history was asked for");
            done(&record(op, timing, passes * sweep_bytes, passes * 2.0 * q * (nnzb + n), check));
        }

        let mut y = vec![0.0; x.len()];
        let timing = Timing::of(self.budget, 5, || self.jac.multiply(&self.team, &x, &mut y));
        let bytes = off_bytes + diag_bytes + 16.0 * n * nb;
        done(&record("spmv", timing, bytes, 2.0 * q * (nnzb + n), 0.0));
    }
}
