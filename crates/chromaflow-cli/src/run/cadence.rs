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

impl Due {
    /// Whether the state has to be on the host.
    pub fn any(self) -> bool {
        self.restart || self.fields.is_some()
    }
}

/// Counts iterations of a steady run, whole physical steps of an unsteady one.
pub struct Cadence {
    unsteady: bool,
    restart_every: usize,
    fields_every: usize,
    /// The physical step of the last iteration.
    step: usize,
}

impl Cadence {
    /// As `restart_every` and `fields_every` say.
    pub fn new(goal: Goal, output: &OutputSection) -> Self {
        Self {
            unsteady: matches!(goal, Goal::Unsteady { .. }),
            restart_every: output.restart_every,
            fields_every: output.fields_every,
            step: 0,
        }
    }

    /// The physical step that an iteration of the step `time_step` ends, if any: the last one as soon as it `ends`, others with the
    /// first iteration of the next. To be asked before [`Self::after`].
    pub fn over(&self, time_step: usize, ends: bool) -> Option<usize> {
        let step = if ends { time_step } else { time_step.saturating_sub(1) };
        (self.unsteady && step > 0 && (ends || time_step > self.step)).then_some(step)
    }

    /// What is due after an iteration of a physical step (0 in steady runs). A physical step is known to be over by the first
    /// iteration of the next one.
    pub fn after(&mut self, iteration: usize, time_step: usize) -> Due {
        let (count, whole) = if self.unsteady {
            let new = time_step > self.step;
            self.step = time_step;
            (time_step.saturating_sub(1), new)
        } else {
            (iteration, true)
        };
        let due = |every: usize| every > 0 && whole && count > 0 && count.is_multiple_of(every);
        Due {
            restart: due(self.restart_every),
            fields: (self.unsteady && due(self.fields_every)).then_some(count),
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
        let mut cadence = Cadence::new(Goal::Steady { orders: 1.0, iterations: 9 }, &output(3, 2));
        let restarts: Vec<usize> = (1..10).filter(|&i| cadence.after(i, 0).any()).collect();
        assert_eq!(restarts, [3, 6, 9]);
        assert_eq!(cadence.after(12, 0), Due { restart: true, fields: None });
    }

    #[test]
    fn unsteady_runs_count_whole_physical_steps() {
        let mut cadence = Cadence::new(Goal::Unsteady { steps: 9 }, &output(3, 2));
        // Four subiterations a step: what is due after step n is due once, with the first subiteration of n + 1.
        let due: Vec<_> =
            (1..=36).map(|i| (i, cadence.after(i, (i - 1) / 4 + 1))).filter(|d| d.1.any()).collect();
        let at = |i, restart, fields| (i, Due { restart, fields });
        let expected = [
            at(9, false, Some(2)),
            at(13, true, None),
            at(17, false, Some(4)),
            at(25, true, Some(6)),
            at(33, false, Some(8)),
        ];
        assert_eq!(due, expected);
    }

    #[test]
    fn a_physical_step_is_over_once() {
        let mut cadence = Cadence::new(Goal::Unsteady { steps: 3 }, &output(0, 0));
        let over: Vec<_> = (1..=12)
            .filter_map(|i| {
                let step = (i - 1) / 4 + 1;
                let over = cadence.over(step, i == 12);
                cadence.after(i, step);
                over.map(|step| (i, step))
            })
            .collect();
        assert_eq!(over, [(5, 1), (9, 2), (12, 3)]);
        assert_eq!(
            Cadence::new(Goal::Steady { orders: 1.0, iterations: 9 }, &output(1, 0)).over(0, true),
            None
        );
    }

    #[test]
    fn zero_is_never() {
        let mut cadence = Cadence::new(Goal::Unsteady { steps: 9 }, &output(0, 0));
        assert!((1..9).all(|i| !cadence.after(i, i).any()));
    }
}
