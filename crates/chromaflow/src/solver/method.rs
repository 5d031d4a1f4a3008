//! The methods behind the options.

use super::SolverError;
use super::options::{Method, PreconditionerKind, SolverOptions};
use crate::factor::block_ilu::{BlockIlu, BlockIluOptions, FactorStorage};
use crate::krylov::{
    BiCgStab, Control, Gmres, Identity, Preconditioner, Relaxation, Richardson, Smoother, Solve,
};
use crate::order::Plan;
use crate::relax::{Guess, Jacobi, Multicolor, RelaxOptions, SolveOptions};
use crate::vector::norm2;
use crate::{BlockCsr, Jacobian, Outcome, Policy};
use chromaflow_device::Team;
use std::sync::Arc;

/// What stands for an approximate inverse of the matrix.
enum Inverse {
    None,
    Relaxation { smoother: Smoother, matrix: Jacobian },
    Ilu { ilu: BlockIlu, matrix: Jacobian },
}

pub(super) struct Machine {
    inverse: Inverse,
    gmres: Gmres,
    unknowns: usize,
}

/// GMRES whose cycles may grow as long as their vectors stay within bounds.
fn gmres(options: &SolverOptions, unknowns: usize) -> Gmres {
    let affordable = BASIS_BYTES / (16 * unknowns.max(1));
    Gmres::new(options.restart).growing(options.longest_restart.min(affordable))
}

/// Most memory for vectors of cycles longer than the restart asked for.
const BASIS_BYTES: usize = 1 << 30;

/// What taking over new values found. Rows are those inside.
#[derive(Default)]
pub(super) struct Numeric {
    pub(super) pivoted: usize,
    pub(super) pivoted_rows: Vec<u32>,
    pub(super) singular: usize,
    pub(super) singular_rows: Vec<u32>,
    pub(super) underflowed: usize,
}

fn sweeps(options: &SolverOptions) -> SolveOptions {
    SolveOptions {
        sweeps: options.sweeps,
        tolerance: None,
        direction: options.direction,
        damping: options.damping,
        guess: Guess::Zero,
        history: false,
        restart: None,
    }
}

impl Machine {
    pub(super) fn new(
        team: &Arc<Team>,
        matrix: &BlockCsr,
        plan: &Plan,
        options: &SolverOptions,
    ) -> Result<Self, SolverError> {
        let nb = matrix.nb();
        let setup = RelaxOptions { diagonal: options.diagonal, isa: None };
        let inverse = match options.relaxation() {
            PreconditionerKind::None => Inverse::None,
            PreconditionerKind::Jacobi => {
                let matrix = Jacobian::from_csr(matrix, options.policy)?;
                let smoother = Jacobi::new(Arc::clone(team), Arc::clone(matrix.pattern()), nb, setup)?;
                Inverse::Relaxation { smoother: Smoother::Jacobi(smoother), matrix }
            }
            PreconditionerKind::Multicolor => {
                let matrix = Jacobian::from_csr(matrix, options.policy)?;
                let pattern = Arc::clone(matrix.pattern());
                let smoother = Multicolor::new(Arc::clone(team), pattern, nb, &plan.batches, setup)?;
                Inverse::Relaxation { smoother: Smoother::Multicolor(smoother), matrix }
            }
            PreconditionerKind::Ilu => {
                // Factoring starts from f64 values; the policy decides how factors are stored.
                let matrix = Jacobian::from_csr(matrix, Policy::D)?;
                let storage = FactorStorage::of(options.policy);
                let setup = BlockIluOptions { fill: options.fill, storage, ..Default::default() };
                Inverse::Ilu { ilu: BlockIlu::new(matrix.pattern(), nb, setup, team)?, matrix }
            }
        };
        let unknowns = matrix.pattern().rows() * nb;
        Ok(Self { inverse, unknowns, gmres: gmres(options, unknowns) })
    }

    /// Takes over the restart.
    pub(super) fn retune(&mut self, options: &SolverOptions) {
        self.gmres = gmres(options, self.unknowns);
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.inverse {
            Inverse::None => 0,
            Inverse::Relaxation { matrix, .. } => matrix.bytes() + matrix.diag.bytes(),
            Inverse::Ilu { ilu, matrix } => matrix.bytes() + ilu.bytes(),
        }
    }

    pub(super) fn set_values(
        &mut self,
        team: &Team,
        from: &BlockCsr,
        options: &SolverOptions,
    ) -> Result<Numeric, SolverError> {
        let mut numeric = Numeric::default();
        match &mut self.inverse {
            Inverse::None => {}
            Inverse::Relaxation { smoother, matrix } => {
                matrix.restore_f32();
                matrix.copy_from(from)?;
                if options.policy == Policy::Dsh {
                    let converted = matrix.convert_to_f16(team, options.half_scale);
                    numeric.underflowed = converted.expect("blocks are in f32").underflowed;
                }
                let found = smoother.factor(matrix)?;
                (numeric.pivoted, numeric.pivoted_rows) = (found.pivoted, found.pivoted_rows);
                (numeric.singular, numeric.singular_rows) = (found.singular, found.singular_rows);
            }
            Inverse::Ilu { ilu, matrix } => {
                matrix.copy_from(from)?;
                match ilu.factor(matrix, team) {
                    Ok(report) => {
                        (numeric.pivoted, numeric.pivoted_rows) = (report.pivoted.len(), report.pivoted);
                        numeric.pivoted_rows.truncate(crate::relax::FactorReport::LISTED);
                    }
                    Err(bad) => (numeric.singular, numeric.singular_rows) = (1, vec![bad.row as u32]),
                }
            }
        }
        Ok(numeric)
    }

    pub(super) fn solve(
        &mut self,
        team: &Team,
        a: &BlockCsr,
        options: &SolverOptions,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solve, SolverError> {
        let control = Control { tolerance: options.tolerance, max_iterations: options.max_iterations };
        let (mut identity, mut relaxation);
        let m: &mut dyn Preconditioner = match &mut self.inverse {
            Inverse::Relaxation { smoother, matrix } => {
                if let Method::Multicolor | Method::Jacobi = options.method {
                    return relax(team, a, smoother, matrix, options, b, x);
                }
                relaxation = Relaxation { smoother, matrix, options: sweeps(options) };
                &mut relaxation
            }
            Inverse::Ilu { ilu, .. } => {
                if options.method == Method::Ilu0 {
                    let fixed = options.tolerance == 0.0;
                    let total = if fixed { options.sweeps } else { options.max_iterations };
                    let control = Control { max_iterations: total, ..control };
                    return Ok(Richardson::default().solve(team, a, ilu, b, x, &control));
                }
                ilu
            }
            Inverse::None => {
                identity = Identity;
                &mut identity
            }
        };
        Ok(match options.method {
            Method::BiCgStab => BiCgStab.solve(team, a, m, b, x, &control),
            _ => self.gmres.solve(team, a, m, b, x, &control),
        })
    }
}

/// A relaxation alone.
fn relax(
    team: &Team,
    a: &BlockCsr,
    smoother: &mut Smoother,
    matrix: &Jacobian,
    options: &SolverOptions,
    b: &[f64],
    x: &mut [f64],
) -> Result<Solve, SolverError> {
    let fixed = options.tolerance == 0.0;
    let inner = options.correction_sweeps;
    let total = if fixed { options.sweeps } else { options.max_iterations };
    if inner > 0 {
        let once = SolveOptions { sweeps: inner, ..sweeps(options) };
        let mut relaxation = Relaxation { smoother, matrix, options: once };
        let control = Control { tolerance: options.tolerance, max_iterations: total.div_ceil(inner) };
        let mut solve = Richardson::default().solve(team, a, &mut relaxation, b, x, &control);
        solve.iterations *= inner;
        return Ok(solve);
    }
    let mut r = vec![0.0; b.len()];
    let scale = match norm2(team, b) {
        0.0 => 1.0,
        norm => norm,
    };
    let mut residual = |x: &[f64]| {
        a.residual(team, b, x, &mut r);
        norm2(team, &r) / scale
    };
    let mut history = vec![residual(x)];
    let step = if fixed && !options.history { total.max(1) } else { 1 };
    let once = SolveOptions { sweeps: step, guess: Guess::Given, ..sweeps(options) };
    let mut done = 0;
    let outcome = loop {
        if let Some(end) = end_of_sweeps(&history, options.tolerance, done) {
            break end;
        }
        if done >= total {
            break Outcome::IterationLimit;
        }
        let report = smoother.solve(matrix, b, x, &once)?;
        done += report.sweeps;
        history.push(residual(x));
        if let Outcome::Diverged { .. } | Outcome::Breakdown { .. } = report.outcome {
            break report.outcome;
        }
    };
    let now = history[history.len() - 1];
    Ok(Solve { outcome, iterations: done, relative_residual: now, history })
}

/// A residual that has grown by this factor will not come back.
const GROWTH: f64 = 1e10;
/// Sweeps within which the residual must fall by a hundredth, where there is a tolerance.
const IDLE_SWEEPS: usize = 50;

/// Whether uncorrected sweeps end here.
fn end_of_sweeps(history: &[f64], tolerance: f64, iteration: usize) -> Option<Outcome> {
    let now = history[history.len() - 1];
    if tolerance > 0.0 && now <= tolerance {
        return Some(Outcome::Converged);
    }
    if !now.is_finite() || now > GROWTH * history[0] {
        return Some(Outcome::Diverged { iteration });
    }
    let before = history.len().checked_sub(IDLE_SWEEPS + 1).map(|at| history[at]);
    before.filter(|&before| tolerance > 0.0 && now > 0.99 * before).map(|_| Outcome::Stagnated)
}
