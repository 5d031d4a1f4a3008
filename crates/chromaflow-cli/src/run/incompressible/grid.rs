//! Where the markers of a grid are.

use super::profile::Face;
use chromaflow_flow::grid::Grid;

/// Lowest and highest coordinates.
pub type Extent = [[f64; 3]; 2];

/// A marker of a grid.
pub struct Place {
    /// Its name.
    pub name: String,
    /// Its faces.
    pub faces: Vec<Face>,
    /// Where it is.
    pub extent: Extent,
}

/// The markers.
pub fn places(grid: &Grid) -> Vec<Place> {
    grid.markers()
        .into_iter()
        .map(|name| {
            let windows = grid.patches.iter().filter(|p| p.name == name).map(|p| &p.window);
            let faces: Vec<Face> = windows
                .flat_map(|window| {
                    let block = &grid.blocks[window.block];
                    window.cells().map(|cell| window.corners(cell).map(|node| block.node(node)))
                })
                .collect();
            let none = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
            let extent = faces.as_flattened().iter().fold(none, |[low, high], x| {
                [[0, 1, 2].map(|d| f64::min(low[d], x[d])), [0, 1, 2].map(|d| f64::max(high[d], x[d]))]
            });
            Place { name: name.to_owned(), faces, extent }
        })
        .collect()
}
