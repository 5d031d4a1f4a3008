//! The linear system of a Newton-Krylov step: its operator is the derivative of the residual, by differences, and the matrix of
//! the plain step preconditions it.

#[cfg(feature = "cuda")]
pub mod cuda;

use crate::config::NewtonKrylov;
use chromaflow::dist::Links;
use chromaflow::krylov::{Control, Gmres, LinearOperator, Preconditioner};
use chromaflow::vector::norm2;
use chromaflow_device::Team;
use std::cell::RefCell;

/// Where systems beside the flow have derivatives themselves, the least share of the flow in the length of a step: the flow's own residual is as good as
/// linear in what it takes of them.
pub const LEAST_SHARE: f64 = 1e-4;

/// What a Newton-Krylov step asks of a system, all at the state that the step starts from.
pub trait NewtonStep {
    /// The number of unknowns.
    fn len(&self) -> usize;

    /// |q|, the size of the state.
    fn size(&self) -> f64;

    /// |v| of a direction; over ranks of the whole of it, whose ghosts are not zero.
    fn norm(&self, team: &Team, v: &[f64]) -> f64 {
        norm2(team, v)
    }

    /// y = V/dt v + (R(q + h v) - R(q)) / h. Rows of what walls and conditions hold are those of the identity.
    fn differentiate(&mut self, h: f64, v: &[f64], y: &mut [f64]);

    /// z = M^-1 r, with M the matrix of the plain step.
    fn precondition(&mut self, r: &[f64], z: &mut [f64]);
}

/// Solves (V/dt + dR/dq) x = b by flexible GMRES, over ranks where there are `links`; |b - A x| / |b|. The step h of a difference is [`difference_step`]. `vectors` are kept from
/// step to step: memory that is asked for anew is cleared first, by one thread.
///
/// **Source**: Knoll and Keyes (2004), J. Comput. Phys. 193, eq. 10 to 12.
pub fn solve(
    team: &Team,
    step: &mut (impl NewtonStep + Send),
    options: &NewtonKrylov,
    links: Option<&dyn Links>,
    b: &[f64],
    x: &mut [f64],
    vectors: &mut Gmres,
) -> f64 {
    x.fill(0.0);
    let step = RefCell::new(step);
    let control = Control { tolerance: options.tolerance, max_iterations: options.directions };
    let mut gmres = std::mem::take(vectors).restarting(options.directions);
    let (derivative, mut plain) = (Derivative { step: &step, links }, Plain(&step));
    let solve = gmres.solve(team, &derivative, &mut plain, b, x, &control);
    *vectors = gmres;
    solve.relative_residual
}

/// The step h of the difference along a direction of length |v| at a state of size |q|: 100 sqrt(eps) |q| / |v|.
///
/// sqrt(eps) is for residuals that are exact to rounding. Across layers of stretched cells gradients lose some digits more, as many as the
/// cells are longer than high: on a wing with ratios of 30,000 differences by sqrt(eps) are noise to a tenth of their size, GMRES believes
/// in a solution that leaves twice the residual it started from, and with a hundredth of the step it finds none. The error of a
/// step a hundred times as long, 1e-6 of the state, is far below what steps solve their systems to.
pub fn difference_step(size: f64, length: f64) -> f64 {
    100.0 * f64::EPSILON.sqrt() * size / length
}

struct Derivative<'a, 'b, S> {
    step: &'a RefCell<&'b mut S>,
    links: Option<&'a dyn Links>,
}

impl<S: NewtonStep> LinearOperator for Derivative<'_, '_, S> {
    fn len(&self) -> usize {
        self.step.borrow().len()
    }

    fn apply(&self, team: &Team, v: &[f64], y: &mut [f64]) {
        let mut step = self.step.borrow_mut();
        let length = step.norm(team, v);
        if length == 0.0 {
            return y.fill(0.0);
        }
        let h = difference_step(step.size(), length);
        step.differentiate(h, v, y);
    }

    fn links(&self) -> Option<&dyn Links> {
        self.links
    }
}

struct Plain<'a, 'b, S>(&'a RefCell<&'b mut S>);

impl<S: NewtonStep> Preconditioner for Plain<'_, '_, S> {
    fn apply(&mut self, _team: &Team, r: &[f64], z: &mut [f64]) {
        self.0.borrow_mut().precondition(r, z);
    }
}
