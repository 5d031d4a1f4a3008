//! `cargo xtask test`: everything that must hold before a change goes in. Needs a Rust toolchain and nothing else;
//! uses cargo-nextest where it is installed, and says where it is not.
//!
//! Every step names the whole workspace: packages that are built alone have other features of what they stand on, and all of it would be
//! compiled once more.

use crate::{book, commands, cuda_format, licences, rooms, run, sizes, verify};
use std::collections::BTreeMap;

/// Format, the direction of dependencies, sizes of functions and folders, licences, the book's links, lints.
pub fn check() -> Result<(), String> {
    run::cargo(&["fmt", "--all", "--check"])?;
    cuda_format::check()?;
    rooms::check()?;
    sizes::check()?;
    licences::check()?;
    book::check()?;
    run::cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
}

impl Counts {
    /// Takes what a line of a test runner says: libtest's `test result: ok. 3 passed; 0 failed; ...` or nextest's
    /// `Summary [ 1.2s] 5 tests run: 4 passed (1 slow), 1 failed, 0 skipped`.
    fn read(&mut self, line: &str) {
        let line = line.trim_start();
        let nextest = line.starts_with("Summary [") && line.contains("run:");
        if !nextest && !line.starts_with("test result:") {
            return;
        }
        let of = |word: &str| {
            let mut before = "";
            for token in line.split([' ', ';', ',']).filter(|t| !t.is_empty()) {
                if token == word {
                    return before.parse().unwrap_or(0);
                }
                before = token;
            }
            0
        };
        self.passed += of("passed");
        self.failed += of("failed");
    }
}

/// All of it; `filter` narrows the tests.
pub fn test(filter: &[String]) -> Result<(), String> {
    check()?;
    // Tests that cannot run for want of data or of a device leave a line here (chromaflow_testkit::skip).
    let log = run::root().join("target").join(format!("skips.{}", std::process::id()));
    let env = [("CHROMAFLOW_SKIPS", log.as_path())];
    let mut counts = Counts::default();
    let mut good = run::watch(&["test", "--workspace", "--doc", "--quiet"], &env, |l| counts.read(l))?;
    let words: &[&str] = if run::there("cargo-nextest") {
        &["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "slow"]
    } else {
        println!("cargo-nextest is not installed: using cargo test");
        &["test", "--workspace", "--all-targets", "--no-fail-fast", "--quiet"]
    };
    let words: Vec<&str> = words.iter().copied().chain(filter.iter().map(String::as_str)).collect();
    good &= run::watch(&words, &env, |l| counts.read(l))?;

    // A case of each solver and the commands of the pages, by the very program that the tests above ran: one that was built without tests
    // has other features, and would compile much of what it stands on once more.
    if filter.is_empty() {
        let program = run::root().join("target/debug/chromaflow");
        if !program.exists() {
            return Err(format!("{} is not there: were the tests built?", program.display()));
        }
        let tally = verify::table(&program, &verify::FEW, None)?;
        let (passed, failed) = commands::table(&program, &[])?;
        counts.passed += tally.passed + passed;
        counts.failed += tally.failed + failed;
        good &= tally.failed + failed == 0;
    }

    let mut skips: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(&log).unwrap_or_default().lines() {
        if let Some((test, why)) = line.split_once('\t') {
            skips.entry(test.to_owned()).or_default().push(why.to_owned());
        }
    }
    let _ = std::fs::remove_file(&log);
    for (test, reasons) in &skips {
        println!("skipped: {test}: {}", reasons.join("; "));
    }
    // A test that was skipped in part counts as skipped, not as passed.
    let passed = counts.passed.saturating_sub(skips.len());
    println!("{passed} passed, {} failed, {} skipped", counts.failed, skips.len());
    if good { Ok(()) } else { Err(String::new()) }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn runners_lines_are_counted() {
        let mut counts = Counts::default();
        counts.read(
            "test result: ok. 12 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        );
        counts.read("     Summary [   0.123s] 5 tests run: 4 passed (1 slow), 1 failed, 0 skipped");
        counts.read("test summary 7 passed");
        assert_eq!((counts.passed, counts.failed), (16, 2));
    }
}
