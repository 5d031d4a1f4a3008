//! What a profiler sees of a run.

mod common;

use chromaflow_testkit::available;
use common::{CASE, cube};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(folder: &Path, profiler: &Path, more: &[&str]) -> Output {
    std::fs::write(folder.join("cube.su2"), cube(4)).unwrap();
    std::fs::write(folder.join("case.toml"), CASE).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_chromaflow"));
    command
        .args(["run", "case.toml", "--trace", "trace.json", "--threads", "1"])
        .args(more)
        .current_dir(folder);
    command.env("NVTX_INJECTION64_PATH", profiler).env("RANGES", folder.join("ranges.txt"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The profiler of `programs/profiler.c`.
fn profiler(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/profiler.c");
    let library = folder.join("libprofiler.so");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    let output = available("cc", cc.output())?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(library)
}

/// Ranges nest, each ends, iterations hold their components, and these have the names of the trace.
#[test]
fn a_profiler_sees_iterations_and_their_components() {
    let dir = tempfile::tempdir().unwrap();
    let Some(library) = profiler(dir.path()) else { return };
    run(dir.path(), &library, &[]);
    let log = std::fs::read_to_string(dir.path().join("ranges.txt")).unwrap();
    let mut open: Vec<&str> = Vec::new();
    let (mut iterations, mut components, mut others) = (0, BTreeSet::new(), Vec::new());
    for line in log.lines() {
        let (what, rest) = line.split_once(' ').unwrap();
        let (depth, name) = rest.split_once(' ').unwrap_or((rest, ""));
        if what == "pop" {
            assert!(open.pop().is_some(), "{line}");
            assert_eq!(depth, open.len().to_string());
            continue;
        }
        assert_eq!(depth, open.len().to_string(), "{line}");
        match open[..] {
            [] if name == "iteration" => iterations += 1,
            [] => others.push(name),
            _ => {
                assert_eq!(open[0], "iteration");
                components.insert(name.to_owned());
            }
        }
        open.push(name);
    }
    assert_eq!((open.len(), iterations, &others[..]), (0, 5, &["write results"][..]));
    let trace = std::fs::read_to_string(dir.path().join("trace.json")).unwrap();
    for component in &components {
        assert!(trace.contains(&format!("\"name\":\"{component}\"")), "{component}");
    }
    assert!(
        components.len() >= 4 && components.contains("LHS") && components.contains("RHS"),
        "{components:?}"
    );
}

/// Two ranks of one process: ranges of each thread are balanced, and every rank's iterations are seen.
#[test]
fn ranges_of_ranks_are_those_of_their_threads() {
    let dir = tempfile::tempdir().unwrap();
    let Some(library) = profiler(dir.path()) else { return };
    run(dir.path(), &library, &["--ranks", "2"]);
    let log = std::fs::read_to_string(dir.path().join("ranges.txt")).unwrap();
    let count = |start: &str| log.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("push 0 iteration"), 10);
    assert_eq!(count("push "), count("pop "));
}

/// A profiler that is not there is said, and the run goes on without.
#[test]
fn a_profiler_that_cannot_be_opened_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), Path::new("/nowhere/libprofiler.so"), &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("warning: NVTX_INJECTION64_PATH=/nowhere/libprofiler.so: "), "{said}");
}
