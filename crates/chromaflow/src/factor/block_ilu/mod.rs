//! Block incomplete LU factorization without fill, on any pattern.
//!
//! M = L U with the pattern of A: row by row, `L_ik = A_ik U_kk^-1` and `A_ij -= L_ik U_kj` wherever block (i, j) is
//! stored. [`Fill::DiagonalOnly`] changes the diagonal blocks alone (DILU); on a 7-point stencil, where no two
//! neighbors of a cell are neighbors, both are the same.
//!
//! * `reference.rs`: the textbook.
//! * `kernels.rs`: block columns in SIMD lanes, the size and the instruction set chosen at run time.
//! * Parallel by level sets ([`LevelSchedule`]): one thread goes through the rows as they stand; several go level by
//!   level, and the blocks of each triangle lie in the order in which they are read.
//!
//! **Source**: Saad, *Iterative Methods for Sparse Linear Systems* (2003), Alg. 10.4 by blocks; Luo, Edwards, Luo,
//! Mueller, *A fine-grained block ILU scheme on regular structures for GPGPUs* (2015), whose Eq. 1 takes the upper
//! blocks from the wrong cell: they come from the neighbor, as its Alg. 4 has it.

pub(super) mod gauss_jordan;
mod kernels;
pub mod reference;
#[cfg(test)]
mod tests;

use crate::order::LevelSchedule;
use crate::sparse::{BlockPattern, Jacobian, OffDiagonal, ShapeError};
use chromaflow_device::{Buffer, Isa, SharedSlice, Team};
use kernels::{FactorTask, Scratch, Stored};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Which blocks the factorization changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// All stored blocks: block ILU(0).
    #[default]
    Zero,
    /// Diagonal blocks only: block DILU.
    DiagonalOnly,
}

/// How the factors are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FactorStorage {
    /// Off-diagonal factors in f64.
    F64,
    /// Off-diagonal factors in f32: half the bytes of an apply; sums and diagonal blocks stay f64.
    #[default]
    F32,
}

/// How to factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockIluOptions {
    /// Which blocks change.
    pub fill: Fill,
    /// How factors are stored.
    pub storage: FactorStorage,
    /// Whether a diagonal block with a small pivot is inverted again with partial pivoting (and reported).
    pub pivot_guard: bool,
    /// Adds `shift * max |D_i|` to the diagonal of each diagonal block before it is factored; 0 for none.
    pub shift: f64,
}

impl Default for BlockIluOptions {
    fn default() -> Self {
        Self { fill: Fill::Zero, storage: FactorStorage::F32, pivot_guard: true, shift: 0.0 }
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
/// **Precision**: sums in f64; off-diagonal factors as [`FactorStorage`] says; inverted diagonal blocks f64.
///
/// ```
/// use chromaflow::{BlockCsr, BlockPattern, Jacobian, Policy};
/// use chromaflow::factor::block_ilu::{BlockIlu, BlockIluOptions, FactorStorage};
/// use chromaflow_device::Team;
///
/// // A tridiagonal matrix has no fill: its ILU(0) is its LU, and one apply solves the system.
/// let pattern = BlockPattern::new(3, vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2])?;
/// let a = BlockCsr::new(pattern, 1, vec![4., -1., -1., 4., -1., -1., 4.])?;
/// let jacobian = Jacobian::from_csr(&a, Policy::D)?;
/// let team = Team::new(1);
/// let options = BlockIluOptions { storage: FactorStorage::F64, ..Default::default() };
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
    pattern: Arc<BlockPattern>,
    nb: usize,
    options: BlockIluOptions,
    isa: Isa,
    factors: Factors,
    inv_diag: Buffer<f64>,
    /// Levels of the lower and the upper triangle; one level stands for "as the rows stand" on a single thread.
    levels: [Vec<Range<usize>>; 2],
    depth: [usize; 2],
}

enum Factors {
    F64([Triangle<f64>; 2]),
    F32([Triangle<f32>; 2]),
}

/// One triangle's blocks in the order in which a solve reads them.
struct Triangle<T> {
    /// Row at each position.
    rows: Vec<u32>,
    /// Position of each row.
    position: Vec<u32>,
    /// First block of each position, `[rows + 1]`.
    ptr: Vec<u32>,
    /// Column of each block.
    cols: Vec<u32>,
    values: Buffer<T>,
}

impl<T: Stored> Triangle<T> {
    fn new(pattern: &BlockPattern, q: usize, rows: Vec<u32>, part: impl Fn(usize, usize) -> bool) -> Self {
        let mut position = vec![0; rows.len()];
        let (mut ptr, mut cols) = (Vec::with_capacity(rows.len() + 1), Vec::new());
        ptr.push(0);
        for (at, &row) in rows.iter().enumerate() {
            position[row as usize] = at as u32;
            cols.extend(pattern.columns(row as usize).iter().filter(|&&c| part(row as usize, c as usize)));
            ptr.push(cols.len() as u32);
        }
        let values = Buffer::zeroed(cols.len() * q);
        Self { rows, position, ptr, cols, values }
    }

    fn range(&self, position: usize) -> Range<usize> {
        self.ptr[position] as usize..self.ptr[position + 1] as usize
    }

    fn values_of(&self, position: usize, q: usize) -> Range<usize> {
        let blocks = self.range(position);
        blocks.start * q..blocks.end * q
    }

    fn bytes(&self) -> usize {
        self.values.bytes() + 4 * (self.rows.len() + self.position.len() + self.ptr.len() + self.cols.len())
    }
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
    /// The symbolic phase: level sets and storage for `pattern` (off-diagonal blocks, as a [`Jacobian`] has it).
    ///
    /// # Errors
    /// [`ShapeError`] when the block size lies outside 1..=128 or the pattern is not square.
    pub fn new(
        pattern: &Arc<BlockPattern>,
        nb: usize,
        options: BlockIluOptions,
        team: &Team,
    ) -> Result<Self, ShapeError> {
        crate::sparse::check_nb(nb)?;
        if pattern.rows() != pattern.cols() {
            return Err(ShapeError::NotSquare { rows: pattern.rows(), cols: pattern.cols() });
        }
        let (n, q) = (pattern.rows(), nb * nb);
        let schedules = [LevelSchedule::lower(pattern), LevelSchedule::upper(pattern)];
        let depth = [schedules[0].batches().len(), schedules[1].batches().len()];
        let whole = std::iter::once(0..n).collect::<Vec<_>>();
        let (orders, levels) = if team.size() == 1 {
            let ahead: Vec<u32> = (0..n as u32).collect();
            let back = ahead.iter().rev().copied().collect();
            ([ahead, back], [whole.clone(), whole])
        } else {
            let levels = [0, 1].map(|t| schedules[t].batches().iter().collect());
            (schedules.map(|s| s.rows().to_vec()), levels)
        };
        let [ahead, back] = orders;
        let factors = match options.storage {
            FactorStorage::F64 => Factors::F64([
                Triangle::new(pattern, q, ahead, |row, col| col < row),
                Triangle::new(pattern, q, back, |row, col| col > row),
            ]),
            FactorStorage::F32 => Factors::F32([
                Triangle::new(pattern, q, ahead, |row, col| col < row),
                Triangle::new(pattern, q, back, |row, col| col > row),
            ]),
        };
        let (pattern, isa) = (Arc::clone(pattern), Isa::detect());
        Ok(Self { pattern, nb, options, isa, factors, inv_diag: Buffer::zeroed(n * q), levels, depth })
    }

    /// Number of levels of the lower and of the upper triangle: how many steps a fully parallel solve takes.
    pub fn levels(&self) -> [usize; 2] {
        self.depth
    }

    /// Bytes of the factors and their indices.
    pub fn bytes(&self) -> usize {
        let triangles = match &self.factors {
            Factors::F64(t) => t[0].bytes() + t[1].bytes(),
            Factors::F32(t) => t[0].bytes() + t[1].bytes(),
        };
        triangles + self.inv_diag.bytes()
    }

    /// The numeric phase: factors the values of `a`.
    ///
    /// # Errors
    /// [`SingularRow`] for the first row (by number) of the first level whose diagonal block cannot be inverted; the
    /// factors are not usable then.
    ///
    /// # Panics
    /// When `a` has another pattern or block size than this was made for.
    pub fn factor(&mut self, a: &Jacobian, team: &Team) -> Result<BlockIluReport, SingularRow> {
        assert!(
            a.nb() == self.nb && **a.pattern() == *self.pattern,
            "another pattern than the symbolic phase's"
        );
        match &a.off {
            OffDiagonal::F64(off) => self.factor_from(off, &a.diag, team),
            OffDiagonal::F32(off) => self.factor_from(off, &a.diag, team),
            OffDiagonal::F16 { values, unscale } => {
                let q = self.nb * self.nb;
                let mut wide = Buffer::<f32>::zeroed(values.len());
                for row in 0..self.pattern.rows() {
                    let scale = unscale[if unscale.len() == 1 { 0 } else { row }];
                    let range = self.pattern.range(row);
                    let (from, to) = (range.start * q, range.end * q);
                    for (to, from) in wide[from..to].iter_mut().zip(&values[from..to]) {
                        *to = from.to_f32() * scale;
                    }
                }
                self.factor_from(&wide, &a.diag, team)
            }
        }
    }

    fn factor_from<S: Stored>(
        &mut self,
        off: &[S],
        diag: &[f64],
        team: &Team,
    ) -> Result<BlockIluReport, SingularRow> {
        let (nb, isa, options) = (self.nb, self.isa, self.options);
        let (pattern, levels) = (&*self.pattern, &self.levels[0]);
        match &mut self.factors {
            Factors::F64(t) => {
                numeric(isa, nb, options, pattern, levels, (off, diag), t, &mut self.inv_diag, team)
            }
            Factors::F32(t) => {
                numeric(isa, nb, options, pattern, levels, (off, diag), t, &mut self.inv_diag, team)
            }
        }
    }

    /// x = M^-1 b: a forward solve with L, a backward solve with U.
    ///
    /// **Shapes**: `b`, `x` `[rows, nb]`.
    ///
    /// # Panics
    /// When a length is wrong.
    pub fn solve(&self, team: &Team, b: &[f64], x: &mut [f64]) {
        let n = self.pattern.rows() * self.nb;
        assert_eq!((b.len(), x.len()), (n, n), "b and x have rows * nb values");
        match &self.factors {
            Factors::F64(t) => self.solve_with(t, team, b, x),
            Factors::F32(t) => self.solve_with(t, team, b, x),
        }
    }

    fn solve_with<T: Stored>(
        &self,
        [lower, upper]: &[Triangle<T>; 2],
        team: &Team,
        b: &[f64],
        x: &mut [f64],
    ) {
        let x = SharedSlice::new(x);
        team.run(|m| {
            let share = |level: &Range<usize>| {
                let part = m.share(level.len());
                level.start + part.start..level.start + part.end
            };
            for level in &self.levels[0] {
                kernels::solve(self.isa, self.nb, lower, None, Some(b), &x, share(level));
                m.barrier();
            }
            for level in &self.levels[1] {
                kernels::solve(self.isa, self.nb, upper, Some(&self.inv_diag), None, &x, share(level));
                m.barrier();
            }
        });
    }
}

fn numeric<S: Stored, T: Stored>(
    isa: Isa,
    nb: usize,
    options: BlockIluOptions,
    pattern: &BlockPattern,
    levels: &[Range<usize>],
    (off, diag): (&[S], &[f64]),
    [lower, upper]: &mut [Triangle<T>; 2],
    inv_diag: &mut [f64],
    team: &Team,
) -> Result<BlockIluReport, SingularRow> {
    let mut lower_values = std::mem::take(&mut lower.values);
    let mut upper_values = std::mem::take(&mut upper.values);
    let task = FactorTask {
        pattern,
        off,
        diag,
        lower,
        upper,
        lower_values: SharedSlice::new(&mut lower_values),
        upper_values: SharedSlice::new(&mut upper_values),
        inv_diag: SharedSlice::new(inv_diag),
        fill: options.fill,
        guard: options.pivot_guard,
        shift: options.shift,
    };
    let report = Mutex::new(BlockIluReport::default());
    let singular = Mutex::new(None::<u32>);
    team.run(|m| {
        let mut scratch = Scratch::new(pattern, nb);
        for level in levels {
            let part = m.share(level.len());
            let positions = level.start + part.start..level.start + part.end;
            if let Err(row) = kernels::factor(isa, nb, &task, positions, &mut scratch) {
                let mut first = singular.lock().expect("nobody panics with this locked");
                *first = Some(first.map_or(row, |f| f.min(row)));
            }
            m.barrier();
            // All see the same: nobody writes it again before the second barrier.
            let stop = singular.lock().expect("nobody panics with this locked").is_some();
            m.barrier();
            if stop {
                return;
            }
        }
        let mut all = report.lock().expect("nobody panics with this locked");
        all.pivoted.append(&mut scratch.pivoted);
        all.shifted = all.shifted.max(scratch.shifted);
    });
    (lower.values, upper.values) = (lower_values, upper_values);
    if let Some(row) = singular.into_inner().expect("nobody panics with this locked") {
        return Err(SingularRow { row: row as usize });
    }
    let mut report = report.into_inner().expect("nobody panics with this locked");
    report.pivoted.sort_unstable();
    Ok(report)
}
