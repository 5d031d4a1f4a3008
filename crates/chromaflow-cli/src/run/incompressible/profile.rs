//! Profiles of what flows in.

use chromaflow_flow::mesh::{cross, dot, norm, sub};
use std::f64::consts::FRAC_PI_4;

type Point = [f64; 3];

/// Corners of a face, one after another around it.
pub type Face = [Point; 4];

/// Markers whose faces' areas add up to less than this part of their sizes are not flat.
const FLAT: f64 = 0.999;
/// What to do about other markers.
const REMEDY: &str = "divide it, or give profile = \"uniform\" farther upstream";
/// How much of its rectangle a rectangle covers at least.
const WHOLE: f64 = 0.99;
/// How far from a disc's part of its rectangle, pi/4, that of one of straight sides may be: twelve have 0.75.
const DISC: f64 = 0.05;

/// A parabola across a flat marker, 1 in its middle and 0 at its edge: 4 s (1 - s) along each side of a rectangle, however it is turned, 1 - r^2 on a disc
/// or an ellipse.
pub struct Parabola {
    /// Unit vectors along the sides, with the marker's middle and half its length along each.
    sides: Vec<(Point, f64, f64)>,
    is_disc: bool,
}

impl Parabola {
    /// Of the marker of these faces; `planar` is the coordinate that a planar grid lacks.
    ///
    /// # Errors
    /// What the marker is, in words, where it is neither.
    pub fn over(faces: &[Face], planar: Option<usize>) -> Result<Self, String> {
        let areas = || faces.iter().map(|[a, b, c, d]| cross(sub(*c, *a), sub(*d, *b)).map(|v| 0.5 * v));
        let whole: f64 = areas().map(norm).sum();
        let normal = areas().fold([0.0; 3], |sum, area| [0, 1, 2].map(|k| sum[k] + area[k]));
        if norm(normal) < FLAT * whole {
            return Err(format!(
                "a parabolic profile is one over a flat marker, which this one is not; {REMEDY}"
            ));
        }
        let corners = || faces.iter().flatten().copied();
        let side = |along: Point| {
            let [low, high] = range(corners().map(|x| dot(x, along)));
            (along, 0.5 * (low + high), 0.5 * (high - low))
        };
        if let Some(lacks) = planar {
            let across = [0, 1, 2].map(|k| f64::from(u8::from(k == lacks)));
            return Ok(Self { sides: vec![side(unit(cross(normal, across)))], is_disc: false });
        }
        // Sides of the smallest rectangle around it: one lies along its convex hull.
        let [u, v] = basis(unit(normal));
        let edges = hull(corners().map(|x| [dot(x, u), dot(x, v)]).collect());
        let turned = |[p, q]: [[f64; 2]; 2]| {
            let [c, s] = [q[0] - p[0], q[1] - p[1]];
            let along = |c: f64, s: f64| unit([0, 1, 2].map(|k| c * u[k] + s * v[k]));
            vec![side(along(c, s)), side(along(-s, c))]
        };
        let size = |sides: &[(Point, f64, f64)]| 4.0 * sides[0].2 * sides[1].2;
        let all = edges.into_iter().map(turned);
        let Some(sides) = all.min_by(|a, b| size(a).total_cmp(&size(b))) else {
            return Err("the marker has no faces".to_owned());
        };
        let covered = whole / size(&sides);
        let is_disc = (covered - FRAC_PI_4).abs() < DISC;
        if covered < WHOLE && !is_disc {
            return Err(format!(
                "a parabolic profile is one over a rectangle or a disc, which this marker is not; {REMEDY}"
            ));
        }
        Ok(Self { sides, is_disc })
    }

    /// The part of the velocity in the middle that is at `x`.
    pub fn at(&self, x: Point) -> f64 {
        let off = self.sides.iter().map(|(along, middle, half)| ((dot(x, *along) - middle) / half).powi(2));
        let factor = if self.is_disc { 1.0 - off.sum::<f64>() } else { off.map(|off| 1.0 - off).product() };
        f64::max(factor, 0.0)
    }
}

fn unit(a: Point) -> Point {
    a.map(|v| v / norm(a))
}

/// Two unit vectors across the unit vector `n`.
fn basis(n: Point) -> [Point; 2] {
    let least = (0..3).min_by(|&a, &b| n[a].abs().total_cmp(&n[b].abs())).unwrap_or(0);
    let u = unit(cross(n, [0, 1, 2].map(|k| f64::from(u8::from(k == least)))));
    [u, cross(n, u)]
}

fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)])
}

/// The edges of the convex hull, by monotone chains (Andrew 1979).
fn hull(mut points: Vec<[f64; 2]>) -> Vec<[[f64; 2]; 2]> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let mut edges = Vec::new();
    let mut chain = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for r in points {
            while let [.., p, q] = chain[..] {
                if (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]) > 0.0 {
                    break;
                }
                chain.pop();
            }
            chain.push(r);
        }
        edges.extend(chain.windows(2).map(|pair| [pair[0], pair[1]]).filter(|[p, q]| p != q));
    };
    chain(&mut points.iter().copied());
    chain(&mut points.iter().rev().copied());
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faces of a patch of `n` by `n`, turned about all axes.
    fn faces(n: usize, place: impl Fn(f64, f64) -> [f64; 2]) -> Vec<Face> {
        let at = |i: usize, j: usize| turned(place(i as f64 / n as f64, j as f64 / n as f64));
        let cells = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        cells.map(|(i, j)| [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]).collect()
    }

    fn turned([x, y]: [f64; 2]) -> Point {
        let (a, b) = (0.5_f64, 0.9_f64);
        let [x, y] = [a.cos() * x - a.sin() * y, a.sin() * x + a.cos() * y];
        [3.0 + x, b.cos() * y, b.sin() * y - 2.0]
    }

    /// A place of the square from -1 to 1 as one of the unit disc.
    fn disc(s: f64, t: f64) -> [f64; 2] {
        let [x, y] = [2.0 * s - 1.0, 2.0 * t - 1.0];
        [x * (1.0 - 0.5 * y * y).sqrt(), y * (1.0 - 0.5 * x * x).sqrt()]
    }

    #[test]
    fn turned_rectangles_and_discs_have_their_own_parabolas() {
        for size in [[1.0, 1.0], [3.0, 0.5]] {
            let place = |s: f64, t: f64| [size[0] * s, size[1] * t];
            let parabola = Parabola::over(&faces(6, place), None).unwrap();
            for (s, t) in [(0.5, 0.5), (0.25, 0.5), (0.1, 0.8), (0.0, 0.3), (1.0, 1.0)] {
                let expected = 16.0 * s * (1.0 - s) * t * (1.0 - t);
                assert!((parabola.at(turned(place(s, t))) - expected).abs() < 1e-12, "{size:?} {s} {t}");
            }
        }
        for n in [3, 4, 20] {
            let parabola = Parabola::over(&faces(n, |s, t| disc(s, t).map(|v| 2.0 * v)), None).unwrap();
            let half = parabola.at(turned([1.0, 0.0]));
            assert!(
                (parabola.at(turned([0.0, 0.0])) - 1.0).abs() < 1e-12 && (half - 0.75).abs() < 0.02,
                "{n}: {half}"
            );
        }
    }

    #[test]
    fn other_markers_are_told() {
        let triangle = faces(6, |s, t| [s * (1.0 - 0.999 * t), t]);
        assert!(Parabola::over(&triangle, None).err().unwrap().contains("rectangle or a disc"));
        let strip = |bend: f64| -> Vec<Face> {
            let at = |i: usize, z: f64| {
                let angle = 0.3 + bend * i as f64 / 8.0;
                if bend == 0.0 { [0.1 * i as f64, 0.2 * i as f64, z] } else { [angle.cos(), angle.sin(), z] }
            };
            (0..8).map(|i| [at(i, 0.0), at(i + 1, 0.0), at(i + 1, 1.0), at(i, 1.0)]).collect()
        };
        assert!(Parabola::over(&strip(1.0), Some(2)).err().unwrap().contains("flat marker"));
        let planar = Parabola::over(&strip(0.0), Some(2)).unwrap();
        assert!(
            (planar.at([0.4, 0.8, 0.3]) - 1.0).abs() < 1e-12
                && (planar.at([0.2, 0.4, 0.9]) - 0.75).abs() < 1e-12
        );
    }
}
