//! Whole runs through the binary.

mod common;

use chromaflow_cli::case::Case;
use chromaflow_cli::context::Backend;
use chromaflow_cli::run::incompressible;
use chromaflow_flow::mesh;
use chromaflow_flow::mesh::generate::{Cells, box_mesh};
use common::{CASE, cases, chromaflow, cube};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_first_case_of_the_readme() {
    let folder = tempfile::tempdir().unwrap();
    let case = cases().join("wing.toml");
    let case = case.to_str().unwrap();
    let (status, out, message) = chromaflow(
        folder.path(),
        &["run", case, "--json", "r.json", "--out", "o", "--set", "march.residual_drop=3.5"],
    );
    assert_eq!(status, 0, "{out}\n{message}");
    let r = json(&folder.path().join("r.json"));
    assert_eq!(r["outcome"], "converged");
    assert_eq!(r["mesh"]["nodes"], 12_077);
    let number = |pointer: &str| r.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    assert!((number("/forces/cl") - 0.27587).abs() < 5e-4, "{}", number("/forces/cl"));
    assert!((number("/forces/cd") - 0.01293).abs() < 2e-4, "{}", number("/forces/cd"));
    assert!(number("/residual_orders") >= 3.5 && number("/iterations") < 80.0);
    assert!(number("/time/total_s") > 0.0 && number("/memory/peak_bytes") > 1e6);
    let parts = r["time"]["components"].as_object().unwrap();
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    assert!((sum - number("/time/march_s")).abs() < 1e-6 * sum.max(1.0), "the parts are the whole");
    for name in ["volume.vtu", "surface.vtu", "history.csv", "restart.safetensors", "cut_y_0.65.csv"] {
        assert!(folder.path().join("o").join(name).exists(), "{name}");
    }
}

/// The state after a restart is the state of a run that went through, to the last bit.
#[test]
fn a_run_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(4)).unwrap();
    let case =
        CASE.replace("side = \"farfield\"", "side = \"slip_wall\"").replace("mach", "alpha = 5.0\nmach");
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let run = |out: &str, iterations: &str, more: &[&str]| {
        let set = format!("march.iterations={iterations}");
        let mut args = vec!["-q", "run", "case.toml", "--out", out, "--set", set.as_str()];
        args.extend(more);
        let (status, _, message) = chromaflow(folder, &args);
        assert_eq!(status, 0, "{message}");
        json(&folder.join(out).join("summary.json"))
    };
    let through = run("through", "8", &["--threads", "1"]);
    run("parts", "4", &["--threads", "2"]);
    let parts = run("parts", "8", &["--resume", "--threads", "1"]);
    assert_eq!(parts["iterations"], 8);
    let last = |r: &Value| r["residual"][0].as_f64().unwrap();
    let off = (last(&parts) / last(&through) - 1.0).abs();
    assert!(off < 0.2, "{} and {}", last(&parts), last(&through)); // the CFL control starts anew
    let rows = std::fs::read_to_string(folder.join("parts/history.csv")).unwrap();
    assert!(rows.lines().count() >= 8, "the history goes on, too:\n{rows}");
}

/// A flow that has converged is a guess for another one, whose density it may leave at rest: that of a warmer wall, or of a thicker gas.
#[test]
fn a_restart_of_another_flow_counts_anew() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert_eq!(chromaflow(folder, &["-q", "template", "flat-plate"]).0, 0);
    let folder = folder.join("flat-plate");
    let run = |out: &str, more: &[&str]| {
        let args = [&["run", "case.toml", "--threads", "1", "--out", out], more].concat();
        let (status, _, message) = chromaflow(&folder, &args);
        assert_eq!(status, 0, "{message}");
        (json(&folder.join(out).join("summary.json")), message)
    };
    let drag = |r: &Value| r["forces"]["cd"].as_f64().unwrap();
    let (first, _) = run("first", &[]);
    let file = "first/restart.safetensors";
    let count = |r: &Value| r["iterations"].as_u64().unwrap();
    let (same, message) = run("same", &["--restart", file]);
    assert_eq!(count(&same), count(&first) + 1, "{message}");
    assert!(!message.contains("another flow"), "{message}");
    let wall = "boundary.wall={kind=\"no_slip\",temperature=1.5}";
    for (name, set) in [("thick", "flow.reynolds=1e4"), ("warm", wall)] {
        let (fresh, _) = run(&format!("{name}_fresh"), &["--set", set]);
        let (on, message) = run(name, &["--restart", file, "--set", set]);
        assert!(message.contains("is of another flow"), "{message}");
        assert!((drag(&on) / drag(&fresh) - 1.0).abs() < 1e-6, "{name}: {} {}", drag(&on), drag(&fresh));
        assert!((drag(&on) / drag(&first) - 1.0).abs() > 1e-3, "{name}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(4)).unwrap();
    let case =
        CASE.replace("side = \"farfield\"", "side = \"slip_wall\"").replace("mach", "alpha = 5.0\nmach");
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let residual = |threads: &str| {
        let args = ["-q", "run", "case.toml", "--out", threads, "--threads", threads];
        let (status, _, message) = chromaflow(folder, &args);
        assert_eq!(status, 0, "{message}");
        json(&folder.join(threads).join("summary.json"))["residual"].clone()
    };
    let one = residual("1");
    assert_eq!(one, residual("2"));
    assert_eq!(one, residual("3"));
}

#[test]
fn check_tells_the_plan_and_writes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(3)).unwrap();
    std::fs::write(folder.join("case.toml"), CASE).unwrap();
    let (status, out, message) = chromaflow(folder, &["run", "case.toml", "--check", "--json", "plan.json"]);
    assert_eq!(status, 0, "{message}");
    for part in ["Jacobian", "colors", "side", "the case can be run"] {
        assert!(out.contains(part), "{part} is not in:\n{out}");
    }
    let plan = json(&folder.join("plan.json"));
    assert_eq!(plan["mesh"]["nodes"], 64);
    assert!(!folder.join("out/case/history.csv").exists());
}

#[test]
fn all_cases_are_well_formed() {
    let mut count = 0;
    let folders = [cases(), cases().join("robust")];
    for entry in folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            count += 1;
            let case = Case::read(&path, &[], Backend::Cpu).and_then(|(source, case)| match case {
                Case::Unstructured(case) | Case::Structured(case) => case.check(&source),
                // This reads the grid.
                Case::Incompressible(case) => match incompressible::check(&source, &case) {
                    Err(missing) if missing.to_string().contains("CHROMAFLOW_DATA") => {
                        chromaflow_testkit::skip("data", &missing.to_string());
                        Ok(())
                    }
                    checked => checked,
                },
            });
            case.unwrap_or_else(|e| panic!("{e}"));
        }
    }
    assert!(count >= 25, "{count}");
}

/// The system that a run writes is one that `solve` reads and solves.
#[test]
fn a_runs_linear_system_can_be_solved() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(4)).unwrap();
    let case =
        CASE.replace("side = \"farfield\"", "side = \"slip_wall\"").replace("mach", "alpha = 5.0\nmach");
    std::fs::write(folder.join("case.toml"), case).unwrap();
    for name in ["a.petsc.gz", "a.mtx"] {
        let file = format!("output.matrix_file=\"{name}\"");
        let args =
            ["-q", "run", "case.toml", "--out", "o", "--set", "output.matrix=3", "--set", file.as_str()];
        let (status, _, message) = chromaflow(folder, &args);
        assert_eq!(status, 0, "{message}");
        let path = format!("o/{name}");
        let args = ["-q", "solve", path.as_str(), "--rhs", "embedded", "--tol", "1e-10", "--json", "s.json"];
        let (status, _, message) = chromaflow(folder, &args);
        assert_eq!(status, 0, "{name}: {message}");
        let solved = json(&folder.join("s.json"));
        assert_eq!((&solved["rows"], &solved["block_size"]), (&125.into(), &5.into()));
        assert_eq!(solved["outcome"], "converged");
        assert!(solved["rhs_norm"].as_f64().unwrap() > 1e-8, "the flow is not converged yet");
    }
}

/// Every method for the linear systems leads to the same flow.
#[test]
fn linear_methods_agree() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(5)).unwrap();
    let case =
        CASE.replace("side = \"farfield\"", "side = \"slip_wall\"").replace("mach", "alpha = 5.0\nmach");
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let run = |linear: &[&str], threads: &str| {
        let mut args = vec!["-q", "run", "case.toml", "--out", "o", "--threads", threads];
        args.extend(["--set", "march.residual_drop=8.0", "--set", "march.iterations=300"]);
        args.extend(linear.iter().flat_map(|key| ["--set", key]));
        let (status, _, message) = chromaflow(folder, &args);
        assert_eq!(status, 0, "{linear:?}: {message}");
        let r = json(&folder.join("o/summary.json"));
        assert_eq!(r["outcome"], "converged", "{linear:?}");
        [r["forces"]["cl"].as_f64().unwrap(), r["forces"]["cd"].as_f64().unwrap()]
    };
    let sweeps = run(&[], "2");
    for linear in [
        &["linear.method=\"jacobi\"", "linear.sweeps=40"][..],
        &["linear.method=\"ilu0\"", "linear.sweeps=3"],
        &["linear.method=\"gmres\"", "linear.precond=\"ilu0\""],
        &["linear.method=\"bicgstab\"", "linear.precond=\"ilu0\"", "linear.fill=1"],
        &["linear.method=\"gmres\"", "linear.precond=\"multicolor\"", "linear.policy=\"dsh\""],
        &["linear.method=\"bicgstab\"", "linear.precond=\"jacobi\"", "linear.precond_sweeps=2"],
        &["linear.method=\"gmres\"", "linear.precond=\"none\"", "linear.max_iterations=60"],
    ] {
        let forces = run(linear, "2");
        for (a, b) in forces.iter().zip(sweeps) {
            assert!((a - b).abs() < 1e-6, "{linear:?}: {forces:?} and {sweeps:?}");
        }
        assert_eq!(run(linear, "1"), forces, "{linear:?}: the number of threads changes nothing");
    }
}

/// What is recorded after physical steps: the same tables, spectra and means of a run that went through and of one that went on from a
/// restart, the point outside is named, and a steady run has none of them.
#[test]
fn samples_over_time_go_on_with_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(3)).unwrap();
    let case = CASE
        .replace("side = \"farfield\"", "side = \"slip_wall\"")
        .replace("mach", "alpha = 5.0\nmach")
        .replace("iterations = 5", "mode = \"unsteady\"\ndt = 0.02\nsteps = 150\nsubiterations = 2");
    let output = "plots = false\nprobes = [[0.4, 0.3, 0.6], [1, 1, 1]]\nvolume_means = [\"kinetic_energy\", \"velocity\"]\n\
                  averages = [\"pressure\"]\nsamples_every = 2\nrestart_every = 0\n";
    let with = |output: &str| case.replace("plots = false\n", output);
    std::fs::write(folder.join("case.toml"), with(output)).unwrap();
    let run = |out: &str, more: &[&str]| {
        let (status, _, message) =
            chromaflow(folder, &[&["-q", "run", "case.toml", "--threads", "1", "--out", out], more].concat());
        assert_eq!(status, 0, "{message}");
    };
    run("through", &[]);
    run("parts", &["--set", "march.steps=71"]);
    run("parts", &["--resume"]);
    for name in ["probe_0.csv", "probe_1.csv", "probe_1_spectrum.csv", "volume_means.csv"] {
        let read = |out: &str| std::fs::read_to_string(folder.join(out).join(name)).unwrap();
        assert_eq!(read("through"), read("parts"), "{name}");
    }
    let table = std::fs::read_to_string(folder.join("through/probe_0.csv")).unwrap();
    let steps: Vec<&str> = table.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!((steps.len(), steps[0], steps[74]), (75, "2", "150"));
    assert!(table.starts_with("step,time,density,velocity_x,"), "{table}");
    for (text, expect) in [
        (output.replace("[1, 1, 1]", "[1, 1, 1.5]"), "output.probes[1]: (1, 1, 1.5) lies in no cell"),
        (output.replace("kinetic_energy", "enstrophy"), "there is no field `enstrophy`"),
    ] {
        std::fs::write(folder.join("bad.toml"), with(&text)).unwrap();
        let (status, _, message) = chromaflow(folder, &["run", "bad.toml"]);
        assert!(status == 2 && message.contains(expect), "{message}");
    }
    std::fs::write(folder.join("bad.toml"), CASE.replace("plots = false", "probes = [[0, 0, 0]]")).unwrap();
    let (status, _, message) = chromaflow(folder, &["run", "bad.toml"]);
    assert!(status == 2 && message.contains("physical steps of unsteady runs"), "{message}");
}

/// A duct of 12 by 1 with walls without slip, of 24 by 4 quadrilaterals, into which flow comes at Mach 0.4: friction chokes it, and as a velocity inlet
/// lets in the more the higher the pressure is, nothing stands still.
#[test]
fn a_duct_that_chokes_behind_a_velocity_inlet_is_told_so() {
    let (nx, ny) = (24, 4);
    let n = |i: usize, j: usize| j * (nx + 1) + i;
    let mut lines = vec!["NDIME= 2".to_owned(), format!("NELEM= {}", nx * ny)];
    for (i, j) in (0..ny).flat_map(|j| (0..nx).map(move |i| (i, j))) {
        lines.push(format!("9 {} {} {} {}", n(i, j), n(i + 1, j), n(i + 1, j + 1), n(i, j + 1)));
    }
    lines.push(format!("NPOIN= {}", (nx + 1) * (ny + 1)));
    for (i, j) in (0..=ny).flat_map(|j| (0..=nx).map(move |i| (i, j))) {
        lines.push(format!("{} {}", 0.5 * i as f64, 0.25 * j as f64));
    }
    lines.push("NMARK= 3".to_owned());
    let across = |i: usize| (0..ny).map(|j| [n(i, j), n(i, j + 1)]).collect::<Vec<_>>();
    let along = [0, ny].into_iter().flat_map(|j| (0..nx).map(move |i| [n(i, j), n(i + 1, j)])).collect();
    for (name, edges) in [("in", across(0)), ("out", across(nx)), ("wall", along)] {
        lines.push(format!("MARKER_TAG= {name}\nMARKER_ELEMS= {}", edges.len()));
        lines.extend(edges.iter().map(|[a, b]| format!("3 {a} {b}")));
    }
    let text = lines.join("\n") + "\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("duct.su2"), text).unwrap();
    let case = "[mesh]\nfile = \"duct.su2\"\n[flow]\nequations = \"laminar\"\nmach = 0.4\nreynolds = 100\n[march]\niterations = 100\n[boundary]\n\
                wall = \"no_slip\"\nout = { kind = \"outlet\", pressure = 1.0 }\n\
                in = { kind = \"velocity_inlet\", velocity = [0.4, 0.0, 0.0], temperature = 1.0 }\n";
    std::fs::write(folder.path().join("case.toml"), case).unwrap();
    let (status, said, message) = chromaflow(folder.path(), &["--threads", "1", "run", "case.toml"]);
    assert_eq!(status, 1, "{said}{message}");
    assert!((said.clone() + &message).contains("a lower velocity at `in`"), "{said}{message}");
}

/// Lines of nodes of a file in FUN3D's format precondition as those that are found; a file that does not fit the mesh is named with its line.
#[test]
fn lines_of_nodes_may_be_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut mesh = box_mesh([6, 4, 8], [2.0, 1.0, 1.0], Cells::Hexes, 0.0);
    for x in &mut mesh.nodes {
        x[2] = (5.0 * x[2]).exp_m1() / 5.0_f64.exp_m1();
    }
    let mut columns: BTreeMap<[u64; 2], Vec<u32>> = BTreeMap::new();
    for (node, x) in mesh.nodes.iter().enumerate() {
        columns.entry([x[0].to_bits(), x[1].to_bits()]).or_default().push(node as u32);
    }
    let mut lines: Vec<Vec<u32>> = columns.into_values().collect();
    for line in &mut lines {
        line.sort_by(|a, b| mesh.nodes[*a as usize][2].total_cmp(&mesh.nodes[*b as usize][2]));
    }
    mesh::write(&folder.join("box.lb8.ugrid"), &mesh).unwrap();
    mesh::write_lines(&folder.join("box.lines_fmt"), &lines, &mesh).unwrap();
    let case = "[mesh]\nfile = \"box.lb8.ugrid\"\n[flow]\nmach = 0.4\nequations = \"laminar\"\nreynolds = 1e4\n\
                [boundary]\nxmin = \"farfield\"\nxmax = \"farfield\"\nymin = \"farfield\"\nymax = \"farfield\"\n\
                zmin = \"no_slip\"\nzmax = \"farfield\"\n[linear]\nlines = \"box.lines_fmt\"\n\
                [march]\niterations = 60\nresidual_drop = 6.0\n[output]\nplots = false\n";
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let run = |out: &str, more: &[&str]| {
        let args = [&["-q", "run", "case.toml", "--threads", "1", "--out", out], more].concat();
        let (status, _, message) = chromaflow(folder, &args);
        assert_eq!(status, 0, "{message}");
        json(&folder.join(out).join("summary.json"))
    };
    let of_file = run("file", &[]);
    assert_eq!(of_file["outcome"], "converged");
    let over_ranks = run("ranks", &["--ranks", "2"]);
    let cd = |summary: &Value| summary.pointer("/forces/cd").and_then(Value::as_f64).unwrap();
    assert!((cd(&of_file) - cd(&over_ranks)).abs() < 1e-6 * cd(&of_file).abs());
    let refused = |sets: &[&str], expect: &str| {
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        let (status, _, message) = chromaflow(folder, &[&["-q", "run", "case.toml"], &sets[..]].concat());
        assert!(status == 2 && message.contains(expect), "{message}");
    };
    refused(&["linear.precond=ilu0"], "lines of nodes are for meshes and for");
    refused(&["mesh.refine=1"], "leave out mesh.refine");
    refused(&["linear.lines=none.lines_fmt"], "no such file");
    let text = std::fs::read_to_string(folder.join("box.lines_fmt")).unwrap();
    let far = format!("\n{}\n", lines[20][3] + 1);
    std::fs::write(folder.join("box.lines_fmt"), text.replacen(&format!("\n{}\n", lines[0][3] + 1), &far, 1))
        .unwrap();
    refused(&[], "box.lines_fmt: line 7: nodes ");
}
