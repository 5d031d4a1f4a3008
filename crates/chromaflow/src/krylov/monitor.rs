//! When to stop, and what is told in the end.

use super::LinearOperator;
use crate::Outcome;
use crate::vector::norm2;
use chromaflow_device::Team;

/// When an iteration stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Converged when ||b - A x|| <= tolerance ||b||; 0 does all iterations.
    pub tolerance: f64,
    /// Most applications of the preconditioner.
    pub max_iterations: usize,
}

impl Default for Control {
    /// Ten orders, a thousand iterations.
    fn default() -> Self {
        Self { tolerance: 1e-10, max_iterations: 1000 }
    }
}

/// How a solve went.
#[derive(Clone, Debug, PartialEq)]
pub struct Solve {
    /// How it ended.
    pub outcome: Outcome,
    /// Iterations done: applications of the preconditioner (two in each step of [`BiCgStab`](super::BiCgStab)).
    pub iterations: usize,
    /// ||b - A x|| / ||b|| of the solution handed back, computed from it and not from a recurrence; ||b - A x|| where
    /// b = 0.
    pub relative_residual: f64,
    /// The relative residual before the first iteration and after each one, as the method sees it.
    pub history: Vec<f64>,
}

/// A residual that has grown by this factor over the first one will not come back.
const GROWTH: f64 = 1e10;
/// A cycle or window that lowers the residual by less than this factor is idle.
const IDLE: f64 = 0.999;
/// Idle windows in a row that make a stagnation.
const IDLE_WINDOWS: usize = 3;
/// Iterations of a window, where the method has no cycles.
const WINDOW: usize = 100;

/// Watches the residual of a running iteration.
pub(super) struct Monitor {
    control: Control,
    scale: f64,
    history: Vec<f64>,
    window_start: f64,
    /// The least residual of the window at hand, where windows are counted here.
    best: f64,
    idle: usize,
}

impl Monitor {
    /// Begins with the first residual: `r = b - A x` and its norm. The norm of b scales all residuals.
    ///
    /// # Panics
    /// When `b` or `x` has not `a.len()` entries.
    pub(super) fn start(
        team: &Team,
        a: &dyn LinearOperator,
        b: &[f64],
        x: &[f64],
        control: Control,
    ) -> (Self, Vec<f64>, f64) {
        let n = a.len();
        assert_eq!((b.len(), x.len()), (n, n), "b and x have one entry an unknown");
        let mut r = vec![0.0; n];
        a.residual(team, b, x, &mut r);
        let norm = norm2(team, &r);
        (Self::new(control, norm2(team, b), norm), r, norm)
    }

    /// Begins with a residual of norm `first`; `size` is the norm of b.
    pub(super) fn new(control: Control, size: f64, first: f64) -> Self {
        let scale = if size > 0.0 { size } else { 1.0 };
        let first = first / scale;
        Self { control, scale, history: vec![first], window_start: first, best: f64::INFINITY, idle: 0 }
    }

    pub(super) fn iterations(&self) -> usize {
        self.history.len() - 1
    }

    pub(super) fn limit_reached(&self) -> bool {
        self.iterations() >= self.control.max_iterations
    }

    /// Iterations that are left.
    pub(super) fn left(&self) -> usize {
        self.control.max_iterations - self.iterations()
    }

    pub(super) fn converged(&self, norm: f64) -> bool {
        norm <= self.control.tolerance * self.scale
    }

    /// Whether the last residual noted is below this part of the tolerance.
    #[cfg(feature = "cuda")]
    pub(super) fn reached(&self, part: f64) -> bool {
        self.history.last().is_some_and(|&r| r <= part * self.control.tolerance)
    }

    /// Notes the residual after an iteration.
    pub(super) fn push(&mut self, norm: f64) {
        self.history.push(norm / self.scale);
    }

    /// Replaces the last residual by a better known one.
    pub(super) fn correct(&mut self, norm: f64) {
        *self.history.last_mut().expect("starts with the first residual") = norm / self.scale;
    }

    /// Why to stop before another iteration from a residual of this norm.
    pub(super) fn stop(&self, norm: f64) -> Option<Outcome> {
        if self.converged(norm) {
            Some(Outcome::Converged)
        } else if self.diverged(norm) {
            Some(Outcome::Diverged { iteration: self.iterations() })
        } else if self.limit_reached() {
            Some(Outcome::IterationLimit)
        } else {
            None
        }
    }

    /// [`Self::stop`] for methods without cycles, which stagnate when windows of iterations do.
    pub(super) fn stop_or_stagnate(&mut self, norm: f64) -> Option<Outcome> {
        let stop = self.stop(norm);
        self.best = self.best.min(norm);
        if stop.is_none() && self.iterations() % WINDOW == WINDOW - 1 {
            let best = std::mem::replace(&mut self.best, f64::INFINITY);
            return self.stagnated(best).then_some(Outcome::Stagnated);
        }
        stop
    }

    /// Whether the residual has grown without bound or is no number.
    pub(super) fn diverged(&self, norm: f64) -> bool {
        !norm.is_finite() || norm / self.scale > GROWTH * self.history[0]
    }

    /// Whether the residual has hardly fallen in this window and the ones before.
    pub(super) fn stagnated(&mut self, norm: f64) -> bool {
        let now = norm / self.scale;
        self.idle = if now > IDLE * self.window_start { self.idle + 1 } else { 0 };
        self.window_start = self.window_start.min(now);
        self.idle >= IDLE_WINDOWS
    }

    pub(super) fn finish(self, outcome: Outcome, norm: f64) -> Solve {
        Solve {
            outcome,
            iterations: self.history.len() - 1,
            relative_residual: norm / self.scale,
            history: self.history,
        }
    }
}
