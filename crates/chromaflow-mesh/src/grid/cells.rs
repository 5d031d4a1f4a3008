//! The cells of a block and their ghosts as one array.

/// Layers of ghost cells around a block.
pub const GHOSTS: usize = 2;

/// Rows are a multiple of so many entries long, and lie at multiples of it: the 32 bytes that a GPU's memory moves at a time.
pub const ALIGNED: usize = 4;

/// A block's cells with [`GHOSTS`] layers around them, i fastest.
///
/// Faces are numbered as the cells above them: face `[i, j, k]` of axis 0 lies between the cells i - 1 and i, so that
/// arrays of faces have the same shape and a block's last face is its first ghost cell's lower one.
///
/// Rows are filled up to a multiple of [`ALIGNED`] entries, with what belongs to no cell.
///
/// **Shapes**: arrays `[nk + 4, nj + 4, ni + 4]` with ni + 4 rounded up; several components one after another.
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
        let [ni, nj, _] = count.map(|n| n + 2 * GHOSTS);
        let row = ni.next_multiple_of(ALIGNED);
        Self { count, stride: [1, row, row * nj] }
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

    /// The cell at a place in memory; beyond the ghosts along i where a row is filled up.
    pub fn cell(&self, at: usize) -> [isize; 3] {
        let g = GHOSTS as isize;
        [
            (at % self.stride[1]) as isize - g,
            (at % self.stride[2] / self.stride[1]) as isize - g,
            (at / self.stride[2]) as isize - g,
        ]
    }

    /// Where the cells of the block lie, i fastest.
    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let ni = self.count[0];
        self.rows().flat_map(move |row| row..row + ni)
    }

    /// Where the cell of the block lies that has this number, i fastest.
    #[inline(always)]
    pub fn nth(&self, number: usize) -> usize {
        let [ni, nj, _] = self.count;
        self.inside([number % ni, number / ni % nj, number / (ni * nj)])
    }

    /// The number of the cell at a place in memory; none of a ghost.
    pub fn number(&self, at: usize) -> Option<usize> {
        let ([ni, nj, _], cell) = (self.count, self.cell(at).map(|n| n as usize));
        (0..3).all(|d| cell[d] < self.count[d]).then(|| cell[0] + ni * (cell[1] + nj * cell[2]))
    }

    /// Whether a cell or a ghost is at a place in memory.
    pub fn has(&self, at: usize) -> bool {
        at % self.stride[1] < self.count[0] + 2 * GHOSTS
    }

    /// Rows of cells along i, without ghosts: the place of the first cell of each, j faster than k.
    pub fn rows(&self) -> impl Iterator<Item = usize> + use<> {
        let me = *self;
        (0..me.count[2]).flat_map(move |k| (0..me.count[1]).map(move |j| me.inside([0, j, k])))
    }
}
