//! The residual of a running iteration, and what is told in the end.

use crate::Outcome;
use crate::stop::{Control, StopCriterion};

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

/// Watches the residual of a running iteration.
pub(super) struct Monitor {
    criterion: StopCriterion,
    history: Vec<f64>,
}

/// A x = b, its present solution and residual, wherever the vectors live.
pub(super) trait System {
    /// What may go wrong besides the numbers.
    type Error;

    /// |b|
    fn size(&mut self) -> Result<f64, Self::Error>;

    /// r = b - A x; |r|
    fn residual(&mut self) -> Result<f64, Self::Error>;

    /// Told after each iteration; false ends the method.
    fn go_on(&mut self, _iteration: usize, _residual: f64) -> bool {
        true
    }
}

impl Monitor {
    /// Begins with the first residual; the norm of b scales all residuals.
    pub(super) fn start<S: System>(system: &mut S, control: &Control) -> Result<(Self, f64), S::Error> {
        let (norm, size) = (system.residual()?, system.size()?);
        Ok((Self::from_norms(norm, size, control), norm))
    }

    /// The same from the norms of the first residual and of b.
    pub(super) fn from_norms(norm: f64, size: f64, control: &Control) -> Self {
        let criterion = StopCriterion::new(*control, norm, size);
        let history = vec![norm / criterion.scale()];
        Self { criterion, history }
    }

    pub(super) fn iterations(&self) -> usize {
        self.history.len() - 1
    }

    /// Iterations that are left.
    pub(super) fn left(&self) -> usize {
        self.criterion.left(self.iterations())
    }

    pub(super) fn limit_reached(&self) -> bool {
        self.left() == 0
    }

    pub(super) fn converged(&self, norm: f64) -> bool {
        self.criterion.converged(norm)
    }

    /// Whether the residual has grown without bound or is no number.
    pub(super) fn diverged(&self, norm: f64) -> bool {
        self.criterion.diverged(norm)
    }

    /// Notes the residual after an iteration.
    pub(super) fn push(&mut self, norm: f64) {
        self.history.push(norm / self.criterion.scale());
    }

    /// Tells whoever listens about the last iteration; false ends the method.
    pub(super) fn tell<S: System>(&self, system: &mut S) -> bool {
        let (iteration, residual) = self.last();
        system.go_on(iteration, residual)
    }

    /// The number of the last iteration and its relative residual.
    pub(super) fn last(&self) -> (usize, f64) {
        (self.iterations(), *self.history.last().expect("starts with the first residual"))
    }

    /// Replaces the last residual by a better known one.
    pub(super) fn correct(&mut self, norm: f64) {
        *self.history.last_mut().expect("starts with the first residual") = norm / self.criterion.scale();
    }

    /// Why to stop before another iteration from a residual of this norm.
    pub(super) fn stop(&self, norm: f64) -> Option<Outcome> {
        self.criterion.stop(norm, self.iterations())
    }

    /// Whether windows of iterations have been idle, of methods without cycles.
    pub(super) fn stagnates(&mut self, norm: f64) -> bool {
        self.criterion.stagnates(norm, self.history.len() - 1)
    }

    /// Whether this cycle and those before have been idle.
    pub(super) fn cycle_stagnates(&mut self, norm: f64) -> bool {
        self.criterion.cycle_stagnates(norm)
    }

    pub(super) fn finish(self, outcome: Outcome, norm: f64) -> Solve {
        Solve {
            outcome,
            iterations: self.history.len() - 1,
            relative_residual: norm / self.criterion.scale(),
            history: self.history,
        }
    }
}
