//! Whether a flow and what it depends on take one step or steps of their own.

use crate::output::Restart;

/// Chooses between them, where systems ask to start apart.
///
/// Far from a solution the derivative of all by all leads out of the range of what is positive: a velocity gradient that falls by more than
/// half in a step has, to first order, a production below zero. Steps apart see the production of the last state, and their matrices are
/// M-matrices. They begin the run and come back where steps together are rejected one after another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coupling {
    /// Whether the next step is one of all unknowns.
    pub together: bool,
    /// Most steps apart before they are tried.
    most: usize,
    /// Steps since the last change.
    steps: usize,
    /// Rejected ones since one was not.
    rejected: usize,
    /// Whether they have been rejected before: then steps apart are counted, and residuals say nothing.
    tried: bool,
}

/// Orders by which residuals beside the flow are to fall from their largest before the first step together.
const FALLEN: f64 = 1.0;
/// Most steps apart before it.
const FIRST: usize = 100;
/// Steps apart after steps together were rejected for the first time, each time twice as many.
const AGAIN: usize = 10;
/// Rejected steps in succession after which they are given up.
const REJECTED: usize = 3;
/// Largest CFL number of steps apart: at larger ones they go in cycles.
pub const LARGEST_APART: f64 = 1e4;

impl Coupling {
    pub fn new() -> Self {
        Self { together: false, most: FIRST, steps: 0, rejected: 0, tried: false }
    }

    /// After a residual by which those beside the flow have fallen by so many orders; whether the next step is of another kind.
    pub fn see(&mut self, orders: f64) -> bool {
        let begins = !self.together && (self.steps >= self.most || (!self.tried && orders >= FALLEN));
        if begins {
            (self.together, self.steps, self.rejected) = (true, 0, 0);
        }
        begins
    }

    /// After a step that was not rejected.
    pub fn accept(&mut self) {
        (self.steps, self.rejected) = (self.steps + 1, 0);
    }

    /// After a rejected one; whether the next is of another kind.
    pub fn reject(&mut self) -> bool {
        self.rejected += 1;
        let ends = self.together && self.rejected >= REJECTED;
        if ends {
            let most = if self.tried { 2 * self.most } else { AGAIN };
            *self = Self { together: false, most, steps: 0, rejected: 0, tried: true };
        }
        ends
    }

    pub fn store(&self, restart: &mut Restart) {
        restart.set("together", f64::from(u8::from(self.together)));
        restart.set("steps_apart", if self.tried { self.most as f64 } else { 0.0 });
        restart.set("steps_of_a_kind", self.steps as f64);
    }

    pub fn from_restart(restart: &Restart) -> Self {
        let most = restart.positive("steps_apart");
        Self {
            together: restart.positive("together").is_some(),
            most: most.map_or(FIRST, |most| most as usize),
            steps: restart.positive("steps_of_a_kind").unwrap_or(0.0) as usize,
            rejected: 0,
            tried: most.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_apart_until_residuals_have_fallen_and_where_those_together_fail() {
        let mut coupling = Coupling::new();
        assert!(!coupling.see(0.9) && !coupling.together);
        assert!(coupling.see(1.1) && coupling.together && !coupling.see(2.0));
        assert!(!coupling.reject() && !coupling.reject());
        coupling.accept();
        assert!(!coupling.reject() && !coupling.reject() && coupling.reject(), "in succession");
        for steps in [10, 20, 40] {
            for _ in 0..steps {
                assert!(!coupling.together && !coupling.see(5.0), "counted");
                coupling.accept();
            }
            assert!(coupling.see(0.0) && coupling.together);
            while !coupling.reject() {}
        }
        let mut restart = Restart::default();
        coupling.store(&mut restart);
        assert_eq!(Coupling::from_restart(&restart), coupling);
        assert_eq!(Coupling::from_restart(&Restart::default()), Coupling::new());
    }

    #[test]
    fn steps_together_are_tried_in_the_end() {
        let mut coupling = Coupling::new();
        let apart = (0..1000).find(|_| {
            coupling.accept();
            coupling.see(0.0)
        });
        assert_eq!(apart, Some(FIRST - 1));
    }
}
