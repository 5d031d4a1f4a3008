//! Matrices that leave constants open, as those of pressures that nothing sets.

use super::{LinearSolver, SolverError, SolverOptions, kept};
use crate::krylov::LinearOperator;
use crate::vector::{axpy, dot, norm2};
use crate::{Jacobian, Permutation};
use chromaflow_device::Team;
use std::cell::RefCell;
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Sums of rows and columns that are so much smaller than those of magnitudes vanish: files have six digits at least.
const VANISHING: f64 = 1e-6;

/// Constants that a matrix A and its transpose take to zero, as orthonormal vectors in the order inside: of each component of the
/// blocks whose sums vanish in all rows; where there is none, of all components together.
pub(super) struct Constants {
    /// A u = 0.
    open: Vec<Vec<f64>>,
    /// A^T u = 0: no b with a part along u is a product of A.
    unreached: Vec<Vec<f64>>,
    /// The part of the last right-hand side along these.
    left_out: f64,
}

impl Constants {
    /// # Errors
    /// [`SolverError::NoConstants`] where A takes none to zero.
    fn of(matrix: &Jacobian, first: usize, permutation: &Permutation) -> Result<Self, SolverError> {
        let (rows, nb) = (matrix.rows(), matrix.nb());
        let [across, down] = sums(matrix);
        let open: Vec<_> = sets(&across, nb).into_iter().map(|set| unit(rows, nb, set)).collect();
        let unreached = sets(&down, nb).into_iter().map(|set| unit(rows, nb, set)).collect();
        if open.is_empty() && rows > 0 {
            let worst = |line: &[[f64; 2]]| total(line, 0..nb)[0].abs() / total(line, 0..nb)[1];
            let found = (0..rows * nb).find(|&at| worst(&across[at * nb..][..nb]) > VANISHING);
            let at = found.unwrap_or(0);
            let row = permutation.old_of_new()[at / nb] as usize + first;
            let sum = total(&across[at * nb..][..nb], 0..nb)[0];
            return Err(SolverError::NoConstants { row, entry: at % nb, sum });
        }
        Ok(Self { open, unreached, left_out: 0.0 })
    }
}

/// For every scalar row, by component of its columns, the sum of its entries and that of their magnitudes; the same of columns.
fn sums(matrix: &Jacobian) -> [Vec<[f64; 2]>; 2] {
    let (nb, pattern) = (matrix.nb(), matrix.pattern());
    let q = nb * nb;
    let mut both = [vec![[0.0; 2]; matrix.rows() * q], vec![[0.0; 2]; matrix.rows() * q]];
    let mut add = |row: usize, col: usize, block: &[f64]| {
        for (at, v) in block.iter().enumerate() {
            let (c, r) = (at / nb, at % nb);
            for (sums, place) in both.iter_mut().zip([(row * nb + r) * nb + c, (col * nb + c) * nb + r]) {
                sums[place][0] += v;
                sums[place][1] += v.abs();
            }
        }
    };
    let mut block = vec![0.0; q];
    for row in 0..matrix.rows() {
        add(row, row, &matrix.diag[row * q..][..q]);
        for k in pattern.range(row) {
            matrix.off.block(q, row, k, &mut block);
            add(row, pattern.col_idx()[k] as usize, &block);
        }
    }
    both
}

/// The sums over some components.
fn total(line: &[[f64; 2]], set: Range<usize>) -> [f64; 2] {
    line[set].iter().fold([0.0; 2], |[sum, size], [s, m]| [sum + s, size + m])
}

/// Components whose sums vanish everywhere, or all together.
fn sets(sums: &[[f64; 2]], nb: usize) -> Vec<Range<usize>> {
    let vanishes = |set: &Range<usize>| {
        sums.chunks_exact(nb).all(|line| {
            let [sum, size] = total(line, set.clone());
            sum.abs() <= VANISHING * size
        })
    };
    let mut found: Vec<Range<usize>> = (0..nb).map(|c| c..c + 1).filter(vanishes).collect();
    if found.is_empty() && vanishes(&(0..nb)) {
        found.push(0..nb);
    }
    found
}

/// The same number at these components of all rows; of length 1.
fn unit(rows: usize, nb: usize, set: Range<usize>) -> Vec<f64> {
    let value = ((rows * set.len()) as f64).sqrt().recip();
    (0..rows * nb).map(|at| if set.contains(&(at % nb)) { value } else { 0.0 }).collect()
}

/// Takes the parts along these vectors out of `v`; the norm of what is taken.
fn remove(team: &Team, along: &[Vec<f64>], v: &mut [f64]) -> f64 {
    let mut taken = 0.0;
    for u in along {
        let part = dot(team, u, v);
        axpy(team, -part, u, v);
        taken = part.hypot(taken);
    }
    taken
}

/// A, between vectors without the constants on either side.
pub(super) struct Open<'a> {
    operator: &'a dyn LinearOperator,
    constants: &'a Constants,
    /// x without constants: what rounding makes of large ones would be large, too.
    x: RefCell<Vec<f64>>,
}

impl<'a> Open<'a> {
    pub(super) fn new(operator: &'a dyn LinearOperator, constants: &'a Constants) -> Self {
        Self { operator, constants, x: RefCell::new(vec![0.0; operator.len()]) }
    }

    fn without<T>(&self, team: &Team, x: &[f64], job: impl FnOnce(&[f64]) -> T) -> T {
        let mut own = self.x.borrow_mut();
        own.copy_from_slice(x);
        remove(team, &self.constants.open, &mut own);
        job(&own)
    }
}

impl LinearOperator for Open<'_> {
    fn len(&self) -> usize {
        self.operator.len()
    }

    fn apply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        self.without(team, x, |x| self.operator.apply(team, x, y));
        remove(team, &self.constants.unreached, y);
    }

    fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        self.without(team, x, |x| self.operator.residual(team, b, x, r));
        remove(team, &self.constants.unreached, r);
    }

    fn go_on(&self, iteration: usize, residual: f64) -> bool {
        self.operator.go_on(iteration, residual)
    }
}

impl LinearSolver {
    /// Finds the constants of the matrix where the options ask for them and takes what no product reaches out of the right-hand side.
    ///
    /// # Errors
    /// [`SolverError::NoConstants`]; [`SolverError::Options`] where columns are rows of other ranks.
    pub(super) fn open_constants(&mut self) -> Result<(), SolverError> {
        if self.options.null_space == NullSpace::None {
            self.constants = None;
            return Ok(());
        }
        if self.link.is_some() || self.ghosts.count() > 0 || self.whole.is_some() {
            let text = "null_space = constant is for one rank alone: set null_space=none and set one unknown, or solve on one rank";
            return Err(SolverError::Options(text.to_owned()));
        }
        let constants = if let Some(found) = self.constants.take() {
            found
        } else {
            let exact = kept(&self.options, self.exact.as_ref())?;
            Constants::of(exact, self.first, &self.order.permutation)?
        };
        let size = norm2(&self.team, &self.b);
        let taken = remove(&self.team, &constants.unreached, &mut self.b);
        let left_out = if size > 0.0 { taken / size } else { 0.0 };
        self.constants = Some(Constants { left_out, ..constants });
        Ok(())
    }

    /// Takes the constants that the matrix leaves open out of the solution.
    pub(super) fn close_constants(&mut self) {
        if let Some(constants) = &self.constants {
            remove(&self.team, &constants.open, &mut self.x);
        }
    }

    /// Of the last solve with [`NullSpace::Constant`]: how many constants A takes to zero, how many its transpose does, and the norm of the part
    /// of b along these over that of b, which was left out.
    pub fn null_space(&self) -> Option<(usize, usize, f64)> {
        self.constants.as_ref().map(|found| (found.open.len(), found.unreached.len(), found.left_out))
    }
}

/// What a matrix takes to zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NullSpace {
    /// Nothing.
    #[default]
    None,
    /// Constants: pure Neumann problems, pressures that nothing sets. Which components of the blocks may be shifted by a constant is found from
    /// the matrix: those whose entries add up to zero in every row, or all together. The solution has mean zero in them, whatever the first guess.
    /// Where the columns of their equations add up to zero, too, the right-hand side and all residuals lose their mean: one that does
    /// not fit is solved for as nearly as can be, in the sense of least squares where A is symmetric, and tolerances are of what is left of b. (PETSc: `MatNullSpaceCreate` with
    /// `has_cnst`, `MatSetTransposeNullSpace`.)
    Constant,
}

impl SolverOptions {
    /// The same without a null space, for parts of a solver that know none.
    pub(super) fn closed(self) -> Self {
        Self { null_space: NullSpace::None, ..self }
    }
}
