//! Connections of unstructured zones: what they join is what a case joins, and lists that do not fit are told.

use super::write::{Width, base, families, node, put, root, save, text, zone};
use super::{Path, write};
use crate::generate::{Cells, box_mesh};
use crate::hdf5::{Attribute, Group, Number, each};
use crate::periodic::{Pair, merge, pairs_of};
use crate::{Loaded, Marker, Mesh, MeshError, ReadOptions, load};

fn pair(a: &str, b: &str) -> Pair {
    [a.to_owned(), b.to_owned()]
}

/// A box, or a sector of 40 degrees of it around the z axis whose sides are ymin and ymax.
fn made(cells: Cells, turned: bool) -> Mesh {
    let mut mesh = box_mesh([4, 4, 3], [1.0; 3], cells, 0.0);
    for x in mesh.nodes.iter_mut().filter(|_| turned) {
        let (r, angle) = (1.0 + x[0], 40_f64.to_radians() * x[1]);
        *x = [r * angle.cos(), r * angle.sin(), x[2]];
    }
    mesh
}

/// Sides that name one another are written as connections, and read the same, in space, turned and in the plane.
#[test]
fn pairs_that_are_written_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cgns");
    let gmsh = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gmsh/periodic_square_41.msh");
    let mut all = vec![(load(&gmsh, &ReadOptions::default()).unwrap().mesh, vec![pair("right", "left")])];
    for cells in [Cells::Hexes, Cells::Prisms, Cells::Tets] {
        all.push((made(cells, false), vec![pair("xmin", "xmax"), pair("zmin", "zmax")]));
        all.push((made(cells, true), vec![pair("ymin", "ymax"), pair("zmin", "zmax")]));
    }
    for (mut mesh, pairs) in all {
        for [a, b] in &pairs {
            let mut name = |one: &str, other: &str| {
                mesh.markers.iter_mut().find(|m| m.name == one).unwrap().partner = Some(other.to_owned());
            };
            name(a, b);
            name(b, a);
        }
        write(&path, &mesh, &[]).unwrap();
        let loaded = load(&path, &ReadOptions::default()).unwrap();
        assert!(loaded.report.is_clean() && loaded.notes.is_empty(), "{}", loaded.report);
        assert_eq!(loaded.mesh.markers, mesh.markers);
        assert_eq!(pairs_of(&loaded.mesh), pairs);
        assert!(merge(&loaded.mesh, &pairs_of(&loaded.mesh)).unwrap() == merge(&mesh, &pairs).unwrap());
    }
}

/// Files of Gmsh (`tests/cgns/make_periodic.py`), in which the curves and points of sides have connections of their own.
#[test]
fn periodic_files_of_gmsh_have_its_pairs() {
    let file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cgns").join(name);
    for (name, expected) in [
        ("periodic_box", vec![pair("xmin", "xmax"), pair("ymin", "ymax")]),
        ("periodic_sector", vec![pair("low", "high")]),
        ("periodic_plane", vec![pair("left", "right")]),
    ] {
        let mesh = load(&file(&format!("{name}.cgns.xz")), &ReadOptions::default()).unwrap().mesh;
        let mut pairs = pairs_of(&mesh);
        for p in &mut pairs {
            p.sort();
        }
        let expected: Vec<Pair> = expected
            .into_iter()
            .map(|mut p| {
                p.sort();
                p
            })
            .collect();
        pairs.sort();
        assert_eq!(pairs, expected, "{name}");
        let (merged, images) = merge(&mesh, &pairs_of(&mesh)).unwrap();
        assert_eq!(merged.periods.steps().len() + usize::from(images.turned.is_some()), expected.len());
    }
}

/// What a connection says.
struct Said<'a> {
    name: &'a str,
    donor: &'a str,
    location: &'a str,
    lists: [Vec<i64>; 2],
    /// Angles and translation, and whether angles are in degrees.
    moved: Option<([f64; 3], [f64; 3], bool)>,
}

fn connection<'a>(said: &Said<'_>) -> Group<'a> {
    let mut all = text(said.name, "GridConnectivity_t", said.donor);
    put(&mut all, "Type", text("Type", "GridConnectivityType_t", "Abutting1to1"));
    put(&mut all, "GridLocation", text("GridLocation", "GridLocation_t", said.location));
    for (name, list) in ["PointList", "PointListDonor"].into_iter().zip(&said.lists) {
        put(&mut all, name, Width::of(0).ints(name, "IndexArray_t", &[list.len(), 1], list.clone()));
    }
    if let Some((angles, step, degrees)) = said.moved {
        let mut periodic = node("Periodic", "Periodic_t", "MT");
        for (name, values) in [("RotationAngle", angles), ("Translation", step)] {
            let mut array = node(name, "DataArray_t", "R4");
            array.array(" data", Number::F32, &[3], move |out| {
                each(out, values.iter().map(|v| (*v as f32).to_le_bytes()))
            });
            put(&mut periodic, name, array);
        }
        if degrees {
            let words = ["Kilogram", "Meter", "Second", "Kelvin", "Degree"].map(|word| format!("{word:32}"));
            put(&mut periodic, "Units", text("Units", "DimensionalUnits_t", &words.concat()));
        }
        let mut property = node("Property", "GridConnectivityProperty_t", "MT");
        put(&mut property, "Periodic", periodic);
        put(&mut all, "Property", property);
    }
    all
}

/// Reads a file of zones `Zone1`, `Zone2` and so on, each a mesh and its connections.
fn read(zones: &[(Mesh, Vec<Said<'_>>)]) -> Result<Loaded, MeshError> {
    let mut top = base(3);
    let names: Vec<String> = (1..=zones.len()).map(|n| format!("Zone{n}")).collect();
    let taken: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut markers: Vec<&str> =
        zones.iter().flat_map(|z| z.0.markers.iter().map(|m| m.name.as_str())).collect();
    markers.sort_unstable();
    markers.dedup();
    families(&mut top, markers.iter().map(|m| (*m, None)), &taken);
    for (name, (mesh, said)) in names.iter().zip(zones) {
        let own: Vec<String> = mesh.markers.iter().map(|m| m.name.clone()).collect();
        let mut zone = zone(mesh, &[], &own);
        zone.attributes[0].1 = Attribute::Text(name.clone(), 33);
        let mut connectivity = node("Connectivity", "ZoneGridConnectivity_t", "MT");
        for said in said {
            put(&mut connectivity, said.name, connection(said));
        }
        put(&mut zone, "Connectivity", connectivity);
        put(&mut top, name, zone);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cgns");
    save(&path, &root(top)).unwrap();
    load(&path, &ReadOptions::default())
}

/// Points of a box whose coordinate along an axis is this, from 1, by their other coordinates.
fn points(mesh: &Mesh, axis: usize, value: f64) -> Vec<i64> {
    (1..).zip(&mesh.nodes).filter(|(_, x)| (x[axis] - value).abs() < 1e-12).map(|(n, _)| n).collect()
}

/// Numbers of the faces of a marker in the file.
fn faces(mesh: &Mesh, marker: &str) -> Vec<i64> {
    let count = |m: &Marker| (m.triangles.len() + m.quads.len()) as i64;
    let place = mesh.markers.iter().position(|m| m.name == marker).unwrap();
    let first = mesh.elements() as i64 + mesh.markers[..place].iter().map(count).sum::<i64>() + 1;
    (first..first + count(&mesh.markers[place])).collect()
}

/// Both sides without faces in the file, in one marker with all others, and by faces in the place of points; angles in radians and degrees,
/// from the one side or the other: the merged mesh is always that of the pair that a case names.
#[test]
fn sides_are_joined_however_they_are_named() {
    let flat = made(Cells::Hexes, false);
    let turned = made(Cells::Hexes, true);
    let lists = [points(&flat, 1, 0.0), points(&flat, 1, 1.0)];
    let moves = [
        (&flat, ([0.0; 3], [0.0, 1.0, 0.0], false)),
        (&flat, ([0.0; 3], [0.0, -1.0, 0.0], false)),
        (&turned, ([0.0, 0.0, 40_f64.to_radians()], [0.0; 3], false)),
        (&turned, ([0.0, 0.0, 40.0], [0.0; 3], true)),
        (&turned, ([0.0; 3], [0.0; 3], false)),
    ];
    for (mesh, moved) in moves {
        let (expected, _) = merge(mesh, &[pair("ymin", "ymax")]).unwrap();
        let both = || [("low", [lists[0].clone(), lists[1].clone()], moved)];
        let back = || {
            let (angles, step, degrees) = moved;
            let moved = (angles.map(|v| -v), step.map(|v| -v), degrees);
            ("high", [lists[1].clone(), lists[0].clone()], moved)
        };
        let said = |(name, lists, moved)| Said {
            name,
            donor: "Zone1",
            location: "Vertex",
            lists,
            moved: Some(moved),
        };
        // One way, both ways; the sides have markers, no faces, or one marker with all others.
        for ways in 1..=2 {
            let connections = || both().into_iter().chain((ways == 2).then(back)).map(said).collect();
            let loaded = read(&[(mesh.clone(), connections())]).unwrap();
            assert_eq!(pairs_of(&loaded.mesh), [pair("ymin", "ymax")]);
            assert!(merge(&loaded.mesh, &pairs_of(&loaded.mesh)).unwrap().0 == expected);

            let mut open = mesh.clone();
            open.markers.retain(|m| !m.name.starts_with('y'));
            let other = if ways == 2 { "high" } else { "low_donor" };
            let loaded = read(&[(open, connections())]).unwrap();
            assert!(loaded.report.is_clean(), "{}", loaded.report);
            assert_eq!(pairs_of(&loaded.mesh), [pair("low", other)]);
            let merged = merge(&loaded.mesh, &pairs_of(&loaded.mesh)).unwrap().0;
            assert!(merged == expected);

            let mut one = mesh.clone();
            let quads = one.markers.iter().flat_map(|m| m.quads.clone()).collect();
            one.markers = vec![Marker { name: "skin".into(), quads, ..Marker::default() }];
            let loaded = read(&[(one, connections())]).unwrap();
            assert_eq!(pairs_of(&loaded.mesh), [pair("low", other)]);
            let left = loaded.mesh.marker("skin").unwrap();
            assert_eq!((left.quads.len(), &left.partner), (2 * (4 * 4 + 4 * 3), &None));
            let merged = merge(&loaded.mesh, &pairs_of(&loaded.mesh)).unwrap().0;
            assert!((&merged.nodes, &merged.hexes) == (&expected.nodes, &expected.hexes));
        }
        let lists = [faces(mesh, "ymin"), faces(mesh, "ymax")];
        let by_faces =
            Said { name: "low", donor: "Zone1", location: "FaceCenter", lists, moved: Some(moved) };
        let loaded = read(&[(mesh.clone(), vec![by_faces])]).unwrap();
        assert!(merge(&loaded.mesh, &pairs_of(&loaded.mesh)).unwrap().0 == expected);
    }
}

/// A box in two zones that meet at x = 1, by points without faces or by faces of a condition that both have, periodic within each along y and from the one to the other
/// along x: the box in one piece.
#[test]
fn zones_are_joined_and_periodic_with_one_another() {
    let half = |first: f64| {
        let mut mesh = box_mesh([3, 4, 3], [1.0; 3], Cells::Hexes, 0.0);
        mesh.nodes.iter_mut().for_each(|x| x[0] += first);
        mesh
    };
    let (left, right) = (half(0.0), half(1.0));
    let whole = box_mesh([6, 4, 3], [2.0, 1.0, 1.0], Cells::Hexes, 0.0);
    let said = |name, donor, location, lists, step: Option<[f64; 3]>| Said {
        name,
        donor,
        location,
        lists,
        moved: step.map(|step| ([0.0; 3], step, false)),
    };
    for location in ["Vertex", "FaceCenter"] {
        let list = |mesh: &Mesh, marker: &str, axis, value| {
            if location == "Vertex" { points(mesh, axis, value) } else { faces(mesh, marker) }
        };
        let seam = [list(&left, "xmax", 0, 1.0), list(&right, "xmin", 0, 1.0)];
        let ends = [list(&right, "xmax", 0, 2.0), list(&left, "xmin", 0, 0.0)];
        let across = |mesh: &Mesh| [list(mesh, "ymin", 1, 0.0), list(mesh, "ymax", 1, 1.0)];
        let mut zones = [
            (
                left.clone(),
                vec![
                    said("seam", "Zone2", location, seam, None),
                    said("across", "Zone1", location, across(&left), Some([0.0, 1.0, 0.0])),
                ],
            ),
            (
                right.clone(),
                vec![
                    said("around", "Base/Zone1", location, ends, Some([-2.0, 0.0, 0.0])),
                    said("across", "Zone2", location, across(&right), Some([0.0, 1.0, 0.0])),
                ],
            ),
        ];
        for (zone, side) in [(0, "xmax"), (1, "xmin")] {
            let markers = &mut zones[zone].0.markers;
            if location == "Vertex" {
                markers.retain(|m| m.name != side);
            } else {
                markers.iter_mut().filter(|m| m.name == side).for_each(|m| m.name = "seam".to_owned());
            }
        }
        let loaded = read(&zones).unwrap();
        assert!(loaded.report.is_clean(), "{}", loaded.report);
        let pairs = pairs_of(&loaded.mesh);
        assert_eq!(pairs, [pair("xmin", "xmax"), pair("ymin", "ymax")]);
        let (merged, _) = merge(&loaded.mesh, &pairs).unwrap();
        let (expected, _) = merge(&whole, &pairs).unwrap();
        assert_eq!((merged.nodes.len(), merged.hexes.len()), (expected.nodes.len(), expected.hexes.len()));
        assert_eq!(merged.markers.len(), expected.markers.len());
    }
}

/// Every list that does not fit says where, what and how it is mended.
#[test]
fn lists_that_do_not_fit_are_told() {
    let mesh = made(Cells::Hexes, false);
    let lists = || [points(&mesh, 1, 0.0), points(&mesh, 1, 1.0)];
    let step = Some(([0.0; 3], [0.0, 1.0, 0.0], false));
    let told = |said: Said<'_>| read(&[(mesh.clone(), vec![said])]).map(|_| ()).unwrap_err().to_string();
    let good = || Said { name: "low", donor: "Zone1", location: "Vertex", lists: lists(), moved: step };
    let mut short = lists();
    short[1].pop();
    let mut beyond = lists();
    beyond[0][3] = 101;
    let mut swapped = lists();
    swapped[1].swap(2, 9);
    let mut part = lists();
    for list in &mut part {
        list.truncate(5);
    }
    let twisted = Some(([0.0, 0.0, 40.0], [0.0, 1.0, 0.0], false));
    for (said, words) in [
        (Said { lists: short, ..good() }, "its lists have 20 and 19 points"),
        (Said { lists: beyond, ..good() }, "point 101 of zone \"Zone1\", which has points 1 to 100"),
        (Said { lists: swapped, ..good() }, "both lists name points and their images in one order"),
        (Said { moved: twisted, ..good() }, "angles are radians where no DimensionalUnits say degrees"),
        (Said { moved: None, ..good() }, "sides that are images of one another need a Periodic_t"),
        (Said { lists: part, ..good() }, "they must hold all points of a side"),
        (Said { donor: "Zone7", ..good() }, "its donor \"Zone7\" is no zone (the zones are Zone1)"),
        (Said { location: "CellCenter", ..good() }, "only Abutting1to1 at Vertex, FaceCenter or EdgeCenter"),
        (Said { location: "FaceCenter", ..good() }, "is no face of zone \"Zone1\""),
    ] {
        let error = told(said);
        assert!(error.contains(words) && error.contains("low") || error.contains("PointList"), "{error}");
        assert!(error.contains(words), "{error}");
    }
}
