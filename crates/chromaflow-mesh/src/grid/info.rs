//! What there is to say about a structured grid.

use super::{Grid, Metrics};

/// Facts about a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockInfo {
    /// Points along i, j, k.
    pub points: [usize; 3],
    /// Whether i, j, k are a right-handed system.
    pub right_handed: bool,
    /// Volume of the whole block.
    pub volume: f64,
    /// Smallest and largest volume of a cell, with the block's handedness taken into account.
    pub cell_volume: [f64; 2],
    /// Cells of no or negative volume, and the first of them.
    pub bad: usize,
    /// The first such cell.
    pub first_bad: Option<[usize; 3]>,
    /// Points that IBLANK takes out.
    pub blanked: usize,
}

impl Grid {
    /// Facts about every block.
    pub fn info(&self) -> Vec<BlockInfo> {
        let about = |(block, metrics): (&super::Block, &Metrics)| {
            let count = metrics.cells.count[0];
            let cells = || metrics.cells.rows().flat_map(move |row| row..row + count);
            let volumes = || cells().map(|at| metrics.volume[at]);
            let is_bad = |v: f64| v.is_nan() || v <= 0.0;
            let first = cells().find(|&at| is_bad(metrics.volume[at]));
            BlockInfo {
                points: block.points,
                right_handed: metrics.right_handed,
                volume: metrics.total_volume(),
                cell_volume: [
                    volumes().fold(f64::INFINITY, f64::min),
                    volumes().fold(f64::NEG_INFINITY, f64::max),
                ],
                bad: volumes().filter(|&v| is_bad(v)).count(),
                first_bad: first.map(|at| metrics.cells.cell(at).map(|n| n as usize)),
                blanked: block.blank.iter().filter(|&&b| b == 0).count(),
            }
        };
        self.blocks.iter().zip(&Metrics::of_grid(self)).map(about).collect()
    }
}
