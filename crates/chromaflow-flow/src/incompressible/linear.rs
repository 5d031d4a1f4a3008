//! The linear system of a step: block ILU(0) with correction steps.

use super::config::Implicit;
use chromaflow::Jacobian;
use chromaflow::factor::block_ilu::{BlockIlu, SingularRow};
use chromaflow::sparse::ShapeError;
use chromaflow_device::Team;
use std::sync::Arc;
use std::time::Instant;

/// M = L U of the matrix over the rows of all blocks, neighbors across interfaces included: more blocks do not weaken it.
///
/// Correction steps M xi = b - A x, x += xi follow the first solve M x = b until the residual has fallen far enough.
pub(super) struct Linear {
    ilu: BlockIlu,
    implicit: Implicit,
    rest: Vec<f64>,
    correction: Vec<f64>,
}

/// Seconds of a solve, and what it reached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Solved {
    pub solves: f64,
    pub residuals: f64,
    /// |b - A x| / |b|
    pub reduction: f64,
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

impl Linear {
    pub fn new(jacobian: &Jacobian, implicit: Implicit, team: &Team) -> Result<Self, ShapeError> {
        let ilu = BlockIlu::new(&Arc::clone(jacobian.pattern()), jacobian.nb(), implicit.ilu, team)?;
        let n = jacobian.rows() * jacobian.nb();
        Ok(Self { ilu, implicit, rest: vec![0.0; n], correction: vec![0.0; n] })
    }

    pub fn bytes(&self) -> usize {
        self.ilu.bytes() + 16 * self.rest.len()
    }

    pub fn factor(&mut self, jacobian: &Jacobian, team: &Team) -> Result<(), SingularRow> {
        self.ilu.factor(jacobian, team).map(|_| ())
    }

    /// x = A^-1 b, nearly.
    pub fn solve(&mut self, jacobian: &Jacobian, team: &Team, b: &[f64], x: &mut [f64]) -> Solved {
        let mut solved = Solved::default();
        let size = norm(b);
        timed(&mut solved.solves, || self.ilu.solve(team, b, x));
        for correction in 0..=self.implicit.corrections {
            timed(&mut solved.residuals, || jacobian.residual(team, b, x, &mut self.rest));
            solved.reduction = if size > 0.0 { norm(&self.rest) / size } else { 0.0 };
            if correction == self.implicit.corrections || solved.reduction <= self.implicit.reduction {
                break;
            }
            timed(&mut solved.solves, || self.ilu.solve(team, &self.rest, &mut self.correction));
            timed(&mut solved.residuals, || {
                for (x, xi) in x.iter_mut().zip(&self.correction) {
                    *x += xi;
                }
            });
        }
        solved
    }
}

pub(super) fn timed<T>(sum: &mut f64, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let out = f();
    *sum += start.elapsed().as_secs_f64();
    out
}
