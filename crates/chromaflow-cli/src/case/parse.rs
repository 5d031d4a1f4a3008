//! Reading a case file, with errors that point at the line and suggest the nearest key.

pub use chromaflow::nearest_word as nearest;

use crate::error::{CliError, CliResult};
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::DeValue;

/// The text of a case file: what errors point into.
#[derive(Clone, Debug)]
pub struct Source {
    /// The case file.
    pub path: PathBuf,
    text: String,
    /// Changes of it, of which errors tell as such.
    sets: Vec<String>,
}

/// What to say of a file that cannot be read as a case and has another ending than one.
fn other_file(path: &Path) -> String {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
        return String::new();
    }
    format!("; if it is a mesh, `chromaflow new {}` writes a case for it", path.display())
}

impl Source {
    /// Opens a case file.
    ///
    /// # Errors
    /// Status 2 where it cannot be read.
    pub fn open(path: &Path) -> CliResult<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            let binary = e.kind() == std::io::ErrorKind::InvalidData;
            let remedy = if binary { other_file(path) } else { String::new() };
            CliError::input(format!("cannot read case file {}: {e}{remedy}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), text, sets: Vec::new() })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// `text` as if it came from `path`.
    pub fn of_text(path: &Path, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned(), sets: Vec::new() }
    }

    /// The same text with changes that were made to it.
    pub fn changed(self, sets: &[String]) -> Self {
        Self { sets: sets.to_vec(), ..self }
    }

    /// Sections and keys as they are given, by the file and by `sets`.
    ///
    /// # Errors
    /// Broken syntax, with its place; a change that names no key.
    pub fn table(&self, sets: &[String]) -> CliResult<toml::Table> {
        let mut table = self.parse()?;
        sets.iter().try_for_each(|set| change(&mut table, set))?;
        Ok(table)
    }

    /// The file as a kind of case, with `sets` made one after another.
    ///
    /// # Errors
    /// File, line, column, what is wrong there and the nearest known key; the change that is wrong.
    pub fn parse_with<T: DeserializeOwned>(&self, sets: &[String]) -> CliResult<T> {
        let case = self.parse()?;
        let document = toml::de::DeTable::parse(&self.text).ok();
        if let Some(span) = document.and_then(|table| table.get_ref().values().find_map(boundless)) {
            return Err(self.error_at(span, BOUNDLESS));
        }
        if sets.is_empty() {
            return Ok(case);
        }
        let mut table: toml::Table = self.parse()?;
        let mut case = Ok(case);
        for set in sets {
            change(&mut table, set)?;
            // one at a time, so that an error names the change that made it
            case = table.clone().try_into().map_err(|error| bad_change(set, &explain(error.message())));
            if case.is_err() {
                break;
            }
        }
        case
    }

    fn parse<T: DeserializeOwned>(&self) -> CliResult<T> {
        toml::from_str(&self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            // What is no table at all is no case.
            let broken = toml::de::DeTable::parse(&self.text).is_err();
            let remedy = if broken { other_file(&self.path) } else { String::new() };
            self.error_at(span, &(explain(error.message()) + &remedy))
        })
    }

    /// An error at a key, for example `&["flow", "mach"]`: at the change that gives it, else at its place in the file, at the file where the key
    /// is not written there.
    pub fn error(&self, keys: &[&str], message: &str) -> CliError {
        let key = keys.join(".");
        let gives = |set: &&String| {
            let changed = split_change(set).map(|(changed, _)| changed.join("."));
            let rest = changed.as_ref().and_then(|changed| changed.strip_prefix(&key));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if let Some(set) = self.sets.iter().rev().find(gives).filter(|_| keys.len() > 1) {
            return bad_change(set, message);
        }
        match self.find(keys) {
            Some(span) => self.error_at(span, message),
            None => CliError::input(format!("{}: [{}]: {message}", self.path.display(), keys.join("."))),
        }
    }

    fn find(&self, keys: &[&str]) -> Option<Range<usize>> {
        let document = toml::de::DeTable::parse(&self.text).ok()?;
        let (last, tables) = keys.split_last()?;
        let mut table = document.get_ref();
        for key in tables {
            table = table.get(*key)?.get_ref().as_table()?;
        }
        table.get_key_value(*last).map(|(key, _)| key.span())
    }

    fn error_at(&self, span: Range<usize>, message: &str) -> CliError {
        let start = span.start.min(self.text.len());
        let before = &self.text[..start];
        let line = before.matches('\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let column = before[line_start..].chars().count() + 1;
        let shown = self.text[line_start..].lines().next().unwrap_or("");
        let marks = self.text[start..span.end.clamp(start, line_start + shown.len().max(start - line_start))]
            .chars()
            .count()
            .max(1);
        let gutter = line.to_string().len();
        let mut out = format!("{}:{line}:{column}: {message}", self.path.display());
        let _ = write!(
            out,
            "\n{:gutter$} |\n{line} | {shown}\n{:gutter$} | {:indent$}{}",
            "",
            "",
            "",
            "^".repeat(marks),
            indent = column - 1
        );
        CliError::input(out)
    }
}

/// TOML has `nan` and `inf`; no key of a case means anything by them.
const BOUNDLESS: &str = "expected a finite number";

/// Where a value has a number that is none, or infinite.
fn boundless(value: &toml::Spanned<DeValue<'_>>) -> Option<Range<usize>> {
    match value.get_ref() {
        DeValue::Float(number) => {
            let is_finite = number.as_str().parse().is_ok_and(f64::is_finite);
            (!is_finite).then(|| value.span())
        }
        DeValue::Array(list) => list.iter().find_map(boundless),
        DeValue::Table(table) => table.values().find_map(boundless),
        _ => None,
    }
}

fn bad_change(set: &str, why: &str) -> CliError {
    CliError::input(format!("--set {set}: {why}"))
}

/// The section and the keys of a change, and its value. Parts in quotes are names as TOML has them.
fn split_change(set: &str) -> Option<(Vec<String>, &str)> {
    let mut quote = None;
    let is_end = |c: char| {
        match quote {
            Some(open) if open == c => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        quote.is_none() && c == '='
    };
    let (keys, value) = set.split_at_checked(set.find(is_end)?)?;
    let value = &value[1..];
    if !keys.contains(['"', '\'']) {
        let (section, key) = keys.split_once('.')?;
        return Some((vec![section.to_owned(), key.to_owned()], value));
    }
    let mut inner: toml::Value = toml::from_str::<toml::Table>(&format!("{keys} = 0")).ok()?.into();
    let mut parts = Vec::new();
    while let toml::Value::Table(table) = inner {
        let (part, next) = table.into_iter().next()?;
        parts.push(part);
        inner = next;
    }
    (parts.len() > 1).then_some((parts, value))
}

/// Makes the change `section.key=value`, or of a marker's condition `boundary.marker.key=value`.
fn change(table: &mut toml::Table, set: &str) -> CliResult<()> {
    let expected = || bad_change(set, "expected section.key=value");
    let (parts, value) = split_change(set).ok_or_else(expected)?;
    let [section, key, inner @ ..] = &parts[..] else { return Err(expected()) };
    let text = format!("v = {value}");
    let document = toml::de::DeTable::parse(&text).ok();
    if document.is_some_and(|table| table.get_ref().values().any(|value| boundless(value).is_some())) {
        return Err(bad_change(set, BOUNDLESS));
    }
    let parsed = toml::from_str::<toml::Table>(&text);
    let value = parsed.ok().and_then(|mut t| t.remove("v")).unwrap_or_else(|| value.into());
    let slot = table.entry(section).or_insert_with(|| toml::Table::new().into());
    let slot = slot.as_table_mut().ok_or_else(|| bad_change(set, "that section is no table"))?;
    // A marker may have points in its name.
    let inside = match inner {
        [inner] if section == "boundary" => Some((key.as_str(), inner.as_str())),
        [] if section == "boundary" && !slot.contains_key(key) => key.rsplit_once('.'),
        [] => None,
        _ => return Err(expected()),
    };
    if let Some((marker, key)) = inside
        && let Some(condition) = slot.get_mut(marker)
    {
        if let toml::Value::String(kind) = condition {
            *condition = toml::Table::from_iter([("kind".to_owned(), kind.as_str().into())]).into();
        }
        let condition = condition.as_table_mut();
        condition.ok_or_else(|| bad_change(set, "that condition is no table"))?.insert(key.to_owned(), value);
    } else {
        let [] = inner else {
            return Err(bad_change(set, &format!("[boundary] has no condition for `{key}`")));
        };
        slot.insert(key.clone(), value);
    }
    Ok(())
}

/// Words of one kind of case, and what the other kind calls the same.
const OTHER_WORDS: [(&str, &str); 11] = [
    ("no_slip", "wall"),
    ("moving_wall", "wall"),
    ("slip_wall", "symmetry"),
    ("inlet", "inflow"),
    ("velocity_inlet", "inflow"),
    ("outlet", "outflow"),
    ("mass_flow_outlet", "outflow"),
    ("extrapolation", "outflow"),
    ("wall", "no_slip"),
    ("inflow", "inlet"),
    ("outflow", "outlet"),
];

/// Conditions, and what meshes and cases of other programs (SU2, FUN3D, OpenFOAM, Fluent, CGNS) call the same, in small letters and figures alone,
/// without `marker` or `bc` before it.
const ELSEWHERE: [(&str, &str); 11] = [
    (
        "no_slip",
        "wall viscouswall viscoussolid viscousweakwall viscouswallfunction wallviscous wallviscousheatflux wallviscousisothermal adiabatic \
         adiabaticwall walladiabatic isothermal isothermalwall wallisothermal heatflux noslipwall noslipadiabatic noslipisothermal",
    ),
    ("moving_wall", "movingwallvelocity rotatingwall rotatingwallvelocity"),
    ("slip_wall", "slip wallslip euler eulerwall tangency inviscid inviscidwall wallinviscid"),
    (
        "symmetry",
        "sym symm symmetryplane symmetryx symmetryy symmetryz symmetryxstrong symmetryystrong symmetryzstrong empty",
    ),
    ("farfield", "far freestream pressurefarfield farfieldriem farfieldroe characteristic riemann"),
    (
        "inlet",
        "inflow pressureinlet totalpressure totalpressureinlet stagnationinlet subsonicinlet subsonicinflow subsonicinflowpt inflowsubsonic \
         supersonicinlet supersonicinflow inflowsupersonic fixedinflow",
    ),
    ("velocity_inlet", "flowrateinletvelocity massflowinlet massflowin"),
    (
        "outlet",
        "outflow pressureoutlet backpressure staticpressure subsonicoutlet subsonicoutflow subsonicoutflowp0 outflowsubsonic inletoutlet",
    ),
    ("mass_flow_outlet", "massflowout massflowoutlet"),
    (
        "extrapolation",
        "extrapolate supersonicoutlet supersonicoutflow outflowsupersonic fixedoutflow zerogradient farfieldextr",
    ),
    ("periodic", "cyclic periodicity"),
];

/// The condition that other programs call so, of compressible flow.
fn from_elsewhere(word: &str) -> Option<&'static str> {
    let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let own = ["marker", "bc"].iter().find_map(|before| plain.strip_prefix(before)).unwrap_or(&plain);
    let called = |(_, others): &&(&str, &str)| others.split(' ').any(|other| other == own);
    let same = |(name, _): &&(&'static str, &str)| name.replace('_', "") == own;
    ELSEWHERE.iter().find(same).or_else(|| ELSEWHERE.iter().find(called)).map(|(name, _)| *name)
}

/// The word among those known that stands for one of another kind of case or program.
fn translated<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let own = |word: &str| known.iter().copied().find(|k| *k == word);
    let other = |word: &str| OTHER_WORDS.iter().filter(|(w, _)| *w == word).find_map(|(_, w)| own(w));
    let is_condition = own("symmetry").is_some();
    let elsewhere = || from_elsewhere(found).filter(|_| is_condition);
    other(found).or_else(|| elsewhere().and_then(|word| own(word).or_else(|| other(word))))
}

/// Serde's message in our words: what is unknown, what is nearest, what there is.
fn explain(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let kind = if message.starts_with("unknown field") {
        "key"
    } else if message.starts_with("unknown variant") {
        "value"
    } else if message.contains("unit variant") || message.starts_with("wanted string or table") {
        return "expected a word, in quotes even where it is of digits alone".to_owned();
    } else {
        return message.trim_end().to_owned();
    };
    let Some(found) = quoted.next() else { return message.to_owned() };
    let known: Vec<&str> = quoted.collect();
    let list = known.join(", ");
    match translated(found, &known).or_else(|| nearest(found, known.iter().copied())) {
        Some(best) => format!("unknown {kind} `{found}`; did you mean `{best}`? (known here: {list})"),
        None => format!("unknown {kind} `{found}`; known here: {list}"),
    }
}
