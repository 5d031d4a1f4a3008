//! The nearest place on a triangle.

use crate::mesh::{cross, dot, mean, sub};

/// A triangle of a wall; flat ones (segments, points) are as good as others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facet {
    /// Its corners.
    pub corners: [[f64; 3]; 3],
    /// The boundary face that it is a part of.
    pub face: u32,
}

impl Facet {
    /// A segment.
    pub fn segment([a, b]: [[f64; 3]; 2], face: u32) -> Self {
        Self { corners: [a, b, b], face }
    }

    /// A quadrilateral, plane or not, as four triangles about the mean of its corners.
    pub fn quarters(q: [[f64; 3]; 4], face: u32) -> [Self; 4] {
        let middle = mean(&q);
        [0, 1, 2, 3].map(|i| Self { corners: [q[i], q[(i + 1) % 4], middle], face })
    }

    /// Twice its area vector.
    pub fn normal(&self) -> [f64; 3] {
        let [a, b, c] = self.corners;
        cross(sub(b, a), sub(c, a))
    }

    /// From the point `p` to the nearest place of the triangle. All is computed relative to `p`, so that what is near is
    /// accurate however far both are from the origin.
    pub fn offset(&self, p: [f64; 3]) -> [f64; 3] {
        let x = self.corners.map(|corner| sub(corner, p));
        let normal = cross(sub(x[1], x[0]), sub(x[2], x[0]));
        let square = dot(normal, normal);
        // On the outer side of an edge the nearest place lies on an edge that has `p` on its outer side.
        let outside = |i: usize| {
            let edge = sub(x[(i + 1) % 3], x[i]);
            square == 0.0 || dot(cross(normal, edge), x[i]) > 0.0
        };
        let mut best: Option<[f64; 3]> = None;
        for i in 0..3 {
            if outside(i) {
                let found = on_segment(x[i], x[(i + 1) % 3]);
                if best.is_none_or(|b| dot(found, found) < dot(b, b)) {
                    best = Some(found);
                }
            }
        }
        best.unwrap_or_else(|| {
            let along = dot(normal, x[0]) / square;
            normal.map(|n| along * n)
        })
    }
}

/// The place on a segment nearest to the origin.
fn on_segment(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    let edge = sub(b, a);
    let length = dot(edge, edge);
    let t = -dot(a, edge);
    if t <= 0.0 || length == 0.0 {
        return a;
    }
    if t >= length {
        return b;
    }
    // From the nearer end, whose coordinates are smaller.
    let (end, share) = if t + t <= length { (a, t / length) } else { (b, (t - length) / length) };
    [end[0] + share * edge[0], end[1] + share * edge[1], end[2] + share * edge[2]]
}
