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

/// That walls stay polygons is told by plans, runs and `mesh refine`, where a mesh is refined.
#[test]
fn refinement_is_told_to_keep_polygons() {
    const STRAIGHT: &str = "curved walls stay the polygons that they were";
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, OPEN, "mach = 0.3");
    for (set, said) in [("mesh.refine=1", true), ("mesh.refine=0", false)] {
        let (status, _, told) = chromaflow(folder, &["run", "case.toml", "--check", "--set", set]);
        assert!(status == 0 && told.contains(STRAIGHT) == said, "{told}");
    }
    let (status, _, told) = chromaflow(folder, &["mesh", "refine", "m.su2", "fine.su2"]);
    assert!(status == 0 && told.contains(STRAIGHT), "{told}");
}

/// Physical steps of a uniform stream, whose residual is rounding from the start, are not told to have ended short; closed domains are told how far they keep
/// their mass.
#[test]
fn steps_of_rounding_are_not_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let far = OPEN.replace("slip_wall", "farfield");
    write(folder, &far, "mach = 0.3");
    let text = std::fs::read_to_string(folder.join("case.toml")).unwrap();
    let text = text.replace("iterations = 2", "mode = \"unsteady\"\ndt = 0.1\nsteps = 2");
    std::fs::write(folder.join("case.toml"), text.replace("[expect]\niterations_suffice = true\n", ""))
        .unwrap();
    let (status, out, told) = chromaflow(folder, &["run", "case.toml"]);
    assert!(status == 0 && out.contains("2 time steps of 0.1 done"), "{out}{told}");
    assert!(!out.contains("mass may be lost") && !told.contains("the mass is kept as far"), "{out}{told}");
    let walls = ["left", "right", "low", "high"].map(|name| format!("boundary.{name}=slip_wall"));
    let mut args = vec!["run", "case.toml", "--check"];
    for wall in &walls {
        args.extend(["--set", wall]);
    }
    let (status, _, told) = chromaflow(folder, &args);
    assert!(status == 0 && told.contains("the mass is kept as far as time steps are solved"), "{told}");
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

/// Cuts, lines and restarts of a case are looked at before it runs, and numbers of a stream with units are said.
#[test]
fn plans_look_at_outputs_and_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flow = "temperature = 216.65\npressure = 22632\nvelocity = 147.535";
    write(folder, OPEN, flow);
    let case = std::fs::read_to_string(folder.join("case.toml")).unwrap();
    let lines = |y: f64| {
        format!(
            "profiles = [{{ from = [1.0, {y}, 0.0], to = [1.3, {y}, 0.0] }}, {{ from = [0.1, {y}, 0.0], to = [2.0, 0.6, 0.0] }}]"
        )
    };
    let with = |x: f64, y: f64| {
        let output = format!("[output]\ncuts = [{{ axis = \"x\", at = {x} }}]\n{}", lines(y));
        std::fs::write(folder.join("case.toml"), case.replace("[output]", &output)).unwrap();
        chromaflow(folder, &["run", "case.toml", "--check", "--json", "plan.json"])
    };
    let (status, said, told) = with(7.0, 5.0);
    assert_eq!(status, 0, "{told}");
    assert!(told.contains("warning: cut_x_7: the plane of output.cuts meets no wall"), "{told}");
    assert!(told.contains("warning: the line of output.profiles[0] meets no cell"), "{told}");
    assert!(!told.contains("output.profiles[1]"), "{told}");
    assert!(said.contains("free stream: Mach 0.5\n") && !said.contains("Reynolds"), "{said}");
    let plan: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("plan.json")).unwrap()).unwrap();
    assert!((plan["conditions"]["mach"].as_f64().unwrap() - 0.5).abs() < 1e-4, "{plan}");
    let (_, _, told) = with(1.0, 0.5);
    assert!(!told.contains("warning: cut") && !told.contains("output.profiles"), "{told}");
    let restart = |name: &str| chromaflow(folder, &["run", "case.toml", "--check", "--restart", name]);
    let (status, _, told) = restart("nothing.safetensors");
    assert!(status == 2 && told.contains("nothing.safetensors"), "{status} {told}");
    let (status, _, told) = chromaflow(folder, &["run", "case.toml", "--out", "o"]);
    assert_eq!(status, 0, "{told}");
    assert_eq!(restart("o/restart.safetensors").0, 0);
    write(folder, OPEN, &format!("{flow}\nequations = \"laminar\""));
    let (_, said, _) = chromaflow(folder, &["run", "case.toml", "--check"]);
    // rho a M / mu of Sutherland's law: 0.36392 * 147.535 / 1.4217e-5.
    let line =
        "free stream: Mach 0.5, Reynolds number 3.7769e6 on a length of 1 in the mesh's unit, 216.65 K";
    assert!(said.contains(line), "{said}");
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
