use super::*;
use chromaflow_flow::mesh::generate::{Cells, box_mesh};

/// The body that some sides of a box of 2 x 3 x 5 are.
fn body(walls: &[&str]) -> Body {
    let names = ["left", "right", "front", "back", "low", "high"];
    let mut mesh = box_mesh([2; 3], [2.0, 3.0, 5.0], Cells::Hexes, 0.0);
    assert_eq!(mesh.markers.len(), names.len());
    for marker in &mut mesh.markers {
        let faces = marker.triangles.as_flattened().iter().chain(marker.quads.as_flattened());
        let (a, b) = bounds(faces.map(|&n| mesh.nodes[n as usize]));
        let axis = (0..3).find(|&k| a[k] == b[k]).unwrap();
        marker.name = names[2 * axis + usize::from(a[axis] > 0.0)].to_owned();
        marker.code = None;
    }
    Body::of(&mesh, |m| walls.contains(&&*m.name)).unwrap()
}

#[test]
fn reference_values_are_those_of_what_lift_sees() {
    for (walls, up, area, length) in [
        (&["low"][..], 2, 6.0, 2.0),        // an open wall shows its whole face
        (&["low", "high"], 2, 6.0, 2.0),    // two sides of one planform
        (&["front", "back"], 1, 10.0, 2.0), // the span is along z
        (&["left"], 2, 15.0, 5.0),          // it stands across the stream
        (&["left", "front", "back", "low", "high"], 1, 10.0, 2.0),
    ] {
        let body = body(walls);
        assert_eq!((body.up, body.length()), (up, length), "{walls:?}");
        assert!((body.area - area).abs() < 1e-12, "{walls:?}: {}", body.area);
    }
}

/// The thickness of a plate across the stream is no length to go by; one along it has a chord.
#[test]
fn plates_across_the_stream_are_as_long_as_they_are_high() {
    let of = |size: [f64; 3], planar: bool| {
        let mut mesh = box_mesh([2; 3], size, Cells::Hexes, 0.0);
        mesh.planar = planar.then_some(Planar { nodes_2d: 9, depth: size[2] });
        let names: Vec<String> = mesh.markers.iter().map(|m| m.name.clone()).collect();
        let sides = if planar { &names[..4] } else { &names[..] };
        let body = Body::of(&mesh, |m| sides.contains(&m.name)).unwrap();
        (body.area, body.length())
    };
    for (size, planar, area, length) in [
        ([0.002, 1.0, 1.0], true, 1.0, 1.0),
        ([1.0, 0.002, 1.0], true, 1.0, 1.0),
        ([0.5, 1.0, 1.0], true, 0.5, 0.5),
        ([0.01, 2.0, 3.0], false, 6.0, 3.0),
        ([1.0, 1.0, 10.0], false, 10.0, 1.0),
    ] {
        let found = of(size, planar);
        assert!((found.0 - area).abs() < 1e-9 && (found.1 - length).abs() < 1e-9, "{size:?}: {found:?}");
    }
}

/// Layers are made for y+ 1, else for wall functions; cells that are not flat, or too high for turbulent flow, for neither.
#[test]
fn layers_tell_what_they_were_made_for() {
    let of =
        |height: f64, aspect: f64| made_for(&WallCells { heights: (height, height), height, aspect }, 2.0);
    for (height, reynolds, y_plus) in [(1e-5, 5e6, 1.0), (1e-4, 4e5, 1.0), (2e-3, 1e6, 50.0)] {
        assert_eq!(of(height, 30.0), Some((reynolds, y_plus)), "{height}");
        let law =
            law_of_the_wall(&WallCells { heights: (height, height), height, aspect: 30.0 }, 2.0, reynolds);
        assert_eq!(law.is_some(), y_plus > 1.0, "{law:?}");
    }
    assert_eq!([of(1e-5, 5.0), of(2e-2, 30.0)], [None, None]);
}

/// The ground and the walls of a tunnel are no part of the body; a body stands on its ground, along which lift points.
#[test]
fn bodies_stand_on_their_ground() {
    for (axis, up) in [(1, 1), (2, 2)] {
        let mut mesh = box_mesh([4; 3], [1.0; 3], Cells::Hexes, 0.0);
        for marker in &mut mesh.markers {
            let x = marker.quads[0].map(|n| mesh.nodes[n as usize]);
            let low = (0..3).find(|&k| x.iter().all(|x| x[k] == 0.0));
            marker.name = if low == Some(axis) { "road" } else { "side" }.to_owned();
        }
        // A bump on the road is a marker of its own.
        let road = mesh.markers.iter().position(|m| m.name == "road").unwrap();
        let inner = |quad: &[u32; 4]| {
            quad.iter().all(|&n| (0..3).all(|k| k == axis || (0.2..0.8).contains(&mesh.nodes[n as usize][k])))
        };
        let (bump, rest) = mesh.markers[road].quads.iter().copied().partition(inner);
        mesh.markers[road].quads = rest;
        mesh.markers.push(Marker { name: "bump".to_owned(), quads: bump, ..Marker::default() });
        for x in &mut mesh.nodes {
            let inside = (0..3).all(|k| k == axis || (0.3..0.7).contains(&x[k]));
            x[axis] = if inside { 0.2 + 0.8 * x[axis] } else { x[axis] };
        }
        let body = Body::of(&mesh, |_| true).unwrap();
        assert_eq!(body.up, up);
        assert!((body.length() - 0.5).abs() < 1e-12 && (body.area - 0.25).abs() < 1e-12, "{}", body.area);
    }
}

#[test]
fn cases_have_paths_from_their_folder_and_names_of_openfoam_cases() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("step/constant/polyMesh")).unwrap();
    std::fs::create_dir_all(at("cases")).unwrap();
    for mesh in ["step", "step/constant", "step/constant/polyMesh"] {
        assert_eq!(case_name(&at(mesh)), Path::new("step.toml"), "{mesh}");
    }
    assert_eq!(case_name(Path::new("wing.b8.ugrid")), Path::new("wing.toml"));
    let case = at("cases/a.toml");
    assert_eq!(from_case(&case, &at("step")), at("step"), "as it is given");
    assert_eq!(from_case(Path::new("a.toml"), Path::new("m/step")), Path::new("m/step"));
    assert_eq!(from_case(Path::new("src/a.toml"), Path::new("Cargo.toml")), Path::new("../Cargo.toml"));
}

/// Options say which equations: those of a model or a Reynolds number, unless they are given.
#[test]
fn options_ask_for_equations() {
    let of = |equations: Option<&str>, model: Option<&str>, reynolds: Option<f64>| {
        let args = Args {
            mesh: PathBuf::new(),
            case: None,
            mapbc: None,
            equations: equations.map(str::to_owned),
            mach: None,
            reynolds,
            model: model.map(|name| model_named(name).unwrap()),
            force: false,
        };
        args.equations("euler").map(str::to_owned).map_err(|e| e.to_string())
    };
    assert_eq!(of(None, None, None).unwrap(), "euler");
    assert_eq!(of(None, Some("sst"), Some(1e3)).unwrap(), "rans");
    assert_eq!([1e3, 1e6].map(|re| of(None, None, Some(re)).unwrap()), ["laminar", "rans"]);
    assert_eq!(of(Some("rans"), None, Some(1e3)).unwrap(), "rans");
    assert!(model_named("sas").unwrap_err().contains("expected one of"));
    assert!(of(Some("laminar"), Some("sst"), None).is_err() && of(Some("euler"), None, Some(1.0)).is_err());
    assert!(positive("0.3") == Ok(0.3) && ["-1", "0", "nan", "x"].iter().all(|t| positive(t).is_err()));
}

#[test]
fn small_numbers_keep_their_digits() {
    assert_eq!((number(0.0), number(1.25)), ("0.000000".to_owned(), "1.250000".to_owned()));
    assert_eq!(place(-1e-9, 1.0), "0.000000", "no sign");
    for value in [2.5e-7_f64, -3.25e-4, 7.5e8] {
        assert_eq!(number(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
    }
}
