//! A batch's coefficients, wherever they lie.

use super::Real;
use super::{Layout, Shape, TridiagError};

/// Coefficients of a batch of systems, borrowed.
///
/// **Shapes**: `lower`, `diag`, `upper` (A, B, C) as [`Layout`] has it, with rank squared entries a row, blocks
/// column-major.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a, S> {
    pub(crate) shape: Shape,
    pub(crate) layout: Layout,
    pub(crate) lower: &'a [S],
    pub(crate) diag: &'a [S],
    pub(crate) upper: &'a [S],
    pub(crate) periodic: bool,
}

impl<'a, S: Real> Batch<'a, S> {
    /// Systems whose ends are free: A of the first row and C of the last are not used (they must be finite numbers or
    /// zero nonetheless where a method multiplies by them).
    ///
    /// # Errors
    /// [`TridiagError`] when an array does not fit.
    pub fn new(
        shape: Shape,
        layout: Layout,
        lower: &'a [S],
        diag: &'a [S],
        upper: &'a [S],
    ) -> Result<Self, TridiagError> {
        if !(1..=Shape::MAX_RANK).contains(&shape.rank) {
            return Err(TridiagError::Rank { rank: shape.rank });
        }
        if shape.rows == 0 {
            return Err(TridiagError::NoRows);
        }
        for (what, array) in [("lower", lower), ("diag", diag), ("upper", upper)] {
            layout.check(shape, shape.block(), what, array.len())?;
        }
        Ok(Self { shape, layout, lower, diag, upper, periodic: false })
    }

    /// The same with A of the first row acting on the last unknown and C of the last row on the first. On lines of one
    /// row both act on it; on lines of two both couplings between the rows add up.
    pub fn periodic(self) -> Self {
        Self { periodic: true, ..self }
    }

    /// Its size.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Its order in memory.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Largest |f - (A, B, C) x| over all equations, in f64: what a benchmark or a test checks.
    ///
    /// # Errors
    /// [`TridiagError::Length`].
    pub fn residual(&self, rhs: &[S], x: &[S]) -> Result<f64, TridiagError> {
        let (shape, m, n) = (self.shape, self.shape.rank, self.shape.rows);
        self.layout.check(shape, m, "rhs", rhs.len())?;
        self.layout.check(shape, m, "x", x.len())?;
        let mut worst = 0.0f64;
        for s in 0..shape.systems {
            for i in 0..n {
                let parts = [
                    (i > 0 || self.periodic).then_some((self.lower, (i + n - 1) % n)),
                    Some((self.diag, i)),
                    (i + 1 < n || self.periodic).then_some((self.upper, (i + 1) % n)),
                ];
                for r in 0..m {
                    let mut sum = rhs[self.layout.index(shape, m, s, i, r)].to_f64();
                    for (blocks, j) in parts.into_iter().flatten() {
                        for c in 0..m {
                            let b = blocks[self.layout.index(shape, m * m, s, i, c * m + r)].to_f64();
                            sum -= b * x[self.layout.index(shape, m, s, j, c)].to_f64();
                        }
                    }
                    // NaN must not be lost.
                    worst = if sum.is_nan() || worst.is_nan() { f64::NAN } else { worst.max(sum.abs()) };
                }
            }
        }
        Ok(worst)
    }

    /// One array of one system, row by row.
    pub(crate) fn gather<T: Real>(&self, values: &[S], width: usize, system: usize) -> Vec<T> {
        let p = self.layout.place(self.shape, width, system);
        (0..self.shape.rows * width)
            .map(|k| T::from_f64(values[p.base + k / width * p.row + k % width * p.entry].to_f64()))
            .collect()
    }
}
