//! Bad input, through the binary: a clear message, the right exit status, and nothing half-written.

mod common;

use common::{CASE, chromaflow, cube};
use std::path::Path;

/// Runs a case on a mesh; status and message.
fn run(case: &str, mesh: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cube.su2"), mesh).unwrap();
    std::fs::write(folder.path().join("case.toml"), case).unwrap();
    let (status, _, message) = chromaflow(folder.path(), &["--quiet", "--threads", "1", "run", "case.toml"]);
    if status == 2 {
        assert!(!folder.path().join("out").exists(), "something was written:\n{message}");
    }
    (status, message)
}

#[track_caller]
fn refused(case: &str, mesh: &str, parts: &[&str]) {
    let (status, message) = run(case, mesh);
    assert_eq!(status, 2, "{message}");
    assert!(message.starts_with("error: "), "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in:\n{message}");
    }
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
fn a_good_case_runs() {
    let (status, message) = run(CASE, &cube(3));
    assert_eq!(status, 0, "{message}");
}

/// Inviscid flow has walls with slip alone, which a run and a check of it say.
#[test]
fn walls_without_slip_in_inviscid_flow() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(3)).unwrap();
    std::fs::write(folder.join("case.toml"), CASE).unwrap();
    let said = |wall: &str, more: &[&str]| {
        let wall = format!("boundary.side={wall}");
        let (status, _, message) =
            chromaflow(folder, &[&["run", "case.toml", "--set", &wall], more].concat());
        assert_eq!(status, 0, "{message}");
        message.contains("note: `side`: the flow is inviscid")
    };
    assert!(said("no_slip", &["--check"]) && said("no_slip", &[]));
    assert!(!said("slip_wall", &["--check"]));
}

#[test]
fn an_unknown_key() {
    refused(
        &CASE.replace("mach", "mahc"),
        &cube(2),
        &["case.toml:4:1", "unknown key `mahc`", "did you mean `mach`?"],
    );
}

#[test]
fn a_missing_marker() {
    refused(
        &CASE.replace("side", "sdie"),
        &cube(2),
        &["case.toml:8:1", "no marker `sdie`", "did you mean `side`?", "in, out, side"],
    );
    refused(
        &CASE.replace("side = \"farfield\"\n", ""),
        &cube(2),
        &["no condition for the mesh's marker `side`"],
    );
}

#[test]
fn a_value_out_of_range() {
    refused(
        &format!("{CASE}\n[numerics]\nentropy_fix = 1.5\n"),
        &cube(2),
        &["case.toml:", "entropy_fix is 1.5: expected between 0 and 1"],
    );
}

#[test]
fn no_such_mesh() {
    refused(&CASE.replace("cube.su2", "cub.su2"), "", &["case.toml:2:1", "no such file", "cub.su2"]);
}

/// A mesh in the place of a case, as text and not; what has a case's ending is one.
#[test]
fn a_mesh_is_no_case() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, bytes) in [
        ("cube.su2", cube(2).into_bytes()),
        ("cube.b8.ugrid", vec![0, 0, 0, 255]),
        ("bad.toml", b"mesh".to_vec()),
    ] {
        std::fs::write(folder.join(name), bytes).unwrap();
        let (status, _, message) = chromaflow(folder, &["run", name]);
        assert_eq!(status, 2, "{message}");
        let remedy = format!("if it is a mesh, `chromaflow new {name}` writes a case for it");
        assert_eq!(message.contains(&remedy), name != "bad.toml", "{message}");
    }
}

#[test]
fn a_truncated_mesh() {
    let whole = cube(2);
    for share in [0.1, 0.3, 0.6, 0.8, 0.95] {
        let cut = (whole.len() as f64 * share) as usize;
        refused(CASE, &whole[..cut], &["cube.su2"]);
    }
}

#[test]
fn an_empty_mesh_and_one_of_more_nodes_than_it_announces() {
    refused(CASE, "", &["cube.su2", "the file is empty"]);
    let mesh = cube(3).replace("NPOIN= 64", "NPOIN= 60");
    refused(
        CASE,
        &mesh,
        &["expected KEY= value", "after the 60 lines that NPOIN= announced: does it announce too few?"],
    );
    let mesh = cube(3).replace("MARKER_ELEMS= 18", "MARKER_ELEMS= 17");
    refused(CASE, &mesh, &["after the 17 lines that MARKER_ELEMS= announced"]);
}

#[test]
fn a_node_out_of_place_turns_elements_inside_out() {
    let mut lines: Vec<String> = cube(2).lines().map(String::from).collect();
    let center = lines.iter().position(|l| l == "0.5 0.5 0.5 13").unwrap();
    lines[center] = "3.5 0.5 0.5 13".into();
    refused(CASE, &lines.join("\n"), &["cube.su2"]);
}

#[test]
fn a_flat_element() {
    let mesh = cube(2).replace("0.5 0.5 0.5 13", "0 0 0 13");
    refused(CASE, &mesh, &["cube.su2", "volume"]);
}

#[test]
fn an_unwritable_output_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(2)).unwrap();
    std::fs::write(folder.join("case.toml"), CASE).unwrap();
    std::fs::write(folder.join("file"), "").unwrap();
    let (status, _, message) = chromaflow(folder, &["run", "case.toml", "--out", "file/results"]);
    assert_eq!(status, 3, "{message}");
    assert!(message.contains("cannot make the output folder file/results"), "{message}");
    let (status, _, message) = chromaflow(folder, &["run", "case.toml", "--json", "missing/folder/r.json"]);
    assert_eq!(status, 3, "{message}");
    assert!(message.contains("missing/folder/r.json"), "{message}");
    assert!(!message.contains("iter "), "it is found before the work starts:\n{message}");
}

#[test]
fn a_restart_of_another_mesh() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("case.toml"), CASE).unwrap();
    std::fs::write(folder.join("cube.su2"), cube(2)).unwrap();
    assert_eq!(chromaflow(folder, &["-q", "run", "case.toml"]).0, 0);
    std::fs::write(folder.join("cube.su2"), cube(3)).unwrap();
    let (status, _, message) = chromaflow(folder, &["-q", "run", "case.toml", "--resume"]);
    assert_eq!(status, 2, "{message}");
    assert!(message.contains("belongs to another mesh"), "{message}");
}

#[test]
fn no_gpu() {
    let (status, _, message) = chromaflow(Path::new("."), &["--backend", "cuda", "doctor"]);
    assert!(status == 3 || status == 0, "{message}");
    assert!(status == 0 || message.contains("--backend cpu"), "the message names the remedy: {message}");
}

#[test]
fn bad_usage() {
    assert_eq!(chromaflow(Path::new("."), &["fly"]).0, 2);
    assert_eq!(chromaflow(Path::new("."), &["run"]).0, 2);
    assert_eq!(chromaflow(Path::new("."), &["run", "x.toml", "--threads", "0"]).0, 2);
    for many in
        [&["solve", "x.mtx", "--threads", "100000000"][..], &["run", "x.toml", "--ranks", "100000000"]]
    {
        let (status, _, message) = chromaflow(Path::new("."), many);
        assert!(status == 2 && message.contains("100000000 threads are too many"), "{status}: {message}");
    }
    for (option, command) in [
        (&["--threads", "2"][..], &["cite"][..]),
        (&["--backend", "cuda"], &["mesh", "info", "x.su2"]),
        (&["--json", "x.json"], &["plot", "x"]),
    ] {
        let (status, _, message) = chromaflow(Path::new("."), &[option, command].concat());
        assert_eq!(status, 2, "{message}");
        let expected = format!("`chromaflow {}` does not use {}: leave it out", command[0], option[0]);
        assert!(message.contains(&expected), "{message}");
    }
}
