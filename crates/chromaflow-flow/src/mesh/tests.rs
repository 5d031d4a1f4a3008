//! Meshes of the data set against their known counts.
use super::*;
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

#[test]
fn round_trips() {
    let folder = tempfile::tempdir().unwrap();
    for name in
        ["mesh3d/brick_pyra.su2.xz", "mesh3d/brick_prism.su2.xz", "mesh2d/flatplate_turb_035x025.su2.xz"]
    {
        let Some(path) = data(name) else { continue };
        let mesh = read(&path, &ReadOptions::default()).unwrap();
        for ending in
            ["su2", "ugrid", "b8.ugrid", "lb8.ugrid", "r8.ugrid", "lr8.ugrid", "lb8l.ugrid", "b8.ugrid64"]
        {
            let copy = folder.path().join(format!("a.{ending}"));
            write(&copy, &mesh).unwrap();
            let loaded = load(&copy, &ReadOptions::default()).unwrap();
            assert!(loaded.report.is_clean(), "{name} {ending}: {}", loaded.report);
            let mut back = loaded.mesh;
            if ending != "su2" {
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
            assert_eq!(back.markers, mesh.markers, "{name} {ending}");
            assert_eq!(back.elements(), mesh.elements());
            assert!(
                (0..mesh.elements()).all(|e| same(back.element(e).2, mesh.element(e).2)),
                "{name} {ending}"
            );
        }
    }
}
