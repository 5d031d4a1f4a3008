//! The residual of a state, place by place: where a march that does not converge has its trouble.

use super::{Host, LargestResidual, March, Order};

/// The residual of a state, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Residuals {
    /// R/V, what the state would lose by time, `[rows, equations]`.
    pub rates: Vec<f64>,
    /// Equations a row.
    pub equations: usize,
    /// Volumes of the rows.
    pub volumes: Vec<f64>,
}

impl Residuals {
    /// What each row has of the sum of R^2/V over the domain, R by what `size` makes of all equations.
    fn parts(&self, size: impl Fn(&[f64]) -> f64) -> impl Iterator<Item = f64> {
        let rows = self.rates.chunks_exact(self.equations.max(1)).zip(&self.volumes);
        rows.map(move |(rates, volume)| size(rates).powi(2) * volume)
    }
}

impl<S: Host> March<S> {
    /// The residual of the present state; of explicit schemes what one more step would change, over its time step. Where there are several
    /// ranks, of this one's rows: all of them then put it on the mesh's nodes and call [`Self::largest_residual`].
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn residuals(&mut self) -> Residuals {
        let _ = self.host.tell(Order::Largest);
        let at = self.next_moment();
        self.synced_mut().residuals(&at)
    }

    /// Where the residual that progress goes by is largest; `None` where it is zero or not a number everywhere.
    ///
    /// # Panics
    /// As [`Self::residuals`].
    pub fn largest_residual(&self, residuals: &Residuals) -> Option<LargestResidual> {
        let host = self.synced();
        if let Some(found) = host.largest_of_ranks() {
            return found;
        }
        let (mut whole, mut largest, mut row) = (0.0, 0.0, None);
        for (i, part) in residuals.parts(S::size).enumerate().filter(|(_, part)| part.is_finite()) {
            whole += part;
            if part > largest {
                (largest, row) = (part, Some(i));
            }
        }
        let row = row?;
        let flow = host.mach_and_pressure(row);
        Some(LargestResidual { at: host.place(row), share: largest / whole, flow })
    }
}
