//! What commands say of a mesh and a case before they run: notes of reading, and warnings.

mod common;

use common::chromaflow;
use std::fmt::Write as _;
use std::path::Path;

/// A channel of 6 by 4 quadrilaterals in SU2's format, with markers `left`, `right`, `low` and `high`, and `plate` inside.
fn channel() -> String {
    let node = |i: usize, j: usize| i + 7 * j;
    let mut text = String::from("NDIME= 2\nNELEM= 24\n");
    for (i, j) in (0..4).flat_map(|j| (0..6).map(move |i| (i, j))) {
        let _ =
            writeln!(text, "9 {} {} {} {}", node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1));
    }
    text += "NPOIN= 35\n";
    for (i, j) in (0..5).flat_map(|j| (0..7).map(move |i| (i, j))) {
        let _ = writeln!(text, "{} {}", 0.5 * i as f64, 0.25 * j as f64);
    }
    let along = |j: usize| (0..6).map(|i| [node(i, j), node(i + 1, j)]).collect::<Vec<_>>();
    let across = |i: usize| (0..4).map(|j| [node(i, j), node(i, j + 1)]).collect::<Vec<_>>();
    let markers = [
        ("left", across(0)),
        ("right", across(6)),
        ("low", along(0)),
        ("high", along(4)),
        ("plate", along(2)[2..4].to_vec()),
    ];
    text += "NMARK= 5\n";
    for (name, edges) in markers {
        let _ = writeln!(text, "MARKER_TAG= {name}\nMARKER_ELEMS= {}", edges.len());
        let _ = edges.iter().try_for_each(|[a, b]| writeln!(text, "3 {a} {b}"));
    }
    text
}

/// A case of it with these lines under `[boundary]` and `[flow]`.
fn write(folder: &Path, boundary: &str, flow: &str) {
    std::fs::write(folder.join("m.su2"), channel()).unwrap();
    let text = format!(
        "[mesh]\nfile = \"m.su2\"\n[flow]\n{flow}\n[boundary]\n{boundary}\n[march]\niterations = 2\n[output]\nplots = false\n\
         [expect]\niterations_suffice = true\n"
    );
    std::fs::write(folder.join("case.toml"), text).unwrap();
}

const OPEN: &str = "left = \"farfield\"\nright = \"farfield\"\nlow = \"slip_wall\"\nhigh = \"slip_wall\"";
const LEFT_OUT: &str = "note: marker \"plate\" lies inside the domain and was left out";

#[test]
fn notes_of_reading_are_told_by_runs_and_new_cases() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, OPEN, "mach = 0.3");
    for args in [&["run", "case.toml", "--check"][..], &["run", "case.toml"]] {
        let (status, _, told) = chromaflow(folder, args);
        assert!(status == 0 && told.contains(LEFT_OUT), "{told}");
    }
    let (status, told, _) = chromaflow(folder, &["new", "m.su2"]);
    assert!(status == 0 && told.contains(LEFT_OUT), "{told}");
    // A condition of a marker that was left out is an error that says so.
    write(folder, &format!("{OPEN}\nplate = \"slip_wall\""), "mach = 0.3");
    let (status, _, told) = chromaflow(folder, &["run", "case.toml", "--check"]);
    assert!(status == 2 && told.contains("no marker `plate`") && told.contains(LEFT_OUT), "{told}");
}

#[test]
fn odd_cases_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let closed = OPEN.replace("farfield", "slip_wall");
    let outlet = OPEN.replacen("right = \"farfield\"", "right = { kind = \"outlet\", pressure = 101325 }", 1);
    for (boundary, flow, part) in [
        (OPEN, "mach = 0.3\nalpha = 1000", "warning: flow.alpha is 1000 degrees"),
        (&closed, "mach = 0.3", "nothing sets a pressure"),
        (&outlet, "mach = 0.3", "not pascal"),
    ] {
        write(folder, boundary, flow);
        let (status, _, told) = chromaflow(folder, &["run", "case.toml", "--check"]);
        assert!(status == 0 && told.contains(part), "{part}: {told}");
    }
    write(folder, OPEN, "mach = 0.3");
    let (_, _, told) = chromaflow(folder, &["run", "case.toml", "--check"]);
    assert!(!told.contains("warning"), "{told}");
}

/// A node that is moved through a corner of its cell folds that: a warning, no error.
#[test]
fn folded_cells_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, OPEN, "mach = 0.3");
    let check = || chromaflow(folder, &["mesh", "check", "m.su2"]);
    assert!(check().1.contains("no defects"));
    std::fs::write(folder.join("m.su2"), channel().replacen("\n2 0.25\n", "\n1.7 0.45\n", 1)).unwrap();
    let (status, told, _) = check();
    assert!(
        status == 0 && told.contains("1 x folded_element") && told.contains("its scaled Jacobian is -0.581"),
        "{told}"
    );
    let (status, _, told) = chromaflow(folder, &["run", "case.toml", "--check"]);
    assert!(status == 0 && told.contains("warning: 1 folded cell, the first quadrilateral"), "{told}");
}
