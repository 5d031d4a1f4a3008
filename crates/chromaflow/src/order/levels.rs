//! Level sets of triangular factors.

use super::RowBatches;
use crate::BlockPattern;

/// Rows in an order in which every row comes after the rows it needs, cut into levels of rows that do not need one
/// another.
///
/// The level of row i is one more than the highest level among the rows it needs: its columns below i for the lower
/// triangle, above i for the upper one. On a structured grid in natural order these are the hyperplanes
/// i + j + k = const. **Source**: Anderson and Saad, *Solving sparse triangular linear systems on parallel computers*
/// (1989); Luo, Edwards, Luo, Mueller, *A fine-grained block ILU scheme on regular structures for GPGPUs* (2015),
/// Alg. 1.
///
/// ```
/// use chromaflow::{BlockPattern, order::LevelSchedule};
/// let chain = BlockPattern::new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1])?; // 0 - 1 - 2
/// let levels = LevelSchedule::lower(&chain);
/// assert_eq!((levels.rows(), levels.batches().len()), (&[0, 1, 2][..], 3));
/// assert_eq!(LevelSchedule::upper(&chain).rows(), [2, 1, 0]);
/// # Ok::<(), chromaflow::sparse::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelSchedule {
    rows: Vec<u32>,
    batches: RowBatches,
}

impl LevelSchedule {
    /// Levels of the rows for a solve with the lower triangle (first row first).
    #[must_use]
    pub fn lower(pattern: &BlockPattern) -> Self {
        Self::new(pattern, 0..pattern.rows(), |row, col| col < row)
    }

    /// Levels of the rows for a solve with the upper triangle (last row first).
    #[must_use]
    pub fn upper(pattern: &BlockPattern) -> Self {
        Self::new(pattern, (0..pattern.rows()).rev(), |row, col| col > row)
    }

    fn new(
        pattern: &BlockPattern,
        rows: impl Iterator<Item = usize> + Clone,
        needs: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let mut level = vec![0_u32; pattern.rows()];
        let mut sizes = Vec::new();
        for row in rows.clone() {
            let needed = pattern.columns(row).iter().map(|&c| c as usize).filter(|&c| needs(row, c));
            let own = needed.map(|c| level[c] + 1).max().unwrap_or(0);
            level[row] = own;
            if sizes.len() <= own as usize {
                sizes.resize(own as usize + 1, 0);
            }
            sizes[own as usize] += 1;
        }
        let mut offsets = vec![0_u32];
        offsets.extend(sizes.iter().scan(0, |end, &size: &u32| {
            *end += size;
            Some(*end)
        }));
        let mut next = offsets.clone();
        let mut ordered = vec![0; pattern.rows()];
        for row in rows {
            let slot = &mut next[level[row] as usize];
            ordered[*slot as usize] = row as u32;
            *slot += 1;
        }
        Self { rows: ordered, batches: RowBatches::new(offsets) }
    }

    /// All rows, level by level; within a level in the order of the solve.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The levels: ranges of positions in [`LevelSchedule::rows`].
    pub fn batches(&self) -> &RowBatches {
        &self.batches
    }
}
