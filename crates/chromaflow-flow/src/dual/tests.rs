use super::*;
use crate::mesh::{Kind, Marker};

/// One element with all its faces on one marker.
fn lone(kind: Kind, nodes: Vec<[f64; 3]>) -> Mesh {
    let mut mesh = Mesh { nodes, ..Mesh::default() };
    match kind {
        Kind::Tetrahedron => mesh.tets.push([0, 1, 2, 3]),
        Kind::Pyramid => mesh.pyramids.push([0, 1, 2, 3, 4]),
        Kind::Prism => mesh.prisms.push([0, 1, 2, 3, 4, 5]),
        Kind::Hexahedron => mesh.hexes.push([0, 1, 2, 3, 4, 5, 6, 7]),
    }
    let mut marker = Marker { name: "all".into(), ..Marker::default() };
    for face in kind.faces() {
        let f: Vec<u32> = face.iter().map(|&i| i as u32).collect();
        if let Ok(t) = <[u32; 3]>::try_from(&f[..]) {
            marker.triangles.push(t);
        } else {
            marker.quads.push([f[0], f[1], f[2], f[3]]);
        }
    }
    mesh.markers.push(marker);
    mesh
}

const CUBE: [[f64; 3]; 8] = [
    [0., 0., 0.],
    [1., 0., 0.],
    [1., 1., 0.],
    [0., 1., 0.],
    [0., 0., 1.],
    [1., 0., 1.],
    [1., 1., 1.],
    [0., 1., 1.],
];

fn all_kinds() -> Vec<(Mesh, f64)> {
    let pick = |list: &[usize]| list.iter().map(|&i| CUBE[i]).collect::<Vec<_>>();
    vec![
        (lone(Kind::Tetrahedron, pick(&[0, 1, 3, 4])), 1.0 / 6.0),
        (lone(Kind::Pyramid, pick(&[0, 1, 2, 3, 4])), 1.0 / 3.0),
        (lone(Kind::Prism, pick(&[0, 1, 3, 4, 5, 7])), 0.5),
        (lone(Kind::Hexahedron, CUBE.to_vec()), 1.0),
    ]
}

#[test]
fn volumes_add_up_and_cells_close() {
    for (mesh, volume) in all_kinds() {
        let dual = Dual::new(&mesh);
        assert!((dual.volumes.iter().sum::<f64>() - volume).abs() < 1e-14);
        assert!(dual.volumes.iter().all(|&v| v > 0.0));
        assert!(dual.closure_error() < 1e-14, "{}", dual.closure_error());
        // Areas point from the lower to the higher node.
        for ([a, b], area) in dual.edges.iter().zip(&dual.areas) {
            assert!(dot(*area, sub(mesh.nodes[*b as usize], mesh.nodes[*a as usize])) > 0.0);
        }
    }
    let cube = Dual::new(&all_kinds()[3].0);
    assert!(cube.volumes.iter().all(|v| (v - 0.125).abs() < 1e-15));
    assert!(cube.areas.iter().all(|a| (norm(*a) - 0.25).abs() < 1e-15));
}

#[test]
fn twisted_elements_close_as_well() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    for (mut mesh, _) in all_kinds() {
        for x in &mut mesh.nodes {
            for d in 0..3 {
                x[d] += 0.4 * random();
            }
        }
        let dual = Dual::new(&mesh);
        assert!(dual.closure_error() < 1e-14);
        // Divergence theorem on the element's surface, cut through the face centroids as the dual cuts it.
        let mut volume = 0.0;
        for face in topology::elements(&mesh).next().unwrap().0.faces() {
            let nodes: Vec<u32> = face.iter().map(|&i| i as u32).collect();
            let c = topology::middle(&mesh.corners(&nodes)[..nodes.len()]);
            for i in 0..nodes.len() {
                let (p, q) =
                    (mesh.nodes[nodes[i] as usize], mesh.nodes[nodes[(i + 1) % nodes.len()] as usize]);
                volume += dot(p, cross(q, c)) / 6.0;
            }
        }
        assert!((dual.volumes.iter().sum::<f64>() - volume).abs() < 1e-14);
    }
}

#[test]
fn edges_are_the_upper_triangle_of_the_pattern() {
    for (mesh, _) in all_kinds() {
        let dual = Dual::new(&mesh);
        assert!(dual.edges.is_sorted());
        for row in 0..dual.nodes() {
            for k in dual.pattern.range(row) {
                let col = dual.pattern.col_idx()[k];
                let [a, b] = dual.edges[dual.edge_of[k] as usize];
                assert_eq!([a, b], [col.min(row as u32), col.max(row as u32)]);
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    use crate::mesh::generate::{Cells, box_mesh};
    for mesh in [crate::testmesh::mixed_cube(5, 0.2), box_mesh([30, 25, 20], [1.0; 3], Cells::Mixed, 0.3)] {
        let (edges, one) = (Pairs::edges(&mesh), Dual::new(&mesh));
        for threads in [2, 3, 8] {
            let many = Dual::of_edges(&mesh, &edges, &Team::new(threads));
            assert_eq!((&many.areas, &many.volumes), (&one.areas, &one.volumes));
            assert_eq!((&many.edges, &many.edge_of, &many.patches), (&one.edges, &one.edge_of, &one.patches));
        }
    }
}

/// Areas of edges, gathered around nodes, are to the last bit what pieces add up to that are scattered element by element; volumes are the sums of
/// tetrahedra over them.
#[test]
fn areas_are_sums_over_the_elements_in_their_order() {
    let mut meshes: Vec<Mesh> = all_kinds().into_iter().map(|(mesh, _)| mesh).collect();
    meshes.push(crate::mesh::generate::box_mesh(
        [12, 9, 7],
        [1.0; 3],
        crate::mesh::generate::Cells::Mixed,
        0.4,
    ));
    for mesh in meshes {
        let dual = Dual::new(&mesh);
        let mut areas = vec![[0.0; 3]; dual.edges.len()];
        for (kind, nodes) in topology::elements(&mesh) {
            let mut of_edges = std::collections::BTreeMap::new();
            for piece in topology::pieces(&mesh, kind, nodes) {
                let [a, b] = piece.nodes;
                let sign = if a < b { 1.0 } else { -1.0 };
                let sum = of_edges.entry(dual.edge(a, b).unwrap()).or_insert([0.0; 3]);
                *sum = add(*sum, scale(sign, piece.area));
            }
            for (edge, area) in of_edges {
                areas[edge] = add(areas[edge], area);
            }
        }
        assert_eq!(dual.areas, areas);
        for row in 0..dual.nodes() {
            let cone = |&edge: &u32| {
                let [a, b] = dual.edges[edge as usize];
                dot(areas[edge as usize], mesh.between(a, b)) / 6.0
            };
            let volume: f64 = dual.edge_of[dual.pattern.range(row)].iter().map(cone).sum();
            assert_eq!(dual.volumes[row], volume);
        }
    }
}

/// Where a wall bends by 100 degrees it has no normal; a force is pressure along one, and friction across it.
#[test]
fn forces_part_where_walls_are_smooth() {
    assert_eq!(smooth_normal([0.0, 0.0, -0.95], 1.0), [0.0, 0.0, -1.0]);
    assert_eq!([smooth_normal([0.0, 0.6, 0.0], 1.0), smooth_normal([0.0; 3], 0.0)], [[0.0; 3]; 2]);
    let normal = [0.6, 0.0, 0.8];
    let [along, rest] = along_and_rest([1.0, 2.0, 3.0], normal);
    for (d, x) in [1.8, 0.0, 2.4].into_iter().enumerate() {
        assert!((along[d] - x).abs() < 1e-15 && (along[d] + rest[d] - [1.0, 2.0, 3.0][d]).abs() < 1e-15);
    }
    assert!(dot(rest, normal).abs() < 1e-15);
    assert_eq!(along_and_rest([1.0, 2.0, 3.0], [0.0; 3]), [[0.0; 3], [1.0, 2.0, 3.0]]);
}
