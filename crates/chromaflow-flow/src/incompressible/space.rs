//! The grid as the solver uses it: rows, faces with coefficients, boundary faces, corners.

use super::Given;
use super::config::{Boundary, Config, WallScalar};
use super::system::Link;
use crate::bc::motion_at;
use crate::equations::artificial_compressibility::GhostKind;
use crate::grid::{Cells, Grid, Metrics, Window};
use crate::march::{FlowError, slides};
use crate::mesh::{Planar, dot};
use crate::on_grid::{GridPart, NONE, check_markers, rows_around};
use crate::ranks::{BlockExchange, Ranks};
use crate::turbulence::velocities::Velocities;
use std::ops::Range;
use std::sync::Arc;

/// A block as the solver uses it.
pub(super) struct Block {
    pub cells: Cells,
    /// Number of its first cell among the rows of all blocks, which count i fastest.
    pub first_row: usize,
    pub metrics: Metrics,
    /// 1 on faces between cells, 0 on the boundary, whose fluxes are added apart: factors of the areas.
    pub open: [Vec<f64>; 3],
    /// Products of each face's area with the areas of its own direction and the next two in cyclic order, over the
    /// volume of the face; 0 on the boundary.
    pub slopes: [[Vec<f64>; 3]; 3],
    /// Whether any of them but the first is not zero: whether the grid is not orthogonal.
    pub skewed: bool,
    /// Ghost cells on edges of the block beyond two boundaries, each with the two ghosts beside it and the cell opposite.
    pub corners: Vec<[usize; 4]>,
}

impl Block {
    pub fn rows(&self) -> Range<usize> {
        self.first_row..self.first_row + self.cells.interior()
    }

    /// The cell beyond a side of the cell at a place, and the face's area towards it; none where the side is the boundary, or lies across an axis along which nothing happens.
    pub fn next(&self, axes: &[usize], at: usize, side: usize) -> Option<(usize, [f64; 3])> {
        let (axis, high, step) = (side / 2, side % 2 == 1, self.cells.stride[side / 2]);
        let (beyond, face, sign) = if high { (at + step, at + step, 1.0) } else { (at - step, at, -1.0) };
        let inside = axes.contains(&axis) && self.open[axis][face] != 0.0;
        inside.then(|| (beyond, self.metrics.face(axis, face).map(|n| sign * n)))
    }

    /// Velocities of its `field` as models of turbulence see them.
    pub fn velocities<'a>(&'a self, axes: &[usize], field: &'a [f64]) -> Velocities<'a> {
        Velocities { metrics: &self.metrics, active: [0, 1, 2].map(|d| axes.contains(&d)), state: field }
    }

    /// Place in the arrays of a row of this block.
    #[inline(always)]
    pub fn at(&self, row: usize) -> usize {
        self.cells.nth(row - self.first_row)
    }
}

/// A face on the boundary.
#[derive(Clone, Copy)]
pub(super) struct Face {
    pub row: usize,
    /// The cell, its ghost, and the next cell inside (the cell itself where there is only one).
    pub cell: usize,
    pub ghost: usize,
    pub next: usize,
    /// Area out of the domain.
    pub n: [f64; 3],
    /// As [`Block::slopes`], with the sign that makes the slope one along `n` of differences ghost minus cell and along
    /// the grid.
    pub slope: [f64; 3],
    /// Strides of the two directions along the face.
    pub along: [usize; 2],
    pub center: [f64; 3],
}

impl Face {
    /// The axis that it is across, on its block.
    pub fn axis(&self, block: &Block) -> usize {
        let step = self.cell.abs_diff(self.ghost);
        block.cells.stride.iter().position(|&s| s == step).unwrap_or_default()
    }
}

/// Condition of a scalar on a boundary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScalarKind {
    NoFlux,
    Value,
    /// Given where the flow comes in.
    Far,
}

/// A patch of the boundary.
pub(super) struct Patch {
    pub name: String,
    pub block: usize,
    pub kind: GhostKind,
    pub scalars: Vec<ScalarKind>,
    pub wall: bool,
    pub faces: Vec<Face>,
    /// (p, u, v, w, scalars) of each face as far as given, `[faces, n]`.
    pub given: Vec<f64>,
    /// Where `given` comes from, if it changes in time.
    pub function: Option<super::Function>,
}

/// Everything of the grid.
pub(super) struct Space {
    pub blocks: Vec<Block>,
    pub patches: Vec<Patch>,
    /// What this rank has of the grid: `blocks`, with `patches` on them.
    pub part: GridPart,
    /// Neighbors across interfaces, by rows: those of other ranks are numbered behind the rows as they come by `exchange`.
    pub links: Vec<Link>,
    /// Points of every block of the grid.
    pub points: Vec<usize>,
    /// Whether any block of the grid is skewed.
    pub skewed: bool,
    /// Axes along which anything can happen.
    pub axes: Vec<usize>,
    pub rows: usize,
    pub volume: f64,
    /// Of a planar grid, by which forces and flows through markers are divided; 1 of others.
    pub depth: f64,
}

impl Space {
    pub fn new(grid: &Grid, config: &Config, ranks: Option<&Ranks>) -> Result<Self, FlowError> {
        grid.check()?;
        for (number, block) in grid.blocks.iter().enumerate() {
            if let Some(n) = block.blank.iter().position(|&blank| blank != 1) {
                let ([ni, nj, _], value) = (block.points, block.blank[n]);
                return Err(FlowError::Blanked {
                    block: number,
                    at: [n % ni, n / ni % nj, n / (ni * nj)],
                    value,
                });
            }
        }
        if let Some(rotation) = grid.rotation() {
            config.check_turned(&rotation)?;
        }
        let (mut part, metrics) = GridPart::new(grid, ranks)?;
        check_markers(grid, &config.boundaries, |name| ![Planar::FRONT, Planar::BACK].contains(&name))?;
        let condition = |name: &str| config.boundaries.get(name).cloned().unwrap_or(Boundary::Symmetry);
        let planar = grid.planar_axis().filter(|&axis| {
            // The sides of a sector bear on it.
            let layers = grid.blocks.iter().all(|block| block.repeats_along(axis));
            layers
                && grid.interfaces.iter().all(|i| i.a.side.axis != axis)
                && grid
                    .patches
                    .iter()
                    .filter(|p| p.window.side.axis == axis)
                    .all(|p| matches!(condition(&p.name), Boundary::Symmetry))
        });
        let axes: Vec<usize> = (0..3).filter(|d| planar != Some(*d)).collect();
        let depth = planar.and_then(|_| grid.plane()).map_or(1.0, |(_, depth)| depth);
        let mut first_row = 0;
        let mut blocks: Vec<Block> = metrics
            .into_iter()
            .map(|metrics| {
                let block = block(metrics, first_row);
                first_row += block.cells.interior();
                block
            })
            .collect();
        let mut patches = Vec::new();
        for p in &grid.patches {
            let condition = condition(&p.name);
            // The two planes of a planar grid balance each other.
            let counts = axes.contains(&p.window.side.axis);
            if let Some(own) = part.own(p.window.block) {
                let made = Patch { block: own, ..patch(p, &condition, &mut blocks[own], config)? };
                if counts {
                    part.numbers.push(part.patches.len());
                    patches.push(made);
                }
            }
            if counts {
                part.patches.push((p.name.clone(), condition.is_wall()));
            }
        }
        corners(&mut blocks, &part.exchange, &axes);
        for block in &mut blocks {
            let slopes = &block.slopes;
            block.skewed = axes.iter().any(|&d| {
                (1..3).any(|e| {
                    axes.contains(&((d + e) % 3))
                        && slopes[d][e].iter().zip(&slopes[d][0]).any(|(s, own)| s.abs() > 1e-14 * own.abs())
                })
            });
        }
        let links = links(&blocks, &part.exchange, &axes);
        let volume = part.sum(blocks.iter().map(|b| b.metrics.total_volume()));
        let mut skewed = blocks.iter().any(|b| b.skewed);
        if let Some(share) = part.share() {
            skewed = share.largest(f32::from(u8::from(skewed))) > 0.0;
        }
        let points = grid.blocks.iter().map(|b| b.nodes.len()).collect();
        Ok(Self { blocks, patches, part, links, points, skewed, axes, rows: first_row, volume, depth })
    }
}

impl Space {
    /// Middles of all cells, by rows.
    pub fn centers(&self) -> Vec<[f64; 3]> {
        let of = |b: &Block| b.rows().map(|row| b.metrics.center(b.at(row))).collect::<Vec<_>>();
        self.blocks.iter().flat_map(of).collect()
    }
}

fn block(metrics: Metrics, first_row: usize) -> Block {
    let cells = metrics.cells;
    let len = cells.len();
    let open = std::array::from_fn(|_| vec![1.0; len]);
    let mut slopes: [[Vec<f64>; 3]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| vec![0.0; len]));
    for d in 0..3 {
        // Faces of the block's cells only: beyond, neighbors are missing.
        let mut high = cells.count;
        high[d] += 1;
        for k in 0..high[2] {
            for j in 0..high[1] {
                for i in 0..high[0] {
                    let at = cells.inside([i, j, k]);
                    let below = at - cells.stride[d];
                    let own = metrics.face(d, at);
                    let over = 2.0 / (metrics.volume[at] + metrics.volume[below]);
                    slopes[d][0][at] = dot(own, own) * over;
                    for e in 1..3 {
                        let (axis, step) = ((d + e) % 3, cells.stride[(d + e) % 3]);
                        let faces = [at, at + step, below, below + step].map(|f| metrics.face(axis, f));
                        let mean = std::array::from_fn(|c| 0.25 * faces.iter().map(|s| s[c]).sum::<f64>());
                        let product = dot(own, mean);
                        // What rounding leaves of orthogonal directions is nothing.
                        let size = (dot(own, own) * dot(mean, mean)).sqrt();
                        slopes[d][e][at] = if product.abs() < 1e-13 * size { 0.0 } else { product * over };
                    }
                }
            }
        }
    }
    Block { cells, first_row, metrics, open, slopes, skewed: false, corners: Vec::new() }
}

fn patch(
    patch: &crate::grid::Patch,
    boundary: &Boundary,
    block: &mut Block,
    config: &Config,
) -> Result<Patch, FlowError> {
    let s = config.fluid.scalars.len();
    let (kind, values, scalars) = match boundary {
        Boundary::Wall { motion, scalars } => {
            let of = |m: usize| scalars.get(m).copied().unwrap_or_default();
            let carried = (0..s).map(|m| if let WallScalar::Value(v) = of(m) { v } else { 0.0 });
            let (motion, carried) = (*motion, carried.collect::<Vec<_>>());
            let at = move |x| motion_at(motion, &x).into_iter().chain(carried.iter().copied()).collect();
            let kinds = (0..s).map(|m| match of(m) {
                WallScalar::NoFlux => ScalarKind::NoFlux,
                WallScalar::Value(_) => ScalarKind::Value,
            });
            let turns = motion.rotation != [0.0; 3];
            let values =
                if turns { Given::By(Arc::new(move |x, _| at(x))) } else { Given::Same(at([0.0; 3])) };
            (GhostKind::Velocity, values, kinds.collect())
        }
        Boundary::Inflow(given) => (GhostKind::Velocity, given.clone(), vec![ScalarKind::Value; s]),
        Boundary::Outflow { pressure } => {
            let mut values = vec![0.0; 4 + s];
            values[0] = *pressure;
            (GhostKind::Pressure, Given::Same(values), vec![ScalarKind::NoFlux; s])
        }
        Boundary::Symmetry => (GhostKind::Mirror, Given::Same(vec![0.0; 4 + s]), vec![ScalarKind::NoFlux; s]),
        Boundary::Farfield(state) => (GhostKind::Far, Given::Same(state.clone()), vec![ScalarKind::Far; s]),
    };
    let faces = faces(&patch.window, block);
    if let Boundary::Wall { motion, .. } = boundary {
        slides(&patch.name, motion.through(faces.iter().map(|face| (face.center, face.n))))?;
    }
    let mut made = Patch {
        name: patch.name.clone(),
        block: patch.window.block,
        kind,
        scalars,
        wall: boundary.is_wall(),
        given: vec![0.0; faces.len() * (4 + s)],
        faces,
        function: None,
    };
    match values {
        Given::Same(values) => {
            let expected = if kind == GhostKind::Velocity { 3 + s } else { 4 + s };
            made.set_given(|_| values.clone(), expected)?;
        }
        Given::By(function) => {
            made.set_given(|x| function(x, 0.0), 3 + s)?;
            made.function = Some(function);
        }
    }
    Ok(made)
}

impl Patch {
    /// Sets what is given at each face; the velocity condition's values leave the pressure out.
    pub fn set_given(
        &mut self,
        value: impl Fn([f64; 3]) -> Vec<f64>,
        expected: usize,
    ) -> Result<(), FlowError> {
        let n = 4 + self.scalars.len();
        for (face, given) in self.faces.iter().zip(self.given.chunks_mut(n)) {
            let values = value(face.center);
            if values.len() != expected {
                return Err(FlowError::Values { name: self.name.clone(), expected, found: values.len() });
            }
            given[n - expected..].copy_from_slice(&values);
        }
        Ok(())
    }
}

/// The faces of a window, which become part of the boundary.
fn faces(window: &Window, block: &mut Block) -> Vec<Face> {
    let (cells, side) = (block.cells, window.side);
    let d = side.axis;
    let step = cells.stride[d];
    window
        .cells()
        .map(|[i, j, k]| {
            let cell = cells.inside([i, j, k]);
            let (ghost, next, face) = if side.high {
                (cell + step, cell - step, cell + step)
            } else {
                (cell - step, cell + step, cell)
            };
            let sign = if side.high { 1.0 } else { -1.0 };
            let slope: [f64; 3] = std::array::from_fn(|e| block.slopes[d][e][face]);
            block.open[d][face] = 0.0;
            for e in 0..3 {
                block.slopes[d][e][face] = 0.0;
            }
            let center = |c: usize| 0.5 * (block.metrics.center[c][cell] + block.metrics.center[c][ghost]);
            Face {
                row: block.first_row + i + cells.count[0] * (j + cells.count[1] * k),
                cell,
                ghost,
                next: if cells.count[d] > 1 { next } else { cell },
                n: block.metrics.face(d, face).map(|c| sign * c),
                slope: [slope[0], sign * slope[1], sign * slope[2]],
                along: [cells.stride[(d + 1) % 3], cells.stride[(d + 2) % 3]],
                center: std::array::from_fn(center),
            }
        })
        .collect()
}

/// Edges of blocks between two boundaries.
fn corners(blocks: &mut [Block], exchange: &BlockExchange, axes: &[usize]) {
    // 1 in cells, and after an exchange in ghost cells beyond interfaces.
    let mut known: Vec<Vec<u8>> = blocks
        .iter()
        .map(|b| {
            let mut known = vec![0; b.cells.len()];
            for row in b.cells.rows() {
                known[row..row + b.cells.count[0]].fill(1);
            }
            known
        })
        .collect();
    exchange.fill(&mut known, 1);
    for (block, known) in blocks.iter_mut().zip(&known) {
        let cells = block.cells;
        for d in 0..3 {
            let (u, v) = ((d + 1) % 3, (d + 2) % 3);
            if !(axes.contains(&u) && axes.contains(&v)) {
                continue;
            }
            for (hu, hv) in [(false, false), (true, false), (false, true), (true, true)] {
                for n in 0..cells.count[d] as isize {
                    let mut inside = [n; 3];
                    inside[u] = if hu { cells.count[u] as isize - 1 } else { 0 };
                    inside[v] = if hv { cells.count[v] as isize - 1 } else { 0 };
                    let (mut a, mut b) = (inside, inside);
                    a[u] += if hu { 1 } else { -1 };
                    b[v] += if hv { 1 } else { -1 };
                    let mut both = a;
                    both[v] = b[v];
                    let [inside, a, b, both] = [inside, a, b, both].map(|c| cells.at(c));
                    if known[a] == 0 && known[b] == 0 {
                        block.corners.push([both, a, b, inside]);
                    }
                }
            }
        }
    }
}

/// Neighbors across interfaces.
fn links(blocks: &[Block], exchange: &BlockExchange, axes: &[usize]) -> Vec<Link> {
    let all = rows_around(blocks.iter().map(|b| b.cells), exchange, exchange.count());
    let turns = exchange.turns();
    let mut links = Vec::new();
    for (number, (block, rows)) in blocks.iter().zip(&all).enumerate() {
        let count = block.cells.count.map(|n| n as isize);
        for row in block.rows() {
            let at = block.at(row);
            let cell = block.cells.cell(at);
            for &d in axes {
                let step = block.cells.stride[d];
                for (side, outermost, neighbor) in [(0, 0, at - step), (1, count[d] - 1, at + step)] {
                    if cell[d] == outermost && rows[neighbor] != NONE {
                        let (row, face) = (row as u32, (2 * d + side) as u8);
                        let turn = turns.get(number).map_or(0, |turns| turns[neighbor]);
                        links.push(Link { row, face, turn, other: rows[neighbor] });
                    }
                }
            }
        }
    }
    links
}
