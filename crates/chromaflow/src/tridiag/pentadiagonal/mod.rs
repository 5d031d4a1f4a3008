//! Scalar pentadiagonal systems in batches: implicit fourth differences.
//!
//! ```text
//! e_i x_{i-2} + a_i x_{i-1} + b_i x_i + c_i x_{i+1} + d_i x_{i+2} = f_i,      i = 0 .. rows - 1
//! ```
//!
//! Elimination of the two lower bands and back-substitution (`reference`), a vector of systems at a time (`cpu`), with
//! any number of right-hand sides at once. Coefficients that reach beyond the ends are not read, or act on the unknowns of
//! the other end where the lines are periodic.

pub(crate) mod cpu;
pub mod reference;
#[cfg(test)]
mod tests;

use super::groups::{Array, Target, Workers};
use super::lanes::width;
use super::{Layout, LineOutcome, Precision, Real, Shape, Shared, TridiagError};
use chromaflow_device::{Isa, Team};
use std::marker::PhantomData;

/// Coefficients of a batch of pentadiagonal systems, borrowed: e, a, b, c, d from the lowest band to the highest.
///
/// **Shapes**: each as [`Layout`] has it, one entry a row.
#[derive(Clone, Copy, Debug)]
pub struct PentaBatch<'a, S> {
    shape: Shape,
    layout: Layout,
    bands: [&'a [S]; 5],
    periodic: bool,
}

const NAMES: [&str; 5] = ["lower2", "lower", "diag", "upper", "upper2"];

impl<'a, S: Real> PentaBatch<'a, S> {
    /// `systems` systems of `rows` rows, their ends free.
    ///
    /// # Errors
    /// [`TridiagError`] when an array does not fit or there are no rows.
    pub fn new(
        systems: usize,
        rows: usize,
        layout: Layout,
        bands: [&'a [S]; 5],
    ) -> Result<Self, TridiagError> {
        let shape = Shape::new(systems, rows, 1);
        if rows == 0 {
            return Err(TridiagError::NoRows);
        }
        let len = layout.len(shape, 1)?;
        for (name, band) in NAMES.into_iter().zip(&bands) {
            TridiagError::check_len(name, band.len(), len)?;
        }
        Ok(Self { shape, layout, bands, periodic: false })
    }

    /// The same with unknowns counted around the ends: x_{-1} is the last, x_rows the first. On lines of fewer than five
    /// rows coefficients that meet add up.
    pub fn periodic(self) -> Self {
        Self { periodic: true, ..self }
    }

    /// The five coefficients of a row, as f64.
    fn row(&self, system: usize, row: usize) -> [f64; 5] {
        self.bands.map(|band| band[self.layout.index(self.shape, 1, system, row, 0)].to_f64())
    }
}

/// Solves batches of pentadiagonal systems; keeps its work space between calls.
///
/// **Precision**: as `P` says. Results do not depend on the number of threads.
///
/// ```
/// use chromaflow::tridiag::{Double, Layout, LineOutcome, PentaBatch, PentaSolver};
/// use chromaflow_device::Team;
/// // The fourth difference of a cubic vanishes: x_i = i^3 with its values beyond the ends on the right-hand side.
/// let (one, four, six) = ([1.0; 4], [-4.0; 4], [6.0; 4]);
/// let batch = PentaBatch::new(1, 4, Layout::Aos, [&one, &four, &six, &four, &one])?;
/// let cube = |i: i32| f64::from(i).powi(3);
/// let f = [4.0 * cube(-1) - cube(-2), -cube(-1), -cube(4), 4.0 * cube(4) - cube(5)];
/// let mut x = [0.0; 4];
/// let mut solver = PentaSolver::<Double>::new();
/// let outcome = solver.solve(&Team::new(1), &batch, 1, &f, &mut x)?;
/// assert_eq!(outcome, LineOutcome::Solved);
/// assert!(x.iter().zip([0.0, 1.0, 8.0, 27.0]).all(|(x, exact)| (x - exact as f64).abs() < 1e-12));
/// # Ok::<(), chromaflow::tridiag::TridiagError>(())
/// ```
pub struct PentaSolver<P> {
    isa: Isa,
    workers: Workers,
    precision: PhantomData<P>,
}

impl<P: Precision> Default for PentaSolver<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Precision> PentaSolver<P> {
    /// A solver with no work space yet, with the best vector instructions there are.
    pub fn new() -> Self {
        Self::with_isa(Isa::detect())
    }

    /// The same with weaker vector instructions, or the best there are.
    pub fn with_isa(isa: Isa) -> Self {
        Self { isa: isa.min(Isa::strongest()), workers: Workers::default(), precision: PhantomData }
    }

    /// The number of systems that go through the vector unit together: data interleaved by it are read as they lie.
    pub fn lanes(&self) -> usize {
        width::<P>(self.isa)
    }

    /// Solves every system for `columns` right-hand sides; the inputs are kept.
    ///
    /// **Shapes**: `rhs`, `x` in the batch's layout with `columns` entries a row. **Outcome**: a zero pivot, or numbers that
    /// overflow, are a [`LineOutcome::Breakdown`] that names the first such system and its row.
    ///
    /// # Errors
    /// [`TridiagError::Length`].
    pub fn solve(
        &mut self,
        team: &Team,
        batch: &PentaBatch<'_, P::Store>,
        columns: usize,
        rhs: &[P::Store],
        x: &mut [P::Store],
    ) -> Result<LineOutcome, TridiagError> {
        let shape = Shape::new(batch.shape.systems, batch.shape.rows, columns);
        let len = batch.layout.len(shape, columns)?;
        TridiagError::check_len("rhs", rhs.len(), len)?;
        TridiagError::check_len("x", x.len(), len)?;
        if shape.systems == 0 || columns == 0 {
            return Ok(LineOutcome::Solved);
        }
        let (isa, layout) = (self.isa, batch.layout);
        let target = Target::<P> { values: Shared::new(x), layout, shape };
        let bad = self.workers.run(team, |part| {
            let work = cpu::Work {
                bands: batch.bands.map(|values| Array { values, layout, shape: batch.shape, width: 1 }),
                rhs: Array { values: rhs, layout, shape, width: columns },
                x: &target,
                periodic: batch.periodic,
                part,
            };
            P::run_penta(isa, work)
        });
        Ok(bad.map_or(LineOutcome::Solved, |vector| diagnose(batch, shape, x, vector * self.lanes())))
    }
}

/// The first system from `start` on whose solution is not finite, and its row.
fn diagnose<S: Real>(batch: &PentaBatch<'_, S>, shape: Shape, x: &[S], start: usize) -> LineOutcome {
    for system in start..shape.systems {
        let finite = |row: usize| {
            (0..shape.rank)
                .all(|c| x[batch.layout.index(shape, shape.rank, system, row, c)].to_f64().is_finite())
        };
        let Some(first) = (0..shape.rows).find(|&row| !finite(row)) else { continue };
        let bands: Vec<[f64; 5]> = (0..shape.rows).map(|row| batch.row(system, row)).collect();
        let pivot =
            if batch.periodic { None } else { reference::solve(&bands, &vec![0.0; shape.rows]).err() };
        return LineOutcome::Breakdown { system, row: pivot.unwrap_or(first) };
    }
    LineOutcome::Solved
}
