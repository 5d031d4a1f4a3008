//! Incompressible cases, from outside.

mod common;

use common::chromaflow;
use serde_json::Value;
use std::path::Path;

const CASE: &str = r#"
[case]
title = "A small cavity of two blocks"
[grid]
generate = { kind = "cavity", cells = [12, 12] }
split = [[0, 0, 5]]
[incompressible]
viscosity = 0.02
scalars = [{ name = "dye", diffusivity = 0.02 }]
[boundary]
wall = "wall"
lid = { kind = "wall", velocity = [1.0, 0.0, 0.0], scalars = { dye = 1.0 } }
[march]
residual_drop = 6.0
[output]
restart_every = 5
"#;

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_run_leaves_everything_and_can_be_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a.toml"), CASE).unwrap();
    let (status, out, err) = chromaflow(folder.path(), &["run", "a.toml", "--threads", "2"]);
    assert_eq!(status, 0, "{out}{err}");
    assert!(err.contains("144 cells in 2 blocks, 5 unknowns a cell"), "{err}");
    assert!(out.contains("BILU FACT"), "{out}");
    for file in
        ["history.csv", "restart.safetensors", "volume.vtu", "surface.vtu", "surface.csv", "summary.json"]
    {
        assert!(at("out/a").join(file).exists(), "{file}");
    }
    let whole = json(&at("out/a/summary.json"));
    assert_eq!(whole["outcome"], "converged");
    assert_eq!(whole["mesh"]["nodes"], 364, "of both blocks and planes");
    assert!(whole["time"]["components"]["exchange"].as_f64().unwrap() > 0.0, "{}", whole["time"]);
    assert!(whole["residual_orders"].as_f64().unwrap() >= 6.0);
    assert!(whole["residual"]["dye"].as_f64().unwrap() < 1e-4);
    // The lid is dragged back by the fluid, and what it gives of the dye comes back through it: walls let nothing out.
    assert!(whole["forces"]["markers"]["lid"]["viscous"]["force"][0].as_f64().unwrap() < 0.0);
    assert!(whole["outflow"]["lid"][0].as_f64().unwrap().abs() < 1e-14);

    // In two runs, with other numbers of threads: the same to the last digit.
    let parts = ["--out", "parts"];
    let first = [&["run", "a.toml", "--threads", "1", "--set", "march.iterations=8"], &parts[..]].concat();
    assert_eq!(chromaflow(folder.path(), &first).0, 1, "short of what was asked for");
    let second = [&["run", "a.toml", "--threads", "3", "--resume"], &parts[..]].concat();
    let (status, out, err) = chromaflow(folder.path(), &second);
    assert_eq!(status, 0, "{out}{err}");
    let both = json(&at("parts/summary.json"));
    for key in ["iterations", "residual", "forces", "outflow"] {
        assert_eq!(whole[key], both[key], "{key}");
    }
    let (status, out, err) = chromaflow(folder.path(), &["plot", "out/a"]);
    if cfg!(feature = "plots") {
        assert_eq!(status, 0, "{out}{err}");
    }
}

/// Means over the physical steps of a cavity: of two runs those of one.
#[test]
fn means_over_time_go_on_with_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let unsteady = "mode = \"unsteady\"\ndt = 0.1\nsteps = 8\nsubiterations = 3\nsubiteration_drop";
    let case =
        CASE.replace("residual_drop", unsteady).replace("[output]\n", "[output]\naverages = [\"dye\"]\n");
    std::fs::write(folder.join("a.toml"), case).unwrap();
    let run = |out: &str, more: &[&str]| {
        let (status, _, message) =
            chromaflow(folder, &[&["-q", "run", "a.toml", "--threads", "1", "--out", out], more].concat());
        assert_eq!(status, 0, "{message}");
        std::fs::read(folder.join(out).join("volume.vtu")).unwrap()
    };
    let whole = run("whole", &[]);
    run("parts", &["--set", "march.steps=4"]);
    assert!(run("parts", &["--resume"]) == whole);
    let text = String::from_utf8_lossy(&whole).into_owned();
    for name in ["dye_mean", "dye_rms", "dye_flux", "skin_friction", "vorticity", "q_criterion"] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn the_plan_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), CASE).unwrap();
    let (status, out, err) = chromaflow(folder.path(), &["run", "a.toml", "--check"]);
    assert_eq!(status, 0, "{out}{err}");
    assert!(out.contains("the case can be run") && out.contains("lid"), "{out}");
    assert!(!folder.path().join("out/a/restart.safetensors").exists());
}

#[test]
fn the_cases_of_the_repository_can_be_run() {
    for name in [
        "cavity_re100",
        "heated_cavity",
        "duct",
        "cylinder_re40_incompressible",
        "cylinder_re100_incompressible",
        "channel_cylinder_2d1",
        "channel_cylinder_2d2",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = common::cases().join(format!("{name}.toml"));
        let (status, out, err) = chromaflow(folder.path(), &["run", path.to_str().unwrap(), "--check"]);
        assert_eq!(status, 0, "{out}{err}");
    }
}

#[test]
fn a_marker_without_condition_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), CASE.replace("wall = \"wall\"\n", "")).unwrap();
    let (status, _, err) = chromaflow(folder.path(), &["run", "a.toml"]);
    assert_eq!(status, 2);
    assert!(err.contains("marker `wall`"), "{err}");
}
