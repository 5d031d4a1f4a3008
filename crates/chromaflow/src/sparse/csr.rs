//! A block-sparse matrix in one array.

use super::{BlockPattern, ShapeError, check_len, check_nb};
use std::sync::Arc;

/// A block-sparse matrix A in f64, diagonal blocks among the others: the form in which matrices are exchanged,
/// multiplied and checked.
///
/// **Shapes**: `values [nnzb, nb (column), nb (row)]`, blocks column-major.
#[derive(Clone, Debug)]
pub struct BlockCsr {
    pattern: Arc<BlockPattern>,
    nb: usize,
    values: Vec<f64>,
}

impl BlockCsr {
    /// A matrix from its pattern and values.
    ///
    /// # Errors
    /// [`ShapeError`] when `nb` lies outside 1..=128 or `values` has not `nnzb * nb * nb` entries.
    pub fn new(
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        values: Vec<f64>,
    ) -> Result<Self, ShapeError> {
        let pattern = pattern.into();
        check_nb(nb)?;
        check_len("values", values.len(), pattern.nnzb() * nb * nb, || {
            format!("{} blocks of {nb} x {nb}", pattern.nnzb())
        })?;
        Ok(Self { pattern, nb, values })
    }

    /// Where the blocks are.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// The block size.
    pub fn nb(&self) -> usize {
        self.nb
    }

    /// All values, `[nnzb, nb (column), nb (row)]`.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All values, to be changed in place (the pattern stays).
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// The block at position `k` of the pattern, column-major.
    pub fn block(&self, k: usize) -> &[f64] {
        let q = self.nb * self.nb;
        &self.values[k * q..(k + 1) * q]
    }
}
