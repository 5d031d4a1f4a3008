//! Values along walls: where a plane cuts them, or all along them on planar meshes, as connected curves.

use crate::mesh::{Marker, Mesh};
use std::collections::HashMap;

/// A point of a wall with the value there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutPoint {
    /// Where.
    pub position: [f64; 3],
    /// The value, linear between nodes.
    pub value: f64,
}

/// One side of one surface along a section: its points follow one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The marker that it lies on.
    pub marker: String,
    /// +1 where the wall's outward side (into the body) looks down the lift axis, that is on the upper side of the
    /// body, -1 on its lower side.
    pub side: i8,
    /// From one end to the other.
    pub points: Vec<CutPoint>,
}

/// What tells points apart that several faces have: the edge on which they lie, or a node twice.
type Key = [u32; 2];

/// The line that a section makes on one face.
struct Segment {
    ends: [Key; 2],
    /// Normal out of the flow along the lift axis, by the length of the line.
    up: f64,
}

fn faces(marker: &Marker) -> impl Iterator<Item = &[u32]> {
    marker.triangles.iter().map(|t| t.as_slice()).chain(marker.quads.iter().map(|q| q.as_slice()))
}

/// Unit normal of a face, out of the flow.
fn normal(mesh: &Mesh, face: &[u32]) -> [f64; 3] {
    let p = |i: usize| mesh.nodes[face[i % face.len()] as usize];
    let (a, b) = if face.len() == 3 { ((0, 1), (0, 2)) } else { ((0, 2), (1, 3)) };
    let d = |(i, j): (usize, usize)| std::array::from_fn::<f64, 3, _>(|k| p(j)[k] - p(i)[k]);
    let (u, v) = (d(a), d(b));
    let n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let length = n.iter().map(|v| v * v).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    n.map(|v| v / length)
}

/// Where the plane `x[axis] = at` cuts the faces of the markers chosen by `is_wall`; `up` is the lift axis. A closed section,
/// or an open one that turns back, is parted where it is foremost: one curve for its upper side, one for its lower.
pub fn wall_cut(
    mesh: &Mesh,
    is_wall: impl Fn(&str) -> bool,
    values: &[f64],
    (axis, at): (usize, f64),
    up: usize,
) -> Vec<Curve> {
    let along = if axis == 0 { 3 - up } else { 0 };
    let mut curves = Vec::new();
    for marker in mesh.markers.iter().filter(|m| is_wall(&m.name)) {
        let mut chains = Chains::default();
        for face in faces(marker) {
            let mut crossed: Vec<Key> = Vec::new();
            for i in 0..face.len() {
                // each edge from its lower node, so that neighbors find the very same point
                let (a, b) = (face[i], face[(i + 1) % face.len()]);
                let key = [a.min(b), a.max(b)];
                let [a, b] = key.map(|n| n as usize);
                let (p, q) = (mesh.nodes[a], mesh.nodes[b]);
                let (s, t) = (p[axis] - at, q[axis] - at);
                if (s < 0.0) == (t < 0.0) {
                    continue;
                }
                let w = s / (s - t);
                let position = std::array::from_fn(|k| p[k] + w * (q[k] - p[k]));
                chains.point(key, CutPoint { position, value: values[a] + w * (values[b] - values[a]) });
                crossed.push(key);
            }
            let up = normal(mesh, face)[up];
            // A warped quadrilateral may be crossed twice.
            crossed.chunks_exact(2).for_each(|ends| chains.join([ends[0], ends[1]], up));
        }
        curves.extend(chains.curves(&marker.name, along));
    }
    curves
}

/// The walls of a planar mesh, in its plane z = 0; as [`wall_cut`] parts them.
pub fn wall_points(mesh: &Mesh, is_wall: impl Fn(&str) -> bool, values: &[f64], up: usize) -> Vec<Curve> {
    let Some(planar) = mesh.planar else { return Vec::new() };
    let mut curves = Vec::new();
    for marker in mesh.markers.iter().filter(|m| is_wall(&m.name) && !m.is_plane()) {
        let mut chains = Chains::default();
        for face in &marker.quads {
            let nodes = planar.edge(*face);
            for n in nodes {
                let at = n as usize;
                chains.point([n, n], CutPoint { position: mesh.nodes[at], value: values[at] });
            }
            chains.join(nodes.map(|n| [n, n]), normal(mesh, face)[up]);
        }
        curves.extend(chains.curves(&marker.name, 0));
    }
    curves
}

/// Lines that are to be joined at their ends.
#[derive(Default)]
struct Chains {
    number: HashMap<Key, usize>,
    points: Vec<CutPoint>,
    segments: Vec<Segment>,
}

impl Chains {
    fn point(&mut self, key: Key, point: CutPoint) {
        let next = self.points.len();
        if *self.number.entry(key).or_insert(next) == next {
            self.points.push(point);
        }
    }

    /// Adds the line between two points on a face with this normal along the lift axis.
    fn join(&mut self, ends: [Key; 2], normal: f64) {
        let [p, q] = ends.map(|end| self.points[self.number[&end]].position);
        let length = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
        self.segments.push(Segment { ends, up: length * normal });
    }

    /// The curves, upper sides first. `along` is the axis that points downstream.
    fn curves(&self, marker: &str, along: usize) -> Vec<Curve> {
        let ends: Vec<[usize; 2]> = self.segments.iter().map(|s| s.ends.map(|e| self.number[&e])).collect();
        let mut lines_at = vec![Vec::new(); self.points.len()];
        for (line, ends) in ends.iter().enumerate() {
            for &end in ends {
                lines_at[end].push(line);
            }
        }
        let mut used = vec![false; ends.len()];
        let mut curves = Vec::new();
        // Open chains from their ends, then closed ones from their hindmost point.
        let hindmost = |a: &usize, b: &usize| {
            self.points[*b].position[along].total_cmp(&self.points[*a].position[along])
        };
        let mut starts: Vec<usize> = (0..self.points.len()).collect();
        starts.sort_by(hindmost);
        starts.sort_by_key(|&p| lines_at[p].len() != 1);
        for start in starts {
            let (mut at, mut chain, mut ups) = (start, vec![start], Vec::new());
            while let Some(&line) = lines_at[at].iter().find(|&&line| !used[line]) {
                used[line] = true;
                let [a, b] = ends[line];
                at = if a == at { b } else { a };
                chain.push(at);
                ups.push(self.segments[line].up);
            }
            if !ups.is_empty() {
                self.part(marker, along, &chain, &ups, &mut curves);
            }
        }
        curves.sort_by_key(|c| -c.side);
        curves
    }

    /// Parts a chain at its foremost point, if that parts an upper side from a lower one.
    fn part(&self, marker: &str, along: usize, chain: &[usize], ups: &[f64], curves: &mut Vec<Curve>) {
        let x = |i: &usize| self.points[chain[*i]].position[along];
        let front = (0..chain.len()).min_by(|a, b| x(a).total_cmp(&x(b))).unwrap_or(0);
        let side = |ups: &[f64]| if ups.iter().sum::<f64>() < 0.0 { 1 } else { -1 };
        let mut add = |chain: &[usize], side: i8| {
            let mut points: Vec<CutPoint> = chain.iter().map(|&p| self.points[p]).collect();
            points.dedup_by_key(|p| p.position); // a plane through a node crosses all its edges there
            if points.first().map(|p| p.position[along]) > points.last().map(|p| p.position[along]) {
                points.reverse();
            }
            curves.push(Curve { marker: marker.to_owned(), side, points });
        };
        let (before, after) = ups.split_at(front);
        if before.is_empty() || after.is_empty() || side(before) == side(after) {
            add(chain, side(ups));
        } else {
            add(&chain[..=front], side(before));
            add(&chain[front..], side(after));
        }
    }
}
