//! The linear step: conversion to f16 where asked for, factors of the diagonal blocks, multicolor sweeps.

use super::FlowError;
use crate::config::Implicit;
use chromaflow::relax::{Guess, Multicolor, RelaxOptions, SolveOptions};
use chromaflow::sparse::HalfScale;
use chromaflow::{Jacobian, Outcome, Policy, RowBatches};
use chromaflow_device::Team;
use std::sync::Arc;

/// Multicolor point-implicit relaxation of A x = b with a fixed number of sweeps.
pub struct LinearSolver {
    team: Arc<Team>,
    relaxation: Multicolor,
    policy: Policy,
    sweeps: usize,
}

impl LinearSolver {
    /// Sets up for matrices on the pattern of `jac`.
    pub fn new(
        team: &Arc<Team>,
        batches: &RowBatches,
        jac: &Jacobian,
        implicit: &Implicit,
    ) -> Result<Self, FlowError> {
        let relaxation = Multicolor::new(
            Arc::clone(team),
            jac.pattern().clone(),
            jac.nb(),
            batches,
            RelaxOptions::default(),
        )
        .map_err(|e| FlowError::Linear(e.to_string()))?;
        Ok(Self { team: Arc::clone(team), relaxation, policy: implicit.policy, sweeps: implicit.sweeps })
    }

    /// Makes the memory ready for assembly in f32 again.
    pub fn prepare(&self, jac: &mut Jacobian) {
        if self.policy == Policy::Dsh {
            jac.restore_f32();
        }
    }

    /// Converts the off-diagonal blocks to f16 in place, in policy `dsh`.
    pub fn convert(&self, jac: &mut Jacobian) {
        if self.policy == Policy::Dsh {
            jac.convert_to_f16(&self.team, HalfScale::Global).expect("the blocks were assembled in f32");
        }
    }

    /// Inverts the diagonal blocks in place and sweeps from zero.
    ///
    /// Where `measure` asks for it, returns |M^-1 (b - A x)| / |M^-1 b| before the last sweep, with M the sweep's own
    /// matrix: the size of the last sweep's correction over that of the first, which costs nothing. The row of a diagonal
    /// block that cannot be inverted comes back as an error.
    pub fn solve(
        &mut self,
        jac: &mut Jacobian,
        b: &[f64],
        x: &mut [f64],
        measure: bool,
    ) -> Result<Option<f64>, usize> {
        self.relaxation.factor_in_place(jac).expect(FITS);
        if !(measure && self.sweeps > 2) {
            self.sweep(jac, b, x, self.sweeps, Guess::Zero)?;
            return Ok(None);
        }
        self.sweep(jac, b, x, 1, Guess::Zero)?;
        let first = norm(x.iter().copied());
        self.sweep(jac, b, x, self.sweeps - 2, Guess::Given)?;
        let before = x.to_vec();
        self.sweep(jac, b, x, 1, Guess::Given)?;
        let last = norm(x.iter().zip(&before).map(|(new, old)| new - old));
        Ok((first > 0.0).then_some(last / first))
    }

    fn sweep(
        &mut self,
        jac: &Jacobian,
        b: &[f64],
        x: &mut [f64],
        count: usize,
        guess: Guess,
    ) -> Result<(), usize> {
        let options = SolveOptions { guess, ..SolveOptions::sweeps(count) };
        match self.relaxation.solve(jac, b, x, &options).expect(FITS).outcome {
            Outcome::Breakdown { row } => Err(row),
            _ => Ok(()),
        }
    }
}

const FITS: &str = "the relaxation was set up for this matrix";

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}
