//! The rotation after which a mesh repeats.

use super::PeriodicError;
use crate::{cross, dot, norm, sub};
use std::f64::consts::TAU;

/// A rotation about an axis, by which one side of a pair is carried to the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rotation {
    /// A place on the axis.
    pub point: [f64; 3],
    /// Unit vector along it.
    pub axis: [f64; 3],
    /// Angle in radians, right-handed about the axis.
    pub angle: f64,
}

/// A vector's components along the axes after a rotation, row by row.
pub type Matrix = [[f64; 3]; 3];

/// m v
#[inline]
pub fn product(m: &Matrix, v: [f64; 3]) -> [f64; 3] {
    m.map(|row| dot(row, v))
}

impl Rotation {
    /// How far 2 pi over the angle may be from a whole number for the sectors to fill the circle.
    const WHOLE: f64 = 1e-3;
    /// Components of an axis that are rounding of the file's numbers, over its length.
    const ROUNDING: f64 = 1e-5;

    /// The rotation that carries the place `c1` to `c2`, and the vector `v1` to `v2`, of two sides that a rotation makes of one another;
    /// none where they say no axis.
    ///
    /// **Formula**: c2 - c1 and v2 - v1 lie across the axis, whose direction is their cross product; the place on it nearest to the middle m
    /// of c1 and c2 is m + axis x (c2 - c1) / (2 tan(angle / 2)).
    pub(crate) fn between([c1, c2]: [[f64; 3]; 2], [v1, v2]: [[f64; 3]; 2]) -> Option<Self> {
        let (apart, change) = (sub(c2, c1), sub(v2, v1));
        let across = cross(apart, change);
        let size = norm(across);
        if size.is_nan() || size <= 1e-6 * norm(apart) * norm(change) || size == 0.0 {
            return None;
        }
        let mut axis = across.map(|v| v / size);
        // Along the coordinate that it is nearest to, so that a pair's two orders name one axis.
        let main = (0..3).fold(0, |best, d| if axis[d].abs() > axis[best].abs() { d } else { best });
        if axis[main] < 0.0 {
            axis = axis.map(|v| -v);
        }
        for v in &mut axis {
            if v.abs() < Self::ROUNDING {
                *v = 0.0;
            }
        }
        let length = norm(axis);
        let axis = axis.map(|v| v / length);
        let flat = |v: [f64; 3]| -> [f64; 3] { std::array::from_fn(|d| v[d] - dot(v, axis) * axis[d]) };
        let (a, b) = (flat(v1), flat(v2));
        let mut angle = dot(cross(a, b), axis).atan2(dot(a, b));
        let sectors = (TAU / angle.abs()).round();
        if sectors >= 2.0 && (TAU / angle.abs() - sectors).abs() < Self::WHOLE * sectors {
            angle = (TAU / sectors).copysign(angle);
        }
        let tangent = (0.5 * angle).tan();
        if angle == 0.0 || !tangent.is_finite() {
            return None;
        }
        let off = cross(axis, apart);
        let middle: [f64; 3] = std::array::from_fn(|d| 0.5 * (c1[d] + c2[d]));
        let mut point: [f64; 3] = std::array::from_fn(|d| middle[d] + 0.5 * off[d] / tangent);
        let reach = norm(sub(middle, point)) + norm(apart);
        // Of all places on the axis the one nearest to the origin.
        let along = dot(point, axis);
        for d in 0..3 {
            point[d] -= along * axis[d];
            if point[d].abs() < Self::ROUNDING * reach {
                point[d] = 0.0;
            }
        }
        Some(Self { point, axis, angle })
    }

    /// How many sectors fill the circle; none where they do not.
    pub fn sectors(&self) -> Option<u32> {
        let ratio = TAU / self.angle.abs();
        ((ratio - ratio.round()).abs() < 1e-9 * ratio).then_some(ratio.round() as u32)
    }

    /// The matrix that turns vectors so many times.
    ///
    /// **Formula**: k k^T + cos(a) (1 - k k^T) + sin(a) \[k\]x, Rodrigues's.
    pub fn matrix(&self, times: i32) -> Matrix {
        let whole = self.sectors().map_or(times, |n| times.rem_euclid(n as i32));
        let (sin, cos) = match self.sectors() {
            // Quarters are exact.
            Some(n) if (4 * whole) % n as i32 == 0 => {
                [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)][(4 * whole / n as i32) as usize]
            }
            Some(n) => (TAU * f64::from(whole) / f64::from(n)).sin_cos(),
            None => (self.angle.abs() * f64::from(times)).sin_cos(),
        };
        let sin = if self.angle < 0.0 { -sin } else { sin };
        let k = self.axis;
        let skew = [[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]];
        std::array::from_fn(|r| {
            std::array::from_fn(|c| {
                let unit = if r == c { 1.0 } else { 0.0 };
                k[r] * k[c] + cos * (unit - k[r] * k[c]) + sin * skew[r][c]
            })
        })
    }

    /// The matrix that leaves of a vector its part along the axis: the mean of all its images.
    pub fn along(&self) -> Matrix {
        std::array::from_fn(|r| std::array::from_fn(|c| self.axis[r] * self.axis[c]))
    }

    /// The image of a place after so many turns.
    pub fn moved(&self, times: i32, x: [f64; 3]) -> [f64; 3] {
        if times == 0 {
            return x;
        }
        let off = product(&self.matrix(times), sub(x, self.point));
        std::array::from_fn(|d| self.point[d] + off[d])
    }

    /// Distance of a place from the axis.
    pub fn radius(&self, x: [f64; 3]) -> f64 {
        norm(cross(self.axis, sub(x, self.point)))
    }

    /// The same rotation the other way.
    #[must_use]
    pub fn back(self) -> Self {
        Self { angle: -self.angle, ..self }
    }

    /// Whether another rotation is this one, at places as far from the axis as `reach`.
    fn is_same(&self, other: &Self, reach: f64) -> bool {
        let apart = (self.angle - other.angle).abs();
        // Half a circle either way is one rotation.
        let off = norm(cross(self.axis, other.axis)) + apart.min((TAU - apart).abs());
        dot(self.axis, other.axis) > 0.0 && off < 1e-4 && self.radius(other.point) < 1e-4 * reach
    }

    /// Whether another rotation, of the `sides` of such names, turns the way of this one, the only one that there may be; else it turns back.
    ///
    /// # Errors
    /// [`PeriodicError::Rotations`] where it is neither, at places as far from the axis as `reach`.
    pub(crate) fn turns_forth(
        &self,
        other: &Self,
        reach: f64,
        sides: impl FnOnce() -> [String; 2],
    ) -> Result<bool, PeriodicError> {
        // Of half a circle both ways are the same; the pair's order says which is which.
        let forth = self.is_same(other, reach);
        if forth || self.is_same(&other.back(), reach) {
            return Ok(forth);
        }
        let (Self { point, axis, angle }, [marker, partner]) = (*other, sides());
        Err(PeriodicError::Rotations { marker, partner, degrees: angle.to_degrees(), point, axis })
    }

    /// Whether a vector lies along the axis.
    pub fn keeps(&self, v: [f64; 3]) -> bool {
        norm(cross(self.axis, v)) <= 1e-6 * norm(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rotation is found from what it does to a place and a vector, whichever way, half a circle included.
    #[test]
    fn a_rotation_is_found_from_its_images() {
        let axes = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.6, 0.0, 0.8], [2.0 / 7.0, 3.0 / 7.0, 6.0 / 7.0]];
        for axis in axes {
            for angle in [TAU / 2.0, TAU / 3.0, -TAU / 4.0, TAU / 36.0, 0.7, -TAU / 90.0] {
                let of = Rotation { point: [0.0; 3], axis, angle };
                // The place on the axis that is nearest to the origin.
                let point = of.along().map(|row| dot(row, [0.2, -0.3, 0.5]));
                let point = sub([0.2, -0.3, 0.5], point);
                let of = Rotation { point, ..of };
                let (c, v) = ([1.3, 0.4, -0.2], [0.1, 0.7, 0.3]);
                let found = Rotation::between([c, of.moved(1, c)], [v, product(&of.matrix(1), v)]).unwrap();
                for x in [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]] {
                    let off = norm(sub(found.moved(1, x), of.moved(1, x)));
                    assert!(off < 1e-12, "{of:?} {found:?}: {off:e}");
                }
                assert_eq!(found.sectors().is_some(), angle != 0.7);
                let back = found.moved(-1, found.moved(1, c));
                assert!(norm(sub(back, c)) < 1e-14);
            }
        }
    }

    #[test]
    fn quarters_are_exact() {
        let of = Rotation { point: [0.0; 3], axis: [0.0, 0.0, 1.0], angle: TAU / 4.0 };
        assert_eq!(of.matrix(1), [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
        assert_eq!(of.matrix(-1), of.matrix(3));
        assert_eq!(of.back().matrix(1), of.matrix(3));
        assert!(of.keeps([0.0, 0.0, -2.0]) && !of.keeps([1e-3, 0.0, 1.0]));
    }
}
