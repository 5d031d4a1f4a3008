//! Tests that cannot run here: said aloud, counted, and failures where they were required.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file of the large data set (meshes, matrices, reference results), which does not lie in the repository: looked up
/// in the folder `CHROMAFLOW_DATA`, or else in `../shared/data` beside the repository. Where it is absent, the test
/// is to return, and this [`skip`]s it.
pub fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("CHROMAFLOW_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    skip("data", &format!("{name} is not there (set CHROMAFLOW_DATA to the folder of the data set)"));
    None
}

/// What a test needs (a GPU, a compiler), or nothing where it is not there, and then this [`skip`]s the test.
pub fn available<T, E: std::fmt::Display>(what: &str, found: Result<T, E>) -> Option<T> {
    found.map_err(|reason| skip(what, &reason.to_string())).ok()
}

/// Chromium or Chrome on this machine: the program that `CHROMAFLOW_BROWSER` names, or one on the path.
///
/// # Errors
/// What is missing.
pub fn browser() -> Result<PathBuf, &'static str> {
    let named = std::env::var_os("CHROMAFLOW_BROWSER").map(PathBuf::from);
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    let browser = named.or_else(|| found.find(|file| file.is_file()));
    browser.ok_or("no chromium or chrome in PATH (CHROMAFLOW_BROWSER names one)")
}

/// Says that the running test is skipped, and why; `cargo xtask test` counts it. `what` is missing (`data`, `gpu`,
/// `nvrtc`, `cxx`): where the environment variable `CHROMAFLOW_REQUIRE` lists it (`data, gpu`), the skip is a failure.
///
/// # Panics
/// If `what` is required.
pub fn skip(what: &str, why: &str) {
    assert!(!required(what), "{what} is required, but {why}");
    eprintln!("skipped: {why}");
    let Some(log) = std::env::var_os("CHROMAFLOW_SKIPS") else { return };
    let thread = std::thread::current();
    let test = std::env::var("NEXTEST_TEST_NAME").ok();
    let test = test.as_deref().or(thread.name()).unwrap_or("a test");
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(log) {
        let _ = writeln!(file, "{test}\t{why}"); // one short write: lines of concurrent tests do not mix
    }
}

/// Whether `CHROMAFLOW_REQUIRE` lists `what`, such as `gpu`.
pub fn required(what: &str) -> bool {
    requires(&std::env::var("CHROMAFLOW_REQUIRE").unwrap_or_default(), what)
}

/// Whether a list such as `data, gpu` (words between commas or blanks) names `what`.
fn requires(list: &str, what: &str) -> bool {
    list.split(|c: char| c == ',' || c.is_whitespace()).any(|word| word == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_things_are_listed_with_or_without_blanks() {
        for list in ["data,gpu", "data, gpu", " gpu ,data", "data gpu", "gpu"] {
            assert!(requires(list, "gpu"), "{list:?}");
            assert!(!requires(list, "nvrtc"), "{list:?}");
            assert_eq!(requires(list, "data"), list != "gpu", "{list:?}");
        }
        assert!(!requires("", "gpu") && !requires("gpus", "gpu") && !requires("a gpu-less one", "gpu"));
    }

    #[test]
    fn what_is_there_is_handed_over() {
        assert_eq!(available::<_, String>("gpu", Ok(3)), Some(3));
    }
}
