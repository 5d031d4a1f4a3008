//! A caller's y = A x, in the caller's order of rows; and a caller who watches.

use super::ranks::Joined;
use crate::Permutation;
use crate::dist::{Links, Share};
use crate::krylov::LinearOperator;
use chromaflow_device::Team;
use std::cell::RefCell;

/// Permutes vectors on their way to the caller, who has the first rows alone where others are ghosts, and back.
pub(super) struct CallersOperator<'a> {
    permutation: &'a Permutation,
    nb: usize,
    /// Where others have rows of it, too.
    joined: Option<Joined<'a>>,
    call: RefCell<Call<'a>>,
}

struct Call<'a> {
    operator: &'a mut dyn FnMut(&[f64], &mut [f64]),
    x: Vec<f64>,
    y: Vec<f64>,
}

impl<'a> CallersOperator<'a> {
    pub(super) fn new(
        operator: &'a mut dyn FnMut(&[f64], &mut [f64]),
        permutation: &'a Permutation,
        rows: usize,
        nb: usize,
        joined: Option<Joined<'a>>,
    ) -> Self {
        let n = rows * nb;
        Self {
            permutation,
            nb,
            joined,
            call: RefCell::new(Call { operator, x: vec![0.0; n], y: vec![0.0; n] }),
        }
    }
}

impl LinearOperator for CallersOperator<'_> {
    fn len(&self) -> usize {
        self.permutation.len() * self.nb
    }

    fn apply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        let Call { operator, x: given, y: found } = &mut *self.call.borrow_mut();
        self.permutation.scatter_first_with(team, self.nb, x, given);
        operator(given, found);
        self.permutation.gather_first_with(team, self.nb, found, y);
    }

    fn links(&self) -> Option<&dyn Links> {
        self.joined.as_ref().map(|joined| joined as &dyn Links)
    }
}

/// Told after each iteration: its number, its relative residual. False ends the solve.
pub(super) type Watch = Box<dyn FnMut(usize, f64) -> bool + Send>;

/// An operator whose iterations somebody watches.
pub(super) struct Watched<'a> {
    operator: &'a dyn LinearOperator,
    watch: RefCell<Option<&'a mut Watch>>,
    /// Ranks that end together.
    among: Option<&'a Share>,
}

impl<'a> Watched<'a> {
    pub(super) fn new(
        operator: &'a dyn LinearOperator,
        watch: Option<&'a mut Watch>,
        among: Option<&'a Share>,
    ) -> Self {
        Self { operator, watch: RefCell::new(watch), among }
    }
}

impl LinearOperator for Watched<'_> {
    fn len(&self) -> usize {
        self.operator.len()
    }

    fn apply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        self.operator.apply(team, x, y);
    }

    fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        self.operator.residual(team, b, x, r);
    }

    fn apply_many(&self, team: &Team, columns: &mut [(&[f64], &mut [f64])]) {
        self.operator.apply_many(team, columns);
    }

    fn residual_many(&self, team: &Team, columns: &mut [(&[f64], &[f64], &mut [f64])]) {
        self.operator.residual_many(team, columns);
    }

    fn links(&self) -> Option<&dyn Links> {
        self.operator.links()
    }

    fn go_on(&self, iteration: usize, residual: f64) -> bool {
        let here = self.watch.borrow_mut().as_mut().is_none_or(|watch| watch(iteration, residual));
        let Some(among) = self.among else { return here };
        let mut ends = [f64::from(u8::from(!here))];
        among.sum(&mut ends);
        ends == [0.0]
    }
}
