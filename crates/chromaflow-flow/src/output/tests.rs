use super::*;
use crate::mesh::generate::Airfoil;
use crate::mesh::{Marker, Mesh};

/// One element of each kind, not connected; a marker with a triangle and a quadrilateral.
fn mesh() -> Mesh {
    let hex: Vec<[f64; 3]> = [
        [0., 0., 0.],
        [1., 0., 0.],
        [1., 1., 0.],
        [0., 1., 0.],
        [0., 0., 1.],
        [1., 0., 1.],
        [1., 1., 1.],
        [0., 1., 1.],
    ]
    .into();
    Mesh {
        nodes: hex,
        tets: vec![[0, 1, 2, 5]],
        pyramids: vec![[0, 1, 2, 3, 6]],
        prisms: vec![[0, 1, 2, 4, 5, 6]],
        hexes: vec![[0, 1, 2, 3, 4, 5, 6, 7]],
        markers: vec![
            Marker { name: "wall".into(), quads: vec![[0, 3, 2, 1]], ..Marker::default() },
            Marker { name: "top".into(), triangles: vec![[4, 5, 6], [4, 6, 7]], ..Marker::default() },
        ],
        ..Mesh::default()
    }
}

fn field(mesh: &Mesh) -> Field {
    Field::scalar("p", mesh.nodes.iter().map(|x| x[0] + 10.0 * x[1] + 100.0 * x[2]).collect())
}

fn restart(mesh: &Mesh) -> Restart {
    let q = (0..mesh.nodes.len() * 5).map(|i| (i as f64).sqrt()).collect();
    let facts = [("iteration".to_owned(), 12.0), ("cfl".to_owned(), 0.1 + 0.2)].into();
    Restart { facts, fields: vec![field(mesh), Field::vector("q", 5, q)] }
}

#[test]
fn a_restart_reads_back_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.safetensors");
    let mesh = mesh();
    restart(&mesh).write(&path, &mesh).unwrap();
    assert_eq!(Restart::read(&path, &mesh).unwrap(), restart(&mesh));
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary file is left");
}

#[test]
fn a_restart_survives_a_changed_node_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.safetensors");
    let mut mesh = mesh();
    restart(&mesh).write(&path, &mesh).unwrap();
    let before = fingerprint(&mesh.nodes);
    mesh.nodes.reverse();
    assert_eq!(fingerprint(&mesh.nodes), before);
    let back = Restart::read(&path, &mesh).unwrap();
    assert_eq!(back.field("p").unwrap(), &field(&mesh), "the field is a function of the place");
    assert_eq!(back.field("q").unwrap().values[..5], restart(&mesh).fields[1].values[35..]);
}

#[test]
fn another_mesh_and_broken_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.safetensors");
    let mesh = mesh();
    restart(&mesh).write(&path, &mesh).unwrap();
    let mut moved = mesh.clone();
    moved.nodes[3][2] += 1e-9;
    let error = Restart::read(&path, &moved).unwrap_err();
    assert!(matches!(error, RestartError::OtherMesh { .. }), "{error}");
    assert_ne!(fingerprint(&mesh.nodes), fingerprint(&moved.nodes));
    moved.nodes.pop();
    assert!(Restart::read(&path, &moved).unwrap_err().to_string().contains("it has 8 nodes, the mesh 7"));
    moved.nodes.pop();
    moved.planar = Some(crate::mesh::Planar { nodes_2d: 3, depth: 1.0 });
    assert!(Restart::read(&path, &moved).unwrap_err().to_string().contains("it has 4 nodes, the mesh 3"));
    let whole = std::fs::read(&path).unwrap();
    for cut in (0..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let error = Restart::read(&path, &mesh).unwrap_err();
        assert!(matches!(error, RestartError::Format { .. }), "cut at {cut}: {error}");
    }
    for at in 0..whole.len().min(400) {
        let mut corrupt = whole.clone();
        corrupt[at] ^= 0xFF;
        std::fs::write(&path, &corrupt).unwrap();
        let _ = Restart::read(&path, &mesh); // an error or not, but no panic and no huge allocation
    }
}

#[test]
fn a_plane_cuts_walls_where_it_should() {
    let mesh = mesh();
    let values = field(&mesh).values;
    let curves = wall_cut(&mesh, |m| m == "top", &values, (1, 0.25), 2);
    // the triangle edges 4-6, 4-7, 5-6 cross y = 0.25; p = x + 10 y + 100 z
    let [curve] = &curves[..] else { panic!("one line across the top: {curves:?}") };
    assert_eq!((curve.marker.as_str(), curve.points.len()), ("top", 3));
    for p in &curve.points {
        assert_eq!(p.position[1], 0.25);
        assert!((p.value - (p.position[0] + 2.5 + 100.0)).abs() < 1e-12);
    }
    assert_eq!(curve.side, -1, "out of the flow is up: the lower side of a body");
    assert_eq!(curve.points.iter().map(|p| p.position[0]).collect::<Vec<_>>(), [0.0, 0.25, 1.0]);
    assert_eq!(wall_cut(&mesh, |m| m == "wall", &values, (1, 0.25), 2)[0].side, 1);
    assert!(wall_cut(&mesh, |m| m == "top", &values, (1, 2.0), 2).is_empty());
}

#[test]
fn a_section_of_an_airfoil_is_two_connected_curves() {
    let airfoil = Airfoil { cells: [32, 6], radius: 10.0, growth: 1.4, triangles: false };
    let mesh = airfoil.mesh();
    let height: Vec<f64> = mesh.nodes.iter().map(|x| x[1]).collect();
    let planar = wall_points(&mesh, |m| m == "airfoil", &height, 1);
    let cut = wall_cut(&mesh, |m| m == "airfoil", &height, (2, 0.5), 1);
    for curves in [&planar, &cut] {
        let [upper, lower] = &curves[..] else { panic!("an upper and a lower side: {}", curves.len()) };
        assert_eq!((upper.side, lower.side), (1, -1));
        for (curve, sign) in [(upper, 1.0), (lower, -1.0)] {
            assert_eq!(curve.points.len(), 17, "from the leading to the trailing edge");
            assert!(curve.points.windows(2).all(|p| p[0].position[0] < p[1].position[0]), "in order");
            assert!(curve.points.iter().all(|p| sign * p.value >= 0.0 && p.value == p.position[1]));
        }
    }
}
