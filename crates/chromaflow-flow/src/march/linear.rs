//! The linear step: conversion to f16 where asked for, then sweeps, or a Krylov method around an approximate inverse.

use super::FlowError;
use crate::config::Implicit;
use chromaflow::factor::block_ilu::{BlockIlu, BlockIluOptions, FactorStorage};
use chromaflow::krylov::{
    BiCgStab, Control, Gmres, Identity, Preconditioner, Relaxation, Richardson, Smoother,
};
use chromaflow::order::{ColoringMethod, PlanOptions};
use chromaflow::relax::{Guess, Jacobi, Multicolor, RelaxOptions, SolveOptions};
use chromaflow::solver::{Method, PreconditionerKind, RowOrder};
use chromaflow::sparse::HalfScale;
use chromaflow::{Jacobian, Outcome, Policy, RowBatches};
use chromaflow_device::Team;
use std::sync::Arc;

/// What stands for an approximate inverse of the matrix.
enum Inverse {
    None,
    Relaxation(Box<Smoother>),
    Ilu(Box<BlockIlu>),
}

/// Solves A x = b, well enough for a step, by the method of the set-up.
pub struct LinearSolver {
    team: Arc<Team>,
    inverse: Inverse,
    gmres: Gmres,
    options: Implicit,
    /// Unknowns and bytes of an inverted diagonal.
    unknowns: usize,
    diagonal_bytes: usize,
}

/// The relaxation or factorization that a method works with.
pub(super) fn inverse_of(implicit: &Implicit) -> PreconditionerKind {
    match implicit.method {
        Method::Multicolor => PreconditionerKind::Multicolor,
        Method::Jacobi => PreconditionerKind::Jacobi,
        Method::Ilu0 => PreconditionerKind::Ilu,
        Method::Gmres | Method::BiCgStab => implicit.preconditioner,
    }
}

/// The order of the rows: by colors, but for incomplete factors, which have a choice.
pub fn plan_options(implicit: &Implicit) -> PlanOptions {
    let mut options = PlanOptions::default();
    if inverse_of(implicit) == PreconditionerKind::Ilu {
        options.rcm = implicit.order != RowOrder::Natural;
        if implicit.order != RowOrder::Multicolor {
            options.coloring = ColoringMethod::None;
        }
    }
    options
}

impl LinearSolver {
    /// Sets up for matrices on the pattern of `jac`.
    pub fn new(
        team: &Arc<Team>,
        batches: &RowBatches,
        jac: &Jacobian,
        implicit: &Implicit,
    ) -> Result<Self, FlowError> {
        let fault = |e: &dyn std::fmt::Display| FlowError::Linear(e.to_string());
        let (pattern, nb, setup) = (jac.pattern().clone(), jac.nb(), RelaxOptions::default());
        let inverse = match inverse_of(implicit) {
            PreconditionerKind::None => Inverse::None,
            PreconditionerKind::Multicolor => {
                let multicolor = Multicolor::new(Arc::clone(team), pattern, nb, batches, setup);
                Inverse::Relaxation(Box::new(Smoother::Multicolor(multicolor.map_err(|e| fault(&e))?)))
            }
            PreconditionerKind::Jacobi => {
                let jacobi = Jacobi::new(Arc::clone(team), pattern, nb, setup);
                Inverse::Relaxation(Box::new(Smoother::Jacobi(jacobi.map_err(|e| fault(&e))?)))
            }
            PreconditionerKind::Ilu => {
                let storage = FactorStorage::of(implicit.policy);
                let options = BlockIluOptions { fill: implicit.fill, storage, ..Default::default() };
                let ilu = BlockIlu::new(&pattern, nb, options, team).map_err(|e| fault(&e))?;
                Inverse::Ilu(Box::new(ilu))
            }
        };
        Ok(Self {
            team: Arc::clone(team),
            inverse,
            gmres: Gmres::new(implicit.krylov_iterations),
            options: *implicit,
            unknowns: jac.rows() * nb,
            diagonal_bytes: size_of_val(&*jac.diag),
        })
    }

    /// Bytes besides the Jacobian.
    pub fn bytes(&self) -> usize {
        let krylov = matches!(self.options.method, Method::Gmres | Method::BiCgStab);
        let vectors = match self.options.method {
            Method::Gmres if self.keeps_one_basis() => self.options.krylov_iterations + 5,
            Method::Gmres => 2 * self.options.krylov_iterations + 3,
            Method::BiCgStab => 9,
            Method::Ilu0 => 2,
            Method::Multicolor | Method::Jacobi => 0,
        };
        let inverse = match &self.inverse {
            Inverse::Relaxation(_) if krylov => self.diagonal_bytes,
            Inverse::Ilu(ilu) => ilu.bytes(),
            Inverse::None | Inverse::Relaxation(_) => 0,
        };
        inverse + 8 * vectors * self.unknowns
    }

    /// Whether GMRES knows its preconditioner for the same in every iteration.
    fn keeps_one_basis(&self) -> bool {
        !matches!(self.inverse, Inverse::Relaxation(_)) || self.options.policy == Policy::D
    }

    /// Bytes of the vector that sweeps work on.
    pub fn work_bytes(&self) -> usize {
        match &self.inverse {
            Inverse::Relaxation(_) => self.unknowns * if self.options.policy == Policy::D { 8 } else { 4 },
            Inverse::Ilu(_) | Inverse::None => 0,
        }
    }

    /// Makes the memory ready for assembly in f32 again.
    pub fn prepare(&self, jac: &mut Jacobian) {
        if self.options.policy == Policy::Dsh {
            jac.restore_f32();
        }
    }

    /// Converts the off-diagonal blocks to f16 in place, in policy `dsh`.
    pub fn convert(&self, jac: &mut Jacobian) {
        if self.options.policy == Policy::Dsh {
            jac.narrow_to_f16(&self.team, HalfScale::Global).expect("the blocks were assembled in f32");
        }
    }

    /// Solves from zero. Relaxations alone invert the diagonal blocks of `jac` in place; Krylov methods leave them.
    ///
    /// Returns a measure of what is left of the residual: |b - A x| / |b| of a Krylov method; of a relaxation alone,
    /// where `measure` asks for it, |M^-1 (b - A x)| / |M^-1 b| before the last sweep, with M the sweep's own matrix:
    /// the size of the last sweep's correction over that of the first, which costs nothing. The row of a diagonal block
    /// that cannot be inverted comes back as an error.
    pub fn solve(
        &mut self,
        jac: &mut Jacobian,
        b: &[f64],
        x: &mut [f64],
        measure: bool,
    ) -> Result<Option<f64>, usize> {
        match (&mut self.inverse, self.options.method) {
            (Inverse::Relaxation(smoother), Method::Multicolor | Method::Jacobi) => {
                smoother.factor_in_place(jac).expect(FITS);
                relax(smoother, jac, b, x, self.options.sweeps, measure)
            }
            _ => self.iterate(jac, b, x),
        }
    }

    fn iterate(&mut self, jac: &Jacobian, b: &[f64], x: &mut [f64]) -> Result<Option<f64>, usize> {
        let options = &self.options;
        let (mut identity, mut relaxation);
        let m: &mut dyn Preconditioner = match &mut self.inverse {
            Inverse::None => {
                identity = Identity;
                &mut identity
            }
            Inverse::Relaxation(smoother) => {
                if let Some(&row) = smoother.factor(jac).expect(FITS).singular_rows.first() {
                    return Err(row as usize);
                }
                let sweeps = SolveOptions::sweeps(options.preconditioner_sweeps);
                relaxation = Relaxation { smoother, matrix: jac, options: sweeps };
                &mut relaxation
            }
            Inverse::Ilu(ilu) => {
                ilu.factor(jac, &self.team).map_err(|singular| singular.row)?;
                &mut **ilu
            }
        };
        x.fill(0.0);
        let control =
            Control { tolerance: options.krylov_tolerance, max_iterations: options.krylov_iterations };
        let solve = match options.method {
            Method::BiCgStab => BiCgStab.solve(&self.team, jac, m, b, x, &control),
            Method::Ilu0 => {
                let control = Control { tolerance: 0.0, max_iterations: options.sweeps };
                Richardson::default().solve(&self.team, jac, m, b, x, &control)
            }
            _ => self.gmres.solve(&self.team, jac, m, b, x, &control),
        };
        Ok(Some(solve.relative_residual))
    }
}

/// Sweeps from zero; see [`LinearSolver::solve`].
fn relax(
    smoother: &mut Smoother,
    jac: &Jacobian,
    b: &[f64],
    x: &mut [f64],
    sweeps: usize,
    measure: bool,
) -> Result<Option<f64>, usize> {
    let mut sweep = |x: &mut [f64], count: usize, guess: Guess| {
        let options = SolveOptions { guess, ..SolveOptions::sweeps(count) };
        match smoother.solve(jac, b, x, &options).expect(FITS).outcome {
            Outcome::Breakdown { row } => Err(row),
            _ => Ok(()),
        }
    };
    if !(measure && sweeps > 2) {
        sweep(x, sweeps, Guess::Zero)?;
        return Ok(None);
    }
    sweep(x, 1, Guess::Zero)?;
    let first = norm(x.iter().copied());
    sweep(x, sweeps - 2, Guess::Given)?;
    let before = x.to_vec();
    sweep(x, 1, Guess::Given)?;
    let last = norm(x.iter().zip(&before).map(|(new, old)| new - old));
    Ok((first > 0.0).then_some(last / first))
}

const FITS: &str = "the relaxation was set up for this matrix";

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}
