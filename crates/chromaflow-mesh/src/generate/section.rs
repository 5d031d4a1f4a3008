//! Airfoil sections of the NACA four-digit family, and meshes around them.

use super::planar::{Airfoil, Plane, graded, growth_of};
use crate::{Mesh, MeshError};
use std::f64::consts::{PI, TAU};

/// A section of chord 1 with its leading edge at the origin and a sharp trailing edge at (1, 0).
///
/// The thickness is laid off at right angles to the mean line. **Source**: Jacobs, Ward & Pinkerton, NACA Report 460 (1933);
/// the sharp trailing edge is that of NASA's Turbulence Modeling Resource, see [`Airfoil::half_thickness`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Section {
    /// Largest camber, in chords.
    pub camber: f64,
    /// Where it lies, in chords.
    pub position: f64,
    /// Thickness, in chords.
    pub thickness: f64,
}

impl Section {
    /// The section of four digits, such as `0012` or `2412`.
    ///
    /// # Errors
    /// When these are not four digits, or the thickness is zero.
    pub fn naca4(digits: &str) -> Result<Self, MeshError> {
        let number: Vec<u32> = digits.chars().filter_map(|c| c.to_digit(10)).collect();
        let [m, p, t1, t2] = number[..] else { return Err(Self::refused(digits)) };
        let thickness = f64::from(10 * t1 + t2) / 100.0;
        if digits.len() != 4 || thickness == 0.0 || (m > 0) != (p > 0) {
            return Err(Self::refused(digits));
        }
        Ok(Self { camber: f64::from(m) / 100.0, position: f64::from(p) / 10.0, thickness })
    }

    fn refused(digits: &str) -> MeshError {
        MeshError::Request(format!(
            "{digits:?} is no section: expected the four digits of a NACA airfoil such as 0012 or 2412, with a thickness that \
             is not 00 and both of the first two digits zero or neither"
        ))
    }

    /// The point `along` of the way round (0 to 1), clockwise from the trailing edge over the lower side, cosine spaced.
    pub fn point(&self, along: f64) -> [f64; 2] {
        let angle = TAU * along;
        let x = 0.5 * (1.0 + angle.cos());
        let side = -angle.sin();
        let half = Airfoil::half_thickness(x) * (self.thickness / 0.12);
        let half = if along <= 0.0 || along >= 1.0 { 0.0 } else { half * side.signum() };
        if self.camber == 0.0 {
            return [x, half];
        }
        let (m, p) = (self.camber, self.position);
        let q = if x < p { p } else { 1.0 - p };
        let line =
            m / (q * q) * if x < p { 2.0 * p * x - x * x } else { 1.0 - 2.0 * p + 2.0 * p * x - x * x };
        let slope = 2.0 * m / (q * q) * (p - x);
        let length = slope.hypot(1.0);
        [x - half * slope / length, line + half / length]
    }
}

/// An O-mesh of one layer around a [`Section`]. Markers: `airfoil`, `farfield`.
#[derive(Clone, Copy, Debug)]
pub struct AirfoilO {
    /// The airfoil.
    pub section: Section,
    /// Cells around (an even number) and away from it.
    pub cells: [usize; 2],
    /// Radius of the outer boundary, in chords.
    pub radius: f64,
    /// Height of the first cells, in chords.
    pub first: f64,
    /// Whether cells are cut into triangles.
    pub triangles: bool,
}

impl AirfoilO {
    /// The mesh.
    pub fn mesh(&self) -> Mesh {
        Plane { cells: self.cells, periodic: true, triangles: self.triangles }
            .mesh(|i, j| self.point(i, j), |side, _| if side == 2 { "airfoil" } else { "farfield" })
    }

    /// The point of the lines i along and j away.
    pub fn point(&self, i: usize, j: usize) -> [f64; 2] {
        let [ni, nj] = self.cells;
        let along = (i % ni) as f64 / ni as f64;
        let t = graded(j, nj, growth_of(self.first / self.radius, nj));
        let (on, angle) = (self.section.point(along), -TAU * along);
        let far = [0.5 + self.radius * angle.cos(), self.radius * angle.sin()];
        std::array::from_fn(|c| on[c] + t * (far[c] - on[c]))
    }
}

/// A C-mesh of one layer around a [`Section`], cut along the wake. Markers: `airfoil`, `farfield`.
#[derive(Clone, Copy, Debug)]
pub struct AirfoilC {
    /// The airfoil.
    pub section: Section,
    /// Cells on one side of the wake, around the airfoil (an even number), and away from both.
    pub cells: [usize; 3],
    /// Distance of the outer boundary, in chords.
    pub radius: f64,
    /// Height of the first cells, in chords.
    pub first: f64,
    /// Triangles instead of quadrilaterals.
    pub triangles: bool,
}

impl AirfoilC {
    /// The mesh: nodes of the cut are shared by both of its sides.
    pub fn mesh(&self) -> Mesh {
        let [wake, around, away] = self.cells;
        let ni = 2 * wake + around;
        // Nodes of the wake's upper side on the cut are those of its lower side.
        let mesh = Plane { cells: [ni, away], periodic: false, triangles: self.triangles }.mesh(
            |i, j| self.point(i, j),
            |side, i| match side {
                2 if (wake..wake + around).contains(&i) => "airfoil",
                2 => CUT,
                _ => "farfield",
            },
        );
        mesh.sewn(CUT, |n| {
            let (level, n) = (n / ((ni + 1) * (away + 1)), n % ((ni + 1) * (away + 1)));
            let upper = n <= ni && n >= wake + around;
            level * (ni + 1) * (away + 1) + if upper { ni - n } else { n }
        })
    }

    /// The point of the lines i along and j away.
    pub fn point(&self, i: usize, j: usize) -> [f64; 2] {
        let [wake, around, away] = self.cells;
        let t = graded(j, away, growth_of(self.first / self.radius, away));
        if (wake..=wake + around).contains(&i) {
            let along = (i - wake) as f64 / around as f64;
            let (on, far) = (self.section.point(along), 1.5 * PI - PI * along);
            let far = [1.0 + self.radius * far.cos(), self.radius * far.sin()];
            return std::array::from_fn(|c| on[c] + t * (far[c] - on[c]));
        }
        let (steps, side) = if i < wake { (wake - i, -1.0) } else { (i - wake - around, 1.0) };
        // The wake's first cells are as long as the airfoil's last ones.
        let first = 0.5 * (1.0 - (TAU / around as f64).cos());
        let x = 1.0 + self.radius * graded(steps, wake, growth_of(first / self.radius, wake));
        [x, side * t * self.radius]
    }
}

/// Marker of faces that meet each other.
const CUT: &str = "cut";
