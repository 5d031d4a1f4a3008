//! What an unsteady run settles to: mean forces, amplitude and frequency of the lift.

use super::history::{Row, ends_of_steps};
use std::f64::consts::PI;

/// Over whole periods of the last third of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oscillation {
    /// Mean lift coefficient.
    pub mean_cl: f64,
    /// Mean drag coefficient.
    pub mean_cd: f64,
    /// Half the distance between the largest and the smallest lift coefficient.
    pub cl_amplitude: f64,
    /// Physical steps a period of the lift.
    pub steps_per_period: f64,
    /// Whole periods seen.
    pub periods: usize,
    /// Of the first and the last of these periods, amplitude and mean of the lift.
    pub ends: [[f64; 2]; 2],
    /// Whether amplitudes and means of all periods agree.
    pub settled: bool,
}

/// The amplitude of the lift, as part of lift and drag, below which it is what subiterations leave.
const NOISE: f64 = 1e-5;

/// By how much, as part of the amplitude, amplitudes and means of the lift may differ between the periods of an oscillation that has settled.
const AGREES: f64 = 0.05;

impl Oscillation {
    /// From a history; `None` where the lift does not pass through its mean upwards at least three times, or by next to nothing.
    pub fn of(rows: &[Row]) -> Option<Self> {
        let last = rows.last()?.time_step;
        let mut steps = ends_of_steps(rows);
        steps.retain(|r| r.time_step > last / 3 * 2);
        let cl = |r: &Row| r.forces[0];
        let mean = |of: &[&Row], value: &dyn Fn(&Row) -> f64| {
            of.iter().map(|r| value(r)).sum::<f64>() / of.len().max(1) as f64
        };
        let about = mean(&steps, &cl);
        let ups: Vec<usize> =
            (1..steps.len()).filter(|&i| cl(steps[i - 1]) < about && cl(steps[i]) >= about).collect();
        let &[first, .., end] = ups.as_slice() else { return None };
        if ups.len() < 3 {
            return None;
        }
        let at = |i: usize| {
            let (low, high) = (cl(steps[i - 1]) - about, cl(steps[i]) - about);
            steps[i - 1].time_step as f64 - low / (high - low)
        };
        let whole = &steps[first..end];
        let amplitude = |rows: &[&Row]| {
            let (least, most) =
                rows.iter().fold((f64::MAX, f64::MIN), |(l, m), r| (l.min(cl(r)), m.max(cl(r))));
            0.5 * (most - least)
        };
        let periods = ups.len() - 1;
        let steps_per_period = (at(end) - at(first)) / periods as f64;
        let each: Vec<[f64; 2]> = ups
            .windows(2)
            .map(|w| &steps[w[0]..w[1]])
            .map(|rows| [amplitude(rows), mean(rows, &cl)])
            .collect();
        let apart = |k: usize| {
            let values = || each.iter().map(|period| period[k]);
            values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min)
        };
        let cl_amplitude = amplitude(whole);
        // Steps miss the peak of a sine by half a step at the most, and periods begin up to a step off.
        let missed = [1.0 - (PI / steps_per_period).cos(), 1.0 / steps_per_period];
        let agrees = |k: usize| apart(k) <= (AGREES + missed[k]) * cl_amplitude;
        let found = Self {
            mean_cl: mean(whole, &cl),
            mean_cd: mean(whole, &|r| r.forces[1]),
            cl_amplitude,
            steps_per_period,
            periods,
            ends: [each[0], each[periods - 1]],
            settled: agrees(0) && agrees(1),
        };
        (found.cl_amplitude > NOISE * (found.mean_cl.abs() + found.mean_cd.abs())).then_some(found)
    }

    /// Strouhal number f L / U of steps of `dt` (lengths over the speed of sound).
    pub fn strouhal(&self, dt: f64, length: f64, mach: f64) -> f64 {
        length / (self.steps_per_period * dt * mach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(steps: usize, lift: impl Fn(f64) -> f64) -> Vec<Row> {
        let row = |step: usize, cl: f64| Row {
            time_step: step,
            forces: [cl, 1.3 + 0.1 * cl, 0.0],
            ..Row::default()
        };
        (1..=steps).flat_map(|s| [row(s, 9.0), row(s, lift(s as f64))]).collect()
    }

    #[test]
    fn of_a_sine() {
        let found = Oscillation::of(&rows(1000, |s| 0.05 + 0.3 * (s / 9.7).sin())).unwrap();
        let period = std::f64::consts::TAU * 9.7;
        assert!((found.steps_per_period / period - 1.0).abs() < 1e-3, "{found:?}");
        assert!((found.mean_cl - 0.05).abs() < 1e-3 && (found.mean_cd - 1.305).abs() < 1e-3, "{found:?}");
        assert!((found.cl_amplitude - 0.3).abs() < 1e-3, "{found:?}");
        assert!(found.periods >= 4 && found.settled, "{found:?}");
        assert!((found.strouhal(0.5, 1.0, 0.2) - 1.0 / (0.1 * period)).abs() < 1e-3);
    }

    /// Coarse steps do not hide that an oscillation has settled. One that grows by 3 % a period or more, decays, or drifts has not.
    #[test]
    fn what_still_grows_has_not_settled() {
        let of = |lift: &dyn Fn(f64) -> f64| Oscillation::of(&rows(900, lift)).unwrap();
        for length in [8.3, 12.0, 31.7, 60.9] {
            let turn = |s: f64| (std::f64::consts::TAU * s / length).sin();
            assert!(of(&|s| 0.1 + 0.3 * turn(s)).settled, "{length}");
            for rate in [1.28_f64.ln(), 1.03_f64.ln(), -(1.1_f64.ln())] {
                let found = of(&|s| 0.1 + 0.3 * (rate * (s - 900.0) / length).exp() * turn(s));
                assert!(!found.settled, "{length} {rate} {found:?}");
                let [[before, _], [after, _]] = found.ends;
                assert!((after - before) * rate > 0.0, "{found:?}");
            }
            assert!(!of(&|s| 0.3 * turn(s) + 4e-4 * s).settled, "{length} drifts");
        }
    }

    #[test]
    fn of_what_does_not_oscillate() {
        assert_eq!(Oscillation::of(&[]), None);
        assert_eq!(Oscillation::of(&rows(50, |s| 1.0 / s)), None);
        assert_eq!(Oscillation::of(&rows(50, |_| 0.2)), None);
        assert_eq!(Oscillation::of(&rows(1000, |s| 1e-6 * (s / 9.7).sin())), None, "noise");
    }
}
