//! The linear step: conversion to f16 where asked for, then sweeps, or a method around an approximate inverse.

#[cfg(feature = "cuda")]
mod cuda;

#[cfg(feature = "cuda")]
pub use cuda::{LinearCuda, Shape};

use super::FlowError;
use crate::config::Implicit;
use crate::numbering::Numbering;
use chromaflow::dist::Share;
use chromaflow::krylov::Gmres;
use chromaflow::order::{ColoringMethod, PlanOptions};
use chromaflow::relax::FactorReport;
use chromaflow::solver::{AssembledSolver, Method, PreconditionerKind, RowOrder, SolverOptions};
use chromaflow::{Jacobian, Policy, RowBatches};
use chromaflow_device::Team;
use std::sync::Arc;

/// Solves A x = b, well enough for a step, by the method of the set-up.
pub struct LinearSolver {
    team: Arc<Team>,
    solver: AssembledSolver,
    options: SolverOptions,
    diagonal_bytes: usize,
    share: Option<Arc<Share>>,
    /// Those of Newton-Krylov steps around it.
    pub(crate) vectors: Gmres,
}

/// How the nodes of a mesh are ordered for it: as [`plan_options`] says, in lines where they are relaxed, those that are `given` or others.
pub fn numbering<'a>(implicit: &Implicit, given: Option<&'a [Vec<u32>]>) -> Numbering<'a> {
    let lines = implicit.preconditioner == PreconditionerKind::Lines;
    Numbering { plan: plan_options(implicit), lines, given }
}

/// The order of the rows: by colors, but for incomplete factors and Gauss-Seidel sweeps, which have a choice. Fronts of Cuthill and McKee are colored for
/// the fill of incomplete factors.
pub fn plan_options(implicit: &Implicit) -> PlanOptions {
    let mut options = PlanOptions::default();
    if implicit.preconditioner.sweeps_in_levels() {
        options.rcm = implicit.order.rcm();
        options.coloring = ColoringMethod::Levels;
    }
    if let PreconditionerKind::Ilu(fill) = implicit.preconditioner {
        options.rcm = implicit.order.rcm();
        if implicit.order != RowOrder::Multicolor {
            options.rcm = options.rcm.for_fill(fill.levels());
            options.coloring = ColoringMethod::None;
        }
    }
    options
}

/// What the library is asked for: Krylov methods to a tolerance, Richardson's iteration by the number of sweeps or
/// corrections.
fn solver_options(implicit: &Implicit) -> SolverOptions {
    let fixed = implicit.method == Method::Richardson;
    SolverOptions {
        method: implicit.method,
        preconditioner: implicit.preconditioner,
        policy: implicit.policy,
        sweeps: if fixed { implicit.sweeps } else { implicit.preconditioner_sweeps },
        tolerance: if fixed { 0.0 } else { implicit.krylov_tolerance },
        max_iterations: implicit.krylov_iterations,
        restart: implicit.krylov_iterations,
        longest_restart: implicit.krylov_iterations,
        ..SolverOptions::default()
    }
}

impl LinearSolver {
    /// Sets up for matrices on the pattern of `jac`.
    pub fn new(
        team: &Arc<Team>,
        batches: &RowBatches,
        jac: &Jacobian,
        implicit: &Implicit,
    ) -> Result<Self, FlowError> {
        Self::over(team, batches, jac, implicit, None)
    }

    /// The same for the rows of a rank: right-hand sides are residuals, what is solved for solutions, as
    /// [`dist`](chromaflow::dist) has it.
    pub fn over(
        team: &Arc<Team>,
        batches: &RowBatches,
        jac: &Jacobian,
        implicit: &Implicit,
        share: Option<&Arc<Share>>,
    ) -> Result<Self, FlowError> {
        let options = solver_options(implicit);
        let (pattern, nb) = (jac.pattern(), jac.nb());
        let solver = match share {
            Some(share) => AssembledSolver::over_ranks(team, pattern, nb, batches, share, &options),
            None => AssembledSolver::new(team, pattern, nb, batches, &options),
        };
        let solver = solver.map_err(|e| FlowError::Linear(e.to_string()))?;
        let diagonal_bytes = size_of_val(&*jac.diag);
        let (team, vectors) = (Arc::clone(team), Gmres::default());
        Ok(Self { team, solver, options, diagonal_bytes, share: share.cloned(), vectors })
    }

    /// Bytes besides the Jacobian.
    pub fn bytes(&self) -> usize {
        let apart = self.options.preconditioner.is_relaxation() && !self.sweeps_alone();
        let diagonal = if apart { self.diagonal_bytes } else { 0 };
        diagonal + self.solver.factor_bytes() + self.solver.vector_bytes()[0]
    }

    /// Bytes of the vector that sweeps work on.
    pub fn work_bytes(&self) -> usize {
        self.solver.vector_bytes()[1]
    }

    /// Whether a step is a fixed number of sweeps, which need no matrix but their own.
    fn sweeps_alone(&self) -> bool {
        self.options.method == Method::Richardson && self.options.preconditioner.is_relaxation()
    }

    /// Converts the off-diagonal blocks to f16 in place, in policy `dsh`.
    pub fn convert(&self, jac: &mut Jacobian) {
        if self.options.policy == Policy::Dsh {
            // Over ranks the scale is that of the whole matrix.
            let of_all = |largest: f32| self.share.as_ref().map_or(largest, |share| share.largest(largest));
            jac.narrow_to_f16_together(&self.team, &of_all).expect("the blocks were assembled in f32");
        }
    }

    /// Solves from zero. Relaxations alone invert the diagonal blocks of `jac` in place; other methods leave them.
    ///
    /// Returns a measure of what is left of the residual: |b - A x| / |b| of a method that forms residuals; of a relaxation
    /// alone, where `measure` asks for it, |M^-1 (b - A x)| / |M^-1 b| before the last sweep, with M the sweep's own matrix:
    /// the size of the last sweep's correction over that of the first, which costs nothing. The row of a diagonal block
    /// that cannot be inverted comes back as an error.
    pub fn solve(
        &mut self,
        jac: &mut Jacobian,
        b: &[f64],
        x: &mut [f64],
        measure: bool,
    ) -> Result<Option<f64>, usize> {
        x.fill(0.0);
        self.factor(jac)?;
        if self.sweeps_alone() {
            return Ok(self.relax(jac, b, x, measure));
        }
        let solve = self.solver.solve(jac, jac, b, x).expect(FITS);
        Ok(Some(solve.relative_residual))
    }

    /// Makes ready to solve with `jac`; relaxations alone invert its diagonal blocks in place. The row of a block that cannot be
    /// inverted comes back as an error.
    pub fn factor(&mut self, jac: &mut Jacobian) -> Result<(), usize> {
        let report =
            if self.sweeps_alone() { self.solver.factor_in_place(jac) } else { self.solver.factor(jac) };
        let found = regular(&report.expect(FITS));
        let Some(share) = &self.share else { return found };
        // The same row on every rank, or none.
        share.lowest(found.err()).map_or(Ok(()), Err)
    }

    /// z = M r, the preconditioner of the matrix last factored: sweeps from zero, or one solve with incomplete factors.
    pub fn precondition(&mut self, jac: &Jacobian, r: &[f64], z: &mut [f64]) {
        self.solver.apply(jac, r, z).expect(FITS);
    }

    /// Sweeps from zero; see [`LinearSolver::solve`].
    fn relax(&mut self, jac: &Jacobian, b: &[f64], x: &mut [f64], measure: bool) -> Option<f64> {
        let sweeps = self.options.sweeps;
        if !(measure && sweeps > 2) {
            self.solver.apply(jac, b, x).expect(FITS);
            return None;
        }
        let mut sweep = |x: &mut [f64], count| self.solver.sweep(jac, b, x, count).expect(FITS);
        sweep(x, 1);
        let first = self.norm(jac.nb(), x, &[]);
        let mut sweep = |x: &mut [f64], count| self.solver.sweep(jac, b, x, count).expect(FITS);
        sweep(x, sweeps - 2);
        let before = x.to_vec();
        sweep(x, 1);
        let last = self.norm(jac.nb(), x, &before);
        (first > 0.0).then_some(last / first)
    }

    /// |x - y|, or |x| where there is no y; over ranks that of the whole system.
    fn norm(&self, nb: usize, x: &[f64], y: &[f64]) -> f64 {
        let part = |i: usize| x[i] - y.get(i).unwrap_or(&0.0);
        match &self.share {
            None => (0..x.len()).map(|i| part(i).powi(2)).sum::<f64>().sqrt(),
            Some(share) => {
                let [sum] =
                    share.sum_rows(|row| [(row * nb..(row + 1) * nb).map(|i| part(i).powi(2)).sum::<f64>()]);
                sum.sqrt()
            }
        }
    }
}

/// The first row whose diagonal block has no inverse is an error.
fn regular(found: &FactorReport) -> Result<(), usize> {
    found.singular_rows.first().map_or(Ok(()), |&row| Err(row as usize))
}

const FITS: &str = "the solver was set up for this matrix";
