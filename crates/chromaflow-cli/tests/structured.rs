//! Cases of structured grids through the binary.

mod common;

use chromaflow_flow::grid::generate::{Channel, Cylinder, SmoothChannel};
use chromaflow_flow::grid::{self, Plot3d};
use chromaflow_flow::mesh;
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
    // What was done is told, and what its subiterations fell short of.
    let told = |drop: &str| {
        let mut args: Vec<&str> =
            args[1..].iter().map(|arg| if *arg == "short" { "told" } else { arg }).collect();
        let set = format!("march.subiteration_drop={drop}");
        args.extend(["--set", &set]);
        let (status, out, message) = chromaflow(folder, &args);
        assert_eq!(status, 0, "{out}\n{message}");
        assert!(out.contains("4 time steps of 0.1 done after"), "{out}");
        let short = json(&folder.join("told/summary.json"))["unfinished_time_steps"].as_u64().unwrap();
        assert_eq!(out.contains("short of the"), short > 0, "{out}");
        short
    };
    assert_eq!((told("9.0"), told("0.01")), (4, 0));
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

/// A layer of cells is two-dimensional whatever its planes are called: what an inlet lets in goes along y as the free stream does, and one across the
/// planes is told.
#[test]
fn inlets_of_layers_follow_the_free_stream() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let case = CASE
        .replace(
            "{ kind = \"channel\", cells = [24, 8], thickness = 0.1 }",
            "{ kind = \"box\", cells = [12, 6, 1], size = [3, 1, 0.1] }",
        )
        .replace("split = [[0, 0, 9]]\n", "")
        .replace("mach = 0.5", "mach = 0.5\nalpha = 30.0\nbeta = 0.0")
        .replace(
            "inlet = { kind = \"inlet\", total_pressure = 1.186212638, total_temperature = 1.05 }",
            "xmin = \"inlet\"",
        )
        .replace("outlet = ", "xmax = ")
        .replace("lower = \"slip_wall\"", "ymin = \"slip_wall\"\nymax = \"slip_wall\"")
        .replace("upper = \"slip_wall\"", "zmin = \"symmetry\"\nzmax = \"symmetry\"");
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let check = |more: &[&str]| {
        let (status, out, message) = chromaflow(folder, &[&["run", "case.toml", "--check"], more].concat());
        assert_eq!(status, 0, "{message}");
        (out, message)
    };
    let (out, message) = check(&[]);
    assert!(out.contains("direction [0.866") && out.contains(", 0.49999999999999994, 0.0]"), "{out}");
    assert!(!message.contains("plane of symmetry"), "{message}");
    for across in [["--set", "reference.lift_axis=z"], ["--set", "flow.beta=5.0"]] {
        let (_, message) = check(&across);
        assert!(
            message.contains("warning: `zmin`, `zmax`: nothing flows through a plane of symmetry"),
            "{message}"
        );
    }
}

/// Markers of a grid without a condition are told with what their names say; the plan tells faces and y+ of walls without slip.
#[test]
fn the_plan_of_a_grid_tells_its_markers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut made = Channel { cells: [24, 8], thickness: 0.1, triangles: false }.grid();
    for patch in &mut made.patches {
        for (from, to) in [("lower", "viscous_wall"), ("upper", "tangency")] {
            patch.name = patch.name.replace(from, to);
        }
    }
    grid::write(&folder.join("a.g"), &folder.join("a.nmf"), &made, Plot3d::default()).unwrap();
    let case = |more: &str| {
        let text = format!(
            "[grid]\nfile = \"a.g\"\n[flow]\nequations = \"laminar\"\nreynolds = 1e4\n{more}[march]\niterations = 1\n[output]\nplots = false\n"
        );
        std::fs::write(folder.join("case.toml"), text).unwrap();
    };
    case("");
    let (status, _, message) = chromaflow(folder, &["run", "case.toml"]);
    let lines: Vec<&str> = message.lines().filter(|line| line.contains("  # ")).collect();
    assert!(status == 2 && message.contains("markers `inlet`, `outlet`, `viscous_wall`"), "{message}");
    assert!(message.contains("viscous_wall = \"no_slip\""), "{message}");
    case(&format!("[boundary]\n{}\n", lines.join("\n")));
    let (status, out, message) = chromaflow(folder, &["run", "case.toml", "--check", "--json", "plan.json"]);
    assert_eq!(status, 0, "{message}");
    assert!(out.contains("24 faces   no_slip") && out.contains("y+ of the first cells at walls"), "{out}");
    let plan = json(&folder.join("plan.json"));
    assert_eq!(plan["grid"]["nodes"], 2 * 25 * 9);
    assert!(plan["walls"]["viscous_wall"]["y_plus"]["min"].as_f64().unwrap() > 0.0, "{plan}");
    assert!(plan["walls"].get("tangency").is_none(), "{plan}");
    // A run tells y+ of laminar flow, too, and where the residual sits: every cell lies on the planes of a layer.
    let (_, out, _) = chromaflow(folder, &["run", "case.toml", "--out", "o"]);
    assert!(out.contains("y+ of the first cells at viscous_wall"), "{out}");
    assert!(!out.contains("symmetry_"), "{out}");
    let told = json(&folder.join("o/summary.json"));
    assert_eq!(told["solver"]["method"], "Newton-Krylov steps around block ILU");
    assert_eq!(told["conditions"]["lift_axis"], "y");
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
    // Without a map the message has the command that makes one.
    std::fs::remove_file(folder.join("a.nmf")).unwrap();
    let (status, _, message) = chromaflow(folder, &["run", "case.toml"]);
    assert!(status == 2 && message.contains("`chromaflow mesh nmf a.fmt` makes it"), "{message}");
}

/// A case on a grid or the same points as a mesh, or of incompressible flow; its drag, and along a line the velocity behind a cylinder or cp off a bump.
fn slow(folder: &Path, name: &str, solver: &str, mach: f64, case: &str) -> (f64, Vec<[f64; 2]>) {
    let file = folder.join(format!("{name}.toml"));
    let whole = match solver {
        "mesh" => format!("[mesh]\nfile = \"{name}.su2\"\n[flow]\nmach = {mach}\n{case}"),
        "grid" => format!("[grid]\nfile = \"{name}.xyz\"\n[flow]\nmach = {mach}\n{case}"),
        _ => format!("[grid]\nfile = \"{name}.xyz\"\n{case}"),
    };
    let rest = "[march]\nresidual_drop = 7.0\niterations = 2000\n[output]\nplots = false\nprofiles = [{ from = [0.5, 0.001, 0.5], to = [0.5, 0.799, 0.5] }, { from = [0.52, 0.0, 0.5], to = [6.0, 0.0, 0.5] }]\n";
    std::fs::write(&file, whole + rest).unwrap();
    let case = file.to_str().unwrap();
    let (status, out, message) = chromaflow(folder, &["run", case, "-q", "--out", "slow", "--threads", "1"]);
    assert_eq!(status, 0, "{solver} at M {mach}: {out}\n{message}");
    let cylinder = name.starts_with("cylinder");
    let (profile, column) = match (cylinder, solver) {
        (true, _) => ("slow/profile_1.csv", "velocity_x"),
        (false, "incompressible") => ("slow/profile_0.csv", "pressure"),
        (false, _) => ("slow/profile_0.csv", "cp"),
    };
    let text = std::fs::read_to_string(folder.join(profile)).unwrap();
    let place = |name: &str| text.lines().next().unwrap().split(',').position(|c| c == name).unwrap();
    let (x, value) = (place("distance"), place(column));
    let row = |line: &str| {
        let numbers: Vec<f64> = line.split(',').map(|n| n.parse().unwrap_or(f64::NAN)).collect();
        // The dynamic pressure of incompressible flow is a half.
        [numbers[x], if column == "pressure" { 2.0 * numbers[value] } else { numbers[value] }]
    };
    let profile = text.lines().skip(1).map(row).collect();
    (json(&folder.join("slow/summary.json"))["forces"]["cd"].as_f64().unwrap(), profile)
}

/// The grid as PLOT3D with its map, and as a mesh.
fn written(folder: &Path, name: &str, grid: &grid::Grid) {
    let [points, map] = ["xyz", "nmf"].map(|ending| folder.join(format!("{name}.{ending}")));
    grid::write(&points, &map, grid, Plot3d::default()).unwrap();
    mesh::write(&folder.join(format!("{name}.su2")), &grid.to_connected_mesh().unwrap()).unwrap();
}

/// Drag of a cylinder at Re 40 and the length of its wake, by the compressible solvers on a mesh and on a grid of the same points and by the
/// incompressible one, default settings: what M does goes with its square, and the rest with the spacing.
#[test]
fn a_slow_cylinder_has_the_drag_and_the_wake_of_incompressible_flow() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flow = "equations = \"laminar\"\nreynolds = 40.0\n[boundary]\ncylinder = \"no_slip\"\nfarfield = \"farfield\"\n";
    let incompressible = "[incompressible]\nviscosity = 0.025\nvelocity = [1.0, 0.0, 0.0]\n[boundary]\ncylinder = \"wall\"\nfarfield = \"farfield\"\n";
    // Where the velocity turns, from the cylinder's rear.
    let wake = |u: &[[f64; 2]]| {
        let at = u.windows(2).rposition(|pair| pair[0][1] < 0.0 && pair[1][1] >= 0.0).unwrap();
        let [[x, u], [next, faster]] = [u[at], u[at + 1]];
        x - u * (next - x) / (faster - u) + 0.02
    };
    let mut off = Vec::new();
    for (n, growth) in [(1, 1.09_f64.powi(2)), (2, 1.09)] {
        let name = format!("cylinder{n}");
        written(
            folder,
            &name,
            &Cylinder { cells: [48 * n, 40 * n], radius: 158.0, growth, triangles: false }.grid(),
        );
        let (exact, behind) = slow(folder, &name, "incompressible", 0.0, incompressible);
        let exact = [exact, wake(&behind)];
        let mut at = Vec::new();
        for solver in ["mesh", "grid"] {
            let of = |mach: f64| {
                let (cd, behind) = slow(folder, &name, solver, mach, flow);
                [cd, wake(&behind)]
            };
            let slowest = of(0.01);
            at.push([0, 1].map(|k| (slowest[k] / exact[k] - 1.0).abs()));
            println!("{solver} {n}: drag, wake {slowest:?} of {exact:?}");
            if n == 1 {
                let [fast, half] = [0.1, 0.05].map(|mach| of(mach)[0] - slowest[0]);
                assert!(fast < 0.01 && (3.3..5.0).contains(&(fast / half)), "{solver}: {fast} {half}");
            }
        }
        off.push(at);
    }
    for (k, [least, most]) in [[3.0, 0.006], [2.0, 0.02]].into_iter().enumerate() {
        let [drag, wake] = [0, 1].map(|what| [off[0][k][what], off[1][k][what]]);
        assert!(drag[0] > least * drag[1] && drag[1] < most, "{drag:?}");
        assert!(wake[0] > 2.0 * wake[1] || wake[1] < 0.03, "{wake:?}");
    }
}

/// Pressures across a channel behind a bump, inviscid, M 0.01: those of incompressible flow but for what falls with the square of the spacing.
#[test]
fn a_slow_bump_has_the_pressures_of_incompressible_flow() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flow = "[boundary]\ninlet = { kind = \"velocity_inlet\", velocity = [0.01, 0.0, 0.0], temperature = 1.0 }\noutlet = { kind = \"outlet\", pressure = 1.0 }\nlower = \"slip_wall\"\nupper = \"slip_wall\"\n";
    let incompressible = "[incompressible]\nvelocity = [1.0, 0.0, 0.0]\n[boundary]\ninlet = { kind = \"inflow\", velocity = [1.0, 0.0, 0.0] }\noutlet = \"outflow\"\nlower = \"symmetry\"\nupper = \"symmetry\"\n";
    let mut off = Vec::new();
    for n in [1, 2] {
        let name = format!("bump{n}");
        written(folder, &name, &SmoothChannel { cells: [48 * n, 16 * n] }.grid());
        let (_, exact) = slow(folder, &name, "incompressible", 0.0, incompressible);
        off.push(["mesh", "grid"].map(|solver| {
            let (_, found) = slow(folder, &name, solver, 0.01, flow);
            let apart = |[x, cp]: &[f64; 2]| {
                let k = exact.partition_point(|p| p[0] < *x).clamp(1, exact.len() - 1);
                let [[a, low], [b, high]] = [exact[k - 1], exact[k]];
                (low + (high - low) * (x - a) / (b - a) - cp).powi(2)
            };
            (found.iter().map(apart).sum::<f64>() / found.len() as f64).sqrt()
        }));
    }
    println!("root mean square differences of cp: {off:?}");
    for (coarse, fine) in off[0].into_iter().zip(off[1]) {
        assert!(coarse > 2.7 * fine && fine < 0.001, "{off:?}");
    }
}
