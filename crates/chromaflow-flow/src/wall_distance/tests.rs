use super::facet::{Facet, offset};
use super::*;
use crate::mesh::generate::FlatPlate;
use crate::mesh::{ReadOptions, dot, norm, read, sub};

/// Numbers in [-1, 1), the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn point(&mut self, size: f64) -> [f64; 3] {
        std::array::from_fn(|_| size * self.next())
    }
}

/// The nearest place on a triangle by the seven regions of Ericson, 5.1.5: another way than the one under test.
fn by_regions(p: [f64; 3], [a, b, c]: [[f64; 3]; 3]) -> [f64; 3] {
    let along = |from: [f64; 3], x: [f64; 3], s: f64, y: [f64; 3], t: f64| -> [f64; 3] {
        std::array::from_fn(|d| from[d] + s * x[d] + t * y[d])
    };
    let (ab, ac) = (sub(b, a), sub(c, a));
    let (d1, d2) = (dot(ab, sub(p, a)), dot(ac, sub(p, a)));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let (d3, d4) = (dot(ab, sub(p, b)), dot(ac, sub(p, b)));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return along(a, ab, d1 / (d1 - d3), ac, 0.0);
    }
    let (d5, d6) = (dot(ab, sub(p, c)), dot(ac, sub(p, c)));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return along(a, ab, 0.0, ac, d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return along(b, sub(c, b), w, ac, 0.0);
    }
    let sum = va + vb + vc;
    along(a, ab, vb / sum, ac, vc / sum)
}

#[test]
fn facets_against_the_seven_regions() {
    let mut random = Random(1);
    for case in 0..20_000 {
        let corners = [random.point(1.0), random.point(1.0), random.point(1.0)];
        let p = random.point(if case % 2 == 0 { 1.0 } else { 10.0 });
        let found = norm(offset(&corners, &p));
        let expected = norm(sub(by_regions(p, corners), p));
        // Thin triangles cost the regions' barycentric coordinates some digits.
        assert!((found - expected).abs() <= 1e-11 * expected, "case {case}: {found} {expected}");
    }
}

#[test]
fn segments_and_points_are_facets_too() {
    let segment = Facet::segment([[0.0; 3], [2.0, 0.0, 0.0]], 0);
    assert_eq!(offset(&segment.corners, &[1.5, 1.0, 0.0]), [0.0, -1.0, 0.0]);
    assert_eq!(offset(&segment.corners, &[3.0, 0.0, 1.0]), [-1.0, 0.0, -1.0]);
    assert_eq!(offset(&[[1.0; 3]; 3], &[0.0; 3]), [1.0; 3]);
}

/// Distances by the tree against all facets, one after the other, by any team.
fn against_all(mesh: &Mesh, points: &[[f64; 3]]) {
    let walls = WallSurface::new(mesh, |_| true).unwrap();
    let mut facets = Vec::new();
    let mut before = 0;
    for marker in &mesh.markers {
        add_facets(mesh, marker, before, &Repeats::default().images(), &mut facets);
        before += (marker.triangles.len() + marker.quads.len()) as u32;
    }
    let found = walls.nearest_of(points, &Team::new(1));
    assert_eq!(found, walls.nearest_of(points, &Team::new(3)));
    for threads in [2, 8] {
        let team = Team::new(threads);
        assert_eq!(found, WallSurface::with_team(mesh, |_| true, &team).unwrap().nearest_of(points, &team));
    }
    for (p, nearest) in points.iter().zip(&found) {
        assert_eq!(*nearest, walls.nearest(*p));
        let all = facets.iter().map(|f| norm(offset(&f.corners, p))).fold(f64::INFINITY, f64::min);
        let regions =
            facets.iter().map(|f| norm(sub(by_regions(*p, f.corners), *p))).fold(f64::INFINITY, f64::min);
        assert!((nearest.distance - all).abs() <= 1e-14 * all, "{p:?}: {} {all}", nearest.distance);
        assert!((nearest.distance - regions).abs() <= 1e-14 * (1.0 + regions), "{p:?}: {all} {regions}");
        assert!((norm(sub(nearest.place, *p)) - all).abs() <= 1e-15 * (1.0 + all));
        let face = facets.iter().filter(|f| f.face == nearest.face).map(|f| norm(offset(&f.corners, p)));
        assert_eq!(face.fold(f64::INFINITY, f64::min), nearest.distance);
    }
}

#[test]
fn random_triangles() {
    let mut random = Random(2);
    for count in [1, 4, 5, 9, 500] {
        let mut mesh = Mesh::default();
        let mut soup = Marker::default();
        for _ in 0..count {
            let (center, size) = (random.point(1.0), 0.2 * random.next());
            let first = mesh.nodes.len() as u32;
            for _ in 0..3 {
                let corner = random.point(size);
                mesh.nodes.push(std::array::from_fn(|d| center[d] + corner[d]));
            }
            soup.triangles.push([first, first + 1, first + 2]);
        }
        mesh.markers.push(soup);
        let points: Vec<_> = (0..500).map(|i| random.point(if i % 2 == 0 { 1.0 } else { 20.0 })).collect();
        against_all(&mesh, &points);
    }
}

/// A sphere of radius 1 about the origin, of triangles at its poles and quadrilaterals that are not plane.
fn sphere(n: u32) -> Mesh {
    let mut mesh = Mesh { nodes: vec![[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], ..Mesh::default() };
    let mut wall = Marker::default();
    let id = |ring: u32, i: u32| 2 + ring * 2 * n + i % (2 * n);
    for ring in 0..n - 1 {
        for i in 0..2 * n {
            let (theta, phi) = ((ring + 1) as f64, i as f64 + 0.3 * ring as f64);
            let [(st, ct), (sp, cp)] = [theta, phi].map(|a| (a * std::f64::consts::PI / n as f64).sin_cos());
            mesh.nodes.push([st * cp, st * sp, ct]);
            match ring {
                0 => wall.triangles.push([0, id(0, i), id(0, i + 1)]),
                _ => wall.quads.push([id(ring - 1, i), id(ring, i), id(ring, i + 1), id(ring - 1, i + 1)]),
            }
            if ring == n - 2 {
                wall.triangles.push([1, id(ring, i + 1), id(ring, i)]);
            }
        }
    }
    mesh.markers.push(wall);
    mesh
}

#[test]
fn a_sphere() {
    let mesh = sphere(20);
    let mut random = Random(3);
    // The center, which every face is about as near to, and places on corners.
    let mut points: Vec<_> = (0..600).map(|i| random.point([1.0, 1.5, 100.0][i % 3])).collect();
    points.push([0.0; 3]);
    points.extend(&mesh.nodes[..40]);
    against_all(&mesh, &points);
    let walls = WallSurface::new(&mesh, |_| true).unwrap();
    for p in points {
        let exact = (norm(p) - 1.0).abs();
        assert!((walls.nearest(p).distance - exact).abs() < 0.02, "{p:?}");
    }
}

/// The ONERA M6 with its sharp edge and the warped quadrilaterals of its tip; places on, near and far from it.
#[test]
fn a_swept_wing_with_a_sharp_edge() {
    let Some(path) = chromaflow_testkit::data("turbulence/oneram6/om6_coarse.b8.ugrid.xz") else { return };
    let mesh = read(&path, &ReadOptions::default()).unwrap();
    let wing = mesh.markers[0].clone();
    let mut random = Random(4);
    let mut points: Vec<_> = (0..200).map(|i| random.point([1.5, 30.0][i % 2])).collect();
    points.extend(mesh.nodes.iter().step_by(997));
    let wing = Mesh { nodes: mesh.nodes, markers: vec![wing], ..Mesh::default() };
    against_all(&wing, &points);
}

#[test]
fn planar_meshes_measure_in_their_plane() {
    let plate = FlatPlate { cells: [3, 8, 5], height: 0.5, growth: 1.3 }.mesh();
    let walls = WallSurface::new(&plate, |m| m.name == "wall").unwrap();
    let found = walls.nearest_of(&plate.nodes, &Team::new(2));
    for (p, nearest) in plate.nodes.iter().zip(&found) {
        let exact = if p[0] < 0.0 { p[0].hypot(p[1]) } else { p[1] };
        assert!((nearest.distance - exact).abs() <= 1e-15 * exact, "{p:?}: {}", nearest.distance);
        assert_eq!(nearest.place[2], 0.0);
    }
}

#[test]
fn no_wall_is_an_error_with_the_markers() {
    let mut mesh = sphere(3);
    mesh.markers[0].name = "far".to_owned();
    let error = WallSurface::new(&mesh, |_| false).unwrap_err();
    assert!(matches!(&error, FlowError::NoWall { markers } if markers == "far"), "{error}");
    assert!(error.to_string().contains("no_slip"));
}
