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

    /// After a step from a state of this residual, density's and as [judged](crate::march::Host::judged), `limited` of its updates cut (a fraction of
    /// the rows).
    fn accept(&mut self, residual: [f64; 2], limited: f64);

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

    /// Part of its solution that a Newton-Krylov step takes.
    fn part(&self) -> f64 {
        1.0
    }

    /// Whether systems of Newton-Krylov steps were hard to solve: their matrix is to damp more from here on.
    fn is_hard(&self) -> bool {
        false
    }

    /// How many coarse grids the next explicit step may use.
    fn coarse_grids(&self) -> usize {
        0
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

    fn accept(&mut self, residual: [f64; 2], limited: f64) {
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

    fn part(&self) -> f64 {
        CflControl::part(self)
    }

    fn is_hard(&self) -> bool {
        self.is_hard()
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
///
/// Coarse grids carry changes across shocks by the linear waves of one side. Where shocks stand on a body and move, the more of them the more they
/// keep it swinging, until steps are rejected. Of several one is given up where residuals have not fallen for long, and with each rejected step: the steady
/// state is the fine grid's whatever carries the changes.
#[derive(Clone, Copy, Debug)]
pub struct CourantControl {
    value: f64,
    requested: f64,
    rejected: usize,
    /// Coarse grids that are left.
    coarse: usize,
    /// The smallest residual with them, and steps since then.
    least: f64,
    idle: usize,
}

/// Growth a step towards the requested Courant number.
const GROWTH: f64 = 1.01;
/// A run that rejects more steps than this is given up.
const MOST_REJECTED: usize = 6;
/// Steps without a residual that is a twentieth smaller after which a coarse grid is given up,
const SWINGING: usize = 300;
/// but for so many, with which transonic airfoils were seen to converge after 900 of them.
const LAST: usize = 1;

impl CourantControl {
    /// Starts at the requested Courant number, which it never exceeds.
    pub fn new(requested: f64) -> Self {
        Self { value: requested, requested, rejected: 0, coarse: 0, least: f64::INFINITY, idle: 0 }
    }

    /// The same with so many coarse grids.
    pub fn with_coarse_grids(self, coarse: usize) -> Self {
        Self { coarse, ..self }
    }

    fn give_up_a_grid(&mut self) {
        (self.coarse, self.least, self.idle) = (self.coarse.saturating_sub(1), f64::INFINITY, 0);
    }
}

impl StepControl for CourantControl {
    fn value(&self) -> f64 {
        self.value
    }

    fn accept(&mut self, [residual, _]: [f64; 2], _limited: f64) {
        self.value = (self.value * GROWTH).min(self.requested);
        if residual < 0.95 * self.least {
            (self.least, self.idle) = (residual, 0);
        } else {
            self.idle += 1;
        }
        if self.coarse > LAST && self.idle >= SWINGING {
            self.give_up_a_grid();
        }
    }

    fn coarse_grids(&self) -> usize {
        self.coarse
    }

    fn reject(&mut self) -> bool {
        self.value *= 0.5;
        self.rejected += 1;
        self.give_up_a_grid();
        self.rejected <= MOST_REJECTED
    }

    fn reset(&mut self) {}

    fn limit(&mut self, largest: f64) {
        self.requested = largest;
        self.value = self.value.min(largest);
    }

    fn store(&self, restart: &mut Restart) {
        restart.set("cfl", self.value);
        // A fact is no number where there is none.
        restart.set("coarse_grids_and_one", (self.coarse + 1) as f64);
        restart.set("coarse_grids_idle", self.idle as f64);
        if self.least.is_finite() {
            restart.set("coarse_grids_least", self.least);
        }
    }

    fn resume(&mut self, restart: &Restart) {
        self.value = restart.positive("cfl").map_or(self.requested, |c| c.min(self.requested));
        let left = restart.positive("coarse_grids_and_one").map(|grids| grids as usize - 1);
        self.coarse = left.map_or(self.coarse, |left| left.min(self.coarse));
        self.idle = restart.positive("coarse_grids_idle").unwrap_or(0.0) as usize;
        self.least = restart.positive("coarse_grids_least").unwrap_or(f64::INFINITY);
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
            control.accept([1.0; 2], 0.0);
        }
        assert_eq!(control.value(), 0.8);
        assert!((0..5).all(|_| control.reject()) && !control.reject());
    }

    #[test]
    fn coarse_grids_are_given_up_where_residuals_swing() {
        let mut control = CourantControl::new(0.8).with_coarse_grids(3);
        (0..5000).for_each(|i| control.accept([0.999_f64.powi(i); 2], 0.0));
        assert_eq!(control.coarse_grids(), 3, "they fall slowly");
        let swing = |i: usize| 0.1 * (1.5 + (0.05 * i as f64).sin());
        let left = |control: &mut CourantControl, steps: usize| {
            (0..steps).for_each(|i| control.accept([swing(i); 2], 0.0));
            control.coarse_grids()
        };
        assert_eq!(left(&mut control, SWINGING), 2);
        let mut restart = Restart::default();
        control.store(&mut restart);
        let mut again = CourantControl::new(0.8).with_coarse_grids(3);
        again.resume(&restart);
        assert_eq!(again.coarse_grids(), 2);
        assert!(again.reject() && again.coarse_grids() == 1);
        assert_eq!([left(&mut control, 2 * SWINGING), left(&mut control, 9 * SWINGING)], [1, 1], "the last");
        assert!(again.reject() && again.coarse_grids() == 0);
    }
}
