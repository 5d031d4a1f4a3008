//! BiCGStab.

use super::monitor::Monitor;
use super::{Control, LinearOperator, Preconditioner, Solve};
use crate::Outcome;
use crate::vector::{axpy, dot, norm2, xpay};
use chromaflow_device::Team;

/// Iterations between two looks at whether the residual still falls.
const WINDOW: usize = 200;

/// BiCGStab with the preconditioner on the right: seven vectors of memory however long it runs.
///
/// The preconditioner must stay the same from one iteration to the next. When the shadow residual becomes orthogonal
/// to the residual the method starts anew from where it is; when that happens again at once, it has broken down.
///
/// **Precision**: f64, sums chunked: the iterates do not depend on the number of threads. The final residual is
/// computed anew; where the recurrence has run away from it, the method starts anew.
/// **Outcome**: as [`Gmres`](super::Gmres); [`Outcome::Diverged`] also when the residual has grown by ten orders.
/// **Source**: van der Vorst (1992).
#[derive(Clone, Copy, Debug, Default)]
pub struct BiCgStab;

enum RunEnd {
    /// The recurrence says so; the residual must be looked at.
    Converged,
    Limit,
    Diverged,
    Breakdown,
    Stagnated,
}

impl BiCgStab {
    /// Solves A x = b from the first guess in `x`.
    ///
    /// # Panics
    /// When `b` or `x` has not `a.len()` entries.
    pub fn solve(
        self,
        team: &Team,
        a: &dyn LinearOperator,
        m: &mut dyn Preconditioner,
        b: &[f64],
        x: &mut [f64],
        control: &Control,
    ) -> Solve {
        let (mut monitor, mut r, mut norm) = Monitor::start(team, a, b, x, *control);
        let mut work = Work::new(r.len());
        let outcome = loop {
            if let Some(outcome) = monitor.stop(norm) {
                break outcome;
            }
            let (before, at) = (norm, monitor.iterations());
            let end = work.run(team, a, m, &mut r, x, &mut monitor);
            a.residual(team, b, x, &mut r);
            norm = norm2(team, &r);
            match end {
                RunEnd::Diverged => break Outcome::Diverged { iteration: monitor.iterations() },
                RunEnd::Stagnated => break Outcome::Stagnated,
                RunEnd::Breakdown if monitor.iterations() < at + 2 => break Outcome::Breakdown { row: 0 },
                RunEnd::Converged if !monitor.converged(norm) && norm > 0.5 * before => {
                    break Outcome::Stagnated;
                }
                _ => monitor.correct(norm),
            }
        };
        monitor.finish(outcome, norm)
    }
}

struct Work {
    shadow: Vec<f64>,
    p: Vec<f64>,
    v: Vec<f64>,
    t: Vec<f64>,
    z: Vec<f64>,
}

impl Work {
    fn new(n: usize) -> Self {
        let zero = || vec![0.0; n];
        Self { shadow: zero(), p: zero(), v: zero(), t: zero(), z: zero() }
    }

    /// Iterates from the residual `r`, which is also the shadow residual.
    fn run(
        &mut self,
        team: &Team,
        a: &dyn LinearOperator,
        m: &mut dyn Preconditioner,
        r: &mut [f64],
        x: &mut [f64],
        monitor: &mut Monitor,
    ) -> RunEnd {
        let Work { shadow, p, v, t, z } = self;
        shadow.copy_from_slice(r);
        p.copy_from_slice(r);
        let mut rho = dot(team, shadow, r);
        let mut best = f64::INFINITY;
        for step in 1.. {
            if monitor.limit_reached() {
                return RunEnd::Limit;
            }
            m.apply(team, p, z);
            a.apply(team, z, v);
            let sigma = dot(team, shadow, v);
            if !sigma.is_finite() {
                monitor.push(f64::NAN);
                return RunEnd::Diverged;
            }
            if tiny(sigma, norm2(team, shadow) * norm2(team, v)) {
                monitor.push(norm2(team, r));
                return RunEnd::Breakdown;
            }
            let alpha = rho / sigma;
            axpy(team, alpha, z, x);
            axpy(team, -alpha, v, r);
            let half = norm2(team, r);
            monitor.push(half);
            if monitor.converged(half) {
                return RunEnd::Converged;
            }
            if monitor.limit_reached() {
                return RunEnd::Limit;
            }
            m.apply(team, r, z);
            a.apply(team, z, t);
            let (tt, tr) = (dot(team, t, t), dot(team, t, r));
            if !tt.is_finite() || !tr.is_finite() {
                monitor.push(f64::NAN);
                return RunEnd::Diverged;
            }
            if tiny(tr, tt.sqrt() * half) {
                monitor.push(half);
                return RunEnd::Breakdown;
            }
            let omega = tr / tt;
            axpy(team, omega, z, x);
            axpy(team, -omega, t, r);
            let norm = norm2(team, r);
            monitor.push(norm);
            if monitor.converged(norm) {
                return RunEnd::Converged;
            }
            if monitor.diverged(norm) {
                return RunEnd::Diverged;
            }
            best = best.min(norm);
            if step % WINDOW == 0 && monitor.stagnated(std::mem::replace(&mut best, f64::INFINITY)) {
                return RunEnd::Stagnated;
            }
            let next = dot(team, shadow, r);
            if tiny(next, norm2(team, shadow) * norm) {
                return RunEnd::Breakdown;
            }
            let beta = next / rho * (alpha / omega);
            rho = next;
            // p = r + beta (p - omega v)
            axpy(team, -omega, v, p);
            xpay(team, r, beta, p);
        }
        unreachable!("the loop ends by a return")
    }
}

/// Whether an inner product is zero up to the rounding of its terms.
fn tiny(product: f64, norms: f64) -> bool {
    product.abs() <= f64::EPSILON * norms
}
