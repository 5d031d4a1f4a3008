//! The grid of a case.

use super::case::{Extent, Generate, GridSection};
use crate::case::{Source, find};
use crate::error::{CliError, CliResult};
use chromaflow_flow::grid::{Grid, GridError, Plot3dOptions, generate, read};

/// Reads or generates the grid, then cuts it.
///
/// # Errors
/// Status 2 with the key, or the file and what is wrong with it.
pub fn make(source: &Source, section: &GridSection) -> CliResult<Grid> {
    let named = !section.file.as_os_str().is_empty();
    let mut grid = match (named, section.generate) {
        (true, None) => {
            let file = find(source, ["grid", "file"], &section.file)?;
            let map = if section.nmf.as_os_str().is_empty() {
                file.with_extension("nmf")
            } else {
                find(source, ["grid", "nmf"], &section.nmf)?
            };
            read(&file, &map, &Plot3dOptions::default()).map_err(of)?
        }
        (false, Some(generate)) => {
            sound(generate).map_err(|e| source.error(&["grid", "generate"], &e))?;
            made(generate)
        }
        _ => {
            let what = "expected either `file` or `generate`";
            return Err(source.error(&["grid"], what));
        }
    };
    for &[block, axis, node] in &section.split {
        grid = grid.split(block, axis, node).map_err(|e| source.error(&["grid", "split"], &e.to_string()))?;
    }
    Ok(grid)
}

fn of(error: GridError) -> CliError {
    match error {
        GridError::File(file) => file.into(),
        other => CliError::input(other.to_string()),
    }
}

fn sound(generate: Generate) -> Result<(), String> {
    let (cells, good): (&[usize], bool) = match &generate {
        Generate::Cavity { cells, clustering } => (cells, clustering.is_finite()),
        Generate::Box { cells, size, wave } => {
            (cells, size.iter().all(|s| *s > 0.0 && s.is_finite()) && (0.0..0.08).contains(wave))
        }
        Generate::Cylinder { cells, radius, growth } => (cells, *radius > 0.5 && *growth >= 1.0),
    };
    if cells.iter().any(|&n| n == 0 || n > 100_000) || cells.iter().product::<usize>() > 1 << 31 {
        return Err(format!("{cells:?} cells: expected one or more along each axis, and a grid that fits"));
    }
    if good { Ok(()) } else { Err("a length or a ratio is out of its range".into()) }
}

fn made(generate: Generate) -> Grid {
    match generate {
        Generate::Cavity { cells, clustering } => generate::Cavity { cells, clustering }.grid(),
        Generate::Box { cells, size, wave } => generate::BoxGrid { cells, size, wave }.grid(),
        Generate::Cylinder { cells, radius, growth } => {
            generate::Cylinder { cells, radius, growth, triangles: false }.grid()
        }
    }
}

/// The names of the markers and where each is.
pub fn markers(grid: &Grid) -> Vec<(String, Extent)> {
    grid.markers()
        .into_iter()
        .map(|name| {
            let mut extent = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
            for patch in grid.patches.iter().filter(|p| p.name == name) {
                for node in patch.window.nodes() {
                    let x = grid.blocks[patch.window.block].node(node);
                    for d in 0..3 {
                        extent[0][d] = extent[0][d].min(x[d]);
                        extent[1][d] = extent[1][d].max(x[d]);
                    }
                }
            }
            (name.to_owned(), extent)
        })
        .collect()
}
