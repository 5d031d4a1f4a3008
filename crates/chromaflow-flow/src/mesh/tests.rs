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
        ("mesh3d/oneram6_sharpTE_gmsh_100k.su2.xz", 99_972, [568_022, 0, 0, 0], None),
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
