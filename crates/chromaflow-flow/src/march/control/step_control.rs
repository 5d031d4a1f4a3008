//! How the next step is chosen: what a march tells its control.

use super::CflControl;
use crate::output::Restart;

/// Why a step was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// A density or pressure that is none, a number that is not finite, a block that cannot be inverted.
    State,
    /// The linear solver made its system's residual larger.
    Linear,
    /// The flow's residual grew by too much.
    Growth,
}

/// Rejected steps by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// See [`Rejection::State`].
    pub state: usize,
    /// See [`Rejection::Linear`].
    pub linear: usize,
    /// See [`Rejection::Growth`].
    pub growth: usize,
}

impl Rejections {
    /// One more.
    pub(in crate::march) fn add(&mut self, why: Rejection) {
        match why {
            Rejection::State => self.state += 1,
            Rejection::Linear => self.linear += 1,
            Rejection::Growth => self.growth += 1,
        }
    }
}

/// Chooses the CFL number of each step.
pub trait StepControl: Send + Sync {
    /// The CFL number of the next step.
    fn value(&self) -> f64;

    /// After a step from a state of this residual, `limited` of its updates cut (a fraction of the rows).
    fn accept(&mut self, residual: f64, limited: f64);

    /// Whether the step that led to a state of this residual is to be rejected.
    fn rejects_growth(&self, _residual: f64) -> bool {
        false
    }

    /// Whether the linear system of this step is to be looked at.
    fn doubts(&self) -> bool {
        false
    }

    /// Whether an update is to be rejected whose linear residual was reduced by this factor.
    fn rejects_update(&mut self, _reduction: f64) -> bool {
        false
    }

    /// Part of the usual tolerance to which the linear system of a Newton-Krylov step is solved.
    fn forcing(&self) -> f64 {
        1.0
    }

    /// Times as many directions of GMRES as asked for, of a Newton-Krylov step.
    fn widening(&self) -> usize {
        1
    }

    /// After a step that was rejected; whether it is worth another try.
    fn reject(&mut self) -> bool;

    /// The next residual is of another problem: not to be compared with the last one.
    fn reset(&mut self);

    /// The next step is of another kind: what made residuals stall before says nothing of it.
    fn turn(&mut self) {
        self.reset();
    }

    /// The next step is the first one of another problem.
    fn begin(&mut self) {
        self.reset();
    }

    /// Sets the largest CFL number, from the next step on.
    fn limit(&mut self, largest: f64);

    /// Writes it into a restart.
    fn store(&self, restart: &mut Restart);

    /// Goes on as a restart says, within the configured limits.
    fn resume(&mut self, restart: &Restart);
}

impl StepControl for CflControl {
    fn value(&self) -> f64 {
        self.value
    }

    fn accept(&mut self, residual: f64, limited: f64) {
        self.accept(residual, limited);
    }

    fn rejects_growth(&self, residual: f64) -> bool {
        self.rejects_growth(residual)
    }

    fn doubts(&self) -> bool {
        self.doubts()
    }

    fn rejects_update(&mut self, reduction: f64) -> bool {
        self.rejects_update(reduction)
    }

    fn forcing(&self) -> f64 {
        self.forcing
    }

    fn widening(&self) -> usize {
        self.widening
    }

    fn reject(&mut self) -> bool {
        self.reject()
    }

    fn reset(&mut self) {
        self.forget();
    }

    fn turn(&mut self) {
        self.forget();
        (self.ceiling, self.capped) = (self.config.max, 0.0);
    }

    fn begin(&mut self) {
        self.begin();
    }

    fn limit(&mut self, largest: f64) {
        self.limit(largest);
    }

    fn store(&self, restart: &mut Restart) {
        self.store(restart);
    }

    fn resume(&mut self, restart: &Restart) {
        self.recall(restart);
    }
}

/// Explicit steps: a Courant number that is halved with each rejected step and grows back slowly.
#[derive(Clone, Copy, Debug)]
pub struct CourantControl {
    value: f64,
    requested: f64,
    rejected: usize,
}

/// Growth a step towards the requested Courant number.
const GROWTH: f64 = 1.01;
/// A run that rejects more steps than this is given up.
const MOST_REJECTED: usize = 6;

impl CourantControl {
    /// Starts at the requested Courant number, which it never exceeds.
    pub fn new(requested: f64) -> Self {
        Self { value: requested, requested, rejected: 0 }
    }
}

impl StepControl for CourantControl {
    fn value(&self) -> f64 {
        self.value
    }

    fn accept(&mut self, _residual: f64, _limited: f64) {
        self.value = (self.value * GROWTH).min(self.requested);
    }

    fn reject(&mut self) -> bool {
        self.value *= 0.5;
        self.rejected += 1;
        self.rejected <= MOST_REJECTED
    }

    fn reset(&mut self) {}

    fn limit(&mut self, largest: f64) {
        self.requested = largest;
        self.value = self.value.min(largest);
    }

    fn store(&self, restart: &mut Restart) {
        restart.set("cfl", self.value);
    }

    fn resume(&mut self, restart: &Restart) {
        self.value = restart.positive("cfl").map_or(self.requested, |c| c.min(self.requested));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn courant_numbers_recover_and_give_up() {
        let mut control = CourantControl::new(0.8);
        assert!(control.reject());
        assert_eq!(control.value(), 0.4);
        for _ in 0..100 {
            control.accept(1.0, 0.0);
        }
        assert_eq!(control.value(), 0.8);
        assert!((0..5).all(|_| control.reject()) && !control.reject());
    }
}
