//! The values of a sweep: `0:16:2`, or `0,2,5`.

use crate::error::{CliError, CliResult};

/// A key and its values, as they stand in `--set`.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    /// `flow.alpha`.
    pub key: String,
    /// At least one.
    pub values: Vec<String>,
}

/// Most points of a sweep.
const MOST: usize = 10_000;

/// Parts the changes into the one that has several values and those for all points.
///
/// # Errors
/// Status 2 where none or several have, and for values that are none.
pub fn split(sets: &[String]) -> CliResult<(Swept, Vec<String>)> {
    let (mut swept, mut fixed) = (None, Vec::new());
    for set in sets {
        match several(set)? {
            None => fixed.push(set.clone()),
            Some(_) if swept.is_some() => {
                return Err(CliError::input(format!(
                    "--set {set}: one key is swept at a time; give this one a single value"
                )));
            }
            found => swept = found,
        }
    }
    let none =
        || CliError::input("no --set has several values: expected for example --set flow.alpha=0:16:2");
    Ok((swept.ok_or_else(none)?, fixed))
}

/// The values of a change that has several.
fn several(set: &str) -> CliResult<Option<Swept>> {
    let Some((key, values)) = set.split_once('=') else { return Ok(None) };
    let bad = |why: &str| CliError::input(format!("--set {set}: {why}"));
    let swept = |values| Ok(Some(Swept { key: key.to_owned(), values }));
    let parts: Vec<&str> = values.split(':').collect();
    let numbers: Option<Vec<f64>> = parts.iter().map(|p| p.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[from, to, step]) => {
            if !(step != 0.0 && (to - from) * step >= 0.0 && [from, to, step].iter().all(|v| v.is_finite())) {
                return Err(bad("expected FROM:TO:STEP with a step that leads from one to the other"));
            }
            let count = ((to - from) / step + 1e-9).floor();
            if count >= MOST as f64 {
                return Err(bad(&format!("these are more than {MOST} points")));
            }
            // Ten digits: 0.1 three times is 0.3.
            let value = |i: usize| format!("{:.10}", from + i as f64 * step);
            let short = |text: String| text.trim_end_matches('0').trim_end_matches('.').to_owned();
            let name = |i| match short(value(i)).as_str() {
                "-0" => "0".to_owned(),
                other => other.to_owned(),
            };
            swept((0..=count as usize).map(name).collect())
        }
        Some([_, _]) => Err(bad("expected FROM:TO:STEP")),
        _ if values.starts_with(['[', '{', '"']) || !values.contains(',') => Ok(None),
        _ => {
            let list: Vec<String> = values.split(',').map(|v| v.trim().to_owned()).collect();
            if list.iter().any(String::is_empty) {
                Err(bad("a value is missing between two commas"))
            } else {
                swept(list)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sets: &[&str]) -> Result<(Swept, Vec<String>), String> {
        split(&sets.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).map_err(|e| e.to_string())
    }

    #[test]
    fn ranges_and_lists_are_values() {
        let values = |set: &str| of(&[set]).unwrap().0.values;
        assert_eq!(values("flow.alpha=0:16:4"), ["0", "4", "8", "12", "16"]);
        assert_eq!(values("flow.alpha=0.1:0.35:0.1"), ["0.1", "0.2", "0.3"]);
        assert_eq!(values("flow.alpha=2:-2:-2"), ["2", "0", "-2"]);
        assert_eq!(values("linear.policy=d, ds,dsh"), ["d", "ds", "dsh"]);
        let (swept, fixed) =
            of(&["flow.mach=0.5", "flow.alpha=1,2", "output.cuts=[{axis = \"y\", at = 1}]"]).unwrap();
        assert_eq!((swept.key.as_str(), fixed.len()), ("flow.alpha", 2));
    }

    #[test]
    fn what_is_no_sweep_is_said() {
        let cases = [
            (&["flow.alpha=2"][..], "no --set has several values"),
            (&["flow.alpha=0:4:1", "flow.mach=0.1,0.2"], "one key is swept at a time"),
            (&["flow.alpha=0:4:-1"], "a step that leads"),
            (&["flow.alpha=0:4"], "expected FROM:TO:STEP"),
            (&["flow.alpha=0:1e9:1"], "more than"),
            (&["flow.alpha=1,,2"], "a value is missing"),
        ];
        for (sets, expected) in cases {
            let error = of(sets).unwrap_err();
            assert!(error.contains(expected), "{sets:?}: {error}");
        }
    }
}
