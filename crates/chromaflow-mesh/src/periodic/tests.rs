use super::*;
use crate::generate::{Cells, box_mesh};

fn pair(a: &str, b: &str) -> Pair {
    [a.to_owned(), b.to_owned()]
}

/// In a box that repeats along all axes every node of a corner, an edge or a side is one of its images; no marker is left, and the
/// neighbors of a merged node are those around all its images.
#[test]
fn a_box_becomes_a_torus() {
    for kind in [Cells::Hexes, Cells::Prisms, Cells::Tets] {
        let mesh = box_mesh([4, 3, 5], [2.0, 1.0, 3.0], kind, 0.0);
        let pairs = [pair("xmin", "xmax"), pair("ymin", "ymax"), pair("zmin", "zmax")];
        let (merged, images) = merge(&mesh, &pairs).unwrap();
        assert_eq!((merged.nodes.len(), merged.markers.len()), (60, 0));
        assert_eq!(merged.periods.steps(), [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]]);
        let of_corners = |x: &[f64; 3]| (0..3).all(|d| x[d] == 0.0 || x[d] == [2.0, 1.0, 3.0][d]);
        let corners: Vec<u32> =
            (0..mesh.nodes.len()).filter(|&i| of_corners(&mesh.nodes[i])).map(|i| images.merged[i]).collect();
        assert_eq!(corners, [images.merged[0]; 8]);
        if kind == Cells::Hexes {
            let edges = crate::pairs::Pairs::edges(&merged);
            assert_eq!(edges.len(), 3 * 60);
        }
        // The way between the corners of an element is that in the mesh that was given.
        for (whole, cut) in mesh.hexes.iter().zip(&merged.hexes) {
            let places = merged.corners(cut);
            for k in 0..8 {
                let given = sub(mesh.nodes[whole[k] as usize], mesh.nodes[whole[0] as usize]);
                let found = sub(places[k], places[0]);
                assert!((0..3).all(|d| (given[d] - found[d]).abs() < 1e-15), "{given:?} {found:?}");
            }
        }
    }
}

#[test]
fn sides_that_do_not_fit_are_told() {
    let mut mesh = box_mesh([4, 3, 4], [2.0, 1.0, 3.0], Cells::Tets, 0.0);
    let pairs = [pair("xmin", "xmax")];
    assert!(matches!(
        merge(&mesh, &[pair("xmin", "ymax")]),
        Err(PeriodicError::Count { .. } | PeriodicError::Unmatched { .. })
    ));
    assert!(matches!(merge(&mesh, &[pair("xmin", "wall")]), Err(PeriodicError::UnknownMarker { .. })));
    assert!(matches!(merge(&mesh, &[pair("xmin", "xmin")]), Err(PeriodicError::Twice { .. })));
    let coarse = box_mesh([2, 3, 4], [2.0, 1.0, 3.0], Cells::Hexes, 0.0);
    assert!(matches!(merge(&coarse, &pairs), Err(PeriodicError::Coarse { .. })));
    // One node off its place by a tenth of an edge.
    let node = mesh.nodes.iter().position(|x| x[0] == 2.0 && x[1] > 0.1 && x[1] < 0.9 && x[2] > 0.1).unwrap();
    mesh.nodes[node][1] += 0.03;
    let Err(PeriodicError::Unmatched { at, marker, off, .. }) = merge(&mesh, &pairs) else {
        panic!("matched")
    };
    assert_eq!((marker.as_str(), at[0]), ("xmin", 0.0));
    assert!(off > 0.02 && off < 0.04, "{off}");
    // Single precision is no obstacle.
    mesh.nodes[node][1] -= 0.03 - 1e-7;
    merge(&mesh, &pairs).unwrap();
}

/// Gmsh's own files name the partners, in every form of them; the sides match and merge.
#[test]
fn gmsh_says_which_sides_are_periodic() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gmsh");
    for name in ["square_41.msh", "square_22.msh", "square_22_binary.msh.xz", "cube_41_binary.msh.xz"] {
        let path = folder.join(format!("periodic_{name}"));
        let mesh = crate::read(&path, &crate::ReadOptions::default()).unwrap();
        let pairs = pairs_of(&mesh);
        let (merged, images) = merge(&mesh, &pairs).unwrap();
        if mesh.planar.is_some() {
            assert_eq!(pairs, [pair("right", "left")], "{name}");
            assert_eq!(merged.periods.steps().len(), 1);
            assert!((merged.periods.steps()[0][0].abs() - 1.0).abs() < 1e-12);
            assert_eq!(mesh.nodes.len() - merged.nodes.len(), 2 * 3, "{name}");
            assert_eq!(mesh.marker("floor").unwrap().partner, None);
        } else {
            assert_eq!(
                (pairs.len(), merged.periods.steps().len(), merged.markers.len()),
                (3, 3, 0),
                "{name}"
            );
            let corner = |x: &[f64; 3]| x.iter().all(|v| v.abs() < 1e-9 || (v - 1.0).abs() < 1e-9);
            let corners = (0..mesh.nodes.len()).filter(|&i| corner(&mesh.nodes[i]));
            let merged: Vec<u32> = corners.map(|i| images.merged[i]).collect();
            assert_eq!(merged, [merged[0]; 8]);
        }
    }
}

/// A sector of `n`, its sides curved, about an axis that is none of coordinates; `width` cells around.
fn sector(n: usize, width: usize) -> Mesh {
    let mut mesh = box_mesh([3, width, 3], [1.0; 3], Cells::Hexes, 0.0);
    let by =
        Rotation { point: [0.3, -0.2, 0.7], axis: [0.6, 0.0, 0.8], angle: std::f64::consts::TAU / n as f64 };
    for x in &mut mesh.nodes {
        let [r, a, z] = *x;
        let from = [0.3 - 0.8 * (1.0 + r) + 0.6 * z, -0.2 + 0.1 * z * z, 0.7 + 0.6 * (1.0 + r) + 0.8 * z];
        *x = Rotation { angle: by.angle * (a + 0.2 * r * z), ..by }.moved(1, from);
    }
    mesh
}

/// The axis and the angle are found from the sides, whichever comes first; every node of the one side becomes its image.
#[test]
fn turned_sides_are_found_about_any_axis() {
    for n in [2, 3, 5, 36] {
        for width in [1, 4] {
            let mesh = sector(n, width);
            for (from, to, sign) in [("ymin", "ymax", 1.0), ("ymax", "ymin", -1.0)] {
                let (merged, images) = merge(&mesh, &[pair(from, to)]).unwrap();
                assert_eq!(merged.nodes.len(), 4 * width * 4);
                let Turned { rotation, by, on_axis } = images.turned.unwrap();
                assert_eq!((rotation.sectors(), on_axis.len()), (Some(n as u32), 0));
                assert!(n == 2 || rotation.angle * sign > 0.0);
                for (i, &turns) in by.iter().enumerate() {
                    let first = images.first[images.merged[i] as usize] as usize;
                    let image = rotation.moved(i32::from(turns), mesh.nodes[first]);
                    let off = crate::norm(sub(image, mesh.nodes[i]));
                    assert!(off < 1e-13, "{n}, {width}: {off:e}");
                }
                assert_eq!(by.iter().filter(|turns| **turns != 0).count(), 16);
            }
            let found = partner_of(&mesh, mesh.marker("ymax").unwrap(), |_| true);
            assert_eq!(found.map(|m| m.name.as_str()), Some("ymin"));
        }
    }
}

/// Straight sides of half a ring, nodes evenly along them: a translation along the diameter carries one to the other, and a rotation is meant.
#[test]
fn half_a_ring_is_turned() {
    let mut mesh = box_mesh([4, 6, 3], [1.0; 3], Cells::Hexes, 0.0);
    for x in &mut mesh.nodes {
        let (r, angle) = (1.0 + x[0], std::f64::consts::PI * x[1]);
        *x = [r * angle.cos(), r * angle.sin(), x[2]];
    }
    let (merged, images) =
        merge(&mesh, &[pair("ymin", "ymax"), pair("zmin", "zmax")]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(images.turned.unwrap().rotation.sectors(), Some(2));
    assert_eq!(merged.periods.steps(), [[0.0, 0.0, 1.0]]);
}

#[test]
fn rotations_that_do_not_go_together_are_told() {
    // Sides along z are translated across the axis.
    let mut mesh = box_mesh([3, 3, 3], [1.0; 3], Cells::Hexes, 0.0);
    for x in &mut mesh.nodes {
        let angle = 0.3 * x[1];
        *x = [(1.0 + x[0]) * angle.cos(), (1.0 + x[0]) * angle.sin(), x[2]];
    }
    let both = [pair("ymin", "ymax"), pair("zmin", "zmax")];
    let (merged, images) = merge(&mesh, &both).unwrap();
    assert_eq!((merged.periods.steps().len(), merged.nodes.len()), (1, 4 * 3 * 3));
    assert_eq!(images.turned.unwrap().rotation.sectors(), None);
    // From the axis on, 0.3 radians are no part of the circle.
    let mut at_axis = mesh.clone();
    at_axis.nodes.iter_mut().for_each(|x| {
        let r = (x[0] * x[0] + x[1] * x[1]).sqrt();
        (x[0], x[1]) = (x[0] * (r - 1.0) / r, x[1] * (r - 1.0) / r);
    });
    assert!(matches!(merge(&at_axis, &both[..1]), Err(PeriodicError::Axis { .. })));
    // One node off its place.
    let node = mesh.marker("ymin").unwrap().quads[3][0];
    mesh.nodes[node as usize][2] += 0.02;
    let error = merge(&mesh, &both[..1]).unwrap_err();
    assert!(matches!(error, PeriodicError::Unturned { .. }), "{error}");
}
