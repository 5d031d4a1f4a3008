//! How the entries of many systems lie in memory.

use super::TridiagError;
use chromaflow_device::Team;
use std::fmt;

/// The size of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of independent systems.
    pub systems: usize,
    /// Block rows of each system.
    pub rows: usize,
    /// Rank of the blocks (1 for scalar systems).
    pub rank: usize,
}

impl Shape {
    /// The largest rank.
    pub const MAX_RANK: usize = 64;

    /// A batch of `systems` systems of `rows` block rows of rank `rank`.
    pub fn new(systems: usize, rows: usize, rank: usize) -> Self {
        Self { systems, rows, rank }
    }

    /// Entries of one row of a block array (rank squared).
    pub fn block(self) -> usize {
        self.rank * self.rank
    }
}

/// The order of a batch's entries. `[..]` gives the shape of an array with `width` entries a row (rank squared for
/// coefficients, column-major; rank for right-hand sides), slowest index first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Array of structures, system by system: `[systems, rows, width]`.
    Aos,
    /// Structure of arrays, the system index fastest: `[rows, width, systems]`.
    Soa,
    /// Groups of `lanes` systems side by side: `[systems / lanes, rows, width, lanes]`, the last group padded (what
    /// the padding holds does not matter).
    Interleaved {
        /// Systems in a group, at least one.
        lanes: usize,
    },
    /// As a caller has them: entry e of row i of system s at `s * system + i * row + e * entry`. Arrays may be longer than
    /// their last entry needs (a leading dimension larger than the batch).
    ///
    /// No two entries may share a place: sorted by size, each stride reaches past all that the smaller ones do.
    Strided {
        /// From one system to the next.
        system: usize,
        /// From one row to the next.
        row: usize,
        /// From one entry of a row to the next.
        entry: usize,
    },
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::Aos => f.write_str("aos"),
            Layout::Soa => f.write_str("soa"),
            Layout::Interleaved { lanes } => write!(f, "interleaved{lanes}"),
            Layout::Strided { system, row, entry } => write!(f, "strided{system}:{row}:{entry}"),
        }
    }
}

impl Layout {
    /// Length of an array with `width` entries a row; the least there is where it is strided.
    ///
    /// # Errors
    /// [`TridiagError::TooLarge`] when that overflows, [`TridiagError::NoLanes`] for groups of none,
    /// [`TridiagError::Overlap`] for strides that give two entries one place.
    pub fn len(self, shape: Shape, width: usize) -> Result<usize, TridiagError> {
        if let Layout::Strided { system, row, entry } = self {
            return strided_len([(system, shape.systems), (row, shape.rows), (entry, width)], shape);
        }
        let systems = match self {
            Layout::Interleaved { lanes: 0 } => return Err(TridiagError::NoLanes),
            Layout::Interleaved { lanes } => shape.systems.checked_next_multiple_of(lanes),
            _ => Some(shape.systems),
        };
        systems
            .and_then(|s| s.checked_mul(shape.rows))
            .and_then(|n| n.checked_mul(width))
            .filter(|&n| n <= isize::MAX as usize / 16)
            .ok_or(TridiagError::TooLarge { shape })
    }

    /// Whether an array of `found` entries holds `width` a row.
    pub(crate) fn check(
        self,
        shape: Shape,
        width: usize,
        array: &'static str,
        found: usize,
    ) -> Result<(), TridiagError> {
        let expected = self.len(shape, width)?;
        let longer = matches!(self, Layout::Strided { .. }) && found > expected;
        if longer { Ok(()) } else { TridiagError::check_len(array, found, expected) }
    }

    /// Where the entries of `system` lie.
    pub(crate) fn place(self, shape: Shape, width: usize, system: usize) -> Place {
        match self {
            Layout::Aos => {
                Place { base: system * shape.rows * width, row: width, entry: 1, system: shape.rows * width }
            }
            Layout::Soa => {
                Place { base: system, row: width * shape.systems, entry: shape.systems, system: 1 }
            }
            Layout::Interleaved { lanes } => Place {
                base: system / lanes * shape.rows * width * lanes + system % lanes,
                row: width * lanes,
                entry: lanes,
                system: 1,
            },
            Layout::Strided { system: stride, row, entry } => {
                Place { base: system * stride, row, entry, system: stride }
            }
        }
    }

    /// Position of entry `entry` of row `row` of `system`.
    pub fn index(self, shape: Shape, width: usize, system: usize, row: usize, entry: usize) -> usize {
        let p = self.place(shape, width, system);
        p.base + row * p.row + entry * p.entry
    }
}

/// Where the last entry ends, of dimensions given by their strides and extents.
fn strided_len(mut dimensions: [(usize, usize); 3], shape: Shape) -> Result<usize, TridiagError> {
    if dimensions.iter().any(|d| d.1 == 0) {
        return Ok(0);
    }
    dimensions.sort_unstable();
    let mut end = 1usize;
    for (stride, extent) in dimensions.into_iter().filter(|d| d.1 > 1) {
        if stride < end {
            return Err(TridiagError::Overlap { stride, end });
        }
        let reach = stride.checked_mul(extent - 1).and_then(|n| n.checked_add(end));
        end = reach.filter(|&n| n <= isize::MAX as usize / 16).ok_or(TridiagError::TooLarge { shape })?;
    }
    Ok(end)
}

/// Strides of one array: entry e of row i of the s-th system from the base lies at `base + i row + e entry + s system`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub base: usize,
    pub row: usize,
    pub entry: usize,
    pub system: usize,
}

/// Systems moved together by [`convert`]: enough for whole cache lines on either side.
const TILE: usize = 16;

/// Copies an array with `width` entries a row from one layout into another; padding in the new one is zero.
///
/// **Shapes**: as [`Layout`] has them.
///
/// # Errors
/// [`TridiagError::Length`] when an array does not fit the shape.
///
/// ```
/// use chromaflow::tridiag::{Layout, Shape, convert};
/// let team = chromaflow_device::Team::new(1);
/// let shape = Shape::new(2, 3, 1);
/// let mut soa = [0.0; 6];
/// convert(&team, shape, 1, Layout::Aos, &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0], Layout::Soa, &mut soa).unwrap();
/// assert_eq!(soa, [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
/// ```
pub fn convert<T: Copy + Default + Send + Sync>(
    team: &Team,
    shape: Shape,
    width: usize,
    from: Layout,
    values: &[T],
    to: Layout,
    out: &mut [T],
) -> Result<(), TridiagError> {
    from.check(shape, width, "values", values.len())?;
    to.check(shape, width, "out", out.len())?;
    if let Layout::Interleaved { lanes } = to
        && !shape.systems.is_multiple_of(lanes)
    {
        let last = shape.systems / lanes * lanes * shape.rows * width;
        out[last..].fill(T::default());
    }
    let out = super::Shared::new(out);
    team.run(|member| {
        for tile in member.share(shape.systems.div_ceil(TILE)) {
            let systems = tile * TILE..((tile + 1) * TILE).min(shape.systems);
            for row in 0..shape.rows {
                for entry in 0..width {
                    for system in systems.clone() {
                        let value = values[from.index(shape, width, system, row, entry)];
                        out.set(to.index(shape, width, system, row, entry), value);
                    }
                }
            }
        }
    });
    Ok(())
}
