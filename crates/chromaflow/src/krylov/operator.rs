//! What Krylov methods iterate with.

use crate::dist::Links;
use crate::{BlockCsr, Jacobian};
use chromaflow_device::Team;

/// A square linear map x -> A x: a matrix, or the directional derivative of a residual.
pub trait LinearOperator {
    /// Number of unknowns.
    fn len(&self) -> usize;

    /// Whether there are no unknowns.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `y = A x`
    fn apply(&self, team: &Team, x: &[f64], y: &mut [f64]);

    /// Whether products are exact to rounding, as a matrix's, and not differences of residuals: what is worse than before is so by the method then, and
    /// [`Gmres`](super::Gmres) takes less of it.
    fn is_exact(&self) -> bool {
        true
    }

    /// The other ranks, where the map is a rank's part of a larger one: x are solutions then, y and r residuals, as
    /// [`dist`](crate::dist) has it.
    fn links(&self) -> Option<&dyn Links> {
        None
    }

    /// `r = b - A x`
    fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        self.apply(team, x, r);
        crate::vector::xpay(team, b, -1.0, r);
    }

    /// [`LinearOperator::apply`] of several vectors, `(x, y)` each: what has to be read for one of them may serve all.
    fn apply_many(&self, team: &Team, columns: &mut [(&[f64], &mut [f64])]) {
        for (x, y) in columns {
            self.apply(team, x, y);
        }
    }

    /// [`LinearOperator::residual`] of several vectors, `(b, x, r)` each.
    fn residual_many(&self, team: &Team, columns: &mut [(&[f64], &[f64], &mut [f64])]) {
        for (b, x, r) in columns {
            self.residual(team, b, x, r);
        }
    }

    /// Told after each iteration: its number and relative residual, as the method sees it. False ends the method there, with
    /// [`Outcome::IterationLimit`](crate::Outcome::IterationLimit) and the solution so far.
    fn go_on(&self, _iteration: usize, _residual: f64) -> bool {
        true
    }
}

impl LinearOperator for BlockCsr {
    fn len(&self) -> usize {
        self.pattern().rows() * self.nb()
    }

    fn apply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        self.multiply(team, x, y);
    }

    fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        BlockCsr::residual(self, team, b, x, r);
    }
}

/// The matrix as its policy stores it, its diagonal blocks not factored.
impl LinearOperator for Jacobian {
    fn len(&self) -> usize {
        self.rows() * self.nb()
    }

    fn apply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        self.multiply(team, x, y);
    }

    fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        Jacobian::residual(self, team, b, x, r);
    }

    fn apply_many(&self, team: &Team, columns: &mut [(&[f64], &mut [f64])]) {
        self.multiply_many(team, columns);
    }

    fn residual_many(&self, team: &Team, columns: &mut [(&[f64], &[f64], &mut [f64])]) {
        Jacobian::residual_many(self, team, columns);
    }
}

/// An approximate inverse M: z = M r.
pub trait Preconditioner {
    /// `z = M r`; what `z` holds before is ignored.
    fn apply(&mut self, team: &Team, r: &[f64], z: &mut [f64]);

    /// The same of several vectors, `(r, z)` each.
    fn apply_many(&mut self, team: &Team, columns: &mut [(&[f64], &mut [f64])]) {
        for (r, z) in columns {
            self.apply(team, r, z);
        }
    }

    /// Whether M is one linear map, to the rounding of f64, whenever it is applied: GMRES then keeps half as many vectors.
    fn is_fixed(&self) -> bool {
        false
    }
}

/// No preconditioner: z = r.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl Preconditioner for Identity {
    fn apply(&mut self, _team: &Team, r: &[f64], z: &mut [f64]) {
        z.copy_from_slice(r);
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
