//! Which way dependencies run: between crates, and between the rooms (top modules) of a crate. A room uses rooms of the
//! rows before its own, and none of its own row; ARCHITECTURE.md draws the same.

use crate::run;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates, each using some of those before it.
const CRATES: [&str; 13] = [
    "chromaflow-pointwise",
    "chromaflow-testkit",
    "chromaflow-comm",
    "chromaflow-device",
    "chromaflow-simd",
    "chromaflow",
    "chromaflow-capi",
    "chromaflow-python",
    "chromaflow-mesh",
    "chromaflow-flow",
    "chromaflow-cli",
    "chromaflow-bench",
    "xtask",
];

/// Rows of rooms; `-` begins the next row.
const ROOMS: [(&str, &str); 3] = [
    (
        "chromaflow",
        "files shared words - block rim stop vector - sparse - gallery order - dist - gpu - relax factor tridiag - krylov - solver",
    ),
    (
        "chromaflow-mesh",
        "kind places field hdf5 par - error - parse topology faces sew - check pairs info periodic - raw - transform stl vtk refine generate - grid \
         - cgns - io",
    ),
    (
        "chromaflow-flow",
        "config laps real parallel offload - gas - dual numbering stretching flux limiter viscous output grid - bc ranks - equations - pointwise wall_law - gpu \
         - gradient - residual - jacobian - march - on_grid coupled wall_distance - scalar turbulence - wall_layer - unstructured structured incompressible",
    ),
];

/// Uses against the order that are still there: crate, room, room it uses. An entry that nothing needs is an error.
const DEBTS: &[(&str, &str, &str)] = &[
    ("chromaflow", "gpu", "relax"),
    ("chromaflow", "gpu", "solver"),
    ("chromaflow", "sparse", "gpu"),
    ("chromaflow-flow", "config", "bc"),
    ("chromaflow-flow", "gpu", "coupled"),
    ("chromaflow-flow", "gpu", "gradient"),
    ("chromaflow-flow", "gpu", "incompressible"),
    ("chromaflow-flow", "gpu", "jacobian"),
    ("chromaflow-flow", "gpu", "march"),
    ("chromaflow-flow", "gpu", "residual"),
    ("chromaflow-flow", "gpu", "scalar"),
    ("chromaflow-flow", "gpu", "structured"),
    ("chromaflow-flow", "gpu", "turbulence"),
    ("chromaflow-flow", "gpu", "unstructured"),
];

/// Holds the order.
pub fn check() -> Result<(), String> {
    let root = run::root();
    let mut faults = crates(&root)?;
    let mut debts: BTreeSet<(&str, &str, &str)> = DEBTS.iter().copied().collect();
    for (name, rows) in ROOMS {
        let rows: Vec<Vec<&str>> = rows.split('-').map(|row| row.split_whitespace().collect()).collect();
        let row_of = |room: &str| rows.iter().position(|r| r.contains(&room));
        let folder = root.join("crates").join(name).join("src");
        let mut found = BTreeSet::new();
        for file in sources(&folder, "rs")? {
            let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            let inside = file.strip_prefix(&folder).expect("a file of the folder");
            let room =
                inside.iter().next().and_then(|c| c.to_str()).unwrap_or_default().trim_end_matches(".rs");
            if ["lib", "main"].contains(&room) || room.starts_with("test") {
                continue;
            }
            for used in uses(&text).into_iter().filter(|used| used != room) {
                if found.insert((room.to_owned(), used.clone())) {
                    let place = inside.display();
                    match (row_of(room), row_of(&used)) {
                        (None, _) => faults
                            .push(format!("{name}: the room {room} stands in no row of xtask/src/rooms.rs")),
                        (_, None) => {} // an item of the crate's root, or a room that is named when its own files come
                        (Some(own), Some(other)) if other < own => {}
                        _ => {
                            let known = DEBTS.iter().find(|d| (d.0, d.1, d.2) == (name, room, &used));
                            match known {
                                Some(debt) => drop(debts.remove(debt)),
                                None => faults.push(format!(
                                    "{name}: {room} uses {used} ({place}), which comes after it or beside it"
                                )),
                            }
                        }
                    }
                }
            }
        }
    }
    faults.extend(debts.iter().map(|d| {
        format!("{}: {} uses {} no more: strike it from DEBTS in xtask/src/rooms.rs", d.0, d.1, d.2)
    }));
    faults.sort();
    faults.dedup();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Crates that depend on one that does not come before them. Tests may use any.
fn crates(root: &Path) -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    for entry in fs::read_dir(root.join("crates")).map_err(|e| e.to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(own) = CRATES.iter().position(|c| *c == name) else {
            faults.push(format!("the crate {name} stands in no row of xtask/src/rooms.rs"));
            continue;
        };
        let path = entry.path().join("Cargo.toml");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let table: toml::Table = text.parse().map_err(|e| format!("{}: {e}", path.display()))?;
        for section in ["dependencies", "build-dependencies"] {
            for used in
                table.get(section).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys)
            {
                if CRATES.iter().position(|c| c == used).is_some_and(|other| other >= own) {
                    faults.push(format!("the crate {name} depends on {used}, which comes after it"));
                }
            }
        }
    }
    Ok(faults)
}

/// Rooms that a file names by `crate::`, outside comments and tests.
fn uses(text: &str) -> BTreeSet<String> {
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        code.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut rooms = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + 7..];
        let word =
            |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        if let Some(list) = rest.strip_prefix('{') {
            let (mut depth, mut start) = (0, true);
            for (i, c) in list.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => start = true,
                    c if start && !c.is_whitespace() => {
                        rooms.insert(word(&list[i..]));
                        start = false;
                    }
                    _ => {}
                }
            }
        } else {
            rooms.insert(word(rest));
        }
    }
    rooms
}

/// All files below a folder with an extension, but those of tests.
pub fn sources(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten() {
            let path = entry.path();
            let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
            let test = stem == "tests" || is_test_module(&folder, &stem);
            if path.is_dir() && !test {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) && !test {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether the folder's own file declares a module for tests alone.
fn is_test_module(folder: &Path, stem: &str) -> bool {
    let beside = folder.with_extension("rs");
    [folder.join("mod.rs"), folder.join("lib.rs"), beside].iter().any(|file| {
        fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("#[cfg(test)]\nmod {stem};")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_read_from_uses_and_paths() {
        let text = "use crate::sparse::{Csr, half};\nuse crate::{order::Plan, relax, vector::{dot, norm}};\n// crate::not\n\
                    fn f() { crate::simd::g(); $crate::no(); }\n#[cfg(test)]\nmod tests {\n use crate::solver;\n}";
        let expected = ["order", "relax", "simd", "sparse", "vector"].map(str::to_owned);
        assert_eq!(uses(text), expected.into());
    }

    #[test]
    fn the_order_holds() {
        check().unwrap();
    }
}
