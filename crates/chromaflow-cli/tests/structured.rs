//! Cases of structured grids through the binary.

mod common;

use chromaflow_flow::grid::{self, Plot3d, generate::Channel};
use chromaflow_flow::output::Restart;
use common::chromaflow;
use serde_json::Value;
use std::path::Path;

const CASE: &str = r#"
[grid]
generate = { kind = "channel", cells = [24, 8], thickness = 0.1 }
split = [[0, 0, 9]]
[flow]
mach = 0.5
[boundary]
inlet = { kind = "inlet", total_pressure = 1.186212638, total_temperature = 1.05 }
outlet = { kind = "outlet", pressure = 1.0 }
lower = "slip_wall"
upper = "slip_wall"
[march]
cfl_start = 2.0
cfl_max = 10.0
residual_drop = 3.0
[output]
plots = false
"#;

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_case_from_start_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("case.toml"), CASE).unwrap();
    let (status, out, message) = chromaflow(folder, &["run", "case.toml", "--out", "o"]);
    assert_eq!(status, 0, "{out}\n{message}");
    let r = json(&folder.join("o/summary.json"));
    assert_eq!(r["outcome"], "converged");
    assert_eq!((&r["mesh"]["blocks"], &r["mesh"]["cells"]), (&2.into(), &192.into()));
    assert!(r["residual_orders"].as_f64().unwrap() >= 3.0);
    for name in ["volume.vtu", "surface.vtu", "history.csv", "restart.safetensors", "cut_wall.csv"] {
        assert!(folder.join("o").join(name).exists(), "{name}");
    }
    // Goes on from there, to a smaller residual.
    let args = ["-q", "run", "case.toml", "--out", "o", "--resume", "--set", "march.residual_drop=4.0"];
    let (status, _, message) = chromaflow(folder, &args);
    assert_eq!(status, 0, "{message}");
    let more = json(&folder.join("o/summary.json"));
    assert!(more["iterations"].as_f64() > r["iterations"].as_f64());
    assert!(more["residual_orders"].as_f64().unwrap() >= 4.0);
}

/// Snapshots after whole physical steps, cuts through the walls: as runs of meshes have them.
#[test]
fn an_unsteady_case_writes_what_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("case.toml"), CASE).unwrap();
    let mut args = vec!["-q", "run", "case.toml"];
    for set in [
        "march.mode=unsteady",
        "march.dt=0.1",
        "march.steps=5",
        "march.subiterations=3",
        "output.fields_every=2",
        "output.cuts=[{ axis = \"x\", at = 0.513 }]",
    ] {
        args.extend(["--set", set]);
    }
    let (status, out, message) = chromaflow(folder, &[&args[..], &["--out", "o"]].concat());
    assert_eq!(status, 0, "{out}\n{message}");
    let there = |name: &str| folder.join("o").join(name).exists();
    for name in ["volume_000002.vtu", "volume_000004.vtu", "volume.vtu", "cut_x_0.513.csv"] {
        assert!(there(name), "{name}");
    }
    assert!(!there("volume_000001.vtu") && !there("volume_000003.vtu"));
    let series = std::fs::read_to_string(folder.join("o/volume.pvd")).unwrap();
    let steps: Vec<&str> = series.lines().filter(|line| line.starts_with("<DataSet")).collect();
    assert_eq!(
        steps,
        [
            r#"<DataSet timestep="0.2" part="0" file="volume_000002.vtu"/>"#,
            r#"<DataSet timestep="0.4" part="0" file="volume_000004.vtu"/>"#
        ]
    );
    // A snapshot is the flow at the end of its step: what a run of that many steps ends with.
    args.extend(["--out", "short", "--set", "march.steps=4"]);
    assert_eq!(chromaflow(folder, &args).0, 0);
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert_eq!(read("o/volume_000004.vtu"), read("short/volume.vtu"));
    assert_eq!(read("short/volume_000004.vtu"), read("short/volume.vtu"));
    let r = json(&folder.join("o/summary.json"));
    assert_eq!(r["time_steps"], 5);
    assert!(r.as_object().unwrap().contains_key("oscillation"));
}

/// Means over physical steps and what departs from them, on points: the same of a run that went through, of one that went on from a restart, and over
/// ranks; a steady run has none, and those of an earlier run are not taken for this one's.
#[test]
fn means_over_time_go_on_with_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let output =
        "plots = false\naverages = [\"velocity\", \"pressure\"]\naverages_from = 3\nrestart_every = 0\n";
    let unsteady = "mode = \"unsteady\"\ndt = 0.1\nsteps = 9\nsubiterations = 3\ncfl_start";
    let case = CASE.replace("plots = false\n", output);
    std::fs::write(folder.join("steady.toml"), &case).unwrap();
    let case = case.replace("cfl_start", unsteady).replace("residual_drop", "subiteration_drop");
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let run = |out: &str, more: &[&str]| {
        let (status, _, message) =
            chromaflow(folder, &[&["-q", "run", "case.toml", "--threads", "1", "--out", out], more].concat());
        assert_eq!(status, 0, "{message}");
    };
    let mesh =
        Channel { cells: [24, 8], thickness: 0.1, triangles: false }.grid().split(0, 0, 9).unwrap().to_mesh();
    // Restarts have conserved variables: states go on to rounding.
    let same = |a: &str, b: &str| {
        let [a, b] = [a, b]
            .map(|out| Restart::read(&folder.join(out).join("restart_means.safetensors"), &mesh).unwrap());
        assert_eq!((a.facts["averages.samples"], &a.facts), (7.0, &b.facts));
        assert_eq!(a.fields.len(), 4);
        for (a, b) in a.fields.iter().zip(&b.fields) {
            let off = a.values.iter().zip(&b.values).fold(0.0_f64, |off, (a, b)| off.max((a - b).abs()));
            assert!(a.name == b.name && off < 1e-12, "{}: {off:e}", a.name);
        }
    };
    run("through", &[]);
    run("parts", &["--set", "march.steps=5"]);
    run("parts", &["--resume"]);
    same("through", "parts");
    let field =
        String::from_utf8_lossy(&std::fs::read(folder.join("through/volume.vtu")).unwrap()).into_owned();
    for name in ["velocity_mean", "velocity_rms", "pressure_mean", "pressure_rms"] {
        assert!(field.contains(name), "{name}");
    }
    run("ranks", &["--ranks", "2", "--set", "march.steps=5"]);
    run("ranks", &["--ranks", "2", "--resume"]);
    run("whole", &["--ranks", "2"]);
    same("ranks", "whole");
    // A run without means leaves none behind.
    run("whole", &["--set", "output.averages=[]"]);
    assert!(!folder.join("whole/restart_means.safetensors").exists());
    let (status, _, message) = chromaflow(folder, &["run", "steady.toml"]);
    assert!(status == 2 && message.contains("averages") && message.contains("unsteady"), "{message}");
}

#[test]
fn a_grid_from_files_is_the_same_grid() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = Channel { cells: [24, 8], thickness: 0.1, triangles: false }.grid().split(0, 0, 9).unwrap();
    grid::write(&folder.join("a.xyz.gz"), &folder.join("a.nmf"), &made, Plot3d::default()).unwrap();
    std::fs::write(folder.join("made.toml"), CASE).unwrap();
    let from_file = CASE
        .lines()
        .filter(|l| !l.starts_with("split"))
        .map(|l| if l.starts_with("generate") { "file = \"a.xyz.gz\"" } else { l });
    std::fs::write(folder.join("file.toml"), from_file.collect::<Vec<_>>().join("\n")).unwrap();
    let residual = |case: &str| {
        let (status, _, message) = chromaflow(folder, &["-q", "run", &format!("{case}.toml"), "--out", case]);
        assert_eq!(status, 0, "{message}");
        json(&folder.join(case).join("summary.json"))["residual"].clone()
    };
    assert_eq!(residual("made"), residual("file"));
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (from, to, part) in [
        ("cells = [24, 8]", "cells = [24, 0]", "`cells` has 0"),
        ("kind = \"channel\"", "kind = \"chanel\"", "unknown v"),
        ("split = [[0, 0, 9]]", "split = [[0, 0, 24]]", "cannot cut block 0"),
        ("lower = ", "lowest = ", "no marker `lowest`; did you mean `lower`?"),
        ("upper = \"slip_wall\"", "", "no condition for the mesh's marker `upper`"),
    ] {
        std::fs::write(folder.join("case.toml"), CASE.replace(from, to)).unwrap();
        let (status, _, message) = chromaflow(folder, &["run", "case.toml"]);
        assert_eq!(status, 2, "{to}: {message}");
        assert!(message.contains(part), "{to}: {message}");
    }
    std::fs::write(folder.join("a.nmf"), "1\n1 3 3 3\n").unwrap();
    std::fs::write(folder.join("a.fmt"), "1\n3 3 3\n0 1 2").unwrap();
    let case = CASE
        .replace("generate = { kind = \"channel\", cells = [24, 8], thickness = 0.1 }", "file = \"a.fmt\"");
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let (status, _, message) = chromaflow(folder, &["run", "case.toml"]);
    assert_eq!(status, 2, "{message}");
    assert!(message.contains("a.fmt: line 3") && message.contains("cut short"), "{message}");
}
