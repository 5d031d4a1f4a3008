//! How steps are chosen: the CFL number, the order in space, whether what a flow depends on takes steps of its own.

mod coupling;
mod cycle;
mod first_order;
mod step_control;
#[cfg(test)]
mod tests;

pub(super) use coupling::{Coupling, LARGEST_APART};
pub(super) use first_order::{FACTS, FirstOrder, Seen};
pub use step_control::{CourantControl, Rejection, Rejections, StepControl};

use crate::config::Cfl;
use crate::output::Restart;
use cycle::Cycle;

/// Watches residuals and updates, and sets the CFL number.
#[derive(Clone, Debug)]
pub struct CflControl {
    config: Cfl,
    /// The CFL number of the next step.
    pub value: f64,
    /// Growth is suspended for so many steps after a back-off.
    pub hold: usize,
    /// Residual of the last step, `None` where the next one has nothing to be compared with.
    pub last: Option<f64>,
    /// Largest CFL number: the configured one until residuals stall there.
    pub ceiling: f64,
    /// How residuals have gone since the ceiling was set.
    trend: Option<Trend>,
    /// Whether they come back every other step.
    cycle: Cycle,
    /// The smallest residual when the ceiling of Newton-Krylov steps was last set.
    capped: f64,
    /// A residual, and the steps that should have left [`LESS`] of it since then.
    slow: (f64, usize),
    /// What kind of step it controls.
    step: Step,
    /// Whether it falls by as much as residuals rise, see [`Self::switched`].
    switched: bool,
    /// See [`LIMITED_FRACTION`].
    most_limited: f64,
    /// Largest CFL number whose linear system was found to be solved since one was not.
    solved: f64,
    /// What the last linear solve left of its residual, of Newton-Krylov steps.
    left: f64,
    /// Smallest residual, as judged, of Newton-Krylov steps since they were last cut back for a rise.
    least: f64,
    /// Largest residual so far.
    largest: f64,
    /// Part of the usual tolerance to which linear systems are solved.
    pub forcing: f64,
    /// Times as many directions of GMRES as asked for.
    pub widening: usize,
    /// The most that memory allows.
    widest: usize,
    /// Systems that were not half solved since their directions last became more.
    unsolved: usize,
    /// Whether a step is taken again as it is, in more directions.
    again: bool,
    /// Systems so far of which more was left than `hard_from`; none where no matrix is to damp more.
    hard: usize,
    hard_from: Option<f64>,
}

/// What kind of step is controlled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The first-order matrix of the whole system: residuals fall step by step.
    Whole,
    /// The derivative itself: residuals may rise on their way.
    Newton,
    /// A matrix that is factored into lines, or relaxed: residuals fall over many steps and rise on the way.
    Factored,
}

/// The smallest residual so far, and since then the steps, those of them that raised the residual, and the largest CFL number.
#[derive(Clone, Copy, Debug)]
struct Trend {
    best: f64,
    steps: usize,
    rises: usize,
    largest: f64,
}

/// What is left of a CFL number, and for how many steps it stays there.
struct Cut {
    factor: f64,
    hold: usize,
}

/// Residual growth in one step that makes the CFL number fall.
const GROWTH_LIMIT: f64 = 1.5;
/// Residual growth in one step that has the step rejected: from there the update no longer points to the solution.
const REJECTED_GROWTH: f64 = 3.0;
/// The same of Newton-Krylov steps,
const NEWTON_GROWTH: f64 = 10.0;
/// and of those whose CFL numbers go by residuals.
const SWITCHED_GROWTH: f64 = 4.0;
/// What a rise of the residual leaves of a CFL number that goes by it, at least.
const SWITCHED_LEAST: f64 = 0.3;
/// Rise of the residual of Newton-Krylov steps over its smallest value that takes nine tenths off the CFL number. Residuals rise on
/// the way to where they fall for good, but with steps that keep growing they were seen to rise for ever.
const NEWTON_RISE: f64 = 4.0;
/// What is left of the linear residual of a Newton-Krylov step from which its CFL number is too large for the preconditioner.
const UNSOLVED: f64 = 0.9;
/// The same from which the CFL number does not grow.
const HALF_SOLVED: f64 = 0.6;
/// What a Newton step whose system was solved leaves of the residual at most; else the next systems are solved closer,
const NEWTON_FALL: f64 = 0.8;
/// by this factor,
const TIGHTER: f64 = 0.3;
/// down to this part of the usual tolerance.
const LEAST_FORCING: f64 = 0.03;
/// Systems that were not half solved after which the next ones may take twice the directions: with few of them GMRES does not see what holds a hard
/// system back, and restarted it sees no more.
const HARD: usize = 6;
/// What is left of a system that has become worse than it was.
const LOST: f64 = 1.0;
/// Mach number of a fast stream.
const FAST: f64 = 2.0;
/// Times as many directions as asked for at most.
const WIDEST: usize = 4;
/// Bytes of a rank's directions up to which they become more, two vectors each.
const WIDE: usize = 1 << 30;
/// Part of the largest residual below which a solution is near: farther from it, steps that do not converge have other reasons.
const NEAR: f64 = 1e-6;
/// Fraction of nodes with cut updates that makes the CFL number stay; with fewer it grows by less than it could.
const LIMITED_FRACTION: f64 = 1e-3;
/// The same where such nodes take less of it themselves.
const LIMITED_FRACTION_WITH_SHARES: f64 = 0.02;
/// Steps at the largest CFL number without a new smallest residual after which that CFL number is halved: the residual's
/// second order and the Jacobian's first have run into a cycle, which smaller steps damp.
const STALLED: usize = 25;
/// What is left of the largest CFL number of Newton-Krylov steps whose residuals stalled there, or go [to and fro](Cycle); as much of the residual gives
/// it back.
const NEWTON_CUT: f64 = 0.1;
/// What is left of a residual where steps whose systems are solved converge as Newton's: in [`STALLED`] of them,
const LESS: f64 = 0.1;
/// after so many that have not, each takes half of its solution,
const DAMPED: usize = 10;
/// from this CFL number on, which is nothing beside the derivative.
const NEWTONS: f64 = 1e4;
/// The same of factored steps, at whatever CFL number: the error of the factorization grows with its square, and residuals
/// that do not fall over so many steps go in a cycle or grow slowly. Residuals that fall in the end were seen to turn for 65.
const STALLED_FACTORED: usize = 100;
/// One in so many of those steps must have raised the residual: one that falls without turning is slow, but in no cycle.
const RISES: usize = 5;

impl CflControl {
    /// Starts at the configured CFL number.
    pub fn new(config: Cfl) -> Self {
        Self {
            config,
            value: config.start,
            hold: 0,
            last: None,
            ceiling: config.max,
            trend: None,
            cycle: Cycle::default(),
            capped: 0.0,
            slow: (f64::INFINITY, 0),
            step: Step::Whole,
            switched: false,
            most_limited: LIMITED_FRACTION,
            solved: 0.0,
            left: 0.0,
            least: f64::INFINITY,
            largest: 0.0,
            forcing: 1.0,
            widening: 1,
            widest: 1,
            unsolved: 0,
            again: false,
            hard: 0,
            hard_from: None,
        }
    }

    /// The same for steps whose matrix is factored into lines, or relaxed: residuals fall slowly there as a rule, and rise on the way.
    pub fn factored(self) -> Self {
        Self { step: Step::Factored, ..self }
    }

    /// The same for Newton-Krylov steps: the residual may rise on their way to where it falls for good, and only steps that
    /// lead far off are rejected.
    pub fn of_newton_steps(self) -> Self {
        Self { step: Step::Newton, ..self }
    }

    /// The same whose CFL number falls as residuals rise, and grows only where they fall: where nothing else bounds a step, as density and pressure do
    /// in a gas, long ones leave the flow's range and do not come back.
    ///
    /// **Source**: switched evolution relaxation, Mulder and van Leer (1985), J. Comput. Phys. 59, of which this is the half that slows down; the fall of
    /// residuals says little of how fast to go, they stay the same while flow fills a domain.
    pub fn switched(self) -> Self {
        Self { switched: true, ..self }
    }

    /// The same where systems of so many unknowns, of a rank, that are not solved in so many directions of GMRES may take more.
    pub fn with_directions(self, directions: usize, unknowns: usize) -> Self {
        let most = WIDE / (2 * size_of::<f64>() * directions * unknowns).max(1);
        Self { widest: most.clamp(1, WIDEST), ..self }
    }

    /// The same with Roe's matrix, which may [damp more](Self::is_hard), in a stream of this Mach number, of a gas with or without viscosity. From
    /// [`FAST`] on, and without, systems are hard as soon as they are not half solved: what viscosity does not reach runs fast along thin cells.
    pub fn with_roes_matrix(self, mach: f64, inviscid: bool) -> Self {
        Self { hard_from: Some(if inviscid || mach >= FAST { HALF_SOLVED } else { LOST }), ..self }
    }

    /// The same where nodes whose updates are cut take less of the CFL number themselves, see [`next_cfl_share`](crate::march::next_cfl_share).
    pub fn with_shares(self) -> Self {
        Self { most_limited: LIMITED_FRACTION_WITH_SHARES, ..self }
    }

    /// See [`StepControl::accept`].
    pub fn accept(&mut self, [residual, judged]: [f64; 2], limited: f64) {
        let ratio = self.last.map_or(1.0, |last| residual / last);
        let swings = self.cycle.sees(residual, self.last);
        self.last = Some(residual);
        self.tighten(residual, ratio);
        self.widen();
        match self.doubt(judged, ratio) {
            Some(cut) if self.config.adaptive => {
                self.value *= cut.factor;
                self.hold = cut.hold;
            }
            _ if self.config.adaptive && (self.hold > 0 || self.left > HALF_SOLVED) => {
                self.hold = self.hold.saturating_sub(1);
            }
            _ if self.config.adaptive && self.switched && ratio > 1.0 => {
                self.value *= (1.0 / ratio).max(SWITCHED_LEAST);
            }
            _ if self.config.adaptive => {
                self.value *= self.config.growth.powf((1.0 - limited / self.most_limited).max(0.0));
            }
            _ => self.value *= self.config.growth,
        }
        let overshoots = self.overshoots(residual);
        if self.config.adaptive {
            self.lower_ceiling(residual, ratio > 1.0, swings);
        }
        if self.config.adaptive && overshoots {
            (self.value, self.hold) = (self.config.start, 0);
        }
        self.value = self.value.clamp(self.config.min, self.ceiling);
    }

    /// Whether Newton's steps, whose systems are solved, overshoot a solution that they do not come near. Short ones
    /// find their way there: the CFL number grows from its first value once more.
    fn overshoots(&mut self, residual: f64) -> bool {
        let (mark, steps) = self.slow;
        if residual < LESS * mark {
            self.slow = (residual, 0);
            return false;
        }
        let counts = self.step == Step::Newton && self.value >= NEWTONS && self.left <= HALF_SOLVED;
        self.slow.1 = steps + usize::from(counts);
        let over = self.slow.1 >= STALLED && residual > NEAR * self.largest;
        if over {
            self.slow = (residual, 0);
        }
        over
    }

    /// What a step takes of its solution. Newton's steps jump to and fro between the sides of a kink, such as the trip term of Spalart and Allmaras has at walls whose
    /// first nodes it may leave laminar, whatever their CFL number: where sources are all that holds an unknown. Half of a step leads between them.
    pub fn part(&self) -> f64 {
        if self.slow.1 >= DAMPED { 0.5 } else { 1.0 }
    }

    /// Solves closer where steps at the largest CFL number, Newton's, do not converge near the solution although their systems are solved:
    /// GMRES measures |R|, in which very small cells count little, progress sqrt(sum of R^2/V), in which they count much.
    ///
    /// What a step leaves of its system's residual is the forcing term of inexact Newton methods (Eisenstat and Walker 1996, SIAM J. Sci.
    /// Comput. 17(1)); their choices go by falls of |R| and would loosen it here.
    fn tighten(&mut self, residual: f64, ratio: f64) {
        self.largest = self.largest.max(residual);
        let of_newton = self.step == Step::Newton && self.value >= self.config.max;
        if of_newton && self.is_near() && ratio > NEWTON_FALL && self.left <= HALF_SOLVED {
            self.forcing = (TIGHTER * self.forcing).max(LEAST_FORCING);
        }
    }

    /// Whether the last residual had fallen so far that the solution is near.
    fn is_near(&self) -> bool {
        self.last.is_some_and(|last| last < NEAR * self.largest)
    }

    /// Gives systems more directions where too many were not half solved; near the solution, where long steps are all that is left to take, where one was
    /// not.
    fn widen(&mut self) {
        let not_half = self.left.is_nan() || self.left > HALF_SOLVED;
        self.unsolved += usize::from(not_half) * if self.is_near() { HARD } else { 1 };
        if self.unsolved >= HARD && 2 * self.widening <= self.widest {
            (self.widening, self.unsolved) = (2 * self.widening, 0);
        }
    }

    /// Whether [`HARD`] systems ended with more than they began with, in fast streams and without viscosity were not half solved: the matrix that they are
    /// preconditioned by leaves modes almost alone, and is to damp them, see [`RoeFix::in_matrix`](crate::flux::RoeFix::in_matrix).
    pub fn is_hard(&self) -> bool {
        self.hard >= HARD
    }

    /// By how much the CFL number is to fall, where residuals say that it is too large.
    fn doubt(&mut self, judged: f64, ratio: f64) -> Option<Cut> {
        if self.step != Step::Newton {
            return (ratio > GROWTH_LIMIT).then_some(Cut { factor: 0.5, hold: 3 });
        }
        if judged > NEWTON_RISE * self.least {
            self.least = judged;
            return Some(Cut { factor: 0.1, hold: 2 });
        }
        self.least = self.least.min(judged);
        (self.left > UNSOLVED).then_some(Cut { factor: 0.3, hold: 0 })
    }

    /// Sets the largest CFL number, from the next step on; residuals that stalled below it are forgotten.
    pub fn limit(&mut self, largest: f64) {
        self.config.max = largest;
        self.config.min = self.config.min.min(largest);
        (self.ceiling, self.trend, self.capped) = (largest, None, 0.0);
        self.value = self.value.min(largest);
    }

    /// Whether the step that led to a state of this residual is to be rejected. Not at the smallest CFL number, where
    /// nothing smaller is left to try.
    pub fn rejects_growth(&self, residual: f64) -> bool {
        let most = match self.step {
            Step::Newton if self.switched => SWITCHED_GROWTH,
            Step::Newton => NEWTON_GROWTH,
            Step::Whole | Step::Factored => REJECTED_GROWTH,
        };
        self.last.is_some_and(|last| residual > most * last) && self.can_reject()
    }

    /// Whether the linear system of this step is to be looked at: its CFL number is larger than any solved before.
    pub fn doubts(&self) -> bool {
        self.config.adaptive && self.value > self.solved
    }

    /// Whether an update is to be rejected: the linear solver has made its residual larger, or lost it.
    pub fn rejects_update(&mut self, reduction: f64) -> bool {
        self.left = if self.step == Step::Newton { reduction } else { 0.0 };
        let hard = |from: f64| self.left.is_nan() || self.left > from;
        self.hard += usize::from(self.hard_from.is_some_and(hard));
        let solved = reduction <= 1.0;
        self.solved = if solved { self.solved.max(self.value) } else { 0.0 };
        let rejected = !solved && self.can_reject();
        if rejected && self.is_near() {
            let before = self.widening;
            self.widen();
            self.again = self.widening > before;
        }
        rejected
    }

    fn can_reject(&self) -> bool {
        self.config.adaptive && self.value > self.config.min
    }

    fn lower_ceiling(&mut self, residual: f64, rose: bool, swings: bool) {
        let fresh = Trend { best: residual, steps: 0, rises: 0, largest: self.value };
        let trend = self.trend.get_or_insert(fresh);
        if residual < 0.95 * trend.best {
            *trend = fresh;
        } else {
            trend.steps += 1;
            trend.rises += usize::from(rose);
            trend.largest = trend.largest.max(self.value);
        }
        let (steps, tried) = match self.step {
            Step::Whole | Step::Newton => (STALLED, self.value >= self.ceiling),
            Step::Factored => (STALLED_FACTORED, true),
        };
        let best = trend.best;
        let stalls = trend.steps > steps && RISES * trend.rises >= steps && tried;
        if self.step != Step::Newton && stalls {
            self.ceiling = (0.5 * trend.largest.min(self.ceiling)).max(self.config.start);
            self.trend = None;
        } else if self.step == Step::Newton && (stalls || swings) {
            let least = self.config.start.min(self.ceiling);
            self.ceiling = (NEWTON_CUT * self.value.min(self.ceiling)).max(least);
            (self.trend, self.cycle, self.capped) = (None, Cycle::default(), best);
        } else if residual < NEWTON_CUT * self.capped {
            self.ceiling = (self.ceiling / NEWTON_CUT).min(self.config.max);
            self.capped = residual;
        }
    }

    /// Writes it into a restart.
    pub fn store(&self, restart: &mut Restart) {
        restart.set("cfl", self.value);
        restart.set("cfl_ceiling", self.ceiling);
        restart.set("cfl_hold", self.hold as f64);
        if self.capped > 0.0 {
            restart.set("cfl_capped", self.capped);
        }
        restart.set("cfl_solved", self.solved);
        if self.least.is_finite() {
            restart.set("least_residual", self.least);
        }
        if self.largest > 0.0 {
            restart.set("largest_residual_of_steps", self.largest);
        }
        if self.forcing < 1.0 {
            restart.set("forcing", self.forcing);
        }
        if self.widening > 1 {
            restart.set("widening", self.widening as f64);
        }
        if self.unsolved > 0 {
            restart.set("unsolved_systems", self.unsolved as f64);
        }
        if self.hard > 0 {
            restart.set("hard_systems", self.hard as f64);
        }
        if self.slow.0.is_finite() {
            restart.set("slow_residual", self.slow.0);
            restart.set("slow_steps", self.slow.1 as f64);
        }
        if let Some(last) = self.last {
            restart.set("last_residual", last);
        }
    }

    /// Goes on as a restart says, within the configured limits.
    pub fn recall(&mut self, restart: &Restart) {
        let Cfl { min, max, .. } = self.config;
        self.last = restart.positive("last_residual");
        self.hold = restart.positive("cfl_hold").unwrap_or(0.0) as usize;
        self.solved = restart.positive("cfl_solved").unwrap_or(0.0);
        self.capped = restart.positive("cfl_capped").unwrap_or(0.0);
        self.least = restart.positive("least_residual").unwrap_or(f64::INFINITY);
        self.largest = restart.positive("largest_residual_of_steps").unwrap_or(0.0);
        self.slow.0 = restart.positive("slow_residual").unwrap_or(f64::INFINITY);
        self.slow.1 = restart.positive("slow_steps").unwrap_or(0.0) as usize;
        self.forcing = restart.positive("forcing").unwrap_or(1.0);
        self.widening = restart.positive("widening").map_or(1, |times| (times as usize).min(self.widest));
        self.unsolved = restart.positive("unsolved_systems").unwrap_or(0.0) as usize;
        self.hard = restart.positive("hard_systems").unwrap_or(0.0) as usize;
        self.value = restart.positive("cfl").map_or(self.value, |cfl| cfl.clamp(min, max));
        self.ceiling = restart.positive("cfl_ceiling").map_or(max, |ceiling| ceiling.min(max));
    }

    /// The next residual is of another problem: not to be compared with the last one.
    pub fn forget(&mut self) {
        (self.last, self.trend, self.least, self.slow) = (None, None, f64::INFINITY, (f64::INFINITY, 0));
        self.cycle = Cycle::default();
    }

    /// The next step is the first one of another problem: as at the beginning.
    pub fn begin(&mut self) {
        let value = self.config.start.min(self.config.max);
        let Self { step, switched, most_limited, widest, hard_from, .. } = *self;
        *self = Self { value, step, switched, most_limited, widest, hard_from, ..Self::new(self.config) };
    }

    /// After a step that had to be taken back. Returns whether it is worth another try.
    pub fn reject(&mut self) -> bool {
        let possible = self.value > self.config.min;
        if std::mem::take(&mut self.again) {
            return possible;
        }
        if self.step == Step::Factored {
            // Steps of this size would lead there again.
            self.ceiling = (0.5 * self.value).max(self.config.start.min(self.ceiling));
        }
        self.value = (0.2 * self.value).max(self.config.min);
        self.hold = if self.step == Step::Newton { 2 } else { 10 };
        self.last = None;
        possible
    }
}
