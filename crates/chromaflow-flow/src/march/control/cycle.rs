//! Residuals that go to and fro between two values.

/// The residual of the step before the last one, and for how many steps in succession residuals have been those of two steps before.
///
/// Limiters and other kinks have Newton's method jump between two states, each of which is the solution as seen from the other; so it does on smooth
/// equations, such as x^3 - 2 x + 2 = 0 from x = 0. Shorter steps end that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cycle {
    before: Option<f64>,
    times: usize,
}

/// Residuals whose logarithms differ by less are the same; two that differ by twice as much are not.
const SAME: f64 = 0.05;
/// So many in succession that are those of two steps before, but not those of the last one, go to and fro.
const TO_AND_FRO: usize = 6;

impl Cycle {
    /// Whether residuals go to and fro, after one more that follows `last`.
    pub fn sees(&mut self, residual: f64, last: Option<f64>) -> bool {
        let before = std::mem::replace(&mut self.before, last);
        let swings = before.zip(last).is_some_and(|(before, last)| {
            let [same, other] = [before, last].map(|r| (residual / r).ln().abs());
            same < SAME && other > 2.0 * SAME
        });
        self.times = if swings { self.times + 1 } else { 0 };
        self.times >= TO_AND_FRO
    }
}

#[cfg(test)]
mod tests {
    use super::super::CflControl;
    use super::*;
    use crate::config::Cfl;

    #[test]
    fn only_residuals_that_come_back_every_other_step_go_to_and_fro() {
        let seen = |residual: &dyn Fn(i32) -> f64| {
            let (mut cycle, mut last) = (Cycle::default(), None);
            (0..100).position(|i| {
                let r = residual(i);
                let swings = cycle.sees(r, last);
                last = Some(r);
                swings
            })
        };
        assert_eq!(seen(&|i| if i % 2 == 0 { 1.0 } else { 2.0 }), Some(TO_AND_FRO + 1));
        assert_eq!(seen(&|i| 0.97_f64.powi(i)), None, "slow");
        assert_eq!(seen(&|_| 1.0), None, "at rest");
        assert_eq!(seen(&|i| 2.0 + (0.6 * f64::from(i)).sin()), None, "a slow swing");
        assert_eq!(
            seen(&|i| if i % 2 == 0 { 0.9_f64.powi(i) } else { 2.0 * 0.9_f64.powi(i) }),
            None,
            "it falls"
        );
    }

    /// x^3 - 2 x + 2: Newton's method goes from 0 to 1 and back for ever (Donovan, Miller and Moreland 1993), at every CFL number above some tens.
    #[test]
    fn newton_steps_leave_a_cycle_of_two() {
        let cfl = Cfl { start: 0.05, min: 0.01, max: 1e6, growth: 2.0, adaptive: true };
        let mut control = CflControl::new(cfl).of_newton_steps();
        control.value = 1e6;
        let (mut x, mut way) = (0.0_f64, Vec::new());
        let steps = (0..200).find(|_| {
            let residual = x * x * x - 2.0 * x + 2.0;
            way.push((x.round(), control.value));
            x -= residual / (1.0 / control.value + 3.0 * x * x - 2.0);
            control.accept([residual.abs(); 2], 0.0);
            residual.abs() < 1e-12
        });
        assert!(
            way[..8].iter().enumerate().all(|(i, &(x, cfl))| x == (i % 2) as f64 && cfl == 1e6),
            "{way:?}"
        );
        assert_eq!(way[8].1, 1e5, "a tenth of it");
        assert!(steps.is_some() && (x + 1.7692923542386314).abs() < 1e-12, "{steps:?} {x}");
        let last = way[way.len() - 1].1;
        assert!(last > 30.0, "it gets back what was taken: {last}");
    }

    /// sign(x) sqrt|x|: Newton's method goes from x to -x for ever, with residuals of one size and at any CFL number that is large beside the derivative. Half of
    /// each step leads to the root.
    #[test]
    fn half_of_newtons_steps_lead_between_the_sides_of_a_kink() {
        let cfl = Cfl { start: 5.0, min: 0.01, max: 1e6, growth: 2.0, adaptive: true };
        let mut control = CflControl::new(cfl).of_newton_steps();
        control.value = 1e6;
        let (mut x, mut way) = (1.0_f64, Vec::new());
        let steps = (0..60).find(|_| {
            let residual = x.signum() * x.abs().sqrt();
            way.push((x, control.part()));
            x -= control.part() * residual / (1.0 / control.value + 0.5 / x.abs().sqrt());
            control.accept([residual.abs(); 2], 0.0);
            residual.abs() < 1e-4
        });
        assert!(way[..10].iter().all(|&(x, part)| (x.abs() - 1.0).abs() < 1e-3 && part == 1.0), "{way:?}");
        assert!(way[0].0 * way[1].0 < 0.0 && way.iter().any(|&(_, part)| part == 0.5), "{way:?}");
        assert!(steps.is_some_and(|steps| steps < 20) && control.part() == 1.0, "{steps:?} {way:?}");
    }
}
