//! The nearest place on a triangle.

use crate::mesh::{cross, mean, sub};
use crate::real::{Mask, Real};

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
}

/// From the point `p` to the nearest place of the triangle with these corners, a lane a triangle. All is computed relative to `p`, so that
/// what is near is accurate however far both are from the origin.
#[inline(always)]
pub(super) fn offset<T: Real>(corners: &[[T; 3]; 3], p: &[T; 3]) -> [T; 3] {
    let x = [difference(&corners[0], p), difference(&corners[1], p), difference(&corners[2], p)];
    let normal = product(&difference(&x[1], &x[0]), &difference(&x[2], &x[0]));
    let square = inner(&normal, &normal);
    let zero = T::c(0.0);
    // Within all edges the foot of the perpendicular is the nearest. On the outer side of an edge the nearest place lies on an
    // edge that has `p` on its outer side.
    let along = inner(&normal, &x[0]) / square;
    let mut best = [along * normal[0], along * normal[1], along * normal[2]];
    let (flat, mut inside) = (square.le(zero), zero.le(zero));
    for i in 0..3 {
        let (a, b) = (&x[i], &x[(i + 1) % 3]);
        let outside = flat.or(inner(&product(&normal, &difference(b, a)), a).gt(zero));
        let found = on_segment(a, b);
        let nearer = inside.or(inner(&found, &found).lt(inner(&best, &best)));
        best = chosen(outside.and(nearer), &found, &best);
        inside = inside.and(outside.not());
    }
    best
}

/// The place on a segment nearest to the origin.
#[inline(always)]
fn on_segment<T: Real>(a: &[T; 3], b: &[T; 3]) -> [T; 3] {
    let edge = difference(b, a);
    let length = inner(&edge, &edge);
    let t = -inner(a, &edge);
    // From the nearer end, whose coordinates are smaller.
    let first = (t + t).le(length);
    let share = T::select(first, t, t - length) / length;
    let end = chosen(first, a, b);
    let between = [end[0] + share * edge[0], end[1] + share * edge[1], end[2] + share * edge[2]];
    let zero = T::c(0.0);
    chosen(t.le(zero).or(length.le(zero)), a, &chosen(t.ge(length), b, &between))
}

#[inline(always)]
fn chosen<T: Real>(mask: T::Mask, yes: &[T; 3], no: &[T; 3]) -> [T; 3] {
    [T::select(mask, yes[0], no[0]), T::select(mask, yes[1], no[1]), T::select(mask, yes[2], no[2])]
}

/// a - b.
#[inline(always)]
fn difference<T: Real>(a: &[T; 3], b: &[T; 3]) -> [T; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a . b.
#[inline(always)]
pub(super) fn inner<T: Real>(a: &[T; 3], b: &[T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// a x b.
#[inline(always)]
fn product<T: Real>(a: &[T; 3], b: &[T; 3]) -> [T; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
