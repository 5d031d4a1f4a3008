//! The cells of a block and their ghosts as one array.

/// Layers of ghost cells around a block.
pub const GHOSTS: usize = 2;

/// A block's cells with [`GHOSTS`] layers around them, i fastest.
///
/// Faces are numbered as the cells above them: face `[i, j, k]` of axis 0 lies between the cells i - 1 and i, so that
/// arrays of faces have the same shape and a block's last face is its first ghost cell's lower one.
///
/// **Shapes**: arrays `[nk + 4, nj + 4, ni + 4]`; several components one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Cells along i, j, k, without ghosts.
    pub count: [usize; 3],
    /// Distance in memory of neighbors along i, j, k.
    pub stride: [usize; 3],
}

impl Cells {
    /// For a block of `count` cells.
    pub fn new(count: [usize; 3]) -> Self {
        let wide = count.map(|n| n + 2 * GHOSTS);
        Self { count, stride: [1, wide[0], wide[0] * wide[1]] }
    }

    /// Length of an array of one component.
    #[allow(clippy::len_without_is_empty)] // a block is never empty
    pub fn len(&self) -> usize {
        self.stride[2] * (self.count[2] + 2 * GHOSTS)
    }

    /// Cells without ghosts.
    pub fn interior(&self) -> usize {
        self.count.iter().product()
    }

    /// Where cell `[i, j, k]` lies; ghosts have indices below 0 or from `count` on.
    ///
    /// # Panics
    /// Outside the ghosts, in builds with debug assertions.
    #[inline(always)]
    pub fn at(&self, cell: [isize; 3]) -> usize {
        let mut at = 0;
        for d in 0..3 {
            let shifted = cell[d] + GHOSTS as isize;
            debug_assert!(
                shifted >= 0 && (shifted as usize) < self.count[d] + 2 * GHOSTS,
                "cell {} of axis {d}",
                cell[d]
            );
            at += shifted as usize * self.stride[d];
        }
        at
    }

    /// Where cell `[i, j, k]` of the block itself lies.
    #[inline(always)]
    pub fn inside(&self, cell: [usize; 3]) -> usize {
        self.at(cell.map(|i| i as isize))
    }

    /// The cell at a place in memory.
    pub fn cell(&self, at: usize) -> [isize; 3] {
        let g = GHOSTS as isize;
        [
            (at % self.stride[1]) as isize - g,
            (at % self.stride[2] / self.stride[1]) as isize - g,
            (at / self.stride[2]) as isize - g,
        ]
    }

    /// Rows of cells along i, without ghosts: the place of the first cell of each, j faster than k.
    pub fn rows(&self) -> impl Iterator<Item = usize> + use<> {
        let me = *self;
        (0..me.count[2]).flat_map(move |k| (0..me.count[1]).map(move |j| me.inside([0, j, k])))
    }
}
