use super::*;
use chromaflow_flow::mesh::generate::{Airfoil, Cells, box_mesh};

fn named(mut mesh: Mesh, names: &[&str]) -> Mesh {
    mesh.markers.iter_mut().zip(names).for_each(|(m, name)| m.name = (*name).to_owned());
    mesh
}

fn values(mesh: &Mesh, viscous: bool) -> Vec<String> {
    proposals(mesh, viscous).into_iter().map(|p| p.value).collect()
}

/// Sides of a sheared box are planes at its ends, whatever their direction; one that is bent is not, and the stream crosses those across it.
#[test]
fn planes_at_an_end_have_any_direction() {
    let mut mesh = box_mesh([3; 3], [1.0; 3], Cells::Hexes, 0.0);
    mesh.nodes.iter_mut().for_each(|x| x[1] += 0.4 * x[0] + 0.2 * x[2]);
    let sides = named(mesh, &["1", "2", "3", "4", "5", "6"]);
    let (far, along) = ("\"farfield\"", "\"symmetry\"");
    assert_eq!(values(&sides, false), [far, far, along, along, along, along]);
    let mut bent = sides;
    bent.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0]);
    let (inlet, outlet) = ("\"inlet\"", "{ kind = \"outlet\", pressure = 1.0 }");
    let wall = "\"slip_wall\"";
    assert_eq!(values(&bent, false), [inlet, outlet, wall, wall, along, along], "a tube");
}

/// Both planes of a layer one cell deep under one name are symmetry, along any axis, in a tube too; what is deeper is not.
#[test]
fn both_planes_of_a_layer_are_symmetry() {
    let of = |cells: [usize; 3], axis: usize, bend: f64| {
        let mut mesh = box_mesh(cells, [1.0; 3], Cells::Hexes, 0.0);
        mesh.nodes.iter_mut().for_each(|x| x[1] += bend * x[0] * x[0]);
        let quads = std::mem::take(&mut mesh.markers[2 * axis + 1].quads);
        mesh.markers[2 * axis].quads.extend(quads);
        mesh.markers.remove(2 * axis + 1);
        let mesh = named(mesh, &["1", "2", "3", "4", "5"]);
        let proposal = proposals(&mesh, false).swap_remove(2 * axis);
        (proposal.value, proposal.reason)
    };
    let along = ("\"symmetry\"".to_owned(), "both planes of a layer one cell deep");
    for (cells, axis) in [([1, 4, 3], 0), ([4, 1, 3], 1), ([4, 3, 1], 2)] {
        assert_eq!(of(cells, axis, 0.0), along);
    }
    assert_eq!(of([4, 3, 1], 2, 0.1), along, "a bent channel");
    assert_ne!(of([4, 3, 2], 2, 0.0), along);
    assert_ne!(of([4, 3, 1], 1, 0.0), along);
}

/// Where nothing else is a wall, a side with the cells of a boundary layer is one.
#[test]
fn flat_cells_lie_along_walls() {
    let mut mesh = box_mesh([4, 12, 4], [1.0; 3], Cells::Hexes, 0.0);
    mesh.nodes.iter_mut().for_each(|x| x[1] = x[1].powi(4));
    let sides = named(mesh, &["1", "2", "3", "4", "5", "6"]);
    let (far, along) = ("\"farfield\"", "\"symmetry\"");
    assert_eq!(values(&sides, true), [far, far, "\"no_slip\"", along, along, along]);
}

/// Of the sides of a tunnel, each a marker, those that the body does not reach are no planes of symmetry.
#[test]
fn planes_that_no_wall_reaches_are_far_away() {
    let mut mesh = box_mesh([4; 3], [1.0; 3], Cells::Hexes, 0.0);
    let names = ["1", "2", "3", "4", "5", "6"];
    mesh.markers.iter_mut().zip(names).for_each(|(m, name)| m.name = name.to_owned());
    // A bump, apart from the marker at z = 0 around it.
    let inner = |nodes: &[u32; 4]| {
        nodes.iter().all(|&n| {
            let x = mesh.nodes[n as usize];
            (0..2).all(|k| (0.2..0.8).contains(&x[k]))
        })
    };
    let (bump, floor) = mesh.markers[4].quads.iter().copied().partition(inner);
    mesh.markers[4].quads = floor;
    mesh.markers.push(Marker { name: "7".to_owned(), quads: bump, ..Marker::default() });
    for x in &mut mesh.nodes {
        let inside = (0..2).all(|k| (0.3..0.7).contains(&x[k]));
        x[2] = if inside { 0.1 + 0.9 * x[2] } else { x[2] };
    }
    let (far, along, wall) = ("\"farfield\"", "\"symmetry\"", "\"slip_wall\"");
    // The side at y = 0 may well be the plane of symmetry of a nozzle that ends before the mesh.
    assert_eq!(values(&mesh, false), [far, far, along, far, along, far, wall]);
    mesh.nodes.iter_mut().for_each(|x| x[1] -= 0.5);
    assert_eq!(values(&mesh, false), [far, far, far, far, along, far, wall]);
}

#[test]
fn names_tell_what_markers_are() {
    let cube = box_mesh([1; 3], [1.0; 3], Cells::Hexes, 0.0);
    let mesh = named(cube.clone(), &["Inflow", "OUTLET", "sym plane", "Far-Field", "slipwall", "fuselage"]);
    let inlet = "\"inlet\"";
    let outlet = "{ kind = \"outlet\", pressure = 1.0 }";
    let rest = ["\"symmetry\"", "\"farfield\"", "\"slip_wall\""];
    for (viscous, wall) in [(false, "\"slip_wall\""), (true, "\"no_slip\"")] {
        let expected = [&[inlet, outlet][..], &rest, &[wall]].concat();
        assert_eq!(values(&mesh, viscous), expected);
    }
    let lines = lines(&proposals(&mesh, false));
    assert!(lines.contains("\"sym plane\" = \"symmetry\""), "{lines}");
    let parsed: toml::Table = toml::from_str(&lines).unwrap();
    assert_eq!(parsed.len(), 6, "they can be pasted");
}

/// What lies inside a mesh is not far away, whatever it is called; what bounds the mesh is, in pieces, too.
#[test]
fn what_stands_inside_is_not_far_away() {
    let airfoil = Airfoil { cells: [16, 4], radius: 10.0, growth: 1.5, triangles: false };
    let mut mesh = named(airfoil.mesh(), &["top", "far"]);
    // An eighth of the circle, which touches none of the bounds.
    let at = |n: u32| mesh.nodes[n as usize];
    let eighth =
        |q: &[u32; 4]| q.iter().all(|&n| at(n)[0] > 0.0 && at(n)[1] > 1.0 && at(n)[0] > 0.1 * at(n)[1]);
    let (piece, rest): (Vec<_>, _) = mesh.markers[1].quads.iter().copied().partition(eighth);
    assert!(!piece.is_empty());
    let (a, b) = bounds(piece.iter().flatten().map(|&n| at(n)));
    assert!(b[0] < 9.9 && b[1] < 9.9 && a[0] > 0.0, "{a:?} {b:?}");
    mesh.markers[1].quads = rest;
    mesh.markers.push(Marker { name: "far_top".to_owned(), quads: piece, ..Marker::default() });
    let far = "\"farfield\"";
    let told: Vec<_> = proposals(&mesh, false).into_iter().map(|p| (p.marker, p.value)).collect();
    let of = |name: &str| told.iter().find(|(marker, _)| marker == name).unwrap().1.as_str();
    assert_eq!([of("top"), of("far"), of("far_top")], ["\"slip_wall\"", far, far]);
}

/// What FUN3D's codes say of inflow and outflow goes before names.
#[test]
fn codes_tell_inlets_from_outlets() {
    let mut mesh = named(box_mesh([1; 3], [1.0; 3], Cells::Hexes, 0.0), &["out", "in", "3", "4", "5", "6"]);
    for (marker, code) in mesh.markers.iter_mut().zip([7011, 7012, 7021, 7031, 7036, 7105]) {
        marker.code = Some(code);
    }
    let (inlet, outlet) = ("\"inlet\"", "{ kind = \"outlet\", pressure = 1.0 }");
    let straight = |way: [f64; 3]| format!("{{ kind = \"inlet\", direction = {way:?} }}");
    let [up, across] = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(straight);
    assert_eq!(values(&mesh, false), [inlet, outlet, &up, outlet, &across, outlet]);
}

/// A jet comes out of a nozzle's plane; what is bent is the nozzle.
#[test]
fn sides_of_nozzles_are_walls() {
    let mut mesh = box_mesh([3; 3], [1.0; 3], Cells::Hexes, 0.0);
    mesh.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0]);
    let got = values(&named(mesh, &["nozzle", "outlet", "nozzle_low", "NOZZLE high", "5", "6"]), false);
    assert_eq!(got[2..4], ["\"slip_wall\""; 2]);
    assert_eq!(got[0], "\"inlet\"");
}

/// What a name begins or ends with, "in" or "out", and where it lies, make an end; sides of nozzles are none, and their exit is where the flow leaves
/// unless it leaves elsewhere.
#[test]
fn ends_are_told_by_in_and_out() {
    let mut mesh = box_mesh([3; 3], [1.0; 3], Cells::Hexes, 0.0);
    mesh.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0]);
    let (inlet, outlet) = ("\"inlet\"", "{ kind = \"outlet\", pressure = 1.0 }");
    let (far, wall) = ("\"farfield\"", "\"no_slip\"");
    for (names, expected) in [
        (["gas in", "p_out", "pipe_in", "heated", "5", "6"], [inlet, outlet, wall, wall]),
        (["air_in", "outlet", "pins", "top", "5", "6"], [inlet, outlet, wall, far]),
        (["in", "out", "bot", "top", "5", "6"], [inlet, outlet, wall, wall]),
        (["Plenum", "nozzle_exit_plane", "nozzle_lip", "flap", "5", "6"], [inlet, outlet, wall, wall]),
        (["nozzle exit", "exit", "nozzle_in", "nozzle_out", "5", "6"], [inlet, outlet, wall, wall]),
        (["freestream in", "exit outer", "cowl", "top outer", "5", "6"], [far, far, wall, far]),
        (["freestream in", "engine face", "cowl", "ramp", "5", "6"], [far, outlet, wall, far]),
    ] {
        assert_eq!(values(&named(mesh.clone(), &names), true)[..4], expected, "{names:?}");
    }
}

/// A line of symmetry is told by its name where it is straight, else it is the core of a sector; sides are periodic by name where they match.
#[test]
fn axes_and_periodic_sides_are_told_by_name_and_shape() {
    let flat = box_mesh([3; 3], [1.0; 3], Cells::Hexes, 0.0);
    let mut bent = flat.clone();
    bent.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0] * (1.0 - x[1]));
    let names = ["in", "out", "axis", "shroud", "per_lo", "per_hi"];
    for (mesh, axis) in [(flat, "\"symmetry\""), (bent, "\"slip_wall\"")] {
        let got = values(&named(mesh, &names), true);
        let with = |name: &str| format!("{{ kind = \"periodic\", with = {name:?} }}");
        assert_eq!(got[2..], [axis, "\"no_slip\"", &with("per_hi"), &with("per_lo")]);
    }
}

/// What bounds a mesh with an inlet and an outlet are the walls of a duct; so it is without one of them where nothing else is a wall.
#[test]
fn sides_of_ducts_are_walls() {
    let mut mesh = box_mesh([3; 3], [1.0; 3], Cells::Hexes, 0.0);
    mesh.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0]);
    let sides = |names: [&str; 6]| values(&named(mesh.clone(), &names), true)[2..4].to_vec();
    assert_eq!(sides(["inlet", "outlet", "low", "high", "5", "6"]), ["\"no_slip\""; 2]);
    assert_eq!(sides(["inlet", "end", "low", "high", "5", "6"]), ["\"no_slip\""; 2]);
    assert_eq!(sides(["inlet", "end", "low", "high", "plate", "6"]), ["\"farfield\""; 2]);
}

/// Sides of a mesh between an inlet and an outlet are open to the stream where they are far from a body inside, walls beside it.
#[test]
fn sides_far_from_a_body_are_open() {
    let mut mesh = box_mesh([12; 3], [1.0; 3], Cells::Hexes, 0.0);
    let node = |x: [f64; 3]| {
        let off = |y: &[f64; 3]| (0..3).map(|k| (x[k] - y[k]).abs()).fold(0.0, f64::max);
        mesh.nodes.iter().position(|y| off(y) < 1e-9).unwrap() as u32
    };
    // A plate across the stream.
    let plate = |low: f64, high: f64| {
        [[low, low], [high, low], [high, high], [low, high]].map(|[y, z]| node([0.5, y, z]))
    };
    let plates = [plate(5.0 / 12.0, 0.5), plate(0.25, 0.75)];
    mesh.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0]);
    let names = ["inlet", "outlet", "low", "high", "sym5", "sym6"];
    for (plate, expected) in plates.into_iter().zip(["\"farfield\"", "\"slip_wall\""]) {
        let mut mesh = named(mesh.clone(), &names);
        mesh.markers.push(Marker { name: "thing".to_owned(), quads: vec![plate], ..Marker::default() });
        let got = values(&mesh, false);
        assert_eq!([&got[2], &got[3], &got[6]], [expected, expected, "\"slip_wall\""]);
    }
}

#[test]
fn numbers_are_told_apart_by_their_place() {
    let airfoil = Airfoil { cells: [16, 4], radius: 10.0, growth: 1.5, triangles: false };
    assert_eq!(values(&named(airfoil.mesh(), &["1", "2"]), false), ["\"slip_wall\"", "\"farfield\""]);
}

/// An inlet across which a stream along x does not lead is one straight in.
#[test]
fn inlets_of_other_sides_lead_straight_in() {
    let mesh = box_mesh([3; 3], [1.0; 3], Cells::Hexes, 0.0);
    let mut turned = mesh.clone();
    for x in &mut turned.nodes {
        (x[0], x[1]) = (0.6 * x[0] - 0.8 * x[1], 0.8 * x[0] + 0.6 * x[1]);
    }
    let at = |mesh: &Mesh, side: usize| {
        let mut names = ["a", "outlet", "c", "d", "e", "f"];
        names[side] = "inlet";
        values(&named(mesh.clone(), &names), true)[side].clone()
    };
    assert_eq!(at(&mesh, 0), "\"inlet\"");
    assert_eq!(at(&mesh, 3), "{ kind = \"inlet\", direction = [0.0, -1.0, 0.0] }");
    assert_eq!(at(&turned, 0), "\"inlet\"");
    assert_eq!(at(&turned, 2), "{ kind = \"inlet\", direction = [-0.8, 0.6, 0.0] }");
}
