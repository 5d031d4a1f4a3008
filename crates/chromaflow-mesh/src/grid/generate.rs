//! Structured grids of simple shapes.
//!
//! [`Channel`], [`FlatPlate`], [`Cylinder`] and [`Airfoil`] are those of [`crate::generate`], with the same points and
//! markers: `mesh()` gives an unstructured mesh of them, `grid()` a structured one. Two-dimensional shapes are one layer of
//! cells between z = 0 and z = 1, whose planes are the markers [`Planar::FRONT`] and [`Planar::BACK`].

use super::{Block, Grid, IndexMap, Interface, Side, Window};
use crate::Planar;
pub use crate::generate::{Airfoil, Channel, Cylinder, FlatPlate};
use crate::generate::{graded, growth_of};
use crate::periodic::Motion;
use std::f64::consts::{PI, TAU};

const SIDES: [Side; 6] = Side::ALL;
const PLANES: [Option<&str>; 2] = [Some(Planar::FRONT), Some(Planar::BACK)];

/// A box with cells of equal size, or wavy ones. Markers: `xmin`, `xmax`, `ymin`, `ymax`, `zmin`, `zmax`.
#[derive(Clone, Copy, Debug)]
pub struct BoxGrid {
    /// Cells along x, y, z.
    pub cells: [usize; 3],
    /// Length along x, y, z.
    pub size: [f64; 3],
    /// Largest displacement of a point over the box's length, below 0.08: every line inside becomes a wave, the faces
    /// stay plane.
    pub wave: f64,
}

impl BoxGrid {
    /// The grid, one block.
    pub fn grid(&self) -> Grid {
        let block = Block::new(self.cells.map(|n| n + 1), |at| {
            let s: [f64; 3] = std::array::from_fn(|d| at[d] as f64 / self.cells[d] as f64);
            std::array::from_fn(|d| {
                let others = (TAU * s[(d + 1) % 3] + 0.5).cos() * (TAU * s[(d + 2) % 3] + 1.0).cos();
                let inside = if at[d] == 0 || at[d] == self.cells[d] { 0.0 } else { (PI * s[d]).sin() };
                self.size[d] * (s[d] + self.wave * inside * others)
            })
        });
        Grid::one_block(block, ["xmin", "xmax", "ymin", "ymax", "zmin", "zmax"].map(Some))
    }
}

/// A square cavity of length 1 under a moving lid, with cells that grow from the walls to the middle. Markers: `wall`
/// (three sides), `lid` (y = 1).
#[derive(Clone, Copy, Debug)]
pub struct Cavity {
    /// Cells along x and y.
    pub cells: [usize; 2],
    /// How strongly points are drawn to the walls: spacing there over that of equal cells is about
    /// 2 b exp(-b) / (1 - exp(-2 b)); 0 for equal cells.
    pub clustering: f64,
}

impl Cavity {
    /// The grid, one block.
    pub fn grid(&self) -> Grid {
        let at = |n: usize, of: usize| {
            let s = 2.0 * n as f64 / of as f64 - 1.0;
            let b = self.clustering;
            if b.abs() < 1e-9 { 0.5 * (1.0 + s) } else { 0.5 * (1.0 + (b * s).tanh() / b.tanh()) }
        };
        let [ni, nj] = self.cells;
        let block = layer([ni, nj], |i, j| [at(i, ni), at(j, nj)]);
        let wall = Some("wall");
        Grid::one_block(block, [wall, wall, wall, Some("lid"), PLANES[0], PLANES[1]])
    }
}

/// The lower half of a plane channel, with cells that grow from the wall at y = 0 to the middle plane. Markers: `inlet`, `outlet`, `wall`, `middle`.
#[derive(Clone, Copy, Debug)]
pub struct HalfChannel {
    /// Cells along and across.
    pub cells: [usize; 2],
    /// Length, and half the distance of the walls.
    pub size: [f64; 2],
    /// Ratio of neighboring cell heights.
    pub growth: f64,
}

impl HalfChannel {
    /// The grid, one block.
    pub fn grid(&self) -> Grid {
        let ([ni, nj], [length, height]) = (self.cells, self.size);
        let block =
            layer(self.cells, |i, j| [length * i as f64 / ni as f64, height * graded(j, nj, self.growth)]);
        let names = [Some("inlet"), Some("outlet"), Some("wall"), Some("middle"), PLANES[0], PLANES[1]];
        Grid::one_block(block, names)
    }
}

/// A channel from x = -1.5 to 1.5 and 0.8 high with a smooth bump on its floor, y = 0.0625 exp(-25 x^2). Without corners,
/// unlike Ni's arc: entropy errors show a scheme's order. Markers as [`Channel`].
///
/// **Source**: International Workshop on High-Order CFD Methods, case C1.1; Wang et al. 2013.
#[derive(Clone, Copy, Debug)]
pub struct SmoothChannel {
    /// Cells along and across.
    pub cells: [usize; 2],
}

impl SmoothChannel {
    /// The grid, one block.
    pub fn grid(&self) -> Grid {
        let [ni, nj] = self.cells;
        let block = layer(self.cells, |i, j| {
            let (x, t) = (3.0 * i as f64 / ni as f64 - 1.5, j as f64 / nj as f64);
            let floor = 0.0625 * (-25.0 * x * x).exp();
            [x, floor + t * (0.8 - floor)]
        });
        let names = [Some("inlet"), Some("outlet"), Some("lower"), Some("upper"), PLANES[0], PLANES[1]];
        Grid::one_block(block, names)
    }
}

/// A C-grid around the NACA 0012 airfoil of chord 1, its leading edge at the origin, cut along the wake: i runs from the far
/// end of the wake along its lower side, around the airfoil and back. Markers: `airfoil`, `farfield`.
#[derive(Clone, Copy, Debug)]
pub struct AirfoilC {
    /// Cells on one side of the wake, around the airfoil (an even number), and away from both.
    pub cells: [usize; 3],
    /// Distance of the outer boundary, in chords.
    pub radius: f64,
    /// Ratio of neighboring cell heights.
    pub growth: f64,
}

impl AirfoilC {
    fn point(&self, i: usize, j: usize) -> [f64; 2] {
        let [wake, around, away] = self.cells;
        let t = graded(j, away, self.growth);
        let (steps, lower) = if i < wake {
            (wake - i, true)
        } else if i > wake + around {
            (i - wake - around, false)
        } else {
            // Cosine spacing from the trailing edge below to the trailing edge above.
            let angle = TAU * (i - wake) as f64 / around as f64;
            let x = if 2 * (i - wake) == around { 0.0 } else { 0.5 * (1.0 + angle.cos()) };
            let y = -Airfoil::half_thickness(x) * angle.sin().signum();
            let far = 1.5 * PI - PI * (i - wake) as f64 / around as f64;
            let (fx, fy) = (1.0 + self.radius * far.cos(), self.radius * far.sin());
            let y = if i == wake || i == wake + around { 0.0 } else { y };
            return [x + t * (fx - x), y + t * (fy - y)];
        };
        // The wake's first cells are as long as the airfoil's last ones.
        let first = 0.5 * (1.0 - (TAU / around as f64).cos());
        let x = 1.0 + self.radius * graded(steps, wake, growth_of(first / self.radius, wake));
        [x, t * if lower { -self.radius } else { self.radius }]
    }

    /// The grid, one block.
    pub fn grid(&self) -> Grid {
        let [wake, around, away] = self.cells;
        let ni = 2 * wake + around;
        let block = layer([ni, away], |i, j| self.point(i, j));
        let far = Some("farfield");
        let mut grid = Grid::one_block(block, [far, far, None, far, PLANES[0], PLANES[1]]);
        let window = |from, to| Window { block: 0, side: SIDES[2], low: [from, 0, 0], high: [to, 0, 1] };
        grid.add_patch("airfoil", SIDES[2], [wake, 0, 0], [wake + around, 0, 1]);
        let (a, b) = (window(0, wake), window(wake + around, ni));
        // The tangential axes of a j face are k, then i; i runs the other way.
        let map = IndexMap::between(&a, &b, [(2, 0, 1), (0, ni, wake + around)]);
        grid.interfaces.push(Interface { a, b, map, motion: Motion::NONE });
        grid
    }
}

/// The channel with a cylinder of the DFG benchmark: 2.2 long and 0.41 high, a circle of diameter 0.1 around (0.2, 0.2). An
/// O-shaped block goes from the circle to the square that the channel begins with, a second block on to the outlet. Markers:
/// `cylinder`, `inlet`, `outlet`, `wall` (both sides).
///
/// **Source**: Schaefer & Turek, *Benchmark computations of laminar flow around a cylinder* (1996).
#[derive(Clone, Copy, Debug)]
pub struct ChannelCylinder {
    /// Cells around the cylinder (a multiple of four), from it to the square, and along the channel behind the square.
    pub cells: [usize; 3],
    /// Ratio of neighboring cell heights away from the cylinder.
    pub growth: f64,
}

impl ChannelCylinder {
    /// Height of the channel, its length, radius of the cylinder, both coordinates of its center.
    const HEIGHT: f64 = 0.41;
    const LENGTH: f64 = 2.2;
    const RADIUS: f64 = 0.05;
    const CENTER: f64 = 0.2;

    /// Rings are circles at the cylinder, and become the square as they grow; i goes round clockwise from the square's corner
    /// at the origin, along the inlet first.
    fn point(&self, i: usize, j: usize) -> [f64; 2] {
        let [around, away, _] = self.cells;
        let i = i % around;
        let (side, along) = (4 * i / around % 4, (4 * i % around) as f64 / around as f64);
        let corner = |s: usize| [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]][s % 4];
        let (from, to) = (corner(side), corner(side + 1));
        let angle = -TAU * (i as f64 / around as f64) - 0.75 * PI;
        let circle = [angle.cos(), angle.sin()];
        let t = graded(j, away, self.growth);
        let full = 0.5 * Self::HEIGHT;
        let size = Self::RADIUS / full + t * (1.0 - Self::RADIUS / full);
        std::array::from_fn(|c| {
            let square = Self::HEIGHT * (from[c] + along * (to[c] - from[c])) - Self::CENTER;
            Self::CENTER + size * (t * t * square + (1.0 - t * t) * full * circle[c])
        })
    }

    /// The grid, two blocks.
    pub fn grid(&self) -> Grid {
        let [around, away, behind] = self.cells;
        let quarter = around / 4;
        let mut grid = ring([around, away], "cylinder", |i, j| self.point(i, j));
        grid.patches.retain(|p| p.name != "farfield");
        for (side, name) in [(0, "inlet"), (1, "wall"), (3, "wall")] {
            grid.add_patch(name, SIDES[3], [side * quarter, away, 0], [(side + 1) * quarter, away, 1]);
        }
        let length = Self::LENGTH - Self::HEIGHT;
        // The cells go on from those before them, as long as there are enough to fill the channel at that.
        let last = Self::HEIGHT - self.point(2 * quarter + quarter / 2, away - 1)[0];
        let growth = growth_of((last / length).min(1.0 / behind as f64), behind);
        let rear = layer([behind, quarter], |i, j| {
            [Self::HEIGHT + length * graded(i, behind, growth), Self::HEIGHT * j as f64 / quarter as f64]
        });
        let names = [None, Some("outlet"), Some("wall"), Some("wall"), PLANES[0], PLANES[1]];
        for mut patch in Grid::one_block(rear.clone(), names).patches {
            patch.window.block = 1;
            grid.patches.push(patch);
        }
        let mut a = Window::whole(0, SIDES[3], grid.blocks[0].points);
        (a.low[0], a.high[0]) = (2 * quarter, 3 * quarter);
        let b = Window::whole(1, SIDES[0], rear.points);
        let map = IndexMap::between(&a, &b, [(2, 0, 1), (1, quarter, 0)]);
        grid.blocks.push(rear);
        grid.interfaces.push(Interface { a, b, map, motion: Motion::NONE });
        grid
    }
}

/// One layer of cells from points in the plane.
fn layer([ni, nj]: [usize; 2], point: impl Fn(usize, usize) -> [f64; 2]) -> Block {
    Block::new([ni + 1, nj + 1, 2], |[i, j, k]| {
        let [x, y] = point(i, j);
        [x, y, k as f64]
    })
}

/// A ring: i comes round to where it began.
fn ring(cells: [usize; 2], wall: &str, point: impl Fn(usize, usize) -> [f64; 2]) -> Grid {
    let block = layer(cells, point);
    let points = block.points;
    let mut grid = Grid::one_block(block, [None, None, Some(wall), Some("farfield"), PLANES[0], PLANES[1]]);
    let (a, b) = (Window::whole(0, SIDES[0], points), Window::whole(0, SIDES[1], points));
    let map = IndexMap::between(&a, &b, [(1, 0, cells[1]), (2, 0, 1)]);
    grid.interfaces.push(Interface { a, b, map, motion: Motion::NONE });
    grid
}

impl Channel {
    /// The structured grid of the same points, one block; cells are not cut.
    pub fn grid(&self) -> Grid {
        let block = layer(self.cells, |i, j| self.point(i, j));
        let names = [Some("inlet"), Some("outlet"), Some("lower"), Some("upper"), PLANES[0], PLANES[1]];
        Grid::one_block(block, names)
    }
}

impl FlatPlate {
    /// The structured grid of the same points, one block.
    pub fn grid(&self) -> Grid {
        let [before, on, away] = self.cells;
        let ni = before + on;
        let block = layer([ni, away], |i, j| self.point(i, j));
        let names = [Some("inlet"), Some("outlet"), None, Some("top"), PLANES[0], PLANES[1]];
        let mut grid = Grid::one_block(block, names);
        if before > 0 {
            grid.add_patch("symmetry", SIDES[2], [0, 0, 0], [before, 0, 1]);
        }
        grid.add_patch("wall", SIDES[2], [before, 0, 0], [ni, 0, 1]);
        grid
    }
}

impl Cylinder {
    /// The structured grid of the same points, one block; cells are not cut.
    pub fn grid(&self) -> Grid {
        ring(self.cells, "cylinder", |i, j| self.point(i, j))
    }
}

impl Airfoil {
    /// The structured grid of the same points, one block; cells are not cut.
    pub fn grid(&self) -> Grid {
        ring(self.cells, "airfoil", |i, j| self.point(i, j))
    }
}
