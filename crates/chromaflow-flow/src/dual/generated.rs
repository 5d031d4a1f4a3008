//! Generated and refined meshes are closed.

use super::Dual;
use crate::mesh::generate::{Airfoil, Cells, Channel, Cylinder, FlatPlate, Wing, box_mesh};
use crate::mesh::{Mesh, refine};

/// Volumes are positive, control volumes close (so no boundary face is missing or turned), the total is right.
fn check(mesh: &Mesh, volume: f64, tolerance: f64) {
    let dual = Dual::new(mesh);
    assert!(dual.volumes.iter().all(|&v| v > 0.0));
    let scale = dual.volumes.iter().fold(0.0, |m: f64, &v| m.max(v)).powf(2.0 / 3.0);
    assert!(dual.closure_error() < 1e-12 * scale.max(1.0), "closure {:e}", dual.closure_error());
    let total: f64 = dual.volumes.iter().sum();
    assert!((total - volume).abs() <= tolerance * volume, "volume {total}, expected {volume}");
}

#[test]
fn boxes_fill_their_space() {
    for kind in [Cells::Hexes, Cells::Prisms, Cells::Tets, Cells::Mixed] {
        for jitter in [0.0, 0.4] {
            let mesh = box_mesh([5, 4, 3], [2.0, 1.0, 0.5], kind, jitter);
            check(&mesh, 1.0, 1e-13);
            assert!(mesh.markers.iter().all(|m| m.triangles.len() + m.quads.len() > 0));
            check(&refine(&mesh).unwrap(), 1.0, 1e-13);
        }
    }
    let mixed = box_mesh([5, 4, 3], [2.0, 1.0, 0.5], Cells::Mixed, 0.3);
    assert!(
        [mixed.tets.len(), mixed.pyramids.len(), mixed.prisms.len(), mixed.hexes.len()]
            .iter()
            .all(|&n| n > 0)
    );
}

#[test]
fn planar_shapes_have_their_area() {
    for triangles in [false, true] {
        let pi = std::f64::consts::PI;
        let ring = Cylinder { cells: [240, 20], radius: 10.0, growth: 1.15, triangles }.mesh();
        check(&ring, pi * (100.0 - 0.25), 2e-4);
        let airfoil = Airfoil { cells: [200, 24], radius: 20.0, growth: 1.2, triangles }.mesh();
        check(&airfoil, pi * 400.0, 5e-4);
        let channel = Channel { cells: [60, 20], thickness: 0.1, triangles }.mesh();
        // A circular segment of chord 1 and height 0.1.
        let radius: f64 = 0.26 / 0.2;
        let half = (0.5 / radius).asin();
        let segment = radius * radius * (half - half.sin() * half.cos());
        check(&channel, 3.0 - segment, 1e-4);
        for mesh in [ring, airfoil, channel] {
            let fine = refine(&mesh).unwrap();
            check(&fine, Dual::new(&mesh).volumes.iter().sum(), 1e-12);
            assert_eq!(fine.markers.len(), 4.max(mesh.markers.len()));
        }
    }
    check(&FlatPlate { cells: [10, 20, 24], height: 0.5, growth: 1.2 }.mesh(), 0.75, 1e-13);
}

#[test]
fn a_wing_is_closed_and_has_its_area() {
    let wing = Wing { cells: [64, 12, 12, 6], ..Wing::default() };
    let mesh = wing.mesh();
    let around: f64 = 64.0;
    let section = wing.radius.powi(2) * 0.5 * around * (std::f64::consts::TAU / around).sin();
    check(&mesh, section * wing.radius, 1e-3);
    // The wing's upper side seen from above is its planform, but for the chords of its tip's arc.
    let info = crate::mesh::info(&mesh);
    let area = |name: &str| info.markers.iter().find(|m| m.name == name).unwrap().area;
    assert!((area("wing") / (2.0 * wing.area()) - 1.0).abs() < 0.03, "{}", area("wing"));
    assert!((area("symmetry") / section - 1.0).abs() < 1e-3);
    check(&refine(&mesh).unwrap(), section * wing.radius, 1e-3);
}
