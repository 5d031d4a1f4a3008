//! When to stop, and what is told in the end.

use crate::Outcome;

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

/// A x = b, its present solution and residual, wherever the vectors live.
pub(super) trait System {
    /// What may go wrong besides the numbers.
    type Error;

    /// |b|
    fn size(&mut self) -> Result<f64, Self::Error>;

    /// r = b - A x; |r|
    fn residual(&mut self) -> Result<f64, Self::Error>;
}

impl Monitor {
    /// Begins with the first residual; the norm of b scales all residuals.
    pub(super) fn start<S: System>(system: &mut S, control: &Control) -> Result<(Self, f64), S::Error> {
        let (norm, size) = (system.residual()?, system.size()?);
        let scale = if size > 0.0 { size } else { 1.0 };
        let first = norm / scale;
        let (history, best) = (vec![first], f64::INFINITY);
        Ok((Self { control: *control, scale, history, window_start: first, best, idle: 0 }, norm))
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
