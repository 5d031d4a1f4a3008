//! Two-dimensional shapes, as one layer of prisms or hexahedra.

use crate::{Marker, Mesh, Planar};

/// A patch of `cells[0]` by `cells[1]` quadrilaterals in the plane, from a function of the two indices.
///
/// The layer is 1 deep, see [`Planar`].
pub struct Plane {
    /// Cells along i and j.
    pub cells: [usize; 2],
    /// Whether i comes round to where it began.
    pub periodic: bool,
    /// Whether each quadrilateral is cut into two triangles, with the diagonals taking turns.
    pub triangles: bool,
}

impl Plane {
    /// The mesh: `point(i, j)` is a node, `marker(side, index)` the marker of a boundary edge; sides are 0 for i = 0,
    /// 1 for the last i, 2 for j = 0, 3 for the last j.
    ///
    /// # Panics
    /// When a number of cells is zero or the nodes are more than 32-bit numbers count.
    pub fn mesh(
        &self,
        point: impl Fn(usize, usize) -> [f64; 2],
        marker: impl Fn(usize, usize) -> &'static str,
    ) -> Mesh {
        let [ni, nj] = self.cells;
        assert!(ni > 0 && nj > 0, "a patch has at least one cell each way");
        let points = if self.periodic { ni } else { ni + 1 };
        let n = points * (nj + 1);
        assert!(u32::try_from(2 * n).is_ok(), "too many nodes for 32-bit numbers");
        let depth = 1.0;
        let mut mesh = Mesh { planar: Some(Planar { nodes_2d: n, depth }), ..Default::default() };
        for z in [0.0, depth] {
            for j in 0..=nj {
                mesh.nodes.extend((0..points).map(|i| {
                    let [x, y] = point(i, j);
                    [x, y, z]
                }));
            }
        }
        let node = |i: usize, j: usize| (i % points + points * j) as u32;
        let up = n as u32;
        let mut front = Marker { name: Planar::FRONT.into(), ..Default::default() };
        let mut back = Marker { name: Planar::BACK.into(), ..Default::default() };
        for j in 0..nj {
            for i in 0..ni {
                let [a, b, c, d] = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
                if self.triangles {
                    let halves =
                        if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
                    for [a, b, c] in halves {
                        mesh.prisms.push([a, b, c, a + up, b + up, c + up]);
                        front.triangles.push([a, c, b]);
                        back.triangles.push([a + up, b + up, c + up]);
                    }
                } else {
                    mesh.hexes.push([a, b, c, d, a + up, b + up, c + up, d + up]);
                    front.quads.push([a, d, c, b]);
                    back.quads.push([a + up, b + up, c + up, d + up]);
                }
            }
        }
        // Boundary edges with the domain on their left, so that the face's normal points outward.
        let mut edge = |name: &str, a: u32, b: u32| {
            let at = mesh.markers.iter().position(|m| m.name == name).unwrap_or_else(|| {
                mesh.markers.push(Marker { name: name.to_owned(), ..Default::default() });
                mesh.markers.len() - 1
            });
            mesh.markers[at].quads.push([a, b, b + up, a + up]);
        };
        for i in 0..ni {
            edge(marker(2, i), node(i, 0), node(i + 1, 0));
            edge(marker(3, i), node(i + 1, nj), node(i, nj));
        }
        if !self.periodic {
            for j in 0..nj {
                edge(marker(0, j), node(0, j + 1), node(0, j));
                edge(marker(1, j), node(ni, j), node(ni, j + 1));
            }
        }
        mesh.markers.extend([front, back]);
        mesh
    }
}

/// Share of the way after `i` of `n` steps, each `growth` times as long as the one before.
pub fn graded(i: usize, n: usize, growth: f64) -> f64 {
    if (growth - 1.0).abs() < 1e-12 {
        return i as f64 / n as f64;
    }
    (growth.powi(i as i32) - 1.0) / (growth.powi(n as i32) - 1.0)
}

/// The growth with which `n` steps whose first is `first` make up 1, at least 1.
pub fn growth_of(first: f64, n: usize) -> f64 {
    let (mut low, mut high) = (1.0, 4.0);
    for _ in 0..60 {
        let middle: f64 = 0.5 * (low + high);
        if graded(1, n, middle) > first { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// A channel of length 3 and height 1 with a circular arc on the floor between x = 1 and x = 2.
///
/// Markers: `inlet`, `outlet`, `lower`, `upper`. **Source**: Ni, *A multiple-grid scheme for solving the Euler
/// equations*, AIAA Journal 20(11) (1982): thickness 0.1 for M 0.5 and 0.675, 0.04 for M 1.4.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// Cells along and across.
    pub cells: [usize; 2],
    /// Height of the arc.
    pub thickness: f64,
    /// Whether cells are cut into triangles.
    pub triangles: bool,
}

impl Channel {
    /// The mesh.
    pub fn mesh(&self) -> Mesh {
        Plane { cells: self.cells, periodic: false, triangles: self.triangles }
            .mesh(|i, j| self.point(i, j), |side, _| ["inlet", "outlet", "lower", "upper"][side])
    }

    /// The point of the lines i along and j away.
    pub fn point(&self, i: usize, j: usize) -> [f64; 2] {
        let [ni, nj] = self.cells;
        // A circle through (1, 0), (1.5, thickness), (2, 0).
        let radius = (0.25 + self.thickness * self.thickness) / (2.0 * self.thickness);
        let (x, t) = (3.0 * i as f64 / ni as f64, j as f64 / nj as f64);
        let off = x - 1.5;
        let floor = if off.abs() >= 0.5 {
            0.0
        } else {
            (radius * radius - off * off).sqrt() - radius + self.thickness
        };
        [x, floor * (1.0 - t) + t]
    }
}

/// A plate along y = 0 from x = 0 to 1, with half a length of symmetry plane before it.
///
/// Markers: `inlet`, `outlet`, `symmetry`, `wall`, `top`.
#[derive(Clone, Copy, Debug)]
pub struct FlatPlate {
    /// Cells before the plate, on it, and away from it.
    pub cells: [usize; 3],
    /// Height of the domain.
    pub height: f64,
    /// Ratio of neighboring cell heights.
    pub growth: f64,
}

impl FlatPlate {
    /// The mesh.
    pub fn mesh(&self) -> Mesh {
        let [before, on, away] = self.cells;
        Plane { cells: [before + on, away], periodic: false, triangles: false }.mesh(
            |i, j| self.point(i, j),
            |side, i| match side {
                0 => "inlet",
                1 => "outlet",
                2 if i < before => "symmetry",
                2 => "wall",
                _ => "top",
            },
        )
    }

    /// The point of the lines i along and j away.
    pub fn point(&self, i: usize, j: usize) -> [f64; 2] {
        let [before, on, away] = self.cells;
        // Cells grow away from the leading edge on both sides.
        let x =
            if i < before { -0.5 * graded(before - i, before, 1.25) } else { graded(i - before, on, 1.1) };
        [x, self.height * graded(j, away, self.growth)]
    }
}

/// An O-grid around a circle of diameter 1 at the origin. Markers: `cylinder`, `farfield`.
#[derive(Clone, Copy, Debug)]
pub struct Cylinder {
    /// Cells around and away from the circle.
    pub cells: [usize; 2],
    /// Radius of the outer boundary, in diameters.
    pub radius: f64,
    /// Ratio of neighboring cell heights.
    pub growth: f64,
    /// Whether cells are cut into triangles.
    pub triangles: bool,
}

impl Cylinder {
    /// The mesh.
    pub fn mesh(&self) -> Mesh {
        Plane { cells: self.cells, periodic: true, triangles: self.triangles }
            .mesh(|i, j| self.point(i, j), |side, _| if side == 2 { "cylinder" } else { "farfield" })
    }

    /// The point of the lines i along and j away.
    pub fn point(&self, i: usize, j: usize) -> [f64; 2] {
        let [ni, nj] = self.cells;
        // Clockwise, so that (along, away) is a right-handed pair.
        let angle = -std::f64::consts::TAU * (i % ni) as f64 / ni as f64;
        let r = 0.5 + (self.radius - 0.5) * graded(j, nj, self.growth);
        [r * angle.cos(), r * angle.sin()]
    }
}

/// An O-grid around the NACA 0012 airfoil of chord 1 with a sharp trailing edge at x = 1. Markers: `airfoil`,
/// `farfield`.
///
/// **Source** of the shape: NASA Turbulence Modeling Resource, 2-D NACA 0012 validation case.
#[derive(Clone, Copy, Debug)]
pub struct Airfoil {
    /// Cells around (an even number keeps the mesh symmetric) and away from the airfoil.
    pub cells: [usize; 2],
    /// Radius of the outer boundary, in chords.
    pub radius: f64,
    /// Ratio of neighboring cell heights.
    pub growth: f64,
    /// Whether cells are cut into triangles.
    pub triangles: bool,
}

impl Airfoil {
    /// Half the thickness of the NACA 0012 at `x` chords.
    pub fn half_thickness(x: f64) -> f64 {
        let polynomial = 0.298222773 * x.sqrt() - 0.127125232 * x - 0.357907906 * x.powi(2)
            + 0.291984971 * x.powi(3)
            - 0.105174606 * x.powi(4);
        0.594689181 * polynomial.max(0.0)
    }

    /// The mesh.
    pub fn mesh(&self) -> Mesh {
        Plane { cells: self.cells, periodic: true, triangles: self.triangles }
            .mesh(|i, j| self.point(i, j), |side, _| if side == 2 { "airfoil" } else { "farfield" })
    }

    /// The point of the lines i along and j away.
    pub fn point(&self, i: usize, j: usize) -> [f64; 2] {
        let [ni, nj] = self.cells;
        // From the trailing edge along the lower side, clockwise.
        let i = i % ni;
        let angle = -std::f64::consts::TAU * i as f64 / ni as f64;
        let x = 0.5 * (1.0 + angle.cos());
        let y = Self::half_thickness(x) * angle.sin().signum();
        let t = graded(j, nj, self.growth);
        let far = [0.5 + self.radius * angle.cos(), self.radius * angle.sin()];
        [x + t * (far[0] - x), if i == 0 { 0.0 } else { y + t * (far[1] - y) }]
    }
}
