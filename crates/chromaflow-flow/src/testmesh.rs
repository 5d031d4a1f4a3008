//! A small mesh of all four element types for tests.

use crate::mesh::{Marker, Mesh};
use std::collections::HashMap;

/// The unit cube of n x n x n cells: hexahedra, columns of prisms, and cells cut from their centers into pyramids and, where
/// two such cells meet, tetrahedra. Interior nodes are moved by up to `jitter` cell widths. Boundary faces lie on the
/// markers `x0 x1 y0 y1 z0 z1`.
pub fn mixed_cube(n: usize, jitter: f64) -> Mesh {
    let id = |i: usize, j: usize, k: usize| ((k * (n + 1) + j) * (n + 1) + i) as u32;
    let mut mesh = Mesh::default();
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    for k in 0..=n {
        for j in 0..=n {
            for i in 0..=n {
                mesh.nodes.push([i, j, k].map(|a| {
                    let moved = if a == 0 || a == n { 0.0 } else { 2.0 * jitter * random() };
                    (a as f64 + moved) / n as f64
                }));
            }
        }
    }
    // 0 hexahedron, 1 prism, 2 cut from the center.
    let kind = |i: usize, j: usize| (i / 2 + j / 2) % 3;
    for k in 0..n {
        for j in 0..n {
            for i in 0..n {
                let v = [
                    id(i, j, k),
                    id(i + 1, j, k),
                    id(i + 1, j + 1, k),
                    id(i, j + 1, k),
                    id(i, j, k + 1),
                    id(i + 1, j, k + 1),
                    id(i + 1, j + 1, k + 1),
                    id(i, j + 1, k + 1),
                ];
                match kind(i, j) {
                    0 => mesh.hexes.push(v),
                    1 => {
                        mesh.prisms.push([v[0], v[1], v[2], v[4], v[5], v[6]]);
                        mesh.prisms.push([v[0], v[2], v[3], v[4], v[6], v[7]]);
                    }
                    _ => {
                        let center = mesh.nodes.len() as u32;
                        let mut x = [0.0; 3];
                        for &a in &v {
                            for d in 0..3 {
                                x[d] += mesh.nodes[a as usize][d] / 8.0;
                            }
                        }
                        mesh.nodes.push(x);
                        // Faces counterclockwise seen from the center, with the neighbor across each.
                        let side = |di: isize, dj: isize| {
                            let (p, q) = (i as isize + di, j as isize + dj);
                            (0..n as isize).contains(&p)
                                && (0..n as isize).contains(&q)
                                && kind(p as usize, q as usize) == 2
                        };
                        let faces = [
                            ([0, 1, 2, 3], true),
                            ([4, 7, 6, 5], true),
                            ([0, 4, 5, 1], side(0, -1)),
                            ([1, 5, 6, 2], side(1, 0)),
                            ([2, 6, 7, 3], side(0, 1)),
                            ([3, 7, 4, 0], side(-1, 0)),
                        ];
                        for (f, cut) in faces {
                            let q = f.map(|a: usize| v[a]);
                            if cut {
                                // Along the diagonal from the lowest node, so that neighbors agree.
                                let low = (0..4).min_by_key(|&a| q[a]).expect("four nodes");
                                let r = [0, 1, 2, 3].map(|a| q[(low + a) % 4]);
                                mesh.tets.push([r[0], r[1], r[2], center]);
                                mesh.tets.push([r[0], r[2], r[3], center]);
                            } else {
                                mesh.pyramids.push([q[0], q[1], q[2], q[3], center]);
                            }
                        }
                    }
                }
            }
        }
    }
    mesh.markers = boundary(&mesh);
    mesh
}

/// Faces that belong to one element only, sorted onto the six sides of the unit cube.
fn boundary(mesh: &Mesh) -> Vec<Marker> {
    let mut faces: HashMap<Vec<u32>, Option<Vec<u32>>> = HashMap::new();
    for (kind, nodes) in crate::dual::elements(mesh) {
        for face in kind.faces() {
            let face: Vec<u32> = face.iter().map(|&i| nodes[i]).collect();
            let mut key = face.clone();
            key.sort_unstable();
            faces.entry(key).and_modify(|f| *f = None).or_insert(Some(face));
        }
    }
    let mut sides: Vec<Vec<u32>> = faces.into_values().flatten().collect();
    sides.sort_unstable();
    ["x0", "x1", "y0", "y1", "z0", "z1"]
        .iter()
        .enumerate()
        .map(|(s, name)| {
            let (axis, at) = (s / 2, (s % 2) as f64);
            let mut marker = Marker { name: (*name).to_owned(), ..Marker::default() };
            for face in &sides {
                if face.iter().all(|&i| (mesh.nodes[i as usize][axis] - at).abs() < 1e-12) {
                    match *face.as_slice() {
                        [a, b, c] => marker.triangles.push([a, b, c]),
                        [a, b, c, d] => marker.quads.push([a, b, c, d]),
                        _ => unreachable!("faces have three or four nodes"),
                    }
                }
            }
            marker
        })
        .collect()
}
