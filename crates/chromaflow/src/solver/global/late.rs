//! Sweeps through each rank's own rows in their order, others' rows with the values of the sweep before: Gauss-Seidel and SSOR of PETSc's
//! and hypre's kind on several ranks.

use crate::Outcome;
use crate::dist::{Links, Share};
use crate::krylov::{Preconditioner, Relaxation};
use crate::relax::{Guess, SolveOptions};
use chromaflow_device::Team;

/// A relaxation whose batches know of no other rank: ghosts stand in batches of their own, and their rows are the identity, so that they
/// become what the right-hand side says.
pub(in crate::solver) struct LateSweeps<'a> {
    sweeps: Relaxation<'a>,
    share: &'a Share,
    /// The right-hand side, in ghosts their values.
    rest: Vec<f64>,
}

impl<'a> LateSweeps<'a> {
    pub(in crate::solver) fn new(sweeps: Relaxation<'a>, share: &'a Share) -> Self {
        Self { sweeps, share, rest: Vec::new() }
    }
}

impl Preconditioner for LateSweeps<'_> {
    /// Sweeps from zero, ghosts of `r` zero as those of all residuals.
    fn apply(&mut self, _team: &Team, r: &[f64], z: &mut [f64]) {
        let Relaxation { smoother, matrix, options } = &mut self.sweeps;
        let nb = matrix.nb();
        for sweep in 0..options.sweeps {
            let guess = if sweep == 0 { Guess::Zero } else { Guess::Given };
            self.rest.clear();
            self.rest.extend_from_slice(r);
            if sweep > 0 {
                self.share.exchange(nb, z);
                for run in self.share.ghosts() {
                    let run = run.start * nb..run.end * nb;
                    self.rest[run.clone()].copy_from_slice(&z[run]);
                }
            }
            let once = SolveOptions { sweeps: 1, guess, ..*options };
            let report = smoother.solve(matrix, &self.rest, z, &once);
            let report = report.expect("the smoother is set up for this matrix and factored");
            if let Outcome::Diverged { .. } | Outcome::Breakdown { .. } = report.outcome {
                z.fill(f64::NAN); // whoever iterates ends with an outcome
            }
        }
        self.share.exchange(nb, z);
    }

    fn is_fixed(&self) -> bool {
        self.sweeps.is_fixed()
    }
}
