//! `cargo xtask verify`: every case of `cases/` against its stored values.

use crate::{cases, run};
use chromaflow_testkit::required;
use std::fmt::Write;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Cases that take a release build less than ten seconds on two cores: what `--quick` runs. (Measured: 0.5 to 4 s of one core;
/// all of them with the tests' build 93 s.)
const QUICK: [&str; 14] = [
    "cavity_re100",
    "channel_cylinder_2d1",
    "cylinder_re40_incompressible",
    "duct",
    "flat_plate",
    "heated_cavity",
    "naca0012",
    "stator",
    "structured_bump",
    "structured_naca0012_tmr",
    "structured_plate",
    "structured_stator",
    "turbulent_channel",
    "wing",
];

/// One case of each solver that needs no data: what `cargo xtask test` runs, with the build that its tests use.
pub const FEW: [&str; 3] = ["cylinder_re40_incompressible", "structured_plate", "wing"];

/// Cases of the robustness suite, whose meshes are made by its own script.
const SUITE: &str = "cases/robust";

/// Cases on meshes on which default settings failed once.
const HARD: &str = "cases/hard";

/// How the cases came out.
#[derive(Default)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

/// What the program says of a case that several ranks do not compute (docs/src/parallel.md, "What is not there"), and the name of that here.
const ALONE: [(&str, &str); 2] = [
    ("one rank alone", "one rank alone computes it"),
    ("a rank computes whole blocks", "fewer blocks than ranks"),
];

/// `[--quick | --rest] [--ranks N] [--program FILE] [CASE...]`: cases by their names without `.toml`, all unless named; with `--ranks` each over so
/// many ranks, threads of one process, and those that several ranks do not compute are skipped by name. A release build is made unless a
/// program is given.
pub fn verify(args: &[String]) -> Result<(), String> {
    let (parts, args): (Vec<String>, Vec<String>) =
        args.iter().cloned().partition(|word| word == "--quick" || word == "--rest");
    let (ranks, args) = ranks_given(&args)?;
    let (given, mut names) = run::program_given("verify", &args)?;
    // The rest: what `cargo xtask test` leaves of the quick ones.
    if let Some(part) = parts.first() {
        names.extend(QUICK.iter().filter(|name| part == "--quick" || !FEW.contains(name)));
    }
    let program = run::program_or_built(given, &["build", "--release", "--package", "chromaflow-cli"])?;
    let tally = table(&program, &names, ranks)?;
    if tally.failed == 0 { Ok(()) } else { Err(format!("{} cases failed", tally.failed)) }
}

/// The number after `--ranks`, and the other words.
fn ranks_given(args: &[String]) -> Result<(Option<NonZeroUsize>, Vec<String>), String> {
    let mut rest = args.to_vec();
    let Some(at) = rest.iter().position(|word| word == "--ranks") else { return Ok((None, rest)) };
    rest.remove(at);
    if at == rest.len() {
        return Err("--ranks: how many?".to_owned());
    }
    let word = rest.remove(at);
    let ranks = word.parse().map_err(|_| format!("--ranks {word}: expected a number from 1"))?;
    Ok((Some(ranks), rest))
}

/// Runs the cases named (all if none is), over so many ranks where that is asked for, and prints the table.
pub fn table(program: &Path, names: &[&str], ranks: Option<NonZeroUsize>) -> Result<Tally, String> {
    let root = run::root();
    let mut all = cases::all(&root.join("cases"))?;
    for folder in [SUITE, HARD] {
        all.extend(cases::all(&root.join(folder))?);
    }
    let stem = |path: &Path| path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(name) = names.iter().find(|n| !all.iter().any(|c| stem(c) == **n)) {
        return Err(format!("{name}: no such case in {}", root.join("cases").display()));
    }
    let out =
        root.join(ranks.map_or_else(|| "target/verify".to_owned(), |n| format!("target/verify-{n}-ranks")));
    fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let mut tally = Tally::default();
    println!("| case | expected | got | seconds | verdict |\n|---|---|---|---|---|");
    for case in all.iter().filter(|c| names.is_empty() || names.contains(&stem(c).as_str())) {
        let name = stem(case);
        let row = one(program, (case, ranks), &out.join(&name), &cases::data_folder(&root))?;
        match row.verdict {
            Verdict::Good => tally.passed += 1,
            Verdict::Failed(_) => tally.failed += 1,
            Verdict::Skipped(_) => tally.skipped += 1,
        }
        let verdict = match row.verdict {
            Verdict::Good => "good".to_owned(),
            Verdict::Failed(why) => format!("FAILED: {why}"),
            Verdict::Skipped(why) => format!("skipped: {why}"),
        };
        println!("| {name} | {} | {} | {:.1} | {verdict} |", row.expected, row.got, row.seconds);
    }
    println!("cases: {} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
    Ok(tally)
}

enum Verdict {
    Good,
    Failed(String),
    Skipped(String),
}

struct Row {
    expected: String,
    got: String,
    seconds: f64,
    verdict: Verdict,
}

fn one(
    program: &Path,
    (case, ranks): (&Path, Option<NonZeroUsize>),
    out: &Path,
    data: &Path,
) -> Result<Row, String> {
    let text = fs::read_to_string(case).map_err(|e| format!("{}: {e}", case.display()))?;
    let table: toml::Table = text.parse().map_err(|e| format!("{}: {e}", case.display()))?;
    let expect = table.get("expect").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let row = |verdict| Row { expected: expected(&expect), got: "-".into(), seconds: 0.0, verdict };
    if let Some(file) = cases::missing(case, &text, data) {
        if case.parent().is_some_and(|folder| folder.ends_with(SUITE)) {
            let why = format!("{file} is not there (python3 {SUITE}/meshes.py {SUITE}/meshes)");
            return Ok(row(Verdict::Skipped(why)));
        }
        let why = format!("{file} is not there (set CHROMAFLOW_DATA)");
        let verdict = if required("data") { Verdict::Failed(why) } else { Verdict::Skipped(why) };
        return Ok(row(verdict));
    }
    if expect.is_empty() {
        return Ok(row(Verdict::Failed("the case has no [expect]".into())));
    }
    let json = out.with_extension("json");
    let _ = fs::remove_file(&json); // what an earlier run left must not be taken for this one's
    let start = Instant::now();
    let mut command = Command::new(program);
    command
        .args(["run", "--verify", "--quiet", "--out"])
        .args([out.as_os_str(), "--json".as_ref(), json.as_os_str(), case.as_os_str()])
        .env("CHROMAFLOW_DATA", data)
        .stdin(Stdio::null());
    if let Some(ranks) = ranks {
        command.args(["--ranks", &ranks.to_string()]);
    }
    let done = command.output().map_err(|e| format!("cannot start {}: {e}", program.display()))?;
    let seconds = start.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; ");
    let summary = fs::read_to_string(&json).ok().and_then(|t| serde_json::from_str(&t).ok());
    let verdict = match (&summary, done.status.success()) {
        (Some(_), true) => Verdict::Good,
        (None, true) => Verdict::Failed(format!("no summary in {}", json.display())),
        (_, false) => match ranks.and_then(|_| refused(done.status.code(), &said)) {
            Some(name) => Verdict::Skipped(format!("not over ranks: {name}")),
            None => Verdict::Failed(format!("{} ({said})", done.status)),
        },
    };
    let got = summary.map_or_else(|| "-".into(), |s: serde_json::Value| got(&expect, &s));
    Ok(Row { expected: expected(&expect), got, seconds, verdict })
}

/// What several ranks do not compute, where that is what a program says as it ends.
fn refused(status: Option<i32>, said: &str) -> Option<&'static str> {
    ALONE.iter().find(|(words, _)| status == Some(2) && said.contains(words)).map(|(_, name)| *name)
}

/// The keys of `[expect]` that a force or an oscillation answers, and where the summary has that.
const VALUES: [(&str, &str); 6] = [
    ("cl", "/forces/cl"),
    ("cd", "/forces/cd"),
    ("mean_cl", "/oscillation/mean_cl"),
    ("mean_cd", "/oscillation/mean_cd"),
    ("cl_amplitude", "/oscillation/cl_amplitude"),
    ("strouhal", "/oscillation/strouhal"),
];

fn expected(expect: &toml::Table) -> String {
    let mut text = String::new();
    for (key, _) in VALUES {
        if let Some(value) = expect.get(key) {
            let _ = write!(text, "{key} {value} ");
        }
    }
    for (key, before, after) in [
        ("tolerance", "+-", ""),
        ("residual_orders_at_least", ">=", " orders"),
        ("iterations_at_most", "<=", " iterations"),
    ] {
        if let Some(value) = expect.get(key) {
            let _ = write!(text, "{before} {value}{after} ");
        }
    }
    text.trim_end().to_owned()
}

fn got(expect: &toml::Table, summary: &serde_json::Value) -> String {
    let mut text = String::new();
    let number = |at: &str| summary.pointer(at).and_then(serde_json::Value::as_f64);
    for (key, at) in VALUES.iter().filter(|v| expect.contains_key(v.0)) {
        let _ = match number(at) {
            Some(value) => write!(text, "{key} {value:.7} "),
            None => write!(text, "{key} - "),
        };
    }
    if let Some(orders) = number("/residual_orders") {
        let _ = write!(text, "{orders:.2} orders ");
    }
    if let Some(iterations) = number("/iterations") {
        let _ = write!(text, "{iterations} iterations");
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_and_results_stand_side_by_side() {
        let expect: toml::Table =
            "cl = 0.25\nstrouhal = 0.16\ntolerance = 0.001\niterations_at_most = 90".parse().unwrap();
        let summary = serde_json::json!({ "forces": { "cl": 0.2501, "cd": 1.0 }, "oscillation": null, "iterations": 71,
            "residual_orders": 6.014 });
        assert_eq!(expected(&expect), "cl 0.25 strouhal 0.16 +- 0.001 <= 90 iterations");
        assert_eq!(got(&expect, &summary), "cl 0.2501000 strouhal - 6.01 orders 71 iterations");
    }

    #[test]
    fn the_lists_name_cases() {
        let all = cases::all(&run::root().join("cases")).unwrap();
        for name in QUICK.iter().chain(&FEW) {
            assert!(all.iter().any(|c| c.file_stem().is_some_and(|s| s == *name)), "{name}");
        }
        assert!(FEW.iter().all(|name| QUICK.contains(name)));
    }

    #[test]
    fn ranks_are_asked_for_and_refusals_known() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let (ranks, rest) = ranks_given(&words(&["wing", "--ranks", "3", "duct"])).unwrap();
        assert_eq!((ranks.map(NonZeroUsize::get), rest), (Some(3), words(&["wing", "duct"])));
        assert_eq!(ranks_given(&words(&["wing"])).unwrap(), (None, words(&["wing"])));
        assert!(
            ranks_given(&words(&["--ranks"])).is_err() && ranks_given(&words(&["--ranks", "0"])).is_err()
        );
        let said = "error: 3 ranks, but the grid has 2 blocks, and a rank computes whole blocks: ask for 2";
        assert_eq!(refused(Some(2), said), Some("fewer blocks than ranks"));
        assert_eq!(refused(Some(3), said), None, "that is a failure");
        assert_eq!(refused(Some(2), "error: no mesh"), None);
    }

    /// A program that does nothing passes no case.
    #[test]
    fn a_program_without_results_fails() {
        let tally = table(Path::new("true"), &["wing"], None).unwrap();
        assert_eq!((tally.passed, tally.failed), (0, 1));
        assert!(table(Path::new("true"), &["no_such_case"], NonZeroUsize::new(2)).is_err());
    }
}
