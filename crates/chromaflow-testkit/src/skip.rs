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

/// Says that the running test is skipped, and why; `cargo xtask test` counts it. `what` is missing (`data`, `gpu`,
/// `mpi`): where the environment variable `CHROMAFLOW_REQUIRE` lists it (`gpu,data`), the skip is a failure.
///
/// # Panics
/// If `what` is required.
pub fn skip(what: &str, why: &str) {
    let required = std::env::var("CHROMAFLOW_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|r| r.trim() == what), "{what} is required, but {why}");
    eprintln!("skipped: {why}");
    let Some(log) = std::env::var_os("CHROMAFLOW_SKIPS") else { return };
    let thread = std::thread::current();
    let test = std::env::var("NEXTEST_TEST_NAME").ok();
    let test = test.as_deref().or(thread.name()).unwrap_or("a test");
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(log) {
        let _ = writeln!(file, "{test}\t{why}"); // one short write: lines of concurrent tests do not mix
    }
}
