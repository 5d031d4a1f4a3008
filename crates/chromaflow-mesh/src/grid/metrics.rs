//! Face areas and volumes of a block's cells.

use super::{Block, Cells, GHOSTS, Grid, Interface};

/// Areas of faces and volumes of cells, ghosts included.
///
/// The area vector of a face is half the cross product of its diagonals. That is the exact vector area of every surface
/// spanned by its four edges, so the six faces of a cell close: a uniform flow gives fluxes that cancel to round-off on
/// any curvilinear grid (the geometric conservation law). Volumes are one third of the sum of x . S over the faces, with
/// x the mean of a face's points: neighbors share these terms, so that volumes add up.
///
/// Vectors point towards larger indices, also in left-handed blocks; volumes are positive.
///
/// **Shapes**: as [`Cells`] has it. **Units**: squares and cubes of the grid's length unit.
///
/// **Source**: Thomas & Lombard, *Geometric conservation law and its application to flow computations on moving grids*
/// (1979); Vinokur, *An analysis of finite-difference and finite-volume formulations of conservation laws* (1989).
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// The arrays' shape.
    pub cells: Cells,
    /// `area[d][c]`: component c of the area of each cell's lower face along axis d.
    pub area: [[Vec<f64>; 3]; 3],
    /// Volume of each cell.
    pub volume: Vec<f64>,
    /// Centers of cells, the mean of their points.
    pub center: [Vec<f64>; 3],
    /// Whether i, j, k are a right-handed system.
    pub right_handed: bool,
}

#[inline(always)]
fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
fn half_cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    let part = |i: usize, j: usize| 0.5 * (a[i] * b[j] - a[j] * b[i]);
    [part(1, 2), part(2, 0), part(0, 1)]
}

#[inline(always)]
fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A cell by its points; area and volume are negative where i, j, k are a left-handed system.
struct Measured {
    /// Of the lower face along each axis.
    area: [[f64; 3]; 3],
    volume: f64,
    center: [f64; 3],
}

/// Points of a block, i fastest, and the steps to the eight of a cell from its first one: bit d of their numbers is the step along axis d.
struct Points<'a> {
    nodes: &'a [[f64; 3]],
    stride: [usize; 3],
    corners: [usize; 8],
}

impl<'a> Points<'a> {
    fn new(nodes: &'a [[f64; 3]], points: [usize; 3]) -> Self {
        let stride = [1, points[0], points[0] * points[1]];
        let corners = std::array::from_fn(|n| (0..3).map(|d| (n >> d & 1) * stride[d]).sum());
        Self { nodes, stride, corners }
    }

    #[inline(always)]
    fn cell(&self, [i, j, k]: [usize; 3]) -> Measured {
        let first = i + j * self.stride[1] + k * self.stride[2];
        let (mut x, mut center) = ([[0.0; 3]; 8], [0.0; 3]);
        let origin = self.nodes[first];
        for n in 0..8 {
            let point = self.nodes[first + self.corners[n]];
            x[n] = minus(point, origin);
            for c in 0..3 {
                center[c] += point[c];
            }
        }
        let (mut area, mut volume) = ([[0.0; 3]; 3], 0.0);
        for d in 0..3 {
            let (u, v) = (1 << ((d + 1) % 3), 1 << ((d + 2) % 3));
            // The area of the face with the first point `low` and the mean of its points.
            let face = |low: usize| {
                let [a, b, c, e] = [x[low], x[low + u], x[low + u + v], x[low + v]];
                let mean = [0, 1, 2].map(|n| 0.25 * (a[n] + b[n] + c[n] + e[n]));
                (half_cross(minus(c, a), minus(e, b)), mean)
            };
            let ((low, x_low), (high, x_high)) = (face(0), face(1 << d));
            area[d] = low;
            volume += (dot(high, x_high) - dot(low, x_low)) / 3.0;
        }
        Measured { area, volume, center: center.map(|sum| 0.125 * sum) }
    }
}

impl Block {
    /// Its cells by their points, i fastest.
    fn measured(&self) -> impl Iterator<Item = Measured> + '_ {
        let (points, [ni, nj, nk]) = (Points::new(&self.nodes, self.points), self.cells());
        let rows = (0..nk).flat_map(move |k| (0..nj).map(move |j| (k, j)));
        let cells = rows.flat_map(move |(k, j)| (0..ni).map(move |i| [i, j, k]));
        cells.map(move |cell| points.cell(cell))
    }

    /// Whether i, j, k are a right-handed system, by the sum of the volumes.
    pub fn is_right_handed(&self) -> bool {
        self.measured().map(|cell| cell.volume).sum::<f64>() >= 0.0
    }

    /// Centers and volumes of its cells, i fastest, those of [`Metrics`].
    pub fn centers_and_volumes(&self) -> Vec<([f64; 3], f64)> {
        let mut cells: Vec<_> = self.measured().map(|cell| (cell.center, cell.volume)).collect();
        if cells.iter().map(|(_, volume)| volume).sum::<f64>() < 0.0 {
            for (_, volume) in &mut cells {
                *volume = -*volume;
            }
        }
        cells
    }
}

impl Metrics {
    /// Of every block of a grid; ghost cells beyond interfaces are the neighbors' cells, those beyond the boundary
    /// continue the last cells.
    pub fn of_grid(grid: &Grid) -> Vec<Self> {
        Self::of_blocks(grid, 0..grid.blocks.len())
    }

    /// The same of some blocks.
    ///
    /// # Panics
    /// When there is no such block.
    pub fn of_blocks(grid: &Grid, blocks: impl IntoIterator<Item = usize>) -> Vec<Self> {
        let nodes = extended_nodes(grid);
        blocks.into_iter().map(|b| Self::new(grid.blocks[b].cells(), &nodes[b])).collect()
    }

    /// Centers and volumes of all cells of a grid, block by block, i fastest.
    pub fn all_cells(grid: &Grid) -> Vec<([f64; 3], f64)> {
        grid.blocks.iter().flat_map(Block::centers_and_volumes).collect()
    }

    /// Of a block of `count` cells from its points and the ghost points around them, see [`extended_nodes`].
    pub fn new(count: [usize; 3], nodes: &[[f64; 3]]) -> Self {
        let cells = Cells::new(count);
        let wide = count.map(|n| n + 1 + 2 * GHOSTS);
        assert_eq!(nodes.len(), wide.iter().product::<usize>(), "points with their ghosts");
        let points = Points::new(nodes, wide);
        let empty = || std::array::from_fn(|_| vec![0.0; cells.len()]);
        let mut area: [[Vec<f64>; 3]; 3] = std::array::from_fn(|_| empty());
        let (mut volume, mut center) = (vec![0.0; cells.len()], empty());
        let mut inside = 0.0;
        let in_block = |n: usize, d: usize| (GHOSTS..count[d] + GHOSTS).contains(&n);
        for (k, j) in (0..wide[2] - 1).flat_map(|k| (0..wide[1] - 1).map(move |j| (k, j))) {
            let row = j * cells.stride[1] + k * cells.stride[2];
            let row_in_block = in_block(j, 1) && in_block(k, 2);
            for i in 0..wide[0] - 1 {
                let (at, cell) = (row + i, points.cell([i, j, k]));
                for d in 0..3 {
                    for c in 0..3 {
                        area[d][c][at] = cell.area[d][c];
                    }
                    center[d][at] = cell.center[d];
                }
                // What continues the grid beyond a concave corner may be tangled: it serves as a weight only.
                volume[at] = cell.volume.abs();
                if row_in_block && in_block(i, 0) {
                    volume[at] = cell.volume;
                    inside += cell.volume;
                }
            }
        }
        let right_handed = inside >= 0.0;
        if !right_handed {
            cells.places().for_each(|at| volume[at] = -volume[at]);
            for value in area.as_flattened_mut().iter_mut().flatten() {
                *value = -*value;
            }
        }
        Self { cells, area, volume, center, right_handed }
    }

    /// Area vector of the lower face of axis `d` of the cell at `at`.
    #[inline(always)]
    pub fn face(&self, d: usize, at: usize) -> [f64; 3] {
        [self.area[d][0][at], self.area[d][1][at], self.area[d][2][at]]
    }

    /// Center of the cell at `at`.
    #[inline(always)]
    pub fn center(&self, at: usize) -> [f64; 3] {
        [self.center[0][at], self.center[1][at], self.center[2][at]]
    }

    /// Volume of all cells of the block.
    pub fn total_volume(&self) -> f64 {
        self.cells.rows().flat_map(|row| &self.volume[row..row + self.cells.count[0]]).sum()
    }

    /// Largest component of the sum of a cell's areas, over the cells of the block: zero but for round-off.
    pub fn closure_error(&self) -> f64 {
        let mut worst = 0.0f64;
        for at in self.cells.places() {
            for c in 0..3 {
                let sum: f64 =
                    (0..3).map(|d| self.area[d][c][at + self.cells.stride[d]] - self.area[d][c][at]).sum();
                worst = worst.max(sum.abs());
            }
        }
        worst
    }
}

/// Points of every block with [`GHOSTS`] layers of ghost points: the neighbors' across interfaces, a linear
/// continuation elsewhere.
///
/// **Shapes**: `[blocks][nk + 4, nj + 4, ni + 4]` with n the numbers of points.
pub fn extended_nodes(grid: &Grid) -> Vec<Vec<[f64; 3]>> {
    let mut all: Vec<Vec<[f64; 3]>> = grid.blocks.iter().map(continued).collect();
    let shapes: Vec<[usize; 3]> = grid.blocks.iter().map(|b| b.points).collect();
    let place = |points: [usize; 3], node: [isize; 3]| {
        let [i, j, k] = node.map(|n| (n + GHOSTS as isize) as usize);
        i + (points[0] + 2 * GHOSTS) * (j + (points[1] + 2 * GHOSTS) * k)
    };
    // The second round brings what the first brought to the neighbor: edges and corners.
    for _ in 0..2 {
        let mut found = Vec::new();
        for interface in grid.interfaces.iter().flat_map(|i| [i.clone(), i.reversed()]) {
            let Interface { a, b, map, motion } = interface;
            let (low, high) = beyond(&a, shapes[a.block], 1);
            for k in low[2]..high[2] {
                for j in low[1]..high[1] {
                    for i in low[0]..high[0] {
                        let from = all[b.block][place(shapes[b.block], map.node([i, j, k]))];
                        found.push((a.block, place(shapes[a.block], [i, j, k]), motion.image(from)));
                    }
                }
            }
        }
        for (block, at, x) in found {
            all[block][at] = x;
        }
    }
    all
}

/// The ghosts beyond a window: cells for `extra` 0, nodes for 1. Ranges end before `high`; along the face they reach
/// into the corners where the window reaches the edge of its face.
pub(super) fn beyond(window: &super::Window, points: [usize; 3], extra: isize) -> ([isize; 3], [isize; 3]) {
    let g = GHOSTS as isize;
    let (mut low, mut high) = ([0; 3], [0; 3]);
    for d in 0..3 {
        let last = points[d] as isize - 1;
        (low[d], high[d]) = if d != window.side.axis {
            let (from, to) = (window.low[d] as isize, window.high[d] as isize);
            (if from == 0 { -g } else { from }, if to == last { last + g } else { to } + extra)
        } else if window.side.high {
            (last + extra, last + extra + g)
        } else {
            (-g, 0)
        };
    }
    (low, high)
}

/// A block's points with ghosts by linear continuation, one axis after another.
fn continued(block: &Block) -> Vec<[f64; 3]> {
    let wide = block.points.map(|n| n + 2 * GHOSTS);
    let stride = [1, wide[0], wide[0] * wide[1]];
    let mut nodes = vec![[0.0; 3]; wide.iter().product()];
    let corner = GHOSTS * (stride[0] + stride[1] + stride[2]);
    for k in 0..block.points[2] {
        for j in 0..block.points[1] {
            let (to, from) = (corner + j * stride[1] + k * stride[2], block.index([0, j, k]));
            nodes[to..to + block.points[0]].copy_from_slice(&block.nodes[from..from + block.points[0]]);
        }
    }
    for d in 0..3 {
        let (u, v) = ((d + 1) % 3, (d + 2) % 3);
        let (step, last) = (stride[d], GHOSTS + block.points[d] - 1);
        for line in (0..wide[v]).flat_map(|q| (0..wide[u]).map(move |p| p * stride[u] + q * stride[v])) {
            let mut next = |to: usize, one: usize, two: usize| {
                let (a, b) = (nodes[line + one * step], nodes[line + two * step]);
                nodes[line + to * step] = [2.0 * a[0] - b[0], 2.0 * a[1] - b[1], 2.0 * a[2] - b[2]];
            };
            for g in 1..=GHOSTS {
                next(GHOSTS - g, GHOSTS - g + 1, GHOSTS - g + 2);
                next(last + g, last + g - 1, last + g - 2);
            }
        }
    }
    nodes
}
