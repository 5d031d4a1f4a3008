#![allow(unsafe_code)]
//! Block incomplete LU factorization of 7-point stencils on structured blocks of cells.
//!
//! On this stencil no two neighbors of a cell are neighbors, so that ILU(0) changes the diagonal blocks alone:
//!
//! `D_i = A_ii - sum over m in (i-1, j-1, k-1) of A_im D_m^-1 A_mi`
//!
//! with `A_mi` the upper block **of the neighbor** (Eq. 1 of the paper takes it from the cell itself; its Alg. 4 and 9 are
//! right). Off-diagonal blocks are read where they lie, unless an apply is to have them in f32 or f16; the factorization keeps
//! one inverted block a cell. With them M^-1 b is a forward pass `y_i = D_i^-1 (b_i - sum A_im y_m)` and a backward pass
//! `x_i = y_i - D_i^-1 sum A_ip x_p` over the upper neighbors p.
//!
//! * `reference.rs`: the definition, sequential, in natural order.
//! * `cpu.rs`: block columns in vectors, and the inverse formed in registers. One thread goes cell by cell in natural
//!   order; several share out lines of cells along i, of which all with the same j + k are independent (a wavefront of
//!   lines). Every cell is computed in the same way by all, so that the result does not depend on the number of threads.
//!
//! * `cuda/` (feature `cuda`): three engines on a GPU, the paper's two styles among them.
//!
//! Many grid blocks are factored and applied together: a wavefront holds the lines of all of them.
//!
//! **Source**: Luo, Edwards, Luo, Mueller, *A fine-grained block ILU scheme on regular structures for GPGPUs* (2015).

mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod factor;
pub mod reference;
#[cfg(test)]
mod tests;

use super::block_ilu::triangle::{Values, ValuesMut};
use crate::shared::SharedMut;
use crate::sparse::{Jacobian, ShapeError, Stored, Unscale, check_factors, check_nb};
use crate::stop::{Control, StopCriterion};
use crate::{Outcome, Storage};
use chromaflow_device::{Buffer, Isa, Team};
use cpu::{Cells, Couplings};
use factor::Scratch;
use std::ops::Range;
use std::sync::Mutex;

/// A block-sparse matrix of the 7-point stencil on `I x J x K` cells, f64.
///
/// **Shapes**: cell `(i, j, k)` is number `i + I (j + J k)`; blocks are column-major. Blocks that would couple with a
/// cell outside are never read.
#[derive(Debug)]
pub struct StencilMatrix {
    dims: [usize; 3],
    nb: usize,
    /// Diagonal blocks, `[cells, nb, nb]`.
    pub diag: Buffer<f64>,
    /// Couplings with k-1, j-1, i-1: `[cells, 3, nb, nb]`.
    pub lower: Buffer<f64>,
    /// Couplings with i+1, j+1, k+1: `[cells, 3, nb, nb]`.
    pub upper: Buffer<f64>,
}

impl StencilMatrix {
    /// A matrix of zeros.
    ///
    /// # Errors
    /// [`ShapeError`] when `nb` lies outside 1..=128.
    pub fn zeroed(dims: [usize; 3], nb: usize) -> Result<Self, ShapeError> {
        check_nb(nb)?;
        let values = dims.iter().product::<usize>() * nb * nb;
        let [diag, lower, upper] = [1, 3, 3].map(|blocks| Buffer::zeroed(blocks * values));
        Ok(Self { dims, nb, diag, lower, upper })
    }

    /// The same matrix from block CSR, where rows are cells.
    ///
    /// # Errors
    /// [`NotAStencil`] when the rows are not as many as the cells, or a block couples cells that are not neighbors.
    pub fn from_jacobian(dims: [usize; 3], a: &Jacobian) -> Result<Self, NotAStencil> {
        let [ni, nj, nk] = dims;
        if a.rows() != ni * nj * nk {
            return Err(NotAStencil::Cells { rows: a.rows(), dims });
        }
        let (pattern, q) = (a.pattern(), a.nb() * a.nb());
        let mut stencil = Self::zeroed(dims, a.nb()).expect("a Jacobian's block size is in range");
        stencil.diag.copy_from_slice(&a.diag);
        let off = a.off_f64();
        let place = |cell: usize| [cell % ni, cell / ni % nj, cell / (ni * nj)];
        for row in 0..a.rows() {
            for position in pattern.range(row) {
                let col = pattern.col_idx()[position] as usize;
                let ([i, j, k], [i2, j2, k2]) = (place(row), place(col));
                let side = match (i.abs_diff(i2), j.abs_diff(j2), k.abs_diff(k2)) {
                    (1, 0, 0) => 0,
                    (0, 1, 0) => 1,
                    (0, 0, 1) => 2,
                    _ => return Err(NotAStencil::Coupling { row, col }),
                };
                let (to, s) =
                    if col < row { (&mut stencil.lower, 2 - side) } else { (&mut stencil.upper, side) };
                to[(3 * row + s) * q..][..q].copy_from_slice(&off[position * q..(position + 1) * q]);
            }
        }
        Ok(stencil)
    }

    /// Cells along i, j, k.
    pub fn dims(&self) -> [usize; 3] {
        self.dims
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.dims.iter().product()
    }

    /// The block size.
    pub fn nb(&self) -> usize {
        self.nb
    }

    /// `r = b - A x`
    ///
    /// **Shapes**: `[cells, nb]` each.
    ///
    /// # Panics
    /// When a length is wrong.
    pub fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        let n = self.cells() * self.nb;
        assert_eq!((b.len(), x.len(), r.len()), (n, n, n), "b, x and r have one value a row");
        let r = SharedMut(r.as_mut_ptr());
        let lines: Vec<Line> = natural(0, self.dims).collect();
        let cells = Cells::new(self, &[]);
        team.run(|member| {
            // SAFETY: lengths were checked, and each line has one member.
            unsafe { cpu::residual(Isa::detect(), &cells, &lines[member.share(lines.len())], b, x, r.get()) };
        });
    }
}

/// A matrix in block CSR that is not one of a 7-point stencil.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAStencil {
    /// Another number of rows.
    #[error("{rows} rows are not the cells of a block of {dims:?}")]
    Cells {
        /// Rows of the matrix.
        rows: usize,
        /// Cells that were asked for.
        dims: [usize; 3],
    },
    /// A block off the stencil.
    #[error("row {row} has a block in column {col}, which is no neighbor of its cell")]
    Coupling {
        /// The row.
        row: usize,
        /// The column.
        col: usize,
    },
}

/// A row of cells along i.
#[derive(Clone, Copy, Debug)]
struct Line {
    block: u32,
    j: u32,
    k: u32,
}

fn natural(block: usize, [_, nj, nk]: [usize; 3]) -> impl Iterator<Item = Line> {
    (0..nk as u32).flat_map(move |k| (0..nj as u32).map(move |j| Line { block: block as u32, j, k }))
}

/// Copies the couplings of a line in less than f64; blocks without a neighbor, which may hold anything, as zeros.
///
/// # Safety
/// `stored` has three blocks for each cell, and nobody else writes those of the line.
unsafe fn narrow_line(a: &StencilMatrix, line: Line, stored: &[ValuesMut; 2], blocks: &mut [f64]) {
    let ([ni, nj, nk], q) = (a.dims, a.nb * a.nb);
    let (j, k) = (line.j as usize, line.k as usize);
    for i in 0..ni {
        let cell = i + ni * (j + nj * k);
        let has = [[k > 0, j > 0, i > 0], [i + 1 < ni, j + 1 < nj, k + 1 < nk]];
        for (side, from) in [&a.lower, &a.upper].into_iter().enumerate() {
            let from = from[3 * cell * q..].chunks_exact(q).zip(has[side]);
            for (to, (from, has)) in blocks.chunks_exact_mut(q).zip(from) {
                if has { to.copy_from_slice(from) } else { to.fill(0.0) }
            }
            // SAFETY: the caller's promise.
            unsafe { stored[side].store(a.nb, a.nb, cell, 3 * cell, blocks) };
        }
    }
}

/// How to factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StructuredIluOptions {
    /// How an apply has the couplings, which are the off-diagonal factors: [`Storage::F64`](crate::Storage::F64) as they lie in the matrix,
    /// else as copies in less, made by each factorization.
    pub storage: Storage,
    /// Whether a diagonal block that elimination without pivoting does not invert well is inverted again with pivoting
    /// (and reported).
    pub pivot_guard: bool,
    /// Adds `shift * max |D_i|` to the diagonal of each diagonal block before it is factored; 0 for none.
    pub shift: f64,
}

impl Default for StructuredIluOptions {
    fn default() -> Self {
        Self { storage: Storage::F64, pivot_guard: true, shift: 0.0 }
    }
}

/// A cell of one of the grid blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellAt {
    /// The grid block.
    pub block: usize,
    /// Its cell.
    pub cell: usize,
}

/// What a factorization had to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StructuredIluReport {
    /// Cells whose diagonal block was inverted with pivoting, ascending.
    pub pivoted: Vec<CellAt>,
    /// Largest value that the shift added to a diagonal entry.
    pub shifted: f64,
}

/// A diagonal block that cannot be inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cell {} of block {}: the factored diagonal block is singular or not finite (try a shift)", .at.cell, .at.block
)]
pub struct SingularCell {
    /// Where.
    pub at: CellAt,
}

/// When to stop [`StructuredIlu::correct`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrectionSteps {
    /// The most steps: exactly as many when there is no tolerance.
    pub steps: usize,
    /// Stop when `|b - A x| <= tolerance |b|` over all grid blocks.
    pub tolerance: Option<f64>,
}

/// What correction steps did.
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectionReport {
    /// How they ended.
    pub outcome: Outcome,
    /// Steps done.
    pub steps: usize,
    /// Relative residual before every step, and after the last one where there is a tolerance.
    pub history: Vec<f64>,
}

/// A factorization of one or many 7-point matrices of one block size.
///
/// **Precision**: sums and diagonal blocks f64; off-diagonal factors as [`StructuredIluOptions::storage`] says. The factorization itself reads the
/// matrix in f64.
///
/// ```
/// use chromaflow::factor::structured_ilu::{StencilMatrix, StructuredIlu};
/// use chromaflow_device::Team;
/// // Along one line the stencil is tridiagonal: its ILU(0) is its LU.
/// let mut a = StencilMatrix::zeroed([3, 1, 1], 1)?;
/// a.diag.fill(4.0);
/// a.lower.fill(-1.0);
/// a.upper.fill(-1.0);
/// let team = Team::new(1);
/// let mut ilu = StructuredIlu::new(&[a.dims()], 1, Default::default(), &team)?;
/// ilu.factor(&team, &[&a])?;
/// let mut x = vec![vec![0.0; 3]];
/// ilu.solve(&team, &[&a], &[&[2., 4., 10.]], &mut x);
/// for (x, exact) in x[0].iter().zip([1., 2., 3.]) {
///     assert!((x - exact).abs() < 1e-15);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StructuredIlu {
    dims: Vec<[usize; 3]>,
    nb: usize,
    options: StructuredIluOptions,
    isa: Isa,
    inv_diag: Vec<Buffer<f64>>,
    /// The couplings of each grid block with lower and with upper neighbors, where they are stored in less than f64.
    narrow: Vec<[Values; 2]>,
    lines: Vec<Line>,
    /// Ranges of `lines` that do not need one another; a single one, in natural order, for one thread.
    levels: Vec<Range<usize>>,
}

impl StructuredIlu {
    /// Storage and schedule for grid blocks of `dims` cells.
    ///
    /// # Errors
    /// [`ShapeError`] when `nb` lies outside 1..=128 or couplings would be stored in bf16.
    pub fn new(
        dims: &[[usize; 3]],
        nb: usize,
        options: StructuredIluOptions,
        team: &Team,
    ) -> Result<Self, ShapeError> {
        check_nb(nb)?;
        check_factors(options.storage)?;
        let mut lines: Vec<Line> = dims.iter().enumerate().flat_map(|(b, &d)| natural(b, d)).collect();
        let mut levels = Vec::new();
        if team.size() == 1 {
            levels.push(0..lines.len());
        } else {
            lines.sort_by_key(|line| line.j + line.k);
            let mut start = 0;
            for level in lines.chunk_by(|a, b| a.j + a.k == b.j + b.k) {
                levels.push(start..start + level.len());
                start += level.len();
            }
        }
        let cells = |d: &[usize; 3]| d.iter().product::<usize>();
        let inv_diag = dims.iter().map(|d| Buffer::zeroed(cells(d) * nb * nb)).collect();
        let stored = dims.iter().filter(|_| options.storage != Storage::F64);
        let triangle = |d| Values::zeroed(options.storage, 3 * cells(d) * nb * nb, cells(d));
        let narrow = stored.map(|d| [triangle(d), triangle(d)]).collect();
        Ok(Self { dims: dims.to_vec(), nb, options, isa: Isa::detect(), inv_diag, narrow, lines, levels })
    }

    /// Bytes of the inverted blocks, and of copies of couplings.
    pub fn bytes(&self) -> usize {
        let narrow = self.narrow.iter().flatten().map(Values::bytes).sum::<usize>();
        self.inv_diag.iter().map(Buffer::bytes).sum::<usize>() + narrow
    }

    fn check(&self, matrices: &[&StencilMatrix]) {
        assert_eq!(matrices.len(), self.dims.len(), "one matrix a grid block");
        for (a, &dims) in matrices.iter().zip(&self.dims) {
            assert_eq!((a.dims, a.nb), (dims, self.nb), "the shape that the factorization was made for");
            let values = a.cells() * a.nb * a.nb;
            let found = (a.diag.len(), a.lower.len(), a.upper.len());
            assert_eq!(found, (values, 3 * values, 3 * values), "blocks of all cells");
        }
    }

    /// The numeric phase.
    ///
    /// # Errors
    /// [`SingularCell`] for a diagonal block that cannot be inverted; the factors are not usable then.
    ///
    /// # Panics
    /// When the matrices have other shapes than this was made for.
    pub fn factor(
        &mut self,
        team: &Team,
        matrices: &[&StencilMatrix],
    ) -> Result<StructuredIluReport, SingularCell> {
        self.check(matrices);
        let found = Mutex::new((StructuredIluReport::default(), None::<CellAt>));
        let inverses: Vec<_> = self.inv_diag.iter_mut().map(|v| SharedMut(v.as_mut_ptr())).collect();
        let cells: Vec<_> = matrices.iter().map(|a| Cells::new(a, &[])).collect();
        let narrow: Vec<[ValuesMut; 2]> =
            self.narrow.iter_mut().map(|v| v.each_mut().map(Values::shared)).collect();
        let (isa, nb, options) = (self.isa, self.nb, self.options);
        let (levels, lines) = (&self.levels, &self.lines);
        team.run(|member| {
            let mut scratch = Scratch::new(nb, options);
            let mut blocks = vec![0.0; 3 * nb * nb];
            for level in levels {
                let share = member.share(level.len());
                let lines = &lines[level.start + share.start..level.start + share.end];
                // Copies are made line by line, of blocks that were just read.
                for lines in lines.chunks(if narrow.is_empty() { lines.len().max(1) } else { 1 }) {
                    // SAFETY: shapes were checked; lines of a level do not need one another, and a barrier parts levels.
                    unsafe { factor::factor(isa, &cells, lines, &inverses, &mut scratch) };
                    if let Some(stored) = narrow.get(lines[0].block as usize) {
                        let a = matrices[lines[0].block as usize];
                        // SAFETY: there are three blocks for each cell, and each line has one member.
                        unsafe { narrow_line(a, lines[0], stored, &mut blocks) };
                    }
                }
                member.barrier();
            }
            let mut found = found.lock().expect("nobody panics with this locked");
            found.0.pivoted.append(&mut scratch.pivoted);
            found.0.shifted = found.0.shifted.max(scratch.shifted);
            found.1 = found.1.into_iter().chain(scratch.singular).min();
        });
        let (mut report, singular) = found.into_inner().expect("nobody panics with this locked");
        report.pivoted.sort_unstable();
        singular.map_or(Ok(report), |at| Err(SingularCell { at }))
    }

    /// x = M^-1 b for every grid block.
    ///
    /// # Panics
    /// When a shape is wrong.
    pub fn solve(&self, team: &Team, matrices: &[&StencilMatrix], b: &[&[f64]], x: &mut [Vec<f64>]) {
        self.check(matrices);
        assert_eq!((b.len(), x.len()), (matrices.len(), matrices.len()), "one b and one x a grid block");
        for ((a, b), x) in matrices.iter().zip(b).zip(x.iter()) {
            let n = a.cells() * a.nb;
            assert_eq!((b.len(), x.len()), (n, n), "b and x have one value a row");
        }
        let cells: Vec<_> = matrices.iter().zip(&self.inv_diag).map(|(a, inv)| Cells::new(a, inv)).collect();
        let x: Vec<_> = x.iter_mut().map(|x| SharedMut(x.as_mut_ptr())).collect();
        match self.options.storage {
            Storage::F64 => {
                let all = matrices.iter().map(|a| Couplings::new(&a.lower, &a.upper, [Unscale::One; 2]));
                self.solve_with(team, &cells, &all.collect::<Vec<_>>(), b, &x);
            }
            Storage::F32 => {
                let all = self.narrow.iter().filter_map(|v| match v {
                    [Values::F32(l), Values::F32(u)] => Some(Couplings::new(l, u, [Unscale::One; 2])),
                    _ => None,
                });
                self.solve_with(team, &cells, &all.collect::<Vec<_>>(), b, &x);
            }
            Storage::F16 | Storage::Bf16 => {
                let all = self.narrow.iter().filter_map(|v| match v {
                    [Values::F16 { values: l, .. }, Values::F16 { values: u, .. }] => {
                        Some(Couplings::new(l, u, v.each_ref().map(Values::unscale)))
                    }
                    _ => None,
                });
                self.solve_with(team, &cells, &all.collect::<Vec<_>>(), b, &x);
            }
        }
    }

    fn solve_with<T: Stored + Sync>(
        &self,
        team: &Team,
        cells: &[Cells<'_>],
        couplings: &[Couplings<'_, T>],
        b: &[&[f64]],
        x: &[SharedMut<f64>],
    ) {
        assert_eq!(couplings.len(), cells.len(), "couplings are stored as the options say");
        team.run(|member| {
            let share = |level: &Range<usize>| {
                let share = member.share(level.len());
                &self.lines[level.start + share.start..level.start + share.end]
            };
            for level in &self.levels {
                // SAFETY: shapes were checked; lines of a level do not need one another, and a barrier parts levels.
                unsafe { cpu::pass(self.isa, cells, couplings, share(level), Some(b), x) };
                member.barrier();
            }
            for level in self.levels.iter().rev() {
                // SAFETY: as above.
                unsafe { cpu::pass(self.isa, cells, couplings, share(level), None, x) };
                member.barrier();
            }
        });
    }

    /// Correction steps `x <- x + M^-1 (b - A x)` from the given x. `exchange` sees the residuals of all grid blocks
    /// before each step, and may add what blocks have from one another.
    ///
    /// # Panics
    /// When a shape is wrong.
    pub fn correct(
        &self,
        team: &Team,
        matrices: &[&StencilMatrix],
        b: &[&[f64]],
        x: &mut [Vec<f64>],
        until: CorrectionSteps,
        mut exchange: impl FnMut(&[Vec<f64>], &mut [Vec<f64>]),
    ) -> CorrectionReport {
        let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
        let norm_b = norm(&mut b.iter().flat_map(|b| b.iter().copied()));
        let mut residual: Vec<Vec<f64>> = b.iter().map(|b| vec![0.0; b.len()]).collect();
        let mut update = residual.clone();
        let control = Control { tolerance: until.tolerance.unwrap_or(0.0), max_iterations: until.steps };
        let mut criterion = None;
        let (mut history, mut outcome) = (Vec::new(), Outcome::IterationLimit);
        let mut steps = 0;
        loop {
            if steps == until.steps && until.tolerance.is_none() {
                break;
            }
            for (((a, b), x), r) in matrices.iter().zip(b).zip(x.iter()).zip(&mut residual) {
                a.residual(team, b, x, r);
            }
            exchange(x, &mut residual);
            let now = norm(&mut residual.iter().flatten().copied());
            let criterion = criterion.get_or_insert_with(|| StopCriterion::new(control, now, norm_b));
            history.push(now / criterion.scale());
            if let Some(end) = criterion.stop(now, steps) {
                outcome = end;
                break;
            }
            let right: Vec<&[f64]> = residual.iter().map(Vec::as_slice).collect();
            self.solve(team, matrices, &right, &mut update);
            for (x, update) in x.iter_mut().zip(&update) {
                x.iter_mut().zip(update).for_each(|(x, u)| *x += u);
            }
            steps += 1;
        }
        CorrectionReport { outcome, steps, history }
    }
}
