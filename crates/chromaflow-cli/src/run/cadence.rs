//! When restarts and snapshots of the fields are due, the same in every kind of run.

use super::Goal;
use crate::case::OutputSection;
use chromaflow_flow::config::Time;

impl From<&Time> for Goal {
    fn from(time: &Time) -> Self {
        match time {
            Time::Steady(s) => Goal::Steady { orders: s.orders, iterations: s.iterations },
            Time::Unsteady(u) => Goal::Unsteady { steps: u.steps },
        }
    }
}

/// What is due after an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// A restart with the history.
    pub restart: bool,
    /// The fields after this physical step.
    pub fields: Option<usize>,
}

/// Counts iterations of a steady run, whole physical steps of an unsteady one.
pub struct Cadence {
    unsteady: bool,
    restart_every: usize,
    fields_every: usize,
}

impl Cadence {
    /// As `restart_every` and `fields_every` say.
    pub fn new(goal: Goal, output: &OutputSection) -> Self {
        Self {
            unsteady: matches!(goal, Goal::Unsteady { .. }),
            restart_every: output.restart_every,
            fields_every: output.fields_every,
        }
    }

    /// What is due after an iteration, of an unsteady run after the physical step that it ended, if it did.
    pub fn after(&self, iteration: usize, over: Option<usize>) -> Due {
        let count = if self.unsteady { over } else { Some(iteration) };
        let due = |every: usize| every > 0 && count.is_some_and(|count| count.is_multiple_of(every));
        Due {
            restart: due(self.restart_every),
            fields: over.filter(|_| self.unsteady && due(self.fields_every)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(restart_every: usize, fields_every: usize) -> OutputSection {
        OutputSection { restart_every, fields_every, ..OutputSection::default() }
    }

    #[test]
    fn steady_runs_count_iterations_and_have_no_snapshots() {
        let cadence = Cadence::new(Goal::Steady { orders: 1.0, iterations: 9 }, &output(3, 2));
        let restarts: Vec<usize> = (1..10).filter(|&i| cadence.after(i, None) != Due::default()).collect();
        assert_eq!(restarts, [3, 6, 9]);
        assert_eq!(cadence.after(12, None), Due { restart: true, fields: None });
    }

    #[test]
    fn unsteady_runs_count_physical_steps_that_are_over() {
        let cadence = Cadence::new(Goal::Unsteady { steps: 9 }, &output(3, 2));
        // Four subiterations a step: what is due after a step is due with its last one.
        let over = |i: usize| i.is_multiple_of(4).then_some(i / 4);
        let due: Vec<_> =
            (1..=36).map(|i| (i, cadence.after(i, over(i)))).filter(|d| d.1 != Due::default()).collect();
        let at = |i, restart, fields| (i, Due { restart, fields });
        let expected = [
            at(8, false, Some(2)),
            at(12, true, None),
            at(16, false, Some(4)),
            at(24, true, Some(6)),
            at(32, false, Some(8)),
            at(36, true, None),
        ];
        assert_eq!(due, expected);
    }

    #[test]
    fn zero_is_never() {
        let cadence = Cadence::new(Goal::Unsteady { steps: 9 }, &output(0, 0));
        assert!((1..9).all(|i| cadence.after(i, Some(i)) == Due::default()));
    }
}
