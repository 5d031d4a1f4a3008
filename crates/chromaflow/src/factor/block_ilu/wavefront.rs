//! In which order several threads go through the rows of a triangle.

use crate::sparse::BlockPattern;
use std::ops::Range;

/// Rows in tiles: runs of rows that follow one another and need one another, such as the lines of a grid. Tiles of a
/// level need tiles of earlier levels only, so that threads share them out; inside a tile rows keep their order, and with
/// it the caches what neighbors read.
pub(super) struct Wavefront {
    /// All rows, tile by tile, level by level.
    pub rows: Vec<u32>,
    /// First position of each tile, `[tiles + 1]`.
    tiles: Vec<u32>,
    /// First tile of each level, `[levels + 1]`.
    levels: Vec<u32>,
}

/// Lengths of tiles that are tried, from the one that suits caches best to single rows.
const LENGTHS: [u32; 4] = [128, 32, 8, 1];
/// Tiles of a level for each thread that make it worth while to share them out.
const TILES_A_THREAD: usize = 4;

impl Wavefront {
    /// For a solve with the lower triangle, first row first, or with the upper one, last row first: the longest tiles
    /// that leave enough of them in a level for `threads`.
    pub fn new(pattern: &BlockPattern, upper: bool, threads: usize) -> Self {
        let mut chosen = Self::with_length(pattern, upper, LENGTHS[0]);
        for &length in &LENGTHS[1..] {
            let width = (chosen.tiles.len() - 1) / (chosen.levels.len() - 1).max(1);
            if width >= TILES_A_THREAD * threads {
                break;
            }
            chosen = Self::with_length(pattern, upper, length);
        }
        chosen
    }

    fn with_length(pattern: &BlockPattern, upper: bool, length: u32) -> Self {
        let n = pattern.rows();
        let row_at = |step: usize| if upper { n - 1 - step } else { step };
        let needed = |row: usize| {
            let columns = pattern.columns(row).iter().map(|&c| c as usize);
            columns.filter(move |&c| if upper { c > row } else { c < row })
        };
        // Tiles in the order of the rows: the first step of each, and its level.
        let (mut first, mut level): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut tile_of = vec![0_u32; n];
        for step in 0..n {
            let row = row_at(step);
            let follows = step > 0 && needed(row).any(|c| c == row_at(step - 1));
            if !(follows && step as u32 - first[first.len() - 1] < length) {
                first.push(step as u32);
                level.push(0);
            }
            let tile = first.len() - 1;
            tile_of[row] = tile as u32;
            let others = needed(row).map(|c| tile_of[c] as usize).filter(|&t| t != tile);
            level[tile] = level[tile].max(others.map(|t| level[t] + 1).max().unwrap_or(0));
        }
        first.push(n as u32);
        let mut levels = vec![0_u32; level.iter().max().map_or(0, |&l| l as usize + 1) + 1];
        for &l in &level {
            levels[l as usize + 1] += 1;
        }
        for l in 1..levels.len() {
            levels[l] += levels[l - 1];
        }
        let mut next = levels.clone();
        let mut order = vec![0; level.len()];
        for (tile, &l) in level.iter().enumerate() {
            order[next[l as usize] as usize] = tile;
            next[l as usize] += 1;
        }
        let (mut rows, mut tiles) = (Vec::with_capacity(n), Vec::with_capacity(order.len() + 1));
        tiles.push(0);
        for tile in order {
            rows.extend((first[tile]..first[tile + 1]).map(|step| row_at(step as usize) as u32));
            tiles.push(rows.len() as u32);
        }
        Self { rows, tiles, levels }
    }

    /// The levels in order, as ranges of tiles.
    pub fn levels(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.levels.windows(2).map(|w| w[0] as usize..w[1] as usize)
    }

    /// The positions of some tiles.
    pub fn positions(&self, tiles: Range<usize>) -> Range<usize> {
        self.tiles[tiles.start] as usize..self.tiles[tiles.end] as usize
    }
}
