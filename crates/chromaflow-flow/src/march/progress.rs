//! How far a run has come.

use super::Bdf;
use super::control::FACTS;
use crate::config::Time;
use crate::output::Restart;
use chromaflow::Outcome;

/// Iterations, time steps, and the residual that later ones are measured by.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// Iterations done.
    pub iteration: usize,
    /// Finished physical steps.
    pub step: usize,
    /// Iterations of the present physical step.
    pub subiteration: usize,
    /// Residual of the first iteration (of the physical step).
    pub first_residual: Option<f64>,
    /// Whether nothing had moved the density at first, so that its residual falls from its largest.
    pub from_largest: bool,
    /// Largest residual so far (of the physical step) of each unknown beside the flow: these may begin with nothing to do.
    pub largest: Vec<f64>,
    /// Smallest residual within rounding errors, and iterations since it was reached; 0 and 0 above them.
    pub smallest: f64,
    pub idle: usize,
    /// Steps in succession, up to the present one, from states whose residual has run away from the first one.
    pub away: usize,
}

/// Iterations within rounding errors, without a residual a tenth below the smallest one, after which nothing else is left of it: what
/// rounding leaves is known by its size only, and some flows fall on for another order.
const IDLE: usize = 25;

/// Residual over the first one of a run from which it has run away.
const AWAY: f64 = 1e5;
/// Steps in succession that far away after which a run that has no way back has diverged.
const LOST: usize = 100;
/// Over what rounding leaves, the least of a first residual: one below it, of a stream that meets nothing yet, has lost half of its digits and is no
/// measure for what follows.
const MEASURE: f64 = 6.7e7;
/// A first residual below this part of another equation's is of a flow that nothing moves yet but walls, by friction and heat.
const UNMOVED: f64 = 0.01;

/// What a residual means for the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decision {
    /// Orders of magnitude by which the residual has fallen.
    pub orders: f64,
    /// The physical step that the residual belongs to; 0 in steady runs.
    pub time_step: usize,
    /// Set when the run is over, after what is to be done `next`.
    pub outcome: Option<Outcome>,
    pub next: Next,
}

/// What is to be done with the state that a residual belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is the solution.
    Done,
    /// It is the solution of its physical step, and the next one's first time level.
    Step,
    /// It is to be updated.
    Update,
}

impl Decision {
    /// A steady flow whose residual is nothing but rounding errors ([`Progress::rests`]) has converged, however few orders it
    /// has fallen; the run has where the systems beside it have.
    pub fn unless_round_off(mut self, time: &Time, rests: bool, coupled: &[f64]) -> Self {
        if let Time::Steady(steady) = time
            && rests
            && coupled.iter().all(|&orders| orders >= steady.orders)
        {
            (self.outcome, self.next) = (Some(Outcome::Converged), Next::Done);
        }
        self
    }

    /// A run that ends with a residual that has run away, or has stayed away where nothing leads back (`lost`), has diverged, whatever else it would have
    /// ended as.
    pub fn unless_away(mut self, time: &Time, away: bool, lost: bool, iteration: usize) -> Self {
        if let Time::Steady(_) = time
            && (lost || (away && self.outcome.is_some()))
        {
            (self.outcome, self.next) = (Some(Outcome::Diverged { iteration }), Next::Done);
        }
        self
    }

    /// Of a residual that belongs to another discretization than the one asked for, which starts the run: it cannot end it.
    pub fn of_start(self) -> Self {
        if self.outcome == Some(Outcome::Converged) {
            return Self { outcome: None, next: Next::Update, ..self };
        }
        self
    }
}

impl Progress {
    /// Decides by the residual of the present state, in an implicit run; `coupled` has the orders of the systems beside it.
    pub fn check(&mut self, time: &Time, residual: f64, coupled: &[f64]) -> Decision {
        let orders = coupled.iter().copied().fold(self.orders(residual), f64::min);
        match time {
            Time::Steady(steady) => {
                let converged = orders >= steady.orders;
                let over = self.iteration >= steady.iterations;
                Decision {
                    orders,
                    time_step: 0,
                    outcome: converged
                        .then_some(Outcome::Converged)
                        .or(over.then_some(Outcome::IterationLimit)),
                    next: if converged { Next::Done } else { Next::Update },
                }
            }
            Time::Unsteady(unsteady) => {
                self.subiteration += 1;
                let done = orders >= unsteady.orders || self.subiteration > unsteady.subiterations;
                let time_step = self.step + 1;
                Decision {
                    orders,
                    time_step,
                    outcome: (done && time_step >= unsteady.steps).then_some(Outcome::IterationLimit),
                    next: if done { Next::Step } else { Next::Update },
                }
            }
        }
    }

    /// The same in an explicit run, whose iterations are physical steps where there are any.
    pub fn check_explicit(&mut self, time: &Time, residual: f64) -> Decision {
        let Time::Unsteady(unsteady) = time else { return self.check(time, residual, &[]) };
        let orders = self.orders(residual);
        self.step += 1;
        let outcome = (self.step >= unsteady.steps).then_some(Outcome::IterationLimit);
        Decision { orders, time_step: self.step, outcome, next: Next::Update }
    }

    /// The physical step under way; 0 in steady runs.
    pub fn time_step(&self, time: &Time) -> usize {
        match time {
            Time::Steady(_) => 0,
            Time::Unsteady(_) => self.step + 1,
        }
    }

    /// Orders of magnitude between the first residual and this one, which is the first where there is none.
    pub fn orders(&mut self, residual: f64) -> f64 {
        let first = *self.first_residual.get_or_insert(residual);
        if residual > 0.0 { (first / residual).log10() } else { f64::INFINITY }
    }

    /// Whether the flow's residual lies within rounding errors of size `round_off` and falls no more.
    pub fn rests(&mut self, residual: f64, round_off: f64) -> bool {
        if residual > round_off {
            (self.smallest, self.idle) = (0.0, 0);
            return false;
        }
        if self.smallest == 0.0 || residual < 0.9 * self.smallest {
            (self.smallest, self.idle) = (residual, 0);
        } else {
            self.idle += 1;
        }
        self.idle >= IDLE || residual == 0.0
    }

    /// Takes the flow's residual, whose rounding errors are of size `round_off`, as the first one, if no measure was found before: a stream that meets nothing yet,
    /// beside a wall whose friction has not slowed it, begins with none. A physical step falls from its largest residual: density may have next to none before
    /// momentum and energy, whose residuals are up to `others`, move it; so does a steady flow of which that is true at first.
    pub fn measure(&mut self, time: &Time, residual: f64, others: f64, round_off: f64) {
        self.from_largest |= self.first_residual.is_none() && residual < UNMOVED * others;
        if self.from_largest || matches!(time, Time::Unsteady(_)) || !self.has_measure(round_off) {
            self.first_residual = Some(self.first_residual.map_or(residual, |first| first.max(residual)));
        }
    }

    /// Whether a residual so far was more than what rounding leaves of a stream.
    pub fn has_measure(&self, round_off: f64) -> bool {
        self.first_residual.is_some_and(|first| first >= MEASURE * round_off)
    }

    /// Whether the flow's residual, whose rounding errors are of size `round_off`, has run away: five orders above the first one.
    pub fn runs_away(&mut self, residual: f64, round_off: f64) -> bool {
        let first = *self.first_residual.get_or_insert(residual);
        self.away =
            if first > 0.0 && residual > AWAY * first.max(MEASURE * round_off) { self.away + 1 } else { 0 };
        self.away > 0
    }

    /// Whether it has stayed away for long.
    pub fn is_lost(&self) -> bool {
        self.away > LOST
    }

    /// The same as [`Self::orders`] of the unknowns beside the flow, each against its largest residual so far; residuals of no more than
    /// `round_off` are nothing.
    pub fn coupled_orders(&mut self, residuals: &[f64], round_off: &[f64]) -> Vec<f64> {
        self.largest.resize(residuals.len(), 0.0);
        let known = self.largest.iter_mut().zip(residuals).zip(round_off);
        let orders = known.map(|((largest, &residual), &nothing)| {
            *largest = largest.max(residual);
            if residual > nothing { (*largest / residual).log10() } else { f64::INFINITY }
        });
        orders.collect()
    }

    /// A physical step is finished.
    pub fn next_level(&mut self) {
        self.step += 1;
        *self = Self { iteration: self.iteration, step: self.step, ..Self::default() };
    }

    /// The derivative in time: backward Euler in the first step, (1, -1, 0), then BDF2, (3/2, -2, 1/2); `None` in steady
    /// runs.
    pub fn bdf(&self, time: &Time) -> Option<Bdf> {
        let Time::Unsteady(unsteady) = time else { return None };
        let weights = if self.step == 0 { [1.0, -1.0, 0.0] } else { [1.5, -2.0, 0.5] };
        Some(Bdf { weights, dt: unsteady.dt })
    }

    /// Physical time at the end of the step under way; 0 in steady runs.
    pub fn next_time(&self, time: &Time) -> f64 {
        match time {
            Time::Steady(_) => 0.0,
            Time::Unsteady(unsteady) => (self.step + 1) as f64 * unsteady.dt,
        }
    }

    /// Physical time of the last finished step; 0 in steady runs.
    pub fn time(&self, time: &Time) -> f64 {
        match time {
            Time::Steady(_) => 0.0,
            Time::Unsteady(unsteady) => self.step as f64 * unsteady.dt,
        }
    }

    /// Writes it into a restart.
    pub fn store(&self, time: &Time, restart: &mut Restart) {
        restart.set("iteration", self.iteration as f64);
        if let Some(first) = self.first_residual {
            restart.set("first_residual", first);
        }
        if self.from_largest {
            restart.set("from_largest_residual", 1.0);
        }
        for (i, &largest) in self.largest.iter().enumerate() {
            restart.set(&format!("{LARGEST}{i}"), largest);
        }
        if self.smallest > 0.0 {
            restart.set("smallest_residual", self.smallest);
            restart.set("idle_iterations", self.idle as f64);
        }
        if self.away > 0 {
            restart.set("away_iterations", self.away as f64);
        }
        if let Time::Unsteady(_) = time {
            restart.set("time_step", self.step as f64);
            restart.set("subiteration", self.subiteration as f64);
        }
    }

    /// Reads it from a restart. Physical steps go on where it has their time levels, and start anew where it has not.
    pub fn from_restart(restart: &Restart, levels: bool) -> Self {
        let count = |name| restart.positive(name).unwrap_or(0.0) as usize;
        let (step, subiteration) = if levels { (count("time_step"), count("subiteration")) } else { (0, 0) };
        let first_residual = restart.positive("first_residual");
        let largest = (0..).map_while(|i| restart.facts.get(&format!("{LARGEST}{i}")).copied()).collect();
        let (smallest, idle) =
            (restart.positive("smallest_residual").unwrap_or(0.0), count("idle_iterations"));
        Self {
            iteration: count("iteration"),
            step,
            subiteration,
            first_residual,
            from_largest: count("from_largest_residual") > 0,
            largest,
            smallest,
            idle,
            away: count("away_iterations"),
        }
    }
}

/// The fact of a restart that stands for [`Host::problem`](super::Host::problem).
pub(super) const PROBLEM: &str = "problem";

/// Facts of a restart that tell how far a run has come, but nothing of its state.
const OF_A_RUN: [&str; 28] = [
    PROBLEM,
    "iteration",
    "first_residual",
    "from_largest_residual",
    "smallest_residual",
    "idle_iterations",
    "away_iterations",
    "time_step",
    "subiteration",
    "cfl",
    "cfl_ceiling",
    "cfl_capped",
    "cfl_hold",
    "cfl_solved",
    "last_residual",
    "forcing",
    "widening",
    "unsolved_systems",
    "hard_systems",
    "largest_residual_of_steps",
    "together",
    "steps_apart",
    "steps_of_a_kind",
    "slow_residual",
    "slow_steps",
    "coarse_grids_and_one",
    "coarse_grids_idle",
    "coarse_grids_least",
];

impl Restart {
    /// Keeps the state alone: a run that goes on from it counts iterations, measures residuals and raises the CFL number anew.
    pub fn forget_progress(&mut self) {
        self.facts.retain(|name, _| {
            !(OF_A_RUN.contains(&name.as_str())
                || name.starts_with(LARGEST)
                || FACTS.contains(&name.as_str()))
        });
    }
}

/// The fact of a restart that has [`Progress::largest`] of an unknown.
const LARGEST: &str = "largest_residual.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Steady, Unsteady};

    #[test]
    fn steady_runs_end_by_orders_or_iterations() {
        let time = Time::Steady(Steady { iterations: 3, orders: 2.0 });
        let mut progress = Progress { iteration: 1, ..Progress::default() };
        let first = progress.check(&time, 10.0, &[]);
        assert_eq!((first.orders, first.outcome, first.next), (0.0, None, Next::Update));
        progress.iteration = 3;
        let last = progress.check(&time, 1.0, &[]);
        assert_eq!(
            (last.orders, last.outcome, last.next),
            (1.0, Some(Outcome::IterationLimit), Next::Update)
        );
        let converged = progress.check(&time, 0.1, &[]);
        assert_eq!((converged.outcome, converged.next), (Some(Outcome::Converged), Next::Done));
        assert_eq!(progress.check(&time, 0.0, &[]).orders, f64::INFINITY);
        let held_up = progress.check(&time, 0.01, &[f64::INFINITY, 0.5]);
        assert_eq!((held_up.orders, held_up.next), (0.5, Next::Update), "by the slowest of all systems");
        let at_rest = progress.check(&time, 10.0, &[12.0]).unless_round_off(&time, true, &[12.0]);
        assert_eq!(
            (at_rest.orders, at_rest.outcome, at_rest.next),
            (0.0, Some(Outcome::Converged), Next::Done)
        );
        assert_eq!(progress.check(&time, 1.0, &[]).unless_round_off(&time, false, &[]), last);
        assert_eq!((converged.of_start().outcome, converged.of_start().next), (None, Next::Update));
        assert_eq!(last.of_start(), last, "there are no more iterations");
        let coupled = progress.check(&time, 10.0, &[1.0]).unless_round_off(&time, true, &[1.0]);
        assert_eq!(coupled.outcome, Some(Outcome::IterationLimit), "a system beside it has not");
    }

    #[test]
    fn a_residual_rests_when_rounding_errors_fall_no_more() {
        let mut progress = Progress::default();
        assert!(!progress.rests(1.0, 1e-12), "far above them");
        let mut residual = 1e-12;
        for _ in 0..4 * IDLE {
            assert!(!progress.rests(residual, 1e-12), "it still falls");
            residual *= 0.99;
        }
        let stuck = (1..=2 * IDLE).find(|_| progress.rests(residual, 1e-12)).unwrap();
        assert!(stuck <= IDLE + 1, "{stuck}");
        assert!(!progress.rests(1e-11, 1e-12) && !progress.rests(1e-12, 1e-12), "anew from above");
        assert!(progress.rests(0.0, 1e-12), "nothing at all");
    }

    #[test]
    fn a_residual_five_orders_above_the_first_has_run_away() {
        let mut progress = Progress::default();
        let mut seen = |residual: f64| (progress.runs_away(residual, 1e-16), progress.is_lost());
        assert_eq!([1e-3, 99.0].map(&mut seen), [(false, false); 2]);
        assert!((0..LOST).all(|_| seen(101.0) == (true, false)) && seen(101.0) == (true, true), "for long");
        assert_eq!([99.0, 101.0].map(&mut seen), [(false, false), (true, false)], "it came back");
        let mut still = Progress::default();
        assert!([1e-15, 1e-6, 1e-4].iter().all(|&residual| !still.runs_away(residual, 1e-16)), "rounding");
    }

    #[test]
    fn a_stream_that_meets_nothing_yet_is_no_measure() {
        let orders = |time: Time| {
            let mut progress = Progress::default();
            [1e-15, 2e-15, 1.0, 10.0, 0.1].map(|residual| {
                progress.measure(&time, residual, 0.0, 1e-16);
                (progress.has_measure(1e-16), progress.orders(residual))
            })
        };
        let steady = [(false, 0.0), (false, 0.0), (true, 0.0), (true, -1.0), (true, 1.0)];
        assert_eq!(orders(Time::default()), steady);
        let in_time = [(false, 0.0), (false, 0.0), (true, 0.0), (true, 0.0), (true, 2.0)];
        assert_eq!(orders(Time::Unsteady(Unsteady::default())), in_time, "from the largest");
    }

    /// Beside a wall that begins to move momentum has a residual long before density has.
    #[test]
    fn density_that_nothing_has_moved_is_no_measure() {
        let fallen = |others: f64| {
            let mut progress = Progress::default();
            [1e-6, 1e-3, 1e-5].map(|residual| {
                progress.measure(&Time::default(), residual, others, 1e-16);
                progress.orders(residual).round()
            })
        };
        assert_eq!(fallen(1e-2), [0.0, 0.0, 2.0], "from the largest");
        assert_eq!(fallen(1e-5), [0.0, -3.0, -1.0], "from the first");
    }

    #[test]
    fn systems_beside_the_flow_fall_from_their_largest_residual() {
        let mut progress = Progress::default();
        let mut orders = |residuals: [f64; 2]| progress.coupled_orders(&residuals, &[1e-15, 1e-15]);
        assert_eq!(orders([1e-16, 0.1]), [f64::INFINITY, 0.0], "rounding is no residual");
        assert_eq!(orders([1e-2, 1.0]), [0.0, 0.0]);
        assert_eq!(orders([1e-3, 1e-2]), [1.0, 2.0]);
        progress.next_level();
        assert_eq!(progress.coupled_orders(&[1e-3], &[0.0]), [0.0]);
    }

    #[test]
    fn physical_steps_end_by_orders_or_subiterations() {
        let time = Time::Unsteady(Unsteady { dt: 0.5, steps: 2, subiterations: 2, orders: 1.0 });
        let mut progress = Progress::default();
        let weights = |progress: &Progress| progress.bdf(&time).map(|bdf| bdf.weights);
        assert_eq!(weights(&progress), Some([1.0, -1.0, 0.0]));
        assert_eq!(progress.check(&time, 1.0, &[]).next, Next::Update);
        let done = progress.check(&time, 0.1, &[]);
        assert_eq!((done.next, done.time_step, done.outcome), (Next::Step, 1, None));
        progress.next_level();
        assert_eq!((progress.time(&time), weights(&progress)), (0.5, Some([1.5, -2.0, 0.5])));
        assert_eq!((progress.time_step(&time), progress.next_time(&time)), (2, 1.0));
        assert_eq!([1.0, 1.0].map(|r| progress.check(&time, r, &[]).next), [Next::Update; 2]);
        let done = progress.check(&time, 1.0, &[]);
        assert_eq!((done.next, done.time_step, done.outcome), (Next::Step, 2, Some(Outcome::IterationLimit)));
    }

    #[test]
    fn explicit_iterations_are_physical_steps() {
        let time = Time::Unsteady(Unsteady { dt: 0.5, steps: 2, ..Unsteady::default() });
        let mut progress = Progress::default();
        let first = progress.check_explicit(&time, 1.0);
        assert_eq!((first.time_step, first.outcome, first.next), (1, None, Next::Update));
        let last = progress.check_explicit(&time, 0.1);
        assert_eq!((last.time_step, last.outcome), (2, Some(Outcome::IterationLimit)));
        assert!((last.orders - 1.0).abs() < 1e-12, "against the first step of all");
    }

    #[test]
    fn restarts_keep_it() {
        let time = Time::Unsteady(Unsteady::default());
        let progress = Progress {
            iteration: 40,
            step: 3,
            subiteration: 2,
            first_residual: Some(0.1 + 0.2),
            from_largest: true,
            largest: vec![0.7, 0.0],
            smallest: 1e-14,
            idle: 3,
            away: 4,
        };
        let mut restart = Restart::default();
        progress.store(&time, &mut restart);
        assert_eq!(Progress::from_restart(&restart, true), progress);
        assert_eq!(
            Progress::from_restart(&restart, false),
            Progress { step: 0, subiteration: 0, ..progress }
        );
        restart.set("outlet.pressure", 0.7);
        restart.forget_progress();
        assert_eq!(Progress::from_restart(&restart, true), Progress::default());
        assert_eq!(
            restart.facts.keys().collect::<Vec<_>>(),
            ["outlet.pressure"],
            "the state's own fact stays"
        );
    }
}
