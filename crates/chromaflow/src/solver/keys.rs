//! Options by name: one table for every door and its help.

use super::NullSpace;
use super::options::{PreconditionerKind, RowOrder, SolverOptions};
use crate::factor::block_ilu::Fill;
use crate::order::{ColoringMethod, Rcm, VertexOrder};
use crate::relax::{DiagonalForm, Direction};
use crate::sparse::HalfScale;
use crate::{Policy, nearest_word};
use std::fmt;
use std::str::FromStr;

/// An option that has a name.
pub struct OptionKey {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: OptionKind,
    /// One line about it.
    pub help: &'static str,
    set: fn(&mut SolverOptions, &str) -> Option<()>,
    get: fn(&SolverOptions) -> String,
}

/// The values that an option may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// One of these words, separated by commas.
    Word(&'static str),
    /// A whole number, at least this.
    Count(usize),
    /// A number in this range.
    Number(&'static str),
    /// yes or no.
    Flag,
}

impl fmt::Display for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionKind::Word(words) => f.write_str(words),
            OptionKind::Count(least) => write!(f, "a whole number from {least}"),
            OptionKind::Number(range) => write!(f, "a number {range}"),
            OptionKind::Flag => f.write_str("yes or no"),
        }
    }
}

/// Text that sets no option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No option has this name.
    #[error("unknown option `{key}`{}; known here: {}", hint(*.nearest), names())]
    Unknown {
        /// The name.
        key: String,
        /// The nearest that there is.
        nearest: Option<&'static str>,
    },
    /// The option has no such value.
    #[error("{key} = `{value}`: expected {expected}")]
    Value {
        /// The option.
        key: &'static str,
        /// What it cannot be.
        value: String,
        /// What it can be.
        expected: OptionKind,
    },
    /// No `key=value`.
    #[error("`{0}`: expected key=value, and commas between them")]
    Syntax(String),
}

fn hint(nearest: Option<&'static str>) -> String {
    nearest.map_or(String::new(), |n| format!("; did you mean `{n}`?"))
}

fn names() -> String {
    KEYS.iter().map(|k| k.name).collect::<Vec<_>>().join(", ")
}

impl OptionKey {
    /// What it is when nobody sets it.
    pub fn default(&self) -> String {
        (self.get)(&SolverOptions::default())
    }
}

impl SolverOptions {
    /// Every option that has a name.
    pub fn keys() -> &'static [OptionKey] {
        KEYS
    }

    /// Sets one option by its name.
    ///
    /// # Errors
    /// [`KeyError`]; nothing is changed then.
    ///
    /// ```
    /// use chromaflow::SolverOptions;
    /// let mut options = SolverOptions::default();
    /// options.set("preconditioner", "ilu1")?;
    /// assert_eq!(options.get("preconditioner")?, "ilu1");
    /// let refused = options.set("tolerence", "1e-3").unwrap_err().to_string();
    /// assert!(refused.starts_with("unknown option `tolerence`; did you mean `tolerance`?"));
    /// # Ok::<(), chromaflow::solver::KeyError>(())
    /// ```
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), KeyError> {
        let option = find(key)?;
        let mut changed = *self;
        (option.set)(&mut changed, value).ok_or_else(|| KeyError::Value {
            key: option.name,
            value: value.to_owned(),
            expected: option.kind,
        })?;
        *self = changed;
        Ok(())
    }

    /// An option by its name, as [`SolverOptions::set`] takes it.
    ///
    /// # Errors
    /// [`KeyError::Unknown`].
    pub fn get(&self, key: &str) -> Result<String, KeyError> {
        Ok((find(key)?.get)(self))
    }

    /// Sets the options of `key=value` pairs with commas between them; of a key that stands twice the last counts.
    ///
    /// # Errors
    /// [`KeyError`] of the first pair that is wrong.
    pub fn set_all(&mut self, text: &str) -> Result<(), KeyError> {
        for pair in text.split([',', '\n']).map(str::trim).filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| KeyError::Syntax(pair.to_owned()))?;
            self.set(key.trim(), value.trim())?;
        }
        Ok(())
    }
}

fn find(key: &str) -> Result<&'static OptionKey, KeyError> {
    KEYS.iter().find(|k| k.name == key).ok_or_else(|| KeyError::Unknown {
        key: key.to_owned(),
        nearest: nearest_word(key, KEYS.iter().map(|k| k.name)),
    })
}

/// Puts what `text` says into `slot`, when it is what it should be.
fn put<T: FromStr>(slot: &mut T, text: &str, fits: impl Fn(&T) -> bool) -> Option<()> {
    *slot = text.parse().ok().filter(fits)?;
    Some(())
}

fn flag(slot: &mut bool, text: &str) -> Option<()> {
    *slot = match text {
        "yes" | "true" | "on" | "1" => true,
        "no" | "false" | "off" | "0" => false,
        _ => return None,
    };
    Some(())
}

fn yes_no(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

/// The one of `words` (each with what it stands for) that `text` is.
fn word<T: Copy>(slot: &mut T, words: &[(&str, T)], text: &str) -> Option<()> {
    *slot = words.iter().find(|w| w.0 == text)?.1;
    Some(())
}

fn name_in<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> String {
    words.iter().find(|w| w.1 == *value).expect("every value has its word").0.to_owned()
}

const HALF_SCALES: [(&str, HalfScale); 3] =
    [("global", HalfScale::Global), ("power-of-two", HalfScale::PowerOfTwo), ("rows", HalfScale::Rows)];
const NULL_SPACES: [(&str, NullSpace); 2] = [("none", NullSpace::None), ("constant", NullSpace::Constant)];
const DIAGONALS: [(&str, DiagonalForm); 2] = [("inverse", DiagonalForm::Inverse), ("lu", DiagonalForm::Lu)];
const DIRECTIONS: [(&str, Direction); 3] =
    [("forward", Direction::Forward), ("backward", Direction::Backward), ("symmetric", Direction::Symmetric)];
const COLORINGS: [(&str, ColoringMethod); 5] = [
    ("natural", ColoringMethod::Greedy(VertexOrder::Natural)),
    ("largest-first", ColoringMethod::Greedy(VertexOrder::LargestFirst)),
    ("smallest-last", ColoringMethod::Greedy(VertexOrder::SmallestLast)),
    ("fewest", ColoringMethod::Fewest),
    ("parallel", ColoringMethod::Parallel),
];

fn set_preconditioner(slot: &mut PreconditionerKind, text: &str) -> Option<()> {
    *slot = match (text, text.strip_prefix("ilu")) {
        ("dilu", _) => PreconditionerKind::Ilu(Fill::DiagonalOnly),
        (_, Some(level)) => PreconditionerKind::Ilu(Fill::Level(level.parse().ok()?)),
        _ => text.parse().ok()?,
    };
    Some(())
}

fn preconditioner_name(kind: PreconditionerKind) -> String {
    match kind {
        PreconditionerKind::Ilu(Fill::Level(level)) => format!("ilu{level}"),
        PreconditionerKind::Ilu(Fill::DiagonalOnly) => "dilu".to_owned(),
        other => other.name().to_owned(),
    }
}

fn set_order(options: &mut SolverOptions, order: RowOrder) {
    options.plan.rcm = order.rcm();
    options.colored = order == RowOrder::Multicolor;
}

fn order(options: &SolverOptions) -> RowOrder {
    match (options.plan.rcm, options.colored) {
        (_, true) => RowOrder::Multicolor,
        (Rcm::UnlessBanded, false) => RowOrder::Auto,
        (Rcm::Always | Rcm::ColoredFronts(_), false) => RowOrder::Rcm,
        (Rcm::Never, false) => RowOrder::Natural,
    }
}

#[rustfmt::skip]
const KEYS: &[OptionKey] = &[
    OptionKey {
        name: "method", kind: OptionKind::Word("richardson, gmres, bicgstab"),
        help: "how to iterate; richardson alone adds up corrections by the preconditioner",
        set: |o, v| put(&mut o.method, v, |_| true), get: |o| o.method.to_string(),
    },
    OptionKey {
        name: "preconditioner", kind: OptionKind::Word("ilu0, ilu1, ..., dilu, ssor, gauss_seidel, multicolor, jacobi, none"),
        help: "the approximate inverse: block ILU with a level of fill, or point-implicit sweeps",
        set: |o, v| set_preconditioner(&mut o.preconditioner, v), get: |o| preconditioner_name(o.preconditioner),
    },
    OptionKey {
        name: "policy", kind: OptionKind::Word("d, ds, dsh"),
        help: "precision of sweeps and factors: f64, f32 or scaled f16 off the diagonal",
        set: |o, v| put(&mut o.policy, v, |_: &Policy| true), get: |o| o.policy.to_string(),
    },
    OptionKey {
        name: "half_scale", kind: OptionKind::Word("global, power-of-two, rows"),
        help: "how dsh is scaled",
        set: |o, v| word(&mut o.half_scale, &HALF_SCALES, v), get: |o| name_in(&HALF_SCALES, &o.half_scale),
    },
    OptionKey {
        name: "diagonal", kind: OptionKind::Word("inverse, lu"),
        help: "how sweeps keep the diagonal blocks",
        set: |o, v| word(&mut o.diagonal, &DIAGONALS, v), get: |o| name_in(&DIAGONALS, &o.diagonal),
    },
    OptionKey {
        name: "order", kind: OptionKind::Word("auto, natural, rcm, multicolor"),
        help: "in which order block ILU and Gauss-Seidel take the rows; auto: rcm unless they lie in a band; of multicolor sweeps, the order before coloring",
        set: |o, v| { set_order(o, v.parse().ok()?); Some(()) }, get: |o| order(o).to_string(),
    },
    OptionKey {
        name: "coloring", kind: OptionKind::Word("natural, largest-first, smallest-last, fewest, parallel"),
        help: "how rows get their colors",
        set: |o, v| word(&mut o.plan.coloring, &COLORINGS, v),
        get: |o| name_in(&COLORINGS, &o.plan.coloring),
    },
    OptionKey {
        name: "balance", kind: OptionKind::Flag,
        help: "whether colors are made nearly equal in size",
        set: |o, v| flag(&mut o.plan.balance, v), get: |o| yes_no(o.plan.balance),
    },
    OptionKey {
        name: "sweeps", kind: OptionKind::Count(1),
        help: "sweeps of an application of the preconditioner; all there are with richardson and tolerance=0",
        set: |o, v| put(&mut o.sweeps, v, |&n| n >= 1), get: |o| o.sweeps.to_string(),
    },
    OptionKey {
        name: "direction", kind: OptionKind::Word("forward, backward, symmetric"),
        help: "which way sweeps go; ssor goes both ways",
        set: |o, v| word(&mut o.direction, &DIRECTIONS, v), get: |o| name_in(&DIRECTIONS, &o.direction),
    },
    OptionKey {
        name: "damping", kind: OptionKind::Number("above 0 and up to 2"),
        help: "factor on every change of x within a sweep",
        set: |o, v| put(&mut o.damping, v, |&d| d > 0.0 && d <= 2.0), get: |o| o.damping.to_string(),
    },
    OptionKey {
        name: "tolerance", kind: OptionKind::Number("from 0 to below 1"),
        help: "stop at ||b - A x|| <= tolerance ||b||; 0 does all iterations",
        set: |o, v| put(&mut o.tolerance, v, |&t| (0.0..1.0).contains(&t)),
        get: |o| format!("{:e}", o.tolerance),
    },
    OptionKey {
        name: "max_iterations", kind: OptionKind::Count(0),
        help: "most applications of the preconditioner",
        set: |o, v| put(&mut o.max_iterations, v, |_| true), get: |o| o.max_iterations.to_string(),
    },
    OptionKey {
        name: "restart", kind: OptionKind::Count(1),
        help: "iterations of GMRES between restarts",
        set: |o, v| put(&mut o.restart, v, |&n| n >= 1), get: |o| o.restart.to_string(),
    },
    OptionKey {
        name: "longest_restart", kind: OptionKind::Count(1),
        help: "to what length cycles of GMRES that hardly help may grow",
        set: |o, v| put(&mut o.longest_restart, v, |&n| n >= 1), get: |o| o.longest_restart.to_string(),
    },
    OptionKey {
        name: "correction_sweeps", kind: OptionKind::Count(0),
        help: "of sweeps alone: after how many the correction is added in f64; 0 never does",
        set: |o, v| put(&mut o.correction_sweeps, v, |_| true), get: |o| o.correction_sweeps.to_string(),
    },
    OptionKey {
        name: "null_space", kind: OptionKind::Word("none, constant"),
        help: "what the matrix takes to zero: constants, as where nothing sets a pressure; x then has mean zero, and b loses what no x gives",
        set: |o, v| word(&mut o.null_space, &NULL_SPACES, v), get: |o| name_in(&NULL_SPACES, &o.null_space),
    },
    OptionKey {
        name: "keep_matrix", kind: OptionKind::Flag,
        help: "whether the matrix itself is kept; no: for apply and for products of the caller's alone, which saves time and memory",
        set: |o, v| flag(&mut o.keep_matrix, v), get: |o| yes_no(o.keep_matrix),
    },
    OptionKey {
        name: "history", kind: OptionKind::Flag,
        help: "whether sweeps without tolerance record the residual after each one",
        set: |o, v| flag(&mut o.history, v), get: |o| yes_no(o.history),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Method;

    #[test]
    fn every_option_takes_its_default_and_every_word() {
        for key in SolverOptions::keys() {
            let mut options = SolverOptions::default();
            options.set(key.name, &key.default()).unwrap();
            assert_eq!(options, SolverOptions::default(), "{}", key.name);
            let words = match key.kind {
                OptionKind::Word(words) => words.split(", ").filter(|w| *w != "...").collect(),
                OptionKind::Flag => vec!["yes", "no"],
                OptionKind::Count(_) => vec!["17"],
                OptionKind::Number(_) => vec!["0.5"],
            };
            for word in words {
                options.set(key.name, word).unwrap();
                let found = options.get(key.name).unwrap();
                assert!(found == word || found.parse::<f64>() == word.parse::<f64>(), "{} {word}", key.name);
            }
        }
    }

    /// Lines need more than a matrix: the word is understood, kept, and refused with what to do by whoever has none.
    #[test]
    fn lines_are_understood_and_refused_where_there_are_none() {
        let mut options = SolverOptions::default();
        options.set("preconditioner", "lines").unwrap();
        assert_eq!(options.preconditioner, PreconditionerKind::Lines);
        assert_eq!(options.get("preconditioner").unwrap(), "lines");
        let refused = options.check().unwrap_err();
        assert!(refused.contains("AssembledSolver") && refused.contains("ilu0"), "{refused}");
        assert!(!options.preconditioner.sweeps_in_levels() && options.preconditioner.sweeps_in_batches());
    }

    #[test]
    fn wrong_text_is_refused_and_changes_nothing() {
        let mut options = SolverOptions::default();
        let mut said = |text: &str| options.set_all(text).unwrap_err().to_string();
        assert!(said("preconditoner=ilu0").contains("did you mean `preconditioner`?"));
        assert!(said("zzzzzzzz=1").starts_with("unknown option `zzzzzzzz`; known here: method, "));
        assert_eq!(said("policy=single"), "policy = `single`: expected d, ds, dsh");
        assert_eq!(said("sweeps=0"), "sweeps = `0`: expected a whole number from 1");
        assert_eq!(said("tolerance=NaN"), "tolerance = `NaN`: expected a number from 0 to below 1");
        assert!(said("preconditioner=ilu").contains("expected ilu0"));
        assert_eq!(said("gmres"), "`gmres`: expected key=value, and commas between them");
        assert_eq!(options, SolverOptions::default());
        options.set_all(" method = bicgstab,\norder=natural, preconditioner=ilu2,").unwrap();
        assert_eq!((options.method, options.plan.rcm), (Method::BiCgStab, Rcm::Never));
        assert_eq!(options.preconditioner, PreconditionerKind::Ilu(Fill::Level(2)));
    }
}
