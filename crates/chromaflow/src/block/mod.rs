//! Dense nb x nb blocks, column-major: factor, solve, invert, multiply.
//!
//! Blocks are factored without pivoting, which a point-implicit Jacobian rarely needs and which is many times faster.
//! A guard checks every result: a solve with a right-hand side of the block's own scale must leave a residual that is
//! small against the terms it is made of, row by row, so that rows of different units are judged alike. A block that
//! fails is factored again with partial pivoting, and the row that holds it is reported.

mod dense;
mod lanes;
#[cfg(test)]
mod tests;

pub(crate) use dense::{Workspace, add_product, factor_guarded, invert_guarded, solve_factored};
pub(crate) use lanes::{MOST as MOST_IN_LANES, Task as LaneTask, run as run_in_lanes};

/// Elimination of blocks in registers for kernels of any crate, to be put before their text: `factor<N>`, `solve<N>`, `reciprocal`
/// and copies to shared memory that go on by themselves.
#[cfg(feature = "cuda")]
pub const BLOCK_CUH: &str = concat!("#line 1 \"block.cuh\"\n", include_str!("block.cuh"));

/// Makes the guard's right-hand side irregular: the golden ratio less one.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// Largest residual of the guard's solve, against the sum of its terms: about 1e4 roundings.
const GUARD: f64 = 2e-12;
/// Largest sum of terms, against the right-hand side: larger ones cancel, the block is close to singular.
const CANCELLATION: f64 = 1e10;

/// What became of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockHealth {
    /// Factored without pivoting.
    Sound,
    /// Needed partial pivoting.
    Pivoted,
    /// Has no inverse, or holds a NaN or infinity.
    Singular,
}

/// The LU factors of one block, P A = L U.
///
/// **Shapes**: `lu [nb (column), nb (row)]`: L below the diagonal (its ones left out), U above, and the *reciprocals*
/// of U's diagonal on it.
///
/// ```
/// use chromaflow::block::{BlockHealth, Lu};
/// let lu = Lu::factor(2, &[4.0, 2.0, 1.0, 3.0]); // columns (4, 2) and (1, 3)
/// assert_eq!(lu.health(), BlockHealth::Sound);
/// let mut x = [6.0, 8.0];
/// lu.solve(&mut x);
/// assert_eq!(x, [1.0, 2.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Lu {
    nb: usize,
    factors: Vec<f64>,
    pivots: Option<Vec<u8>>,
    health: BlockHealth,
}

impl Lu {
    /// Factors a block, with pivoting where the guard asks for it.
    ///
    /// # Panics
    /// When `nb` lies outside 1..=128 or `block` has not `nb * nb` values.
    #[must_use]
    pub fn factor(nb: usize, block: &[f64]) -> Self {
        assert!((1..=crate::MAX_NB).contains(&nb) && block.len() == nb * nb, "a block of 1 to 128 rows");
        let mut factors = block.to_vec();
        let mut work = Workspace::new(nb);
        let health = factor_guarded(nb, &mut factors, &mut work);
        let pivots = (health == BlockHealth::Pivoted).then(|| work.pivots()[..nb].to_vec());
        Self { nb, factors, pivots, health }
    }

    /// What became of the block.
    pub fn health(&self) -> BlockHealth {
        self.health
    }

    /// The values, as they lie.
    pub fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// x <- A^-1 x.
    ///
    /// # Panics
    /// When `x` has not `nb` values.
    pub fn solve(&self, x: &mut [f64]) {
        solve_factored(self.nb, &self.factors, self.pivots.as_deref(), x);
    }
}

/// The inverse of a block.
///
/// ```
/// let (inverse, _) = chromaflow::block::inverse(2, &[4.0, 2.0, 2.0, 2.0]);
/// assert_eq!(inverse, [0.5, -0.5, -0.5, 1.0]);
/// ```
///
/// # Panics
/// When `nb` lies outside 1..=128 or `block` has not `nb * nb` values.
#[must_use]
pub fn inverse(nb: usize, block: &[f64]) -> (Vec<f64>, BlockHealth) {
    assert!((1..=crate::MAX_NB).contains(&nb) && block.len() == nb * nb, "a block of 1 to 128 rows");
    let mut out = block.to_vec();
    let health = invert_guarded(nb, &mut out, &mut Workspace::new(nb));
    (out, health)
}
