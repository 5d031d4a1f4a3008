//! The march over a system of one number, on a host and on a device.

use super::control::CflControl;
use super::*;
use crate::config::{Cfl, Steady, Time, Unsteady};

/// What a state must stay below to be good.
const LIMIT: f64 = 100.0;

/// x, whose residual is x itself and whose steps halve it (or double it).
struct Number {
    x: f64,
    last_good: f64,
    level: f64,
    factor: f64,
    /// What the linear solver says it left of its residual.
    reduction: Option<f64>,
    time: Time,
    /// Physical steps that were announced.
    begun: Vec<f64>,
    /// Most steps of first order.
    start: usize,
    /// CFL numbers of steps of first order, and of others.
    cfl: [Vec<f64>; 2],
    /// How often it may go back to first order.
    returns: usize,
    /// How often the first state was set again.
    anew: usize,
}

impl Number {
    fn march(x: f64, factor: f64, time: Time) -> March<Self> {
        Self::starting(x, factor, time, 0)
    }

    fn starting(x: f64, factor: f64, time: Time, start: usize) -> March<Self> {
        let (last_good, level, reduction) = (x, x, None);
        let (begun, cfl) = (Vec::new(), [Vec::new(), Vec::new()]);
        let number =
            Self { x, last_good, level, factor, reduction, time, begun, start, cfl, returns: 2, anew: 0 };
        March::of(number, CflControl::new(Cfl { start: 1.0, min: 0.01, ..Cfl::default() }))
    }

    fn steady(x: f64, factor: f64) -> March<Self> {
        Self::march(x, factor, Time::Steady(Steady { iterations: 20, orders: 2.0 }))
    }
}

impl System for Number {
    fn residual(&mut self, _at: &Moment) -> Result<Measured, FlowError> {
        Ok(Measured::new(vec![self.x * self.x], Forces::default()))
    }

    fn advance(&mut self, at: &Moment) -> Result<Advanced, FlowError> {
        self.cfl[usize::from(!at.first_order)].push(at.cfl);
        self.last_good = self.x;
        self.x *= self.factor;
        let bad = (self.x > LIMIT).then_some(0);
        Ok(Advanced { bad, reduction: self.reduction, ..Advanced::default() })
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        self.x = self.last_good;
        Ok(())
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        self.level = self.x;
        Ok(())
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        Ok(Times::default())
    }
}

impl Host for Number {
    type Control = CflControl;

    fn time(&self) -> &Time {
        &self.time
    }

    fn time_mut(&mut self) -> &mut Time {
        &mut self.time
    }

    fn volume(&self) -> f64 {
        1.0
    }

    fn rows(&self) -> usize {
        1
    }

    fn flow_round_off(&self) -> f64 {
        1e-14
    }

    fn first_order_steps(&self) -> usize {
        self.start
    }

    fn returns(&self) -> usize {
        self.returns
    }

    fn start_anew(&mut self) {
        self.anew += 1;
    }

    fn first_bad(&self) -> Option<usize> {
        (!self.x.is_finite()).then_some(0)
    }

    fn place(&self, row: usize) -> BadPlace {
        let state = vec![self.x];
        BadPlace {
            place: Place::Node(row),
            at: [0.0; 3],
            marker: None,
            state,
            variables: "x".into(),
            rank: None,
        }
    }

    fn residuals(&mut self, _at: &Moment) -> Residuals {
        Residuals { rates: vec![self.x], equations: 1, volumes: vec![1.0] }
    }

    fn begin_step(&mut self, time: f64) {
        self.begun.push(time);
    }
}

/// A device with the same number, which takes none above the limit.
struct Elsewhere(Number);

impl System for Elsewhere {
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError> {
        self.0.residual(at)
    }

    fn advance(&mut self, at: &Moment) -> Result<Advanced, FlowError> {
        self.0.advance(at)
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        self.0.restore()
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        self.0.next_level()
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        self.0.times()
    }
}

impl Device<Number> for Elsewhere {
    fn upload(&mut self, host: &Number) -> Result<(), FlowError> {
        if host.x > LIMIT {
            return Err(FlowError::Linear("too large".to_owned()));
        }
        (self.0.x, self.0.last_good, self.0.factor) = (host.x, host.x, host.factor);
        Ok(())
    }

    fn download(&self, host: &mut Number) -> Result<(), FlowError> {
        host.x = self.0.x;
        Ok(())
    }

    fn bytes(&self) -> usize {
        8
    }
}

fn elsewhere() -> Elsewhere {
    Elsewhere(Number::steady(0.0, 1.0).host)
}

#[test]
fn steady_runs_end_where_the_residual_has_fallen() {
    let mut march = Number::steady(1.0, 0.5);
    let mut residuals = Vec::new();
    let outcome = march.run(|report| {
        residuals.push(report.residual[0]);
        true
    });
    assert_eq!((outcome, march.iteration()), (Outcome::Converged, 8));
    assert_eq!((residuals[0], residuals[7]), (1.0, 0.5_f64.powi(7)));
    assert_eq!(march.host.x, 0.5_f64.powi(7), "the solution is left as it is");
}

#[test]
fn a_bad_step_is_rejected_and_named() {
    let mut march = Number::steady(60.0, 2.0);
    let report = march.step();
    assert!(report.rejected && report.outcome.is_none());
    assert_eq!(report.bad.map(|bad| (bad.place, bad.state)), Some((Place::Node(0), vec![120.0])));
    assert_eq!((march.host.x, march.control.value), (60.0, 0.2));
    assert!(matches!(march.run(|_| true), Outcome::Diverged { .. }), "the least CFL number helps no more");
}

#[test]
fn steps_that_lead_nowhere_are_rejected() {
    let mut march = Number::steady(1.0, 4.0);
    assert!(!march.step().rejected);
    let report = march.step();
    assert!(report.rejected && report.bad.is_none(), "from 1 to 4");
    assert_eq!((march.host.x, march.control.value()), (1.0, 0.2 * report.cfl));
    march.host.factor = 0.5;
    march.host.reduction = Some(1.5);
    assert!(march.step().rejected && march.host.x == 1.0, "the linear system was not solved");
    march.host.reduction = Some(0.5);
    assert!(!march.step().rejected && march.host.x == 0.5);
    assert_eq!(march.rejections(), Rejections { state: 0, linear: 1, growth: 1 });
}

#[test]
fn round_off_has_converged() {
    let time = Time::Steady(Steady { iterations: 100, orders: 2.0 });
    let mut march = Number::march(1e-15, 1.0, time);
    let mut last = None;
    let outcome = march.run(|report| {
        last = Some((report.iteration, report.orders));
        true
    });
    assert_eq!((outcome, last, march.host.x), (Outcome::Converged, Some((26, 0.0)), 1e-15));
    let mut march = Number::starting(1e-15, 1.0, time, 50);
    assert_eq!((march.run(|_| true), march.iteration()), (Outcome::Converged, 27), "of a start, too");
}

#[test]
fn a_start_of_first_order_ends_where_its_residual_has_fallen() {
    let time = Time::Steady(Steady { iterations: 100, orders: 2.0 });
    let steps = |start: usize| {
        let mut march = Number::starting(1.0, 0.5, time, start);
        assert_eq!(march.run(|_| true), Outcome::Converged);
        (march.host.cfl.clone().map(|cfl| (cfl.len(), cfl.first().copied())), march.iteration())
    };
    // Residuals are 1, 1/2, 1/4, ...: the fifteenth is the first below 1e-4.
    assert_eq!(steps(50), ([(15, Some(1.0)), (0, None)], 16), "four orders; two do not end the run");
    assert_eq!(
        steps(5),
        ([(5, Some(1.0)), (2, Some(1.0))], 8),
        "as many as allowed, then as at the beginning"
    );
    assert_eq!(steps(0), ([(0, None), (7, Some(1.0))], 8));
    let mut march = Number::starting(1.0, 0.5, time, 3);
    march.step();
    let restart = march.start_restart();
    let mut next = Number::starting(march.host.x, 0.5, time, 3);
    next.resume_progress(&restart, false);
    next.run(|_| true);
    assert_eq!(next.host.cfl[0].len(), 2, "a start goes on");
    let mut anew = Number::starting(march.host.x, 0.5, time, 3);
    let mut state = restart;
    state.forget_progress();
    anew.resume_progress(&state, false);
    anew.run(|_| true);
    assert_eq!(anew.host.cfl[0].len(), 3, "one that is asked for begins anew with the run");
}

/// A residual that never falls: back to first order as asked for, then from the first state with a flux that damps more, then no more, and the run
/// says so before its iterations are over.
#[test]
fn a_run_that_leads_nowhere_goes_back_twice() {
    let time = Time::Steady(Steady { iterations: 600, orders: 2.0 });
    let mut march = Number::march(1.0, 1.0, time);
    let mut phases = vec![(false, false)];
    let mut anew = Vec::new();
    let outcome = march.run(|report| {
        let phase = (report.first_order, report.damped);
        if phases.last() != Some(&phase) {
            phases.push(phase);
            anew.push(report.iteration);
        }
        true
    });
    assert_eq!(phases, [(false, false), (true, false), (false, false), (true, true), (false, true)]);
    assert_eq!((anew, march.host.anew), (vec![102, 152, 253, 303], 1));
    assert_eq!((outcome, march.iteration()), (Outcome::Stagnated, 503));
}

/// A residual that has grown by five orders and stays there has diverged, whether its iterations are over, the run has gone back twice or may not.
#[test]
fn a_run_that_does_not_come_back_has_diverged() {
    let run = |iterations: usize, returns: usize| {
        let mut march = Number::march(1e-4, 2.0, Time::Steady(Steady { iterations, orders: 2.0 }));
        march.host.returns = returns;
        while march.host.x < 50.0 {
            assert_eq!(march.step().outcome, None, "it grows step by step");
        }
        march.host.factor = 1.0;
        let outcome = march.run(|_| true);
        assert_eq!(outcome, Outcome::Diverged { iteration: march.iteration() });
        march.iteration()
    };
    assert_eq!([run(60, 2), run(1000, 0)], [60, 118], "a hundred steps that far away");
    assert!((350..500).contains(&run(1000, 2)), "after all ways back: {}", run(1000, 2));
    let mut back = Number::march(1e-4, 2.0, Time::Steady(Steady { iterations: 100, orders: 2.0 }));
    while back.host.x < 50.0 {
        back.step();
    }
    back.host.factor = 0.5;
    assert_eq!(back.run(|_| true), Outcome::Converged, "it came back");
}

#[test]
fn physical_steps_begin_at_their_time() {
    let time = Time::Unsteady(Unsteady { dt: 0.5, steps: 3, subiterations: 2, orders: 20.0 });
    let mut march = Number::march(1.0, 0.5, time);
    let mut steps = Vec::new();
    march.run(|report| {
        steps.push(report.time_step);
        true
    });
    assert_eq!(steps, [1, 1, 1, 2, 2, 2, 3, 3, 3]);
    assert_eq!((march.host.begun.as_slice(), march.time()), (&[1.0, 1.5, 2.0][..], 1.5));
    assert_eq!(march.host.level, 0.5_f64.powi(6));
}

#[test]
fn whoever_changes_the_state_has_the_newest() {
    let mut march = Number::steady(1.0, 2.0);
    march.host_to_set().x = 2.0;
    march.step();
    march.sync().unwrap();
    assert_eq!(march.synced().x, 4.0, "there is no device");
    march.use_device(Box::new(elsewhere())).unwrap();
    assert_eq!(march.device_bytes(), 8);
    march.step();
    assert_eq!(march.host.x, 4.0, "computed there");
    let unsynced = std::panic::AssertUnwindSafe(|| march.synced().x);
    assert!(std::panic::catch_unwind(unsynced).is_err());
    march.sync().unwrap();
    assert_eq!(march.synced().x, 8.0);
    march.host_to_set().x = 5.0;
    march.sync().unwrap();
    assert_eq!(march.synced().x, 5.0, "the host's is newer");
    march.step();
    march.step();
    march.sync().unwrap();
    assert_eq!(march.synced().x, 20.0);
}

#[test]
fn a_device_that_cannot_take_the_state_is_dropped() {
    let mut march = Number::steady(LIMIT + 1.0, 0.5);
    assert!(march.use_device(Box::new(elsewhere())).is_err());
    assert_eq!(march.device_bytes(), 0);
    march.step();
    assert_eq!(march.synced().x, 0.5 * (LIMIT + 1.0), "computed here");
}
