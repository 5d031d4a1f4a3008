//! Running means of fields of unsteady runs, and what the fields depart from them.

use crate::case::OutputSection;
use crate::error::{CliError, CliResult};
use chromaflow_flow::output::{Field, Restart};

/// Of restart fields: means, and sums of squares of what departs from them.
const ENDINGS: [&str; 2] = ["_mean", "_squares"];
const KEY: &str = "output.averages";
/// Of a restart's facts: samples taken, and the physical step of the last one.
const FACTS: [&str; 2] = ["averages.samples", "averages.step"];

/// Means over physical steps, one sample a step, each component by itself.
///
/// Of the n-th sample x: mean += (x - mean) / n, squares += (x - mean before)(x - mean after), which loses no digits however small the
/// departure is (Welford 1962, Technometrics 4(3)); rms = sqrt(squares / n).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Averages {
    names: Vec<String>,
    /// The first physical step that counts.
    from: usize,
    samples: usize,
    /// The physical step of the last sample.
    step: usize,
    of: Vec<Running>,
}

#[derive(Clone, Debug, PartialEq)]
struct Running {
    mean: Field,
    squares: Vec<f64>,
}

impl Averages {
    /// As `averages` and `averages_from` say.
    pub fn new(output: &OutputSection) -> Self {
        Self { names: output.averages.clone(), from: output.averages_from, ..Self::default() }
    }

    /// Looks for the fields, before a run begins that would end for want of one.
    ///
    /// # Errors
    /// Status 2 for a name that no field has.
    pub fn check(&self, fields: &[Field]) -> CliResult<()> {
        self.names.iter().try_for_each(|name| found(name, fields, KEY).map(|_| ()))
    }

    /// Whether the state after a physical step is to be a sample.
    pub fn wants(&self, step: usize) -> bool {
        !self.names.is_empty() && step >= self.from && step > self.step
    }

    /// Whether the field of this name is among them.
    pub fn reads(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// Takes the fields after a physical step.
    ///
    /// # Errors
    /// Status 2 for a name that no field has.
    pub fn take(&mut self, step: usize, fields: &[Field]) -> CliResult<()> {
        (self.samples, self.step) = (self.samples + 1, step);
        let n = self.samples as f64;
        for (k, name) in self.names.iter().enumerate() {
            let field = found(name, fields, KEY)?;
            if self.of.len() == k {
                let zeros = vec![0.0; field.values.len()];
                let mean = Field { values: zeros.clone(), ..field.clone() };
                self.of.push(Running { mean, squares: zeros });
            }
            let Running { mean, squares } = &mut self.of[k];
            for ((mean, square), x) in mean.values.iter_mut().zip(squares).zip(&field.values) {
                let before = *mean;
                *mean += (x - before) / n;
                *square += (x - before) * (x - *mean);
            }
        }
        Ok(())
    }

    /// `NAME_mean` and `NAME_rms` of each, once there are samples.
    pub fn fields(&self) -> Vec<Field> {
        let n = self.samples as f64;
        let both = |running: &Running| {
            let named = |ending: &str, values| Field {
                name: format!("{}{ending}", running.mean.name),
                components: running.mean.components,
                values,
            };
            let rms = running.squares.iter().map(|square| (square / n).max(0.0).sqrt()).collect();
            [named(ENDINGS[0], running.mean.values.clone()), named("_rms", rms)]
        };
        self.of.iter().flat_map(both).collect()
    }

    /// Puts them into a restart.
    pub fn store(&self, restart: &mut Restart) {
        if self.samples == 0 {
            return;
        }
        for (name, value) in FACTS.into_iter().zip([self.samples, self.step]) {
            restart.facts.insert(name.to_owned(), value as f64);
        }
        for Running { mean, squares } in &self.of {
            for (ending, values) in ENDINGS.into_iter().zip([&mean.values, squares]) {
                let name = format!("{}{ending}", mean.name);
                restart.fields.push(Field { name, components: mean.components, values: values.clone() });
            }
        }
    }

    /// Names of the fields that a restart keeps for them.
    pub fn kept(&self) -> Vec<String> {
        let both = |name: &String| ENDINGS.map(|ending| format!("{name}{ending}"));
        self.names.iter().flat_map(both).collect()
    }

    /// Goes on from a restart that has the same fields' means; from any other they start anew.
    pub fn recall(&mut self, restart: &Restart) {
        let [samples, step] = FACTS.map(|name| restart.facts.get(name).map_or(0, |value| *value as usize));
        let of = self.names.iter().map(|name| {
            let [mean, squares] = ENDINGS.map(|ending| restart.field(&format!("{name}{ending}")));
            let mean = Field { name: name.clone(), ..mean?.clone() };
            Some(Running { mean, squares: squares?.values.clone() })
        });
        if let (Some(of), true) = (of.collect::<Option<Vec<_>>>(), samples > 0) {
            (self.samples, self.step, self.of) = (samples, step, of);
        }
    }
}

/// The field of a name in the list `key` of a case.
pub(super) fn found<'f>(name: &str, fields: &'f [Field], key: &str) -> CliResult<&'f Field> {
    fields.iter().find(|field| field.name == name).ok_or_else(|| {
        let all: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        CliError::input(format!("{key}: there is no field `{name}`; there are {}", all.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(step: usize) -> Vec<Field> {
        let x = [1e6 + (step as f64).sin(), 3.0, (step as f64).cos(), -0.5 * step as f64];
        vec![Field::vector("velocity", 2, x.to_vec()), Field::scalar("density", vec![1.0, step as f64])]
    }

    fn wanted(names: &[&str]) -> Averages {
        let averages = names.iter().map(|name| (*name).to_owned()).collect();
        Averages::new(&OutputSection { averages, averages_from: 3, ..OutputSection::default() })
    }

    /// Means and deviations of two passes; the digits of a small departure from a large mean are kept.
    #[test]
    fn means_and_deviations_are_those_of_two_passes() {
        let mut averages = wanted(&["velocity"]);
        for step in (1..=40).filter(|step| *step > 2) {
            assert!(averages.wants(step));
            averages.take(step, &fields(step)).unwrap();
            assert!(!averages.wants(step), "a step counts once");
        }
        let out = averages.fields();
        assert_eq!(
            out.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
            ["velocity_mean", "velocity_rms"]
        );
        for k in 0..4 {
            let all: Vec<f64> = (3..=40).map(|step| fields(step)[0].values[k]).collect();
            let mean = all.iter().sum::<f64>() / 38.0;
            let rms = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 38.0).sqrt();
            assert!((out[0].values[k] - mean).abs() < 1e-13 * mean.abs().max(1.0), "{k}");
            assert!((out[1].values[k] - rms).abs() < 1e-9, "{k}: {} {rms}", out[1].values[k]);
        }
        assert!(!wanted(&["velocity"]).wants(2) && !wanted(&[]).wants(5));
    }

    /// What goes on from a restart is what one run gives, bit by bit; one of other fields starts anew.
    #[test]
    fn restarts_keep_them() {
        let mut whole = wanted(&["density", "velocity"]);
        let mut resumed = whole.clone();
        for step in 3..20 {
            whole.take(step, &fields(step)).unwrap();
            if step == 9 {
                let mut restart = Restart::default();
                whole.store(&mut restart);
                resumed.recall(&restart);
                let mut other = wanted(&["density", "pressure"]);
                other.recall(&restart);
                assert_eq!(other, wanted(&["density", "pressure"]));
            }
            if step > 9 {
                resumed.take(step, &fields(step)).unwrap();
            }
        }
        assert_eq!(whole, resumed);
    }

    #[test]
    fn unknown_fields_are_named() {
        let fault = wanted(&["density", "pressure"]).check(&fields(3)).unwrap_err().to_string();
        assert!(fault.contains("`pressure`") && fault.contains("velocity, density"), "{fault}");
    }
}
