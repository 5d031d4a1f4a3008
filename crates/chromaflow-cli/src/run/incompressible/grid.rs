//! Where the markers of a grid are.

use super::case::Extent;
use chromaflow_flow::grid::Grid;

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
