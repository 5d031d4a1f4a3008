//! The linear system of a Newton-Krylov step: its operator is the derivative of the residual, by differences, and the matrix of
//! the plain step preconditions it.

#[cfg(feature = "cuda")]
pub mod cuda;

use crate::parallel;
use chromaflow::dist::{Links, Share};
use chromaflow::krylov::{Control, Gmres, LinearOperator, Preconditioner};
use chromaflow::vector::norm2;
use chromaflow_comm::Op;
use chromaflow_device::Team;
use std::cell::RefCell;

/// Where systems beside the flow have derivatives themselves, the least share of the flow in the length of a step: the flow's own residual is as good as
/// linear in what it takes of them.
pub const LEAST_SHARE: f64 = 1e-4;

/// How much of Newton's step is found and taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Part of its linear system's residual that may be left.
    pub tolerance: f64,
    /// Most directions of GMRES.
    pub directions: usize,
    /// Part of the solution that is taken: 1, or less of a damped step.
    pub part: f64,
}

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

    /// The largest [relative change](crate::gas::relative_change) of a state along v; 0 where differences [bear](bears) any direction.
    fn relative_change(&mut self, _team: &Team, _v: &[f64]) -> f64 {
        0.0
    }

    /// y = V/dt v + (R(q + h v) - R(q)) / h. Rows of what walls and conditions hold are those of the identity.
    fn differentiate(&mut self, h: f64, v: &[f64], y: &mut [f64]);

    /// z = M^-1 r, with M the matrix of the plain step.
    fn precondition(&mut self, r: &[f64], z: &mut [f64]);
}

/// Solves (V/dt + dR/dq) x = b by flexible GMRES, over ranks where there are `links`, and takes a part of x; |b - A x| / |b| of the whole. The step h of a difference is [`difference_step`]. `vectors` are kept from
/// step to step: memory that is asked for anew is cleared first, by one thread.
///
/// **Source**: Knoll and Keyes (2004), J. Comput. Phys. 193, eq. 10 to 12.
pub fn solve(
    team: &Team,
    step: &mut (impl NewtonStep + Send),
    effort: &Effort,
    links: Option<&dyn Links>,
    b: &[f64],
    x: &mut [f64],
    vectors: &mut Gmres,
) -> f64 {
    x.fill(0.0);
    let step = RefCell::new(step);
    let control = Control { tolerance: effort.tolerance, max_iterations: effort.directions };
    let mut gmres = std::mem::take(vectors).restarting(effort.directions);
    let (derivative, mut plain) = (Derivative { step: &step, links }, Plain(&step));
    let solve = gmres.solve(team, &derivative, &mut plain, b, x, &control);
    *vectors = gmres;
    if effort.part < 1.0 {
        parallel::each(team, x, |_, x| effort.part * x);
    }
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

/// The part of its density or internal energy that a difference changes a state by at most. Behind edges in hypersonic flow a vacuum is next to gas at
/// full density, and 1e-6 of the one is more than all of the other.
const MOST_CHANGE: f64 = 0.1;

/// The step of a difference along whose direction states have the largest relative change `change`: h, or less.
pub fn kept_positive(h: f64, change: f64) -> f64 {
    if h * change > MOST_CHANGE { MOST_CHANGE / change } else { h }
}

/// Whether differences at states of size |q| may have [their step](difference_step) along any direction, where a change of length 1 is one of `most` at the
/// most, relative to a state.
pub fn bears(size: f64, most: f64) -> bool {
    difference_step(size, 1.0) * most <= MOST_CHANGE
}

/// The largest of numbers of the rows, of all ranks' where there are any.
pub fn largest(team: &Team, share: Option<&Share>, rows: usize, of: impl Fn(usize) -> f64 + Sync) -> f64 {
    let of_rows = |rows: std::ops::Range<usize>| rows.map(&of).fold(0.0, f64::max);
    let mut all = [parallel::reduce(team, rows, of_rows, |most: &mut f64, of| *most = most.max(of))];
    if let Some(share) = share {
        share.reduce(Op::Max, &mut all);
    }
    all[0]
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
        let h = kept_positive(h, step.relative_change(team, v));
        step.differentiate(h, v, y);
    }

    fn is_exact(&self) -> bool {
        false
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_change_states_by_a_tenth_at_most() {
        for (size, length, change) in [(10.0, 2.0, 0.1), (1e3, 1.0, 1e6), (1.0, 1.0, 1e9)] {
            let h = kept_positive(difference_step(size, length), change);
            assert!(h * change <= 0.1 * (1.0 + 1e-15) && h <= difference_step(size, length));
            // What states bear in any direction needs no look at this one.
            assert!(!bears(size, change / length) || h == difference_step(size, length));
        }
        let of = |row: usize| [1.0, 7.0, 3.0][row];
        assert_eq!([1, 2].map(|team| largest(&Team::new(team), None, 3, of)), [7.0; 2]);
    }
}
