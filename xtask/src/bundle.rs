//! `cargo xtask bundle`: everything that a machine with a GPU and without a toolchain needs to test and to measure.

use crate::{cases, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tests whose names contain one of these need a GPU (as in `on-gpu.sh`).
const TESTS: [&str; 2] = ["cuda", "gpu"];
const FEATURES: &str = "chromaflow/cuda,chromaflow-device/cuda,chromaflow-flow/cuda";
/// The largest data file that travels: larger meshes would fill the bundle.
const DATA_BYTES: u64 = 12 << 20;

/// Builds the commands, this program and every test binary that has GPU tests, and puts them, stripped and packed, with `on-gpu.sh`, the
/// cases and the meshes that these name into a folder (`target/bundle` unless given).
pub fn bundle(args: &[String]) -> Result<(), String> {
    let root = run::root();
    let to = args.first().map_or_else(|| root.join("target/bundle"), PathBuf::from);
    let mut words = vec!["build", "--release"];
    words.extend(["chromaflow-cli", "chromaflow-bench"].iter().flat_map(|p| ["--package", *p]));
    run::cargo(&words)?;
    // The command's own tests start it where cargo built it, and cannot travel; of the tests beside the other libraries those do
    // whose files are named for the GPU.
    let mut words = vec!["test", "--release", "--no-run", "--lib", "--test", "*gpu*", "--features", FEATURES];
    for package in ["chromaflow", "chromaflow-capi", "chromaflow-device", "chromaflow-flow"] {
        words.extend(["--package", package]);
    }
    let mut tests: BTreeSet<String> = BTreeSet::new();
    let good = run::watch(&words, &[], |line| {
        if let Some((_, rest)) = line.rsplit_once("Executable ").filter(|l| l.1.ends_with(')')) {
            let path = rest.trim_end_matches(')').rsplit_once('(').map_or("", |p| p.1);
            tests.insert(path.to_owned());
        }
    })?;
    if !good {
        return Err("the tests were not built".to_owned());
    }
    if to.exists() {
        fs::remove_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    for program in ["chromaflow", "chromaflow-papers", "chromaflow-kernels"] {
        copy(&root.join("target/release").join(program), &to.join(program), true)?;
    }
    for test in &tests {
        let listed = Command::new(root.join(test)).args(["--list"]).args(TESTS).output();
        let listed = listed.map_err(|e| format!("{test}: {e}"))?;
        if String::from_utf8_lossy(&listed.stdout).contains(": test") {
            let stem = Path::new(test).file_name().and_then(|n| n.to_str()).unwrap_or(test);
            copy(&root.join(test), &to.join("tests").join(stem), true)?;
        }
    }
    copy(&root.join("xtask/src/on-gpu.sh"), &to.join("on-gpu.sh"), false)?;
    copy_cases(&root, &to)?;
    let bytes = size(&to)?;
    println!("{}: {:.1} MB; on the GPU's machine: bash on-gpu.sh", to.display(), bytes as f64 / 1e6);
    Ok(())
}

/// The cases, and the files that they name.
fn copy_cases(root: &Path, to: &Path) -> Result<(), String> {
    let (data, folder) = (cases::data_folder(root), root.join("cases"));
    for path in cases::all(&folder)? {
        copy(&path, &to.join("cases").join(path.file_name().unwrap_or_default()), false)?;
        for name in cases::files(&fs::read_to_string(&path).map_err(|e| e.to_string())?) {
            let places = [
                (folder.join(name), to.join("cases").join(name)),
                (data.join(name), to.join("data").join(name)),
            ];
            let place = places.iter().find(|p| fs::metadata(&p.0).is_ok_and(|m| m.len() <= DATA_BYTES));
            match place {
                Some((from, to)) => copy(from, to, false)?,
                None => println!("{name} is not there, or larger than {} MB: left out", DATA_BYTES >> 20),
            }
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, program: bool) -> Result<(), String> {
    let parent = to.parent().expect("a file of the bundle");
    fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
    fs::copy(from, to).map_err(|e| format!("{}: {e}", from.display()))?;
    if program {
        for tool in ["strip", "gzip"] {
            if !Command::new(tool).arg(to).status().is_ok_and(|s| s.success()) {
                println!("{} is larger than need be: no program `{tool}`", to.display());
            }
        }
    }
    Ok(())
}

fn size(path: &Path) -> Result<u64, String> {
    let mut bytes = 0;
    for entry in fs::read_dir(path).map_err(|e| e.to_string())?.flatten() {
        let meta = entry.metadata().map_err(|e| e.to_string())?;
        bytes += if meta.is_dir() { size(&entry.path())? } else { meta.len() };
    }
    Ok(bytes)
}
