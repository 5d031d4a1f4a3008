//! Steps of first order in space: at the start of a run, where they are asked for, and where those of second order lead nowhere.

use crate::output::Restart;

/// Chooses between them.
///
/// The flow of first order is found in few steps on any mesh, and is near that of second order. Where a run of second order has
/// separated from a wall by what its own transient left there, or swings between such states, it has no way back of its own: from
/// the flow of first order it begins anew. Once as it was, since what failed was the transient; where that fails, too, perhaps once more, from
/// the state that the run began with and with a flux that damps more: of some meshes the flow that one asks for has no steady state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FirstOrder {
    /// Whether the next step is of first order.
    pub under_way: bool,
    /// Steps of first order in succession.
    steps: usize,
    /// Smallest residual of second order, and steps since it was reached.
    least: Option<f64>,
    idle: usize,
    /// How often the run has gone back.
    returns: usize,
    /// How often the residual of second order has risen to [`RISE`] times its smallest value since the value before, and that value.
    rises: usize,
    low: Option<f64>,
}

/// What is known of the state that a step started from.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The flow's residual.
    pub residual: f64,
    /// By how much it lies below the first one of the run.
    pub orders: f64,
    /// Whether it is nothing but rounding.
    pub rests: bool,
}

/// Orders below the run's first residual at which steps of first order end, and within which those of second order may go back.
const FALLEN: f64 = 4.0;
/// A residual over its smallest value that is a rise: what takes nine tenths off the CFL number of Newton-Krylov steps, too.
const RISE: f64 = 4.0;
/// Most steps of first order after the start.
const MOST: usize = 50;
/// Steps of second order after which a run goes back, if the residual is as large as it was.
const STALLED: usize = 100;
/// Steps of second order without a new smallest residual after which a run that may not go back any more has come to nothing: twice as many as any
/// run took that converged.
const GIVEN_UP: usize = 200;
/// Returns after which a run goes on as it was asked for.
const AS_ASKED: usize = 1;

impl FirstOrder {
    /// At the start of a run that begins with at most `most` steps of first order.
    pub fn new(most: usize) -> Self {
        Self { under_way: most > 0, ..Self::default() }
    }

    /// Whether the next step is to start from the state that the run began with.
    pub fn starts_anew(&self) -> bool {
        self.damps() && self.under_way && self.steps == 0
    }

    /// Whether steps damp more than what was asked for.
    pub fn damps(&self) -> bool {
        self.returns > AS_ASKED
    }

    /// Whether a run that may go back `returns` times is on its way back, or may still take it.
    pub fn leads_back(&self, returns: usize) -> bool {
        self.under_way || self.returns < returns
    }

    /// After a step that was not rejected; whether the next is of another order. `most`: as in [`Self::new`]; `returns`: how often the run
    /// may go back; `rises`: after how many rises of its residual it does so at once, 0 for never.
    pub fn changes(&mut self, seen: Seen, most: usize, returns: usize, rises: usize) -> bool {
        if self.under_way {
            self.steps += 1;
            let most = if self.returns > 0 { MOST } else { most };
            let over = self.steps >= most || seen.orders >= FALLEN || seen.rests;
            if over {
                (self.under_way, self.steps, self.least, self.idle) = (false, 0, None, 0);
                (self.rises, self.low) = (0, None);
            }
            return over;
        }
        if returns == 0 {
            return false;
        }
        if self.least.is_none_or(|least| seen.residual < 0.95 * least) {
            (self.least, self.idle) = (Some(seen.residual), 0);
        } else {
            self.idle += 1;
        }
        let low = self.low.unwrap_or(seen.residual);
        let rose = seen.residual > RISE * low;
        self.rises += usize::from(rose);
        self.low = Some(if rose { seen.residual } else { low.min(seen.residual) });
        let led_astray = self.idle >= STALLED || (rises > 0 && self.rises >= rises);
        let goes_back = self.leads_back(returns) && led_astray && seen.orders < FALLEN;
        if goes_back {
            (self.under_way, self.returns) = (true, self.returns + 1);
        }
        goes_back
    }

    /// Whether a run that may go back `returns` times has done so and its residual has not fallen for long since, so many orders below the
    /// first one: on this mesh there is no steady flow to be found. Counts anew from there.
    pub fn gives_up(&mut self, orders: f64, returns: usize) -> bool {
        let over = returns > 0 && self.returns >= returns && self.idle >= GIVEN_UP && orders < FALLEN;
        if over {
            self.idle = 0;
        }
        over
    }

    pub fn store(&self, restart: &mut Restart) {
        let mut set = |name: &str, value: f64| {
            if value > 0.0 {
                restart.set(name, value);
            }
        };
        set(FACTS[0], f64::from(u8::from(self.under_way)));
        set(FACTS[1], self.steps as f64);
        set(FACTS[2], self.least.unwrap_or(0.0));
        set(FACTS[3], self.idle as f64);
        set(FACTS[4], self.returns as f64);
        set(FACTS[5], self.rises as f64);
        set(FACTS[6], self.low.unwrap_or(0.0));
    }

    /// Goes on as a restart says; one that keeps the state of a run alone begins as [`Self::new`] does.
    pub fn from_restart(restart: &Restart, most: usize) -> Self {
        if restart.positive("iteration").is_none() {
            return Self::new(most);
        }
        let [under_way, steps, least, idle, returns, rises, low] = FACTS.map(|name| restart.positive(name));
        Self {
            under_way: under_way.is_some(),
            steps: steps.unwrap_or(0.0) as usize,
            least,
            idle: idle.unwrap_or(0.0) as usize,
            returns: returns.unwrap_or(0.0) as usize,
            rises: rises.unwrap_or(0.0) as usize,
            low,
        }
    }
}

/// Its facts in a restart.
pub const FACTS: [&str; 7] = [
    "first_order",
    "first_order_steps",
    "first_order_least",
    "first_order_idle",
    "first_order_again",
    "first_order_rises",
    "first_order_low",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn at(residual: f64) -> Seen {
        Seen { residual, orders: -residual.log10(), rests: false }
    }

    #[test]
    fn a_run_goes_back_where_its_residual_falls_no_more() {
        let mut phase = FirstOrder::new(0);
        let cycle = |i: usize| at(0.1 + 0.05 * (i as f64).sin());
        assert!((0..60).all(|i| !phase.changes(at(0.98_f64.powi(i)), 0, 1, 0)), "it falls slowly");
        let back = (1..1000).find(|&i| phase.changes(cycle(i), 0, 1, 0)).unwrap();
        assert!(phase.under_way && (STALLED..2 * STALLED).contains(&back), "{back}");
        let mut restart = Restart::default();
        restart.set("iteration", 200.0);
        phase.store(&mut restart);
        assert_eq!(FirstOrder::from_restart(&restart, 7), phase);
        assert!((1..MOST).all(|i| !phase.changes(cycle(i), 0, 1, 0)) && phase.changes(cycle(0), 0, 1, 0));
        assert!(!phase.under_way);
        assert!((0..1000).all(|i| !phase.changes(cycle(i), 0, 1, 0)) && !phase.damps(), "once");
        assert!(!phase.gives_up(0.9, 2) && !phase.gives_up(5.0, 1), "it may go back; it is nearly done");
        assert!(phase.gives_up(0.9, 1) && !phase.gives_up(0.9, 1), "and anew from there");
        assert!(
            (0..2 * STALLED).any(|i| phase.changes(cycle(i), 0, 2, 0)) && phase.starts_anew(),
            "and once more, with another flux"
        );
        phase.store(&mut restart);
        assert!(FirstOrder::from_restart(&restart, 7).damps());
        assert_eq!(FirstOrder::from_restart(&Restart::default(), 7), FirstOrder::new(7));
    }

    #[test]
    fn a_run_goes_back_after_some_rises() {
        // It falls by half, and every tenth time it is large.
        let residual = |i: i32| at(0.01 * if i % 10 == 9 { 9.0 } else { 0.5_f64.powi(i % 10) });
        let after = |rises: usize| {
            let mut phase = FirstOrder::new(0);
            (0..99).find(|&i| phase.changes(residual(i), 0, 1, rises))
        };
        assert_eq!([after(0), after(1), after(3)], [None, Some(9), Some(29)]);
        let mut phase = FirstOrder::new(0);
        assert!((0..20).all(|i| !phase.changes(residual(i), 0, 1, 3)));
        let mut restart = Restart::default();
        restart.set("iteration", 20.0);
        phase.store(&mut restart);
        assert_eq!(FirstOrder::from_restart(&restart, 0), phase);
    }

    #[test]
    fn runs_that_may_not_or_are_nearly_done_go_on() {
        let mut phase = FirstOrder::new(0);
        assert!((0..1000).all(|_| !phase.changes(at(1.0), 0, 0, 0)), "it may not");
        let mut phase = FirstOrder::new(0);
        assert!((0..1000).all(|_| !phase.changes(at(1e-5), 0, 2, 0)), "five orders down");
    }

    #[test]
    fn a_start_ends_by_orders_steps_or_rounding() {
        let steps = |seen: Seen, most: usize| {
            let mut phase = FirstOrder::new(most);
            (1..1000).find(|_| phase.changes(seen, most, 1, 0)).unwrap()
        };
        assert_eq!([steps(at(0.5), 7), steps(at(1e-4), 7)], [7, 1]);
        assert_eq!(steps(Seen { rests: true, ..at(1.0) }, 7), 1);
    }
}
