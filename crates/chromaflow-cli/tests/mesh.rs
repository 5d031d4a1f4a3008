//! `chromaflow mesh` through the binary: what Gmsh writes, every format there and back, refinement.

mod common;

use common::{chromaflow, cube};
use serde_json::Value;
use std::path::Path;

/// Runs a command that is to succeed; what it writes as JSON.
#[track_caller]
fn mesh(folder: &Path, args: &[&str]) -> Value {
    let all = [&["-q", "--json", "r.json", "mesh"], args].concat();
    let (status, _, message) = chromaflow(folder, &all);
    assert_eq!(status, 0, "{args:?}: {message}");
    serde_json::from_str(&std::fs::read_to_string(folder.join("r.json")).unwrap()).unwrap()
}

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

/// (tetrahedra, pyramids, prisms, hexahedra)
fn counts(info: &Value) -> [u64; 4] {
    ["tetrahedron", "pyramid", "prism", "hexahedron"].map(|kind| {
        let kinds = info["elements"].as_array().unwrap();
        kinds.iter().find(|k| k["kind"] == kind).map_or(0, |k| k["count"].as_u64().unwrap())
    })
}

/// (name, area) of each marker, by name.
fn areas(info: &Value) -> Vec<(String, f64)> {
    let markers = info["markers"].as_array().unwrap();
    let area = |m: &Value| (m["name"].as_str().unwrap().to_owned(), m["area"].as_f64().unwrap());
    let mut all: Vec<_> = markers.iter().map(area).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[track_caller]
fn assert_areas(info: &Value, expected: &[(&str, f64)]) {
    let found = areas(info);
    let named: Vec<&str> = found.iter().map(|a| a.0.as_str()).collect();
    assert_eq!(named, expected.iter().map(|a| a.0).collect::<Vec<_>>());
    for ((name, area), (_, right)) in found.iter().zip(expected) {
        assert!((area - right).abs() < 1e-9, "{name}: {area}");
    }
}

#[test]
fn what_gmsh_writes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let meshes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/meshes");
    let mut read = 0;
    for entry in std::fs::read_dir(&meshes).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.contains(".msh") {
            continue;
        }
        read += 1;
        let file = path.to_str().unwrap();
        assert_eq!(mesh(folder, &["check", file])["errors"], 0, "{name}");
        let info = mesh(folder, &["info", file]);
        assert_eq!(info["format"], "Gmsh");
        if name.contains("plane") {
            // One layer of depth 1.
            assert_eq!(info["two_dimensional"], true);
            assert_eq!((&info["nodes"], counts(&info)), (&52.into(), [0, 0, 17, 9]), "{name}");
            assert!((number(&info, "/volume") - 2.0).abs() < 1e-12, "{name}");
            let sides = [("symmetry_back", 2.0), ("symmetry_front", 2.0)];
            let curves = [("in let", 1.0), ("outlet", 1.0), sides[0], sides[1], ("walls", 4.0)];
            assert_areas(&info, &curves);
        } else {
            assert_eq!((&info["nodes"], counts(&info)), (&102.into(), [156, 4, 28, 8]), "{name}");
            assert!((number(&info, "/volume") - 4.0).abs() < 1e-12, "{name}");
            assert_areas(&info, &[("floor", 2.0), ("rest of it", 14.0)]);
        }
    }
    assert_eq!(read, 8);
}

#[test]
fn every_format_there_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    mesh(folder, &["generate", "box-mixed", "box.su2", "--cells", "3,2,2", "--jitter", "0.2"]);
    let right = mesh(folder, &["info", "box.su2"]);
    assert!(counts(&right).iter().all(|&n| n > 0), "all four types: {right}");
    let mut last = "box.su2".to_owned();
    for (name, msh) in [
        ("a.ugrid", None),
        ("b.b8.ugrid", None),
        ("c.lb8.ugrid.gz", None),
        ("d.msh", Some("msh41")),
        ("e.msh", Some("msh22-binary")),
        ("f.msh", Some("msh41-binary")),
        ("g.msh", Some("msh22")),
        ("h.su2.xz", None),
        ("i.lb8.ugrid.zst", None),
        ("k.vtu", None),
        ("j.su2", None),
    ] {
        let mut args = vec!["convert", last.as_str(), name];
        args.extend(msh.iter().flat_map(|form| ["--msh", form]));
        mesh(folder, &args);
        let info = mesh(folder, &["info", name]);
        assert_eq!(counts(&info), counts(&right), "{name}");
        assert_eq!(info["nodes"], right["nodes"], "{name}");
        assert!((number(&info, "/volume") - number(&right, "/volume")).abs() < 1e-14, "{name}");
        let (found, expected) = (areas(&info), areas(&right));
        for ((name, area), (expected_name, expected_area)) in found.iter().zip(&expected) {
            assert_eq!(name, expected_name);
            assert!((area - expected_area).abs() < 1e-13, "{name} {area}");
        }
        last = name.to_owned();
    }
}

#[test]
fn a_planar_mesh_stays_planar() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    mesh(folder, &["generate", "channel", "a.su2", "--cells", "12,4"]);
    mesh(folder, &["convert", "a.su2", "b.msh"]);
    mesh(folder, &["refine", "b.msh", "c.su2"]);
    let [a, c] = ["a.su2", "c.su2"].map(|name| mesh(folder, &["info", name]));
    assert_eq!((&a["two_dimensional"], &c["two_dimensional"]), (&true.into(), &true.into()));
    assert_eq!((counts(&a), counts(&c)), ([0, 0, 0, 48], [0, 0, 0, 192]), "four times the cells");
    assert!((number(&a, "/volume") - number(&c, "/volume")).abs() < 1e-13);
    let sides = |info: &Value| areas(info).into_iter().map(|a| a.0).collect::<Vec<_>>();
    assert_eq!(sides(&a), sides(&c));
}

#[test]
fn refinement_keeps_volumes_and_areas() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for shape in ["box-tets", "box-prisms", "box-hexes", "box-mixed"] {
        mesh(folder, &["generate", shape, "a.su2", "--cells", "2,2,2", "--jitter", "0.1"]);
        mesh(folder, &["refine", "a.su2", "b.su2", "--times", "2"]);
        assert_eq!(mesh(folder, &["check", "b.su2"])["errors"], 0, "{shape}");
        let [a, b] = ["a.su2", "b.su2"].map(|name| mesh(folder, &["info", name]));
        let ([t, p, w, h], fine) = (counts(&a), counts(&b));
        // A pyramid becomes six pyramids and four tetrahedra.
        let once = [8 * t + 4 * p, 6 * p, 8 * w, 8 * h];
        assert_eq!(fine, [8 * once[0] + 4 * once[1], 6 * once[1], 8 * once[2], 8 * once[3]], "{shape}");
        assert!((number(&b, "/volume") / number(&a, "/volume") - 1.0).abs() < 1e-9, "{shape}");
        let total = |info: &Value| areas(info).iter().map(|a| a.1).sum::<f64>();
        assert!((total(&b) - total(&a)).abs() < 1e-9, "{shape}");
    }
}

#[test]
fn defects_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = cube(2);
    // A boundary face less, and an element twice; another node that no element has is dropped, and told.
    let (head, count_on) = whole.split_once("NELEM= ").unwrap();
    let (count, elements) = count_on.split_once('\n').unwrap();
    let (more, first) = (count.parse::<usize>().unwrap() + 1, elements.lines().next().unwrap());
    let twice = format!("{head}NELEM= {more}\n{first}\n{elements}");
    let nodes = whole.replace("NPOIN= 27", "NPOIN= 28").replace("NMARK= 3", "7 7 7 27\nNMARK= 3");
    let (before, after) = whole.split_once("MARKER_ELEMS= 8\n").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    let faces = format!("{before}MARKER_ELEMS= 7\n{after}");
    for (name, text, part) in [("twice", twice, "has the same nodes"), ("open", faces, "face")] {
        let file = format!("{name}.su2");
        std::fs::write(folder.join(&file), text).unwrap();
        let (status, _, message) = chromaflow(folder, &["-q", "mesh", "check", &file]);
        assert_eq!(status, 2, "{name}: {message}");
        assert!(message.contains(&file) && message.contains(part), "{message}");
    }
    std::fs::write(folder.join("unused.su2"), nodes).unwrap();
    let (status, said, message) = chromaflow(folder, &["mesh", "check", "unused.su2"]);
    assert!(status == 0 && (said + &message).contains("no element"), "{message}");
    let (status, _, message) = chromaflow(folder, &["mesh", "convert", "twice.su2", "x.xyz"]);
    assert_eq!(status, 2, "{message}");
    assert!(!folder.join("x.xyz").exists());
    let (status, _, message) = chromaflow(folder, &["mesh", "info", "none.su2"]);
    assert_eq!(status, 2, "{message}");
}

#[test]
fn bodies_are_made_moved_and_cut_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (shape, cells) in [
        ("airfoil-c", "8,24,10"),
        ("airfoil", "24,10"),
        ("wing", "16,8,5,4"),
        ("sphere", "4,8"),
        ("cylinder", "24,8"),
        ("plate", "4,8,8"),
    ] {
        let file = format!("{shape}.su2");
        let digits = if shape == "wing" { "0010" } else { "2412" };
        mesh(folder, &["generate", shape, &file, "--cells", cells, "--naca", digits]);
        let report = mesh(folder, &["check", &file]);
        assert_eq!(report["errors"], 0, "{shape}: {report}");
    }
    let cut = ["generate", "airfoil-c", "cut.su2", "--cells", "8,24,10", "--triangles"];
    mesh(folder, &cut);
    let [whole, halves] = ["airfoil-c.su2", "cut.su2"].map(|file| mesh(folder, &["info", file]));
    assert_eq!(counts(&halves), [0, 0, 2 * counts(&whole)[3], 0], "{halves}");
    assert_eq!(mesh(folder, &["check", "cut.su2"])["errors"], 0);
    let (status, _, message) = chromaflow(folder, &["mesh", "generate", "plate", "a.su2", "--triangles"]);
    assert!(status == 2 && message.contains("--triangles cuts"), "{message}");
    let args =
        ["transform", "wing.su2", "big.lb8.ugrid", "--mirror", "y", "--scale", "2", "--rotate", "x:30"];
    mesh(folder, &args);
    let (small, big) = (mesh(folder, &["info", "wing.su2"]), mesh(folder, &["info", "big.lb8.ugrid"]));
    assert!((number(&big, "/volume") / number(&small, "/volume") - 8.0).abs() < 1e-9);
    assert_eq!(mesh(folder, &["check", "big.lb8.ugrid"])["errors"], 0);
    let surface = mesh(folder, &["extract", "wing.su2", "wing.stl"]);
    assert_eq!(surface["markers"], serde_json::json!(["wing"]));
    let bytes = std::fs::read(folder.join("wing.stl")).unwrap();
    let triangles = u32::from_le_bytes(bytes[80..84].try_into().unwrap());
    assert_eq!(bytes.len(), 84 + 50 * triangles as usize);
    assert!(u64::from(triangles) > surface["faces"].as_u64().unwrap(), "quadrilaterals are two triangles");
    let (status, _, message) =
        chromaflow(folder, &["mesh", "extract", "wing.su2", "a.stl", "--markers", "flap"]);
    assert!(status == 2 && message.contains("wing, symmetry, farfield"), "{message}");
    let (status, _, message) =
        chromaflow(folder, &["mesh", "transform", "wing.su2", "a.su2", "--scale", "0"]);
    assert!(status == 2 && message.contains("flattens"), "{message}");
}

#[test]
fn plot3d_grids_are_joined_looked_at_and_converted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Two blocks that meet at x = 1: the second one's i runs along y.
    let mut text = "2\n3 3 3\n3 4 3\n".to_owned();
    let mut block = |points: [usize; 3], at: &dyn Fn(usize, usize, usize) -> [f64; 3]| {
        for c in 0..3 {
            for (k, j) in (0..points[2]).flat_map(|k| (0..points[1]).map(move |j| (k, j))) {
                let line: Vec<String> = (0..points[0]).map(|i| format!("{:?} ", at(i, j, k)[c])).collect();
                text.push_str(&line.concat());
            }
            text.push('\n');
        }
    };
    block([3, 3, 3], &|i, j, k| [0.5 * i as f64, 0.5 * j as f64, k as f64]);
    block([3, 4, 3], &|i, j, k| [1.0 + 0.5 * j as f64, 0.5 * i as f64, k as f64]);
    std::fs::write(folder.join("g.p3d"), text).unwrap();
    let made = mesh(folder, &["nmf", "g.p3d"]);
    assert_eq!((&made["interfaces"], made["patches"].as_array().unwrap().len()), (&1.into(), 10));
    let info = mesh(folder, &["info", "g.p3d"]);
    assert!(info["map"].as_str().unwrap().ends_with("g.nmf"));
    assert_eq!(info["blocks"][1]["right_handed"], false);
    assert_eq!(info["blocks"][0]["bad_cells"], 0);
    assert_eq!(mesh(folder, &["check", "g.p3d"])["errors"], 0);
    mesh(folder, &["convert", "g.p3d", "g.su2"]);
    let whole = mesh(folder, &["info", "g.su2"]);
    assert_eq!((&whole["nodes"], counts(&whole)), (&54.into(), [0, 0, 0, 20]));
    assert!((number(&whole, "/volume") - 5.0).abs() < 1e-12);
    mesh(folder, &["transform", "g.p3d", "h.xyz", "--scale", "2,1,1"]);
    let moved = mesh(folder, &["info", "h.xyz", "--map", "g.nmf"]);
    assert!((number(&moved, "/blocks/0/volume") - 4.0).abs() < 1e-12);
    let (status, _, message) = chromaflow(folder, &["mesh", "nmf", "g.p3d"]);
    assert!(status == 2 && message.contains("exists"), "{message}");
    // As a mesh, by its map and without one.
    for map in ["g.nmf", "gone.nmf"] {
        std::fs::rename(folder.join("g.nmf"), folder.join(map)).unwrap();
        let (status, _, message) = chromaflow(folder, &["new", "g.p3d", "--force"]);
        assert_eq!(status, 0, "{message}");
        let case = std::fs::read_to_string(folder.join("g.toml")).unwrap();
        assert!(case.contains("three-dimensional, 54 nodes, 20 cells"), "{case}");
        let (status, out, message) = chromaflow(folder, &["run", "g.toml", "--check"]);
        assert!(status == 0 && out.contains("block2_jmax"), "{out}{message}");
    }
}
