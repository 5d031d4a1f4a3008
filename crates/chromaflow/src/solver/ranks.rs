//! A matrix whose rows are those of one rank: columns of other ranks, and how their values come here.
//!
//! Own rows couple with ghosts, the rows of other ranks that own rows need. A = [A_own A_ghost]; the preconditioner stands on
//! A_own, and A_ghost on the other side: relaxations take the ghosts' values of the sweep before, incomplete factors none.

use super::SolverError;
use super::arrays::{BlockLayout, Given, Value};
use super::layout::Rows;
use crate::dist::Links;
use crate::krylov::{LinearOperator, Preconditioner, Relaxation};
use crate::relax::{Guess, SolveOptions};
use crate::{Jacobian, Permutation, vector};
use chromaflow_device::Team;
use std::error::Error;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why ranks could not exchange or sum.
pub type RanksError = Box<dyn Error + Send + Sync>;

/// How a rank reaches the others: the host program's halo exchange and sum, over MPI or whatever it has.
///
/// All ranks call the same operations in the same order; an error on one of them does not stop the calls, so that none waits for
/// ever: NaN takes the place of what is missing, every rank sees it in the next sum, and the solve ends everywhere.
pub trait Ranks: Send {
    /// Begins to bring the values of the ghosts, the last rows of `x` `[rows + ghosts, nb]` in the order of the caller, whose
    /// first ones are this rank's. Work on own rows goes on until [`Ranks::finish`].
    ///
    /// # Errors
    /// Whatever keeps the messages from going.
    fn begin(&mut self, x: &mut [f64], nb: usize) -> Result<(), RanksError>;

    /// Waits until the ghosts of the same `x` have the values of their owners.
    ///
    /// # Errors
    /// Whatever keeps the messages from coming.
    fn finish(&mut self, x: &mut [f64], nb: usize) -> Result<(), RanksError>;

    /// Each value becomes its sum over all ranks, to the same bits on every one.
    ///
    /// # Errors
    /// Whatever keeps them apart.
    fn sum(&mut self, values: &mut [f64]) -> Result<(), RanksError>;
}

/// The blocks of own rows in columns of other ranks.
#[derive(Debug)]
pub(super) struct Ghosts {
    nb: usize,
    /// Columns of other ranks.
    count: usize,
    /// Rows (inside) that have such blocks, ascending; the first block of each, and the end.
    rows: Vec<u32>,
    ptr: Vec<u32>,
    /// Which ghost, and which of the caller's blocks, `[blocks]`.
    cols: Vec<u32>,
    source: Vec<u32>,
    /// `[blocks, nb, nb]`
    values: Vec<f64>,
}

impl Ghosts {
    /// No blocks.
    pub(super) fn none(nb: usize) -> Self {
        let none = Vec::new;
        Self { nb, count: 0, rows: none(), ptr: vec![0], cols: none(), source: none(), values: Vec::new() }
    }

    pub(super) fn new(given: &Rows, permutation: &Permutation, nb: usize) -> Self {
        let mut blocks: Vec<(u32, u32, u32)> = (given.beyond.iter())
            .map(|&(row, ghost, k)| (permutation.new_of_old()[row as usize], ghost, k))
            .collect();
        blocks.sort_unstable();
        let (mut rows, mut ptr): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for (at, block) in blocks.iter().enumerate() {
            if rows.last() != Some(&block.0) {
                rows.push(block.0);
                ptr.push(at as u32);
            }
        }
        ptr.push(blocks.len() as u32);
        Self {
            nb,
            count: given.ghosts,
            rows,
            ptr,
            cols: blocks.iter().map(|b| b.1).collect(),
            source: blocks.iter().map(|b| b.2).collect(),
            values: vec![0.0; blocks.len() * nb * nb],
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn blocks(&self) -> usize {
        self.cols.len()
    }

    pub(super) fn bytes(&self) -> usize {
        8 * self.values.len() + 4 * (self.rows.len() + self.ptr.len() + 2 * self.cols.len())
    }

    /// Takes the caller's values; the first of the caller's blocks that has an entry which is no number.
    pub(super) fn bring_in<V: Value>(&mut self, given: Given<'_, V>, layout: BlockLayout) -> Option<usize> {
        let (nb, q) = (self.nb, self.nb * self.nb);
        let mut bad = None;
        for (to, &k) in self.values.chunks_exact_mut(q).zip(&self.source) {
            let from = given.split(q).block(k as usize);
            for (at, to) in to.iter_mut().enumerate() {
                let at = if layout == BlockLayout::ColumnMajor { at } else { at % nb * nb + at / nb };
                *to = from[at].double();
            }
            if !to.iter().all(|v| v.is_finite()) {
                bad = Some(bad.map_or(k as usize, |b: usize| b.min(k as usize)));
            }
        }
        bad
    }

    /// Row (inside) and ghost of the caller's block `k`, where it is one of these.
    pub(super) fn place(&self, k: usize) -> Option<(usize, usize)> {
        let at = self.source.iter().position(|&s| s as usize == k)?;
        let row = self.ptr.partition_point(|&p| p as usize <= at) - 1;
        Some((self.rows[row] as usize, self.cols[at] as usize))
    }

    /// y += sign * A_ghost g, row by row in a fixed order of blocks.
    fn add(&self, sign: f64, ghosts: &[f64], y: &mut [f64]) {
        let nb = self.nb;
        for (at, &row) in self.rows.iter().enumerate() {
            let y = &mut y[row as usize * nb..][..nb];
            for k in self.ptr[at] as usize..self.ptr[at + 1] as usize {
                let x = &ghosts[self.cols[k] as usize * nb..][..nb];
                for (column, x) in self.values[k * nb * nb..][..nb * nb].chunks_exact(nb).zip(x) {
                    let x = sign * x;
                    y.iter_mut().zip(column).for_each(|(y, a)| *y += a * x);
                }
            }
        }
    }
}

/// The caller's ranks with the vector that they exchange.
pub(super) struct Link {
    ranks: Box<dyn Ranks>,
    /// `[rows + ghosts, nb]` in the order of the caller.
    x: Vec<f64>,
    failure: Option<RanksError>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("entries", &self.x.len())
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

impl Link {
    pub(super) fn new(ranks: Box<dyn Ranks>, entries: usize) -> Mutex<Self> {
        Mutex::new(Self { ranks, x: vec![0.0; entries], failure: None })
    }

    pub(super) fn bytes(&self) -> usize {
        8 * self.x.len()
    }

    /// Keeps the first failure.
    fn note(&mut self, result: Result<(), RanksError>) -> bool {
        let good = result.is_ok();
        if let Err(failure) = result {
            self.failure.get_or_insert(failure);
        }
        good
    }
}

/// Own rows joined with those of other ranks, for one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined<'a> {
    pub(super) ghosts: &'a Ghosts,
    pub(super) permutation: &'a Permutation,
    pub(super) link: &'a Mutex<Link>,
}

impl Joined<'_> {
    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what others need of `x` (inside).
    fn begin(&self, team: &Team, x: &[f64]) {
        let link = &mut *self.link();
        self.permutation.scatter_with(team, self.ghosts.nb, x, &mut link.x[..x.len()]);
        let result = link.ranks.begin(&mut link.x, self.ghosts.nb);
        link.note(result);
    }

    /// y += sign * A_ghost x with what has come of it; NaN where nothing has.
    fn finish(&self, sign: f64, y: &mut [f64]) {
        let link = &mut *self.link();
        let result = link.ranks.finish(&mut link.x, self.ghosts.nb);
        if link.note(result) && link.failure.is_none() {
            self.ghosts.add(sign, &link.x[y.len()..], y);
        } else {
            y.fill(f64::NAN);
        }
    }

    /// Whether this rank and all others are well, and how large what they have is: the sum of the largest magnitudes. Every rank has to ask.
    ///
    /// # Errors
    /// What is wrong here, or that something is elsewhere.
    pub(super) fn agree(&self, here: Result<(), SolverError>, largest: f64) -> Result<f64, SolverError> {
        let mut told = [if here.is_ok() { 0.0 } else { 1.0 }, largest.min(1e300)];
        self.sum(&mut told);
        here?;
        self.ended()?;
        let [bad, largest] = told;
        if bad == 0.0 { Ok(largest) } else { Err(SolverError::Elsewhere { count: bad as usize }) }
    }

    /// Ends a call.
    ///
    /// # Errors
    /// What the caller's ranks failed with during it.
    pub(super) fn ended(&self) -> Result<(), SolverError> {
        self.link().failure.take().map_or(Ok(()), |failure| Err(SolverError::Ranks(failure)))
    }
}

/// Vectors inside have own rows alone: there are no ghosts in them to fill or to clear.
impl Links for Joined<'_> {
    fn sum(&self, values: &mut [f64]) {
        let link = &mut *self.link();
        let result = link.ranks.sum(values);
        if !link.note(result) {
            values.fill(f64::NAN);
        }
    }

    fn exchange(&self, _width: usize, _x: &mut [f64]) {}

    fn clear(&self, _width: usize, _x: &mut [f64]) {}
}

/// The rows of this rank of a matrix on all of them.
pub(super) struct RankRows<'a> {
    pub(super) own: &'a Jacobian,
    pub(super) joined: Joined<'a>,
}

impl LinearOperator for RankRows<'_> {
    fn len(&self) -> usize {
        self.own.rows() * self.own.nb()
    }

    fn apply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        self.joined.begin(team, x);
        self.own.multiply(team, x, y);
        self.joined.finish(1.0, y);
    }

    fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        self.joined.begin(team, x);
        Jacobian::residual(self.own, team, b, x, r);
        self.joined.finish(-1.0, r);
    }

    fn links(&self) -> Option<&dyn Links> {
        Some(&self.joined)
    }
}

/// Sweeps over own rows, each with the values that ghosts had before it: block Jacobi's are those of the whole matrix, Gauss-Seidel's
/// those of PETSc's and hypre's "hybrid" kind.
pub(super) struct RankSweeps<'a> {
    pub(super) sweeps: Relaxation<'a>,
    pub(super) joined: Joined<'a>,
    /// The right-hand side without the ghosts' part.
    pub(super) rest: Vec<f64>,
}

impl Preconditioner for RankSweeps<'_> {
    fn apply(&mut self, team: &Team, r: &[f64], z: &mut [f64]) {
        let Relaxation { smoother, matrix, options } = &mut self.sweeps;
        if options.sweeps == 0 {
            z.fill(0.0);
        }
        for sweep in 0..options.sweeps {
            let guess = if sweep == 0 { Guess::Zero } else { Guess::Given };
            let once = SolveOptions { sweeps: 1, guess, ..*options };
            let mut rhs = r;
            if sweep > 0 {
                self.joined.begin(team, z);
                self.rest.clear();
                self.rest.extend_from_slice(r);
                self.joined.finish(-1.0, &mut self.rest);
                rhs = &self.rest;
            }
            let report = smoother.solve(matrix, rhs, z, &once);
            report.expect("the smoother is set up for this matrix and factored");
        }
        if vector::first_not_finite(team, z).is_some() {
            z.fill(f64::NAN); // whoever iterates ends with an outcome
        }
    }

    fn is_fixed(&self) -> bool {
        self.sweeps.is_fixed()
    }
}
