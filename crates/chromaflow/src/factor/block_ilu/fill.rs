//! Which blocks the factors have beyond those of the matrix.

use crate::sparse::{BlockPattern, ShapeError, index};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

/// Which blocks the factors have, and which of them the elimination changes.
///
/// By name (command line, case files): a number for [`Fill::Level`], `diagonal` for [`Fill::DiagonalOnly`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Block ILU(k): all blocks whose level of fill is at most k; 0 for those of the matrix alone.
    Level(u32),
    /// The blocks of the matrix, of which only the diagonal ones change: block DILU.
    DiagonalOnly,
}

impl Fill {
    /// Levels of fill.
    pub fn levels(self) -> u32 {
        match self {
            Fill::Level(levels) => levels,
            Fill::DiagonalOnly => 0,
        }
    }
}

impl Default for Fill {
    /// Block ILU(0).
    fn default() -> Self {
        Fill::Level(0)
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fill::Level(k) => write!(f, "{k}"),
            Fill::DiagonalOnly => f.write_str("diagonal"),
        }
    }
}

impl FromStr for Fill {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        if s == "diagonal" {
            return Ok(Fill::DiagonalOnly);
        }
        let unknown = |_| format!("unknown fill `{s}`: expected a level (0, 1, 2, ...) or diagonal");
        s.parse().map(Fill::Level).map_err(unknown)
    }
}

/// The off-diagonal pattern of ILU(k): blocks of the matrix have level 0, and eliminating row i with row k < i gives
/// block (i, j) the level `min(lev_ij, lev_ik + lev_kj + 1)`; blocks above level k are dropped.
///
/// **Cost**: as many steps as the numeric phase has products of blocks.
///
/// # Errors
/// [`ShapeError::TooLarge`] when the factors have more blocks than 32-bit indices count.
///
/// **Source**: Saad, *Iterative Methods for Sparse Linear Systems* (2003), section 10.3.3.
pub fn fill_pattern(pattern: &BlockPattern, level: u32) -> Result<BlockPattern, ShapeError> {
    let n = pattern.rows();
    let level = level.min(u32::MAX - 1);
    let (mut row_ptr, mut col_idx) = (vec![0_u32], Vec::with_capacity(pattern.nnzb()));
    // Levels, position by position of `col_idx`, and where the blocks above the diagonal start in each row.
    let mut levels: Vec<u32> = Vec::with_capacity(pattern.nnzb());
    let mut above = Vec::with_capacity(n);
    // Of the row at hand: the level of each column (one more, so that zero is none), its columns, those to eliminate.
    let mut level_of = vec![0_u32; n];
    let mut columns: Vec<u32> = Vec::new();
    let mut lower = BinaryHeap::new();
    for i in 0..n {
        columns.clear();
        for &j in pattern.columns(i).iter().filter(|&&j| j as usize != i) {
            level_of[j as usize] = 1;
            columns.push(j);
            if (j as usize) < i {
                lower.push(Reverse(j));
            }
        }
        while let Some(Reverse(k)) = lower.pop() {
            let k = k as usize;
            let own = level_of[k] - 1;
            for e in above[k]..row_ptr[k + 1] as usize {
                let j: u32 = col_idx[e];
                let new = own.saturating_add(levels[e]).saturating_add(1);
                if j as usize == i || new > level {
                    continue;
                }
                let old = &mut level_of[j as usize];
                if *old == 0 {
                    columns.push(j);
                    *old = new + 1;
                    if (j as usize) < i {
                        lower.push(Reverse(j));
                    }
                } else {
                    *old = (*old).min(new + 1);
                }
            }
        }
        columns.sort_unstable();
        above.push(col_idx.len() + columns.partition_point(|&j| (j as usize) < i));
        levels.extend(columns.iter().map(|&j| std::mem::take(&mut level_of[j as usize]) - 1));
        col_idx.extend_from_slice(&columns);
        row_ptr.push(index("blocks of the factors", col_idx.len())?);
    }
    Ok(BlockPattern::new(n, row_ptr, col_idx).expect("columns were sorted"))
}
