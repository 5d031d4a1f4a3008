//! Relaxations and factorizations as preconditioners.

use super::Preconditioner;
use crate::factor::block_ilu::{BlockIlu, IluOverRanks};
use crate::relax::{Smoother, SolveOptions};
use crate::{Jacobian, Outcome, Policy};
use chromaflow_device::Team;

/// z = U^-1 L^-1 r with the factors of the matrix last factored.
impl Preconditioner for BlockIlu {
    fn apply(&mut self, team: &Team, r: &[f64], z: &mut [f64]) {
        self.solve(team, r, z);
    }

    fn apply_many(&mut self, team: &Team, columns: &mut [(&[f64], &mut [f64])]) {
        self.solve_many(team, columns);
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// The same of each rank's own rows.
impl Preconditioner for IluOverRanks {
    fn apply(&mut self, team: &Team, r: &[f64], z: &mut [f64]) {
        self.solve(team, r, z);
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// z from sweeps on A z = r, starting from zero: a relaxation as preconditioner.
///
/// ```
/// use chromaflow::krylov::{Control, Gmres, Relaxation};
/// use chromaflow::relax::{Smoother, SolveOptions};
/// use chromaflow::{BlockCsr, BlockPattern, Jacobian, Outcome, Policy, Team};
/// use std::sync::Arc;
/// let pattern = BlockPattern::new(2, vec![0, 2, 4], vec![0, 1, 0, 1])?;
/// let a = BlockCsr::new(pattern, 1, vec![4.0, 1.0, 2.0, 3.0])?;
/// let team = Arc::new(Team::new(1));
/// let jacobian = Jacobian::from_csr(&a, Policy::Ds)?; // sweeps in f32, the Krylov method in f64
/// let mut smoother = Smoother::jacobi(Arc::clone(&team), jacobian.pattern().clone(), 1, Default::default())?;
/// smoother.factor(&jacobian)?;
/// let mut m = Relaxation { smoother: &mut smoother, matrix: &jacobian, options: SolveOptions::sweeps(2) };
/// let mut x = [0.0; 2];
/// let solve = Gmres::new(10).solve(&team, &a, &mut m, &[6.0, 8.0], &mut x, &Control::default());
/// assert_eq!(solve.outcome, Outcome::Converged);
/// assert!((x[0] - 1.0).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Relaxation<'a> {
    /// Set up for the pattern of `matrix` and factored.
    pub smoother: &'a mut Smoother,
    /// The matrix in the precision of a policy.
    pub matrix: &'a Jacobian,
    /// Sweeps, direction, damping; from zero and without a tolerance.
    pub options: SolveOptions,
}

impl Preconditioner for Relaxation<'_> {
    /// # Panics
    /// When the smoother was set up for another matrix or not factored.
    fn apply(&mut self, _team: &Team, r: &[f64], z: &mut [f64]) {
        let report = self.smoother.solve(self.matrix, r, z, &self.options);
        let report = report.expect("the smoother is set up for this matrix and factored");
        if let Outcome::Diverged { .. } | Outcome::Breakdown { .. } = report.outcome {
            z.fill(f64::NAN); // whoever iterates ends with an outcome
        }
    }

    /// In f64; f32 inside leaves more of x behind than the tolerances of a Krylov method.
    fn is_fixed(&self) -> bool {
        self.matrix.off.policy() == Policy::D
    }
}
