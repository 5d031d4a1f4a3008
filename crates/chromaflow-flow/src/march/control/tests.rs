use super::*;

#[test]
fn a_stall_lowers_the_ceiling() {
    let cfl = Cfl { start: 10.0, min: 1.0, max: 40.0, growth: 2.0, adaptive: true };
    let mut control = CflControl::new(cfl);
    for i in 0..100 {
        control.accept([0.9_f64.powi(i); 2], 0.0);
    }
    assert_eq!(control.value, 40.0, "residuals fell");
    for i in 0..200 {
        control.accept([2e-5 * 0.999_f64.powi(i); 2], 0.0);
    }
    assert_eq!(control.value, 40.0, "residuals fell slowly");
    let cycle = |i: i32| 1e-5 * (1.0 + 0.1 * f64::from(i).sin());
    for i in 0..40 {
        control.accept([cycle(i); 2], 0.0);
    }
    assert_eq!(control.value, 20.0, "residuals went in a cycle");
    for i in 0..300 {
        control.accept([cycle(i); 2], 0.0);
    }
    assert_eq!(control.value, 10.0, "never below the first");
}

#[test]
fn what_is_rejected() {
    let cfl = Cfl { start: 10.0, min: 1.0, max: 40.0, growth: 2.0, adaptive: true };
    let mut control = CflControl::new(cfl);
    assert!(!control.rejects_growth(1e9), "nothing to compare with");
    assert!(control.doubts());
    assert!(!control.rejects_update(0.9) && !control.doubts(), "solved at 10");
    control.accept([1.0; 2], 0.0);
    assert!(control.doubts(), "20 is more than 10");
    assert!(!control.rejects_growth(2.9) && control.rejects_growth(3.1));
    assert!(control.rejects_update(1.1) && control.rejects_update(f64::NAN));
    while control.reject() {}
    control.accept([1.0; 2], 0.0);
    assert!(!control.rejects_growth(1e9) && !control.rejects_update(2.0), "nothing smaller to try");
    let mut ramp = CflControl::new(Cfl { adaptive: false, ..cfl });
    ramp.accept([1.0; 2], 0.0);
    assert!(!ramp.doubts() && !ramp.rejects_growth(1e9) && !ramp.rejects_update(2.0));
}

#[test]
fn newton_steps_shrink_where_residuals_rise_or_systems_stay_unsolved() {
    let cfl = Cfl { start: 10.0, min: 1.0, max: 1e6, growth: 2.0, adaptive: true };
    let mut control = CflControl::new(cfl).of_newton_steps();
    let mut step = |residual: f64, left: f64| {
        assert!(!control.rejects_update(left));
        control.accept([residual; 2], 0.0);
        control.value
    };
    assert_eq!([step(1.0, 0.3), step(3.9, 0.3)], [20.0, 40.0], "residuals may rise somewhat");
    assert_eq!(step(4.1, 0.3), 4.0, "not for ever");
    assert_eq!([step(4.2, 0.3), step(4.3, 0.3), step(4.4, 0.3)], [4.0, 4.0, 8.0], "held, then grown");
    assert_eq!([step(1.0, 0.7), step(0.9, 0.95)], [8.0, 2.4], "half a solution, none");
    assert_eq!(step(0.8, 0.2), 4.8);
}

#[test]
fn switched_steps_go_by_residuals() {
    let cfl = Cfl { start: 10.0, min: 1.0, max: 1e6, growth: 2.0, adaptive: true };
    let mut control = CflControl::new(cfl).of_newton_steps().switched();
    let mut step = |residual: f64| {
        assert!(!control.rejects_update(0.3));
        control.accept([residual; 2], 0.0);
        control.value
    };
    assert_eq!([step(1.0), step(0.9), step(1.8), step(0.95)], [20.0, 40.0, 20.0, 40.0]);
    assert!((step(3.4) - 0.3 * 40.0).abs() < 1e-12, "a third at least");
    assert!(control.rejects_growth(4.1 * 3.4) && !control.rejects_growth(3.9 * 3.4));
    control.begin();
    assert!(control.switched, "of the next problem, too");
}

/// Density's residual may stand still while that of momentum runs away.
#[test]
fn newton_steps_shrink_where_other_equations_run_away() {
    let cfl = Cfl { start: 10.0, min: 1.0, max: 1e6, growth: 2.0, adaptive: true };
    let mut control = CflControl::new(cfl).of_newton_steps();
    let mut step = |judged: f64| {
        control.accept([1.0, judged], 0.0);
        control.value
    };
    assert_eq!([step(1.0), step(3.0), step(5.0)], [20.0, 40.0, 4.0]);
    assert!(!control.rejects_growth(2.0), "steps are rejected by density's");
}

#[test]
fn newton_steps_that_do_not_converge_solve_closer() {
    let cfl = Cfl { start: 10.0, min: 1.0, max: 20.0, growth: 2.0, adaptive: true };
    let mut control = CflControl::new(cfl).of_newton_steps();
    let mut step = |residual: f64, left: f64| {
        assert!(!control.rejects_update(left));
        control.accept([residual; 2], 0.0);
        control.forcing
    };
    assert_eq!([step(1.0, 0.3), step(1.0, 0.3)], [1.0, 1.0], "far from a solution");
    assert_eq!([step(1e-7, 0.3), step(9e-8, 0.7)], [1.0, 1.0], "it converges; its system was not solved");
    assert_eq!([step(8.9e-8, 0.3), step(1e-8, 0.1), step(1e-8, 0.1)], [0.3, 0.3, 0.09]);
    assert_eq!((0..9).map(|_| step(1e-8, 0.01)).last(), Some(LEAST_FORCING));
    control.limit(5.0);
    control.begin();
    assert_eq!((control.forcing, control.value), (1.0, 5.0), "as at the beginning, below a limit set since");
    let mut plain = CflControl::new(cfl);
    (0..9).for_each(|_| plain.accept([1.0; 2], 0.0));
    assert_eq!(plain.forcing, 1.0);
}

#[test]
fn systems_that_are_not_solved_take_more_directions() {
    let widened = |unknowns: usize| {
        let mut control = CflControl::new(Cfl::default()).of_newton_steps().with_directions(40, unknowns);
        let mut step = |left: f64| {
            control.rejects_update(left);
            control.accept([1.0; 2], 0.0);
            control.widening
        };
        assert_eq!((0..50).map(|_| step(0.3)).max(), Some(1), "solved");
        let first = (1..60).find(|_| step(0.7) > 1);
        ((0..60).map(|_| step(0.7)).last().unwrap(), first, control.widening)
    };
    assert_eq!(widened(70_000), (4, Some(HARD), 4));
    // 640 million bytes for forty directions: no room for as many again.
    assert_eq!(widened(1_000_000), (1, None, 1));
}

/// Near the solution one such system is enough, and a step that is lost is taken again at its CFL number; where no more directions are to be had, and
/// far off, that falls.
#[test]
fn near_the_solution_lost_steps_take_more_directions() {
    let cfl = Cfl { start: 10.0, ..Cfl::default() };
    let mut control = CflControl::new(cfl).of_newton_steps().with_directions(40, 70_000);
    let mut lost = |residual: f64| {
        control.rejects_update(0.1);
        control.accept([residual; 2], 1.0);
        let before = control.value;
        assert!(control.rejects_update(1.5) && control.reject());
        (control.widening, control.value == before)
    };
    assert_eq!(lost(1.0), (1, false));
    assert_eq!(lost(0.5 * NEAR), (2, true));
    assert_eq!(lost(0.4 * NEAR), (4, true));
    assert_eq!(lost(0.3 * NEAR), (4, false));
}

/// Of six systems that have become worse, of a fast stream not half solved; the next problem may be another one.
#[test]
fn systems_that_stay_unsolved_are_hard() {
    for (mach, inviscid, easy, hard) in
        [(0.8, false, 0.95, 1.2), (0.8, true, 0.55, 0.7), (6.0, false, 0.55, 0.7), (6.0, true, 0.3, f64::NAN)]
    {
        let mut control = CflControl::new(Cfl::default()).of_newton_steps().with_roes_matrix(mach, inviscid);
        let mut after = |left: f64| {
            control.rejects_update(left);
            control.is_hard()
        };
        assert!(!(0..50).any(|_| after(easy)));
        assert_eq!((1..50).find(|_| after(hard)), Some(HARD), "{mach}");
        let mut restart = Restart::default();
        control.store(&mut restart);
        let mut again = CflControl::new(Cfl::default()).of_newton_steps().with_roes_matrix(mach, inviscid);
        again.recall(&restart);
        assert!(again.is_hard());
        again.begin();
        assert!(!again.is_hard() && again.hard_from == control.hard_from);
    }
    let plain = || CflControl::new(Cfl::default());
    for (mut other, what) in [
        (plain().with_roes_matrix(6.0, true), "no Newton steps"),
        (plain().of_newton_steps(), "another matrix"),
    ] {
        assert!(!(0..50).any(|_| other.rejects_update(2.0) && other.is_hard()), "{what}");
    }
}

#[test]
fn newton_steps_that_swing_take_a_tenth_and_get_it_back() {
    let cfl = Cfl { start: 10.0, min: 1.0, max: 1e6, growth: 10.0, adaptive: true };
    let mut control = CflControl::new(cfl).of_newton_steps();
    let mut step = |residual: f64| {
        control.accept([residual; 2], 0.0);
        control.ceiling
    };
    let swing = |i: i32| 1.0 + 0.5 * (0.5 * f64::from(i)).sin();
    let shrank = (0..100).find(|&i| step(swing(i)) < 1e6).unwrap();
    assert!((STALLED as i32..2 * STALLED as i32).contains(&shrank), "{shrank}");
    assert_eq!([step(0.2), step(0.049), step(0.04)], [1e5, 1e6, 1e6], "a tenth of the smallest so far");
}

#[test]
fn newton_steps_that_overshoot_begin_short() {
    let cfl = Cfl { start: 10.0, min: 1.0, max: 1e6, growth: 10.0, adaptive: true };
    let least = |residual: &dyn Fn(i32) -> f64| {
        let mut control = CflControl::new(cfl).of_newton_steps();
        let step = |i: i32| {
            control.rejects_update(0.3);
            control.accept([if i == 0 { 1.0 } else { residual(i) }; 2], 0.0);
            if i < 6 { f64::INFINITY } else { control.value }
        };
        (0..6 + STALLED as i32).map(step).fold(f64::INFINITY, f64::min)
    };
    let slow = |i: i32| 0.1 * 0.95_f64.powi(i);
    assert_eq!([least(&slow), least(&|i| 1e-7 * slow(i))], [10.0, 1e6], "far and near");
    assert_eq!(least(&|i| 0.1 * 0.9_f64.powi(i)), 1e6, "it converges");
}

#[test]
fn factored_steps_shrink_when_they_have_led_nowhere_for_long() {
    let cfl = Cfl { start: 2.0, min: 0.01, max: 20.0, growth: 1.1, adaptive: true };
    let mut control = CflControl::new(cfl).factored();
    let cycle = |i: i32| 1.0 + 0.1 * f64::from(i).sin();
    (0..100).for_each(|i| control.accept([cycle(i); 2], 0.0));
    assert_eq!(control.value, 20.0);
    (100..110).for_each(|i| control.accept([cycle(i); 2], 0.0));
    assert_eq!(control.value, 10.0);
    control.reject();
    assert_eq!((control.value, control.ceiling), (2.0, 5.0), "what was rejected is not tried again");
}

#[test]
fn grows_holds_and_backs_off() {
    let cfl = Cfl { start: 10.0, min: 1.0, max: 30.0, growth: 2.0, adaptive: true };
    let mut control = CflControl::new(cfl);
    control.accept([1.0; 2], 0.0);
    assert_eq!(control.value, 20.0);
    control.accept([1.0; 2], 0.5);
    assert_eq!(control.value, 20.0, "updates were cut");
    let mut few = CflControl::new(cfl).with_shares();
    few.accept([1.0; 2], 0.01);
    assert_eq!(few.value, 10.0 * 2.0_f64.sqrt(), "a few of them");
    control.accept([2.0; 2], 0.0);
    assert_eq!(control.value, 10.0, "the residual doubled");
    for _ in 0..3 {
        control.accept([1.0; 2], 0.0);
        assert_eq!(control.value, 10.0, "on hold");
    }
    for _ in 0..5 {
        control.accept([1.0; 2], 0.0);
    }
    assert_eq!(control.value, 30.0, "recovered");
    assert!(control.reject());
    assert_eq!(control.value, 6.0);
    while control.reject() {}
    assert_eq!(control.value, 1.0);
}
