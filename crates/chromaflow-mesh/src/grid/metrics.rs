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

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn half_cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    let part = |i: usize, j: usize| 0.5 * (a[i] * b[j] - a[j] * b[i]);
    [part(1, 2), part(2, 0), part(0, 1)]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
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
        let of = |m: Self| m.cells.places().map(move |at| (m.center(at), m.volume[at])).collect::<Vec<_>>();
        Self::of_grid(grid).into_iter().flat_map(of).collect()
    }

    /// Of a block of `count` cells from its points and the ghost points around them, see [`extended_nodes`].
    pub fn new(count: [usize; 3], nodes: &[[f64; 3]]) -> Self {
        let cells = Cells::new(count);
        let wide = count.map(|n| n + 1 + 2 * GHOSTS);
        assert_eq!(nodes.len(), wide.iter().product::<usize>(), "points with their ghosts");
        let stride = [1, wide[0], wide[0] * wide[1]];
        let empty = || std::array::from_fn(|_| vec![0.0; cells.len()]);
        let mut area: [[Vec<f64>; 3]; 3] = std::array::from_fn(|_| empty());
        let (mut volume, mut center) = (vec![0.0; cells.len()], empty());
        // The lower face of axis d at a node: its area and the mean of its points relative to `origin`.
        let face = |node: usize, d: usize, origin: [f64; 3]| {
            let (u, v) = (stride[(d + 1) % 3], stride[(d + 2) % 3]);
            let corners = [node, node + u, node + u + v, node + v].map(|n| minus(nodes[n], origin));
            let s = half_cross(minus(corners[2], corners[0]), minus(corners[3], corners[1]));
            let mean = std::array::from_fn(|c| 0.25 * corners.iter().map(|x| x[c]).sum::<f64>());
            (s, mean)
        };
        let mut inside = 0.0;
        for at in (0..cells.len()).filter(|&at| cells.has(at)) {
            let cell = cells.cell(at);
            let node: usize = (0..3).map(|d| (cell[d] + GHOSTS as isize) as usize * stride[d]).sum();
            let origin = nodes[node];
            for d in 0..3 {
                let (low, x_low) = face(node, d, origin);
                let (high, x_high) = face(node + stride[d], d, origin);
                for c in 0..3 {
                    area[d][c][at] = low[c];
                }
                volume[at] += (dot(high, x_high) - dot(low, x_low)) / 3.0;
            }
            for c in 0..3 {
                let corners =
                    (0..8).map(|n| nodes[node + (0..3).map(|d| (n >> d & 1) * stride[d]).sum::<usize>()]);
                center[c][at] = 0.125 * corners.map(|x| x[c]).sum::<f64>();
            }
            if (0..3).all(|d| (0..count[d] as isize).contains(&cell[d])) {
                inside += volume[at];
            }
        }
        let right_handed = inside >= 0.0;
        if !right_handed {
            for value in area.as_flattened_mut().iter_mut().flatten().chain(&mut volume) {
                *value = -*value;
            }
        }
        // What continues the grid beyond a concave corner may be tangled: it serves as a weight only.
        for at in 0..cells.len() {
            let cell = cells.cell(at);
            if (0..3).any(|d| !(0..count[d] as isize).contains(&cell[d])) {
                volume[at] = volume[at].abs();
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
        for q in 0..wide[v] {
            for p in 0..wide[u] {
                let line = p * stride[u] + q * stride[v];
                let mut next = |to: usize, one: usize, two: usize| {
                    let [to, one, two] = [to, one, two].map(|n| line + n * stride[d]);
                    nodes[to] = std::array::from_fn(|c| 2.0 * nodes[one][c] - nodes[two][c]);
                };
                for g in 1..=GHOSTS {
                    next(GHOSTS - g, GHOSTS - g + 1, GHOSTS - g + 2);
                    let last = GHOSTS + block.points[d] - 1;
                    next(last + g, last + g - 1, last + g - 2);
                }
            }
        }
    }
    nodes
}
