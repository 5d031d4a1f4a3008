//! A caller's y = A x, in the caller's order of rows.

use crate::Permutation;
use crate::krylov::LinearOperator;
use chromaflow_device::Team;
use std::cell::RefCell;

/// Permutes vectors on their way to the caller and back.
pub(super) struct CallersOperator<'a> {
    permutation: &'a Permutation,
    nb: usize,
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
        nb: usize,
    ) -> Self {
        let n = permutation.len() * nb;
        Self { permutation, nb, call: RefCell::new(Call { operator, x: vec![0.0; n], y: vec![0.0; n] }) }
    }
}

impl LinearOperator for CallersOperator<'_> {
    fn len(&self) -> usize {
        self.permutation.len() * self.nb
    }

    fn apply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        let Call { operator, x: given, y: found } = &mut *self.call.borrow_mut();
        self.permutation.scatter_with(team, self.nb, x, given);
        operator(given, found);
        self.permutation.gather_with(team, self.nb, found, y);
    }
}
