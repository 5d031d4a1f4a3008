//! When an iteration stops: one rule for relaxations, corrections and Krylov methods.

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

/// A residual that has grown by this factor over the first one will not come back.
pub(crate) const GROWTH: f64 = 1e10;
/// A window of iterations that lowers the residual by less than this factor is idle.
const IDLE: f64 = 0.999;
/// Idle windows in a row that make a stagnation.
const IDLE_WINDOWS: usize = 3;
/// Iterations of a window, where the method has no cycles.
const WINDOW: usize = 100;

/// Judges the residuals of a running iteration.
#[derive(Clone, Debug)]
pub(crate) struct StopCriterion {
    control: Control,
    /// |b|, or 1 where b = 0.
    scale: f64,
    /// The first residual over `scale`.
    first: f64,
    window_start: f64,
    window_end: usize,
    /// The least residual norm of the window at hand.
    best: f64,
    idle: usize,
}

impl StopCriterion {
    /// From the norms of the first residual and of b.
    pub(crate) fn new(control: Control, residual: f64, b: f64) -> Self {
        let scale = if b > 0.0 { b } else { 1.0 };
        let first = residual / scale;
        let (window_end, best) = (WINDOW, f64::INFINITY);
        Self { control, scale, first, window_start: first, window_end, best, idle: 0 }
    }

    /// What residuals are divided by.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// Iterations that are left after so many.
    pub(crate) fn left(&self, iterations: usize) -> usize {
        self.control.max_iterations.saturating_sub(iterations)
    }

    /// Whether the tolerance is reached; not by norms that have run over.
    pub(crate) fn converged(&self, norm: f64) -> bool {
        norm.is_finite() && norm <= self.control.tolerance * self.scale
    }

    /// Whether the residual has grown without bound or is no number. A first residual of nothing but rounding is taken
    /// for the rounding of 1.
    pub(crate) fn diverged(&self, norm: f64) -> bool {
        !norm.is_finite() || norm / self.scale > GROWTH * self.first.max(f64::EPSILON)
    }

    /// Why to stop before another iteration from a residual of this norm.
    pub(crate) fn stop(&self, norm: f64, iterations: usize) -> Option<Outcome> {
        if self.converged(norm) {
            Some(Outcome::Converged)
        } else if self.diverged(norm) {
            Some(Outcome::Diverged { iteration: iterations })
        } else if self.left(iterations) == 0 {
            Some(Outcome::IterationLimit)
        } else {
            None
        }
    }

    /// Notes the residual after an iteration of a method without cycles; whether windows of iterations have been idle.
    pub(crate) fn stagnates(&mut self, norm: f64, iterations: usize) -> bool {
        self.best = self.best.min(norm);
        if iterations < self.window_end {
            return false;
        }
        self.window_end = iterations + WINDOW;
        let best = std::mem::replace(&mut self.best, f64::INFINITY);
        self.cycle_stagnates(best)
    }

    /// Notes the residual after a cycle; whether it and those before have been idle.
    pub(crate) fn cycle_stagnates(&mut self, norm: f64) -> bool {
        if self.control.tolerance == 0.0 {
            return false; // all iterations are asked for
        }
        let now = norm / self.scale;
        self.idle = if now > IDLE * self.window_start { self.idle + 1 } else { 0 };
        self.window_start = self.window_start.min(now);
        self.idle >= IDLE_WINDOWS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn criterion(tolerance: f64) -> StopCriterion {
        StopCriterion::new(Control { tolerance, max_iterations: 1000 }, 2.0, 2.0)
    }

    #[test]
    fn ends_are_told_apart() {
        let c = criterion(1e-3);
        assert_eq!(c.stop(1.9e-3, 5), Some(Outcome::Converged));
        assert_eq!(c.stop(2.1e-3, 5), None);
        assert_eq!(c.stop(2.1e-3, 1000), Some(Outcome::IterationLimit));
        assert_eq!(c.stop(1.9e10, 5), None);
        assert_eq!(c.stop(2.1e10, 5), Some(Outcome::Diverged { iteration: 5 }));
        assert_eq!(c.stop(f64::NAN, 5), Some(Outcome::Diverged { iteration: 5 }));
    }

    #[test]
    fn norms_that_have_run_over_are_no_convergence() {
        let c =
            StopCriterion::new(Control { tolerance: 1e-3, max_iterations: 10 }, f64::INFINITY, f64::INFINITY);
        assert_eq!(c.stop(f64::INFINITY, 0), Some(Outcome::Diverged { iteration: 0 }));
    }

    #[test]
    fn a_solution_given_as_guess_does_not_diverge() {
        let c = StopCriterion::new(Control { tolerance: 0.0, max_iterations: 10 }, 0.0, 1.0);
        assert!(!c.diverged(1e-15) && c.diverged(1.0));
    }

    #[test]
    fn three_idle_windows_are_a_stagnation() {
        let mut slow = criterion(1e-12);
        assert_eq!((1..1000).find(|&i| slow.stagnates(1.9999, i)), Some(300));
        let mut all = criterion(0.0);
        assert!((1..1000).all(|i| !all.stagnates(1.9999, i)));
        // A thousandth a window is enough.
        let mut falling = criterion(1e-12);
        assert!((1..1000).all(|i| !falling.stagnates(2.0 * (-1.2e-5 * i as f64).exp(), i)));
    }
}
