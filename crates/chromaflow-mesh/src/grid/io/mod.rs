//! Files of structured grids.

mod function;
mod header;
mod nmf;
mod plot3d;
mod plot3d_binary;
mod plot3d_text;

pub use function::write_function;
pub use header::{Form, Plot3d, Plot3dOptions, is_plot3d};
pub use nmf::{read_nmf, write_nmf};
pub use plot3d::{read_plot3d, write_plot3d};

use super::{Grid, GridError};
use std::path::{Path, PathBuf};

/// Reads the points of a grid from a PLOT3D file and its connectivity from a neutral map file; checks the whole.
///
/// # Errors
/// When a file is damaged, the two do not belong together, or the grid is not sound: with file and line, or block and
/// index.
pub fn read(points: &Path, map: &Path, options: &Plot3dOptions) -> Result<Grid, GridError> {
    let blocks = read_plot3d(points, options)?;
    let (dimensions, mut grid) = read_nmf(map)?;
    let found: Vec<[usize; 3]> = blocks.iter().map(|b| b.points).collect();
    if dimensions != found {
        return Err(GridError::Mismatch(format!(
            "{} is for blocks of {dimensions:?} points, {} has {found:?}",
            map.display(),
            points.display()
        )));
    }
    grid.blocks = blocks;
    grid.check_points()?;
    grid.find_translations();
    grid.check()?;
    Ok(grid)
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
