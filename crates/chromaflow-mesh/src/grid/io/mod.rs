//! Files of structured grids.

mod function;
mod header;
mod nmf;
mod plot3d;
mod plot3d_binary;
mod plot3d_text;

pub use function::write_function;
pub use header::{Form, PLOT3D_ENDINGS, Plot3d, Plot3dOptions, is_plot3d};
pub use nmf::{read_nmf, write_nmf};
pub use plot3d::{read_plot3d, write_plot3d};

use super::{Block, Grid, GridError, Patch, Side, Window};
use crate::Planar;
use std::path::{Path, PathBuf};

/// Reads the points of a grid from a PLOT3D file and its connectivity from a neutral map file; checks the whole.
///
/// # Errors
/// When a file is damaged, the two do not belong together, or the grid is not sound: with file and line, or block and
/// index.
pub fn read(points: &Path, map: &Path, options: &Plot3dOptions) -> Result<Grid, GridError> {
    let mut grid = read_unchecked(points, map, options)?;
    grid.check_points()?;
    grid.find_motions();
    grid.check()?;
    Ok(grid)
}

/// As [`read`], without the checks that need the points: what carries one periodic side to the other is not known yet.
///
/// A map may be that of the grid in three dimensions where the points are planar, as in files of NASA's turbulence modeling resource: its
/// blocks have two points along one axis, and along the other two what the planar blocks have. That axis becomes k. What the map says
/// of the two planes is left out, for they are the layer's own: [`Planar::FRONT`] and [`Planar::BACK`].
///
/// # Errors
/// As [`read`], where a file is damaged or the two do not belong together.
pub fn read_unchecked(points: &Path, map: &Path, options: &Plot3dOptions) -> Result<Grid, GridError> {
    let blocks = read_plot3d(points, options)?;
    let (dimensions, mut grid) = read_nmf(map)?;
    let found: Vec<[usize; 3]> = blocks.iter().map(|b| b.points).collect();
    if dimensions == found {
        grid.blocks = blocks;
        return Ok(grid);
    }
    if blocks.iter().all(Block::is_layer)
        && let Some(axes) = layer_axes(&dimensions, &found)
    {
        return Ok(grid.of_layers(blocks, axes));
    }
    Err(GridError::Mismatch(format!(
        "{} is for blocks of {dimensions:?} points, {} has {found:?}",
        map.display(),
        points.display()
    )))
}

/// What the axes of a map become in layers of cells along k: the first axis along which all blocks of the map have two points, and the
/// layers' numbers along the others.
fn layer_axes(map: &[[usize; 3]], layers: &[[usize; 3]]) -> Option<[usize; 3]> {
    let fits = |axes: &[usize; 3]| {
        map.len() == layers.len() && map.iter().zip(layers).all(|(m, l)| (0..3).all(|d| m[d] == l[axes[d]]))
    };
    [[2, 0, 1], [0, 2, 1], [0, 1, 2]].into_iter().find(fits)
}

impl Grid {
    /// Patches and interfaces of a map whose axes d are `axes[d]` of `layers`.
    fn of_layers(self, layers: Vec<Block>, axes: [usize; 3]) -> Self {
        let mut back = [0; 3];
        for d in 0..3 {
            back[axes[d]] = d;
        }
        let count = layers.len();
        let turn = |grid: Self, axes| (0..count).fold(grid, |grid, b| grid.reorient(b, axes, [false; 3]));
        let blocks = turn(Self { blocks: layers, ..Self::default() }, back).blocks;
        let mut grid = turn(Self { blocks, ..self }, axes);
        grid.patches.retain(|p| p.window.side.axis != 2);
        grid.interfaces.retain(|i| i.a.side.axis != 2 && i.b.side.axis != 2);
        for (block, layer) in grid.blocks.iter().enumerate() {
            for (high, name) in [(false, Planar::FRONT), (true, Planar::BACK)] {
                let window = Window::whole(block, Side { axis: 2, high }, layer.points);
                grid.patches.push(Patch { name: name.to_owned(), window });
            }
        }
        grid
    }
}

/// The neutral map file that belongs to a PLOT3D file by its name, where there is one.
pub fn map_beside(points: &Path) -> Option<PathBuf> {
    Some(chromaflow::files::without_compression(points).with_extension("nmf")).filter(|map| map.is_file())
}

/// Reads a PLOT3D file as a grid with the connectivity of a neutral map file; without one the faces that meet are found from the points
/// ([`Grid::joined`]).
///
/// # Errors
/// As [`read`].
pub fn read_joined(points: &Path, map: Option<&Path>, options: &Plot3dOptions) -> Result<Grid, GridError> {
    if let Some(map) = map {
        return read(points, map, options);
    }
    let grid = Grid::joined(read_plot3d(points, options)?);
    grid.check()?;
    Ok(grid)
}

/// Writes both files.
///
/// # Errors
/// When one cannot be written.
pub fn write(points: &Path, map: &Path, grid: &Grid, format: Plot3d) -> Result<(), GridError> {
    write_plot3d(points, &grid.blocks, format)?;
    write_nmf(map, grid)
}
