//! Block incomplete LU factorization on any pattern.
//!
//! M = L U: row by row, `L_ik = A_ik U_kk^-1` and `A_ij -= L_ik U_kj` wherever the factors have block (i, j): with
//! [`Fill::Level`] 0 where the matrix has one, with higher levels also where fill is worth keeping.
//! [`Fill::DiagonalOnly`] changes the diagonal blocks alone (DILU); on a 7-point stencil, where no two neighbors of a
//! cell are neighbors, it is ILU(0).
//!
//! * `reference.rs`: the textbook.
//! * `fill.rs`: the pattern of the factors.
//! * `cpu.rs`, `kernels.rs`, `padded.rs`, `solve.rs`: threads level by level; block columns in SIMD lanes, the size and the instruction set
//!   chosen at run time; `scalars.rs`: blocks of one value.
//! * `wavefront.rs`: one thread goes through the rows as they stand; several go level by level through tiles of rows, and the
//!   blocks of each triangle lie in the order in which they are read. Results are the same bits.
//! * `cuda/` (feature `cuda`): the same by a warp a row, which waits for the rows it needs.
//!
//! **Source**: Saad, *Iterative Methods for Sparse Linear Systems* (2003), Alg. 10.4 by blocks; Luo, Edwards, Luo,
//! Mueller, *A fine-grained block ILU scheme on regular structures for GPGPUs* (2015), whose Eq. 1 takes the upper
//! blocks from the wrong cell: they come from the neighbor, as its Alg. 4 has it.

mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod fill;
pub(super) mod gauss_jordan;
mod kernels;
mod over_ranks;
mod padded;
pub mod reference;
pub(super) mod registers;
mod scalars;
mod solve;
#[cfg(test)]
mod tests;
pub(super) mod triangle;
mod wavefront;

pub(crate) use cpu::{RowAt, RowSource};
pub use fill::{Fill, fill_pattern};
pub use over_ranks::IluOverRanks;

use crate::Storage;
use crate::order::LevelSchedule;
use crate::sparse::{BlockPattern, ShapeError, check_factors};
use chromaflow_device::{Buffer, Isa, Team};
use std::sync::Arc;
use triangle::Triangle;
use wavefront::Wavefront;

/// How to factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockIluOptions {
    /// Which blocks the factors have.
    pub fill: Fill,
    /// How factors are stored.
    pub storage: Storage,
    /// Whether a diagonal block with a small pivot is inverted again with partial pivoting (and reported).
    pub pivot_guard: bool,
    /// Adds `shift * max |D_i|` to the diagonal of each diagonal block before it is factored; 0 for none.
    pub shift: f64,
}

impl Default for BlockIluOptions {
    fn default() -> Self {
        Self { fill: Fill::Level(0), storage: Storage::F32, pivot_guard: true, shift: 0.0 }
    }
}

/// What a factorization had to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockIluReport {
    /// Rows whose diagonal block was inverted with pivoting, ascending.
    pub pivoted: Vec<u32>,
    /// Largest value that the shift added to a diagonal entry.
    pub shifted: f64,
}

/// A diagonal block that cannot be inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row}: the factored diagonal block is singular or not finite (try a shift, or another order)")]
pub struct SingularRow {
    /// The row.
    pub row: usize,
}

/// A block ILU factorization: symbolic once for a pattern, numeric for each set of values, applied often.
///
/// **Precision**: sums in f64; off-diagonal factors as [`BlockIluOptions::storage`] says; inverted diagonal blocks f64.
///
/// ```
/// use chromaflow::{BlockCsr, BlockPattern, Jacobian, Policy};
/// use chromaflow::Storage;
/// use chromaflow::factor::block_ilu::{BlockIlu, BlockIluOptions};
/// use chromaflow_device::Team;
///
/// // A tridiagonal matrix has no fill: its ILU(0) is its LU, and one apply solves the system.
/// let pattern = BlockPattern::new(3, vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2])?;
/// let a = BlockCsr::new(pattern, 1, vec![4., -1., -1., 4., -1., -1., 4.])?;
/// let jacobian = Jacobian::from_csr(&a, Policy::D)?;
/// let team = Team::new(1);
/// let options = BlockIluOptions { storage: Storage::F64, ..Default::default() };
/// let mut ilu = BlockIlu::new(jacobian.pattern(), 1, options, &team)?;
/// ilu.factor(&jacobian, &team)?;
/// let mut x = [0.0; 3];
/// ilu.solve(&team, &[2., 4., 10.], &mut x);
/// for (x, exact) in x.iter().zip([1., 2., 3.]) {
///     assert!((x - exact).abs() < 1e-15);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BlockIlu {
    /// Of the matrix.
    pattern: Arc<BlockPattern>,
    /// Of the factors.
    filled: Arc<BlockPattern>,
    nb: usize,
    options: BlockIluOptions,
    isa: Isa,
    lower: Triangle,
    upper: Triangle,
    inv_diag: Buffer<f64>,
    /// Of the lower and the upper triangle; none where one thread goes through the rows as they stand.
    waves: Option<[Wavefront; 2]>,
}

/// Adds `shift * max |block|` to the diagonal of a block and returns what it added.
pub(super) fn add_shift(block: &mut [f64], nb: usize, ld: usize, shift: f64) -> f64 {
    if shift == 0.0 {
        return 0.0;
    }
    let largest = block.chunks(ld).take(nb).flat_map(|c| &c[..nb]).fold(0.0, |m: f64, v| m.max(v.abs()));
    (0..nb).for_each(|r| block[r * ld + r] += shift * largest);
    shift * largest
}

impl BlockIlu {
    /// The symbolic phase: level sets and storage for `pattern` (off-diagonal blocks, as a [`crate::Jacobian`] has it).
    ///
    /// # Errors
    /// [`ShapeError`] when the block size lies outside 1..=128, the pattern is not square, the factors would have more blocks than
    /// 32-bit indices count, or their storage is bf16.
    pub fn new(
        pattern: &Arc<BlockPattern>,
        nb: usize,
        options: BlockIluOptions,
        team: &Team,
    ) -> Result<Self, ShapeError> {
        crate::sparse::check_nb(nb)?;
        crate::sparse::check_square(pattern)?;
        check_factors(options.storage)?;
        let (n, q) = (pattern.rows(), nb * nb);
        let filled = match options.fill {
            Fill::Level(0) | Fill::DiagonalOnly => Arc::clone(pattern),
            Fill::Level(k) => Arc::new(fill_pattern(pattern, k)?),
        };
        let waves =
            (team.size() > 1).then(|| [false, true].map(|upper| Wavefront::new(&filled, upper, team.size())));
        let [ahead, back] = match &waves {
            Some(waves) => waves.each_ref().map(|wave| wave.rows.clone()),
            None => [(0..n as u32).collect(), (0..n as u32).rev().collect()],
        };
        let lower = Triangle::new(&filled, q, ahead, options.storage, false);
        let upper = Triangle::new(&filled, q, back, options.storage, true);
        let (pattern, inv_diag) = (Arc::clone(pattern), Buffer::zeroed(n * q));
        Ok(Self { pattern, filled, nb, options, isa: Isa::detect(), lower, upper, inv_diag, waves })
    }

    /// Number of levels of the lower and of the upper triangle: how many steps a fully parallel solve takes. Counted when asked for.
    pub fn levels(&self) -> [usize; 2] {
        [LevelSchedule::lower(&self.filled), LevelSchedule::upper(&self.filled)].map(|l| l.batches().len())
    }

    /// Off-diagonal blocks of the factors over those of the matrix: what fill costs in memory and in an apply.
    pub fn growth(&self) -> f64 {
        self.filled.nnzb() as f64 / self.pattern.nnzb().max(1) as f64
    }

    /// Bytes of the factors and their indices.
    pub fn bytes(&self) -> usize {
        self.lower.bytes() + self.upper.bytes() + self.inv_diag.bytes()
    }
}
