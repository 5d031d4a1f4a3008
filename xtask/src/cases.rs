//! The case files in `cases/`, and the data they need.

use std::fs;
use std::path::{Path, PathBuf};

/// The cases in the folder, by name.
pub fn all(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut all: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    all.sort();
    Ok(all)
}

/// Where the large data set is looked for: `CHROMAFLOW_DATA`, or else beside the repository.
pub fn data_folder(root: &Path) -> PathBuf {
    std::env::var_os("CHROMAFLOW_DATA").map_or_else(|| root.join("../shared/data"), PathBuf::from)
}

/// The meshes, grids and conditions that a case file names, as it names them.
pub fn files(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("file = \""));
    names.filter_map(|rest| rest.split('"').next()).collect()
}

/// The first file of a case that lies neither beside it nor in the data set.
pub fn missing(case: &Path, text: &str, data: &Path) -> Option<String> {
    let beside = case.parent().unwrap_or(Path::new("."));
    let absent = |name: &&&str| !beside.join(name).exists() && !data.join(name).exists();
    files(text).iter().find(absent).map(|name| (*name).to_owned())
}
