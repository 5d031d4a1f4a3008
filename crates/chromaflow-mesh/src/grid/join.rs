//! How blocks meet, found from their points.

use super::{Block, Grid, IndexMap, Interface, Patch, Side, Window};
use crate::Planar;
use crate::periodic::Motion;
use std::collections::HashMap;

/// Part of the spacing within which two points are one.
const SAME: f64 = 1e-3;
/// Part of the grid's diagonal that bins of points are wide.
const BIN: f64 = 1e-6;

/// Faces of cells on the surface of blocks: block, side, place along the two tangential axes.
type Place = (usize, usize, usize, usize);

impl Grid {
    /// Finds where faces of blocks coincide cell by cell, of two blocks or of one, in any orientation and in part, and makes
    /// interfaces of them; what is left of each face becomes patches named by block and side, such as `block1_imin`, or
    /// [`Planar::FRONT`] and [`Planar::BACK`] where the grid is one layer of cells between two planes z = const.
    ///
    /// Points are one when they are nearer than a thousandth of the spacing on the surface there. Faces without an area and
    /// cells that three faces share are left to the patches.
    pub fn joined(blocks: Vec<Block>) -> Self {
        let mut grid = Self { blocks, ..Self::default() };
        let pairs = Pairs::new(&grid);
        let mut done: Vec<[Vec<bool>; 6]> = grid
            .blocks
            .iter()
            .map(|b| Side::ALL.map(|s| vec![false; s.tangential().iter().map(|&t| b.cells()[t]).product()]))
            .collect();
        let index = |(b, s, u, v): Place| u + grid.blocks[b].cells()[Side::ALL[s].tangential()[0]] * v;
        let (mut interfaces, mut patches) = (Vec::new(), Vec::new());
        for place in places(&grid) {
            let (b, s, u, v) = place;
            if done[b][s][index(place)] {
                continue;
            }
            let limit = Side::ALL[s].tangential().map(|t| grid.blocks[b].cells()[t]);
            let start = pairs.of(&grid, place);
            // Whether the cell at (u, v) goes on with what the first one has.
            let goes_on = |done: &[[Vec<bool>; 6]], u: usize, v: usize| {
                let here = (b, s, u, v);
                if done[b][s][index(here)] {
                    return None;
                }
                let found = pairs.of(&grid, here);
                match (start, found) {
                    (None, None) => Some(None),
                    (Some((first, _)), Some((map, other))) => {
                        (map == first && !done[other.0][other.1][index(other)]).then_some(Some(other))
                    }
                    _ => None,
                }
            };
            let (mut last_u, mut last_v) = (u, v);
            let mark = |done: &mut [[Vec<bool>; 6]], u: usize, v: usize, other: Option<Place>| {
                done[b][s][index((b, s, u, v))] = true;
                if let Some(other) = other {
                    done[other.0][other.1][index(other)] = true;
                }
            };
            mark(&mut done, u, v, start.map(|p| p.1));
            while last_u + 1 < limit[0] {
                let Some(other) = goes_on(&done, last_u + 1, v) else { break };
                last_u += 1;
                mark(&mut done, last_u, v, other);
            }
            while last_v + 1 < limit[1] {
                let row: Option<Vec<_>> = (u..=last_u).map(|u| goes_on(&done, u, last_v + 1)).collect();
                let Some(row) = row else { break };
                last_v += 1;
                for (u, other) in (u..=last_u).zip(row) {
                    mark(&mut done, u, last_v, other);
                }
            }
            let a = window(&grid, b, s, [u, v], [last_u + 1, last_v + 1]);
            match start {
                None => patches.push(Patch { name: name(&grid, b, s), window: a }),
                Some((map, (block, side, ..))) => {
                    let ends = [a.low, a.high].map(|x| map.node(x.map(|n| n as isize)).map(|n| n as usize));
                    let b = Window {
                        block,
                        side: Side::ALL[side],
                        low: std::array::from_fn(|d| ends[0][d].min(ends[1][d])),
                        high: std::array::from_fn(|d| ends[0][d].max(ends[1][d])),
                    };
                    interfaces.push(Interface { a, b, map, motion: Motion::NONE });
                }
            }
        }
        (grid.interfaces, grid.patches) = (interfaces, patches);
        grid
    }
}

fn window(grid: &Grid, block: usize, side: usize, from: [usize; 2], to: [usize; 2]) -> Window {
    let side = Side::ALL[side];
    let mut window = Window::whole(block, side, grid.blocks[block].points);
    for (n, t) in side.tangential().into_iter().enumerate() {
        (window.low[t], window.high[t]) = (from[n], to[n]);
    }
    window
}

fn name(grid: &Grid, block: usize, side: usize) -> String {
    let b = &grid.blocks[block];
    if grid.planar_axis() == Some(2) && side >= 4 {
        let plane = b.points[0] * b.points[1];
        let level = |k: usize| {
            let z = b.nodes[k * plane][2];
            b.nodes[k * plane..(k + 1) * plane].iter().all(|x| x[2] == z).then_some(z)
        };
        if let (Some(low), Some(high)) = (level(0), level(1)) {
            return if (low < high) == (side == 4) { Planar::FRONT } else { Planar::BACK }.to_owned();
        }
    }
    format!("block{}_{}", block + 1, ["imin", "imax", "jmin", "jmax", "kmin", "kmax"][side])
}

/// Every cell's face on the surface of a block.
fn places(grid: &Grid) -> impl Iterator<Item = Place> {
    let shapes: Vec<[usize; 3]> = grid.blocks.iter().map(Block::cells).collect();
    shapes.into_iter().enumerate().flat_map(|(b, cells)| {
        Side::ALL.into_iter().enumerate().flat_map(move |(s, side)| {
            let [nu, nv] = side.tangential().map(|t| cells[t]);
            (0..nv).flat_map(move |v| (0..nu).map(move |u| (b, s, u, v)))
        })
    })
}

/// The nodes of a place, round its face.
fn corners(grid: &Grid, (b, s, u, v): Place) -> [[usize; 3]; 4] {
    let side = Side::ALL[s];
    let [tu, tv] = side.tangential();
    [[u, v], [u + 1, v], [u + 1, v + 1], [u, v + 1]].map(|[u, v]| {
        let mut at = [side.node(grid.blocks[b].points); 3];
        (at[tu], at[tv]) = (u, v);
        at
    })
}

/// A point that has a number: the number, where, the spacing there.
type Known = (u32, [f64; 3], f64);

/// Which surface cells are one.
struct Pairs {
    /// The number of each surface node: the same for nodes that are one.
    numbers: HashMap<(usize, usize), u32>,
    /// Cells by their numbers, ascending.
    cells: HashMap<[u32; 4], Vec<Place>>,
}

impl Pairs {
    fn new(grid: &Grid) -> Self {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for x in grid.blocks.iter().flat_map(|b| &b.nodes) {
            for c in 0..3 {
                (low[c], high[c]) = (low[c].min(x[c]), high[c].max(x[c]));
            }
        }
        let width =
            (BIN * (0..3).map(|c| (high[c] - low[c]).powi(2)).sum::<f64>().sqrt()).max(f64::MIN_POSITIVE);
        let distance = |x: [f64; 3], y: [f64; 3]| (0..3).map(|c| (x[c] - y[c]).powi(2)).sum::<f64>().sqrt();
        // Shortest edge of the surface at each of its nodes.
        let mut spacing: HashMap<(usize, usize), f64> = HashMap::new();
        for place in places(grid) {
            let block = &grid.blocks[place.0];
            let nodes = corners(grid, place).map(|at| block.index(at));
            for k in 0..4 {
                let (a, b) = (nodes[k], nodes[(k + 1) % 4]);
                let length = distance(block.nodes[a], block.nodes[b]);
                for n in [a, b] {
                    let least = spacing.entry((place.0, n)).or_insert(f64::INFINITY);
                    if length > 0.0 {
                        *least = least.min(length);
                    }
                }
            }
        }
        let mut nodes: Vec<((usize, usize), f64)> = spacing.into_iter().collect();
        nodes.sort_unstable_by_key(|n| n.0);
        let bin = |x: [f64; 3]| x.map(|x| (x / width).floor() as i64);
        let mut bins: HashMap<[i64; 3], Vec<Known>> = HashMap::new();
        let mut numbers = HashMap::with_capacity(nodes.len());
        let mut next = 0;
        for ((b, n), least) in nodes {
            let x = grid.blocks[b].nodes[n];
            let own = bin(x);
            let near = (0..27).flat_map(|k| {
                let at = std::array::from_fn(|c| own[c] + (k / 3_i64.pow(c as u32)) % 3 - 1);
                bins.get(&at).into_iter().flatten()
            });
            let found = near
                .filter(|(_, y, other)| distance(x, *y) <= (SAME * least.min(*other)).min(width))
                .min_by(|a, b| distance(x, a.1).total_cmp(&distance(x, b.1)))
                .map(|f| f.0);
            let number = found.unwrap_or_else(|| {
                bins.entry(own).or_default().push((next, x, least));
                next += 1;
                next - 1
            });
            numbers.insert((b, n), number);
        }
        let mut pairs = Self { numbers, cells: HashMap::new() };
        for place in places(grid) {
            if let Some(key) = pairs.key(grid, place) {
                pairs.cells.entry(key).or_default().push(place);
            }
        }
        pairs
    }

    fn numbers(&self, grid: &Grid, place: Place) -> [u32; 4] {
        corners(grid, place).map(|at| self.numbers[&(place.0, grid.blocks[place.0].index(at))])
    }

    /// The sorted numbers of a cell's corners, if they are four.
    fn key(&self, grid: &Grid, place: Place) -> Option<[u32; 4]> {
        let mut key = self.numbers(grid, place);
        key.sort_unstable();
        key.windows(2).all(|w| w[0] != w[1]).then_some(key)
    }

    /// The one other cell at this one's place, and how indices go on to it.
    fn of(&self, grid: &Grid, place: Place) -> Option<(IndexMap, Place)> {
        let [first, second] = self.cells.get(&self.key(grid, place)?)?[..] else { return None };
        let other = if first == place { second } else { first };
        let (own, its) = (self.numbers(grid, place), self.numbers(grid, other));
        let to = corners(grid, other);
        let image = |k: usize| its.iter().position(|n| *n == own[k]).map(|at| to[at]);
        let (origin, along_u, along_v) = (image(0)?, image(1)?, image(3)?);
        let axis_of = |x: [usize; 3]| (0..3).find(|&d| x[d] != origin[d]);
        let a = window(grid, place.0, place.1, [place.2, place.3], [place.2 + 1, place.3 + 1]);
        let b = window(grid, other.0, other.1, [other.2, other.3], [other.2 + 1, other.3 + 1]);
        let pair = |x: [usize; 3]| axis_of(x).map(|d| (d, origin[d], x[d]));
        Some((IndexMap::between(&a, &b, [pair(along_u)?, pair(along_v)?]), other))
    }
}
