//! Runs over ranks: the same history, forces and restart as of one rank; what is refused.

mod common;

use common::{CASE, cases, chromaflow, cube, launched, launchers};
use serde_json::Value;
use std::path::Path;

/// Flow over a box at an angle, with a wall.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cube.su2"), cube(5)).unwrap();
    let case = CASE
        .replace("side = \"farfield\"", "side = \"slip_wall\"")
        .replace("mach", "alpha = 5.0\nmach")
        .replace("iterations = 5", "iterations = 12");
    std::fs::write(folder.path().join("case.toml"), case).unwrap();
    folder
}

fn run(folder: &Path, out: &str, more: &[&str]) -> Value {
    let json = format!("{out}.json");
    let args = [&["-q", "run", "case.toml", "--out", out, "--json", &json], more].concat();
    let (status, _, message) = chromaflow(folder, &args);
    assert_eq!(status, 0, "{more:?}: {message}");
    serde_json::from_str(&std::fs::read_to_string(folder.join(json)).unwrap()).unwrap()
}

/// The history but for its seconds.
fn history(folder: &Path, out: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(folder.join(out).join("history.csv")).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let seconds = header.iter().position(|&h| h == "seconds").unwrap();
    let rows = text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    rows.map(|mut row| {
        row.remove(seconds);
        row
    })
    .collect()
}

fn near(a: &[Vec<String>], b: &[Vec<String>], most: f64) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().flatten().zip(b.iter().flatten()) {
        let (p, q): (f64, f64) = (x.parse().unwrap_or(0.0), y.parse().unwrap_or(0.0));
        assert!((p - q).abs() <= most * (p.abs() + q.abs()) + 1e-12, "{x} {y}");
    }
}

#[test]
fn histories_forces_and_files_are_those_of_one_rank() {
    let folder = folder();
    let folder = folder.path();
    let plain = ["--set", "march.nonlinear=defect_correction", "--set", "linear.policy=d", "--threads", "1"];
    let one = run(folder, "one", &plain);
    assert!(one["ranks"].is_null());
    let expected = history(folder, "one");
    for ranks in ["2", "5"] {
        let several = run(folder, ranks, &[&plain[..], &["--ranks", ranks]].concat());
        assert_eq!(several["ranks"].to_string(), ranks);
        assert!(
            several["balance"].as_f64().unwrap() >= 1.0 && several["time"]["halo_s"].as_f64().unwrap() > 0.0
        );
        near(&history(folder, ranks), &expected, 1e-10);
        for name in ["restart.safetensors", "forces.csv", "volume.vtu", "surface.vtu", "summary.json"] {
            assert!(folder.join(ranks).join(name).exists(), "{name}");
        }
        let forces = |v: &Value| ["cl", "cd", "cm"].map(|c| v["forces"][c].as_f64().unwrap());
        for (a, b) in forces(&several).iter().zip(forces(&one)) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
    }
    // On from a restart of five ranks on two.
    let through = run(folder, "through", &[&plain[..], &["--set", "march.iterations=16"]].concat());
    let on = [&plain[..], &["--set", "march.iterations=16", "--ranks", "2", "--resume"]].concat();
    let on = run(folder, "5", &on);
    assert_eq!(on["iterations"], through["iterations"]);
    near(&history(folder, "5"), &history(folder, "through"), 1e-9);
}

#[test]
fn reproducible_runs_are_the_same_to_the_bit_on_any_number_of_ranks() {
    let folder = folder();
    let folder = folder.path();
    let newton = ["--reproducible", "--set", "linear.policy=d", "--set", "march.nonlinear=newton_krylov"];
    run(folder, "one", &newton);
    for ranks in ["2", "3"] {
        run(folder, ranks, &[&newton[..], &["--ranks", ranks]].concat());
        assert_eq!(history(folder, ranks), history(folder, "one"), "{ranks} ranks");
        let restart = |out: &str| std::fs::read(folder.join(out).join("restart.safetensors")).unwrap();
        assert!(restart(ranks) == restart("one"), "{ranks} ranks");
    }
}

/// A channel of three blocks, cut across and along; a cavity of two.
const CHANNEL: &str = r#"
[grid]
generate = { kind = "channel", cells = [24, 8], thickness = 0.1 }
split = [[0, 0, 9], [1, 1, 3]]
[flow]
mach = 0.5
[boundary]
inlet = { kind = "inlet", total_pressure = 1.186212638, total_temperature = 1.05 }
outlet = { kind = "outlet", pressure = 1.0 }
lower = "slip_wall"
upper = "slip_wall"
[march]
iterations = 12
[output]
plots = false
restart_every = 5
[expect]
iterations_suffice = true
"#;
const CAVITY: &str = r#"
[grid]
generate = { kind = "cavity", cells = [12, 12], clustering = 1.2 }
split = [[0, 0, 5]]
[incompressible]
viscosity = 0.01
[boundary]
wall = "wall"
lid = { kind = "wall", velocity = [1.0, 0.0, 0.0] }
[march]
iterations = 12
[output]
plots = false
[expect]
iterations_suffice = true
"#;

/// All files of a run but those with times in them.
fn files(folder: &Path, out: &str) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder.join(out))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap()))
        .filter(|(name, _)| !["history.csv", "live.csv", "summary.json"].contains(&name.as_str()))
        .collect();
    all.sort();
    all
}

/// Structured grids by whole blocks: all files are the same to the bit, and go on from one another.
#[test]
fn blocks_of_grids_are_shared_among_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let newton = ["--set", "march.nonlinear=newton_krylov"];
    let lines = ["--set", "structured.method=beam_warming"];
    for (case, text, more, sizes) in [
        ("newton", CHANNEL, &newton[..], &["2", "3"][..]),
        ("lines", CHANNEL, &lines[..], &["2", "3"][..]),
        ("cavity", CAVITY, &[][..], &["2"][..]),
    ] {
        std::fs::write(folder.join("case.toml"), text).unwrap();
        let common = [more, &["--reproducible", "--threads", "1"]].concat();
        let one = run(folder, &format!("{case}_1"), &common);
        assert!(one["ranks"].is_null());
        let expected = files(folder, &format!("{case}_1"));
        assert!(expected.iter().any(|(name, _)| name == "restart.safetensors") && expected.len() > 3);
        for size in sizes {
            let out = format!("{case}_{size}");
            let several = run(folder, &out, &[&common[..], &["--ranks", size]].concat());
            assert_eq!(several["ranks"].to_string(), *size);
            assert!(several["balance"].as_f64().unwrap() >= 1.0);
            assert!(several["time"]["halo_s"].as_f64().unwrap() > 0.0);
            assert!(several["time"]["ranks"]["halo"]["max"].as_f64().unwrap() > 0.0);
            assert_eq!(history(folder, &out), history(folder, &format!("{case}_1")), "{out}");
            let found = files(folder, &out);
            for ((name, bytes), (other, expected)) in found.iter().zip(&expected) {
                assert!(name == other && bytes == expected, "{out}: {name} {other}");
            }
            assert_eq!(found.len(), expected.len());
            assert_eq!(several["forces"], one["forces"]);
            assert_eq!(several["trouble"]["largest_residual"], one["trouble"]["largest_residual"]);
        }
        // On from two ranks without ranks.
        let on = ["--threads", "1", "--set", "march.iterations=14", "--resume"];
        let on = run(folder, &format!("{case}_2"), &[more, &on].concat());
        assert_eq!(on["iterations"], 14);
    }
    std::fs::write(folder.join("case.toml"), CHANNEL).unwrap();
    for (k, mpirun) in launchers().iter().enumerate() {
        let out = format!("mpi{k}");
        let mut command = launched(mpirun, 2, folder);
        command
            .args(["-q", "run", "case.toml", "--out", &out, "--reproducible", "--threads", "1"])
            .args(newton);
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{}: {said}", mpirun.display());
        assert_eq!(history(folder, &out), history(folder, "newton_1"));
        assert!(files(folder, &out) == files(folder, "newton_1"));
    }
}

#[test]
fn what_ranks_do_not_compute_is_refused_by_name() {
    let folder = folder();
    let folder = folder.path();
    let refused = |args: &[&str], words: &str| {
        let (status, _, message) = chromaflow(folder, args);
        assert_eq!(status, 2, "{message}");
        assert!(message.contains(words), "{message}");
    };
    let cased = |name: &str, more: &[&str], words: &str| {
        let case = cases().join(name);
        refused(&[&["-q", "run", case.to_str().unwrap(), "--ranks", "2"], more].concat(), words);
    };
    cased("structured_bump.toml", &[], "2 ranks, but the grid has 1 block, and a rank computes whole blocks");
    cased("structured_bump_lax_wendroff.toml", &[], "one rank alone takes steps of lax_wendroff");
    cased("cavity_re100.toml", &["--set", "output.matrix=1"], "one rank alone writes linear systems");
    refused(&["-q", "run", "case.toml", "--ranks", "0"], "--ranks");
    let matrix = ["-q", "run", "case.toml", "--ranks", "2", "--set", "output.matrix=1"];
    refused(&matrix, "one rank alone writes linear systems");
    refused(&["-q", "run", "case.toml", "--ranks", "2", "--gpus", "2"], "--gpus");
    refused(&["-q", "run", "case.toml", "--ranks", "2", "--halo", "staged"], "--halo is about GPUs");
}

/// More GPUs than any machine has, in both spellings: said before the mesh is read, with what is there or missing.
#[test]
fn gpus_that_are_not_there_are_an_error() {
    let folder = folder();
    for args in [&["--gpus", "640"][..], &["--backend", "cuda", "--ranks", "640"]] {
        let args = [&["-q", "run", "case.toml"][..], args].concat();
        let (status, _, message) = chromaflow(folder.path(), &args);
        assert_eq!(status, 3, "{message}");
        assert!(
            message.contains(&format!("{} 640", if args[3] == "--gpus" { "--gpus" } else { "--ranks" })),
            "{message}"
        );
        assert!(message.contains("GPU") || message.contains("driver"), "{message}");
    }
}

/// No rank has the mesh: the same bits on any number of ranks, a restart that goes on with the whole mesh, files of pieces and of the boundary.
#[test]
fn meshes_in_slices_are_the_same_on_any_number_of_ranks() {
    let folder = folder();
    let folder = folder.path();
    let (status, _, message) = chromaflow(folder, &["-q", "mesh", "convert", "cube.su2", "cube.lb8.ugrid"]);
    assert_eq!(status, 0, "{message}");
    let ugrid = ["--set", "mesh.file=cube.lb8.ugrid", "--set", "linear.policy=d"];
    let sliced = [&ugrid[..], &["--set", "mesh.reading=slices", "--set", "output.pieces=true"]].concat();
    let exact = [&sliced[..], &["--reproducible"]].concat();
    let one = run(folder, "one", &exact);
    assert_eq!(one["mesh"]["nodes"], 216);
    let restart = |out: &str| std::fs::read(folder.join(out).join("restart.safetensors")).unwrap();
    for ranks in ["2", "5"] {
        let several = run(folder, ranks, &[&exact[..], &["--ranks", ranks]].concat());
        assert_eq!(several["ranks"].to_string(), ranks);
        assert!(several["slices"]["held_bytes"].as_u64() < one["slices"]["held_bytes"].as_u64());
        assert_eq!(history(folder, ranks), history(folder, "one"), "{ranks} ranks");
        assert!(restart(ranks) == restart("one"), "{ranks} ranks");
        let cells = cells_of_pieces(&folder.join(ranks), ranks.parse().unwrap());
        assert_eq!(cells.iter().sum::<usize>(), 6 * 5 * 5 * 5);
        assert!(folder.join(ranks).join("surface.vtu").exists());
    }
    let whole = run(folder, "whole", &ugrid);
    let forces = |v: &Value| ["cl", "cd", "cm"].map(|c| v["forces"][c].as_f64().unwrap());
    for (a, b) in forces(&one).iter().zip(forces(&whole)) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    // On with the whole mesh, and back.
    let on = ["--set", "march.iterations=14", "--restart", "one/restart.safetensors"];
    run(folder, "on", &[&ugrid[..], &on, &["--ranks", "2"]].concat());
    run(folder, "again", &[&sliced[..], &on, &["--ranks", "3"]].concat());
    // Colors, and with them what sweeps leave, are others; the state that both go on from has the same residuals.
    let residuals = |out: &str| history(folder, out)[0][..7].to_vec();
    near(&[residuals("on")], &[residuals("again")], 1e-6);
    let (status, _, told) =
        chromaflow(folder, &[&["run", "case.toml", "--out", "said", "--ranks", "2"][..], &sliced].concat());
    assert_eq!(status, 0, "{told}");
    assert!(told.contains("216 nodes") && told.contains(", mesh in slices along a Hilbert curve"), "{told}");
    let refused = |more: &[&str], words: &str| {
        let (status, _, message) =
            chromaflow(folder, &[&["-q", "run", "case.toml", "--ranks", "2"], more].concat());
        assert!(status == 2 && message.contains(words), "{status}: {message}");
    };
    for (format, name) in [("SU2", "cube.su2"), ("GMF", "cube.meshb"), ("Gmsh", "cube.msh")] {
        let (status, _, message) = chromaflow(folder, &["-q", "mesh", "convert", "cube.lb8.ugrid", name]);
        assert_eq!(status, 0, "{message}");
        let file = format!("mesh.file={name}");
        let other = [&exact[..], &["--set", &file]].concat();
        if format == "Gmsh" {
            refused(&other, "a mesh in the format Gmsh cannot be read by slices: read it whole");
        } else {
            run(folder, format, &[&other[..], &["--ranks", "3"]].concat());
            assert_eq!(history(folder, format), history(folder, "one"), "{format}");
        }
    }
    refused(&[&sliced[..], &["--set", "output.pieces=false"]].concat(), "leaves no rank with the whole mesh");
    refused(&[&sliced[..], &["--set", "linear.precond=lines"]].concat(), "lines, which cross the mesh");
}

/// Planar meshes by slices: the same bits on any number of ranks, restarts of the whole mesh's nodes, its counts.
#[test]
fn planar_meshes_in_slices_are_the_same_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = ["-q", "mesh", "generate", "cylinder", "round.su2", "--cells", "32,14"];
    assert_eq!(chromaflow(folder, &made).0, 0);
    let case = r#"
[mesh]
file = "round.su2"
[flow]
mach = 0.3
[boundary]
cylinder = "slip_wall"
farfield = "farfield"
[linear]
policy = "d"
[march]
iterations = 8
[output]
plots = false
pieces = true
[expect]
iterations_suffice = true
"#;
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let sliced = ["--reproducible", "--set", "mesh.reading=slices"];
    let one = run(folder, "one", &sliced);
    let whole = run(folder, "whole", &[]);
    for count in ["nodes", "nodes_2d", "prisms", "hexes", "planar"] {
        assert_eq!(one["mesh"][count], whole["mesh"][count], "{count}");
    }
    let restart = |out: &str| std::fs::read(folder.join(out).join("restart.safetensors")).unwrap();
    // Behind the header, whose numbers are as long as their digits.
    let arrays = |file: &[u8]| file.len() as u64 - u64::from_le_bytes(file[..8].try_into().unwrap());
    assert_eq!(arrays(&restart("one")), arrays(&restart("whole")));
    for ranks in ["2", "3"] {
        run(folder, ranks, &[&sliced[..], &["--ranks", ranks]].concat());
        assert_eq!(history(folder, ranks), history(folder, "one"), "{ranks} ranks");
        assert!(restart(ranks) == restart("one"), "{ranks} ranks");
        let cells = cells_of_pieces(&folder.join(ranks), ranks.parse().unwrap());
        assert_eq!(cells.iter().sum::<usize>(), 32 * 14);
    }
    let on = ["--set", "march.iterations=10", "--restart", "2/restart.safetensors"];
    run(folder, "on", &[&on[..], &["--ranks", "2"]].concat());
    run(folder, "again", &[&sliced[..], &on, &["--ranks", "3"]].concat());
    let residuals = |out: &str| history(folder, out)[0][..7].to_vec();
    near(&[residuals("on")], &[residuals("again")], 1e-6);
}

/// A rank that cannot write ends the run with status 3, and one that cannot read with status 2, as one rank does.
#[test]
fn restarts_that_cannot_be_written_or_read_end_all_ranks() {
    let folder = folder();
    let folder = folder.path();
    let ranks = ["--ranks", "3"];
    run(folder, "good", &ranks);
    let ended = |out: &str, more: &[&str]| {
        let (status, _, said) =
            chromaflow(folder, &[&["-q", "run", "case.toml", "--out", out], more].concat());
        (status, said)
    };
    std::fs::create_dir_all(folder.join("bad/restart.safetensors/in the way")).unwrap();
    let (status, said) = ended("bad", &ranks);
    assert!(status == 3 && said.contains("cannot write ") && said.contains("restart.safetensors"), "{said}");
    let bytes = std::fs::read(folder.join("good/restart.safetensors")).unwrap();
    std::fs::write(folder.join("short.safetensors"), &bytes[..bytes.len() - 9]).unwrap();
    for file in ["short.safetensors", "none.safetensors"] {
        let (status, one) = ended("one", &["--restart", file]);
        let (same, several) = ended("several", &[&["--restart", file], &ranks[..]].concat());
        assert!(status == 2 && same == 2, "{one} {several}");
        let words = if file.starts_with("short") { "it ends inside" } else { "cannot open" };
        assert!(one.contains(words) && several.contains(words), "{one} {several}");
    }
}

/// Ranks of a host keep to cores of their own, and say so; where there are fewer cores than threads, that is said instead.
#[test]
#[cfg(target_os = "linux")]
fn ranks_of_a_host_share_out_its_cores() {
    let folder = folder();
    let said = |more: &[&str]| {
        let args = [&["run", "case.toml", "--set", "march.iterations=1", "--threads", "1"], more].concat();
        let (status, _, said) = chromaflow(folder.path(), &args);
        assert_eq!(status, 0, "{said}");
        said
    };
    let cores = std::thread::available_parallelism().unwrap().get();
    let many = (cores + 1).max(3).to_string();
    let full = said(&["--ranks", &many]);
    assert!(full.contains(&format!("note: {many} ranks of this host share ")), "{full}");
    assert!(!full.contains("a rank, here on core"), "{full}");
    if cores > 1 {
        let two = said(&["--ranks", "2"]);
        assert!(two.contains("1 thread a rank, here on core") && !two.contains("take turns"), "{two}");
        let loose = said(&["--ranks", "2", "--bind", "none"]);
        assert!(!loose.contains("here on core"), "{loose}");
    }
    assert!(!said(&[]).contains("here on core"), "one rank has all");
}

#[test]
fn a_division_is_shown() {
    let folder = folder();
    let folder = folder.path();
    let args = ["mesh", "partition", "cube.su2", "--ranks", "3", "parts.vtu", "--json", "parts.json"];
    let (status, text, message) = chromaflow(folder, &args);
    assert_eq!(status, 0, "{message}");
    assert!(text.contains("3 ranks, balance 1.") && text.contains("ghosts"), "{text}");
    assert!(folder.join("parts.vtu").exists());
    let parts: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("parts.json")).unwrap()).unwrap();
    let rows = &parts["parts"]["rows"];
    assert!((rows["mean"].as_f64().unwrap() - 72.0).abs() < 1e-9, "{rows}");
    // Every layer of a plate's cells hangs from its wall: all nodes of a line have one rank.
    let made = ["-q", "mesh", "generate", "plate", "plate.su2", "--cells", "4,8,16"];
    let (status, _, message) = chromaflow(folder, &made);
    assert_eq!(status, 0, "{message}");
    let args = ["mesh", "partition", "plate.su2", "--ranks", "3", "--lines", "--json", "lines.json"];
    let (status, text, message) = chromaflow(folder, &args);
    assert_eq!(status, 0, "{message}");
    assert!(text.contains(" rows are not cut"), "{text}");
    let parts: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("lines.json")).unwrap()).unwrap();
    let [lines, nodes] = ["lines", "nodes_in_lines"].map(|key| parts[key].as_u64().unwrap());
    assert!(lines > 4 && nodes >= 4 * lines, "{nodes} nodes in {lines} lines");
}

#[test]
fn processes_of_a_launcher_are_ranks() {
    let folder = folder();
    let folder = folder.path();
    let plain = ["--set", "march.nonlinear=defect_correction", "--set", "linear.policy=d", "--threads", "1"];
    run(folder, "one", &plain);
    for (k, mpirun) in launchers().iter().enumerate() {
        let out = format!("mpi{k}");
        let launched = || {
            let mut command = launched(mpirun, 2, folder);
            command
                .args(["-q", "run", "case.toml", "--out", &out, "--set", "output.pieces=true"])
                .args(plain);
            let done = command.output().unwrap();
            (done.status, String::from_utf8_lossy(&done.stderr).into_owned())
        };
        let (status, said) = launched();
        assert!(status.success(), "{}: {said}", mpirun.display());
        near(&history(folder, &out), &history(folder, "one"), 1e-10);
        let cells = cells_of_pieces(&folder.join(&out), 2);
        assert_eq!(cells.iter().sum::<usize>(), 6 * 5 * 5 * 5);
        // A piece that cannot be written ends the job.
        let file = folder.join(&out).join("volume/piece_1.vtu");
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir_all(file.join("in the way")).unwrap();
        let (status, said) = launched();
        assert_eq!(status.code(), Some(3), "{}: {said}", mpirun.display());
        assert!(said.contains("the piece of rank 1: cannot write") && said.contains("piece_1.vtu"), "{said}");
    }
}

/// One command for strong scaling: each number of ranks and exchange once, with a model beside where sweeps alone solve; the exact
/// exchange ends at the residual of one rank, the others near it.
#[test]
fn scaling_is_measured_beside_a_model() {
    let folder = folder();
    let folder = folder.path();
    let args = [
        "-q",
        "bench",
        "scaling",
        "case.toml",
        "--ranks",
        "1,2,3",
        "--threads",
        "1",
        "--exchange",
        "color,sweep",
        "--policy",
        "d",
        "--iterations",
        "3",
        "--warmup",
        "1",
        "--link",
        "1,10",
        "--set",
        "march.nonlinear=defect_correction",
        "--json",
        "s.json",
        "--table",
        "s.md",
    ];
    let (status, text, message) = chromaflow(folder, &args);
    assert_eq!(status, 0, "{message}");
    assert!(text.contains("| 3 x 1 | sweep |"), "{text}");
    assert_eq!(std::fs::read_to_string(folder.join("s.md")).unwrap(), text);
    let all: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("s.json")).unwrap()).unwrap();
    let rows = all["tables"][0]["rows"].as_array().unwrap();
    let of = |row: &Value| (row["ranks"].as_u64().unwrap(), row["exchange"].as_str().unwrap().to_owned());
    let expected = [(1, "color"), (2, "color"), (2, "sweep"), (3, "color"), (3, "sweep")];
    assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), expected.map(|(n, e)| (n, e.to_owned())));
    for row in rows {
        let [median, predicted] = ["median_s", "predicted_s"].map(|key| row[key].as_f64().unwrap());
        assert!(median > 0.0 && predicted > 0.0 && row["iterations"] == 3, "{row}");
        let (ranks, off) = (row["ranks"].as_u64().unwrap(), row["residual_difference"].as_f64().unwrap());
        let exact = row["exchange"] == "color";
        assert!(if exact { off < 1e-12 } else { (1e-9..0.1).contains(&off) }, "{row}");
        let parts = row["parts"].as_array().unwrap();
        assert_eq!(parts.len() as u64, ranks);
        // All nodes of the cube are somebody's, and ranks among others send.
        let sum = |key: &str| parts.iter().map(|part| part[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!(sum("rows"), 216, "{row}");
        assert_eq!(sum("sent_rows") > 0, ranks > 1, "{row}");
        let halo = row["halo_s"]["min"].as_f64().unwrap();
        assert_eq!(halo > 0.0, ranks > 1, "{row}");
    }
    // A case of Newton-Krylov steps has no model, one that ends too early is refused.
    let newton =
        ["-q", "bench", "scaling", "case.toml", "--ranks", "2", "--iterations", "1", "--json", "n.json"];
    assert_eq!(chromaflow(folder, &newton).0, 0);
    let all: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("n.json")).unwrap()).unwrap();
    assert!(all["tables"][0]["rows"][0]["predicted_s"].is_null(), "{all}");
    let (status, _, message) =
        chromaflow(folder, &["bench", "scaling", "case.toml", "--halo", "staged", "--ranks", "1"]);
    assert!(status == 2 && message.contains("--halo is about GPUs"), "{message}");
}

/// Cells of the pieces that the list of a run names, so many of them.
fn cells_of_pieces(out: &Path, count: usize) -> Vec<usize> {
    let list = std::fs::read_to_string(out.join("volume.pvtu")).unwrap();
    assert_eq!(list.matches("<Piece Source=").count(), count);
    let cells = |k: usize| {
        let file = format!("volume/piece_{k}.vtu");
        assert!(list.contains(&format!("Source=\"{file}\"")), "{list}");
        let bytes = std::fs::read(out.join(file)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let count = text.split("NumberOfCells=\"").nth(1).unwrap();
        count.split('"').next().unwrap().parse().unwrap()
    };
    (0..count).map(cells).collect()
}

/// Fields in pieces: every cell of the mesh in one of them, a piece for each rank; a run that writes one file leaves no list behind; a rank
/// that cannot write is an error.
#[test]
fn fields_in_pieces_have_all_cells() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("cube.su2"), cube(5)).unwrap();
    std::fs::write(dir.path().join("case.toml"), CASE).unwrap();
    let run = |more: &[&str]| {
        let (status, _, said) =
            chromaflow(dir.path(), &[&["run", "case.toml", "--threads", "1"], more].concat());
        assert_eq!(status, 0, "{said}");
    };
    let out = dir.path().join("out/case");
    let in_pieces = ["--ranks", "3", "--set", "output.pieces=true"];
    run(&in_pieces);
    let cells = cells_of_pieces(&out, 3);
    assert_eq!(cells.iter().sum::<usize>(), 6 * 5 * 5 * 5);
    assert!(cells.iter().all(|&n| n > 150), "{cells:?}");
    assert!(!out.join("volume.vtu").exists() && out.join("surface.vtu").exists());
    run(&["--set", "output.pieces=true"]);
    assert_eq!(cells_of_pieces(&out, 1), [6 * 5 * 5 * 5], "one rank, one piece");
    run(&[]);
    assert!(
        out.join("volume.vtu").exists() && !out.join("volume.pvtu").exists() && !out.join("volume").exists()
    );
    std::fs::create_dir_all(out.join("volume/piece_2.vtu/in the way")).unwrap();
    let (status, _, said) = chromaflow(dir.path(), &[&["-q", "run", "case.toml"], &in_pieces[..]].concat());
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("the piece of rank 2: cannot write") && said.contains("piece_2.vtu"), "{said}");
    assert!(!out.join("volume.pvtu").exists() && out.join("restart.safetensors").exists());
}
