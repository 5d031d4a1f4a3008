//! Values along walls: where a plane cuts them, or all along them on planar meshes.

use crate::mesh::{Marker, Mesh};

/// A point of a wall with the value there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutPoint {
    /// Where.
    pub position: [f64; 3],
    /// The value, linear between nodes.
    pub value: f64,
    /// +1 where the wall's outward side (into the body) looks down the lift axis, that is on the upper side of the
    /// body, -1 on its lower side.
    pub side: i8,
}

fn faces(marker: &Marker) -> impl Iterator<Item = &[u32]> {
    marker.triangles.iter().map(|t| t.as_slice()).chain(marker.quads.iter().map(|q| q.as_slice()))
}

/// Twice the area normal of a face, out of the flow.
fn normal(mesh: &Mesh, face: &[u32]) -> [f64; 3] {
    let p = |i: usize| mesh.nodes[face[i % face.len()] as usize];
    let (a, b) = if face.len() == 3 { ((0, 1), (0, 2)) } else { ((0, 2), (1, 3)) };
    let d = |(i, j): (usize, usize)| std::array::from_fn::<f64, 3, _>(|k| p(j)[k] - p(i)[k]);
    let (u, v) = (d(a), d(b));
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

/// Where the plane `x[axis] = at` cuts the edges of the faces of the markers chosen by `is_wall`; `up` is the lift
/// axis. Points are sorted by side, then by x; an edge between two faces gives one point for each.
pub fn wall_cut(
    mesh: &Mesh,
    is_wall: impl Fn(&str) -> bool,
    values: &[f64],
    (axis, at): (usize, f64),
    up: usize,
) -> Vec<CutPoint> {
    let mut points = Vec::new();
    for marker in mesh.markers.iter().filter(|m| is_wall(&m.name)) {
        for face in faces(marker) {
            let side = if normal(mesh, face)[up] < 0.0 { 1 } else { -1 };
            for i in 0..face.len() {
                // each edge from its lower node, so that neighbors find the very same point
                let (a, b) = (face[i], face[(i + 1) % face.len()]);
                let (a, b) = (a.min(b) as usize, a.max(b) as usize);
                let (p, q) = (mesh.nodes[a], mesh.nodes[b]);
                let (s, t) = (p[axis] - at, q[axis] - at);
                if (s < 0.0) == (t < 0.0) {
                    continue;
                }
                let w = s / (s - t);
                let position = std::array::from_fn(|k| p[k] + w * (q[k] - p[k]));
                points.push(CutPoint { position, value: values[a] + w * (values[b] - values[a]), side });
            }
        }
    }
    sort(&mut points);
    points
}

/// The wall nodes of a planar mesh (of its plane z = 0), sorted by side, then by x.
pub fn wall_points(mesh: &Mesh, is_wall: impl Fn(&str) -> bool, values: &[f64], up: usize) -> Vec<CutPoint> {
    let limit = mesh.planar.map_or(mesh.nodes.len(), |p| p.nodes_2d);
    let mut points = Vec::new();
    for marker in mesh.markers.iter().filter(|m| is_wall(&m.name)) {
        for face in faces(marker) {
            let side = if normal(mesh, face)[up] < 0.0 { 1 } else { -1 };
            let nodes = face.iter().map(|&n| n as usize).filter(|n| *n < limit);
            points.extend(nodes.map(|n| CutPoint { position: mesh.nodes[n], value: values[n], side }));
        }
    }
    sort(&mut points);
    points
}

fn sort(points: &mut Vec<CutPoint>) {
    points.sort_by(|a, b| {
        let key = |p: &CutPoint| p.position;
        b.side.cmp(&a.side).then(key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal))
    });
    points.dedup(); // nodes and edges shared by faces of one side
}
