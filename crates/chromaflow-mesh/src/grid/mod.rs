//! Structured grids: curvilinear blocks of hexahedra that meet face to face.
//!
//! A [`Grid`] holds [`Block`]s of points, the [`Patch`]es of its boundary by name and the [`Interface`]s where two block
//! faces (of two blocks or of one) coincide point by point, in any orientation, or are periodic images of each other.
//! Indices count from 0; i is the first index and the fastest in memory.
//!
//! | | |
//! |---|---|
//! | [`read`], [`write`] | PLOT3D points, with the neutral map file (NMF) beside them that says how blocks meet |
//! | [`generate`] | boxes, plates, channels, cavities, O- and C-grids |
//! | [`Grid::joined`] | blocks that meet, found from their points |
//! | [`Grid::to_connected_mesh`] | the grid as an unstructured mesh |
//! | [`Grid::check`] | everything that can be wrong, with block and index |
//! | [`Cells`] | a block's cells and two layers of ghost cells around them as one array |
//! | [`Metrics`] | face areas and volumes that keep a uniform flow uniform to round-off |
//! | [`Exchange`] | copies cells across interfaces into ghost cells |
//!
//! ```
//! use chromaflow_mesh::grid::{Exchange, Metrics, generate};
//! let grid = generate::BoxGrid { cells: [4, 3, 2], size: [1.0; 3], wave: 0.05 }.grid().split(0, 0, 2)?;
//! grid.check()?;
//! let metrics = Metrics::of_grid(&grid);
//! assert!((metrics.iter().map(|m| m.total_volume()).sum::<f64>() - 1.0).abs() < 1e-14);
//! let exchange = Exchange::new(&grid);
//! // One array a block, here of a single component: block 0's ghost cells take what block 1 has.
//! let mut fields: Vec<Vec<f64>> = metrics.iter().enumerate().map(|(b, m)| vec![b as f64; m.cells.len()]).collect();
//! exchange.fill(&mut fields, 1);
//! assert_eq!(fields[0][metrics[0].cells.at([2, 0, 0])], 1.0);
//! # Ok::<(), chromaflow_mesh::grid::GridError>(())
//! ```

mod cells;
mod check;
mod connected;
mod error;
mod exchange;
pub mod generate;
mod info;
mod io;
mod join;
mod mesh;
mod metrics;
mod periodic;
mod reorient;
mod split;
#[cfg(test)]
mod tests;
mod window;

pub use cells::{ALIGNED, Cells, GHOSTS};
pub use error::GridError;
pub use exchange::{Exchange, Passing};
pub use info::BlockInfo;
pub use io::{
    Form, PLOT3D_ENDINGS, Plot3d, Plot3dOptions, is_plot3d, map_beside, read, read_joined, read_nmf,
    read_plot3d, read_unchecked, write, write_function, write_nmf, write_plot3d,
};
pub use metrics::{Metrics, extended_nodes};
pub use window::{IndexMap, Side, Window};

use crate::periodic::Motion;

/// Blocks of hexahedra, their boundary and how they meet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// Named pieces of the boundary. Several may have one name: they make up one marker.
    pub patches: Vec<Patch>,
    /// Where block faces coincide.
    pub interfaces: Vec<Interface>,
}

/// A curvilinear block of points.
///
/// **Shapes**: `nodes` `[nk, nj, ni]`, `blank` the same or empty. **Units**: the grid's own length unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Points along i, j, k; at least two each.
    pub points: [usize; 3],
    /// Coordinates.
    pub nodes: Vec<[f64; 3]>,
    /// PLOT3D's IBLANK of each point (1 in use, 0 blanked out), or nothing where all are in use.
    pub blank: Vec<i32>,
}

/// A piece of the boundary: a rectangle of one block face.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The name of the marker that it belongs to.
    pub name: String,
    /// Where it is.
    pub window: Window,
}

/// Two rectangles of block faces that are one surface: the cells of `b` continue those of `a`.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// One side.
    pub a: Window,
    /// The other.
    pub b: Window,
    /// From the nodes of `a`'s block to those of `b`'s; it goes on beyond the face into both blocks.
    pub map: IndexMap,
    /// What carries `b`'s nodes to `a`'s: nothing but for periodic pairs.
    pub motion: Motion,
}

impl Interface {
    /// The same seen from the other side.
    pub fn reversed(&self) -> Self {
        Self { a: self.b, b: self.a, map: self.map.inverse(), motion: self.motion.back() }
    }
}

impl Block {
    /// A block from a function of the indices.
    pub fn new(points: [usize; 3], mut point: impl FnMut([usize; 3]) -> [f64; 3]) -> Self {
        let mut nodes = Vec::with_capacity(points.iter().product());
        for k in 0..points[2] {
            for j in 0..points[1] {
                for i in 0..points[0] {
                    nodes.push(point([i, j, k]));
                }
            }
        }
        Self { points, nodes, blank: Vec::new() }
    }

    /// Cells along i, j, k.
    pub fn cells(&self) -> [usize; 3] {
        self.points.map(|n| n.saturating_sub(1))
    }

    /// Where node `[i, j, k]` lies in [`Block::nodes`].
    #[inline]
    pub fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.points[0] * (j + self.points[1] * k)
    }

    /// Whether it is one layer of cells along k between z = 0 and z = 1, as the blocks of planar files are.
    pub fn is_layer(&self) -> bool {
        let (front, back) = self.nodes.split_at(self.nodes.len() / 2);
        self.points[2] == 2 && front.iter().all(|x| x[2] == 0.0) && back.iter().all(|x| x[2] == 1.0)
    }

    /// Coordinates of node `[i, j, k]`.
    #[inline]
    pub fn node(&self, at: [usize; 3]) -> [f64; 3] {
        self.nodes[self.index(at)]
    }
}

impl Grid {
    /// Cells of all blocks.
    pub fn cells(&self) -> usize {
        self.blocks.iter().map(|b| b.cells().iter().product::<usize>()).sum()
    }

    /// Names of the boundary's markers, each once, in the order in which they come first.
    pub fn markers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for patch in &self.patches {
            if !names.contains(&patch.name.as_str()) {
                names.push(&patch.name);
            }
        }
        names
    }

    /// The axis along which every block has one cell, if there is one: the grid is two-dimensional then.
    pub fn planar_axis(&self) -> Option<usize> {
        (0..3).find(|&d| !self.blocks.is_empty() && self.blocks.iter().all(|b| b.points[d] == 2))
    }

    /// A grid of one block with the named patches, each given by its side of the block.
    pub fn one_block(block: Block, sides: [Option<&str>; 6]) -> Self {
        let points = block.points;
        let mut grid = Self { blocks: vec![block], ..Self::default() };
        for (side, name) in Side::ALL.into_iter().zip(sides) {
            if let Some(name) = name {
                let window = Window::whole(0, side, points);
                grid.patches.push(Patch { name: name.to_owned(), window });
            }
        }
        grid
    }

    /// Adds a patch on the nodes `low..=high` of a side, given along all three axes.
    pub fn add_patch(&mut self, name: &str, side: Side, low: [usize; 3], high: [usize; 3]) {
        self.patches.push(Patch { name: name.to_owned(), window: Window { block: 0, side, low, high } });
    }
}
