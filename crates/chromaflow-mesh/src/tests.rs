//! Meshes of the data set against their known counts.
use super::*;
use crate::generate::{Cells, box_mesh};
use chromaflow_testkit::data;

#[test]
fn data_set_su2() {
    // name, nodes, tets, pyramids, prisms, hexes, volume
    let known = [
        ("mesh3d/brick_prism.su2.xz", 16_800, [0, 0, 29_640, 0], Some(2.0)),
        ("mesh3d/brick_pyra.su2.xz", 14_030, [71_884, 741, 0, 0], Some(2.0)),
        ("mesh3d/bumpbox_all4types_gmsh_36k.su2.xz", 35_780, [21_948, 600, 30_844, 13_200], None),
        ("mesh3d/oneram6_sharpTE_gmsh_15k.su2.xz", 14_872, [79_627, 0, 0, 0], None),
        ("mesh2d/naca0012_inv.su2.xz", 2 * 5_233, [0, 0, 10_216, 0], None),
        ("mesh2d/channel_bump_256x128.su2.xz", 2 * 32_768, [0, 0, 0, 32_385], None),
    ];
    for (name, nodes, counts, total) in known {
        let Some(path) = data(name) else { continue };
        let loaded = load(&path, &ReadOptions::default()).unwrap();
        let mesh = &loaded.mesh;
        if name.contains("bumpbox") {
            // Eleven of its tetrahedra lie folded over their neighbors, two of them exactly.
            assert_eq!(loaded.report.count(Defect::NegativeVolume), 11);
            assert_eq!(loaded.report.count(Defect::DuplicateElement), 2);
            assert!(matches!(read(&path, &ReadOptions::default()), Err(MeshError::Broken { .. })));
            let loaded = load(&path, &ReadOptions { allow_tangled: true, ..ReadOptions::default() }).unwrap();
            assert!(loaded.report.is_clean(), "{}", loaded.report);
            continue;
        }
        assert!(loaded.report.is_clean(), "{name}: {}", loaded.report);
        assert_eq!(mesh.nodes.len(), nodes, "{name}");
        assert_eq!(Kind::ALL.map(|k| mesh.count(k)), counts, "{name}");
        assert!(check(mesh, None).is_clean(), "{name}");
        let mut sum = 0.0;
        mesh.each_element(|kind, _, e| {
            let p: Vec<_> = e.iter().map(|&i| mesh.nodes[i as usize]).collect();
            sum += volume(kind, &p);
        });
        if let Some(total) = total {
            assert!((sum - total).abs() < 1e-10, "{name}: {sum}");
        }
        eprintln!("{name}: volume {sum}, flipped {:?}", loaded.flipped);
    }
}

#[test]
fn data_set_binary() {
    let known = [
        ("mesh3d/cigar001-surf01.lb8.ugrid.xz", None, 50_280, [38_604, 0, 85_900, 0], 8),
        (
            "mesh3d/hc_tmr_mixed_tetprism_50k.b8.ugrid.xz",
            Some("mesh3d/hc_tmr.mapbc"),
            49_965,
            [138_600, 0, 46_200, 0],
            3,
        ),
        (
            "mesh3d/hc_tmr_mixed_prismhex_50k.b8.ugrid.xz",
            Some("mesh3d/hc_tmr.mapbc"),
            49_965,
            [0, 0, 8_400, 42_000],
            3,
        ),
        ("mesh3d/om6ste01.meshb.xz", None, 5_474, [29_822, 0, 0, 0], 12),
    ];
    for (name, mapbc, nodes, counts, markers) in known {
        let Some(path) = data(name) else { continue };
        let options = ReadOptions { mapbc: mapbc.and_then(data), ..ReadOptions::default() };
        let loaded = load(&path, &options).unwrap();
        let mesh = &loaded.mesh;
        assert!(loaded.report.is_clean(), "{name}: {}", loaded.report);
        assert_eq!(mesh.nodes.len(), nodes, "{name}");
        assert_eq!(Kind::ALL.map(|k| mesh.count(k)), counts, "{name}");
        assert_eq!(mesh.markers.len(), markers, "{name}");
        assert!(mesh.markers.iter().all(|m| m.code.is_some()), "{name}");
        eprintln!("{name}: flipped {:?}", loaded.flipped);
    }
}

/// Gmsh's two versions, text and binary, by a number before the ending.
fn form(ending: &str, path: &std::path::Path) -> Format {
    match ending.strip_suffix(".msh").and_then(|n| n.parse::<u8>().ok()) {
        Some(n) => Format::Gmsh { legacy: n & 1 > 0, binary: n & 2 > 0 },
        None => Format::of(path).unwrap(),
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    if let Some(path) = data("mesh3d/kfun3d_oneram6_A.msh.xz") {
        let error = load(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("PETSc-FUN3D"), "{error}");
    }
    let error = load(std::path::Path::new("a.foo"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains(".su2"), "{error}");
}

/// The layer of a planar mesh has a thickness of one in any unit, however small its cells are beside that.
#[test]
fn planar_meshes_are_read_in_any_unit() {
    let folder = tempfile::tempdir().unwrap();
    for size in [1e-30, 1e-9, 1.0, 1e9, 1e30] {
        let nodes: Vec<String> = [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]
            .map(|[x, y]: [i32; 2]| format!("{:e} {:e}", size * f64::from(x), size * f64::from(y)))
            .into();
        let text = |last: &str| {
            format!(
                "NDIME= 2\nNELEM= 3\n9 0 1 4 3\n5 1 2 4\n{last}\nNPOIN= 6\n{}\nNMARK= 1\nMARKER_TAG= rim\nMARKER_ELEMS= 6\n\
                 3 0 1\n3 1 2\n3 2 5\n3 5 4\n3 4 3\n3 3 0\n",
                nodes.join("\n")
            )
        };
        let path = folder.path().join("layer.su2");
        std::fs::write(&path, text("5 2 5 4")).unwrap();
        let loaded = load(&path, &ReadOptions::default()).unwrap();
        assert!(loaded.report.is_clean(), "{size}: {}", loaded.report);
        assert_eq!(loaded.mesh.elements(), 3);
        // Nothing of its own area is left of the last one.
        std::fs::write(&path, text("5 0 2 1")).unwrap();
        let flat = load(&path, &ReadOptions::default()).unwrap();
        assert!(flat.report.to_string().contains("zero_volume"), "{size}: {}", flat.report);
    }
}

#[test]
fn round_trips() {
    let folder = tempfile::tempdir().unwrap();
    for name in
        ["mesh3d/brick_pyra.su2.xz", "mesh3d/brick_prism.su2.xz", "mesh2d/flatplate_turb_035x025.su2.xz"]
    {
        let Some(path) = data(name) else { continue };
        let mesh = read(&path, &ReadOptions::default()).unwrap();
        for ending in [
            "su2",
            "ugrid",
            "b8.ugrid",
            "lb8.ugrid",
            "r8.ugrid",
            "lr8.ugrid",
            "lb8l.ugrid",
            "b8.ugrid64",
            "meshb",
            "vtu",
        ] {
            let copy = folder.path().join(format!("a.{ending}"));
            write_as(&copy, &mesh, form(ending, &copy)).unwrap();
            let loaded = load(&copy, &ReadOptions::default()).unwrap();
            assert!(loaded.report.is_clean(), "{name} {ending}: {}", loaded.report);
            let mut back = loaded.mesh;
            if ending == "meshb" {
                back.planar = mesh.planar;
            }
            for (a, b) in back.markers.iter_mut().zip(&mesh.markers) {
                a.code = b.code;
                // Codes and the first node of a face are the file's business.
                a.quads.clone_from(&b.quads);
                a.triangles.clone_from(&b.triangles);
            }
            let same = |a: &[u32], b: &[u32]| {
                let (mut a, mut b) = (a.to_vec(), b.to_vec());
                a.sort_unstable();
                b.sort_unstable();
                a == b
            };
            assert_eq!(back.nodes, mesh.nodes, "{name} {ending}");
            assert_eq!(back.planar, mesh.planar, "{name} {ending}");
            assert_eq!(back.markers, mesh.markers, "{name} {ending}");
            assert_eq!(back.elements(), mesh.elements());
            assert!(
                (0..mesh.elements()).all(|e| same(back.element(e).2, mesh.element(e).2)),
                "{name} {ending}"
            );
        }
    }
}

#[test]
fn info_of_known_meshes() {
    use super::generate::{Cells, box_mesh};
    let cube = box_mesh([3, 4, 5], [1.0, 2.0, 3.0], Cells::Hexes, 0.0);
    let i = info(&cube);
    assert_eq!((i.nodes, i.edges), (120, 3 * 5 * 6 + 4 * 4 * 6 + 4 * 5 * 5));
    assert!((i.volume - 6.0).abs() < 1e-13 && (i.kinds[0].scaled_jacobian.min - 1.0).abs() < 1e-13);
    assert_eq!((i.neighbors.min, i.neighbors.max), (3.0, 6.0));
    assert!((i.markers.iter().map(|m| m.area).sum::<f64>() - 22.0).abs() < 1e-12);
    // A regular tetrahedron on four corners of a cube.
    let p = [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]];
    let best = scaled_jacobian(Kind::Tetrahedron, &p).abs();
    assert!((best - 1.0).abs() < 1e-14, "{best}");
    // Average neighbors as they are known for meshes of the data set.
    for (name, average) in [("mesh3d/brick_pyra.su2.xz", 12.88), ("mesh3d/brick_prism.su2.xz", 7.61)] {
        let Some(path) = data(name) else { continue };
        let i = info(&read(&path, &ReadOptions::default()).unwrap());
        assert!((i.neighbors.mean - average).abs() < 0.006, "{name}: {}", i.neighbors.mean);
    }
}

/// Two tetrahedra on a triangle, as a file.
const PAIR: &str = "NDIME= 3
NELEM= 2
10 0 1 2 3
10 0 1 2 4
NPOIN= 5
0 0 0
1 0 0
0 1 0
0.3 0.3 1
0.3 0.3 -1
NMARK= 1
MARKER_TAG= all
MARKER_ELEMS= 6
5 0 1 3
5 1 2 3
5 2 0 3
5 0 1 4
5 1 2 4
5 2 0 4
";

fn parse(text: &str) -> Result<Mesh, MeshError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.su2");
    std::fs::write(&path, text).unwrap();
    read(&path, &ReadOptions::default())
}

#[test]
fn defects_are_named_with_their_line() {
    let mesh = parse(PAIR).unwrap();
    assert!(check(&mesh, None).is_clean());
    let says = |from: &str, to: &str, words: &[&str]| {
        let error = parse(&PAIR.replacen(from, to, 1)).expect_err(to).to_string();
        for word in words {
            assert!(error.contains(word), "{to:?} gives {error}");
        }
    };
    says("0.3 0.3 -1", "0.3 0.3 0.5", &["negative_volume", "inside out"]);
    says("0.3 0.3 -1", "0.3 0.3 0", &["zero_volume", "line 4", "tetrahedron 1"]);
    says("0.3 0.3 -1", "0.3 nan -1", &["not_finite", "line 10", "node 4"]);
    says("10 0 1 2 4", "10 0 1 2 7", &["wrong_index", "line 4", "node 7 of 5"]);
    says("10 0 1 2 4", "10 0 1 2 2", &["repeated_node", "line 4"]);
    says("10 0 1 2 4", "11 0 1 2 4", &["line 4", "element type 11"]);
    says("10 0 1 2 4", "10 0 1 2", &["line 4", "missing"]);
    says("10 0 1 2 4\n", "", &["line 4", "1 of the 2 lines"]);
    says("MARKER_ELEMS= 6\n5 0 1 3", "MARKER_ELEMS= 5", &["missing_boundary", "0 1 3"]);
    says("5 0 1 3", "5 0 1 2", &["interior_boundary", "line 14", "\"all\""]);
    says("5 0 1 3", "5 3 4 0", &["loose_boundary", "line 14"]);
    says("5 0 1 4", "5 0 1 3", &["double_boundary", "missing_boundary"]);
    says("NELEM= 2\n", "NELEM= 3\n10 2 1 0 3\n", &["duplicate_element"]);
    says("NMARK= 1", "NMARK= 2", &["NMARK= 2", "1 markers"]);
    says("NPOIN", "NPIONS", &["without NPOIN=", "misspelt: NPIONS= in line 5"]);
    says("NDIME= 3", "NDIME= 4", &["line 1", "2 or 3"]);
    says("NDIME= 3", "NZONE= 2\nNDIME= 3", &["zones"]);
    says("5 2 0 4\n", "", &["ends after 5 of the 6"]);
}

/// Gmsh writes the points of its geometry, and a marker for each piece of one.
#[test]
fn unused_nodes_are_dropped_and_markers_of_one_name_are_one() {
    let text = PAIR.replace("NPOIN= 5\n", "NPOIN= 6\n").replace("NMARK= 1", "NMARK= 2");
    let text = text.replace(
        "MARKER_ELEMS= 6\n5 0 1 3\n",
        "MARKER_ELEMS= 1\n5 0 1 3\nMARKER_TAG= all\nMARKER_ELEMS= 5\n",
    );
    let at = text.find("NMARK").unwrap();
    let mesh = parse(&[&text[..at], "9 9 9\n", &text[at..]].concat()).unwrap();
    assert_eq!(mesh, parse(PAIR).unwrap());
}

/// Gmsh's files of second order (a rectangle of 2 by 1, its side y = 0 the floor): the corners are a mesh.
#[test]
fn elements_of_higher_order_are_read_by_their_corners() {
    for name in ["cgns/second_order_hdf5.cgns.xz", "gmsh/second_order_41.msh.xz"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
        let loaded = load(&path, &ReadOptions::default()).unwrap();
        assert!(loaded.report.is_clean(), "{name}: {}", loaded.report);
        assert!(loaded.notes.iter().any(|note| note.contains("higher order")), "{name}: {:?}", loaded.notes);
        let info = info(&loaded.mesh);
        assert!((info.volume - 2.0).abs() < 1e-12, "{name}: {}", info.volume);
        let floor = info.markers.iter().find(|m| m.name == "floor").unwrap();
        assert!((floor.area - 2.0).abs() < 1e-12, "{name}: {}", floor.area);
        // Euler: two triangles for each inner node, one for each of the boundary, less two.
        let (nodes, edges) = (
            loaded.mesh.nodes.len() / 2,
            info.markers.iter().filter(|m| m.code.is_none()).map(|m| m.quads).sum::<usize>(),
        );
        assert_eq!(loaded.mesh.prisms.len(), 2 * (nodes - edges) + edges - 2, "{name}");
    }
}

/// Two quadrilaterals and two triangles that were written side by side: a seam, which is named, and joined where that is asked for.
#[test]
fn pieces_are_joined_at_their_seam() {
    let text = "NDIME= 2\nNELEM= 4\n9 0 1 2 3\n9 3 2 4 5\n5 6 7 8\n5 8 7 9\nNPOIN= 10\n0 0\n1 0\n1 1\n0 1\n1 2\n0 2\n1 0\n2 1\n1 1\n1 2\n\
                NMARK= 1\nMARKER_TAG= all\nMARKER_ELEMS= 6\n3 0 1\n3 3 0\n3 4 5\n3 5 3\n3 6 7\n3 7 9\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seam.su2");
    std::fs::write(&path, text).unwrap();
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("4 x missing_boundary") && error.matches("--merge").count() == 4, "{error}");
    let joined = load(&path, &ReadOptions { merge: true, ..ReadOptions::default() }).unwrap();
    assert!(joined.report.is_clean(), "{}", joined.report);
    assert!(joined.notes[0].starts_with("3 nodes stood"), "{:?}", joined.notes);
    assert_eq!(joined.mesh.planar.unwrap().nodes_2d, 7);
    assert_eq!(info(&joined.mesh).volume, 3.0);
    // Without a twin at each corner it is a marker that is missing.
    let far = text.replace("NPOIN= 10\n0 0\n1 0\n", "NPOIN= 10\n0 0\n0.9 0\n");
    std::fs::write(&path, far).unwrap();
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error.matches("--merge").count(), 2, "{error}");
}

/// A planar mesh is the same one in whichever plane of two axes its file has it, as Gmsh's and VTK's may.
#[test]
fn planar_meshes_lie_in_any_plane_of_two_axes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, place: &dyn Fn(f64, f64) -> String| {
        let points = [(0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (0.0, 0.5), (2.0, 0.0)];
        let nodes: Vec<String> =
            (1..).zip(points).map(|(n, (a, b))| format!("{n} {}", place(a, b))).collect();
        let text = format!(
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n{}\n$EndNodes\n$Elements\n7\n1 3 2 1 1 1 2 3 4\n2 2 2 1 1 2 5 3\n\
             3 1 2 2 2 1 2\n4 1 2 2 2 2 5\n5 1 2 3 3 5 3\n6 1 2 3 3 3 4\n7 1 2 3 3 4 1\n$EndElements\n",
            nodes.join("\n")
        );
        let path = folder.path().join(format!("{name}.msh"));
        std::fs::write(&path, text).unwrap();
        load(&path, &ReadOptions::default()).map(|l| (l.mesh, l.notes)).map_err(|e| e.to_string())
    };
    let (plain, none) = at("xy", &|a, b| format!("{a} {b} 7")).unwrap();
    assert!(none.is_empty());
    for (name, place, said) in [
        (
            "xz",
            &(|a, b| format!("{a} -3 {b}")) as &dyn Fn(f64, f64) -> String,
            "plane y = const: its x and z",
        ),
        ("yz", &|a, b| format!("0.25 {a} {b}"), "plane x = const: its y and z"),
    ] {
        let (mesh, notes) = at(name, place).unwrap();
        assert_eq!((&mesh.nodes, &mesh.hexes, &mesh.prisms), (&plain.nodes, &plain.hexes, &plain.prisms));
        assert!(notes[0].contains(said), "{notes:?}");
    }
    assert!(
        at("bent", &|a, b| format!("{a} {b} {}", a * a)).unwrap_err().contains("z from 0 to 4: a surface")
    );
}

#[test]
fn mirrored_elements_are_turned_over() {
    let mirrored = PAIR.replace("10 0 1 2 4", "10 1 0 2 4").replace("10 0 1 2 3", "10 1 0 2 3");
    assert_eq!(info(&parse(&mirrored).unwrap()).volume, info(&parse(PAIR).unwrap()).volume);
}

/// Files of every format, cut and changed: an error or a mesh, never a panic and never much memory.
/// A planar mesh in a file of meshes in space is one again where its planes are as they were written, and read whole alone.
#[test]
fn planar_meshes_come_back_from_ugrid() {
    use super::generate::Channel;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.b8.ugrid");
    let mesh = Channel { cells: [6, 3], thickness: 0.1, triangles: false }.mesh();
    write_as(&path, &mesh, form("b8.ugrid", &path)).unwrap();
    let (back, notes) = read_with_notes(&path, &ReadOptions::default()).unwrap();
    assert_eq!((back.planar, &back.nodes), (mesh.planar, &mesh.nodes));
    assert!(notes.iter().any(|note| note.contains("a planar mesh")), "{notes:?}");
    let refused = crate::Survey::of(&path, &ReadOptions::default(), 0, 1).unwrap_err().to_string();
    assert!(refused.contains("read it whole"), "{refused}");
    let mut bent = mesh.clone();
    bent.nodes[0][0] += 1e-9;
    let mut named = box_mesh([3, 2, 1], [1.0; 3], Cells::Hexes, 0.0);
    named.markers[0].name = Planar::FRONT.to_owned();
    for other in [bent, named] {
        write_as(&path, &other, form("b8.ugrid", &path)).unwrap();
        assert_eq!(read(&path, &ReadOptions::default()).unwrap().planar, None);
    }
}

#[test]
fn damaged_files_are_survived() {
    use super::generate::{Cells, box_mesh};
    let folder = tempfile::tempdir().unwrap();
    let mesh = box_mesh([2, 2, 2], [1.0; 3], Cells::Mixed, 0.2);
    for ending in [
        "su2",
        "ugrid",
        "b8.ugrid",
        "lb8.ugrid",
        "lr8.ugrid",
        "b8.ugrid64",
        "meshb",
        "0.msh",
        "1.msh",
        "2.msh",
        "3.msh",
        "vtu",
    ] {
        let path = folder.path().join(format!("m.{ending}"));
        write_as(&path, &mesh, form(ending, &path)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let mut seed = 1u64;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % n
        };
        for round in 0..150 {
            let mut bytes = whole.clone();
            if round % 2 == 0 {
                bytes.truncate(random(whole.len()));
            } else {
                for _ in 0..=random(3) {
                    let near = if round % 3 == 0 { 64 } else { bytes.len() };
                    bytes[random(near.min(whole.len()))] = random(256) as u8;
                }
            }
            std::fs::write(&path, &bytes).unwrap();
            let result = load(&path, &ReadOptions::default());
            if round % 2 == 0 && ending.ends_with("ugrid") && bytes.len() + 8 < whole.len() {
                assert!(result.is_err(), "{ending}: {} of {} bytes", bytes.len(), whole.len());
            }
        }
    }
}

/// The bytes of a file, read by ranges on several threads, and read through as those of a packed file are: the same mesh, and everything where it stood.
#[test]
fn a_binary_file_is_read_alike_by_any_number_of_threads() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let mesh = generate::box_mesh([30, 25, 20], [1.0; 3], generate::Cells::Mixed, 0.2);
    for ending in ["lb8.ugrid", "b4.ugrid", "b8l.ugrid"] {
        let path = folder.path().join(format!("box.{ending}"));
        write(&path, &mesh).unwrap();
        let packed = folder.path().join(format!("box.{ending}.gz"));
        let file = std::fs::File::create(&packed).unwrap();
        let mut file = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        file.write_all(&std::fs::read(&path).unwrap()).unwrap();
        file.finish().unwrap();
        let options = |threads| ReadOptions { threads, ..ReadOptions::default() };
        let through = load(&packed, &options(1)).unwrap();
        for threads in [1, 2, 3, 8] {
            let found = load(&path, &options(threads)).unwrap();
            assert!(found.mesh == through.mesh, "{ending}, {threads} threads");
            assert_eq!(found.report.errors(), through.report.errors());
            for (kind, i) in Kind::ALL.into_iter().flat_map(|kind| [0, 1, 77].map(|i| (kind, i))) {
                assert_eq!(found.places.element(kind, i), through.places.element(kind, i));
            }
            for node in [0, 1, mesh.nodes.len() - 1] {
                assert_eq!(found.places.node(node), through.places.node(node));
            }
            assert_eq!(found.places.face(2, 3, 5), through.places.face(2, 3, 5));
        }
        // A node that counts from 0, in the middle of the file.
        let mut bytes = std::fs::read(&path).unwrap();
        let Some(Place::Byte(at)) = through.places.element(Kind::Prism, 1000) else { panic!("no place") };
        bytes[at as usize..at as usize + 8].fill(0);
        std::fs::write(&path, &bytes).unwrap();
        let error = load(&path, &options(3)).unwrap_err().to_string();
        assert!(error.contains(&at.to_string()) && error.contains("nodes count from 1"), "{error}");
    }
}

/// What is wrong with a mesh is said in the same words and order by any number of threads.
#[test]
fn reports_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let mut mesh = generate::box_mesh([24, 20, 16], [1.0; 3], generate::Cells::Mixed, 0.3);
    mesh.tets.extend([mesh.tets[10], mesh.tets[200], mesh.tets[10]]);
    mesh.prisms.push(mesh.prisms[3]);
    mesh.nodes.push([9.0; 3]);
    let flat = mesh.tets[30];
    mesh.nodes[flat[0] as usize] = mesh.nodes[flat[1] as usize];
    mesh.markers[1].triangles.truncate(5);
    let path = folder.path().join("broken.lb8.ugrid");
    write(&path, &mesh).unwrap();
    let said = |threads| {
        let loaded = load(&path, &ReadOptions { threads, ..ReadOptions::default() }).unwrap();
        (loaded.report.to_string(), loaded.flipped)
    };
    let one = said(1);
    assert!(one.0.contains("has the same nodes") && one.0.contains("no element has it"), "{}", one.0);
    for threads in [2, 3, 8] {
        assert_eq!(said(threads), one, "{threads} threads");
    }
}

/// Groups that are not ordinary, as their owners.
fn found(mesh: &Mesh, threads: usize, paired: bool) -> Vec<Vec<(u32, u8)>> {
    let odd = faces::odd(mesh, threads, paired, |group| check::is_ordinary(mesh, group)).faces;
    odd.iter().map(|group| group.iter().map(|half| (half.owner, half.local)).collect()).collect()
}

/// Whatever is wrong with a mesh, faces that are counted in pairs hide nothing of what sorting finds, on any number of threads.
#[test]
fn pairs_of_faces_hide_nothing() {
    let sound = generate::box_mesh([24, 20, 16], [1.0; 3], generate::Cells::Mixed, 0.3);
    type Damage = fn(&mut Mesh);
    let damages: [(&str, Damage); 12] = [
        ("none", |_| ()),
        ("an element is missing", |m| m.tets.truncate(m.tets.len() - 1)),
        ("it is there twice", |m| m.tets.push(m.tets[77])),
        ("three times", |m| m.tets.extend([m.tets[99]; 2])),
        ("inside out", |m| m.tets[50].swap(0, 1)),
        ("a prism inside out", |m| m.prisms[5] = [0, 2, 1, 3, 5, 4].map(|k| m.prisms[5][k])),
        ("a boundary face is missing", |m| {
            for m in &mut m.markers {
                m.triangles.pop();
                m.quads.pop();
            }
        }),
        ("it turns the other way", |m| {
            m.markers.iter_mut().filter_map(|m| m.triangles.first_mut()).for_each(|t| t.reverse());
            m.markers.iter_mut().filter_map(|m| m.quads.first_mut()).for_each(|q| q.reverse());
        }),
        ("a boundary face is there twice", |m| {
            m.markers.iter_mut().for_each(|m| m.quads.extend_from_within(..m.quads.len().min(1)));
        }),
        ("a boundary face between two elements", |m| {
            let [a, b, c, _] = m.tets[m.tets.len() / 2];
            m.markers[3].triangles.push([a, b, c]);
        }),
        ("two boundary faces without an element", |m| {
            m.markers[0].triangles.extend([[0, 7, 900], [7, 0, 900]]);
        }),
        ("a quadrilateral in another order", |m| {
            m.markers.iter_mut().for_each(|m| {
                m.quads.iter_mut().take(1).for_each(|q| q.swap(1, 2));
            });
        }),
    ];
    for (what, damage) in damages {
        let mut mesh = sound.clone();
        damage(&mut mesh);
        let all = found(&mesh, 1, false);
        assert_eq!(all.is_empty(), what == "none", "{what}");
        for threads in [1, 2, 3, 8] {
            assert_eq!(found(&mesh, threads, true), all, "{what}, {threads} threads");
        }
    }
}

/// A folded element is named by its own type and number in meshes of several types, too, on any number of threads.
#[test]
fn folded_elements_of_mixed_meshes_are_named() {
    for kind in Kind::ALL {
        let mut mesh = box_mesh([6, 6, 6], [1.0, 1.0, 1.0], Cells::Mixed, 0.0);
        let last = mesh.count(kind) - 1;
        // On nodes of its own, seen in a mirror.
        let first = mesh.nodes.len() as u32;
        let copies: Vec<_> = mesh.nodes_of(kind, last).iter().map(|&n| mesh.nodes[n as usize]).collect();
        mesh.nodes.extend(copies.iter().map(|[x, y, z]| [*x, *y, -z]));
        let nodes = |k: usize| first + k as u32;
        match kind {
            Kind::Tetrahedron => mesh.tets[last] = std::array::from_fn(nodes),
            Kind::Pyramid => mesh.pyramids[last] = std::array::from_fn(nodes),
            Kind::Prism => mesh.prisms[last] = std::array::from_fn(nodes),
            Kind::Hexahedron => mesh.hexes[last] = std::array::from_fn(nodes),
        }
        for threads in [1, 3] {
            let mut report = Report::default();
            find_folded(&mut report, &mesh, None, threads);
            let found: Vec<_> = report.findings.iter().map(|f| (&f.subject, &f.nodes[..])).collect();
            let expected: Vec<u32> = (0..kind.nodes()).map(nodes).collect();
            assert_eq!(found, [(&Subject::Element(kind, last), &expected[..])]);
        }
    }
}
